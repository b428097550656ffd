//! Events, errors, logs and streams: rows 8, 10, 11, 21, 22 and 25 of the table.

use millrace_tests::{Client, Server, answer, endpoint, id};
use reqwest::Method;
use serde_json::{Value, json};

const SOURCE: &str = "export default { name: 's', version: '1', run(e) {
  console.log('line ' + e.n); console.error('odd');
  this.$emit({ n: e.n, text: 'x'.repeat(e.size ?? 0) }, { name: e.channel, id: 'id ' + e.n, summary: 'No. ' + e.n });
} };";

/// A stream that is read frame by frame.
pub(crate) struct Frames {
    response: reqwest::Response,
    text: String,
}

/// A frame: its `id`, `event` and `data`.
#[derive(Debug, PartialEq)]
pub(crate) struct Frame {
    pub(crate) id: Option<String>,
    pub(crate) event: Option<String>,
    pub(crate) data: Value,
}

impl Frames {
    /// Connected once the server has said so.
    pub(crate) async fn of(server: &Client, path: &str, after: Option<&str>) -> Self {
        Self::at(server, &format!("/v1{path}"), after).await
    }

    /// Of an address that need not be below `/v1`.
    async fn at(server: &Client, path: &str, after: Option<&str>) -> Self {
        let mut request = server.raw(Method::GET, path).bearer_auth(&server.api_key);
        if let Some(after) = after {
            request = request.header("Last-Event-ID", after);
        }
        let response = request.send().await.expect("an answer");
        assert_eq!(
            (response.status().as_u16(), response.headers()["content-type"].to_str().ok()),
            (200, Some("text/event-stream")),
            "{path}"
        );
        let mut frames = Self { response, text: String::new() };
        assert_eq!(frames.block().await.as_deref(), Some(": connected"));
        frames
    }

    /// The next block, comments among them; none at the end.
    pub(crate) async fn block(&mut self) -> Option<String> {
        loop {
            if let Some((block, rest)) = self.text.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.text = rest;
                return Some(block);
            }
            let bytes = self.response.chunk().await.expect("bytes")?;
            self.text.push_str(&String::from_utf8_lossy(&bytes));
        }
    }

    /// The next frame that is no comment.
    pub(crate) async fn next(&mut self) -> Frame {
        loop {
            let block = self.block().await.expect("a frame");
            let field = |name: &str| {
                block
                    .lines()
                    .find_map(|line| line.strip_prefix(name))
                    .map(|value| value.trim().to_owned())
            };
            if let Some(data) = field("data:") {
                return Frame {
                    id: field("id:"),
                    event: field("event:"),
                    data: serde_json::from_str(&data).expect("JSON"),
                };
            }
        }
    }
}

#[tokio::test]
async fn r2_8_an_event_over_a_kilobyte_is_cut_unless_it_is_expanded() {
    let server = Server::shared().await;
    let source = server.source(SOURCE, json!({})).await;
    for (n, size, channel) in [(1, 0, None), (2, 5000, None), (3, 0, Some("added"))] {
        server.run_now(&source, json!({ "n": n, "size": size, "channel": channel })).await;
    }
    let path = format!("/sources/{}/event_summaries", id(&source));
    let list = server.get(&path).await.json;
    assert_eq!(
        (&list["page_info"]["total_count"], &list["page_info"]["count"]),
        (&json!(3), &json!(3))
    );
    let (large, small) = (&list["data"][1], &list["data"][2]);
    assert_eq!(
        (&small["event"]["n"], &large["event"]["$truncated"], &large["event"]["n"]),
        (&json!(1), &json!(true), &Value::Null)
    );
    let whole = server.get(&format!("{path}?expand=event")).await.json;
    assert_eq!(whole["data"][1]["event"]["text"].as_str().map(str::len), Some(5000));
    // Cursors are the events' own ids.
    assert_eq!(
        (&whole["page_info"]["start_cursor"], &whole["page_info"]["end_cursor"]),
        (&whole["data"][0]["id"], &whole["data"][2]["id"])
    );
    let newest = server.get(&format!("{path}?limit=1")).await.json;
    assert_eq!(
        (&newest["data"][0]["id"], newest["data"].as_array().map(Vec::len)),
        (&whole["data"][0]["id"], Some(1))
    );
    let older = server.get(&format!("{path}?limit=1&after={}", id(&whole["data"][0]))).await.json;
    assert_eq!(older["data"][0]["id"], large["id"]);
    let newer = server.get(&format!("{path}?limit=1&before={}", id(small))).await.json;
    assert_eq!(newer["data"][0]["id"], large["id"]);
    let added = server.get(&format!("{path}?event_name=added")).await.json;
    assert_eq!(
        (
            &added["page_info"]["total_count"],
            &added["data"][0]["metadata"]["name"],
            &added["data"][0]["event"]["n"]
        ),
        (&json!(1), &json!("added"), &json!(3))
    );
    let metadata = &added["data"][0]["metadata"];
    assert_eq!(
        (&metadata["emitter_id"], &metadata["id"], &metadata["summary"]),
        (&source["id"], &json!("id 3"), &json!("No. 3"))
    );
}

