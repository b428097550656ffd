//! Order of a source's runs where the settlement of one fails: what they counted in `$.service.db`
//! agrees with what is stored.

use millrace_tests::cluster::cluster;
use millrace_tests::{FAIL_POINTS, Server, answer, endpoint, id};
use reqwest::Method;
use serde_json::{Value, json};

const SOURCE: &str = "export default { name: 'order', version: '1', props: { http: '$.interface.http', db: '$.service.db' },
    run({ body: { n } }) { const count = (this.db.get('count') || 0) + 1; this.db.set('count', count); this.$emit({ n, count }); } };";
/// Later than the leases of runs that could not be settled.
const LATER_MS: i64 = 60_000;

/// A server whose commits take their time, and of which the first that settles a run fails, before
/// it happens or after; with a source, and the point's name.
async fn first_settlement_fails(args: &[&str], code: &str, when: &str) -> (Server, Value, String) {
    let mut server = Server::failing(args);
    server.skew_clock(0);
    server.launch().await;
    let source = server.source(code, json!({})).await;
    server.kill();
    let point = format!("store.settle.{when}_commit");
    server.set_env(FAIL_POINTS, &format!("store.commit=delay(300);{point}=error@1"));
    server.launch().await;
    (server, source, point)
}

/// The commit of the first run fails, before it happens or after, while others wait for it: they
/// count in the order in which they were accepted.
async fn a_write_fails(args: &[&str], when: &str) {
    let (mut server, source, point) = first_settlement_fails(args, SOURCE, when).await;
    let url = endpoint(&source);
    for n in 1..=3 {
        assert_eq!(
            answer(server.raw(Method::POST, &url).json(&json!({ "n": n }))).await.status,
            200
        );
    }
    server.until_log(&format!("name=\"{point}\"")).await;
    server.until_log("could not be settled").await;
    server.skew_clock(LATER_MS);
    let runs = format!("/sources/{}/runs?status=succeeded", id(&source));
    server.until("all have settled", &runs, |list| list["page_info"]["total_count"] == 3).await;
    let counts: Vec<(u64, u64)> = server
        .emitted(&source)
        .await
        .iter()
        .map(|e| (e["n"].as_u64().expect("a number"), e["count"].as_u64().expect("a count")))
        .collect();
    assert_eq!(counts, [(1, 1), (2, 2), (3, 3)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_counted_agrees_though_a_write_was_not_stored_or_nobody_knows() {
    for when in ["before", "after"] {
        a_write_fails(&[], when).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_counted_agrees_though_a_write_fails_on_postgres() {
    let Some(cluster) = cluster() else { return };
    for when in ["before", "after"] {
        let database = cluster.database().await;
        a_write_fails(&["--database-url", &database.url()], when).await;
    }
}

/// Leaves out what it has seen before, as sources do that ask again and again for what is new.
const SEEN: &str = "export default { name: 'seen', version: '1', props: { http: '$.interface.http', db: '$.service.db' },
  run({ body: { n } }) {
    const seen = this.db.get('seen') || [];
    if (seen.includes(n)) return;
    this.db.set('seen', [...seen, n]);
    this.$emit({ n });
  } };";

/// The commit of one fails while later ones, which went on from what it wrote, wait to be settled:
/// it finds nothing of its own once it goes again.
async fn an_earlier_write_fails(args: &[&str], when: &str) {
    let (mut server, source, point) = first_settlement_fails(args, SEEN, when).await;
    let url = endpoint(&source);
    let all = 1..=6u64;
    let send = all.clone().map(|n| answer(server.raw(Method::POST, &url).json(&json!({ "n": n }))));
    for answered in futures::future::join_all(send).await {
        assert_eq!(answered.status, 200, "{answered:?}");
    }
    server.until_log(&format!("name=\"{point}\"")).await;
    server.skew_clock(LATER_MS);
    let runs = format!("/sources/{}/runs?status=succeeded", id(&source));
    server.until("all have settled", &runs, |list| list["page_info"]["total_count"] == 6).await;
    let events = server
        .get(&format!("/sources/{}/event_summaries?expand=event&limit=10", id(&source)))
        .await
        .json;
    let mut emitted: Vec<u64> = events["data"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|event| event["event"]["n"].as_u64().expect("a number"))
        .collect();
    emitted.sort_unstable();
    assert_eq!(emitted, all.collect::<Vec<_>>(), "{}", server.log());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_taken_for_seen_whose_run_was_not_stored() {
    for when in ["before", "after"] {
        an_earlier_write_fails(&[], when).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_taken_for_seen_whose_run_was_not_stored_on_postgres() {
    let Some(cluster) = cluster() else { return };
    for when in ["before", "after"] {
        let database = cluster.database().await;
        an_earlier_write_fails(&["--database-url", &database.url()], when).await;
    }
}
