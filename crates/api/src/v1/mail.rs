//! The outbox: what was mailed, or would have been without a mail server.

use axum::extract::State;
use axum::response::Response;
use millrace_engine::Mail;
use millrace_model::ids::MailId;
use serde_json::{Value, json};

use crate::App;
use crate::error::ApiError;
use crate::extract::{Auth, ListQuery, Params, Path, id};
use crate::wire::Fields;

pub(crate) async fn list(
    State(app): State<App>,
    Auth(caller): Auth,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let listing = app.engine.outbox().list(&caller, &query.page).await?;
    Ok(Fields::of(&query.params).records(listing, |mail| shown(&mail)))
}

pub(crate) async fn show(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(mail): Path,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let mail = app.engine.outbox().get(&caller, &id::<MailId>("mail", &mail)?).await?;
    Ok(Fields::of(&query.params).data(shown(&mail)))
}

pub(crate) async fn send(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(mail): Path,
    _: Params,
) -> Result<Response, ApiError> {
    let mail = app.engine.outbox().resend(&caller, &id::<MailId>("mail", &mail)?).await?;
    Ok(Fields::default().data(shown(&mail)))
}

fn shown(m: &Mail) -> Value {
    json!({
        "id": m.id, "recipient": m.recipient, "subject": m.subject, "text": m.text, "html": m.html, "status": m.status.as_str(), "attempts": m.attempts,
        "last_error": m.last_error, "created_at": m.created_at.secs(),
    })
}
