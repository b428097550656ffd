//! Refusals of fields: what the document says of required fields and bounds is what the server
//! checks, and `details.field` names the field by its path.

use millrace_tests::{Answer, Client, Server, answer};
use reqwest::Method;
use serde_json::{Map, Value, json};

use super::keys::Things;

/// The operations of the document, by method and path; `path_of` gives the path of a template below
/// `/v1`.
fn operations(server: &Client, path_of: impl Fn(&str) -> String) -> Vec<(Method, String, Value)> {
    let mut found = Vec::new();
    for (template, methods) in server.document["paths"].as_object().expect("paths") {
        let path = format!("/v1{}", path_of(template.trim_start_matches("/v1")));
        for (method, operation) in methods.as_object().expect("methods") {
            let method = method.to_uppercase().parse().expect("a method");
            found.push((method, path.clone(), operation.clone()));
        }
    }
    assert!(found.len() > 150, "{}", found.len());
    found
}

/// A path whose ids name nothing.
fn nothing(template: &str) -> String {
    let part = |part| if str::starts_with(part, '{') { "not-there" } else { part };
    template.split('/').map(part).collect::<Vec<_>>().join("/")
}

/// A path whose ids name things that are there.
fn existing(things: &Things, template: &str) -> String {
    let known = template
        .replace("/members/{id}", "/members/u_x")
        .replace("/invitations/{id}", "/invitations/i_x")
        .replace("/sessions/{id}", "/sessions/s_x");
    // What is asked for within a thing is a parameter here.
    let path = things.path(&known);
    path.split_once('?').map_or(path.as_str(), |(path, _)| path).to_owned()
}

/// Parameters of an operation: their schemas, whether they are required, and whether they stand in
/// the query.
fn parameters(operation: &Value) -> Vec<(String, Value, bool, bool)> {
    let query = operation["parameters"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|parameter| parameter["in"] == "query")
        .map(|p| {
            (
                p["name"].as_str().unwrap_or_default().to_owned(),
                p["schema"].clone(),
                p["required"] == true,
                true,
            )
        });
    let body = &operation["requestBody"]["content"]["application/json"]["schema"];
    let required: Vec<&Value> = body["required"].as_array().into_iter().flatten().collect();
    let fields = body["properties"].as_object().into_iter().flatten().map(|(name, schema)| {
        let is_required = required.iter().any(|required| *required == name);
        (name.clone(), schema.clone(), is_required, false)
    });
    query.chain(fields).collect()
}

/// A value that a schema takes.
fn sample(schema: &Value) -> Value {
    let schema = schema["anyOf"].get(0).unwrap_or(schema);
    if let Some(word) = schema["enum"].get(0) {
        return word.clone();
    }
    match schema["type"].as_str() {
        Some("integer") => schema.get("minimum").cloned().unwrap_or_else(|| json!(1)),
        Some("boolean") => json!(true),
        Some("object") => json!({}),
        Some("array") => json!([]),
        Some("string") => json!("aaaaaaaaaaaa"),
        _ if schema["type"].is_array() => json!(["a"]),
        _ => json!({}),
    }
}

async fn send(server: &Client, method: &Method, path: &str, query: &str, body: &Value) -> Answer {
    let request = server
        .raw(method.clone(), &format!("{path}?{query}"))
        .bearer_auth(&server.api_key)
        .header("x-millrace-csrf", "1");
    answer(if *method == Method::GET { request } else { request.json(body) }).await
}

/// The required parameters of an operation, with values, but for one.
fn all_but(parameters: &[(String, Value, bool, bool)], left_out: &str) -> (String, Value) {
    let (mut query, mut body) = (Vec::new(), Map::new());
    for (name, schema, _, in_query) in parameters.iter().filter(|p| p.2 && p.0 != left_out) {
        let value = sample(schema);
        if *in_query {
            query.push(format!("{name}={}", value.as_str().unwrap_or("a")));
        } else {
            body.insert(name.clone(), value);
        }
    }
    (query.join("&"), body.into())
}

