//! An event that many listen to: what it makes is bounded.

use millrace_tests::Server;
use serde_json::json;

const EMITS: &str = "export default { name: 's', version: '1', run(event) { this.$emit('x'.repeat(event.size), { id: event.size }); } };";

/// A large event is stored once, however many workflows listen, and each has it whole.
#[tokio::test]
async fn an_event_of_many_listeners_is_stored_once() {
    const LISTENERS: usize = 20;
    const SIZE: usize = 3_000_000;
    let server = Server::start().await;
    let source = server.source(EMITS, json!({})).await;
    let trigger = json!([{ "type": "source", "id": source["id"] }]);
    let code = "export default { run({ steps }) { return steps.trigger.event.length; } };";
    for n in 0..LISTENERS {
        server.workflow(&format!("w{n}"), trigger.clone(), &[("a", code)]).await;
    }
    server.run_now(&source, json!({ "size": SIZE })).await;
    let emitter = source["id"].as_str().expect("an id");
    let list = format!("/runs?trigger_id={emitter}&status=succeeded&limit=100");
    let runs = server
        .until("all have run", &list, |l| {
            l["data"].as_array().is_some_and(|a| a.len() == LISTENERS)
        })
        .await;
    for run in runs["data"].as_array().expect("runs") {
        let path = format!("/runs/{}", run["id"].as_str().expect("an id"));
        let run = server.get(&path).await.data();
        assert_eq!(run["steps"][0]["exports"]["$return_value"], SIZE, "{path}");
        assert_eq!(run["event"].as_str().map(str::len), Some(SIZE), "{path}");
    }
    let files = ["millrace.db", "millrace.db-wal"].map(|name| server.data_dir().join(name));
    let bytes: u64 = files.iter().filter_map(|file| file.metadata().ok()).map(|m| m.len()).sum();
    // The event and its emission, in the database and in its log: copies would be 60 MB and more.
    assert!(bytes < 25_000_000, "{bytes}");
}

/// What one event makes for its webhooks has a bound: so much that it would be a commit of hundreds
/// of megabytes is not passed on, and the run's log says so.
#[tokio::test]
async fn an_event_is_not_multiplied_by_its_listeners_without_end() {
    const WEBHOOKS: usize = 50;
    let server = Server::start().await;
    let source = server.source(EMITS, json!({})).await;
    let id = source["id"].as_str().expect("an id");
    let workflow = server
        .workflow(
            "w",
            json!([{ "type": "source", "id": id }]),
            &[("a", "export default { run() {} };")],
        )
        .await;
    for n in 0..WEBHOOKS {
        let url = format!("http://127.0.0.1:9/{n}");
        let hook = server.post("/webhooks", &json!({ "url": url })).await.data();
        let hook = hook["id"].as_str().expect("an id");
        let path = format!("/subscriptions?emitter_id={id}&listener_id={hook}");
        assert_eq!(server.post(&path, &json!({})).await.status, 200, "{path}");
    }
    let large = server.run_now(&source, json!({ "size": 5_900_000 })).await;
    assert_eq!(large["status"], "succeeded", "{}", large["error"]);
    let logs = server.get(&format!("/sources/{id}/logs")).await.json["data"].to_string();
    assert!(
        logs.contains("not passed on to their 51 listeners") && logs.contains("256 MiB"),
        "{logs}"
    );
    assert_eq!(server.emitted(&source).await.len(), 1, "it is an event all the same");
    server.run_now(&source, json!({ "size": 10 })).await;
    let path =
        format!("/workflows/{}/runs?status=succeeded", workflow["id"].as_str().expect("an id"));
    let runs = server
        .until("the small one is passed on", &path, |l| l["page_info"]["total_count"] == 1)
        .await;
    assert_eq!(runs["page_info"]["total_count"], 1, "the large one is not");
}
