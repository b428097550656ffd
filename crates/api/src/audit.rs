//! Who changed what: every request of `/v1` that changes something, and every look at credentials, leaves a record before it is answered.

use std::sync::Arc;
use std::sync::Mutex;

use axum::extract::{MatchedPath, Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::Response;
use millrace_engine::Deed;
use millrace_model::audit::AuditRecord;
use millrace_model::tenant::Caller;
use serde_json::{Map, Value, json};

use crate::App;
use crate::error::{ApiError, RequestId};
use crate::extract::{Auth, ListQuery};
use crate::wire::Fields;

/// How the paths of requests end that change nothing though they have a body.
const ASKING: &[&str] = &["/configure", "/props"];
/// Names of fields that are kept, and how much of one.
const FIELDS_MAX: usize = 50;
const TEXT_CHARS_MAX: usize = 200;

/// What is learned of a request while it is answered.
#[derive(Clone, Default)]
pub(crate) struct Trail(Arc<Mutex<Seen>>);

#[derive(Default)]
struct Seen {
    caller: Option<Caller>,
    fields: Vec<String>,
}

/// The id of what an answer shows.
#[derive(Clone)]
pub(crate) struct Shown(pub(crate) String);

impl Trail {
    pub(crate) fn came_from(&self, caller: &Caller) {
        if let Ok(mut seen) = self.0.lock() {
            seen.caller = Some(caller.clone());
        }
    }

    pub(crate) fn gave(&self, fields: &Map<String, Value>) {
        if let Ok(mut seen) = self.0.lock() {
            seen.fields = fields.keys().take(FIELDS_MAX).map(|name| name.chars().take(TEXT_CHARS_MAX).collect()).collect();
        }
    }
}

/// Lays a trail for requests that leave a record, and keeps it once they were done.
pub(crate) async fn record(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let is_change = request.method() != Method::GET && !ASKING.iter().any(|end| path.ends_with(end));
    let looks_at_credentials = request.uri().query().is_some_and(|query| query.contains("include_credentials"));
    if !is_change && !looks_at_credentials {
        return next.run(request).await;
    }
    // Behind the nested router the path has lost its prefix, and the template has not.
    let matched = request.extensions().get::<MatchedPath>();
    let (template, path) = (below_v1(matched.map_or(path, MatchedPath::as_str)), below_v1(path));
    let action = format!("{} {template}", request.method());
    let target = named(template, path);
    let trail = Trail::default();
    request.extensions_mut().insert(trail.clone());
    let response = next.run(request).await;
    if !response.status().is_success() {
        return response;
    }
    let seen = trail.0.lock().map(|mut seen| std::mem::take(&mut *seen)).unwrap_or_default();
    // Without a caller nothing was changed in anybody's name: a token was asked for.
    let Some(caller) = seen.caller else { return response };
    let target = target.or_else(|| response.extensions().get::<Shown>().map(|shown| shown.0.clone()));
    let fields = if is_change { seen.fields } else { vec!["include_credentials".into()] };
    let deed = Deed { action, target, fields, request_id: RequestId::current().to_string() };
    if let Err(error) = app.engine.record_audit(&caller, deed).await {
        // What was done is done: its answer is not kept back.
        tracing::error!(request.id = %RequestId::current(), error = %error, "a change could not be recorded in the audit log");
    }
    response
}

fn below_v1(path: &str) -> &str {
    path.strip_prefix("/v1").unwrap_or(path)
}

/// The first parameter of a path.
fn named(template: &str, path: &str) -> Option<String> {
    let part = template.split('/').zip(path.split('/')).find_map(|(name, part)| name.starts_with('{').then_some(part))?;
    Some(percent_encoding::percent_decode_str(part).decode_utf8_lossy().chars().take(TEXT_CHARS_MAX).collect())
}

pub(crate) async fn list(State(app): State<App>, Auth(caller): Auth, query: ListQuery) -> Result<Response, ApiError> {
    query.params.org_is(&caller)?;
    let listing = app.engine.list_audit(&caller, &query.page).await?;
    Ok(Fields::of(&query.params).records(listing, |record| shown(&record)))
}

fn shown(r: &AuditRecord) -> Value {
    json!({
        "id": r.id, "user_id": r.user_id, "key_id": r.key_id, "action": r.action, "target": r.target, "fields": r.fields, "request_id": r.request_id,
        "created_at": r.created_at.secs(), "created_at_ms": r.created_at.ms(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_changed_is_the_first_that_the_path_names() {
        assert_eq!(named("/v1/sources/{id}/events", "/v1/sources/dc_a/events").as_deref(), Some("dc_a"));
        assert_eq!(named("/v1/registries/{name}", "/v1/registries/a%20b").as_deref(), Some("a b"));
        assert_eq!(named("/v1/sources", "/v1/sources"), None);
    }

    #[test]
    fn a_trail_holds_names_and_no_values() {
        let trail = Trail::default();
        trail.gave(json!({ "credentials": { "api_key": "hunter2" }, "n".repeat(500): 1 }).as_object().expect("fields"));
        let fields = trail.0.lock().expect("a trail").fields.clone();
        assert_eq!((fields.len(), fields[0].as_str(), fields[1].len()), (2, "credentials", TEXT_CHARS_MAX));
    }
}
