//! Calls that a busy host is given ahead: it is as if they had waited, whatever becomes of the call
//! before them.

use std::time::Duration;

use millrace_runner::{FailureKind, IsolateSpec};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::support::{Bench, LONG, Recorder, SHORT, failure, until, value};

/// What waits is given ahead, however long calls take.
async fn bench() -> Bench {
    Bench::set(|c| c.ahead_wait = Duration::MAX).await
}

/// Serves one call at a time, in as many hosts as `isolates_max`.
fn one_call(bench: &Bench, body: &str, isolates_max: u32) -> IsolateSpec {
    IsolateSpec { calls_per_isolate: 1, isolates_max, ..bench.isolate("a", body) }
}

/// Serves calls that begin in order, in up to four hosts.
fn in_order(bench: &Bench) -> IsolateSpec {
    IsolateSpec { in_order: true, ..one_call(bench, "", 4) }
}

async fn values(calls: Vec<JoinHandle<millrace_runner::CallOutcome>>) -> Vec<Value> {
    let mut values = Vec::new();
    for call in calls {
        values.push(value(call.await.expect("joins")));
    }
    values
}

#[tokio::test]
async fn they_begin_one_at_a_time_in_their_order_and_take_over_nothing_of_each_other() {
    let bench = bench().await;
    let body = "const { AsyncLocalStorage } = await import('node:async_hooks'); globalThis.als ??= new AsyncLocalStorage(); globalThis.seen ??= []; globalThis.busy ??= 0;
        const before = [globalThis.als.getStore() ?? null, globalThis.busy++]; globalThis.als.enterWith(event); globalThis.seen.push(event);
        await null; globalThis.cur = event; await new Promise(setImmediate); globalThis.busy--; return [...before, globalThis.cur, globalThis.seen.length];";
    let isolate = one_call(&bench, body, 1);
    let calls: Vec<_> = (0..40).map(|n| bench.spawn(&isolate, n, LONG, &Recorder::new())).collect();
    let expected: Vec<_> = (0..40).map(|n| json!([null, 0, n, n + 1])).collect();
    assert_eq!(values(calls).await, expected);
}

/// Else they would wait for as long as it does.
#[tokio::test]
async fn a_call_that_awaits_something_gives_them_to_other_hosts() {
    let bench = bench().await;
    let isolate = one_call(
        &bench,
        "if (event) { console.log('here'); await new Promise((r) => setInterval(() => {}, 1000)); } return event;",
        4,
    );
    let log = Recorder::new();
    let waits = bench.spawn(&isolate, true, LONG, &log);
    log.logged("here").await;
    let calls: Vec<_> =
        (0..8).map(|_| bench.spawn(&isolate, false, LONG, &Recorder::new())).collect();
    assert_eq!(values(calls).await, vec![json!(false); 8]);
    waits.abort();
}

#[tokio::test]
async fn they_begin_after_what_the_call_before_left_running() {
    let bench = bench().await;
    let isolate = one_call(
        &bench,
        "const late = globalThis.late ?? null; if (event) setTimeout(() => (globalThis.late = event), 60); return late;",
        1,
    );
    let calls: Vec<_> = [7, 0, 0]
        .into_iter()
        .map(|event| bench.spawn(&isolate, event, LONG, &Recorder::new()))
        .collect();
    assert_eq!(values(calls).await, [Value::Null, json!(7), json!(7)]);
}

/// A call that dies, blocks the event loop beyond its time, or leaves too much, and calls that were
/// behind it: none of them is lost, or fails.
#[tokio::test]
async fn a_host_that_ends_loses_none_that_had_not_begun() {
    let bench = bench().await;
    let ends = [
        (
            "process.kill(process.pid, 'SIGKILL'); await new Promise(() => {});",
            LONG,
            FailureKind::HostCrashed,
        ),
        ("for (;;);", SHORT, FailureKind::Timeout),
        ("return 'x'.repeat(7 << 20);", LONG, FailureKind::PayloadTooLarge),
    ];
    for (n, (end, timeout, kind)) in ends.into_iter().enumerate() {
        let body = format!(
            "if (event) {{ console.log('here'); for (const end = Date.now() + 50; Date.now() < end;); {end} }} return event;"
        );
        let isolate = IsolateSpec { id: format!("a{n}"), ..one_call(&bench, &body, 2) };
        let log = Recorder::new();
        let first = bench.spawn(&isolate, true, timeout, &log);
        log.logged("here").await;
        let calls: Vec<_> =
            (0..6).map(|_| bench.spawn(&isolate, false, LONG, &Recorder::new())).collect();
        assert_eq!(values(calls).await, vec![json!(false); 6], "{end}");
        assert_eq!(failure(first.await.expect("joins")).kind, kind, "{end}");
    }
}

