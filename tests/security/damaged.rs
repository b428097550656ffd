//! Damaged data of one owner, by a disk's fault or made by hand: that owner's runs fail and say
//! why, and no other owner's.

use millrace_tests::cluster::cluster;
use millrace_tests::receiver::{Does, Receiver};
use millrace_tests::{Server, answer, endpoint, id};
use reqwest::Method;
use serde_json::{Value, json};

const SOURCE: &str = "export default { name: 'orders', version: '1', props: { http: '$.interface.http' }, run(e) { this.$emit({ n: e.body.n }); } };";
const TICKS: &str = "export default { name: 'ticks', version: '1', props: { timer: { type: '$.interface.timer' } }, run() { this.$emit({}); } };";
const STEP: &str = "export default defineComponent({ props: { word: { type: 'any', optional: true } }, run({ steps }) { return [steps.trigger.event, this.word]; } });";

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
    server
        .until("its run", &format!("{owner}/runs?status={status}"), |l| {
            l["page_info"]["total_count"] == 1
        })
        .await["data"][0]
        .clone()
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
    assert_eq!(
        answer(server.raw(Method::POST, &endpoint(&source)).json(&json!({ "n": 1 }))).await.status,
        200
    );
    // The emitter's run, and that of the listener that is whole.
    assert_eq!(
        one_run(&server, &format!("/sources/{}", id(&source)), "succeeded").await["error"],
        Value::Null
    );
    let ran = one_run(&server, &format!("/workflows/{}", id(&whole)), "succeeded").await;
    assert_eq!(ran["steps"][0]["exports"]["$return_value"], json!([{ "n": 1 }, "well"]));
    // Times and numbers that nobody can count with are no reason to stop.
    one_run(&server, &format!("/workflows/{}", id(&limited)), "succeeded").await;
    // The timer behind the ones that cannot be read.
    one_run(&server, &format!("/sources/{}", id(&other)), "succeeded").await;
    // Each damaged one has a run of its own, which says what is wrong.
    for (owner, words) in [
        (id(&sealed), "a sealed secret is damaged"),
        (id(&broken), "a stored record is damaged"),
        (id(&lost), "a stored record is damaged"),
    ] {
        let mut found = sql
            .query("SELECT status, error FROM runs WHERE owner_id = $1", &[&owner])
            .await
            .expect("reads");
        while found.first().is_none_or(|row| matches!(row.get::<_, &str>(0), "queued" | "running"))
        {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            found = sql
                .query("SELECT status, error FROM runs WHERE owner_id = $1", &[&owner])
                .await
                .expect("reads");
        }
        let (status, error): (&str, &str) = (found[0].get(0), found[0].get(1));
        assert!(found.len() == 1 && status == "failed", "{owner}: {status}");
        assert!(error.contains("DamagedData") && error.contains(words), "{owner}: {error}");
        assert!(!error.contains("garbage"), "{error}");
    }
    // Stored again, it runs.
    let again =
        json!({ "steps": [{ "namespace": "step", "code": STEP, "props": { "word": "mended" } }] });
    server.put(&format!("/workflows/{}", id(&sealed)), &again).await.data();
    server.post(&format!("/workflows/{}/deploy", id(&sealed)), &json!({})).await.data();
    assert_eq!(
        answer(server.raw(Method::POST, &endpoint(&source)).json(&json!({ "n": 2 }))).await.status,
        200
    );
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
    let (kept, lost) = (
        listener(&server, "kept", &whole, json!(1)).await,
        listener(&server, "lost", &whole, json!(1)).await,
    );
    let old = kept["deployment_id"].as_str().expect("an id");
    server.put(&format!("/workflows/{}", id(&kept)), &json!({ "steps": [] })).await.data();
    let new = server.post(&format!("/workflows/{}/deploy", id(&kept)), &json!({})).await.data();
    let (ran, odd) =
        (server.run_now(&whole, json!({})).await, server.run_now(&whole, json!({})).await);
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
        let mut named: Vec<_> = list.json["page_info"]["damaged"]
            .as_array()
            .expect("ids")
            .iter()
            .filter_map(Value::as_str)
            .collect();
        named.sort_unstable();
        let mut expected = damaged;
        expected.sort_unstable();
        assert_eq!((ids, named), (shown, expected), "{path}");
    }
    let first = server.get("/sources?limit=1").await.json;
    let next = server
        .get(&format!(
            "/sources?limit=5&after={}",
            first["page_info"]["end_cursor"].as_str().expect("a cursor")
        ))
        .await
        .json;
    assert_eq!(id(&next["data"][0]), id(&whole), "{next}");
}

