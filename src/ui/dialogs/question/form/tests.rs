use serde_json::{Map, Value, json};

use crate::app::Effect;
use crate::app::pointer::PointerKind;
use crate::app::rig::{App, millis, reply};
use crate::protocol::{
    Bounds, FieldKind, FieldOption, FormField, FormReply, FormRequest, Question, QuestionKind,
    Reply, TextFormat,
};
use crate::ui::rig::Screen;

fn field(name: &str, about: &str, kind: FieldKind, default: Value) -> FormField {
    FormField {
        name: name.to_lowercase(),
        title: name.to_owned(),
        about: about.to_owned(),
        required: false,
        default: Some(default).filter(|it| !it.is_null()),
        kind,
    }
}

fn text(format: Option<TextFormat>) -> FieldKind {
    FieldKind::Text {
        format,
        length: Bounds::default(),
    }
}

fn number(whole: bool, least: f64, most: f64) -> FieldKind {
    FieldKind::Number {
        whole,
        range: Bounds {
            least: Some(least),
            most: Some(most),
        },
    }
}

fn options(values: &[&str]) -> Vec<FieldOption> {
    let option = |value: &&str| FieldOption {
        value: value.to_lowercase(),
        title: (*value).to_owned(),
    };
    values.iter().map(option).collect()
}

/// A field of every kind.
fn fields() -> Vec<FormField> {
    let heroes = ["Superman", "Green Lantern", "Wonder Woman"];
    let several = FieldKind::Several(options(&["Guitar", "Piano", "Drums"]), Bounds::default());
    let mut name = field("Name", "Your full, legal name", text(None), Value::Null);
    name.required = true;
    vec![
        name,
        field(
            "Check",
            "Agree to the terms and conditions",
            FieldKind::Flag,
            json!(true),
        ),
        field(
            "Line",
            "Your favorite first line",
            text(None),
            json!("It was a dark night."),
        ),
        field(
            "Email",
            "Your email address",
            text(Some(TextFormat::Email)),
            json!("a@b.example"),
        ),
        field(
            "Homepage",
            "Your portfolio",
            text(Some(TextFormat::Uri)),
            Value::Null,
        ),
        field(
            "Birthdate",
            "",
            text(Some(TextFormat::Date)),
            json!("1999-12-31"),
        ),
        field(
            "Integer",
            "Your favorite integer",
            number(true, 1.0, 100.0),
            json!(42),
        ),
        field(
            "Number",
            "Between the two",
            number(false, 0.0, 1000.0),
            json!(3.5),
        ),
        field(
            "Hero",
            "Your favorite hero",
            FieldKind::One(options(&heroes)),
            json!("superman"),
        ),
        field("Instruments", "What you play", several, json!(["guitar"])),
        field(
            "Fish",
            "",
            FieldKind::One(options(&["Salmon", "Tuna"])),
            Value::Null,
        ),
        field(
            "Fed",
            "Whether it has been fed",
            FieldKind::Flag,
            Value::Null,
        ),
        field("Note", "", text(None), Value::Null),
    ]
}

fn asked(fields: Vec<FormField>, width: u16, height: u16) -> Screen {
    let mut app = App::working();
    app.asks(Question {
        call: "call".into(),
        asker: None,
        kind: QuestionKind::Form(FormRequest {
            title: "everything asks".to_owned(),
            message: "Please provide inputs for the following fields:".to_owned(),
            fields,
        }),
    });
    let mut screen = app.on(width, height);
    screen.after(millis(300));
    screen.frame();
    screen
}

fn submitted(values: Value) -> Vec<Effect> {
    let values: Map<String, Value> = serde_json::from_value(values).expect("an object");
    let reply = reply("call", Reply::Form(FormReply::Submitted(values)));
    vec![Effect::Send(reply)]
}

#[test]
fn thirteen_fields() {
    let sizes = [(60, 20), (80, 24), (120, 40)];
    let drawn = sizes.map(|(width, height)| asked(fields(), width, height).draw());
    insta::assert_snapshot!(drawn.join("\n\n"));
}

