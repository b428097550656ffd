//! Hosts that break the protocol: each ends itself and its own run only, while a neighbour goes on.

use std::sync::Arc;

use millrace_runner::{Call, CallFailure, CallOutcome, FailureKind};
use serde_json::json;
use serde_json::value::RawValue;

use crate::support::{Bench, LONG, Recorder, SHORT, alive, failure, until, value};

/// Runs the attack while a neighbour's call is under way, and sees that the neighbour never
/// notices.
async fn attack(code: &str) -> CallFailure {
    let bench = Bench::fake(&format!("attack = (call) => {{ {code} }};")).await;
    let (bad, neighbour) = (bench.isolate("bad", ""), bench.isolate("neighbour", ""));
    let log = Recorder::new();
    let holding = bench.spawn(&neighbour, "hold", LONG, &log);
    log.logged("holding").await;
    let failed = failure(bench.call(&bad, "attack").await);
    assert_eq!(value(bench.call(&neighbour, "release").await), json!("release"));
    assert_eq!(value(holding.await.expect("joins")), json!("held"));
    // Its isolate is served again, by another process.
    assert_eq!(value(bench.call(&bad, "fine").await), json!("fine"));
    failed
}

async fn violates(code: &str, said: &str) {
    let failure = attack(code).await;
    assert_eq!(
        (failure.kind, failure.code.as_str()),
        (FailureKind::ProtocolViolation, "InternalFailure"),
        "{}",
        failure.message
    );
    assert!(failure.message.contains(said), "{}", failure.message);
}

#[tokio::test]
async fn a_call_that_it_was_not_given() {
    violates(
        "send({ t: 'emit', id: call.id + 1, event: {}, meta: {} });",
        "a call it was not given",
    )
    .await;
    violates("send({ t: 'done', id: 0, ok: true, result: null });", "a call it was not given")
        .await;
    violates("send({ t: 'cancelled', id: call.id });", "a call it was not given").await;
}

#[tokio::test]
async fn an_unknown_type() {
    violates("send({ t: 'grant', id: call.id });", "unknown type").await;
}

#[tokio::test]
async fn garbage() {
    violates("raw([5, 0, 0, 0, 0xff, 0xfe, 0, 1, 2]);", "not of the protocol").await;
    violates("raw(framed('[1,2]'));", "not of the protocol").await;
    violates("raw(framed('['.repeat(100000)));", "not of the protocol").await;
    violates("raw(framed(''));", "not of the protocol").await;
}

#[tokio::test]
async fn fields_of_another_type_or_missing() {
    violates("send({ t: 'log', id: String(call.id), text: 'x' });", "not of the protocol").await;
    violates("send({ t: 'log', id: -1, text: 'x' });", "not of the protocol").await;
    violates("send({ t: 'done', id: call.id });", "`done` without `ok`").await;
    violates("send({ t: 'respond', id: call.id, status: 199 });", "status outside 200 to 599")
        .await;
    violates(
        "send({ t: 'respond', id: call.id, status: 200, body: '***', encoding: 'base64' });",
        "not of the protocol",
    )
    .await;
    violates(
        "send({ t: 'step', id: call.id, namespace: 'a', state: 'finished' });",
        "without exports",
    )
    .await;
}

#[tokio::test]
async fn names_that_no_step_can_have() {
    let long = "const long = 'x'.repeat(100000);";
    for frame in [
        "{ t: 'step', id: call.id, namespace: long, state: 'started' }",
        "{ t: 'send', id: call.id, kind: long, payload: {} }",
        "{ t: 'done', id: call.id, ok: false, error: { message: 'x' }, namespace: long }",
        "{ t: 'done', id: call.id, ok: true, paused: { namespace: long, kind: 'delay', ms: 1 } }",
    ] {
        violates(&format!("{long} send({frame});"), "a name of 100000 bytes, allowed are 64").await;
    }
}

#[tokio::test]
async fn a_long_reason_of_an_exit_is_cut() {
    let bench = Bench::fake(
        "attack = (call) => send({ t: 'done', id: call.id, ok: true, exit: { reason: 'x'.repeat(1000000) } });",
    )
    .await;
    let outcome = bench.call(&bench.isolate("exits", ""), "attack").await;
    let reason = outcome.result.expect("it ended").exit.expect("a reason");
    assert_eq!(reason.len(), (64 << 10) + "\n[cut]".len());
    assert!(reason.ends_with("x\n[cut]"));
}

#[tokio::test]
async fn a_frame_longer_than_allowed() {
    violates("raw([0xff, 0xff, 0xff, 0x7f]);", "a frame of 2147483647 bytes, allowed are 16777216")
        .await;
}

#[tokio::test]
async fn frames_out_of_order() {
    violates("send({ t: 'loaded' });", "loaded twice").await;
    violates("send({ t: 'load_failed', error: { message: 'x' } });", "loaded twice").await;
    violates("send({ t: 'hello', protocol: 1 });", "`hello` comes first, and once").await;
}

#[tokio::test]
async fn frames_that_a_call_sends_once() {
    for t in ["awaits", "entered"] {
        let code = format!("for (const n of [1, 2]) send({{ t: '{t}', id: call.id }});");
        violates(&code, &format!("`{t}` twice")).await;
    }
}

