//! Several servers on one Postgres: each accepts, runs and shows what the others do, and nothing
//! happens twice. Passes, and says so, where there is no Postgres.

use std::collections::BTreeSet;

use futures::StreamExt as _;
use millrace_tests::browser::{Browser, PASSWORD};
use millrace_tests::cluster::{Database, cluster};
use millrace_tests::receiver::{Does, Receiver};
use millrace_tests::smtp::MailServer;
use millrace_tests::{Client, Server, answer, endpoint, id};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;

/// Two servers and what they share.
pub(crate) struct Pair {
    pub(crate) a: Server,
    pub(crate) b: Server,
    pub(crate) database: Database,
}

impl Pair {
    pub(crate) async fn start(args: &[&str]) -> Option<Self> {
        let database = cluster()?.database().await;
        let url = database.url();
        let args = [&["--database-url", &url], args].concat();
        let a = Server::start_with(&args).await;
        let mut b = a.beside(&args);
        b.launch().await;
        Some(Self { a, b, database })
    }

    /// Posts to an endpoint that the first server named, on both in turn.
    pub(crate) async fn post(&self, url: &str, n: usize, body: &Value) -> millrace_tests::Answer {
        let url = if n.is_multiple_of(2) { url.to_owned() } else { self.on_b(url) };
        answer(self.a.raw(Method::POST, &url).json(body)).await
    }

    fn on_b(&self, url: &str) -> String {
        url.replace(&self.a.url, &self.b.url)
    }

    /// Cuts the connections on which the servers listen.
    pub(crate) async fn cut_listeners(&self) {
        let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'millrace-listener'";
        let client = self.database.client().await;
        let mut cuts = 0;
        // One that was cut before may be on its way back.
        while cuts < 2 {
            cuts += client.query(cut, &[]).await.expect("cuts").len();
        }
    }
}

fn says(text: &str) -> String {
    format!(
        "export default defineComponent({{ async run({{ $ }}) {{ await $.respond({{ status: 200, body: '{text}' }}); }} }});"
    )
}

