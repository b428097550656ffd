//! Refresh of the tokens of accounts, and the errors of providers that give none.

use std::time::{Duration, Instant};

use millrace_tests::{Client, Server, answer, endpoint};
use reqwest::Method;
use serde_json::{Value, json};

use super::oauth_provider::{NOON, Provider, SOURCE, log_in, only_account};

/// A server with an account of that scope: its path, and the endpoint of a source that answers with
/// its values.
async fn connected(scope: &str) -> (Server, Provider, String, String) {
    let (server, provider) = (Server::start_at(NOON, &[]).await, Provider::start());
    provider.register(&server, scope).await;
    assert_eq!(log_in(&server).await.status, 200);
    let account = server.get("/accounts?app=acme").await.json["data"][0].clone();
    let source =
        server.source(SOURCE, json!({ "acme": { "authProvisionId": account["id"] } })).await;
    let path = format!("/accounts/{}", account["id"].as_str().expect("an id"));
    (server, provider, path, endpoint(&source))
}

async fn token(server: &Client, url: &str) -> Value {
    answer(server.raw(Method::GET, url)).await.json["oauth_access_token"].clone()
}

#[tokio::test]
async fn s2_7_5_a_provider_that_hangs_holds_no_run_up_whose_token_is_good() {
    let (server, provider, _, url) = connected("short").await;
    server.set_clock(NOON + 50_000);
    provider.turn(&server, "/hang", &[]).await;
    let began = Instant::now();
    let seen = tokio::join!(token(&server, &url), token(&server, &url));
    assert_eq!(seen, (json!("at1"), json!("at1")));
    assert_eq!(token(&server, &url).await, "at1");
    // The provider is given 20 seconds.
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    // The code, and one refresh for all of them.
    assert_eq!(provider.stats(&server).await["asked"], 2);
}

#[tokio::test]
async fn s2_7_5_a_provider_that_is_down_is_asked_every_ten_seconds_and_its_good_token_used() {
    let (server, provider, path, url) = connected("brief").await;
    provider.turn(&server, "/down", &[("for", "now")]).await;
    // A fifth of its 300 seconds before the end.
    server.set_clock(NOON + 239_999);
    assert_eq!(token(&server, &url).await, "at1");
    assert_eq!(provider.stats(&server).await["asked"], 1);
    server.set_clock(NOON + 240_000);
    assert_eq!(token(&server, &url).await, "at1");
    let problem = |account: &Value| account["problem"].as_str().unwrap_or_default().to_owned();
    let shown =
        server.until("the problem", &path, |shown| !problem(&shown["data"]).is_empty()).await;
    let shown = &shown["data"];
    assert_eq!(shown["healthy"], true);
    assert!(
        problem(shown).contains("good until 2026-11-22T12:05:00")
            && problem(shown).contains("temporarily_unavailable (HTTP 503)"),
        "{shown}"
    );
    server.set_clock(NOON + 249_999);
    assert_eq!(token(&server, &url).await, "at1");
    assert_eq!(provider.stats(&server).await["asked"], 2);
    provider.turn(&server, "/down", &[("for", "no more")]).await;
    server.set_clock(NOON + 250_000);
    token(&server, &url).await;
    server.until("the token", &path, |shown| shown["data"]["problem"].is_null()).await;
    assert_eq!(token(&server, &url).await, "at2");
    assert_eq!(provider.stats(&server).await["asked"], 3);
}

#[tokio::test]
async fn s2_7_5_a_token_of_five_minutes_is_refreshed_once_and_not_by_each_run() {
    let (server, provider, _, url) = connected("brief").await;
    let run = || token(&server, &url);
    assert_eq!(tokio::join!(run(), run()), (json!("at1"), json!("at1")));
    server.set_clock(NOON + 300_000);
    let seen = tokio::join!(run(), run(), run(), run());
    assert_eq!(seen, (json!("at2"), json!("at2"), json!("at2"), json!("at2")));
    assert_eq!(run().await, "at2");
    assert_eq!(provider.stats(&server).await["refreshes"], 1);
}

#[tokio::test]
async fn s2_7_5_a_refresh_that_names_no_end_keeps_to_the_one_before() {
    let (server, provider, path, url) = connected("short").await;
    let body = json!({ "access_token": "other", "refresh_token": "rt" }).to_string();
    provider.turn(&server, "/say", &[("status", "200"), ("body", &body)]).await;
    // A new name changes nothing of it.
    server.set_clock(NOON + 30_000);
    server.put(&path, &json!({ "name": "Other" })).await.data();
    server.set_clock(NOON + 60_000);
    let auth = answer(server.raw(Method::GET, &url)).await.json;
    assert_eq!(
        auth,
        json!({ "oauth_access_token": "other", "oauth_refresh_token": "rt", "oauth_client_id": "client", "oauth_uid": "user-7" })
    );
    assert_eq!(server.get(&path).await.data()["expires_at"], (NOON + 120_000) / 1000);
}

#[tokio::test]
async fn s2_7_5_a_check_tells_of_a_refusal_without_the_secrets_that_it_repeats() {
    let (server, provider, path, _) = connected("all").await;
    only_account(&server).await;
    let check = async |status: &str, body: Value| {
        let body = body.to_string();
        let params = [("status", status), ("body", body.as_str())];
        provider.turn(&server, "/say", &params).await;
        let checked = server.post(&format!("{path}/check"), &json!({})).await.data();
        (checked["healthy"].clone(), checked["problem"].as_str().unwrap_or_default().to_owned())
    };
    let echo = json!({ "error": true, "message": "no {refresh_token} of {basic}, s3cret" });
    let (healthy, problem) = check("401", echo).await;
    assert!(
        healthy == true && problem.ends_with(": no *** of Basic ***, *** (HTTP 401)"),
        "{problem}"
    );
    for (status, body, is_healthy, says) in [
        ("401", json!({ "error": "invalid_client" }), true, "invalid_client (HTTP 401)"),
        ("502", json!({}), true, "(HTTP 502"),
        ("200", json!({ "ok": false, "error": "token_revoked" }), false, "refused to refresh"),
        (
            "400",
            json!({ "errors": [{ "errorType": "invalid_grant", "message": "gone" }] }),
            false,
            "invalid_grant: gone",
        ),
        ("200", json!({ "error": "bad_refresh_token" }), false, "bad_refresh_token (HTTP 200)"),
    ] {
        let (healthy, problem) = check(status, body).await;
        assert!(healthy == is_healthy && problem.contains(says), "{healthy} {problem}");
    }
    provider.turn(&server, "/say", &[]).await;
    let checked = server.post(&format!("{path}/check"), &json!({})).await.data();
    assert_eq!((&checked["healthy"], &checked["problem"]), (&json!(true), &Value::Null));
    let log = server.log();
    let basic = "Y2xpZW50OnMzY3JldA";
    assert!(!log.contains("rt2") && !log.contains("s3cret") && !log.contains(basic), "{log}");
}

#[tokio::test]
async fn s2_7_5_a_token_is_revoked_with_the_secret_in_the_body_where_the_app_says_so() {
    let (server, provider, path, _) = connected("hour").await;
    server.delete(&path).await.data();
    while provider.stats(&server).await["revoked"] != json!(["rt1"]) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
