//! Files that requests to endpoints carried (reference 3).

use crate::clock::Timestamp;
use crate::ids::{OrgId, UploadId};

/// How long a file is kept, and its address good: 30 minutes, in milliseconds.
pub const KEPT_MS: i64 = 30 * 60 * 1000;
/// A file is stored in parts of so many bytes; the last may be shorter.
pub const PART_BYTES: usize = 1 << 20;
/// When a file goes that belongs to a store: never by itself.
pub const FOREVER: Timestamp = Timestamp(i64::MAX);

/// A file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upload {
    /// Its id.
    pub id: UploadId,
    /// The organization whose endpoint took it.
    pub org_id: OrgId,
    /// Its name, as the sender gave it.
    pub file_name: String,
    /// Its media type, as the sender gave it.
    pub media_type: String,
    /// Its size in bytes; 0 as long as it is being received.
    pub size: i64,
    /// When it goes.
    pub expires_at: Timestamp,
}
