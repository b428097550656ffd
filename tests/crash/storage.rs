//! A disk that is full, slow or damaged: clear answers, nothing lost, and the server goes on by itself where it can.

use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use millrace_tests::cluster::{Cluster, cluster};
use millrace_tests::{Answer, Server, answer, binary, endpoint};
use reqwest::Method;
use serde_json::{Value, json};

const FAIL_POINTS: &str = "MILLRACE_FAIL_POINTS";
const SOURCE: &str = "export default { name: 'one', version: '1', props: { http: '$.interface.http' }, run(e) { this.$emit({ n: e.body.n }); } };";

async fn ready(server: &Server) -> Answer {
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

async fn send(server: &Server, url: &str, n: u64) -> Answer {
    answer(server.raw(Method::POST, url).json(&json!({ "n": n }))).await
}

async fn settled(server: &Server, source: &Value, count: usize) {
    let path = format!("/sources/{}/runs?status=succeeded", source["id"].as_str().expect("an id"));
    server.until("all that was acknowledged", &path, |l| l["page_info"]["total_count"] == count).await;
}

/// Starts a server that must refuse to, and gives what it said. Not a byte of its database may change.
fn refused(server: &Server) -> String {
    let database = server.data_dir().join("millrace.db");
    let before = std::fs::read(&database).ok();
    let mut command = Command::new(binary());
    command.args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(server.data_dir());
    let output = command.stdin(Stdio::null()).output().expect("starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(std::fs::read(&database).ok() == before, "the database was written to");
    said
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
                assert_eq!((status, said.json["code"].as_str()), (507, Some("storage_full")), "{}", said.text);
                assert!(said.json["error"].as_str().is_some_and(|e| e.contains("once its operator has made room")), "{}", said.text);
                refused += 1;
            }
        }
    }
    let said = until_ready_says(&server, "not ready", &json!("storage_full")).await;
    assert_eq!(said.status, 503);
    assert!(said.json["error"].as_str().is_some_and(|e| e.contains("make room")), "{}", said.text);
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
        let said = answer(server.raw(Method::POST, &url).json(&json!({ "n": acknowledged, "large": large }))).await;
        match said.status {
            200 => acknowledged += 1,
            status => {
                assert_eq!((status, said.json["code"].as_str()), (507, Some("storage_full")), "{}", said.text);
                refused += 1;
            }
        }
    }
    // The same server finds the room that it is given, and has lost nothing; nor has one that is killed and started again.
    disk.resize(1_024);
    until_ready_says(&server, "ready", &Value::Null).await;
    assert_eq!(send(&server, &url, 1).await.status, 200);
    settled(&server, &source, acknowledged + 1).await;
    server.kill();
    server.launch().await;
    settled(&server, &source, acknowledged + 1).await;
    server.kill();
}

/// Small events fit where large ones no longer do: the room is told before there is none, whatever the database is.
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
        assert_eq!((said.status, &said.json["status"], &said.json["code"]), (200, &json!("degraded"), &json!("storage_low")), "{}", said.text);
        assert!(said.json["error"].as_str().is_some_and(|e| e.contains(" MiB are free") && e.contains("make room")), "{}", said.text);
        assert_eq!(server.post("/data_stores", &json!({ "name": "d" })).await.status, 200);
        let free = async || {
            let text = answer(server.raw(Method::GET, "/metrics").bearer_auth(&server.api_key)).await.text;
            text.lines().find_map(|line| line.strip_prefix("millrace_data_dir_free_bytes ")?.parse::<u64>().ok()).expect("a gauge")
        };
        assert!((1..64 << 20).contains(&free().await));
        disk.resize(1_024);
        let said = ready(&server).await;
        assert_eq!((said.status, &said.json), (200, &json!({ "status": "ready" })));
        assert!((960 << 20..1_024 << 20).contains(&free().await));
        server.kill();
    }
}

/// A file system of its own, in memory.
struct Mount(PathBuf);

impl Mount {
    /// So many MiB at a new folder; `None`, with a word on it, where that may not be.
    fn at(folder: &Path, mib: u32) -> Option<Self> {
        std::fs::create_dir_all(folder).expect("a folder");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &format!("size={mib}m"), "tmpfs"]).arg(folder).stderr(Stdio::null()).status();
        if mounted.is_ok_and(|status| status.success()) {
            return Some(Self(folder.to_owned()));
        }
        writeln!(std::io::stderr(), "skipped: no file system can be mounted here (root is needed)").expect("writes");
        None
    }

    fn resize(&self, mib: u32) {
        let resized = Command::new("mount").args(["-o", &format!("remount,size={mib}m")]).arg(&self.0).status();
        assert!(resized.expect("mount").success());
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
        let (request, stop) = (server.raw(Method::POST, &url).json(&json!({ "n": 1 })), stop.clone());
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
    assert!(said.json["error"].as_str().is_some_and(|e| e.contains("acknowledgements wait")), "{}", said.text);
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
    let waiting: Vec<_> = (0..20).map(|n| tokio::spawn(server.raw(Method::POST, &url).json(&json!({ "n": n })).send())).collect();
    let said = until_ready_says(&server, "not ready", &json!("storage_hangs")).await;
    assert_eq!(said.status, 503);
    assert!(said.json["error"].as_str().is_some_and(|e| e.contains("look at the disk")), "{}", said.text);
    // What is read goes on meanwhile.
    assert_eq!(server.get("/sources").await.status, 200);
    let mut acknowledged = 0;
    for one in waiting {
        let status = one.await.expect("joins").expect("an answer").status().as_u16();
        assert_eq!(status, 200, "who waited was told that it is on the disk");
        acknowledged += 1;
    }
    until_ready_says(&server, "ready", &Value::Null).await;
    settled(&server, &source, acknowledged).await;
}

