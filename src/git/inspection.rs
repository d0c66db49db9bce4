//! Inspects a repository: git lists the configuration that it would use and says where the repository is.
//!
//! `git config --list` and `git rev-parse` read files and start nothing. Only if there is no objection so far is git
//! asked for the submodules in its index. Whatever cannot be learned in time is an objection.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::environment::{harmless, redirects_configuration};
use super::keys::is_harmless;
use super::place::Place;
use super::{Inspection, Repository};
use crate::process::Programs;
use crate::process::running::{self, Leader};
use crate::process::stragglers;
use crate::text::{beginning, one_line};

/// A file that never ends, or a pipe without a writer, must not block the program.
const MAX_WAIT: Duration = Duration::from_secs(2);
const LONGEST_OUTPUT: u64 = 1_000_000;
const LONGEST_REASON: usize = 120;

/// What git needs of our environment to find the person's configuration.
const PASSED_ON: [&str; 4] = ["HOME", "XDG_CONFIG_HOME", "USER", "LOGNAME"];

/// What git prints outside of all repositories, in English.
const NO_REPOSITORY: &str = "fatal: not a git repository (or any ";

/// The mode of a submodule in the index.
const LINK: &[u8] = b"160000 ";

/// The key for the location of the work tree. git sets it for a submodule.
const WORK_TREE: &[u8] = b"core.worktree";

/// How much is inspected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// For a git that is told to ignore submodules.
    Configuration,
    Everything,
}

pub async fn inspect(programs: &Programs, directory: &Path, extent: Extent) -> Inspection {
    let Some(git) = programs.git() else {
        return Inspection::objecting("git not found");
    };
    let asking = async {
        let mut inspection = configuration(git, programs, directory).await;
        if let (Some(repository), None, Extent::Everything) =
            (&inspection.repository, &inspection.objection, extent)
        {
            inspection.objection = submodule(git, programs, directory, &repository.toplevel).await;
        }
        inspection
    };
    let inspected = timeout(MAX_WAIT, asking).await;
    inspected.unwrap_or_else(|_| Inspection::objecting("git did not say what it would read"))
}

impl Inspection {
    fn objecting(why: impl Into<String>) -> Self {
        Self {
            repository: None,
            objection: Some(why.into()),
        }
    }
}

/// A git in `directory` that ignores the environment.
pub fn command(git: &Path, programs: &Programs, directory: &Path) -> Command {
    let mut command = Command::new(git);
    command
        .current_dir(directory)
        .env_clear()
        .env("PATH", programs.path())
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
    let passed_on = PASSED_ON.iter().filter_map(|name| {
        let value = std::env::var_os(name)?;
        Some((name, value))
    });
    command
        .envs(passed_on.filter(|(name, value)| !redirects_configuration(OsStr::new(name), value)))
        .envs(harmless());
    command
}

async fn configuration(git: &Path, programs: &Programs, directory: &Path) -> Inspection {
    let mut list = command(git, programs, directory);
    list.args(["config", "--list", "-z", "--show-scope", "--show-origin"]);
    let mut place = command(git, programs, directory);
    place
        .args(["rev-parse", "--path-format=absolute"])
        .args(["--is-bare-repository", "--is-inside-git-dir"])
        .args(["--git-dir", "--git-common-dir", "--show-toplevel"]);
    let (list, place) = tokio::join!(output(list), output(place));
    let (list, place) = match (list, place) {
        (Ok(list), Ok(place)) => (list, place),
        (Err(error), _) | (_, Err(error)) => {
            return Inspection::objecting(format!("git could not be run: {error}"));
        }
    };
    if !place.status.success() && place.stderr.starts_with(NO_REPOSITORY.as_bytes()) {
        return Inspection::default();
    }
    if place.stdout.starts_with(b"true\n") {
        return Inspection::objecting("the directory is itself a repository without a work tree");
    }
    if place.stdout.starts_with(b"false\ntrue\n") {
        return Inspection::objecting("the directory belongs to a repository's own files");
    }
    for answer in [&place, &list] {
        if !answer.status.success() {
            let text = String::from_utf8_lossy(&answer.stderr);
            return Inspection::objecting(format!("git says `{}`", short(&text)));
        }
    }
    let Some(mut repository) = Repository::read(&place.stdout) else {
        return Inspection::objecting("can't tell where its files are");
    };
    let here = directory.canonicalize().unwrap_or_default();
    let own = |file: &Path| programs.is_own(file) || file.starts_with(&repository.toplevel);
    let settings = Setting::read_all(&list.stdout, own);
    let elsewhere = !here.starts_with(&repository.toplevel);
    let objection = match &settings {
        None => Some("its configuration cannot be read".to_owned()),
        Some(_) if elsewhere => Some("its work tree is elsewhere".to_owned()),
        Some(settings) => match judged(&repository, settings, programs) {
            Ok(objection) => objection,
            // Then even its branch may be another project's.
            Err(why) => return Inspection::objecting(why),
        },
    };
    repository.reads = settings.map_or_else(Vec::new, |settings| reads(&settings));
    Inspection {
        repository: Some(repository),
        objection,
    }
}

