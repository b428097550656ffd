//! Dispatching: queued runs are claimed when there is room, leases are renewed.

use std::time::Duration;

use millrace_store::Claim;

use crate::Engine;
use crate::execute::{Held, error_chain};

/// How often the queue is looked at though nothing woke the dispatcher.
const POLL: Duration = Duration::from_millis(500);
/// Runs claimed at once.
const CLAIM_MAX: usize = 64;

impl Engine {
    pub(crate) fn spawn_dispatcher(&self) {
        let (engine, stop) = (self.clone(), self.0.tasks.token());
        self.0.tasks.spawn(async move {
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
        let claim = Claim { node: &self.0.node, now: self.now(), lease_until: self.lease_until(), limit: u32::try_from(wanted).unwrap_or(1) };
        let runs = match self.0.store.claim(claim).await {
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

    pub(crate) fn spawn_lease_keeper(&self) {
        let (engine, stop) = (self.clone(), self.0.tasks.token());
        let every = self.0.config.lease / 3;
        self.0.tasks.spawn(async move {
            loop {
                tokio::select! {
                    biased;
                    () = stop.cancelled() => return,
                    () = tokio::time::sleep(every) => {}
                }
                let held: Vec<_> = engine.0.held.lock().iter().map(|(id, attempt)| (id.clone(), *attempt)).collect();
                if held.is_empty() {
                    continue;
                }
                match engine.0.store.renew(&held, engine.lease_until()).await {
                    Ok(lost) if lost.is_empty() => {}
                    Ok(lost) => tracing::warn!(count = lost.len(), "leases were lost; those runs settle elsewhere"),
                    Err(error) => tracing::error!(error = error_chain(&error), "could not renew leases"),
                }
            }
        });
    }
}
