//! Tests of Postgres alone: servers that share a database.

use std::collections::HashSet;
use std::time::Duration;

use millrace_model::account::Account;
use millrace_model::clock::Timestamp;
use millrace_model::event::Event;
use millrace_model::ids::{AccountId, EventId, IdSource, MailId, OrgId, RunId, SourceId};
use millrace_model::run::{NewRun, RunKind, RunStatus, Start};
use millrace_model::source::Owner;
use millrace_store::conformance::Database as _;
use millrace_store::{
    Changed, Claim, Effects, Mail, MailStatus, NodeMessage, Nodes as _, Notice, Notification,
    SourceChange, Store, StoreError,
};
use millrace_store_postgres::{PostgresOptions, PostgresStore};
use tokio::sync::mpsc::Receiver;

use crate::cluster::Database;
use crate::fresh;

pub const NOW: Timestamp = Timestamp(1_767_225_600_000);

pub fn run(ids: &IdSource, ms: i64) -> NewRun {
    NewRun {
        id: RunId::at(ids, NOW.plus_ms(ms)),
        org_id: OrgId::generate(ids),
        owner: Owner::Source(SourceId::generate(ids)),
        deployment_id: None,
        kind: RunKind::Live,
        trigger_id: String::new(),
        event: "{}".into(),
        context: "{}".into(),
        created_at: NOW.plus_ms(ms),
        start: Start::Queued,
        result: None,
        replays: None,
    }
}

pub async fn claim(store: &dyn Store, node: &str, limit: u32) -> Vec<RunId> {
    let claim = Claim {
        node,
        now: NOW.plus_ms(100),
        lease_until: NOW.plus_ms(200),
        limit,
        after: "",
        passed_over: &[],
    };
    store.claim(claim).await.expect("claims").into_iter().map(|run| run.id).collect()
}

/// A source, without the ceremony.
pub async fn source(database: &Database, ids: &IdSource) -> SourceId {
    let id = SourceId::generate(ids);
    let sql = format!(
        "INSERT INTO organizations VALUES ('o_a', '', '', '', '', 0);
         INSERT INTO artifacts VALUES ('a', '', NULL, '', false);
         INSERT INTO components VALUES ('sc_a', 'o_a', '', '', NULL, 'source', NULL, '{{}}', 'a', false, 0, 0);
         INSERT INTO sources VALUES ('{id}', 'o_a', '', 'sc_a', '', '', '{{}}', true, NULL, 0, 0);"
    );
    database.client().await.batch_execute(&sql).await.expect("a source");
    id
}

async fn refusal(database: &Database) -> Option<StoreError> {
    PostgresStore::open(PostgresOptions::at(database.url())).await.err()
}

#[tokio::test]
async fn any_number_of_servers() {
    let Some(database) = fresh().await else { return };
    assert!(!database.open().await.single_node());
}

#[tokio::test]
async fn servers_that_start_at_once_migrate_once() {
    let Some(database) = fresh().await else { return };
    let (a, b, c, d) =
        tokio::join!(database.open(), database.open(), database.open(), database.open());
    for store in [a, b, c, d] {
        store.ping().await.expect("answers");
    }
    let versions = database
        .client()
        .await
        .query("SELECT version FROM schema_version", &[])
        .await
        .expect("reads");
    assert_eq!(versions.len(), 1);
}

#[tokio::test]
async fn a_database_of_a_newer_version_is_refused_and_stays_as_it_is() {
    let Some(database) = fresh().await else { return };
    database.open().await.close().await;
    let client = database.client().await;
    let known: i64 =
        client.query_one("SELECT version FROM schema_version", &[]).await.expect("reads").get(0);
    client.batch_execute("UPDATE schema_version SET version = 999").await.expect("writes");
    let refused = refusal(&database).await;
    assert!(
        matches!(refused, Some(StoreError::NewerSchema { found: 999, known: k }) if k == known),
        "{refused:?}"
    );
    let after: i64 =
        client.query_one("SELECT version FROM schema_version", &[]).await.expect("reads").get(0);
    assert_eq!(after, 999);
}

