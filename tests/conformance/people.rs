//! People: first visit, sign-in, sessions; and the application that the server gives their
//! browsers.

use crate::r2_endpoints::registries::millrace;
use millrace_tests::browser::{Browser, PASSWORD, token};
use millrace_tests::smtp::MailServer;
use millrace_tests::{Server, id};
use reqwest::Method;
use serde_json::json;

#[tokio::test]
async fn the_link_that_the_server_prints_sets_a_password_once_and_signs_in() {
    let mut server = Server::start().await;
    let log = server.log();
    let url = log
        .split("/setup/")
        .nth(1)
        .and_then(|rest| rest.split(|c: char| !c.is_ascii_alphanumeric()).next())
        .expect("a link in the log")
        .to_owned();
    let link = json!({ "url": format!("/setup/{url}") });
    let mut browser = Browser::default();
    let about = browser
        .call(&server, Method::POST, "/links/open", Some(&json!({ "token": token(&link) })))
        .await
        .data();
    assert_eq!((&about["kind"], &about["org"]["id"]), (&json!("setup"), &json!(server.org_id)));
    let short = browser.follow(&server, &link, &json!({ "password": "short" })).await;
    assert_eq!(
        (short.refusal(), &short.json["details"]["field"]),
        ((422, "invalid_field"), &json!("password"))
    );
    let used = browser
        .follow(
            &server,
            &link,
            &json!({ "name": "Mara", "email": "Mara@X.test", "password": PASSWORD }),
        )
        .await
        .data();
    assert_eq!(
        (&used["user"]["name"], &used["user"]["email"], &used["role"]),
        (&json!("Mara"), &json!("mara@x.test"), &json!("owner"))
    );
    assert_eq!(used["scopes"], json!(["full"]));
    // Mail about errors goes to that address from now on.
    assert_eq!(
        server.get(&format!("/workspaces/{}", server.org_id)).await.data()["email"],
        "mara@x.test"
    );
    assert_eq!(browser.get(&server, "/session").await.data()["user"], used["user"]);
    assert_eq!(
        Browser::default().follow(&server, &link, &json!({ "password": PASSWORD })).await.refusal(),
        (410, "gone")
    );
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
    assert_eq!(
        server.log().matches("/setup/").count(),
        1,
        "no other link once somebody can sign in"
    );
    assert_eq!(
        browser.get(&server, "/session").await.data()["user"],
        used["user"],
        "the session outlives a start"
    );
}

#[tokio::test]
async fn a_person_signs_in_and_out_lists_sessions_and_ends_them() {
    let server = Server::start().await;
    let mut first = Browser::first_owner(&server, "mara@x.test").await;
    let mut second = Browser::default();
    assert_eq!(
        second.sign_in(&server, "mara@x.test", "another password").await.refusal(),
        (401, "wrong_password")
    );
    let own = second.sign_in(&server, " MARA@x.test", PASSWORD).await.data();
    let listed = first.get(&server, "/sessions").await;
    let sessions = listed.json["data"].as_array().expect("sessions").clone();
    assert_eq!(
        sessions.iter().map(|s| s["current"] == true).collect::<Vec<_>>(),
        [false, true],
        "{}",
        listed.text
    );
    assert_eq!((&sessions[0]["id"], &sessions[0]["address"]), (&own["id"], &json!("127.0.0.1")));
    first.call(&server, Method::DELETE, &format!("/sessions/{}", id(&own)), None).await.data();
    assert_eq!(second.get(&server, "/session").await.refusal(), (401, "unauthorized"));
    // Another password ends all sessions but the one that set it.
    let mut third = Browser::default();
    third.sign_in(&server, "mara@x.test", PASSWORD).await.data();
    let change = |now: &str| json!({ "current_password": now, "password": "another wheel in it" });
    let wrong = first
        .call(&server, Method::PUT, "/session/password", Some(&change("not the password")))
        .await;
    assert_eq!(
        (wrong.refusal(), &wrong.json["details"]["field"]),
        ((422, "invalid_field"), &json!("current_password"))
    );
    first.call(&server, Method::PUT, "/session/password", Some(&change(PASSWORD))).await.data();
    assert_eq!(
        (first.get(&server, "/session").await.status, third.get(&server, "/session").await.status),
        (200, 401)
    );
    assert_eq!(third.sign_in(&server, "mara@x.test", PASSWORD).await.status, 401);
    let out = first.call(&server, Method::DELETE, "/session", None).await;
    assert_eq!((out.status, first.cookie.clone()), (200, None));
    assert_eq!(first.get(&server, "/session").await.status, 401);
    // `millrace setup-link` sets another password.
    let (status, reset, stderr) = millrace(&server, &["setup-link", "mara@x.test"]);
    assert_eq!(status, Some(0), "{stderr}");
    assert_eq!(reset["kind"], "reset");
    assert_eq!(first.follow(&server, &reset, &json!({ "password": PASSWORD })).await.status, 200);
}