/// How a call of a workflow with the steps `a`, `b` and `c` ends whose host sends these frames.
async fn steps(frames: &str) -> CallOutcome {
    let bench =
        Bench::fake(&format!("on.call = (call) => {{ const id = call.id; {frames} }};")).await;
    let steps = ["a", "b", "c"].map(String::from).to_vec();
    let body = RawValue::from_string(r#"{"kind":"workflow"}"#.into()).expect("JSON");
    let call = Call { body, timeout: LONG, steps };
    bench.runner.call(Arc::new(bench.isolate("steps", "")), call, Recorder::new()).await
}

/// So what a call's steps hold is what the workflow's own steps may.
#[tokio::test]
async fn steps_that_the_workflow_has_not_or_had_before() {
    let state = |namespace: &str, state: &str| {
        format!(
            "send({{ t: 'step', id, namespace: '{namespace}', state: '{state}', exports: {{}} }});"
        )
    };
    let (starts, ends) = (|n| state(n, "started"), |n| state(n, "finished"));
    let next = "a step that is not the next one";
    for (frames, said) in [
        (starts("b"), next),
        (format!("{}{}", ends("a"), starts("d")), next),
        (format!("{}{}", ends("a"), starts("a")), next),
        (format!("{}{}{}{}", ends("a"), starts("c"), ends("c"), starts("b")), next),
        (ends("b"), "the end of a step that is not under way"),
        (format!("{}{}", ends("a"), ends("a")), "the end of a step that is not under way"),
    ] {
        let failed = failure(steps(&frames).await);
        assert_eq!(failed.kind, FailureKind::ProtocolViolation, "{frames}");
        assert!(failed.message.contains(said), "{frames}: {}", failed.message);
    }
    let done = "done(id, 'well');";
    let well = [ends("a"), starts("b"), ends("b"), starts("c"), ends("c"), done.into()].concat();
    assert_eq!(value(steps(&well).await), json!("well"));
}

#[tokio::test]
async fn a_flood_of_how_far_a_step_is() {
    let failed = failure(
        steps(
            "const shown = framed(JSON.stringify({ t: 'step', id, namespace: 'a', state: 'exported', exports: {} }));
             const pour = () => { while (socket.write(shown)) {} socket.once('drain', pour); }; pour();",
        )
        .await,
    );
    assert_eq!(failed.kind, FailureKind::ProtocolViolation);
    assert!(failed.message.contains("how far its steps are"), "{}", failed.message);
}

#[tokio::test]
async fn a_call_that_is_done_twice_is_done_and_its_host_is_not() {
    let bench =
        Bench::fake("attack = (call) => { done(call.id, process.pid); done(call.id, 'again'); };")
            .await;
    let isolate = bench.isolate("twice", "");
    let pid = value(bench.call(&isolate, "attack").await);
    until("its host ends", || !alive(&pid)).await;
    assert_eq!(value(bench.call(&isolate, "fine").await), json!("fine"));
}

#[tokio::test]
async fn loaded_before_it_said_hello() {
    let bench = Bench::fake_silent("").await;
    let failure = failure(bench.call(&bench.isolate("silent", ""), "x").await);
    assert_eq!(failure.kind, FailureKind::ProtocolViolation);
}

#[tokio::test]
async fn another_version_of_the_protocol() {
    let bench = Bench::fake_silent("send({ t: 'hello', protocol: 2 });").await;
    let failure = failure(bench.call(&bench.isolate("new", ""), "x").await);
    assert_eq!(failure.kind, FailureKind::ProtocolViolation);
    assert!(failure.message.contains("another version"), "{}", failure.message);
}

#[tokio::test]
async fn half_a_frame_and_an_end() {
    let failure = attack("socket.write(framed(JSON.stringify({ t: 'done', id: call.id, ok: true })).subarray(0, 9), () => process.exit(7));").await;
    assert_eq!(failure.kind, FailureKind::HostCrashed);
    assert!(failure.message.contains("exited with code 7"), "{}", failure.message);
}

#[tokio::test]
async fn half_a_frame_and_silence() {
    let bench = Bench::fake("attack = (call) => raw(framed(JSON.stringify({ t: 'done', id: call.id, ok: true })).subarray(0, 9));").await;
    let isolate = bench.isolate("half", "");
    let outcome = bench.call_for(&isolate, "attack", SHORT, &Recorder::new()).await;
    assert_eq!(failure(outcome).kind, FailureKind::Timeout);
    assert_eq!(value(bench.call(&isolate, "fine").await), json!("fine"));
}

/// Such a host is ended long before the call's time is over, whatever it was doing and however
/// slowly it goes on.
#[tokio::test]
async fn a_frame_that_does_not_come_on() {
    let broke_off = async |code: &str| violates(code, "and its rest not within").await;
    let half =
        "framed(JSON.stringify({ t: 'emit', id: call.id, event: 'x'.repeat(100) })).subarray";
    let dripping = format!(
        "const bytes = {half}(0, 100); let at = 0; setInterval(() => raw(bytes.subarray(at, ++at)), 1000);"
    );
    let in_payload = format!("raw({half}(0, 40));");
    let whole_before =
        format!("send({{ t: 'emit', id: call.id, event: 1, meta: {{}} }}); raw({half}(0, 60));");
    futures::join!(
        broke_off("raw([9, 0]);"),
        broke_off("raw([0, 0, 0, 1]);"),
        broke_off(&in_payload),
        broke_off(&dripping),
        broke_off(&whole_before),
    );
}

/// One that sends half a frame of its own accord meets its next call with it.
#[tokio::test]
async fn half_a_frame_between_two_calls() {
    let bench = Bench::fake(
        "attack = (call) => { done(call.id, process.pid); raw([200, 0, 0, 0, 123]); };",
    )
    .await;
    let isolate = bench.isolate("between", "");
    let pid = value(bench.call(&isolate, "attack").await);
    until("its host ends", || !alive(&pid)).await;
    assert_eq!(value(bench.call(&isolate, "fine").await), json!("fine"));
}

#[tokio::test]
async fn a_wire_that_is_closed_by_a_process_that_lives_on() {
    let failure = attack(
        "socket.removeAllListeners('close'); socket.destroy(); setInterval(() => {}, 1000);",
    )
    .await;
    assert_eq!(failure.kind, FailureKind::HostCrashed);
}

#[tokio::test]
async fn a_flood_of_output() {
    let failure = attack(
        "const line = framed(JSON.stringify({ t: 'log', id: call.id, level: 'log', text: 'x'.repeat(65536), ts: 0 }));
         const pour = () => { while (socket.write(line)) {} socket.once('drain', pour); }; pour();",
    )
    .await;
    assert_eq!(
        (failure.kind, failure.code.as_str()),
        (FailureKind::PayloadTooLarge, "PayloadTooLarge")
    );
    assert!(failure.message.contains("bytes of output"), "{}", failure.message);
}

/// A line counts by its whole frame.
#[tokio::test]
async fn a_flood_of_frames_with_little_output() {
    let failure = attack(
        "const line = framed(JSON.stringify({ t: 'log', id: call.id, level: 'x'.repeat(1 << 20), text: '', ts: 0 }));
         const pour = () => { while (socket.write(line)) {} socket.once('drain', pour); }; pour();",
    )
    .await;
    assert_eq!(failure.kind, FailureKind::PayloadTooLarge);
    assert!(failure.message.contains("bytes of output"), "{}", failure.message);
}

/// Frames of a call that nobody waits for any more, in a process that has another.
#[tokio::test]
async fn a_flood_of_a_call_that_is_over() {
    let bench = Bench::fake(
        "attack = (call) => {};
         on.cancel = (frame) => { send({ t: 'cancelled', id: frame.id });
           const line = framed(JSON.stringify({ t: 'log', id: frame.id, level: 'log', text: 'x'.repeat(65536), ts: 0 }));
           const pour = () => { while (socket.write(line)) {} socket.once('drain', pour); }; pour(); };",
    )
    .await;
    let isolate = bench.isolate("over", "");
    let log = Recorder::new();
    let other = bench.spawn(&isolate, "hold", LONG, &log);
    log.logged("holding").await;
    let over = bench.call_for(&isolate, "attack", SHORT, &Recorder::new()).await;
    assert_eq!(failure(over).kind, FailureKind::Timeout);
    let failed = failure(other.await.expect("joins"));
    assert!(failed.message.contains("more of runs that are over"), "{}", failed.message);
}

#[tokio::test]
async fn an_answer_with_thousands_of_headers() {
    for (lines, line) in [
        (40_000, "['set-cookie', 'a=1']"),
        (257, "['x-' + i, '1']"),
        (2, "['a', 'x'.repeat(40000)]"),
    ] {
        let frame = format!(
            "{{ t: 'respond', id: call.id, status: 200, headers: Array.from({{ length: {lines} }}, (_, i) => {line}), body: '' }}"
        );
        let failure = attack(&format!("send({frame});")).await;
        assert_eq!(
            (failure.kind, failure.code.as_str()),
            (FailureKind::PayloadTooLarge, "PayloadTooLarge")
        );
        assert!(
            failure.message.contains(&format!("{lines} header lines"))
                && failure.message.contains("allowed are 256"),
            "{}",
            failure.message
        );
    }
}

#[tokio::test]
async fn a_flood_of_events() {
    let failure = attack(
        "const event = framed(JSON.stringify({ t: 'emit', id: call.id, event: 1, meta: {} }));
         const pour = () => { while (socket.write(event)) {} socket.once('drain', pour); }; pour();",
    )
    .await;
    assert_eq!(failure.kind, FailureKind::PayloadTooLarge);
}

#[tokio::test]
async fn one_that_never_reads() {
    let bench = Bench::fake("on.call = () => socket.pause();").await;
    let isolate = bench.isolate("deaf", "");
    let outcome = bench.call_for(&isolate, "x".repeat(4 << 20), SHORT, &Recorder::new()).await;
    assert_eq!(failure(outcome).kind, FailureKind::Timeout);
}
