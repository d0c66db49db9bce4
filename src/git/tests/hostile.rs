use std::time::{Duration, Instant};

use super::{LOOKING, Scene};
use crate::git::status::ask;
use crate::permissions::Decision;
use crate::protocol::Mode;

/// A filter whose key follows a continued value that looks like a section header.
fn continued(program: &str) -> String {
    format!("[filter \"evil\"]\n\tzz = a\\\n[foo]\n\tclean = {program}")
}

fn filter(program: &str) -> String {
    format!("[filter \"evil\"]\n\tclean = {program}")
}

/// A repository inside the repository, in the index of the outer one. Its configuration is hostile.
fn with_submodule(scene: &Scene) {
    let sub = scene.root.join("sub");
    std::fs::create_dir(&sub).expect("mkdir");
    scene.git_in(&sub, &["init", "-q", "-b", "main"]);
    scene.put("sub/a.txt", "old\n");
    scene.put("sub/.gitattributes", "*.txt filter=evil diff=evil\n");
    scene.git_in(&sub, &["add", "."]);
    scene.git_in(&sub, &["commit", "-qm", "one"]);
    scene.git(&["-c", "advice.addEmbeddedRepo=false", "add", "sub"]);
    scene.git(&["commit", "-qm", "a submodule"]);
    scene.put("sub/a.txt", "new\n");
    let program = scene.program();
    scene.git_in(&sub, &["config", "filter.evil.clean", &program]);
}

/// Two branches that changed the same line, merged.
fn with_conflict(scene: &Scene) {
    scene.git(&["checkout", "-q", "-f", "-b", "other"]);
    scene.put("a.txt", "theirs\n");
    scene.commit("theirs");
    scene.git(&["checkout", "-q", "main"]);
    scene.put("a.txt", "ours\n");
    scene.commit("ours");
    scene.git(&["merge", "-q", "-s", "ours", "other"]);
    let program = scene.program();
    scene.git(&["config", "merge.evil.driver", &program]);
}

#[tokio::test]
async fn a_continued_value_that_looks_like_a_header_hides_no_key() {
    let scene = Scene::new();
    scene.configure(&continued(&scene.program()));
    assert_eq!(scene.open("", &LOOKING).await, LOOKING);
    let why = scene.objection().await;
    assert!(why.contains("`filter.evil.zz`"), "{why}");
    scene.assert_armed("", "git status");
}

#[tokio::test]
async fn a_directory_that_only_looks_like_a_repository_is_skipped_as_git_does() {
    let scene = Scene::new();
    scene.put("sub/a.txt", "old\n");
    scene.commit("two");
    scene.put("sub/a.txt", "new\n");
    scene.put("sub/.git/HEAD", "garbage\n");
    for folder in ["objects", "refs"] {
        std::fs::create_dir_all(scene.root.join("sub/.git").join(folder)).expect("mkdir");
    }
    scene.configure(&filter(&scene.program()));
    let objection = scene.inspect_in("sub").await.objection;
    assert!(objection.is_some_and(|why| why.contains("filter.evil.clean")));
    assert_eq!(scene.open("sub", &LOOKING).await, LOOKING);
    scene.assert_armed("sub", "git status");
}

#[tokio::test]
async fn blanks_in_the_name_of_the_git_directory_matter() {
    let scene = Scene::new();
    let rename = |from: &str, to: &str| {
        std::fs::rename(scene.root.join(from), scene.root.join(to)).expect("rename");
    };
    // The harmless one has the name without the blank.
    let copied = scene
        .plain(&scene.root, "cp")
        .args(["-r", ".git", ".g1"])
        .status();
    assert!(copied.expect("cp is there").success());
    scene.configure(&filter(&scene.program()));
    rename(".git", ".g1 ");
    scene.put(".git", "gitdir: .g1 \n");
    assert_eq!(scene.open("", &LOOKING).await, LOOKING);
    scene.assert_armed("", "git status");
}

