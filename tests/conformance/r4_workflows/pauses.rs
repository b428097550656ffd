//! Addresses of a pause (reference 4.4): they cannot be guessed, each works once, and none outlives
//! its pause.

use millrace_tests::{Client, Server, answer, endpoint, id};
use reqwest::Method;
use serde_json::{Value, json};

/// Noon of a day.
const NOON: i64 = 1_767_182_400_000;
const HOUR_MS: i64 = 3_600_000;

async fn deploy(server: &Client, name: &str, steps: &[(&str, &str)]) -> Value {
    let steps: Vec<(&str, String)> = steps
        .iter()
        .map(|(n, body)| {
            (*n, format!("export default defineComponent({{ run({{ steps, $ }}) {{ {body} }} }});"))
        })
        .collect();
    let steps: Vec<(&str, &str)> = steps.iter().map(|(n, code)| (*n, code.as_str())).collect();
    let workflow = server.workflow(name, json!([{ "type": "http" }]), &steps).await;
    answer(server.raw(Method::GET, &endpoint(&workflow))).await;
    workflow
}

async fn run_in(server: &Client, workflow: &Value, status: &str) -> Value {
    let path = format!("/workflows/{}/runs?status={status}", id(workflow));
    server.until(status, &path, |l| l["page_info"]["total_count"] == 1).await["data"][0].clone()
}

fn url(run: &Value, step: usize, name: &str) -> String {
    run["steps"][step]["exports"]["$return_value"][name]
        .as_str()
        .unwrap_or_else(|| panic!("{name}: {run}"))
        .to_owned()
}

#[tokio::test]
async fn r4_4_addresses_of_a_pause_end_with_it() {
    let server = Server::start_at(NOON, &[]).await;
    let suspended = deploy(
        &server,
        "suspended",
        &[("ask", &format!("return $.flow.suspend({HOUR_MS});")), ("never", "return 1;")],
    )
    .await;
    let still = deploy(
        &server,
        "still",
        &[
            ("ask", &format!("return $.flow.suspend({});", 2 * HOUR_MS)),
            ("then", "return steps.ask.$resume_data.query;"),
        ],
    )
    .await;
    let (first, second) =
        (run_in(&server, &suspended, "paused").await, run_in(&server, &still, "paused").await);
    server.set_clock(NOON + HOUR_MS);
    // Whether the scheduler came first or the request does: the pause is over.
    for name in ["resume_url", "cancel_url"] {
        assert_eq!(
            answer(server.raw(Method::POST, &url(&first, 0, name))).await.refusal(),
            (410, "gone"),
            "{name}"
        );
    }
    let cancelled = run_in(&server, &suspended, "cancelled").await;
    assert_eq!(
        (cancelled["steps"].as_array().map(Vec::len), &cancelled["finished_at_ms"]),
        (Some(1), &json!(NOON + HOUR_MS))
    );
    // The other has another hour.
    server.set_clock(NOON + 2 * HOUR_MS - 1);
    assert_eq!(
        answer(server.raw(Method::GET, &format!("{}?late=1", url(&second, 0, "resume_url"))))
            .await
            .json["data"]["status"],
        "resumed"
    );
    assert_eq!(
        run_in(&server, &still, "succeeded").await["steps"][1]["exports"]["$return_value"],
        json!({ "late": "1" })
    );
    for name in ["resume_url", "cancel_url"] {
        assert_eq!(
            answer(server.raw(Method::POST, &url(&second, 0, name))).await.refusal(),
            (410, "gone"),
            "{name}"
        );
    }
}

#[tokio::test]
async fn r4_4_an_address_is_of_one_pause_and_of_one_run() {
    let server = Server::shared().await;
    let ask = "return $.flow.suspend(60_000);";
    let workflow =
        deploy(&server, "two", &[("one", ask), ("two", ask), ("then", "return 'through';")]).await;
    let first = run_in(&server, &workflow, "paused").await;
    let of_first = url(&first, 0, "resume_url");
    assert_eq!(answer(server.raw(Method::POST, &of_first)).await.status, 200);
    let path = format!("/workflows/{}/runs?status=paused", id(&workflow));
    let second = server
        .until("the second pause", &path, |l| {
            l["data"][0]["steps"].as_array().is_some_and(|s| s.len() == 2)
        })
        .await["data"][0]
        .clone();
    let of_second = url(&second, 1, "resume_url");
    assert_ne!(of_first, of_second);
    assert_eq!(
        answer(server.raw(Method::POST, &of_first)).await.refusal(),
        (410, "gone"),
        "that of the first ends no other"
    );
    // The code of one pause is not good for another.
    let parts = |url: &str| -> [String; 3] {
        url.splitn(3, '-')
            .map(str::to_owned)
            .collect::<Vec<_>>()
            .try_into()
            .expect("run, attempt and code")
    };
    let ([_, _, code], [run, attempt, _]) = (parts(&of_first), parts(&of_second));
    assert!(code.len() >= 22, "a code of at least 128 bits: {code}");
    assert_eq!(
        answer(server.raw(Method::POST, &format!("{run}-{attempt}-{code}"))).await.refusal(),
        (404, "not_found")
    );
    assert_eq!(run_in(&server, &workflow, "paused").await["id"], first["id"]);
    assert_eq!(answer(server.raw(Method::POST, &of_second)).await.status, 200);
    assert_eq!(
        run_in(&server, &workflow, "succeeded").await["steps"][2]["exports"]["$return_value"],
        "through"
    );
}

