//! Key, token or session of a request whose body is still to come: a body may take minutes, and its
//! sender may lose the right to it meanwhile.

use axum::http::Extensions;
use millrace_engine::{EngineError, check_scope};
use millrace_model::ids::OrgId;
use millrace_model::tenant::Caller;

use crate::App;
use crate::contract::routes::Needs;
use crate::error::ApiError;

/// What a request showed, and was good for before its body was read.
#[derive(Clone)]
pub(crate) struct ShownKey {
    key: String,
    org: OrgId,
    needs: Needs,
}

impl ShownKey {
    pub(crate) fn new(key: &str, caller: &Caller, needs: Needs) -> Self {
        Self { key: key.to_owned(), org: caller.org_id.clone(), needs }
    }

    /// The key of a request; none of a route without one, and where nothing is changed.
    pub(crate) fn of(request: &Extensions) -> Option<Self> {
        request.get::<Self>().cloned()
    }

    /// That it is good still, once the body is whole. `Unauthorized`, `Forbidden`.
    pub(crate) async fn is_good_still(&self, app: &App) -> Result<(), ApiError> {
        let caller = app.engine.keys().authenticate(&self.key, None).await?;
        if caller.org_id != self.org {
            return Err(EngineError::Unauthorized.into());
        }
        Ok(self.needs.check(&caller)?)
    }
}

impl Needs {
    /// That a caller may do what the route is for. `Forbidden`.
    pub(crate) fn check(self, caller: &Caller) -> Result<(), EngineError> {
        match self {
            Self::AnyKey | Self::Nothing => Ok(()),
            Self::Scope(scope) => check_scope(caller, scope),
        }
    }
}
