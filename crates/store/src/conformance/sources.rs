//! Sources and their state: dedupe, `$.service.db`.

use std::collections::HashMap;

use millrace_model::component::PropDef;
use millrace_model::ids::{IdSource, SourceId};
use millrace_model::made_from::MadeFrom;
use millrace_model::run::{LogFilter, RunStatus};
use millrace_model::source::{AppHook, Owner, Source};

use super::Database;
use super::sample::{Org, at, log, made_from, page, same};
use super::subscriptions::ALL;
use crate::{Effects, Interfaces, SourceChange, SourceState, StoreError};

fn change(id: &SourceId, dedupe: Option<(i64, &str)>, db: &[(&str, Option<&str>)]) -> Effects {
    let db = db.iter().map(|(key, value)| ((*key).to_owned(), value.map(str::to_owned))).collect();
    let dedupe = dedupe.map(|(version, text)| (version, text.to_owned()));
    Effects {
        source: Some(SourceChange { source_id: id.clone(), dedupe, db }),
        ..Effects::default()
    }
}

/// Two endpoints and two timers, which stay in this order.
fn interfaces(org: &Org, id: &SourceId) -> Interfaces {
    let owner = Owner::Source(id.clone());
    let http = ["z", "a"].map(|start| org.http(&owner, &format!("{start}{id}"))).to_vec();
    let hook = |event_name: &str| AppHook {
        org_id: org.id.clone(),
        owner: owner.clone(),
        app: "zoom".into(),
        event_name: event_name.into(),
        active: true,
    };
    Interfaces {
        http,
        timers: vec![org.timer(&owner, 5_000), org.timer(&owner, 1_000)],
        app_hooks: vec![hook("meeting.ended"), hook("meeting.started")],
    }
}

pub async fn a_source_comes_back_with_its_interfaces(database: &dyn Database) {
    let org = Org::first(database).await;
    let other = Org::another(&org.store, "other").await;
    let component = org.add_component(None, 0).await;
    let active = org.source(&component, "a", 0);
    let inactive = Source {
        active: false,
        inactive_reason: Some("it is being deployed".into()),
        ..org.source(&component, "b", 1)
    };
    let given = interfaces(&org, &active.id);
    org.store.create_source(active.clone(), given.clone()).await.expect("stores");
    org.store.create_source(inactive.clone(), Interfaces::default()).await.expect("stores");
    same(&org.store.source(&org.id, &active.id).await.expect("reads"), &Some(active.clone()));
    same(&org.store.source(&org.id, &inactive.id).await.expect("reads"), &Some(inactive.clone()));
    assert!(org.store.source(&other.id, &active.id).await.expect("reads").is_none());
    assert_eq!(org.store.interfaces(active.id.as_str()).await.expect("reads"), given);
    assert_eq!(
        org.store.interfaces(inactive.id.as_str()).await.expect("reads"),
        Interfaces::default()
    );
    let both =
        org.store.interfaces_of(&[inactive.id.as_str(), active.id.as_str()]).await.expect("reads");
    assert_eq!(
        both,
        HashMap::from([
            (active.id.to_string(), given),
            (inactive.id.to_string(), Interfaces::default())
        ])
    );
}

pub async fn a_taken_slug_is_refused_and_leaves_nothing(database: &dyn Database) {
    let org = Org::first(database).await;
    let other = Org::another(&org.store, "other").await;
    let first = org.add_source("feed").await;
    let component = org.add_component(None, 0).await;
    let second = org.source(&component, "feed", 1);
    assert!(matches!(
        org.store.create_source(second.clone(), interfaces(&org, &second.id)).await,
        Err(StoreError::Taken("name_slug"))
    ));
    assert!(org.store.source(&org.id, &second.id).await.expect("reads").is_none());
    assert_eq!(
        org.store.interfaces(second.id.as_str()).await.expect("reads"),
        Interfaces::default()
    );
    let third = org.add_source("third").await;
    let renamed = Source { name_slug: "feed".into(), ..third.clone() };
    assert!(matches!(
        org.store.update_source(renamed, Interfaces::default()).await,
        Err(StoreError::Taken("name_slug"))
    ));
    same(&org.store.source(&org.id, &third.id).await.expect("reads"), &Some(third));
    // Another organization has names of its own, and a deleted source gives its name back.
    other.add_source("feed").await;
    org.store.delete_source(&org.id, &first.id).await.expect("deletes");
    org.store.create_source(second, Interfaces::default()).await.expect("stores");
}

