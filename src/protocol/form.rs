//! A form that a tool asks the person to fill in, and the check of what they give.

use serde_json::{Map, Number, Value};

/// All fields are filled in together.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FormRequest {
    /// Who asks, in a few words.
    pub title: String,
    /// What it is about; may be empty.
    pub message: String,
    pub fields: Vec<FormField>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct FormField {
    /// The name of the value in the reply.
    pub name: String,
    pub title: String,
    /// May be empty.
    pub about: String,
    pub required: bool,
    /// What the value is if the person changes nothing.
    pub default: Option<Value>,
    pub kind: FieldKind,
}

#[derive(Debug, Clone, PartialEq)]
pub enum FieldKind {
    Text {
        format: Option<TextFormat>,
        /// The number of characters.
        length: Bounds<usize>,
    },
    Number {
        whole: bool,
        range: Bounds<f64>,
    },
    Flag,
    /// One of these.
    One(Vec<FieldOption>),
    /// Any of these, this many of them.
    Several(Vec<FieldOption>, Bounds<usize>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextFormat {
    Email,
    Uri,
    Date,
    DateTime,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldOption {
    pub value: String,
    pub title: String,
}

/// The least and the most, both of which are possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds<N> {
    pub least: Option<N>,
    pub most: Option<N>,
}

impl<N> Default for Bounds<N> {
    fn default() -> Self {
        Self {
            least: None,
            most: None,
        }
    }
}

/// What the person did with a form.
#[derive(Debug, Clone, PartialEq)]
pub enum FormReply {
    Submitted(Map<String, Value>),
    Declined,
}

/// What the person gave for a field.
#[derive(Debug, Clone, PartialEq)]
pub enum Given {
    /// The default, or nothing.
    Untouched,
    Text(String),
    Flag(bool),
    /// The chosen options, by their index.
    Options(Vec<usize>),
}

impl FormField {
    /// The value for what was given; `None` if the field stays empty. The error says what to change.
    pub fn value(&self, given: &Given) -> Result<Option<Value>, String> {
        let value = match (given, &self.kind) {
            (Given::Untouched, _) => self.default.clone(),
            (Given::Flag(flag), _) => Some(Value::Bool(*flag)),
            (Given::Options(chosen), FieldKind::Several(options, count)) => {
                return self.several(chosen, options, count).map(Some);
            }
            (Given::Options(chosen), FieldKind::One(options)) => {
                let option = chosen.first().and_then(|at| options.get(*at));
                option.map(|option| Value::from(option.value.as_str()))
            }
            (Given::Text(text), FieldKind::Number { whole, range }) => {
                number(text.trim(), *whole, range)?
            }
            (Given::Text(text), FieldKind::Text { format, length }) => {
                words(text, *format, length)?
            }
            (Given::Options(_) | Given::Text(_), _) => None,
        };
        match value {
            None if self.required => Err(match self.kind {
                FieldKind::Text { .. } | FieldKind::Number { .. } => "required",
                FieldKind::Flag => "required: choose yes or no",
                FieldKind::One(_) => "required: choose one",
                FieldKind::Several(..) => "required: choose at least one",
            }
            .to_owned()),
            value => Ok(value),
        }
    }

    fn several(
        &self,
        chosen: &[usize],
        options: &[FieldOption],
        count: &Bounds<usize>,
    ) -> Result<Value, String> {
        let least = count.least.unwrap_or(0).max(usize::from(self.required));
        if chosen.len() < least {
            return Err(format!("choose at least {least}"));
        }
        if let Some(most) = count.most.filter(|most| chosen.len() > *most) {
            return Err(format!("choose at most {most}"));
        }
        let chosen = chosen.iter().filter_map(|at| options.get(*at));
        Ok(chosen.map(|option| option.value.as_str()).collect())
    }
}

fn number(text: &str, whole: bool, range: &Bounds<f64>) -> Result<Option<Value>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    let what = if whole { "a whole number" } else { "a number" };
    let number: Option<Number> = text.parse().ok();
    let number = number.filter(|number| !whole || number.is_i64() || number.is_u64());
    let number = number.ok_or_else(|| format!("must be {what}, such as {}", example(range)))?;
    let size = number.as_f64().unwrap_or(f64::NAN);
    if let Some(least) = range.least.filter(|least| size < *least) {
        return Err(format!("must be {least} or more"));
    }
    if let Some(most) = range.most.filter(|most| size > *most) {
        return Err(format!("must be {most} or less"));
    }
    Ok(Some(Value::Number(number)))
}

fn example(range: &Bounds<f64>) -> f64 {
    range.least.or(range.most).unwrap_or(42.0)
}

fn words(
    text: &str,
    format: Option<TextFormat>,
    length: &Bounds<usize>,
) -> Result<Option<Value>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    let count = text.chars().count();
    if let Some(least) = length.least.filter(|least| count < *least) {
        return Err(format!("must have at least {least} characters"));
    }
    if let Some(most) = length.most.filter(|most| count > *most) {
        return Err(format!("must have at most {most} characters"));
    }
    match format.filter(|format| !format.fits(text)) {
        Some(format) => Err(format!("must be {}", format.describe())),
        None => Ok(Some(Value::from(text))),
    }
}

