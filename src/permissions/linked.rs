//! Links that a command meets without naming them: among what a glob finds, and on the way down into directories.

use std::path::Path;

use super::path::{PathContext, Spot, physical, within};
use super::pattern::SegmentGlob;

/// More links than this are not checked one by one.
const MOST_LINKS: usize = 1_000;

/// A path that begins with a link that the command does not name.
#[derive(Debug, PartialEq, Eq)]
pub struct FoundLink {
    pub spot: Spot,
    /// It has wildcards after the link.
    pub globs: bool,
}

impl PathContext<'_> {
    /// The links that the shell finds for `glob`, relative to `base`, and what it searches behind them. `None` if that
    /// cannot be told.
    pub fn links_found_by_glob(&self, glob: &str, base: &str) -> Option<Vec<FoundLink>> {
        let names = glob
            .split('/')
            .filter(|name| !matches!(*name, "" | "."))
            .collect();
        let start = if glob.starts_with('/') { "" } else { base };
        let mut waiting: Vec<(String, Vec<&str>)> = vec![(start.to_owned(), names)];
        let mut met = Vec::new();
        while let Some((mut fixed, mut names)) = waiting.pop() {
            let plain = names.iter().take_while(|name| !is_glob(name)).count();
            for name in names.drain(..plain) {
                fixed.push('/');
                fixed.push_str(name);
            }
            if names.is_empty() {
                continue;
            }
            let directory = physical(&fixed, self.links)?;
            let wanted = |level: usize, name: &str| {
                names
                    .get(level)
                    .is_some_and(|pattern| may_find(pattern, name))
            };
            let links = self
                .links
                .links_below(Path::new(&directory), names.len(), &wanted)?;
            for link in links {
                let behind = &names[link.split('/').count()..];
                let path = format!("{fixed}/{link}");
                met.push(FoundLink {
                    spot: Spot::new(&path, self.links),
                    globs: false,
                });
                if !behind.is_empty() {
                    met.push(FoundLink {
                        spot: Spot::new(&format!("{path}/{}", behind.join("/")), self.links),
                        globs: behind.iter().any(|name| is_glob(name)),
                    });
                    waiting.push((path, behind.to_vec()));
                }
                if met.len() > MOST_LINKS {
                    return None;
                }
            }
        }
        Some(met)
    }

    /// Whether a name below `start`, at most `levels` deep, is `odd`. `None` if that cannot be told.
    pub fn any_name_below(
        &self,
        start: &Spot,
        levels: usize,
        odd: &dyn Fn(&str) -> bool,
    ) -> Option<bool> {
        let place = start.physical.as_ref()?;
        self.links.any_name_below(Path::new(place), levels, odd)
    }

    /// Whether `text`, seen from `base`, is itself a link.
    pub fn is_link(&self, text: &str, base: &str) -> bool {
        let base = if text.starts_with('/') { "" } else { base };
        let path = format!("{base}/{text}");
        let path = path.trim_end_matches('/');
        let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
        // Its place is not known, so it may be a link.
        physical(directory, self.links).is_none_or(|directory| {
            let path = Path::new(&directory).join(name);
            self.links.target(&path).is_some()
        })
    }

    /// Whether the file there also has another name (a hard link); with `below`, also any file below it.
    pub fn is_shared(&self, spot: &Spot, below: bool) -> bool {
        spot.physical.as_deref().is_none_or(|place| {
            let place = Path::new(place);
            self.links.is_shared(place)
                || below && self.links.any_shared_below(place) != Some(false)
        })
    }

    /// Whether the shell, standing in `base`, finds a name for `glob` that begins with a dash, or with the plus of
    /// `tail +1f`.
    pub fn glob_finds_flag(&self, glob: &str, base: &str) -> Option<bool> {
        let pattern = glob.split('/').next().unwrap_or(glob);
        let flag = |name: &str| name.starts_with(['-', '+']) && may_find(pattern, name);
        let directory = physical(base, self.links)?;
        self.links.any_name_below(Path::new(&directory), 1, &flag)
    }

    /// The links below `start`, and below those directories inside that such links lead to. `None` if that cannot be
    /// told.
    pub fn links_below(&self, start: &Spot) -> Option<Vec<Spot>> {
        let mut found: Vec<Spot> = Vec::new();
        let mut walked: Vec<String> = Vec::new();
        let mut waiting = vec![start.clone()];
        while let Some(directory) = waiting.pop() {
            let place = directory.physical?;
            if walked.iter().any(|known| within(&place, known)) {
                continue;
            }
            let links = self
                .links
                .links_below(Path::new(&place), usize::MAX, &|_, _| true)?;
            for link in links {
                let spot = Spot {
                    lexical: format!("{}/{link}", directory.lexical.trim_end_matches('/')),
                    physical: physical(&format!("{place}/{link}"), self.links),
                };
                if self.contains(&spot) {
                    waiting.push(spot.clone());
                }
                found.push(spot);
            }
            if found.len() > MOST_LINKS {
                return None;
            }
            walked.push(place);
        }
        Some(found)
    }
}

/// The part before the first name with a wildcard.
pub fn before_glob(text: &str) -> String {
    let names: Vec<&str> = text.split('/').take_while(|name| !is_glob(name)).collect();
    if names == [""] {
        "/".to_owned()
    } else {
        names.join("/")
    }
}

fn is_glob(name: &str) -> bool {
    name.contains(['*', '?', '['])
}

/// Whether the shell may find `name` for `pattern`. Sets depend on the locale, and quoting is no longer known, so after
/// a bracket anything may match.
fn may_find(pattern: &str, name: &str) -> bool {
    if name.starts_with('.') && pattern.starts_with(['*', '?']) {
        return false;
    }
    match pattern.find(['[', '\\']) {
        Some(end) => SegmentGlob::parse(&format!("{}*", &pattern[..end])).matches(name),
        None => SegmentGlob::parse(pattern).matches(name),
    }
}
