//! Files: uploads and stores of them.

use async_trait::async_trait;
use millrace_model::clock::Timestamp;
use millrace_model::file::{FileStore, StoredFile};
use millrace_model::ids::{OrgId, UploadId};
use millrace_model::upload::Upload;

use crate::StoreResult;

/// Uploads that become files of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeepFiles {
    /// The organization.
    pub org_id: OrgId,
    /// The store's name.
    pub store: String,
    /// What becomes a file, and its path.
    pub files: Vec<(UploadId, String)>,
    /// Now.
    pub now: Timestamp,
    /// When the contents end that others take the place of: who reads them just now reads them to
    /// their end.
    pub replaced_until: Timestamp,
}

/// Uploads, and the files of stores.
#[async_trait]
pub trait Files: Send + Sync + 'static {
    /// Begins a file; its size counts once it is whole.
    async fn create_upload(&self, upload: Upload) -> StoreResult<()>;
    /// Adds a part of a file; parts count from 0. `NotFound` where the file is gone.
    async fn add_upload_part(
        &self,
        id: &UploadId,
        position: i64,
        bytes: Vec<u8>,
    ) -> StoreResult<()>;
    /// Makes a file whole. `NotFound` where it is gone.
    async fn finish_upload(&self, id: &UploadId, size: i64) -> StoreResult<()>;
    /// A file.
    async fn upload(&self, id: &UploadId) -> StoreResult<Option<Upload>>;
    /// A part of a file.
    async fn upload_part(&self, id: &UploadId, position: i64) -> StoreResult<Option<Vec<u8>>>;
    /// Ends the time of files at `at`. Those that are gone, or files of a store, are left alone.
    async fn expire_uploads(&self, ids: Vec<UploadId>, at: Timestamp) -> StoreResult<()>;
    /// Removes files whose time was over by `now`, part by part: at most `limit` parts, and as many
    /// files that have none left. How many of both.
    async fn purge_uploads(&self, now: Timestamp, limit: u32) -> StoreResult<u64>;

    /// Makes uploads the files of a store, all of them or none; what stood at their paths ends at
    /// `keep.replaced_until`. `NotFound` where one is gone, another organization's, or is a file of
    /// a store already; `Full` where there would be too many or too large ones; `FileIsFolder`
    /// where one would lie below another.
    async fn keep_files(&self, keep: KeepFiles) -> StoreResult<()>;
    /// A file of a store, by its path.
    async fn stored_file(
        &self,
        org: &OrgId,
        store: &str,
        path: &str,
    ) -> StoreResult<Option<StoredFile>>;
    /// Files of a store in the order of their paths, after one.
    async fn stored_files(
        &self,
        org: &OrgId,
        store: &str,
        after: &str,
        limit: u32,
    ) -> StoreResult<Vec<StoredFile>>;
    /// The stores of an organization by name, with what they hold.
    async fn file_stores(&self, org: &OrgId) -> StoreResult<Vec<FileStore>>;
    /// Removes a file of a store, or all of them; their contents end at `until`. How many.
    async fn remove_files(
        &self,
        org: &OrgId,
        store: &str,
        path: Option<&str>,
        until: Timestamp,
    ) -> StoreResult<u64>;
}
