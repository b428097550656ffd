//! Packages of a registry that answers as others than npm's do: bundled copies, checksums,
//! credentials.

use std::io::{Read as _, Write as _};

use millrace_model::npm_registry::NpmRegistry;
use serde_json::json;

use crate::registry::{Registry, bundle_at};

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

#[tokio::test(flavor = "multi_thread")]
async fn packages_with_an_old_checksum_are_checked_by_it() {
    let registry = Registry::start();
    let zeros = "0".repeat(40);
    for (name, dist) in [
        ("shasum", json!({ "integrity": null, "shasum": zeros })),
        ("sha1", json!({ "integrity": "sha1-AAAAAAAAAAAAAAAAAAAAAAAAAAA=" })),
        ("sha384", json!({ "integrity": "sha384-AAAA" })),
    ] {
        let manifest = json!({ "name": name, "version": "1.0.0" });
        registry.add(&manifest, &[("index.js", "")], &dist);
        let error = registry.bundle(&format!("import '{name}';")).await.expect_err(name);
        assert_eq!(error.code(), "package_integrity", "{error}");
    }
    let manifest = json!({ "name": "none", "version": "1.0.0" });
    registry.add(&manifest, &[("index.js", "")], &json!({ "integrity": null }));
    registry.bundle("import 'none';").await.expect("bundles");
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_of_the_registry_go_with_its_archives_and_nowhere_else() {
    let (registry, other) = (Registry::start(), Registry::start());
    for name in ["own", "moved", "beside", "elsewhere"] {
        let manifest = json!({ "name": name, "version": "1.0.0" });
        let path = format!("/-/{name}-1.0.0.tgz");
        other.add(&manifest, &[("index.js", "")], &json!({}));
        let at = if name == "elsewhere" { &other.url } else { &registry.url };
        registry.add(&manifest, &[("index.js", "")], &json!({ "tarball": format!("{at}{path}") }));
    }
    registry.moves("/-/moved-1.0.0.tgz", &format!("{}/-/moved-1.0.0.tgz", other.url));
    registry.moves("/-/beside-1.0.0.tgz", "/-/own-1.0.0.tgz");
    let with_password = registry.url.replace("http://", "http://us%20er:p%40ss@");
    for (access, sent) in [
        (NpmRegistry::new(&with_password, None), "Basic dXMgZXI6cEBzcw=="),
        (NpmRegistry::new(&registry.url, Some("t0ken")), "Bearer t0ken"),
    ] {
        let cache = tempfile::tempdir().expect("a folder");
        for name in ["own", "moved", "beside", "elsewhere"] {
            // What `beside` gets is another package's.
            let _ = bundle_at(cache.path(), access.clone(), &format!("import '{name}';")).await;
        }
        let asked = registry.asked();
        assert_eq!(asked.len(), 8, "{asked:?}");
        assert!(asked.iter().all(|(_, with)| with.as_deref() == Some(sent)), "{asked:?}");
        let (moved, elsewhere) = ("/-/moved-1.0.0.tgz", "/-/elsewhere-1.0.0.tgz");
        assert_eq!(other.asked(), [(moved.to_owned(), None), (elsewhere.to_owned(), None)]);
        let documents = std::fs::read_dir(cache.path().join("documents")).expect("documents");
        let names: Vec<_> = documents.map(|entry| entry.expect("an entry").file_name()).collect();
        let address = registry.url.replace(|c: char| !c.is_ascii_alphanumeric(), "+");
        assert_eq!(names, [std::ffi::OsString::from(address)]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn null_in_a_manifest_is_nothing_and_archives_are_read_to_their_end() {
    let registry = Registry::start();
    add(&registry, json!({ "name": "inner", "version": "1.0.0" }), "exports.from = 'inner';");
    let manifest = json!({
        "name": "nulls", "version": "1.0.0", "exports": null, "main": null, "type": null,
        "imports": null, "peerDependencies": "", "optionalDependencies": null,
        "dependencies": { "inner": "^1", "odd": null },
    });
    let code = "exports.from = require('inner').from; exports.sub = require('./lib/sub').sub;";
    registry.add(
        &manifest,
        &[("index.js", code), ("lib/sub.js", "exports.sub = 'sub';")],
        &json!({ "integrity": null }),
    );
    registry.change_archive("/-/nulls-1.0.0.tgz", |archive| {
        let mut tape = Vec::new();
        flate2::read::GzDecoder::new(archive).read_to_end(&mut tape).expect("unpacks");
        let member = |part: &[u8]| {
            let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            packed.write_all(part).and_then(|()| packed.finish()).expect("packs")
        };
        [member(&tape[..700]), member(&tape[700..])].concat()
    });
    let code = "import { from } from 'nulls'; import { sub } from 'nulls/lib/sub.js'; import main from 'nulls/lib/sub'; export default [from, sub, main.sub];";
    assert_eq!(registry.exported(code).await, json!(["inner", "sub", "sub"]));
    let error = registry.bundle("import 'nulls/gone.js';").await.expect_err("no module");
    assert_eq!(error.code(), "import_unsupported", "{error}");
}
