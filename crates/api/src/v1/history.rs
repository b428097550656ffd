//! Retention of history, and its export.

use std::io;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use futures::stream;
use millrace_engine::{
    EngineError, Export, ExportFilter, Exported, RetentionView, Taken, error_chain,
};
use millrace_model::ids::{RunId, SourceId, WorkflowId};
use millrace_model::json::shown;
use millrace_model::retention::Retention;
use millrace_model::run::LogLine;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use crate::contract::routes::{Gives, Route, get, put};
use crate::contract::shape::{of, record};
use crate::contract::table::{DEPLOY, ORG, READ, a, number, text};
use crate::error::ApiError;
use crate::extract::{Auth, Emitter, ListQuery, Params, Path, emitter};
use crate::fields::Fields;
use crate::v1::events::EventSummaryOut;
use crate::v1::filters::{GivenTime, owner, period};
use crate::v1::run_records::{LogLineOut, RunOut};
use crate::written_back::WrittenBack;
use crate::{App, Cut};

/// Bytes that are sent together: short lines are gathered, and long ones sent in parts, so that how
/// much was taken of one is known.
const CHUNK_BYTES: usize = 32 << 10;

record! {
    /// How much history of a workflow or source is kept: what was set for it, and what holds where
    /// nothing was
    RetentionOut<'a>(owner: &'a str, view: &'a RetentionView) with {
        let kept = view.kept();
    } {
        id: &'a str = owner,
        keep_days: Option<u32> = view.set.keep_days,
        keep_count: Option<u32> = view.set.keep_count,
        kept_days: Option<u32> = kept.keep_days,
        kept_count: Option<u32> = kept.keep_count,
    }
}

/// A line of an export; the last one is `end`, which counts the others.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "type", content = "data", rename_all = "lowercase")]
pub(crate) enum ExportLineOut<'a> {
    Run(Box<RunOut<'a>>),
    Log(ExportedLogOut<'a>),
    Event(EventSummaryOut),
    End(ExportCountsOut),
}

record! {
    /// A line of a log in an export, with the workflow or source that it is of
    ExportedLogOut<'a>(owner: &'a str, run: &'a RunId, line: &'a LogLine) {
        #[serde(flatten)]
        line: LogLineOut<'a> = LogLineOut::new(line, Some(run)),
        owner_id: &'a str = owner,
    }
}

record! {
    /// How many lines of each kind an export has
    ExportCountsOut(counts: &Counts) {
        runs: u64 = counts.runs,
        logs: u64 = counts.logs,
        events: u64 = counts.events,
    }
}

pub(crate) fn routes() -> Vec<Route> {
    let kept = [
        number(
            "keep_days",
            "Days after which its settled runs and its events go; null: as the server says",
        )
        .within(1, Retention::DAYS_MAX),
        number(
            "keep_count",
            "How many of its newest runs, and of its newest events, stay; null: as the server says",
        )
        .within(1, Retention::COUNT_MAX),
    ];
    let about = "How much history of it is kept";
    let set = "Set how much history of it is kept; what is absent stays as it is";
    vec![
        get("/workflows/{id}/retention", READ, about, retention::<WorkflowId>).one(of::<RetentionOut>()),
        put("/workflows/{id}/retention", DEPLOY, set, set_retention::<WorkflowId>).takes(&kept).updates().one(of::<RetentionOut>()),
        get("/sources/{id}/retention", READ, about, retention::<SourceId>).one(of::<RetentionOut>()),
        put("/sources/{id}/retention", DEPLOY, set, set_retention::<SourceId>).takes(&kept).updates().one(of::<RetentionOut>()),
        get("/export", READ, "Runs with their results, logs and events as they are at one moment, a JSON line for each", export)
            .takes(&[
                text("owner_id", "Only of this workflow or source"),
                a::<GivenTime>("from", "Accepted at or after: epoch milliseconds, or RFC 3339"),
                a::<GivenTime>("to", "Accepted before, and after `from`"),
                ORG,
            ])
            .gives(Gives::Lines(of::<ExportLineOut>())),
    ]
}

pub(crate) async fn retention<E: Emitter>(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(owner): Path,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let owner = emitter::<E>(owner)?;
    let view = app.engine.retention().get(&caller, &owner).await?;
    Ok(Fields::of(&query.params).data(RetentionOut::show(&owner, &view)))
}

