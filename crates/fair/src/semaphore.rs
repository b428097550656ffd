//! Fair semaphore with waiting: tickets of admitted requests, and permits that are returned when
//! they are dropped.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

use crate::policy::{Class, Policy, Quotas};
use crate::queues::Admitted;
use crate::state::State;
use crate::{Key, Pressure, Rejected};

/// Permits that tenants, and owners within a tenant, share by a [`Policy`]. Cheap to clone.
pub struct FairSemaphore<T: Key, O: Key = ()>(Arc<Inner<T, O>>);

/// Its state; a permit wakes the request that it is granted to.
type Granting<T, O> = State<T, O, oneshot::Sender<Permit<T, O>>>;
type Guard<'a, T, O> = MutexGuard<'a, Granting<T, O>>;

struct Inner<T: Key, O: Key> {
    policy: Policy,
    state: Mutex<Granting<T, O>>,
    /// Notified when a permit is returned or a request stops waiting.
    changed: Notify,
    /// Notified when nobody holds or waits for a permit.
    idle: Notify,
}

impl<T: Key, O: Key> Clone for FairSemaphore<T, O> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: Key, O: Key> fmt::Debug for FairSemaphore<T, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FairSemaphore").field(&self.0.policy).finish()
    }
}

impl<T: Key, O: Key> FairSemaphore<T, O> {
    /// A semaphore with all permits free.
    pub fn new(policy: Policy) -> Self {
        Self(Arc::new(Inner {
            policy,
            state: Mutex::new(State::new(policy)),
            changed: Notify::new(),
            idle: Notify::new(),
        }))
    }

    fn state(&self) -> Guard<'_, T, O> {
        self.0.state.lock()
    }

    fn permit(&self, tenant: T, owner: O, count: usize) -> Permit<T, O> {
        Permit { semaphore: self.clone(), tenant, owner, count: AtomicUsize::new(count) }
    }

    /// Admits a request to wait for a permit; `weight` counts as long as it waits.
    ///
    /// # Errors
    /// [`Rejected`] where that is beyond the bounds of its class.
    pub fn admit(
        &self,
        tenant: T,
        owner: O,
        class: &Class,
        weight: usize,
    ) -> Result<Ticket<T, O>, Rejected> {
        let mut state = self.state();
        let admitted = state.admit(&tenant, &owner, class, weight)?;
        state.see(&tenant, Instant::now());
        drop(state);
        Ok(self.ticket(tenant, owner, admitted))
    }

    /// Admits a request to wait that is bounded elsewhere: it counts for its tenant and owner, not
    /// for the total.
    pub fn admit_exempt(&self, tenant: T, owner: O) -> Ticket<T, O> {
        let admitted = self.state().admit_exempt(&tenant, &owner);
        self.ticket(tenant, owner, admitted)
    }

    fn ticket(&self, tenant: T, owner: O, admitted: Admitted) -> Ticket<T, O> {
        Ticket { semaphore: self.clone(), key: Some((tenant, owner)), admitted, queued: None }
    }

    /// Waits for a permit. A request that is dropped waits no longer.
    ///
    /// # Errors
    /// [`Rejected`] where no permit is free for it and as many requests wait as may.
    pub async fn acquire(
        &self,
        tenant: T,
        owner: O,
        class: &Class,
    ) -> Result<Permit<T, O>, Rejected> {
        let ticket = {
            let (mut state, now) = (self.state(), Instant::now());
            state.see(&tenant, now);
            if state.try_acquire(&tenant, &owner, class.permits, 1, now) {
                drop(state);
                return Ok(self.permit(tenant, owner, 1));
            }
            let admitted = state.admit(&tenant, &owner, class, 0)?;
            drop(state);
            self.ticket(tenant, owner, admitted)
        };
        Ok(ticket.granted().await)
    }

    /// A permit, where one is free within all quotas.
    pub fn try_acquire(&self, tenant: T, owner: O) -> Option<Permit<T, O>> {
        let permit = self.empty_permit(tenant, owner);
        permit.grow(1, Quotas::UNBOUNDED).then_some(permit)
    }

    /// A permit that holds nothing yet, for what grows.
    pub fn empty_permit(&self, tenant: T, owner: O) -> Permit<T, O> {
        self.permit(tenant, owner, 0)
    }

    /// How many permits are held.
    pub fn held(&self) -> usize {
        self.state().total().held
    }

    /// How many requests wait.
    pub fn waiting(&self) -> usize {
        self.state().total().waiting
    }

    /// Of the requests that wait, those of [`FairSemaphore::admit_exempt`].
    pub fn waiting_exempt(&self) -> usize {
        self.state().exempt()
    }

    /// How many permits nobody holds.
    pub fn free(&self) -> usize {
        self.state().free()
    }

    /// How many permits each tenant holds; none of zero.
    pub fn held_by_tenant(&self) -> HashMap<T, usize> {
        self.state().held_by_tenant().map(|(tenant, held)| (tenant.clone(), held)).collect()
    }

    /// Owners that may have no further permit now, and of which at least `waiting` requests wait.
    pub fn owners_at_quota(&self, waiting: usize) -> Vec<O> {
        self.state().owners_at_quota(waiting).cloned().collect()
    }

    /// Which of the tenants given would be granted a permit next, by position: the first of those
    /// that hold the fewest, and less than their quota.
    pub fn first_among<'a>(&self, tenants: impl Iterator<Item = &'a T>) -> Option<usize>
    where
        T: 'a,
    {
        self.state().first_among(tenants)
    }

    /// Adjusts the limits of owners to how short CPU is (see [`crate::Adaptive`]).
    pub fn adapt(&self, pressure: Pressure, now: Instant) {
        let mut state = self.state();
        state.adapt(pressure, now);
        if state.total().waiting > 0 {
            self.grant(state);
            self.0.changed.notify_one();
        }
    }

    /// Ends when a permit was returned, or a request stopped waiting, since the last call. For one
    /// task.
    pub async fn changed(&self) {
        self.0.changed.notified().await;
    }

    /// Ends when nobody holds or waits for a permit.
    pub async fn idle(&self) {
        loop {
            let mut idle = std::pin::pin!(self.0.idle.notified());
            idle.as_mut().enable();
            if self.state().is_idle() {
                return;
            }
            idle.await;
        }
    }

    /// Grants free permits, and sends them once the state is unlocked: the permit of a request that
    /// is gone by then is dropped there, and goes to the next one.
    fn grant(&self, mut state: Guard<'_, T, O>) {
        let now = Instant::now();
        let granted: Vec<_> = std::iter::from_fn(|| state.grant_next(now))
            .map(|(tenant, owner, wake)| (wake, self.permit(tenant, owner, 1)))
            .collect();
        drop(state);
        for (wake, permit) in granted {
            drop(wake.send(permit));
        }
    }

    /// Something was given back.
    fn given_back(&self, state: Guard<'_, T, O>) {
        let is_idle = state.is_idle();
        self.grant(state);
        self.0.changed.notify_one();
        if is_idle {
            self.0.idle.notify_waiters();
        }
    }
}