/// Objections to the repository and its configuration; the error says why it may belong to another project.
fn judged(
    repository: &Repository,
    settings: &[Setting<'_>],
    programs: &Programs,
) -> Result<Option<String>, String> {
    let place = Place::of(repository).ok_or("can't tell where its files are")?;
    let is_work_tree = |setting: &&Setting<'_>| setting.key == WORK_TREE;
    let work_trees: Vec<&[u8]> = settings
        .iter()
        .filter(is_work_tree)
        .map(|setting| setting.value.unwrap_or_default())
        .collect();
    if let Some(why) = place.objection(|path| programs.is_own(path), &work_trees) {
        return Err(why);
    }
    if place.shares_objects() {
        return Ok(Some("it uses objects of another repository".to_owned()));
    }
    let here = work_trees.iter().all(|value| place.is_work_tree(value));
    let objections = settings
        .iter()
        .filter(|setting| !(here && is_work_tree(setting)))
        .find_map(Setting::objection);
    Ok(objections)
}

impl Repository {
    /// Parses the output of `rev-parse`. A path with a line break gives too many lines.
    fn read(printed: &[u8]) -> Option<Self> {
        let lines: Vec<&[u8]> = printed
            .strip_suffix(b"\n")?
            .split(|byte| *byte == b'\n')
            .collect();
        let [b"false", b"false", git_dir, common_dir, toplevel] = lines[..] else {
            return None;
        };
        let path = |bytes: &[u8]| {
            let path = PathBuf::from(OsStr::from_bytes(bytes));
            path.is_absolute().then_some(path)
        };
        Some(Self {
            toplevel: path(toplevel)?,
            git_dir: path(git_dir)?,
            common_dir: path(common_dir)?,
            reads: Vec::new(),
        })
    }
}

/// One line of `git config --list`.
struct Setting<'o> {
    /// It may have been set by the author of the repository, or by the model.
    of_repository: bool,
    origin: &'o [u8],
    key: &'o [u8],
    value: Option<&'o [u8]>,
}

impl<'o> Setting<'o> {
    /// `own` says whether a file is in the workspace.
    fn read_all(printed: &'o [u8], own: impl Fn(&Path) -> bool) -> Option<Vec<Self>> {
        if printed.is_empty() {
            return Some(Vec::new());
        }
        let fields: Vec<&[u8]> = printed
            .strip_suffix(b"\0")?
            .split(|byte| *byte == 0)
            .collect();
        let settings = fields.chunks(3).map(|fields| {
            let [scope, origin, setting] = *fields else {
                return None;
            };
            let end = setting.iter().position(|byte| *byte == b'\n');
            // Settings of the person, the system and this program are trusted.
            let of_others = matches!(scope, b"system" | b"global" | b"command");
            Some(Self {
                of_repository: !of_others || is_included(origin, &own),
                origin,
                key: end.map_or(setting, |end| &setting[..end]),
                value: end.map(|end| &setting[end + 1..]),
            })
        });
        settings.collect()
    }

    fn objection(&self) -> Option<String> {
        if !self.of_repository {
            return None;
        }
        let key = String::from_utf8_lossy(self.key);
        let value = self.value.map(String::from_utf8_lossy);
        (!is_harmless(&key, value.as_deref())).then(|| {
            let key = short(&key);
            format!("the repository's configuration sets `{key}`")
        })
    }
}

/// Whether the person's configuration includes a file of the workspace, which others can write. The main file itself
/// is protected, and counts as the person's wherever it is.
fn is_included(origin: &[u8], own: impl Fn(&Path) -> bool) -> bool {
    let Some(path) = origin.strip_prefix(b"file:") else {
        return false;
    };
    let path = Path::new(OsStr::from_bytes(path));
    let protected = path.ends_with(".gitconfig") || path.ends_with(".config/git/config");
    let real = path.canonicalize();
    !protected && real.map_or(true, |real| own(&real))
}

