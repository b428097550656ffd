//! Walls, tried from inside by hostile code. On a kernel that lacks them these tests fail, and say
//! so.

use millrace_runner::{FailureKind, RunnerConfig, Walls, probe};
use serde_json::{Value, json};

use crate::support::{Bench, LONG, Recorder, alive, failure, until, value};

async fn walled() -> Bench {
    Bench::set(|c| c.walls = Walls::Required).await
}

/// Runs each attempt, an expression that may await; gives its error code, or `open` with what it
/// got.
async fn attempts(bench: &Bench, list: &[&str]) -> Value {
    let tries: String = list
        .iter()
        .map(|code| {
            format!("try {{ const got = await (async () => {{ {code} }})(); out.push('open: ' + got); }} catch (e) {{ out.push(e.code ?? String(e)); }}\n")
        })
        .collect();
    let prelude = "const fs = await import('node:fs'); const os = await import('node:os'); const cp = await import('node:child_process'); const out = [];";
    // An isolate for each list: a warm host would run the one before.
    let isolate = bench.isolate(
        &format!("attempts-{}", bench.runner.stats().hosts),
        &format!("{prelude}\n{tries}\nreturn out;"),
    );
    value(
        bench
            .call(
                &isolate,
                json!({ "server": std::process::id(), "dir": around_tmp(bench.dir.path()) }),
            )
            .await,
    )
}

/// The runtime leads `/tmp` to the host's own folder, which is no wall: here it is gone around.
fn around_tmp(path: &std::path::Path) -> String {
    format!("/.{}", path.display())
}

#[tokio::test]
async fn the_probe_tells_what_this_machine_has() {
    let found = probe();
    assert!(found.missing().is_empty(), "this machine has no {:?}", found.missing());
    assert_eq!(walled().await.runner.walls(), found);
    assert!(found.to_string().starts_with("Landlock (version "), "{found}");
    let off = Bench::set(|c| c.walls = Walls::Off).await;
    assert!(!off.runner.walls().seccomp && off.runner.walls().landlock_abi.is_none());
    assert_eq!(RunnerConfig::default().walls, Walls::Required);
}

#[tokio::test]
async fn files_that_are_not_its_own_cannot_be_read() {
    let bench = walled().await;
    bench.isolate("other", "the artifact of another");
    std::fs::write(bench.dir.path().join("secret"), "x").expect("writes");
    let got = attempts(
        &bench,
        &[
            "return fs.readFileSync(event.dir + '/secret', 'utf8');",
            "return fs.readFileSync(event.dir + '/other.mjs', 'utf8');",
            "return fs.readdirSync(event.dir);",
            "return fs.readdirSync(event.dir + '/hosts');",
            "return fs.readdirSync('/proc');",
            "return fs.readdirSync('/home');",
            "return fs.readFileSync('/etc/passwd', 'utf8');",
            "return fs.readFileSync('/etc/shadow', 'utf8');",
            "return fs.readFileSync(`/proc/${event.server}/environ`, 'utf8');",
            "return fs.readFileSync(`/proc/${event.server}/cmdline`, 'utf8');",
            "return fs.readFileSync('/proc/self/environ', 'utf8');",
            "fs.symlinkSync('/etc/passwd', os.tmpdir() + '/link'); return fs.readFileSync(os.tmpdir() + '/link', 'utf8');",
            "return fs.readFileSync('/proc/self/root/etc/passwd', 'utf8');",
        ],
    )
    .await;
    assert_eq!(got, json!(vec!["EACCES"; 13]));
}

#[tokio::test]
async fn nothing_can_be_written_outside_its_folder() {
    let bench = walled().await;
    let victim = bench.dir.path().join("victim");
    std::fs::write(&victim, "whole").expect("writes");
    let before = std::fs::metadata(&victim).expect("reads");
    let got = attempts(
        &bench,
        &[
            "fs.writeFileSync(event.dir + '/new', 'x');",
            "fs.appendFileSync(event.dir + '/victim', 'x');",
            "fs.truncateSync(event.dir + '/victim');",
            "fs.unlinkSync(event.dir + '/victim');",
            "fs.renameSync(event.dir + '/victim', os.tmpdir() + '/v');",
            "fs.linkSync(event.dir + '/victim', os.tmpdir() + '/v');",
            "fs.mkdirSync(event.dir + '/new');",
            "fs.writeFileSync(new URL(import.meta.url).pathname, 'x');",
            "fs.rmSync(new URL(import.meta.url).pathname);",
        ],
    )
    .await;
    // Links across folders are refused with EXDEV, as if between file systems.
    for (n, code) in got.as_array().expect("a list").iter().enumerate() {
        assert!(matches!(code.as_str(), Some("EACCES" | "EXDEV")), "attempt {n}: {code}");
    }
    let changes = "fs.chmodSync(event.dir + '/victim', 0o777); fs.utimesSync(event.dir + '/victim', 1, 1); fs.chownSync(event.dir + '/victim', 1, 1);";
    assert_eq!(attempts(&bench, &[changes]).await, json!(["open: undefined"]));
    let after = std::fs::metadata(&victim).expect("reads");
    use std::os::unix::fs::MetadataExt as _;
    assert_eq!(
        (before.mode(), before.mtime(), before.uid()),
        (after.mode(), after.mtime(), after.uid())
    );
    assert_eq!(std::fs::read_to_string(&victim).expect("reads"), "whole");
}

