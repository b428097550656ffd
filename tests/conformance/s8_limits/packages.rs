//! Packages: which version an import takes, and those that depend on where they lie. The registry
//! is the test's own.

use millrace_tests::registry::{Registry, Release};
use millrace_tests::{Client, Server};
use serde_json::json;

fn component(import: &str) -> serde_json::Value {
    json!({ "component_code": format!("import x from '{import}'; export default {{ name: 'a', version: '1', run() {{ return x; }} }};") })
}

pub(super) async fn returned(server: &Client, body: serde_json::Value) -> serde_json::Value {
    let id = server.post("/sources", &body).await.data()["id"].as_str().expect("an id").to_owned();
    server.post(&format!("/sources/{id}/run"), &json!({})).await.data()["return_value"].clone()
}

#[tokio::test]
async fn s8_an_import_takes_the_newest_version_that_runs_on_the_node_in_use() {
    let release = |name: &str, version: &str, node: &str, more: serde_json::Value| {
        let mut manifest = json!({ "name": name, "version": version, "engines": { "node": node } });
        manifest
            .as_object_mut()
            .expect("an object")
            .extend(more.as_object().cloned().unwrap_or_default());
        manifest
    };
    let code = b"module.exports = require('./package.json').version;";
    let of_peer = b"module.exports = require('staged');";
    let releases: Vec<Release<'_>> = [
        (release("staged", "1.0.0", ">=14", json!({})), &code[..]),
        (release("staged", "1.4.0", ">=18", json!({})), &code[..]),
        (release("staged", "2.0.0", ">=98", json!({})), &code[..]),
        (
            release("asks-peer", "1.0.0", ">=14", json!({ "peerDependencies": { "staged": "*" } })),
            &of_peer[..],
        ),
        (
            release(
                "asks-one",
                "1.0.0",
                ">=14",
                json!({ "peerDependencies": { "staged": "^1.0.0 || ^2.0.0" } }),
            ),
            &of_peer[..],
        ),
        (
            release(
                "asks-none",
                "1.0.0",
                ">=14",
                json!({ "peerDependencies": { "staged": "^1.0.0 ^2.0.0" } }),
            ),
            &of_peer[..],
        ),
        (release("asks-undeclared", "1.0.0", ">=14", json!({})), &of_peer[..]),
        (
            release("of-tomorrow", "3.1.0", ">=98 <99", json!({})),
            &b"module.exports = 1; throw new Error('needs what is not there');"[..],
        ),
    ]
    .map(|(manifest, code)| (manifest, [("index.js", code)]))
    .into_iter()
    .map(|(manifest, files)| Release { manifest, files: Box::leak(Box::new(files)) })
    .collect();
    let registry = Registry::of(&releases);
    let server = Server::start_with(&["--npm-registry", &registry.url]).await;
    for import in [
        "staged",
        "staged@*",
        "staged@latest",
        "staged@>=1",
        "asks-peer",
        "asks-one",
        "asks-undeclared",
    ] {
        assert_eq!(returned(&server, component(import)).await, json!("1.4.0"), "{import}");
    }
    for import in ["asks-none", "staged@^1 ^2"] {
        let refused = server.post("/sources", &component(import)).await;
        assert_eq!(refused.refusal(), (422, "no_matching_version"), "{}", refused.text);
        assert!(
            refused.text.contains("must all hold; `||` stands between alternatives"),
            "{}",
            refused.text
        );
    }
    assert_eq!(
        returned(&server, component("staged@2.0.0")).await,
        json!("2.0.0"),
        "a version that is named is taken, as npm does"
    );
    for import in ["of-tomorrow", "of-tomorrow@^3"] {
        let refused = server.post("/sources", &component(import)).await;
        assert_eq!(refused.refusal(), (422, "node_too_old"), "{}", refused.text);
        for words in ["`of-tomorrow@3.1.0`", "Node >=98 <99", "--node"] {
            assert!(
                refused.json["error"].as_str().is_some_and(|e| e.contains(words)),
                "{words}: {}",
                refused.text
            );
        }
    }
    let refused = server.post("/sources", &component("of-tomorrow@3.1.0")).await;
    assert_eq!(refused.refusal(), (422, "component_does_not_load"), "{}", refused.text);
    assert!(refused.text.contains("`of-tomorrow@3.1.0` wants Node >=98 <99"), "{}", refused.text);
}

/// A package: its name, the rest of its manifest, and its files.
type Package = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

