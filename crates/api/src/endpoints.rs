//! Generated endpoints (spec 4.4): any method, any path below, any media type. The hot path.

use std::net::SocketAddr;

use axum::body::{Body, Bytes};
use axum::extract::{ConnectInfo, FromRequest as _, Path, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use millrace_model::http::{EndpointRequest, EndpointResponse};

use crate::App;
use crate::error::ApiError;

pub(crate) async fn handle_root(State(app): State<App>, Path(key): Path<String>, ConnectInfo(client): ConnectInfo<SocketAddr>, request: Request) -> Response {
    answer(app, key, client, request).await
}

pub(crate) async fn handle(
    State(app): State<App>,
    Path((key, _path)): Path<(String, String)>,
    ConnectInfo(client): ConnectInfo<SocketAddr>,
    request: Request,
) -> Response {
    answer(app, key, client, request).await
}

async fn answer(app: App, key: String, client: SocketAddr, request: Request) -> Response {
    if request.method() == Method::OPTIONS {
        return cors(StatusCode::OK.into_response(), true);
    }
    let response = match run(&app, &key, client, request).await {
        Ok(response) => to_response(response),
        Err(error) => error.into_response(),
    };
    cors(response, false)
}

async fn run(app: &App, key: &str, client: SocketAddr, request: Request) -> Result<EndpointResponse, ApiError> {
    let method = request.method().as_str().to_owned();
    let uri = request.uri().clone();
    let headers = header_list(request.headers());
    let host = request.headers().get(header::HOST).and_then(|h| h.to_str().ok()).unwrap_or("").to_owned();
    let body = Bytes::from_request(request, app).await.map_err(|rejection| match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => ApiError::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too_large",
            format!("the body is larger than {} bytes, the limit of this server (--http-body-max-bytes)", app.config.http_body_max_bytes),
        ),
        status => ApiError::new(status, "bad_body", "the body could not be read"),
    })?;
    let path = uri.path().strip_prefix("/e/").and_then(|p| p.find('/').map(|at| p[at..].to_owned())).unwrap_or_else(|| "/".into());
    let request = EndpointRequest {
        method,
        url: format!("http://{host}{}", uri.path()),
        path,
        query: uri.query().unwrap_or("").to_owned(),
        headers,
        client_ip: client.ip().to_canonical().to_string(),
        body: body.into(),
    };
    Ok(app.engine.handle_endpoint(key, request).await?)
}

fn header_list(headers: &HeaderMap) -> Vec<(String, String)> {
    headers.iter().map(|(name, value)| (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())).collect()
}

/// What code answered. Header names and values that HTTP does not allow are left out, as are those the server sets.
fn to_response(answer: EndpointResponse) -> Response {
    let mut response = Response::new(Body::from(answer.body));
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::OK);
    let headers = response.headers_mut();
    for (name, value) in answer.headers {
        let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(&value)) else { continue };
        if !matches!(name, header::CONTENT_LENGTH | header::TRANSFER_ENCODING | header::CONNECTION) {
            headers.append(name, value);
        }
    }
    if !headers.contains_key(header::CONTENT_TYPE) {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    }
    response
}

fn cors(mut response: Response, preflight: bool) -> Response {
    let headers = response.headers_mut();
    headers.entry(header::ACCESS_CONTROL_ALLOW_ORIGIN).or_insert(HeaderValue::from_static("*"));
    if preflight {
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET,HEAD,PUT,PATCH,POST,DELETE"));
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static("*"));
    }
    response
}
