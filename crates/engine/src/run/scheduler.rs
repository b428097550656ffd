//! Scheduler of ticks of timers, ends of pauses, and deferred events. A tick counts as fired once
//! its run is durable; each fires once, however many servers poll.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use millrace_model::clock::Timestamp;
use millrace_model::error_chain;
use millrace_model::run::Start;
use millrace_model::schedule::{Schedule, ScheduleError, local_iso};
use millrace_model::source::{Owner, Timer};
use millrace_store::{ClockMark, Fired, fail_point};
use serde_json::{Value, json};

use crate::background::{Activation, Background, Next, Task};
use crate::nodes::ALIVE_MS;
use crate::run::context::Origin;
use crate::{Engine, EngineError};

/// The longest sleep: timers made by other nodes are seen at the latest then.
const SLEEP_MAX: Duration = Duration::from_secs(5);
/// Pause after a round in which something failed: what is due stays due.
const AFTER_FAILURE: Duration = Duration::from_secs(1);
/// How often a timer whose schedule names no time fails a run, which shows its owner why.
const FAILS_EVERY: Schedule = Schedule::IntervalSeconds(3600);
/// Timers fired, pauses ended, and deferred events delivered, in one round.
const ROUND_MAX: u32 = 100;
/// Ticks looked at after the clock went back.
const LATE_MAX: u32 = 100_000;
/// A tick that is fired later than this keeps when it was due.
const DUE_KEPT_MS: i64 = 1_000;
/// How often the clock is looked at for a step back.
const LOOK_AT_CLOCK: Duration = Duration::from_millis(100);
/// A clock that is put right by less was not moved.
const CLOCK_TOLERANCE_MS: i64 = 1_000;

/// After so long it is known whether another server is there, or was killed.
const FORGOTTEN: Duration = Duration::from_millis(2 * ALIVE_MS.unsigned_abs());

/// A step of the clock back beside what may be another server.
struct StepBack {
    from_ms: i64,
    /// With those that came after it: who is moved once is newer than the marks of those, and is
    /// not moved by them.
    by_ms: i64,
    /// What was written since goes by the new time.
    mark: ClockMark,
    known_by: Instant,
}

/// Fires timers, ends pauses and delivers deferred events when their time has come.
pub(crate) struct Scheduler {
    engine: Engine,
    /// Steps back of the clock that wait to be followed.
    steps: Vec<StepBack>,
}

impl Background for Scheduler {
    const TASK: Task = Task::Scheduler;

    async fn activate(&mut self, now: &Activation) -> Next {
        let engine = &self.engine;
        let mut least = Duration::ZERO;
        for (what, done) in [
            ("could not follow the clock back", engine.follow_clock(&mut self.steps).await),
            ("could not wake paused runs", engine.wake_due().await),
            ("could not fire timers", engine.fire_due().await),
            ("could not deliver deferred events", engine.deliver_deferred(ROUND_MAX).await),
        ] {
            if let Err(error) = done {
                now.failed(&format!("{what}; trying again"), &error);
                least = AFTER_FAILURE;
            }
        }
        Next::Woken(engine.until_next_timer().await.max(least))
    }

    async fn interrupted(&mut self) {
        self.engine.clock_steps_back().await;
    }
}

impl Engine {
    pub(crate) fn scheduler(&self) -> Scheduler {
        Scheduler { engine: self.clone(), steps: Vec::new() }
    }

