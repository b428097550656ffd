//! `GET /v1/stream` of one server while everything happens on the other, on one Postgres. Passes,
//! and says so, where there is no Postgres.

use std::collections::BTreeSet;

use futures::StreamExt as _;
use millrace_tests::sse::{Awaited, Frame, opened, until};
use millrace_tests::{answer, endpoint, id};
use reqwest::Method;
use serde_json::{Value, json};

use crate::nodes::Pair;

const EMITS: &str = "export default { name: 's', version: '1', props: { http: '$.interface.http' },
  run(e) { console.log('line', e.body.n); this.$emit(e.body); } };";

/// The numbers in frames of a kind, in the order in which they came.
fn numbers(seen: &[Frame], kind: &str, number: impl Fn(&Value) -> Option<u64>) -> Vec<u64> {
    seen.iter().filter(|frame| frame.1 == kind).filter_map(|frame| number(&frame.2)).collect()
}

#[tokio::test]
async fn runs_events_and_lines_of_the_other_server_come_once_and_resume_on_either() {
    let Some(pair) = Pair::start(&[]).await else { return };
    let source = pair.a.source(EMITS, json!({})).await;
    let topics = format!("runs,events:{0},logs:{0}", id(&source));
    let mut stream = opened(&pair.b, &topics, "").await;
    let post = async |n: u64| {
        let url = endpoint(&source);
        let got = answer(pair.a.raw(Method::POST, &url).json(&json!({ "n": n }))).await;
        assert_eq!(got.status, 200);
    };
    for n in 0..10 {
        post(n).await;
    }
    let event = |data: &Value| data["data"]["event"]["n"].as_u64();
    let line = |data: &Value| data["data"]["text"].as_str()?.strip_prefix("line ")?.parse().ok();
    let (mut seen, all) = (Vec::new(), (0..10).collect::<BTreeSet<u64>>());
    let mut ended = BTreeSet::new();
    loop {
        let frame = stream.next().await.expect("a frame");
        if frame.1 == "run" && frame.2["data"]["status"] == "succeeded" {
            assert_eq!(frame.2["topic"], "runs");
            ended.insert(frame.2["data"]["id"].to_string());
        }
        seen.push(frame);
        let came = [numbers(&seen, "event", event), numbers(&seen, "log", line)];
        if ended.len() == 10 && came.iter().all(|came| came.len() >= 10) {
            for came in came {
                assert_eq!((came.len(), &came.into_iter().collect()), (10, &all), "{seen:?}");
            }
            break;
        }
    }
    let last = seen.pop().expect("a frame").0;
    drop(stream);
    // An id of one server is one of the other: what came meanwhile is there, and no event twice.
    post(10).await;
    for server in [&pair.a, &pair.b] {
        let mut stream = opened(server, &topics, &last).await;
        let (emitted, ran) = (
            |event: &Value| event["event"]["n"] == 10,
            |run: &Value| run["status"] == "succeeded" && !ended.contains(&run["id"].to_string()),
        );
        let seen = until(&mut stream, &[("event", &emitted), ("run", &ran)]).await;
        assert_eq!(numbers(&seen, "event", event), [10], "{seen:?}");
    }
}

/// Streams stay open while their server cannot hear the other one, and have all once it can.
#[tokio::test]
async fn events_that_settle_elsewhere_while_a_server_hears_nothing_come_once_it_does() {
    let Some(pair) = Pair::start(&[]).await else { return };
    let source = pair.a.source(EMITS, json!({})).await;
    let event = |data: &Value| data["data"]["event"]["n"].as_u64();
    let post = async |n: u64| {
        let url = endpoint(&source);
        let got = answer(pair.a.raw(Method::POST, &url).json(&json!({ "n": n }))).await;
        assert_eq!(got.status, 200);
    };
    post(0).await;
    let settled = format!("/sources/{}/event_summaries", id(&source));
    pair.b.until("it settles", &settled, |l| l["page_info"]["total_count"] == 1).await;
    let mut stream = opened(&pair.b, &format!("events:{0},logs:{0}", id(&source)), "").await;
    post(1).await;
    let is = |n: u64| move |data: &Value| data["event"]["n"] == n;
    let mut seen = until(&mut stream, &[("event", &is(1))]).await;
    for round in 0..3 {
        pair.cut_listeners().await;
        for n in 0..4 {
            post(2 + round * 4 + n).await;
        }
        let first = 2 + round * 4;
        let came = (first..first + 4).map(is).collect::<Vec<_>>();
        let came: Vec<Awaited<'_>> =
            came.iter().map(|is| ("event", is as &dyn Fn(&Value) -> bool)).collect();
        seen.extend(until(&mut stream, &came).await);
    }
    let numbers = numbers(&seen, "event", event);
    assert_eq!(numbers.len(), 13, "each once, and none of before: {numbers:?}");
    assert_eq!(numbers.into_iter().collect::<BTreeSet<_>>(), (1..14).collect());
}

