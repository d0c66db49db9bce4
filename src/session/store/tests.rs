//! Sessions are found by directory, by id and by the beginning of an id; a copy does not change the original.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::{Found, Store, StoreError, VERSION};
use crate::protocol::{Message, SessionId};
use crate::session::Record;

struct Shelf {
    dir: tempfile::TempDir,
    store: Store,
}

impl Shelf {
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
    let shelf = Shelf::new();
    let newest = shelf.session("/w/here", 3);
    shelf.session("/w/here", 1);
    shelf.session("/w/there", 9);
    let last = shelf.store.last(Path::new("/w/here")).expect("found");
    assert_eq!(last, newest);
}

#[test]
fn a_new_title_is_in_the_log_and_makes_the_session_no_younger() {
    let shelf = Shelf::new();
    let old = shelf.session("/w/here", 1);
    let newest = shelf.session("/w/here", 3);
    let modified = |found: &Found| {
        let data = std::fs::metadata(&found.path).expect("there");
        data.modified().expect("a time")
    };
    let before = modified(&old);
    shelf.store.rename(&old, "the old one").expect("renamed");
    assert_eq!(modified(&old), before);
    let last = shelf.store.last(Path::new("/w/here")).expect("found");
    assert_eq!(last, newest);
    let (_log, contents) = shelf.store.open(&old).expect("opened");
    let title = "the old one".to_owned();
    assert_eq!(contents.records().last(), Some(&Record::Renamed { title }));
    let problem = shelf.store.rename(&old, "another").expect_err("it is open");
    assert!(
        problem.to_string().contains("another agent-tui"),
        "{problem}"
    );
}

#[test]
fn directories_of_the_same_name_do_not_share_sessions() {
    let shelf = Shelf::new();
    shelf.session("/a/project", 1);
    assert!(matches!(
        shelf.store.last(Path::new("/b/project")),
        Err(StoreError::NothingToContinue)
    ));
}

#[test]
fn any_directory_can_have_a_session() {
    let shelf = Shelf::new();
    for cwd in ["/", "/w/..", "/w/пример", "/w/a b\n'c'", &"/x".repeat(2000)] {
        let found = shelf.session(cwd, 1);
        let last = shelf.store.last(Path::new(cwd)).expect("found");
        assert_eq!(last, found, "{cwd}");
    }
}

#[test]
fn a_session_is_found_by_its_id_or_the_beginning_of_it() {
    let shelf = Shelf::new();
    let one = shelf.named("20250101-aa");
    let two = shelf.named("20250101-ab");
    let longer = shelf.named("20250101-abc");
    let find = |id| shelf.store.find(id).map_err(|error| error.to_string());
    assert_eq!(find("20250101-aa"), Ok(one.clone()));
    assert_eq!(find("20250101-ab"), Ok(two), "the exact one");
    assert_eq!(find("20250101-abc"), Ok(longer));
    shelf.named("20260101-zz");
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
    let shelf = Shelf::new();
    let original = shelf.session("/w", 1);
    let before = std::fs::read(&original.path).expect("readable");
    let (id, mut log, contents) = shelf
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
    let (_, copied) = shelf.store.open(&copy).expect("opened");
    let first = Record::Session {
        version: VERSION,
        id,
        cwd: "/w".into(),
        forked_from: Some(original.id),
    };
    let message = Message::user("said in /w");
    let said = Record::User { message };
    let text = Record::Text { text: "new".into() };
    assert_eq!(
        copied.records().cloned().collect::<Vec<_>>(),
        [first, said, text]
    );
}

#[test]
fn a_session_in_use_can_be_copied_but_not_opened() {
    let shelf = Shelf::new();
    let found = shelf.session("/w", 1);
    let (_log, _) = shelf.store.open(&found).expect("opened");
    let problem = shelf.store.open(&found).map(|_| ()).expect_err("in use");
    let expected = format!(
        "`{}`: another agent-tui is using this session",
        found.path.display()
    );
    assert_eq!(problem.to_string(), expected);
    assert!(shelf.store.fork(&found, Path::new("/w")).is_ok());
}
