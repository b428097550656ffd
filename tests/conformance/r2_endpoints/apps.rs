//! Row 27: apps.

use millrace_tests::Server;
use serde_json::{Value, json};

#[tokio::test]
async fn r2_27_apps_are_filtered_by_what_components_there_are() {
    let server = Server::shared().await;
    let publish = async |kind: &str, app: &str| {
        let code = format!(
            "export default {{ name: 'x', key: '{app}-{kind}-x', version: '1', type: '{kind}', props: {{ app: {{ type: 'app', app: '{app}' }} }}, run() {{}} }};"
        );
        server.post("/components", &json!({ "component_code": code, "publish": true })).await.data();
    };
    publish("action", "stripe").await;
    publish("source", "github").await;
    let slugs = async |query: &str| {
        let list = server.get(&format!("/apps?limit=100&{query}")).await.json;
        list["data"].as_array().expect("apps").iter().map(|a| a["name_slug"].clone()).collect::<Vec<Value>>()
    };
    assert_eq!(slugs("has_components=1").await, [json!("github"), json!("stripe")]);
    assert_eq!(slugs("has_actions=1").await, [json!("stripe")]);
    assert_eq!(slugs("has_triggers=true").await, [json!("github")]);
    assert_eq!(slugs("has_triggers=1&has_actions=0&q=git").await, [json!("github")]);
    assert_eq!(slugs("has_triggers=1&has_actions=1").await, Vec::<Value>::new());
    assert!(!slugs("q=stripe&has_components=0").await.contains(&json!("stripe")));
    assert_eq!(server.get("/apps?has_actions=perhaps").await.refusal(), (422, "invalid_field"));
}

#[tokio::test]
async fn r2_27_an_app_has_its_record_by_id_and_slug() {
    let server = Server::shared().await;
    let app = server.get("/apps/github").await.data();
    for field in ["id", "name_slug", "name", "auth_type", "description", "img_src", "custom_fields_json", "categories"] {
        assert!(app.get(field).is_some(), "{field} in {app}");
    }
    assert_eq!(app["auth_type"], "oauth");
    assert!(app["custom_fields_json"].as_str().and_then(|t| serde_json::from_str::<Value>(t).ok()).is_some_and(|v| v.is_array()));
    assert_eq!(server.get(&format!("/apps/{}", app["id"].as_str().expect("an id"))).await.data(), app);
}