#[tokio::test]
async fn owners_invite_change_and_remove_members_and_one_owner_stays() {
    let server = Server::start().await;
    let mut owner = Browser::first_owner(&server, "mara@x.test").await;
    let me = owner.get(&server, "/session").await.data()["user"]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let invite = json!({ "email": "Jo@x.test", "role": "viewer" });
    let earlier = owner.call(&server, Method::POST, "/invitations", Some(&invite)).await.data();
    let invited = owner.call(&server, Method::POST, "/invitations", Some(&invite)).await.data();
    assert_eq!(
        owner.get(&server, "/invitations").await.json["page_info"]["total_count"],
        1,
        "the later one is in the place of the earlier"
    );
    let mut jo = Browser::default();
    assert_eq!(
        jo.follow(&server, &earlier, &json!({ "password": PASSWORD })).await.refusal(),
        (410, "gone")
    );
    let joined =
        jo.follow(&server, &invited, &json!({ "name": "Jo", "password": PASSWORD })).await.data();
    assert_eq!(
        (&joined["user"]["email"], &joined["role"], &joined["scopes"]),
        (&json!("jo@x.test"), &json!("viewer"), &json!(["read"]))
    );
    let again = owner.call(&server, Method::POST, "/invitations", Some(&invite)).await;
    assert_eq!(again.refusal(), (409, "member_already"));
    let jo_id = joined["user"]["id"].as_str().expect("an id").to_owned();
    // A role counts from the next request on.
    let key = json!({ "name": "by Jo", "scopes": ["full"] });
    let refused = jo.call(&server, Method::POST, "/api_keys", Some(&key)).await;
    assert_eq!(refused.refusal(), (403, "scope_missing"));
    let lacks = "this needs the role `owner` in this organization; your role is `viewer`, which an owner can change";
    assert_eq!(refused.json["error"], lacks, "a person has a role, no key");
    let deploy = jo
        .call(
            &server,
            Method::POST,
            "/sources",
            Some(&json!({ "component_code": "export default {}" })),
        )
        .await;
    assert!(
        deploy.json["error"].as_str().is_some_and(|says| says.contains("the role `member`")),
        "{}",
        deploy.json
    );
    owner
        .call(&server, Method::PUT, &format!("/members/{jo_id}"), Some(&json!({ "role": "owner" })))
        .await
        .data();
    let key = jo.call(&server, Method::POST, "/api_keys", Some(&key)).await.data();
    let audit = server.get("/audit?limit=1").await.json["data"][0].clone();
    assert_eq!((&audit["action"], &audit["user_id"]), (&json!("POST /api_keys"), &json!(jo_id)));
    // Who is removed has neither a session nor a key left, and a name in the log.
    owner.call(&server, Method::DELETE, &format!("/members/{jo_id}"), None).await.data();
    let log = server.get(&format!("/audit?user_id={jo_id}&limit=1")).await;
    assert_eq!(log.json["data"][0]["user_name"], "Jo");
    assert_eq!(jo.get(&server, "/session").await.status, 401);
    assert_eq!(
        server
            .call_as(key["key"].as_str().expect("a key"), Method::GET, "/session", None)
            .await
            .status,
        401
    );
    assert_eq!(
        jo.sign_in(&server, "jo@x.test", PASSWORD).await.refusal(),
        (403, "forbidden"),
        "of no organization any more"
    );
    for (method, body) in [(Method::DELETE, None), (Method::PUT, Some(json!({ "role": "viewer" })))]
    {
        assert_eq!(
            owner.call(&server, method, &format!("/members/{me}"), body.as_ref()).await.refusal(),
            (409, "last_owner")
        );
    }
}

