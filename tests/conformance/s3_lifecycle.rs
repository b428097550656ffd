//! Chapter 3: states and transitions.

use millrace_tests::receiver::{Does, Receiver};
use millrace_tests::{Client, Server, answer, endpoint, id};
use reqwest::Method;
use serde_json::{Value, json};

const HOOKED: &str = "export default { name: 'hooked', version: '1', props: { http: '$.interface.http', db: '$.service.db' },
  hooks: {
    async deploy() { this.db.set('seen', ['deploy']); this.$emit({ from: 'deploy' }, { id: 1 }); },
    async activate() { this.db.set('seen', [...(this.db.get('seen') || []), 'activate']); },
    async deactivate() { this.db.set('seen', [...this.db.get('seen'), 'deactivate']); },
  },
  run() { return this.db.get('seen'); } };";

/// Noon of a day.
const NOON: i64 = 1_767_182_400_000;
const EVERY_TEN_SECONDS: &str =
    "timer: { type: '$.interface.timer', default: { intervalSeconds: 10 } }";

/// A source that emits each of its ticks.
fn ticking() -> String {
    format!(
        "export default {{ name: 'ticks', version: '1', props: {{ {EVERY_TEN_SECONDS} }}, run(event) {{ this.$emit(event); }} }};"
    )
}

async fn seen(server: &Client, id: &str) -> Value {
    server.post(&format!("/sources/{id}/run"), &json!({})).await.data()["return_value"].clone()
}

#[tokio::test]
async fn s3_1_hooks_run_in_their_order_and_the_id_stays_over_updates() {
    let server = Server::shared().await;
    let source = server.source(HOOKED, json!({})).await;
    let id = source["id"].as_str().expect("an id");
    assert_eq!(seen(&server, id).await, json!(["deploy", "activate"]));
    let events = server.get(&format!("/sources/{id}/event_summaries?expand=event")).await.json;
    assert_eq!(events["data"][0]["event"], json!({ "from": "deploy" }));
    let updated = server
        .put(&format!("/sources/{id}"), &json!({ "component_code": format!("{HOOKED} // new") }))
        .await
        .data();
    assert_eq!((&updated["id"], endpoint(&updated)), (&source["id"], endpoint(&source)));
    assert_eq!(seen(&server, id).await, json!(["deploy", "activate", "deactivate", "activate"]));
}

#[tokio::test]
async fn s3_1_inactive_means_the_endpoint_is_gone_until_it_is_active_again() {
    let server = Server::shared().await;
    let source = server.source(HOOKED, json!({})).await;
    let path = format!("/sources/{}", source["id"].as_str().expect("an id"));
    let ask = || async { answer(server.raw(Method::GET, &endpoint(&source))).await.status };
    assert_eq!(ask().await, 200);
    assert_eq!(server.put(&path, &json!({ "active": false })).await.data()["active"], false);
    assert_eq!(ask().await, 404);
    assert_eq!(server.put(&path, &json!({ "active": true })).await.data()["active"], true);
    assert_eq!(ask().await, 200);
    assert_eq!(server.delete(&path).await.status, 200);
    assert_eq!((ask().await, server.get(&path).await.status), (404, 404));
}

#[tokio::test]
async fn s3_1_a_source_that_is_deployed_inactive_is_activated_later() {
    let server = Server::shared().await;
    let source =
        server.post("/sources", &json!({ "component_code": HOOKED, "active": false })).await.data();
    let path = format!("/sources/{}", id(&source));
    assert_eq!(
        (&source["active"], &source["inactive_reason"]),
        (&json!(false), &json!("it was deployed inactive"))
    );
    let ask = || async { answer(server.raw(Method::GET, &endpoint(&source))).await.status };
    assert_eq!(ask().await, 404);
    assert_eq!(seen(&server, id(&source)).await, json!(["deploy"]));
    assert_eq!(server.put(&path, &json!({ "active": true })).await.data()["active"], true);
    assert_eq!(
        (ask().await, seen(&server, id(&source)).await),
        (200, json!(["deploy", "activate"]))
    );
    // One whose hook would fail deploys, and says why it cannot be made active.
    let throwing =
        HOOKED.replace("async activate() {", "async activate() { throw new Error('no webhook');");
    let waiting = server
        .post("/sources", &json!({ "component_code": throwing, "active": false }))
        .await
        .data();
    let path = format!("/sources/{}", id(&waiting));
    assert_eq!(server.put(&path, &json!({ "active": true })).await.refusal(), (422, "hook_failed"));
    let shown = server.get(&path).await.data();
    assert!(
        shown["active"] == false
            && shown["inactive_reason"].as_str().is_some_and(|why| why.contains("no webhook")),
        "{shown}"
    );
    assert_eq!(
        server
            .post("/sources", &json!({ "component_code": HOOKED, "active": "no" }))
            .await
            .refusal(),
        (422, "invalid_field")
    );
}

