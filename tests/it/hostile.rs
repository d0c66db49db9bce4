//! Hostile directories, opened with the whole program: nothing in them may run, at the start or through a command that
//! runs without asking.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::program::finish;
use crate::support::wire::{bash, text};
use crate::support::{Program, Server, Wire};

const WIRE: Wire = Wire::Anthropic;
/// What a model may run without asking in an ordinary repository.
const LOOKING: [&str; 5] = [
    "git status",
    "git diff",
    "git log -p",
    "git log -m -p",
    "ls",
];

/// A program that creates a file when it is started, and that file.
fn evil(program: &Program) -> (PathBuf, PathBuf) {
    let outside = program.workspace();
    let outside = outside.parent().expect("a home");
    let (file, canary) = (outside.join("evil.sh"), outside.join("canary"));
    let script = format!("#!/bin/sh\n: > '{}'\ncat\n", canary.display());
    std::fs::write(&file, script).expect("written");
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).expect("chmod");
    (file, canary)
}

/// git without any configuration but the repository's.
fn git(program: &Program, directory: &Path, arguments: &[&str]) {
    let output = Command::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=a@example.org"])
        .args(["-c", "core.hooksPath=/dev/null"])
        .args(arguments)
        .current_dir(directory)
        .env("HOME", program.data())
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .output()
        .expect("git is there");
    assert!(output.status.success(), "{arguments:?}: {output:?}");
}

/// A repository with a merge of two branches and a changed file. Its attributes name a filter and drivers.
fn repository(program: &Program) {
    let root = program.workspace();
    let git = |arguments: &[&str]| git(program, &root, arguments);
    git(&["init", "-q", "-b", "main"]);
    program.put(".gitattributes", "*.txt filter=x diff=x merge=x\n");
    let commit = |content: &str| {
        program.put("a.txt", content);
        git(&["add", "."]);
        git(&["commit", "-qm", content]);
    };
    commit("one\n");
    git(&["checkout", "-q", "-b", "other"]);
    commit("two\n");
    git(&["checkout", "-q", "main"]);
    commit("six\n");
    git(&["merge", "-q", "-s", "ours", "other"]);
    program.put("a.txt", "new\n");
}

fn configure(program: &Program, folder: &str, text: &str) {
    let config = format!("{folder}/config");
    let old = program.read(&config);
    program.put(&config, format!("{old}{text}\n"));
}

fn rename(program: &Program, from: &str, to: &str) {
    std::fs::rename(program.path(from), program.path(to)).expect("renamed");
}

/// A nested repository that runs a filter and is in the outer one's index.
fn submodule(program: &Program, evil: &Path) {
    let sub = program.path("sub");
    program.put("sub/b.txt", "one\n");
    program.put("sub/.gitattributes", "*.txt filter=x diff=x\n");
    git(program, &sub, &["init", "-q", "-b", "main"]);
    git(program, &sub, &["add", "."]);
    git(program, &sub, &["commit", "-qm", "one"]);
    let root = program.workspace();
    git(program, &root, &["add", "sub"]);
    git(program, &root, &["commit", "-qm", "with a submodule"]);
    program.put("sub/b.txt", "new\n");
    let text = format!(
        "[filter \"x\"]\n\tclean = {0}\n[diff \"x\"]\n\ttextconv = {0}",
        evil.display()
    );
    configure(program, "sub/.git", &text);
}

/// Starts the program there, lets a model run read-only commands, and asserts that nothing else has run.
fn opens_harmlessly(
    program: &Program,
    directory: &Path,
    variables: &[(&str, &str)],
    canary: &Path,
) -> String {
    let calls: Vec<_> = LOOKING
        .iter()
        .enumerate()
        .map(|(number, command)| bash(&format!("c{number}"), command))
        .collect();
    let server = Server::start([WIRE.reply(&calls), WIRE.reply(&[text("ok")])]);
    let url = WIRE.base_url(&server.url());
    let mut command = program.command(&[
        "--provider",
        WIRE.provider(),
        "--base-url",
        &url,
        "--model",
        "m",
        "-p",
        "go",
    ]);
    command
        .current_dir(directory)
        .env("ANTHROPIC_API_KEY", "sk-secret-a")
        .envs(variables.iter().copied());
    let output = finish(command.spawn().expect("the program starts"));
    assert_eq!(output.code, Some(0), "{output:?}");
    assert!(!canary.exists(), "{output:?}");
    let results = WIRE.results(&server.bodies()[1]);
    let results = results.into_iter().map(|(_, text)| text);
    results.collect::<Vec<_>>().join("\n--\n")
}

/// Prepares a repository, and opens it or a directory below it.
fn repository_is_harmless(below: &str, prepare: impl FnOnce(&Program, &Path)) -> String {
    let program = Program::new();
    repository(&program);
    let (evil, canary) = evil(&program);
    prepare(&program, &evil);
    let _ = std::fs::remove_file(&canary);
    opens_harmlessly(&program, &program.path(below), &[], &canary)
}

#[test]
fn a2_an_ordinary_repository_is_read_without_asking() {
    let results = repository_is_harmless("", |_, _| {});
    assert!(results.contains("modified:   a.txt"), "{results}");
    assert!(results.contains("-six\n+new"), "{results}");
    assert!(!results.contains("denied"), "{results}");
}

#[test]
fn a2a_a_continued_line_hides_no_filter() {
    let results = repository_is_harmless("", |program, evil| {
        let text = format!(
            "[filter \"x\"]\n\tzz = a\\\n[foo]\n\tclean = {}",
            evil.display()
        );
        configure(program, ".git", &text);
    });
    assert!(
        results.contains("configuration sets `filter.x.zz`"),
        "{results}"
    );
}

