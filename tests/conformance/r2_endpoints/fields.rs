//! Fields of requests: what is not read is refused by name, and what a record shows is taken back
//! under the same name (reference 1).

use millrace_tests::{Server, answer, id};
use reqwest::Method;
use serde_json::{Value, json};

use crate::r2_endpoints::keys::{Things, declared};

/// What a change moves by itself, at whatever depth.
const MOVED: [&str; 5] = ["updated_at", "revision", "draft", "history", "state_changed_at_ms"];
/// What runs, tokens and looks at a record move: not compared with what is written back.
const MOVED_BY_OTHERS: [&str; 19] = [
    "deployment_id",
    "inactive_reason",
    "keys",
    "bytes",
    "count",
    "last_seen_ms",
    "last_run_id",
    "message",
    "versions",
    "expires_at",
    "healthy",
    "problem",
    "component_count",
    "file_count",
    "read_count",
    "unindexed",
    "unindexed_count",
    "failed_update",
    "webhooks",
];

fn without(record: &mut Value, moved: &[&str]) {
    match record {
        Value::Object(fields) => {
            fields.retain(|name, _| !moved.contains(&name.as_str()));
            fields.values_mut().for_each(|value| without(value, moved));
        }
        Value::Array(items) => items.iter_mut().for_each(|value| without(value, moved)),
        _ => {}
    }
}

/// On every route of the document, in the query and in the body.
#[tokio::test]
async fn r1_1_a_field_that_is_not_read_is_refused_by_name_on_every_route() {
    let server = Server::start_with(&["--requests-per-minute", "0"]).await;
    let things = Things::of(&server).await;
    let paths = server.document["paths"].as_object().expect("paths").clone();
    let mut asked = 0;
    for (path, methods) in &paths {
        let template = path.trim_start_matches("/v1");
        // Of members and sessions there is nothing to be named.
        let path = things.path(
            &template
                .replace("/members/{id}", "/members/u_x")
                .replace("/invitations/{id}", "/invitations/i_x")
                .replace("/sessions/{id}", "/sessions/s_x"),
        );
        // An authorization server ignores parameters that it does not know (RFC 6749, 3.2).
        let takes_any = ["/oauth/token", "/oauth/revoke"].contains(&template);
        for (method, operation) in methods.as_object().into_iter().flatten() {
            let method = Method::from_bytes(method.to_uppercase().as_bytes()).expect("a method");
            let sign = if path.contains('?') { '&' } else { '?' };
            let ask = async |path: &str, body: Option<Value>| {
                // Routes without a key take what a browser sends of their own page.
                let request = server
                    .raw(method.clone(), &format!("/v1{path}"))
                    .bearer_auth(&server.api_key)
                    .header("x-millrace-csrf", "1");
                answer(match body {
                    Some(body) => request.json(&body),
                    None => request,
                })
                .await
            };
            let in_query = ask(&format!("{path}{sign}no_such_field=1"), None).await;
            let is_json = method != Method::GET
                && operation["requestBody"]["content"].get("application/octet-stream").is_none()
                && operation["requestBody"]["content"].get("application/gzip").is_none();
            let in_body = if is_json {
                Some(ask(&path, Some(json!({ "no_such_field": null }))).await)
            } else {
                None
            };
            for got in [Some(in_query), in_body].into_iter().flatten() {
                if takes_any {
                    assert_eq!(got.refusal(), (422, "missing_field"), "{path}: {}", got.text);
                    continue;
                }
                assert_eq!(got.refusal(), (422, "unknown_field"), "{method} {path}: {}", got.text);
                assert_eq!(got.json["details"]["field"], "no_such_field", "{method} {path}");
                let (allowed, known) = (
                    got.json["details"]["allowed"].as_array().expect("names"),
                    declared(&server, &method, template),
                );
                assert!(
                    allowed.iter().all(|name| known.iter().any(|known| name == known)),
                    "{method} {path}: {allowed:?} {known:?}"
                );
                asked += 1;
            }
        }
    }
    assert!(asked > 200, "{asked}");
    // A request without a key learns nothing.
    let stranger =
        server.raw(Method::GET, "/v1/sources?no_such_field=1").send().await.expect("an answer");
    assert_eq!(stranger.status().as_u16(), 401);
    // Another organization does not exist, wherever it is named.
    for path in ["/webhooks/deliveries/replay", "/runs", "/users/me", "/mail"] {
        let path = if path.starts_with("/webhooks") {
            things.path("/webhooks/{id}/deliveries")
        } else {
            path.to_owned()
        };
        assert_eq!(server.get(&format!("{path}?org_id=o_other")).await.status, 404, "{path}");
        assert_eq!(
            server.get(&format!("{path}?org_id={}", server.org_id)).await.status,
            200,
            "{path}"
        );
    }
    // What clients of the hosted platform send and nobody needs here.
    assert_eq!(
        server.get("/components/search?query=x&similarity_threshold=0.5&debug=true").await.status,
        200
    );
    assert_eq!(
        server
            .get(&things.path("/connect/{project}/accounts?external_user_id=u&include=id"))
            .await
            .status,
        200
    );
}

