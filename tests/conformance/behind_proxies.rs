//! Reverse proxies that are trusted, the PROXY protocol, and TLS of the server's own, through raw
//! sockets. Loopback has many addresses: 127.0.0.2 is the trusted proxy, 127.0.0.1 anybody.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use millrace_tests::browser::{Browser, PASSWORD, token};
use millrace_tests::cli::Shell;
use millrace_tests::{Client, Server, endpoint};
use reqwest::{Certificate, Method};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpSocket;

const ECHO: &str = "export default { name: 'h', version: '1', props: { http: { type: '$.interface.http', customResponse: true } }, run(event) { this.http.respond({ status: 200, body: { ip: event.client_ip, url: event.url, xff: event.headers['x-forwarded-for'] } }); } };";

/// All that comes back where `from` sends bytes.
async fn sent(server: &Client, from: &str, bytes: &[u8]) -> String {
    let to: SocketAddr =
        server.url.split("://").nth(1).expect("an address").parse().expect("an address");
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind(format!("{from}:0").parse().expect("an address")).expect("binds");
    let mut stream = socket.connect(to).await.expect("connects");
    stream.write_all(bytes).await.expect("sends");
    let mut got = Vec::new();
    // A connection that is closed with bytes unread is reset.
    let _ = stream.read_to_end(&mut got).await;
    String::from_utf8_lossy(&got).into_owned()
}

fn request(path: &str, headers: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: inside.test\r\nconnection: close\r\n{headers}\r\n")
}

async fn seen(server: &Client, from: &str, before: &[u8], path: &str, headers: &str) -> Value {
    let answer = sent(server, from, &[before, request(path, headers).as_bytes()].concat()).await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    serde_json::from_str(answer.split("\r\n\r\n").nth(1).expect("a body")).expect("JSON")
}

async fn echo(server: &Client) -> String {
    let source = server.source(ECHO, json!({})).await;
    endpoint(&source).trim_start_matches(server.url.as_str()).to_owned()
}

#[tokio::test]
async fn clients_behind_a_trusted_proxy_have_their_own_address_scheme_and_host() {
    let server = Server::start_with(&[
        "--trusted-proxy",
        "127.0.0.2,10.0.0.0/8",
        "--trusted-proxy",
        "fd00::/8",
    ])
    .await;
    let path = echo(&server).await;
    let told = "X-Forwarded-For: 6.6.6.6, 203.0.113.9, 10.1.2.3\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: out.test:8443\r\n";
    for (from, headers, ip, url) in [
        ("127.0.0.2", told, "203.0.113.9", "https://out.test:8443"),
        ("127.0.0.1", told, "127.0.0.1", "http://inside.test"),
        ("127.0.0.2", "", "127.0.0.2", "http://inside.test"),
        (
            "127.0.0.2",
            "X-Forwarded-For: 6.6.6.6\r\nX-Forwarded-For: [2001:db8::1]:99\r\n",
            "2001:db8::1",
            "http://inside.test",
        ),
        (
            "127.0.0.2",
            "Forwarded: for=6.6.6.6, For=\"[2001:db8::7]:1\";proto=https;host=out.test, for=\"[fd00::1]\"\r\n",
            "2001:db8::7",
            "https://out.test",
        ),
        (
            "127.0.0.1",
            "Forwarded: for=203.0.113.9;proto=https\r\n",
            "127.0.0.1",
            "http://inside.test",
        ),
        (
            "127.0.0.2",
            "X-Forwarded-For: 203.0.113.9\r\nForwarded: for=6.6.6.6;proto=https\r\n",
            "203.0.113.9",
            "http://inside.test",
        ),
        ("127.0.0.2", "X-Forwarded-For: 6.6.6.6, \u{fffd}\r\n", "127.0.0.2", "http://inside.test"),
    ] {
        let event = seen(&server, from, b"", &path, headers).await;
        assert_eq!(
            (&event["ip"], &event["url"]),
            (&json!(ip), &json!(format!("{url}{path}"))),
            "{from} {headers}"
        );
    }
    // Code sees the headers as they came.
    assert_eq!(
        seen(&server, "127.0.0.2", b"", &path, told).await["xff"],
        "6.6.6.6, 203.0.113.9, 10.1.2.3"
    );
    // A host that is none is refused as one in `Host` is.
    let refused =
        sent(&server, "127.0.0.2", request(&path, "X-Forwarded-Host: a/b\r\n").as_bytes()).await;
    assert!(refused.starts_with("HTTP/1.1 400 "), "{refused}");
}

