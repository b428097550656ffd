//! Attacks on the sign-in by a provider of OpenID Connect: each tries to be let in with what is not
//! one's own, or to exhaust the server.

use millrace_tests::Server;
use millrace_tests::browser::{Browser, PASSWORD};
use millrace_tests::oidc::{self, Provider, SECRET};
use millrace_tests::peer::{Peer, Says};
use reqwest::Method;
use serde_json::json;

async fn invite(server: &Server, email: &str) {
    server.post("/invitations", &json!({ "email": email, "role": "viewer" })).await.data();
}

#[tokio::test]
async fn an_answer_is_taken_once_and_of_the_browser_that_began_alone() {
    let provider = Provider::default();
    let server = provider.server(&[]).await;
    invite(&server, "jo@x.test").await;
    let mut browser = Browser::default();
    let url = oidc::begin(&server, &mut browser).await;
    assert!(!url.contains(SECRET) && url.contains("code_challenge_method=S256"), "{url}");
    let pending = browser.cookie.clone().expect("a cookie");
    assert!(pending.starts_with("millrace_sign_in="));
    let mut brought = oidc::at_provider(&server, &url).await;
    let right = brought.clone();
    // Another state, another browser, another sign-in of the same browser, and a cookie that
    // something else set beside it.
    brought["state"] = json!("x".repeat(40));
    assert_eq!(
        oidc::finish(&server, &mut browser, &brought).await.refusal(),
        (422, "invalid_state")
    );
    assert_eq!(
        oidc::finish(&server, &mut Browser::default(), &right).await.refusal(),
        (422, "invalid_state")
    );
    let mut another = Browser::default();
    oidc::begin(&server, &mut another).await;
    let foreign = another.cookie.clone().expect("a cookie");
    assert_eq!(oidc::finish(&server, &mut another, &right).await.refusal(), (422, "invalid_state"));
    let mut both = Browser { cookie: Some(format!("{pending}; {foreign}")) };
    assert_eq!(oidc::finish(&server, &mut both, &right).await.refusal(), (422, "invalid_state"));
    let cut = &pending[..pending.len() - 2];
    for cookie in [
        format!("{cut}AA"),
        "millrace_sign_in=".into(),
        "millrace_sign_in=AAAA".into(),
        format!("millrace_sign_in={}", "A".repeat(6_000)),
    ] {
        assert_eq!(
            oidc::finish(&server, &mut Browser { cookie: Some(cookie) }, &right).await.refusal(),
            (422, "invalid_state")
        );
    }
    // A page of another site neither begins nor ends one.
    for path in ["/sign_in/begin", "/sign_in/finish"] {
        let headers = [("sec-fetch-site", "cross-site"), ("x-millrace-csrf", "1")];
        assert_eq!(
            browser.call_with(&server, Method::POST, path, Some(&right), &headers).await.refusal(),
            (403, "foreign_page")
        );
        assert_eq!(
            browser.call_with(&server, Method::POST, path, Some(&right), &[]).await.refusal(),
            (403, "csrf_header_missing")
        );
    }
    let joined = oidc::finish(&server, &mut browser, &right).await;
    assert_eq!(joined.status, 200, "{}", joined.text);
    let session = browser.cookie.clone().expect("a cookie");
    assert!(session.starts_with("millrace_session=mru_"), "the session is a new one");
    let mut again = Browser { cookie: Some(pending) };
    let replayed = oidc::finish(&server, &mut again, &right).await;
    assert_eq!(replayed.refusal(), (422, "invalid_state"));
    assert!(replayed.text.contains("was used before"), "{}", replayed.text);
    assert!(!server.log().contains(SECRET));
}

