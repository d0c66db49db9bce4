//! The theme and the keymap: from the person's files, the terminal's colours, light or dark.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

use crate::app::{DiffStyle, Settings};
use crate::config::dirs::create_private_dir;
use crate::config::{Dirs, open_regular, read_regular};
use crate::keymap::Keymap;
use crate::runtime::{Refusal, RequestedTheme};
use crate::theme::{Background, Depth, Theme};

/// A longer file is refused.
const LONGEST_FILE: u64 = 1 << 20;

/// What was chosen, in order to choose again when the terminal reports that it is light.
pub struct Appearance {
    /// The theme from the flag or the settings.
    wanted: Option<String>,
    background: Background,
    depth: Depth,
    dirs: Dirs,
}

impl Appearance {
    /// Reads a few small files. The second part is what a person should know about them.
    pub fn find(
        wanted: Option<RequestedTheme>,
        dirs: Dirs,
    ) -> Result<(Self, Settings, Vec<String>), Refusal> {
        let variable = |name: &str| std::env::var(name).ok();
        let reported = variable("COLORFGBG").and_then(|value| Background::from_colorfgbg(&value));
        let (wanted, file) = wanted.map_or((None, None), |wish| (Some(wish.name), wish.file));
        let mut appearance = Self {
            wanted,
            background: reported
                .or_else(|| last_background(&dirs))
                .unwrap_or_default(),
            depth: Depth::detect(&variable),
            dirs,
        };
        let mut problems = Vec::new();
        let keymap = appearance.keymap(&mut problems);
        let theme = match (appearance.theme(&mut problems), file) {
            (Ok(theme), _) => theme,
            // An error in the settings must not prevent the start.
            (Err(Refusal { problem, hint }), Some(file)) => {
                let hint = hint.unwrap_or_default();
                problems.push(format!("{file}: {problem}; {hint}"));
                appearance.wanted = None;
                appearance.theme(&mut problems)?
            }
            (Err(refusal), None) => return Err(refusal),
        };
        let settings = Settings {
            keymap,
            theme: theme.at(appearance.depth),
            depth: appearance.depth,
            theme_epoch: 0,
            diff_style: DiffStyle::default(),
        };
        Ok((appearance, settings, problems))
    }

    /// The terminal has reported its background colour. Returns a theme if another one suits it better.
    pub fn set_background(&mut self, reply: &str) -> Option<Theme> {
        let background = Background::from_osc11(reply)?;
        if background == self.background {
            return None;
        }
        let before = Theme::pick(self.wanted.as_deref(), self.background).to_owned();
        self.background = background;
        let dirs = self.dirs.clone();
        tokio::task::spawn_blocking(move || save_background(&dirs, background));
        if Theme::pick(self.wanted.as_deref(), background) == before {
            return None;
        }
        let theme = self.theme(&mut Vec::new()).ok()?;
        Some(theme.at(self.depth))
    }

    /// The person has chosen another theme.
    pub fn chosen(&mut self, name: &str) {
        self.wanted = Some(name.to_owned());
    }

    fn keymap(&self, problems: &mut Vec<String>) -> Keymap {
        let file = self.dirs.config.join("keymap.toml");
        match read(&file) {
            Ok(None) => Keymap::builtin(),
            Ok(Some(text)) => {
                let (keymap, wrong) = Keymap::with_user(&text, &file);
                problems.extend(wrong.iter().map(ToString::to_string));
                keymap
            }
            Err(error) => {
                problems.push(format!("can't read `{}`: {error}", file.display()));
                Keymap::builtin()
            }
        }
    }

    fn theme(&self, problems: &mut Vec<String>) -> Result<Theme, Refusal> {
        let name = Theme::pick(self.wanted.as_deref(), self.background);
        if let Some(theme) = Theme::builtin(name) {
            return Ok(theme);
        }
        let OwnThemes { themes, broken } = own_themes(&self.dirs, problems);
        let names = Theme::names().map(str::to_owned);
        let names: Vec<String> = names
            .chain(themes.iter().map(|own| own.name.clone()))
            .collect();
        let found = themes.into_iter().find(|theme| theme.name == name);
        let mut refused = None;
        for Broken {
            stem,
            problem,
            hint,
        } in broken
        {
            if found.is_none() && stem == name {
                refused = Some(Refusal { problem, hint });
            } else {
                let hint = hint.map_or(String::new(), |hint| format!("\nhint: {hint}"));
                problems.push(format!("{problem}{hint}"));
            }
        }
        found.ok_or_else(|| {
            refused.unwrap_or_else(|| Refusal {
                problem: format!("no theme named `{name}`"),
                hint: Some(format!("themes: auto, {}", names.join(", "))),
            })
        })
    }
}

