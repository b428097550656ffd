//! Requests that give much: what is wrong with them is said in few words, at the first thing that
//! is wrong (reference 1).

use millrace_tests::{Answer, Server, answer, id, slow};
use reqwest::Method;
use serde_json::{Map, Value, json};

use crate::r2_endpoints::keys::{Things, declared};

/// Characters in a row that no error gives back.
const GIVEN_BACK_MAX: usize = 500;

fn gives_back(answer: &Answer) -> bool {
    answer.status >= 400 && answer.text.contains(&"Z".repeat(GIVEN_BACK_MAX))
}

/// Fields of that many names.
fn fields(count: usize) -> Map<String, Value> {
    (0..count).map(|n| (format!("f{n}"), json!(0))).collect()
}

/// Every route: each of its fields and parameters with a long text, alone and within lists and
/// objects, and parts of its path. Each field has two of the five values, in turn; with
/// `MILLRACE_SLOW_TESTS` all.
#[tokio::test]
async fn r1_1_no_error_gives_back_a_long_value() {
    let server = Server::start_with(&["--requests-per-minute", "0"]).await;
    let things = Things::of(&server).await;
    let paths = server.document["paths"].as_object().expect("paths").clone();
    let long = "Z".repeat(30_000);
    let values = [
        json!(long),
        json!([long]),
        json!({ &*long: long }),
        json!([{ "name": long, &*long: 1 }]),
        json!({ "name": long, "type": long }),
    ];
    let of_a_field = if slow::all_cases() { values.len() } else { 2 };
    let mut values = values.iter().cycle();
    let mut asked = 0;
    for (path, methods) in &paths {
        let template = path.trim_start_matches("/v1");
        let path = things.path(
            &template
                .replace("/members/{id}", "/members/u_x")
                .replace("/invitations/{id}", "/invitations/i_x")
                .replace("/sessions/{id}", "/sessions/s_x"),
        );
        for method in methods.as_object().expect("methods").keys() {
            let method = Method::from_bytes(method.to_uppercase().as_bytes()).expect("a method");
            // What would end the things that are asked for.
            let ends = method == Method::DELETE || path.ends_with("/end");
            // A stream that takes the value does not end.
            let streams = path.ends_with("/sse");
            let request = |path: &str| {
                server
                    .raw(method.clone(), &format!("/v1{path}"))
                    .bearer_auth(&server.api_key)
                    .header("x-millrace-csrf", "1")
            };
            for name in declared(&server, &method, template).into_iter().filter(|_| !streams) {
                let sign = if path.contains('?') { '&' } else { '?' };
                let got = answer(request(&format!("{path}{sign}{name}={}", &long[..3_000]))).await;
                assert!(!gives_back(&got), "{method} {path}?{name}: {:.700}", got.text);
                let takes = if method == Method::GET || ends { 0 } else { of_a_field };
                for value in values.by_ref().take(takes) {
                    let got = answer(request(&path).json(&json!({ &*name: value }))).await;
                    assert!(!gives_back(&got), "{method} {path} `{name}`: {:.700}", got.text);
                    asked += usize::from(got.status >= 400);
                }
            }
            if template.contains('{') {
                let unknown = template
                    .split('/')
                    .map(|part| if part.starts_with('{') { &long[..3_000] } else { part })
                    .collect::<Vec<_>>()
                    .join("/");
                let got = answer(request(&unknown)).await;
                assert!(!gives_back(&got), "{method} {template}: {:.700}", got.text);
            }
        }
    }
    assert!(asked > 250, "{asked}");
}

