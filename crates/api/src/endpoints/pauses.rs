//! Addresses that resume and cancel paused runs (reference 4).

use axum::Json;
use axum::extract::{Request, State};
use axum::http::Method;
use axum::response::{IntoResponse as _, Response};
use millrace_engine::{CalledBack, PauseEnd};
use serde_json::json;

use crate::App;
use crate::endpoints::cors::{Sender, preflight};
use crate::endpoints::endpoint_request;
use crate::endpoints::uploads::For;
use crate::error::ApiError;
use crate::room::Whose;

/// Resumes a paused run. Any method: a link in a mail does it too. `OPTIONS` only asks what is
/// allowed.
pub(crate) async fn resume(State(app): State<App>, request: Request) -> Response {
    end_pause(&app, PauseEnd::Resume, request).await
}

/// Cancels a paused run.
pub(crate) async fn cancel(State(app): State<App>, request: Request) -> Response {
    end_pause(&app, PauseEnd::Cancel, request).await
}

async fn end_pause(app: &App, end: PauseEnd, request: Request) -> Response {
    if request.method() == Method::OPTIONS {
        return preflight(request.headers());
    }
    let sender = Sender::of(request.headers());
    sender.may_read(match call_back(app, end, request).await {
        Ok(done) => {
            let status = match (done, end) {
                (CalledBack::Kept, _) => "kept",
                (_, PauseEnd::Resume) => "resumed",
                (_, PauseEnd::Cancel) => "cancelled",
            };
            Json(json!({ "data": { "status": status } })).into_response()
        }
        Err(error) => error.into_response(),
    })
}

async fn call_back(app: &App, end: PauseEnd, request: Request) -> Result<CalledBack, ApiError> {
    let token = request.uri().path().rsplit('/').next().unwrap_or("").to_owned();
    // Before anything of its body is read.
    let org = app.engine.callback_org(&token, end).await?;
    Whose::of(request.extensions()).is(&org);
    let of = For { org: &org, endpoint: None, path: "/" };
    let request = endpoint_request(app, of, request).await?;
    Ok(app.engine.call_back(&token, end, request).await?)
}
