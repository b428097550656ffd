//! A disk that is full, slow or away: clear answers, nothing lost, and the server goes on by itself
//! where it can.

use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use millrace_tests::cluster::{Cluster, cluster};
use millrace_tests::{Answer, FAIL_POINTS, Server, answer, endpoint};
use reqwest::Method;
use serde_json::{Value, json};

pub const SOURCE: &str = "export default { name: 'one', version: '1', props: { http: '$.interface.http' }, run(e) { this.$emit({ n: e.body.n }); } };";

pub async fn ready(server: &Server) -> Answer {
    answer(server.raw(Method::GET, "/readyz")).await
}

/// Waits until `/readyz` says it.
async fn until_ready_says(server: &Server, status: &str, code: &Value) -> Answer {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let said = ready(server).await;
        if said.json["status"] == status && said.json["code"] == *code {
            return said;
        }
        assert!(Instant::now() < deadline, "{} where it should say {status} {code}", said.text);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

pub async fn send(server: &Server, url: &str, n: u64) -> Answer {
    answer(server.raw(Method::POST, url).json(&json!({ "n": n }))).await
}

pub async fn settled(server: &Server, source: &Value, count: usize) {
    let path = format!("/sources/{}/runs?status=succeeded", source["id"].as_str().expect("an id"));
    server
        .until("all that was acknowledged", &path, |l| l["page_info"]["total_count"] == count)
        .await;
}

#[tokio::test]
async fn a_full_disk_is_told_and_the_server_goes_on_once_there_is_room() {
    let mut server = Server::failing(&[]);
    server.launch().await;
    let source = server.source(SOURCE, json!({})).await;
    let url = endpoint(&source);
    server.kill();
    // From the third commit on there is no room, until the fortieth.
    server.set_env(FAIL_POINTS, "store.commit=full@6-40");
    server.launch().await;
    let (mut acknowledged, mut refused) = (0, 0);
    while refused < 5 {
        let said = send(&server, &url, 1).await;
        match said.status {
            200 => acknowledged += 1,
            status => {
                assert_eq!(
                    (status, said.json["code"].as_str()),
                    (507, Some("storage_full")),
                    "{}",
                    said.text
                );
                assert!(
                    said.json["error"]
                        .as_str()
                        .is_some_and(|e| e.contains("once its operator has made room")),
                    "{}",
                    said.text
                );
                refused += 1;
            }
        }
    }
    let said = until_ready_says(&server, "not ready", &json!("storage_full")).await;
    assert_eq!(said.status, 503);
    assert!(said.json["error"].as_str().is_some_and(|e| e.contains("some space")), "{}", said.text);
    // What is asked of the API is refused in the same way, and what was is still read.
    let refusal = server.post("/data_stores", &json!({ "name": "d" })).await;
    if refusal.status != 200 {
        assert_eq!(refusal.refusal(), (507, "storage_full"));
    }
    assert_eq!(server.get("/sources").await.status, 200);
    // Each look at `/readyz` tries a small write: room is found without anybody else's.
    assert_eq!(until_ready_says(&server, "ready", &Value::Null).await.status, 200);
    assert_eq!(send(&server, &url, 2).await.status, 200);
    settled(&server, &source, acknowledged + 1).await;
    assert!(server.log().contains("takes writes again"), "{}", server.log());
}

/// Needs a file system of its own, so root.
#[tokio::test]
async fn a_file_system_without_room_loses_nothing() {
    let mut server = Server::new_at_rest(&["--egress-allow", "127.0.0.0/8"]);
    let Some(disk) = Mount::at(&server.data_dir(), 6) else { return };
    server.launch().await;
    let source = server.source(SOURCE, json!({})).await;
    let url = endpoint(&source);
    let large = "x".repeat(60_000);
    let (mut acknowledged, mut refused) = (0, 0);
    while refused < 10 {
        assert!(acknowledged < 1_000, "6 MiB never were full");
        let said = answer(
            server.raw(Method::POST, &url).json(&json!({ "n": acknowledged, "large": large })),
        )
        .await;
        match said.status {
            200 => acknowledged += 1,
            status => {
                assert_eq!(
                    (status, said.json["code"].as_str()),
                    (507, Some("storage_full")),
                    "{}",
                    said.text
                );
                refused += 1;
            }
        }
    }
    // The same server finds the room that it is given, and has lost nothing; nor has one that is
    // killed and started again.
    disk.resize(1_024);
    until_ready_says(&server, "ready", &Value::Null).await;
    assert_eq!(send(&server, &url, 1).await.status, 200);
    settled(&server, &source, acknowledged + 1).await;
    server.kill();
    server.launch().await;
    settled(&server, &source, acknowledged + 1).await;
    server.kill();
}

/// Small events fit where large ones no longer do: the room is told before there is none, whatever
/// the database is.
#[tokio::test]
async fn little_room_on_the_disk_is_told_while_events_are_accepted() {
    let database = match cluster() {
        Some(cluster) => Some(cluster.database().await),
        None => None,
    };
    let on_postgres = database.iter().map(|database| Some(database.url()));
    for url in std::iter::once(None).chain(on_postgres) {
        let args = url.as_ref().map(|url| ["--database-url", url]);
        let mut server = Server::new_at_rest(args.as_ref().map_or(&[], |args| &args[..]));
        let Some(disk) = Mount::at(&server.data_dir(), 64) else { return };
        server.launch().await;
        let said = ready(&server).await;
        assert_eq!(
            (said.status, &said.json["status"], &said.json["code"]),
            (200, &json!("degraded"), &json!("storage_low")),
            "{}",
            said.text
        );
        assert!(
            said.json["error"]
                .as_str()
                .is_some_and(|e| e.contains(" MiB are free") && e.contains("free some space")),
            "{}",
            said.text
        );
        assert_eq!(server.post("/data_stores", &json!({ "name": "d" })).await.status, 200);
        let free = async || {
            let text =
                answer(server.raw(Method::GET, "/metrics").bearer_auth(&server.api_key)).await.text;
            text.lines()
                .find_map(|line| {
                    line.strip_prefix("millrace_data_dir_free_bytes ")?.parse::<u64>().ok()
                })
                .expect("a gauge")
        };
        assert!((1..64 << 20).contains(&free().await));
        disk.resize(1_024);
        let said = ready(&server).await;
        assert_eq!((said.status, &said.json), (200, &json!({ "status": "ready" })));
        assert!((960 << 20..1_024 << 20).contains(&free().await));
        server.kill();
    }
}

/// Postgres goes on to write into pages that it has where there is no room for another one: that
/// small writes are stored tells nothing of events.
#[tokio::test]
async fn a_postgres_without_room_is_told_until_there_is_some() {
    let Some(cluster) = Cluster::own() else { return };
    let database = cluster.database().await;
    let folder = tempfile::tempdir().expect("a folder");
    let small = folder.path().join("small");
    let Some(disk) = Mount::at(&small, 64) else { return };
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755))
        .expect("lets Postgres in");
    let owner = std::fs::metadata(database.socket()).expect("a socket");
    chown(&small, Some(owner.uid()), Some(owner.gid())).expect("gives it to Postgres");
    for sql in [
        format!("CREATE TABLESPACE small LOCATION '{}'", small.display()),
        "CREATE DATABASE on_small TABLESPACE small".into(),
    ] {
        database.client().await.batch_execute(&sql).await.expect("makes");
    }
    let server = Server::start_with(&[
        "--database-url",
        &database.url().replace(database.name(), "on_small"),
    ])
    .await;
    let source = server.source(SOURCE, json!({})).await;
    let url = endpoint(&source);
    assert_eq!(send(&server, &url, 1).await.status, 200);
    settled(&server, &source, 1).await;
    assert_eq!(ready(&server).await.status, 200);

    let ballast = small.join("ballast");
    let mut file = std::fs::File::create(&ballast).expect("makes");
    for size in [1 << 20, 4096] {
        while file.write_all(&vec![0; size]).is_ok() {}
    }
    drop(file);
    // Nobody sends anything: it is found by those who look.
    let said = until_ready_says(&server, "not ready", &json!("storage_full")).await;
    assert_eq!(said.status, 503);
    let (mut acknowledged, mut refused) = (1, 0);
    while refused < 5 {
        // Nothing that can be compressed.
        let large: String = (1..800_u64)
            .map(|k| {
                format!(
                    "{:x}",
                    (k * 7919 + acknowledged as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
                )
            })
            .collect();
        let said = answer(
            server.raw(Method::POST, &url).json(&json!({ "n": acknowledged, "large": large })),
        )
        .await;
        match said.status {
            200 => acknowledged += 1,
            _ => {
                assert_eq!(said.refusal(), (507, "storage_full"), "{}", said.text);
                refused += 1;
            }
        }
        let said = ready(&server).await;
        assert_eq!(
            (said.status, &said.json["code"]),
            (503, &json!("storage_full")),
            "{}",
            said.text
        );
        assert!(acknowledged < 2_000, "the disk never was full");
    }
    std::fs::remove_file(ballast).expect("makes room");
    until_ready_says(&server, "ready", &Value::Null).await;
    assert_eq!(send(&server, &url, 1).await.status, 200);
    settled(&server, &source, acknowledged + 1).await;
    assert!(server.log().contains("takes writes again"), "{}", server.log());
    drop(server);
    drop(disk);
}

