//! Where the tokens of servers are kept that the person has logged in to, and the browser for it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::config::dirs::name_for;
use crate::process::Programs;

/// Programs that open an address in the browser of the person's desktop.
const OPENERS: [&str; 2] = ["xdg-open", "open"];

/// Known to every server that is reached over HTTP.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Logins {
    directory: PathBuf,
    browser: Option<PathBuf>,
}

impl Logins {
    /// `data` is the program's data directory. `browser` is the value of `$BROWSER`.
    pub fn new(data: &Path, browser: Option<&OsStr>, programs: &Programs) -> Self {
        let wished = browser.filter(|browser| !browser.is_empty());
        let wished = wished.and_then(|browser| {
            let path = Path::new(browser);
            if path.is_absolute() {
                Some(path.to_owned())
            } else {
                programs.named(browser.to_str()?)
            }
        });
        let found = || OPENERS.iter().find_map(|name| programs.named(name));
        Self {
            directory: data.join("mcp").join("logins"),
            browser: wished.or_else(found),
        }
    }

    /// The file with the tokens for this address.
    pub fn file(&self, url: &str) -> PathBuf {
        self.directory.join(name_for(Path::new(url)))
    }

    /// Opens an address in the person's browser; returns whether there is one.
    pub fn open(&self, address: &str) -> bool {
        let Some(browser) = &self.browser else {
            return false;
        };
        let mut command = tokio::process::Command::new(browser);
        command
            .arg(address)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        // It is the person's own program, and outlives this one. Tokio waits for its end.
        command.spawn().is_ok()
    }
}
