//! Recently fetched pages. Bounded, and cleaned up whenever it is used, so that it needs no timer.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::page::Page;

const KEPT_FOR: Duration = Duration::from_secs(15 * 60);
const MOST_PAGES: usize = 64;
const MOST_BYTES: usize = 32 << 20;

#[derive(Default)]
pub struct Cache {
    /// Oldest first.
    pages: Mutex<VecDeque<CachedPage>>,
}

struct CachedPage {
    url: String,
    since: Instant,
    page: Arc<Page>,
}

impl Cache {
    pub fn get(&self, url: &str, now: Instant) -> Option<Arc<Page>> {
        let mut pages = self.lock();
        forget(&mut pages, now);
        let found = pages.iter().find(|kept| kept.url == url);
        found.map(|kept| kept.page.clone())
    }

    pub fn put(&self, url: &str, page: Arc<Page>, now: Instant) {
        let mut pages = self.lock();
        pages.retain(|kept| kept.url != url);
        forget(&mut pages, now);
        pages.push_back(CachedPage {
            url: url.to_owned(),
            since: now,
            page,
        });
        let size = |pages: &VecDeque<CachedPage>| -> usize {
            pages.iter().map(|kept| kept.page.size()).sum()
        };
        while pages.len() > MOST_PAGES || size(&pages) > MOST_BYTES {
            pages.pop_front();
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<CachedPage>> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn forget(pages: &mut VecDeque<CachedPage>, now: Instant) {
    pages.retain(|kept| now.saturating_duration_since(kept.since) < KEPT_FOR);
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use super::{Cache, MOST_BYTES, MOST_PAGES};
    use crate::tools::web::page::{Content, Page};

    fn page(length: usize) -> Arc<Page> {
        Arc::new(Page {
            url: "https://example.com/".into(),
            status: 200,
            kind: "text/plain".into(),
            title: None,
            received: length,
            is_cut: false,
            content: Content::Text("x".repeat(length)),
        })
    }

    #[test]
    fn a_page_is_kept_for_fifteen_minutes() {
        let (cache, now) = (Cache::default(), Instant::now());
        cache.put("a", page(1), now);
        let minutes = |count: u64| now + Duration::from_secs(60 * count);
        assert!(cache.get("a", minutes(14)).is_some());
        assert!(cache.get("b", minutes(14)).is_none());
        assert!(cache.get("a", minutes(15)).is_none());
        assert!(cache.lock().is_empty(), "and removed then");
    }

    #[test]
    fn the_oldest_pages_make_room() {
        let (cache, now) = (Cache::default(), Instant::now());
        for number in 0..=MOST_PAGES {
            cache.put(&number.to_string(), page(1), now);
        }
        assert!(cache.get("0", now).is_none() && cache.get("1", now).is_some());
        cache.put("large", page(MOST_BYTES - 10), now);
        assert!(cache.lock().len() < 12 && cache.get("large", now).is_some());
        cache.put("too large", page(MOST_BYTES + 1), now);
        assert!(
            cache.lock().is_empty(),
            "a page that does not fit is not kept"
        );
    }
}
