//! Section 6.4: channels, metadata, times, and who consumes events.

use futures::StreamExt as _;
use millrace_tests::{Client, Server, id};
use reqwest::Method;
use serde_json::{Value, json};

const EMITS: &str = "export default { name: 'e', version: '1', run(event) { for (const [data, meta] of event.emits) this.$emit(data, meta); } };";

async fn summaries(server: &Client, source: &Value, query: &str) -> Vec<Value> {
    let list = server.get(&format!("/sources/{}/event_summaries?{query}", id(source))).await.json;
    list["data"].as_array().expect("events").clone()
}

#[tokio::test]
async fn s6_4_a_listener_of_a_channel_runs_only_for_events_on_it() {
    let server = Server::shared().await;
    let source = server.source(EMITS, json!({})).await;
    let listener = async |name: &str, channel: &str| {
        let workflow =
            server.workflow(name, json!([]), &[("a", "export default defineComponent({ run({ steps }) { return steps.trigger.event.n; } });")]).await;
        server
            .post(
                &format!(
                    "/subscriptions?emitter_id={}&listener_id={}&event_name={channel}",
                    id(&source),
                    id(&workflow)
                ),
                &json!({}),
            )
            .await
            .data();
        workflow
    };
    let (default, other) = (listener("default", "").await, listener("other", "other").await);
    server
        .run_now(&source, json!({ "emits": [[{ "n": 1 }, {}], [{ "n": 2 }, { "name": "other" }], [{ "n": 3 }, { "name": "third" }], [{ "n": 4 }, null]] }))
        .await;
    for (workflow, expected) in [(&default, vec![json!(1), json!(4)]), (&other, vec![json!(2)])] {
        let path = format!("/workflows/{}/runs?status=succeeded", id(workflow));
        let runs = server
            .until("its runs", &path, |l| {
                l["page_info"]["total_count"].as_u64() >= Some(expected.len() as u64)
            })
            .await;
        let mut got: Vec<_> = runs["data"]
            .as_array()
            .expect("runs")
            .iter()
            .map(|r| r["steps"][0]["exports"]["$return_value"].clone())
            .collect();
        got.sort_by_key(Value::as_i64);
        assert_eq!(got, expected);
    }
    let of = async |query: &str| {
        summaries(&server, &source, query)
            .await
            .iter()
            .map(|e| e["event"]["n"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (of("event_name=other").await, of("event_name=").await),
        (vec![json!(2)], vec![json!(4), json!(1)])
    );
}

#[tokio::test]
async fn s6_4_id_name_summary_and_ts_are_in_the_metadata() {
    let server = Server::shared().await;
    let source = server.source(EMITS, json!({})).await;
    let emits = json!([[{ "a": 1 }, { "id": 12, "name": "c", "summary": "New thing", "ts": 1_700_000_000_123_i64 }], ["just text", { "id": "t" }], [[1, 2], {}]]);
    server.run_now(&source, json!({ "emits": emits })).await;
    let events = summaries(&server, &source, "expand=event").await;
    let of = |value: &Value| {
        events
            .iter()
            .find(|e| e["event"] == *value)
            .unwrap_or_else(|| panic!("{value} in {events:?}"))
    };
    let metadata = &of(&json!({ "a": 1 }))["metadata"];
    assert_eq!(
        (
            &metadata["id"],
            &metadata["name"],
            &metadata["summary"],
            &metadata["ts"],
            &metadata["emitter_id"]
        ),
        (
            &json!(12),
            &json!("c"),
            &json!("New thing"),
            &json!(1_700_000_000_123_i64),
            &source["id"]
        )
    );
    assert_eq!(metadata["emit_id"].as_str().map(str::len), Some(27));
    assert_eq!(
        (&of(&json!("just text"))["metadata"]["id"], &of(&json!([1, 2]))["metadata"]["name"]),
        (&json!("t"), &json!(""))
    );
}

#[tokio::test]
async fn s6_4_odd_metadata_does_not_make_an_emit_fail() {
    let server = Server::shared().await;
    let code = "export default { name: 'o', version: '1', dedupe: 'unique', run() {
      this.$emit({ n: 1 }, { id: 1, ts: NaN }); this.$emit({ n: 2 }, { id: 2, ts: undefined, summary: undefined, name: undefined });
      this.$emit({ n: 3 }, { id: 3, ts: 1700000000 }); this.$emit({ n: 4 }, { id: 4n, ts: '2024-01-01T00:00:00Z' }); this.$emit({ n: 5 }, { id: 5, summary: { a: 1 } });
      this.$emit(undefined, { id: 6 }); this.$emit(null, { id: 7 }); } };";
    let source = server.source(code, json!({})).await;
    let run = server.run_now(&source, json!({})).await;
    assert_eq!(run["status"], "succeeded", "{run}");
    assert_eq!(summaries(&server, &source, "").await.len(), 7);
}