#[tokio::test]
async fn r1_1_fields_within_steps_triggers_and_apps_are_read_or_refused() {
    let server = Server::shared().await;
    let code = "export default defineComponent({ run() {} });";
    let step = |more: Value| {
        let mut step = json!({ "namespace": "a", "code": code });
        step.as_object_mut().expect("an object").extend(more.as_object().expect("fields").clone());
        json!({ "steps": [step] })
    };
    let trigger = |trigger: Value| json!({ "triggers": [trigger], "steps": [] });
    for (body, name) in [
        (step(json!({ "prps": { "x": 1 } })), "prps"),
        (step(json!({ "configured_props": {} })), "configured_props"),
        (trigger(json!({ "type": "http", "customRespons": true })), "customRespons"),
        (trigger(json!({ "type": "http", "props": { "bearer": "x" } })), "bearer"),
        (trigger(json!({ "type": "timer", "interval": 5, "intervalSeconds": 60 })), "interval"),
        (
            trigger(
                json!({ "type": "timer", "props": { "cron": "* * * * *", "time_zone": "UTC" } }),
            ),
            "time_zone",
        ),
        (json!({ "steps": [], "settings": { "timeout": 5 } }), "timeout"),
        (json!({ "steps": [], "template_id": "tch_x" }), "template_id"),
    ] {
        let got = server.post("/workflows", &body).await;
        assert!(
            got.status == 422
                && got.json["error"]
                    .as_str()
                    .is_some_and(|error| error.contains(&format!("`{name}`"))),
            "{body}: {}",
            got.text
        );
    }
    for (body, name) in [
        (
            json!({ "name_slug": "acme", "custom_fields": [{ "name": "k", "secret": true }] }),
            "secret",
        ),
        (
            json!({ "name_slug": "acme", "custom_fields_json": "[{\"name\": \"k\", \"labl\": 1}]" }),
            "labl",
        ),
        (json!({ "name_slug": "acme", "oauth": { "tokenUrl": "x" } }), "tokenUrl"),
        (json!({ "name_slug": "acme", "custom_fields_json": "no JSON" }), "custom_fields_json"),
    ] {
        let got = server.post("/apps", &body).await;
        assert!(
            got.status == 422
                && got.json["error"]
                    .as_str()
                    .is_some_and(|error| error.contains(&format!("`{name}`"))),
            "{body}: {}",
            got.text
        );
    }
}

