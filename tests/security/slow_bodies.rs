//! Requests whose bodies come slowly, and whose senders lose their rights meanwhile: nothing is
//! done with a key, role or session that has ended before the body is whole.

use millrace_tests::browser::{Browser, PASSWORD};
use millrace_tests::{Client, Server, id};
use reqwest::Method;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// A request that was let in, and whose body is to come.
struct Held {
    stream: TcpStream,
    body: Vec<u8>,
}

impl Held {
    /// `head`: the lines of whose request it is.
    async fn begin(server: &Client, line: &str, head: &str, body: &[u8]) -> Self {
        let address = server.url.trim_start_matches("http://");
        let mut stream = TcpStream::connect(address).await.expect("connects");
        let request = format!(
            "{line} HTTP/1.1\r\nhost: {address}\r\n{head}expect: 100-continue\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            body.len()
        );
        stream.write_all(request.as_bytes()).await.expect("is taken");
        // The server asks for a body once it has let the request in.
        let mut said = [0; 25];
        stream.read_exact(&mut said).await.expect("an interim answer");
        assert_eq!(String::from_utf8_lossy(&said), "HTTP/1.1 100 Continue\r\n\r\n", "{line}");
        Self { stream, body: body.to_vec() }
    }

    /// The status of its answer, once its body is sent.
    async fn end(mut self) -> u16 {
        self.stream.write_all(&self.body).await.expect("is taken");
        let mut answer = String::new();
        self.stream.read_to_string(&mut answer).await.expect("an answer");
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
        status.unwrap_or_else(|| panic!("no status: {answer}"))
    }
}

fn bearer(key: &str) -> String {
    format!("authorization: Bearer {key}\r\n")
}

#[tokio::test]
async fn a_body_that_ends_after_its_key_changes_nothing() {
    let server = Server::start().await;
    let workflow = json!({ "triggers": [{ "type": "http" }], "steps": [] }).to_string();
    let changes: [(&str, &[u8]); 7] = [
        ("POST /v1/api_keys", br#"{ "name": "planted", "scopes": ["full"] }"#),
        ("POST /v1/oauth/clients", br#"{ "name": "planted", "scopes": ["full"] }"#),
        ("POST /v1/invitations", br#"{ "email": "evil@x.test", "role": "owner" }"#),
        ("POST /v1/setup_links", br#"{ "email": "owner@localhost" }"#),
        ("POST /v1/workflows", workflow.as_bytes()),
        ("PUT /v1/file_stores/planted/files?path=a", b"content"),
        ("POST /v1/registries?name=planted", b"no archive"),
    ];
    for (line, body) in changes {
        let key = server.post("/api_keys", &json!({ "name": "k", "scopes": ["full"] })).await;
        let key = key.data();
        let shown = bearer(key["key"].as_str().expect("a key"));
        let held = Held::begin(&server, line, &shown, body).await;
        assert_eq!(server.delete(&format!("/api_keys/{}", id(&key))).await.status, 200);
        assert_eq!(held.end().await, 401, "{line}");
    }
    for path in ["/api_keys", "/oauth/clients", "/invitations", "/file_stores", "/registries"] {
        let list = server.get(path).await.text;
        assert!(!list.contains("planted") && !list.contains("evil@x.test"), "{path}: {list}");
    }
    assert_eq!(server.get("/workflows").await.json["page_info"]["total_count"], 0);
}

#[tokio::test]
async fn a_body_that_ends_after_its_session_or_role_changes_nothing() {
    let server = Server::start().await;
    let mut browser = Browser::first_owner(&server, "mara@x.test").await;
    let cookie = browser.cookie.clone().expect("a cookie");
    let shown =
        format!("cookie: {cookie}\r\nx-millrace-csrf: 1\r\nsec-fetch-site: same-origin\r\n");
    let store = br#"{ "name": "planted" }"#;
    let held = Held::begin(&server, "POST /v1/data_stores", &shown, store).await;
    browser.call(&server, Method::DELETE, "/session", None).await.data();
    assert_eq!(held.end().await, 401);
    // A person who may do less by now.
    let invited = json!({ "email": "ben@x.test", "role": "member" });
    let link = server.post("/invitations", &invited).await.data();
    let mut member = Browser::default();
    let with = json!({ "name": "Ben", "email": "ben@x.test", "password": PASSWORD });
    member.follow(&server, &link, &with).await.data();
    let cookie = member.cookie.clone().expect("a cookie");
    let shown =
        format!("cookie: {cookie}\r\nx-millrace-csrf: 1\r\nsec-fetch-site: same-origin\r\n");
    let held = Held::begin(&server, "POST /v1/data_stores", &shown, store).await;
    let members = server.get("/members").await.data();
    let ben = members.as_array().into_iter().flatten().find(|m| m["email"] == "ben@x.test");
    let path = format!("/members/{}", id(ben.expect("a member")));
    server.put(&path, &json!({ "role": "viewer" })).await.data();
    assert_eq!(held.end().await, 403);
    assert_eq!(server.get("/data_stores").await.json["page_info"]["total_count"], 0);
}
