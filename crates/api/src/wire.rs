//! The shapes of records as they are sent (reference 2).

mod tenants;

use axum::Json;
use axum::response::{IntoResponse, Response};
use millrace_engine::{
    Delivery, DeploymentView, EngineError, FailedRun, Interfaces, Lineage, ListedRun, NewestEvent,
    RunView, SourceDeploymentView, SourceView, StepView, WorkflowView,
};
use millrace_model::clock::Timestamp;
use millrace_model::component::{PropDef, SavedComponent};
use millrace_model::event::{Event, ListedEvent, PAYLOAD_PREVIEW_BYTES, PAYLOAD_SHOWN_BYTES};
use millrace_model::ids::{SourceId, WorkflowId};
use millrace_model::json::shown as shown_json;
use millrace_model::page::{Listing, Page};
use millrace_model::props::timer_value;
use millrace_model::run::{LogLine, Run, RunResult, RunStatus, StepResult};
use millrace_model::source::{Owner, SourceDeployment};
use millrace_model::subscription::{AutoSubscription, DEFERRED, Subscription};
use millrace_model::tenant::{Caller, Scope};
use millrace_model::webhook::{DeliveryStatus, Webhook, WebhookDelivery};
use millrace_model::workflow::{Author, Deployment, Trigger};
use serde::Deserialize;
use serde_json::{Map, Value, json};

pub(crate) use self::tenants::{account, api_key, app, connection, organization};
use crate::ApiConfig;
use crate::audit::Shown;
use crate::error::ApiError;
use crate::extract::{Params, encode_cursor, unfolded};

/// `include` and `exclude`: names of fields of the record or of each item.
#[derive(Default)]
pub(crate) struct Fields {
    include: Option<Vec<String>>,
    exclude: Vec<String>,
}

impl Fields {
    pub(crate) fn of(params: &Params) -> Self {
        let list = |field: &str| {
            let names = |text: &str| {
                text.split(',')
                    .map(|f| f.trim().to_owned())
                    .filter(|f| !f.is_empty())
                    .collect::<Vec<_>>()
            };
            params.0.get(field).and_then(Value::as_str).map(names).filter(|names| !names.is_empty())
        };
        Self { include: list("include"), exclude: list("exclude").unwrap_or_default() }
    }

    /// Whether a field is asked for by its name.
    pub(crate) fn names(&self, field: &str) -> bool {
        self.include.as_ref().is_some_and(|names| names.iter().any(|name| name == field))
    }

    /// A record, as far as it is asked for.
    pub(crate) fn apply(&self, mut value: Value) -> Value {
        if let Value::Object(object) = &mut value {
            object.retain(|name, _| {
                self.include.as_ref().is_none_or(|i| i.contains(name))
                    && !self.exclude.contains(name)
            });
        }
        value
    }

    /// `{"data": …}`.
    pub(crate) fn data(&self, value: Value) -> Response {
        let shown = value["id"].as_str().map(|id| Shown(id.to_owned()));
        let mut response = Json(json!({ "data": self.apply(value) })).into_response();
        if let Some(shown) = shown {
            response.extensions_mut().insert(shown);
        }
        response
    }

    /// `{"page_info": …, "data": […]}`; `cursor` gives an item's own.
    pub(crate) fn list(&self, total_count: u64, items: Vec<(String, Value)>) -> Response {
        self.list_with(total_count, items, &[], None)
    }

    /// `searched`: what a search looked at.
    fn list_with(
        &self,
        total_count: u64,
        items: Vec<(String, Value)>,
        damaged: &[String],
        searched: Option<Value>,
    ) -> Response {
        // Where nothing of a page can be read, the next one is still to be found.
        let cursor = |item: Option<&(String, Value)>, other: Option<&String>| {
            item.map(|(cursor, _)| cursor.clone()).or_else(|| other.map(|id| encode_cursor(id)))
        };
        let (start, end) =
            (cursor(items.first(), damaged.first()), cursor(items.last(), damaged.last()));
        let mut page_info = json!({ "total_count": total_count, "count": items.len(), "start_cursor": start, "end_cursor": end });
        if !damaged.is_empty() {
            page_info["damaged"] = json!(damaged);
        }
        if let Some(searched) = searched {
            page_info["search"] = searched;
        }
        let data: Vec<Value> = items.into_iter().map(|(_, item)| self.apply(item)).collect();
        Json(json!({ "page_info": page_info, "data": data })).into_response()
    }

