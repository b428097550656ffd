//! Walls between organizations (reference 1): ids that stand in a query, in a body, in props or in
//! code, beside those of paths (`keys.rs`).

use millrace_tests::{Answer, Server, answer, endpoint, id};
use reqwest::Method;
use serde_json::{Value, json};

const SOURCE: &str = "export default { name: 's', version: '1', run() { this.$emit({ a: 1 }); } };";
/// An action whose options, further props and result tell the account that it was given.
const TELLS: &str = "export default { name: 't', key: 'walls-tells', version: '1', type: 'action',
  props: { acc: { type: 'app', app: 'walled', optional: true }, kind: { type: 'string', optional: true, reloadProps: true }, one: { type: 'string', optional: true, async options() { return [this.acc.$auth.k]; } } },
  async additionalProps() { return { more: { type: 'string', label: String(this.acc?.$auth.k), optional: true } }; }, run() { return this.acc?.$auth ?? 'no account'; } };";
const READS: &str = "export default { name: 'd', version: '1', type: 'action', props: { store: { type: 'data_store' } }, async run() { return await this.store.get('k'); } };";
const LISTS: &str = "import fs from 'node:fs'; export default { name: 'f', version: '1', type: 'action', props: { dir: { type: 'dir', accessMode: 'read', sync: true } }, run() { return fs.readdirSync('/tmp'); } };";

/// An organization with its key.
struct Org<'a> {
    server: &'a Server,
    key: String,
}

type Request = (Method, String, Value);

impl Org<'_> {
    async fn call(&self, method: Method, path: &str, body: &Value) -> Answer {
        let body = if method == Method::GET || body.is_null() { None } else { Some(body) };
        self.server.call_as(&self.key, method, path, body).await
    }

    async fn made(&self, path: &str, body: Value) -> Value {
        self.call(Method::POST, path, &body).await.data()
    }

    async fn workflow(&self, body: &str) -> Value {
        let code =
            format!("export default defineComponent({{ async run({{ $ }}) {{ {body} }} }});");
        self.made("/workflows", json!({ "triggers": [{ "type": "http" }], "steps": [{ "namespace": "a", "code": code }] })).await
    }

    async fn component(&self, code: &str, publish: bool) -> Value {
        self.made("/components", json!({ "component_code": code, "publish": publish })).await
    }
}

fn text<'a>(record: &'a Value, field: &str) -> &'a str {
    record[field].as_str().unwrap_or_else(|| panic!("{field}: {record}"))
}

/// What one organization has, and the other names.
struct Theirs {
    org: String,
    account: Value,
    action: Value,
    source: Value,
    workflow: Value,
    hook: Value,
    store: Value,
    form: String,
    run: Value,
    workflow_run: Value,
}

impl Theirs {
    async fn of(first: &Org<'_>) -> Self {
        let server = first.server;
        let action = first.component(TELLS, true).await;
        let source = first.made("/sources", json!({ "component_code": SOURCE })).await;
        let workflow = first.workflow("return 's3cret';").await;
        let hook = first.made("/webhooks", json!({ "url": "http://127.0.0.1:9/hook" })).await;
        first
            .made(
                "/subscriptions",
                json!({ "emitter_id": source["id"], "listener_id": hook["id"] }),
            )
            .await;
        let store = first.made("/data_stores", json!({ "name": "walled-store" })).await;
        first
            .call(
                Method::PUT,
                &format!("/data_stores/{}/record", id(&store)),
                &json!({ "key": "k", "value": "s3cret" }),
            )
            .await
            .data();
        let put = server
            .raw(Method::PUT, "/v1/file_stores/walled-files/files?path=s3cret.txt")
            .bearer_auth(&first.key)
            .body("s3cret");
        assert_eq!(answer(put).await.status, 200);
        let form = first
            .call(
                Method::POST,
                "/components/props",
                &json!({ "id": action["id"], "configured_props": { "kind": "x" } }),
            )
            .await
            .json;
        Self {
            org: server.org_id.clone(),
            account: first
                .made("/accounts", json!({ "app": "walled", "credentials": { "k": "s3cret" } }))
                .await,
            form: text(&form["dynamic_props"], "id").to_owned(),
            run: first.made(&format!("/sources/{}/run", id(&source)), json!({})).await,
            workflow_run: first
                .made(&format!("/workflows/{}/run", id(&workflow)), json!({ "event": {} }))
                .await,
            action,
            source,
            workflow,
            hook,
            store,
        }
    }
}

