//! The fields of errors, and code that handles its own.

use millrace_tests::{Client, Server, answer, endpoint, id};
use reqwest::Method;
use serde_json::{Value, json};

fn step(body: &str) -> String {
    format!("export default defineComponent({{ async run({{ steps, $ }}) {{ {body} }} }});")
}

fn shows_folder(server: &Server, shown: &Value) -> bool {
    shown.to_string().contains(server.data_dir().to_str().expect("a path"))
}

async fn error_of(server: &Client, body: &str) -> Value {
    let workflow =
        server.workflow("fails", json!([{ "type": "http" }]), &[("here", &step(body))]).await;
    answer(server.raw(Method::GET, &endpoint(&workflow))).await;
    let path = format!("/workflows/{}/$errors/event_summaries?expand=event", id(&workflow));
    server.until("the error", &path, |l| l["page_info"]["count"] == 1).await["data"][0]["event"]["error"].clone()
}

#[tokio::test]
async fn s7_an_error_has_code_cell_id_ts_and_stack_whatever_was_thrown() {
    let server = Server::shared().await;
    for (body, code, message) in [
        ("throw new RangeError('too far');", "RangeError", "too far"),
        (
            "class Own extends Error { constructor(m) { super(m); this.name = 'Own'; } } throw new Own('mine');",
            "Own",
            "mine",
        ),
        ("throw 'just text';", "Error", "just text"),
        ("throw { a: 1 };", "Error", ""),
        ("throw undefined;", "Error", ""),
        (
            "const e = new Error('no stack'); delete e.stack; e.stack = undefined; throw e;",
            "Error",
            "no stack",
        ),
        ("await Promise.reject(new TypeError('rejected'));", "TypeError", "rejected"),
        ("return nothing.at.all;", "ReferenceError", "nothing is not defined"),
    ] {
        let error = error_of(&server, body).await;
        assert_eq!(error["code"], code, "{body}: {error}");
        assert!(error["message"].as_str().is_some_and(|m| m.contains(message)), "{body}: {error}");
        assert!(error["cellId"].as_str().is_some_and(|c| c.starts_with("c_")), "{body}: {error}");
        assert!(error["stack"].as_str().is_some_and(|s| !s.is_empty()), "{body}: {error}");
        let ts = error["ts"].as_str().expect("a time");
        assert!(
            ts.len() == 24
                && ts.ends_with('Z')
                && ts.as_bytes()[10] == b'T'
                && ts.as_bytes()[19] == b'.',
            "{ts}"
        );
    }
}

#[tokio::test]
async fn s7_what_lay_behind_an_error_is_told_without_secrets_and_folders() {
    let server = Server::start().await;
    let client = "const failed = Object.assign(new Error('Request failed'), { code: 'ERR_BAD_REQUEST', config: { headers: { Authorization: key } }, \
        response: { status: 401, config: { headers: { Authorization: key } } } });";
    for (body, message, stack) in [
        (
            "await fetch('http://nope.invalid/x');",
            "fetch failed: getaddrinfo ",
            &["[cause]: Error: getaddrinfo", "hostname: 'nope.invalid'"][..],
        ),
        (
            "throw new Error('outer', { cause: new RangeError('middle', { cause: new Error('inner') }) });",
            "outer",
            &["[cause]: RangeError: middle", "[cause]: Error: inner"],
        ),
        (
            "await Promise.any([Promise.reject(new Error('a is away')), Promise.reject({ status: 503 })]);",
            "All promises were rejected: a is away; { status: 503 }",
            &["[errors]: ["],
        ),
        (
            "throw { status: 404, body: { why: 'gone' } };",
            "{ status: 404, body: { why: 'gone' } }",
            &["why: 'gone'"],
        ),
        (
            "throw new Error('outer', { cause: { tries: [{ error: failed }] } });",
            "outer",
            &["ERR_BAD_REQUEST", "status: 401"],
        ),
        (
            "throw new Error('cannot read ' + import.meta.url, { cause: { at: import.meta.dirname + '/x' } });",
            "cannot read ",
            &["[cause]: { at: 'x' }"],
        ),
    ] {
        let error =
            error_of(&server, &format!("const key = ['s3', 'cret'].join(''); {client} {body}"))
                .await;
        assert!(
            error["message"].as_str().is_some_and(|m| m.starts_with(message)),
            "{body}: {error}"
        );
        let shown = error["stack"].as_str().expect("a stack");
        assert!(stack.iter().all(|part| shown.contains(part)), "{body}: {shown}");
        assert!(
            !error.to_string().contains("s3cret") && !shows_folder(&server, &error),
            "{body}: {error}"
        );
    }
}

#[tokio::test]
async fn s7_an_error_that_code_prints_shows_no_folder_of_the_server() {
    let server = Server::start().await;
    let code = "console.log(new Error('printed', { cause: new Error('cause') })); process.stderr.write(new Error('written').stack); console.trace('traced');";
    let workflow =
        server.workflow("w", json!([{ "type": "http" }]), &[("prints", &step(code))]).await;
    answer(server.raw(Method::GET, &endpoint(&workflow))).await;
    let runs = server
        .until("it settles", &format!("/workflows/{}/runs?status=succeeded", id(&workflow)), |l| {
            l["page_info"]["total_count"] == 1
        })
        .await;
    let run = server.get(&format!("/runs/{}", id(&runs["data"][0]))).await.data();
    let logs = run["logs"].to_string();
    assert!(
        ["printed", "cause", "written", "traced", "prints.mjs:1:"]
            .iter()
            .all(|part| logs.contains(part)),
        "{logs}"
    );
    assert!(!shows_folder(&server, &run) && !logs.contains("host.cjs"), "{logs}");
}

