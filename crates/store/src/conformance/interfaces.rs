//! Endpoints and timers.

use millrace_model::clock::Timestamp;
use millrace_model::domain::EndpointDomain;
use millrace_model::run::{NewRun, RunStatus};
use millrace_model::source::{AppHook, HttpInterface, Owner, Timer};

use super::Database;
use super::sample::{NODE, Org, at, page, settlement};
use crate::{Fired, Interfaces, StoreError};

/// A source with these interfaces, made for it.
async fn owner_with(
    org: &Org,
    slug: &str,
    interfaces: impl Fn(&Owner) -> Interfaces,
) -> (Owner, Interfaces) {
    let source = org.source(&org.add_component(None, 0).await, slug, 0);
    let owner = Owner::Source(source.id.clone());
    let interfaces = interfaces(&owner);
    org.store.create_source(source, interfaces.clone()).await.expect("stores");
    (owner, interfaces)
}

async fn with_timer(org: &Org, slug: &str, ms: i64) -> (Owner, Timer) {
    let (owner, interfaces) = owner_with(org, slug, |owner| Interfaces {
        timers: vec![org.timer(owner, ms)],
        ..Interfaces::default()
    })
    .await;
    (owner, interfaces.timers[0].clone())
}

fn tick(org: &Org, timer: &Timer, ms: i64) -> NewRun {
    NewRun { trigger_id: timer.id.to_string(), ..org.run(&timer.owner, ms) }
}

async fn next_at(org: &Org, owner: &Owner) -> Timestamp {
    org.store.interfaces(owner.as_str()).await.expect("reads").timers[0].next_at
}

async fn runs(org: &Org, owner: &Owner) -> u64 {
    org.store
        .list_runs(&org.id, &super::history::of_owner(owner), true, &page(10))
        .await
        .expect("lists")
        .total_count
}

pub async fn an_endpoint_is_found_by_its_key(database: &dyn Database) {
    let org = Org::first(database).await;
    let (_, given) = owner_with(&org, "a", |owner| {
        let inactive =
            HttpInterface { active: false, custom_response: false, ..org.http(owner, "enb") };
        Interfaces { http: vec![org.http(owner, "ena"), inactive], ..Interfaces::default() }
    })
    .await;
    for http in given.http {
        assert_eq!(org.store.endpoint(&http.key).await.expect("reads"), Some(http));
    }
    for key in ["en", "ENA", "", "en\u{0}a"] {
        assert!(org.store.endpoint(key).await.expect("reads").is_none(), "{key}");
    }
}

pub async fn an_endpoints_key_is_unique(database: &dyn Database) {
    let org = Org::first(database).await;
    let (first, _) = owner_with(&org, "a", |owner| Interfaces {
        http: vec![org.http(owner, "ena")],
        ..Interfaces::default()
    })
    .await;
    let source = org.source(&org.add_component(None, 0).await, "b", 0);
    let http = vec![org.http(&Owner::Source(source.id.clone()), "ena")];
    let stored =
        org.store.create_source(source.clone(), Interfaces { http, ..Interfaces::default() }).await;
    assert!(matches!(stored, Err(StoreError::Taken("key"))));
    assert!(org.store.source(&org.id, &source.id).await.expect("reads").is_none());
    assert_eq!(org.store.endpoint("ena").await.expect("reads").map(|h| h.owner), Some(first));
}

pub async fn due_timers_are_active_and_longest_due_first(database: &dyn Database) {
    let org = Org::first(database).await;
    assert!(org.store.due_timers(at(0), 10).await.expect("reads").is_empty());
    assert_eq!(org.store.next_timer_at().await.expect("reads"), None);
    let (_, given) = owner_with(&org, "a", |owner| {
        let inactive = Timer { active: false, ..org.timer(owner, 0) };
        Interfaces {
            timers: vec![
                org.timer(owner, 3_000),
                inactive,
                org.timer(owner, 1_000),
                org.timer(owner, 2_000),
            ],
            ..Interfaces::default()
        }
    })
    .await;
    let [late, _, early, middle] = given.timers.as_slice() else { panic!("four timers") };
    assert_eq!(org.store.next_timer_at().await.expect("reads"), Some(at(1_000)));
    assert!(org.store.due_timers(at(999), 10).await.expect("reads").is_empty());
    assert_eq!(
        org.store.due_timers(at(2_000), 10).await.expect("reads"),
        [early.clone(), middle.clone()]
    );
    assert_eq!(
        org.store.due_timers(at(9_000), 10).await.expect("reads"),
        [early.clone(), middle.clone(), late.clone()]
    );
    assert_eq!(org.store.due_timers(at(9_000), 1).await.expect("reads"), [early.clone()]);
}

