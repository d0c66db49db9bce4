//! Restores the terminal and ends the commands even if the program can't: after an abort, a failed allocation or `kill
//! -9`.
//!
//! A second, tiny process reads from a pipe whose other end only this program holds. Through it the program reports
//! what it has changed in the terminal. If the pipe closes before the guard was ended, the program is gone: the guard
//! restores the terminal, says how to resume, and kills the remaining commands. Without a screen the guard is only
//! started with the first command, and only looks after commands.
//!
//! The guard is this program again, under another name and with an empty environment. It leads its own session, so that
//! signals for the program's group don't reach it, and it may set the modes of a terminal that belongs to a shell
//! again. While it waits it is a shell, which takes a quarter of the memory.

use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, PipeWriter, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::termios::{
    ControlModes, InputModes, LocalModes, OptionalActions, OutputModes, SpecialCodeIndex, Termios,
    tcgetattr, tcsetattr,
};

use super::terminal;
use crate::process::{running, stragglers};

/// The guard's process name. It differs from the program's, so that killing the program by name does not kill the guard.
const NAME: &str = "terminal-guard";

/// Tells the guard that the program is gone, and what to repair: the last line of the pipe.
const REPAIR: &str = "AGENT_TUI_REPAIR";

const SHELL: &str = "/bin/sh";

/// Reads the pipe until it closes. A line that was cut off is ignored. `$1` is this program, as an open file: it stays
/// the same one if another version is installed meanwhile.
const WAIT: &str = r#"AGENT_TUI_REPAIR=
while IFS= read -r line; do AGENT_TUI_REPAIR=$line; done
export AGENT_TUI_REPAIR
exec "$1""#;

static GUARD: Mutex<Guard> = Mutex::new(Guard {
    state: GuardState {
        change: TerminalChange::Nothing,
        modes: String::new(),
        session: String::new(),
        mark: String::new(),
    },
    link: Link::None,
});

struct Guard {
    state: GuardState,
    link: Link,
}

enum Link {
    None,
    Running(PipeWriter, Child),
    /// The program ends normally.
    Over,
}

/// What the program has changed in the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TerminalChange {
    #[default]
    Nothing,
    /// Its modes; the normal screen is shown.
    Modes,
    /// Its modes, and the alternate screen is shown.
    Screen,
}

/// Everything that the guard must know. One line of the pipe.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct GuardState {
    change: TerminalChange,
    /// The modes to restore; see [`write_modes`].
    modes: String,
    session: String,
    /// The prefix of the commands' marks.
    mark: String,
}

/// Reports what the program has changed in a terminal that was in these modes before.
pub fn report_change(change: TerminalChange, before: &Termios) {
    update(|state| {
        state.change = change;
        state.modes = write_modes(before);
    });
}

pub fn session_is(id: &str) {
    update(|state| id.clone_into(&mut state.session));
}

/// Starts the guard of the terminal and of the commands, without waiting for it.
pub fn start() {
    let builder = std::thread::Builder::new().name("guard".into());
    let _ = builder.spawn(|| {
        start_with(|command| {
            let terminal = io::stdout().as_fd().try_clone_to_owned()?;
            // For the modes: they belong to the terminal that is read from.
            let modes = io::stdin().as_fd().try_clone_to_owned()?;
            command.stdout(terminal).stderr(modes);
            Ok(())
        });
    });
}

/// Starts the guard right before the first command: a later guard would miss a command if the program is killed at
/// once. It holds none of the program's streams, so that a reader of those doesn't wait for the guard.
pub fn guard_commands() {
    running::guard_with(|| {
        start_with(|command| {
            command.stdout(Stdio::null()).stderr(Stdio::null());
            Ok(())
        });
    });
}

/// If it cannot be started, everything else works.
fn start_with(streams: fn(&mut Command) -> io::Result<()>) {
    let starting = running::starting();
    let spawned = spawn(streams);
    drop(starting);
    let Ok((mut pipe, mut child)) = spawned else {
        return;
    };
    let mut guard = lock();
    guard.state.mark = stragglers::mark_of_program();
    if let Link::None = guard.link {
        let _ = pipe.write_all(guard.state.line().as_bytes());
        guard.link = Link::Running(pipe, child);
    } else {
        end_child(&mut child);
    }
}

