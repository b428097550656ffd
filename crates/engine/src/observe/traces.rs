//! Traces, sent to a collector by OTLP over HTTP with JSON: the request, the run's attempts, their
//! steps, and the same of every run that comes of it. Ids are derived from those that runs have, so
//! that runs of one event meet in one trace through queue, restart and other servers, and nothing
//! more is stored. Three kinds of spans need no library.
//!
//! A trace that a request brings (W3C `traceparent`) goes on: its header, without the version, is
//! then the trace id of the runs that come of it. What those send carries the trace on.

use std::time::Duration;

use millrace_model::Timestamp;
use millrace_model::ids::RunId;
use millrace_model::run::Context;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::sync::mpsc;

use crate::observe::metrics::Ending;
use crate::run::execute::Held;
use crate::{Engine, EngineError, VERSION};

/// Spans that wait to be sent; more are dropped and counted.
const WAITING_MAX: usize = 8192;
/// Spans in a request.
const BATCH_MAX: usize = 512;
/// How long the first span of a batch waits for others.
const BATCH_WAIT: Duration = Duration::from_secs(1);
/// How long the collector may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Where traces go.
#[derive(Clone, Debug)]
pub struct TraceConfig {
    /// The collector: `http://127.0.0.1:4318`, or the whole address that ends with `/v1/traces`.
    pub url: String,
    /// Headers that it asks for.
    pub headers: Vec<(String, String)>,
}

/// The header of a trace (W3C Trace Context).
pub(crate) const HEADER: &str = "traceparent";

/// A step that an attempt ran.
#[derive(Clone, Debug)]
pub(crate) struct StepSpan {
    pub(crate) namespace: String,
    /// None: it did not end.
    pub(crate) duration_ms: Option<u64>,
}

/// A span in the form that is sent.
type Span = Value;

/// Takes spans; none where no collector is named.
#[derive(Default)]
pub(crate) struct Traces(Option<mpsc::Sender<Span>>);

/// The other end of [`Traces`].
pub(crate) struct Sending {
    spans: mpsc::Receiver<Span>,
    http: reqwest::Client,
    url: String,
}

impl Traces {
    pub(crate) fn new(
        config: Option<&TraceConfig>,
    ) -> Result<(Self, Option<Sending>), EngineError> {
        let Some(config) = config else { return Ok((Self(None), None)) };
        let mut headers = HeaderMap::new();
        for (name, value) in &config.headers {
            let name = HeaderName::try_from(name)
                .map_err(|e| EngineError::internal("a header of --otlp-headers is not valid", e))?;
            let mut value = HeaderValue::try_from(value)
                .map_err(|e| EngineError::internal("a header of --otlp-headers is not valid", e))?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        let http = reqwest::Client::builder().timeout(TIMEOUT).default_headers(headers).build();
        let http =
            http.map_err(|e| EngineError::internal("could not make a client for traces", e))?;
        let base = config.url.trim_end_matches('/');
        let url = if base.ends_with("/v1/traces") {
            base.to_owned()
        } else {
            format!("{base}/v1/traces")
        };
        let (give, spans) = mpsc::channel(WAITING_MAX);
        Ok((Self(Some(give)), Some(Sending { spans, http, url })))
    }

    pub(crate) fn is_on(&self) -> bool {
        self.0.is_some()
    }
}

impl Engine {
    fn span(&self, span: Span) {
        if let Some(give) = &self.0.traces.0
            && give.try_send(span).is_err()
        {
            self.0.metrics.dropped_span();
        }
    }

    /// The span of a request to an endpoint, which became a run with that context.
    pub(crate) fn trace_request(
        &self,
        context: &str,
        began: Timestamp,
        method: &str,
        status: Option<u16>,
    ) {
        let Ok(context) = serde_json::from_str::<Context>(context) else { return };
        let trace = context.trace_id.as_str();
        let remote = Brought::read(trace);
        if remote.as_ref().is_some_and(|remote| !remote.is_recorded) {
            return;
        }
        let mut span = span(
            trace,
            &root(trace),
            remote.as_ref().map(|remote| remote.parent.as_str()),
            &format!("{method} endpoint"),
            (began.ms(), self.now().ms()),
        );
        span["kind"] = json!(2);
        let mut about = vec![
            text("http.request.method", method),
            text("millrace.owner", &context.workflow_id),
            text("millrace.emitter", &context.emitter_id),
        ];
        if let Some(status) = status {
            about.push(number("http.response.status_code", i64::from(status)));
        }
        span["attributes"] = json!(about);
        self.span(span);
    }

