//! Sign-in by a provider of OpenID Connect: the people that it admits, and their accounts.

use millrace_tests::browser::{Browser, PASSWORD};
use millrace_tests::oidc::{self, Provider, SECRET};
use millrace_tests::{Client, Server, npm};
use reqwest::{Method, Url};
use serde_json::{Value, json};

async fn invite(server: &Client, email: &str, role: &str) -> Value {
    server.post("/invitations", &json!({ "email": email, "role": role })).await.data()
}

#[tokio::test]
async fn who_is_invited_signs_in_by_the_provider_and_stays_the_same_person() {
    let provider = Provider::default();
    let server = provider.server(&[]).await;
    let mut browser = Browser::default();
    assert_eq!(browser.get(&server, "/sign_in").await.data(), json!({ "provider": "Acme" }));
    let stranger = oidc::sign_in(&server, &mut browser).await;
    assert_eq!(stranger.refusal(), (403, "not_invited"));
    let link = invite(&server, "Jo@x.test", "member").await;
    let joined = oidc::sign_in(&server, &mut browser).await.data();
    assert_eq!(
        (&joined["user"]["name"], &joined["user"]["email"], &joined["role"]),
        (&json!("Jo"), &json!("jo@x.test"), &json!("member"))
    );
    assert_eq!(browser.get(&server, "/session").await.data()["user"], joined["user"]);
    assert_eq!(
        server.get("/invitations").await.json["page_info"]["total_count"],
        0,
        "it was accepted"
    );
    let audit = server.get("/audit?limit=1").await.json["data"][0].clone();
    assert_eq!(
        (&audit["action"], &audit["user_id"], &audit["done"]),
        (&json!("POST /sign_in/finish"), &joined["user"]["id"], &json!(true))
    );
    assert_eq!(
        Browser::default().follow(&server, &link, &json!({ "password": PASSWORD })).await.refusal(),
        (410, "gone")
    );
    // The provider's id counts, and not an address that changed since.
    provider.says(&server, &json!({ "claims": { "email": "jo.new@x.test" } })).await;
    assert_eq!(
        oidc::sign_in(&server, &mut Browser::default()).await.data()["user"],
        joined["user"]
    );
    // An invitation to another organization is accepted with the next sign-in.
    let second = server
        .post("/workspaces", &json!({ "name": "Second", "email": "other@x.test" }))
        .await
        .data();
    let key = second["api_key"].as_str().expect("a key");
    let other = json!({ "email": "jo.new@x.test", "role": "viewer" });
    let link = server.call_as(key, Method::POST, "/invitations", Some(&other)).await.data();
    let switched = oidc::sign_in(&server, &mut browser).await.data();
    assert_eq!(
        (&switched["user"], &switched["org"]["name"], &switched["role"]),
        (&joined["user"], &json!("Second"), &json!("viewer"))
    );
    assert_eq!(switched["orgs"].as_array().map(Vec::len), Some(2));
    assert_eq!(
        Browser::default().follow(&server, &link, &json!({ "password": PASSWORD })).await.refusal(),
        (410, "gone")
    );
    // Who was removed is let in again by an invitation alone.
    let path = format!("/members/{}", joined["user"]["id"].as_str().expect("an id"));
    server.call_as(key, Method::DELETE, &path, None).await.data();
    server.delete(&path).await.data();
    assert_eq!(browser.get(&server, "/session").await.status, 401);
    assert_eq!(oidc::sign_in(&server, &mut browser).await.refusal(), (403, "forbidden"));
    assert!(!server.log().contains(SECRET));
}

#[tokio::test]
async fn a_person_with_a_password_and_the_named_owner_sign_in_by_the_provider() {
    let provider = Provider::default();
    let server = provider.server(&["--owner-email", "Jo@x.test"]).await;
    let owner = oidc::sign_in(&server, &mut Browser::default()).await.data();
    assert_eq!(
        (&owner["role"], &owner["user"]["id"]),
        (&json!("owner"), &server.get("/users/me").await.data()["id"])
    );
    let link = invite(&server, "mara@x.test", "viewer").await;
    let mara = Browser::default()
        .follow(&server, &link, &json!({ "name": "Mara", "password": PASSWORD }))
        .await
        .data();
    provider.says(&server, &json!({ "userinfo": { "sub": "s-2", "email": "MARA@x.test", "email_verified": true }, "claims": { "sub": "s-2" } })).await;
    assert_eq!(
        oidc::sign_in(&server, &mut Browser::default()).await.data()["user"],
        mara["user"],
        "by the address, which the provider tells elsewhere"
    );
    assert_eq!(
        Browser::default().sign_in(&server, "mara@x.test", PASSWORD).await.status,
        200,
        "the password stays"
    );
    // An invitation elsewhere of somebody without a password says how it is accepted.
    let second = server
        .post("/workspaces", &json!({ "name": "Second", "email": "other@x.test" }))
        .await
        .data();
    let other = json!({ "email": "jo@x.test", "role": "viewer" });
    let link = server
        .call_as(
            second["api_key"].as_str().expect("a key"),
            Method::POST,
            "/invitations",
            Some(&other),
        )
        .await
        .data();
    let refused = Browser::default().follow(&server, &link, &json!({ "password": PASSWORD })).await;
    assert!(
        refused.status == 422 && refused.text.contains("signs in with Acme"),
        "{}",
        refused.text
    );
}

