//! Requests and answers that would take more of the server's memory, or of its descriptors, than they have a part in.

use std::time::Duration;

use millrace_tests::{answer, endpoint};
use reqwest::Method;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

use crate::support::Field;

/// Far beyond what any answer here needs.
const LONG: Duration = Duration::from_secs(60);

#[tokio::test]
async fn bodies_that_grow_as_they_are_read_are_refused_before() {
    let field = Field::start().await;
    let list = |bytes: usize| format!("{{\"grant_type\":\"x\",\"x\":[{}0]}}", "0,".repeat(bytes / 2));
    for path in ["/v1/oauth/token", "/v1/oauth/revoke"] {
        let sent = answer(field.server.raw(Method::POST, path).header("content-type", "application/json").body(list(65 << 10))).await;
        assert_eq!((sent.refusal(), &sent.json["details"]), ((413, "too_large"), &json!({ "limit_bytes": 65536 })), "{path}");
        let sent = answer(field.server.raw(Method::POST, path).header("content-type", "application/json").body(list(60 << 10))).await;
        assert_eq!(sent.refusal(), (422, "invalid_field"), "{path}");
    }
    let ask = |body: String, kind| field.server.raw(Method::POST, "/v1/sources").bearer_auth(&field.server.api_key).header("content-type", kind).body(body);
    for (body, kind) in [
        (list(9 << 20), "application/json"),
        (format!("{{\"x\":[{}0]}}", "{\"\":0},".repeat(1 << 20)), "application/json"),
        ("\"&".repeat(4 << 20), "application/x-www-form-urlencoded"),
    ] {
        let sent = answer(ask(body, kind)).await;
        assert_eq!(sent.refusal(), (413, "too_large"), "{kind}");
        assert!(sent.text.contains("of memory, allowed are"), "{}", sent.text);
    }
    // Texts are as large as they look, whatever is in them.
    let text = json!({ "x": "[{,".repeat(3 << 20) }).to_string();
    assert_eq!(answer(ask(text, "application/json")).await.status, 422);
    field.healthy().await;
}

#[tokio::test]
async fn answers_that_nobody_reads_are_bounded_as_requests_are() {
    let field = Field::start_with(&["--requests-memory-mb", "16"]).await;
    let code = "export default { name: 'large', version: '1', props: { http: { type: '$.interface.http', customResponse: true } },
        run() { this.http.respond({ status: 200, body: 'x'.repeat(5 << 20) }); } };";
    let url = endpoint(&field.server.source(code, json!({})).await);
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_recv_buffer_size(4096).expect("is set");
    let address = field.server.url.trim_start_matches("http://").parse().expect("an address");
    let mut lazy = socket.connect(address).await.expect("connects");
    lazy.write_all(format!("GET {} HTTP/1.1\r\nhost: a\r\n\r\n", url.trim_start_matches(&field.server.url)).as_bytes()).await.expect("writes");
    let mut first = [0; 12];
    tokio::time::timeout(LONG, lazy.read_exact(&mut first)).await.expect("an answer").expect("reads");
    assert_eq!(&first, b"HTTP/1.1 200");
    let refused = field.server.raw(Method::GET, &url).send().await.expect("an answer");
    assert_eq!((refused.status().as_u16(), refused.headers()["retry-after"].to_str().ok()), (503, Some("1")));
    assert!(refused.text().await.expect("reads").contains("--requests-memory-mb"));
    // Small ones go on, and the room is free again once the client has gone.
    field.healthy().await;
    drop(lazy);
    let again = async {
        while answer(field.server.raw(Method::GET, &url)).await.text.len() != 5 << 20 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(LONG, again).await.expect("there is room again");
}

#[tokio::test]
async fn the_address_of_the_counts_has_bounds_of_its_own() {
    let field = Field::start_with(&["--metrics-listen", "127.0.0.1:0", "--request-timeout-seconds", "2"]).await;
    let place = field.server.metrics_place().await;
    let mut silent = Vec::new();
    for _ in 0..100 {
        silent.push(TcpStream::connect(&place).await.expect("connects"));
    }
    field.healthy().await;
    for mut stream in silent {
        let ended = tokio::time::timeout(LONG, stream.read(&mut [0; 64])).await.expect("it is closed");
        assert!(matches!(ended, Ok(0) | Err(_)), "{ended:?}");
    }
    assert!(answer(field.server.raw(Method::GET, &format!("http://{place}/metrics"))).await.text.contains("millrace_"));
}
