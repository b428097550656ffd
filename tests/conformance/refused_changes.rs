//! Changes that are refused whole: a `PUT` that deploys, null for a field that always has a value,
//! `If-Match` of sources, preferences and rollbacks, and tests with two events.

use millrace_tests::{Answer, Client, Server, answer, id};
use reqwest::Method;
use serde_json::{Value, json};

const SOURCE: &str = "export default { name: 'ticks', version: '1', props: { word: { type: 'string', default: 'a' } }, run() { this.$emit({ says: this.word }); } };";
const STEP: &str = "export default { run() { return 1; } };";

async fn put(server: &Client, path: &str, tag: &str, body: &Value) -> Answer {
    let request = server.raw(Method::PUT, &format!("/v1{path}")).bearer_auth(&server.api_key);
    answer(request.header("if-match", tag).json(body)).await
}

async fn post(server: &Client, path: &str, tag: &str, body: &Value) -> Answer {
    let request = server.raw(Method::POST, &format!("/v1{path}")).bearer_auth(&server.api_key);
    answer(request.header("if-match", tag).json(body)).await
}

/// The entity tag of a record.
async fn tag(server: &Client, path: &str) -> String {
    let request = server.raw(Method::GET, &format!("/v1{path}")).bearer_auth(&server.api_key);
    let response = request.send().await.expect("an answer");
    response.headers()["etag"].to_str().expect("a text").to_owned()
}

#[tokio::test]
async fn r1_1_a_put_that_deploys_changes_nothing_where_it_is_refused() {
    let server = Server::shared().await;
    let workflow = server.workflow("w", json!([{ "type": "http" }]), &[("a", STEP)]).await;
    let path = format!("/workflows/{}", id(&workflow));
    let before = server.get(&path).await.data();
    let steps = json!([{ "namespace": "b", "code": STEP }]);
    let change = |message: &str| json!({ "steps": steps, "message": message, "settings": { "auto_deploy": true } });
    let refused = server.put(&path, &change(&"x".repeat(501))).await;
    assert_eq!(
        (refused.refusal(), &refused.json["details"]["field"]),
        ((422, "invalid_field"), &json!("message"))
    );
    assert_eq!(server.get(&path).await.data(), before);
    // Its own tag is still the one that was read.
    let now = tag(&server, &path).await;
    let done = put(&server, &path, &now, &change("two")).await.data();
    assert_ne!(done["deployment_id"], before["deployment_id"]);
    assert_eq!(
        (&done["draft"]["changed"], &done["steps"][0]["namespace"]),
        (&json!(false), &json!("b"))
    );
    let live = server.get(&format!("{path}/deployments")).await.json["data"][0].clone();
    assert_eq!((&live["version"], &live["message"]), (&json!(2), &json!("two")));
}

/// Whether a record says that there is nothing in a field.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

/// Triggers say when their workflow was stored last, which any change of it does.
fn without_times(mut value: Value) -> Value {
    for part in value.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        part.remove("updated_at");
    }
    value
}

