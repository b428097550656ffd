//! Damaged files: never taken for whole, never written to, and a backup takes their place.

use std::os::unix::fs::FileExt as _;
use std::process::{Command, Stdio};

use millrace_tests::{Server, answer, binary, endpoint, id};
use reqwest::Method;
use serde_json::json;

use crate::storage::{SOURCE, ready, send, settled};

/// Starts a server that must refuse to, and gives what it said. Not a byte of its database may
/// change.
fn refused(server: &Server) -> String {
    let before = files(server);
    let said = refused_with(server, &[]);
    assert!(files(server) == before, "the database was written to");
    said
}

/// The database, its log and what says how far that has come.
fn files(server: &Server) -> [Option<Vec<u8>>; 3] {
    ["millrace.db", "millrace.db-wal", "millrace.db-open"]
        .map(|name| std::fs::read(server.data_dir().join(name)).ok())
}

fn refused_with(server: &Server, args: &[&str]) -> String {
    let mut command = Command::new(binary());
    command
        .args(["serve", "--listen", "127.0.0.1:0", "--data-dir"])
        .arg(server.data_dir())
        .args(args);
    let output = command.stdin(Stdio::null()).output().expect("starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    said
}

#[tokio::test]
async fn a_damaged_database_is_refused_and_says_what_to_do() {
    let mut server = Server::start().await;
    let source = server.source(SOURCE, json!({})).await;
    assert_eq!(
        answer(
            server
                .raw(Method::POST, &endpoint(&source))
                .json(&json!({ "n": 1, "amount": "precious" }))
        )
        .await
        .status,
        200
    );
    settled(&server, &source, 1).await;
    assert_eq!(server.terminate(), Some(0));
    let path = server.data_dir().join("millrace.db");
    let whole = std::fs::read(&path).expect("reads");

    let file = std::fs::File::options().write(true).open(&path).expect("opens");
    for page in (1..whole.len() as u64 / 4096).step_by(3) {
        file.write_all_at(&[0xAA; 512], page * 4096).expect("writes");
    }
    let said = refused(&server);
    assert!(
        said.contains("left it as it is")
            && said.contains("restore a backup")
            && said.contains("damaged"),
        "{said}"
    );
    std::fs::write(&path, &whole).expect("writes");
    let amount = whole.windows(8).position(|bytes| bytes == b"precious").expect("the event");
    file.write_all_at(b"previous", amount as u64).expect("writes");
    let said = refused(&server);
    assert!(
        said.contains(&format!("page {} is not as it was written", amount / 4096 + 1))
            && said.contains("restore a backup"),
        "{said}"
    );
    std::fs::write(&path, &whole[..whole.len() / 2]).expect("writes");
    assert!(refused(&server).contains("it was cut off"));
    // Nothing is made in its place.
    for empty in [true, false] {
        if empty { std::fs::write(&path, "") } else { std::fs::remove_file(&path) }
            .expect("changes");
        let said = refused(&server);
        assert!(
            said.contains("missing or empty") && said.contains("restore it from a backup"),
            "{said}"
        );
        assert_eq!(std::fs::metadata(&path).map_or(0, |file| file.len()), 0);
    }
    std::fs::write(&path, &whole).expect("writes");
    let key = server.data_dir().join("master.key");
    let kept = std::fs::read(&key).expect("reads");
    std::fs::remove_file(&key).expect("removes");
    assert!(refused(&server).contains("without it no stored secret can be read"));
    assert!(!key.exists());
    std::fs::write(&key, kept).expect("writes");
    server.launch().await;
    settled(&server, &source, 1).await;
}

/// Of a server that was killed, whatever a start is refused for.
#[tokio::test]
async fn a_refused_start_leaves_no_log_that_could_be_lost_unseen() {
    let mut server = Server::start().await;
    let source = server.source(SOURCE, json!({})).await;
    let url = endpoint(&source);
    for n in 0..5 {
        assert_eq!(send(&server, &url, n).await.status, 200);
    }
    server.kill();
    let key = server.data_dir().join("master.key");
    std::fs::rename(&key, key.with_extension("aside")).expect("puts it aside");
    assert!(refused(&server).contains("without it no stored secret can be read"));
    std::fs::rename(key.with_extension("aside"), &key).expect("puts it back");
    let before = files(&server);
    assert!(refused_with(&server, &["--metrics-listen", "192.0.2.1:1"]).contains("192.0.2.1:1"));
    assert!(files(&server) == before, "a port that cannot be had touched the database");
    for _ in 0..2 {
        let said = refused_with(&server, &["--node", "/nowhere/node"]);
        assert!(said.contains("/nowhere/node"), "{said}");
        let [_, log, open] = files(&server);
        assert!(log.is_none_or(|log| log.is_empty()) || open.is_some());
    }
    server.launch().await;
    settled(&server, &source, 5).await;
}

/// There is no log yet then, and none is missing.
#[tokio::test]
async fn a_kill_before_the_first_write_of_a_start_is_no_damage() {
    let mut server = Server::start().await;
    let source = server.source(SOURCE, json!({})).await;
    assert_eq!(send(&server, &endpoint(&source), 1).await.status, 200);
    settled(&server, &source, 1).await;
    assert_eq!(server.terminate(), Some(0));
    for _ in 0..3 {
        server.launch().await;
        // What it asks its database meanwhile changes nothing there.
        assert_eq!(ready(&server).await.status, 200);
        server.kill();
    }
    server.launch().await;
    settled(&server, &source, 1).await;
}

#[tokio::test]
async fn a_damaged_page_that_is_read_is_told_while_events_are_accepted() {
    let mut server = Server::start().await;
    let source = server.source(&SOURCE.replace("{ n: e.body.n }", "e.body"), json!({})).await;
    let url = endpoint(&source);
    // Larger than a page, so that it has some of its own.
    let event = json!({ "n": 1, "amount": format!("{}precious{}", "x".repeat(20_000), "x".repeat(20_000)) });
    assert_eq!(answer(server.raw(Method::POST, &url).json(&event)).await.status, 200);
    settled(&server, &source, 1).await;
    assert_eq!(server.terminate(), Some(0));
    server.launch().await;
    let path = server.data_dir().join("millrace.db");
    let file = std::fs::File::options().write(true).open(&path).expect("opens");
    let whole = std::fs::read(&path).expect("reads");
    let amounts: Vec<usize> = whole
        .windows(8)
        .enumerate()
        .filter(|(_, bytes)| *bytes == b"precious")
        .map(|(at, _)| at)
        .collect();
    assert!(!amounts.is_empty());
    for at in amounts {
        file.write_all_at(b"previous", at as u64).expect("writes");
    }
    assert_eq!(ready(&server).await.json, json!({ "status": "ready" }));

    // On a connection of its own, which has read nothing before.
    let export = server
        .raw(Method::GET, &format!("{}/v1/export?owner_id={}", server.url, id(&source)))
        .bearer_auth(&server.api_key);
    let read = match export.send().await {
        Ok(answer) => answer.text().await,
        Err(error) => Err(error),
    };
    assert!(read.is_err(), "it was read as if it were whole");
    let said = ready(&server).await;
    assert_eq!(
        (said.status, &said.json["status"], &said.json["code"]),
        (200, &json!("degraded"), &json!("storage_damaged")),
        "{said:?}"
    );
    assert!(said.text.contains("millrace doctor"), "{said:?}");
    assert_eq!(send(&server, &url, 2).await.status, 200);
    assert_eq!(server.terminate(), Some(0));
    assert!(refused(&server).contains("is not as it was written"));
}

/// What `docs/operate/durability.md` says is done about it.
#[tokio::test]
async fn a_damaged_database_is_replaced_by_its_backup_and_the_server_goes_on() {
    let mut server = Server::start().await;
    let source = server.source(SOURCE, json!({})).await;
    let url = endpoint(&source);
    assert_eq!(send(&server, &url, 1).await.status, 200);
    settled(&server, &source, 1).await;
    let (dir, data) = (tempfile::tempdir().expect("a folder"), server.data_dir());
    let backup = dir.path().join("backup");
    let local = |command: &str| {
        Command::new(binary())
            .arg(command)
            .arg(&backup)
            .arg("--data-dir")
            .arg(&data)
            .output()
            .expect("starts")
    };
    let made = local("backup");
    assert!(made.status.success(), "{made:?}");
    assert_eq!(server.terminate(), Some(0));
    let file = std::fs::File::options().write(true).open(data.join("millrace.db")).expect("opens");
    for page in (1..file.metadata().expect("reads").len() / 4096).step_by(3) {
        file.write_all_at(&[0xAA; 512], page * 4096).expect("writes");
    }
    assert!(refused(&server).contains("restore a backup"));
    std::fs::rename(&data, dir.path().join("damaged")).expect("puts it aside");
    let restored = local("restore");
    assert!(restored.status.success(), "{restored:?}");
    server.launch().await;
    settled(&server, &source, 1).await;
    assert_eq!(send(&server, &url, 2).await.status, 200);
    settled(&server, &source, 2).await;
}
