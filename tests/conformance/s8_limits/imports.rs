//! Chapter 8: import rules. Packages come from the npm registry.

use millrace_tests::{Client, Server};
use serde_json::json;

async fn run(server: &Client, body: serde_json::Value) -> serde_json::Value {
    let id = server.post("/sources", &body).await.data()["id"].as_str().expect("an id").to_owned();
    server.post(&format!("/sources/{id}/run"), &json!({})).await.data()["return_value"].clone()
}

#[tokio::test]
async fn s8_two_versions_pinned_in_the_specifier_stand_side_by_side() {
    let server = Server::shared().await;
    let code = "import six from 'is-number@6.0.0'; import seven from 'is-number@^7'; import { readFileSync } from 'fs'; import path from 'node:path';
      export default { name: 'i', version: '1', run() { return [six === seven, six(5), seven('5'), typeof readFileSync, path.basename('/a/b')]; } };";
    assert_eq!(
        run(&server, json!({ "component_code": code })).await,
        json!([false, true, true, "function", "b"])
    );
}

#[tokio::test]
async fn s8_relative_files_json_typescript_and_commonjs() {
    let server = Server::shared().await;
    let files = json!({
        "app.mjs": "export const text: string = 'no';".replace(": string", ""),
        "lib/data.json": "{\"n\": 4}",
        "lib/typed.ts": "export function twice(n: number): number { return n * 2; }",
        "lib/old.cjs": "const util = require('util'); module.exports = { old: util.format('%s!', 'old') };",
    });
    let code = "import data from './lib/data.json'; import { twice } from './lib/typed'; import old from './lib/old.cjs'; import { text } from './app.mjs';
      export default { name: 'f', version: '1', run() { return [twice(data.n), old.old, text]; } };";
    let body =
        json!({ "component_code": code, "component_files": files, "component_entry": "entry.mjs" });
    assert_eq!(run(&server, body).await, json!([8, "old!", "no"]));
    let commonjs = "module.exports = { name: 'c', version: '1', run() { return require('path').basename('/x/y'); } };";
    assert_eq!(
        run(&server, json!({ "component_code": commonjs, "component_entry": "c.js" })).await,
        json!("y")
    );
}

#[tokio::test]
async fn s8_the_platform_package_is_ours() {
    let server = Server::shared().await;
    let code = "import { axios, ConfigurationError, DEFAULT_POLLING_SOURCE_TIMER_INTERVAL } from '@pipedream/platform';
      export default { name: 'p', version: '1', async run() {
        try { await axios(this, { url: 'http://127.0.0.1:1/', body: 1 }); } catch (e) { return [e.name, e instanceof ConfigurationError, DEFAULT_POLLING_SOURCE_TIMER_INTERVAL]; } } };";
    assert_eq!(
        run(&server, json!({ "component_code": code })).await,
        json!(["ConfigurationError", true, 900])
    );
}

#[tokio::test]
async fn s8_what_cannot_be_bundled_is_refused_with_its_cause_and_nothing_is_stored() {
    let server = Server::shared().await;
    for (code, error_code, words) in [
        (
            "import x from 'millrace-no-such-package-exists'; export default { name: 'a', run() {} };",
            "package_not_found",
            "does not exist",
        ),
        (
            "import x from 'is-number@^99'; export default { name: 'a', run() {} };",
            "no_matching_version",
            "is-number",
        ),
        ("export default {\n  name: 'a',\n  run( {\n};", "syntax_error", "component.mjs:"),
        (
            "import x from './missing.mjs'; export default { name: 'a', run() {} };",
            "import_not_found",
            "./missing.mjs",
        ),
        (
            "import x from '../../../etc/passwd'; export default { name: 'a', run() {} };",
            "import_outside",
            "outside",
        ),
        (
            "import x from 'https://example.test/x.mjs'; export default { name: 'a', run() {} };",
            "import_unsupported",
            "addresses",
        ),
    ] {
        let refused = server.post("/sources", &json!({ "component_code": code })).await;
        assert_eq!(refused.refusal(), (422, error_code), "{}", refused.text);
        assert!(
            refused.json["error"].as_str().is_some_and(|e| e.contains(words)),
            "{}",
            refused.text
        );
    }
    assert_eq!(server.get("/users/me/sources").await.json["page_info"]["total_count"], 0);
}

