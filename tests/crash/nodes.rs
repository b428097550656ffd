//! Two servers on one Postgres, one of which is killed: the other takes over all that it had.

use millrace_tests::cluster::cluster;
use millrace_tests::{Server, answer, endpoint, id};
use reqwest::Method;
use serde_json::json;

/// Longer than a lease; by the clock of the server that goes on.
const LATER_MS: i64 = 60_000;
/// Runs of it go on while their server is killed.
const SLOW: &str = "export default { name: 'slow', version: '1', dedupe: 'unique', props: { http: '$.interface.http' },
  async run(e) { await new Promise((done) => setTimeout(done, 2000)); this.$emit({ n: e.body.n }, { id: e.body.n }); } };";
const COUNTS: &str =
    "export default defineComponent({ run({ steps }) { return steps.trigger.event.n; } });";
const SLOW_STEP: &str = "export default defineComponent({ async run({ $ }) { await new Promise((done) => setTimeout(done, 300)); await $.respond({ status: 200, body: 'done' }); } });";

#[tokio::test]
async fn a_killed_server_s_runs_are_taken_over_by_the_other() {
    let Some(cluster) = cluster() else { return };
    let database = cluster.database().await;
    let args = ["--database-url", &database.url(), "--egress-allow", "127.0.0.0/8"];
    let mut a = Server::new_at_rest(&args);
    a.skew_clock(0);
    a.launch().await;
    let mut b = a.beside(&args[..2]);
    b.skew_clock(0);
    b.launch().await;

    let source = a.source(SLOW, json!({})).await;
    let listener = a
        .workflow(
            "listener",
            json!([{ "type": "source", "id": id(&source) }]),
            &[("count", COUNTS)],
        )
        .await;
    let settings = json!({ "name": "one by one", "concurrency": 1 });
    let steps = json!([{ "namespace": "slow", "code": SLOW_STEP }]);
    let limited =
        a.post("/workflows", &json!({ "triggers": [{ "type": "http", "custom_response": true }], "steps": steps, "settings": settings })).await.data();
    // Clients who wait on the server that is killed: it alone may run theirs while it lives.
    let waiting: Vec<_> = (0..6)
        .map(|_| tokio::spawn(a.raw(Method::POST, &endpoint(&limited)).json(&json!({})).send()))
        .collect();
    let runs = format!("/workflows/{}/runs", id(&limited));
    b.until("they wait", &runs, |l| l["page_info"]["total_count"] == 6).await;
    for n in 0..20 {
        let url =
            if n % 2 == 0 { endpoint(&source) } else { endpoint(&source).replace(&a.url, &b.url) };
        assert_eq!(answer(b.raw(Method::POST, &url).json(&json!({ "n": n }))).await.status, 200);
    }
    a.kill();
    for client in waiting {
        // Answered before, or cut.
        let _ = client.await.expect("ends");
    }
    b.skew_clock(LATER_MS);

    let done = format!("/sources/{}/runs?status=succeeded", id(&source));
    let all =
        b.until("all runs of the source", &done, |l| l["page_info"]["total_count"] == 20).await;
    assert!(
        all["data"].as_array().expect("runs").iter().any(|run| run["attempt"].as_u64() > Some(1)),
        "some were taken over: {all}"
    );
    b.until(
        "all that they emitted",
        &format!("/workflows/{}/runs?status=succeeded", id(&listener)),
        |l| l["page_info"]["total_count"] == 20,
    )
    .await;
    b.until("what clients waited for", &format!("{runs}?status=succeeded"), |l| {
        l["page_info"]["total_count"] == 6
    })
    .await;
    assert_eq!(b.emitted(&source).await.len(), 20, "each once");
    for owner in [
        format!("/sources/{}", id(&source)),
        format!("/workflows/{}", id(&listener)),
        format!("/workflows/{}", id(&limited)),
    ] {
        for status in ["queued", "running", "failed"] {
            assert_eq!(
                b.get(&format!("{owner}/runs?status={status}")).await.json["page_info"]["total_count"],
                0,
                "{owner} {status}"
            );
        }
    }
}
