//! Counts of requests, and the metrics page.

use std::time::Instant;

use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use millrace_engine::{Door, Engine, check_scope};
use millrace_model::tenant::Scope;

use crate::App;
use crate::error::ApiError;
use crate::extract::Auth;

/// A request that will be counted with its answer.
pub(crate) struct Counted {
    door: Door,
    began: Instant,
}

impl Counted {
    pub(crate) fn begin(path: &str) -> Self {
        let door = if path.starts_with("/v1/") {
            Door::Api
        } else if ["/e/", "/resume/", "/cancel/"].iter().any(|prefix| path.starts_with(prefix)) {
            Door::Endpoint
        } else {
            Door::Other
        };
        Self { door, began: Instant::now() }
    }

    pub(crate) fn end(self, app: &App, response: &Response) {
        app.engine.metrics().answered(self.door, response.status().as_u16(), self.began.elapsed());
    }
}

/// Behind a key: the counts are those of the whole server.
pub(crate) async fn show(State(app): State<App>, Auth(caller): Auth) -> Result<Response, ApiError> {
    check_scope(&caller, Scope::Full)?;
    app.engine.organizations().check_first(&caller, "the counts are those of the whole server; only a key of the organization that was made first can read them").await?;
    Ok(text(&app.engine).await)
}

/// The counts, with no key asked for: for an address of their own.
pub fn metrics_router(engine: Engine) -> axum::Router {
    axum::Router::new().route("/metrics", axum::routing::get(open)).with_state(engine)
}

async fn open(State(engine): State<Engine>) -> Response {
    text(&engine).await
}

async fn text(engine: &Engine) -> Response {
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    ([(header::CONTENT_TYPE, kind)], engine.metrics_text().await).into_response()
}
