use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use proptest::prelude::{any, proptest};
use tempfile::TempDir;

use super::Finder;
use super::index::Index;
use super::matching::Matching;
use crate::app::job::JobResult;

struct Rig {
    finder: Finder,
    answers: Receiver<JobResult>,
    generation: u64,
}

impl Rig {
    fn new(root: &Path) -> Self {
        let (sender, answers) = channel();
        let answer = Box::new(move |result| sender.send(result).expect("the test listens"));
        Self {
            finder: Finder::new(root.to_owned(), answer),
            answers,
            generation: 0,
        }
    }

    /// The paths of the last answer to a query.
    fn find(&mut self, query: &str) -> Vec<String> {
        self.generation += 1;
        self.finder.find(query.to_owned(), self.generation);
        loop {
            let answer = self.answers.recv_timeout(Duration::from_secs(30));
            let JobResult::Paths {
                generation,
                paths,
                complete,
                ..
            } = answer.expect("an answer")
            else {
                panic!("not an answer to a query");
            };
            if complete && generation == self.generation {
                return paths.into_iter().map(|candidate| candidate.path).collect();
            }
        }
    }
}

fn tree(files: &[&str]) -> TempDir {
    let root = TempDir::new().expect("a directory");
    for file in files {
        let path = root.path().join(file);
        std::fs::create_dir_all(path.parent().expect("below the root")).expect("made");
        std::fs::write(path, "").expect("written");
    }
    root
}

#[test]
fn finds_files_and_directories_that_are_not_ignored() {
    let root = tree(&[
        "src/main.rs",
        "src/ui/main_view.rs",
        ".github/main.yml",
        ".git/main",
        "target/main.o",
        "a b/main.txt",
    ]);
    std::fs::write(root.path().join(".gitignore"), "target\n").expect("written");
    let mut rig = Rig::new(root.path());
    assert_eq!(
        rig.find(""),
        [
            "src/",
            "a b/",
            ".github/",
            ".gitignore",
            "src/ui/",
            "src/main.rs",
            "a b/main.txt",
            ".github/main.yml",
            "src/ui/main_view.rs",
        ]
    );
    assert_eq!(rig.find("smain"), ["src/main.rs", "src/ui/main_view.rs"]);
    assert_eq!(rig.find("a b/"), ["a b/", "a b/main.txt"]);
    assert_eq!(rig.find("Main"), [""; 0]);
}

#[test]
fn all_files_of_a_large_tree_are_found() {
    let files: Vec<String> = (0..3_000).map(|n| format!("d{}/f{n}.rs", n % 40)).collect();
    let names: Vec<&str> = files.iter().map(String::as_str).collect();
    let root = tree(&names);
    let mut rig = Rig::new(root.path());
    assert_eq!(rig.find("").len(), 50);
    assert_eq!(rig.find("f2999"), ["d39/f2999.rs"]);
    assert_eq!(rig.find("f1234rs"), ["d34/f1234.rs"]);
}

#[test]
fn a_missing_workspace_has_no_files() {
    let root = TempDir::new().expect("a directory");
    let mut rig = Rig::new(&root.path().join("gone"));
    assert_eq!(rig.find("x"), [""; 0]);
}

fn index(paths: &[String]) -> Index {
    let mut index = Index::default();
    for path in paths {
        index.push(path);
    }
    index
}

proptest! {
    #[test]
    fn narrowing_finds_the_same_as_a_new_query(paths in proptest::collection::vec("[a-cA-Cé/]{1,8}", 0..60), query in "[a-cA-C/]{1,4}") {
        let index = index(&paths);
        let mut narrowed = Matching::default();
        for end in 0..=query.len() {
            narrowed.ask(&query[..end], &index);
        }
        let mut asked = Matching::default();
        asked.ask(&query, &index);
        assert_eq!(narrowed.best(&index), asked.best(&index));
    }

    #[test]
    fn any_query_can_be_asked(path in any::<String>(), query in any::<String>()) {
        let index = index(&[path]);
        let mut matching = Matching::default();
        matching.ask(&query, &index);
        matching.best(&index);
    }
}
