//! People: first visit, sign-in, sessions; and the application that the server gives their browsers.

use millrace_tests::browser::{Browser, PASSWORD, token};
use millrace_tests::{Server, id};
use reqwest::Method;
use serde_json::json;

#[tokio::test]
async fn the_link_that_the_server_prints_sets_a_password_once_and_signs_in() {
    let mut server = Server::start().await;
    let log = server.log();
    let url = log.split("/setup/").nth(1).and_then(|rest| rest.split(|c: char| !c.is_ascii_alphanumeric()).next()).expect("a link in the log").to_owned();
    let link = json!({ "url": format!("/setup/{url}") });
    let mut browser = Browser::default();
    let about = browser.call(&server, Method::POST, "/links/open", Some(&json!({ "token": token(&link) }))).await.data();
    assert_eq!((&about["kind"], &about["org"]["id"]), (&json!("setup"), &json!(server.org_id)));
    let short = browser.follow(&server, &link, &json!({ "password": "short" })).await;
    assert_eq!((short.refusal(), &short.json["details"]["field"]), ((422, "invalid_field"), &json!("password")));
    let used = browser.follow(&server, &link, &json!({ "name": "Mara", "email": "Mara@X.test", "password": PASSWORD })).await.data();
    assert_eq!((&used["user"]["name"], &used["user"]["email"], &used["role"]), (&json!("Mara"), &json!("mara@x.test"), &json!("owner")));
    assert_eq!(used["scopes"], json!(["full"]));
    assert_eq!(browser.get(&server, "/session").await.data()["user"], used["user"]);
    assert_eq!(Browser::default().follow(&server, &link, &json!({ "password": PASSWORD })).await.refusal(), (410, "gone"));
    // The user of the first key is the person: what the key did is in the person's name.
    assert_eq!(server.get("/users/me").await.data()["id"], used["user"]["id"]);
    let audit = server.get("/audit?limit=1").await.json["data"][0].clone();
    assert_eq!(
        (&audit["action"], &audit["user_id"], &audit["key_id"], &audit["done"]),
        (&json!("POST /links/use"), &used["user"]["id"], &used["id"], &json!(true))
    );
    assert!(!server.get("/audit").await.text.contains(&token(&link)));

    server.terminate();
    server.launch().await;
    assert_eq!(server.log().matches("/setup/").count(), 1, "no other link once somebody can sign in");
    assert_eq!(browser.get(&server, "/session").await.data()["user"], used["user"], "the session outlives a start");
}

#[tokio::test]
async fn a_person_signs_in_and_out_lists_sessions_and_ends_them() {
    let server = Server::start().await;
    let mut first = Browser::first_owner(&server, "mara@x.test").await;
    let mut second = Browser::default();
    assert_eq!(second.sign_in(&server, "mara@x.test", "another password").await.refusal(), (401, "wrong_password"));
    let own = second.sign_in(&server, " MARA@x.test", PASSWORD).await.data();
    let listed = first.get(&server, "/sessions").await;
    let sessions = listed.json["data"].as_array().expect("sessions").clone();
    assert_eq!(sessions.iter().map(|s| s["current"] == true).collect::<Vec<_>>(), [false, true], "{}", listed.text);
    assert_eq!((&sessions[0]["id"], &sessions[0]["address"]), (&own["id"], &json!("127.0.0.1")));
    first.call(&server, Method::DELETE, &format!("/sessions/{}", id(&own)), None).await.data();
    assert_eq!(second.get(&server, "/session").await.refusal(), (401, "unauthorized"));
    // Another password ends all sessions but the one that set it.
    let mut third = Browser::default();
    third.sign_in(&server, "mara@x.test", PASSWORD).await.data();
    let change = |now: &str| json!({ "current_password": now, "password": "another wheel in it" });
    let wrong = first.call(&server, Method::PUT, "/session/password", Some(&change("not the password"))).await;
    assert_eq!((wrong.refusal(), &wrong.json["details"]["field"]), ((422, "invalid_field"), &json!("current_password")));
    first.call(&server, Method::PUT, "/session/password", Some(&change(PASSWORD))).await.data();
    assert_eq!((first.get(&server, "/session").await.status, third.get(&server, "/session").await.status), (200, 401));
    assert_eq!(third.sign_in(&server, "mara@x.test", PASSWORD).await.status, 401);
    let out = first.call(&server, Method::DELETE, "/session", None).await;
    assert_eq!((out.status, first.cookie.clone()), (200, None));
    assert_eq!(first.get(&server, "/session").await.status, 401);
    // `millrace setup-link` sets another password.
    let reset = server.post("/setup_links", &json!({ "email": "mara@x.test" })).await.data();
    assert_eq!(reset["kind"], "reset");
    assert_eq!(first.follow(&server, &reset, &json!({ "password": PASSWORD })).await.status, 200);
}

