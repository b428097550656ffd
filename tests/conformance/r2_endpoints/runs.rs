//! Runs: rows 12, 20, 23 and 24 of the table, and the records of workflows below it.

use futures::{Stream, StreamExt as _};
use millrace_tests::{Client, Server, answer, endpoint, id};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;

fn step(body: &str) -> String {
    format!("export default defineComponent({{ async run({{ steps, $ }}) {{ {body} }} }});")
}

/// A stream that is open, as text.
async fn opened(server: &Client, path: &str) -> impl Stream<Item = String> + Unpin {
    let response = server
        .raw(Method::GET, &format!("/v1{path}"))
        .bearer_auth(&server.api_key)
        .send()
        .await
        .expect("an answer");
    assert_eq!(
        (response.status().as_u16(), response.headers()["content-type"].to_str().ok()),
        (200, Some("text/event-stream"))
    );
    Box::pin(
        response
            .bytes_stream()
            .map(|bytes| String::from_utf8_lossy(&bytes.expect("bytes")).into_owned()),
    )
}

/// All frames of a stream until it ends: name and data.
async fn frames(
    mut stream: impl Stream<Item = String> + Unpin,
    mut text: String,
) -> Vec<(String, Value)> {
    while let Some(more) = stream.next().await {
        text.push_str(&more);
    }
    let field = |frame: &str, name: &str| {
        frame.lines().find_map(|line| line.strip_prefix(name)).map(|value| value.trim().to_owned())
    };
    let frames = text.split("\n\n").filter_map(|f| {
        Some((field(f, "event:")?, serde_json::from_str(&field(f, "data:")?).expect("JSON")))
    });
    frames.collect()
}

#[tokio::test]
async fn r2_12_a_source_is_run_now_with_an_event_or_none() {
    let server = Server::shared().await;
    let source = server
        .source(
            "export default { name: 's', version: '1', run(event) { this.$emit({ e: event ?? null }); return event === undefined ? 'none' : event; } };",
            json!({}),
        )
        .await;
    let path = format!("/sources/{}/run", id(&source));
    let with = server.post(&path, &json!({ "event": { "n": 1 } })).await.data();
    assert_eq!(
        (&with["status"], &with["return_value"], id(&with).starts_with("run_")),
        (&json!("succeeded"), &json!({ "n": 1 }), true)
    );
    for without in [
        answer(server.raw(Method::POST, &format!("/v1{path}")).bearer_auth(&server.api_key)).await,
        server.post(&path, &json!({})).await,
    ] {
        assert_eq!(without.data()["status"], "succeeded");
    }
}

#[tokio::test]
async fn r2_20_a_test_run_goes_up_to_a_step_and_leaves_no_error_behind() {
    let server = Server::shared().await;
    let steps = [
        ("one", step("return steps.trigger.event.n + 1;")),
        ("two", step("return $.context.test;")),
        ("three", step("throw new Error('not reached');")),
    ];
    let steps: Vec<(&str, &str)> = steps.iter().map(|(n, c)| (*n, c.as_str())).collect();
    let workflow = server.workflow("w", json!([]), &steps).await;
    let path = format!("/workflows/{}/test", id(&workflow));
    let run = server.post(&path, &json!({ "event": { "n": 1 }, "up_to": "two" })).await.data();
    let shown: Vec<_> = run["steps"]
        .as_array()
        .expect("steps")
        .iter()
        .map(|s| (s["namespace"].clone(), s["exports"]["$return_value"].clone()))
        .collect();
    assert_eq!(shown, [(json!("one"), json!(2)), (json!("two"), json!(true))]);
    assert_eq!((&run["kind"], &run["status"]), (&json!("test"), &json!("succeeded")));
    assert_eq!(
        server.post(&path, &json!({ "up_to": "nothing" })).await.refusal(),
        (422, "invalid_field")
    );
    assert_eq!(
        server.post(&path, &json!({ "event": { "n": 1 } })).await.data()["status"],
        "failed"
    );
    assert_eq!(
        server.get(&format!("/workflows/{}/$errors/event_summaries", id(&workflow))).await.json["page_info"]
            ["total_count"],
        0
    );
}

