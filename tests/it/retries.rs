//! Requests that fail and streams that break: retried if nothing has run, never run twice.

use serde_json::json;

use crate::support::wire::{bash, event, text};
use crate::support::{Output, Piece, Program, Reply, Server, Wire};

const BYPASS: [&str; 4] = [
    "--permission-mode",
    "bypassPermissions",
    "--output-format",
    "stream-json",
];

fn ask(program: &Program, server: &Server, wire: Wire) -> Output {
    program.ask(server, wire, &[&["-p", "go"], &BYPASS[..]].concat())
}

fn assert_recovers(first: Reply, wire: Wire) -> Output {
    let program = Program::new();
    let server = Server::start([first, wire.reply(&[text("recovered")])]);
    let output = ask(&program, &server, wire);
    assert_eq!(output.code, Some(0), "{output:?}");
    assert_eq!(output.result()["result"], "recovered");
    let bodies = server.bodies();
    assert_eq!(bodies.len(), 2);
    assert_eq!(bodies[0], bodies[1], "the same request is sent again");
    output
}

#[test]
fn a_rate_limit_is_waited_for_as_long_as_the_server_says() {
    let reply = Reply::error(
        429,
        r#"{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}"#,
    );
    let output = assert_recovers(reply.header("retry-after-ms", "20"), Wire::Anthropic);
    let retry = output
        .lines()
        .into_iter()
        .find(|line| line["subtype"] == "retry")
        .expect("a line about it");
    assert_eq!(retry["wait_ms"], 20);
    assert!(
        retry["problem"]
            .as_str()
            .expect("text")
            .contains("slow down"),
        "{retry}"
    );
}

#[test]
fn server_errors_are_retried_in_every_wire_format() {
    for wire in Wire::ALL {
        for status in [408, 409, 500, 502, 503, 529] {
            assert_recovers(Reply::error(status, "{}").header("retry-after", "0"), wire);
        }
    }
}

#[test]
fn a_stream_cut_inside_text_is_retried_without_repeating_the_text() {
    for wire in Wire::ALL {
        let cut = vec![
            Piece::Bytes((wire.head() + &wire.part(0, &text("half"))).into_bytes()),
            Piece::Cut,
        ];
        let output = assert_recovers(Reply::pieces(cut), wire);
        assert!(!output.stdout.contains("half"), "{}", output.stdout);
    }
}

#[test]
fn a_stream_cut_inside_a_call_runs_nothing_and_is_retried() {
    for wire in Wire::ALL {
        let part = wire.part(0, &bash("c1", "touch never"));
        // Half of the call's bytes: its input is incomplete in any case.
        let half = part.len() / 2;
        let cut = vec![
            Piece::Bytes((wire.head() + &part[..half]).into_bytes()),
            Piece::Cut,
        ];
        let output = assert_recovers(Reply::pieces(cut), wire);
        assert!(output.states("c1").is_empty(), "{}", output.stdout);
    }
}

#[test]
fn a_stream_without_its_final_event_is_treated_as_cut() {
    for wire in Wire::ALL {
        assert_recovers(
            Reply::stream(wire.head() + &wire.part(0, &text("half"))),
            wire,
        );
    }
}

#[test]
fn malformed_json_is_retried() {
    for wire in Wire::ALL {
        assert_recovers(
            Reply::stream(wire.head() + "data: {\"type\": oops\n\n"),
            wire,
        );
    }
}

#[test]
fn an_empty_body_is_retried() {
    assert_recovers(Reply::stream(""), Wire::OpenAi);
}

#[test]
fn an_error_event_before_any_call_is_retried() {
    let overloaded =
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    assert_recovers(
        Reply::stream(Wire::Anthropic.head() + &event(&overloaded)),
        Wire::Anthropic,
    );
    let failed = json!({"type": "response.failed", "response": {"id": "r", "status": "failed", "model": "m",
        "error": {"code": "server_error", "message": "oh"}}});
    assert_recovers(
        Reply::stream(Wire::Responses.head() + &event(&failed)),
        Wire::Responses,
    );
    let chunk = "data: {\"error\":{\"code\":502,\"message\":\"oh\"}}\n\n";
    assert_recovers(Reply::stream(Wire::OpenAi.head() + chunk), Wire::OpenAi);
}

