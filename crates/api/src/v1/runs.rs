//! Runs and logs.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use millrace_engine::{
    AskedStats, EngineError, ListedRun, OwnerStats, ReplayFrom, RunFilter, RunReplay, RunStats,
};
use millrace_model::clock::Timestamp;
use millrace_model::ids::{SourceId, WorkflowId};
use millrace_model::page::Listing;
use millrace_model::replay::ReplayVersion;
use millrace_model::run::{LogFilter, LogLevel, LogPlace, OwnerLine, RunKind, RunStatus};
use millrace_model::run_stats::RunCounts;
use millrace_model::search::asked;
use millrace_model::tenant::Caller;
use serde_json::{Map, Value, json};

use crate::App;
use crate::contract::table::{RUN_FILTER, RUN_STATES};
use crate::error::ApiError;
use crate::extract::{Auth, Emitter, ListQuery, Params, Path, emitter, encode_cursor, id};
use crate::wire::{self, Fields};

/// Runs that one filter names.
const IDS_MAX: usize = 1_000;
/// Log lines that are kept for inspection.
const LOGS_SHOWN: u32 = 100;

pub(crate) async fn show(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(run): Path,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let view = app.engine.runs().get_within(&caller, &id("run", &run)?, &query.page.room).await?;
    let fields = Fields::of(&query.params);
    query
        .memory
        .make(
            view,
            |view| wire::run_values(&view.run),
            move |view| fields.data(wire::run_with_logs(&view)),
        )
        .await
}

/// Runs of a source or workflow.
pub(crate) async fn list<E: Emitter>(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(owner): Path,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let (owner, states) = (emitter::<E>(owner)?, states(&query.params)?);
    let listing = app.engine.runs().list_of(&caller, owner, states, &query.page).await?;
    let fields = Fields::of(&query.params);
    query
        .memory
        .make(
            listing,
            |page| page.items.iter().map(wire::listed_run_values).sum(),
            move |listing| fields.records(listing, |r| wire::listed_run(&r)),
        )
        .await
}

/// Fields that a light record of a run leaves out; one that is included makes the records whole.
const HEAVY: [&str; 3] = ["event", "context", "return_value"];

/// Runs of the organization.
pub(crate) async fn list_all(
    State(app): State<App>,
    Auth(caller): Auth,
    query: ListQuery,
) -> Result<Response, ApiError> {
    query.params.org_is(&caller)?;
    let fields = Fields::of(&query.params);
    let whole = HEAVY.iter().any(|field| fields.names(field));
    let filter = filter(&query.params)?;
    let show = if whole { wire::listed_run } else { wire::light_run };
    let (listing, searched) = match query.params.text("q")? {
        Some(text) => {
            let words = asked(&text).map_err(|error| {
                ApiError::field("q", format!("`q` cannot be searched for: {error}"))
            })?;
            let (found, indexed) =
                app.engine.runs().search(&caller, &words, &filter, whole, &query.page).await?;
            let searched = json!({ "indexed_until_ms": indexed.until.ms(), "indexed_from_ms": indexed.from.map(Timestamp::ms), "looked_at_from_ms": found.looked_at_from.map(Timestamp::ms) });
            (found.listing, Some(searched))
        }
        None => (app.engine.runs().list(&caller, &filter, whole, &query.page).await?, None),
    };
    let values = |page: &Listing<ListedRun>| page.items.iter().map(wire::listed_run_values).sum();
    query
        .memory
        .make(listing, values, move |listing| fields.searched(listing, searched, |r| show(&r)))
        .await
}

/// Statistics of runs that ended.
pub(crate) async fn stats(
    State(app): State<App>,
    Auth(caller): Auth,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let params = &query.params;
    params.org_is(&caller)?;
    let RunFilter { owner, kind, from, to, .. } = filter(params)?;
    let asked = AskedStats { from, to, bucket_ms: params.number("bucket_ms")? };
    let kind = kind.unwrap_or(RunKind::Live);
    let stats = app.engine.runs().stats(&caller, owner.as_deref(), kind, &asked).await?;
    Ok(Fields::of(params).data(shown_stats(&stats)))
}

