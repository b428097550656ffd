//! Whether the server lives and accepts.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::App;

pub(crate) async fn healthz() -> Response {
    Json(json!({ "status": "ok" })).into_response()
}

pub(crate) async fn readyz(State(app): State<App>) -> Response {
    if app.engine.ready().await {
        Json(json!({ "status": "ready" })).into_response()
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, Json(json!({ "status": "not ready" }))).into_response()
    }
}