/// Waits until a session has ended. The bound of three seconds for cached records has a unit test
/// in `engine/src/cache.rs`; the deadline here only ends a test that fails.
async fn until_out(browser: &mut Browser, server: &Client) {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(120);
    while browser.get(server, "/session").await.status != 401 {
        assert!(std::time::Instant::now() < deadline, "the session goes on");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn a_session_is_good_on_both_servers_and_ends_on_both() {
    let Some(pair) = Pair::start(&[]).await else { return };
    let mut first = Browser::first_owner(&pair.a, "mara@x.test").await;
    for heard in [true, false] {
        let mut second = Browser::default();
        second.sign_in(&pair.b, "mara@x.test", PASSWORD).await.data();
        let mut stolen = second.clone();
        // Both have looked at it, and remember it.
        for server in [&pair.a, &pair.b] {
            assert_eq!(
                (
                    first.get(server, "/session").await.status,
                    second.get(server, "/session").await.status
                ),
                (200, 200)
            );
        }
        assert_eq!(first.get(&pair.b, "/sessions").await.json["page_info"]["total_count"], 2);
        if !heard {
            pair.cut_listeners().await;
        }
        second.call(&pair.a, Method::DELETE, "/session", None).await.data();
        assert_eq!(stolen.get(&pair.a, "/session").await.status, 401);
        until_out(&mut stolen, &pair.b).await;
    }
    // So do those that another password ends, and what a member may do who is one no longer.
    let mut second = Browser::default();
    second.sign_in(&pair.b, "mara@x.test", PASSWORD).await.data();
    assert_eq!(second.get(&pair.a, "/session").await.status, 200);
    let change = json!({ "current_password": PASSWORD, "password": "another wheel in it" });
    first.call(&pair.b, Method::PUT, "/session/password", Some(&change)).await.data();
    until_out(&mut second, &pair.a).await;
    assert_eq!(first.get(&pair.a, "/session").await.status, 200);
    let invited = first
        .call(
            &pair.a,
            Method::POST,
            "/invitations",
            Some(&json!({ "email": "jo@x.test", "role": "member" })),
        )
        .await
        .data();
    let mut jo = Browser::default();
    let joined = jo.follow(&pair.b, &invited, &json!({ "password": PASSWORD })).await.data();
    assert_eq!(jo.get(&pair.a, "/workflows").await.status, 200);
    first
        .call(&pair.b, Method::DELETE, &format!("/members/{}", id(&joined["user"])), None)
        .await
        .data();
    until_out(&mut jo, &pair.a).await;
}

#[tokio::test]
async fn a_form_goes_on_at_the_other_server() {
    let Some(pair) = Pair::start(&[]).await else { return };
    let code = "export default { name: 'c', version: '1', props: { kind: { type: 'string', reloadProps: true } },
      additionalProps(previous) { return { ['made_' + this.kind]: { type: 'string', label: Object.keys(previous).join(), optional: true } }; }, run() {} };";
    let saved = pair.a.post("/components", &json!({ "component_code": code })).await.data();
    let mut ask = json!({ "id": saved["id"], "configured_props": { "kind": "a" } });
    ask["dynamic_props_id"] =
        pair.a.post("/components/props", &ask).await.json["dynamic_props"]["id"].clone();
    ask["configured_props"]["kind"] = json!("b");
    let told = pair.b.post("/components/props", &ask).await.json;
    assert_eq!(
        told["dynamic_props"]["configurable_props"][1],
        json!({ "name": "made_b", "type": "string", "label": "kind,made_a", "optional": true })
    );
}

#[tokio::test]
async fn what_is_deployed_on_one_server_runs_on_the_other() {
    let Some(pair) = Pair::start(&[]).await else { return };
    let workflow = pair
        .a
        .workflow(
            "w",
            json!([{ "type": "http", "custom_response": true }]),
            &[("say", &says("v0"))],
        )
        .await;
    let (url, path) = (pair.on_b(&endpoint(&workflow)), format!("/workflows/{}", id(&workflow)));
    let asks = async || answer(pair.b.raw(Method::GET, &url)).await.text;
    assert_eq!(asks().await, "v0");
    for n in 1..=6 {
        // Every other version is deployed while nobody can be heard.
        if n % 2 == 0 {
            pair.cut_listeners().await;
        }
        let text = format!("v{n}");
        let step = json!({ "namespace": "say", "code": says(&text) });
        pair.a.put(&path, &json!({ "steps": [step] })).await.data();
        pair.a.post(&format!("{path}/deploy"), &json!({})).await.data();
        // Within the bound that `docs/operate/durability.md` names.
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while asks().await != text {
            assert!(
                std::time::Instant::now() < deadline,
                "{text} does not run on the other server: {}",
                pair.b.log()
            );
        }
    }
    pair.a.delete(&path).await.data();
    while answer(pair.b.raw(Method::GET, &url)).await.status != 404 {}
}

#[tokio::test]
async fn what_one_server_revokes_or_subscribes_the_other_knows() {
    let Some(pair) = Pair::start(&[]).await else { return };
    let key =
        pair.a.post("/api_keys", &json!({ "name": "short", "scopes": ["full"] })).await.data();
    let (text, path) =
        (key["key"].as_str().expect("a key").to_owned(), format!("/api_keys/{}", id(&key)));
    assert_eq!(pair.b.call_as(&text, Method::GET, "/users/me", None).await.status, 200);
    pair.a.delete(&path).await.data();
    while pair.b.call_as(&text, Method::GET, "/users/me", None).await.status != 401 {}
    // The listeners of a source are read once, and again when they change.
    let source =
        pair.a.source("export default { name: 's', version: '1', props: { http: '$.interface.http' }, run(e) { this.$emit(e.body); } };", json!({})).await;
    assert_eq!(pair.post(&endpoint(&source), 1, &json!({ "n": 1 })).await.status, 200);
    let listener = pair.a.workflow("l", json!([]), &[("one", "export default defineComponent({ run({ steps }) { return steps.trigger.event.n; } });")]).await;
    pair.a
        .post("/subscriptions", &json!({ "emitter_id": id(&source), "listener_id": id(&listener) }))
        .await
        .data();
    let runs = format!("/workflows/{}/runs?status=succeeded", id(&listener));
    let mut n = 1;
    while pair.b.get(&runs).await.json["page_info"]["total_count"] == 0 {
        n += 1;
        assert_eq!(pair.post(&endpoint(&source), 1, &json!({ "n": n })).await.status, 200);
    }
}

#[tokio::test]
async fn a_stream_of_one_server_carries_what_settles_on_the_other() {
    let Some(pair) = Pair::start(&[]).await else { return };
    let code = "export default { name: 's', version: '1', props: { http: '$.interface.http' }, run(e) { console.log('line', e.body.n); this.$emit(e.body); } };";
    let source = pair.a.source(code, json!({})).await;
    let open = async |what: &str| {
        let request = pair
            .b
            .raw(Method::GET, &format!("/v1/sources/{}{what}", id(&source)))
            .bearer_auth(&pair.b.api_key);
        request.send().await.expect("an answer").bytes_stream()
    };
    let (mut events, mut logs) = (open("/sse").await, open("/logs/sse").await);
    for n in 0..20 {
        assert_eq!(pair.post(&endpoint(&source), n, &json!({ "n": n })).await.status, 200);
    }
    let (mut seen, mut lines) = (String::new(), String::new());
    let has_all =
        |text: &str, what: &dyn Fn(usize) -> String| (0..20).all(|n| text.contains(&what(n)));
    while !has_all(&seen, &|n| format!("{{\"n\":{n}}}")) {
        seen.push_str(&String::from_utf8_lossy(
            &events.next().await.expect("goes on").expect("bytes"),
        ));
    }
    while !has_all(&lines, &|n| format!("\"line {n}\"")) {
        lines.push_str(&String::from_utf8_lossy(
            &logs.next().await.expect("goes on").expect("bytes"),
        ));
    }
    for n in 0..20 {
        assert_eq!(seen.matches(&format!("{{\"n\":{n}}}")).count(), 1, "{seen}");
        assert_eq!(lines.matches(&format!("\"line {n}\"")).count(), 1, "{lines}");
    }
}

/// A run that goes on elsewhere is followed step by step.
#[tokio::test]
async fn a_run_of_one_server_is_followed_on_the_other_as_its_steps_end() {
    let Some(pair) = Pair::start(&[]).await else { return };
    let gate = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("binds");
    let waits = format!(
        "export default defineComponent({{ async run() {{ await fetch('http://{}'); return 1; }} }});",
        gate.local_addr().expect("an address")
    );
    let steps = [("first", waits.as_str()), ("second", waits.as_str()), ("third", waits.as_str())];
    let workflow = pair.a.workflow("w", json!([{ "type": "http" }]), &steps).await;
    let opens = async |mut held: tokio::net::TcpStream| {
        held.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
            .await
            .expect("answers");
    };
    assert_eq!(pair.post(&endpoint(&workflow), 0, &json!({})).await.status, 200);
    let (first, _) = gate.accept().await.expect("is asked");
    let list = pair
        .b
        .until("the run", &format!("/workflows/{}/runs", id(&workflow)), |l| {
            l["page_info"]["count"] == 1
        })
        .await;
    let request = pair
        .b
        .raw(Method::GET, &format!("/v1/runs/{}/sse", id(&list["data"][0])))
        .bearer_auth(&pair.b.api_key);
    let (mut stream, mut text) =
        (request.send().await.expect("an answer").bytes_stream(), String::new());
    opens(first).await;
    let mut held = None;
    for (namespace, is_last) in [("first", false), ("second", true)] {
        let (next, _) = gate.accept().await.expect("is asked");
        // It has ended, and the one behind it is still under way.
        while !text.contains(&format!("\"namespace\":\"{namespace}\",\"status\":\"finished\"")) {
            text.push_str(&String::from_utf8_lossy(
                &stream.next().await.expect("goes on").expect("bytes"),
            ));
        }
        if is_last { held = Some(next) } else { opens(next).await }
    }
    opens(held.expect("the last")).await;
    while let Some(bytes) = stream.next().await {
        text.push_str(&String::from_utf8_lossy(&bytes.expect("bytes")));
    }
    for namespace in ["first", "second"] {
        assert_eq!(
            text.matches(&format!("\"namespace\":\"{namespace}\",\"status\":\"finished\"")).count(),
            1,
            "{text}"
        );
    }
    // The last frame is the run as it ended; whether the last step came before by itself is a
    // matter of moments.
    let last = text.rsplit("\n\n").find(|frame| frame.contains("event: run")).expect("a frame");
    assert!(
        last.contains("\"status\":\"succeeded\"") && last.contains("\"namespace\":\"third\""),
        "{text}"
    );
}

/// Its lines come while it goes on, each once and in order, where they are followed.
#[tokio::test]
async fn a_run_of_one_server_is_followed_on_the_other_line_by_line() {
    let Some(pair) = Pair::start(&[]).await else { return };
    let gate = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("binds");
    let prints = format!(
        "export default defineComponent({{ async run() {{
           for (let n = 0; ; n++) {{ console.log(`line ${{n}} end`); if (n === 3) console.log('long ' + 'x'.repeat(20000));
             if (await (await fetch('http://{}')).text() === 'stop') return n; }} }} }});",
        gate.local_addr().expect("an address")
    );
    let workflow =
        pair.a.workflow("w", json!([{ "type": "http" }]), &[("only", prints.as_str())]).await;
    let says = async |mut held: tokio::net::TcpStream, word: &str| {
        let answer = format!(
            "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{word}",
            word.len()
        );
        held.write_all(answer.as_bytes()).await.expect("answers");
    };
    let follow = async || {
        let request = pair
            .b
            .raw(Method::GET, &format!("/v1/workflows/{}/logs/sse", id(&workflow)))
            .bearer_auth(&pair.b.api_key);
        request.send().await.expect("an answer").bytes_stream()
    };
    let (mut stream, mut text) = (follow().await, String::new());
    // Followed by another too, which changes nothing.
    let _second = follow().await;
    assert_eq!(pair.post(&endpoint(&workflow), 0, &json!({})).await.status, 200);
    let mut held = gate.accept().await.expect("is asked").0;
    // The first that comes is of a moment when the other server was known to follow; the run waits
    // at the gate meanwhile.
    let mut printed = 0;
    while !text.contains("\"line ") {
        if let Ok(bytes) =
            tokio::time::timeout(std::time::Duration::from_millis(200), stream.next()).await
        {
            text.push_str(&String::from_utf8_lossy(&bytes.expect("goes on").expect("bytes")));
            continue;
        }
        says(held, "go").await;
        held = gate.accept().await.expect("is asked").0;
        printed += 1;
        assert!(printed < 200, "no line comes: {text} {}", pair.a.log());
    }
    let runs = pair.b.get(&format!("/workflows/{}/runs", id(&workflow))).await.json;
    assert_eq!(runs["data"][0]["status"], "running", "{runs}");
    for _ in 0..6 {
        says(held, "go").await;
        held = gate.accept().await.expect("is asked").0;
        printed += 1;
    }
    says(held, "stop").await;
    while !text.contains(&format!("line {printed} end")) {
        text.push_str(&String::from_utf8_lossy(
            &stream.next().await.expect("goes on").expect("bytes"),
        ));
    }
    let numbers: Vec<usize> = text
        .split("line ")
        .skip(1)
        .filter_map(|rest| rest.split(" end").next()?.parse().ok())
        .collect();
    assert_eq!(numbers, (numbers[0]..=printed).collect::<Vec<_>>(), "{text}");
    // One that is too long to be told comes with the end, in its place.
    if numbers[0] <= 3 {
        let at = |what: &str| text.find(what).unwrap_or_else(|| panic!("{what} is missing"));
        assert!(at("line 3 end") < at("long x") && at("long x") < at("line 4 end"));
    }
}

