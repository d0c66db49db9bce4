//! Images that can be sent to a model: recognised by their content, measured by their header.
//!
//! A provider refuses a whole request because of one damaged or oversized image, and the image would be in every
//! later request. So an image is checked to its end before it becomes part of a conversation. It is not decoded, so
//! that a decompression bomb cannot do harm.

use super::error::human_size;

/// Encoded in Base64 this is 5 MB, the most that providers accept.
pub const MAX_BYTES: u64 = 3_750_000;
/// The longest side that providers accept, in pixels.
const MAX_SIDE: u32 = 8_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Png,
    Jpeg,
    Gif,
    WebP,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImageError {
    #[error("the image is damaged or incomplete")]
    Damaged,
    #[error(
        "the image has {width}×{height} pixels, the limit is {MAX_SIDE} a side; make it smaller first"
    )]
    TooManyPixels { width: u32, height: u32 },
    #[error("the image has {}, the limit is {}; make it smaller first", human_size(*.0), human_size(MAX_BYTES))]
    TooManyBytes(u64),
}

impl Format {
    /// The format, judging by the first bytes and not by the name.
    pub fn of(head: &[u8]) -> Option<Self> {
        if head.starts_with(b"\x89PNG\r\n\x1a\n") {
            Some(Self::Png)
        } else if head.starts_with(b"\xFF\xD8\xFF") {
            Some(Self::Jpeg)
        } else if head.starts_with(b"GIF87a") || head.starts_with(b"GIF89a") {
            Some(Self::Gif)
        } else if head.starts_with(b"RIFF") && head.get(8..12) == Some(b"WEBP") {
            Some(Self::WebP)
        } else {
            None
        }
    }

    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::WebP => "image/webp",
        }
    }

    /// Whether `bytes`, a whole file, is an image of this format that can be sent.
    pub fn check(self, bytes: &[u8]) -> Result<(), ImageError> {
        if bytes.len() as u64 > MAX_BYTES {
            return Err(ImageError::TooManyBytes(bytes.len() as u64));
        }
        let size = match self {
            Self::Png => png_size(bytes),
            Self::Jpeg => jpeg_size(bytes),
            Self::Gif => gif_size(bytes),
            Self::WebP => webp_size(bytes),
        };
        let (width, height) = size.ok_or(ImageError::Damaged)?;
        if width == 0 || height == 0 {
            return Err(ImageError::Damaged);
        }
        if width > MAX_SIDE || height > MAX_SIDE {
            return Err(ImageError::TooManyPixels { width, height });
        }
        Ok(())
    }
}

// Each of these returns width and height of a complete image, and `None` for an incomplete one.

/// Chunks follow each other up to the last one, `IEND`.
fn png_size(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut chunk = 8;
    if bytes.get(12..16)? != b"IHDR" {
        return None;
    }
    loop {
        let length = u32::from_be_bytes(array(bytes, chunk)?) as usize;
        let kind = bytes.get(chunk + 4..chunk + 8)?;
        // Length, kind and checksum have four bytes each.
        chunk = chunk.checked_add(length)?.checked_add(12)?;
        if chunk > bytes.len() {
            return None;
        }
        if kind == b"IEND" {
            let width = u32::from_be_bytes(array(bytes, 16)?);
            return Some((width, u32::from_be_bytes(array(bytes, 20)?)));
        }
    }
}

/// The size is in the start-of-frame segment; the image ends with the marker `FFD9`.
fn jpeg_size(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut segment = 2;
    loop {
        if *bytes.get(segment)? != 0xFF {
            return None;
        }
        let kind = *bytes.get(segment + 1)?;
        match kind {
            // Padding, and markers without a segment.
            0xFF => segment += 1,
            0x01 | 0xD0..=0xD7 => segment += 2,
            // These three markers in the range are not start-of-frame markers.
            0xC0..=0xCF if !matches!(kind, 0xC4 | 0xC8 | 0xCC) => {
                let height = u16::from_be_bytes(array(bytes, segment + 5)?);
                let width = u16::from_be_bytes(array(bytes, segment + 7)?);
                memchr::memmem::rfind(&bytes[segment..], b"\xFF\xD9")?;
                return Some((width.into(), height.into()));
            }
            // The pixel data begins, or the image ends, before its size was given.
            0xD9 | 0xDA => return None,
            _ => {
                let length = u16::from_be_bytes(array(bytes, segment + 2)?);
                segment += 2 + usize::from(length);
            }
        }
    }
}

fn gif_size(bytes: &[u8]) -> Option<(u32, u32)> {
    let width = u16::from_le_bytes(array(bytes, 6)?);
    let height = u16::from_le_bytes(array(bytes, 8)?);
    // The trailer; some programs add zeros after it.
    let last = bytes.iter().rev().find(|byte| **byte != 0)?;
    (*last == 0x3B).then_some((width.into(), height.into()))
}

