//! Pauses, progress, replay, retries and limits of workflows (reference 4).

use millrace_tests::cli::Shell;
use millrace_tests::{Client, Server, answer, endpoint};
use reqwest::Method;
use serde_json::{Value, json};

fn id(record: &Value) -> &str {
    record["id"].as_str().expect("an id")
}

/// A step's code.
fn step(body: &str) -> String {
    format!("export default defineComponent({{ async run({{ steps, $ }}) {{ {body} }} }});")
}

/// A workflow with an endpoint.
async fn deploy(server: &Client, settings: Value, steps: &[(&str, String)]) -> Value {
    let steps: Vec<Value> = steps
        .iter()
        .map(|(namespace, code)| json!({ "namespace": namespace, "code": code }))
        .collect();
    server
        .post(
            "/workflows",
            &json!({ "triggers": [{ "type": "http" }], "steps": steps, "settings": settings }),
        )
        .await
        .data()
}

async fn trigger(server: &Client, workflow: &Value, event: &Value) -> u16 {
    answer(server.raw(Method::POST, &endpoint(workflow)).json(event)).await.status
}

/// The newest run once it is in that state.
async fn run_in(server: &Client, workflow: &Value, status: &str) -> Value {
    let path = format!("/workflows/{}/runs?status={status}", id(workflow));
    server.until(status, &path, |l| l["page_info"]["total_count"] != 0).await["data"][0].clone()
}

fn exports<'a>(run: &'a Value, namespace: &str) -> &'a Value {
    let steps = run["steps"].as_array().expect("steps");
    &steps
        .iter()
        .find(|s| s["namespace"] == namespace)
        .unwrap_or_else(|| panic!("a step {namespace}: {run}"))["exports"]
}

#[tokio::test]
async fn r4_4_a_delay_pauses_after_the_step_and_finished_steps_do_not_run_again() {
    let server = Server::shared().await;
    let workflow = deploy(
        &server,
        json!({ "name": "w" }),
        &[
            ("one", step("console.log('one ran'); $.send.emit({ raw_event: { n: 1 } }); $.flow.delay(300); return { at: Date.now(), id: $.context.id };")),
            (
                "two",
                step("console.log('two ran'); return { waited: Date.now() - steps.one.$return_value.at, other: steps.one.$return_value.id !== $.context.id };"),
            ),
        ],
    )
    .await;
    assert_eq!(trigger(&server, &workflow, &json!({})).await, 200);
    let run = run_in(&server, &workflow, "succeeded").await;
    assert!(
        exports(&run, "two")["$return_value"]["waited"].as_i64().is_some_and(|ms| ms >= 300),
        "{run}"
    );
    // Each wake-up is an execution of its own.
    assert_eq!(
        (&exports(&run, "two")["$return_value"]["other"], &run["attempt"]),
        (&json!(true), &json!(2))
    );
    let logs = server.get(&format!("/runs/{}", id(&run))).await.data()["logs"].clone();
    assert_eq!(
        logs.as_array().expect("logs").iter().map(|l| l["text"].as_str()).collect::<Vec<_>>(),
        [Some("one ran"), Some("two ran")]
    );
    // What the first attempt sent was sent once, when it paused.
    assert_eq!(
        server.get(&format!("/workflows/{}/event_summaries", id(&workflow))).await.json["page_info"]
            ["count"],
        1
    );
}

