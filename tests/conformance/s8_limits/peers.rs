//! Peers: packages that leave one to those who use them, who have one instance of it together. The
//! registry is the test's own.

use millrace_tests::Server;
use millrace_tests::registry::{Registry, Release};
use serde_json::json;

#[tokio::test]
async fn s8_a_peer_is_what_the_packages_depend_on_that_use_a_package() {
    // `core` has a newer version than the one that `suite` is pinned to, and that newer one would
    // fit the ranges of the peers as well.
    let core = b"exports.version = require('./package.json').version; exports.parts = [];";
    let registers = |laid: &str| {
        format!(
            "{laid} const core = require('core'); core.parts.push(core.version); module.exports = core;"
        )
    };
    let (bundled, laid) = (registers(""), registers("__dirname;"));
    let driven = "module.exports = (name) => { try { return require(name).version; } catch (e) { return e.code; } };";
    let suite = |name: &str, part: &str| json!({ "name": name, "version": "1.0.0", "dependencies": { "core": "1.0.0", part: "1" } });
    let peer = json!({ "core": "1.x" });
    let optional = json!({ "core": { "optional": true } });
    let part = |name: &str, peers: serde_json::Value, meta: serde_json::Value| json!({ "name": name, "version": "1.0.0", "peerDependencies": peers, "peerDependenciesMeta": meta });
    let uses = |part: &str| {
        format!(
            "const core = require('core'); const part = require('{part}'); module.exports = [part === core, core.parts];"
        )
    };
    let releases: Vec<(serde_json::Value, String)> = vec![
        (json!({ "name": "core", "version": "1.0.0" }), String::from_utf8_lossy(core).into()),
        (json!({ "name": "core", "version": "1.5.0" }), String::from_utf8_lossy(core).into()),
        (part("part", peer.clone(), json!({})), bundled.clone()),
        (part("part-laid", peer.clone(), json!({})), laid.clone()),
        (part("part-optional", peer.clone(), optional.clone()), bundled.clone()),
        (part("part-laid-optional", peer, optional.clone()), laid),
        // It is used through another, which names no such package.
        (
            json!({ "name": "between", "version": "1.0.0", "dependencies": { "part": "1" } }),
            "module.exports = require('part');".into(),
        ),
        (suite("of-part", "part"), uses("part")),
        (suite("of-part-laid", "part-laid"), uses("part-laid")),
        (suite("of-part-optional", "part-optional"), uses("part-optional")),
        (suite("of-part-laid-optional", "part-laid-optional"), uses("part-laid-optional")),
        (suite("of-between", "between"), uses("between")),
        // An optional peer that stands in the second list alone, loaded by a name that is made.
        (part("driven", json!({}), optional), driven.into()),
    ];
    let files: Vec<[(&str, &[u8]); 1]> =
        releases.iter().map(|(_, code)| [("index.js", code.as_bytes())]).collect();
    let releases: Vec<Release<'_>> = releases
        .iter()
        .zip(&files)
        .map(|((manifest, _), files)| Release { manifest: manifest.clone(), files })
        .collect();
    let registry = Registry::of(&releases);
    let server = Server::start_with(&["--npm-registry", &registry.url]).await;
    let code = |import: &str, gives: &str| {
        format!(
            "{import} export default {{ name: 'p', version: '1', run() {{ return {gives}; }} }};"
        )
    };
    for package in
        ["of-part", "of-part-laid", "of-part-optional", "of-part-laid-optional", "of-between"]
    {
        let found =
            server.returned(&code(&format!("import x from '{package}';"), "x"), json!({})).await;
        assert_eq!(found, json!([true, ["1.0.0"]]), "{package}");
    }
    // What the author imports comes first, and alone a peer is the newest that fits.
    let found = server
        .returned(
            &code(
                "import x from 'of-part'; import core from 'core@1.5.0'; import part from 'part';",
                "[x[0], part === core]",
            ),
            json!({}),
        )
        .await;
    assert_eq!(found[1], json!(true), "{found}");
    let found = server
        .returned(
            &code("import x from 'of-part'; import core from 'core@1.5.0';", "[x[0], core.parts]"),
            json!({}),
        )
        .await;
    assert_eq!(found, json!([false, ["1.5.0"]]), "the author's own import fits the peer");
    assert_eq!(
        server.returned(&code("import x from 'part';", "x.version"), json!({})).await,
        "1.5.0"
    );
    assert_eq!(
        server
            .returned(
                &code("import load from 'driven'; import 'core@1.0.0';", "load('core')"),
                json!({})
            )
            .await,
        "1.0.0"
    );
    assert_eq!(
        server.returned(&code("import load from 'driven';", "load('core')"), json!({})).await,
        "MODULE_NOT_FOUND"
    );
}

#[tokio::test]
async fn s8_an_import_without_a_range_fits_the_peers_of_others_in_its_file() {
    let manifest = |name: &str, version: &str, peers: serde_json::Value| json!({ "name": name, "version": version, "peerDependencies": peers });
    let core = b"exports.version = require('./package.json').version;";
    let core = &[("index.js", core.as_slice())];
    let user = b"module.exports = require('core');";
    let user = &[("index.js", user.as_slice())];
    let registry = Registry::of(&[
        Release { manifest: manifest("core", "1.9.1", json!({})), files: core },
        Release { manifest: manifest("core", "1.10.0", json!({})), files: core },
        Release {
            manifest: manifest("user", "1.0.0", json!({ "core": ">=1.3.0 <1.10.0" })),
            files: user,
        },
        Release { manifest: manifest("newer", "1.0.0", json!({ "core": "^1.10.0" })), files: user },
    ]);
    let server = Server::start_with(&["--npm-registry", &registry.url]).await;
    for (imports, expected) in [
        ("import core from 'core'; import used from 'user';", json!(["1.9.1", true])),
        ("import used from 'user'; import core from 'core';", json!(["1.9.1", true])),
        ("import core from 'core'; import used from 'newer';", json!(["1.10.0", true])),
        ("import core from 'core@1.10.0'; import used from 'user';", json!(["1.10.0", false])),
        // No version fits both.
        (
            "import core from 'core'; import used from 'newer'; import 'user';",
            json!(["1.10.0", true]),
        ),
    ] {
        let code = format!(
            "{imports} export default {{ name: 'p', version: '1', run() {{ return [core.version, core === used]; }} }};"
        );
        assert_eq!(server.returned(&code, json!({})).await, expected, "{imports}");
    }
}