/// Fields of triggers, steps, settings and props, which the document describes as objects.
#[tokio::test]
async fn r1_1_no_error_gives_back_a_long_value_of_a_workflow_or_component() {
    let server = Server::start().await;
    let long = "Z".repeat(30_000);
    let code = "export default defineComponent({ run() {} });";
    let mut bodies = Vec::new();
    for name in [
        "name",
        "timezone",
        "concurrency",
        "throttle",
        "timeout_ms",
        "memory_mb",
        "queue_max",
        "auto_retry",
        "calls_per_isolate",
        "tags",
        "keep_days",
    ] {
        bodies.push(json!({ "settings": { name: long } }));
        bodies.push(json!({ "settings": { name: { "max": long, &*long: 1 } } }));
    }
    for (kind, name) in [
        ("http", "auth"),
        ("http", "custom_response"),
        ("http", "id"),
        ("http", "domain"),
        ("timer", "cron"),
        ("timer", "timezone"),
        ("timer", "interval_seconds"),
        ("timer", "id"),
        ("source", "id"),
        ("source", "event_name"),
        ("email", "address"),
    ] {
        bodies.push(json!({ "triggers": [{ "type": kind, name: long }], "steps": [] }));
        bodies.push(json!({ "triggers": [{ "type": kind, "cron": "* * * * *", name: { "type": long, &*long: 1 } }], "steps": [] }));
    }
    bodies.push(json!({ "triggers": [{ "type": "timer", "cron": "* * * * *", "timezone": long }], "steps": [] }));
    bodies.push(json!({ "triggers": [{ "type": long }], "steps": [] }));
    for name in [
        "namespace",
        "code",
        "id",
        "component_id",
        "key",
        "language",
        "files",
        "type",
        "props",
        "disabled",
        "app",
    ] {
        for value in [json!(long), json!({ &*long: long })] {
            let mut step = json!({ "namespace": "a", "code": code });
            step[name] = value;
            bodies.push(json!({ "triggers": [], "steps": [step] }));
        }
    }
    for mut body in bodies {
        body["settings"]["name"] = if body["settings"]["name"].is_null() {
            json!("w")
        } else {
            body["settings"]["name"].clone()
        };
        let got = server.post("/workflows", &body).await;
        assert!(!gives_back(&got), "{:.200}: {:.700}", body.to_string(), got.text);
    }
    let typed = |kind: &str| {
        format!(
            "export default {{ name: 'p', version: '1', props: {{ p: {{ type: '{kind}' }} }}, run() {{}} }};"
        )
    };
    let kinds = [
        "string",
        "integer",
        "boolean",
        "object",
        "string[]",
        "$.interface.timer",
        "$.interface.http",
        "$.service.db",
        "data_store",
        "dir",
        "app",
        "sql",
        "http_request",
        "any",
        "alert",
        "$.discord.channel",
    ];
    for kind in kinds {
        // Bundled once for all of its values.
        let code = json!({ "component_code": typed(kind) });
        let kept = server.post("/components", &code).await;
        assert!(!gives_back(&kept), "{kind}: {:.700}", kept.text);
        let component = match kept.status {
            200 => json!({ "component_id": kept.json["data"]["id"] }),
            _ => code,
        };
        for value in [
            json!(long),
            json!({ &*long: long }),
            json!([long]),
            json!({ "cron": long }),
            json!({ "cron": "* * * * *", "timezone": long }),
        ] {
            let mut body = component.clone();
            body["configured_props"] = json!({ "p": value });
            let got = server.post("/sources", &body).await;
            assert!(!gives_back(&got), "{kind}: {:.700}", got.text);
        }
    }
    let bare =
        |field: &str| format!("export default {{ name: 'p', version: '1', {field}, run() {{}} }};");
    for code in [
        bare(&format!("type: '{long}'")),
        bare(&format!("dedupe: '{long}'")),
        bare(&format!("key: '{long}'")),
        bare(&format!("props: {{ p: {{ type: '{long}' }} }}")),
        bare(&format!("props: {{ '{long}': {{ type: 'string' }} }}")),
        bare(&format!("props: '{long}'")),
        bare(&format!("hooks: {{ async deploy() {{ throw new Error('{long}'); }} }}")),
        format!("import x from '{long}'; export default {{}};"),
        format!("import x from './{long}.mjs'; export default {{}};"),
        format!("import x from 'ms@{long}'; export default {{}};"),
        format!("throw new Error('{long}');"),
        format!("const {long} = ; export default {{}};"),
        format!("export default '{long}'"),
    ] {
        let got = server.post("/sources", &json!({ "component_code": code })).await;
        // A message of the code's own is its author's: it is shown, as far as there is room.
        let is_own = code.contains("throw new Error");
        assert!(!gives_back(&got) || is_own, "{:.100}: {:.700}", code, got.text);
        assert!(got.text.len() < 60_000, "{:.100}: {}", code, got.text.len());
    }
}

