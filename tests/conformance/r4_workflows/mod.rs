//! Workflow semantics (reference 4).

mod answers;
mod context;
mod drafts;
mod entity_tags;
mod flow;
mod limits;
mod pauses;
mod steps;
mod values;

use millrace_tests::{Server, answer, endpoint};
use reqwest::Method;
use serde_json::{Value, json};

#[tokio::test]
async fn r4_2_steps_exports_expressions_summary_and_exit() {
    let server = Server::shared().await;
    let steps = json!([
        { "namespace": "one", "code": "export default defineComponent({ run({ $ }) { $.export('named', { n: 2 }); $.export('$summary', 'did it'); return [1]; } });" },
        { "namespace": "two", "code": "export default defineComponent({ props: { n: 'integer', text: 'string' }, run({ $ }) { const got = [this.n, this.text]; $.export('got', got); return $.flow.exit('enough'); } });",
          "props": { "n": "{{steps.one.named.n}}", "text": "a {{steps.one.$return_value[0]}} b" } },
        { "namespace": "three", "code": "export default defineComponent({ run() { return 'never'; } });" },
    ]);
    let workflow = server.post("/workflows", &json!({ "triggers": [{ "type": "http" }], "steps": steps, "settings": { "name": "w" } })).await.data();
    let id = workflow["id"].as_str().expect("an id");
    assert!(answer(server.raw(Method::POST, &endpoint(&workflow))).await.text.contains("Success"));
    let runs = server
        .until("the run", &format!("/workflows/{id}/runs?status=succeeded"), |l| {
            l["page_info"]["count"] == 1
        })
        .await;
    let run = &runs["data"][0];
    assert_eq!(
        run["steps"][0]["exports"],
        json!({ "named": { "n": 2 }, "$summary": "did it", "$return_value": [1] })
    );
    assert_eq!(run["steps"][1]["exports"]["got"], json!([2, "a 1 b"]));
    assert_eq!(
        (run["steps"].as_array().map(Vec::len), &run["exit_reason"]),
        (Some(2), &json!("enough"))
    );
}

#[tokio::test]
async fn r3_8_respond_at_the_end_immediate_and_missing() {
    let server = Server::shared().await;
    let one = |code: &'static str| {
        let server = &server;
        async move { endpoint(&server.workflow("r", json!([{ "type": "http" }]), &[("a", code)]).await) }
    };
    let end =
        one("export default defineComponent({ async run({ $ }) { await $.respond({ status: 202, headers: { 'X-A': '1' }, body: Buffer.from('bytes') }); } });")
            .await;
    let response = server.raw(Method::GET, &end).send().await.expect("an answer");
    assert_eq!(
        (response.status().as_u16(), response.headers()["x-a"].to_str().ok()),
        (202, Some("1"))
    );
    assert_eq!(response.text().await.ok().as_deref(), Some("bytes"));
    let immediate = one("export default defineComponent({ async run({ $ }) { await $.respond({ immediate: true, status: 200, body: { now: true } }); throw new Error('later'); } });").await;
    assert_eq!(answer(server.raw(Method::GET, &immediate)).await.json, json!({ "now": true }));
    let missing = one("export default defineComponent({ async run({ $ }) { if (globalThis.never) $.respond({}); } });").await;
    let answered = answer(server.raw(Method::GET, &missing)).await;
    assert_eq!((answered.status, answered.text.as_str()), (400, "No $.respond called in workflow"));
    // One that has yet to run may still answer well: the client is told that it is late, and no
    // more.
    let steps = json!([{ "namespace": "a", "code": "export default defineComponent({ async run({ $ }) { await $.respond({ status: 200, body: 'done' }); } });" }]);
    let settings = json!({ "name": "slow", "timeout_ms": 1000, "throttle": { "runs": 1, "interval_ms": 3_600_000 } });
    let slow = server
        .post(
            "/workflows",
            &json!({ "triggers": [{ "type": "http" }], "steps": steps, "settings": settings }),
        )
        .await
        .data();
    assert_eq!(answer(server.raw(Method::GET, &endpoint(&slow))).await.text, "done");
    let late = answer(server.raw(Method::GET, &endpoint(&slow))).await;
    assert!(
        late.status == 504
            && late.text.contains("accepted")
            && late.text.contains("do not send the event again"),
        "{late:?}"
    );
}