    /// Where the clock went back, also while the server was down, moves ticks that would else wait
    /// until it has caught up. Pauses and tries are moved by as much as was seen, where no other
    /// server shares them: its clock may be right. One that was killed counts as another until it
    /// has not been heard of for a while: so long, `steps` wait.
    async fn follow_clock(&self, steps: &mut Vec<StepBack>) -> Result<(), EngineError> {
        let (now, latest) = (self.now(), self.0.latest.load(Ordering::SeqCst));
        let first = latest == i64::MIN;
        let back_ms = latest.saturating_sub(now.ms()).max(0);
        if back_ms > CLOCK_TOLERANCE_MS || first {
            for timer in self.0.store.late_timers(now, LATE_MAX).await? {
                let rewound = |schedule: &Schedule| schedule.rewound(timer.next_at, now, back_ms);
                if let Some(next_at) =
                    rewound(&timer.schedule).or_else(|_| rewound(&FAILS_EVERY))?
                {
                    self.0.store.move_timer(&timer.id, timer.next_at, next_at).await?;
                }
            }
            if !first {
                tracing::warn!(back_ms, "the clock went back; what waits for its time is moved");
                // Last: done twice, it would move twice.
                if self.is_alone() && steps.is_empty() {
                    self.0.store.clock_went_back(now, back_ms, None).await?;
                } else {
                    let mark = self.0.store.clock_mark().await?;
                    steps
                        .iter_mut()
                        .for_each(|step| step.by_ms = step.by_ms.saturating_add(back_ms));
                    steps.push(StepBack {
                        from_ms: latest,
                        by_ms: back_ms,
                        mark,
                        known_by: Instant::now() + FORGOTTEN,
                    });
                }
            }
            self.0.latest.store(now.ms(), Ordering::SeqCst);
        }
        self.0.latest.fetch_max(now.ms(), Ordering::SeqCst);
        steps.retain(|step| now.ms() < step.from_ms && Instant::now() < step.known_by);
        while let Some(step) = steps.first().filter(|_| self.is_alone()) {
            self.0.store.clock_went_back(now, step.by_ms, Some(&step.mark)).await?;
            steps.remove(0);
        }
        Ok(())
    }

    /// Ends once the clock went back. What is written until then goes by the new time and is moved
    /// all the same.
    async fn clock_steps_back(&self) {
        loop {
            tokio::time::sleep(LOOK_AT_CLOCK).await;
            let now = self.now().ms();
            if self.0.latest.fetch_max(now, Ordering::SeqCst) > now + CLOCK_TOLERANCE_MS {
                return;
            }
        }
    }

    /// Ends the pauses whose time has come.
    async fn wake_due(&self) -> Result<(), EngineError> {
        let woken = self.0.store.wake_runs(self.now(), ROUND_MAX).await?;
        if woken.resumed > 0 {
            self.queued();
        }
        Ok(())
    }

    async fn until_next_timer(&self) -> Duration {
        let (timer, wake, deferred) = tokio::join!(
            self.0.store.next_timer_at(),
            self.0.store.next_wake_at(),
            self.0.store.next_deferred_at()
        );
        match [timer, wake, deferred].into_iter().filter_map(|at| at.ok().flatten()).min() {
            Some(at) => Duration::from_millis(u64::try_from(at.since(self.now())).unwrap_or(0))
                .clamp(Duration::from_millis(5), SLEEP_MAX),
            None => SLEEP_MAX,
        }
    }

    /// Fires what is due; the error is that of the first timer that failed.
    async fn fire_due(&self) -> Result<(), EngineError> {
        let mut fired = Ok(());
        for timer in self.0.store.due_timers(self.now(), ROUND_MAX).await? {
            if let Err(error) = self.fire(&timer).await {
                tracing::error!(timer.id = %timer.id, error = error_chain(&error), "could not fire a timer");
                fired = fired.and(Err(error));
            }
        }
        fired
    }