#[tokio::test]
async fn r2_10_emitted_events_are_streamed_and_a_last_event_id_resumes() {
    let server = Server::shared().await;
    let source = server.source(SOURCE, json!({})).await;
    let path = format!("/sources/{}/sse", id(&source));
    let mut live = Frames::of(&server, &path, None).await;
    let mut of_channel = Frames::of(&server, &format!("{path}?event_name=added"), None).await;
    for (n, channel) in [(1, None), (2, Some("added")), (3, None)] {
        server.run_now(&source, json!({ "n": n, "channel": channel })).await;
    }
    let mut seen = Vec::new();
    for n in 1..=3 {
        let frame = live.next().await;
        assert_eq!(
            (&frame.data["e"]["n"], &frame.data["k"], frame.data["id"].as_str()),
            (&json!(n), &json!("emit"), frame.id.as_deref())
        );
        assert!(frame.data["ts"].is_i64());
        seen.push(frame);
    }
    assert_eq!(of_channel.next().await, seen.remove(1));
    let mut resumed = Frames::of(&server, &path, seen[0].id.as_deref()).await;
    assert_eq!(
        (resumed.next().await.data["e"]["n"].clone(), resumed.next().await),
        (json!(2), seen.remove(1))
    );
    let wrong = answer(
        server
            .raw(Method::GET, &format!("/v1{path}"))
            .bearer_auth(&server.api_key)
            .header("Last-Event-ID", "yesterday"),
    )
    .await;
    assert_eq!(wrong.refusal(), (422, "invalid_field"));
    assert_eq!(server.get("/sources/dc_nothing/sse").await.status, 404);
}

#[tokio::test]
async fn r2_11_log_lines_are_listed_and_streamed() {
    let server = Server::shared().await;
    let source = server.source(SOURCE, json!({})).await;
    let mut live = Frames::of(&server, &format!("/sources/{}/logs/sse", id(&source)), None).await;
    let run = server.run_now(&source, json!({ "n": 7 })).await;
    let expected = [("log", "line 7"), ("error", "odd")];
    for (level, text) in expected {
        let line = live.next().await.data;
        assert_eq!(
            (&line["level"], &line["text"], &line["run_id"]),
            (&json!(level), &json!(text), &run["id"])
        );
    }
    let lines = server.get(&format!("/sources/{}/logs", id(&source))).await.data();
    let shown: Vec<_> = lines
        .as_array()
        .expect("lines")
        .iter()
        .map(|l| (l["level"].as_str(), l["text"].as_str()))
        .collect();
    assert_eq!(shown, expected.map(|(level, text)| (Some(level), Some(text))));
}

#[tokio::test]
async fn r2_21_what_a_workflow_emits_is_listed() {
    let server = Server::shared().await;
    let code = "export default defineComponent({ run({ $, steps }) { $.send.emit({ raw_event: { n: steps.trigger.event.body.n } }); $.send.emit({ b: 1 }, 'other'); } });";
    let workflow = server.workflow("w", json!([{ "type": "http" }]), &[("a", code)]).await;
    answer(server.raw(Method::POST, &endpoint(&workflow)).json(&json!({ "n": 5 }))).await;
    let path = format!("/workflows/{}/event_summaries", id(&workflow));
    let list = server.until("the events", &path, |l| l["page_info"]["total_count"] == 2).await;
    let of = |name: &str| {
        list["data"]
            .as_array()
            .expect("events")
            .iter()
            .find(|e| e["metadata"]["name"] == name)
            .expect("the event")
            .clone()
    };
    assert_eq!(
        (&of("")["event"]["raw_event"], &of("")["metadata"]["emitter_id"]),
        (&json!({ "n": 5 }), &workflow["id"])
    );
    assert!(of("")["metadata"]["emit_id"].as_str().is_some_and(|k| k.len() == 27));
    assert_eq!(server.get(&format!("{path}?event_name=other")).await.json["page_info"]["count"], 1);
    assert_eq!(server.get(&format!("{path}?event_name=")).await.json["page_info"]["count"], 1);
}