/// What cannot be read is no reason to keep it, nor what it names.
#[tokio::test]
async fn a_damaged_record_is_removed_like_any_other_and_keeps_nothing_else() {
    let Some(cluster) = cluster() else { return };
    let database = cluster.database().await;
    let mut server = Server::start_with(&["--database-url", &database.url()]).await;
    let code = "export default { name: 'k', version: '1', props: { store: { type: 'data_store', optional: true }, http: '$.interface.http' }, run() {} };";
    let store = server.post("/data_stores", &json!({ "name": "kept" })).await.data();
    let mut sources = Vec::new();
    for _ in 0..4 {
        sources.push(server.source(code, json!({})).await);
    }
    let (draft, version) = (
        listener(&server, "draft", &sources[0], json!(1)).await,
        listener(&server, "version", &sources[0], json!(1)).await,
    );
    server
        .post("/apps", &json!({ "name_slug": "acme", "custom_fields": [{ "name": "k" }] }))
        .await
        .data();
    let mut accounts = Vec::new();
    for _ in 0..3 {
        accounts.push(
            server
                .post("/accounts", &json!({ "app": "acme", "credentials": { "k": "v" } }))
                .await
                .data(),
        );
    }
    let left = server
        .post(
            "/accounts",
            &json!({ "app": "acme", "external_user_id": "ann", "credentials": { "k": "v" } }),
        )
        .await
        .data();
    assert_eq!(server.terminate(), Some(0));
    let damage = format!(
        "UPDATE sources SET configured_props = '[' WHERE id = '{}';
         UPDATE sources SET settings = 'null' WHERE id = '{}';
         UPDATE sources SET dynamic_props = '{{}}' WHERE id = '{}';
         UPDATE workflows SET draft = '' WHERE id = '{}';
         UPDATE deployments SET content = '[]' WHERE workflow_id = '{}';
         UPDATE accounts SET credentials = 'garbage' WHERE id IN ('{}', '{}');",
        id(&sources[0]),
        id(&sources[1]),
        id(&sources[2]),
        id(&draft),
        id(&version),
        id(&accounts[0]),
        id(&left),
    );
    database.client().await.batch_execute(&damage).await.expect("damages");
    server.launch().await;
    let listed = server.get("/accounts?include_credentials=true").await;
    assert_eq!(
        (listed.status, listed.json["data"].as_array().map(Vec::len)),
        (200, Some(2)),
        "{}",
        listed.text
    );
    assert_eq!(
        listed.json["page_info"]["damaged"].as_array().map(Vec::len),
        Some(2),
        "{}",
        listed.text
    );
    for (list, records) in [
        ("workflows", vec![&draft, &version]),
        ("accounts", vec![&accounts[0], &left]),
        ("data_stores", vec![&store]),
        ("sources", sources.iter().collect()),
    ] {
        for record in records {
            let path = format!("/{list}/{}", id(record));
            let would_go = server.delete(&format!("{path}?dry_run=true")).await;
            assert_eq!(would_go.status, 200, "{path}: {}", would_go.text);
            let gone = server.delete(&path).await;
            assert_eq!(gone.status, 200, "{path}: {}", gone.text);
            assert_eq!(server.get(&path).await.status, 404, "{path}");
        }
    }
    let left = ["/sources", "/workflows", "/data_stores", "/accounts"].map(|path| server.get(path));
    for (answer, count) in futures::future::join_all(left).await.into_iter().zip([0, 0, 0, 2]) {
        assert_eq!(
            (
                answer.json["page_info"]["total_count"].as_u64(),
                &answer.json["page_info"]["damaged"]
            ),
            (Some(count), &Value::Null),
            "{}",
            answer.text
        );
    }
}

