//! Audit records: changes, and the callers that made them.

use crate::clock::Timestamp;
use crate::ids::{AuditId, OrgId, UserId};

/// Which records are asked for; what is not given does not narrow them.
#[derive(Clone, Debug, Default)]
pub struct AuditFilter {
    /// Made for this user.
    pub user_id: Option<String>,
    /// Done to this.
    pub target: Option<String>,
    /// Done at or after.
    pub from: Option<Timestamp>,
    /// Done before.
    pub to: Option<Timestamp>,
}

/// A change that a caller made, or a look at credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRecord {
    /// Its id.
    pub id: AuditId,
    /// The organization.
    pub org_id: OrgId,
    /// When it was done.
    pub created_at: Timestamp,
    /// For whom the caller acted.
    pub user_id: UserId,
    /// The user's name; read, never written.
    pub user_name: Option<String>,
    /// The API key, or the OAuth client, that was shown.
    pub key_id: String,
    /// Method and route: `PUT /sources/{id}`.
    pub action: String,
    /// What it was done to: the id in the path, or that of what was made.
    pub target: Option<String>,
    /// The names of the fields that were given, never their values.
    pub fields: Vec<String>,
    /// The id of the request, as its answer and the server's log have it.
    pub request_id: String,
    /// Whether it was done. If not, the server ended while it was, or is at it: it was done or not.
    pub done: bool,
}
