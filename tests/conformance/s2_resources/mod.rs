//! Chapter 2: resources and their fields.

mod apps;
mod bad_components;
mod component;
mod interfaces;
mod oauth;
mod oauth_fields;
mod oauth_provider;
mod oauth_refresh;
mod odd_providers;
mod props;
mod sends;
mod services;

use millrace_tests::{Server, answer, endpoint, id};
use reqwest::Method;
use serde_json::json;

const FAILS: &str =
    "export default defineComponent({ async run() { throw new TypeError('broken'); } });";

#[tokio::test]
async fn s2_2_to_2_5_an_error_event_has_the_body_metadata_and_page_info_of_the_spec() {
    let server = Server::start().await;
    let workflow = server
        .workflow(
            "fails",
            json!([{ "type": "http" }]),
            &[
                ("first", "export default defineComponent({ run() { return 1; } });"),
                ("second", FAILS),
            ],
        )
        .await;
    let id = workflow["id"].as_str().expect("an id");
    answer(server.raw(Method::POST, &endpoint(&workflow)).json(&json!({ "n": 1 }))).await;
    let list = server
        .until("an error", &format!("/workflows/{id}/$errors/event_summaries?expand=event"), |l| {
            l["page_info"]["count"] == 1
        })
        .await;
    let item = &list["data"][0];
    assert_eq!(
        list["page_info"],
        json!({ "total_count": 1, "count": 1, "start_cursor": item["id"], "end_cursor": item["id"] })
    );
    assert_eq!(
        item["id"].as_str().and_then(|id| id.split_once('-')).map(|(ms, _)| ms.to_owned()),
        Some(item["indexed_at_ms"].to_string())
    );
    assert_eq!(
        (&item["metadata"]["emitter_id"], &item["metadata"]["name"]),
        (&workflow["id"], &json!("$errors"))
    );
    assert_eq!(item["metadata"]["emit_id"].as_str().map(str::len), Some(27));
    let event = &item["event"];
    assert_eq!(event["original_event"]["body"], json!({ "n": 1 }));
    let context = &event["original_context"];
    assert_eq!(
        (&context["workflow_id"], &context["deployment_id"], &context["verified"]),
        (&workflow["id"], &workflow["deployment_id"], &json!(false))
    );
    for field in ["id", "ts", "source_type", "owner_id", "platform_version"] {
        assert!(context[field].as_str().is_some_and(|v| !v.is_empty()), "{field}");
    }
    let step = &workflow["steps"][1]["id"];
    assert_eq!(
        (&event["error"]["code"], &event["error"]["message"], &event["error"]["cellId"]),
        (&json!("TypeError"), &json!("broken"), step)
    );
    let stack = event["error"]["stack"].as_str().expect("a stack");
    assert!(stack.starts_with("TypeError: broken") && stack.contains("second.mjs:1:"), "{stack}");
    let data_dir = server.data_dir();
    assert!(!stack.contains(data_dir.to_str().expect("a path")), "{stack}");
}

#[tokio::test]
async fn s2_6_a_component_without_type_is_a_source_and_its_slug_is_unique() {
    let server = Server::shared().await;
    let code = "export default { name: 'My Source!', version: '1', run() {} };";
    let slugs = [server.source(code, json!({})).await, server.source(code, json!({})).await]
        .map(|s| s["name_slug"].clone());
    assert_eq!(slugs, [json!("my-source"), json!("my-source-1")]);
}

#[tokio::test]
async fn s2_7_1_a_secret_is_stored_sealed_never_returned_and_readable_by_the_code() {
    let server = Server::start().await;
    let code = "export default { name: 's', version: '1', props: { token: { type: 'string', secret: true } }, run() { return this.token.length; } };";
    let source = server.source(code, json!({ "token": "hunter2-hunter2" })).await;
    assert_eq!(source["configured_props"].get("token"), None);
    // Its name says that it is set, also after a change that leaves it out, which keeps it.
    let path = format!("/sources/{}", source["id"].as_str().expect("an id"));
    let renamed = server.put(&path, &json!({ "name": "t", "configured_props": {} })).await.data();
    assert_eq!(
        (&source["sealed_props"], &renamed["sealed_props"]),
        (&json!(["token"]), &json!(["token"]))
    );
    let run = server.post(&format!("{path}/run"), &json!({})).await.data();
    assert_eq!(run["return_value"], 15);
    let database = std::fs::read(server.data_dir().join("millrace.db-wal")).expect("reads");
    assert!(!database.windows(15).any(|w| w == b"hunter2-hunter2"));
}

