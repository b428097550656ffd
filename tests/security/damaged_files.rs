//! Files of one owner's code that are damaged on the disk: its runs say so, and its emitter's go
//! on.

use std::fs;
use std::path::PathBuf;

use millrace_tests::cluster::cluster;
use millrace_tests::registry::{Registry, Release};
use millrace_tests::{Server, answer, endpoint, id};
use reqwest::Method;
use serde_json::{Value, json};

/// 2027-01-15 12:00 UTC.
const NOON: i64 = 1_800_014_400_000;
/// Longer than the lease of a run.
const LEASE_ENDS: i64 = 31_000;
const SOURCE: &str = "export default { name: 'orders', version: '1', props: { http: '$.interface.http' }, run(e) { this.$emit({ n: e.body.n }); } };";

/// A workflow that listens to a source, and whose code reads a file of its own.
async fn listener(server: &Server, source: &Value, text: &str) -> Value {
    let code = format!(
        "import fs from 'node:fs'; export default defineComponent({{ run() {{ return '{text} ' + fs.readFileSync(new URL('./own.txt', import.meta.url), 'utf8'); }} }});"
    );
    let body = json!({
        "settings": { "name": text, "error_notification": false },
        "triggers": [{ "type": "source", "id": id(source) }],
        "steps": [{ "namespace": "step", "code": code, "code_files": { "own.txt": "is read" }, "code_entry": "step.mjs" }],
    });
    server.post("/workflows", &body).await.data()
}

/// The lists of what lies beside the artifacts.
fn lists(server: &Server) -> Vec<PathBuf> {
    let files = fs::read_dir(server.data_dir().join("artifacts")).expect("artifacts");
    files
        .map(|file| file.expect("an entry").path())
        .filter(|path| path.to_string_lossy().ends_with(".beside.json"))
        .collect()
}

