//! Search by name, statistics on lists, dry runs of deletes, and filters of logs, mail, data stores
//! and the audit log.

use millrace_tests::browser::Browser;
use millrace_tests::{Client, Server, answer, endpoint, id};
use reqwest::Method;
use serde_json::{Value, json};

use super::registries::millrace;

const SOURCE: &str =
    "export default { name: 'clock', version: '1', run() { this.$emit({ a: 1 }); } };";
const STEP: &str = "export default defineComponent({ run() { return 1; } });";

/// Kinds and ids of what a search finds.
async fn found(server: &Client, query: &str) -> Vec<(String, String)> {
    let list = server.get(&format!("/search?{query}")).await;
    assert_eq!(list.status, 200, "{query}: {}", list.text);
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    list.json["data"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|item| (text(&item["kind"]), text(&item["id"])))
        .collect()
}

#[tokio::test]
async fn records_of_all_kinds_are_found_by_words_of_their_names_and_by_their_ids() {
    let server = Server::start().await;
    let workflow =
        server.workflow("Order mail", json!([{ "type": "http" }]), &[("say", STEP)]).await;
    let source = server.source(&SOURCE.replace("clock", "reorders"), json!({})).await;
    let action = "export default { name: 'Send an order', key: 'shop-send', version: '1', type: 'action', run() {} };";
    server.post("/components", &json!({ "component_code": action, "publish": true })).await.data();
    let store = server.post("/data_stores", &json!({ "name": "orders" })).await.data();
    let webhook =
        server.post("/webhooks", &json!({ "url": "http://127.0.0.1:9/orders" })).await.data();
    server
        .post("/apps", &json!({ "name_slug": "shop", "custom_fields": [{ "name": "k" }] }))
        .await
        .data();
    let account = server
        .post(
            "/accounts",
            &json!({ "app": "shop", "name": "Ordering", "credentials": { "k": "v" } }),
        )
        .await
        .data();
    let of = |kind: &str, record: &Value| (kind.to_owned(), id(record).to_owned());
    let component = ("component".to_owned(), "shop-send".to_owned());
    let all = found(&server, "q=ORDER").await;
    let expected = [
        of("workflow", &workflow),
        of("account", &account),
        of("data_store", &store),
        component,
        of("source", &source),
        of("webhook", &webhook),
    ];
    assert!(expected.iter().all(|each| all.contains(each)), "{all:?}");
    // Whole names first, then those that begin so, then the rest.
    assert_eq!(found(&server, "q=orders").await[0], of("data_store", &store));
    assert_eq!(found(&server, "q=mail%20order").await, [of("workflow", &workflow)]);
    assert_eq!(
        found(&server, "q=order&kinds=source,webhook").await,
        [of("webhook", &webhook), of("source", &source)]
    );
    assert_eq!(found(&server, "q=order&limit=1").await.len(), 1);
    // Ids as they were copied.
    let run = server.run_now(&source, json!({})).await;
    let deployment = workflow["deployment_id"].as_str().expect("an id");
    for (kind, id) in [
        ("run", id(&run)),
        ("deployment", deployment),
        ("source", id(&source)),
        ("webhook", id(&webhook)),
    ] {
        assert_eq!(found(&server, &format!("q=%20{id}")).await, [(kind.to_owned(), id.to_owned())]);
    }
    assert!(found(&server, "").await.is_empty() && found(&server, "q=nothing").await.is_empty());
    for (query, field) in [
        ("q=x&kinds=thing", "kinds"),
        (&*format!("q={}", "x".repeat(201)), "q"),
        ("q=x&limit=0", "limit"),
    ] {
        let refused = server.get(&format!("/search?{query}")).await;
        assert_eq!(
            (refused.status, &refused.json["details"]["field"]),
            (422, &json!(field)),
            "{}",
            refused.text
        );
    }
    let other = server
        .post("/workspaces", &json!({ "name": "Other", "email": "other@example.test" }))
        .await
        .data();
    let key = other["api_key"].as_str().expect("a key");
    for text in ["order", id(&run), deployment, id(&source)] {
        let theirs = server.call_as(key, Method::GET, &format!("/search?q={text}"), None).await;
        assert_eq!(theirs.data(), json!([]), "{text}");
    }
    let (status, stdout, stderr) = millrace(&server, &["find", "order", "mail"]);
    assert!(status == Some(0) && stdout.to_string().contains(id(&workflow)), "{stdout}{stderr}");
}

