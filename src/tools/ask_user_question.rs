//! `AskUserQuestion`: questions to the person, with answers to choose from.

use std::collections::HashSet;
use std::fmt::Write;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Tool, ToolCx, ToolError, ToolOutput, ToolSpec, Validated};
use crate::permissions::Grant;
use crate::protocol::{
    ChoiceOption, ChoiceRequest, Chosen, ForPerson, Level, OutputFormat, Reply, SubjectFields,
    Touches,
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
            label: Some("Question".into()),
            doing: "asking you".into(),
            output: OutputFormat::ForModel,
            asks: true,
            ruled: None,
            subject: SubjectFields {
                what: vec!["/questions/0/question".into(), "questions".into()],
                questions: Some("questions".into()),
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
        let mut questions = HashSet::new();
        for asked in &input.questions {
            if asked.question.trim().is_empty() || asked.header.trim().is_empty() {
                return Err(ToolError::new(
                    "`question` or `header` is empty: every question needs both",
                ));
            }
            if !questions.insert(asked.question.trim()) {
                return Err(ToolError::new(format!(
                    "The question `{}` is there twice: ask each once",
                    asked.question
                )));
            }
            if asked.header.chars().count() > LONGEST_HEADER {
                return Err(ToolError::new(format!(
                    "The header `{}` is longer than {LONGEST_HEADER} characters",
                    asked.header
                ))
                .with_sentence("the header of a question is too long"));
            }
            let labels = asked.options.iter().map(|option| option.label.trim());
            let labels: HashSet<&str> = labels.collect();
            if labels.len() < asked.options.len() || labels.contains("") {
                return Err(ToolError::new(format!(
                    "The options of `{}` need labels that differ and are not empty",
                    asked.question
                ))
                .with_sentence("the answers of a question are not distinct"));
            }
        }
        Ok(Validated::Fine)
    }

    async fn call(&self, input: Input, _grant: Grant, cx: ToolCx) -> Result<ToolOutput, ToolError> {
        let requests = input.questions.iter().map(Asked::request).collect();
        match cx.ask_together(requests).await? {
            Reply::Chosen(chosen) => Ok(answered(&input.questions, &chosen)),
            Reply::Nobody => Err(ToolError::new(
                "Nobody is there to answer: this run has no person at a screen. Decide yourself, and say in your answer \
                 what you assumed",
            ).with_sentence("nobody is there to answer")),
            Reply::Dismissed | Reply::Permission(_) | Reply::Form(_) => {
                let asked = quoted(input.questions.iter());
                Ok(ToolOutput {
                    for_person: ForPerson::sentence("you skipped it"),
                    ..ToolOutput::text(format!(
                        "The user does not want to answer {asked}. Continue as you think best, or stop and ask in your own words"
                    ))
                })
            }
        }
    }
}

fn answered(questions: &[Asked], chosen: &[Chosen]) -> ToolOutput {
    let (skipped, given): (Vec<_>, Vec<_>) =
        (questions.iter().zip(chosen)).partition(|(_, chosen)| chosen.is_skipped());
    let given = given.into_iter();
    let given =
        given.map(|(asked, chosen)| format!("\"{}\"=\"{}\"", asked.question, asked.answer(chosen)));
    let given: Vec<String> = given.collect();
    let mut text = format!("User has answered your questions: {}", given.join(", "));
    if !skipped.is_empty() {
        let skipped = quoted(skipped.into_iter().map(|(asked, _)| asked));
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            ". The user skipped {skipped}: decide there as you think best"
        );
    }
    ToolOutput {
        for_person: ForPerson::sentence(summary(questions.iter().zip(chosen))),
        ..ToolOutput::text(text)
    }
}

fn quoted<'a>(questions: impl Iterator<Item = &'a Asked>) -> String {
    let quoted = questions.map(|asked| format!("\"{}\"", asked.question));
    quoted.collect::<Vec<_>>().join(", ")
}

/// The answers for the row of the call, which shows the first question.
fn summary<'a>(answered: impl ExactSizeIterator<Item = (&'a Asked, &'a Chosen)>) -> String {
    let is_only = answered.len() == 1;
    let answers = answered.map(|(asked, chosen)| {
        let answer = if chosen.is_skipped() {
            "skipped".to_owned()
        } else {
            asked.answer(chosen)
        };
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
    use crate::protocol::{ChoiceRequest, Chosen, QuestionKind, Reply};
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
        scratch.cx.asker = Asker::new(move |question| {
            if let QuestionKind::Choice(requests) = question {
                log.lock().expect("unpoisoned").extend(requests);
            }
            let reply = reply.clone();
            async move { reply }.boxed()
        });
        let output = scratch.run(&AskUserQuestion, questions()).await;
        let message = output
            .map(|output| text(&output))
            .map_err(|error| error.message);
        let asked = asked.lock().expect("unpoisoned").clone();
        (message, asked)
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
        let (output, asked) = answered(Reply::Chosen(replies)).await;
        assert_eq!(
            output.as_deref(),
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

    #[tokio::test]
    async fn the_model_gets_the_given_answers_and_learns_which_questions_were_skipped() {
        let replies = vec![chosen(&[1], None), chosen(&[], None)];
        let (output, _) = answered(Reply::Chosen(replies)).await;
        assert_eq!(
            output.as_deref(),
            Ok(
                "User has answered your questions: \"Where?\"=\"Redis\". The user skipped \"Which?\": decide there as you think best"
            )
        );
    }

    #[test]
    fn a_call_is_named_by_its_first_question() {
        let subject = AskUserQuestion.spec().subject.of(&questions());
        assert_eq!(subject.as_deref(), Some("Where?"));
    }

    #[tokio::test]
    async fn the_model_learns_when_the_person_declines_or_nobody_can_answer() {
        let (output, _) = answered(Reply::Dismissed).await;
        let output = output.expect("not an error");
        assert!(
            output.starts_with("The user does not want to answer \"Where?\", \"Which?\"."),
            "{output}"
        );
        let (output, asked) = answered(Reply::Nobody).await;
        assert!(output.expect_err("nobody").starts_with("Nobody is there"));
        assert_eq!(asked.len(), 2);
    }

    #[tokio::test]
    async fn questions_are_checked_before_the_person_sees_them() {
        let scratch = Scratch::new();
        let mut long = questions();
        long["questions"][0]["header"] = json!("thirteen char");
        let mut same = questions();
        same["questions"][0]["options"][1]["label"] = json!("Memory");
        let mut empty = questions();
        empty["questions"][1]["question"] = json!(" ");
        let mut twice = questions();
        twice["questions"][1]["question"] = json!("Where?");
        for (input, reason) in [
            (empty, "every question needs both"),
            (twice, "`Where?` is there twice"),
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
