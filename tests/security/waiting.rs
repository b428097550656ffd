//! Runs that wait behind limits of their owner that say nothing of a queue: their number has the
//! operator's bound, for requests and for events of others.

use millrace_tests::cluster::cluster;
use millrace_tests::{Server, answer, endpoint, id};
use reqwest::Method;
use serde_json::{Value, json};

const SOURCE: &str = "export default { name: 's', version: '1', run() { this.$emit({}); } };";
const STEP: &str = "export default defineComponent({ run() {} });";

async fn waiting_runs(server: &Server, workflow: &Value) -> u64 {
    let runs = server.get(&format!("/workflows/{}/runs", id(workflow))).await.json;
    runs["page_info"]["total_count"].as_u64().expect("a count")
}

async fn bounded(args: &[&str]) {
    let server = Server::start_with(&[args, &["--waiting-runs-max", "20"]].concat()).await;
    let source = server.source(SOURCE, json!({})).await;
    let triggers = json!([{ "type": "http" }, { "type": "source", "id": id(&source) }]);
    let workflow = |name: &str, settings: Value| {
        let mut body = json!({ "settings": settings, "triggers": triggers, "steps": [{ "namespace": "step", "code": STEP }] });
        body["settings"]["name"] = name.into();
        body
    };
    // None of its runs starts.
    let stands = workflow("stands", json!({ "throttle": { "runs": 0, "interval_ms": 1000 } }));
    let stands = server.post("/workflows", &stands).await.data();
    let goes =
        server.post("/workflows", &workflow("goes", json!({ "concurrency": 1 }))).await.data();
    let url = endpoint(&stands);
    let send = async || answer(server.raw(Method::POST, &url).json(&json!({}))).await;
    let mut accepted = 0;
    let refused = loop {
        let sent = send().await;
        if sent.status != 200 {
            break sent;
        }
        accepted += 1;
        assert!(accepted < 100_000, "no request was refused");
    };
    assert!(accepted >= 20, "{accepted}");
    assert_eq!(refused.refusal(), (429, "queue_full"), "{}", refused.text);
    assert!(refused.text.contains("--waiting-runs-max"), "{}", refused.text);
    let before = waiting_runs(&server, &stands).await;
    assert_eq!(before, accepted);
    // An event is kept, and goes to those that have room.
    let run = server.run_now(&source, json!({})).await;
    assert_eq!(run["status"], "succeeded", "{run}");
    let logs = server.get(&format!("/sources/{}/logs", id(&source))).await;
    let words =
        format!("was not passed on to `{}`: as many of its runs wait as may, 20", id(&stands));
    assert!(logs.text.contains(&words), "{}", logs.text);
    let path = format!("/workflows/{}/runs?status=succeeded", id(&goes));
    server.until("its run", &path, |l| l["page_info"]["total_count"] == 1).await;
    assert_eq!(waiting_runs(&server, &stands).await, before);
    assert_eq!(server.emitted(&source).await.len(), 1);
    // Once they go, more are taken.
    let loosened = json!({ "settings": { "throttle": false, "concurrency": 50 } });
    server.put(&format!("/workflows/{}", id(&stands)), &loosened).await.data();
    server.post(&format!("/workflows/{}/deploy", id(&stands)), &json!({})).await;
    let path = format!("/workflows/{}/runs?status=succeeded", id(&stands));
    server.until("its runs", &path, |l| l["page_info"]["total_count"] == before).await;
    let mut tries = 0;
    while send().await.status != 200 {
        tries += 1;
        assert!(tries < 100_000, "all requests are refused");
    }
}

#[tokio::test]
async fn runs_that_wait_behind_a_limit_have_a_bound() {
    bounded(&[]).await;
}

#[tokio::test]
async fn runs_that_wait_behind_a_limit_have_a_bound_on_postgres() {
    let Some(cluster) = cluster() else { return };
    let database = cluster.database().await;
    bounded(&["--database-url", &database.url()]).await;
}
