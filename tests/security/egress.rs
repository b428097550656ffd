//! Addresses that are no component's business: the cloud's metadata, this machine, the networks
//! beside it.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::time::Duration;

use millrace_tests::receiver::{Does, Receiver};
use millrace_tests::websocket::EchoServer;
use millrace_tests::{Server, endpoint, id};
use reqwest::Method;
use serde_json::json;

use crate::support::Field;

const REFUSED: &[&str] = &["EACCES"];
/// What attacks use; each fails with the error of the system.
const TOOLS: &str = "const net = await import('node:net'); const dgram = await import('node:dgram'); const http = await import('node:http');
const tcp = (port, host) => new Promise((y, n) => net.connect({ port, host, autoSelectFamily: false }).on('connect', () => y('in')).on('error', n));
const udp = (port, host, kind = 'udp4') => new Promise((y, n) => { const s = dgram.createSocket(kind); s.on('error', n).send('attack', port, host, (e) => e ? n(e) : y('sent')); });
const get = async (url) => { try { return await (await fetch(url)).text(); } catch (e) { throw e.cause?.errors?.[0] ?? e.cause ?? e; } };";

async fn refused(field: &Field, attack: &str) {
    field.refused(&format!("{TOOLS} {attack}"), REFUSED).await;
}

/// A web server of the machine that answers everything with this, and its port.
fn serve(answer: String) -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut request = [0; 4096];
            // One that sends nothing gets its answer too.
            let _ = stream.read(&mut request).and_then(|_| stream.write_all(answer.as_bytes()));
        }
    });
    port
}

fn secret() -> u16 {
    serve("HTTP/1.1 200 OK\r\ncontent-length: 6\r\nconnection: close\r\n\r\nsecret".into())
}

#[tokio::test]
async fn the_metadata_address_is_closed_in_all_its_forms() {
    let field = Field::start().await;
    for attack in [
        "return get('http://169.254.169.254/latest/meta-data/');",
        "return get('http://2852039166/latest/meta-data/');",
        "return get('http://0xa9fea9fe/');",
        "return get('http://[::ffff:169.254.169.254]/');",
        "return get('http://[fd00:ec2::254]/');",
        "return get('http://[64:ff9b::a9fe:a9fe]/');",
        "return udp(80, '169.254.169.254');",
    ] {
        refused(&field, attack).await;
    }
}

#[tokio::test]
async fn this_machine_is_closed_by_address_by_name_and_by_packet() {
    let field = Field::start().await;
    let port = secret();
    let server = field.server.url.rsplit(':').next().expect("a port").to_owned();
    for attack in [
        format!("return get('http://127.0.0.1:{port}/');"),
        format!("return get('http://localhost:{port}/');"),
        // Not every machine knows this name.
        format!("return tcp({port}, 'ip6-localhost').catch((e) => {{ if (e.code === 'ENOTFOUND') e.code = 'EACCES'; throw e; }});"),
        format!("return tcp({port}, '0.0.0.0');"),
        format!("return tcp({port}, '::');"),
        format!("return tcp({port}, '::ffff:127.0.0.1');"),
        format!("return tcp({port}, '::ffff:0:0');"),
        format!("return tcp({port}, '017700000001');"),
        format!("return tcp({port}, '0x7f.0.0.1');"),
        format!("return tcp({port}, '127.1');"),
        format!("return new Promise((y, n) => http.get('http://127.0.0.1:{port}/', () => y('in')).on('error', n));"),
        format!("return tcp({server}, '127.0.0.1');"),
        format!("return get('http://127.0.0.1:{server}/readyz');"),
        // An answer that names a closed address, whoever gave it.
        format!("const lookup = (name, options, done) => setImmediate(done, null, options.all ? [{{ address: '127.0.0.1', family: 4 }}] : '127.0.0.1', 4); return await new Promise((y, n) => http.get('http://rebound.test:{port}/', {{ lookup }}, () => y('in')).on('error', n));"),
        "return tcp(5432, '127.0.0.1');".into(),
        "return tcp(80, '10.0.0.1');".into(),
        "return udp(53, '8.8.8.8');".into(),
        "const own = Object.values(os.networkInterfaces()).flat().find((i) => !i.internal && i.family === 'IPv4'); return tcp(at.server % 60000 + 1, own?.address ?? '127.0.0.1');".into(),
    ] {
        refused(&field, &attack).await;
    }
}

