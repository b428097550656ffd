//! Apps and accounts.

use async_trait::async_trait;
use millrace_model::account::{Account, App, Connection, ConnectionState};
use millrace_model::clock::Timestamp;
use millrace_model::ids::{AccountId, AppId, ConnectionId, OrgId};
use millrace_model::page::{Listing, Page};
use millrace_store::{Accounts, StoreResult};

use crate::db::text;
use crate::rows::{Table, list, make_room, one, readable};
use crate::{PostgresStore, accounts, rows};

#[async_trait]
impl Accounts for PostgresStore {
    async fn put_app(&self, app: App) -> StoreResult<()> {
        accounts::put_app(&self.db.client().await?, &app).await
    }
    async fn app(&self, org: &OrgId, slug: &str) -> StoreResult<Option<App>> {
        let sql = format!("SELECT {} FROM apps WHERE org_id = $1 AND name_slug = $2", rows::APP);
        one(&self.db.client().await?, &sql, &[&org.as_str(), &text(slug)], rows::app).await
    }
    async fn app_by_id(&self, org: &OrgId, id: &AppId) -> StoreResult<Option<App>> {
        let sql = format!("SELECT {} FROM apps WHERE org_id = $1 AND id = $2", rows::APP);
        one(&self.db.client().await?, &sql, &[&org.as_str(), &id.as_str()], rows::app).await
    }
    async fn list_apps(&self, org: &OrgId, page: &Page) -> StoreResult<Listing<App>> {
        let of_all = |columns: &str| {
            format!("SELECT {columns} FROM apps WHERE org_id = $1 ORDER BY name_slug LIMIT 10000")
        };
        let client = self.db.client().await?;
        let sizes = of_all("octet_length(definition) AS bytes");
        make_room(&client, &sizes, &[&org.as_str()], page).await?;
        let sql = of_all(rows::APP);
        let (items, damaged) = readable(&client, "apps", &sql, &[&org.as_str()], rows::app).await?;
        Ok(Listing::whole(items, damaged))
    }
    async fn create_account(&self, account: Account) -> StoreResult<()> {
        accounts::create(&self.db.client().await?, &account).await
    }
    async fn update_account(&self, account: Account) -> StoreResult<()> {
        accounts::update(&self.db.client().await?, &account).await
    }
    async fn delete_account(&self, org: &OrgId, id: &AccountId) -> StoreResult<bool> {
        accounts::delete(&self.db.client().await?, org, id).await
    }
    async fn account(&self, org: &OrgId, id: &AccountId) -> StoreResult<Option<Account>> {
        by_id!(self, "accounts", rows::ACCOUNT, org, id, rows::account)
    }
    async fn list_accounts(
        &self,
        org: &OrgId,
        app: Option<&str>,
        external_user: Option<&str>,
        page: &Page,
    ) -> StoreResult<Listing<Account>> {
        let filter = "org_id = $1 AND ($2::text IS NULL OR app = $2) AND ($3::text IS NULL OR external_user_id = $3)";
        let table = Table { name: "accounts", columns: rows::ACCOUNT, filter };
        list(
            &self.db.client().await?,
            &table,
            &[&org.as_str(), &app.map(text), &external_user.map(text)],
            page,
            rows::account,
        )
        .await
    }
    async fn create_connection(&self, connection: Connection) -> StoreResult<()> {
        accounts::begin(&self.db.client().await?, &connection).await
    }
    async fn connection(&self, org: &OrgId, id: &ConnectionId) -> StoreResult<Option<Connection>> {
        by_id!(self, "connections", rows::CONNECTION, org, id, rows::connection)
    }
    async fn answer_connection(
        &self,
        org: &OrgId,
        id: &ConnectionId,
        now: Timestamp,
    ) -> StoreResult<bool> {
        accounts::answer(&self.db.client().await?, org, id, now).await
    }
    async fn put_connection_state(
        &self,
        org: &OrgId,
        id: &ConnectionId,
        state: ConnectionState,
    ) -> StoreResult<()> {
        accounts::put_state(&self.db.client().await?, org, id, &state).await
    }
}