/// What the caller has itself, to be named beside it.
struct Own {
    source: Value,
    workflow: Value,
    hook: Value,
    action: Value,
    reads: Value,
    lists: Value,
    /// Its project, as clients of the hosted platform name it.
    connect: String,
}

impl Own {
    async fn of(second: &Org<'_>) -> Self {
        let workflow = second.workflow("return 1;").await;
        Self {
            source: second.made("/sources", json!({ "component_code": SOURCE })).await,
            hook: second.made("/webhooks", json!({ "url": "http://127.0.0.1:9/own" })).await,
            action: second.component(&TELLS.replace("walls-tells", "own-tells"), true).await,
            reads: second.component(READS, false).await,
            lists: second.component(LISTS, false).await,
            connect: format!("/connect/{}", text(&workflow, "project_id")),
            workflow,
        }
    }
}

fn step(component: &Value, props: &Value) -> Value {
    json!([{ "namespace": "x", "component_id": component["id"], "props": props }])
}

fn of_listeners(theirs: &Theirs, own: &Own) -> Vec<Request> {
    let mut asked: Vec<Request> = Vec::new();
    for emitter in [id(&theirs.source), id(&theirs.workflow), theirs.org.as_str()] {
        for name in ["", "$errors", "$logs"] {
            asked.push((
                Method::POST,
                "/subscriptions".into(),
                json!({ "emitter_id": emitter, "listener_id": own.hook["id"], "event_name": name }),
            ));
        }
    }
    for listener in [id(&theirs.source), id(&theirs.workflow), id(&theirs.hook)] {
        asked.extend([
            (
                Method::POST,
                "/subscriptions".into(),
                json!({ "emitter_id": own.source["id"], "listener_id": listener }),
            ),
            (
                Method::POST,
                "/subscriptions".into(),
                json!({ "emitter_id": "p_*", "listener_id": listener, "event_name": "$errors" }),
            ),
            (
                Method::POST,
                format!("/subscriptions?emitter_id=dc_*&listener_id={listener}"),
                Value::Null,
            ),
            (
                Method::POST,
                "/auto_subscriptions".into(),
                json!({ "event_name": "$errors", "listener_id": listener }),
            ),
        ]);
    }
    let (source, own_source, connect) = (id(&theirs.source), id(&own.source), &own.connect);
    asked.extend([
        (Method::DELETE, "/subscriptions".into(), json!({ "emitter_id": source, "listener_id": theirs.hook["id"] })),
        (Method::PUT, format!("/sources/{own_source}/listen/{source}"), json!({})),
        (Method::PUT, format!("/sources/{source}/listen/{own_source}"), json!({})),
        (Method::PUT, format!("{connect}/deployed-triggers/{own_source}/pipelines"), json!({ "workflow_ids": [theirs.workflow["id"]] })),
        (Method::POST, format!("{connect}/triggers/deploy"), json!({ "id": own.source["component_id"], "workflow_id": theirs.workflow["id"] })),
        (Method::POST, "/domains".into(), json!({ "domain": "walls.example.test", "endpoint_id": theirs.workflow["triggers"][0]["id"] })),
    ]);
    asked
}