/// Packages that depend on where they lie, a kind each.
const BESIDE: &[Package] = &[
    (
        "reads-data",
        r#"{}"#,
        &[
            (
                "index.js",
                "module.exports = require('fs').readFileSync(require('path').join(__dirname, 'data', 'x.afm'), 'utf8');",
            ),
            ("data/x.afm", "afm"),
        ],
    ),
    (
        "reads-url",
        r#"{ "type": "module", "exports": "./a.js" }"#,
        &[
            (
                "a.js",
                "import { readFileSync } from 'node:fs'; export default readFileSync(new URL('./b.dat', import.meta.url), 'latin1');",
            ),
            ("b.dat", "dat"),
        ],
    ),
    (
        "reads-dirname",
        r#"{ "main": "a.mjs" }"#,
        &[
            (
                "a.mjs",
                "import { readFileSync } from 'fs'; import { fileURLToPath } from 'url'; export default readFileSync(fileURLToPath(import.meta.url) + '.txt', 'utf8');",
            ),
            ("a.mjs.txt", "txt"),
        ],
    ),
    (
        "loads-locale",
        r#"{}"#,
        &[
            (
                "index.js",
                "module.exports = (name) => { try { var load = require; load('./locale/' + name); return load('./locale/' + name); } catch (e) { return 'January'; } };",
            ),
            ("locale/fr.js", "module.exports = 'janvier';"),
        ],
    ),
    (
        "makes-require",
        r#"{ "type": "module", "exports": "./a.js", "dependencies": { "plain": "^1.0.0" } }"#,
        &[(
            "a.js",
            "import { createRequire } from 'node:module'; export default createRequire(import.meta.url)('plain').name;",
        )],
    ),
    (
        "resolves",
        r#"{ "dependencies": { "plain": "*" } }"#,
        &[(
            "index.js",
            "module.exports = require('path').basename(require.resolve('plain/data.json')) + require('fs').existsSync(require.resolve('plain'));",
        )],
    ),
    (
        "works",
        r#"{}"#,
        &[
            (
                "index.js",
                "const { Worker } = require('worker_threads'); module.exports = new Promise((done, fail) => new Worker(require('path').join(__dirname, 'w.js')).on('message', done).on('error', fail));",
            ),
            ("w.js", "require('worker_threads').parentPort.postMessage(require('./says'));"),
            ("says.js", "module.exports = 'worked';"),
        ],
    ),
    (
        "makes-names",
        r#"{ "type": "module", "exports": "./a.js" }"#,
        &[(
            "a.js",
            "import { createRequire } from 'node:module'; const load = createRequire(import.meta.url); export default (name) => load('plain/' + name);",
        )],
    ),
    (
        "makes-own-names",
        r#"{ "type": "module", "exports": "./a.js", "dependencies": { "plain": "^1.0.0" } }"#,
        &[(
            "a.js",
            "import { createRequire } from 'node:module'; const load = createRequire(import.meta.url); export default (name) => { try { return load('plain/' + name); } catch (e) { return e.message; } };",
        )],
    ),
    (
        "needs-undeclared",
        r#"{}"#,
        &[("index.js", "module.exports = __dirname.length > 0 && require('plain').name;")],
    ),
    (
        "plain",
        r#"{}"#,
        &[
            ("index.js", "exports.name = 'plain'; exports.count = (exports.count || 0) + 1; "),
            ("data.json", "{}"),
        ],
    ),
];

fn beside_registry() -> Registry {
    let releases: Vec<Release<'_>> = BESIDE
        .iter()
        .map(|(name, manifest, files)| {
            let mut manifest: serde_json::Value = serde_json::from_str(manifest).expect("JSON");
            manifest["name"] = (*name).into();
            manifest["version"] = "1.0.0".into();
            let files: Vec<(&str, &[u8])> =
                files.iter().map(|(path, text)| (*path, text.as_bytes())).collect();
            Release { manifest, files: files.leak() }
        })
        .collect();
    Registry::of(&releases)
}