#[tokio::test]
async fn a_database_that_is_removed_under_the_server_takes_nothing_until_it_is_back() {
    let server = Server::start().await;
    let source = server.source(SOURCE, json!({})).await;
    let url = endpoint(&source);
    let (file, elsewhere) =
        (server.data_dir().join("millrace.db"), server.data_dir().join("moved"));
    std::fs::rename(&file, &elsewhere).expect("takes it away");
    assert_eq!(send(&server, &url, 1).await.refusal(), (503, "database_unavailable"));
    assert_eq!(ready(&server).await.json["code"], "database_unavailable");
    // Nor where another is in its place.
    std::fs::write(&file, "").expect("writes");
    assert_eq!(send(&server, &url, 2).await.refusal(), (503, "database_unavailable"));
    std::fs::rename(&elsewhere, &file).expect("puts it back");
    until_ready_says(&server, "ready", &Value::Null).await;
    assert_eq!(send(&server, &url, 3).await.status, 200);
    settled(&server, &source, 1).await;
}

/// What is behind the part that was cut off a log is never read again.
#[tokio::test]
async fn a_log_that_is_cut_under_the_server_takes_nothing_until_it_is_back() {
    let server = Server::start().await;
    let source = server.source(SOURCE, json!({})).await;
    let url = endpoint(&source);
    assert_eq!(send(&server, &url, 1).await.status, 200);
    settled(&server, &source, 1).await;
    let log = server.data_dir().join("millrace.db-wal");
    let whole = std::fs::read(&log).expect("reads");
    for rest in [whole.len() / 2, 0] {
        std::fs::File::options()
            .write(true)
            .open(&log)
            .and_then(|log| log.set_len(rest as u64))
            .expect("cuts");
        assert_eq!(send(&server, &url, 2).await.refusal(), (503, "database_unavailable"));
        assert_eq!(ready(&server).await.json["code"], "database_unavailable");
    }
    assert!(server.log().contains("were written; put it back as it was"), "{}", server.log());
    // What was read of it meanwhile was found to be damaged, which is told until the next start.
    std::fs::write(&log, whole).expect("puts it back");
    assert_eq!(send(&server, &url, 3).await.status, 200);
    settled(&server, &source, 2).await;
}

