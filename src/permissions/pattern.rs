//! Path patterns in gitignore's syntax: `*`, `?` and `[..]` inside a segment, `**` across, and an anchor.
//!
//! A pattern that matches a directory covers everything below it, so patterns match prefixes of paths.

use super::path::{PathContext, Spot, within};
use super::rule::RuleList;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathPattern {
    anchor: Anchor,
    segments: Vec<Segment>,
    /// It ends in `/**`: what lies below, but not the directory itself.
    below: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Anchor {
    Root,
    Home,
    Project,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Segment {
    /// `**`: any number of segments.
    Any,
    Glob(SegmentGlob),
}

/// A pattern for one segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentGlob(Vec<Token>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Character(char),
    /// `?`
    One,
    /// `*`
    Star,
    /// `[..]`
    Set {
        negated: bool,
        ranges: Vec<(char, char)>,
    },
}

/// How a path relates to a pattern that ends in `/**`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A file: `dir/**` does not match `dir`.
    File,
    /// A place where a search or a removal starts: `dir/**` matches `dir`.
    Start,
}

impl PathPattern {
    pub fn parse(specifier: &str, list: RuleList) -> Result<Self, String> {
        if specifier.starts_with('!') {
            return Err("a pattern cannot be negated; put it into another list".to_owned());
        }
        let (anchor, text, anchored) = if let Some(rest) = specifier.strip_prefix("//") {
            (Anchor::Root, rest, true)
        } else if specifier == "~" {
            (Anchor::Home, "", true)
        } else if let Some(rest) = specifier.strip_prefix("~/") {
            (Anchor::Home, rest, true)
        } else if let Some(rest) = specifier
            .strip_prefix("./")
            .or_else(|| specifier.strip_prefix('/'))
        {
            (Anchor::Project, rest, true)
        } else {
            (Anchor::Project, specifier, false)
        };
        if let Some(open) = unclosed_set(text) {
            return Err(format!(
                "the `[` in `{open}` is not closed; write `\\[` for the character itself"
            ));
        }
        let mut names: Vec<&str> = text
            .split('/')
            .filter(|name| !name.is_empty() && *name != ".")
            .collect();
        if names.contains(&"..") {
            return Err(
                "`..` is not supported in a pattern; write `//` and the absolute path".to_owned(),
            );
        }
        let below = names.last() == Some(&"**");
        if below {
            names.pop();
        }
        let strict = match list {
            RuleList::Deny | RuleList::Ask => true,
            RuleList::Allow => false,
        };
        let plain_directory =
            below && strict && names.len() == 1 && !names[0].contains(['*', '?', '[']);
        let floats = !anchored && ((names.len() == 1 && !below) || plain_directory);
        let mut segments: Vec<Segment> = if floats {
            vec![Segment::Any]
        } else {
            Vec::new()
        };
        for name in names {
            segments.push(if name == "**" {
                Segment::Any
            } else {
                Segment::Glob(SegmentGlob::parse(name))
            });
        }
        Ok(Self {
            anchor,
            segments,
            below,
        })
    }

    /// Whether one spelling of a path is matched.
    pub fn matches(&self, path: &str, context: &PathContext, role: Role) -> bool {
        self.bases(context)
            .any(|base| relative(path, base).is_some_and(|names| self.matches_names(&names, role)))
    }

    /// Whether the path is matched in either spelling: enough to deny, to ask and to protect.
    pub fn matches_either(&self, spot: &Spot, context: &PathContext, role: Role) -> bool {
        self.matches(&spot.lexical, context, role)
            || spot
                .physical
                .as_deref()
                .is_some_and(|physical| self.matches(physical, context, role))
    }

    /// Whether the path is matched in both spellings: needed to allow.
    pub fn matches_both(&self, spot: &Spot, context: &PathContext, role: Role) -> bool {
        self.matches(&spot.lexical, context, role)
            && spot
                .physical
                .as_deref()
                .is_some_and(|physical| self.matches(physical, context, role))
    }

    /// Whether some path that a shell glob expands to could be matched.
    pub fn may_match(&self, glob: &str, context: &PathContext) -> bool {
        self.bases(context).any(|base| {
            relative(glob, base).is_some_and(|names| {
                let names: Vec<SegmentGlob> =
                    names.iter().map(|name| SegmentGlob::parse(name)).collect();
                self.search(names.len(), |segment, at| segment.intersects(&names[at]))
            })
        })
    }