#[tokio::test]
async fn s8_packages_that_depend_on_where_they_lie_behave_as_installed() {
    let registry = beside_registry();
    let server = Server::start_with(&["--npm-registry", &registry.url]).await;
    for (import, expected) in [
        ("reads-data", json!("afm")),
        ("reads-url", json!("dat")),
        ("reads-dirname", json!("txt")),
        ("makes-require", json!("plain")),
        ("resolves", json!("data.jsontrue")),
        ("works", json!("worked")),
        ("needs-undeclared", json!("plain")),
    ] {
        assert_eq!(returned(&server, component(import)).await, expected, "{import}");
    }
    let code = "import locale from 'loads-locale'; import plain from 'plain'; import { createRequire } from 'module'; import required from 'makes-require';
      const load = createRequire(import.meta.url);
      export default { name: 'l', version: '1', run() { return [locale('fr'), locale('xx'), load('plain') === plain, required]; } };";
    assert_eq!(
        returned(&server, json!({ "component_code": code })).await,
        json!(["janvier", "January", true, "plain"])
    );
    let writes = "import x from 'reads-data'; import fs from 'fs'; import path from 'path'; import { createRequire } from 'module'; const at = createRequire(import.meta.url).resolve('reads-data');
      export default { name: 'w', version: '1', run() { const tried = []; for (const f of [() => fs.writeFileSync(at, 'x'), () => fs.readdirSync(path.resolve(at, '../../../../../../../../..'))]) {
        try { f(); tried.push('open'); } catch (e) { tried.push(e.code); } } return [x, ...tried]; } };";
    let found = returned(&server, json!({ "component_code": writes })).await;
    assert_eq!((&found[0], &found[1]), (&json!("afm"), &json!("EACCES")), "read-only");
    assert_ne!(found[2], "open", "the folders of other hosts are closed");
}

#[tokio::test]
async fn s8_a_name_that_code_makes_as_it_runs_finds_the_package_that_it_begins_with() {
    let registry = beside_registry();
    let server = Server::start_with(&["--npm-registry", &registry.url]).await;
    for (made, expected) in [
        ("(await import(`plain/${'data'}.json`, { with: { type: 'json' } })).default", json!({})),
        ("require('plain/' + 'data.json')", json!({})),
        ("(await import(NAME)).default.name", json!("plain")),
        ("(await import(Math.random() < 2 ? 'plain' : 'no-such-package')).name", json!("plain")),
        ("later()", json!({})),
        ("(await import('./' + 'x.mjs').catch((e) => e.code))", json!("ERR_MODULE_NOT_FOUND")),
    ] {
        let code = format!(
            "import {{ createRequire }} from 'module'; const NAME = 'plain'; function later() {{ return load(`${{NAME}}/${{'data'}}.json`); }} const load = createRequire(import.meta.url);
             export default {{ name: 'm', version: '1', async run() {{ return {made}; }} }};"
        );
        assert_eq!(
            returned(&server, json!({ "component_code": code, "component_entry": "main.mjs" }))
                .await,
            expected,
            "{made}"
        );
    }
    // A package finds so what the author brought, and it is one instance.
    let code = "import load from 'makes-names'; import plain from 'plain'; export default { name: 'p', version: '1', run() { return [load('index.js') === plain, load('data.json')]; } };";
    assert_eq!(returned(&server, json!({ "component_code": code })).await, json!([true, {}]));
    // Or what it declares; what it does not find, it calls by its own name.
    let code = "import load from 'makes-own-names'; export default { name: 'p', version: '1', run() { return [load('data.json'), load('none.json')]; } };";
    let found = returned(&server, json!({ "component_code": code })).await;
    assert_eq!(found[0], json!({}));
    let message = found[1].as_str().expect("a message");
    assert!(
        message.contains("Cannot find module 'plain/none.json'")
            && message.contains("makes-own-names/a.js"),
        "{message}"
    );
    assert!(!message.contains(server.data_dir().to_str().expect("a path")), "{message}");
}

/// What is so large is read by Node where it is used, not by each deploy.
#[tokio::test]
async fn s8_a_package_larger_than_a_bundle_may_be_lies_beside_it() {
    let code = format!(
        "module.exports = {{ length: '{}'.length, plain: require('plain').name }};",
        "x".repeat(33 << 20)
    );
    let large = json!({ "name": "large", "version": "1.0.0", "dependencies": { "plain": "1" } });
    let needs =
        json!({ "name": "needs-large", "version": "1.0.0", "dependencies": { "large": "1" } });
    let plain = json!({ "name": "plain", "version": "1.0.0" });
    let registry = Registry::of(&[
        Release { manifest: large, files: &[("index.js", code.as_bytes())] },
        Release { manifest: needs, files: &[("index.js", b"module.exports = require('large');")] },
        Release { manifest: plain, files: &[("index.js", b"exports.name = 'plain';")] },
    ]);
    let server = Server::start_with(&["--npm-registry", &registry.url]).await;
    for import in ["large", "needs-large", "large/index.js"] {
        assert_eq!(
            returned(&server, component(import)).await,
            json!({ "length": 33 << 20, "plain": "plain" }),
            "{import}"
        );
    }
}

