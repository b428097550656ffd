//! A server's end and beginning beside others: draining, one server for a data directory, tasks
//! that panic.

use std::process::{Command, Stdio};
use std::time::Duration;

use millrace_tests::{FAIL_POINTS, Server, answer, binary, endpoint};
use reqwest::Method;
use serde_json::json;

#[tokio::test]
async fn a_drain_lets_runs_under_way_end_and_accepts_nothing_new() {
    let mut server = Server::start().await;
    let code = "export default { name: 'slow', version: '1', props: { http: '$.interface.http' }, async run(e) { await new Promise((done) => setTimeout(done, 1500)); this.$emit({ n: e.body.n }); } };";
    let source = server.source(code, json!({})).await;
    let url = endpoint(&source);
    for n in 0..20 {
        assert_eq!(
            answer(server.raw(Method::POST, &url).json(&json!({ "n": n }))).await.status,
            200
        );
    }
    let runs = format!("/sources/{}/runs", source["id"].as_str().expect("an id"));
    server
        .until("they are under way", &format!("{runs}?status=running"), |l| {
            l["page_info"]["total_count"].as_u64().is_some_and(|n| n > 0)
        })
        .await;
    assert_eq!(server.terminate(), Some(0));
    assert!(server.log().contains("draining") && server.log().contains("stopped"));
    assert!(
        reqwest::Client::new().post(&url).json(&json!({})).send().await.is_err(),
        "nobody listens any more"
    );
    // They ended before it did, or were given back: none was lost on the way.
    server.launch().await;
    let done = server
        .until("all of them", &format!("{runs}?status=succeeded"), |l| {
            l["page_info"]["total_count"] == 20
        })
        .await;
    assert!(done["data"].as_array().expect("runs").iter().all(|run| run["attempt"] == 1), "{done}");
}

#[tokio::test]
async fn what_does_not_end_in_time_runs_again() {
    let mut server = Server::start().await;
    // The first time it never ends; the second time it does at once.
    let code = "export default { name: 'stuck', version: '1', props: { http: '$.interface.http', store: { type: 'data_store' } },
      async run(e) { const seen = await this.store.get('seen'); await this.store.set('seen', 1); if (!seen) await new Promise(() => setInterval(() => {}, 1000)); this.$emit({ n: e.body.n }); } };";
    server.post("/data_stores", &json!({ "name": "s" })).await.data();
    let source = server.source(code, json!({ "store": "s" })).await;
    assert_eq!(
        answer(server.raw(Method::POST, &endpoint(&source)).json(&json!({ "n": 1 }))).await.status,
        200
    );
    server
        .until("it is under way", "/data_stores/s/keys", |l| l["page_info"]["total_count"] == 1)
        .await;
    assert_eq!(server.terminate(), Some(0));
    assert!(server.log().contains("they run again at the next start"), "{}", server.log());
    server.launch().await;
    let runs = format!("/sources/{}/runs?status=succeeded", source["id"].as_str().expect("an id"));
    let done = server.until("it runs again", &runs, |l| l["page_info"]["total_count"] == 1).await;
    // The attempt that was taken from it is not counted.
    assert_eq!(done["data"][0]["attempt"], 1);
}

/// The limit is the code's: that the server read its answer late, as it was stopped meanwhile, is
/// not held against it.
#[tokio::test]
async fn code_that_ended_in_time_is_not_late_because_the_server_stood_still() {
    let server = Server::start().await;
    server.post("/data_stores", &json!({ "name": "s" })).await.data();
    let code = "export default defineComponent({ props: { store: { type: 'data_store' } },
      async run() { await this.store.set('seen', 1); await new Promise((done) => setTimeout(done, 1000)); return 'in time'; } });";
    let steps = json!([{ "namespace": "slow", "code": code, "props": { "store": "s" } }]);
    let body = json!({ "triggers": [{ "type": "http" }], "steps": steps, "settings": { "name": "slow", "timeout_ms": 4000 } });
    let workflow = server.post("/workflows", &body).await.data();
    assert_eq!(answer(server.raw(Method::POST, &endpoint(&workflow))).await.status, 200);
    server
        .until("it is under way", "/data_stores/s/keys", |l| l["page_info"]["total_count"] == 1)
        .await;
    // So that the code has the answer to its question.
    tokio::time::sleep(Duration::from_millis(300)).await;
    server.freeze();
    tokio::time::sleep(Duration::from_secs(6)).await;
    server.thaw();
    let runs = format!("/workflows/{}/runs", workflow["id"].as_str().expect("an id"));
    let ended = server
        .until("it ends", &runs, |l| {
            l["data"][0]["status"] == "succeeded" || l["data"][0]["status"] == "failed"
        })
        .await;
    assert_eq!(
        (&ended["data"][0]["status"], &ended["data"][0]["attempt"]),
        (&json!("succeeded"), &json!(1)),
        "{ended}"
    );
}

