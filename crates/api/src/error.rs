//! Status codes and the form of errors: only here.

use std::any::Any;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::Json;
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use millrace_engine::{EngineError, ErrorKind};
use serde_json::{Value, json};

tokio::task_local! {
    static REQUEST_ID: RequestId;
}

/// Names a request in its answer and in the log.
#[derive(Clone, Debug)]
pub(crate) struct RequestId(String);

impl RequestId {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        // Unique within the process and its log; nothing more is asked of it.
        Self(format!("req_{:x}_{:x}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Makes the id known to errors that arise while the request is answered.
pub(crate) async fn with_request_id<T>(id: RequestId, answer: impl Future<Output = T>) -> T {
    REQUEST_ID.scope(id, answer).await
}

/// An error as it is sent: `{"error", "code", "details"}` (reference 1).
#[derive(Debug)]
pub(crate) struct ApiError {
    status: StatusCode,
    code: String,
    message: String,
    /// Boxed: errors are returned by value everywhere.
    details: Box<Value>,
}

impl ApiError {
    pub(crate) fn new(status: StatusCode, code: &str, message: impl Into<String>) -> Self {
        Self { status, code: code.into(), message: message.into(), details: Box::new(json!({})) }
    }

    pub(crate) fn field(field: &str, message: impl Into<String>) -> Self {
        Self { status: StatusCode::UNPROCESSABLE_ENTITY, code: "invalid_field".into(), message: message.into(), details: Box::new(json!({ "field": field })) }
    }
}

impl From<EngineError> for ApiError {
    fn from(error: EngineError) -> Self {
        let status = match error.kind() {
            ErrorKind::Invalid => StatusCode::UNPROCESSABLE_ENTITY,
            ErrorKind::Unauthorized => StatusCode::UNAUTHORIZED,
            ErrorKind::Forbidden => StatusCode::FORBIDDEN,
            ErrorKind::NotFound => StatusCode::NOT_FOUND,
            ErrorKind::Conflict => StatusCode::CONFLICT,
            ErrorKind::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            ErrorKind::Overloaded => StatusCode::SERVICE_UNAVAILABLE,
            ErrorKind::Internal => return internal(&error),
        };
        Self { status, code: error.code().to_owned(), message: error.to_string(), details: Box::new(error.details()) }
    }
}

/// The client learns only the request's id; the log has the whole chain.
fn internal(error: &EngineError) -> ApiError {
    let id = REQUEST_ID.try_with(|id| id.as_str().to_owned()).unwrap_or_default();
    let mut chain = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        chain.push_str(": ");
        chain.push_str(&error.to_string());
        cause = error.source();
    }
    tracing::error!(request.id = id, error = chain, "a request failed");
    ApiError {
        status: StatusCode::INTERNAL_SERVER_ERROR,
        code: "internal".into(),
        message: format!("the server failed; its log tells why under the request id `{id}`"),
        details: Box::new(json!({ "request_id": id })),
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(json!({ "error": self.message, "code": self.code, "details": self.details }))).into_response();
        let headers = response.headers_mut();
        if matches!(self.status, StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS) {
            headers.insert(header::RETRY_AFTER, header::HeaderValue::from_static("1"));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, header::HeaderValue::from_static("Bearer"));
        }
        response
    }
}

pub(crate) async fn no_route(uri: Uri) -> ApiError {
    let path: String = uri.path().chars().take(200).collect();
    ApiError::new(StatusCode::NOT_FOUND, "no_such_route", format!("there is nothing at `{path}`"))
}

pub(crate) async fn no_method(method: axum::http::Method, uri: Uri) -> ApiError {
    let path: String = uri.path().chars().take(200).collect();
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", format!("`{path}` does not take {method}; the header `allow` lists what it does"))
}

/// A panic is a bug of ours: the client gets an answer all the same, and the log the panic's own line.
pub(crate) fn panicked(_panic: Box<dyn Any + Send + 'static>) -> Response {
    let id = REQUEST_ID.try_with(|id| id.as_str().to_owned()).unwrap_or_default();
    tracing::error!(request.id = id, "a handler panicked");
    ApiError {
        status: StatusCode::INTERNAL_SERVER_ERROR,
        code: "internal".into(),
        message: format!("the server failed; its log tells why under the request id `{id}`"),
        details: Box::new(json!({ "request_id": id })),
    }
    .into_response()
}
