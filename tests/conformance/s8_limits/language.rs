//! Language of inline code, and syntax that Node does not have.

use millrace_tests::{Client, Server, answer, endpoint, id};
use reqwest::Method;
use serde_json::{Value, json};

async fn returned(server: &Client, body: &Value) -> Value {
    let id = server.post("/sources", body).await.data()["id"].as_str().expect("an id").to_owned();
    server.post(&format!("/sources/{id}/run"), &json!({})).await.data()["return_value"].clone()
}

const TYPED: &str = "interface Named { name: string }\nconst made: Named = { name: 'typed' };\nexport default { name: 'a', key: 'typed-a', type: 'action', version: '1', run(): string { return made.name as string; } };";

#[tokio::test]
async fn s8_inline_code_is_typescript_where_it_is_no_javascript() {
    let server = Server::shared().await;
    let source = TYPED.replace("type: 'action', ", "");
    assert_eq!(returned(&server, &json!({ "component_code": source })).await, json!("typed"));
    assert_eq!(
        returned(&server, &json!({ "component_code": source, "language": "typescript" })).await,
        json!("typed")
    );
    let published =
        server.post("/components", &json!({ "component_code": TYPED, "publish": true })).await;
    assert_eq!(published.data()["key"], "typed-a");
    let workflow = server.workflow("typed", json!([{ "type": "http" }]), &[("a", TYPED)]).await;
    assert!(!id(&workflow).is_empty());
    for (language, entry, code) in [
        (json!("javascript"), None, "syntax_error"),
        (json!("coffee"), None, "invalid_params"),
        (json!("typescript"), Some("a.mjs"), "invalid_params"),
    ] {
        let refused = server.post("/sources", &json!({ "component_code": source, "language": language, "component_entry": entry })).await;
        assert_eq!(refused.status, 422, "{}", refused.text);
        assert!(code != "syntax_error" || refused.json["code"] == code, "{}", refused.text);
        assert!(code == "syntax_error" || refused.text.contains("language"), "{}", refused.text);
    }
}

#[tokio::test]
async fn s8_what_says_more_of_code_is_refused_where_there_is_none() {
    let server = Server::shared().await;
    let code = "export default { name: 's', version: '1', run() {} };";
    let source = server.post("/sources", &json!({ "component_code": code })).await.data();
    for (field, value) in [
        ("component_files", json!({ "a.mjs": "" })),
        ("component_entry", json!("a.mjs")),
        ("language", json!("typescript")),
    ] {
        let refused =
            server.put(&format!("/sources/{}", id(&source)), &json!({ field: value })).await;
        assert_eq!(refused.refusal(), (422, "invalid_field"), "{}", refused.text);
        assert_eq!(refused.json["details"]["field"], field);
        let refused = server.post("/sources", &json!({ "key": "none", field: value })).await;
        assert_eq!(refused.refusal(), (422, "invalid_field"), "{}", refused.text);
    }
}

/// A parser of JavaScript reads these types as comparisons, and accepts these modifiers.
#[tokio::test]
async fn s8_code_whose_only_types_read_as_javascript_is_typescript() {
    let server = Server::shared().await;
    let code = "class Cache { private items = new Set<string>(['a']); public size() { return this.items.size; } }\nexport default { name: 'c', version: '1', run() { return [1, 2].reduce<number>((a, b) => a + b, new Cache().size()); } };";
    for entry in [None, Some("a.mjs"), Some("a.ts")] {
        let body = json!({ "component_code": code, "component_entry": entry });
        assert_eq!(returned(&server, &body).await, json!(4), "{entry:?}");
    }
    let published = code.replace("version:", "key: 'cache-a', type: 'action', version:");
    let body = json!({ "component_code": published, "publish": true });
    assert_eq!(server.post("/components", &body).await.data()["key"], "cache-a");
    server.workflow("cache", json!([{ "type": "http" }]), &[("a", code)]).await;
    let strict = json!({ "component_code": code, "language": "javascript" });
    let refused = server.post("/sources", &strict).await;
    assert_eq!(refused.refusal(), (422, "syntax_error"), "{}", refused.text);
    assert!(refused.text.contains("component.mjs:1:15"), "{}", refused.text);
}

