//! What a step sees: `steps`, `$.context`, expressions, ends (points 1 to 4, 6 and 9 of section 4).

use millrace_tests::{Server, answer, endpoint, id};
use reqwest::Method;
use serde_json::{Value, json};

fn step(body: &str) -> String {
    format!("export default defineComponent({{ async run({{ steps, $ }}) {{ {body} }} }});")
}

async fn test(server: &Server, workflow: &Value, event: Value) -> Value {
    server.post(&format!("/workflows/{}/test", id(workflow)), &json!({ "event": event })).await.data()
}

/// The newest run of a workflow once it has ended.
async fn ended(server: &Server, workflow: &Value) -> Value {
    let fits = |l: &Value| l["data"].as_array().is_some_and(|d| d.first().is_some_and(|r| !r["finished_at_ms"].is_null()));
    server.until("an ended run", &format!("/workflows/{}/runs", id(workflow)), fits).await["data"][0].clone()
}

#[tokio::test]
async fn r4_1_the_trigger_has_its_event_and_context() {
    let server = Server::start().await;
    let workflow = server.workflow("My Flow", json!([{ "type": "http" }]), &[("a", &step("return steps.trigger;"))]).await;
    let url = endpoint(&workflow);
    let request = server.raw(Method::POST, &format!("{url}/deep/er?q=1")).header("X-Odd", "Yes").json(&json!({ "n": 1 }));
    answer(request).await;
    let run = ended(&server, &workflow).await;
    let trigger = &run["steps"][0]["exports"]["$return_value"];
    let event = &trigger["event"];
    let mut fields: Vec<_> = event.as_object().expect("an object").keys().map(String::as_str).collect();
    fields.sort_unstable();
    assert_eq!(fields, ["body", "client_ip", "headers", "method", "path", "query", "url"]);
    assert_eq!(
        (&event["body"], &event["method"], &event["path"], &event["query"]),
        (&json!({ "n": 1 }), &json!("POST"), &json!("/deep/er"), &json!({ "q": "1" }))
    );
    assert_eq!((&event["headers"]["x-odd"], &event["client_ip"]), (&json!("Yes"), &json!("127.0.0.1")));
    assert!(event["url"].as_str().is_some_and(|u| u.starts_with(&url) && u.ends_with("/deep/er")), "{event}");
    let context = &trigger["context"];
    for field in ["id", "trace_id", "ts", "workflow_id", "workflow_name", "deployment_id", "emitter_id", "owner_id", "platform_version", "replay"] {
        assert!(context.get(field).is_some(), "{field}: {context}");
    }
    assert_eq!(
        (&context["workflow_id"], &context["workflow_name"], &context["deployment_id"], &context["emitter_id"], &context["owner_id"], &context["replay"]),
        (&workflow["id"], &json!("My Flow"), &workflow["deployment_id"], &workflow["triggers"][0]["id"], &json!(server.org_id), &json!(false))
    );
    assert_eq!((context["id"].as_str().map(str::len), context["ts"].as_str().map(str::len)), (Some(27), Some(24)));
}

#[tokio::test]
async fn r4_2_a_lone_expression_keeps_its_type_and_text_around_makes_text() {
    let server = Server::start().await;
    let shows = "export default defineComponent({ props: { a: 'any', b: 'string', c: 'any', d: 'string[]', e: 'object', f: 'string' }, run() { return [this.a, this.b, this.c, this.d, this.e, this.f]; } });";
    let props = json!({
        "a": "{{steps.one.$return_value.list}}", "b": "n is {{ steps.one.$return_value.n + 1 }} and {{steps.trigger.event.x}}", "c": "{{steps.one.$return_value.n > 1}}",
        "d": ["{{steps.one.$return_value.list[0]}}", "plain"], "e": { "deep": "{{JSON.stringify(steps.one.$return_value)}}" }, "f": "no } expression {{'}}'}}",
    });
    let steps = json!([{ "namespace": "one", "code": step("return { n: 2, list: ['x', 1] };") }, { "namespace": "two", "code": shows, "props": props }]);
    let workflow = server.post("/workflows", &json!({ "triggers": [], "steps": steps, "settings": { "name": "w" } })).await.data();
    let run = test(&server, &workflow, json!({ "x": "y" })).await;
    let got = &run["steps"][1]["exports"]["$return_value"];
    assert_eq!(*got, json!([["x", 1], "n is 3 and y", true, ["x", "plain"], { "deep": "{\"n\":2,\"list\":[\"x\",1]}" }, "no } expression }}"]), "{run}");
    // One that fails is the step's error and names its prop.
    let steps = json!([{ "namespace": "two", "code": "export default defineComponent({ props: { a: 'string' }, run() {} });", "props": { "a": "{{steps.never.was}}" } }]);
    let workflow = server.post("/workflows", &json!({ "triggers": [], "steps": steps, "settings": { "name": "v" } })).await.data();
    let run = test(&server, &workflow, json!({})).await;
    assert!(run["status"] == "failed" && run["error"]["message"].as_str().is_some_and(|m| m.contains('a')), "{run}");
    assert_eq!(run["error"]["cellId"], workflow["steps"][0]["id"]);
}