    /// A page of a list that is there as a whole; each item with its cursor.
    pub(crate) fn whole(
        &self,
        items: Vec<(String, Value)>,
        page: &Page,
    ) -> Result<Response, ApiError> {
        let (total, items) = Self::page_of(items, page)?;
        Ok(self.list(total, items))
    }

    /// How many there are in all, and those on the page.
    pub(crate) fn page_of(
        mut items: Vec<(String, Value)>,
        page: &Page,
    ) -> Result<(u64, Vec<(String, Value)>), ApiError> {
        let total = items.len();
        let (mut start, mut end) = (0, total);
        for (name, cursor) in page.cursors() {
            let at = items
                .iter()
                .position(|(own, _)| own == cursor || *own == encode_cursor(cursor))
                .ok_or_else(|| EngineError::unknown_cursor(name))?;
            if name == "after" { start = at + 1 } else { end = at }
        }
        let limit = page.limit as usize;
        let range = if page.from_end() {
            end.saturating_sub(limit)..end
        } else {
            start..end.max(start).min(start + limit)
        };
        Ok((total as u64, items.drain(range).collect()))
    }

    /// A list of records whose cursor is their id.
    pub(crate) fn records<T>(&self, listing: Listing<T>, show: impl Fn(T) -> Value) -> Response {
        self.searched(listing, None, show)
    }

    /// The same of a search.
    pub(crate) fn searched<T>(
        &self,
        listing: Listing<T>,
        searched: Option<Value>,
        show: impl Fn(T) -> Value,
    ) -> Response {
        let items = listing
            .items
            .into_iter()
            .map(show)
            .map(|item| (encode_cursor(item["id"].as_str().unwrap_or("")), item))
            .collect();
        self.list_with(listing.total_count, items, &listing.damaged, searched)
    }
}

pub(crate) fn component(c: &SavedComponent) -> Value {
    json!({
        "id": c.id, "code": c.code, "code_hash": c.code_hash, "name": c.manifest.name, "key": c.manifest.key, "version": c.manifest.version,
        "description": c.manifest.description, "type": c.component_type.name(), "files": c.files, "configurable_props": c.manifest.props, "annotations": c.manifest.annotations, "apps": apps(c), "component_url": c.url,
        "published": c.published, "created_at": c.created_at.secs(), "updated_at": c.updated_at.secs(),
    })
}

/// The apps whose accounts a component's props ask for.
fn apps(c: &SavedComponent) -> Vec<&str> {
    c.manifest.props.iter().filter_map(PropDef::app).filter(|slug| !slug.is_empty()).collect()
}

pub(crate) fn source(view: &SourceView) -> Value {
    let s = &view.source;
    json!({
        "id": s.id, "user_id": s.user_id, "owner_id": s.org_id, "component_id": s.component_id, "configured_props": s.configured_props, "sealed_props": view.sealed, "active": s.active,
        "inactive_reason": s.inactive_reason, "created_at": s.created_at.secs(), "updated_at": s.updated_at.secs(), "name": s.name, "name_slug": s.name_slug,
        "calls_per_isolate": s.settings.calls_per_isolate.unwrap_or(1), "concurrency": s.limits.as_ref().and_then(|limits| limits.concurrency),
        "made_from": s.made_from, "external_user_id": s.external_user_id, "interfaces": interfaces(&view.interfaces),
    })
}

/// A version of a source.
pub(crate) fn source_deployment(d: &SourceDeployment) -> Value {
    json!({
        "id": d.id, "source_id": d.source_id, "version": d.version, "component_id": d.content.component_id, "message": d.message,
        "made_by": author(d.made_by.as_ref()), "created_at": d.created_at.secs(),
    })
}

/// The same with its code, props and settings.
pub(crate) fn whole_source_deployment(view: &SourceDeploymentView) -> Value {
    let content = &view.deployment.content;
    let mut shown = source_deployment(&view.deployment);
    shown["code"] = json!(view.component.code);
    shown["configured_props"] = json!(content.configured_props);
    shown["sealed_props"] = json!(view.sealed);
    shown["calls_per_isolate"] = json!(content.settings.calls_per_isolate.unwrap_or(1));
    shown["concurrency"] = json!(content.settings.concurrency);
    shown
}

