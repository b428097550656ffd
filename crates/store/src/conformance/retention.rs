//! Retention of history.

use millrace_model::audit::AuditFilter;
use millrace_model::retention::Retention;
use millrace_model::run::LogFilter;
use millrace_model::source::Owner;

use super::Database;
use super::sample::{NODE, Org, at, event_id, log, page, settlement};
use crate::{Effects, MailResult, Pruning, Settlement};

/// A settled run with a log line.
async fn settled(org: &Org, owner: &Owner, ms: i64) {
    let id = org.start(owner, ms).await;
    let effects = Effects {
        logs: vec![log(ms, "line")],
        log_owner: Some((org.id.clone(), owner.as_str().to_owned(), id.clone())),
        ..Effects::default()
    };
    org.store.settle(Settlement { effects, ..settlement(&id, 1, ms + 1) }).await.expect("settles");
}

/// When the runs that are left were accepted, newest first.
async fn runs(org: &Org, owner: &Owner) -> Vec<i64> {
    let listed = org
        .store
        .list_runs(&org.id, &super::history::of_owner(owner), true, &page(100))
        .await
        .expect("lists");
    listed.items.into_iter().map(|listed| listed.run.created_at.ms() - at(0).ms()).collect()
}

async fn prune(
    org: &Org,
    owner: &Owner,
    before: Option<i64>,
    keep_count: Option<u32>,
    limit: u32,
) -> u64 {
    org.store
        .prune(Pruning {
            owner: owner.as_str().to_owned(),
            before: before.map(at),
            keep_count,
            limit,
        })
        .await
        .expect("prunes")
}

pub async fn the_newest_runs_and_events_stay(database: &dyn Database) {
    let org = Org::first(database).await;
    let (owner, another) =
        (Owner::Source(org.add_source("a").await.id), Owner::Source(org.add_source("b").await.id));
    for ms in 0..5 {
        settled(&org, &owner, ms).await;
        settled(&org, &another, ms).await;
        org.emit(vec![org.event(owner.as_str(), if ms == 4 { "$errors" } else { "" }, ms, 0)])
            .await;
    }
    assert_eq!(prune(&org, &owner, None, Some(5), 100).await, 0);
    assert_eq!(prune(&org, &owner, None, None, 100).await, 0);
    // Two runs and two events a step, the oldest first.
    assert_eq!(prune(&org, &owner, None, Some(2), 2).await, 4);
    assert_eq!(runs(&org, &owner).await, [4, 3, 2]);
    assert_eq!(prune(&org, &owner, None, Some(2), 2).await, 2);
    assert_eq!(prune(&org, &owner, None, Some(2), 2).await, 0);
    assert_eq!(runs(&org, &owner).await, [4, 3]);
    assert_eq!(
        org.events(owner.as_str()).await.into_iter().map(|e| e.id).collect::<Vec<_>>(),
        [event_id(3, 0), event_id(4, 0)]
    );
    assert_eq!(
        org.store
            .owner_logs(&org.id, owner.as_str(), &LogFilter::default(), 10)
            .await
            .expect("reads")
            .len(),
        2
    );
    assert_eq!(runs(&org, &another).await.len(), 5);
}

pub async fn age_and_number_both_count(database: &dyn Database) {
    let org = Org::first(database).await;
    let owner = Owner::Source(org.add_source("a").await.id);
    for ms in 0..6 {
        settled(&org, &owner, ms).await;
    }
    assert_eq!(prune(&org, &owner, Some(1), Some(4), 100).await, 2);
    assert_eq!(runs(&org, &owner).await, [5, 4, 3, 2]);
    assert_eq!(prune(&org, &owner, Some(4), Some(4), 100).await, 2);
    assert_eq!(runs(&org, &owner).await, [5, 4]);
    assert_eq!(prune(&org, &owner, Some(100), Some(4), 100).await, 2);
}

pub async fn what_waits_stays_and_is_counted(database: &dyn Database) {
    let org = Org::first(database).await;
    let owner = Owner::Source(org.add_source("a").await.id);
    org.accept(&owner, 0).await;
    settled(&org, &owner, 1).await;
    org.start(&owner, 2).await;
    org.emit(vec![org.event(owner.as_str(), "$in", 0, 0), org.event(owner.as_str(), "", 0, 1)])
        .await;
    assert_eq!(prune(&org, &owner, Some(100), Some(1), 100).await, 2);
    assert_eq!(runs(&org, &owner).await, [2, 0]);
    assert_eq!(org.events(owner.as_str()).await.len(), 1);
    assert_eq!(org.claim(NODE, 10, 10).await.len(), 1);
}

