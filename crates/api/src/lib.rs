//! HTTP over the engine: `/v1`, generated endpoints, streams, health. A handler extracts, calls,
//! maps.

mod app;
mod audit;
mod body_fields;
mod checks;
mod contract;
mod endpoints;
mod error;
mod extract;
mod field_errors;
mod fields;
mod guard;
mod health;
mod input;
mod large_work;
mod metrics;
mod params;
mod paths;
mod pause_addresses;
mod room;
mod shown_key;
mod v1;
mod written_back;

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{HeaderName, HeaderValue, Method};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{any, get};
use futures::FutureExt as _;
use millrace_engine::Engine;
use millrace_model::proxies::Scheme;
use tokio_util::sync::CancellationToken;

pub use checks::{Check, CheckStatus, Look};
pub use contract::openapi::document as openapi_document;
pub use metrics::metrics_router;
pub use paths::normalize_path;

/// The largest body of a request to `/v1`: a component with its files.
pub(crate) const V1_BODY_BYTES_MAX: usize = 10 << 20;

/// The same where no key is needed: a few words.
pub(crate) const KEYLESS_BODY_BYTES_MAX: usize = 64 << 10;

/// Addresses and bounds of the API.
#[derive(Clone, Debug)]
pub struct ApiConfig {
    /// Where clients reach this server.
    pub base_url: String,
    /// Where endpoints have hosts of their own; none: they have paths.
    pub endpoint_domain: Option<String>,
    /// The largest body of a request to an endpoint (facts 4.14).
    pub http_body_max_bytes: usize,
    /// How long a body may take beyond what its length explains.
    pub body_timeout: Duration,
    /// Bytes of the bodies of all requests that are not answered yet, beyond which large ones are
    /// refused.
    pub bodies_bytes_max: usize,
}

impl ApiConfig {
    /// Where an endpoint is reached.
    pub(crate) fn endpoint_url(&self, key: &str) -> String {
        millrace_model::domain::endpoint_url(&self.base_url, self.endpoint_domain.as_deref(), key)
    }
}

/// Ends a connection whose client takes too little of its answer: the library asks for no more of a
/// body, nor gives it up, while there is something to be written. Whoever serves connections puts
/// it into the extensions of each request, and drops the connection once it is cancelled.
#[derive(Clone, Debug, Default)]
pub struct Cut(pub CancellationToken);

/// What the client of a request took this server for, where something between the two says so, or
/// TLS of our own. Whoever serves connections puts it into the extensions of a request.
#[derive(Clone, Debug, Default)]
pub struct Reached {
    /// None: as the base URL has it.
    pub scheme: Option<Scheme>,
    /// None: as `Host` has it.
    pub host: Option<String>,
}

/// What handlers share.
#[derive(Clone)]
pub(crate) struct App {
    pub(crate) engine: Engine,
    pub(crate) config: Arc<ApiConfig>,
    pub(crate) examination: Arc<checks::Examination>,
    /// Bodies of requests under way, and answers that are being sent.
    pub(crate) bodies: Arc<room::Memory>,
    /// What is made of bodies, and pages. It has a room of its own, as large: a body of a few MiB
    /// may take all that its organization has of it, and what needs none is not refused for that.
    pub(crate) unfolded: Arc<room::Memory>,
    /// Slots for the large ones among them.
    pub(crate) large: large_work::LargeWork,
    /// Ordinary requests are served between the reads of streams.
    pub(crate) stream_reads: v1::stream_reads::Reads,
    pub(crate) open_streams: v1::stream_reads::OpenStreams,
    /// Streams of replays share their reads.
    pub(crate) replay_watch: v1::replay_watch::ReplayWatch,
    /// The OpenAPI document: it is long to make, and asks for no key.
    openapi: Arc<OnceLock<Bytes>>,
}

/// All routes. `look` is what `millrace doctor` does.
pub fn router(engine: Engine, config: ApiConfig, look: Look) -> Router {
    let bodies = room::Memory::new(config.bodies_bytes_max);
    let unfolded = room::Memory::new(config.bodies_bytes_max);
    let app = App {
        engine,
        config: Arc::new(config),
        examination: Arc::new(checks::Examination::new(look)),
        bodies,
        unfolded,
        large: large_work::LargeWork::default(),
        stream_reads: v1::stream_reads::Reads::default(),
        open_streams: v1::stream_reads::OpenStreams::default(),
        replay_watch: v1::replay_watch::ReplayWatch::default(),
        openapi: Arc::default(),
    };
    let endpoints = Router::new()
        .route("/e/{key}", any(endpoints::handle))
        .route("/e/{key}/", any(endpoints::handle))
        .route("/e/{key}/{*path}", any(endpoints::handle));
    Router::new()
        .nest(
            "/v1",
            contract::routes::router(contract::table::v1())
                .layer(from_fn_with_state(app.clone(), audit::record))
                .layer(DefaultBodyLimit::max(V1_BODY_BYTES_MAX))
                .layer(from_fn(guard::as_it_is)),
        )
        .merge(contract::routes::router(contract::table::streams()))
        .merge(endpoints)
        .route("/uploads/{token}", get(endpoints::uploads::show))
        .route("/uploads/{token}/{name}", get(endpoints::uploads::show_stored))
        .route("/resume/{token}", any(endpoints::pauses::resume))
        .route("/cancel/{token}", any(endpoints::pauses::cancel))
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .route("/oauth/callback", get(v1::accounts::callback))
        .route("/openapi.json", get(contract::openapi::show))
        .route("/docs", get(contract::openapi::page))
        .route("/metrics", get(metrics::show))
        .merge(app::router())
        .fallback(app::elsewhere)
        .method_not_allowed_fallback(error::no_method)
        .layer(from_fn_with_state(app.clone(), around))
        .with_state(app)
}

/// What is said to one connection too many, before anything of its request is looked at.
pub fn too_many_connections() -> Response {
    let mut response = error::ApiError::too_many_connections().into_response();
    name(&mut response, error::RequestId::new());
    guard::add_security_headers(response.headers_mut(), "", false);
    response
}

/// An answer bears the id of its request.
fn name(response: &mut Response, id: error::RequestId) {
    if let Ok(value) = HeaderValue::from_str(&id.to_string()) {
        response.headers_mut().insert(HeaderName::from_static("x-request-id"), value);
    }
}

/// What holds for every request: it is counted, its body comes in time and fits into memory, a
/// panic is answered, its host says whose it is, its answer bears its id and what browsers are
/// told. One layer: each one more is a copy of all within it for every request.
async fn around(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let counted = metrics::Counted::begin(request.uri().path());
    let path = request.uri().path().to_owned();
    let id = error::RequestId::new();
    let changes =
        path.starts_with("/v1/") && !matches!(*request.method(), Method::GET | Method::HEAD);
    let whose = room::Whose::default();
    request.extensions_mut().insert(whose.clone());
    let (request, part) = guard::bounded(&app, request);
    let answer = AssertUnwindSafe(v1::domains::by_host(&app, request, next)).catch_unwind();
    let answer = async { answer.await.unwrap_or_else(error::panicked) };
    let response = error::with_request_id(id, answer).await;
    let response = guard::unless_given_up(&app, part, response);
    let response =
        if whose.sees_no_pauses() { response.map(pause_addresses::hidden) } else { response };
    let mut response = guard::counted(&app.bodies, whose, changes, response);
    name(&mut response, id);
    guard::add_security_headers(
        response.headers_mut(),
        &path,
        app.config.base_url.starts_with("https:"),
    );
    counted.end(&app, &response);
    response
}
