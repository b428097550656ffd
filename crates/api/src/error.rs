//! Status codes and the form of errors: only here.

use std::any::Any;
use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::Json;
use axum::http::{Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use millrace_engine::{EngineError, ErrorKind};
use millrace_model::http::{BodyFault, TooManyHeaders};
use millrace_model::{bound_details, bounded_message};
use serde_json::{Value, json};

use crate::contract::codes::{self, ErrorOut};

tokio::task_local! {
    static REQUEST_ID: RequestId;
}

/// Names a request in its answer and in the log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestId(u64);

impl RequestId {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// That of the request which this task answers.
    pub(crate) fn current() -> Self {
        REQUEST_ID.try_with(|id| *id).unwrap_or(Self(0))
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A log outlives the process and a container's process is always number 1: the count alone
        // would repeat.
        static PROCESS: LazyLock<u32> =
            LazyLock::new(|| RandomState::new().hash_one(std::process::id()) as u32);
        write!(f, "req_{:08x}_{:x}", *PROCESS, self.0)
    }
}

/// Makes the id known to errors that arise while the request is answered.
pub(crate) async fn with_request_id<T>(id: RequestId, answer: impl Future<Output = T>) -> T {
    REQUEST_ID.scope(id, answer).await
}

/// An error as it is sent (reference 1).
#[derive(Debug)]
pub(crate) struct ApiError {
    status: StatusCode,
    code: String,
    pub(crate) message: String,
    /// Boxed: errors are returned by value everywhere.
    pub(crate) details: Box<Value>,
    /// Seconds after which to try again.
    retry_after: Option<u64>,
}

impl ApiError {
    pub(crate) fn new(status: StatusCode, code: &str, message: impl Into<String>) -> Self {
        debug_assert!(
            codes::is_known(code),
            "`{code}` is no code of contract/codes.rs and docs/reference/errors.md"
        );
        Self {
            status,
            code: code.into(),
            message: message.into(),
            details: Box::new(json!({})),
            retry_after: None,
        }
    }

    pub(crate) fn with(mut self, details: Value) -> Self {
        self.details = Box::new(details);
        self
    }

    /// A request that names several hosts.
    pub(crate) fn several_hosts() -> Self {
        Self::new(
            StatusCode::BAD_REQUEST,
            "several_hosts",
            "the request names more than one host, in `Host` lines or in its address; allowed is one",
        )
    }

    /// A request that names no host, though its version asks for one.
    pub(crate) fn host_missing() -> Self {
        Self::new(
            StatusCode::BAD_REQUEST,
            "host_missing",
            "the request has no `Host` line, which HTTP/1.1 asks for; send one, or HTTP/1.0",
        )
    }

    /// A method that nothing takes.
    pub(crate) fn never_taken(method: &Method) -> Self {
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "method_not_allowed",
            format!("no address of this server takes {method}"),
        )
    }

    /// A request whose target is no path.
    pub(crate) fn no_target() -> Self {
        Self::new(
            StatusCode::BAD_REQUEST,
            "not_a_path",
            "the request asks for no path; allowed are a path that begins with `/`, an `http://` address, and `*` for OPTIONS",
        )
    }

    /// A request whose host is none.
    pub(crate) fn no_host() -> Self {
        Self::new(
            StatusCode::BAD_REQUEST,
            "not_a_host",
            "the request's `Host` is no name or address of a host, with or without a port",
        )
    }

    /// A key of this server at a host that is an organization's: what is there would get it.
    pub(crate) fn key_for_another(host: &str) -> Self {
        Self::new(
            StatusCode::MISDIRECTED_REQUEST,
            "not_the_api",
            format!(
                "`{host}` stands for an endpoint of an organization, which would get the API key that the request shows; send keys to this server's own name (--base-url, --own-host), and replace this one if it went elsewhere"
            ),
        )
    }

    /// A request with a session that a page of another origin makes.
    pub(crate) fn from_foreign_page() -> Self {
        let message = "a page of another origin made this request, and sessions are for the pages of this server; programs send `Authorization: Bearer <api key>`";
        Self::new(StatusCode::FORBIDDEN, "foreign_page", message)
    }

    /// A request with a session that changes something without the header of our pages.
    pub(crate) fn csrf_header_missing(header: &str) -> Self {
        let message = format!(
            "a request with a session that changes something, or begins one, needs the header `{header}`, with any value; programs send `Authorization: Bearer <api key>`"
        );
        Self::new(StatusCode::FORBIDDEN, "csrf_header_missing", message)
    }

    /// A body that is not the JSON it should be.
    pub(crate) fn malformed_json(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "malformed_json", message)
    }

    /// A body over its limit.
    pub(crate) fn body_too_large(limit_bytes: usize, hint: &str) -> Self {
        let message =
            format!("the body is larger than {limit_bytes} bytes, the limit of this server{hint}");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message)
            .with(json!({ "limit_bytes": limit_bytes }))
    }

    /// A body that broke off.
    pub(crate) fn body_unreadable() -> Self {
        Self::new(
            StatusCode::BAD_REQUEST,
            "unreadable_body",
            "the body could not be read to its end",
        )
    }

    /// A body that came too slowly.
    pub(crate) fn body_too_slow(grace: Duration) -> Self {
        let message = format!(
            "the body did not come in time: it may take {} s, and a second more for each 8 KiB",
            grace.as_secs()
        );
        Self::new(StatusCode::REQUEST_TIMEOUT, "body_too_slow", message)
    }

    /// A connection beyond those that there may be.
    pub(crate) fn too_many_connections() -> Self {
        let message = "the server has as many connections as it may; try again";
        Self {
            retry_after: Some(1),
            ..Self::new(StatusCode::SERVICE_UNAVAILABLE, "overloaded", message)
        }
    }

    /// A large answer while there is as much in memory as there may be.
    pub(crate) fn no_memory_for_answer() -> Self {
        let message = "the server has as much of requests and answers in memory as it may (--requests-memory-mb), and this answer is large; try again, or ask for less at once; what was asked for may have been done";
        Self {
            retry_after: Some(1),
            ..Self::new(StatusCode::SERVICE_UNAVAILABLE, "overloaded", message)
        }
    }

    /// A body of more JSON values than are read.
    pub(crate) fn body_unfolds(bytes: usize, bytes_max: usize) -> Self {
        let message = format!(
            "the body has so many values that reading it takes about {bytes} bytes of memory, allowed are {bytes_max}; send less of them at once"
        );
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message)
            .with(json!({ "memory_bytes": bytes, "limit_bytes": bytes_max }))
    }

    /// A body of more named fields than are read.
    pub(crate) fn too_many_fields(fields: usize, fields_max: usize) -> Self {
        let message = format!(
            "the body has {fields} named fields in all of its objects, allowed are {fields_max}; send less of them at once"
        );
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message)
            .with(json!({ "fields": fields, "limit_fields": fields_max }))
    }

    /// A large body while there are as many as there is memory for.
    pub(crate) fn no_memory_for_body() -> Self {
        let message = "the server has as much of requests in memory as it may (--requests-memory-mb); try again";
        Self {
            retry_after: Some(1),
            ..Self::new(StatusCode::SERVICE_UNAVAILABLE, "overloaded", message)
        }
    }

    /// A body that would have to be unpacked.
    pub(crate) fn packed(encoding: &str) -> Self {
        let message = format!(
            "the body is encoded as `{}`; send it as it is, without `content-encoding`",
            millrace_model::shown(encoding)
        );
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_encoding", message)
    }

    /// A path that names nothing.
    pub(crate) fn no_such_path() -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "no_such_route",
            "there is nothing at this path: it is not UTF-8 once decoded",
        )
    }

    /// The code behind an endpoint answered with a status that HTTP has no final answer for.
    pub(crate) fn unsendable_status(status: u16) -> Self {
        let message = format!(
            "the code answered with status {status}, which is no final answer in HTTP; allowed are 200 to 599"
        );
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "unsendable_status", message)
            .with(json!({ "status": status }))
    }

    /// The code behind an endpoint answered with more headers than are sent.
    pub(crate) fn unsendable_headers(error: &TooManyHeaders) -> Self {
        let message = format!("the code's answer cannot be sent: {error}");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "unsendable_headers", message)
            .with(json!({ "lines": error.lines, "bytes": error.bytes }))
    }

    /// A fault of ours: the client learns only the request's id.
    fn fault(id: RequestId) -> Self {
        let message = format!("the server failed; see its log for the request id `{id}`");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", message)
            .with(json!({ "request_id": id.to_string() }))
    }
}