#[tokio::test]
async fn a_database_that_is_not_there_is_an_error() {
    let Some(database) = fresh().await else { return };
    database.client().await.batch_execute("CREATE ROLE weak LOGIN").await.expect("a role");
    let url = format!("{}_not_there", database.url());
    assert!(matches!(
        PostgresStore::open(PostgresOptions::at(url)).await.err(),
        Some(StoreError::Database(_))
    ));
    // A role that may not make tables gets told so.
    let url = database.url().replace("postgres@", "weak:hunter2@");
    let refused = PostgresStore::open(PostgresOptions::at(url))
        .await
        .err()
        .map(|error| format!("{error:?}"))
        .expect("refuses");
    assert!(refused.contains("permission denied") && !refused.contains("hunter2"), "{refused}");
}

/// Nobody who asks a server that works is to blame for it, and it may pass; a start is not to wait
/// for it.
#[tokio::test]
async fn a_database_that_lets_its_server_in_no_more_is_away() {
    let Some(database) = fresh().await else { return };
    let operator = database.client().await;
    operator.batch_execute("CREATE ROLE leaves SUPERUSER LOGIN").await.expect("a role");
    let options = PostgresOptions::at(database.url().replace("postgres@", "leaves@"));
    let store = PostgresStore::open(options.clone()).await.expect("opens");
    let ends = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'leaves'";
    operator
        .batch_execute(&format!("ALTER ROLE leaves NOLOGIN; {ends}"))
        .await
        .expect("takes it away");
    let mut said = String::new();
    // Connections that are being ended are told first, as such, or answer once more.
    while !said.contains("not permitted to log in") {
        match store.ping().await {
            Ok(()) => {}
            Err(StoreError::Unavailable(cause)) => said = format!("{cause:?}"),
            other => panic!("{other:?} after {said}"),
        }
    }
    assert!(said.contains("28000"), "{said}");
    let listens = store.listen().await.err();
    assert!(matches!(listens, Some(StoreError::Unavailable(_))), "{listens:?}");
    let refused = PostgresStore::open(options).await.err();
    assert!(matches!(refused, Some(StoreError::Database(_))), "{refused:?}");
    operator.batch_execute("ALTER ROLE leaves LOGIN").await.expect("gives it back");
    store.ping().await.expect("answers");
}

#[tokio::test]
async fn what_one_server_accepts_another_claims() {
    let Some(database) = fresh().await else { return };
    let (ids, a, b) = (IdSource::default(), database.open().await, database.open().await);
    let mut accepted = HashSet::new();
    for ms in 0..20 {
        let new = run(&ids, ms);
        accepted.insert(new.id.clone());
        a.accept(new, "a").await.expect("accepted");
    }
    let mut claimed = HashSet::new();
    loop {
        let (from_a, from_b) = tokio::join!(claim(&*a, "a", 3), claim(&*b, "b", 3));
        if from_a.is_empty() && from_b.is_empty() {
            break;
        }
        for id in from_a.into_iter().chain(from_b) {
            assert!(claimed.insert(id), "claimed twice");
        }
    }
    assert_eq!(claimed, accepted);
    // A server that starts takes from the others nothing.
    assert_eq!(b.requeue_running(Some("c")).await.expect("answers"), 0);
}

#[tokio::test]
async fn what_another_server_has_locked_is_passed_over() {
    let Some(database) = fresh().await else { return };
    // Who waits fails, so that the test does not wait for ever.
    let impatient = "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET lock_timeout = ''10s''', current_database()); END $$";
    database.client().await.batch_execute(impatient).await.expect("sets");
    let (ids, store) = (IdSource::default(), database.open().await);
    let (first, second) = (run(&ids, 0), run(&ids, 1));
    for new in [&first, &second] {
        store.accept(new.clone(), "a").await.expect("accepted");
    }
    let mut other = database.client().await;
    let locking = other.transaction().await.expect("begins");
    locking
        .execute("SELECT 1 FROM runs WHERE id = $1 FOR UPDATE", &[&first.id.as_str()])
        .await
        .expect("locks");
    assert_eq!(claim(&*store, "a", 10).await, [second.id]);
    locking.rollback().await.expect("lets go");
    assert_eq!(claim(&*store, "a", 10).await, [first.id]);
}