/// Cancels what waits and fits, or counts it.
pub(crate) async fn cancel_many(
    State(app): State<App>,
    Auth(caller): Auth,
    params: Params,
) -> Result<Response, ApiError> {
    params.org_is(&caller)?;
    let Some(Value::Object(given)) = params.0.get("filter") else {
        return Err(ApiError::field(
            "filter",
            "`filter` is missing: an object with parameters of `GET /v1/runs`; `{}` stands for all runs that wait",
        ));
    };
    let mut filter = given_filter(given)?;
    if filter.statuses.is_empty() {
        filter.statuses = vec![RunStatus::Queued, RunStatus::Paused];
    }
    if let Some(other) = filter
        .statuses
        .iter()
        .find(|status| !matches!(status, RunStatus::Queued | RunStatus::Paused))
    {
        let message = format!(
            "a run that is {} cannot be cancelled; allowed are queued and paused",
            other.as_str()
        );
        return Err(ApiError::field("status", message));
    }
    let (matching, cancelled) =
        app.engine.cancel_runs(&caller, &filter, params.flag("dry_run")?.unwrap_or(false)).await?;
    Ok(Fields::default().data(json!({ "matching": matching, "cancelled": cancelled })))
}

/// A filter within a body: parameters of `GET /v1/runs`.
pub(crate) fn given_filter(given: &Map<String, Value>) -> Result<RunFilter, ApiError> {
    let known: Vec<_> = RUN_STATES.iter().chain(&RUN_FILTER).map(|param| param.name).collect();
    if let Some(unknown) = given.keys().find(|name| !known.contains(&name.as_str())) {
        let shown = millrace_model::shown(unknown);
        return Err(ApiError::field(
            "filter",
            format!("`filter` has no field `{shown}`, allowed are {}", known.join(", ")),
        ));
    }
    // As a query has them.
    let text = |(name, value): (&String, &Value)| {
        (name.clone(), if value.is_number() { json!(value.to_string()) } else { value.clone() })
    };
    filter(&Params(given.iter().map(text).collect()))
}

/// State and time.
fn states(params: &Params) -> Result<RunFilter, ApiError> {
    let status = |text: &String| {
        RunStatus::parse(text).ok_or_else(|| {
            ApiError::field(
                "status",
                format!("`{text}` is not a status; allowed are queued, running, paused, succeeded, failed and cancelled, with commas between them"),
            )
        })
    };
    let statuses =
        params.words("status")?.unwrap_or_default().iter().map(status).collect::<Result<_, _>>()?;
    Ok(RunFilter {
        statuses,
        from: time(params, "from")?,
        to: time(params, "to")?,
        ..RunFilter::default()
    })
}

/// All that runs of an organization are chosen by.
pub(crate) fn filter(params: &Params) -> Result<RunFilter, ApiError> {
    let owner = params.text("owner_id")?;
    if let Some(owner) = &owner
        && owner.parse::<WorkflowId>().is_err()
    {
        id::<SourceId>("workflow or source", owner)?;
    }
    let kind = |text: String| {
        RunKind::parse(&text).ok_or_else(|| {
            ApiError::field(
                "kind",
                format!("`{text}` is not a kind of run; allowed are live, test and hook"),
            )
        })
    };
    let min_ms = params.number::<i64>("min_ms")?;
    if min_ms.is_some_and(|ms| ms < 0) {
        return Err(ApiError::field(
            "min_ms",
            "`min_ms` is negative, allowed are milliseconds from 0",
        ));
    }
    let ids = params.words("ids")?;
    // A list without any would otherwise stand for all runs.
    if ids.as_ref().is_some_and(|ids| ids.is_empty() || ids.len() > IDS_MAX) {
        let many = ids.map_or(0, |ids| ids.len());
        return Err(ApiError::field(
            "ids",
            format!("`ids` names {many} runs; allowed are 1 to {IDS_MAX}, or leave it out"),
        ));
    }
    let ids = ids.unwrap_or_default();
    Ok(RunFilter {
        ids: ids.iter().map(|run| id("run", run)).collect::<Result<_, _>>()?,
        owner,
        kind: params.text("kind")?.map(kind).transpose()?,
        deployment_id: params.text("deployment_id")?,
        trigger_id: params.text("trigger_id")?,
        trace_id: params.text("trace_id")?,
        error_class: params.text("error_class")?,
        error_group: params.text("group")?,
        replay_of: params.text("replay_of")?.map(|run| id("run", &run)).transpose()?,
        min_ms,
        ..states(params)?
    })
}

