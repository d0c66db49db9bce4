//! Server-sent events: bytes in, frames out.
//!
//! Bytes may be cut anywhere, even inside a character or between CR and LF: the frames are the same. Characters are
//! decoded only once a line is whole, and only CR, LF and CR LF end a line, because JSON strings may contain U+2028 and
//! similar characters unescaped. Decoders interpret the frames.

use memchr::memchr2;

/// No line, and no event of several `data` lines, may be longer: memory stays bounded whatever the server sends.
pub const MAX_LINE: usize = 32 << 20;

const BOM: &[u8] = "\u{feff}".as_bytes();

/// One event of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    pub event: Option<&'a str>,
    pub data: &'a str,
    /// The stream ended before the empty line that ends an event: `data` may have lost its end.
    pub cut: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a line of the stream is longer than {} MB", MAX_LINE >> 20)]
pub struct LineTooLong;

/// Reads one stream. Its buffers are reused for every frame.
#[derive(Debug, Default)]
pub struct Reader {
    /// The beginning of a line whose end has not arrived yet.
    line: Vec<u8>,
    /// Empty until an `event` line arrives.
    event: String,
    data: String,
    has_data: bool,
    place: Place,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// No line has ended yet: the first one may have a byte order mark.
    #[default]
    Start,
    Inside,
    /// The last byte was a CR: an LF right after it belongs to the same line end.
    AfterCr,
    Failed,
}

