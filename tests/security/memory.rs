//! Requests and answers that would take more of the server's memory, or of its descriptors, than
//! they have a part in.

use std::time::Duration;

use millrace_tests::{Server, answer, endpoint};
use reqwest::Method;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

use crate::resources::memory;
use crate::support::Field;

/// Far beyond what any answer here needs.
const LONG: Duration = Duration::from_secs(60);

#[tokio::test]
async fn bodies_that_grow_as_they_are_read_are_refused_before() {
    let field = Field::start().await;
    let list =
        |bytes: usize| format!("{{\"grant_type\":\"x\",\"x\":[{}0]}}", "0,".repeat(bytes / 2));
    for (path, code) in
        [("/v1/oauth/token", "invalid_field"), ("/v1/oauth/revoke", "missing_field")]
    {
        let sent = answer(
            field
                .server
                .raw(Method::POST, path)
                .header("content-type", "application/json")
                .body(list(65 << 10)),
        )
        .await;
        assert_eq!(
            (sent.refusal(), &sent.json["details"]),
            ((413, "too_large"), &json!({ "limit_bytes": 65536 })),
            "{path}"
        );
        let sent = answer(
            field
                .server
                .raw(Method::POST, path)
                .header("content-type", "application/json")
                .body(list(60 << 10)),
        )
        .await;
        assert_eq!(sent.refusal(), (422, code), "{path}");
    }
    let ask = |body: String, kind| {
        field
            .server
            .raw(Method::POST, "/v1/sources")
            .bearer_auth(&field.server.api_key)
            .header("content-type", kind)
            .body(body)
    };
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

/// A client that reads no more of the answer than its status.
async fn lazy(server: &Server, url: &str) -> (TcpStream, String) {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_recv_buffer_size(4096).expect("is set");
    let address = server.url.trim_start_matches("http://").parse().expect("an address");
    let mut lazy = socket.connect(address).await.expect("connects");
    lazy.write_all(
        format!("GET {} HTTP/1.1\r\nhost: a\r\n\r\n", url.trim_start_matches(&server.url))
            .as_bytes(),
    )
    .await
    .expect("writes");
    let mut first = [0; 12];
    tokio::time::timeout(LONG, lazy.read_exact(&mut first))
        .await
        .expect("an answer")
        .expect("reads");
    (lazy, String::from_utf8_lossy(&first[9..]).into_owned())
}

/// Answers with 5 MiB.
const LARGE: &str = "export default { name: 'large', version: '1', props: { http: { type: '$.interface.http', customResponse: true } },
    run() { this.http.respond({ status: 200, body: 'x'.repeat(5 << 20) }); } };";

#[tokio::test]
async fn answers_that_one_organization_reads_slowly_leave_room_to_others() {
    // Half of it is for bodies and answers.
    let server = Server::start_with(&["--requests-memory-mb", "32"]).await;
    let other = server
        .post("/workspaces", &json!({ "name": "Other", "email": "other@example.test" }))
        .await
        .data();
    let key = other["api_key"].as_str().expect("a key");
    let crowded = endpoint(&server.source(LARGE, json!({})).await);
    let neighbour = endpoint(
        &server
            .call_as(key, Method::POST, "/sources", Some(&json!({ "component_code": LARGE })))
            .await
            .data(),
    );
    let held = [lazy(&server, &crowded).await, lazy(&server, &crowded).await];
    assert_eq!(held.each_ref().map(|(_, status)| status.as_str()), ["200", "200"]);
    assert_eq!(lazy(&server, &crowded).await.1, "503", "it has three quarters of the room at most");
    assert_eq!(answer(server.raw(Method::GET, &neighbour)).await.text.len(), 5 << 20);
    drop(held);
}

