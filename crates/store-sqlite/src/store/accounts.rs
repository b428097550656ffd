//! Apps and accounts.

use async_trait::async_trait;
use millrace_model::account::{Account, App};
use millrace_model::ids::{AccountId, OrgId};
use millrace_model::page::{Listing, Page};
use millrace_store::{Accounts, StoreResult};

use crate::rows::{list, many, one};
use crate::{SqliteStore, accounts, rows};

#[async_trait]
impl Accounts for SqliteStore {
    async fn put_app(&self, app: App) -> StoreResult<()> {
        self.db.write(move |c| accounts::put_app(c, &app)).await
    }
    async fn app(&self, org: &OrgId, slug: &str) -> StoreResult<Option<App>> {
        let (org, slug) = (org.to_string(), slug.to_owned());
        self.db.read(move |c| one(c, "SELECT * FROM apps WHERE org_id = ?1 AND name_slug = ?2", [org, slug], rows::app)).await
    }
    async fn list_apps(&self, org: &OrgId) -> StoreResult<Vec<App>> {
        let org = org.to_string();
        self.db.read(move |c| many(c, "SELECT * FROM apps WHERE org_id = ?1 ORDER BY name_slug LIMIT 10000", [org], rows::app)).await
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
    async fn list_accounts(&self, org: &OrgId, app: Option<&str>, external_user: Option<&str>, page: &Page) -> StoreResult<Listing<Account>> {
        let (org, app, user, page) = (org.to_string(), app.unwrap_or_default().to_owned(), external_user.map(str::to_owned), page.clone());
        self.db
            .read(move |c| match user {
                Some(user) => list(c, "accounts", "org_id = ?1 AND ?2 IN ('', app) AND external_user_id = ?3", &[&org, &app, &user], &page, rows::account),
                None => list(c, "accounts", "org_id = ?1 AND ?2 IN ('', app)", &[&org, &app], &page, rows::account),
            })
            .await
    }
}