#[test]
fn invalid_utf8_becomes_replacement_marks() {
    let wire = Wire::OpenAi;
    let program = Program::new();
    let stream = wire.stream(&[text("caf@")]).into_bytes();
    let broken: Vec<u8> = stream
        .into_iter()
        .map(|byte| if byte == b'@' { 0xff } else { byte })
        .collect();
    let server = Server::start([Reply::stream(broken)]);
    let output = program.ask(&server, wire, &["-p", "go"]);
    assert_eq!(output.stdout, "caf\u{fffd}\n");
}

#[test]
fn a_call_that_has_started_is_never_run_again_when_the_stream_breaks() {
    for wire in Wire::ALL {
        let program = Program::new();
        let mark = program.path("count");
        let parts = [
            text("I begin."),
            bash("c1", "echo once >> count"),
            bash("c2", "echo incomplete >> count"),
        ];
        let half = wire.part(2, &parts[2]);
        let server = Server::start([
            Reply::pieces(vec![
                Piece::Bytes(
                    (wire.head() + &wire.part(0, &parts[0]) + &wire.part(1, &parts[1]))
                        .into_bytes(),
                ),
                Piece::until(move || mark.exists()),
                Piece::Bytes(half.as_bytes()[..half.len() / 3].to_vec()),
                Piece::Cut,
            ]),
            wire.reply(&[text("went on")]),
        ]);
        let output = ask(&program, &server, wire);
        assert_eq!(output.code, Some(0), "{wire:?}: {output:?}");
        assert_eq!(program.read("count"), "once\n", "{wire:?}");
        assert_eq!(output.result()["result"], "went on");
        let bodies = server.bodies();
        assert_eq!(bodies.len(), 2);
        assert_eq!(
            wire.results(&bodies[1]),
            [("c1".to_owned(), "(no output)".to_owned())],
            "{wire:?}"
        );
        assert!(
            !bodies[1].to_string().contains("echo incomplete"),
            "{wire:?}: the incomplete block is dropped: {}",
            bodies[1]
        );
    }
}

#[test]
fn an_error_event_after_a_started_call_keeps_its_result() {
    let wire = Wire::Anthropic;
    let program = Program::new();
    let parts = [bash("c1", "echo once >> count")];
    let overloaded =
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let server = Server::start([
        Reply::stream(wire.head() + &wire.part(0, &parts[0]) + &event(&overloaded)),
        wire.reply(&[text("went on")]),
    ]);
    let output = ask(&program, &server, wire);
    assert_eq!(output.code, Some(0), "{output:?}");
    assert_eq!(program.read("count"), "once\n");
    assert_eq!(wire.results(&server.bodies()[1]).len(), 1);
}

#[test]
fn a_wrong_key_is_not_retried_and_says_what_to_do() {
    for (wire, variable) in [
        (Wire::Anthropic, "ANTHROPIC_API_KEY"),
        (Wire::OpenAi, "OPENAI_API_KEY"),
    ] {
        let program = Program::new();
        let body = r#"{"error":{"type":"authentication_error","message":"invalid x-api-key sk-secret-a sk-secret-o"}}"#;
        let server = Server::start([Reply::error(401, body)]);
        let output = program.ask(&server, wire, &["-p", "go"]);
        assert_eq!(output.code, Some(1));
        assert_eq!(server.bodies().len(), 1, "no second try");
        assert!(output.stderr.starts_with("error: "), "{}", output.stderr);
        assert!(
            output.stderr.contains("hint: ") && output.stderr.contains(variable),
            "{}",
            output.stderr
        );
        assert!(
            !output.stderr.contains("sk-secret"),
            "the key is not shown: {}",
            output.stderr
        );
    }
}

