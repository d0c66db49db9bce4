//! What the planner answers to each of its prompts.

use serde_json::{Value, json};

use super::answer;
use crate::protocol::{
    Block, Image, Message, Note, Origin, ResultBlock, ToolDefinition, ToolResult, ToolUse, WireId,
};
use crate::provider::builtin::Form;

const ALL: &[&str] = &[
    "Bash",
    "Edit",
    "Glob",
    "Grep",
    "Read",
    "TodoWrite",
    "Undo",
    "WebFetch",
];

/// A conversation with the interpreter.
struct Chat {
    messages: Vec<Message>,
    tools: Vec<ToolDefinition>,
    form: Form,
}

/// What one answer came down to.
#[derive(Debug, PartialEq)]
struct Reply {
    text: String,
    calls: Vec<(String, Value)>,
}

impl Chat {
    fn new(prompt: &str) -> Self {
        Self {
            messages: vec![Message::user(prompt)],
            tools: offer(ALL),
            form: Form::Plain,
        }
    }

    fn with_tools(mut self, names: &[&str]) -> Self {
        self.tools = offer(names);
        self
    }

    fn in_markdown(mut self) -> Self {
        self.form = Form::Markdown;
        self
    }

    /// The next answer, which becomes part of the conversation.
    fn reply(&mut self) -> Reply {
        let blocks = answer(&self.messages, &self.tools, self.form);
        let message = Message::from_assistant(
            blocks,
            Origin {
                provider: "builtin".into(),
                model: "builtin".into(),
            },
        );
        let calls = message.tool_uses();
        let reply = Reply {
            text: message.text(),
            calls: calls
                .map(|call| (call.name.clone(), Value::clone(&call.input)))
                .collect(),
        };
        self.messages.push(message);
        reply
    }

    /// Gives the calls of the last answer their results, and hears what follows.
    fn then(&mut self, results: &[Result<&str, &str>]) -> Reply {
        self.deliver(results, &[]);
        self.reply()
    }

    fn deliver(&mut self, results: &[Result<&str, &str>], beside: &[&str]) {
        let last = self.messages.last().expect("someone has spoken");
        let calls: Vec<WireId> = last.tool_uses().map(|call| call.id.clone()).collect();
        assert_eq!(calls.len(), results.len(), "one result for each call");
        let results = calls
            .into_iter()
            .zip(results)
            .map(|(id, result)| match result {
                Ok(text) => ToolResult::text(id, *text),
                Err(problem) => ToolResult::error(id, *problem),
            });
        let mut content: Vec<Block> = results.map(Block::ToolResult).collect();
        content.extend(beside.iter().map(|text| Block::text(*text)));
        self.messages.push(Message::from_user(content));
    }
}

pub(in crate::provider::builtin) fn offer(names: &[&str]) -> Vec<ToolDefinition> {
    let define = |name: &&str| ToolDefinition {
        name: (*name).to_owned(),
        description: String::new(),
        input_schema: json!({}),
        strict: false,
        input_examples: Vec::new(),
        server: None,
    };
    names.iter().map(define).collect()
}

fn reply(text: &str, calls: &[(&str, Value)]) -> Reply {
    let owned = |(name, input): &(&str, Value)| ((*name).to_owned(), input.clone());
    Reply {
        text: text.into(),
        calls: calls.iter().map(owned).collect(),
    }
}

fn text(text: &str) -> Reply {
    reply(text, &[])
}

fn read(file: &str) -> (&'static str, Value) {
    ("Read", json!({"file_path": file}))
}

fn bash(command: &str) -> (&'static str, Value) {
    let description = format!("Run {command}");
    (
        "Bash",
        json!({"command": command, "description": description}),
    )
}

fn edit_all(file: &str, old: &str, new: &str) -> (&'static str, Value) {
    let input = json!({
        "file_path": file, "old_string": old, "new_string": new, "replace_all": true,
    });
    ("Edit", input)
}

#[test]
fn a_call_follows_its_announcement_and_has_an_id_of_its_own() {
    let blocks = answer(
        &[Message::user("read a and read b")],
        &offer(ALL),
        Form::Plain,
    );
    let call = |id: &str, file: &str| {
        Block::ToolUse(ToolUse {
            id: id.into(),
            name: "Read".into(),
            input: json!({"file_path": file}).into(),
            input_raw: None,
            input_error: None,
        })
    };
    let expected = [
        Block::text("Reading `a`. Reading `b`."),
        call("builtin_1_0", "a"),
        call("builtin_1_1", "b"),
    ];
    assert_eq!(blocks, expected);
}