#[tokio::test]
async fn s3_1_a_hook_that_throws_on_deploy_leaves_nothing_and_on_update_the_old_version() {
    let server = Server::shared().await;
    let throwing =
        HOOKED.replace("async activate() {", "async activate() { throw new Error('no webhook');");
    let refused = server.post("/sources", &json!({ "component_code": throwing })).await;
    assert_eq!(refused.refusal(), (422, "hook_failed"));
    assert!(
        refused.json["error"]
            .as_str()
            .is_some_and(|e| e.contains("activate hook failed") && e.contains("no webhook"))
    );
    assert_eq!(server.get("/users/me/sources").await.json["page_info"]["total_count"], 0);
    let source = server.source(HOOKED, json!({})).await;
    let id = source["id"].as_str().expect("an id");
    assert_eq!(
        server
            .put(&format!("/sources/{id}"), &json!({ "component_code": throwing }))
            .await
            .refusal(),
        (422, "hook_failed")
    );
    assert_eq!(server.get(&format!("/sources/{id}")).await.data()["active"], true);
    assert_eq!(seen(&server, id).await.as_array().map(Vec::len), Some(4));
}

#[tokio::test]
async fn r3_17_the_endpoint_answers_while_activate_still_waits() {
    let server = Server::shared().await;
    let code = "import http from 'node:http'; export default { name: 'ping', version: '1', props: { http: { type: '$.interface.http', customResponse: true }, db: '$.service.db' },
      hooks: { async activate() { this.db.set('secret', 's');
        const got = await new Promise((resolve, reject) => http.get(this.http.endpoint, (r) => { let t = ''; r.on('data', (c) => t += c); r.on('end', () => resolve(t)); }).on('error', reject));
        this.db.set('got', got); } },
      run() { this.http.respond({ status: 200, body: this.db.get('secret') + '|' + (this.db.get('got') ?? '') }); } };";
    let source = server.source(code, json!({})).await;
    assert_eq!(answer(server.raw(Method::GET, &endpoint(&source))).await.text, "s|s|");
}

#[tokio::test]
async fn s3_2_output_and_errors_appear_in_the_logs() {
    let server = Server::shared().await;
    let code = "export default { name: 'l', version: '1', run() { console.log('hello', { a: 1 }); throw new RangeError('bad'); } };";
    let id = server.source(code, json!({})).await["id"].as_str().expect("an id").to_owned();
    let run = server.post(&format!("/sources/{id}/run"), &json!({})).await.data();
    assert_eq!((&run["status"], &run["error"]["code"]), (&json!("failed"), &json!("RangeError")));
    let logs = server.get(&format!("/sources/{id}/logs")).await.json;
    let lines: Vec<_> = logs["data"]
        .as_array()
        .expect("lines")
        .iter()
        .map(|l| (l["level"].as_str().unwrap_or(""), l["text"].as_str().unwrap_or("")))
        .collect();
    assert_eq!(lines[0], ("log", "hello { a: 1 }"));
    assert!(lines[1].0 == "error" && lines[1].1.starts_with("RangeError: bad"), "{lines:?}");
}

