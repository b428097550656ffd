//! The master key: changed without a pause, and found again wherever it is kept.

use std::process::Command;

use millrace_tests::{Client, Server, answer, binary, endpoint};
use reqwest::Method;
use serde_json::{Value, json};

use crate::settings::refused;

const SOURCE: &str =
    "export default { name: 's', version: '1', props: { http: { type: '$.interface.http', customResponse: true }, word: { type: 'string', secret: true } },
  run() { this.http.respond({ status: 200, body: this.word }); } };";

/// The command line against the server.
fn millrace(server: &Client, key: &str, args: &[&str]) -> (Option<i32>, Value, String) {
    let output = Command::new(binary())
        .arg("--json")
        .args(args)
        .env("MILLRACE_URL", &server.url)
        .env("MILLRACE_API_KEY", key)
        .output()
        .expect("starts");
    let json = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    (output.status.code(), json, String::from_utf8_lossy(&output.stderr).into_owned())
}

#[tokio::test]
async fn keys_rotate_puts_another_master_key_in_the_place_of_the_one_of_now_without_a_pause() {
    let mut server = Server::start().await;
    let account = server
        .post("/accounts", &json!({ "app": "stripe", "credentials": { "api_key": "sk_1" } }))
        .await
        .data();
    let source = server.source(SOURCE, json!({ "word": "s3cret" })).await;
    let url = endpoint(&source);
    let path = server.data_dir().join("master.key");
    let before = std::fs::read(&path).expect("a key");
    let (status, rotated, stderr) =
        millrace(&server, &server.api_key, &["keys", "rotate", "--master-key"]);
    assert_eq!(status, Some(0), "{stderr}");
    let id = rotated["master_key_id"].as_str().expect("an id").to_owned();
    let after = std::fs::read(&path).expect("a key");
    assert_ne!(before, after);
    assert!(!server.data_dir().join("master.key.next").exists());
    // Secrets work at once, old and new ones, and after the next start.
    for _ in 0..2 {
        assert_eq!(answer(server.raw(Method::GET, &url)).await.text, "s3cret");
        let shown = server
            .get(&format!(
                "/accounts/{}?include_credentials=1",
                account["id"].as_str().expect("an id")
            ))
            .await
            .data();
        assert_eq!(shown["credentials"], json!({ "api_key": "sk_1" }));
        server.source(SOURCE, json!({ "word": "another" })).await;
        assert_eq!(server.terminate(), Some(0));
        server.launch().await;
    }
    server.terminate();
    // The key of before opens nothing any more, and the server says whose it is.
    std::fs::write(&path, &before).expect("writes");
    let words = refused(&server.data_dir(), &[], &[]);
    assert!(
        words.contains("the master key is not the one of this database") && words.contains(&id),
        "{words}"
    );
    let asked = Command::new(binary())
        .args(["doctor", "--listen", "127.0.0.1:0", "--data-dir"])
        .arg(server.data_dir())
        .output()
        .expect("starts");
    let words = String::from_utf8_lossy(&asked.stdout);
    assert!(
        asked.status.code() == Some(1)
            && words.contains("kept under the master key with the id")
            && words.contains(&id),
        "{words}"
    );
    std::fs::write(&path, b"short").expect("writes");
    assert!(refused(&server.data_dir(), &[], &[]).contains("is no master key"));
    // A change that was broken off after the database had it ends at the start.
    std::fs::write(&path, &before).expect("writes");
    std::fs::write(server.data_dir().join("master.key.next"), &after).expect("writes");
    server.launch().await;
    assert_eq!(std::fs::read(&path).expect("a key"), after);
    assert_eq!(answer(server.raw(Method::GET, &url)).await.text, "s3cret");
}

#[tokio::test]
async fn only_the_organization_that_was_made_first_changes_the_master_key() {
    let server = Server::shared().await;
    let other = server
        .post("/workspaces", &json!({ "name": "other", "email": "o@example.test" }))
        .await
        .data();
    let key = other["api_key"].as_str().expect("a key");
    assert_eq!(
        server.call_as(key, Method::POST, "/master_key/rotate", Some(&json!({}))).await.refusal(),
        (403, "forbidden")
    );
    let reader =
        server.post("/api_keys", &json!({ "name": "reads", "scopes": "read" })).await.data();
    let (status, _, stderr) = millrace(
        &server,
        reader["key"].as_str().expect("a key"),
        &["keys", "rotate", "--master-key"],
    );
    assert!(status == Some(1) && stderr.contains("`full`"), "{stderr}");
    // With an id it is still an API key's.
    let id = reader["id"].as_str().expect("an id");
    assert_ne!(millrace(&server, &server.api_key, &["keys", "rotate", id]).1["key"], reader["key"]);
}