#[tokio::test]
async fn s8_versions_that_the_authors_manifest_prescribes_count_for_packages() {
    let plain = |name: &str, version: &str| json!({ "name": name, "version": version });
    let depends = |name: &str| json!({ "name": name, "version": "1.0.0", "dependencies": { "deep": "^1.0.0" } });
    let releases: Vec<Release<'_>> = [
        (plain("deep", "1.0.0"), &b"module.exports = require('./package.json').version;"[..]),
        (plain("deep", "2.0.0"), &b"module.exports = require('./package.json').version;"[..]),
        (plain("deep", "1.1.0"), &b"module.exports = require('./package.json').version;"[..]),
        (depends("bundled"), &b"module.exports = require('deep');"[..]),
        (depends("laid"), &b"module.exports = __dirname && require('deep');"[..]),
    ]
    .map(|(manifest, code)| (manifest, [("index.js", code)]))
    .into_iter()
    .map(|(manifest, files)| Release { manifest, files: Box::leak(Box::new(files)) })
    .collect();
    let registry = Registry::of(&releases);
    let server = Server::start_with(&["--npm-registry", &registry.url]).await;
    let code = "import bundled from 'bundled'; import laid from 'laid'; export default { name: 'o', version: '1', run() { return [bundled, laid]; } };";
    for (manifest, expected) in [
        (json!({}), ["1.1.0", "1.1.0"]),
        (json!({ "overrides": { "deep": "2.0.0" } }), ["2.0.0", "2.0.0"]),
        (json!({ "overrides": { "laid": { "deep": "1.0.0" } } }), ["1.1.0", "1.0.0"]),
        (
            json!({ "dependencies": { "deep": "2.0.0" }, "overrides": { "deep": "$deep" } }),
            ["2.0.0", "2.0.0"],
        ),
        (json!({ "resolutions": { "**/deep": "1.0.0" } }), ["1.0.0", "1.0.0"]),
        (json!({ "pnpm": { "overrides": { "bundled>deep": "2.0.0" } } }), ["2.0.0", "1.1.0"]),
    ] {
        let files = json!({ "package.json": manifest.to_string() });
        let body = json!({ "component_code": code, "component_files": files, "component_entry": "main.mjs" });
        assert_eq!(returned(&server, body).await, json!(expected), "{manifest}");
    }
    for (manifest, why) in [
        ("{ \"overrides\": { \"deep\": \"2.0.0\" }, }", "it is not JSON: trailing comma"),
        ("", "it is not JSON"),
        ("[]", "it is JSON, but not an object"),
    ] {
        for path in ["package.json", "below/package.json"] {
            let body = json!({ "component_code": code, "component_files": { path: manifest }, "component_entry": "below/main.mjs" });
            let refused = server.post("/sources", &body).await;
            assert_eq!(refused.refusal(), (422, "bundle_failed"), "{}", refused.text);
            assert!(
                refused.text.contains(&format!("`{path}`")) && refused.text.contains(why),
                "{}",
                refused.text
            );
        }
        // Elsewhere it is a file like others.
        let body = json!({ "component_code": code, "component_files": { "templates/package.json": manifest }, "component_entry": "main.mjs" });
        assert_eq!(returned(&server, body).await, json!(["1.1.0", "1.1.0"]));
    }
    let marked = format!("\u{feff}{}", json!({ "overrides": { "deep": "2.0.0" } }));
    let body = json!({ "component_code": code, "component_files": { "package.json": marked }, "component_entry": "main.mjs" });
    assert_eq!(returned(&server, body).await, json!(["2.0.0", "2.0.0"]));
    let files = json!({ "package.json": "{ \"overrides\": { \"deep\": \"9.0.0\" } }" });
    let refused = server.post("/sources", &json!({ "component_code": code, "component_files": files, "component_entry": "main.mjs" })).await;
    assert_eq!(refused.refusal(), (422, "no_matching_version"), "{}", refused.text);
}

