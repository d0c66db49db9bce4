//! Files that a command reads without naming them: what `xargs` hands on, and what a glob finds.

use super::super::bash::classify::classify_part;
use super::super::bash::feeding::{Feed, Separator, past_xargs, splits};
use super::super::bash::lists::Lists;
use super::super::bash::programs::is_special_path;
use super::super::bash::reach::{Descent, Reach, follows_links, lists_links};
use super::super::bash::script::{Part, Traits};
use super::super::path::Spot;
use super::{Coverage, LINKS_STRAY, Walk};

impl Coverage<'_, '_> {
    /// Whether what `xargs` is fed names nothing but files that may be read.
    pub(super) fn check_fed(
        &self,
        feed: &Feed<'_>,
        part: &Part,
        separator: Separator,
        walk: &Walk,
    ) -> Result<(), String> {
        feed.reaches(part, separator)?;
        let follow = feed.listers.iter().any(|lister| follows_links(lister));
        let mut starts = Vec::new();
        for lister in &feed.listers {
            let paths = classify_part(lister, Lists::Everyday)?.paths;
            let name = past_xargs(&lister.words).words.first();
            let is = |program: &str| name.is_some_and(|name| name.text == program);
            let descent = Descent {
                here: paths.is_empty() || is("git"),
                starts: paths,
                reach: Reach::Starts,
            };
            let listed = self.starts(&descent, walk);
            // What find prints begins with a path that it started at. For git a colon is as much as a flag.
            if !is("find") && self.finds_name(&listed, 1, &|name| name.starts_with(['-', ':'])) {
                return Err("a name from `xargs` would be read as a flag".to_owned());
            }
            starts.extend(listed);
        }
        if follow {
            starts.extend(self.context.directories());
        }
        if separator == Separator::Blank
            && self.finds_name(&starts, usize::MAX, &|name| name.chars().any(splits))
        {
            return Err(
                "`xargs` would split names with spaces or quotes (or there are too many to check); use `-print0 | xargs -0`"
                    .to_owned(),
            );
        }
        let links = follows_links(part) || feed.listers.iter().any(|lister| lists_links(lister));
        starts.extend(self.context.directories());
        if links && !self.links_stay(&starts) {
            return Err(LINKS_STRAY.to_owned());
        }
        Ok(())
    }

    /// Whether a glob finds a name that the program would take for a flag.
    pub(super) fn check_globs(&self, part: &Part, walk: &Walk) -> Result<(), String> {
        let Some((name, arguments)) = past_xargs(&part.words).words.split_first() else {
            return Ok(());
        };
        if matches!(name.text.as_str(), "echo" | "[" | "test") {
            return Ok(());
        }
        let may_be_flag = arguments
            .iter()
            .take_while(|word| word.raw != "--")
            .filter(|word| {
                word.traits.has(Traits::GLOB) && word.text.starts_with(['*', '?', '[', '-'])
            });
        for word in may_be_flag {
            let mut places = std::iter::once(&walk.directory).chain(&walk.others);
            if !places.all(|from| self.context.glob_finds_flag(&word.text, from) == Some(false)) {
                return Err(format!(
                    "`{}` matches a name that starts with `-`, which would be read as a flag; use `./{}`",
                    word.raw, word.raw
                ));
            }
        }
        Ok(())
    }

    /// Whether a command goes down into places where there are devices or the environment of processes.
    pub(super) fn holds_special(&self, descent: &Descent<'_>, walk: &Walk) -> bool {
        let special = |path: &str| {
            path == "/" || path == "/proc" || path.starts_with("/proc/") || is_special_path(path)
        };
        let starts = self.starts(descent, walk);
        starts.iter().flat_map(Spot::spellings).any(special)
    }

    fn finds_name(&self, starts: &[Spot], levels: usize, odd: &dyn Fn(&str) -> bool) -> bool {
        !starts
            .iter()
            .all(|start| self.context.any_name_below(start, levels, odd) == Some(false))
    }
}
