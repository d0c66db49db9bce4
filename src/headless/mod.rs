//! `-p`: the same agent without a screen. Reads the same events, and prints them as text, json or stream-json.

mod lines;
pub mod output;

use std::collections::HashMap;
use std::io::{self, IsTerminal};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use self::lines::Named;
use self::output::Output;
use crate::agent::AgentHandle;
use crate::process::signals::{Signal, Signals};
use crate::process::stderr::print_message;
use crate::protocol::{
    AgentEvent, AgentId, Block, CallEvent, CallRef, Command, Ending, Envelope, McpServerStatus,
    Mode, SessionCommand, SessionEvent, TurnCommand, TurnEvent, TurnSummary, WireId,
};
use crate::text::clean;

/// How long the agent has to stop running calls at the end. Longer than a call's own grace period.
const LAST_GRACE: Duration = Duration::from_secs(6);

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum OutputFormat {
    Text,
    Json,
    StreamJson,
}

pub struct Run {
    pub format: OutputFormat,
    pub prompt: String,
    pub cwd: std::path::PathBuf,
    pub mode: Mode,
}

/// How the run ended, for the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Done,
    Failed,
    Interrupted,
    /// The reader has closed the output.
    OutputClosed,
    Ended(Signal),
}

impl Exit {
    pub fn code(self) -> u8 {
        match self {
            Exit::Done | Exit::OutputClosed => 0,
            Exit::Failed => 1,
            Exit::Interrupted => 130,
            Exit::Ended(signal) => signal.exit_code(),
        }
    }
}

/// Sends the prompt, prints the events, and waits until everything has ended.
pub async fn run(mut agent: AgentHandle, run: Run, output: Output, mut signals: Signals) -> Exit {
    let mut printer = Printer::new(run, output);
    printer.submit(&agent);
    let mut max_wait = ReceivedSignals::default();
    let exit = loop {
        tokio::select! {
            biased;
            signal = signals.next() => {
                if let Some(exit) = max_wait.receive(signal, &agent) {
                    break exit;
                }
            }
            () = max_wait.over() => break max_wait.exit(Exit::Failed),
            arrival = next_event(&mut printer.output, &mut agent.events) => match arrival {
                Arrival::OutputClosed => break Exit::OutputClosed,
                Arrival::AgentEnded => break internal_error(),
                Arrival::Event(event) => if let Some(exit) = printer.print(*event) {
                    break max_wait.exit(exit);
                },
            },
        }
    };
    let written = tokio::select! {
        written = printer.output.finish() => written,
        // A reader that does not read must not keep the program from ending.
        signal = signals.next() => return end(agent, Exit::Ended(signal)).await,
    };
    let exit = end(agent, exit).await;
    match written {
        Err(error) if matches!(exit, Exit::Done | Exit::OutputClosed) => write_failed(&error),
        Ok(()) | Err(_) => exit,
    }
}

/// What the run waits for.
enum Arrival {
    Event(Box<AgentEvent>),
    AgentEnded,
    /// The reader has closed the output, or writing failed; the reason is reported at the end.
    OutputClosed,
}

/// The next event, once there is space to print it. Cancel-safe.
async fn next_event(output: &mut Output, events: &mut mpsc::Receiver<Envelope>) -> Arrival {
    let Output { lines, closed, .. } = output;
    let event = async {
        if !output::has_room(lines.as_ref()).await {
            return Arrival::OutputClosed;
        }
        let envelope = events.recv().await;
        envelope.map_or(Arrival::AgentEnded, |envelope| {
            Arrival::Event(Box::new(envelope.event))
        })
    };
    tokio::select! {
        biased;
        Ok(()) = closed => Arrival::OutputClosed,
        arrival = event => arrival,
    }
}

/// Lets the agent stop what is running.
async fn end(agent: AgentHandle, exit: Exit) -> Exit {
    if exit != Exit::Done {
        agent.stop();
    }
    agent.end(LAST_GRACE).await;
    exit
}

/// Which signals have arrived so far.
#[derive(Default)]
struct ReceivedSignals {
    interrupts: u32,
    end: Option<(Signal, Instant)>,
}

impl ReceivedSignals {
    /// Forwards a signal to the agent. Returns an exit when there is nothing more to wait for.
    fn receive(&mut self, signal: Signal, agent: &AgentHandle) -> Option<Exit> {
        let _ = agent.commands.send(Command::Turn(TurnCommand::Interrupt));
        match signal {
            Signal::Interrupt => {
                self.interrupts += 1;
                (self.interrupts > 2).then_some(Exit::Interrupted)
            }
            Signal::Terminate | Signal::HangUp | Signal::Quit | Signal::Other(_)
                if self.end.is_some() =>
            {
                Some(Exit::Ended(signal))
            }
            Signal::Terminate | Signal::HangUp | Signal::Quit | Signal::Other(_) => {
                let _ = agent.commands.send(Command::Turn(TurnCommand::Interrupt));
                self.end = Some((signal, Instant::now() + LAST_GRACE));
                None
            }
        }
    }

    async fn over(&self) {
        match self.end {
            Some((_, at)) => sleep_until(at).await,
            None => std::future::pending().await,
        }
    }

    fn exit(&self, otherwise: Exit) -> Exit {
        self.end
            .map_or(otherwise, |(signal, _)| Exit::Ended(signal))
    }
}

struct Printer {
    run: Run,
    session: String,
    /// The running calls.
    calls: HashMap<CallRef, Named>,
    /// The call that started each subagent.
    parents: HashMap<AgentId, WireId>,
    output: Output,
}

