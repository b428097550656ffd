//! Little in, much out: what one request or run can repeat has a bound that the server holds, and
//! says so.

use millrace_tests::cluster::cluster;
use millrace_tests::{Server, answer, endpoint, id};
use reqwest::Method;
use serde_json::{Value, json};

/// Tests a workflow of one step: nothing of what it starts and sends goes out, and all is counted.
/// Gives its run.
async fn tested(server: &Server, body: &str) -> Value {
    let code = format!("export default defineComponent({{ async run({{ $ }}) {{ {body} }} }});");
    let steps = json!([{ "namespace": "step", "code": code }]);
    let workflow = server.post("/workflows", &json!({ "settings": { "name": "w" }, "triggers": [{ "type": "http" }], "steps": steps })).await.data();
    server.post(&format!("/workflows/{}/test", id(&workflow)), &json!({ "event": {} })).await.data()
}

#[tokio::test]
async fn what_a_run_asks_and_sends_again_and_again_has_a_bound() {
    let server = Server::start().await;
    let asleep = server
        .workflow("asleep", json!([]), &[("a", "export default defineComponent({ run() {} });")])
        .await;
    let trigger = format!(
        "let done = 0; try {{ for (; done < 20_000; done++) await $.flow.trigger('{}', 1); }} catch (error) {{ return [done, error.name, error.message]; }} return [done];",
        id(&asleep)
    );
    let run = tested(&server, &trigger).await;
    let said = &run["steps"][0]["exports"]["$return_value"];
    assert_eq!((&said[0], &said[1]), (&json!(1000), &json!("QuotaExceeded")), "{run}");
    assert!(
        said[2]
            .as_str()
            .is_some_and(|said| said
                .contains("`$.flow.trigger` was called more than 1000 times in this run")),
        "{said}"
    );
    for send in [
        "emit({ raw_event: {} })",
        "sse({ channel: 'c', payload: 1 })",
        "http({ method: 'GET', url: 'http://127.0.0.1:9/' })",
    ] {
        let run =
            tested(&server, &format!("for (let n = 0; n < 20_000; n++) $.send.{send};")).await;
        let error = &run["error"];
        assert!(
            error["code"] == "PayloadTooLarge"
                && error["message"].as_str().is_some_and(|m| m.contains("more than 10000 times")),
            "{send}: {run}"
        );
    }
    let source = server.source("export default { name: 's', version: '1', run() { for (let n = 0; n < 20_000; n++) this.$emit(n); } };", json!({})).await;
    let run = server.run_now(&source, json!({})).await;
    assert!(
        run["status"] == "failed"
            && run["error"]["message"]
                .as_str()
                .is_some_and(|m| m.contains("more than 10000 times")),
        "{run}"
    );
}

/// A run that pauses for ever ends: it has been started as often as one may, which is told here as
/// if it were so.
#[tokio::test]
async fn a_run_pauses_only_so_often() {
    let Some(cluster) = cluster() else { return };
    let database = cluster.database().await;
    let mut server = Server::start_with(&["--database-url", &database.url()]).await;
    let code =
        "export default defineComponent({ run({ $ }) { $.flow.rerun(60_000, null, 1e9); } });";
    let workflow = server.workflow("again", json!([{ "type": "http" }]), &[("a", code)]).await;
    answer(server.raw(Method::POST, &endpoint(&workflow)).json(&json!({}))).await;
    let runs = format!("/workflows/{}/runs", id(&workflow));
    server.until("a pause", &runs, |l| l["data"][0]["status"] == "paused").await;
    assert_eq!(server.terminate(), Some(0));
    let sql = database.client().await;
    sql.batch_execute(
        "UPDATE runs SET attempt = 9998; UPDATE pauses SET attempt = 9998, wake_at = 1",
    )
    .await
    .expect("counts");
    server.launch().await;
    server.until("the last pause but one", &runs, |l| l["data"][0]["status"] == "paused").await;
    sql.batch_execute("UPDATE pauses SET wake_at = 1").await.expect("wakes");
    assert_eq!(server.terminate(), Some(0));
    server.launch().await;
    let listed = server.until("its end", &runs, |l| l["data"][0]["status"] == "failed").await;
    let error = &listed["data"][0]["error"];
    assert!(
        error["code"] == "TooManyPauses"
            && error["message"]
                .as_str()
                .is_some_and(|m| m.contains("has been started 10000 times")),
        "{error}"
    );
}

/// Each word of a search is looked for in each app and component that there is.
#[tokio::test]
async fn a_search_has_so_many_words() {
    let server = Server::shared().await;
    let words = |count: usize| (0..count).map(|n| n.to_string()).collect::<Vec<_>>().join("+");
    let workflow = server.workflow("w", json!([]), &[]).await;
    let project = workflow["project_id"].as_str().expect("a project");
    let components = format!("/connect/{project}/components");
    for (path, field) in [
        ("/components/search", "query"),
        ("/apps", "q"),
        ("/connect/apps", "q"),
        (components.as_str(), "q"),
    ] {
        let asked = async |words: String| server.get(&format!("{path}?{field}={words}")).await;
        assert_eq!(asked(words(32)).await.status, 200, "{path}");
        assert_eq!(asked(["slack"; 9_000].join("+")).await.status, 200, "{path}: one word");
        let refused = asked(words(33)).await;
        assert_eq!(refused.refusal(), (422, "invalid_field"), "{path}");
        assert!(
            refused.text.contains(&format!("`{field}` has 33 different words, allowed are 32")),
            "{}",
            refused.text
        );
    }
}

/// What is left out of an archive is read all the same.
#[tokio::test]
async fn an_archive_of_a_registry_has_so_many_entries_and_its_depth_costs_nothing() {
    let packed = |paths: &mut dyn Iterator<Item = String>| {
        let gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        let mut archive = tar::Builder::new(gz);
        for path in paths {
            let mut header = tar::Header::new_gnu();
            header.set_size(0);
            header.set_mode(0o644);
            archive.append_data(&mut header, &path, std::io::empty()).expect("packs");
        }
        archive.into_inner().and_then(flate2::write::GzEncoder::finish).expect("packs")
    };
    let server = Server::start().await;
    let add = async |name: &str, archive: Vec<u8>| {
        let request = server.raw(Method::POST, &format!("/v1/registries?name={name}"));
        answer(request.bearer_auth(&server.api_key).body(archive)).await
    };
    let many = add("many", packed(&mut (0..=240_000).map(|n| format!("{n}")))).await;
    assert_eq!(many.status, 422, "{}", many.text);
    assert!(many.text.contains("it has more than 240000 entries"), "{}", many.text);
    // Each level around all files was once a walk over all of their paths, written anew.
    let deep = "d/".repeat(120);
    let begun = std::time::Instant::now();
    let deep = add("deep", packed(&mut (0..20_000).map(|n| format!("{deep}{n}.js")))).await;
    assert_eq!(deep.status, 422, "{}", deep.text);
    assert!(begun.elapsed() < std::time::Duration::from_secs(60), "{:?}", begun.elapsed());
}
