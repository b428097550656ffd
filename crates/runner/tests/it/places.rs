//! Assignment of hosts: warm ones, new ones, queued calls, rejected calls.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use millrace_runner::FailureKind;
use serde_json::json;

use crate::support::{Bench, LONG, Recorder, SHORT, alive, failure, until, value};

const WAIT: &str = "console.log('here'); if (event === 'wait') await new Promise(() => setInterval(() => {}, 1000)); return [event, process.pid];";

#[tokio::test]
async fn an_idle_host_makes_room_for_another_isolate() {
    let bench = Bench::set(|c| c.hosts_max = 1).await;
    let (a, b) = (bench.isolate("a", WAIT), bench.isolate("b", WAIT));
    let first = value(bench.call(&a, 1).await);
    assert_eq!(value(bench.call(&b, 2).await)[0], 2);
    until("the idle host ends", || !alive(&first[1])).await;
    assert_eq!(bench.runner.stats().hosts, 1);
}

#[tokio::test]
async fn an_unused_host_is_ended_after_a_while() {
    let bench = Bench::set(|c| c.idle_evict = Duration::from_millis(50)).await;
    let pid = value(bench.call(&bench.isolate("a", WAIT), 1).await)[1].clone();
    until("the unused host ends", || !alive(&pid)).await;
    assert_eq!(bench.runner.stats().hosts, 0);
}

#[tokio::test]
async fn an_evicted_host_ends_its_calls_first_and_takes_no_more() {
    let bench = Bench::fake("").await;
    let isolate = bench.isolate("a", "");
    let log = Recorder::new();
    let holding = bench.spawn(&isolate, "hold", SHORT, &log);
    log.logged("holding").await;
    bench.runner.evict("a").await;
    assert_eq!(value(bench.call(&isolate, "elsewhere").await), json!("elsewhere"));
    // Another host was asked: the held call is held still, until its own time is over.
    assert_eq!(failure(holding.await.expect("joins")).kind, FailureKind::Timeout);
}

#[tokio::test]
async fn an_isolate_gets_more_hosts_up_to_its_number_then_calls_wait() {
    let bench = Bench::real().await;
    let mut isolate = bench.isolate("a", WAIT);
    (isolate.calls_per_isolate, isolate.isolates_max) = (1, 2);
    let (one, two) = (Recorder::new(), Recorder::new());
    let calls =
        [bench.spawn(&isolate, "wait", SHORT, &one), bench.spawn(&isolate, "wait", SHORT, &two)];
    one.logged("here").await;
    two.logged("here").await;
    assert_eq!(bench.runner.stats().hosts, 2);
    let third = bench.spawn(&isolate, "third", LONG, &Recorder::new());
    until("the third call waits", || bench.runner.stats().waiting == 1).await;
    assert_eq!(value(third.await.expect("joins"))[0], "third");
    for call in calls {
        assert_eq!(failure(call.await.expect("joins")).kind, FailureKind::Timeout);
    }
}

#[tokio::test]
async fn the_wait_for_a_host_does_not_count_into_the_time() {
    let bench = Bench::set(|c| c.hosts_max = 1).await;
    let (a, b) = (bench.isolate("a", WAIT), bench.isolate("b", WAIT));
    let log = Recorder::new();
    let first = bench.spawn(&a, "wait", SHORT * 4, &log);
    log.logged("here").await;
    assert_eq!(value(bench.call_for(&b, "second", SHORT, &Recorder::new()).await)[0], "second");
    assert_eq!(failure(first.await.expect("joins")).kind, FailureKind::Timeout);
}

#[tokio::test]
async fn a_full_queue_refuses() {
    let bench = Bench::set(|c| (c.hosts_max, c.waiting_max) = (1, 1)).await;
    let (a, b) = (bench.isolate("a", WAIT), bench.isolate("b", WAIT));
    let log = Recorder::new();
    let first = bench.spawn(&a, "wait", SHORT, &log);
    log.logged("here").await;
    let second = bench.spawn(&b, "second", LONG, &Recorder::new());
    until("the second call waits", || bench.runner.stats().waiting == 1).await;
    let refused = failure(bench.call(&b, "third").await);
    assert_eq!(
        (refused.kind, refused.message.as_str()),
        (FailureKind::Overloaded, "too many runs wait for a process")
    );
    assert_eq!(value(second.await.expect("joins"))[0], "second");
    assert_eq!(failure(first.await.expect("joins")).kind, FailureKind::Timeout);
}

#[tokio::test]
async fn one_who_gives_up_waiting_leaves_its_place_in_the_queue() {
    let bench = Bench::set(|c| (c.hosts_max, c.waiting_max) = (1, 1)).await;
    let (a, b) = (bench.isolate("a", WAIT), bench.isolate("b", WAIT));
    let log = Recorder::new();
    let first = bench.spawn(&a, "wait", SHORT * 2, &log);
    log.logged("here").await;
    let second = bench.spawn(&b, "second", LONG, &Recorder::new());
    until("the second call waits", || bench.runner.stats().waiting == 1).await;
    second.abort();
    until("it waits no more", || bench.runner.stats().waiting == 0).await;
    assert_eq!(value(bench.call(&b, "third").await)[0], "third");
    assert!(first.await.is_ok());
}