#[tokio::test]
async fn r2_20_a_test_run_shows_what_each_step_would_send_and_sends_nothing() {
    let server = Server::shared().await;
    let notify = step(
        "$.send.email({ to: 'ops@example.com', subject: 'late', text: steps.trigger.event.text });
      $.send.http({ method: 'POST', url: 'http://127.0.0.1:9/a?api_key=canary',
        headers: { Authorization: 'Bearer canary' }, data: { n: 1 } });",
    );
    let tell =
        step("$.send.emit({ raw_event: { n: 2 }, name: 'news' }); throw new Error('after');");
    let steps = [("notify", notify.as_str()), ("tell", tell.as_str())];
    let workflow = server.workflow("w", json!([]), &steps).await;
    let test = json!({ "event": { "text": "y".repeat(5000) } });
    let path = format!("/workflows/{}/test", id(&workflow));
    let answered = server.post(&path, &test).await.data();
    let kept = server.get(&format!("/runs/{}", id(&answered))).await.data();
    for run in [&answered, &kept] {
        let text = json!({ "$truncated": true, "$chars": 5000, "$preview": "y".repeat(500) });
        let url = "http://127.0.0.1:9/a?api_key=%5Bhidden%5D";
        let headers = json!({ "Authorization": "[hidden]" });
        let sent = json!({ "method": "POST", "url": url, "headers": headers, "data": { "n": 1 } });
        let mail = json!({ "to": "ops@example.com", "subject": "late", "text": text });
        let expected = json!([
            { "kind": "email", "target": "ops@example.com", "payload": mail },
            { "kind": "http", "target": "POST http://127.0.0.1:9/a", "payload": sent },
        ]);
        assert_eq!(run["steps"][0]["would_send"], expected, "{run}");
        let sends = json!([{ "kind": "emit", "target": "news", "payload": { "raw_event": { "n": 2 }, "name": "news" } }]);
        assert_eq!((&run["status"], &run["steps"][1]["would_send"]), (&json!("failed"), &sends));
    }
    assert_eq!(kept["deliveries"], json!([]));
    let emitted = server.get(&format!("/workflows/{}/event_summaries", id(&workflow))).await;
    assert_eq!(emitted.json["page_info"]["total_count"], 0);
}

#[tokio::test]
async fn r2_23_runs_are_listed_by_status_and_time_and_shown_with_steps_logs_and_error() {
    let server = Server::shared().await;
    let steps = [
        ("one", step("console.log('said'); $.export('x', 1); return 2;")),
        ("two", step("if (steps.trigger.event.query.fail) throw new RangeError('bad'); return 3;")),
    ];
    let steps: Vec<(&str, &str)> = steps.iter().map(|(n, c)| (*n, c.as_str())).collect();
    let workflow = server.workflow("w", json!([{ "type": "http" }]), &steps).await;
    let runs = format!("/workflows/{}/runs", id(&workflow));
    answer(server.raw(Method::GET, &endpoint(&workflow))).await;
    answer(server.raw(Method::GET, &format!("{}?fail=1", endpoint(&workflow)))).await;
    let fits = |l: &Value| {
        l["data"]
            .as_array()
            .is_some_and(|d| d.len() == 2 && d.iter().all(|r| !r["finished_at_ms"].is_null()))
    };
    let list = server.until("both ended", &runs, fits).await;
    let failed = server.get(&format!("{runs}?status=failed")).await.json;
    assert_eq!(
        (&failed["page_info"]["total_count"], &failed["data"][0]["error"]["code"]),
        (&json!(1), &json!("RangeError"))
    );
    let newest = list["data"][0]["created_at_ms"].as_i64().expect("a time");
    assert_eq!(
        server.get(&format!("{runs}?from={}", newest + 1)).await.json["page_info"]["total_count"],
        0
    );
    assert_eq!(
        server.get(&format!("{runs}?to={}", newest + 1)).await.json["page_info"]["total_count"],
        2
    );
    assert_eq!(
        server.get(&format!("{runs}?status=unheard-of")).await.refusal(),
        (422, "invalid_field")
    );
    let run = server.get(&format!("/runs/{}", id(&failed["data"][0]))).await.data();
    let (one, two) = (&run["steps"][0], &run["steps"][1]);
    assert_eq!(
        (&one["status"], &one["exports"], &two["status"]),
        (&json!("succeeded"), &json!({ "x": 1, "$return_value": 2 }), &json!("failed"))
    );
    assert!(one["duration_ms"].is_u64() && run["duration_ms"].is_u64(), "{run}");
    assert_eq!(
        (&run["logs"][0]["text"], &run["error"]["cellId"], &run["event"]["query"]),
        (&json!("said"), &workflow["steps"][1]["id"], &json!({ "fail": "1" }))
    );
}

