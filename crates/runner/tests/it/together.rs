//! Calls that share a process which ends: nobody can tell whose fault it was, so none is failed for
//! it, and each may run again.

use std::time::Duration;

use millrace_runner::{CallFailure, FailureKind};
use serde_json::json;

use crate::support::{Bench, LONG, Recorder, SHORT, failure, value};

/// What the first call here does with an event.
const CODE: &str = "console.log('here');
    if (event === 'killed') process.kill(process.pid, 'SIGKILL');
    if (event === 'busy') for (;;);
    if (event === 'fill') { const all = []; for (;;) all.push(new Array(1e6).fill({})); }
    if (event === 'files') { (await import('node:fs')).writeFileSync(3, 'not a frame'); }
    await new Promise(() => setInterval(() => {}, 1000));";

/// How a call that waits fails when another one in its process does something; and that one.
async fn beside(bench: &Bench, event: &str, time: Duration) -> (CallFailure, CallFailure) {
    let isolate = bench.isolate(event, CODE);
    let log = Recorder::new();
    let waiting = bench.spawn(&isolate, "wait", LONG, &log);
    log.logged("here").await;
    let other = failure(bench.call_for(&isolate, event, time, &Recorder::new()).await);
    (failure(waiting.await.expect("joins")), other)
}

#[tokio::test]
async fn a_process_that_ends_fails_none_of_several_calls() {
    let bench = Bench::set(|config| config.heap_mb_default = 64).await;
    let causes =
        [("killed", "was killed by signal 9"), ("fill", "memory"), ("files", "it sent a frame")];
    for (event, cause) in causes {
        let (waited, other) = beside(&bench, event, LONG).await;
        for lost in [waited, other] {
            assert_eq!(lost.kind, FailureKind::HostLost, "{event}: {}", lost.message);
            let says = |words| lost.message.contains(words);
            assert!(says("2 runs were in one process") && says(cause), "{}", lost.message);
        }
    }
    let isolate = bench.isolate("alone", CODE);
    let alone = failure(bench.call(&isolate, "killed").await);
    assert_eq!(alone.kind, FailureKind::HostCrashed, "with nobody else it was its own fault");
}

#[tokio::test]
async fn those_in_a_blocked_process_are_lost_also_the_one_whose_time_is_over_first() {
    let bench = Bench::real().await;
    let (waited, busy) = beside(&bench, "busy", SHORT).await;
    for lost in [waited, busy] {
        assert_eq!(lost.kind, FailureKind::HostLost);
        assert!(lost.message.contains("a run in it blocked it"), "{}", lost.message);
    }
    let isolate = bench.isolate("alone", CODE);
    let alone = bench.call_for(&isolate, "busy", SHORT, &Recorder::new()).await;
    assert_eq!(failure(alone).kind, FailureKind::Timeout);
}

/// Their time is over in one moment: the last one finds no other under way.
#[tokio::test]
async fn those_that_began_in_one_moment_are_lost_where_one_of_them_blocks_and_late_where_none_does()
{
    let bench = Bench::real().await;
    for (last, kind) in [("busy", FailureKind::HostLost), ("wait", FailureKind::Timeout)] {
        let isolate = bench.isolate(last, CODE);
        // Loaded before their time begins.
        let early = Recorder::new();
        let first = bench.spawn(&isolate, "wait", LONG, &early);
        early.logged("here").await;
        first.abort();
        let calls = ["wait", "wait", last].map(|event| {
            let log = Recorder::new();
            bench.spawn(&isolate, event, SHORT, &log)
        });
        for call in calls {
            assert_eq!(failure(call.await.expect("joins")).kind, kind, "{last}");
        }
    }
}

#[tokio::test]
async fn a_call_beyond_its_time_leaves_its_process_to_the_others_and_no_trace() {
    let bench = Bench::fake("attack = () => {};").await;
    let isolate = bench.isolate("shared", "");
    let first = bench.spawn(&isolate, "attack", SHORT, &Recorder::new());
    let second = bench.spawn(&isolate, "attack", SHORT * 2, &Recorder::new());
    for call in [first, second] {
        assert_eq!(failure(call.await.expect("joins")).kind, FailureKind::Timeout);
    }
    assert_eq!(value(bench.call(&isolate, "elsewhere").await), json!("elsewhere"));
}
