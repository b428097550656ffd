//! Connected accounts: kept sealed, opened for the runs of components whose props name them, and
//! for no others.

use std::sync::Arc;

use millrace_model::Timestamp;
use millrace_model::account::{Account, App, AuthType, CredentialError};
use millrace_model::ids::AccountId;
use millrace_model::page::{Listing, Page};
use millrace_model::tenant::Caller;
use millrace_store::StoreError;
use serde_json::{Map, Value};

use crate::EngineError;
use crate::checks::check_name;
use crate::ctx::Ctx;
use crate::error::{readable, removable};
use crate::reach::Reach;
use crate::tenants::apps::Apps;
use crate::tenants::oauth::refresh::{REFRESH_TOKEN, Refreshes};
use crate::tenants::oauth::token_life;
use crate::tenants::secrets::Keyring;

/// Changes of one account that come at once are tried again.
const TRIES_MAX: usize = 5;

/// An account to be connected.
#[derive(Clone, Debug)]
pub struct NewAccount {
    /// The app's slug or id.
    pub app: String,
    /// Shown name; the app's where none.
    pub name: Option<String>,
    /// Values of the app's fields.
    pub credentials: Map<String, Value>,
}

/// What changes of an account; None stays.
#[derive(Clone, Debug, Default)]
pub struct UpdateAccount {
    /// Shown name.
    pub name: Option<String>,
    /// Values; those not given stay.
    pub credentials: Option<Map<String, Value>>,
    /// The external user whose it is from now on; `Some(None)`: the organization's own.
    pub external_user_id: Option<Option<String>>,
}

/// An account as shown.
#[derive(Clone, Debug)]
pub struct AccountView {
    /// Its record.
    pub account: Account,
    /// Its app.
    pub app: App,
    /// The values of `$auth`, where they were asked for.
    pub credentials: Option<Map<String, Value>>,
    /// What is doubtful about values that were just given.
    pub warnings: Vec<String>,
}

/// The connected accounts of all organizations.
pub struct Accounts {
    pub(super) ctx: Arc<Ctx>,
    pub(super) keyring: Arc<Keyring>,
    pub(super) apps: Arc<Apps>,
    /// Reaches providers of OAuth.
    pub(super) providers: Arc<Reach>,
    pub(super) refreshes: Refreshes,
}

impl Accounts {
    pub(crate) fn new(
        ctx: Arc<Ctx>,
        keyring: Arc<Keyring>,
        apps: Arc<Apps>,
        providers: Arc<Reach>,
    ) -> Self {
        Self { ctx, keyring, apps, providers, refreshes: Refreshes::default() }
    }

    /// Connects an account by the values of its fields.
    pub async fn create(
        &self,
        caller: &Caller,
        new: NewAccount,
    ) -> Result<AccountView, EngineError> {
        let app = self.apps.find(&caller.org_id, &new.app).await?.ok_or_else(|| {
            let slug = millrace_model::shown(&new.app);
            EngineError::invalid("app", format!("there is no app `{slug}`; `GET /v1/apps?q=…` finds the slug, `POST /v1/apps` registers another, and so does a deploy of a component that uses it"))
        })?;
        let credentials = app
            .definition
            .check_new(&app.name_slug, &new.credentials)
            .map_err(|e| credential_error(&e))?;
        let warnings = app.definition.doubts(&app.name_slug, &credentials);
        let view = self.insert(caller, app, new.name.as_deref(), &credentials, None).await?;
        Ok(AccountView { warnings, ..view })
    }

