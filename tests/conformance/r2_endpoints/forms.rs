//! Options and dynamic props of forms, and records that clients keep: rows 2, 5, 14, 16 to 18, 28
//! to 30, 32 and 33 of the table.

use std::collections::BTreeSet;

use millrace_tests::{Client, Server, answer, endpoint, id};
use reqwest::Method;
use serde_json::{Value, json};

const FORM: &str = "export default { name: 'Form', key: 'acme-form', version: '0.0.1', type: 'action', description: 'Asks', props: {
    acme: { type: 'app', app: 'acme' },
    board: { type: 'string', label: 'Board', reloadProps: true, async options({ page, prevContext }) {
      if (page > 1) return [];
      return { options: [{ label: 'Page ' + page + ' after ' + (prevContext.next ?? 'nothing'), value: 'b' + page }], context: { next: page + 1 } };
    } },
    list: { type: 'string', optional: true, async options() { throw new Error('no such board'); } } },
  async additionalProps(before) { return this.board === 'none' ? {} : { [this.board]: { type: 'integer', label: Object.keys(before).join() } }; },
  run() {} };";
const NOTHING: &str = "export default defineComponent({ run() {} });";

fn fields(value: &Value) -> BTreeSet<&str> {
    value.as_object().expect("an object").keys().map(String::as_str).collect()
}

async fn form(server: &Client) -> Value {
    server
        .post("/apps", &json!({ "name_slug": "acme", "custom_fields": [{ "name": "k" }] }))
        .await
        .data();
    server.post("/components", &json!({ "component_code": FORM, "publish": true })).await.data()
}

#[tokio::test]
async fn r2_28_options_of_a_prop_come_page_by_page_for_an_id_or_a_key() {
    let server = Server::shared().await;
    let component = form(&server).await;
    for named in [id(&component), "acme-form"] {
        let first = server
            .post(
                "/components/configure",
                &json!({ "id": named, "prop_name": "board", "configured_props": {} }),
            )
            .await;
        assert_eq!(
            (first.status, fields(&first.json)),
            (200, BTreeSet::from(["options", "context", "errors"]))
        );
        assert_eq!(
            first.json["options"],
            json!([{ "label": "Page 0 after nothing", "value": "b0" }])
        );
        let second = json!({ "id": named, "prop_name": "board", "configured_props": {}, "page": 1, "prev_context": first.json["context"], "query": "words" });
        assert_eq!(
            server.post("/components/configure", &second).await.json["options"],
            json!([{ "label": "Page 1 after 1", "value": "b1" }])
        );
    }
    let failed = server
        .post("/components/configure", &json!({ "id": id(&component), "prop_name": "list" }))
        .await;
    assert_eq!((failed.status, &failed.json["options"]), (200, &json!([])));
    assert!(
        failed.json["errors"][0].as_str().is_some_and(|e| e.contains("no such board")),
        "{}",
        failed.text
    );
    for (body, refusal) in [
        (json!({ "id": "sc_nothing", "prop_name": "board" }), (404, "not_found")),
        (json!({ "id": id(&component) }), (422, "missing_field")),
        (
            json!({ "id": id(&component), "prop_name": "board", "page": "two" }),
            (422, "invalid_field"),
        ),
        (
            json!({ "id": id(&component), "prop_name": "board", "dynamic_props_id": "dyp_x" }),
            (422, "invalid_field"),
        ),
        (json!({ "prop_name": "board" }), (422, "missing_field")),
    ] {
        let refused = server.post("/components/configure", &body).await;
        assert_eq!(refused.refusal(), refusal, "{body}");
        assert!(!refused.text.contains("u64"), "words of ours: {}", refused.text);
    }
}