pub async fn a_tick_fires_once(database: &dyn Database) {
    let org = Org::first(database).await;
    let (owner, timer) = with_timer(&org, "a", 1_000).await;
    let run = tick(&org, &timer, 1_000);
    assert_eq!(
        org.store.fire_timer(&timer.id, at(1_000), at(6_000), run.clone()).await.expect("fires"),
        Fired::Accepted
    );
    assert_eq!(next_at(&org, &owner).await, at(6_000));
    let accepted = org.stored(&run.id).await;
    assert_eq!(
        (accepted.status, accepted.attempt, accepted.trigger_id.as_str()),
        (RunStatus::Queued, 0, timer.id.as_str())
    );
    // Another server saw the same tick due.
    assert_eq!(
        org.store
            .fire_timer(&timer.id, at(1_000), at(6_000), tick(&org, &timer, 1_001))
            .await
            .expect("skips"),
        Fired::Skipped
    );
    // So did one that was slow, after the run.
    assert_eq!(org.claim(NODE, 1_002, 10).await.len(), 1);
    org.store.settle(settlement(&run.id, 1, 1_003)).await.expect("settles");
    assert_eq!(
        org.store
            .fire_timer(&timer.id, at(1_000), at(6_000), tick(&org, &timer, 1_004))
            .await
            .expect("skips"),
        Fired::Skipped
    );
    assert_eq!((next_at(&org, &owner).await, runs(&org, &owner).await), (at(6_000), 1));
}

pub async fn a_tick_fires_once_however_many_servers_see_it(database: &dyn Database) {
    let org = Org::first(database).await;
    let (owner, timer) = with_timer(&org, "a", 1_000).await;
    let fire =
        |n: i64| org.store.fire_timer(&timer.id, at(1_000), at(6_000), tick(&org, &timer, n));
    let (a, b, c, d) = tokio::join!(fire(1), fire(2), fire(3), fire(4));
    let fired = [a, b, c, d]
        .into_iter()
        .filter(|fired| *fired.as_ref().expect("answers") == Fired::Accepted)
        .count();
    assert_eq!((fired, runs(&org, &owner).await), (1, 1));
}

pub async fn a_tick_never_overlaps_an_unfinished_run(database: &dyn Database) {
    let org = Org::first(database).await;
    let (owner, timer) = with_timer(&org, "a", 1_000).await;
    // A run that something else brought is no hindrance.
    org.start(&owner, 0).await;
    let first = tick(&org, &timer, 1_000);
    assert_eq!(
        org.store.fire_timer(&timer.id, at(1_000), at(2_000), first.clone()).await.expect("fires"),
        Fired::Accepted
    );
    assert_eq!(
        org.store
            .fire_timer(&timer.id, at(2_000), at(3_000), tick(&org, &timer, 2_000))
            .await
            .expect("skips"),
        Fired::Skipped
    );
    assert_eq!(org.claim(NODE, 2_500, 10).await.len(), 1);
    assert_eq!(
        org.store
            .fire_timer(&timer.id, at(3_000), at(4_000), tick(&org, &timer, 3_000))
            .await
            .expect("skips"),
        Fired::Skipped
    );
    // What was skipped moved on.
    assert_eq!((next_at(&org, &owner).await, runs(&org, &owner).await), (at(4_000), 2));
    org.store.settle(settlement(&first.id, 1, 3_500)).await.expect("settles");
    assert_eq!(
        org.store
            .fire_timer(&timer.id, at(4_000), at(5_000), tick(&org, &timer, 4_000))
            .await
            .expect("fires"),
        Fired::Accepted
    );
}

pub async fn a_timer_that_is_gone_or_inactive_is_skipped(database: &dyn Database) {
    let org = Org::first(database).await;
    let (owner, interfaces) = owner_with(&org, "a", |owner| {
        let inactive = Timer { active: false, ..org.timer(owner, 1_000) };
        Interfaces { timers: vec![inactive], ..Interfaces::default() }
    })
    .await;
    let gone = org.timer(&owner, 1_000);
    for timer in [&interfaces.timers[0], &gone] {
        assert_eq!(
            org.store
                .fire_timer(&timer.id, at(1_000), at(2_000), tick(&org, timer, 1_000))
                .await
                .expect("skips"),
            Fired::Skipped
        );
    }
    assert_eq!((next_at(&org, &owner).await, runs(&org, &owner).await), (at(1_000), 0));
}