#[tokio::test]
async fn blanks_in_the_name_of_the_common_directory_matter() {
    let scene = Scene::new();
    let copied = scene
        .plain(&scene.root, "cp")
        .args(["-r", ".git", ".c"])
        .status();
    assert!(copied.expect("cp is there").success());
    scene.configure(&format!(
        "[diff \"evil\"]\n\ttextconv = {}",
        scene.program()
    ));
    std::fs::create_dir(scene.root.join(".c ")).expect("mkdir");
    for name in ["config", "objects", "refs"] {
        let (from, to) = (
            scene.root.join(".git").join(name),
            scene.root.join(".c ").join(name),
        );
        std::fs::rename(from, to).expect("rename");
    }
    scene.put(".git/commondir", "../.c \n");
    assert_eq!(scene.open("", &LOOKING).await, LOOKING);
    scene.assert_armed("", "git log -p");
}

#[tokio::test]
async fn a_merge_driver_is_not_started_by_merging_again() {
    let scene = Scene::new();
    with_conflict(&scene);
    let remerge = "git log -p --diff-merges=remerge";
    let asked = scene.open("", &[remerge]).await;
    assert_eq!(asked, [remerge]);
    scene.assert_armed("", remerge);
}

#[tokio::test]
async fn no_configuration_makes_a_plain_log_merge_again() {
    let scene = Scene::new();
    with_conflict(&scene);
    scene.git(&["config", "log.diffMerges", "remerge"]);
    assert_eq!(scene.open("", &LOOKING).await, LOOKING);

    // Neither does the person's own: the driver would still be the repository's.
    scene.run_harmless(&scene.root, "git log -m -p");
    assert!(!scene.canary().exists());
    scene.assert_armed("", "git log -m -p");
}

#[tokio::test]
async fn a_submodule_is_found_in_a_split_index() {
    let scene = Scene::new();
    with_submodule(&scene);
    scene.git(&["update-index", "--split-index"]);
    let why = scene.objection().await;
    assert!(why.contains("submodule `sub`"), "{why}");
    assert_eq!(scene.open("", &LOOKING).await, LOOKING);
    scene.assert_armed("", "git status");
}

#[tokio::test]
async fn a_submodule_is_found_from_below_and_in_every_version_of_the_index() {
    let scene = Scene::new();
    with_submodule(&scene);
    scene.put("deep/b.txt", "x\n");
    for version in ["2", "3", "4"] {
        scene.git(&["update-index", "--index-version", version]);
        let why = scene.inspect_in("deep").await.objection.unwrap_or_default();
        assert!(why.contains("submodule `sub`"), "{version}: {why}");
    }
    // If its repository is missing, git does not look into it.
    std::fs::remove_dir_all(scene.root.join("sub/.git")).expect("remove");
    assert_eq!(scene.objection().await, "");
}

#[tokio::test]
async fn a_former_submodule_is_not_entered() {
    let scene = Scene::new();
    with_submodule(&scene);
    let text = std::fs::read_to_string(scene.root.join("sub/.git/config")).expect("readable");
    let program = scene.program();
    scene.put(
        "sub/.git/config",
        &format!("{text}[diff \"evil\"]\n\ttextconv = {program}\n"),
    );
    scene.git_in(
        &scene.root.join("sub"),
        &["-c", "filter.evil.clean=cat", "commit", "-qam", "two"],
    );
    scene.git(&["-c", "filter.evil.clean=cat", "add", "sub"]);
    scene.git(&["commit", "-qm", "the submodule moves"]);
    scene.git(&["rm", "-q", "--cached", "sub"]);
    scene.git(&["commit", "-qm", "no submodule any more"]);
    let _ = std::fs::remove_file(scene.canary());
    // The person may have set git to show submodules in full.
    scene
        .plain(&scene.root, "git")
        .args(["config", "--global", "diff.submodule", "diff"])
        .status()
        .expect("git");
    assert_eq!(scene.objection().await, "");
    assert_eq!(scene.open("", &LOOKING).await, Vec::<String>::new());
    scene.git(&["config", "diff.submodule", "diff"]);
    assert_eq!(scene.open("", &LOOKING).await, LOOKING);
    scene.assert_armed("", "git log -p");
}

