//! The system paths that every command may need: programs, their libraries and data, git's configuration.

use std::path::{Path, PathBuf};

/// Directories of programs and their data.
const PROGRAMS: [&str; 12] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/nix/store",
    "/gnu/store",
    "/run/current-system",
    "/home/linuxbrew/.linuxbrew",
];

/// What read-only commands use by themselves. Of `/etc` only files without personal data, because keys and passwords
/// are there too. Each entry costs every command a few microseconds.
pub const READS: [&str; 29] = [
    "/etc/crypto-policies",
    "/etc/gitattributes",
    "/etc/gitconfig",
    "/etc/group",
    "/etc/ld-musl-aarch64.path",
    "/etc/ld-musl-x86_64.path",
    "/etc/ld.so.cache",
    "/etc/ld.so.preload",
    "/etc/locale.alias",
    "/etc/localtime",
    "/etc/magic",
    "/etc/magic.mime",
    "/etc/nsswitch.conf",
    "/etc/passwd",
    "/etc/ssl/openssl.cnf",
    "/etc/terminfo",
    "/etc/timezone",
    "/proc/cpuinfo",
    "/proc/filesystems",
    "/proc/loadavg",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/sys/kernel",
    "/proc/sys/vm",
    "/proc/uptime",
    "/proc/version",
    "/run/utmp",
    "/sys/devices/system",
    "/sys/fs/cgroup",
];

/// Ignore files, which also apply in the directories above.
const IGNORE_FILES: [&str; 3] = [".gitignore", ".ignore", ".rgignore"];

/// The directories from which programs may run: the system's and those of PATH, without the working directories. If a
/// working directory contains the whole system, its programs are still allowed.
pub fn programs(path: &[PathBuf], working: &[PathBuf]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let own = |directory: &PathBuf| working.iter().any(|one| directory.starts_with(one));
    // `/bin` is often a link to `/usr/bin`.
    let real = |directory: PathBuf| directory.canonicalize().ok();
    for directory in PROGRAMS.iter().map(PathBuf::from).filter_map(real) {
        add_without(&directory, working, &mut found);
    }
    for directory in path.iter().cloned().filter_map(real) {
        if !own(&directory) {
            add_without(&directory, working, &mut found);
        }
    }
    found
}

/// The libraries next to the directories of PATH, as with `bin` and `lib` of a virtual environment.
pub fn libraries(path: &[PathBuf], working: &[PathBuf]) -> Vec<PathBuf> {
    let library_directory = |bin: &PathBuf| Some(bin.canonicalize().ok()?.parent()?.join("lib"));
    path.iter()
        .filter_map(library_directory)
        .filter(|lib| {
            let real = lib.canonicalize();
            real.is_ok_and(|real| &real == lib && !working.iter().any(|one| real.starts_with(one)))
        })
        .collect()
}

/// Adds a directory. If one of `working` is inside it, adds its entries except those on the path to it.
fn add_without(directory: &Path, working: &[PathBuf], found: &mut Vec<PathBuf>) {
    if found.iter().any(|known| directory.starts_with(known)) {
        return;
    }
    let inside = |one: &PathBuf| one != directory && one.starts_with(directory);
    if !working.iter().any(inside) {
        found.push(directory.to_owned());
        return;
    }
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    for entry in entries {
        let path = entry.path();
        let plain = entry
            .file_type()
            .is_ok_and(|kind| kind.is_dir() || kind.is_file());
        if plain && !working.contains(&path) {
            add_without(&path, working, found);
        }
    }
}

/// The person's own git configuration.
pub fn git_configuration(home: &Path) -> [PathBuf; 2] {
    let configuration = std::env::var_os("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .filter(|directory| directory.is_absolute())
        .unwrap_or_else(|| home.join(".config"));
    [home.join(".gitconfig"), configuration.join("git")]
}

/// The ignore files above a directory. Links are skipped, because they could lead anywhere.
pub fn ignore_files_above(directory: &Path) -> impl Iterator<Item = PathBuf> {
    let above = directory.ancestors().skip(1);
    above
        .flat_map(|directory| IGNORE_FILES.map(|name| directory.join(name)))
        .filter(|file| {
            file.symlink_metadata()
                .is_ok_and(|data| data.file_type().is_file())
        })
}
