//! Chapter 7, and what an error leaves: events, groups, mail.

mod objects;

use millrace_tests::smtp::{MailServer, Mood};
use millrace_tests::{Client, Server, answer, endpoint};
use reqwest::Method;
use serde_json::{Value, json};

/// 23:50 of a day.
const BEFORE_MIDNIGHT: i64 = 1_767_138_600_000;
const MINUTE_MS: i64 = 60_000;
const DAY_MS: i64 = 24 * 60 * MINUTE_MS;

fn id(record: &Value) -> &str {
    record["id"].as_str().expect("an id")
}

fn step(body: &str) -> String {
    format!("export default defineComponent({{ async run({{ steps, $ }}) {{ {body} }} }});")
}

async fn deploy(server: &Client, name: &str, settings: Value, steps: &[(&str, &str)]) -> Value {
    let steps: Vec<Value> = steps
        .iter()
        .map(|(namespace, body)| json!({ "namespace": namespace, "code": step(body) }))
        .collect();
    let mut settings = settings;
    settings["name"] = json!(name);
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

/// The newest error of a workflow, once there are so many.
async fn nth_error(server: &Client, owner: &str, count: u64) -> Value {
    let path = format!("/{owner}/$errors/event_summaries?expand=event");
    server.until("the error", &path, |l| l["page_info"]["total_count"] == count).await["data"][0]["event"].clone()
}

async fn mails(server: &Client) -> Vec<Value> {
    server.get("/mail?limit=100").await.json["data"].as_array().expect("mails").clone()
}

async fn are_sent(server: &Client, count: usize) {
    let fits = |l: &Value| {
        l["data"]
            .as_array()
            .is_some_and(|m| m.len() == count && m.iter().all(|m| m["status"] == "sent"))
    };
    server.until("all mails are sent", "/mail?limit=100", fits).await;
}

async fn has_failed(server: &Client, workflow: &Value, times: u64) {
    nth_error(server, &format!("workflows/{}", id(workflow)), times).await;
}

#[tokio::test]
async fn s3_3_the_platform_s_deaths_are_errors_like_others_with_step_and_earlier_results() {
    let server = Server::shared().await;
    let handler = deploy(
        &server,
        "handler",
        json!({}),
        &[("note", "return steps.trigger.event.error.code;")],
    )
    .await;
    let query = json!({ "emitter_id": server.org_id, "listener_id": id(&handler), "event_name": "$errors" });
    server.post("/subscriptions", &query).await.data();
    let deaths = [
        ("Timeout", json!({ "timeout_ms": 1500 }), "await new Promise(() => {});"),
        ("Timeout", json!({ "timeout_ms": 1500 }), "for (;;) {}"),
        (
            "OutOfMemory",
            json!({ "memory_mb": 64 }),
            "const kept = []; for (;;) kept.push(new Array(1e5).fill({ a: kept.length }));",
        ),
        (
            "InternalFailure",
            json!({}),
            "process.kill(process.pid, 'SIGKILL'); await new Promise(() => {});",
        ),
    ];
    for (code, settings, dies) in deaths {
        let workflow = deploy(
            &server,
            code,
            settings,
            &[
                ("first", "$.export('kept', [1, 2]); return 'done';"),
                ("second", dies),
                ("third", "return 1;"),
            ],
        )
        .await;
        trigger(&server, &workflow, &json!({ "n": 7 })).await;
        let event = nth_error(&server, &format!("workflows/{}", id(&workflow)), 1).await;
        let second = workflow["steps"][1]["id"].clone();
        assert_eq!(
            (&event["error"]["code"], &event["error"]["cellId"]),
            (&json!(code), &second),
            "{dies}: {event}"
        );
        assert_eq!(
            event["steps"],
            json!({ "first": { "kept": [1, 2], "$return_value": "done" } }),
            "{dies}"
        );
        assert_eq!(event["original_event"]["body"], json!({ "n": 7 }), "{dies}");
        assert!(
            event["error"]["message"].as_str().is_some_and(|m| !m.is_empty())
                && event["error"]["stack"].as_str().is_some_and(|s| s.starts_with(code))
        );
        let run =
            server.get(&format!("/workflows/{}/runs", id(&workflow))).await.json["data"][0].clone();
        let steps: Vec<_> = run["steps"]
            .as_array()
            .expect("steps")
            .iter()
            .map(|s| (s["namespace"].as_str(), s["status"].as_str()))
            .collect();
        assert_eq!(
            steps,
            [(Some("first"), Some("succeeded")), (Some("second"), Some("failed"))],
            "{dies}"
        );
    }
    let path = format!("/workflows/{}/runs?status=succeeded", id(&handler));
    server.until("the handler heard each", &path, |l| l["page_info"]["total_count"] == 4).await;
    let told =
        server.until("each is told by mail", "/mail", |l| l["page_info"]["total_count"] == 4).await;
    let mut subjects: Vec<_> = told["data"]
        .as_array()
        .expect("mails")
        .iter()
        .filter_map(|m| m["subject"].as_str())
        .collect();
    subjects.sort_unstable();
    assert_eq!(
        subjects,
        [
            "InternalFailure in InternalFailure",
            "OutOfMemory in OutOfMemory",
            "Timeout in Timeout",
            "Timeout in Timeout"
        ]
    );
}

#[tokio::test]
async fn s3_3_a_run_that_runs_out_of_attempts_tells_the_step_it_was_in() {
    let mut server = Server::start().await;
    let steps = [
        ("first", "return 'done';"),
        ("second", "console.log('begins'); await new Promise(() => {});"),
    ];
    let workflow = deploy(&server, "struck", json!({ "timeout_ms": 700_000 }), &steps).await;
    trigger(&server, &workflow, &json!({ "n": 1 })).await;
    let path = format!("/workflows/{}/runs", id(&workflow));
    for attempt in 1..=10 {
        server
            .until("it is under way", &path, |l| {
                l["data"][0]["attempt"] == attempt && l["data"][0]["status"] == "running"
            })
            .await;
        // The first step's result is kept a moment after its end.
        server
            .until("its first step has ended", &path, |l| {
                l["data"][0]["steps"][0]["status"] == "succeeded"
            })
            .await;
        server.kill();
        server.launch().await;
    }
    let event = nth_error(&server, &format!("workflows/{}", id(&workflow)), 1).await;
    assert_eq!(
        (&event["error"]["code"], &event["error"]["cellId"]),
        (&json!("InternalFailure"), &workflow["steps"][1]["id"])
    );
    assert!(
        event["error"]["message"].as_str().is_some_and(|m| m.contains("started 10 times")),
        "{event}"
    );
    assert_eq!(event["steps"]["first"]["$return_value"], "done");
    assert_eq!(mails(&server).await.len(), 1);
}

#[tokio::test]
async fn s7_an_error_of_a_source_is_in_its_log_and_on_errors_of_source_and_organization() {
    let server = Server::shared().await;
    let handler = deploy(
        &server,
        "handler",
        json!({}),
        &[("note", "return steps.trigger.event.error.code;")],
    )
    .await;
    let code = "export default { name: 's', version: '1', run(event) { throw new RangeError('no ' + event.n); } };";
    let source = server.source(code, json!({})).await;
    for emitter in [id(&source), &server.org_id, "dc_*"] {
        server.post("/subscriptions", &json!({ "emitter_id": emitter, "listener_id": id(&handler), "event_name": "$errors" })).await.data();
    }
    server
        .post(&format!("/sources/{}/run", id(&source)), &json!({ "event": { "n": 3 } }))
        .await
        .data();
    let event = nth_error(&server, &format!("sources/{}", id(&source)), 1).await;
    assert_eq!(
        (&event["error"]["code"], &event["error"]["message"], &event["original_event"]["n"]),
        (&json!("RangeError"), &json!("no 3"), &json!(3))
    );
    // Once, though three subscriptions name it.
    let path = format!("/workflows/{}/runs?status=succeeded", id(&handler));
    server.until("the handler ran", &path, |l| l["page_info"]["total_count"] == 1).await;
    let logs = server.get(&format!("/sources/{}/logs", id(&source))).await.text;
    assert!(logs.contains("RangeError: no 3"), "{logs}");
    assert!(mails(&server).await.is_empty(), "the mail is for workflows");
    let groups = server.get(&format!("/sources/{}/error_groups", id(&source))).await.json;
    assert_eq!(
        (&groups["data"][0]["code"], &groups["data"][0]["count"], &groups["data"][0]["source_id"]),
        (&json!("RangeError"), &json!(1), &source["id"])
    );
}

#[tokio::test]
async fn s2_3_large_payloads_and_stacks_are_cut_with_a_visible_mark() {
    let server = Server::start_with(&["--http-body-max-bytes", "8000000"]).await;
    let code = "const e = new Error('m'.repeat(100_000)); e.stack = 'Error: deep\\n' + '    at deep (deep.mjs:1:1)\\n'.repeat(20_000); throw e;";
    let workflow = deploy(
        &server,
        "deep",
        json!({}),
        &[("first", "return 'r'.repeat(400_000);"), ("second", code)],
    )
    .await;
    trigger(&server, &workflow, &json!({ "text": "x".repeat(3_000_000) })).await;
    let event = nth_error(&server, &format!("workflows/{}", id(&workflow)), 1).await;
    let length = |value: &Value| value.as_str().map_or(0, str::len);
    for (what, max) in [(&event["error"]["message"], 17_000), (&event["error"]["stack"], 66_000)] {
        assert!(
            length(what) < max && what.as_str().is_some_and(|text| text.contains("\n[cut")),
            "{} bytes",
            length(what)
        );
    }
    let original = &event["original_event"];
    assert!(
        original["$truncated"] == true
            && original["$bytes"].as_u64().is_some_and(|n| n > 3_000_000)
            && length(&original["$preview"]) <= 1024,
        "{original}"
    );
    assert!(
        event["steps"]["$truncated"] == true
            && event["steps"]["$bytes"].as_u64().is_some_and(|n| n > 400_000)
    );
    // The run has all of it, so that it can be replayed.
    let run =
        server.get(&format!("/workflows/{}/runs", id(&workflow))).await.json["data"][0].clone();
    assert_eq!(length(&run["event"]["body"]["text"]), 3_000_000);
    let mail = &mails(&server).await[0];
    assert!(
        length(&mail["text"]) < 10_000 && mail["text"].as_str().is_some_and(|t| t.contains("[cut")),
        "{} bytes",
        length(&mail["text"])
    );
}

#[tokio::test]
async fn s6_3_a_mail_goes_out_once_in_24_hours_across_midnight_and_restarts() {
    let mail = MailServer::start().await;
    let mut server = Server::start_at(BEFORE_MIDNIGHT, &["--smtp-url", &mail.url]).await;
    let workflow = deploy(
        &server,
        "orders",
        json!({}),
        &[("charge", "throw new globalThis[steps.trigger.event.body.error]('no funds');")],
    )
    .await;
    let other =
        deploy(&server, "other", json!({}), &[("charge", "throw new TypeError('no funds');")])
            .await;
    let type_error = json!({ "error": "TypeError" });
    trigger(&server, &workflow, &type_error).await;
    has_failed(&server, &workflow, 1).await;
    assert_eq!(mails(&server).await.len(), 1);
    // Over midnight it is still the same day of 24 hours.
    server.set_clock(BEFORE_MIDNIGHT + 20 * MINUTE_MS);
    trigger(&server, &workflow, &type_error).await;
    has_failed(&server, &workflow, 2).await;
    // Another class, and the same class in another workflow, are other errors.
    trigger(&server, &workflow, &json!({ "error": "RangeError" })).await;
    trigger(&server, &other, &type_error).await;
    has_failed(&server, &workflow, 3).await;
    has_failed(&server, &other, 1).await;
    assert_eq!(mails(&server).await.len(), 3);
    // A mail that is taken while the server dies may go out again: not what is tested here.
    are_sent(&server, 3).await;
    server.kill();
    server.set_clock(BEFORE_MIDNIGHT + DAY_MS - 1);
    server.launch().await;
    trigger(&server, &workflow, &type_error).await;
    has_failed(&server, &workflow, 4).await;
    assert_eq!(mails(&server).await.len(), 3);
    assert_eq!(server.terminate(), Some(0));
    server.set_clock(BEFORE_MIDNIGHT + DAY_MS);
    server.launch().await;
    trigger(&server, &workflow, &type_error).await;
    has_failed(&server, &workflow, 5).await;
    let shown = mails(&server).await;
    assert_eq!(shown.len(), 4);
    let text = |mail: &Value| mail["text"].as_str().unwrap_or("").to_owned();
    assert!(
        text(&shown[0]).contains("Count:    3 since the last mail")
            && text(&shown[3]).contains("Count:    1 since the last mail"),
        "{}",
        text(&shown[0])
    );
    // Every event was delivered to the stream, whatever was mailed.
    assert_eq!(
        server.get(&format!("/workflows/{}/$errors/event_summaries", id(&workflow))).await.json["page_info"]
            ["total_count"],
        5
    );
    are_sent(&server, 4).await;
    assert_eq!(mail.mails.lock().expect("not poisoned").len(), 4);
}

#[tokio::test]
async fn s7_the_mail_names_all_in_text_and_html_and_links_to_run_and_replay() {
    let mail = MailServer::start().await;
    let server =
        Server::start_with(&["--smtp-url", &mail.url, "--owner-email", "owner@x.test"]).await;
    let workflow = deploy(
        &server,
        "orders <1>",
        json!({}),
        &[("charge", "throw new TypeError('no <b>funds</b>');")],
    )
    .await;
    trigger(&server, &workflow, &json!({})).await;
    let shown = server.until("a mail", "/mail", |l| l["data"][0]["status"] == "sent").await["data"]
        [0]
    .clone();
    let run =
        server.get(&format!("/workflows/{}/runs", id(&workflow))).await.json["data"][0].clone();
    let link = format!("{}/runs/{}", server.url, id(&run));
    let (text, html) =
        (shown["text"].as_str().expect("text"), shown["html"].as_str().expect("html"));
    for part in [
        "orders <1>",
        "charge",
        "TypeError",
        "no <b>funds</b>",
        "1 since the last mail",
        &format!("{}/workflows/{}/edit?run={}", server.url, id(&workflow), id(&run)),
        &format!("{link}#replay"),
        run["error"]["ts"].as_str().expect("a time"),
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    for part in [
        "orders &lt;1&gt;",
        "charge",
        "TypeError",
        "no &lt;b&gt;funds",
        "1 since the last mail",
        &format!("href=\"{link}\""),
        &format!("href=\"{link}#replay\""),
    ] {
        assert!(html.contains(part), "{part}: {html}");
    }
    assert!(!html.contains("<b>funds") && html.contains("Fix the step</a>"), "{html}");
    let sent = mail.mails.lock().expect("not poisoned")[0].clone();
    assert!(
        sent.contains("multipart/alternative")
            && sent.contains("text/plain")
            && sent.contains("text/html")
            && sent.contains("To: owner@x.test"),
        "{sent}"
    );
    // Where the link leads, the application is.
    let page = server.raw(Method::GET, &link).send().await.expect("an answer");
    assert!(
        page.status().is_success()
            && page.headers()["content-type"].to_str().expect("text").starts_with("text/html")
    );
}

#[tokio::test]
async fn s7_a_mail_server_that_refuses_hangs_and_comes_back_gets_the_mail_once() {
    let mail = MailServer::start().await;
    mail.mood(Mood::Refuses);
    let mut server = Server::start_at(BEFORE_MIDNIGHT, &["--smtp-url", &mail.url]).await;
    let workflow =
        deploy(&server, "orders", json!({}), &[("charge", "throw new TypeError('no funds');")])
            .await;
    trigger(&server, &workflow, &json!({})).await;
    let tried = |times: i64| {
        move |l: &Value| l["data"][0]["attempts"] == times && l["data"][0]["status"] == "queued"
    };
    let shown = server.until("it was refused", "/mail", tried(1)).await;
    assert!(
        shown["data"][0]["last_error"]
            .as_str()
            .is_some_and(|e| e.contains("421") || e.contains("not available")),
        "{shown}"
    );
    // Not before its time.
    assert_eq!(mail.came(), 1);
    mail.mood(Mood::Hangs);
    server.set_clock(BEFORE_MIDNIGHT + MINUTE_MS);
    let shown = server.until("nobody answered", "/mail", tried(2)).await;
    assert!(shown["data"][0]["last_error"].as_str().is_some_and(|e| e.contains("time")), "{shown}");
    // A restart meanwhile loses and repeats nothing.
    assert_eq!(server.terminate(), Some(0));
    mail.mood(Mood::Takes);
    server.set_clock(BEFORE_MIDNIGHT + 3 * MINUTE_MS);
    server.launch().await;
    are_sent(&server, 1).await;
    server.set_clock(BEFORE_MIDNIGHT + DAY_MS / 2);
    server.kill();
    server.launch().await;
    trigger(&server, &workflow, &json!({})).await;
    has_failed(&server, &workflow, 2).await;
    assert_eq!(mails(&server).await.len(), 1);
    assert_eq!(mail.mails.lock().expect("not poisoned").len(), 1);
}

#[tokio::test]
async fn s6_3_several_recipients_get_the_mail_and_a_workflow_may_opt_out() {
    let server = Server::start().await;
    let settings = json!({ "error_recipients": ["a@x.test", "Team B <b@x.test>", "a@x.test"] });
    let workflow = deploy(
        &server,
        "many",
        settings,
        &[("a", "throw new globalThis[steps.trigger.event.body.error]('x');")],
    )
    .await;
    assert_eq!(workflow["settings"]["error_recipients"], json!(["a@x.test", "Team B <b@x.test>"]));
    trigger(&server, &workflow, &json!({ "error": "TypeError" })).await;
    let listed = server.until("two mails", "/mail", |l| l["page_info"]["total_count"] == 2).await;
    let mut to: Vec<&str> = listed["data"]
        .as_array()
        .expect("mails")
        .iter()
        .filter_map(|m| m["recipient"].as_str())
        .collect();
    to.sort_unstable();
    assert_eq!(to, ["Team B <b@x.test>", "a@x.test"]);
    // Holds at once, without a deployment.
    let path = format!("/workflows/{}", id(&workflow));
    server.put(&path, &json!({ "settings": { "error_notification": false } })).await.data();
    trigger(&server, &workflow, &json!({ "error": "RangeError" })).await;
    has_failed(&server, &workflow, 2).await;
    assert_eq!(mails(&server).await.len(), 2);
    server
        .put(&path, &json!({ "settings": { "error_notification": true, "error_recipients": [] } }))
        .await
        .data();
    trigger(&server, &workflow, &json!({ "error": "SyntaxError" })).await;
    has_failed(&server, &workflow, 3).await;
    assert_eq!(mails(&server).await[0]["recipient"], "owner@localhost");
    for wrong in [
        json!(["nobody"]),
        json!(["a@x.test\nBcc: b@x.test"]),
        json!((0..11).map(|n| format!("a{n}@x.test")).collect::<Vec<_>>()),
    ] {
        let refused =
            server.put(&path, &json!({ "settings": { "error_recipients": wrong } })).await;
        assert_eq!(
            (refused.status, &refused.json["details"]["field"]),
            (422, &json!("settings.error_recipients")),
            "{}",
            refused.text
        );
    }
}

#[tokio::test]
async fn s6_3_the_organization_says_who_gets_the_mail_of_workflows_that_name_nobody() {
    let server = Server::start().await;
    let fails: &[(&str, &str)] = &[("a", "throw new TypeError('x');")];
    let plain = deploy(&server, "plain", json!({}), fails).await;
    let own = deploy(&server, "own", json!({ "error_recipients": ["own@x.test"] }), fails).await;
    let path = format!("/workspaces/{}", server.org_id);
    server
        .put(&path, &json!({ "error_recipients": ["ops@x.test", "on-call@x.test"] }))
        .await
        .data();
    trigger(&server, &plain, &json!({})).await;
    trigger(&server, &own, &json!({})).await;
    let listed = server.until("three mails", "/mail", |l| l["page_info"]["total_count"] == 3).await;
    let mut to: Vec<&str> = listed["data"]
        .as_array()
        .expect("mails")
        .iter()
        .filter_map(|m| m["recipient"].as_str())
        .collect();
    to.sort_unstable();
    assert_eq!(to, ["on-call@x.test", "ops@x.test", "own@x.test"]);
    // Without any it is the owner again.
    server.put(&path, &json!({ "error_recipients": [] })).await.data();
    let third = deploy(&server, "third", json!({}), fails).await;
    trigger(&server, &third, &json!({})).await;
    server.until("a fourth", "/mail", |l| l["page_info"]["total_count"] == 4).await;
    assert_eq!(mails(&server).await[0]["recipient"], "owner@localhost");
}

#[tokio::test]
async fn s7_errors_are_grouped_by_class_step_and_place() {
    let server = Server::shared().await;
    let code = "const kind = steps.trigger.event.body.kind;\nif (kind === 'a') throw new TypeError('one ' + Math.random());\nthrow new TypeError('two');";
    let workflow = deploy(
        &server,
        "w",
        json!({}),
        &[
            (
                "first",
                "if (steps.trigger.event.body.kind === 'c') throw new TypeError('in first');",
            ),
            ("second", code),
        ],
    )
    .await;
    for kind in ["a", "a", "b", "a", "c"] {
        trigger(&server, &workflow, &json!({ "kind": kind })).await;
    }
    has_failed(&server, &workflow, 5).await;
    let path = format!("/workflows/{}/error_groups", id(&workflow));
    let groups = server.get(&path).await.json;
    assert_eq!(groups["page_info"]["total_count"], 3);
    let mut seen: Vec<_> = groups["data"]
        .as_array()
        .expect("groups")
        .iter()
        .map(|g| (g["step"].as_str().unwrap_or(""), g["count"].as_i64().unwrap_or(0)))
        .collect();
    seen.sort_unstable();
    assert_eq!(seen, [("first", 1), ("second", 1), ("second", 3)]);
    let three = groups["data"]
        .as_array()
        .expect("groups")
        .iter()
        .find(|g| g["count"] == 3)
        .expect("the group");
    assert!(
        three["frame"].as_str().is_some_and(|f| f.contains("second.mjs"))
            && three["first_seen_ms"].as_i64() <= three["last_seen_ms"].as_i64(),
        "{three}"
    );
    assert_eq!(server.get("/error_groups?limit=2").await.json["page_info"]["count"], 2);
    assert_eq!(three["days"], Value::Null);
    // How often on each day, which end where the request says.
    let counted = server.get(&format!("{path}?days=2")).await.json;
    let mut counted: Vec<_> =
        counted["data"].as_array().expect("groups").iter().map(|g| g["days"].clone()).collect();
    counted.sort_by_key(|days| days[1].as_i64());
    assert_eq!(counted, [json!([0, 1]), json!([0, 1]), json!([0, 3])]);
    let tomorrow =
        groups["data"][0]["last_seen_ms"].as_i64().expect("a time") + 1 + 24 * 3600 * 1000;
    let before = server
        .get(&format!("/error_groups?days=2&days_to={tomorrow}&class=TypeError&limit=1"))
        .await
        .json;
    assert_eq!(before["data"][0]["days"][1], 0, "{before}");
    assert_eq!(server.get("/error_groups?days=31").await.json["details"]["field"], "days");
    assert_eq!(server.get("/workflows/p_nothere/error_groups").await.status, 404);
    // A test run is in no group.
    server
        .post(
            &format!("/workflows/{}/test", id(&workflow)),
            &json!({ "event": { "body": { "kind": "a" } } }),
        )
        .await
        .data();
    assert_eq!(server.get(&path).await.json["page_info"]["total_count"], 3);
}

#[tokio::test]
async fn s7_a_group_of_errors_is_resolved_regresses_and_is_ignored() {
    let server = Server::shared().await;
    let workflow =
        deploy(&server, "w", json!({}), &[("only", "throw new TypeError('still broken');")]).await;
    trigger(&server, &workflow, &json!({})).await;
    has_failed(&server, &workflow, 1).await;
    let group = server.get("/error_groups").await.json["data"][0].clone();
    assert_eq!(
        (&group["state"], &group["state_changed_at_ms"], &group["note"]),
        (&json!("open"), &Value::Null, &Value::Null)
    );
    let path = format!("/error_groups/{}", id(&group));
    let one = server.get(&path).await.data();
    assert_eq!(
        (&one["history"], &one["versions"][0]["version"], &one["versions"][0]["count"]),
        (&json!([]), &json!(1), &json!(1))
    );
    // Resolved, until a run accepted after that fails the same way.
    let resolved = server
        .put(&path, &json!({ "state": "resolved", "note": "mended in version 2" }))
        .await
        .data();
    assert_eq!(
        (&resolved["state"], &resolved["note"], &resolved["count"]),
        (&json!("resolved"), &json!("mended in version 2"), &json!(1))
    );
    assert!(resolved["history"][0]["by"]["name"].is_string(), "{resolved}");
    assert_eq!(
        server.get("/error_groups?state=open,regressed").await.json["page_info"]["total_count"],
        0
    );
    trigger(&server, &workflow, &json!({})).await;
    has_failed(&server, &workflow, 2).await;
    let regressed = server.get(&path).await.data();
    let (state, newest) = (&regressed["state"], &regressed["history"][0]);
    assert_eq!(
        (state, &newest["state"], &newest["by"], &newest["run_id"]),
        (&json!("regressed"), &json!("regressed"), &Value::Null, &regressed["last_run_id"])
    );
    assert_eq!(
        server.get("/error_groups?state=open,regressed&class=TypeError").await.json["page_info"]["total_count"],
        1
    );
    // A record that was read is taken as it is; what says nothing new leaves no change behind.
    let same = server
        .put(&path, &json!({ "state": regressed["state"], "note": regressed["note"] }))
        .await
        .data();
    assert_eq!(same["history"].as_array().map(Vec::len), Some(2));
    let ignored = server.put(&path, &json!({ "state": "ignored" })).await.data();
    assert_eq!(
        (&ignored["state"], &ignored["note"]),
        (&json!("ignored"), &json!("mended in version 2"))
    );
    assert_eq!(server.put(&path, &json!({ "note": null })).await.data()["note"], Value::Null);
    trigger(&server, &workflow, &json!({})).await;
    has_failed(&server, &workflow, 3).await;
    assert_eq!(server.get(&path).await.data()["state"], "ignored");
    // Only the server says that one regressed.
    for (body, field) in [
        (json!({ "state": "regressed" }), "state"),
        (json!({ "state": "gone" }), "state"),
        (json!({ "note": "n".repeat(2_001) }), "note"),
    ] {
        let refused = server.put(&path, &body).await;
        assert_eq!(
            (refused.status, &refused.json["details"]["field"]),
            (422, &json!(field)),
            "{}",
            refused.text
        );
    }
    assert_eq!(server.get("/error_groups/eg_none").await.status, 404);
    assert_eq!(server.get("/error_groups?state=gone").await.json["details"]["field"], "state");
}