/// Calls that the bundler takes for pure may throw.
#[tokio::test]
async fn s8_calls_whose_only_effect_is_to_throw_stay() {
    let server = Server::shared().await;
    let code = "export default { name: 'p', version: '1', run() { const ok = (s) => { try { decodeURIComponent(s); return true; } catch { return false; } }; return [ok('%E9'), ok('a')]; } };";
    let body = json!({ "component_code": code });
    assert_eq!(returned(&server, &body).await, json!([false, true]));
}

/// What the ending calls JavaScript is read as TypeScript where it is no JavaScript: the entry,
/// what it imports, and also where it is CommonJS or has decorators.
#[tokio::test]
async fn s8_files_with_an_ending_of_javascript_are_typescript_where_they_are_no_javascript() {
    let server = Server::shared().await;
    let entry = "import { twice } from './lib/twice.js';\nimport type { N } from './lib/twice.js';\nfunction kept(value: any) { return value; }\nclass A { @kept m(): N { return twice(4); } }\nexport default { name: 'm', version: '1', run(): N { return new A().m(); } };";
    let common = "interface N { n: number }\nexports.twice = (n: number): number => n * 2;";
    for (path, lib) in [
        ("a.mjs", "export type N = number;\nexport const twice = (n: number): N => n * 2;"),
        ("a.js", common),
    ] {
        let body = json!({ "component_code": entry, "component_entry": path, "component_files": { "lib/twice.js": lib } });
        assert_eq!(returned(&server, &body).await, json!(8), "{path}");
    }
    // JSX, and what is neither, stay what they are called.
    let neither = json!({ "component_code": "export default { name: 'n' version: '1' };", "component_entry": "a.mjs" });
    let refused = server.post("/sources", &neither).await;
    assert_eq!(refused.refusal(), (422, "syntax_error"), "{}", refused.text);
    let strict = json!({ "component_code": entry, "component_entry": "a.mjs", "language": "javascript", "component_files": { "lib/twice.js": common } });
    let refused = server.post("/sources", &strict).await;
    assert_eq!(refused.refusal(), (422, "syntax_error"), "{}", refused.text);
    // Whether code answers itself is seen in it as well.
    let answers = "export default { name: 'r', version: '1', async run({ $ }: { $: any }) { await $.respond({ status: 202, body: 'own' as string }); } };";
    let workflow = json!({ "triggers": [{ "type": "http" }], "steps": [{ "namespace": "a", "code": answers, "code_entry": "steps/a.js" }], "settings": { "name": "r" } });
    let made = server.post("/workflows", &workflow).await.data();
    let answered = answer(server.raw(Method::POST, &endpoint(&made)).body("{}")).await;
    assert_eq!((answered.status, answered.text.as_str()), (202, "own"));
}

#[tokio::test]
async fn s8_syntax_newer_than_node_is_lowered_or_refused_with_its_line() {
    let server = Server::shared().await;
    let code = "const seen: string[] = [];
      function named(value: any, context: any) { return function (this: any) { return `${context.kind} ${context.name} ${value.call(this)}`; }; }
      function older(target: any, key: string, descriptor: any) { const run = descriptor.value; return { ...descriptor, value: () => `older ${run()}` }; }
      const marked = (value: any, { kind }: any) => { value.kind = kind; };
      @marked class A { @named m() { return 1; } @older n() { return 2; } }
      export default { name: 'l', version: '1', async run() {
        { using held = { [Symbol.dispose]() { seen.push('disposed'); } }; seen.push('used'); }
        return [...seen, new A().m(), new A().n(), (A as any).kind]; } };";
    assert_eq!(
        returned(&server, &json!({ "component_code": code })).await,
        json!(["used", "disposed", "method m 1", "older 2", "class"])
    );
    let field =
        "function f() {}\nclass A {\n  @f x = 1;\n}\nexport default { name: 'f', run() {} };";
    let refused = server.post("/sources", &json!({ "component_code": field })).await;
    assert_eq!(refused.refusal(), (422, "syntax_error"), "{}", refused.text);
    assert!(refused.text.contains("component.mjs:3:3"), "{}", refused.text);
}