#[tokio::test]
async fn s3_1_deactivate_runs_when_a_source_is_deactivated_updated_and_deleted() {
    let server = Server::shared().await;
    let receiver = Receiver::start(Does::says("200 OK")).await;
    // A hook tells the receiver, as it would tell a third party.
    let code = format!(
        "const tell = (what) => fetch('{}', {{ method: 'POST', body: what }});
         export default {{ name: 'told', version: '1', hooks: {{ deploy() {{ return tell('deploy'); }}, activate() {{ return tell('activate'); }}, deactivate() {{ return tell('deactivate'); }} }}, run() {{}} }};",
        receiver.url
    );
    let source = server.source(&code, json!({})).await;
    let path = format!("/sources/{}", id(&source));
    let told = || receiver.got().iter().map(|got| got.body.clone()).collect::<Vec<_>>();
    assert_eq!(told(), ["deploy", "activate"]);
    server.put(&path, &json!({ "active": false })).await.data();
    assert_eq!(told()[2..], ["deactivate"]);
    // What is inactive already is not deactivated again.
    server.put(&path, &json!({ "active": false })).await.data();
    server.put(&path, &json!({ "active": true })).await.data();
    assert_eq!(told()[3..], ["activate"]);
    server.put(&path, &json!({ "component_code": format!("{code}//") })).await.data();
    assert_eq!(told()[4..], ["deactivate", "activate"]);
    server.delete(&path).await.data();
    assert_eq!(told()[6..], ["deactivate"]);
}

#[tokio::test]
async fn r3_16_a_deactivate_hook_that_throws_does_not_keep_a_source_from_being_deleted() {
    let server = Server::shared().await;
    let code = "export default { name: 'd', version: '1', props: { http: '$.interface.http' }, hooks: { deactivate() { throw new Error('the third party is gone'); } }, run() {} };";
    let source = server.source(code, json!({})).await;
    let path = format!("/sources/{}", id(&source));
    assert_eq!(server.delete(&path).await.status, 200);
    assert_eq!(
        (
            server.get(&path).await.status,
            answer(server.raw(Method::GET, &endpoint(&source))).await.status
        ),
        (404, 404)
    );
    // Its log tells, also now that it is gone.
    let log = server.get(&format!("{path}/logs")).await.data();
    assert_eq!(
        (
            log[0]["level"].as_str(),
            log[0]["text"].as_str().map(|text| text
                .starts_with("the deactivate hook failed: Error: the third party is gone"))
        ),
        (Some("error"), Some(true))
    );
}

#[tokio::test]
async fn r3_16_hooks_see_methods_props_and_the_endpoint_and_may_emit() {
    let server = Server::shared().await;
    let code = "export default { name: 'h', version: '1', dedupe: 'unique', props: { http: '$.interface.http', word: 'string', db: '$.service.db' },
      methods: { history(n) { for (let i = 0; i < n; i++) this.$emit({ i, word: this.word, at: this.http.endpoint.startsWith('http') }, { id: i, ts: 1000 + i, summary: `#${i}` }); } },
      hooks: { async deploy() { await Promise.resolve(); this.history(50); this.db.set('cursor', 49); } },
      run() { this.$emit({ again: true }, { id: this.db.get('cursor') }); this.$emit({ new: true }, { id: 50 }); } };";
    let source = server.source(code, json!({ "word": "w" })).await;
    let events = server.emitted(&source).await;
    assert_eq!(
        (events.len(), &events[0], &events[49]["i"]),
        (50, &json!({ "i": 0, "word": "w", "at": true }), &json!(49))
    );
    // What the hook emitted is known to the strategy.
    server.run_now(&source, json!({})).await;
    assert_eq!(server.emitted(&source).await[50..], [json!({ "new": true })]);
}

#[tokio::test]
async fn s3_2_a_source_is_run_by_hand_by_its_interface_and_by_an_event_it_listens_to() {
    let server = Server::shared().await;
    let listener = server.source("export default { name: 'l', version: '1', props: { http: '$.interface.http' }, run(event) { console.log('got', event?.n ?? event?.path ?? 'nothing'); } };", json!({})).await;
    let emitter = server
        .source(
            "export default { name: 'e', version: '1', run() { this.$emit({ n: 7 }); } };",
            json!({}),
        )
        .await;
    server
        .post(
            &format!("/subscriptions?emitter_id={}&listener_id={}", id(&emitter), id(&listener)),
            &json!({}),
        )
        .await
        .data();
    server.post(&format!("/sources/{}/run", id(&listener)), &json!({})).await.data();
    answer(server.raw(Method::GET, &format!("{}/by/http", endpoint(&listener)))).await;
    server.run_now(&emitter, json!({})).await;
    let fits = |l: &Value| {
        ["got nothing", "got /by/http", "got 7"]
            .iter()
            .all(|line| l["data"].to_string().contains(line))
    };
    server.until("three runs", &format!("/sources/{}/logs", id(&listener)), fits).await;
}

