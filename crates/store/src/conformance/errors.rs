//! Groups of errors and failed runs.

use millrace_model::error_event::{CHANGES_MAX, ErrorGroup, ErrorGroupChange, ErrorState};
use millrace_model::ids::{DeploymentId, ErrorGroupId, RunId};
use millrace_model::page::Page;
use millrace_model::run::{NewRun, RunStatus, Start};
use millrace_model::source::Owner;

use super::Database;
use super::sample::{Org, at, log, page, settlement};
use crate::{Effects, ErrorGroupFilter, FailedRuns, Leftovers, Settlement};

pub(super) fn group(
    org: &Org,
    owner: &str,
    id: &str,
    class: &str,
    run: &RunId,
    ms: i64,
) -> ErrorGroup {
    ErrorGroup {
        id: ErrorGroupId::from_row(format!("eg_{id}")),
        org_id: org.id.clone(),
        owner: owner.to_owned(),
        class: class.to_owned(),
        step: "charge\u{0}".into(),
        frame: "run (a.mjs:1:1)".into(),
        message: format!("at {ms}"),
        last_run_id: run.clone(),
        first_at: at(ms),
        last_at: at(ms),
        count: 1,
        state: ErrorState::Open,
        state_at: None,
        note: None,
    }
}

/// A run that fails at once; of a group where one is given.
pub(super) async fn fail(org: &Org, owner: &Owner, ms: i64, of: Option<(&str, &str)>) -> RunId {
    let id = org.start(owner, ms).await;
    let group = of.map(|(group_id, class)| group(org, owner.as_str(), group_id, class, &id, ms));
    let settlement = Settlement {
        status: RunStatus::Failed,
        error: Some("{}".into()),
        group,
        ..settlement(&id, 1, ms)
    };
    org.store.settle(settlement).await.expect("settles");
    id
}

pub(super) fn owner(name: &str) -> Owner {
    Owner::from_row(name.to_owned())
}

pub async fn a_failed_run_counts_in_its_group(database: &dyn Database) {
    let org = Org::first(database).await;
    let other = Org::another(&org.store, "other").await;
    let (a, b) = (owner("p_a"), owner("p_b"));
    fail(&org, &a, 10, Some(("one", "TypeError"))).await;
    let newest = fail(&org, &a, 30, Some(("one", "TypeError"))).await;
    fail(&org, &b, 20, Some(("two", "Error"))).await;
    let listed = org
        .store
        .list_error_groups(&org.id, &ErrorGroupFilter::default(), &page(10))
        .await
        .expect("lists");
    assert_eq!((listed.total_count, listed.items.len()), (2, 2));
    let [one, two] = <[ErrorGroup; 2]>::try_from(listed.items).expect("two groups");
    assert_eq!(
        (one.count, one.first_at, one.last_at, one.message.as_str(), &one.last_run_id),
        (2, at(10), at(30), "at 30", &newest)
    );
    assert_eq!((two.owner.as_str(), two.class.as_str(), two.count), ("p_b", "Error", 1));
    let of_a =
        org.store.list_error_groups(&org.id, &of("p_a"), &page(10)).await.expect("lists").items;
    assert_eq!(of_a, [one.clone()]);
    let next = Page { limit: 1, after: Some(one.id.to_string()), ..Page::default() };
    assert_eq!(
        org.store
            .list_error_groups(&org.id, &ErrorGroupFilter::default(), &next)
            .await
            .expect("lists")
            .items,
        [two]
    );
    assert_eq!(org.store.error_group(&org.id, &one.id).await.expect("reads"), Some(one.clone()));
    assert_eq!(other.store.error_group(&other.id, &one.id).await.expect("reads"), None);
    assert!(
        other
            .store
            .list_error_groups(&other.id, &of("p_a"), &page(10))
            .await
            .expect("lists")
            .items
            .is_empty()
    );
}

fn of(owner: &str) -> ErrorGroupFilter {
    ErrorGroupFilter { owner: Some(owner.into()), ..ErrorGroupFilter::default() }
}

