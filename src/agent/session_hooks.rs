//! Runs the hooks of a session: at its start, at its end, and when it is idle.

use std::time::Duration;

use futures_util::FutureExt;
use tokio_util::sync::CancellationToken;

use super::driver::Agent;
use crate::executor::pipeline::Report;
use crate::hooks::payload::Notification;
use crate::hooks::{self, Event, Payload};
use crate::protocol::{HookInfo, LeaveReason, SessionEvent};

/// How long to wait at most for the hooks at the session's end: longer than their own limit, including the kill.
const LAST_WAIT: Duration = Duration::from_millis(1100);

impl Agent {
    /// The hooks of the settings as they are now.
    pub(super) fn list_hooks(&mut self) {
        for notice in self.shared().refresh() {
            self.journal().notice(notice);
        }
        let active = self.shared().hooks.as_ref().map(hooks::Runner::active);
        let active = active.unwrap_or_default();
        let infos = active.hooks.iter().map(|hook| HookInfo {
            event: hook.event.name(),
            matcher: hook.matcher.text().to_owned(),
            command: hook.command.clone(),
            origin: hook.origin.clone(),
        });
        let event = SessionEvent::Hooks(infos.collect());
        self.journal().emit_session(event);
    }

    /// Starts the hooks of the session's start. The first message waits for them; the person can type meanwhile.
    pub(super) fn begin_session(&mut self) {
        let payload = Payload::session_start(self.beginning, self.conversation.model());
        let hooks = self.conversation.hooks();
        let Some(asking) = hooks.fire(payload, self.session.child_token()) else {
            return;
        };
        let reporter = self.asides.reporter();
        let task = tokio::spawn(async move {
            let mut answer = asking.await;
            answer
                .notices
                .extend(answer.halt.map(|halt| halt.to_string()));
            for notice in answer.notices {
                // The receiver may be gone.
                let _ = reporter.send(Report::Notice(notice)).await;
            }
            answer.context
        });
        let context = async move { task.await.unwrap_or_default() };
        self.conversation.wait_for(context.boxed().shared());
    }

    /// Runs the hooks of the session's end. They cannot keep the program from ending.
    pub(super) async fn end_session(&mut self) {
        // Hooks of the session's start that still run are too late.
        self.session.cancel();
        let reason = match self.leaving {
            Some(LeaveReason::ForNew) => "clear",
            Some(LeaveReason::ForOther) => "resume",
            Some(LeaveReason::Quit) => "prompt_input_exit",
            None => "other",
        };
        let payload = Payload::session_end(reason);
        let hooks = self.conversation.hooks();
        if let Some(asking) = hooks.fire(payload, CancellationToken::new())
            && let Ok(answer) = tokio::time::timeout(LAST_WAIT, asking).await
        {
            self.journal().note(answer);
        }
    }

    /// Completes once nothing has happened for a while, if a hook wants to know.
    pub(super) fn idle(&self) -> impl Future<Output = ()> + use<> {
        let hooks = self.shared().hooks.as_ref();
        let wanted = hooks.filter(|hooks| hooks.wants(Event::Notification, "idle_prompt"));
        let after = wanted.map(|hooks| hooks.idle_after);
        async move {
            match after {
                Some(after) => tokio::time::sleep(after).await,
                None => std::future::pending().await,
            }
        }
    }

    pub(super) fn notify_idle(&self) {
        self.notify(
            Notification::IdlePrompt,
            "agent-tui is waiting for your input",
        );
    }

    /// Tells hooks that a call waits for the person's answer.
    pub(super) fn notify_asked(&self, report: &Report) {
        if let Report::Asked(question, _) = report {
            let (kind, message) = Notification::of_question(&question.kind);
            self.notify(kind, &message);
        }
    }

    fn notify(&self, kind: Notification, message: &str) {
        let (token, reporter) = (self.session.child_token(), self.asides.reporter());
        let hooks = self.conversation.hooks();
        hooks.notify(kind, message, token, reporter);
    }
}