#[tokio::test]
async fn s3_2_a_stack_shows_the_authors_file_line_and_source_line() {
    let server = Server::shared().await;
    let code = "type Thing = { a: string };\n\nexport default {\n  name: 's', version: '1',\n  run(event: Thing) {\n    throw new RangeError('bad');\n  },\n};";
    let source = server
        .post("/sources", &json!({ "component_code": code, "component_entry": "mine.ts" }))
        .await
        .data();
    let run = server
        .post(&format!("/sources/{}/run", source["id"].as_str().expect("an id")), &json!({}))
        .await
        .data();
    let stack = run["error"]["stack"].as_str().expect("a stack");
    assert!(stack.starts_with("RangeError: bad\n") && stack.contains("mine.ts:6:"), "{stack}");
    assert!(stack.contains("6 |     throw new RangeError('bad');"), "{stack}");
}

#[tokio::test]
async fn s3_2_what_fails_un_awaited_belongs_to_its_run_and_output_keeps_order_and_level() {
    let server = Server::shared().await;
    let code = "export default { name: 's', version: '1', run({ late }) { console.log('one'); console.warn('two'); process.stdout.write('three\\n'); console.error('four');
      const fails = async () => { if (late) await new Promise((r) => setTimeout(r, 50)); throw new TypeError('nobody waits'); }; fails(); return 'returned'; } };";
    let id = server.source(code, json!({})).await["id"].as_str().expect("an id").to_owned();
    let run = |late: bool| {
        let (server, path) = (&server, format!("/sources/{id}/run"));
        async move { server.post(&path, &json!({ "event": { "late": late } })).await.data() }
    };
    let failed = run(false).await;
    assert_eq!(
        (&failed["status"], &failed["error"]["code"]),
        (&json!("failed"), &json!("TypeError"))
    );
    let shown =
        server.get(&format!("/runs/{}", failed["id"].as_str().expect("an id"))).await.data();
    let lines: Vec<_> = shown["logs"]
        .as_array()
        .expect("lines")
        .iter()
        .take(4)
        .map(|l| (l["level"].as_str().unwrap_or(""), l["text"].as_str().unwrap_or("")))
        .collect();
    assert_eq!(lines, [("log", "one"), ("warn", "two"), ("log", "three"), ("error", "four")]);
    // What fails once the run is over changes nothing of its result, nor of the next run; it is in
    // its log.
    let good = run(true).await;
    assert_eq!((&good["status"], &good["return_value"]), (&json!("succeeded"), &json!("returned")));
    assert_eq!(run(true).await["status"], "succeeded");
    let path = format!("/runs/{}", good["id"].as_str().expect("an id"));
    let shown = server
        .until("the late error", &path, |run| {
            run["data"]["logs"].as_array().is_some_and(|lines| lines.len() > 4)
        })
        .await["data"]
        .take();
    let late = &shown["logs"][4];
    assert_eq!((&shown["status"], &late["level"]), (&json!("succeeded"), &json!("error")));
    let text = late["text"].as_str().expect("a text");
    assert!(
        text.starts_with(
            "after the end of the run, in what it did not await: TypeError: nobody waits\n"
        ),
        "{text}"
    );
}

