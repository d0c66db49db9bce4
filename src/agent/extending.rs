//! Custom commands: what the person types becomes a message once its commands have run and its files were read.
//!
//! These parts are asides with the authority of the model: rules and the person decide about them as about any call.
//! If one does not run, nothing is sent.

use std::sync::Arc;

use super::driver::Agent;
use crate::protocol::{Block, CallRef, CustomCommand, Extensions, SessionEvent};
use crate::tools::inner::PartResult;
use crate::tools::skill::with_folder;
use crate::tools::template::Template;

/// A command whose parts are running.
pub(super) struct Expanding {
    /// As the person typed it.
    line: String,
    template: Template,
    parts: Vec<Part>,
}

struct Part {
    call: CallRef,
    subject: String,
    output: Option<String>,
}

impl Agent {
    /// The command of the person's own that a message is, with its arguments.
    pub(super) fn command_in(&mut self, message: &[Block]) -> Option<(CustomCommand, String)> {
        // Its file may have changed since it was typed.
        if matches!(message, [Block::Text { text, .. }] if text.trim_start().starts_with('/')) {
            self.conversation.refresh_extensions();
        }
        self.shared().typed_command(message)
    }

    /// Begins the turn of a command; the message is sent when all of its parts are complete.
    pub(super) fn begin_command(&mut self, command: &CustomCommand, arguments: &str) {
        self.conversation.open(command.model.clone());
        let context = self.conversation.context().clone();
        context.allow_for_turn(&match &command.skill {
            Some(folder) => with_folder(&command.allows, folder),
            None => command.allows.clone(),
        });
        let line = format!("/{} {arguments}", command.name);
        let mut expanding = Expanding {
            line: line.trim_end().to_owned(),
            template: Template::new(command, arguments, &context.cwd()),
            parts: Vec::new(),
        };
        let offered = context.tools.snapshot();
        for part in expanding.template.parts() {
            if offered.find(part.tool).is_none() {
                let problem = format!("{} is not available here", part.tool);
                return self.not_sent(&expanding, &part.subject, &problem);
            }
            let journal = &mut self.conversation.journal;
            expanding.parts.push(Part {
                call: self
                    .asides
                    .start_part(part.tool, part.input.into(), journal),
                subject: part.subject,
                output: None,
            });
        }
        self.expanding = Some(expanding);
        self.send_if_filled();
    }

    /// A part of the command is complete, or did not run.
    pub(super) fn on_part_result(&mut self, call: CallRef, result: PartResult) {
        let Some(mut expanding) = self.expanding.take() else {
            return;
        };
        let part = expanding.parts.iter_mut().find(|part| part.call == call);
        match (part, result) {
            (Some(part), Ok(output)) => part.output = Some(output),
            (Some(part), Err(problem)) => {
                let subject = part.subject.clone();
                return self.not_sent(&expanding, &subject, &problem);
            }
            (None, _) => {}
        }
        self.expanding = Some(expanding);
        self.send_if_filled();
    }

    fn send_if_filled(&mut self) {
        let Some(expanding) = &self.expanding else {
            return;
        };
        let outputs = expanding.parts.iter().map(|part| part.output.clone());
        let Some(outputs) = outputs.collect::<Option<Vec<String>>>() else {
            return;
        };
        let text = expanding.template.filled(&outputs);
        let message = Block::text(text).shown_as(&expanding.line);
        self.expanding = None;
        self.conversation.prompt(vec![message]);
    }

    fn not_sent(&mut self, expanding: &Expanding, subject: &str, problem: &str) {
        for part in &expanding.parts {
            self.asides
                .cancel(part.call, &mut self.conversation.journal);
        }
        let problem = format!("{} needs `{subject}`: {problem}", expanding.line);
        self.conversation.refuse(problem);
    }

    /// Checks whether extension files have changed, and reports their problems.
    pub(super) fn refresh_extensions(&mut self) -> Arc<Extensions> {
        self.conversation.refresh_extensions();
        self.shared().extensions()
    }

    pub(super) fn list_agents(&mut self) {
        let agents = self.refresh_extensions().agents.clone();
        self.journal().emit_session(SessionEvent::Agents(agents));
    }

    pub(super) fn list_skills(&mut self) {
        let skills = self.refresh_extensions().skills.clone();
        self.journal().emit_session(SessionEvent::Skills(skills));
    }
}
