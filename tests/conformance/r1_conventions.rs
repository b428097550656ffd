//! Bad input: each with a clear 4xx, and nothing stored.

use millrace_tests::{Client, Server, answer, endpoint};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::r2_endpoints::keys::declared;

const SOURCE: &str = "export default { name: 's', version: '1', props: { http: '$.interface.http', n: { type: 'integer', optional: true }, text: { type: 'string', optional: true }, timer: { type: '$.interface.timer', default: { intervalSeconds: 900 } } }, run() {} };";

#[tokio::test]
async fn r1_3_requests_that_cannot_be() {
    let server = Server::shared().await;
    let malformed = answer(
        server
            .raw(Method::POST, "/v1/sources")
            .bearer_auth(&server.api_key)
            .header("content-type", "application/json")
            .body("{oops"),
    )
    .await;
    assert_eq!(malformed.refusal(), (400, "malformed_json"));
    assert_eq!(
        answer(server.raw(Method::GET, "/v1/users/me")).await.refusal(),
        (401, "unauthorized")
    );
    assert_eq!(
        answer(server.raw(Method::GET, "/v1/users/me").bearer_auth("wrong")).await.refusal(),
        (401, "unauthorized")
    );
    assert_eq!(server.get("/nothing/here").await.refusal(), (404, "no_such_route"));
    assert_eq!(server.put("/users/me", &json!({})).await.refusal(), (405, "method_not_allowed"));
    assert_eq!(server.get("/users/me/sources?limit=0").await.refusal(), (422, "invalid_field"));
    assert_eq!(server.post("/sources", &json!({})).await.refusal(), (422, "missing_field"));
    assert_eq!(
        server.post("/subscriptions", &json!({ "emitter_id": server.org_id })).await.refusal(),
        (422, "missing_field")
    );
    assert_eq!(
        server
            .post("/workflows", &json!({ "triggers": [{ "type": "carrier pigeon" }] }))
            .await
            .refusal(),
        (422, "invalid_field")
    );
    for path in [
        "/sources/dc_nothere",
        "/workflows/p_nothere",
        "/runs/run_nothere",
        "/components/sc_nothere",
        "/sources/p_wrong",
        "/workflows/../../etc",
    ] {
        assert_eq!(server.get(path).await.status, 404, "{path}");
    }
    let source = server.source(SOURCE, json!({})).await;
    let large =
        answer(server.raw(Method::POST, &endpoint(&source)).body(vec![b'x'; 513 * 1024])).await;
    assert_eq!(large.refusal(), (413, "too_large"));
    assert_eq!(answer(server.raw(Method::POST, "/e/ennothing")).await.status, 404);
}

/// The answer that a client gets that sends everything before it reads.
async fn answer_after_all_is_sent(server: &Client, path: &str, key: &str, bytes: usize) -> String {
    let address = server.url.trim_start_matches("http://");
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {key}\r\nconnection: close\r\ncontent-length: {bytes}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.expect("a head is taken");
    stream.write_all(&vec![b' '; bytes]).await.expect("a body is taken");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("an answer is there to be read");
    answer
}