#[tokio::test]
async fn r2_19_a_source_triggers_workflows_and_deployments_are_immutable() {
    let server = Server::shared().await;
    let source = server
        .source(
            "export default { name: 's', version: '1', run(e) { this.$emit({ n: e.n }); } };",
            json!({}),
        )
        .await;
    let source_id = source["id"].as_str().expect("an id");
    let step = |n: i32| json!([{ "namespace": "a", "code": format!("export default defineComponent({{ run({{ steps }}) {{ return steps.trigger.event.n + {n}; }} }});") }]);
    let triggers = json!([{ "type": "source", "id": source_id }, { "type": "http" }]);
    let workflow = server
        .post(
            "/workflows",
            &json!({ "triggers": triggers, "steps": step(100), "settings": { "name": "w" } }),
        )
        .await
        .data();
    let id = workflow["id"].as_str().expect("an id");
    let last = |count: u64| {
        let (server, path) = (&server, format!("/workflows/{id}/runs?status=succeeded"));
        async move {
            server.until("a run", &path, |l| l["page_info"]["total_count"] == count).await["data"]
                [0]["steps"][0]["exports"]["$return_value"]
                .clone()
        }
    };
    let emit = || async {
        server
            .post(&format!("/sources/{source_id}/run"), &json!({ "event": { "n": 1 } }))
            .await
            .data()
    };
    emit().await;
    assert_eq!(last(1).await, 101);
    // A changed draft does nothing until it is deployed.
    server.put(&format!("/workflows/{id}"), &json!({ "steps": step(200) })).await.data();
    emit().await;
    assert_eq!(last(2).await, 101);
    server.post(&format!("/workflows/{id}/deploy"), &json!({})).await.data();
    emit().await;
    assert_eq!(last(3).await, 201);
    let deployments = server.get(&format!("/workflows/{id}/deployments")).await.json;
    let first = deployments["data"][1]["id"].as_str().expect("an id");
    let rollback = async || {
        server
            .post(&format!("/workflows/{id}/rollback"), &json!({ "deployment_id": first }))
            .await
            .data()
    };
    let draft = async || {
        server.post(&format!("/workflows/{id}/test"), &json!({ "event": { "n": 1 } })).await.data()
            ["steps"][0]["exports"]["$return_value"]
            .clone()
    };
    rollback().await;
    emit().await;
    assert_eq!(last(4).await, 101);
    // The draft went back as well: the next deployment, say of another setting, does not bring back
    // what was taken back.
    assert_eq!(draft().await, 101);
    server
        .put(
            &format!("/workflows/{id}"),
            &json!({ "settings": { "timeout_ms": 20_000, "auto_deploy": true } }),
        )
        .await
        .data();
    emit().await;
    // The test of the draft is one of them.
    assert_eq!(last(6).await, 101);
    // One that holds what was never deployed stays.
    server.put(&format!("/workflows/{id}"), &json!({ "steps": step(300) })).await.data();
    rollback().await;
    assert_eq!(draft().await, 301);
}