/// The newest event of a source.
pub(crate) fn newest_event(e: &NewestEvent) -> Value {
    let said: Value = serde_json::from_str(&e.metadata).unwrap_or_default();
    json!({ "id": e.id.to_string(), "at_ms": e.id.ms, "name": e.name, "summary": said["summary"] })
}

/// How its newest failed run failed.
pub(crate) fn newest_error(run: &FailedRun) -> Value {
    let error: Value = serde_json::from_str(&run.error).unwrap_or_default();
    json!({ "run_id": run.id, "at_ms": run.at.ms(), "code": error["code"], "message": error["message"] })
}

/// What triggers a source; its props tell the addresses.
fn interfaces(i: &Interfaces) -> Vec<Value> {
    let http = i.http.iter().map(|http| json!({ "id": http.id, "type": "http", "key": http.key, "custom_response": http.custom_response }));
    let timers = i.timers.iter().map(|timer| {
        let value = timer_value(&timer.schedule);
        let timezone = value.get("timezone").cloned().unwrap_or(json!("UTC"));
        json!({ "id": timer.id, "type": "timer", "interval_seconds": value["interval_seconds"], "cron": value["cron"], "timezone": timezone })
    });
    http.chain(timers).collect()
}

pub(crate) fn subscription(s: &Subscription) -> Value {
    json!({ "id": s.id, "emitter_id": s.emitter_id, "listener_id": s.listener_id, "event_name": s.event_name })
}

pub(crate) fn auto_subscription(s: &AutoSubscription) -> Value {
    json!({ "id": s.id, "listener_id": s.listener_id, "event_name": s.event_name, "created_at": s.created_at.secs() })
}

/// A webhook's record; never its secret.
pub(crate) fn webhook(w: &Webhook) -> Value {
    json!({
        "id": w.id, "user_id": w.user_id, "name": w.name, "description": w.description, "url": w.url, "active": w.active,
        "failures": w.health.failures, "paused_until": w.health.paused_until.map(|t| t.secs()),
        "created_at": w.created_at.secs(), "updated_at": w.updated_at.secs(),
    })
}

/// A delivery, with what is sent.
pub(crate) fn webhook_delivery(d: &WebhookDelivery) -> Value {
    let next_at = (d.status == DeliveryStatus::Queued).then(|| d.next_at.ms());
    json!({
        "id": d.id, "webhook_id": d.target_id, "status": d.status.as_str(), "attempts": d.attempts, "last_status": d.last_status, "last_error": d.last_error,
        "next_attempt_at_ms": next_at, "body": shown_json(&d.body), "created_at": d.created_at.secs(),
    })
}

/// An event summary; `metadata` stands beside `event` (reference 2).
pub(crate) fn listed_event(e: &ListedEvent, expand: bool) -> Value {
    if expand || e.payload_bytes <= PAYLOAD_SHOWN_BYTES {
        return event(&e.event);
    }
    let payload = &e.event.payload;
    let preview = &payload[..payload.floor_char_boundary(PAYLOAD_PREVIEW_BYTES)];
    summary(&e.event, json!({ "$truncated": true, "$bytes": e.payload_bytes, "$preview": preview }))
}

/// The same with all of its data.
pub(crate) fn event(e: &Event) -> Value {
    summary(e, shown_json(&e.payload))
}

fn summary(e: &Event, payload: Value) -> Value {
    let mut metadata: Map<String, Value> = serde_json::from_str(&e.metadata).unwrap_or_default();
    if e.name == DEFERRED {
        // What it is delivered with is the engine's.
        metadata
            .retain(|field, _| !["trace_id", "hops", "handles_error"].contains(&field.as_str()));
    }
    metadata.insert("emitter_id".into(), json!(e.emitter_id));
    metadata.insert("emit_id".into(), json!(e.emit_id));
    metadata.insert("name".into(), json!(e.name));
    json!({ "id": e.id.to_string(), "indexed_at_ms": e.id.ms, "metadata": metadata, "event": payload })
}

/// About how many bytes the values take that are read to show it.
pub(crate) fn event_values(e: &Event) -> usize {
    [&e.payload, &e.metadata].map(|text| unfolded(text.as_bytes(), false)).iter().sum()
}

/// Triggers; `times`: when what they belong to was made and changed.
fn triggers(
    triggers: &[Trigger],
    sources: &[SourceView],
    times: (Timestamp, Timestamp),
    config: &ApiConfig,
) -> Vec<Value> {
    triggers.iter().map(|t| trigger(t, sources, times, config)).collect()
}

