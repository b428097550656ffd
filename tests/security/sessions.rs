//! Attacks on the sessions of people: each tries to act with another person's.

use millrace_tests::browser::{Browser, PASSWORD, token};
use millrace_tests::{Server, answer, endpoint};
use reqwest::Method;
use serde_json::json;

#[tokio::test]
async fn a_session_is_new_at_each_sign_in_and_one_that_was_brought_is_not_taken_up() {
    let server = Server::start().await;
    let first = Browser::first_owner(&server, "mara@x.test").await;
    let mut brought = Browser { cookie: Some(format!("millrace_session=mru_{}", "a".repeat(40))) };
    let planted = brought.cookie.clone();
    brought.sign_in(&server, "mara@x.test", PASSWORD).await.data();
    assert!(brought.cookie != planted && brought.cookie != first.cookie);
    assert_eq!(Browser { cookie: planted }.get(&server, "/session").await.status, 401);
    // A second cookie of the name, which something else of this site set, makes neither count.
    let both = format!(
        "{}; {}",
        first.cookie.clone().expect("a cookie"),
        brought.cookie.clone().expect("a cookie")
    );
    assert_eq!(Browser { cookie: Some(both) }.get(&server, "/session").await.status, 401);
}

#[tokio::test]
async fn a_cookie_that_was_stolen_is_worth_nothing_after_sign_out_and_is_no_key() {
    let server = Server::start().await;
    let mut browser = Browser::first_owner(&server, "mara@x.test").await;
    let mut stolen = browser.clone();
    let token =
        stolen.cookie.clone().expect("a cookie").split_once('=').expect("a value").1.to_owned();
    assert_eq!(
        server.call_as(&token, Method::GET, "/session", None).await.status,
        401,
        "a session is good in its cookie only"
    );
    let key = Browser { cookie: Some(format!("millrace_session={}", server.api_key)) }
        .get(&server, "/session")
        .await;
    assert_eq!(key.status, 401, "a key is no session");
    assert_eq!(stolen.get(&server, "/session").await.status, 200);
    browser.call(&server, Method::DELETE, "/session", None).await.data();
    assert_eq!(stolen.get(&server, "/session").await.status, 401);
    assert!(
        !std::fs::read(server.data_dir().join("millrace.db"))
            .unwrap_or_default()
            .windows(token.len())
            .any(|part| part == token.as_bytes())
    );
}

#[tokio::test]
async fn a_foreign_page_changes_nothing_with_a_session() {
    let server = Server::start().await;
    let mut browser = Browser::first_owner(&server, "mara@x.test").await;
    let body = json!({ "name": "planted", "scopes": ["full"] });
    let foreign: &[(&[(&str, &str)], &str)] = &[
        (&[], "csrf_header_missing"),
        (&[("sec-fetch-site", "same-origin")], "csrf_header_missing"),
        (&[("sec-fetch-site", "cross-site"), ("x-millrace-csrf", "1")], "foreign_page"),
        (&[("sec-fetch-site", "same-site"), ("x-millrace-csrf", "1")], "foreign_page"),
        (&[("sec-fetch-site", "none"), ("x-millrace-csrf", "1")], "foreign_page"),
        (&[("origin", "https://evil.example"), ("x-millrace-csrf", "1")], "foreign_page"),
        (&[("origin", "null"), ("x-millrace-csrf", "1")], "foreign_page"),
    ];
    for (headers, code) in foreign {
        let got = browser.call_with(&server, Method::POST, "/api_keys", Some(&body), headers).await;
        assert_eq!(got.refusal(), (403, *code), "{headers:?}");
        // Nor does one sign a victim in as somebody else.
        let sign_in = json!({ "email": "mara@x.test", "password": PASSWORD });
        assert_eq!(
            Browser::default()
                .call_with(&server, Method::POST, "/session", Some(&sign_in), headers)
                .await
                .refusal(),
            (403, *code),
            "{headers:?}"
        );
    }
    assert_eq!(
        browser
            .call_with(&server, Method::GET, "/session", None, &[("sec-fetch-site", "cross-site")])
            .await
            .refusal(),
        (403, "foreign_page")
    );
    assert!(!server.get("/api_keys").await.text.contains("planted"));
    assert_eq!(
        browser.call(&server, Method::POST, "/api_keys", Some(&body)).await.status,
        200,
        "the application may"
    );
}

#[tokio::test]
async fn wrong_passwords_say_nothing_of_who_has_a_login_and_are_throttled() {
    let server = Server::start().await;
    Browser::first_owner(&server, "mara@x.test").await;
    let mut answers = Vec::new();
    for email in ["mara@x.test", "nobody@x.test"] {
        for _ in 0..10 {
            let got = Browser::default().sign_in(&server, email, "not the password").await;
            answers.push((got.status, got.json.clone()));
        }
        let waits = Browser::default().sign_in(&server, email, PASSWORD).await;
        assert_eq!(waits.refusal(), (429, "too_many_wrong_passwords"), "{email}");
    }
    answers.dedup();
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert_eq!(answers[0].1["code"], "wrong_password");
}

