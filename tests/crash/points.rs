//! The instants that matter, each hit on purpose: the program ends, fails or panics there while
//! events flow.

use std::time::{Duration, Instant};

use millrace_tests::cluster::cluster;
use millrace_tests::flow::Flow;
use millrace_tests::{FAIL_POINTS, Server, answer, endpoint, id};
use reqwest::Method;
use serde_json::{Value, json};

const PACE: Duration = Duration::from_millis(10);
/// Around the commit of each.
const COMMITS: [&str; 12] = [
    "accept",
    "accept_queued",
    "claim",
    "settle",
    "pause",
    "wake",
    "progress",
    "webhook_claim",
    "webhook_result",
    "deploy",
    "prune",
    "tick",
];
/// Later than all that a server that was killed had under a lease, or claimed; by the clock of the
/// one that goes on.
const LATER_MS: i64 = 60_000;
/// Others.
const INSTANTS: [&str; 7] = [
    "engine.accept.before_answer",
    "engine.claim.before_start",
    "engine.run.before_call",
    "engine.run.after_call",
    "engine.tick.before_store",
    "store.notice.before_commit",
    "store.commit",
];
/// A source that runs by itself, so that ticks come.
const TICKING: &str = "export default { name: 'tick', version: '1', props: { timer: { type: '$.interface.timer', default: { intervalSeconds: 1 } } }, run() {} };";

/// They are there with debug assertions.
#[test]
fn a_release_has_no_fail_points() {
    let manifest = include_str!("../../Cargo.toml");
    assert!(!manifest.contains("debug-assertions"), "a profile says otherwise than cargo does");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_end_at_each_instant_loses_nothing() {
    let commits = COMMITS.iter().flat_map(|name| {
        [format!("store.{name}.before_commit"), format!("store.{name}.after_commit")]
    });
    let points: Vec<String> = commits.chain(INSTANTS.map(str::to_owned)).collect();
    // Two servers at once: most of the time each waits, for its start or for the instant.
    let (some, others) = points.split_at(points.len() / 2);
    tokio::join!(
        ends_at(&[], some, Duration::from_secs(60)),
        ends_at(&[], others, Duration::from_secs(60))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_end_at_each_instant_loses_nothing_on_postgres() {
    let Some(cluster) = cluster() else { return };
    let database = cluster.database().await;
    let points = [
        "accept.after",
        "accept_queued.after",
        "claim.after",
        "settle.before",
        "settle.after",
        "webhook_result.before",
    ]
    .map(|point| format!("store.{point}_commit"));
    ends_at(&["--database-url", &database.url()], &points, Duration::from_secs(60)).await;
}

/// A commit whose failure is reported may have happened or not: the database went away before it
/// could say.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failures_before_and_after_commits_lose_nothing() {
    let before = [
        "accept=5",
        "accept_queued=5",
        "settle=4",
        "pause=2",
        "webhook_result=2",
        "progress=3",
        "renew=1",
        "wake=1",
    ]
    .map(|point| (point, "before"));
    let after = [
        "accept=9",
        "accept_queued=9",
        "claim=3",
        "settle=9",
        "pause=4",
        "webhook_claim=3",
        "webhook_result=4",
        "progress=5",
        "wake=2",
    ]
    .map(|point| (point, "after"));
    let of = |(point, when): (&str, &str)| {
        let (name, nth) = point.split_once('=').expect("a name and which");
        format!("store.{name}.{when}_commit=error@{nth}")
    };
    let points: Vec<String> = before.into_iter().chain(after).map(of).collect();
    let mut server = Server::failing(&["--requests-per-minute", "1000000"]);
    server.skew_clock(0);
    server.launch().await;
    let flow = Flow::deploy(&server).await;
    server.kill();
    server.set_env(FAIL_POINTS, &points.join(";"));
    server.launch().await;
    let senders = flow.send(4, PACE);
    let left = |server: &Server| {
        points
            .iter()
            .map(|p| p.split_once('=').expect("a name").0)
            .filter(|name| !server.log().contains(&format!("name=\"{name}\"")))
            .count()
    };
    let (began, mut later) = (Instant::now(), 0);
    while left(&server) > 0 && began.elapsed() < Duration::from_secs(150) {
        tokio::time::sleep(Duration::from_millis(100)).await;
        // Leases are renewed where they have ended by the clock, before anything is claimed.
        later += 100;
        server.skew_clock(later * 10);
    }
    let acknowledged = senders.stop().await;
    assert_eq!(left(&server), 0, "some points were never reached: {}", server.log());
    let report = flow.check(&server, &acknowledged).await;
    assert!(report.is_clean(), "{report}");
}

/// Starts the server again and again, each time to end at another point, and looks at everything
/// afterwards.
async fn ends_at(args: &[&str], points: &[String], patience: Duration) {
    let mut server = Server::failing(&[args, &["--requests-per-minute", "1000000"]].concat());
    server.skew_clock(0);
    server.launch().await;
    let flow = Flow::deploy(&server).await;
    let ticking = server.source(TICKING, json!({})).await;
    // So that there is something to prune.
    server
        .put(
            &format!("/sources/{}/retention", ticking["id"].as_str().expect("an id")),
            &json!({ "keep_count": 1 }),
        )
        .await
        .data();
    let senders = flow.send(4, PACE);
    let mut passed_by = Vec::new();
    for (n, point) in points.iter().enumerate() {
        server.kill();
        // Not always the first time: later ones come in the midst of others.
        server.set_env(FAIL_POINTS, &format!("{point}=exit@{}", 1 + n % 3));
        if !server.try_launch().await {
            continue;
        }
        if point.contains("deploy") {
            drop(deploy(&server).await);
        }
        if !server.until_ended(patience).await {
            passed_by.push(point.as_str());
        }
    }
    server.kill();
    server.set_env(FAIL_POINTS, "");
    // Where others might share the database, what the dead ones held is waited for.
    server.skew_clock(LATER_MS);
    server.launch().await;
    let acknowledged = senders.stop().await;
    let report = flow.check(&server, &acknowledged).await;
    assert!(report.is_clean(), "{report}");
    assert!(passed_by.is_empty(), "these points were never reached: {passed_by:?}");
}

/// A deploy whose answer may never come.
async fn deploy(server: &Server) -> Result<reqwest::Response, reqwest::Error> {
    let body =
        json!({ "component_code": "export default { name: 'late', version: '1', run() {} };" });
    let mut last = server
        .raw(Method::POST, "/v1/sources")
        .bearer_auth(&server.api_key)
        .json(&body)
        .send()
        .await;
    for _ in 0..3 {
        last = server
            .raw(Method::POST, "/v1/sources")
            .bearer_auth(&server.api_key)
            .json(&body)
            .send()
            .await;
    }
    last
}

// ---- instants that are rare in the flow: each is brought about

/// Waits for an answer, at which it has to be waiting already.
const ASKS: &str =
    "export default defineComponent({ run({ $ }) { return $.flow.suspend(3_600_000); } });";
/// The first time it never ends; where another is named, it lets that one begin after it, and
/// blocks the process of both. The second time it is done.
const BEGINS: &str = "export default defineComponent({ props: { store: { type: 'data_store' } }, async run({ steps }) {
  const { key, other } = steps.trigger.event.body; const pause = (ms) => new Promise((done) => setTimeout(done, ms));
  if (await this.store.has(key)) return key;
  if (other) await pause(1000);
  await this.store.set(key, 1);
  if (!other) await new Promise(() => setInterval(() => {}, 1000));
  while (!(await this.store.has(other))) await pause(20);
  while (true); } });";

