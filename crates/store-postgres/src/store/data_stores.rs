//! Data stores.

use async_trait::async_trait;
use millrace_model::clock::Timestamp;
use millrace_model::data_store::DataStore;
use millrace_model::ids::{DataStoreId, OrgId};
use millrace_model::page::{Listing, Page};
use millrace_store::{DataStoreEntry, DataStorePage, DataStoreWrite, DataStores, StoreResult};

use crate::db::transaction;
use crate::rows::{Table, list, one};
use crate::{PostgresStore, data_stores, rows};

#[async_trait]
impl DataStores for PostgresStore {
    async fn create_data_store(&self, store: DataStore) -> StoreResult<()> {
        transaction!(self.db, |t| data_stores::create(&t, &store))
    }
    async fn rename_data_store(
        &self,
        org: &OrgId,
        id: &DataStoreId,
        name: &str,
        now: Timestamp,
    ) -> StoreResult<()> {
        data_stores::rename(&self.db.client().await?, org, id, name, now).await
    }
    async fn delete_data_store(&self, org: &OrgId, id: &DataStoreId) -> StoreResult<bool> {
        transaction!(self.db, |t| data_stores::delete(&t, org, id))
    }
    async fn data_store(&self, org: &OrgId, id: &DataStoreId) -> StoreResult<Option<DataStore>> {
        by_id!(self, "data_stores", rows::DATA_STORE, org, id, rows::data_store)
    }
    async fn data_store_by_name(&self, org: &OrgId, name: &str) -> StoreResult<Option<DataStore>> {
        data_stores::by_name(&self.db.client().await?, org, name).await
    }
    async fn list_data_stores(&self, org: &OrgId, page: &Page) -> StoreResult<Listing<DataStore>> {
        let table = Table { name: "data_stores", columns: rows::DATA_STORE, filter: "org_id = $1" };
        list(&self.db.client().await?, &table, &[&org.as_str()], page, rows::data_store).await
    }
    async fn data_store_entry(
        &self,
        id: &DataStoreId,
        key: &str,
        now: Timestamp,
    ) -> StoreResult<Option<DataStoreEntry>> {
        data_stores::entry(&self.db.client().await?, id, key, now).await
    }
    async fn data_store_set(&self, write: DataStoreWrite) -> StoreResult<()> {
        transaction!(self.db, |t| data_stores::set(&t, &write))
    }
    async fn data_store_expire(
        &self,
        id: &DataStoreId,
        key: &str,
        expires_at: Option<Timestamp>,
        now: Timestamp,
    ) -> StoreResult<bool> {
        data_stores::expire(&self.db.client().await?, id, key, expires_at, now).await
    }
    async fn data_store_delete(&self, id: &DataStoreId, key: &str) -> StoreResult<bool> {
        transaction!(self.db, |t| data_stores::delete_key(&t, id, key))
    }
    async fn data_store_clear(&self, id: &DataStoreId) -> StoreResult<()> {
        transaction!(self.db, |t| data_stores::clear(&t, id))
    }
    async fn data_store_size(
        &self,
        id: &DataStoreId,
        prefix: &str,
        now: Timestamp,
    ) -> StoreResult<u64> {
        data_stores::size(&self.db.client().await?, id, prefix, now).await
    }
    async fn data_store_keys(
        &self,
        id: &DataStoreId,
        page: DataStorePage,
    ) -> StoreResult<Vec<String>> {
        data_stores::keys(&self.db.client().await?, id, &page).await
    }
    async fn data_store_entries(
        &self,
        id: &DataStoreId,
        page: DataStorePage,
        bytes_max: usize,
    ) -> StoreResult<Vec<DataStoreEntry>> {
        data_stores::entries(&self.db.client().await?, id, &page, bytes_max).await
    }
    async fn purge_data_stores(&self, now: Timestamp, limit: u32) -> StoreResult<u64> {
        transaction!(self.db, |t| data_stores::purge(&t, now, limit))
    }
}
