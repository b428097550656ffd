//! Property tests: for any requests in any order, quotas hold, no permit is lost, free permits are
//! not withheld, and no owner starves.

use std::collections::HashMap;
use std::time::Duration;

use proptest::prelude::*;
use tokio::time::Instant;

use crate::counts::Counts;
use crate::policy::{Adaptive, Class, Order, Policy, Quotas};
use crate::queues::Admitted;
use crate::state::State;
use crate::{FairSemaphore, Pressure};

const TENANTS: u8 = 4;
const OWNERS: u8 = 3;

/// A step of a random history. Positions are taken modulo how many there are.
#[derive(Clone, Debug)]
enum Step {
    Ask { tenant: u8, owner: u8, weight: usize, is_exempt: bool },
    Leave(usize),
    Release(usize),
    Adapt(bool),
    Wait(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0..TENANTS, 0..OWNERS, 0..20usize, any::<bool>()).prop_map(
            |(tenant, owner, weight, is_exempt)| Step::Ask { tenant, owner, weight, is_exempt }
        ),
        1 => any::<usize>().prop_map(Step::Leave),
        4 => any::<usize>().prop_map(Step::Release),
        1 => any::<bool>().prop_map(Step::Adapt),
        1 => (0..20u64).prop_map(Step::Wait),
    ];
    prop::collection::vec(step, 0..200)
}

/// A tenant and owner that ask, and which request or permit is dropped then.
fn asked() -> impl Strategy<Value = (u8, u8, bool, usize)> {
    (0..TENANTS, 0..OWNERS, any::<bool>(), any::<usize>())
}

fn policies() -> impl Strategy<Value = Policy> {
    (1..9usize, any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
        |(permits, is_fewest, is_alone, is_adaptive)| Policy {
            permits: Quotas::shared(permits),
            order: if is_fewest { Order::FewestHeld } else { Order::RoundRobin },
            alone_after: is_alone.then_some(Duration::from_secs(10)),
            adaptive: is_adaptive.then_some(Adaptive { floor: 8, active: Duration::from_secs(5) }),
        },
    )
}

const BOUNDED: Class =
    Class { permits: Quotas::UNBOUNDED, waiting: Quotas::shared(12), weight: Quotas::shared(100) };

type Key = (u8, u8);

/// A state, and what it should hold by a plain list.
struct Model {
    policy: Policy,
    state: State<u8, (u8, u8), usize>,
    now: Instant,
    held: Vec<Key>,
    /// By what wakes them.
    waiting: HashMap<usize, (Key, Admitted, u64, usize)>,
    newest: usize,
}

impl Model {
    fn new(policy: Policy) -> Self {
        let (held, waiting) = (Vec::new(), HashMap::new());
        Self { policy, state: State::new(policy), now: Instant::now(), held, waiting, newest: 0 }
    }

    fn ask(&mut self, tenant: u8, owner: u8, weight: usize, class: Option<&Class>) {
        let key = (tenant, owner);
        self.state.see(&tenant, self.now);
        let admitted = match class {
            Some(class) => self.state.admit(&tenant, &key, class, weight),
            None => Ok(self.state.admit_exempt(&tenant, &key)),
        };
        let Ok(admitted) = admitted else { return };
        if self.state.grant_at_once(&tenant, &key, admitted, self.now) {
            self.held.push(key);
            return;
        }
        self.newest += 1;
        let ticket = self.state.enqueue(&tenant, &key, admitted, self.newest);
        let weight = if class.is_some() { weight } else { 0 };
        self.waiting.insert(self.newest, (key, admitted, ticket, weight));
    }

    /// Grants what may be granted; what it was.
    fn grant(&mut self) -> Vec<usize> {
        let mut granted = Vec::new();
        while let Some((tenant, owner, wake)) = self.state.grant_next(self.now) {
            let (key, ..) = self.waiting.remove(&wake).expect("it waits");
            assert_eq!((tenant, owner), (key.0, key));
            self.held.push(key);
            granted.push(wake);
        }
        granted
    }

