//! Addresses with bytes that belong escaped, as old clients send them.

use millrace_tests::{Client, Server, endpoint};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// The answers to requests as they stand, each sent once the one before has begun to be answered.
/// The last one ends the connection.
async fn sent(server: &Client, requests: &[&[u8]]) -> String {
    let address = server.url.strip_prefix("http://").expect("an address");
    let mut stream = TcpStream::connect(address).await.expect("connects");
    let mut answer = Vec::new();
    for request in requests {
        stream.write_all(request).await.expect("writes");
        stream.read_buf(&mut answer).await.expect("reads");
    }
    stream.read_to_end(&mut answer).await.expect("reads");
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn bytes_of_an_address_that_belong_escaped_are_taken() {
    let server = Server::start().await;
    let code = "export default defineComponent({ async run({ steps, $ }) { const { path, query } = steps.trigger.event; await $.respond({ status: 200, headers: { 'content-type': 'application/json' }, body: JSON.stringify({ path, query }) }); } });";
    let workflow = server.workflow("w", json!([{ "type": "http" }]), &[("answers", code)]).await;
    let target = endpoint(&workflow);
    let path = &target[target.find("/e/").expect("a path")..];
    let head = "HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
    let request =
        [format!("GET {path}/<a>`?name=\"Ann\"&q=").as_bytes(), b"\xe9 ", head.as_bytes()].concat();
    let answer = sent(&server, &[&request]).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let body = &answer[answer.find('{').expect("JSON")..=answer.rfind('}').expect("JSON")];
    let event: Value = serde_json::from_str(body).expect("JSON");
    assert_eq!(event["path"], "/%3Ca%3E%60", "{answer}");
    assert_eq!(event["query"], json!({ "name": "\"Ann\"", "q": "\u{fffd}" }), "{answer}");
    // No byte of a body or header is another then, on a connection of several requests.
    let body = "\"<é>\"";
    let first = format!(
        "POST {path}?\"a HTTP/1.1\r\nhost: a\r\nx-a: \"<é>\"\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let answers = sent(&server, &[first.as_bytes(), &request]).await;
    assert_eq!(answers.matches("HTTP/1.1 200").count(), 2, "{answers}");
}

#[tokio::test]
async fn many_header_lines_are_taken() {
    let server = Server::start().await;
    let lines = "x-a: 1\r\n".repeat(900);
    let request = format!("GET /healthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n{lines}\r\n");
    let answer = sent(&server, &[request.as_bytes()]).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[tokio::test]
async fn a_path_that_is_no_utf8_is_at_no_address() {
    let server = Server::start().await;
    for path in ["/uploads/%ff/a", "/uploads/a/%ff", "/assets/%ff"] {
        let answer = server.raw(reqwest::Method::GET, path).send().await.expect("an answer");
        assert_eq!(answer.status().as_u16(), 404, "{path}");
        let body: Value = answer.json().await.expect("JSON");
        assert_eq!(body["code"], "no_such_route", "{path}: {body}");
    }
}