#[test]
fn the_last_of_thirteen_fields_and_what_is_wrong_with_others() {
    let mut screen = asked(fields(), 80, 24);
    screen.press("up");
    let last = screen.draw();
    screen.press("enter");
    screen.types("Ada");
    screen.press("down space down down down");
    screen.types("no address");
    screen.press("enter");
    insta::assert_snapshot!([last, screen.draw()].join("\n\n"));
}

#[test]
fn enter_alone_submits_the_defaults() {
    let mut all = fields();
    all.remove(0);
    let mut screen = asked(all, 80, 24);
    let expected = json!({
        "check": true, "line": "It was a dark night.", "email": "a@b.example",
        "birthdate": "1999-12-31", "integer": 42, "number": 3.5, "hero": "superman",
        "instruments": ["guitar"],
    });
    assert_eq!(screen.press("enter"), submitted(expected));
}

#[test]
fn every_kind_of_field_can_be_changed_with_the_keyboard() {
    let mut screen = asked(fields(), 80, 24);
    screen.types("Ada");
    screen.press("tab space tab");
    screen.types("!");
    screen.press("tab tab tab tab");
    screen.press("backspace backspace");
    screen.types("7");
    screen.press("tab tab right right tab space right space tab right tab space");
    let expected = json!({
        "name": "Ada", "check": false, "line": "It was a dark night.!", "email": "a@b.example",
        "birthdate": "1999-12-31", "integer": 7, "number": 3.5, "hero": "wonder woman",
        "instruments": ["piano"], "fish": "salmon", "fed": true,
    });
    assert_eq!(screen.press("enter"), submitted(expected));
}

#[test]
fn a_value_that_does_not_fit_is_named_at_its_field() {
    let mut screen = asked(fields(), 80, 24);
    assert_eq!(screen.press("enter"), []);
    assert_eq!(screen.lines_with("    required"), ["     required"]);
    screen.types("Ada");
    assert_eq!(screen.lines_with("    required").len(), 0);
    screen.press("down down down down down down");
    screen.types("000");
    assert_eq!(screen.press("enter"), []);
    assert_eq!(screen.lines_with("must be 100 or less").len(), 1);
}

#[test]
fn it_can_be_declined_and_cancelled_and_keys_typed_ahead_do_neither() {
    let declined = Effect::Send(reply("call", Reply::Form(FormReply::Declined)));
    assert_eq!(asked(fields(), 80, 24).press("ctrl+x"), [declined]);
    let cancelled = Effect::Send(reply("call", Reply::Dismissed));
    assert_eq!(asked(fields(), 80, 24).press("esc"), [cancelled]);

    let mut app = App::working();
    let mut all = fields();
    all.remove(0);
    app.asks(Question {
        call: "call".into(),
        asker: None,
        kind: QuestionKind::Form(FormRequest {
            fields: all,
            ..FormRequest::default()
        }),
    });
    let mut screen = app.on(80, 24);
    for _ in 0..9 {
        screen.after(millis(200));
        assert_eq!(screen.press("enter"), []);
        screen.types("x");
    }
}

#[test]
fn clicks_move_to_a_field_and_change_yes_or_no() {
    let mut screen = asked(fields(), 120, 40);
    screen.point(PointerKind::Pressed { times: 1 }, "Agree to the terms");
    assert_eq!(screen.lines_with("› Check").len(), 1);
    let check = screen.lines_with("Check").join("\n");
    assert!(check.ends_with("[ ] no"), "{check}");
}

#[test]
fn words_from_outside_are_revealed() {
    let mut odd = field(
        "a\u{1b}[31mb",
        "x\u{202e}y",
        text(None),
        json!("p\nq\u{200b}"),
    );
    odd.name = "odd".to_owned();
    let mut screen = asked(vec![odd], 80, 24);
    let shown = screen.text();
    assert!(
        !shown.contains(['\u{1b}', '\u{202e}', '\u{200b}']),
        "{shown}"
    );
    let unchanged = submitted(json!({ "odd": "p\nq\u{200b}" }));
    assert_eq!(screen.press("enter"), unchanged, "the default as it was");
}
