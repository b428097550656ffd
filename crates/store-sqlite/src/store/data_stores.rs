//! Data stores.

use async_trait::async_trait;
use millrace_model::clock::Timestamp;
use millrace_model::data_store::DataStore;
use millrace_model::ids::{DataStoreId, OrgId};
use millrace_model::page::{Listing, Page};
use millrace_store::{DataStoreEntry, DataStorePage, DataStoreWrite, DataStores, StoreResult};
use rusqlite::params;

use crate::rows::{list, one};
use crate::steps::STEP;
use crate::{SqliteStore, data_stores, rows};

#[async_trait]
impl DataStores for SqliteStore {
    async fn create_data_store(&self, store: DataStore) -> StoreResult<()> {
        self.db.write(move |c| data_stores::create(c, &store)).await
    }
    async fn rename_data_store(
        &self,
        org: &OrgId,
        id: &DataStoreId,
        name: &str,
        now: Timestamp,
    ) -> StoreResult<()> {
        let (org, id, name) = (org.clone(), id.clone(), name.to_owned());
        self.db.write(move |c| data_stores::rename(c, &org, &id, &name, now)).await
    }
    async fn delete_data_store(&self, org: &OrgId, id: &DataStoreId) -> StoreResult<bool> {
        let Some(store) = self.data_store(org, id).await? else { return Ok(false) };
        if store.keys > u64::from(STEP) {
            self.clear_in_steps(id).await?;
        }
        let (org, id) = (org.clone(), id.clone());
        self.db.write(move |c| data_stores::delete(c, &org, &id)).await
    }
    async fn data_store(&self, org: &OrgId, id: &DataStoreId) -> StoreResult<Option<DataStore>> {
        by_id!(self, "data_stores", org, id, rows::data_store)
    }
    async fn data_store_by_name(&self, org: &OrgId, name: &str) -> StoreResult<Option<DataStore>> {
        let (org, name) = (org.to_string(), name.to_owned());
        self.db
            .read(move |c| {
                one(
                    c,
                    "SELECT * FROM data_stores WHERE org_id = ?1 AND name = ?2",
                    [org, name],
                    rows::data_store,
                )
            })
            .await
    }
    async fn list_data_stores(&self, org: &OrgId, page: &Page) -> StoreResult<Listing<DataStore>> {
        let (org, page) = (org.to_string(), page.clone());
        self.db
            .read(move |c| list(c, "data_stores", "org_id = ?1", &[&org], &page, rows::data_store))
            .await
    }
    async fn data_store_entry(
        &self,
        id: &DataStoreId,
        key: &str,
        now: Timestamp,
    ) -> StoreResult<Option<DataStoreEntry>> {
        let (id, key) = (id.to_string(), key.to_owned());
        let sql = "SELECT * FROM data_store_entries WHERE store_id = ?1 AND key = ?2 AND (expires_at IS NULL OR expires_at > ?3)";
        self.db.read(move |c| one(c, sql, params![id, key, now.ms()], rows::data_store_entry)).await
    }
    async fn data_store_set(&self, write: DataStoreWrite) -> StoreResult<()> {
        self.db.write(move |c| data_stores::set(c, &write)).await
    }
    async fn data_store_expire(
        &self,
        id: &DataStoreId,
        key: &str,
        expires_at: Option<Timestamp>,
        now: Timestamp,
    ) -> StoreResult<bool> {
        let (id, key) = (id.clone(), key.to_owned());
        self.db.write(move |c| data_stores::expire(c, &id, &key, expires_at, now)).await
    }
    async fn data_store_delete(&self, id: &DataStoreId, key: &str) -> StoreResult<bool> {
        let (id, key) = (id.clone(), key.to_owned());
        self.db.write(move |c| data_stores::delete_key(c, &id, &key)).await
    }
    async fn data_store_clear(&self, id: &DataStoreId) -> StoreResult<()> {
        self.clear_in_steps(id).await
    }
    async fn data_store_size(
        &self,
        id: &DataStoreId,
        prefix: &str,
        now: Timestamp,
    ) -> StoreResult<u64> {
        let (id, prefix) = (id.clone(), prefix.to_owned());
        self.db.read(move |c| data_stores::size(c, &id, &prefix, now)).await
    }
    async fn data_store_keys(
        &self,
        id: &DataStoreId,
        page: DataStorePage,
    ) -> StoreResult<Vec<String>> {
        let id = id.clone();
        self.db.read(move |c| data_stores::keys(c, &id, &page)).await
    }
    async fn data_store_entries(
        &self,
        id: &DataStoreId,
        page: DataStorePage,
        bytes_max: usize,
    ) -> StoreResult<Vec<DataStoreEntry>> {
        let id = id.clone();
        self.db.read(move |c| data_stores::entries(c, &id, &page, bytes_max)).await
    }
    async fn purge_data_stores(&self, now: Timestamp, limit: u32) -> StoreResult<u64> {
        self.db.write(move |c| data_stores::purge(c, now, limit)).await
    }
}
