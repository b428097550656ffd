//! Connected accounts: kept sealed, opened for the runs of components whose props name them, and
//! for no others.

use std::time::Duration;

use millrace_model::Timestamp;
use millrace_model::account::{Account, App, AuthType, CredentialError};
use millrace_model::component::PropDef;
use millrace_model::ids::{AccountId, OrgId};
use millrace_model::page::{Listing, Page};
use millrace_model::props::{PropError, Site};
use millrace_model::tenant::Caller;
use millrace_runner::{CallFailure, CallOutcome, FailureKind};
use millrace_store::StoreError;
use serde_json::{Map, Value, json};

use crate::deploy::sources::check_name;
use crate::error::{readable, removable};
use crate::{Engine, EngineError};

/// How a prop names its account.
const PROVISION: &str = "authProvisionId";
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

/// A prop whose value is an account.
#[derive(Clone, Debug)]
pub(crate) struct AccountUse {
    /// The step's place in its workflow; None: a source.
    pub(crate) step: Option<usize>,
    pub(crate) prop: String,
    /// Its place in the prop's list; None: the prop holds one account.
    pub(crate) item: Option<usize>,
    /// The slug that the component names.
    app: String,
    account: AccountId,
}

impl AccountUse {
    /// The accounts that configured values name.
    pub(crate) fn of<'a>(
        step: Option<usize>,
        defs: &'a [PropDef],
        props: &'a Map<String, Value>,
    ) -> impl Iterator<Item = Self> + 'a {
        defs.iter().filter_map(|def| Some((def, def.app()?, props.get(&def.name)?))).flat_map(
            move |(def, app, value)| {
                items_of(value).filter_map(move |(item, value)| {
                    let account = named(value)?.parse().ok()?;
                    Some(Self { step, prop: def.name.clone(), item, app: app.to_owned(), account })
                })
            },
        )
    }
}

/// The values of a prop that holds one account or a list of them, with their places in the list.
fn items_of(value: &Value) -> impl Iterator<Item = (Option<usize>, &Value)> {
    let list = value.as_array();
    let one = list.is_none().then_some((None, value));
    one.into_iter().chain(list.into_iter().flatten().enumerate().map(|(at, item)| (Some(at), item)))
}

/// Whether a value names an account, or several.
pub(crate) fn names_account(value: &Value) -> bool {
    items_of(value).any(|(_, value)| named(value).is_some())
}

/// The id of the account that a value names: as records write it, or alone, as it is typed.
fn named(value: &Value) -> Option<&str> {
    value
        .get(PROVISION)
        .and_then(Value::as_str)
        .or_else(|| value.as_str().filter(|id| id.starts_with(AccountId::PREFIX)))
}

impl Engine {
    /// Connects an account by the values of its fields.
    pub async fn create_account(
        &self,
        caller: &Caller,
        new: NewAccount,
    ) -> Result<AccountView, EngineError> {
        let app = self.find_app(&caller.org_id, &new.app).await?.ok_or_else(|| {
            let slug = millrace_model::shown(&new.app);
            EngineError::invalid("app", format!("there is no app `{slug}`; `GET /v1/apps?q=…` finds the slug, and `POST /v1/apps` registers another"))
        })?;
        let credentials = app
            .definition
            .check(&app.name_slug, &new.credentials)
            .map_err(|e| credential_error(&e))?;
        let warnings = app.definition.doubts(&app.name_slug, &credentials);
        let view =
            self.insert_account(caller, app, new.name.as_deref(), &credentials, None).await?;
        Ok(AccountView { warnings, ..view })
    }

    pub(crate) async fn insert_account(
        &self,
        caller: &Caller,
        app: App,
        name: Option<&str>,
        credentials: &Map<String, Value>,
        expires_at: Option<Timestamp>,
    ) -> Result<AccountView, EngineError> {
        let now = self.now();
        let id = AccountId::generate(&self.0.ids);
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
        self.0.store.create_account(account.clone()).await?;
        tracing::info!(account.id = %account.id, app = account.app, user.id = %caller.user_id, "an account was connected");
        Ok(AccountView { account, app, credentials: None, warnings: Vec::new() })
    }

