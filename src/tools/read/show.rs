//! What the model sees of a file, depending on its kind.
//!
//! Nothing is recorded here: a [`Shown`] carries what to record once the model has it.

use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::DEFAULT_VIEW;
use crate::permissions::Places;
use crate::protocol::{Image, ResultBlock};
use crate::tools::ToolOutput;
use crate::tools::files::error::human_size;
use crate::tools::files::image::{self, Format};
use crate::tools::files::open::{Source, open};
use crate::tools::files::page::{Budget, Page, Rest, read_page};
use crate::tools::files::path::shown;
use crate::tools::files::text::{Encoding, SNIFFED, Text, is_binary, terminator};
use crate::tools::files::{FileError, Ledger, Novelty, Part, Stamp, View, notebook, pdf};

/// The largest file that is read as a whole.
const MAX_WHOLE: u64 = 32 << 20;
const BUFFER: usize = 64 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Image(Format),
    Pdf,
    Notebook,
    Utf16,
    Text,
    Binary,
}

/// The result of a Read, ready for the model.
#[derive(Debug)]
pub struct Shown {
    blocks: Vec<ResultBlock>,
    note: Option<Note>,
}

/// What the ledger records once the blocks were shown.
#[derive(Debug)]
struct Note {
    real: PathBuf,
    stamp: Stamp,
    part: Part,
    view: View,
    /// The text to send if the same blocks were shown before. Without one they are shown again.
    if_repeated: Option<String>,
}

impl Shown {
    /// The result; records in the ledger what was shown.
    pub fn into_output(self, ledger: &Ledger) -> ToolOutput {
        if let Some(note) = self.note {
            let novelty = ledger.record_read(&note.real, note.stamp, note.part, note.view);
            if let (Novelty::Repeated, Some(text)) = (novelty, note.if_repeated) {
                return ToolOutput::nothing_found("unchanged", text);
            }
        }
        ToolOutput {
            for_model: self.blocks,
            ..ToolOutput::default()
        }
    }
}

/// One Read: the request and the open file.
struct Reading<'a> {
    path: &'a Path,
    view: View,
    cancelled: &'a dyn Fn() -> bool,
    source: Source,
}

/// Shows `view` of the file at `path`.
pub fn show(
    path: &Path,
    view: View,
    workspace: &Path,
    places: &Places,
    cancelled: &dyn Fn() -> bool,
) -> Result<Shown, FileError> {
    let source = open(path, workspace, places)?;
    let reading = Reading {
        path,
        view,
        cancelled,
        source,
    };
    let mut reader = BufReader::with_capacity(BUFFER, &reading.source.file);
    let head = reader
        .fill_buf()
        .map_err(|error| reading.failed(&error))?
        .to_vec();
    match Kind::of(path, &head) {
        Kind::Image(format) => reading.image(reader, format),
        Kind::Pdf => reading.pdf(reader),
        Kind::Notebook => reading.notebook(reader),
        Kind::Utf16 => reading.utf16(reader),
        Kind::Text => reading.text(reader, terminator(&head)),
        Kind::Binary => Err(FileError::Binary {
            path: shown(path),
            size: human_size(reading.source.stamp.size),
        }),
    }
}

impl Kind {
    fn of(path: &Path, head: &[u8]) -> Self {
        let sniffed = &head[..head.len().min(SNIFFED)];
        if let Some(format) = Format::of(head) {
            Self::Image(format)
        } else if head.starts_with(b"%PDF-") {
            Self::Pdf
        } else if Encoding::of(head).is_utf16() {
            Self::Utf16
        } else if is_binary(sniffed) {
            Self::Binary
        } else if path
            .extension()
            .is_some_and(|extension| extension == "ipynb")
        {
            Self::Notebook
        } else {
            Self::Text
        }
    }
}

