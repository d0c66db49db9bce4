//! What decided a call, as `/why` shows it.

use super::AppState;
use super::call::Call;
use super::page::{Line, Tone, lines};
use super::transcript::NoticeKind;

impl AppState {
    /// Shows what decided the last call, or the last one with this name.
    pub(super) fn show_decision(&mut self, which: &str) {
        let which = which.to_lowercase();
        let named = |call: &&Call| {
            let name = format!("{} {}", call.tool.name, call.subject()).to_lowercase();
            !call.decisions.is_empty() && name.contains(&which)
        };
        let calls = self.calls.iter().rev().map(|(_, call)| call);
        let Some(call) = calls.into_iter().find(named) else {
            self.flash(if which.is_empty() {
                "no calls in this session yet".to_owned()
            } else {
                format!("no decided call matches \"{which}\"")
            });
            return;
        };
        let subject = call.subject();
        if let [decision] = call.decisions.as_slice() {
            let first = subject.lines().next().unwrap_or_default();
            let text = format!("{} {first}\n{decision}", call.tool.name);
            return self.notice(NoticeKind::Info, text);
        }
        let mut page = vec![Line::heading(&*call.tool.name)];
        page.extend(indented(lines(&subject, Tone::Code)));
        for decision in &call.decisions {
            page.push(Line::blank());
            page.extend(explained(decision));
        }
        self.open_page("Why", page);
    }
}

/// A decision with its mark; its rule and the rule's file are on lines of their own.
fn explained(decision: &str) -> Vec<Line> {
    let (mark, tone) = if decision.starts_with("asked") {
        ("? ", Tone::Warning)
    } else if decision.starts_with("denied") {
        ("⊘ ", Tone::Bad)
    } else if decision.starts_with("changed") {
        ("· ", Tone::Muted)
    } else {
        ("✓ ", Tone::Good)
    };
    let Some((words, rule, place)) = rule_in(decision) else {
        return vec![Line::text(decision).lead(tone, mark)];
    };
    let mut page = vec![Line::text(words).lead(tone, mark)];
    page.extend(indented(vec![Line::new(Tone::Accent, rule)]));
    page.extend(place.map(|place| Line::muted(format!("in {place}")).lead(Tone::Muted, "  ")));
    page
}

/// The words before a rule, the rule, and the file that it is in.
fn rule_in(decision: &str) -> Option<(&str, &str, Option<&str>)> {
    let (words, rest) = ["by rule ", "by you: ", "for this session: "]
        .iter()
        .find_map(|before| {
            let start = decision.find(before)? + before.len();
            Some(decision.split_at(start))
        })
        .filter(|(words, _)| !words.starts_with("denied by you"))?;
    let words = words.trim_end().trim_end_matches(':');
    // A rule can contain the word itself, as in `Bash(grep in notes)`.
    let end = rest.find(") in ").map(|at| at + 1);
    let end = end.or_else(|| rest.find(" in "));
    Some(match end {
        Some(end) => (words, &rest[..end], Some(&rest[end + " in ".len()..])),
        None => (words, rest, None),
    })
}

fn indented(lines: Vec<Line>) -> impl Iterator<Item = Line> {
    lines.into_iter().map(|line| line.lead(Tone::Muted, "  "))
}

#[cfg(test)]
mod tests {
    use super::{Line, Tone, explained};

    #[test]
    fn the_rule_of_a_decision_is_highlighted_on_its_own_line() {
        let rule = |mark: &str, words: &str, rule: &str, place: &str| {
            let tone = if mark == "✓ " {
                Tone::Good
            } else {
                Tone::Bad
            };
            vec![
                Line::text(words).lead(tone, mark),
                Line::new(Tone::Accent, rule).lead(Tone::Muted, "  "),
                Line::muted(place).lead(Tone::Muted, "  "),
            ]
        };
        assert_eq!(
            explained("allowed by rule Bash(grep in notes) in .claude/settings.json"),
            rule(
                "✓ ",
                "allowed by rule",
                "Bash(grep in notes)",
                "in .claude/settings.json"
            )
        );
        assert_eq!(
            explained("denied by rule Edit in --deny"),
            rule("⊘ ", "denied by rule", "Edit", "in --deny")
        );
        assert_eq!(
            explained("always allowed by you: Bash(ls) in a/b.json"),
            rule("✓ ", "always allowed by you", "Bash(ls)", "in a/b.json")
        );
        let session = explained("allowed by you for this session: Bash(ls)");
        assert_eq!(session[1].text, "Bash(ls)");
        assert_eq!(session.len(), 2);
        let reason = "denied by you: not in here";
        assert_eq!(
            explained(reason),
            [Line::text(reason).lead(Tone::Bad, "⊘ ")]
        );
    }
}
