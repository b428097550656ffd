//! Progress: what finished steps left becomes durable while the run goes on, so that after a crash
//! it goes on behind the last of them.
//!
//! A run of one step has none to keep, and pays nothing. Of others, what is new is written a moment
//! after a step ended, in the background, joined with other writes in one commit; a run that is
//! over by then writes nothing. So at most [`DELAY`] of finished work is done again.

use std::sync::Arc;
use std::time::Duration;

use millrace_model::error_chain;
use millrace_model::ids::{OrgId, RunId};
use millrace_model::run::{LogLevel, LogLine, RunResult, RunStatus, StepResult};
use millrace_model::source::Owner;
use millrace_store::{NodeMessage, StoreError};

use crate::run::claimed_run::ClaimedRun;
use crate::run::pauses::Carried;
use crate::run::sink::{Collected, Collector};
use crate::{Engine, EngineError};

/// How long a finished step may stay unwritten: runs that are over sooner, which are most, settle
/// with one write.
const DELAY: Duration = Duration::from_millis(25);

/// How much of the log of finished steps is kept while a run goes on, bytes of text.
const LOG_BYTES_MAX: usize = 64 * 1024;

/// What an attempt has to keep: the steps it began behind, and whether any may come after those it
/// finishes.
pub(crate) struct Progress {
    before: Carried,
    /// The run and the attempt.
    run: (RunId, i64),
    /// Whose it is.
    of: (OrgId, Owner),
    /// Steps that the attempt may finish.
    steps: usize,
}

impl Progress {
    /// None where no step can follow another.
    pub(crate) fn of(claimed: &ClaimedRun, carried: &Carried, steps: usize) -> Option<Self> {
        let left = steps.saturating_sub(carried.steps.len());
        (left > 1).then(|| Self {
            before: carried.clone(),
            run: (claimed.id.clone(), claimed.attempt),
            of: (claimed.org_id.clone(), claimed.owner.clone()),
            steps: left,
        })
    }

    /// Whether the end of a step, the attempt's `finished`th, calls for a write.
    pub(crate) fn wanted(&self, finished: usize) -> bool {
        finished < self.steps
    }

    /// What is kept, JSON text.
    fn text(&self, collected: &Collected) -> Result<String, EngineError> {
        let finished = collected.steps.iter().filter_map(|step| {
            let (duration_ms, exports) = step.finished.clone()?;
            let mut result = StepResult::new(
                step.namespace.clone(),
                RunStatus::Succeeded,
                Some(duration_ms),
                exports,
            );
            step.add_to(&mut result, self.before.tried.as_ref());
            Some(result)
        });
        let sends = self
            .before
            .sends
            .iter()
            .chain(&collected.sends[..collected.sends_finished])
            .cloned()
            .collect();
        let logs =
            first_lines(self.before.logs.iter().chain(&collected.logs[..collected.logs_finished]));
        let result = RunResult {
            steps: self.before.steps.iter().cloned().chain(finished).collect(),
            sends,
            logs,
            ..RunResult::default()
        };
        serde_json::to_string(&result)
            .map_err(|e| EngineError::internal("could not write a result", e))
    }
}

/// The lines that are kept of what finished steps wrote: each step's end writes all of them again.
fn first_lines<'a>(lines: impl Iterator<Item = &'a LogLine>) -> Vec<LogLine> {
    let mut left = LOG_BYTES_MAX;
    let mut kept: Vec<LogLine> = Vec::new();
    for line in lines {
        let Some(rest) = left.checked_sub(line.text.len()) else {
            let text = format!(
                "[what finished steps wrote after the first {LOG_BYTES_MAX} bytes was lost with the process that ran them]"
            );
            kept.push(LogLine { at: line.at, level: LogLevel::Warn, text, step: None });
            break;
        };
        left = rest;
        kept.push(line.clone());
    }
    kept
}

impl Engine {
    /// Keeps what steps left, a moment from now, until the attempt is over.
    pub(crate) fn keep_progress_soon(&self, collector: Arc<Collector>) {
        let engine = self.clone();
        self.0.tasks.spawn(async move {
            tokio::time::sleep(DELAY).await;
            if let Err(error) = engine.keep_progress(&collector).await {
                tracing::warn!(error = error_chain(&error), "results of finished steps could not be kept; after a crash they would run again");
            }
        });
    }

    /// Writes what is not yet written. Nothing where the attempt is over.
    pub(crate) async fn keep_progress(&self, collector: &Collector) -> Result<(), EngineError> {
        let kept = collector.unwritten(|progress, collected| {
            progress.text(collected).map(|text| (progress.run.clone(), progress.of.clone(), text))
        });
        let Some(((id, attempt), (org, owner), text)) = kept.transpose()? else { return Ok(()) };
        self.store_run(collector.unstored().map(|run| &**run)).await?;
        match self.0.store.keep_progress(&id, attempt, &text).await {
            Ok(()) => {
                // Their streams show the steps that have ended.
                self.publish_message(|| NodeMessage::Run(org, owner.as_str().to_owned(), id));
                Ok(())
            }
            // It was settled meanwhile, with all of this.
            Err(StoreError::Fenced) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
