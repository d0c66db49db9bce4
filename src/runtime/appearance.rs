//! The theme and the keymap: from the person's files, the terminal's colours, light or dark.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

use crate::app::{DiffStyle, Settings};
use crate::config::dirs::create_private_dir;
use crate::config::{Dirs, open_regular, read_regular};
use crate::keymap::Keymap;
use crate::runtime::{Refusal, ThemeWish};
use crate::theme::{Depth, Ground, Theme};

/// A longer file is refused.
const LONGEST_FILE: u64 = 1 << 20;

/// What was chosen, in order to choose again when the terminal reports that it is light.
pub struct Appearance {
    /// The theme from the flag or the settings.
    wanted: Option<String>,
    ground: Ground,
    depth: Depth,
    dirs: Dirs,
}

impl Appearance {
    /// Reads a few small files. The second part is what a person should know about them.
    pub fn find(
        wanted: Option<ThemeWish>,
        dirs: Dirs,
    ) -> Result<(Self, Settings, Vec<String>), Refusal> {
        let variable = |name: &str| std::env::var(name).ok();
        let told = variable("COLORFGBG").and_then(|value| Ground::from_colorfgbg(&value));
        let (wanted, file) = wanted.map_or((None, None), |wish| (Some(wish.name), wish.file));
        let mut appearance = Self {
            wanted,
            ground: told.or_else(|| last_ground(&dirs)).unwrap_or_default(),
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
    pub fn ground_is(&mut self, reply: &str) -> Option<Theme> {
        let ground = Ground::from_osc11(reply)?;
        if ground == self.ground {
            return None;
        }
        let before = Theme::pick(self.wanted.as_deref(), self.ground).to_owned();
        self.ground = ground;
        let dirs = self.dirs.clone();
        tokio::task::spawn_blocking(move || remember_ground(&dirs, ground));
        if Theme::pick(self.wanted.as_deref(), ground) == before {
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
        let name = Theme::pick(self.wanted.as_deref(), self.ground);
        if let Some(theme) = Theme::builtin(name) {
            return Ok(theme);
        }
        let Own { themes, broken } = own_themes(&self.dirs, problems);
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
struct Own {
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

fn own_themes(dirs: &Dirs, problems: &mut Vec<String>) -> Own {
    let entries = std::fs::read_dir(dirs.config.join("themes"));
    let mut files: Vec<_> = entries
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        .collect();
    files.sort();
    let mut own = Own::default();
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
fn last_ground(dirs: &Dirs) -> Option<Ground> {
    match read(&dirs.data.join("ground")).ok()??.trim() {
        "light" => Some(Ground::Light),
        "dark" => Some(Ground::Dark),
        _ => None,
    }
}

fn remember_ground(dirs: &Dirs, ground: Ground) {
    let name = match ground {
        Ground::Light => "light",
        Ground::Dark => "dark",
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
    use super::{Appearance, ThemeWish, last_ground};
    use crate::config::Dirs;
    use crate::theme::Ground;

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
        assert_eq!(appearance.ground_is("rgb:0000/0000/0000"), None);
        let theme = appearance
            .ground_is("rgb:ffff/ffff/ffff")
            .expect("another one");
        assert_eq!(theme.name, "light");
        assert_eq!(appearance.ground_is("nonsense"), None);
    }

    #[tokio::test]
    async fn a_chosen_theme_stays_on_any_background() {
        let (_home, dirs) = home();
        let (mut appearance, ..) =
            Appearance::find(Some(wish("ansi16", None)), dirs).expect("it exists");
        let name = appearance
            .ground_is("rgb:ffff/ffff/ffff")
            .map(|theme| theme.name);
        assert!(name.is_none_or(|name| name.starts_with("ansi16")));
    }

    fn wish(name: &str, file: Option<&str>) -> ThemeWish {
        ThemeWish {
            name: name.to_owned(),
            file: file.map(str::to_owned),
        }
    }

    #[test]
    fn a_wrong_theme_in_a_file_does_not_prevent_the_start() {
        let (_home, dirs) = home();
        let found = Appearance::find(Some(wish("drak", Some("settings.json"))), dirs);
        let (_, settings, problems) = found.expect("it starts");
        assert_eq!(settings.theme.name, "dark");
        let said = &problems[0];
        assert!(
            said.starts_with("settings.json: no theme named `drak`; themes: auto, dark"),
            "{said}"
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
            Appearance::find(Some(wish("mine", None)), dirs).expect("it exists");
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
            let found = Appearance::find(Some(wish(name, None)), dirs.clone());
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
        let wanted = Some(wish("mine", Some("settings.json")));
        let (_, settings, problems) = Appearance::find(wanted, dirs).expect("it starts");
        assert_eq!(settings.theme.name, "dark");
        let told = problems
            .iter()
            .filter(|problem| problem.contains("mine.toml"));
        assert_eq!(told.count(), 1, "{problems:?}");
    }

    #[test]
    fn an_unknown_theme_is_refused_with_a_list_of_themes() {
        let (_home, dirs) = home();
        let refusal = Appearance::find(Some(wish("drak", None)), dirs)
            .err()
            .expect("refused");
        assert_eq!(refusal.problem, "no theme named `drak`");
        assert!(refusal.hint.is_some_and(|hint| hint.contains("dark, ")));
    }

    #[test]
    fn the_terminals_background_is_remembered_for_the_next_first_frame() {
        let (_home, dirs) = home();
        assert_eq!(last_ground(&dirs), None);
        super::remember_ground(&dirs, Ground::Light);
        assert_eq!(last_ground(&dirs), Some(Ground::Light));
    }
}
