//! Asks the person on the terminal, a line at a time.

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal, Write};
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

use crate::app::diff::{Diff, Kind};
use crate::protocol::{
    Answer, ChoiceRequest, Chosen, FieldKind, FieldOption, FileDiff, FormField, FormReply,
    FormRequest, Given, PermissionRequest, QuestionKind, Reply,
};
use crate::text::clean;

/// Lines around a change.
const CONTEXT: usize = 3;
/// How often a field is asked for again if the answer does not fit.
const MOST_TRIES: usize = 3;

/// The terminal that the program was started from, even if stdin and stdout are something else.
pub struct Terminal(Mutex<Lines>);

struct Lines {
    input: BufReader<File>,
    output: File,
}

/// The person gave no answer that fits.
struct NoAnswer;

impl Terminal {
    /// `None` if no person can be asked: neither stdin nor stderr is a terminal.
    pub fn open() -> Option<Self> {
        if !io::stdin().is_terminal() && !io::stderr().is_terminal() {
            return None;
        }
        let output = File::options().read(true).write(true).open("/dev/tty");
        let output = output.ok()?;
        let input = BufReader::new(output.try_clone().ok()?);
        Some(Self(Mutex::new(Lines { input, output })))
    }

    /// Asks and waits for the answer.
    pub fn ask(&self, question: &QuestionKind) -> Reply {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match question {
            QuestionKind::Permission(request) => Reply::Permission(lines.permission(request)),
            QuestionKind::Choice(requests) => {
                let answers = requests.iter().map(|request| lines.choice(request));
                reply(answers.collect())
            }
            QuestionKind::Form(form) => lines.form(form),
        }
    }
}

impl Lines {
    fn permission(&mut self, request: &PermissionRequest) -> Answer {
        self.print(&format!("{} {}", request.tool, *request.input));
        if let Some(program) = &request.program {
            self.print(&format!("runs: {}", program.command));
            self.print(&format!("in: {}", program.directory));
            self.print(&format!("gets its input {}", program.input));
        }
        for change in &request.changes {
            for line in unified(change) {
                self.print(&line);
            }
        }
        if !request.reason.is_empty() {
            self.print(&request.reason);
        }
        match self.answer("Allow? [y/N] ").as_deref() {
            Some("y" | "Y" | "yes") => Answer::Allow,
            Some(_) | None => Answer::Deny { reason: None },
        }
    }

    /// `None` if the person gives no answer.
    fn choice(&mut self, request: &ChoiceRequest) -> Option<Chosen> {
        if let Some(body) = &request.body {
            self.print(body);
        }
        self.print(&request.question);
        for (index, option) in request.options.iter().enumerate() {
            let about = if option.about.is_empty() {
                String::new()
            } else {
                format!(": {}", option.about)
            };
            self.print(&format!("  {}  {}{about}", index + 1, option.label));
        }
        let hint = match (request.several, request.free_text) {
            (true, true) => "Numbers, or your own words: ",
            (true, false) => "Numbers: ",
            (false, true) => "Number, or your own words: ",
            (false, false) => "Number: ",
        };
        let answer = self.answer(hint)?;
        chosen(&answer, request)
    }

    /// Asks for one field after the other; an empty line takes the default.
    fn form(&mut self, form: &FormRequest) -> Reply {
        self.print(&form.title);
        self.print(&form.message);
        if !matches!(
            self.answer("Fill it in? [y/N] ").as_deref(),
            Some("y" | "Y" | "yes")
        ) {
            return Reply::Form(FormReply::Declined);
        }
        let mut values = serde_json::Map::new();
        for field in &form.fields {
            match self.field(field) {
                Ok(Some(value)) => drop(values.insert(field.name.clone(), value)),
                Ok(None) => {}
                Err(NoAnswer) => return Reply::Dismissed,
            }
        }
        Reply::Form(FormReply::Submitted(values))
    }

    /// The value of a field, if it gets one.
    fn field(&mut self, field: &FormField) -> Result<Option<Value>, NoAnswer> {
        let options: &[FieldOption] = match &field.kind {
            FieldKind::One(options) | FieldKind::Several(options, _) => options,
            FieldKind::Text { .. } | FieldKind::Number { .. } | FieldKind::Flag => &[],
        };
        for (index, option) in options.iter().enumerate() {
            self.print(&format!("  {}  {}", index + 1, option.title));
        }
        let default = field.default.as_ref();
        let default = default.map_or(String::new(), |it| format!(" [{}]", clean(&it.to_string())));
        for _ in 0..MOST_TRIES {
            let prompt = format!("{}{default}: ", clean(&field.title));
            let given = match self.answer(&prompt) {
                Some(line) => given(&line, &field.kind),
                None => Given::Untouched,
            };
            match field.value(&given) {
                Ok(value) => return Ok(value),
                Err(problem) => self.print(&problem),
            }
        }
        Err(NoAnswer)
    }

