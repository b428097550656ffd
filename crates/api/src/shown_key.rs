//! Key, token or session of a request whose body is still to come: a body may take minutes, and its
//! sender may lose the right to it meanwhile.

use axum::body::Bytes;
use axum::extract::{FromRequest as _, Request};
use axum::http::{Extensions, StatusCode};
use millrace_engine::{EngineError, check_scope};
use millrace_model::ids::OrgId;
use millrace_model::tenant::Caller;

use crate::App;
use crate::contract::routes::Needs;
use crate::error::ApiError;

/// The whole body of a request, with at most `bytes_max`, whose sender may send it still.
pub(crate) async fn whole_body(
    request: Request,
    app: &App,
    bytes_max: usize,
) -> Result<Bytes, ApiError> {
    let shown = ShownKey::of(request.extensions());
    let read = Bytes::from_request(request, app).await;
    let bytes = read.map_err(|rejection| match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => ApiError::body_too_large(bytes_max, ""),
        _ => ApiError::body_unreadable(),
    })?;
    if let Some(shown) = shown {
        shown.is_good_still(app).await?;
    }
    Ok(bytes)
}

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