/// A server that ends at a rare instant, and what brings it there.
struct Rare {
    server: Server,
    later: i64,
    begins: Value,
    asks: Value,
}

impl Rare {
    async fn deploy(args: &[&str]) -> Self {
        let mut server = Server::failing(args);
        server.skew_clock(0);
        server.launch().await;
        server.post("/data_stores", &json!({ "name": "begun" })).await.data();
        let steps =
            json!([{ "namespace": "begin", "code": BEGINS, "props": { "store": "begun" } }]);
        // Long enough that on a crowded machine both have begun by then.
        let settings = json!({ "name": "begins", "calls_per_isolate": 8, "timeout_ms": 8_000, "error_notification": false });
        let begins = server
            .post(
                "/workflows",
                &json!({ "triggers": [{ "type": "http" }], "steps": steps, "settings": settings }),
            )
            .await
            .data();
        let asks = server.workflow("asks", json!([{ "type": "http" }]), &[("ask", ASKS)]).await;
        Self { server, later: 0, begins, asks }
    }

    /// Starts it again, to end at a point, or nowhere. What it held when it ended is free by its
    /// clock.
    async fn launch(&mut self, point: &str) {
        self.server.kill();
        self.later += LATER_MS;
        self.server.skew_clock(self.later);
        self.server.set_env(
            FAIL_POINTS,
            &if point.is_empty() { String::new() } else { format!("{point}=exit@1") },
        );
        self.server.launch().await;
    }

    async fn ends(&mut self, point: &str) {
        assert!(
            self.server.until_ended(Duration::from_secs(60)).await,
            "{point} was never reached: {}",
            self.server.log()
        );
    }

    /// Sends an event to one that begins, and waits until it has.
    async fn begin(&self, key: &str, other: Option<&str>) {
        let body = json!({ "key": key, "other": other });
        assert_eq!(
            answer(self.server.raw(Method::POST, &endpoint(&self.begins)).json(&body)).await.status,
            200
        );
        self.server
            .until("it has begun", &format!("/data_stores/begun/record?key={key}"), |_| true)
            .await;
    }