#[tokio::test]
async fn damaged_files_of_a_listener_fail_its_own_runs_and_not_those_of_its_emitter() {
    let mut server = Server::start().await;
    let source = server.source(SOURCE, json!({})).await;
    let whole = listener(&server, &source, "whole").await;
    let kept = lists(&server);
    let mut damaged = Vec::new();
    for text in ["garbled", "unreadable"] {
        let before = lists(&server);
        let made = listener(&server, &source, text).await;
        let new: Vec<_> = lists(&server).into_iter().filter(|l| !before.contains(l)).collect();
        assert!(!new.is_empty(), "{text}");
        damaged.push((made, new));
    }
    assert!(!kept.is_empty());
    assert_eq!(server.terminate(), Some(0));
    for (at, (_, lists)) in damaged.iter().enumerate() {
        for list in lists {
            fs::remove_file(list).expect("removes");
            match at {
                0 => fs::write(list, "[").expect("writes"),
                _ => fs::create_dir(list).expect("makes"),
            }
        }
    }
    server.launch().await;
    send(&server, &source).await;
    let emitted = one_run(&server, &format!("/sources/{}", id(&source)), "succeeded").await;
    assert_eq!(emitted["attempt"], 1, "{emitted}");
    let ran = one_run(&server, &format!("/workflows/{}", id(&whole)), "succeeded").await;
    assert_eq!(ran["steps"][0]["exports"]["$return_value"], "whole is read");
    for (workflow, _) in &damaged {
        let failed = one_run(&server, &format!("/workflows/{}", id(workflow)), "failed").await;
        let message = failed["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains("what lies beside an artifact is damaged"), "{failed}");
        assert!(!message.contains("/artifacts/"), "{message}");
    }
}

/// The only run of an owner that has a status.
async fn one_run(server: &Server, owner: &str, status: &str) -> Value {
    let path = format!("{owner}/runs?status={status}");
    let runs = server.until("its run", &path, |l| l["page_info"]["total_count"] == 1).await;
    runs["data"][0].clone()
}

async fn send(server: &Server, source: &Value) {
    let sent = server.raw(Method::POST, &endpoint(source)).json(&json!({ "n": 1 }));
    assert_eq!(answer(sent).await.status, 200);
}

/// A package that reads a file beside itself, so that it is installed and not bundled.
fn registry() -> Registry {
    const FILES: &[(&str, &[u8])] = &[
        (
            "index.js",
            b"module.exports = require('fs').readFileSync(__dirname + '/own.txt', 'utf8');",
        ),
        ("own.txt", b"is there again"),
    ];
    let manifest = json!({ "name": "reads-its-own", "version": "1.0.0" });
    Registry::of(&[Release { manifest, files: FILES }])
}

async fn packages_come_back(args: &[&str]) {
    let registry = registry();
    let args = [args, &["--npm-registry", &registry.url]].concat();
    let mut server = Server::start_at(NOON, &args).await;
    let source = server.source(SOURCE, json!({})).await;
    let whole = listener(&server, &source, "whole").await;
    let code = "import text from 'reads-its-own'; export default defineComponent({ run() { return text; } });";
    let triggers = json!([{ "type": "source", "id": id(&source) }]);
    let needs = server.workflow("needs", triggers, &[("step", code)]).await;
    assert_eq!(server.terminate(), Some(0));
    fs::remove_dir_all(server.data_dir().join("cache")).expect("removes");
    registry.holds();
    server.launch().await;
    send(&server, &source).await;
    let emitted = one_run(&server, &format!("/sources/{}", id(&source)), "succeeded").await;
    assert_eq!(emitted["attempt"], 1, "{emitted}");
    one_run(&server, &format!("/workflows/{}", id(&whole)), "succeeded").await;
    // Its packages are asked for by itself: its emitter and its neighbour have ended meanwhile.
    registry.until_held().await;
    registry.goes_away();
    server.until_log("it is tried again when its lease ends").await;
    one_run(&server, &format!("/workflows/{}", id(&needs)), "running").await;
    registry.comes_back();
    server.set_clock(NOON + LEASE_ENDS);
    let ran = one_run(&server, &format!("/workflows/{}", id(&needs)), "succeeded").await;
    assert_eq!(ran["steps"][0]["exports"]["$return_value"], "is there again", "{ran}");
    assert_eq!(ran["attempt"], 2, "{ran}");
}

#[tokio::test]
async fn a_run_whose_packages_cannot_be_had_is_tried_again_when_their_registry_is_back() {
    packages_come_back(&[]).await;
}

#[tokio::test]
async fn a_run_whose_packages_cannot_be_had_is_tried_again_on_postgres() {
    let Some(cluster) = cluster() else { return };
    let database = cluster.database().await;
    packages_come_back(&["--database-url", &database.url()]).await;
}

/// The files of an artifact by the text that its code has.
fn artifact_with(server: &Server, text: &str) -> PathBuf {
    let files = fs::read_dir(server.data_dir().join("artifacts")).expect("artifacts");
    let mut found = files.map(|file| file.expect("an entry").path()).filter(|path| {
        path.extension().is_some_and(|ending| ending == "mjs")
            && fs::read_to_string(path).expect("reads").contains(text)
    });
    let path = found.next().expect("an artifact");
    assert!(found.next().is_none(), "{text}");
    path
}

#[tokio::test]
async fn a_damaged_artifact_of_a_listener_fails_its_own_runs_and_an_absent_one_is_written_again() {
    let mut server = Server::start().await;
    let source = server.source(SOURCE, json!({})).await;
    let garbled = listener(&server, &source, "garbled").await;
    let absent = listener(&server, &source, "absent").await;
    assert_eq!(server.terminate(), Some(0));
    fs::write(artifact_with(&server, "garbled "), "export default {{").expect("writes");
    fs::remove_file(artifact_with(&server, "absent ")).expect("removes");
    server.launch().await;
    send(&server, &source).await;
    let emitted = one_run(&server, &format!("/sources/{}", id(&source)), "succeeded").await;
    assert_eq!(emitted["attempt"], 1, "{emitted}");
    let ran = one_run(&server, &format!("/workflows/{}", id(&absent)), "succeeded").await;
    assert_eq!(ran["steps"][0]["exports"]["$return_value"], "absent is read");
    let failed = one_run(&server, &format!("/workflows/{}", id(&garbled)), "failed").await;
    assert_eq!(failed["error"]["code"], "SyntaxError", "{failed}");
}

#[tokio::test]
async fn a_damaged_artifact_of_the_database_fails_the_runs_of_the_listener_on_postgres() {
    let Some(cluster) = cluster() else { return };
    let database = cluster.database().await;
    let mut server = Server::start_with(&["--database-url", &database.url()]).await;
    let source = server.source(SOURCE, json!({})).await;
    let whole = listener(&server, &source, "whole").await;
    let damaged = listener(&server, &source, "damaged").await;
    assert_eq!(server.terminate(), Some(0));
    let path = artifact_with(&server, "damaged ");
    fs::remove_file(&path).expect("removes");
    let artifact = path.file_stem().and_then(|stem| stem.to_str()).expect("an id");
    let damage = format!("UPDATE artifacts SET package_lock = '[' WHERE id = '{artifact}'");
    database.client().await.batch_execute(&damage).await.expect("damages");
    server.launch().await;
    send(&server, &source).await;
    let emitted = one_run(&server, &format!("/sources/{}", id(&source)), "succeeded").await;
    assert_eq!(emitted["attempt"], 1, "{emitted}");
    one_run(&server, &format!("/workflows/{}", id(&whole)), "succeeded").await;
    let failed = one_run(&server, &format!("/workflows/{}", id(&damaged)), "failed").await;
    let message = failed["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("the package lock of an artifact is damaged"), "{failed}");
}
