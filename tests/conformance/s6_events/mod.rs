//! Chapter 6: events, errors and their delivery.

mod channels;
mod deferred;

use millrace_tests::smtp::MailServer;
use millrace_tests::{Client, Server, answer, endpoint};
use reqwest::Method;
use serde_json::{Value, json};

async fn emitted(server: &Client, dedupe: &str, runs: Value) -> Vec<Value> {
    let code = format!(
        "export default {{ name: 'd', version: '1', dedupe: '{dedupe}', run(event) {{ for (const [id, ts] of event.emits) this.$emit({{ id }}, {{ id, ts }}); }} }};"
    );
    let id = server.source(&code, json!({})).await["id"].as_str().expect("an id").to_owned();
    for run in runs.as_array().expect("runs") {
        server
            .post(&format!("/sources/{id}/run"), &json!({ "event": { "emits": run } }))
            .await
            .data();
    }
    let list = server.get(&format!("/sources/{id}/event_summaries?expand=event")).await.json;
    list["data"]
        .as_array()
        .expect("events")
        .iter()
        .rev()
        .map(|e| e["event"]["id"].clone())
        .collect()
}

#[tokio::test]
async fn s6_4_unique_emits_an_id_once() {
    let server = Server::shared().await;
    assert_eq!(
        emitted(&server, "unique", json!([[["a"], ["b"], ["a"]], [["b"], ["c"]]])).await,
        [json!("a"), json!("b"), json!("c")]
    );
}

#[tokio::test]
async fn s6_4_greatest_emits_only_larger_ids() {
    let server = Server::shared().await;
    assert_eq!(
        emitted(&server, "greatest", json!([[[2], [5]], [[3], [5], [7]]])).await,
        [json!(2), json!(5), json!(7)]
    );
}

#[tokio::test]
async fn s6_4_last_emits_only_what_follows_the_cached_id() {
    let server = Server::shared().await;
    assert_eq!(
        emitted(&server, "last", json!([[["a"], ["b"]], [["a"], ["b"], ["c"]]])).await,
        [json!("a"), json!("b"), json!("c")]
    );
}

#[tokio::test]
async fn s6_4_events_with_ts_are_emitted_oldest_first() {
    let server = Server::shared().await;
    assert_eq!(
        emitted(&server, "unique", json!([[["new", 300], ["old", 100], ["mid", 200]]])).await,
        [json!("old"), json!("mid"), json!("new")]
    );
}

#[tokio::test]
async fn s6_4_last_emits_everything_where_no_id_matches_and_caches_the_newest_timestamp() {
    let server = Server::shared().await;
    let all = json!([[["a"], ["b"]], [["x"], ["y"]]]);
    assert_eq!(
        emitted(&server, "last", all).await,
        [json!("a"), json!("b"), json!("x"), json!("y")]
    );
    // `new` is the newest, though it was emitted first: only what is after it comes again.
    let timed = json!([[["new", 300], ["old", 100]], [["old", 100], ["new", 300], ["newer", 400]]]);
    assert_eq!(emitted(&server, "last", timed).await, [json!("old"), json!("new"), json!("newer")]);
}

#[tokio::test]
async fn s6_4_greatest_needs_numbers_and_takes_texts_of_numbers() {
    let server = Server::shared().await;
    assert_eq!(
        emitted(&server, "greatest", json!([[["9"], ["10"]], [["10"], ["11"]]])).await,
        [json!("9"), json!("10"), json!("11")]
    );
    let code = "export default { name: 'n', version: '1', dedupe: 'greatest', run() { this.$emit({}, { id: 'abc' }); this.$emit({ ok: 1 }, { id: 1 }); } };";
    let source = server.source(code, json!({})).await;
    server.run_now(&source, json!({})).await;
    let logs =
        server.get(&format!("/sources/{}/logs", source["id"].as_str().expect("an id"))).await.text;
    assert!(logs.contains("abc"), "{logs}");
    assert_eq!(server.emitted(&source).await, [json!({ "ok": 1 })]);
}