/// The first field that a route does not take is named, whatever fields follow; a body that is not
/// JSON is refused as such, and one of very many fields is not read at all.
#[tokio::test]
async fn r1_1_unknown_fields_are_refused_at_the_first_of_them() {
    let server = Server::start_with(&["--requests-per-minute", "0"]).await;
    let things = Things::of(&server).await;
    let paths = server.document["paths"].as_object().expect("paths").clone();
    let (many, most) =
        (Value::Object(fields(10_000)).to_string(), Value::Object(fields(100_001)).to_string());
    let mut asked = 0;
    for (path, methods) in &paths {
        let template = path.trim_start_matches("/v1");
        let path = things.path(
            &template
                .replace("/members/{id}", "/members/u_x")
                .replace("/invitations/{id}", "/invitations/i_x")
                .replace("/sessions/{id}", "/sessions/s_x"),
        );
        for (method, operation) in methods.as_object().expect("methods") {
            if operation["requestBody"]["content"].get("application/json").is_none()
                || ["/oauth/token", "/oauth/revoke"].contains(&template)
            {
                continue;
            }
            let method = Method::from_bytes(method.to_uppercase().as_bytes()).expect("a method");
            let send = |body: String| {
                let request = server
                    .raw(method.clone(), &format!("/v1{path}"))
                    .bearer_auth(&server.api_key)
                    .header("x-millrace-csrf", "1");
                answer(request.header("content-type", "application/json").body(body))
            };
            // What needs no key takes 64 KiB.
            let is_keyless = operation["security"] == json!([]);
            let broken = send("{\"f0\":0,\"f1\":}".to_owned()).await;
            assert_eq!(
                broken.refusal(),
                (400, "malformed_json"),
                "{method} {path}: {:.400}",
                broken.text
            );
            let few = "{\"f0\":0,\"f1\":1}".to_owned();
            for body in [many.clone(), few].into_iter().skip(usize::from(is_keyless)) {
                let refused = send(body).await;
                assert_eq!(
                    refused.refusal(),
                    (422, "unknown_field"),
                    "{method} {path}: {:.400}",
                    refused.text
                );
                assert!(
                    refused.text.contains("`f0` is not a field of") && refused.text.len() < 6_000,
                    "{method} {path}: {:.400}",
                    refused.text
                );
                asked += 1;
            }
            let refused = send(most.clone()).await;
            assert_eq!(
                refused.refusal(),
                (413, "too_large"),
                "{method} {path}: {:.400}",
                refused.text
            );
        }
    }
    assert!(asked > 100, "{asked}");
    let deep = json!({ "value": [fields(100_001)] }).to_string();
    let path = things.path("/data_stores/{id}/record");
    let refused = answer(
        server.raw(Method::PUT, &format!("/v1{path}")).bearer_auth(&server.api_key).body(deep),
    )
    .await;
    assert!(
        refused.refusal() == (413, "too_large")
            && refused
                .text
                .contains("100002 named fields in all of its objects, allowed are 100000"),
        "{:.400}",
        refused.text
    );
}

#[tokio::test]
async fn r1_1_unknown_props_are_refused_in_few_words() {
    let server = Server::start().await;
    let code = "export default { name: 'p', version: '1', props: { word: { type: 'string', optional: true } }, run() {} };";
    let refused = server
        .post("/sources", &json!({ "component_code": code, "configured_props": fields(5_000) }))
        .await;
    assert_eq!(refused.refusal(), (422, "invalid_props"));
    assert!(
        refused.text.contains("and 4950 more") && refused.text.len() < 20_000,
        "{}",
        refused.text.len()
    );
    let step = "export default defineComponent({ props: { word: { type: 'string', optional: true } }, run() {} });";
    let steps = json!({ "settings": { "name": "w" }, "triggers": [], "steps": [{ "namespace": "a", "code": step, "props": fields(5_001) }] });
    let source = server.source(code, json!({})).await;
    for (method, path, body) in [
        (
            Method::POST,
            "/v1/sources".to_owned(),
            json!({ "component_code": code, "configured_props": fields(5_001) }),
        ),
        (
            Method::PUT,
            format!("/v1/sources/{}", id(&source)),
            json!({ "configured_props": fields(5_001) }),
        ),
        (Method::POST, "/v1/workflows".to_owned(), steps),
    ] {
        let refused =
            answer(server.raw(method, &path).bearer_auth(&server.api_key).json(&body)).await;
        assert_eq!(refused.refusal(), (422, "invalid_props"), "{path}: {:.400}", refused.text);
        assert!(
            refused.text.contains(" props are given, allowed are 5000")
                && refused.text.len() < 2_000,
            "{path}: {:.400}",
            refused.text
        );
    }
}
