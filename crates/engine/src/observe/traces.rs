//! Traces, sent to a collector by OTLP over HTTP with JSON: the request, the run's attempts, their
//! steps, and the same of every run that comes of it. Ids are derived from those that runs have, so
//! that runs of one event meet in one trace through queue, restart and other servers, and nothing
//! more is stored. Three kinds of spans need no library.

use std::sync::Arc;
use std::time::Duration;

use millrace_model::Timestamp;
use millrace_model::ids::RunId;
use millrace_model::run::Context;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::background::{Activation, Background, Next, Task};
use crate::observe::metrics::{Ending, Metrics};
use crate::trace_context::{RemoteTrace, attempt_span, root, span_id, w3c_id};
use crate::{EngineError, VERSION};

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
pub(crate) struct Traces {
    spans: Option<mpsc::Sender<Span>>,
    metrics: Arc<Metrics>,
}

/// An attempt of a run that ended.
pub(crate) struct Attempt<'a> {
    pub(crate) run: &'a RunId,
    pub(crate) owner: &'a str,
    pub(crate) number: i64,
    /// Its run's context, JSON text.
    pub(crate) context: &'a str,
    pub(crate) ending: Ending,
    pub(crate) ended: Timestamp,
    pub(crate) duration: Duration,
    pub(crate) steps: &'a [StepSpan],
    /// Class and message.
    pub(crate) error: Option<(&'a str, &'a str)>,
}

impl Traces {
    pub(crate) fn new(
        config: Option<&TraceConfig>,
        metrics: &Arc<Metrics>,
    ) -> Result<(Self, Option<TraceExporter>), EngineError> {
        let metrics = || metrics.clone();
        let Some(config) = config else {
            return Ok((Self { spans: None, metrics: metrics() }, None));
        };
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
        let exporter = TraceExporter { metrics: metrics(), spans, http, url, is_down: false };
        Ok((Self { spans: Some(give), metrics: metrics() }, Some(exporter)))
    }

    pub(crate) fn is_on(&self) -> bool {
        self.spans.is_some()
    }

    fn span(&self, span: Span) {
        if let Some(give) = &self.spans
            && give.try_send(span).is_err()
        {
            self.metrics.dropped_span();
        }
    }

    /// The span of a request to an endpoint, which became a run with that context.
    pub(crate) fn request(
        &self,
        context: &str,
        (began, ended): (Timestamp, Timestamp),
        method: &str,
        status: Option<u16>,
    ) {
        let Ok(context) = millrace_model::json::from_str::<Context>(context) else { return };
        let trace = context.trace_id.as_str();
        let remote = RemoteTrace::read(trace);
        if remote.as_ref().is_some_and(|remote| !remote.is_recorded) {
            return;
        }
        let mut span = span(
            trace,
            &root(trace),
            remote.as_ref().map(|remote| remote.parent.as_str()),
            &format!("{method} endpoint"),
            (began.ms(), ended.ms()),
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
    pub(crate) fn attempt(&self, attempt: &Attempt<'_>) {
        let Ok(context) = millrace_model::json::from_str::<Context>(attempt.context) else {
            return;
        };
        let trace = context.trace_id.as_str();
        if RemoteTrace::read(trace).is_some_and(|remote| !remote.is_recorded) {
            return;
        }
        let id = attempt_span(&context, attempt.run, attempt.number);
        let parent = Some(root(trace)).filter(|root| *root != id);
        let ended = attempt.ended.ms();
        let began = ended - i64::try_from(attempt.duration.as_millis()).unwrap_or(0);
        let mut run = span(
            trace,
            &id,
            parent.as_deref(),
            &format!("run {}", context.workflow_name),
            (began, ended),
        );
        run["attributes"] = json!([
            text("millrace.run", attempt.run.as_str()),
            text("millrace.owner", attempt.owner),
            text("millrace.deployment", &context.deployment_id),
            text("millrace.trigger", &context.source_type),
            text("millrace.ending", attempt.ending.as_str()),
            number("millrace.attempt", attempt.number),
        ]);
        if let Some((class, message)) = attempt.error {
            run["status"] = json!({ "code": 2, "message": format!("{class}: {message}").chars().take(500).collect::<String>() });
        }
        self.span(run);
        // Steps run one after the other; when each began is told by those before it.
        let mut at = began;
        for (n, step) in attempt.steps.iter().enumerate() {
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
            if step.duration_ms.is_none() && attempt.ending == Ending::Failed {
                shown["status"] = json!({ "code": 2 });
            }
            shown["attributes"] = json!([
                text("millrace.step", &step.namespace),
                text("millrace.run", attempt.run.as_str())
            ]);
            self.span(shown);
            at = end;
        }
    }
}

/// Sends spans to the collector.
pub(crate) struct TraceExporter {
    metrics: Arc<Metrics>,
    spans: mpsc::Receiver<Span>,
    http: reqwest::Client,
    url: String,
    is_down: bool,
}

impl Background for TraceExporter {
    const TASK: Task = Task::TraceExporter;

    async fn activate(&mut self, now: &Activation) -> Next {
        // Also those that wait when the engine stops are sent.
        loop {
            let mut batch = Vec::new();
            tokio::select! {
                biased;
                count = self.spans.recv_many(&mut batch, BATCH_MAX) => if count == 0 {
                    return Next::Never;
                },
                () = now.stop.cancelled() => return Next::Never,
            }
            // More of the same trace is on its way; at the end of the server nothing is waited for.
            now.stops_within(BATCH_WAIT).await;
            while batch.len() < BATCH_MAX
                && let Ok(span) = self.spans.try_recv()
            {
                batch.push(span);
            }
            let count = batch.len();
            let sent = self
                .http
                .post(&self.url)
                .json(&request(&batch))
                .send()
                .await
                .and_then(reqwest::Response::error_for_status);
            if let Err(error) = &sent {
                for _ in 0..count {
                    self.metrics.dropped_span();
                }
                // Once, not for each batch: a collector may be away for long.
                if !self.is_down {
                    now.warned("the collector of traces does not take them", error);
                }
            }
            self.is_down = sent.is_err();
            if !now.stop.is_cancelled() {
                return Next::Now;
            }
        }
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

fn text(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

/// OTLP writes 64-bit integers as texts in JSON.
fn number(key: &str, value: i64) -> Value {
    json!({ "key": key, "value": { "intValue": value.to_string() } })
}