/// A host that holds what comes until it is asked for one of them back, and then ends the others.
const HOLDS: &str = "const queue = []; on.call = (call) => { queue.push(call); if (queue.length === 1) send({ t: 'log', id: call.id, level: 'log', text: 'holding', ts: 0 }); };
    on.back = ({ id }) => { const at = queue.findIndex((call) => call.id === id); if (at > 0) { queue.splice(at, 1); send({ t: 'back', id }); }
        if (queue.length === 3) for (const call of queue.splice(0)) done(call.id, call.event); };";

#[tokio::test]
async fn one_that_nobody_waits_for_any_more_is_taken_back() {
    let bench = Bench::fake_set(HOLDS, |c| c.ahead_wait = Duration::MAX).await;
    let isolate = IsolateSpec { calls_per_isolate: 1, ..bench.isolate("a", "") };
    let log = Recorder::new();
    let mut calls = vec![bench.spawn(&isolate, 0, LONG, &log)];
    log.logged("holding").await;
    for n in 1..4 {
        calls.push(bench.spawn(&isolate, n, LONG, &Recorder::new()));
        until("it is ahead", || bench.runner.stats().waiting == n).await;
    }
    calls.remove(2).abort();
    // The host ends the others once it has given that one back.
    assert_eq!(values(calls).await, [json!(0), json!(1), json!(3)]);
    assert_eq!(bench.runner.stats().waiting, 0);
}

#[tokio::test]
async fn a_host_that_speaks_of_one_that_it_has_not_begun_or_gives_back_what_it_has_not_is_ended() {
    let forged = [
        "done(call.id + 1, 'forged')",
        "send({ t: 'log', id: call.id + 1, level: 'log', text: 'forged', ts: 0 })",
        "send({ t: 'log', id: call.id + 1, level: 'log', text: 'forged', ts: 0, late: true })",
        "send({ t: 'back', id: call.id })",
        "send({ t: 'back', id: call.id + 7 })",
    ];
    for code in forged {
        let code = format!(
            "let first; on.call = (call) => {{ if (!first) first = call; else ((call) => {{ {code}; }})(first); }};"
        );
        let bench = Bench::fake_set(&code, |c| c.ahead_wait = Duration::MAX).await;
        let isolate = IsolateSpec { calls_per_isolate: 1, ..bench.isolate("a", "") };
        let calls: Vec<_> =
            (0..2).map(|n| bench.spawn(&isolate, n, LONG, &Recorder::new())).collect();
        // The second goes to the next host, which holds it as its first.
        until("the second waits no more", || {
            bench.runner.stats().waiting == 0 && bench.runner.stats().calls == 1
        })
        .await;
        for call in calls {
            call.abort();
        }
    }
}

/// Also where a process that could begin the next one is free.
#[tokio::test]
async fn where_calls_begin_in_order_each_waits_until_the_code_of_the_one_before_has_begun() {
    let late = "on.call = (call) => { const say = (what) => send({ t: 'log', id: call.id, level: 'log', text: what + ' ' + call.event, ts: 0 });
        say('given'); send({ t: 'awaits', id: call.id });
        if (call.event === 'fails') return done(call.id, 0);
        setTimeout(() => { say('enters'); send({ t: 'entered', id: call.id }); setTimeout(() => done(call.id, 0), 30); }, 30); };";
    let bench = Bench::fake(late).await;
    let isolate = in_order(&bench);
    let log = Recorder::new();
    let events = ["a", "fails", "b", "c", "d"];
    let calls = events.map(|event| bench.spawn(&isolate, event, LONG, &log));
    assert_eq!(values(calls.into()).await, [json!(0), json!(0), json!(0), json!(0), json!(0)]);
    assert!(bench.runner.stats().hosts > 1, "in several processes");
    let expected = [
        "given a",
        "enters a",
        "given fails",
        "given b",
        "enters b",
        "given c",
        "enters c",
        "given d",
        "enters d",
    ];
    assert_eq!(log.logs(), expected);
}

/// Code that keeps its CPU holds up other events of its source for a moment only.
#[tokio::test]
async fn a_call_whose_code_does_not_give_way_holds_up_the_next_one_for_a_moment() {
    let busy = "on.call = (call) => { const say = (what) => send({ t: 'log', id: call.id, level: 'log', text: what + ' ' + call.event, ts: 0 });
        say('given'); if (call.event === 'quick') return done(call.id, 0);
        send({ t: 'awaits', id: call.id }); on.cancel = () => {}; };";
    let bench = Bench::fake(busy).await;
    let isolate = in_order(&bench);
    let log = Recorder::new();
    let never = bench.spawn(&isolate, "busy", LONG, &log);
    let quick = bench.spawn(&isolate, "quick", LONG, &log);
    assert_eq!(values(vec![quick]).await, [json!(0)]);
    assert_eq!(log.logs(), ["given busy", "given quick"]);
    never.abort();
}
