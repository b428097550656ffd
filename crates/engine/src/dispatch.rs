//! Dispatching: queued runs are claimed when there is room, leases are renewed, history is pruned.

use std::sync::atomic::Ordering;
use std::time::Duration;

use millrace_model::run::Run;
use millrace_store::{Claim, StoreResult, fail_point};

use crate::Engine;
use crate::execute::{Held, error_chain};

/// How often the queue is looked at though nothing woke the dispatcher.
const POLL: Duration = Duration::from_millis(500);
/// Runs claimed at once.
const CLAIM_MAX: usize = 64;
/// How often history is pruned, and how many rows in a step.
const PRUNE_EVERY: Duration = Duration::from_secs(if cfg!(feature = "fail-points") { 1 } else { 60 });
const PRUNE_ROWS: u32 = 1000;
/// A clock that is put right by less was not moved.
const CLOCK_TOLERANCE_MS: i64 = 1_000;

impl Engine {
    pub(crate) fn spawn_dispatcher(&self) {
        self.keep("dispatcher", |engine, stop| async move {
            loop {
                let full = engine.dispatch().await;
                tokio::select! {
                    biased;
                    () = stop.cancelled() => return,
                    () = engine.0.wake_dispatch.notified() => {}
                    () = tokio::time::sleep(if full { Duration::ZERO } else { POLL }) => {}
                }
            }
        });
    }

    /// Claims as many runs as there are places; says whether there may be more.
    async fn dispatch(&self) -> bool {
        let mut places = Vec::new();
        while places.len() < CLAIM_MAX
            && let Ok(place) = self.0.running.clone().try_acquire_owned()
        {
            places.push(place);
        }
        if places.is_empty() {
            // Waits for one place, so that a full house does not spin.
            match self.0.running.clone().acquire_owned().await {
                Ok(place) => places.push(place),
                Err(_) => return false,
            }
        }
        let wanted = places.len();
        if self.leases_ended()
            && let Err(error) = self.renew_leases().await
        {
            tracing::error!(error = error_chain(&error), "could not renew leases; nothing is claimed meanwhile");
            return false;
        }
        let runs = match self.claim(u32::try_from(wanted).unwrap_or(1)).await {
            Ok(runs) => runs,
            Err(error) => {
                tracing::error!(error = error_chain(&error), "could not claim runs; trying again");
                return false;
            }
        };
        let count = runs.len();
        for (run, place) in runs.into_iter().zip(places) {
            let (engine, held) = (self.clone(), Held::claimed(run));
            self.hold(&held);
            let responder = self.0.responders.lock().remove(&held.id);
            self.0.tasks.spawn(async move {
                engine.execute(held, None, responder).await;
                drop(place);
            });
        }
        count == wanted
    }

    async fn claim(&self, limit: u32) -> StoreResult<Vec<Run>> {
        let claim = Claim { node: &self.0.node, now: self.now(), lease_until: self.lease_until(), limit };
        let runs = self.0.store.claim(claim).await?;
        if !runs.is_empty() {
            fail_point!("engine.claim.before_start");
        }
        Ok(runs)
    }

    pub(crate) fn spawn_lease_keeper(&self) {
        let every = self.0.config.lease / 3;
        self.keep("lease keeper", move |engine, stop| async move {
            loop {
                tokio::select! {
                    biased;
                    () = stop.cancelled() => return,
                    () = tokio::time::sleep(every) => {}
                }
                if let Err(error) = engine.renew_leases().await {
                    tracing::error!(error = error_chain(&error), "could not renew leases");
                }
            }
        });
    }

    /// Whether leases of this node may have ended by the clock, or end much later than they should: it was moved. Renewed before anything is
    /// claimed, runs that go on here are not taken for lost and started a second time.
    fn leases_ended(&self) -> bool {
        let until = self.0.leases_until.load(Ordering::SeqCst);
        let latest = self.lease_until().plus_ms(CLOCK_TOLERANCE_MS);
        self.now().ms() >= until || until > latest.ms()
    }

    async fn renew_leases(&self) -> StoreResult<()> {
        let until = self.lease_until();
        let held: Vec<_> = self.0.held.lock().iter().map(|(id, attempt)| (id.clone(), *attempt)).collect();
        if !held.is_empty() {
            let lost = self.0.store.renew(&held, until).await?;
            if !lost.is_empty() {
                tracing::warn!(count = lost.len(), "leases were lost; those runs settle elsewhere");
            }
        }
        self.0.leases_until.store(until.ms(), Ordering::SeqCst);
        Ok(())
    }

    pub(crate) fn spawn_pruner(&self) {
        let keep_ms = i64::try_from(self.0.config.keep_history.as_millis()).unwrap_or(i64::MAX);
        self.keep("pruner", move |engine, stop| async move {
            loop {
                tokio::select! {
                    biased;
                    () = stop.cancelled() => return,
                    () = tokio::time::sleep(PRUNE_EVERY) => {}
                }
                match engine.0.store.prune(engine.now().plus_ms(-keep_ms), PRUNE_ROWS).await {
                    Ok(0) => {}
                    Ok(rows) => tracing::info!(rows, "old history was pruned"),
                    Err(error) => tracing::warn!(error = error_chain(&error), "could not prune history"),
                }
                if let Err(error) = engine.0.store.purge_data_stores(engine.now(), PRUNE_ROWS).await {
                    tracing::warn!(error = error_chain(&error), "could not clear away what has ended in data stores");
                }
            }
        });
    }
}