#[tokio::test]
async fn a_domain_behind_a_trusted_proxy_is_found_by_the_host_that_the_client_sent() {
    let server = Server::start_with(&["--trusted-proxy", "127.0.0.2"]).await;
    let answer = "export default defineComponent({ async run({ steps, $ }) { await $.respond({ status: 200, body: { url: steps.trigger.event.url } }); } })";
    let workflow = server.workflow("w", json!([{ "type": "http" }]), &[("a", answer)]).await;
    let hook = &workflow["triggers"][0]["id"];
    server
        .post("/domains", &json!({ "domain": "hooks.example.com", "endpoint_id": hook }))
        .await
        .data();
    let told = "X-Forwarded-Host: hooks.example.com\r\nX-Forwarded-Proto: https\r\n";
    assert_eq!(
        seen(&server, "127.0.0.2", b"", "/any", told).await["url"],
        "https://hooks.example.com/any"
    );
    let elsewhere = sent(&server, "127.0.0.1", request("/any", told).as_bytes()).await;
    assert!(elsewhere.starts_with("HTTP/1.1 404 "), "{elsewhere}");
}

#[tokio::test]
async fn wrong_keys_count_for_the_client_and_not_for_its_trusted_proxy() {
    let server = Server::start_with(&["--trusted-proxy", "127.0.0.2"]).await;
    let shown = |client: &str| {
        request(
            "/v1/users/me",
            &format!("authorization: Bearer wrong\r\nx-forwarded-for: {client}\r\n"),
        )
    };
    let mut last = String::new();
    for _ in 0..=300 {
        last = sent(&server, "127.0.0.2", shown("203.0.113.9").as_bytes()).await;
    }
    assert!(last.starts_with("HTTP/1.1 429 "), "{last}");
    let other = sent(&server, "127.0.0.2", shown("203.0.113.10").as_bytes()).await;
    assert!(other.starts_with("HTTP/1.1 401 "), "{other}");
}

#[tokio::test]
async fn the_proxy_protocol_is_read_from_trusted_proxies_only() {
    let server = Server::start_with(&["--trusted-proxy", "127.0.0.2", "--proxy-protocol"]).await;
    let path = echo(&server).await;
    let v2 = |command: u8, family: u8, rest: &[u8]| {
        let length = u16::try_from(rest.len()).expect("fits").to_be_bytes();
        [b"\r\n\r\n\0\r\nQUIT\n", &[0x20 | command, family][..], &length, rest].concat()
    };
    let v4 = [203, 0, 113, 9, 127, 0, 0, 1, 0x1f, 0x90, 0, 80];
    let tls = [&v4[..], &[0x20, 0, 5, 1, 0, 0, 0, 0]].concat();
    let v6 = ["2001:db8::9", "::1"]
        .map(|ip| ip.parse::<std::net::Ipv6Addr>().expect("an address").octets())
        .concat();
    let v6 = [&v6[..], &[0x1f, 0x90, 0, 80]].concat();
    for (header, ip, scheme) in [
        (b"PROXY TCP4 203.0.113.9 127.0.0.1 8080 80\r\n".to_vec(), "203.0.113.9", "http"),
        (b"PROXY TCP6 2001:db8::9 ::1 8080 80\r\n".to_vec(), "2001:db8::9", "http"),
        (b"PROXY UNKNOWN\r\n".to_vec(), "127.0.0.2", "http"),
        (v2(1, 0x11, &v4), "203.0.113.9", "http"),
        (v2(1, 0x11, &tls), "203.0.113.9", "https"),
        (v2(1, 0x21, &v6), "2001:db8::9", "http"),
        (v2(0, 0, &[]), "127.0.0.2", "http"),
    ] {
        let event = seen(&server, "127.0.0.2", &header, &path, "").await;
        assert_eq!(
            (&event["ip"], &event["url"]),
            (&json!(ip), &json!(format!("{scheme}://inside.test{path}"))),
            "{}",
            header.escape_ascii()
        );
    }
    // Headers of the client itself are not a proxy's.
    let event = seen(
        &server,
        "127.0.0.2",
        b"PROXY TCP4 203.0.113.9 127.0.0.1 8080 80\r\n",
        &path,
        "X-Forwarded-For: 6.6.6.6\r\n",
    )
    .await;
    assert_eq!(event["ip"], "203.0.113.9");
    // Nothing is guessed: of a trusted proxy a header is expected, of others none is read.
    for bytes in [
        request(&path, ""),
        format!("PROXY TCP4 nonsense\r\n{}", request(&path, "")),
        format!("PROXY {}", "x".repeat(500)),
    ] {
        assert_eq!(sent(&server, "127.0.0.2", bytes.as_bytes()).await, "", "{bytes}");
    }
    let told = sent(
        &server,
        "127.0.0.1",
        format!("PROXY TCP4 203.0.113.9 127.0.0.1 1 1\r\n{}", request(&path, "")).as_bytes(),
    )
    .await;
    assert!(told.starts_with("HTTP/1.1 400 "), "{told}");
}