#[tokio::test]
async fn r4_3_context_has_the_deadline_and_says_whether_it_is_a_test() {
    let server = Server::start().await;
    let workflow = server.workflow("w", json!([{ "type": "http" }]), &[("a", &step("return { jit: $.context.JIT, left: $.context.deadline - Date.now(), run: $.context.run, same: $.context.id === steps.trigger.context.id };"))]).await;
    let tested = &test(&server, &workflow, json!({})).await["steps"][0]["exports"]["$return_value"];
    assert_eq!((&tested["jit"], &tested["same"], &tested["run"]["runs"]), (&json!(true), &json!(true), &json!(1)));
    answer(server.raw(Method::GET, &endpoint(&workflow))).await;
    let live = &ended(&server, &workflow).await["steps"][0]["exports"]["$return_value"];
    assert_eq!(live["jit"], false);
    assert!(live["left"].as_i64().is_some_and(|ms| (1..=30_000).contains(&ms)), "{live}");
}

#[tokio::test]
async fn r4_4_exit_ends_the_workflow_with_and_without_return() {
    let server = Server::start().await;
    for body in [
        "return $.flow.exit('enough');",
        "$.flow.exit('enough'); throw new Error('not reached');",
        "const stop = () => $.flow.exit('enough'); [1].forEach(stop);",
        "await (async () => $.flow.exit('enough'))();",
    ] {
        let workflow = server.workflow("w", json!([]), &[("one", &step(body)), ("two", &step("return 'never';"))]).await;
        let run = test(&server, &workflow, json!({})).await;
        assert_eq!(
            (&run["status"], run["steps"].as_array().map(Vec::len), &run["exit_reason"]),
            (&json!("succeeded"), Some(1), &json!("enough")),
            "{body}: {run}"
        );
    }
}

#[tokio::test]
async fn r4_2_exports_of_a_step_are_there_for_the_later_ones() {
    let server = Server::start().await;
    let first =
        step("$.export('list', [1]); $.export('list', [1, 2]); $.export('$summary', 'two'); const o = { n: 1 }; $.export('o', o); o.n = 2; return undefined;");
    let second = step("steps.first.list.push(3); return [steps.first.list, steps.first.$summary, steps.first.o.n, '$return_value' in steps.first];");
    let workflow =
        server.workflow("w", json!([]), &[("first", &first), ("second", &second), ("third", &step("return steps.second.$return_value.length;"))]).await;
    let run = test(&server, &workflow, json!({})).await;
    assert_eq!(run["steps"][1]["exports"]["$return_value"], json!([[1, 2, 3], "two", 1, false]));
    assert_eq!(run["steps"][2]["exports"]["$return_value"], 4);
    assert_eq!(run["steps"][0]["exports"]["$summary"], "two");
}

#[tokio::test]
async fn r4_6_a_promise_that_nobody_awaits_and_that_fails_fails_its_step() {
    let server = Server::start().await;
    let workflow = server.workflow("w", json!([]), &[("one", &step("Promise.reject(new TypeError('stray')); return 1;")), ("two", &step("return 2;"))]).await;
    let run = test(&server, &workflow, json!({})).await;
    assert_eq!((&run["status"], &run["error"]["code"], &run["error"]["message"]), (&json!("failed"), &json!("TypeError"), &json!("stray")), "{run}");
    let leaves = server.workflow("w", json!([]), &[("one", &step("process.exit(3);"))]).await;
    let run = test(&server, &leaves, json!({})).await;
    assert!(run["status"] == "failed" && run["error"]["message"].as_str().is_some_and(|m| m.contains("process.exit")), "{run}");
    assert_eq!(server.get("/users/me").await.status, 200);
}

#[tokio::test]
async fn r4_9_workflows_that_trigger_each_other_are_cut_off_with_a_visible_error() {
    let server = Server::start().await;
    let ping = server.workflow("ping", json!([{ "type": "http" }]), &[("a", &step("$.send.emit({ raw_event: { n: 1 } });"))]).await;
    let pong = server.workflow("pong", json!([]), &[("a", &step("$.send.emit({ raw_event: { n: 2 } });"))]).await;
    for (from, to) in [(&ping, &pong), (&pong, &ping)] {
        server.post(&format!("/subscriptions?emitter_id={}&listener_id={}", id(from), id(to)), &json!({})).await.data();
    }
    answer(server.raw(Method::GET, &endpoint(&ping))).await;
    let fits = |l: &Value| l["data"].to_string().contains("the event was not passed on");
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    // Which of the two is at the limit is not said.
    loop {
        let logs = [server.get(&format!("/workflows/{}/logs", id(&ping))).await.json, server.get(&format!("/workflows/{}/logs", id(&pong))).await.json];
        if logs.iter().any(fits) {
            break;
        }
        assert!(std::time::Instant::now() < deadline, "{logs:?}");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let total = server.get(&format!("/workflows/{}/runs", id(&ping))).await.json["page_info"]["total_count"].clone();
    assert!(total.as_u64().is_some_and(|n| n < 200), "{total}");
}
