//! Versions of sources and their runs: a run has the version that was live when it was accepted,
//! and a replay runs that version again.

use millrace_tests::cluster::cluster;
use millrace_tests::{Client, Server, answer, endpoint, id};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;

/// Says which version of its code ran, and with which prop; waits for its own `$.service.db`, so
/// that its runs come from the queue.
fn code(version: &str) -> String {
    format!(
        "export default {{ name: 's', version: '1', props: {{ http: '$.interface.http', db: '$.service.db', word: {{ type: 'string', secret: true }} }},
  async run(event) {{
    if (event.fails) throw new RangeError('no');
    this.$emit('{version} ' + this.word);
    return '{version} ' + this.word;
  }} }};"
    )
}

async fn deployments(server: &Client, source: &Value, runs: &str) -> Vec<Value> {
    let path = format!("/sources/{}/deployments{runs}", id(source));
    server.get(&path).await.json["data"].as_array().expect("deployments").clone()
}

/// Ids of the runs of a version, sorted.
async fn runs_of(server: &Client, version: &Value) -> Vec<Value> {
    let path = format!("/runs?deployment_id={}", version.as_str().expect("an id"));
    let listed = server.get(&path).await.json;
    let mut runs: Vec<Value> =
        listed["data"].as_array().expect("runs").iter().map(|run| run["id"].clone()).collect();
    runs.sort_by_key(Value::to_string);
    runs
}

/// What a run says of its version: id, number, context, and what its code returned.
async fn said(server: &Client, run: &Value) -> [Value; 4] {
    let run = server.get(&format!("/runs/{}", id(run))).await.data();
    ["deployment_id", "version", "context", "return_value"].map(|field| match field {
        "context" => run["context"]["deployment_id"].clone(),
        _ => run[field].clone(),
    })
}

async fn runs_and_replays_have_versions(server: &Client) {
    let body = json!({ "component_code": code("first"), "configured_props": { "word": "alpha" } });
    let source = server.post("/sources", &body).await.data();
    let path = format!("/sources/{}", id(&source));
    let one = deployments(server, &source, "").await[0]["id"].clone();
    assert_eq!(source["deployment_id"], one);
    let by_hand = server.run_now(&source, json!({})).await;
    assert_eq!(
        said(server, &by_hand).await,
        [one.clone(), json!(1), one.clone(), json!("first alpha")]
    );
    // Of the queue, where the version is looked up by its id.
    let called = answer(server.raw(Method::POST, &endpoint(&source)).json(&json!({}))).await;
    assert_eq!(called.status, 200, "{}", called.text);
    let list = format!("{path}/runs?status=succeeded");
    let queued =
        server.until("the run", &list, |l| l["page_info"]["total_count"] == 2).await["data"][0]
            .clone();
    assert_eq!(
        said(server, &queued).await,
        [one.clone(), json!(1), one.clone(), json!("first alpha")]
    );
    let failed = server.run_now(&source, json!({ "fails": true })).await;
    assert_eq!((&failed["status"], &failed["deployment_id"]), (&json!("failed"), &one));

    // Props are of a version as code is; a name is not.
    server.put(&path, &json!({ "configured_props": { "word": "beta" } })).await.data();
    server.put(&path, &json!({ "component_code": code("second") })).await.data();
    let renamed = server.put(&path, &json!({ "name": "Renamed" })).await.data();
    let list = deployments(server, &source, "").await;
    let (three, two) = (list[0]["id"].clone(), list[1]["id"].clone());
    assert_eq!(renamed["deployment_id"], three);
    let back = server.put(&path, &renamed).await.data();
    assert_eq!(back["deployment_id"], three, "a record that is written back is no other version");
    let now = server.run_now(&source, json!({})).await;
    assert_eq!(
        said(server, &now).await,
        [three.clone(), json!(3), three.clone(), json!("second beta")]
    );
    server.run_now(&source, json!({ "fails": true })).await;

    let replay = format!("/runs/{}/replay", id(&by_hand));
    let live = server.post(&replay, &json!({ "version": "live" })).await.data();
    assert_eq!((&live["return_value"], &live["deployment_id"]), (&json!("second beta"), &three));
    let original = server.post(&replay, &json!({ "version": "original" })).await.data();
    assert_eq!(
        said(server, &original).await,
        [one.clone(), json!(1), one.clone(), json!("first alpha")]
    );
    let asked = json!({ "runs": [queued["id"]], "version": "original" });
    let many = server.post("/replays", &asked).await;
    assert_eq!(many.status, 202, "{}", many.text);
    let replayed = format!("/replays/{}/runs", id(&many.json["data"]));
    let done = server
        .until("the replay ends", &replayed, |list| list["data"][0]["status"] == "succeeded")
        .await;
    let again = json!({ "id": done["data"][0]["run_id"] });
    assert_eq!(said(server, &again).await[3], "first alpha");

    let mut of_one = [&by_hand, &queued, &failed, &original, &again].map(|run| run["id"].clone());
    of_one.sort_by_key(Value::to_string);
    assert_eq!(runs_of(server, &one).await, of_one);
    assert_eq!(runs_of(server, &two).await, [] as [Value; 0]);
    let counts: Vec<_> = deployments(server, &source, "?runs=true")
        .await
        .iter()
        .map(|version| {
            let runs = &version["runs"];
            (runs["succeeded"].clone(), runs["failed"].clone(), runs["unfinished"].clone())
        })
        .collect();
    let of = |succeeded: u32, failed: u32| (json!(succeeded), json!(failed), json!(0));
    assert_eq!(counts, [of(2, 1), of(0, 0), of(4, 1)]);
    assert!(list[0].get("runs").is_none(), "only where they are asked for: {}", list[0]);

    let groups = server.get(&format!("{path}/error_groups")).await.json;
    let group = format!("/error_groups/{}", id(&groups["data"][0]));
    let versions: Vec<_> = server.get(&group).await.data()["versions"]
        .as_array()
        .expect("versions")
        .iter()
        .map(|seen| (seen["deployment_id"].clone(), seen["version"].clone(), seen["count"].clone()))
        .collect();
    assert_eq!(versions, [(three, json!(3), json!(1)), (one, json!(1), json!(1))]);
}

