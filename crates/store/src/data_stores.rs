//! Data stores.

use async_trait::async_trait;
use millrace_model::clock::Timestamp;
use millrace_model::data_store::DataStore;
use millrace_model::ids::{DataStoreId, OrgId};
use millrace_model::page::{Listing, Page};

use crate::StoreResult;

/// A value to be written to a data store.
#[derive(Clone, Debug)]
pub struct DataStoreWrite {
    /// The store.
    pub store_id: DataStoreId,
    /// The key.
    pub key: String,
    /// The value, JSON text.
    pub value: String,
    /// When it ends; none: never, also where the key had an end.
    pub expires_at: Option<Timestamp>,
    /// The time by which others have ended.
    pub now: Timestamp,
    /// Keys that the store may have.
    pub keys_max: u64,
    /// Bytes that its keys and values may take.
    pub bytes_max: u64,
}

/// Which part of a data store is asked for, in the order of keys (by their UTF-8 bytes).
#[derive(Clone, Debug)]
pub struct DataStorePage {
    /// Keys after this one.
    pub after: Option<String>,
    /// Keys that begin so; empty: all.
    pub prefix: String,
    /// How many at most.
    pub limit: u32,
    /// Entries that have ended by then are not there.
    pub now: Timestamp,
}

/// What stands right behind all texts that begin so, in the order of their UTF-8 bytes; None: there
/// is nothing behind them.
pub fn end_of_prefix(prefix: &str) -> Option<String> {
    let mut kept = prefix.to_owned();
    while let Some(last) = kept.pop() {
        // The next scalar value: a range of characters skips the surrogates.
        if let Some(next) = (last..=char::MAX).nth(1) {
            kept.push(next);
            return Some(kept);
        }
    }
    None
}

/// An entry of a data store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataStoreEntry {
    /// The key.
    pub key: String,
    /// The value, JSON text.
    pub value: String,
    /// When it ends.
    pub expires_at: Option<Timestamp>,
}

/// Data stores and their entries.
#[async_trait]
pub trait DataStores: Send + Sync + 'static {
    /// Stores a data store; its counts start at 0. `Taken("name")`; `Full` where the organization
    /// has as many as it may.
    async fn create_data_store(&self, store: DataStore) -> StoreResult<()>;
    /// Renames a data store. `NotFound`, `Taken("name")`.
    async fn rename_data_store(
        &self,
        org: &OrgId,
        id: &DataStoreId,
        name: &str,
        now: Timestamp,
    ) -> StoreResult<()>;
    /// Removes a data store with all it holds; says whether there was one.
    async fn delete_data_store(&self, org: &OrgId, id: &DataStoreId) -> StoreResult<bool>;
    /// A data store of the organization.
    async fn data_store(&self, org: &OrgId, id: &DataStoreId) -> StoreResult<Option<DataStore>>;
    /// The data store of that name.
    async fn data_store_by_name(&self, org: &OrgId, name: &str) -> StoreResult<Option<DataStore>>;
    /// The data stores, newest first. Cursor: id.
    async fn list_data_stores(&self, org: &OrgId, page: &Page) -> StoreResult<Listing<DataStore>>;
    /// The entry of a key that has not ended by `now`.
    async fn data_store_entry(
        &self,
        id: &DataStoreId,
        key: &str,
        now: Timestamp,
    ) -> StoreResult<Option<DataStoreEntry>>;
    /// Writes a value. What has ended makes room where there is none. `NotFound` where the store is
    /// gone, `Full`.
    async fn data_store_set(&self, write: DataStoreWrite) -> StoreResult<()>;
    /// Gives a key another end, or none; says whether it was there.
    async fn data_store_expire(
        &self,
        id: &DataStoreId,
        key: &str,
        expires_at: Option<Timestamp>,
        now: Timestamp,
    ) -> StoreResult<bool>;
    /// Removes a key; says whether it was there, ended or not.
    async fn data_store_delete(&self, id: &DataStoreId, key: &str) -> StoreResult<bool>;
    /// Removes all keys. Not of one moment where they are many: what is written meanwhile may stay.
    async fn data_store_clear(&self, id: &DataStoreId) -> StoreResult<()>;
    /// How many keys begin so and have not ended by `now`.
    async fn data_store_size(
        &self,
        id: &DataStoreId,
        prefix: &str,
        now: Timestamp,
    ) -> StoreResult<u64>;
    /// A page of keys.
    async fn data_store_keys(
        &self,
        id: &DataStoreId,
        page: DataStorePage,
    ) -> StoreResult<Vec<String>>;
    /// A page of entries; it ends early, but not before its first, where it would hold more than
    /// `bytes_max` of values.
    async fn data_store_entries(
        &self,
        id: &DataStoreId,
        page: DataStorePage,
        bytes_max: usize,
    ) -> StoreResult<Vec<DataStoreEntry>>;
    /// Removes entries that have ended by `now`, at most `limit`. How many.
    async fn purge_data_stores(&self, now: Timestamp, limit: u32) -> StoreResult<u64>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_prefix_stands_right_behind_all_that_begin_so() {
        let end = |prefix: &str| end_of_prefix(prefix);
        assert_eq!((end("a"), end("ab/")), (Some("b".into()), Some("ab0".into())));
        assert_eq!(end("a\u{d7ff}"), Some("a\u{e000}".into()));
        assert_eq!(end("a\u{10ffff}\u{10ffff}"), Some("b".into()));
        assert_eq!((end(""), end("\u{10ffff}")), (None, None));
    }
}
