//! A history of any length, written through the store as the server writes it, so that files,
//! checksums and indexes are those of a server.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use futures::future::try_join_all;
use millrace_model::clock::Timestamp;
use millrace_model::error_event::{ErrorGroup, ErrorState};
use millrace_model::event::Event;
use millrace_model::ids::{DeploymentId, ErrorGroupId, EventId, OrgId, RunId, WorkflowId};
use millrace_model::run::{LogLevel, LogLine, NewRun, RunKind, RunStatus, Start};
use millrace_model::source::Owner;
use millrace_model::{Clock, IdSource, SystemClock};
use millrace_store::{Effects, IndexStep, Settlement, Store};
use millrace_store_postgres::{PostgresOptions, PostgresStore};
use millrace_store_sqlite::{SqliteOptions, SqliteStore};
use serde_json::{Value, json};

/// Every so many runs one failed.
pub const FAILED: u64 = 20;
/// The history began so long ago, within what is kept.
const AGE_MS: i64 = 20 * 24 * 3600 * 1000;
/// Runs that are written at the same time: a group of the store's writer.
const AT_ONCE: u64 = 256;
/// Runs that a step of the index of texts takes.
const INDEXED: u32 = 2_000;
/// The one who ran them.
const NODE: &str = "bench";
/// A lease that no run of the history outlives.
const LEASE_MS: i64 = 30_000;
/// Of so many runs one has this customer.
pub const CUSTOMERS: u64 = 1_000;
/// What customers are called, with a number behind.
pub const CUSTOMER: &str = "meunier";

/// Whose history it is.
pub struct Owners {
    org: OrgId,
    workflow: WorkflowId,
    deployment: DeploymentId,
    source: String,
}

impl Owners {
    pub fn of(workflow: &Value, source: &Value) -> Result<Self> {
        let text = |value: &Value| value.as_str().map(str::to_owned).context("an id");
        Ok(Self {
            org: text(&workflow["org_id"])?.parse()?,
            workflow: text(&workflow["id"])?.parse()?,
            deployment: text(&workflow["deployment_id"])?.parse()?,
            source: text(&source["id"])?,
        })
    }
}

/// Writes `rows` runs of the workflow and as many events into the database that a server left: of
/// Postgres where `url` says, otherwise in `folder`. `cancelled`: how many runs were, evenly among
/// the others. Gives the time of its end, epoch milliseconds.
pub async fn fill(
    folder: &Path,
    url: Option<&str>,
    owners: Owners,
    rows: u64,
    cancelled: u64,
) -> Result<i64> {
    let store: Arc<dyn Store> = match url {
        Some(url) => Arc::new(PostgresStore::open(PostgresOptions::at(url)).await?),
        None => Arc::new(SqliteStore::open(&SqliteOptions::at(folder.join("millrace.db")))?),
    };
    let history = History {
        owners,
        ids: IdSource::default(),
        began: SystemClock.now().plus_ms(-AGE_MS),
        rows,
        cancelled,
    };
    for start in (0..rows).step_by(usize::try_from(AT_ONCE)?) {
        let runs: Vec<_> = (start..rows.min(start + AT_ONCE)).map(|n| history.run(n)).collect();
        try_join_all(runs.iter().map(|run| store.accept(run.clone(), NODE))).await?;
        try_join_all((start..).zip(&runs).map(|(n, run)| store.settle(history.end(n, run))))
            .await?;
    }
    let now = SystemClock.now();
    while store
        .index_runs(IndexStep {
            now,
            until: now,
            swept_before: now.plus_ms(-AGE_MS),
            limit: INDEXED,
        })
        .await?
        > 0
    {}
    store.close().await;
    Ok(now.ms())
}

struct History {
    owners: Owners,
    ids: IdSource,
    began: Timestamp,
    rows: u64,
    cancelled: u64,
}

impl History {
    fn at(&self, n: u64) -> Timestamp {
        let age = u128::from(n) * u128::from(AGE_MS.unsigned_abs()) / u128::from(self.rows);
        self.began.plus_ms(i64::try_from(age).unwrap_or(AGE_MS))
    }

    fn status(&self, n: u64) -> RunStatus {
        // None of them is one that failed.
        let cancelled_every = (self.rows / self.cancelled / FAILED).max(1) * FAILED;
        match n {
            n if n % FAILED == 0 => RunStatus::Failed,
            n if n % cancelled_every == 1 && n / cancelled_every < self.cancelled => {
                RunStatus::Cancelled
            }
            _ => RunStatus::Succeeded,
        }
    }

