//! Workflows, their runs and errors.

use std::collections::BTreeMap;

use millrace_engine::{SettingsRequest, StepRequest, TriggerRequest};
use millrace_model::error_event::NOTE_CHARS_MAX;
use millrace_model::ids::WorkflowId;
use millrace_model::replay::ReplayVersion;
use millrace_model::run::RunKind;
use millrace_model::workflow::TAGS_MAX;
use serde_json::{Map, Value};

use super::{
    DEPLOY, DRY_RUN, EVENT_NAME, FILTER, INVOKE, LOG_EVENTS, LOGS, MADE_FROM, MESSAGE, ORG,
    OWN_RUNS, READ, RUN_FILTER, RUN_STATES, RUNS_SSE, STATS, VERSION_RUNS, a, flag, listed_runs,
    logged, number, removal, runs_sse, summaries, text,
};
use crate::contract::routes::{Gives, Kind, Param, Route, delete, get, post, put};
use crate::contract::schemas::JsonOut;
use crate::contract::shape::of;
use crate::v1::events::EventSummaryOut;
use crate::v1::filters::GivenTime;
use crate::v1::replays::ReplayOut;
use crate::v1::run_records::{ChangedRunOut, ListedRunOut, LiveStepOut, LogLineOut, RunOut};
use crate::v1::run_stats::RunStatsOut;
use crate::v1::runs::CancelledRunsOut;
use crate::v1::schedules::ScheduleTimesOut;
use crate::v1::workflow_records::{DeploymentOut, WorkflowOut};
use crate::v1::{events, run_stats, run_stream, runs, schedules, sse, stream, workflows};

/// What people say of a workflow.
const FOUND_BY: [Param; 2] = [
    text(
        "note",
        "What is to be known of it, at most 2,000 characters; null or empty: nothing; absent: as it is",
    )
    .at_most(NOTE_CHARS_MAX as u32),
    Param::new(
        "tags",
        Kind::Words,
        "All its tags, at most 20 of 1 to 50 characters without commas; absent: as they are",
    )
    .at_most(TAGS_MAX as u32),
];

const UNIQUE_NAME: Param = flag(
    "unique_name",
    "Refuse it (409 `taken`) where another one has its slug; absent: it gets a slug of its own",
);

