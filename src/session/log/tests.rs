//! Written records are read back, and damage costs only the damaged line.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use super::{Contents, Log, Loss, OpenError, Saved, read};
use crate::session::Record;

struct Folder {
    dir: tempfile::TempDir,
}

impl Folder {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        Self { dir }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("s.jsonl")
    }

    fn create(&self) -> Log {
        Log::create(&self.path()).expect("a new log")
    }

    fn bytes(&self) -> Vec<u8> {
        std::fs::read(self.path()).expect("readable")
    }

    fn append(&self, bytes: &[u8]) {
        let mut file = File::options()
            .append(true)
            .open(self.path())
            .expect("there");
        file.write_all(bytes).expect("written");
    }

    /// The numbers and texts of all lines in the file.
    fn lines(&self) -> Vec<(u64, String)> {
        let text = String::from_utf8(self.bytes()).expect("UTF-8");
        let lines = text.lines().filter(|line| !line.is_empty());
        let parsed = lines.map(|line| {
            let value: serde_json::Value = serde_json::from_str(line).expect("JSON");
            let seq = value["seq"].as_u64().expect("a number");
            (seq, value["text"].as_str().expect("a text").to_owned())
        });
        parsed.collect()
    }
}

fn prompt(text: &str) -> Record {
    Record::Text { text: text.into() }
}

fn records(contents: &Contents) -> Vec<Record> {
    contents.records().cloned().collect()
}

fn line(seq: u64, text: &str) -> String {
    format!("{{\"seq\":{seq},\"at_ms\":1,\"kind\":\"text\",\"text\":\"{text}\"}}")
}

#[test]
fn records_are_read_back_and_the_numbering_continues() {
    let folder = Folder::new();
    let mut log = folder.create();
    log.write(&prompt("one")).expect("written");
    log.write(&prompt("two\nlines")).expect("written");
    drop(log);
    let (mut log, contents) = Log::open(&folder.path()).expect("opened");
    assert_eq!(records(&contents), [prompt("one"), prompt("two\nlines")]);
    assert_eq!(contents.skipped, 0);
    log.write(&prompt("three")).expect("written");
    let numbers: Vec<u64> = folder.lines().into_iter().map(|(seq, _)| seq).collect();
    assert_eq!(numbers, [0, 1, 2]);
}

#[test]
fn a_log_is_not_created_over_another() {
    let folder = Folder::new();
    drop(folder.create());
    assert!(matches!(
        Log::create(&folder.path()),
        Err(OpenError::Io(error)) if error.kind() == std::io::ErrorKind::AlreadyExists
    ));
}

#[test]
fn an_incomplete_last_line_is_cut_off_and_the_next_record_gets_its_own_line() {
    let folder = Folder::new();
    folder.create().write(&prompt("one")).expect("written");
    folder.append(b"{\"seq\":1,\"at_ms\":1,\"kind\":\"te");
    let (mut log, contents) = Log::open(&folder.path()).expect("opened");
    assert_eq!(records(&contents), [prompt("one")]);
    log.write(&prompt("two")).expect("written");
    assert_eq!(folder.lines(), [(0, "one".into()), (1, "two".into())]);
}

#[test]
fn a_log_with_only_an_incomplete_line_is_empty() {
    let folder = Folder::new();
    drop(folder.create());
    folder.append(b"{\"seq\":0");
    let (_, contents) = Log::open(&folder.path()).expect("opened");
    assert_eq!(records(&contents), []);
    assert_eq!(folder.bytes(), b"");
}

#[test]
fn every_kind_of_damage_costs_only_its_own_line() {
    for damage in [
        "\0\0\0\0".to_owned(),
        "\u{fffd}garbage".to_owned(),
        "{\"seq\":5,\"at_ms\":1,\"kind\":\"from_the_future\",\"x\":{}}".to_owned(),
        "[]".to_owned(),
        format!("{}{}", line(1, "joined"), line(2, "lines")),
        format!("\0\0{}", line(1, "behind zeros")),
    ] {
        let text = format!("{}\n{damage}\n\n  \n{}\n", line(0, "a"), line(9, "b"));
        let contents = read(text.as_bytes());
        assert_eq!(records(&contents), [prompt("a"), prompt("b")], "{damage:?}");
        assert_eq!((contents.skipped, contents.next_seq), (1, 10), "{damage:?}");
    }
}

#[test]
fn bytes_that_are_not_text_cost_only_their_own_line() {
    let mut bytes = vec![0xff, 0xfe, b'\n'];
    bytes.extend(line(0, "a").into_bytes());
    let contents = read(&bytes);
    assert_eq!(
        (records(&contents), contents.skipped),
        (vec![prompt("a")], 1)
    );
}