#[tokio::test]
async fn s3_1_a_deleted_source_leaves_no_timer_endpoint_or_subscription() {
    let server = Server::start_at(NOON, &[]).await;
    let receiver = Receiver::start(Does::says("200 OK")).await;
    let code = format!(
        "export default {{ name: 'gone', version: '1', props: {{ http: '$.interface.http', {EVERY_TEN_SECONDS} }}, async run() {{ await fetch('{}', {{ method: 'POST' }}); }} }};",
        receiver.url
    );
    let (gone, witness) =
        (server.source(&code, json!({})).await, server.source(&ticking(), json!({})).await);
    let hears = server
        .workflow("hears", json!([]), &[("a", "export default defineComponent({ run() {} });")])
        .await;
    for (emitter, listener) in [(&gone, &hears), (&witness, &gone)] {
        server
            .post(
                &format!("/subscriptions?emitter_id={}&listener_id={}", id(emitter), id(listener)),
                &json!({}),
            )
            .await
            .data();
    }
    server.delete(&format!("/sources/{}", id(&gone))).await.data();
    assert_eq!(answer(server.raw(Method::POST, &endpoint(&gone))).await.status, 404);
    assert_eq!(server.get("/users/me/subscriptions").await.data(), json!([]));
    // Two ticks of another timer, and one of its events would have reached the source: nothing of
    // it runs.
    for ticks in 1..=2 {
        server.set_clock(NOON + ticks * 10_000);
        server
            .until(
                "a tick of the other",
                &format!("/sources/{}/event_summaries", id(&witness)),
                |l| l["page_info"]["count"] == ticks,
            )
            .await;
    }
    assert_eq!(receiver.got().len(), 0);
}

#[tokio::test]
async fn r3_9_a_tick_that_comes_while_the_run_before_goes_on_does_not_overlap_it() {
    let server = Server::start_at(NOON, &[]).await;
    let receiver = Receiver::start(Does::Hangs).await;
    let code = format!(
        "export default {{ name: 'slow', version: '1', props: {{ {EVERY_TEN_SECONDS} }}, async run() {{ await fetch('{}', {{ method: 'POST' }}); }} }};",
        receiver.url
    );
    let (slow, quick) =
        (server.source(&code, json!({})).await, server.source(&ticking(), json!({})).await);
    for ticks in 1..=3 {
        server.set_clock(NOON + ticks * 10_000);
        server
            .until(
                "a tick of the other",
                &format!("/sources/{}/event_summaries", id(&quick)),
                |l| l["page_info"]["count"] == ticks,
            )
            .await;
        receiver.until(1).await;
    }
    // By the third look at least the second tick had come: the first run still goes on, and there
    // is no other.
    let runs = server.get(&format!("/sources/{}/runs", id(&slow))).await.json;
    assert_eq!(
        (&runs["page_info"]["total_count"], &runs["data"][0]["status"], receiver.got().len()),
        (&json!(1), &json!("running"), 1)
    );
}

#[tokio::test]
async fn r3_9_a_tick_that_begins_late_says_so_in_its_log_and_is_counted() {
    let mut server = Server::start_at(NOON, &[]).await;
    let source = server.source(&ticking(), json!({})).await;
    let runs = format!("/sources/{}/runs", id(&source));
    let ticked = async |server: &Client, count: u64| {
        server
            .until("a tick", &format!("{runs}?status=succeeded"), |l| {
                l["page_info"]["total_count"] == count
            })
            .await["data"][0]
            .clone()
    };
    let logs = async |server: &Client, run: &Value| {
        server.get(&format!("/runs/{}", id(run))).await.data()["logs"].to_string()
    };
    server.set_clock(NOON + 10_000);
    let in_time = ticked(&server, 1).await;
    assert!(!logs(&server, &in_time).await.contains("was due"));
    // Down for an hour: one tick comes for all of it.
    server.kill();
    server.set_clock(NOON + 3_620_000);
    server.launch().await;
    let late = ticked(&server, 2).await;
    let said = logs(&server, &late).await;
    assert!(
        said.contains("this tick was due at 2025-12-31T12:00:20")
            && said.contains(" s later: the server was down")
            && said.contains("warn"),
        "{said}"
    );
    let counts =
        answer(server.raw(Method::GET, "/metrics").bearer_auth(&server.api_key)).await.text;
    for line in [
        "millrace_tick_delay_seconds_bucket{le=\"60\"} 0",
        "millrace_tick_delay_seconds_bucket{le=\"+Inf\"} 1",
        "millrace_tick_delay_seconds_count 1",
    ] {
        assert!(counts.lines().any(|found| found == line), "{line}: {counts}");
    }
}
