//! Configured values as a host gets them, with the credentials of the accounts that they name.

use std::borrow::Cow;

use millrace_model::component::PropDef;
use millrace_model::ids::OrgId;
use millrace_runner::CallOutcome;
use serde_json::Value;

use crate::tenants::account_props::AccountUse;
use crate::{Engine, EngineError};

/// What a host gets of configured values. Holds opened secrets: never logged.
pub(crate) struct Inputs {
    value: Value,
    /// The same as JSON text, for the many that name no account.
    text: String,
    accounts: Vec<AccountUse>,
}

impl Inputs {
    pub(crate) fn new(value: Value, accounts: Vec<AccountUse>) -> Self {
        Self { text: value.to_string(), value, accounts }
    }

    /// JSON text with the `$auth` of each account as it is now; or how the run ends where one does
    /// not work.
    pub(crate) async fn text(
        &self,
        engine: &Engine,
        org: &OrgId,
    ) -> Result<Result<Cow<'_, str>, CallOutcome>, EngineError> {
        if self.accounts.is_empty() {
            return Ok(Ok(Cow::Borrowed(&self.text)));
        }
        Box::pin(self.with_accounts(engine, org)).await
    }

    async fn with_accounts(
        &self,
        engine: &Engine,
        org: &OrgId,
    ) -> Result<Result<Cow<'_, str>, CallOutcome>, EngineError> {
        let mut value = self.value.clone();
        for account in &self.accounts {
            let target = match account.step {
                Some(step) => &mut value[step],
                None => &mut value,
            };
            let namespace = target.get("namespace").and_then(Value::as_str).map(str::to_owned);
            let auth = match engine.accounts().auth_of(org, account, namespace.as_deref()).await? {
                Ok(auth) => auth,
                Err(outcome) => return Ok(Err(outcome)),
            };
            let props = if account.step.is_some() { &mut target["props"] } else { target };
            match account.item {
                Some(item) => props[&account.prop][item] = auth,
                None => props[&account.prop] = auth,
            }
        }
        Ok(Ok(Cow::Owned(value.to_string())))
    }
}

/// The definitions that `additionalProps` made or changed: of the others the host knows more than a
/// record can hold. None where it was not asked, or failed: then values without a definition may be
/// of props that it makes.
pub(crate) fn dynamic_of<'a>(
    own: &[PropDef],
    all: Option<&'a [PropDef]>,
) -> Option<Vec<&'a PropDef>> {
    all.map(|defs| defs.iter().filter(|def| !own.contains(def)).collect())
}
