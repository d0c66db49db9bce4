//! Directories, programs, the terminal.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use super::{Finding, Level};
use crate::config::Dirs;
use crate::process::Programs;
use crate::process::sandbox::State;
use crate::process::sandbox::Unasked;

/// How long to wait for a program to print its version.
const MAX_WAIT: Duration = Duration::from_secs(2);

pub fn directories(dirs: &Dirs) -> Vec<Finding> {
    const AREA: &str = "directories";
    let mut findings = Vec::new();
    for (what, path, private) in [
        ("configuration", &dirs.config, false),
        ("data", &dirs.data, true),
    ] {
        findings.push(directory(AREA, what, path, private));
    }
    let problems = dirs.problems().into_iter();
    findings.extend(problems.map(|problem| Finding::new(AREA, Level::Warning, problem)));
    findings
}

fn directory(area: &'static str, what: &str, path: &Path, private: bool) -> Finding {
    let shown = path.display();
    let Ok(data) = path.metadata() else {
        return Finding::new(area, Level::Note, format!("{what}: {shown} (none yet)"));
    };
    let mode = data.permissions().mode() & 0o777;
    let text = format!("{what}: {shown} (mode {mode:03o})");
    if data.uid() != rustix::process::getuid().as_raw() {
        let text = format!("{text} is owned by another user");
        return Finding::new(area, Level::Warning, text)
            .hint("set AGENT_TUI_CONFIG_DIR and AGENT_TUI_DATA_DIR to directories you own");
    }
    if private && mode & 0o077 != 0 {
        let text = format!("{text} was readable by other users");
        return Finding::new(area, Level::Note, text).hint("fixed: it is private now");
    }
    if !private && mode & 0o022 != 0 {
        let text = format!("{text} is writable by other users");
        return Finding::new(area, Level::Warning, text).hint(format!("chmod go-w {shown}"));
    }
    if rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_err() {
        let text = format!("{text} is not writable");
        return Finding::new(area, Level::Warning, text).hint("settings can't be saved");
    }
    Finding::new(area, Level::Fine, text)
}

/// The sandbox for commands that run without asking.
pub fn sandbox(unasked: Unasked, state: &State) -> Finding {
    const AREA: &str = "sandbox";
    match (unasked, state) {
        (Unasked::Off, _) => Finding::new(
            AREA,
            Level::Warning,
            "`sandbox.unasked` is `off`: commands that run without asking are not sandboxed",
        )
        .hint("remove it from your settings, unless it makes harmless commands fail"),
        (Unasked::Auto | Unasked::Require, State::Landlock(_) | State::Seatbelt) => Finding::new(
            AREA,
            Level::Fine,
            format!("commands that run without asking are sandboxed by {state}"),
        ),
        (Unasked::Auto, State::Nothing(why)) => Finding::new(
            AREA,
            Level::Warning,
            format!("commands that run without asking are not sandboxed: {why}"),
        )
        .hint("only the classifier checks them; with `sandbox.unasked` set to `require`, every command asks"),
        (Unasked::Require, State::Nothing(why)) => Finding::new(
            AREA,
            Level::Warning,
            format!("every command asks, because it can't be sandboxed: {why}"),
        )
        .hint("`sandbox.unasked` is `require` in your settings"),
    }
}

pub async fn programs(programs: &Programs) -> Vec<Finding> {
    const AREA: &str = "programs";
    let version = |name| version(programs, name);
    let (bash, git, rg) = tokio::join!(version("bash"), version("git"), version("rg"));
    let found = |name: &str, version: Option<String>, missing: Finding| match version {
        Some(version) => Finding::new(AREA, Level::Fine, format!("{name}: {version}")),
        None => missing,
    };
    vec![
        found(
            "bash",
            bash,
            Finding::new(AREA, Level::Error, "bash not found in PATH")
                .hint("install it: the Bash tool needs it"),
        ),
        found(
            "git",
            git,
            Finding::new(AREA, Level::Note, "git not found in PATH")
                .hint("without it, the model isn't told the branch and changes"),
        ),
        found(
            "rg",
            rg,
            Finding::new(
                AREA,
                Level::Note,
                "rg not found in PATH (Grep and Glob don't need it)",
            ),
        ),
    ]
}