#[tokio::test]
async fn a_token_that_is_not_for_this_sign_in_lets_nobody_in() {
    let provider = Provider::default();
    let server = provider.server(&[]).await;
    invite(&server, "jo@x.test").await;
    let past = 1_000_000_000;
    for (says, code, word) in [
        (json!({ "claims": { "nonce": "another" } }), "provider_refused", "`nonce`"),
        (json!({ "claims": { "nonce": null } }), "provider_refused", "`nonce`"),
        (json!({ "claims": { "aud": "another" } }), "provider_refused", "`aud`"),
        (json!({ "claims": { "aud": ["millrace", "another"] } }), "provider_refused", "`azp`"),
        (json!({ "claims": { "azp": "another" } }), "provider_refused", "`azp`"),
        (json!({ "claims": { "iss": "https://evil.test" } }), "provider_refused", "`iss`"),
        (json!({ "claims": { "exp": past } }), "provider_refused", "`exp`"),
        (json!({ "claims": { "exp": "never" } }), "provider_refused", "claims"),
        (json!({ "claims": { "sub": "" } }), "provider_refused", "`sub`"),
        (json!({ "alg": "none" }), "provider_refused", "algorithm"),
        (json!({ "alg": "HS256" }), "provider_refused", "algorithm"),
        (json!({ "alg": "HS256", "hmac": "key" }), "provider_refused", "algorithm"),
        (json!({ "sign": "other" }), "provider_refused", "signature"),
        (json!({ "kid": "k0" }), "provider_refused", "key"),
        (json!({ "kid": "another" }), "provider_refused", "key"),
        (json!({ "claims": { "email_verified": false } }), "email_not_verified", "verif"),
        (json!({ "claims": { "email_verified": null } }), "email_not_verified", "verif"),
        (json!({ "claims": { "email": "not an address" } }), "email_not_verified", "verif"),
        (
            json!({ "userinfo": { "sub": "another", "email": "jo@x.test", "email_verified": true } }),
            "provider_refused",
            "another one",
        ),
        (
            json!({ "userinfo": { "sub": "s-1", "email": "jo@x.test" } }),
            "email_not_verified",
            "verif",
        ),
        (json!({ "redirects": "/token" }), "provider_refused", "token"),
        (json!({ "redirects": "/keys" }), "provider_refused", "307"),
        (json!({ "endless": "/token" }), "provider_refused", "262144 bytes"),
        (json!({ "endless": "/keys" }), "provider_refused", "262144 bytes"),
        (json!({ "endless": "/userinfo", "userinfo": {} }), "provider_refused", "262144 bytes"),
    ] {
        provider.says(&server, &says).await;
        let mut browser = Browser::default();
        let refused = oidc::sign_in(&server, &mut browser).await;
        assert_eq!(refused.json["code"], code, "{says}: {}", refused.text);
        assert!(
            refused.text.contains(word) && !refused.text.contains(SECRET),
            "{says}: {}",
            refused.text
        );
        assert!(
            browser.cookie.is_some_and(|cookie| !cookie.contains("millrace_session")),
            "{says}"
        );
    }
    assert_eq!(server.get("/members").await.json["page_info"]["total_count"], 1, "nobody joined");
    // The address of a person who is another user of the provider is not enough.
    provider.says(&server, &json!({})).await;
    let joined = oidc::sign_in(&server, &mut Browser::default()).await;
    assert_eq!(joined.status, 200, "{}", joined.text);
    provider.says(&server, &json!({ "claims": { "sub": "s-2" } })).await;
    assert_eq!(
        oidc::sign_in(&server, &mut Browser::default()).await.refusal(),
        (403, "email_of_another")
    );
    assert!(!server.log().contains(SECRET));
}

#[tokio::test]
async fn a_provider_that_never_ends_or_is_another_is_asked_no_further() {
    let endless = Peer::start(|_| Says::Endless("200 OK", ""));
    let other = Peer::start(|_| {
        let at = "https://evil.test";
        Says::Json(json!({ "issuer": at, "authorization_endpoint": at, "token_endpoint": at, "jwks_uri": at }).to_string())
    });
    for (peer, word) in [(&endless, "262144 bytes"), (&other, "calls itself `https://evil.test`")] {
        let server =
            Server::start_with(&["--oidc-issuer", &peer.url, "--oidc-client-id", "millrace"]).await;
        for _ in 0..3 {
            let refused =
                Browser::default().call(&server, Method::POST, "/sign_in/begin", None).await;
            assert_eq!(refused.refusal(), (422, "provider_refused"));
            assert!(refused.text.contains(word), "{}", refused.text);
        }
        assert!(peer.taken() < 16 << 20);
    }
}

/// A person who is at the provider, by claims of its own.
fn is_at_provider(email: &str) -> serde_json::Value {
    json!({ "claims": { "sub": format!("sub of {email}"), "email": email } })
}

/// The organizations of a person who is signed in.
fn organizations(session: &serde_json::Value) -> Vec<&str> {
    let orgs = session["orgs"].as_array().expect("a list");
    orgs.iter().map(|org| org["id"].as_str().expect("an id")).collect()
}

