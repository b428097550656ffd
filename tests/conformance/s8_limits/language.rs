//! Which language inline code is read as, and syntax that Node does not have.

use millrace_tests::{Server, id};
use serde_json::{Value, json};

async fn returned(server: &Server, body: &Value) -> Value {
    let id = server.post("/sources", body).await.data()["id"].as_str().expect("an id").to_owned();
    server.post(&format!("/sources/{id}/run"), &json!({})).await.data()["return_value"].clone()
}

const TYPED: &str = "interface Named { name: string }\nconst made: Named = { name: 'typed' };\nexport default { name: 'a', key: 'typed-a', type: 'action', version: '1', run(): string { return made.name as string; } };";

#[tokio::test]
async fn s8_inline_code_is_typescript_where_it_is_no_javascript() {
    let server = Server::start().await;
    let source = TYPED.replace("type: 'action', ", "");
    assert_eq!(returned(&server, &json!({ "component_code": source })).await, json!("typed"));
    assert_eq!(returned(&server, &json!({ "component_code": source, "language": "typescript" })).await, json!("typed"));
    let published = server.post("/components", &json!({ "component_code": TYPED, "publish": true })).await;
    assert_eq!(published.data()["key"], "typed-a");
    let workflow = server.workflow("typed", json!([{ "type": "http" }]), &[("a", TYPED)]).await;
    assert!(!id(&workflow).is_empty());
    for (language, entry, code) in
        [(json!("javascript"), None, "syntax_error"), (json!("coffee"), None, "invalid_params"), (json!("typescript"), Some("a.mjs"), "invalid_params")]
    {
        let refused = server.post("/sources", &json!({ "component_code": source, "language": language, "component_entry": entry })).await;
        assert_eq!(refused.status, 422, "{}", refused.text);
        assert!(code != "syntax_error" || refused.json["code"] == code, "{}", refused.text);
        assert!(code == "syntax_error" || refused.text.contains("language"), "{}", refused.text);
    }
}

#[tokio::test]
async fn s8_syntax_newer_than_node_is_lowered_or_refused_with_its_line() {
    let server = Server::start().await;
    let code = "const seen: string[] = [];
      function named(value: any, context: any) { return function (this: any) { return `${context.kind} ${context.name} ${value.call(this)}`; }; }
      function older(target: any, key: string, descriptor: any) { const run = descriptor.value; return { ...descriptor, value: () => `older ${run()}` }; }
      const marked = (value: any, { kind }: any) => { value.kind = kind; };
      @marked class A { @named m() { return 1; } @older n() { return 2; } }
      export default { name: 'l', version: '1', async run() {
        { using held = { [Symbol.dispose]() { seen.push('disposed'); } }; seen.push('used'); }
        return [...seen, new A().m(), new A().n(), (A as any).kind]; } };";
    assert_eq!(returned(&server, &json!({ "component_code": code })).await, json!(["used", "disposed", "method m 1", "older 2", "class"]));
    let field = "function f() {}\nclass A {\n  @f x = 1;\n}\nexport default { name: 'f', run() {} };";
    let refused = server.post("/sources", &json!({ "component_code": field })).await;
    assert_eq!(refused.refusal(), (422, "syntax_error"), "{}", refused.text);
    assert!(refused.text.contains("component.mjs:3:3"), "{}", refused.text);
}

#[tokio::test]
async fn s8_first_lines_for_shells_and_byte_order_marks_are_read_over() {
    let server = Server::start().await;
    let code = "#!/usr/bin/env node\nimport data from './data.json'; export default { name: 's', version: '1', run() { return data.n; } };";
    let body = json!({ "component_code": code, "component_entry": "a.mjs", "component_files": { "data.json": "\u{feff}{\"n\": 4}" } });
    assert_eq!(returned(&server, &body).await, json!(4));
    assert_eq!(
        returned(&server, &json!({ "component_code": "\u{feff}#!/bin/x\nmodule.exports = { name: 's', version: '1', run() { return 5; } };" })).await,
        json!(5)
    );
}
