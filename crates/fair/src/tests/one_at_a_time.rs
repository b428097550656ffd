//! Tests of round-robin between tenants, and of the second permit that only a lone tenant gets, as
//! bundles use them.

use std::time::Duration;

use tokio::time::Instant;

use crate::policy::{Class, Policy};
use crate::state::State;
use crate::{FairSemaphore, Rejected};

const ALONE_AFTER: Duration = Duration::from_secs(60);
const CLASS: Class = Class::of_tenant(2, 3);

type Bundles = State<&'static str, (), u32>;

#[derive(Debug, PartialEq, Eq)]
enum Asked {
    Granted,
    Waits(u64),
    Rejected,
}

/// What [`FairSemaphore::acquire`] does to the state.
fn ask(state: &mut Bundles, tenant: &'static str, class: Class, now: Instant) -> Asked {
    state.see(&tenant, now);
    if state.try_acquire(&tenant, &(), class.permits, 1, now) {
        return Asked::Granted;
    }
    match state.admit(&tenant, &(), &class, 0) {
        Ok(admitted) => Asked::Waits(state.enqueue(&tenant, &(), admitted, 0)),
        Err(Rejected) => Asked::Rejected,
    }
}

fn granted(state: &mut Bundles, now: Instant) -> Vec<&'static str> {
    std::iter::from_fn(|| state.grant_next(now)).map(|(tenant, ..)| tenant).collect()
}