fn trigger(
    t: &Trigger,
    sources: &[SourceView],
    times: (Timestamp, Timestamp),
    config: &ApiConfig,
) -> Value {
    let (created_at, updated_at) = (times.0.secs(), times.1.secs());
    match t {
        Trigger::Http { id, key, custom_response, auth, .. } => {
            // Never the secret.
            let auth = auth.as_ref().map_or_else(
                || json!({ "type": "none" }),
                |auth| json!({ "type": auth.kind, "header": auth.header }),
            );
            json!({ "id": id, "type": "http", "key": key, "endpoint_url": config.endpoint_url(key), "custom_response": custom_response, "auth": auth, "created_at": created_at, "updated_at": updated_at })
        }
        Trigger::Timer { id, schedule } => {
            let value = timer_value(schedule);
            json!({ "id": id, "type": "timer", "interval_seconds": value["interval_seconds"], "cron": value["cron"], "timezone": value.get("timezone").cloned().unwrap_or(json!("UTC")), "created_at": created_at, "updated_at": updated_at })
        }
        Trigger::Source { id, event_name } => {
            let mut shown = sources
                .iter()
                .find(|s| s.source.id == *id)
                .map_or_else(|| json!({ "id": id }), source);
            shown["type"] = json!("source");
            shown["event_name"] = json!(event_name);
            shown
        }
    }
}

fn step(view: &StepView) -> Value {
    let (s, c) = (&view.step, &view.component);
    json!({
        "id": s.id, "namespace": s.namespace, "type": "CodeCell", "lang": "nodejs20.x", "disabled": s.disabled, "note": s.note, "component": true, "component_key": c.manifest.key,
        "savedComponent": { "id": c.id, "code": c.code, "codeHash": c.code_hash, "configurableProps": c.manifest.props, "key": c.manifest.key, "version": c.manifest.version, "apps": apps(c), "published": c.published, "files": c.files },
        "configured_props_json": Value::Object(s.props.clone()).to_string(),
        "sealed_props": view.sealed,
    })
}

pub(crate) fn workflow(view: &WorkflowView, config: &ApiConfig) -> Value {
    let w = &view.workflow;
    let triggers = triggers(&w.draft.triggers, &view.sources, (w.created_at, w.updated_at), config);
    let mut shown = json!({
        "id": w.id, "org_id": w.org_id, "project_id": w.project_id, "name": w.name, "name_slug": w.name_slug, "active": w.active, "deployment_id": w.deployment_id,
        "triggers": triggers, "settings": w.draft.settings, "created_at": w.created_at.secs(), "updated_at": w.updated_at.secs(),
        "made_from": w.made_from, "note": w.note, "tags": w.tags, "revision": w.drafted.revision,
        "draft": { "changed": w.drafted.is_changed, "changed_at": w.drafted.at.secs(), "changed_by": author(w.drafted.by.as_ref()) },
    });
    shown["steps"] = if view.steps.is_empty() {
        w.draft
            .steps
            .iter()
            .map(|s| json!({ "id": s.id, "namespace": s.namespace, "disabled": s.disabled }))
            .collect()
    } else {
        view.steps.iter().map(step).collect()
    };
    shown
}

pub(crate) fn author(by: Option<&Author>) -> Option<Value> {
    by.map(|by| json!({ "id": by.id, "name": by.name }))
}

pub(crate) fn deployment(d: &Deployment) -> Value {
    json!({ "id": d.id, "workflow_id": d.workflow_id, "version": d.version, "message": d.message, "made_by": author(d.made_by.as_ref()), "created_at": d.created_at.secs(), "steps": d.content.steps.iter().map(|s| json!({ "id": s.id, "namespace": s.namespace, "component_id": s.component_id })).collect::<Vec<_>>() })
}

/// A deployment with all that it runs.
pub(crate) fn whole_deployment(view: &DeploymentView, config: &ApiConfig) -> Value {
    let d = &view.deployment;
    let mut shown = deployment(d);
    shown["triggers"] =
        triggers(&d.content.triggers, &view.sources, (d.created_at, d.created_at), config).into();
    shown["steps"] = view.steps.iter().map(step).collect();
    shown["settings"] = json!(d.content.settings);
    shown
}

