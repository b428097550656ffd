//! `/subscriptions` (spec 4.1).

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use millrace_engine::SubscriptionKey;
use millrace_model::ids::AutoSubscriptionId;
use serde_json::{Value, json};

use crate::App;
use crate::error::ApiError;
use crate::extract::{Auth, ListQuery, Params, Path, Paths, encode_cursor, id};
use crate::v1::sources::own;
use crate::wire::{self, Fields};

fn key(params: &Params) -> Result<SubscriptionKey, ApiError> {
    let text = |field| params.text(field).map(Option::unwrap_or_default);
    Ok(SubscriptionKey {
        emitter_id: text("emitter_id")?,
        listener_id: text("listener_id")?,
        event_name: text("event_name")?,
    })
}

pub(crate) async fn create(
    State(app): State<App>,
    Auth(caller): Auth,
    params: Params,
) -> Result<Response, ApiError> {
    let subscription = app.engine.subscribe(&caller, key(&params)?).await?;
    Ok(Fields::of(&params).data(wire::subscription(&subscription)))
}

/// The form before there were subscriptions (facts 1.2).
pub(crate) async fn listen(
    State(app): State<App>,
    Auth(caller): Auth,
    Paths([listener_id, emitter_id]): Paths<2>,
    _: Params,
) -> Result<Response, ApiError> {
    let subscription = app
        .engine
        .subscribe(&caller, SubscriptionKey { emitter_id, listener_id, event_name: String::new() })
        .await?;
    Ok(Fields::default().data(wire::subscription(&subscription)))
}

pub(crate) async fn remove(
    State(app): State<App>,
    Auth(caller): Auth,
    params: Params,
) -> Result<Response, ApiError> {
    let key = key(&params)?;
    let shown = json!({ "emitter_id": key.emitter_id, "listener_id": key.listener_id, "event_name": key.event_name, "deleted": true });
    app.engine.unsubscribe(&caller, key).await?;
    Ok(Fields::default().data(shown))
}

/// Lists of subscriptions have no `page_info` (facts 1.1).
pub(crate) async fn list(State(app): State<App>, Auth(caller): Auth) -> Result<Response, ApiError> {
    let data: Vec<Value> =
        app.engine.list_subscriptions(&caller).await?.iter().map(wire::subscription).collect();
    Ok(Json(json!({ "data": data })).into_response())
}

pub(crate) async fn list_of(
    State(app): State<App>,
    auth: Auth,
    Path(org): Path,
) -> Result<Response, ApiError> {
    own(&app, &auth.0, &org).await?;
    list(State(app), auth).await
}

/// Subscribes a listener to what is made from now on.
pub(crate) async fn create_auto(
    State(app): State<App>,
    Auth(caller): Auth,
    params: Params,
) -> Result<Response, ApiError> {
    let text = |field| params.text(field).map(Option::unwrap_or_default);
    let subscription =
        app.engine.auto_subscribe(&caller, text("listener_id")?, text("event_name")?).await?;
    Ok(Fields::of(&params).data(wire::auto_subscription(&subscription)))
}

pub(crate) async fn list_auto(
    State(app): State<App>,
    Auth(caller): Auth,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let all = app.engine.list_auto_subscriptions(&caller).await?;
    let items =
        all.iter().map(|a| (encode_cursor(a.id.as_str()), wire::auto_subscription(a))).collect();
    Fields::of(&query.params).whole(items, &query.page)
}

pub(crate) async fn remove_auto(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(text): Path,
    _: Params,
) -> Result<Response, ApiError> {
    let subscription = id::<AutoSubscriptionId>("auto-subscription", &text)?;
    app.engine.delete_auto_subscription(&caller, &subscription).await?;
    Ok(Fields::default().data(json!({ "id": subscription, "deleted": true })))
}