#[tokio::test]
async fn r4_4_a_suspended_run_outlives_a_kill_and_is_resumed_once_by_its_url() {
    let mut server = Server::start().await;
    let workflow = deploy(
        &server,
        json!({ "name": "w" }),
        &[
            ("ask", step("const urls = $.flow.suspend(60_000); $.export('urls', urls); return 7;")),
            ("then", step("return [steps.ask.$return_value, steps.ask.$resume_data];")),
        ],
    )
    .await;
    trigger(&server, &workflow, &json!({})).await;
    let paused = run_in(&server, &workflow, "paused").await;
    assert_eq!(
        (&paused["paused"]["kind"], &paused["paused"]["namespace"], &paused["finished_at_ms"]),
        (&json!("suspend"), &json!("ask"), &Value::Null)
    );
    let url =
        |name: &str| exports(&paused, "ask")["urls"][name].as_str().expect("a url").to_owned();
    let (resume, cancel) = (url("resume_url"), url("cancel_url"));
    server.kill();
    server.launch().await;
    // A changed token, and one of the other kind, are none.
    let forged = format!("{}x", &resume[..resume.len() - 1]);
    for wrong in [
        forged,
        resume.replace("/resume/", "/cancel/"),
        format!("{}/resume/run_x-1-abc", server.url),
        format!("{}/resume/nothing", server.url),
    ] {
        assert_eq!(
            answer(server.raw(Method::POST, &wrong)).await.refusal(),
            (404, "not_found"),
            "{wrong}"
        );
    }
    assert_eq!(
        server.raw(Method::OPTIONS, &resume).send().await.expect("an answer").status().as_u16(),
        200
    );
    let resumed = answer(
        server
            .raw(Method::PUT, &format!("{resume}?a=1"))
            .header("X-Me", "you")
            .json(&json!({ "yes": true })),
    )
    .await;
    assert_eq!((resumed.status, &resumed.json["data"]["status"]), (200, &json!("resumed")));
    for late in [&resume, &cancel] {
        assert_eq!(answer(server.raw(Method::GET, late)).await.refusal(), (410, "gone"));
    }
    let run = run_in(&server, &workflow, "succeeded").await;
    let got = &exports(&run, "then")["$return_value"];
    assert_eq!(
        (&got[0], &got[1]["method"], &got[1]["query"], &got[1]["body"]),
        (&json!(7), &json!("PUT"), &json!({ "a": "1" }), &json!({ "yes": true }))
    );
    assert_eq!(got[1]["headers"]["x-me"], "you");
    assert_eq!(exports(&run, "ask")["$resume_data"]["body"], json!({ "yes": true }));
}

#[tokio::test]
async fn r4_4_a_suspended_run_is_cancelled_by_its_url_or_its_time() {
    let server = Server::shared().await;
    let suspend = |name: &'static str, ms: u32| {
        let server = &server;
        async move {
            let code = step(&format!("return $.flow.suspend({ms});"));
            let workflow = deploy(
                server,
                json!({ "name": name }),
                &[("ask", code), ("never", step("return 1;"))],
            )
            .await;
            trigger(server, &workflow, &json!({})).await;
            workflow
        }
    };
    let timed = suspend("timed", 50).await;
    let asked = suspend("asked", 60_000).await;
    let paused = run_in(&server, &asked, "paused").await;
    let cancel =
        exports(&paused, "ask")["$return_value"]["cancel_url"].as_str().expect("a url").to_owned();
    assert_eq!(answer(server.raw(Method::GET, &cancel)).await.json["data"]["status"], "cancelled");
    for workflow in [&timed, &asked] {
        let run = run_in(&server, workflow, "cancelled").await;
        assert_eq!(run["steps"].as_array().map(Vec::len), Some(1));
        assert!(run["finished_at_ms"].is_i64());
    }
}

#[tokio::test]
async fn r4_4_a_callback_before_the_step_ends_is_kept() {
    let server = Server::shared().await;
    let call = "const { resume_url } = $.flow.suspend(60_000); const first = await fetch(resume_url, { method: 'POST', body: 'early' });
                const second = await fetch(resume_url); return [first.status, (await first.json()).data.status, second.status];";
    let workflow = deploy(
        &server,
        json!({ "name": "w" }),
        &[("ask", step(call)), ("then", step("return steps.ask.$resume_data.body;"))],
    )
    .await;
    trigger(&server, &workflow, &json!({})).await;
    let run = run_in(&server, &workflow, "succeeded").await;
    assert_eq!(exports(&run, "ask")["$return_value"], json!([200, "kept", 410]));
    assert_eq!(exports(&run, "then")["$return_value"], "early");
}

