//! Runs that are not stored while their code runs. A client that waits for a run's answer holds its
//! event itself until it has the answer: the run may be stored with its end, in one commit in place
//! of two. Whatever would show before that it was there stores it first: an answer or a connection
//! that leaves the server, a question of its code, what finished steps left, a pause, and time.

use std::collections::{HashMap, HashSet};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use millrace_model::ids::RunId;
use millrace_model::run::NewRun;
use millrace_runner::IsolateSpec;
use millrace_store::{Settlement, Unstored};
use parking_lot::Mutex;
use tokio::sync::OnceCell;
use tokio::time::Instant;

use crate::{Engine, EngineError};

/// How long a run is under way before it is stored.
const UNSTORED_MAX: Duration = Duration::from_millis(20);

/// A run under way that may be stored with its end.
#[derive(Debug)]
pub(crate) struct UnstoredRun {
    /// None once it is stored, or is about to be.
    run: Mutex<Option<NewRun>>,
    stored: OnceCell<()>,
    /// Why it could not be stored, for its client.
    failure: Mutex<Option<EngineError>>,
    /// When it is stored at the latest.
    until: Instant,
}

impl UnstoredRun {
    /// Whether it is stored by now.
    pub(crate) fn is_stored(&self) -> bool {
        self.stored.initialized()
    }

    /// Why it could not be stored.
    pub(crate) fn failure(&self) -> Option<EngineError> {
        self.failure.lock().take()
    }

    /// What is to be stored. None is there where that failed before.
    fn take(&self) -> Result<NewRun, EngineError> {
        let gone = || EngineError::internal("the run's event could not be stored", "tried before");
        self.run.lock().take().ok_or_else(gone)
    }

    fn failed(&self, error: EngineError) -> EngineError {
        let told = EngineError::internal("the run's event could not be stored", error.to_string());
        *self.failure.lock() = Some(error);
        told
    }
}

/// The unstored runs of this server, and the isolates that may have none.
#[derive(Default)]
pub(crate) struct UnstoredRuns(Mutex<Table>);

#[derive(Default)]
struct Table {
    under_way: HashMap<RunId, (Isolate, Arc<UnstoredRun>)>,
    /// Those whose code has sent something to the outside: it may have connections that nothing
    /// asks for again.
    reach_out: HashSet<Isolate>,
}

/// Organization and id.
type Isolate = (String, String);

impl UnstoredRuns {
    /// Begins to hold a run back from the store. Gives it back where its code may send to the
    /// outside what nobody hears of.
    fn begin(&self, run: NewRun, isolate: &IsolateSpec) -> Result<Arc<UnstoredRun>, Box<NewRun>> {
        let isolate = (isolate.organization.clone(), isolate.id.clone());
        let mut table = self.0.lock();
        if table.reach_out.contains(&isolate) {
            return Err(Box::new(run));
        }
        let id = run.id.clone();
        let unstored = Arc::new(UnstoredRun {
            run: Mutex::new(Some(run)),
            stored: OnceCell::new(),
            failure: Mutex::default(),
            until: Instant::now() + UNSTORED_MAX,
        });
        table.under_way.insert(id, (isolate, unstored.clone()));
        Ok(unstored)
    }

    /// A run is over.
    pub(crate) fn over(&self, id: &RunId) {
        self.0.lock().under_way.remove(id);
    }

    /// From now on runs of the isolate are stored before they begin. Gives those that are not.
    fn reaches_out(&self, isolate: Isolate) -> Vec<Arc<UnstoredRun>> {
        let mut table = self.0.lock();
        let of_it = table.under_way.values().filter(|(of, _)| *of == isolate);
        let unstored = of_it.map(|(_, run)| run.clone()).collect();
        table.reach_out.insert(isolate);
        unstored
    }
}

impl Engine {
    /// Begins to hold a run back from the store, whose client waits for its answer. Gives it back
    /// where it must be stored first.
    pub(crate) fn hold_back(
        &self,
        run: NewRun,
        isolate: &IsolateSpec,
    ) -> Result<Arc<UnstoredRun>, Box<NewRun>> {
        if !self.0.runner.walls().egress {
            return Err(Box::new(run));
        }
        self.0.unstored.begin(run, isolate)
    }

    /// Stores a run that is not. Nothing where it is, or its end stores it.
    pub(crate) async fn store_run(
        &self,
        unstored: Option<&UnstoredRun>,
    ) -> Result<(), EngineError> {
        let Some(unstored) = unstored else { return Ok(()) };
        let store = || async {
            let run = unstored.take()?;
            self.0.store.accept(run, &self.0.node).await.map_err(|e| unstored.failed(e.into()))
        };
        unstored.stored.get_or_try_init(store).await.copied()
    }

    /// Does all that a run is, and stores the run meanwhile where that takes time. One that cannot
    /// be stored goes no further; the answer to its client says why.
    pub(crate) async fn store_meanwhile(
        &self,
        unstored: Option<&UnstoredRun>,
        mut work: Pin<&mut impl Future<Output = ()>>,
    ) {
        let Some(unstored) = unstored else { return work.await };
        let store = async {
            tokio::time::sleep_until(unstored.until).await;
            self.store_run(Some(unstored)).await
        };
        // Both are polled: `work` may hold the cell, as its end stores the run.
        tokio::pin!(store);
        tokio::select! {
            () = &mut work => {}
            stored = &mut store => if stored.is_ok() { work.await }
        }
    }

    /// Stores the end of a run; and with it the run, where it is not stored.
    pub(crate) async fn store_end(
        &self,
        settlement: Settlement,
        unstored: Option<&UnstoredRun>,
    ) -> Result<(), EngineError> {
        let store = &self.0.store;
        let mut settlement = Some(settlement);
        if let Some(unstored) = unstored {
            let end = &mut settlement;
            let with_its_end = async {
                let run = unstored.take()?;
                let Some(mut end) = end.take() else { return Ok(()) };
                end.unstored = Some(Box::new(Unstored { run, node: self.0.node.clone() }));
                store.settle(end).await.map_err(|e| unstored.failed(e.into()))
            };
            unstored.stored.get_or_try_init(|| with_its_end).await?;
        }
        match settlement {
            Some(settlement) => Ok(store.settle(settlement).await?),
            None => Ok(()),
        }
    }

    /// Code of an isolate is about to send something to the outside: its runs are stored first.
    /// False where one could not be.
    async fn before_it_leaves(&self, isolate: Isolate) -> bool {
        for run in self.0.unstored.reaches_out(isolate) {
            if self.store_run(Some(&*run)).await.is_err() {
                return false;
            }
        }
        true
    }

    /// From now on nothing leaves a host before the runs of its isolate are stored.
    pub(crate) fn watch_what_leaves(&self) {
        let (engine, runtime) = (Arc::downgrade(&self.0), tokio::runtime::Handle::current());
        self.0.runner.before_it_leaves(move |spec| {
            let Some(engine) = engine.upgrade() else { return false };
            let isolate = (spec.organization.clone(), spec.id.clone());
            runtime.block_on(Self(engine).before_it_leaves(isolate))
        });
    }
}
