//! `/webhooks` and their deliveries.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::response::Response;
use millrace_engine::{NewWebhook, shown_address};
use millrace_model::clock::Timestamp;
use millrace_model::ids::{UserId, WebhookDeliveryId, WebhookId};
use millrace_model::json::shown;
use millrace_model::webhook::{DeliveryStatus, Webhook, WebhookAttempt, WebhookDelivery};
use serde_json::Value;

use crate::App;
use crate::contract::routes::{Gives, Route, delete, get, post};
use crate::contract::shape::{of, record};
use crate::contract::table::{DEPLOY, DRY_RUN, INVOKE, ORG, READ, a};
use crate::error::{ApiError, accepted};
use crate::extract::{Auth, ListQuery, Params, Path, Paths, id};
use crate::fields::Fields;
use crate::input::{Input, input};
use crate::v1::events::EventSummaryOut;
use crate::v1::names;

record! {
    /// A webhook
    WebhookOut<'a>(w: &'a Webhook) {
        id: &'a WebhookId = &w.id,
        user_id: &'a UserId = &w.user_id,
        name: Option<&'a str> = w.name.as_deref(),
        description: Option<&'a str> = w.description.as_deref(),
        url: String = shown_address(&w.url),
        active: bool = w.active,
        failures: u32 = w.health.failures,
        paused_until: Option<i64> = w.health.paused_until.map(Timestamp::secs),
        created_at: i64 = w.created_at.secs(),
        updated_at: i64 = w.updated_at.secs(),
    }
}

record! {
    /// A new webhook with its secret
    NewWebhookOut<'a>(w: &'a Webhook, secret: &'a str) {
        #[serde(flatten)]
        record: WebhookOut<'a> = WebhookOut::new(w),
        secret: &'a str = secret,
    }
}

record! {
    /// An event on its way to a webhook
    WebhookDeliveryOut<'a>(d: &'a WebhookDelivery) {
        id: &'a WebhookDeliveryId = &d.id,
        webhook_id: &'a str = &d.target_id,
        status: DeliveryStatus = d.status,
        attempts: u32 = d.attempts,
        last_status: Option<u16> = d.last_status,
        last_error: Option<&'a str> = d.last_error.as_deref(),
        next_attempt_at_ms: Option<i64> =
            (d.status == DeliveryStatus::Queued).then(|| d.next_at.ms()),
        #[schemars(with = "EventSummaryOut")]
        body: Value = shown(&d.body),
        created_at: i64 = d.created_at.secs(),
    }
}

record! {
    /// A delivery to a webhook with what was sent and answered
    WebhookDeliveryDetailOut<'a>(d: &'a WebhookDelivery, headers: &'a [(&'static str, String)]) {
        #[serde(flatten)]
        record: WebhookDeliveryOut<'a> = WebhookDeliveryOut::new(d),
        /// Headers of the last attempt, credentials as `***`; none before the first
        request_headers: BTreeMap<&'a str, &'a str> =
            headers.iter().map(|(name, value)| (*name, value.as_str())).collect(),
        /// The last 20 attempts, oldest first, with those before a replay
        attempt_log: &'a [WebhookAttempt] = &d.attempt_log,
    }
}

record! {
    /// What is to be sent again
    QueuedOut(queued: u64) {
        queued: u64 = queued,
    }
}

input! {
    for NewWebhook {
        /// Where events are sent; its user and password are kept secret and shown as `***`
        url: String,
        /// Its name
        name: Option<String>,
        /// What it is for
        description: Option<String>,
    }
}

pub(crate) fn routes() -> Vec<Route> {
    vec![
        post(
            "/webhooks",
            DEPLOY,
            "Make a webhook; what signs its deliveries is shown this once",
            create,
        )
        .reads::<NewWebhook>()
        .takes(&[ORG])
        .in_query()
        .gives(Gives::One(of::<NewWebhookOut>())),
        get("/webhooks", READ, "Webhooks, newest first", list)
            .takes(&[ORG])
            .page(of::<WebhookOut>()),
        get("/users/me/webhooks", READ, "Webhooks, newest first", list)
            .takes(&[ORG])
            .page(of::<WebhookOut>()),
        get("/webhooks/{id}", READ, "A webhook", show).one(of::<WebhookOut>()),
        delete(
            "/webhooks/{id}",
            DEPLOY,
            "Delete a webhook with its subscriptions; what was on its way is not sent",
            remove,
        )
        .takes(&[DRY_RUN]),
        get(
            "/webhooks/{id}/deliveries",
            READ,
            "What was or is to be sent, newest first; failed ones are dead letters",
            deliveries,
        )
        .takes(&[a::<DeliveryStatus>("status", "`queued`, `delivered` or `failed`")])
        .page(of::<WebhookDeliveryOut>()),
        get(
            "/webhooks/{id}/deliveries/{delivery}",
            READ,
            "A delivery: its body, the headers of its last attempt, and each attempt",
            delivery,
        )
        .one(of::<WebhookDeliveryDetailOut>()),
        post(
            "/webhooks/{id}/deliveries/replay",
            INVOKE,
            "Send all dead letters again",
            replay_failed,
        )
        .gives(Gives::One(of::<QueuedOut>()))
        .status(202),
        post(
            "/webhooks/{id}/deliveries/{delivery}/replay",
            INVOKE,
            "Send a delivery again",
            replay,
        )
        .gives(Gives::One(of::<QueuedOut>()))
        .status(202),
    ]
}

