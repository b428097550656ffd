//! Time, heap, output and results: each limit ends the run with a named error.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use millrace_runner::FailureKind;
use serde_json::{Value, json};

use crate::support::{Bench, LONG, Recorder, SHORT, alive, failure, until, value};

#[tokio::test]
async fn a_call_that_awaits_too_long_is_timed_out() {
    let bench = Bench::real().await;
    let isolate = bench.isolate(
        "waits",
        "if (event === 'wait') await new Promise(() => setInterval(() => {}, 1000)); return event;",
    );
    let failure = failure(bench.call_for(&isolate, "wait", SHORT, &Recorder::new()).await);
    assert_eq!((failure.kind, failure.code.as_str()), (FailureKind::Timeout, "Timeout"));
    assert!(failure.message.contains("400 ms"), "{}", failure.message);
    assert_eq!(value(bench.call(&isolate, "next").await), json!("next"));
}

#[tokio::test]
async fn a_busy_loop_is_timed_out_and_ends_exactly_its_host() {
    let bench = Bench::real().await;
    let busy = bench.isolate("busy", "console.log(process.pid); if (event) while (true) {}");
    let neighbour = bench.isolate("neighbour", "return process.pid;");
    let pid = value(bench.call(&neighbour, 0).await);
    let log = Recorder::new();
    assert_eq!(failure(bench.call_for(&busy, true, SHORT, &log).await).kind, FailureKind::Timeout);
    let busy_pid = json!(log.logs()[0].parse::<u32>().expect("a pid"));
    until("the busy host ends", || !alive(&busy_pid)).await;
    assert_eq!(value(bench.call(&neighbour, 0).await), pid);
}

/// The niceness of its threads, and that of its session.
fn niceness(pid: &Value) -> (Vec<String>, String) {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let nice = |path: std::path::PathBuf| {
        let stat = std::fs::read_to_string(path.join("stat")).unwrap_or_default();
        stat.rsplit_once(')')
            .and_then(|(_, fields)| fields.split_ascii_whitespace().nth(16))
            .unwrap_or("")
            .to_owned()
    };
    let mut all: Vec<_> = threads.map(|thread| nice(thread.path())).collect();
    all.dedup();
    (all, std::fs::read_to_string(format!("/proc/{pid}/autogroup")).unwrap_or_default())
}

/// The CPUs on which its threads may run, as the kernel writes them; none of a thread that is gone.
fn cpus(pid: &Value) -> Vec<String> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let allowed = |path: std::path::PathBuf| {
        let status = std::fs::read_to_string(path.join("status")).unwrap_or_default();
        status
            .lines()
            .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
            .unwrap_or("")
            .trim()
            .to_owned()
    };
    let mut all: Vec<_> = threads.map(|thread| allowed(thread.path())).collect();
    all.dedup();
    all
}

/// The length of each thread's time slices, in nanoseconds; none where the kernel does not show it.
fn time_slices(pid: &Value) -> Vec<String> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let slice = |path: std::path::PathBuf| {
        let text = std::fs::read_to_string(path.join("sched")).ok()?;
        text.lines()
            .find_map(|line| line.strip_prefix("se.slice"))
            .map(|rest| rest.trim_start_matches([' ', ':']).to_owned())
    };
    let mut all: Vec<_> = threads.filter_map(|thread| slice(thread.path())).collect();
    all.dedup();
    all
}

#[tokio::test]
async fn a_cpu_hog_gets_a_lower_priority_and_is_not_kept() {
    let bench = Bench::real().await;
    // It ends a while after its priority is lower.
    let code = "const os = await import('node:os'); console.log(process.pid); await new Promise((y) => setTimeout(y, 100));
        if (event) { while (os.getPriority() === 0); for (const end = Date.now() + 4000; Date.now() < end;); } return process.pid;";
    let hog = bench.isolate("hog", code);
    let neighbour = bench.isolate("neighbour", "return process.pid;");
    let other = value(bench.call(&neighbour, 0).await);
    let log = Recorder::new();
    let busy = bench.spawn(&hog, 1, LONG, &log);
    until("it is under way", || !log.logs().is_empty()).await;
    let pid = json!(log.logs()[0].parse::<u32>().expect("a pid"));
    until("all its threads are nice", || niceness(&pid).0 == ["10"]).await;
    if Path::new("/proc/self/autogroup").exists() {
        until("its session is", || niceness(&pid).1.contains("nice 10")).await;
    }
    assert_eq!(niceness(&other).0, ["0"], "the neighbour is as before");
    let of_all = cpus(&other);
    if std::thread::available_parallelism().is_ok_and(|n| n.get() > 1) {
        until(
            "a CPU is left to others",
            || matches!(cpus(&pid).as_slice(), [one] if *one != of_all[0]),
        )
        .await;
    }
    if !time_slices(&other).is_empty() {
        until("its time slices are long", || time_slices(&pid) == ["100000000"]).await;
        assert_ne!(time_slices(&other), ["100000000"], "the neighbour's are not");
    }
    assert_eq!(value(busy.await.expect("joins")), pid);
    until("it is ended once it has nothing to do", || !alive(&pid)).await;
    assert_ne!(value(bench.call(&hog, 0).await), pid);
    assert_eq!(value(bench.call(&neighbour, 0).await), other);
}