impl From<BodyFault> for ApiError {
    fn from(fault: BodyFault) -> Self {
        EngineError::from(fault).into()
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
            ErrorKind::Changed => StatusCode::PRECONDITION_FAILED,
            ErrorKind::Gone => StatusCode::GONE,
            ErrorKind::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            ErrorKind::TooMany => StatusCode::TOO_MANY_REQUESTS,
            ErrorKind::Overloaded => StatusCode::SERVICE_UNAVAILABLE,
            ErrorKind::StorageFull => StatusCode::INSUFFICIENT_STORAGE,
            ErrorKind::Internal => return internal(&error),
        };
        Self {
            retry_after: error.retry_after_secs(),
            ..Self::new(status, error.code(), error.to_string()).with(error.details())
        }
    }
}

/// The client learns the request's id, and of damage which record it is; the log has the whole
/// chain.
fn internal(error: &EngineError) -> ApiError {
    let id = RequestId::current();
    tracing::error!(request.id = %id, error = millrace_engine::error_chain(error), "a request failed");
    let EngineError::Damaged { what, .. } = error else { return ApiError::fault(id) };
    let message = format!(
        "{what} is damaged and cannot be read; store it again (deploy, update or connect anew), or restore a backup; the log tells more under the request id `{id}`"
    );
    ApiError { code: error.code().into(), message, ..ApiError::fault(id) }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let (message, mut details) = (bounded_message(self.message), self.details);
        bound_details(&mut details);
        let mut response =
            (self.status, Json(ErrorOut::show(&message, &self.code, &details))).into_response();
        let headers = response.headers_mut();
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, header::HeaderValue::from_static("Bearer"));
        }
        response
    }
}

