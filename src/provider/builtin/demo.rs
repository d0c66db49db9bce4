//! Steps that show what a model can do besides reading and editing: subagents, questions, a plan to approve.

use serde_json::json;

use super::calls::{self, Call};
use super::grammar::Step;
use super::progress::{Past, State, failed, one_call, well, whole};
use super::report::{Part, code, first_lines};
use crate::protocol::ToolResult;

/// What each subagent searches: its description, and its files.
const PLACES: [(&str, &str); 3] = [
    ("search the code", "*.{rs,py,js,ts,go,c,cpp,h,java,rb,sh}"),
    ("search the docs", "*.{md,txt,rst,html}"),
    ("search the settings", "*.{toml,json,yaml,yml,ini,cfg}"),
];
const AGENT_LINES: usize = 20;

/// Three subagents search at the same time.
pub(super) fn agents(step: &Step, past: &mut Past<'_>, regex: &str) -> State {
    let calls: Vec<Call> = PLACES
        .iter()
        .map(|(about, files)| {
            let prompt = format!("find **/{files} then search \"{regex}\" in {files}");
            calls::explore(about, &prompt)
        })
        .collect();
    match past.take_all(calls) {
        Err(missing) => State::Wants {
            announcement: format!(
                "Three subagents search for {} at the same time.",
                code(regex)
            ),
            calls: missing,
        },
        Ok(results) => {
            if let Some(wrong) = results.iter().find(|result| result.is_error) {
                return failed(step, wrong);
            }
            let parts = PLACES.iter().zip(results).flat_map(|((about, _), result)| {
                // It is in the form of an answer already. The last line says what it took.
                let report = result.as_text();
                let report = report
                    .trim_end()
                    .rsplit_once('\n')
                    .map_or("", |(report, _)| report);
                let report = with_fences_closed(first_lines(report, AGENT_LINES));
                [Part::Sentence(format!("**{about}**\n\n{report}\n"))]
            });
            well(parts.collect())
        }
    }
}

/// A fence whose end was cut off would swallow the text behind it.
fn with_fences_closed(text: String) -> String {
    let open = text.lines().fold(None, |open: Option<&str>, line| {
        let fence = &line[..line.len() - line.trim_start_matches('`').len()];
        match open {
            Some(begun) if fence == begun => None,
            None if fence.len() >= 3 => Some(fence),
            open => open,
        }
    });
    match open {
        Some(fence) => format!("{text}\n{fence}"),
        None => text,
    }
}

/// Questions with answers to choose from.
pub(super) fn ask(step: &Step, past: &mut Past<'_>) -> State {
    let option =
        |label: &str, description: &str| json!({ "label": label, "description": description });
    let questions = json!([
        {
            "question": "Which part should be looked at first?",
            "header": "Part",
            "options": [
                option("The code", "Functions, types and their tests"),
                option("The docs", "The README and everything beside it"),
                option("The build", "How it is compiled and checked"),
            ],
            "multiSelect": false,
        },
        {
            "question": "What should the answer contain?",
            "header": "Answer",
            "options": [
                option("A summary", "A few sentences"),
                option("Examples", "Lines of the files themselves"),
                option("Open points", "What is missing or unclear"),
            ],
            "multiSelect": true,
        },
    ]);
    let announcement = "Two questions, to show how a model asks you.".to_owned();
    one_call(step, past, calls::ask(&questions), announcement, whole)
}

/// Plan mode, and a plan to approve. Results are recognized by the words of their tools.
pub(super) fn plan(step: &Step, past: &mut Past<'_>, task: &str) -> State {
    let enter = calls::enter_plan_mode();
    match past.take(&enter) {
        None => {
            return State::Wants {
                announcement: "Entering plan mode.".to_owned(),
                calls: vec![enter],
            };
        }
        Some(result) if result.is_error => return failed(step, result),
        Some(result) if result.as_text().contains("does not want a plan") => {
            return sentence("You wanted no plan, so nothing needs approval.".to_owned());
        }
        Some(_) => {}
    }
    let plan = format!(
        "# Plan: {task}\n\n1. **Look**: find the files that matter.\n2. **Change**: one small step after the other.\n\
         3. **Check**: run the tests.\n\nAn example of a plan: approving it changes nothing.\n"
    );
    let exit = calls::exit_plan_mode(&plan);
    match past.take(&exit) {
        None => State::Wants {
            announcement: "This is the plan.".to_owned(),
            calls: vec![exit],
        },
        Some(result) => answer_to_plan(step, result),
    }
}

fn answer_to_plan(step: &Step, result: &ToolResult) -> State {
    let text = result.as_text();
    if text.contains("Plan mode is not on") {
        return sentence(
            "You left plan mode before the plan was shown. Nothing was changed.".to_owned(),
        );
    }
    if result.is_error {
        return failed(step, result);
    }
    if text.starts_with("The user wants to keep planning") {
        return sentence(
            "Plan mode stays on. Enter `plan` and what should be different, or leave plan mode with Shift+Tab."
                .to_owned(),
        );
    }
    let approved = "You approved the plan. It is an example, so nothing was changed.".to_owned();
    match text.split_once("with changes") {
        None => sentence(approved),
        Some((_, changed)) => {
            let plan = changed.split_once("\n\n").map_or("", |(_, plan)| plan);
            well(vec![
                Part::Sentence(approved),
                Part::Sentence("This is the plan with your changes:".to_owned()),
                Part::Quote(whole(plan)),
            ])
        }
    }
}

fn sentence(words: String) -> State {
    well(vec![Part::Sentence(words)])
}

