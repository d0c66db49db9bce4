//! Commands that run without asking, in the kernel sandbox: what they still can do, and what is reported when one was
//! blocked. Without a sandbox `doctor` says so, and there is nothing else to test.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::screen::armed;
use crate::support::program::finish;
use crate::support::pty::{Pty, script};
use crate::support::wire::{bash, text};
use crate::support::{Program, Server, Wire};

const WIRE: Wire = Wire::Anthropic;

/// What `doctor` says about it.
fn doctor(program: &Program) -> String {
    let output = program.run(&["doctor"]).stdout;
    let line = output
        .lines()
        .find(|line| line.contains("run without asking"));
    line.unwrap_or_default().to_owned()
}

fn nothing_holds(program: &Program) -> bool {
    let output = doctor(program);
    assert!(!output.is_empty(), "doctor says what holds");
    !output.contains("are sandboxed by")
}

/// The results of commands that a model calls in `directory`.
fn results(program: &Program, directory: &Path, flags: &[&str], commands: &[&str]) -> Vec<String> {
    let calls: Vec<_> = commands
        .iter()
        .enumerate()
        .map(|(number, command)| bash(&format!("c{number}"), command))
        .collect();
    let server = Server::start([WIRE.reply(&calls), WIRE.reply(&[text("ok")])]);
    let url = WIRE.base_url(&server.url());
    let mut arguments = vec!["--provider", WIRE.provider(), "--base-url", &url];
    arguments.extend(["--model", "m", "-p", "go"]);
    arguments.extend(flags);
    let mut command = program.command(&arguments);
    command
        .current_dir(directory)
        .env("ANTHROPIC_API_KEY", "sk-secret-a");
    let output = finish(command.spawn().expect("the program starts"));
    assert_eq!(output.code, Some(0), "{output:?}");
    let results = WIRE.results(&server.bodies()[1]);
    results.into_iter().map(|(_, text)| text).collect()
}

fn git(directory: &Path, arguments: &[&str]) {
    let output = Command::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=a@example.org"])
        .args(["-c", "commit.gpgsign=false"])
        .args(arguments)
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .output()
        .expect("git is there");
    assert!(output.status.success(), "{arguments:?}: {output:?}");
}

fn outside(program: &Program) -> PathBuf {
    let workspace = program.workspace();
    let outside = workspace.parent().expect("a home").join("outside");
    std::fs::create_dir_all(&outside).expect("mkdir");
    std::fs::write(outside.join("notes"), "from outside\n").expect("written");
    outside.canonicalize().expect("it is there")
}

#[test]
fn git_works_below_its_repository_and_in_a_linked_work_tree() {
    let program = Program::new();
    let root = program.workspace();
    program.put("sub/a.txt", "one\n");
    git(&root, &["init", "-q", "-b", "main"]);
    git(&root, &["add", "."]);
    git(&root, &["commit", "-qm", "first"]);
    let linked = root.parent().expect("a home").join("linked");
    git(
        &root,
        &["worktree", "add", "-q", linked.to_str().expect("text")],
    );
    program.put("sub/a.txt", "two\n");
    std::fs::write(linked.join("sub/a.txt"), "two\n").expect("written");
    for directory in [root.clone(), root.join("sub"), linked] {
        let commands = ["git log --oneline", "git status --short", "git diff"];
        let output = results(&program, &directory, &[], &commands);
        assert!(output[0].contains("first"), "{directory:?}: {output:?}");
        assert!(output[1].contains("a.txt"), "{directory:?}: {output:?}");
        assert!(
            output[2].contains("-one\n+two"),
            "{directory:?}: {output:?}"
        );
    }
}

#[test]
fn the_sandbox_permits_what_rules_and_the_mode_allow() {
    let program = Program::new();
    let outside = outside(&program);
    program.put("a.txt", "one\n");
    let notes = outside.join("notes").display().to_string();
    let rule = format!("Read(/{}/**)", outside.display());
    let output = results(
        &program,
        &program.workspace(),
        &["--allow", &rule],
        &[
            &format!("cat {notes}"),
            &format!("grep -r from {}", outside.display()),
        ],
    );
    assert_eq!(output[0], "from outside");
    assert!(output[1].contains("from outside"), "{output:?}");

    let copy = outside.join("copy").display().to_string();
    let rule = format!("Edit(/{}/**)", outside.display());
    results(
        &program,
        &program.workspace(),
        &["--allow", &rule],
        &[&format!("cat a.txt > {copy}")],
    );
    assert_eq!(std::fs::read_to_string(copy).unwrap_or_default(), "one\n");

    let mode = ["--permission-mode", "acceptEdits"];
    let commands = [
        "mkdir -p new/deep && cp a.txt new/deep",
        "cat a.txt > b.txt",
    ];
    let output = results(&program, &program.workspace(), &mode, &commands);
    assert_eq!(program.read("new/deep/a.txt"), "one\n", "{output:?}");
    assert_eq!(program.read("b.txt"), "one\n", "{output:?}");
}

