//! A page to read: a command's answer that is too long for a line.

use std::sync::Arc;

use super::paging::Paging;
use crate::app::call::CallKey;
use crate::app::page::Line;

#[derive(Debug, Clone, PartialEq)]
pub struct Pager {
    pub title: String,
    pub content: Content,
    pub paging: Paging,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    Lines(Arc<[Line]>),
    /// What these calls have changed.
    Changes(Vec<CallKey>),
}

impl Pager {
    pub fn new(title: impl Into<String>, content: Content) -> Self {
        Self {
            title: title.into(),
            content,
            paging: Paging::default(),
        }
    }
}