    /// Whether something below `directory` could be matched.
    pub fn may_match_below(&self, directory: &str, context: &PathContext) -> bool {
        self.bases(context).any(|base| {
            if within(base, directory) {
                return true;
            }
            relative(directory, base).is_some_and(|names| self.reaches_below(&names))
        })
    }

    /// Whether names that begin with these could be matched: there is a way through the segments that uses all names.
    fn reaches_below(&self, names: &[&str]) -> bool {
        let mut ways: Vec<usize> = vec![0];
        for name in names {
            let mut next = Vec::new();
            for way in self.with_any_skipped(&ways) {
                let reached = match self.segments.get(way) {
                    // It matches a prefix already, and therefore everything below.
                    None => return true,
                    Some(Segment::Any) => way,
                    Some(Segment::Glob(glob)) if glob.matches(name) => way + 1,
                    Some(Segment::Glob(_)) => continue,
                };
                if !next.contains(&reached) {
                    next.push(reached);
                }
            }
            ways = next;
        }
        !ways.is_empty()
    }

    /// The ways, including those where `**` matches nothing.
    fn with_any_skipped(&self, ways: &[usize]) -> Vec<usize> {
        let mut all = ways.to_vec();
        let mut at = 0;
        while let Some(&way) = all.get(at) {
            let skipped = way + 1;
            if self.segments.get(way) == Some(&Segment::Any) && !all.contains(&skipped) {
                all.push(skipped);
            }
            at += 1;
        }
        all
    }

    fn bases<'g>(&self, context: &'g PathContext) -> impl Iterator<Item = &'g str> {
        let spot = match self.anchor {
            Anchor::Root => &context.root,
            Anchor::Home => &context.home,
            Anchor::Project => &context.cwd,
        };
        std::iter::once(spot.lexical.as_str()).chain(spot.physical.as_deref())
    }

    fn matches_names(&self, names: &[&str], role: Role) -> bool {
        let needed = usize::from(self.below && role == Role::File);
        let Some(usable) = names.len().checked_sub(needed) else {
            return false;
        };
        self.search(usable, |segment, at| segment.matches(names[at]))
    }

    /// Whether the segments match a prefix of `count` names. Iterative: only the last `**` has to be tried again.
    fn search(&self, count: usize, matches: impl Fn(&SegmentGlob, usize) -> bool) -> bool {
        let (mut segment, mut name) = (0, 0);
        let mut retry: Option<(usize, usize)> = None;
        loop {
            match self.segments.get(segment) {
                None => return true,
                Some(Segment::Any) => {
                    segment += 1;
                    retry = Some((segment, name));
                }
                Some(Segment::Glob(glob)) if name < count && matches(glob, name) => {
                    segment += 1;
                    name += 1;
                }
                Some(Segment::Glob(_)) => match retry {
                    Some((after, from)) if from < count => {
                        (segment, name) = (after, from + 1);
                        retry = Some((after, from + 1));
                    }
                    Some(_) | None => return false,
                },
            }
        }
    }
}

/// The names of `path` below `base`.
fn relative<'p>(path: &'p str, base: &str) -> Option<Vec<&'p str>> {
    let rest = path.strip_prefix(base)?;
    if !base.ends_with('/') && !rest.is_empty() && !rest.starts_with('/') {
        return None;
    }
    Some(rest.split('/').filter(|name| !name.is_empty()).collect())
}

impl SegmentGlob {
    pub fn parse(pattern: &str) -> Self {
        let mut tokens = Vec::new();
        let mut rest = pattern.chars();
        while let Some(character) = rest.next() {
            tokens.push(match character {
                '*' if tokens.last() == Some(&Token::Star) => continue,
                '*' => Token::Star,
                '?' => Token::One,
                '\\' => Token::Character(rest.next().unwrap_or('\\')),
                '[' => match set(rest.as_str()) {
                    Some((set, after)) => {
                        rest = after.chars();
                        set
                    }
                    None => Token::Character('['),
                },
                other => Token::Character(other),
            });
        }
        Self(tokens)
    }