#[tokio::test]
async fn r1_1_a_required_field_that_is_missing_is_named_on_every_route() {
    let server = Server::start().await;
    let things = Things::of(&server).await;
    let (mut tried, mut wrong) = (0, Vec::new());
    for (method, path, operation) in operations(&server, |template| existing(&things, template)) {
        // Of a session alone, or where people sign in by a provider.
        if ["/v1/session", "/v1/session/password", "/v1/sign_in/finish"].contains(&path.as_str())
            && method != Method::POST
        {
            continue;
        }
        let parameters = parameters(&operation);
        for (name, ..) in parameters.iter().filter(|p| p.2) {
            let (query, body) = all_but(&parameters, name);
            let refused = send(&server, &method, &path, &query, &body).await;
            let named = refused.json["details"]["field"] == name.as_str();
            if refused.refusal() != (422, "missing_field") || !named {
                wrong.push(format!("{method} {path} without {name}: {}", refused.text));
            }
            tried += 1;
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(tried > 40, "{tried}");
}

#[tokio::test]
async fn r1_1_a_value_beyond_a_bound_of_the_document_is_refused_by_its_field() {
    let server = Server::start().await;
    let mut tried = 0;
    for (method, path, operation) in operations(&server, nothing) {
        let parameters = parameters(&operation);
        for (name, schema, _, in_query) in &parameters {
            let schema = schema["anyOf"].get(0).unwrap_or(schema);
            let bound = |word: &str| schema[word].as_u64().map(|n| usize::try_from(n).expect("n"));
            let beyond = [
                bound("minimum").map(|n| json!(n as i64 - 1)),
                bound("maximum").map(|n| json!(n + 1)),
                bound("minLength").map(|n| json!("a".repeat(n - 1))),
                bound("maxLength").map(|n| json!("a".repeat(n + 1))),
                bound("minItems").map(|n| json!(vec!["a"; n - 1])),
                bound("maxItems").map(|n| json!(vec!["a"; n + 1])),
            ];
            for value in beyond.into_iter().flatten() {
                let (mut query, mut body) = all_but(&parameters, name);
                if *in_query {
                    let text = match &value {
                        Value::String(text) => text.clone(),
                        Value::Array(items) => vec!["a"; items.len()].join(","),
                        other => other.to_string(),
                    };
                    query = format!("{query}&{name}={text}");
                } else {
                    body[name.as_str()] = value;
                }
                let refused = send(&server, &method, &path, &query, &body).await;
                let at = format!("{method} {path} {name}: {}", refused.text);
                assert_eq!(refused.refusal(), (422, "invalid_field"), "{at}");
                assert_eq!(refused.json["details"]["field"], *name, "{at}");
                tried += 1;
            }
        }
    }
    assert!(tried > 100, "{tried}");
}

#[tokio::test]
async fn r1_2_every_route_that_shows_records_lets_their_fields_be_chosen() {
    let server = Server::shared().await;
    let mut tried = 0;
    for (method, path, operation) in operations(&server, nothing) {
        let done = &operation["responses"]["200"]["content"]["application/json"]["schema"];
        let data = &done["properties"]["data"];
        let shows = data["$ref"].is_string() || done["properties"]["page_info"].is_object();
        if method != Method::GET || !shows {
            continue;
        }
        let parameters = parameters(&operation);
        for choice in ["include", "exclude"] {
            let (query, _) = all_but(&parameters, "");
            let query = format!("{query}&{choice}=no_such_field");
            assert!(parameters.iter().any(|p| p.0 == choice), "{path} declares no `{choice}`");
            let refused = send(&server, &method, &path, &query, &Value::Null).await;
            assert_eq!(refused.refusal(), (422, "invalid_field"), "{path}: {}", refused.text);
            assert_eq!(refused.json["details"]["field"], choice, "{path}");
            tried += 1;
        }
    }
    assert!(tried > 80, "{tried}");
}

const TIMED: &str =
    "export default { name: 't', version: '1', props: { timer: '$.interface.timer' }, run() {} };";

#[tokio::test]
async fn r1_1_details_name_the_field_also_of_conflicts_of_schedules_and_within_objects() {
    let server = Server::shared().await;
    let named = json!({ "name": "named-twice", "unique_name": true, "steps": [] });
    server.post("/workflows", &named).await.data();
    server.post("/data_stores", &json!({ "name": "named-twice" })).await.data();
    let timer = |props: Value| json!({ "triggers": [{ "type": "timer", "props": props }] });
    let cancel = |filter: Value| json!({ "filter": filter });
    for (path, body, refusal, field) in [
        ("/workflows", named, (409, "taken"), "name"),
        ("/data_stores", json!({ "name": "named-twice" }), (409, "taken"), "name"),
        ("/workflows", timer(json!({ "cron": "x y" })), (422, "invalid_schedule"), "triggers[0]"),
        (
            "/workflows",
            json!({ "triggers": [{ "type": "http" }, { "type": "timer", "props": { "cron": "0 0 30 2 *" } }] }),
            (422, "invalid_schedule"),
            "triggers[1]",
        ),
        (
            "/sources",
            json!({ "component_code": TIMED, "configured_props": { "timer": { "cron": "0 0 30 2 *" } } }),
            (422, "invalid_props"),
            "configured_props",
        ),
        (
            "/workflows",
            json!({ "steps": [{ "namespace": "a" }] }),
            (422, "missing_field"),
            "steps[0].code",
        ),
        ("/replays", json!({}), (422, "missing_field"), "workflow_id"),
        ("/runs/cancel", cancel(json!({ "status": "x" })), (422, "invalid_field"), "filter.status"),
        ("/runs/cancel", cancel(json!({ "min_ms": -1 })), (422, "invalid_field"), "filter.min_ms"),
        ("/runs/cancel", cancel(json!({ "from": "x" })), (422, "invalid_field"), "filter.from"),
        ("/runs/cancel", cancel(json!({ "q": "*" })), (422, "invalid_field"), "filter.q"),
        ("/replays", cancel(json!({ "kind": "x" })), (422, "invalid_field"), "filter.kind"),
        ("/replays", cancel(json!({ "ids": [] })), (422, "invalid_field"), "filter.ids"),
    ] {
        let refused = server.post(path, &body).await;
        assert_eq!(refused.refusal(), refusal, "{path} {body}: {}", refused.text);
        assert_eq!(refused.json["details"]["field"], field, "{path} {body}: {}", refused.text);
    }
    for (query, field) in [
        ("cron=x%20y", "cron"),
        ("cron=*%20*%20*%20*%20*&timezone=Nowhere", "timezone"),
        ("interval_seconds=0", "interval_seconds"),
    ] {
        let refused = server.get(&format!("/schedules/next?{query}")).await;
        assert_eq!(refused.refusal(), (422, "invalid_schedule"), "{query}: {}", refused.text);
        assert_eq!(refused.json["details"]["field"], field, "{query}");
    }
}

#[tokio::test]
async fn r1_3_filters_refuse_ids_of_another_form_and_periods_that_hold_nothing_on_every_route() {
    let server = Server::start().await;
    let things = Things::of(&server).await;
    let (mut ids, mut periods) = (0, 0);
    for (method, path, operation) in operations(&server, |template| existing(&things, template)) {
        let parameters = parameters(&operation);
        // What users and triggers are called is the client's choice.
        let is_id = |name: &str| {
            (name.ends_with("_id") || ["ids", "group", "replay_of"].contains(&name))
                && !["external_user_id", "trigger_id", "trace_id"].contains(&name)
        };
        if method != Method::GET {
            continue;
        }
        for (name, ..) in parameters.iter().filter(|p| is_id(&p.0)) {
            let refused = send(&server, &method, &path, &format!("{name}=x-y"), &Value::Null).await;
            assert_eq!(refused.refusal(), (404, "not_found"), "{path} {name}: {}", refused.text);
            ids += 1;
        }
        let has = |name: &str| parameters.iter().any(|p| p.0 == name);
        if has("from") && has("to") {
            for period in ["from=2&to=1", "from=2&to=2", "from=2026-01-31T12:00:00Z&to=1"] {
                let refused = send(&server, &method, &path, period, &Value::Null).await;
                let at = format!("{path}?{period}: {}", refused.text);
                assert_eq!(refused.refusal(), (422, "invalid_field"), "{at}");
                assert_eq!(refused.json["details"]["field"], "from", "{at}");
            }
            let taken = "from=2026-01-31T12:00:00Z&to=2026-01-31T13:00:00Z";
            let taken = send(&server, &method, &path, taken, &Value::Null).await;
            assert_eq!(taken.status, 200, "{path}: {}", taken.text);
            periods += 1;
        }
    }
    assert!(ids > 15, "{ids}");
    assert!(periods > 4, "{periods}");
}

#[tokio::test]
async fn r1_3_filters_of_runs_refuse_what_can_name_no_run() {
    let server = Server::shared().await;
    for id in ["owner_id", "deployment_id", "group", "replay_of", "ids"] {
        let refused = server.get(&format!("/runs?{id}=x")).await;
        assert_eq!(refused.refusal(), (404, "not_found"), "{id}: {}", refused.text);
    }
    let workflow = server.post("/workflows", &json!({ "steps": [] })).await.data();
    let id = workflow["id"].as_str().unwrap();
    for path in ["/runs", &format!("/workflows/{id}/runs")] {
        for (from, to) in [("2", "2"), ("2", "1"), ("2026-01-31T12:00:00Z", "1")] {
            let refused = server.get(&format!("{path}?from={from}&to={to}")).await;
            assert_eq!(refused.refusal(), (422, "invalid_field"), "{path}: {}", refused.text);
            assert_eq!(refused.json["details"]["field"], "from");
        }
        server.get(&format!("{path}?from=2026-01-31T12:00:00Z")).await.data();
    }
    let refused = server.post("/replays", &json!({ "filter": {}, "version": "x" })).await;
    assert_eq!(refused.refusal(), (422, "invalid_field"));
    assert!(
        refused.text.contains("allowed are live, original") && !refused.text.contains("draft"),
        "{}",
        refused.text
    );
    let stats = server.get(&format!("/workflows/{id}?stats=24h")).await.data();
    assert_eq!(stats["stats"]["buckets"].as_array().map(Vec::len), Some(24));
}
