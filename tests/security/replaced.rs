//! Code that replaces built-ins of the language after its answer: the next event of its source
//! neither waits for the end of its time nor gets what was put there.

use millrace_tests::{answer, endpoint};
use reqwest::Method;
use serde_json::json;

use crate::support::Field;

/// Answers how many events its process had, then leaves a built-in replaced.
fn code(replaced: &str, by: &str) -> String {
    format!(
        "let events = 0;
         export default {{ name: 'replaces', version: '1', props: {{ http: {{ type: '$.interface.http', customResponse: true }} }}, async run() {{
           this.http.respond({{ status: 200, body: 'event ' + ++events }}); await null; {replaced} = {by};
         }} }};"
    )
}

#[tokio::test]
async fn a_built_in_that_a_run_leaves_replaced_is_not_there_in_the_next() {
    let field = Field::start().await;
    for replaced in
        ["Function.prototype.call", "Map.prototype.get", "Promise.all", "globalThis.setTimeout"]
    {
        let source = field.server.source(&code(replaced, "() => 'forged'"), json!({})).await;
        for _ in 0..3 {
            let said = field.send(&source).await;
            assert_eq!((said.status, said.text.as_str()), (200, "event 1"), "{replaced}");
        }
    }
    // A property that each description of a property would have, and Node's listeners of errors.
    for left in [
        ("Object.prototype.get", "() => 'forged'"),
        ("globalThis.gone", "process.removeAllListeners('uncaughtException')"),
        ("globalThis.gone", "process.removeAllListeners('unhandledRejection')"),
    ] {
        let source = field.server.source(&code(left.0, left.1), json!({})).await;
        for _ in 0..3 {
            let said = field.send(&source).await;
            assert_eq!((said.status, said.text.as_str()), (200, "event 1"), "{left:?}");
        }
    }
    // What fails in Node itself fails the run that did it, and no other waits.
    let throws = "() => { throw new TypeError('replaced'); }";
    let source = field.server.source(&code("Array.prototype.pop", throws), json!({})).await;
    for _ in 0..3 {
        answer(field.server.raw(Method::POST, &endpoint(&source)).json(&json!({}))).await;
    }
    let path = format!("/sources/{}/runs?limit=10", source["id"].as_str().expect("an id"));
    let runs = field
        .server
        .until("all runs have ended", &path, |list| {
            let runs = list["data"].as_array().expect("runs");
            runs.len() == 3 && runs.iter().all(|run| !run["finished_at_ms"].is_null())
        })
        .await;
    for run in runs["data"].as_array().expect("runs") {
        assert_ne!(run["error"]["code"], "Timeout", "{run}");
    }
    field.healthy().await;
}