    async fn fire(&self, timer: &Timer) -> Result<(), EngineError> {
        let now = self.now();
        let next_at = timer.schedule.next_after(timer.next_at, now);
        let Some(program) = self.live_program(&timer.org_id, &timer.owner).await? else {
            // A timer that stays due uses up one of the `ROUND_MAX` timers of each round.
            let next_at = next_at.or_else(|_| FAILS_EVERY.next_after(timer.next_at, now))?;
            self.0.store.move_timer(&timer.id, timer.next_at, next_at).await?;
            return Ok(());
        };
        let next_at = match next_at {
            Ok(next_at) => next_at,
            Err(error) => return self.fail_tick(timer, &error).await,
        };
        let due = (now.since(timer.next_at) > DUE_KEPT_MS).then_some(timer.next_at);
        let origin = Origin { due, ..Origin::first("TIMER", timer.id.as_str()) };
        let run = self.new_run(
            &program,
            &origin,
            timer_event(timer, now.secs()).to_string(),
            Start::Queued,
        )?;
        fail_point!("engine.tick.before_store");
        match self.0.store.fire_timer(&timer.id, timer.next_at, next_at, run).await? {
            Fired::Accepted => self.queued(),
            Fired::Skipped => {
                self.0.metrics.skipped_tick();
                tracing::debug!(timer.id = %timer.id, "a tick was skipped: the run before is still going on");
            }
        }
        Ok(())
    }

    /// The tick of a timer whose schedule names no time, because its row is damaged or its time
    /// zone is no longer known: its owner has a run that fails and says so.
    async fn fail_tick(&self, timer: &Timer, error: &ScheduleError) -> Result<(), EngineError> {
        let now = self.now();
        let next_at = FAILS_EVERY.next_after(timer.next_at, now)?;
        if !self.0.store.move_timer(&timer.id, timer.next_at, next_at).await? {
            return Ok(());
        }
        let why = format!(
            "the timer cannot fire, and is tried again in an hour: {error}; save another schedule"
        );
        tracing::warn!(timer.id = %timer.id, owner.id = timer.owner.as_str(), error = %error, "a timer cannot fire; its owner has a failed run");
        let program = self.damaged_program(&timer.org_id, &timer.owner, why).await;
        let origin = Origin::first("TIMER", timer.id.as_str());
        let event = timer_event(timer, now.secs()).to_string();
        let start = Start::Claimed { lease_until: self.lease_until() };
        let run = self.new_run(&program, &origin, event, start)?;
        if let Err(error) = self.accept_event(run, program, None).await {
            // Its owner was told nothing: it is due still.
            self.0.store.move_timer(&timer.id, next_at, timer.next_at).await?;
            return Err(error);
        }
        Ok(())
    }
}

/// The event of a timer (spec 2.7.2, reference 3). Ticks of workflows have both zones whatever the
/// schedule, those of sources where it is a cron expression.
fn timer_event(timer: &Timer, timestamp: i64) -> Value {
    let at = Timestamp(timestamp * 1000);
    let (mut event, timezone) = match &timer.schedule {
        Schedule::IntervalSeconds(seconds) => {
            (json!({ "timestamp": timestamp, "interval_seconds": seconds }), "UTC")
        }
        Schedule::Cron { cron, timezone } => {
            (json!({ "timestamp": timestamp, "cron": cron }), timezone.as_str())
        }
    };
    if event["cron"].is_string() || matches!(timer.owner, Owner::Workflow(_)) {
        event["timezone_configured"] = zone(at, timezone);
        event["timezone_utc"] = zone(at, "UTC");
    }
    event
}

/// A time as a clock in a time zone shows it: the whole, its day, and its time of day.
fn zone(at: Timestamp, timezone: &str) -> Value {
    let whole = local_iso(at, timezone);
    let (date, time) = whole.split_once('T').unwrap_or((&whole, ""));
    json!({
        "timezone": timezone,
        "iso8601": { "timestamp": whole, "date": date, "time": time },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_that_of_the_time_zone() {
        let utc_evening = Timestamp(1_700_000_000_000 + 4 * 3_600_000);
        let shown = zone(utc_evening, "Asia/Kolkata");
        let expected = json!({ "timestamp": "2023-11-15T07:43:20.000+05:30", "date": "2023-11-15", "time": "07:43:20.000+05:30" });
        assert_eq!(shown, json!({ "timezone": "Asia/Kolkata", "iso8601": expected }));
        assert_eq!(zone(utc_evening, "America/New_York")["iso8601"]["date"], "2023-11-14");
    }
}
