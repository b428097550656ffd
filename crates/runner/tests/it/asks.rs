//! Questions that code waits for: answered in any order, each once, bounded.

use std::sync::Arc;

use millrace_runner::{
    Ask, AskError, AskResult, Call, Effect, EffectSink, FailureKind, IsolateSpec,
};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use crate::support::{Bench, LONG, SHORT, alive, failure, until, value};

/// Answers by a function, in a task of its own as a server does.
struct Answers<F>(F);

impl<F: Fn(&str, Value) -> AskResult + Send + Sync + Clone + 'static> EffectSink for Answers<F> {
    fn effect(&self, _effect: Effect) {}

    fn ask(&self, mut ask: Ask) {
        let answer = self.0.clone();
        tokio::spawn(async move {
            ask.turn().await;
            let payload = millrace_model::json::from_str(ask.payload.get()).expect("JSON");
            let answer = answer(&ask.kind.clone(), payload);
            ask.answer(answer);
        });
    }
}

/// Leaves every ask unanswered.
struct Forgets;

impl EffectSink for Forgets {
    fn effect(&self, _effect: Effect) {}

    fn ask(&self, ask: Ask) {
        drop(ask);
    }
}

fn raw(value: Value) -> Box<RawValue> {
    to_raw_value(&value).expect("JSON")
}

/// A source with a data store; `body` is that of `async run(event)`.
fn isolate(bench: &Bench, id: &str, body: &str) -> IsolateSpec {
    bench.module(id, &format!("export default {{ name: 't', version: '1', props: {{ store: {{ type: 'data_store' }} }}, async run(event) {{ {body} }} }};"))
}

async fn call(
    bench: &Bench,
    isolate: &IsolateSpec,
    sink: Arc<dyn EffectSink>,
) -> millrace_runner::CallOutcome {
    let body = raw(
        json!({ "kind": "source", "module": "m", "hook": null, "event": "attack", "props": { "store": "ds_1" } }),
    );
    bench
        .runner
        .call(Arc::new(isolate.clone()), Call { body, timeout: LONG, steps: Vec::new() }, sink)
        .await
}

#[tokio::test]
async fn an_ask_is_answered_with_a_value_nothing_or_an_error() {
    let bench = Bench::real().await;
    let code =
        "const got = [await this.store.get('a'), await this.store.get('none') === undefined];
        try { await this.store.get('bad'); } catch (error) { got.push(error.name, error.message); }
        return got;";
    let answers = |kind: &str, payload: Value| match payload["key"].as_str() {
        Some("a") => Ok(Some(raw(json!({ "kind": kind, "store": payload["store"] })))),
        Some("none") => Ok(None),
        _ => Err(AskError::new("Forbidden", "not yours")),
    };
    let got = value(call(&bench, &isolate(&bench, "ask", code), Arc::new(Answers(answers))).await);
    assert_eq!(
        got,
        json!([{ "kind": "data_store.get", "store": "ds_1" }, true, "Forbidden", "not yours"])
    );
}

#[tokio::test]
async fn far_more_asks_than_may_be_open_are_all_answered() {
    let bench = Bench::real().await;
    let code = "const all = await Promise.all(Array.from({ length: 1000 }, (_, n) => this.store.get(String(n)))); return all.every((v, n) => v === String(n));";
    let answers = |_: &str, payload: Value| Ok(Some(raw(payload["key"].clone())));
    assert_eq!(
        value(call(&bench, &isolate(&bench, "many", code), Arc::new(Answers(answers))).await),
        json!(true)
    );
}

#[tokio::test]
async fn an_ask_that_nobody_knows_or_answers_fails_with_an_error_that_says_so() {
    let bench = Bench::real().await;
    let isolate = isolate(&bench, "unknown", "return await this.store.get('a');");
    let unknown =
        failure(call(&bench, &isolate, Arc::new(crate::support::Recorder::default())).await);
    assert_eq!(
        (unknown.kind, unknown.code.as_str(), unknown.message.as_str()),
        (FailureKind::Thrown, "NotFound", "`data_store.get` is not known here")
    );
    let forgotten = failure(call(&bench, &isolate, Arc::new(Forgets)).await);
    assert_eq!((forgotten.kind, forgotten.code.as_str()), (FailureKind::Thrown, "InternalFailure"));
}

