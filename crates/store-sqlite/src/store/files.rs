//! Files: uploads and stores of them.

use async_trait::async_trait;
use millrace_model::clock::Timestamp;
use millrace_model::file::{FileStore, StoredFile};
use millrace_model::ids::{OrgId, UploadId};
use millrace_model::upload::Upload;
use millrace_store::{Files, KeepFiles, StoreResult};
use rusqlite::params;

use crate::db::database;
use crate::rows::one;
use crate::{SqliteStore, rows, stored_files, uploads};

#[async_trait]
impl Files for SqliteStore {
    async fn create_upload(&self, upload: Upload) -> StoreResult<()> {
        self.db.write(move |c| uploads::create(c, &upload)).await
    }
    async fn add_upload_part(
        &self,
        id: &UploadId,
        position: i64,
        bytes: Vec<u8>,
    ) -> StoreResult<()> {
        let id = id.clone();
        self.db.write(move |c| uploads::add_part(c, &id, position, &bytes)).await
    }
    async fn finish_upload(&self, id: &UploadId, size: i64) -> StoreResult<()> {
        let id = id.clone();
        self.db.write(move |c| uploads::finish(c, &id, size)).await
    }
    async fn upload(&self, id: &UploadId) -> StoreResult<Option<Upload>> {
        let id = id.to_string();
        self.db
            .read(move |c| one(c, "SELECT * FROM uploads WHERE id = ?1", [id], rows::upload))
            .await
    }
    async fn upload_part(&self, id: &UploadId, position: i64) -> StoreResult<Option<Vec<u8>>> {
        let (id, sql) = (
            id.to_string(),
            "SELECT bytes FROM upload_parts WHERE upload_id = ?1 AND position = ?2",
        );
        self.db
            .read(move |c| one(c, sql, params![id, position], |row| row.get(0).map_err(database)))
            .await
    }
    async fn expire_uploads(&self, ids: Vec<UploadId>, at: Timestamp) -> StoreResult<()> {
        self.db.write(move |c| uploads::expire(c, &ids, at)).await
    }
    async fn purge_uploads(&self, now: Timestamp, limit: u32) -> StoreResult<u64> {
        self.db.write(move |c| uploads::purge(c, now, limit)).await
    }

    async fn keep_files(&self, keep: KeepFiles) -> StoreResult<()> {
        self.db.write(move |c| stored_files::keep(c, &keep)).await
    }
    async fn stored_file(
        &self,
        org: &OrgId,
        store: &str,
        path: &str,
    ) -> StoreResult<Option<StoredFile>> {
        let (org, store, path) = (org.to_string(), store.to_owned(), path.to_owned());
        let sql = "SELECT * FROM stored_files WHERE org_id = ?1 AND store = ?2 AND path = ?3";
        self.db.read(move |c| one(c, sql, [org, store, path], rows::stored_file)).await
    }
    async fn stored_files(
        &self,
        org: &OrgId,
        store: &str,
        after: &str,
        limit: u32,
    ) -> StoreResult<Vec<StoredFile>> {
        let (org, store, after) = (org.clone(), store.to_owned(), after.to_owned());
        self.db.read(move |c| stored_files::list(c, &org, &store, &after, limit)).await
    }
    async fn file_stores(&self, org: &OrgId) -> StoreResult<Vec<FileStore>> {
        let org = org.clone();
        self.db.read(move |c| stored_files::stores(c, &org)).await
    }
    async fn remove_files(
        &self,
        org: &OrgId,
        store: &str,
        path: Option<&str>,
        until: Timestamp,
    ) -> StoreResult<u64> {
        let (org, store, path) = (org.clone(), store.to_owned(), path.map(str::to_owned));
        self.db
            .write(move |c| stored_files::remove(c, org.as_str(), &store, path.as_deref(), until))
            .await
    }
}