#[test]
fn refusals_of_every_kind_are_explained_without_a_retry() {
    for (status, word) in [
        (400, "400"),
        (402, "402"),
        (403, "403"),
        (404, "404"),
        (413, "413"),
    ] {
        let program = Program::new();
        let server = Server::start([Reply::error(
            status,
            r#"{"error":{"message":"no, because"}}"#,
        )]);
        let output = program.ask(&server, Wire::OpenAi, &["-p", "go"]);
        assert_eq!(output.code, Some(1), "{status}");
        assert_eq!(server.bodies().len(), 1, "{status}");
        assert!(
            output.stderr.contains(word) && output.stderr.contains("no, because"),
            "{}",
            output.stderr
        );
    }
}

#[test]
fn a_page_instead_of_a_stream_is_explained() {
    let program = Program::new();
    let mut reply = Reply::stream("<html><title>Welcome</title></html>");
    reply.headers = vec![("content-type".into(), "text/html".into())];
    let server = Server::start([reply]);
    let output = program.ask(&server, Wire::OpenAi, &["-p", "go"]);
    assert_eq!(output.code, Some(1));
    assert!(
        output.stderr.contains("web page") && output.stderr.contains("base URL"),
        "{}",
        output.stderr
    );
}

#[test]
fn a_redirect_is_not_followed_so_the_key_goes_nowhere_else() {
    let program = Program::new();
    let other = Server::start([Wire::OpenAi.reply(&[text("stolen")])]);
    let server =
        Server::start([Reply::error(307, "")
            .header("location", &format!("{}/v1/chat/completions", other.url()))]);
    let output = program.ask(&server, Wire::OpenAi, &["-p", "go"]);
    assert_eq!(output.code, Some(1), "{output:?}");
    assert!(other.received().is_empty());
}

#[test]
fn an_unknown_host_and_a_closed_port_have_different_messages() {
    let program = Program::new();
    std::fs::create_dir_all(program.config()).expect("config");
    std::fs::write(program.config().join("settings.json"), r#"{"retries": 0}"#).expect("written");
    let ask = |url: &str| program.run(&["-p", "go", "--provider", "openai", "--base-url", url]);
    let output = ask("http://no-such-host.invalid/v1");
    assert_eq!(output.code, Some(1));
    assert!(
        output.stderr.contains("can't find the host"),
        "{}",
        output.stderr
    );
    let output = ask("http://127.0.0.1:1/v1");
    assert_eq!(output.code, Some(1));
    assert!(output.stderr.contains("can't reach"), "{}", output.stderr);
    assert!(output.stderr.contains("hint: "), "{}", output.stderr);
}

#[test]
fn a_silent_stream_is_treated_as_broken() {
    let wire = Wire::Anthropic;
    let program = Program::new();
    let settings = program
        .put("s.json", r#"{"stallSeconds": 1}"#)
        .display()
        .to_string();
    let server = Server::start([
        Reply::pieces(vec![Piece::Bytes(wire.head().into_bytes()), Piece::Silence]),
        wire.reply(&[text("awake")]),
    ]);
    let output = program.ask(&server, wire, &["-p", "go", "--settings", &settings]);
    assert_eq!(output.stdout, "awake\n", "{output:?}");
    assert!(
        output.stderr.contains("no data for 1 s"),
        "{}",
        output.stderr
    );
}

#[test]
fn a_request_fails_after_its_retries() {
    let program = Program::new();
    let settings = program
        .put("s.json", r#"{"retries": 2}"#)
        .display()
        .to_string();
    let replies = (0..5).map(|_| Reply::error(500, "{}").header("retry-after", "0"));
    let server = Server::start(replies);
    let output = program.ask(
        &server,
        Wire::OpenAi,
        &["-p", "go", "--settings", &settings],
    );
    assert_eq!(output.code, Some(1));
    assert_eq!(server.bodies().len(), 3);
}
