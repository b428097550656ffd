//! Parts of a run, each alone: what a change of one of them costs is seen here before it is lost in
//! the noise of a whole server. `cargo bench --package millrace-bench`.

use std::sync::Arc;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use millrace_model::dedupe::{Candidate, DedupeState, Strategy, UNIQUE_CACHE, dedupe};
use millrace_model::ids::{IdSource, OrgId, RunId, WorkflowId};
use millrace_model::run::{NewRun, Run, RunKind, RunStatus, Start};
use millrace_model::source::Owner;
use millrace_model::{Clock as _, SystemClock};
use millrace_store::{Claim, Effects, Runs as _, Settlement, Unstored};
use millrace_store_sqlite::{SqliteOptions, SqliteStore};
use serde_json::json;

const NODE: &str = "bench";
/// Runs of one iteration: what a commit of the writer gathers under load.
const AT_ONCE: usize = 32;

/// Frames of a host as a run of one step sends them.
fn codec(c: &mut Criterion) {
    let exports = json!({ "$return_value": "x".repeat(200) });
    let step = json!({ "t": "step", "id": 7, "namespace": "step", "state": "finished", "duration_ms": 1.5, "exports": exports }).to_string();
    let respond = json!({ "t": "respond", "id": 7, "status": 200, "headers": [["content-type", "application/json"]], "body": "{\"n\":2}", "encoding": "utf8", "immediate": false }).to_string();
    let done = json!({ "t": "done", "id": 7, "ok": true, "result": null }).to_string();
    let frames = [step, respond, done];
    for frame in &frames {
        assert!(millrace_runner::is_frame(frame.as_bytes()), "{frame}");
    }
    c.bench_function("codec: the three frames of a run", |b| {
        b.iter(|| frames.iter().filter(|f| millrace_runner::is_frame(f.as_bytes())).count());
    });
}

/// A run that emits a hundred events, half of them known.
fn deduped(c: &mut Criterion) {
    let state = DedupeState {
        unique: (0..UNIQUE_CACHE).map(|n| format!("id-{n}")).collect(),
        ..DedupeState::default()
    };
    let candidates: Vec<_> = (UNIQUE_CACHE / 2..UNIQUE_CACHE * 3 / 2)
        .map(|n| Candidate { id: Some(format!("id-{n}").into()), ts: Some(n as f64) })
        .collect();
    c.bench_function("dedupe: 100 events, 100 remembered", |b| {
        b.iter(|| dedupe(Some(Strategy::Unique), &state, &candidates));
    });
}

/// A database with its files, and an owner whose runs it gets.
struct Runs {
    runtime: tokio::runtime::Runtime,
    store: Arc<SqliteStore>,
    ids: IdSource,
    org: OrgId,
    owner: Owner,
    _folder: tempfile::TempDir,
}

impl Runs {
    fn new() -> Self {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let folder = tempfile::tempdir().expect("a folder");
        let options = SqliteOptions::at(folder.path().join("millrace.db"));
        let store = Arc::new(SqliteStore::open(&options).expect("opens"));
        let ids = IdSource::default();
        let (org, owner) = (OrgId::generate(&ids), Owner::Workflow(WorkflowId::generate(&ids)));
        Self { runtime, store, ids, org, owner, _folder: folder }
    }

    fn run(&self, start: Start) -> NewRun {
        let now = SystemClock.now();
        NewRun {
            id: RunId::at(&self.ids, now),
            org_id: self.org.clone(),
            owner: self.owner.clone(),
            deployment_id: None,
            kind: RunKind::Live,
            trigger_id: "hi_2UxSXebwcfQW".into(),
            event: json!({ "method": "POST", "path": "/", "query": {}, "headers": { "content-type": "application/json" }, "body": { "n": 1 } }).to_string().into(),
            context: json!({ "trace_id": "3MQ2j3YBe7g2oVsbRyixASgr5xJ", "test": false, "replay": false }).to_string(),
            created_at: now,
            start,
            result: None,
            replays: None,
        }
    }

    fn claimed(&self) -> NewRun {
        self.run(Start::Claimed { lease_until: SystemClock.now().plus_ms(30_000) })
    }

    fn some(&self, start: impl Fn() -> NewRun) -> Vec<NewRun> {
        (0..AT_ONCE).map(|_| start()).collect()
    }

    /// Does it for all at once, as their tasks do.
    fn at_once<T, F>(&self, all: Vec<T>, write: impl Fn(Arc<SqliteStore>, T) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.runtime.block_on(async {
            let tasks: Vec<_> =
                all.into_iter().map(|one| tokio::spawn(write(self.store.clone(), one))).collect();
            for task in tasks {
                task.await.expect("is written");
            }
        });
    }

    fn accept(&self, runs: Vec<NewRun>) {
        self.at_once(runs, |store, run| async move {
            store.accept(run, NODE).await.expect("accepts");
        });
    }

    fn settle(&self, ends: Vec<Settlement>) {
        self.at_once(ends, |store, end| async move {
            store.settle(end).await.expect("settles");
        });
    }
}

fn end(run: &RunId, unstored: Option<NewRun>) -> Settlement {
    let result = json!({ "steps": [{ "namespace": "step", "state": "ok", "duration_ms": 1.5, "exports": { "$return_value": 2 } }], "duration_ms": 2 });
    Settlement {
        run_id: run.clone(),
        attempt: 1,
        status: RunStatus::Succeeded,
        finished_at: SystemClock.now(),
        result: result.to_string(),
        error: None,
        group: None,
        forget: None,
        unstored: unstored.map(|run| Box::new(Unstored { run, node: NODE.into() })),
        effects: Effects::default(),
    }
}

fn store(c: &mut Criterion) {
    let runs = Runs::new();
    c.bench_function("accept: 32 runs at once", |b| {
        b.iter_batched(
            || runs.some(|| runs.claimed()),
            |all| runs.accept(all),
            BatchSize::SmallInput,
        );
    });
    // Those that were claimed end first: a queue has few that are under way.
    let claimed = std::cell::RefCell::new(Vec::new());
    c.bench_function("claim: 32 queued runs", |b| {
        b.iter_batched(
            || {
                let before: Vec<Run> = claimed.take();
                runs.settle(before.iter().map(|run| end(&run.id, None)).collect());
                runs.accept(runs.some(|| runs.run(Start::Queued)));
            },
            |()| {
                let now = SystemClock.now();
                let claim = Claim {
                    node: NODE,
                    now,
                    lease_until: now.plus_ms(30_000),
                    limit: 32,
                    after: "",
                    passed_over: &[],
                };
                let all = runs.runtime.block_on(runs.store.claim(claim)).expect("claims");
                claimed.replace(all);
            },
            BatchSize::PerIteration,
        );
    });
    c.bench_function("settle: 32 runs at once", |b| {
        b.iter_batched(
            || {
                let all = runs.some(|| runs.claimed());
                let ends = all.iter().map(|run| end(&run.id, None)).collect();
                runs.accept(all);
                ends
            },
            |ends| runs.settle(ends),
            BatchSize::PerIteration,
        );
    });
    c.bench_function("settle: 32 runs at once that are stored with their end", |b| {
        b.iter_batched(
            || {
                let all = runs.some(|| runs.claimed());
                all.into_iter().map(|run| end(&run.id.clone(), Some(run))).collect()
            },
            |ends| runs.settle(ends),
            BatchSize::SmallInput,
        );
    });
}

criterion_group!(parts, codec, deduped, store);
criterion_main!(parts);
