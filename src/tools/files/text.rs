//! Text files: encodings, byte order marks, line endings.
//!
//! Nothing is normalised here. A [`Text`] can always be written back as the same bytes that it was read from; bytes
//! for which that is impossible (invalid UTF-8 or UTF-16) do not become a [`Text`].

/// The content of a text file, without a byte order mark and with its own line endings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    pub content: String,
    pub encoding: Encoding,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    Utf8,
    Utf8WithMark,
    Utf16LittleEndian,
    Utf16BigEndian,
}

/// Why some bytes are not a text that could be written back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotText {
    Binary,
    /// Another encoding, or damaged; the offset of the first invalid byte.
    Invalid {
        at: usize,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Lf,
    CrLf,
    Cr,
}

/// How many bytes at the beginning of a file decide whether it is text.
pub const SNIFFED: usize = 8 * 1024;

impl Text {
    pub fn decode(bytes: &[u8]) -> Result<Self, NotText> {
        let encoding = Encoding::of(bytes);
        let content = match encoding {
            Encoding::Utf8 | Encoding::Utf8WithMark => {
                if is_binary(&bytes[..bytes.len().min(SNIFFED)]) {
                    return Err(NotText::Binary);
                }
                let mark = encoding.mark().len();
                match std::str::from_utf8(&bytes[mark..]) {
                    Ok(content) => content.to_owned(),
                    Err(error) => {
                        let at = mark + error.valid_up_to();
                        return Err(NotText::Invalid { at });
                    }
                }
            }
            Encoding::Utf16LittleEndian => decode_utf16(&bytes[2..], u16::from_le_bytes)?,
            Encoding::Utf16BigEndian => decode_utf16(&bytes[2..], u16::from_be_bytes)?,
        };
        Ok(Self { content, encoding })
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = self.encoding.mark().to_vec();
        match self.encoding {
            Encoding::Utf8 | Encoding::Utf8WithMark => {
                bytes.extend_from_slice(self.content.as_bytes());
            }
            Encoding::Utf16LittleEndian => {
                bytes.extend(self.content.encode_utf16().flat_map(u16::to_le_bytes));
            }
            Encoding::Utf16BigEndian => {
                bytes.extend(self.content.encode_utf16().flat_map(u16::to_be_bytes));
            }
        }
        bytes
    }

    /// The position in the file of a position in `content`.
    pub fn position_in_file(&self, position: usize) -> usize {
        // The mark belongs to the first character: a model that has seen the first line has seen it.
        if position == 0 {
            return 0;
        }
        let before = self.content.get(..position).unwrap_or(&self.content);
        let length = match self.encoding {
            Encoding::Utf8 | Encoding::Utf8WithMark => before.len(),
            Encoding::Utf16LittleEndian | Encoding::Utf16BigEndian => {
                2 * before.encode_utf16().count()
            }
        };
        self.encoding.mark().len() + length
    }

    /// The position in `content` of a position in the file.
    pub fn position_in_content(&self, position: usize) -> usize {
        let after_mark = position.saturating_sub(self.encoding.mark().len());
        match self.encoding {
            Encoding::Utf8 | Encoding::Utf8WithMark => after_mark,
            Encoding::Utf16LittleEndian | Encoding::Utf16BigEndian => {
                let mut units = after_mark / 2;
                for (index, character) in self.content.char_indices() {
                    if units == 0 {
                        return index;
                    }
                    units = units.saturating_sub(character.len_utf16());
                }
                self.content.len()
            }
        }
    }
}

impl Encoding {
    /// The encoding that the first bytes of a file indicate.
    pub fn of(head: &[u8]) -> Self {
        [
            Self::Utf8WithMark,
            Self::Utf16LittleEndian,
            Self::Utf16BigEndian,
        ]
        .into_iter()
        .find(|encoding| head.starts_with(encoding.mark()))
        .unwrap_or(Self::Utf8)
    }

    pub const fn mark(self) -> &'static [u8] {
        match self {
            Self::Utf8 => b"",
            Self::Utf8WithMark => b"\xEF\xBB\xBF",
            Self::Utf16LittleEndian => b"\xFF\xFE",
            Self::Utf16BigEndian => b"\xFE\xFF",
        }
    }

    pub const fn is_utf16(self) -> bool {
        match self {
            Self::Utf8 | Self::Utf8WithMark => false,
            Self::Utf16LittleEndian | Self::Utf16BigEndian => true,
        }
    }
}

impl Ending {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Lf => "\n",
            Self::CrLf => "\r\n",
            Self::Cr => "\r",
        }
    }

    /// The ending of most lines of `text`; `None` if it has no line ending at all. A lone CR ends a line only in a
    /// text without any LF; elsewhere it is a normal character, as in the output of a progress bar.
    pub fn dominant(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let lf = memchr::memchr_iter(b'\n', bytes).count();
        if lf == 0 {
            return memchr::memchr(b'\r', bytes).map(|_| Self::Cr);
        }
        let crlf = memchr::memmem::find_iter(bytes, b"\r\n").count();
        Some(if crlf * 2 > lf { Self::CrLf } else { Self::Lf })
    }

    /// The ending of all lines of `text`; `None` if there is none, or if they differ.
    pub fn uniform(text: &str) -> Option<Self> {
        let ending = Self::dominant(text)?;
        let bytes = text.as_bytes();
        let crlf = memchr::memmem::find_iter(bytes, b"\r\n").count();
        let is_uniform = match ending {
            Self::Lf => crlf == 0,
            Self::CrLf => crlf == memchr::memchr_iter(b'\n', bytes).count(),
            Self::Cr => true,
        };
        is_uniform.then_some(ending)
    }

    /// `text` with this ending on every line that ends in LF or CRLF.
    pub fn on_every_line_of(self, text: &str) -> String {
        let text = text.replace("\r\n", "\n");
        match self {
            Self::Lf => text,
            Self::CrLf | Self::Cr => text.replace('\n', self.as_str()),
        }
    }
}