    pub(super) async fn insert(
        &self,
        caller: &Caller,
        app: App,
        name: Option<&str>,
        credentials: &Map<String, Value>,
        expires_at: Option<Timestamp>,
    ) -> Result<AccountView, EngineError> {
        let now = self.ctx.now();
        let id = AccountId::generate(&self.ctx.ids);
        let account = Account {
            org_id: caller.org_id.clone(),
            app: app.name_slug.clone(),
            name: check_name(name.unwrap_or(&app.definition.name))?,
            external_user_id: caller.external_user_id.clone(),
            credentials: self.seal_credentials(&id, credentials)?,
            healthy: true,
            problem: None,
            expires_at,
            version: 1,
            created_at: now,
            updated_at: now,
            id,
        };
        self.ctx.store.create_account(account.clone()).await?;
        tracing::info!(account.id = %account.id, app = account.app, user.id = %caller.user_id, "an account was connected");
        Ok(AccountView { account, app, credentials: None, warnings: Vec::new() })
    }

    /// Changes an account; components that use it have the new values from their next run on.
    pub async fn update(
        self: &Arc<Self>,
        caller: &Caller,
        id: &AccountId,
        update: UpdateAccount,
    ) -> Result<AccountView, EngineError> {
        for _ in 0..TRIES_MAX {
            let AccountView { mut account, app, .. } = self.get(caller, id, false).await?;
            if let Some(name) = &update.name {
                account.name = check_name(name)?;
            }
            if let Some(user) = &update.external_user_id {
                account.external_user_id.clone_from(user);
            }
            let mut warnings = Vec::new();
            if let Some(given) = &update.credentials {
                warnings = self.merge(&mut account, &app, given)?;
            }
            account.version += 1;
            account.updated_at = self.ctx.now();
            match self.ctx.store.update_account(account.clone()).await {
                Err(StoreError::StateChanged) => {}
                done => {
                    return Ok(done.map(|()| AccountView {
                        account,
                        app,
                        credentials: None,
                        warnings,
                    })?);
                }
            }
        }
        Err(EngineError::Conflict {
            code: "changed_meanwhile",
            message: format!("the account `{id}` is being changed by others; try again"),
        })
    }

    /// Puts values into an account. Those that a provider gave stay, and so does what is known of
    /// whether they work, unless another token is given.
    fn merge(
        &self,
        account: &mut Account,
        app: &App,
        given: &Map<String, Value>,
    ) -> Result<Vec<String>, EngineError> {
        let (slug, definition) = (&app.name_slug, &app.definition);
        let mut stored = self.open_sealed(account)?;
        let life = stored.remove(token_life::LIFE);
        let has_token = given.contains_key("oauth_access_token");
        if has_token && definition.auth_type == AuthType::Oauth {
            // A refresh would put another token in the place of this one.
            stored.remove(REFRESH_TOKEN);
        }
        let mut merged = definition.merge(slug, stored, given).map_err(|e| credential_error(&e))?;
        let warnings = definition.doubts(slug, &merged);
        if has_token {
            account.expires_at = None;
        } else if let Some(life) = life {
            merged.insert(token_life::LIFE.into(), life);
        }
        if has_token || definition.auth_type != AuthType::Oauth {
            account.healthy = true;
            account.problem = None;
        }
        account.credentials = self.seal_credentials(&account.id, &merged)?;
        Ok(warnings)
    }

    /// Disconnects an account. What uses it fails from then on with an error that says so.
    pub async fn delete(
        self: &Arc<Self>,
        caller: &Caller,
        id: &AccountId,
    ) -> Result<(), EngineError> {
        let view = removable(caller, self.get(caller, id, false).await)?;
        if !self.ctx.store.delete_account(&caller.org_id, id).await? {
            return Err(EngineError::not_found("account", id));
        }
        if let Some(AccountView { account, app, .. }) = view
            && let Some(credentials) = readable(self.open_credentials(&account))?
        {
            self.revoke_later(&app, &credentials);
        }
        tracing::info!(account.id = %id, user.id = %caller.user_id, "an account was disconnected");
        Ok(())
    }

    /// The record of an account that the caller may use.
    pub(super) async fn find(
        &self,
        caller: &Caller,
        id: &AccountId,
    ) -> Result<Account, EngineError> {
        let found = self
            .ctx
            .store
            .account(&caller.org_id, id)
            .await?
            .filter(|account| caller.may_use(account.external_user_id.as_deref()));
        found.ok_or_else(|| EngineError::not_found("account", id))
    }