#[tokio::test]
async fn a_person_of_two_organizations_joins_by_password_and_switches() {
    let server = Server::shared().await;
    let mut browser = Browser::first_owner(&server, "mara@x.test").await;
    let made = server
        .post("/workspaces", &json!({ "name": "Second", "email": "other@x.test" }))
        .await
        .data();
    let (key, second) = (made["api_key"].as_str().expect("a key").to_owned(), id(&made).to_owned());
    let invite = json!({ "email": "mara@x.test", "role": "member" });
    let link = server.call_as(&key, Method::POST, "/invitations", Some(&invite)).await.data();
    let wrong =
        Browser::default().follow(&server, &link, &json!({ "password": "not my password" })).await;
    assert_eq!(
        (wrong.refusal(), &wrong.json["details"]["field"]),
        ((422, "invalid_field"), &json!("password"))
    );
    let not_mine =
        browser.call(&server, Method::PUT, "/session", Some(&json!({ "org_id": second }))).await;
    assert_eq!(not_mine.refusal(), (404, "not_found"));
    let joined =
        Browser::default().follow(&server, &link, &json!({ "password": PASSWORD })).await.data();
    assert_eq!((&joined["org"]["id"], &joined["role"]), (&json!(second), &json!("member")));
    let orgs = browser.get(&server, "/session").await.data()["orgs"].clone();
    assert_eq!(
        orgs.as_array().map(|orgs| orgs.iter().map(|o| o["role"].clone()).collect::<Vec<_>>()),
        Some(vec![json!("owner"), json!("member")])
    );
    let switched = browser
        .call(&server, Method::PUT, "/session", Some(&json!({ "org_id": second })))
        .await
        .data();
    assert_eq!(
        (&switched["scopes"], &browser.get(&server, "/users/me").await.data()["orgs"][0]["id"]),
        (&json!(["deploy"]), &json!(second))
    );
    // The second organization's key opens no other: no link for somebody who belongs elsewhere too.
    let reset = server
        .call_as(&key, Method::POST, "/setup_links", Some(&json!({ "email": "mara@x.test" })))
        .await;
    assert_eq!(reset.refusal(), (403, "forbidden"));
}

#[tokio::test]
async fn a_key_says_what_it_may_do_and_has_no_sessions() {
    let server = Server::shared().await;
    let session = server.get("/session").await.data();
    assert_eq!(
        (&session["id"], &session["role"], &session["orgs"][0]["role"]),
        (&json!(null), &json!("owner"), &json!("owner"))
    );
    assert_eq!(server.get("/sessions").await.refusal(), (403, "forbidden"));
    assert_eq!(server.delete("/session").await.refusal(), (403, "forbidden"));
}