fn of_components(theirs: &Theirs, own: &Own) -> Vec<Request> {
    let (mut asked, connect): (Vec<Request>, _) = (Vec::new(), &own.connect);
    for code in [
        json!({ "component_id": theirs.source["component_id"] }),
        json!({ "key": "walls-tells" }),
        json!({ "component_id": theirs.action["id"] }),
    ] {
        asked.push((Method::POST, "/sources".into(), code.clone()));
        asked.push((Method::PUT, format!("/sources/{}", id(&own.source)), code));
    }
    for named in
        [id(&theirs.action), "walls-tells", text(&theirs.action, "code_hash"), id(&theirs.source)]
    {
        asked.extend([
            (
                Method::POST,
                "/components/configure".into(),
                json!({ "id": named, "prop_name": "one" }),
            ),
            (
                Method::POST,
                "/components/props".into(),
                json!({ "id": named, "configured_props": { "kind": "x" } }),
            ),
            (
                Method::POST,
                format!("{connect}/components/configure"),
                json!({ "id": named, "prop_name": "one" }),
            ),
            (Method::POST, format!("{connect}/actions/run"), json!({ "id": named })),
            (Method::POST, format!("{connect}/triggers/deploy"), json!({ "id": named })),
        ]);
    }
    // The caller's own, with an account or a form that is not.
    let with_account = json!({ "acc": { "authProvisionId": theirs.account["id"] } });
    let (action, form) = (&own.action["id"], &theirs.form);
    let emits = "export default { name: 'e', version: '1', props: { acc: { type: 'app', app: 'walled' } }, run() { this.$emit(this.acc.$auth); } };";
    asked.extend([
        (
            Method::POST,
            "/components/configure".into(),
            json!({ "id": action, "prop_name": "one", "configured_props": with_account }),
        ),
        (
            Method::POST,
            "/components/props".into(),
            json!({ "id": action, "configured_props": with_account }),
        ),
        (
            Method::POST,
            "/components/props".into(),
            json!({ "id": action, "configured_props": {}, "dynamic_props_id": form }),
        ),
        (
            Method::POST,
            format!("{connect}/actions/run"),
            json!({ "id": action, "configured_props": with_account }),
        ),
        (
            Method::POST,
            format!("{connect}/actions/run"),
            json!({ "id": action, "dynamic_props_id": form }),
        ),
        (
            Method::POST,
            "/sources".into(),
            json!({ "component_code": emits, "configured_props": with_account }),
        ),
    ]);
    for steps in [
        step(&own.action, &with_account),
        step(&theirs.action, &json!({})),
        json!([{ "namespace": "x", "component_key": "walls-tells" }]),
        json!([{ "namespace": "x", "component_id": action, "dynamic_props_id": form }]),
        step(&own.reads, &json!({ "store": theirs.store["id"] })),
        step(&own.reads, &json!({ "store": "walled-store" })),
    ] {
        asked.push((Method::POST, "/workflows".into(), json!({ "steps": steps })));
        asked.push((
            Method::PUT,
            format!("/workflows/{}", id(&own.workflow)),
            json!({ "steps": steps }),
        ));
        asked.push((
            Method::POST,
            "/workflows/test".into(),
            json!({ "steps": steps, "event": {} }),
        ));
    }
    asked
}

fn of_workflows_and_runs(theirs: &Theirs, own: &Own) -> Vec<Request> {
    let (path, workflow, source) =
        (format!("/workflows/{}", id(&own.workflow)), &theirs.workflow, &theirs.source["id"]);
    let triggers = json!([{ "type": "source", "id": source }]);
    let mut asked: Vec<Request> = vec![
        (Method::POST, "/workflows".into(), json!({ "steps": [], "triggers": triggers })),
        (Method::PUT, path.clone(), json!({ "triggers": triggers })),
        (
            Method::POST,
            "/workflows".into(),
            json!({ "steps": [], "project_id": workflow["project_id"] }),
        ),
        (
            Method::POST,
            "/workflows/test".into(),
            json!({ "steps": [], "workflow_id": workflow["id"] }),
        ),
        (
            Method::POST,
            format!("{path}/rollback"),
            json!({ "deployment_id": workflow["deployment_id"] }),
        ),
        (
            Method::GET,
            format!("{path}/deployments/{}", text(workflow, "deployment_id")),
            Value::Null,
        ),
        (Method::POST, "/replays".into(), json!({ "source_id": source })),
        (Method::POST, "/replays".into(), json!({ "workflow_id": workflow["id"] })),
        (
            Method::POST,
            "/replays".into(),
            json!({ "workflow_id": own.workflow["id"], "runs": [theirs.workflow_run["id"]] }),
        ),
        (
            Method::POST,
            "/replays".into(),
            json!({ "source_id": own.source["id"], "runs": [theirs.run["id"]] }),
        ),
        (Method::GET, format!("/export?owner_id={}", id(&theirs.source)), Value::Null),
        (Method::GET, format!("/connect/{}/accounts", text(workflow, "project_id")), Value::Null),
    ];
    // A cursor of what is not the caller's names no place.
    for (list, cursor) in [
        ("/workflows".to_owned(), id(workflow)),
        ("/users/me/sources".to_owned(), id(&theirs.source)),
        ("/accounts".to_owned(), id(&theirs.account)),
        ("/webhooks".to_owned(), id(&theirs.hook)),
        ("/data_stores".to_owned(), id(&theirs.store)),
        (format!("{path}/runs"), id(&theirs.workflow_run)),
    ] {
        asked.push((Method::GET, format!("{list}?after={cursor}"), Value::Null));
    }
    asked
}