#[tokio::test]
async fn r1_1_what_a_record_shows_is_taken_back_under_the_same_name() {
    let server = Server::shared().await;
    // An app, whose fields are a JSON text as on the hosted platform.
    let oauth = json!({ "authorize_url": "https://x.test/a", "token_url": "https://x.test/t", "revoke_url": "https://x.test/r", "scopes": ["s"], "authorize_params": { "p": "1" }, "client_id": "c", "client_secret": "never-shown", "secret_in_body": true });
    let fields =
        r#"[{"name":"api_key","label":"Key","type":"password"},{"name":"domain","optional":true}]"#;
    let app = server.post("/apps", &json!({ "name_slug": "acme", "custom_fields_json": fields, "oauth": oauth, "auth_type": "oauth" })).await.data();
    let shown: Value =
        serde_json::from_str(app["custom_fields_json"].as_str().expect("text")).expect("JSON");
    assert_eq!(
        (&shown[0]["name"], &shown[0]["type"], &shown[1]["optional"]),
        (&json!("api_key"), &json!("password"), &json!(true))
    );
    let written = |record: &Value, names: &[&str]| {
        Value::Object(
            names.iter().map(|name| ((*name).to_owned(), record[*name].clone())).collect(),
        )
    };
    let same = |before: &Value, after: &Value, except: &[&str]| {
        let (mut before, mut after) = (before.clone(), after.clone());
        for record in [&mut before, &mut after] {
            without(record, &[except, &MOVED].concat());
        }
        assert_eq!(before, after);
    };
    let again = written(
        &app,
        &[
            "name",
            "auth_type",
            "description",
            "img_src",
            "custom_fields_json",
            "categories",
            "oauth",
        ],
    );
    same(&app, &server.put("/apps/acme", &again).await.data(), &[]);
    server
        .post(
            "/accounts",
            &json!({ "app": "acme", "credentials": { "api_key": "k", "domain": "d", "oauth_access_token": "t" } }),
        )
        .await
        .data();
    // A source with values of every kind that records show in another form.
    let code = "export default { name: 's', version: '1', props: { http: '$.interface.http', timer: { type: '$.interface.timer', default: { intervalSeconds: 900 } }, db: '$.service.db', word: 'string' }, run() {} };";
    let source = server.source(code, json!({ "word": "w" })).await;
    let again = written(
        &source,
        &[
            "name",
            "configured_props",
            "active",
            "calls_per_isolate",
            "concurrency",
            "made_from",
            "component_id",
        ],
    );
    same(&source, &server.put(&format!("/sources/{}", id(&source)), &again).await.data(), &[]);
    // A workflow: steps of own code and of a published action, with a secret, an expression and a
    // disabled one; triggers of each kind.
    let action = "export default { name: 'a', key: 'back-a', version: '0.0.1', type: 'action', props: { n: 'integer', token: { type: 'string', secret: true } }, run() { return this.token + this.n; } };";
    server.post("/components", &json!({ "component_code": action, "publish": true })).await.data();
    let steps = json!([
        { "namespace": "own", "code": "export default defineComponent({ props: { w: 'string' }, run() { return this.w; } });", "props": { "w": "{{steps.trigger.event.w}}" } },
        { "namespace": "published", "component_key": "back-a", "props": { "n": 3, "token": "s3cret" } },
        { "namespace": "off", "code": "export default defineComponent({ run() { return 'off'; } });", "disabled": true },
    ]);
    let triggers = json!([{ "type": "http", "customResponse": true }, { "type": "timer", "props": { "cron": "0 4 * * *", "timezone": "Europe/Berlin" } }, { "type": "source", "id": source["id"], "event_name": "x" }]);
    let workflow = server.post("/workflows", &json!({ "triggers": triggers, "steps": steps, "settings": { "name": "w", "timeout_ms": 20_000 } })).await.data();
    let again = written(&workflow, &["name", "active", "triggers", "steps", "settings"]);
    let path = format!("/workflows/{}", id(&workflow));
    same(&workflow, &server.put(&path, &again).await.data(), &[]);
    let run =
        server.post(&format!("{path}/test"), &json!({ "event": { "w": "said" } })).await.data();
    let gave: Vec<&Value> = run["steps"]
        .as_array()
        .expect("steps")
        .iter()
        .map(|step| &step["exports"]["$return_value"])
        .collect();
    assert_eq!(gave, [&json!("said"), &json!("s3cret3")], "{run}");
}

