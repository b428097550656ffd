//! Replays of many runs.

use axum::extract::State;
use axum::response::Response;
use millrace_engine::{NewReplay, ReplayChange, ReplayView};
use millrace_model::ids::{ErrorGroupId, ReplayId, RunId, SourceId, WorkflowId};
use millrace_model::replay::{
    RUNS_NAMED_MAX, Replay, ReplayBegin, ReplaySelection, ReplayStatus, ReplayVersion, ReplayedRun,
};
use millrace_model::run::RunStatus;
use millrace_model::tenant::{Caller, Scope};
use serde_json::Value;

use crate::App;
use crate::audit::unchanged;
use crate::contract::routes::{Gives, Kind, Param, Route, get, post};
use crate::contract::shape::{of, record};
use crate::contract::table::{FILTER, INVOKE, ORG, READ, a, flag, text, word};
use crate::error::{ApiError, accepted};
use crate::extract::{Auth, ListQuery, Params, Path, emitter, encode_cursor, id};
use crate::fields::Fields;
use crate::v1::filters::{GivenTime, period};
use crate::v1::runs::{given_filter, version};

record! {
    /// A replay of many runs
    ReplayOut<'a>(r: &'a Replay) {
        id: &'a ReplayId = &r.id,
        workflow_id: Option<&'a str> =
            r.owner.starts_with(WorkflowId::PREFIX).then_some(&r.owner),
        source_id: Option<&'a str> = r.owner.starts_with(SourceId::PREFIX).then_some(&r.owner),
        status: ReplayStatus = r.status,
        selection: &'a ReplaySelection = &r.selection,
        total: Option<i64> = r.total,
        replayed: i64 = r.replayed,
        skipped: i64 = r.skipped,
        note: Option<&'a str> = r.note.as_deref(),
        created_at: i64 = r.created_at.secs(),
        updated_at: i64 = r.updated_at.secs(),
    }
}

record! {
    /// How many runs are under way, and how many ended how: of a replay those that it made, of a
    /// deployment its live ones
    RunsByStateOut(unfinished: i64, succeeded: i64, failed: i64, cancelled: i64) {
        unfinished: i64 = unfinished,
        succeeded: i64 = succeeded,
        failed: i64 = failed,
        cancelled: i64 = cancelled,
    }
}

record! {
    /// A replay of many runs, with what became of them
    ReplayWithRunsOut<'a>(view: &'a ReplayView) with {
        let c = view.counts;
    } {
        #[serde(flatten)]
        record: ReplayOut<'a> = ReplayOut::new(&view.replay),
        runs: RunsByStateOut =
            RunsByStateOut::new(c.unfinished, c.succeeded, c.failed, c.cancelled),
    }
}

/// A replay as the answer to a request that makes or changes it. The history is for keys with
/// `read`: a key with `invoke` alone learns how far the replay came, and neither which runs
/// somebody chose, nor the event that they are given, nor why one was passed over.
fn named_by(caller: &Caller, mut view: ReplayView) -> Value {
    if !caller.scopes.allow(Scope::Read) {
        view.replay.selection = ReplaySelection::default();
        view.replay.note = None;
    }
    ReplayWithRunsOut::show(&view)
}

record! {
    /// How many runs a replay would begin with; null: more than 100,000
    ReplayCountOut(total: Option<i64>) {
        total: Option<i64> = total,
    }
}

record! {
    /// A run that a replay made
    ReplayedRunOut<'a>(r: &'a ReplayedRun) {
        original_id: &'a RunId = &r.original_id,
        run_id: &'a RunId = &r.run_id,
        status: Option<RunStatus> = r.status,
    }
}

pub(crate) fn routes() -> Vec<Route> {
    let selection = [
        text(
            "workflow_id",
            "The workflow whose runs are replayed. Without `runs`, the key needs `read` too",
        ),
        text("source_id", "Or the source; neither is needed with `runs` or `filter`"),
        Param::new(
            "runs",
            Kind::Words,
            "These runs, at most 1000; without them all that failed and fit the rest",
        )
        .within(1, RUNS_NAMED_MAX as u32),
        text("class", "Only errors of this class: their `code`"),
        text("group", "Only errors of this group"),
        a::<GivenTime>("from", "Only runs accepted at or after: epoch milliseconds, or RFC 3339"),
        a::<GivenTime>("to", "Only runs accepted before; absent: before now"),
        flag(
            "from_failed",
            "Each begins with the step that failed, with the results of the steps before",
        ),
        text("from_step", "Each begins with this step"),
        Param::new(
            "filter",
            FILTER,
            "In the place of all that says which runs: parameters of `GET /runs`; live runs that ended, replays among them",
        ),
        word(
            "version",
            &["live", "original"],
            "`live` (where absent), or `original`: the version that each run had",
        ),
        Param::new(
            "event",
            Kind::Any,
            "In the place of each run's event, at most 64 KiB; for runs of one workflow or source. The new runs say that it was edited",
        ),
        flag("dry_run", "Count the runs only"),
    ];
    vec![
        post("/replays", INVOKE, "Replay many runs: a job that outlives the server", create)
            .takes(&selection)
            .takes(&[ORG])
            .gives(Gives::One(of::<ReplayWithRunsOut>()))
            .status(202)
            .or(200, of::<ReplayCountOut>()),
        get(
            "/replays",
            READ,
            "Replays of many runs, newest first, without the `event` of their selections",
            list,
        )
        .page(of::<ReplayOut>()),
        get("/replays/{id}", READ, "A replay, with what became of its runs", show)
            .one(of::<ReplayWithRunsOut>()),
        get("/replays/{id}/runs", READ, "The runs that a replay made", runs)
            .page(of::<ReplayedRunOut>()),
        post("/replays/{id}/pause", INVOKE, "Queue no more runs until it is resumed", pause)
            .gives(Gives::One(of::<ReplayWithRunsOut>())),
        post("/replays/{id}/resume", INVOKE, "Let a replay go on", resume)
            .gives(Gives::One(of::<ReplayWithRunsOut>())),
        post("/replays/{id}/cancel", INVOKE, "End a replay; what it queued stays queued", cancel)
            .gives(Gives::One(of::<ReplayWithRunsOut>())),
    ]
}