impl Reader {
    /// Takes the next bytes and passes on every frame that they complete. After an error, more bytes give the same
    /// error and no frame.
    pub fn push(
        &mut self,
        mut bytes: &[u8],
        on_frame: &mut impl FnMut(Frame<'_>),
    ) -> Result<(), LineTooLong> {
        match self.place {
            Place::Failed => return Err(LineTooLong),
            Place::AfterCr if !bytes.is_empty() => {
                bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
                self.place = Place::Inside;
            }
            Place::Start | Place::Inside | Place::AfterCr => {}
        }
        while let Some(end) = memchr2(b'\n', b'\r', bytes) {
            let (head, rest) = bytes.split_at(end);
            if self.line.is_empty() {
                self.take_line(head, on_frame)?;
            } else {
                self.keep(head)?;
                let mut line = std::mem::take(&mut self.line);
                self.take_line(&line, on_frame)?;
                line.clear();
                self.line = line;
            }
            bytes = match rest {
                [b'\r', b'\n', rest @ ..] => rest,
                [b'\r'] => {
                    self.place = Place::AfterCr;
                    &[]
                }
                rest => &rest[1..],
            };
        }
        self.keep(bytes)
    }

    /// The stream has ended: passes on an event that only lacks its empty line.
    pub fn finish(&mut self, on_frame: &mut impl FnMut(Frame<'_>)) {
        if self.place == Place::Failed {
            return;
        }
        let line = std::mem::take(&mut self.line);
        if line.is_empty() || self.take_line(&line, on_frame).is_ok() {
            self.emit(true, on_frame);
        }
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), LineTooLong> {
        self.check(self.line.len() + bytes.len())?;
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn check(&mut self, length: usize) -> Result<(), LineTooLong> {
        if length <= MAX_LINE {
            return Ok(());
        }
        *self = Self {
            place: Place::Failed,
            ..Self::default()
        };
        Err(LineTooLong)
    }

    fn take_line(
        &mut self,
        mut line: &[u8],
        on_frame: &mut impl FnMut(Frame<'_>),
    ) -> Result<(), LineTooLong> {
        if self.place == Place::Start {
            self.place = Place::Inside;
            line = line.strip_prefix(BOM).unwrap_or(line);
        }
        if line.is_empty() {
            self.emit(false, on_frame);
            return Ok(());
        }
        if let Some(value) = field(line, b"data") {
            self.check(self.data.len() + value.len())?;
            if self.has_data {
                self.data.push('\n');
            }
            self.has_data = true;
            push_decoded(&mut self.data, value);
        } else if let Some(value) = field(line, b"event") {
            self.event.clear();
            push_decoded(&mut self.event, value);
        }
        // Comments, which start with a colon, and other fields are ignored.
        Ok(())
    }

    /// An event without a `data` line is ignored.
    fn emit(&mut self, cut: bool, on_frame: &mut impl FnMut(Frame<'_>)) {
        if self.has_data {
            on_frame(Frame {
                event: Some(self.event.as_str()).filter(|name| !name.is_empty()),
                data: &self.data,
                cut,
            });
        }
        self.event.clear();
        self.data.clear();
        self.has_data = false;
    }
}

/// The value of a line, if its field has this name. A name alone is a field with an empty value.
fn field<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    match line.strip_prefix(name)? {
        [] => Some(&[]),
        [b':', b' ', value @ ..] | [b':', value @ ..] => Some(value),
        _ => None,
    }
}

fn push_decoded(text: &mut String, bytes: &[u8]) {
    match str::from_utf8(bytes) {
        Ok(valid) => text.push_str(valid),
        Err(_) => text.push_str(&String::from_utf8_lossy(bytes)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Just, any, prop_oneof, proptest};
    use proptest::strategy::Strategy;

    use super::{Frame, LineTooLong, MAX_LINE, Reader};

    type Owned = (Option<String>, String, bool);

    fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Owned> {
        let mut frames = Vec::new();
        let mut keep = |frame: Frame<'_>| {
            frames.push((frame.event.map(Into::into), frame.data.into(), frame.cut));
        };
        let mut reader = Reader::default();
        for piece in pieces {
            reader.push(piece, &mut keep).expect("no line is too long");
        }
        reader.finish(&mut keep);
        frames
    }

    fn whole(stream: &str) -> Vec<Owned> {
        read([stream.as_bytes()])
    }

    fn data(text: &str) -> Owned {
        (None, text.into(), false)
    }

    #[test]
    fn every_line_end_gives_the_same_frames() {
        let expected = vec![(Some("a".into()), "1\n2".into(), false), data("3")];
        let stream = "event: a\ndata: 1\ndata:2\n\ndata: 3\n\n";
        for end in ["\n", "\r\n", "\r"] {
            let bytes = stream.replace('\n', end);
            assert_eq!(whole(&bytes), expected, "{end:?}");
            assert_eq!(read(bytes.as_bytes().chunks(1)), expected, "{end:?}");
        }
    }

    #[test]
    fn comments_and_unknown_fields_are_skipped() {
        let stream = ": hello\nid: 7\nretry: 1\nnonsense\n:\ndata: x\n\n: tail\n\n";
        assert_eq!(whole(stream), [data("x")]);
    }

    #[test]
    fn a_byte_order_mark_is_skipped_only_at_the_start() {
        let stream = "\u{feff}data: a\n\ndata: \u{feff}b\n\n";
        let expected = [data("a"), data("\u{feff}b")];
        assert_eq!(whole(stream), expected);
        assert_eq!(read(stream.as_bytes().chunks(1)), expected);
    }

    #[test]
    fn only_one_blank_after_the_colon_is_dropped() {
        assert_eq!(whole("data:  a\n\ndata:b\n\n"), [data(" a"), data("b")]);
    }

    #[test]
    fn an_event_needs_a_data_line_but_not_a_long_one() {
        assert_eq!(whole("event: a\n\ndata\n\ndata:\n\n"), [data(""), data("")]);
    }

    #[test]
    fn a_pending_event_is_handed_over_at_the_end_and_marked() {
        let pending = vec![(Some("e".into()), "x".into(), true)];
        assert_eq!(whole("event: e\ndata: x"), pending);
        assert_eq!(whole("event: e\ndata: x\n"), pending);
        assert_eq!(whole("event: e"), []);
    }

    #[test]
    fn exotic_line_separators_stay_in_the_data() {
        let text = "a\u{2028}b\u{2029}c\u{85}d\u{b}e\u{c}f";
        assert_eq!(whole(&format!("data: {text}\n\n")), [data(text)]);
    }

    #[test]
    fn invalid_utf_8_becomes_replacement_characters() {
        assert_eq!(
            read([&b"data: a\xff\xc3\n\n"[..]]),
            [data("a\u{fffd}\u{fffd}")]
        );
    }

    #[test]
    fn a_line_over_the_cap_ends_the_stream() {
        let mut reader = Reader::default();
        let mut frames = 0;
        let mut count = |_: Frame<'_>| frames += 1;
        let megabyte = vec![b'x'; 1 << 20];
        assert_eq!(reader.push(b"data: ", &mut count), Ok(()));
        for _ in 0..(MAX_LINE >> 20) - 1 {
            assert_eq!(reader.push(&megabyte, &mut count), Ok(()));
        }
        assert_eq!(reader.push(&megabyte, &mut count), Err(LineTooLong));
        assert_eq!(
            reader.push(b"\n\ndata: x\n\n", &mut count),
            Err(LineTooLong)
        );
        reader.finish(&mut count);
        assert_eq!(frames, 0);
    }

    #[test]
    fn many_data_lines_together_are_capped_too() {
        let line = format!("data: {}\n", "x".repeat(1 << 20));
        let mut reader = Reader::default();
        let ended = (0..40).find_map(|_| reader.push(line.as_bytes(), &mut |_| ()).err());
        assert_eq!(ended, Some(LineTooLong));
    }

    proptest! {
        #[test]
        fn any_cut_gives_the_same_frames(
            tokens in proptest::collection::vec(
                prop_oneof![
                    Just("\n".to_owned()), Just("\r".to_owned()), Just("\r\n".to_owned()), Just("data: ".to_owned()),
                    Just("event:".to_owned()), Just(":".to_owned()), Just("é世😀".to_owned()),
                    any::<String>().prop_map(|text| text.chars().take(5).collect()),
                ],
                0..40,
            ),
            cuts in proptest::collection::vec(1_usize..9, 1..20),
        ) {
            let stream = tokens.concat();
            let mut rest = stream.as_bytes();
            let mut pieces = Vec::new();
            for size in cuts.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (piece, tail) = rest.split_at((*size).min(rest.len()));
                pieces.push(piece);
                rest = tail;
            }
            assert_eq!(read(pieces), whole(&stream));
        }
    }
}
