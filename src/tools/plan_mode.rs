//! `EnterPlanMode` and `ExitPlanMode`: planning before anything is changed. The person approves both steps.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{ContextChange, Tool, ToolCx, ToolError, ToolOutput, ToolSpec, Validated};
use crate::permissions::Grant;
use crate::protocol::{
    ChoiceOption, ChoiceRequest, ForPerson, Level, Mode, OutputFormat, Reply, SubjectFields,
    Touches,
};

pub struct EnterPlanMode;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

fn option(label: &str, about: &str) -> ChoiceOption {
    ChoiceOption {
        label: label.into(),
        about: about.into(),
    }
}

impl Tool for EnterPlanMode {
    type Input = Nothing;

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            label: Some("Plan mode".into()),
            doing: "asking to plan first".into(),
            output: OutputFormat::ForModel,
            asks: true,
            ruled: None,
            subject: SubjectFields::default(),
            ..ToolSpec::new(
                "EnterPlanMode",
                include_str!("../../assets/tools/enter_plan_mode.md"),
                Level::Safe,
                "",
            )
        }
    }

    fn is_read_only(&self, _input: &Nothing) -> bool {
        true
    }

    fn touches(&self, _input: &Value) -> Touches {
        Touches::Nothing
    }

    async fn call(
        &self,
        _input: Nothing,
        _grant: Grant,
        cx: ToolCx,
    ) -> Result<ToolOutput, ToolError> {
        if cx.mode == Mode::Plan {
            return Ok(ToolOutput {
                for_person: ForPerson::sentence("already on"),
                ..ToolOutput::text(
                    "Plan mode is already on. Present the plan with ExitPlanMode when it is complete",
                )
            });
        }
        let question = ChoiceRequest {
            title: "Plan first?".into(),
            question: "The model wants to plan before it changes anything. You approve the plan before it is carried out."
                .into(),
            options: vec![
                option("Yes, plan first", "nothing is changed until you approve the plan"),
                option("No, start now", "the model continues as before"),
            ],
            ..ChoiceRequest::default()
        };
        match cx.ask(question).await? {
            reply if reply.picks(0) => Ok(ToolOutput {
                changes: vec![ContextChange::Mode(Mode::Plan)],
                for_person: ForPerson::sentence("on"),
                ..ToolOutput::text(
                    "Plan mode is on: read and search, change nothing. Present the plan with ExitPlanMode when it is complete",
                )
            }),
            Reply::Nobody => Err(ToolError::new(
                "Nobody is there to approve a plan: continue without plan mode",
            )
            .with_sentence("nobody is there to approve a plan")),
            Reply::Chosen(_) | Reply::Dismissed | Reply::Permission(_) | Reply::Form(_) => {
                Ok(ToolOutput {
                    for_person: ForPerson::sentence("off: you want to start now"),
                    ..ToolOutput::text("The user does not want a plan first: start with the task")
                })
            }
        }
    }
}

pub struct ExitPlanMode;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The whole plan, as Markdown
    pub plan: String,
}

/// The answers to a plan, in this order.
const ACCEPTING: usize = 0;
const ASKING: usize = 1;

