//! Where `.git` points: to this work tree's own repository, or to another one.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::{LOOKING, Scene};

/// Another repository next to a workspace without one.
fn beside() -> (Scene, PathBuf) {
    let scene = Scene::empty();
    let other = scene.root.with_file_name("other");
    std::fs::create_dir(&other).expect("mkdir");
    scene.git_in(&other, &["init", "-q", "-b", "secret-plans"]);
    std::fs::write(other.join("key.pem"), "KEY\n").expect("write");
    scene.git_in(&other, &["add", "."]);
    scene.git_in(&other, &["commit", "-qm", "one"]);
    (scene, other.join(".git"))
}

async fn assert_not_read(scene: &Scene, what: &str) {
    let inspection = scene.inspect().await;
    assert!(inspection.objection.is_some(), "{what}");
    assert_eq!(inspection.repository, None, "{what}");
    assert_eq!(scene.open("", &LOOKING).await, LOOKING, "{what}");
    let output = scene.status(&scene.root).await;
    let text = format!("{:?} {}", output.branch, output.lines);
    assert!(
        !text.contains("secret-plans") && !text.contains("key.pem"),
        "{what}: {text}"
    );
}

/// An empty directory that git accepts as a repository.
fn shell(directory: &Path) {
    for name in ["objects", "refs"] {
        std::fs::create_dir_all(directory.join(name)).expect("mkdir");
    }
    std::fs::write(directory.join("HEAD"), "ref: refs/heads/secret-plans\n").expect("write");
}

#[tokio::test]
async fn a_pointer_to_another_repository_is_not_followed() {
    let (scene, other) = beside();
    scene.put(".git", &format!("gitdir: {}\n", other.display()));
    assert_not_read(&scene, "a file").await;
    std::fs::remove_file(scene.root.join(".git")).expect("rm");
    symlink(&other, scene.root.join(".git")).expect("ln");
    assert_not_read(&scene, "a link").await;
}

#[tokio::test]
async fn a_common_directory_of_another_repository_is_not_read() {
    let (scene, other) = beside();
    shell(&scene.root.join(".git"));
    scene.put(".git/commondir", &common_of(&other));
    assert_not_read(&scene, "a common directory").await;

    // The pointer back must be outside of the workspace's files.
    let (scene, other) = beside();
    shell(&scene.root.join("fake/worktrees/x"));
    scene.put("fake/worktrees/x/commondir", &common_of(&other));
    let dot_git = scene.root.join(".git");
    scene.put(
        "fake/worktrees/x/gitdir",
        &format!("{}\n", dot_git.display()),
    );
    scene.put(".git", "gitdir: fake/worktrees/x\n");
    assert_not_read(&scene, "a forged pointer back").await;
}

fn common_of(other: &Path) -> String {
    format!("{}\n", other.display())
}

#[tokio::test]
async fn a_work_tree_in_another_place_is_not_used() {
    let (scene, other) = beside();
    scene.git_in(
        other.parent().expect("a parent"),
        &["worktree", "add", "-q", "../linked", "-b", "b"],
    );
    let pointer = format!("gitdir: {}\n", other.join("worktrees/linked").display());
    scene.put(".git", &pointer);
    assert!(scene.inspect().await.objection.is_some());
    assert_eq!(scene.inspect_in("../linked").await.objection, None);
}

#[tokio::test]
async fn links_inside_of_the_repository_lead_to_no_other() {
    for part in ["objects", "objects/pack", "refs"] {
        let (scene, other) = beside();
        scene.git(&["init", "-q"]);
        let own = scene.root.join(".git").join(part);
        if own.is_dir() {
            std::fs::remove_dir_all(&own).expect("rm");
        } else {
            std::fs::remove_file(&own).expect("rm");
        }
        symlink(other.join(part), own).expect("ln");
        assert_not_read(&scene, part).await;
    }
}

#[tokio::test]
async fn a_work_tree_further_up_is_not_trusted() {
    let scene = Scene::new();
    scene.configure("[core]\n\tworktree = ../..");
    let inspection = scene.inspect().await;
    assert!(inspection.objection.is_some(), "{inspection:?}");
}

#[tokio::test]
async fn objects_of_another_repository_ask_with_an_explanation() {
    let scene = Scene::new();
    scene.git(&["clone", "-q", "--shared", ".", "../shared"]);
    let inspection = scene.inspect_in("../shared").await;
    assert!(
        inspection
            .objection
            .as_ref()
            .is_some_and(|why| why.contains("uses objects of another repository")),
        "{inspection:?}"
    );
    scene.git(&["clone", "-q", ".", "../whole"]);
    assert_eq!(scene.inspect_in("../whole").await.objection, None);
}

#[tokio::test]
async fn a_workspace_that_is_a_submodule_is_ordinary() {
    let scene = Scene::new();
    scene.git(&["clone", "-q", ".", "../part"]);
    let part = scene.root.with_file_name("part").display().to_string();
    let add = ["submodule", "--quiet", "add", &part, "sub"];
    scene.git(&[&["-c", "protocol.file.allow=always"][..], &add[..]].concat());
    let outer = scene.inspect_in("sub").await;
    assert_eq!(outer.objection, None);

    // Opened on its own, with the repository outside of the workspace.
    let sub = scene.root.join("sub");
    let alone = Scene {
        dir: tempfile::tempdir().expect("a temporary directory"),
        root: sub,
    };
    let inspection = alone.inspect().await;
    assert_eq!(inspection.objection, None);
    assert!(inspection.repository.is_some());
}
