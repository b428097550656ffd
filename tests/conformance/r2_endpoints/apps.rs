//! Row 27: apps.

use millrace_tests::Server;
use millrace_tests::peer::{Peer, Says};
use reqwest::Method;
use serde_json::{Value, json};

#[tokio::test]
async fn r2_27_apps_are_filtered_by_what_components_there_are() {
    let server = Server::shared().await;
    let publish = async |kind: &str, app: &str| {
        let code = format!(
            "export default {{ name: 'x', key: '{app}-{kind}-x', version: '1', type: '{kind}', props: {{ app: {{ type: 'app', app: '{app}' }} }}, run() {{}} }};"
        );
        server
            .post("/components", &json!({ "component_code": code, "publish": true }))
            .await
            .data();
    };
    publish("action", "stripe").await;
    publish("source", "github").await;
    let slugs = async |query: &str| {
        let list = server.get(&format!("/apps?limit=100&{query}")).await.json;
        list["data"]
            .as_array()
            .expect("apps")
            .iter()
            .map(|a| a["name_slug"].clone())
            .collect::<Vec<Value>>()
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
    for field in [
        "id",
        "name_slug",
        "name",
        "auth_type",
        "description",
        "img_src",
        "custom_fields_json",
        "categories",
    ] {
        assert!(app.get(field).is_some(), "{field} in {app}");
    }
    assert_eq!(app["auth_type"], "oauth");
    assert!(
        app["custom_fields_json"]
            .as_str()
            .and_then(|t| serde_json::from_str::<Value>(t).ok())
            .is_some_and(|v| v.is_array())
    );
    assert_eq!(
        server.get(&format!("/apps/{}", app["id"].as_str().expect("an id"))).await.data(),
        app
    );
}

#[tokio::test]
async fn r2_27_a_definition_of_an_app_has_a_bound_whatever_makes_it_long() {
    let server = Server::shared().await;
    server.post("/apps", &json!({ "name_slug": "long" })).await.data();
    let text = "x".repeat(70_000);
    let client = json!({ "authorize_url": "https://a.test", "token_url": "https://a.test", "client_id": text, "client_secret": "s" });
    for (field, value) in [
        ("description", json!(text)),
        ("img_src", json!(text)),
        ("categories", json!([text])),
        ("custom_fields", json!([{ "name": "k", "label": text }])),
        ("oauth", client),
    ] {
        let refused = server.put("/apps/long", &json!({ field: value })).await;
        assert_eq!(refused.refusal(), (413, "too_large"), "{field}: {}", refused.text);
        let refused = server.post("/apps", &json!({ "name_slug": "longer", field: value })).await;
        assert_eq!(refused.refusal(), (413, "too_large"), "{field}: {}", refused.text);
    }
}

#[tokio::test]
async fn an_app_s_image_is_fetched_once_and_is_nothing_but_an_image() {
    let peer = Peer::start(|head| match head {
        _ if head.starts_with("GET /ok") => Says::Json("GIF89a and more".into()),
        _ if head.starts_with("GET /svg") => Says::Json(
            "<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>".into(),
        ),
        _ => Says::Status("404 Not Found"),
    });
    let server = Server::start().await;
    let register = async |slug: &str, from: String| {
        server.post("/apps", &json!({ "name_slug": slug, "img_src": from })).await.data()
    };
    register("ok", format!("{}/ok", peer.url)).await;
    for times in 1..=2 {
        let image = server
            .raw(Method::GET, "/v1/apps/ok/image")
            .bearer_auth(&server.api_key)
            .send()
            .await
            .expect("an answer");
        let header = |name: &str| image.headers()[name].to_str().expect("text").to_owned();
        assert_eq!(
            (header("content-type").as_str(), header("x-content-type-options").as_str()),
            ("image/gif", "nosniff")
        );
        assert!(header("content-security-policy").contains("sandbox"), "{times}");
        assert_eq!(
            (image.text().await.ok().as_deref(), peer.requests()),
            (Some("GIF89a and more"), 1),
            "{times}"
        );
    }
    register("inline", "data:image/png;base64,iVBORw0KGgo=".into()).await;
    let image = server
        .raw(Method::GET, "/v1/apps/inline/image")
        .bearer_auth(&server.api_key)
        .send()
        .await
        .expect("an answer");
    assert_eq!(image.headers()["content-type"], "image/png");
    for (slug, from, says) in [
        ("svg", format!("{}/svg", peer.url), "allowed are PNG, JPEG, GIF and WebP"),
        ("gone", format!("{}/gone", peer.url), "answered with 404"),
        ("file", "file:///etc/passwd".to_owned(), "cannot be shown"),
        (
            "svg-inline",
            "data:image/svg+xml;base64,PHN2Zy8+".to_owned(),
            "allowed are PNG, JPEG, GIF and WebP",
        ),
        ("text", "data:text/html,<script>".to_owned(), "in base64"),
    ] {
        register(slug, from).await;
        let asked = peer.requests();
        let refused = server.get(&format!("/apps/{slug}/image")).await;
        assert!(
            refused.refusal() == (422, "fetch_failed") && refused.text.contains(says),
            "{slug}: {}",
            refused.text
        );
        // What failed is not asked for again at once.
        let again = (server.get(&format!("/apps/{slug}/image")).await.status, peer.requests());
        assert_eq!(again, (422, asked + usize::from(slug == "svg" || slug == "gone")), "{slug}");
    }
    register("bare", String::new()).await;
    assert_eq!(server.get("/apps/bare/image").await.refusal(), (404, "not_found"));
    assert_eq!(server.get("/apps/nothing/image").await.refusal(), (404, "not_found"));
}

#[tokio::test]
async fn an_app_with_an_oauth_client_is_an_oauth_app() {
    let server = Server::shared().await;
    let oauth = json!({
        "authorize_url": "https://x.test/authorize", "token_url": "https://x.test/token",
        "client_id": "client", "client_secret": "s3cret",
    });
    let new = json!({ "name_slug": "own", "oauth": oauth });
    assert_eq!(server.post("/apps", &new).await.data()["auth_type"], "oauth");
    // The record is written back as it is, and another change leaves the client.
    let shown = server.get("/apps/own").await.data();
    let again = server.put("/apps/own", &shown).await.data();
    assert_eq!((&again["auth_type"], &again["oauth"]), (&json!("oauth"), &shown["oauth"]));
    let renamed = server.put("/apps/own", &json!({ "name": "Own" })).await.data();
    assert_eq!(renamed["oauth"], shown["oauth"]);
    for other in ["keys", "none"] {
        let both = json!({ "name_slug": "both", "auth_type": other, "oauth": oauth });
        let refused = server.post("/apps", &both).await;
        assert_eq!(refused.refusal(), (422, "invalid_field"), "{other}: {}", refused.text);
        assert_eq!(refused.json["details"]["field"], "auth_type");
    }
    assert_eq!(server.get("/apps/both").await.status, 404);
    let by_keys = server.put("/apps/own", &json!({ "auth_type": "keys" })).await.data();
    assert_eq!((&by_keys["auth_type"], &by_keys["oauth"]), (&json!("keys"), &Value::Null));
    let given = server.put("/apps/own", &json!({ "oauth": oauth })).await.data();
    assert_eq!(given["auth_type"], "oauth");
}

#[tokio::test]
async fn an_oauth_app_stays_one_when_more_code_names_it() {
    let server = Server::shared().await;
    let deploy = async |read: &str| {
        let code = format!(
            "export default {{ name: 's', version: '1', props: {{ app: {{ type: 'app', app: 'grown', optional: true }} }}, run() {{ return this.app.$auth.{read}; }} }};"
        );
        server.post("/sources", &json!({ "component_code": code })).await.data();
    };
    for read in ["oauth_access_token", "subdomain", "region"] {
        deploy(read).await;
        let app = server.get("/apps/grown").await.data();
        assert_eq!(app["auth_type"], "oauth", "{read}: {app}");
    }
}
