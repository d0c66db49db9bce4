use std::path::Path;

use proptest::prelude::{any, prop_assert, proptest};
use ratatui::style::{Color, Modifier, Style};

use super::colour::Rgb;
use super::{Background, Depth, Role, Theme};

const ADDED: [Role; 2] = [Role::Added, Role::AddedWord];
const REMOVED: [Role; 2] = [Role::Removed, Role::RemovedWord];

fn builtins() -> impl Iterator<Item = Theme> {
    Theme::names().map(|name| Theme::builtin(name).expect("its name is listed"))
}

fn theme(name: &str) -> Theme {
    Theme::builtin(name).expect("the test names a theme")
}

fn parse(toml: &str) -> (Theme, Vec<String>) {
    let parsed = Theme::parse(toml, Path::new("themes/mine.toml"));
    let (theme, problems) = parsed.expect("the test writes TOML");
    (theme, problems.iter().map(ToString::to_string).collect())
}

/// The usual backgrounds of terminals of this kind.
fn backgrounds(background: Background) -> [Rgb; 3] {
    match background {
        Background::Dark => [Rgb(0, 0, 0), Rgb(0x1e, 0x1e, 0x2e), Rgb(0x28, 0x2c, 0x34)],
        Background::Light => [
            Rgb(255, 255, 255),
            Rgb(0xfa, 0xfa, 0xfa),
            Rgb(0xfd, 0xf6, 0xe3),
        ],
    }
}

fn contrast(one: Rgb, other: Rgb) -> f64 {
    let (one, other) = (one.luminance() + 0.05, other.luminance() + 0.05);
    one.max(other) / one.min(other)
}

/// The worst contrast of a role, if it has its own colours.
fn worst(theme: &Theme, role: Role) -> Option<f64> {
    let style = theme.style(role);
    let text = Rgb::of(style.fg?)?;
    let behind = match style.bg {
        Some(background) => vec![Rgb::of(background)?],
        None => backgrounds(theme.background).to_vec(),
    };
    behind
        .into_iter()
        .map(|background| contrast(text, background))
        .min_by(f64::total_cmp)
}

fn wanted_contrast(theme: &Theme, role: Role) -> f64 {
    let nearly_invisible = matches!(
        role,
        Role::Faint | Role::Border | Role::TableBorder | Role::LineNumber | Role::Placeholder
    );
    match (theme.name.starts_with("high-contrast"), nearly_invisible) {
        (true, _) => 7.0,
        (false, true) => 3.0,
        (false, false) => 4.5,
    }
}

#[test]
fn every_theme_has_every_role_and_its_own_name() {
    let unpainted = [Style::new(), Style::new().bold(), Style::new().italic()];
    for (name, theme) in Theme::names().zip(builtins()) {
        assert_eq!(theme.name, name);
        let bare: Vec<_> = Role::ALL
            .iter()
            .filter(|role| unpainted.contains(&theme.style(**role)))
            .collect();
        // These use the terminal's own colour unless a theme sets another.
        let own = [
            Role::Text,
            Role::Strong,
            Role::Emphasis,
            Role::User,
            Role::CodeBlock,
            Role::Key,
            Role::Variable,
            Role::Operator,
        ];
        let unnamed: Vec<_> = bare
            .into_iter()
            .filter(|role| !own.contains(role) && name != "ansi16")
            .collect();
        assert!(unnamed.is_empty(), "{name}: {unnamed:?}");
    }
}

#[test]
fn the_persons_text_and_marks_are_readable_on_their_background() {
    for theme in builtins().filter(|theme| theme.name != "ansi16") {
        let background = theme.style(Role::UserGround).bg.and_then(Rgb::of);
        let background = background.expect("a ground");
        for role in [Role::User, Role::Muted, Role::Accent] {
            let Some(text) = theme.style(role).fg.and_then(Rgb::of) else {
                continue;
            };
            let found = contrast(text, background);
            assert!(found >= 4.5, "{} {role:?}: {found:.2}", theme.name);
        }
        // Faint: visible on the terminal's own background, but not prominent.
        for own in backgrounds(theme.background) {
            let found = contrast(background, own);
            assert!(found < 2.0, "{}: {found:.2}", theme.name);
        }
    }
}

