//! Loading, calling, warm hosts, output.

use std::time::Duration;

use serde_json::json;

use crate::support::{Bench, LONG, Recorder, failure, until, value};
use millrace_runner::FailureKind;

#[tokio::test]
async fn a_module_is_loaded_and_called() {
    let bench = Bench::real().await;
    let isolate = bench.isolate("double", "return { twice: event.n * 2 };");
    assert_eq!(value(bench.call(&isolate, json!({ "n": 21 })).await), json!({ "twice": 42 }));
}

#[tokio::test]
async fn a_warm_host_serves_the_next_call_and_keeps_the_module_s_state() {
    let bench = Bench::real().await;
    let isolate = bench.module("count", "let n = 0; export default { name: 'c', version: '1', run() { n += 1; return [n, process.pid]; } };");
    let (first, second) =
        (value(bench.call(&isolate, 0).await), value(bench.call(&isolate, 0).await));
    assert_eq!((&first[0], &second[0]), (&json!(1), &json!(2)));
    assert_eq!(first[1], second[1]);
    assert_eq!(bench.runner.stats().hosts, 1);
}

#[tokio::test]
async fn output_comes_in_order_and_to_its_own_call() {
    let bench = Bench::real().await;
    let isolate = bench.isolate("logs", "for (let i = 0; i < 50; i++) { console.log(event, i); if (i % 7 === 0) await null; } process.stdout.write('end\\n');");
    let (a, b) = (Recorder::new(), Recorder::new());
    let (first, second) = tokio::join!(
        bench.call_for(&isolate, "a", LONG, &a),
        bench.call_for(&isolate, "b", LONG, &b)
    );
    assert!(first.result.is_ok() && second.result.is_ok());
    let expected = |name: &str| {
        (0..50).map(|i| format!("{name} {i}")).chain(["end".into()]).collect::<Vec<_>>()
    };
    assert_eq!((a.logs(), b.logs()), (expected("a"), expected("b")));
}

#[tokio::test]
async fn an_error_of_the_code_is_told_with_class_message_and_stack() {
    let bench = Bench::real().await;
    let isolate = bench.isolate("throws", "throw new TypeError('nothing there');");
    let failure = failure(bench.call(&isolate, 0).await);
    assert_eq!(
        (failure.kind, failure.code.as_str(), failure.message.as_str()),
        (FailureKind::Thrown, "TypeError", "nothing there")
    );
    assert!(failure.stack.contains("throws.mjs"), "{}", failure.stack);
}

#[tokio::test]
async fn a_module_that_does_not_load_says_why_and_leaves_no_host() {
    let bench = Bench::real().await;
    let isolate = bench.module("broken", "import 'not-there'; export default {};");
    let failure = failure(bench.call(&isolate, 0).await);
    assert_eq!(failure.kind, FailureKind::LoadFailed);
    assert!(failure.message.contains("not-there"), "{}", failure.message);
    until("the host ends", || bench.runner.stats().hosts == 0).await;
}

#[tokio::test]
async fn code_sees_its_environment() {
    let bench = Bench::real().await;
    let mut isolate = bench.isolate("env", "return process.env.PD_COMPONENT;");
    isolate.env = [("PD_COMPONENT".to_owned(), "dc_1".to_owned())].into();
    assert_eq!(value(bench.call(&isolate, 0).await), json!("dc_1"));
}

#[tokio::test]
async fn code_that_does_not_load_in_its_time_fails_all_that_wait_for_it() {
    let bench = Bench::set(|config| config.load_timeout = Duration::from_millis(500)).await;
    let loops = bench.module(
        "loops",
        "await new Promise(() => setInterval(() => {}, 1000)); export default {};",
    );
    let calls = [
        bench.spawn(&loops, 0, LONG, &Recorder::new()),
        bench.spawn(&loops, 0, LONG, &Recorder::new()),
    ];
    for call in calls {
        let failed = failure(call.await.expect("joins"));
        assert_eq!(failed.kind, FailureKind::LoadFailed);
        assert!(failed.message.contains("not loaded within"), "{}", failed.message);
    }
    until("its host ends", || bench.runner.stats().hosts == 0).await;
}

#[tokio::test]
async fn a_line_after_the_end_of_its_call_harms_nobody() {
    let bench = Bench::real().await;
    let isolate = bench.module("late", "export default { name: 'l', version: '1', run() { setTimeout(() => console.log('late'), 0); return process.pid; } };");
    let first = value(bench.call(&isolate, 0).await);
    for _ in 0..5 {
        assert_eq!(value(bench.call(&isolate, 0).await), first);
    }
}