pub(super) fn of_workflows() -> Vec<Route> {
    let parts = [
        Param::new(
            "triggers",
            Kind::ListOf(of::<TriggerRequest>()),
            "Each `{type: http | timer | source, props, …}`. The `id` that a record shows of an endpoint or a timer keeps that one: its address, who may call it, whether it answers by itself",
        ),
        Param::new(
            "steps",
            Kind::ListOf(of::<StepRequest>()),
            "Each `{namespace, component_key | component_id | code, props}`, with the `dynamic_props_id` of the form that `props` were filled in with, if there was one. `keep_secrets_of` names a step of the draft, or of a version that was deployed, whose secrets stay where `props` leaves them out",
        ),
        a::<SettingsRequest>(
            "settings",
            "`{name, auto_deploy, timeout_ms, memory_mb, error_notification, error_recipients, keep_data, auto_retry, concurrency, calls_per_isolate, throttle, queue_max}`; any other is refused",
        ),
        text("name", "Its name"),
    ];
    let event = Param::new("event", Kind::Any, "The event");
    let tested = [
        event,
        text("event_from_run", "In the place of `event` the event that this run had"),
        text("up_to", "The last step to run"),
        text(
            "from_step",
            "The first step to run, with the results that the run `results_of` has of those before it",
        ),
        text(
            "results_of",
            "The run whose results `from_step` begins behind; absent: the earlier steps are all in `pins`",
        ),
        a::<BTreeMap<String, Map<String, Value>>>(
            "pins",
            "Exports of steps that are not run, by name: `{\"load\": {\"$return_value\": {…}}}`; they win over those of `results_of`",
        ),
        flag(
            "wait",
            "Answer when the run has ended, as where it is not given; else at once: `GET /v1/runs/{id}/sse` shows how it goes on",
        ),
    ];
    vec![
        post(
            "/workflows/test",
            DEPLOY,
            "A test run of triggers, steps and settings that are kept nowhere: of a workflow in place of its own, or of none",
            workflows::test_new,
        )
        .takes(&tested)
        .takes(&parts)
        .takes(&[text("workflow_id", "The workflow; absent: one of its own, which is not made"), ORG])
        .one(of::<RunOut>()),
        post("/workflows", DEPLOY, "Make a workflow, and deploy it", workflows::create)
            .takes(&parts)
            .takes(&[text("project_id", "The project; absent: the organization's own"), MESSAGE, MADE_FROM, ORG])
            .takes(&[UNIQUE_NAME, flag("active", "Whether it runs once it is deployed; true unless said otherwise")])
            .takes(&FOUND_BY)
            .one(of::<WorkflowOut>())
            .tagged()
            .updates(),
        get("/workflows", READ, "Workflows, newest first", workflows::list)
            .takes(&[text("tag", "Only those that carry this tag"), STATS, ORG])
            .page(of::<WorkflowOut>()),
        get("/workflows/{id}", READ, "A workflow", workflows::show).takes(&[STATS]).one(of::<WorkflowOut>()).tagged(),
        put(
            "/workflows/{id}",
            DEPLOY,
            "Change a workflow's draft (live with its next deployment, or at once with `settings.auto_deploy`), its name, or whether it is active",
            workflows::update,
        )
        .takes(&parts)
        .takes(&[flag("active", "Whether it runs"), MESSAGE, MADE_FROM, ORG])
        .takes(&FOUND_BY)
        .if_match()
        .tagged()
        .updates()
        .one(of::<WorkflowOut>()),
        delete("/workflows/{id}", DEPLOY, "Delete a workflow", workflows::remove).takes(&[DRY_RUN]),
        post("/workflows/{id}/deploy", DEPLOY, "Make the newest version the live one", workflows::deploy)
            .takes(&[MESSAGE])
            .if_match()
            .gives(Gives::One(of::<DeploymentOut>())),
        post("/workflows/{id}/discard", DEPLOY, "Make the draft what is live, secrets included", workflows::discard).if_match().tagged().one(of::<WorkflowOut>()),
        get("/workflows/{id}/deployments", READ, "Its deployments, newest first", workflows::deployments)
            .takes(&[VERSION_RUNS])
            .page(of::<DeploymentOut>()),
        get("/workflows/{id}/deployments/{deployment}", READ, "A deployment with all that it runs", workflows::deployment).one(of::<DeploymentOut>()),
        post(
            "/workflows/{id}/rollback",
            DEPLOY,
            "Make what an earlier deployment holds live again, as a new one; a draft without changes of its own goes back too",
            workflows::rollback,
        )
        .takes(&[text("deployment_id", "The deployment").required(), MESSAGE])
        .if_match()
        .gives(Gives::One(of::<DeploymentOut>())),
        post("/workflows/{id}/test", INVOKE, "A test run: nothing goes to `$errors`, no mail", workflows::test)
            .takes(&tested)
            .takes(&[text("event_id", "In the place of `event` a test event that `x-pd-notrigger` kept (`event_summaries?event_name=$test`)")])
            .one(of::<RunOut>()),
        post("/workflows/{id}/run", INVOKE, "Run its live version now, also where it is not active", workflows::run_now)
            .takes(&[event, flag("wait", "Answer when the run has ended, as where it is not given; else at once")])
            .one(of::<RunOut>()),
        summaries(get("/workflows/{id}/event_summaries", READ, "What it emitted, newest first", events::list::<WorkflowId>)).takes(&[EVENT_NAME]),
        summaries(get("/workflows/{id}/$errors/event_summaries", READ, "Its errors, newest first", events::errors::<WorkflowId>)),
        removal(delete("/workflows/{id}/events", DEPLOY, "Remove events", events::delete::<WorkflowId>)),
        get("/workflows/{id}/sse", READ, "What it sends with `$.send.sse`, the last hundred first; `Last-Event-ID` resumes", sse::sends)
            .gives(Gives::Stream(const { &[("", of::<JsonOut>())] }))
            .resumes(),
        listed_runs(get("/workflows/{id}/runs", READ, OWN_RUNS, runs::list::<WorkflowId>)),
        runs_sse(get("/workflows/{id}/runs/sse", READ, RUNS_SSE, run_stream::runs::<WorkflowId>)),
        logged(get("/workflows/{id}/logs", READ, LOGS, runs::logs::<WorkflowId>)),
        get("/schedules/next", READ, "The next five times of a schedule, as timers of workflows and sources fire", schedules::next_ticks)
            .takes(&[
                text("cron", "A cron expression"),
                text("timezone", "Its time zone, an IANA name; UTC where it is not given"),
                number("interval_seconds", "Or an interval"),
                text("owner_id", "The workflow or source whose timer it is: while that is active with this schedule, an interval goes on from its last tick; else, and without it, an interval begins now"),
            ])
            .one(of::<ScheduleTimesOut>()),
        get("/workflows/{id}/logs/sse", READ, "Log lines as they are written", sse::logs::<WorkflowId>).gives(Gives::Stream(LOG_EVENTS)),
    ]
}