#[test]
fn read_shows_the_content() {
    let mut chat = Chat::new("read a.txt");
    assert_eq!(chat.reply(), reply("Reading `a.txt`.", &[read("a.txt")]));
    assert_eq!(chat.then(&[Ok("     1\thello\n")]), text("     1\thello"));
}

#[test]
fn find_shows_the_paths() {
    let mut chat = Chat::new("find *.rs");
    let glob = ("Glob", json!({"pattern": "*.rs"}));
    assert_eq!(chat.reply(), reply("Looking for `*.rs`.", &[glob]));
    assert_eq!(chat.then(&[Ok("a.rs\nb.rs")]), text("a.rs\nb.rs"));
}

#[test]
fn search_shows_the_matches() {
    let mut chat = Chat::new("search TODO in *.rs");
    let input = json!({"pattern": "TODO", "output_mode": "content", "-n": true, "glob": "*.rs"});
    assert_eq!(
        chat.reply(),
        reply("Searching for `TODO` in `*.rs`.", &[("Grep", input)])
    );
    assert_eq!(chat.then(&[Ok("a.rs:1:// TODO")]), text("a.rs:1:// TODO"));
}

#[test]
fn search_in_a_directory_gives_its_path() {
    let mut chat = Chat::new("search TODO in src");
    let input = json!({"pattern": "TODO", "output_mode": "content", "-n": true, "path": "src"});
    assert_eq!(
        chat.reply(),
        reply("Searching for `TODO` in `src`.", &[("Grep", input)])
    );
}

#[test]
fn many_matches_are_cut_and_counted() {
    let matches: Vec<String> = (1..=60).map(|line| format!("a.rs:{line}:x")).collect();
    let mut chat = Chat::new("search x");
    chat.reply();
    let closing = chat.then(&[Ok(&matches.join("\n"))]);
    assert_eq!(
        closing,
        text(&format!("{}\n… 10 more lines", matches[..50].join("\n")))
    );
}

#[test]
fn run_shows_the_output() {
    let mut chat = Chat::new("run make");
    assert_eq!(chat.reply(), reply("Running `make`.", &[bash("make")]));
    assert_eq!(chat.then(&[Ok("built\n")]), text("built"));
}

#[test]
fn a_command_without_output_is_said_to_have_none() {
    let mut chat = Chat::new("run true");
    chat.reply();
    assert_eq!(chat.then(&[Ok("")]), text("`run true` printed nothing."));
}

#[test]
fn an_image_is_not_described() {
    let mut chat = Chat::new("read a.png");
    chat.reply();
    chat.messages
        .push(Message::from_user(vec![Block::ToolResult(ToolResult {
            tool_use_id: "builtin_1_0".into(),
            content: vec![ResultBlock::Image(Image::base64("image/png", "AAAA"))].into(),
            is_error: false,
        })]));
    let closing = "`read a.png` returned an image, which only a real model can see.";
    assert_eq!(chat.reply(), text(closing));
}

#[test]
fn fetch_asks_for_the_page_as_it_is() {
    let mut chat = Chat::new("fetch example.com");
    let input = json!({
        "url": "https://example.com", "prompt": "Give the text of the page as it is.",
    });
    let announced = reply("Fetching `https://example.com`.", &[("WebFetch", input)]);
    assert_eq!(chat.reply(), announced);
    assert_eq!(chat.then(&[Ok("# Example")]), text("# Example"));
}

#[test]
fn undo_uses_the_tool_where_there_is_one() {
    let mut chat = Chat::new("undo");
    assert_eq!(
        chat.reply(),
        reply("Undoing the last changes.", &[("Undo", json!({}))])
    );
    assert_eq!(chat.then(&[Ok("1 file restored")]), text("1 file restored"));
}

#[test]
fn todo_adds_to_the_list_there_is() {
    let item = |text: &str| json!({"content": text, "status": "pending", "activeForm": text});
    let mut chat = Chat::new("todo milk; bread");
    let list = json!({"todos": [item("milk"), item("bread")]});
    assert_eq!(
        chat.reply(),
        reply("Adding 2 items to the list.", &[("TodoWrite", list)])
    );
    assert_eq!(
        chat.then(&[Ok("ok")]),
        text("Added 2 items to the list; it has 2 now.")
    );

    chat.messages.push(Message::user("todo eggs and todo tea"));
    let with_eggs = json!({"todos": [item("milk"), item("bread"), item("eggs")]});
    let with_tea = json!({"todos": [item("milk"), item("bread"), item("eggs"), item("tea")]});
    let announced = reply(
        "Adding 1 item to the list. Adding 1 item to the list.",
        &[("TodoWrite", with_eggs), ("TodoWrite", with_tea)],
    );
    assert_eq!(chat.reply(), announced);
}