#[tokio::test]
async fn r2_24_runs_of_a_source_have_its_version_and_replays_run_it() {
    runs_and_replays_have_versions(&Server::shared().await).await;
}

#[tokio::test]
async fn r2_24_runs_of_a_source_have_its_version_on_postgres_too() {
    let Some(cluster) = cluster() else { return };
    let database = cluster.database().await;
    let server = Server::start_with(&["--database-url", &database.url()]).await;
    runs_and_replays_have_versions(&server).await;
}

#[tokio::test]
async fn r2_24_what_waits_for_a_source_runs_with_the_version_that_it_was_accepted_by() {
    let server = Server::shared().await;
    let gate = TcpListener::bind("127.0.0.1:0").await.expect("listens");
    let waits = |version: &str| {
        format!(
            "export default {{ name: 's', version: '1', props: {{ http: '$.interface.http', db: '$.service.db', url: 'string' }},
  async run(event) {{ if (event.body.waits) await fetch(this.url); return '{version}'; }} }};"
        )
    };
    let url = format!("http://{}/", gate.local_addr().expect("an address"));
    let source = server.source(&waits("first"), json!({ "url": url })).await;
    let send = async |event: Value| {
        let sent = answer(server.raw(Method::POST, &endpoint(&source)).json(&event)).await;
        assert_eq!(sent.status, 200, "{}", sent.text);
    };
    send(json!({ "waits": true })).await;
    let (mut called, _) = gate.accept().await.expect("the first run calls");
    send(json!({})).await;
    let path = format!("/sources/{}", id(&source));
    let waiting = server.get(&format!("{path}/runs?status=queued")).await.json;
    assert_eq!(waiting["page_info"]["total_count"], 1);
    server.put(&path, &json!({ "component_code": waits("second") })).await.data();
    send(json!({})).await;
    called
        .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        .await
        .expect("answers");
    let list = format!("{path}/runs?status=succeeded");
    let ended = server.until("all end", &list, |l| l["page_info"]["total_count"] == 3).await;
    let mut said_by_run = Vec::new();
    for run in ended["data"].as_array().expect("runs") {
        let [_, version, _, returned] = said(&server, run).await;
        said_by_run.push((version, returned));
    }
    let (first, second) = ((json!(1), json!("first")), (json!(2), json!("second")));
    assert_eq!(said_by_run, [second, first.clone(), first]);
}