/// About how many bytes the values take that are read to show it.
pub(crate) fn run_values(r: &Run) -> usize {
    [Some(&r.event), Some(&r.context), r.result.as_ref(), r.error.as_ref()]
        .into_iter()
        .flatten()
        .map(|text| unfolded(text.as_bytes(), false))
        .sum()
}

pub(crate) fn run(r: &Run) -> Value {
    let result: RunResult =
        r.result.as_deref().and_then(|t| serde_json::from_str(t).ok()).unwrap_or_default();
    let (source_id, workflow_id) = owner_ids(&r.owner);
    json!({
        "id": r.id, "workflow_id": workflow_id, "source_id": source_id, "deployment_id": r.deployment_id, "status": r.status, "kind": r.kind, "attempt": r.attempt, "trigger_id": r.trigger_id,
        "event": shown_json(&r.event), "context": shown_json(&r.context),
        "steps": result.steps.iter().map(step_result).collect::<Vec<_>>(), "return_value": result.return_value, "exit_reason": result.exit_reason, "deduped": result.deduped, "paused": if r.status == RunStatus::Paused { json!(result.paused) } else { Value::Null }, "duration_ms": result.duration_ms, "error": r.error.as_deref().map(shown_json),
        "created_at": r.created_at.secs(), "created_at_ms": r.created_at.ms(), "started_at_ms": r.started_at.map(|t| t.ms()), "finished_at_ms": r.finished_at.map(|t| t.ms()),
    })
}

/// About how many bytes the values take that are read to show it.
pub(crate) fn listed_run_values(listed: &ListedRun) -> usize {
    run_values(&listed.run)
}

/// A run of a list, whole.
pub(crate) fn listed_run(listed: &ListedRun) -> Value {
    let mut shown = run(&listed.run);
    add_lineage(&mut shown, &listed.lineage);
    shown
}

fn add_lineage(shown: &mut Value, lineage: &Lineage) {
    shown["version"] = json!(lineage.version);
    shown["replay_of"] = json!(lineage.replay_of);
    shown["replayed_by"] = json!(lineage.replayed_by);
    shown["event_edited"] = json!(lineage.event_edited);
}

/// A run of a list without what may be large: its event, its context, and what its steps gave.
pub(crate) fn light_run(listed: &ListedRun) -> Value {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Origin {
        trace_id: String,
        workflow_name: String,
    }
    #[derive(Deserialize)]
    struct Summary {
        #[serde(rename = "$summary")]
        summary: Option<Value>,
    }
    let r = &listed.run;
    let origin: Origin = serde_json::from_str(&r.context).unwrap_or_default();
    let result: Option<RunResult> =
        r.result.as_deref().and_then(|text| serde_json::from_str(text).ok());
    let steps: &[StepResult] = result.as_ref().map_or(&[], |result| &result.steps);
    let summary = |step: &StepResult| {
        serde_json::from_str::<Summary>(step.exports.get())
            .ok()?
            .summary?
            .as_str()
            .map(str::to_owned)
    };
    let (source_id, workflow_id) = owner_ids(&r.owner);
    let ran = |from: Timestamp, to: Timestamp| u64::try_from(to.since(from)).unwrap_or(0);
    let duration_ms = match (&result, r.started_at.zip(r.finished_at)) {
        (Some(result), _) => Some(result.duration_ms),
        (None, Some((from, to))) => Some(ran(from, to)),
        (None, None) => None,
    };
    let mut shown = json!({
        "id": r.id, "workflow_id": workflow_id, "source_id": source_id, "owner_name": origin.workflow_name, "trace_id": origin.trace_id,
        "deployment_id": r.deployment_id, "status": r.status, "kind": r.kind, "attempt": r.attempt, "trigger_id": r.trigger_id,
        "summary": steps.iter().rev().find_map(summary), "exit_reason": result.as_ref().and_then(|result| result.exit_reason.clone()),
        "paused": result.as_ref().filter(|_| r.status == RunStatus::Paused).map(|result| json!(result.paused)),
        "duration_ms": duration_ms, "error": r.error.as_deref().map(shown_json),
        "created_at": r.created_at.secs(), "created_at_ms": r.created_at.ms(), "started_at_ms": r.started_at.map(|t| t.ms()), "finished_at_ms": r.finished_at.map(|t| t.ms()),
        // Absent where they are too large to be read for a list.
        "steps": result.is_some().then(|| steps.iter().map(|s| json!({ "namespace": s.namespace, "status": s.status, "started_at_ms": s.started_at_ms, "duration_ms": s.duration_ms })).collect::<Vec<_>>()),
    });
    add_lineage(&mut shown, &listed.lineage);
    shown
}

