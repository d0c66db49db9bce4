//! Sessions are found by directory, by id and by the beginning of an id; a copy does not change the original.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::{Found, Store, StoreError, VERSION};
use crate::protocol::{Message, SessionId};
use crate::session::Record;

struct Fixture {
    dir: tempfile::TempDir,
    store: Store,
}

impl Fixture {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let store = Store::new(dir.path().join("sessions"));
        Self { dir, store }
    }

    /// A used session of `cwd`, written this many seconds after the first.
    fn session(&self, cwd: &str, age: u64) -> Found {
        let (id, mut log) = self.store.create(Path::new(cwd), None).expect("created");
        let message = Message::user(format!("said in {cwd}"));
        log.write(&Record::User { message }).expect("written");
        let path = log.path().to_owned();
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 + age);
        let file = File::options().append(true).open(&path).expect("there");
        file.set_modified(time).expect("set");
        Found { id, path }
    }

    /// A session with exactly this id.
    fn named(&self, id: &str) -> Found {
        let path = self.dir.path().join("sessions/here-00");
        std::fs::create_dir_all(&path).expect("created");
        let path = path.join(format!("{id}.jsonl"));
        File::create(&path).expect("created");
        let id = SessionId(id.into());
        Found { id, path }
    }
}

#[test]
fn the_last_session_of_a_directory_is_the_one_written_to_last() {
    let fixture = Fixture::new();
    let newest = fixture.session("/w/here", 3);
    fixture.session("/w/here", 1);
    fixture.session("/w/there", 9);
    let last = fixture.store.last(Path::new("/w/here")).expect("found");
    assert_eq!(last, newest);
}

#[test]
fn a_new_title_is_in_the_log_and_makes_the_session_no_younger() {
    let fixture = Fixture::new();
    let old = fixture.session("/w/here", 1);
    let newest = fixture.session("/w/here", 3);
    let modified = |found: &Found| {
        let data = std::fs::metadata(&found.path).expect("there");
        data.modified().expect("a time")
    };
    let before = modified(&old);
    fixture.store.rename(&old, "the old one").expect("renamed");
    assert_eq!(modified(&old), before);
    let last = fixture.store.last(Path::new("/w/here")).expect("found");
    assert_eq!(last, newest);
    let (_log, contents) = fixture.store.open(&old).expect("opened");
    let title = "the old one".to_owned();
    assert_eq!(contents.records().last(), Some(&Record::Renamed { title }));
    let problem = fixture
        .store
        .rename(&old, "another")
        .expect_err("it is open");
    assert!(
        problem.to_string().contains("another agent-tui"),
        "{problem}"
    );
}

#[test]
fn directories_of_the_same_name_do_not_share_sessions() {
    let fixture = Fixture::new();
    fixture.session("/a/project", 1);
    assert!(matches!(
        fixture.store.last(Path::new("/b/project")),
        Err(StoreError::NothingToContinue)
    ));
}

#[test]
fn any_directory_can_have_a_session() {
    let fixture = Fixture::new();
    for cwd in ["/", "/w/..", "/w/пример", "/w/a b\n'c'", &"/x".repeat(2000)] {
        let found = fixture.session(cwd, 1);
        let last = fixture.store.last(Path::new(cwd)).expect("found");
        assert_eq!(last, found, "{cwd}");
    }
}

#[test]
fn a_session_is_found_by_its_id_or_the_beginning_of_it() {
    let fixture = Fixture::new();
    let one = fixture.named("20250101-aa");
    let two = fixture.named("20250101-ab");
    let longer = fixture.named("20250101-abc");
    let find = |id| fixture.store.find(id).map_err(|error| error.to_string());
    assert_eq!(find("20250101-aa"), Ok(one.clone()));
    assert_eq!(find("20250101-ab"), Ok(two), "the exact one");
    assert_eq!(find("20250101-abc"), Ok(longer));
    fixture.named("20260101-zz");
    assert_eq!(
        find("2025"),
        Err("several session IDs start with `2025`".into())
    );
    assert_eq!(find("1999"), Err("no session with the ID `1999`".into()));
    assert_eq!(find(""), Err("no session with the ID ``".into()));
    assert_eq!(
        find("20250101-a"),
        Err("several session IDs start with `20250101-a`".into())
    );
}

#[test]
fn a_store_that_does_not_exist_has_no_sessions() {
    let store = Store::new("/nonexistent/sessions".into());
    assert!(matches!(
        store.find("x"),
        Err(StoreError::NoSuchSession(id)) if id == "x"
    ));
}

#[test]
fn a_copy_has_all_records_and_names_its_original_which_stays_as_it_is() {
    let fixture = Fixture::new();
    let original = fixture.session("/w", 1);
    let before = std::fs::read(&original.path).expect("readable");
    let (id, mut log, contents) = fixture
        .store
        .fork(&original, Path::new("/w"))
        .expect("copied");
    let message = Message::user("said in /w");
    assert_eq!(contents.lines[1].record, Record::User { message });
    log.write(&Record::Text { text: "new".into() })
        .expect("written");
    let path = log.path().to_owned();
    drop(log);
    assert_eq!(std::fs::read(&original.path).expect("readable"), before);
    let copy = Found {
        id: id.clone(),
        path,
    };
    let (_, copied) = fixture.store.open(&copy).expect("opened");
    let first = Record::Session {
        version: VERSION,
        id,
        cwd: "/w".into(),
        forked_from: Some(original.id),
    };
    let message = Message::user("said in /w");
    let problems = Record::User { message };
    let text = Record::Text { text: "new".into() };
    assert_eq!(
        copied.records().cloned().collect::<Vec<_>>(),
        [first, problems, text]
    );
}

#[test]
fn a_session_in_use_can_be_copied_but_not_opened() {
    let fixture = Fixture::new();
    let found = fixture.session("/w", 1);
    let (log, _) = fixture.store.open(&found).expect("opened");
    let problem = fixture.store.open(&found).map(|_| ()).expect_err("in use");
    let expected = "another agent-tui is using this session";
    assert_eq!(problem.to_string(), expected);
    assert!(Store::is_open(&found));
    drop(log);
    assert!(!Store::is_open(&found));
    assert!(fixture.store.fork(&found, Path::new("/w")).is_ok());
}
