//! Domains that stand for endpoints.

use axum::extract::{Request, State};
use axum::http::header;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use millrace_model::domain::EndpointDomain;
use millrace_model::ids::HttpInterfaceId;
use serde_json::{Value, json};

use crate::error::ApiError;
use crate::extract::{Auth, ListQuery, Params, Path, id};
use crate::wire::Fields;
use crate::{App, endpoints};

/// A request to a host that stands for an endpoint is the endpoint's, whatever its path: no page of a stranger has this server's origin, and none of ours is there.
pub(crate) async fn by_host(app: &App, request: Request, next: Next) -> Response {
    // What stands before this server may go by another of them (RFC 9112, 3.2).
    if request.headers().get_all(header::HOST).iter().nth(1).is_some() {
        return ApiError::several_hosts().into_response();
    }
    let host = request.headers().get(header::HOST).and_then(|h| h.to_str().ok()).or_else(|| request.uri().authority().map(|a| a.as_str())).unwrap_or("");
    match app.engine.endpoint_of_host(host).await {
        None => next.run(request).await,
        Some(key) => endpoints::handle_key(app, key, request).await,
    }
}

pub(crate) async fn create(State(app): State<App>, Auth(caller): Auth, params: Params) -> Result<Response, ApiError> {
    params.org_is(&caller)?;
    let required = |field: &'static str, what: &str| params.text(field)?.ok_or_else(|| ApiError::field(field, format!("`{field}` is required: {what}")));
    let domain = required("domain", "the name that leads to this server")?;
    let endpoint = required("endpoint_id", "the `hi_` id of an HTTP trigger or interface")?;
    let made = app.engine.create_domain(&caller, &domain, &id::<HttpInterfaceId>("endpoint", &endpoint)?).await?;
    Ok(Fields::default().data(record(&made, &app.config.base_url)))
}

pub(crate) async fn list(State(app): State<App>, Auth(caller): Auth, query: ListQuery) -> Result<Response, ApiError> {
    query.params.org_is(&caller)?;
    let listing = app.engine.list_domains(&caller, &query.page).await?;
    Ok(Fields::of(&query.params).records(listing, |d| record(&d, &app.config.base_url)))
}

pub(crate) async fn remove(State(app): State<App>, Auth(caller): Auth, Path(domain): Path) -> Result<Response, ApiError> {
    app.engine.delete_domain(&caller, &domain).await?;
    Ok(Fields::default().data(json!({ "id": domain, "deleted": true })))
}

fn record(d: &EndpointDomain, base_url: &str) -> Value {
    let scheme = if base_url.starts_with("https:") { "https" } else { "http" };
    json!({ "id": d.id, "endpoint_id": d.endpoint_id, "url": format!("{scheme}://{}", d.id), "created_at": d.created_at.secs() })
}
