//! Files of artifacts on the disk of a server: those that nothing uses go, and come back when they
//! are needed.

use std::collections::BTreeSet;
use std::time::UNIX_EPOCH;

use millrace_tests::cluster::cluster;
use millrace_tests::{Server, id};
use serde_json::{Value, json};

const HOUR: i64 = 3_600_000;

/// What lies in the folder of artifacts.
fn files(server: &Server) -> BTreeSet<String> {
    let entries = std::fs::read_dir(server.data_dir().join("artifacts")).expect("artifacts");
    entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("text")).collect()
}

async fn until_gone(server: &Server, gone: &BTreeSet<String>) {
    server.until("files go", "/users/me", |_| files(server).is_disjoint(gone)).await;
}

/// A workflow whose code reads a file of its own.
async fn workflow(server: &Server, text: &str) -> Value {
    let code = format!(
        "import fs from 'node:fs'; export default defineComponent({{ run() {{ return '{text} ' + fs.readFileSync(new URL('./own.txt', import.meta.url), 'utf8'); }} }});"
    );
    let body = json!({
        "settings": { "name": text },
        "triggers": [],
        "steps": [{ "namespace": "step", "code": code, "code_files": { "own.txt": "is read" }, "code_entry": "step.mjs" }],
    });
    server.post("/workflows", &body).await.data()
}

async fn runs(server: &Server, workflow: &Value, expected: &str) {
    let path = format!("/workflows/{}/run", id(workflow));
    let run = server.post(&path, &json!({ "event": {}, "wait": true })).await.data();
    assert_eq!(run["steps"][0]["exports"]["$return_value"], expected, "{run}");
}

async fn unused_files_go(args: &[&str]) {
    // The age of a file counts from the time that the disk gave it.
    let written =
        tempfile::tempfile().and_then(|file| file.metadata()?.modified()).expect("a time");
    let now = written.duration_since(UNIX_EPOCH).expect("after 1970").as_millis();
    let now = i64::try_from(now).expect("fits");
    let mut server = Server::start_at(now, args).await;
    let kept = workflow(&server, "kept").await;
    runs(&server, &kept, "kept is read").await;
    let of_kept = files(&server);
    assert_eq!(of_kept.len(), 4, "{of_kept:?}");
    let deleted = workflow(&server, "deleted").await;
    runs(&server, &deleted, "deleted is read").await;
    server.delete(&format!("/workflows/{}", id(&deleted))).await;
    // Tried, and never stored.
    let action = "export default { name: 'a', key: 'tried', version: '1', type: 'action', run() { return 'tried'; } };";
    let tried = json!({ "component_code": action });
    let tried = server
        .post(
            &format!("/connect/{}/actions/run", kept["project_id"].as_str().expect("a project")),
            &tried,
        )
        .await;
    assert_eq!(tried.status, 200, "{}", tried.text);
    let others: BTreeSet<String> = files(&server).difference(&of_kept).cloned().collect();
    assert!(others.len() >= 4, "{others:?}");
    server.set_clock(now + 25 * HOUR);
    until_gone(&server, &others).await;
    // In memory, and so in use.
    assert_eq!(files(&server), of_kept);
    runs(&server, &kept, "kept is read").await;
    // After a restart nothing is, until it runs: then its files are written again.
    assert_eq!(server.terminate(), Some(0));
    server.set_clock(now + 51 * HOUR);
    server.launch().await;
    until_gone(&server, &of_kept).await;
    runs(&server, &kept, "kept is read").await;
    assert_eq!(files(&server), of_kept);
}

#[tokio::test]
async fn files_of_artifacts_that_nothing_uses_are_removed() {
    unused_files_go(&[]).await;
}

#[tokio::test]
async fn files_of_artifacts_that_nothing_uses_are_removed_on_postgres() {
    let Some(cluster) = cluster() else { return };
    let database = cluster.database().await;
    unused_files_go(&["--database-url", &database.url()]).await;
}

/// They take as long to load as the rest of a process.
#[tokio::test]
async fn a_process_loads_modules_for_https_only_for_code_that_may_use_them() {
    let server = Server::shared().await;
    let loaded = |more: &str| {
        format!(
            "{more} export default {{ name: 'l', version: '1', run() {{ return process.moduleLoadList.includes('NativeModule _tls_wrap'); }} }};"
        )
    };
    assert_eq!(server.returned(&loaded(""), json!({})).await, false);
    assert_eq!(server.returned(&loaded("import 'node:https';"), json!({})).await, true);
}
