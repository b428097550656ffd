//! `lag` of `GET /v1/stream`: notice to a client that reads too slowly, or was away too long.

use std::collections::{BTreeMap, BTreeSet};

use futures::StreamExt as _;
use millrace_tests::sse::{Frame, opened, until};
use millrace_tests::{Server, answer, endpoint, id};
use reqwest::Method;
use serde_json::{Value, json};

/// Events of a run, and lines of it: more than the 1,024 items that a reader may lag behind.
const EVENTS: u64 = 1500;
/// How many runs: their events and lines are more than the buffers of a connection hold.
const RUNS: u64 = 4;

/// How many items a frame says were skipped.
fn skipped((_, kind, data): &Frame) -> Option<u64> {
    (kind == "lag").then(|| data["skipped"].as_u64().expect("a number"))
}

#[tokio::test]
async fn r2_37_a_client_that_reads_too_slowly_is_told_and_misses_no_event() {
    let server = Server::shared().await;
    let code = "export default { name: 's', version: '1', run(e) { for (let n = 0; n < e.count; n++) {
      console.log(`line ${e.run} ${n}`); this.$emit({ n: e.run * e.count + n, more: 'x'.repeat(2000) }); } } };";
    let source = server.source(code, json!({})).await;
    let (events, logs) = (format!("events:{}", id(&source)), format!("logs:{}", id(&source)));
    let mut stream = opened(&server, &format!("{events},{logs}"), "").await;
    // Nothing is read while they come.
    for run in 0..RUNS {
        let ran = server.run_now(&source, json!({ "run": run, "count": EVENTS })).await;
        assert_eq!(ran["status"], "succeeded", "{ran}");
    }
    let (mut seen, mut lines) = (BTreeMap::<u64, u32>::new(), BTreeSet::new());
    let mut lags: BTreeMap<String, u64> = BTreeMap::new();
    while seen.len() < usize::try_from(RUNS * EVENTS).expect("fits")
        || ![&events, &logs].iter().all(|topic| lags.contains_key(*topic))
    {
        let frame = stream.next().await.expect("a frame");
        let (id, kind, data) = &frame;
        if let Some(skipped) = skipped(&frame) {
            assert_eq!(data.as_object().map(serde_json::Map::len), Some(2), "{data}");
            *lags.entry(data["topic"].as_str().expect("a topic").to_owned()).or_default() +=
                skipped;
            continue;
        }
        match kind.as_str() {
            "event" => {
                assert!(id.starts_with(&format!("{events}=")), "{id}");
                let n = data["data"]["event"]["n"].as_u64().expect("a number");
                *seen.entry(n).or_default() += 1;
            }
            "log" => {
                let line = data["data"]["text"].as_str().expect("text").to_owned();
                assert!(lines.insert(line), "a line came twice: {data}");
            }
            _ => {}
        }
    }
    assert!(seen.values().all(|times| *times == 1), "an event came twice: {seen:?}");
    assert!(lags.values().all(|skipped| *skipped > 0), "{lags:?}");
    // Lines are on the live stream only: those that did not come are those that were skipped.
    assert!((lines.len() as u64) < RUNS * EVENTS, "{lags:?}");
    // It goes on.
    server.run_now(&source, json!({ "run": RUNS, "count": 1 })).await;
    let (emitted, wrote) = (
        |event: &Value| event["event"]["n"] == RUNS,
        |line: &Value| line["text"].as_str().is_some_and(|t| t == "line 4 0"),
    );
    until(&mut stream, &[("event", &emitted), ("log", &wrote)]).await;
}

/// Five pages of a hundred are read in one look.
#[tokio::test]
async fn r2_37_a_client_that_was_away_for_too_many_runs_is_told_how_many_it_missed() {
    const READ: u64 = 500;
    const MORE: u64 = 30;
    let server = Server::shared().await;
    let code = "export default { name: 's', version: '1', props: { http: '$.interface.http' }, run() {} };";
    let source = server.source(code, json!({})).await;
    let url = endpoint(&source);
    let post = || answer(server.raw(Method::POST, &url).json(&json!({})));
    let mut stream = opened(&server, "runs", "").await;
    assert_eq!(post().await.status, 200);
    let ended = |run: &Value| run["status"] == "succeeded";
    let last = until(&mut stream, &[("run", &ended)]).await.pop().expect("a frame").0;
    drop(stream);
    let posts = futures::stream::iter((0..READ + MORE).map(|_| post())).buffer_unordered(16);
    assert!(posts.all(async |got| got.status == 200).await);
    let runs = format!("/sources/{}/runs?status=succeeded&limit=1", id(&source));
    let is_all = |l: &Value| l["page_info"]["total_count"] == READ + MORE + 1;
    server.until("all have ended", &runs, is_all).await;
    let mut stream = opened(&server, "runs", &last).await;
    let (mut shown, mut missed) = (BTreeSet::new(), None);
    while missed.is_none() || (shown.len() as u64) < READ {
        let frame = stream.next().await.expect("a frame");
        if let Some(skipped) = skipped(&frame) {
            assert_eq!(frame.2["topic"], "runs");
            assert_eq!(missed.replace(skipped), None, "it is told once");
        } else {
            shown.insert(frame.2["data"]["id"].as_str().expect("an id").to_owned());
        }
    }
    assert_eq!((shown.len() as u64, missed), (READ, Some(MORE + 1)));
}