#[tokio::test]
async fn r1_1_null_takes_away_what_a_record_may_lack_and_leaves_the_rest_as_it_is() {
    let server = Server::start().await;
    let made_from = json!({ "project": "p", "path": "w", "fingerprints": { "code": "1" } });
    let source = server
        .post("/sources", &json!({ "component_code": SOURCE, "made_from": made_from }))
        .await
        .data();
    let workflow = server
        .post(
            "/workflows",
            &json!({ "name": "w", "steps": [{ "namespace": "a", "code": STEP }], "triggers": [{ "type": "http" }],
                     "note": "n", "tags": ["t"], "made_from": made_from }),
        )
        .await
        .data();
    server
        .post(
            "/apps",
            &json!({ "name_slug": "acme", "description": "d", "img_src": "https://x.test/a.png",
                     "custom_fields": [{ "name": "k" }], "categories": ["c"] }),
        )
        .await
        .data();
    let account = server
        .post(
            "/accounts",
            &json!({ "app": "acme", "name": "n", "credentials": { "k": "1" }, "external_user_id": "u" }),
        )
        .await
        .data();
    let key = json!({ "name": "k", "scopes": ["read"], "expires_at": 4_000_000_000_i64 });
    let key = server.post("/api_keys", &key).await.data();
    let store = server.post("/data_stores", &json!({ "name": "s" })).await.data();
    let retention = format!("/sources/{}/retention", id(&source));
    server.put(&retention, &json!({ "keep_days": 3, "keep_count": 3 })).await.data();
    let org = server.org_id.clone();
    server
        .put(&format!("/workspaces/{org}"), &json!({ "error_recipients": ["a@x.test"] }))
        .await
        .data();
    let records = [
        ("/sources/{id}/retention", retention),
        ("/sources/{id}", format!("/sources/{}", id(&source))),
        ("/workflows/{id}", format!("/workflows/{}", id(&workflow))),
        ("/apps/{id}", "/apps/acme".into()),
        ("/accounts/{id}", format!("/accounts/{}", id(&account))),
        ("/api_keys/{id}", format!("/api_keys/{}", id(&key))),
        ("/data_stores/{id}", format!("/data_stores/{}", id(&store))),
        ("/workspaces/{org}", format!("/workspaces/{org}")),
    ];
    let mut taken_away = Vec::new();
    for (template, path) in records {
        let operation = &server.document["paths"][format!("/v1{template}")]["put"];
        let body = &operation["requestBody"]["content"]["application/json"]["schema"];
        for field in body["properties"].as_object().expect("fields").keys() {
            let shown = async || match template {
                // A key is shown in its list alone.
                "/api_keys/{id}" => server.get("/api_keys").await.json["data"]
                    .as_array()
                    .and_then(|keys| keys.iter().find(|other| other["id"] == key["id"]).cloned())
                    .expect("the key"),
                _ => server.get(&path).await.data(),
            };
            // As it is set, and as it is shown.
            let named = if field == "custom_fields" { "custom_fields_json" } else { field };
            let value = async || without_times(shown().await[named].clone());
            let before = value().await;
            let got = server.put(&path, &json!({ field: null })).await;
            let after = value().await;
            if is_nothing(&after) && !is_nothing(&before) {
                taken_away.push(format!("{template} {field}"));
            } else {
                assert_eq!(before, after, "{path} {field}");
            }
            let is_required = template == "/data_stores/{id}" && field == "name";
            assert_eq!(got.status == 422, is_required, "{path} {field}: {}", got.text);
        }
    }
    let expected = [
        "/sources/{id}/retention keep_days",
        "/sources/{id}/retention keep_count",
        "/sources/{id} made_from",
        "/workflows/{id} note",
        "/workflows/{id} made_from",
        "/apps/{id} description",
        "/apps/{id} img_src",
        "/accounts/{id} external_user_id",
        "/api_keys/{id} expires_at",
    ];
    let sorted = |mut names: Vec<String>| {
        names.sort();
        names
    };
    assert_eq!(sorted(taken_away), sorted(expected.map(str::to_owned).to_vec()));
}