#[tokio::test]
async fn r4_4_rerun_runs_the_same_step_again_with_its_context_until_its_last_retry() {
    let server = Server::shared().await;
    let code = "const { run } = $.context; const seen = [...(run.context?.seen ?? []), run.runs]; $.flow.rerun(10, { seen }, 3); return seen;";
    let workflow = deploy(
        &server,
        json!({ "name": "w" }),
        &[
            ("poll", step(code)),
            ("then", step("return [steps.poll.$return_value, $.context.run.runs];")),
        ],
    )
    .await;
    trigger(&server, &workflow, &json!({})).await;
    let run = run_in(&server, &workflow, "succeeded").await;
    assert_eq!(
        (&exports(&run, "then")["$return_value"], &run["attempt"]),
        (&json!([[1, 2, 3, 4], 1]), &json!(4))
    );
    // More attempts than a run that keeps dying has: each that ended with a pause counts anew.
    assert_eq!(run["steps"].as_array().map(Vec::len), Some(2));
}

#[tokio::test]
async fn r4_4_a_rerun_is_woken_by_its_url_and_sees_the_request() {
    let server = Server::shared().await;
    let code = "const { run } = $.context; if (run.callback_request) return [run.runs, run.context, run.callback_request.body.n];
                $.export('url', $.flow.rerun(60_000, 'kept').resume_url); return 'not yet';";
    let workflow = deploy(&server, json!({ "name": "w" }), &[("poll", step(code))]).await;
    trigger(&server, &workflow, &json!({})).await;
    let paused = run_in(&server, &workflow, "paused").await;
    assert_eq!(
        (&paused["steps"][0]["status"], &exports(&paused, "poll")["$return_value"]),
        (&json!("paused"), &json!("not yet"))
    );
    let url = exports(&paused, "poll")["url"].as_str().expect("a url").to_owned();
    assert_eq!(answer(server.raw(Method::POST, &url).json(&json!({ "n": 5 }))).await.status, 200);
    let run = run_in(&server, &workflow, "succeeded").await;
    assert_eq!(exports(&run, "poll")["$return_value"], json!([2, "kept", 5]));
}

#[tokio::test]
async fn r4_4_a_test_run_does_not_pause_and_says_so() {
    let server = Server::shared().await;
    let workflow = deploy(
        &server,
        json!({ "name": "w" }),
        &[("one", step("$.flow.delay(60_000);")), ("two", step("$.flow.suspend(); return 2;"))],
    )
    .await;
    let run = server.post(&format!("/workflows/{}/test", id(&workflow)), &json!({})).await.data();
    assert_eq!(
        (&run["status"], &exports(&run, "two")["$return_value"]),
        (&json!("succeeded"), &json!(2))
    );
    let logs = server.get(&format!("/runs/{}", id(&run))).await.data()["logs"].to_string();
    assert!(logs.contains("a test run does not pause"), "{logs}");
}

#[tokio::test]
async fn r4_4_deleting_a_workflow_cancels_its_paused_runs() {
    let server = Server::shared().await;
    let workflow =
        deploy(&server, json!({ "name": "w" }), &[("one", step("return $.flow.delay(60_000);"))])
            .await;
    trigger(&server, &workflow, &json!({})).await;
    let paused = run_in(&server, &workflow, "paused").await;
    server.delete(&format!("/workflows/{}", id(&workflow))).await.data();
    assert_eq!(server.get(&format!("/runs/{}", id(&paused))).await.data()["status"], "cancelled");
    let url =
        exports(&paused, "one")["$return_value"]["resume_url"].as_str().expect("a url").to_owned();
    assert_eq!(answer(server.raw(Method::GET, &url)).await.refusal(), (410, "gone"));
}