fn owner_ids(owner: &Owner) -> (Option<&SourceId>, Option<&WorkflowId>) {
    match owner {
        Owner::Source(id) => (Some(id), None),
        Owner::Workflow(id) => (None, Some(id)),
    }
}

/// A run that the caller names but did not give the event of. The history is for keys with `read`:
/// a key with `invoke` alone learns what became of the run, and nothing of what it was about.
pub(crate) fn run_named_by(caller: &Caller, r: &Run) -> Value {
    let mut shown = run(r);
    if !caller.scopes.allow(Scope::Read) {
        for field in ["event", "context", "return_value", "exit_reason", "error"] {
            shown[field] = Value::Null;
        }
        shown["steps"] = json!([]);
    }
    shown
}

fn step_result(s: &StepResult) -> Value {
    let mut shown = json!({ "namespace": s.namespace, "status": s.status });
    if let Some(duration) = s.duration_ms {
        shown["duration_ms"] = json!(duration);
    }
    shown["exports"] = shown_json(s.exports.get());
    if let Some(at) = s.started_at_ms {
        shown["started_at_ms"] = json!(at);
    }
    if let Some(props) = &s.props {
        shown["props"] = shown_json(props.get());
    }
    if let Some(error) = &s.error {
        shown["error"] = json!(error);
    }
    if !s.attempts.is_empty() {
        shown["attempts"] = json!(s.attempts);
    }
    shown
}

pub(crate) fn run_with_logs(view: &RunView) -> Value {
    let mut shown = run(&view.run);
    add_lineage(&mut shown, &view.lineage);
    shown["logs"] = view.logs.iter().map(log_line).collect();
    shown["deliveries"] = view.deliveries.iter().map(|(target, d)| delivery(target, d)).collect();
    shown
}

fn delivery(target: &str, d: &Delivery) -> Value {
    json!({
        "id": d.id, "kind": d.kind.as_str(), "target": target, "step": d.step, "status": d.status.as_str(), "attempts": d.attempts, "response_status": d.response_status,
        "last_error": d.last_error, "created_at_ms": d.created_at.ms(), "finished_at_ms": d.finished_at.map(|t| t.ms()),
    })
}

pub(crate) fn log_line(line: &LogLine) -> Value {
    let mut shown = json!({ "ts": line.at.ms(), "level": line.level, "text": line.text });
    if let Some(step) = &line.step {
        shown["step"] = json!(step);
    }
    shown
}

#[cfg(test)]
mod tests {
    use millrace_model::ids::EventId;
    use millrace_model::run::{LogLevel, RunKind};

    use super::*;

    async fn body(response: Response) -> Value {
        serde_json::from_slice(&axum::body::to_bytes(response.into_body(), 1 << 20).await.unwrap())
            .unwrap()
    }

    fn fields(query: &str) -> Fields {
        Fields::of(&Params(crate::extract::query(Some(query))))
    }

    fn some_event(payload: String) -> Event {
        Event {
            id: EventId { ms: 1_606_511_826_306, seq: 0 },
            org_id: "o_1".parse().unwrap(),
            emitter_id: "dc_1".into(),
            name: "added".into(),
            emit_id: "1ktF96gAMsLqdYSRWYL9KFS5QqW".into(),
            payload,
            metadata: r#"{"id":"a","summary":"An a","ts":5,"name":"not the channel"}"#.into(),
        }
    }

