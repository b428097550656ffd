//! Malformed requests, made by rule from the document (reference 1): whatever stands in a parameter
//! of the path, the query or the body, the answer is never a 5xx, and a refusal has its form.
//! `contract.rs` makes requests that the document allows; these are the others.

use millrace_tests::{Client, Server, openapi, slow};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use reqwest::{Method, Url};
use serde_json::{Map, Value, json};

use crate::r2_endpoints::keys::Things;

/// Requests that are made of each operation, and with `MILLRACE_SLOW_TESTS`.
const CASES: usize = 5;
const ALL_CASES: usize = 14;

/// Ids of every kind, things that look like ids, and what is none.
fn ids(things: &Things) -> impl Strategy<Value = String> + use<> {
    let mut known: Vec<String> = things.all().map(str::to_owned).collect();
    known.extend(
        [
            "p_*", "dc_*", "o_", "dc_", "p_x", "run_1", "sc_😀", "hi_1", "0-0", "me", "..", ".",
            "%00", "*", "'", "\"", "{id}",
        ]
        .map(str::to_owned),
    );
    prop_oneof![4 => prop::sample::select(known), 1 => text(), 1 => "[a-z]{1,5}_[A-Za-z0-9]{0,40}", 1 => Just("x".repeat(5000))]
}

/// Unicode of all planes, without the character that no request line carries.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => prop::collection::vec(any::<char>(), 0..40).prop_map(String::from_iter),
        1 => prop::sample::select(vec!["", " ", "\u{0}", "\u{feff}", "ﬀ", "e\u{301}", "\u{202e}abc", "🏴\u{200d}☠️", "null", "true", "-1", "1e400", "0x10", "NaN", "$errors", "$in", "$logs", "$test", ","]).prop_map(str::to_owned),
        1 => Just("é".repeat(3000)),
    ]
}

/// Numbers at and beyond all bounds, as a query says them.
fn number() -> impl Strategy<Value = String> {
    let edges = [
        "0",
        "1",
        "100",
        "101",
        "-1",
        "2147483648",
        "4294967296",
        "9007199254740993",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775809",
        "1.5",
        "1e3",
        "",
        " 7",
        "７",
    ];
    prop_oneof![2 => prop::sample::select(edges.to_vec()).prop_map(str::to_owned), 1 => any::<i128>().prop_map(|n| n.to_string()), 1 => text()]
}

/// Any JSON, nested and not.
fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|n| json!(n)),
        text().prop_map(Value::from),
        number().prop_map(Value::from)
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((text(), inner), 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect()))
        ]
    })
}

/// A request of an operation: its path and query, and its body.
#[derive(Clone, Debug)]
struct Request {
    /// Values of the path's parameters, in order.
    path: Vec<String>,
    query: Vec<(String, String)>,
    body: Option<Value>,
}

fn requests(
    template: &str,
    names: &[String],
    things: &Things,
) -> impl Strategy<Value = Request> + use<> {
    let slots = template.matches('{').count();
    let own: Vec<Option<String>> = openapi::parameters(template)
        .iter()
        .map(|name| {
            things.of_parameter(template.trim_start_matches("/v1"), name).map(str::to_owned)
        })
        .collect();
    // Half of the time what is named is there, so that the request gets beyond the look-up.
    let path = prop::collection::vec((ids(things), any::<bool>()), slots).prop_map(move |chosen| {
        chosen
            .into_iter()
            .zip(&own)
            .map(|((other, known), own)| own.clone().filter(|_| known).unwrap_or(other))
            .collect::<Vec<String>>()
    });
    let mut all: Vec<String> = names.to_vec();
    all.extend(
        ["limit", "after", "before", "include", "exclude", "org_id", "workspace_id", "unheard_of"]
            .map(str::to_owned),
    );
    let name = prop::sample::select(all.clone());
    let value = prop_oneof![ids(things), text(), number()];
    // Some stand twice.
    let query = prop::collection::vec((name.clone(), value), 0..5);
    let field = prop_oneof![2 => json_value(), 1 => ids(things).prop_map(Value::from)];
    let body = prop_oneof![
        1 => Just(None),
        1 => json_value().prop_map(Some),
        4 => prop::collection::vec((name, field), 0..5).prop_map(|fields| Some(Value::Object(fields.into_iter().collect::<Map<_, _>>())))
    ];
    (path, query, body).prop_map(|(path, query, body)| Request { path, query, body })
}

