//! Section 2.6: what a component's module says, and 2.8: the records of saved and deployed ones.

use millrace_tests::{Server, id};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

const FULL: &str = "export default { name: 'Full Thing', key: 'acme-full-thing', version: '0.0.1', type: 'source', description: 'All of it',
  props: { db: '$.service.db', timer: { type: '$.interface.timer', default: { intervalSeconds: 900 } }, url: { type: 'string', label: 'Feed', description: 'Its **address**' } },
  methods: { twice(n) { return 2 * n; }, quadruple(n) { return this.twice(this.twice(n)); } },
  hooks: { deploy() { this.db.set('hook', this.quadruple(1)); } },
  dedupe: 'unique',
  run() { return [this.quadruple(2), this.db.get('hook'), this.url]; } };";

fn names(record: &Value) -> Vec<&str> {
    record.as_object().expect("an object").keys().map(String::as_str).collect()
}

#[tokio::test]
async fn s2_6_methods_are_called_through_this_from_run_hooks_and_other_methods() {
    let server = Server::shared().await;
    assert_eq!(server.returned(FULL, json!({ "url": "u" })).await, json!([8, 4, "u"]));
}

#[tokio::test]
async fn s2_6_an_action_is_an_action_and_a_version_is_free_in_form() {
    let server = Server::shared().await;
    for version in ["0.0.1", "two", "1", "2024-05-06"] {
        let code = format!(
            "export default {{ name: 'a', key: 'acme-a', version: '{version}', type: 'action', run() {{}} }};"
        );
        let saved = server.post("/components", &json!({ "component_code": code })).await.data();
        assert_eq!((&saved["type"], &saved["version"]), (&json!("action"), &json!(version)));
    }
    // What an action is not: a source.
    let refused = server.post("/sources", &json!({ "component_code": "export default { name: 'a', version: '1', type: 'action', run() {} };" })).await;
    assert_eq!(refused.refusal(), (422, "not_a_source"));
}

#[tokio::test]
async fn s2_6_run_gets_the_event_in_a_source_and_dollar_in_an_action() {
    let server = Server::shared().await;
    let source = server.source("export default { name: 's', version: '1', run(event) { return [arguments.length, event]; } };", json!({})).await;
    assert_eq!(
        server.run_now(&source, json!({ "n": 1 })).await["return_value"],
        json!([1, { "n": 1 }])
    );
    let code = "export default { name: 'a', version: '1', type: 'action', run({ $, steps }) { return [typeof $.export, typeof $.respond, typeof $.flow.exit, steps.trigger.event.n]; } };";
    let workflow = server.workflow("w", json!([]), &[("a", code)]).await;
    let run = server
        .post(&format!("/workflows/{}/test", id(&workflow)), &json!({ "event": { "n": 2 } }))
        .await
        .data();
    assert_eq!(
        run["steps"][0]["exports"]["$return_value"],
        json!(["function", "function", "function", 2])
    );
}

#[tokio::test]
async fn s2_8_a_saved_component_has_its_record_and_cannot_be_run() {
    let server = Server::shared().await;
    let saved = server
        .post(
            "/components",
            &json!({ "component_code": FULL, "component_url": "https://example.test/kept.mjs" }),
        )
        .await
        .data();
    let component = id(&saved);
    assert!(component.starts_with("sc_"), "{component}");
    for field in [
        "id",
        "code",
        "code_hash",
        "name",
        "key",
        "version",
        "description",
        "type",
        "configurable_props",
        "apps",
        "created_at",
        "updated_at",
    ] {
        assert!(names(&saved).contains(&field), "{field}");
    }
    let hash: String = Sha256::digest(FULL).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(
        (&saved["code"], &saved["code_hash"], &saved["component_url"]),
        (&json!(FULL), &json!(hash), &json!("https://example.test/kept.mjs"))
    );
    assert_eq!(
        (&saved["name"], &saved["key"], &saved["description"]),
        (&json!("Full Thing"), &json!("acme-full-thing"), &json!("All of it"))
    );
    let seconds = saved["created_at"].as_i64().expect("epoch seconds");
    assert!((1_700_000_000..5_000_000_000).contains(&seconds), "{seconds}");
    assert_eq!(
        saved["configurable_props"],
        json!([
            { "name": "db", "type": "$.service.db" },
            { "name": "timer", "type": "$.interface.timer", "default": { "intervalSeconds": 900 } },
            { "name": "url", "type": "string", "label": "Feed", "description": "Its **address**" },
        ])
    );
    assert_eq!(server.get(&format!("/components/{component}")).await.data(), saved);
    assert_eq!(server.post(&format!("/sources/{component}/run"), &json!({})).await.status, 404);
}

