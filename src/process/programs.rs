//! Where programs are, without using the working directory.
//!
//! A name that the system looks up in `PATH` may be found in the workspace: through `.`, an empty entry,
//! `./node_modules/.bin`, or an activated environment of the project. Programs there come from the author of the
//! repository or from the model. So names are looked up once, in a `PATH` without such entries, and commands that run
//! without asking get that `PATH`.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::fs::{Access, access};

/// Where programs are if no entry of `PATH` can be used. An empty `PATH` would mean the current directory.
const STANDARD: &str = "/usr/local/bin:/usr/bin:/bin";

/// If this is inside the workspace, the workspace is the whole machine, and its programs have to be used.
const SYSTEM: &str = "/usr/bin";

const OTHERS_WRITE: u32 = 0o002;
const STICKY: u32 = 0o1000;

/// The programs of this machine that only the person and the system can have put there.
#[derive(Debug)]
pub struct Programs {
    /// The workspace and the additional directories, as written and without links.
    own: Vec<PathBuf>,
    path: OsString,
    bash: OnceLock<Option<PathBuf>>,
    git: OnceLock<Option<PathBuf>>,
}

impl Programs {
    /// Uses the `PATH` of this process. `own` are the workspace and the additional directories.
    pub fn find<'d>(own: impl IntoIterator<Item = &'d Path>) -> Self {
        Self::over(std::env::var_os("PATH").as_deref(), own)
    }

    /// The same with another `PATH`.
    pub fn over<'d>(path: Option<&OsStr>, own: impl IntoIterator<Item = &'d Path>) -> Self {
        let mut directories = Vec::new();
        for directory in own {
            directories.extend(directory.canonicalize());
            directories.push(directory.to_owned());
        }
        directories.retain(|directory| !Path::new(SYSTEM).starts_with(directory));
        let path = cleaned(path.unwrap_or_default(), &directories)
            .or_else(|| cleaned(OsStr::new(STANDARD), &directories))
            .unwrap_or_else(|| STANDARD.into());
        Self {
            own: directories,
            path,
            bash: OnceLock::new(),
            git: OnceLock::new(),
        }
    }

    /// `PATH` without relative and empty entries, without entries in the workspace, and without those that anyone can
    /// write to. Never empty; links are resolved.
    pub fn path(&self) -> &OsStr {
        &self.path
    }

    /// The shell that runs all commands.
    pub fn bash(&self) -> io::Result<&Path> {
        let bash = self.bash.get_or_init(|| self.named("bash"));
        bash.as_deref().ok_or_else(|| {
            let text = format!(
                "bash not found in {}; install it, or add its directory to PATH (absolute, outside the workspace)",
                self.path.display()
            );
            io::Error::new(io::ErrorKind::NotFound, text)
        })
    }

    pub fn git(&self) -> Option<&Path> {
        self.git.get_or_init(|| self.named("git")).as_deref()
    }

    /// Whether a path without links is in the workspace or an additional directory.
    pub fn is_own(&self, path: &Path) -> bool {
        is_in(path, &self.own)
    }

    /// The path of a program.
    pub fn named(&self, name: &str) -> Option<PathBuf> {
        std::env::split_paths(&self.path).find_map(|directory| {
            let file = directory.join(name);
            let runs = access(&file, Access::EXEC_OK).is_ok() && file.is_file();
            // It may be a link to something that the workspace has built.
            let real = file.canonicalize().ok().filter(|_| runs)?;
            (!self.is_own(&real)).then_some(file)
        })
    }
}

/// The usable entries; `None` if there are none.
fn cleaned(path: &OsStr, own: &[PathBuf]) -> Option<OsString> {
    let mut entries: Vec<PathBuf> = Vec::new();
    for entry in std::env::split_paths(path) {
        if !entry.is_absolute() || is_in(&entry, own) {
            continue;
        }
        let Ok(real) = entry.canonicalize() else {
            continue;
        };
        if !is_in(&real, own) && !others_write(&real) && !entries.contains(&real) {
            entries.push(real);
        }
    }
    if entries.is_empty() {
        return None;
    }
    std::env::join_paths(entries).ok()
}

fn is_in(path: &Path, directories: &[PathBuf]) -> bool {
    directories
        .iter()
        .any(|directory| path.starts_with(directory))
}

