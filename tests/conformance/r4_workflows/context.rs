//! Context of a step: `steps`, `$.context`, expressions, ends (points 1 to 4, 6, 9 of section 4).

use millrace_tests::{Client, Server, answer, endpoint, id};
use reqwest::Method;
use serde_json::{Value, json};

fn step(body: &str) -> String {
    format!("export default defineComponent({{ async run({{ steps, $ }}) {{ {body} }} }});")
}

async fn test(server: &Client, workflow: &Value, event: Value) -> Value {
    server
        .post(&format!("/workflows/{}/test", id(workflow)), &json!({ "event": event }))
        .await
        .data()
}

/// The newest run of a workflow once it has ended.
async fn ended(server: &Client, workflow: &Value) -> Value {
    let fits = |l: &Value| {
        l["data"]
            .as_array()
            .is_some_and(|d| d.first().is_some_and(|r| !r["finished_at_ms"].is_null()))
    };
    server.until("an ended run", &format!("/workflows/{}/runs", id(workflow)), fits).await["data"]
        [0]
    .clone()
}

#[tokio::test]
async fn r4_1_the_trigger_has_its_event_and_context() {
    let server = Server::shared().await;
    let workflow = server
        .workflow("My Flow", json!([{ "type": "http" }]), &[("a", &step("return steps.trigger;"))])
        .await;
    let url = endpoint(&workflow);
    let request = server
        .raw(Method::POST, &format!("{url}/deep/er?q=1"))
        .header("X-Odd", "Yes")
        .json(&json!({ "n": 1 }));
    answer(request).await;
    let run = ended(&server, &workflow).await;
    let trigger = &run["steps"][0]["exports"]["$return_value"];
    let event = &trigger["event"];
    let mut fields: Vec<_> =
        event.as_object().expect("an object").keys().map(String::as_str).collect();
    fields.sort_unstable();
    assert_eq!(fields.join(" "), "body client_ip headers method path query queryRaw url");
    assert_eq!(
        (&event["body"], &event["method"], &event["path"], &event["query"]),
        (&json!({ "n": 1 }), &json!("POST"), &json!("/deep/er"), &json!({ "q": "1" }))
    );
    assert_eq!(
        (&event["headers"]["x-odd"], &event["client_ip"]),
        (&json!("Yes"), &json!("127.0.0.1"))
    );
    assert!(
        event["url"].as_str().is_some_and(|u| u.starts_with(&url) && u.ends_with("/deep/er")),
        "{event}"
    );
    let context = &trigger["context"];
    for field in [
        "id",
        "trace_id",
        "ts",
        "workflow_id",
        "workflow_name",
        "deployment_id",
        "emitter_id",
        "owner_id",
        "platform_version",
        "replay",
    ] {
        assert!(context.get(field).is_some(), "{field}: {context}");
    }
    assert_eq!(
        (
            &context["workflow_id"],
            &context["workflow_name"],
            &context["deployment_id"],
            &context["emitter_id"],
            &context["owner_id"],
            &context["replay"]
        ),
        (
            &workflow["id"],
            &json!("My Flow"),
            &workflow["deployment_id"],
            &workflow["triggers"][0]["id"],
            &json!(server.org_id),
            &json!(false)
        )
    );
    assert_eq!(
        (context["id"].as_str().map(str::len), context["ts"].as_str().map(str::len)),
        (Some(27), Some(24))
    );
}

