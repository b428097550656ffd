//! HTTP over the engine: `/v1`, generated endpoints, streams, health. A handler extracts, calls, maps.

mod accounts;
mod apps;
mod components;
mod configure;
mod endpoints;
mod error;
mod events;
mod extract;
mod health;
mod mail;
mod pages;
mod runs;
mod sources;
mod sse;
mod subscriptions;
mod users;
mod wire;
mod workflows;

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::{Next, from_fn};
use axum::routing::{any, delete, get, post};
use millrace_engine::Engine;
use millrace_model::ids::{SourceId, WorkflowId};

/// The largest body of a request to `/v1`: a component with its files.
pub(crate) const V1_BODY_BYTES_MAX: usize = 10 << 20;

/// Addresses and bounds of the API.
#[derive(Clone, Debug)]
pub struct ApiConfig {
    /// Where clients reach this server.
    pub base_url: String,
    /// The largest body of a request to an endpoint (facts 4.14).
    pub http_body_max_bytes: usize,
}

/// What handlers share.
#[derive(Clone)]
pub(crate) struct App {
    pub(crate) engine: Engine,
    pub(crate) config: Arc<ApiConfig>,
}

/// All routes.
pub fn router(engine: Engine, config: ApiConfig) -> Router {
    let app = App { engine, config: Arc::new(config) };
    let endpoints =
        Router::new().route("/e/{key}", any(endpoints::handle)).route("/e/{key}/", any(endpoints::handle)).route("/e/{key}/{*path}", any(endpoints::handle));
    Router::new()
        .nest("/v1", v1())
        .merge(endpoints)
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .route("/", get(pages::page))
        .route("/runs/{id}", get(pages::page))
        .route("/assets/page.js", get(pages::script))
        .route("/assets/page.css", get(pages::style))
        .fallback(error::no_route)
        .method_not_allowed_fallback(error::no_method)
        .layer(tower_http::catch_panic::CatchPanicLayer::custom(error::panicked))
        .layer(from_fn(common_headers))
        .with_state(app)
}

fn v1() -> Router<App> {
    Router::new()
        .route("/users/me", get(users::me))
        .route("/users/me/workspaces", get(users::workspaces))
        .route("/users/me/sources", get(sources::list))
        .route("/users/me/subscriptions", get(subscriptions::list))
        .route("/workspaces", post(users::create_workspace))
        .route("/workspaces/{org}", get(users::workspace))
        .route("/orgs/{org}", get(users::workspace))
        .route("/workspaces/{org}/subscriptions", get(subscriptions::list_of))
        .route("/orgs/{org}/subscriptions", get(subscriptions::list_of))
        .route("/workspaces/{org}/sources", get(sources::list_of))
        .route("/orgs/{org}/sources", get(sources::list_of))
        .route("/apps", get(apps::list).post(apps::create))
        .route("/apps/{id}", get(apps::show).put(apps::update))
        .route("/accounts", get(accounts::list).post(accounts::create))
        .route("/accounts/{id}", get(accounts::show).put(accounts::update).delete(accounts::remove))
        .route("/workspaces/{org}/accounts", get(accounts::list_of))
        .route("/orgs/{org}/accounts", get(accounts::list_of))
        .route("/components/configure", post(configure::options))
        .route("/components/props", post(configure::props))
        .route("/components", post(components::create).get(components::list))
        .route("/components/registry/{id}", get(components::show))
        .route("/components/{id}", get(components::show).delete(components::unpublish))
        .route("/sources", post(sources::create).get(sources::list))
        .route("/sources/{id}", get(sources::show).put(sources::update).delete(sources::remove))
        .route("/sources/{id}/event_summaries", get(events::list::<SourceId>))
        .route("/sources/{id}/events", delete(events::delete::<SourceId>))
        .route("/sources/{id}/sse", get(sse::events::<SourceId>))
        .route("/sources/{id}/logs", get(runs::logs::<SourceId>))
        .route("/sources/{id}/logs/sse", get(sse::logs::<SourceId>))
        .route("/sources/{id}/run", post(sources::run_now))
        .route("/sources/{id}/runs", get(runs::list::<SourceId>))
        .route("/subscriptions", post(subscriptions::create).delete(subscriptions::remove))
        .route("/workflows", post(workflows::create).get(workflows::list))
        .route("/workflows/{id}", get(workflows::show).put(workflows::update).delete(workflows::remove))
        .route("/workflows/{id}/deploy", post(workflows::deploy))
        .route("/workflows/{id}/deployments", get(workflows::deployments))
        .route("/workflows/{id}/rollback", post(workflows::rollback))
        .route("/workflows/{id}/test", post(workflows::test))
        .route("/workflows/{id}/event_summaries", get(events::list::<WorkflowId>))
        .route("/workflows/{id}/$errors/event_summaries", get(events::errors::<WorkflowId>))
        .route("/workflows/{id}/events", delete(events::delete::<WorkflowId>))
        .route("/workflows/{id}/runs", get(runs::list::<WorkflowId>))
        .route("/workflows/{id}/logs", get(runs::logs::<WorkflowId>))
        .route("/workflows/{id}/logs/sse", get(sse::logs::<WorkflowId>))
        .route("/runs/{id}", get(runs::show))
        .route("/runs/{id}/replay", post(runs::replay))
        .route("/mail", get(mail::list))
        .layer(DefaultBodyLimit::max(V1_BODY_BYTES_MAX))
}

/// A request id on every answer, so that a user's report finds its line in the log.
async fn common_headers(request: axum::extract::Request, next: Next) -> axum::response::Response {
    let id = error::RequestId::new();
    let mut response = error::with_request_id(id, next.run(request)).await;
    let headers = response.headers_mut();
    if let Ok(value) = HeaderValue::from_str(&id.to_string()) {
        headers.insert(HeaderName::from_static("x-request-id"), value);
    }
    headers.entry(HeaderName::from_static("x-content-type-options")).or_insert(HeaderValue::from_static("nosniff"));
    response
}