#[tokio::test]
async fn a_payload_that_is_too_large_is_refused_and_harms_nothing() {
    let bench = Bench::real().await;
    let code = "try { await this.store.set('a', 'x'.repeat(3 << 20)); } catch (error) { return [error.name, await this.store.get('b')]; }";
    let answers = |kind: &str, _: Value| Ok(Some(raw(json!(kind))));
    assert_eq!(
        value(call(&bench, &isolate(&bench, "large", code), Arc::new(Answers(answers))).await),
        json!(["PayloadTooLarge", "data_store.get"])
    );
}

#[tokio::test]
async fn hosts_that_ask_against_the_protocol_are_ended() {
    for (code, said) in [
        (
            "for (let n = 1; n <= 101; n++) send({ t: 'ask', id: call.id, ask: n, kind: 'data_store.get', payload: {} });",
            "more unanswered asks",
        ),
        (
            "for (const n of [1, 1]) send({ t: 'ask', id: call.id, ask: n, kind: 'data_store.get', payload: {} });",
            "number does not rise",
        ),
        (
            "send({ t: 'ask', id: call.id, ask: 0, kind: 'data_store.get', payload: {} });",
            "number does not rise",
        ),
        (
            "send({ t: 'ask', id: call.id + 1, ask: 1, kind: 'data_store.get', payload: {} });",
            "a call it was not given",
        ),
        (
            "send({ t: 'ask', id: call.id, kind: 'data_store.get', payload: {} });",
            "`ask` without `ask`",
        ),
        (
            "send({ t: 'log', id: call.id, level: 'log', text: 'x', ts: 0, late: true });",
            "a call it was not given",
        ),
    ] {
        let bench = Bench::fake(&format!("attack = (call) => {{ {code} }};")).await;
        /// Keeps all asks open.
        #[derive(Default)]
        struct Keeps(parking_lot::Mutex<Vec<Ask>>);
        impl EffectSink for Keeps {
            fn effect(&self, _effect: Effect) {}
            fn ask(&self, ask: Ask) {
                self.0.lock().push(ask);
            }
        }
        let failure =
            failure(call(&bench, &bench.isolate("bad", ""), Arc::new(Keeps::default())).await);
        assert_eq!(failure.kind, FailureKind::ProtocolViolation, "{code}");
        assert!(failure.message.contains(said), "{code}: {}", failure.message);
    }
}

#[tokio::test]
async fn one_that_never_reads_its_answers_runs_into_its_time() {
    let bench = Bench::fake("attack = (call) => { socket.pause(); send({ t: 'ask', id: call.id, ask: 1, kind: 'x', payload: {} }); };").await;
    let isolate = bench.isolate("deaf", "");
    let outcome = bench.call_for(&isolate, "attack", SHORT, &crate::support::Recorder::new()).await;
    assert_eq!(failure(outcome).kind, FailureKind::Timeout);
}

#[tokio::test]
async fn lines_after_the_end_are_dropped_and_bounded() {
    let bench = Bench::real().await;
    let isolate = bench.isolate("late", "if (!event) setTimeout(() => { for (let n = 0; n < 300; n++) console.log(n); globalThis.said = true; }, 20); else while (!globalThis.said) await new Promise((y) => setTimeout(y, 5)); return process.pid;");
    let pid = value(bench.call(&isolate, 0).await);
    // Its answer comes behind those lines.
    assert_eq!(value(bench.call(&isolate, 1).await), pid);
    assert_eq!(value(bench.call(&isolate, 1).await), pid, "its host lives on");
    let late = "send({ t: 'log', id: call.id, level: 'log', text: 'x', ts: 0, late: true })";
    let bench = Bench::fake(&format!("attack = (call) => {{ done(call.id, process.pid); for (let n = 0; n < 101; n++) {late}; }};")).await;
    let pid = value(bench.call(&bench.isolate("flood", ""), "attack").await);
    until("its host ends", || !alive(&pid)).await;
}
