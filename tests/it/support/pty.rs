//! The program in a terminal: a PTY that the test writes keys to, and a vt100 that shows what comes back.
//!
//! ```ignore
//! let mut tui = Pty::spawn(&["--provider", "builtin"], 80, 24);
//! tui.send("find *.rs\r").wait_for("main.rs");   // waits for output, never for time; on a timeout it prints the screen
//! let end = tui.send("\x03\x03").exit();
//! assert_eq!(end.code, 0);
//! ```
//!
//! Each has a home, a configuration and a workspace of its own ([`Program`]), and nothing of the machine's environment
//! but `PATH`. To prepare files first, make the [`Program`] and use [`Pty::spawn_in`]; for a model that says what the test
//! wants, [`script`].

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, ExitStatus, MasterPty, PtySize, native_pty_system};
use rustix::process::{Pid, Signal, kill_process};

use super::program::Program;
use super::server::{MAX_WAIT, wait_for_some};

pub struct Pty {
    program: Program,
    child: Box<dyn Child + Send + Sync>,
    terminal: Option<Terminal>,
    seen: Arc<Seen>,
    /// The terminal driver's modes before the program started.
    modes_before: String,
}

struct Terminal {
    master: Box<dyn MasterPty + Send>,
    keys: Box<dyn Write + Send>,
    reader: std::thread::JoinHandle<()>,
}

/// What the program has written.
struct Seen {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    parser: vt100::Parser,
    bytes: Vec<u8>,
    /// Read nothing more; see [`Pty::close`].
    closing: bool,
    /// Read nothing for now; see [`Pty::hold`].
    held: bool,
    over: bool,
}

/// How it ended.
pub struct End {
    pub code: u32,
    pub screen: vt100::Screen,
    /// Everything that it wrote.
    pub bytes: Vec<u8>,
    /// Whether the terminal driver's modes are as before: echo, line editing, signals.
    pub driver_as_before: bool,
    /// Whether no process has the terminal open any more.
    pub is_released: bool,
    pub took: Duration,
}

impl Pty {
    pub fn spawn(arguments: &[&str], columns: u16, rows: u16) -> Self {
        Self::spawn_in(Program::new(), arguments, columns, rows)
    }

    pub fn spawn_in(program: Program, arguments: &[&str], columns: u16, rows: u16) -> Self {
        Self::spawn_with(program, arguments, &[], columns, rows)
    }

    /// With more variables in its environment.
    pub fn spawn_with(
        program: Program,
        arguments: &[&str],
        environment: &[(&str, &str)],
        columns: u16,
        rows: u16,
    ) -> Self {
        let mut command = vec![env!("CARGO_BIN_EXE_agent-tui")];
        command.extend(arguments);
        Self::run(program, &command, environment, columns, rows)
    }

    /// Any command in the terminal: for example a shell that stops and continues the program.
    pub fn run(
        program: Program,
        command: &[&str],
        environment: &[(&str, &str)],
        columns: u16,
        rows: u16,
    ) -> Self {
        let size = size(columns, rows);
        let pair = native_pty_system().openpty(size).expect("a terminal");
        let mut builder = CommandBuilder::from_argv(command.iter().map(Into::into).collect());
        builder.env_clear();
        builder.cwd(program.workspace());
        let path = std::env::var("PATH").unwrap_or_default();
        builder.env("PATH", path);
        builder.env("TERM", "xterm-256color");
        builder.env("HOME", program.workspace().parent().expect("a home"));
        builder.env("AGENT_TUI_CONFIG_DIR", program.config());
        builder.env("AGENT_TUI_DATA_DIR", program.data());
        for (name, value) in environment {
            builder.env(name, value);
        }
        let modes_before = driver_modes(&*pair.master);
        let child = pair.slave.spawn_command(builder).expect("it starts");
        let seen = Arc::new(Seen {
            state: Mutex::new(State {
                parser: vt100::Parser::new(rows, columns, 0),
                bytes: Vec::new(),
                closing: false,
                held: false,
                over: false,
            }),
            changed: Condvar::new(),
        });
        let output = pair.master.try_clone_reader().expect("a reader");
        let watcher = seen.clone();
        let reader = std::thread::spawn(move || watch(output, &watcher));
        Self {
            program,
            child,
            terminal: Some(Terminal {
                keys: pair.master.take_writer().expect("a writer"),
                master: pair.master,
                reader,
            }),
            seen,
            modes_before,
        }
    }

    /// Its home and its workspace.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Takes its home, to start in it again.
    pub fn into_program(mut self) -> Program {
        std::mem::replace(&mut self.program, Program::new())
    }

