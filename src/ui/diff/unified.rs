//! Removed lines above the added ones, in one column.

use crate::app::diff::{Edit, Kind, Part};

use super::DiffContext;
use super::gutter::{Gutter, Numbers};
use super::page::{Full, Page};

pub fn fill(context: &DiffContext<'_>, page: &mut Page) -> Result<(), Full> {
    let numbers = match context.width {
        ..24 => Numbers::None,
        24..60 => Numbers::New,
        60.. if context.diff.is_new() => Numbers::New,
        60.. => Numbers::Both,
    };
    let gutter = Gutter::new(numbers, context.hunks);
    for hunk in context.hunks {
        if !context.diff.is_new() {
            page.decoration(context.hunk_header(hunk))?;
        }
        for part in context.diff.parts(hunk) {
            match part {
                Part::Same(Edit { old, new }) => {
                    for (old, new) in old.zip(new) {
                        let kind = Kind::Context { old, new };
                        page.lines(1, context.rows(kind, &[], gutter, context.width))?;
                    }
                }
                Part::Changed(edit) => changed(context, page, gutter, &edit)?,
            }
        }
    }
    Ok(())
}

fn changed(
    context: &DiffContext<'_>,
    page: &mut Page,
    gutter: Gutter,
    edit: &Edit,
) -> Result<(), Full> {
    let pairs = context.diff.pairs(edit);
    let mut next = pairs.iter().peekable();
    for (index, old) in edit.old.clone().enumerate() {
        let pair = next.next_if(|pair| pair.removed == index);
        let words = pair.map_or(&[][..], |pair| &pair.words.removed);
        page.lines(
            1,
            context.rows(Kind::Removed { old }, words, gutter, context.width),
        )?;
    }
    let mut next = pairs.iter().peekable();
    for (index, new) in edit.new.clone().enumerate() {
        let pair = next.next_if(|pair| pair.added == index);
        let words = pair.map_or(&[][..], |pair| &pair.words.added);
        page.lines(
            1,
            context.rows(Kind::Added { new }, words, gutter, context.width),
        )?;
    }
    Ok(())
}