/// A file that may not be larger, as one whose owner's quota is used up, has no more room than a
/// full disk.
#[tokio::test]
async fn a_file_that_may_not_grow_is_told_as_a_full_disk() {
    let server = Server::start().await;
    let source = server.source(SOURCE, json!({})).await;
    let url = endpoint(&source);
    let pid = server.pid().to_string();
    let may_grow_to = |bytes: &str| {
        let done = Command::new("prlimit")
            .args(["--pid", &pid, &format!("--fsize={bytes}:unlimited")])
            .status()
            .expect("prlimit");
        assert!(done.success());
    };
    let log = std::fs::metadata(server.data_dir().join("millrace.db-wal")).expect("a log");
    may_grow_to(&log.len().to_string());
    let large = "x".repeat(60_000);
    let (mut acknowledged, mut refused) = (0, 0);
    while refused < 5 {
        assert!(acknowledged < 1_000, "it never was full");
        let said = answer(
            server.raw(Method::POST, &url).json(&json!({ "n": acknowledged, "large": large })),
        )
        .await;
        match said.status {
            200 => acknowledged += 1,
            _ => {
                assert_eq!(said.refusal(), (507, "storage_full"), "{}", said.text);
                refused += 1;
            }
        }
    }
    until_ready_says(&server, "not ready", &json!("storage_full")).await;
    may_grow_to("unlimited");
    until_ready_says(&server, "ready", &Value::Null).await;
    assert_eq!(send(&server, &url, 1).await.status, 200);
    settled(&server, &source, acknowledged + 1).await;
}

