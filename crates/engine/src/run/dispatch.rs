//! Dispatching: queued runs are claimed when there is room, leases are renewed.

use std::collections::HashSet;
use std::sync::atomic::Ordering;
use std::time::Duration;

use millrace_model::error_chain;
use millrace_model::ids::RunId;
use millrace_model::run::Run;
use millrace_store::{Claim, StoreResult, fail_point};

use crate::Engine;
use crate::run::execute::Held;

/// How often the queue is looked at though nothing woke the dispatcher.
const POLL: Duration = Duration::from_millis(500);
/// Runs claimed at once.
const CLAIM_MAX: usize = 64;
/// Runs that are claimed though no place is free.
const CLAIM_AHEAD: usize = 16;
/// How often the queue is looked at while some of its owners have as many runs under way as they
/// may.
const CAPPED_POLL: Duration = Duration::from_millis(50);
/// A clock that is put right by less was not moved.
const CLOCK_TOLERANCE_MS: i64 = 1_000;

/// When the queue is looked at again.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    /// At once: there may be more.
    Again,
    /// When there is a place for what would be claimed.
    WithRoom,
    /// When some that were passed over may have got room.
    Soon,
    /// When there may be something.
    WhenWoken,
}

impl Engine {
    pub(crate) fn spawn_dispatcher(&self) {
        self.keep_going("dispatcher", |engine, stop| async move {
            let mut turn = String::new();
            loop {
                let next = engine.dispatch(&mut turn).await;
                tokio::select! {
                    biased;
                    () = stop.cancelled() => return,
                    () = async {}, if next == Next::Again => {}
                    () = tokio::time::sleep(CAPPED_POLL), if next == Next::Soon => {}
                    () = engine.0.places.changed(), if next == Next::WithRoom => {}
                    () = engine.0.wake_dispatch.notified(), if next == Next::WhenWoken => {}
                    () = tokio::time::sleep(POLL) => {}
                }
            }
        });
    }

    /// Claims as many runs as there are places, and a few more: who waits for a place takes its
    /// turn with the others that do. `turn`: the owner who came last.
    async fn dispatch(&self, turn: &mut String) -> Next {
        let room = (self.0.places.free() + CLAIM_AHEAD)
            .saturating_sub(self.0.places.claimed())
            .min(CLAIM_MAX);
        if room == 0 {
            return Next::WithRoom;
        }
        if self.leases_ended()
            && let Err(error) = self.renew_leases().await
        {
            tracing::error!(
                error = error_chain(&error),
                "could not renew leases; nothing is claimed meanwhile"
            );
            return Next::WhenWoken;
        }
        let passed_over = self.0.places.at_their_bounds();
        let runs = match self.claim(u32::try_from(room).unwrap_or(1), turn, &passed_over).await {
            Ok(runs) => runs,
            Err(error) => {
                tracing::error!(error = error_chain(&error), "could not claim runs; trying again");
                return Next::WhenWoken;
            }
        };
        let next = match runs.len() {
            0 if passed_over.is_empty() => Next::WhenWoken,
            0 => Next::Soon,
            count if count == room || !passed_over.is_empty() => Next::Again,
            _ => Next::WhenWoken,
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
            let (engine, held) = (self.clone(), Held::claimed(run));
            let admission = engine.0.places.admit_claimed(&held.org_id, &held.owner);
            let grip = self.hold(&held);
            let responder = self.0.responders.lock().remove(&held.id);
            self.0.tasks.spawn(async move {
                grip.may_begin().await;
                let place = admission.place().await;
                engine.execute(held, grip, None, responder).await;
                drop(place);
            });
        }
        next
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

    pub(crate) fn spawn_lease_keeper(&self) {
        let every = self.0.config.lease / 3;
        self.keep_to_the_end("lease keeper", move |engine, stop| async move {
            let mut lost_before = HashSet::new();
            loop {
                tokio::select! {
                    biased;
                    () = stop.cancelled() => return,
                    () = tokio::time::sleep(every) => {}
                }
                match engine.renew_leases().await {
                    Ok(lost) => lost_before = warn_of_lost(lost, &lost_before),
                    Err(error) => {
                        tracing::error!(error = error_chain(&error), "could not renew leases")
                    }
                }
            }
        });
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
        let held: Vec<_> =
            self.0.held.lock().iter().map(|(id, hold)| (id.clone(), hold.attempt)).collect();
        let lost =
            if held.is_empty() { Vec::new() } else { self.0.store.renew(&held, until).await? };
        self.0.leases_until.store(until.ms(), Ordering::SeqCst);
        Ok(lost)
    }
}

/// A run that settles while leases are renewed is told to be lost once, and is over by the next
/// time: only one that is still held then is lost. Gives what was lost this time.
fn warn_of_lost(lost: Vec<RunId>, before: &HashSet<RunId>) -> HashSet<RunId> {
    let lost: HashSet<RunId> = lost.into_iter().collect();
    let count = lost.intersection(before).count();
    if count > 0 {
        tracing::warn!(count, "leases were lost; those runs settle elsewhere");
    }
    lost
}