#[tokio::test]
async fn s8_code_that_code_writes_to_tmp_is_loaded_from_there() {
    let server = Server::start().await;
    let load = "import fs from 'fs'; import { createRequire } from 'module'; import { Worker } from 'worker_threads';
      const load = createRequire(import.meta.url); const from = '/tmp/m/';
      const worked = (file, options) => new Promise((done, fail) => new Worker(file, options).on('message', done).on('error', fail));
      export default { name: 't', version: '1', async run(event) {
        fs.mkdirSync('/tmp/m', { recursive: true });
        for (const [name, text] of Object.entries({ 'a.cjs': 'module.exports = require(\"./b.cjs\") + 1;', 'b.cjs': 'module.exports = 1;', 'c.json': '[3]', 'bad.cjs': 'let a = ;', 'bad.json': '{a',
          'e.mjs': 'import b from \"./b.cjs\"; export default b + 3;', 'w.mjs': 'import { parentPort } from \"worker_threads\"; parentPort.postMessage(5);' })) fs.writeFileSync(from + name, text);
        try { return await (GIVES); } catch (e) { return [e.message, e.stack, JSON.stringify(e)]; } } };";
    for (gives, expected) in [
        ("load('/tmp/m/a.cjs')", json!(2)),
        ("load(from + 'c')", json!([3])),
        ("require('/tmp/m/c.json')", json!([3])),
        ("createRequire('/tmp/m/none.js')('./b.cjs')", json!(1)),
        ("createRequire('file:///tmp/m/')('./b.cjs')", json!(1)),
        ("createRequire(new URL('file:///tmp/m/x.mjs'))('./b.cjs')", json!(1)),
        ("load.resolve('/tmp/m/a.cjs').endsWith('/m/a.cjs')", json!(true)),
        ("import('/tmp/m/e.mjs').then((m) => m.default)", json!(4)),
        ("import('file:///tmp/m/e.mjs?again#x').then((m) => m.default)", json!(4)),
        ("import(from + 'e.mjs').then((m) => m.default)", json!(4)),
        ("import('data:text/javascript,export default 6').then((m) => m.default)", json!(6)),
        (
            "import('data:application/json,[7]', { with: { type: 'json' } }).then((m) => m.default)",
            json!([7]),
        ),
        ("worked('/tmp/m/w.mjs')", json!(5)),
        ("worked(new URL('file:///tmp/m/w.mjs'))", json!(5)),
        (
            "worked('require(\"worker_threads\").parentPort.postMessage(require(\"/tmp/m/a.cjs\"))', { eval: true })",
            json!(2),
        ),
    ] {
        let code = load.replace("GIVES", gives);
        let body = json!({ "component_code": code, "component_entry": "main.mjs" });
        assert_eq!(run(&server, body).await, expected, "{gives}");
    }
    // What is wrong names the file as code knows it, in whatever code reads of the error.
    let data = server.data_dir();
    let data = data.to_str().expect("UTF-8");
    for (gives, words) in [
        ("load('/tmp/m/none.cjs')", "Cannot find module '/tmp/m/none.cjs'"),
        ("import('/tmp/m/none.mjs')", "/tmp/m/none.mjs"),
        ("load('/tmp/m/bad.cjs')", "/tmp/m/bad.cjs:1"),
        ("load('/tmp/m/bad.json')", "/tmp/m/bad.json"),
        ("worked('/tmp/m/none.mjs')", "'/tmp/m/none.mjs'"),
        (
            "worked('require(\"no-such-package\")', { eval: true })",
            "Cannot find module 'no-such-package'",
        ),
    ] {
        let found = run(&server, json!({ "component_code": load.replace("GIVES", gives), "component_entry": "main.mjs" })).await.to_string();
        assert!(found.contains(words), "{gives}: {found}");
        assert!(!found.contains(data) && !found.contains("worker.cjs"), "{gives}: {found}");
    }
    let thrown = load.replace(
        "try { return await (GIVES); } catch (e) { return [e.message, e.stack, JSON.stringify(e)]; }",
        "await worked('require(\"no-such-package\")', { eval: true });",
    );
    let source = server.source(&thrown, json!({})).await;
    let stack = server.run_now(&source, json!({})).await["error"]["stack"]
        .as_str()
        .expect("a stack")
        .to_owned();
    assert!(stack.starts_with("Error: Cannot find module 'no-such-package'"), "{stack}");
}
