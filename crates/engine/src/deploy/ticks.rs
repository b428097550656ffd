//! Next ticks of a schedule, as the timers of workflows and sources fire.

use millrace_model::clock::Timestamp;
use millrace_model::props::parse_timer;
use millrace_model::source::Owner;
use millrace_model::tenant::Caller;
use serde_json::Value;

use crate::{Engine, EngineError};

/// Ticks of a timer that are shown.
const TICKS_SHOWN: usize = 5;

impl Engine {
    /// The next times at which a timer of this form fires. Where the owner has an active timer with
    /// this schedule, an interval goes on from its last tick; else it begins now.
    pub async fn next_ticks(
        &self,
        caller: &Caller,
        timer: &Value,
        owner: Option<&Owner>,
    ) -> Result<Vec<Timestamp>, EngineError> {
        let now = self.now();
        let schedule = parse_timer(timer, now)?.ok_or_else(|| {
            EngineError::missing(
                "cron",
                "give `cron`, with a `timezone` where it is not UTC, or `interval_seconds`",
            )
        })?;
        let timers = match owner {
            None => Vec::new(),
            Some(owner) => {
                match owner {
                    Owner::Source(id) => drop(self.owned_source(caller, id).await?),
                    Owner::Workflow(id) => drop(self.owned_workflow(caller, id).await?),
                }
                self.0.store.interfaces(owner.as_str()).await?.timers
            }
        };
        let waits_for = timers
            .iter()
            .filter(|timer| timer.active && timer.schedule == schedule)
            .map(|timer| timer.next_at)
            .min();
        Ok(schedule.next_times(waits_for, now, TICKS_SHOWN)?)
    }
}
