//! Sections 2.7.2 and 2.7.3: interface props.

use millrace_tests::{Server, answer, endpoint, id};
use reqwest::Method;
use serde_json::{Value, json};

/// A source that answers with what `body` evaluates to, `event` being the request.
fn answering(body: &str) -> String {
    format!(
        "export default {{ name: 'h', version: '1', props: {{ http: {{ type: '$.interface.http', customResponse: true }}, db: '$.service.db' }},
           hooks: {{ activate() {{ this.http.respond({{ status: 200 }}); }} }},
           async run(event) {{ {body} }} }};"
    )
}

#[tokio::test]
async fn s2_7_2_a_timer_runs_and_its_event_has_timestamp_and_interval() {
    let server = Server::shared().await;
    let code = "export default { name: 't', version: '1', props: { timer: { type: '$.interface.timer', default: { intervalSeconds: 1 } } }, run(event) { this.$emit({ event, self: this.timer }); } };";
    let source = server.source(code, json!({})).await;
    assert_eq!(source["configured_props"]["timer"], json!({ "cron": null, "interval_seconds": 1 }));
    let path = format!("/sources/{}/event_summaries?expand=event", id(&source));
    let list =
        server.until("two ticks", &path, |l| l["page_info"]["count"].as_u64() >= Some(2)).await;
    let event = &list["data"][0]["event"]["event"];
    assert!(
        event["interval_seconds"] == 1
            && event["timestamp"]
                .as_i64()
                .is_some_and(|t| (1_700_000_000..5_000_000_000).contains(&t)),
        "{event}"
    );
    // The prop itself says what kind of interface it is.
    assert_eq!(list["data"][0]["event"]["self"]["type"], "$.interface.timer");
}

#[tokio::test]
async fn s2_7_2_a_cron_timer_has_its_expression_and_both_time_zones_in_the_event() {
    let server = Server::shared().await;
    let code = "export default { name: 't', version: '1', props: { timer: { type: '$.interface.timer', default: { cron: '* * * * * *', timezone: 'Asia/Kolkata' } } }, run(event) { this.$emit(event); } };";
    let source = server.source(code, json!({})).await;
    let props = &source["configured_props"]["timer"];
    assert_eq!((&props["cron"], &props["interval_seconds"]), (&json!("* * * * * *"), &Value::Null));
    let path = format!("/sources/{}/event_summaries?expand=event", id(&source));
    let list = server.until("a tick", &path, |l| l["page_info"]["count"].as_u64() >= Some(1)).await;
    let event = &list["data"][0]["event"];
    assert!(
        event["cron"] == "* * * * * *"
            && event["timestamp"].is_i64()
            && event.get("interval_seconds").is_none(),
        "{event}"
    );
    for (zone, offset) in [("timezone_configured", "+05:30"), ("timezone_utc", "Z")] {
        let shown = &event[zone]["iso8601"];
        let [date, time] = ["date", "time"].map(|part| shown[part].as_str().expect("a text"));
        assert_eq!(shown["timestamp"], format!("{date}T{time}"), "{event}");
        assert!(date.len() == 10 && time.ends_with(offset), "{event}");
    }
}

#[tokio::test]
async fn s2_7_2_a_tick_of_a_workflow_has_both_time_zones() {
    let server = Server::shared().await;
    let step =
        "export default defineComponent({ run({ steps }) { return steps.trigger.event; } });";
    let triggers = json!([{ "type": "timer", "props": { "intervalSeconds": 1 } }]);
    let workflow = server.workflow("ticks", triggers, &[("s", step)]).await;
    let runs = format!("/workflows/{}/runs?status=succeeded", id(&workflow));
    let list = server.until("a tick", &runs, |l| l["page_info"]["count"].as_u64() >= Some(1)).await;
    let event = &list["data"][0]["steps"][0]["exports"]["$return_value"];
    assert_eq!(event["interval_seconds"], 1, "{event}");
    for zone in ["timezone_configured", "timezone_utc"] {
        assert!(event[zone]["iso8601"]["date"].is_string(), "{event}");
    }
    server.put(&format!("/workflows/{}", id(&workflow)), &json!({ "active": false })).await.data();
}

