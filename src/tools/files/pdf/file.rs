//! The objects of a PDF file, found by scanning for them and not with the file's cross-reference table, which can be
//! damaged.
//!
//! A small file can ask for endless work: objects that refer to each other, pages that are their own ancestors. So
//! all work is charged to one budget, in bytes that are read or copied. Once it is used up, or the call is cancelled,
//! nothing more is found.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::inflate;
use super::object::{Dictionary, Object, Parser};

/// The most that is unpacked from one file, as a protection against decompression bombs.
const MAX_UNPACKED: usize = 64 << 20;
/// The most that is read and copied, some of it several times. A valid file stays far below it.
const MAX_WORK: usize = 512 << 20;
/// The cost of looking up an object, in addition to its bytes.
const OBJECT_COST: usize = 64;
/// The cost of a node in the page tree: there are hardly more of them than pages.
const NODE_COST: usize = 16 << 10;
/// The most pages that are read.
const MAX_PAGES: usize = 2_000;
/// The deepest page tree that is followed.
const MAX_DEPTH: usize = 32;

pub struct File<'a> {
    bytes: &'a [u8],
    /// Where each object begins, after the word `obj`.
    offsets: BTreeMap<u32, usize>,
    /// Objects inside compressed streams.
    packed: BTreeMap<u32, Object>,
    unpacked: Cell<usize>,
    /// The remaining budget.
    work: Cell<usize>,
    cancelled: &'a dyn Fn() -> bool,
}

/// Where a page is.
#[derive(Debug, Clone)]
pub struct Leaf {
    page: Object,
    /// The resources of the parent nodes, for a page without its own.
    inherited: Option<Rc<Object>>,
}

/// What is needed of a page to extract its text.
#[derive(Debug, Default, Clone)]
pub struct Page {
    pub content: Vec<u8>,
    pub fonts: Dictionary,
}