/// Ends the guard: the program has cleaned up by itself.
pub fn end() {
    let link = std::mem::replace(&mut lock().link, Link::Over);
    if let Link::Running(_pipe, mut child) = link {
        end_child(&mut child);
    }
}

/// It may be stopped, and would not notice that its pipe is closed.
fn end_child(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

fn update(change: impl FnOnce(&mut GuardState)) {
    let mut guard = lock();
    change(&mut guard.state);
    let line = guard.state.line();
    if let Link::Running(pipe, _) = &mut guard.link {
        // If the guard is gone, there is nothing to tell.
        let _ = pipe.write_all(line.as_bytes());
    }
}

fn lock() -> MutexGuard<'static, Guard> {
    GUARD.lock().unwrap_or_else(PoisonError::into_inner)
}

fn spawn(streams: fn(&mut Command) -> io::Result<()>) -> io::Result<(PipeWriter, Child)> {
    let (reader, pipe) = io::pipe()?;
    let mut command = Command::new(own_executable()?);
    command.arg0(NAME).env_clear().stdin(reader);
    streams(&mut command)?;
    Ok((pipe, command.spawn()?))
}

/// On Linux this works even if another version was installed meanwhile.
fn own_executable() -> io::Result<PathBuf> {
    if cfg!(target_os = "linux") {
        Ok(PathBuf::from("/proc/self/exe"))
    } else {
        std::env::current_exe()
    }
}

/// Runs the guard, if this process was started as one.
pub fn run_if_guard() -> Option<ExitCode> {
    if let Some(line) = std::env::var_os(REPAIR) {
        GuardState::read(&line.to_string_lossy())
            .unwrap_or_default()
            .repair();
        return Some(ExitCode::SUCCESS);
    }
    let name = std::env::args_os().next()?;
    (name == OsStr::new(NAME)).then(|| {
        watch();
        ExitCode::SUCCESS
    })
}

fn watch() {
    let _ = rustix::process::setsid();
    // It must not prevent a file system from being unmounted.
    let _ = std::env::set_current_dir("/");
    wait_as_shell();
    wait_here().repair();
}

/// Returns only if there is no shell.
fn wait_as_shell() {
    #[cfg(target_os = "linux")]
    if let Ok(file) = std::fs::File::open("/proc/self/exe")
        && let Ok(inherited) = rustix::io::dup(&file)
    {
        let program = format!(
            "/proc/self/fd/{}",
            std::os::fd::AsRawFd::as_raw_fd(&inherited)
        );
        let mut shell = Command::new(SHELL);
        let _ = shell.args(["-c", WAIT, NAME, &program]).exec();
    }
}

fn wait_here() -> GuardState {
    let mut state = GuardState::default();
    for line in BufReader::with_capacity(1024, io::stdin()).lines() {
        let Ok(line) = line else { break };
        state = GuardState::read(&line).unwrap_or(state);
    }
    state
}

impl GuardState {
    fn line(&self) -> String {
        let change = match self.change {
            TerminalChange::Nothing => "nothing",
            TerminalChange::Modes => "modes",
            TerminalChange::Screen => "screen",
        };
        let Self {
            modes,
            session,
            mark,
            ..
        } = self;
        format!("{change}\t{modes}\t{session}\t{mark}\n")
    }

    /// `None` for a line that was cut off.
    fn read(line: &str) -> Option<Self> {
        let fields: Vec<&str> = line.split('\t').collect();
        let [change, modes, session, mark] = fields[..] else {
            return None;
        };
        Some(Self {
            change: match change {
                "nothing" => TerminalChange::Nothing,
                "modes" => TerminalChange::Modes,
                "screen" => TerminalChange::Screen,
                _ => return None,
            },
            modes: modes.to_owned(),
            session: session.to_owned(),
            mark: mark.to_owned(),
        })
    }

    fn repair(&self) {
        if self.change == TerminalChange::Screen {
            terminal::write_message(terminal::SCREEN_OFF);
        }
        if self.change != TerminalChange::Nothing {
            self.restore_modes();
            terminal::write_message(&self.message());
        }
        if !self.mark.is_empty() {
            stragglers::kill_all(&self.mark);
        }
    }

    /// Leaves a terminal alone if the shell has already set its modes.
    fn restore_modes(&self) {
        if let Ok(mut modes) = tcgetattr(io::stderr())
            && !terminal::has_lines(&modes)
            && !modes.output_modes.contains(OutputModes::OPOST)
            && read_modes(&self.modes, &mut modes).is_some()
        {
            let _ = tcsetattr(io::stderr(), OptionalActions::Now, &modes);
        }
    }