fn change(org: &Org, state: ErrorState, ms: i64, note: Option<&str>) -> ErrorGroupChange {
    ErrorGroupChange {
        at: at(ms),
        state,
        by: Some(org.user.clone().into()),
        note: note.map(str::to_owned),
        run_id: None,
    }
}

pub async fn a_resolved_group_regresses_with_a_run_accepted_after_that(database: &dyn Database) {
    let org = Org::first(database).await;
    let a = owner("p_a");
    fail(&org, &a, 10, Some(("one", "TypeError"))).await;
    let early = org.start(&a, 20).await;
    let id = ErrorGroupId::from_row("eg_one".into());
    let read =
        || async { org.store.error_group(&org.id, &id).await.expect("reads").expect("the group") };
    assert!(
        org.store
            .change_error_group(
                &org.id,
                &id,
                change(&org, ErrorState::Resolved, 30, Some("mended"))
            )
            .await
            .expect("changes")
    );
    // It was accepted before, by the version that was not mended.
    let group = Some(group(&org, "p_a", "one", "TypeError", &early, 40));
    let settlement = Settlement {
        status: RunStatus::Failed,
        error: Some("{}".into()),
        group,
        ..settlement(&early, 1, 40)
    };
    org.store.settle(settlement).await.expect("settles");
    let group = read().await;
    assert_eq!(
        (group.state, group.state_at, group.note.as_deref(), group.count),
        (ErrorState::Resolved, Some(at(30)), Some("mended"), 2)
    );
    let again = fail(&org, &a, 50, Some(("one", "TypeError"))).await;
    let group = read().await;
    assert_eq!(
        (group.state, group.state_at, group.note.as_deref()),
        (ErrorState::Regressed, Some(at(50)), Some("mended"))
    );
    fail(&org, &a, 60, Some(("one", "TypeError"))).await;
    let changes = org.store.error_group_changes(&id).await.expect("reads");
    assert_eq!(
        changes.iter().map(|c| (c.state, c.run_id.as_ref())).collect::<Vec<_>>(),
        [(ErrorState::Regressed, Some(&again)), (ErrorState::Resolved, None)]
    );
    assert_eq!(
        (&changes[0].by, changes[1].by.as_ref().map(|by| (&by.id, by.name.is_some()))),
        (&None, Some((&org.user, true)))
    );
    // An ignored one stays so, and is of the organization alone.
    assert!(
        org.store
            .change_error_group(&org.id, &id, change(&org, ErrorState::Ignored, 70, None))
            .await
            .expect("changes")
    );
    fail(&org, &a, 80, Some(("one", "TypeError"))).await;
    assert_eq!(read().await.state, ErrorState::Ignored);
    let other = Org::another(&org.store, "other").await;
    assert!(
        !other
            .store
            .change_error_group(&other.id, &id, change(&other, ErrorState::Open, 90, None))
            .await
            .expect("is refused")
    );
    assert_eq!(org.store.error_group_changes(&id).await.expect("reads").len(), 3);
}

pub async fn groups_are_listed_by_state_class_and_when_they_were_seen(database: &dyn Database) {
    let org = Org::first(database).await;
    let a = owner("p_a");
    for (id, class, ms) in
        [("one", "TypeError", 10), ("two", "Error", 20), ("three", "TypeError", 30)]
    {
        fail(&org, &a, ms, Some((id, class))).await;
    }
    let two = ErrorGroupId::from_row("eg_two".into());
    assert!(
        org.store
            .change_error_group(&org.id, &two, change(&org, ErrorState::Resolved, 40, None))
            .await
            .expect("changes")
    );
    let listed = async |filter: ErrorGroupFilter| {
        let listing =
            org.store.list_error_groups(&org.id, &filter, &page(10)).await.expect("lists");
        assert_eq!(listing.total_count, listing.items.len() as u64);
        listing.items.into_iter().map(|g| g.id.to_string()).collect::<Vec<_>>()
    };
    let by = |states: &[ErrorState]| ErrorGroupFilter { states: states.to_vec(), ..of("p_a") };
    assert_eq!(listed(by(&[ErrorState::Open])).await, ["eg_three", "eg_one"]);
    assert_eq!(listed(by(&[ErrorState::Resolved, ErrorState::Regressed])).await, ["eg_two"]);
    assert_eq!(
        listed(ErrorGroupFilter {
            states: vec![ErrorState::Open],
            since: Some(at(30)),
            ..ErrorGroupFilter::default()
        })
        .await,
        ["eg_three"]
    );
    assert_eq!(
        listed(ErrorGroupFilter { class: Some("Error".into()), ..ErrorGroupFilter::default() })
            .await,
        ["eg_two"]
    );
}