/// An owner of any organization can open a link for any address, and so knows that password.
#[tokio::test]
async fn who_claimed_an_address_first_is_not_the_person_whom_the_provider_signs_in() {
    const THEIRS: &str = "a password of the attacker";
    let provider = Provider::default();
    let server = provider.server(&[]).await;
    let (evil, main) =
        (server.another_organization("evil").await, server.another_organization("main").await);
    for (email, invited, by_invitation) in [
        ("ceo@x.test", &*server, true),
        ("cto@x.test", &main, true),
        ("cfo@x.test", &*server, false),
    ] {
        let mut mallory = Browser::default();
        let (link, with) = if by_invitation {
            let of = json!({ "email": email, "role": "viewer" });
            (evil.post("/invitations", &of).await.data(), json!({ "password": THEIRS }))
        } else {
            let link = evil.post("/setup_links", &json!({})).await.data();
            (link, json!({ "email": email, "password": THEIRS }))
        };
        mallory.follow(&server, &link, &with).await.data();
        // A link that is kept for later.
        let kept = evil.post("/setup_links", &json!({ "email": email })).await.data();
        let of = json!({ "email": email, "role": "owner" });
        invited.post("/invitations", &of).await.data();
        provider.says(&server, &is_at_provider(email)).await;
        let mut person = Browser::default();
        let joined = oidc::sign_in(&server, &mut person).await.data();
        assert!(organizations(&joined).contains(&&*invited.org_id), "{email}: {joined}");
        let by_password = Browser::default().sign_in(&server, email, THEIRS).await;
        assert_eq!(by_password.refusal(), (401, "wrong_password"), "{email}");
        assert_eq!(mallory.get(&server, "/session").await.status, 401, "{email}: the session");
        let used = Browser::default().follow(&server, &kept, &json!({ "password": THEIRS })).await;
        assert_eq!(used.refusal(), (410, "gone"), "{email}: the link");
        let made = evil.post("/setup_links", &json!({ "email": email })).await;
        assert_eq!(made.refusal(), (403, "forbidden"), "{email}");
        assert_eq!(person.get(&server, "/session").await.status, 200, "{email}");
    }
    assert!(server.log().contains("another organization's link may have set"));
}

/// A person whom an organization has alone is its own; one who joins another is not any more.
#[tokio::test]
async fn a_password_that_an_owner_set_ends_where_its_person_joins_another_organization() {
    const THEIRS: &str = "a password of the attacker";
    let provider = Provider::default();
    let server = provider.server(&[]).await;
    let evil = server.another_organization("evil").await;
    let email = "jo@x.test";
    evil.post("/invitations", &json!({ "email": email, "role": "viewer" })).await.data();
    provider.says(&server, &is_at_provider(email)).await;
    oidc::sign_in(&server, &mut Browser::default()).await.data();
    // The provider knows the person; then an owner sets a password.
    let reset = evil.post("/setup_links", &json!({ "email": email })).await.data();
    let mut mallory = Browser::default();
    mallory.follow(&server, &reset, &json!({ "password": THEIRS })).await.data();
    server.post("/invitations", &json!({ "email": email, "role": "owner" })).await.data();
    let joined = oidc::sign_in(&server, &mut Browser::default()).await.data();
    assert!(organizations(&joined).contains(&&*server.org_id), "{joined}");
    assert_eq!(mallory.get(&server, "/session").await.status, 401);
    let by_password = Browser::default().sign_in(&server, email, THEIRS).await;
    assert_eq!(by_password.refusal(), (401, "wrong_password"));
}

/// Without a provider as well: a link of the time before opens the other organization to nobody.
#[tokio::test]
async fn a_link_of_an_owner_ends_where_its_person_joins_another_organization() {
    let server = Server::start().await;
    let evil = server.another_organization("evil").await;
    let invite = json!({ "email": "jo@x.test", "role": "viewer" });
    let link = evil.post("/invitations", &invite).await.data();
    let with = json!({ "password": PASSWORD });
    Browser::default().follow(&server, &link, &with).await.data();
    let reset = evil.post("/setup_links", &json!({ "email": "jo@x.test" })).await.data();
    let link = server.post("/invitations", &invite).await.data();
    let mut jo = Browser::default();
    jo.follow(&server, &link, &with).await.data();
    let theirs = json!({ "password": "a password of the attacker" });
    let used = Browser::default().follow(&server, &reset, &theirs).await;
    assert_eq!(used.refusal(), (410, "gone"));
    assert_eq!(jo.get(&server, "/session").await.status, 200);
    Browser::default().sign_in(&server, "jo@x.test", PASSWORD).await.data();
}

/// An owner asks for one address with one link, and no address twice.
#[tokio::test]
async fn a_setup_link_of_another_organization_asks_for_one_address() {
    let server = Server::start().await;
    Browser::first_owner(&server, "mara@x.test").await;
    let evil = server.another_organization("evil").await;
    let link = evil.post("/setup_links", &json!({})).await.data();
    for expected in [(422, "invalid_field"), (410, "gone")] {
        let guess = json!({ "email": "mara@x.test", "password": PASSWORD });
        assert_eq!(Browser::default().follow(&server, &link, &guess).await.refusal(), expected);
    }
}
