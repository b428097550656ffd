//! Clients that end their sending side after the request, as old devices and `nc -N` do.

use std::time::{Duration, Instant};

use millrace_tests::{Client, Server, endpoint, id};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Sends a request, ends the sending side, and gives all that comes until the server's end.
async fn half_closed(server: &Client, request: &str) -> String {
    let address = server.url.trim_start_matches("http://");
    let mut stream = TcpStream::connect(address).await.expect("connects");
    stream.write_all(request.as_bytes()).await.expect("is taken");
    stream.shutdown().await.expect("ends its side");
    let mut answer = String::new();
    tokio::time::timeout(Duration::from_secs(60), stream.read_to_string(&mut answer))
        .await
        .expect("the server ends it")
        .expect("an answer");
    answer
}

#[tokio::test]
async fn a_client_that_ends_its_side_after_the_request_gets_the_answer() {
    let server = Server::shared().await;
    let code = "export default defineComponent({ async run({ $, steps }) {
      await new Promise((resolve) => setTimeout(resolve, 300));
      const { body, url } = steps.trigger.event;
      await $.respond({ status: 201, body: { body, url } }); } });";
    let workflow = server.workflow("w", json!([{ "type": "http" }]), &[("answer", code)]).await;
    let path = endpoint(&workflow).trim_start_matches(server.url.as_str()).to_owned();
    let host = server.url.trim_start_matches("http://").to_owned();
    // Those without a host get the address that the server has.
    for (version, host_line) in
        [("1.0", String::new()), ("1.1", format!("host: {host}\r\n")), ("1.1", "host:\r\n".into())]
    {
        let request =
            format!("POST {path} HTTP/{version}\r\n{host_line}content-length: 2\r\n\r\nhi");
        let answer = half_closed(&server, &request).await;
        let event = format!(r#"{{"body":"hi","url":"http://{host}{path}"}}"#);
        assert!(answer.contains(" 201 ") && answer.ends_with(&event), "{version}: {answer}");
    }
    let runs = server.get(&format!("/workflows/{}/runs", id(&workflow))).await.json;
    assert_eq!(runs["page_info"]["total_count"], 3);
    let list = format!(
        "GET /v1/workflows HTTP/1.0\r\nauthorization: Bearer {}\r\n\r\n",
        server.api_key.as_str()
    );
    assert!(half_closed(&server, &list).await.contains(" 200 "));
    // A stream of events ends at once, and not as its next heartbeat cannot be written.
    let began = Instant::now();
    let stream = list.replace("/v1/workflows", "/v1/stream?topics=runs");
    half_closed(&server, &stream).await;
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
}