    /// Types; `\r` is Enter, `\x1b` Esc, `\x03` Ctrl+C.
    pub fn send(&mut self, keys: impl AsRef<[u8]>) -> &mut Self {
        let terminal = self.terminal.as_mut().expect("the terminal is open");
        terminal.keys.write_all(keys.as_ref()).expect("it reads");
        terminal.keys.flush().expect("it reads");
        self
    }

    /// Pastes as terminals do.
    pub fn paste(&mut self, text: &str) -> &mut Self {
        self.send(format!("\x1b[200~{text}\x1b[201~"))
    }

    /// Waits until the screen shows the text.
    pub fn wait_for(&mut self, text: &str) -> &mut Self {
        self.wait(&format!("`{text}`"), |state| {
            state.parser.screen().contents().contains(text)
        })
    }

    /// Waits until the screen no longer shows the text.
    pub fn wait_gone(&mut self, text: &str) -> &mut Self {
        self.wait(&format!("no `{text}`"), |state| {
            !state.parser.screen().contents().contains(text)
        })
    }

    pub fn wait_until(&mut self, condition: impl Fn(&vt100::Screen) -> bool) -> &mut Self {
        self.wait("the condition", |state| condition(state.parser.screen()))
    }

    /// Waits until these bytes have been written, shown or not.
    pub fn wait_for_bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.wait_for_count(bytes, 1)
    }

    /// Waits until these bytes have been written this many times.
    pub fn wait_for_count(&mut self, bytes: &[u8], times: usize) -> &mut Self {
        self.wait(&format!("{:?}", String::from_utf8_lossy(bytes)), |state| {
            count(&state.bytes, bytes) >= times
        })
    }

    fn wait(&mut self, what: &str, condition: impl Fn(&State) -> bool) -> &mut Self {
        let state = self.seen.state.lock().expect("unpoisoned");
        let (state, _) = self
            .seen
            .changed
            .wait_timeout_while(state, MAX_WAIT, |state| !condition(state) && !state.over)
            .expect("unpoisoned");
        let (is_met, shown) = (condition(&state), state.parser.screen().contents());
        drop(state);
        assert!(is_met, "{what} has not come:\n{shown}\n");
        self
    }

    /// The text on the screen now.
    pub fn screen(&self) -> String {
        self.with(|state| state.parser.screen().contents())
    }

    /// The whole screen now.
    pub fn vt(&self) -> vt100::Screen {
        self.with(|state| state.parser.screen().clone())
    }

    /// Whether the program writes nothing for this long.
    pub fn is_quiet_for(&self, time: Duration) -> bool {
        let state = self.seen.state.lock().expect("unpoisoned");
        let before = state.bytes.len();
        let (state, _) = self
            .seen
            .changed
            .wait_timeout_while(state, time, |state| state.bytes.len() == before)
            .expect("unpoisoned");
        state.bytes.len() == before
    }

    /// Stops reading what the program writes, like a terminal after Ctrl+S.
    pub fn hold(&mut self) -> &mut Self {
        self.seen.state.lock().expect("unpoisoned").held = true;
        self
    }

    pub fn is_released(&mut self) -> &mut Self {
        self.seen.state.lock().expect("unpoisoned").held = false;
        self.seen.changed.notify_all();
        self
    }

    /// How many bytes have been written so far.
    pub fn bytes(&self) -> usize {
        self.with(|state| state.bytes.len())
    }

    pub fn resize(&mut self, columns: u16, rows: u16) -> &mut Self {
        {
            let mut state = self.seen.state.lock().expect("unpoisoned");
            // A line that wraps on a single row panics in vt100, and with it the thread that reads the terminal.
            let (shown_rows, shown_columns) = (rows.max(2), columns.max(2));
            let screen = state.parser.screen_mut();
            screen.set_size(shown_rows, shown_columns);
        }
        let terminal = self.terminal.as_ref().expect("the terminal is open");
        let resized = terminal.master.resize(size(columns, rows));
        resized.expect("it can be resized");
        self
    }

    /// The terminal claims a size that no terminal has.
    pub fn claim_size(&mut self, columns: u16, rows: u16) -> &mut Self {
        let terminal = self.terminal.as_ref().expect("the terminal is open");
        let resized = terminal.master.resize(size(columns, rows));
        resized.expect("it can be resized");
        self
    }

    pub fn pid(&self) -> Pid {
        let pid = self
            .child
            .process_id()
            .and_then(|pid| i32::try_from(pid).ok());
        pid.and_then(Pid::from_raw).expect("it runs")
    }

    pub fn signal(&mut self, signal: Signal) -> &mut Self {
        kill_process(self.pid(), signal).expect("it runs");
        self
    }

    /// Closes the terminal, as when its window is closed.
    pub fn close(&mut self) -> &mut Self {
        let terminal = self.terminal.take().expect("the terminal is open");
        self.seen.state.lock().expect("unpoisoned").closing = true;
        // The reader also has the terminal open until something arrives; a resize makes the program draw.
        let resized = terminal.master.resize(size(77, 22));
        resized.expect("it can be resized");
        terminal.reader.join().expect("the reader ends");
        self
    }

    /// Waits until the program has ended.
    pub fn exit(&mut self) -> End {
        let since = Instant::now();
        let status: ExitStatus = wait_for_some(|| self.child.try_wait().expect("a child"));
        let took = since.elapsed();
        if self.terminal.is_some() {
            // The last output may still be on its way.
            let state = self.seen.state.lock().expect("unpoisoned");
            let read = self
                .seen
                .changed
                .wait_timeout_while(state, MAX_WAIT, |state| !state.over);
            drop(read.expect("unpoisoned"));
        }
        let driver_as_before = self
            .terminal
            .as_ref()
            .is_some_and(|terminal| driver_modes(&*terminal.master) == self.modes_before);
        self.with(|state| End {
            is_released: state.over,
            code: status.exit_code(),
            screen: state.parser.screen().clone(),
            bytes: state.bytes.clone(),
            driver_as_before,
            took,
        })
    }

    fn with<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&self.seen.state.lock().expect("unpoisoned"))
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl End {
    /// The private modes that were turned on and never off again; for 7, line wrapping, and 25, the cursor, the other
    /// way round.
    pub fn modes_left(&self) -> BTreeSet<u16> {
        let text = String::from_utf8_lossy(&self.bytes);
        let mut left = BTreeSet::new();
        for piece in text.split("\x1b[?").skip(1) {
            let digits: String = piece.chars().take_while(char::is_ascii_digit).collect();
            let Ok(mode) = digits.parse::<u16>() else {
                continue;
            };
            match piece.as_bytes().get(digits.len()) {
                Some(b'h') if !matches!(mode, 7 | 25) => left.insert(mode),
                Some(b'l') if matches!(mode, 7 | 25) => left.insert(mode),
                Some(b'h' | b'l') => left.remove(&mode),
                _ => false,
            };
        }
        left
    }

    /// Asserts that the terminal is as it was.
    pub fn assert_terminal_restored(&self) {
        assert_eq!(self.modes_left(), BTreeSet::new());
        assert!(!self.screen.alternate_screen() && !self.screen.hide_cursor());
        assert!(self.driver_as_before, "the terminal's driver");
        let count = |code: &str| count(&self.bytes, code.as_bytes());
        assert_eq!(count("\x1b[>1u"), count("\x1b[<u"), "kitty's flags");
        assert_eq!(count("\x1b[22;0t"), count("\x1b[23;0t"), "the title");
    }
}

