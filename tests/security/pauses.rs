//! Addresses that end the pause of a run.

use millrace_tests::{Server, answer, id};
use reqwest::Method;
use serde_json::{Value, json};

use crate::scopes::key;

/// What a record shows to a scope does not let it do more: the addresses of a paused run are for
/// keys that may cancel it.
#[tokio::test]
async fn who_only_reads_is_given_no_address_that_resumes_or_cancels() {
    let server = Server::start().await;
    let code = "export default defineComponent({ async run({ $ }) { const urls = $.flow.suspend(); console.log('at ' + urls.cancel_url); console.log('to ' + encodeURIComponent(urls.cancel_url)); $.export('deep', [{ urls }]); $.send.emit({ urls }); return urls; } });";
    let suspends = server.workflow("suspends", json!([{ "type": "http" }]), &[("ask", code)]).await;
    let fails = json!({ "triggers": [{ "type": "http" }], "steps": [{ "namespace": "fails", "code": "export default defineComponent({ run() { throw new Error('no'); } });" }], "settings": { "name": "fails", "auto_retry": true } });
    let fails = server.post("/workflows", &fails).await.data();
    let (reads, both) = (key(&server, "read").await, key(&server, "deploy").await);
    let get = |key: &str, path: String| {
        let request = server.raw(Method::GET, &format!("/v1{path}")).bearer_auth(key);
        async move { answer(request).await.text }
    };
    for workflow in [&suspends, &fails] {
        answer(server.raw(Method::POST, &millrace_tests::endpoint(workflow))).await;
        let runs = format!("/workflows/{}/runs", id(workflow));
        let run = id(&server
            .until("it pauses", &runs, |l| l["data"][0]["status"] == "paused")
            .await["data"][0])
        .to_owned();
        let mut shown = Vec::new();
        for path in [
            format!("/runs/{run}"),
            runs.clone(),
            "/runs?include=id,return_value,steps,event".into(),
            format!("/workflows/{}/logs", id(workflow)),
            "/export".into(),
            format!("/workflows/{}/event_summaries?expand=event", id(workflow)),
        ] {
            shown.push((get(&reads, path.clone()).await, get(&both, path).await));
        }
        let mut stream = server
            .raw(Method::GET, &format!("/v1/runs/{run}/sse"))
            .bearer_auth(&reads)
            .send()
            .await
            .expect("an answer");
        let mut said = String::new();
        while !said.contains("/cancel/run_") {
            said.push_str(&String::from_utf8_lossy(
                &stream.chunk().await.expect("goes on").expect("more"),
            ));
        }
        shown.push((said, String::new()));
        let mut addresses = 0;
        for (read, whole) in &shown {
            assert!(whole.is_empty() || read.len() == whole.len(), "{read}\n{whole}");
            for token in read
                .split("/cancel/")
                .chain(read.split("/resume/"))
                .skip(1)
                .filter(|rest| rest.starts_with("run_"))
            {
                let token: String = token
                    .chars()
                    .take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
                    .collect();
                let code = token.splitn(3, '-').nth(2).unwrap_or("x");
                assert!(code.chars().all(|c| c == 'x'), "{token}");
                addresses += 1;
                for verb in ["cancel", "resume"] {
                    assert_eq!(
                        answer(server.raw(Method::POST, &format!("/{verb}/{token}"))).await.status,
                        404
                    );
                }
            }
        }
        assert!(addresses >= 6, "{addresses} were looked at");
        let (_, whole) = &shown[0];
        let cancel = whole
            .split("/cancel/")
            .nth(1)
            .expect("an address")
            .split('"')
            .next()
            .expect("its end")
            .to_owned();
        let code = cancel.splitn(3, '-').nth(2).expect("a code");
        assert!(shown.iter().all(|(read, _)| !read.contains(code)), "in whatever it stands in");
        // No filter looks behind what is shown.
        for path in [
            format!("/workflows/{}/logs?text=", id(workflow)),
            format!("/workflows/{}/event_summaries?q=", id(workflow)),
        ] {
            let found = async |key: &str, text: &str| {
                let answered = get(key, format!("{path}{text}")).await;
                let page: Value = serde_json::from_str(&answered).expect("JSON");
                (page["data"].as_array().expect("a page").len(), page["page_info"].clone())
            };
            let (hidden, page_info) = found(&reads, &code[..4]).await;
            assert_eq!((hidden, &page_info["total_count"]), (0, &json!(0)), "{path}");
            let is_written = id(workflow) == id(&suspends);
            assert_eq!(found(&both, &code[..4]).await.0 > 0, is_written, "{path}");
            assert_eq!(found(&reads, "cancel").await.0 > 0, is_written, "{path}");
        }
        assert_eq!(server.get(&format!("/runs/{run}")).await.data()["status"], "paused");
        assert_eq!(
            answer(server.raw(Method::POST, &format!("/cancel/{cancel}"))).await.status,
            200,
            "who may cancel is given the address"
        );
    }
}

