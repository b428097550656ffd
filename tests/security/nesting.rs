//! Code that is nested deep: the work of a bundler grows with the square of its depth, so it has a
//! bound, which names the line.

use millrace_tests::{Server, answer, endpoint, id};
use reqwest::Method;
use serde_json::{Value, json};

use crate::bundling::Registry;
use crate::support::Field;

/// Ways to nest code in a statement: what stands before, and what opens and closes a level.
const NESTINGS: [(&str, &str, &str); 21] = [
    ("x = ", "[", "]"),
    ("x = ", "(", ")"),
    ("", "{", "}"),
    ("x = ", "{a:", "}"),
    ("x = ", "!", ""),
    ("x = ", "-(", ")"),
    ("x = ", "1+", ""),
    ("x = ", "a=>", ""),
    ("x = ", "async()=>{return ", "}"),
    ("x = ", "a?", ":b"),
    ("x = ", "a?b:", ""),
    ("x = ", "`${", "}`"),
    ("x = ", "f(", ")"),
    ("x = ", "function(){return ", "}"),
    ("x = ", "class{x=", "}"),
    ("", "if(a)", ""),
    ("", "if(a){}else ", ""),
    ("", "try{", "}finally{}"),
    ("x = ", "<a>", "</a>"),
    ("let x: ", "a<", ">; x=1"),
    ("let x: ", "[", "]"),
];

/// More levels than are allowed, and few enough for a build without optimization to read.
const DEEP: usize = 3_000;

fn nested((before, open, close): (&str, &str, &str), levels: usize) -> String {
    // Types and elements hold something else than a number.
    let inner = if before.starts_with("let x:") || open == "<a>" { "a" } else { "1" };
    let close = close.split("; ").next().unwrap_or("");
    format!("{before}{}{inner}{}", open.repeat(levels), close.repeat(levels))
}

fn component(statement: &str) -> String {
    format!("// a component\nlet x;\n{statement};\nexport default {{ name: 'deep', version: '1', run() {{ return 1; }} }};").replace("let x;\nlet x", "\nlet x")
}

fn is_refused(refused: &millrace_tests::Answer, what: &str) {
    assert_eq!(refused.refusal(), (422, "bundle_failed"), "{what}: {:.600}", refused.text);
    assert!(
        refused.text.contains("nested more than 2000 levels deep") && refused.text.contains(":3:"),
        "{what}: {:.600}",
        refused.text
    );
    assert!(refused.text.len() < 1_000, "{what}: {}", refused.text.len());
}

#[tokio::test]
async fn code_is_refused_that_is_nested_too_deep_whatever_nests_it() {
    let server = Server::start().await;
    for nesting in NESTINGS {
        let refused = server
            .post("/components", &json!({ "component_code": component(&nested(nesting, DEEP)) }))
            .await;
        is_refused(&refused, nesting.1);
    }
    let deep = component(&nested(NESTINGS[0], DEEP));
    is_refused(&server.post("/sources", &json!({ "component_code": deep })).await, "a source");
    let step = deep.replace(
        "{ name: 'deep', version: '1', run() { return 1; } }",
        "defineComponent({ run() {} })",
    );
    let body = json!({ "settings": { "name": "w" }, "triggers": [], "steps": [{ "namespace": "a", "code": step }] });
    is_refused(&server.post("/workflows", &body).await, "a step");
    let helper =
        json!({ "b.js": format!("// b\n\nexport default {}", nested(("", "[", "]"), DEEP)) });
    let code =
        "import b from './b.js'; export default { name: 'a', version: '1', run() { return b; } };";
    is_refused(
        &server
            .post("/components", &json!({ "component_code": code, "component_files": helper }))
            .await,
        "a file beside it",
    );
    // What people write is far below it.
    for nesting in NESTINGS.into_iter().filter(|(_, open, _)| !open.contains("<a>")) {
        let taken = server
            .post("/components", &json!({ "component_code": component(&nested(nesting, 100)) }))
            .await;
        let loads_or_throws =
            taken.status == 200 || taken.refusal() == (422, "component_does_not_load");
        assert!(loads_or_throws, "{}: {:.600}", nesting.1, taken.text);
    }
    let long = format!(
        "export default {{ name: 'long', version: '1', run() {{ return [{}]; }} }};",
        "[1],".repeat(50_000)
    );
    assert_eq!(
        server.post("/components", &json!({ "component_code": long })).await.status,
        200,
        "much beside each other is not nested"
    );
}