/// The status of an answer that code gave.
pub(crate) fn status(given: u16) -> Result<StatusCode, ApiError> {
    // HTTP answers 1xx are interim: no client would see an end.
    StatusCode::from_u16(given)
        .ok()
        .filter(|_| (200..600).contains(&given))
        .ok_or_else(|| ApiError::unsendable_status(given))
}

/// The answer of what is taken up but perhaps not yet done.
pub(crate) fn accepted(mut response: Response) -> Response {
    *response.status_mut() = StatusCode::ACCEPTED;
    response
}

pub(crate) async fn no_route(uri: Uri) -> ApiError {
    let path: String = uri.path().chars().take(200).collect();
    ApiError::new(StatusCode::NOT_FOUND, "no_such_route", format!("there is nothing at `{path}`"))
}

pub(crate) async fn no_method(method: Method, uri: Uri) -> ApiError {
    let path: String = uri.path().chars().take(200).collect();
    ApiError::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method_not_allowed",
        format!("`{path}` does not take {method}; the header `allow` lists what it does"),
    )
}

/// A panic is a bug of ours: the client gets an answer all the same, and the log the panic's own
/// line.
pub(crate) fn panicked(_panic: Box<dyn Any + Send + 'static>) -> Response {
    let id = RequestId::current();
    tracing::error!(request.id = %id, "a handler panicked");
    ApiError::fault(id).into_response()
}

#[cfg(test)]
mod tests {
    use millrace_model::tenant::{Scope, Scopes};

