//! Which version of a package an import takes. The registry is the test's own.

use millrace_tests::Server;
use millrace_tests::registry::{Registry, Release};
use serde_json::json;

fn component(import: &str) -> serde_json::Value {
    json!({ "component_code": format!("import x from '{import}'; export default {{ name: 'a', version: '1', run() {{ return x; }} }};") })
}

async fn returned(server: &Server, body: serde_json::Value) -> serde_json::Value {
    let id = server.post("/sources", &body).await.data()["id"].as_str().expect("an id").to_owned();
    server.post(&format!("/sources/{id}/run"), &json!({})).await.data()["return_value"].clone()
}

#[tokio::test]
async fn s8_an_import_takes_the_newest_version_that_runs_on_the_node_in_use() {
    let release = |name: &str, version: &str, node: &str, more: serde_json::Value| {
        let mut manifest = json!({ "name": name, "version": version, "engines": { "node": node } });
        manifest.as_object_mut().expect("an object").extend(more.as_object().cloned().unwrap_or_default());
        manifest
    };
    let code = b"module.exports = require('./package.json').version;";
    let of_peer = b"module.exports = require('staged');";
    let releases: Vec<Release<'_>> = [
        (release("staged", "1.0.0", ">=14", json!({})), &code[..]),
        (release("staged", "1.4.0", ">=18", json!({})), &code[..]),
        (release("staged", "2.0.0", ">=98", json!({})), &code[..]),
        (release("asks-peer", "1.0.0", ">=14", json!({ "peerDependencies": { "staged": "*" } })), &of_peer[..]),
        (release("asks-undeclared", "1.0.0", ">=14", json!({})), &of_peer[..]),
        (release("of-tomorrow", "3.1.0", ">=98 <99", json!({})), &b"module.exports = 1; throw new Error('needs what is not there');"[..]),
    ]
    .map(|(manifest, code)| (manifest, [("index.js", code)]))
    .into_iter()
    .map(|(manifest, files)| Release { manifest, files: Box::leak(Box::new(files)) })
    .collect();
    let registry = Registry::of(&releases);
    let server = Server::start_with(&["--npm-registry", &registry.url]).await;
    for import in ["staged", "staged@*", "staged@latest", "staged@>=1", "asks-peer", "asks-undeclared"] {
        assert_eq!(returned(&server, component(import)).await, json!("1.4.0"), "{import}");
    }
    assert_eq!(returned(&server, component("staged@2.0.0")).await, json!("2.0.0"), "a version that is named is taken, as npm does");
    for import in ["of-tomorrow", "of-tomorrow@^3"] {
        let refused = server.post("/sources", &component(import)).await;
        assert_eq!(refused.refusal(), (422, "node_too_old"), "{}", refused.text);
        for words in ["`of-tomorrow@3.1.0`", "Node >=98 <99", "--node"] {
            assert!(refused.json["error"].as_str().is_some_and(|e| e.contains(words)), "{words}: {}", refused.text);
        }
    }
    let refused = server.post("/sources", &component("of-tomorrow@3.1.0")).await;
    assert_eq!(refused.refusal(), (422, "component_does_not_load"), "{}", refused.text);
    assert!(refused.text.contains("`of-tomorrow@3.1.0` wants Node >=98 <99"), "{}", refused.text);
}