#[tokio::test]
async fn r2_29_props_that_depend_on_others_come_with_an_id() {
    let server = Server::shared().await;
    let component = form(&server).await;
    let asked = server
        .post(
            "/components/props",
            &json!({ "id": id(&component), "configured_props": { "board": "b1" } }),
        )
        .await;
    assert_eq!(
        (asked.status, fields(&asked.json)),
        (200, BTreeSet::from(["dynamic_props", "errors"]))
    );
    let dynamic = &asked.json["dynamic_props"];
    assert!(dynamic["id"].as_str().is_some_and(|i| i.starts_with("dyp_")), "{dynamic}");
    let props = dynamic["configurable_props"].as_array().expect("props");
    assert!(
        props.iter().any(|p| p["name"] == "b1"
            && p["type"] == "integer"
            && p["label"] == "acme,board,list"),
        "{dynamic}"
    );
    let again =
        server.post("/components/props", &json!({ "id": "acme-form", "configured_props": { "board": "none" }, "dynamic_props_id": dynamic["id"] })).await;
    assert_eq!(again.json["dynamic_props"]["id"], dynamic["id"]);
    assert_eq!(
        server.post("/components/props", &json!({ "id": "sc_nothing" })).await.refusal(),
        (404, "not_found")
    );
}

#[tokio::test]
async fn r2_30_a_token_is_asked_for_with_json_and_revoked() {
    let server = Server::shared().await;
    let client =
        server.post("/oauth/clients", &json!({ "name": "ci", "scopes": ["read"] })).await.data();
    let ask = json!({ "grant_type": "client_credentials", "client_id": client["id"], "client_secret": client["client_secret"] });
    let token = answer(server.raw(Method::POST, "/v1/oauth/token").json(&ask)).await;
    assert_eq!(
        (token.status, fields(&token.json)),
        (200, BTreeSet::from(["access_token", "token_type", "expires_in", "created_at"]))
    );
    assert_eq!(
        (&token.json["token_type"], &token.json["expires_in"]),
        (&json!("Bearer"), &json!(3600))
    );
    let text = token.json["access_token"].as_str().expect("a token");
    assert_eq!(server.call_as(text, Method::GET, "/users/me", None).await.status, 200);
    let revoke = json!({ "token": text, "client_id": client["id"], "client_secret": client["client_secret"] });
    let revoked = answer(server.raw(Method::POST, "/v1/oauth/revoke").json(&revoke)).await;
    assert_eq!((revoked.status, revoked.json), (200, json!({})));
    assert_eq!(server.call_as(text, Method::GET, "/users/me", None).await.status, 401);
    let wrong = json!({ "grant_type": "client_credentials", "client_id": client["id"], "client_secret": "mrs_wrong" });
    assert_eq!(answer(server.raw(Method::POST, "/v1/oauth/token").json(&wrong)).await.status, 401);
}