#[test]
fn an_unknown_field_is_ignored() {
    let text = line(0, "a").replace("\"at_ms\"", "\"mood\":\"good\",\"at_ms\"");
    assert_eq!(records(&read(text.as_bytes())), [prompt("a")]);
}

#[test]
fn the_greatest_number_does_not_overflow() {
    let contents = read(line(u64::MAX, "last").as_bytes());
    assert_eq!(contents.next_seq, u64::MAX);
}

#[test]
fn records_that_could_not_be_written_are_written_later_with_the_next_one() {
    let folder = Folder::new();
    let mut log = folder.create();
    log.write(&prompt("one")).expect("written");
    let read_only = File::open(folder.path()).expect("there");
    let good = log.file.replace(read_only);
    log.write(&prompt("two")).expect_err("not writable");
    log.write(&prompt("three")).expect_err("not writable");
    assert_eq!(folder.lines(), [(0, "one".into())]);
    log.file = good;
    log.write(&prompt("four")).expect("written");
    let expected = ["one", "two", "three", "four"].map(String::from);
    assert_eq!(folder.lines(), (0..).zip(expected).collect::<Vec<_>>());
    assert_eq!(log.len, folder.bytes().len() as u64);
}

#[test]
fn a_partial_line_that_cannot_be_undone_costs_no_other_line() {
    let folder = Folder::new();
    let mut log = folder.create();
    let read_only = File::open(folder.path()).expect("there");
    let good = log.file.replace(read_only);
    folder.append(&line(0, "one").as_bytes()[..20]);
    log.write(&prompt("one")).expect_err("not writable");
    log.file = good;
    log.write(&prompt("two")).expect("written");
    let contents = read(&folder.bytes());
    assert_eq!(records(&contents), [prompt("one"), prompt("two")]);
    assert_eq!(contents.skipped, 1);
    assert_eq!(log.len, folder.bytes().len() as u64);
}

#[test]
fn a_log_has_one_writer() {
    let folder = Folder::new();
    let log = folder.create();
    assert!(matches!(Log::open(&folder.path()), Err(OpenError::InUse)));
    drop(log);
    assert!(Log::open(&folder.path()).is_ok());
}

fn first(version: u32) -> Record {
    Record::Session {
        version,
        id: crate::protocol::SessionId("s".into()),
        cwd: "/w".into(),
        forked_from: None,
    }
}

/// What other programs do to the file while this one runs.
#[test]
fn a_log_that_is_removed_moved_replaced_or_truncated_is_saved_again_as_a_whole() {
    type Harm = fn(&Folder);
    let harms: [(Harm, Loss); 6] = [
        (
            |folder| std::fs::remove_file(folder.path()).expect("removed"),
            Loss::Removed,
        ),
        (
            |folder| std::fs::rename(folder.path(), folder.dir.path().join("away")).expect("moved"),
            Loss::Removed,
        ),
        (
            |folder| std::fs::remove_dir_all(folder.dir.path()).expect("removed"),
            Loss::Removed,
        ),
        (
            |folder| {
                let other = folder.dir.path().join("other");
                std::fs::write(&other, "theirs").expect("written");
                std::fs::rename(other, folder.path()).expect("moved");
            },
            Loss::Removed,
        ),
        (
            |folder| {
                let file = File::options().write(true).open(folder.path());
                file.and_then(|file| file.set_len(0)).expect("cut");
            },
            Loss::CutShort,
        ),
        (
            |folder| {
                let file = File::options().write(true).open(folder.path());
                file.and_then(|file| file.set_len(30)).expect("cut");
            },
            Loss::CutShort,
        ),
    ];
    for (number, (harm, loss)) in harms.into_iter().enumerate() {
        let folder = Folder::new();
        folder.create().write(&prompt("one")).expect("written");
        let (mut log, _) = Log::open(&folder.path()).expect("opened");
        log.write(&prompt("two")).expect("written");
        harm(&folder);
        assert_eq!(
            log.write(&prompt("three")).expect("written"),
            Saved::Restored(loss),
            "{number}"
        );
        assert_eq!(
            log.write(&prompt("four")).expect("written"),
            Saved::AsUsual,
            "{number}"
        );
        let expected = ["one", "two", "three", "four"].map(String::from);
        assert_eq!(
            folder.lines(),
            (0..).zip(expected).collect::<Vec<_>>(),
            "{number}"
        );
        assert!(
            matches!(Log::open(&folder.path()), Err(OpenError::InUse)),
            "{number}"
        );
    }
}

#[test]
fn another_programs_file_in_the_place_of_the_log_is_renamed() {
    let folder = Folder::new();
    let mut log = folder.create();
    log.write(&prompt("one")).expect("written");
    std::fs::remove_file(folder.path()).expect("removed");
    std::fs::write(folder.path(), "theirs").expect("written");
    assert_eq!(
        log.ensure_saved().expect("saved"),
        Saved::Restored(Loss::Removed)
    );
    assert_eq!(folder.lines(), [(0, "one".into())]);
    let entries = std::fs::read_dir(folder.dir.path())
        .expect("list")
        .flatten();
    let texts: Vec<String> = entries
        .filter(|entry| entry.path() != folder.path())
        .filter_map(|entry| std::fs::read_to_string(entry.path()).ok())
        .collect();
    assert_eq!(texts, ["theirs"]);
}