#[test]
fn a2b_a_fake_git_directory_hides_no_repository_above_it() {
    repository_is_harmless("sub", |program, evil| {
        program.put("sub/.git/HEAD", "garbage\n");
        for folder in ["objects", "refs"] {
            std::fs::create_dir_all(program.path("sub/.git").join(folder)).expect("mkdir");
        }
        let text = format!("[filter \"x\"]\n\tclean = {}", evil.display());
        configure(program, ".git", &text);
    });
}

#[test]
fn a2c_a2d_blanks_in_names_hide_no_configuration() {
    for common in [false, true] {
        repository_is_harmless("", |program, evil| {
            let text = format!(
                "[filter \"x\"]\n\tclean = {0}\n[diff \"x\"]\n\ttextconv = {0}",
                evil.display()
            );
            configure(program, ".git", &text);
            std::fs::create_dir(program.path(".g1")).expect("mkdir");
            if common {
                std::fs::create_dir(program.path(".g1 ")).expect("mkdir");
                for name in ["config", "objects", "refs"] {
                    rename(program, &format!(".git/{name}"), &format!(".g1 /{name}"));
                }
                program.put(".git/commondir", "../.g1 \n");
            } else {
                rename(program, ".git", ".g1 ");
                program.put(".git", "gitdir: .g1 \n");
            }
        });
    }
}

#[test]
fn a2e_a2f_merges_are_not_repeated() {
    repository_is_harmless("", |program, evil| {
        let text = format!(
            "[merge \"x\"]\n\tdriver = {}\n[log]\n\tdiffMerges = remerge",
            evil.display()
        );
        configure(program, ".git", &text);
    });
}

#[test]
fn a2g_a_submodule_in_a_split_index_is_not_entered() {
    let results = repository_is_harmless("", |program, evil| {
        submodule(program, evil);
        let root = program.workspace();
        git(program, &root, &["update-index", "--split-index"]);
    });
    assert!(results.contains("submodule `sub`"), "{results}");
}

#[test]
fn a2h_a_former_submodule_is_not_entered() {
    repository_is_harmless("", |program, evil| {
        submodule(program, evil);
        let root = program.workspace();
        git(program, &root, &["rm", "-q", "--cached", "sub"]);
        git(program, &root, &["commit", "-qm", "without"]);
        configure(program, ".git", "[diff]\n\tsubmodule = diff");
    });
}

#[test]
fn a2_the_persons_configuration_in_the_workspace_is_not_applied_without_asking() {
    let program = Program::new();
    repository(&program);
    let (evil, canary) = evil(&program);
    let text = format!("[filter \"x\"]\n\tclean = {}\n", evil.display());
    let shared = program.put("shared/git/config", text);
    let include = format!("[include]\n\tpath = {}\n", shared.display());
    let home = program.workspace().with_file_name(".gitconfig");
    std::fs::write(&home, include).expect("written");
    let root = program.workspace();
    let results = opens_harmlessly(&program, &root, &[], &canary);
    assert!(results.contains("sets `filter.x.clean`"), "{results}");

    std::fs::remove_file(home).expect("removed");
    let relative = [("XDG_CONFIG_HOME", "shared")];
    let results = opens_harmlessly(&program, &root, &relative, &canary);
    assert!(results.contains("modified:   a.txt"), "{results}");
}

/// A workspace with its own `git`, `bash` and `ls`, and a `PATH` that finds them first.
fn path_is_harmless(path: &str) {
    let program = Program::new();
    repository(&program);
    let (evil, canary) = evil(&program);
    let root = program.workspace();
    let linked = root.with_file_name("linked");
    std::os::unix::fs::symlink(&root, &linked).expect("a link");
    for folder in ["", "node_modules/.bin", ".venv/bin"] {
        std::fs::create_dir_all(program.path(folder)).expect("mkdir");
        for name in ["git", "bash", "sh", "ls", "rg"] {
            std::fs::copy(&evil, program.path(folder).join(name)).expect("copied");
        }
    }
    let usual = std::env::var("PATH").expect("a PATH");
    let path = path
        .replace("WORK", &root.display().to_string())
        .replace("LINKED", &linked.display().to_string())
        .replace("USUAL", &usual);
    let results = opens_harmlessly(&program, &root, &[("PATH", &path)], &canary);
    assert!(results.contains("modified:   a.txt"), "{path}: {results}");
    assert!(results.contains("node_modules"), "{path}: {results}");
    let mut doctor = program.command(&["doctor"]);
    let doctor = finish(doctor.env("PATH", &path).spawn().expect("it starts"));
    assert!(doctor.stdout.contains("git: git version"), "{doctor:?}");
    assert!(!canary.exists(), "{path}: by the doctor");
}

#[test]
fn a3_programs_of_the_workspace_do_not_run() {
    for path in ["./node_modules/.bin:USUAL", ".:USUAL", ":USUAL", "USUAL:"] {
        path_is_harmless(path);
    }
}

#[test]
fn a3_programs_of_the_workspace_do_not_run_by_an_absolute_path_or_a_link() {
    path_is_harmless("WORK/node_modules/.bin:USUAL");
    path_is_harmless("LINKED/node_modules/.bin:LINKED:USUAL");
}

#[test]
fn b2_programs_of_an_environment_in_the_workspace_do_not_run() {
    path_is_harmless("WORK/.venv/bin:USUAL");
}
