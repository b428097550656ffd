//! The REST API as a whole (reference 1): keys, scopes, rates.

use millrace_tests::{Answer, Server, answer};
use reqwest::Method;
use serde_json::{Value, json};

const SOURCE: &str = "export default { name: 's', version: '1', run() { this.$emit({ a: 1 }); } };";

async fn key(server: &Server, body: Value) -> (String, String) {
    let made = server.post("/api_keys", &body).await.data();
    (made["id"].as_str().expect("an id").to_owned(), made["key"].as_str().expect("the key").to_owned())
}

async fn as_key(server: &Server, key: &str, method: Method, path: &str) -> Answer {
    server.call_as(key, method, path, Some(&json!({}))).await
}

#[tokio::test]
async fn a_key_is_shown_once_and_its_record_listed() {
    let server = Server::start().await;
    let (id, text) = key(&server, json!({ "name": "ci", "scopes": ["deploy", "invoke"], "rate_per_minute": 30 })).await;
    assert!(text.starts_with("mr_"));
    let listed = server.get("/api_keys").await;
    assert!(!listed.text.contains(&text) && !listed.text.contains("hash"), "{}", listed.text);
    assert_eq!(listed.json["page_info"]["total_count"], 2);
    let record = listed.json["data"].as_array().and_then(|keys| keys.iter().find(|k| k["id"] == id.as_str())).expect("the key").clone();
    assert_eq!((&record["name"], &record["scopes"], &record["rate_per_minute"]), (&json!("ci"), &json!(["invoke", "deploy"]), &json!(30)));
    assert_eq!(server.get(&format!("/api_keys/{id}")).await.data(), record);
    assert_eq!(as_key(&server, &text, Method::GET, "/users/me").await.status, 200);
    assert!(!server.log().contains(&text));
}

#[tokio::test]
async fn keys_that_cannot_be_are_refused() {
    let server = Server::start().await;
    for (body, field) in [
        (json!({}), "name"),
        (json!({ "name": "" }), "name"),
        (json!({ "name": "x".repeat(101) }), "name"),
        (json!({ "name": "a", "scopes": ["admin"] }), "scopes"),
        (json!({ "name": "a", "scopes": [] }), "scopes"),
        (json!({ "name": "a", "expires_at": 5 }), "expires_at"),
        (json!({ "name": "a", "expires_at": "soon" }), "expires_at"),
        (json!({ "name": "a", "rate_per_minute": 0 }), "rate_per_minute"),
    ] {
        let refused = server.post("/api_keys", &body).await;
        assert_eq!((refused.status, refused.json["details"]["field"].as_str()), (422, Some(field)), "{body}: {}", refused.text);
    }
    assert_eq!(server.get("/api_keys").await.json["page_info"]["total_count"], 1);
    assert_eq!(server.delete("/api_keys/key_nothere").await.status, 404);
    let own = server.get("/api_keys").await.json["data"][0]["id"].as_str().expect("an id").to_owned();
    assert_eq!(server.delete(&format!("/api_keys/{own}")).await.refusal(), (409, "own_key"));
}

#[tokio::test]
async fn a_key_that_is_revoked_rotated_or_over_is_not_taken() {
    let server = Server::start().await;
    let works = async |key: &str| as_key(&server, key, Method::GET, "/users/me").await.status;
    let (revoked, text) = key(&server, json!({ "name": "revoked" })).await;
    assert_eq!(works(&text).await, 200);
    assert_eq!(server.delete(&format!("/api_keys/{revoked}")).await.data()["deleted"], true);
    assert_eq!(works(&text).await, 401);

    let (rotated, first) = key(&server, json!({ "name": "rotated", "scopes": "read" })).await;
    let second = server.post(&format!("/api_keys/{rotated}/rotate"), &json!({})).await.data()["key"].as_str().expect("a key").to_owned();
    assert_eq!((works(&first).await, works(&second).await), (401, 200));
    // With grace both work; the rotated key keeps its scopes.
    let third = server.post(&format!("/api_keys/{rotated}/rotate"), &json!({ "grace_seconds": 1 })).await.data()["key"].as_str().expect("a key").to_owned();
    assert_eq!((works(&second).await, works(&third).await), (200, 200));
    assert_eq!(as_key(&server, &third, Method::GET, "/api_keys").await.refusal(), (403, "scope_missing"));

    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a time").as_secs();
    let (_, short) = key(&server, json!({ "name": "short", "expires_at": now + 2 })).await;
    assert_eq!(works(&short).await, 200);
    tokio::time::sleep(std::time::Duration::from_millis(2_100)).await;
    assert_eq!((works(&short).await, works(&second).await, works(&third).await), (401, 401, 200));
}

