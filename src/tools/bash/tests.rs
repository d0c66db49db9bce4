//! Real commands in real shells.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rustix::process::{Pid, test_kill_process_group};
use serde_json::{Value, json};

use super::{Bash, DEFAULT_TIMEOUT, Input, LONGEST_TIMEOUT, timeout};
use crate::permissions::Grant;
use crate::protocol::{Image, ResultBlock};
use crate::tools::files::image::tests::png;
use crate::tools::files::scratch::{Scratch, text};
use crate::tools::{ContextChange, Progress, Tool, ToolError, ToolErrorKind, ToolOutput};

async fn run_in(scratch: &Scratch, command: &str) -> Result<ToolOutput, ToolError> {
    scratch.run(&Bash, json!({"command": command})).await
}

/// The output of a command that succeeds.
async fn printed(command: &str) -> String {
    let output = run_in(&Scratch::new(), command).await;
    text(&output.expect("it succeeds"))
}

/// The error of a command that fails.
async fn failure(command: &str) -> String {
    let error = run_in(&Scratch::new(), command).await;
    let error = error.expect_err("it fails");
    assert_eq!(error.kind, ToolErrorKind::CommandFailed, "{error:?}");
    error.message
}

/// The context changes of a command that changes the directory.
async fn moved(scratch: &Scratch, command: &str) -> Vec<ContextChange> {
    run_in(scratch, command).await.expect("it succeeds").changes
}

/// Runs the runtime until the condition is true.
async fn until(condition: impl Fn() -> bool) {
    let since = Instant::now();
    while !condition() {
        assert!(
            since.elapsed() < Duration::from_secs(20),
            "the condition never became true"
        );
        tokio::task::yield_now().await;
    }
}

fn is_gone(group: Pid) -> bool {
    test_kill_process_group(group).is_err()
}

#[tokio::test]
async fn stdout_and_stderr_keep_their_order() {
    let printed = printed("echo one; echo two >&2; echo three").await;
    assert_eq!(printed, "one\ntwo\nthree");
}

#[tokio::test]
async fn settings_add_variables_and_cannot_override_those_that_make_git_harmless() {
    let more = [
        ("GIT_OPTIONAL_LOCKS", "1"),
        ("GIT_DIR", "/x"),
        ("LC_TIME", "x"),
    ];
    let scratch = with_variables(&more);
    let command = "echo $GIT_OPTIONAL_LOCKS $GIT_DIR $LC_TIME";
    for (grant, expected) in [
        (Grant::by_forced_classifier(), "0 x"),
        (Grant::by_person(), "1 /x x"),
    ] {
        assert_eq!(started(&scratch, command, grant).await, expected);
    }
}

#[tokio::test]
async fn only_a_command_that_was_approved_finds_programs_of_the_workspace() {
    let path = "./bin:.::/usr/bin:/bin";
    let scratch = with_variables(&[("PATH", path)]);
    let bin = scratch.root.join("bin");
    std::fs::create_dir(&bin).expect("mkdir");
    for name in ["ls", "bash"] {
        std::fs::write(bin.join(name), "#!/bin/sh\necho canary\n").expect("write");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(bin.join(name), mode).expect("chmod");
        std::fs::copy(bin.join(name), scratch.root.join(name)).expect("copied");
    }
    let found = started(&scratch, "ls; echo $PATH", Grant::by_forced_classifier()).await;
    assert!(
        !found.contains("canary") && !found.contains(":."),
        "{found}"
    );
    let found = started(&scratch, "ls; echo $PATH", Grant::by_person()).await;
    assert_eq!(found, format!("canary\n{path}"));
}

fn with_variables(more: &[(&str, &str)]) -> Scratch {
    let mut scratch = Scratch::new();
    let more = more
        .iter()
        .map(|(name, value)| ((*name).into(), (*value).into()));
    scratch.environment().variables.more = more.collect();
    scratch
}

async fn started(scratch: &Scratch, command: &str, grant: Grant) -> String {
    let output = scratch.run_with(&Bash, json!({"command": command}), grant);
    text(&output.await.expect("it runs"))
}

#[tokio::test]
async fn a_command_that_prints_nothing_says_so() {
    assert_eq!(printed("true").await, "(no output)");
}

#[tokio::test]
async fn a_failing_command_has_its_exit_code_and_its_output() {
    assert_eq!(failure("echo partly; exit 3").await, "Exit code 3\npartly");
    assert_eq!(failure("false").await, "Exit code 1");
}

