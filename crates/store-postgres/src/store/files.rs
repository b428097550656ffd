//! Files: uploads and stores of them.

use async_trait::async_trait;
use millrace_model::clock::Timestamp;
use millrace_model::file::{FileStore, StoredFile};
use millrace_model::ids::{OrgId, UploadId};
use millrace_model::upload::Upload;
use millrace_store::{Files, KeepFiles, StoreResult};

use crate::db::{database, text, transaction};
use crate::rows::one;
use crate::{PostgresStore, rows, stored_files, uploads};

#[async_trait]
impl Files for PostgresStore {
    async fn create_upload(&self, upload: Upload) -> StoreResult<()> {
        uploads::create(&self.db.client().await?, &upload).await
    }
    async fn add_upload_part(
        &self,
        id: &UploadId,
        position: i64,
        bytes: Vec<u8>,
    ) -> StoreResult<()> {
        uploads::add_part(&self.db.client().await?, id, position, &bytes).await
    }
    async fn finish_upload(&self, id: &UploadId, size: i64) -> StoreResult<()> {
        uploads::finish(&self.db.client().await?, id, size).await
    }
    async fn upload(&self, id: &UploadId) -> StoreResult<Option<Upload>> {
        by_unique!(self, "uploads", rows::UPLOAD, "id", id.as_str(), rows::upload)
    }
    async fn upload_part(&self, id: &UploadId, position: i64) -> StoreResult<Option<Vec<u8>>> {
        let sql = "SELECT bytes FROM upload_parts WHERE upload_id = $1 AND position = $2";
        one(&self.db.client().await?, sql, &[&id.as_str(), &position], |row| {
            row.try_get(0).map_err(database)
        })
        .await
    }
    async fn expire_uploads(&self, ids: Vec<UploadId>, at: Timestamp) -> StoreResult<()> {
        uploads::expire(&self.db.client().await?, &ids, at).await
    }
    async fn purge_uploads(&self, now: Timestamp, limit: u32) -> StoreResult<u64> {
        transaction!(self.db, |t| uploads::purge(&t, now, limit))
    }

    async fn keep_files(&self, keep: KeepFiles) -> StoreResult<()> {
        transaction!(self.db, |t| stored_files::keep(&t, &keep))
    }
    async fn stored_file(
        &self,
        org: &OrgId,
        store: &str,
        path: &str,
    ) -> StoreResult<Option<StoredFile>> {
        let sql = format!(
            "SELECT {} FROM stored_files WHERE org_id = $1 AND store = $2 AND path = $3",
            rows::STORED_FILE
        );
        one(
            &self.db.client().await?,
            &sql,
            &[&org.as_str(), &store, &text(path)],
            rows::stored_file,
        )
        .await
    }
    async fn stored_files(
        &self,
        org: &OrgId,
        store: &str,
        after: &str,
        limit: u32,
    ) -> StoreResult<Vec<StoredFile>> {
        stored_files::list(&self.db.client().await?, org, store, after, limit).await
    }
    async fn file_stores(&self, org: &OrgId) -> StoreResult<Vec<FileStore>> {
        stored_files::stores(&self.db.client().await?, org).await
    }
    async fn remove_files(
        &self,
        org: &OrgId,
        store: &str,
        path: Option<&str>,
        until: Timestamp,
    ) -> StoreResult<u64> {
        transaction!(self.db, |t| stored_files::remove(&t, org.as_str(), store, path, until))
    }
}