#[tokio::test]
async fn r4_2_a_lone_expression_keeps_its_type_and_text_around_makes_text() {
    let server = Server::shared().await;
    let shows = "export default defineComponent({ props: { a: 'any', b: 'string', c: 'any', d: 'string[]', e: 'object', f: 'string' }, run() { return [this.a, this.b, this.c, this.d, this.e, this.f]; } });";
    let props = json!({
        "a": "{{steps.one.$return_value.list}}", "b": "n is {{ steps.one.$return_value.n + 1 }} and {{steps.trigger.event.x}}", "c": "{{steps.one.$return_value.n > 1}}",
        "d": ["{{steps.one.$return_value.list[0]}}", "plain"], "e": { "deep": "{{JSON.stringify(steps.one.$return_value)}}" }, "f": "no } expression {{'}}'}}",
    });
    let steps = json!([{ "namespace": "one", "code": step("return { n: 2, list: ['x', 1] };") }, { "namespace": "two", "code": shows, "props": props }]);
    let workflow = server
        .post("/workflows", &json!({ "triggers": [], "steps": steps, "settings": { "name": "w" } }))
        .await
        .data();
    let run = test(&server, &workflow, json!({ "x": "y" })).await;
    let got = &run["steps"][1]["exports"]["$return_value"];
    assert_eq!(
        *got,
        json!([["x", 1], "n is 3 and y", true, ["x", "plain"], { "deep": "{\"n\":2,\"list\":[\"x\",1]}" }, "no } expression }}"]),
        "{run}"
    );
    // One that fails is the step's error and names its prop.
    let steps = json!([{ "namespace": "two", "code": "export default defineComponent({ props: { a: 'string' }, run() {} });", "props": { "a": "{{steps.never.was}}" } }]);
    let workflow = server
        .post("/workflows", &json!({ "triggers": [], "steps": steps, "settings": { "name": "v" } }))
        .await
        .data();
    let run = test(&server, &workflow, json!({})).await;
    assert!(
        run["status"] == "failed"
            && run["error"]["message"].as_str().is_some_and(|m| m.contains('a')),
        "{run}"
    );
    assert_eq!(run["error"]["cellId"], workflow["steps"][0]["id"]);
}

#[tokio::test]
async fn r4_3_context_has_the_deadline_and_says_whether_it_is_a_test() {
    let server = Server::shared().await;
    let workflow = server.workflow("w", json!([{ "type": "http" }]), &[("a", &step("return { jit: $.context.JIT, left: $.context.deadline - Date.now(), run: $.context.run, same: $.context.id === steps.trigger.context.id };"))]).await;
    let tested = &test(&server, &workflow, json!({})).await["steps"][0]["exports"]["$return_value"];
    assert_eq!(
        (&tested["jit"], &tested["same"], &tested["run"]["runs"]),
        (&json!(true), &json!(true), &json!(1))
    );
    answer(server.raw(Method::GET, &endpoint(&workflow))).await;
    let live = &ended(&server, &workflow).await["steps"][0]["exports"]["$return_value"];
    assert_eq!(live["jit"], false);
    assert!(live["left"].as_i64().is_some_and(|ms| (1..=30_000).contains(&ms)), "{live}");
}

