//! Handles the person's questions about permission rules and changes of them, during a turn and without one.
//!
//! A change applies at once; whether it was saved is reported when the file has been written.

use serde_json::Value;

use super::driver::Agent;
use crate::permissions::store::SaveError;
use crate::permissions::{Store, names};
use crate::protocol::{KnownRule, NamedFile, RuleList, RulesCommand, SessionEvent, Source};
use crate::session::Record;

impl Agent {
    pub(super) fn handle_rules(&mut self, command: RulesCommand) {
        match command {
            RulesCommand::List => {
                let rules = self.shared().known_rules();
                self.journal().emit_session(SessionEvent::Rules(rules));
            }
            RulesCommand::Add { list, rule } => self.add_rule(list, rule.trim()),
            RulesCommand::Remove(rule) => self.remove_rule(&rule),
            RulesCommand::Test { tool, input } => self.test(tool, input),
        }
    }

    /// Says what would be decided about a call. Runs in a task, because it may have to ask git.
    fn test(&self, tool: String, input: Value) {
        let (context, replies) = (self.conversation.context().clone(), self.replies.clone());
        tokio::spawn(async move {
            let text = match context.judge(&tool, &input).await {
                Some(verdict) => format!("{tool}: {}", verdict.summary()),
                None => format!("no tool named {tool}; see /tools"),
            };
            // The agent may have ended.
            let _ = replies.send(Record::Reply { text });
        });
    }

    fn add_rule(&mut self, list: RuleList, rule: &str) {
        if let Some(problem) = self.mistyped(rule) {
            self.journal()
                .notice(format!("not saved: the rule `{rule}` {problem}"));
            return;
        }
        let source = self.shared().rules_source();
        let added = self.shared().add_rule(list, rule, &source);
        self.conversation.context().follow_policy();
        let text = match added {
            Err(problem) => {
                self.journal().notice(problem);
                return;
            }
            Ok(Some(warning)) => format!("{}; saved in {source}", warning.0),
            Ok(None) => format!("{} {rule}: saved in {source}", list.name()),
        };
        let rule = rule.to_owned();
        self.write_rules(text, move |store| store.save(list, &rule));
    }

    /// Says so if the rule's tool is unknown and looks like a typing mistake.
    fn mistyped(&self, rule: &str) -> Option<String> {
        let tool = rule.split('(').next().unwrap_or_default();
        let tools = self.conversation.context().tools.snapshot();
        let is_known = tools.find_or_deferred(tool).is_some();
        names::mistyped(tool).filter(|_| !is_known)
    }

    fn remove_rule(&mut self, rule: &KnownRule) {
        if !self.shared().remove_rule(rule) {
            self.journal()
                .notice(format!("that rule no longer exists: {}", rule.rule));
            return;
        }
        self.conversation.context().follow_policy();
        let text = format!(
            "{} {}: removed from {}",
            rule.list.name(),
            rule.rule,
            rule.from
        );
        let Source::File(NamedFile { path: file, .. }) = rule.from.clone() else {
            let text = format!("{text} (until you quit)");
            self.journal().append(Record::Reply { text });
            return;
        };
        let (list, rule) = (rule.list, rule.rule.clone());
        self.write_rules(text, move |store| store.remove_from(&file, list, &rule));
    }

    fn write_rules(
        &mut self,
        text: String,
        write: impl FnOnce(&Store) -> Result<(), SaveError> + Send + 'static,
    ) {
        let Some(store) = self.shared().store.clone() else {
            self.journal().notice(format!(
                "{text} (until you quit; rules are not saved in this run)"
            ));
            return;
        };
        let replies = self.replies.clone();
        tokio::spawn(async move {
            let written = tokio::task::spawn_blocking(move || write(&store)).await;
            let record = match written {
                Ok(Ok(())) => Record::Reply { text },
                Ok(Err(error)) => Record::Notice {
                    text: format!("{text}, but only until you quit: {error}"),
                },
                Err(_) => Record::Notice {
                    text: "the rule could not be saved".to_owned(),
                },
            };
            // The agent may have ended; the file has the rule.
            let _ = replies.send(record);
        });
    }
}
