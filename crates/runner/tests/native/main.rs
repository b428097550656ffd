//! Native code in a host: system calls as they are, from a program in place of Node.
//!
//! This program is all there is to it. Started by cargo, it is the test: it becomes an ordinary
//! user, and starts a runner whose "Node" is this very file. Started with a question for its
//! version, it answers as Node would; started as a host, it speaks the protocol, tries to get out,
//! and reports how each attempt ended.
#![expect(clippy::print_stdout, reason = "a test without a harness tells its results itself")]
#![expect(unsafe_code, reason = "attacks are system calls")]

mod attempts;

use std::io::{Read as _, Write as _};
use std::os::fd::FromRawFd as _;
use std::os::unix::fs::{MetadataExt as _, chown};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use libc::c_int;
use millrace_runner::{
    Call, Effect, EffectSink, IsolateSpec, ModuleSpec, Runner, RunnerConfig, Walls,
};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// The user and group `nobody`.
const NOBODY: u32 = 65534;
/// Hosts that send frames of any kind.
const FUZZED: u64 = 120;
/// A call that passes, where another would be expected to.
const DONE: &str = "done";

fn main() {
    let args: Vec<String> = std::env::args().collect();
    match args.get(1).map(String::as_str) {
        Some("-p") => answer_as_node(),
        Some(heap)
            if heap.starts_with("--max-old-space-size")
                && args.last().is_some_and(|a| a.ends_with("trial.mjs")) =>
        {
            try_as_node()
        }
        Some(heap) if heap.starts_with("--max-old-space-size") => serve_as_host(),
        // `cargo test -- --list` and filters: there is one test, and it has no name to be chosen
        // by.
        Some("--list") => println!("native_code_in_a_host_gets_nowhere: test"),
        _ => test(),
    }
}

fn answer_as_node() {
    let program = std::env::current_exe().expect("a path");
    let maps = std::fs::read_to_string("/proc/self/maps").expect("reads");
    println!("v20.0.0\n{}\n{maps}", program.display());
}

/// The guard must have begun before this process is gone: its answer is waited for.
fn try_as_node() {
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").expect("a port");
    assert!(socket.connect("127.0.0.1:9").is_err(), "a closed address is open");
}

// ---- the test ----

struct Silent;

impl EffectSink for Silent {
    fn effect(&self, _: Effect) {}
}

fn test() {
    let dir = tempfile::tempdir().expect("a folder");
    let program = dir.path().join("native");
    std::fs::copy(std::env::current_exe().expect("a path"), &program).expect("copies");
    let artifact = dir.path().join("artifact.mjs");
    std::fs::write(&artifact, "native").expect("writes");
    if std::fs::metadata("/proc/self").expect("reads").uid() == 0 {
        for path in [dir.path(), &program, &artifact] {
            chown(path, Some(NOBODY), Some(NOBODY)).expect("gives it away");
        }
        // SAFETY: plain system calls, before there are threads.
        unsafe {
            assert!(
                libc::setgroups(0, std::ptr::null()) == 0
                    && libc::setgid(NOBODY) == 0
                    && libc::setuid(NOBODY) == 0
            )
        };
    }
    let runtime = tokio::runtime::Runtime::new().expect("starts");
    let found = runtime.block_on(attack(dir.path(), &program, &artifact));
    let mut open = Vec::new();
    for (name, expected, got) in &found {
        let fits = expected == got || expected.split(' ').any(|errno| errno == got);
        println!("{} {name}: {got}", if fits { "ok  " } else { "OPEN" });
        if !fits {
            open.push(format!("{name} gave {got}, expected {expected}"));
        }
    }
    println!("{} attempts by native code", found.len());
    assert!(found.len() > 180 && open.is_empty(), "{open:#?}");
}

