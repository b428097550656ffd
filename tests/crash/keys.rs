//! Keys in files and secrets in the database that they open, when the process ends between the
//! writes of the two.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use millrace_tests::cluster::cluster;
use millrace_tests::{FAIL_POINTS, Server, binary, id};
use serde_json::json;

/// A server that ended by itself starts again, with nothing that makes it fail.
async fn goes_on(server: &mut Server) {
    assert!(server.until_ended(Duration::from_secs(60)).await, "it goes on: {}", server.log());
    server.set_env(FAIL_POINTS, "");
    server.launch().await;
}

async fn with_account(server: &Server) -> String {
    server
        .post("/apps", &json!({ "name_slug": "acme", "custom_fields": [{ "name": "k" }] }))
        .await
        .data();
    id(&server
        .post("/accounts", &json!({ "app": "acme", "credentials": { "k": "s3cret-value" } }))
        .await
        .data())
    .to_owned()
}

async fn opens(server: &Server, account: &str) {
    let shown = server.get(&format!("/accounts/{account}?include_credentials=true")).await.data();
    assert_eq!(shown["credentials"]["k"], "s3cret-value");
}

#[tokio::test]
async fn a_first_start_that_ends_around_its_commit_leaves_a_key_that_works() {
    for when in ["before", "after"] {
        let mut server = Server::failing(&[]);
        server.set_env(FAIL_POINTS, &format!("store.bootstrap.{when}_commit=exit"));
        server.begin();
        goes_on(&mut server).await;
        // The key opens, and it is that of the only organization there is.
        let me = server.get("/users/me").await.data();
        assert_eq!(
            (&me["orgs"][0]["id"], me["orgs"].as_array().map(Vec::len)),
            (&json!(server.org_id), Some(1)),
            "{when}: {me}"
        );
        let names = std::fs::read_dir(server.data_dir())
            .expect("reads")
            .map(|entry| entry.expect("an entry").file_name());
        assert!(
            names
                .into_iter()
                .all(|name| name.to_str().is_some_and(|name| !name.ends_with(".next"))),
            "{when}"
        );
    }
}

/// The database may be under a new master key and not have said so: then the file beside the old
/// one is the only copy of it.
#[tokio::test]
async fn a_second_change_of_the_master_key_keeps_what_the_first_left_unfinished() {
    let mut server = Server::failing(&[]);
    server.set_env(
        FAIL_POINTS,
        "store.rewrap.after_commit=error@1;store.rewrap.before_commit=exit@2",
    );
    server.launch().await;
    let account = with_account(&server).await;
    assert!(server.post("/master_key/rotate", &json!({})).await.status >= 500);
    opens(&server, &account).await;
    // Nobody hears an answer of this one.
    let second = server
        .raw(reqwest::Method::POST, "/v1/master_key/rotate")
        .bearer_auth(&server.api_key)
        .json(&json!({}))
        .send()
        .await;
    assert!(second.is_err(), "{second:?}");
    goes_on(&mut server).await;
    opens(&server, &account).await;
    server.post("/master_key/rotate", &json!({})).await.data();
    opens(&server, &account).await;
}

/// Its status, and what it said. Files end after so many blocks of 512 bytes: then the kernel ends
/// the process, as `kill -9` would.
fn millrace(blocks: &str, args: &[&str], paths: &[&Path]) -> (Option<i32>, String) {
    let mut command = Command::new("sh");
    command
        .args(["-c", "ulimit -f \"$0\" && exec \"$@\"", blocks])
        .arg(binary())
        .args(args)
        .args(paths);
    let output = command.output().expect("starts");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[tokio::test]
async fn a_restore_that_was_broken_off_is_no_data_directory_until_it_is_repeated() {
    let mut server = Server::start().await;
    let account = with_account(&server).await;
    let dir = tempfile::tempdir().expect("a folder");
    let (backup, data) = (dir.path().join("backup"), server.data_dir());
    let (status, said) = millrace("unlimited", &["backup", "--data-dir"], &[&data, &backup]);
    assert_eq!(status, Some(0), "{said}");
    server.kill();
    std::fs::rename(&data, dir.path().join("lost")).expect("loses the data");
    let (status, said) = millrace("8", &["restore", "--data-dir"], &[&data, &backup]);
    assert!(
        status.is_none() && data.join("master.key").exists() && !data.join("millrace.db").exists(),
        "{said}"
    );
    let (status, said) =
        millrace("unlimited", &["serve", "--listen", "127.0.0.1:0", "--data-dir"], &[&data]);
    assert!(
        status == Some(1)
            && said.contains("was broken off")
            && said.contains("millrace restore BACKUP"),
        "{said}"
    );
    assert!(!data.join("millrace.db").exists(), "a new one in its place");
    let (status, said) = millrace("unlimited", &["restore", "--data-dir"], &[&data, &backup]);
    assert!(status == Some(0) && said.contains("begins anew"), "{said}");
    server.launch().await;
    opens(&server, &account).await;
}

/// The master key is changed before and after the copy is made, so that neither the one before nor
/// the one after opens it.
#[tokio::test]
async fn a_backup_holds_the_key_of_its_copy_however_often_it_is_changed_meanwhile() {
    use std::os::unix::fs::PermissionsExt as _;
    let Some(cluster) = cluster() else { return };
    let (database, empty) = (cluster.database().await, cluster.database().await);
    let mut server = Server::start_with(&["--database-url", &database.url()]).await;
    let account = with_account(&server).await;
    let dir = tempfile::tempdir().expect("a folder");
    let (backup, tools, data) =
        (dir.path().join("backup"), dir.path().join("tools"), server.data_dir());
    std::fs::create_dir(&tools).expect("a folder");
    let rotate = format!(
        "'{}' keys rotate --master-key --url {} --api-key {}",
        binary().display(),
        server.url,
        server.api_key
    );
    let script = format!(
        "#!/bin/sh\nfor there in /usr/lib/postgresql/*/bin/pg_dump; do real=$there; done\nif mkdir '{}/once'; then {rotate} && \"$real\" \"$@\" && {rotate}; else exec \"$real\" \"$@\"; fi\n",
        dir.path().display()
    );
    std::fs::write(tools.join("pg_dump"), script).expect("writes");
    std::fs::set_permissions(tools.join("pg_dump"), std::fs::Permissions::from_mode(0o755))
        .expect("makes it a program");
    let run = |args: &[&str], paths: &[&Path]| {
        let output = Command::new(binary()).args(args).args(paths).output().expect("starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    let bin = tools.to_str().expect("UTF-8");
    run(
        &["backup", "--database-url", &database.url(), "--pg-bin", bin, "--data-dir"],
        &[&data, &backup],
    );
    assert!(dir.path().join("once").exists(), "the key was never changed");
    server.kill();
    std::fs::rename(&data, dir.path().join("lost")).expect("loses the data");
    run(&["restore", "--database-url", &empty.url(), "--data-dir"], &[&data, &backup]);
    server.set_args(&["--database-url", &empty.url()]);
    server.launch().await;
    opens(&server, &account).await;
}
