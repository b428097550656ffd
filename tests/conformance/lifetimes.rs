//! Lifetimes of sessions and links, on a server whose clock stands still until the test moves it.

use millrace_tests::browser::{Browser, PASSWORD, token};
use millrace_tests::smtp::MailServer;
use millrace_tests::{Answer, Client, Server};
use reqwest::Method;
use serde_json::{Value, json};

const NOON: i64 = 1_767_182_400_000;
const HOUR: i64 = 3_600_000;
const DAY: i64 = 24 * HOUR;

async fn status(browser: &mut Browser, server: &Client) -> u16 {
    browser.get(server, "/session").await.status
}

async fn opened(server: &Client, link: &Value) -> Answer {
    let body = json!({ "token": token(link) });
    Browser::default().call(server, Method::POST, "/links/open", Some(&body)).await
}

/// A link that was made at noon is good until its last millisecond, and not used after.
async fn works_for(server: &Server, link: &Value, kind: &str, ms: i64) {
    server.set_clock(NOON + ms - 1);
    assert_eq!(opened(server, link).await.data()["kind"], kind);
    server.set_clock(NOON + ms);
    assert_eq!(opened(server, link).await.refusal(), (410, "gone"), "{kind}");
    let used = json!({ "email": "late@x.test", "password": "another wheel in it" });
    let used = Browser::default().follow(server, link, &used).await;
    assert_eq!(used.refusal(), (410, "gone"), "{kind}");
}

#[tokio::test]
async fn a_session_that_is_not_used_ends_after_14_days() {
    let server = Server::start_at(NOON, &[]).await;
    let mut used = Browser::first_owner(&server, "mara@x.test").await;
    let mut idle = Browser::default();
    idle.sign_in(&server, "mara@x.test", PASSWORD).await.data();
    let mut later = idle.clone();
    server.set_clock(NOON + 13 * DAY);
    assert_eq!(status(&mut used, &server).await, 200);
    server.set_clock(NOON + 14 * DAY - 1);
    assert_eq!(
        used.get(&server, "/sessions").await.json["page_info"]["total_count"],
        2,
        "both may be used still"
    );
    server.set_clock(NOON + 14 * DAY);
    assert_eq!((status(&mut idle, &server).await, status(&mut used, &server).await), (401, 200));
    assert_eq!(used.get(&server, "/sessions").await.json["page_info"]["total_count"], 1);
    // It does not come back by being asked for.
    assert_eq!(status(&mut later, &server).await, 401);
    // The other had its last use on the fourteenth day, which is written down within minutes.
    server.set_clock(NOON + 28 * DAY - 11 * 60_000);
    assert_eq!(status(&mut used, &server).await, 200);
    server.set_clock(NOON + 42 * DAY - 1);
    assert_eq!(status(&mut used, &server).await, 401);
}

#[tokio::test]
async fn a_session_ends_after_90_days_however_much_it_is_used() {
    let server = Server::start_at(NOON, &[]).await;
    let mut browser = Browser::first_owner(&server, "mara@x.test").await;
    for day in (10..90).step_by(10) {
        server.set_clock(NOON + day * DAY);
        assert_eq!(status(&mut browser, &server).await, 200, "day {day}");
    }
    server.set_clock(NOON + 90 * DAY - 1);
    assert_eq!(status(&mut browser, &server).await, 200);
    server.set_clock(NOON + 90 * DAY);
    assert_eq!(status(&mut browser, &server).await, 401);
    let mut again = Browser::default();
    again.sign_in(&server, "mara@x.test", PASSWORD).await.data();
    assert_eq!(status(&mut again, &server).await, 200);
}

#[tokio::test]
async fn links_work_for_a_day_a_week_or_an_hour_by_what_they_are_for() {
    let smtp = MailServer::start().await;
    let server = Server::start_at(NOON, &["--smtp-url", &smtp.url]).await;
    let mut mara = Browser::first_owner(&server, "mara@x.test").await;
    let invite = json!({ "email": "jo@x.test", "role": "viewer" });
    let invited = server.post("/invitations", &invite).await.data();
    let ask = json!({ "email": "mara@x.test" });
    let asked = Browser::default().call(&server, Method::POST, "/links", Some(&ask)).await;
    assert_eq!(asked.status, 202, "{}", asked.text);
    let mails = smtp.until(2).await;
    let mail = mails.iter().find(|mail| mail.contains("/setup/")).expect("a link");
    let token: String = mail
        .split("/setup/")
        .skip(1)
        .flat_map(|rest| rest.chars().take_while(char::is_ascii_alphanumeric))
        .collect();
    let mailed = json!({ "url": format!("/setup/{token}") });
    works_for(&server, &mailed, "reset", HOUR).await;
    works_for(&server, &invited, "invitation", 7 * DAY).await;
    assert_eq!(server.get("/invitations").await.json["page_info"]["total_count"], 0);
    // One that an owner makes for a member.
    server.set_clock(NOON);
    let made = server.post("/setup_links", &ask).await.data();
    works_for(&server, &made, "reset", DAY).await;
    assert_eq!(status(&mut mara, &server).await, 200, "none of them was used");
}

#[tokio::test]
async fn the_link_for_the_first_visit_works_for_a_day() {
    let server = Server::start_at(NOON, &[]).await;
    let visit = server.post("/setup_links", &json!({})).await.data();
    works_for(&server, &visit, "setup", DAY).await;
}

/// `null` as the end of a key is what it is where none is named: never. What is no time is refused,
/// and gives no key that works for ever.
#[tokio::test]
async fn a_key_without_an_end_works_for_ever_and_one_whose_end_is_no_time_is_not_made() {
    let server = Server::start_at(NOON, &[]).await;
    let new = |end: Value| json!({ "name": "n", "scopes": ["read"], "expires_at": end });
    let mut keys = Vec::new();
    for body in [new(Value::Null), json!({ "name": "n", "scopes": ["read"] })] {
        let made = server.post("/api_keys", &body).await.data();
        assert_eq!(made["expires_at"], Value::Null, "{made}");
        keys.push(made["key"].as_str().expect("a key").to_owned());
    }
    for wrong in [json!(""), json!(false), json!([]), json!(0)] {
        let refused = server.post("/api_keys", &new(wrong.clone())).await;
        assert_eq!(
            (refused.status, &refused.json["details"]["field"]),
            (422, &json!("expires_at")),
            "{wrong}: {}",
            refused.text
        );
    }
    server.set_clock(NOON + 100 * 366 * DAY);
    for key in keys {
        let me = server.raw(Method::GET, "/v1/users/me").bearer_auth(key);
        assert_eq!(millrace_tests::answer(me).await.status, 200);
    }
}
