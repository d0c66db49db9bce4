use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use proptest::prelude::{Just, Strategy, any, prop, prop_assert, prop_oneof, proptest};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use serde_json::{Value, json};

use super::LaidOut;
use crate::app::dialogs::permission::ARM_DELAY;
use crate::app::dialogs::question::Questions;
use crate::app::{DiffStyle, Settings};
use crate::keymap::{Action, Keymap};
use crate::protocol::{
    CallRef, FileDiff, PermissionRequest, Program, Question, QuestionKind, RuleOffer,
};
use crate::theme::{Depth, Theme};
use crate::ui::highlight::Highlights;
use crate::ui::text::Row;

/// A dialog on a screen of its own.
struct Screen {
    dialog: Questions,
    settings: Settings,
    laid_out: LaidOut,
    area: Rect,
    now: Instant,
    caret: Option<Position>,
}

impl Screen {
    fn new(request: PermissionRequest, width: u16, height: u16) -> Self {
        let now = Instant::now();
        Self {
            dialog: Questions::new(question(request), now),
            settings: Settings {
                keymap: Keymap::builtin(),
                theme: Theme::plain(),
                depth: Depth::None,
                theme_epoch: 0,
                diff_style: DiffStyle::Auto,
            },
            laid_out: LaidOut::default(),
            area: Rect::new(0, 0, width, height),
            now,
            caret: None,
        }
    }

    fn obstacle(&self) -> Option<String> {
        let dialog = self.dialog.permission().expect("something is asked");
        dialog.obstacle()
    }

    /// Draws a frame like the runtime does.
    fn paint(&mut self) -> Buffer {
        let mut code = Highlights::default();
        let rest = self
            .laid_out
            .lay_out(&self.dialog, &self.settings, self.area, &mut code);
        self.dialog.record_layout(rest);
        let mut buf = Buffer::empty(self.area);
        self.caret = self
            .laid_out
            .draw(&self.dialog, &self.settings, self.now, &mut buf);
        buf
    }

    fn text(&mut self) -> String {
        let buf = self.paint();
        let rows = buf.area.rows().map(|row| {
            let cells = row.columns().map(|cell| buf[(cell.x, cell.y)].symbol());
            cells.collect::<String>().trim_end().to_owned()
        });
        rows.collect::<Vec<_>>().join("\n")
    }

    /// Performs actions, each after a frame and a delay.
    fn perform(mut self, actions: &[Action]) -> Self {
        for action in actions {
            self.paint();
            self.now += Duration::from_secs(1);
            self.dialog.perform(*action, self.now);
        }
        self
    }
}

fn question(request: PermissionRequest) -> Question {
    Question {
        call: CallRef::from("1"),
        asker: None,
        kind: QuestionKind::Permission(request),
    }
}

fn bash(input: Value) -> PermissionRequest {
    PermissionRequest {
        is_command: true,
        program: None,
        tool: "Bash".into(),
        input: input.into(),
        reason: "no rule allows `cargo test`".into(),
        changes: Vec::new(),
        rule: Some(RuleOffer {
            rule: "Bash(cargo test:*)".into(),
            wider: None,
            file: PathBuf::from("/repo/.agent-tui/settings.local.json"),
        }),
    }
}

fn tests_run() -> PermissionRequest {
    bash(json!({
        "command": "cd server &&\ncargo test --workspace",
        "description": "Run the tests of the server",
        "timeout": 120_000,
        "run_in_background": true,
    }))
}

fn edit() -> PermissionRequest {
    let before: Vec<String> = (1..=20).map(|line| format!("line {line}\n")).collect();
    let mut after = before.clone();
    after[1] = "line two\n".into();
    after[12] = "line thirteen\n".into();
    PermissionRequest {
        is_command: false,
        tool: "Edit".into(),
        reason: "edits ask".into(),
        changes: vec![FileDiff {
            path: "src/notes.txt".into(),
            before: Some(before.concat().into()),
            after: after.concat().into(),
        }],
        ..bash(json!({ "file_path": "src/notes.txt" }))
    }
}

