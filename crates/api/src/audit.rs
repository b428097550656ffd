//! Audit log: every request of `/v1` that changes something, and every look at credentials,
//! leaves a record before it is done, which is completed before it is answered.

use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{MatchedPath, Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::Response;
use millrace_engine::AuditAction;
use millrace_model::audit::{AuditFilter, AuditRecord};
use millrace_model::ids::{AuditId, UserId};
use millrace_model::tenant::Caller;
use serde_json::{Map, Value};

use crate::App;
use crate::contract::routes::{Route, get};
use crate::contract::shape::{of, record};
use crate::contract::table::{FULL, ORG, a, text};
use crate::error::{ApiError, RequestId};
use crate::extract::{Auth, ListQuery, Params, query};
use crate::fields::Fields;
use crate::v1::filters::{GivenTime, id_of, period};

/// How the templates of routes end that take a `POST` and change nothing.
const ASKING: &[&str] = &["/configure", "/props"];
/// The flag of a query that asks for credentials.
const CREDENTIALS: &str = "include_credentials";
/// Names of fields that are kept, and how much of one.
const FIELDS_MAX: usize = 50;
const TEXT_CHARS_MAX: usize = 200;

/// What a request is about to do, and what is learned of it while it is answered.
#[derive(Clone)]
pub(crate) struct RequestAudit(Arc<Mutex<Seen>>);

struct Seen {
    action: AuditAction,
    /// The record that was written before anything was changed.
    begun: Option<AuditRecord>,
    fields: Vec<String>,
}

/// Beside an answer that changed nothing, as of a dry run: it leaves no record.
#[derive(Clone, Copy)]
struct Unchanged;

/// The answer of a request that changed nothing, and leaves no record.
pub(crate) fn unchanged(mut response: Response) -> Response {
    response.extensions_mut().insert(Unchanged);
    response
}

/// The id of what an answer shows.
#[derive(Clone)]
pub(crate) struct Shown(pub(crate) String);

impl RequestAudit {
    fn of(action: AuditAction) -> Self {
        Self(Arc::new(Mutex::new(Seen { action, begun: None, fields: Vec::new() })))
    }

    /// The caller may do it: leaves a record before anything is changed, so that no change is
    /// without one however the server ends.
    pub(crate) async fn begin(&self, app: &App, caller: &Caller) -> Result<(), ApiError> {
        let action = {
            let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if seen.begun.is_some() {
                return Ok(());
            }
            seen.action.clone()
        };
        let begun = app.engine.audit().begin(caller, action).await?;
        self.0.lock().unwrap_or_else(PoisonError::into_inner).begun = Some(begun);
        Ok(())
    }

    pub(crate) fn gave(&self, fields: &Map<String, Value>) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.fields = fields
            .keys()
            .take(FIELDS_MAX)
            .map(|name| name.chars().take(TEXT_CHARS_MAX).collect())
            .collect();
    }

    fn take(&self) -> (Option<AuditRecord>, Vec<String>) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (seen.begun.take(), std::mem::take(&mut seen.fields))
    }
}

record! {
    /// Who changed what: the names of the fields that were given, never their values
    AuditRecordOut<'a>(r: &'a AuditRecord) {
        id: &'a AuditId = &r.id,
        user_id: &'a UserId = &r.user_id,
        user_name: Option<&'a str> = r.user_name.as_deref(),
        key_id: &'a str = &r.key_id,
        action: &'a str = &r.action,
        target: Option<&'a str> = r.target.as_deref(),
        fields: &'a [String] = &r.fields,
        request_id: &'a str = &r.request_id,
        done: bool = r.done,
        created_at: i64 = r.created_at.secs(),
        created_at_ms: i64 = r.created_at.ms(),
    }
}

pub(crate) fn routes() -> Vec<Route> {
    vec![
        get("/audit", FULL, "Who changed what, newest first", list)
            .takes(&[
                text("user_id", "Only what was done for this user"),
                text(
                    "target",
                    "Only what was done to this: an id, or what else stands in the path",
                ),
                a::<GivenTime>("from", "Done at or after: epoch milliseconds, or RFC 3339"),
                a::<GivenTime>("to", "Done before, and after `from`"),
                ORG,
            ])
            .page(of::<AuditRecordOut>()),
    ]
}