#[tokio::test]
async fn a_place_goes_to_one_who_can_use_it() {
    let bench = Bench::set(|c| c.hosts_max = 2).await;
    let (mut a, mut b) = (bench.isolate("a", WAIT), bench.isolate("b", WAIT));
    (a.calls_per_isolate, b.calls_per_isolate) = (1, 1);
    let (log_a, log_b) = (Recorder::new(), Recorder::new());
    let busy_a = bench.spawn(&a, "wait", LONG, &log_a);
    let busy_b = bench.spawn(&b, "wait", SHORT, &log_b);
    log_a.logged("here").await;
    log_b.logged("here").await;
    // First in the queue is one for whom there is no place for long.
    let waits_a = bench.spawn(&a, 2, LONG, &Recorder::new());
    until("a waits", || bench.runner.stats().waiting == 1).await;
    assert_eq!(value(bench.call(&b, 2).await)[0], 2);
    assert_eq!(failure(busy_b.await.expect("joins")).kind, FailureKind::Timeout);
    assert!(!busy_a.is_finished() && !waits_a.is_finished());
}

#[tokio::test]
async fn those_who_wait_get_hosts_in_their_order() {
    let bench = Bench::set(|c| c.hosts_max = 1).await;
    let mut isolate = bench.isolate(
        "a",
        "console.log('here'); if (event === 'wait') await new Promise((r) => setTimeout(r, 100)); globalThis.n = (globalThis.n ?? 0) + 1; return n;",
    );
    isolate.calls_per_isolate = 1;
    let log = Recorder::new();
    let first = bench.spawn(&isolate, "wait", LONG, &log);
    log.logged("here").await;
    let mut rest = Vec::new();
    for waiting in 1..=5 {
        rest.push(bench.spawn(&isolate, 0, LONG, &Recorder::new()));
        until("it waits", || bench.runner.stats().waiting == waiting).await;
    }
    assert_eq!(value(first.await.expect("joins")), json!(1));
    for (n, call) in rest.into_iter().enumerate() {
        assert_eq!(value(call.await.expect("joins")), json!(n + 2));
    }
}

/// Else one with enough to do would keep its host for ever, and others would never have theirs.
#[tokio::test]
async fn hosts_that_always_have_calls_make_room_one_after_the_other() {
    let bench = Bench::set(|c| c.hosts_max = 1).await;
    let code = "await new Promise((r) => setTimeout(r, 50)); return process.pid;";
    let (a, b) = (bench.isolate("a", code), bench.isolate("b", code));
    let first = value(bench.call(&a, 0).await);
    let is_over = AtomicU32::new(0);
    let flood = || async {
        while is_over.load(Ordering::SeqCst) == 0 {
            value(bench.call(&a, 0).await);
        }
    };
    let other = async {
        value(bench.call(&b, 0).await);
        assert!(!alive(&first));
        is_over.store(1, Ordering::SeqCst);
    };
    tokio::join!(flood(), flood(), flood(), other);
}

/// Nor does one that waits empty all others' hosts of calls.
#[tokio::test]
async fn no_more_hosts_make_room_than_are_waited_for() {
    let bench = Bench::set(|c| c.hosts_max = 4).await;
    let isolates = ["a", "b", "c", "d"]
        .map(|id| bench.isolate(id, "if (event) { console.log('here'); await new Promise((r) => setTimeout(r, event)); } return process.pid;"));
    let [a, b, c, d] = &isolates;
    let mut long = Vec::new();
    for isolate in [a, b, c] {
        let log = Recorder::new();
        long.push(bench.spawn(isolate, 10_000, LONG, &log));
        log.logged("here").await;
    }
    let pids = [value(bench.call(b, 0).await), value(bench.call(c, 0).await)];
    let waits = bench.spawn(d, 0, LONG, &Recorder::new());
    // The one that has had its room for longest takes no call then.
    let quick = || bench.spawn(a, 0, LONG, &Recorder::new());
    let mut next = quick();
    while tokio::time::timeout(Duration::from_millis(100), &mut next).await.is_ok() {
        next = quick();
    }
    for _ in 0..400 {
        assert_eq!([value(bench.call(b, 0).await), value(bench.call(c, 0).await)], pids);
    }
    long[0].abort();
    value(waits.await.expect("joins"));
}

#[tokio::test]
async fn a_host_that_died_while_idle_is_replaced() {
    let bench =
        Bench::fake("attack = (call) => { send({ t: 'done', id: call.id, ok: true, result: process.pid }); setImmediate(() => process.exit(1)); };").await;
    let isolate = bench.isolate("a", "");
    for _ in 0..5 {
        let pid = value(bench.call(&isolate, "attack").await);
        until("it is gone", || !alive(&pid)).await;
        assert_eq!(value(bench.call(&isolate, "fine").await), json!("fine"));
    }
}
