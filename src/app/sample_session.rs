//! One session from the first key to the end, on a clock of its own. The README's pictures and the recording are made
//! from it, so they are always the same.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::rig::{App, opened, request};
use crate::protocol::{
    AgentEvent, Ending, FileDiff, Message, Question, QuestionKind, SessionEvent, TurnEvent, Usage,
};
use crate::theme::Depth;

/// A moment for a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Calls run in parallel while the model writes.
    AtWork,
    /// The person has skipped part of a change.
    Choosing,
    /// A command is running and printing.
    Running,
}

/// The time between two frames.
pub const FRAME: Duration = Duration::from_millis(40);

/// Plays the story; calls `show` for every frame and for each moment.
pub fn play(width: u16, height: u16, show: &mut dyn FnMut(&mut App, Option<Moment>)) {
    let mut app = App::starting();
    let mut session = opened(Vec::new());
    "anthropic".clone_into(&mut session.provider);
    "claude-sonnet-4-5".clone_into(&mut session.model);
    app.receive(AgentEvent::Session(SessionEvent::Opened(session)));
    let mut app = app.with_theme("dark", Depth::True);
    app.resize(width, height);
    let mut player = Player { app, show };
    player.asks();
    player.reads_code();
    player.edits();
    player.tests();
}

struct Player<'a> {
    app: App,
    show: &'a mut dyn FnMut(&mut App, Option<Moment>),
}

impl Player<'_> {
    fn asks(&mut self) {
        self.waits(800);
        let prompt = "empty lines break the parser, please fix it";
        for letter in prompt.chars() {
            self.app.types(&letter.to_string());
            self.waits(40);
        }
        self.waits(400);
        self.app.press("enter");
        self.app.accept_message(prompt);
        self.waits(600);
    }

    fn reads_code(&mut self) {
        self.model_writes("I'll look at the parser and its tests first.");
        let calls = [
            ("a", "Read", json!({"file_path": "src/parse.rs"})),
            ("b", "Grep", json!({"pattern": "parse\\(", "path": "src"})),
            ("c", "Bash", json!({"command": "git log --oneline -3"})),
        ];
        for (call, tool, input) in calls {
            self.app.tool(call, tool).arrives().queued(input).running();
            self.waits(200);
        }
        self.app.tool("a", "Read").completes(BEFORE);
        self.model_writes("\n\nMeanwhile: `parse` takes an **empty line** for a rule.");
        self.app
            .tool("b", "Grep")
            .completes("src/parse.rs\nsrc/main.rs");
        self.waits(400);
        self.app
            .tool("c", "Bash")
            .prints("4f1c2a9 Read rules from a file\n");
        self.waits(400);
        self.at(Moment::AtWork);
        self.app.tool("c", "Bash").completes(LOG);
        for (call, tool) in [("a", "Read"), ("b", "Grep"), ("c", "Bash")] {
            self.app.tool(call, tool).yielded();
        }
        self.app
            .turn_event(TurnEvent::Saved(Duration::from_millis(900)));
        self.next_response();
    }

    fn edits(&mut self) {
        self.model_writes("An empty line is no rule, so `parse` has to say that there is none:");
        let input = json!({"file_path": "src/parse.rs", "old_string": OLD, "new_string": NEW});
        self.app.tool("d", "Edit").arrives();
        let written: Vec<char> = input.to_string().chars().collect();
        for fragment in written.chunks(14) {
            let fragment: String = fragment.iter().collect();
            self.app.tool("d", "Edit").writes(&fragment);
            self.waits(40);
        }
        let Question { call, asker, kind } = request("d", "Edit");
        let kind = match kind {
            QuestionKind::Permission(mut request) => {
                request.input = input.into();
                request.changes = vec![change(&AFTER.replace(COMMENT, TRIMMED))];
                request.reason = "it changes a file".to_owned();
                QuestionKind::Permission(request)
            }
            other @ (QuestionKind::Choice(_) | QuestionKind::Form(_)) => other,
        };
        self.app.asks(Question { call, asker, kind });
        self.waits(1400);
        self.presses("end tab y n");
        self.at(Moment::Choosing);
        self.waits(800);
        self.presses("enter");
        self.app.tool("d", "Edit").running();
        self.waits(80);
        self.app.tool("d", "Edit").changes(change(AFTER)).yielded();
        self.next_response();
    }

    fn tests(&mut self) {
        self.model_writes("Now the tests.");
        let command =
            json!({"command": "cargo test parse", "description": "Run the parser's tests"});
        self.app
            .tool("e", "Bash")
            .arrives()
            .queued(command)
            .running();
        let mut output = String::new();
        for line in TESTS.split_inclusive('\n') {
            self.waits(360);
            self.app.tool("e", "Bash").prints(line);
            output.push_str(line);
            if line.contains("three") {
                self.at(Moment::Running);
            }
        }
        self.app.tool("e", "Bash").completes(&output).yielded();
        self.next_response();
        self.model_writes("Fixed: empty lines are skipped, and all **four** tests pass.\n\n| test | result |\n|---|---|\n| empty lines | passes |\n| comments | as before |\n");
        self.app.ends(Ending::Done);
        self.waits(1600);
    }

    /// The results are delivered, and the next response begins.
    fn next_response(&mut self) {
        self.app.turn_event(TurnEvent::Answered {
            message: Message::user(""),
            stop_reason: None,
            usage: Usage::default(),
        });
        self.app.turn_event(TurnEvent::Requested { attempt: 0 });
        self.waits(600);
    }

    /// Streams a few words at a time.
    fn model_writes(&mut self, text: &str) {
        for word in text.split_inclusive(' ') {
            self.app.model_writes(word);
            self.waits(40);
        }
    }

    /// One key after the other, slowly enough to follow.
    fn presses(&mut self, keys: &str) {
        for key in keys.split(' ') {
            self.app.press(key);
            self.waits(600);
        }
    }

    fn waits(&mut self, milliseconds: u64) {
        let end = self.app.state.now + Duration::from_millis(milliseconds);
        while self.app.state.now < end {
            self.app.after(FRAME);
            (self.show)(&mut self.app, None);
        }
    }

    fn at(&mut self, moment: Moment) {
        (self.show)(&mut self.app, Some(moment));
    }
}

