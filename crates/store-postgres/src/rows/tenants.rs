//! Organizations, users, keys, apps, accounts.

use millrace_store::tenant_rows;
use tokio_postgres::Row;

use super::{corrupt, get, json, time};

pub(crate) const ORGANIZATION: &str =
    "id, name, orgname, email, error_recipients, project_id, created_at";
pub(crate) const USER: &str = "id, org_id, username, email, created_at";
pub(crate) const API_KEY: &str = "id, org_id, user_id, name, key_hash, scopes, rate_per_minute, expires_at, old_key_hash, old_until, created_at";
pub(crate) const APP: &str = "id, org_id, name_slug, definition, created_at, updated_at";
pub(crate) const CONNECTION: &str =
    "id, org_id, app, external_user_id, state, created_at, expires_at";
pub(crate) const ACCOUNT: &str = "id, org_id, app, name, credentials, healthy, problem, expires_at, version, created_at, updated_at, external_user_id";
pub(crate) const DATA_KEY: &str = "id, master_id, wrapped, created_at";

tenant_rows!(Row);
