//! The agent's task: runs the person's conversation, and waits at the same time for the person, asides and subagents.

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::Setup;
use super::asides::Asides;
use super::extending::Expanding;
use super::mcp::{Servers, statuses};
use super::subagents::{Dependencies, Subagents};
use crate::config::logged;
use crate::conversation::spending::Account;
use crate::conversation::{Conversation, Journal, Parts};
use crate::executor::pipeline::Report;
use crate::executor::{Asking, Shared};
use crate::hooks;
use crate::protocol::event::SessionOpened;
use crate::protocol::{
    AgentId, Block, CallEvent, CallRef, Command, Ending, Envelope, LeaveReason, SessionEvent,
};
use crate::session::Record;
use crate::session::subagents::PastSubagent;
use crate::tools::bash::jobs::Change;
use crate::tools::offered::Changes;

pub struct Agent {
    pub(super) conversation: Conversation,
    pub(super) asides: Asides,
    pub(super) subagents: Subagents,
    /// Changes of the offered tools that were not reported yet.
    tools: Changes,
    inbox: mpsc::UnboundedReceiver<Command>,
    /// Results of the person's rule commands, for the log: files are written outside of the turns.
    pub(super) replies: mpsc::UnboundedSender<Record>,
    replied: mpsc::UnboundedReceiver<Record>,
    pub(super) servers: Option<Servers>,
    pub(super) session: CancellationToken,
    /// The turn was asked to stop. Messages sent from then on are for the time after it.
    pub(super) stopping: bool,
    /// Nobody can send commands any more.
    is_disconnected: bool,
    pub(super) beginning: hooks::payload::Source,
    pub(super) leaving: Option<LeaveReason>,
    /// A command of the person's own that has not become a message yet.
    pub(super) expanding: Option<Expanding>,
    /// The background subagents of earlier runs, until the agent runs.
    past_subagents: Vec<PastSubagent>,
}

impl Agent {
    pub fn new(
        setup: Setup,
        inbox: mpsc::UnboundedReceiver<Command>,
        outbox: mpsc::Sender<Envelope>,
        session: CancellationToken,
    ) -> Self {
        let tools = setup.context.tools.watch();
        let dependencies = Dependencies::of(&setup, &outbox, &session);
        let opened = SessionOpened {
            session: setup.session.clone(),
            provider: setup.provider.name().to_owned(),
            model: setup.model.clone(),
            mode: setup.context.shared.mode(),
            branch: setup.branch,
            context_window: setup.context_window,
            spending: Account::after(setup.limits.price, setup.history.spending()).spending(),
            extensions: setup.context.shared.extensions(),
            tools: setup.context.tools.snapshot().infos(),
            servers: statuses(setup.servers.as_ref()),
            past: setup.past,
        };
        let asides = Asides::new(setup.context.clone(), &session, &setup.history);
        let is_kept = setup.log.has_file();
        let (mode, path) = (opened.mode.name(), setup.log.path());
        let path = logged(path.display());
        let messages = setup.history.messages().len();
        tracing::info!(session = %setup.session, log = %path, mode, messages, "session opened");
        let (last, asking) = (setup.subagents.last, setup.subagents.asking);
        let subagents = Subagents::new(dependencies, setup.start_requests, last, asking);
        let mut journal = Journal::new(setup.log, AgentId::MAIN, setup.history);
        journal.emit_session(SessionEvent::Opened(opened));
        if !is_kept {
            let nowhere = Err("no directory to save it in".to_owned());
            journal.emit_session(SessionEvent::Saving(nowhere));
        }
        for notice in setup.notices {
            journal.emit_notice(notice);
        }
        let conversation = Conversation::new(Parts {
            agent: AgentId::MAIN,
            kind: None,
            provider: setup.provider,
            model: setup.model,
            system: setup.system,
            context: setup.context,
            policy: setup.policy,
            limits: setup.limits,
            prices: setup.prices,
            retry: setup.retry,
            max_output_tokens: setup.max_output_tokens,
            session: setup.session.0,
            journal,
            events: outbox,
            token: session.clone(),
        });
        let (replies, received) = mpsc::unbounded_channel();
        Self {
            conversation,
            asides,
            subagents,
            tools,
            inbox,
            replies,
            replied: received,
            servers: setup.servers.map(Servers::new),
            session,
            stopping: false,
            is_disconnected: false,
            beginning: setup.beginning,
            leaving: None,
            expanding: None,
            past_subagents: setup.subagents.background,
        }
    }

    /// Answers messages until nobody can send any more.
    pub async fn run(mut self) {
        self.pass_on_asides();
        self.conversation.send_events().await;
        self.begin_servers();
        self.begin_session();
        if self.continue_earlier_run().await {
            self.exchange().await;
        }
        while !self.is_disconnected {
            let Some(prompt) = self.next_prompt().await else {
                break;
            };
            match self.command_in(&prompt) {
                Some((command, arguments)) if !self.fetch_prompt(&command, &arguments) => {
                    self.begin_command(&command, &arguments);
                }
                Some(_) => {}
                None if self.fetch_mentions(&prompt) => {}
                None => self.conversation.begin(prompt),
            }
            self.exchange().await;
        }
        self.asides.end(&mut self.conversation.journal).await;
        self.end_subagents().await;
        self.end_session().await;
        self.journal().ensure_saved();
        self.conversation.send_events().await;
        self.shared().env.groups.end().await;
    }

