//! Seatbelt: the same sandbox on macOS, as a profile for `sandbox-exec`.

use std::fmt::Write;
use std::path::Path;

use super::Policy;

#[cfg(target_os = "macos")]
pub const PROGRAM: &str = "/usr/bin/sandbox-exec";

/// What every program of the system needs to start at all.
const BASE: &str = r#"(version 1)
(deny default)
(import "bsd.sb")
(allow process-fork)
(allow signal (target same-sandbox))
(allow sysctl-read)
(allow file-read-metadata)
(allow file-read* (literal "/") (literal "/dev/null") (literal "/dev/zero") (literal "/dev/random") (literal "/dev/urandom"))
(allow file-write* (literal "/dev/null"))
(allow file-read* (subpath "/System") (subpath "/Library/Apple") (subpath "/private/var/db/timezone") (subpath "/private/var/db/dyld"))
"#;

/// The profile of a policy.
pub fn profile(policy: &Policy) -> String {
    let mut text = BASE.to_owned();
    let reads = policy.reads().map(|path| ("file-read*", path));
    let runs = policy.runs().map(|path| ("file-read* process-exec", path));
    let writes = policy.writes.iter();
    let writes = writes.map(|path| ("file-read* file-write*", path));
    for (what, path) in reads.chain(runs).chain(writes) {
        let _ = writeln!(text, "(allow {what} (subpath {}))", quoted(path));
    }
    text
}

/// The path as a Scheme string.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    format!("\"{}\"", text.replace('\\', r"\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::BaseAccess;
    use super::{Policy, profile};

    #[test]
    fn a_profile_refuses_what_it_does_not_name() {
        let policy = Policy {
            base: Arc::new(BaseAccess {
                runs: vec!["/usr".into()],
                ..BaseAccess::default()
            }),
            reads: vec!["/project/a \"b\"".into()],
            writes: vec!["/tmp/own".into()],
            attributes: false,
        };
        let profile = profile(&policy);
        let lines: Vec<&str> = profile.lines().collect();
        assert_eq!(lines[1], "(deny default)");
        assert!(!profile.contains("network"), "{profile}");
        assert_eq!(
            lines[lines.len() - 3..],
            [
                r#"(allow file-read* (subpath "/project/a \"b\""))"#,
                r#"(allow file-read* process-exec (subpath "/usr"))"#,
                r#"(allow file-read* file-write* (subpath "/tmp/own"))"#,
            ]
        );
    }
}
