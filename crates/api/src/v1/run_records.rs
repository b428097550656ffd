//! Records of runs: their steps, logs and sends.

use millrace_engine::{Delivery, DeliveryKind, Lineage, ListedRun, RunView, StepEnd};
use millrace_model::clock::Timestamp;
use millrace_model::egress::RefusedConnection;
use millrace_model::error_event::ErrorBody;
use millrace_model::ids::{DeliveryId, DeploymentId, RunId, SourceId, WorkflowId};
use millrace_model::json::shown;
use millrace_model::pause::Paused;
use millrace_model::run::{
    Context, LogLevel, LogLine, Run, RunKind, RunResult, RunStatus, StepAttempt, StepError,
    StepResult, WouldSend,
};
use millrace_model::source::Owner;
use millrace_model::tenant::{Caller, Scope};
use millrace_model::webhook::DeliveryStatus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::contract::shape::{OrNull, record};
use crate::extract::unfolded;

record! {
    /// What a step of a run did. `props`: after expressions, without credentials; `attempts`: its
    /// tries before this one; `refusals`: connections that the walls refused it;
    /// `would_send`: what it gave to `$.send` in a test, which sends nothing
    StepResultOut(s: StepResult) {
        namespace: String = s.namespace,
        status: RunStatus = s.status,
        #[serde(skip_serializing_if = "Option::is_none")]
        duration_ms: Option<u64> = s.duration_ms,
        #[serde(skip_serializing_if = "Option::is_none")]
        component_key: Option<String> = s.component_key,
        #[schemars(with = "Map<String, Value>")]
        exports: Value = shown(s.exports.get()),
        #[serde(skip_serializing_if = "Option::is_none")]
        started_at_ms: Option<i64> = s.started_at_ms,
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Option<Map<String, Value>>")]
        props: Option<Value> = s.props.as_ref().map(|props| shown(props.get())),
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<StepError> = s.error,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        attempts: Vec<StepAttempt> = s.attempts,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        refusals: Vec<RefusedConnection> = s.refusals,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        would_send: Vec<WouldSend> = s.would_send,
    }
}

record! {
    /// A run of a workflow or source
    RunOut<'a>(r: &'a Run, lineage: Option<&'a Lineage>, view: Option<&'a RunView>) with {
        let result: RunResult =
            r.result.as_deref().and_then(|t| millrace_model::json::from_str(t).ok()).unwrap_or_default();
        let (source_id, workflow_id) = owner_ids(&r.owner);
    } {
        id: &'a RunId = &r.id,
        workflow_id: Option<&'a WorkflowId> = workflow_id,
        source_id: Option<&'a SourceId> = source_id,
        deployment_id: Option<&'a DeploymentId> = r.deployment_id.as_ref(),
        status: RunStatus = r.status,
        kind: RunKind = r.kind,
        attempt: i64 = r.attempt,
        trigger_id: &'a str = &r.trigger_id,
        event: Value = shown(&r.event),
        #[schemars(with = "Option<Context>")]
        context: Value = shown(&r.context),
        steps: Vec<StepResultOut> = result.steps.into_iter().map(StepResultOut::new).collect(),
        return_value: Option<Value> = result.return_value,
        exit_reason: Option<String> = result.exit_reason,
        deduped: u64 = result.deduped,
        paused: Option<Paused> = result.paused.filter(|_| r.status == RunStatus::Paused),
        duration_ms: Option<i64> = r.duration_ms(),
        #[schemars(with = "Option<ErrorBody>")]
        error: Option<Value> = r.error.as_deref().map(shown),
        created_at: i64 = r.created_at.secs(),
        created_at_ms: i64 = r.created_at.ms(),
        started_at_ms: Option<i64> = r.started_at.map(Timestamp::ms),
        finished_at_ms: Option<i64> = r.finished_at.map(Timestamp::ms),
        #[serde(skip_serializing_if = "Option::is_none")]
        version: Option<OrNull<i64>> = lineage.map(|l| OrNull(l.version)),
        #[serde(skip_serializing_if = "Option::is_none")]
        replay_of: Option<OrNull<&'a RunId>> = lineage.map(|l| OrNull(l.replay_of.as_ref())),
        #[serde(skip_serializing_if = "Option::is_none")]
        replayed_by: Option<OrNull<&'a RunId>> = lineage.map(|l| OrNull(l.replayed_by.as_ref())),
        #[serde(skip_serializing_if = "Option::is_none")]
        event_edited: Option<bool> = lineage.map(|l| l.event_edited),
        #[serde(skip_serializing_if = "Option::is_none")]
        logs: Option<Vec<LogLineOut<'a>>> =
            view.map(|v| v.logs.iter().map(|line| LogLineOut::new(line, None)).collect()),
        #[serde(skip_serializing_if = "Option::is_none")]
        deliveries: Option<Vec<DeliveryOut<'a>>> =
            view.map(|v| v.deliveries.iter().map(|(to, d)| DeliveryOut::new(to, d)).collect()),
    }
}