#[tokio::test]
async fn s2_7_1_a_step_keeps_its_secrets_where_a_change_names_the_step_and_leaves_them_out() {
    let server = Server::shared().await;
    let code = |more: &str| {
        format!(
            "export default defineComponent({{ props: {{ token: {{ type: 'string', secret: true, optional: true }} }}, run() {{ return [this.token?.length, {more}]; }} }});"
        )
    };
    let first =
        json!({ "namespace": "a", "code": code("1"), "props": { "token": "hunter2-hunter2" } });
    let made = server.post("/workflows", &json!({ "name": "w", "steps": [first] })).await.data();
    assert_eq!(
        (&made["steps"][0]["sealed_props"], &made["steps"][0]["configured_props_json"]),
        (&json!(["token"]), &json!("{}"))
    );
    let path = format!("/workflows/{}", id(&made));
    let put = async |step: serde_json::Value| server.put(&path, &json!({ "steps": [step] })).await;
    let returned = async || {
        server.post(&format!("{path}/test"), &json!({})).await.data()["steps"][0]["exports"]["$return_value"].clone()
    };
    // Renamed and with other code.
    let kept =
        put(json!({ "namespace": "b", "code": code("2"), "keep_secrets_of": "a" })).await.data();
    assert_eq!(kept["steps"][0]["sealed_props"], json!(["token"]));
    assert_eq!(returned().await, json!([15, 2]));
    // A step that no version had.
    let answer = put(json!({ "namespace": "b", "code": code("2"), "keep_secrets_of": "z" })).await;
    assert_eq!(answer.refusal(), (422, "invalid_field"));
    put(json!({ "namespace": "b", "code": code("3"), "props": { "token": "short" }, "keep_secrets_of": "b" })).await.data();
    assert_eq!(returned().await, json!([5, 3]));
    put(json!({ "namespace": "b", "code": code("4"), "props": { "token": null }, "keep_secrets_of": "b" })).await.data();
    assert_eq!(returned().await, json!([null, 4]));
}

#[tokio::test]
async fn s2_7_1_credentials_of_a_request_are_sealed_shown_to_nobody_and_kept_where_given_back() {
    let server = Server::start().await;
    let props =
        "props: { r: { type: 'http_request' } }, run() { return this.r.auth === undefined; }";
    let request = |secret: serde_json::Value| {
        json!({ "r": { "url": "https://a.example", "auth": { "type": "bearer", "token": secret },
            "headers": [{ "name": "X-Gitlab-Token", "value": secret }, { "name": "accept", "value": "a" }],
            "params": [{ "name": "access_token", "value": secret }, { "name": "page_token", "value": "p" }] } })
    };
    let (plain, hidden) = (request(json!("hunter2-hunter2")), request(json!({ "$secret": true })));
    let source = server
        .source(&format!("export default {{ name: 's', version: '1', {props} }};"), plain.clone())
        .await;
    assert_eq!(source["configured_props"], hidden);
    let path = format!("/sources/{}", id(&source));
    let kept = server.put(&path, &json!({ "name": "t", "configured_props": hidden })).await.data();
    assert_eq!(kept["configured_props"], hidden);
    let step = json!({ "namespace": "a", "code": format!("export default defineComponent({{ {props} }});"), "props": plain });
    let made = server.post("/workflows", &json!({ "name": "w", "steps": [step] })).await.data();
    let shown = |workflow: &serde_json::Value| {
        let text =
            workflow["steps"][0]["configured_props_json"].as_str().expect("a text").to_owned();
        serde_json::from_str::<serde_json::Value>(&text).expect("JSON")
    };
    assert_eq!(shown(&made), hidden);
    let path = format!("/workflows/{}", id(&made));
    server.post(&format!("{path}/deploy"), &json!({})).await.data();
    // As it was read: the draft is what is live.
    let back = server.put(&path, &json!({ "steps": made["steps"] })).await.data();
    assert_eq!((shown(&back), &back["draft"]["changed"]), (hidden.clone(), &json!(false)));
    let run = server.post(&format!("{path}/test"), &json!({})).await.data();
    assert_eq!(run["status"], "succeeded");
    let listed = server.get(&format!("{path}/deployments")).await.data();
    assert!(!format!("{listed}{back}{run}").contains("hunter2"));
    // Nothing is stored that it could stand for.
    let step = json!({ "namespace": "b", "code": step["code"], "props": hidden });
    let answer = server.put(&path, &json!({ "steps": [step] })).await;
    assert_eq!(answer.refusal(), (422, "invalid_field"));
    let database = std::fs::read(server.data_dir().join("millrace.db-wal")).expect("reads");
    assert!(!database.windows(15).any(|w| w == b"hunter2-hunter2"));
}

