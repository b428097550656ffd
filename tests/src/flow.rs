//! Numbered events that flow through all that must not lose them: two sources (one with dedupe), a
//! workflow of several steps with a data store and a pause, the handler of its errors, a webhook.
//! And what became of each number afterwards.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::receiver::{Does, Receiver};
use crate::{Client, endpoint};

/// A number that is divided by it ends in an error, or pauses on its way.
const FAILS: u64 = 10;
const PAUSES: u64 = 7;
/// How long all may take to come to an end: leases and claims of what was killed end in half a
/// minute.
const DRAIN: Duration = Duration::from_secs(150);

/// Counts in its `$.service.db`, so that its runs go one at a time.
const COUNTS: &str = "export default { name: 'counts', version: '1', props: { http: '$.interface.http', db: '$.service.db' },
  run(e) { const count = (this.db.get('count') || 0) + 1; this.db.set('count', count); this.$emit({ n: e.body.n, count }, { id: e.body.n }); } };";
/// Its runs begin where they are accepted.
const UNIQUE: &str = "export default { name: 'unique', version: '1', dedupe: 'unique', props: { http: '$.interface.http' },
  run(e) { this.$emit({ n: e.body.n }, { id: e.body.n }); } };";
const TAKE: &str =
    "export default defineComponent({ run({ steps }) { return steps.trigger.event.n; } });";
const KEEP: &str = "export default defineComponent({ props: { store: { type: 'data_store' } }, async run({ steps, $ }) {
  const { n } = steps.trigger.event; await this.store.set('k' + (n % 1000), n);
  if (n % PAUSES === 0) $.flow.delay(100); return n; } });";
const FAIL: &str =
    "export default defineComponent({ run({ steps }) { const { n } = steps.trigger.event;
  if (n % FAILS === 0) throw new RangeError('number ' + n); return n; } });";
const HANDLE: &str = "export default defineComponent({ run({ steps }) { return steps.trigger.event.original_event.n; } });";

/// The flow on one server.
pub struct Flow {
    sources: [String; 2],
    urls: [String; 2],
    workflow: String,
    handler: String,
    receiver: Receiver,
}

/// Sends numbers until it is told to stop.
pub struct Senders {
    stop: Arc<AtomicBool>,
    clients: Vec<tokio::task::JoinHandle<BTreeSet<u64>>>,
}

/// What became of all numbers.
#[derive(Debug, Default)]
pub struct Report {
    pub acknowledged: usize,
    /// Runs that ended because their host was killed; they are settled, with an error that says so.
    pub ended_by_kill: usize,
    pub lost: Vec<String>,
    pub twice: Vec<String>,
    pub stuck: Vec<String>,
    pub disagree: Vec<String>,
}

impl Report {
    pub fn is_clean(&self) -> bool {
        [&self.lost, &self.twice, &self.stuck, &self.disagree].iter().all(|list| list.is_empty())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { acknowledged, ended_by_kill, lost, twice, stuck, disagree } = self;
        write!(
            f,
            "{acknowledged} acknowledged, {} lost, {} settled twice, {} stuck, {} disagree; {ended_by_kill} runs ended with their host",
            lost.len(),
            twice.len(),
            stuck.len(),
            disagree.len()
        )?;
        for (what, list) in
            [("lost", lost), ("settled twice", twice), ("stuck", stuck), ("disagree", disagree)]
        {
            for line in list.iter().take(20) {
                write!(f, "\n  {what}: {line}")?;
            }
        }
        Ok(())
    }
}

fn id(record: &Value) -> String {
    record["id"].as_str().expect("an id").to_owned()
}

impl Flow {
    pub async fn deploy(server: &Client) -> Self {
        let unique = server.source(UNIQUE, json!({})).await;
        let plain = server.source(COUNTS, json!({})).await;
        server.post("/data_stores", &json!({ "name": "numbers" })).await.data();
        let keep = KEEP.replace("PAUSES", &PAUSES.to_string());
        let steps = json!([
            { "namespace": "take", "code": TAKE },
            { "namespace": "keep", "code": keep, "props": { "store": "numbers" } },
            { "namespace": "fail", "code": FAIL.replace("FAILS", &FAILS.to_string()) },
        ]);
        let triggers = json!([{ "type": "source", "id": id(&unique) }, { "type": "source", "id": id(&plain) }]);
        let workflow = server
            .post(
                "/workflows",
                &json!({ "triggers": triggers, "steps": steps, "settings": { "name": "numbers" } }),
            )
            .await
            .data();
        let handler = server.workflow("handler", json!([]), &[("handle", HANDLE)]).await;
        let receiver = Receiver::start(Does::says("200 OK")).await;
        let webhook = server
            .post("/webhooks", &json!({ "url": receiver.url, "name": "w", "description": "d" }))
            .await
            .data();
        let subscriptions = [
            (id(&workflow), id(&handler), "$errors"),
            (id(&unique), id(&webhook), ""),
            (id(&plain), id(&webhook), ""),
        ];
        for (emitter, listener, name) in subscriptions {
            let subscription =
                json!({ "emitter_id": emitter, "listener_id": listener, "event_name": name });
            server.post("/subscriptions", &subscription).await.data();
        }
        let urls = [endpoint(&unique), endpoint(&plain)];
        Self {
            sources: [id(&unique), id(&plain)],
            urls,
            workflow: id(&workflow),
            handler: id(&handler),
            receiver,
        }
    }