#[test]
fn everything_can_be_read_in_true_colour() {
    for theme in builtins() {
        for role in Role::ALL {
            let wanted = wanted_contrast(&theme, *role);
            let found = worst(&theme, *role).unwrap_or(wanted);
            assert!(found >= wanted, "{} {role:?}: {found:.2}", theme.name);
        }
    }
}

#[test]
fn everything_can_be_read_in_256_colours() {
    for theme in builtins().map(|theme| theme.at(Depth::Ansi256)) {
        for role in Role::ALL {
            // The steps of the cube are coarse.
            let wanted = wanted_contrast(&theme, *role) * 0.85;
            let found = worst(&theme, *role).unwrap_or(wanted);
            assert!(found >= wanted, "{} {role:?}: {found:.2}", theme.name);
        }
    }
}

#[test]
fn highlighted_code_can_be_read_on_its_own_ground_and_on_those_of_a_diff() {
    let code = [
        Role::Keyword,
        Role::String,
        Role::Comment,
        Role::Number,
        Role::Type,
    ];
    let code = code.into_iter().chain([
        Role::Function,
        Role::Constant,
        Role::Attribute,
        Role::Punctuation,
    ]);
    for theme in builtins() {
        for role in code.clone() {
            for line in [Role::CodeBlock, Role::Added, Role::Removed] {
                let colours = (theme.style(role).fg, theme.style(line).bg);
                let (Some(text), Some(background)) = colours else {
                    continue;
                };
                let (Some(text), Some(background)) = (Rgb::of(text), Rgb::of(background)) else {
                    continue;
                };
                let found = contrast(text, background);
                assert!(
                    found >= 4.5,
                    "{} {role:?} on {line:?}: {found:.2}",
                    theme.name
                );
            }
        }
    }
}

/// As seen without red or green cones (Viénot, Brettel and Mollon, 1999).
fn without(cone: [[f64; 3]; 3], Rgb(red, green, blue): Rgb) -> [f64; 3] {
    let linear = [red, green, blue].map(|channel| (f64::from(channel) / 255.0).powf(2.2));
    cone.map(|row| {
        row.iter()
            .zip(linear)
            .map(|(weight, value)| weight * value)
            .sum()
    })
}

#[test]
fn added_and_removed_lines_differ_for_red_green_colour_blindness() {
    const NO_RED: [[f64; 3]; 3] = [
        [0.112, 0.888, 0.0],
        [0.112, 0.888, 0.0],
        [0.004, -0.004, 1.0],
    ];
    const NO_GREEN: [[f64; 3]; 3] = [
        [0.293, 0.707, 0.0],
        [0.293, 0.707, 0.0],
        [-0.022, 0.022, 1.0],
    ];
    // What remains visible then is how blue or yellow a colour is.
    let blueness = |cone, color| {
        let [_, yellow, blue] = without(cone, color);
        (blue.max(0.0) + 0.002).ln() - (yellow.max(0.0) + 0.002).ln()
    };
    for name in ["colour-blind", "colour-blind-light"] {
        for depth in [Depth::True, Depth::Ansi256] {
            let theme = theme(name).at(depth);
            let pairs = ADDED.into_iter().zip(REMOVED).flat_map(|(added, removed)| {
                let (added, removed) = (theme.style(added), theme.style(removed));
                [(added.fg, removed.fg), (added.bg, removed.bg)]
            });
            for (added, removed) in pairs {
                let added = added.and_then(Rgb::of).expect("a colour");
                let removed = removed.and_then(Rgb::of).expect("a colour");
                for cone in [NO_RED, NO_GREEN] {
                    let apart = blueness(cone, added) - blueness(cone, removed);
                    assert!(
                        apart > 0.3,
                        "{name} {depth:?}: {added:?} {removed:?} {apart:.2}"
                    );
                }
            }
        }
    }
}