#[tokio::test]
async fn its_own_folder_is_all_its_own() {
    let bench = walled().await;
    let got = attempts(
        &bench,
        &[
            "const d = os.tmpdir() + '/a/b'; fs.mkdirSync(d, { recursive: true }); fs.writeFileSync(d + '/f', 'x'); fs.copyFileSync(d + '/f', d + '/g'); fs.renameSync(d + '/g', os.tmpdir() + '/h'); fs.appendFileSync(os.tmpdir() + '/h', 'y'); fs.truncateSync(os.tmpdir() + '/h', 1); fs.chmodSync(d, 0o755); fs.rmSync(os.tmpdir() + '/a', { recursive: true }); return fs.readFileSync(os.tmpdir() + '/h', 'utf8');",
            "return (await fs.promises.readdir(os.tmpdir())).length > 0;",
            "return process.memoryUsage().rss > 0 && os.cpus().length > 0 && os.totalmem() > 0 && os.freemem() > 0 && os.loadavg().length === 3;",
            "return typeof os.networkInterfaces() + typeof os.hostname() + process.uptime().toFixed(0).length;",
            "const { lookup } = await import('node:dns/promises'); return (await lookup('localhost')).address.length > 2;",
            "const { Worker } = await import('node:worker_threads'); return await new Promise((y, n) => new Worker('require(\"node:worker_threads\").parentPort.postMessage(7)', { eval: true }).on('message', y).on('error', n));",
            "const { Worker } = await import('node:worker_threads'); const code = 'const fs = require(\"node:fs\"); const { parentPort, workerData } = require(\"node:worker_threads\"); fs.writeFileSync(\"/tmp/of-a-thread\", \"t\"); import(\"node:fs/promises\").then((p) => p.readFile(\"/tmp/of-a-thread\", \"utf8\")).then((t) => parentPort.postMessage(t + fs.existsSync(workerData + \"/of-a-thread\")));'; return await new Promise((y, n) => new Worker(code, { eval: true, env: {}, workerData: os.tmpdir() }).on('message', y).on('error', n));",
            "const { gzipSync } = await import('node:zlib'); const { createHash, randomBytes } = await import('node:crypto'); return gzipSync('x').length > 0 && randomBytes(8).length === 8 && createHash('sha256').update('x').digest('hex').length;",
            "return new Date(0).toLocaleString('de-DE', { timeZone: 'Europe/Berlin' });",
            "return (await import('node:tls')).rootCertificates.length > 10;",
        ],
    )
    .await;
    assert_eq!(
        got,
        json!([
            "open: x",
            "open: true",
            "open: true",
            "open: objectstring1",
            "open: true",
            "open: 7",
            "open: ttrue",
            "open: 64",
            "open: 1.1.1970, 01:00:00",
            "open: true"
        ])
    );
}

#[tokio::test]
async fn nothing_can_be_executed() {
    let bench = walled().await;
    let got = attempts(
        &bench,
        &[
            "return cp.execFileSync('/bin/sh', ['-c', 'id']);",
            "return cp.execFileSync(process.execPath, ['-p', '1']);",
            "return cp.spawnSync('ls').error?.code;",
            "fs.writeFileSync(os.tmpdir() + '/run', '#!/bin/sh\\nid\\n', { mode: 0o755 }); return cp.execFileSync(os.tmpdir() + '/run');",
            "return cp.fork(os.tmpdir() + '/x.mjs');",
            "fs.copyFileSync('/usr/lib/x86_64-linux-gnu/libm.so.6', os.tmpdir() + '/x.node'); process.dlopen({ exports: {} }, os.tmpdir() + '/x.node');",
        ],
    )
    .await;
    for (n, code) in got.as_array().expect("a list").iter().enumerate() {
        let code = code.as_str().unwrap_or("");
        assert!(
            ["EPERM", "EACCES", "ERR_DLOPEN_DISABLED", "open: EPERM", "open: EACCES", "ENOENT"]
                .contains(&code),
            "attempt {n}: {code}"
        );
    }
}