#[tokio::test]
async fn keys_that_start_programs_in_newer_versions_of_git_ask() {
    for (text, key) in [
        (
            "[hook \"x\"]\n\tcommand = touch canary\n\tevent = post-index-change",
            "hook.x.command",
        ),
        ("[core]\n\tfsmonitor = true", "core.fsmonitor"),
        ("[core]\n\tfsmonitor", "core.fsmonitor"),
    ] {
        let scene = Scene::new();
        scene.configure(text);
        let why = scene.objection().await;
        assert!(why.contains(key), "{text}: {why}");
        assert_eq!(scene.open("", &LOOKING).await, LOOKING);
    }
}

#[tokio::test]
async fn hooks_are_not_run() {
    let scene = Scene::new();
    let program = scene.program();
    let hooks = scene.root.join(".git/hooks");
    std::fs::create_dir_all(&hooks).expect("mkdir");
    std::fs::copy(program, hooks.join("post-index-change")).expect("copied");
    // A stale entry, so that git would want to write the index.
    scene.put("b.txt", "x\n");
    scene.git(&["-c", "core.hooksPath=/dev/null", "add", "."]);
    scene.put("b.txt", "x\n");
    assert_eq!(scene.open("", &LOOKING).await, Vec::<String>::new());
    scene.assert_armed("", "git status");
}

#[tokio::test]
async fn a_configuration_that_never_ends_blocks_nothing() {
    let scene = Scene::new();
    std::fs::remove_file(scene.root.join(".git/config")).expect("remove");
    let made = scene
        .plain(&scene.root, "mkfifo")
        .arg(".git/config")
        .status();
    assert!(made.expect("mkfifo is there").success());
    let began = Instant::now();
    let output = ask(&scene.programs(), &scene.root).finish().await;
    assert_eq!(output.lines, "- Git: not known yet");
    let decision = scene
        .decision(&scene.root, "git status", Mode::Default)
        .await;
    assert_eq!(decision, Decision::Ask);
    assert!(began.elapsed() < Duration::from_secs(8));
}

/// Every key that was found to make a read-only git command start a program, or read elsewhere.
#[tokio::test]
async fn cve_2026_19593_every_key_that_starts_a_program_is_found() {
    let scene = Scene::new();
    let program = scene.program();
    let config = std::fs::read_to_string(scene.root.join(".git/config")).expect("readable");
    let keys = [
        (format!("[core]\n\tfsmonitor = {program}"), "core.fsmonitor"),
        (format!("[core] fsmonitor = {program}"), "core.fsmonitor"),
        (format!("[diff]\n\texternal = {program}"), "diff.external"),
        (
            format!("[diff \"evil\"]\n\ttextconv = {program}"),
            "diff.evil.textconv",
        ),
        (
            format!("[diff.evil]\n\ttextconv = {program}"),
            "diff.evil.textconv",
        ),
        (
            format!("[DIFF \"evil\"]\n\tTextConv = {program}"),
            "diff.evil.textconv",
        ),
        (
            format!("[diff \"evil\"]\n\tcommand = {program}"),
            "diff.evil.command",
        ),
        (
            format!("[filter \"evil\"]\n\tclean = {program}"),
            "filter.evil.clean",
        ),
        (
            format!("[filter \"evil\"]\n\tprocess = {program}"),
            "filter.evil.process",
        ),
        (format!("[gpg]\n\tprogram = {program}"), "gpg.program"),
        ("[log]\n\tshowSignature".to_owned(), "log.showsignature"),
        ("[format]\n\tpretty = %G?".to_owned(), "format.pretty"),
        ("[include]\n\tpath = ../other".to_owned(), "include.path"),
        (
            "[includeIf \"gitdir:/\"]\n\tpath = ../other".to_owned(),
            "includeif.gitdir:/.path",
        ),
        (
            "[remote \"o\"]\n\tpromisor = true".to_owned(),
            "remote.o.promisor",
        ),
        (
            "[extensions]\n\tpartialClone = o".to_owned(),
            "extensions.partialclone",
        ),
    ];
    for (text, key) in keys {
        scene.put(".git/config", &config);
        scene.configure(&text);
        let why = scene.objection().await;
        assert!(why.contains(key), "{text}: {why}");
        assert_eq!(scene.open("", &LOOKING).await, LOOKING, "{text}");
    }
    // The configuration points to another place, and git reports only that.
    scene.put(".git/config", &config);
    scene.configure("[core]\n\tworktree = /");
    assert!(!scene.objection().await.is_empty());
}