/// A request that was admitted to wait. Withdrawn when dropped.
#[derive(Debug)]
pub struct Ticket<T: Key, O: Key = ()> {
    semaphore: FairSemaphore<T, O>,
    /// None once it is granted.
    key: Option<(T, O)>,
    admitted: Admitted,
    /// Its number in a queue, once it is there.
    queued: Option<u64>,
}

impl<T: Key, O: Key> Ticket<T, O> {
    /// Queues the request, and waits until it is granted.
    pub async fn granted(mut self) -> Permit<T, O> {
        let mut granted = match self.start() {
            Ok(permit) => return permit,
            Err(granted) => granted,
        };
        let permit = match self.semaphore.0.policy.alone_after {
            None => granted.await,
            Some(alone_after) => loop {
                // Time alone makes requests grantable.
                self.semaphore.grant(self.semaphore.state());
                if let Ok(permit) = tokio::time::timeout(alone_after, &mut granted).await {
                    break permit;
                }
            },
        };
        // A sender is dropped only with this ticket, or once it has sent.
        let Ok(permit) = permit else { return std::future::pending().await };
        self.key = None;
        permit
    }

    /// The permit, or what receives it later.
    fn start(&mut self) -> Result<Permit<T, O>, oneshot::Receiver<Permit<T, O>>> {
        let (mut state, now) = (self.semaphore.state(), Instant::now());
        let granted = self
            .key
            .take_if(|(tenant, owner)| state.grant_at_once(tenant, owner, self.admitted, now));
        if let Some((tenant, owner)) = granted {
            drop(state);
            return Ok(self.semaphore.permit(tenant, owner, 1));
        }
        let (wake, granted) = oneshot::channel();
        if let Some((tenant, owner)) = &self.key {
            self.queued = Some(state.enqueue(tenant, owner, self.admitted, wake));
        }
        Err(granted)
    }
}

impl<T: Key, O: Key> Drop for Ticket<T, O> {
    fn drop(&mut self) {
        let Some((tenant, owner)) = self.key.take() else { return };
        let mut state = self.semaphore.state();
        match self.queued {
            None => state.withdraw(&tenant, &owner, self.admitted),
            // It is granted already, and the permit is on its way.
            Some(ticket)
                if !state.leave(&tenant, &owner, self.admitted, ticket, Instant::now()) =>
            {
                return;
            }
            Some(_) => {}
        }
        self.semaphore.given_back(state);
    }
}

/// Permits that are held: one, unless it grows. Returned when dropped.
pub struct Permit<T: Key, O: Key = ()> {
    semaphore: FairSemaphore<T, O>,
    tenant: T,
    owner: O,
    /// Changed under the lock of the state.
    count: AtomicUsize,
}

impl<T: Key, O: Key> fmt::Debug for Permit<T, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Permit").field(&self.count).finish()
    }
}

impl<T: Key, O: Key> Permit<T, O> {
    /// Takes `count` more permits, where they are within the quotas of the policy and of `class`.
    pub fn grow(&self, count: usize, class: Quotas) -> bool {
        let mut state = self.semaphore.state();
        let grows = state.try_acquire(&self.tenant, &self.owner, class, count, Instant::now());
        if grows {
            self.count.fetch_add(count, Ordering::Relaxed);
        }
        grows
    }

    /// Takes `count` more permits, whatever the quotas are.
    pub fn grow_anyway(&self, count: usize) {
        let mut state = self.semaphore.state();
        state.acquire_anyway(&self.tenant, &self.owner, count);
        self.count.fetch_add(count, Ordering::Relaxed);
    }
}

impl<T: Key, O: Key> Drop for Permit<T, O> {
    fn drop(&mut self) {
        let count = *self.count.get_mut();
        if count == 0 {
            return;
        }
        let mut state = self.semaphore.state();
        state.release(&self.tenant, &self.owner, count, Instant::now());
        self.semaphore.given_back(state);
    }
}
