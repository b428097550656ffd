//! Events of apps (registry facts 2.4): `$.interface.apphook`.

use millrace_tests::{Client, Server};
use serde_json::{Value, json};

/// A source of an app, with the names of events it listens for as JavaScript.
fn source(names: &str) -> String {
    format!(
        "const zoom = {{ type: 'app', app: 'own_zoom', methods: {{ kind() {{ return 'meeting'; }} }} }};
         export default {{ name: 'hooked', version: '1', props: {{ zoom, kind: {{ type: 'string', optional: true }}, hook: {{ type: '$.interface.apphook', appProp: 'zoom', eventNames: {names} }} }},
           run(event) {{ this.$emit(event); }} }};"
    )
}

async fn heard(server: &Client, source: &Value, count: u64) -> Value {
    let path =
        format!("/sources/{}/event_summaries?expand=event", source["id"].as_str().expect("an id"));
    server.until("the event", &path, |list| list["page_info"]["count"] == count).await["data"][0]["event"].clone()
}

#[tokio::test]
async fn r3_an_event_of_an_app_starts_the_sources_that_listen_for_it() {
    let server = Server::shared().await;
    let fixed = server.source(&source("['meeting.ended', 'meeting.started']"), json!({})).await;
    assert_eq!(
        fixed["configured_props"]["hook"],
        json!({ "type": "$.interface.apphook", "event_names": ["meeting.ended", "meeting.started"] })
    );
    let asked = server
        .source(
            &source("async function () { return [`${this.zoom.kind()}.${this.kind}`]; }"),
            json!({ "kind": "created" }),
        )
        .await;
    let all = server.source(&source("[]"), json!({})).await;
    let send = |names: Value, n: i64| {
        let server = &server;
        async move {
            server
                .post("/apps/own_zoom/events", &json!({ "event_name": names, "event": { "n": n } }))
                .await
                .data()["sources"]
                .clone()
        }
    };
    let ids = |sources: &[&Value]| {
        let mut ids: Vec<String> =
            sources.iter().map(|s| s["id"].as_str().expect("an id").to_owned()).collect();
        ids.sort();
        json!(ids)
    };
    assert_eq!(send(json!("meeting.ended"), 1).await, ids(&[&fixed, &all]));
    assert_eq!(heard(&server, &fixed, 1).await, json!({ "n": 1 }));
    // One event may have several names: each source starts once.
    assert_eq!(
        send(json!(["meeting.started", "meeting.ended", "meeting.created"]), 2).await,
        ids(&[&fixed, &asked, &all])
    );
    assert_eq!(heard(&server, &fixed, 2).await, json!({ "n": 2 }));
    assert_eq!(heard(&server, &asked, 1).await, json!({ "n": 2 }));
    // What it listens for follows its props; what is inactive or gone hears nothing.
    let path = format!("/sources/{}", asked["id"].as_str().expect("an id"));
    server.put(&path, &json!({ "configured_props": { "kind": "deleted" } })).await.data();
    assert_eq!(send(json!("meeting.created"), 3).await, ids(&[&all]));
    assert_eq!(send(json!("meeting.deleted"), 4).await, ids(&[&asked, &all]));
    server.put(&path, &json!({ "active": false })).await.data();
    server.delete(&format!("/sources/{}", all["id"].as_str().expect("an id"))).await.data();
    assert_eq!(send(json!("meeting.deleted"), 5).await, json!([]));
}

#[tokio::test]
async fn r3_hooks_and_events_of_apps_that_cannot_be_are_refused() {
    let server = Server::shared().await;
    let refused = |code: String| {
        let server = &server;
        async move { server.post("/sources", &json!({ "component_code": code })).await }
    };
    for (code, words) in [
        (source("async function () { throw new Error('no channels'); }"), "no channels"),
        (source("[]").replace("appProp: 'zoom'", "appProp: 'nothing'"), "`nothing`"),
        (source(&format!("['{}']", "x".repeat(301))), "301"),
    ] {
        let refused = refused(code).await;
        assert_eq!(refused.refusal(), (422, "app_hook_failed"), "{}", refused.text);
        assert!(
            refused.text.contains(words) || refused.text.contains("listens for too much"),
            "{}",
            refused.text
        );
    }
    assert_eq!(server.get("/users/me/sources").await.json["page_info"]["total_count"], 0);
    assert_eq!(
        server.post("/apps/nobody_has_this/events", &json!({ "event_name": "a" })).await.refusal(),
        (404, "not_found")
    );
    assert_eq!(
        server.post("/apps/stripe/events", &json!({ "event": {} })).await.refusal(),
        (422, "missing_field")
    );
    assert_eq!(
        server.post("/apps/stripe/events", &json!({ "event_name": ["a", 1] })).await.refusal(),
        (422, "invalid_field")
    );
    let large = json!({ "event_name": "a", "event": "x".repeat(2 << 20) });
    assert_eq!(server.post("/apps/stripe/events", &large).await.refusal(), (413, "too_large"));
    assert_eq!(
        server.post("/apps/stripe/events", &json!({ "event_name": "a", "event": {} })).await.data()
            ["sources"],
        json!([])
    );
}