#[tokio::test]
async fn other_processes_cannot_be_reached() {
    let bench = walled().await;
    let neighbour = bench.isolate("neighbour", "return process.pid;");
    let pid = value(bench.call(&neighbour, 0).await);
    let victim = format!("process.kill({pid}, 'SIGKILL');");
    let got = attempts(
        &bench,
        &[
            "process.kill(event.server, 0);",
            "process.kill(event.server, 'SIGTERM');",
            &victim,
            "process.kill(-1, 'SIGKILL');",
            "os.setPriority(event.server, 19);",
            "return fs.readdirSync(`/proc/${event.server}/fd`);",
        ],
    )
    .await;
    assert_eq!(got, json!(["EPERM", "EPERM", "EPERM", "EPERM", "ERR_SYSTEM_ERROR", "EACCES"]));
    assert_eq!(value(bench.call(&neighbour, 0).await), pid);
}

#[tokio::test]
async fn it_cannot_listen_nor_reach_local_sockets() {
    let bench = walled().await;
    let path = bench.dir.path().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&path).expect("binds");
    let got = attempts(
        &bench,
        &[
            "const net = await import('node:net'); return await new Promise((y, n) => net.connect(event.dir + '/socket').on('connect', () => y('in')).on('error', n));",
            "const net = await import('node:net'); return await new Promise((y, n) => net.connect('\\0abstract').on('connect', () => y('in')).on('error', n));",
            "const net = await import('node:net'); return await new Promise((y, n) => net.createServer().listen(os.tmpdir() + '/s').on('listening', () => y('in')).on('error', n));",
        ],
    )
    .await;
    assert_eq!(got, json!(vec!["EPERM"; 3]));
    if probe().landlock_abi.is_some_and(|abi| abi >= 4) {
        let listen = "const net = await import('node:net'); return await new Promise((y, n) => net.createServer().listen(0).on('listening', () => y('in')).on('error', n));";
        assert_eq!(attempts(&bench, &[listen]).await, json!(["EACCES"]));
    }
}

#[tokio::test]
async fn buffers_beyond_the_heap_are_bounded_too() {
    let bench = walled().await;
    let isolate =
        bench.isolate("buffers", "const all = []; for (;;) all.push(Buffer.alloc(16 << 20, 1));");
    let failure = failure(bench.call(&isolate, 0).await);
    assert!(
        matches!(failure.kind, FailureKind::Thrown | FailureKind::OutOfMemory),
        "{}",
        failure.message
    );
    // Whether the code is told or its process ended, it is told what to raise.
    assert!(failure.message.contains("`settings.memory_mb`"), "{}", failure.message);
}

#[tokio::test]
async fn a_full_temporary_folder_ends_its_host_only() {
    let bench = Bench::set(|c| c.tmp_bytes_max = 8 << 20).await;
    let neighbour = bench.isolate("neighbour", "return process.pid;");
    let pid = value(bench.call(&neighbour, 0).await);
    let isolate = bench.isolate(
        "fills",
        "const fs = await import('node:fs'); console.log(process.pid); for (let n = 0; n < event.files; n++) fs.writeFileSync(process.env.TMPDIR + '/' + n, Buffer.alloc(event.bytes)); await new Promise(() => setInterval(() => {}, 1000));",
    );
    let log = Recorder::new();
    let full = failure(
        bench.call_for(&isolate, json!({ "files": 20, "bytes": 1 << 20 }), LONG, &log).await,
    );
    assert_eq!((full.kind, full.code.as_str()), (FailureKind::PayloadTooLarge, "PayloadTooLarge"));
    assert!(full.message.contains("8 MiB"), "{}", full.message);
    until("it ends", || !alive(&json!(log.logs()[0].parse::<u32>().expect("a pid")))).await;
    let one = failure(bench.call(&isolate, json!({ "files": 1, "bytes": 20 << 20 })).await);
    assert!(one.message.contains("EFBIG"), "{}", one.message);
    assert_eq!(value(bench.call(&neighbour, 0).await), pid);
}

#[tokio::test]
#[ignore = "a measurement: prints how long the first call of an isolate takes, walls down and up"]
async fn measure_cold_start() {
    for walls in [Walls::Off, Walls::Required, Walls::Off, Walls::Required] {
        for blank_hosts in [0, 1] {
            let bench =
                Bench::set(|c| (c.walls, c.blank_hosts, c.hosts_max) = (walls, blank_hosts, 200))
                    .await;
            let mut took = Vec::new();
            for n in 0..25 {
                until("a blank waits", || bench.runner.stats().blank_hosts == blank_hosts).await;
                // The blank one is to be up, as it usually is.
                tokio::time::sleep(std::time::Duration::from_millis(80)).await;
                let isolate = bench.isolate(&format!("cold-{n}"), "return 1;");
                let started = std::time::Instant::now();
                value(bench.call(&isolate, 0).await);
                took.push(started.elapsed());
                bench.runner.evict(&isolate.id).await;
            }
            took.sort();
            println!(
                "{walls:?}, {blank_hosts} blank: median {:?}, fastest {:?}",
                took[took.len() / 2],
                took[0]
            );
        }
    }
}