#[tokio::test]
async fn a_server_does_not_start_with_a_proxy_that_is_no_range_or_half_of_tls() {
    for (args, words) in [
        (&["--trusted-proxy", ""][..], "names no proxy"),
        (&["--trusted-proxy", "proxy.internal"], "names no proxy"),
        (&["--trusted-proxy", "10.0.0.1/8"], "10.0.0.0/8"),
        (&["--proxy-protocol"], "--trusted-proxy"),
        (&["--tls-cert", "/nowhere.pem"], "belong together"),
        (&["--tls-cert", "/nowhere.pem", "--tls-key", "/nowhere.key"], "/nowhere.pem"),
    ] {
        let mut server = Server::new_at_rest(args);
        assert!(!server.try_launch().await, "{args:?}");
        assert!(server.log().contains(words), "{args:?}: {}", server.log());
    }
}

/// TLS ends at the proxy, and `--base-url` says that there is one.
#[tokio::test]
async fn a_session_s_cookie_is_for_tls_alone_where_clients_reach_the_server_by_https() {
    let mut server = Server::start().await;
    Browser::first_owner(&server, "mara@x.test").await;
    let body = json!({ "email": "mara@x.test", "password": PASSWORD }).to_string();
    for (base, is_secure) in [("https://out.test", true), ("http://out.test", false)] {
        server.terminate();
        server.set_args(&["--base-url", base, "--trusted-proxy", "127.0.0.2"]);
        server.begin();
        server.until_log(base).await;
        // Whatever a request says of its scheme.
        for (from, proto) in [("127.0.0.2", "https"), ("127.0.0.2", "http"), ("127.0.0.1", "http")]
        {
            let head = format!(
                "POST /v1/session HTTP/1.1\r\nhost: out.test\r\norigin: {base}\r\nsec-fetch-site: same-origin\r\nx-millrace-csrf: 1\r\nx-forwarded-proto: {proto}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                body.len()
            );
            let answer =
                sent(&server, from, [head.as_bytes(), body.as_bytes()].concat().as_slice()).await;
            assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
            let set = answer.lines().find_map(|line| line.strip_prefix("set-cookie: "));
            let set = set.unwrap_or_else(|| panic!("no cookie: {answer}"));
            assert!(set.starts_with("millrace_session=mru_"), "{set}");
            assert_eq!(set.ends_with("; Secure"), is_secure, "{base} {from} {proto}: {set}");
        }
    }
}

struct Pair {
    cert: String,
    key: String,
}

fn pair() -> Pair {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("a certificate");
    Pair { cert: made.cert.pem(), key: made.signing_key.serialize_pem() }
}

/// A client that knows one certificate, and no connection that was made before.
fn client(pair: &Pair) -> reqwest::Client {
    let root = Certificate::from_pem(pair.cert.as_bytes()).expect("a certificate");
    reqwest::Client::builder()
        .tls_built_in_root_certs(false)
        .add_root_certificate(root)
        .pool_max_idle_per_host(0)
        .build()
        .expect("a client")
}