#[cfg(test)]
mod tests {
    use crate::protocol::{Block, Message, Origin, ToolResult, ToolUse};
    use crate::provider::builtin::planner::tests::offer;
    use crate::provider::builtin::{Form, answer};

    fn calls(blocks: &[Block]) -> Vec<&ToolUse> {
        let calls = blocks.iter().filter_map(|block| match block {
            Block::ToolUse(call) => Some(call),
            _ => None,
        });
        calls.collect()
    }

    /// The conversation continues with these results.
    fn given(messages: &mut Vec<Message>, answer: Vec<Block>, results: &[&str]) {
        let made = calls(&answer).into_iter().map(|call| call.id.clone());
        let results = made.zip(results);
        let results = results.map(|(id, text)| Block::ToolResult(ToolResult::text(id, *text)));
        let results: Vec<Block> = results.collect();
        let origin = Origin {
            provider: "builtin".to_owned(),
            model: "builtin".to_owned(),
        };
        messages.push(Message::from_assistant(answer, origin));
        messages.push(Message::from_user(results));
    }

    fn text(blocks: &[Block]) -> String {
        Block::texts(blocks.iter())
    }

    #[test]
    fn three_subagents_search_at_once_and_their_answers_are_shown() {
        let tools = offer(&["Task"]);
        let mut messages = vec![Message::user("agents fn main")];
        let first = answer(&messages, &tools, Form::Plain);
        let made = calls(&first);
        assert_eq!(made.len(), 3);
        for call in &made {
            let prompt = call.input["prompt"].as_str().expect("a prompt");
            assert!(prompt.contains("search \"fn main\" in *."), "{prompt}");
            assert_eq!(call.input["subagent_type"], "explore");
        }
        let results = ["one\n(explore: 1 answer)", "two\n(x)", "three\n(x)"];
        given(&mut messages, first, &results);
        let last = answer(&messages, &tools, Form::Plain);
        assert!(calls(&last).is_empty());
        let report = text(&last);
        assert!(report.contains("**search the code**\n\none"), "{report}");
        assert!(!report.contains("(explore"), "{report}");
    }

    #[test]
    fn an_answer_that_is_cut_inside_a_fence_ends_with_it() {
        let long = format!("````\n{}````\nafter", "line\n".repeat(30));
        let cut = super::with_fences_closed(super::first_lines(&long, 20));
        assert!(cut.ends_with("more lines\n````"), "{cut}");
        let whole = "```\na\n```\nb".to_owned();
        assert_eq!(super::with_fences_closed(whole.clone()), whole);
    }

    #[test]
    fn what_the_subagents_are_asked_is_a_request_that_is_understood() {
        let tools = offer(&["Glob", "Grep"]);
        let task = offer(&["Task"]);
        let made = answer(&[Message::user("agents")], &task, Form::Plain);
        for call in calls(&made) {
            let prompt = call.input["prompt"].as_str().expect("a prompt");
            let next = answer(&[Message::user(prompt)], &tools, Form::Plain);
            assert_eq!(calls(&next)[0].name, "Glob", "{}", text(&next));
        }
    }

    #[test]
    fn a_plan_is_proposed_after_plan_mode_was_entered() {
        let tools = offer(&["EnterPlanMode", "ExitPlanMode"]);
        let mut messages = vec![Message::user("plan tidy the README")];
        let first = answer(&messages, &tools, Form::Plain);
        assert_eq!(calls(&first)[0].name, "EnterPlanMode");
        given(&mut messages, first, &["Plan mode is on."]);
        let second = answer(&messages, &tools, Form::Plain);
        let plan = calls(&second)[0].input["plan"].as_str().unwrap_or_default();
        assert!(plan.starts_with("# Plan: tidy the README"), "{plan}");
        for (result, words) in [
            (
                "The user has approved the plan. Carry it out now, as it stands here:\n\n1. look",
                "You approved the plan.",
            ),
            (
                "The user has approved the plan with changes. Carry it out now, as it stands here:\n\n1. look twice",
                "1. look twice",
            ),
            (
                "The user wants to keep planning: more tests. Plan mode stays on",
                "Plan mode stays on.",
            ),
        ] {
            let mut messages = messages.clone();
            given(&mut messages, second.clone(), &[result]);
            let last = answer(&messages, &tools, Form::Plain);
            assert!(calls(&last).is_empty());
            assert!(text(&last).contains(words), "{}", text(&last));
            assert!(!text(&last).contains("failed"), "{}", text(&last));
        }
    }

    #[test]
    fn a_plan_that_you_do_not_want_is_not_presented() {
        let tools = offer(&["EnterPlanMode", "ExitPlanMode"]);
        let mut messages = vec![Message::user("plan tidy the README")];
        let first = answer(&messages, &tools, Form::Plain);
        given(
            &mut messages,
            first,
            &["The user does not want a plan first: start with the task"],
        );
        let last = answer(&messages, &tools, Form::Plain);
        assert!(calls(&last).is_empty());
        assert!(text(&last).contains("You wanted no plan"));
    }

    #[test]
    fn questions_are_asked_and_the_answer_is_shown() {
        let tools = offer(&["AskUserQuestion"]);
        let mut messages = vec![Message::user("ask")];
        let first = answer(&messages, &tools, Form::Plain);
        let questions = calls(&first)[0].input["questions"].as_array().map(Vec::len);
        assert_eq!(questions, Some(2));
        given(&mut messages, first, &["The code, A summary"]);
        let last = text(&answer(&messages, &tools, Form::Plain));
        assert!(last.contains("The code, A summary"), "{last}");
        let prose = answer(&[Message::user("ask him why")], &tools, Form::Plain);
        assert!(calls(&prose).is_empty());
    }
}