    /// Continues what an earlier run of the program has left while it waited for the person. Returns whether a turn
    /// continues.
    async fn continue_earlier_run(&mut self) -> bool {
        let past = std::mem::take(&mut self.past_subagents);
        self.remember_subagents(past);
        let (continues, cut_off) = match self.shared().asking {
            Asking::Person => {
                let asking = self.subagents.asking();
                let reopened = self.conversation.reopen(&asking).await;
                (reopened.continues, reopened.cut_off)
            }
            Asking::Nobody => {
                let unfinished = self.journal().history().unfinished();
                (false, unfinished.map_or(0, |it| it.open.len()))
            }
        };
        if cut_off > 0 {
            let text = format!("calls interrupted by the last exit (not re-run): {cut_off}");
            self.journal().emit_notice(text);
            self.conversation.send_events().await;
        }
        continues
    }

    /// The next message: a queued one, or one that the person writes now. In the meantime only asides and background
    /// work run. `None` once nobody can send messages any more.
    async fn next_prompt(&mut self) -> Option<Vec<Block>> {
        if let Some(waiting) = self.conversation.queue().pop_front() {
            return Some(waiting);
        }
        let mut idle = std::pin::pin!(self.idle());
        let mut notified = false;
        loop {
            let shared = self.conversation.context().shared.clone();
            tokio::select! {
                command = self.inbox.recv() => {
                    if let Some(prompt) = self.handle_command_when_idle(command?) {
                        return Some(prompt);
                    }
                }
                report = self.asides.next() => self.on_aside_report(report),
                message = self.subagents.next() => self.on_subagent_message(message),
                Some(record) = self.replied.recv() => {
                    self.journal().append(record);
                }
                (call, change) = shared.env.groups.jobs.next_change() => {
                    self.background_changed(call, change);
                }
                () = self.tools.wait() => self.report_tools(),
                message = Servers::next(self.servers.as_mut()) => self.on_server_update(message),
                () = &mut idle, if !notified => {
                    notified = true;
                    self.notify_idle();
                }
            }
            self.conversation.send_events().await;
        }
    }

    /// Brings the exchange that has begun to its end.
    async fn exchange(&mut self) {
        self.subagents.begin_turn();
        self.stopping = false;
        let ending = loop {
            // A tool must be announced before its calls.
            self.report_tools();
            self.conversation.send_events().await;
            let shared = self.conversation.context().shared.clone();
            tokio::select! {
                ending = self.conversation.next() => {
                    if let Some(ending) = ending {
                        break ending;
                    }
                }
                report = self.asides.next() => self.on_aside_report(report),
                message = self.subagents.next() => self.on_subagent_message(message),
                Some(record) = self.replied.recv() => {
                    self.journal().append(record);
                }
                (call, change) = shared.env.groups.jobs.next_change() => {
                    self.background_changed(call, change);
                }
                () = self.tools.wait() => {}
                message = Servers::next(self.servers.as_mut()) => self.on_server_update(message),
                command = self.inbox.recv(), if !self.is_disconnected => {
                    if let Some(command) = command {
                        self.handle_command(command);
                    } else {
                        // The receiver of the answer is gone.
                        self.is_disconnected = true;
                        self.interrupt();
                    }
                }
            }
        };
        self.expanding = None;
        self.forget_fetched();
        let continues = self.stopping || matches!(ending, Ending::Done | Ending::Interrupted);
        self.conversation.finish(ending).await;
        if !continues {
            // After a failure the next message would probably fail too: the person decides.
            self.return_queued();
            self.conversation.send_events().await;
        }
    }

    fn report_tools(&mut self) {
        if let Some(offered) = self.tools.unreported() {
            let tools = SessionEvent::Tools(offered.infos());
            self.journal().emit_session(tools);
        }
    }

    fn background_changed(&mut self, call: CallRef, change: Change) {
        match change {
            Change::Printed(printed) => {
                self.journal().emit_call(call, CallEvent::Progress(printed));
            }
            Change::Ended(status) => {
                if let Some(how) = status.end() {
                    self.journal().append(Record::BackgroundEnded { call, how });
                }
            }
        }
    }

    fn on_aside_report(&mut self, report: Report) {
        self.notify_asked(&report);
        let spent = report.spent();
        let part = self.asides.handle(report, &mut self.conversation.journal);
        for spending in spent {
            self.conversation.count_other(&spending);
        }
        self.pass_on_asides();
        if let Some((call, result)) = part {
            self.on_part_result(call, result);
        }
    }

    /// Adds what the person ran to the next message for the model.
    fn pass_on_asides(&mut self) {
        for note in self.asides.take_notes() {
            self.conversation.add_note(note);
        }
    }

    pub(super) fn journal(&mut self) -> &mut Journal {
        &mut self.conversation.journal
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.conversation.context().shared
    }
}
