//! Loading, calling, warm hosts, output.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::sync::Notify;

use crate::support::{Bench, LONG, Recorder, failure, until, value};
use millrace_runner::{DbLoader, FailureKind};

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
    let (first, second) = (value(bench.call(&isolate, 0).await), value(bench.call(&isolate, 0).await));
    assert_eq!((&first[0], &second[0]), (&json!(1), &json!(2)));
    assert_eq!(first[1], second[1]);
    assert_eq!(bench.runner.stats().hosts, 1);
}

#[tokio::test]
async fn output_comes_in_order_and_to_its_own_call() {
    let bench = Bench::real().await;
    let isolate = bench.isolate("logs", "for (let i = 0; i < 50; i++) { console.log(event, i); if (i % 7 === 0) await null; } process.stdout.write('end\\n');");
    let (a, b) = (Recorder::new(), Recorder::new());
    let (first, second) = tokio::join!(bench.call_for(&isolate, "a", LONG, &a), bench.call_for(&isolate, "b", LONG, &b));
    assert!(first.result.is_ok() && second.result.is_ok());
    let expected = |name: &str| (0..50).map(|i| format!("{name} {i}")).chain(["end".into()]).collect::<Vec<_>>();
    assert_eq!((a.logs(), b.logs()), (expected("a"), expected("b")));
}

#[tokio::test]
async fn an_error_of_the_code_is_told_with_class_message_and_stack() {
    let bench = Bench::real().await;
    let isolate = bench.isolate("throws", "throw new TypeError('nothing there');");
    let failure = failure(bench.call(&isolate, 0).await);
    assert_eq!((failure.kind, failure.code.as_str(), failure.message.as_str()), (FailureKind::Thrown, "TypeError", "nothing there"));
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
async fn a_source_sees_its_snapshot_and_its_environment() {
    let bench = Bench::real().await;
    let mut isolate = bench.module(
        "db",
        "export default { name: 'd', version: '1', props: { db: '$.service.db' }, run() { return [this.db.get('n'), process.env.PD_COMPONENT]; } };",
    );
    isolate.db = json!({ "n": { "deep": 7 } }).as_object().cloned().map(DbLoader::of);
    isolate.env = [("PD_COMPONENT".to_owned(), "dc_1".to_owned())].into();
    assert_eq!(value(bench.call(&isolate, 0).await), json!([{ "deep": 7 }, "dc_1"]));
}

/// What a source stored is read once all that ran before has settled, however slow the disk is: that time is not the code's.
#[tokio::test]
async fn a_host_that_waits_for_what_was_stored_is_not_taken_for_one_that_does_not_load() {
    let bench = Bench::set(|config| config.load_timeout = Duration::from_secs(3)).await;
    let mut waits = bench.module("waits", "export default { name: 'w', version: '1', props: { db: '$.service.db' }, run() { return this.db.get('n'); } };");
    let (settled, asked) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let told = (settled.clone(), asked.clone());
    waits.db = Some(DbLoader::new(move || {
        let (settled, asked) = told.clone();
        async move {
            asked.notify_one();
            settled.notified().await;
            Ok(json!({ "n": 7 }).as_object().cloned().unwrap_or_default())
        }
    }));
    let waiting = bench.spawn(&waits, 0, LONG, &Recorder::new());
    asked.notified().await;
    // One that begins later, and uses up its own time to load.
    let loops = bench.module("loops", "await new Promise(() => setInterval(() => {}, 1000)); export default {};");
    let failed = failure(bench.call(&loops, 0).await);
    assert_eq!(failed.kind, FailureKind::LoadFailed);
    assert!(failed.message.contains("not loaded within 3 s"), "{}", failed.message);
    assert!(!waiting.is_finished(), "it was given up though it was never told to load");
    settled.notify_one();
    assert_eq!(value(waiting.await.expect("joins")), json!(7));
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