    fn message(&self) -> String {
        let what = "error: agent-tui crashed or was killed before it could clean up";
        match self.session.as_str() {
            "" => format!("{what}\r\n"),
            id => format!(
                "{what}\r\nhint: the conversation is saved; resume with `agent-tui --resume {id}`\r\n"
            ),
        }
    }
}

const CODES: [SpecialCodeIndex; 16] = [
    SpecialCodeIndex::VINTR,
    SpecialCodeIndex::VQUIT,
    SpecialCodeIndex::VERASE,
    SpecialCodeIndex::VKILL,
    SpecialCodeIndex::VEOF,
    SpecialCodeIndex::VTIME,
    SpecialCodeIndex::VMIN,
    SpecialCodeIndex::VSTART,
    SpecialCodeIndex::VSTOP,
    SpecialCodeIndex::VSUSP,
    SpecialCodeIndex::VEOL,
    SpecialCodeIndex::VREPRINT,
    SpecialCodeIndex::VDISCARD,
    SpecialCodeIndex::VWERASE,
    SpecialCodeIndex::VLNEXT,
    SpecialCodeIndex::VEOL2,
];

/// The modes as numbers, as `stty -g` prints them.
fn write_modes(modes: &Termios) -> String {
    let flags = [
        format!("{:x}", modes.input_modes.bits()),
        format!("{:x}", modes.output_modes.bits()),
        format!("{:x}", modes.control_modes.bits()),
        format!("{:x}", modes.local_modes.bits()),
    ];
    let codes = CODES.map(|code| format!("{:x}", modes.special_codes[code]));
    let all: Vec<String> = flags.into_iter().chain(codes).collect();
    all.join(":")
}

/// Sets what [`write_modes`] has written. `None` for anything else, and then nothing is set.
fn read_modes(text: &str, modes: &mut Termios) -> Option<()> {
    let numbers = text.split(':').map(|field| u64::from_str_radix(field, 16));
    let numbers: Vec<u64> = numbers.collect::<Result<_, _>>().ok()?;
    let ([input, output, control, local], codes) = numbers.split_first_chunk()?;
    let codes = codes.iter().map(|code| u8::try_from(*code));
    let codes: Vec<u8> = codes.collect::<Result<_, _>>().ok()?;
    if codes.len() != CODES.len() {
        return None;
    }
    let mut read = modes.clone();
    read.input_modes = InputModes::from_bits_retain((*input).try_into().ok()?);
    read.output_modes = OutputModes::from_bits_retain((*output).try_into().ok()?);
    read.control_modes = ControlModes::from_bits_retain((*control).try_into().ok()?);
    read.local_modes = LocalModes::from_bits_retain((*local).try_into().ok()?);
    for (index, code) in CODES.into_iter().zip(codes) {
        read.special_codes[index] = code;
    }
    *modes = read;
    Some(())
}

#[cfg(test)]
mod tests {
    use super::{GuardState, TerminalChange, read_modes, write_modes};

    #[test]
    fn messages_to_the_guard_arrive_and_half_a_line_changes_nothing() {
        let state = GuardState {
            change: TerminalChange::Screen,
            modes: "1:2".into(),
            session: "20260101-x".into(),
            mark: "abc-".into(),
        };
        let line = state.line();
        assert_eq!(GuardState::read(line.trim_end()), Some(state));
        assert_eq!(GuardState::read(&line[..12]), None);
    }

    #[test]
    fn modes_are_transferred_and_nonsense_sets_nothing() {
        let pair = portable_pty::native_pty_system();
        let pair = pair.openpty(portable_pty::PtySize::default()).expect("pty");
        let name = pair.master.tty_name().expect("a name");
        let terminal = std::fs::File::open(name).expect("a terminal");
        let before = rustix::termios::tcgetattr(&terminal).expect("modes");
        let mut modes = before.clone();
        modes.make_raw();
        assert_eq!(read_modes("1:2:zz", &mut modes), None);
        assert_eq!(read_modes("1:2:3:4:5", &mut modes), None);
        assert_ne!(write_modes(&modes), write_modes(&before));
        read_modes(&write_modes(&before), &mut modes).expect("read");
        assert_eq!(write_modes(&modes), write_modes(&before));
    }
}