pub async fn a_group_keeps_its_newest_changes_until_it_is_pruned(database: &dyn Database) {
    let org = Org::first(database).await;
    fail(&org, &owner("p_a"), 10, Some(("one", "TypeError"))).await;
    let id = ErrorGroupId::from_row("eg_one".into());
    for n in 0..i64::from(CHANGES_MAX) + 2 {
        let state = if n % 2 == 0 { ErrorState::Ignored } else { ErrorState::Open };
        assert!(
            org.store
                .change_error_group(
                    &org.id,
                    &id,
                    change(&org, state, 100 + n, Some(&n.to_string()))
                )
                .await
                .expect("changes")
        );
    }
    let changes = org.store.error_group_changes(&id).await.expect("reads");
    assert_eq!(
        (changes.len(), changes[0].note.as_deref(), changes[99].note.as_deref()),
        (CHANGES_MAX as usize, Some("101"), Some("2"))
    );
    let leftovers = Leftovers { before: Some(at(20)), audit_before: None, now: at(300), limit: 10 };
    org.store.prune_leftovers(leftovers).await.expect("prunes");
    assert_eq!(org.store.error_group(&org.id, &id).await.expect("reads"), None);
    assert!(org.store.error_group_changes(&id).await.expect("reads").is_empty());
}

pub async fn a_group_knows_the_deployments_that_it_was_seen_in(database: &dyn Database) {
    let org = Org::first(database).await;
    let a = owner("p_a");
    for (deployment, id, ms) in
        [("d_1", "one", 10), ("d_1", "one", 20), ("d_2", "one", 30), ("d_2", "two", 40)]
    {
        let run = NewRun {
            deployment_id: Some(DeploymentId::from_row(deployment.into())),
            start: Start::Claimed { lease_until: at(ms + 1_000) },
            ..org.run(&a, ms)
        };
        let run_id = run.id.clone();
        org.store.accept(run, "node_a").await.expect("accepts");
        let group = Some(group(&org, "p_a", id, "TypeError", &run_id, ms));
        let settlement = Settlement {
            status: RunStatus::Failed,
            error: Some("{}".into()),
            group,
            ..settlement(&run_id, 1, ms)
        };
        org.store.settle(settlement).await.expect("settles");
    }
    let one = org
        .store
        .error_group(&org.id, &ErrorGroupId::from_row("eg_one".into()))
        .await
        .expect("reads")
        .expect("the group");
    let versions = org.store.error_group_versions(&one, 10).await.expect("reads");
    let seen: Vec<_> = versions
        .iter()
        .map(|v| (v.deployment_id.as_str(), v.version, v.count, v.first_at, v.last_at))
        .collect();
    assert_eq!(seen, [("d_2", None, 1, at(30), at(30)), ("d_1", None, 2, at(10), at(20))]);
    assert_eq!(org.store.error_group_versions(&one, 2).await.expect("reads").len(), 1);
}