/// The way back of an editor's undo: what a save removed is given back by the live version.
#[tokio::test]
async fn s2_7_1_what_a_draft_removed_comes_back_with_the_secrets_of_the_version_that_was_deployed()
{
    let server = Server::shared().await;
    let code = "export default defineComponent({ props: { token: { type: 'string', secret: true, optional: true } }, run() { return this.token; } });";
    let step = |more: &serde_json::Value| {
        let mut step = json!({ "namespace": "a", "code": code });
        step.as_object_mut().expect("a step").extend(more.as_object().expect("more").clone());
        step
    };
    let triggers = json!([{ "type": "http", "auth": { "type": "bearer", "token": "tok-1234" } }]);
    let steps = json!([step(&json!({ "props": { "token": "hunter2" } }))]);
    let made = server
        .post("/workflows", &json!({ "name": "w", "triggers": triggers, "steps": steps }))
        .await
        .data();
    let path = format!("/workflows/{}", id(&made));
    server.post(&format!("{path}/deploy"), &json!({})).await.data();
    let trigger = |auth: serde_json::Value| json!({ "type": "http", "id": made["triggers"][0]["id"], "auth": auth });
    server.put(&path, &json!({ "triggers": [], "steps": [] })).await.data();
    let back = server
        .put(
            &path,
            &json!({ "triggers": [trigger(json!({ "type": "bearer" }))], "steps": [step(&json!({ "keep_secrets_of": "a" }))] }),
        )
        .await
        .data();
    assert_eq!(back["steps"][0]["sealed_props"], json!(["token"]));
    assert_eq!(back["triggers"][0]["endpoint_url"], made["triggers"][0]["endpoint_url"]);
    let run = server.post(&format!("{path}/test"), &json!({})).await.data();
    assert_eq!(run["steps"][0]["exports"]["$return_value"], "hunter2");
    // Anybody may call it, and again only who has its token.
    let open = json!({ "triggers": [trigger(json!({ "type": "none" }))] });
    server.put(&path, &open).await.data();
    let shut = json!({ "triggers": [trigger(json!({ "type": "bearer" }))] });
    assert_eq!(server.put(&path, &shut).await.data()["triggers"][0]["auth"]["type"], "bearer");
    let other = json!({ "triggers": [trigger(json!({ "type": "signature" }))] });
    assert_eq!(server.put(&path, &other).await.status, 422);
}

