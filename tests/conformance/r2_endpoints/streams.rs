//! Stream of many topics.

use millrace_tests::cluster::cluster;
use millrace_tests::sse::{opened, until};
use millrace_tests::{Server, answer, endpoint, id};
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

/// The stream of a run that began before has what came before, once: nothing of a test is stored
/// before its end, of a live run what ended steps left.
#[tokio::test]
async fn r2_37_a_stream_that_begins_late_has_what_the_run_did_so_far() {
    let server = Server::shared().await;
    let quick = "export default defineComponent({ run() { console.log('first'); return 1; } });";
    let slow = "export default defineComponent({ async run() { console.log('second'); console.log('second'); console.log('last'); await new Promise(() => setInterval(() => {}, 1e3)); } });";
    let steps =
        json!([{ "namespace": "quick", "code": quick }, { "namespace": "slow", "code": slow }]);
    let triggers = json!([{ "type": "http" }]);
    let workflow = server.workflow("w", triggers, &[("quick", quick), ("slow", slow)]).await;
    // Its answer is not waited for.
    let answered = tokio::spawn(reqwest::get(endpoint(&workflow)));
    let runs = format!("/workflows/{}/runs", id(&workflow));
    let live = server.until("it runs", &runs, |runs| runs["data"][0]["status"] == "running").await;
    let live = live["data"][0].clone();
    let test = json!({ "workflow_id": workflow["id"], "triggers": [], "steps": steps, "event": {}, "wait": false });
    let test = server.post("/workflows/test", &test).await.data();
    for run in [&live, &test] {
        let topic = format!("run:{}", id(run));
        for late in [false, true] {
            let mut stream = opened(&server, &topic, "").await;
            let wrote = |line: &Value| line["text"] == "last";
            let seen = until(&mut stream, &[("log", &wrote)]).await;
            let shown: Vec<&Value> = seen.iter().map(|(.., data)| &data["data"]).collect();
            let lines = |text: &str| shown.iter().filter(|data| data["text"] == text).count();
            assert_eq!(lines("second"), 2, "{late}: {seen:?}");
            assert!(run["kind"] != "test" || lines("first") == 1, "{late}: {seen:?}");
            let has = |step: &str, status: &str| {
                shown.iter().any(|data| {
                    let steps = data["steps"].as_array().into_iter().flatten();
                    let is = |one: &Value| one["namespace"] == step && one["status"] == status;
                    is(data) || steps.into_iter().any(is)
                })
            };
            assert!(has("slow", "running"), "{late}: {seen:?}");
            assert!(has("quick", "finished") || has("quick", "succeeded"), "{late}: {seen:?}");
        }
    }
    let test = format!("/runs/{}", id(&test));
    server.post(&format!("{test}/cancel"), &json!({})).await.data();
    server.until("it is stopped", &test, |run| run["data"]["status"] == "cancelled").await;
    answered.abort();
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

/// An event may be committed after one with a greater id: two runs settle at one instant, or the
/// clocks of servers differ. Here the clock goes back while the server is down.
async fn an_event_that_is_committed_later_with_a_lesser_id_is_sent(args: &[&str]) {
    const NOON: i64 = 1_767_182_400_000;
    let mut server = Server::start_at(NOON, args).await;
    let code = "export default { name: 's', version: '1', run() {} };";
    let source = server.source(code, json!({})).await;
    let emit = async |server: &Server, n: i64| {
        let path = format!("/sources/{}/events", id(&source));
        let sent = server.post(&path, &json!({ "event": { "n": n } })).await;
        assert_eq!(sent.status, 200, "{}", sent.text);
        sent.data()["event_id"].as_str().expect("an id").to_owned()
    };
    let topics = format!("events:{}", id(&source));
    let is = |n: i64| move |event: &Value| event["event"]["n"] == n;
    let (first, second, third) = (is(1), is(2), is(3));
    server.set_clock(NOON + 1);
    let mut stream = opened(&server, &topics, "").await;
    let greater = emit(&server, 1).await;
    let last = until(&mut stream, &[("event", &first)]).await.pop().expect("a frame").0;
    drop(stream);
    server.terminate();
    server.set_clock(NOON);
    server.launch().await;
    let lesser = emit(&server, 2).await;
    assert!(lesser.split('-').next() < greater.split('-').next(), "{lesser}, {greater}");
    let mut stream = opened(&server, &topics, &last).await;
    emit(&server, 3).await;
    let seen = until(&mut stream, &[("event", &second), ("event", &third)]).await;
    assert_eq!(seen.len(), 2, "each comes once: {seen:?}");
    let last = seen.last().expect("frames").0.clone();
    drop(stream);
    let mut stream = opened(&server, &topics, &last).await;
    emit(&server, 4).await;
    let seen = until(&mut stream, &[("event", &is(4))]).await;
    assert_eq!(seen.len(), 1, "what came before comes no more: {seen:?}");
}

#[tokio::test]
async fn r2_37_a_resume_has_each_event_once_whatever_the_order_of_their_ids() {
    an_event_that_is_committed_later_with_a_lesser_id_is_sent(&[]).await;
}

#[tokio::test]
async fn r2_37_a_resume_has_each_event_once_whatever_the_order_of_their_ids_on_postgres() {
    let Some(cluster) = cluster() else { return };
    let database = cluster.database().await;
    an_event_that_is_committed_later_with_a_lesser_id_is_sent(&["--database-url", &database.url()])
        .await;
}

#[tokio::test]
async fn r2_37_a_request_that_is_kept_for_tests_is_an_event_of_its_workflow() {
    let server = Server::shared().await;
    let step = "export default defineComponent({ run() {} });";
    let workflow = server.workflow("w", json!([{ "type": "http" }]), &[("one", step)]).await;
    let mut stream = opened(&server, &format!("events:{}", id(&workflow)), "").await;
    let request = server.raw(Method::POST, &endpoint(&workflow)).header("x-pd-notrigger", "1");
    assert_eq!(answer(request.json(&json!({ "n": 4 }))).await.status, 200);
    let kept = |event: &Value| event["event"]["body"]["n"] == 4;
    until(&mut stream, &[("event", &kept)]).await;
}

/// Lines that the server adds once a run or hook has ended come after those of its code.
#[tokio::test]
async fn r2_37_a_stream_of_lines_carries_the_errors_that_the_log_has() {
    let server = Server::shared().await;
    let code = "export default { name: 's', version: '1', dedupe: 'unique', run() { console.log('begins'); this.$emit({ n: 1 }); throw new Error('breaks'); } };";
    let source = server.source(code, json!({})).await;
    let mut stream = opened(&server, &format!("logs:{}", id(&source)), "").await;
    let run = server.run_now(&source, json!({})).await;
    assert_eq!(run["status"], "failed", "{run}");
    let hook = "export default { name: 's', version: '2', run() {}, hooks: { activate() { throw new Error('refuses'); } } };";
    let path = format!("/sources/{}", id(&source));
    let update = server.put(&path, &json!({ "component_code": hook })).await;
    assert_eq!(update.refusal(), (422, "hook_failed"), "{}", update.text);
    let has = |text: &'static str| {
        move |line: &Value| line["text"].as_str().is_some_and(|shown| shown.contains(text))
    };
    let hook_failed = has("the activate hook failed: Error: refuses");
    let seen = until(&mut stream, &[("log", &hook_failed)]).await;
    let lines: Vec<&Value> = seen.iter().map(|(.., data)| &data["data"]).collect();
    let words = ["begins", "Error: breaks", "without an `id`", "the activate hook failed: Error:"];
    assert_eq!(lines.len(), words.len(), "{seen:?}");
    for (line, word) in lines.iter().zip(words) {
        assert!(has(word)(line), "{word}: {seen:?}");
    }
    let stored = server.get(&format!("{path}/logs")).await.data();
    let stored: Vec<&Value> =
        stored.as_array().expect("lines").iter().map(|line| &line["text"]).collect();
    assert_eq!(lines.iter().map(|line| &line["text"]).collect::<Vec<_>>(), stored);
}

#[tokio::test]
async fn r2_37_a_stream_of_lines_says_what_a_workflow_could_not_send() {
    let server = Server::shared().await;
    let step = "export default defineComponent({ run({ $ }) { console.log('begins'); $.send.emit({ n: 1 }, '$errors'); } });";
    let workflow = server.workflow("w", json!([{ "type": "http" }]), &[("one", step)]).await;
    let mut stream = opened(&server, &format!("logs:{}", id(&workflow)), "").await;
    assert_eq!(answer(server.raw(Method::POST, &endpoint(&workflow))).await.status, 200);
    let refused = |line: &Value| {
        line["level"] == "error"
            && line["text"].as_str().is_some_and(|text| text.contains("was not emitted"))
    };
    let seen = until(&mut stream, &[("log", &refused)]).await;
    assert_eq!(seen.len(), 2, "{seen:?}");
}