#[tokio::test]
async fn the_application_is_at_its_addresses_under_a_policy_and_its_files_never_change() {
    let server = Server::shared().await;
    let page = async |path: &str, accept: &str| {
        let response =
            server.raw(Method::GET, path).header("accept", accept).send().await.expect("an answer");
        (
            response.status().as_u16(),
            response.headers().clone(),
            response.text().await.expect("a body"),
        )
    };
    let mut nonces = Vec::new();
    for (path, status) in [
        ("/", 200),
        ("/runs/run_1", 200),
        ("/sources", 200),
        ("/login", 200),
        ("/setup/x", 200),
        ("/no/such/page", 404),
    ] {
        let (got, headers, text) = page(path, "text/html,*/*;q=0.8").await;
        assert_eq!(
            (got, headers["cache-control"].to_str().ok()),
            (status, Some("no-store")),
            "{path}"
        );
        assert!(text.contains("id=\"root\"") && !text.contains("{nonce}"), "{path}: {text}");
        let policy = headers["content-security-policy"].to_str().expect("text").to_owned();
        let host = server.url.trim_start_matches("http://");
        for part in [
            "default-src 'none'",
            &format!("script-src {host}/assets/;"),
            "connect-src 'self'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
        ] {
            assert!(policy.contains(part), "{part}: {policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        nonces.push(
            policy
                .split("nonce-")
                .nth(1)
                .and_then(|rest| rest.split('\'').next())
                .expect("a nonce")
                .to_owned(),
        );
        assert!(text.contains(&nonces[nonces.len() - 1]));
    }
    nonces.dedup();
    assert_eq!(nonces.len(), 6, "each page has a nonce of its own");
    let (status, headers, _) = page("/no/such/page", "application/json").await;
    assert_eq!((status, headers["content-type"].to_str().ok()), (404, Some("application/json")));
    assert_eq!(page("/v1/nothing", "text/html").await.1["content-type"], "application/json");

    let (_, _, text) = page("/", "text/html").await;
    let files: Vec<&str> =
        text.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let sheet =
        (*files.iter().find(|file| file.ends_with(".css")).expect("a style sheet")).to_owned();
    let script = text
        .split("src=\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .find(|file| file.contains("/shell-"))
        .expect("a script")
        .to_owned();
    assert_eq!(page(&sheet, "*/*").await.1["content-type"], "text/css; charset=utf-8");
    let plain = server.raw(Method::GET, &script).send().await.expect("an answer");
    assert_eq!(plain.headers()["cache-control"], "public, max-age=31536000, immutable");
    assert_eq!(plain.headers()["content-type"], "text/javascript; charset=utf-8");
    let plain = plain.bytes().await.expect("a body").len();
    let packed = server
        .raw(Method::GET, &script)
        .header("accept-encoding", "br")
        .send()
        .await
        .expect("an answer");
    assert_eq!(
        (&packed.headers()["content-encoding"], &packed.headers()["vary"]),
        (&"br".parse().expect("a value"), &"accept-encoding".parse().expect("a value"))
    );
    assert!(packed.bytes().await.expect("a body").len() < plain / 2);
    // The client unpacks it.
    assert_eq!(page(&script, "*/*").await.2.len(), plain);
    assert_eq!(page("/assets/none.js", "text/html").await.0, 404);
}

/// The link in a mail, as an answer shows one.
fn link_in(mail: &str, page: &str) -> serde_json::Value {
    let token = mail
        .split(page)
        .nth(1)
        .map(|rest| rest.chars().take_while(char::is_ascii_alphanumeric).collect::<String>());
    json!({ "url": format!("{page}{}", token.unwrap_or_else(|| panic!("no {page} in {mail}"))) })
}

#[tokio::test]
async fn links_are_mailed_where_there_is_a_mail_server_and_the_outbox_shows_none() {
    let smtp = MailServer::start().await;
    let server = Server::start_with(&["--smtp-url", &smtp.url]).await;
    let mut owner = Browser::first_owner(&server, "mara@x.test").await;
    let invited = owner
        .call(
            &server,
            Method::POST,
            "/invitations",
            Some(&json!({ "email": "jo@x.test", "role": "viewer" })),
        )
        .await
        .data();
    assert_eq!(invited["mailed"], true);
    let mails = smtp.until(1).await;
    assert!(
        mails[0].contains("jo@x.test")
            && mails[0].contains("Mara invites you")
            && mails[0].contains("Subject: Join "),
        "{mails:?}"
    );
    let mut jo = Browser::default();
    assert_eq!(
        jo.follow(&server, &link_in(&mails[0], "/invite/"), &json!({ "password": PASSWORD }))
            .await
            .data()["role"],
        "viewer"
    );
    // A link that an owner makes for another, and one that a person asks for who forgot the
    // password.
    assert_eq!(
        server.post("/setup_links", &json!({ "email": "jo@x.test" })).await.data()["mailed"],
        true
    );
    let mails = smtp.until(2).await;
    jo.follow(
        &server,
        &link_in(&mails[1], "/setup/"),
        &json!({ "password": "another wheel in it" }),
    )
    .await
    .data();
    let ask = json!({ "email": " MARA@x.test" });
    let asked = Browser::default().call(&server, Method::POST, "/links", Some(&ask)).await;
    assert_eq!((asked.status, &asked.json["data"]), (202, &json!({ "asked": true })));
    let mails = smtp.until(3).await;
    let reset = link_in(&mails[2], "/setup/");
    let mut mara = Browser::default();
    let about = mara
        .call(&server, Method::POST, "/links/open", Some(&json!({ "token": token(&reset) })))
        .await
        .data();
    assert_eq!((&about["kind"], &about["email"]), (&json!("reset"), &json!("mara@x.test")));
    // Asked again, and for nobody: nothing more is mailed.
    for email in ["mara@x.test", "nobody@x.test"] {
        assert_eq!(
            Browser::default()
                .call(&server, Method::POST, "/links", Some(&json!({ "email": email })))
                .await
                .status,
            202
        );
    }
    mara.follow(&server, &reset, &json!({ "password": "a third wheel in it" })).await.data();
    assert_eq!(
        owner.get(&server, "/session").await.status,
        401,
        "another password ends all sessions"
    );
    // A viewer reads the outbox, and finds no link in it to become an owner by.
    let outbox = jo.get(&server, "/mail").await;
    assert_eq!(outbox.json["page_info"]["total_count"], 3, "{}", outbox.text);
    assert!(
        !outbox.text.contains("/setup/")
            && !outbox.text.contains("/invite/")
            && outbox.text.contains("only the recipient"),
        "{}",
        outbox.text
    );
}

#[tokio::test]
async fn without_a_mail_server_links_are_handed_over_by_whoever_makes_them() {
    let server = Server::start().await;
    let mut owner = Browser::first_owner(&server, "mara@x.test").await;
    let invited = owner
        .call(
            &server,
            Method::POST,
            "/invitations",
            Some(&json!({ "email": "jo@x.test", "role": "viewer" })),
        )
        .await
        .data();
    assert_eq!(invited["mailed"], false);
    for email in ["mara@x.test", "nobody@x.test"] {
        let refused = Browser::default()
            .call(&server, Method::POST, "/links", Some(&json!({ "email": email })))
            .await;
        assert_eq!(refused.refusal(), (409, "no_mail_server"));
        assert!(
            refused.json["error"]
                .as_str()
                .is_some_and(|words| words.contains("millrace setup-link")),
            "{}",
            refused.text
        );
    }
    assert_eq!(server.get("/mail").await.json["page_info"]["total_count"], 0);
}
