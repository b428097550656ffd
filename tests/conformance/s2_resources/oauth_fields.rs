//! Fields of an app beside the tokens of its OAuth accounts.

use millrace_tests::cli::Shell;
use millrace_tests::{Client, Server, answer};
use reqwest::Method;
use serde_json::{Value, json};

use super::oauth_provider::{Provider, only_account};

/// A server with an OAuth app whose accounts have fields.
async fn with_fields() -> (Server, Provider) {
    let (server, provider) = (Server::start().await, Provider::start());
    let fields = json!([
        { "name": "subdomain" }, { "name": "region", "default": "eu" },
        { "name": "note", "optional": true },
    ]);
    provider.register_with(&server, "hour", &json!({ "custom_fields": fields })).await;
    (server, provider)
}

async fn connect(server: &Client, more: Value) -> Value {
    let mut body = json!({ "app": "acme" });
    for (name, value) in more.as_object().expect("an object") {
        body[name] = value.clone();
    }
    let begun = server.post("/accounts/connect", &body).await.data();
    let page = begun["connect_url"].as_str().expect("a page");
    assert_eq!(answer(server.raw(Method::GET, page)).await.status, 200);
    only_account(server).await
}

#[tokio::test]
async fn s2_7_5_a_connection_takes_the_fields_of_its_app_and_no_others() {
    let (server, _provider) = with_fields().await;
    for (given, field) in [
        (json!({}), "credentials.subdomain"),
        (json!({ "subdomain": "" }), "credentials.subdomain"),
        (json!({ "subdomain": { "a": 1 } }), "credentials.subdomain"),
        (json!({ "subdomain": "x", "note": "n".repeat(2048) }), "credentials"),
    ] {
        let body = json!({ "app": "acme", "credentials": given });
        let refused = server.post("/accounts/connect", &body).await;
        assert_eq!(refused.refusal().0, 422, "{given}");
        assert_eq!(refused.json["details"]["field"], field, "{}", refused.text);
    }
    for name in ["nope", "oauth_access_token", "oauth_uid"] {
        let body = json!({ "app": "acme", "credentials": { "subdomain": "x", name: "y" } });
        assert_eq!(server.post("/accounts/connect", &body).await.refusal().0, 422, "{name}");
    }
    let long =
        json!({ "app": "acme", "name": "n".repeat(1000), "credentials": { "subdomain": "x" } });
    assert_eq!(server.post("/accounts/connect", &long).await.refusal().0, 422);

    let account = connect(&server, json!({ "credentials": { "subdomain": "one" } })).await;
    let expected = json!({
        "subdomain": "one", "region": "eu", "oauth_access_token": "at1",
        "oauth_refresh_token": "rt1", "oauth_client_id": "client", "oauth_uid": "user-7",
    });
    assert_eq!(account["credentials"], expected);
    // What was given before is not needed again.
    let id = &account["id"];
    let again = connect(&server, json!({ "account_id": id, "credentials": { "note": "n" } })).await;
    assert_eq!(
        (&again["id"], &again["credentials"]["subdomain"], &again["credentials"]["note"]),
        (id, &json!("one"), &json!("n"))
    );
    assert_eq!(again["credentials"]["oauth_access_token"], "at2");
}

#[tokio::test]
async fn s2_7_5_fields_of_an_oauth_account_change_and_its_tokens_stay() {
    let (server, provider) = with_fields().await;
    let account = connect(&server, json!({ "credentials": { "subdomain": "one" } })).await;
    let path = format!("/accounts/{}", account["id"].as_str().expect("an id"));
    let changed = server.put(&path, &json!({ "credentials": { "subdomain": "two" } })).await.data();
    assert_eq!(changed["expires_at"], account["expires_at"]);
    let mut expected = account["credentials"].clone();
    expected["subdomain"] = json!("two");
    assert_eq!(only_account(&server).await["credentials"], expected);
    let refused = server.put(&path, &json!({ "credentials": { "nope": 1 } })).await;
    assert!(refused.refusal().0 == 422 && !refused.text.contains("oauth_"), "{}", refused.text);

    // An account that its provider refused is not healthy by another field.
    provider.turn(&server, "/refuse", &[]).await;
    assert_eq!(server.post(&format!("{path}/check"), &json!({})).await.data()["healthy"], false);
    let changed = server.put(&path, &json!({ "credentials": { "note": "n" } })).await.data();
    assert_eq!(changed["healthy"], false);
    let token = json!({ "credentials": { "oauth_access_token": "own" } });
    let changed = server.put(&path, &token).await.data();
    assert_eq!((&changed["healthy"], changed.get("expires_at")), (&json!(true), None));
}

#[tokio::test]
async fn s2_7_5_an_account_of_an_oauth_app_is_made_by_hand_with_a_token_alone() {
    let (server, _provider) = with_fields().await;
    for credentials in [json!({}), json!({ "subdomain": "x" })] {
        let body = json!({ "app": "acme", "credentials": credentials });
        let refused = server.post("/accounts", &body).await;
        assert_eq!(refused.refusal(), (422, "missing_field"));
        assert!(refused.text.contains("/v1/accounts/connect"), "{}", refused.text);
    }
    let credentials = json!({ "subdomain": "x", "oauth_access_token": "own" });
    server.post("/accounts", &json!({ "app": "acme", "credentials": credentials })).await.data();
    let mut expected = credentials.clone();
    expected["region"] = json!("eu");
    assert_eq!(only_account(&server).await["credentials"], expected);
}

#[tokio::test]
async fn s2_7_5_the_command_line_reads_the_fields_of_an_oauth_app() {
    let (server, _provider) = with_fields().await;
    let shell = Shell::new(&server);
    let page = shell.run_with(&["accounts", "add", "acme"], "{\"subdomain\": \"cli\"}").ok();
    assert_eq!(answer(server.raw(Method::GET, page.trim())).await.status, 200);
    assert_eq!(only_account(&server).await["credentials"]["subdomain"], "cli");
}