#[test]
fn h7_a_rule_for_one_part_does_not_open_the_workspace_to_the_others() {
    let program = Program::new();
    for name in ["ls", "git"] {
        let file = program.put(&format!("bin/{name}"), "#!/bin/sh\necho canary\n");
        std::fs::set_permissions(file, PermissionsExt::from_mode(0o755)).expect("chmod");
    }
    let provider = script(
        &program,
        "[[turn]]\nstep = [{ call = \"Bash\", input = { command = \"echo hi; ls; git --version\" } }]\n[[turn]]\ntext = \"ok\"\n",
    );
    let mut arguments = vec!["--provider", &provider, "--output-format", "stream-json"];
    arguments.extend(["--allow", "Bash(echo hi)", "-p", "go"]);
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:./bin:{path}", program.path("bin").display());
    let mut command = program.command(&arguments);
    let output = finish(
        command
            .env("PATH", path)
            .spawn()
            .expect("the program starts"),
    );
    assert!(output.stdout.contains("git version"), "{output:?}");
    assert!(!output.stdout.contains("canary"), "{output:?}");
}

/// The person's own `tree`, which records its calls.
fn own_tree(program: &Program) -> (String, PathBuf) {
    let home = program.workspace();
    let home = home.parent().expect("a home").to_owned();
    let (bin, list) = (home.join("bin"), home.join("calls"));
    std::fs::create_dir_all(&bin).expect("mkdir");
    let tree = bin.join("tree");
    let text = format!(
        "#!/bin/sh\necho called >> {} || exit 1\necho leaves\n",
        list.display()
    );
    std::fs::write(&tree, text).expect("written");
    std::fs::set_permissions(&tree, PermissionsExt::from_mode(0o755)).expect("chmod");
    let path = std::env::var("PATH").unwrap_or_default();
    (format!("{}:{path}", bin.display()), list)
}

const TREE: &str = r#"
[[turn]]
step = [{ call = "Bash", input = { command = "tree" } }]
[[turn]]
text = "Done with that."
"#;

#[test]
fn a_blocked_command_says_so_and_runs_after_a_question() {
    let program = Program::new();
    if nothing_holds(&program) {
        return;
    }
    let (path, list) = own_tree(&program);
    let provider = script(&program, TREE);
    let arguments = ["--theme", "ansi16", "--provider", &provider, "go"];
    let mut tui = Pty::spawn_with(program, &arguments, &[("PATH", &path)], 110, 40);
    tui.wait_for("blocked: it tried to write");
    assert!(!list.exists(), "nothing was written");
    assert!(tui.screen().contains("Bash(tree)"), "{}", tui.screen());
    armed(&mut tui, "y yes").send("y");
    tui.wait_for("Done with that.").wait_gone("interrupt");
    assert!(list.exists(), "{}", tui.screen());
    assert_eq!(tui.send("\x03\x03").exit().code, 0);
}

#[test]
fn headless_the_model_is_told_what_the_sandbox_blocked() {
    let program = Program::new();
    if nothing_holds(&program) {
        return;
    }
    let (path, list) = own_tree(&program);
    let provider = script(&program, TREE);
    let arguments = [
        "--provider",
        &provider,
        "--output-format",
        "stream-json",
        "-p",
        "go",
    ];
    let mut command = program.command(&arguments);
    let child = command.env("PATH", path).spawn();
    let output = finish(child.expect("the program starts"));
    assert_eq!(output.code, Some(0), "{output:?}");
    assert!(!list.exists());
    let text = &output.stdout;
    assert!(text.contains("blocked: it tried to write"), "{text}");
    assert!(text.contains("nobody is there to ask"), "{text}");
}

#[test]
fn the_setting_turns_it_off_and_a_wrong_value_is_reported_with_its_place() {
    let program = Program::new();
    let file = program.config().join("settings.json");
    let set = |text: &str| {
        std::fs::create_dir_all(program.config()).expect("mkdir");
        std::fs::write(&file, text).expect("written");
    };
    set(r#"{"sandbox": {"unasked": "off"}}"#);
    assert!(doctor(&program).contains("`sandbox.unasked` is `off`"));
    let (path, list) = own_tree(&program);
    let provider = script(&program, TREE);
    let arguments = ["--provider", &provider, "-p", "go"];
    let mut command = program.command(&arguments);
    let child = command.env("PATH", path).spawn();
    finish(child.expect("the program starts"));
    assert!(list.exists(), "nothing holds it");

    set("{\"sandbox\":\n {\"unasked\": \"sometimes\"}}");
    let output = program.run(&["--provider", &provider, "-p", "go"]);
    assert_eq!(output.code, Some(2), "{output:?}");
    assert!(output.stderr.contains("line 2, column 14"), "{output:?}");
}