#[tokio::test]
async fn r2_19_a_draft_is_discarded_for_what_is_live_with_its_secrets() {
    let server = Server::shared().await;
    let code = "export default defineComponent({ props: { token: { type: 'string', secret: true, optional: true } }, run() { return this.token?.length; } });";
    let step = |props: Value| json!([{ "namespace": "a", "code": code, "props": props }]);
    let new = json!({ "name": "w", "triggers": [{ "type": "http" }], "steps": step(json!({ "token": "hunter2" })), "settings": { "auto_deploy": false } });
    let path = format!(
        "/workflows/{}",
        server.post("/workflows", &new).await.data()["id"].as_str().expect("an id")
    );
    assert_eq!(
        server.post(&format!("{path}/discard"), &json!({})).await.refusal(),
        (409, "not_deployed")
    );
    server.post(&format!("{path}/deploy"), &json!({})).await.data();
    let live = server.get(&path).await.data();
    server.put(&path, &json!({ "triggers": [], "steps": step(json!({})), "settings": { "timeout_ms": 1000 } })).await.data();
    let back = server.post(&format!("{path}/discard"), &json!({})).await.data();
    // Triggers show when their record was changed, which the discard did.
    let without_times = |record: &Value| {
        let mut triggers = record["triggers"].clone();
        for trigger in
            triggers.as_array_mut().expect("a list").iter_mut().filter_map(Value::as_object_mut)
        {
            trigger.retain(|key, _| !key.ends_with("_at"));
        }
        triggers
    };
    assert_eq!(without_times(&back), without_times(&live));
    for part in ["steps", "settings"] {
        assert_eq!(back[part], live[part]);
    }
    let run = server.post(&format!("{path}/test"), &json!({})).await.data();
    assert_eq!(run["steps"][0]["exports"]["$return_value"], 7);
}

#[tokio::test]
async fn r2_19_an_endpoint_that_is_named_by_its_id_keeps_its_address_and_whether_it_answers() {
    let server = Server::shared().await;
    let first = json!([{ "type": "http" }, { "type": "http", "custom_response": true }, { "type": "timer", "props": { "intervalSeconds": 600 } }]);
    let made = server
        .post("/workflows", &json!({ "name": "w", "triggers": first, "steps": [] }))
        .await
        .data();
    let path = format!("/workflows/{}", made["id"].as_str().expect("an id"));
    let shown = |record: &Value, at: usize| {
        (
            record["triggers"][at]["endpoint_url"].clone(),
            record["triggers"][at]["custom_response"].clone(),
        )
    };
    // The first one goes, and a new one comes behind.
    let second = json!([{ "type": "http", "id": made["triggers"][1]["id"] }, { "type": "http" }]);
    let changed = server.put(&path, &json!({ "triggers": second })).await.data();
    assert_eq!(shown(&changed, 0), shown(&made, 1));
    assert_eq!(shown(&changed, 0).1, true);
    // What names no id takes what is left.
    assert_eq!(shown(&changed, 1), shown(&made, 0));
    // In another order, and told otherwise.
    let third = json!([{ "type": "http", "id": made["triggers"][0]["id"] }, { "type": "http", "id": made["triggers"][1]["id"], "custom_response": false }]);
    let turned = server.put(&path, &json!({ "triggers": third })).await.data();
    assert_eq!((shown(&turned, 0), &shown(&turned, 1).0), (shown(&made, 0), &shown(&made, 1).0));
    assert_eq!(shown(&turned, 1).1, false);
    // An id that is none is refused, and the endpoint stays as it is.
    let refused =
        server.put(&path, &json!({ "triggers": [{ "type": "http", "id": "hi_none" }] })).await;
    assert_eq!(
        (refused.refusal(), &refused.json["details"]["field"]),
        ((422, "invalid_field"), &json!("triggers[0].id")),
        "{}",
        refused.text
    );
    assert_eq!(shown(&server.get(&path).await.data(), 0), shown(&turned, 0));
}