#[tokio::test]
async fn lists_of_workflows_and_sources_count_the_runs_of_each() {
    let server = Server::shared().await;
    let code = "export default defineComponent({ run({ steps }) { if (steps.trigger.event.body.bad) throw new Error('no'); } });";
    let workflow = server.workflow("w", json!([{ "type": "http" }]), &[("say", code)]).await;
    let idle = server.workflow("idle", json!([{ "type": "http" }]), &[("say", STEP)]).await;
    let source = server.source(SOURCE, json!({})).await;
    for event in [json!({}), json!({}), json!({ "bad": true })] {
        answer(server.raw(Method::POST, &endpoint(&workflow)).json(&event)).await;
    }
    server.run_now(&source, json!({})).await;
    server
        .until("all have ended", "/runs?status=succeeded,failed&kind=live", |list| {
            list["page_info"]["total_count"] == 4
        })
        .await;
    let stats = async |path: &str, record: &Value| {
        let list = server.get(path).await.json;
        let of = |list: &Value| {
            list["data"]
                .as_array()
                .and_then(|items| items.iter().find(|item| item["id"] == record["id"]).cloned())
        };
        of(&list).expect("the record")["stats"].clone()
    };
    for (window, buckets) in [("1h", 12), ("24h", 24), ("7d", 28), ("30d", 30)] {
        let of = stats(&format!("/workflows?stats={window}"), &workflow).await;
        let (total, parts) = (&of["total"], of["buckets"].as_array().expect("buckets"));
        assert_eq!(
            (&total["succeeded"], &total["failed"], parts.len()),
            (&json!(2), &json!(1), buckets),
            "{window}"
        );
        assert_eq!(parts.iter().filter_map(|part| part["succeeded"].as_u64()).sum::<u64>(), 2);
        assert!(total["p95_ms"].is_u64() && of["looked_at_from_ms"].is_null(), "{of}");
    }
    assert_eq!(stats("/workflows?stats=24h", &idle).await["total"]["succeeded"], 0);
    assert_eq!(stats("/sources?stats=24h", &source).await["total"]["succeeded"], 1);
    assert!(stats("/sources", &source).await.is_null());
    let refused = server.get("/workflows?stats=2h").await;
    assert_eq!(
        (refused.status, &refused.json["details"]["field"]),
        (422, &json!("stats")),
        "{}",
        refused.text
    );
}

#[tokio::test]
async fn a_request_to_delete_says_first_what_would_go() {
    let server = Server::start().await;
    server
        .post("/apps", &json!({ "name_slug": "shop", "custom_fields": [{ "name": "k" }] }))
        .await
        .data();
    let account = server
        .post("/accounts", &json!({ "app": "shop", "credentials": { "k": "v" } }))
        .await
        .data();
    let store = server.post("/data_stores", &json!({ "name": "kept" })).await.data();
    let code = "export default { name: 's', version: '1', props: { shop: { type: 'app', app: 'shop' }, store: { type: 'data_store' }, http: '$.interface.http' }, run() {} };";
    let source = server
        .source(code, json!({ "shop": { "authProvisionId": account["id"] }, "store": store["id"] }))
        .await;
    let workflow = server
        .workflow("listener", json!([{ "type": "source", "id": source["id"] }]), &[("say", STEP)])
        .await;
    let webhook =
        server.post("/webhooks", &json!({ "url": "http://127.0.0.1:9/hook" })).await.data();
    server
        .post(
            "/subscriptions",
            &json!({ "emitter_id": source["id"], "listener_id": webhook["id"] }),
        )
        .await
        .data();
    let domain =
        json!({ "domain": "gone.example.test", "endpoint_id": source["interfaces"][0]["id"] });
    server.post("/domains", &domain).await.data();
    let audited = server.get("/audit").await.json["page_info"]["total_count"].clone();
    let dry = async |path: &str| {
        let said = server.delete(&format!("{path}?dry_run=1")).await;
        assert_eq!(
            (said.status, &said.json["data"]["deleted"]),
            (200, &json!(false)),
            "{}",
            said.text
        );
        said.json["data"]["would_go"].clone()
    };
    let uses = |would_go: &Value| {
        would_go["uses"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|named| id(named).to_owned())
            .collect::<Vec<_>>()
    };
    let would_go = dry(&format!("/sources/{}", id(&source))).await;
    assert_eq!(uses(&would_go), [id(&workflow), id(&webhook)]);
    assert_eq!(
        (&would_go["domains"], &would_go["waiting_runs"], &would_go["uses"][0]["name"]),
        (&json!(["gone.example.test"]), &json!(0), &json!("listener"))
    );
    for path in [format!("/accounts/{}", id(&account)), "/data_stores/kept".into()] {
        assert_eq!(uses(&dry(&path).await), [id(&source)], "{path}");
    }
    assert_eq!(uses(&dry(&format!("/webhooks/{}", id(&webhook))).await), [id(&source)]);
    assert_eq!(uses(&dry(&format!("/workflows/{}", id(&workflow))).await), Vec::<String>::new());
    let (status, stdout, stderr) = millrace(&server, &["delete", id(&source), "--dry-run"]);
    assert!(status == Some(0) && stdout.to_string().contains("listener"), "{stdout}{stderr}");
    let counts = json!({ "filter": { "owner_id": id(&source) }, "dry_run": true });
    server.post("/replays", &counts).await.data();
    server.post("/runs/cancel", &counts).await.data();
    // Nothing was done, and the audit log has no record of it.
    assert_eq!(server.get("/audit").await.json["page_info"]["total_count"], audited);
    for (kind, record) in [("sources", &source), ("accounts", &account), ("webhooks", &webhook)] {
        assert_eq!(server.get(&format!("/{kind}/{}", id(record))).await.status, 200, "{kind}");
    }
    assert_eq!(server.delete("/sources/dc_nothere?dry_run=1").await.status, 404);
    assert_eq!(server.delete(&format!("/sources/{}", id(&source))).await.data()["deleted"], true);
}