/// The error event summary of reference 2.34.
#[tokio::test]
async fn r2_22_errors_have_the_shape_that_is_documented() {
    let server = Server::shared().await;
    let code = "export default defineComponent({ run() { throw new TypeError('bad'); } });";
    let workflow = server.workflow("Fails", json!([{ "type": "http" }]), &[("a", code)]).await;
    answer(
        server
            .raw(Method::POST, &format!("{}/at?q=1", endpoint(&workflow)))
            .json(&json!({ "n": 5 })),
    )
    .await;
    let path =
        format!("/workflows/{}/$errors/event_summaries?expand=event&limit=100", id(&workflow));
    let list = server.until("the error", &path, |l| l["page_info"]["total_count"] == 1).await;
    let item = &list["data"][0];
    let fields = |value: &Value| {
        value
            .as_object()
            .expect("an object")
            .keys()
            .cloned()
            .collect::<std::collections::BTreeSet<_>>()
    };
    let named = |names: &[&str]| {
        names.iter().map(|n| (*n).to_owned()).collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(
        fields(item),
        named(&["id", "indexed_at_ms", "event", "metadata"]),
        "metadata stands beside the event"
    );
    assert_eq!(fields(&item["metadata"]), named(&["emitter_id", "emit_id", "name"]));
    assert_eq!(
        (&item["metadata"]["emitter_id"], &item["metadata"]["name"]),
        (&workflow["id"], &json!("$errors"))
    );
    assert_eq!(fields(&item["event"]), named(&["original_event", "original_context", "error"]));
    let (event, context, error) = (
        &item["event"]["original_event"],
        &item["event"]["original_context"],
        &item["event"]["error"],
    );
    assert_eq!(
        (&event["method"], &event["path"], &event["query"], &event["body"]),
        (&json!("POST"), &json!("/at"), &json!({ "q": "1" }), &json!({ "n": 5 }))
    );
    let expected = [
        "id",
        "ts",
        "workflow_id",
        "workflow_name",
        "deployment_id",
        "source_type",
        "verified",
        "hops",
        "test",
        "replay",
        "owner_id",
        "platform_version",
    ];
    assert!(
        expected
            .iter()
            .chain(&["emitter_id", "trace_id", "project_id"])
            .all(|name| context.get(name).is_some()),
        "{context}"
    );
    assert_eq!(
        (
            &context["workflow_id"],
            &context["workflow_name"],
            &context["deployment_id"],
            &context["emitter_id"],
            &context["owner_id"],
            &context["project_id"]
        ),
        (
            &workflow["id"],
            &json!("Fails"),
            &workflow["deployment_id"],
            &workflow["triggers"][0]["id"],
            &json!(server.org_id),
            &workflow["project_id"]
        )
    );
    assert_eq!(
        (&context["verified"], &context["hops"], &context["test"], &context["replay"]),
        (&json!(false), &Value::Null, &json!(false), &json!(false))
    );
    assert!(
        context["ts"].as_str().is_some_and(|ts| ts.len() == 24 && ts.ends_with('Z')),
        "{context}"
    );
    assert_eq!(fields(error), named(&["code", "message", "cellId", "ts", "stack"]));
    assert_eq!(
        (&error["code"], &error["message"], &error["cellId"]),
        (&json!("TypeError"), &json!("bad"), &workflow["steps"][0]["id"])
    );
}

#[tokio::test]
async fn r2_25_sends_are_streamed_by_channel_the_last_hundred_first() {
    let server = Server::shared().await;
    let code = "export default defineComponent({ run({ $, steps }) { for (let n = 0; n < steps.trigger.event.body.count; n++) $.send.sse({ channel: 'news', payload: { n } }); } });";
    let workflow = server.workflow("w", json!([{ "type": "http" }]), &[("a", code)]).await;
    let send = async |count: u64| {
        answer(server.raw(Method::POST, &endpoint(&workflow)).json(&json!({ "count": count })))
            .await
    };
    let path = format!("/workflows/{}/sse", id(&workflow));
    let mut live = Frames::of(&server, &path, None).await;
    send(110).await;
    for n in 0..110 {
        let frame = live.next().await;
        assert_eq!((frame.event.as_deref(), &frame.data), (Some("news"), &json!({ "n": n })));
    }
    let mut later = Frames::of(&server, &path, None).await;
    assert_eq!(later.next().await.data, json!({ "n": 10 }), "a new client gets the last hundred");
    for _ in 11..110 {
        later.next().await;
    }
    send(1).await;
    assert_eq!(
        (later.next().await.data, live.next().await.data),
        (json!({ "n": 0 }), json!({ "n": 0 }))
    );
}

#[tokio::test]
async fn r2_23_all_runs_of_a_workflow_are_followed_as_they_go_on() {
    let server = Server::shared().await;
    let step = |body: &str| {
        format!("export default defineComponent({{ run({{ steps }}) {{ {body} }} }});")
    };
    let (one, two) = (
        step("return 1;"),
        step("if (steps.trigger.event.query.fail) throw new RangeError('bad');"),
    );
    let workflow =
        server.workflow("w", json!([{ "type": "http" }]), &[("one", &one), ("two", &two)]).await;
    let path = format!("/workflows/{}/runs/sse", id(&workflow));
    let mut live = Frames::of(&server, &path, None).await;
    answer(server.raw(Method::GET, &format!("{}?fail=1", endpoint(&workflow)))).await;
    let (mut frames, mut ended) = (Vec::new(), Value::Null);
    while ended.is_null() {
        let frame = live.next().await;
        if frame.event.as_deref() == Some("run") && frame.data["finished_at_ms"].is_i64() {
            ended = frame.data.clone();
        }
        frames.push(frame);
    }
    assert_eq!(frames[0].event.as_deref(), Some("run"), "what a run is stands before its steps");
    assert_eq!(
        (&ended["status"], &ended["error"]["code"], &ended["event"]["query"]),
        (&json!("failed"), &json!("RangeError"), &json!({ "fail": "1" }))
    );
    let steps: Vec<_> = frames.iter().filter(|f| f.event.as_deref() == Some("step")).collect();
    assert!(
        steps.iter().all(|f| f.data["run_id"] == ended["id"])
            && steps.iter().any(|f| f.data["namespace"] == "one" && f.data["status"] == "finished"),
        "{steps:?}"
    );
    // From a time on it begins with what there is.
    let from = ended["created_at_ms"].as_i64().expect("a time");
    let mut again = Frames::of(&server, &format!("{path}?from={from}"), None).await;
    assert_eq!(again.next().await.data["id"], ended["id"]);
    assert_eq!(server.get(&format!("{path}?from=now")).await.refusal(), (422, "invalid_field"));
    assert_eq!(server.get("/workflows/p_nothing/runs/sse").await.status, 404);
}

/// Facts 1.10: where clients of the hosted platform read streams.
#[tokio::test]
async fn r2_10_streams_are_also_at_the_addresses_outside_of_v1() {
    let server = Server::shared().await;
    let source = server.source("export default { name: 's', version: '1', run(e) { console.log('ran', e.n); this.$emit({ n: e.n }); } };", json!({})).await;
    let mut events = [
        Frames::at(&server, &format!("/sources/{}/sse", id(&source)), None).await,
        Frames::at(&server, &format!("/sse/dc/{}/emits", id(&source)), None).await,
    ];
    let mut lines =
        Frames::at(&server, &format!("/sse/dc/{}/observations", id(&source)), None).await;
    server.run_now(&source, json!({ "n": 5 })).await;
    for stream in &mut events {
        let frame = stream.next().await;
        assert_eq!((&frame.data["e"], &frame.data["k"]), (&json!({ "n": 5 }), &json!("emit")));
    }
    assert_eq!(lines.next().await.data["text"], "ran 5");
    let sends = "export default defineComponent({ run({ $ }) { $.send.sse({ channel: 'news', payload: { x: 1 } }); } });";
    let workflow = server.workflow("w", json!([]), &[("a", sends)]).await;
    server.post(&format!("/workflows/{}/run", id(&workflow)), &json!({})).await.data();
    let sent =
        Frames::at(&server, &format!("/pipelines/{}/sse", id(&workflow)), None).await.next().await;
    assert_eq!((sent.event.as_deref(), &sent.data), (Some("news"), &json!({ "x": 1 })));
    // Nobody reads them without a key.
    for path in [
        format!("/sources/{}/sse", id(&source)),
        format!("/sse/dc/{}/observations", id(&source)),
        format!("/pipelines/{}/sse", id(&workflow)),
    ] {
        assert_eq!(
            answer(server.raw(Method::GET, &path)).await.refusal(),
            (401, "unauthorized"),
            "{path}"
        );
    }
}
