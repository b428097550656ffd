//! Rows of data stores and files, the same in each engine.

/// Functions that read them. `$Row`: a row of the engine, whose module has `get`, `time`, `utf8`.
#[macro_export]
macro_rules! stored_rows {
    ($Row:ty) => {
        use ::millrace_model::clock::Timestamp;
        use ::millrace_model::data_store::DataStore;
        use ::millrace_model::file::StoredFile;
        use ::millrace_model::ids::{DataStoreId, OrgId, UploadId};
        use ::millrace_model::upload::Upload;
        use $crate::{DataStoreEntry, StoreResult};

        pub(crate) fn data_store(row: &$Row) -> StoreResult<DataStore> {
            let counted = |column| get::<i64>(row, column).map(|n| u64::try_from(n).unwrap_or(0));
            Ok(DataStore {
                id: DataStoreId::from_row(get(row, "id")?),
                org_id: OrgId::from_row(get(row, "org_id")?),
                name: get(row, "name")?,
                keys: counted("keys")?,
                bytes: counted("bytes")?,
                created_at: time(row, "created_at")?,
                updated_at: time(row, "updated_at")?,
            })
        }

        pub(crate) fn data_store_entry(row: &$Row) -> StoreResult<DataStoreEntry> {
            Ok(DataStoreEntry {
                key: utf8(row, "key")?,
                value: get(row, "value")?,
                expires_at: get::<Option<i64>>(row, "expires_at")?.map(Timestamp),
            })
        }

        pub(crate) fn upload(row: &$Row) -> StoreResult<Upload> {
            Ok(Upload {
                id: UploadId::from_row(get(row, "id")?),
                org_id: OrgId::from_row(get(row, "org_id")?),
                file_name: get(row, "file_name")?,
                media_type: get(row, "media_type")?,
                size: get(row, "size")?,
                expires_at: time(row, "expires_at")?,
            })
        }

        pub(crate) fn stored_file(row: &$Row) -> StoreResult<StoredFile> {
            Ok(StoredFile {
                org_id: OrgId::from_row(get(row, "org_id")?),
                store: get(row, "store")?,
                path: get(row, "path")?,
                upload_id: UploadId::from_row(get(row, "upload_id")?),
                size: get(row, "size")?,
                updated_at: time(row, "updated_at")?,
            })
        }
    };
}