#[tokio::test]
async fn sources_that_settle_at_once_never_lose_a_change() {
    let Some(database) = fresh().await else { return };
    let (ids, a, b) = (IdSource::default(), database.open().await, database.open().await);
    let source_id = source(&database, &ids).await;
    let effects = |version: i64, text: &str| {
        let source = SourceChange {
            source_id: source_id.clone(),
            dedupe: Some((version, text.into())),
            db: vec![(text.into(), Some("1".into()))],
        };
        Effects { source: Some(source), ..Effects::default() }
    };
    for version in 0..5 {
        let (from_a, from_b) = tokio::join!(
            a.settle_effects(effects(version, &format!("a{version}"))),
            b.settle_effects(effects(version, &format!("b{version}")))
        );
        let (kept, lost) = if from_a.is_ok() { ("a", from_b) } else { ("b", from_a) };
        assert!(matches!(lost, Err(StoreError::StateChanged)), "{lost:?}");
        let state = a.source_state(&source_id).await.expect("reads");
        assert_eq!((state.version, state.dedupe), (version + 1, format!("{kept}{version}")));
    }
    assert_eq!(a.source_db(&source_id).await.expect("reads").len(), 5);
}

/// A mail, as an error of an owner sends it.
fn notice(ids: &IdSource, org_id: &OrgId, owner: &str) -> Effects {
    let mail = Mail {
        id: MailId::generate(ids),
        org_id: org_id.clone(),
        recipient: String::new(),
        subject: String::new(),
        text: String::new(),
        link: None,
        html: None,
        status: MailStatus::Queued,
        attempts: 0,
        last_error: None,
        created_at: NOW,
    };
    let notice = Notice {
        owner: owner.into(),
        class: "Error".into(),
        at: mail.created_at,
        unless_since: NOW.plus_ms(-1),
        group: None,
        mails: vec![mail],
    };
    Effects { notice: Some(notice), ..Effects::default() }
}

#[tokio::test]
async fn where_the_clock_went_back_what_was_written_since_goes_by_the_new_time() {
    let Some(database) = fresh().await else { return };
    let (ids, store) = (IdSource::default(), database.open().await);
    let org_id = OrgId::generate(&ids);
    store.settle_effects(notice(&ids, &org_id, "p_before")).await.expect("settles");
    let mark = store.clock_mark().await.expect("marks");
    store.settle_effects(notice(&ids, &org_id, "p_after")).await.expect("settles");
    let hour = 3_600_000;
    store.clock_went_back(NOW.plus_ms(-hour), hour, Some(&mark)).await.expect("moves");
    let due = store.claim_mail(NOW.plus_ms(-hour), NOW, 10, None).await.expect("claims");
    assert_eq!(due.len(), 1, "the one that was written before");
    assert_eq!(store.claim_mail(NOW, NOW.plus_ms(1), 10, None).await.expect("claims").len(), 2);
}

#[tokio::test]
async fn errors_at_once_on_many_servers_are_one_mail() {
    let Some(database) = fresh().await else { return };
    let (ids, a, b) = (IdSource::default(), database.open().await, database.open().await);
    let org_id = OrgId::generate(&ids);
    let notice = || notice(&ids, &org_id, "p_a");
    let (w, x, y, z) = tokio::join!(
        a.settle_effects(notice()),
        b.settle_effects(notice()),
        a.settle_effects(notice()),
        b.settle_effects(notice())
    );
    for settled in [w, x, y, z] {
        settled.expect("settles");
    }
    assert_eq!(
        a.list_mail(&org_id, &millrace_model::page::Page::default())
            .await
            .expect("lists")
            .total_count,
        1
    );
}

