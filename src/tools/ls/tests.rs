use std::path::PathBuf;

use proptest::prelude::*;
use serde_json::json;

use super::LS;
use super::listing::{Found, Kind, Listing};
use crate::tools::files::scratch::{Scratch, text};

async fn listed(scratch: &Scratch, input: serde_json::Value) -> String {
    let output = scratch.run(&LS, input).await.expect("listed");
    text(&output).replace(&scratch.root.display().to_string(), "ROOT")
}

fn project() -> Scratch {
    let scratch = Scratch::new();
    for directory in ["src/deep", "target", "docs", ".hidden"] {
        std::fs::create_dir_all(scratch.path(directory)).expect("mkdir");
    }
    for file in [
        "a.txt",
        "src/main.rs",
        "src/deep/x.rs",
        "target/out",
        "docs/b.md",
        ".hidden/secret",
    ] {
        scratch.put(file, "x");
    }
    scratch.put(".gitignore", "target\n");
    scratch
}

#[tokio::test]
async fn directories_come_first_and_files_that_git_ignores_are_left_out() {
    let scratch = project();
    assert_eq!(
        listed(&scratch, json!({})).await,
        "- ROOT/\n  - docs/\n    - b.md\n  - src/\n    - deep/\n      - x.rs\n    - main.rs\n  - a.txt"
    );
}

#[tokio::test]
async fn globs_leave_out_files_and_whole_directories() {
    let scratch = project();
    assert_eq!(
        listed(&scratch, json!({"ignore": ["src", "*.md"]})).await,
        "- ROOT/\n  - docs/\n  - a.txt"
    );
    assert_eq!(
        listed(&scratch, json!({"path": "src", "ignore": ["!deep/**"]})).await,
        "- ROOT/src/\n  - deep/\n  - main.rs"
    );
    let error = scratch
        .run(&LS, json!({"ignore": ["{"]}))
        .await
        .expect_err("no glob");
    assert!(error.message.starts_with("`ignore` is not valid"));
}

#[tokio::test]
async fn an_empty_directory_says_so_and_links_are_marked_not_followed() {
    let scratch = Scratch::new();
    assert_eq!(listed(&scratch, json!({})).await, "- ROOT/\n  (empty)");
    std::os::unix::fs::symlink("/", scratch.path("up")).expect("link");
    assert_eq!(listed(&scratch, json!({})).await, "- ROOT/\n  - up@");
}

#[tokio::test]
async fn a_path_that_is_not_a_directory_is_an_error_with_a_hint() {
    let scratch = Scratch::new();
    scratch.put("a", "x");
    let error = scratch.run(&LS, json!({"path": "a"})).await;
    let error = error.expect_err("a file").message;
    assert!(error.ends_with("is a file, not a directory. Use Read to see what is in it"));
    let error = scratch.run(&LS, json!({"path": "absent"})).await;
    let error = error.expect_err("nothing").message;
    assert!(error.contains("cannot be listed: No such file"), "{error}");
}

#[tokio::test]
async fn a_large_directory_leaves_room_for_the_others() {
    let scratch = Scratch::new();
    for directory in ["large", "small"] {
        std::fs::create_dir(scratch.path(directory)).expect("mkdir");
    }
    for number in 0..250 {
        scratch.put(&format!("large/{number:03}"), "");
    }
    scratch.put("small/one", "");
    let listing = listed(&scratch, json!({})).await;
    assert!(listing.contains("    - 199\n    [50 more entries not shown]\n  - small/\n    - one"));
}

fn found(path: &str, kind: Kind) -> Found {
    Found {
        path: PathBuf::from(path),
        kind,
    }
}

#[test]
fn the_upper_levels_are_shown_before_the_lower_ones() {
    let mut all = Vec::new();
    for directory in 0..190 {
        all.push(found(&format!("d{directory:03}"), Kind::Directory));
        for file in 0..10 {
            all.push(found(&format!("d{directory:03}/f{file}"), Kind::File));
        }
    }
    let text = Listing::new(all, false).text("/r".as_ref());
    assert!(text.contains("\n  - d000/\n    - f0\n"));
    assert!(text.contains("\n  - d189/\n    [10 entries not shown]"));
    assert_eq!(
        text.lines()
            .filter(|line| line.trim_start().starts_with('-'))
            .count(),
        1_001
    );
}

proptest! {
    #[test]
    fn every_entry_is_shown_or_counted(paths in proptest::collection::btree_set("[a-c]{1,2}(/[a-c]{1,2}){0,3}", 0..40)) {
        let mut all = std::collections::BTreeMap::new();
        for path in &paths {
            let path = PathBuf::from(path);
            for above in path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()) {
                all.insert(above.to_owned(), Kind::Directory);
            }
            all.entry(path).or_insert(Kind::File);
        }
        let count = all.len();
        let found = all.into_iter().map(|(path, kind)| Found { path, kind }).collect();
        let text = Listing::new(found, false).text("/r".as_ref());
        let shown = text.lines().skip(1).filter(|line| line.trim_start().starts_with("- ")).count();
        prop_assert_eq!(shown, count);
    }
}