#[test]
fn only_prominent_roles_have_a_background() {
    let painted = [
        Role::Selection,
        Role::Chosen,
        Role::Match,
        Role::CurrentMatch,
        Role::UserGround,
        Role::CodeBlock,
        Role::Added,
        Role::AddedWord,
        Role::Removed,
        Role::RemovedWord,
    ];
    for theme in builtins() {
        for role in Role::ALL.iter().filter(|role| !painted.contains(role)) {
            assert_eq!(theme.style(*role).bg, None, "{} {role:?}", theme.name);
        }
    }
}

#[test]
fn colours_become_the_nearest_that_the_terminal_has() {
    let dark = theme("dark");
    let at = |depth, role| dark.clone().at(depth).style(role);
    let fallen = [
        (Role::Error, Color::Indexed(210), Color::LightRed),
        (Role::Success, Color::Indexed(114), Color::LightGreen),
        (Role::Warning, Color::Indexed(186), Color::LightYellow),
        (Role::Accent, Color::Indexed(111), Color::LightBlue),
        (Role::Muted, Color::Indexed(248), Color::Gray),
        (Role::Faint, Color::Indexed(245), Color::DarkGray),
    ];
    for (role, of_256, of_16) in fallen {
        assert_eq!(
            at(Depth::Ansi256, role),
            Style::new().fg(of_256),
            "{role:?}"
        );
        assert_eq!(at(Depth::Ansi16, role), Style::new().fg(of_16), "{role:?}");
    }
    assert_eq!(at(Depth::Ansi256, Role::Added).bg, Some(Color::Indexed(22)));
    assert_eq!(
        at(Depth::Ansi256, Role::Removed).bg,
        Some(Color::Indexed(52))
    );
    assert_eq!(dark.clone().at(Depth::True), dark);
}

#[test]
fn with_sixteen_colours_marks_replace_backgrounds() {
    let light = theme("light").at(Depth::Ansi16);
    let expected = [
        (Role::Added, Style::new().fg(Color::Green)),
        (Role::Removed, Style::new().fg(Color::Red)),
        (
            Role::AddedWord,
            Style::new().fg(Color::Green).bold().underlined(),
        ),
        (Role::Selection, Style::new().reversed()),
        (Role::Chosen, Style::new().bold().reversed()),
        (Role::CurrentMatch, Style::new().bold().reversed()),
    ];
    for (role, style) in expected {
        assert_eq!(light.style(role), style, "{role:?}");
    }
}

#[test]
fn the_theme_of_sixteen_colours_has_no_others() {
    let ansi = theme("ansi16");
    for depth in [Depth::Ansi256, Depth::Ansi16] {
        assert_eq!(ansi.clone().at(depth), ansi);
    }
}

#[test]
fn without_colours_roles_still_differ() {
    for theme in builtins()
        .map(|theme| theme.at(Depth::None))
        .chain([Theme::plain()])
    {
        for role in Role::ALL {
            let style = theme.style(*role);
            assert_eq!(
                (style.fg, style.bg),
                (None, None),
                "{} {role:?}",
                theme.name
            );
        }
        let differ = [
            (Role::Added, Role::Removed),
            (Role::AddedWord, Role::Added),
            (Role::RemovedWord, Role::Removed),
            (Role::Chosen, Role::Text),
            (Role::Selection, Role::Text),
            (Role::Match, Role::CurrentMatch),
            (Role::Completed, Role::Failed),
            (Role::Queued, Role::Executing),
            (Role::Title, Role::Heading),
            (Role::Heading, Role::Subheading),
            (Role::Subheading, Role::Text),
            (Role::Key, Role::KeyHint),
            (Role::BorderFocused, Role::Border),
            (Role::ModeBypass, Role::ModeDefault),
        ];
        for (one, other) in differ {
            assert_ne!(
                theme.style(one),
                theme.style(other),
                "{} {one:?}",
                theme.name
            );
        }
    }
    assert_eq!(Theme::plain().style(Role::Text), Style::new());
    assert_eq!(
        Theme::plain().style(Role::Selection).add_modifier,
        Modifier::REVERSED
    );
}