#[tokio::test]
async fn a_transaction_that_gave_way_to_another_is_tried_again() {
    let Some(database) = fresh().await else { return };
    let (ids, store) = (IdSource::default(), database.open().await);
    let source_id = source(&database, &ids).await;
    let effects = |version: i64| {
        let source = SourceChange {
            source_id: source_id.clone(),
            dedupe: Some((version, "[]".into())),
            db: vec![("k".into(), Some(version.to_string()))],
        };
        Effects { source: Some(source), ..Effects::default() }
    };
    store.settle_effects(effects(0)).await.expect("settles");
    // Another holds the db's row and will want the state's, which the settlement takes first: one
    // of them must give way, and it is the settlement, as the other is told to wait for long.
    let mut other = database.client().await;
    other.batch_execute("SET deadlock_timeout = '1h'").await.expect("sets");
    let locking = other.transaction().await.expect("begins");
    locking.batch_execute("SELECT 1 FROM source_db FOR UPDATE").await.expect("locks");
    let second = effects(1);
    let settle = tokio::spawn(async move { store.settle_effects(second).await.map(|()| store) });
    let watcher = database.client().await;
    loop {
        let waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
        if watcher.query_one(waiting, &[]).await.expect("reads").get::<_, i64>(0) > 0 {
            break;
        }
        tokio::task::yield_now().await;
    }
    locking
        .batch_execute("SELECT 1 FROM source_states FOR UPDATE")
        .await
        .expect("the settlement gave way");
    locking.commit().await.expect("commits");
    let store = settle.await.expect("ends").expect("settles");
    assert_eq!(store.source_state(&source_id).await.expect("reads").version, 2);
    assert_eq!(
        store.source_db(&source_id).await.expect("reads"),
        [("k".to_owned(), "1".to_owned())]
    );
}

#[tokio::test]
async fn the_cause_of_a_failure_is_not_hidden_by_what_it_stopped() {
    let Some(database) = fresh().await else { return };
    let (ids, store) = (IdSource::default(), database.open().await);
    let org_id = OrgId::generate(&ids);
    let event = Event {
        id: EventId { ms: NOW.ms(), seq: 0 },
        org_id: org_id.clone(),
        emitter_id: "dc_a".into(),
        name: String::new(),
        emit_id: String::new(),
        payload: "{}".into(),
        metadata: "{}".into(),
    };
    // Statements that a connection has prepared overtake those it has not.
    let events = vec![event.clone()];
    store.settle_effects(Effects { events, ..Effects::default() }).await.expect("settles");
    let source = Some(SourceChange {
        source_id: source(&database, &ids).await,
        dedupe: Some((0, "[]".into())),
        db: vec![("k".into(), Some("1".into()))],
    });
    let settled = store
        .settle_effects(Effects {
            events: vec![event],
            source,
            runs: vec![run(&ids, 0)],
            ..Effects::default()
        })
        .await;
    assert!(matches!(settled, Err(StoreError::Taken("id"))), "{settled:?}");
    assert_eq!(store.unfinished_runs().await.expect("counts"), 0);
}

#[tokio::test]
async fn a_server_whose_connections_were_cut_goes_on() {
    let Some(database) = fresh().await else { return };
    let (ids, store) = (IdSource::default(), database.open().await);
    let new = run(&ids, 0);
    store.accept(new.clone(), "a").await.expect("accepted");
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
    database.client().await.query(cut, &[]).await.expect("cuts");
    // A call that was under way may fail; those after it find new connections.
    while store.ping().await.is_err() {}
    assert_eq!(
        store.run(&new.org_id, &new.id).await.expect("reads").map(|run| run.status),
        Some(RunStatus::Queued)
    );
}

/// The next notification but those that say only that the connection is there.
async fn next(notifications: &mut Receiver<Notification>) -> Option<Notification> {
    loop {
        match notifications.recv().await {
            Some(Notification::CompleteUntil(_)) => {}
            other => return other,
        }
    }
}

async fn notifies_of(notifications: &mut Receiver<Notification>, expected: Changed) {
    match next(notifications).await {
        Some(Notification::Changed(changed)) => assert_eq!(changed, expected),
        other => panic!("{expected:?}: {other:?}"),
    }
}