    #[test]
    fn an_event_summary_has_its_metadata_beside_the_event() {
        let expected = json!({
            "id": "1606511826306-0", "indexed_at_ms": 1_606_511_826_306_i64, "event": { "b": 1, "a": 2 },
            "metadata": { "id": "a", "summary": "An a", "ts": 5, "emitter_id": "dc_1", "emit_id": "1ktF96gAMsLqdYSRWYL9KFS5QqW", "name": "added" },
        });
        let shown = event(&some_event(r#"{"b":1,"a":2}"#.into()));
        assert_eq!(shown, expected);
        assert!(shown["event"].to_string().starts_with(r#"{"b""#), "the order of keys is kept");
    }

    #[test]
    fn a_large_event_is_cut_unless_asked_for() {
        let event = some_event(json!({ "text": "é".repeat(PAYLOAD_SHOWN_BYTES) }).to_string());
        let payload_bytes = event.payload.len();
        let large = ListedEvent { event, payload_bytes };
        let cut = listed_event(&large, false);
        assert_eq!(
            (&cut["event"]["$truncated"], &cut["event"]["$bytes"]),
            (&json!(true), &json!(payload_bytes))
        );
        let preview = cut["event"]["$preview"].as_str().unwrap();
        assert!(preview.len() <= PAYLOAD_PREVIEW_BYTES && large.event.payload.starts_with(preview));
        assert_eq!(
            listed_event(&large, true)["event"]["text"].as_str().map(str::len),
            Some(2 * PAYLOAD_SHOWN_BYTES)
        );
    }

    #[tokio::test]
    async fn lists_tell_their_page_also_when_ids_are_left_out() {
        let listing = |ids: &[&str]| {
            Listing::of(
                ids.iter().map(|id| json!({ "id": id, "name": "n", "code": "c" })).collect(),
                19,
            )
        };
        let shown =
            body(fields("exclude=id,code").records(listing(&["dc_K0uAee", "dc_2"]), |v| v)).await;
        let page_info = json!({ "total_count": 19, "count": 2, "start_cursor": "ZGNfSzB1QWVl", "end_cursor": "ZGNfMg" });
        assert_eq!(
            shown,
            json!({ "page_info": page_info, "data": [{ "name": "n" }, { "name": "n" }] })
        );
        let none = body(fields("include=id, name").records(listing(&[]), |v| v)).await;
        assert_eq!(
            none,
            json!({ "page_info": { "total_count": 19, "count": 0, "start_cursor": null, "end_cursor": null }, "data": [] })
        );
        let one = body(fields("include=id&exclude=").data(json!({ "id": 1, "name": 2 }))).await;
        assert_eq!(one, json!({ "data": { "id": 1 } }));
        assert_eq!(
            body(fields("include=").data(json!({ "id": 1 }))).await,
            json!({ "data": { "id": 1 } })
        );
    }

    #[test]
    fn a_run_shows_its_steps_error_and_logs() {
        let run = Run {
            id: "run_1".parse().unwrap(),
            org_id: "o_1".parse().unwrap(),
            owner: Owner::Workflow("p_1".parse().unwrap()),
            deployment_id: Some("d_1".parse().unwrap()),
            kind: RunKind::Live,
            trigger_id: "hi_1".into(),
            event: r#"{"a":1}"#.into(),
            context: r#"{"id":"x"}"#.into(),
            status: RunStatus::Failed,
            attempt: 1,
            created_at: Timestamp(1_500),
            started_at: Some(Timestamp(1_510)),
            finished_at: None,
            result: Some(r#"{"steps":[{"namespace":"a","status":"failed","duration_ms":3,"exports":{"n":1}}],"duration_ms":9}"#.into()),
            error: Some(r#"{"code":"TypeError","message":"m","cellId":"c_1","ts":"t","stack":"s"}"#.into()),
        };
        let logs = vec![LogLine {
            at: Timestamp(1_520),
            level: LogLevel::Warn,
            text: "careful".into(),
            step: None,
        }];
        let expected = json!({
            "id": "run_1", "workflow_id": "p_1", "source_id": null, "deployment_id": "d_1", "status": "failed", "kind": "live", "attempt": 1, "trigger_id": "hi_1",
            "event": { "a": 1 }, "context": { "id": "x" },
            "steps": [{ "namespace": "a", "status": "failed", "duration_ms": 3, "exports": { "n": 1 } }],
            "return_value": null, "exit_reason": null, "deduped": 0, "paused": null, "duration_ms": 9,
            "error": { "code": "TypeError", "message": "m", "cellId": "c_1", "ts": "t", "stack": "s" },
            "created_at": 1, "created_at_ms": 1500, "started_at_ms": 1510, "finished_at_ms": null,
            "version": null, "replay_of": null, "replayed_by": null, "event_edited": false,
            "logs": [{ "ts": 1520, "level": "warn", "text": "careful" }], "deliveries": [],
        });
        assert_eq!(
            run_with_logs(&RunView {
                run,
                lineage: Lineage::default(),
                logs,
                deliveries: Vec::new()
            }),
            expected
        );
    }
}