    use super::*;

    async fn check(error: impl Into<ApiError>, status: u16, code: &str, says: &str) -> Value {
        let response = error.into().into_response();
        assert_eq!(response.status().as_u16(), status);
        let body = axum::body::to_bytes(response.into_body(), 1 << 16).await.unwrap();
        let body: Value = millrace_model::json::from_slice(&body).unwrap();
        assert_eq!(body["code"], code);
        assert!(body["error"].as_str().unwrap().contains(says), "{body}");
        body["details"].clone()
    }

    #[tokio::test]
    async fn each_family_of_errors_has_its_status() {
        assert_eq!(
            check(EngineError::invalid("name", "too long"), 422, "invalid_field", "too long").await,
            json!({ "field": "name" })
        );
        assert_eq!(
            check(EngineError::not_found("run", "run_1"), 404, "not_found", "`run_1`").await,
            json!({ "resource": "run", "id": "run_1" })
        );
        check(EngineError::Unauthorized, 401, "unauthorized", "Bearer").await;
        check(EngineError::Forbidden("not yours"), 403, "forbidden", "not yours").await;
        check(
            EngineError::Conflict { code: "taken", message: "taken".into() },
            409,
            "taken",
            "taken",
        )
        .await;
        check(EngineError::Gone { message: "over".into() }, 410, "gone", "over").await;
        check(EngineError::TooLarge { message: "large".into() }, 413, "too_large", "large").await;
        let scope = EngineError::ScopeMissing {
            needed: Scope::Deploy,
            has: Scopes::of(vec![Scope::Read]).unwrap(),
            is_session: false,
        };
        assert_eq!(
            check(scope, 403, "scope_missing", "`deploy`").await,
            json!({ "needed": "deploy", "has": ["read"] })
        );
        let many = EngineError::TooMany { per_minute: 60, wait: Duration::from_millis(1_001) };
        assert_eq!(
            check(many, 429, "too_many_requests", "after 2 s").await,
            json!({ "per_minute": 60, "retry_after": 2 })
        );
        check(EngineError::QueueFull, 429, "queue_full", "queue_max").await;
        let waiting = EngineError::DeploysWaiting { waiting_max: 8 };
        assert_eq!(
            check(waiting, 429, "deploys_waiting", "8 deploys").await,
            json!({ "waiting_max": 8, "retry_after": 5 })
        );
        check(EngineError::Overloaded, 503, "overloaded", "try again").await;
        check(EngineError::DatabaseUnavailable, 503, "database_unavailable", "try again").await;
        check(EngineError::StorageFull, 507, "storage_full", "made room").await;
        check(ApiError::unsendable_status(101), 500, "unsendable_status", "101").await;
    }

    #[tokio::test]
    async fn an_internal_error_tells_the_client_only_the_request_id() {
        let id = RequestId::new();
        let error = with_request_id(id, async {
            ApiError::from(EngineError::internal(
                "could not save",
                std::io::Error::other("disk full"),
            ))
        })
        .await;
        let details = check(error, 500, "internal", &id.to_string()).await;
        assert_eq!(details, json!({ "request_id": id.to_string() }));
    }

    #[test]
    fn refusals_tell_how_to_go_on() {
        let many = EngineError::TooMany { per_minute: 1, wait: Duration::from_secs(60) };
        let header_of = |error: EngineError, header: header::HeaderName| {
            ApiError::from(error).into_response().headers()[header].clone()
        };
        assert_eq!(header_of(many, header::RETRY_AFTER), "60");
        assert_eq!(header_of(EngineError::Overloaded, header::RETRY_AFTER), "1");
        assert_eq!(header_of(EngineError::QueueFull, header::RETRY_AFTER), "1");
        assert_eq!(header_of(EngineError::StorageFull, header::RETRY_AFTER), "10");
        assert_eq!(header_of(EngineError::Unauthorized, header::WWW_AUTHENTICATE), "Bearer");
    }
}
