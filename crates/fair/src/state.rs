//! State of a fair semaphore: counts of what is held and waited for, and the request that is
//! granted next. Pure: the time is a parameter, and `W` is whatever wakes a waiting request.

use std::collections::HashMap;

use tokio::time::Instant;

use crate::adaptive::{Limiter, Pressure};
use crate::counts::Counts;
use crate::policy::{Class, Order, Policy, Quotas};
use crate::queues::{Admitted, Queues, Waiter};
use crate::{Key, Rejected};

pub(crate) struct State<T, O, W> {
    policy: Policy,
    total: Counts,
    /// Of the waiting requests, those that are bounded elsewhere and do not count for the total.
    exempt: usize,
    newest: u64,
    /// Tenants that hold or wait for something; no others.
    tenants: HashMap<T, Tenant<O, W>>,
    limiter: Option<Limiter<O>>,
    /// When a tenant held or asked for a permit last, where the policy asks for it.
    seen: HashMap<T, Instant>,
}

struct Tenant<O, W> {
    counts: Counts,
    /// Its turn among those that wait, in [`Order::RoundRobin`].
    turn: u64,
    /// Owners that hold or wait for something; no others.
    owners: HashMap<O, Owner<W>>,
}

struct Owner<W> {
    counts: Counts,
    queues: Queues<W>,
}

impl<T: Key, O: Key, W> State<T, O, W> {
    pub(crate) fn new(policy: Policy) -> Self {
        Self {
            policy,
            total: Counts::default(),
            exempt: 0,
            newest: 0,
            tenants: HashMap::new(),
            limiter: policy.adaptive.map(Limiter::new),
            seen: HashMap::new(),
        }
    }

    pub(crate) fn total(&self) -> Counts {
        self.total
    }

    pub(crate) fn exempt(&self) -> usize {
        self.exempt
    }

    pub(crate) fn free(&self) -> usize {
        self.policy.permits.all.saturating_sub(self.total.held)
    }

    /// Whether nobody holds or waits for a permit.
    pub(crate) fn is_idle(&self) -> bool {
        self.total.held == 0 && self.total.waiting == 0
    }

    pub(crate) fn held_by_tenant(&self) -> impl Iterator<Item = (&T, usize)> {
        self.tenants
            .iter()
            .map(|(tenant, of)| (tenant, of.counts.held))
            .filter(|(_, held)| *held > 0)
    }

    /// Counts of all, of the tenant, of the owner.
    fn counts(&self, tenant: &T, owner: &O) -> [Counts; 3] {
        let of_tenant = self.tenants.get(tenant);
        let of_owner = of_tenant.and_then(|of| of.owners.get(owner));
        [
            self.total,
            of_tenant.map_or_else(Counts::default, |of| of.counts),
            of_owner.map_or_else(Counts::default, |of| of.counts),
        ]
    }

    /// Changes the counts of all, of the tenant and of the owner alike; forgets who has nothing
    /// left.
    fn change(&mut self, tenant: &T, owner: &O, change: impl Fn(&mut Counts)) {
        change(&mut self.total);
        if !self.tenants.contains_key(tenant) {
            let of =
                Tenant { counts: Counts::default(), turn: self.newest, owners: HashMap::new() };
            self.tenants.insert(tenant.clone(), of);
        }
        let Some(of_tenant) = self.tenants.get_mut(tenant) else { return };
        change(&mut of_tenant.counts);
        if !of_tenant.owners.contains_key(owner) {
            let of = Owner { counts: Counts::default(), queues: Queues::default() };
            of_tenant.owners.insert(owner.clone(), of);
        }
        let Some(of_owner) = of_tenant.owners.get_mut(owner) else { return };
        change(&mut of_owner.counts);
        if of_owner.counts == Counts::default() {
            of_tenant.owners.remove(owner);
        }
        if of_tenant.owners.is_empty() {
            self.tenants.remove(tenant);
        }
    }

    /// Admits a request to wait, within the bounds of its class.
    pub(crate) fn admit(
        &mut self,
        tenant: &T,
        owner: &O,
        class: &Class,
        weight: usize,
    ) -> Result<Admitted, Rejected> {
        let [all, of_tenant, of_owner] = self.counts(tenant, owner);
        let (count, heaviest) = (class.waiting, class.weight);
        let is_crowded = all.waiting - self.exempt >= count.all
            || of_tenant.waiting >= count.tenant
            || of_owner.waiting >= count.owner;
        let exceeds = |there: usize, max: usize| there > 0 && there.saturating_add(weight) > max;
        let is_heavy = exceeds(all.weight, heaviest.all)
            || exceeds(of_tenant.weight, heaviest.tenant)
            || exceeds(of_owner.weight, heaviest.owner);
        if is_crowded || is_heavy {
            return Err(Rejected);
        }
        let admitted = Admitted { permits: class.permits, weight, is_exempt: false };
        self.admitted(tenant, owner, admitted);
        Ok(admitted)
    }

