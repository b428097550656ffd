//! How much history is kept, and handing it over.

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use futures::stream;
use millrace_engine::{Export, ExportFilter, Exported, RetentionView, error_chain};
use millrace_model::clock::Timestamp;
use millrace_model::ids::{SourceId, WorkflowId};
use millrace_model::retention::Retention;
use serde_json::{Value, json};

use crate::App;
use crate::error::ApiError;
use crate::extract::{Auth, Emitter, ListQuery, Params, Path, emitter, id};
use crate::wire::{self, Fields};

/// Bytes of lines that are sent together.
const CHUNK_BYTES: usize = 32 << 10;

pub(crate) async fn retention<E: Emitter>(State(app): State<App>, Auth(caller): Auth, Path(owner): Path, query: ListQuery) -> Result<Response, ApiError> {
    let owner = emitter::<E>(owner)?;
    let view = app.engine.retention(&caller, &owner).await?;
    Ok(Fields::of(&query.params).data(shown(&owner, &view)))
}

/// What is given replaces what was set; what is absent stays, null is as the server says.
pub(crate) async fn set_retention<E: Emitter>(State(app): State<App>, Auth(caller): Auth, Path(owner): Path, params: Params) -> Result<Response, ApiError> {
    let owner = emitter::<E>(owner)?;
    let before = app.engine.retention(&caller, &owner).await?.set;
    let given = |field: &str, before: Option<u32>| if params.0.contains_key(field) { params.number(field) } else { Ok(before) };
    let retention = Retention { keep_days: given("keep_days", before.keep_days)?, keep_count: given("keep_count", before.keep_count)? };
    let view = app.engine.set_retention(&caller, &owner, retention).await?;
    Ok(Fields::of(&params).data(shown(&owner, &view)))
}

fn shown(owner: &str, view: &RetentionView) -> Value {
    let kept = view.set.or(view.server);
    json!({
        "id": owner, "keep_days": view.set.keep_days, "keep_count": view.set.keep_count, "kept_days": kept.keep_days, "kept_count": kept.keep_count,
    })
}

/// Runs, logs and events, a JSON line for each. The last line says that it was all.
pub(crate) async fn export(State(app): State<App>, Auth(caller): Auth, query: ListQuery) -> Result<Response, ApiError> {
    query.params.org_is(&caller)?;
    let owner = query.params.text("owner_id")?;
    if let Some(owner) = &owner
        && owner.parse::<WorkflowId>().is_err()
    {
        id::<SourceId>("workflow or source", owner)?;
    }
    let time = |field| Ok::<_, ApiError>(query.params.number::<i64>(field)?.map(Timestamp));
    let filter = ExportFilter { owner, from: time("from")?, to: time("to")? };
    let lines = Lines { export: Some(app.engine.export(&caller, filter).await?), counts: Counts::default() };
    let body = Body::from_stream(stream::unfold(lines, |mut lines| async move { lines.chunk().await.map(|chunk| (chunk, lines)) }));
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/x-ndjson")),
        (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
    ];
    Ok((headers, body).into_response())
}

#[derive(Default)]
struct Counts {
    runs: u64,
    logs: u64,
    events: u64,
}

/// An export as text, some lines at a time.
struct Lines {
    /// None once the last line was given.
    export: Option<Export>,
    counts: Counts,
}

impl Lines {
    async fn chunk(&mut self) -> Option<Result<Bytes, std::io::Error>> {
        let export = self.export.as_mut()?;
        let mut text = Vec::new();
        while text.len() < CHUNK_BYTES {
            // What is there goes out together; none is waited for while there is something to send.
            let piece = match export.pieces.try_recv() {
                Ok(piece) => Some(piece),
                Err(_) if !text.is_empty() => return Some(Ok(text.into())),
                Err(_) => export.pieces.recv().await,
            };
            let Some(piece) = piece else { break };
            put(&mut text, &self.counts.line(&piece));
        }
        if !text.is_empty() {
            return Some(Ok(text.into()));
        }
        let done = self.export.take()?.done.await;
        if matches!(done, Ok(Ok(()))) {
            let Counts { runs, logs, events } = self.counts;
            put(&mut text, &json!({ "type": "end", "data": { "runs": runs, "logs": logs, "events": events } }));
            return Some(Ok(text.into()));
        }
        if let Ok(Err(error)) = done {
            tracing::error!(error = error_chain(&error), "an export broke off");
        }
        // The connection is cut, so that nobody takes the part for the whole.
        Some(Err(std::io::Error::other("the export broke off")))
    }
}

impl Counts {
    fn line(&mut self, piece: &Exported) -> Value {
        match piece {
            Exported::Run(run) => {
                self.runs += 1;
                json!({ "type": "run", "data": wire::run(run) })
            }
            Exported::Log { owner, run_id, line } => {
                self.logs += 1;
                let mut shown = wire::log_line(line);
                shown["run_id"] = json!(run_id);
                shown["owner_id"] = json!(owner);
                json!({ "type": "log", "data": shown })
            }
            Exported::Event(event) => {
                self.events += 1;
                json!({ "type": "event", "data": wire::event(event, true) })
            }
        }
    }
}

fn put(text: &mut Vec<u8>, line: &Value) {
    text.extend_from_slice(line.to_string().as_bytes());
    text.push(b'\n');
}