impl Tool for ExitPlanMode {
    type Input = Input;

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            label: Some("Plan".into()),
            doing: "presenting a plan".into(),
            output: OutputFormat::ForModel,
            asks: true,
            ruled: None,
            subject: SubjectFields::markdown("plan"),
            ..ToolSpec::new(
                "ExitPlanMode",
                include_str!("../../assets/tools/exit_plan_mode.md"),
                Level::Safe,
                "plan",
            )
        }
    }

    fn is_read_only(&self, _input: &Input) -> bool {
        true
    }

    fn touches(&self, _input: &Value) -> Touches {
        Touches::Nothing
    }

    fn sample(&self) -> Value {
        json!({ "plan": "1. Skip rows that are not numbers\n2. Add a test, and run it" })
    }

    async fn validate(&self, input: &Input, cx: &ToolCx) -> Result<Validated, ToolError> {
        if cx.mode != Mode::Plan {
            return Err(ToolError::new(
                "Plan mode is not on, so no plan needs approval: carry out the task",
            )
            .with_sentence("plan mode is off"));
        }
        if input.plan.trim().is_empty() {
            return Err(
                ToolError::new("`plan` is empty: write down what you will do")
                    .with_sentence("the plan is empty"),
            );
        }
        Ok(Validated::Fine)
    }

    async fn call(&self, input: Input, _grant: Grant, cx: ToolCx) -> Result<ToolOutput, ToolError> {
        let question = ChoiceRequest {
            title: "Carry out this plan?".into(),
            body: Some(input.plan.clone()),
            options: vec![
                option(
                    "Yes, and accept edits",
                    "changes files in this project without asking",
                ),
                option("Yes, and ask for each edit", "you see every change first"),
                option("Keep planning", "nothing is changed yet"),
            ],
            free_text: true,
            own_words: "Keep planning, and say what to change".into(),
            ..ChoiceRequest::default()
        };
        let reply = cx.ask(question).await?;
        if reply == Reply::Nobody {
            return Err(ToolError::new(
                "Nobody is there to approve the plan. Give it as your answer, and change nothing",
            )
            .with_sentence("nobody is there to approve the plan"));
        }
        let Some(chosen) = reply.only() else {
            return Ok(keep_planning(None, None));
        };
        let edited = chosen.edited.as_deref();
        let edited = edited.filter(|edited| edited.trim() != input.plan.trim());
        let mode = match chosen.options.as_slice() {
            [ACCEPTING] => Mode::AcceptEdits,
            [ASKING] => Mode::Default,
            _ => return Ok(keep_planning(chosen.text.as_deref(), edited)),
        };
        let (plan, changed) = match edited {
            Some(edited) => (edited, " with changes"),
            None => (input.plan.as_str(), ""),
        };
        Ok(ToolOutput {
            changes: vec![ContextChange::Mode(mode)],
            for_person: ForPerson::sentence(format!("approved{changed}")),
            ..ToolOutput::text(format!(
                "The user has approved the plan{changed}. Carry it out now, as it stands here:\n\n{plan}"
            ))
        })
    }
}