#[tokio::test]
async fn who_was_not_invited_gets_the_role_of_the_operator_where_the_domain_is_named() {
    let provider = Provider::default();
    let server =
        provider.server(&["--oidc-email-domains", "y.test,X.test", "--oidc-role", "viewer"]).await;
    let joined = oidc::sign_in(&server, &mut Browser::default()).await.data();
    assert_eq!((&joined["role"], &joined["org"]["id"]), (&json!("viewer"), &json!(server.org_id)));
    provider.says(&server, &json!({ "claims": { "sub": "s-2", "email": "jo@notx.test" } })).await;
    invite(&server, "jo@notx.test", "owner").await;
    assert_eq!(
        oidc::sign_in(&server, &mut Browser::default()).await.refusal(),
        (403, "email_domain_not_allowed")
    );
}

#[tokio::test]
async fn an_invitation_of_another_organization_takes_no_role_of_the_operator_away() {
    let provider = Provider::default();
    let server =
        provider.server(&["--oidc-email-domains", "x.test", "--oidc-role", "viewer"]).await;
    let second = server
        .post("/workspaces", &json!({ "name": "Second", "email": "other@x.test" }))
        .await
        .data();
    let key = second["api_key"].as_str().expect("a key");
    let invited = json!({ "email": "jo@x.test", "role": "member" });
    server.call_as(key, Method::POST, "/invitations", Some(&invited)).await.data();
    let mut browser = Browser::default();
    let joined = oidc::sign_in(&server, &mut browser).await.data();
    assert_eq!(
        (&joined["org"]["name"], &joined["role"]),
        (&json!("Second"), &json!("member")),
        "the invitation leads"
    );
    let role = |members: Value| {
        let of = |member: &&Value| member["id"] == joined["user"]["id"];
        let members = members["data"].as_array().expect("members").clone();
        members.iter().find(of).map(|member| member["role"].clone())
    };
    assert_eq!(role(server.get("/members").await.json), Some(json!("viewer")));
    // Whom an owner removes there stays out, as the provider's user is known.
    let path = format!("/members/{}", joined["user"]["id"].as_str().expect("an id"));
    server.delete(&path).await.data();
    oidc::sign_in(&server, &mut Browser::default()).await.data();
    assert_eq!(role(server.get("/members").await.json), None);
}

#[tokio::test]
async fn without_a_provider_people_sign_in_by_password_alone() {
    let server = Server::shared().await;
    let mut browser = Browser::default();
    assert_eq!(browser.get(&server, "/sign_in").await.data(), json!({ "provider": null }));
    assert_eq!(
        browser.call(&server, Method::POST, "/sign_in/begin", None).await.refusal(),
        (409, "no_provider")
    );
}

/// A browser at the provider: it follows redirects and keeps cookies, until it comes back.
async fn through(url: &str, back: &str) -> Url {
    let client = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .expect("a client");
    let (mut at, mut cookies) =
        (Url::parse(url).expect("an address"), Vec::<(String, String)>::new());
    for _ in 0..20 {
        let line = cookies
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect::<Vec<_>>()
            .join("; ");
        let response =
            client.get(at.clone()).header("cookie", line).send().await.expect("an answer");
        for set in response.headers().get_all("set-cookie") {
            let (name, value) = set
                .to_str()
                .expect("text")
                .split(';')
                .next()
                .and_then(|pair| pair.split_once('='))
                .expect("a cookie");
            cookies.retain(|(known, _)| known != name);
            cookies.push((name.to_owned(), value.to_owned()));
        }
        let Some(to) =
            response.headers().get("location").map(|to| to.to_str().expect("text").to_owned())
        else {
            panic!("{at}: {}", response.text().await.expect("a body"));
        };
        at = at.join(&to).expect("an address");
        if at.as_str().starts_with(back) {
            return at;
        }
    }
    panic!("no end of redirects at {at}");
}

#[tokio::test]
async fn people_sign_in_by_oidc_provider_of_npm() {
    let Some(peer) = npm::peer("oidc-provider") else { return };
    let provider = Provider::run(&peer.join("provider.mjs"));
    let server = provider.server(&[]).await;
    let back = format!("{}/login?", server.url);
    invite(&server, "jo@x.test", "member").await;
    let mut browser = Browser::default();
    for _ in 0..2 {
        let url = oidc::begin(&server, &mut browser).await;
        let brought = oidc::brought(&through(&url, &back).await);
        let joined = oidc::finish(&server, &mut browser, &brought).await.data();
        assert_eq!((&joined["user"]["name"], &joined["role"]), (&json!("Jo"), &json!("member")));
    }
    assert_eq!(server.get("/members").await.json["page_info"]["total_count"], 2);
}