#[tokio::test]
async fn r3_the_next_times_of_a_schedule_are_shown_before_it_is_deployed() {
    let server = Server::shared().await;
    let next = async |query: &str| server.get(&format!("/schedules/next?{query}")).await;
    // Once a day at a time that clocks show once; between days lie 23 to 25 hours.
    let daily = next("cron=30%209%20*%20*%20*&timezone=Europe/Berlin").await.data();
    let times: Vec<i64> =
        daily["next_ms"].as_array().expect("a list").iter().filter_map(Value::as_i64).collect();
    assert_eq!(times.len(), 5);
    assert!(
        times
            .windows(2)
            .all(|pair| (23 * 3_600_000..=25 * 3_600_000).contains(&(pair[1] - pair[0]))),
        "{times:?}"
    );
    let often = next("interval_seconds=90").await.data();
    let times: Vec<i64> =
        often["next_ms"].as_array().expect("a list").iter().filter_map(Value::as_i64).collect();
    assert!(
        times.len() == 5 && times.windows(2).all(|pair| pair[1] - pair[0] == 90_000),
        "{times:?}"
    );
    assert_eq!(next("cron=1%202").await.refusal(), (422, "invalid_schedule"));
    assert_eq!(
        next("cron=*%20*%20*%20*%20*&timezone=Nowhere").await.refusal(),
        (422, "invalid_schedule")
    );
    assert_eq!(next("").await.status, 422);
}

#[tokio::test]
async fn r2_17_a_published_action_runs_in_a_step() {
    let server = Server::shared().await;
    let code = "export default { name: 'Add', key: 'math-add', version: '0.0.1', type: 'action', props: { a: 'integer', b: 'integer' }, async run({ $ }) { $.export('$summary', 'added'); return this.a + this.b; } };";
    let published = server
        .post("/components", &json!({ "component_code": code, "publish": true }))
        .await
        .data();
    assert_eq!((&published["key"], &published["type"]), (&json!("math-add"), &json!("action")));
    let steps = json!([{ "namespace": "add", "component_key": "math-add", "props": { "a": 2, "b": "{{steps.trigger.event.b}}" } }]);
    let workflow = server
        .post("/workflows", &json!({ "triggers": [], "steps": steps, "settings": { "name": "w" } }))
        .await
        .data();
    let run = server
        .post(
            &format!("/workflows/{}/test", workflow["id"].as_str().expect("an id")),
            &json!({ "event": { "b": 40 } }),
        )
        .await
        .data();
    assert_eq!(run["steps"][0]["exports"]["$return_value"], 42);
    assert_eq!(run["steps"][0]["component_key"], "math-add");
}

#[tokio::test]
async fn r4_6_a_busy_loop_and_a_full_heap_end_with_named_errors_and_harm_nobody() {
    let server = Server::shared().await;
    let steps = |code: &str| json!([{ "namespace": "first", "code": "export default defineComponent({ run() { return 1; } });" }, { "namespace": "hog", "code": code }]);
    for (code, error) in [
        ("export default defineComponent({ run() { for (;;) {} } });", "Timeout"),
        (
            "export default defineComponent({ run() { const a = []; for (;;) a.push(new Array(1e5).fill(a.length)); } });",
            "OutOfMemory",
        ),
    ] {
        let settings = json!({ "name": error, "timeout_ms": if error == "Timeout" { 500 } else { 25_000 }, "memory_mb": 64 });
        let workflow = server.post("/workflows", &json!({ "triggers": [{ "type": "http" }], "steps": steps(code), "settings": settings })).await.data();
        let id = workflow["id"].as_str().expect("an id");
        answer(server.raw(Method::GET, &endpoint(&workflow))).await;
        let list = server
            .until(error, &format!("/workflows/{id}/$errors/event_summaries?expand=event"), |l| {
                l["page_info"]["count"] == 1
            })
            .await;
        assert_eq!(list["data"][0]["event"]["error"]["code"], error);
        assert_eq!(list["data"][0]["event"]["error"]["cellId"], workflow["steps"][1]["id"]);
        let runs = server.get(&format!("/workflows/{id}/runs")).await.json;
        assert_eq!(runs["data"][0]["steps"][0]["exports"]["$return_value"], 1);
    }
    assert_eq!(server.get("/users/me").await.status, 200);
}