#[tokio::test]
async fn r1_3_a_client_that_sends_all_before_it_reads_is_told_why_it_is_refused() {
    let server = Server::shared().await;
    let source = server.source(SOURCE, json!({})).await;
    let path = endpoint(&source).trim_start_matches(server.url.as_str()).to_owned();
    for (path, key, status) in [
        ("/v1/components", server.api_key.as_str(), "413"),
        (path.as_str(), "", "413"),
        ("/v1/components", "wrong", "401"),
        ("/e/ennothing", "", "404"),
        ("/v1/nothing/here", "", "404"),
    ] {
        // Also as much as a body with files may have.
        for bytes in [20 << 20, 90 << 20] {
            let answer = answer_after_all_is_sent(&server, path, key, bytes).await;
            assert!(
                answer.starts_with(&format!("HTTP/1.1 {status} ")) && answer.contains("\"code\":"),
                "{path}: {answer}"
            );
        }
    }
    // One that asks before it sends is told before it sends.
    let mut stream =
        TcpStream::connect(server.url.trim_start_matches("http://")).await.expect("a connection");
    let asks = format!(
        "POST {path} HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 9999999\r\n\r\n"
    );
    stream.write_all(asks.as_bytes()).await.expect("a head is taken");
    let mut told = String::new();
    stream.read_to_string(&mut told).await.expect("an answer, and the end");
    assert!(told.starts_with("HTTP/1.1 413 "), "{told}");
    // A connection whose body was read to its end goes on.
    let mut stream =
        TcpStream::connect(server.url.trim_start_matches("http://")).await.expect("a connection");
    let refused =
        format!("POST /v1/components HTTP/1.1\r\nhost: a\r\ncontent-length: {}\r\n\r\n", 2 << 20);
    stream.write_all(refused.as_bytes()).await.expect("a head is taken");
    stream.write_all(&vec![b' '; 2 << 20]).await.expect("a body is taken");
    stream
        .write_all(b"GET /healthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
        .await
        .expect("a second request is taken");
    let mut told = String::new();
    stream.read_to_string(&mut told).await.expect("two answers");
    assert!(told.starts_with("HTTP/1.1 401 ") && told.contains("HTTP/1.1 200 "), "{told}");
}

#[tokio::test]
async fn r1_3_props_that_cannot_be() {
    let server = Server::shared().await;
    for (props, prop) in [
        (json!({ "n": "x" }), "n"),
        (json!({ "text": { "a": 1 } }), "text"),
        (json!({ "text": "x".repeat(64 * 1024 + 1) }), "text"),
        (json!({ "timer": { "cron": "nonsense" } }), "timer"),
        (json!({ "timer": { "intervalSeconds": 0 } }), "timer"),
        (json!({ "unknown": 1 }), "unknown"),
    ] {
        let refused = server
            .post("/sources", &json!({ "component_code": SOURCE, "configured_props": props }))
            .await;
        assert_eq!(refused.refusal(), (422, "invalid_props"), "{}", refused.text);
        assert_eq!(refused.json["details"]["props"][0]["prop"], prop);
    }
    let required =
        "export default { name: 's', version: '1', props: { url: { type: 'string' } }, run() {} };";
    let refused = server.post("/sources", &json!({ "component_code": required })).await;
    assert_eq!(
        (refused.refusal(), refused.json["details"]["props"][0]["prop"].as_str()),
        ((422, "missing_props"), Some("url"))
    );
    assert_eq!(server.get("/users/me/sources").await.json["page_info"]["total_count"], 0);
}

#[tokio::test]
async fn r1_3_components_that_cannot_be() {
    let server = Server::shared().await;
    for (code, words) in [
        ("export default { version: '1', run() {} };", "no `name`"),
        ("export default { name: 'a', type: 'action', version: '1' };", "no `run`"),
        ("export default { name: 'a', type: 'sauce', run() {} };", "sauce"),
        ("export default { name: 'a', dedupe: 'sometimes', run() {} };", "sometimes"),
        ("export const nothing = 1;", "default export"),
        ("throw new Error('at load'); export default { name: 'a', run() {} };", "at load"),
    ] {
        let refused = server.post("/components", &json!({ "component_code": code })).await;
        assert_eq!(refused.status, 422, "{}", refused.text);
        assert!(
            refused.json["error"].as_str().is_some_and(|e| e.contains(words)),
            "{words}: {}",
            refused.text
        );
    }
    assert_eq!(
        server.post("/sources", &json!({ "component_code": "export default { name: 'a', key: 'k', type: 'action', run() {} };" })).await.refusal(),
        (422, "not_a_source")
    );
    for nested in [
        format!("export default {}1{};", "[".repeat(400_000), "]".repeat(400_000)),
        format!("export default {}1;", "!".repeat(400_000)),
    ] {
        let refused = server.post("/components", &json!({ "component_code": nested })).await;
        // Some forms break the bundler's process, others the host that loads them.
        assert!(
            [(422, "bundle_failed"), (422, "component_does_not_load")].contains(&refused.refusal()),
            "{}",
            refused.text
        );
    }
    let circular = server.source("export default { name: 'c', version: '1', run() { const a = {}; a.a = a; this.$emit(a); } };", json!({})).await;
    let run = server
        .post(&format!("/sources/{}/run", circular["id"].as_str().expect("an id")), &json!({}))
        .await
        .data();
    assert_eq!((&run["status"], &run["error"]["code"]), (&json!("failed"), &json!("TypeError")));
}

#[tokio::test]
async fn r1_3_another_organization_sees_nothing() {
    let server = Server::shared().await;
    let other: Value = server
        .post("/workspaces", &json!({ "name": "Other", "email": "other@example.test" }))
        .await
        .data();
    let key = other["api_key"].as_str().expect("a key");
    let source = server.source(SOURCE, json!({})).await;
    let workflow = server
        .workflow("w", json!([]), &[("a", "export default defineComponent({ run() {} });")])
        .await;
    let id = |v: &Value| v["id"].as_str().expect("an id").to_owned();
    let run = server.post(&format!("/sources/{}/run", id(&source)), &json!({})).await.data();
    let (s, w, r, c) = (
        id(&source),
        id(&workflow),
        id(&run),
        source["component_id"].as_str().expect("an id").to_owned(),
    );
    let org = server.org_id.clone();
    for path in [
        format!("/sources/{s}"),
        format!("/sources/{s}/event_summaries"),
        format!("/sources/{s}/logs"),
        format!("/sources/{s}/sse"),
        format!("/sources/{s}/logs/sse"),
        format!("/sources/{s}/runs"),
        format!("/workflows/{w}"),
        format!("/workflows/{w}/runs"),
        format!("/workflows/{w}/deployments"),
        format!("/workflows/{w}/event_summaries"),
        format!("/workflows/{w}/$errors/event_summaries"),
        format!("/runs/{r}"),
        format!("/components/{c}"),
        format!("/workspaces/{org}"),
        format!("/orgs/{org}/sources"),
        format!("/orgs/{org}/subscriptions"),
    ] {
        assert_eq!(server.call_as(key, Method::GET, &path, None).await.status, 404, "{path}");
    }
    let body = json!({ "emitter_id": s, "listener_id": w, "component_id": c, "name": "x", "event": {}, "deployment_id": "d_x" });
    for (method, path) in [
        (Method::PUT, format!("/sources/{s}")),
        (Method::DELETE, format!("/sources/{s}")),
        (Method::POST, format!("/sources/{s}/run")),
        (Method::DELETE, format!("/sources/{s}/events")),
        (Method::PUT, format!("/workflows/{w}")),
        (Method::DELETE, format!("/workflows/{w}")),
        (Method::POST, format!("/workflows/{w}/deploy")),
        (Method::POST, format!("/workflows/{w}/test")),
        (Method::POST, format!("/workflows/{w}/rollback")),
        (Method::POST, format!("/workflows/{w}/discard")),
        (Method::POST, format!("/runs/{r}/replay")),
        (Method::POST, "/subscriptions".into()),
        (Method::DELETE, "/subscriptions".into()),
        (Method::POST, "/sources".into()),
    ] {
        let template =
            [&s, &w, &r].iter().fold(path.clone(), |path, id| path.replace(id.as_str(), "{id}"));
        let known = declared(&server, &method, &template);
        let body = body
            .as_object()
            .expect("fields")
            .iter()
            .filter(|(name, _)| known.contains(name))
            .map(|(name, value)| (name.clone(), value.clone()));
        assert_eq!(
            server
                .call_as(key, method.clone(), &path, Some(&Value::Object(body.collect())))
                .await
                .status,
            404,
            "{method} {path}"
        );
    }
    let mine = server.call_as(key, Method::GET, "/users/me/sources", None).await;
    assert_eq!(mine.json["page_info"]["total_count"], 0);
}

#[tokio::test]
async fn a_second_server_on_the_same_folder_or_port_says_so() {
    let server = Server::start().await;
    let start = |dir: std::path::PathBuf, listen: &str| {
        let output = std::process::Command::new(millrace_tests::binary())
            .args(["serve", "--data-dir"])
            .arg(dir)
            .args(["--listen", listen])
            .output()
            .expect("starts");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, text) = start(server.data_dir(), "127.0.0.1:0");
    assert!(code == Some(1) && text.contains("in use by another server"), "{text}");
    let other = tempfile::tempdir().expect("a folder");
    let (code, text) = start(other.path().to_path_buf(), server.url.trim_start_matches("http://"));
    assert!(code == Some(1) && text.contains("--listen"), "{text}");
    let missing = std::process::Command::new(millrace_tests::binary())
        .args(["serve", "--listen", "127.0.0.1:0", "--node", "/no/such/node", "--data-dir"])
        .arg(other.path())
        .output()
        .expect("starts");
    assert!(
        String::from_utf8_lossy(&missing.stderr).contains("install Node.js 20 or newer"),
        "{missing:?}"
    );
}

#[tokio::test]
async fn r1_a_path_matches_its_route_with_and_without_escapes_and_never_across_a_slash() {
    let server = Server::shared().await;
    let workflow = server
        .workflow(
            "w",
            json!([{ "type": "http" }]),
            &[("a", "export default defineComponent({ run() {} });")],
        )
        .await;
    let source = server
        .source(
            "export default { name: 's', version: '1', run() { this.$emit({ n: 1 }); } };",
            json!({}),
        )
        .await;
    let (w, s) = (millrace_tests::id(&workflow), millrace_tests::id(&source));
    let get = async |path: &str| {
        millrace_tests::answer(server.raw(Method::GET, path).bearer_auth(&server.api_key)).await
    };
    let escaped = |text: &str| text.bytes().map(|byte| format!("%{byte:02x}")).collect::<String>();
    for path in [
        format!("/v1/workflows/{w}/%24errors/event_summaries"),
        format!("/v1/workflows/{w}/%24%65rrors/event%5Fsummaries"),
        format!("/v1/sources/{}/%24errors/event_summaries", escaped(s)),
        format!("/%76%31/workflows/{}", w.replace('_', "%5F")),
        format!("/v1/{}/search?query=x", escaped("components")),
        "/v1/users/m%65".to_owned(),
        "/%68ealthz".to_owned(),
        "/openapi%2Ejson".to_owned(),
    ] {
        let answer = get(&path).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
    }
    // The audit trail and the key checks see the route, not its spelling.
    let refused = millrace_tests::answer(
        server.raw(Method::GET, &format!("/v1/workflows/{w}/%24errors/event_summaries")),
    )
    .await;
    assert_eq!(refused.refusal(), (401, "unauthorized"));
    for path in [
        format!("/v1/workflows%2F{w}"),
        format!("/v1/workflows/{w}%2F%24errors/event_summaries"),
        format!("/v1/workflows/{w}/%2524errors/event_summaries"),
        format!("/v1/sources/x%2F..%2F{s}"),
    ] {
        assert_eq!(get(&path).await.status, 404, "{path}");
    }
    // A key is one segment, whatever is in it.
    let missing = get("/v1/components/a%2Fb%40c").await;
    assert!(missing.status == 404 && missing.text.contains("a/b@c"), "{}", missing.text);
}

/// Of two, one reader would take the first and another the last.
#[tokio::test]
async fn r1_2_a_field_that_is_given_twice_is_refused() {
    let server = Server::shared().await;
    for body in [
        r#"{"name": "twice", "scopes": ["read"], "scopes": ["full"]}"#,
        r#"{"name": "twice", "scopes": ["full"], "scope\u0073": ["read"]}"#,
        r#"{"name": "a", "scopes": ["read"], "name": "a"}"#,
    ] {
        let request = server.raw(Method::POST, "/v1/api_keys").bearer_auth(&server.api_key);
        let refused = answer(request.header("content-type", "application/json").body(body)).await;
        assert_eq!(refused.refusal(), (400, "malformed_json"), "{}", refused.text);
        assert!(refused.text.contains("is given twice"), "{}", refused.text);
    }
    assert_eq!(server.get("/api_keys").await.json["page_info"]["total_count"], 1);
    // Of a query and of a form as well; the same value twice is one.
    for (path, field) in [
        ("/runs?status=failed&status=paused", "status"),
        ("/search?kinds=workflow&q=a&q=b", "q"),
        ("/apps?limit=3&limit=%33%30", "limit"),
    ] {
        let refused = server.get(path).await;
        assert_eq!(
            (refused.refusal(), &refused.json["details"]["field"]),
            ((422, "invalid_field"), &json!(field)),
            "{path}: {}",
            refused.text
        );
    }
    assert_eq!(server.get("/runs?status=failed&status=failed").await.status, 200);
    let form = server
        .raw(Method::POST, "/v1/api_keys")
        .bearer_auth(&server.api_key)
        .header("content-type", "application/x-www-form-urlencoded");
    let refused = answer(form.body("name=a&scopes=read&scopes=full")).await;
    assert!(
        refused.status == 422 && refused.text.contains("`scopes` is given twice"),
        "{}",
        refused.text
    );
}

/// A refusal is no longer than a page, however much is wrong.
#[tokio::test]
async fn r1_3_a_refusal_names_as_many_problems_as_have_room() {
    let server = Server::shared().await;
    let props: String = (0..5_000).map(|n| format!("p{n}: {{ type: 'string' }}, ")).collect();
    let code = format!(
        "export default {{ name: 'many', version: '1', props: {{ {props} }}, run() {{}} }};"
    );
    let refused = server.post("/sources", &json!({ "component_code": code })).await;
    assert_eq!(refused.refusal(), (422, "missing_props"), "{}", refused.text.len());
    assert!(
        refused.text.len() < 20_000 && refused.text.contains("; and 4950 more"),
        "{}",
        refused.text.len()
    );
    assert_eq!(refused.json["details"]["props"].as_array().map(Vec::len), Some(50));
}