#[tokio::test]
async fn r4_4_after_a_crash_a_run_goes_on_behind_its_last_finished_step() {
    let mut server = Server::start().await;
    // The second step waits for an answer that nobody gives while the first process lives.
    let gate = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("binds");
    let wait = step(&format!(
        "return await new Promise((go, fail) => fetch('http://{}').then(r => r.text()).then(go, fail));",
        gate.local_addr().expect("an address")
    ));
    let workflow = deploy(
        &server,
        json!({ "name": "w" }),
        &[
            ("first", step("console.log('first ran'); console.log('x'.repeat(70_000)); console.log('and more'); $.send.emit({ raw_event: { first: true } }); return Math.random();")),
            ("second", wait),
            ("third", step("return steps.first.$return_value;")),
        ],
    )
    .await;
    trigger(&server, &workflow, &json!({})).await;
    let path = format!("/workflows/{}/runs?status=running", id(&workflow));
    let running = server
        .until("the first step's result", &path, |l| {
            l["data"][0]["steps"][0]["status"] == "succeeded"
        })
        .await["data"][0]
        .clone();
    let first = exports(&running, "first")["$return_value"].clone();
    server.kill();
    server.launch().await;
    tokio::spawn(async move {
        use tokio::io::AsyncWriteExt as _;
        while let Ok((mut stream, _)) = gate.accept().await {
            // The one that was lost is not there to read it.
            let _ = stream
                .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\nconnection: close\r\n\r\nopen")
                .await;
        }
    });
    let run = run_in(&server, &workflow, "succeeded").await;
    assert_eq!(
        (&exports(&run, "first")["$return_value"], &exports(&run, "third")["$return_value"]),
        (&first, &first)
    );
    assert_eq!(
        (&exports(&run, "second")["$return_value"], &run["attempt"]),
        (&json!("open"), &json!(2))
    );
    // What the finished step wrote is there as far as it is kept, and where it ends is said.
    let logs = server.get(&format!("/runs/{}", id(&run))).await.data()["logs"].clone();
    let lines: Vec<&str> =
        logs.as_array().expect("lines").iter().filter_map(|line| line["text"].as_str()).collect();
    assert_eq!(
        lines,
        [
            "first ran",
            "[what finished steps wrote after the first 65536 bytes was lost with the process that ran them]"
        ]
    );
    // What the finished step sent is delivered, once.
    assert_eq!(
        server.get(&format!("/workflows/{}/event_summaries", id(&workflow))).await.json["page_info"]
            ["count"],
        1
    );
}

#[tokio::test]
async fn r2_24_a_replay_from_a_step_keeps_the_results_before_it() {
    let server = Server::shared().await;
    let fails = step(
        "if (!$.context.replay) throw new Error('not yet'); return steps.first.$return_value;",
    );
    let steps =
        [("first", step("return Math.random();")), ("second", fails), ("third", step("return 3;"))];
    let workflow = deploy(&server, json!({ "name": "w" }), &steps).await;
    trigger(&server, &workflow, &json!({ "n": 1 })).await;
    let failed = run_in(&server, &workflow, "failed").await;
    let first = &exports(&failed, "first")["$return_value"];
    let path = format!("/runs/{}/replay", id(&failed));
    for body in [json!({ "from_failed": true }), json!({ "from_step": "second" })] {
        let run = server.post(&path, &body).await.data();
        assert_eq!(
            (&run["status"], &run["context"]["replay"], &run["event"]["body"]),
            (&json!("succeeded"), &json!(true), &json!({ "n": 1 }))
        );
        assert_eq!(
            (&exports(&run, "first")["$return_value"], &exports(&run, "second")["$return_value"]),
            (first, first)
        );
        assert_eq!(run["steps"].as_array().map(Vec::len), Some(3));
        // It has no step that failed.
        assert_eq!(
            server
                .post(&format!("/runs/{}/replay", id(&run)), &json!({ "from_failed": true }))
                .await
                .refusal(),
            (422, "invalid_field")
        );
    }
    let whole = server.post(&path, &json!({})).await.data();
    assert_ne!(&exports(&whole, "first")["$return_value"], first);
    for wrong in [
        json!({ "from_step": "nothing" }),
        json!({ "from_step": "third" }),
        json!({ "from_step": "second", "from_failed": true }),
    ] {
        assert_eq!(server.post(&path, &wrong).await.refusal(), (422, "invalid_field"), "{wrong}");
    }
}

#[tokio::test]
async fn r4_4_a_paused_run_can_be_cancelled_and_an_ended_one_cannot() {
    let server = Server::shared().await;
    let workflow =
        deploy(&server, json!({ "name": "w" }), &[("one", step("$.flow.delay(60_000);"))]).await;
    trigger(&server, &workflow, &json!({})).await;
    let path = format!("/runs/{}/cancel", id(&run_in(&server, &workflow, "paused").await));
    assert_eq!(server.post(&path, &json!({})).await.data()["status"], "cancelled");
    assert_eq!(server.post(&path, &json!({})).await.refusal(), (409, "run_has_ended"));
    assert_eq!(server.post("/runs/run_unknown/cancel", &json!({})).await.status, 404);
}