/// What each attempt was, how it should end, and how it did.
async fn attack(dir: &Path, program: &Path, artifact: &Path) -> Vec<(String, String, String)> {
    let config = RunnerConfig {
        node: program.to_owned(),
        scratch_dir: dir.join("hosts"),
        blank_hosts: 1,
        walls: Walls::Required,
        ..RunnerConfig::default()
    };
    let runner = Runner::start(config).await.expect("this machine has all walls");
    let isolate = |id: &str| {
        Arc::new(IsolateSpec {
            id: id.into(),
            organization: "o_1".into(),
            modules: vec![ModuleSpec {
                name: "m".into(),
                path: artifact.to_owned(),
                packages: None,
            }],
            env: std::collections::BTreeMap::new(),
            memory_mb: None,
            calls_per_isolate: 8,
            isolates_max: 1,
            in_order: false,
        })
    };
    let call = |body: Value| Call {
        body: RawValue::from_string(body.to_string()).expect("JSON"),
        timeout: Duration::from_secs(60),
        steps: Vec::new(),
    };
    let neighbour = isolate("neighbour");
    let ask = async |isolate: &Arc<IsolateSpec>, body: Value| {
        let done = runner.call(isolate.clone(), call(body), Arc::new(Silent)).await.result;
        done.map(|done| millrace_model::json::from_str::<Value>(done.result.get()).expect("JSON"))
    };
    let victim = ask(&neighbour, json!({ "kind": "pid" })).await.expect("answers");
    let found = ask(&isolate("attacker"), json!({ "kind": "attack", "victim": victim }))
        .await
        .expect("answers");
    // A call of another machine's set of numbers ends the process: it has a host of its own.
    let ended = ask(&isolate("other numbers"), json!({ "kind": "other numbers" })).await;
    for (kind, code) in [
        ("hoard memory", "OutOfMemory"),
        ("hoard files", "PayloadTooLarge"),
        ("hoard watches", "OutOfMemory"),
        ("end the first thread", "InternalFailure"),
    ] {
        let ended = ask(&isolate(kind), json!({ "kind": kind })).await;
        let got = ended.map_or_else(|failure| failure.code, |said| said.to_string());
        assert_eq!(got, code, "{kind}");
    }
    // Frames of any kind, in any order: each run ends, well or not, and the next one has a host.
    for seed in 1..=FUZZED {
        let isolate = isolate("fuzzed");
        let ended = ask(&isolate, json!({ "kind": "fuzz", "seed": seed })).await;
        if let Err(failure) = ended {
            assert!(
                !failure.message.is_empty() && failure.code != "Timeout",
                "seed {seed}: {failure:?}"
            );
        }
        assert!(
            ask(&isolate, json!({ "kind": "pid" })).await.is_ok(),
            "seed {seed}: there is no host afterwards"
        );
    }
    assert_eq!(
        ask(&neighbour, json!({ "kind": "pid" })).await.expect("answers"),
        victim,
        "the neighbour lives"
    );
    runner.shutdown().await;
    let text = |row: &Value, n: usize| row[n].as_str().unwrap_or("").to_owned();
    let mut found: Vec<_> = found
        .as_array()
        .expect("a list")
        .iter()
        .map(|row| (text(row, 0), text(row, 1), text(row, 2)))
        .collect();
    if cfg!(target_arch = "x86_64") {
        let ended = ended.err().map_or_else(
            || DONE.into(),
            |failure| {
                if failure.message.contains("signal") { "ended".into() } else { failure.message }
            },
        );
        found.push(("int 0x80".into(), "ended ENOSYS".into(), ended));
    }
    found
}

// ---- the host ----