#[test]
fn a_log_that_cannot_be_saved_is_reported_and_saved_once_that_is_possible() {
    let folder = Folder::new();
    let mut log = folder.create();
    log.write(&prompt("one")).expect("written");
    std::fs::remove_dir_all(folder.dir.path()).expect("removed");
    std::fs::write(folder.dir.path(), "in the way").expect("written");
    log.write(&prompt("two"))
        .expect_err("there is no room for it");
    std::fs::remove_file(folder.dir.path()).expect("removed");
    let saved = log.write(&prompt("three")).expect("written");
    assert_eq!(saved, Saved::Restored(Loss::Removed));
    let expected = ["one", "two", "three"].map(String::from);
    assert_eq!(folder.lines(), (0..).zip(expected).collect::<Vec<_>>());
}

/// The file is truncated after these, and written again from memory.
fn kept(records: &[Record]) -> Vec<Record> {
    let folder = Folder::new();
    let mut log = folder.create();
    for record in records {
        log.write(record).expect("written");
    }
    let file = File::options().write(true).open(folder.path());
    file.and_then(|file| file.set_len(0)).expect("cut");
    log.ensure_saved().expect("saved");
    self::records(&read(&folder.bytes()))
}

fn requested(attempt: u32) -> Record {
    Record::Request {
        provider: "p".into(),
        model: "m".into(),
        attempt,
    }
}

#[test]
fn pieces_of_an_answer_are_joined_once_it_is_complete() {
    let message = crate::protocol::Message::from_user(Vec::new());
    let answer = Record::Assistant {
        message,
        stop_reason: None,
        usage: crate::protocol::Usage::default(),
    };
    let thought = |text: &str| Record::Thinking { text: text.into() };
    let notice = Record::Notice {
        text: "meanwhile".into(),
    };
    let written = [
        requested(0),
        thought("h"),
        thought("m"),
        prompt("one "),
        prompt("two "),
        notice.clone(),
        prompt("three"),
        answer.clone(),
        prompt("of the next"),
        prompt(" answer"),
    ];
    let expected = [
        requested(0),
        thought("hm"),
        prompt("one two "),
        notice,
        prompt("three"),
        answer,
        prompt("of the next"),
        prompt(" answer"),
    ];
    assert_eq!(kept(&written), expected);
}

#[test]
fn pieces_of_a_failed_attempt_are_not_kept() {
    let void = Record::Discarded;
    let written = [
        requested(0),
        prompt("void"),
        void.clone(),
        requested(1),
        prompt("good"),
    ];
    let expected = [requested(0), void, requested(1), prompt("good")];
    assert_eq!(kept(&written), expected);
}

#[test]
fn pieces_of_a_broken_answer_that_was_not_discarded_are_kept() {
    let broken = Record::Broken {
        text: "the connection broke".to_owned(),
    };
    let written = [requested(0), prompt("good"), broken, requested(1)];
    assert_eq!(kept(&written), written);
}

#[test]
fn problems_of_a_log_are_reported() {
    let line = |record: Record| {
        let line = crate::session::record::Line {
            seq: crate::protocol::Seq(0),
            at_ms: 1,
            agent: crate::protocol::AgentId::MAIN,
            record,
        };
        serde_json::to_string(&line).expect("JSON") + "\n"
    };
    let good = line(first(1)) + &line(prompt("a"));
    let remarks = |text: &str| {
        let folder = Folder::new();
        drop(folder.create());
        folder.append(text.as_bytes());
        let (_, contents) = Log::open(&folder.path()).expect("opened");
        contents.remarks().join("; ")
    };
    assert_eq!(remarks(&good), "");
    assert_eq!(
        remarks(good.trim_end()),
        "",
        "only the last line end is missing"
    );
    for (text, problems) in [
        (String::new(), "the session log is unreadable"),
        (
            line(prompt("a")),
            "the beginning of the session log is missing",
        ),
        (line(first(9)), "written by a newer agent-tui"),
        (
            format!("{good}{{\"seq\":1,"),
            "the last line of the session log was cut off",
        ),
        (
            format!("{good}\0\0\0\0"),
            "the last line of the session log was cut off",
        ),
        (
            format!("{good}\0\0\n"),
            "skipped unreadable lines in the session log: 1",
        ),
    ] {
        assert!(
            remarks(&text).contains(problems),
            "{text:?}: {}",
            remarks(&text)
        );
    }
}
