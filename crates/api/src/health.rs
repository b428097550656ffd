//! Health checks: liveness, and readiness to accept events.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use millrace_engine::Readiness;
use serde_json::json;

use crate::App;

pub(crate) async fn healthz() -> Response {
    Json(json!({ "status": "ok" })).into_response()
}

pub(crate) async fn readyz(State(app): State<App>) -> Response {
    let readiness = app.engine.readiness().await;
    let (status, said) = match readiness {
        Readiness::Ready => return Json(json!({ "status": "ready" })).into_response(),
        _ if readiness.accepts() => (StatusCode::OK, "degraded"),
        _ => (StatusCode::SERVICE_UNAVAILABLE, "not ready"),
    };
    (
        status,
        Json(json!({ "status": said, "code": readiness.code(), "error": readiness.to_string() })),
    )
        .into_response()
}
