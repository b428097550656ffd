//! Organizations, their users and keys.

use async_trait::async_trait;
use millrace_model::audit::{AuditFilter, AuditRecord};
use millrace_model::ids::{ApiKeyId, AuditId, OauthClientId, OrgId, UserId};
use millrace_model::page::{Listing, Page};
use millrace_model::tenant::{ApiKey, Caller, OauthClient, OauthToken, Organization, User};
use millrace_store::{
    DataKey, Dialect, NewTenant, StoreResult, Tenants, audit_condition, fail_point,
};

use crate::rows::{list, many, one};
use crate::{SqliteStore, audit, data_keys, oauth_clients, roles, rows, tenants};

#[async_trait]
impl Tenants for SqliteStore {
    async fn bootstrap(&self, first: NewTenant) -> StoreResult<bool> {
        write_at!(self, "bootstrap", |c| tenants::bootstrap(c, &first))
    }
    async fn create_organization(&self, tenant: NewTenant) -> StoreResult<()> {
        self.db.write(move |c| tenants::create(c, &tenant)).await
    }
    async fn caller_by_key_hash(&self, key_hash: &str) -> StoreResult<Option<Caller>> {
        let key_hash = key_hash.to_owned();
        self.db.read(move |c| tenants::caller(c, &key_hash)).await
    }
    async fn update_organization(&self, organization: Organization) -> StoreResult<()> {
        write_at!(self, "update_organization", |c| tenants::update(c, &organization))
    }
    async fn organization(&self, org: &OrgId) -> StoreResult<Option<Organization>> {
        let org = org.to_string();
        self.db
            .read(move |c| {
                one(c, "SELECT * FROM organizations WHERE id = ?1", [org], rows::organization)
            })
            .await
    }
    async fn user(&self, user: &UserId) -> StoreResult<Option<User>> {
        let user = user.to_string();
        self.db.read(move |c| one(c, "SELECT * FROM users WHERE id = ?1", [user], rows::user)).await
    }
    async fn create_api_key(&self, key: ApiKey) -> StoreResult<()> {
        self.db
            .write(move |c| {
                roles::check_right(c, &key.org_id, &key.user_id, &key.scopes)?;
                tenants::create_key(c, &key)
            })
            .await
    }
    async fn api_key(&self, org: &OrgId, id: &ApiKeyId) -> StoreResult<Option<ApiKey>> {
        by_id!(self, "api_keys", org, id, rows::api_key)
    }
    async fn list_api_keys(&self, org: &OrgId, page: &Page) -> StoreResult<Listing<ApiKey>> {
        let (org, page) = (org.to_string(), page.clone());
        self.db
            .read(move |c| list(c, "api_keys", "org_id = ?1", &[&org], &page, rows::api_key))
            .await
    }
    async fn update_api_key(&self, key: ApiKey) -> StoreResult<()> {
        self.db.write(move |c| tenants::update_key(c, &key)).await
    }
    async fn delete_api_key(&self, org: &OrgId, id: &ApiKeyId) -> StoreResult<bool> {
        let (org, id) = (org.clone(), id.clone());
        self.db.write(move |c| tenants::delete_key(c, &org, &id)).await
    }

    async fn data_keys(&self) -> StoreResult<Vec<DataKey>> {
        self.db
            .read(|c| {
                many(c, "SELECT * FROM data_keys ORDER BY created_at, id", [], rows::data_key)
            })
            .await
    }
    async fn add_first_data_key(&self, key: DataKey) -> StoreResult<bool> {
        self.db.write(move |c| data_keys::add_first(c, &key)).await
    }
    async fn rewrap_data_keys(&self, from: &str, keys: Vec<DataKey>) -> StoreResult<()> {
        let from = from.to_owned();
        write_at!(self, "rewrap", |c| data_keys::rewrap(c, &from, &keys))
    }
    async fn first_organization(&self) -> StoreResult<Option<OrgId>> {
        self.db.read(tenants::first).await
    }

    async fn record_audit(&self, record: AuditRecord) -> StoreResult<()> {
        self.db.write(move |c| audit::record(c, &record)).await
    }
    async fn forget_audit(&self, org: &OrgId, id: &AuditId) -> StoreResult<()> {
        let (org, id) = (org.clone(), id.clone());
        self.db.write(move |c| audit::forget(c, &org, &id)).await
    }
    async fn list_audit(
        &self,
        org: &OrgId,
        filter: &AuditFilter,
        page: &Page,
    ) -> StoreResult<Listing<AuditRecord>> {
        let (org, page, (which, values)) =
            (org.to_string(), page.clone(), audit_condition(Dialect::Sqlite, filter));
        let read = move |c: &rusqlite::Connection| {
            let keys: Vec<&str> = [&org].into_iter().chain(&values).map(String::as_str).collect();
            list(c, "audit", &which, &keys, &page, audit::read)
        };
        self.db.read(read).await
    }
    async fn create_oauth_client(&self, client: OauthClient) -> StoreResult<()> {
        self.db
            .write(move |c| {
                roles::check_right(c, &client.org_id, &client.user_id, &client.scopes)?;
                oauth_clients::create(c, &client)
            })
            .await
    }
    async fn oauth_client(&self, id: &OauthClientId) -> StoreResult<Option<OauthClient>> {
        let id = id.to_string();
        self.db
            .read(move |c| {
                one(c, "SELECT * FROM oauth_clients WHERE id = ?1", [id], oauth_clients::read)
            })
            .await
    }
    async fn list_oauth_clients(
        &self,
        org: &OrgId,
        page: &Page,
    ) -> StoreResult<Listing<OauthClient>> {
        let (org, page) = (org.to_string(), page.clone());
        self.db
            .read(move |c| {
                list(c, "oauth_clients", "org_id = ?1", &[&org], &page, oauth_clients::read)
            })
            .await
    }
    async fn delete_oauth_client(&self, org: &OrgId, id: &OauthClientId) -> StoreResult<bool> {
        let (org, id) = (org.to_string(), id.to_string());
        self.db
            .write(move |c| {
                Ok(rows::execute(
                    c,
                    "DELETE FROM oauth_clients WHERE id = ?1 AND org_id = ?2",
                    [id, org],
                )? > 0)
            })
            .await
    }
    async fn put_oauth_token(&self, token: OauthToken) -> StoreResult<()> {
        self.db.write(move |c| oauth_clients::put_token(c, &token)).await
    }
    async fn caller_by_token_hash(&self, token_hash: &str) -> StoreResult<Option<Caller>> {
        let hash = token_hash.to_owned();
        self.db.read(move |c| oauth_clients::caller(c, &hash)).await
    }
    async fn delete_oauth_token(
        &self,
        client: &OauthClientId,
        token_hash: &str,
    ) -> StoreResult<bool> {
        let (client, hash) = (client.to_string(), token_hash.to_owned());
        self.db
            .write(move |c| {
                Ok(rows::execute(
                    c,
                    "DELETE FROM oauth_tokens WHERE token_hash = ?2 AND client_id = ?1",
                    [client, hash],
                )? > 0)
            })
            .await
    }
}