/// What is given replaces what was set; what is absent stays, null is as the server says.
pub(crate) async fn set_retention<E: Emitter>(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(owner): Path,
    back: WrittenBack,
    params: Params,
) -> Result<Response, ApiError> {
    let owner = emitter::<E>(owner)?;
    let before = async {
        let view = app.engine.retention().get(&caller, &owner).await?;
        Ok(RetentionOut::show(&owner, &view))
    };
    back.check(&params, before).await?;
    let given =
        |field: &str| params.0.contains_key(field).then(|| params.number(field)).transpose();
    let (days, count) = (given("keep_days")?, given("keep_count")?);
    let change = |before: Retention| Retention {
        keep_days: days.unwrap_or(before.keep_days),
        keep_count: count.unwrap_or(before.keep_count),
    };
    let view = app.engine.retention().set(&caller, &owner, change).await?;
    Ok(Fields::of(&params).data(RetentionOut::show(&owner, &view)))
}

/// Runs, logs and events, a JSON line for each. The last line says that it was all.
pub(crate) async fn export(
    State(app): State<App>,
    Auth(caller): Auth,
    cut: Option<Extension<Cut>>,
    query: ListQuery,
) -> Result<Response, ApiError> {
    query.params.org_is(&caller)?;
    let owner = owner(&query.params)?;
    let (from, to) = period(&query.params)?;
    let filter = ExportFilter { owner, from, to };
    let Extension(Cut(cut)) = cut.unwrap_or_default();
    let export = app.engine.exports().begin(&caller, filter, cut).await?;
    let lines =
        Lines { export, text: Bytes::new(), sent: 0, is_over: false, counts: Counts::default() };
    let body = Body::from_stream(stream::unfold(lines, |mut lines| async move {
        lines.chunk().await.map(|chunk| (chunk, lines))
    }));
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/x-ndjson")),
        (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
    ];
    Ok((headers, body).into_response())
}

#[derive(Default)]
pub(crate) struct Counts {
    runs: u64,
    logs: u64,
    events: u64,
}

/// An export as text, some of it at a time.
struct Lines {
    export: Export,
    /// Lines that are still to be sent.
    text: Bytes,
    /// Bytes that were sent on their way.
    sent: u64,
    is_over: bool,
    counts: Counts,
}

/// A part of the text, which the library keeps until it is written: then the client has taken it.
struct Sent {
    bytes: Bytes,
    taken: Taken,
}

impl AsRef<[u8]> for Sent {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Sent {
    fn drop(&mut self) {
        self.taken.add(self.bytes.len());
    }
}

impl Lines {
    async fn chunk(&mut self) -> Option<Result<Bytes, io::Error>> {
        if self.is_over {
            return None;
        }
        if self.text.is_empty() {
            self.text = self.lines().await;
        }
        if self.text.is_empty() {
            self.is_over = true;
            return Some(self.end().await);
        }
        let bytes = self.text.split_to(self.text.len().min(CHUNK_BYTES));
        self.sent += bytes.len() as u64;
        Some(Ok(Bytes::from_owner(Sent { bytes, taken: self.export.taken() })))
    }

    /// The next lines; none at the end.
    async fn lines(&mut self) -> Bytes {
        let mut text = Vec::new();
        let mut next = self.export.next().await;
        while let Some(piece) = next {
            write_line(&mut text, &self.counts.line(&piece));
            // What is there goes out together; none is waited for while there is something to send.
            next = if text.len() < CHUNK_BYTES { self.export.next_at_once() } else { None };
        }
        text.into()
    }

    /// What stands behind the lines.
    async fn end(&mut self) -> Result<Bytes, io::Error> {
        if let Err(error) = self.export.done().await {
            // A client that was too slow is no fault of ours, and was told of.
            if !matches!(error, EngineError::ExportTooSlow { .. }) {
                tracing::error!(error = error_chain(&error), "an export broke off");
            }
            // The connection is cut, so that nobody takes the part for the whole.
            return Err(io::Error::other("the export broke off"));
        }
        // The body ends with this line, and with it the export's place: what was sent before is in
        // memory until it is written.
        self.export.taken().reach(self.sent).await;
        let mut text = Vec::new();
        write_line(&mut text, &ExportLineOut::End(ExportCountsOut::new(&self.counts)));
        Ok(text.into())
    }
}

impl Counts {
    fn line<'a>(&mut self, piece: &'a Exported) -> ExportLineOut<'a> {
        match piece {
            Exported::Run(run) => {
                self.runs += 1;
                ExportLineOut::Run(Box::new(RunOut::new(run, None, None)))
            }
            Exported::Log { owner, run_id, line } => {
                self.logs += 1;
                ExportLineOut::Log(ExportedLogOut::new(owner, run_id, line))
            }
            Exported::Event(event) => {
                self.events += 1;
                ExportLineOut::Event(EventSummaryOut::new(event, shown(&event.payload)))
            }
        }
    }
}

fn write_line(text: &mut Vec<u8>, line: &ExportLineOut) {
    text.extend_from_slice(json!(line).to_string().as_bytes());
    text.push(b'\n');
}