/// Prepares the record of a request, which [`crate::extract::Auth`] begins, and
/// completes it once it was done.
pub(crate) async fn record(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let path = request.uri().path();
    // Behind the nested router the path has lost its prefix, and the template has not.
    let matched = request.extensions().get::<MatchedPath>();
    let (template, path) = (below_v1(matched.map_or(path, MatchedPath::as_str)), below_v1(path));
    let is_change = changes(request.method(), template);
    if !is_change && !looks_at_credentials(request.method(), request.uri().query()) {
        return next.run(request).await;
    }
    let fields = if is_change { Vec::new() } else { vec![CREDENTIALS.into()] };
    let route = format!("{} {template}", request.method());
    let audit = RequestAudit::of(AuditAction {
        route,
        target: named(template, path),
        fields,
        request_id: RequestId::current().to_string(),
    });
    request.extensions_mut().insert(audit.clone());
    let response = next.run(request).await;
    // Without a caller nothing was changed in anybody's name: a token was asked for.
    let (Some(mut begun), fields) = audit.take() else { return response };
    let kept = if response.extensions().get::<Unchanged>().is_some() {
        app.engine.audit().forget(&begun).await
    } else if response.status().is_success() {
        begun.target = begun
            .target
            .or_else(|| response.extensions().get::<Shown>().map(|shown| shown.0.clone()));
        if is_change {
            begun.fields = fields;
        }
        app.engine.audit().complete(begun).await
    } else if response.status().is_client_error() {
        app.engine.audit().forget(&begun).await
    } else {
        // It may have been done or not, which the record says.
        Ok(())
    };
    if let Err(error) = kept {
        // What was done is done: its answer is not kept back. The record is there.
        tracing::error!(request.id = %RequestId::current(), error = %error, "a record of the audit log could not be completed");
    }
    response
}

fn below_v1(path: &str) -> &str {
    path.strip_prefix("/v1").unwrap_or(path)
}

/// Whether a request changes something. The template decides: a record may be named as a route
/// ends.
fn changes(method: &Method, template: &str) -> bool {
    let asks = *method == Method::POST && ASKING.iter().any(|end| template.ends_with(end));
    !matches!(*method, Method::GET | Method::HEAD) && !asks
}

/// Whether a request asks for credentials, read as the handlers read the flag. A `HEAD` shows none.
fn looks_at_credentials(method: &Method, text: Option<&str>) -> bool {
    let is_asked = || Params(query(text)).flag(CREDENTIALS).ok().flatten();
    *method == Method::GET && is_asked().unwrap_or(false)
}

/// The record that a path names: its `{id}`, else its first parameter. The project of a path below
/// `/connect` is the same for all records of an organization and names none of them.
fn named(template: &str, path: &str) -> Option<String> {
    let named = || {
        let parts = template.split('/').zip(path.split('/'));
        parts.filter(|(name, _)| name.starts_with('{') && *name != "{project}")
    };
    let (_, part) = named().find(|(name, _)| *name == "{id}").or_else(|| named().next())?;
    Some(
        percent_encoding::percent_decode_str(part)
            .decode_utf8_lossy()
            .chars()
            .take(TEXT_CHARS_MAX)
            .collect(),
    )
}

pub(crate) async fn list(
    State(app): State<App>,
    Auth(caller): Auth,
    query: ListQuery,
) -> Result<Response, ApiError> {
    query.params.org_is(&caller)?;
    let params = &query.params;
    let (from, to) = period(params)?;
    let filter = AuditFilter {
        user_id: id_of::<UserId>(params, "user_id", "user")?,
        target: params.text("target")?,
        from,
        to,
    };
    let listing = app.engine.audit().list(&caller, &filter, &query.page).await?;
    Ok(Fields::of(&query.params).records(listing, |record| AuditRecordOut::show(&record)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_target_is_the_id_of_a_path_or_its_first_parameter_and_no_project() {
        for (template, path, target) in [
            ("/sources/{id}/events", "/sources/dc_a/events", Some("dc_a")),
            ("/sources/{id}/listen/{emitter}", "/sources/dc_a/listen/dc_b", Some("dc_a")),
            ("/registries/{name}", "/registries/a%20b", Some("a b")),
            ("/connect/{project}/accounts/{id}", "/connect/proj_a/accounts/apn_a", Some("apn_a")),
            ("/connect/{project}/triggers/deploy", "/connect/proj_a/triggers/deploy", None),
            ("/sources", "/sources", None),
        ] {
            assert_eq!(named(template, path).as_deref(), target, "{template}");
        }
    }

    #[test]
    fn the_template_says_whether_a_request_changes_something() {
        for (method, template, is_change) in [
            (Method::POST, "/components/props", false),
            (Method::POST, "/connect/{project}/actions/configure", false),
            (Method::PUT, "/components/props", true),
            (Method::DELETE, "/data_stores/{id}", true),
            (Method::GET, "/data_stores/{id}", false),
            (Method::HEAD, "/data_stores/{id}", false),
        ] {
            assert_eq!(changes(&method, template), is_change, "{method} {template}");
        }
    }

    #[test]
    fn a_trail_holds_names_and_no_values() {
        let audit = RequestAudit::of(AuditAction {
            route: String::new(),
            target: None,
            fields: Vec::new(),
            request_id: String::new(),
        });
        audit.gave(
            json!({ "credentials": { "api_key": "hunter2" }, "n".repeat(500): 1 })
                .as_object()
                .expect("fields"),
        );
        let (_, fields) = audit.take();
        assert_eq!(
            (fields.len(), fields[0].as_str(), fields[1].len()),
            (2, "credentials", TEXT_CHARS_MAX)
        );
    }
}