#[tokio::test]
async fn r2_32_a_saved_component_has_its_record() {
    let server = Server::shared().await;
    let saved = form(&server).await;
    for field in [
        "id",
        "code",
        "code_hash",
        "name",
        "key",
        "version",
        "description",
        "type",
        "configurable_props",
        "apps",
        "created_at",
        "updated_at",
    ] {
        assert!(saved.get(field).is_some(), "`{field}` in {saved}");
    }
    use sha2::Digest as _;
    let hash: String =
        sha2::Sha256::digest(FORM.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(
        (&saved["code"], &saved["code_hash"], &saved["type"], &saved["apps"]),
        (&json!(FORM), &json!(hash), &json!("action"), &json!(["acme"]))
    );
    let names: Vec<_> = saved["configurable_props"]
        .as_array()
        .expect("props")
        .iter()
        .map(|p| p["name"].clone())
        .collect();
    assert_eq!(names, [json!("acme"), json!("board"), json!("list")], "an ordered list");
    assert_eq!(
        (
            &saved["configurable_props"][1]["label"],
            &saved["configurable_props"][1]["remoteOptions"]
        ),
        (&json!("Board"), &json!(true))
    );
}

#[tokio::test]
async fn r2_33_a_source_has_its_record_and_the_ids_of_its_interfaces() {
    let server = Server::shared().await;
    let code =
        "export default { name: 'Both', version: '1', props: { http: { type: '$.interface.http', customResponse: true }, often: { type: '$.interface.timer' },
      daily: { type: '$.interface.timer', default: { cron: '0 9 * * *' } }, db: '$.service.db', key: { type: 'string', secret: true } },
      run(e) { this.http.respond({ status: 200 }); this.$emit(e); } };";
    let source =
        server.source(code, json!({ "often": { "intervalSeconds": 3600 }, "key": "s3cret" })).await;
    for field in [
        "id",
        "user_id",
        "owner_id",
        "component_id",
        "configured_props",
        "active",
        "created_at",
        "updated_at",
        "name",
        "name_slug",
    ] {
        assert!(source.get(field).is_some(), "`{field}` in {source}");
    }
    let props = &source["configured_props"];
    assert_eq!(
        (&props["often"], &props["db"]),
        (&json!({ "cron": null, "interval_seconds": 3600 }), &json!({ "type": "$.service.db" }))
    );
    assert_eq!(
        (fields(&props["http"]), source.to_string().contains("s3cret")),
        (BTreeSet::from(["endpoint_url"]), false)
    );
    let interfaces = source["interfaces"].as_array().expect("interfaces").clone();
    let [http, often, daily] = interfaces.as_slice() else {
        panic!("three of them: {interfaces:?}")
    };
    assert!(
        id(http).starts_with("hi_")
            && endpoint(&source).ends_with(http["key"].as_str().expect("a key")),
        "{http}"
    );
    assert_eq!((&http["type"], &http["custom_response"]), (&json!("http"), &json!(true)));
    assert!(id(often).starts_with("ti_") && id(daily).starts_with("ti_"));
    assert_eq!(
        (&often["type"], &often["interval_seconds"], &often["cron"]),
        (&json!("timer"), &json!(3600), &Value::Null)
    );
    assert_eq!(
        (&daily["interval_seconds"], &daily["cron"], &daily["timezone"]),
        (&Value::Null, &json!("0 9 * * *"), &json!("UTC"))
    );
    // They are the ids that runs tell, and stay while the interfaces do.
    answer(server.raw(Method::GET, &endpoint(&source))).await;
    let runs = server
        .until("the run", &format!("/sources/{}/runs", id(&source)), |l| {
            l["page_info"]["count"] == 1
        })
        .await;
    assert_eq!(runs["data"][0]["trigger_id"], http["id"]);
    let renamed =
        server.put(&format!("/sources/{}", id(&source)), &json!({ "name": "Other" })).await.data();
    assert_eq!(
        (
            &renamed["interfaces"],
            &server.get(&format!("/sources/{}", id(&source))).await.data()["interfaces"]
        ),
        (&source["interfaces"], &source["interfaces"])
    );
    let listed = server.get("/users/me/sources").await.json;
    assert_eq!(listed["data"][0]["interfaces"], source["interfaces"]);
    // What was read can be written back.
    let back = server
        .put(
            &format!("/sources/{}", id(&source)),
            &json!({ "configured_props": source["configured_props"] }),
        )
        .await
        .data();
    assert_eq!(
        (&back["configured_props"], &back["interfaces"]),
        (&source["configured_props"], &source["interfaces"])
    );
}