#[tokio::test]
async fn a_second_server_is_refused_and_the_first_goes_on() {
    let server = Server::start().await;
    let mut command = Command::new(binary());
    command.args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(server.data_dir());
    let output = command.stdin(Stdio::null()).output().expect("starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("is in use by another server; stop it, or choose another with --data-dir"),
        "{said}"
    );
    assert_eq!(answer(server.raw(Method::GET, "/readyz")).await.status, 200);
}

/// A bug of ours in one place must not end what only one task does.
#[tokio::test]
async fn tasks_that_panic_are_started_again() {
    let mut server = Server::failing(&[]);
    server.set_env(
        FAIL_POINTS,
        "engine.claim.before_start=panic@1;engine.tick.before_store=panic@1;engine.run.after_call=panic@1;store.settle.before_commit=panic@1;store.accept.before_commit=panic@1",
    );
    server.launch().await;
    let code = "export default { name: 'one', version: '1', props: { http: '$.interface.http', timer: { type: '$.interface.timer', default: { intervalSeconds: 1 } } }, run(e) { if (e.body) this.$emit({ n: e.body.n }); } };";
    let source = server.source(code, json!({})).await;
    let url = endpoint(&source);
    // The first is refused: its write panicked, and left nothing. Who comes next finds all as it
    // should be.
    assert_eq!(answer(server.raw(Method::POST, &url).json(&json!({ "n": 0 }))).await.status, 500);
    for n in 1..=5 {
        assert_eq!(
            answer(server.raw(Method::POST, &url).json(&json!({ "n": n }))).await.status,
            200
        );
    }
    let id = source["id"].as_str().expect("an id");
    // Runs whose task panicked go again once their lease has ended.
    server
        .until("all five", &format!("/sources/{id}/event_summaries"), |l| {
            l["page_info"]["total_count"] == 5
        })
        .await;
    server
        .until("ticks", &format!("/sources/{id}/runs?status=succeeded"), |l| {
            l["page_info"]["total_count"].as_u64().is_some_and(|n| n >= 7)
        })
        .await;
    assert!(server.log().contains("a task panicked"), "{}", server.log());
}

/// Who goes away before the answer has sent an event that may be kept or not; what is kept runs.
#[tokio::test]
async fn a_client_that_goes_away_while_its_event_is_stored_leaves_no_run_stuck() {
    let mut server = Server::failing(&[]);
    server.launch().await;
    let source = server
        .source("export default { name: 'one', version: '1', props: { http: '$.interface.http' }, run(e) { this.$emit({ n: e.body.n }); } };", json!({}))
        .await;
    let url = endpoint(&source);
    server.kill();
    server.set_env(FAIL_POINTS, "store.accept.before_commit=delay(1500)@1");
    server.launch().await;
    let (host, path) = url.trim_start_matches("http://").split_once('/').expect("an address");
    let mut client = tokio::net::TcpStream::connect(host).await.expect("connects");
    let request = format!(
        "POST /{path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\ncontent-length: 7\r\n\r\n{{\"n\":1}}"
    );
    tokio::io::AsyncWriteExt::write_all(&mut client, request.as_bytes()).await.expect("sends");
    server.until_log("a fail point fires").await;
    drop(client);
    let runs = format!("/sources/{}/runs", source["id"].as_str().expect("an id"));
    let done = server
        .until("its run", &format!("{runs}?status=succeeded"), |l| {
            l["page_info"]["total_count"] == 1
        })
        .await;
    assert_eq!(done["data"][0]["attempt"], 1, "it was begun at once: {done}");
    for status in ["queued", "running"] {
        assert_eq!(
            server.get(&format!("{runs}?status={status}")).await.json["page_info"]["total_count"],
            0
        );
    }
}

/// Its name may be on the disk before what is in it.
#[tokio::test]
async fn an_artifact_that_a_loss_of_power_emptied_is_written_anew() {
    let mut server = Server::new_at_rest(&[]);
    server.launch().await;
    let code = "export default { name: 'one', version: '1', props: { http: '$.interface.http' }, run(e) { this.$emit({ n: e.body.n }); } };";
    let source = server.source(code, json!({})).await;
    server.kill();
    let mut emptied = 0;
    for entry in std::fs::read_dir(server.data_dir().join("artifacts")).expect("reads") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|ending| ending == "mjs") {
            std::fs::remove_file(&path).expect("removes");
            std::fs::write(&path, "").expect("writes");
            emptied += 1;
        }
    }
    assert!(emptied > 0, "there is no artifact");
    server.launch().await;
    assert_eq!(
        answer(server.raw(Method::POST, &endpoint(&source)).json(&json!({ "n": 7 }))).await.status,
        200
    );
    let path = format!("/sources/{}/runs?status=succeeded", source["id"].as_str().expect("an id"));
    server.until("its run succeeds", &path, |l| l["page_info"]["total_count"] == 1).await;
    assert_eq!(server.emitted(&source).await[0]["n"], 7);
}
