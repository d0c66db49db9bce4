//! Images that the person attaches.

use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use crate::config::read_regular;
use crate::protocol::Block;
use crate::protocol::message::{Image, ImageSource};
use crate::tools::files::image::{Format, ImageError, MAX_BYTES};

pub fn read(path: &Path) -> Result<Block, String> {
    let shown = path.display();
    let size = std::fs::metadata(path).map_or(0, |data| data.len());
    if size > MAX_BYTES {
        return Err(format!("`{shown}`: {}", ImageError::TooManyBytes(size)));
    }
    let bytes = read_regular(path, MAX_BYTES).map_err(|error| format!("`{shown}`: {error}"))?;
    let format = Format::of(&bytes)
        .ok_or_else(|| format!("`{shown}` is not a PNG, JPEG, GIF or WebP image"))?;
    format
        .check(&bytes)
        .map_err(|problem| format!("`{shown}`: {problem}"))?;
    Ok(Block::Image(Image {
        source: ImageSource::Base64 {
            media_type: format.media_type().to_owned(),
            data: BASE64_STANDARD.encode(bytes),
        },
    }))
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn a_file_that_is_no_image_is_refused_by_its_content() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("a.png");
        std::fs::write(&path, "text").expect("written");
        assert!(
            read(&path)
                .is_err_and(|problem| problem.ends_with("is not a PNG, JPEG, GIF or WebP image"))
        );
        assert!(read(folder.path()).is_err(), "a directory");
        assert!(read(&folder.path().join("none.png")).is_err());
    }
}