/// This file exists if the tool panel stays open when nothing runs.
const PANEL: &str = "panel-pinned";

/// Whether the tool panel stays open, as the person left it.
pub fn keeps_panel(dirs: &Dirs) -> bool {
    dirs.data.join(PANEL).exists()
}

pub fn keep_panel(dirs: &Dirs, pinned: bool) -> std::io::Result<()> {
    let file = dirs.data.join(PANEL);
    if pinned {
        create_private_dir(&dirs.data)?;
        return open_regular(&file, OpenOptions::new().write(true).create(true)).map(drop);
    }
    match std::fs::remove_file(file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// All themes: the built-in ones, then the person's own.
pub fn all_themes(dirs: &Dirs) -> Vec<Theme> {
    let builtin = Theme::names().filter_map(Theme::builtin);
    let own = own_themes(dirs, &mut Vec::new());
    builtin.chain(own.themes).collect()
}

/// The person's own themes.
#[derive(Default)]
struct OwnThemes {
    themes: Vec<Theme>,
    broken: Vec<Broken>,
}

/// A file that is not a valid theme, and why.
struct Broken {
    /// The name that the theme would have.
    stem: String,
    problem: String,
    hint: Option<String>,
}

fn own_themes(dirs: &Dirs, problems: &mut Vec<String>) -> OwnThemes {
    let entries = std::fs::read_dir(dirs.config.join("themes"));
    let mut files: Vec<_> = entries
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        .collect();
    files.sort();
    let mut own = OwnThemes::default();
    for file in files {
        let parsed = match read(&file) {
            Ok(text) => Theme::parse(&text.unwrap_or_default(), &file).map_err(|problem| {
                let hint = problem.hint.clone();
                (problem.to_string(), Some(hint))
            }),
            Err(error) => Err((format!("can't read `{}`: {error}", file.display()), None)),
        };
        match parsed {
            Ok((theme, wrong)) => {
                problems.extend(wrong.iter().map(ToString::to_string));
                own.themes.push(theme);
            }
            Err((problem, hint)) => own.broken.push(Broken {
                stem: file
                    .file_stem()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into_owned(),
                problem: problem.lines().next().unwrap_or_default().to_owned(),
                hint,
            }),
        }
    }
    own
}

/// `None` if there is no such file.
fn read(file: &Path) -> io::Result<Option<String>> {
    let bytes = match read_regular(file, LONGEST_FILE) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let text = String::from_utf8(bytes);
    text.map(Some)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
}

/// The terminal's last report: the new one arrives only after the first frame.
fn last_background(dirs: &Dirs) -> Option<Background> {
    match read(&dirs.data.join("ground")).ok()??.trim() {
        "light" => Some(Background::Light),
        "dark" => Some(Background::Dark),
        _ => None,
    }
}

fn save_background(dirs: &Dirs, background: Background) {
    let name = match background {
        Background::Light => "light",
        Background::Dark => "dark",
    };
    // If it cannot be saved, the next first frame may briefly have the wrong colours.
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    let _ = create_private_dir(&dirs.data)
        .and_then(|()| open_regular(&dirs.data.join("ground"), &mut options))
        .and_then(|mut file| file.write_all(name.as_bytes()));
}

#[cfg(test)]
mod tests {
    use super::{Appearance, RequestedTheme, last_background};
    use crate::config::Dirs;
    use crate::theme::Background;

    fn home() -> (tempfile::TempDir, Dirs) {
        let home = tempfile::tempdir().expect("a directory");
        let dirs = Dirs {
            config: home.path().join("config"),
            data: home.path().join("data"),
            home: home.path().to_owned(),
        };
        (home, dirs)
    }

    #[tokio::test]
    async fn a_terminal_that_turns_out_light_gets_the_light_theme() {
        let (_home, dirs) = home();
        let (mut appearance, settings, problems) =
            Appearance::find(None, dirs).expect("no theme is wrong");
        assert_eq!((settings.theme.name.as_str(), problems.len()), ("dark", 0));
        assert_eq!(appearance.set_background("rgb:0000/0000/0000"), None);
        let theme = appearance
            .set_background("rgb:ffff/ffff/ffff")
            .expect("another one");
        assert_eq!(theme.name, "light");
        assert_eq!(appearance.set_background("nonsense"), None);
    }

    #[tokio::test]
    async fn a_chosen_theme_stays_on_any_background() {
        let (_home, dirs) = home();
        let (mut appearance, ..) =
            Appearance::find(Some(requested("ansi16", None)), dirs).expect("it exists");
        let name = appearance
            .set_background("rgb:ffff/ffff/ffff")
            .map(|theme| theme.name);
        assert!(name.is_none_or(|name| name.starts_with("ansi16")));
    }

    fn requested(name: &str, file: Option<&str>) -> RequestedTheme {
        RequestedTheme {
            name: name.to_owned(),
            file: file.map(str::to_owned),
        }
    }

    #[test]
    fn a_wrong_theme_in_a_file_does_not_prevent_the_start() {
        let (_home, dirs) = home();
        let found = Appearance::find(Some(requested("drak", Some("settings.json"))), dirs);
        let (_, settings, problems) = found.expect("it starts");
        assert_eq!(settings.theme.name, "dark");
        let problem = &problems[0];
        assert!(
            problem.starts_with("settings.json: no theme named `drak`; themes: auto, dark"),
            "{problem}"
        );
    }

    #[test]
    fn the_persons_own_files_are_read_and_their_mistakes_reported() {
        let (_home, dirs) = home();
        std::fs::create_dir_all(dirs.config.join("themes")).expect("made");
        let theme = "name = \"mine\"\nground = \"light\"\n";
        std::fs::write(dirs.config.join("themes/mine.toml"), theme).expect("written");
        std::fs::write(dirs.config.join("keymap.toml"), "[global]\nnonsense = 1\n")
            .expect("written");
        let (_, settings, problems) =
            Appearance::find(Some(requested("mine", None)), dirs).expect("it exists");
        assert_eq!(settings.theme.name, "mine");
        assert!(
            problems
                .iter()
                .any(|problem| problem.contains("keymap.toml")),
            "{problems:?}"
        );
    }

    #[test]
    fn a_theme_whose_file_is_broken_is_refused_with_its_mistake() {
        let (_home, dirs) = home();
        let folder = dirs.config.join("themes");
        std::fs::create_dir_all(&folder).expect("made");
        std::fs::write(folder.join("mine.toml"), "ground = \"dark\"\n[palette\n").expect("written");
        std::fs::write(folder.join("bytes.toml"), b"\xff").expect("written");
        let refused = |name: &str| {
            let found = Appearance::find(Some(requested(name, None)), dirs.clone());
            found.err().expect("refused")
        };
        let refusal = refused("mine");
        let place = format!("`{}`, line 2, column", folder.join("mine.toml").display());
        assert!(refusal.problem.starts_with(&place), "{refusal:?}");
        assert!(refusal.hint.is_some(), "{refusal:?}");
        let refusal = refused("bytes");
        assert!(
            refusal.problem.starts_with("can't read ")
                && refusal.problem.ends_with(": it is not UTF-8"),
            "{refusal:?}"
        );

        // A wrong name in a settings file doesn't prevent the start, and is reported once.
        let wanted = Some(requested("mine", Some("settings.json")));
        let (_, settings, problems) = Appearance::find(wanted, dirs).expect("it starts");
        assert_eq!(settings.theme.name, "dark");
        let reported = problems
            .iter()
            .filter(|problem| problem.contains("mine.toml"));
        assert_eq!(reported.count(), 1, "{problems:?}");
    }

    #[test]
    fn an_unknown_theme_is_refused_with_a_list_of_themes() {
        let (_home, dirs) = home();
        let refusal = Appearance::find(Some(requested("drak", None)), dirs)
            .err()
            .expect("refused");
        assert_eq!(refusal.problem, "no theme named `drak`");
        assert!(refusal.hint.is_some_and(|hint| hint.contains("dark, ")));
    }

    #[test]
    fn the_terminals_background_is_remembered_for_the_next_first_frame() {
        let (_home, dirs) = home();
        assert_eq!(last_background(&dirs), None);
        super::save_background(&dirs, Background::Light);
        assert_eq!(last_background(&dirs), Some(Background::Light));
    }
}
