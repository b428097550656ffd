//! Apps and accounts.

use async_trait::async_trait;
use millrace_model::account::{Account, App, Connection, ConnectionState};
use millrace_model::clock::Timestamp;
use millrace_model::ids::{AccountId, AppId, ConnectionId, OrgId};
use millrace_model::page::{Listing, Page};

use crate::StoreResult;

/// For how long a connection that has ended is found, milliseconds.
pub const CONNECTION_SHOWN_MS: i64 = 24 * 3600 * 1000;

/// Apps and accounts.
#[async_trait]
pub trait Accounts: Send + Sync + 'static {
    /// Registers an app, or replaces the one of that slug in the organization.
    async fn put_app(&self, app: App) -> StoreResult<()>;
    /// An app that the organization registered, by slug.
    async fn app(&self, org: &OrgId, slug: &str) -> StoreResult<Option<App>>;
    /// The same by its id.
    async fn app_by_id(&self, org: &OrgId, id: &AppId) -> StoreResult<Option<App>>;
    /// The apps that the organization registered, by slug (at most 10,000), and the ids of those
    /// whose rows cannot be read. Of `page` only the room counts, which must do for all.
    async fn list_apps(&self, org: &OrgId, page: &Page) -> StoreResult<Listing<App>>;
    /// Stores an account.
    async fn create_account(&self, account: Account) -> StoreResult<()>;
    /// Replaces an account whose version is one less; `StateChanged` where another change came
    /// first, or it is gone.
    async fn update_account(&self, account: Account) -> StoreResult<()>;
    /// Removes an account; says whether there was one.
    async fn delete_account(&self, org: &OrgId, id: &AccountId) -> StoreResult<bool>;
    /// An account of the organization.
    async fn account(&self, org: &OrgId, id: &AccountId) -> StoreResult<Option<Account>>;
    /// The accounts, newest first; with `app`, those of that slug; with `external_user`, those that
    /// carry it. Cursor: id.
    async fn list_accounts(
        &self,
        org: &OrgId,
        app: Option<&str>,
        external_user: Option<&str>,
        page: &Page,
    ) -> StoreResult<Listing<Account>>;
    /// Stores a connection as it is begun.
    async fn create_connection(&self, connection: Connection) -> StoreResult<()>;
    /// A connection of the organization. One that has ended is found for a day.
    async fn connection(&self, org: &OrgId, id: &ConnectionId) -> StoreResult<Option<Connection>>;
    /// Takes the answer to a connection: says whether it waited for one, and its time is not over.
    /// From then on it waits for none.
    async fn answer_connection(
        &self,
        org: &OrgId,
        id: &ConnectionId,
        now: Timestamp,
    ) -> StoreResult<bool>;
    /// Writes how far a connection is; nothing where it is gone.
    async fn put_connection_state(
        &self,
        org: &OrgId,
        id: &ConnectionId,
        state: ConnectionState,
    ) -> StoreResult<()>;
}
