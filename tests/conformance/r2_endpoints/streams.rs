//! One stream of many topics.

use futures::{Stream, StreamExt as _};
use millrace_tests::{Client, Server, id};
use reqwest::Method;
use serde_json::{Value, json};

/// A frame: its id, kind and data.
type Frame = (String, String, Value);

/// A kind of frame, and what its record must be.
type Awaited<'a> = (&'a str, &'a dyn Fn(&Value) -> bool);

/// Frames of a stream that is open; `last`: what it resumes.
async fn opened(
    server: &Client,
    topics: &str,
    last: &str,
) -> impl Stream<Item = Frame> + Unpin + use<> {
    let request = server
        .raw(Method::GET, &format!("/v1/stream?topics={topics}"))
        .bearer_auth(&server.api_key)
        .header("last-event-id", last);
    let response = request.send().await.expect("an answer");
    assert_eq!(
        (response.status().as_u16(), response.headers()["content-type"].to_str().ok()),
        (200, Some("text/event-stream"))
    );
    let texts = response
        .bytes_stream()
        .map(|bytes| String::from_utf8_lossy(&bytes.expect("bytes")).into_owned())
        .boxed();
    let frames =
        futures::stream::unfold((texts, String::new()), |(mut texts, mut text)| async move {
            loop {
                if let Some(end) = text.find("\n\n") {
                    let frame: String = text.drain(..end + 2).collect();
                    let field = |name: &str| {
                        frame
                            .lines()
                            .find_map(|line| line.strip_prefix(name))
                            .map(|value| value.trim().to_owned())
                    };
                    if let (Some(kind), Some(data)) = (field("event:"), field("data:")) {
                        let data = serde_json::from_str(&data).expect("JSON");
                        return Some((
                            (field("id:").unwrap_or_default(), kind, data),
                            (texts, text),
                        ));
                    }
                } else {
                    text.push_str(&texts.next().await?);
                }
            }
        });
    Box::pin(frames)
}

/// All frames up to that of each topic that is awaited.
async fn until(
    stream: &mut (impl Stream<Item = Frame> + Unpin),
    awaited: &[Awaited<'_>],
) -> Vec<Frame> {
    let mut seen: Vec<Frame> = Vec::new();
    let is_there = |seen: &[Frame]| {
        awaited
            .iter()
            .all(|(kind, fits)| seen.iter().any(|(_, of, data)| of == kind && fits(&data["data"])))
    };
    while !is_there(&seen) {
        seen.push(stream.next().await.expect("a frame"));
    }
    seen
}

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
