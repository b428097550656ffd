//! Effect of attacks on a neighbour: medians of its answers before and during each.

use std::time::{Duration, Instant};

use millrace_tests::{answer, endpoint, id};
use reqwest::Method;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::support::Field;

const ATTACKS: &[(&str, &str)] = &[
    ("a busy loop", "while (true) {}"),
    (
        "busy loops in 32 threads",
        "const { Worker } = await import('node:worker_threads'); for (let n = 0; n < 32; n++) new Worker('while (true) {}', { eval: true }); await new Promise(() => setInterval(() => {}, 1000));",
    ),
    (
        "memory",
        "const all = []; for (;;) { all.push(new Array(1e5).fill(1.5)); if (all.length > 150) all.length = 0; }",
    ),
    (
        "output",
        "for (;;) { console.log('x'.repeat(100)); await new Promise((y) => setTimeout(y, 1)); }",
    ),
    (
        "connections",
        "const net = await import('node:net'); for (;;) { for (let k = 0; k < 300; k++) net.connect(7, '127.0.0.1').on('error', () => {}); await new Promise(setImmediate); }",
    ),
    (
        "files",
        "for (let n = 0; ; n = (n + 1) % 5000) { fs.writeFileSync('/tmp/' + n, 'x'.repeat(10000)); }",
    ),
    (
        "forks",
        "const cp = await import('node:child_process'); for (;;) { try { cp.spawnSync('/bin/true'); } catch {} await new Promise(setImmediate); }",
    ),
    (
        "sockets",
        "const dgram = await import('node:dgram'); for (;;) { const all = []; for (let n = 0; n < 900; n++) { const s = dgram.createSocket('udp4'); all.push(s); await new Promise((y) => s.on('error', y).bind(0, y)); } all.forEach((s) => s.close()); }",
    ),
];

/// Rounds of each attack: a look at the neighbour alone, then one while the attack goes on.
const ROUNDS: usize = 3;
/// Answers of a look.
const ANSWERS: usize = 1000;
/// How long each attack goes on; its run ends by itself then.
const ATTACK_MS: u64 = 10_000;
/// Until what is there to hold an attack down may have begun to: what uses the CPU is looked
/// at every second.
const GRACE: Duration = Duration::from_millis(3500);

/// How long answers take: the median, and what nine of ten are below.
#[derive(Clone, Copy)]
struct Took {
    median: Duration,
    most: Duration,
}

impl Field {
    async fn look(&self, count: usize) -> Took {
        let mut took = Vec::with_capacity(count);
        for _ in 0..count {
            let started = Instant::now();
            self.healthy_neighbour().await;
            took.push(started.elapsed());
        }
        took.sort();
        Took { median: took[count / 2], most: took[count * 9 / 10] }
    }