#[tokio::test]
async fn s6_4_an_event_without_id_under_a_strategy_is_a_clear_error_in_the_log() {
    let server = Server::shared().await;
    let id = server
        .source("export default { name: 'n', version: '1', dedupe: 'unique', run() { this.$emit({}, {}); this.$emit({ ok: 1 }, { id: 1 }); } };", json!({}))
        .await["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    server.post(&format!("/sources/{id}/run"), &json!({})).await.data();
    let logs = server.get(&format!("/sources/{id}/logs")).await.text;
    assert!(logs.contains("without an `id`"), "{logs}");
    assert_eq!(
        server.get(&format!("/sources/{id}/event_summaries")).await.json["page_info"]["count"],
        1
    );
}

#[tokio::test]
async fn s6_1_every_listener_gets_each_error_once_and_an_error_in_a_handler_does_not_loop() {
    let server = Server::shared().await;
    let fails = server
        .workflow(
            "fails",
            json!([{ "type": "http" }]),
            &[("a", "export default defineComponent({ run() { throw new Error('x'); } });")],
        )
        .await;
    let good =
        server.workflow("good", json!([]), &[("a", "export default defineComponent({ run({ steps }) { return steps.trigger.event.error.code; } });")]).await;
    let bad = server
        .workflow(
            "bad",
            json!([]),
            &[(
                "a",
                "export default defineComponent({ run() { throw new TypeError('handler'); } });",
            )],
        )
        .await;
    let id = |w: &Value| w["id"].as_str().expect("an id").to_owned();
    for (emitter, listener) in [
        (server.org_id.clone(), id(&good)),
        (id(&fails), id(&good)),
        (server.org_id.clone(), id(&bad)),
    ] {
        server
            .post(
                "/subscriptions",
                &json!({ "emitter_id": emitter, "listener_id": listener, "event_name": "$errors" }),
            )
            .await
            .data();
    }
    for _ in 0..3 {
        answer(server.raw(Method::GET, &endpoint(&fails))).await;
    }
    let runs = server
        .until("three runs", &format!("/workflows/{}/runs?status=succeeded", id(&good)), |l| {
            l["page_info"]["total_count"] == 3
        })
        .await;
    assert_eq!(runs["data"][0]["steps"][0]["exports"]["$return_value"], "Error");
    server
        .until(
            "three failed handlers",
            &format!("/workflows/{}/runs?status=failed", id(&bad)),
            |l| l["page_info"]["total_count"] == 3,
        )
        .await;
    // The handler's own errors are listed, and reached nobody: `good` still has its three runs.
    assert_eq!(
        server.get(&format!("/workflows/{}/$errors/event_summaries", id(&bad))).await.json["page_info"]
            ["count"],
        3
    );
    assert_eq!(
        server.get(&format!("/workflows/{}/runs", id(&good))).await.json["page_info"]["total_count"],
        3
    );
}

#[tokio::test]
async fn s6_1_a_workflow_id_receives_the_errors_of_that_workflow_only() {
    let server = Server::shared().await;
    let step = [(
        "a",
        "export default defineComponent({ run({ $ }) { throw new Error($.context.workflow_name); } });",
    )];
    let one = server.workflow("one", json!([{ "type": "http" }]), &step).await;
    let two = server.workflow("two", json!([{ "type": "http" }]), &step).await;
    let hears = [(
        "a",
        "export default defineComponent({ run({ steps }) { return [steps.trigger.event.error.message, steps.trigger.context.source_type]; } });",
    )];
    let of_one = server.workflow("of one", json!([]), &hears).await;
    let of_all = server.workflow("of all", json!([]), &hears).await;
    let id = |w: &Value| w["id"].as_str().expect("an id").to_owned();
    for (emitter, listener) in [(id(&one), id(&of_one)), ("p_*".into(), id(&of_all))] {
        server.post(&format!("/subscriptions?emitter_id={emitter}&listener_id={listener}&event_name=%24errors"), &json!({})).await.data();
    }
    for workflow in [&two, &one] {
        answer(server.raw(Method::GET, &endpoint(workflow))).await;
    }
    server
        .until("both errors", &format!("/workflows/{}/runs?status=succeeded", id(&of_all)), |l| {
            l["page_info"]["total_count"] == 2
        })
        .await;
    let runs = server
        .until("the one", &format!("/workflows/{}/runs?status=succeeded", id(&of_one)), |l| {
            l["page_info"]["total_count"] == 1
        })
        .await;
    assert_eq!(runs["data"][0]["steps"][0]["exports"]["$return_value"][0], "one");
}

#[tokio::test]
async fn s6_2_a_test_run_sends_nothing() {
    let server = Server::shared().await;
    let workflow = server
        .workflow(
            "fails",
            json!([{ "type": "http" }]),
            &[("a", "export default defineComponent({ run() { throw new Error('x'); } });")],
        )
        .await;
    let id = workflow["id"].as_str().expect("an id");
    let run = server.post(&format!("/workflows/{id}/test"), &json!({ "event": {} })).await.data();
    assert_eq!((&run["status"], &run["error"]["code"]), (&json!("failed"), &json!("Error")));
    assert_eq!(
        server.get(&format!("/workflows/{id}/$errors/event_summaries")).await.json["page_info"]["count"],
        0
    );
    assert_eq!(server.get("/mail").await.json["page_info"]["count"], 0);
}

#[tokio::test]
async fn s3_3_only_a_live_event_of_a_deployed_workflow_reaches_listeners_and_mail() {
    let server = Server::shared().await;
    let step = "export default defineComponent({ run() { throw new Error('x'); } });";
    let handler = server
        .workflow("handler", json!([]), &[("a", "export default defineComponent({ run({ steps }) { return steps.trigger.event.original_context.test; } });")])
        .await;
    let handler = handler["id"].as_str().expect("an id");
    server.post("/subscriptions", &json!({ "emitter_id": server.org_id, "listener_id": handler, "event_name": "$errors" })).await.data();
    let workflow = server.workflow("fails", json!([{ "type": "http" }]), &[("a", step)]).await;
    let id = workflow["id"].as_str().expect("an id");
    // Tests: of what is there, of what is kept nowhere, of an event that was put by; and a replay
    // of a test.
    let test = server.post(&format!("/workflows/{id}/test"), &json!({ "event": {} })).await.data();
    assert_eq!(test["status"], "failed");
    let body =
        json!({ "event": {}, "steps": [{ "namespace": "a", "code": step }], "workflow_id": id });
    assert_eq!(server.post("/workflows/test", &body).await.data()["status"], "failed");
    answer(server.raw(Method::POST, &endpoint(&workflow)).header("x-pd-notrigger", "1")).await;
    // The live event comes last: once it is heard, nothing of the others is on its way.
    answer(server.raw(Method::POST, &endpoint(&workflow))).await;
    let heard = server
        .until("the live error", &format!("/workflows/{handler}/runs?status=succeeded"), |l| {
            l["page_info"]["count"] != 0
        })
        .await;
    assert_eq!(
        (
            &heard["page_info"]["total_count"],
            &heard["data"][0]["steps"][0]["exports"]["$return_value"]
        ),
        (&json!(1), &json!(false))
    );
    assert_eq!(server.get("/mail").await.json["page_info"]["total_count"], 1);
    assert_eq!(
        server.get(&format!("/workflows/{id}/$errors/event_summaries")).await.json["page_info"]["total_count"],
        1
    );
}

#[tokio::test]
async fn s6_3_one_mail_for_an_error_class_and_workflow() {
    let smtp = MailServer::start().await;
    let server =
        Server::start_with(&["--smtp-url", &smtp.url, "--owner-email", "owner@example.test"]).await;
    let step = [(
        "a",
        "export default defineComponent({ run({ steps }) { throw new (globalThis[steps.trigger.event.query.c])('x'); } });",
    )];
    let one = endpoint(&server.workflow("one", json!([{ "type": "http" }]), &step).await);
    let two = endpoint(&server.workflow("two", json!([{ "type": "http" }]), &step).await);
    for url in [
        format!("{one}?c=TypeError"),
        format!("{one}?c=TypeError"),
        format!("{one}?c=RangeError"),
        format!("{two}?c=TypeError"),
    ] {
        answer(server.raw(Method::GET, &url)).await;
    }
    server
        .until("three mails sent", "/mail", |l| {
            l["data"]
                .as_array()
                .is_some_and(|m| m.len() == 3 && m.iter().all(|m| m["status"] == "sent"))
        })
        .await;
    let mails = smtp.mails.lock().expect("not poisoned").clone();
    assert_eq!(mails.len(), 3);
    assert!(
        mails.iter().all(|m| m.contains("owner@example.test") && m.contains("/runs/run_")),
        "{mails:?}"
    );
    assert_eq!(mails.iter().filter(|m| m.contains("Subject: TypeError in one")).count(), 1);
}
