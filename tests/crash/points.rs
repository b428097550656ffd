//! The instants that matter, each hit on purpose: the program with fail points ends, fails or panics there while events flow.

use std::time::{Duration, Instant};

use millrace_tests::cluster::cluster;
use millrace_tests::flow::Flow;
use millrace_tests::{Server, binary, binary_with_fail_points};
use serde_json::json;

const FAIL_POINTS: &str = "MILLRACE_FAIL_POINTS";
const PACE: Duration = Duration::from_millis(10);
/// Around the commit of each.
const COMMITS: [&str; 11] = ["accept", "claim", "settle", "pause", "wake", "progress", "webhook_claim", "webhook_result", "deploy", "prune", "tick"];
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
const TICKING: &str =
    "export default { name: 'tick', version: '1', props: { timer: { type: '$.interface.timer', default: { intervalSeconds: 1 } } }, run() {} };";

#[test]
fn only_the_program_for_tests_has_fail_points() {
    let has = |path: std::path::PathBuf| std::fs::read(path).expect("reads").windows(FAIL_POINTS.len()).any(|w| w == FAIL_POINTS.as_bytes());
    assert!(has(binary_with_fail_points()), "the check finds nothing where there is something");
    assert!(!has(binary()), "the program that is released has fail points");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_end_at_each_instant_loses_nothing() {
    let commits = COMMITS.iter().flat_map(|name| [format!("store.{name}.before_commit"), format!("store.{name}.after_commit")]);
    let points: Vec<String> = commits.chain(INSTANTS.map(str::to_owned)).collect();
    ends_at(&[], &points, Duration::from_secs(60)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_end_at_each_instant_loses_nothing_on_postgres() {
    let Some(cluster) = cluster() else { return };
    let database = cluster.database().await;
    let points = ["accept.after", "claim.after", "settle.before", "settle.after", "webhook_result.before"].map(|point| format!("store.{point}_commit"));
    ends_at(&["--database-url", &database.url()], &points, Duration::from_secs(60)).await;
}

/// A commit whose failure is reported may have happened or not: the database went away before it could say.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failures_before_and_after_commits_lose_nothing() {
    let before = ["accept=5", "settle=4", "pause=2", "webhook_result=2", "progress=3", "renew=1", "wake=1"].map(|point| (point, "before"));
    let after = ["accept=9", "claim=3", "settle=9", "pause=4", "webhook_claim=3", "webhook_result=4", "progress=5", "wake=2"].map(|point| (point, "after"));
    let of = |(point, when): (&str, &str)| {
        let (name, nth) = point.split_once('=').expect("a name and which");
        format!("store.{name}.{when}_commit=error@{nth}")
    };
    let points: Vec<String> = before.into_iter().chain(after).map(of).collect();
    let mut server = Server::failing(&["--requests-per-minute", "1000000"]);
    server.launch().await;
    let flow = Flow::deploy(&server).await;
    server.kill();
    server.set_env(FAIL_POINTS, &points.join(";"));
    server.launch().await;
    let senders = flow.send(4, PACE);
    let left = || points.iter().map(|p| p.split_once('=').expect("a name").0).filter(|name| !server.log().contains(&format!("name=\"{name}\""))).count();
    let began = Instant::now();
    while left() > 1 && began.elapsed() < Duration::from_secs(150) {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let acknowledged = senders.stop().await;
    // Leases are renewed every ten seconds, and only where runs last that long.
    assert!(left() <= 1, "some points were never reached: {}", server.log());
    let report = flow.check(&server, &acknowledged).await;
    assert!(report.is_clean(), "{report}");
}

/// Starts the server again and again, each time to end at another point, and looks at everything afterwards.
async fn ends_at(args: &[&str], points: &[String], patience: Duration) {
    let mut server = Server::failing(&[args, &["--requests-per-minute", "1000000"]].concat());
    server.launch().await;
    let flow = Flow::deploy(&server).await;
    let ticking = server.source(TICKING, json!({})).await;
    // So that there is something to prune.
    server.put(&format!("/sources/{}/retention", ticking["id"].as_str().expect("an id")), &json!({ "keep_count": 1 })).await.data();
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
        let began = Instant::now();
        while !server.ended() {
            if began.elapsed() > patience {
                passed_by.push(point.as_str());
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
    server.kill();
    server.set_env(FAIL_POINTS, "");
    server.launch().await;
    let acknowledged = senders.stop().await;
    let report = flow.check(&server, &acknowledged).await;
    assert!(report.is_clean(), "{report}");
    assert!(passed_by.is_empty(), "these points were never reached: {passed_by:?}");
}

/// A deploy whose answer may never come.
async fn deploy(server: &Server) -> Result<reqwest::Response, reqwest::Error> {
    let body = json!({ "component_code": "export default { name: 'late', version: '1', run() {} };" });
    let mut last = server.raw(reqwest::Method::POST, "/v1/sources").bearer_auth(&server.api_key).json(&body).send().await;
    for _ in 0..3 {
        last = server.raw(reqwest::Method::POST, "/v1/sources").bearer_auth(&server.api_key).json(&body).send().await;
    }
    last
}