/// Epoch milliseconds.
pub(crate) fn time(params: &Params, field: &str) -> Result<Option<Timestamp>, ApiError> {
    params
        .text(field)?
        .map(|text| {
            text.parse().map(Timestamp).map_err(|_| {
                ApiError::field(
                    field,
                    format!("`{text}` is not a time; allowed are epoch milliseconds"),
                )
            })
        })
        .transpose()
}

/// The same event again, or another one; `from_step`, or `from_failed`: with the results of the
/// steps before.
pub(crate) async fn replay(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(run): Path,
    params: Params,
) -> Result<Response, ApiError> {
    let from = match (params.text("from_step")?, params.flag("from_failed")?.unwrap_or(false)) {
        (None, false) => ReplayFrom::Start,
        (Some(step), false) => ReplayFrom::Step(step),
        (None, true) => ReplayFrom::Failed,
        (Some(_), true) => {
            return Err(ApiError::field(
                "from_step",
                "`from_step` and `from_failed` exclude each other: give one of them",
            ));
        }
    };
    let asked = RunReplay {
        from,
        version: version(&params)?,
        event: params.0.get("event").filter(|event| !event.is_null()).cloned(),
    };
    let run = app.engine.replay_run(&caller, &id("run", &run)?, &asked).await?;
    Ok(Fields::default().data(wire::run_named_by(&caller, &run)))
}

/// Which version a replay runs.
pub(crate) fn version(params: &Params) -> Result<ReplayVersion, ApiError> {
    let Some(text) = params.text("version")? else { return Ok(ReplayVersion::default()) };
    ReplayVersion::parse(&text).ok_or_else(|| {
        ApiError::field(
            "version",
            format!("`{text}` is not a version to replay; allowed are live, original and draft"),
        )
    })
}

/// Cancels a run that is queued or paused.
pub(crate) async fn cancel(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(run): Path,
    _: Params,
) -> Result<Response, ApiError> {
    let run = app.engine.cancel_run(&caller, &id("run", &run)?).await?;
    Ok(Fields::default().data(wire::run_named_by(&caller, &run)))
}

/// Lets a paused run go on before its time.
pub(crate) async fn resume(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(run): Path,
    params: Params,
) -> Result<Response, ApiError> {
    let data = params.0.get("data").cloned().filter(|data| !data.is_null());
    let run = app.engine.resume_run(&caller, &id("run", &run)?, data).await?;
    Ok(Fields::default().data(wire::run_named_by(&caller, &run)))
}