    /// Clients that send, each with a pause between two numbers.
    pub fn send(&self, clients: u64, pace: Duration) -> Senders {
        self.send_from(1, clients, pace)
    }

    /// As [`Flow::send`], with numbers that none of an earlier `round` has.
    pub fn send_from(&self, round: u64, clients: u64, pace: Duration) -> Senders {
        let stop = Arc::new(AtomicBool::new(false));
        let client = |n: u64| {
            let (url, stop) = (self.urls[n as usize % 2].clone(), stop.clone());
            tokio::spawn(async move {
                let http = reqwest::Client::builder()
                    .timeout(Duration::from_secs(10))
                    .build()
                    .expect("a client");
                let (mut acknowledged, mut number) =
                    (BTreeSet::new(), (round * 100 + n) * 1_000_000);
                while !stop.load(Ordering::SeqCst) {
                    number += 1;
                    // Paced, so that what is checked afterwards stays small on a slow machine.
                    tokio::time::sleep(pace).await;
                    match http.post(&url).json(&json!({ "n": number })).send().await {
                        Ok(response) if response.status().is_success() => {
                            _ = acknowledged.insert(number);
                        }
                        _ => tokio::time::sleep(Duration::from_millis(20)).await,
                    }
                }
                acknowledged
            })
        };
        Senders { stop: stop.clone(), clients: (0..clients).map(client).collect() }
    }

    /// Waits for the end of all, and tells what became of them.
    pub async fn check(&self, server: &Client, acknowledged: &BTreeSet<u64>) -> Report {
        let mut report = Report { acknowledged: acknowledged.len(), ..Report::default() };
        let owners = self
            .sources
            .iter()
            .map(|s| format!("/sources/{s}"))
            .chain([&self.workflow, &self.handler].map(|w| format!("/workflows/{w}")));
        let deadline = Instant::now() + DRAIN;
        for owner in owners {
            for status in ["queued", "running", "paused"] {
                report.stuck.extend(
                    drained(server, &format!("{owner}/runs?status={status}"), deadline).await,
                );
            }
        }
        let number = |run: &Value| run["event"]["body"]["n"].as_u64();
        let sources = [
            runs(server, &format!("/sources/{}", self.sources[0]), number).await,
            runs(server, &format!("/sources/{}", self.sources[1]), number).await,
        ];
        let workflow = runs(server, &format!("/workflows/{}", self.workflow), |run| {
            run["event"]["n"].as_u64()
        })
        .await;
        let handler = runs(server, &format!("/workflows/{}", self.handler), |run| {
            run["event"]["original_event"]["n"].as_u64()
        })
        .await;
        for n in acknowledged {
            let settled: Vec<&Value> =
                sources.iter().filter_map(|runs| runs.get(n)).flatten().collect();
            match settled.as_slice() {
                [] => report.lost.push(format!("{n} has no run")),
                [one] if one["status"] == "failed" => by_kill(&mut report, one, n),
                [one] if one["status"] == "succeeded" && !workflow.contains_key(n) => {
                    report.lost.push(format!("the event of {n} has no run of the workflow"))
                }
                [_] => {}
                many => report.twice.push(format!("{n} has {} runs", many.len())),
            }
        }
        for (n, runs) in &workflow {
            if runs.len() > 1 {
                report
                    .twice
                    .push(format!("the event of {n} has {} runs of the workflow", runs.len()));
            }
            let handled = handler.get(n).map_or(0, Vec::len);
            let (failed, meant) =
                (runs[0]["status"] == "failed", runs[0]["error"]["code"] == "RangeError");
            if failed && !meant {
                by_kill(&mut report, &runs[0], n);
            }
            match (failed, handled) {
                (true, 0) => report.lost.push(format!("the error of {n} was not handled")),
                (false, 0) if n % FAILS != 0 => {}
                (true, 1) => {}
                (failed, many) => {
                    report.twice.push(format!("{n}: failed is {failed}, handled {many} times"))
                }
            }
        }
        self.check_counters(server, &workflow, &mut report).await;
        self.check_webhook(&workflow, &mut report).await;
        report
    }