pub async fn hooks_of_apps_are_found_by_event(database: &dyn Database) {
    let org = Org::first(database).await;
    let other = Org::another(&org.store, "other").await;
    let hook = |owner: &Owner, event_name: &str, active| AppHook {
        org_id: org.id.clone(),
        owner: owner.clone(),
        app: "zoom".into(),
        event_name: event_name.into(),
        active,
    };
    let (ended, _) = owner_with(&org, "a", |owner| Interfaces {
        app_hooks: vec![hook(owner, "ended", true), hook(owner, "started", true)],
        ..Interfaces::default()
    })
    .await;
    let (all, _) = owner_with(&org, "b", |owner| Interfaces {
        app_hooks: vec![hook(owner, "", true)],
        ..Interfaces::default()
    })
    .await;
    owner_with(&org, "c", |owner| Interfaces {
        app_hooks: vec![hook(owner, "ended", false)],
        ..Interfaces::default()
    })
    .await;
    let found = |org: &Org, app: &'static str, names: &[&str]| {
        let (store, org, names) = (
            org.store.clone(),
            org.id.clone(),
            names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>(),
        );
        async move {
            store
                .app_hook_owners(&org, app, &names)
                .await
                .expect("reads")
                .into_iter()
                .collect::<std::collections::HashSet<_>>()
        }
    };
    assert_eq!(found(&org, "zoom", &["ended", "started"]).await, [ended, all.clone()].into());
    assert_eq!(found(&org, "zoom", &["created"]).await, [all.clone()].into());
    assert_eq!(found(&org, "zoom", &[]).await, [all].into());
    assert!(
        found(&org, "slack", &["ended"]).await.is_empty()
            && found(&other, "zoom", &["ended"]).await.is_empty()
    );
}

pub async fn a_domain_stands_for_an_endpoint_and_goes_with_its_owner(database: &dyn Database) {
    let org = Org::first(database).await;
    let other = Org::another(&org.store, "other").await;
    let (owner, interfaces) = owner_with(&org, "a", |owner| Interfaces {
        http: vec![org.http(owner, "enone")],
        ..Interfaces::default()
    })
    .await;
    let endpoint = &interfaces.http[0];
    assert_eq!(
        org.store.http_interface(&org.id, &endpoint.id).await.expect("reads").map(|h| h.key),
        Some("enone".into())
    );
    assert!(org.store.http_interface(&other.id, &endpoint.id).await.expect("reads").is_none());
    let domain = |id: &str, org: &Org, ms: i64| EndpointDomain {
        id: id.into(),
        org_id: org.id.clone(),
        endpoint_id: endpoint.id.clone(),
        created_at: at(ms),
    };
    let (first, second) = (domain("a.test", &org, 1), domain("b.test", &org, 2));
    for made in [&first, &second] {
        org.store.create_endpoint_domain(made.clone()).await.expect("a domain");
    }
    assert!(matches!(
        org.store.create_endpoint_domain(domain("a.test", &other, 3)).await,
        Err(StoreError::Taken("id"))
    ));
    // Another organization's endpoint is not reached by a domain, whatever its record says.
    org.store.create_endpoint_domain(domain("c.test", &other, 3)).await.expect("a domain");
    assert_eq!(
        org.store.list_endpoint_domains(&org.id, &page(10)).await.expect("lists").items,
        [second, first]
    );
    let mut all = org.store.endpoint_domains().await.expect("reads");
    all.sort();
    assert_eq!(
        all,
        [("a.test".to_owned(), "enone".to_owned()), ("b.test".to_owned(), "enone".to_owned())]
    );
    assert!(!org.store.delete_endpoint_domain(&other.id, "a.test").await.expect("answers"));
    assert!(org.store.delete_endpoint_domain(&org.id, "a.test").await.expect("removes"));
    let Owner::Source(source) = &owner else { panic!("a source") };
    org.store.delete_source(&org.id, source).await.expect("deletes");
    assert!(
        org.store.list_endpoint_domains(&org.id, &page(10)).await.expect("lists").items.is_empty()
    );
}
