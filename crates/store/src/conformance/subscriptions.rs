//! Subscriptions and listeners.

use millrace_model::clock::Timestamp;
use millrace_model::source::Source;
use millrace_model::subscription::{ALL_SOURCES, Subscription, SubscriptionFilter};

use super::Database;
use super::sample::{Org, at};
use super::webhooks::webhook;
use crate::{Interfaces, ListenerChange, SubscriptionKey};

/// Every subscription of an organization.
pub(super) const ALL: SubscriptionFilter = SubscriptionFilter { emitter: None, listener: None };

fn key(subscription: &Subscription) -> SubscriptionKey {
    SubscriptionKey {
        emitter_id: subscription.emitter_id.clone(),
        listener_id: subscription.listener_id.clone(),
        event_name: subscription.event_name.clone(),
    }
}

fn made_at(subscription: Subscription, created_at: Timestamp) -> Subscription {
    Subscription { created_at, ..subscription }
}

pub async fn subscribing_again_gives_the_one_that_exists(database: &dyn Database) {
    let org = Org::first(database).await;
    let first = org.subscription("dc_a", "p_b", "");
    assert_eq!(org.store.subscribe(first.clone()).await.expect("subscribes"), first);
    let again = made_at(org.subscription("dc_a", "p_b", ""), at(5));
    assert_eq!(org.store.subscribe(again.clone()).await.expect("subscribes"), first);
    assert!(org.store.subscription(&org.id, &again.id).await.expect("reads").is_none());
    let (a, b) = (org.subscription("dc_x", "p_y", "n"), org.subscription("dc_x", "p_y", "n"));
    let (a, b) = tokio::join!(org.store.subscribe(a), org.store.subscribe(b));
    assert_eq!(a.expect("subscribes"), b.expect("subscribes"));
    // Each part of the name counts.
    for (emitter, listener, name) in
        [("dc_c", "p_b", ""), ("dc_a", "p_c", ""), ("dc_a", "p_b", "x")]
    {
        let other = org.subscription(emitter, listener, name);
        assert_eq!(org.store.subscribe(other.clone()).await.expect("subscribes"), other);
    }
    assert_eq!(org.store.list_subscriptions(&org.id, &ALL).await.expect("reads").len(), 5);
}

pub async fn a_source_deleted_meanwhile_keeps_no_subscription_that_a_later_look_leaves(
    database: &dyn Database,
) {
    let org = Org::first(database).await;
    for name in ["a", "b", "c", "d", "e", "f", "g", "h"] {
        let source = org.add_source(name).await;
        let subscription = org.subscription(source.id.as_str(), "p_b", "");
        let subscribe = async {
            org.store.subscribe(subscription.clone()).await.expect("subscribes");
            // As the engine does: a source that is gone by now did not see the subscription.
            if org.store.source(&org.id, &source.id).await.expect("reads").is_none() {
                org.store.unsubscribe(&org.id, &key(&subscription)).await.expect("answers");
            }
        };
        let ((), deleted) = tokio::join!(subscribe, org.store.delete_source(&org.id, &source.id));
        deleted.expect("deletes");
        assert_eq!(org.store.list_subscriptions(&org.id, &ALL).await.expect("reads"), []);
    }
}

pub async fn unsubscribing_says_whether_there_was_one(database: &dyn Database) {
    let org = Org::first(database).await;
    let other = Org::another(&org.store, "other").await;
    let (gone, kept) = (org.subscription("dc_a", "p_b", "x"), org.subscription("dc_a", "p_b", ""));
    for subscription in [&gone, &kept] {
        org.store.subscribe(subscription.clone()).await.expect("subscribes");
    }
    assert!(!org.store.unsubscribe(&other.id, &key(&gone)).await.expect("answers"));
    assert!(org.store.unsubscribe(&org.id, &key(&gone)).await.expect("unsubscribes"));
    assert!(!org.store.unsubscribe(&org.id, &key(&gone)).await.expect("answers"));
    assert_eq!(org.store.list_subscriptions(&org.id, &ALL).await.expect("reads"), [kept]);
}

pub async fn subscriptions_are_of_their_organization(database: &dyn Database) {
    let org = Org::first(database).await;
    let other = Org::another(&org.store, "other").await;
    let (first, second) =
        (org.subscription("dc_a", "p_b", ""), made_at(org.subscription("dc_a", "p_c", ""), at(1)));
    let theirs = other.subscription("dc_a", "p_b", "");
    for subscription in [&first, &second, &theirs] {
        assert_eq!(
            &org.store.subscribe(subscription.clone()).await.expect("subscribes"),
            subscription
        );
    }
    assert_eq!(
        org.store.list_subscriptions(&org.id, &ALL).await.expect("reads"),
        [second, first.clone()]
    );
    assert_eq!(org.store.list_subscriptions(&other.id, &ALL).await.expect("reads"), [theirs]);
    assert_eq!(
        org.store.subscription(&org.id, &first.id).await.expect("reads"),
        Some(first.clone())
    );
    assert!(org.store.subscription(&other.id, &first.id).await.expect("reads").is_none());
}

