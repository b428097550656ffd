//! Log lines that a run's code writes after the run has ended, errors of unhandled promises among
//! them: each is added to the log of its run.

use std::sync::Arc;

use millrace_model::clock::Timestamp;
use millrace_model::error_chain;
use millrace_model::ids::{OrgId, RunId};
use millrace_model::run::{LogLevel, LogLine};
use millrace_runner::LateSink;
use millrace_store::Effects;
use parking_lot::Mutex;

use crate::Engine;

/// Lines of one run on their way to its log.
enum Lines {
    /// The run is not settled yet: what it left goes first.
    Wait(Vec<LogLine>),
    /// A task adds them, and those that come meanwhile.
    BeingAdded(Vec<LogLine>),
    /// All are added.
    Added,
    /// Nothing of the run is kept.
    Dropped,
}

/// Holds nothing of a call but whose log it is: it outlives the call.
pub(crate) struct Late {
    engine: Engine,
    org_id: OrgId,
    owner: String,
    run_id: RunId,
    lines: Mutex<Lines>,
}

impl Late {
    pub(crate) fn new(engine: Engine, org_id: OrgId, owner: String, run_id: RunId) -> Arc<Self> {
        Arc::new(Self { engine, org_id, owner, run_id, lines: Mutex::new(Lines::Wait(Vec::new())) })
    }

    /// Nothing of the run is kept.
    pub(crate) fn drop_all(&self) {
        *self.lines.lock() = Lines::Dropped;
    }

    /// The run is settled: what came and what comes is added to its log.
    pub(crate) fn settled(self: &Arc<Self>) {
        let mut lines = self.lines.lock();
        if let Lines::Wait(waiting) = &mut *lines {
            let waiting = std::mem::take(waiting);
            *lines = if waiting.is_empty() { Lines::Added } else { Lines::BeingAdded(waiting) };
            if matches!(*lines, Lines::BeingAdded(_)) {
                self.add();
            }
        }
    }

    /// Adds lines in a task of its own, as long as any come.
    fn add(self: &Arc<Self>) {
        let this = self.clone();
        self.engine.0.tasks.spawn(async move {
            while let Some(logs) = this.next() {
                let log_owner = Some((this.org_id.clone(), this.owner.clone(), this.run_id.clone()));
                let added = this.engine.0.store.settle_effects(Effects { logs, log_owner, ..Effects::default() }).await;
                match added {
                    Ok(()) => this.engine.publish_log(&this.org_id, &this.owner, &this.run_id),
                    Err(error) => tracing::warn!(run.id = %this.run_id, error = error_chain(&error), "what a run wrote after its end could not be added to its log"),
                }
            }
        });
    }

    fn next(&self) -> Option<Vec<LogLine>> {
        let mut lines = self.lines.lock();
        match &mut *lines {
            Lines::BeingAdded(waiting) if !waiting.is_empty() => Some(std::mem::take(waiting)),
            Lines::BeingAdded(_) => {
                *lines = Lines::Added;
                None
            }
            _ => None,
        }
    }
}

/// What a host's sink of a run keeps beyond the call.
pub(crate) struct Handle(pub(crate) Arc<Late>);

impl LateSink for Handle {
    fn line(&self, level: LogLevel, text: String, ts_ms: i64) {
        let (late, line) = (&self.0, LogLine { at: Timestamp(ts_ms), level, text, step: None });
        let mut lines = late.lines.lock();
        if matches!(*lines, Lines::Dropped) {
            return;
        }
        late.engine
            .0
            .streams
            .send(&late.owner, || crate::StreamItem::Log(late.run_id.clone(), line.clone()));
        match &mut *lines {
            Lines::Wait(waiting) | Lines::BeingAdded(waiting) => waiting.push(line),
            Lines::Added => {
                *lines = Lines::BeingAdded(vec![line]);
                late.add();
            }
            Lines::Dropped => {}
        }
    }
}