#[tokio::test]
async fn s6_4_what_json_has_no_word_for_is_an_error_that_says_so() {
    let server = Server::shared().await;
    for value in ["(() => { const a = {}; a.a = a; return a; })()", "{ big: 1n }"] {
        let source = server
            .source(&format!("export default {{ name: 'b', version: '1', run() {{ this.$emit({{ ok: 1 }}); this.$emit({value}); }} }};"), json!({}))
            .await;
        let run = server.run_now(&source, json!({})).await;
        assert!(
            run["status"] == "failed"
                && run["error"]["message"]
                    .as_str()
                    .is_some_and(|m| m.contains("the emitted event")),
            "{run}"
        );
        assert_eq!(server.emitted(&source).await, [json!({ "ok": 1 })]);
    }
}

#[tokio::test]
async fn s6_4_emit_works_without_await_after_an_await_and_from_methods() {
    let server = Server::shared().await;
    let code = "export default { name: 'm', version: '1', methods: { say(n) { this.$emit({ n }); } }, async run() {
      const { say, $emit } = this; this.$emit({ n: 1 }); await new Promise((go) => setTimeout(go, 5)); say(2); await this.$emit({ n: 3 }); $emit({ n: 4 });
      Promise.resolve().then(() => this.$emit({ n: 5 })); } };";
    let source = server.source(code, json!({})).await;
    server.run_now(&source, json!({})).await;
    assert_eq!(
        server.emitted(&source).await,
        (1..=5).map(|n| json!({ "n": n })).collect::<Vec<_>>()
    );
}

#[tokio::test]
async fn s6_4_consumed_in_real_time_and_from_an_event_on() {
    let server = Server::shared().await;
    let source = server.source(EMITS, json!({})).await;
    let open = async |last: Option<&str>| {
        let mut request = server
            .raw(Method::GET, &format!("/v1/sources/{}/sse", id(&source)))
            .bearer_auth(&server.api_key);
        if let Some(last) = last {
            request = request.header("last-event-id", last);
        }
        let response = request.send().await.expect("an answer");
        assert_eq!(
            (response.status().as_u16(), response.headers()["content-type"].to_str().ok()),
            (200, Some("text/event-stream"))
        );
        response.bytes_stream()
    };
    let mut live = open(None).await;
    server.run_now(&source, json!({ "emits": [[{ "n": 1 }, { "id": "one" }]] })).await;
    let mut text = String::new();
    while !(text.contains("\"n\":1") && text.contains("\n\n")) {
        text.push_str(&String::from_utf8_lossy(
            &live.next().await.expect("goes on").expect("bytes"),
        ));
    }
    let field = |name: &str| {
        text.lines()
            .find_map(|l| l.strip_prefix(name))
            .map(|v| v.trim().to_owned())
            .unwrap_or_else(|| panic!("{name} in {text}"))
    };
    let first = summaries(&server, &source, "expand=event").await[0].clone();
    assert_eq!(field("id:"), id(&first));
    let data: Value = serde_json::from_str(&field("data:")).expect("JSON");
    assert_eq!(
        (&data["e"], &data["k"], &data["id"], &data["ts"]),
        (&json!({ "n": 1 }), &json!("emit"), &first["id"], &first["indexed_at_ms"])
    );
    // A client that comes back gets what it missed.
    drop(live);
    server.run_now(&source, json!({ "emits": [[{ "n": 2 }, {}], [{ "n": 3 }, {}]] })).await;
    let mut resumed = open(Some(id(&first))).await;
    let mut text = String::new();
    while !text.contains("\"n\":3") {
        text.push_str(&String::from_utf8_lossy(
            &resumed.next().await.expect("goes on").expect("bytes"),
        ));
    }
    assert!(text.contains("\"n\":2") && !text.contains("\"n\":1"), "{text}");
}
