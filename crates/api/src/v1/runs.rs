//! Runs and logs.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use millrace_engine::{EngineError, IndexedRuns, ListedRun, ReplayFrom, RunFilter, RunReplay};
use millrace_model::clock::Timestamp;
use millrace_model::ids::{DeploymentId, ErrorGroupId};
use millrace_model::page::Listing;
use millrace_model::pause::shows;
use millrace_model::replay::ReplayVersion;
use millrace_model::run::{LogFilter, LogLevel, LogPlace, OwnerLine, RunKind, RunStatus};
use millrace_model::search::{AskedWord, asked};
use millrace_model::tenant::Scope;
use serde_json::{Map, Value, json};

use crate::App;
use crate::audit::unchanged;
use crate::contract::shape::record;
use crate::contract::table::{RUN_FILTER, RUN_STATES};
use crate::error::ApiError;
use crate::extract::{Auth, Emitter, ListQuery, Params, Path, emitter, encode_cursor, id};
use crate::fields::{Fields, PageInfoOut};
use crate::v1::filters::{id_of, owner, period};
use crate::v1::run_records::{self, ListedRunOut, LogLineOut};

record! {
    /// What a search looked at
    SearchedOut(indexed: &IndexedRuns, looked_at_from: Option<Timestamp>) {
        indexed_until_ms: i64 = indexed.until.ms(),
        indexed_from_ms: Option<i64> = indexed.from.map(Timestamp::ms),
        looked_at_from_ms: Option<i64> = looked_at_from.map(Timestamp::ms),
    }
}

record! {
    /// How many runs fit, counted up to 1,000, and how many were cancelled
    CancelledRunsOut(matching: u64, cancelled: u64) {
        matching: u64 = matching,
        cancelled: u64 = cancelled,
    }
}

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
            |view| run_records::run_values(&view.run),
            move |view| fields.data(run_records::run_with_logs(&view)),
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
    let listing = app
        .engine
        .runs()
        .list_of(&caller, emitter::<E>(owner)?, states(&query.params)?, &query.page)
        .await?;
    let fields = Fields::of(&query.params);
    query
        .memory
        .make(
            listing,
            |page| page.items.iter().map(run_records::listed_run_values).sum(),
            move |listing| fields.records(listing, |r| run_records::listed_run(&r)),
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
    let show = move |r: &ListedRun| {
        if whole { run_records::listed_run(r) } else { ListedRunOut::show(r) }
    };
    let (listing, searched) = match query.params.text("q")? {
        Some(text) => {
            let words = words(&text)?;
            let (found, indexed) =
                app.engine.runs().search(&caller, &words, &filter, whole, &query.page).await?;
            let searched = SearchedOut::new(&indexed, found.looked_at_from);
            (found.listing, Some(searched))
        }
        None => (app.engine.runs().list(&caller, &filter, whole, &query.page).await?, None),
    };
    let values =
        |page: &Listing<ListedRun>| page.items.iter().map(run_records::listed_run_values).sum();
    query
        .memory
        .make(listing, values, move |listing| fields.searched(listing, searched, |r| show(&r)))
        .await
}

/// Cancels what waits and fits, or counts it.
pub(crate) async fn cancel_many(
    State(app): State<App>,
    Auth(caller): Auth,
    params: Params,
) -> Result<Response, ApiError> {
    params.org_is(&caller)?;
    let given = params.object("filter")?.ok_or_else(|| {
        ApiError::missing("filter", "parameters of `GET /v1/runs`; `{}` stands for all that wait")
    })?;
    let (mut filter, words) = given_filter(&given)?;
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
        return Err(ApiError::field("filter.status", message));
    }
    let dry_run = params.flag("dry_run")?.unwrap_or(false);
    let (matching, cancelled) =
        app.engine.cancel_runs(&caller, filter, words.as_deref(), dry_run).await?;
    let response = Fields::default().data(CancelledRunsOut::show(matching, cancelled));
    Ok(if dry_run { unchanged(response) } else { response })
}

type Words = Vec<Vec<AskedWord>>;

fn words(text: &str) -> Result<Words, ApiError> {
    asked(text)
        .map_err(|error| ApiError::field("q", format!("`q` cannot be searched for: {error}")))
}