#[tokio::test]
async fn codes_of_the_shell_are_explained() {
    assert_eq!(
        failure("nosuchcommand_x").await,
        "Exit code 127 (command not found)\nbash: line 1: nosuchcommand_x: command not found"
    );
    assert_eq!(
        failure(": > f; ./f").await,
        "Exit code 126 (found, but not executable)\nbash: line 1: ./f: Permission denied"
    );
}

#[tokio::test]
async fn a_signal_is_named() {
    assert_eq!(
        failure("echo x; kill -9 $$").await,
        "The command was ended by signal 9\nx"
    );
    assert_eq!(
        failure("kill -TERM $$").await,
        "The command was ended by signal 15"
    );
}

#[tokio::test]
async fn an_exit_status_that_is_an_answer_is_not_an_error() {
    let scratch = Scratch::new();
    scratch.put("f", "abc\n");
    let output = run_in(&scratch, "grep x f").await.expect("an answer");
    assert_eq!(text(&output), "(exit code 1)");
    let output = run_in(&scratch, "printf 'abd\n' | diff f -").await;
    let output = text(&output.expect("an answer"));
    assert!(output.ends_with("> abd\n(exit code 1)"), "{output}");
    let error = run_in(&scratch, "grep x nosuchfile").await;
    assert_eq!(
        error.expect_err("2 is no answer").message,
        "Exit code 2\ngrep: nosuchfile: No such file or directory"
    );
}

#[test]
fn timeouts_are_limited() {
    let of = |millis: Option<f64>| {
        timeout(&Input {
            command: String::new(),
            description: None,
            timeout: millis,
            run_in_background: None,
        })
    };
    assert_eq!(of(None), DEFAULT_TIMEOUT);
    for senseless in [0.0, -5.0, f64::NAN, f64::NEG_INFINITY, 0.2] {
        assert_eq!(of(Some(senseless)), DEFAULT_TIMEOUT, "{senseless}");
    }
    assert_eq!(of(Some(1.0)), Duration::from_millis(1));
    assert_eq!(of(Some(1500.5)), Duration::from_micros(1_500_500));
    for huge in [600_001.0, 1e300, f64::INFINITY] {
        assert_eq!(of(Some(huge)), LONGEST_TIMEOUT, "{huge}");
    }
}

#[tokio::test]
async fn a_command_past_its_timeout_is_stopped_with_what_it_printed() {
    let input = json!({"command": "echo begun; sleep 1000", "timeout": 300});
    let error = Scratch::new().run(&Bash, input).await;
    let error = error.expect_err("too long");
    assert_eq!(error.kind, ToolErrorKind::CommandFailed);
    let text = "The command was stopped: it was still running after 300 ms\nbegun";
    assert_eq!(error.message, text);
    let sentence = error.for_person.sentence.as_deref();
    assert_eq!(sentence, Some("stopped at its time limit, 300ms"));
    assert_eq!(error.for_person.output_in(&error.message), "begun");
}

#[tokio::test]
async fn an_empty_command_is_refused() {
    let scratch = Scratch::new();
    let refusal = async |command: &str| {
        let error = run_in(&scratch, command).await.expect_err("refused");
        assert_eq!(error.kind, ToolErrorKind::Refused);
        error.message
    };
    assert_eq!(refusal(" \n").await, "`command` is empty");
    assert_eq!(
        refusal("echo a\0b").await,
        "`command` contains a NUL byte, which no shell can take"
    );
}

#[tokio::test]
async fn escape_sequences_are_removed() {
    let command = r"printf '\033[1;31mred\033[0m \033]0;title\007plain\033[2K'";
    assert_eq!(printed(command).await, "red plain");
}

#[tokio::test]
async fn bytes_that_are_not_text_are_replaced() {
    assert_eq!(printed(r"printf 'a\377b'").await, "a\u{fffd}b");
}

/// The output of `seq 1 LAST`, as the model gets it, and its file.
async fn counted(last: u32) -> (String, String) {
    let scratch = Scratch::new();
    let output = run_in(&scratch, &format!("seq 1 {last}")).await;
    let file = scratch.cx.env.results_dir.join("call-1.1.txt");
    let whole = std::fs::read_to_string(file).unwrap_or_default();
    (text(&output.expect("it succeeds")), whole)
}

