//! The agent's task: runs the person's conversation, and waits at the same time for the person, asides and subagents.

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::Setup;
use super::asides::Asides;
use super::extending::Expanding;
use super::subagents::{Kit, Subagents};
use crate::config::logged;
use crate::conversation::spending::Account;
use crate::conversation::{Conversation, Journal, Parts};
use crate::executor::pipeline::Report;
use crate::executor::{Asking, Context, Shared};
use crate::hooks;
use crate::protocol::event::SessionOpened;
use crate::protocol::{
    AgentId, Block, CallEvent, CallRef, Command, Ending, HookInfo, Leaving, SessionEvent, Told,
};
use crate::session::Record;
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
    pub(super) session: CancellationToken,
    /// The turn was asked to stop. Messages sent from then on are for the time after it.
    pub(super) stopping: bool,
    /// Nobody can send commands any more.
    is_disconnected: bool,
    pub(super) beginning: hooks::occasion::Source,
    pub(super) leaving: Option<Leaving>,
    /// A command of the person's own that has not become a message yet.
    pub(super) expanding: Option<Expanding>,
}

impl Agent {
    pub fn new(
        setup: Setup,
        inbox: mpsc::UnboundedReceiver<Command>,
        outbox: mpsc::Sender<Told>,
        session: CancellationToken,
    ) -> Self {
        let tools = setup.context.tools.watch();
        let kit = Kit::of(&setup, &outbox, &session);
        let opened = SessionOpened {
            session: setup.session.clone(),
            provider: setup.provider.name().to_owned(),
            model: setup.model.clone(),
            mode: setup.context.shared.mode(),
            branch: setup.branch,
            context_window: setup.context_window,
            spending: Account::after(setup.limits.price, setup.history.spending()).spending(),
            hooks: hooks_of(&setup.context),
            extensions: setup.context.shared.extensions(),
            tools: setup.context.tools.snapshot().infos(),
            past: setup.past,
        };
        let asides = Asides::new(setup.context.clone(), &session, &setup.history);
        let is_kept = setup.log.is_kept();
        let (mode, path) = (opened.mode.name(), setup.log.path());
        let path = logged(path.display());
        let messages = setup.history.messages().len();
        tracing::info!(session = %setup.session, log = %path, mode, messages, "session opened");
        let subagents = Subagents::new(kit, setup.orders, setup.subagents.last);
        let mut journal = Journal::new(setup.log, AgentId::MAIN, setup.history);
        journal.tell_session(SessionEvent::Opened(opened));
        if !is_kept {
            let nowhere = Err("no directory to save it in".to_owned());
            journal.tell_session(SessionEvent::Saving(nowhere));
        }
        for notice in setup.notices {
            journal.remark(notice);
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
            retry: setup.retry,
            max_output_tokens: setup.max_output_tokens,
            session: setup.session.0,
            journal,
            events: outbox,
            token: session.clone(),
        });
        let (replies, came) = mpsc::unbounded_channel();
        let mut agent = Self {
            conversation,
            asides,
            subagents,
            tools,
            inbox,
            replies,
            replied: came,
            session,
            stopping: false,
            is_disconnected: false,
            beginning: setup.beginning,
            leaving: None,
            expanding: None,
        };
        agent.pass_on_asides();
        agent.remember_subagents(setup.subagents.background);
        agent
    }

    /// Answers messages until nobody can send any more.
    pub async fn run(mut self) {
        self.conversation.tell().await;
        self.begin_session();
        if self.shared().asking == Asking::Person && self.conversation.reopen() {
            self.exchange().await;
        }
        while !self.is_disconnected {
            let Some(prompt) = self.next_prompt().await else {
                break;
            };
            match self.command_in(&prompt) {
                Some((command, arguments)) => self.begin_command(&command, &arguments),
                None => self.conversation.begin(prompt),
            }
            self.exchange().await;
        }
        self.asides.end(&mut self.conversation.journal).await;
        self.end_subagents().await;
        self.end_session().await;
        self.journal().make_sure();
        self.conversation.tell().await;
        self.shared().env.groups.end().await;
    }

    /// The next message: a queued one, or one that the person writes now. In the meantime only asides and background
    /// work run. `None` once nobody can send messages any more.
    async fn next_prompt(&mut self) -> Option<Vec<Block>> {
        if let Some(waiting) = self.conversation.queue().pop_front() {
            return Some(waiting);
        }
        let mut idle = std::pin::pin!(self.idle());
        let mut is_told = false;
        loop {
            let shared = self.conversation.context().shared.clone();
            tokio::select! {
                command = self.inbox.recv() => {
                    if let Some(prompt) = self.handle_command_when_idle(command?) {
                        return Some(prompt);
                    }
                }
                report = self.asides.next() => self.hear_aside(report),
                news = self.subagents.next() => self.hear_subagent(news),
                Some(record) = self.replied.recv() => {
                    self.journal().append(record);
                }
                (call, change) = shared.env.groups.jobs.next_change() => {
                    self.background_changed(call, change);
                }
                () = self.tools.wait() => self.tell_tools(),
                () = &mut idle, if !is_told => {
                    is_told = true;
                    self.notify_idle();
                }
            }
            self.conversation.tell().await;
        }
    }

    /// Brings the exchange that has begun to its end.
    async fn exchange(&mut self) {
        self.subagents.begin_turn();
        self.stopping = false;
        let ending = loop {
            // A tool must be announced before its calls.
            self.tell_tools();
            self.conversation.tell().await;
            let shared = self.conversation.context().shared.clone();
            tokio::select! {
                ending = self.conversation.next() => {
                    if let Some(ending) = ending {
                        break ending;
                    }
                }
                report = self.asides.next() => self.hear_aside(report),
                news = self.subagents.next() => self.hear_subagent(news),
                Some(record) = self.replied.recv() => {
                    self.journal().append(record);
                }
                (call, change) = shared.env.groups.jobs.next_change() => {
                    self.background_changed(call, change);
                }
                () = self.tools.wait() => {}
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
        let goes_on = self.stopping || matches!(ending, Ending::Done | Ending::Interrupted);
        self.conversation.finish(ending).await;
        if !goes_on {
            // After a failure the next message would probably fail too: the person decides.
            self.give_back();
            self.conversation.tell().await;
        }
    }

    fn tell_tools(&mut self) {
        if let Some(offered) = self.tools.news() {
            let tools = SessionEvent::Tools(offered.infos());
            self.journal().tell_session(tools);
        }
    }

    fn background_changed(&mut self, call: CallRef, change: Change) {
        match change {
            Change::Printed(printed) => {
                self.journal().tell_call(call, CallEvent::Progress(printed));
            }
            Change::Ended(status) => {
                if let Some(how) = status.end() {
                    self.journal().append(Record::BackgroundEnded { call, how });
                }
            }
        }
    }

    fn hear_aside(&mut self, report: Report) {
        self.notify_asked(&report);
        let spent = report.spent();
        let part = self.asides.handle(report, &mut self.conversation.journal);
        for spending in spent {
            self.conversation.count_other(&spending);
        }
        self.pass_on_asides();
        if let Some((call, result)) = part {
            self.hear_part(call, result);
        }
    }

    /// Adds what the person ran to the next message for the model.
    fn pass_on_asides(&mut self) {
        for note in self.asides.take_untold() {
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

fn hooks_of(context: &Context) -> Vec<HookInfo> {
    let active = context.shared.hooks.as_ref().map(hooks::Runner::active);
    let active = active.unwrap_or_default();
    let info = active.hooks.iter().map(|hook| HookInfo {
        event: hook.event.name(),
        matcher: hook.matcher.text().to_owned(),
        command: hook.command.clone(),
        origin: hook.origin.clone(),
    });
    info.collect()
}
