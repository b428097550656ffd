//! Accounts of providers whose token endpoints answer otherwise than RFC 6749 says.

use millrace_tests::peer::{Peer, Says};
use millrace_tests::{Server, answer};
use reqwest::Method;
use serde_json::{Value, json};

/// What the provider says to a code, by the app's slug: `/token/<slug>`.
fn says(head: &str) -> Says {
    let json = |body: Value| Says::Json(body.to_string());
    match head.split_whitespace().nth(1).and_then(|path| path.rsplit('/').next()) {
        Some("bare") => json(json!({ "access_token": "at" })),
        Some("texts") => json(
            json!({ "access_token": "at", "token_type": "Bearer", "expires_in": "3599", "scope": ["a", "b"], "refresh_token": null }),
        ),
        Some("unending") => json(json!({ "access_token": "at", "expires_in": 0, "scope": null })),
        Some("form") => Says::As(
            "200 OK",
            "application/x-www-form-urlencoded",
            "access_token=a%74&scope=x%2Cy&expires=100".into(),
        ),
        Some("dated") => {
            json(json!({ "access_token": "at", "expires_at": "2026-11-22T13:00:00Z" }))
        }
        Some("script") => Says::As(
            "201 Created",
            "text/javascript; charset=utf-8",
            json!({ "access_token": "at", "token_type": "bearer" }).to_string(),
        ),
        Some("within") => {
            json(json!({ "ok": true, "authed_user": { "id": "U7", "access_token": "at" } }))
        }
        Some("flagged") => json(json!({ "ok": false, "error": "invalid_code" })),
        Some("nested") => Says::Refuses(
            "400 Bad Request",
            json!({ "error": { "message": "Expired", "type": "OAuthException", "code": 190 } })
                .to_string(),
        ),
        Some("formed") => Says::As("200 OK", "text/plain", "error=bad_code&error_uri=x".into()),
        _ => Says::As("200 OK", "text/html", "<html>Sorry</html>".into()),
    }
}

#[tokio::test]
async fn s2_7_5_a_provider_that_answers_in_its_own_way_gives_tokens_and_reasons_all_the_same() {
    // 2026-11-22T12:00:00Z
    let server = Server::start_at(1_795_348_800_000, &[]).await;
    let peer = Peer::start(says);
    for (slug, told) in [
        ("bare", Ok(None)),
        ("texts", Ok(Some(3599))),
        ("unending", Ok(None)),
        ("form", Ok(Some(100))),
        ("dated", Ok(Some(3600))),
        ("script", Ok(None)),
        ("within", Ok(None)),
        ("flagged", Err("invalid_code")),
        ("nested", Err("OAuthException: Expired (HTTP 400)")),
        ("formed", Err("bad_code")),
        ("page", Err("its answer has no token (HTTP 200, text/html)")),
    ] {
        let oauth = json!({ "authorize_url": format!("{}/a", peer.url), "token_url": format!("{}/token/{slug}", peer.url), "client_id": "c", "client_secret": "s", "uid_field": "authed_user.id" });
        let app = json!({ "name_slug": slug, "auth_type": "oauth", "name": slug, "oauth": oauth });
        server.post("/apps", &app).await.data();
        let link = server.post("/accounts/connect", &json!({ "app": slug })).await.data();
        let url = reqwest::Url::parse(link["connect_url"].as_str().expect("a page"));
        let url = url.expect("an address");
        let state = url.query_pairs().find(|(name, _)| name == "state").expect("a state").1;
        let back = format!("/oauth/callback?code=x&state={state}");
        let page = answer(server.raw(Method::GET, &back)).await;
        let listed = server.get(&format!("/accounts?app={slug}&include_credentials=true")).await;
        let account = &listed.json["data"][0];
        match told {
            Ok(ends_in) => {
                assert!(page.text.contains("Connected"), "{slug}: {}", page.text);
                let credentials = &account["credentials"];
                assert_eq!(credentials["oauth_access_token"], "at", "{slug}: {account}");
                let uid = if slug == "within" { json!("U7") } else { Value::Null };
                assert_eq!(credentials["oauth_uid"], uid, "{slug}: {account}");
                let span = account["expires_at"]
                    .as_i64()
                    .map(|at| at - account["created_at"].as_i64().expect("a time"));
                assert!(
                    span.zip(ends_in)
                        .map_or(span.is_none() && ends_in.is_none(), |(span, told)| {
                            (span - told).abs() <= 2
                        }),
                    "{slug}: {span:?} {account}"
                );
            }
            Err(reason) => {
                assert!(page.status == 400 && page.text.contains(reason), "{slug}: {}", page.text);
                assert_eq!(account, &Value::Null, "{slug}");
            }
        }
    }
}
