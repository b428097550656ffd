//! Deferred events (reference 3): `delivery_ts`, and the channel `$in`.

use millrace_tests::{Client, Server, answer, endpoint, id};
use reqwest::Method;
use serde_json::{Value, json};

async fn summaries(server: &Client, source: &Value, query: &str) -> Vec<Value> {
    let list = server.get(&format!("/sources/{}/event_summaries?{query}", id(source))).await.json;
    list["data"].as_array().expect("events").clone()
}

#[tokio::test]
async fn r3_12_a_deferred_event_waits_in_the_channel_in_and_can_be_taken_back() {
    let server = Server::shared().await;
    let code = "export default { name: 'd', version: '1', run(event) { for (const [n, ms] of event.later) this.$emit({ n }, { id: n, delivery_ts: Date.now() + ms }); } };";
    let source = server.source(code, json!({})).await;
    server
        .run_now(
            &source,
            json!({ "later": [["far", 3_600_000], ["soon", 400], ["also far", 3_600_000]] }),
        )
        .await;
    let waiting = summaries(&server, &source, "event_name=%24in").await;
    let far = waiting
        .iter()
        .find(|e| e["metadata"]["id"] == "far")
        .unwrap_or_else(|| panic!("{waiting:?}"));
    let (at, path) = (id(far), format!("/sources/{}", id(&source)));
    assert_eq!(
        server
            .delete(&format!("{path}/events?event_name=%24in&start_id={at}&end_id={at}"))
            .await
            .status,
        202
    );
    server
        .until("the soon one", &format!("{path}/event_summaries?event_name="), |l| {
            l["data"].to_string().contains("soon")
        })
        .await;
    let left: Vec<_> = summaries(&server, &source, "event_name=%24in")
        .await
        .iter()
        .map(|e| e["metadata"]["id"].clone())
        .collect();
    assert_eq!(left, [json!("also far")]);
}

#[tokio::test]
async fn r3_12_an_event_whose_delivery_ts_is_no_time_is_emitted_at_once_and_the_log_says_so() {
    let server = Server::shared().await;
    let code = "export default { name: 'd', version: '1', run() { this.$emit({}, { id: 'a', delivery_ts: '2050-01-01' }); } };";
    let source = server.source(code, json!({})).await;
    server.run_now(&source, json!({})).await;
    let now = summaries(&server, &source, "event_name=").await;
    assert_eq!(now.len(), 1, "{now:?}");
    let logs = server.get(&format!("/sources/{}/logs", id(&source))).await.text;
    assert!(logs.contains("milliseconds since 1970"), "{logs}");
}

#[tokio::test]
async fn r3_12_a_source_hears_itself_on_a_channel() {
    let server = Server::shared().await;
    let code = "export default { name: 'self', version: '1', run(event) { console.log(process.env.PD_COMPONENT);
      if (event.$id) this.$emit({ done: event.$id }); else this.$emit({ $id: 'x', $channel: 'self' }, { name: 'self', id: 'x', delivery_ts: Date.now() + 20 }); } };";
    let source = server.source(code, json!({})).await;
    let own = id(&source);
    server
        .post(
            &format!("/subscriptions?emitter_id={own}&listener_id={own}&event_name=self"),
            &json!({}),
        )
        .await
        .data();
    server.run_now(&source, json!({})).await;
    let fits = |l: &Value| l["data"].to_string().contains("done");
    let list = server
        .until(
            "its own event",
            &format!("/sources/{own}/event_summaries?event_name=&expand=event"),
            fits,
        )
        .await;
    assert_eq!(list["data"][0]["event"], json!({ "done": "x" }));
    let logs = server.get(&format!("/sources/{own}/logs")).await.json;
    assert!(logs["data"].as_array().expect("lines").iter().all(|l| l["text"] == own), "{logs}");
}