fn change(after: &str) -> FileDiff {
    FileDiff {
        path: "src/parse.rs".to_owned(),
        before: Some(Arc::from(BEFORE)),
        after: Arc::from(after),
    }
}

const LOG: &str =
    "4f1c2a9 Read rules from a file\n90be3d1 Name rules by their line\n1c77e02 First rules\n";

const OLD: &str = "pub fn parse(line: &str) -> Rule {\n    Rule::new(line.trim())\n}";
const NEW: &str = "pub fn parse(line: &str) -> Option<Rule> {\n    let line = line.trim();\n    (!line.is_empty()).then(|| Rule::new(line))\n}";
const COMMENT: &str = "self.text.starts_with('#')";
const TRIMMED: &str = "self.text.trim_start().starts_with('#')";

const BEFORE: &str = "use crate::Rule;

/// Reads one line of a file of rules.
pub fn parse(line: &str) -> Rule {
    Rule::new(line.trim())
}

impl Rule {
    /// The text behind the name.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it says nothing.
    pub fn is_comment(&self) -> bool {
        self.text.starts_with('#')
    }
}
";

const AFTER: &str = "use crate::Rule;

/// Reads one line of a file of rules.
pub fn parse(line: &str) -> Option<Rule> {
    let line = line.trim();
    (!line.is_empty()).then(|| Rule::new(line))
}

impl Rule {
    /// The text behind the name.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it says nothing.
    pub fn is_comment(&self) -> bool {
        self.text.starts_with('#')
    }
}
";

const TESTS: &str = "   Compiling rules v0.3.0
    Finished `test` profile in 0.61s
     Running unittests src/lib.rs
running 4 tests
test parse::one_rule ... ok
test parse::three_rules ... ok
test parse::empty_lines ... ok
test parse::comments ... ok
test result: ok. 4 passed; 0 failed
";
