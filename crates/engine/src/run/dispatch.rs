//! Dispatcher, which claims queued runs while run slots are free, and lease keeper, which renews
//! the leases of claimed runs.

use std::collections::HashSet;
use std::sync::atomic::Ordering;
use std::time::Duration;

use millrace_model::ids::RunId;
use millrace_model::run::Run;
use millrace_store::{Claim, StoreResult, fail_point};

use crate::Engine;
use crate::background::{Activation, Background, Next, Task};
use crate::run::claimed_run::ClaimedRun;

/// How often the queue is looked at though nothing woke the dispatcher.
const POLL: Duration = Duration::from_millis(500);
/// Runs claimed at once.
const CLAIM_MAX: usize = 64;
/// Runs that are claimed though no run slot is free, and of an owner though it may have none more:
/// its slots have their next runs while others are claimed.
const CLAIM_AHEAD: usize = 16;
/// How often the queue is looked at while all that wait there are of owners that have as many runs
/// under way as they may, and more ahead.
const CAPPED_POLL: Duration = Duration::from_millis(50);
/// A clock that is put right by less was not moved.
const CLOCK_TOLERANCE_MS: i64 = 1_000;

/// Claims queued runs and starts them.
pub(crate) struct Dispatcher {
    engine: Engine,
    /// The owner whose runs were claimed last.
    turn: String,
}

impl Background for Dispatcher {
    const TASK: Task = Task::Dispatcher;

    /// Claims as many runs as there are free run slots, and a few more: those wait for a slot like
    /// accepted runs.
    async fn activate(&mut self, now: &Activation) -> Next {
        let (engine, turn) = (&self.engine, &mut self.turn);
        let slots = &engine.0.admission.slots;
        let room =
            (slots.free() + CLAIM_AHEAD).saturating_sub(slots.waiting_exempt()).min(CLAIM_MAX);
        if room == 0 {
            tokio::select! {
                biased;
                () = now.stop.cancelled() => {}
                () = slots.changed() => {}
                () = tokio::time::sleep(POLL) => {}
            }
            return Next::Now;
        }
        if engine.leases_ended()
            && let Err(error) = engine.renew_leases().await
        {
            now.failed("could not renew leases; nothing is claimed meanwhile", &error);
            return Next::Woken(POLL);
        }
        let full = slots.owners_at_quota(CLAIM_AHEAD);
        let passed_over: Vec<_> = full.iter().map(|owner| owner.as_str().to_owned()).collect();
        let runs = match engine.claim(u32::try_from(room).unwrap_or(1), turn, &passed_over).await {
            Ok(runs) => runs,
            Err(error) => {
                now.failed("could not claim runs; trying again", &error);
                return Next::Woken(POLL);
            }
        };
        let next = match runs.len() {
            0 if passed_over.is_empty() => Next::Woken(POLL),
            0 => {
                let fewer_ahead = async {
                    while slots.owners_at_quota(CLAIM_AHEAD).len() >= full.len() {
                        slots.changed().await;
                    }
                };
                tokio::select! {
                    biased;
                    () = now.stop.cancelled() => {}
                    () = fewer_ahead => {}
                    () = tokio::time::sleep(CAPPED_POLL) => {}
                }
                Next::Now
            }
            count if count == room || !passed_over.is_empty() => Next::Now,
            _ => Next::Woken(POLL),
        };
        // The last of them in the order of turns: those up to the one before come round again.
        let last = runs
            .iter()
            .map(|run| run.owner.as_str())
            .max_by_key(|owner| (*owner <= turn.as_str(), *owner));
        if let Some(last) = last.map(str::to_owned) {
            *turn = last;
        }
        for run in runs {
            let (engine, claimed) = (engine.clone(), ClaimedRun::from_queue(run));
            let ticket = engine.0.admission.admit_claimed(&claimed.org_id, &claimed.owner);
            let lease = engine.lease(&claimed);
            let responder = engine.0.responders.lock().remove(&claimed.id);
            self.engine.0.tasks.spawn(async move {
                lease.may_begin().await;
                let slot = ticket.granted().await;
                engine.execute(claimed, lease, None, responder).await;
                drop(slot);
            });
        }
        next
    }
}

/// Renews the leases of the runs that this server executes.
pub(crate) struct LeaseKeeper {
    engine: Engine,
    /// Runs that were told to be lost at the last renewal.
    lost_before: HashSet<RunId>,
}

impl Background for LeaseKeeper {
    const TASK: Task = Task::LeaseKeeper;
    const TO_THE_END: bool = true;

    async fn activate(&mut self, now: &Activation) -> Next {
        match self.engine.renew_leases().await {
            Ok(lost) => self.lost_before = warn_of_lost(lost, &self.lost_before),
            Err(error) => now.failed("could not renew leases", &error),
        }
        Next::After(self.engine.0.config.lease / 3)
    }
}

impl Engine {
    pub(crate) fn dispatcher(&self) -> Dispatcher {
        Dispatcher { engine: self.clone(), turn: String::new() }
    }

    pub(crate) fn lease_keeper(&self) -> LeaseKeeper {
        LeaseKeeper { engine: self.clone(), lost_before: HashSet::new() }
    }

    async fn claim(
        &self,
        limit: u32,
        after: &str,
        passed_over: &[String],
    ) -> StoreResult<Vec<Run>> {
        let claim = Claim {
            node: &self.0.node,
            now: self.now(),
            lease_until: self.lease_until(),
            limit,
            after,
            passed_over,
        };
        let runs = self.0.store.claim(claim).await?;
        if !runs.is_empty() {
            fail_point!("engine.claim.before_start");
        }
        Ok(runs)
    }

    /// Whether leases of this node may have ended by the clock, or end much later than they should:
    /// it was moved. Renewed before anything is claimed, runs that go on here are not taken for
    /// lost and started a second time.
    fn leases_ended(&self) -> bool {
        let until = self.0.leases_until.load(Ordering::SeqCst);
        let latest = self.lease_until().plus_ms(CLOCK_TOLERANCE_MS);
        self.now().ms() >= until || until > latest.ms()
    }

    /// Gives the runs whose leases are not this node's any more.
    async fn renew_leases(&self) -> StoreResult<Vec<RunId>> {
        let until = self.lease_until();
        let leases: Vec<_> =
            self.0.leases.lock().iter().map(|(id, lease)| (id.clone(), lease.attempt)).collect();
        let lost =
            if leases.is_empty() { Vec::new() } else { self.0.store.renew(&leases, until).await? };
        self.0.leases_until.store(until.ms(), Ordering::SeqCst);
        Ok(lost)
    }
}

/// A run that settles while leases are renewed is told to be lost once, and is over by the next
/// time: only one that is still leased then is lost. Gives what was lost this time.
fn warn_of_lost(lost: Vec<RunId>, before: &HashSet<RunId>) -> HashSet<RunId> {
    let lost: HashSet<RunId> = lost.into_iter().collect();
    let count = lost.intersection(before).count();
    if count > 0 {
        tracing::warn!(count, "leases were lost; those runs settle elsewhere");
    }
    lost
}