#[tokio::test]
async fn r3_12_a_deferred_event_outlives_a_kill_and_comes_with_its_channel_and_metadata() {
    let mut server = Server::start().await;
    let code = "export default { name: 'd', version: '1', dedupe: 'unique', run(event) { for (const id of ['a', 'b']) this.$emit({ id }, { id, name: 'later', summary: `#${id}`, ts: 5, delivery_ts: Date.now() + event.ms }); } };";
    let source = server.source(code, json!({})).await;
    server.run_now(&source, json!({ "ms": 1_000 })).await;
    server.kill();
    server.launch().await;
    let path = format!("/sources/{}/event_summaries?event_name=later&expand=event", id(&source));
    let list = server.until("both events", &path, |l| l["page_info"]["count"] == 2).await;
    let first = &list["data"][1];
    assert_eq!(
        (&first["event"], &first["metadata"]["name"], &first["metadata"]["summary"]),
        (&json!({ "id": "a" }), &json!("later"), &json!("#a"))
    );
    assert_eq!(
        (first["metadata"].get("delivery_ts"), first["metadata"].get("trace_id")),
        (None, None)
    );
    assert!(summaries(&server, &source, "event_name=%24in").await.is_empty());
}

#[tokio::test]
async fn r3_12_a_task_that_was_put_off_is_emitted_under_the_same_id_once_it_is_due() {
    let server = Server::shared().await;
    // As the public scheduler of tasks does it, on a channel of its own. Of the second source the
    // time comes while its run goes on.
    for (wait_ms, then) in
        [(2_000, ""), (200, "return new Promise((done) => setTimeout(done, 400));")]
    {
        let code = format!(
            "export default {{ name: 'tasks', version: '1', dedupe: 'unique', run(event) {{
            if (event.$channel === 'self') {{ const id = event.$id; delete event.$channel; delete event.$id; return this.$emit(event, {{ id }}); }}
            this.$emit({{ ...event, $channel: 'self', $id: 'uuid' }}, {{ name: 'self', id: 'uuid', delivery_ts: Date.now() + {wait_ms} }}); {then} }} }};"
        );
        let source = server.source(&code, json!({})).await;
        let own = id(&source);
        server
            .post(
                &format!("/subscriptions?emitter_id={own}&listener_id={own}&event_name=self"),
                &json!({}),
            )
            .await
            .data();
        server.run_now(&source, json!({ "task": 1 })).await;
        let list = server
            .until(
                "the task",
                &format!("/sources/{own}/event_summaries?event_name=&expand=event"),
                |l| l["page_info"]["count"] == 1,
            )
            .await;
        assert_eq!(
            (&list["data"][0]["event"], &list["data"][0]["metadata"]["id"]),
            (&json!({ "task": 1 }), &json!("uuid"))
        );
    }
}

#[tokio::test]
async fn r3_12_code_emits_nothing_into_channels_of_the_server() {
    let server = Server::shared().await;
    // In `$in` it would stay for ever, with a time or without one; in `$errors` it would pass for a
    // failed run.
    let code = "export default { name: 'd', version: '1', run() { this.$emit(1, { id: 1, name: '$in' }); this.$emit(2, { id: 2, name: '$in', delivery_ts: Date.now() + 50 });
      this.$emit(3, { id: 3 }); this.$emit(4, { name: '$errors' }); this.$emit(5, { name: 'x'.repeat(201) }); } };";
    let source = server.source(code, json!({})).await;
    server.run_now(&source, json!({})).await;
    assert!(summaries(&server, &source, "event_name=%24in").await.is_empty());
    assert_eq!(summaries(&server, &source, "").await.len(), 1);
    let logs = server.get(&format!("/sources/{}/logs", id(&source))).await.json;
    let refused = logs["data"]
        .as_array()
        .expect("lines")
        .iter()
        .filter(|l| l["text"].as_str().is_some_and(|t| t.contains("is not a channel to emit into")))
        .count();
    assert_eq!(refused, 4, "{logs}");
    assert!(summaries(&server, &source, "event_name=%24errors").await.is_empty());
    let step = "export default defineComponent({ run({ $ }) { $.send.emit({ n: 1 }, '$in'); $.send.emit({ n: 2 }); } });";
    let workflow = server.workflow("w", json!([{ "type": "http" }]), &[("a", step)]).await;
    answer(server.raw(Method::POST, &endpoint(&workflow)).json(&json!({}))).await;
    let path = format!("/workflows/{}/event_summaries", id(&workflow));
    server.until("the other event", &path, |l| l["page_info"]["total_count"] == 1).await;
    assert_eq!(
        server.get(&format!("{path}?event_name=%24in")).await.json["page_info"]["total_count"],
        0
    );
}