#[tokio::test]
async fn r1_3_what_another_organization_has_is_found_nowhere_that_a_request_names_it() {
    let server = Server::start().await;
    let other = server
        .post("/workspaces", &json!({ "name": "Other", "email": "other@example.test" }))
        .await
        .data();
    let (first, second) = (
        Org { server: &server, key: server.api_key.clone() },
        Org { server: &server, key: text(&other, "api_key").to_owned() },
    );
    for org in [&first, &second] {
        org.made("/apps", json!({ "name_slug": "walled", "custom_fields": [{ "name": "k" }] }))
            .await;
    }
    let (theirs, own) = (Theirs::of(&first).await, Own::of(&second).await);
    let asked = [
        of_listeners(&theirs, &own),
        of_components(&theirs, &own),
        of_workflows_and_runs(&theirs, &own),
    ]
    .concat();
    assert!(asked.len() > 80, "{}", asked.len());
    for (method, path, body) in asked {
        let got = second.call(method.clone(), &path, &body).await;
        assert!(
            matches!(got.status, 404 | 422) && !got.text.contains("s3cret"),
            "{method} {path} {body}: {} {}",
            got.status,
            got.text
        );
    }
    let total = async |org: &Org<'_>, path: &str| {
        org.call(Method::GET, path, &Value::Null).await.json["page_info"]["total_count"].clone()
    };
    let subscriptions = async |org: &Org<'_>| {
        org.call(Method::GET, "/users/me/subscriptions", &Value::Null)
            .await
            .data()
            .as_array()
            .map(Vec::len)
    };
    assert_eq!((subscriptions(&first).await, subscriptions(&second).await), (Some(1), Some(0)));
    assert_eq!(
        (total(&second, "/users/me/sources").await, total(&second, "/workflows").await),
        (json!(1), json!(1))
    );
}

/// What is named by an expression, by a name that both may have, or by code, is looked for in a
/// run.
#[tokio::test]
async fn r4_5_what_another_organization_has_is_not_there_for_code() {
    let server = Server::start().await;
    let other = server
        .post("/workspaces", &json!({ "name": "Other", "email": "other@example.test" }))
        .await
        .data();
    let (first, second) = (
        Org { server: &server, key: server.api_key.clone() },
        Org { server: &server, key: text(&other, "api_key").to_owned() },
    );
    first.made("/apps", json!({ "name_slug": "walled", "custom_fields": [{ "name": "k" }] })).await;
    let (theirs, own) = (Theirs::of(&first).await, Own::of(&second).await);
    for steps in [
        step(&own.reads, &json!({ "store": format!("{{{{\"{}\"}}}}", id(&theirs.store)) })),
        step(&own.lists, &json!({ "dir": "walled-files" })),
    ] {
        let ran = second
            .call(Method::POST, "/workflows/test", &json!({ "steps": steps, "event": {} }))
            .await;
        assert!(ran.status == 200 && !ran.text.contains("s3cret"), "{}", ran.text);
    }
    // Its version has run here before, so that the server has it at hand.
    let triggers = second
        .workflow(&format!(
            "return await $.flow.trigger('{}', {{ from: 'another' }});",
            id(&theirs.workflow)
        ))
        .await;
    for run in ["run", "test"] {
        let ran = second
            .made(&format!("/workflows/{}/{run}", id(&triggers)), json!({ "event": {} }))
            .await;
        assert_eq!(
            (&ran["status"], &ran["error"]["code"]),
            (&json!("failed"), &json!("NotFound")),
            "{run}: {ran}"
        );
    }
    assert_eq!(answer(server.raw(Method::POST, &endpoint(&theirs.workflow))).await.status, 200);
    let runs = format!("/workflows/{}/runs?status=succeeded", id(&theirs.workflow));
    server
        .until("the run before and this one", &runs, |l| l["page_info"]["total_count"] == 2)
        .await;
}