#[tokio::test]
async fn logs_are_read_backwards_and_by_level_text_and_step() {
    let server = Server::start().await;
    let step = |name: &str| {
        format!(
            "export default defineComponent({{ run() {{ console.log('{name} one'); console.warn('{name} ORDER 7'); console.error('{name} last'); }} }});"
        )
    };
    let workflow = server
        .workflow(
            "w",
            json!([{ "type": "http" }]),
            &[("a", step("a").as_str()), ("b", step("b").as_str())],
        )
        .await;
    server.post(&format!("/workflows/{}/run", id(&workflow)), &json!({ "event": {} })).await.data();
    let path = format!("/workflows/{}/logs", id(&workflow));
    let texts = async |query: &str| {
        let list = server.get(&format!("{path}?{query}")).await.json;
        list["data"]
            .as_array()
            .expect("lines")
            .iter()
            .map(|line| line["text"].as_str().expect("a text").to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(texts("level=warn,error&step=a").await, ["a ORDER 7", "a last"]);
    assert_eq!(texts("text=order").await, ["a ORDER 7", "b ORDER 7"]);
    assert_eq!(texts("level=error&text=b").await, ["b last"]);
    assert!(texts("text=nothing").await.is_empty() && texts("step=c").await.is_empty());
    let newest = server.get(&format!("{path}?limit=4")).await.json;
    assert_eq!(newest["data"].as_array().map(Vec::len), Some(4));
    let cursor = newest["page_info"]["start_cursor"].as_str().expect("a cursor");
    assert_eq!(texts(&format!("limit=4&before={cursor}")).await, ["a one", "a ORDER 7"]);
    for (query, code) in [("level=loud", "invalid_field"), ("before=dc_x", "unknown_cursor")] {
        assert_eq!(server.get(&format!("{path}?{query}")).await.refusal(), (422, code));
    }
    let (status, stdout, stderr) =
        millrace(&server, &["logs", "w", "--level", "warn", "--text", "b order"]);
    assert!(
        status == Some(0)
            && stdout.to_string().contains("b ORDER 7")
            && !stdout.to_string().contains("a ORDER"),
        "{stdout}{stderr}"
    );
}

#[tokio::test]
async fn a_mail_is_shown_and_sent_again() {
    let server = Server::start().await;
    let workflow = server
        .workflow(
            "w",
            json!([{ "type": "http" }]),
            &[("say", "export default defineComponent({ run() { throw new Error('no'); } });")],
        )
        .await;
    server.post(&format!("/workflows/{}/run", id(&workflow)), &json!({})).await.data();
    let list = server.until("a mail", "/mail", |list| list["page_info"]["count"] == 1).await;
    let mail = &list["data"][0];
    let path = format!("/mail/{}", id(mail));
    assert_eq!(&server.get(&path).await.data(), mail);
    let again = server.post(&format!("{path}/send"), &json!({})).await.data();
    assert_eq!(
        (&again["status"], &again["attempts"], &again["subject"]),
        (&json!("queued"), &json!(0), &mail["subject"])
    );
    for path in ["/mail/mail_nothere", "/mail/dc_x"] {
        assert_eq!(server.get(path).await.status, 404);
        assert_eq!(server.post(&format!("{path}/send"), &json!({})).await.status, 404);
    }
    let (status, stdout, stderr) = millrace(&server, &["mail", id(mail), "--send"]);
    assert!(status == Some(0) && stdout.to_string().contains("queued"), "{stdout}{stderr}");
}

#[tokio::test]
async fn the_audit_log_is_narrowed_by_user_target_and_time() {
    let server = Server::start().await;
    let (one, two) =
        (server.source(SOURCE, json!({})).await, server.source(SOURCE, json!({})).await);
    for (source, name) in [(&one, "a"), (&two, "b"), (&one, "c")] {
        server.put(&format!("/sources/{}", id(source)), &json!({ "name": name })).await.data();
    }
    let me = server.get("/users/me").await.data();
    let count = async |query: &str| {
        server.get(&format!("/audit?{query}")).await.json["page_info"]["total_count"].clone()
    };
    assert_eq!(count(&format!("target={}", id(&one))).await, 3);
    let newest =
        server.get(&format!("/audit?limit=1&target={}", id(&one))).await.json["data"][0].clone();
    assert_eq!((&newest["target"], &newest["action"]), (&one["id"], &json!("PUT /sources/{id}")));
    assert_eq!(count(&format!("target={}&user_id={}", id(&two), id(&me))).await, 2);
    assert_eq!(count("user_id=u_another").await, 0);
    let at = newest["created_at_ms"].as_i64().expect("a time");
    assert_eq!(count(&format!("target={}&from={at}&to={}", id(&one), at + 1)).await, 1);
    let refused = server.get("/audit?from=yesterday").await;
    assert_eq!(
        (refused.status, &refused.json["details"]["field"]),
        (422, &json!("from")),
        "{}",
        refused.text
    );
    let (status, stdout, stderr) = millrace(&server, &["audit", "--target", id(&two)]);
    assert!(
        status == Some(0)
            && stdout.to_string().contains(id(&two))
            && !stdout.to_string().contains(id(&one)),
        "{stdout}{stderr}"
    );
}

#[tokio::test]
async fn keys_of_a_data_store_come_by_prefix_and_with_their_values() {
    let server = Server::start().await;
    let store = server.post("/data_stores", &json!({ "name": "orders" })).await.data();
    let path = format!("/data_stores/{}", id(&store));
    let large = "x".repeat(2_000);
    for (key, value) in
        [("a-1", json!({ "n": 1 })), ("a-2", json!(large)), ("b%", json!(null)), ("ä", json!(3))]
    {
        server.put(&format!("{path}/record"), &json!({ "key": key, "value": value })).await.data();
    }
    let keys = async |query: &str| {
        let list = server.get(&format!("{path}/keys?{query}")).await.json;
        let count = query.matches("a-").count().min(1) + 1;
        assert!(query == "prefix=c" || list["page_info"]["total_count"] == count, "{list}");
        list["data"].as_array().expect("keys").clone()
    };
    assert_eq!(keys("prefix=a-").await, [json!({ "key": "a-1" }), json!({ "key": "a-2" })]);
    assert_eq!(keys("prefix=a-&after=a-1").await, [json!({ "key": "a-2" })]);
    assert_eq!(keys("prefix=b%25&values=1").await, [json!({ "key": "b%", "value": null })]);
    assert_eq!(keys("prefix=%C3%A4&values=1").await, [json!({ "key": "ä", "value": 3 })]);
    let cut = keys("prefix=a-&values=true").await;
    assert_eq!((&cut[0]["value"], &cut[1]["value"]["$bytes"]), (&json!({ "n": 1 }), &json!(2_002)));
    assert!(keys("prefix=c").await.is_empty());
    let (status, stdout, stderr) =
        millrace(&server, &["data-stores", "show", "orders", "--prefix", "a-1", "--values"]);
    let shown = stdout.to_string();
    assert!(status == Some(0), "{shown}{stderr}");
    assert!(shown.contains("a-1") && !shown.contains("a-2"), "{shown}");
}

#[tokio::test]
async fn preferences_are_a_person_s_own_in_each_organization() {
    let server = Server::shared().await;
    let mut mara = Browser::first_owner(&server, "mara@x.test").await;
    let path = "/users/me/preferences";
    let empty = mara.get(&server, path).await.data();
    assert_eq!(empty, json!({ "preferences": {}, "updated_at": null }));
    let views = json!({ "views": [{ "name": "failed", "query": { "status": ["failed"] } }], "theme": "dark" });
    let written =
        mara.call(&server, Method::PUT, path, Some(&json!({ "preferences": views }))).await.data();
    assert_eq!(written["preferences"], views);
    assert_eq!(mara.get(&server, path).await.data(), written);
    // In the place of what was there.
    mara.call(&server, Method::PUT, path, Some(&json!({ "preferences": { "theme": "light" } })))
        .await
        .data();
    assert_eq!(mara.get(&server, path).await.data()["preferences"], json!({ "theme": "light" }));
    let other = server
        .post("/workspaces", &json!({ "name": "Other", "email": "other@example.test" }))
        .await
        .data();
    let theirs = server
        .call_as(other["api_key"].as_str().expect("a key"), Method::GET, path, None)
        .await
        .data();
    assert_eq!(theirs["preferences"], json!({}));
    for body in [
        json!({}),
        json!({ "preferences": [] }),
        json!({ "preferences": { "x": "y".repeat(65 << 10) } }),
    ] {
        let refused = server.put(path, &body).await;
        assert_eq!(
            (refused.status, &refused.json["details"]["field"]),
            (422, &json!("preferences")),
            "{}",
            refused.text
        );
    }
}
