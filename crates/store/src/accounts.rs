//! Apps and accounts.

use async_trait::async_trait;
use millrace_model::account::{Account, App};
use millrace_model::ids::{AccountId, OrgId};
use millrace_model::page::{Listing, Page};

use crate::StoreResult;

/// Apps and accounts.
#[async_trait]
pub trait Accounts: Send + Sync + 'static {
    /// Registers an app, or replaces the one of that slug in the organization.
    async fn put_app(&self, app: App) -> StoreResult<()>;
    /// An app that the organization registered, by slug.
    async fn app(&self, org: &OrgId, slug: &str) -> StoreResult<Option<App>>;
    /// The apps that the organization registered, by slug (at most 10,000).
    async fn list_apps(&self, org: &OrgId) -> StoreResult<Vec<App>>;
    /// Stores an account.
    async fn create_account(&self, account: Account) -> StoreResult<()>;
    /// Replaces an account whose version is one less; `StateChanged` where another change came first, or it is gone.
    async fn update_account(&self, account: Account) -> StoreResult<()>;
    /// Removes an account; says whether there was one.
    async fn delete_account(&self, org: &OrgId, id: &AccountId) -> StoreResult<bool>;
    /// An account of the organization.
    async fn account(&self, org: &OrgId, id: &AccountId) -> StoreResult<Option<Account>>;
    /// The accounts, newest first; with `app`, those of that slug; with `external_user`, those that carry it. Cursor: id.
    async fn list_accounts(&self, org: &OrgId, app: Option<&str>, external_user: Option<&str>, page: &Page) -> StoreResult<Listing<Account>>;
}