fn write(path: &str, lines: usize) -> PermissionRequest {
    let after: Vec<String> = (0..lines).map(|line| format!("line {line}\n")).collect();
    PermissionRequest {
        is_command: false,
        tool: "Write".into(),
        reason: "it is outside the workspace".into(),
        changes: vec![FileDiff {
            path: path.into(),
            before: None,
            after: after.concat().into(),
        }],
        rule: None,
        ..bash(json!({ "file_path": path, "content": "…" }))
    }
}

fn fetch(input: Value) -> PermissionRequest {
    PermissionRequest {
        is_command: false,
        tool: "mcp__tracker__create".into(),
        reason: "no rule allows it".into(),
        rule: None,
        ..bash(input)
    }
}

#[test]
fn a_command_is_shown_in_full_with_its_facts() {
    let text = Screen::new(tests_run(), 80, 24).text();
    insta::assert_snapshot!(text.trim_start(), @r"
    ── Run this command? ───────────────────────────────────────────────────────────
     $ cd server &&
       cargo test --workspace
     description  Run the tests of the server
     timeout      120000 ms
     runs         in the background
     why: no rule allows `cargo test` · rule for s and a: Bash(cargo test:*)
    ───────────────────────────────────────────────────────────────────── ? more ───
     y yes   s yes, this session   a always …   n no   e no, tell why …   Esc stop
    ");
}

#[test]
fn a_tool_from_outside_shows_the_program_that_it_starts_and_how_that_gets_the_input() {
    let request = PermissionRequest {
        is_command: false,
        program: Some(Box::new(Program {
            command: "./deploy.sh --to staging |\n  tee log".into(),
            directory: "/repo".into(),
            input: "as JSON on stdin and in AGENT_TUI_INPUT".into(),
        })),
        tool: "deploy".into(),
        reason: "no rule allows it".into(),
        ..bash(json!({ "command": "all", "dry": true }))
    };
    insta::assert_snapshot!(Screen::new(request, 80, 24).text().trim_start(), @r#"
    ── Allow deploy? ───────────────────────────────────────────────────────────────
     $ ./deploy.sh --to staging |
         tee log
     directory    /repo
     input        as JSON on stdin and in AGENT_TUI_INPUT
       command: "all"
       dry: true
     why: no rule allows it · rule for s and a: Bash(cargo test:*)
    ───────────────────────────────────────────────────────────────────── ? more ───
     y yes   s yes, this session   a always …   n no   e no, tell why …   Esc stop
    "#);
}

#[test]
fn a_field_named_command_of_another_tool_is_no_shell_command() {
    let request = PermissionRequest {
        is_command: false,
        tool: "SlashCommand".into(),
        reason: "it allows Bash(git log:*) for the rest of this turn".into(),
        rule: None,
        ..bash(json!({ "command": "/team:review 12" }))
    };
    insta::assert_snapshot!(Screen::new(request, 80, 24).text().trim_start(), @r"
    ── Allow SlashCommand? ─────────────────────────────────────────────────────────
     command      /team:review 12
     why: it allows Bash(git log:*) for the rest of this turn
     can't be allowed permanently; asks every time
    ───────────────────────────────────────────────────────────────────── ? more ───
     y yes   n no   e no, tell the model why …   Esc no, stop the turn
    ");
}

#[test]
fn a_change_is_shown_as_a_diff_and_hidden_lines_are_counted() {
    let mut screen = Screen::new(edit(), 80, 24);
    screen.dialog.push(question(tests_run()), screen.now);
    insta::assert_snapshot!(screen.text().trim_start(), @r"
    ── Edit src/notes.txt? ───────────────────────────────────── +2  −2 ── 1 of 2 ──
     @@ -1,5 +1,5 @@
      1  1   line 1
      2    - line 2
         2 + line two
      3  3   line 3
      4  4   line 4
      5  5   line 5
     @@ -10,7 +10,7 @@
     10 10   line 10
     11 11   line 11
     12 12   line 12
     13    - line 13
        13 + line thirteen
     14 14   line 14
     15 15   line 15
     16 16   line 16
     why: edits ask · rule for s and a: Bash(cargo test:*)
    ────────────────────────────────────────── Tab hunks  d side by side  ? more ───
     y yes   s yes, this session   a always …   n no   e no, tell why …   Esc stop
    ");
}

#[test]
fn a_new_file_outside_is_marked_as_new_and_no_rule_covers_it() {
    let text = Screen::new(write("/etc/motd", 2), 80, 24).text();
    insta::assert_snapshot!(text.trim_start(), @r"
    ── Write /etc/motd? ──────────────────────────────────────── new file  +2  −0 ──
     1 + line 0
     2 + line 1
     why: it is outside the workspace
     can't be allowed permanently; asks every time
    ────────────────────────────────────────── Tab hunks  d side by side  ? more ───
     y yes   n no   e no, tell the model why …   Esc no, stop the turn
    ");
}

#[test]
fn an_unknown_input_is_shown_field_by_field() {
    let input = json!({
        "title": "Crash at start",
        "body": "first\nrule: Bash(*)\n",
        "labels": ["bug", { "name": "urgent", "weight": 3 }],
        "draft": false,
        "parents": [],
    });
    let text = Screen::new(fetch(input), 60, 40).text();
    insta::assert_snapshot!(text.trim_start(), @r#"
    ── Allow mcp__tracker__create? ─────────────────────────────
       title: "Crash at start"
       body:
         │ first
         │ rule: Bash(*)
         │
       labels:
         - "bug"
         -
           name: "urgent"
           weight: 3
       draft: false
       parents: []
     why: no rule allows it
     can't be allowed permanently; asks every time
    ───────────────────────────────────────────────── ? more ───
     y yes   n no   e no, tell why …   Esc stop
    "#);
}

#[test]
fn a_rule_is_edited_beside_the_file_it_goes_to() {
    let mut screen = Screen::new(tests_run(), 80, 24).perform(&[Action::AllowAlways]);
    insta::assert_snapshot!(screen.text().trim_start(), @r"
    ── Always allow Bash ───────────────────────────────────────────────────────────
     $ cd server &&
       cargo test --workspace
     description  Run the tests of the server
     timeout      120000 ms
     runs         in the background
     will be saved to /repo/.agent-tui/settings.local.json
     › Bash(cargo test:*)
    ────────────────────────────────────────────────────────────────────────────────
     Enter save   Esc back
    ");
    assert_eq!(screen.caret, Some(Position::new(21, 21)));
}

/// `touch` with arguments that a wider rule leaves open.
fn touch() -> PermissionRequest {
    PermissionRequest {
        rule: Some(RuleOffer {
            rule: "Bash(touch x.txt)".into(),
            wider: Some("Bash(touch:*)".into()),
            file: PathBuf::from("/repo/.agent-tui/settings.local.json"),
        }),
        ..bash(json!({ "command": "touch x.txt" }))
    }
}

#[test]
fn the_exact_rule_comes_first_and_a_key_widens_it() {
    let mut screen = Screen::new(touch(), 80, 24).perform(&[Action::AllowAlways]);
    insta::assert_snapshot!(screen.text().trim_start(), @r"
    ── Always allow Bash ───────────────────────────────────────────────────────────
     $ touch x.txt
     will be saved to /repo/.agent-tui/settings.local.json
     › Bash(touch x.txt)
    ────────────────────────────────────────────────────────────────────────────────
     Enter save   Tab wider rule   Esc back
    ");
    let mut screen = screen.perform(&[Action::WidenRule]);
    insta::assert_snapshot!(screen.text().trim_start(), @r"
    ── Always allow Bash ───────────────────────────────────────────────────────────
     $ touch x.txt
     will be saved to /repo/.agent-tui/settings.local.json
     › Bash(touch:*)
    ────────────────────────────────────────────────────────────────────────────────
     Enter save   Tab exact rule   Esc back
    ");
}

#[test]
fn changes_are_picked_one_at_a_time() {
    let actions = [Action::Bottom, Action::ChooseHunks, Action::AcceptHunk];
    let mut screen = Screen::new(edit(), 80, 24).perform(&actions);
    insta::assert_snapshot!(screen.text().trim_start(), @r"
    ── Pick changes in src/notes.txt ───────────────────────────────────── +2  −2 ──
     @@ -10,7 +10,7 @@
     10 10   line 10
     11 11   line 11
     12 12   line 12
     13    - line 13
        13 + line thirteen
     14 14   line 14
     15 15   line 15
     16 16   line 16
    ── change 2 of 2 · 1 accepted · 0 skipped ──────────────────────────────────────
     y accept   n skip   a accept all   d skip all   Enter apply   Esc back
    ");
}

#[test]
fn forty_columns_hold_a_command() {
    insta::assert_snapshot!(Screen::new(tests_run(), 40, 12).text(), @r"
    ── Run this command? ───────────────────
     $ cd server &&
       cargo test --workspace
     description  Run the tests of the
                  server
     timeout      120000 ms
     runs         in the background
     why          no rule allows `cargo
                  test`
    ── 1 more line · Space ────── ? more ───
     y yes  s yes, this session  a always …
     n no  e no, tell why …  Esc stop
    ");
}

#[test]
fn forty_columns_hold_a_refusal() {
    let mut screen = Screen::new(edit(), 40, 12).perform(&[Action::AllowOnce]);
    insta::assert_snapshot!(screen.text(), @r"
    ── Edit src/notes.txt? ─────────────────
     file         src/notes.txt  +2  −2
     @@ -1,5 +1,5 @@
      1   line 1
      2 - line 2
      2 + line two
      3   line 3
     11 more lines: read to the end, then
     answer
    ── 13 more lines · Space ──── ? more ───
     y yes  s yes, this session  a always …
     n no  e no, tell why …  Esc stop
    ");
}

#[test]
fn twenty_columns_hold_a_command() {
    insta::assert_snapshot!(Screen::new(tests_run(), 20, 5).text(), @r"
    Run this command?
    $ cd server &&
      cargo test
    15 more · Space
    y yes  n no
    ");
}

#[test]
fn twenty_columns_hold_a_rule() {
    let actions = [Action::Bottom, Action::AllowAlways];
    let mut screen = Screen::new(tests_run(), 20, 5).perform(&actions);
    insta::assert_snapshot!(screen.text(), @r"
    Always allow Bash
      al.json
    1 more line · PgDn
    › ash(cargo test:*)
    Enter save  Esc back
    ");
}

#[test]
fn hidden_characters_are_shown_and_a_wrapped_line_does_not_look_like_two() {
    let command = "echo \u{202e}harmless\u{200b} \u{1b}[8m && true                                              ; rm -rf ~";
    let text = Screen::new(bash(json!({ "command": command })), 60, 20).text();
    insta::assert_snapshot!(text.trim_start(), @r"
    ── Run this command? ───────────────────────────────────────
     $ echo <U+202E>harmless<U+200B> ␛[8m && true
     …                                 ; rm -rf ~
     why: no rule allows `cargo test`
     rule for s and a: Bash(cargo test:*)
    ───────────────────────────────────────────────── ? more ───
     y yes   s yes, this session   a always …   n no
     e no, tell why …   Esc stop
    ");
}

#[test]
fn a_tail_after_blank_lines_is_counted_and_reachable() {
    let command = format!("ls{}rm -rf ~", "\n".repeat(60));
    let mut screen = Screen::new(bash(json!({ "command": command })), 80, 24);
    let text = screen.text();
    assert!(!text.contains("rm -rf"));
    assert!(text.contains("more lines · Space"));
    let mut screen = screen.perform(&[Action::AllowOnce, Action::Bottom]);
    assert!(screen.dialog.current().is_some());
    assert!(screen.text().contains("rm -rf ~"));
    assert_eq!(screen.obstacle(), None);
}

#[test]
fn without_room_to_read_nothing_can_be_allowed() {
    for (width, height) in [(1, 1), (2, 1), (7, 10), (20, 2), (0, 0), (60, 1)] {
        let mut screen = Screen::new(tests_run(), width, height);
        screen.paint();
        assert!(screen.obstacle().is_some(), "{width}×{height}");
    }
}

#[test]
fn hints_follow_the_keymap() {
    let mut screen = Screen::new(tests_run(), 80, 24);
    let own = "[permission]\ny = \"none\"\n\"ctrl+y\" = \"allow-once\"\n";
    screen.settings.keymap = Keymap::with_user(own, Path::new("keymap.toml")).0;
    let text = screen.text();
    assert!(text.contains("Ctrl+Y yes"));
    assert!(!text.contains(" y yes"));
}

#[test]
fn hints_are_dim_until_the_keys_are_active() {
    let mut screen = Screen::new(tests_run(), 80, 24);
    screen.settings.theme = Theme::builtin("dark").expect("there is a dark theme");
    let style = |screen: &mut Screen| {
        let buf = screen.paint();
        let row = buf.area.height - 1;
        assert_eq!(buf[(1, row)].symbol(), "y");
        buf[(1, row)].style()
    };
    let early = style(&mut screen);
    screen.now += ARM_DELAY;
    assert_ne!(style(&mut screen), early);
}

#[test]
fn rows_are_laid_out_once_for_as_long_as_they_stay_the_same() {
    let mut screen = Screen::new(write("big.txt", 1000), 80, 24);
    screen.paint();
    let rows = screen.laid_out.written.rows.as_ptr();
    screen.dialog.scroll(5);
    screen.paint();
    assert_eq!(screen.laid_out.written.rows.as_ptr(), rows);
    assert_eq!(screen.laid_out.offset, 5);
    screen.area.width = 60;
    screen.paint();
    assert_ne!(screen.laid_out.written.rows.as_ptr(), rows);
}

/// Text that imitates something else.
fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[ -~]{0,30}",
        any::<char>().prop_map(String::from),
        Just("\u{1b}[2J\u{9b}31m\u{202e}\u{200b}\u{e0041}".to_owned()),
        Just("漢字かな🙂👨‍👩‍👧e\u{301}".to_owned()),
        Just("\n\n\t\r\n\r".to_owned()),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_request_fits_any_size(text in hostile(), name in hostile(), width in 0..90_u16, height in 0..30_u16, stage in 0..4_usize) {
        let mut request = match stage {
            0 => fetch(json!({ name.clone(): [text.clone(), { "deep": text.clone() }] })),
            1 => write(&name, 3),
            _ => bash(json!({ "command": text.clone(), "description": name.clone() })),
        };
        request.tool.clone_from(&name);
        request.reason.clone_from(&text);
        let open = [Action::AllowAlways, Action::ChooseHunks, Action::DenyWithReason, Action::AllowOnce];
        let mut screen = Screen::new(request, width, height).perform(&[Action::Bottom, open[stage]]);
        screen.dialog.paste(&text, screen.now);
        let buf = screen.paint();
        for cell in buf.content() {
            prop_assert!(!cell.symbol().chars().any(char::is_control));
        }
        if let Some(caret) = screen.caret {
            prop_assert!(buf.area.contains(caret));
        }
    }

    /// Scrolling through the request shows every character of the command.
    #[test]
    fn the_rows_contain_the_whole_command(command in "[ -~]{1,300}", width in 8..90_u16, height in 4..30_u16) {
        let mut screen = Screen::new(bash(json!({ "command": command.clone() })), width, height);
        screen.paint();
        let rows: String = screen.laid_out.written.rows.iter().map(shown).collect();
        prop_assert!(rows.contains(&command), "{rows}");
    }
}

/// A row without its decoration; every character of these commands is one column wide.
fn shown(row: &Row) -> String {
    let text = row.line.to_string();
    text.chars().skip(row.gutter.into()).collect()
}

#[test]
fn c7_look_alike_letters_are_marked_and_named() {
    let text = Screen::new(
        bash(json!({ "command": "curl https://p\u{430}ypal.com" })),
        100,
        24,
    )
    .text();
    assert!(text.contains("$ curl https://p<U+0430>ypal.com"), "{text}");
    let note = "contains letters that look like others: <U+0430> (Cyrillic)";
    assert!(text.contains(note), "{text}");
    let plain = Screen::new(tests_run(), 100, 24).text();
    assert!(!plain.contains("letters"), "{plain}");
}

#[test]
fn c7_look_alike_letters_are_marked_in_changes_too() {
    let change = FileDiff {
        path: "src/auth.rs".into(),
        before: Some("let role = \"admin\";\nlet a = 1;\n".into()),
        after: "let role = \"\u{430}dmin\";\nlet a = 1;\n".into(),
    };
    let request = PermissionRequest {
        changes: vec![change],
        ..edit()
    };
    let text = Screen::new(request, 100, 24).text();
    assert!(text.contains("+ let role = \"<U+0430>dmin\";"), "{text}");
    let note = "contains letters that look like others: <U+0430> (Cyrillic)";
    assert!(text.contains(note), "{text}");
}