#[tokio::test]
async fn r4_4_exit_ends_the_workflow_with_and_without_return() {
    let server = Server::shared().await;
    for body in [
        "return $.flow.exit('enough');",
        "$.flow.exit('enough'); throw new Error('not reached');",
        "const stop = () => $.flow.exit('enough'); [1].forEach(stop);",
        "await (async () => $.flow.exit('enough'))();",
    ] {
        let workflow = server
            .workflow("w", json!([]), &[("one", &step(body)), ("two", &step("return 'never';"))])
            .await;
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
    let server = Server::shared().await;
    let first = step(
        "$.export('list', [1]); $.export('list', [1, 2]); $.export('$summary', 'two'); const o = { n: 1 }; $.export('o', o); o.n = 2; return undefined;",
    );
    let second = step(
        "steps.first.list.push(3); return [steps.first.list, steps.first.$summary, steps.first.o.n, '$return_value' in steps.first];",
    );
    let workflow = server
        .workflow(
            "w",
            json!([]),
            &[
                ("first", &first),
                ("second", &second),
                ("third", &step("return steps.second.$return_value.length;")),
            ],
        )
        .await;
    let run = test(&server, &workflow, json!({})).await;
    assert_eq!(run["steps"][1]["exports"]["$return_value"], json!([[1, 2, 3], "two", 1, false]));
    assert_eq!(run["steps"][2]["exports"]["$return_value"], 4);
    assert_eq!(run["steps"][0]["exports"]["$summary"], "two");
}

/// What a step hands on is the same whether or not something lies between it and the step that
/// reads it: a pause, a replay, or code that changes what it was given.
#[tokio::test]
async fn r4_2_what_a_step_hands_on_is_the_same_with_and_without_a_pause() {
    let server = Server::shared().await;
    let first = step("return { list: [1], at: new Date(0), lost: undefined };");
    let changes = |pause: &str| {
        step(&format!(
            "const {{ list }} = steps.first.$return_value; list.push(2); steps.first.$return_value.more = 1; delete steps.trigger.event.q; steps.trigger.event.body = 'mine';
             steps.trigger.context.ts = 'never'; steps.made = {{}}; $.context.workflow_name = 'other'; steps.first.named = 1; {pause} return [list, Object.keys(steps), steps.made];"
        ))
    };
    let sees = "export default defineComponent({ props: { from: 'any' }, run({ steps, $ }) { const { trigger, ...others } = steps; console.log(steps);
         return [this.from, trigger.event, trigger.context.ts === $.context.ts, $.context.workflow_name, JSON.parse(JSON.stringify(others)), Object.keys(steps)]; } });";
    let mut saw = Vec::new();
    for pause in ["", "$.flow.delay(1);"] {
        let steps = json!([
            { "namespace": "first", "code": first }, { "namespace": "second", "code": changes(pause) },
            { "namespace": "third", "code": sees, "props": { "from": "{{steps.first.$return_value}}" } },
        ]);
        let workflow = server
            .post(
                "/workflows",
                &json!({ "triggers": [], "steps": steps, "settings": { "name": "w" } }),
            )
            .await
            .data();
        server
            .post(&format!("/workflows/{}/run", id(&workflow)), &json!({ "event": { "q": 7 } }))
            .await
            .data();
        let run = ended(&server, &workflow).await;
        let steps = run["steps"].as_array().expect("steps");
        assert_eq!(
            steps[1]["exports"]["$return_value"][0],
            json!([1, 2]),
            "a step sees what it does itself: {run}"
        );
        saw.push(steps.iter().find(|s| s["namespace"] == "third").expect("a third")["exports"]["$return_value"].clone());
        let logs = server.get(&format!("/workflows/{}/logs", id(&workflow))).await.json.to_string();
        assert!(logs.contains("list: [Array]") && !logs.contains("[Getter"), "{logs}");
    }
    let exported = json!({ "list": [1], "at": "1970-01-01T00:00:00.000Z" });
    assert_eq!(
        (&saw[0][0], &saw[0][1], &saw[0][2], &saw[0][3]),
        (&exported, &json!({ "q": 7 }), &json!(true), &json!("w")),
        "{saw:#?}"
    );
    assert_eq!(
        (&saw[0][4]["first"], &saw[0][5]),
        (&json!({ "$return_value": exported }), &json!(["trigger", "first", "second"]))
    );
    // After the pause the second step has `$resume_data` where somebody resumed it, and nobody did.
    assert_eq!(saw[0], saw[1]);
}

