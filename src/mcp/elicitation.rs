//! Questions of a server to the person: a form made of its schema, or an address to open.

use serde_json::Value;

use super::describe::{description, line};
use super::handler::{Answer, ElicitationKind};
use super::logins::Logins;
use crate::protocol::{
    Bounds, ChoiceOption, ChoiceRequest, FieldKind, FieldOption, FormField, FormReply, FormRequest,
    Reply, TextFormat,
};
use crate::tools::{ToolCx, ToolError};

/// A longer form is declined.
const MOST_FIELDS: usize = 100;

/// Asks the person. The error means that the call was told to stop.
pub async fn ask(
    server: &str,
    message: &str,
    kind: &ElicitationKind,
    logins: &Logins,
    cx: &ToolCx,
) -> Result<Answer, ToolError> {
    let form = match kind {
        ElicitationKind::Url(url) => return ask_about_url(server, message, url, logins, cx).await,
        ElicitationKind::Form(schema) => FormRequest {
            title: format!("{server} asks"),
            message: description(message),
            fields: fields(schema),
        },
    };
    if form.fields.len() > MOST_FIELDS {
        return Ok(Answer::Decline);
    }
    Ok(match cx.fill_in(form).await? {
        Reply::Form(FormReply::Submitted(values)) => Answer::Accept(Some(Value::Object(values))),
        Reply::Form(FormReply::Declined) | Reply::Nobody => Answer::Decline,
        Reply::Permission(_) | Reply::Chosen(_) | Reply::Dismissed => Answer::Cancel,
    })
}

/// Nothing is opened before the person agrees.
async fn ask_about_url(
    server: &str,
    message: &str,
    url: &str,
    logins: &Logins,
    cx: &ToolCx,
) -> Result<Answer, ToolError> {
    let Some(address) = address(url) else {
        // Such an address could do anything on this machine.
        return Ok(Answer::Decline);
    };
    let reply = cx.ask(about_url(server, message, &address)).await?;
    let accepts = reply.picks(0) || reply.picks(1);
    if reply.picks(0) && !logins.open(address.as_str()) {
        cx.progress
            .report(format!("no browser found; open {address}\n"));
    }
    Ok(match reply {
        Reply::Chosen(_) if accepts => Answer::Accept(None),
        Reply::Chosen(_) | Reply::Nobody => Answer::Decline,
        Reply::Permission(_) | Reply::Form(_) | Reply::Dismissed => Answer::Cancel,
    })
}

/// An address of the web; nothing else is opened.
fn address(url: &str) -> Option<reqwest::Url> {
    let url: reqwest::Url = url.parse().ok()?;
    (matches!(url.scheme(), "http" | "https") && url.has_host()).then_some(url)
}

fn about_url(server: &str, message: &str, url: &reqwest::Url) -> ChoiceRequest {
    let option = |label: &str, about: &str| ChoiceOption {
        label: label.to_owned(),
        about: about.to_owned(),
    };
    let host = line(url.host_str().unwrap_or_default());
    ChoiceRequest {
        title: format!("{server} asks you to open {host}"),
        question: format!("{}\n\n{}", description(message), line(url.as_str())),
        options: vec![
            option("Open in browser", ""),
            option("Done", "I opened it myself"),
            option("Decline", ""),
        ],
        ..ChoiceRequest::default()
    }
}

fn fields(schema: &Value) -> Vec<FormField> {
    let required = schema["required"].as_array();
    let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|it| it == name));
    let properties = schema["properties"].as_object().into_iter().flatten();
    let field = |(name, about): (&String, &Value)| FormField {
        name: name.clone(),
        title: line(about["title"].as_str().unwrap_or(name)),
        about: description(about["description"].as_str().unwrap_or_default()),
        kind: kind(about),
        required: is_required(name),
        default: about.get("default").filter(|it| !it.is_null()).cloned(),
    };
    properties.map(field).collect()
}