/// The newest log lines of a source or workflow that fit, or those before the page that began with
/// a cursor.
pub(crate) async fn logs<E: Emitter>(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(owner): Path,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let params = &query.params;
    let limit = params.text("limit")?.map_or(LOGS_SHOWN, |_| query.page.limit);
    let level = |text: &String| {
        LogLevel::known(text)
            .ok_or_else(|| ApiError::field("level", format!("`{text}` is not a level; allowed are debug, log, info, warn and error, with commas between them")))
    };
    let levels =
        params.words("level")?.unwrap_or_default().iter().map(level).collect::<Result<_, _>>()?;
    let before = query
        .page
        .before
        .as_deref()
        .map(|cursor| log_place(cursor).ok_or_else(|| EngineError::unknown_cursor("before")))
        .transpose()?;
    let filter = LogFilter {
        levels,
        text: params.text("text")?.filter(|text| !text.is_empty()),
        step: params.text("step")?,
        before,
    };
    let lines =
        app.engine.runs().owner_logs(&caller, &emitter::<E>(owner)?, &filter, limit).await?;
    let fields = Fields::of(params);
    let cursor = |line: Option<&OwnerLine>| {
        line.map(|line| encode_cursor(&format!("{}.{}", line.place.at, line.place.number)))
    };
    let page_info = json!({ "total_count": lines.len(), "count": lines.len(), "start_cursor": cursor(lines.first()), "end_cursor": cursor(lines.last()) });
    let shown = |line: &OwnerLine| {
        let mut shown = wire::log_line(&line.line);
        shown["run_id"] = json!(line.run_id);
        fields.apply(shown)
    };
    Ok(Json(json!({ "page_info": page_info, "data": lines.iter().map(shown).collect::<Vec<_>>() }))
        .into_response())
}

/// The place of a line, as a cursor has it.
fn log_place(cursor: &str) -> Option<LogPlace> {
    let (at, number) = cursor.split_once('.')?;
    Some(LogPlace { at: at.parse().ok()?, number: number.parse().ok()? })
}

/// The window and the bucket that `stats` asks for, milliseconds.
fn window(params: &Params) -> Result<Option<(i64, i64)>, ApiError> {
    const MINUTE: i64 = 60_000;
    const HOUR: i64 = 60 * MINUTE;
    Ok(match params.text("stats")?.as_deref() {
        None => None,
        Some("1h") => Some((HOUR, 5 * MINUTE)),
        Some("24h") => Some((24 * HOUR, HOUR)),
        Some("7d") => Some((7 * 24 * HOUR, 6 * HOUR)),
        Some("30d") => Some((30 * 24 * HOUR, 24 * HOUR)),
        Some(other) => {
            let shown = millrace_model::shown(other);
            return Err(ApiError::field(
                "stats",
                format!("`{shown}` is not a window; allowed are 1h, 24h, 7d and 30d"),
            ));
        }
    })
}

/// Statistics of the workflows or sources of a list, where they are asked for.
pub(crate) async fn asked_stats(
    app: &App,
    caller: &Caller,
    params: &Params,
) -> Result<Option<OwnerStats>, ApiError> {
    let Some((window, bucket)) = window(params)? else { return Ok(None) };
    Ok(Some(app.engine.runs().owner_stats(caller, window, bucket).await?))
}

/// Statistics of one workflow or source, where they are asked for.
pub(crate) async fn own_stats(
    app: &App,
    caller: &Caller,
    owner: &str,
    params: &Params,
) -> Result<Option<Value>, ApiError> {
    let Some((length_ms, bucket_ms)) = window(params)? else { return Ok(None) };
    let stats = app.engine.runs().latest_stats(caller, owner, length_ms, bucket_ms).await?;
    Ok(Some(shown_stats(&stats)))
}

/// A record with its statistics, where there are any.
pub(crate) fn with_stats(mut record: Value, stats: Option<&OwnerStats>) -> Value {
    if let Some(stats) = stats {
        record["stats"] = shown_stats(&stats.of(record["id"].as_str().unwrap_or("")));
    }
    record
}

fn shown_stats(stats: &RunStats) -> Value {
    let shown = |at: Timestamp, c: &RunCounts| json!({ "from_ms": at.ms(), "succeeded": c.succeeded, "failed": c.failed, "cancelled": c.cancelled, "p50_ms": c.p50_ms, "p95_ms": c.p95_ms });
    json!({
        "from_ms": stats.buckets.from.ms(), "to_ms": stats.buckets.to.ms(), "bucket_ms": stats.buckets.length_ms,
        "looked_at_from_ms": stats.looked_at_from.map(Timestamp::ms),
        "total": shown(stats.buckets.from, &stats.total),
        "buckets": stats.parts.iter().map(|(at, counts)| shown(*at, counts)).collect::<Vec<_>>(),
    })
}
