//! Pages of lists (reference 1): `limit`, `after`, `before`, and the memory that they may take.

use std::sync::Arc;

/// Which part of a list is asked for.
#[derive(Clone, Debug)]
pub struct Page {
    /// 1 to 100.
    pub limit: u32,
    /// Items after this cursor (exclusive).
    pub after: Option<String>,
    /// Items before this cursor (exclusive); without `after` the page is the one that ends right
    /// before it.
    pub before: Option<String>,
    /// The memory for it.
    pub room: Room,
}

/// The memory that a page may take: it is asked before texts are read that may be large. By default
/// there is always enough.
#[derive(Clone, Default)]
pub struct Room(Option<Arc<dyn Fn(u64) -> bool + Send + Sync>>);

impl Room {
    /// `take` is asked for so many bytes more; false: there is no room for them.
    pub fn new(take: impl Fn(u64) -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(take)))
    }

    /// Whether there is room for texts of so many bytes; until the last clone is gone it is theirs.
    pub fn take(&self, bytes: u64) -> bool {
        self.0.as_ref().is_none_or(|take| take(bytes))
    }
}

impl std::fmt::Debug for Room {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "Room(bounded)" } else { "Room" })
    }
}

impl Default for Page {
    fn default() -> Self {
        Self { limit: Self::LIMIT_DEFAULT, after: None, before: None, room: Room::default() }
    }
}

impl Page {
    /// Items on a page where none is asked for.
    pub const LIMIT_DEFAULT: u32 = 10;
    /// The most items that a page holds.
    pub const LIMIT_MAX: u32 = 100;

    /// Cursors that are given, with their names.
    pub fn cursors(&self) -> impl Iterator<Item = (&'static str, &str)> {
        [("after", &self.after), ("before", &self.before)]
            .into_iter()
            .filter_map(|(name, cursor)| Some((name, cursor.as_deref()?)))
    }

    /// Whether the page is filled from its end: going back, what lies next to the cursor is asked
    /// for, not the start of the list.
    pub const fn from_end(&self) -> bool {
        self.before.is_some() && self.after.is_none()
    }
}

/// One page of a list, and how many items the whole list has.
#[derive(Clone, Debug)]
pub struct Listing<T> {
    /// The items of this page.
    pub items: Vec<T>,
    /// Items in the whole list.
    pub total_count: u64,
    /// Ids of stored records of this page that cannot be read, in its order: they are not among the
    /// items, and keep nobody from those.
    pub damaged: Vec<String>,
}

impl<T> Listing<T> {
    /// A page of which everything could be read.
    pub const fn of(items: Vec<T>, total_count: u64) -> Self {
        Self { items, total_count, damaged: Vec::new() }
    }

    /// A list that is read at once, with the ids of the records that cannot be read.
    pub const fn whole(items: Vec<T>, damaged: Vec<String>) -> Self {
        let total_count = (items.len() + damaged.len()) as u64;
        Self { items, total_count, damaged }
    }

    /// The cursor that the next page follows; None behind the last page. A page on which nothing
    /// can be read has one as well.
    pub fn next(&self, id: impl Fn(&T) -> String) -> Option<String> {
        self.items.last().map(id).or_else(|| self.damaged.last().cloned())
    }
}