    /// Admits a request that is bounded elsewhere: it counts for its tenant and owner, not for the
    /// total.
    pub(crate) fn admit_exempt(&mut self, tenant: &T, owner: &O) -> Admitted {
        let admitted = Admitted { permits: Quotas::UNBOUNDED, weight: 0, is_exempt: true };
        self.exempt += 1;
        self.admitted(tenant, owner, admitted);
        admitted
    }

    fn admitted(&mut self, tenant: &T, owner: &O, admitted: Admitted) {
        self.change(tenant, owner, |counts| {
            counts.waiting += 1;
            counts.weight += admitted.weight;
        });
    }

    /// Takes back an admitted request that is in no queue.
    pub(crate) fn withdraw(&mut self, tenant: &T, owner: &O, admitted: Admitted) {
        self.exempt -= usize::from(admitted.is_exempt);
        self.change(tenant, owner, |counts| {
            counts.waiting -= 1;
            counts.weight -= admitted.weight;
        });
    }

    /// Queues an admitted request; gives its ticket.
    pub(crate) fn enqueue(&mut self, tenant: &T, owner: &O, admitted: Admitted, wake: W) -> u64 {
        self.newest += 1;
        let ticket = self.newest;
        let Some(of_tenant) = self.tenants.get_mut(tenant) else { return ticket };
        if of_tenant.owners.values().all(|of| of.queues.is_empty()) {
            of_tenant.turn = ticket;
        }
        let Some(of_owner) = of_tenant.owners.get_mut(owner) else { return ticket };
        let Admitted { permits, weight, is_exempt } = admitted;
        of_owner.queues.push(permits, Waiter { ticket, weight, is_exempt, wake });
        ticket
    }

    /// Takes a request out of its queue; false where it is in none any more.
    pub(crate) fn leave(
        &mut self,
        tenant: &T,
        owner: &O,
        admitted: Admitted,
        ticket: u64,
        now: Instant,
    ) -> bool {
        let is_there = self.take_out(tenant, owner, admitted.permits, ticket).is_some();
        if is_there {
            self.see(tenant, now);
            self.withdraw(tenant, owner, admitted);
        }
        is_there
    }

    fn take_out(
        &mut self,
        tenant: &T,
        owner: &O,
        permits: Quotas,
        ticket: u64,
    ) -> Option<Waiter<W>> {
        self.tenants.get_mut(tenant)?.owners.get_mut(owner)?.queues.remove(permits, ticket)
    }

    /// Notes that a tenant held or asked for a permit.
    pub(crate) fn see(&mut self, tenant: &T, now: Instant) {
        if let Some(alone_after) = self.policy.alone_after {
            self.seen.retain(|_, seen| now.duration_since(*seen) < alone_after);
            self.seen.insert(tenant.clone(), now);
        }
    }

    /// Whether no other tenant held or asked for a permit lately.
    fn is_alone(&self, tenant: &T, now: Instant) -> bool {
        self.policy.alone_after.is_none_or(|alone_after| {
            self.tenants.keys().all(|other| other == tenant)
                && self.seen.iter().all(|(other, seen)| {
                    other == tenant || now.duration_since(*seen) >= alone_after
                })
        })
    }

    /// Whether so many more permits are within all quotas.
    fn fits(
        &self,
        (tenant, of_tenant): (&T, Counts),
        (owner, of_owner): (&O, Counts),
        class: Quotas,
        count: usize,
        now: Instant,
    ) -> bool {
        let permits = self.policy.permits;
        let fits = |held: usize, max: usize| held.saturating_add(count) <= max;
        fits(self.total.held, permits.all.min(class.all))
            && fits(of_tenant.held, permits.tenant.min(class.tenant))
            && fits(of_owner.held, self.owner_quota(owner).min(class.owner))
            && (of_tenant.held == 0 || self.is_alone(tenant, now))
    }

    fn owner_quota(&self, owner: &O) -> usize {
        let limit = self.limiter.as_ref().and_then(|limiter| limiter.limit(owner));
        limit.unwrap_or(self.policy.permits.owner)
    }

