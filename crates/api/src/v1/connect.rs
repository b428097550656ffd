//! `/connect/{project}`: the paths that clients for end users of such platforms ask on (facts 6.2).
//! A request that names an `external_user_id` sees and uses the accounts and sources that carry it,
//! and no others; one that names none is the organization's own program, and sees all.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use millrace_engine::{
    EngineError, NewSource, NewWebhook, SettingsOfSource, SourceView, SubscriptionKey, UpdateSource,
};
use millrace_model::component::ComponentType;
use millrace_model::event::{EventFilter, ListedEvent};
use millrace_model::ids::{AccountId, SourceId, WebhookId, WorkflowId};
use millrace_model::page::{Listing, Page};
use millrace_model::tenant::Caller;
use serde_json::{Value, json};

use crate::App;
use crate::error::ApiError;
use crate::extract::{Auth, ListQuery, Params, Path, Paths, id, short};
use crate::fields::Fields;
use crate::v1::connect_forms::{ActionRunOut, ConnectDynamicPropsOut, ConnectOptionsOut};
use crate::v1::connect_records::{
    ConnectAccountOut, ConnectAppOut, DeployedTriggerOut, EmittedOut, TriggerWebhookOut,
    TriggerWebhooksOut, TriggerWorkflowsOut,
};
use crate::v1::source_records::check_made_props;
use crate::v1::{accounts, apps, configure, connect_records, events, names};
use crate::written_back::WrittenBack;

/// That the path names the project of the caller's organization.
pub(crate) async fn own_project(app: &App, caller: &Caller, project: &str) -> Result<(), ApiError> {
    let organization = app.engine.organizations().get(caller, &caller.org_id).await?;
    if organization.project_id.as_str() == project {
        Ok(())
    } else {
        Err(EngineError::not_found("project", project).into())
    }
}

/// The caller in its own project, acting for the external user whom the request names.
async fn acting(
    app: &App,
    caller: Caller,
    project: &str,
    params: &Params,
) -> Result<Caller, ApiError> {
    own_project(app, &caller, project).await?;
    Ok(caller.acting_for(params.external_user()?))
}

pub(crate) async fn apps(
    State(app): State<App>,
    Auth(caller): Auth,
    query: ListQuery,
) -> Result<Response, ApiError> {
    apps::listed(&app, &caller, query, |app| ConnectAppOut::show(app)).await
}

pub(crate) async fn app(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(slug): Path,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let found = app.engine.apps().get(&caller, &slug).await?;
    Ok(Fields::of(&query.params).data(ConnectAppOut::show(&found)))
}

pub(crate) async fn accounts(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(project): Path,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let caller = acting(&app, caller, &project, &query.params).await?;
    accounts::listed(&app, &caller, &query, "app", |view| ConnectAccountOut::show(view)).await
}

/// Bare, as such clients read it.
pub(crate) async fn account(
    State(app): State<App>,
    Auth(caller): Auth,
    Paths([project, account]): Paths<2>,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let caller = acting(&app, caller, &project, &query.params).await?;
    let with_credentials = accounts::with_credentials(&caller, &query.params)?;
    let view = app
        .engine
        .accounts()
        .get(&caller, &id::<AccountId>("account", &account)?, with_credentials)
        .await?;
    Ok(Json(ConnectAccountOut::show(&view)).into_response())
}

pub(crate) async fn remove_account(
    State(app): State<App>,
    Auth(caller): Auth,
    Paths([project, account]): Paths<2>,
    params: Params,
) -> Result<Response, ApiError> {
    let caller = acting(&app, caller, &project, &params).await?;
    app.engine.accounts().delete(&caller, &id::<AccountId>("account", &account)?).await?;
    Ok(names::deleted(account.as_str()))
}