pub async fn logs_without_a_run_go_by_age(database: &dyn Database) {
    let org = Org::first(database).await;
    let owner = Owner::Source(org.add_source("a").await.id);
    let hook = org.run(&owner, 0).id;
    let effects = Effects {
        logs: vec![log(0, "old"), log(9, "new")],
        log_owner: Some((org.id.clone(), owner.as_str().to_owned(), hook)),
        ..Effects::default()
    };
    org.store.settle_effects(effects).await.expect("settles");
    let waiting = org.start(&owner, 0).await;
    let effects = Effects {
        logs: vec![log(0, "of a run")],
        log_owner: Some((org.id.clone(), owner.as_str().to_owned(), waiting)),
        ..Effects::default()
    };
    org.store.settle_effects(effects).await.expect("settles");
    assert_eq!(prune(&org, &owner, None, Some(1), 100).await, 0);
    assert_eq!(prune(&org, &owner, Some(9), None, 100).await, 1);
    let left = org
        .store
        .owner_logs(&org.id, owner.as_str(), &LogFilter::default(), 10)
        .await
        .expect("reads");
    assert_eq!(
        left.into_iter().map(|found| found.line.text).collect::<Vec<_>>(),
        ["of a run", "new"]
    );
}

pub async fn owners_are_found_one_after_the_other(database: &dyn Database) {
    let org = Org::first(database).await;
    let owner = Owner::Source(org.add_source("a").await.id);
    settled(&org, &owner, 0).await;
    settled(&org, &owner, 1).await;
    org.emit(vec![
        org.event("dc_", "", 0, 0),
        org.event("p_zzzz", "", 0, 1),
        org.event("p_zzzz", "x", 1, 0),
    ])
    .await;
    let owners =
        async |after: &str, limit| org.store.history_owners(after, limit).await.expect("lists");
    let all = ["dc_".to_owned(), owner.as_str().to_owned(), "p_zzzz".to_owned()];
    assert_eq!(owners("", 10).await, all);
    assert_eq!(owners("", 2).await, all[..2]);
    assert_eq!(owners(&all[1], 2).await, all[2..]);
    assert!(owners("p_zzzz", 2).await.is_empty());
}

pub async fn how_much_is_kept_is_set_for_an_owner_and_goes_with_it(database: &dyn Database) {
    let org = Org::first(database).await;
    let source = org.add_source("a").await;
    let of = async || org.store.retention(source.id.as_str()).await.expect("reads");
    assert_eq!(of().await, None);
    for retention in [
        Retention { keep_days: Some(7), keep_count: None },
        Retention { keep_days: None, keep_count: Some(1_000_000) },
    ] {
        org.store
            .put_retention(&org.id, source.id.as_str(), Some(retention))
            .await
            .expect("writes");
        assert_eq!(of().await, Some(retention));
    }
    org.store.delete_source(&org.id, &source.id).await.expect("deletes");
    assert_eq!(of().await, None);
    org.store.put_retention(&org.id, "p_a", Some(Retention::default())).await.expect("writes");
    org.store.put_retention(&org.id, "p_a", None).await.expect("writes");
    assert_eq!(org.store.retention("p_a").await.expect("reads"), None);
}

pub async fn mail_and_records_go_by_age_and_tokens_by_their_end(database: &dyn Database) {
    let org = Org::first(database).await;
    let (sent, tried, queued, _left) = (
        org.add_mail(0).await,
        org.add_mail(1).await,
        org.add_mail(50).await,
        org.add_mail(49).await,
    );
    org.store.mail_result(&sent.id, MailResult::Sent).await.expect("records");
    org.store
        .mail_result(&tried.id, MailResult::Retry { at: at(50), error: "busy".into() })
        .await
        .expect("records");
    org.store.record_audit(super::audit::record(&org, 0)).await.expect("records");
    org.store.record_audit(super::audit::record(&org, 50)).await.expect("records");
    let client = super::oauth_clients::client(&org, 0);
    org.store.create_oauth_client(client.clone()).await.expect("a client");
    for ms in [50, 51] {
        org.store.put_oauth_token(super::oauth_clients::token(&client, ms)).await.expect("a token");
    }
    // Of mail also what has been due for as long and nobody took.
    assert_eq!(org.prune(at(50), 100).await, 4);
    assert_eq!(
        org.mails().await.into_iter().map(|m| m.id).collect::<Vec<_>>(),
        [queued.id, tried.id]
    );
    assert_eq!(
        org.store
            .list_audit(&org.id, &AuditFilter::default(), &page(10))
            .await
            .expect("lists")
            .items
            .len(),
        1
    );
    assert_eq!(org.prune(at(51), 100).await, 4);
    assert!(org.mails().await.is_empty());
}
