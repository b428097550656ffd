//! Untrusted requests: slow, large and malformed ones, and those of another site's page.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;
use std::time::Duration;

use millrace_tests::{Server, answer, endpoint};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::support::Field;

/// Far beyond what any answer here needs.
const LONG: Duration = Duration::from_secs(60);

async fn connect(server: &Server) -> TcpStream {
    TcpStream::connect(server.url.trim_start_matches("http://")).await.expect("connects")
}

/// All that comes until the server closes the connection.
async fn rest(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    // A reset is an end too.
    let _ = tokio::time::timeout(LONG, stream.read_to_end(&mut bytes))
        .await
        .expect("the server closes the connection");
    String::from_utf8_lossy(&bytes).into_owned()
}

/// What is answered to bytes as they are, until the server closes the connection: at once where it
/// is asked to, else when nothing more comes.
async fn raw(server: &Server, bytes: &[u8]) -> String {
    let mut stream = connect(server).await;
    // It may be refused before all of it is sent.
    let _ = stream.write_all(bytes).await;
    rest(&mut stream).await
}

/// A field whose server waits for nothing for long.
async fn hurried() -> Field {
    Field::start_with(&["--request-timeout-seconds", "2"]).await
}

fn status(answer: &str) -> u16 {
    answer.split(' ').nth(1).and_then(|s| s.parse().ok()).unwrap_or(0)
}

