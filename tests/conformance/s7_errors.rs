//! Chapter 7: errors.

use millrace_tests::{Server, answer, endpoint, id};
use reqwest::Method;
use serde_json::{Value, json};

fn step(body: &str) -> String {
    format!("export default defineComponent({{ async run({{ steps, $ }}) {{ {body} }} }});")
}

async fn error_of(server: &Server, body: &str) -> Value {
    let workflow = server.workflow("fails", json!([{ "type": "http" }]), &[("here", &step(body))]).await;
    answer(server.raw(Method::GET, &endpoint(&workflow))).await;
    let path = format!("/workflows/{}/$errors/event_summaries?expand=event", id(&workflow));
    server.until("the error", &path, |l| l["page_info"]["count"] == 1).await["data"][0]["event"]["error"].clone()
}

#[tokio::test]
async fn s7_an_error_has_code_cell_id_ts_and_stack_whatever_was_thrown() {
    let server = Server::start().await;
    for (body, code, message) in [
        ("throw new RangeError('too far');", "RangeError", "too far"),
        ("class Own extends Error { constructor(m) { super(m); this.name = 'Own'; } } throw new Own('mine');", "Own", "mine"),
        ("throw 'just text';", "Error", "just text"),
        ("throw { a: 1 };", "Error", ""),
        ("throw undefined;", "Error", ""),
        ("const e = new Error('no stack'); delete e.stack; e.stack = undefined; throw e;", "Error", "no stack"),
        ("await Promise.reject(new TypeError('rejected'));", "TypeError", "rejected"),
        ("return nothing.at.all;", "ReferenceError", "nothing is not defined"),
    ] {
        let error = error_of(&server, body).await;
        assert_eq!(error["code"], code, "{body}: {error}");
        assert!(error["message"].as_str().is_some_and(|m| m.contains(message)), "{body}: {error}");
        assert!(error["cellId"].as_str().is_some_and(|c| c.starts_with("c_")), "{body}: {error}");
        assert!(error["stack"].as_str().is_some_and(|s| !s.is_empty()), "{body}: {error}");
        let ts = error["ts"].as_str().expect("a time");
        assert!(ts.len() == 24 && ts.ends_with('Z') && ts.as_bytes()[10] == b'T' && ts.as_bytes()[19] == b'.', "{ts}");
    }
}

#[tokio::test]
async fn s7_workflow_code_may_handle_errors_itself() {
    let server = Server::start().await;
    let workflow = server
        .workflow("w", json!([]), &[("a", &step("try { throw new Error('x'); } catch (e) { return `handled ${e.message}`; }")), ("b", &step("return 2;"))])
        .await;
    let run = server.post(&format!("/workflows/{}/test", id(&workflow)), &json!({})).await.data();
    assert_eq!(
        (&run["status"], &run["steps"][0]["exports"]["$return_value"], run["steps"].as_array().map(Vec::len)),
        (&json!("succeeded"), &json!("handled x"), Some(2))
    );
}

#[tokio::test]
async fn s7_an_error_in_a_sources_run_is_in_its_logs_and_on_errors() {
    let server = Server::start().await;
    let source = server
        .source("export default { name: 's', version: '1', run(event) { this.$emit({ before: 1 }); throw new TypeError('in a source'); } };", json!({}))
        .await;
    let of_source = server.workflow("one", json!([]), &[("a", &step("return steps.trigger.event.error.code;"))]).await;
    let of_all = server.workflow("all", json!([]), &[("a", &step("return steps.trigger.event.error.message;"))]).await;
    for (emitter, listener) in [(id(&source), id(&of_source)), (&*server.org_id, id(&of_all))] {
        server.post(&format!("/subscriptions?emitter_id={emitter}&listener_id={listener}&event_name=%24errors"), &json!({})).await.data();
    }
    server.run_now(&source, json!({ "n": 1 })).await;
    for (listener, value) in [(&of_source, "TypeError"), (&of_all, "in a source")] {
        let runs = server.until("the listener's run", &format!("/workflows/{}/runs?status=succeeded", id(listener)), |l| l["page_info"]["count"] == 1).await;
        assert_eq!(runs["data"][0]["steps"][0]["exports"]["$return_value"], value);
        assert_eq!(runs["data"][0]["event"]["original_event"], json!({ "n": 1 }));
    }
    let logs = server.get(&format!("/sources/{}/logs", id(&source))).await.text;
    assert!(logs.contains("TypeError: in a source"), "{logs}");
    // What it emitted before is delivered all the same.
    let errors = server.get(&format!("/sources/{}/event_summaries?event_name=%24errors&expand=event", id(&source))).await.json;
    assert_eq!((&errors["page_info"]["count"], &errors["data"][0]["metadata"]["name"]), (&json!(1), &json!("$errors")));
    assert_eq!(server.get(&format!("/sources/{}/event_summaries?event_name=", id(&source))).await.json["data"][0]["event"], json!({ "before": 1 }));
}