fn serve_as_host() {
    // SAFETY: the wire is this descriptor, and nobody else's.
    let mut wire = unsafe { UnixStream::from_raw_fd(3) };
    let send = |wire: &mut UnixStream, frame: Value| {
        let body = frame.to_string();
        let head = u32::try_from(body.len()).expect("fits").to_le_bytes();
        wire.write_all(&[&head[..], body.as_bytes()].concat()).expect("writes");
    };
    send(&mut wire, json!({ "t": "hello", "protocol": 1, "node": "v20.0.0" }));
    loop {
        let mut head = [0; 4];
        if wire.read_exact(&mut head).is_err() {
            return;
        }
        let mut body = vec![0; u32::from_le_bytes(head) as usize];
        wire.read_exact(&mut body).expect("reads");
        let frame: Value = millrace_model::json::from_slice(&body).expect("JSON");
        match (frame["t"].as_str(), frame["kind"].as_str()) {
            (Some("load"), _) => send(&mut wire, json!({ "t": "loaded" })),
            (Some("call"), kind) => {
                let result = match kind {
                    Some("attack") => attempts::all(frame["victim"].as_i64().unwrap_or(0) as c_int),
                    Some("other numbers") => other_numbers(),
                    Some("hoard memory") => attempts::hoard_memory(),
                    Some("hoard files") => attempts::hoard_files(),
                    Some("hoard watches") => attempts::hoard_watches(),
                    Some("end the first thread") => attempts::end_the_first_thread(),
                    Some("fuzz") => {
                        fuzz(&mut wire, frame["seed"].as_u64().unwrap_or(1), &frame["id"])
                    }
                    _ => json!(std::process::id()),
                };
                send(
                    &mut wire,
                    json!({ "t": "done", "id": frame["id"], "ok": true, "result": result }),
                );
            }
            _ => {}
        }
    }
}

/// Sends frames that fit, frames that do not, and bytes that are none.
fn fuzz(wire: &mut UnixStream, seed: u64, id: &Value) -> Value {
    // Xorshift: the same frames for the same seed.
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = move |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    for _ in 0..next(30) {
        let ids = [
            id.clone(),
            json!(next(10)),
            json!(-1),
            json!(u64::MAX),
            json!("1"),
            Value::Null,
            json!(1.5),
        ];
        let id = if next(4) > 0 { ids[0].clone() } else { ids[next(7) as usize].clone() };
        let names = [
            "log",
            "emit",
            "db",
            "respond",
            "step",
            "send",
            "ask",
            "loaded",
            "load_failed",
            "cancelled",
            "hello",
            "x",
        ];
        // Rarely one that ends it at once.
        let name = names[if next(5) > 0 { next(7) } else { next(12) } as usize];
        let values = [
            json!("text"),
            json!({ "a": [1, { "b": null }] }),
            json!(200),
            json!("started"),
            json!(true),
            json!([["a", "b"]]),
            Value::Null,
            json!("x".repeat(5000)),
        ];
        let mut frame = json!({ "t": name, "id": id, "text": "line", "ts": 1, "level": "log", "event": { "n": 1 }, "meta": {}, "key": "k", "value": 1, "status": 200, "body": "b",
            "encoding": "utf8", "headers": [["a", "b"]], "namespace": "s", "state": "finished", "exports": {}, "kind": "k", "payload": {}, "ask": next(100) });
        for field in [
            "ts", "meta", "status", "headers", "state", "exports", "kind", "payload", "encoding",
            "error", "late",
        ] {
            if next(40) == 0 {
                frame[field] = values[next(8) as usize].clone();
            }
        }
        let mut bytes = frame.to_string().into_bytes();
        for _ in 0..if next(20) == 0 { 1 + next(5) } else { 0 } {
            let at = next(bytes.len() as u64) as usize;
            bytes[at] = next(256) as u8;
        }
        let mut length = u32::try_from(bytes.len()).expect("fits").to_le_bytes();
        if next(60) == 0 {
            // From here on nothing fits: it goes before anybody waits for the rest.
            length = (next(1 << 32) as u32).to_le_bytes();
            let _ = wire.write_all(&[&length[..], &bytes].concat());
            std::process::exit(9);
        }
        // The server may have ended the wire: then this process is about to end as well.
        let _ = wire.write_all(&[&length[..], &bytes].concat());
    }
    json!("sent")
}

/// `getpid` as a program of 32 bits would ask for it.
fn other_numbers() -> Value {
    #[cfg(target_arch = "x86_64")]
    {
        let mut result: i64 = 20;
        // SAFETY: it only asks for the process's number.
        unsafe { std::arch::asm!("int 0x80", inout("rax") result) };
        json!(result)
    }
    #[cfg(not(target_arch = "x86_64"))]
    json!(null)
}
