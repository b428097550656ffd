//! Packages of a registry that answers as others than npm's do: bundled copies, checksums,
//! credentials.

use serde_json::json;

use crate::registry::Registry;

/// A package with a module `index.js`.
fn add(registry: &Registry, manifest: serde_json::Value, code: &str) {
    registry.add(&manifest, &[("index.js", code)], &json!({}));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_copy_in_a_packages_archive_comes_before_the_registrys() {
    let registry = Registry::start();
    let version = |of: &str| format!("exports.from = '{of}';");
    for name in ["inner", "deep", "@s/scoped", "other"] {
        add(&registry, json!({ "name": name, "version": "1.9.0" }), &version("the registry"));
    }
    let outer = json!({
        "name": "outer", "version": "1.0.0",
        "dependencies": { "inner": "1", "@s/scoped": "1", "other": "1", "gone": "1" },
        "bundledDependencies": ["inner", "@s/scoped", "deep"],
    });
    let inner =
        r#"{ "name": "inner", "version": "1.0.7", "dependencies": { "deep": "1", "other": "1" } }"#;
    registry.add(
        &outer,
        &[
            ("index.js", "const inner = require('inner'); exports.all = [inner.from, inner.deep, inner.other, require('@s/scoped').from, require('other').from];"),
            ("node_modules/inner/package.json", inner),
            ("node_modules/inner/index.js", "exports.from = 'the archive'; exports.deep = require('deep').from; exports.other = require('other').from;"),
            ("node_modules/deep/package.json", r#"{ "name": "deep", "version": "1.0.0", "main": "main.js" }"#),
            ("node_modules/deep/main.js", &version("the archive, too")),
            ("node_modules/@s/scoped/index.js", &version("its scope")),
        ],
        &json!({}),
    );
    let code = "import { all } from 'outer'; export default all;";
    let expected =
        json!(["the archive", "the archive, too", "the registry", "its scope", "the registry"]);
    assert_eq!(registry.exported(code).await, expected);
    let asked: Vec<String> = registry.asked().into_iter().map(|(path, _)| path).collect();
    assert_eq!(asked, ["/outer", "/-/outer-1.0.0.tgz", "/other", "/-/other-1.9.0.tgz"]);
}

/// What lies beside a bundle is found by Node, which takes the copies of its own accord.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_package_bundles_needs_no_other_copy_beside_the_bundle() {
    let registry = Registry::start();
    add(&registry, json!({ "name": "other", "version": "1.9.0" }), "exports.x = 1;");
    registry.add(
        &json!({ "name": "outer", "version": "1.0.0", "dependencies": { "inner": "1" }, "bundleDependencies": true }),
        &[
            ("index.js", "require('inner'); exports.text = require('fs').readFileSync(__dirname + '/x.txt', 'utf8');"),
            ("x.txt", "x"),
            ("node_modules/inner/package.json", r#"{ "dependencies": { "other": "1" } }"#),
            ("node_modules/inner/index.js", "require('other');"),
        ],
        &json!({}),
    );
    let bundle = registry.bundle("import 'outer';").await.expect("bundles");
    let beside = bundle.beside.expect("packages beside it").packages;
    assert_eq!(beside.keys().collect::<Vec<_>>(), ["other@1.9.0", "outer@1.0.0"]);
    assert_eq!(beside["outer@1.0.0"].needs.keys().collect::<Vec<_>>(), ["other"]);
}