#[tokio::test]
async fn a_head_that_drips_is_cut_off_and_others_are_served() {
    let field = Field::start_with(&["--request-timeout-seconds", "1"]).await;
    let mut slow = Vec::new();
    for _ in 0..200 {
        let mut stream = connect(&field.server).await;
        stream.write_all(b"GET /healthz HTTP/1.1\r\nx-a: ").await.expect("writes");
        slow.push(stream);
    }
    for _ in 0..10 {
        field.healthy().await;
    }
    // One that says a little again and again gains no time by it.
    let mut stream = slow.pop().expect("one");
    let (mut read, mut write) = stream.split();
    let drip = async {
        while write.write_all(b"x").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let mut bytes = [0; 64];
    tokio::select! {
        () = drip => {}
        ended = tokio::time::timeout(LONG, read.read(&mut bytes)) => assert!(matches!(ended.expect("it is cut off"), Ok(0) | Err(_))),
    }
    for mut stream in slow {
        assert_eq!(status(&rest(&mut stream).await), 0);
    }
    field.healthy().await;
}

#[tokio::test]
async fn a_body_that_drips_is_refused_wherever_it_goes() {
    let field = Field::start_with(&["--request-timeout-seconds", "1"]).await;
    let target = endpoint(&field.deploy("return 1;").await);
    let path = target.trim_start_matches(&field.server.url).to_owned();
    for (path, key) in [(path, ""), ("/v1/sources".into(), field.server.api_key.as_str())] {
        let mut stream = connect(&field.server).await;
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {key}\r\ncontent-length: 100000\r\n\r\n{{"
        );
        stream.write_all(head.as_bytes()).await.expect("writes");
        let got = rest(&mut stream).await;
        assert_eq!(status(&got), 408, "{path}: {got}");
        assert!(
            got.contains("body_too_slow") && got.to_ascii_lowercase().contains("connection: close"),
            "{got}"
        );
    }
    field.healthy().await;
}

#[tokio::test]
async fn no_more_connections_than_there_may_be_and_the_rest_is_told_to_come_again() {
    let field =
        Field::start_with(&["--connections-max", "40", "--request-timeout-seconds", "2"]).await;
    let mut idle = Vec::new();
    for _ in 0..40 {
        idle.push(connect(&field.server).await);
    }
    let refused = loop {
        // The last of them may not have been accepted yet.
        let got =
            raw(&field.server, b"GET /healthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
                .await;
        if status(&got) != 200 {
            break got;
        }
    };
    assert!(
        refused.is_empty()
            || (status(&refused) == 503 && refused.to_ascii_lowercase().contains("retry-after: 1")),
        "{refused}"
    );
    let told = refused.to_ascii_lowercase();
    assert!(
        refused.is_empty()
            || (told.contains("x-content-type-options: nosniff")
                && told.contains("x-request-id: req_")),
        "{refused}"
    );
    for mut stream in idle {
        rest(&mut stream).await;
    }
    field.healthy().await;
}

/// What the server has open is none of a host's, however much it is.
#[tokio::test]
async fn components_run_while_more_connections_are_open_than_a_host_may_have_files() {
    let limits = std::fs::read_to_string("/proc/self/limits").expect("reads");
    let most = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max open files")?.split_ascii_whitespace().nth(1))
        .expect("it is told");
    if most.parse::<u64>().is_ok_and(|most| most < 4096) {
        eprintln!(
            "note: with {most} files it is not tried whether components run beside many connections"
        );
        return;
    }
    let field = Field::start().await;
    // A process of its own, which may have as many as the system allows.
    let code = "const { connect } = require('net'); const [host, port] = process.argv[1].split(':'); let n = 0;
        for (let i = 0; i < 1500; i++) connect(port, host, () => { if (++n === 1500) console.log('open'); }); process.stdin.on('end', () => process.exit()).resume();";
    let address = field.server.url.trim_start_matches("http://");
    let mut clients = std::process::Command::new("node");
    let mut clients = clients
        .args(["-e", code, address])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut told = String::new();
    BufReader::new(clients.stdout.take().expect("is read")).read_line(&mut told).expect("reads");
    assert_eq!(told.trim(), "open");
    for n in 0..5 {
        let source = field.deploy(&format!("return {n};")).await;
        assert_eq!(field.send(&source).await.text, format!("open: {n}"));
    }
    drop(clients.stdin.take());
    clients.wait().expect("ends");
    field.healthy().await;
}

#[tokio::test]
async fn heads_bodies_and_nesting_are_bounded() {
    let field = hurried().await;
    let lines = "x-a: 1\r\n".repeat(1_001);
    assert_eq!(
        status(
            &raw(
                &field.server,
                format!("GET /healthz HTTP/1.1\r\nhost: a\r\n{lines}\r\n").as_bytes()
            )
            .await
        ),
        431
    );
    let long = "x".repeat(200 << 10);
    assert_eq!(
        status(
            &raw(
                &field.server,
                format!("GET /healthz HTTP/1.1\r\nhost: a\r\nx-a: {long}\r\n\r\n").as_bytes()
            )
            .await
        ),
        431
    );
    let got = status(
        &raw(&field.server, format!("GET /healthz?{long} HTTP/1.1\r\nhost: a\r\n\r\n").as_bytes())
            .await,
    );
    assert!(matches!(got, 414 | 431), "{got}");
    let target = endpoint(&field.deploy("return JSON.stringify(event.body).length;").await);
    let sent = answer(field.server.raw(Method::POST, &target).body("x".repeat(600 << 10))).await;
    assert_eq!(sent.refusal(), (413, "too_large"));
    let nested = format!("{{\"name\":{}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let sent = answer(
        field
            .server
            .raw(Method::POST, "/v1/sources")
            .bearer_auth(&field.server.api_key)
            .body(nested.clone()),
    )
    .await;
    assert_eq!(sent.refusal(), (400, "malformed_json"));
    let sent = answer(
        field
            .server
            .raw(Method::POST, &target)
            .header("content-type", "application/json")
            .body(nested),
    )
    .await;
    assert_eq!(sent.status, 200, "{}", sent.text);
    let sent = answer(
        field
            .server
            .raw(Method::POST, "/v1/sources")
            .bearer_auth(&field.server.api_key)
            .body(vec![b' '; 11 << 20]),
    )
    .await;
    assert_eq!(sent.refusal(), (413, "too_large"));
    // A length that is a lie makes no room.
    let got = raw(
        &field.server,
        format!(
            "POST {} HTTP/1.1\r\nhost: a\r\ncontent-length: 99999999999999\r\n\r\n",
            target.trim_start_matches(&field.server.url)
        )
        .as_bytes(),
    )
    .await;
    assert_eq!(status(&got), 413, "{got}");
    field.healthy().await;
}

fn packed(zeros: usize) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packed.write_all(&vec![0; zeros]).expect("packs");
    packed.finish().expect("packs")
}

#[tokio::test]
async fn what_unpacks_to_much_is_not_unpacked() {
    let field = Field::start().await;
    let bomb = packed(64 << 20);
    for encoding in ["gzip", "br", "deflate", "gzip, gzip"] {
        let request = field
            .server
            .raw(Method::POST, "/v1/sources")
            .bearer_auth(&field.server.api_key)
            .header("content-encoding", encoding);
        let sent =
            answer(request.header("content-type", "application/json").body(bomb.clone())).await;
        assert_eq!(sent.refusal(), (415, "unsupported_encoding"), "{encoding}");
    }
    let head = format!(
        "POST /v1/data_stores HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {}\r\nconnection: close\r\n",
        field.server.api_key
    );
    let twice = raw(&field.server, format!("{head}content-encoding: identity\r\ncontent-encoding: gzip\r\ncontent-length: 2\r\n\r\n{{}}").as_bytes()).await;
    assert_eq!(status(&twice), 415, "{twice}");
    // An endpoint's body is unpacked up to the limit of bodies.
    let target = endpoint(&field.deploy("return event.bodyRaw.length === 5e5;").await);
    let sent = answer(
        field
            .server
            .raw(Method::POST, &target)
            .header("content-encoding", "gzip")
            .body(bomb.clone()),
    )
    .await;
    assert_eq!(sent.refusal(), (413, "too_large"), "{}", sent.text);
    let sent = answer(
        field
            .server
            .raw(Method::POST, &target)
            .header("content-encoding", "gzip")
            .body(packed(500_000)),
    )
    .await;
    assert_eq!((sent.status, sent.text.as_str()), (200, "open: true"));
    let sent = answer(
        field
            .server
            .raw(Method::POST, "/v1/registries?name=bomb")
            .bearer_auth(&field.server.api_key)
            .body(bomb),
    )
    .await;
    assert!((400..500).contains(&sent.status), "{}", sent.text);
    field.healthy().await;
}

#[tokio::test]
async fn crooked_paths_and_hosts_lead_nowhere_else() {
    let field = hurried().await;
    let target = endpoint(&field.deploy("return event.path;").await);
    let key = target.rsplit('/').next().expect("a key").to_owned();
    let head = |line: &str, host: &str| {
        format!("GET {line} HTTP/1.1\r\n{host}connection: close\r\n\r\n").into_bytes()
    };
    for path in [
        "/e/../v1/users/me",
        "/e/%2e%2e/v1/users/me",
        "/e/..;/v1/users/me",
        "//v1/users/me",
        "/v1/../v1/users/me",
        "/v1//users/me",
        "/v1/runs/..%2f..%2fusers%2fme",
        "/v1/runs/%00",
        "/v1/runs/%ff%fe",
        "/assets/../../../../etc/passwd",
        "/assets/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "/resume/..%2f..%2fhealthz",
        "http://169.254.169.254/latest/meta-data/",
        "*",
    ] {
        let got = raw(&field.server, &head(path, "host: a\r\n")).await;
        assert!(matches!(status(&got), 400 | 401 | 404 | 405), "{path}: {got}");
        assert!(!got.contains("root:") && !got.contains("metadata"), "{path}: {got}");
    }
    // What follows an endpoint's key is its code's, whatever it looks like.
    for rest in ["/../../v1/users/me", "/%2e%2e/%2e%2e/x", "//x", "/%00"] {
        let got = raw(&field.server, &head(&format!("/e/{key}{rest}"), "host: a\r\n")).await;
        assert!(got.ends_with(&format!("open: {rest}")), "{rest}: {got}");
    }
    for host in ["host: \r\n", "host: evil.test\r\n", "host: a\r\nx-forwarded-host: evil.test\r\n"]
    {
        let got = raw(&field.server, &head("/v1/users/me", host)).await;
        assert!(matches!(status(&got), 400 | 401) && !got.contains("evil"), "{host}: {got}");
    }
    for path in ["/v1/users/me", "/healthz", &format!("/e/{key}")] {
        let got = raw(&field.server, &head(path, "")).await;
        assert!(status(&got) == 400 && got.contains("\"code\":\"host_missing\""), "{path}: {got}");
        let got = raw(&field.server, &head(&format!("http://a{path}"), "")).await;
        assert!(status(&got) == 400 && got.contains("host_missing"), "{path}: {got}");
        // Simple probes speak HTTP/1.0, where none is asked for; a client that has no name to give
        // leaves it empty.
        for (version, host) in [("1.0", ""), ("1.0", "host: a\r\n"), ("1.1", "host: \r\n")] {
            let got = raw(
                &field.server,
                format!("GET {path} HTTP/{version}\r\n{host}connection: close\r\n\r\n").as_bytes(),
            )
            .await;
            assert!(
                matches!(status(&got), 200 | 401) && !got.contains("host_missing"),
                "{path}, {version}, {host}: {got}"
            );
        }
        let got = raw(&field.server, &head(path, "host: a\r\nhost: b\r\n")).await;
        assert!(status(&got) == 400 && got.contains("several_hosts"), "{path}: {got}");
        let got =
            raw(&field.server, &head(&format!("http://evil.test{path}"), "host: a\r\n")).await;
        assert!(status(&got) == 400 && got.contains("several_hosts"), "{path}: {got}");
        for host in [
            "a@b", "a/b", "a b", "a\\b", "a?b", "a#b", "<a>", "a\u{e9}", "[::1", "a:b:c",
            "a:99999", ":80",
        ] {
            let got = raw(&field.server, &head(path, &format!("host: {host}\r\n"))).await;
            assert!(status(&got) == 400 && got.contains("not_a_host"), "{path}, {host}: {got}");
        }
    }
    let both = raw(&field.server, &head("http://a/healthz", "host: A\r\n")).await;
    assert_eq!(status(&both), 200, "{both}");
    for lines in [
        "content-length: 5\r\ncontent-length: 6\r\n",
        "content-length: -1\r\n",
        "transfer-encoding: chunked, identity\r\n",
        "transfer-encoding: xchunked\r\n",
        "x a: 1\r\n",
        "x-a: 1\r\n x: folded\r\n",
    ] {
        let got = raw(
            &field.server,
            format!("POST /e/{key} HTTP/1.1\r\nhost: a\r\n{lines}\r\nhello").as_bytes(),
        )
        .await;
        assert!(matches!(status(&got), 400 | 501 | 0) || got.contains("open: /"), "{lines}: {got}");
    }
    // With two lengths, what one proxy takes for a body could be another's request: the connection
    // ends behind it.
    let smuggled = format!(
        "POST /e/{key} HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\nhost: a\r\n\r\n"
    );
    let got = raw(&field.server, smuggled.as_bytes()).await;
    assert!(!got.contains("\"status\":\"ok\""), "{got}");
    for method in ["TRACE", "CONNECT"] {
        let got = raw(
            &field.server,
            format!("{method} /e/{key} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
                .as_bytes(),
        )
        .await;
        assert!(status(&got) == 405 && got.contains("method_not_allowed"), "{method}: {got}");
    }
    for method in ["TRACE", "CONNECT", "PRI", "DEBUG"] {
        let got = raw(
            &field.server,
            format!("{method} /v1/users/me HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
                .as_bytes(),
        )
        .await;
        assert!((400..600).contains(&status(&got)) || status(&got) == 0, "{method}: {got}");
    }
    field.healthy().await;
}

#[tokio::test]
async fn a_target_that_is_no_path_reaches_no_code() {
    let field = hurried().await;
    let source = field.deploy("return event.url;").await;
    field
        .server
        .post(
            "/domains",
            &json!({ "domain": "own.test", "endpoint_id": source["interfaces"][0]["id"] }),
        )
        .await
        .data();
    for host in ["a", "own.test"] {
        for method in ["GET", "POST", "DELETE", "QUERY", "HEAD"] {
            for target in ["*", "a:80", "own.test:80", "own.test", "*/x", "x?y=/", "?x", "[::1]:80"]
            {
                let got = raw(
                    &field.server,
                    format!(
                        "{method} {target} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n"
                    )
                    .as_bytes(),
                )
                .await;
                assert!(
                    status(&got) == 400 && !got.contains("open: "),
                    "{method} {target} at {host}: {got}"
                );
            }
        }
    }
    for target in ["http://own.test", "http://own.test?a=*", "http://own.test/", "/", "/?a=*"] {
        let got = raw(
            &field.server,
            format!("GET {target} HTTP/1.1\r\nhost: own.test\r\nconnection: close\r\n\r\n")
                .as_bytes(),
        )
        .await;
        assert!(got.ends_with("open: http://own.test/"), "{target}: {got}");
    }
    let got =
        raw(&field.server, b"OPTIONS * HTTP/1.1\r\nhost: own.test\r\nconnection: close\r\n\r\n")
            .await;
    assert!(status(&got) == 200 && got.contains("access-control-allow-methods"), "{got}");
    field.healthy().await;
}

#[tokio::test]
async fn only_a_bearer_key_is_a_key() {
    let field = Field::start().await;
    let key = field.server.api_key.clone();
    let ask = || field.server.raw(Method::GET, "/v1/users/me");
    let cookies = ["api_key", "session", "authorization", "token"]
        .map(|name| format!("{name}={key}"))
        .join("; ");
    for request in [
        ask().header("cookie", cookies.clone()),
        ask().query(&[("api_key", &key), ("access_token", &key), ("authorization", &key)]),
        ask().basic_auth(&key, Some(&key)),
        ask().basic_auth("", Some(&key)),
        ask().header("x-api-key", &key),
        ask().header("authorization", &key),
        ask().header("authorization", format!("Token {key}")),
        ask().bearer_auth(format!("{key}x")),
        ask().bearer_auth(&key[..key.len() - 1]),
        ask().bearer_auth(key.to_uppercase()),
        ask().bearer_auth(""),
    ] {
        assert_eq!(answer(request).await.refusal(), (401, "unauthorized"));
    }
    assert_eq!(answer(ask().bearer_auth(&key)).await.status, 200);
    // A page of another origin can send no key, reads no answer, and is let in by no cookie.
    // Nothing here sets one.
    let page = || {
        field
            .server
            .raw(Method::POST, "/v1/sources")
            .header("origin", "https://evil.test")
            .header("cookie", cookies.clone())
    };
    let sent = page()
        .header("content-type", "text/plain")
        .body("{\"component_code\":\"x\"}")
        .send()
        .await
        .expect("answers");
    assert_eq!(sent.status().as_u16(), 401);
    assert!(
        !sent
            .headers()
            .keys()
            .any(|name| name.as_str().starts_with("access-control") || name == "set-cookie")
    );
    let asked = field
        .server
        .raw(Method::OPTIONS, "/v1/sources")
        .header("origin", "https://evil.test")
        .header("access-control-request-method", "POST");
    let asked = asked
        .header("access-control-request-headers", "authorization")
        .send()
        .await
        .expect("answers");
    assert!(!asked.headers().keys().any(|name| name.as_str().starts_with("access-control")));
}

#[tokio::test]
async fn pages_are_told_to_browsers_as_strictly_as_can_be() {
    let field = Field::start().await;
    for path in [
        "/",
        "/docs",
        "/runs/run_x",
        "/oauth/callback?error=%3Cscript%3E",
        "/assets/plain.css",
        "/openapi.json",
        "/healthz",
        "/v1/users/me",
        "/nowhere",
        "/resume/x",
    ] {
        let got = field.server.raw(Method::GET, path).send().await.expect("answers");
        let header = |name: &str| {
            got.headers().get(name).and_then(|v| v.to_str().ok()).unwrap_or("").to_owned()
        };
        let policy = header("content-security-policy");
        // Answers of endpoints are of this origin: none of them is a script or a worker of its
        // pages.
        assert!(
            !policy.contains("script-src 'self'")
                && (path != "/" || policy.contains("/assets/; worker-src ")),
            "{path}: {policy}"
        );
        assert!(
            policy.starts_with("default-src 'none'")
                && policy.contains("frame-ancestors 'none'")
                && !policy.contains("unsafe"),
            "{path}: {policy}"
        );
        assert_eq!(
            (
                header("x-content-type-options"),
                header("x-frame-options"),
                header("referrer-policy")
            ),
            ("nosniff".into(), "DENY".into(), "no-referrer".into()),
            "{path}"
        );
        assert_eq!(header("cross-origin-opener-policy"), "same-origin", "{path}");
        assert!(
            !got.headers().contains_key("server") && !got.headers().contains_key("set-cookie"),
            "{path}"
        );
        let text = got.text().await.expect("a body");
        assert!(
            !text.contains("<script>")
                && !text.contains(" onclick=")
                && !text.contains("javascript:"),
            "{path}: {text}"
        );
    }
    // A page that code answers has no part in this origin.
    let code = "export default { name: 'page', version: '1', props: { http: { type: '$.interface.http', customResponse: true } }, run() { this.http.respond({ status: 200, headers: { 'content-type': 'text/html' }, body: '<script>sessionStorage.x</script>' }); } };";
    let source = field.server.source(code, json!({})).await;
    let got = field.server.raw(Method::GET, &endpoint(&source)).send().await.expect("answers");
    let policy = got.headers()["content-security-policy"].to_str().expect("text").to_owned();
    assert!(policy.starts_with("sandbox") && !policy.contains("allow-same-origin"), "{policy}");
}

#[tokio::test]
async fn addresses_that_resume_a_run_are_not_guessed() {
    let field = hurried().await;
    let code = "export default defineComponent({ async run({ $ }) { const { resume_url, cancel_url } = $.flow.suspend(); return [resume_url, cancel_url]; } });";
    let workflow =
        field.server.workflow("waits", json!([{ "type": "http" }]), &[("pause", code)]).await;
    answer(field.server.raw(Method::POST, &endpoint(&workflow))).await;
    let path = format!("/workflows/{}/runs?status=paused", workflow["id"].as_str().expect("an id"));
    let paused =
        field.server.until("it pauses", &path, |l| l["page_info"]["total_count"] == 1).await;
    let run = paused["data"][0]["id"].as_str().expect("an id").to_owned();
    for token in [
        run.clone(),
        format!("{run}-1"),
        format!("{run}-1-"),
        format!("{run}-1-{}", "A".repeat(43)),
        format!("{run}-2-{}", "A".repeat(43)),
        format!("{run}-1-{}", "A".repeat(4000)),
        format!("{run}-99999999999999999999-x"),
        "..".into(),
        "%00".into(),
    ] {
        for verb in ["resume", "cancel"] {
            let got =
                raw(&field.server, format!("POST /{verb}/{token} HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").as_bytes()).await;
            assert_eq!(status(&got), 404, "{verb} {token}: {got}");
        }
    }
    assert_eq!(
        field.server.get(&format!("/runs/{run}")).await.data()["status"],
        "paused",
        "none of them woke it"
    );
    field.healthy().await;
}

#[tokio::test]
async fn refusals_tell_nothing_of_the_server() {
    let field = Field::start().await;
    let data = field.server.data_dir();
    let data = data.to_str().expect("text");
    let post = |path: &str, body: Value| {
        field
            .server
            .raw(Method::POST, &format!("/v1{path}"))
            .bearer_auth(&field.server.api_key)
            .json(&body)
    };
    let get = |path: &str| {
        field.server.raw(Method::GET, &format!("/v1{path}")).bearer_auth(&field.server.api_key)
    };
    for request in [
        get("/runs/'%20OR%201=1--"),
        get("/users/me/sources?after=%FF%FE"),
        get("/users/me/sources?limit=99999999999999999999"),
        post("/sources", json!({ "component_code": "import '/etc/passwd'; export default {};" })),
        post(
            "/sources",
            json!({ "component_code": "import x from './../../../../etc/passwd'; export default {};" }),
        ),
        post("/sources", json!({ "component_code": "export default {{{{" })),
        post("/sources", json!({ "component_code": "throw new Error('top'); export default {};" })),
        post("/sources", json!({ "component_url": "file:///etc/passwd" })),
        post("/workflows", json!({ "steps": [{ "namespace": "../../x", "code": "x" }] })),
        post("/subscriptions", json!({ "emitter_id": { "$gt": "" } })),
    ] {
        let got = answer(request).await;
        assert!(got.status < 500, "{}", got.text);
        for told in [data, "panicked", ".rs:", "root:", "SELECT ", "sqlite"] {
            assert!(!got.text.contains(told), "`{told}` is told: {}", got.text);
        }
    }
    field.healthy().await;
}

/// The run page keeps the API key in storage of this server's origin: no answer of a component may
/// be a page of that origin, however it is dressed.
#[tokio::test]
async fn a_page_of_a_component_has_an_origin_of_its_own() {
    let field = Field::start().await;
    let code = "export default { name: 'page', version: '1', props: { http: { type: '$.interface.http', customResponse: true } },
        run(event) { this.http.respond({ status: 200, headers: event.body, body: '<script>steal(sessionStorage)</script>' }); } };";
    let source = field.server.source(code, json!({})).await;
    for headers in [
        json!({ "content-type": "text/html" }),
        json!({ "content-type": "TEXT/HTML;charset=utf-8", "content-security-policy": "script-src 'unsafe-inline'" }),
        json!({ "content-type": "image/svg+xml" }),
        json!({ "content-type": "text/plain, text/html" }),
        json!({ "content-type": "text/plain;charset=utf-8,text/html" }),
        json!({ "content-type": ["text/plain", "text/html"] }),
        json!({ "content-type": "text/plain", "Content-Type": "text/html" }),
        json!({ "content-type": "text/plainhtml" }),
        json!({ "content-type": "" }),
        json!({ "content-type": "text/plain", "x-content-type-options": "none" }),
        json!({}),
    ] {
        let got = field
            .server
            .raw(Method::POST, &endpoint(&source))
            .json(&headers)
            .send()
            .await
            .expect("answers");
        assert_eq!(got.status().as_u16(), 200, "{headers}");
        let all = |name: &str| {
            got.headers()
                .get_all(name)
                .iter()
                .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
                .collect::<Vec<_>>()
        };
        let kinds = all("content-type");
        let essence = kinds[0].split(';').next().unwrap_or("").trim().to_ascii_lowercase();
        let is_text = kinds.len() == 1
            && !kinds[0].contains(',')
            && ["text/plain", "application/json"].contains(&essence.as_str());
        let sandboxed = all("content-security-policy")
            .iter()
            .any(|policy| policy.starts_with("sandbox") && !policy.contains("allow-same-origin"));
        assert!(
            sandboxed || (is_text && all("x-content-type-options") == ["nosniff"]),
            "{headers}: {:?}",
            got.headers()
        );
    }
    field.healthy().await;
}
