//! Table of `docs/reference/scopes.md`, held against sessions of people: each role where it may,
//! nobody, a page of another site, and a person of another organization.

use std::collections::BTreeSet;

use millrace_tests::browser::{Browser, PASSWORD};
use millrace_tests::{Answer, Server, answer};
use reqwest::Method;
use serde_json::{Value, json};

use crate::scopes::{Laid, Row, table, taken};

/// Rows of the table that people's sessions are for.
pub(crate) fn rows() -> Vec<Row> {
    table().into_iter().filter(|row| row.path.starts_with("/v1/")).collect()
}

/// What is asked of a row's things, below `/v1`.
pub(crate) fn asked(laid: &Laid, row: &Row) -> (String, Value) {
    let (path, body) = if row.method == Method::GET {
        let query = match row.path.as_str() {
            "/v1/data_stores/{id}/record" => "?key=canary-named",
            "/v1/file_stores/{name}/files/content" => "?path=canary-named",
            "/v1/components/search" => "?query=acts",
            "/v1/schedules/next" => "?interval_seconds=60",
            "/v1/search" => "?q=canary-history",
            "/v1/stream" => "?topics=runs",
            _ => "",
        };
        (format!("{}{query}", laid.path(&row.path)), Value::Null)
    } else if row.path == "/v1/apps/{id}/events" {
        (laid.path(&row.path), json!({ "event_name": "any", "event": 1 }))
    } else {
        taken(laid, row, "")
    };
    (path.trim_start_matches("/v1").to_owned(), body)
}

/// Status and code of an answer, of a stream without its frames, which do not end.
async fn refusal(
    browser: &Browser,
    server: &Server,
    row: &Row,
    (path, body): &(String, Value),
    headers: &[(&str, &str)],
) -> Answer {
    let mut request = server.raw(row.method.clone(), &format!("/v1{path}"));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    if let Some(cookie) = &browser.cookie {
        request = request.header("cookie", cookie);
    }
    if !body.is_null() {
        request = request.json(body);
    }
    if !row.is_stream() {
        return answer(request).await;
    }
    let response = request.send().await.expect("an answer");
    let status = response.status().as_u16();
    if status == 200 {
        return Answer { status, json: Value::Null, text: String::new() };
    }
    let text = response.text().await.expect("a body");
    Answer { status, json: serde_json::from_str(&text).unwrap_or(Value::Null), text }
}

const OWN_PAGE: [(&str, &str); 2] = [("x-millrace-csrf", "1"), ("sec-fetch-site", "same-origin")];

fn may(role: &str, scope: &str) -> bool {
    match role {
        "owner" => true,
        "member" => scope != "full",
        _ => matches!(scope, "none" | "any" | "read"),
    }
}

/// First what shows, then what changes, last what deletes: parts before what they are of.
pub(crate) fn in_order(mut rows: Vec<Row>) -> Vec<Row> {
    rows.sort_by_key(|row| match row.method.as_str() {
        "GET" => 0,
        "DELETE" if row.path.ends_with("/{id}") => 3,
        "DELETE" => 2,
        _ => 1,
    });
    rows
}

async fn of_role(server: &Server, role: &str) -> Browser {
    let email = format!("{role}@x.test");
    if role == "owner" {
        return Browser::first_owner(server, &email).await;
    }
    let link = server.post("/invitations", &json!({ "email": email, "role": role })).await.data();
    let mut browser = Browser::default();
    browser.follow(server, &link, &json!({ "password": PASSWORD })).await.data();
    browser
}