#[tokio::test]
async fn a_websocket_reaches_what_fetch_reaches_and_nothing_else() {
    let echo = EchoServer::start().await;
    let open = format!(
        "const open = (url) => new Promise((yes) => {{ const socket = new WebSocket(url); socket.onopen = () => {{ socket.close(); yes('in'); }}; socket.onerror = () => yes('shut'); }}); const port = {};",
        echo.port
    );
    let all = format!(
        "{open} const said = []; for (const host of ['127.0.0.1', 'localhost', '[::ffff:127.0.0.1]', '0.0.0.0', '2130706433']) for (const scheme of ['ws', 'wss', 'http'])
           said.push(await open(`${{scheme}}://${{host}}:${{port}}/`)); return [...new Set(said)].join();"
    );
    let field = Field::start().await;
    let source = field.deploy(&all).await;
    assert_eq!((field.send(&source).await.text.as_str(), echo.connections()), ("open: shut", 0));
    let opened = Field::start_with(&["--egress-allow", "127.0.0.1/32"]).await;
    let source = opened.deploy(&format!("{open} return open(`ws://127.0.0.1:${{port}}/`);")).await;
    assert_eq!((opened.send(&source).await.text.as_str(), echo.connections()), ("open: in", 1));
}

#[tokio::test]
async fn a_scan_of_the_machine_finds_nothing() {
    let field = Field::start().await;
    let port = secret();
    let scan = format!(
        "{TOOLS} const found = {{}}; for (let n = {port} - 300; n < {port} + 300; n++) {{ const code = await tcp(n, '127.0.0.1').catch((e) => e.code); found[code] = (found[code] ?? 0) + 1; }} return JSON.stringify(found);"
    );
    let source = field.deploy(&scan).await;
    assert_eq!(field.send(&source).await.text, r#"open: {"EACCES":600}"#);
    field.healthy().await;
}

#[tokio::test]
async fn datagrams_do_not_get_out_by_any_call() {
    let field = Field::start().await;
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    socket.set_read_timeout(Some(Duration::from_millis(200))).expect("sets");
    let port = socket.local_addr().expect("an address").port();
    for attack in [
        format!("return udp({port}, '127.0.0.1');"),
        format!("return udp({port}, '::ffff:127.0.0.1', 'udp6');"),
        format!(
            "return new Promise((y, n) => {{ const s = dgram.createSocket('udp4'); s.on('error', n).connect({port}, '127.0.0.1', (e) => {{ if (e) return n(e); s.send('x', () => y('sent')); }}); }});"
        ),
        format!(
            "const s = dgram.createSocket('udp4'); const all = []; for (let k = 0; k < 50; k++) all.push(new Promise((y, n) => s.send(['a', 'b'], {port}, '127.0.0.1', (e) => e ? n(e) : y()))); await Promise.all(all); return 'sent';"
        ),
        "return udp(9, '255.255.255.255');".into(),
        "return udp(9, '224.0.0.1');".into(),
    ] {
        refused(&field, &attack).await;
    }
    assert!(socket.recv(&mut [0; 16]).is_err(), "a datagram arrived");
}

#[tokio::test]
async fn local_sockets_stay_closed() {
    let field = Field::start().await;
    // Somebody listens, and lets everybody in.
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("socket");
    let listeners = [
        UnixListener::bind(&path).expect("listens"),
        UnixListener::bind_addr(
            &SocketAddr::from_abstract_name(format!("millrace-{}", std::process::id()))
                .expect("a name"),
        )
        .expect("listens"),
    ];
    for (path, mode) in [(dir.path(), 0o755), (&path, 0o777)] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("opens it");
    }
    let connect = |to: &str| {
        format!(
            "{TOOLS} return await new Promise((y, n) => net.connect('{to}').on('connect', () => y('in')).on('error', n));"
        )
    };
    // `/.`: the runtime leads /tmp elsewhere; that is no wall.
    let (path, name) =
        (format!("/.{}", path.display()), format!("\\0millrace-{}", std::process::id()));
    for to in [path.as_str(), name.as_str(), "/run/dbus/system_bus_socket", "/var/run/docker.sock"]
    {
        field.refused(&connect(to), &["EPERM", "EACCES"]).await;
    }
    for listener in listeners {
        listener.set_nonblocking(true).expect("sets");
        assert!(listener.accept().is_err(), "a connection arrived");
    }
}