/// A client reads a record, changes a field or none, and writes all of it back: on every route that
/// gives what it updates.
#[tokio::test]
async fn r1_1_a_whole_record_is_written_back_and_only_a_changed_read_only_field_is_refused() {
    let server = Server::start_with(&["--requests-per-minute", "0"]).await;
    let things = Things::of(&server).await;
    let path = things.path("/data_stores/{id}/record");
    let path = path.trim_end_matches("?key=k");
    server
        .put(path, &json!({ "key": "k", "value": { "a": [1, null] }, "ttl": 3_600 }))
        .await
        .data();
    let still = |record: &Value| {
        let mut record = record.clone();
        without(&mut record, &MOVED);
        record
    };
    let schema = |operation: &Value| {
        operation["responses"]["200"]["content"]["application/json"]["schema"].clone()
    };
    let paths = server.document["paths"].as_object().expect("paths").clone();
    let mut routes = 0;
    for (template, methods) in &paths {
        let template = template.trim_start_matches("/v1");
        // Whose session it is cannot be written: `PUT` looks at another organization.
        if template == "/session"
            || methods.get("put").is_none()
            || methods.get("get").is_none_or(|get| schema(get) != schema(&methods["put"]))
        {
            continue;
        }
        routes += 1;
        let path = things.path(template);
        let read = async || {
            let got = server.get(&path).await;
            assert_eq!(got.status, 200, "{path}: {}", got.text);
            if got.json.get("data").is_some() { got.json["data"].clone() } else { got.json }
        };
        let before = read().await;
        let back = server.put(&path, &before).await;
        assert_eq!(back.status, 200, "{path} {before}: {}", back.text);
        let after = read().await;
        assert_eq!(still(&before), still(&after), "{path}");
        // The record of before that change is a record still.
        let again = server.put(&path, &before).await;
        assert_eq!(again.status, 200, "{path}: {}", again.text);
        let settable = declared(&server, &Method::PUT, template);
        for (name, value) in before.as_object().expect("a record").iter().filter(|(name, _)| {
            !settable.contains(name)
                && ![&MOVED[..], &MOVED_BY_OTHERS].concat().contains(&name.as_str())
        }) {
            let mut changed = before.clone();
            changed[name] = match value {
                Value::Bool(flag) => json!(!flag),
                Value::Number(number) => json!(number.as_i64().expect("whole") + 1),
                Value::Null => json!("x"),
                _ => Value::Null,
            };
            let got = server.put(&path, &changed).await;
            assert_eq!(got.refusal(), (422, "read_only_field"), "{path} {name}: {}", got.text);
            assert_eq!(
                (&got.json["details"]["field"], &got.json["details"]["value"]),
                (&json!(name), value),
                "{path}"
            );
        }
        assert_eq!(
            still(&before),
            still(&read().await),
            "{path}: what was refused changed nothing"
        );
    }
    assert!(routes >= 14, "{routes}");
    // What others changed between the read and the write is not this client's, nor are statistics
    // of a list.
    let store = things.path("/data_stores/{id}");
    let before = server.get(&store).await.data();
    server.put(path, &json!({ "key": "another", "value": 1 })).await.data();
    assert_eq!(server.put(&store, &before).await.status, 200);
    let listed = server.get("/sources?stats=24h&limit=1").await.json["data"][0].clone();
    assert!(listed["stats"].is_object(), "{listed}");
    let back = server.put(&format!("/sources/{}", id(&listed)), &listed).await;
    assert_eq!(back.status, 200, "{}", back.text);
    // A member, who stands in a list.
    let member = server.get("/members").await.json["data"][0].clone();
    assert_eq!(server.put(&format!("/members/{}", id(&member)), &member).await.data(), member);
    // What an update gave once, and one field that is meant to change among all.
    let webhook = json!({ "webhook_urls": ["http://127.0.0.1:9/hook"] });
    let path = things.path("/connect/{project}/deployed-triggers/{id}/webhooks");
    assert_eq!(server.put(&path, &webhook).await.status, 200);
    let key = things.path("/api_keys/{id}");
    let mut record = server.get(&key).await.data();
    record["name"] = json!("renamed");
    assert_eq!(server.put(&key, &record).await.data(), record);
    record["scopes"] = json!(["invoke", "deploy"]);
    assert_eq!(
        server.put(&key, &record).await.refusal(),
        (422, "read_only_field"),
        "a key is not widened by the way"
    );
}