/// Every text that is stored of an organization is garbage; whoever walks the tables walks over it.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_stored_of_one_organization_stops_nobody_else() {
    let Some(cluster) = cluster() else { return };
    let database = cluster.database().await;
    let mut server = Server::start_with(&["--database-url", &database.url()]).await;
    let receiver = Receiver::start(Does::says("200 OK")).await;
    let waits = "export default defineComponent({ async run({ $ }) { $.flow.delay(60_000); } });";
    let fails = "export default defineComponent({ run() { throw new TypeError('x'); } });";
    let later = "export default { name: 'later', version: '1', dedupe: 'unique', props: { http: '$.interface.http', db: '$.service.db' }, run(e) { this.db.set('n', 1); this.$emit({ n: 1 }, { id: 1, delivery_ts: Date.now() + 4_000 }); } };";
    let other = server.another_organization("damaged").await;
    let mut made = Vec::new();
    for of in [&*server, &other] {
        let source = of.source(SOURCE, json!({})).await;
        let ticking = of.source(TICKS, json!({ "timer": { "intervalSeconds": 3600 } })).await;
        let waiting = of.workflow("waits", json!([{ "type": "http" }]), &[("a", waits)]).await;
        let failing = of.workflow("fails", json!([{ "type": "http" }]), &[("a", fails)]).await;
        let deferred = of.source(later, json!({})).await;
        let body = json!({ "settings": { "name": "listens" }, "triggers": [{ "type": "source", "id": id(&source) }], "steps": [{ "namespace": "step", "code": STEP }] });
        let listens = of.post("/workflows", &body).await.data();
        let url =
            if made.is_empty() { receiver.url.clone() } else { "http://127.0.0.1:9/".to_owned() };
        let webhook = of.post("/webhooks", &json!({ "url": url })).await.data();
        of.post(
            "/subscriptions",
            &json!({ "emitter_id": id(&source), "listener_id": id(&webhook) }),
        )
        .await
        .data();
        of.post("/apps", &json!({ "name_slug": "acme", "custom_fields": [{ "name": "k" }] }))
            .await
            .data();
        of.post("/accounts", &json!({ "app": "acme", "credentials": { "k": "v" } })).await.data();
        let store = of.post("/data_stores", &json!({ "name": "kept" })).await.data();
        of.put(&format!("/data_stores/{}/record?key=k", id(&store)), &json!({ "value": 1 })).await;
        of.post("/components", &json!({ "component_code": STEP.replace("defineComponent({", "defineComponent({ name: 'a', key: 'a-b', version: '1', type: 'action',"), "publish": true })).await;
        made.push([source, ticking, waiting, failing, deferred, listens, webhook]);
    }
    let call = async |record: &Value| {
        answer(server.raw(Method::POST, &endpoint(record)).json(&json!({ "n": 1 }))).await.status
    };
    for [source, _, waiting, failing, deferred, ..] in &made {
        for record in [source, waiting, failing, deferred] {
            call(record).await;
        }
    }
    for (of, [.., waiting, failing, _, listens, _]) in [&*server, &other].into_iter().zip(&made) {
        for (owner, status) in [(waiting, "paused"), (failing, "failed"), (listens, "succeeded")] {
            of.until("its run", &format!("/workflows/{}/runs?status={status}", id(owner)), |l| {
                l["page_info"]["total_count"] == 1
            })
            .await;
        }
    }
    let sent = receiver.until(1).await.len();
    assert_eq!(server.terminate(), Some(0));
    let sql = database.client().await;
    let columns = "SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = 'public' AND data_type IN ('text', 'bytea')
        AND table_name IN (SELECT table_name FROM information_schema.columns WHERE column_name = 'org_id')
        AND column_name NOT IN ('org_id', 'id', 'key', 'status', 'kind') AND column_name NOT LIKE '%\\_id' ORDER BY 1, 2";
    let mut damaged = 0;
    for row in sql.query(columns, &[]).await.expect("reads") {
        let (table, column, kind): (String, String, String) = (row.get(0), row.get(1), row.get(2));
        let garbage = if kind == "text" { "'{garbage'" } else { "'\\xff00'::bytea" };
        // Where a constraint of the table forbids it, it cannot be so.
        let but = if table == "events" { "AND name <> '$in'" } else { "" };
        let update = format!(
            "UPDATE {table} SET {column} = {garbage} WHERE org_id = '{}' AND {column} IS NOT NULL {but}",
            other.org_id
        );
        damaged += sql.execute(&update, &[]).await.unwrap_or(0);
    }
    for child in ["source_states SET dedupe", "source_db SET value"] {
        damaged += sql
            .execute(
                &format!("UPDATE {child} = '{{garbage' WHERE source_id = '{}'", id(&made[1][4])),
                &[],
            )
            .await
            .expect("damages");
    }
    assert!(damaged > 40, "{damaged} values");
    sql.batch_execute("UPDATE timers SET next_at = 1; UPDATE pauses SET wake_at = 1; UPDATE webhook_deliveries SET next_at = 1").await.expect("makes them due");
    server.launch().await;
    let [source, ticking, waiting, failing, deferred, listens, _] = &made[0];
    let call = async |record: &Value| {
        answer(server.raw(Method::POST, &endpoint(record)).json(&json!({ "n": 2 }))).await.status
    };
    for record in [source, deferred, failing] {
        assert!(call(record).await < 500, "{record}");
    }
    // Of the other organization each says what is wrong, or that it is not there.
    for record in &made[1] {
        if record["triggers"][0]["endpoint_url"].is_string()
            || record["interfaces"][0]["type"] == "http"
        {
            call(record).await;
        }
    }
    let count = async |path: String, count: u64| {
        server.until("runs", &path, |l| l["page_info"]["total_count"].as_u64() >= Some(count)).await
    };
    count(format!("/sources/{}/runs?status=succeeded", id(ticking)), 1).await;
    count(format!("/workflows/{}/runs?status=succeeded", id(listens)), 2).await;
    count(format!("/workflows/{}/runs?status=succeeded", id(waiting)), 1).await;
    count(format!("/workflows/{}/runs?status=failed", id(failing)), 2).await;
    server
        .until("what waited", &format!("/sources/{}/event_summaries", id(deferred)), |l| {
            l["data"].as_array().is_some_and(|all| !all.is_empty())
        })
        .await;
    receiver.until(sent + 1).await;
    for path in [
        "/sources",
        "/workflows",
        "/webhooks",
        "/accounts",
        "/data_stores",
        "/components",
        "/runs",
        "/error_groups",
        "/mail",
        "/search?q=x",
    ] {
        assert_eq!(server.get(path).await.status, 200, "{path}");
    }
    assert_eq!(answer(server.raw(Method::GET, "/readyz")).await.status, 200);
    assert!(!server.log().contains("panicked"), "{}", server.log());
}

