//! Files of one owner's code that are damaged on the disk: its runs say so, and its emitter's go
//! on.

use std::fs;
use std::path::PathBuf;

use millrace_tests::{Server, answer, endpoint, id};
use reqwest::Method;
use serde_json::{Value, json};

const SOURCE: &str = "export default { name: 'orders', version: '1', props: { http: '$.interface.http' }, run(e) { this.$emit({ n: e.body.n }); } };";

/// A workflow that listens to a source, and whose code reads a file of its own.
async fn listener(server: &Server, source: &Value, text: &str) -> Value {
    let code = format!(
        "import fs from 'node:fs'; export default defineComponent({{ run() {{ return '{text} ' + fs.readFileSync(new URL('./own.txt', import.meta.url), 'utf8'); }} }});"
    );
    let body = json!({
        "settings": { "name": text, "error_notification": false },
        "triggers": [{ "type": "source", "id": id(source) }],
        "steps": [{ "namespace": "step", "code": code, "code_files": { "own.txt": "is read" }, "code_entry": "step.mjs" }],
    });
    server.post("/workflows", &body).await.data()
}

/// The lists of what lies beside the artifacts.
fn lists(server: &Server) -> Vec<PathBuf> {
    let files = fs::read_dir(server.data_dir().join("artifacts")).expect("artifacts");
    files
        .map(|file| file.expect("an entry").path())
        .filter(|path| path.to_string_lossy().ends_with(".beside.json"))
        .collect()
}

#[tokio::test]
async fn damaged_files_of_a_listener_fail_its_own_runs_and_not_those_of_its_emitter() {
    let mut server = Server::start().await;
    let source = server.source(SOURCE, json!({})).await;
    let whole = listener(&server, &source, "whole").await;
    let kept = lists(&server);
    let mut damaged = Vec::new();
    for text in ["garbled", "unreadable"] {
        let before = lists(&server);
        let made = listener(&server, &source, text).await;
        let new: Vec<_> = lists(&server).into_iter().filter(|l| !before.contains(l)).collect();
        assert!(!new.is_empty(), "{text}");
        damaged.push((made, new));
    }
    assert!(!kept.is_empty());
    assert_eq!(server.terminate(), Some(0));
    for (at, (_, lists)) in damaged.iter().enumerate() {
        for list in lists {
            fs::remove_file(list).expect("removes");
            match at {
                0 => fs::write(list, "[").expect("writes"),
                _ => fs::create_dir(list).expect("makes"),
            }
        }
    }
    server.launch().await;
    let sent = server.raw(Method::POST, &endpoint(&source)).json(&json!({ "n": 1 }));
    assert_eq!(answer(sent).await.status, 200);
    let one_run = async |owner: String, status: &str| {
        let path = format!("{owner}/runs?status={status}");
        let runs = server.until("its run", &path, |l| l["page_info"]["total_count"] == 1).await;
        runs["data"][0].clone()
    };
    let emitted = one_run(format!("/sources/{}", id(&source)), "succeeded").await;
    assert_eq!(emitted["attempt"], 1, "{emitted}");
    let ran = one_run(format!("/workflows/{}", id(&whole)), "succeeded").await;
    assert_eq!(ran["steps"][0]["exports"]["$return_value"], "whole is read");
    for (workflow, _) in &damaged {
        let failed = one_run(format!("/workflows/{}", id(workflow)), "failed").await;
        let message = failed["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains("what lies beside an artifact is damaged"), "{failed}");
        assert!(!message.contains("/artifacts/"), "{message}");
    }
}