/// `kind`: the type of component that the path names.
pub(crate) async fn configure(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(project): Path,
    params: Params,
    kind: Option<ComponentType>,
) -> Result<Response, ApiError> {
    let caller = acting(&app, caller, &project, &params).await?;
    let mut answer = configure::asked_options(&app, &caller, &params, kind).await?;
    answer.options.iter_mut().for_each(connect_records::option);
    Ok(Json(ConnectOptionsOut::show(&answer)).into_response())
}

/// `kind`: the type of component that the path names.
pub(crate) async fn props(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(project): Path,
    params: Params,
    kind: Option<ComponentType>,
) -> Result<Response, ApiError> {
    let caller = acting(&app, caller, &project, &params).await?;
    let answer = configure::asked_props(&app, &caller, &params, kind).await?;
    Ok(Json(ConnectDynamicPropsOut::show(&answer)).into_response())
}

pub(crate) async fn run_action(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(project): Path,
    params: Params,
) -> Result<Response, ApiError> {
    let caller = acting(&app, caller, &project, &params).await?;
    if let Some(stash) =
        params.0.get("stash_id").filter(|stash| !matches!(stash, Value::Null | Value::Bool(false)))
    {
        let said = format!(
            "`stash_id` is {}, and there is no file stash here; leave it out, and let the action put files into a file store",
            short(stash)
        );
        return Err(ApiError::field("stash_id", said));
    }
    let values = params.object("configured_props")?.unwrap_or_default();
    let run = app
        .engine
        .run_action(
            &caller,
            &configure::component(&params)?,
            &values,
            params.text("dynamic_props_id")?.as_deref(),
        )
        .await?;
    Ok(Json(ActionRunOut::show(&run)).into_response())
}

/// Deploys a source; its events go to `workflow_id` or `webhook_url`, where one is named.
pub(crate) async fn deploy(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(project): Path,
    params: Params,
) -> Result<Response, ApiError> {
    let caller = acting(&app, caller, &project, &params).await?;
    let code = configure::component(&params)?;
    let configured_props = params.object("configured_props")?.unwrap_or_default();
    let new = NewSource {
        message: None,
        code,
        name: None,
        configured_props,
        form: params.text("dynamic_props_id")?,
        active: true,
        emits_on_deploy: params.flag("emit_on_deploy")?.unwrap_or(true),
        made_from: None,
        settings: SettingsOfSource::default(),
    };
    let workflow = params.text("workflow_id")?;
    if let Some(workflow) = &workflow {
        // Before any hook of the source runs.
        app.engine.subscriptions().check_listener(&caller, workflow).await?;
    }
    let webhook = match params.text("webhook_url")? {
        Some(url) => {
            let new = NewWebhook { url, name: None, description: None };
            Some(app.engine.webhooks().create(&caller, new).await?)
        }
        None => None,
    };
    let deployed = app.engine.create_source(&caller, new).await;
    let view = match (deployed, &webhook) {
        (Ok(view), _) => view,
        (Err(error), Some((webhook, _))) => {
            // Nothing stays of a deploy that fails.
            app.engine.webhooks().delete(&caller, &webhook.id).await?;
            return Err(error.into());
        }
        (Err(error), None) => return Err(error.into()),
    };
    let listeners =
        workflow.into_iter().chain(webhook.as_ref().map(|(webhook, _)| webhook.id.to_string()));
    for listener_id in listeners {
        let emitter_id = view.source.id.to_string();
        let key = SubscriptionKey { emitter_id, listener_id, event_name: String::new() };
        if let Err(error) = app.engine.subscriptions().subscribe(&caller, key).await {
            app.engine.delete_source(&caller, &view.source.id).await?;
            if let Some((webhook, _)) = &webhook {
                app.engine.webhooks().delete(&caller, &webhook.id).await?;
            }
            return Err(error.into());
        }
    }
    let key = webhook.as_ref().map(|(_, secret)| secret.as_str());
    Ok(Fields::default().data(trigger_record(&app, &caller, &view, key).await?))
}

