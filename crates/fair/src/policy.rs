//! Policies of fair semaphores, as data: quotas, waiting bounds, and the order in which permits are
//! granted.

use std::time::Duration;

/// Bounds for all together, for one tenant and for one owner of a tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quotas {
    /// For all tenants together.
    pub all: usize,
    /// For one tenant.
    pub tenant: usize,
    /// For one owner.
    pub owner: usize,
}

impl Quotas {
    /// Bounds nothing.
    pub const UNBOUNDED: Self = Self::of(usize::MAX);

    /// Bounds the total only: one tenant may have all of it.
    pub const fn of(all: usize) -> Self {
        Self { all, tenant: all, owner: all }
    }

    /// One tenant has three quarters of the total at most, and one owner half of it: whoever comes
    /// next finds something free.
    pub const fn shared(all: usize) -> Self {
        Self { owner: all.div_ceil(2), ..Self::shared_by_tenant(all) }
    }

    /// One tenant has three quarters of the total at most.
    pub const fn shared_by_tenant(all: usize) -> Self {
        Self::of(all).tenant(all - all / 4)
    }

    /// The same total, of which one tenant has `tenant` at most.
    pub const fn tenant(self, tenant: usize) -> Self {
        Self { tenant, owner: tenant, ..self }
    }
}

/// Which waiting request is granted next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// That of the tenant that holds the fewest permits, of its owner that holds the fewest; among
    /// equals the oldest request.
    FewestHeld,
    /// Tenants take turns; of a tenant that of its owner that holds the fewest, the oldest first.
    RoundRobin,
}

/// Adaptive concurrency limit: while CPU is short and several owners are active, an owner with more
/// than its share of the completions gets fewer permits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adaptive {
    /// An owner is never cut below 1/`floor` of its quota.
    pub floor: usize,
    /// For how long an owner counts as active after one of its permits was released.
    pub active: Duration,
}

/// How a fair semaphore shares its permits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// How many permits there are, and how many of them a tenant and an owner may hold.
    pub permits: Quotas,
    /// Which waiting request is granted next.
    pub order: Order,
    /// A tenant gets a second permit only after no other tenant held or asked for one for this
    /// long; none: as soon as one is free. For permits that are held for long.
    pub alone_after: Option<Duration>,
    /// Whether and how quotas of owners shrink under CPU pressure.
    pub adaptive: Option<Adaptive>,
}

impl Policy {
    /// Grants to whoever holds the fewest permits.
    pub const fn fewest_held(permits: Quotas) -> Self {
        Self { permits, order: Order::FewestHeld, alone_after: None, adaptive: None }
    }

    /// Tenants take turns, with one permit each unless a tenant was alone for a minute: for work
    /// that holds its permit for long, so that the next tenant finds one free.
    pub const fn one_at_a_time(permits: usize) -> Self {
        Self {
            permits: Quotas::of(permits),
            order: Order::RoundRobin,
            alone_after: Some(Duration::from_secs(60)),
            adaptive: None,
        }
    }
}

/// Bounds for one class of requests, within those of the [`Policy`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Class {
    /// Permits that may be held, of any class, for a request of this one to be granted.
    pub permits: Quotas,
    /// Requests that may wait.
    pub waiting: Quotas,
    /// Weight of the requests that wait. A request that is heavier waits where no other does.
    pub weight: Quotas,
}

impl Class {
    /// Bounds nothing beyond the policy.
    pub const UNBOUNDED: Self =
        Self { permits: Quotas::UNBOUNDED, waiting: Quotas::UNBOUNDED, weight: Quotas::UNBOUNDED };

    /// One tenant may hold so many permits, and have so many requests wait.
    pub const fn of_tenant(permits: usize, waiting: usize) -> Self {
        Self {
            permits: Quotas::UNBOUNDED.tenant(permits),
            waiting: Quotas::UNBOUNDED.tenant(waiting),
            weight: Quotas::UNBOUNDED,
        }
    }
}