#[tokio::test]
async fn r4_2_what_a_step_exported_before_it_failed_is_kept_with_it() {
    let server = Server::shared().await;
    let debug = "import { axios } from '@pipedream/platform';
        export default defineComponent({ async run({ $ }) { $.export('n', 1); await axios($, { url: 'http://127.0.0.1:9/none', method: 'POST', data: { a: 1 } }); } });";
    for (code, expected) in [
        (
            "export default defineComponent({ run({ $ }) { $.export('half', { done: 1 }); $.export('$summary', 'so far'); throw new TypeError('x'); } });",
            json!({ "half": { "done": 1 }, "$summary": "so far" }),
        ),
        (
            "export default defineComponent({ async run({ $ }) { $.export('a', 1); Promise.reject(new TypeError('stray')); await new Promise((r) => setTimeout(r, 1e6)); } });",
            json!({ "a": 1 }),
        ),
        (
            "export default defineComponent({ run({ $ }) { $.export('a', 1); return 1n; } });",
            json!({ "a": 1 }),
        ),
        (
            "export default defineComponent({ run({ $ }) { throw new TypeError('x'); } });",
            json!({}),
        ),
    ] {
        let workflow =
            server.workflow("w", json!([]), &[("zero", &step("return 0;")), ("one", code)]).await;
        let run = test(&server, &workflow, json!({})).await;
        assert_eq!(
            (&run["status"], &run["steps"][1]["status"], &run["steps"][1]["exports"]),
            (&json!("failed"), &json!("failed"), &expected),
            "{code}: {run}"
        );
    }
    // Also where the code never comes to its end: its time is over, its process dies, it takes too
    // much memory.
    let waits = "await new Promise((done) => setTimeout(done, 200));";
    for (code, end, expected) in [
        (
            format!(
                "$.export('a', 1); {waits} $.export('b', {{ n: 2 }}); await new Promise(() => setInterval(() => {{}}, 1000));"
            ),
            "Timeout",
            json!({ "a": 1, "b": { "n": 2 } }),
        ),
        (format!("$.export('a', 1); {waits} for (;;);"), "Timeout", json!({ "a": 1 })),
        (
            format!("$.export('a', 1); {waits} process.abort();"),
            "InternalFailure",
            json!({ "a": 1 }),
        ),
        (
            format!(
                "$.export('a', 1); {waits} const all = []; for (;;) all.push(new Array(1e6).fill(all.length));"
            ),
            "OutOfMemory",
            json!({ "a": 1 }),
        ),
        (
            format!(
                "$.export('a', 1); {waits} $.export('a', undefined); throw new RangeError('x');"
            ),
            "RangeError",
            json!({}),
        ),
        (
            format!(
                "$.export('a', 1); {waits} $.export('a', 'x'.repeat(2 << 20)); {waits} throw new RangeError('x');"
            ),
            "RangeError",
            json!({ "a": "x".repeat(2 << 20) }),
        ),
    ] {
        let step = json!({ "namespace": "one", "code": step(&code) });
        let body = json!({ "triggers": [], "steps": [step], "settings": { "name": "w", "timeout_ms": 3_000, "memory_mb": 64, "error_notification": false } });
        let workflow = server.post("/workflows", &body).await.data();
        let run = test(&server, &workflow, json!({})).await;
        assert_eq!(
            (&run["error"]["code"], &run["steps"][0]["exports"]),
            (&json!(end), &expected),
            "{code}: {}",
            run["error"]
        );
    }
    let workflow = server.workflow("w", json!([]), &[("one", debug)]).await;
    let run = test(&server, &workflow, json!({})).await;
    assert_eq!(run["steps"][0]["exports"]["n"], 1, "{run}");
    // What is larger than a run may leave is dropped with a word, and the error stays.
    let large = "for (let i = 0; i < 7; i++) $.export(`n${i}`, 'x'.repeat(1 << 20)); throw new TypeError('large');";
    let workflow = server.workflow("w", json!([]), &[("one", &step(large))]).await;
    let run = test(&server, &workflow, json!({})).await;
    assert_eq!(
        (&run["error"]["code"], &run["steps"][0]["exports"]),
        (&json!("TypeError"), &json!({})),
        "{run}"
    );
    // The same of an action that is run by itself.
    let code = "export default { name: 'A', key: 'kept-a', version: '0.0.1', type: 'action', run({ $ }) { $.export('debug', { status: 404 }); throw new TypeError('x'); } };";
    server.post("/components", &json!({ "component_code": code, "publish": true })).await.data();
    let ran = server
        .post(
            &format!(
                "/connect/{}/actions/run",
                workflow["project_id"].as_str().expect("a project")
            ),
            &json!({ "id": "kept-a" }),
        )
        .await
        .json;
    assert_eq!(
        (&ran["exports"], &ran["ret"]),
        (&json!({ "debug": { "status": 404 } }), &Value::Null),
        "{ran}"
    );
    // While it waits for its next try it is shown with it.
    let retried = json!({ "triggers": [], "steps": [{ "namespace": "one", "code": step("$.export('a', 1); throw new TypeError('x');") }], "settings": { "name": "r", "auto_retry": { "max": 1, "first_ms": 141_000 } } });
    let workflow = server.post("/workflows", &retried).await.data();
    server.post(&format!("/workflows/{}/run", id(&workflow)), &json!({})).await.data();
    let paused = server
        .until("a retry", &format!("/workflows/{}/runs?status=paused", id(&workflow)), |l| {
            l["page_info"]["count"] == 1
        })
        .await["data"][0]
        .clone();
    let exports = &paused["steps"][0]["exports"];
    assert_eq!(
        (&exports["a"], &exports["$attempt"]["error"]["code"]),
        (&json!(1), &json!("TypeError")),
        "{paused}"
    );
}

