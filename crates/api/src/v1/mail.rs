//! Outbox: mails that were sent, or would have been sent with a mail server.

use axum::extract::State;
use axum::response::Response;
use millrace_engine::{Mail, MailStatus};
use millrace_model::ids::MailId;

use crate::App;
use crate::contract::routes::{Gives, Route, get, post};
use crate::contract::shape::{of, record};
use crate::contract::table::{DEPLOY, READ};
use crate::error::ApiError;
use crate::extract::{Auth, ListQuery, Params, Path, id};
use crate::fields::Fields;

record! {
    /// A mail of the outbox
    MailOut<'a>(m: &'a Mail) {
        id: &'a MailId = &m.id,
        recipient: &'a str = &m.recipient,
        subject: &'a str = &m.subject,
        text: &'a str = &m.text,
        html: Option<&'a str> = m.html.as_deref(),
        status: MailStatus = m.status,
        attempts: i64 = m.attempts,
        last_error: Option<&'a str> = m.last_error.as_deref(),
        created_at: i64 = m.created_at.secs(),
    }
}

pub(crate) fn routes() -> Vec<Route> {
    vec![
        get("/mail", READ, "The outbox, newest first", list).page(of::<MailOut>()),
        get("/mail/{id}", READ, "A mail of the outbox", show).one(of::<MailOut>()),
        post(
            "/mail/{id}/send",
            DEPLOY,
            "Send a mail again, or one that waits for its next try at once",
            send,
        )
        .gives(Gives::One(of::<MailOut>())),
    ]
}

pub(crate) async fn list(
    State(app): State<App>,
    Auth(caller): Auth,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let listing = app.engine.outbox().list(&caller, &query.page).await?;
    Ok(Fields::of(&query.params).records(listing, |mail| MailOut::show(&mail)))
}

pub(crate) async fn show(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(mail): Path,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let mail = app.engine.outbox().get(&caller, &id::<MailId>("mail", &mail)?).await?;
    Ok(Fields::of(&query.params).data(MailOut::show(&mail)))
}

pub(crate) async fn send(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(mail): Path,
    _: Params,
) -> Result<Response, ApiError> {
    let mail = app.engine.outbox().resend(&caller, &id::<MailId>("mail", &mail)?).await?;
    Ok(Fields::default().data(MailOut::show(&mail)))
}