#[tokio::test]
async fn r2_24_original_is_refused_where_no_version_is_recorded_of_a_run() {
    let server = Server::shared().await;
    let says = "export default defineComponent({ run() { return 1; } });";
    let workflow = server.workflow("w", json!([]), &[("says", says)]).await;
    let test =
        server.post(&format!("/workflows/{}/test", id(&workflow)), &json!({ "event": {} })).await;
    let test = test.data();
    assert_eq!((&test["kind"], &test["deployment_id"]), (&json!("test"), &Value::Null));
    let replay = format!("/runs/{}/replay", id(&test));
    let refused = server.post(&replay, &json!({ "version": "original" })).await;
    assert_eq!(
        (refused.refusal(), &refused.json["details"]["field"]),
        ((422, "invalid_field"), &json!("version")),
        "{}",
        refused.text
    );
    assert!(refused.text.contains(id(&test)), "it names the run: {}", refused.text);
    assert_eq!(server.post(&replay, &json!({})).await.status, 200);
}

#[tokio::test]
async fn r2_24_no_version_of_what_was_deleted_runs_again() {
    let server = Server::start().await;
    let body = json!({ "component_code": code("first"), "configured_props": { "word": "alpha" } });
    let source = server.post("/sources", &body).await.data();
    // A run of the queue is one whose version is looked up by its id, and kept in memory.
    assert_eq!(
        answer(server.raw(Method::POST, &endpoint(&source)).json(&json!({}))).await.status,
        200
    );
    let path = format!("/sources/{}", id(&source));
    let list = format!("{path}/runs?status=succeeded");
    let runs = server.until("the run", &list, |l| l["page_info"]["total_count"] == 1).await;
    server.delete(&path).await;
    let replay = server
        .post(&format!("/runs/{}/replay", id(&runs["data"][0])), &json!({ "version": "original" }))
        .await;
    assert_eq!(replay.status, 404, "{}", replay.text);
}

#[tokio::test]
async fn r2_24_what_a_kill_left_half_activated_has_a_version_with_the_next_change() {
    let mut server = Server::start().await;
    let gate = TcpListener::bind("127.0.0.1:0").await.expect("listens");
    let url = format!("http://{}/", gate.local_addr().expect("an address"));
    let says = |version: &str, hook: &str| {
        format!(
            "export default {{ name: 's', version: '1', props: {{ url: 'string' }}, hooks: {{ {hook} }},
  run() {{ return '{version}'; }} }};"
        )
    };
    let source = server.source(&says("first", ""), json!({ "url": url })).await;
    let path = format!("/sources/{}", id(&source));
    server.put(&path, &json!({ "active": false })).await.data();
    let second = says("second", "async activate() { await fetch(this.url).catch(() => {}); }");
    let change = json!({ "component_code": second, "active": true });
    // The change is dropped unanswered: the server ends while it activates.
    tokio::select! {
        answer = server.put(&path, &change) => panic!("answered: {}", answer.text),
        called = gate.accept() => { called.expect("the hook calls"); }
    }
    server.kill();
    drop(gate);
    server.launch().await;
    assert_eq!(deployments(&server, &source, "").await.len(), 1);
    let live = server.put(&path, &json!({ "active": true })).await.data();
    let listed = deployments(&server, &source, "").await;
    assert_eq!((listed.len(), &listed[0]["id"]), (2, &live["deployment_id"]));
    let run = server.run_now(&source, json!({})).await;
    assert_eq!(
        said(&server, &run).await,
        [listed[0]["id"].clone(), json!(2), listed[0]["id"].clone(), json!("second")]
    );
}
