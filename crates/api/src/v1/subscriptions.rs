//! `/subscriptions` (spec 4.1).

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use millrace_engine::{EngineError, SubscriptionKey};
use millrace_model::ids::{
    AutoSubscriptionId, OrgId, SourceId, SubscriptionId, WebhookId, WorkflowId,
};
use millrace_model::subscription::{
    ALL_SOURCES, ALL_WORKFLOWS, AutoSubscription, ERRORS, LOGS, Subscription, SubscriptionFilter,
};
use serde_json::{Value, json};

use crate::App;
use crate::contract::routes::{FIELDS, Gives, PAGE, Route, delete, get, post, put};
use crate::contract::shape::{OrNull, of, record};
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
    /// A subscription of a list; with names where a page is asked for
    ListedSubscriptionOut<'a>(
        s: &'a Subscription,
        names: Option<(Option<&'a str>, Option<&'a str>)>,
    ) {
        #[serde(flatten)]
        record: SubscriptionOut<'a> = SubscriptionOut::new(s),
        #[serde(skip_serializing_if = "Option::is_none")]
        emitter_name: Option<OrNull<&'a str>> = names.map(|(emitter, _)| OrNull(emitter)),
        #[serde(skip_serializing_if = "Option::is_none")]
        listener_name: Option<OrNull<&'a str>> = names.map(|(_, listener)| OrNull(listener)),
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
        listed(get("/users/me/subscriptions", READ, LISTED, list)),
        listed(get("/workspaces/{org}/subscriptions", READ, LISTED, list_of)),
        listed(get("/orgs/{org}/subscriptions", READ, LISTED, list_of)),
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

const LISTED: &str = "Subscriptions, newest first: the newest 10,000, or with `limit`, `after` or `before` a page with `page_info` and the names of what they connect";

fn listed(route: Route) -> Route {
    let filters = [
        text("emitter_id", "Those of this emitter: an id, `p_*` or `dc_*`"),
        text("listener_id", "Those of this listener"),
    ];
    route
        .takes(&filters)
        .takes(PAGE)
        .takes(FIELDS)
        .gives(Gives::List(of::<ListedSubscriptionOut>()))
}

fn key(params: &Params) -> Result<SubscriptionKey, ApiError> {
    Ok(SubscriptionKey {
        emitter_id: params.needed("emitter_id")?,
        listener_id: params.needed("listener_id")?,
        event_name: params.text("event_name")?.unwrap_or_default(),
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

/// Whether a text has the form of what emits; one of another form names nothing.
fn is_emitter(text: &str) -> bool {
    [ALL_WORKFLOWS, ALL_SOURCES].contains(&text) || text.parse::<OrgId>().is_ok() || is_owner(text)
}

/// The same of what listens.
fn is_listener(text: &str) -> bool {
    text.parse::<WebhookId>().is_ok() || is_owner(text)
}

fn is_owner(text: &str) -> bool {
    text.parse::<WorkflowId>().is_ok() || text.parse::<SourceId>().is_ok()
}

/// The whole list has no `page_info`, and records of four fields (facts 1.1).
pub(crate) async fn list(
    State(app): State<App>,
    Auth(caller): Auth,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let given = |field| query.params.text(field).map(|id| id.filter(|id| !id.is_empty()));
    let (emitter, listener) = (given("emitter_id")?, given("listener_id")?);
    if let Some(id) = emitter.as_deref().filter(|id| !is_emitter(id)) {
        return Err(EngineError::not_found("emitter", id).into());
    }
    if let Some(id) = listener.as_deref().filter(|id| !is_listener(id)) {
        return Err(EngineError::not_found("listener", id).into());
    }
    let which = SubscriptionFilter { emitter, listener };
    let subscriptions = app.engine.subscriptions();
    if given("limit")?.is_none() && query.page.cursors().next().is_none() {
        let all = subscriptions.list(&caller, &which).await?;
        let fields = Fields::of(&query.params);
        let shown = |s| fields.apply(ListedSubscriptionOut::show(s, None));
        let data: Vec<Value> = all.iter().map(shown).collect();
        return Ok(Json(json!({ "data": data })).into_response());
    }
    let listing = subscriptions.page(&caller, &which, &query.page).await?;
    Ok(Fields::of(&query.params).records(listing, |listed| {
        let names = (listed.emitter_name.as_deref(), listed.listener_name.as_deref());
        ListedSubscriptionOut::show(&listed.subscription, Some(names))
    }))
}

pub(crate) async fn list_of(
    State(app): State<App>,
    auth: Auth,
    Path(org): Path,
    query: ListQuery,
) -> Result<Response, ApiError> {
    own(&app, &auth.0, &org).await?;
    list(State(app), auth, query).await
}

/// Subscribes a listener to what is made from now on.
pub(crate) async fn create_auto(
    State(app): State<App>,
    Auth(caller): Auth,
    params: Params,
) -> Result<Response, ApiError> {
    let (listener, name) = (params.needed("listener_id")?, params.needed("event_name")?);
    let subscription = app.engine.subscriptions().auto_subscribe(&caller, listener, name).await?;
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
