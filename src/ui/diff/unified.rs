//! Removed lines above the added ones, in one column.

use crate::app::diff::{Edit, Kind, Part};

use super::Sheet;
use super::gutter::{Gutter, Numbers};
use super::page::{Full, Page};

pub fn fill(sheet: &Sheet<'_>, page: &mut Page) -> Result<(), Full> {
    let numbers = match sheet.width {
        ..24 => Numbers::None,
        24..60 => Numbers::New,
        60.. if sheet.diff.is_new() => Numbers::New,
        60.. => Numbers::Both,
    };
    let gutter = Gutter::new(numbers, sheet.hunks);
    for hunk in sheet.hunks {
        if !sheet.diff.is_new() {
            page.decoration(sheet.hunk_header(hunk))?;
        }
        for part in sheet.diff.parts(hunk) {
            match part {
                Part::Same(Edit { old, new }) => {
                    for (old, new) in old.zip(new) {
                        let kind = Kind::Context { old, new };
                        page.lines(1, sheet.rows(kind, &[], gutter, sheet.width))?;
                    }
                }
                Part::Changed(edit) => changed(sheet, page, gutter, &edit)?,
            }
        }
    }
    Ok(())
}

fn changed(sheet: &Sheet<'_>, page: &mut Page, gutter: Gutter, edit: &Edit) -> Result<(), Full> {
    let pairs = sheet.diff.pairs(edit);
    let mut next = pairs.iter().peekable();
    for (index, old) in edit.old.clone().enumerate() {
        let pair = next.next_if(|pair| pair.removed == index);
        let words = pair.map_or(&[][..], |pair| &pair.words.removed);
        page.lines(
            1,
            sheet.rows(Kind::Removed { old }, words, gutter, sheet.width),
        )?;
    }
    let mut next = pairs.iter().peekable();
    for (index, new) in edit.new.clone().enumerate() {
        let pair = next.next_if(|pair| pair.added == index);
        let words = pair.map_or(&[][..], |pair| &pair.words.added);
        page.lines(
            1,
            sheet.rows(Kind::Added { new }, words, gutter, sheet.width),
        )?;
    }
    Ok(())
}