#[tokio::test]
async fn packages_and_registries_are_bound_by_it_as_well() {
    let deep = nested(("// 1\n// 2\nmodule.exports = ", "[", "]"), DEEP);
    let marked = format!("\u{feff}{deep}");
    let registry = Registry::of(&[
        ("deep", &[(tar::EntryType::Regular, "package/index.js", deep.as_bytes())]),
        ("marked", &[(tar::EntryType::Regular, "package/index.js", marked.as_bytes())]),
    ]);
    let field = Field::start_with(&["--npm-registry", &registry.url]).await;
    for package in ["deep", "marked"] {
        let refused = crate::bundling::deploy(&field.server, package).await;
        is_refused(&refused, package);
        assert!(refused.text.contains(&format!("{package}@1.0.0")), "{}", refused.text);
    }
    field.healthy().await;
}

#[tokio::test]
async fn expressions_that_are_nested_too_deep_or_never_end_fail_their_step() {
    let server = Server::start().await;
    let code = "export default defineComponent({ props: { value: { type: 'any', optional: true } }, run() { return this.value; } });";
    let deep = format!("{{{{ {}1{} }}}}", "[".repeat(15_000), "]".repeat(15_000));
    let objects = format!("{{{{ {}1{} }}}}", "{a:".repeat(15_000), "}".repeat(15_000));
    let endless = format!("{{{{ ({}", "}} ".repeat(15_000));
    for (value, words) in
        [(deep, "nested too deep"), (objects, "nested too deep"), (endless, "is not JavaScript")]
    {
        let steps = json!([{ "namespace": "step", "code": code, "props": { "value": value } }]);
        let workflow = server.post("/workflows", &json!({ "settings": { "name": "w" }, "triggers": [{ "type": "http" }], "steps": steps })).await.data();
        server.post(&format!("/workflows/{}/deploy", id(&workflow)), &json!({})).await.data();
        answer(server.raw(Method::POST, &endpoint(&workflow)).json(&json!({}))).await;
        let runs = server
            .until("its run", &format!("/workflows/{}/runs?status=failed", id(&workflow)), |l| {
                l["page_info"]["total_count"] == 1
            })
            .await;
        let message = runs["data"][0]["error"]["message"].as_str().unwrap_or_default().to_owned();
        assert!(
            message.contains(words) && message.contains("the prop `value` of the step `step`"),
            "{message:.600}"
        );
        assert!(message.len() < 1_000, "{message:.600}");
    }
}

#[tokio::test]
async fn data_that_is_nested_too_deep_is_refused() {
    let server = Server::start().await;
    let deep = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
    for body in [
        format!("{{\"component_code\":{}}}", deep(100_000)),
        format!("{{\"name\":{}", "{\"a\":".repeat(50_000)),
    ] {
        let refused =
            answer(server.raw(Method::POST, "/v1/sources").bearer_auth(&server.api_key).body(body))
                .await;
        assert_eq!(
            (refused.status, refused.text.len() < 1_000),
            (400, true),
            "{:.600}",
            refused.text
        );
    }
    let store: Value = server.post("/data_stores", &json!({ "name": "deep" })).await.data();
    let body = format!("{{\"key\":\"k\",\"value\":{}}}", deep(2_000));
    let path = format!("/v1/data_stores/{}/record", id(&store));
    let refused =
        answer(server.raw(Method::PUT, &path).bearer_auth(&server.api_key).body(body)).await;
    assert!(
        (400..500).contains(&refused.status) && refused.text.len() < 1_000,
        "{:.600}",
        refused.text
    );
    let files = json!({ "b.json": deep(100_000) });
    let code = "import b from './b.json'; export default { name: 'a', version: '1', run() { return b; } };";
    let refused = server
        .post("/components", &json!({ "component_code": code, "component_files": files }))
        .await;
    assert!(refused.status == 422 && refused.text.len() < 2_000, "{:.600}", refused.text);
}