#[test]
fn the_number_of_colours_comes_from_the_environment() {
    let messages = [
        ("TERM=xterm-256color COLORTERM=truecolor", Depth::True),
        ("TERM=xterm-256color COLORTERM=24bit", Depth::True),
        ("TERM=xterm-256color", Depth::Ansi256),
        ("TERM=xterm-256color TERM_PROGRAM=iTerm.app", Depth::True),
        ("TERM=screen-256color TERM_PROGRAM=vscode", Depth::Ansi256),
        (
            "TERM=xterm-256color TERM_PROGRAM=Apple_Terminal",
            Depth::Ansi256,
        ),
        ("TERM=xterm-kitty", Depth::True),
        ("TERM=xterm-direct", Depth::True),
        ("TERM=linux", Depth::Ansi16),
        ("TERM=xterm", Depth::Ansi16),
        ("", Depth::Ansi16),
        ("WT_SESSION=1", Depth::True),
        ("TERM=dumb COLORTERM=truecolor", Depth::None),
        ("TERM=vt100", Depth::None),
        ("NO_COLOR=1 TERM=xterm-kitty FORCE_COLOR=3", Depth::None),
        ("NO_COLOR= TERM=xterm-kitty", Depth::True),
        ("CLICOLOR=0 TERM=xterm-kitty", Depth::None),
        ("CLICOLOR=0 CLICOLOR_FORCE=1 TERM=xterm", Depth::Ansi16),
        ("FORCE_COLOR=0 TERM=xterm-kitty", Depth::None),
        ("FORCE_COLOR=1 TERM=dumb", Depth::Ansi16),
        ("FORCE_COLOR=2 TERM=xterm-kitty", Depth::Ansi256),
        ("FORCE_COLOR=3 TERM=xterm", Depth::True),
    ];
    for (variables, depth) in messages {
        let environment = |wanted: &str| {
            let mut pairs = variables.split(' ').filter_map(|pair| pair.split_once('='));
            pairs
                .find(|(name, _)| *name == wanted)
                .map(|(_, value)| value.to_owned())
        };
        assert_eq!(Depth::detect(&environment), depth, "{variables}");
    }
}

#[test]
fn the_theme_follows_the_terminal_unless_it_is_named() {
    let picked = [
        ((None, Background::Dark), "dark"),
        ((Some("auto"), Background::Light), "light"),
        ((Some("dark"), Background::Light), "dark"),
        ((Some("high-contrast"), Background::Dark), "high-contrast"),
        (
            (Some("high-contrast"), Background::Light),
            "high-contrast-light",
        ),
        (
            (Some("colour-blind"), Background::Light),
            "colour-blind-light",
        ),
        (
            (Some("high-contrast-light"), Background::Dark),
            "high-contrast-light",
        ),
        ((Some("mine"), Background::Light), "mine"),
    ];
    for ((setting, background), name) in picked {
        assert_eq!(Theme::pick(setting, background), name);
    }
}

#[test]
fn a_custom_theme_changes_only_what_it_names() {
    let (mine, problems) = parse(
        "inherit = 'light'\n[roles]\nerror = 'lava'\nkey = { fg = 208, bg = 'blue', bold = false, dim = true }\n\
         [palette]\nlava = '#f30'\naccent = 'magenta'",
    );
    assert_eq!(problems, [""; 0]);
    assert_eq!(
        (mine.name.as_str(), mine.background),
        ("mine", Background::Light)
    );
    let expected = [
        (Role::Error, Style::new().fg(Color::Rgb(255, 51, 0))),
        (
            Role::Key,
            Style::new().fg(Color::Indexed(208)).bg(Color::Blue).dim(),
        ),
        (Role::Accent, Style::new().fg(Color::Magenta)),
        (Role::Heading, Style::new().fg(Color::Magenta).bold()),
        (Role::Success, theme("light").style(Role::Success)),
    ];
    for (role, style) in expected {
        assert_eq!(mine.style(role), style, "{role:?}");
    }
}