    /// The request of a tenant that is granted next, where one may be: its owner, what that holds,
    /// the bounds of its queue, its ticket.
    fn first_of<'a>(
        &self,
        tenant: &T,
        of: &'a Tenant<O, W>,
        now: Instant,
    ) -> Option<(&'a O, usize, Quotas, u64)> {
        let waiting = of.owners.iter().flat_map(|(owner, of_owner)| {
            let fronts = of_owner.queues.fronts();
            fronts.map(move |(bounds, ticket)| (owner, of_owner.counts, bounds, ticket))
        });
        waiting
            .filter(|(owner, counts, bounds, _)| {
                self.fits((tenant, of.counts), (*owner, *counts), *bounds, 1, now)
            })
            .map(|(owner, counts, bounds, ticket)| (owner, counts.held, bounds, ticket))
            .min_by_key(|(_, held, _, ticket)| (*held, *ticket))
    }

    /// Whether `count` permits are free within all quotas, and no older request of the tenant could
    /// be granted.
    fn may_acquire(
        &self,
        tenant: &T,
        owner: &O,
        class: Quotas,
        count: usize,
        now: Instant,
    ) -> bool {
        let [_, of_tenant, of_owner] = self.counts(tenant, owner);
        self.fits((tenant, of_tenant), (owner, of_owner), class, count, now)
            && self.tenants.get(tenant).is_none_or(|of| self.first_of(tenant, of, now).is_none())
    }

    /// Takes `count` permits, where that is possible at once.
    pub(crate) fn try_acquire(
        &mut self,
        tenant: &T,
        owner: &O,
        class: Quotas,
        count: usize,
        now: Instant,
    ) -> bool {
        let is_free = self.may_acquire(tenant, owner, class, count, now);
        if is_free {
            self.acquire_anyway(tenant, owner, count);
        }
        is_free
    }

    /// Takes `count` permits, whatever the quotas are.
    pub(crate) fn acquire_anyway(&mut self, tenant: &T, owner: &O, count: usize) {
        self.change(tenant, owner, |counts| counts.held += count);
    }

    /// Grants an admitted request that is in no queue, where that is possible at once.
    pub(crate) fn grant_at_once(
        &mut self,
        tenant: &T,
        owner: &O,
        admitted: Admitted,
        now: Instant,
    ) -> bool {
        let is_free = self.may_acquire(tenant, owner, admitted.permits, 1, now);
        if is_free {
            self.granted(tenant, owner, admitted.weight, admitted.is_exempt);
        }
        is_free
    }

    /// A request that waited holds a permit.
    fn granted(&mut self, tenant: &T, owner: &O, weight: usize, is_exempt: bool) {
        self.exempt -= usize::from(is_exempt);
        self.change(tenant, owner, |counts| {
            counts.held += 1;
            counts.waiting -= 1;
            counts.weight -= weight;
        });
    }

    /// Grants a permit to the waiting request that is next, where there is one that may have it.
    pub(crate) fn grant_next(&mut self, now: Instant) -> Option<(T, O, W)> {
        if self.free() == 0 || self.total.waiting == 0 {
            return None;
        }
        let first = self.tenants.iter().filter_map(|(tenant, of)| {
            let (owner, _, bounds, ticket) = self.first_of(tenant, of, now)?;
            let rank = match self.policy.order {
                Order::FewestHeld => (of.counts.held, ticket),
                Order::RoundRobin => (0, of.turn),
            };
            Some((rank, tenant, owner, bounds, ticket))
        });
        let (_, tenant, owner, bounds, ticket) = first.min_by_key(|(rank, ..)| *rank)?;
        let (tenant, owner) = (tenant.clone(), owner.clone());
        let waiter = self.take_out(&tenant, &owner, bounds, ticket)?;
        self.granted(&tenant, &owner, waiter.weight, waiter.is_exempt);
        self.newest += 1;
        if let Some(of) = self.tenants.get_mut(&tenant) {
            of.turn = self.newest;
        }
        Some((tenant, owner, waiter.wake))
    }

    /// Gives back permits.
    pub(crate) fn release(&mut self, tenant: &T, owner: &O, count: usize, now: Instant) {
        self.see(tenant, now);
        if let Some(limiter) = &mut self.limiter {
            limiter.completed(owner, now);
        }
        self.change(tenant, owner, |counts| counts.held -= count);
    }

    /// Owners that may have no further permit by the policy: by themselves, or with the others of
    /// their tenant.
    pub(crate) fn owners_at_quota(&self, waiting: usize) -> impl Iterator<Item = &O> {
        self.tenants.values().flat_map(move |of| {
            let is_tenant_full = of.counts.held >= self.policy.permits.tenant;
            of.owners.iter().filter_map(move |(owner, of_owner)| {
                let is_full = is_tenant_full || of_owner.counts.held >= self.owner_quota(owner);
                (is_full && of_owner.counts.waiting >= waiting).then_some(owner)
            })
        })
    }

    /// Which of the tenants given would be granted a permit next: the first of those that hold the
    /// fewest, and less than their quota.
    pub(crate) fn first_among<'a>(&self, tenants: impl Iterator<Item = &'a T>) -> Option<usize>
    where
        T: 'a,
    {
        let held = |tenant| self.tenants.get(tenant).map_or(0, |of| of.counts.held);
        tenants
            .map(held)
            .enumerate()
            .filter(|(_, held)| *held < self.policy.permits.tenant)
            .min_by_key(|(_, held)| *held)
            .map(|(at, _)| at)
    }

    /// Adjusts the limits of owners (see [`crate::Adaptive`]).
    pub(crate) fn adapt(&mut self, pressure: Pressure, now: Instant) {
        let owners = self.tenants.values().flat_map(|of| &of.owners);
        let busy = owners.map(|(owner, of)| (owner, of.counts.held, of.counts.waiting));
        if let Some(limiter) = &mut self.limiter {
            limiter.adjust(busy, self.policy.permits.owner, pressure, now);
        }
    }
}