#[tokio::test]
async fn s8_packages_beside_a_module_are_had_again_where_the_cache_is_gone() {
    let registry = beside_registry();
    let mut server = Server::start_with(&["--npm-registry", &registry.url]).await;
    let id = server.post("/sources", &component("reads-data")).await.data()["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let data = server.data_dir();
    server.terminate();
    for folder in ["cache", "artifacts"] {
        std::fs::remove_dir_all(data.join(folder)).expect("removes");
    }
    server.launch().await;
    assert_eq!(
        server.post(&format!("/sources/{id}/run"), &json!({})).await.data()["return_value"],
        "afm"
    );
}

#[tokio::test]
async fn s8_an_author_s_own_files_lie_beside_the_bundle_within_limits() {
    let registry = beside_registry();
    let mut server = Server::start_with(&["--npm-registry", &registry.url]).await;
    // CommonJS, TypeScript, a worker with a package that nothing else imports, and names that are
    // none.
    let code = "import { Worker } from 'node:worker_threads'; import { text } from './a/old.cjs'; import { typed } from './b/typed';
      export default { name: 'own', version: '1', async run() {
        const worked = await new Promise((done, fail) => new Worker(new URL('./w.mjs', import.meta.url)).on('message', done).on('error', fail));
        const tried = await import(`./${'gone'}.mjs`).catch((e) => e.message);
        return [text, typed(), worked, tried, globalThis.leaked]; } };";
    let old = "const fs = require('fs'); const load = require; const at = { __dirname, __filename };
      exports.text = [fs.readFileSync(__dirname + '/t.txt', 'utf8'), load('./' + 'x.json').x, require.resolve('../b/typed.ts').endsWith('b/typed.ts'), at.__filename.endsWith('a/old.cjs')];";
    let files = json!({
        "a/old.cjs": old,
        "a/t.txt": "text",
        "a/x.json": "{ \"x\": 1 }",
        "b/typed.ts": "import fs from 'fs'; export const typed = (): number => fs.readFileSync(new URL('b y.bin', import.meta.url)).length;",
        "b/b y.bin": "data:application/octet-stream;base64,/wAB",
        "w.mjs": "import { parentPort } from 'worker_threads'; import plain from 'plain'; parentPort.postMessage(plain.name);",
        "../out.txt": "leads out",
        ".hidden/x.txt": "hidden",
        "node_modules/plain/index.js": "globalThis.leaked = true; exports.name = 'not the package';",
    });
    let made = server.post("/sources", &json!({ "component_code": code, "component_files": files, "component_entry": "main.mjs" })).await.data();
    let id = made["id"].as_str().expect("an id").to_owned();
    let expected = |found: &serde_json::Value| {
        assert_eq!(
            (&found[0], &found[1], &found[2]),
            (&json!(["text", 1, true, true]), &json!(3), &json!("plain")),
            "{found}"
        );
        assert!(found[3].as_str().is_some_and(|text| text.contains("gone.mjs")), "{found}");
        assert_eq!(found[4], json!(null), "{found}");
    };
    let run = format!("/sources/{id}/run");
    expected(&server.post(&run, &json!({})).await.data()["return_value"]);
    // They are part of what the database keeps.
    let data = server.data_dir();
    server.terminate();
    for folder in ["cache", "artifacts"] {
        std::fs::remove_dir_all(data.join(folder)).expect("removes");
    }
    server.launch().await;
    expected(&server.post(&run, &json!({})).await.data()["return_value"]);
    // Nothing is written there, and there is a bound.
    let writes = "import fs from 'fs'; export default { name: 'w', version: '1', run() { try { fs.writeFileSync(new URL('./x.txt', import.meta.url), 'y'); return 'open'; } catch (e) { return e.code; } } };";
    let body = json!({ "component_code": writes, "component_files": { "x.txt": "x" }, "component_entry": "main.mjs" });
    assert_eq!(returned(&server, body).await, "EACCES");
    let many: serde_json::Map<String, serde_json::Value> =
        (0..3_001).map(|n| (format!("d/{n}.txt"), json!("x"))).collect();
    let refused = server.post("/sources", &json!({ "component_code": writes, "component_files": many, "component_entry": "main.mjs" })).await;
    assert_eq!(refused.status, 422, "{}", refused.text);
    assert!(refused.text.contains("3002 files, allowed are 3000"), "{}", refused.text);
    let both = json!({ "a.txt": "a file", "a.txt/b.txt": "and a folder" });
    let refused = server.post("/sources", &json!({ "component_code": writes, "component_files": both, "component_entry": "main.mjs" })).await;
    assert_eq!(refused.status, 422, "{}", refused.text);
    assert!(
        refused.text.contains("`a.txt`") && refused.text.contains("another name"),
        "{}",
        refused.text
    );
}