fn numbers(last: u32) -> String {
    let numbers: Vec<String> = (1..=last).map(|number| number.to_string()).collect();
    numbers.join("\n") + "\n"
}

#[tokio::test]
async fn output_that_fits_is_whole_and_makes_no_file() {
    let (output, file) = counted(5000).await;
    assert_eq!(output, numbers(5000).trim_end());
    assert_eq!(file, "");
}

#[tokio::test]
async fn longer_output_is_cut_to_head_and_tail_and_whole_in_a_file() {
    // Within what is kept in memory, a little over the head, and far beyond it.
    for last in [20_000, 24_000, 30_000, 300_000] {
        let (output, file) = counted(last).await;
        assert_eq!(file, numbers(last), "{last}");
        let size = output.chars().count();
        assert!((28_900..=30_000).contains(&size), "{last}: {size}");
        let (head, rest) = output.split_once("\n\n[… ").expect("a notice");
        let (notice, tail) = rest.split_once("]\n\n").expect("its end");
        assert!(numbers(last).starts_with(head), "{last}");
        assert!(numbers(last).trim_end().ends_with(tail), "{last}");
        assert!(head.len() > 19_000 && tail.len() > 9_000, "{last}");
        assert!(notice.contains("call-1.1.txt"), "{notice}");
    }
}

#[tokio::test]
async fn an_image_may_be_larger_than_the_limit_of_text() {
    for size in [20, 40_000, 150_000, 1_000_000] {
        let scratch = Scratch::new();
        scratch.put("picture.png", png_of(size));
        let command = "printf 'data:image/png;base64,'; base64 -w0 picture.png";
        let output = run_in(&scratch, command).await.expect("it succeeds");
        let data = BASE64_STANDARD.encode(png_of(size));
        let image = ResultBlock::Image(Image::base64("image/png", data));
        assert!(output.for_model == [image], "{size}");
    }
}

#[tokio::test]
async fn the_bytes_of_an_image_are_an_image() {
    for size in [20, 1_000_000] {
        let scratch = Scratch::new();
        scratch.put("picture.png", png_of(size));
        let output = run_in(&scratch, "cat picture.png")
            .await
            .expect("it succeeds");
        let data = BASE64_STANDARD.encode(png_of(size));
        let image = ResultBlock::Image(Image::base64("image/png", data));
        assert!(output.for_model == [image], "{size}");
    }
    let broken = printed("printf '\\x89PNG\\r\\n\\x1a\\nrest'").await;
    assert!(broken.ends_with("rest"), "{broken}");
}

/// A PNG with a comment of this size.
fn png_of(size: usize) -> Vec<u8> {
    let mut png = png(4, 4);
    let end = png.split_off(png.len() - 12);
    png.extend(u32::try_from(size).expect("small").to_be_bytes());
    png.extend(b"tEXt");
    png.extend(std::iter::repeat_n(b'x', size + 4));
    png.extend(end);
    png
}

#[tokio::test]
async fn what_only_looks_like_an_image_is_text() {
    for output in [
        "data:image/png;base64,",
        "data:image/svg+xml;base64,AAAA",
        "data:image/png;base64,AA<>",
        "data:text/plain;base64,AAAA",
        "see data:image/png;base64,AAAA",
        "data:image/png;base64,AAAA",
        "data:image/png;base64,iVBORw0KGgo=",
    ] {
        assert_eq!(printed(&format!("echo '{output}'")).await, output);
    }
    let failed = failure("echo 'data:image/png;base64,AAAA'; exit 4").await;
    assert_eq!(failed, "Exit code 4\ndata:image/png;base64,AAAA");
}

#[tokio::test]
async fn a_command_longer_than_the_argument_limit_works() {
    let long = "x".repeat(300_000);
    let scratch = Scratch::new();
    let command = format!("word={long}\nmkdir sub\ncd sub; echo ${{#word}}");
    let output = run_in(&scratch, &command).await.expect("it succeeds");
    assert_eq!(text(&output), "300000");
    assert_eq!(output.changes, [ContextChange::Cwd(scratch.path("sub"))]);
}