#[test]
fn edit_reads_first() {
    let mut chat = Chat::new("edit a.txt: x => y");
    assert_eq!(chat.reply(), reply("Reading `a.txt`.", &[read("a.txt")]));
    let edit = json!({"file_path": "a.txt", "old_string": "x", "new_string": "y"});
    assert_eq!(
        chat.then(&[Ok("     1\tx")]),
        reply("Editing `a.txt`.", &[("Edit", edit)])
    );
    assert_eq!(
        chat.then(&[Ok("     1\ty")]),
        text("Edited `a.txt`:\n     1\ty")
    );
}

#[test]
fn edit_stops_where_reading_fails() {
    let mut chat = Chat::new("edit a.txt: x => y");
    chat.reply();
    let closing = "`edit a.txt: x => y` failed: File does not exist";
    assert_eq!(chat.then(&[Err("File does not exist")]), text(closing));
}

#[test]
fn replace_finds_reads_and_edits() {
    let mut chat = Chat::new("replace a.b with c in *.md");
    let grep = json!({
        "pattern": "a\\.b", "output_mode": "files_with_matches", "head_limit": 101, "glob": "*.md",
    });
    assert_eq!(
        chat.reply(),
        reply("Looking for `a.b` in `*.md`.", &[("Grep", grep)])
    );
    let found = "/w/1.md\n/w/2.md\n[1 file could not be read]";
    let reads = reply("Reading 2 files.", &[read("/w/1.md"), read("/w/2.md")]);
    assert_eq!(chat.then(&[Ok(found)]), reads);
    let edits = reply(
        "Replacing `a.b` with `c` in 2 files.",
        &[
            edit_all("/w/1.md", "a.b", "c"),
            edit_all("/w/2.md", "a.b", "c"),
        ],
    );
    assert_eq!(chat.then(&[Ok("a.b"), Ok("a.b")]), edits);
    let closing = "Replaced `a.b` with `c` in 2 files:\n/w/1.md\n/w/2.md";
    assert_eq!(chat.then(&[Ok("done"), Ok("done")]), text(closing));
}

#[test]
fn replace_goes_on_with_the_files_that_work() {
    let mut chat = Chat::new("replace a with b then run make");
    chat.reply();
    chat.then(&[Ok("1\n2\n3")]);
    let edits = reply(
        "Replacing `a` with `b` in 2 files.",
        &[edit_all("1", "a", "b"), edit_all("3", "a", "b")],
    );
    assert_eq!(chat.then(&[Ok("a"), Err("is a device"), Ok("a")]), edits);
    let closing = "Replaced `a` with `b` in 1 file:\n3\n`2` was not changed: is a device\n\
                   `1` was not changed: denied\n\nNot done: `run make`.";
    assert_eq!(chat.then(&[Err("denied"), Ok("done")]), text(closing));
}

#[test]
fn replace_without_a_match_is_no_failure() {
    let mut chat = Chat::new("replace a with b in *.md then run make");
    chat.reply();
    let next = chat.then(&[Ok("No matches found")]);
    assert_eq!(next, reply("Running `make`.", &[bash("make")]));
    let closing = "`a` was not found in `*.md`; nothing was replaced.\n\n`run make`:\nok";
    assert_eq!(chat.then(&[Ok("ok")]), text(closing));
}

#[test]
fn replace_does_a_hundred_files_and_says_that_there_are_more() {
    let files: Vec<String> = (0..101).map(|number| format!("f{number}")).collect();
    let mut chat = Chat::new("replace a with b");
    chat.reply();
    assert_eq!(chat.then(&[Ok(&files.join("\n"))]).calls.len(), 100);
    assert_eq!(chat.then(&[Ok("a"); 100]).calls.len(), 100);
    let closing = format!(
        "Replaced `a` with `b` in 100 files:\n{}\n\
         More than 100 files match; ask again for the rest.",
        files[..100].join("\n")
    );
    assert_eq!(chat.then(&[Ok("done"); 100]), text(&closing));
}

#[test]
fn a_text_of_several_lines_is_looked_for_across_lines() {
    let mut chat = Chat::new("replace 'a\nb' with c");
    let grep = json!({
        "pattern": "a\nb", "output_mode": "files_with_matches", "head_limit": 101, "multiline": true,
    });
    assert_eq!(chat.reply(), reply("Looking for `a…`.", &[("Grep", grep)]));
}