#[test]
fn a_theme_extends_the_one_for_its_background() {
    let (mine, _) = parse("name = 'paper'\nground = 'light'");
    let light = theme("light");
    assert_eq!(
        mine,
        Theme {
            name: "paper".into(),
            ..light
        }
    );
}

#[test]
fn mistakes_are_reported_with_their_place_and_a_remedy() {
    let at = |place: &str, rest: &str| format!("`themes/mine.toml`, {place}: {rest}");
    let messages = [
        (
            "[roles]\neror = 'red'",
            at(
                "line 2, column 1",
                "no role named `eror`\nhint: did you mean `error`?",
            ),
        ),
        (
            "[roles]\nerror = 'gren'",
            at(
                "line 2, column 9",
                "`gren` is not a colour\nhint: did you mean `green`?",
            ),
        ),
        (
            "[roles]\nerror = '#12345'",
            at(
                "line 2, column 9",
                "`#12345` is not a colour\n\
                 hint: write `#rrggbb`, `red`, `bright-red`, a number up to 255, or `default`",
            ),
        ),
        (
            "[roles]\nerror = true",
            at(
                "line 2, column 9",
                "expected a colour, not this boolean\n\
                 hint: write `#rrggbb`, `red`, `bright-red`, a number up to 255, or `default`",
            ),
        ),
        (
            "[palette]\nmuted = 256",
            at(
                "line 2, column 9",
                "`256` is not a colour\n\
                 hint: write `#rrggbb`, `red`, `bright-red`, a number up to 255, or `default`",
            ),
        ),
        (
            "[roles]\nerror = { fg = 'acent' }",
            at(
                "line 2, column 16",
                "`acent` is not a colour\nhint: did you mean `accent`?",
            ),
        ),
        (
            "[roles]\nerror = { blod = true }",
            at(
                "line 2, column 11",
                "`blod` is not a field of a style\nhint: did you mean `bold`?",
            ),
        ),
        (
            "[roles]\nerror = { bold = 1 }",
            at(
                "line 2, column 18",
                "`bold` must be true or false\nhint: write `bold = true`",
            ),
        ),
        (
            "inherit = 'drak'",
            at(
                "line 1, column 11",
                "no theme named `drak` to inherit from\nhint: did you mean `dark`?",
            ),
        ),
        (
            "ground = 'grey'",
            at(
                "line 1, column 10",
                "invalid value for `ground`\nhint: write `ground = \"dark\", or \"light\"`",
            ),
        ),
        (
            "[pallete]\nx = 'red'",
            at(
                "line 1, column 2",
                "`pallete` is not a field of a theme\nhint: did you mean `palette`?",
            ),
        ),
    ];
    for (toml, wanted) in messages {
        let (mine, problems) = parse(toml);
        assert_eq!(problems, [wanted]);
        // Errors keep the base theme's values.
        assert_eq!(mine.at(Depth::True).styles, theme("dark").styles);
    }
}

#[test]
fn a_file_that_is_not_toml_is_refused_with_its_place() {
    let problem = Theme::parse("[roles]\nerror = 'red", Path::new("mine.toml"))
        .expect_err("the string has no end");
    assert_eq!((problem.line, problem.column), (2, 13));
}

proptest! {
    #[test]
    fn any_text_is_parsed_without_a_panic(text in any::<String>(), word in "\\PC{0,12}") {
        let _ = Theme::parse(&text, Path::new("x"));
        let _ = Theme::parse(&format!("[roles]\nerror = '{word}'\n{word} = 'red'"), Path::new("x"));
    }

    #[test]
    fn any_colour_has_a_place_in_every_terminal(red: u8, green: u8, blue: u8) {
        let rgb = Rgb(red, green, blue);
        prop_assert!(matches!(rgb.to_256(), Color::Indexed(16..)));
        for background in [Background::Dark, Background::Light] {
            let color = rgb.to_16(background);
            prop_assert!(super::colour::NAMED.iter().any(|(_, named)| *named == color));
        }
    }
}