    fn run(&self, n: u64) -> NewRun {
        let created_at = self.at(n);
        let body = json!({ "n": n, "order": format!("ord{n}"), "customer": format!("{CUSTOMER}{}", n % CUSTOMERS), "email": format!("c{}@example.test", n % CUSTOMERS),
            "lines": [{ "article": "grain, ground coarsely", "kg": n % 50 }, { "article": "flour", "kg": n % 7 }], "note": "to be brought on Tuesday before noon" });
        let event = json!({ "method": "POST", "path": "/", "query": {}, "headers": { "content-type": "application/json", "user-agent": "bench" }, "body": body });
        let Owners { org, workflow, deployment, .. } = &self.owners;
        let context = json!({
            "id": "3MQ2j3YBe7g2oVsbRyixASgr5xJ", "trace_id": format!("3MQ2j3YBe7g2oVs{n:012}"), "ts": "2026-11-21T13:43:22.411Z", "workflow_id": workflow.as_str(),
            "workflow_name": "bench", "deployment_id": deployment.as_str(), "emitter_id": "hi_2UxSXebwcfQW", "source_type": "HTTP", "verified": false, "hops": null,
            "test": false, "replay": false, "owner_id": org.as_str(), "project_id": null, "platform_version": "0.1.0",
        });
        NewRun {
            id: RunId::at(&self.ids, created_at),
            org_id: org.clone(),
            owner: Owner::Workflow(workflow.clone()),
            deployment_id: Some(deployment.clone()),
            kind: RunKind::Live,
            trigger_id: "hi_2UxSXebwcfQW".into(),
            event: event.to_string().into(),
            context: context.to_string(),
            created_at,
            start: Start::Claimed { lease_until: created_at.plus_ms(LEASE_MS) },
            result: None,
            replays: None,
        }
    }

    /// A run that failed leaves an event on `$errors` and a log line; of the others each has an
    /// event of the source beside it.
    fn end(&self, n: u64, run: &NewRun) -> Settlement {
        let (status, at) = (self.status(n), run.created_at);
        let message = format!("no mill answered for ord{n}");
        let failure = json!({ "code": "MillError", "message": message, "cellId": "c_U2YOcz1pdJ0R", "ts": "2026-11-21T13:43:22.656Z", "stack": "MillError: no mill\n    at run" });
        let failure = (status == RunStatus::Failed).then(|| failure.to_string());
        let owner = self.owners.workflow.as_str();
        let (emitter, name, payload, metadata) = match &failure {
            Some(error) => (
                owner,
                "$errors",
                format!(
                    r#"{{"original_event":{},"original_context":{},"error":{error}}}"#,
                    run.event, run.context
                ),
                "{}",
            ),
            None => (
                self.owners.source.as_str(),
                "",
                run.event.to_string(),
                r#"{"id":"a","summary":"an order"}"#,
            ),
        };
        let event = Event {
            id: EventId { ms: at.ms(), seq: i64::try_from(n % 1_000).unwrap_or(0) },
            org_id: run.org_id.clone(),
            emitter_id: emitter.to_owned(),
            name: name.to_owned(),
            emit_id: self.ids.ksuid(at),
            payload,
            metadata: metadata.to_owned(),
        };
        let line = LogLine {
            at,
            level: LogLevel::Error,
            text: format!("MillError: {message}"),
            step: Some("step".into()),
        };
        let group = failure.is_some().then(|| ErrorGroup {
            id: ErrorGroupId::generate(&self.ids),
            org_id: run.org_id.clone(),
            owner: owner.to_owned(),
            class: "MillError".into(),
            step: "step".into(),
            frame: "at run".into(),
            message,
            last_run_id: run.id.clone(),
            first_at: at,
            last_at: at,
            count: 1,
            state: ErrorState::Open,
            state_at: None,
            note: None,
        });
        let logs: Vec<_> = failure.is_some().then_some(line).into_iter().collect();
        Settlement {
            run_id: run.id.clone(),
            attempt: 1,
            status,
            finished_at: at.plus_ms(2 + i64::try_from(n % 97).unwrap_or(0)),
            result: r#"{"steps":[{"namespace":"step","status":"succeeded","duration_ms":1,"exports":{"$return_value":{"mill":"north"}}}],"duration_ms":2}"#
                .into(),
            error: failure,
            group,
            forget: None,
            unstored: None,
            effects: Effects {
                events: vec![event],
                log_owner: (!logs.is_empty()).then(|| (run.org_id.clone(), owner.to_owned(), run.id.clone())),
                logs,
                ..Effects::default()
            },
        }
    }
}