#[test]
fn then_waits_for_the_results_before_it() {
    let mut chat = Chat::new("run a then run b");
    assert_eq!(chat.reply(), reply("Running `a`.", &[bash("a")]));
    assert_eq!(chat.then(&[Ok("1")]), reply("Running `b`.", &[bash("b")]));
    assert_eq!(chat.then(&[Ok("2")]), text("`run a`:\n1\n\n`run b`:\n2"));
}

#[test]
fn the_same_step_twice_is_done_twice() {
    let mut chat = Chat::new("run a then run a");
    assert_eq!(chat.reply(), reply("Running `a`.", &[bash("a")]));
    assert_eq!(chat.then(&[Ok("1")]), reply("Running `a`.", &[bash("a")]));
    assert_eq!(chat.then(&[Ok("2")]), text("`run a`:\n1\n\n`run a`:\n2"));
}

#[test]
fn and_makes_all_calls_in_one_answer_and_keeps_rounds_together() {
    let mut chat = Chat::new("edit a: x => y and run make");
    let first = reply("Reading `a`. Running `make`.", &[read("a"), bash("make")]);
    assert_eq!(chat.reply(), first);
    let edit = json!({"file_path": "a", "old_string": "x", "new_string": "y"});
    assert_eq!(
        chat.then(&[Ok("x"), Ok("ok")]),
        reply("Editing `a`.", &[("Edit", edit)])
    );
    assert_eq!(
        chat.then(&[Ok("y")]),
        text("Edited `a`:\ny\n\n`run make`:\nok")
    );
}

#[test]
fn a_failure_ends_the_chain_and_what_was_not_done_is_named() {
    let mut chat = Chat::new("run a and run b then run c then read d");
    chat.reply();
    let closing = "`run a`:\n1\n\n`run b` failed:\nexit code 2\nboom\n\n\
                   Not done: `run c`, `read d`.";
    assert_eq!(
        chat.then(&[Ok("1"), Err("exit code 2\nboom")]),
        text(closing)
    );
}

#[test]
fn a_tool_that_is_not_offered_is_never_called() {
    let alone = |prompt: &str| Chat::new(prompt).with_tools(&["Bash", "Read"]).reply();
    let sentence = |verb: &str, tool: &str| {
        text(&format!(
            "`{verb}` needs the tool `{tool}`, which is not available in this run."
        ))
    };
    assert_eq!(alone("todo milk"), sentence("todo", "TodoWrite"));
    assert_eq!(alone("fetch example.com"), sentence("fetch", "WebFetch"));
    assert_eq!(alone("undo"), sentence("undo", "Undo"));
    assert_eq!(alone("find *"), sentence("find", "Glob"));
    assert_eq!(alone("edit a: x => y"), sentence("edit", "Edit"));
    assert_eq!(alone("replace x with y"), sentence("replace", "Grep"));
}

#[test]
fn a_missing_tool_stops_its_step_alone() {
    let mut chat = Chat::new("undo and run a then run b").with_tools(&["Bash"]);
    assert_eq!(chat.reply(), reply("Running `a`.", &[bash("a")]));
    let closing = "`undo` needs the tool `Undo`, which is not available in this run.\n\n\
                   `run a`:\n1\n\nNot done: `run b`.";
    assert_eq!(chat.then(&[Ok("1")]), text(closing));
}

#[test]
fn on_a_screen_results_stand_in_fences() {
    let mut chat = Chat::new("search x").in_markdown();
    chat.reply();
    assert_eq!(chat.then(&[Ok("a.md:1:# x")]), text("```\na.md:1:# x\n```"));
}

#[test]
fn a_resumed_session_makes_only_the_calls_that_are_missing() {
    let mut chat = Chat::new("read a and read b");
    chat.reply();
    // The program died after the first of the two calls had come in.
    if let Some(message) = chat.messages.last_mut() {
        message.content.pop();
    }
    assert_eq!(chat.then(&[Ok("1")]), reply("Reading `b`.", &[read("b")]));
    assert_eq!(chat.then(&[Ok("2")]), text("`read a`:\n1\n\n`read b`:\n2"));
}

#[test]
fn only_the_last_request_counts() {
    let mut chat = Chat::new("run a");
    chat.reply();
    assert_eq!(chat.then(&[Ok("1")]), text("1"));
    chat.messages.push(Message::user("run a"));
    assert_eq!(chat.reply(), reply("Running `a`.", &[bash("a")]));
}