/// A standby that was promoted elsewhere, or an operator, makes a Postgres read-only under its
/// clients.
#[tokio::test]
async fn a_postgres_that_takes_no_writes_is_told_until_it_does() {
    let Some(cluster) = Cluster::own() else { return };
    let database = cluster.database().await;
    let server = Server::start_with(&["--database-url", &database.url()]).await;
    let source = server.source(SOURCE, json!({})).await;
    let url = endpoint(&source);
    let client = database.client().await;
    for sql in [
        "SET default_transaction_read_only = off",
        "ALTER SYSTEM SET default_transaction_read_only = on",
        "SELECT pg_reload_conf()",
    ] {
        client.batch_execute(sql).await.expect("sets");
    }
    let said = until_ready_says(&server, "not ready", &json!("database_unavailable")).await;
    assert_eq!(said.status, 503);
    assert_eq!(send(&server, &url, 1).await.refusal(), (503, "database_unavailable"));
    assert_eq!(server.get("/sources").await.status, 200);
    for sql in ["ALTER SYSTEM RESET default_transaction_read_only", "SELECT pg_reload_conf()"] {
        client.batch_execute(sql).await.expect("resets");
    }
    until_ready_says(&server, "ready", &Value::Null).await;
    assert_eq!(send(&server, &url, 2).await.status, 200);
    settled(&server, &source, 1).await;
}

/// What was accepted waits for its process: that there is no room for one is no fault of the code.
#[tokio::test]
async fn an_event_waits_where_there_is_no_room_for_a_process() {
    let mut server = Server::new_at_rest(&["--egress-allow", "127.0.0.0/8"]);
    let hosts = server.data_dir().join("hosts");
    let Some(_disk) = Mount::at(&hosts, 24) else { return };
    server.launch().await;
    let source = server.source(SOURCE, json!({})).await;
    let url = endpoint(&source);
    server.kill();
    // Its process is gone; those that wait for code have none.
    server.launch().await;
    let ballast = hosts.join("ballast");
    let mut file = std::fs::File::create(&ballast).expect("a file");
    while file.write_all(&[0; 4096]).is_ok() {}
    assert_eq!(send(&server, &url, 1).await.status, 200);
    server.until_log("no process can be started for it").await;
    // What a process of before left behind may have been removed meanwhile.
    while file.write_all(&[0; 4096]).is_ok() {}
    let refused =
        server.post("/sources", &json!({ "component_code": SOURCE.replace("one", "two") })).await;
    assert_eq!(refused.refusal(), (503, "no_process"), "{}", refused.text);
    assert_eq!(
        server
            .get(&format!("/sources/{}/runs?status=failed", source["id"].as_str().expect("an id")))
            .await
            .json["page_info"]["total_count"],
        0
    );
    std::fs::remove_file(&ballast).expect("makes room");
    settled(&server, &source, 1).await;
    server.source(&SOURCE.replace("one", "two"), json!({})).await;
    server.kill();
}