#[tokio::test]
async fn a_change_notifies_the_other_servers_once_it_is_committed() {
    let Some(database) = fresh().await else { return };
    let (ids, store) = (IdSource::default(), database.open().await);
    let mut notifications = store.listen().await.expect("listens").expect("others may be there");
    let id = source(&database, &ids).await;
    notifies_of(&mut notifications, Changed::Owner(id.to_string())).await;
    let client = database.client().await;
    client
        .batch_execute("BEGIN; UPDATE sources SET active = false; ROLLBACK")
        .await
        .expect("takes back");
    client
        .batch_execute(&format!(
            "INSERT INTO subscriptions VALUES ('sub_a', 'o_a', '{id}', 'p_a', '', false, 0)"
        ))
        .await
        .expect("subscribes");
    notifies_of(&mut notifications, Changed::Listeners).await;
    // A new key changes nothing that was read before.
    let key = "INSERT INTO users VALUES ('u_a', 'o_a', '', '', 0); INSERT INTO api_keys VALUES ('k_a', 'o_a', 'u_a', '', 'hash', 0)";
    client.batch_execute(key).await.expect("a key");
    client.batch_execute("UPDATE api_keys SET rate_per_minute = 1").await.expect("changes");
    notifies_of(&mut notifications, Changed::Callers).await;
    client
        .batch_execute("INSERT INTO endpoint_domains VALUES ('a.test', 'o_a', 'hi_a', 0)")
        .await
        .expect("a domain");
    notifies_of(&mut notifications, Changed::Domains).await;
    // Settlements notify nobody: those that do commit one after the other.
    let change = SourceChange {
        source_id: id.clone(),
        dedupe: Some((0, "[]".into())),
        db: vec![("k".into(), Some("1".into()))],
    };
    store
        .settle_effects(Effects {
            source: Some(change),
            runs: vec![run(&ids, 0)],
            ..Effects::default()
        })
        .await
        .expect("settles");
    client.batch_execute("DELETE FROM sources").await.expect("deletes");
    notifies_of(&mut notifications, Changed::Owner(id.to_string())).await;
}

#[tokio::test]
async fn servers_publish_to_each_other_and_know_how_many_they_are() {
    let Some(database) = fresh().await else { return };
    let (a, b) = (database.open().await, database.open().await);
    let mut notifications = a.listen().await.expect("listens").expect("others may be there");
    assert_eq!(a.check_in("a", 60_000).await.expect("checks in"), 0);
    notifies_of(&mut notifications, Changed::Nodes).await;
    assert_eq!(b.check_in("b", 60_000).await.expect("checks in"), 1);
    notifies_of(&mut notifications, Changed::Nodes).await;
    assert_eq!(a.check_in("a", 60_000).await.expect("checks in"), 1);
    b.publish("b", &[NodeMessage::Queued]).await.expect("publishes");
    let message = next(&mut notifications).await;
    assert!(matches!(message, Some(Notification::Message(n, NodeMessage::Queued)) if n == "b"));
    b.check_out("b").await.expect("checks out");
    notifies_of(&mut notifications, Changed::Nodes).await;
    // One that is over is not counted, though nobody took it out.
    b.check_in("c", 0).await.expect("checks in");
    assert_eq!(a.check_in("a", 60_000).await.expect("checks in"), 0);
}

/// As the rows say it after the clock of the database went back by an hour.
#[tokio::test]
async fn a_server_that_ended_before_the_clock_went_back_does_not_count_until_it_has_caught_up() {
    let Some(database) = fresh().await else { return };
    let (ids, a, b) = (IdSource::default(), database.open().await, database.open().await);
    a.check_in("a", 60_000).await.expect("checks in");
    let new = run(&ids, 0);
    a.accept_queued(new.clone(), 10, Some("a")).await.expect("accepted");
    let moved = "UPDATE nodes SET alive_until = alive_until + interval '1 hour'";
    database.client().await.execute(moved, &[]).await.expect("moves");
    // It may be there, and has yet to say so again.
    assert_eq!(b.check_in("b", 300).await.expect("checks in"), 1);
    assert_eq!(b.check_in("b", 300).await.expect("checks in"), 1);
    assert!(claim(&*b, "b", 10).await.is_empty());
    tokio::time::sleep(Duration::from_millis(400)).await;
    assert_eq!(b.check_in("b", 300).await.expect("checks in"), 0);
    assert_eq!(claim(&*b, "b", 10).await, [new.id]);
}

#[tokio::test]
async fn a_listening_connection_that_was_cut_ends() {
    let Some(database) = fresh().await else { return };
    let store = database.open().await;
    let mut notifications = store.listen().await.expect("listens").expect("others may be there");
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'millrace-listener'";
    assert_eq!(database.client().await.query(cut, &[]).await.expect("cuts").len(), 1);
    assert!(next(&mut notifications).await.is_none());
    assert!(store.listen().await.expect("listens again").is_some());
    store.close().await;
    assert!(matches!(store.listen().await, Err(StoreError::Closed)));
}

