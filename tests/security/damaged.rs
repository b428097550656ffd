//! What is stored of one owner and cannot be read, by a disk's fault or made by hand: that owner's runs fail and say why, and nobody else's.

use millrace_tests::cluster::cluster;
use millrace_tests::{Server, answer, endpoint, id};
use reqwest::Method;
use serde_json::{Value, json};

const SOURCE: &str = "export default { name: 'orders', version: '1', props: { http: '$.interface.http' }, run(e) { this.$emit({ n: e.body.n }); } };";
const TICKS: &str = "export default { name: 'ticks', version: '1', props: { timer: { type: '$.interface.timer' } }, run() { this.$emit({}); } };";
const STEP: &str =
    "export default defineComponent({ props: { word: { type: 'any', optional: true } }, run({ steps }) { return [steps.trigger.event, this.word]; } });";

/// A workflow that listens to a source and has a value of its own.
async fn listener(server: &Server, name: &str, source: &Value, word: Value) -> Value {
    let body = json!({
        "settings": { "name": name, "error_notification": false },
        "triggers": [{ "type": "source", "id": id(source) }],
        "steps": [{ "namespace": "step", "code": STEP, "props": { "word": word } }],
    });
    server.post("/workflows", &body).await.data()
}

async fn one_run(server: &Server, owner: &str, status: &str) -> Value {
    server.until("its run", &format!("{owner}/runs?status={status}"), |l| l["page_info"]["total_count"] == 1).await["data"][0].clone()
}

#[tokio::test]
async fn damage_of_a_listener_fails_its_own_runs_and_not_those_of_its_emitter() {
    let Some(cluster) = cluster() else { return };
    let database = cluster.database().await;
    let mut server = Server::start_with(&["--database-url", &database.url()]).await;
    let source = server.source(SOURCE, json!({})).await;
    let sealed = listener(&server, "sealed", &source, json!("needle-sealed")).await;
    let broken = listener(&server, "broken", &source, json!("needle-broken")).await;
    let lost = listener(&server, "lost", &source, json!("x")).await;
    let whole = listener(&server, "whole", &source, json!("well")).await;
    let ticking = server.source(TICKS, json!({ "timer": { "intervalSeconds": 3600 } })).await;
    let other = server.source(TICKS, json!({ "timer": { "intervalSeconds": 3600 } })).await;
    let timeless = server.source(TICKS, json!({ "timer": { "intervalSeconds": 3600 } })).await;
    let limited = json!({
        "settings": { "name": "limited", "throttle": { "runs": 5, "interval_ms": 3_600_000 }, "concurrency": 2 },
        "triggers": [{ "type": "source", "id": id(&source) }],
        "steps": [{ "namespace": "step", "code": STEP }],
    });
    let limited = server.post("/workflows", &limited).await.data();
    assert_eq!(server.terminate(), Some(0));
    let sql = database.client().await;
    let damage = format!(
        "UPDATE deployments SET content = replace(content, '\"needle-sealed\"', '{{\"$sealed\":\"garbage\"}}') WHERE workflow_id = '{}';
         UPDATE deployments SET content = replace(content, '\"needle-broken\"', '') WHERE workflow_id = '{}';
         UPDATE workflows SET draft = '[]' WHERE id = '{}';
         UPDATE timers SET next_at = 1, schedule = '{{' WHERE owner_id = '{}';
         UPDATE timers SET next_at = 2 WHERE owner_id = '{}';
         UPDATE timers SET next_at = -9223372036854775808 WHERE owner_id = '{}';
         UPDATE run_limits SET window_at = -9223372036854775808, window_runs = 9223372036854775807 WHERE owner_id = '{}';",
        id(&sealed),
        id(&broken),
        id(&lost),
        id(&ticking),
        id(&other),
        id(&timeless),
        id(&limited)
    );
    sql.batch_execute(&damage).await.expect("damages");
    server.launch().await;
    assert_eq!(answer(server.raw(Method::POST, &endpoint(&source)).json(&json!({ "n": 1 }))).await.status, 200);
    // The emitter's run, and that of the listener that is whole.
    assert_eq!(one_run(&server, &format!("/sources/{}", id(&source)), "succeeded").await["error"], Value::Null);
    let ran = one_run(&server, &format!("/workflows/{}", id(&whole)), "succeeded").await;
    assert_eq!(ran["steps"][0]["exports"]["$return_value"], json!([{ "n": 1 }, "well"]));
    // Times and numbers that nobody can count with are no reason to stop.
    one_run(&server, &format!("/workflows/{}", id(&limited)), "succeeded").await;
    // The timer behind the ones that cannot be read.
    one_run(&server, &format!("/sources/{}", id(&other)), "succeeded").await;
    // Each damaged one has a run of its own, which says what is wrong.
    for (owner, words) in [(id(&sealed), "a sealed secret is damaged"), (id(&broken), "a stored record is damaged"), (id(&lost), "a stored record is damaged")]
    {
        let mut found = sql.query("SELECT status, error FROM runs WHERE owner_id = $1", &[&owner]).await.expect("reads");
        while found.first().is_none_or(|row| matches!(row.get::<_, &str>(0), "queued" | "running")) {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            found = sql.query("SELECT status, error FROM runs WHERE owner_id = $1", &[&owner]).await.expect("reads");
        }
        let (status, error): (&str, &str) = (found[0].get(0), found[0].get(1));
        assert!(found.len() == 1 && status == "failed", "{owner}: {status}");
        assert!(error.contains("DamagedData") && error.contains(words), "{owner}: {error}");
        assert!(!error.contains("garbage"), "{error}");
    }
    // Stored again, it runs.
    let again = json!({ "steps": [{ "namespace": "step", "code": STEP, "props": { "word": "mended" } }] });
    server.put(&format!("/workflows/{}", id(&sealed)), &again).await.data();
    server.post(&format!("/workflows/{}/deploy", id(&sealed)), &json!({})).await.data();
    assert_eq!(answer(server.raw(Method::POST, &endpoint(&source)).json(&json!({ "n": 2 }))).await.status, 200);
    let ran = one_run(&server, &format!("/workflows/{}", id(&sealed)), "succeeded").await;
    assert_eq!(ran["steps"][0]["exports"]["$return_value"], json!([{ "n": 2 }, "mended"]));
}

