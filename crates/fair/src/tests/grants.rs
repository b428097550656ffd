//! Tests of quotas, waiting bounds and the order of granting, as runs use them.

use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::{Adaptive, Class, FairSemaphore, Permit, Policy, Pressure, Quotas};

type Semaphore = FairSemaphore<&'static str, &'static str>;

fn runs(permits: usize) -> Semaphore {
    let adaptive = Adaptive { floor: 8, active: Duration::from_secs(10) };
    FairSemaphore::new(Policy {
        adaptive: Some(adaptive),
        ..Policy::fewest_held(Quotas::shared(permits))
    })
}

fn class(waiting: usize, weight: usize) -> Class {
    Class { waiting: Quotas::shared(waiting), weight: Quotas::shared(weight), ..Class::UNBOUNDED }
}

async fn take(
    semaphore: &Semaphore,
    tenant: &'static str,
    owner: &'static str,
) -> Permit<&'static str, &'static str> {
    semaphore.admit(tenant, owner, &class(100, 1_000), 1).expect("may wait").granted().await
}

/// A request that is queued.
async fn wait(
    semaphore: &Semaphore,
    tenant: &'static str,
    owner: &'static str,
) -> JoinHandle<Permit<&'static str, &'static str>> {
    let ticket = semaphore.admit(tenant, owner, &class(100, 1_000), 1).expect("may wait");
    let waiting = tokio::spawn(ticket.granted());
    tokio::task::yield_now().await;
    waiting
}

#[tokio::test]
async fn an_owner_and_a_tenant_leave_permits_to_others() {
    let semaphore = runs(4);
    let _two = (take(&semaphore, "a", "flood").await, take(&semaphore, "a", "flood").await);
    let third = wait(&semaphore, "a", "flood").await;
    assert!(!third.is_finished(), "half is all that one owner gets");
    let _other = take(&semaphore, "a", "other").await;
    let more = wait(&semaphore, "a", "another").await;
    assert!(!more.is_finished(), "a tenant leaves some too");
    let _stranger = take(&semaphore, "b", "x").await;
    assert_eq!((semaphore.free(), third.is_finished()), (0, false));
    let full = semaphore.owners_at_quota(0);
    assert_eq!(full.len(), 3, "all of the tenant that has its share: {full:?}");
}

#[tokio::test]
async fn a_free_permit_goes_to_whoever_holds_the_fewest() {
    let semaphore = runs(3);
    let (first, second) = (take(&semaphore, "a", "flood").await, take(&semaphore, "b", "x").await);
    let third = take(&semaphore, "a", "flood").await;
    let mut flood = Vec::new();
    for _ in 0..20 {
        flood.push(wait(&semaphore, "a", "flood").await);
    }
    let late = wait(&semaphore, "c", "late").await;
    drop(first);
    let late = late.await.expect("the latest is the first, for it has none");
    assert!(flood.iter().all(|waiting| !waiting.is_finished()));
    drop((second, third, late));
    for waiting in flood {
        drop(waiting.await.expect("each is granted"));
    }
    semaphore.idle().await;
}

#[tokio::test]
async fn a_flood_is_limited_under_cpu_pressure_and_has_its_permits_back_afterwards() {
    let (semaphore, now) = (runs(32), Instant::now());
    drop(take(&semaphore, "a", "other").await);
    let mut flood = Vec::new();
    for _ in 0..40 {
        flood.push(wait(&semaphore, "a", "flood").await);
    }
    let granted = |flood: &[JoinHandle<_>]| flood.iter().filter(|one| one.is_finished()).count();
    for ended in flood.drain(..4) {
        drop(ended.await.expect("is granted"));
    }
    tokio::task::yield_now().await;
    assert_eq!(granted(&flood), 16, "half of all");
    semaphore.adapt(Pressure::High, now);
    drop(flood.remove(0).await.expect("is granted"));
    tokio::task::yield_now().await;
    assert_eq!(
        (granted(&flood), semaphore.owners_at_quota(0).len()),
        (15, 1),
        "the next one waits until it holds fewer"
    );
    let _other = take(&semaphore, "a", "other").await;
    for _ in 0..4 {
        semaphore.adapt(Pressure::Low, now);
    }
    tokio::task::yield_now().await;
    assert_eq!(granted(&flood), 16);
}