#[tokio::test]
async fn answers_that_nobody_reads_are_bounded_as_requests_are() {
    let field = Field::start_with(&["--requests-memory-mb", "16"]).await;
    let url = endpoint(&field.server.source(LARGE, json!({})).await);
    let (lazy, status) = lazy(&field.server, &url).await;
    assert_eq!(status, "200");
    let refused = field.server.raw(Method::GET, &url).send().await.expect("an answer");
    assert_eq!(
        (refused.status().as_u16(), refused.headers()["retry-after"].to_str().ok()),
        (503, Some("1"))
    );
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
async fn pages_of_large_events_are_made_where_there_is_memory_for_them() {
    let field = Field::start_with(&["--requests-memory-mb", "32"]).await;
    let code = "export default { name: 'large', version: '1', props: { http: '$.interface.http' }, run() { for (let n = 0; n < 4; n++) this.$emit({ n, text: 'x'.repeat(400_000) }); } };";
    let source = field.server.source(code, json!({})).await;
    let events = format!("/sources/{}/event_summaries", source["id"].as_str().expect("an id"));
    for _ in 0..10 {
        assert_eq!(answer(field.server.raw(Method::POST, &endpoint(&source))).await.status, 200);
    }
    field.server.until("all are stored", &events, |l| l["page_info"]["total_count"] == 40).await;
    let before = memory(&field, "VmHWM");
    // 16 MB each, of which the server makes several times as much.
    let whole = format!("{events}?expand=event&limit=100");
    let (mut shown, mut refused) = (0, 0);
    for page in futures::future::join_all((0..30).map(|_| field.server.get(&whole))).await {
        match page.status {
            200 => {
                assert_eq!(page.json["data"].as_array().map(Vec::len), Some(40));
                shown += 1;
            }
            _ => {
                assert_eq!(page.refusal(), (503, "overloaded"));
                assert!(
                    page.text.contains("--requests-memory-mb")
                        && page.text.contains("ask for less at once"),
                    "{}",
                    page.text
                );
                refused += 1;
            }
        }
    }
    assert!(shown > 0, "one that is alone has its room; {refused} were refused");
    let grown = memory(&field, "VmHWM").saturating_sub(before);
    assert!(
        grown < 200,
        "the server took {grown} MiB more; {shown} pages were shown, {refused} refused"
    );
    // What needs less is shown: summaries, and the large ones a few at a time.
    assert_eq!(field.server.get(&events).await.json["data"].as_array().map(Vec::len), Some(40));
    assert_eq!(
        field.server.get(&format!("{events}?expand=event&limit=2")).await.json["page_info"]["count"],
        2
    );
    field.healthy().await;
}

#[tokio::test]
async fn a_stream_of_runs_that_says_nothing_takes_no_memory_of_others() {
    let field = Field::start_with(&["--requests-memory-mb", "16"]).await;
    let code = "export default { name: 'large', version: '1', props: { http: '$.interface.http' }, run() { this.$emit({ text: 'x'.repeat(400_000) }); } };";
    let source = field.server.source(code, json!({})).await;
    let path = format!("/sources/{}", source["id"].as_str().expect("an id"));
    for _ in 0..8 {
        let sent = field
            .server
            .raw(Method::POST, &endpoint(&source))
            .header("content-type", "text/plain")
            .body("x".repeat(500_000));
        assert_eq!(answer(sent).await.status, 200);
    }
    field
        .server
        .until("all are over", &format!("{path}/runs?status=succeeded&limit=1"), |l| {
            l["page_info"]["total_count"] == 8
        })
        .await;
    // 4 MB of runs: as a page they take more than all of the room, which it has where it is alone.
    let mut stream = field
        .server
        .raw(Method::GET, &format!("/v1{path}/runs/sse?from=0"))
        .bearer_auth(&field.server.api_key)
        .send()
        .await
        .expect("an answer");
    let mut shown = Vec::new();
    while shown.windows(10).filter(|bytes| *bytes == b"event: run").count() < 8
        || !shown.ends_with(b"\n\n")
    {
        shown.extend(
            tokio::time::timeout(LONG, stream.chunk())
                .await
                .expect("more of it")
                .expect("reads")
                .expect("it goes on"),
        );
    }
    // It goes on, and looks for more every two seconds.
    for _ in 0..25 {
        assert_eq!(
            field.server.get(&format!("{path}/event_summaries?expand=event&limit=1")).await.status,
            200
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    drop(stream);
}

/// A server with one run of 6 MB, and the run's path.
async fn with_a_large_run() -> (Field, String) {
    let field =
        Field::start_with(&["--requests-memory-mb", "32", "--http-body-max-bytes", "3000000"])
            .await;
    let code = "export default { name: 'large', version: '1', props: { http: '$.interface.http' }, run() {} };";
    let source = field.server.source(code, json!({})).await;
    let sent = field
        .server
        .raw(Method::POST, &endpoint(&source))
        .header("content-type", "text/plain")
        .body("x".repeat(3_000_000));
    assert_eq!(answer(sent).await.status, 200);
    let runs = format!("/sources/{}/runs?status=succeeded", source["id"].as_str().expect("an id"));
    let run = field.server.until("it is over", &runs, |l| l["page_info"]["total_count"] == 1).await
        ["data"][0]["id"]
        .clone();
    (field, format!("/runs/{}", run.as_str().expect("an id")))
}

#[tokio::test]
async fn streams_that_nobody_reads_are_bounded_as_answers_are() {
    let (field, run) = with_a_large_run().await;
    let path = format!("/v1{run}/sse");
    let address = field.server.url.trim_start_matches("http://");
    let asked = format!(
        "GET {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\nauthorization: Bearer {}\r\n\r\n",
        field.server.api_key
    );
    let mut lazy = Vec::new();
    for _ in 0..12 {
        let mut stream = TcpStream::connect(address).await.expect("connects");
        stream.write_all(asked.as_bytes()).await.expect("writes");
        let mut first = [0; 12];
        tokio::time::timeout(LONG, stream.read_exact(&mut first))
            .await
            .expect("an answer")
            .expect("reads");
        assert_eq!(&first, b"HTTP/1.1 200");
        lazy.push(stream);
    }
    field.healthy().await;
    // 6 MB each, which is more than the system takes of it: of half of 32 MiB two have room. The
    // others end before it: their clients connect again.
    let read = lazy.into_iter().map(|mut stream| async move {
        let mut text = Vec::new();
        // One that lay for a minute was cut.
        let _ = tokio::time::timeout(LONG, stream.read_to_end(&mut text)).await.expect("it ends");
        text.windows(10).any(|bytes| bytes == b"event: run")
    });
    let showed = futures::future::join_all(read).await.into_iter().filter(|showed| *showed).count();
    assert!((1..=2).contains(&showed), "{showed} of 12 were shown the run");
    let shown = || async {
        answer(field.server.raw(Method::GET, &path).bearer_auth(&field.server.api_key)).await.text
    };
    let again = async {
        while !shown().await.contains("event: run") {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(LONG, again).await.expect("there is room again");
}

#[tokio::test]
async fn large_runs_are_read_where_there_is_memory_for_them() {
    let (field, path) = with_a_large_run().await;
    let before = memory(&field, "VmHWM");
    // 6 MB each.
    for shown in futures::future::join_all((0..100).map(|_| field.server.get(&path))).await {
        assert!(shown.status == 200 || shown.refusal() == (503, "overloaded"), "{}", shown.status);
    }
    let grown = memory(&field, "VmHWM").saturating_sub(before);
    assert!(grown < 200, "the server took {grown} MiB more");
    assert_eq!(field.server.get(&path).await.status, 200, "one that is alone has its room");
    field.healthy().await;
}

#[tokio::test]
async fn the_address_of_the_counts_has_bounds_of_its_own() {
    let field =
        Field::start_with(&["--metrics-listen", "127.0.0.1:0", "--request-timeout-seconds", "2"])
            .await;
    let place = field.server.metrics_place().await;
    let mut silent = Vec::new();
    for _ in 0..100 {
        silent.push(TcpStream::connect(&place).await.expect("connects"));
    }
    field.healthy().await;
    for mut stream in silent {
        let ended =
            tokio::time::timeout(LONG, stream.read(&mut [0; 64])).await.expect("it is closed");
        assert!(matches!(ended, Ok(0) | Err(_)), "{ended:?}");
    }
    assert!(
        answer(field.server.raw(Method::GET, &format!("http://{place}/metrics")))
            .await
            .text
            .contains("millrace_")
    );
}