#[tokio::test]
async fn a_run_that_somebody_waits_for_is_of_the_server_where_they_wait() {
    let Some(database) = fresh().await else { return };
    let (ids, a, b) = (IdSource::default(), database.open().await, database.open().await);
    a.check_in("a", 60_000).await.expect("checks in");
    let new = run(&ids, 0);
    a.accept_queued(new.clone(), 10, Some("a")).await.expect("accepted");
    assert!(claim(&*b, "b", 10).await.is_empty());
    assert_eq!(claim(&*a, "a", 10).await, std::slice::from_ref(&new.id));
    // Whoever comes first takes it once it was given back, or its server is gone.
    a.release(&new.id, 1, false).await.expect("gives back");
    assert_eq!(claim(&*b, "b", 10).await, [new.id]);
    let other = run(&ids, 1);
    a.accept_queued(other.clone(), 10, Some("a")).await.expect("accepted");
    a.check_out("a").await.expect("checks out");
    assert_eq!(claim(&*b, "b", 10).await, [other.id]);
}

#[tokio::test]
async fn one_server_at_a_time_refreshes_an_account() {
    let Some(database) = fresh().await else { return };
    let (ids, a, b) = (IdSource::default(), database.open().await, database.open().await);
    source(&database, &ids).await;
    let mut account = Account {
        id: AccountId::generate(&ids),
        org_id: OrgId::from_row("o_a".into()),
        app: "acme".into(),
        name: String::new(),
        credentials: "{}".into(),
        external_user_id: None,
        healthy: true,
        problem: None,
        expires_at: None,
        version: 1,
        created_at: NOW,
        updated_at: NOW,
    };
    a.create_account(account.clone()).await.expect("stores");
    let claim = |store: &std::sync::Arc<dyn Store>, version: i64, now: i64| {
        let (store, id) = (store.clone(), account.id.clone());
        let (now, until) = (NOW.plus_ms(now), NOW.plus_ms(now + 100));
        async move { store.claim_refresh(&id, version, now, until).await.expect("answers") }
    };
    let (from_a, from_b) = tokio::join!(claim(&a, 1, 0), claim(&b, 1, 0));
    assert!(from_a != from_b, "one of them");
    assert!(!claim(&a, 1, 99).await);
    // Who ended without a word is waited for no longer than it said.
    assert!(claim(&b, 1, 100).await);
    a.release_refresh(&account.id, NOW.plus_ms(100)).await.expect("lets go");
    assert!(!claim(&a, 1, 101).await, "the claim of another stays");
    b.release_refresh(&account.id, NOW.plus_ms(200)).await.expect("lets go");
    assert!(claim(&a, 1, 101).await);
    account.version = 2;
    b.update_account(account.clone()).await.expect("renamed");
    assert!(!claim(&b, 2, 102).await, "a rename does not end the refresh");
    a.release_refresh(&account.id, NOW.plus_ms(201)).await.expect("lets go");
    assert!(!claim(&b, 1, 102).await, "it is another by now");
    assert!(claim(&b, 2, 102).await);
}

/// A server of the release before goes on with a schema that a later one has brought up to date:
/// columns and tables are added, none is taken.
#[tokio::test]
async fn a_server_goes_on_while_a_later_release_migrates() {
    let Some(database) = fresh().await else { return };
    let (ids, earlier) = (IdSource::default(), database.open().await);
    let (before, after) = (run(&ids, 0), run(&ids, 1));
    earlier.accept(before.clone(), "a").await.expect("accepted");
    let later = "ALTER TABLE runs ADD COLUMN later TEXT; CREATE TABLE later (id TEXT PRIMARY KEY); UPDATE schema_version SET version = version + 1";
    let client = database.client().await;
    let (migrated, accepted) =
        tokio::join!(client.batch_execute(later), earlier.accept(after.clone(), "a"));
    migrated.expect("migrates");
    accepted.expect("accepted");
    assert_eq!(claim(&*earlier, "a", 10).await, [before.id, after.id]);
    assert!(
        matches!(refusal(&database).await, Some(StoreError::NewerSchema { .. })),
        "one that starts now is told"
    );
}