pub(crate) async fn create(
    State(app): State<App>,
    Auth(caller): Auth,
    params: Params,
) -> Result<Response, ApiError> {
    params.org_is(&caller)?;
    let runs = params
        .words("runs")?
        .map(|runs| runs.iter().map(|run| id::<RunId>("run", run)).collect::<Result<Vec<_>, _>>())
        .transpose()?;
    let (filter, words) = match params.object("filter")? {
        Some(given) => given_filter(&given).map(|(filter, words)| (Some(filter), words))?,
        None => (None, None),
    };
    let owner = match (params.text("workflow_id")?, params.text("source_id")?) {
        (Some(workflow), None) => Some(emitter::<WorkflowId>(workflow)?),
        (None, Some(source)) => Some(emitter::<SourceId>(source)?),
        (None, None) if filter.is_some() || runs.is_some() => None,
        (None, None) => {
            return Err(ApiError::missing(
                "workflow_id",
                "whose runs are replayed; or give `source_id`, `runs` or `filter`",
            ));
        }
        (Some(_), Some(_)) => {
            return Err(ApiError::field(
                "workflow_id",
                "`workflow_id` and `source_id` exclude each other: give one of them",
            ));
        }
    };
    let begin = match (params.text("from_step")?, params.flag("from_failed")?.unwrap_or(false)) {
        (None, false) => ReplayBegin::Start,
        (Some(step), false) => ReplayBegin::Step(step),
        (None, true) => ReplayBegin::Failed,
        (Some(_), true) => {
            return Err(ApiError::field(
                "from_step",
                "`from_step` and `from_failed` exclude each other: give one of them",
            ));
        }
    };
    let group = params
        .text("group")?
        .map(|group| id::<ErrorGroupId>("group of errors", &group))
        .transpose()?;
    let (class, (from, to)) = (params.text("class")?, period(&params)?);
    let version = version(&params, &[ReplayVersion::Live, ReplayVersion::Original])?;
    let event = params.0.get("event").filter(|event| !event.is_null()).cloned();
    let new =
        NewReplay { owner, runs, class, group, from, to, filter, words, begin, version, event };
    if params.flag("dry_run")?.unwrap_or(false) {
        let total = app.engine.count_replay(&caller, new).await?;
        return Ok(unchanged(Fields::default().data(ReplayCountOut::show(total))));
    }
    let view = app.engine.create_replay(&caller, new).await?;
    Ok(accepted(Fields::default().data(named_by(&caller, view))))
}

pub(crate) async fn list(
    State(app): State<App>,
    Auth(caller): Auth,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let listing = app.engine.list_replays(&caller, &query.page).await?;
    Ok(Fields::of(&query.params).records(listing, |r| ReplayOut::show(&r)))
}

pub(crate) async fn show(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(replay): Path,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let view = app.engine.replay(&caller, &id("replay", &replay)?).await?;
    Ok(Fields::of(&query.params).data(ReplayWithRunsOut::show(&view)))
}

pub(crate) async fn runs(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(replay): Path,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let listing = app.engine.replayed_runs(&caller, &id("replay", &replay)?, &query.page).await?;
    let line = |r: &ReplayedRun| (encode_cursor(r.original_id.as_str()), ReplayedRunOut::show(r));
    Ok(Fields::of(&query.params)
        .list(listing.total_count, listing.items.iter().map(line).collect()))
}

pub(crate) async fn pause(
    state: State<App>,
    auth: Auth,
    path: Path,
    _: Params,
) -> Result<Response, ApiError> {
    change(state, auth, path, ReplayChange::Pause).await
}

pub(crate) async fn resume(
    state: State<App>,
    auth: Auth,
    path: Path,
    _: Params,
) -> Result<Response, ApiError> {
    change(state, auth, path, ReplayChange::Resume).await
}

pub(crate) async fn cancel(
    state: State<App>,
    auth: Auth,
    path: Path,
    _: Params,
) -> Result<Response, ApiError> {
    change(state, auth, path, ReplayChange::Cancel).await
}

async fn change(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(replay): Path,
    change: ReplayChange,
) -> Result<Response, ApiError> {
    let view =
        app.engine.change_replay(&caller, &id::<ReplayId>("replay", &replay)?, change).await?;
    Ok(Fields::default().data(named_by(&caller, view)))
}