/// Invariant 3: a run sees the writes of the runs before it, also where those ran elsewhere.
#[tokio::test]
async fn a_source_counts_on_whichever_server_its_runs_go() {
    let Some(pair) = Pair::start(&[]).await else { return };
    let code = "export default { name: 's', version: '1', props: { http: { type: '$.interface.http', customResponse: true }, db: '$.service.db' },
      run() { const n = (this.db.get('n') || 0) + 1; this.db.set('n', n); this.$emit({ n }); this.http.respond({ status: 200, body: String(n) }); } };";
    let source = pair.a.source(code, json!({})).await;
    let runs = format!("/sources/{}/runs?status=succeeded", id(&source));
    for n in 0..12 {
        // Twice on each: the second meets a host that is warm.
        let answered = pair.post(&endpoint(&source), n / 2, &json!({})).await;
        assert_eq!(answered.text, (n + 1).to_string());
        // It answers before it settles.
        pair.a.until("its end", &runs, |l| l["page_info"]["total_count"] == n + 1).await;
    }
}

/// Invariant 3 where servers run one source at the same moment: one run at a time, also where a
/// server dies.
#[tokio::test]
async fn a_source_counts_right_while_both_servers_run_it() {
    let Some(mut pair) = Pair::start(&[]).await else { return };
    let code = "export default { name: 's', version: '1', props: { http: { type: '$.interface.http', customResponse: true }, db: '$.service.db' },
      async run(e) { const n = (this.db.get('n') || 0) + 1; this.db.set('n', n); await new Promise((done) => setTimeout(done, e.body.ms));
        this.$emit({ n }); this.http.respond({ status: 200, body: String(n) }); } };";
    let source = pair.a.source(code, json!({})).await;
    let url = endpoint(&source);
    let posts = (0..60).map(|n| {
        let (pair, url) = (&pair, &url);
        async move {
            pair.post(url, n, &json!({ "ms": n % 7 })).await.text.parse::<u64>().expect("a number")
        }
    });
    let answers: BTreeSet<u64> = futures::future::join_all(posts).await.into_iter().collect();
    assert_eq!(answers, (1..=60).collect());
    let runs = format!("/sources/{}/runs?status=succeeded", id(&source));
    pair.a.until("all settle", &runs, |l| l["page_info"]["total_count"] == 60).await;
    // One of them dies.
    assert_eq!(pair.post(&url, 0, &json!({ "ms": 0 })).await.text, "61");
    pair.b.until("it settles", &runs, |l| l["page_info"]["total_count"] == 61).await;
    pair.a.kill();
    assert_eq!(pair.post(&url, 1, &json!({ "ms": 0 })).await.text, "62");
}