    /// An account; its values only `with_credentials`, which the log keeps.
    pub async fn get(
        self: &Arc<Self>,
        caller: &Caller,
        id: &AccountId,
        with_credentials: bool,
    ) -> Result<AccountView, EngineError> {
        let account = self.find(caller, id).await?;
        self.show(caller, account, with_credentials).await
    }

    /// The accounts; with `app`, those of that slug or id: none, where there is no such app.
    pub async fn list(
        self: &Arc<Self>,
        caller: &Caller,
        app: Option<&str>,
        with_credentials: bool,
        page: &Page,
    ) -> Result<Listing<AccountView>, EngineError> {
        let slug = match app {
            Some(app) => match self.apps.find(&caller.org_id, app).await? {
                Some(app) => Some(app.name_slug),
                None => return Ok(Listing::of(Vec::new(), 0)),
            },
            None => None,
        };
        let listing = self
            .ctx
            .store
            .list_accounts(
                &caller.org_id,
                slug.as_deref(),
                caller.external_user_id.as_deref(),
                page,
            )
            .await?;
        let (mut items, mut damaged) = (Vec::with_capacity(listing.items.len()), listing.damaged);
        for account in listing.items {
            let id = account.id.to_string();
            match readable(self.show(caller, account, with_credentials).await)? {
                Some(view) => items.push(view),
                None => damaged.push(id),
            }
        }
        Ok(Listing { items, total_count: listing.total_count, damaged })
    }

    pub(super) async fn show(
        self: &Arc<Self>,
        caller: &Caller,
        account: Account,
        with_credentials: bool,
    ) -> Result<AccountView, EngineError> {
        let app = self.apps.find(&caller.org_id, &account.app).await?;
        let app = app.ok_or_else(|| {
            EngineError::damaged(
                "a stored account",
                format!("its app `{}` is missing", account.app),
            )
        })?;
        let account = if with_credentials { self.fresh(account).await? } else { account };
        let credentials = if with_credentials {
            tracing::info!(account.id = %account.id, user.id = %caller.user_id, "an account's credentials were read");
            Some(self.open_credentials(&account)?)
        } else {
            None
        };
        Ok(AccountView { account, app, credentials, warnings: Vec::new() })
    }

    pub(crate) fn seal_credentials(
        &self,
        id: &AccountId,
        credentials: &Map<String, Value>,
    ) -> Result<String, EngineError> {
        let text = serde_json::to_string(credentials)
            .map_err(|e| EngineError::internal("could not write credentials", e))?;
        self.keyring.seal(&self.ctx.ids, id.as_str(), &text)
    }

    /// The values of `$auth`.
    pub(crate) fn open_credentials(
        &self,
        account: &Account,
    ) -> Result<Map<String, Value>, EngineError> {
        let mut credentials = self.open_sealed(account)?;
        credentials.remove(token_life::LIFE);
        Ok(credentials)
    }

    /// The values of `$auth`, and beside them the lifetime of the token.
    pub(super) fn open_sealed(&self, account: &Account) -> Result<Map<String, Value>, EngineError> {
        let text = self.keyring.open(account.id.as_str(), &account.credentials)?;
        millrace_model::json::from_str(&text).map_err(|_| {
            EngineError::damaged("the sealed credentials of an account", "they are not JSON")
        })
    }
}

pub(super) fn credential_error(error: &CredentialError) -> EngineError {
    let field = match error {
        CredentialError::Unknown { field, known } => {
            return EngineError::unknown_field("credentials", field, known);
        }
        CredentialError::Missing { field, .. } | CredentialError::Value { field } => {
            format!("credentials.{field}")
        }
        CredentialError::NoToken { .. } => {
            return EngineError::missing("credentials.oauth_access_token", error.to_string());
        }
        CredentialError::TooMany | CredentialError::Empty { .. } => "credentials".to_owned(),
    };
    EngineError::invalid(&field, error.to_string())
}