#[tokio::test]
async fn a_run_and_a_replay_of_the_other_server_are_followed_to_their_end() {
    let Some(pair) = Pair::start(&[]).await else { return };
    let gate = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("binds");
    let waits = format!(
        "export default defineComponent({{ async run() {{ console.log('asks'); await fetch('http://{}'); throw new Error('no'); }} }});",
        gate.local_addr().expect("an address")
    );
    let workflow = pair
        .a
        .workflow(
            "w",
            json!([{ "type": "http" }]),
            &[
                ("before", "export default defineComponent({ run() { return 1; } });"),
                ("fails", &waits),
            ],
        )
        .await;
    let asked = answer(pair.a.raw(Method::GET, &endpoint(&workflow))).await;
    assert_eq!(asked.status, 200);
    let (held, _) = gate.accept().await.expect("is asked");
    let list = pair
        .b
        .until("the run", &format!("/workflows/{}/runs", id(&workflow)), |l| {
            l["page_info"]["count"] == 1
        })
        .await;
    let run = list["data"][0].clone();
    let mut stream = opened(&pair.b, &format!("run:{},replays", id(&run)), "").await;
    let goes_on = |shown: &Value| shown["id"] == run["id"] && shown["status"] == "running";
    until(&mut stream, &[("run", &goes_on)]).await;
    // A request that ends without an answer fails the step.
    drop(held);
    let failed = |shown: &Value| {
        shown["id"] == run["id"]
            && shown["status"] == "failed"
            && shown["steps"][1]["namespace"] == "fails"
    };
    until(&mut stream, &[("run", &failed)]).await;
    let made = pair
        .a
        .post("/replays", &json!({ "workflow_id": workflow["id"], "runs": [run["id"]] }))
        .await;
    assert_eq!(made.status, 202, "{}", made.text);
    let replay = made.json["data"]["id"].clone();
    drop(gate);
    let ended = |shown: &Value| shown["id"] == replay && shown["status"] == "done";
    let seen = until(&mut stream, &[("replay", &ended)]).await;
    // A state of it comes once.
    let states: Vec<String> = seen
        .iter()
        .filter(|frame| frame.1 == "replay" && frame.2["data"]["id"] == replay)
        .map(|frame| frame.2.to_string())
        .collect();
    assert_eq!(states.len(), states.iter().collect::<BTreeSet<_>>().len(), "{states:?}");
}

#[tokio::test]
async fn errors_in_the_log_of_the_other_server_come_once() {
    let Some(pair) = Pair::start(&[]).await else { return };
    let code = "export default { name: 's', version: '1', props: { http: '$.interface.http' }, run(e) { console.log('line', e.body.n); throw new Error(`breaks ${e.body.n}`); } };";
    let source = pair.a.source(code, json!({})).await;
    let mut stream = opened(&pair.b, &format!("logs:{}", id(&source)), "").await;
    for n in 0..3 {
        let request = pair.a.raw(Method::POST, &endpoint(&source));
        assert_eq!(answer(request.json(&json!({ "n": n }))).await.status, 200);
    }
    let hook = "export default { name: 's', version: '2', run() {}, hooks: { activate() { console.log('tries'); throw new Error('refuses'); } } };";
    let update =
        pair.a.put(&format!("/sources/{}", id(&source)), &json!({ "component_code": hook })).await;
    assert_eq!(update.refusal(), (422, "hook_failed"), "{}", update.text);
    let words: Vec<String> = (0..3)
        .flat_map(|n| [format!("line {n}"), format!("Error: breaks {n}")])
        .chain(["tries".into(), "the activate hook failed: Error: refuses".into()])
        .collect();
    let mut lines: Vec<String> = Vec::new();
    let all =
        |lines: &[String]| words.iter().all(|word| lines.iter().any(|line| line.starts_with(word)));
    while !all(&lines) {
        let frame = stream.next().await.expect("a frame");
        lines.extend(frame.2["data"]["text"].as_str().map(str::to_owned));
    }
    assert_eq!(lines.len(), words.len(), "{lines:?}");
}
