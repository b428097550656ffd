//! The shapes of records as they are sent (reference 2).

use axum::Json;
use axum::response::{IntoResponse, Response};
use millrace_engine::{RunView, SourceView, StepView, WorkflowView};
use millrace_model::component::{ComponentType, SavedComponent};
use millrace_model::event::Event;
use millrace_model::page::Listing;
use millrace_model::props::timer_value;
use millrace_model::run::{LogLine, Run, RunResult};
use millrace_model::source::Owner;
use millrace_model::subscription::Subscription;
use millrace_model::tenant::Organization;
use millrace_model::workflow::{Deployment, Trigger};
use serde_json::{Map, Value, json};

use crate::extract::{Params, encode_cursor};

/// An event's data is shown without `expand=event` up to this size (reference 2).
const EVENT_SHOWN_BYTES: usize = 1024;

/// `include` and `exclude`: names of fields of the record or of each item.
#[derive(Default)]
pub(crate) struct Fields {
    include: Option<Vec<String>>,
    exclude: Vec<String>,
}

impl Fields {
    pub(crate) fn of(params: &Params) -> Self {
        let list = |field: &str| {
            params.0.get(field).and_then(Value::as_str).map(|text| text.split(',').map(|f| f.trim().to_owned()).filter(|f| !f.is_empty()).collect::<Vec<_>>())
        };
        Self { include: list("include"), exclude: list("exclude").unwrap_or_default() }
    }

    fn apply(&self, mut value: Value) -> Value {
        if let Value::Object(object) = &mut value {
            object.retain(|name, _| self.include.as_ref().is_none_or(|i| i.contains(name)) && !self.exclude.contains(name));
        }
        value
    }

    /// `{"data": …}`.
    pub(crate) fn data(&self, value: Value) -> Response {
        Json(json!({ "data": self.apply(value) })).into_response()
    }

    /// `{"page_info": …, "data": […]}`; `cursor` gives an item's own.
    pub(crate) fn list(&self, total_count: u64, items: Vec<(String, Value)>) -> Response {
        let cursor = |item: Option<&(String, Value)>| item.map(|(cursor, _)| cursor.clone());
        let page_info = json!({ "total_count": total_count, "count": items.len(), "start_cursor": cursor(items.first()), "end_cursor": cursor(items.last()) });
        let data: Vec<Value> = items.into_iter().map(|(_, item)| self.apply(item)).collect();
        Json(json!({ "page_info": page_info, "data": data })).into_response()
    }

    /// A list of records whose cursor is their id.
    pub(crate) fn records<T>(&self, listing: Listing<T>, show: impl Fn(T) -> Value) -> Response {
        let items = listing.items.into_iter().map(show).map(|item| (encode_cursor(item["id"].as_str().unwrap_or("")), item)).collect();
        self.list(listing.total_count, items)
    }
}

pub(crate) fn organization(o: &Organization) -> Value {
    json!({ "id": o.id, "name": o.name, "orgname": o.orgname, "email": o.email })
}

pub(crate) fn component(c: &SavedComponent) -> Value {
    let kind = match c.component_type {
        ComponentType::Source => "source",
        ComponentType::Action => "action",
    };
    let apps: Vec<&Value> = c.manifest.props.iter().filter(|p| p.prop_type == "app").filter_map(|p| p.rest.get("app")).collect();
    json!({
        "id": c.id, "code": c.code, "code_hash": c.code_hash, "name": c.manifest.name, "key": c.manifest.key, "version": c.manifest.version,
        "description": c.manifest.description, "type": kind, "configurable_props": c.manifest.props, "apps": apps, "component_url": c.url,
        "published": c.published, "created_at": c.created_at.secs(), "updated_at": c.updated_at.secs(),
    })
}

pub(crate) fn source(view: &SourceView) -> Value {
    let s = &view.source;
    json!({
        "id": s.id, "user_id": s.user_id, "owner_id": s.org_id, "component_id": s.component_id, "configured_props": s.configured_props, "active": s.active,
        "inactive_reason": s.inactive_reason, "created_at": s.created_at.secs(), "updated_at": s.updated_at.secs(), "name": s.name, "name_slug": s.name_slug,
    })
}

pub(crate) fn subscription(s: &Subscription) -> Value {
    json!({ "id": s.id, "emitter_id": s.emitter_id, "listener_id": s.listener_id, "event_name": s.event_name })
}

/// An event summary; `metadata` stands beside `event` (reference 2).
pub(crate) fn event(e: &Event, expand: bool) -> Value {
    let mut metadata: Map<String, Value> = serde_json::from_str(&e.metadata).unwrap_or_default();
    metadata.insert("emitter_id".into(), json!(e.emitter_id));
    metadata.insert("emit_id".into(), json!(e.emit_id));
    metadata.insert("name".into(), json!(e.name));
    let mut shown = json!({ "id": e.id.to_string(), "indexed_at_ms": e.id.ms, "metadata": metadata });
    if expand || e.payload.len() <= EVENT_SHOWN_BYTES {
        shown["event"] = serde_json::from_str(&e.payload).unwrap_or(Value::Null);
    } else {
        shown["event"] = json!({ "$truncated": true, "$bytes": e.payload.len() });
    }
    shown
}

