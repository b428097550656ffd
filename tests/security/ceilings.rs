//! Ceilings of the operator for limits that an author or the owner of a key sets: what is asked for
//! beyond one is refused, and what was set before there was one is held to it.

use millrace_tests::{Server, answer, endpoint, id};
use reqwest::Method;
use serde_json::{Value, json};

const AT_ONCE: &str = "let at_once = 0, most = 0; export default defineComponent({ async run() { at_once += 1; most = Math.max(most, at_once); await new Promise((done) => setTimeout(done, 100)); at_once -= 1; return most; } });";

fn settings(field: &str, value: u32) -> Value {
    json!({ "settings": { "name": "w", field: value }, "triggers": [{ "type": "http" }], "steps": [{ "namespace": "step", "code": AT_ONCE }] })
}

#[tokio::test]
async fn limits_that_an_author_sets_have_the_operator_s_ceiling() {
    let mut server = Server::start().await;
    let shared = server.post("/workflows", &settings("calls_per_isolate", 8)).await.data();
    server.set_args(&[
        "--calls-per-isolate-max",
        "1",
        "--waiting-runs-max",
        "50",
        "--requests-per-minute-max",
        "100",
        "--egress-allow",
        "127.0.0.0/8",
    ]);
    assert_eq!(server.terminate(), Some(0));
    server.launch().await;
    for (field, value, option) in [
        ("calls_per_isolate", 2, "--calls-per-isolate-max"),
        ("queue_max", 51, "--waiting-runs-max"),
    ] {
        let refused = server.post("/workflows", &settings(field, value)).await;
        assert_eq!(refused.refusal(), (422, "invalid_field"), "{}", refused.text);
        assert_eq!(refused.json["details"]["field"], format!("settings.{field}"));
        assert!(refused.text.contains(option), "{}", refused.text);
    }
    server.post("/workflows", &settings("queue_max", 50)).await.data();
    let source = json!({ "component_code": "export default { name: 's', version: '1', run() {} };", "calls_per_isolate": 2 });
    let refused = server.post("/sources", &source).await;
    assert_eq!(refused.refusal(), (422, "invalid_field"), "{}", refused.text);
    assert!(refused.text.contains("--calls-per-isolate-max"), "{}", refused.text);
    let key = |rate: u32| json!({ "name": "k", "scopes": ["read"], "rate_per_minute": rate });
    let refused = server.post("/api_keys", &key(101)).await;
    assert_eq!(refused.refusal(), (422, "invalid_field"), "{}", refused.text);
    assert!(refused.text.contains("--requests-per-minute-max"), "{}", refused.text);
    server.post("/api_keys", &key(100)).await.data();
    // What was deployed before has no more either.
    let url = endpoint(&shared);
    let sent = (0..6).map(|_| async {
        let sent = server.raw(Method::POST, &url).json(&json!({}));
        assert_eq!(answer(sent).await.status, 200);
    });
    futures::future::join_all(sent).await;
    let path = format!("/workflows/{}/runs?status=succeeded", id(&shared));
    let runs = server.until("its runs", &path, |l| l["page_info"]["total_count"] == 6).await;
    for run in runs["data"].as_array().expect("runs") {
        assert_eq!(run["steps"][0]["exports"]["$return_value"], 1, "{run}");
    }
}