pub async fn failed_runs_tell_when_each_group_was_seen(database: &dyn Database) {
    let org = Org::first(database).await;
    let (a, b) = (owner("p_a"), owner("p_b"));
    fail(&org, &a, 10, Some(("one", "TypeError"))).await;
    fail(&org, &b, 20, Some(("two", "Error"))).await;
    fail(&org, &a, 30, Some(("one", "TypeError"))).await;
    fail(&org, &a, 40, None).await;
    let well = org.start(&a, 35).await;
    org.store.settle(settlement(&well, 1, 35)).await.expect("settles");
    let seen = async |from: i64, to: i64, max: u32| {
        let found = org.store.failed_times(&org.id, (at(from), at(to)), max).await.expect("reads");
        found.into_iter().map(|f| (f.at, f.group.map(|id| id.to_string()))).collect::<Vec<_>>()
    };
    let (one, two) = (Some("eg_one".to_owned()), Some("eg_two".to_owned()));
    assert_eq!(
        seen(10, 41, 10).await,
        [(at(40), None), (at(30), one.clone()), (at(20), two.clone()), (at(10), one.clone())]
    );
    assert_eq!(seen(20, 40, 10).await, [(at(30), one.clone()), (at(20), two)]);
    assert_eq!(seen(10, 40, 1).await, [(at(30), one)]);
    let other = Org::another(&org.store, "other").await;
    assert_eq!(other.store.failed_times(&other.id, (at(0), at(50)), 10).await.expect("reads"), []);
}

pub(super) fn which(org: &Org, owner: &Owner) -> FailedRuns {
    FailedRuns {
        org_id: org.id.clone(),
        owner: owner.as_str().to_owned(),
        class: None,
        group: None,
        from: None,
        to: None,
        after: None,
        limit: 10,
    }
}

pub(super) async fn failed(org: &Org, which: &FailedRuns) -> Vec<RunId> {
    org.store.failed_runs(which).await.expect("reads").into_iter().map(|run| run.id).collect()
}

pub async fn failed_runs_fit_class_group_and_time(database: &dyn Database) {
    let org = Org::first(database).await;
    let a = owner("p_a");
    let first = fail(&org, &a, 10, Some(("one", "TypeError"))).await;
    let second = fail(&org, &a, 20, Some(("two", "TypeError"))).await;
    let third = fail(&org, &a, 30, Some(("three", "Error"))).await;
    fail(&org, &owner("p_b"), 40, Some(("four", "TypeError"))).await;
    let well = org.start(&a, 50).await;
    org.store.settle(settlement(&well, 1, 50)).await.expect("settles");
    let all = which(&org, &a);
    assert_eq!(failed(&org, &all).await, [first.clone(), second.clone(), third.clone()]);
    assert_eq!(
        failed(&org, &FailedRuns { class: Some("TypeError".into()), ..all.clone() }).await,
        [first.clone(), second.clone()]
    );
    assert_eq!(
        failed(
            &org,
            &FailedRuns { group: Some(ErrorGroupId::from_row("eg_three".into())), ..all.clone() }
        )
        .await,
        [third.clone()]
    );
    assert_eq!(
        failed(&org, &FailedRuns { from: Some(at(20)), to: Some(at(30)), ..all.clone() }).await,
        [second.clone()]
    );
    assert_eq!(
        failed(&org, &FailedRuns { after: Some((at(10), first)), limit: 1, ..all.clone() }).await,
        [second]
    );
    assert_eq!(org.store.count_failed_runs(&all).await.expect("counts"), 3);
    assert_eq!(
        org.store.count_failed_runs(&FailedRuns { limit: 2, ..all }).await.expect("counts"),
        2
    );
}

pub async fn what_keeps_no_data_leaves_none(database: &dyn Database) {
    let org = Org::first(database).await;
    let a = owner("p_a");
    let id = org.start(&a, 0).await;
    let logged = Effects {
        logs: vec![log(1, "secret")],
        log_owner: Some((org.id.clone(), "p_a".into(), id.clone())),
        ..Effects::default()
    };
    org.store.settle_effects(logged).await.expect("an earlier attempt's log");
    org.store
        .settle(Settlement { forget: Some(r#"{"$kept":false}"#.into()), ..settlement(&id, 1, 5) })
        .await
        .expect("settles");
    let run = org.stored(&id).await;
    assert_eq!((run.event.as_str(), run.status), (r#"{"$kept":false}"#, RunStatus::Succeeded));
    assert!(org.store.run_logs(&id).await.expect("reads").is_empty());
}