#[tokio::test]
async fn each_role_may_where_the_table_says_so_and_a_session_of_none_may_nowhere() {
    for role in ["owner", "member", "viewer"] {
        let server = Server::start().await;
        let laid = Laid::of(&server).await;
        let browser = of_role(&server, role).await;
        let (mut problems, mut allowed) = (Vec::new(), 0);
        for row in in_order(rows()) {
            // They end or change the session that asks: `sign_in.rs`, `people.rs`.
            if row.scope == "none" || row.path.starts_with("/v1/session") {
                continue;
            }
            let asked = asked(&laid, &row);
            let nobody = refusal(&Browser::default(), &server, &row, &asked, &OWN_PAGE).await;
            if nobody.refusal() != (401, "unauthorized") {
                problems.push(format!("nobody: {} {}: {}", row.method, row.path, nobody.text));
            }
            let got = refusal(&browser, &server, &row, &asked, &OWN_PAGE).await;
            let is_right = match (may(role, &row.scope), row.method.as_str()) {
                (false, _) => got.refusal() == (403, "scope_missing"),
                (true, "GET") => got.status == 200,
                // What an earlier row deleted is not there; what is as it is asked to be conflicts.
                (true, _) => matches!(got.status, 200..=299 | 404 | 409 | 422),
            };
            if !is_right {
                problems.push(format!("{} {}: {} {}", row.method, row.path, got.status, got.text));
            }
            allowed += usize::from(may(role, &row.scope) && (200..300).contains(&got.status));
        }
        assert!(problems.is_empty(), "{role}: {}", problems.join("\n"));
        let least = [("owner", 140), ("member", 100), ("viewer", 50)];
        let least = least.iter().find(|(of, _)| *of == role).expect("a role").1;
        assert!(allowed >= least, "{role}: {allowed} requests were allowed");
    }
}

/// Where a page of another site makes a browser ask, with an owner's cookie.
#[tokio::test]
async fn no_route_takes_a_session_s_cookie_from_a_page_of_another_site() {
    let server = Server::start().await;
    let laid = Laid::of(&server).await;
    let owner = of_role(&server, "owner").await;
    let audit = server.get("/audit?limit=100").await.text;
    let (mut problems, mut refused) = (Vec::new(), 0);
    // OAuth clients show their own secret or token there, and no cookie.
    let by_secret =
        |row: &Row| ["/v1/oauth/token", "/v1/oauth/revoke"].contains(&row.path.as_str());
    for row in rows() {
        if row.scope == "none" && (row.method == Method::GET || by_secret(&row)) {
            continue;
        }
        let asked = asked(&laid, &row);
        let cross = [("sec-fetch-site", "cross-site"), ("x-millrace-csrf", "1")];
        let bare = [("sec-fetch-site", "cross-site")];
        let origin = [("origin", "https://evil.example"), ("x-millrace-csrf", "1")];
        let without = [("sec-fetch-site", "same-origin")];
        let ways: &[(&[(&str, &str)], &str)] = if row.method == Method::GET {
            &[(&cross, "foreign_page"), (&bare, "foreign_page")]
        } else {
            &[
                (&cross, "foreign_page"),
                (&bare, "foreign_page"),
                (&origin, "foreign_page"),
                (&without, "csrf_header_missing"),
            ]
        };
        for (headers, code) in ways {
            let got = refusal(&owner, &server, &row, &asked, headers).await;
            if got.refusal() != (403, code) {
                let (method, path) = (&row.method, &row.path);
                problems.push(format!("{method} {path} {headers:?}: {} {}", got.status, got.text));
            }
            refused += 1;
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(refused > 600, "{refused}");
    assert_eq!(server.get("/audit?limit=100").await.text, audit, "something changed");
}

/// Every record's address, with its id, asked for by an owner of another organization.
#[tokio::test]
async fn an_owner_of_another_organization_finds_nothing_by_an_id_of_this_one() {
    let server = Server::start().await;
    let laid = Laid::of(&server).await;
    let other = server.another_organization("other").await;
    let stranger = Browser::first_owner(&other, "sam@x.test").await;
    let audit = server.get("/audit?limit=100").await.text;
    // Names, which each organization has its own of, and what is made where it is not there.
    let named: BTreeSet<&str> = BTreeSet::from(["/v1/file_stores/{name}/files"]);
    let (mut problems, mut asked_of) = (Vec::new(), 0);
    for row in in_order(rows()) {
        if !row.path.contains('{') || named.contains(row.path.as_str()) {
            continue;
        }
        let asked = asked(&laid, &row);
        let got = refusal(&stranger, &server, &row, &asked, &OWN_PAGE).await;
        if got.status != 404 {
            problems.push(format!("{} {}: {} {}", row.method, asked.0, got.status, got.text));
        }
        asked_of += 1;
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(asked_of > 120, "{asked_of}");
    assert_eq!(server.get("/audit?limit=100").await.text, audit, "something changed");
}
