//! One `this` for runs, options methods and `additionalProps`: what forms of a deployed source see (reference 3).

use millrace_tests::{Server, id};
use serde_json::{Value, json};

const CODE: &str = "export default { name: 'c', version: '1', props: { db: '$.service.db', http: '$.interface.http', token: { type: 'string', secret: true },
    kind: { type: 'string', reloadProps: true },
    pick: { type: 'string', optional: true, options() {
      const before = this.db.get('n') ?? 'nothing'; this.db.set('n', 99);
      return [before, this.db.get('n'), this.token, this.kind, this.http.endpoint, process.env.PD_COMPONENT].map(String); } } },
  additionalProps() { const n = this.db.get('n') ?? 'nothing'; this.db.set('n', 77); return { ['saw_' + n]: { type: 'string', optional: true } }; },
  run() { this.db.set('n', (this.db.get('n') ?? 0) + 1); return this.db.get('n'); } };";

async fn picks(server: &Server, of: &str, values: Value) -> Vec<Value> {
    let answer = server.post("/components/configure", &json!({ "id": of, "prop_name": "pick", "configured_props": values })).await;
    assert_eq!(answer.json["errors"], json!([]), "{}", answer.text);
    answer.json["options"].as_array().expect("options").iter().map(|o| o["value"].clone()).collect()
}

async fn last_prop(server: &Server, of: &str, values: Value) -> Value {
    let answer = server.post("/components/props", &json!({ "id": of, "configured_props": values })).await.json;
    answer["dynamic_props"]["configurable_props"].as_array().and_then(|props| props.last().cloned()).expect("props")["name"].clone()
}

#[tokio::test]
async fn r3_forms_of_a_deployed_source_see_what_it_keeps_and_leave_nothing_in_it() {
    let server = Server::start().await;
    let values = json!({ "kind": "a", "token": "hunter2" });
    let saved = server.post("/components", &json!({ "component_code": CODE })).await.data();
    // What is not deployed has nothing yet, and a form does not see what another set.
    for _ in 0..2 {
        assert_eq!(picks(&server, id(&saved), values.clone()).await, ["nothing", "99", "hunter2", "a", "", "undefined"]);
        assert_eq!(last_prop(&server, id(&saved), values.clone()).await, "saw_nothing");
    }
    let source = server.source(CODE, json!({ "kind": "a", "token": "hunter2", "saw_nothing": "x" })).await;
    for n in 1..=2 {
        assert_eq!(server.run_now(&source, json!({})).await["return_value"], n);
    }
    // What the form does not give is as it is stored, secrets too.
    let endpoint = source["configured_props"]["http"]["endpoint_url"].as_str().expect("an endpoint");
    for _ in 0..2 {
        assert_eq!(picks(&server, id(&source), json!({ "kind": "b" })).await, ["2", "99", "hunter2", "b", endpoint, id(&source)]);
        assert_eq!(last_prop(&server, id(&source), json!({})).await, "saw_2");
    }
    // So does an update: the prop that it makes is known, and what it set is not kept.
    let path = format!("/sources/{}", id(&source));
    let updated = server.put(&path, &json!({ "configured_props": { "kind": "b", "saw_2": "y" } })).await.data();
    assert_eq!((&updated["configured_props"]["saw_2"], &updated["configured_props"]["saw_nothing"]), (&json!("y"), &Value::Null));
    assert_eq!(server.run_now(&source, json!({})).await["return_value"], 3);
}

#[tokio::test]
async fn r3_a_form_of_a_source_that_is_not_there_is_refused() {
    let server = Server::start().await;
    let source = server.source(CODE, json!({ "kind": "a", "token": "t" })).await;
    let other = server.post("/workspaces", &json!({ "name": "Other", "email": "o@example.com" })).await.data();
    let key = other["api_key"].as_str().expect("a key");
    let body = json!({ "id": id(&source), "prop_name": "pick" });
    for path in ["/components/configure", "/components/props"] {
        assert_eq!(server.call_as(key, reqwest::Method::POST, path, Some(&body)).await.refusal(), (404, "not_found"), "{path}");
        assert_eq!(server.post(path, &json!({ "id": "dc_nothing", "prop_name": "pick" })).await.refusal(), (404, "not_found"), "{path}");
    }
}