    /// What a source counts in its `$service.db` is what it emitted: no number twice, and the last
    /// as stored.
    async fn check_counters(
        &self,
        server: &Client,
        workflow: &BTreeMap<u64, Vec<Value>>,
        report: &mut Report,
    ) {
        let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
        for (n, runs) in workflow.iter().filter(|(n, _)| **n / 1_000_000 % 2 == 1) {
            let count = runs[0]["event"]["count"].as_u64().expect("a count");
            if let Some(other) = counts.insert(count, *n) {
                report.disagree.push(format!("{n} and {other} were counted as {count} both"));
            }
        }
        let last = counts.last_key_value().map_or(0, |(count, _)| *count);
        // No client sends a number so small.
        let probe = 1;
        let sent = server
            .raw(reqwest::Method::POST, &self.urls[1])
            .json(&json!({ "n": probe }))
            .send()
            .await
            .expect("an answer");
        assert!(sent.status().is_success());
        let path = format!("/workflows/{}/runs?limit=20", self.workflow);
        let is_probe = |run: &&Value| run["event"]["n"] == probe;
        let page = server
            .until("the probe's run", &path, |l| {
                l["data"].as_array().is_some_and(|runs| runs.iter().any(|run| is_probe(&run)))
            })
            .await;
        let next = page["data"]
            .as_array()
            .and_then(|runs| runs.iter().find(is_probe))
            .and_then(|run| run["event"]["count"].as_u64())
            .unwrap_or(0);
        if next != last + 1 {
            report
                .disagree
                .push(format!("the last count emitted is {last}, the next one is {next}"));
        }
    }

    /// Each event came at least once, always under the same id.
    async fn check_webhook(&self, workflow: &BTreeMap<u64, Vec<Value>>, report: &mut Report) {
        let deadline = Instant::now() + Duration::from_secs(90);
        loop {
            let mut ids: BTreeMap<u64, BTreeSet<String>> = BTreeMap::new();
            for got in self.receiver.got() {
                let body: Value = serde_json::from_str(&got.body).expect("JSON");
                ids.entry(body["event"]["n"].as_u64().expect("a number"))
                    .or_default()
                    .insert(got.header("webhook-id"));
            }
            let missing: Vec<&u64> = workflow.keys().filter(|n| !ids.contains_key(n)).collect();
            if missing.is_empty() || Instant::now() > deadline {
                report
                    .lost
                    .extend(missing.iter().map(|n| format!("{n} did not come to the webhook")));
                report.twice.extend(
                    ids.iter()
                        .filter(|(_, ids)| ids.len() > 1)
                        .map(|(n, ids)| format!("{n} came to the webhook as {ids:?}")),
                );
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

impl Senders {
    /// The numbers that were acknowledged.
    pub async fn stop(self) -> BTreeSet<u64> {
        self.stop.store(true, Ordering::SeqCst);
        let mut acknowledged = BTreeSet::new();
        for client in self.clients {
            acknowledged.extend(client.await.expect("sends"));
        }
        acknowledged
    }
}

/// A run that failed though its code did not: that its host was killed is the only excuse.
fn by_kill(report: &mut Report, run: &Value, n: &u64) {
    let error = &run["error"];
    if error["stack"].as_str().or(error["message"].as_str()).is_some_and(|e| {
        e.contains("killed by signal 9") || e.contains("its process died each time")
    }) {
        report.ended_by_kill += 1;
    } else {
        report.lost.push(format!("{n} failed: {error}"));
    }
}

/// What does not end: nothing, unless something is stuck.
async fn drained(server: &Client, path: &str, deadline: Instant) -> Vec<String> {
    loop {
        let page = server.get(path).await;
        if page.status == 200 && page.json["page_info"]["total_count"] == 0 {
            return Vec::new();
        }
        if Instant::now() > deadline {
            let runs = page.json["data"].as_array().cloned().unwrap_or_default();
            return runs.iter().map(|run| format!("{path}: {run}")).collect();
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// All runs of an owner by number.
async fn runs(
    server: &Client,
    owner: &str,
    number: impl Fn(&Value) -> Option<u64>,
) -> BTreeMap<u64, Vec<Value>> {
    let mut found: BTreeMap<u64, Vec<Value>> = BTreeMap::new();
    let mut after = String::new();
    loop {
        let page = server.get(&format!("{owner}/runs?limit=100{after}")).await.json;
        let runs = page["data"].as_array().cloned().unwrap_or_default();
        for run in &runs {
            // Not the whole: an hour's runs are kept here.
            let kept = json!({ "id": run["id"], "status": run["status"], "error": run["error"], "event": { "count": run["event"]["count"] } });
            found.entry(number(run).expect("a number")).or_default().push(kept);
        }
        match page["page_info"]["end_cursor"].as_str() {
            Some(cursor) if runs.len() == 100 => after = format!("&after={cursor}"),
            _ => return found,
        }
    }
}