impl Reading<'_> {
    fn text(&self, reader: impl BufRead, terminator: u8) -> Result<Shown, FileError> {
        let page = self.page(reader, terminator)?;
        let part = page.part();
        Ok(self.finish(&page, part))
    }

    /// Read as a whole, because its lines are only known after decoding.
    fn utf16(&self, reader: impl Read) -> Result<Shown, FileError> {
        let bytes = self.whole(reader, MAX_WHOLE)?;
        let text = Text::decode(&bytes).map_err(|_| FileError::Binary {
            path: shown(self.path),
            size: human_size(self.source.stamp.size),
        })?;
        let content = text.content.as_bytes();
        let page = self.page(content, terminator(content))?;
        let position = |at: u64| text.position_in_file(usize::try_from(at).unwrap_or(usize::MAX));
        let range = position(page.bytes.start)..position(page.bytes.end);
        let part = Part::of(&bytes, &range);
        Ok(self.finish(&page, part))
    }

    fn image(&self, reader: impl Read, format: Format) -> Result<Shown, FileError> {
        let bytes = self.whole(reader, image::MAX_BYTES)?;
        format.check(&bytes).map_err(|error| {
            FileError::BadContent(format!("{} cannot be shown: {error}", shown(self.path)))
        })?;
        let image = Image::base64(format.media_type(), STANDARD.encode(&bytes));
        Ok(Shown {
            blocks: vec![ResultBlock::Image(image)],
            note: Some(self.note(Part::whole(&bytes))),
        })
    }

    fn notebook(&self, reader: impl Read) -> Result<Shown, FileError> {
        let bytes = self.whole(reader, MAX_WHOLE)?;
        match notebook::cells(&bytes) {
            Ok(text) if !text.is_empty() => Ok(self.whole_text(&bytes, text, "Notebooks")),
            // Any other file is shown as text.
            Ok(_) | Err(_) => self.text(bytes.as_slice(), terminator(&bytes)),
        }
    }

    fn pdf(&self, reader: impl Read) -> Result<Shown, FileError> {
        let bytes = self.whole(reader, MAX_WHOLE)?;
        let text = pdf::describe(&bytes, self.path, self.cancelled);
        Ok(self.whole_text(&bytes, text, "PDF files"))
    }

    /// A text that is not made of the file's lines: there is only one view of it, whatever lines were requested.
    /// `kinds` names files of this kind.
    fn whole_text(&self, bytes: &[u8], text: String, kinds: &str) -> Shown {
        let remark = match self.view {
            DEFAULT_VIEW => String::new(),
            View { .. } => reminder(&format!(
                "{kinds} are always shown from the beginning and whole: `offset` and `limit` do not apply."
            )),
        };
        let with_remark = |text: String| match remark.as_str() {
            "" => text,
            remark => format!("{text}\n{remark}"),
        };
        Shown {
            blocks: vec![ResultBlock::text(with_remark(text))],
            note: Some(Note {
                view: DEFAULT_VIEW,
                if_repeated: Some(with_remark(self.unchanged())),
                ..self.note(Part::whole(bytes))
            }),
        }
    }

    fn page(&self, reader: impl BufRead, terminator: u8) -> Result<Page, FileError> {
        let mut budget = Budget::default();
        // Do not start to count lines if the file is too large to finish.
        if self.source.stamp.size > budget.counted {
            budget.counted = 0;
        }
        read_page(reader, self.view, terminator, budget, self.cancelled)
            .map_err(|error| self.failed(&error))
    }

    fn whole(&self, reader: impl Read, limit: u64) -> Result<Vec<u8>, FileError> {
        let too_large = |size: u64| FileError::TooLarge {
            path: shown(self.path),
            size: human_size(size),
            limit: human_size(limit),
            advice: "Make it smaller, or extract what you need with Bash",
        };
        let size = self.source.stamp.size;
        if size > limit {
            return Err(too_large(size));
        }
        let mut bytes = Vec::new();
        reader
            .take(limit + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| self.failed(&error))?;
        // It may have grown since it was opened.
        if bytes.len() as u64 > limit {
            return Err(too_large(bytes.len() as u64));
        }
        Ok(bytes)
    }

    fn failed(&self, error: &io::Error) -> FileError {
        if (self.cancelled)() {
            return FileError::Cancelled;
        }
        FileError::io("read", self.path, error)
    }

    fn note(&self, part: Part) -> Note {
        Note {
            real: self.source.real.clone(),
            stamp: self.source.stamp,
            part,
            view: self.view,
            if_repeated: Some(self.unchanged()),
        }
    }

    /// The text of a page with its remarks.
    fn finish(&self, page: &Page, part: Part) -> Shown {
        let (text, note) = match page.rest {
            Rest::End { total: 0 } => (
                reminder("Warning: the file exists but the contents are empty."),
                Some(Note {
                    if_repeated: None,
                    ..self.note(part)
                }),
            ),
            Rest::End { total } if page.lines == 0 => (
                reminder(&format!(
                    "Warning: the file exists but is shorter than the provided offset ({}). The file has {total} {}.",
                    self.view.offset,
                    if total == 1 { "line" } else { "lines" }
                )),
                None,
            ),
            Rest::TooFar { reached } => (
                reminder(&format!(
                    "Warning: line {} is too far into the file; reading stopped at line {reached}. \
                     Use Bash, for example `tail` or `sed -n`.",
                    self.view.offset
                )),
                None,
            ),
            Rest::End { .. } | Rest::More { .. } | Rest::OfLine => {
                (self.with_notes(page), Some(self.note(part)))
            }
        };
        Shown {
            blocks: vec![ResultBlock::text(text)],
            note,
        }
    }

    fn with_notes(&self, page: &Page) -> String {
        let (first, last) = (self.view.offset, self.view.offset + page.lines - 1);
        let mut notes = Vec::new();
        match page.rest {
            Rest::More { total: Some(total) } => notes.push(format!(
                "Lines {first}-{last} of {total} are shown; use offset={} to continue.",
                last + 1
            )),
            Rest::More { total: None } => notes.push(format!(
                "Lines {first}-{last} of a file of {} are shown; use offset={} to continue.",
                human_size(self.source.stamp.size),
                last + 1
            )),
            Rest::OfLine => notes.push(format!(
                "Line {last} is so long that reading stopped within it, and what follows was not read. \
                 Use Bash, for example `cut -c`, for the rest.",
            )),
            Rest::End { .. } | Rest::TooFar { .. } => {}
        }
        if page.invalid {
            notes.push(
                "The file is not valid UTF-8: bytes that could not be decoded are shown as \u{fffd}. \
                 Edit and Write cannot change it before it is converted."
                    .into(),
            );
        }
        let mut text = page.text.clone();
        for note in notes {
            text.push('\n');
            text.push_str(&reminder(&note));
        }
        text
    }

    fn unchanged(&self) -> String {
        format!(
            "File unchanged since last read: {}. The result of that earlier Read still holds: use it instead.",
            shown(self.path)
        )
    }
}

fn reminder(text: &str) -> String {
    format!("<system-reminder>{text}</system-reminder>")
}