/// A filter within a body: parameters of `GET /v1/runs`, and the words of its `q`.
pub(crate) fn given_filter(
    given: &Map<String, Value>,
) -> Result<(RunFilter, Option<Words>), ApiError> {
    let known: Vec<_> = RUN_STATES.iter().chain(&RUN_FILTER).map(|param| param.name).collect();
    if let Some(unknown) = given.keys().find(|name| !known.contains(&name.as_str())) {
        return Err(EngineError::unknown_field("filter", unknown, &known).into());
    }
    // As a query has them.
    let text = |(name, value): (&String, &Value)| {
        (name.clone(), if value.is_number() { json!(value.to_string()) } else { value.clone() })
    };
    let params = Params(given.iter().map(text).collect());
    let filter = filter(&params).map_err(|error| error.within("filter"))?;
    // A list without any would otherwise stand for all states.
    if filter.statuses.is_empty() && given.get("status").is_some_and(|status| !status.is_null()) {
        return Err(ApiError::field(
            "filter.status",
            "`filter.status` names no state; name one, or leave it out",
        ));
    }
    let text = params.text("q").map_err(|error| error.within("filter"))?;
    let words =
        text.map(|text| words(&text)).transpose().map_err(|error| error.within("filter"))?;
    Ok((filter, words))
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
    let (from, to) = period(params)?;
    Ok(RunFilter { statuses, from, to, ..RunFilter::default() })
}

/// All that runs of an organization are chosen by.
pub(crate) fn filter(params: &Params) -> Result<RunFilter, ApiError> {
    let owner = owner(params)?;
    let kind = |text: String| {
        RunKind::parse(&text).ok_or_else(|| {
            ApiError::field(
                "kind",
                format!("`{text}` is not a kind of run; allowed are live, test and hook"),
            )
        })
    };
    let ids = params.words("ids")?;
    let run = |run: &String| id("run", run);
    Ok(RunFilter {
        ids: ids.map(|ids| ids.iter().map(run).collect::<Result<_, _>>()).transpose()?,
        owner,
        kind: params.text("kind")?.map(kind).transpose()?,
        deployment_id: id_of::<DeploymentId>(params, "deployment_id", "deployment")?,
        trigger_id: params.text("trigger_id")?,
        trace_id: params.text("trace_id")?,
        error_class: params.text("error_class")?,
        error_group: id_of::<ErrorGroupId>(params, "group", "group of errors")?,
        replay_of: params.text("replay_of")?.map(|run| id("run", &run)).transpose()?,
        min_ms: params.number("min_ms")?,
        ..states(params)?
    })
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
        version: version(
            &params,
            &[ReplayVersion::Live, ReplayVersion::Original, ReplayVersion::Draft],
        )?,
        event: params.0.get("event").filter(|event| !event.is_null()).cloned(),
    };
    let run = app.engine.replay_run(&caller, &id("run", &run)?, &asked).await?;
    Ok(Fields::default().data(run_records::run_named_by(&caller, &run)))
}

/// Which version a replay runs.
pub(crate) fn version(
    params: &Params,
    allowed: &[ReplayVersion],
) -> Result<ReplayVersion, ApiError> {
    let Some(text) = params.text("version")? else { return Ok(ReplayVersion::default()) };
    ReplayVersion::parse(&text).filter(|version| allowed.contains(version)).ok_or_else(|| {
        let shown = millrace_model::shown(&text);
        let names: Vec<_> = allowed.iter().map(|version| version.as_str()).collect();
        ApiError::field(
            "version",
            format!("`{shown}` is not a version to replay here; allowed are {}", names.join(", ")),
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
    Ok(Fields::default().data(run_records::run_named_by(&caller, &run)))
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
    Ok(Fields::default().data(run_records::run_named_by(&caller, &run)))
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
    let limit = query.page.limit;
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
    let mut lines =
        app.engine.runs().owner_logs(&caller, &emitter::<E>(owner)?, &filter, limit).await?;
    if let Some(wanted) = filter.text.filter(|_| !caller.scopes.allow(Scope::Invoke)) {
        lines.retain(|line| shows(&line.line.text, &wanted));
    }
    let fields = Fields::of(params);
    let cursor = |line: Option<&OwnerLine>| {
        line.map(|line| encode_cursor(&format!("{}.{}", line.place.at, line.place.number)))
    };
    let cursors = (cursor(lines.first()), cursor(lines.last()));
    let page_info = PageInfoOut::new(lines.len() as u64, lines.len(), cursors, &[], None);
    let shown = |line: &OwnerLine| fields.apply(LogLineOut::show(&line.line, Some(&line.run_id)));
    Ok(Json(json!({ "page_info": page_info, "data": lines.iter().map(shown).collect::<Vec<_>>() }))
        .into_response())
}

/// The place of a line, as a cursor has it.
fn log_place(cursor: &str) -> Option<LogPlace> {
    let (at, number) = cursor.split_once('.')?;
    Some(LogPlace { at: at.parse().ok()?, number: number.parse().ok()? })
}
