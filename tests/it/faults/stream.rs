//! A: servers that are slow, silent, unreachable or refuse, and a person who does not wait.

use std::io::Read;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::json;

use super::invariants::{assert_invariants, leave};
use crate::support::program::finish;
use crate::support::server::wait_for_some;
use crate::support::wire::{bash, text};
use crate::support::{Output, Piece, Program, Pty, Reply, Server, Wire};

fn bytes(text: impl Into<Vec<u8>>) -> Piece {
    Piece::Bytes(text.into())
}

/// Sends a prompt with these settings.
fn ask(program: &Program, server: &Server, wire: Wire, settings: &str) -> Output {
    let file = program.workspace().with_file_name("settings.json");
    std::fs::write(&file, settings).expect("written");
    let file = file.display().to_string();
    let mode = [
        "--permission-mode",
        "bypassPermissions",
        "--settings",
        &file,
    ];
    let output = program.ask(server, wire, &[&["-p", "go"], &mode[..]].concat());
    assert_invariants(program, &output);
    output
}

/// A screen that talks to a server.
fn screen(server: &Server) -> Pty {
    let url = server.url();
    let arguments = [
        "--provider",
        "anthropic",
        "--base-url",
        &url,
        "--model",
        "m",
    ];
    let key = [("ANTHROPIC_API_KEY", "k")];
    let mut tui = Pty::spawn_with(Program::new(), &arguments, &key, 100, 30);
    tui.wait_for("Ctrl+P commands");
    tui
}

/// The beginning of an answer's text, without an end.
fn begun(words: &'static str) -> String {
    let whole = Wire::Anthropic.stream(&[text(words)]);
    let end = whole.find("event: content_block_stop").expect("an end");
    whole[..end].to_owned()
}

#[test]
fn a6_a_slow_stream_is_shown_as_it_arrives_and_escape_ends_it() {
    let mut drip: Vec<Piece> = begun("drip drop")
        .bytes()
        .map(|byte| bytes([byte]))
        .collect();
    for _ in 0..2_000 {
        drip.extend([bytes(": \n"), Piece::Pause(Duration::from_millis(20))]);
    }
    let server = Server::start([
        Reply::pieces(drip),
        Wire::Anthropic.reply(&[text("Still here.")]),
    ]);
    let mut tui = screen(&server);
    tui.send("go\r").wait_for("drip drop");
    tui.send("\x1b").wait_for("interrupted");
    tui.send("and now?\r").wait_for("Still here.");
    assert_eq!(server.bodies().len(), 2);
    leave(&mut tui);
}

#[test]
fn a7_a_silent_stream_is_cut_and_retried_and_pings_keep_it_alive() {
    let wire = Wire::Anthropic;
    let silent = Reply::pieces(vec![bytes(wire.head()), Piece::Silence]);
    let server = Server::start([silent, wire.reply(&[text("fine")])]);
    let program = Program::new();
    let output = ask(&program, &server, wire, r#"{"stallSeconds": 1}"#);
    assert_eq!(output.stdout, "fine\n", "{output:?}");
    assert!(output.stderr.contains("no data for 1 s"), "{output:?}");
    // Comments and pings have no content, but show that the connection is alive.
    let mut alive = vec![bytes(wire.head())];
    for sign in [
        ": still here\n\n",
        "event: ping\ndata: {\"type\": \"ping\"}\n\n",
    ]
    .repeat(4)
    {
        alive.extend([Piece::Pause(Duration::from_millis(400)), bytes(sign)]);
    }
    alive.push(bytes(wire.stream(&[text("at last")]).replacen(
        &wire.head(),
        "",
        1,
    )));
    let server = Server::start([Reply::pieces(alive)]);
    let output = ask(
        &program,
        &server,
        wire,
        r#"{"stallSeconds": 2, "retries": 0}"#,
    );
    assert_eq!(output.stdout, "at last\n", "{output:?}");
    assert_eq!(server.bodies().len(), 1);
}

#[test]
fn a8_the_person_decides_about_an_unreasonably_long_wait() {
    for wait in ["100000", "99999999999999999999", "1e9"] {
        let reply = Reply::error(429, "{}").header("retry-after", wait);
        let server = Server::start([reply, Wire::Anthropic.reply(&[text("fine")])]);
        let output = ask(
            &Program::new(),
            &server,
            Wire::Anthropic,
            r#"{"retries": 1}"#,
        );
        if output.code == Some(1) {
            assert!(output.stderr.contains("hint: "), "{wait}: {output:?}");
            assert_eq!(server.bodies().len(), 1, "{wait}");
        } else {
            assert_eq!(output.stdout, "fine\n", "{wait}: {output:?}");
        }
    }
}

#[test]
fn a10_refusals_are_not_repeated_and_say_what_to_do() {
    let long = json!({"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 250000 tokens > 200000 maximum"}}).to_string();
    for (status, body, words) in [
        (400, "{}", "400"),
        (400, long.as_str(), "too long"),
        (401, "{}", "ANTHROPIC_API_KEY"),
        (403, "{}", "403"),
        (404, "{}", "model"),
        (413, "{}", "413"),
    ] {
        let server = Server::start(vec![Reply::error(status, body); 3]);
        let output = ask(&Program::new(), &server, Wire::Anthropic, "{}");
        assert_eq!(output.code, Some(1), "{output:?}");
        assert_eq!(server.bodies().len(), 1, "{status}");
        for words in [words, "hint: "] {
            assert!(output.stderr.contains(words), "{status}: {output:?}");
        }
        assert!(!output.stderr.contains("sk-secret"), "{output:?}");
    }
}