/// The first line of a program's `--version`.
async fn version(programs: &Programs, name: &str) -> Option<String> {
    let program = programs.named(name)?;
    let mut command = tokio::process::Command::new(&program);
    // Nothing in the project can influence it.
    command
        .arg("--version")
        .current_dir("/")
        .env_clear()
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    let output = tokio::time::timeout(MAX_WAIT, command.output()).await;
    let text = output.ok()?.ok()?.stdout;
    let text = String::from_utf8_lossy(&text);
    let first = text.lines().next().unwrap_or_default().trim().to_owned();
    Some(format!("{first} ({})", program.display()))
}

pub fn terminal(variable: impl Fn(&str) -> Option<String>) -> Vec<Finding> {
    const AREA: &str = "terminal";
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    let mut findings = Vec::new();
    findings.push(match set("TERM").as_deref() {
        None => Finding::new(AREA, Level::Warning, "TERM is not set")
            .hint("the screen needs a terminal; without one, use `agent-tui -p PROMPT`"),
        Some("dumb") => Finding::new(AREA, Level::Warning, "TERM is dumb")
            .hint("the screen needs a terminal that can move its cursor"),
        Some(term) => Finding::new(AREA, Level::Fine, format!("TERM is {term}")),
    });
    findings.push(match (set("NO_COLOR"), set("COLORTERM")) {
        (Some(_), _) => Finding::new(AREA, Level::Note, "NO_COLOR is set: no colours"),
        (None, Some(value)) => Finding::new(AREA, Level::Fine, format!("COLORTERM is {value}")),
        (None, None) => Finding::new(
            AREA,
            Level::Note,
            "COLORTERM is not set: colours follow TERM",
        ),
    });
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"];
    let locale = locale.into_iter().find_map(|name| Some((name, set(name)?)));
    let is_utf8 = |value: &str| {
        let value = value.to_lowercase();
        value.contains("utf-8") || value.contains("utf8")
    };
    findings.push(match locale {
        Some((name, value)) if is_utf8(&value) => {
            Finding::new(AREA, Level::Fine, format!("{name} is {value}"))
        }
        Some((name, value)) => {
            Finding::new(AREA, Level::Note, format!("{name} is {value}: not UTF-8"))
                .hint("if letters look wrong, use a UTF-8 locale, e.g. LANG=C.UTF-8")
        }
        None => Finding::new(AREA, Level::Note, "no locale is set")
            .hint("if letters look wrong, use a UTF-8 locale, e.g. LANG=C.UTF-8"),
    });
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_sandbox_is_a_warning() {
        let nothing = State::Nothing("the kernel has no Landlock".to_owned());
        for (unasked, state, level) in [
            (Unasked::Auto, &State::Landlock(7), Level::Fine),
            (Unasked::Require, &State::Seatbelt, Level::Fine),
            (Unasked::Auto, &nothing, Level::Warning),
            (Unasked::Require, &nothing, Level::Warning),
            (Unasked::Off, &State::Landlock(7), Level::Warning),
        ] {
            let finding = sandbox(unasked, state);
            assert_eq!(finding.level, level, "{unasked:?} {state:?}");
            assert_eq!(finding.hint.is_some(), level != Level::Fine);
        }
    }

    #[test]
    fn the_terminal_is_recognised_by_its_variables() {
        let levels = |variables: &[(&str, &str)]| {
            let variable = |name: &str| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            terminal(variable)
                .iter()
                .map(|finding| finding.level)
                .collect::<Vec<_>>()
        };
        assert_eq!(levels(&[]), [Level::Warning, Level::Note, Level::Note]);
        let good = [
            ("TERM", "xterm"),
            ("COLORTERM", "truecolor"),
            ("LANG", "de_DE.UTF-8"),
        ];
        assert_eq!(levels(&good), [Level::Fine; 3]);
        let odd = [
            ("TERM", "dumb"),
            ("NO_COLOR", "1"),
            ("LANG", "C"),
            ("LC_ALL", ""),
        ];
        assert_eq!(levels(&odd), [Level::Warning, Level::Note, Level::Note]);
    }
}