#[tokio::test]
async fn r4_6_a_promise_that_nobody_awaits_and_that_fails_fails_its_step() {
    let server = Server::shared().await;
    let workflow = server
        .workflow(
            "w",
            json!([]),
            &[
                ("one", &step("Promise.reject(new TypeError('stray')); return 1;")),
                ("two", &step("return 2;")),
            ],
        )
        .await;
    let run = test(&server, &workflow, json!({})).await;
    assert_eq!(
        (&run["status"], &run["error"]["code"], &run["error"]["message"]),
        (&json!("failed"), &json!("TypeError"), &json!("stray")),
        "{run}"
    );
    let leaves = server.workflow("w", json!([]), &[("one", &step("process.exit(3);"))]).await;
    let run = test(&server, &leaves, json!({})).await;
    assert!(
        run["status"] == "failed"
            && run["error"]["message"].as_str().is_some_and(|m| m.contains("process.exit")),
        "{run}"
    );
    assert_eq!(server.get("/users/me").await.status, 200);
}

#[tokio::test]
async fn r4_9_workflows_that_trigger_each_other_are_cut_off_with_a_visible_error() {
    let server = Server::shared().await;
    let ping = server
        .workflow(
            "ping",
            json!([{ "type": "http" }]),
            &[("a", &step("$.send.emit({ raw_event: { n: 1 } });"))],
        )
        .await;
    let pong = server
        .workflow("pong", json!([]), &[("a", &step("$.send.emit({ raw_event: { n: 2 } });"))])
        .await;
    for (from, to) in [(&ping, &pong), (&pong, &ping)] {
        server
            .post(
                &format!("/subscriptions?emitter_id={}&listener_id={}", id(from), id(to)),
                &json!({}),
            )
            .await
            .data();
    }
    answer(server.raw(Method::GET, &endpoint(&ping))).await;
    let fits = |l: &Value| l["data"].to_string().contains("the event was not passed on");
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    // Which of the two is at the limit is not said.
    loop {
        let logs = [
            server.get(&format!("/workflows/{}/logs", id(&ping))).await.json,
            server.get(&format!("/workflows/{}/logs", id(&pong))).await.json,
        ];
        if logs.iter().any(fits) {
            break;
        }
        assert!(std::time::Instant::now() < deadline, "{logs:?}");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let total = server.get(&format!("/workflows/{}/runs", id(&ping))).await.json["page_info"]["total_count"].clone();
    assert!(total.as_u64().is_some_and(|n| n < 200), "{total}");
}