    /// The spans of an attempt and of the steps that it ran.
    pub(crate) fn trace_attempt(
        &self,
        held: &Held,
        ending: Ending,
        duration: Duration,
        steps: &[StepSpan],
        error: Option<(&str, &str)>,
    ) {
        let Ok(context) = serde_json::from_str::<Context>(&held.context) else { return };
        let trace = context.trace_id.as_str();
        if Brought::read(trace).is_some_and(|remote| !remote.is_recorded) {
            return;
        }
        let id = attempt_span(&context, &held.id, held.attempt);
        let parent = Some(root(trace)).filter(|root| *root != id);
        let ended = self.now().ms();
        let began = ended - i64::try_from(duration.as_millis()).unwrap_or(0);
        let mut run = span(
            trace,
            &id,
            parent.as_deref(),
            &format!("run {}", context.workflow_name),
            (began, ended),
        );
        run["attributes"] = json!([
            text("millrace.run", held.id.as_str()),
            text("millrace.owner", held.owner.as_str()),
            text("millrace.deployment", &context.deployment_id),
            text("millrace.trigger", &context.source_type),
            text("millrace.ending", ending.as_str()),
            number("millrace.attempt", held.attempt),
        ]);
        if let Some((class, message)) = error {
            run["status"] = json!({ "code": 2, "message": format!("{class}: {message}").chars().take(500).collect::<String>() });
        }
        self.span(run);
        // Steps run one after the other; when each began is told by those before it.
        let mut at = began;
        for (n, step) in steps.iter().enumerate() {
            let end = step
                .duration_ms
                .map_or(ended, |ms| at.saturating_add(i64::try_from(ms).unwrap_or(0)))
                .min(ended.max(at));
            let mut shown = span(
                trace,
                &span_id(&[&id, &n.to_string()]),
                Some(&id),
                &format!("step {}", step.namespace),
                (at, end),
            );
            if step.duration_ms.is_none() && ending == Ending::Failed {
                shown["status"] = json!({ "code": 2 });
            }
            shown["attributes"] = json!([
                text("millrace.step", &step.namespace),
                text("millrace.run", held.id.as_str())
            ]);
            self.span(shown);
            at = end;
        }
    }