fn webp_size(bytes: &[u8]) -> Option<(u32, u32)> {
    let length = u32::from_le_bytes(array(bytes, 4)?) as usize;
    if bytes.len() < length.checked_add(8)? {
        return None;
    }
    let three = |at: usize| -> Option<u32> {
        let [a, b, c] = array(bytes, at)?;
        Some(u32::from_le_bytes([a, b, c, 0]))
    };
    match bytes.get(12..16)? {
        b"VP8X" => Some((three(24)? + 1, three(27)? + 1)),
        b"VP8L" => {
            let bits = u32::from_le_bytes(array(bytes, 21)?);
            Some(((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1))
        }
        b"VP8 " => {
            let width = u16::from_le_bytes(array(bytes, 26)?);
            let height = u16::from_le_bytes(array(bytes, 28)?);
            Some((u32::from(width & 0x3FFF), u32::from(height & 0x3FFF)))
        }
        _ => None,
    }
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

#[cfg(test)]
pub mod tests {
    use super::{Format, ImageError, MAX_BYTES};

    /// A PNG with this size in its header and without pixels.
    pub fn png(width: u32, height: u32) -> Vec<u8> {
        let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
        for (kind, data) in [
            (
                b"IHDR",
                [
                    &width.to_be_bytes()[..],
                    &height.to_be_bytes(),
                    &[8, 2, 0, 0, 0],
                ]
                .concat(),
            ),
            (b"IDAT", vec![0; 20]),
            (b"IEND", Vec::new()),
        ] {
            let length = u32::try_from(data.len()).expect("short");
            bytes.extend(length.to_be_bytes());
            bytes.extend(kind);
            bytes.extend(data);
            bytes.extend([0; 4]);
        }
        bytes
    }

    fn jpeg(width: u16, height: u16) -> Vec<u8> {
        let [w, h] = [width, height].map(u16::to_be_bytes);
        let mut bytes = b"\xFF\xD8\xFF\xE0\x00\x04ab\xFF\xC0\x00\x08\x08".to_vec();
        bytes.extend(h.into_iter().chain(w).chain([1]));
        bytes.extend(b"\xFF\xDA\x00\x02data\xFF\xD9");
        bytes
    }

    fn gif(width: u16, height: u16) -> Vec<u8> {
        let [w, h] = [width, height].map(u16::to_le_bytes);
        [&b"GIF89a"[..], &w, &h, &[0, 0, 0, 0x3B]].concat()
    }

    fn webp(kind: [u8; 4], data: &[u8]) -> Vec<u8> {
        let length = u32::try_from(12 + data.len()).expect("short").to_le_bytes();
        [b"RIFF", &length[..], b"WEBP", &kind, &[0; 4], data].concat()
    }

    #[test]
    fn complete_images_of_all_formats_pass() {
        let lossy = webp(*b"VP8 ", b"\0\0\0\x9d\x01\x2a\x10\0\x20\0");
        let lossless = webp(*b"VP8L", b"\x2f\x0f\xc0\x07\0\0");
        let extended = webp(*b"VP8X", b"\0\0\0\0\x0f\0\0\x1f\0\0");
        for (bytes, format) in [
            (png(16, 32), Format::Png),
            (jpeg(16, 32), Format::Jpeg),
            (gif(16, 32), Format::Gif),
            (lossy, Format::WebP),
            (lossless, Format::WebP),
            (extended, Format::WebP),
        ] {
            assert_eq!(Format::of(&bytes), Some(format));
            assert_eq!(format.check(&bytes), Ok(()), "{format:?}");
        }
        assert_eq!(Format::of(b"GIF is an old format"), None);
    }

    #[test]
    fn a_truncated_image_is_refused() {
        for (bytes, format) in [
            (png(16, 32), Format::Png),
            (jpeg(16, 32), Format::Jpeg),
            (gif(16, 32), Format::Gif),
            (webp(*b"VP8X", &[0; 10]), Format::WebP),
        ] {
            for length in 0..bytes.len() {
                assert_eq!(
                    format.check(&bytes[..length]),
                    Err(ImageError::Damaged),
                    "{format:?} cut at {length}"
                );
            }
        }
    }

    #[test]
    fn oversized_images_are_refused_by_their_header() {
        assert_eq!(
            Format::Png.check(&png(50_000, 50_000)),
            Err(ImageError::TooManyPixels {
                width: 50_000,
                height: 50_000
            })
        );
        assert_eq!(Format::Png.check(&png(0, 5)), Err(ImageError::Damaged));
        let large = vec![0; usize::try_from(MAX_BYTES).expect("small") + 1];
        assert_eq!(
            Format::Png.check(&large),
            Err(ImageError::TooManyBytes(MAX_BYTES + 1))
        );
    }
}
