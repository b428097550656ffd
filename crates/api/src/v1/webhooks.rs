//! `/webhooks`, and what was or is to be sent to them.

use axum::extract::State;
use axum::response::Response;
use millrace_engine::NewWebhook;
use millrace_model::ids::{WebhookDeliveryId, WebhookId};
use millrace_model::webhook::DeliveryStatus;
use serde_json::json;

use crate::App;
use crate::error::{ApiError, accepted};
use crate::extract::{Auth, ListQuery, Params, Path, Paths, id};
use crate::v1::names;
use crate::wire::{self, Fields};

pub(crate) async fn create(
    State(app): State<App>,
    Auth(caller): Auth,
    params: Params,
) -> Result<Response, ApiError> {
    params.org_is(&caller)?;
    let new = NewWebhook {
        url: params.text("url")?.unwrap_or_default(),
        name: params.text("name")?,
        description: params.text("description")?,
    };
    let (webhook, secret) = app.engine.webhooks().create(&caller, new).await?;
    let mut shown = wire::webhook(&webhook);
    shown["secret"] = json!(secret);
    Ok(Fields::default().data(shown))
}

pub(crate) async fn list(
    State(app): State<App>,
    Auth(caller): Auth,
    query: ListQuery,
) -> Result<Response, ApiError> {
    query.params.org_is(&caller)?;
    let listing = app.engine.webhooks().list(&caller, &query.page).await?;
    Ok(Fields::of(&query.params).records(listing, |w| wire::webhook(&w)))
}

pub(crate) async fn show(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(text): Path,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let webhook = app.engine.webhooks().get(&caller, &webhook_id(&text)?).await?;
    Ok(Fields::of(&query.params).data(wire::webhook(&webhook)))
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
    Ok(Fields::default().data(json!({ "id": webhook, "deleted": true })))
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
    Ok(Fields::of(&query.params).records(listing, |d| wire::webhook_delivery(&d)))
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
    Ok(accepted(Fields::default().data(json!({ "queued": queued }))))
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
    Ok(accepted(Fields::default().data(json!({ "queued": queued }))))
}

fn webhook_id(text: &str) -> Result<WebhookId, ApiError> {
    id("webhook", text)
}
