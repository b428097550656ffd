//! Isolates that serve one call at a time: how many there are, which call one gets next, and when.

use std::collections::BTreeSet;
use std::time::Duration;

use millrace_runner::IsolateSpec;
use serde_json::{Value, json};

use crate::support::{Bench, LONG, Recorder, alive, until, value};

/// Serves one call at a time, in as many hosts as `isolates_max`.
fn one_call(bench: &Bench, id: &str, body: &str, isolates_max: u32) -> IsolateSpec {
    IsolateSpec { calls_per_isolate: 1, isolates_max, ..bench.isolate(id, body) }
}

#[tokio::test]
async fn calls_at_the_same_time_share_nothing() {
    let bench = Bench::real().await;
    let body = "globalThis.g = process.env.E = event; require; const fs = await import('node:fs'); fs.writeFileSync('/tmp/f', String(event));
        process.chdir('/tmp'); await new Promise((r) => setTimeout(r, 100)); return [globalThis.g, Number(process.env.E), Number(fs.readFileSync('f', 'utf8'))];";
    let isolate = one_call(&bench, "a", &body.replace("require; ", ""), 8);
    let calls: Vec<_> = (0..8).map(|n| bench.spawn(&isolate, n, LONG, &Recorder::new())).collect();
    for (n, call) in calls.into_iter().enumerate() {
        assert_eq!(value(call.await.expect("joins")), json!([n, n, n]));
    }
}

#[tokio::test]
async fn each_call_that_waits_gets_an_isolate_up_to_their_number() {
    let bench = Bench::real().await;
    let isolate = one_call(
        &bench,
        "a",
        "if (event) await new Promise(() => setInterval(() => {}, 1000)); return process.pid;",
        10,
    );
    let calls: Vec<_> =
        (0..10).map(|_| bench.spawn(&isolate, true, LONG, &Recorder::new())).collect();
    until("all are under way", || bench.runner.stats().calls == 10).await;
    assert_eq!(bench.runner.stats().hosts, 10);
    let one_more = bench.spawn(&isolate, true, LONG, &Recorder::new());
    until("one more waits", || bench.runner.stats().waiting == 1).await;
    for call in calls {
        call.abort();
    }
    one_more.abort();
    until("it waits no more", || bench.runner.stats().waiting == 0).await;
}

/// A process for each would take as long as it saves.
#[tokio::test]
async fn short_calls_share_as_many_isolates_as_there_are_cpus() {
    let bench = Bench::real().await;
    let isolate = one_call(&bench, "a", "return process.pid;", 64);
    for _ in 0..20 {
        let calls: Vec<_> =
            (0..16).map(|n| bench.spawn(&isolate, n, LONG, &Recorder::new())).collect();
        for call in calls {
            value(call.await.expect("joins"));
        }
    }
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    assert!(
        bench.runner.stats().hosts <= cpus,
        "{} hosts for {cpus} CPUs",
        bench.runner.stats().hosts
    );
}

#[tokio::test]
async fn calls_begin_in_the_order_in_which_they_came_also_while_their_host_starts() {
    let bench = Bench::real().await;
    let isolate = one_call(
        &bench,
        "a",
        "globalThis.seen ??= []; globalThis.seen.push(event); await new Promise((r) => setTimeout(r, event % 3)); return globalThis.seen;",
        1,
    );
    let mut calls = Vec::new();
    for n in 0..12 {
        calls.push(bench.spawn(&isolate, n, LONG, &Recorder::new()));
        until("it waits or has begun", || {
            bench.runner.stats().waiting + bench.runner.stats().calls > 0
                && bench.runner.stats().waiting >= n.min(1)
        })
        .await;
        tokio::task::yield_now().await;
    }
    let mut last = Value::Null;
    for call in calls {
        last = value(call.await.expect("joins"));
    }
    assert_eq!(last, json!((0..12).collect::<Vec<_>>()));
}

