//! Who owns things and who asks: organizations, users, API keys.

use crate::clock::Timestamp;
use crate::ids::{ApiKeyId, OrgId, ProjectId, UserId};

/// An organization (the API also says workspace).
#[derive(Clone, Debug)]
pub struct Organization {
    /// Its id, also the emitter of the organization's `$errors`.
    pub id: OrgId,
    /// Shown name.
    pub name: String,
    /// Unique name in lower case.
    pub orgname: String,
    /// Where error notices go.
    pub email: String,
    /// The project that workflows are made in by default.
    pub project_id: ProjectId,
    /// When it was made.
    pub created_at: Timestamp,
}

/// A user of one organization.
#[derive(Clone, Debug)]
pub struct User {
    /// Its id.
    pub id: UserId,
    /// The organization.
    pub org_id: OrgId,
    /// Unique name.
    pub username: String,
    /// E-mail address.
    pub email: String,
    /// When it was made.
    pub created_at: Timestamp,
}

/// An API key as stored: never the key, only its SHA-256.
#[derive(Clone, Debug)]
pub struct ApiKey {
    /// Its id.
    pub id: ApiKeyId,
    /// The organization it acts in.
    pub org_id: OrgId,
    /// The user it acts for.
    pub user_id: UserId,
    /// What the owner calls it.
    pub name: String,
    /// SHA-256 of the key in lower case hex.
    pub key_hash: String,
    /// When it was made.
    pub created_at: Timestamp,
}

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The organization in which the caller acts.
    pub org_id: OrgId,
    /// The user.
    pub user_id: UserId,
}
