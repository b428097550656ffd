//! Traces, sent to a collector by OTLP over HTTP with JSON: the request, the run's attempts, their steps, and the same of every run that
//! comes of it. Ids are derived from those that runs have, so that runs of one event meet in one trace through queue, restart and other
//! servers, and nothing more is stored. Three kinds of spans need no library.

use std::time::Duration;

use millrace_model::Timestamp;
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
    pub(crate) fn new(config: Option<&TraceConfig>) -> Result<(Self, Option<Sending>), EngineError> {
        let Some(config) = config else { return Ok((Self(None), None)) };
        let mut headers = HeaderMap::new();
        for (name, value) in &config.headers {
            let name = HeaderName::try_from(name).map_err(|e| EngineError::internal("a header of --otlp-headers is not valid", e))?;
            let mut value = HeaderValue::try_from(value).map_err(|e| EngineError::internal("a header of --otlp-headers is not valid", e))?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        let http = reqwest::Client::builder().timeout(TIMEOUT).default_headers(headers).build();
        let http = http.map_err(|e| EngineError::internal("could not make a client for traces", e))?;
        let base = config.url.trim_end_matches('/');
        let url = if base.ends_with("/v1/traces") { base.to_owned() } else { format!("{base}/v1/traces") };
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
    pub(crate) fn trace_request(&self, context: &str, began: Timestamp, method: &str, status: Option<u16>) {
        let Ok(context) = serde_json::from_str::<Context>(context) else { return };
        let trace = context.trace_id.as_str();
        let mut span = span(trace, &root(trace), None, &format!("{method} endpoint"), (began.ms(), self.now().ms()));
        span["kind"] = json!(2);
        let mut about = vec![text("http.request.method", method), text("millrace.owner", &context.workflow_id), text("millrace.emitter", &context.emitter_id)];
        if let Some(status) = status {
            about.push(number("http.response.status_code", i64::from(status)));
        }
        span["attributes"] = json!(about);
        self.span(span);
    }

    /// The spans of an attempt and of the steps that it ran.
    pub(crate) fn trace_attempt(&self, held: &Held, ending: Ending, duration: Duration, steps: &[StepSpan], error: Option<(&str, &str)>) {
        let Ok(context) = serde_json::from_str::<Context>(&held.context) else { return };
        let trace = context.trace_id.as_str();
        // The first run of an event that came by no request is the root itself.
        let is_root = context.id == context.trace_id && context.source_type != "HTTP" && held.attempt == 1;
        let id = if is_root { root(trace) } else { span_id(&[held.id.as_str(), &held.attempt.to_string()]) };
        let parent = (!is_root).then(|| root(trace));
        let ended = self.now().ms();
        let began = ended - i64::try_from(duration.as_millis()).unwrap_or(0);
        let mut run = span(trace, &id, parent.as_deref(), &format!("run {}", context.workflow_name), (began, ended));
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
            let end = step.duration_ms.map_or(ended, |ms| at.saturating_add(i64::try_from(ms).unwrap_or(0))).min(ended.max(at));
            let mut shown = span(trace, &span_id(&[&id, &n.to_string()]), Some(&id), &format!("step {}", step.namespace), (at, end));
            if step.duration_ms.is_none() && ending == Ending::Failed {
                shown["status"] = json!({ "code": 2 });
            }
            shown["attributes"] = json!([text("millrace.step", &step.namespace), text("millrace.run", held.id.as_str())]);
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
                // More of the same trace is on its way; at the end of the server nothing is waited for.
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
                let sent = http.post(&url).json(&request(&batch)).send().await.and_then(reqwest::Response::error_for_status);
                if let Err(error) = &sent {
                    for _ in 0..count {
                        engine.0.metrics.dropped_span();
                    }
                    // Once, not for each batch: a collector may be away for long.
                    if !is_down {
                        tracing::warn!(error = crate::run::execute::error_chain(error), "the collector of traces does not take them");
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
fn span(trace: &str, id: &str, parent: Option<&str>, name: &str, (began, ended): (i64, i64)) -> Span {
    let mut span = json!({
        "traceId": hex(&Sha256::digest(trace.as_bytes())[..16]), "spanId": id, "name": name, "kind": 1,
        "startTimeUnixNano": format!("{began}000000"), "endTimeUnixNano": format!("{ended}000000"),
    });
    if let Some(parent) = parent {
        span["parentSpanId"] = json!(parent);
    }
    span
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