/// An id that a change names is one of the workflow's: else a client that holds it for the
/// endpoint's goes on with another address.
#[tokio::test]
async fn r1_1_an_id_that_names_no_part_of_a_workflow_is_refused() {
    let server = Server::shared().await;
    let code = "export default defineComponent({ run() {} });";
    let body = json!({ "triggers": [{ "type": "http" }, { "type": "timer", "cron": "0 4 * * *" }], "steps": [{ "namespace": "a", "code": code }], "settings": { "name": "w" } });
    let workflow = server.post("/workflows", &body).await.data();
    let other = server.post("/workflows", &body).await.data();
    let path = format!("/workflows/{}", id(&workflow));
    let own = [
        &workflow["triggers"][0]["id"],
        &workflow["triggers"][1]["id"],
        &workflow["steps"][0]["id"],
    ];
    let others =
        [&other["triggers"][0]["id"], &other["triggers"][1]["id"], &other["steps"][0]["id"]];
    let places = ["/triggers/0/id", "/triggers/1/id", "/steps/0/id"];
    let odd = [
        json!("hi_nothere"),
        json!("ti_nothere"),
        json!("c_nothere"),
        json!("x"),
        json!(""),
        json!("hi_\u{0}%"),
        json!("é".repeat(1000)),
    ];
    for (place, pointer) in places.into_iter().enumerate() {
        for wrong in
            odd.iter().chain(others).chain(own.into_iter().filter(|id| **id != *own[place]))
        {
            let mut record = server.get(&path).await.data();
            *record.pointer_mut(pointer).expect("a place") = wrong.clone();
            let refused = server.put(&path, &record).await;
            let field = ["triggers[0].id", "triggers[1].id", "steps[0].id"][place];
            assert_eq!(
                (refused.refusal(), &refused.json["details"]["field"]),
                ((422, "invalid_field"), &json!(field)),
                "{wrong}: {}",
                refused.text
            );
        }
    }
    // What was not changed, and what a deployment had, is taken.
    let whole = server.get(&path).await.data();
    server.put(&path, &json!({ "triggers": [], "steps": [] })).await.data();
    let back = server.put(&path, &whole).await.data();
    assert_eq!(
        (back["triggers"].as_array().map(Vec::len), back["steps"].as_array().map(Vec::len)),
        (Some(2), Some(1))
    );
    // A new workflow of a record that was read is another one.
    let copy = server.post("/workflows", &json!({ "triggers": whole["triggers"], "steps": whole["steps"], "settings": { "name": "copy" } })).await.data();
    assert_ne!(copy["triggers"][0]["id"], whole["triggers"][0]["id"]);
}