impl TextFormat {
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "email" => Some(Self::Email),
            "uri" => Some(Self::Uri),
            "date" => Some(Self::Date),
            "date-time" => Some(Self::DateTime),
            _ => None,
        }
    }

    pub fn describe(self) -> &'static str {
        match self {
            Self::Email => "an email address",
            Self::Uri => "an address such as https://example.com",
            Self::Date => "a date such as 2026-01-31",
            Self::DateTime => "a time such as 2026-01-31T12:00:00Z",
        }
    }

    fn fits(self, text: &str) -> bool {
        match self {
            Self::Email => text.split_once('@').is_some_and(|(name, host)| {
                !name.is_empty() && !host.is_empty() && !text.contains(char::is_whitespace)
            }),
            Self::Uri => text.split_once(':').is_some_and(|(scheme, rest)| {
                let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic());
                is_scheme && !rest.is_empty() && !text.contains(char::is_whitespace)
            }),
            Self::Date => is_date(text),
            Self::DateTime => text.parse::<jiff::Timestamp>().is_ok(),
        }
    }
}

/// The parser also takes times, which a date must not have.
fn is_date(text: &str) -> bool {
    text.len() == "2026-01-31".len() && text.parse::<jiff::civil::Date>().is_ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn field(kind: FieldKind) -> FormField {
        FormField {
            name: "n".to_owned(),
            title: "N".to_owned(),
            about: String::new(),
            required: true,
            default: None,
            kind,
        }
    }

    fn typed(kind: FieldKind, text: &str) -> Result<Option<Value>, String> {
        field(kind).value(&Given::Text(text.to_owned()))
    }

    fn number(whole: bool) -> FieldKind {
        FieldKind::Number {
            whole,
            range: Bounds {
                least: Some(1.0),
                most: Some(120.0),
            },
        }
    }

    #[test]
    fn numbers_are_checked_by_kind_and_range() {
        assert_eq!(typed(number(true), " 41 "), Ok(Some(json!(41))));
        assert_eq!(typed(number(false), "4.5"), Ok(Some(json!(4.5))));
        let problem = |text: &str| typed(number(true), text).expect_err("it does not fit");
        assert_eq!(problem("4.5"), "must be a whole number, such as 1");
        assert_eq!(problem("0"), "must be 1 or more");
        assert_eq!(problem("121"), "must be 120 or less");
        assert_eq!(problem(""), "required");
    }

    #[test]
    fn texts_are_checked_by_length_and_format() {
        let text = |format| FieldKind::Text {
            format,
            length: Bounds {
                least: Some(3),
                most: Some(30),
            },
        };
        assert_eq!(typed(text(None), "äöü"), Ok(Some(json!("äöü"))));
        assert!(typed(text(None), "ab").is_err_and(|why| why.contains("at least 3")));
        assert!(typed(text(None), &"a".repeat(31)).is_err_and(|why| why.contains("at most 30")));
        let fits = [
            (TextFormat::Email, "a@b.example", "a b@c"),
            (TextFormat::Uri, "https://example.com", "example.com"),
            (TextFormat::Date, "2026-02-28", "2026-02-30"),
            (TextFormat::DateTime, "2026-02-28T10:00:00Z", "2026-02-28"),
        ];
        for (format, good, bad) in fits {
            assert_eq!(typed(text(Some(format)), good), Ok(Some(json!(good))));
            let why = typed(text(Some(format)), bad).expect_err(bad);
            assert_eq!(why, format!("must be {}", format.describe()));
        }
    }

    #[test]
    fn an_untouched_field_has_its_default_or_stays_empty() {
        let mut field = field(FieldKind::Flag);
        assert!(field.value(&Given::Untouched).is_err());
        field.required = false;
        assert_eq!(field.value(&Given::Untouched), Ok(None));
        field.default = Some(json!("as\nit is"));
        assert_eq!(field.value(&Given::Untouched), Ok(field.default.clone()));
    }

    #[test]
    fn options_are_counted() {
        let option = |value: &str| FieldOption {
            value: value.to_owned(),
            title: value.to_uppercase(),
        };
        let options = vec![option("r"), option("g"), option("b")];
        let several = field(FieldKind::Several(
            options.clone(),
            Bounds {
                least: None,
                most: Some(2),
            },
        ));
        let chosen = |chosen: &[usize]| several.value(&Given::Options(chosen.to_vec()));
        assert_eq!(chosen(&[0, 2]), Ok(Some(json!(["r", "b"]))));
        assert_eq!(chosen(&[]), Err("choose at least 1".to_owned()));
        assert_eq!(chosen(&[0, 1, 2]), Err("choose at most 2".to_owned()));
        let one = field(FieldKind::One(options));
        assert_eq!(one.value(&Given::Options(vec![1])), Ok(Some(json!("g"))));
        assert!(one.value(&Given::Options(vec![])).is_err());
    }
}