#[tokio::test]
async fn markers_of_the_server_s_own_storage_are_no_values() {
    let server = Server::start().await;
    let source = server.source(SOURCE, json!({})).await;
    let code = "export default { name: 'p', version: '1', props: { word: { type: 'any', optional: true } }, run() {} };";
    for value in [
        json!({ "$sealed": "garbage" }),
        json!({ "$sealed": null, "more": 1 }),
        json!({ "__lv": { "label": "l", "value": { "$sealed": "x" } } }),
    ] {
        let refused = server
            .post(
                "/sources",
                &json!({ "component_code": code, "configured_props": { "word": value } }),
            )
            .await;
        assert!(
            refused.status == 422 && refused.text.contains("only the server writes"),
            "{}",
            refused.text
        );
        let workflow = json!({
            "settings": { "name": "w" },
            "triggers": [{ "type": "source", "id": id(&source) }],
            // Neither to a prop that there is, nor to one that nobody defined.
            "steps": [{ "namespace": "step", "code": STEP, "props": { "word": value } }],
        });
        let refused = server.post("/workflows", &workflow).await;
        assert!(
            refused.status == 422 && refused.text.contains("only the server writes"),
            "{}",
            refused.text
        );
    }
    let unknown = json!({
        "settings": { "name": "w" },
        "triggers": [],
        "steps": [{ "namespace": "step", "code": STEP, "props": { "nobody": { "$sealed": "garbage" } } }],
    });
    assert_eq!(server.post("/workflows", &unknown).await.status, 422);
    // A component's own default is no way either.
    let code = "export default { name: 'p', version: '1', props: { word: { type: 'any', default: { $sealed: 'garbage' } } }, run() {} };";
    let refused =
        server.post("/sources", &json!({ "component_code": code, "configured_props": {} })).await;
    assert!(
        refused.status == 422 && refused.text.contains("only the server writes"),
        "{}",
        refused.text
    );
}
