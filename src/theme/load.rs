//! From a theme's TOML to styles. Errors are reported, and keep the value of the base theme.
//!
//! A theme extends another one. Palettes are merged before roles look up their colours: a theme that changes only the
//! palette recolours every role of its base.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use ratatui::style::{Color, Modifier, Style};
use toml::de::{DeTable, DeValue};

use super::{Background, Role, Theme, colour};
use crate::config::document::{Document, Name, Problem, Value, listed};
use crate::text::{cut, nearest};

pub(super) const BUILTIN: [(&str, &str); 7] = [
    ("dark", include_str!("../../themes/dark.toml")),
    ("light", include_str!("../../themes/light.toml")),
    (
        "high-contrast",
        include_str!("../../themes/high-contrast.toml"),
    ),
    (
        "high-contrast-light",
        include_str!("../../themes/high-contrast-light.toml"),
    ),
    (
        "colour-blind",
        include_str!("../../themes/colour-blind.toml"),
    ),
    (
        "colour-blind-light",
        include_str!("../../themes/colour-blind-light.toml"),
    ),
    ("ansi16", include_str!("../../themes/ansi16.toml")),
];

/// The fields of a theme, and how each is written.
const FIELDS: [(&str, &str); 5] = [
    ("name", "name = \"mine\""),
    ("ground", "ground = \"dark\", or \"light\""),
    ("inherit", "inherit = \"dark\""),
    (
        "palette",
        "[palette], and below it lines like green = \"#8fd694\"",
    ),
    ("roles", "[roles], and below it lines like error = \"red\""),
];

const MODIFIERS: [(&str, Modifier); 6] = [
    ("bold", Modifier::BOLD),
    ("dim", Modifier::DIM),
    ("italic", Modifier::ITALIC),
    ("underline", Modifier::UNDERLINED),
    ("reversed", Modifier::REVERSED),
    ("strike", Modifier::CROSSED_OUT),
];

pub(super) fn builtin(name: &str) -> Option<Theme> {
    Some(Draft::builtin(name)?.finish())
}

pub(super) fn parse(toml: &str, file: &Path) -> Result<(Theme, Vec<Problem>), Problem> {
    let (document, broken) = Document::read(toml, file);
    if let Some(problem) = broken.into_iter().next() {
        return Err(problem);
    }
    let mut layer = Layer::new(&document);
    let mut draft = layer.base().unwrap_or_else(|| layer.usual_base());
    let stem = file.file_stem().unwrap_or_default();
    draft.name = stem.to_string_lossy().into_owned();
    layer.apply_to(&mut draft);
    Ok((draft.finish(), layer.problems))
}

type Palette = BTreeMap<String, Color>;

/// A theme whose colours are not looked up yet.
struct Draft {
    name: String,
    background: Background,
    palette: Palette,
    /// By role.
    styles: Vec<RoleStyle>,
}

/// How a role is written.
#[derive(Clone, Default)]
struct RoleStyle {
    fg: Option<Paint>,
    bg: Option<Paint>,
    modifiers: Modifier,
}

#[derive(Clone)]
enum Paint {
    Literal(Color),
    /// A name in the palette, which an extending theme can redefine.
    Named(String),
}

impl Draft {
    fn empty() -> Self {
        Self {
            name: String::new(),
            background: Background::default(),
            palette: BTreeMap::new(),
            styles: vec![RoleStyle::default(); Role::ALL.len()],
        }
    }

    fn builtin(name: &str) -> Option<Self> {
        let (_, toml) = BUILTIN.iter().find(|(known, _)| *known == name)?;
        let (document, broken) = Document::read(toml, Path::new(name));
        let mut layer = Layer::new(&document);
        let mut draft = layer.base().unwrap_or_else(Self::empty);
        layer.apply_to(&mut draft);
        debug_assert_eq!(
            (broken, layer.problems),
            (vec![], vec![]),
            "the built-in themes are valid"
        );
        Some(draft)
    }

