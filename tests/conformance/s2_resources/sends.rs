//! Sends of a workflow (reference 4): collected while it runs, settled with it, delivered
//! afterwards and recorded.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt as _;
use millrace_tests::smtp::MailServer;
use millrace_tests::{Client, Server, answer, endpoint};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// A server that keeps the heads and bodies of requests and answers with statuses from a list, then
/// 200. `/to/<status>/<rest>` redirects to the address in its query.
struct Target {
    url: String,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Target {
    async fn start(statuses: &[u16]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let (kept, mut statuses) = (seen.clone(), statuses.to_vec());
        statuses.reverse();
        let statuses = Arc::new(Mutex::new(statuses));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, kept.clone(), statuses.clone()));
            }
        });
        Self { url, seen }
    }

    fn seen(&self) -> Vec<String> {
        self.seen.lock().expect("not poisoned").clone()
    }
}

async fn serve(
    mut stream: TcpStream,
    seen: Arc<Mutex<Vec<String>>>,
    statuses: Arc<Mutex<Vec<u16>>>,
) -> std::io::Result<()> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|w| w == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(&mut bytes).await? == 0 {
            return Ok(());
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let length = head
        .lines()
        .find_map(|l| {
            l.to_ascii_lowercase().strip_prefix("content-length: ").and_then(|n| n.parse().ok())
        })
        .unwrap_or(0);
    while bytes.len() < end + 4 + length {
        stream.read_buf(&mut bytes).await?;
    }
    seen.lock().expect("not poisoned").push(String::from_utf8_lossy(&bytes).into_owned());
    let to = head
        .lines()
        .next()
        .and_then(|line| line.split("?to=").nth(1))
        .and_then(|rest| rest.split(' ').next())
        .map(str::to_owned);
    let answer = match to {
        Some(to) => format!(
            "HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        ),
        None => {
            let status = statuses.lock().expect("not poisoned").pop().unwrap_or(200);
            format!("HTTP/1.1 {status} X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        }
    };
    stream.write_all(answer.as_bytes()).await
}

/// A workflow of one step; `body` is that of `async run({ steps, $ })`.
async fn workflow(server: &Client, name: &str, body: &str) -> Value {
    let code = format!(
        "export default defineComponent({{ async run({{ steps, $ }}) {{ const event = steps.trigger.event; {body} }} }});"
    );
    server.workflow(name, json!([{ "type": "http" }]), &[("a", &code)]).await
}

fn id(record: &Value) -> &str {
    record["id"].as_str().expect("an id")
}

/// Its only run, once it is over and `fits`.
async fn only_run(server: &Client, workflow: &Value, fits: impl Fn(&Value) -> bool) -> Value {
    let runs = server
        .until("a run", &format!("/workflows/{}/runs", id(workflow)), |l| {
            l["data"][0]["status"] == "succeeded" || l["data"][0]["status"] == "failed"
        })
        .await;
    server
        .until("its deliveries", &format!("/runs/{}", id(&runs["data"][0])), |r| fits(&r["data"]))
        .await["data"]
        .clone()
}

fn all_over(run: &Value) -> bool {
    run["deliveries"]
        .as_array()
        .is_some_and(|d| !d.is_empty() && d.iter().all(|d| d["status"] != "queued"))
}

#[tokio::test]
async fn s2_9_http_requests_go_out_after_the_run_in_order_also_before_a_throw() {
    let target = Target::start(&[]).await;
    let server = Server::shared().await;
    let body = format!(
        "for (let n = 0; n < 5; n++) $.send.http({{ method: 'POST', url: '{}/hook', params: {{ n }}, headers: {{ 'x-n': `${{n}}` }}, data: {{ n }}, auth: {{ username: 'u', password: 'p' }} }});
         throw new Error('after');",
        target.url
    );
    let made = workflow(&server, "sends", &body).await;
    answer(server.raw(Method::GET, &endpoint(&made))).await;
    let run = only_run(&server, &made, all_over).await;
    assert_eq!(
        (&run["status"], run["deliveries"].as_array().map(Vec::len)),
        (&json!("failed"), Some(5))
    );
    let first = &run["deliveries"][0];
    assert_eq!(
        (&first["status"], &first["attempts"], &first["response_status"], &first["last_error"]),
        (&json!("delivered"), &json!(1), &json!(200), &Value::Null)
    );
    assert_eq!(first["target"], format!("POST {}/hook", target.url));
    let seen = target.seen();
    let order: Vec<bool> = seen
        .iter()
        .enumerate()
        .map(|(n, request)| {
            request.starts_with(&format!("POST /hook?n={n} "))
                && request.ends_with(&format!("{{\"n\":{n}}}"))
        })
        .collect();
    assert_eq!(order, [true; 5], "{seen:?}");
    let head = seen[2].to_ascii_lowercase();
    for line in [
        "x-n: 2",
        "authorization: basic dtpw",
        "content-type: application/json",
        "x-millrace-delivery: dl_",
    ] {
        assert!(head.contains(line), "{line}: {head}");
    }
}

#[tokio::test]
async fn s2_9_what_fails_is_tried_again_and_what_is_refused_is_not() {
    let target = Target::start(&[503, 404]).await;
    let server = Server::shared().await;
    let body = format!(
        "$.send.http({{ method: 'GET', url: '{url}/busy' }}); $.send.http({{ method: 'GET', url: '{url}/none' }});
         $.send.http({{ method: 'GET', url: '{url}/r?to=ftp://x.test/' }}); $.send.http({{ method: 'GET', url: '{url}/r?to={url}/r2' }});",
        url = target.url
    );
    let made = workflow(&server, "sends", &body).await;
    answer(server.raw(Method::GET, &endpoint(&made))).await;
    // The one that is tried again holds up nobody.
    let run = only_run(&server, &made, |run| {
        run["deliveries"]
            .as_array()
            .is_some_and(|d| d.iter().skip(1).all(|d| d["status"] != "queued"))
    })
    .await;
    let shown = |n: usize| {
        (run["deliveries"][n]["status"].clone(), run["deliveries"][n]["response_status"].clone())
    };
    assert_eq!(
        (shown(1), shown(2), shown(3)),
        (
            (json!("failed"), json!(404)),
            (json!("failed"), Value::Null),
            (json!("delivered"), json!(200))
        )
    );
    assert!(
        run["deliveries"][2]["last_error"].as_str().is_some_and(|e| e.contains("redirect")),
        "{run}"
    );
    let again = only_run(&server, &made, all_over).await;
    let busy = &again["deliveries"][0];
    assert_eq!(
        (&busy["status"], &busy["attempts"], &busy["response_status"]),
        (&json!("delivered"), &json!(2), &json!(200))
    );
}

#[tokio::test]
async fn s2_9_a_delivery_outlives_the_server() {
    let target = Target::start(&[503]).await;
    let mut server = Server::start().await;
    let made = workflow(
        &server,
        "sends",
        &format!("$.send.http({{ method: 'GET', url: '{}' }});", target.url),
    )
    .await;
    answer(server.raw(Method::GET, &endpoint(&made))).await;
    only_run(&server, &made, |run| run["deliveries"][0]["attempts"] == 1).await;
    server.kill();
    server.launch().await;
    let run = only_run(&server, &made, all_over).await;
    assert_eq!(
        (&run["deliveries"][0]["status"], &run["deliveries"][0]["attempts"]),
        (&json!("delivered"), &json!(2))
    );
}

#[tokio::test]
async fn s2_9_mail_goes_to_the_owner_or_to_whom_it_is_for() {
    let smtp = MailServer::start().await;
    let server =
        Server::start_with(&["--smtp-url", &smtp.url, "--owner-email", "owner@example.test"]).await;
    let body = "$.send.email({ subject: 'one\\nBcc: x@x.test', text: 'plain', html: '<b>bold</b>' });
        $.send.email({ subject: 'two', html: '<i>only</i>', to: ['a@example.test', 'b@example.test'] });
        $.send.email({ subject: 'three', text: 't', to: 'nobody' });";
    let made = workflow(&server, "mails", body).await;
    answer(server.raw(Method::GET, &endpoint(&made))).await;
    let run = only_run(&server, &made, all_over).await;
    let statuses: Vec<&Value> =
        run["deliveries"].as_array().expect("a list").iter().map(|d| &d["status"]).collect();
    assert_eq!(statuses, ["delivered", "delivered", "failed"]);
    assert!(
        run["deliveries"][2]["last_error"].as_str().is_some_and(|e| e.contains("`nobody`")),
        "{run}"
    );
    server
        .until("three mails sent", "/mail", |l| {
            l["data"]
                .as_array()
                .is_some_and(|m| m.len() == 3 && m.iter().all(|m| m["status"] == "sent"))
        })
        .await;
    let mails = smtp.mails.lock().expect("not poisoned").clone();
    let to = |address: &str| {
        mails
            .iter()
            .find(|m| m.contains(&format!("To: {address}")))
            .unwrap_or_else(|| panic!("no mail to {address}: {mails:?}"))
    };
    let first = to("owner@example.test");
    assert!(
        first.contains("plain")
            && first.contains("<b>bold</b>")
            && first.contains("multipart/alternative")
            && !first.contains("\nBcc:"),
        "{first}"
    );
    assert!(
        to("a@example.test").contains("<i>only</i>")
            && to("b@example.test").contains("<i>only</i>")
    );
}

#[tokio::test]
async fn s2_9_a_test_run_delivers_nothing_and_says_so() {
    let target = Target::start(&[]).await;
    let server = Server::shared().await;
    let body = format!(
        "$.send.http({{ method: 'GET', url: '{}' }}); $.send.email({{ subject: 's', text: 't' }}); $.send.emit({{ raw_event: {{}} }}); $.send.sse({{ channel: 'c', payload: 1 }});",
        target.url
    );
    let made = workflow(&server, "tested", &body).await;
    let run = server
        .post(&format!("/workflows/{}/test", id(&made)), &json!({ "event": {} }))
        .await
        .data();
    let shown = server.get(&format!("/runs/{}", id(&run))).await.data();
    assert_eq!(shown["deliveries"], json!([]));
    assert!(shown["logs"].to_string().contains("4 `$.send` calls were left out"), "{shown}");
    assert_eq!(
        server.get(&format!("/workflows/{}/event_summaries", id(&made))).await.json["page_info"]["count"],
        0
    );
    assert!(target.seen().is_empty());
}

#[tokio::test]
async fn s2_9_emitted_events_reach_summaries_and_listeners_of_their_channel() {
    let server = Server::shared().await;
    let made =
        workflow(&server, "emits", "$.send.emit({ raw_event: { n: 1 } }); $.send.emit({ raw_event: { n: 2 }, event: { n: 3 }, name: 'named' }); throw new Error('after');")
            .await;
    let listener = server
        .workflow("listens", json!([]), &[("a", "export default defineComponent({ run({ steps }) { const { raw_event, event } = steps.trigger.event; return [raw_event.n, event.n]; } });")])
        .await;
    server.post("/subscriptions", &json!({ "emitter_id": id(&made), "listener_id": id(&listener), "event_name": "named" })).await.data();
    answer(server.raw(Method::GET, &endpoint(&made))).await;
    let runs = server
        .until(
            "a listener's run",
            &format!("/workflows/{}/runs?status=succeeded", id(&listener)),
            |l| l["page_info"]["total_count"] == 1,
        )
        .await;
    assert_eq!(runs["data"][0]["steps"][0]["exports"]["$return_value"], json!([2, 3]));
    let list =
        server.get(&format!("/workflows/{}/event_summaries?expand=event", id(&made))).await.json;
    assert_eq!(
        (&list["data"][1]["event"], &list["data"][0]["metadata"]["name"]),
        (&json!({ "raw_event": { "n": 1 } }), &json!("named"))
    );
}

#[tokio::test]
async fn s2_9_sse_gives_a_new_client_the_last_hundred_and_then_what_comes() {
    let server = Server::shared().await;
    let body = "for (let n = 0; n < Number(event.query.count); n++) $.send.sse({ channel: event.query.channel, payload: { n } });";
    let made = workflow(&server, "streams", body).await;
    let send = async |count: u32, channel: &str| {
        answer(
            server
                .raw(Method::GET, &format!("{}?count={count}&channel={channel}", endpoint(&made))),
        )
        .await
    };
    send(103, "early").await;
    server
        .until("the run", &format!("/workflows/{}/runs?status=succeeded", id(&made)), |l| {
            l["page_info"]["total_count"] == 1
        })
        .await;
    let path = format!("/v1/workflows/{}/sse", id(&made));
    assert_eq!(answer(server.raw(Method::GET, &path)).await.status, 401);
    let response =
        server.raw(Method::GET, &path).bearer_auth(&server.api_key).send().await.expect("a stream");
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let (mut stream, mut text) = (response.bytes_stream(), String::new());
    let mut read = async |until: &str| {
        let reading = async {
            while !text.contains(until) {
                let bytes = stream.next().await.expect("goes on").expect("reads");
                text.push_str(&String::from_utf8_lossy(&bytes));
            }
            text.clone()
        };
        tokio::time::timeout(Duration::from_secs(60), reading)
            .await
            .unwrap_or_else(|_| panic!("`{until}` did not come"))
    };
    let early = read("data: {\"n\":102}\n\n").await;
    assert_eq!(
        (
            early.matches("event: early\n").count(),
            early.contains("data: {\"n\":2}\n"),
            early.contains("data: {\"n\":3}\n")
        ),
        (100, false, true)
    );
    send(1, "late").await;
    let late = read("event: late\n").await;
    assert_eq!(late.matches("event: late\n").count(), 1);
    // They are no events of the workflow's own stream.
    assert_eq!(
        server.get(&format!("/workflows/{}/event_summaries", id(&made))).await.json["page_info"]["count"],
        0
    );
}

#[tokio::test]
async fn s2_9_flow_trigger_starts_another_workflow_and_counts_hops() {
    let server = Server::shared().await;
    let listener = server.workflow("other", json!([]), &[("a", "export default defineComponent({ run({ steps }) { return [steps.trigger.event, steps.trigger.context.hops, steps.trigger.context.trace_id]; } });")]).await;
    let body = "const got = await $.flow.trigger(event.query.id, { n: 7 }); return [got.id, steps.trigger.context.trace_id];";
    let made = workflow(&server, "starts", body).await;
    answer(server.raw(Method::GET, &format!("{}?id={}", endpoint(&made), id(&listener)))).await;
    let run = only_run(&server, &made, |_| true).await;
    let value = &run["steps"][0]["exports"]["$return_value"];
    let started = server
        .until("the run", &format!("/runs/{}", value[0].as_str().expect("a run's id")), |r| {
            r["data"]["status"] == "succeeded"
        })
        .await;
    assert_eq!(
        started["data"]["steps"][0]["exports"]["$return_value"],
        json!([{ "n": 7 }, 1, value[1]])
    );
    // A workflow that starts itself is cut.
    let loops =
        workflow(&server, "loops", "await $.flow.trigger(steps.trigger.context.workflow_id, {});")
            .await;
    answer(server.raw(Method::GET, &endpoint(&loops))).await;
    let failed = server
        .until(
            "the end of the loop",
            &format!("/workflows/{}/runs?status=failed", id(&loops)),
            |l| l["page_info"]["total_count"] == 1,
        )
        .await;
    assert_eq!(
        (&failed["data"][0]["error"]["code"], &failed["data"][0]["context"]["hops"]),
        (&json!("TooManyHops"), &json!(16))
    );
    // Nothing unknown, and nothing in a test.
    let tested = |event: Value| {
        let (server, path) = (&server, format!("/workflows/{}/test", id(&made)));
        async move { server.post(&path, &json!({ "event": { "query": { "id": event } } })).await.data() }
    };
    assert_eq!(tested(json!("p_nothing")).await["error"]["code"], "NotFound");
    assert_eq!(
        tested(listener["id"].clone()).await["steps"][0]["exports"]["$return_value"][0],
        Value::Null
    );
    assert_eq!(
        server.get(&format!("/workflows/{}/runs", id(&listener))).await.json["page_info"]["total_count"],
        1
    );
}

#[tokio::test]
async fn s2_9_s3_without_an_object_store_fails_and_says_what_to_set() {
    let server = Server::shared().await;
    let made = workflow(
        &server,
        "objects",
        "$.send.s3({ bucket: 'logs', prefix: 'a', payload: { n: 1 } });",
    )
    .await;
    answer(server.raw(Method::GET, &endpoint(&made))).await;
    let run = only_run(&server, &made, all_over).await;
    assert_eq!(run["deliveries"][0]["status"], "failed");
    assert!(
        run["deliveries"][0]["last_error"].as_str().is_some_and(|e| e.contains("--s3-endpoint")),
        "{run}"
    );
}

/// Against moto, an object store for tests (PyPI: `moto[server,s3]`), where it is installed.
#[tokio::test]
async fn s2_9_s3_objects_are_written_where_they_belong() {
    let program = std::env::var("MOTO_SERVER").unwrap_or_else(|_| "moto_server".into());
    let started = std::process::Command::new(&program)
        .args(["-H", "127.0.0.1", "-p", "0"])
        .env("S3_IGNORE_SUBDOMAIN_BUCKETNAME", "true")
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn();
    let Ok(mut moto) = started else {
        eprintln!(
            "skipped: `{program}` is not installed (pip install 'moto[server,s3]'; MOTO_SERVER names its binary)"
        );
        return;
    };
    let mut said =
        std::io::BufRead::lines(std::io::BufReader::new(moto.stderr.take().expect("its words")))
            .map_while(Result::ok);
    let url = said
        .find_map(|line| line.split_once("Running on ").map(|(_, url)| url.trim().to_owned()))
        .expect("moto did not come up");
    // It says something of each request, and is not to wait for a reader.
    std::thread::spawn(move || said.count());
    let args = [
        "--s3-endpoint",
        &url,
        "--s3-access-key-id",
        "testing",
        "--s3-secret-access-key",
        "testing",
        "--s3-buckets",
        "logs, more",
    ];
    let server = Server::start_with(&args).await;
    let mut made_bucket = false;
    for _ in 0..200 {
        if server
            .raw(Method::PUT, &format!("{url}/logs"))
            .send()
            .await
            .is_ok_and(|r| r.status().is_success())
        {
            made_bucket = true;
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let body = "$.send.s3({ bucket: 'logs', prefix: 'a b/ü', payload: [{ n: 1 }, { n: 2 }] });
        $.send.s3({ bucket: 'more', prefix: 'a', payload: 'x' }); $.send.s3({ bucket: 'others', prefix: 'a', payload: 'x' });";
    let made = workflow(&server, "objects", body).await;
    answer(server.raw(Method::GET, &endpoint(&made))).await;
    let run = only_run(&server, &made, all_over).await;
    let list = answer(server.raw(Method::GET, &format!("{url}/logs?list-type=2"))).await;
    moto.kill().expect("kills");
    moto.wait().expect("reaps");
    assert!(made_bucket, "moto did not come up");
    let shown: Vec<_> = run["deliveries"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|d| (d["status"].clone(), d["response_status"].clone()))
        .collect();
    assert_eq!(
        shown,
        [
            (json!("delivered"), json!(200)),
            (json!("failed"), json!(404)),
            (json!("failed"), Value::Null)
        ],
        "{run}"
    );
    assert!(
        run["deliveries"][1]["last_error"].as_str().is_some_and(|e| e.contains("NoSuchBucket")),
        "{run}"
    );
    assert!(
        list.text.contains("<Key>a b/ü/20") && list.text.contains(".gz</Key>"),
        "{}",
        list.text
    );
}