/// The plan is not approved. The user's edits are not lost: the model continues from the edited plan.
fn keep_planning(why: Option<&str>, edited: Option<&str>) -> ToolOutput {
    let why = why.map_or(String::new(), |why| format!(": {why}"));
    let mut text = format!(
        "The user wants to keep planning{why}. Plan mode stays on; change nothing, and present the plan again when it is \
         better"
    );
    if let Some(edited) = edited {
        text.push_str(". The user has changed the plan. Continue with this version of it:\n\n");
        text.push_str(edited);
    }
    ToolOutput {
        for_person: ForPerson::sentence(format!("you want to keep planning{why}")),
        ..ToolOutput::text(text)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use serde_json::json;

    use super::{EnterPlanMode, ExitPlanMode};
    use crate::protocol::{Chosen, ForPerson, Mode, Reply};
    use crate::tools::ask::Asker;
    use crate::tools::files::scratch::{Scratch, text};
    use crate::tools::{ContextChange, Tool, ToolError, ToolOutput};

    async fn run<T: Tool>(
        tool: &T,
        mode: Mode,
        input: serde_json::Value,
        reply: Reply,
    ) -> Result<ToolOutput, ToolError> {
        let mut scratch = Scratch::new();
        scratch.cx.mode = mode;
        scratch.cx.asker = Asker::new(move |_| {
            let reply = reply.clone();
            async move { reply }.boxed()
        });
        scratch.run(tool, input).await
    }

    fn chose(option: usize) -> Reply {
        Reply::Chosen(vec![Chosen {
            options: vec![option],
            ..Chosen::default()
        }])
    }

    #[tokio::test]
    async fn plan_mode_begins_when_the_person_agrees() {
        let output = run(&EnterPlanMode, Mode::Default, json!({}), chose(0)).await;
        let output = output.expect("asked");
        assert_eq!(output.changes, [ContextChange::Mode(Mode::Plan)]);
        assert_eq!(output.for_person, ForPerson::sentence("on"));
        for reply in [chose(1), Reply::Dismissed] {
            let output = run(&EnterPlanMode, Mode::Default, json!({}), reply).await;
            let output = output.expect("asked");
            assert_eq!(output.changes, []);
            let message = ForPerson::sentence("off: you want to start now");
            assert_eq!(output.for_person, message);
        }
        let nobody = run(&EnterPlanMode, Mode::Default, json!({}), Reply::Nobody).await;
        assert!(nobody.is_err());
        let twice = run(&EnterPlanMode, Mode::Plan, json!({}), chose(0)).await;
        let twice = twice.expect("no question and no error");
        assert!(text(&twice).starts_with("Plan mode is already on"));
        assert_eq!(twice.changes, []);
    }

    #[tokio::test]
    async fn an_approved_plan_sets_the_mode_and_is_the_result() {
        let plan = json!({"plan": "1. look\n2. change"});
        for (answer, mode) in [(0, Mode::AcceptEdits), (1, Mode::Default)] {
            let output = run(&ExitPlanMode, Mode::Plan, plan.clone(), chose(answer)).await;
            let output = output.expect("approved");
            assert_eq!(output.changes, [ContextChange::Mode(mode)]);
            assert!(text(&output).ends_with("\n\n1. look\n2. change"));
        }
        let edited = Reply::Chosen(vec![Chosen {
            options: vec![1],
            edited: Some("1. only look".into()),
            ..Chosen::default()
        }]);
        let output = run(&ExitPlanMode, Mode::Plan, plan, edited)
            .await
            .expect("approved");
        assert!(text(&output).contains("approved the plan with changes"));
        assert!(text(&output).ends_with("\n\n1. only look"));
    }

    #[tokio::test]
    async fn without_approval_planning_continues() {
        let plan = || json!({"plan": "1. look"});
        let because = Reply::Chosen(vec![Chosen {
            text: Some("and the tests?".into()),
            ..Chosen::default()
        }]);
        let output = run(&ExitPlanMode, Mode::Plan, plan(), because)
            .await
            .expect("no error");
        assert_eq!(output.changes, []);
        assert!(text(&output).starts_with("The user wants to keep planning: and the tests?."));
        let edited = Reply::Chosen(vec![Chosen {
            text: Some("shorter".into()),
            edited: Some("1. only look\n".into()),
            ..Chosen::default()
        }]);
        let output = run(&ExitPlanMode, Mode::Plan, plan(), edited).await;
        let message = text(&output.expect("no error"));
        assert!(
            message.starts_with("The user wants to keep planning: shorter."),
            "{message}"
        );
        assert!(
            message.ends_with("Continue with this version of it:\n\n1. only look\n"),
            "what the user wrote is not lost: {message}"
        );
        for reply in [chose(2), Reply::Dismissed] {
            let output = run(&ExitPlanMode, Mode::Plan, plan(), reply)
                .await
                .expect("no error");
            assert!(text(&output).starts_with("The user wants to keep planning."));
        }
        let nobody = run(&ExitPlanMode, Mode::Plan, plan(), Reply::Nobody).await;
        assert!(
            nobody
                .expect_err("nobody")
                .message
                .contains("Give it as your answer")
        );
        let outside = run(&ExitPlanMode, Mode::Default, plan(), chose(0)).await;
        assert!(
            outside
                .expect_err("not planning")
                .message
                .contains("is not on")
        );
        let empty = run(&ExitPlanMode, Mode::Plan, json!({"plan": " "}), chose(0)).await;
        assert!(empty.is_err());
    }
}
