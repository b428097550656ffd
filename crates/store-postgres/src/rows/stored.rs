//! Data stores and files.

use millrace_store::stored_rows;
use tokio_postgres::Row;

use super::{get, time, utf8};

pub(crate) const STORED_FILE: &str = "org_id, store, path, upload_id, size, updated_at";
pub(crate) const UPLOAD: &str = "id, org_id, file_name, media_type, size, expires_at";
pub(crate) const DATA_STORE: &str = "id, org_id, name, keys, bytes, created_at, updated_at";

stored_rows!(Row);