/// Invariant 3 where a server stops: the next run waits until the one under way has settled.
#[tokio::test]
async fn a_source_counts_right_while_a_server_stops() {
    let Some(Pair { mut a, b, database: _database }) = Pair::start(&[]).await else { return };
    let code = "export default { name: 's', version: '1', props: { http: { type: '$.interface.http', customResponse: true }, db: '$.service.db' },
      async run(e) { const n = (this.db.get('n') || 0) + 1; this.db.set('n', n); await new Promise((done) => setTimeout(done, e.body.ms));
        this.$emit({ n }); this.http.respond({ status: 200, body: String(n) }); } };";
    let source = a.source(code, json!({})).await;
    let slow =
        tokio::spawn(a.raw(Method::POST, &endpoint(&source)).json(&json!({ "ms": 2000 })).send());
    let runs = format!("/sources/{}/runs", id(&source));
    b.until("it is under way", &format!("{runs}?status=running"), |l| {
        l["page_info"]["total_count"] == 1
    })
    .await;
    a.tell_to_end();
    a.until_log("draining").await;
    let next = answer(
        b.raw(Method::POST, &endpoint(&source).replace(&a.url, &b.url)).json(&json!({ "ms": 0 })),
    )
    .await;
    assert_eq!(next.text, "2", "it waited for the run before it");
    // Answered, or cut off with the server: its run has settled, or runs again.
    let _ = slow.await.expect("ends");
    a.terminate();
    b.until("both settle", &format!("{runs}?status=succeeded"), |l| {
        l["page_info"]["total_count"] == 2
    })
    .await;
    let counts: BTreeSet<u64> = b
        .emitted(&source)
        .await
        .iter()
        .map(|event| event["n"].as_u64().expect("a number"))
        .collect();
    assert_eq!(counts, [1, 2].into());
}