impl Printer {
    fn new(run: Run, output: Output) -> Self {
        Self {
            run,
            session: String::new(),
            calls: HashMap::new(),
            parents: HashMap::new(),
            output,
        }
    }

    fn submit(&mut self, agent: &AgentHandle) {
        let prompt = std::mem::take(&mut self.run.prompt);
        let _ = agent
            .commands
            .send(Command::Session(SessionCommand::Submit(vec![Block::text(
                prompt,
            )])));
    }

    fn print(&mut self, event: AgentEvent) -> Option<Exit> {
        let streams = self.run.format == OutputFormat::StreamJson;
        match event {
            AgentEvent::Session(event) => self.print_session(event),
            AgentEvent::Turn(turn, TurnEvent::Finished(summary)) => {
                // The end of a subagent only ends the call that started it.
                return turn.agent.is_main().then(|| self.finish(&summary));
            }
            AgentEvent::Turn(_, TurnEvent::Retrying { problem, wait, .. }) if !streams => {
                print_message(&format!(
                    "note: {problem}; retrying in {:.1} s",
                    wait.as_secs_f64()
                ));
            }
            AgentEvent::Turn(turn, event) => {
                let parent = self.parents.get(&turn.agent);
                if streams && let Some(line) = lines::turn(&event, parent, &self.session) {
                    self.output.json(&line);
                }
            }
            AgentEvent::Call { call, at, event } => {
                if streams {
                    self.print_call(call, at, &event);
                }
            }
        }
        None
    }

    fn print_session(&mut self, event: SessionEvent) {
        match event {
            SessionEvent::Opened(opened) => {
                self.session.clone_from(&opened.session.0);
                for problem in opened.servers.iter().filter_map(McpServerStatus::problem) {
                    print_message(&format!("note: {problem}"));
                }
                if self.run.format == OutputFormat::StreamJson {
                    let line = lines::init(&opened, &self.run.cwd, self.run.mode);
                    self.output.json(&line);
                }
            }
            SessionEvent::Notice(text) => print_message(&format!("note: {text}")),
            // Without a screen nobody changes the mode, takes messages back or asks. A notice also reports whether
            // the session is saved. Past runs are only for readers that show them.
            SessionEvent::RunBegan { .. }
            | SessionEvent::ModeIs(_)
            | SessionEvent::Renamed(_)
            | SessionEvent::TakenBack(_)
            | SessionEvent::Reply(_)
            | SessionEvent::Saving(_)
            | SessionEvent::Tools(_)
            | SessionEvent::Commands(_)
            | SessionEvent::Rules(_)
            | SessionEvent::Agents(_)
            | SessionEvent::Skills(_)
            | SessionEvent::Hooks(_)
            | SessionEvent::Mcp(_) => {}
        }
    }

    /// Prints what happens to a call of the model. Without a screen there are no others.
    fn print_call(&mut self, call: CallRef, at: Duration, event: &CallEvent) {
        if let CallEvent::Queued {
            tool,
            wire: Some(wire),
            ..
        } = event
        {
            let (wire, tool) = (wire.clone(), tool.clone());
            let parent = self.parents.get(&call.agent).cloned();
            self.calls.insert(call, Named { wire, tool, parent });
        }
        if let (CallEvent::Started(subagent), Some(named)) = (event, self.calls.get(&call)) {
            self.parents.insert(subagent.agent, named.wire.clone());
        }
        let named = self.calls.get(&call);
        let line = named.and_then(|named| lines::call(named, at, event, &self.session));
        if let Some(line) = line {
            self.output.json(&line);
        }
        if *event == CallEvent::Yielded {
            self.calls.remove(&call);
        }
    }

    fn finish(&mut self, summary: &TurnSummary) -> Exit {
        match self.run.format {
            OutputFormat::Text => {
                let text = summary.text.trim_end();
                if !text.is_empty() {
                    // A terminal would interpret control characters; a pipe only passes them on.
                    let shown = io::stdout().is_terminal().then(|| clean(text));
                    self.output.line(shown.unwrap_or_else(|| text.to_owned()));
                }
                explain(&summary.ending);
            }
            OutputFormat::Json | OutputFormat::StreamJson => {
                let line = lines::result(summary, &self.session);
                self.output.json(&line);
            }
        }
        match summary.ending {
            Ending::Done => Exit::Done,
            Ending::Interrupted => Exit::Interrupted,
            Ending::MaxTurns | Ending::Failed { .. } => Exit::Failed,
        }
    }
}

fn write_failed(error: &io::Error) -> Exit {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return Exit::OutputClosed;
    }
    print_message(&format!("error: can't write the output: {error}"));
    Exit::Failed
}

fn internal_error() -> Exit {
    print_message("error: internal error; the conversation so far is saved");
    print_message(
        "hint: resume with --continue; `logs/panic.log` in the data directory may say more",
    );
    Exit::Failed
}

fn explain(ending: &Ending) {
    match ending {
        Ending::Done => {}
        Ending::MaxTurns => {
            print_message("error: turn limit reached (--max-turns or `maxTurns`)");
            print_message(
                "hint: `agent-tui -p --continue \"continue\"` resumes it; or allow more turns",
            );
        }
        Ending::Interrupted => print_message("interrupted"),
        Ending::Failed { problem, hint } => {
            print_message(&format!("error: {problem}"));
            if let Some(hint) = hint {
                print_message(&format!("hint: {hint}"));
            }
        }
    }
}