pub async fn an_update_replaces_record_and_interfaces(database: &dyn Database) {
    let org = Org::first(database).await;
    let old = org.source(&org.add_component(None, 0).await, "old", 0);
    let before = interfaces(&org, &old.id);
    org.store.create_source(old.clone(), before.clone()).await.expect("stores");
    let new = Source {
        component_id: org.add_component(None, 1).await.id,
        name: "New".into(),
        name_slug: "new".into(),
        dynamic_props: Some(vec![PropDef {
            name: "more".into(),
            prop_type: "string".into(),
            ..PropDef::default()
        }]),
        configured_props: serde_json::Map::new(),
        active: false,
        inactive_reason: Some("why".into()),
        made_from: Some(made_from()),
        updated_at: at(9),
        ..old.clone()
    };
    // The endpoint keeps its id and key, the timers are others.
    let after = Interfaces {
        http: before.http[1..].to_vec(),
        timers: vec![org.timer(&Owner::Source(old.id.clone()), 0)],
        app_hooks: Vec::new(),
    };
    org.store.update_source(new.clone(), after.clone()).await.expect("updates");
    same(&org.store.source(&org.id, &old.id).await.expect("reads"), &Some(new));
    assert_eq!(org.store.interfaces(old.id.as_str()).await.expect("reads"), after);
    assert!(org.store.endpoint(&before.http[0].key).await.expect("reads").is_none());
}

pub async fn one_source_is_made_from_a_file(database: &dyn Database) {
    let org = Org::first(database).await;
    let other = Org::another(&org.store, "other").await;
    let component = org.add_component(None, 0).await;
    let of = |slug: &str, mark| Source { made_from: Some(mark), ..org.source(&component, slug, 0) };
    let create = async |source| org.store.create_source(source, Interfaces::default()).await;
    // Of two at once, one is stored.
    let (a, b) = tokio::join!(create(of("a", made_from())), create(of("b", made_from())));
    assert!(a.is_ok() != b.is_ok(), "{a:?} {b:?}");
    assert!(matches!(a.and(b), Err(StoreError::Taken("made_from"))));
    let changed = of("changed", made_from().changed_by_others());
    assert!(matches!(create(changed.clone()).await, Err(StoreError::Taken("made_from"))));
    let elsewhere = MadeFrom { path: "workflows/üb".into(), ..made_from() };
    create(of("elsewhere", elsewhere)).await.expect("stores");
    create(org.source(&component, "bare", 0)).await.expect("stores");
    let theirs = other.source(&other.add_component(None, 0).await, "feed", 0);
    create(Source { made_from: Some(made_from()), ..theirs }).await.expect("stores");
    let there = org.store.list_sources(&org.id, None, &page(10)).await.expect("lists").items;
    let first = there.iter().find(|s| s.made_from == Some(made_from())).expect("one is there");
    org.store.delete_source(&org.id, &first.id).await.expect("deletes");
    create(changed).await.expect("stores");
}

pub async fn an_update_of_none_changes_nothing(database: &dyn Database) {
    let org = Org::first(database).await;
    let other = Org::another(&org.store, "other").await;
    let source = org.source(&org.add_component(None, 0).await, "a", 0);
    let given = interfaces(&org, &source.id);
    assert!(matches!(
        org.store.update_source(source.clone(), given.clone()).await,
        Err(StoreError::NotFound)
    ));
    assert_eq!(
        org.store.interfaces(source.id.as_str()).await.expect("reads"),
        Interfaces::default()
    );
    org.store.create_source(source.clone(), given.clone()).await.expect("stores");
    let theirs = Source { org_id: other.id.clone(), name: "theirs".into(), ..source.clone() };
    assert!(matches!(
        org.store.update_source(theirs, Interfaces::default()).await,
        Err(StoreError::NotFound)
    ));
    same(&org.store.source(&org.id, &source.id).await.expect("reads"), &Some(source.clone()));
    assert_eq!(org.store.interfaces(source.id.as_str()).await.expect("reads"), given);
}