#[tokio::test]
async fn the_directory_carries_over_whatever_its_name_is() {
    for name in [
        "plain",
        "a b",
        "it's",
        "q\"q",
        "line\nbreak",
        "$HOME",
        "\\",
        "ends\n",
    ] {
        let mut scratch = Scratch::new();
        let there = scratch.path(name);
        std::fs::create_dir(&there).expect("mkdir");
        let word = format!("'{}'", name.replace('\'', r"'\''"));
        let changes = moved(&scratch, &format!("cd -- {word}; true")).await;
        assert_eq!(changes, [ContextChange::Cwd(there.clone())]);
        scratch.cx.cwd.clone_from(&there);
        let changes = moved(&scratch, "echo > here").await;
        assert_eq!(
            changes,
            [],
            "no change is reported if the directory stays the same"
        );
        assert!(there.join("here").exists());
    }
}

#[tokio::test]
async fn a_directory_whose_name_is_no_text_carries_over() {
    use std::os::unix::ffi::OsStringExt;
    let scratch = Scratch::new();
    let name = std::ffi::OsString::from_vec(b"a\xffb".to_vec());
    let there = scratch.root.join(PathBuf::from(name));
    if std::fs::create_dir(&there).is_err() {
        return; // This file system accepts only names that are text.
    }
    let changes = moved(&scratch, "cd a*; true").await;
    assert_eq!(changes, [ContextChange::Cwd(there)]);
}

#[tokio::test]
async fn exiting_the_shell_early_keeps_the_directory() {
    let scratch = Scratch::new();
    let sub = [ContextChange::Cwd(scratch.path("sub"))];
    for command in [
        "mkdir -p sub; cd sub; exit",
        "set -eu; set -C; cd sub; exit 0; echo never",
        "cd sub; (cd /; exit 1) || true",
        "cd sub; cat <<END\n$x\nEND",
    ] {
        assert_eq!(moved(&scratch, command).await, sub, "{command}");
    }
}

#[tokio::test]
async fn a_trap_of_the_command_works_and_its_directory_is_not_followed() {
    let output = run_in(&Scratch::new(), "trap 'echo bye' EXIT; cd /; echo hi").await;
    let output = output.expect("it succeeds");
    assert_eq!(text(&output), "hi\nbye");
    assert_eq!(output.changes, []);
}

#[tokio::test]
async fn a_command_that_removes_its_directory_has_only_its_own_output() {
    let mut scratch = Scratch::new();
    scratch.cx.cwd = scratch.path("sub");
    std::fs::create_dir(&scratch.cx.cwd).expect("mkdir");
    let output = run_in(&scratch, "rmdir \"$PWD\"").await;
    let output = output.expect("it succeeds");
    assert_eq!(text(&output), "(no output)");
    assert_eq!(output.changes, []);
}

#[tokio::test]
async fn the_person_sees_exit_status_and_output_without_the_text_for_the_model() {
    let scratch = Scratch::new();
    let failed = run_in(&scratch, "echo no; exit 3").await.expect_err("3");
    assert_eq!(failed.message, "Exit code 3\nno");
    assert_eq!(failed.for_person.exit, Some(3));
    assert_eq!(failed.for_person.output_in(&failed.message), "no");
    let silent = run_in(&scratch, "true").await.expect("0");
    assert_eq!(silent.for_person.exit, Some(0));
    assert_eq!(silent.for_person.output_in(&text(&silent)), "");
    let answer = run_in(&scratch, "grep x /dev/null").await.expect("1");
    assert_eq!(answer.for_person.exit, Some(1));
    assert_eq!(answer.for_person.output_in(&text(&answer)), "");
}

#[tokio::test]
async fn a_directory_that_is_gone_is_named() {
    let mut scratch = Scratch::new();
    scratch.cx.cwd = scratch.path("gone");
    let error = run_in(&scratch, "true").await.expect_err("no place to run");
    let expected = format!(
        "The command could not be started: the working directory `{}` no longer exists",
        scratch.path("gone").display()
    );
    assert_eq!(error.message, expected);
}

/// Cancels a command once it has printed the id of its shell, which leads its group.
async fn cancelled(command: &str) -> (ToolError, Pid) {
    let mut scratch = Scratch::new();
    let leader = Arc::new(Mutex::new(String::new()));
    scratch.cx.progress = {
        let (leader, cancel) = (leader.clone(), scratch.cx.cancel.clone());
        Progress::new(move |text| {
            leader.lock().expect("unpoisoned").push_str(&text.text);
            cancel.cancel();
        })
    };
    let error = run_in(&scratch, command).await.expect_err("cancelled");
    let text = leader.lock().expect("unpoisoned").clone();
    let number = text.lines().next().expect("a line").parse().expect("an id");
    (error, Pid::from_raw(number).expect("not zero"))
}