    pub fn matches(&self, name: &str) -> bool {
        let tokens = &self.0;
        let mut token = 0;
        let mut rest = name.chars();
        let mut retry: Option<(usize, std::str::Chars<'_>)> = None;
        loop {
            if tokens.get(token) == Some(&Token::Star) {
                token += 1;
                retry = Some((token, rest.clone()));
                continue;
            }
            let mut after = rest.clone();
            match (tokens.get(token), after.next()) {
                (None, None) => return true,
                (Some(expected), Some(character)) if expected.accepts(character) => {
                    token += 1;
                    rest = after;
                    continue;
                }
                (..) => {}
            }
            // The last star has to match one more character.
            let Some((start, from)) = &mut retry else {
                return false;
            };
            if from.next().is_none() {
                return false;
            }
            token = *start;
            rest = from.clone();
        }
    }

    /// Whether some name could be matched by this pattern and by the shell glob `other`, whose wildcards do not match a
    /// leading dot.
    fn intersects(&self, other: &Self) -> bool {
        if self.0.first() == Some(&Token::Character('.'))
            && other.0.first() != Some(&Token::Character('.'))
        {
            return false;
        }
        let (ours, theirs) = (&self.0, &other.0);
        // reachable[j]: ours[..i] and theirs[..j] can spell the same text.
        let mut reachable = vec![false; theirs.len() + 1];
        reachable[0] = true;
        for i in 0..=ours.len() {
            let mut next = vec![false; theirs.len() + 1];
            for j in 0..=theirs.len() {
                if !reachable[j] {
                    continue;
                }
                let (our, their) = (ours.get(i), theirs.get(j));
                let our_star = our == Some(&Token::Star);
                let their_star = their == Some(&Token::Star);
                if their_star || (our_star && their.is_some()) {
                    reachable[j + 1] = true;
                }
                let both = our
                    .zip(their)
                    .is_some_and(|(our, their)| our_star || their_star || our.overlaps(their));
                if our_star || (their_star && our.is_some()) {
                    next[j] = true;
                }
                if both && j < theirs.len() {
                    next[j + 1] = true;
                }
            }
            if i == ours.len() {
                return reachable[theirs.len()];
            }
            reachable = next;
        }
        false
    }
}

impl Token {
    fn accepts(&self, character: char) -> bool {
        match self {
            Self::Character(expected) => *expected == character,
            Self::One | Self::Star => true,
            Self::Set { negated, ranges } => {
                ranges
                    .iter()
                    .any(|(low, high)| (*low..=*high).contains(&character))
                    != *negated
            }
        }
    }

    /// Whether both may match the same character; in doubt, yes.
    fn overlaps(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Character(character), token) | (token, Self::Character(character)) => {
                token.accepts(*character)
            }
            (
                Self::One | Self::Star | Self::Set { .. },
                Self::One | Self::Star | Self::Set { .. },
            ) => true,
        }
    }
}

/// The rest of a pattern that begins with an unclosed set.
fn unclosed_set(text: &str) -> Option<&str> {
    text.split('/').find_map(|name| {
        let mut rest = name;
        while let Some(at) = rest.find(['[', '\\']) {
            let behind = &rest[at + 1..];
            rest = if rest[at..].starts_with('[') {
                match set(behind) {
                    Some((_, after)) => after,
                    None => return Some(&rest[at..]),
                }
            } else {
                let mut letters = behind.chars();
                letters.next();
                letters.as_str()
            };
        }
        None
    })
}

/// Reads a set after its `[` and returns what follows it.
fn set(text: &str) -> Option<(Token, &str)> {
    let (negated, body) = match text.strip_prefix(['!', '^']) {
        Some(body) => (true, body),
        None => (false, text),
    };
    let mut ranges = Vec::new();
    let mut rest = body.chars();
    loop {
        let low = match rest.next()? {
            ']' if !ranges.is_empty() => break,
            '\\' => rest.next()?,
            other => other,
        };
        let mut ahead = rest.clone();
        match (ahead.next(), ahead.next()) {
            (Some('-'), Some(high)) if high != ']' => {
                rest = ahead;
                ranges.push((low, high));
            }
            (..) => ranges.push((low, low)),
        }
    }
    Some((Token::Set { negated, ranges }, rest.as_str()))
}