pub async fn deleting_leaves_nothing_but_history(database: &dyn Database) {
    let org = Org::first(database).await;
    let (source, listener) =
        (org.source(&org.add_component(None, 0).await, "a", 0), org.add_source("listener").await);
    let (id, owner) = (source.id.clone(), Owner::Source(source.id.clone()));
    let given = interfaces(&org, &id);
    org.store.create_source(source, given.clone()).await.expect("stores");
    let effects = Effects {
        events: vec![org.event(id.as_str(), "", 1, 0)],
        logs: vec![log(1, "kept")],
        log_owner: Some((org.id.clone(), id.to_string(), org.run(&owner, 1).id)),
        ..change(&id, Some((0, "[1]")), &[("k", Some("1"))])
    };
    org.store.settle_effects(effects).await.expect("settles");
    for (emitter, listens) in
        [(id.as_str(), listener.id.as_str()), (listener.id.as_str(), id.as_str())]
    {
        org.store.subscribe(org.subscription(emitter, listens, "")).await.expect("subscribes");
    }
    let running = org.start(&owner, 2).await;
    let queued = org.accept(&owner, 3).await;
    let of_another = org.accept(&Owner::Source(listener.id.clone()), 4).await;
    org.store.delete_source(&org.id, &id).await.expect("deletes");
    assert!(org.store.source(&org.id, &id).await.expect("reads").is_none());
    assert_eq!(org.store.interfaces(id.as_str()).await.expect("reads"), Interfaces::default());
    assert!(org.store.endpoint(&given.http[0].key).await.expect("reads").is_none());
    assert!(org.store.next_timer_at().await.expect("reads").is_none());
    assert!(
        org.store
            .app_hook_owners(&org.id, "zoom", &["meeting.ended".into()])
            .await
            .expect("reads")
            .is_empty()
    );
    assert!(org.store.list_subscriptions(&org.id, &ALL).await.expect("reads").is_empty());
    assert_eq!(org.store.source_state(&id).await.expect("reads"), SourceState::default());
    assert!(org.store.source_db(&id).await.expect("reads").is_empty());
    let cancelled = org.stored(&queued).await;
    assert_eq!((cancelled.status, cancelled.finished_at.is_some()), (RunStatus::Cancelled, true));
    assert_eq!(org.stored(&running).await.status, RunStatus::Running);
    assert_eq!(org.stored(&of_another).await.status, RunStatus::Queued);
    assert_eq!(org.events(id.as_str()).await.len(), 1);
    assert_eq!(
        org.store
            .owner_logs(&org.id, id.as_str(), &LogFilter::default(), 10)
            .await
            .expect("reads")
            .len(),
        1
    );
    assert!(matches!(org.store.delete_source(&org.id, &id).await, Err(StoreError::NotFound)));
}

pub async fn another_organization_cannot_delete(database: &dyn Database) {
    let org = Org::first(database).await;
    let other = Org::another(&org.store, "other").await;
    let source = org.source(&org.add_component(None, 0).await, "a", 0);
    let given = interfaces(&org, &source.id);
    org.store.create_source(source.clone(), given.clone()).await.expect("stores");
    let queued = org.accept(&Owner::Source(source.id.clone()), 0).await;
    assert!(matches!(
        org.store.delete_source(&other.id, &source.id).await,
        Err(StoreError::NotFound)
    ));
    same(&org.store.source(&org.id, &source.id).await.expect("reads"), &Some(source.clone()));
    assert_eq!(org.store.interfaces(source.id.as_str()).await.expect("reads"), given);
    assert_eq!(org.stored(&queued).await.status, RunStatus::Queued);
    assert_eq!(
        org.store.list_sources(&other.id, None, &page(10)).await.expect("lists").total_count,
        0
    );
}