    fn print(&mut self, text: &str) {
        // Nobody reads a terminal that is gone.
        let _ = writeln!(self.output, "{}", clean(text));
    }

    /// The next line; `None` at the end of the input or if it is empty.
    fn answer(&mut self, prompt: &str) -> Option<String> {
        let _ = write!(self.output, "{prompt}");
        let _ = self.output.flush();
        let mut line = String::new();
        self.input.read_line(&mut line).ok()?;
        let line = line.trim();
        (!line.is_empty()).then(|| line.to_owned())
    }
}

/// Questions without an answer are skipped; without any answer, the whole dialog is.
fn reply(answers: Vec<Option<Chosen>>) -> Reply {
    if answers.iter().all(Option::is_none) {
        return Reply::Dismissed;
    }
    Reply::Chosen(answers.into_iter().map(Option::unwrap_or_default).collect())
}

/// What a line means as the value of a field.
fn given(line: &str, kind: &FieldKind) -> Given {
    match kind {
        FieldKind::Text { .. } | FieldKind::Number { .. } => Given::Text(line.to_owned()),
        FieldKind::Flag => match line {
            "y" | "Y" | "yes" | "true" => Given::Flag(true),
            "n" | "N" | "no" | "false" => Given::Flag(false),
            _ => Given::Options(Vec::new()),
        },
        FieldKind::One(_) | FieldKind::Several(..) => {
            let numbers = line.split([',', ' ']).filter_map(|word| word.parse().ok());
            let indices = numbers.filter_map(|number: usize| number.checked_sub(1));
            Given::Options(indices.collect())
        }
    }
}

/// What a line means as an answer.
fn chosen(answer: &str, request: &ChoiceRequest) -> Option<Chosen> {
    let count = request.options.len();
    let numbers: Option<Vec<usize>> = answer
        .split([',', ' '])
        .filter(|word| !word.is_empty())
        .map(|word| {
            word.parse()
                .ok()
                .filter(|number| (1..=count).contains(number))
        })
        .collect();
    match numbers {
        Some(numbers) if numbers.len() == 1 || request.several => Some(Chosen {
            options: numbers.into_iter().map(|number| number - 1).collect(),
            ..Chosen::default()
        }),
        _ if request.free_text => Some(Chosen {
            text: Some(answer.to_owned()),
            ..Chosen::default()
        }),
        _ => None,
    }
}

fn unified(change: &FileDiff) -> Vec<String> {
    let diff = Diff::new(change);
    let mut lines = vec![format!("--- {}", diff.path())];
    for hunk in diff.hunks(CONTEXT) {
        lines.push(hunk.header());
        lines.extend(diff.lines(&hunk).map(|line| {
            let sign = match line.kind {
                Kind::Context { .. } => ' ',
                Kind::Removed { .. } => '-',
                Kind::Added { .. } => '+',
            };
            format!("{sign}{}", line.text)
        }));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::{chosen, reply, unified};
    use crate::protocol::{ChoiceOption, ChoiceRequest, Chosen, FileDiff, Reply};

    fn request(several: bool, free_text: bool) -> ChoiceRequest {
        let option = |label: &str| ChoiceOption {
            label: label.to_owned(),
            about: String::new(),
        };
        ChoiceRequest {
            options: vec![option("a"), option("b")],
            several,
            free_text,
            ..ChoiceRequest::default()
        }
    }

    fn options(options: &[usize]) -> Chosen {
        Chosen {
            options: options.to_vec(),
            ..Chosen::default()
        }
    }

    #[test]
    fn a_line_is_a_number_several_numbers_or_own_words() {
        assert_eq!(chosen("2", &request(false, false)), Some(options(&[1])));
        assert_eq!(
            chosen("2, 1", &request(true, false)),
            Some(options(&[1, 0]))
        );
        assert_eq!(chosen("1 2", &request(false, false)), None);
        assert_eq!(chosen("3", &request(false, false)), None);
        let words = chosen("3 cats", &request(false, true)).expect("own words");
        assert_eq!(words.text.as_deref(), Some("3 cats"));
    }

    #[test]
    fn answers_are_kept_when_other_questions_are_skipped() {
        let given = || Some(options(&[1]));
        let kept = reply(vec![given(), None]);
        assert_eq!(kept, Reply::Chosen(vec![options(&[1]), Chosen::default()]));
        assert_eq!(reply(vec![None, None]), Reply::Dismissed);
    }

    #[test]
    fn a_change_is_shown_as_a_unified_diff() {
        let change = FileDiff {
            path: "a.txt".to_owned(),
            before: Some("one\ntwo\n".into()),
            after: "one\nthree\n".into(),
        };
        let lines = unified(&change);
        assert_eq!(
            lines,
            ["--- a.txt", "@@ -1,2 +1,2 @@", " one", "-two", "+three"]
        );
    }
}