record! {
    /// A step of a run without what it gave
    ListedStepOut(s: &StepResult) {
        namespace: String = s.namespace.clone(),
        status: RunStatus = s.status,
        started_at_ms: Option<i64> = s.started_at_ms,
        duration_ms: Option<u64> = s.duration_ms,
    }
}

record! {
    /// A run of a list: without its event, its context and what its steps gave, unless `include`
    /// names `event`, `context` or `return_value`
    ListedRunOut<'a>(listed: &'a ListedRun) with {
        let (r, lineage) = (&listed.run, &listed.lineage);
        let origin: Origin = millrace_model::json::from_str(&r.context).unwrap_or_default();
        let result: Option<RunResult> =
            r.result.as_deref().and_then(|text| millrace_model::json::from_str(text).ok());
        let steps: &[StepResult] = result.as_ref().map_or(&[], |result| &result.steps);
        let (source_id, workflow_id) = owner_ids(&r.owner);
    } {
        id: &'a RunId = &r.id,
        workflow_id: Option<&'a WorkflowId> = workflow_id,
        source_id: Option<&'a SourceId> = source_id,
        #[serde(skip_serializing_if = "Option::is_none")]
        owner_name: Option<String> = Some(origin.workflow_name),
        #[serde(skip_serializing_if = "Option::is_none")]
        trace_id: Option<String> = Some(origin.trace_id),
        deployment_id: Option<&'a DeploymentId> = r.deployment_id.as_ref(),
        status: RunStatus = r.status,
        kind: RunKind = r.kind,
        attempt: i64 = r.attempt,
        trigger_id: &'a str = &r.trigger_id,
        #[serde(skip_serializing_if = "Option::is_none")]
        summary: Option<OrNull<String>> = Some(OrNull(steps.iter().rev().find_map(summary))),
        exit_reason: Option<String> = result.as_ref().and_then(|result| result.exit_reason.clone()),
        paused: Option<Paused> = result
            .as_ref()
            .filter(|_| r.status == RunStatus::Paused)
            .and_then(|result| result.paused.clone()),
        duration_ms: Option<i64> = r.duration_ms(),
        #[schemars(with = "Option<ErrorBody>")]
        error: Option<Value> = r.error.as_deref().map(shown),
        created_at: i64 = r.created_at.secs(),
        created_at_ms: i64 = r.created_at.ms(),
        started_at_ms: Option<i64> = r.started_at.map(Timestamp::ms),
        finished_at_ms: Option<i64> = r.finished_at.map(Timestamp::ms),
        // Null where they are too large to be read for a list.
        steps: Option<Vec<ListedStepOut>> =
            result.is_some().then(|| steps.iter().map(ListedStepOut::new).collect()),
        version: Option<i64> = lineage.version,
        replay_of: Option<&'a RunId> = lineage.replay_of.as_ref(),
        replayed_by: Option<&'a RunId> = lineage.replayed_by.as_ref(),
        event_edited: bool = lineage.event_edited,
        #[serde(skip_serializing_if = "Option::is_none")]
        event: Option<Value> = None,
        #[serde(skip_serializing_if = "Option::is_none")]
        context: Option<OrNull<Context>> = None,
        #[serde(skip_serializing_if = "Option::is_none")]
        return_value: Option<Value> = None,
    }
}

record! {
    /// A line of a log
    LogLineOut<'a>(line: &'a LogLine, run: Option<&'a RunId>) {
        ts: i64 = line.at.ms(),
        level: LogLevel = line.level,
        text: &'a str = &line.text,
        #[serde(skip_serializing_if = "Option::is_none")]
        step: Option<&'a str> = line.step.as_deref(),
        #[serde(skip_serializing_if = "Option::is_none")]
        run_id: Option<&'a RunId> = run,
    }
}

record! {
    /// What a run sent with `$.send`
    DeliveryOut<'a>(target: &'a str, d: &'a Delivery) {
        id: &'a DeliveryId = &d.id,
        kind: DeliveryKind = d.kind,
        target: &'a str = target,
        step: Option<&'a str> = d.step.as_deref(),
        status: DeliveryStatus = d.status,
        attempts: i64 = d.attempts,
        response_status: Option<i64> = d.response_status,
        last_error: Option<&'a str> = d.last_error.as_deref(),
        created_at_ms: i64 = d.created_at.ms(),
        finished_at_ms: Option<i64> = d.finished_at.map(Timestamp::ms),
    }
}

/// Whether a step of a stream began or ended.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum LiveStatus {
    /// It began.
    Running,
    /// It ended well; of one that failed the record of the run says so.
    Finished,
}

record! {
    /// A step as it begins and ends, in a stream
    LiveStepOut<'a>(namespace: &'a str, end: Option<&'a StepEnd>, run: Option<&'a RunId>) {
        namespace: &'a str = namespace,
        status: LiveStatus = end.map_or(LiveStatus::Running, |_| LiveStatus::Finished),
        #[serde(skip_serializing_if = "Option::is_none")]
        duration_ms: Option<u64> = end.map(|end| end.duration_ms),
        #[serde(skip_serializing_if = "Option::is_none")]
        exports: Option<Value> = end.map(|end| shown(&end.exports)),
        #[serde(skip_serializing_if = "Option::is_none")]
        run_id: Option<&'a RunId> = run,
    }
}

