//! Crash tests: no acknowledged event is lost when the server, its hosts or its database are killed
//! at any moment, or the disk fails.

mod answers;
mod apply;
mod audit;
mod clock;
mod damage;
mod keys;
mod nodes;
mod order;
mod points;
mod power;
mod process;
mod random;
mod sends;
mod storage;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use millrace_tests::{Server, endpoint};
use serde_json::{Value, json};

/// How long events are sent, and how often the server is killed meanwhile.
const SENDING: Duration = Duration::from_secs(10);
const KILLS: u32 = 3;

/// Sends numbered events until told to stop; gives the numbers that were acknowledged.
async fn send(url: String, client: u64, stop: Arc<AtomicBool>) -> Vec<u64> {
    let http =
        reqwest::Client::builder().timeout(Duration::from_secs(5)).build().expect("a client");
    let mut acknowledged = Vec::new();
    let mut n = client * 1_000_000;
    while !stop.load(Ordering::SeqCst) {
        n += 1;
        // Paced, so that what is checked afterwards stays small on a slow machine.
        tokio::time::sleep(Duration::from_millis(5)).await;
        match http.post(&url).json(&json!({ "n": n })).send().await {
            Ok(response) if response.status().is_success() => acknowledged.push(n),
            _ => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
    acknowledged
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_acknowledged_event_has_one_settled_run_and_its_emit() {
    let mut server = Server::start().await;
    let source = server.source("export default { name: 'numbers', version: '1', dedupe: 'unique', props: { http: '$.interface.http' }, run(e) { this.$emit({ n: e.body.n }, { id: e.body.n }); } };", json!({})).await;
    let source_id = source["id"].as_str().expect("an id").to_owned();
    let steps = [(
        "keep",
        "export default defineComponent({ run({ steps }) { return steps.trigger.event.n; } });",
    )];
    let listener =
        server.workflow("listener", json!([{ "type": "source", "id": source_id }]), &steps).await;
    let listener_id = listener["id"].as_str().expect("an id").to_owned();
    let stop = Arc::new(AtomicBool::new(false));
    let clients: Vec<_> =
        (1..=4).map(|client| tokio::spawn(send(endpoint(&source), client, stop.clone()))).collect();
    let started = Instant::now();
    for kill in 1..=KILLS {
        tokio::time::sleep((SENDING / (KILLS + 1) * kill).saturating_sub(started.elapsed())).await;
        server.kill();
        server.launch().await;
    }
    tokio::time::sleep(SENDING.saturating_sub(started.elapsed())).await;
    stop.store(true, Ordering::SeqCst);
    let mut acknowledged = BTreeSet::new();
    for client in clients {
        acknowledged.extend(client.await.expect("sends"));
    }
    assert!(acknowledged.len() > 20, "only {} events were acknowledged", acknowledged.len());
    for owner in [format!("/sources/{source_id}"), format!("/workflows/{listener_id}")] {
        for status in ["queued", "running"] {
            server
                .until("nothing is stuck", &format!("{owner}/runs?status={status}"), |l| {
                    l["page_info"]["total_count"] == 0
                })
                .await;
        }
    }
    let of = |run: &Value| run["event"]["body"]["n"].as_u64();
    let settled = counts(&server, &format!("/sources/{source_id}/runs"), of).await;
    let delivered = counts(&server, &format!("/workflows/{listener_id}/runs"), |run| {
        run["steps"][0]["exports"]["$return_value"].as_u64()
    })
    .await;
    let failed = server.get(&format!("/sources/{source_id}/runs?status=failed")).await.text;
    for n in &acknowledged {
        assert_eq!(
            settled.get(n),
            Some(&1),
            "event {n} has {:?} settled runs; failed: {failed}",
            settled.get(n)
        );
        assert_eq!(
            delivered.get(n),
            Some(&1),
            "event {n} was delivered {:?} times",
            delivered.get(n)
        );
    }
    eprintln!(
        "{KILLS} kills, {} events acknowledged, none lost, none settled twice, none stuck",
        acknowledged.len()
    );
}

/// How many succeeded runs there are for each number.
async fn counts(
    server: &Server,
    path: &str,
    number: impl Fn(&Value) -> Option<u64>,
) -> BTreeMap<u64, u32> {
    let mut counts = BTreeMap::new();
    let mut after = String::new();
    loop {
        let page = server.get(&format!("{path}?status=succeeded&limit=100{after}")).await.json;
        let runs = page["data"].as_array().cloned().unwrap_or_default();
        for run in &runs {
            *counts.entry(number(run).expect("a number")).or_insert(0) += 1;
        }
        match page["page_info"]["end_cursor"].as_str() {
            Some(cursor) if runs.len() == 100 => after = format!("&after={cursor}"),
            _ => return counts,
        }
    }
}