/// Asks until there is an answer.
async fn until_answered(
    client: &reqwest::Client,
    url: impl Fn() -> String,
    log: impl Fn() -> String,
) -> reqwest::Response {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        if let Ok(answer) = client.get(url()).send().await
            && answer.status().is_success()
        {
            return answer;
        }
        assert!(Instant::now() < deadline, "no answer: {}", log());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn a_server_speaks_tls_and_follows_its_certificate() {
    let dir = tempfile::tempdir().expect("a folder");
    let [cert, key] = ["cert.pem", "key.pem"].map(|name| dir.path().join(name));
    let write = |pair: &Pair| {
        std::fs::write(&cert, &pair.cert).expect("writes");
        std::fs::write(&key, &pair.key).expect("writes");
    };
    let (first, second) = (pair(), pair());
    write(&first);
    let mut server = Server::new_at_rest(&[
        "--tls-cert",
        cert.to_str().expect("a path"),
        "--tls-key",
        key.to_str().expect("a path"),
        "--trusted-proxy",
        "127.0.0.2",
    ]);
    server.begin();
    let credentials = server.data_dir().join("credentials.json");
    let url = || {
        let text = std::fs::read_to_string(&credentials).unwrap_or_default();
        serde_json::from_str::<Value>(&text).map_or_else(
            |_| "https://127.0.0.1:1".into(),
            |c| c["url"].as_str().unwrap_or("").to_owned(),
        )
    };
    let known = client(&first);
    until_answered(&known, || format!("{}/readyz", url()), || server.log()).await;
    let base = url();
    assert!(base.starts_with("https://127.0.0.1:"), "{base}");
    let text = std::fs::read_to_string(&credentials).expect("reads");
    let secret = serde_json::from_str::<Value>(&text).expect("JSON")["api_key"]
        .as_str()
        .expect("a key")
        .to_owned();
    // The cookie of a session is for TLS alone, from its begin to its end.
    let link = known.post(format!("{base}/v1/setup_links")).bearer_auth(&secret).json(&json!({}));
    let link: Value = link.send().await.expect("an answer").json().await.expect("JSON");
    let owner = json!({ "email": "mara@x.test", "password": PASSWORD });
    let visit =
        json!({ "token": token(&link["data"]), "email": owner["email"], "password": PASSWORD });
    let mut cookie = String::new();
    for (method, path, body) in [
        (Method::POST, "/links/use", &visit),
        (Method::POST, "/session", &owner),
        (Method::DELETE, "/session", &json!({})),
    ] {
        let request = known.request(method, format!("{base}/v1{path}")).json(body);
        let answer = request
            .header("x-millrace-csrf", "1")
            .header("cookie", &cookie)
            .send()
            .await
            .expect("an answer");
        assert_eq!(answer.status().as_u16(), 200, "{path}");
        let set = answer.headers()["set-cookie"].to_str().expect("text");
        assert!(set.ends_with("; Secure"), "{path}: {set}");
        cookie = set.split(';').next().expect("a cookie").to_owned();
    }
    let made = known
        .post(format!("{base}/v1/sources"))
        .bearer_auth(secret)
        .json(&json!({ "component_code": ECHO }))
        .send()
        .await
        .expect("an answer");
    let source = made.json::<Value>().await.expect("JSON")["data"].take();
    let at = endpoint(&source);
    assert!(at.starts_with(&base), "{at}");
    let event: Value = known.get(&at).send().await.expect("an answer").json().await.expect("JSON");
    assert_eq!((&event["ip"], &event["url"]), (&json!("127.0.0.1"), &json!(at)));
    let shell = Shell::alone();
    let untrusted = shell.run(&["list", "sources", "--url", &base, "--api-key", "k"]).fails(1);
    assert!(
        untrusted.contains("certificate") && untrusted.contains("SSL_CERT_FILE"),
        "{untrusted}"
    );
    // What does not belong together is not taken: the one before stays.
    std::fs::write(&cert, &second.cert).expect("writes");
    for _ in 0..3 {
        assert!(known.get(format!("{base}/healthz")).send().await.is_ok());
    }
    write(&second);
    let renewed = client(&second);
    until_answered(&renewed, || format!("{base}/healthz"), || server.log()).await;
    assert!(client(&first).get(format!("{base}/healthz")).send().await.is_err());
    // Who speaks without TLS is not answered.
    server.url = base;
    assert!(
        !sent(&server, "127.0.0.1", request("/healthz", "").as_bytes()).await.starts_with("HTTP/")
    );
}