#[tokio::test]
async fn a_key_says_what_it_may_do_and_has_no_sessions() {
    let server = Server::start().await;
    let session = server.get("/session").await.data();
    assert_eq!((&session["id"], &session["role"], &session["orgs"][0]["role"]), (&json!(null), &json!("owner"), &json!("owner")));
    assert_eq!(server.get("/sessions").await.refusal(), (403, "forbidden"));
    assert_eq!(server.delete("/session").await.refusal(), (403, "forbidden"));
}

#[tokio::test]
async fn the_application_is_at_its_addresses_under_a_policy_and_its_files_never_change() {
    let server = Server::start().await;
    let page = async |path: &str, accept: &str| {
        let response = server.raw(Method::GET, path).header("accept", accept).send().await.expect("an answer");
        (response.status().as_u16(), response.headers().clone(), response.text().await.expect("a body"))
    };
    let mut nonces = Vec::new();
    for (path, status) in [("/", 200), ("/runs/run_1", 200), ("/sources", 200), ("/login", 200), ("/setup/x", 200), ("/no/such/page", 404)] {
        let (got, headers, text) = page(path, "text/html,*/*;q=0.8").await;
        assert_eq!((got, headers["cache-control"].to_str().ok()), (status, Some("no-store")), "{path}");
        assert!(text.contains("id=\"root\"") && !text.contains("{nonce}"), "{path}: {text}");
        let policy = headers["content-security-policy"].to_str().expect("text").to_owned();
        let host = server.url.trim_start_matches("http://");
        for part in
            ["default-src 'none'", &format!("script-src {host}/assets/;"), "connect-src 'self'", "form-action 'none'", "require-trusted-types-for 'script'"]
        {
            assert!(policy.contains(part), "{part}: {policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        nonces.push(policy.split("nonce-").nth(1).and_then(|rest| rest.split('\'').next()).expect("a nonce").to_owned());
        assert!(text.contains(&nonces[nonces.len() - 1]));
    }
    nonces.dedup();
    assert_eq!(nonces.len(), 6, "each page has a nonce of its own");
    let (status, headers, _) = page("/no/such/page", "application/json").await;
    assert_eq!((status, headers["content-type"].to_str().ok()), (404, Some("application/json")));
    assert_eq!(page("/v1/nothing", "text/html").await.1["content-type"], "application/json");

    let (_, _, text) = page("/", "text/html").await;
    let script = text.split("src=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("a script").to_owned();
    let plain = server.raw(Method::GET, &script).send().await.expect("an answer");
    assert_eq!(plain.headers()["cache-control"], "public, max-age=31536000, immutable");
    assert_eq!(plain.headers()["content-type"], "text/javascript; charset=utf-8");
    let plain = plain.bytes().await.expect("a body").len();
    let packed = server.raw(Method::GET, &script).header("accept-encoding", "br").send().await.expect("an answer");
    assert_eq!(
        (&packed.headers()["content-encoding"], &packed.headers()["vary"]),
        (&"br".parse().expect("a value"), &"accept-encoding".parse().expect("a value"))
    );
    assert!(packed.bytes().await.expect("a body").len() < plain / 2);
    // The client unpacks it.
    assert_eq!(page(&script, "*/*").await.2.len(), plain);
    assert_eq!(page("/assets/none.js", "text/html").await.0, 404);
}
