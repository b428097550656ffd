//! One stream of many topics.

use millrace_tests::sse::{opened, until};
use millrace_tests::{Server, id};
use reqwest::Method;
use serde_json::{Value, json};

#[tokio::test]
async fn r2_37_one_stream_has_many_topics_and_resumes() {
    let server = Server::shared().await;
    let code = "export default { name: 'clock', version: '1', run(event) { console.log('tick', event.n); this.$emit({ n: event.n }); } };";
    let (source, other) =
        (server.source(code, json!({})).await, server.source(code, json!({})).await);
    let topics = format!("runs,events:{0},logs:{0}", id(&source));
    let mut stream = opened(&server, &topics, "").await;
    server.run_now(&source, json!({ "n": 1 })).await;
    server.run_now(&other, json!({ "n": 2 })).await;
    let is_done = |owner: &Value| {
        let owner = owner["id"].clone();
        move |run: &Value| run["source_id"] == owner && run["status"] == "succeeded"
    };
    let (of_source, of_other) = (is_done(&source), is_done(&other));
    let (emitted, wrote) =
        (|event: &Value| event["event"]["n"] == 1, |line: &Value| line["text"] == "tick 1");
    let seen = until(
        &mut stream,
        &[("run", &of_source), ("run", &of_other), ("event", &emitted), ("log", &wrote)],
    )
    .await;
    assert!(
        seen.iter()
            .all(|(_, kind, data)| kind != "event"
                || data["topic"] == format!("events:{}", id(&source))),
        "{seen:?}"
    );
    let run = seen
        .iter()
        .find(|(_, kind, _)| kind == "run")
        .map(|(.., data)| &data["data"])
        .expect("a run");
    assert!(run.get("event").is_none() && run["owner_name"].is_string(), "{run}");
    let last = seen.last().expect("frames").0.clone();
    drop(stream);

    // What came meanwhile is there, and no event comes twice.
    server.run_now(&source, json!({ "n": 3 })).await;
    let mut stream = opened(&server, &topics, &last).await;
    let (emitted, ran) = (|event: &Value| event["event"]["n"] == 3, is_done(&source));
    let seen = until(&mut stream, &[("event", &emitted), ("run", &ran)]).await;
    assert!(
        seen.iter().all(|(_, kind, data)| kind != "event" || data["data"]["event"]["n"] == 3),
        "{seen:?}"
    );
}

#[tokio::test]
async fn r2_37_a_frame_of_one_topic_resumes_the_others_too() {
    let server = Server::shared().await;
    let code =
        "export default { name: 's', version: '1', run(event) { this.$emit({ n: event.n }); } };";
    let (source, other) =
        (server.source(code, json!({})).await, server.source(code, json!({})).await);
    let topics = format!("runs,events:{},events:{}", id(&source), id(&other));
    server.run_now(&source, json!({ "n": 0 })).await;
    let mut stream = opened(&server, &topics, "").await;
    server.run_now(&other, json!({ "n": 1 })).await;
    let emitted = |event: &Value| event["event"]["n"] == 1;
    let last = until(&mut stream, &[("event", &emitted)]).await.pop().expect("a frame").0;
    drop(stream);
    // Nothing of this one came before.
    let run = server.run_now(&source, json!({ "n": 2 })).await;
    let mut stream = opened(&server, &topics, &last).await;
    let (emitted, ran) =
        (|event: &Value| event["event"]["n"] == 2, |shown: &Value| shown["id"] == run["id"]);
    let seen = until(&mut stream, &[("event", &emitted), ("run", &ran)]).await;
    let events: Vec<_> = seen.iter().filter(|(_, kind, _)| kind == "event").collect();
    assert_eq!(events.len(), 1, "one came twice, or from before the stream: {events:?}");
}

#[tokio::test]
async fn r2_37_a_run_and_replays_are_topics() {
    let server = Server::shared().await;
    let step = "export default defineComponent({ async run() { throw new Error('no'); } });";
    let workflow = server.workflow("w", json!([{ "type": "http" }]), &[("fails", step)]).await;
    let run = server
        .post(&format!("/workflows/{}/run", id(&workflow)), &json!({ "event": {} }))
        .await
        .data();
    let mut stream = opened(&server, &format!("run:{},replays", id(&run)), "").await;
    let failed =
        |shown: &Value| shown["status"] == "failed" && shown["steps"][0]["namespace"] == "fails";
    until(&mut stream, &[("run", &failed)]).await;
    let replay = server
        .post("/replays", &json!({ "workflow_id": workflow["id"], "runs": [run["id"]] }))
        .await
        .json["data"]
        .clone();
    let ended = |shown: &Value| shown["id"] == replay["id"] && shown["status"] == "done";
    until(&mut stream, &[("replay", &ended)]).await;
}

#[tokio::test]
async fn r2_37_a_topic_that_is_not_there_is_refused() {
    let server = Server::shared().await;
    let many: Vec<String> = (0..17).map(|n| format!("run:run_{n}")).collect();
    let many = many.join(",");
    for (topics, status) in [
        ("", 422),
        ("runs,mail", 422),
        (many.as_str(), 422),
        ("run:run_none", 404),
        ("run:x", 404),
        ("events:dc_none", 404),
        ("logs:p_none", 404),
    ] {
        let refused = server.get(&format!("/stream?topics={topics}")).await;
        assert_eq!(refused.status, status, "{topics}: {}", refused.text);
    }
    assert_eq!(server.get("/stream").await.status, 422);
    let bad = server
        .raw(Method::GET, "/v1/stream?topics=runs")
        .bearer_auth(&server.api_key)
        .header("last-event-id", "yesterday")
        .send()
        .await
        .expect("an answer");
    assert_eq!(bad.status().as_u16(), 422);
}