    /// Changes an account; components that use it have the new values from their next run on.
    pub async fn update_account(
        &self,
        caller: &Caller,
        id: &AccountId,
        update: UpdateAccount,
    ) -> Result<AccountView, EngineError> {
        for _ in 0..TRIES_MAX {
            let AccountView { mut account, app, .. } = self.account(caller, id, false).await?;
            if let Some(name) = &update.name {
                account.name = check_name(name)?;
            }
            if let Some(user) = &update.external_user_id {
                account.external_user_id.clone_from(user);
            }
            let mut warnings = Vec::new();
            if let Some(given) = &update.credentials {
                let mut merged = self.open_credentials(&account)?;
                merged.extend(given.clone());
                let checked = app
                    .definition
                    .check(&app.name_slug, &merged)
                    .map_err(|e| credential_error(&e))?;
                warnings = app.definition.doubts(&app.name_slug, &checked);
                account.credentials = self.seal_credentials(&account.id, &checked)?;
                account.healthy = true;
                account.problem = None;
            }
            account.version += 1;
            account.updated_at = self.now();
            match self.0.store.update_account(account.clone()).await {
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

    /// Disconnects an account. What uses it fails from then on with an error that says so.
    pub async fn delete_account(&self, caller: &Caller, id: &AccountId) -> Result<(), EngineError> {
        let view = removable(caller, self.account(caller, id, false).await)?;
        if !self.0.store.delete_account(&caller.org_id, id).await? {
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

    /// An account; its values only `with_credentials`, which the log keeps.
    pub async fn account(
        &self,
        caller: &Caller,
        id: &AccountId,
        with_credentials: bool,
    ) -> Result<AccountView, EngineError> {
        let found = self
            .0
            .store
            .account(&caller.org_id, id)
            .await?
            .filter(|account| caller.may_use(account.external_user_id.as_deref()));
        let account = found.ok_or_else(|| EngineError::not_found("account", id))?;
        self.show_account(caller, account, with_credentials).await
    }

    /// The accounts; with `app`, those of that slug or id: none, where there is no such app.
    pub async fn list_accounts(
        &self,
        caller: &Caller,
        app: Option<&str>,
        with_credentials: bool,
        page: &Page,
    ) -> Result<Listing<AccountView>, EngineError> {
        let slug = match app {
            Some(app) => match self.find_app(&caller.org_id, app).await? {
                Some(app) => Some(app.name_slug),
                None => return Ok(Listing::of(Vec::new(), 0)),
            },
            None => None,
        };
        let listing = self
            .0
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
            match readable(self.show_account(caller, account, with_credentials).await)? {
                Some(view) => items.push(view),
                None => damaged.push(id),
            }
        }
        Ok(Listing { items, total_count: listing.total_count, damaged })
    }

    pub(super) async fn show_account(
        &self,
        caller: &Caller,
        account: Account,
        with_credentials: bool,
    ) -> Result<AccountView, EngineError> {
        let app = self.find_app(&caller.org_id, &account.app).await?;
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
        self.0.keyring.seal(&self.0.ids, id.as_str(), &text)
    }

    pub(crate) fn open_credentials(
        &self,
        account: &Account,
    ) -> Result<Map<String, Value>, EngineError> {
        let text = self.0.keyring.open(account.id.as_str(), &account.credentials)?;
        serde_json::from_str(&text).map_err(|_| {
            EngineError::damaged("the sealed credentials of an account", "they are not JSON")
        })
    }

    /// Each account which the values name has to be one of the organization's that the caller may
    /// use, of the app that the prop asks for, and a source has to have those that it needs.
    pub(crate) async fn account_errors(
        &self,
        caller: &Caller,
        defs: &[PropDef],
        props: &Map<String, Value>,
        site: Site,
    ) -> Result<Vec<PropError>, EngineError> {
        let (org, mut errors) = (&caller.org_id, Vec::new());
        for (def, app) in defs.iter().filter_map(|def| Some((def, def.app()?))) {
            let Some(value) = props.get(&def.name) else {
                if site == Site::Source
                    && def.optional != Some(true)
                    && self.find_app(org, app).await?.is_some_and(|app| needs_account(&app))
                {
                    errors.push(PropError::Missing {
                        name: def.name.clone(),
                        prop_type: format!(
                            "an account of {app}; `millrace accounts add {app}` connects one"
                        ),
                    });
                }
                continue;
            };
            let refuse = |value: &str| PropError::Type {
                name: def.name.clone(),
                value: millrace_model::shown(value),
                allowed: match &caller.external_user_id {
                    Some(user) => format!(
                        "an account of {app} that carries the external user `{user}`: {{\"{PROVISION}\": \"apn_…\"}}"
                    ),
                    None => format!(
                        "a connected account of {app}: {{\"{PROVISION}\": \"apn_…\"}}; `millrace accounts list --app {app}` shows them"
                    ),
                },
            };
            for (_, value) in items_of(value) {
                if site.evaluates(value) {
                    continue;
                }
                let Some(id) = named(value) else {
                    // What it holds is not repeated: it may be a key.
                    errors.push(refuse("(no account, not shown)"));
                    continue;
                };
                let account = match id.parse::<AccountId>() {
                    Ok(account) => self.0.store.account(org, &account).await?,
                    Err(_) => None,
                };
                if account.is_none_or(|account| {
                    account.app != app || !caller.may_use(account.external_user_id.as_deref())
                }) {
                    errors.push(refuse(id));
                }
            }
        }
        Ok(errors)
    }

    /// The `$auth` of a prop, or why the run fails.
    pub(crate) async fn auth_of(
        &self,
        org: &OrgId,
        account_use: &AccountUse,
        namespace: Option<&str>,
    ) -> Result<Result<Value, CallOutcome>, EngineError> {
        let fails = |message: String| {
            let code = "AccountUnavailable";
            let failure = CallFailure {
                kind: FailureKind::Thrown,
                code: code.into(),
                stack: format!("{code}: {message}"),
                message,
                namespace: namespace.map(Into::into),
            };
            Ok(Err(CallOutcome { result: Err(failure), duration: Duration::ZERO }))
        };
        let AccountUse { prop, app, account: id, .. } = account_use;
        let account = match self.0.store.account(org, id).await? {
            Some(account) => Some(self.fresh(account).await?),
            None => None,
        };
        match account {
            None => fails(format!(
                "the account `{id}` of {app}, which the prop `{prop}` names, is not connected any more; choose another"
            )),
            Some(account) if &account.app != app => fails(format!(
                "the prop `{prop}` needs an account of {app}, and `{id}` is one of {}",
                account.app
            )),
            Some(account) if !account.healthy => {
                let why =
                    account.problem.as_deref().unwrap_or("it did not work when it was last used");
                let then = if account.expires_at.is_some() {
                    "the runs that come ask again"
                } else {
                    "connect it again"
                };
                fails(format!(
                    "the account `{id}` of {app}, which the prop `{prop}` names, does not work: {why}; {then}"
                ))
            }
            Some(account) => Ok(Ok(json!({ "$auth": self.open_credentials(&account)? }))),
        }
    }
}

fn credential_error(error: &CredentialError) -> EngineError {
    let field = match error {
        CredentialError::Missing { field, .. }
        | CredentialError::Unknown { field, .. }
        | CredentialError::Value { field } => {
            format!("credentials.{field}")
        }
        CredentialError::TooMany | CredentialError::Empty { .. } => "credentials".to_owned(),
    };
    EngineError::invalid(&field, error.to_string())
}

/// Whether an account of the app has to be connected before code can use it.
fn needs_account(app: &App) -> bool {
    app.definition.auth_type != AuthType::None
}
