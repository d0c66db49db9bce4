//! The size limit for results: a result that is too large for the model goes to a file, and the model gets its head
//! and tail.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::protocol::{CallRef, ResultBlock};

/// How many result files one call may have; a call can be run again.
const MOST_OF_ONE_CALL: u32 = 1_000;
/// The head gets the limit divided by this, and the tail gets the rest.
const HEAD_SHARE: usize = 2;

/// Cuts text blocks that exceed `limit` characters together, and stores the whole text in a file in `dir`.
pub fn fit(blocks: Vec<ResultBlock>, limit: usize, dir: &Path, call: CallRef) -> Vec<ResultBlock> {
    let mut whole = String::new();
    let mut images = Vec::new();
    for block in &blocks {
        match block {
            ResultBlock::Text { text } => {
                if !whole.is_empty() {
                    whole.push('\n');
                }
                whole.push_str(text);
            }
            ResultBlock::Image(_) => images.push(block.clone()),
        }
    }
    let size = whole.chars().count();
    if size <= limit {
        return blocks;
    }
    let place = match keep(&whole, dir, call) {
        Ok(path) => format!(
            "The whole result is in `{}`; Read can read it.",
            path.display()
        ),
        Err(error) => format!("The whole result could not be kept: {error}."),
    };
    let text = cut(&whole, size, limit, &place);
    std::iter::once(ResultBlock::text(text))
        .chain(images)
        .collect()
}

/// The head and tail of a text of `size` characters, with a line between them about what is missing and where to find
/// it.
pub fn cut(whole: &str, size: usize, limit: usize, place: &str) -> String {
    let head_chars = limit * HEAD_SHARE / (HEAD_SHARE + 1);
    let tail_chars = limit - head_chars;
    let head_end = whole
        .char_indices()
        .nth(head_chars)
        .map_or(whole.len(), |(at, _)| at);
    let tail_start = whole
        .char_indices()
        .nth_back(tail_chars.saturating_sub(1))
        .map_or(0, |(at, _)| at);
    join(
        &whole[..head_end],
        &whole[tail_start.max(head_end)..],
        size.saturating_sub(limit),
        size,
        place,
    )
}

/// Head, notice and tail in one text.
pub fn join(head: &str, tail: &str, missing: usize, size: usize, place: &str) -> String {
    format!("{head}\n\n[… {missing} of {size} characters are not shown here. {place}]\n\n{tail}")
}

fn keep(whole: &str, dir: &Path, call: CallRef) -> io::Result<PathBuf> {
    let (mut file, path) = result_file(dir, call)?;
    let mut bytes = whole.as_bytes().to_vec();
    crate::config::without_keys(&mut bytes, &crate::config::keys());
    file.write_all(&bytes)?;
    Ok(path)
}

/// A new file for a call's whole result.
pub fn result_file(dir: &Path, call: CallRef) -> io::Result<(File, PathBuf)> {
    result_file_as(dir, call, "txt")
}

/// A new file for a part of a call's result. An existing file, from a copied session, is not overwritten.
pub fn result_file_as(dir: &Path, call: CallRef, extension: &str) -> io::Result<(File, PathBuf)> {
    crate::config::dirs::create_private_dir(dir)?;
    for number in 1..=MOST_OF_ONE_CALL {
        let file = if number == 1 {
            format!("call-{call}.{extension}")
        } else {
            format!("call-{call}-{number}.{extension}")
        };
        let path = dir.join(file);
        match OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
        {
            Ok(file) => return Ok((file, path)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::new(
        io::ErrorKind::AlreadyExists,
        "too many results with this name",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Image;

    fn fitted(text: &str, limit: usize) -> (String, tempfile::TempDir) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let blocks = fit(
            vec![ResultBlock::text(text)],
            limit,
            dir.path(),
            CallRef::main(1),
        );
        let [ResultBlock::Text { text }] = blocks.as_slice() else {
            panic!("one text, not {blocks:?}")
        };
        (text.clone(), dir)
    }

    #[test]
    fn a_result_at_the_limit_is_untouched() {
        let (text, dir) = fitted("abcdef", 6);
        assert_eq!(text, "abcdef");
        assert_eq!(std::fs::read_dir(dir.path()).expect("readable").count(), 0);
    }

    #[test]
    fn a_larger_result_is_stored_whole_and_shown_as_head_and_tail_with_size_and_path() {
        let whole = "äbcdefghijkl".repeat(10);
        let (text, dir) = fitted(&whole, 9);
        let path = dir.path().join("call-1.1.txt");
        assert_eq!(std::fs::read_to_string(&path).expect("kept"), whole);
        assert!(text.starts_with("äbcdef\n"), "{text}");
        assert!(text.ends_with("\njkl"), "{text}");
        assert!(text.contains("111 of 120 characters"), "{text}");
        assert!(text.contains(&path.display().to_string()), "{text}");
    }

    #[test]
    fn images_survive_the_cut() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let image = ResultBlock::Image(Image::base64("image/png", "AA=="));
        let blocks = vec![ResultBlock::text("x".repeat(50)), image.clone()];
        let fitted = fit(blocks, 10, dir.path(), CallRef::main(1));
        assert_eq!(fitted.len(), 2);
        assert_eq!(fitted[1], image);
    }

    #[test]
    fn a_result_never_overwrites_another() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let made = || {
            let made = result_file(dir.path(), CallRef::main(7));
            made.expect("a file").1
        };
        assert_eq!(made(), dir.path().join("call-1.7.txt"));
        assert_eq!(made(), dir.path().join("call-1.7-2.txt"));
    }
}
