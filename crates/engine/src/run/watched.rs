//! Counts and traces of attempts.

use std::time::Duration;

use millrace_runner::CallOutcome;

use crate::Engine;
use crate::observe::metrics::Ending;
use crate::observe::traces::{Attempt, StepSpan};
use crate::run::claimed_run::ClaimedRun;
use crate::run::sink::{Collected, StepTrace};

/// What is counted and traced of an attempt.
pub(super) struct Watched {
    ending: Ending,
    duration: Duration,
    steps: Vec<StepSpan>,
    error: Option<(String, String)>,
}

impl Engine {
    /// What is counted of an attempt, before it is settled.
    pub(super) fn watch(&self, collected: &Collected, outcome: &CallOutcome) -> Watched {
        let ending = match &outcome.result {
            Ok(done) if done.paused.is_some() => Ending::Paused,
            Ok(_) => Ending::Succeeded,
            Err(_) => Ending::Failed,
        };
        let (mut steps, mut error) = (Vec::new(), None);
        if self.0.traces.is_on() {
            let span = |step: &StepTrace| StepSpan {
                namespace: step.namespace.clone(),
                duration_ms: step.finished.as_ref().map(|(ms, _)| *ms),
            };
            steps = collected.steps.iter().map(span).collect();
            error = outcome
                .result
                .as_ref()
                .err()
                .map(|failure| (failure.code.clone(), failure.message.clone()));
        }
        Watched { ending, duration: outcome.duration, steps, error }
    }

    pub(super) fn publish_watched(&self, claimed: &ClaimedRun, watched: &Watched) {
        self.0.metrics.attempted(watched.ending, watched.duration);
        if self.0.traces.is_on() {
            let error =
                watched.error.as_ref().map(|(class, message)| (class.as_str(), message.as_str()));
            self.0.traces.attempt(&Attempt {
                run: &claimed.id,
                owner: claimed.owner.as_str(),
                number: claimed.attempt,
                context: &claimed.context,
                ending: watched.ending,
                ended: self.now(),
                duration: watched.duration,
                steps: &watched.steps,
                error,
            });
        }
    }
}