fn kind(about: &Value) -> FieldKind {
    if let Some(options) = options(about) {
        return FieldKind::One(options);
    }
    let count = |least: &str, most: &str| Bounds {
        least: whole(&about[least]),
        most: whole(&about[most]),
    };
    let number = |whole: bool| FieldKind::Number {
        whole,
        range: Bounds {
            least: about["minimum"].as_f64(),
            most: about["maximum"].as_f64(),
        },
    };
    match about["type"].as_str() {
        Some("boolean") => FieldKind::Flag,
        Some("integer") => number(true),
        Some("number") => number(false),
        Some("array") => FieldKind::Several(
            options(&about["items"]).unwrap_or_default(),
            count("minItems", "maxItems"),
        ),
        _ => FieldKind::Text {
            format: about["format"].as_str().and_then(TextFormat::named),
            length: count("minLength", "maxLength"),
        },
    }
}

fn whole(value: &Value) -> Option<usize> {
    usize::try_from(value.as_u64()?).ok()
}

/// The values of an enumeration, with the titles that the schema gives them in one of several ways.
fn options(about: &Value) -> Option<Vec<FieldOption>> {
    let option = |value: &str, title: Option<&str>| FieldOption {
        value: value.to_owned(),
        title: line(title.unwrap_or(value)),
    };
    let titled = about["oneOf"].as_array().or(about["anyOf"].as_array());
    if let Some(titled) = titled {
        let entries = titled.iter();
        return entries
            .map(|entry| Some(option(entry["const"].as_str()?, entry["title"].as_str())))
            .collect();
    }
    let names = about["enumNames"].as_array();
    let values = about["enum"].as_array()?.iter().enumerate();
    values
        .map(|(at, value)| {
            let title = names.and_then(|names| names.get(at)?.as_str());
            Some(option(value.as_str()?, title))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn form() -> Vec<FormField> {
        fields(&json!({
            "type": "object",
            "properties": {
                "name": { "type": "string", "title": "Name\u{1b}[31m", "default": "Ada", "minLength": 3 },
                "age": { "type": "integer", "minimum": 1, "maximum": 120 },
                "mail": { "type": "string", "format": "email", "description": "Your\u{200b} address" },
                "kind": { "type": "string", "enum": ["person", "robot"], "enumNames": ["A person", "A robot"] },
                "sure": { "type": "boolean", "default": false },
                "colours": { "type": "array", "maxItems": 2, "items": { "anyOf": [{ "const": "r", "title": "Red" }, { "const": "g" }] } },
            },
            "required": ["name"],
        }))
    }

    #[test]
    fn fields_have_the_kinds_bounds_and_defaults_of_the_schema() {
        let fields = form();
        let named = |name: &str| {
            let found = fields.iter().find(|field| field.name == name);
            found.cloned().expect("a field")
        };
        let name = named("name");
        assert_eq!((name.title.as_str(), name.required), ("Name", true));
        assert_eq!(name.default, Some(json!("Ada")));
        let length = Bounds {
            least: Some(3),
            most: None,
        };
        let format = None;
        assert_eq!(name.kind, FieldKind::Text { format, length });
        let range = Bounds {
            least: Some(1.0),
            most: Some(120.0),
        };
        assert_eq!(named("age").kind, FieldKind::Number { whole: true, range });
        assert_eq!(named("mail").about, "Your address");
        assert_eq!(named("sure").kind, FieldKind::Flag);
        let titles = |kind: FieldKind| match kind {
            FieldKind::One(options) | FieldKind::Several(options, _) => {
                let titles = options.into_iter().map(|option| option.title);
                titles.collect::<Vec<_>>().join(", ")
            }
            other => format!("{other:?}"),
        };
        assert_eq!(titles(named("kind").kind), "A person, A robot");
        assert_eq!(titles(named("colours").kind), "Red, g");
    }

    #[test]
    fn only_addresses_of_the_web_are_asked_about_with_their_host_in_the_title() {
        for bad in [
            "file:///etc/passwd",
            "javascript:alert(1)",
            "x-terminal:run",
            "--version",
        ] {
            assert_eq!(address(bad), None, "{bad}");
        }
        let url = address("https://shop.example/pay?id=1").expect("an address");
        let question = about_url("shop", "Pay\u{7} now", &url);
        assert_eq!(question.title, "shop asks you to open shop.example");
        assert_eq!(
            question.question,
            "Pay now\n\nhttps://shop.example/pay?id=1"
        );
    }
}
