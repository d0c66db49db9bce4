//! The objects of a PDF file, found by their look and not by the file's table of contents, which can be damaged.

use std::cell::Cell;
use std::collections::BTreeMap;

use super::inflate;
use super::object::{Dictionary, Object, Parser};

/// All that is unpacked of one file, so that a bomb does no harm.
const MAX_UNPACKED: usize = 64 << 20;
/// All that is read of objects, some of them several times. A sound file stays far below it.
const MAX_PARSED: usize = 512 << 20;
/// More pages than this nobody wants to read at once.
const MAX_PAGES: usize = 2_000;
/// No tree of pages is deeper.
const MAX_DEPTH: usize = 32;

pub struct File<'a> {
    bytes: &'a [u8],
    /// Where the objects begin, behind the word `obj`.
    offsets: BTreeMap<u32, usize>,
    /// Objects that lie in packed streams.
    packed: BTreeMap<u32, Object>,
    unpacked: Cell<usize>,
    parsed: Cell<usize>,
}

/// A page, as far as its text is concerned.
#[derive(Debug, Default, Clone)]
pub struct Page {
    pub content: Vec<u8>,
    pub fonts: Dictionary,
}

impl<'a> File<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        let mut file = Self {
            bytes,
            offsets: BTreeMap::new(),
            packed: BTreeMap::new(),
            unpacked: Cell::new(0),
            parsed: Cell::new(0),
        };
        for found in memchr::memmem::find_iter(bytes, b" obj") {
            // A later object of the same number is the newer one.
            if let Some(id) = object_number(&bytes[..found]) {
                file.offsets.insert(id, found + 4);
            }
        }
        file.unpack_objects();
        file
    }

    /// Whether the file says that it is encrypted.
    pub fn is_encrypted(&self) -> bool {
        memchr::memmem::find(self.bytes, b"/Encrypt").is_some()
    }

    /// The pages in their order.
    pub fn pages(&self) -> Vec<Dictionary> {
        let mut pages = Vec::new();
        let root = self
            .dictionaries()
            .find(|(_, dictionary)| is_type(dictionary, "Catalog"));
        if let Some(tree) = root.and_then(|(_, catalog)| self.dictionary(catalog.get("Pages"))) {
            self.collect_pages(&tree, &mut Vec::new(), &mut pages);
        }
        if pages.is_empty() {
            pages = self
                .dictionaries()
                .map(|(_, dictionary)| dictionary)
                .filter(|dictionary| is_type(dictionary, "Page"))
                .take(MAX_PAGES)
                .collect();
        }
        pages
    }

    /// What is needed for the text of a page.
    pub fn page(&self, page: &Dictionary) -> Page {
        let mut content = Vec::new();
        for stream in self.list(page.get("Contents")) {
            if let Object::Reference(id) = stream {
                content.extend(self.stream(id).unwrap_or_default());
                content.push(b'\n');
            }
        }
        let resources = self.dictionary(page.get("Resources")).unwrap_or_default();
        Page {
            content,
            fonts: self.dictionary(resources.get("Font")).unwrap_or_default(),
        }
    }

    /// The object, references followed.
    pub fn resolve(&self, object: Option<&Object>) -> Option<Object> {
        let mut object = object?.clone();
        // References to references are rare, and circles are malice.
        for _ in 0..8 {
            let Object::Reference(id) = object else {
                return Some(object);
            };
            object = self.object(id)?;
        }
        None
    }

    pub fn dictionary(&self, object: Option<&Object>) -> Option<Dictionary> {
        match self.resolve(object)? {
            Object::Dictionary(dictionary) => Some(dictionary),
            _ => None,
        }
    }

    /// The elements of an array, or the one object that stands for an array of one.
    pub fn list(&self, object: Option<&Object>) -> Vec<Object> {
        match (object, self.resolve(object)) {
            (_, Some(Object::Array(items))) => items,
            (Some(object), _) => vec![object.clone()],
            (None, _) => Vec::new(),
        }
    }

    /// The content of the stream with that number, unpacked; `None` if there is none, or one packed in another way.
    pub fn stream(&self, id: u32) -> Option<Vec<u8>> {
        let mut parser = Parser::new(self.bytes, *self.offsets.get(&id)?);
        let Object::Dictionary(dictionary) = parser.next()? else {
            return None;
        };
        if parser.next()? != Object::Keyword(b"stream".to_vec()) {
            return None;
        }
        let mut start = parser.position;
        start += usize::from(self.bytes.get(start) == Some(&b'\r'));
        start += usize::from(self.bytes.get(start) == Some(&b'\n'));
        let data = self.bytes.get(start..)?;
        let length = self.resolve(dictionary.get("Length"));
        let length = length
            .and_then(|length| length.as_index())
            .map(|length| length as usize);
        let data = match length.and_then(|length| Some((length, data.get(length..)?))) {
            Some((length, rest)) if rest.trim_ascii_start().starts_with(b"endstream") => {
                &data[..length]
            }
            _ => &data[..memchr::memmem::find(data, b"endstream")?],
        };
        let filters = self.list(dictionary.get("Filter"));
        let left = MAX_UNPACKED.saturating_sub(self.unpacked.get());
        let content = match filters.as_slice() {
            [] => data[..data.len().min(left)].to_vec(),
            [filter] if filter.as_name() == Some("FlateDecode") => inflate::unpack(data, left),
            _ => return None,
        };
        self.unpacked.set(self.unpacked.get() + content.len());
        Some(content)
    }

    fn object(&self, id: u32) -> Option<Object> {
        match self.packed.get(&id) {
            Some(object) => Some(object.clone()),
            None => self.parse(self.bytes, *self.offsets.get(&id)?),
        }
    }

    /// The object at `position`, as long as the file keeps within its bounds: objects that each go on to the end of
    /// the file would cost hours.
    fn parse(&self, bytes: &[u8], position: usize) -> Option<Object> {
        if self.parsed.get() > MAX_PARSED {
            return None;
        }
        let mut parser = Parser::new(bytes, position);
        let object = parser.next();
        let length = parser.position.saturating_sub(position);
        self.parsed.set(self.parsed.get() + length);
        object
    }

    fn dictionaries(&self) -> impl Iterator<Item = (u32, Dictionary)> {
        let ids = self.offsets.keys().chain(self.packed.keys());
        ids.filter_map(|id| match self.object(*id)? {
            Object::Dictionary(dictionary) => Some((*id, dictionary)),
            _ => None,
        })
    }

    /// Takes out the objects that newer files keep in packed streams.
    fn unpack_objects(&mut self) {
        let streams: Vec<(u32, Dictionary)> = self
            .dictionaries()
            .filter(|(_, dictionary)| is_type(dictionary, "ObjStm"))
            .collect();
        for (id, dictionary) in streams {
            let index = |key| self.resolve(dictionary.get(key)).and_then(|n| n.as_index());
            let (Some(count), Some(first), Some(content)) =
                (index("N"), index("First"), self.stream(id))
            else {
                continue;
            };
            let mut header = Parser::new(&content, 0);
            let mut found = Vec::new();
            for _ in 0..count {
                let mut number = || header.next().and_then(|object| object.as_index());
                let (Some(id), Some(offset)) = (number(), number()) else {
                    break;
                };
                let position = (first as usize).saturating_add(offset as usize);
                found.extend(self.parse(&content, position).map(|object| (id, object)));
            }
            self.packed.extend(found);
        }
    }

    /// Walks the tree of pages; what a page does not say, its parents say.
    fn collect_pages(&self, node: &Dictionary, above: &mut Vec<u32>, pages: &mut Vec<Dictionary>) {
        if !node.contains_key("Kids") {
            pages.push(node.clone());
            return;
        }
        for kid in self.list(node.get("Kids")) {
            let Object::Reference(id) = kid else { continue };
            if pages.len() >= MAX_PAGES || above.len() >= MAX_DEPTH || above.contains(&id) {
                return;
            }
            if let Some(mut kid) = self.dictionary(Some(&Object::Reference(id))) {
                if let (false, Some(resources)) =
                    (kid.contains_key("Resources"), node.get("Resources"))
                {
                    kid.insert("Resources".into(), resources.clone());
                }
                above.push(id);
                self.collect_pages(&kid, above, pages);
                above.pop();
            }
        }
    }
}

fn is_type(dictionary: &Dictionary, name: &str) -> bool {
    dictionary.get("Type").and_then(Object::as_name) == Some(name)
}

/// The object's number at the end of `12 0`, what stands before the word `obj`.
fn object_number(before: &[u8]) -> Option<u32> {
    let digits_at_end = |bytes: &[u8]| {
        bytes
            .iter()
            .rev()
            .take_while(|byte| byte.is_ascii_digit())
            .count()
    };
    let generation = digits_at_end(before);
    let before = before[..before.len() - generation].strip_suffix(b" ")?;
    let number = &before[before.len() - digits_at_end(before)..];
    if generation == 0 {
        return None;
    }
    std::str::from_utf8(number).ok()?.parse().ok()
}