#[tokio::test]
async fn r4_7_a_failed_step_is_retried_and_its_error_withheld_until_the_last() {
    let server = Server::shared().await;
    let settings = |name: &str, max: u32| json!({ "name": name, "auto_retry": { "max": max, "first_ms": 20 } });
    let first = || ("first", step("console.log('first ran'); return $.context.id;"));
    // Each execution has an id of its own: only the first one fails.
    let flaky = step(
        "console.log('tried'); if ($.context.id === steps.first.$return_value) throw new TypeError('not yet'); return steps.first.$return_value;",
    );
    let mends = deploy(&server, settings("mends", 8), &[first(), ("flaky", flaky)]).await;
    let fails = deploy(
        &server,
        settings("fails", 2),
        &[first(), ("bad", step("throw new TypeError('never');"))],
    )
    .await;
    trigger(&server, &mends, &json!({})).await;
    trigger(&server, &fails, &json!({})).await;
    let run = run_in(&server, &mends, "succeeded").await;
    assert_eq!(exports(&run, "flaky")["$return_value"], exports(&run, "first")["$return_value"]);
    let logs = server.get(&format!("/runs/{}", id(&run))).await.data()["logs"].to_string();
    assert_eq!(
        (logs.matches("first ran").count(), logs.matches("\"tried\"").count()),
        (1, 2),
        "{logs}"
    );
    assert!(logs.contains("the step runs again at"), "{logs}");
    assert_eq!(
        server.get(&format!("/workflows/{}/$errors/event_summaries", id(&mends))).await.json["page_info"]
            ["count"],
        0
    );
    let run = run_in(&server, &fails, "failed").await;
    // The first, and two retries.
    assert_eq!((&run["attempt"], &run["error"]["code"]), (&json!(3), &json!("TypeError")));
    assert_eq!(
        server.get(&format!("/workflows/{}/$errors/event_summaries", id(&fails))).await.json["page_info"]
            ["count"],
        1
    );
}

#[tokio::test]
async fn r4_7_a_step_that_waits_for_its_retry_says_what_happened_and_can_be_run_at_once() {
    let server = Server::shared().await;
    let code = step(
        "if ((await (await fetch(steps.trigger.event.body.gate)).text()) !== 'open') throw new Error('closed'); return 'through';",
    );
    let gate = deploy(
        &server,
        json!({ "name": "gate" }),
        &[("answer", step("await $.respond({ status: 200, body: 'shut' });"))],
    )
    .await;
    let workflow =
        deploy(&server, json!({ "name": "w", "auto_retry": true }), &[("pass", code)]).await;
    trigger(&server, &workflow, &json!({ "gate": endpoint(&gate) })).await;
    let paused = run_in(&server, &workflow, "paused").await;
    let failed = exports(&paused, "pass");
    assert_eq!(
        (&paused["paused"]["kind"], &failed["$attempt"]["error"]["message"]),
        (&json!("retry"), &json!("closed"))
    );
    let open = json!([{ "namespace": "answer", "code": step("await $.respond({ status: 200, body: 'open' });") }]);
    server
        .put(
            &format!("/workflows/{}", id(&gate)),
            &json!({ "steps": open, "settings": { "auto_deploy": true } }),
        )
        .await
        .data();
    let url = failed["$attempt"]["rerun_url"].as_str().expect("a url").to_owned();
    assert_eq!(answer(server.raw(Method::POST, &url)).await.status, 200);
    assert_eq!(
        exports(&run_in(&server, &workflow, "succeeded").await, "pass")["$return_value"],
        "through"
    );
}