/// A run whose state changed: of the topic `runs` as in lists, of `run:{id}` whole
#[derive(JsonSchema)]
#[expect(dead_code, reason = "the shape of what a stream shows of two records")]
#[serde(untagged)]
pub(crate) enum ChangedRunOut {
    Listed(Box<ListedRunOut<'static>>),
    Whole(Box<RunOut<'static>>),
}

/// What a list shows of a run's context.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Origin {
    trace_id: String,
    workflow_name: String,
}

/// What a step exports as `$summary`.
fn summary(step: &StepResult) -> Option<String> {
    #[derive(Deserialize)]
    struct Summary {
        #[serde(rename = "$summary")]
        summary: Option<Value>,
    }
    let exports: Summary = millrace_model::json::from_str(step.exports.get()).ok()?;
    exports.summary?.as_str().map(str::to_owned)
}

fn owner_ids(owner: &Owner) -> (Option<&SourceId>, Option<&WorkflowId>) {
    match owner {
        Owner::Source(id) => (Some(id), None),
        Owner::Workflow(id) => (None, Some(id)),
    }
}

/// About how many bytes the values take that are read to show it.
pub(crate) fn run_values(r: &Run) -> usize {
    [Some(&r.event), Some(&r.context), r.result.as_ref(), r.error.as_ref()]
        .into_iter()
        .flatten()
        .map(|text| unfolded(text.as_bytes(), false))
        .sum()
}

/// About how many bytes the values take that are read to show it.
pub(crate) fn listed_run_values(listed: &ListedRun) -> usize {
    run_values(&listed.run)
}

pub(crate) fn run(r: &Run) -> Value {
    RunOut::show(r, None, None)
}

/// A run of a list, whole.
pub(crate) fn listed_run(listed: &ListedRun) -> Value {
    RunOut::show(&listed.run, Some(&listed.lineage), None)
}

pub(crate) fn run_with_logs(view: &RunView) -> Value {
    RunOut::show(&view.run, Some(&view.lineage), Some(view))
}

/// A run that the caller names but did not give the event of. The history is for keys with `read`:
/// a key with `invoke` alone learns what became of the run, and nothing of what it was about.
pub(crate) fn run_named_by(caller: &Caller, r: &Run) -> Value {
    let mut shown = run(r);
    if !caller.scopes.allow(Scope::Read) {
        for field in ["event", "context", "return_value", "exit_reason", "error"] {
            shown[field] = Value::Null;
        }
        shown["steps"] = json!([]);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_shows_its_steps_error_and_logs() {
        let run = Run {
            id: "run_1".parse().unwrap(),
            org_id: "o_1".parse().unwrap(),
            owner: Owner::Workflow("p_1".parse().unwrap()),
            deployment_id: Some("d_1".parse().unwrap()),
            kind: RunKind::Live,
            trigger_id: "hi_1".into(),
            event: r#"{"a":1}"#.into(),
            context: r#"{"id":"x"}"#.into(),
            status: RunStatus::Failed,
            attempt: 1,
            created_at: Timestamp(1_500),
            started_at: Some(Timestamp(1_510)),
            finished_at: Some(Timestamp(1_520)),
            result: Some(r#"{"steps":[{"namespace":"a","status":"failed","duration_ms":3,"exports":{"n":1}}]}"#.into()),
            error: Some(r#"{"code":"TypeError","message":"m","cellId":"c_1","ts":"t","stack":"s"}"#.into()),
        };
        let logs = vec![LogLine {
            at: Timestamp(1_520),
            level: LogLevel::Warn,
            text: "careful".into(),
            step: None,
        }];
        let expected = json!({
            "id": "run_1", "workflow_id": "p_1", "source_id": null, "deployment_id": "d_1", "status": "failed", "kind": "live", "attempt": 1, "trigger_id": "hi_1",
            "event": { "a": 1 }, "context": { "id": "x" },
            "steps": [{ "namespace": "a", "status": "failed", "duration_ms": 3, "exports": { "n": 1 } }],
            "return_value": null, "exit_reason": null, "deduped": 0, "paused": null, "duration_ms": 10,
            "error": { "code": "TypeError", "message": "m", "cellId": "c_1", "ts": "t", "stack": "s" },
            "created_at": 1, "created_at_ms": 1500, "started_at_ms": 1510, "finished_at_ms": 1520,
            "version": null, "replay_of": null, "replayed_by": null, "event_edited": false,
            "logs": [{ "ts": 1520, "level": "warn", "text": "careful" }], "deliveries": [],
        });
        assert_eq!(
            run_with_logs(&RunView {
                run,
                lineage: Lineage::default(),
                logs,
                deliveries: Vec::new()
            }),
            expected
        );
    }
}