/// Many writes are one commit: where it fails none of them was done, and where one of them fails the others are.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_group_of_writes_that_fails_in_its_midst_leaves_what_was_acknowledged_and_nothing_else() {
    groups_fail(&[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_that_fail_in_the_midst_of_others_leave_what_was_acknowledged_and_nothing_else_on_postgres() {
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
        let sent: Vec<_> =
            (0..24_u64).map(|n| round * 24 + n + 1).map(|n| (n, tokio::spawn(server.raw(Method::POST, &url).json(&json!({ "n": n })).send()))).collect();
        for (n, one) in sent {
            let answer = one.await.expect("joins").expect("an answer");
            if answer.status().is_success() { &mut acknowledged } else { &mut refused }.push(n);
        }
    }
    assert!(refused.len() >= 4 && acknowledged.len() > 40, "{} refused, {} acknowledged", refused.len(), acknowledged.len());
    // Settlements that failed are made again once their lease has ended.
    server.skew_clock(60_000);
    let runs = format!("/sources/{}/runs", source["id"].as_str().expect("an id"));
    for status in ["queued", "running"] {
        server.until("all are settled", &format!("{runs}?status={status}"), |l| l["page_info"]["total_count"] == 0).await;
    }
    let settled = crate::counts(&server, &runs, |run| run["event"]["body"]["n"].as_u64()).await;
    for n in &acknowledged {
        assert_eq!(settled.get(n), Some(&1), "event {n} was acknowledged");
    }
    // One whose write panicked once it was done may be there: it was told that nobody knows.
    let there: Vec<_> = refused.iter().filter(|n| settled.contains_key(n)).collect();
    assert!(there.len() <= 1, "refused, and there: {there:?}");
    let emitted = server.get(&format!("/sources/{}/event_summaries", source["id"].as_str().expect("an id"))).await.json;
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
    assert_eq!(until_ready_says(&server, "not ready", &json!("database_unavailable")).await.status, 503);
    cluster.start_again();
    until_ready_says(&server, "ready", &Value::Null).await;
    assert_eq!(send(&server, &url, 3).await.status, 200);
    settled(&server, &source, 2).await;
}

#[tokio::test]
async fn a_damaged_database_is_refused_and_says_what_to_do() {
    let mut server = Server::start().await;
    let source = server.source(SOURCE, json!({})).await;
    assert_eq!(send(&server, &endpoint(&source), 1).await.status, 200);
    settled(&server, &source, 1).await;
    assert_eq!(server.terminate(), Some(0));
    let path = server.data_dir().join("millrace.db");
    let whole = std::fs::read(&path).expect("reads");

    let file = std::fs::File::options().write(true).open(&path).expect("opens");
    for page in (1..whole.len() as u64 / 4096).step_by(3) {
        file.write_all_at(&[0xAA; 512], page * 4096).expect("writes");
    }
    let said = refused(&server);
    assert!(said.contains("left it as it is") && said.contains("restore a backup") && said.contains("damaged"), "{said}");
    std::fs::write(&path, &whole[..whole.len() / 2]).expect("writes");
    assert!(refused(&server).contains("it was cut off"));
    // Nothing is made in its place.
    for empty in [true, false] {
        if empty { std::fs::write(&path, "") } else { std::fs::remove_file(&path) }.expect("changes");
        let said = refused(&server);
        assert!(said.contains("missing or empty") && said.contains("restore it from a backup"), "{said}");
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

/// What `docs/durability.md` says is done about it.
#[tokio::test]
async fn a_damaged_database_is_replaced_by_its_backup_and_the_server_goes_on() {
    let mut server = Server::start().await;
    let source = server.source(SOURCE, json!({})).await;
    let url = endpoint(&source);
    assert_eq!(send(&server, &url, 1).await.status, 200);
    settled(&server, &source, 1).await;
    let (dir, data) = (tempfile::tempdir().expect("a folder"), server.data_dir());
    let backup = dir.path().join("backup");
    let local = |command: &str| Command::new(binary()).arg(command).arg(&backup).arg("--data-dir").arg(&data).output().expect("starts");
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
