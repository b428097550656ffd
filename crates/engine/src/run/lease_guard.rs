//! Leases of the runs that this server executes.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use millrace_model::ids::RunId;
use millrace_model::source::Owner;

use crate::Engine;
use crate::run::begin_order::BeginTurn;
use crate::run::execute::Held;
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
pub(crate) struct HeldLease {
    pub(crate) attempt: i64,
    number: u64,
    /// What its call does, once that began.
    call: Weak<Collector>,
}

impl Engine {
    /// From now on the run's lease is renewed, until what this gives is dropped.
    pub(crate) fn hold(&self, held: &Held) -> LeaseGuard {
        let number = self.0.lease_numbers.fetch_add(1, Ordering::Relaxed);
        let lease = HeldLease { attempt: held.attempt, number, call: Weak::new() };
        self.0.held.lock().insert(held.id.clone(), lease);
        let begins = if let Owner::Source(id) = &held.owner {
            Some(self.0.begin_order.enter(id))
        } else {
            None
        };
        LeaseGuard { engine: self.clone(), id: held.id.clone(), number, begins }
    }

    /// Lets go of a run. Not where it was claimed again meanwhile: that lease goes on, and its end
    /// is waited for.
    fn release_lease(&self, id: &RunId, number: u64) {
        let waiter = {
            let mut held = self.0.held.lock();
            match held.get(id) {
                Some(hold) if hold.number != number => return,
                _ => held.remove(id),
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
        if let Some(hold) = self.0.held.lock().get_mut(id) {
            hold.call = Arc::downgrade(call);
        }
    }

    /// What a run's call does, where this node makes it.
    pub(crate) fn call_of(&self, id: &RunId) -> Option<Arc<Collector>> {
        self.0.held.lock().get(id)?.call.upgrade()
    }
}