    fn finish(self) -> Theme {
        let styles = std::array::from_fn(|role| self.style(&self.styles[role]));
        Theme {
            name: self.name,
            background: self.background,
            styles,
        }
    }

    fn style(&self, role_style: &RoleStyle) -> Style {
        let color = |paint: &Paint| match paint {
            Paint::Literal(color) => Some(*color),
            Paint::Named(name) => self.palette.get(name).copied(),
        };
        // The terminal's own colour is used when none is set.
        let color = |paint: &Option<Paint>| {
            paint
                .as_ref()
                .and_then(color)
                .filter(|color| *color != Color::Reset)
        };
        Style {
            fg: color(&role_style.fg),
            bg: color(&role_style.bg),
            add_modifier: role_style.modifiers,
            ..Style::new()
        }
    }
}

/// One file on its way into a draft.
struct Layer<'r, 'a> {
    document: &'r Document<'a>,
    problems: Vec<Problem>,
}

impl<'r, 'a> Layer<'r, 'a> {
    fn new(document: &'r Document<'a>) -> Self {
        Self {
            document,
            problems: Vec::new(),
        }
    }

    /// The theme that this file extends.
    fn base(&mut self) -> Option<Draft> {
        let value = self.field("inherit")?;
        let word = word(value);
        let base = Draft::builtin(word);
        if base.is_none() {
            let what = format!("no theme named `{}` to inherit from", cut(word));
            self.report(value.span(), what, did_you_mean(word, Theme::names()));
        }
        base
    }

    /// The default base for this file's background.
    fn usual_base(&self) -> Draft {
        let background = self.field("ground").map_or("", word);
        let name = if background == "light" {
            "light"
        } else {
            "dark"
        };
        Draft::builtin(name).expect("both are built in")
    }

    fn apply_to(&mut self, draft: &mut Draft) {
        // Roles may come before the palette that they use.
        if let Some(DeValue::Table(palette)) = self.field("palette").map(Value::get_ref) {
            self.palette(palette, draft);
        }
        for (name, value) in self.document.top() {
            match (name.get_ref().as_ref(), value.get_ref()) {
                ("name", DeValue::String(word)) => draft.name = word.to_string(),
                ("ground", DeValue::String(word)) if word == "dark" => {
                    draft.background = Background::Dark;
                }
                ("ground", DeValue::String(word)) if word == "light" => {
                    draft.background = Background::Light;
                }
                ("roles", DeValue::Table(roles)) => self.roles(roles, draft),
                ("palette", DeValue::Table(_)) | ("inherit", _) => {}
                (field, _) => self.wrong_field(field, name, value),
            }
        }
    }

    fn palette(&mut self, palette: &'r DeTable<'a>, draft: &mut Draft) {
        for (name, value) in self.document.entries(palette) {
            match colour::parse(word(value)) {
                Some(color) => {
                    draft.palette.insert(name.get_ref().to_string(), color);
                }
                None => self.unknown_colour(value, []),
            }
        }
    }

    fn roles(&mut self, roles: &'r DeTable<'a>, draft: &mut Draft) {
        for (name, value) in self.document.entries(roles) {
            let word = name.get_ref();
            let Some(role) = Role::named(word) else {
                let known = Role::ALL.iter().map(|role| role.name());
                let what = format!("no role named `{}`", cut(word));
                self.report(name.span(), what, did_you_mean(word, known));
                continue;
            };
            if let Some(role_style) = self.role_style(value, &draft.palette) {
                draft.styles[role as usize] = role_style;
            }
        }
    }