    pub(crate) fn spawn_tracer(&self, sending: Sending) {
        let (engine, stop) = (self.clone(), self.0.tasks.token());
        self.0.tasks.spawn(async move {
            let Sending { mut spans, http, url } = sending;
            let mut is_down = false;
            loop {
                let mut batch = Vec::new();
                tokio::select! {
                    biased;
                    count = spans.recv_many(&mut batch, BATCH_MAX) => if count == 0 { return },
                    () = stop.cancelled() => return,
                }
                // More of the same trace is on its way; at the end of the server nothing is waited
                // for.
                tokio::select! {
                    () = tokio::time::sleep(BATCH_WAIT) => {}
                    () = stop.cancelled() => {}
                }
                while batch.len() < BATCH_MAX
                    && let Ok(span) = spans.try_recv()
                {
                    batch.push(span);
                }
                let count = batch.len();
                let sent = http
                    .post(&url)
                    .json(&request(&batch))
                    .send()
                    .await
                    .and_then(reqwest::Response::error_for_status);
                if let Err(error) = &sent {
                    for _ in 0..count {
                        engine.0.metrics.dropped_span();
                    }
                    // Once, not for each batch: a collector may be away for long.
                    if !is_down {
                        tracing::warn!(
                            error = millrace_model::error_chain(error),
                            "the collector of traces does not take them"
                        );
                    }
                }
                is_down = sent.is_err();
            }
        });
    }
}

fn request(spans: &[Span]) -> Value {
    let resource = json!({ "attributes": [text("service.name", "millrace"), text("service.version", VERSION)] });
    json!({ "resourceSpans": [{ "resource": resource, "scopeSpans": [{ "scope": { "name": "millrace" }, "spans": spans }] }] })
}

/// A span within `(began, ended)`, epoch milliseconds.
fn span(
    trace: &str,
    id: &str,
    parent: Option<&str>,
    name: &str,
    (began, ended): (i64, i64),
) -> Span {
    let mut span = json!({
        "traceId": w3c_id(trace), "spanId": id, "name": name, "kind": 1,
        "startTimeUnixNano": format!("{began}000000"), "endTimeUnixNano": format!("{ended}000000"),
    });
    if let Some(parent) = parent {
        span["parentSpanId"] = json!(parent);
    }
    span
}

/// A trace that somebody else began.
struct Brought {
    id: String,
    /// The span that it goes on from.
    parent: String,
    /// Whether who began it records it; then so does who goes on with it.
    is_recorded: bool,
}

impl Brought {
    /// Of a trace id that [`continued`] made; None: the trace is of this server's own.
    fn read(trace: &str) -> Option<Self> {
        let is_id = |text: &str, length: usize| {
            text.len() == length
                && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
                && text.bytes().any(|b| b != b'0')
        };
        let mut parts = trace.splitn(3, '-');
        let (id, parent, flags) = (parts.next()?, parts.next()?, parts.next()?);
        let flags = u8::from_str_radix(flags, 16)
            .ok()
            .filter(|_| flags.len() == 2 && !flags.starts_with('+'))?;
        (is_id(id, 32) && is_id(parent, 16)).then(|| Self {
            id: id.to_owned(),
            parent: parent.to_owned(),
            is_recorded: flags & 1 == 1,
        })
    }
}

/// The trace id of what a request brings, where it has one valid `traceparent`: later versions may
/// say more behind it.
pub(crate) fn continued(headers: &[(String, String)]) -> Option<String> {
    let mut found = headers.iter().filter(|(name, _)| name == HEADER);
    let (Some((_, value)), None) = (found.next(), found.next()) else { return None };
    let value = value.trim();
    let (version, rest) = value.split_once('-')?;
    let version = u8::from_str_radix(version, 16).ok().filter(|_| {
        version.len() == 2 && version.bytes().all(|b| !b.is_ascii_uppercase() && b != b'+')
    })?;
    let rest = match version {
        0 => rest,
        255 => return None,
        _ => rest.get(..52).filter(|_| rest.len() == 52 || rest.as_bytes()[52] == b'-')?,
    };
    Brought::read(rest).map(|_| rest.to_owned())
}

/// What is sent with an event of a trace: it goes on from the span that all runs of the trace are
/// below.
pub(crate) fn parent_of_all(trace: &str) -> String {
    header(trace, &root(trace))
}

/// What a run's own requests carry: they go on from its attempt. `context`: JSON text.
pub(crate) fn parent_of(context: &str, run: &RunId, attempt: i64) -> Option<String> {
    let context: Context = serde_json::from_str(context).ok()?;
    Some(header(&context.trace_id, &attempt_span(&context, run, attempt)))
}

fn header(trace: &str, span: &str) -> String {
    let flags = u8::from(Brought::read(trace).is_none_or(|remote| remote.is_recorded));
    format!("00-{}-{span}-{flags:02x}", w3c_id(trace))
}

fn w3c_id(trace: &str) -> String {
    Brought::read(trace)
        .map_or_else(|| hex(&Sha256::digest(trace.as_bytes())[..16]), |remote| remote.id)
}

/// The first run of an event that came by no request is the root itself.
fn attempt_span(context: &Context, run: &RunId, attempt: i64) -> String {
    let is_root = context.id == context.trace_id && context.source_type != "HTTP" && attempt == 1;
    if is_root { root(&context.trace_id) } else { span_id(&[run.as_str(), &attempt.to_string()]) }
}

/// The span that a trace begins with.
fn root(trace: &str) -> String {
    span_id(&["root", trace])
}

fn span_id(parts: &[&str]) -> String {
    hex(&Sha256::digest(parts.join("\n").as_bytes())[..8])
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn text(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

/// OTLP writes 64-bit integers as texts in JSON.
fn number(key: &str, value: i64) -> Value {
    json!({ "key": key, "value": { "intValue": value.to_string() } })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7";

    fn brought(value: &str) -> Option<String> {
        continued(&[("host".into(), "a.test".into()), (HEADER.into(), value.into())])
    }

    #[test]
    fn a_trace_is_continued_where_its_header_is_valid() {
        assert_eq!(brought(&format!("00-{TRACE}-01")), Some(format!("{TRACE}-01")));
        assert_eq!(
            brought(&format!("cc-{TRACE}-01-what the future will be like")),
            Some(format!("{TRACE}-01"))
        );
        let none = format!("00-{}-00f067aa0ba902b7-01", "0".repeat(32));
        let no_parent = format!("00-4bf92f3577b34da6a3ce929d0e0e4736-{}-01", "0".repeat(16));
        for wrong in [
            "",
            "00",
            &none,
            &no_parent,
            &format!("ff-{TRACE}-01"),
            &format!("00-{TRACE}-01-more"),
            &format!("cc-{TRACE}-01.more"),
            &format!("00-{TRACE}-1"),
            &format!("00-{TRACE}-+1"),
            &format!("00-{}-01", TRACE.to_uppercase()),
            &format!("0-{TRACE}-01"),
            "01-é",
        ] {
            assert_eq!(brought(wrong), None, "{wrong}");
        }
        let twice = (HEADER.to_owned(), format!("00-{TRACE}-01"));
        assert_eq!(continued(&[twice.clone(), twice]), None);
    }

    #[test]
    fn what_is_sent_carries_the_trace_on() {
        let root = parent_of_all(&format!("{TRACE}-01"));
        assert!(
            root.starts_with("00-4bf92f3577b34da6a3ce929d0e0e4736-")
                && root.ends_with("-01")
                && !root.contains("00f067aa0ba902b7"),
            "{root}"
        );
        assert!(parent_of_all(&format!("{TRACE}-00")).ends_with("-00"), "what nobody records");
        let own = parent_of_all("2Qz");
        assert!(own.len() == 55 && own.ends_with("-01"), "{own}");
    }
}
