//! Reads the output of a child without blocking, and makes it readable.

use std::io;
use std::time::Duration;

use tokio::net::unix::pipe;

/// How long to wait for output of children that outlive the shell.
pub const DRAIN: Duration = Duration::from_millis(100);

/// The next bytes of a pipe; none at its end. Cancel-safe: nothing is read before it is returned.
pub async fn read_some(output: &pipe::Receiver) -> io::Result<Vec<u8>> {
    loop {
        output.readable().await?;
        let mut bytes = Vec::with_capacity(64 * 1024);
        match output.try_read_buf(&mut bytes) {
            Ok(_) => return Ok(bytes),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
}

/// Output as text: without escape sequences and trailing blank lines, with bytes that are not UTF-8 replaced.
pub fn plain(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let stripped = anstream::adapter::strip_str(&text).to_string();
    let body = stripped.trim_end();
    body.trim_start_matches(['\n', '\r']).to_owned()
}