#[tokio::test]
async fn the_master_key_comes_from_a_file_the_environment_or_a_command() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("key");
    std::fs::write(&file, format!("{}\n", "0b".repeat(32))).expect("writes");
    let command = format!("cat '{}'", file.display());
    let mut server = Server::start_with(&["--master-key-command", &command]).await;
    assert!(!server.data_dir().join("master.key").exists());
    let source = server.source(SOURCE, json!({ "word": "s3cret" })).await;
    // The command still gives the key of now: there is none to change to.
    assert_eq!(
        server.post("/master_key/rotate", &json!({})).await.refusal(),
        (409, "no_other_master_key")
    );
    std::fs::write(&file, "0c".repeat(32)).expect("writes");
    server.post("/master_key/rotate", &json!({})).await.data();
    assert_eq!(answer(server.raw(Method::GET, &endpoint(&source))).await.text, "s3cret");
    server.terminate();
    server.launch().await;
    assert_eq!(answer(server.raw(Method::GET, &endpoint(&source))).await.text, "s3cret");
    server.terminate();
    let dir = server.data_dir();
    let (wrong, right) = ("0d".repeat(32), "0c".repeat(32));
    let words = refused(&dir, &[], &[("MILLRACE_MASTER_KEY", &wrong)]);
    assert!(
        words.contains("is not the one of this database") && !words.contains(&wrong),
        "{words}"
    );
    assert!(refused(&dir, &["--master-key-command", "false"], &[]).contains("gave no key"));
    assert!(
        refused(&dir, &["--master-key-command", "true"], &[("MILLRACE_MASTER_KEY", &right)])
            .contains("only one can be given")
    );
    assert!(
        refused(&dir, &[], &[("MILLRACE_MASTER_KEY_OLD", &right)])
            .contains("master_key_old belongs to master_key")
    );
}

#[tokio::test]
async fn a_start_with_the_old_key_beside_the_new_changes_it() {
    let (old, new) = ("0b".repeat(32), "0c".repeat(32));
    let mut server = Server::start_with(&["--master-key", &old]).await;
    let source = server.source(SOURCE, json!({ "word": "s3cret" })).await;
    assert_eq!(
        server.post("/master_key/rotate", &json!({})).await.refusal(),
        (409, "no_other_master_key")
    );
    server.terminate();
    for args in [vec!["--master-key", &new, "--master-key-old", &old], vec!["--master-key", &new]] {
        server.set_args(&args);
        server.launch().await;
        assert_eq!(answer(server.raw(Method::GET, &endpoint(&source))).await.text, "s3cret");
        server.terminate();
    }
}

#[tokio::test]
async fn a_backup_is_restored_with_its_own_master_key_only() {
    let mut server = Server::start().await;
    server
        .post("/accounts", &json!({ "app": "stripe", "credentials": { "api_key": "sk_1" } }))
        .await
        .data();
    server.terminate();
    let dir = tempfile::tempdir().expect("a folder");
    let (backup, wrong, restored) =
        (dir.path().join("backup"), dir.path().join("wrong"), dir.path().join("restored"));
    std::fs::write(&wrong, [7; 32]).expect("writes");
    let run = |command: &mut Command| {
        let output = command.output().expect("starts");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (status, said) = run(Command::new(binary())
        .args(["backup", "--without-keys", "--data-dir"])
        .arg(server.data_dir())
        .arg(&backup));
    assert_eq!(status, Some(0), "{said}");
    let restore = |key: &std::path::Path| {
        run(Command::new(binary())
            .arg("restore")
            .arg(&backup)
            .arg("--data-dir")
            .arg(&restored)
            .arg("--master-key")
            .arg(key))
    };
    let (status, said) = restore(&wrong);
    assert!(status == Some(1) && said.contains("has the id") && !restored.exists(), "{said}");
    let (status, said) = restore(&server.data_dir().join("master.key"));
    assert_eq!(status, Some(0), "{said}");
}