#[tokio::test]
async fn a_route_that_needs_more_than_the_key_has_says_what() {
    let server = Server::start().await;
    let source = server.source(SOURCE, json!({})).await["id"].as_str().expect("an id").to_owned();
    let (_, read) = key(&server, json!({ "name": "r", "scopes": ["read"] })).await;
    let (_, invoke) = key(&server, json!({ "name": "i", "scopes": ["invoke"] })).await;
    let (_, deploy) = key(&server, json!({ "name": "d", "scopes": ["deploy"] })).await;
    let run = format!("/sources/{source}/run");
    for (key, method, path, needed) in [
        (&read, Method::GET, "/users/me/sources", None),
        (&read, Method::POST, run.as_str(), Some("invoke")),
        (&read, Method::POST, "/sources", Some("deploy")),
        (&read, Method::GET, "/accounts?include_credentials=1", Some("full")),
        (&read, Method::GET, "/accounts", None),
        (&invoke, Method::POST, run.as_str(), None),
        (&invoke, Method::GET, "/users/me/sources", Some("read")),
        (&deploy, Method::POST, run.as_str(), None),
        (&deploy, Method::GET, "/users/me/sources", None),
        (&deploy, Method::GET, "/api_keys", Some("full")),
        (&deploy, Method::POST, "/accounts", Some("full")),
        (&deploy, Method::POST, "/workspaces", Some("full")),
    ] {
        let got = as_key(&server, key, method.clone(), path).await;
        match needed {
            None => assert_eq!(got.status, 200, "{method} {path}: {}", got.text),
            Some(scope) => {
                assert_eq!(got.refusal(), (403, "scope_missing"), "{method} {path}");
                assert!(
                    got.json["details"]["needed"] == scope && got.json["error"].as_str().is_some_and(|e| e.contains(&format!("`{scope}`"))),
                    "{}",
                    got.text
                );
            }
        }
    }
    // Refused before anything is read or done.
    assert_eq!(server.call_as(&read, Method::DELETE, &format!("/sources/{source}"), None).await.status, 403);
    assert_eq!(server.get(&format!("/sources/{source}")).await.status, 200);
}

#[tokio::test]
async fn a_key_that_asks_too_often_waits() {
    let server = Server::start().await;
    let (_, slow) = key(&server, json!({ "name": "slow", "rate_per_minute": 3 })).await;
    for _ in 0..3 {
        assert_eq!(as_key(&server, &slow, Method::GET, "/users/me").await.status, 200);
    }
    let refused = server.raw(Method::GET, "/v1/users/me").bearer_auth(&slow).send().await.expect("an answer");
    assert_eq!(refused.status().as_u16(), 429);
    let wait: u64 = refused.headers()["retry-after"].to_str().expect("text").parse().expect("seconds");
    assert!((1..=20).contains(&wait), "{wait}");
    // Others are not held back.
    assert_eq!(server.get("/users/me").await.status, 200);
    let server = Server::start_with(&["--requests-per-minute", "5"]).await;
    let statuses =
        futures::future::join_all((0..7).map(|_| async { answer(server.raw(Method::GET, "/v1/users/me").bearer_auth(&server.api_key)).await.status }));
    assert_eq!(statuses.await.iter().filter(|status| **status == 429).count(), 2);
}