pub(crate) async fn create(
    State(app): State<App>,
    Auth(caller): Auth,
    params: Params,
) -> Result<Response, ApiError> {
    params.org_is(&caller)?;
    let (webhook, secret) = app.engine.webhooks().create(&caller, Input::read(&params)?).await?;
    Ok(Fields::default().data(NewWebhookOut::show(&webhook, &secret)))
}

pub(crate) async fn list(
    State(app): State<App>,
    Auth(caller): Auth,
    query: ListQuery,
) -> Result<Response, ApiError> {
    query.params.org_is(&caller)?;
    let listing = app.engine.webhooks().list(&caller, &query.page).await?;
    Ok(Fields::of(&query.params).records(listing, |w| WebhookOut::show(&w)))
}

pub(crate) async fn show(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(text): Path,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let webhook = app.engine.webhooks().get(&caller, &webhook_id(&text)?).await?;
    Ok(Fields::of(&query.params).data(WebhookOut::show(&webhook)))
}

pub(crate) async fn remove(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(text): Path,
    params: Params,
) -> Result<Response, ApiError> {
    let webhook = webhook_id(&text)?;
    if names::is_dry(&params)? {
        return Ok(names::would_go(
            webhook.as_str(),
            &app.engine.webhook_would_go(&caller, &webhook).await?,
        ));
    }
    app.engine.webhooks().delete(&caller, &webhook).await?;
    Ok(names::deleted(webhook.as_str()))
}

pub(crate) async fn deliveries(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(text): Path,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let status = query.params.text("status")?.map(|text| {
        DeliveryStatus::parse(&text).ok_or_else(|| {
            let shown = millrace_model::shown(&text);
            ApiError::field(
                "status",
                format!("`{shown}` is not a status; allowed are queued, delivered and failed"),
            )
        })
    });
    let listing = app
        .engine
        .webhooks()
        .list_deliveries(&caller, &webhook_id(&text)?, status.transpose()?, &query.page)
        .await?;
    Ok(Fields::of(&query.params).records(listing, |d| WebhookDeliveryOut::show(&d)))
}

pub(crate) async fn delivery(
    State(app): State<App>,
    Auth(caller): Auth,
    Paths([webhook, delivery]): Paths<2>,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let delivery = id::<WebhookDeliveryId>("delivery", &delivery)?;
    let (found, headers) =
        app.engine.webhooks().get_delivery(&caller, &webhook_id(&webhook)?, &delivery).await?;
    Ok(Fields::of(&query.params).data(WebhookDeliveryDetailOut::show(&found, &headers)))
}

/// All dead letters.
pub(crate) async fn replay_failed(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(text): Path,
    _: Params,
) -> Result<Response, ApiError> {
    let queued =
        app.engine.webhooks().replay_deliveries(&caller, &webhook_id(&text)?, None).await?;
    Ok(accepted(Fields::default().data(QueuedOut::show(queued))))
}

/// One delivery.
pub(crate) async fn replay(
    State(app): State<App>,
    Auth(caller): Auth,
    Paths([webhook, delivery]): Paths<2>,
    _: Params,
) -> Result<Response, ApiError> {
    let delivery = id::<WebhookDeliveryId>("delivery", &delivery)?;
    let queued = app
        .engine
        .webhooks()
        .replay_deliveries(&caller, &webhook_id(&webhook)?, Some(delivery))
        .await?;
    Ok(accepted(Fields::default().data(QueuedOut::show(queued))))
}

fn webhook_id(text: &str) -> Result<WebhookId, ApiError> {
    id("webhook", text)
}