fn trigger(t: &Trigger, view: &WorkflowView, base_url: &str) -> Value {
    let (created_at, updated_at) = (view.workflow.created_at.secs(), view.workflow.updated_at.secs());
    match t {
        Trigger::Http { id, key, custom_response } => {
            json!({ "id": id, "type": "http", "key": key, "endpoint_url": format!("{base_url}/e/{key}"), "custom_response": custom_response, "created_at": created_at, "updated_at": updated_at })
        }
        Trigger::Timer { id, schedule } => {
            let value = timer_value(schedule);
            json!({ "id": id, "type": "timer", "interval_seconds": value["interval_seconds"], "cron": value["cron"], "timezone": value.get("timezone").cloned().unwrap_or(json!("UTC")), "created_at": created_at, "updated_at": updated_at })
        }
        Trigger::Source { id, event_name } => {
            let mut shown = view.sources.iter().find(|s| s.source.id == *id).map_or_else(|| json!({ "id": id }), source);
            shown["type"] = json!("source");
            shown["event_name"] = json!(event_name);
            shown
        }
    }
}

fn step(view: &StepView) -> Value {
    let (s, c) = (&view.step, &view.component);
    json!({
        "id": s.id, "namespace": s.namespace, "type": "CodeCell", "lang": "nodejs20.x", "disabled": s.disabled, "component": true, "component_key": c.manifest.key,
        "savedComponent": { "id": c.id, "code": c.code, "codeHash": c.code_hash, "configurableProps": c.manifest.props, "key": c.manifest.key, "version": c.manifest.version, "apps": [] },
        "configured_props_json": Value::Object(s.props.clone()).to_string(),
    })
}

pub(crate) fn workflow(view: &WorkflowView, base_url: &str) -> Value {
    let w = &view.workflow;
    let triggers: Vec<Value> = w.draft.triggers.iter().map(|t| trigger(t, view, base_url)).collect();
    let mut shown = json!({
        "id": w.id, "org_id": w.org_id, "project_id": w.project_id, "name": w.name, "name_slug": w.name_slug, "active": w.active, "deployment_id": w.deployment_id,
        "triggers": triggers, "settings": w.draft.settings, "created_at": w.created_at.secs(), "updated_at": w.updated_at.secs(),
    });
    shown["steps"] = if view.steps.is_empty() {
        w.draft.steps.iter().map(|s| json!({ "id": s.id, "namespace": s.namespace, "disabled": s.disabled })).collect()
    } else {
        view.steps.iter().map(step).collect()
    };
    shown
}

pub(crate) fn deployment(d: &Deployment) -> Value {
    json!({ "id": d.id, "workflow_id": d.workflow_id, "version": d.version, "created_at": d.created_at.secs(), "steps": d.content.steps.iter().map(|s| json!({ "id": s.id, "namespace": s.namespace, "component_id": s.component_id })).collect::<Vec<_>>() })
}

pub(crate) fn run(r: &Run) -> Value {
    let json_text = |text: &Option<String>| text.as_deref().and_then(|t| serde_json::from_str::<Value>(t).ok()).unwrap_or(Value::Null);
    let result: RunResult = r.result.as_deref().and_then(|t| serde_json::from_str(t).ok()).unwrap_or_default();
    let (source_id, workflow_id) = match &r.owner {
        Owner::Source(id) => (Some(id), None),
        Owner::Workflow(id) => (None, Some(id)),
    };
    json!({
        "id": r.id, "workflow_id": workflow_id, "source_id": source_id, "deployment_id": r.deployment_id, "status": r.status, "kind": r.kind, "attempt": r.attempt, "trigger_id": r.trigger_id,
        "event": serde_json::from_str::<Value>(&r.event).unwrap_or_default(), "context": serde_json::from_str::<Value>(&r.context).unwrap_or_default(),
        "steps": result.steps, "return_value": result.return_value, "exit_reason": result.exit_reason, "duration_ms": result.duration_ms, "error": json_text(&r.error),
        "created_at": r.created_at.secs(), "created_at_ms": r.created_at.ms(), "started_at_ms": r.started_at.map(|t| t.ms()), "finished_at_ms": r.finished_at.map(|t| t.ms()),
    })
}

pub(crate) fn run_with_logs(view: &RunView) -> Value {
    let mut shown = run(&view.run);
    shown["logs"] = view.logs.iter().map(log_line).collect();
    shown
}

pub(crate) fn log_line(line: &LogLine) -> Value {
    json!({ "ts": line.at.ms(), "level": line.level, "text": line.text })
}
