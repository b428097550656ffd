//! Organizations, their users and keys.

use async_trait::async_trait;
use millrace_model::audit::{AuditFilter, AuditRecord};
use millrace_model::clock::Timestamp;
use millrace_model::ids::{ApiKeyId, AuditId, DataKeyId, OauthClientId, OrgId, UserId};
use millrace_model::page::{Listing, Page};
use millrace_model::tenant::{ApiKey, Caller, OauthClient, OauthToken, Organization, User};

use crate::{Dialect, StoreResult};

/// An organization with its owner and first key.
#[derive(Clone, Debug)]
pub struct NewTenant {
    /// The organization.
    pub organization: Organization,
    /// Its owner.
    pub user: User,
    /// The owner's key.
    pub key: ApiKey,
}

/// A key that secrets are sealed under, itself wrapped under the master key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataKey {
    /// Its id, which stands before each text that it sealed.
    pub id: DataKeyId,
    /// The id of the master key that wraps it.
    pub master_id: String,
    /// The key, sealed.
    pub wrapped: String,
    /// When it was made.
    pub created_at: Timestamp,
}

/// Organizations, users, keys, OAuth clients, the keys that secrets are sealed under, and who
/// changed what.
#[async_trait]
pub trait Tenants: Send + Sync + 'static {
    /// Stores the first organization, owner and key, unless there is an organization already; says
    /// whether it did.
    async fn bootstrap(&self, first: NewTenant) -> StoreResult<bool>;
    /// Stores another organization with its owner and key. `Taken("orgname")`.
    async fn create_organization(&self, tenant: NewTenant) -> StoreResult<()>;
    /// Whose key it is, also where it is the one before the last rotation; the hash is SHA-256 in
    /// hex. Keys that have ended are found too.
    async fn caller_by_key_hash(&self, key_hash: &str) -> StoreResult<Option<Caller>>;
    /// An organization.
    async fn organization(&self, org: &OrgId) -> StoreResult<Option<Organization>>;
    /// Puts other names and recipients in place of an organization's. `NotFound`.
    async fn update_organization(&self, organization: Organization) -> StoreResult<()>;
    /// A user.
    async fn user(&self, user: &UserId) -> StoreResult<Option<User>>;
    /// Stores a key. `Taken("key_hash")`, `NotAllowed` where it allows more than its member may
    /// now.
    async fn create_api_key(&self, key: ApiKey) -> StoreResult<()>;
    /// A key of the organization.
    async fn api_key(&self, org: &OrgId, id: &ApiKeyId) -> StoreResult<Option<ApiKey>>;
    /// The keys, newest first. Cursor: id.
    async fn list_api_keys(&self, org: &OrgId, page: &Page) -> StoreResult<Listing<ApiKey>>;
    /// Replaces a key's record (name, hashes, scopes, rate, end). `NotFound`.
    async fn update_api_key(&self, key: ApiKey) -> StoreResult<()>;
    /// Removes a key; says whether there was one.
    async fn delete_api_key(&self, org: &OrgId, id: &ApiKeyId) -> StoreResult<bool>;

    /// All data keys, oldest first.
    async fn data_keys(&self) -> StoreResult<Vec<DataKey>>;
    /// Stores the first data key, unless there is one already; says whether it did.
    async fn add_first_data_key(&self, key: DataKey) -> StoreResult<bool>;
    /// Replaces the wrapping of all data keys, if all of them are under the master key `from`; else
    /// `StateChanged` and nothing changes.
    async fn rewrap_data_keys(&self, from: &str, keys: Vec<DataKey>) -> StoreResult<()>;
    /// The organization that was made first: its owner runs the server.
    async fn first_organization(&self) -> StoreResult<Option<OrgId>>;

    /// Keeps a record, or completes it: target, fields, and whether it was done.
    async fn record_audit(&self, record: AuditRecord) -> StoreResult<()>;
    /// Takes a record away: nothing was changed.
    async fn forget_audit(&self, org: &OrgId, id: &AuditId) -> StoreResult<()>;
    /// The organization's records, newest first. Cursor: id.
    async fn list_audit(
        &self,
        org: &OrgId,
        filter: &AuditFilter,
        page: &Page,
    ) -> StoreResult<Listing<AuditRecord>>;

    /// Stores a client. `NotAllowed` where it allows more than its member may now.
    async fn create_oauth_client(&self, client: OauthClient) -> StoreResult<()>;
    /// A client of any organization: it shows its secret.
    async fn oauth_client(&self, id: &OauthClientId) -> StoreResult<Option<OauthClient>>;
    /// The clients, newest first. Cursor: id.
    async fn list_oauth_clients(
        &self,
        org: &OrgId,
        page: &Page,
    ) -> StoreResult<Listing<OauthClient>>;
    /// Removes a client with its tokens; says whether there was one.
    async fn delete_oauth_client(&self, org: &OrgId, id: &OauthClientId) -> StoreResult<bool>;
    /// Stores a token.
    async fn put_oauth_token(&self, token: OauthToken) -> StoreResult<()>;
    /// Whose token it is; the hash is SHA-256 in hex. Tokens that have ended are found too.
    async fn caller_by_token_hash(&self, token_hash: &str) -> StoreResult<Option<Caller>>;
    /// Removes a token of a client; says whether there was one.
    async fn delete_oauth_token(
        &self,
        client: &OauthClientId,
        token_hash: &str,
    ) -> StoreResult<bool>;
}

/// The condition on rows of the audit log, `1` being the organization's parameter, and the values
/// of the parameters behind it.
pub fn audit_condition(dialect: Dialect, filter: &AuditFilter) -> (String, Vec<String>) {
    let sign = if dialect == Dialect::Sqlite { '?' } else { '$' };
    let (mut sql, mut values) = (format!("org_id = {sign}1"), Vec::new());
    let mut and = |condition: &dyn Fn(String) -> String, value: String| {
        values.push(value);
        sql.push_str(" AND ");
        sql.push_str(&condition(format!("{sign}{}", values.len() + 1)));
    };
    if let Some(user) = &filter.user_id {
        and(&|n| format!("user_id = {n}"), user.clone());
    }
    if let Some(target) = &filter.target {
        // As the index of each engine has it.
        let condition = |n: String| {
            if dialect == Dialect::Sqlite {
                format!("target = {n}")
            } else {
                format!("left(target, 200) = left({n}, 200) AND target = {n}")
            }
        };
        and(&condition, target.clone());
    }
    for (time, than) in [(filter.from, ">="), (filter.to, "<")] {
        if let Some(time) = time {
            and(
                &|n| format!("created_at {than} CAST(CAST({n} AS TEXT) AS BIGINT)"),
                time.ms().to_string(),
            );
        }
    }
    (sql, values)
}