/// Whatever there is no room for, of all that a start makes until it has tried the walls: they are
/// not to blame.
#[tokio::test]
async fn a_start_on_a_full_disk_says_so_and_blames_no_wall() {
    let mut server = Server::new_at_rest(&["--egress-allow", "127.0.0.0/8"]);
    let data = server.data_dir();
    let Some(mount) = Mount::at(&data, 64) else { return };
    server.launch().await;
    assert_eq!(server.terminate(), Some(0));
    let used =
        || rustix::fs::statvfs(&data).map(|found| found.f_files - found.f_ffree).expect("reads");
    std::fs::remove_dir_all(data.join("hosts")).expect("removes");
    let mut told = 0;
    // A file more each time, until there is room for all.
    for more in 0..40 {
        let before = server.log().len();
        mount.remount(&format!("nr_inodes={}", used() + more));
        if server.try_launch().await {
            break;
        }
        let said = server.log().split_off(before);
        let last = said.lines().last().unwrap_or("");
        // SQLite does not tell why it cannot make a file.
        assert!(
            last.contains("could not open the database")
                || last.contains("its disk has no room: make some"),
            "{said}"
        );
        assert!(!last.contains("--sandbox"), "{said}");
        told += usize::from(last.contains("the walls around hosts could not be tried"));
        let _ = std::fs::remove_dir_all(data.join("hosts"));
    }
    assert!(told > 0, "{}", server.log());
    assert_eq!(server.terminate(), Some(0), "{}", server.log());
}

/// Standard error often is a file on the disk that fills up, or a pipe whose reader has gone.
#[tokio::test]
async fn a_log_that_cannot_be_written_stops_nothing() {
    let mut server = Server::new_at_rest(&["--egress-allow", "127.0.0.0/8"]);
    server.set_env("MILLRACE_LOG", "debug");
    let log = server.data_dir().with_file_name("log");
    std::os::unix::fs::symlink("/dev/full", &log).expect("a link");
    server.begin();
    // Nobody is to read it: it has no end.
    std::fs::remove_file(&log).expect("takes the link away");
    assert!(server.until_ready().await, "it ended");
    let source = server.source(SOURCE, json!({})).await;
    for n in 0..3 {
        assert_eq!(send(&server, &endpoint(&source), n).await.status, 200);
    }
    settled(&server, &source, 3).await;
    assert_eq!(server.terminate(), Some(0));
}

/// A file system of its own, in memory.
struct Mount(PathBuf);

impl Mount {
    /// So many MiB at a new folder; `None`, with a word on it, where that may not be.
    fn at(folder: &Path, mib: u32) -> Option<Self> {
        std::fs::create_dir_all(folder).expect("a folder");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={mib}m"), "tmpfs"])
            .arg(folder)
            .stderr(Stdio::null())
            .status();
        if mounted.is_ok_and(|status| status.success()) {
            return Some(Self(folder.to_owned()));
        }
        writeln!(std::io::stderr(), "skipped: no file system can be mounted here (root is needed)")
            .expect("writes");
        None
    }

    fn resize(&self, mib: u32) {
        self.remount(&format!("size={mib}m"));
    }

