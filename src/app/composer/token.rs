//! Long pastes and attached images, each one character in the draft.
//!
//! Each is a character from a private-use plane, so that the caret steps over it, one key deletes it, and undo brings
//! it back. What it stands for is kept here until the program ends, because the history may bring it back. [`clean`]
//! removes these characters from outside text.

use std::path::PathBuf;

use crate::protocol::Block;

const FIRST: u32 = 0xf_0000;
const LAST: u32 = 0xf_fffd;

#[derive(Debug, Clone, PartialEq)]
pub struct Token {
    pub label: String,
    pub content: Content,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    Pasted(String),
    Image { path: PathBuf, block: Block },
}

/// What tokens become when a text leaves the draft.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// For the screen: labels.
    Shown,
    /// For the model: pastes in full, images by their label.
    Sent,
    /// For the disk: pastes in full, images by their path.
    Kept,
}

#[derive(Debug, Default)]
pub struct Tokens {
    all: Vec<Token>,
    /// How many pastes and images of this draft have been numbered.
    pastes: usize,
    images: usize,
}

impl Tokens {
    /// Folds a long paste.
    pub fn fold(&mut self, text: String) -> Result<char, String> {
        let label = match text.lines().count() {
            1 => format!("pasted {} characters", text.chars().count()),
            lines => format!("pasted {lines} lines"),
        };
        let Some(letter) = self.free() else {
            return Err(text);
        };
        self.add(&label, Content::Pasted(text));
        Ok(letter)
    }

    pub fn attach(&mut self, path: PathBuf, block: Block) -> Option<char> {
        let letter = self.free()?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let label = format!("image {}", clean(&name).replace(['\n', '\t'], " "));
        self.add(&label, Content::Image { path, block });
        Some(letter)
    }

    pub fn get(&self, letter: char) -> Option<&Token> {
        let index = u32::from(letter).checked_sub(FIRST)?;
        self.all.get(usize::try_from(index).ok()?)
    }

    /// Numbering begins again with the next draft.
    pub fn start_draft(&mut self) {
        (self.pastes, self.images) = (0, 0);
    }

    pub fn expand(&self, text: &str, form: Form) -> String {
        let mut whole = String::with_capacity(text.len());
        for letter in text.chars() {
            match self.get(letter) {
                Some(token) => token.write(form, &mut whole),
                None => whole.push(letter),
            }
        }
        whole
    }

    /// The images of a text, in order.
    pub fn images<'a>(&'a self, text: &'a str) -> impl Iterator<Item = &'a Block> {
        text.chars()
            .filter_map(|letter| match &self.get(letter)?.content {
                Content::Image { block, .. } => Some(block),
                Content::Pasted(_) => None,
            })
    }

    /// Restores the images whose labels are still in a text that comes back from an editor.
    pub fn restore_images(&self, text: &str, before: &str) -> String {
        let mut restored = text.to_owned();
        for letter in before.chars() {
            if let Some(token) = self.get(letter)
                && let Content::Image { .. } = token.content
            {
                restored = restored.replacen(&token.label, &letter.to_string(), 1);
            }
        }
        restored
    }

    /// Restores the images of a sent text in place of their labels. Returns how many had no label.
    pub fn put_back(&self, text: &str, images: &[&Block]) -> (String, usize) {
        let mut whole = text.to_owned();
        let mut lost = 0;
        for image in images {
            let found = (FIRST..).zip(&self.all).find(|(_, token)| {
                matches!(&token.content, Content::Image { block, .. } if block == *image)
                    && whole.contains(&token.label)
            });
            let letter = found.and_then(|(code, token)| Some((char::from_u32(code)?, token)));
            match letter {
                Some((letter, token)) => {
                    whole = whole.replacen(&token.label, &letter.to_string(), 1);
                }
                None => lost += 1,
            }
        }
        (whole, lost)
    }

    fn free(&self) -> Option<char> {
        let index = u32::try_from(self.all.len()).ok()?;
        char::from_u32(FIRST + index).filter(|letter| is_token(*letter))
    }

    fn add(&mut self, label: &str, content: Content) {
        let number = match content {
            Content::Pasted(_) => &mut self.pastes,
            Content::Image { .. } => &mut self.images,
        };
        *number += 1;
        let label = match *number {
            1 => format!("[{label}]"),
            number => format!("[{label} #{number}]"),
        };
        self.all.push(Token { label, content });
    }
}

impl Token {
    fn write(&self, form: Form, whole: &mut String) {
        match (&self.content, form) {
            (Content::Pasted(text), Form::Sent | Form::Kept) => whole.push_str(text),
            (Content::Image { path, .. }, Form::Kept) => {
                whole.push_str(&clean(&path.to_string_lossy()));
            }
            (Content::Pasted(_) | Content::Image { .. }, Form::Shown)
            | (Content::Image { .. }, Form::Sent) => whole.push_str(&self.label),
        }
    }
}

pub fn is_token(letter: char) -> bool {
    (FIRST..=LAST).contains(&u32::from(letter))
}

pub fn is_clean(text: &str) -> bool {
    text.chars().all(is_allowed)
}

fn is_allowed(letter: char) -> bool {
    matches!(letter, '\n' | '\t') || !(letter.is_control() || is_token(letter))
}

/// A text from outside, made fit for the draft: one form of newline, no control characters, no tokens.
pub fn clean(text: &str) -> String {
    let mut cleaned = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\r' => {
                letters.next_if_eq(&'\n');
                cleaned.push('\n');
            }
            letter if is_allowed(letter) => cleaned.push(letter),
            _ => {}
        }
    }
    cleaned
}
