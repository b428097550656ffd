//! Leases of the runs that this server executes.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use millrace_model::ids::RunId;
use millrace_model::source::Owner;

use crate::Engine;
use crate::run::begin_order::BeginTurn;
use crate::run::claimed_run::ClaimedRun;
use crate::run::sink::Collector;

/// Lets go of a run at its end, also where that is a panic: its lease would be renewed for ever.
pub(crate) struct LeaseGuard {
    engine: Engine,
    id: RunId,
    number: u64,
    /// Of a source: runs of one begin in order.
    pub(crate) begins: Option<BeginTurn>,
}

impl LeaseGuard {
    /// Waits until the run may begin.
    pub(crate) async fn may_begin(&self) {
        if let Some(turn) = &self.begins {
            turn.comes().await;
        }
    }
}

impl Drop for LeaseGuard {
    fn drop(&mut self) {
        self.engine.release_lease(&self.id, self.number);
    }
}

/// What this node has of a run under a lease. An attempt that is not counted is followed by one of
/// the same number: its lease has another.
pub(crate) struct Lease {
    pub(crate) attempt: i64,
    number: u64,
    /// What its call does, once that began.
    call: Weak<Collector>,
}

impl Engine {
    /// From now on the run's lease is renewed, until what this gives is dropped.
    pub(crate) fn lease(&self, claimed: &ClaimedRun) -> LeaseGuard {
        let number = self.0.lease_numbers.fetch_add(1, Ordering::Relaxed);
        let lease = Lease { attempt: claimed.attempt, number, call: Weak::new() };
        self.0.leases.lock().insert(claimed.id.clone(), lease);
        let begins = if let Owner::Source(id) = &claimed.owner {
            Some(self.0.begin_order.enter(id))
        } else {
            None
        };
        LeaseGuard { engine: self.clone(), id: claimed.id.clone(), number, begins }
    }

    /// Lets go of a run. Not where it was claimed again meanwhile: that lease goes on, and its end
    /// is waited for.
    fn release_lease(&self, id: &RunId, number: u64) {
        let waiter = {
            let mut leases = self.0.leases.lock();
            match leases.get(id) {
                Some(lease) if lease.number != number => return,
                _ => leases.remove(id),
            };
            self.0.unstored.over(id);
            self.0.waiters.lock().remove(id)
        };
        if let Some(waiter) = waiter {
            // The caller may have gone away.
            let _ = waiter.send(());
        }
    }

    /// The run's code is called now.
    pub(crate) fn note_call(&self, id: &RunId, call: &Arc<Collector>) {
        if let Some(lease) = self.0.leases.lock().get_mut(id) {
            lease.call = Arc::downgrade(call);
        }
    }

    /// What a run's call does, where this node makes it.
    pub(crate) fn call_of(&self, id: &RunId) -> Option<Arc<Collector>> {
        self.0.leases.lock().get(id)?.call.upgrade()
    }
}
