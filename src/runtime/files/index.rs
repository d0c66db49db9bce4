//! The paths of a workspace in one string: a hundred thousand of them take a few megabytes.

#[derive(Debug, Default)]
pub struct Index {
    text: String,
    /// Where each path ends.
    ends: Vec<u32>,
}

impl Index {
    /// Adds a path, unless the index is full.
    pub fn push(&mut self, path: &str) {
        if let Ok(end) = u32::try_from(self.text.len() + path.len()) {
            self.text.push_str(path);
            self.ends.push(end);
        }
    }

    pub fn append(&mut self, other: &Self) {
        for number in 0..other.len() {
            self.push(other.get(number));
        }
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    pub fn get(&self, number: usize) -> &str {
        let at = |end: u32| usize::try_from(end).unwrap_or(usize::MAX);
        let start = number
            .checked_sub(1)
            .map_or(0, |before| at(self.ends[before]));
        &self.text[start..at(self.ends[number])]
    }
}
