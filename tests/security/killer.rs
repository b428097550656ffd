//! Scores for the kernel's out-of-memory killer: it ends processes that run or read untrusted code,
//! and not the server.

use std::fs;

use millrace_tests::registry::Registry;
use millrace_tests::{Server, id};
use serde_json::json;

use crate::support::Field;

fn score(pid: &str) -> i32 {
    let text = fs::read_to_string(format!("/proc/{pid}/oom_score_adj")).expect("reads");
    text.trim().parse().expect("a number")
}

#[tokio::test]
async fn the_kernel_ends_hosts_before_the_server() {
    let field = Field::start().await;
    let own = score(&field.server.pid().to_string());
    let source = field
        .server
        .source(
            "export default { name: 's', version: '1', run() { return process.pid; } };",
            json!({}),
        )
        .await;
    let run = field.server.post(&format!("/sources/{}/run", id(&source)), &json!({})).await.data();
    let host = score(&run["return_value"].to_string());
    assert!(host > own, "{host} of a host, {own} of the server");
}

/// The processes of a server that bundle, or fetch packages.
fn bundlers(server: u32) -> Vec<String> {
    let all = fs::read_dir("/proc").expect("reads").flatten();
    let pids = all.filter_map(|entry| entry.file_name().into_string().ok());
    let is_one = |pid: &String| {
        let read = |file: &str| fs::read_to_string(format!("/proc/{pid}/{file}")).ok();
        let parent = read("stat").and_then(|stat| {
            let (_, behind) = stat.rsplit_once(')')?;
            behind.split_whitespace().nth(1)?.parse().ok()
        });
        parent == Some(server) && read("cmdline").is_some_and(|line| line.contains("bundle-worker"))
    };
    pids.filter(is_one).collect()
}

#[tokio::test]
async fn the_kernel_ends_bundlers_before_the_server() {
    let registry = Registry::of(&[]);
    registry.holds();
    let server = Server::start_with(&["--npm-registry", &registry.url]).await;
    let own = score(&server.pid().to_string());
    let code =
        "import x from 'held'; export default { name: 's', version: '1', run() { return x; } };";
    let body = json!({ "component_code": code });
    let deploy = server.post("/sources", &body);
    let looked = async {
        registry.until_held().await;
        let scores: Vec<i32> = bundlers(server.pid()).iter().map(|pid| score(pid)).collect();
        registry.goes_away();
        scores
    };
    let (refused, scores) = futures::future::join(deploy, looked).await;
    assert_eq!(refused.refusal(), (422, "registry_unreachable"), "{}", refused.text);
    // One bundles, one fetches.
    assert_eq!(scores.len(), 2);
    assert!(scores.iter().all(|score| *score > own), "{scores:?}, {own} of the server");
}
