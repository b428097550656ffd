//! Apps and accounts.

use async_trait::async_trait;
use millrace_model::account::{Account, App, Connection, ConnectionState};
use millrace_model::clock::Timestamp;
use millrace_model::ids::{AccountId, AppId, ConnectionId, OrgId};
use millrace_model::page::{Listing, Page};
use millrace_store::{Accounts, StoreResult};

use crate::rows::{list, make_room, one, readable};
use crate::{SqliteStore, accounts, rows};

#[async_trait]
impl Accounts for SqliteStore {
    async fn put_app(&self, app: App) -> StoreResult<()> {
        self.db.write(move |c| accounts::put_app(c, &app)).await
    }
    async fn app(&self, org: &OrgId, slug: &str) -> StoreResult<Option<App>> {
        let (org, slug) = (org.to_string(), slug.to_owned());
        self.db
            .read(move |c| {
                one(
                    c,
                    "SELECT * FROM apps WHERE org_id = ?1 AND name_slug = ?2",
                    [org, slug],
                    rows::app,
                )
            })
            .await
    }
    async fn app_by_id(&self, org: &OrgId, id: &AppId) -> StoreResult<Option<App>> {
        let (org, id) = (org.to_string(), id.to_string());
        let sql = "SELECT * FROM apps WHERE org_id = ?1 AND id = ?2";
        self.db.read(move |c| one(c, sql, [org, id], rows::app)).await
    }
    async fn list_apps(&self, org: &OrgId, page: &Page) -> StoreResult<Listing<App>> {
        let of_all = |columns: &str| {
            format!("SELECT {columns} FROM apps WHERE org_id = ?1 ORDER BY name_slug LIMIT 10000")
        };
        let (sizes, sql) = (of_all("octet_length(definition) AS bytes"), of_all("*"));
        let (org, page) = (org.to_string(), page.clone());
        self.db
            .read(move |c| {
                make_room(c, &sizes, &[&org], &page)?;
                readable(c, "apps", &sql, [org], rows::app)
            })
            .await
            .map(|(items, damaged)| Listing::whole(items, damaged))
    }
    async fn create_account(&self, account: Account) -> StoreResult<()> {
        self.db.write(move |c| accounts::create(c, &account)).await
    }
    async fn update_account(&self, account: Account) -> StoreResult<()> {
        self.db.write(move |c| accounts::update(c, &account)).await
    }
    async fn delete_account(&self, org: &OrgId, id: &AccountId) -> StoreResult<bool> {
        let (org, id) = (org.clone(), id.clone());
        self.db.write(move |c| accounts::delete(c, &org, &id)).await
    }
    async fn account(&self, org: &OrgId, id: &AccountId) -> StoreResult<Option<Account>> {
        by_id!(self, "accounts", org, id, rows::account)
    }
    async fn list_accounts(
        &self,
        org: &OrgId,
        app: Option<&str>,
        external_user: Option<&str>,
        page: &Page,
    ) -> StoreResult<Listing<Account>> {
        let (org, app, user, page) = (
            org.to_string(),
            app.unwrap_or_default().to_owned(),
            external_user.map(str::to_owned),
            page.clone(),
        );
        self.db
            .read(move |c| match user {
                Some(user) => list(
                    c,
                    "accounts",
                    "org_id = ?1 AND ?2 IN ('', app) AND external_user_id = ?3",
                    &[&org, &app, &user],
                    &page,
                    rows::account,
                ),
                None => list(
                    c,
                    "accounts",
                    "org_id = ?1 AND ?2 IN ('', app)",
                    &[&org, &app],
                    &page,
                    rows::account,
                ),
            })
            .await
    }
    async fn create_connection(&self, connection: Connection) -> StoreResult<()> {
        self.db.write(move |c| accounts::begin(c, &connection)).await
    }
    async fn connection(&self, org: &OrgId, id: &ConnectionId) -> StoreResult<Option<Connection>> {
        by_id!(self, "connections", org, id, rows::connection)
    }
    async fn answer_connection(
        &self,
        org: &OrgId,
        id: &ConnectionId,
        now: Timestamp,
    ) -> StoreResult<bool> {
        let (org, id) = (org.clone(), id.clone());
        self.db.write(move |c| accounts::answer(c, &org, &id, now)).await
    }
    async fn put_connection_state(
        &self,
        org: &OrgId,
        id: &ConnectionId,
        state: ConnectionState,
    ) -> StoreResult<()> {
        let (org, id) = (org.clone(), id.clone());
        self.db.write(move |c| accounts::put_state(c, &org, &id, &state)).await
    }
}