#[tokio::test]
async fn r4_7_runs_at_once_are_limited_and_a_full_queue_answers_429() {
    let server = Server::shared().await;
    let settings = json!({ "name": "w", "concurrency": 1, "queue_max": 2 });
    let gate = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("binds");
    let wait = step(&format!(
        "return await (await fetch('http://{}')).text();",
        gate.local_addr().expect("an address")
    ));
    let workflow = deploy(&server, settings, &[("wait", wait)]).await;
    assert_eq!(trigger(&server, &workflow, &json!({})).await, 200);
    server
        .until(
            "the first under way",
            &format!("/workflows/{}/runs?status=running", id(&workflow)),
            |l| l["page_info"]["total_count"] == 1,
        )
        .await;
    assert_eq!(trigger(&server, &workflow, &json!({})).await, 200);
    assert_eq!(trigger(&server, &workflow, &json!({})).await, 200);
    let refused = server.raw(Method::POST, &endpoint(&workflow)).send().await.expect("an answer");
    assert_eq!(
        (refused.status().as_u16(), refused.headers().contains_key("retry-after")),
        (429, true)
    );
    assert!(refused.text().await.expect("a body").contains("queue_full"));
    // One after the other: a connection comes only after the one before was answered.
    for _ in 0..3 {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        let (mut stream, _) = gate.accept().await.expect("a request");
        let running =
            server.get(&format!("/workflows/{}/runs?status=running", id(&workflow))).await.json;
        assert_eq!(running["page_info"]["total_count"], 1);
        let _ = stream.read(&mut [0; 4096]).await;
        stream
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok")
            .await
            .expect("answers");
    }
    server
        .until("all done", &format!("/workflows/{}/runs?status=succeeded", id(&workflow)), |l| {
            l["page_info"]["total_count"] == 3
        })
        .await;
}

#[tokio::test]
async fn r4_7_a_workflow_with_limits_still_answers_for_itself_and_its_settings_are_checked() {
    let server = Server::shared().await;
    let respond = [("answer", step("await $.respond({ status: 202, body: 'mine' });"))];
    let workflow = deploy(
        &server,
        json!({ "name": "w", "throttle": { "runs": 5, "interval_ms": 60_000 } }),
        &respond,
    )
    .await;
    let answered = answer(server.raw(Method::GET, &endpoint(&workflow))).await;
    assert_eq!((answered.status, answered.text.as_str()), (202, "mine"));
    assert_eq!(workflow["settings"]["throttle"], json!({ "runs": 5, "interval_ms": 60_000 }));
    let path = format!("/workflows/{}", id(&workflow));
    for wrong in [
        json!({ "concurrency": 0 }),
        json!({ "concurrency": true }),
        json!({ "queue_max": 1_000_000 }),
        json!({ "throttle": { "runs": 1, "interval_ms": 0 } }),
        json!({ "auto_retry": { "max": 9 } }),
        json!({ "auto_retry": { "first_ms": 0 } }),
        json!({ "throttle": "fast" }),
    ] {
        assert_eq!(server.put(&path, &json!({ "settings": wrong })).await.status, 422, "{wrong}");
    }
    let refused = server
        .put(&path, &json!({ "settings": { "name": "x", "throttle": { "limit": 2 } } }))
        .await;
    assert_eq!(
        (refused.refusal(), &refused.json["details"]["field"]),
        ((422, "unknown_field"), &json!("settings.throttle.limit")),
        "{}",
        refused.text
    );
    assert!(
        refused.text.contains("`limit`") && refused.text.contains("runs, interval_ms"),
        "{}",
        refused.text
    );
    // A name that is none is refused wherever settings are taken, with those that are.
    for wrong in ["retries", "Concurrency", "workers"] {
        let settings = json!({ "concurrency": 2, wrong: 3 });
        for refused in [
            server.put(&path, &json!({ "settings": settings })).await,
            server.post("/workflows", &json!({ "steps": [], "settings": settings })).await,
            server.post("/workflows/test", &json!({ "steps": [], "settings": settings })).await,
        ] {
            assert_eq!(
                (refused.refusal(), &refused.json["details"]["field"]),
                ((422, "unknown_field"), &json!(format!("settings.{wrong}"))),
                "{}",
                refused.text
            );
            assert!(
                ["auto_retry", "timeout_ms", "queue_max", "auto_deploy"]
                    .iter()
                    .all(|name| refused.text.contains(name)),
                "{}",
                refused.text
            );
        }
    }
    assert_eq!(
        server.put(&path, &json!({ "settings": [1] })).await.refusal(),
        (422, "invalid_field")
    );
    assert_eq!(server.get("/workflows").await.json["page_info"]["total_count"], 1);
    // What a record shows can be written back.
    let shown = server.get(&path).await.data()["settings"].clone();
    assert_eq!(server.put(&path, &json!({ "settings": shown })).await.data()["settings"], shown);
    assert!(shown.get("concurrency").is_none(), "nothing of what was refused is kept: {shown}");
    let changed = server
        .put(&path, &json!({ "settings": { "throttle": false, "auto_retry": true } }))
        .await
        .data();
    assert_eq!(
        (changed["settings"].get("throttle"), &changed["settings"]["auto_retry"]["max"]),
        (None, &json!(8))
    );
}