pub(super) fn of_runs() -> Vec<Route> {
    vec![
        get("/runs", READ, "Runs of all workflows and sources, newest first", runs::list_all)
            .takes(&RUN_STATES)
            .takes(&RUN_FILTER)
            .takes(&[ORG])
            .page(of::<ListedRunOut>()),
        get("/runs/{id}", READ, "A run with its steps, error and logs", runs::show).one(of::<RunOut>()),
        get(
            "/runs/{id}/sse",
            READ,
            "A run as it goes on: `run` when its state changes, `step` as each begins and ends, `log`; ends with the run",
            run_stream::run,
        )
        .gives(Gives::Stream(const { &[("run", of::<RunOut>()), ("step", of::<LiveStepOut>()), ("log", of::<LogLineOut>())] })),
        get(
            "/stream",
            READ,
            "One stream of many topics: `run`, `step`, `log`, `event` and `replay` as they happen, each `{topic, data}`; `lag` says how much was skipped, `heartbeat` that it is alive. `Last-Event-ID` resumes runs and events, and gives a `lag` of how many log lines were written since, counted up to 100",
            stream::topics,
        )
        .takes(&[Param::new(
            "topics",
            Kind::Words,
            "Up to 16, with commas between them: `runs`, `run:{id}`, `events:{source or workflow}`, `logs:{source or workflow}`, `replays`",
        )
        .within(1, stream::TOPICS_MAX)
        .required()])
        .gives(Gives::Topics(const { &[("run", of::<ChangedRunOut>()), ("step", of::<LiveStepOut>()), ("log", of::<LogLineOut>()), ("event", of::<EventSummaryOut>()), ("replay", of::<ReplayOut>())] }))
        .resumes(),
        post("/runs/{id}/replay", INVOKE, "Run the same event again, or another one, as a new run", runs::replay)
            .takes(&[
                text("from_step", "The first step to run, with the results of those before it"),
                flag("from_failed", "Begin with the step that failed"),
                a::<ReplayVersion>("version", "`live` (where absent), `original`: the version that the run had, or `draft`: as a test"),
                Param::new("event", Kind::Any, "In the place of the run's event; the new run says that it was edited"),
            ])
            .gives(Gives::One(of::<RunOut>())),
        get("/stats/runs", READ, "How many runs ended how, and the percentiles of their durations, over time", run_stats::stats)
            .takes(&[
                text("owner_id", "Of this workflow or source; absent: of the organization"),
                a::<RunKind>("kind", "`live` (where absent), `test` or `hook`"),
                a::<GivenTime>("from", "Accepted at or after: epoch milliseconds, or RFC 3339; absent: a day before `to`"),
                a::<GivenTime>("to", "Accepted before, and after `from`; absent: now"),
                number("bucket_ms", "The length of a bucket, 1,000 at least; at most 500 buckets; absent: a 24th of the time").at_least(1000),
                ORG,
            ])
            .one(of::<RunStatsOut>()),
        post("/runs/cancel", DEPLOY, "Cancel runs that are queued or paused, at most 1,000 at once, or count them", runs::cancel_many)
            .takes(&[
                Param::new("filter", FILTER, "Which: parameters of `GET /runs`; `{}` stands for all that wait").required(),
                flag("dry_run", "Count them only"),
                ORG,
            ])
            .gives(Gives::One(of::<CancelledRunsOut>())),
        post("/runs/{id}/cancel", INVOKE, "Cancel a run that is queued or paused, or stop a test that is under way", runs::cancel).gives(Gives::One(of::<RunOut>())),
        post("/runs/{id}/resume", INVOKE, "Let a paused run go on before its time, as a request to its `resume_url` does", runs::resume)
            .takes(&[Param::new("data", Kind::Any, "What its code finds as `$resume_data.body`, or in `context.run.callback_request`; `{}` where it is not given")])
            .gives(Gives::One(of::<RunOut>())),
    ]
}
