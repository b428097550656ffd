//! Fields that nobody reads, within the values of a request: each is named by its path, with those
//! that are read.

use millrace_tests::{Server, id};
use serde_json::{Value, json};

#[tokio::test]
async fn r1_1_unknown_fields_within_values_are_named_with_those_that_are_read() {
    let server = Server::shared().await;
    let step = json!({ "namespace": "a", "code": "export default { run() {} }", "zz": 1 });
    let trigger = |more: Value| {
        let mut trigger = json!({ "type": "http" });
        trigger
            .as_object_mut()
            .expect("an object")
            .extend(more.as_object().expect("fields").clone());
        json!({ "steps": [], "triggers": [trigger] })
    };
    let settings = |settings: Value| json!({ "steps": [], "settings": settings });
    let made_from = json!({ "project": "p", "path": "q", "zz": 1 });
    let auth = |auth: Value| trigger(json!({ "props": { "auth": auth } }));
    server
        .post("/apps", &json!({ "name_slug": "reads", "custom_fields": [{ "name": "key" }] }))
        .await
        .data();
    for (path, body, field, read) in [
        ("/workflows", json!({ "steps": [step] }), "steps[0]", "namespace"),
        ("/workflows", trigger(json!({ "zz": 1 })), "triggers[0]", "customResponse"),
        ("/workflows", trigger(json!({ "props": { "zz": 1 } })), "triggers[0].props", "auth"),
        ("/workflows", auth(json!({ "type": "none", "zz": 1 })), "triggers[0].props.auth", "token"),
        ("/workflows", settings(json!({ "zz": 1 })), "settings", "timeout_ms"),
        ("/workflows", settings(json!({ "throttle": { "zz": 1 } })), "settings.throttle", "runs"),
        (
            "/workflows",
            settings(json!({ "auto_retry": { "zz": 1 } })),
            "settings.auto_retry",
            "max",
        ),
        ("/workflows", json!({ "steps": [], "made_from": made_from }), "made_from", "project"),
        ("/runs/cancel", json!({ "filter": { "zz": 1 } }), "filter", "status"),
        ("/replays", json!({ "filter": { "zz": 1 } }), "filter", "status"),
        ("/accounts", json!({ "app": "reads", "credentials": { "zz": 1 } }), "credentials", "key"),
        (
            "/apps",
            json!({ "name_slug": "own", "custom_fields": [{ "zz": 1 }] }),
            "custom_fields",
            "name",
        ),
    ] {
        let refused = server.post(path, &body).await;
        let allowed = refused.json["details"]["allowed"].as_array().cloned().unwrap_or_default();
        assert_eq!(
            (refused.refusal(), &refused.json["details"]["field"], allowed.contains(&json!(read))),
            ((422, "unknown_field"), &json!(format!("{field}.zz")), true),
            "{body}: {}",
            refused.text
        );
    }
}

#[tokio::test]
async fn r1_1_a_value_of_the_wrong_type_is_named_by_its_path_with_what_is_allowed() {
    let server = Server::shared().await;
    let step = json!({ "namespace": "a", "code": 5 });
    let trigger = json!({ "type": "http", "props": { "auth": { "type": 5 } } });
    let whole = "a whole number within bounds";
    for (body, field, shown, allowed) in [
        (json!({ "settings": 5 }), "settings", "5", "an object"),
        (json!({ "settings": { "memory_mb": "x" } }), "settings.memory_mb", "\"x\"", whole),
        (json!({ "settings": { "throttle": [] } }), "settings.throttle", "[]", "an object"),
        (
            json!({ "settings": { "throttle": { "runs": "x" } } }),
            "settings.throttle.runs",
            "\"x\"",
            whole,
        ),
        (json!({ "steps": [step] }), "steps[0].code", "5", "a string"),
        (json!({ "steps": {} }), "steps", "{}", "a list"),
        (json!({ "triggers": [trigger] }), "triggers[0].props.auth.type", "5", "a string"),
    ] {
        let refused = server.post("/workflows", &body).await;
        assert_eq!(refused.refusal(), (422, "invalid_field"), "{}", refused.text);
        assert_eq!(refused.json["details"]["field"], field);
        let message = format!("`{field}` is `{shown}`, allowed is {allowed}");
        assert_eq!(refused.json["error"], message);
    }
}

#[tokio::test]
async fn r1_2_names_of_fields_that_no_record_has_are_refused_in_include_and_exclude() {
    let server = Server::shared().await;
    let workflow = server.post("/workflows", &json!({ "steps": [] })).await.data();
    for path in [format!("/workflows/{}", id(&workflow)), "/users/me/sources".into()] {
        for choice in ["include", "exclude"] {
            let refused = server.get(&format!("{path}?{choice}=id,nam")).await;
            assert_eq!(refused.refusal(), (422, "invalid_field"), "{}", refused.text);
            assert_eq!(refused.json["details"]["field"], choice);
            assert!(refused.text.contains("`nam`") && refused.text.contains("name_slug"));
        }
    }
}

#[tokio::test]
async fn r1_2_the_record_of_a_workflow_can_be_posted_to_make_another() {
    let server = Server::shared().await;
    let step = json!({ "namespace": "a", "code": "export default { run() {} }" });
    let body = json!({ "steps": [step], "triggers": [{ "type": "http" }] });
    let workflow = server.post("/workflows", &body).await.data();
    let record = server.get(&format!("/workflows/{}", id(&workflow))).await.data();
    let copy = server.post("/workflows", &record).await.data();
    assert_ne!(copy["id"], workflow["id"]);
    assert_ne!(copy["triggers"][0]["id"], workflow["triggers"][0]["id"]);
    assert_eq!(copy["steps"][0]["code"], workflow["steps"][0]["code"]);
}