#[tokio::test]
async fn r4_5_what_is_sent_before_and_after_a_pause_is_delivered() {
    let server = Server::shared().await;
    let target = endpoint(
        &server
            .source(
                "export default { name: 't', version: '1', props: { http: '$.interface.http' } };",
                json!({}),
            )
            .await,
    );
    let sends =
        |n: u32| format!("$.send.http({{ method: 'POST', url: '{target}', data: {{ n: {n} }} }});");
    let steps =
        [("one", step(&format!("{} $.flow.delay(50);", sends(1)))), ("two", step(&sends(2)))];
    let workflow = deploy(&server, json!({ "name": "w" }), &steps).await;
    assert_eq!(trigger(&server, &workflow, &json!({})).await, 200);
    let run = run_in(&server, &workflow, "succeeded").await;
    let path = format!("/runs/{}", id(&run));
    let delivered = |r: &Value| {
        r["data"]["deliveries"]
            .as_array()
            .is_some_and(|d| d.len() == 2 && d.iter().all(|d| d["status"] == "delivered"))
    };
    server.until("both delivered", &path, delivered).await;
}

#[tokio::test]
async fn r4_4_a_paused_run_is_resumed_by_its_id_with_what_its_code_asks_for() {
    let server = Server::shared().await;
    let shell = Shell::new(&server);
    let asks = deploy(
        &server,
        json!({ "name": "asks by id" }),
        &[
            ("ask", step("$.flow.suspend(60_000);")),
            ("then", step("return [steps.ask.$resume_data.method, steps.ask.$resume_data.body];")),
        ],
    )
    .await;
    let reruns = deploy(
        &server,
        json!({ "name": "reruns by id" }),
        &[("one", "export default defineComponent({ run({ $ }) { const { run } = $.context; if (run.runs > 1) return run.callback_request.body; $.flow.rerun(60_000); } });".into())],
    )
    .await;
    for (workflow, at) in [(&asks, "then"), (&reruns, "one")] {
        trigger(&server, workflow, &json!({})).await;
        let paused = run_in(&server, workflow, "paused").await;
        let path = format!("/runs/{}/resume", id(&paused));
        assert_ne!(
            server.post(&path, &json!({ "data": { "yes": [1] } })).await.data()["status"],
            "paused"
        );
        let run = run_in(&server, workflow, "succeeded").await;
        let got = &exports(&run, at)["$return_value"];
        assert!(*got == json!(["POST", { "yes": [1] }]) || *got == json!({ "yes": [1] }), "{got}");
        assert_eq!(server.post(&path, &json!({})).await.refusal(), (409, "run_is_not_paused"));
    }
    // By hand, and with nothing to say.
    trigger(&server, &asks, &json!({})).await;
    let paused = run_in(&server, &asks, "paused").await;
    assert!(shell.run(&["runs", "resume", id(&paused), "--data", "{"]).fails(2).contains("JSON"));
    shell.run(&["runs", "resume", id(&paused)]).ok();
    let run = server
        .until("the run goes on", &format!("/runs/{}", id(&paused)), |run| {
            run["data"]["status"] == "succeeded"
        })
        .await;
    assert_eq!(exports(&run["data"], "then")["$return_value"], json!(["POST", {}]));
    assert_eq!(
        server.post("/runs/run_nothere/resume", &json!({})).await.refusal(),
        (404, "not_found")
    );
}
