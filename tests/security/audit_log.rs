//! Audit log, held against every route of `docs/reference/scopes.md`: each change and each look at
//! credentials leaves a record, whatever the things are named and however the query is encoded.

use millrace_tests::{Answer, Server, answer, id};
use reqwest::Method;
use serde_json::{Value, json};

use crate::roles::{asked, in_order, rows};
use crate::scopes::{Laid, Row};

/// How a query may ask for credentials: form decoding makes the same of all.
const SPELLINGS: [&str; 5] = [
    "include_credentials=true",
    "include%5Fcredentials=1",
    "%69nclude_credentials=1",
    "include_credential%73=tru%65",
    "limit=1&include_credentials=1",
];

/// The newest record.
async fn newest(server: &Server) -> Value {
    server.get("/audit?limit=1").await.json["data"][0].clone()
}

async fn ask(server: &Server, row: &Row, path: &str, body: &Value) -> Answer {
    let body = (!body.is_null()).then_some(body);
    server.call_as(&server.api_key, row.method.clone(), path, body).await
}

fn action(row: &Row) -> String {
    format!("{} {}", row.method, row.path.trim_start_matches("/v1"))
}

/// Whether a request of a route changes something where it succeeds.
fn changes(row: &Row) -> bool {
    let asks = ["/configure", "/props"].iter().any(|end| row.path.ends_with(end));
    row.method != Method::GET && !(row.method == Method::POST && asks)
}

#[tokio::test]
async fn each_change_leaves_a_record_with_its_target_and_nothing_else_leaves_one() {
    let server = Server::start().await;
    let laid = Laid::of(&server).await;
    let (mut problems, mut recorded, mut looked) = (Vec::new(), 0, 0);
    for row in in_order(rows()) {
        // Those of people need a session, and those without a key have no caller.
        if row.scope == "none" || row.path.starts_with("/v1/session") || row.is_stream() {
            continue;
        }
        let (path, body) = asked(&laid, &row);
        let before = newest(&server).await;
        if row.method == Method::GET {
            let head = server.raw(Method::HEAD, &format!("/v1{path}"));
            answer(head.bearer_auth(&server.api_key)).await;
        }
        let got = ask(&server, &row, &path, &body).await;
        let after = newest(&server).await;
        let is_new = after["id"] != before["id"];
        if !changes(&row) || !(200..300).contains(&got.status) {
            looked += 1;
            if is_new {
                problems.push(format!("{}: {} left {after}", action(&row), got.status));
            }
            continue;
        }
        recorded += 1;
        let target = match row.path.as_str() {
            template if template.contains("/{id}") => {
                let at = template.split('/').position(|part| part == "{id}").expect("an id");
                let whole = format!("/v1{path}");
                whole.split(['/', '?']).nth(at).map(|id| json!(id))
            }
            // Of a record that was made its id.
            template if !template.replace("{project}", "").contains('{') => {
                got.json["data"]["id"].as_str().map(|id| json!(id))
            }
            _ => None,
        };
        let is_right = is_new
            && after["action"] == action(&row).as_str()
            && after["done"] == true
            && target.is_none_or(|target| after["target"] == target);
        if !is_right {
            problems.push(format!("{}: {} left {after}", action(&row), got.text));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(recorded > 60 && looked > 60, "{recorded} changes, {looked} others");
}

#[tokio::test]
async fn each_look_at_credentials_leaves_a_record_however_its_query_is_encoded() {
    let server = Server::start().await;
    let laid = Laid::of(&server).await;
    let mut looked = 0;
    for row in rows().iter().filter(|row| row.reaches["credentials"] == "shows to `full`") {
        let path = laid.path(&row.path);
        let path = path.trim_start_matches("/v1");
        for spelling in SPELLINGS {
            let before = newest(&server).await;
            let got = server.get(&format!("{path}?{spelling}")).await;
            if got.status == 422 && spelling.starts_with("limit") {
                continue;
            }
            assert!(got.text.contains("canary-credential"), "{path}?{spelling}: {}", got.text);
            let after = newest(&server).await;
            assert_ne!(before["id"], after["id"], "{path}?{spelling} left no record");
            assert_eq!(
                (&after["action"], &after["fields"]),
                (&json!(action(row)), &json!(["include_credentials"])),
                "{path}?{spelling}"
            );
            looked += 1;
        }
        let before = newest(&server).await;
        for spelling in ["include_credentials=0", "include%5Fcredentials=false"] {
            let got = server.get(&format!("{path}?{spelling}")).await;
            assert!(!got.text.contains("canary-credential"), "{path}?{spelling}: {}", got.text);
            let head = server.raw(Method::HEAD, &format!("/v1{path}?include_credentials=1"));
            answer(head.bearer_auth(&server.api_key)).await;
            assert_eq!(before["id"], newest(&server).await["id"], "{path}?{spelling}");
        }
    }
    assert!(looked >= 5 * SPELLINGS.len() - 5, "{looked}");
}

#[tokio::test]
async fn a_change_of_a_thing_that_is_named_as_a_route_leaves_a_record() {
    let server = Server::start().await;
    for (name, decoded) in [
        ("props", "props"),
        ("configure", "configure"),
        ("audit", "audit"),
        ("p%72ops-2", "props-2"),
        ("%70rops%32", "props2"),
        ("a%20props", "a props"),
    ] {
        let stored = format!("/data_stores/{name}");
        let mut steps = vec![
            (Method::POST, "/data_stores".to_owned(), json!({ "name": decoded }), "/data_stores"),
            (Method::PUT, stored.clone(), json!({ "name": decoded }), "/data_stores/{id}"),
            (
                Method::PUT,
                format!("{stored}/record"),
                json!({ "key": "props", "value": 1 }),
                "/data_stores/{id}/record",
            ),
            (Method::DELETE, stored, Value::Null, "/data_stores/{id}"),
        ];
        if !decoded.contains(' ') {
            let app = format!("/apps/{name}");
            steps.push((Method::POST, "/apps".into(), json!({ "name_slug": decoded }), "/apps"));
            steps.push((Method::PUT, app, json!({ "description": "d" }), "/apps/{id}"));
        }
        for (method, path, body, template) in steps {
            let body = (!body.is_null()).then_some(&body);
            let before = newest(&server).await;
            let got = server.call_as(&server.api_key, method.clone(), &path, body).await;
            assert_eq!(got.status, 200, "{method} {path}: {}", got.text);
            let after = newest(&server).await;
            assert_ne!(before["id"], after["id"], "{method} {path} left no record");
            let target = if path.starts_with(&format!("{}/", template.split("/{").next().unwrap()))
            {
                json!(decoded)
            } else {
                json!(id(&got.data()))
            };
            assert_eq!(
                (&after["action"], &after["target"]),
                (&json!(format!("{method} {template}")), &target),
                "{method} {path}"
            );
        }
    }
}