#[tokio::test]
async fn requests_that_wait_are_bounded_for_each_and_for_all() {
    let semaphore = runs(1);
    let admit = |tenant, owner| semaphore.admit(tenant, owner, &class(4, 1_000), 1);
    let held: Vec<_> = (0..2).map(|_| admit("a", "flood").expect("may wait")).collect();
    assert!(admit("a", "flood").is_err(), "half is for other owners");
    let third = admit("a", "other").expect("may wait");
    assert!(admit("a", "other").is_err(), "a quarter is for other tenants");
    drop(third);
    let more =
        [("a", "other"), ("c", "x")].map(|(tenant, owner)| admit(tenant, owner).expect("may wait"));
    assert!(admit("c", "x").is_err(), "there is no more");
    let exempt = semaphore.admit_exempt("c", "x");
    assert_eq!((semaphore.waiting(), semaphore.waiting_exempt()), (5, 1));
    drop(exempt);
    drop((held, more));
    assert_eq!((semaphore.waiting(), semaphore.waiting_exempt()), (0, 0));
    assert!(admit("a", "flood").is_ok());
}

#[tokio::test]
async fn weight_that_waits_is_bounded_for_each_and_for_all() {
    let semaphore = runs(1);
    let admit = |tenant, owner, weight| semaphore.admit(tenant, owner, &class(1_000, 100), weight);
    let first = admit("a", "flood", 50).expect("may wait");
    assert!(admit("a", "flood", 1).is_err(), "half is for other owners");
    assert!(admit("a", "another", 26).is_err(), "a quarter is for other tenants");
    let second = admit("b", "other", 40).expect("may wait");
    assert!(admit("c", "x", 11).is_err(), "there is no more");
    let third = admit("c", "x", 10).expect("may wait");
    drop(second);
    // What is granted waits no longer.
    let permit = first.granted().await;
    let more = admit("a", "flood", 50).expect("may wait");
    drop((permit, more, third));
    assert!(admit("c", "x", 5_000).is_ok(), "what is heavier than all waits alone");
    semaphore.idle().await;
}

#[tokio::test]
async fn a_request_that_is_dropped_holds_nothing() {
    let semaphore = runs(1);
    let first = take(&semaphore, "a", "x").await;
    let (gone, stays) = (wait(&semaphore, "a", "x").await, wait(&semaphore, "a", "y").await);
    gone.abort();
    assert!(gone.await.is_err());
    assert_eq!(semaphore.waiting(), 1);
    drop(first);
    drop(stays.await.expect("is granted"));
    semaphore.idle().await;
}

#[test]
fn permits_without_waiting_are_for_tenants_below_their_quota() {
    let semaphore: FairSemaphore<&str> =
        FairSemaphore::new(Policy::fewest_held(Quotas::of(5).tenant(2)));
    let next = |waiting: &[&'static str]| semaphore.first_among(waiting.iter());
    let first = semaphore.try_acquire("a", ());
    assert_eq!((next(&["a", "a", "b", "c"]), next(&["a"]), next(&[])), (Some(2), Some(0), None));
    let second = semaphore.try_acquire("a", ());
    assert_eq!((next(&["a", "a"]), next(&["a", "b"])), (None, Some(1)));
    assert!(semaphore.try_acquire("a", ()).is_none());
    drop(first);
    assert_eq!((next(&["a"]), semaphore.held_by_tenant()["a"], semaphore.free()), (Some(0), 1, 4));
    drop(second);
    assert!(semaphore.held_by_tenant().is_empty());
    let all: Vec<_> = ["a", "a", "b", "b", "c"]
        .into_iter()
        .filter_map(|t| semaphore.try_acquire(t, ()))
        .collect();
    assert!(
        all.len() == 5
            && semaphore.try_acquire("c", ()).is_none()
            && semaphore.held_by_tenant()["c"] == 1
    );
}

#[test]
fn a_permit_grows_within_the_quotas_of_its_class_or_anyway() {
    let semaphore: FairSemaphore<&str> =
        FairSemaphore::new(Policy::fewest_held(Quotas::of(16).tenant(12)));
    let bodies = Quotas::of(12).tenant(9);
    let [a, b, c] = ["a", "b", "c"].map(|tenant| semaphore.empty_permit(tenant, ()));
    assert!(a.grow(9, bodies) && !a.grow(1, bodies) && b.grow(3, bodies));
    assert!(!c.grow(1, bodies), "the rest is for others");
    assert!(a.grow(3, Quotas::UNBOUNDED) && !a.grow(1, Quotas::UNBOUNDED));
    assert!(c.grow(1, Quotas::UNBOUNDED) && !c.grow(1, Quotas::UNBOUNDED));
    c.grow_anyway(100);
    assert_eq!((semaphore.held(), semaphore.free()), (116, 0));
    drop((a, b, c));
    assert_eq!((semaphore.held(), semaphore.held_by_tenant().len()), (0, 0));
}