#[tokio::test]
async fn s7_workflow_code_may_handle_errors_itself() {
    let server = Server::shared().await;
    let workflow = server
        .workflow("w", json!([]), &[("a", &step("try { throw new Error('x'); } catch (e) { return `handled ${e.message}`; }")), ("b", &step("return 2;"))])
        .await;
    let run = server.post(&format!("/workflows/{}/test", id(&workflow)), &json!({})).await.data();
    assert_eq!(
        (
            &run["status"],
            &run["steps"][0]["exports"]["$return_value"],
            run["steps"].as_array().map(Vec::len)
        ),
        (&json!("succeeded"), &json!("handled x"), Some(2))
    );
}

/// What code catches names no folder of the server either: it is often what code answers with.
#[tokio::test]
async fn s7_an_error_that_code_catches_shows_no_folder_of_the_server() {
    let server = Server::start().await;
    let code = r#"import fs from "node:fs"; import { promisify } from "node:util"; import { createRequire } from "node:module"; import { once } from "node:events"; import { inspect } from "node:util"; import { Worker } from "node:worker_threads";
      const load = createRequire(import.meta.url);
      const none = "/tmp/none/none.txt";
      const tries = {
        sync: () => fs.readFileSync(none),
        callback: () => new Promise((done, fail) => fs.readFile(none, (error, text) => (error ? fail(error) : done(text)))),
        promisified: () => promisify(fs.stat)(none),
        promised: () => fs.promises.readFile(none),
        opened: () => fs.promises.open(none),
        both: () => fs.promises.rename(none, "/tmp/other.txt"),
        stream: () => once(fs.createReadStream(none), "open"),
        written: () => once(fs.createWriteStream(none), "open"),
        gone: () => process.chdir("/tmp/none"),
        own: () => { throw new TypeError("mine"); },
        kept: () => { const kept = {}; Error.captureStackTrace(kept); throw Object.assign(new Error("kept"), { kept: kept.stack }); },
        required: () => load("no-such-package-" + 1),
        resolved: () => load.resolve("./no-such-file-" + 1),
        made: () => new Function("null.x")(),
        imported: () => import("no-such-package-" + 1),
        opened_by_import: () => import("./no-such-file-" + Math.round(1) + ".mjs"),
        imported_by_address: () => import(new URL("./no-such-file.mjs", import.meta.url)),
        evaluated: () => inThread("throw new RangeError('in a thread')"),
        loaded_there: () => inThread("import('no-such-package').catch((e) => { throw e; })"),
        rejected_there: () => inThread("Promise.reject(Object.assign(new Error('late'), { code: 'E' }))"),
        named: () => new Promise((_, fail) => new Worker(new URL("./thread.mjs", import.meta.url)).on("error", fail)),
        absent: () => new Promise((_, fail) => new Worker(new URL("./no-such-thread.mjs", import.meta.url)).on("error", fail)),
      };
      const inThread = (text) => new Promise((_, fail) => new Worker(text, { eval: true }).on("error", fail));
      export default defineComponent({ async run() {
        const said = {};
        for (const [name, one] of Object.entries(tries)) {
          try { await one(); said[name] = "nothing was thrown"; } catch (e) { said[name] = [e.message, e.stack, e.path ?? "", e.dest ?? "", e.kept ?? "", String(e.requireStack ?? ""), String(e.url ?? ""), inspect(e)]; }
        }
        return said; } });"#;
    let files = json!({ "thread.mjs": "import 'node:fs';\nthrow new SyntaxError('in a file');" });
    let step = json!({ "namespace": "looks", "code": code, "code_files": files });
    let workflow = server.post("/workflows", &json!({ "triggers": [{ "type": "http" }], "steps": [step], "settings": { "name": "w" } })).await.data();
    let tested = server
        .post(
            &format!("/workflows/{}/test", workflow["id"].as_str().expect("an id")),
            &json!({ "event": {} }),
        )
        .await
        .data();
    let said = &tested["steps"][0]["exports"]["$return_value"];
    let folder = server.data_dir().to_str().expect("a path").to_owned();
    for (name, texts) in said.as_object().unwrap_or_else(|| panic!("{tested}")) {
        let texts: Vec<&str> = texts
            .as_array()
            .unwrap_or_else(|| panic!("{name}: {texts}"))
            .iter()
            .filter_map(|text| text.as_str())
            .collect();
        let [message, stack, ..] = texts[..] else { panic!("{name}: {texts:?}") };
        assert!(
            texts.iter().all(|text| !text.contains(&folder) && !text.contains("host.cjs")),
            "{name}: {texts:#?}"
        );
        assert!(
            stack.starts_with(stack.split(':').next().unwrap_or("")) && stack.contains(message),
            "{name}: {texts:#?}"
        );
        if ["sync", "callback", "promisified", "promised", "opened", "both", "stream", "written"]
            .contains(&name.as_str())
        {
            assert!(
                message.contains("'/tmp/none/none.txt'") && texts[2] == "/tmp/none/none.txt",
                "{name}: {texts:#?}"
            );
        }
    }
    assert_eq!(said["both"][3], "/tmp/other.txt");
    assert!(said["own"][1].as_str().is_some_and(|stack| stack.contains("looks.mjs:")), "{said}");
    // The run's own error still shows the author's line.
    let failing = "export default defineComponent({ run() {\n  const order = null;\n  return order.id;\n} });";
    let workflow = server.workflow("f", json!([{ "type": "http" }]), &[("fails", failing)]).await;
    let tested = server
        .post(
            &format!("/workflows/{}/test", workflow["id"].as_str().expect("an id")),
            &json!({ "event": {} }),
        )
        .await
        .data();
    assert!(tested.to_string().contains("3 |   return order.id;"), "{tested}");
}