    /// Until nothing runs or waits for a place.
    async fn rest(&self) {
        loop {
            let counts =
                answer(self.server.raw(Method::GET, "/metrics").bearer_auth(&self.server.api_key))
                    .await
                    .text;
            let count = |name: &str| {
                counts
                    .lines()
                    .find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok())
                    .expect("it is counted")
            };
            if count("millrace_runs_running ") + count("millrace_runs_waiting ") == 0 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

/// A row of the table: the middle of the rounds.
fn row(name: &str, rounds: &[(Took, Took)]) -> String {
    let middle = |of: &dyn Fn(&(Took, Took)) -> f64| {
        let mut all: Vec<f64> = rounds.iter().map(of).collect();
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    let ratio = |a: Duration, b: Duration| a.as_secs_f64() / b.as_secs_f64();
    format!(
        "| {name} | {:.2} | {:.2} | {:.2} | {:.2} |",
        middle(&|(before, _)| before.median.as_secs_f64() * 1e3),
        middle(&|(_, during)| during.median.as_secs_f64() * 1e3),
        middle(&|(before, during)| ratio(during.median, before.median)),
        middle(&|(before, during)| ratio(during.most, before.most)),
    )
}

/// Whoever wakes up waits for the turn of another to end: the kernel tells how long each may be
/// (Linux 6.12; others give turns of their own choice).
#[tokio::test]
async fn the_server_and_its_hosts_take_short_turns() {
    let field = Field::start().await;
    field.healthy_neighbour().await;
    let server = field.server.pid();
    let children = std::fs::read_dir(format!("/proc/{server}/task")).expect("runs").flatten();
    let children = children.flat_map(|task| {
        std::fs::read_to_string(task.path().join("children"))
            .unwrap_or_default()
            .split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    });
    for pid in children.chain([server.to_string()]).collect::<Vec<_>>() {
        // A spare that is gone by now has no threads.
        for task in std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
            let told = std::fs::read_to_string(task.path().join("sched")).unwrap_or_default();
            if let Some(turn) = told.lines().find(|line| line.starts_with("se.slice")) {
                assert_eq!(
                    turn.rsplit(' ').next(),
                    Some("500000"),
                    "{pid}: {}",
                    task.path().display()
                );
            }
        }
    }
}

#[tokio::test]
#[ignore = "a measurement: prints how much slower a neighbour answers under each attack"]
async fn measure_what_a_neighbour_feels() {
    println!(
        "| attack | alone, ms | under attack, ms | ratio of medians | ratio of the slowest tenths |\n| --- | --- | --- | --- | --- |"
    );
    let chosen = std::env::var("MILLRACE_ATTACK").unwrap_or_default();
    let field = Field::start().await;
    field.look(ANSWERS).await;
    for (name, attack) in ATTACKS.iter().filter(|(name, _)| name.contains(&chosen)) {
        let mut rounds = Vec::new();
        for _ in 0..ROUNDS {
            let before = field.look(ANSWERS).await;
            let id = field.begin(attack, ATTACK_MS).await;
            tokio::time::sleep(GRACE).await;
            let during = field.look(ANSWERS).await;
            assert!(!field.over(&id).await, "{name} was over before it was measured");
            field
                .server
                .until("it is over", &format!("/workflows/{id}/runs?status=failed"), |l| {
                    l["page_info"]["total_count"] == 1
                })
                .await;
            rounds.push((before, during));
        }
        println!("{}", row(name, &rounds));
    }
    // Many requests to one endpoint, whose code takes its time, from a thread of their own.
    let waits = field.deploy("await new Promise((y) => setTimeout(y, 300)); return 1;").await;
    let steps = [(
        "one",
        "export default defineComponent({ async run() { await new Promise((y) => setTimeout(y, 100)); } });",
    )];
    let accepts = field.server.workflow("accepts", json!([{ "type": "http" }]), &steps).await;
    for (name, flooded) in [
        ("a flood by 600 clients", waits),
        ("a flood by 600 clients that are answered at once", accepts),
    ] {
        if !name.contains(&chosen) {
            continue;
        }
        let mut rounds = Vec::new();
        for _ in 0..ROUNDS {
            let before = field.look(ANSWERS).await;
            let flood = Flood::begin(&[endpoint(&flooded)]);
            tokio::time::sleep(GRACE).await;
            rounds.push((before, field.look(ANSWERS).await));
            println!("{}", flood.end());
            field.rest().await;
        }
        println!("{}", row(name, &rounds));
    }
}

/// What an organization does with many workflows at once: none of them goes beyond a limit of one
/// component.
const ATTACKS_OF_AN_ORGANIZATION: &[(&str, &str)] = &[
    ("30 CPU hogs", "while (true) {}"),
    (
        "30 workflows that take memory",
        "const all = []; for (;;) { all.push(new Array(1e5).fill(1.5)); if (all.length > 100) all.length = 0; await new Promise(setImmediate); }",
    ),
    ("600 clients of 30 workflows", "await new Promise((y) => setTimeout(y, 100));"),
    (
        "600 clients of 30 workflows that compute",
        "for (const end = Date.now() + 20; Date.now() < end;);",
    ),
];

#[tokio::test]
#[ignore = "a measurement: prints how much slower one organization is served while another takes what it can get"]
async fn measure_what_another_organization_feels() {
    println!(
        "| attack by an organization | alone, ms | under attack, ms | ratio of medians | ratio of the slowest tenths |\n| --- | --- | --- | --- | --- |"
    );
    let chosen = std::env::var("MILLRACE_ATTACK").unwrap_or_default();
    let field = Field::start().await;
    let other = field
        .server
        .post("/workspaces", &json!({ "name": "Other", "email": "other@example.test" }))
        .await
        .data();
    let key = other["api_key"].as_str().expect("a key");
    field.look(ANSWERS).await;
    for (name, attack) in
        ATTACKS_OF_AN_ORGANIZATION.iter().filter(|(name, _)| name.contains(&chosen))
    {
        let mut rounds = Vec::new();
        for _ in 0..ROUNDS {
            let (mut urls, mut paths) = (Vec::new(), Vec::new());
            for _ in 0..30 {
                let code = format!(
                    "export default defineComponent({{ async run({{ steps, $ }}) {{ {attack} }} }});"
                );
                let workflow = json!({
                    "triggers": [{ "type": "http" }],
                    "steps": [{ "namespace": "attack", "code": code }],
                    "settings": { "name": "attack", "timeout_ms": ATTACK_MS, "error_notification": false },
                });
                let workflow = field
                    .server
                    .call_as(key, Method::POST, "/workflows", Some(&workflow))
                    .await
                    .data();
                urls.push(endpoint(&workflow));
                paths.push(format!("/workflows/{}", id(&workflow)));
            }
            let before = field.look(ANSWERS).await;
            let flood = if name.starts_with("600") {
                Some(Flood::begin(&urls))
            } else {
                for url in &urls {
                    assert_eq!(
                        answer(field.server.raw(Method::POST, url).json(&json!({}))).await.status,
                        200
                    );
                }
                None
            };
            tokio::time::sleep(GRACE).await;
            rounds.push((before, field.look(ANSWERS).await));
            if let Some(flood) = flood {
                println!("{}", flood.end());
            }
            // What of them waits goes with them.
            for path in &paths {
                let deleted = field.server.call_as(key, Method::DELETE, path, None).await;
                assert!(deleted.status < 300, "{deleted:?}");
            }
            field.rest().await;
        }
        println!("{}", row(name, &rounds));
    }
}

/// Six hundred clients that ask again as soon as they are answered, and a little later where they
/// are refused: a process in a session of its own. Clients are elsewhere, and what these need of
/// the CPUs is not to be taken from the server, as far as the kernel can tell them apart.
struct Flood(std::process::Child);

impl Flood {
    fn begin(urls: &[String]) -> Self {
        let mut command = std::process::Command::new("setsid");
        command.arg(std::env::current_exe().expect("this program")).args([
            "--ignored",
            "--exact",
            "neighbours::clients_of_a_flood",
            "--nocapture",
        ]);
        command
            .env(FLOODED, urls.join(" "))
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped());
        let child = command.spawn().expect("starts");
        let stands_back = std::process::Command::new("renice")
            .args(["-n", "19", "-p", &child.id().to_string()])
            .output()
            .expect("is there");
        assert!(stands_back.status.success(), "{stands_back:?}");
        Self(child)
    }

    /// Tells how many were answered.
    fn end(mut self) -> String {
        drop(self.0.stdin.take());
        let output = self.0.wait_with_output().expect("ends");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        said.lines()
            .find(|line| line.contains("were answered"))
            .unwrap_or_else(|| panic!("{said}"))
            .to_owned()
    }
}

/// Where the clients of a flood ask, with spaces between.
const FLOODED: &str = "MILLRACE_FLOODED";

#[test]
#[ignore = "no test: the clients of a flood, which the measurements start as a process"]
fn clients_of_a_flood() {
    let Ok(urls) = std::env::var(FLOODED) else { return };
    let urls: Vec<String> = urls.split(' ').map(str::to_owned).collect();
    // Where sessions share the CPUs, the session's own.
    let _ = std::fs::write("/proc/self/autogroup", "19");
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("starts");
    let answered = runtime.block_on(async {
        let count = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
        for n in 0..600 {
            let (url, count) =
                (reqwest::Url::parse(&urls[n % urls.len()]).expect("a URL"), count.clone());
            tokio::spawn(async move {
                let mut connection = None;
                loop {
                    match ask(&mut connection, &url).await {
                        Ok(answer) if answer.starts_with(b"HTTP/1.1 2") => {
                            _ = count.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
                        }
                        _ => tokio::time::sleep(Duration::from_millis(200)).await,
                    }
                }
            });
        }
        let _ = tokio::task::spawn_blocking(|| {
            std::io::copy(&mut std::io::stdin(), &mut std::io::sink())
        })
        .await;
        count.load(std::sync::atomic::Ordering::Relaxed)
    });
    println!("{answered} requests of the flood were answered");
}

/// A request of a flood, on the connection that the one before left: as few steps as it takes,
/// which are the machine's that is measured. Gives the head of the answer.
async fn ask(kept: &mut Option<TcpStream>, url: &reqwest::Url) -> std::io::Result<Vec<u8>> {
    let authority = format!("{}:{}", url.host_str().expect("a host"), url.port().expect("a port"));
    let mut connection = match kept.take() {
        Some(connection) => connection,
        None => TcpStream::connect(("127.0.0.1", url.port().expect("a port"))).await?,
    };
    let request = format!(
        "POST {} HTTP/1.1\r\nhost: {authority}\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{{}}",
        url.path()
    );
    connection.write_all(request.as_bytes()).await?;
    let mut answer = Vec::with_capacity(2048);
    loop {
        if connection.read_buf(&mut answer).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        let Some(head) = answer.windows(4).position(|end| end == b"\r\n\r\n") else { continue };
        let text = String::from_utf8_lossy(&answer[..head]).to_ascii_lowercase();
        let length = text
            .lines()
            .find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok())
            .unwrap_or_default();
        if answer.len() >= head + 4 + length {
            if !text.contains("connection: close") {
                *kept = Some(connection);
            }
            answer.truncate(head);
            return Ok(answer);
        }
    }
}