/// The address, with everything escaped.
fn address(server: &Client, template: &str, request: &Request) -> Option<Url> {
    let mut url = Url::parse(&server.url).ok()?;
    let mut values = request.path.iter();
    {
        let mut segments = url.path_segments_mut().ok()?;
        for part in template.trim_start_matches('/').split('/') {
            segments.push(if part.starts_with('{') { values.next()?.as_str() } else { part });
        }
    }
    // A segment of dots, or none, names another route.
    if request.path.iter().any(|value| value.is_empty() || value == "." || value == "..") {
        return None;
    }
    url.query_pairs_mut().extend_pairs(&request.query);
    Some(url)
}

#[tokio::test]
async fn r1_3_nothing_in_a_parameter_makes_the_server_fail() {
    let server = Server::start_with(&["--requests-per-minute", "0"]).await;
    let things = Things::of(&server).await;
    // The same requests each time.
    let mut runner = TestRunner::deterministic();
    let cases = if slow::all_cases() { ALL_CASES } else { CASES };
    let mut asked = 0;
    let mut operations: Vec<(Method, String, Vec<String>)> = Vec::new();
    for (template, methods) in server.document["paths"].as_object().expect("paths") {
        for (method, operation) in methods.as_object().expect("methods") {
            let named = |list: &Value| {
                list.as_array()
                    .into_iter()
                    .flatten()
                    .filter(|p| p["in"] == "query")
                    .filter_map(|p| p["name"].as_str().map(str::to_owned))
                    .collect::<Vec<_>>()
            };
            let mut names = named(&operation["parameters"]);
            let body =
                &operation["requestBody"]["content"]["application/json"]["schema"]["properties"];
            names.extend(body.as_object().into_iter().flatten().map(|(name, _)| name.clone()));
            operations.push((
                method.to_ascii_uppercase().parse().expect("a method"),
                template.clone(),
                names,
            ));
        }
    }
    // Streams have no end. What deletes comes last, and keys that are changed would be the test's
    // own.
    operations.retain(|(_, template, _)| {
        !template.ends_with("/sse") && !template.starts_with("/v1/api_keys/")
    });
    operations.sort_by_key(|(method, template, _)| (*method == Method::DELETE, template.clone()));
    for (method, template, names) in operations {
        let strategy = requests(&template, &names, &things);
        for _ in 0..cases {
            let request = strategy.new_tree(&mut runner).expect("a request").current();
            let Some(url) = address(&server, &template, &request) else { continue };
            let mut builder = server.raw(method.clone(), url.as_str()).bearer_auth(&server.api_key);
            if let Some(body) = &request.body {
                builder = builder.json(body);
            }
            let response = builder
                .send()
                .await
                .unwrap_or_else(|e| panic!("{method} {template} {request:?}: {e}"));
            let status = response.status().as_u16();
            let text = response
                .text()
                .await
                .unwrap_or_else(|e| panic!("{method} {template} {request:?}: {e}"));
            let told = || {
                format!(
                    "{method} {template} {request:?}\n{status} {}",
                    text.chars().take(600).collect::<String>()
                )
            };
            assert!(status < 500, "{}", told());
            if status >= 400 {
                let refusal: Value =
                    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {}", told()));
                let fields: Vec<&str> = refusal
                    .as_object()
                    .map(|r| r.keys().map(String::as_str).collect())
                    .unwrap_or_default();
                assert!(
                    fields == ["error", "code", "details"] && refusal["details"].is_object(),
                    "{}",
                    told()
                );
                assert!(
                    refusal["error"].as_str().is_some_and(|e| !e.is_empty() && e.len() < 8192),
                    "{}",
                    told()
                );
            }
            asked += 1;
        }
    }
    assert!(asked > 500, "{asked} requests");
    assert!(!server.log().contains("a handler panicked"), "{}", server.log());
    assert_eq!(server.get("/users/me").await.status, 200);
}