#[tokio::test]
async fn cancelling_ends_the_whole_group() {
    let (error, group) = cancelled("echo $$; sleep 1000 | sleep 1000 & sleep 1000").await;
    assert_eq!(error.kind, ToolErrorKind::Cancelled);
    let leader = group.as_raw_nonzero().to_string();
    assert!(error.message.starts_with(&leader), "{}", error.message);
    until(|| is_gone(group)).await;
}

#[tokio::test]
async fn cancelling_ends_even_what_ignores_it() {
    let command = "trap '' TERM; echo $$; while :; do sleep 1000; done";
    let (_, group) = cancelled(command).await;
    until(|| is_gone(group)).await;
}

#[tokio::test]
async fn progress_is_paced_and_bounded_whatever_is_printed() {
    let mut scratch = Scratch::new();
    let reports = Arc::new(Mutex::new(Vec::new()));
    scratch.cx.progress = {
        let reports = reports.clone();
        Progress::new(move |it| reports.lock().expect("unpoisoned").push(it.text.len()))
    };
    let since = Instant::now();
    let output = run_in(&scratch, "yes | head -c 20000000").await;
    output.expect("it succeeds");
    let most = usize::try_from(since.elapsed().as_millis() / 50).expect("small") + 2;
    let reports = reports.lock().expect("unpoisoned").clone();
    assert!((1..=most).contains(&reports.len()), "{}", reports.len());
    assert!(reports.iter().all(|size| *size <= 4096), "{reports:?}");
}

#[tokio::test]
async fn processes_that_a_command_leaves_running_are_reported_and_end_with_the_program() {
    let scratch = Scratch::new();
    let command = "echo $$; sleep 1000 & true";
    let output = text(&run_in(&scratch, command).await.expect("it succeeds"));
    let (leader, left) = output.split_once('\n').expect("two lines");
    assert!(
        left.contains(&format!("process group {leader}")),
        "{output}"
    );
    let groups = &scratch.cx.env.groups;
    assert_eq!(groups.running(), [command]);
    groups.end().await;
    assert_eq!(groups.running(), Vec::<String>::new());
    let leader = Pid::from_raw(leader.parse().expect("an id")).expect("not zero");
    until(|| is_gone(leader)).await;
}

async fn in_background(scratch: &Scratch, command: &str) -> String {
    let input: Value = json!({"command": command, "run_in_background": true});
    text(&scratch.run(&Bash, input).await.expect("it starts"))
}

#[tokio::test]
async fn a_background_command_writes_to_its_file_and_is_forgotten_when_it_ends() {
    let scratch = Scratch::new();
    let file = scratch.cx.env.results_dir.join("call-1.1.txt");
    let output = in_background(&scratch, "echo done").await;
    assert_eq!(
        output,
        format!(
            "Command running in background with ID: bash_1. Output is being written to: {}. Look at it with BashOutput or Read.",
            file.display()
        )
    );
    until(|| scratch.cx.env.groups.running().is_empty()).await;
    until(|| std::fs::read_to_string(&file).is_ok_and(|text| text == "done\n")).await;
    let second = in_background(&scratch, "true").await;
    assert!(second.contains("ID: bash_2."), "{second}");
}

#[tokio::test]
async fn a_background_command_may_be_longer_than_the_argument_limit() {
    let scratch = Scratch::new();
    let file = scratch.cx.env.results_dir.join("call-1.1.txt");
    let long = "x".repeat(300_000);
    in_background(&scratch, &format!("word={long}\necho ${{#word}}")).await;
    until(|| std::fs::read_to_string(&file).is_ok_and(|text| text == "300000\n")).await;
}

#[test]
fn only_read_only_foreground_commands_are_concurrency_safe() {
    let is_safe = |input: Value| {
        let input: Input = serde_json::from_value(input).expect("an input");
        Bash.is_concurrency_safe(&input)
    };
    assert!(is_safe(json!({"command": "ls -l"})));
    assert!(!is_safe(json!({"command": "touch x"})));
    assert!(!is_safe(json!({"command": "cd x && ls"})));
    assert!(!is_safe(
        json!({"command": "ls -l", "run_in_background": true})
    ));
}