impl<'a> File<'a> {
    pub fn new(bytes: &'a [u8], cancelled: &'a dyn Fn() -> bool) -> Self {
        let mut file = Self {
            bytes,
            offsets: BTreeMap::new(),
            packed: BTreeMap::new(),
            unpacked: Cell::new(0),
            work: Cell::new(MAX_WORK),
            cancelled,
        };
        for found in memchr::memmem::find_iter(bytes, b" obj") {
            // A later object with the same number is the newer one.
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

    /// Whether the budget is used up, so that something may be missing.
    pub fn is_exhausted(&self) -> bool {
        self.work.get() == 0
    }

    /// The pages in order.
    pub fn pages(&self) -> Vec<Leaf> {
        let mut pages = Vec::new();
        let root = self
            .dictionaries()
            .find(|(_, dictionary)| is_type(dictionary, "Catalog"));
        if let Some(tree) = root.and_then(|(_, mut catalog)| catalog.remove("Pages")) {
            self.collect_pages(tree, None, &mut Vec::new(), &mut pages);
        }
        if pages.is_empty() {
            pages = self
                .dictionaries()
                .filter(|(_, dictionary)| is_type(dictionary, "Page"))
                .map(|(id, _)| Leaf {
                    page: Object::Reference(id),
                    inherited: None,
                })
                .take(MAX_PAGES)
                .collect();
        }
        pages
    }

    /// Loads what is needed for the text of a page.
    pub fn page(&self, leaf: &Leaf) -> Page {
        let page = self.dictionary(Some(&leaf.page)).unwrap_or_default();
        let mut content = Vec::new();
        for stream in self.list(page.get("Contents")) {
            if let Object::Reference(id) = stream {
                content.extend(self.stream(id).unwrap_or_default());
                content.push(b'\n');
            }
        }
        let resources = page.get("Resources").or(leaf.inherited.as_deref());
        let resources = self.dictionary(resources).unwrap_or_default();
        Page {
            content,
            fonts: self.dictionary(resources.get("Font")).unwrap_or_default(),
        }
    }

    /// The object, with references followed.
    pub fn resolve(&self, object: Option<&Object>) -> Option<Object> {
        let object = object?;
        self.spend(object.weight())?;
        let mut object = object.clone();
        // References to references are rare, and cycles are malicious.
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

    /// The elements of an array, or the single object that takes the place of an array.
    pub fn list(&self, object: Option<&Object>) -> Vec<Object> {
        match (object, self.resolve(object)) {
            (_, Some(Object::Array(items))) => items,
            (Some(object), _) => vec![object.clone()],
            (None, _) => Vec::new(),
        }
    }

    /// The unpacked content of the stream with this number; `None` if it does not exist or uses another compression.
    pub fn stream(&self, id: u32) -> Option<Vec<u8>> {
        self.spend(OBJECT_COST)?;
        let position = *self.offsets.get(&id)?;
        let mut parser = Parser::new(self.bytes, position);
        let (dictionary, keyword) = (parser.next(), parser.next());
        self.spend(parser.position.saturating_sub(position))?;
        let (Some(Object::Dictionary(dictionary)), Some(Object::Keyword(keyword))) =
            (dictionary, keyword)
        else {
            return None;
        };
        if keyword != b"stream" {
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
            _ => {
                let end = memchr::memmem::find(data, b"endstream");
                self.spend(end.unwrap_or(data.len()))?;
                &data[..end?]
            }
        };
        self.spend(data.len())?;
        let filters = self.list(dictionary.get("Filter"));
        let left = MAX_UNPACKED.saturating_sub(self.unpacked.get());
        let content = match filters.as_slice() {
            [] => data[..data.len().min(left)].to_vec(),
            [filter] if filter.as_name() == Some("FlateDecode") => inflate::unpack(data, left),
            _ => return None,
        };
        self.unpacked.set(self.unpacked.get() + content.len());
        self.spend(content.len())?;
        Some(content)
    }

    fn object(&self, id: u32) -> Option<Object> {
        match self.packed.get(&id) {
            Some(object) => {
                self.spend(OBJECT_COST + object.weight())?;
                Some(object.clone())
            }
            None => self.parse(self.bytes, *self.offsets.get(&id)?),
        }
    }

    fn parse(&self, bytes: &[u8], position: usize) -> Option<Object> {
        self.spend(OBJECT_COST)?;
        let mut parser = Parser::new(bytes, position);
        let object = parser.next();
        self.spend(parser.position.saturating_sub(position))?;
        object
    }

    /// Charges some work to the budget; `None` if it is used up or the call was cancelled.
    fn spend(&self, cost: usize) -> Option<()> {
        let left = if (self.cancelled)() {
            None
        } else {
            self.work.get().checked_sub(cost)
        };
        self.work.set(left.unwrap_or(0));
        left.map(|_| ())
    }

    fn dictionaries(&self) -> impl Iterator<Item = (u32, Dictionary)> {
        let ids = self.offsets.keys().chain(self.packed.keys());
        ids.filter_map(|id| match self.object(*id)? {
            Object::Dictionary(dictionary) => Some((*id, dictionary)),
            _ => None,
        })
    }

    /// Reads the objects that newer files keep in compressed streams.
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

    /// Walks the page tree; a page inherits from its parents what it does not have itself.
    fn collect_pages(
        &self,
        node: Object,
        inherited: Option<&Rc<Object>>,
        above: &mut Vec<u32>,
        pages: &mut Vec<Leaf>,
    ) {
        let Some(mut dictionary) = self
            .spend(NODE_COST)
            .and_then(|()| self.dictionary(Some(&node)))
        else {
            return;
        };
        if !dictionary.contains_key("Kids") {
            pages.push(Leaf {
                page: node,
                inherited: inherited.cloned(),
            });
            return;
        }
        let own = dictionary.remove("Resources").map(Rc::new);
        let inherited = own.as_ref().or(inherited);
        for kid in self.list(dictionary.get("Kids")) {
            let Object::Reference(id) = kid else { continue };
            if pages.len() >= MAX_PAGES || above.len() >= MAX_DEPTH || above.contains(&id) {
                return;
            }
            above.push(id);
            self.collect_pages(kid, inherited, above, pages);
            above.pop();
        }
    }
}

fn is_type(dictionary: &Dictionary, name: &str) -> bool {
    dictionary.get("Type").and_then(Object::as_name) == Some(name)
}

/// The object's number at the end of `12 0`, the text before the word `obj`.
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