/// None of its hosts is a hog: their calls are short. All of what is done about it is taken back.
#[tokio::test]
async fn an_organization_that_uses_more_than_its_share_is_throttled_for_a_while() {
    let cpus_here = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    if !(2..=8).contains(&cpus_here) {
        eprintln!("note: throttling is not tested on {cpus_here} CPUs");
        return;
    }
    let bench = Bench::set(|c| c.hosts_max = 100).await;
    let code = "for (const end = Date.now() + event; Date.now() < end;); return process.pid;";
    let mut neighbour = bench.isolate("neighbour", code);
    neighbour.organization = "o_2".into();
    let other = value(bench.call(&neighbour, 1).await);
    let many: Vec<_> =
        (0..cpus_here * 3).map(|n| bench.isolate(&format!("one{n}"), code)).collect();
    let pid = value(bench.call(&many[0], 1).await);
    let (at_first, slices_at_first) = (cpus(&pid), time_slices(&pid));
    let is_over = AtomicBool::new(false);
    let flood = futures::future::join_all(many.iter().map(|isolate| async {
        while !is_over.load(Ordering::SeqCst) {
            value(bench.call(isolate, 5).await);
        }
    }));
    let has_autogroup = Path::new("/proc/self/autogroup").exists();
    let look = async {
        until("a CPU is left to others", || cpus(&pid).len() == 1 && cpus(&pid) != at_first).await;
        if has_autogroup {
            until("its session is nice", || niceness(&pid).1.contains("nice 10")).await;
        }
        if !slices_at_first.is_empty() {
            until("its time slices are long", || time_slices(&pid) == ["100000000"]).await;
        }
        assert_eq!(niceness(&pid).0, ["0"], "nothing is done that cannot be taken back");
        assert_eq!(
            (cpus(&other), time_slices(&other)),
            (at_first.clone(), slices_at_first.clone()),
            "the neighbour is as before"
        );
        is_over.store(true, Ordering::SeqCst);
    };
    let works = async {
        while !is_over.load(Ordering::SeqCst) {
            assert_eq!(value(bench.call(&neighbour, 1).await), other);
        }
    };
    tokio::join!(flood, look, works);
    until("it has them all again", || cpus(&pid) == at_first).await;
    if !slices_at_first.is_empty() {
        until("its time slices are short", || time_slices(&pid) == ["500000"]).await;
    }
    if has_autogroup {
        until("its session is as others", || niceness(&pid).1.contains("nice 0")).await;
    }
    assert_eq!(value(bench.call(&many[0], 1).await), pid, "it is kept");
}

#[tokio::test]
async fn a_timeout_leaves_the_other_calls_of_its_host_alone() {
    let bench = Bench::fake("attack = () => {};").await;
    let isolate = bench.isolate("shared", "");
    let log = Recorder::new();
    let holding = bench.spawn(&isolate, "hold", LONG, &log);
    log.logged("holding").await;
    let second = Recorder::new();
    let late = bench.spawn(&isolate, "attack", SHORT, &Recorder::new());
    let releasing = bench.spawn(&isolate, "hold", LONG, &second);
    second.logged("holding").await;
    assert_eq!(failure(late.await.expect("joins")).kind, FailureKind::Timeout);
    // The host takes no new calls, so nothing releases those two: they are there still.
    assert!(!holding.is_finished() && !releasing.is_finished());
    assert_eq!(value(bench.call(&isolate, "elsewhere").await), json!("elsewhere"));
}

#[tokio::test]
async fn a_full_heap_is_out_of_memory() {
    let bench = Bench::real().await;
    let mut isolate =
        bench.isolate("hog", "const all = []; for (;;) all.push(new Array(100000).fill(event));");
    isolate.memory_mb = Some(64);
    let failure = failure(bench.call(&isolate, 1.5).await);
    assert_eq!((failure.kind, failure.code.as_str()), (FailureKind::OutOfMemory, "OutOfMemory"));
    assert!(
        failure.message.contains("64 MiB") && failure.message.contains("memory_mb"),
        "{}",
        failure.message
    );
}