/// Whether anyone can put a program there, or replace the directory.
fn others_write(directory: &Path) -> bool {
    directory.ancestors().any(|ancestor| {
        let Ok(data) = ancestor.metadata() else {
            return true;
        };
        let mode = data.permissions().mode();
        mode & OTHERS_WRITE != 0 && (ancestor == directory || mode & STICKY == 0)
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A machine with a system directory and a workspace, which both have a `git`.
    struct Machine {
        _dir: tempfile::TempDir,
        root: PathBuf,
    }

    impl Machine {
        fn new() -> Self {
            let dir = tempfile::tempdir().expect("a temporary directory");
            let root = dir.path().canonicalize().expect("it exists");
            let machine = Self { _dir: dir, root };
            for place in ["bin", "work", "work/node_modules/.bin", "work/.venv/bin"] {
                machine.program(place, "git");
            }
            machine
        }

        fn program(&self, directory: &str, name: &str) {
            let directory = self.root.join(directory);
            std::fs::create_dir_all(&directory).expect("mkdir");
            let file = directory.join(name);
            std::fs::write(&file, "#!/bin/sh\n").expect("write");
            std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).expect("chmod");
        }

        /// The programs for a `PATH` in which `ROOT` is the machine's root.
        fn over(&self, path: &str) -> Programs {
            let path = path.replace("ROOT", &self.root.display().to_string());
            Programs::over(Some(OsStr::new(&path)), [self.root.join("work").as_path()])
        }

        fn bin(&self) -> PathBuf {
            self.root.join("bin")
        }
    }

    #[test]
    fn entries_that_depend_on_the_current_directory_are_ignored() {
        let machine = Machine::new();
        for path in [
            "./node_modules/.bin:ROOT/bin",
            ".:ROOT/bin",
            ":ROOT/bin",
            "ROOT/bin:",
            "ROOT/bin::",
            "node_modules/.bin:..:~/bin:ROOT/bin",
        ] {
            let programs = machine.over(path);
            assert_eq!(programs.path(), machine.bin().as_os_str(), "{path}");
            assert_eq!(programs.git(), Some(machine.bin().join("git").as_path()));
        }
    }

    #[test]
    fn entries_in_the_workspace_are_ignored_also_behind_links() {
        let machine = Machine::new();
        symlink(machine.root.join("work"), machine.root.join("link")).expect("a link");
        symlink(machine.bin(), machine.root.join("work/out")).expect("a link");
        for path in [
            "ROOT/work/node_modules/.bin:ROOT/bin",
            "ROOT/work:ROOT/bin",
            "ROOT/link/node_modules/.bin:ROOT/bin",
            "ROOT/bin/../work:ROOT/bin",
            "ROOT/work/out:ROOT/bin",
        ] {
            let programs = machine.over(path);
            assert_eq!(programs.path(), machine.bin().as_os_str(), "{path}");
        }
    }

    #[test]
    fn environments_in_the_workspace_and_in_additional_directories_are_ignored() {
        let machine = Machine::new();
        machine.program("more/.venv/bin", "ls");
        let path = format!(
            "{0}/work/.venv/bin:{0}/more/.venv/bin:{0}/bin",
            machine.root.display()
        );
        let own = [machine.root.join("work"), machine.root.join("more")];
        let programs = Programs::over(Some(OsStr::new(&path)), own.iter().map(PathBuf::as_path));
        assert_eq!(programs.path(), machine.bin().as_os_str());
        assert_eq!(programs.named("ls"), None);
    }

    #[test]
    fn directories_that_anyone_can_write_to_are_ignored() {
        let machine = Machine::new();
        machine.program("open", "git");
        machine.program("open/below", "git");
        let open = machine.root.join("open");
        std::fs::set_permissions(&open, PermissionsExt::from_mode(0o777)).expect("chmod");
        let programs = machine.over("ROOT/open:ROOT/open/below:ROOT/gone:ROOT/bin");
        assert_eq!(programs.path(), machine.bin().as_os_str());
    }

    #[test]
    fn a_link_to_a_program_in_the_workspace_is_not_used() {
        let machine = Machine::new();
        let link = machine.bin().join("bash");
        machine.program("work/target", "bash");
        symlink(machine.root.join("work/target/bash"), link).expect("a link");
        let programs = machine.over("ROOT/bin");
        let error = programs.bash().expect_err("there is no other");
        assert!(error.to_string().contains("install it"), "{error}");
    }

    #[test]
    fn programs_are_found_if_the_workspace_is_the_root_directory() {
        let path = std::env::var_os("PATH");
        let programs = Programs::over(path.as_deref(), [Path::new("/")]);
        assert!(programs.bash().is_ok());
    }

    #[test]
    fn a_path_without_usable_entries_becomes_the_standard_one() {
        let machine = Machine::new();
        for path in ["", ".", ":", "ROOT/work"] {
            let programs = machine.over(path);
            assert!(!programs.path().is_empty(), "{path}");
            assert!(
                std::env::split_paths(programs.path()).all(|entry| entry.is_absolute()),
                "{path}"
            );
        }
    }
}
