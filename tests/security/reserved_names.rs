//! Names of fields that the server's reader of JSON keeps to itself: an object with one of them is
//! no number and no JSON text of its own, whoever sends it, and nothing of it makes a text deeper
//! than it looks.

use millrace_tests::cli::Shell;
use millrace_tests::peer::{Peer, Says};
use millrace_tests::{Server, answer, endpoint, id};
use reqwest::Method;
use serde_json::json;

use crate::command_line::run;
use crate::support::Field;

const NUMBER: &str = "$serde_json::private::Number";
const RAW: &str = "$serde_json::private::RawValue";

/// JSON text of many more levels than it shows, each text of 120 within the one before.
fn hidden(texts: usize) -> String {
    (0..texts).fold("[]".to_owned(), |inner, _| {
        // Written so that a text grows by as much as it has, and not to twice its length.
        let inner = inner.replace('\\', "\\u005c").replace('"', "\\u0022");
        format!("{}{{\"{RAW}\":\"{inner}\"}}{}", "[".repeat(120), "]".repeat(120))
    })
}

/// Objects that the reader takes for something else, and one that overflows its stack.
fn objects() -> [String; 4] {
    [
        format!(r#"{{"{NUMBER}":"1.5"}}"#),
        format!(r#"{{"{RAW}":"[1]"}}"#),
        r#"{"\u0024serde_json::private::Raw\u0056alue":"[1]"}"#.to_owned(),
        hidden(50),
    ]
}

#[tokio::test]
async fn no_route_takes_an_object_with_such_a_name_for_something_else() {
    let server = Server::start_with(&["--requests-per-minute", "0"]).await;
    let paths = server.document["paths"].as_object().expect("paths").clone();
    let mut asked = 0;
    for (path, operations) in &paths {
        for (method, operation) in operations.as_object().expect("operations") {
            let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
            let Some(field) = schema["properties"].as_object().and_then(|all| all.keys().next())
            else {
                continue;
            };
            let path = path.replace(['{', '}'], "");
            for object in objects() {
                let request = server
                    .raw(method.to_uppercase().parse().expect("a method"), &path)
                    .header("content-type", "application/json")
                    .header("x-millrace-csrf", "1")
                    .body(format!("{{\"{field}\":{object}}}"));
                let open = operation["security"].as_array().is_some_and(Vec::is_empty);
                let request = if open { request } else { request.bearer_auth(&server.api_key) };
                let refused = answer(request).await;
                assert!(
                    (400..500).contains(&refused.status),
                    "{method} {path}: {} {:.300}",
                    refused.status,
                    refused.text
                );
                asked += 1;
            }
        }
    }
    assert!(asked > 200, "{asked}");
    assert_eq!(server.get("/users/me").await.status, 200);
}

#[tokio::test]
async fn an_endpoint_takes_such_a_body_as_text_and_refuses_such_a_name_of_a_query_or_form() {
    let server = Server::start().await;
    let code = "export default defineComponent({ run({ steps }) { return typeof steps.trigger.event.body; } });";
    let workflow = server.workflow("w", json!([{ "type": "http" }]), &[("step", code)]).await;
    let url = endpoint(&workflow);
    for (count, object) in (1..).zip(objects()) {
        let sent = server
            .raw(Method::POST, &url)
            .header("content-type", "application/json")
            .body(format!("{{\"a\":{object}}}"));
        assert_eq!(answer(sent).await.status, 200);
        let path = format!("/workflows/{}/runs?status=succeeded", id(&workflow));
        let runs = server.until("its run", &path, |l| l["page_info"]["total_count"] == count).await;
        let run = server.get(&format!("/runs/{}", id(&runs["data"][0]))).await.data();
        assert_eq!(run["steps"][0]["exports"]["$return_value"], "string", "{run:.300}");
        assert!(run["event"]["body"].is_string(), "{run:.300}");
    }
    let query = format!("{url}?{RAW}=%5B%5D");
    let form = format!("a=1&{NUMBER}=1.5");
    let parts =
        format!("--b\r\ncontent-disposition: form-data; name=\"{RAW}\"\r\n\r\n[]\r\n--b--\r\n");
    for sent in [
        server.raw(Method::GET, &query),
        server
            .raw(Method::POST, &url)
            .header("content-type", "application/x-www-form-urlencoded")
            .body(form),
        server
            .raw(Method::POST, &url)
            .header("content-type", "multipart/form-data; boundary=b")
            .body(parts),
    ] {
        let refused = answer(sent).await;
        assert_eq!(refused.refusal(), (422, "invalid_field"), "{:.300}", refused.text);
    }
}

#[tokio::test]
async fn code_that_hands_out_such_an_object_fails_and_the_server_goes_on() {
    let field = Field::start().await;
    let server = &field.server;
    let given = format!("JSON.parse({})", json!(hidden(50)));
    let number = json!({ NUMBER: "1.5" });
    for (count, statement) in (1..).zip([
        format!("return {given};"),
        format!("return {number};"),
        format!("$.export('x', {given});"),
        format!(
            "$.send.http({{ method: 'POST', url: 'https://hook.example.test', data: {given} }});"
        ),
        format!("$.send.emit({given});"),
        format!("throw Object.assign(new Error('e'), {{ code: 'x', more: {given} }});"),
        format!("$.flow.rerun(1, {given});"),
    ]) {
        let code =
            format!("export default defineComponent({{ async run({{ $ }}) {{ {statement} }} }});");
        let workflow = server
            .workflow(&format!("w{count}"), json!([{ "type": "http" }]), &[("step", &code)])
            .await;
        answer(server.raw(Method::POST, &endpoint(&workflow)).json(&json!({}))).await;
        let path = format!("/workflows/{}/runs?status=failed", id(&workflow));
        let runs = server.until("its run", &path, |l| l["page_info"]["total_count"] == 1).await;
        let error = &runs["data"][0]["error"];
        assert!(
            error["message"].as_str().is_some_and(|m| !m.is_empty() && m.len() < 2_000),
            "{statement:.80}: {error:.500}"
        );
    }
    let code = format!(
        "export default {{ name: 's', version: '1', props: {{ db: '$.service.db', http: '$.interface.http' }}, run() {{ this.db.set('x', {given}); }} }};"
    );
    let source = server.post("/sources", &json!({ "component_code": code })).await.data();
    for _ in 0..2 {
        answer(server.raw(Method::POST, &endpoint(&source)).json(&json!({}))).await;
    }
    let path = format!("/sources/{}/runs?status=failed", id(&source));
    server.until("its runs", &path, |l| l["page_info"]["total_count"] == 2).await;
    field.healthy().await;
}

#[tokio::test]
async fn the_command_line_reads_an_answer_with_such_an_object_and_ends_with_an_error() {
    let peer = Peer::start(|_| Says::Json(format!("{{\"data\":{}}}", hidden(60))));
    let shell = Shell::alone();
    for command in [&["list", "workflows"][..], &["list", "sources"], &["runs", "list", "x"]] {
        run(&shell, &peer.url, command).fails(1);
    }
}