/// Sends a prompt to an address without a working server.
fn ask_at(url: &str) -> Output {
    let program = Program::new();
    let settings = program.put("once.json", r#"{"retries": 0}"#);
    let settings = settings.display().to_string();
    let arguments = [
        "-p",
        "go",
        "--provider",
        "anthropic",
        "--base-url",
        url,
        "--settings",
        &settings,
    ];
    let mut command = program.command(&arguments);
    let output = finish(
        command
            .env("ANTHROPIC_API_KEY", "k")
            .spawn()
            .expect("it starts"),
    );
    assert_invariants(&program, &output);
    assert_eq!(output.code, Some(1), "{url}: {output:?}");
    assert!(output.stderr.contains("hint: "), "{url}: {output:?}");
    output
}

/// Answers the first connection and ends.
fn listen(answer: impl FnOnce(std::net::TcpStream) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        if let Ok((connection, _)) = listener.accept() {
            answer(connection);
        }
    });
    format!("https://{address}")
}

#[test]
fn a11_each_kind_of_unreachable_server_has_its_own_message() {
    let nobody = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = nobody.local_addr().expect("an address").port();
    drop(nobody);
    let output = ask_at(&format!("http://127.0.0.1:{port}"));
    assert!(output.stderr.contains("can't reach"), "{output:?}");
    let output = ask_at("http://nowhere.invalid");
    assert!(output.stderr.contains("can't find the host"), "{output:?}");
    // The handshake is cut off, or answered with something else.
    let output = ask_at(&listen(|mut connection| {
        let _ = connection.read(&mut [0; 100]);
    }));
    assert!(output.stderr.contains("failed"), "{output:?}");
    let output = ask_at(&listen(|mut connection| {
        let _ = std::io::Write::write_all(&mut connection, b"HTTP/1.1 400 Bad\r\n\r\n");
        let _ = connection.read(&mut [0; 1000]);
    }));
    assert!(output.stderr.contains("failed"), "{output:?}");
}

#[test]
fn a11_an_untrusted_certificate_is_always_refused() {
    let fixture = |name: &str| {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/tls");
        std::fs::read(format!("{folder}/{name}")).expect("a fixture")
    };
    let certificate = CertificateDer::from_pem_slice(&fixture("cert.pem")).expect("a certificate");
    let key = PrivateKeyDer::from_pem_slice(&fixture("key.pem")).expect("a key");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .expect("they belong together");
    let read = Arc::new(AtomicBool::new(false));
    let reads = read.clone();
    let url = listen(move |mut connection| {
        let mut server = rustls::ServerConnection::new(Arc::new(config)).expect("a server");
        let mut stream = rustls::Stream::new(&mut server, &mut connection);
        reads.store(
            stream.read(&mut [0; 100]).is_ok_and(|count| count > 0),
            Ordering::SeqCst,
        );
    });
    let output = ask_at(&url);
    assert!(output.stderr.contains("is not trusted"), "{output:?}");
    assert!(!read.load(Ordering::SeqCst), "nothing was sent");
}

#[test]
fn a12_a_result_outlives_the_connection_that_breaks_while_the_tool_runs() {
    for wire in Wire::ALL {
        let program = Program::new();
        let (started, mark) = (program.path("started"), program.path("go"));
        let command =
            "echo ran >>count; echo >started; until [ -e go ]; do sleep 0.01; done; echo result";
        let part = bash("c1", command);
        let release = Piece::until(move || {
            let has_started = started.exists();
            if has_started {
                std::fs::write(&mark, "").expect("written");
            }
            has_started
        });
        // In every wire format, the next call makes it certain that this one is complete.
        let broken = wire.head() + &wire.part(0, &part) + &begun_next(wire);
        let server = Server::start([
            Reply::pieces(vec![bytes(broken), release, Piece::Cut]),
            wire.reply(&[text("done")]),
        ]);
        let output = ask(&program, &server, wire, "{}");
        assert_eq!(output.stdout, "done\n", "{wire:?}: {output:?}");
        assert_eq!(program.read("count"), "ran\n", "{wire:?}");
        let results = wire.results(&server.bodies()[1]);
        assert_eq!(results.len(), 1, "{wire:?}: {results:?}");
        assert!(results[0].1.contains("result"), "{wire:?}: {results:?}");
    }
}

