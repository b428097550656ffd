//! Organizations, their users and keys.

use async_trait::async_trait;
use millrace_model::audit::{AuditFilter, AuditRecord};
use millrace_model::ids::{ApiKeyId, AuditId, OauthClientId, OrgId, UserId};
use millrace_model::page::{Listing, Page};
use millrace_model::tenant::{ApiKey, Caller, OauthClient, OauthToken, Organization, User};
use millrace_store::{DataKey, Dialect, NewTenant, StoreResult, Tenants, audit_condition};
use tokio_postgres::types::ToSql;

use crate::db::{database, text, transaction};
use crate::rows::{Table, list, many, one};
use crate::{PostgresStore, audit, data_keys, oauth_clients, roles, rows, tenants};

#[async_trait]
impl Tenants for PostgresStore {
    async fn bootstrap(&self, first: NewTenant) -> StoreResult<bool> {
        transaction!(self.db, "bootstrap", |t| tenants::bootstrap(&t, &first))
    }
    async fn create_organization(&self, tenant: NewTenant) -> StoreResult<()> {
        transaction!(self.db, |t| tenants::create(&t, &tenant))
    }
    async fn caller_by_key_hash(&self, key_hash: &str) -> StoreResult<Option<Caller>> {
        tenants::caller(&self.db.client().await?, key_hash).await
    }
    async fn update_organization(&self, organization: Organization) -> StoreResult<()> {
        tenants::update(&self.db.client().await?, &organization).await
    }
    async fn organization(&self, org: &OrgId) -> StoreResult<Option<Organization>> {
        by_unique!(
            self,
            "organizations",
            rows::ORGANIZATION,
            "id",
            org.as_str(),
            rows::organization
        )
    }
    async fn user(&self, user: &UserId) -> StoreResult<Option<User>> {
        by_unique!(self, "users", rows::USER, "id", user.as_str(), rows::user)
    }
    async fn create_api_key(&self, key: ApiKey) -> StoreResult<()> {
        transaction!(self.db, |t| async {
            roles::check_right(&t, &key.org_id, &key.user_id, &key.scopes).await?;
            tenants::create_key(&t, &key).await
        })
    }
    async fn api_key(&self, org: &OrgId, id: &ApiKeyId) -> StoreResult<Option<ApiKey>> {
        by_id!(self, "api_keys", rows::API_KEY, org, id, rows::api_key)
    }
    async fn list_api_keys(&self, org: &OrgId, page: &Page) -> StoreResult<Listing<ApiKey>> {
        let table = Table { name: "api_keys", columns: rows::API_KEY, filter: "org_id = $1" };
        list(&self.db.client().await?, &table, &[&org.as_str()], page, rows::api_key).await
    }
    async fn update_api_key(&self, key: ApiKey) -> StoreResult<()> {
        tenants::update_key(&self.db.client().await?, &key).await
    }
    async fn delete_api_key(&self, org: &OrgId, id: &ApiKeyId) -> StoreResult<bool> {
        tenants::delete_key(&self.db.client().await?, org, id).await
    }

    async fn data_keys(&self) -> StoreResult<Vec<DataKey>> {
        let sql = format!("SELECT {} FROM data_keys ORDER BY created_at, id", rows::DATA_KEY);
        many(&self.db.client().await?, &sql, &[], rows::data_key).await
    }
    async fn add_first_data_key(&self, key: DataKey) -> StoreResult<bool> {
        transaction!(self.db, |t| data_keys::add_first(&t, &key))
    }
    async fn rewrap_data_keys(&self, from: &str, keys: Vec<DataKey>) -> StoreResult<()> {
        transaction!(self.db, "rewrap", |t| data_keys::rewrap(&t, from, &keys))
    }
    async fn first_organization(&self) -> StoreResult<Option<OrgId>> {
        let sql = "SELECT id FROM organizations ORDER BY created_at, id LIMIT 1";
        one(&self.db.client().await?, sql, &[], |row| {
            row.try_get(0).map(OrgId::from_row).map_err(database)
        })
        .await
    }

    async fn record_audit(&self, record: AuditRecord) -> StoreResult<()> {
        audit::record(&self.db.client().await?, &record).await
    }
    async fn forget_audit(&self, org: &OrgId, id: &AuditId) -> StoreResult<()> {
        let sql = "DELETE FROM audit WHERE id = $1 AND org_id = $2";
        rows::execute(&self.db.client().await?, sql, &[&id.as_str(), &org.as_str()])
            .await
            .map(|_| ())
    }
    async fn list_audit(
        &self,
        org: &OrgId,
        filter: &AuditFilter,
        page: &Page,
    ) -> StoreResult<Listing<AuditRecord>> {
        let (which, values) = audit_condition(Dialect::Postgres, filter);
        let (org, values) =
            (org.as_str(), values.iter().map(|value| text(value)).collect::<Vec<_>>());
        let mut params: Vec<&(dyn ToSql + Sync)> = vec![&org];
        params.extend(values.iter().map(|value| -> &(dyn ToSql + Sync) { value }));
        let table = Table { name: "audit", columns: audit::COLUMNS, filter: &which };
        list(&self.db.client().await?, &table, &params, page, audit::read).await
    }

    async fn create_oauth_client(&self, client: OauthClient) -> StoreResult<()> {
        transaction!(self.db, |t| async {
            roles::check_right(&t, &client.org_id, &client.user_id, &client.scopes).await?;
            oauth_clients::create(&t, &client).await
        })
    }
    async fn oauth_client(&self, id: &OauthClientId) -> StoreResult<Option<OauthClient>> {
        by_unique!(
            self,
            "oauth_clients",
            oauth_clients::COLUMNS,
            "id",
            id.as_str(),
            oauth_clients::read
        )
    }
    async fn list_oauth_clients(
        &self,
        org: &OrgId,
        page: &Page,
    ) -> StoreResult<Listing<OauthClient>> {
        let table =
            Table { name: "oauth_clients", columns: oauth_clients::COLUMNS, filter: "org_id = $1" };
        list(&self.db.client().await?, &table, &[&org.as_str()], page, oauth_clients::read).await
    }
    async fn delete_oauth_client(&self, org: &OrgId, id: &OauthClientId) -> StoreResult<bool> {
        let sql = "DELETE FROM oauth_clients WHERE id = $1 AND org_id = $2";
        Ok(rows::execute(&self.db.client().await?, sql, &[&id.as_str(), &org.as_str()]).await? > 0)
    }
    async fn put_oauth_token(&self, token: OauthToken) -> StoreResult<()> {
        oauth_clients::put_token(&self.db.client().await?, &token).await
    }
    async fn caller_by_token_hash(&self, token_hash: &str) -> StoreResult<Option<Caller>> {
        oauth_clients::caller(&self.db.client().await?, token_hash).await
    }
    async fn delete_oauth_token(
        &self,
        client: &OauthClientId,
        token_hash: &str,
    ) -> StoreResult<bool> {
        let sql = "DELETE FROM oauth_tokens WHERE token_hash = $2 AND client_id = $1";
        Ok(rows::execute(&self.db.client().await?, sql, &[&client.as_str(), &token_hash]).await?
            > 0)
    }
}