pub async fn listeners_are_distinct_and_active(database: &dyn Database) {
    let org = Org::first(database).await;
    let (source, workflow, draft) =
        (org.add_source("a").await, org.add_workflow("b").await, org.add_workflow("c").await);
    org.store.deploy_workflow(org.deployment(&workflow.id, 1)).await.expect("deploys");
    let listeners = [source.id.as_str(), workflow.id.as_str(), draft.id.as_str(), "p_nothing"];
    for emitter in ["dc_e", ALL_SOURCES, org.id.as_str()] {
        for listener in listeners {
            org.store.subscribe(org.subscription(emitter, listener, "")).await.expect("subscribes");
        }
    }
    let emitters = ["dc_e", ALL_SOURCES, org.id.as_str(), "dc_e"];
    let mut found = org.store.listeners(&org.id, &emitters, "").await.expect("reads");
    found.sort();
    assert_eq!(found, [source.id.to_string(), workflow.id.to_string()]);
    org.store
        .update_source(Source { active: false, ..source }, Interfaces::default())
        .await
        .expect("updates");
    assert_eq!(
        org.store.listeners(&org.id, &emitters, "").await.expect("reads"),
        [workflow.id.to_string()]
    );
    org.store.delete_workflow(&org.id, &workflow.id).await.expect("deletes");
    assert!(org.store.listeners(&org.id, &emitters, "").await.expect("reads").is_empty());
}

pub async fn listeners_are_of_the_stream_and_the_organization(database: &dyn Database) {
    let org = Org::first(database).await;
    let other = Org::another(&org.store, "other").await;
    let (default, errors, theirs) =
        (org.add_source("a").await, org.add_source("b").await, other.add_source("a").await);
    org.store
        .subscribe(org.subscription("dc_e", default.id.as_str(), ""))
        .await
        .expect("subscribes");
    org.store
        .subscribe(org.subscription("dc_e", errors.id.as_str(), "$errors"))
        .await
        .expect("subscribes");
    other
        .store
        .subscribe(other.subscription("dc_e", theirs.id.as_str(), ""))
        .await
        .expect("subscribes");
    // A subscription of ours to a listener of theirs would pass on what is ours.
    let workflow = other.add_workflow("b").await;
    other.store.deploy_workflow(other.deployment(&workflow.id, 1)).await.expect("deploys");
    for listener in [theirs.id.as_str(), workflow.id.as_str()] {
        org.store.subscribe(org.subscription("dc_e", listener, "")).await.expect("subscribes");
    }
    let listeners = async |name: &str, emitters: &[&str]| {
        org.store.listeners(&org.id, emitters, name).await.expect("reads")
    };
    assert_eq!(listeners("", &["dc_e"]).await, [default.id.to_string()]);
    assert_eq!(listeners("$errors", &["dc_e"]).await, [errors.id.to_string()]);
    assert!(listeners("other", &["dc_e"]).await.is_empty());
    assert!(listeners("", &["dc_f"]).await.is_empty());
    assert!(listeners("", &[]).await.is_empty());
}

pub async fn listeners_change_all_at_once_or_not_at_all(database: &dyn Database) {
    let org = Org::first(database).await;
    let other = Org::another(&org.store, "other").await;
    let (stays, goes, theirs) = (
        org.subscription("dc_a", "p_b", ""),
        org.subscription("dc_a", "p_c", ""),
        other.subscription("dc_a", "p_c", ""),
    );
    for subscription in [&stays, &goes, &theirs] {
        org.store.subscribe(subscription.clone()).await.expect("subscribes");
    }
    let hook = webhook(&org, 1);
    let comes = org.subscription("dc_a", hook.id.as_str(), "");
    let change = ListenerChange {
        org_id: org.id.clone(),
        webhooks: vec![hook.clone()],
        add: vec![org.subscription("dc_a", "p_b", ""), comes.clone()],
        remove: vec![key(&goes)],
    };
    // The same id twice cannot be stored: nothing of this stays.
    let impossible =
        ListenerChange { webhooks: vec![hook.clone(), hook.clone()], ..change.clone() };
    org.store.change_listeners(impossible).await.expect_err("refuses");
    assert!(org.store.webhook(&org.id, &hook.id).await.expect("reads").is_none());
    assert_eq!(org.store.list_subscriptions(&org.id, &ALL).await.expect("reads").len(), 2);
    org.store.change_listeners(change).await.expect("changes");
    let mut listening = org.store.list_subscriptions(&org.id, &ALL).await.expect("reads");
    listening.sort_by(|a, b| a.id.cmp(&b.id));
    let mut expected = [stays, comes];
    expected.sort_by(|a, b| a.id.cmp(&b.id));
    assert_eq!(listening, expected);
    assert_eq!(org.store.webhook(&org.id, &hook.id).await.expect("reads"), Some(hook));
    assert_eq!(org.store.list_subscriptions(&other.id, &ALL).await.expect("reads"), [theirs]);
}