#[test]
fn what_the_program_adds_to_results_is_no_request() {
    let mut chat = Chat::new("run a then run b");
    chat.reply();
    chat.deliver(&[Ok("1")], &[]);
    let last = chat.messages.last_mut().expect("the results");
    last.content.push(Block::note(Note::Program, "read c"));
    assert_eq!(chat.reply(), reply("Running `b`.", &[bash("b")]));
}

#[test]
fn a_message_typed_meanwhile_takes_over_and_says_what_is_left_behind() {
    let mut chat = Chat::new("run a then run b");
    chat.reply();
    chat.deliver(&[Ok("1")], &["read c"]);
    let takes_over = "`run a`:\n1\n\nNot done: `run b`.\n\nReading `c`.";
    assert_eq!(chat.reply(), reply(takes_over, &[read("c")]));
    assert_eq!(chat.then(&[Ok("2")]), text("2"));
}

#[test]
fn help_lists_what_this_run_can_do_and_the_way_to_a_model() {
    for prompt in ["help", ""] {
        let reply = Chat::new(prompt).with_tools(&["Bash"]).reply();
        assert_eq!(reply.calls, []);
        for part in [
            "built-in interpreter, not a language model",
            "- `run COMMAND`, e.g. `run git status`\n",
            "ANTHROPIC_API_KEY",
            "OPENAI_API_KEY",
            "--base-url",
            "Ollama",
        ] {
            assert!(
                reply.text.contains(part),
                "{part} is missing in: {}",
                reply.text
            );
        }
        assert!(!reply.text.contains("search REGEX"), "{}", reply.text);
    }
}

#[test]
fn anything_else_gets_one_line_with_the_nearest_thing_and_the_way_to_a_model() {
    for (prompt, nearest) in [
        ("hello", "read README.md"),
        ("raed src/main.rs", "read README.md"),
        ("serach for it", "search TODO in *.rs"),
        ("Where is the parser?", "search TODO in *.rs"),
        ("<b>list</b> all of them", "find **/*.rs"),
        (
            "please fix the failing test",
            "edit notes.txt: old words => new words",
        ),
    ] {
        let reply = Chat::new(prompt).reply();
        assert_eq!(reply.calls, []);
        let expected = format!(
            "I'm agent-tui's built-in interpreter, not a language model, and I didn't understand `{prompt}`. \
             Try: `{nearest}`, or `help` for more. To connect a real model, set `ANTHROPIC_API_KEY` or \
             `OPENAI_API_KEY`, start Ollama, or use `--provider openai --base-url URL`, and restart."
        );
        assert_eq!(reply.text, expected);
    }
}

#[test]
fn only_what_this_run_offers_is_proposed() {
    let reply = Chat::new("Where is the parser?")
        .with_tools(&["Bash"])
        .reply();
    assert!(
        reply.text.contains("Try: `run git status`"),
        "{}",
        reply.text
    );
}

#[test]
fn an_edit_whose_text_occurs_twice_offers_both_ways() {
    let mut chat = Chat::new("edit a.txt: x => y");
    chat.reply();
    chat.then(&[Ok("     1\tx\n     2\tx")]);
    let refused = "Found 2 matches of the string to replace, at lines 1 and 2, but `replace_all` is false. Add lines";
    let offered = "`x` occurs more than once in `a.txt`. To change all of them: `edit a.txt all: x => y`. \
                   To change one, add the text next to it: `edit FILE: more of the line => its new text`.";
    assert_eq!(chat.then(&[Err(refused)]), text(offered));
}

#[test]
fn an_edit_of_all_places_replaces_them_all() {
    let mut chat = Chat::new("edit a.txt all: x => y");
    chat.reply();
    let edit =
        json!({"file_path": "a.txt", "old_string": "x", "new_string": "y", "replace_all": true});
    assert_eq!(
        chat.then(&[Ok("     1\tx")]),
        reply("Editing `a.txt`.", &[("Edit", edit)])
    );
}

#[test]
fn an_unclear_step_says_how_it_is_written_and_does_nothing() {
    let reply = Chat::new("run make then undo everything").reply();
    assert_eq!(
        reply.calls,
        [("Bash".into(), bash("make then undo everything").1)]
    );
    let reply = Chat::new("run make then edit a.txt").reply();
    let expected = "I didn't understand `edit a.txt`. Try: `edit FILE [all]: A => B`. Put quotes around text with an \
                    arrow or with spaces at its ends; \"\" deletes. Nothing was done.";
    assert_eq!(reply, text(expected));
}
