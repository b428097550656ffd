//! Runs whose clients wait for their answer, which are stored with their end.

use std::time::Duration;

use millrace_tests::{FAIL_POINTS, Server, answer, endpoint, id};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::net::{TcpListener, UdpSocket};

/// Between the start of a run and the commit that stores it, and around it.
const INSTANTS: [&str; 6] = [
    "engine.accept.before_answer",
    "engine.run.before_call",
    "engine.run.after_call",
    "store.settle.before_commit",
    "store.settle.after_commit",
    "store.commit",
];
const ANSWERS: &str = "export default defineComponent({ async run({ steps, $ }) { const { n } = steps.trigger.event.body; await $.respond({ status: 200, body: { n } }); return n; } });";

async fn answering(server: &Server, code: &str) -> Value {
    server.workflow("one", json!([{ "type": "http" }]), &[("a", code)]).await
}

/// The runs of a workflow by their number, each with its status.
async fn runs(server: &Server, workflow: &Value) -> Vec<(u64, String)> {
    let path = format!("/workflows/{}/runs?limit=100", id(workflow));
    let list = server.get(&path).await.json;
    let of = |run: &Value| {
        let status = run["status"].as_str().unwrap_or_default().to_owned();
        Some((run["event"]["body"]["n"].as_u64()?, status))
    };
    list["data"].as_array().expect("runs").iter().filter_map(of).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_a_client_got_is_of_a_run_that_stays() {
    let mut server = Server::failing(&[]);
    server.skew_clock(0);
    server.launch().await;
    let workflow = answering(&server, ANSWERS).await;
    let url = endpoint(&workflow);
    let (mut answered, mut n) = (Vec::new(), 0);
    for instant in INSTANTS {
        server.kill();
        server.set_env(FAIL_POINTS, &format!("{instant}=exit@3"));
        if !server.try_launch().await {
            continue;
        }
        for _ in 0..4 {
            n += 1;
            let sent = server.raw(Method::POST, &url).json(&json!({ "n": n })).send().await;
            if sent.is_ok_and(|response| response.status() == 200) {
                answered.push(n);
            }
        }
        assert!(server.until_ended(Duration::from_secs(60)).await, "{instant} was never reached");
    }
    server.set_env(FAIL_POINTS, "");
    server.launch().await;
    assert!(answered.len() >= INSTANTS.len(), "{answered:?}");
    let path = format!("/workflows/{}/runs", id(&workflow));
    for status in ["queued", "running"] {
        let none = |list: &Value| list["page_info"]["total_count"] == 0;
        server.until(status, &format!("{path}?status={status}"), none).await;
    }
    let runs = runs(&server, &workflow).await;
    for n in answered {
        let of: Vec<_> = runs.iter().filter(|(of, _)| *of == n).collect();
        assert!(matches!(of[..], [(_, status)] if status == "succeeded"), "{n}: {of:?}");
    }
}

/// What a client is told of a run whose end could not be stored, and so not its answer either.
#[tokio::test]
async fn a_client_is_told_whether_its_event_is_stored() {
    let mut server = Server::failing(&[]);
    server.launch().await;
    let workflow = answering(&server, ANSWERS).await;
    let url = endpoint(&workflow);
    server.kill();
    server.set_env(FAIL_POINTS, "store.settle.before_commit=error@2");
    server.launch().await;
    let mut told = Vec::new();
    for n in 1..=3 {
        told.push(answer(server.raw(Method::POST, &url).json(&json!({ "n": n }))).await.status);
    }
    let mut stored: Vec<u64> = runs(&server, &workflow).await.iter().map(|(n, _)| *n).collect();
    stored.sort_unstable();
    match told[..] {
        // It was stored with its end, or not at all: it may be sent again.
        [200, 500, 200] => assert_eq!(stored, [1, 3]),
        // Its code took long enough for it to be stored before: it goes on.
        [200, 504, 200] => assert_eq!(stored, [1, 2, 3]),
        _ => panic!("{told:?}"),
    }
}

/// Nobody hears of an event that a server which dies now would lose.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_leaves_the_server_is_of_an_event_that_is_stored() {
    let connections = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let datagrams = UdpSocket::bind("127.0.0.1:0").await.expect("a free port");
    let tcp = connections.local_addr().expect("an address").port();
    let udp = datagrams.local_addr().expect("an address").port();
    let server = Server::start().await;
    for way in [
        format!(
            "await fetch('http://127.0.0.1:{tcp}/', {{ method: 'POST', signal: AbortSignal.timeout(1000) }}).catch(() => 0)"
        ),
        format!(
            "await new Promise((done) => net.connect({tcp}, '127.0.0.1').on('close', done).on('error', done))"
        ),
        format!(
            "await new Promise((done) => dgram.createSocket('udp4').send('x', {udp}, '127.0.0.1', done))"
        ),
    ] {
        let code = format!(
            "import net from 'node:net'; import dgram from 'node:dgram';
             export default defineComponent({{ async run({{ steps, $ }}) {{ if (steps.trigger.event.body.n === 7) {way}; await $.respond({{ status: 200 }}); }} }});"
        );
        let workflow = answering(&server, &code).await;
        let send =
            |n| answer(server.raw(Method::POST, &endpoint(&workflow)).json(&json!({ "n": n })));
        // The next one is not stored for the time that its process takes to start.
        assert_eq!(send(1).await.status, 200);
        let client = tokio::spawn(send(7));
        let mut byte = [0];
        let arrived = tokio::select! {
            connection = connections.accept() => connection.map(|_| ()),
            datagram = datagrams.recv(&mut byte) => datagram.map(|_| ()),
        };
        arrived.expect("something arrives");
        let stored = runs(&server, &workflow).await;
        assert!(stored.iter().any(|(n, _)| *n == 7), "{way}: {stored:?}");
        let answered = client.await.expect("answers");
        assert_eq!(answered.status, 200, "{way}: {answered:?}");
    }
}