/// The same under load.
#[tokio::test]
async fn a_busy_source_counts_right_while_a_server_stops() {
    let Some(Pair { mut a, b, database: _database }) = Pair::start(&[]).await else { return };
    let code = "export default { name: 's', version: '1', props: { http: '$.interface.http', db: '$.service.db' },
      async run(e) { const n = (this.db.get('n') || 0) + 1; this.db.set('n', n); await new Promise((done) => setTimeout(done, e.body.ms)); this.$emit({ n }); } };";
    let source = a.source(code, json!({})).await;
    let urls = [endpoint(&source), endpoint(&source).replace(&a.url, &b.url)];
    let event = json!({ "ms": 150 });
    // Those that the first server took run there, unless it ends before them.
    for n in 0..60 {
        assert_eq!(answer(a.raw(Method::POST, &urls[n % 2]).json(&event)).await.status, 200);
    }
    a.tell_to_end();
    a.until_log("stopped").await;
    let settled = |l: &Value| l["page_info"]["total_count"] == 60;
    b.until("all settle", &format!("/sources/{}/runs?status=succeeded", id(&source)), settled)
        .await;
    let counts: Vec<u64> = b
        .emitted(&source)
        .await
        .iter()
        .map(|event| event["n"].as_u64().expect("a number"))
        .collect();
    assert_eq!(
        (counts.len(), counts.iter().collect::<BTreeSet<_>>()),
        (60, (1..=60).collect::<Vec<_>>().iter().collect())
    );
    a.terminate();
}

