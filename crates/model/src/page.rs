//! Pages of lists (reference 1): `limit`, `after`, `before`.

/// Which part of a list is asked for.
#[derive(Clone, Debug)]
pub struct Page {
    /// 1 to 100.
    pub limit: u32,
    /// Items after this cursor (exclusive).
    pub after: Option<String>,
    /// Items before this cursor (exclusive); without `after` the page is the one that ends right before it.
    pub before: Option<String>,
}

impl Default for Page {
    fn default() -> Self {
        Self { limit: Self::LIMIT_DEFAULT, after: None, before: None }
    }
}

impl Page {
    /// Items on a page where none is asked for.
    pub const LIMIT_DEFAULT: u32 = 10;
    /// The most items that a page holds.
    pub const LIMIT_MAX: u32 = 100;

    /// Cursors that are given, with their names.
    pub fn cursors(&self) -> impl Iterator<Item = (&'static str, &str)> {
        [("after", &self.after), ("before", &self.before)].into_iter().filter_map(|(name, cursor)| Some((name, cursor.as_deref()?)))
    }

    /// Whether the page is filled from its end: going back, what lies next to the cursor is asked for, not the start of the list.
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
}