#[tokio::test]
async fn the_next_call_begins_once_what_the_one_before_left_running_has_ended() {
    let bench = Bench::real().await;
    let isolate = one_call(
        &bench,
        "a",
        "if (event) setTimeout(() => (globalThis.late = event), 60); return globalThis.late ?? null;",
        1,
    );
    assert_eq!(value(bench.call(&isolate, 7).await), Value::Null);
    assert_eq!(value(bench.call(&isolate, 0).await), json!(7));
}

/// Else it would use a CPU for as long as its host is kept.
#[tokio::test]
async fn a_call_that_leaves_a_loop_behind_loses_its_host_and_no_call() {
    let bench = Bench::set(|c| c.left_running_max = Duration::from_millis(300)).await;
    let isolate = one_call(
        &bench,
        "a",
        "if (event) { setTimeout(() => { for (;;); }, 5); } return process.pid;",
        1,
    );
    let first = value(bench.call(&isolate, true).await);
    let second = value(bench.call(&isolate, false).await);
    assert_ne!(first, second);
    until("the first host is gone", || !alive(&first)).await;
}

/// A loop that lets the event loop turn, so that nothing is asked of the host: it would use a CPU
/// for as long as an idle host is kept.
#[tokio::test]
async fn a_loop_that_lets_others_go_between_ends_after_its_cpu_time() {
    let bench = Bench::set(|c| c.late_cpu_max = Duration::from_millis(300)).await;
    let body = "if (event) { const loop = () => { for (const end = Date.now() + 20; Date.now() < end; ); setTimeout(loop, 1); }; loop(); } return process.pid;";
    let isolates = [one_call(&bench, "a", body, 1), bench.isolate("b", body)];
    for isolate in &isolates {
        let first = value(bench.call(isolate, true).await);
        until("the first host is gone", || !alive(&first)).await;
        assert_ne!(value(bench.call(isolate, false).await), first);
    }
    // Who only waits is left alone.
    let waits = one_call(
        &bench,
        "c",
        "globalThis.since ??= setInterval(() => {}, 5); return process.pid;",
        1,
    );
    let first = value(bench.call(&waits, true).await);
    let hog = value(bench.call(&isolates[0], true).await);
    until("the other is gone", || !alive(&hog)).await;
    assert_eq!(value(bench.call(&waits, true).await), first);
}

#[tokio::test]
async fn a_call_whose_caller_went_away_keeps_its_isolate_until_it_ends() {
    let bench = Bench::real().await;
    let isolate = one_call(
        &bench,
        "a",
        "globalThis.busy = (globalThis.busy ?? 0) + 1; const n = globalThis.busy; if (event) { console.log('here'); await new Promise((r) => setTimeout(r, 100)); } globalThis.busy--; return n;",
        1,
    );
    let log = Recorder::new();
    let gone = bench.spawn(&isolate, true, LONG, &log);
    log.logged("here").await;
    gone.abort();
    assert_eq!(value(bench.call(&isolate, false).await), json!(1), "never two at the same time");
}

#[tokio::test]
async fn isolates_beyond_the_first_are_given_back_once_they_are_idle() {
    let bench = Bench::set(|c| c.surplus_idle = Duration::from_millis(50)).await;
    let isolate = one_call(
        &bench,
        "a",
        "await new Promise((r) => setTimeout(r, 150)); return process.pid;",
        6,
    );
    let mut served = BTreeSet::new();
    // On a busy machine the first may be done with six before the second has started.
    for _ in 0..20 {
        let calls: Vec<_> =
            (0..6).map(|_| bench.spawn(&isolate, 0, LONG, &Recorder::new())).collect();
        for call in calls {
            served.insert(value(call.await.expect("joins")).to_string());
        }
        if served.len() > 1 {
            break;
        }
    }
    assert!(served.len() > 1, "one isolate served all");
    until("one is left", || bench.runner.stats().hosts == 1).await;
}