#[tokio::test]
async fn output_is_cut_with_a_mark_also_when_its_lines_are_empty() {
    for line in ["x".repeat(100), String::new()] {
        let bench = Bench::set(|c| c.log_bytes_max = 10_000).await;
        let isolate = bench
            .isolate("talks", "for (let i = 0; i < 1000; i++) console.log(event); return 'ended';");
        let log = Recorder::new();
        assert_eq!(
            value(bench.call_for(&isolate, line.as_str(), LONG, &log).await),
            json!("ended")
        );
        let logs = log.logs();
        assert!(logs.len() < 200, "{} lines were kept", logs.len());
        assert!(logs.last().is_some_and(|l| l.contains("the rest is cut")), "{:?}", logs.last());
        assert_eq!(logs.iter().filter(|l| l.contains("the rest is cut")).count(), 1);
    }
}

#[tokio::test]
async fn results_beyond_the_limit_are_refused_with_its_name() {
    let bench = Bench::set(|c| c.result_bytes_max = 10_000).await;
    let isolate = bench.isolate("large", "return 'x'.repeat(event);");
    assert!(bench.call(&isolate, 5_000).await.result.is_ok());
    let failure = failure(bench.call(&isolate, 20_000).await);
    assert_eq!(
        (failure.kind, failure.code.as_str()),
        (FailureKind::PayloadTooLarge, "PayloadTooLarge")
    );
    assert!(failure.message.contains("10000 bytes"), "{}", failure.message);
    assert!(bench.call(&isolate, 1).await.result.is_ok());
}

#[tokio::test]
async fn process_exit_and_crashes_are_told_exactly() {
    let bench = Bench::real().await;
    let dies = [
        ("process.reallyExit(3)", "exited with code 3"),
        ("process.abort()", "was killed by signal 6"),
        ("process.kill(process.pid, 'SIGKILL')", "was killed by signal 9"),
    ];
    for (n, (code, said)) in dies.into_iter().enumerate() {
        let isolate = bench.isolate(
            &format!("dies-{n}"),
            &format!("{code}; await new Promise(() => setInterval(() => {{}}, 1000));"),
        );
        let failure = failure(bench.call(&isolate, 0).await);
        assert_eq!(
            (failure.kind, failure.code.as_str()),
            (FailureKind::HostCrashed, "InternalFailure"),
            "{code}"
        );
        assert!(failure.message.contains(said), "{code}: {}", failure.message);
    }
    let isolate = bench.isolate("exits", "process.exit(3);");
    let failure = failure(bench.call(&isolate, 0).await);
    assert_eq!(failure.kind, FailureKind::Thrown);
    assert!(failure.message.contains("process.exit(3)"), "{}", failure.message);
}

/// Node's own modules come with compiled code, which V8 takes only where its flags are those of a
/// Node without any.
#[tokio::test]
async fn a_host_takes_the_compiled_code_that_node_carries() {
    let bench = Bench::real().await;
    let isolate = bench
        .isolate("tag", "const v8 = await import('node:v8'); return v8.cachedDataVersionTag();");
    let plain = tokio::process::Command::new("node")
        .args(["-p", "v8.cachedDataVersionTag()"])
        .env_remove("NODE_OPTIONS")
        .output()
        .await
        .expect("node runs");
    let plain: u64 = String::from_utf8_lossy(&plain.stdout).trim().parse().expect("a number");
    assert_eq!(value(bench.call(&isolate, 0).await), json!(plain));
}

#[tokio::test]
async fn a_worker_has_the_heap_of_its_host_and_so_has_a_worker_of_that() {
    let bench = Bench::real().await;
    let code = "
const v8 = await import('node:v8');
const { Worker } = await import('node:worker_threads');
const tell = \"require('node:worker_threads').parentPort.postMessage(require('node:v8').getHeapStatistics().heap_size_limit)\";
const within = `const { Worker, parentPort } = require('node:worker_threads'); new Worker(${JSON.stringify(tell)}, { eval: true }).on('message', (limit) => parentPort.postMessage(limit))`;
const limits = [v8.getHeapStatistics().heap_size_limit];
for (const text of [tell, within]) limits.push(await new Promise((resolve, reject) => new Worker(text, { eval: true }).on('message', resolve).on('error', reject)));
return limits;";
    let limits = value(bench.call(&bench.isolate("workers", code), 0).await);
    let own = limits[0].clone();
    assert!(own.as_u64().is_some_and(|bytes| bytes < 512 << 20), "{limits}");
    assert_eq!(limits, json!([own, own, own]));
}