#[tokio::test]
async fn s8_first_lines_for_shells_and_byte_order_marks_are_read_over() {
    let server = Server::shared().await;
    let code = "#!/usr/bin/env node\nimport data from './data.json'; export default { name: 's', version: '1', run() { return data.n; } };";
    let body = json!({ "component_code": code, "component_entry": "a.mjs", "component_files": { "data.json": "\u{feff}{\"n\": 4}" } });
    assert_eq!(returned(&server, &body).await, json!(4));
    assert_eq!(
        returned(&server, &json!({ "component_code": "\u{feff}#!/bin/x\nmodule.exports = { name: 's', version: '1', run() { return 5; } };" })).await,
        json!(5)
    );
}

#[tokio::test]
async fn s8_inline_code_has_jsx_where_it_is_nothing_without() {
    let server = Server::shared().await;
    let own = "/** @jsxRuntime classic */\n/** @jsx h */\nconst h = (name, given, ...inner) => ({ name, inner });\n";
    let code = format!(
        "{own}export default {{ name: 'j', version: '1', run() {{ return <p>{{1 + 1}}</p>; }} }};"
    );
    let typed = format!(
        "{}export default {{ name: 'j', version: '1', run(): unknown {{ const n: number = 2; return <p>{{n as number}}</p>; }} }};",
        own.replace("name, given", "name: string, given: unknown")
    );
    let expected = json!({ "name": "p", "inner": [2] });
    for body in [
        json!({ "component_code": code }),
        json!({ "component_code": code, "language": "javascript" }),
        json!({ "component_code": code, "component_entry": "a.js" }),
        json!({ "component_code": code, "component_entry": "a.jsx" }),
        json!({ "component_code": typed }),
        json!({ "component_code": typed, "language": "typescript" }),
        json!({ "component_code": typed, "component_entry": "a.tsx" }),
    ] {
        let made = server.post("/sources", &body).await;
        assert_eq!(made.status, 200, "{body}: {}", made.text);
        let run = server
            .post(&format!("/sources/{}/run", id(&made.json["data"])), &json!({}))
            .await
            .data();
        assert_eq!(run["return_value"], expected, "{body}");
    }
    // A step too, and what is wrong says its line in it.
    let step = format!("{own}export default defineComponent({{ run() {{ return <b>x</b>; }} }});");
    server.workflow("jsx", json!([{ "type": "http" }]), &[("a", &step)]).await;
    let broken = format!("{own}export default {{\n  run() {{ return <p>x</q>; }}\n}};");
    let refused = server.post("/sources", &json!({ "component_code": broken })).await;
    assert_eq!(
        (refused.refusal(), refused.text.contains("component.mjs:5:")),
        ((422, "syntax_error"), true),
        "{}",
        refused.text
    );
}

/// Syntax that the Node in use refuses is refused when it is deployed, where it stands.
#[tokio::test]
async fn s8_what_cannot_be_lowered_says_where_it_stands() {
    let server = Server::shared().await;
    let wrap = |line: &str| {
        format!("// one\n// two\n{line}\nexport default {{ name: 'w', version: '1', run() {{}} }};")
    };
    for (line, column) in [
        ("const d = /(?<y>\\d{4})-|(?<y>\\d\\d)/u;", 11),
        ("const d = /a(?i:b)/;", 11),
        ("class A { accessor x = 1; }", 11),
        ("class A { @f x = 1; }", 11),
        ("class A { @f #m() {} }", 11),
        ("class A { constructor(@f x) {} }", 23),
        ("class A { @f accessor x = 1; }", 11),
        ("const A = class { @f static x = 1; };", 19),
        ("let x = ;", 9),
        ("const { a, } = 1; const a = 2;", 0),
        ("await = 1;", 0),
    ] {
        for typed in [false, true] {
            let line = if typed { format!("{line} let t: string;") } else { line.to_owned() };
            let refused = server.post("/sources", &json!({ "component_code": wrap(&line) })).await;
            assert_eq!(refused.refusal(), (422, "syntax_error"), "{line}: {}", refused.text);
            let place = if column == 0 { ":3:".to_owned() } else { format!(":3:{column}") };
            assert!(refused.text.contains(&place), "{line} {place}: {}", refused.text);
        }
    }
}