/// A source as such clients read a deployed trigger: with its component's props and where it is
/// called (facts 6.2). `key` signs the deliveries of the webhook that was made with it.
async fn trigger_record(
    app: &App,
    caller: &Caller,
    view: &SourceView,
    key: Option<&str>,
) -> Result<Value, ApiError> {
    let component = app.engine.component(caller, view.source.component_id.as_str()).await?;
    Ok(DeployedTriggerOut::show(view, &component, &app.config, key))
}

pub(crate) async fn triggers(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(project): Path,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let caller = acting(&app, caller, &project, &query.params).await?;
    let kind = query.params.text("emitter_type")?;
    let listing = match kind.as_deref() {
        None | Some("source") => app.engine.list_sources(&caller, &query.page).await?,
        Some("email" | "http" | "timer") => Listing::of(Vec::new(), 0),
        Some(other) => {
            return Err(ApiError::field(
                "emitter_type",
                format!(
                    "`emitter_type` is `{other}`, allowed are `source`, `email`, `http` and `timer`"
                ),
            ));
        }
    };
    let mut items = Vec::with_capacity(listing.items.len());
    for view in &listing.items {
        items.push(trigger_record(&app, &caller, view, None).await?);
    }
    Ok(Fields::of(&query.params).records(
        Listing { total_count: listing.total_count, items, damaged: listing.damaged },
        |shown| shown,
    ))
}

pub(crate) async fn trigger(
    State(app): State<App>,
    Auth(caller): Auth,
    Paths([project, source]): Paths<2>,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let caller = acting(&app, caller, &project, &query.params).await?;
    let view = app.engine.source(&caller, &id("source", &source)?).await?;
    let record = trigger_record(&app, &caller, &view, None).await?;
    Ok(Fields::of(&query.params).data(record))
}

pub(crate) async fn remove_trigger(
    State(app): State<App>,
    Auth(caller): Auth,
    Paths([project, source]): Paths<2>,
    params: Params,
) -> Result<Response, ApiError> {
    let caller = acting(&app, caller, &project, &params).await?;
    app.engine.delete_source(&caller, &id("source", &source)?).await?;
    Ok(names::deleted(source.as_str()))
}

pub(crate) async fn update_trigger(
    State(app): State<App>,
    Auth(caller): Auth,
    Paths([project, source]): Paths<2>,
    back: WrittenBack,
    mut params: Params,
) -> Result<Response, ApiError> {
    // Of a record that is written back, null is what it shows, and names nobody: it is held against
    // the record below.
    let shown =
        params.0.get("external_user_id").is_some_and(Value::is_null) && params.0.contains_key("id");
    if shown {
        params.0.remove("external_user_id");
    }
    let caller = acting(&app, caller, &project, &params).await?;
    let source = id("source", &source)?;
    let record = async {
        trigger_record(&app, &caller, &app.engine.source(&caller, &source).await?, None).await
    };
    back.check(&params, record).await?;
    check_made_props(&app, &caller, &source, &params).await?;
    if shown && let Some(user) = app.engine.source(&caller, &source).await?.source.external_user_id
    {
        return Err(ApiError::read_only_field("external_user_id", &Value::Null, &json!(user), &[]));
    }
    let update = UpdateSource {
        name: params.text("name")?,
        configured_props: params.object("configured_props")?,
        form: params.text("dynamic_props_id")?,
        active: params.flag("active")?,
        ..UpdateSource::default()
    };
    let view = app.engine.update_source(&caller, &source, update).await?;
    Ok(Fields::default().data(trigger_record(&app, &caller, &view, None).await?))
}

/// The workflows that run on its default channel.
pub(crate) async fn workflows(
    State(app): State<App>,
    Auth(caller): Auth,
    Paths([project, source]): Paths<2>,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let caller = acting(&app, caller, &project, &query.params).await?;
    let view = app.engine.source(&caller, &id("source", &source)?).await?;
    let subscriptions = app.engine.subscriptions();
    let ids = subscriptions.trigger_listeners(&caller, &view.source.id, WorkflowId::PREFIX).await?;
    Ok(Json(TriggerWorkflowsOut::show(ids)).into_response())
}