#[tokio::test]
async fn s2_1_a_subscription_connects_an_emitter_to_a_listener_for_one_stream() {
    let server = Server::shared().await;
    let (one, other) = (
        server.workflow("one", json!([{ "type": "http" }]), &[("a", FAILS)]).await,
        server.workflow("other", json!([{ "type": "http" }]), &[("a", FAILS)]).await,
    );
    let hears = "export default defineComponent({ run({ steps }) { return steps.trigger.event.original_context.workflow_id; } });";
    let (of_one, of_all) = (
        server.workflow("of one", json!([]), &[("a", hears)]).await,
        server.workflow("of all", json!([]), &[("a", hears)]).await,
    );
    for (emitter, listener) in [(id(&one), id(&of_one)), (&server.org_id, id(&of_all))] {
        let made = server
            .post(
                &format!(
                    "/subscriptions?emitter_id={emitter}&listener_id={listener}&event_name=$errors"
                ),
                &json!({}),
            )
            .await
            .data();
        assert_eq!(
            (&made["emitter_id"], &made["listener_id"], &made["event_name"]),
            (&json!(emitter), &json!(listener), &json!("$errors"))
        );
        assert!(id(&made).starts_with("sub_"), "{made}");
    }
    for failing in [&other, &one] {
        answer(server.raw(Method::POST, &endpoint(failing))).await;
    }
    let heard = async |listener: &serde_json::Value, count: usize| {
        let runs = server
            .until(
                "the runs",
                &format!("/workflows/{}/runs?status=succeeded", id(listener)),
                |list| list["page_info"]["total_count"] == count,
            )
            .await;
        let mut of: Vec<String> = runs["data"]
            .as_array()
            .expect("runs")
            .iter()
            .map(|run| {
                run["steps"][0]["exports"]["$return_value"].as_str().expect("an id").to_owned()
            })
            .collect();
        of.sort();
        of
    };
    let mut both = vec![id(&one).to_owned(), id(&other).to_owned()];
    both.sort();
    // Who hears of all of the organization has heard of both, so that the other would have heard of
    // them as well.
    assert_eq!(
        (heard(&of_all, 2).await, heard(&of_one, 1).await),
        (both, vec![id(&one).to_owned()])
    );
    for (missing, query) in [
        ("emitter_id", format!("listener_id={}", id(&of_one))),
        ("listener_id", format!("emitter_id={}", id(&one))),
    ] {
        let refused =
            server.post(&format!("/subscriptions?event_name=$errors&{query}"), &json!({})).await;
        assert!(
            (400..=422).contains(&refused.status) && refused.text.contains(missing),
            "{}",
            refused.text
        );
    }
}

/// A subscription on which no event could come is refused, and so is such a trigger.
#[tokio::test]
async fn s2_1_a_stream_on_which_no_event_comes_is_refused() {
    let server = Server::shared().await;
    let step = "export default defineComponent({ run() {} });";
    let source =
        server.source("export default { name: 's', version: '1', run() {} };", json!({})).await;
    let workflow = server.workflow("w", json!([]), &[("a", step)]).await;
    let long = "a".repeat(201);
    for (emitter, name) in [
        (id(&source), "$foo"),
        (id(&source), "$in"),
        (id(&source), long.as_str()),
        (id(&workflow), "$logs"),
        ("p_*", "$logs"),
    ] {
        let body =
            json!({ "emitter_id": emitter, "listener_id": id(&workflow), "event_name": name });
        let refused = server.post("/subscriptions", &body).await;
        assert_eq!(refused.refusal(), (422, "invalid_field"), "{emitter} {name}");
        assert!(refused.text.contains("allowed are"), "{}", refused.text);
    }
    let triggers = json!([{ "type": "source", "id": id(&source), "event_name": "$foo" }]);
    let path = format!("/workflows/{}", id(&workflow));
    let refused = server.put(&path, &json!({ "triggers": triggers })).await;
    assert_eq!(refused.refusal(), (422, "invalid_field"), "{}", refused.text);
    for (emitter, name) in [(id(&source), "$logs"), (id(&workflow), "$errors"), ("dc_*", "new")] {
        let body =
            json!({ "emitter_id": emitter, "listener_id": id(&workflow), "event_name": name });
        server.post("/subscriptions", &body).await.data();
    }
}