#[tokio::test]
async fn r2_23_a_run_is_followed_as_it_goes_on_until_it_ends() {
    let server = Server::shared().await;
    let gate = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("binds");
    let wait = step(&format!(
        "console.log('waits'); await fetch('http://{}'); console.log('goes on'); return 1;",
        gate.local_addr().expect("an address")
    ));
    let last = step("console.error('the end'); throw new TypeError('x');");
    let workflow = server
        .workflow(
            "w",
            json!([{ "type": "http" }]),
            &[("waits", wait.as_str()), ("last", last.as_str())],
        )
        .await;
    answer(server.raw(Method::GET, &endpoint(&workflow))).await;
    let (mut open, _) = gate.accept().await.expect("is asked");
    let list = server
        .until("the run", &format!("/workflows/{}/runs", id(&workflow)), |l| {
            l["page_info"]["count"] == 1
        })
        .await;
    let path = format!("/runs/{}/sse", id(&list["data"][0]));
    let mut stream = opened(&server, &path).await;
    // The first frame says that it still runs.
    let first = stream.next().await.expect("a frame");
    open.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        .await
        .expect("answers");
    let seen = frames(stream, first).await;
    let runs: Vec<_> = seen
        .iter()
        .filter(|(kind, _)| kind == "run")
        .map(|(_, run)| run["status"].clone())
        .collect();
    assert_eq!(runs, [json!("running"), json!("failed")]);
    let steps: Vec<_> = seen
        .iter()
        .filter(|(kind, _)| kind == "step")
        .map(|(_, s)| (s["namespace"].clone(), s["status"].clone()))
        .collect();
    // The step under way and its line came before the stream was opened.
    let all = [("waits", "running"), ("waits", "finished"), ("last", "running")];
    assert_eq!(steps, all.map(|(step, status)| (json!(step), json!(status))));
    let logs: Vec<_> =
        seen.iter().filter(|(kind, _)| kind == "log").map(|(_, l)| l["text"].clone()).collect();
    assert_eq!(logs, [json!("waits"), json!("goes on"), json!("the end")]);
    assert_eq!(seen.last().expect("frames").1["error"]["code"], "TypeError");
    // One that is over is shown once.
    assert_eq!(frames(opened(&server, &path).await, String::new()).await.len(), 1);
    assert_eq!(server.get("/runs/run_nothing/sse").await.status, 404);
}

