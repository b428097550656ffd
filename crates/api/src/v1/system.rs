//! `/system`: what the server is made of and how it is.

use axum::extract::State;
use axum::response::Response;
use millrace_engine::{Readiness, VERSION};
use serde_json::json;

use crate::App;
use crate::error::ApiError;
use crate::extract::{Auth, ListQuery};
use crate::wire::Fields;

pub(crate) async fn show(
    State(app): State<App>,
    Auth(caller): Auth,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let system = app.engine.system(&caller).await?;
    let (is_ready, ready) = (matches!(system.readiness, Readiness::Ready), &system.readiness);
    let status = if is_ready {
        "ready"
    } else if ready.accepts() {
        "degraded"
    } else {
        "not_ready"
    };
    Ok(Fields::of(&query.params).data(json!({
        "version": VERSION, "url": app.config.base_url, "started_at": system.started_at.secs(), "node_version": system.node_version,
        "readiness": { "status": status, "code": (!is_ready).then(|| ready.code()), "message": ready.to_string() },
        "database": if system.is_single { "sqlite" } else { "postgres" }, "servers": system.servers,
        "runs": { "unfinished": system.unfinished_runs, "running": system.runs.0, "waiting": system.runs.1 },
        "hosts": { "with_code": system.hosts.0, "blank": system.hosts.1 },
        "free_bytes": system.free_bytes, "resident_bytes": system.resident_bytes,
        "walls": { "standing": system.walls, "missing": system.walls_missing },
        "egress_allow": system.egress_allow, "mail_server": system.mail_server,
    })))
}