fn give_back(state: &mut Bundles, tenant: &'static str, now: Instant) -> Vec<&'static str> {
    state.release(&tenant, &(), 1, now);
    granted(state, now)
}

/// The order in which those that wait get the permit that `first` gives back, and so on.
fn served(state: &mut Bundles, first: &'static str, now: Instant) -> String {
    let (mut order, mut giving) = (String::new(), vec![first]);
    while let Some(one) = giving.pop() {
        for next in give_back(state, one, now) {
            order.push_str(next);
            giving.insert(0, next);
        }
    }
    order
}

#[test]
fn tenants_without_a_permit_come_first_and_take_turns() {
    let (mut state, now) = (State::new(Policy::one_at_a_time(2)), Instant::now());
    for _ in 0..2 {
        assert_eq!(ask(&mut state, "a", CLASS, now), Asked::Granted, "alone it has all");
    }
    for tenant in ["a", "a", "a", "b", "b", "c"] {
        assert!(matches!(ask(&mut state, tenant, CLASS, now), Asked::Waits(_)));
    }
    // One permit of `a` stays held, and it gets no other so soon after the others.
    assert_eq!(served(&mut state, "a", now), "bcb");
    assert_eq!((state.free(), state.total().held, state.total().waiting), (1, 1, 3));
    assert_eq!(granted(&mut state, now + ALONE_AFTER), ["a"], "alone it has all");
    assert_eq!(served(&mut state, "a", now + ALONE_AFTER), "aa");
}

#[test]
fn a_second_permit_is_for_a_tenant_that_was_alone_for_a_minute() {
    let (mut state, start) = (State::new(Policy::one_at_a_time(2)), Instant::now());
    let at = |seconds| start + Duration::from_secs(seconds);
    let none: [&str; 0] = [];
    assert_eq!(
        [ask(&mut state, "a", CLASS, at(0)), ask(&mut state, "a", CLASS, at(0))],
        [Asked::Granted, Asked::Granted]
    );
    assert_eq!(
        [ask(&mut state, "a", CLASS, at(0)), ask(&mut state, "b", CLASS, at(0))],
        [Asked::Waits(1), Asked::Waits(2)]
    );
    assert_eq!(give_back(&mut state, "a", at(50)), ["b"], "the others wait once");
    assert_eq!(give_back(&mut state, "b", at(51)), none, "and find one free the next time");
    assert_eq!(ask(&mut state, "b", CLASS, at(110)), Asked::Granted);
    assert_eq!(give_back(&mut state, "b", at(120)), none);
    // A tenant that was rejected, or waited in vain, asked as well.
    assert_eq!(ask(&mut state, "b", CLASS, at(121)), Asked::Granted);
    assert_eq!(ask(&mut state, "b", Class::of_tenant(2, 0), at(130)), Asked::Rejected);
    let admitted = state.admit(&"b", &(), &CLASS, 0).expect("may wait");
    let ticket = state.enqueue(&"b", &(), admitted, 0);
    assert!(state.leave(&"b", &(), admitted, ticket, at(140)));
    assert!(!state.leave(&"b", &(), admitted, ticket, at(140)), "it has left");
    assert_eq!(granted(&mut state, at(199)), none, "it holds a permit still");
    assert_eq!(give_back(&mut state, "b", at(140)), none);
    assert_eq!(granted(&mut state, at(199)), none);
    // The older request comes first, also where nothing but time made it grantable.
    assert!(matches!(ask(&mut state, "a", CLASS, at(200)), Asked::Waits(_)));
    assert_eq!(granted(&mut state, at(200)), ["a"]);
    assert_eq!((state.free(), state.total().held, state.total().waiting), (0, 2, 1));
}

#[test]
fn of_each_tenant_only_so_many_wait() {
    let (mut state, now) = (State::new(Policy::one_at_a_time(1)), Instant::now());
    let all = |state: &mut Bundles, tenant| {
        let asked = (0..5).map(|_| ask(state, tenant, CLASS, now)).collect::<Vec<_>>();
        let count = |what: fn(&Asked) -> bool| asked.iter().filter(|asked| what(asked)).count();
        (
            count(|asked| *asked == Asked::Granted),
            count(|asked| matches!(asked, Asked::Waits(_))),
            count(|asked| *asked == Asked::Rejected),
        )
    };
    assert_eq!((all(&mut state, "a"), all(&mut state, "b")), ((1, 3, 1), (0, 3, 2)));
    assert_eq!(ask(&mut state, "c", Class::of_tenant(2, 0), now), Asked::Rejected);
    assert_eq!(state.total().waiting, 6);
}

#[test]
fn a_class_of_one_permit_leaves_the_others_free() {
    let (mut state, now, one) =
        (State::new(Policy::one_at_a_time(2)), Instant::now(), Class::of_tenant(1, 3));
    assert_eq!(ask(&mut state, "a", one, now), Asked::Granted);
    assert!(matches!(ask(&mut state, "a", one, now), Asked::Waits(_)));
    assert_eq!(
        ask(&mut state, "a", CLASS, now),
        Asked::Granted,
        "a request of another class goes past it"
    );
    assert!(give_back(&mut state, "a", now).is_empty(), "one is held still");
    assert_eq!(ask(&mut state, "b", one, now), Asked::Granted);
    assert_eq!(give_back(&mut state, "a", now), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn time_alone_grants_a_second_permit() {
    let semaphore = FairSemaphore::new(Policy::one_at_a_time(2));
    drop(semaphore.acquire("b", (), &CLASS).await.expect("is free"));
    let _first = semaphore.acquire("a", (), &CLASS).await.expect("is free");
    let begun = Instant::now();
    let _second = semaphore.acquire("a", (), &CLASS).await.expect("may wait");
    assert_eq!(begun.elapsed().as_secs(), 60);
}

#[tokio::test]
async fn a_permit_for_a_request_that_is_gone_goes_to_the_next() {
    let semaphore = FairSemaphore::new(Policy::one_at_a_time(1));
    let held = semaphore.acquire("a", (), &CLASS).await.expect("is free");
    let mut gone = Box::pin(semaphore.acquire("b", (), &CLASS));
    let mut granted = Box::pin(semaphore.acquire("b", (), &CLASS));
    let mut last = Box::pin(semaphore.acquire("a", (), &CLASS));
    for waits in [&mut gone, &mut granted, &mut last] {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(waits.as_mut().poll(&mut context).is_pending(), "none is free");
    }
    drop(gone);
    drop(held);
    // It was granted, and goes away before it is polled again.
    drop(granted);
    drop(last.await.expect("its turn"));
    semaphore.idle().await;
    assert_eq!((semaphore.free(), semaphore.waiting()), (1, 0));
}