#[tokio::test]
async fn what_is_allowed_works_and_a_redirect_from_there_leads_nowhere_else() {
    let (open, shut) = (secret(), secret());
    let leads = serve(format!(
        "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:{shut}/\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    ));
    let field =
        Field::start_with(&["--egress-allow", &format!("127.0.0.1:{open},localhost:{leads}")])
            .await;
    let source = field.deploy(&format!("{TOOLS} return get('http://127.0.0.1:{open}/');")).await;
    assert_eq!(field.send(&source).await.text, "open: secret");
    refused(&field, &format!("return get('http://localhost:{leads}/');")).await;
    refused(&field, &format!("return get('http://127.0.0.1:{shut}/');")).await;
}

#[tokio::test]
async fn a_refused_connection_is_an_error_of_the_step_and_a_line_of_its_output() {
    let field = Field::start().await;
    let source = field
        .deploy(&format!(
            "{TOOLS} try {{ await tcp(80, '169.254.169.254'); }} catch (e) {{ setTimeout(() => {{ throw e; }}); await new Promise(() => {{}}); }}"
        ))
        .await;
    field.send(&source).await;
    let path = format!("/sources/{}/runs?status=failed", source["id"].as_str().expect("an id"));
    let runs =
        field.server.until("the run fails", &path, |l| l["page_info"]["total_count"] == 1).await;
    let run = &runs["data"][0];
    let logs = field
        .server
        .get(&format!("/sources/{}/logs", source["id"].as_str().expect("an id")))
        .await
        .text;
    let message = run["error"]["message"].as_str().unwrap_or_default();
    for words in ["EACCES", "169.254.169.254:80", "link-local", "--egress-allow 169.254.169.254:80"]
    {
        assert!(
            logs.contains(words) && message.contains(words),
            "`{words}` is not in both: {run}\n{logs}"
        );
    }
}

#[tokio::test]
async fn a_refused_fetch_names_the_rule_in_its_error() {
    let field = Field::start().await;
    let code = "export default { name: 'f', version: '1', async run() { await fetch('http://169.254.169.254/latest/'); } };";
    let source = field.server.source(code, json!({})).await;
    let run = field
        .server
        .post(&format!("/sources/{}/run", source["id"].as_str().expect("an id")), &json!({}))
        .await
        .data();
    let message = run["error"]["message"].as_str().unwrap_or_default();
    assert!(
        message.starts_with("fetch failed: ")
            && message.contains("link-local")
            && message.contains("--egress-allow 169.254.169.254:80"),
        "{run}"
    );
}

/// Nobody reads what a hook or a form's method prints: what they say has to say it.
#[tokio::test]
async fn a_refused_connection_of_a_hook_or_a_form_names_the_rule_in_its_error() {
    let field = Field::start().await;
    let net = "const get = async () => { const net = await import('node:net'); await new Promise((y, n) => net.connect(80, '169.254.169.254').on('error', n)); };";
    let names_it = |text: &str| {
        ["EACCES", "link-local", "--egress-allow 169.254.169.254:80"]
            .iter()
            .all(|words| text.contains(words))
    };
    let hook = format!(
        "{net} export default {{ name: 'h', version: '1', hooks: {{ activate: get }}, run() {{}} }};"
    );
    let refused = field.server.post("/sources", &json!({ "component_code": hook })).await;
    assert_eq!(refused.refusal(), (422, "hook_failed"));
    assert!(names_it(refused.json["error"].as_str().unwrap_or_default()), "{}", refused.text);
    let form = format!(
        "{net} export default {{ name: 'f', version: '1', props: {{ a: {{ type: 'string', options: get }} }}, additionalProps: get, run() {{}} }};"
    );
    let saved = field.server.post("/components", &json!({ "component_code": form })).await.data();
    for (path, asked) in [
        ("/components/configure", json!({ "id": saved["id"], "prop_name": "a" })),
        ("/components/props", json!({ "id": saved["id"] })),
    ] {
        let answer = field.server.post(path, &asked).await;
        assert!(
            answer.status == 200 && names_it(answer.json["errors"][0].as_str().unwrap_or_default()),
            "{path}: {}",
            answer.text
        );
    }
}

#[tokio::test]
async fn a_flood_of_connections_leaves_the_server_alone() {
    let field = Field::start().await;
    let flood = format!(
        "{TOOLS} for (;;) {{ for (let k = 0; k < 300; k++) net.connect(7, '127.0.0.1').on('error', () => {{}}); await new Promise(setImmediate); }}"
    );
    let source = field.begin(&flood, 3000).await;
    for _ in 0..10 {
        field.healthy().await;
    }
    assert_eq!(field.ends(&source).await["code"], "Timeout");
}

/// What the server sends for users goes by the same rules.
#[tokio::test]
async fn webhooks_sends_and_providers_are_no_way_around() {
    let field = Field::start().await;
    let port = secret();
    for url in [
        format!("http://127.0.0.1:{port}/"),
        format!("http://[::ffff:127.0.0.1]:{port}/"),
        format!("http://2130706433:{port}/"),
        "http://169.254.169.254/latest/".into(),
        "http://10.0.0.1/".into(),
    ] {
        let refusal = field.server.post("/webhooks", &json!({ "url": url })).await;
        assert_eq!(refusal.refusal(), (422, "invalid_field"), "{}", refusal.text);
        assert!(
            refusal.json["error"].as_str().is_some_and(|e| e.contains("--egress-allow")),
            "{}",
            refusal.text
        );
    }
    // A name may be made and may lead anywhere: it is looked up when something is sent, and then
    // refused for good.
    let hook = field
        .server
        .post("/webhooks", &json!({ "url": format!("http://localhost:{port}/") }))
        .await
        .data();
    let code = "export default { name: 's', version: '1', run() { this.$emit({ n: 1 }); } };";
    let source = field.server.source(code, json!({})).await;
    field
        .server
        .post("/subscriptions", &json!({ "emitter_id": source["id"], "listener_id": hook["id"] }))
        .await
        .data();
    field
        .server
        .post(&format!("/sources/{}/run", source["id"].as_str().expect("an id")), &json!({}))
        .await
        .data();
    let path =
        format!("/webhooks/{}/deliveries?status=failed", hook["id"].as_str().expect("an id"));
    let dead =
        field.server.until("it is refused", &path, |l| l["page_info"]["total_count"] == 1).await;
    assert!(
        dead["data"][0]["last_error"]
            .as_str()
            .is_some_and(|e| e.contains("loopback") && e.contains("--egress-allow")),
        "{dead}"
    );
    // A provider of OAuth that an app names.
    let app = json!({ "name_slug": "inside", "name": "Inside", "auth_type": "oauth", "oauth": { "client_id": "c", "client_secret": "s", "authorize_url": "https://a.test/auth", "token_url": format!("http://127.0.0.1:{port}/token") } });
    field.server.post("/apps", &app).await.data();
    let link = field.server.post("/accounts/connect", &json!({ "app": "inside" })).await.data();
    let url =
        reqwest::Url::parse(link["connect_url"].as_str().expect("an address")).expect("an address");
    let state =
        url.query_pairs().find(|(name, _)| name == "state").expect("a state").1.into_owned();
    let page = field
        .server
        .raw(reqwest::Method::GET, "/oauth/callback")
        .query(&[("state", state.as_str()), ("code", "x")])
        .send()
        .await
        .expect("answers");
    assert_eq!(page.status().as_u16(), 400);
    let text = page.text().await.expect("a page");
    assert!(text.contains("loopback") && !text.contains("secret"), "{text}");
    field.healthy().await;
}

#[tokio::test]
async fn components_are_not_fetched_from_closed_addresses() {
    let field = Field::start().await;
    let port = serve("HTTP/1.1 200 OK\r\ncontent-length: 44\r\nconnection: close\r\n\r\nexport default { name: 'x', run() {} }; //...".into());
    for (url, rule) in [
        (format!("http://127.0.0.1:{port}/c.mjs"), "loopback"),
        (format!("http://localhost:{port}/c.mjs"), "loopback"),
        (format!("http://2130706433:{port}/c.mjs"), "loopback"),
        (format!("http://[::ffff:127.0.0.1]:{port}/c.mjs"), "loopback"),
        ("http://169.254.169.254/latest/meta-data/".into(), "link-local"),
    ] {
        let refusal = field.server.post("/sources", &json!({ "component_url": url })).await;
        assert_eq!(refusal.refusal(), (422, "fetch_failed"), "{}", refusal.text);
        assert!(
            refusal.json["error"]
                .as_str()
                .is_some_and(|e| e.contains(rule) && e.contains("--egress-allow")),
            "{}",
            refusal.text
        );
    }
    assert_eq!(
        field.server.get("/users/me/sources").await.json["page_info"]["total_count"],
        1,
        "the neighbour alone"
    );
    // What is allowed is fetched; where it leads on to what is not, it is refused, however it is
    // written.
    let code = "export default { name: 'fetched', version: '1', run() {} };";
    let fetched = serve(format!(
        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{code}",
        code.len()
    ));
    let led = |to: &str| {
        serve(format!(
            "HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        ))
    };
    let leads = [
        (led(&format!("http://127.0.0.1:{port}/c.mjs")), "loopback"),
        (led(&format!("http://localhost:{port}/c.mjs")), "loopback"),
        (led(&format!("//[::ffff:127.0.0.1]:{port}/c.mjs")), "loopback"),
        (led("http://169.254.169.254/latest/meta-data/"), "link-local"),
        (led("file:///etc/passwd"), "http:"),
    ];
    let open = leads
        .iter()
        .map(|(port, _)| *port)
        .chain([fetched])
        .map(|port| format!("127.0.0.1:{port}"))
        .collect::<Vec<_>>()
        .join(",");
    let field = Field::start_with(&["--egress-allow", &open]).await;
    for (lead, rule) in leads {
        let refusal = field
            .server
            .post("/sources", &json!({ "component_url": format!("http://127.0.0.1:{lead}/c.mjs") }))
            .await;
        assert_eq!(refusal.refusal(), (422, "fetch_failed"), "{}", refusal.text);
        assert!(
            refusal.json["error"].as_str().is_some_and(|e| e.contains(rule))
                && !refusal.text.contains("root:"),
            "{}",
            refusal.text
        );
    }
    field
        .server
        .post("/sources", &json!({ "component_url": format!("http://127.0.0.1:{fetched}/c.mjs") }))
        .await
        .data();
}

#[tokio::test]
async fn webhooks_are_sent_to_what_was_decided_on_and_to_no_proxy_of_the_environment() {
    let (receiver, proxy) =
        (Receiver::start(Does::says("200 OK")).await, Receiver::start(Does::says("200 OK")).await);
    let mut server = Server::new_at_rest(&["--egress-allow", "127.0.0.0/8"]);
    for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
        server.set_env(name, proxy.url.trim_end_matches("/hook"));
    }
    server.launch().await;
    let code = "export default { name: 'tells', version: '1', props: { http: '$.interface.http' }, run() { this.$emit({ n: 1 }); } };";
    let source = server.source(code, json!({})).await;
    let webhook = server.post("/webhooks", &json!({ "url": receiver.url })).await.data();
    server
        .post(
            "/subscriptions",
            &json!({ "emitter_id": id(&source), "listener_id": id(&webhook), "event_name": "" }),
        )
        .await
        .data();
    server.raw(Method::POST, &endpoint(&source)).send().await.expect("is taken");
    receiver.until(1).await;
    assert_eq!(
        (receiver.got().len(), proxy.got().len()),
        (1, 0),
        "a proxy would look the name up again"
    );
}