#[tokio::test]
async fn s2_7_2_a_value_wins_over_the_default_and_what_is_no_schedule_is_refused() {
    let server = Server::shared().await;
    let code = |prop: &str| {
        format!(
            "export default {{ name: 't', version: '1', props: {{ timer: {prop} }}, run() {{}} }};"
        )
    };
    let default = code("{ type: '$.interface.timer', default: { intervalSeconds: 900 } }");
    let timer = async |value: Value| {
        server.source(&default, json!({ "timer": value })).await["configured_props"]["timer"]
            .clone()
    };
    for value in [
        json!({ "intervalSeconds": 60 }),
        json!({ "interval_seconds": 60 }),
        json!({ "cron": null, "interval_seconds": 60 }),
    ] {
        assert_eq!(timer(value).await, json!({ "cron": null, "interval_seconds": 60 }));
    }
    let daily = timer(json!({ "cron": "0 9 * * 1-5" })).await;
    assert_eq!((&daily["cron"], &daily["interval_seconds"]), (&json!("0 9 * * 1-5"), &Value::Null));
    for value in [
        json!({}),
        json!({ "intervalSeconds": -1 }),
        json!({ "intervalSeconds": "often" }),
        json!({ "cron": "61 * * * *" }),
        json!({ "cron": "* * *" }),
        json!("5"),
    ] {
        let refused = server
            .post(
                "/sources",
                &json!({ "component_code": default, "configured_props": { "timer": value } }),
            )
            .await;
        assert_eq!(refused.status, 422, "{value}: {}", refused.text);
        assert_eq!(
            refused.json["details"]["props"][0]["prop"], "timer",
            "{value}: {}",
            refused.text
        );
    }
    let bare =
        server.post("/sources", &json!({ "component_code": code("'$.interface.timer'") })).await;
    assert_eq!(
        (bare.refusal(), &bare.json["details"]["props"][0]["prop"]),
        ((422, "missing_props"), &json!("timer"))
    );
}

#[tokio::test]
async fn s2_7_3_a_status_that_is_refused_is_named_to_the_caller() {
    let server = Server::shared().await;
    let body = "this.http.respond({ status: JSON.parse(event.query.status), body: 'x' });";
    let source = server.source(&answering(body), json!({})).await;
    for (status, shown) in
        [("100", "the status 100"), ("200.5", "the status 200.5"), ("\"abc\"", "no number")]
    {
        let url = endpoint(&source);
        let asked = answer(server.raw(Method::GET, &url).query(&[("status", status)])).await;
        assert_eq!(asked.status, 500, "{status}");
        assert!(
            asked.text.contains(shown) && asked.text.contains("allowed are integers from 200"),
            "{}",
            asked.text
        );
    }
    let asked = answer(server.raw(Method::GET, &endpoint(&source)).query(&[("status", "204")]));
    assert_eq!(asked.await.status, 204);
}

#[tokio::test]
async fn s2_7_3_an_http_event_has_the_fields_of_the_spec_and_respond_answers() {
    let server = Server::shared().await;
    let code = "export default { name: 'h', version: '1', props: { http: { type: '$.interface.http', customResponse: true } }, run(event) { this.http.respond({ status: 201, headers: { 'x-a': 'b' }, body: { event, endpoint: this.http.endpoint } }); } };";
    let source = server.source(code, json!({})).await;
    let url = endpoint(&source);
    let request = server
        .raw(Method::PUT, &format!("{url}/below/it?a=1"))
        .header("content-type", "application/json")
        .header("X-Custom", "Yes")
        .body("{\"n\": 1}");
    let response = request.send().await.expect("an answer");
    assert_eq!(
        (response.status().as_u16(), response.headers()["x-a"].to_str().ok()),
        (201, Some("b"))
    );
    let body: serde_json::Value = response.json().await.expect("JSON");
    assert_eq!(body["endpoint"], url.as_str());
    let event = &body["event"];
    assert_eq!(
        (&event["method"], &event["path"], &event["query"], &event["bodyRaw"], &event["body"]),
        (
            &json!("PUT"),
            &json!("/below/it"),
            &json!({ "a": "1" }),
            &json!("{\"n\": 1}"),
            &json!({ "n": 1 })
        )
    );
    assert_eq!(event["headers"]["x-custom"], "Yes");
    // Public components compare the address of the sender, and verify signatures with the URL
    // (registry facts 2.1).
    assert_eq!(
        (&event["client_ip"], &event["url"]),
        (&json!("127.0.0.1"), &json!(format!("{url}/below/it")))
    );
    assert_eq!(event.get("timestamp"), None);
}

#[tokio::test]
async fn s2_7_3_bodies_that_code_gives_are_sent_as_they_are() {
    let server = Server::shared().await;
    for (body, content, bytes) in [
        ("'text'", "text/", &b"text"[..]),
        ("{ a: [1] }", "application/json", b"{\"a\":[1]}"),
        ("[1, 2]", "application/json", b"[1,2]"),
        ("Buffer.from([0, 255, 10])", "", b"\x00\xff\n"),
        ("undefined", "", b""),
    ] {
        let source = server
            .source(
                &answering(&format!("this.http.respond({{ status: 200, body: {body} }});")),
                json!({}),
            )
            .await;
        let response = server.raw(Method::GET, &endpoint(&source)).send().await.expect("an answer");
        assert_eq!(response.status().as_u16(), 200);
        let kind = response.headers()["content-type"].to_str().expect("text").to_owned();
        assert!(kind.contains(content), "{body}: {kind}");
        assert_eq!(response.bytes().await.expect("a body").as_ref(), bytes, "{body}");
    }
}

