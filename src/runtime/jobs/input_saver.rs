//! Saves what the input keeps on disk, on one thread, so that an older draft never overwrites a newer one.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::sync::mpsc::UnboundedSender;

use crate::app::job::JobResult;
use crate::runtime::saved_input::SavedInput;

/// How long a slow disk may delay the program's end.
const LAST_WRITE: Duration = Duration::from_millis(300);

pub struct InputSaver {
    commands: Option<Sender<SaverCommand>>,
    thread: Option<JoinHandle<()>>,
}

pub enum SaverCommand {
    /// Read what earlier runs have saved.
    Load,
    Sent(String),
    Draft(String),
}

impl InputSaver {
    pub fn start(saved: SavedInput, done: UnboundedSender<JobResult>) -> Self {
        let (commands, inbox) = channel();
        let builder = std::thread::Builder::new().name("input-saver".into());
        // Without a thread nothing is saved, and everything else works.
        let thread = builder.spawn(move || carry_out(saved, &inbox, &done)).ok();
        Self {
            commands: Some(commands),
            thread,
        }
    }

    pub fn send(&self, command: SaverCommand) {
        if let Some(commands) = &self.commands {
            let _ = commands.send(command);
        }
    }

    /// Waits until everything is written.
    pub fn finish(&mut self) {
        self.commands = None;
        let Some(thread) = self.thread.take() else {
            return;
        };
        let until = Instant::now() + LAST_WRITE;
        while !thread.is_finished() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

fn carry_out(
    mut saved: SavedInput,
    commands: &Receiver<SaverCommand>,
    done: &UnboundedSender<JobResult>,
) {
    let mut reported = false;
    for command in commands {
        let result = match command {
            SaverCommand::Load => load(&mut saved, done),
            SaverCommand::Sent(text) => saved.add_to_history(&text),
            SaverCommand::Draft(text) => saved.keep_draft(&text),
        };
        // A full disk fails at every key; one report is enough.
        if let Err(error) = result
            && !std::mem::replace(&mut reported, true)
        {
            let problem = format!("your input history can't be saved: {error}");
            let _ = done.send(JobResult::Failed(problem));
        }
    }
}

fn load(saved: &mut SavedInput, done: &UnboundedSender<JobResult>) -> std::io::Result<()> {
    let history = saved.history()?;
    if !history.is_empty() {
        let _ = done.send(JobResult::History(history));
    }
    if let Some(draft) = saved.left_draft()? {
        let _ = done.send(JobResult::Draft(draft));
    }
    Ok(())
}