#[tokio::test]
async fn an_id_is_emitted_once_however_many_servers_see_it() {
    let Some(pair) = Pair::start(&[]).await else { return };
    let code = "export default { name: 's', version: '1', dedupe: 'unique', props: { http: '$.interface.http' }, run(e) { this.$emit(e.body, { id: e.body.n }); } };";
    let source = pair.a.source(code, json!({})).await;
    let url = endpoint(&source);
    let posts = (0..80).map(|n| {
        let (pair, url) = (&pair, &url);
        async move { assert_eq!(pair.post(url, n, &json!({ "n": n / 4 })).await.status, 200) }
    });
    futures::future::join_all(posts).await;
    let runs = format!("/sources/{}/runs?status=succeeded", id(&source));
    let settled = pair.a.until("all settle", &runs, |l| l["page_info"]["total_count"] == 80).await;
    assert!(
        settled["data"].as_array().expect("runs").iter().all(|run| run["attempt"] == 1),
        "{settled}"
    );
    let emitted = pair.a.emitted(&source).await;
    let distinct: BTreeSet<u64> =
        emitted.iter().map(|e| e["n"].as_u64().expect("a number")).collect();
    assert_eq!((emitted.len(), distinct.len()), (20, 20));
}

#[tokio::test]
async fn who_waits_for_a_workflow_with_limits_gets_its_answer_on_either_server() {
    let Some(pair) = Pair::start(&[]).await else { return };
    let settings = json!({ "name": "w", "concurrency": 1, "queue_max": 100 });
    let body = json!({ "triggers": [{ "type": "http", "custom_response": true }], "steps": [{ "namespace": "say", "code": says("mine") }], "settings": settings });
    let workflow = pair.a.post("/workflows", &body).await.data();
    let url = endpoint(&workflow);
    let nothing = json!({});
    let asked = futures::future::join_all((0..12).map(|n| pair.post(&url, n, &nothing))).await;
    assert!(asked.iter().all(|answer| answer.text == "mine"), "{asked:?}");
}

#[tokio::test]
async fn a_tick_a_mail_and_a_delivery_go_once() {
    let (mail, hook) = (MailServer::start().await, Receiver::start(Does::says("200 OK")).await);
    let Some(pair) =
        Pair::start(&["--smtp-url", &mail.url, "--owner-email", "owner@example.test"]).await
    else {
        return;
    };
    let ticks = "export default { name: 't', version: '1', props: { timer: { type: '$.interface.timer', default: { intervalSeconds: 1 } } },
      run(e) { this.$emit({ at: e.timestamp }); } };";
    let begun = std::time::Instant::now();
    let source = pair.a.source(ticks, json!({})).await;
    let webhook = pair.a.post("/webhooks", &json!({ "url": hook.url })).await.data();
    pair.a
        .post("/subscriptions", &json!({ "emitter_id": id(&source), "listener_id": id(&webhook) }))
        .await
        .data();
    let fails =
        [("no", "export default defineComponent({ run() { throw new RangeError('too far'); } });")];
    let workflow =
        pair.b.workflow("w", json!([{ "type": "source", "id": id(&source) }]), &fails).await;
    let failed = format!("/workflows/{}/runs?status=failed", id(&workflow));
    pair.b
        .until("runs that fail", &failed, |l| l["page_info"]["total_count"].as_u64() >= Some(5))
        .await;
    pair.a.put(&format!("/sources/{}", id(&source)), &json!({ "active": false })).await.data();
    let ticks = pair.a.emitted(&source).await;
    // On a busy machine a tick may come in the second of the next one: what counts is that no
    // second brings two.
    assert!(ticks.len() as u64 <= begun.elapsed().as_secs(), "{ticks:?}");
    let deliveries = format!("/webhooks/{}/deliveries", id(&webhook));
    let delivered = pair
        .a
        .until("all delivered", &deliveries, |l| {
            l["data"].as_array().is_some_and(|all| all.iter().all(|d| d["status"] == "delivered"))
        })
        .await;
    let got: Vec<String> = hook.got().iter().map(|got| got.header("webhook-id")).collect();
    assert_eq!(got.iter().collect::<BTreeSet<_>>().len(), got.len(), "{got:?}");
    assert_eq!(delivered["page_info"]["total_count"].as_u64(), Some(got.len() as u64));
    pair.a.until("the mail", "/mail", |l| l["data"][0]["status"] == "sent").await;
    assert_eq!(mail.mails.lock().expect("not poisoned").len(), 1);
}