/// The files outside of the repository that git reads.
fn reads(settings: &[Setting<'_>]) -> Vec<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let own = std::env::var_os("XDG_CONFIG_HOME").filter(|path| !path.is_empty());
    let own = own.map(PathBuf::from);
    let own = own.or_else(|| Some(home.as_ref()?.join(".config")));
    let mut files: Vec<PathBuf> = own
        .iter()
        .flat_map(|own| ["ignore", "attributes"].map(|name| own.join("git").join(name)))
        .collect();
    for setting in settings.iter().filter(|setting| !setting.of_repository) {
        let origin = setting.origin.strip_prefix(b"file:");
        files.extend(origin.map(|path| PathBuf::from(OsStr::from_bytes(path))));
        if matches!(
            setting.key,
            b"core.excludesfile"
                | b"core.attributesfile"
                | b"mailmap.file"
                | b"diff.orderfile"
                | b"blame.ignorerevsfile"
        ) && let Some(value) = setting.value
        {
            files.extend(expanded(value, home.as_deref()));
        }
    }
    files.retain(|file| file.is_absolute());
    files.sort();
    files.dedup();
    files
}

fn expanded(path: &[u8], home: Option<&Path>) -> Option<PathBuf> {
    match path.strip_prefix(b"~/") {
        Some(rest) => Some(home?.join(OsStr::from_bytes(rest))),
        None => Some(PathBuf::from(OsStr::from_bytes(path))),
    }
}

/// git uses the configuration of a submodule when it looks into it.
async fn submodule(
    git: &Path,
    programs: &Programs,
    directory: &Path,
    toplevel: &Path,
) -> Option<String> {
    let mut list = command(git, programs, directory);
    list.args(["ls-files", "-s", "-z", "--full-name", "--", ":/"])
        .stderr(Stdio::null());
    match links(list).await {
        Ok(links) => links
            .iter()
            .find(|path| toplevel.join(path).join(".git").symlink_metadata().is_ok())
            .map(|path| {
                let path = short(&path.to_string_lossy());
                format!("the submodule `{path}` has its own configuration")
            }),
        Err(error) => Some(format!("its index cannot be read: {error}")),
    }
}

/// The submodules among the entries of an index, which may be many.
async fn links(mut list: Command) -> io::Result<Vec<OsString>> {
    let (mut child, leader) = start(&mut list)?;
    let stdout = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
    let mut entries = BufReader::with_capacity(1 << 16, stdout);
    let (mut links, mut entry) = (Vec::new(), Vec::new());
    while entries.read_until(0, &mut entry).await? > 0 {
        if entry.starts_with(LINK) {
            let path = entry.strip_suffix(b"\0").unwrap_or(&entry);
            let start = path.iter().position(|byte| *byte == b'\t');
            let path = start.map_or(path, |start| &path[start + 1..]);
            links.push(OsStr::from_bytes(path).to_owned());
        }
        entry.clear();
    }
    let status = child.wait().await?;
    leader.ended();
    if !status.success() {
        return Err(io::Error::other("git failed"));
    }
    Ok(links)
}

fn start(command: &mut Command) -> io::Result<(Child, Leader)> {
    let _starting = running::starting();
    command.env(stragglers::VARIABLE, stragglers::new_mark());
    let child = command.spawn()?;
    let leader = Leader::of(&child);
    Ok((child, leader))
}

pub struct Output {
    pub status: ExitStatus,
    pub stdout: Vec<u8>,
    stderr: Vec<u8>,
}

/// Runs a command to its end. Too much output is an error.
pub async fn output(mut command: Command) -> io::Result<Output> {
    let (mut child, leader) = start(&mut command)?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (stdout, stderr) = tokio::join!(bounded(stdout), bounded(stderr));
    let output = Output {
        stdout: stdout?,
        stderr: stderr?,
        status: child.wait().await?,
    };
    leader.ended();
    Ok(output)
}

async fn bounded(stream: Option<impl AsyncRead + Unpin>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        stream.take(LONGEST_OUTPUT).read_to_end(&mut bytes).await?;
    }
    if bytes.len() as u64 >= LONGEST_OUTPUT {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(bytes)
}

/// A text from outside, shortened to be part of one line.
fn short(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let line = line.strip_prefix("fatal: ").unwrap_or(line);
    let line = one_line(line).replace('`', "");
    beginning(&line, LONGEST_REASON).to_owned()
}