/// The byte that ends lines in a file with this beginning.
pub fn terminator(head: &[u8]) -> u8 {
    let cr_only = memchr::memchr(b'\n', head).is_none() && memchr::memchr(b'\r', head).is_some();
    if cr_only { b'\r' } else { b'\n' }
}

/// Whether a file with this beginning is not text in any common encoding. Not for UTF-16.
pub fn is_binary(head: &[u8]) -> bool {
    if memchr::memchr(0, head).is_some() {
        return true;
    }
    // Logs and man pages contain backspace, form feed and escape; a text does not contain more than a few other
    // control bytes.
    let is_strange =
        |byte: &u8| *byte < 0x20 && !matches!(*byte, b'\t' | b'\n' | b'\r' | 8 | 12 | 27);
    let strange = head.iter().filter(|byte| is_strange(byte)).count();
    strange * 10 > head.len()
}

fn decode_utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String, NotText> {
    let pairs = bytes.chunks_exact(2);
    if !pairs.remainder().is_empty() {
        return Err(NotText::Invalid {
            at: bytes.len() + 1,
        });
    }
    let mut content = String::with_capacity(bytes.len() / 2);
    let mut at = 2;
    for character in char::decode_utf16(pairs.map(|pair| unit([pair[0], pair[1]]))) {
        let character = character.map_err(|_| NotText::Invalid { at })?;
        at += 2 * character.len_utf16();
        content.push(character);
    }
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::{Encoding, Ending, NotText, Text, is_binary};

    #[test]
    fn every_encoding_is_written_back_as_it_was_read() {
        let utf16 = |unit: fn(u16) -> [u8; 2]| -> Vec<u8> {
            "\u{feff}aé𝄞\r\n".encode_utf16().flat_map(unit).collect()
        };
        for (bytes, encoding) in [
            ("aé𝄞\r\n".as_bytes().to_vec(), Encoding::Utf8),
            (
                "\u{feff}aé𝄞\r\n".as_bytes().to_vec(),
                Encoding::Utf8WithMark,
            ),
            (utf16(u16::to_le_bytes), Encoding::Utf16LittleEndian),
            (utf16(u16::to_be_bytes), Encoding::Utf16BigEndian),
        ] {
            let text = Text::decode(&bytes).expect("valid");
            assert_eq!(text.encoding, encoding);
            assert_eq!(text.content, "aé𝄞\r\n");
            assert_eq!(text.encode(), bytes);
            for position in [0, 1, 3, 7, 9] {
                let in_file = text.position_in_file(position);
                assert_eq!(text.position_in_content(in_file), position);
            }
            assert_eq!(text.position_in_file(9), bytes.len());
        }
    }

    #[test]
    fn bytes_that_could_not_be_written_back_are_not_text() {
        for (bytes, expected) in [
            (&b"caf\xe9 au lait"[..], NotText::Invalid { at: 3 }),
            (b"\xEF\xBB\xBFab\xff", NotText::Invalid { at: 5 }),
            (b"\xFF\xFEa\0\x00\xd8", NotText::Invalid { at: 4 }),
            (b"\xFF\xFEa\0b", NotText::Invalid { at: 4 }),
            (b"\x7fELF\0\0", NotText::Binary),
        ] {
            assert_eq!(Text::decode(bytes), Err(expected), "{bytes:?}");
        }
    }

    #[test]
    fn the_ending_of_most_lines_is_the_files_ending() {
        for (text, expected) in [
            ("", None),
            ("one line", None),
            ("a\nb\n", Some(Ending::Lf)),
            ("a\r\nb\r\nc\n", Some(Ending::CrLf)),
            ("a\r\nb\n", Some(Ending::Lf)),
            ("a\rb\r", Some(Ending::Cr)),
            ("10%\r20%\r\ndone\n", Some(Ending::Lf)),
        ] {
            assert_eq!(Ending::dominant(text), expected, "{text:?}");
        }
    }

    #[test]
    fn an_ending_is_uniform_when_no_line_has_another() {
        for (text, expected) in [
            ("one line", None),
            ("a\nb\n", Some(Ending::Lf)),
            ("10%\r20%\ndone\n", Some(Ending::Lf)),
            ("a\r\nb\r\n", Some(Ending::CrLf)),
            ("a\r\nb\r\nc\n", None),
            ("a\r\nb\nc\n", None),
            ("a\rb\r", Some(Ending::Cr)),
        ] {
            assert_eq!(Ending::uniform(text), expected, "{text:?}");
        }
        for (ending, expected) in [
            (Ending::Lf, "a\nb\n"),
            (Ending::CrLf, "a\r\nb\r\n"),
            (Ending::Cr, "a\rb\r"),
        ] {
            assert_eq!(ending.on_every_line_of("a\r\nb\n"), expected);
        }
    }

    #[test]
    fn control_bytes_make_a_file_binary_and_colours_do_not() {
        assert!(is_binary(b"\x01\x02\x03abc"));
        assert!(!is_binary(b"\x1b[31mred\x1b[0m\n"));
        assert!(!is_binary("naïve café".as_bytes()));
        assert!(!is_binary(b""));
    }
}