/// Keys of stores that code made of an address: each is shown without its code, a page goes on
/// behind it, and no question about what it begins with or comes after is answered.
#[tokio::test]
async fn no_prefix_and_no_cursor_tells_a_code_that_a_key_or_path_has() {
    let server = Server::start().await;
    let code = "export default { props: { store: { type: 'data_store' } }, async run({ $ }) { const { resume_url } = $.flow.suspend(); const token = resume_url.split('/').pop(); await this.store.set(token, 1); await this.store.set(token + '/b', 1); return token; } };";
    let store = server.post("/data_stores", &json!({ "name": "kept" })).await.data();
    let step = json!({ "namespace": "ask", "code": code, "props": { "store": store["id"] } });
    let asks = json!({ "triggers": [], "steps": [step], "settings": { "name": "asks" } });
    let asks = server.post("/workflows", &asks).await.data();
    let run =
        server.post(&format!("/workflows/{}/run", id(&asks)), &json!({ "wait": false })).await;
    let run = format!("/runs/{}", id(&run.json["data"]));
    let paused = server.until("it pauses", &run, |run| run["data"]["status"] == "paused").await;
    let exports = &paused["data"]["steps"][0]["exports"];
    let token = exports["$return_value"].as_str().expect("a token").to_owned();
    let head = format!("{}-", token.splitn(3, '-').take(2).collect::<Vec<_>>().join("-"));
    let code = token.strip_prefix(&head).expect("a code").to_owned();
    for key in ["a", "z"] {
        let path = format!("/data_stores/{}/record", id(&store));
        server.put(&path, &json!({ "key": key, "value": 1 })).await.data();
    }
    for path in ["a".to_owned(), token.clone(), format!("{token}-b"), "z".into()] {
        let file = server.raw(Method::PUT, "/v1/file_stores/files/files").query(&[("path", path)]);
        assert_eq!(answer(file.bearer_auth(&server.api_key).body("x")).await.status, 200);
    }
    let (reads, both) = (key(&server, "read").await, key(&server, "deploy").await);
    let ask = async |key: &str, path: &str, query: &[(&str, &str)]| {
        let request = server.raw(Method::GET, &format!("/v1{path}")).query(query);
        answer(request.bearer_auth(key)).await
    };
    // Page by page, as any list.
    let page_by_page = async |path: &str, field: &str| {
        let (mut shown, mut after) = (Vec::new(), String::new());
        loop {
            let page = ask(&reads, path, &[("limit", "1"), ("after", &after)]).await.json;
            let Some(item) = page["data"].get(0) else { return shown };
            shown.push(item[field].as_str().expect("a text").to_owned());
            after = page["page_info"]["end_cursor"].as_str().expect("a cursor").to_owned();
            assert!(shown.len() < 9, "{shown:?}");
        }
    };
    let masked = format!("{head}{}", "x".repeat(code.len()));
    let keys = format!("/data_stores/{}/keys", id(&store));
    for (path, field, second) in [
        (keys.as_str(), "key", format!("{masked}/b")),
        ("/file_stores/files/files", "path", format!("{masked}xx")),
    ] {
        assert_eq!(page_by_page(path, field).await, ["a", &masked, &second, "z"], "{path}");
        // Each guess is answered as the others are.
        let guesses = code.chars().take(1).chain("!0:Aa~_-%".chars());
        let guesses: Vec<String> = guesses.map(|next| format!("{head}{next}")).collect();
        for guess in guesses.iter().chain([&token, &format!("{token}/"), &format!("{masked}y")]) {
            let told = ask(&reads, path, &[("after", guess)]).await;
            assert_eq!(told.refusal(), (422, "unknown_cursor"), "{guess}: {}", told.text);
            let told = ask(&reads, path, &[("prefix", guess)]).await;
            let is_file = field == "path";
            assert!(
                is_file || told.json["page_info"]["total_count"] == 0,
                "{guess}: {}",
                told.text
            );
        }
        let whole = ask(&reads, path, &[("after", &head)]).await.json;
        assert_eq!(whole["data"].as_array().map(Vec::len), Some(3), "{whole}");
        let whole = ask(&both, path, &[("after", &token)]).await.json;
        assert_eq!(whole["data"].as_array().map(Vec::len), Some(2), "{whole}");
    }
    let fits = ask(&reads, &keys, &[("prefix", &head)]).await.json;
    assert_eq!(fits["page_info"]["total_count"], 2, "what is shown is searched");
    let fits = ask(&both, &keys, &[("prefix", &token[..head.len() + 2])]).await.json;
    assert_eq!(fits["page_info"]["total_count"], 2, "who may resume it is told");
    // Those that look alike are shown one by one, wherever a page ends.
    for other in ["0", "Z", "z"] {
        let alike = format!("{head}{}", other.repeat(code.len()));
        let path = format!("/data_stores/{}/record", id(&store));
        server.put(&path, &json!({ "key": alike, "value": 1 })).await.data();
        let file = server.raw(Method::PUT, "/v1/file_stores/files/files").query(&[("path", alike)]);
        assert_eq!(answer(file.bearer_auth(&server.api_key).body("x")).await.status, 200);
    }
    for (path, field) in [(keys.as_str(), "key"), ("/file_stores/files/files", "path")] {
        let at_once = ask(&reads, path, &[("limit", "100")]).await.json;
        let at_once: Vec<_> = at_once["data"]
            .as_array()
            .expect("a list")
            .iter()
            .filter_map(|item| item[field].as_str())
            .collect();
        assert_eq!(at_once.iter().filter(|shown| **shown == masked).count(), 4, "{path}");
        assert_eq!(page_by_page(path, field).await, at_once, "{path}");
        for nth in ["0", "x", "-1", ""] {
            let told = ask(&reads, path, &[("after", &format!("{masked}\0{nth}"))]).await;
            assert_eq!(told.refusal(), (422, "unknown_cursor"), "{path} {nth}: {}", told.text);
        }
    }
}
