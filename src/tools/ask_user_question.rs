//! `AskUserQuestion`: questions to the person, with answers to choose from.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Tool, ToolCx, ToolError, ToolOutput, ToolSpec, Validated};
use crate::permissions::Grant;
use crate::protocol::{
    ChoiceOption, ChoiceRequest, Chosen, ForPerson, Level, Reply, SubjectFields, Touches,
};

const LONGEST_HEADER: usize = 12;

pub struct AskUserQuestion;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// One to four questions
    #[schemars(length(min = 1, max = 4))]
    pub questions: Vec<Asked>,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// The whole question, with a question mark
    pub question: String,
    /// A word or two that stand for it, of at most 12 characters
    pub header: String,
    /// Two to four answers to choose from
    #[schemars(length(min = 2, max = 4))]
    pub options: Vec<Offered>,
    /// Several of them can be chosen
    #[serde(rename = "multiSelect", default)]
    pub multi_select: bool,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Offered {
    /// One to five words
    pub label: String,
    /// What choosing it means
    pub description: String,
}

impl Asked {
    fn request(&self) -> ChoiceRequest {
        ChoiceRequest {
            header: self.header.clone(),
            question: self.question.clone(),
            options: self.options.iter().map(Offered::option).collect(),
            several: self.multi_select,
            free_text: true,
            ..ChoiceRequest::default()
        }
    }

    fn answer(&self, chosen: &Chosen) -> String {
        let labels = chosen.options.iter().filter_map(|at| self.options.get(*at));
        let labels = labels.map(|option| option.label.clone());
        let answers: Vec<String> = labels.chain(chosen.text.clone()).collect();
        answers.join(", ")
    }
}

impl Offered {
    fn option(&self) -> ChoiceOption {
        ChoiceOption {
            label: self.label.clone(),
            about: self.description.clone(),
        }
    }
}

impl Tool for AskUserQuestion {
    type Input = Input;

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            doing: "asking you".into(),
            ruled: None,
            subject: SubjectFields {
                what: vec!["/questions/0/question".into(), "questions".into()],
                ..SubjectFields::default()
            },
            ..ToolSpec::new(
                "AskUserQuestion",
                include_str!("../../assets/tools/ask_user_question.md"),
                Level::Safe,
                "questions",
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
        json!({ "questions": [{
            "question": "Where should the counter live?", "header": "Counter",
            "options": [
                { "label": "In memory", "description": "simplest; resets on restart" },
                { "label": "Redis", "description": "shared by all processes" },
            ],
        }] })
    }

    async fn validate(&self, input: &Input, _cx: &ToolCx) -> Result<Validated, ToolError> {
        for asked in &input.questions {
            if asked.header.chars().count() > LONGEST_HEADER {
                return Err(ToolError::new(format!(
                    "The header `{}` is longer than {LONGEST_HEADER} characters",
                    asked.header
                )));
            }
            let labels = asked.options.iter().map(|option| option.label.trim());
            let labels: std::collections::HashSet<&str> = labels.collect();
            if labels.len() < asked.options.len() || labels.contains("") {
                return Err(ToolError::new(format!(
                    "The options of `{}` need labels that differ and are not empty",
                    asked.question
                )));
            }
        }
        Ok(Validated::Fine)
    }

    async fn call(&self, input: Input, _grant: Grant, cx: ToolCx) -> Result<ToolOutput, ToolError> {
        let requests = input.questions.iter().map(Asked::request).collect();
        match cx.ask_together(requests).await? {
            Reply::Chosen(chosen) => {
                let answered = || input.questions.iter().zip(&chosen);
                let answers: Vec<String> = answered()
                    .map(|(asked, chosen)| {
                        format!("\"{}\"=\"{}\"", asked.question, asked.answer(chosen))
                    })
                    .collect();
                Ok(ToolOutput {
                    for_person: ForPerson::saying(in_short(answered())),
                    ..ToolOutput::text(format!(
                        "User has answered your questions: {}",
                        answers.join(", ")
                    ))
                })
            }
            Reply::Nobody => Err(ToolError::new(
                "Nobody is there to answer: this run has no person at a screen. Decide yourself, and say in your answer \
                 what you assumed",
            )),
            Reply::Dismissed | Reply::Permission(_) => {
                let asked = input.questions.iter();
                let asked: Vec<String> = asked.map(|it| format!("\"{}\"", it.question)).collect();
                Ok(ToolOutput {
                    for_person: ForPerson::saying("you let the model decide"),
                    ..ToolOutput::text(format!(
                        "The user does not want to answer {}. Continue as you think best, or stop and ask in your own words",
                        asked.join(", ")
                    ))
                })
            }
        }
    }
}

