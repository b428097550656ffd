//! Props whose values are connected accounts: which a component may have, and their `$auth`.

use std::sync::Arc;
use std::time::Duration;

use millrace_model::account::{App, AuthType};
use millrace_model::component::PropDef;
use millrace_model::ids::{AccountId, OrgId};
use millrace_model::props::{PropError, Site};
use millrace_model::tenant::Caller;
use millrace_runner::{CallFailure, CallOutcome, FailureKind};
use serde_json::{Map, Value, json};

use crate::EngineError;
use crate::tenants::accounts::Accounts;

/// How a prop names its account.
const PROVISION: &str = "authProvisionId";

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

impl Accounts {
    /// Each account which the values name has to be one of the organization's that the caller may
    /// use, of the app that the prop asks for, and a source has to have those that it needs.
    pub(crate) async fn prop_errors(
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
                    && self.apps.find(org, app).await?.is_some_and(|app| needs_account(&app))
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
                // Credentials are given out before the step's process evaluates anything.
                if site.evaluates(value) {
                    errors.push(refuse("(an expression)"));
                    continue;
                }
                let Some(id) = named(value) else {
                    // What it holds is not repeated: it may be a key.
                    errors.push(refuse("(no account, not shown)"));
                    continue;
                };
                let account = match id.parse::<AccountId>() {
                    Ok(account) => self.ctx.store.account(org, &account).await?,
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
        self: &Arc<Self>,
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
        let account = match self.ctx.store.account(org, id).await? {
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
                    "the next runs ask again"
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

/// Whether an account of the app has to be connected before code can use it.
fn needs_account(app: &App) -> bool {
    app.definition.auth_type != AuthType::None
}
