//! Deliveries and mail of runs, with the server's end at each instant of their delivery: at least
//! once, and under one id.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use millrace_tests::cluster::cluster;
use millrace_tests::receiver::{Does, Receiver};
use millrace_tests::smtp::MailServer;
use millrace_tests::{FAIL_POINTS, Server, endpoint};
use serde_json::json;

const POINTS: [&str; 7] = [
    "accept_queued",
    "delivery_claim",
    "delivery_result",
    "mail",
    "mail_claim",
    "mail_result",
    "delete",
];
/// How long a point may take to be reached, and the last events to be acknowledged.
const PATIENCE: Duration = Duration::from_secs(60);
/// Later than all that a dead server of Postgres had claimed, and than a try that failed comes
/// again.
const LATER_MS: i64 = 60_000;
/// Events that are acknowledged at least.
const ENOUGH: usize = 5;
/// How long all may take to be sent.
const DRAIN: Duration = Duration::from_secs(150);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_sent_survives_an_end_at_each_instant() {
    sends_survive(&[], &POINTS).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_sent_survives_an_end_at_each_instant_on_postgres() {
    let Some(cluster) = cluster() else { return };
    let database = cluster.database().await;
    sends_survive(&["--database-url", &database.url()], &["delivery_result", "mail_result"]).await;
}

async fn sends_survive(args: &[&str], points: &[&str]) {
    let (receiver, mails) =
        (Receiver::start(Does::says("200 OK")).await, MailServer::start().await);
    let mut server = Server::failing(
        &[args, &["--smtp-url", &mails.url, "--requests-per-minute", "1000000"]].concat(),
    );
    let mut later = 0;
    server.skew_clock(later);
    server.launch().await;
    let code = "export default defineComponent({ run({ steps, $ }) { const { n } = steps.trigger.event.body;
      $.send.http({ method: 'POST', url: 'URL', data: { n } }); $.send.email({ subject: `number ${n} is sent`, text: 'x' }); return n; } });";
    let steps = json!([{ "namespace": "send", "code": code.replace("URL", &receiver.url) }]);
    let settings = json!({ "name": "sends", "concurrency": 4, "queue_max": 1000 });
    let workflow = server
        .post(
            "/workflows",
            &json!({ "triggers": [{ "type": "http" }], "steps": steps, "settings": settings }),
        )
        .await
        .data();
    let (url, path) = (
        endpoint(&workflow),
        format!("/workflows/{}/runs", workflow["id"].as_str().expect("an id")),
    );
    let mut doomed = Vec::new();
    for _ in 0..2 {
        let source = server
            .source("export default { name: 'doomed', version: '1', run() {} };", json!({}))
            .await;
        doomed.push(source["id"].as_str().expect("an id").to_owned());
    }
    let stop = Arc::new(AtomicBool::new(false));
    let sender = tokio::spawn(send(url, stop.clone()));
    let mut passed_by = Vec::new();
    let instants = points
        .iter()
        .flat_map(|name| ["before", "after"].map(|when| format!("store.{name}.{when}_commit")));
    for (n, point) in instants.enumerate() {
        let doomed = point.contains("delete").then(|| doomed[n % 2].as_str());
        server.kill();
        later += LATER_MS;
        server.skew_clock(later);
        // Not always the first time.
        server.set_env(
            FAIL_POINTS,
            &format!("{point}=exit@{}", if doomed.is_some() { 1 } else { 1 + n % 2 }),
        );
        if !server.try_launch().await {
            continue;
        }
        if let Some(doomed) = doomed {
            let path = format!("/v1/sources/{doomed}");
            // Its answer never comes.
            let _ = server
                .raw(reqwest::Method::DELETE, &path)
                .bearer_auth(&server.api_key)
                .send()
                .await;
        }
        if !server.until_ended(PATIENCE).await {
            passed_by.push(point);
        }
        if let Some(doomed) = doomed {
            server.kill();
            server.set_env(FAIL_POINTS, "");
            server.launch().await;
            let status = server.get(&format!("/sources/{doomed}")).await.status;
            assert_eq!(
                status,
                if n % 2 == 0 { 200 } else { 404 },
                "a source is deleted with the commit"
            );
        }
    }
    server.kill();
    server.set_env(FAIL_POINTS, "");
    server.skew_clock(later + LATER_MS);
    server.launch().await;
    stop.store(true, Ordering::SeqCst);
    let acknowledged = tokio::time::timeout(PATIENCE, sender)
        .await
        .expect("enough are acknowledged")
        .expect("sends");
    assert!(passed_by.is_empty(), "these points were never reached: {passed_by:?}");
    for status in ["queued", "running"] {
        server
            .until("nothing is stuck", &format!("{path}?status={status}"), |l| {
                l["page_info"]["total_count"] == 0
            })
            .await;
    }
    let began = Instant::now();
    loop {
        let (posted, mailed) = (posted(&receiver), mailed(&mails));
        let missing: Vec<_> = acknowledged
            .iter()
            .filter(|n| !posted.contains_key(n) || !mailed.contains(n))
            .collect();
        if missing.is_empty() {
            break;
        }
        assert!(
            began.elapsed() < DRAIN,
            "never sent: {missing:?} of {}: {}",
            acknowledged.len(),
            server.log()
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let several: Vec<_> =
        posted(&receiver).into_iter().filter(|(_, keys)| keys.len() != 1).collect();
    assert!(several.is_empty(), "sent under several ids: {several:?}");
}

/// Sends numbers until it is told to stop; gives those that were acknowledged.
async fn send(url: String, stop: Arc<AtomicBool>) -> BTreeSet<u64> {
    let http =
        reqwest::Client::builder().timeout(Duration::from_secs(10)).build().expect("a client");
    let (mut acknowledged, mut n) = (BTreeSet::new(), 0);
    // A server that starts slowly is down for most of the time.
    while !stop.load(Ordering::SeqCst) || acknowledged.len() < ENOUGH {
        n += 1;
        // Paced, so that what is checked afterwards stays small.
        tokio::time::sleep(Duration::from_millis(100)).await;
        if http
            .post(&url)
            .json(&json!({ "n": n }))
            .send()
            .await
            .is_ok_and(|answer| answer.status().is_success())
        {
            acknowledged.insert(n);
        }
    }
    acknowledged
}

/// The ids that each number came under.
fn posted(receiver: &Receiver) -> BTreeMap<u64, BTreeSet<String>> {
    let mut all: BTreeMap<u64, BTreeSet<String>> = BTreeMap::new();
    for got in receiver.got() {
        let body: serde_json::Value = serde_json::from_str(&got.body).expect("JSON");
        all.entry(body["n"].as_u64().expect("a number"))
            .or_default()
            .insert(got.header("idempotency-key"));
    }
    all
}

fn mailed(mails: &MailServer) -> BTreeSet<u64> {
    let number = |mail: &String| {
        mail.lines()
            .find_map(|line| line.strip_prefix("Subject: number ")?.split(' ').next()?.parse().ok())
    };
    mails.mails.lock().expect("not poisoned").iter().filter_map(number).collect()
}