    fn role_style(&mut self, value: &'r Value<'a>, palette: &Palette) -> Option<RoleStyle> {
        let DeValue::Table(parts) = value.get_ref() else {
            return Some(RoleStyle {
                fg: Some(self.paint(value, palette)?),
                ..RoleStyle::default()
            });
        };
        let mut role_style = RoleStyle::default();
        for (name, value) in self.document.entries(parts) {
            match (name.get_ref().as_ref(), value.get_ref()) {
                ("fg", _) => role_style.fg = Some(self.paint(value, palette)?),
                ("bg", _) => role_style.bg = Some(self.paint(value, palette)?),
                (part, DeValue::Boolean(wanted)) if modifier(part).is_some() => {
                    role_style.modifiers.set(modifier(part)?, *wanted);
                }
                (part, _) => {
                    self.wrong_part(part, name, value);
                    return None;
                }
            }
        }
        Some(role_style)
    }

    fn paint(&mut self, value: &'r Value<'a>, palette: &Palette) -> Option<Paint> {
        let word = word(value);
        if palette.contains_key(word) {
            return Some(Paint::Named(word.to_owned()));
        }
        let color = colour::parse(word);
        if color.is_none() {
            self.unknown_colour(value, palette.keys().map(String::as_str));
        }
        color.map(Paint::Literal)
    }

    fn field(&self, wanted: &str) -> Option<&'r Value<'a>> {
        let mut top = self.document.top().into_iter();
        top.find(|(name, _)| name.get_ref() == wanted)
            .map(|(_, value)| value)
    }

    fn unknown_colour<'w>(&mut self, value: &Value<'a>, names: impl IntoIterator<Item = &'w str>) {
        let written = word(value);
        let known = colour::NAMED.iter().map(|(name, _)| *name);
        let hint = nearest(written, names.into_iter().chain(known)).map_or_else(
            || "write `#rrggbb`, `red`, `bright-red`, a number up to 255, or `default`".into(),
            |name| format!("did you mean `{name}`?"),
        );
        let what = match value.get_ref() {
            DeValue::String(_) | DeValue::Integer(_) => {
                format!("`{}` is not a colour", cut(written))
            }
            other => format!("expected a colour, not this {}", other.type_str()),
        };
        self.report(value.span(), what, hint);
    }

    fn wrong_field(&mut self, field: &str, name: &Name<'a>, value: &Value<'a>) {
        if let Some((_, example)) = FIELDS.iter().find(|(known, _)| *known == field) {
            let what = format!("invalid value for `{field}`");
            self.report(value.span(), what, format!("write `{example}`"));
        } else {
            let what = format!("`{}` is not a field of a theme", cut(field));
            let fields = FIELDS.iter().map(|(field, _)| *field);
            self.report(name.span(), what, did_you_mean(field, fields));
        }
    }

    fn wrong_part(&mut self, part: &str, name: &Name<'a>, value: &Value<'a>) {
        if modifier(part).is_some() {
            let what = format!("`{part}` must be true or false");
            self.report(value.span(), what, format!("write `{part} = true`"));
        } else {
            let what = format!("`{}` is not a field of a style", cut(part));
            let parts = MODIFIERS.iter().map(|(name, _)| *name);
            self.report(
                name.span(),
                what,
                did_you_mean(part, parts.chain(["fg", "bg"])),
            );
        }
    }

    fn report(&mut self, at: Range<usize>, what: String, hint: String) {
        self.problems.push(self.document.problem(&at, what, hint));
    }
}

fn modifier(name: &str) -> Option<Modifier> {
    let known = MODIFIERS.iter().find(|(known, _)| *known == name);
    known.map(|(_, modifier)| *modifier)
}

/// A value as a word. A number of the 256 colours needs no quotes.
fn word<'v>(value: &'v Value<'_>) -> &'v str {
    match value.get_ref() {
        DeValue::String(word) => word,
        DeValue::Integer(number) => number.as_str(),
        _ => "",
    }
}

fn did_you_mean<'w>(word: &str, known: impl Iterator<Item = &'w str> + Clone) -> String {
    nearest(word, known.clone()).map_or_else(
        || format!("it can be {}", listed(known)),
        |name| format!("did you mean `{name}`?"),
    )
}
