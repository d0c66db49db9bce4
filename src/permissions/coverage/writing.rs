//! What a command writes, as far as it is written out: redirections, and the targets of file commands.

use super::super::bash::base_name;
use super::super::bash::files::{Kind, accesses, copies_trees, is_plain_edit, redirected};
use super::super::bash::script::{Descriptor, Joint, Part, Traits, Word};
use super::super::bash::wrappers::{is_known_safe, unwrap};
use super::super::linked::before_glob;
use super::super::names::EDIT;
use super::super::path::Spot;
use super::super::pattern::Role;
use super::super::protected::{any_protected_below, may_hold_protected};
use super::super::search::place;
use super::{Basis, Coverage, Walk, is_whole_bash};
use crate::protocol::Mode;

impl<'r> Coverage<'r, '_> {
    /// `mkdir`, `touch`, `mv` and `cp` with literal words, all of whose paths lie inside.
    pub(super) fn edits_inside(&self, part: &Part, walk: &Walk) -> bool {
        let unwrapped = unwrap(&part.words);
        let Some((name, arguments)) = unwrapped.words.split_first() else {
            return false;
        };
        // What `xargs` adds to the paths nobody has seen.
        !unwrapped.fed
            && part.assignments.iter().all(is_known_safe)
            && part.nested.is_empty()
            && part.joint != Joint::Background
            && name.is_bare()
            && is_plain_edit(&name.text, arguments)
            && self.touches_inside(&name.text, arguments, walk)
    }

    fn touches_inside(&self, name: &str, arguments: &[Word], walk: &Walk) -> bool {
        let trees = copies_trees(name, arguments);
        let copies = matches!(name, "cp" | "mv");
        accesses(name, arguments).iter().all(|access| {
            let source = copies && access.kind == Kind::Read;
            let target = access.kind == Kind::Write;
            // What appears below a directory that is named is written whole; the directory is not.
            let below = trees && access.text != access.word.text;
            let from = std::iter::once(&walk.directory).chain(&walk.others);
            // A copy of a link is one that the parts behind this one would write through, unseen.
            let links = |base: &String| source && self.context.is_link(&access.text, base);
            !from.into_iter().any(links)
                && self.everywhere(&access.text, walk, |spot| {
                    let context = self.context;
                    // A tree may be written through links in it, or bring links along.
                    let no_links = || context.links_below(spot).is_some_and(|l| l.is_empty());
                    // What is protected in the copy is known by the names in the source.
                    let plain = || any_protected_below(spot, context) == Some(false);
                    context.contains(spot)
                        && (!trees || no_links())
                        && (!trees || !source || plain())
                        && (!below || !may_hold_protected(spot))
                        && (!target || !context.is_shared(spot, below))
                })
        })
    }

    /// What allows the files that a part writes by redirections. Reading has to be allowed, too.
    pub(super) fn redirects(
        &self,
        part: &Part,
        walk: &mut Walk,
        bases: &mut Vec<Basis<'r>>,
    ) -> Result<(), String> {
        for redirect in &part.redirects {
            let Some(access) = redirected(redirect) else {
                continue;
            };
            let target = &redirect.target;
            if redirect.descriptor == Descriptor::Named || !target.is_literal() {
                return Err(format!(
                    "can't tell where the redirection `{}` goes",
                    target.raw
                ));
            }
            match access.kind {
                Kind::Read if self.everywhere(&target.text, walk, |spot| self.may_read(spot)) => {}
                Kind::Read => return Err(format!("it reads `{}`", target.raw)),
                Kind::Write => {
                    walk.writes = true;
                    let allowed = self.writes(&target.text, walk);
                    bases.push(allowed.ok_or_else(|| format!("it writes `{}`", target.raw))?);
                }
            }
        }
        Ok(())
    }

    /// What allows a file to be written, from wherever the shell may stand.
    fn writes(&self, path: &str, walk: &Walk) -> Option<Basis<'r>> {
        // The other name of a file may be one that nobody would have accepted.
        let inside =
            |spot: &Spot| self.context.contains(spot) && !self.context.is_shared(spot, false);
        if self.mode == Mode::AcceptEdits && self.everywhere(path, walk, inside) {
            return Some(Basis::Mode);
        }
        // A question would protect nothing that `tee` does not do.
        let everything = self.rules.allow.iter().find(|rule| is_whole_bash(rule));
        let allowing = |spot: &Spot| {
            let inside = everything.filter(|_| self.context.contains(spot));
            inside.or_else(|| self.allowing(EDIT, spot, Role::File))
        };
        let edits = self.mode == Mode::AcceptEdits;
        let accepted = |spot: &Spot| edits && inside(spot) || allowing(spot).is_some();
        if !self.everywhere(path, walk, accepted) {
            return None;
        }
        let somewhere = std::iter::once(&walk.directory).chain(&walk.others);
        let mut spots = somewhere.map(|from| self.context.spot_literal(path, from));
        spots.find_map(|spot| allowing(&spot)).map(Basis::Rule)
    }

    /// A bare `Bash` rule covers no file command that writes outside the working directories, as it covers no redirection
    /// there. Where the shell puts the path together, nothing can be said.
    pub(super) fn stays_inside(&self, part: &Part, walk: &Walk) -> Result<(), String> {
        let Some((name, arguments)) = unwrap(&part.words).words.split_first() else {
            return Ok(());
        };
        for access in accesses(base_name(&name.text), arguments) {
            let traits = access.word.traits;
            if access.kind == Kind::Read || traits.has(Traits::BRACE) {
                continue;
            }
            let Some(text) = place(&access.text, traits, self.context) else {
                continue;
            };
            let text = if traits.has(Traits::TILDE) {
                self.context.expand(&text)
            } else {
                text
            };
            let text = if traits.has(Traits::GLOB) {
                before_glob(&text)
            } else {
                text
            };
            let accepted = |spot: &Spot| {
                matches!(
                    spot.lexical.as_str(),
                    "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/tty"
                ) || self.context.contains(spot)
                    || self.allowing(EDIT, spot, Role::File).is_some()
            };
            if !self.everywhere(&text, walk, accepted) {
                return Err(format!("it writes `{}`, outside this project", access.text));
            }
        }
        Ok(())
    }
}