/// Half of a call's beginning.
fn begun_next(wire: Wire) -> String {
    let next = wire.part(1, &bash("c2", "echo never >>count"));
    let first = next.find("\n\n").map_or(next.len(), |end| end + 2);
    next[..first].to_owned()
}

#[test]
fn a13_a_stream_of_very_many_pieces_is_one_answer() {
    let wire = Wire::OpenAi;
    let piece = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"}}]}\n\n";
    let many = bytes(piece.repeat(10_000));
    let mut pieces = vec![bytes(wire.head())];
    pieces.extend(vec![many; 10]);
    pieces.push(bytes(wire.tail(&[])));
    let server = Server::start([Reply::pieces(pieces)]);
    let output = ask(&Program::new(), &server, wire, "{}");
    assert_eq!(output.stdout.len(), 100_001, "{:?}", output.stderr);
}

#[test]
fn a16_bodies_that_are_no_stream_are_reported_and_the_key_is_sent_nowhere_else() {
    let elsewhere = Server::start([Wire::Anthropic.reply(&[text("stolen")])]);
    let away = elsewhere.url();
    let html = |reply: Reply| reply.header("content-type", "text/html");
    let page = Reply {
        headers: Vec::new(),
        ..Reply::stream("<html>hello</html>")
    };
    let plain = Reply {
        headers: Vec::new(),
        ..Reply::stream("hello")
    };
    let redirect = Reply {
        status: 307,
        ..Reply::stream("")
    }
    .header("location", &away);
    // Ten megabytes of zeros in ten kilobytes, although compression was not requested.
    let packed =
        Reply::stream(vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0]).header("content-encoding", "gzip");
    for (reply, about) in [
        (html(page), "a page"),
        (plain, "text"),
        (Reply::stream(""), "nothing"),
        (redirect, "a redirect"),
        (packed, "something packed"),
    ] {
        let server = Server::start([reply]);
        let output = ask(
            &Program::new(),
            &server,
            Wire::Anthropic,
            r#"{"retries": 0}"#,
        );
        assert_eq!(output.code, Some(1), "{about}: {output:?}");
        assert!(output.stderr.contains("hint: "), "{about}: {output:?}");
    }
    assert_eq!(elsewhere.received().len(), 0);
}

#[test]
fn a18_a_message_sent_during_an_answer_is_queued_visibly_and_escape_does_not_send_it() {
    let wire = Wire::Anthropic;
    let server = Server::start([
        Reply::pieces(vec![bytes(begun("I begin")), Piece::Silence]),
        wire.reply(&[text("All of it.")]),
        wire.reply(&[text("Once more.")]),
    ]);
    let mut tui = screen(&server);
    tui.send("first\r").wait_for("I begin");
    for number in 0..12 {
        tui.send(format!("queued-{number}-message\r"));
        tui.wait_for(&format!("{} queued", number + 1));
    }
    assert_eq!(server.bodies().len(), 1);
    tui.send("\x1b").wait_for("interrupted");
    assert_eq!(
        server.bodies().len(),
        1,
        "control is back, and nothing was sent"
    );
    tui.send("\r").wait_for("All of it.");
    let sent = server.bodies()[1].to_string();
    for number in 0..12 {
        let times = sent.matches(&format!("queued-{number}-message")).count();
        assert_eq!(times, 1, "{number}");
    }
    leave(&mut tui);
}

#[test]
fn a19_a_program_that_was_stopped_in_mid_stream_continues_where_it_was() {
    let wire = Wire::Anthropic;
    let go = Arc::new(AtomicBool::new(false));
    let going = go.clone();
    let rest = wire.stream(&[text("first half, second half")]);
    let begun = begun("first half, ");
    let rest = rest
        .split("event: content_block_delta")
        .nth(1)
        .expect("a delta");
    let rest = format!(
        "event: content_block_delta{}",
        rest.replace("first half, ", "")
    );
    let pieces = vec![
        bytes(begun),
        Piece::until(move || going.load(Ordering::SeqCst)),
        bytes(rest),
    ];
    let server = Server::start([Reply::pieces(pieces), wire.reply(&[text("asked again")])]);
    let program = Program::new();
    let child = program.start(&server, wire, &["-p", "go"]);
    server.wait_for(1);
    let pid = Pid::from_child(&child);
    kill_process(pid, Signal::STOP).expect("it runs");
    let stat = format!("/proc/{}/stat", pid.as_raw_nonzero());
    wait_for_some(|| {
        let stat = std::fs::read_to_string(&stat).ok()?;
        stat.contains(") T ").then_some(())
    });
    go.store(true, Ordering::SeqCst);
    kill_process(pid, Signal::CONT).expect("it runs");
    let output = finish(child);
    assert_invariants(&program, &output);
    assert_eq!(output.stdout, "first half, second half\n", "{output:?}");
    assert_eq!(server.bodies().len(), 1);
}