    fn remount(&self, option: &str) {
        let remounted =
            Command::new("mount").args(["-o", &format!("remount,{option}")]).arg(&self.0).status();
        assert!(remounted.expect("mount").success());
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // Lazily: a server that failed the test may live still.
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[tokio::test]
async fn a_slow_disk_is_told_and_acknowledgements_wait_for_it() {
    let mut server = Server::failing(&[]);
    server.launch().await;
    let source = server.source(SOURCE, json!({})).await;
    let url = endpoint(&source);
    server.kill();
    // A sync that takes two and a half seconds, in the midst of work.
    server.set_env(FAIL_POINTS, "store.commit=delay(2500)@8-9");
    server.launch().await;
    let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let sender = tokio::spawn({
        let (request, stop) =
            (server.raw(Method::POST, &url).json(&json!({ "n": 1 })), stop.clone());
        async move {
            let (mut acknowledged, mut longest) = (0, Duration::ZERO);
            while !stop.load(std::sync::atomic::Ordering::SeqCst) {
                let began = Instant::now();
                let said = answer(request.try_clone().expect("a request")).await;
                assert_eq!(said.status, 200, "{}", said.text);
                acknowledged += 1;
                longest = longest.max(began.elapsed());
                // A list counts up to a thousand runs.
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            (acknowledged, longest)
        }
    });
    let said = until_ready_says(&server, "degraded", &json!("slow_storage")).await;
    assert_eq!(said.status, 200);
    assert!(
        said.json["error"].as_str().is_some_and(|e| e.contains("acknowledgements wait")),
        "{}",
        said.text
    );
    until_ready_says(&server, "ready", &Value::Null).await;
    stop.store(true, std::sync::atomic::Ordering::SeqCst);
    let (acknowledged, longest) = sender.await.expect("sends");
    // Who was answered waited for the disk.
    assert!(longest >= Duration::from_secs(1), "{longest:?}");
    settled(&server, &source, acknowledged).await;
}

#[tokio::test]
async fn a_disk_that_hangs_is_told_and_what_waits_for_it_is_acknowledged_in_the_end() {
    let mut server = Server::failing(&[]);
    server.launch().await;
    let source = server.source(SOURCE, json!({})).await;
    let url = endpoint(&source);
    server.kill();
    // A sync that takes longer than is waited for elsewhere.
    server.set_env(FAIL_POINTS, "store.commit=delay(18000)@6");
    server.launch().await;
    let waiting: Vec<_> = (0..20)
        .map(|n| tokio::spawn(server.raw(Method::POST, &url).json(&json!({ "n": n })).send()))
        .collect();
    let said = until_ready_says(&server, "not ready", &json!("storage_hangs")).await;
    assert_eq!(said.status, 503);
    assert!(
        said.json["error"].as_str().is_some_and(|e| e.contains("look at the disk")),
        "{}",
        said.text
    );
    // What is read goes on meanwhile.
    assert_eq!(server.get("/sources").await.status, 200);
    let mut acknowledged = 0;
    for one in waiting {
        let status = one.await.expect("joins").expect("an answer").status().as_u16();
        assert_eq!(status, 200, "who waited was told that it is on the disk");
        acknowledged += 1;
    }
    // That it was slow is told for a while, and no longer that nothing is accepted.
    assert_eq!(until_ready_says(&server, "degraded", &json!("slow_storage")).await.status, 200);
    until_ready_says(&server, "ready", &Value::Null).await;
    settled(&server, &source, acknowledged).await;
}

#[tokio::test]
async fn a_server_that_is_told_to_end_while_its_disk_hangs_ends_and_loses_nothing() {
    let mut server = Server::failing(&[]);
    server.launch().await;
    let source = server.source(SOURCE, json!({})).await;
    let url = endpoint(&source);
    assert_eq!(send(&server, &url, 0).await.status, 200);
    settled(&server, &source, 1).await;
    server.kill();
    // Longer than anybody waits.
    server.set_env(FAIL_POINTS, "store.commit=delay(3600000)@6");
    server.launch().await;
    let waiting: Vec<_> = (1..20)
        .map(|n| tokio::spawn(server.raw(Method::POST, &url).json(&json!({ "n": n })).send()))
        .collect();
    until_ready_says(&server, "not ready", &json!("storage_hangs")).await;
    server.tell_to_end();
    assert!(server.until_ended(Duration::from_secs(120)).await, "{}", server.log());
    assert!(server.log().contains("did not take the last writes"), "{}", server.log());
    let mut acknowledged = 1;
    for one in waiting {
        acknowledged +=
            usize::from(one.await.expect("joins").is_ok_and(|answer| answer.status().is_success()));
    }
    server.set_env(FAIL_POINTS, "");
    server.launch().await;
    settled(&server, &source, acknowledged).await;
}

/// Many writes are one commit: where it fails none of them was done, and where one of them fails
/// the others are.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_group_of_writes_that_fails_in_its_midst_leaves_what_was_acknowledged_and_nothing_else() {
    groups_fail(&[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_that_fail_in_the_midst_of_others_leave_what_was_acknowledged_and_nothing_else_on_postgres()
 {
    let Some(cluster) = cluster() else { return };
    let database = cluster.database().await;
    groups_fail(&["--database-url", &database.url()]).await;
}

async fn groups_fail(args: &[&str]) {
    let mut server = Server::failing(&[args, &["--requests-per-minute", "1000000"]].concat());
    server.skew_clock(0);
    server.launch().await;
    let source = server.source(SOURCE, json!({})).await;
    let url = endpoint(&source);
    server.kill();
    let points = "store.accept.before_commit=error@10-12;store.commit=error@12-14;store.accept.after_commit=panic@40";
    server.set_env(FAIL_POINTS, points);
    server.launch().await;
    let (mut acknowledged, mut refused) = (Vec::new(), Vec::new());
    for round in 0..4 {
        let sent: Vec<_> = (0..24_u64)
            .map(|n| round * 24 + n + 1)
            .map(|n| {
                (n, tokio::spawn(server.raw(Method::POST, &url).json(&json!({ "n": n })).send()))
            })
            .collect();
        for (n, one) in sent {
            let answer = one.await.expect("joins").expect("an answer");
            if answer.status().is_success() { &mut acknowledged } else { &mut refused }.push(n);
        }
    }
    assert!(
        refused.len() >= 4 && acknowledged.len() > 40,
        "{} refused, {} acknowledged",
        refused.len(),
        acknowledged.len()
    );
    // Settlements that failed are made again once their lease has ended.
    server.skew_clock(60_000);
    let runs = format!("/sources/{}/runs", source["id"].as_str().expect("an id"));
    for status in ["queued", "running"] {
        server
            .until("all are settled", &format!("{runs}?status={status}"), |l| {
                l["page_info"]["total_count"] == 0
            })
            .await;
    }
    let settled = crate::counts(&server, &runs, |run| run["event"]["body"]["n"].as_u64()).await;
    for n in &acknowledged {
        assert_eq!(settled.get(n), Some(&1), "event {n} was acknowledged");
    }
    // One whose write panicked once it was done may be there: it was told that nobody knows.
    let there: Vec<_> = refused.iter().filter(|n| settled.contains_key(n)).collect();
    assert!(there.len() <= 1, "refused, and there: {there:?}");
    let emitted = server
        .get(&format!("/sources/{}/event_summaries", source["id"].as_str().expect("an id")))
        .await
        .json;
    assert_eq!(emitted["page_info"]["total_count"], settled.len(), "each run emitted once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_is_away_is_told_and_found_again() {
    let Some(cluster) = Cluster::own() else { return };
    let database = cluster.database().await;
    let server = Server::start_with(&["--database-url", &database.url()]).await;
    let source = server.source(SOURCE, json!({})).await;
    let url = endpoint(&source);
    assert_eq!(send(&server, &url, 1).await.status, 200);
    settled(&server, &source, 1).await;
    cluster.kill();
    let said = send(&server, &url, 2).await;
    assert_eq!(said.refusal(), (503, "database_unavailable"), "{}", said.text);
    assert_eq!(server.get("/sources").await.refusal(), (503, "database_unavailable"));
    assert_eq!(
        until_ready_says(&server, "not ready", &json!("database_unavailable")).await.status,
        503
    );
    cluster.start_again();
    until_ready_says(&server, "ready", &Value::Null).await;
    assert_eq!(send(&server, &url, 3).await.status, 200);
    settled(&server, &source, 2).await;
}

/// Its processes are there, take connections, and do not go on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_postgres_that_hangs_is_told_and_what_waits_for_it_is_acknowledged_in_the_end() {
    let Some(cluster) = Cluster::own() else { return };
    let database = cluster.database().await;
    let server = Server::start_with(&["--database-url", &database.url()]).await;
    let source = server.source(SOURCE, json!({})).await;
    let url = endpoint(&source);
    assert_eq!(send(&server, &url, 1).await.status, 200);
    settled(&server, &source, 1).await;
    cluster.signal("-STOP");
    // Whoever looks first has its answer, though the database gives none.
    let first = tokio::time::timeout(Duration::from_secs(60), ready(&server))
        .await
        .expect("an answer while it hangs");
    assert!(
        ["slow_storage", "database_unavailable"].iter().any(|code| first.json["code"] == *code),
        "{}",
        first.text
    );
    let waiting = tokio::spawn(server.raw(Method::POST, &url).json(&json!({ "n": 2 })).send());
    let until_refused = async {
        while ready(&server).await.status != 503 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), until_refused)
        .await
        .expect("it is told while it hangs");
    cluster.signal("-CONT");
    assert_eq!(waiting.await.expect("joins").expect("an answer").status(), 200);
    until_ready_says(&server, "ready", &Value::Null).await;
    assert_eq!(send(&server, &url, 3).await.status, 200);
    settled(&server, &source, 3).await;
}