#[tokio::test]
async fn s2_7_3_a_status_may_be_text_and_headers_undefined_and_what_cannot_be_is_an_error() {
    let server = Server::shared().await;
    let source =
        server.source(&answering("this.http.respond({ status: event.query.s, headers: { 'x-none': undefined, 'X-One': '1' }, body: '' });"), json!({})).await;
    for (status, got) in [("204", 204), ("302", 302), ("404", 404), ("599", 599)] {
        let response = server
            .raw(Method::GET, &format!("{}?s={status}", endpoint(&source)))
            .send()
            .await
            .expect("an answer");
        assert_eq!(
            (
                response.status().as_u16(),
                response.headers().get("x-none"),
                response.headers()["x-one"].to_str().ok()
            ),
            (got, None, Some("1"))
        );
    }
    for status in ["99", "600", "abc", "-1", "20.5"] {
        assert_eq!(
            answer(server.raw(Method::GET, &format!("{}?s={status}", endpoint(&source))))
                .await
                .status
                / 100,
            5,
            "{status}"
        );
    }
}

#[tokio::test]
async fn s2_7_3_respond_belongs_to_run_and_the_first_answer_counts() {
    let server = Server::shared().await;
    let source =
        server.source(&answering("this.http.respond({ status: 200, body: 'first' }); this.http.respond({ status: 500, body: 'late' });"), json!({})).await;
    let got = answer(server.raw(Method::GET, &endpoint(&source))).await;
    assert_eq!((got.status, got.text.as_str()), (200, "first"));
    let logs = server.get(&format!("/sources/{}/logs", id(&source))).await.text;
    assert!(logs.contains("respond was called in the activate hook"), "{logs}");
}

#[tokio::test]
async fn s2_7_3_a_source_that_answers_itself_and_does_not_gets_a_clear_error() {
    let server = Server::shared().await;
    let silent = server.source(&answering(""), json!({})).await;
    let got = answer(server.raw(Method::GET, &endpoint(&silent))).await;
    assert!(
        (500..600).contains(&got.status) && got.text.contains("respond"),
        "{} {}",
        got.status,
        got.text
    );
    let throwing =
        server.source(&answering("throw new Error('before an answer');"), json!({})).await;
    let got = answer(server.raw(Method::GET, &endpoint(&throwing))).await;
    assert!(
        (500..600).contains(&got.status) && !got.text.contains("before an answer"),
        "{} {}",
        got.status,
        got.text
    );
    // An answer that was given before the error is sent.
    let both = server
        .source(
            &answering(
                "this.http.respond({ status: 202, body: 'first' }); throw new Error('then');",
            ),
            json!({}),
        )
        .await;
    let got = answer(server.raw(Method::GET, &endpoint(&both))).await;
    assert_eq!((got.status, got.text.as_str()), (202, "first"));
    // Who answers early need not be waited for.
    let early = server
        .source(
            &answering("this.http.respond({ status: 200, body: 'early' }); await new Promise((go) => setTimeout(go, 300)); this.db.set('late', 1);"),
            json!({}),
        )
        .await;
    assert_eq!(answer(server.raw(Method::GET, &endpoint(&early))).await.text, "early");
}

#[tokio::test]
async fn s2_7_3_without_custom_response_the_service_answers_and_a_failing_run_changes_nothing() {
    let server = Server::shared().await;
    let code = "export default { name: 'h', version: '1', props: { http: '$.interface.http' }, run() { throw new Error('broken'); } };";
    let source = server.source(code, json!({})).await;
    let response =
        server.raw(Method::POST, &endpoint(&source)).body("x").send().await.expect("an answer");
    assert_eq!(
        (
            response.status().as_u16(),
            response.headers()["content-type"].to_str().expect("text").starts_with("text/html")
        ),
        (200, true)
    );
    assert!(response.text().await.expect("a page").contains("Success"));
    server
        .until("the error", &format!("/sources/{}/logs", id(&source)), |l| {
            l["data"].to_string().contains("broken")
        })
        .await;
}

#[tokio::test]
async fn s2_7_an_interface_or_a_service_takes_no_value_but_its_own_record() {
    let server = Server::shared().await;
    let code = "export default { name: 'h', version: '1', props: { http: '$.interface.http', db: '$.service.db' }, run() { return this.db.get('n') ?? 'none'; } };";
    for (prop, value) in [
        ("http", json!(5)),
        ("http", json!("https://example.com")),
        ("db", json!([1])),
        ("db", json!(true)),
    ] {
        let refused = server
            .post(
                "/sources",
                &json!({ "component_code": code, "configured_props": { prop: value } }),
            )
            .await;
        let problem = refused.json["details"]["props"][0]["problem"].as_str().unwrap_or_default();
        assert!(
            refused.refusal() == (422, "invalid_props")
                && problem.contains("allowed is none: the server makes"),
            "{}",
            refused.text
        );
    }
    let source = server.source(code, json!({ "http": "$.interface.http", "db": {} })).await;
    assert!(source["configured_props"]["http"]["endpoint_url"].is_string(), "{source}");
    // A client that changes one thing sends the rest back as it was.
    let same = server
        .put(
            &format!("/sources/{}", id(&source)),
            &json!({ "configured_props": source["configured_props"] }),
        )
        .await
        .data();
    assert_eq!(same["configured_props"], source["configured_props"]);
}