/// What stands within a value that is set as a whole is held against the record as well, and the
/// refusal names it.
#[tokio::test]
async fn r1_1_a_read_only_field_within_a_record_is_written_back_as_it_is_or_refused() {
    let server = Server::start().await;
    server
        .post(
            "/apps",
            &json!({ "name_slug": "acme", "name": "Acme", "custom_fields": [{ "name": "k" }] }),
        )
        .await
        .data();
    let account = server
        .post("/accounts", &json!({ "app": "acme", "credentials": { "k": "v" } }))
        .await
        .data();
    let code = "export default { name: 'all', version: '1', props: { db: '$.service.db', http: { type: '$.interface.http' }, timer: { type: '$.interface.timer', default: { intervalSeconds: 900 } },
      acme: { type: 'app', app: 'acme' }, hook: { type: '$.interface.apphook', appProp: 'acme', eventNames: ['a'] } }, run() {} };";
    let props = json!({ "acme": { "authProvisionId": id(&account) } });
    let source = server
        .post("/sources", &json!({ "component_code": code, "configured_props": props }))
        .await
        .data();
    let triggers = json!([{ "type": "http" }, { "type": "timer", "cron": "0 4 * * *" }, { "type": "source", "id": id(&source) }]);
    let step = |name: &str| json!({ "namespace": name, "code": format!("export default defineComponent({{ run() {{ return '{name}'; }} }});") });
    let workflow = server
        .post(
            "/workflows",
            &json!({ "name": "w", "triggers": triggers, "steps": [step("a"), step("b")] }),
        )
        .await
        .data();
    let project = workflow["project_id"].as_str().expect("a project");
    let (of_source, of_workflow) =
        (format!("/sources/{}", id(&source)), format!("/workflows/{}", id(&workflow)));
    let deployed = format!("/connect/{project}/deployed-triggers/{}", id(&source));
    let cases = [
        (format!("/accounts/{}", id(&account)), "/app/name", "app.name"),
        (of_source.clone(), "/interfaces/0/key", "interfaces[0].key"),
        (
            of_source.clone(),
            "/configured_props/http/endpoint_url",
            "configured_props.http.endpoint_url",
        ),
        (
            of_source.clone(),
            "/configured_props/hook/event_names/0",
            "configured_props.hook.event_names[0]",
        ),
        (
            deployed.clone(),
            "/configured_props/http/endpoint_url",
            "configured_props.http.endpoint_url",
        ),
        (deployed, "/configurable_props/0/name", "configurable_props[0].name"),
        (of_workflow.clone(), "/triggers/0/key", "triggers[0].key"),
        (of_workflow.clone(), "/triggers/0/endpoint_url", "triggers[0].endpoint_url"),
        (of_workflow.clone(), "/triggers/2/owner_id", "triggers[2].owner_id"),
        (of_workflow.clone(), "/triggers/2/name", "triggers[2].name"),
        (
            of_workflow.clone(),
            "/triggers/2/configured_props/http/endpoint_url",
            "triggers[2].configured_props.http.endpoint_url",
        ),
        (of_workflow.clone(), "/steps/0/savedComponent/code", "steps[0].savedComponent.code"),
        (
            of_workflow.clone(),
            "/steps/1/savedComponent/published",
            "steps[1].savedComponent.published",
        ),
        (of_workflow.clone(), "/steps/1/lang", "steps[1].lang"),
    ];
    for (path, pointer, field) in &cases {
        let whole = server.get(path).await;
        let record = whole.json.get("data").unwrap_or(&whole.json).clone();
        let mut changed = record.clone();
        let place = changed.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer} in {record}"));
        *place = match &*place {
            Value::Bool(flag) => json!(!flag),
            Value::Number(_) => json!(1),
            _ => json!("other"),
        };
        let refused = server.put(path, &changed).await;
        assert_eq!(
            (refused.refusal(), &refused.json["details"]["field"]),
            ((422, "read_only_field"), &json!(field)),
            "{}",
            refused.text
        );
        assert_eq!(server.put(path, &record).await.status, 200, "{path}");
    }
    let told = server.get(&of_source).await.data();
    assert_eq!(
        told["configured_props"]["http"], source["configured_props"]["http"],
        "no other address is shown"
    );
    // Steps may change their names with each other, and a timer is told one thing.
    let mut record = server.get(&of_workflow).await.data();
    (record["steps"][0]["namespace"], record["steps"][1]["namespace"]) = (json!("b"), json!("a"));
    let swapped = server.put(&of_workflow, &record).await.data();
    assert_eq!(
        (&swapped["steps"][0]["namespace"], &swapped["steps"][0]["savedComponent"]),
        (&json!("b"), &record["steps"][0]["savedComponent"])
    );
    // An earlier version is written back by its record, as an update gave it or as a deployment
    // shows it.
    let changed = json!({ "steps": [{ "namespace": "a", "code": "export default defineComponent({ run() { return 'new'; } });" }], "settings": { "auto_deploy": true } });
    server.put(&of_workflow, &changed).await.data();
    let restored = server.put(&of_workflow, &swapped).await.data();
    assert_eq!(restored["steps"][1]["savedComponent"], swapped["steps"][1]["savedComponent"]);
    let deployments = server.get(&format!("{of_workflow}/deployments")).await.json;
    let first = server
        .get(&format!(
            "{of_workflow}/deployments/{}",
            id(deployments["data"].as_array().and_then(|all| all.last()).expect("one"))
        ))
        .await
        .data();
    let restored = server
        .put(&of_workflow, &json!({ "triggers": first["triggers"], "steps": first["steps"] }))
        .await
        .data();
    let parts = |record: &Value| [0, 1].map(|step| record["steps"][step]["savedComponent"].clone());
    assert_eq!(
        (parts(&restored), &restored["triggers"][0]["key"]),
        (parts(&first), &workflow["triggers"][0]["key"])
    );
    let mut record = restored;
    record["triggers"][1]["interval_seconds"] = json!(600);
    let refused = server.put(&of_workflow, &record).await;
    assert_eq!(
        (refused.status, &refused.json["details"]["field"]),
        (422, &json!("triggers[1]")),
        "{}",
        refused.text
    );
    for timer in [
        json!({ "cron": "0 4 * * *", "interval_seconds": 600 }),
        json!({ "intervalSeconds": 600, "timezone": "Asia/Tokyo" }),
        json!({ "intervalSeconds": 600, "every": 2 }),
    ] {
        let refused =
            server.put(&of_source, &json!({ "configured_props": { "timer": timer } })).await;
        assert!(
            refused.status == 422 && refused.text.contains("is no schedule"),
            "{}",
            refused.text
        );
    }
    let timer = json!({ "cron": "0 4 * * *", "interval_seconds": null, "timezone": "Asia/Tokyo" });
    assert_eq!(
        server.put(&of_source, &json!({ "configured_props": { "timer": timer } })).await.data()["configured_props"]
            ["timer"],
        timer
    );
}