/// Writes a script for `--provider script:FILE` (see `provider::script`) into the workspace's parent; returns the
/// argument.
pub fn script(program: &Program, toml: &str) -> String {
    let path = program.workspace().with_file_name("script.toml");
    std::fs::write(&path, toml).expect("written");
    format!("script:{}", path.display())
}

fn watch(mut output: Box<dyn Read + Send>, seen: &Seen) {
    let mut buffer = vec![0; 65_536];
    loop {
        // Reading fails once all programs of the terminal have ended.
        let count = output.read(&mut buffer).unwrap_or(0);
        let state = seen.state.lock().expect("unpoisoned");
        let held = seen
            .changed
            .wait_while(state, |state| state.held && !state.closing);
        let mut state = held.expect("unpoisoned");
        if count == 0 || state.closing {
            state.over = true;
            seen.changed.notify_all();
            return;
        }
        state.parser.process(&buffer[..count]);
        state.bytes.extend_from_slice(&buffer[..count]);
        seen.changed.notify_all();
    }
}

fn size(cols: u16, rows: u16) -> PtySize {
    PtySize {
        rows,
        cols,
        ..PtySize::default()
    }
}

fn driver_modes(master: &dyn MasterPty) -> String {
    let modes = master.get_termios().expect("a terminal");
    let flags = (
        modes.input_flags,
        modes.output_flags,
        modes.control_flags,
        modes.local_flags,
    );
    format!("{flags:?} {:?}", modes.control_chars)
}

fn count(haystack: &[u8], needle: &[u8]) -> usize {
    memchr::memmem::find_iter(haystack, needle).count()
}