#[tokio::test]
async fn r2_if_match_guards_sources_preferences_and_rollbacks() {
    let server = Server::start().await;
    let source = server.source(SOURCE, json!({})).await;
    let workflow = server.workflow("w", json!([{ "type": "http" }]), &[("a", STEP)]).await;
    let (of_source, of_workflow) =
        (format!("/sources/{}", id(&source)), format!("/workflows/{}", id(&workflow)));
    let preferences = "/users/me/preferences";
    let first = |path: String| {
        let server = &server;
        async move { id(&server.get(&format!("{path}/deployments")).await.json["data"][0]).to_owned() }
    };
    let to_source = json!({ "deployment_id": first(of_source.clone()).await });
    let to_workflow = json!({ "deployment_id": first(of_workflow.clone()).await });
    let changes = [
        (of_source.as_str(), json!({ "name": "one" }), json!({ "name": "two" })),
        (
            of_source.as_str(),
            json!({ "configured_props": { "word": "b" } }),
            json!({ "active": false }),
        ),
        (preferences, json!({ "preferences": { "a": 1 } }), json!({ "preferences": { "b": 2 } })),
        (of_workflow.as_str(), json!({ "name": "one" }), json!({ "name": "two" })),
    ];
    for (path, mine, theirs) in &changes {
        let read = tag(&server, path).await;
        assert_eq!(tag(&server, path).await, read, "{path}");
        put(&server, path, &read, theirs).await.data();
        let before = server.get(path).await.data();
        for stale in [read.as_str(), "\"x\"", &format!("W/{read}")] {
            let refused = put(&server, path, stale, mine).await;
            // Of a workflow that is a tag of no draft.
            let is_of_draft = *path == of_workflow && stale == "\"x\"";
            let code = if is_of_draft { "draft_changed" } else { "record_changed" };
            assert_eq!(refused.refusal(), (412, code), "{path}: {}", refused.text);
        }
        assert_eq!(server.get(path).await.data(), before);
        for form in ["TAG", "\"x\", W/TAG", "*"] {
            let now = tag(&server, path).await;
            put(&server, path, &form.replace("TAG", &now), mine).await.data();
        }
        server.put(path, theirs).await.data();
    }
    for (path, to) in [(&of_source, &to_source), (&of_workflow, &to_workflow)] {
        let read = tag(&server, path).await;
        server.put(path, &json!({ "name": "another" })).await.data();
        let versions = format!("{path}/deployments");
        let before = server.get(&versions).await.json;
        let refused = post(&server, &format!("{path}/rollback"), &read, to).await;
        assert_eq!(refused.refusal(), (412, "record_changed"), "{path}: {}", refused.text);
        assert_eq!(server.get(&versions).await.json, before);
        let now = tag(&server, path).await;
        post(&server, &format!("{path}/rollback"), &now, to).await.data();
    }
}

#[tokio::test]
async fn r2_of_two_changes_of_preferences_over_the_same_tag_one_is_refused() {
    let server = Server::start().await;
    let path = "/users/me/preferences";
    for round in 0..5 {
        let read = tag(&server, path).await;
        let write = |tab: &'static str| {
            let (server, read) = (&server, read.as_str());
            async move {
                let body = json!({ "preferences": { "tab": tab, "round": round } });
                put(server, path, read, &body).await.status
            }
        };
        let mut both = <[u16; 2]>::from(tokio::join!(write("a"), write("b")));
        both.sort_unstable();
        assert_eq!(both, [200, 412]);
    }
}

#[tokio::test]
async fn r2_a_test_takes_its_event_once() {
    let server = Server::shared().await;
    let workflow = server.workflow("w", json!([{ "type": "http" }]), &[("a", STEP)]).await;
    let run = format!("/workflows/{}/run", id(&workflow));
    let run = server.post(&run, &json!({ "event": { "a": 1 } })).await.data();
    let path = format!("/workflows/{}/test", id(&workflow));
    let given = [
        ("event_id", json!("evt_none")),
        ("event_from_run", run["id"].clone()),
        ("event", json!({ "a": 2 })),
    ];
    for (at, (first, one)) in given.iter().enumerate() {
        for (second, other) in &given[at + 1..] {
            let refused = server.post(&path, &json!({ *first: one, *second: other })).await;
            assert_eq!(
                (refused.refusal(), &refused.json["details"]["field"]),
                ((422, "invalid_field"), &json!(second)),
                "{first} {second}: {}",
                refused.text
            );
            assert!(refused.text.contains(first), "{}", refused.text);
        }
    }
    for event in [json!({ "event": null, "event_from_run": run["id"] }), json!({ "event": {} })] {
        server.post(&path, &event).await.data();
    }
}
