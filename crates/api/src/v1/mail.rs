//! The outbox: what was mailed, or would have been without a mail server.

use axum::extract::State;
use axum::response::Response;
use serde_json::json;

use crate::App;
use crate::error::ApiError;
use crate::extract::{Auth, ListQuery};
use crate::wire::Fields;

pub(crate) async fn list(State(app): State<App>, Auth(caller): Auth, query: ListQuery) -> Result<Response, ApiError> {
    let listing = app.engine.list_mail(&caller, &query.page).await?;
    Ok(Fields::of(&query.params).records(listing, |m| {
        json!({ "id": m.id, "recipient": m.recipient, "subject": m.subject, "text": m.text, "html": m.html, "status": m.status.as_str(), "attempts": m.attempts, "last_error": m.last_error, "created_at": m.created_at.secs() })
    }))
}