    fn release(&mut self, nth: usize) {
        if !self.held.is_empty() {
            let key = self.held.remove(nth % self.held.len());
            self.state.release(&key.0, &key, 1, self.now);
        }
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Ask { tenant, owner, weight, is_exempt } => {
                self.ask(tenant, owner, weight, (!is_exempt).then_some(&BOUNDED));
            }
            Step::Leave(nth) => {
                let mut all: Vec<_> = self.waiting.keys().copied().collect();
                all.sort_unstable();
                if let Some(wake) = all.get(nth % all.len().max(1)) {
                    let (key, admitted, ticket, _) = self.waiting.remove(wake).expect("it waits");
                    assert!(self.state.leave(&key.0, &key, admitted, ticket, self.now));
                }
            }
            Step::Release(nth) => self.release(nth),
            Step::Adapt(is_high) => {
                let pressure = if is_high { Pressure::High } else { Pressure::Low };
                self.state.adapt(pressure, self.now);
            }
            Step::Wait(seconds) => self.now += Duration::from_secs(seconds),
        }
    }

    fn held_of(&self, is: impl Fn(&Key) -> bool) -> usize {
        self.held.iter().filter(|key| is(key)).count()
    }

    /// The counts are those of the list, and no quota is exceeded.
    fn check(&self) {
        let weight = self.waiting.values().map(|(.., weight)| weight).sum();
        let counts = Counts { held: self.held.len(), waiting: self.waiting.len(), weight };
        assert_eq!(self.state.total(), counts);
        let permits = self.policy.permits;
        assert!(self.held.len() <= permits.all);
        for tenant in 0..TENANTS {
            let held = self.held_of(|key| key.0 == tenant);
            assert!(held <= permits.tenant);
            let told = self.state.held_by_tenant().find(|(of, _)| **of == tenant);
            assert_eq!(told.map_or(0, |(_, held)| held), held);
            for owner in 0..OWNERS {
                assert!(self.held_of(|key| *key == (tenant, owner)) <= permits.owner);
            }
        }
    }

    /// A free permit is withheld only by a quota (where nothing else withholds one).
    fn check_that_nothing_is_withheld(&self) {
        let permits = self.policy.permits;
        if self.policy.alone_after.is_some() || self.policy.adaptive.is_some() {
            return;
        }
        for (key, ..) in self.waiting.values() {
            assert!(
                self.held.len() == permits.all
                    || self.held_of(|held| held.0 == key.0) == permits.tenant
                    || self.held_of(|held| held == key) == permits.owner,
                "{key:?} waits while a permit is free"
            );
        }
    }
}

proptest! {
    #[test]
    fn quotas_hold_and_every_permit_comes_back(policy in policies(), steps in steps()) {
        let mut model = Model::new(policy);
        for step in &steps {
            model.step(step);
            model.grant();
            model.check();
            model.check_that_nothing_is_withheld();
        }
        // As permits are released, all that wait are granted, and nothing is left in the end.
        while !model.waiting.is_empty() || !model.held.is_empty() {
            model.now += Duration::from_secs(10);
            prop_assert!(!model.grant().is_empty() || !model.held.is_empty(), "a request starves");
            model.release(0);
            model.check();
        }
        prop_assert!(model.state.is_idle() && model.state.exempt() == 0);
        prop_assert_eq!(model.state.held_by_tenant().count(), 0);
    }

    /// Beside tenants that ask again for each permit they release, a tenant without permits is
    /// granted one after those at most that waited before it.
    #[test]
    fn no_flood_starves_a_tenant_without_permits(
        permits in 1..6usize,
        is_fewest in any::<bool>(),
        flood in prop::collection::vec((0..TENANTS, 0..OWNERS), 1..60),
        releases in prop::collection::vec(any::<usize>(), 100),
    ) {
        let order = if is_fewest { Order::FewestHeld } else { Order::RoundRobin };
        let policy = Policy { order, ..Policy::fewest_held(Quotas::of(permits)) };
        let mut model = Model::new(policy);
        for (tenant, owner) in flood {
            model.ask(tenant, owner, 1, Some(&Class::UNBOUNDED));
        }
        model.ask(TENANTS, 0, 1, Some(&Class::UNBOUNDED));
        let before = if is_fewest { model.waiting.len() } else { usize::from(TENANTS) + 1 };
        let (victim, mut released) = (model.newest, 0);
        while model.waiting.get(&victim).is_some_and(|(key, ..)| key.0 == TENANTS) {
            prop_assert!(released < before, "it waits longer than those before it");
            let nth = releases[released % releases.len()] % model.held.len();
            let (tenant, owner) = model.held[nth];
            model.release(nth);
            model.grant();
            model.ask(tenant, owner, 1, Some(&Class::UNBOUNDED));
            released += 1;
        }
    }

    /// Futures that are dropped at any time neither keep a permit nor wait on.
    #[test]
    fn dropped_requests_leave_nothing_behind(
        permits in 1..4usize,
        asked in prop::collection::vec(asked(), 1..60),
    ) {
        let semaphore = FairSemaphore::new(Policy::fewest_held(Quotas::shared(permits)));
        let (mut waiting, mut held) = (Vec::new(), Vec::new());
        for (tenant, owner, is_dropped, nth) in asked {
            let ticket = semaphore.admit(tenant, owner, &Class::UNBOUNDED, 1).expect("unbounded");
            waiting.push(Box::pin(ticket.granted()));
            let mut context = std::task::Context::from_waker(std::task::Waker::noop());
            waiting.retain_mut(|request| match request.as_mut().poll(&mut context) {
                std::task::Poll::Ready(permit) => {
                    held.push(permit);
                    false
                }
                std::task::Poll::Pending => true,
            });
            prop_assert!(held.len() <= permits);
            if is_dropped && !waiting.is_empty() {
                drop(waiting.swap_remove(nth % waiting.len()));
            } else if !held.is_empty() {
                drop(held.swap_remove(nth % held.len()));
            }
        }
        drop((waiting, held));
        prop_assert_eq!((semaphore.held(), semaphore.waiting(), semaphore.free()), (0, 0, permits));
    }
}