#[tokio::test]
async fn r2_24_a_replay_is_a_new_run_of_the_same_event() {
    let server = Server::shared().await;
    let workflow = server
        .workflow(
            "w",
            json!([{ "type": "http" }]),
            &[("a", &step("return [$.context.replay, steps.trigger.event.body];"))],
        )
        .await;
    answer(server.raw(Method::POST, &endpoint(&workflow)).json(&json!({ "n": 5 }))).await;
    let list = server
        .until("the run", &format!("/workflows/{}/runs?status=succeeded", id(&workflow)), |l| {
            l["page_info"]["count"] == 1
        })
        .await;
    let first = &list["data"][0];
    let again = server.post(&format!("/runs/{}/replay", id(first)), &json!({})).await.data();
    assert_eq!(
        (&again["steps"][0]["exports"]["$return_value"], id(&again) == id(first)),
        (&json!([true, { "n": 5 }]), false)
    );
    let (first, again) = (&first["context"], &again["context"]);
    assert_eq!((again["trace_id"] == first["trace_id"], again["id"] == first["id"]), (true, false));
}

#[tokio::test]
async fn r2_35_triggers_and_steps_of_a_workflow_have_their_records() {
    let server = Server::shared().await;
    let source =
        server.source("export default { name: 's', version: '1', run() {} };", json!({})).await;
    let code = "export default { name: 'a', key: 'acme-act', version: '0.0.2', type: 'action', props: { word: 'string' }, run() { return this.word; } };";
    server.post("/components", &json!({ "component_code": code, "publish": true })).await.data();
    let body = json!({ "settings": { "name": "Records" }, "steps": [{ "namespace": "act", "component_key": "acme-act", "props": { "word": "w" } }],
      "triggers": [{ "type": "http" }, { "type": "timer", "cron": "0 9 * * *", "timezone": "Europe/Berlin" }, { "type": "timer", "props": { "intervalSeconds": 60 } }, { "type": "source", "id": source["id"] }] });
    let workflow = server.post("/workflows", &body).await.data();
    let trigger = |n: usize| &workflow["triggers"][n];
    assert!(
        trigger(0)["endpoint_url"]
            .as_str()
            .is_some_and(|u| u.ends_with(trigger(0)["key"].as_str().expect("a key"))),
        "{workflow}"
    );
    assert_eq!(trigger(0)["custom_response"], false);
    let timer = |n: usize| {
        (
            trigger(n)["interval_seconds"].clone(),
            trigger(n)["cron"].clone(),
            trigger(n)["timezone"].clone(),
        )
    };
    assert_eq!(
        (timer(1), timer(2)),
        (
            (Value::Null, json!("0 9 * * *"), json!("Europe/Berlin")),
            (json!(60), Value::Null, json!("UTC"))
        )
    );
    assert_eq!(
        (&trigger(3)["id"], &trigger(3)["component_id"], &trigger(3)["name_slug"]),
        (&source["id"], &source["component_id"], &source["name_slug"])
    );
    // What was read can be written back: the endpoint stays, and so do the timers.
    let again = server
        .put(&format!("/workflows/{}", id(&workflow)), &json!({ "triggers": workflow["triggers"] }))
        .await
        .data();
    for n in 0..4 {
        assert_eq!(again["triggers"][n]["id"], trigger(n)["id"], "{n}");
    }
    let step = &workflow["steps"][0];
    assert_eq!(
        (&step["namespace"], &step["type"], &step["lang"], &step["disabled"]),
        (&json!("act"), &json!("CodeCell"), &json!("nodejs20.x"), &json!(false))
    );
    assert_eq!(
        step["configured_props_json"].as_str().and_then(|t| serde_json::from_str::<Value>(t).ok()),
        Some(json!({ "word": "w" }))
    );
    let saved = &step["savedComponent"];
    assert_eq!(
        (&saved["code"], &saved["key"], &saved["version"], &saved["configurableProps"][0]["name"]),
        (&json!(code), &json!("acme-act"), &json!("0.0.2"), &json!("word"))
    );
    assert!(
        saved["id"].as_str().is_some_and(|i| i.starts_with("sc_"))
            && saved["codeHash"].as_str().is_some_and(|h| h.len() == 64)
            && saved["apps"].is_array()
    );
}