/// Those that are named run on it from now on, and no others.
pub(crate) async fn set_workflows(
    State(app): State<App>,
    Auth(caller): Auth,
    Paths([project, source]): Paths<2>,
    params: Params,
) -> Result<Response, ApiError> {
    let caller = acting(&app, caller, &project, &params).await?;
    let view = app.engine.source(&caller, &id("source", &source)?).await?;
    let wanted = params
        .words("workflow_ids")?
        .ok_or_else(|| ApiError::missing("workflow_ids", "a list of ids of workflows"))?;
    let subscriptions = app.engine.subscriptions();
    subscriptions.set_trigger_workflows(&caller, &view.source.id, &wanted).await?;
    let ids = subscriptions.trigger_listeners(&caller, &view.source.id, WorkflowId::PREFIX).await?;
    Ok(Json(TriggerWorkflowsOut::show(ids)).into_response())
}

/// The webhooks that its events are posted to.
pub(crate) async fn webhooks(
    State(app): State<App>,
    Auth(caller): Auth,
    Paths([project, source]): Paths<2>,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let caller = acting(&app, caller, &project, &query.params).await?;
    let view = app.engine.source(&caller, &id("source", &source)?).await?;
    shown_webhooks(&app, &caller, &view.source.id, &[]).await
}

/// Its events are posted to those that are named from now on, and to no others.
pub(crate) async fn set_webhooks(
    State(app): State<App>,
    Auth(caller): Auth,
    Paths([project, source]): Paths<2>,
    params: Params,
) -> Result<Response, ApiError> {
    let caller = acting(&app, caller, &project, &params).await?;
    let view = app.engine.source(&caller, &id("source", &source)?).await?;
    let wanted = params
        .words("webhook_urls")?
        .ok_or_else(|| ApiError::missing("webhook_urls", "a list of addresses"))?;
    let subscriptions = app.engine.subscriptions();
    let made = subscriptions.set_trigger_webhooks(&caller, &view.source.id, &wanted).await?;
    shown_webhooks(&app, &caller, &view.source.id, &made).await
}

/// With the secrets of those that were made just now.
async fn shown_webhooks(
    app: &App,
    caller: &Caller,
    source: &SourceId,
    made: &[(WebhookId, String)],
) -> Result<Response, ApiError> {
    let mut shown = Vec::new();
    let subscriptions = app.engine.subscriptions();
    for listener in subscriptions.trigger_listeners(caller, source, WebhookId::PREFIX).await? {
        let webhook = app.engine.webhooks().get(caller, &id("webhook", &listener)?).await?;
        let key = made.iter().find(|(made, _)| *made == webhook.id).map(|(_, secret)| secret);
        shown.push(TriggerWebhookOut::new(&webhook, key));
    }
    Ok(Json(TriggerWebhooksOut::show(shown)).into_response())
}

/// The newest `n` events, newest first.
pub(crate) async fn events(
    State(app): State<App>,
    Auth(caller): Auth,
    Paths([project, source]): Paths<2>,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let caller = acting(&app, caller, &project, &query.params).await?;
    let source: SourceId = id("source", &source)?;
    let limit = query.params.number("n")?.unwrap_or(20);
    let page = Page { limit, room: query.memory.room(), ..Page::default() };
    let listing = app
        .engine
        .events()
        .list(&caller, source.as_str(), EventFilter::default(), true, &page)
        .await?;
    let show = |listing: Listing<ListedEvent>| {
        let shown = listing.items.iter().map(|listed| EmittedOut::new(&listed.event));
        Json(json!({ "data": shown.collect::<Vec<_>>() })).into_response()
    };
    query
        .memory
        .make(listing, |page| page.items.iter().map(|e| events::event_values(&e.event)).sum(), show)
        .await
}