#[tokio::test]
async fn code_behind_an_endpoint_neither_gets_the_cookie_nor_sets_one_for_the_api() {
    let server = Server::start().await;
    let mut browser = Browser::first_owner(&server, "mara@x.test").await;
    let code = "await $.respond({ status: 200, headers: { 'set-cookie': 'millrace_session=mru_planted; Path=/v1; HttpOnly' }, body: 'set' });";
    let workflow = server
        .workflow(
            "plants",
            json!([{ "type": "http" }]),
            &[("plant", &format!("export default {{ async run({{ $ }}) {{ {code} }} }};"))],
        )
        .await;
    let url = endpoint(&workflow);
    let response = server.raw(Method::GET, &url).send().await.expect("an answer");
    let set = response.headers()["set-cookie"].to_str().expect("text").to_owned();
    let path = set
        .split("Path=")
        .nth(1)
        .and_then(|rest| rest.split(';').next())
        .expect("a path")
        .to_owned();
    assert!(path.starts_with("/e/") && set.matches("Path=").count() == 1, "{set}");
    // Each answer of the session says that its cookie is for `/v1` (`Browser`), where no endpoint
    // is.
    assert_eq!(browser.get(&server, "/session").await.status, 200);
    assert_eq!(
        answer(
            server
                .raw(Method::GET, "/v1/e/none")
                .header("cookie", browser.cookie.clone().expect("a cookie"))
        )
        .await
        .status,
        404
    );
}

#[tokio::test]
async fn asking_for_a_link_says_nothing_of_who_has_a_login_and_is_throttled() {
    // Nobody is there to take mail: it waits in the outbox.
    let server = Server::start_with(&["--smtp-url", "smtp://127.0.0.1:9"]).await;
    Browser::first_owner(&server, "mara@x.test").await;
    let mut answers = Vec::new();
    for email in ["mara@x.test", "nobody@x.test"] {
        let ask = json!({ "email": email });
        for _ in 0..10 {
            let got = Browser::default().call(&server, Method::POST, "/links", Some(&ask)).await;
            answers.push((got.status, got.text));
        }
        let waits = Browser::default().call(&server, Method::POST, "/links", Some(&ask)).await;
        assert_eq!(waits.refusal(), (429, "too_many_wrong_passwords"), "{email}");
        // Nor does it help to try passwords in between.
        assert_eq!(
            Browser::default().sign_in(&server, email, PASSWORD).await.refusal(),
            (429, "too_many_wrong_passwords")
        );
    }
    answers.dedup();
    assert_eq!(answers.len(), 1, "{answers:?}");
    server.until("the one mail", "/mail", |l| l["page_info"]["total_count"] == 1).await;
    // Links that are nobody's are answered as those that were used.
    let open = async |token: &str| {
        let got = Browser::default()
            .call(&server, Method::POST, "/links/open", Some(&json!({ "token": token })))
            .await;
        (got.status, got.text)
    };
    let made = server.post("/setup_links", &json!({ "email": "mara@x.test" })).await.data();
    Browser::default().follow(&server, &made, &json!({ "password": PASSWORD })).await.data();
    assert_eq!(open(&token(&made)).await, open(&"a".repeat(40)).await);
}

#[tokio::test]
async fn a_form_that_a_page_of_an_endpoint_posts_changes_nothing() {
    let server = Server::start().await;
    let browser = Browser::first_owner(&server, "mara@x.test").await;
    // Such a page is of no origin, whatever it is served from; a browser of old says nothing of
    // where a form comes from.
    for headers in [&[("origin", "null"), ("sec-fetch-site", "cross-site")][..], &[]] {
        for (path, form) in [
            ("/v1/api_keys", "name=planted&scopes=full&x-millrace-csrf=1"),
            ("/v1/invitations", "email=evil%40x.test&role=owner&x-millrace-csrf=1"),
            ("/v1/session/password", "current_password=a&password=b"),
            ("/v1/links/use", "token=a&password=b"),
        ] {
            let mut request = server
                .raw(if path.ends_with("password") { Method::PUT } else { Method::POST }, path)
                .body(form);
            request = request
                .header("content-type", "application/x-www-form-urlencoded")
                .header("cookie", browser.cookie.clone().expect("a cookie"));
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            let got = answer(request).await;
            assert!(
                matches!(got.refusal(), (403, "foreign_page" | "csrf_header_missing")),
                "{path} {headers:?}: {}",
                got.text
            );
        }
    }
    assert_eq!(server.get("/invitations").await.json["page_info"]["total_count"], 0);
    assert!(!server.get("/api_keys").await.text.contains("planted"));
}
