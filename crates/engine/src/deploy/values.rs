//! Validation of values that are given to props: one answer lists all that is wrong with them.

use std::sync::Arc;

use millrace_model::component::PropDef;
use millrace_model::props::{self, PropError, Site};
use millrace_model::tenant::Caller;
use serde_json::{Map, Value};

use crate::EngineError;
use crate::ctx::Ctx;
use crate::field_errors::invalid_props;
use crate::run::data_stores::DataStores;
use crate::tenants::accounts::Accounts;

/// Checks of the values of props.
pub(crate) struct PropValues {
    ctx: Arc<Ctx>,
    accounts: Arc<Accounts>,
    data_stores: Arc<DataStores>,
}

impl PropValues {
    pub(crate) const fn new(
        ctx: Arc<Ctx>,
        accounts: Arc<Accounts>,
        data_stores: Arc<DataStores>,
    ) -> Self {
        Self { ctx, accounts, data_stores }
    }

    /// The values to keep of those that were given: of the types that the props have (spec 2.7),
    /// with accounts and data stores that are there.
    ///
    /// # Errors
    /// All that is wrong with them, in one error.
    pub(crate) async fn check(
        &self,
        caller: &Caller,
        defs: &[PropDef],
        given: &Map<String, Value>,
        site: Site,
    ) -> Result<Map<String, Value>, EngineError> {
        let (mut values, mut errors) = match props::check(defs, given, site, self.ctx.now()) {
            Ok(values) => (values, Vec::new()),
            Err(errors) if matches!(errors[..], [PropError::TooMany { .. }]) => {
                return Err(invalid_props(&errors));
            }
            Err(errors) => (given.clone(), errors),
        };
        let more = [
            self.accounts.prop_errors(caller, defs, &values, site).await?,
            self.data_stores.prop_errors(&caller.org_id, defs, &mut values, site).await?,
        ];
        for error in more.into_iter().flatten() {
            if !errors.iter().any(|said: &PropError| said.prop() == error.prop()) {
                errors.push(error);
            }
        }
        // As the form asks for them: what an options method needs stands before the prop that has
        // it.
        errors.sort_by_key(|error| defs.iter().position(|def| def.name == error.prop()));
        if errors.is_empty() { Ok(values) } else { Err(invalid_props(&errors)) }
    }
}