#[tokio::test]
async fn r2_17_to_2_18_a_workflow_is_made_changed_and_deleted() {
    let server = Server::shared().await;
    let made = server
        .post(
            "/workflows",
            &json!({ "org_id": server.org_id, "triggers": [{ "type": "http" }], "steps": [{ "namespace": "a", "code": NOTHING }], "settings": { "name": "First", "auto_deploy": false } }),
        )
        .await
        .data();
    let path = format!("/workflows/{}", id(&made));
    assert_eq!(
        (&made["name"], &made["name_slug"], &made["active"], &made["deployment_id"]),
        (&json!("First"), &json!("first"), &json!(false), &Value::Null)
    );
    assert_eq!(
        answer(server.raw(Method::GET, &endpoint(&made))).await.status,
        404,
        "what is not deployed answers nobody"
    );
    let deployment = server.post(&format!("{path}/deploy"), &json!({})).await.data();
    assert_eq!((id(&deployment).starts_with("d_"), &deployment["version"]), (true, &json!(1)));
    assert_eq!(server.get(&path).await.data()["deployment_id"], deployment["id"]);
    assert_eq!(answer(server.raw(Method::GET, &endpoint(&made))).await.status, 200);
    let changed = server
        .put(&path, &json!({ "settings": { "name": "Second" }, "steps": [{ "namespace": "a", "code": NOTHING }, { "namespace": "b", "code": NOTHING }] }))
        .await
        .data();
    assert_eq!(
        (&changed["name"], changed["steps"].as_array().map(Vec::len), &changed["steps"][0]["id"]),
        (&json!("Second"), Some(2), &made["steps"][0]["id"])
    );
    assert_eq!(server.put(&path, &json!({ "active": false })).await.data()["active"], false);
    assert_eq!(answer(server.raw(Method::GET, &endpoint(&made))).await.status, 404);
    assert_eq!(server.get("/workflows").await.json["data"][0]["id"], made["id"]);
    for (body, status) in [
        (
            json!({ "steps": [{ "namespace": "a", "code": NOTHING }, { "namespace": "a", "code": NOTHING }], "settings": { "name": "x" } }),
            422,
        ),
        (json!({ "steps": [{ "namespace": "a" }], "settings": { "name": "x" } }), 422),
        (json!({ "triggers": [{ "type": "sundial" }], "settings": { "name": "x" } }), 422),
        (
            json!({ "steps": [{ "namespace": "a", "component_key": "acme-nothing" }], "settings": { "name": "x" } }),
            404,
        ),
        (json!({ "org_id": "o_another", "settings": { "name": "x" } }), 404),
    ] {
        let refused = server.post("/workflows", &body).await;
        assert_eq!(refused.status, status, "{body}: {}", refused.text);
    }
    assert_eq!(
        server.get("/workflows").await.json["page_info"]["total_count"],
        1,
        "what was refused left nothing"
    );
    assert_eq!(server.delete(&path).await.data()["id"], made["id"]);
    assert_eq!(
        (
            server.get(&path).await.status,
            server.put(&path, &json!({ "active": true })).await.status,
            server.delete(&path).await.status
        ),
        (404, 404, 404)
    );
}

#[tokio::test]
async fn r2_14_a_subscription_is_deleted_by_its_triple_and_no_other() {
    let server = Server::shared().await;
    let source =
        server.source("export default { name: 's', version: '1', run() {} };", json!({})).await;
    let listener = server.workflow("l", json!([]), &[("a", NOTHING)]).await;
    let triple = |name: &str| {
        format!(
            "/subscriptions?emitter_id={}&listener_id={}&event_name={name}",
            id(&source),
            id(&listener)
        )
    };
    for name in ["", "added"] {
        server.post(&triple(name), &Value::Null).await.data();
    }
    assert_eq!(server.delete(&triple("other")).await.refusal(), (404, "not_found"));
    let gone = server.delete(&triple("")).await.data();
    assert_eq!((&gone["event_name"], &gone["deleted"]), (&json!(""), &json!(true)));
    let left = server.get("/users/me/subscriptions").await.data();
    assert_eq!((left.as_array().map(Vec::len), &left[0]["event_name"]), (Some(1), &json!("added")));
    // In the body as well.
    let body =
        json!({ "emitter_id": source["id"], "listener_id": listener["id"], "event_name": "added" });
    assert_eq!(
        server.call_as(&server.api_key, Method::DELETE, "/subscriptions", Some(&body)).await.status,
        200
    );
    assert_eq!(server.get("/users/me/subscriptions").await.data(), json!([]));
}

#[tokio::test]
async fn r2_16_an_address_of_a_webhook_names_a_host() {
    let server = Server::shared().await;
    assert_eq!(server.post("/webhooks?url=", &Value::Null).await.refusal(), (422, "missing_field"));
    for url in [
        "http://",
        "https:///hook",
        "http:///hook",
        "ftp://example.com/",
        "example.com/hook",
        "http://?x",
        "javascript:alert(1)",
        "https://\\x",
    ] {
        let refused = server.post("/webhooks", &json!({ "url": url })).await;
        assert_eq!(
            (refused.refusal(), &refused.json["details"]["field"]),
            ((422, "invalid_field"), &json!("url")),
            "{url}"
        );
    }
    assert_eq!(server.get("/webhooks").await.json["page_info"]["total_count"], 0);
    server.post("/webhooks", &json!({ "url": "http://127.0.0.1:8080/a?b=c" })).await.data();
}