/// Whoever knows the address of a pause, or the code of a step itself, leaves what the next attempt
/// begins with: it ends well or not, and once.
#[tokio::test]
async fn r4_4_a_resumed_run_ends_whatever_it_was_resumed_with() {
    let server = Server::shared().await;
    let then = "console.log(`got ${typeof steps.ask.$resume_data.body}`);";
    for (levels, kind) in [(256, "object"), (257, "string"), (320, "string")] {
        let workflow = deploy(
            &server,
            &format!("deep {levels}"),
            &[("ask", &format!("return $.flow.suspend({HOUR_MS});")), ("then", then)],
        )
        .await;
        let paused = run_in(&server, &workflow, "paused").await;
        let body = format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        let sent = answer(
            server
                .raw(Method::POST, &url(&paused, 0, "resume_url"))
                .header("content-type", "application/json")
                .body(body),
        )
        .await;
        assert_eq!(sent.status, 200, "{}", sent.text);
        // Asked of the log: this test's own reader goes no deeper than 128 levels.
        let got = format!("got {kind}");
        let path = format!("/workflows/{}/logs", id(&workflow));
        server
            .until(&got, &path, |l| {
                l["data"]
                    .as_array()
                    .is_some_and(|lines| lines.iter().any(|line| line["text"] == got))
            })
            .await;
    }
    let deep = format!(r#"{{"a":{}{}}}"#, "[".repeat(1_000), "]".repeat(1_000));
    let finished = |exports: &str| {
        format!(
            r#"{{"t":"step","id":1,"namespace":"ask","state":"finished","duration_ms":1,"exports":{exports}}}"#
        )
    };
    let done = |paused: &str| {
        format!(
            r#"{{"t":"done","id":1,"ok":true,"paused":{{"namespace":"ask","ms":{HOUR_MS},{paused}}}}}"#
        )
    };
    for (name, frame, said) in [
        ("exports of another type", finished("5"), "exports are no object"),
        ("deep exports", finished(&deep), "exports are no object, or are nested too deep"),
        (
            "a rerun of another type",
            done(r#""kind":"rerun","run":[1]"#),
            "`run` of a pause are no object",
        ),
        (
            "deep exports of a rerun",
            done(&format!(r#""kind":"rerun","exports":{deep}"#)),
            "a pause's exports are no object",
        ),
    ] {
        let workflow = forging(&server, name, &[&frame]).await;
        let error = run_in(&server, &workflow, "failed").await["error"].clone();
        assert!(
            error["code"] == "InternalFailure"
                && error["message"].as_str().is_some_and(|m| m.contains(said)),
            "{name}: {error}"
        );
    }
    // A name that the server's own reader keeps to itself: the body stays text.
    let hidden = format!(r#"{{"$serde_json::private::RawValue":"{}"}}"#, "[".repeat(9_999));
    let workflow = deploy(
        &server,
        "hidden",
        &[
            ("ask", &format!("return $.flow.suspend({HOUR_MS});")),
            ("then", "console.log(typeof steps.ask.$return_value.body); return 1;"),
        ],
    )
    .await;
    let resume_url = url(&run_in(&server, &workflow, "paused").await, 0, "resume_url");
    let sent = server
        .raw(Method::POST, &resume_url)
        .header("content-type", "application/json")
        .body(hidden);
    assert_eq!(answer(sent).await.status, 200);
    run_in(&server, &workflow, "succeeded").await;
}

/// A workflow that was started, whose first step says these frames itself.
async fn forging(server: &Client, name: &str, frames: &[&str]) -> Value {
    let code = format!(
        "import fs from 'node:fs';
         export default defineComponent({{ async run({{ $ }}) {{
           console.log($.flow.suspend({HOUR_MS}).resume_url);
           for (const frame of {}) {{
             const text = Buffer.from(frame); const head = Buffer.alloc(4); head.writeUInt32LE(text.length);
             fs.writeSync(3, Buffer.concat([head, text]));
           }}
           await new Promise(() => setInterval(() => {{}}, 1000));
         }} }});",
        json!(frames)
    );
    let workflow = server
        .workflow(
            name,
            json!([{ "type": "http" }]),
            &[("ask", &code), ("then", "export default defineComponent({ run() {} });")],
        )
        .await;
    answer(server.raw(Method::GET, &endpoint(&workflow))).await;
    workflow
}

#[tokio::test]
async fn r4_4_a_form_that_resumes_a_run_is_read_as_at_an_endpoint() {
    let server = Server::shared().await;
    let suspend = format!("return $.flow.suspend({HOUR_MS});");
    let shown = "return steps.ask.$resume_data;";
    let workflow = deploy(&server, "form", &[("ask", &suspend), ("then", shown)]).await;
    let paused = run_in(&server, &workflow, "paused").await;
    let form = "--b\r\nContent-Disposition: form-data; name=answer\r\n\r\nyes\r\n--b\r\nContent-Disposition: form-data; name=proof; filename=p.png\r\nContent-Type: image/png\r\n\r\nx\r\n--b--\r\n";
    let send = || {
        let request = server.raw(Method::POST, &url(&paused, 0, "resume_url")).body(form);
        answer(request.header("content-type", "multipart/form-data; boundary=b"))
    };
    assert_eq!(send().await.status, 200);
    let run = run_in(&server, &workflow, "succeeded").await;
    let body = &run["steps"][1]["exports"]["$return_value"]["body"];
    assert_eq!(body["answer"], "yes", "{run}");
    assert_eq!(
        (&body["proof"]["filename"], &body["proof"]["mimetype"]),
        (&json!("p.png"), &json!("image/png"))
    );
    let file = body["proof"]["url"].as_str().expect("an address");
    let path = &file[file.find("/uploads/").expect("a path")..];
    assert_eq!(answer(server.raw(Method::GET, path)).await.status, 200);
    // An address whose pause is over keeps nothing of what is sent to it.
    assert_eq!(send().await.status, 410);
}