#[tokio::test]
async fn s2_8_a_deployed_component_is_an_instance_of_a_saved_one() {
    let server = Server::shared().await;
    let saved = server.post("/components", &json!({ "component_code": FULL })).await.data();
    let body = json!({ "component_id": saved["id"], "component_code": "not looked at", "name": "My Feed", "configured_props": { "url": "u", "timer": { "intervalSeconds": 60 } } });
    let source = server.post("/sources", &body).await.data();
    assert!(id(&source).starts_with("dc_"));
    let me = server.get("/users/me").await.data();
    let expected = [
        ("component_id", &saved["id"]),
        ("user_id", &me["id"]),
        ("owner_id", &json!(server.org_id)),
        ("active", &json!(true)),
        ("name", &json!("My Feed")),
        ("name_slug", &json!("my-feed")),
        (
            "configured_props",
            &json!({ "db": { "type": "$.service.db" }, "timer": { "cron": null, "interval_seconds": 60 }, "url": "u" }),
        ),
    ];
    for (field, value) in expected {
        assert_eq!(&source[field], value, "{field}");
    }
    assert!(source["created_at"].is_i64() && source["updated_at"].is_i64());
    // Another instance of the same saved component has an id of its own.
    let other = server
        .post(
            "/sources",
            &json!({ "component_id": saved["id"], "configured_props": { "url": "u" } }),
        )
        .await
        .data();
    assert_eq!(
        (&other["component_id"], &other["name"], other["id"] == source["id"]),
        (&saved["id"], &json!("Full Thing"), false)
    );
    assert_eq!(server.get(&format!("/sources/{}", id(&source))).await.data(), source);
}

/// A public component may have more among its hooks than the service runs: it is said, not refused.
#[tokio::test]
async fn s3_1_a_hook_of_an_unknown_name_is_named_in_the_log_of_the_deploy() {
    let server = Server::shared().await;
    let code = "export default { name: 'h', version: '1', hooks: { created() {}, deploy() {} }, run() {} };";
    let source = server.source(code, json!({})).await;
    let log = server.get(&format!("/sources/{}/logs", id(&source))).await.data();
    assert_eq!(log.as_array().map(Vec::len), Some(1), "{log}");
    assert_eq!(log[0]["level"], "warn");
    assert_eq!(
        log[0]["text"],
        "no hook has the name `created`, and nothing runs it; hooks are `deploy`, `activate`, `deactivate`"
    );
}

/// A context may be any JSON, which the next page gets unchanged.
#[tokio::test]
async fn s2_7_1_the_context_of_options_may_be_any_json() {
    let server = Server::shared().await;
    let code = "export default { name: 'any', version: '1', props: { p: { type: 'string', optional: true, async options({ page, prevContext }) {
        return { options: [JSON.stringify(prevContext)], context: ['cursor', 5, [1, 'b'], true][page] }; } } }, run() {} };";
    let saved = server.post("/components", &json!({ "component_code": code })).await.data();
    let (mut context, mut seen) = (Value::Null, Vec::new());
    for page in 0..5 {
        let question =
            json!({ "id": saved["id"], "prop_name": "p", "page": page, "prev_context": context });
        let mut answer = server.post("/components/configure", &question).await.json;
        seen.push(answer["options"][0]["value"].take());
        context = answer["context"].take();
    }
    assert_eq!(json!(seen), json!(["{}", "\"cursor\"", "5", "[1,\"b\"]", "true"]));
}