#[tokio::test]
async fn r2_5_keys_that_fit_stand_in_data_and_beside_it() {
    let server = Server::shared().await;
    form(&server).await;
    let found = server.get("/components/search?query=form&limit=5").await;
    assert_eq!(
        (&found.json["sources"], &found.json["actions"]),
        (&found.json["data"]["sources"], &found.json["data"]["actions"])
    );
    assert!(found.json["data"]["components"].is_array());
}

#[tokio::test]
async fn the_audit_log_names_what_was_changed_by_its_id() {
    let server = Server::shared().await;
    let source =
        server.source("export default { name: 's', version: '1', run() {} };", json!({})).await;
    let of = format!("/sources/{}", id(&source));
    server.run_now(&source, json!({})).await;
    server.put(&format!("{of}/retention"), &json!({ "keep_days": 7 })).await.data();
    server.put(&of, &json!({ "name": "t" })).await.data();
    server.delete(&format!("{of}/events")).await;
    let records = server.get("/audit?limit=100").await.json;
    let of_source: Vec<_> = records["data"]
        .as_array()
        .expect("records")
        .iter()
        .filter(|r| r["target"] == source["id"])
        .map(|r| r["action"].as_str())
        .collect();
    let expected = [
        "DELETE /sources/{id}/events",
        "PUT /sources/{id}",
        "PUT /sources/{id}/retention",
        "POST /sources/{id}/run",
        "POST /sources",
    ];
    assert_eq!(of_source, expected.map(Some));
}

#[tokio::test]
async fn r2_31_health_and_readiness_need_no_key_and_stand_outside_v1() {
    let server = Server::shared().await;
    for path in ["/healthz", "/readyz"] {
        assert_eq!(answer(server.raw(Method::GET, path)).await.status, 200, "{path}");
        assert_eq!(
            answer(server.raw(Method::GET, &format!("/v1{path}")).bearer_auth(&server.api_key))
                .await
                .refusal(),
            (404, "no_such_route"),
            "{path}"
        );
    }
}

#[tokio::test]
async fn r1_2_an_empty_cursor_is_none() {
    let server = Server::shared().await;
    form(&server).await;
    for query in ["", "?after=", "?before=", "?after=&before="] {
        assert_eq!(
            server.get(&format!("/components{query}")).await.json["page_info"]["count"],
            1,
            "{query}"
        );
    }
}

#[tokio::test]
async fn r2_2_an_organization_is_renamed_and_says_who_gets_mail() {
    let server = Server::shared().await;
    let path = format!("/workspaces/{}", server.org_id);
    let before = server.get(&path).await.data();
    assert_eq!(before["error_recipients"], json!([]));
    let changed = server.put(&path, &json!({ "name": " Ops ", "error_recipients": ["a@example.test", "B <b@example.test>", "a@example.test"] })).await.data();
    assert_eq!(
        (&changed["name"], &changed["orgname"], &changed["email"]),
        (&json!("Ops"), &before["orgname"], &before["email"])
    );
    assert_eq!(changed["error_recipients"], json!(["a@example.test", "B <b@example.test>"]));
    assert_eq!(server.get(&format!("/orgs/{}", server.org_id)).await.data(), changed);
    for (body, field) in [
        (json!({ "name": "" }), "name"),
        (json!({ "error_recipients": ["nobody"] }), "error_recipients"),
        (json!({ "error_recipients": 7 }), "error_recipients"),
        (
            json!({ "error_recipients": (0..11).map(|n| format!("a{n}@example.test")).collect::<Vec<_>>() }),
            "error_recipients",
        ),
    ] {
        let refused = server.put(&path, &body).await;
        assert_eq!(
            (refused.refusal(), &refused.json["details"]["field"]),
            ((422, "invalid_field"), &json!(field)),
            "{body}"
        );
    }
    assert_eq!(server.put("/workspaces/o_another", &json!({ "name": "x" })).await.status, 404);
    assert_eq!(
        server.put(&path, &json!({ "error_recipients": [] })).await.data()["error_recipients"],
        json!([])
    );
    assert_eq!(server.get(&path).await.data()["name"], "Ops");
}