#[tokio::test]
async fn a_damaged_record_is_named_by_its_list_and_the_others_are_shown() {
    let Some(cluster) = cluster() else { return };
    let database = cluster.database().await;
    let mut server = Server::start_with(&["--database-url", &database.url()]).await;
    let whole = server.source(TICKS, json!({ "timer": { "intervalSeconds": 3600 } })).await;
    let timeless = server.source(TICKS, json!({ "timer": { "intervalSeconds": 3600 } })).await;
    let spoiled = server.source(TICKS, json!({ "timer": { "intervalSeconds": 3600 } })).await;
    let (kept, lost) = (listener(&server, "kept", &whole, json!(1)).await, listener(&server, "lost", &whole, json!(1)).await);
    let old = kept["deployment_id"].as_str().expect("an id");
    server.put(&format!("/workflows/{}", id(&kept)), &json!({ "steps": [] })).await.data();
    let new = server.post(&format!("/workflows/{}/deploy", id(&kept)), &json!({})).await.data();
    let (ran, odd) = (server.run_now(&whole, json!({})).await, server.run_now(&whole, json!({})).await);
    assert_eq!(server.terminate(), Some(0));
    let damage = format!(
        "UPDATE sources SET configured_props = '[' WHERE id = '{}';
         UPDATE timers SET schedule = '{{' WHERE owner_id = '{}';
         UPDATE workflows SET draft = '[]' WHERE id = '{}';
         UPDATE deployments SET content = '' WHERE id = '{old}';
         ALTER TABLE runs DROP CONSTRAINT runs_kind_check;
         UPDATE runs SET kind = 'odd' WHERE id = '{}';",
        id(&spoiled),
        id(&timeless),
        id(&lost),
        id(&odd)
    );
    database.client().await.batch_execute(&damage).await.expect("damages");
    server.launch().await;
    for (path, shown, damaged) in [
        ("/sources".to_owned(), vec![id(&whole)], vec![id(&spoiled), id(&timeless)]),
        ("/sources?stats=24h".to_owned(), vec![id(&whole)], vec![id(&spoiled), id(&timeless)]),
        // A page on which nothing can be read leads to the next.
        ("/sources?limit=1".to_owned(), vec![], vec![id(&spoiled)]),
        ("/workflows".to_owned(), vec![id(&kept)], vec![id(&lost)]),
        (format!("/workflows/{}/deployments", id(&kept)), vec![id(&new)], vec![old]),
        (format!("/runs?owner_id={}", id(&whole)), vec![id(&ran)], vec![id(&odd)]),
    ] {
        let list = server.get(&path).await;
        assert_eq!(list.status, 200, "{path}: {}", list.text);
        let ids: Vec<_> = list.json["data"].as_array().expect("records").iter().map(id).collect();
        let mut named: Vec<_> = list.json["page_info"]["damaged"].as_array().expect("ids").iter().filter_map(Value::as_str).collect();
        named.sort_unstable();
        let mut expected = damaged;
        expected.sort_unstable();
        assert_eq!((ids, named), (shown, expected), "{path}");
    }
    let first = server.get("/sources?limit=1").await.json;
    let next = server.get(&format!("/sources?limit=5&after={}", first["page_info"]["end_cursor"].as_str().expect("a cursor"))).await.json;
    assert_eq!(id(&next["data"][0]), id(&whole), "{next}");
}

#[tokio::test]
async fn markers_of_the_server_s_own_storage_are_no_values() {
    let server = Server::start().await;
    let source = server.source(SOURCE, json!({})).await;
    let code = "export default { name: 'p', version: '1', props: { word: { type: 'any', optional: true } }, run() {} };";
    for value in [json!({ "$sealed": "garbage" }), json!({ "$sealed": null, "more": 1 }), json!({ "__lv": { "label": "l", "value": { "$sealed": "x" } } })] {
        let refused = server.post("/sources", &json!({ "component_code": code, "configured_props": { "word": value } })).await;
        assert!(refused.status == 422 && refused.text.contains("only the server writes"), "{}", refused.text);
        let workflow = json!({
            "settings": { "name": "w" },
            "triggers": [{ "type": "source", "id": id(&source) }],
            // Neither to a prop that there is, nor to one that nobody defined.
            "steps": [{ "namespace": "step", "code": STEP, "props": { "word": value } }],
        });
        let refused = server.post("/workflows", &workflow).await;
        assert!(refused.status == 422 && refused.text.contains("only the server writes"), "{}", refused.text);
    }
    let unknown = json!({
        "settings": { "name": "w" },
        "triggers": [],
        "steps": [{ "namespace": "step", "code": STEP, "props": { "nobody": { "$sealed": "garbage" } } }],
    });
    assert_eq!(server.post("/workflows", &unknown).await.status, 422);
    // A component's own default is no way either.
    let code = "export default { name: 'p', version: '1', props: { word: { type: 'any', default: { $sealed: 'garbage' } } }, run() {} };";
    let refused = server.post("/sources", &json!({ "component_code": code, "configured_props": {} })).await;
    assert!(refused.status == 422 && refused.text.contains("only the server writes"), "{}", refused.text);
}
