//! `/subscriptions` (spec 4.1).

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use millrace_engine::SubscriptionKey;
use millrace_model::ids::{AutoSubscriptionId, SubscriptionId};
use millrace_model::subscription::{AutoSubscription, ERRORS, LOGS, Subscription};
use serde_json::{Value, json};

use crate::App;
use crate::contract::routes::{Gives, Route, delete, get, post, put};
use crate::contract::shape::{of, record};
use crate::contract::table::{DEPLOY, EVENT_NAME, READ, text, word};
use crate::error::ApiError;
use crate::extract::{Auth, ListQuery, Params, Path, Paths, encode_cursor, id};
use crate::fields::Fields;
use crate::v1::names;
use crate::v1::sources::own;

record! {
    /// A subscription
    SubscriptionOut<'a>(s: &'a Subscription) {
        id: &'a SubscriptionId = &s.id,
        emitter_id: &'a str = &s.emitter_id,
        listener_id: &'a str = &s.listener_id,
        event_name: &'a str = &s.event_name,
    }
}

record! {
    /// A subscription that was ended
    UnsubscribedOut<'a>(key: &'a SubscriptionKey) {
        emitter_id: &'a str = &key.emitter_id,
        listener_id: &'a str = &key.listener_id,
        event_name: &'a str = &key.event_name,
        deleted: bool = true,
    }
}

record! {
    /// An auto-subscription
    AutoSubscriptionOut<'a>(s: &'a AutoSubscription) {
        id: &'a AutoSubscriptionId = &s.id,
        listener_id: &'a str = &s.listener_id,
        event_name: &'a str = &s.event_name,
        created_at: i64 = s.created_at.secs(),
    }
}

pub(crate) fn routes() -> Vec<Route> {
    let auto = [
        text("listener_id", "A workflow, source or webhook").required(),
        word("event_name", &[ERRORS, LOGS], "`$errors` or `$logs`").required(),
    ];
    let triple = [
        text("emitter_id", "A source, a workflow, the organization, or `p_*`, `dc_*`").required(),
        text("listener_id", "A workflow, source or webhook").required(),
        EVENT_NAME,
    ];
    vec![
        get("/users/me/subscriptions", READ, "All subscriptions", list).gives(Gives::List(of::<SubscriptionOut>())),
        get("/workspaces/{org}/subscriptions", READ, "All subscriptions", list_of).gives(Gives::List(of::<SubscriptionOut>())),
        get("/orgs/{org}/subscriptions", READ, "All subscriptions", list_of).gives(Gives::List(of::<SubscriptionOut>())),
        post("/subscriptions", DEPLOY, "Let a listener run on what an emitter emits; the same again gives the one that exists", create)
            .takes(&triple)
            .in_query()
            .one(of::<SubscriptionOut>()),
        put(
            "/sources/{id}/listen/{emitter}",
            DEPLOY,
            "Let a source, or another listener, run on the default channel of an emitter: what clients asked for before there were subscriptions",
            listen,
        )
        .gives(Gives::One(of::<SubscriptionOut>())),
        delete("/subscriptions", DEPLOY, "End a subscription", remove).takes(&triple).gives(Gives::One(of::<UnsubscribedOut>())),
        post(
            "/auto_subscriptions",
            DEPLOY,
            "Subscribe a listener to each workflow and source that is made from now on",
            create_auto,
        )
        .takes(&auto)
        .in_query()
        .one(of::<AutoSubscriptionOut>()),
        get("/auto_subscriptions", READ, "All auto-subscriptions", list_auto)
            .page(of::<AutoSubscriptionOut>()),
        delete(
            "/auto_subscriptions/{id}",
            DEPLOY,
            "End an auto-subscription; what it subscribed to before stays",
            remove_auto,
        ),
    ]
}

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
    let subscription = app.engine.subscriptions().subscribe(&caller, key(&params)?).await?;
    Ok(Fields::of(&params).data(SubscriptionOut::show(&subscription)))
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
        .subscriptions()
        .subscribe(&caller, SubscriptionKey { emitter_id, listener_id, event_name: String::new() })
        .await?;
    Ok(Fields::default().data(SubscriptionOut::show(&subscription)))
}

pub(crate) async fn remove(
    State(app): State<App>,
    Auth(caller): Auth,
    params: Params,
) -> Result<Response, ApiError> {
    let key = key(&params)?;
    let shown = UnsubscribedOut::show(&key);
    app.engine.subscriptions().unsubscribe(&caller, key).await?;
    Ok(Fields::default().data(shown))
}

/// Lists of subscriptions have no `page_info` (facts 1.1).
pub(crate) async fn list(State(app): State<App>, Auth(caller): Auth) -> Result<Response, ApiError> {
    let data: Vec<Value> =
        app.engine.subscriptions().list(&caller).await?.iter().map(SubscriptionOut::show).collect();
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
    let subscription = app
        .engine
        .subscriptions()
        .auto_subscribe(&caller, text("listener_id")?, text("event_name")?)
        .await?;
    Ok(Fields::of(&params).data(AutoSubscriptionOut::show(&subscription)))
}

pub(crate) async fn list_auto(
    State(app): State<App>,
    Auth(caller): Auth,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let all = app.engine.subscriptions().list_auto(&caller).await?;
    let items =
        all.iter().map(|a| (encode_cursor(a.id.as_str()), AutoSubscriptionOut::show(a))).collect();
    Fields::of(&query.params).whole(items, &query.page)
}

pub(crate) async fn remove_auto(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(text): Path,
    _: Params,
) -> Result<Response, ApiError> {
    let subscription = id::<AutoSubscriptionId>("auto-subscription", &text)?;
    app.engine.subscriptions().delete_auto(&caller, &subscription).await?;
    Ok(names::deleted(subscription.as_str()))
}
