//! Code that behaves in a bundle as it does where npm installed it: names of classes, files with a
//! byte order mark, machine code that has another way, elements made by a function of one's own.
//! The registry is the test's own.

use millrace_tests::registry::{Registry, Release};
use millrace_tests::{Client, Server, answer, endpoint, id};
use reqwest::Method;
use serde_json::{Value, json};

async fn returned(server: &Client, body: &Value) -> Value {
    let source = server.post("/sources", body).await.data();
    server.post(&format!("/sources/{}/run", id(&source)), &json!({})).await.data()["return_value"]
        .clone()
}

/// A package without dependencies: its name, further fields of its manifest, and its files.
type Package = (&'static str, Value, &'static [(&'static str, &'static str)]);

fn registry(packages: Vec<Package>) -> Registry {
    let releases: Vec<Release<'_>> = packages
        .into_iter()
        .map(|(name, mut manifest, files)| {
            manifest["name"] = name.into();
            manifest["version"] = "1.0.0".into();
            let files = files.iter().map(|(path, text)| (*path, text.as_bytes()));
            Release { manifest, files: files.collect::<Vec<_>>().leak() }
        })
        .collect();
    Registry::of(&releases)
}

const OWN: &str = "export class Refused extends Error {}\nexport class Named { static name = 'own' }\nexport function make() {}\nexport const Late = class extends Refused {};";

#[tokio::test]
async fn s8_classes_and_functions_of_one_name_keep_it_in_a_bundle() {
    let module = |name: &'static str| -> Package {
        (name, json!({ "type": "module", "exports": "./a.js" }), &[("a.js", OWN)])
    };
    let registry = registry(vec![module("one"), module("other")]);
    let server = Server::start_with(&["--npm-registry", &registry.url]).await;
    let code = "import * as one from 'one'; import * as other from 'other';
      class Refused extends Error { constructor(message) { super(message); this.name = new.target.name; } }
      const later = await import('other');
      const names = (module) => Object.values(module).map((value) => value.name);
      const all = [names(one), names(other), names(later), Refused.name, String(new Refused('no')), one.Refused === other.Refused];";
    let source =
        format!("{code} export default {{ name: 'a', version: '1', run() {{ return all; }} }};");
    let each = json!(["Late", "own", "Refused", "make"]);
    assert_eq!(
        returned(&server, &json!({ "component_code": source })).await,
        json!([each, each, each, "Refused", "Refused: no", false])
    );
    // The class of an error is what its author called it.
    for class in ["Refused", "one.Refused", "other.Refused"] {
        let step = format!(
            "{code} export default defineComponent({{ run() {{ throw new {class}('no'); }} }});"
        );
        let workflow = server.workflow("w", json!([{ "type": "http" }]), &[("step", &step)]).await;
        answer(server.raw(Method::POST, &endpoint(&workflow)).json(&json!({}))).await;
        let runs = format!("/workflows/{}/runs?status=failed", id(&workflow));
        let listed = server.until("its run", &runs, |l| l["page_info"]["total_count"] == 1).await;
        assert_eq!(listed["data"][0]["error"]["code"], "Refused", "{class}: {listed}");
    }
}

#[tokio::test]
async fn s8_machine_code_with_another_way_and_files_with_a_mark_work_as_installed() {
    let registry = registry(vec![
        (
            "marked",
            json!({}),
            &[
                (
                    "index.js",
                    "\u{feff}module.exports = require('fs').readFileSync(__dirname + '/x.txt', 'utf8');",
                ),
                ("x.txt", "beside"),
            ],
        ),
        (
            "two-ways",
            json!({ "gypfile": true, "main": "./index" }),
            &[
                ("binding.gyp", "{}"),
                (
                    "index.js",
                    "try { module.exports = require('./bindings') } catch (err) { module.exports = require('./js') }",
                ),
                ("bindings.js", "module.exports = require(__dirname + '/build/x.node');"),
                ("js.js", "module.exports = 'in JavaScript';"),
            ],
        ),
        (
            "one-way",
            json!({ "gypfile": true }),
            &[("binding.gyp", "{}"), ("index.js", "module.exports = require('./build/x.node');")],
        ),
        (
            "uses-two-ways",
            json!({ "dependencies": { "two-ways": "1" } }),
            &[("index.js", "module.exports = 'by ' + require('two-ways');")],
        ),
    ]);
    let server = Server::start_with(&["--npm-registry", &registry.url]).await;
    let component = |package: &str| json!({ "component_code": format!("import x from '{package}'; export default {{ name: 'a', version: '1', run() {{ return x; }} }};") });
    for (package, expected) in
        [("marked", "beside"), ("two-ways", "in JavaScript"), ("uses-two-ways", "by in JavaScript")]
    {
        assert_eq!(returned(&server, &component(package)).await, expected, "{package}");
    }
    let refused = server.post("/sources", &component("one-way")).await;
    assert_eq!(refused.refusal(), (422, "native_package"), "{}", refused.text);
}

#[tokio::test]
async fn s8_elements_are_made_by_the_function_that_a_file_names() {
    let server = Server::shared().await;
    let code = "/** @jsx h @jsxFrag F */\nconst F = 'F'; const h = (tag, props, ...children) => [tag, props, children];\nexport default { name: 'a', version: '1', run() { return <><b c={1}>x</b></>; } };";
    let expected = json!(["F", null, [["b", { "c": 1 }, ["x"]]]]);
    for code in [code.to_owned(), code.replace("const F", "const F: string")] {
        assert_eq!(returned(&server, &json!({ "component_code": code })).await, expected, "{code}");
    }
}

#[tokio::test]
async fn s8_a_package_with_more_modules_than_a_host_has_descriptors_loads() {
    const MODULES: usize = 1_500;
    let imports: String = (0..MODULES).map(|n| format!("import './m{n}.js';\n")).collect();
    let index = format!(
        "{imports}export const at = import.meta.url; export const all = globalThis.loaded;"
    );
    let mut files = vec![("index.js", &*index.leak())];
    for n in 0..MODULES {
        let module = "globalThis.loaded = (globalThis.loaded ?? 0) + 1; export {};";
        files.push((format!("m{n}.js").leak(), module));
    }
    let manifest = json!({ "type": "module", "exports": "./index.js" });
    let registry = registry(vec![("wide", manifest, files.leak())]);
    let server = Server::start_with(&["--npm-registry", &registry.url]).await;
    let code = "import { all } from 'wide'; export default { name: 'a', version: '1', run() { return all; } };";
    assert_eq!(returned(&server, &json!({ "component_code": code })).await, MODULES);
}