pub async fn slugs_of_a_base_are_that_and_its_numbers(database: &dyn Database) {
    let org = Org::first(database).await;
    let other = Org::another(&org.store, "other").await;
    for slug in ["feed", "feed-1", "feed-é", "feeds", "afeed-1", "f%", "f%-1", "fx-1"] {
        org.add_source(slug).await;
    }
    other.add_source("feed-2").await;
    for (base, expected) in [
        ("feed", vec!["feed", "feed-1", "feed-é"]),
        ("f%", vec!["f%", "f%-1"]),
        ("nothing", vec![]),
    ] {
        let mut slugs = org.store.source_slugs(&org.id, base).await.expect("reads");
        slugs.sort();
        assert_eq!(slugs, expected, "{base}");
    }
}

pub async fn a_new_source_remembers_nothing(database: &dyn Database) {
    let org = Org::first(database).await;
    let source = org.add_source("a").await;
    assert_eq!(
        org.store.source_state(&source.id).await.expect("reads"),
        SourceState { version: 0, dedupe: String::new() }
    );
    assert!(org.store.source_db(&source.id).await.expect("reads").is_empty());
    let none = SourceId::generate(&IdSource::default());
    assert_eq!(org.store.source_state(&none).await.expect("reads"), SourceState::default());
}

pub async fn what_a_source_remembers_is_versioned(database: &dyn Database) {
    let org = Org::first(database).await;
    let (id, other) = (org.add_source("a").await.id, org.add_source("b").await.id);
    for (version, dedupe) in [(0, "[1]"), (1, "[1,2]"), (2, "[1,2,3]")] {
        org.store.settle_effects(change(&id, Some((version, dedupe)), &[])).await.expect("settles");
        let expected = SourceState { version: version + 1, dedupe: dedupe.into() };
        assert_eq!(org.store.source_state(&id).await.expect("reads"), expected);
    }
    // Writes to the db alone are no change of the version.
    org.store.settle_effects(change(&id, None, &[("k", Some("1"))])).await.expect("settles");
    assert_eq!(org.store.source_state(&id).await.expect("reads").version, 3);
    assert_eq!(org.store.source_state(&other).await.expect("reads").version, 0);
}

pub async fn any_key_of_the_db_is_kept(database: &dyn Database) {
    let org = Org::first(database).await;
    let (id, other) = (org.add_source("a").await.id, org.add_source("b").await.id);
    let long = "k".repeat(10_000);
    let first = [
        ("", Some("1")),
        ("ü\u{0}'", Some(r#"{"b":1,"a":"\u0000"}"#)),
        (&long, Some("2")),
        ("gone", Some("3")),
        ("twice", Some("4")),
    ];
    org.store.settle_effects(change(&id, None, &first)).await.expect("settles");
    org.store
        .settle_effects(change(&other, None, &[("gone", Some("theirs"))]))
        .await
        .expect("settles");
    // The last write of a key stands, whatever was before.
    let second = [
        ("twice", None),
        ("twice", Some("5")),
        ("new", Some("6")),
        ("new", None),
        ("gone", Some("7")),
        ("gone", None),
        ("never", None),
    ];
    org.store.settle_effects(change(&id, None, &second)).await.expect("settles");
    let expected: Vec<(String, String)> =
        [("", "1"), (&long, "2"), ("twice", "5"), ("ü\u{0}'", r#"{"b":1,"a":"\u0000"}"#)]
            .map(|(k, v)| (k.to_owned(), v.to_owned()))
            .to_vec();
    assert_eq!(org.store.source_db(&id).await.expect("reads"), expected);
    assert_eq!(
        org.store.source_db(&other).await.expect("reads"),
        [("gone".to_owned(), "theirs".to_owned())]
    );
}
