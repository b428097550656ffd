//! Search over the texts of runs.

use millrace_model::ids::RunId;
use millrace_model::page::Page;
use millrace_model::run::{NewRun, RunKind, RunStatus, Start};
use millrace_model::search::asked;
use millrace_model::source::Owner;

use super::Database;
use super::sample::{LEASE_MS, NODE, Org, at, page, settlement};
use crate::{IndexStep, Pruning, RunFilter, Settlement};

async fn start(org: &Org, owner: &Owner, ms: i64, text: &str) -> RunId {
    let start = Start::Claimed { lease_until: at(ms + LEASE_MS) };
    let run = NewRun {
        event: format!(r#"{{"body":{{"name":"{text}"}}}}"#).into(),
        start,
        ..org.run(owner, ms)
    };
    let id = run.id.clone();
    org.store.accept(run, NODE).await.expect("accepted");
    id
}

fn ended(run: &RunId, ms: i64, text: &str) -> Settlement {
    Settlement { result: format!(r#"{{"return_value":"{text}"}}"#), ..settlement(run, 1, ms) }
}

/// Takes in what was accepted until then, in steps of this size; how many steps.
pub(super) async fn index(org: &Org, until: i64, limit: u32) -> u32 {
    let step =
        IndexStep { now: at(until), until: at(until), swept_before: at(until - 1_000), limit };
    for n in 0..1_000 {
        if org.store.index_runs(step).await.expect("a step") == 0 {
            return n;
        }
    }
    panic!("the index has no end");
}

async fn found_by(org: &Org, text: &str, filter: RunFilter) -> Vec<RunId> {
    let found = org
        .store
        .search_runs(&org.id, &asked(text).expect("words"), &filter, false, &page(10))
        .await
        .expect("searches");
    assert_eq!(found.listing.total_count, found.listing.items.len() as u64, "{text} {filter:?}");
    assert_eq!(found.looked_at_from, None);
    found.listing.items.into_iter().map(|listed| listed.run.id).collect()
}

async fn found(org: &Org, text: &str) -> Vec<RunId> {
    found_by(org, text, RunFilter::default()).await
}

pub async fn runs_are_found_by_words_of_their_texts(database: &dyn Database) {
    let org = Org::first(database).await;
    let other = Org::another(&org.store, "other").await;
    let (one, two) = (
        Owner::Workflow(org.add_workflow("a").await.id),
        Owner::Source(org.add_source("b").await.id),
    );
    let theirs =
        start(&other, &Owner::Source(other.add_source("b").await.id), 10, "ORD-1182").await;
    let first = start(&org, &one, 10, "ORD-1182 Größe it's \\u0000 \\\"x").await;
    let second = start(&org, &two, 20, "ORD-1183").await;
    let third = start(&org, &one, 30, "ORD-1182").await;
    org.store.settle(ended(&first, 15, "delivered")).await.expect("settles");
    let failure = Settlement {
        status: RunStatus::Failed,
        error: Some(r#"{"message":"the parcel is lost"}"#.into()),
        ..ended(&second, 25, "none")
    };
    org.store.settle(failure).await.expect("settles");
    assert!(found(&org, "ord").await.is_empty());
    assert_eq!(org.store.index_state(&org.id).await.expect("a state").until, Some(at(10)));

    index(&org, 25, 10).await;
    let state = org.store.index_state(&org.id).await.expect("a state");
    assert_eq!((state.until, state.from), (Some(at(30)), None));
    assert_eq!(found(&org, "ord").await, [second.clone(), first.clone()]);
    index(&org, 100, 10).await;
    assert_eq!(org.store.index_state(&org.id).await.expect("a state").until, None);
    assert_eq!(found(&org, "ORD-1182").await, [third.clone(), first.clone()]);
    assert_eq!(found(&org, "grüße delivered").await, []);
    assert_eq!(found(&org, "gro\u{308}SSe delivered").await, [first.clone()]);
    assert_eq!(found(&org, "GRÖßE delivered").await, [first.clone()]);
    assert_eq!(found(&org, "deliv*").await, [first.clone()]);
    assert_eq!(found(&org, "deliv").await, []);
    assert_eq!(found(&org, "' lost").await, [second.clone()]);
    assert_eq!(found(&org, "name").await, []);
    assert_eq!(found(&other, "ord").await, [theirs]);

    // With filters: those that the index knows of, and those for which rows are read.
    let by = RunFilter::default;
    assert_eq!(
        found_by(&org, "ord", RunFilter { owner: Some(two.as_str().into()), ..by() }).await,
        [second.clone()]
    );
    assert_eq!(
        found_by(
            &org,
            "ord",
            RunFilter { statuses: vec![RunStatus::Failed, RunStatus::Running], ..by() }
        )
        .await,
        [third.clone(), second.clone()]
    );
    assert_eq!(
        found_by(&org, "ord", RunFilter { statuses: vec![RunStatus::Succeeded], ..by() }).await,
        [first.clone()]
    );
    assert_eq!(found_by(&org, "ord", RunFilter { kind: Some(RunKind::Test), ..by() }).await, []);
    for (least, took) in [(5, vec![second.clone(), first.clone()]), (6, vec![])] {
        let filter = RunFilter { min_ms: Some(least), ..by() };
        assert_eq!(found_by(&org, "ord", filter).await, took, "{least}");
    }
    assert_eq!(
        found_by(&org, "ord", RunFilter { ids: Some(vec![third.clone()]), ..by() }).await,
        [third.clone()]
    );
    assert_eq!(
        found_by(&org, "ord", RunFilter { from: Some(at(11)), to: Some(at(30)), ..by() }).await,
        [second.clone()]
    );

    // What came with its end is found a step later.
    assert_eq!(found(&org, "sent").await, []);
    org.store.settle(ended(&third, 40, "sent")).await.expect("settles");
    index(&org, 110, 10).await;
    assert_eq!(found(&org, "sent ord").await, [third.clone()]);
    assert_eq!(found_by(&org, "ord", RunFilter { min_ms: Some(6), ..by() }).await, [third]);
}

pub async fn pages_of_a_search_follow_each_other(database: &dyn Database) {
    let org = Org::first(database).await;
    let owner = Owner::Source(org.add_source("a").await.id);
    let mut runs = Vec::new();
    for n in 0..7 {
        // Several of one moment.
        let run = start(&org, &owner, n / 3, "same").await;
        org.store.settle(ended(&run, 50, "x")).await.expect("settles");
        runs.push((n / 3, run));
    }
    runs.sort();
    let newest_first: Vec<_> = runs.into_iter().rev().map(|(_, run)| run).collect();
    index(&org, 100, 2).await;
    for filter in [RunFilter::default(), RunFilter { min_ms: Some(0), ..RunFilter::default() }] {
        let page_of = async |after: Option<&RunId>, before: Option<&RunId>| {
            let page = Page {
                after: after.map(ToString::to_string),
                before: before.map(ToString::to_string),
                ..page(2)
            };
            let listing = org
                .store
                .search_runs(&org.id, &asked("same").expect("a word"), &filter, true, &page)
                .await
                .expect("searches")
                .listing;
            assert_eq!(listing.total_count, 7);
            listing.items.into_iter().map(|listed| listed.run.id).collect::<Vec<_>>()
        };
        let mut seen = page_of(None, None).await;
        while let [.., last] = seen.as_slice() {
            let next = page_of(Some(last), None).await;
            if next.is_empty() {
                break;
            }
            seen.extend(next);
        }
        assert_eq!(seen, newest_first);
        assert_eq!(page_of(None, Some(&newest_first[4])).await, newest_first[2..4]);
    }
}

pub async fn what_goes_or_is_forgotten_is_found_no_more(database: &dyn Database) {
    let org = Org::first(database).await;
    let owner = Owner::Source(org.add_source("a").await.id);
    let (gone, forgotten) =
        (start(&org, &owner, 1, "alpha").await, start(&org, &owner, 2, "alpha").await);
    org.store.settle(ended(&gone, 5, "x")).await.expect("settles");
    index(&org, 10, 10).await;
    assert_eq!(found(&org, "alpha").await, [forgotten.clone(), gone]);
    let settlement = Settlement {
        forget: Some(r#"{"kept":false}"#.into()),
        result: "{}".into(),
        ..ended(&forgotten, 20, "x")
    };
    org.store.settle(settlement).await.expect("settles");
    let pruned =
        Pruning { owner: owner.as_str().to_owned(), before: None, keep_count: Some(1), limit: 10 };
    assert_eq!(org.store.prune(pruned).await.expect("prunes"), 1);
    assert!(found(&org, "alpha").await.is_empty());
    index(&org, 30, 10).await;
    assert!(found(&org, "alpha").await.is_empty());
    // What takes its place is found by itself only.
    let next = start(&org, &owner, 1, "beta").await;
    index(&org, 5_000, 10).await;
    assert_eq!(found(&org, "beta").await, [next]);
    assert!(found(&org, "alpha").await.is_empty());
}

pub async fn what_was_there_before_the_index_and_what_comes_late_is_taken_in(
    database: &dyn Database,
) {
    let org = Org::first(database).await;
    let owner = Owner::Source(org.add_source("a").await.id);
    for n in 0..9 {
        let run = start(&org, &owner, n, "old").await;
        org.store.settle(ended(&run, 50, "x")).await.expect("settles");
    }
    // The first step marks where the index begins; the newest of what was there come first.
    let step = IndexStep { now: at(100), until: at(100), swept_before: at(0), limit: 2 };
    while org.store.index_state(&org.id).await.expect("a state").from != Some(at(7)) {
        assert!(org.store.index_runs(step).await.expect("a step") > 0);
    }
    assert_eq!(found(&org, "old").await.len(), 2);
    assert!(index(&org, 100, 2).await > 0);
    assert_eq!(found(&org, "old").await.len(), 9);
    assert_eq!(org.store.index_state(&org.id).await.expect("a state").from, None);
    // Stored when others after it were looked at already.
    let recent = start(&org, &owner, 150, "new").await;
    index(&org, 200, 2).await;
    let late = start(&org, &owner, 120, "new").await;
    index(&org, 200, 2).await;
    assert_eq!(found(&org, "new").await, [recent.clone()]);
    index(&org, 2_000, 2).await;
    assert_eq!(found(&org, "new").await, [recent, late]);
    assert_eq!(found(&org, "old").await.len(), 9);
}