/// The answers for the row of the call, which shows the first question.
fn in_short<'a>(answered: impl ExactSizeIterator<Item = (&'a Asked, &'a Chosen)>) -> String {
    let is_only = answered.len() == 1;
    let answers = answered.map(|(asked, chosen)| {
        let answer = asked.answer(chosen);
        if is_only {
            return answer;
        }
        format!("{}: {answer}", asked.header)
    });
    answers.collect::<Vec<_>>().join(" · ")
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use futures_util::FutureExt;
    use serde_json::{Value, json};

    use super::{AskUserQuestion, Input};
    use crate::protocol::{ChoiceRequest, Chosen, Reply};
    use crate::tools::ask::Asker;
    use crate::tools::files::scratch::{Scratch, text};
    use crate::tools::{Tool, input_schema};

    fn questions() -> Value {
        let options = json!([
            {"label": "Memory", "description": "simple"},
            {"label": "Redis", "description": "shared"},
        ]);
        json!({"questions": [
            {"question": "Where?", "header": "Place", "options": options},
            {"question": "Which?", "header": "Kind", "options": options, "multiSelect": true},
        ]})
    }

    async fn answered(reply: Reply) -> (Result<String, String>, Vec<ChoiceRequest>) {
        let mut scratch = Scratch::new();
        let asked: Arc<Mutex<Vec<ChoiceRequest>>> = Arc::default();
        let log = asked.clone();
        scratch.cx.asker = Asker::new(move |requests| {
            log.lock().expect("unpoisoned").extend(requests);
            let reply = reply.clone();
            async move { reply }.boxed()
        });
        let output = scratch.run(&AskUserQuestion, questions()).await;
        let said = output
            .map(|output| text(&output))
            .map_err(|error| error.message);
        let asked = asked.lock().expect("unpoisoned").clone();
        (said, asked)
    }

    fn chosen(options: &[usize], text: Option<&str>) -> Chosen {
        Chosen {
            options: options.to_vec(),
            text: text.map(Into::into),
            ..Chosen::default()
        }
    }

    #[tokio::test]
    async fn all_questions_are_asked_at_once_and_the_model_gets_each_answer_with_its_question() {
        let replies = vec![chosen(&[1], None), chosen(&[0, 1], Some("and a file"))];
        let (said, asked) = answered(Reply::Chosen(replies)).await;
        assert_eq!(
            said.as_deref(),
            Ok(
                "User has answered your questions: \"Where?\"=\"Redis\", \"Which?\"=\"Memory, Redis, and a file\""
            )
        );
        let seen: Vec<(&str, bool)> = asked
            .iter()
            .map(|request| (request.header.as_str(), request.several))
            .collect();
        assert_eq!(seen, [("Place", false), ("Kind", true)]);
        assert!(asked.iter().all(|request| request.free_text));
    }

    #[test]
    fn a_call_is_named_by_its_first_question() {
        let subject = AskUserQuestion.spec().subject.of(&questions());
        assert_eq!(subject.as_deref(), Some("Where?"));
    }

    #[tokio::test]
    async fn the_model_learns_when_the_person_declines_or_nobody_can_answer() {
        let (said, _) = answered(Reply::Dismissed).await;
        let said = said.expect("not an error");
        assert!(
            said.starts_with("The user does not want to answer \"Where?\", \"Which?\"."),
            "{said}"
        );
        let (said, asked) = answered(Reply::Nobody).await;
        assert!(said.expect_err("nobody").starts_with("Nobody is there"));
        assert_eq!(asked.len(), 2);
    }

    #[tokio::test]
    async fn questions_are_checked_before_the_person_sees_them() {
        let scratch = Scratch::new();
        let mut long = questions();
        long["questions"][0]["header"] = json!("thirteen char");
        let mut same = questions();
        same["questions"][0]["options"][1]["label"] = json!("Memory");
        for (input, reason) in [
            (long, "longer than 12 characters"),
            (same, "labels that differ"),
        ] {
            let error = scratch
                .run(&AskUserQuestion, input)
                .await
                .expect_err("refused");
            assert!(error.message.contains(reason), "{}", error.message);
        }
        let schema = input_schema::<Input>();
        assert_eq!(schema["properties"]["questions"]["maxItems"], 4);
    }
}