    /// The run of an event, once it has settled. There is one.
    async fn settled(&self, key: &str) -> Value {
        let of = |list: &Value| -> Vec<Value> {
            list["data"]
                .as_array()
                .into_iter()
                .flatten()
                .filter(|run| run["event"]["body"]["key"] == key)
                .cloned()
                .collect()
        };
        let path = format!("/workflows/{}/runs?limit=100", id(&self.begins));
        let is_over = |run: &Value| run["status"] == "succeeded" || run["status"] == "failed";
        let runs =
            of(&self.server.until("it settles", &path, |list| of(list).iter().any(is_over)).await);
        assert_eq!(runs.len(), 1, "{runs:?}");
        runs[0].clone()
    }

    /// A lease is renewed: of a run that goes on where the clock jumps.
    async fn while_a_lease_is_renewed(&mut self, point: &str) {
        self.launch(point).await;
        self.begin(point, None).await;
        self.later += LATER_MS;
        self.server.skew_clock(self.later);
        self.ends(point).await;
        self.launch("").await;
        let run = self.settled(point).await;
        assert!(
            run["status"] == "succeeded" && run["attempt"].as_u64().is_some_and(|n| n >= 2),
            "{run}"
        );
    }

    /// A run is given back: of those in a process that another one blocked beyond its time.
    async fn while_a_run_is_given_back(&mut self, point: &str) {
        self.launch(point).await;
        let (mut waits, mut blocks) = (String::new(), String::new());
        // On a crowded machine the time of the one may be over before it blocks the other.
        for n in 0..5 {
            (waits, blocks) = (format!("{point}-waits{n}"), format!("{point}-blocks{n}"));
            self.begin(&blocks, Some(&waits)).await;
            // Its own time is over later.
            self.begin(&waits, None).await;
            if self.server.until_ended(Duration::from_secs(20)).await {
                break;
            }
        }
        self.launch("").await;
        let run = self.settled(&waits).await;
        assert!(
            run["status"] == "succeeded" && run["attempt"].as_u64().is_some_and(|n| n >= 2),
            "{run}"
        );
        // It ran over its time: that is settled, or it has run again.
        let blocked = self.settled(&blocks).await;
        assert!(
            blocked["status"] == "succeeded" || blocked["error"]["code"] == "Timeout",
            "{blocked}"
        );
    }

    /// A request resumes a run: before the commit it is as if none had come, after it the run goes
    /// on.
    async fn while_a_request_resumes(&mut self, point: &str, is_kept: bool) {
        self.launch(point).await;
        let path = format!("/workflows/{}/runs", id(&self.asks));
        let before = self.server.get(&format!("{path}?status=succeeded")).await.json["page_info"]["total_count"].as_u64().expect("a count");
        assert_eq!(
            answer(self.server.raw(Method::POST, &endpoint(&self.asks)).json(&json!({})))
                .await
                .status,
            200
        );
        let paused = self
            .server
            .until("it pauses", &format!("{path}?status=paused"), |l| {
                l["page_info"]["total_count"] == 1
            })
            .await;
        let url = paused["data"][0]["steps"][0]["exports"]["$return_value"]["resume_url"].as_str();
        let url =
            url.unwrap_or_else(|| panic!("no address: {paused}\n{}", self.server.log())).to_owned();
        assert!(
            self.server.raw(Method::POST, &url).json(&json!({ "n": 1 })).send().await.is_err(),
            "it ends before it answers"
        );
        self.ends(point).await;
        self.launch("").await;
        let again = answer(self.server.raw(Method::POST, &url).json(&json!({ "n": 2 }))).await;
        assert_eq!(again.status, if is_kept { 410 } else { 200 }, "{}", again.text);
        let done = self
            .server
            .until("it goes on", &format!("{path}?status=succeeded"), |l| {
                l["page_info"]["total_count"] == before + 1
            })
            .await;
        assert_eq!(
            done["data"][0]["steps"][0]["exports"]["$resume_data"]["body"]["n"],
            if is_kept { 1 } else { 2 },
            "{done}"
        );
        assert_eq!(
            self.server.get(&format!("{path}?status=paused")).await.json["page_info"]["total_count"],
            0
        );
    }
}

async fn rare_instants(args: &[&str]) {
    let mut rare = Rare::deploy(args).await;
    for when in ["before", "after"] {
        let point = |name: &str| format!("store.{name}.{when}_commit");
        rare.while_a_lease_is_renewed(&point("renew")).await;
        rare.while_a_run_is_given_back(&point("release")).await;
        rare.while_a_request_resumes(&point("call_back"), when == "after").await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_end_at_instants_that_are_rare_loses_nothing() {
    rare_instants(&[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_end_at_instants_that_are_rare_loses_nothing_on_postgres() {
    let Some(cluster) = cluster() else { return };
    let database = cluster.database().await;
    rare_instants(&["--database-url", &database.url()]).await;
}
