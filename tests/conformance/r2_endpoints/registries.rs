//! Registries: trees of components that are uploaded, searched and deployed from by key (reference 2).

use std::path::Path;
use std::process::Command;

use millrace_tests::{Answer, Server, binary};
use serde_json::{Value, json};

const APP: &str = "export default { type: 'app', app: 'acme', propDefinitions: { greeting: { type: 'string', label: 'Greeting', optional: true } },
  methods: { hello(name) { return `hello ${name}`; } } };";
const SOURCE: &str = "import common from '../common/base.mjs'; import other from '@pipedream/other'; import otherToo from '../../../other/other.app.mjs';
  export default { ...common, key: 'acme-new-thing', name: 'New Thing', version: '0.0.3', type: 'source', description: 'Emits each thing',
    props: { ...common.props, greeting: { propDefinition: [common.props.acme, 'greeting'], label: 'How to greet' } },
    run() { return [this.acme.hello('you'), other.app, other === otherToo]; } };";
const ACTION: &str = "import acme from '../../acme.app.mjs';
  export default { key: 'acme-do-thing', name: 'Do Thing', version: '1.0.0', type: 'action', description: 'Does a new kind of thing', props: { acme },
    async run({ $ }) { return this.acme.hello('step'); } };";

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    std::fs::create_dir_all(path.parent().expect("a parent")).expect("makes a folder");
    std::fs::write(path, text).expect("writes");
}

pub(crate) fn tree(root: &Path) {
    write(root, "components/acme/acme.app.mjs", APP);
    write(root, "components/acme/package.json", r#"{ "name": "@pipedream/acme", "main": "acme.app.mjs" }"#);
    write(root, "components/acme/sources/common/base.mjs", "import acme from '../../acme.app.mjs'; export default { props: { acme } };");
    write(root, "components/acme/sources/new-thing/new-thing.mjs", SOURCE);
    write(root, "components/acme/actions/do-thing/do-thing.mjs", ACTION);
    write(root, "components/acme/actions/broken/broken.mjs", "export default {");
    write(root, "components/other/other.app.mjs", "export default { type: 'app', app: 'other' };");
    write(root, "components/other/node_modules/x/index.js", "not taken along");
}

/// The command line against the server: its status and what it printed.
pub(crate) fn millrace(server: &Server, args: &[&str]) -> (Option<i32>, Value, String) {
    let output = Command::new(binary())
        .arg("--json")
        .args(args)
        .env("MILLRACE_URL", &server.url)
        .env("MILLRACE_API_KEY", &server.api_key)
        .output()
        .expect("the command line starts");
    let json = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    (output.status.code(), json, String::from_utf8_lossy(&output.stderr).into_owned())
}

async fn upload(server: &Server, query: &str, body: Vec<u8>) -> Answer {
    let request = server.raw(reqwest::Method::POST, &format!("/v1/registries?{query}")).bearer_auth(&server.api_key);
    millrace_tests::answer(request.header("content-type", "application/gzip").body(body)).await
}

#[tokio::test]
async fn r2_5_a_folder_is_added_searched_and_deployed_from() {
    let server = Server::start().await;
    let dir = tempfile::tempdir().expect("a folder");
    tree(dir.path());
    let folder = dir.path().to_str().expect("UTF-8");
    let (status, added, stderr) = millrace(&server, &["registry", "add", folder, "--name", "ours"]);
    assert_eq!(status, Some(0), "{stderr}");
    assert_eq!((&added["component_count"], &added["file_count"], &added["unindexed_count"]), (&json!(2), &json!(7), &json!(1)), "{added}");
    assert_eq!(added["unindexed"][0]["path"], "components/acme/actions/broken/broken.mjs");

    let found = server.get("/components/search?query=new+thing&limit=5").await.data();
    assert_eq!((&found["sources"], &found["actions"]), (&json!(["acme-new-thing"]), &json!(["acme-do-thing"])));
    assert_eq!(found["components"][0]["key"], "acme-new-thing", "a hit in the key comes before one in the description");
    assert_eq!(server.get("/components/search?query=thing&app=other").await.data()["components"], json!([]));

    let shown = server.get("/components/registry/acme-new-thing").await.data();
    assert_eq!((&shown["name"], &shown["version"], &shown["type"], &shown["apps"]), (&json!("New Thing"), &json!("0.0.3"), &json!("source"), &json!(["acme"])));
    assert_eq!(shown["configurable_props"][1], json!({ "name": "greeting", "type": "string", "label": "How to greet", "optional": true }));
    assert_eq!(shown["code"], SOURCE);

    let (status, source, stderr) = millrace(&server, &["deploy", "acme-new-thing"]);
    assert_eq!(status, Some(0), "{stderr}");
    let id = source["id"].as_str().expect("an id");
    let run = server.post(&format!("/sources/{id}/run"), &json!({})).await.data();
    assert_eq!(run["return_value"], json!(["hello you", "other", true]));
    let by_key = server.post("/sources", &json!({ "key": "acme-new-thing@0.0.3", "name": "by key" })).await.data();
    assert_eq!(by_key["active"], true);
    assert_eq!(server.post("/sources", &json!({ "key": "acme-new-thing@9" })).await.refusal(), (422, "no_such_version"));

    let body = json!({ "triggers": [{ "type": "http" }], "steps": [{ "namespace": "act", "component_key": "acme-do-thing" }], "settings": { "name": "w" } });
    let workflow = server.post("/workflows", &body).await.data();
    let test = server.post(&format!("/workflows/{}/test", workflow["id"].as_str().expect("an id")), &json!({ "event": {} })).await.data();
    assert_eq!(test["steps"][0]["exports"]["$return_value"], "hello step", "{test}");
}

#[tokio::test]
async fn r2_4_an_update_replaces_what_was_there_and_a_removed_registry_leaves_what_runs() {
    let server = Server::start().await;
    let dir = tempfile::tempdir().expect("a folder");
    tree(dir.path());
    let folder = dir.path().to_str().expect("UTF-8");
    assert_eq!(millrace(&server, &["registry", "add", folder, "--name", "ours"]).0, Some(0));
    let (status, _, stderr) = millrace(&server, &["registry", "add", folder, "--name", "ours"]);
    assert!(status == Some(1) && stderr.contains("there is a registry `ours`"), "{stderr}");
    let source = server.post("/sources", &json!({ "key": "acme-new-thing" })).await.data();

    write(dir.path(), "components/acme/actions/do-thing/do-thing.mjs", &ACTION.replace("1.0.0", "1.0.1"));
    std::fs::remove_dir_all(dir.path().join("components/acme/sources/new-thing")).expect("removes");
    let (status, updated, stderr) = millrace(&server, &["registry", "update", "ours"]);
    assert_eq!(status, Some(0), "{stderr}");
    assert_eq!(updated["component_count"], 1);
    assert_eq!(server.get("/components/search?query=thing").await.data()["sources"], json!([]));
    assert_eq!(server.get("/components/registry/acme-do-thing").await.data()["version"], "1.0.1");
    assert_eq!(server.post("/sources", &json!({ "key": "acme-new-thing" })).await.status, 404);

    let (_, list, _) = millrace(&server, &["registry", "list"]);
    assert_eq!((&list[0]["name"], &list[0]["origin"]), (&json!("ours"), &json!(dir.path().canonicalize().expect("a path").to_str())), "{list}");
    assert_eq!(millrace(&server, &["registry", "remove", "ours"]).0, Some(0));
    assert_eq!(server.get("/registries").await.data(), json!([]));
    assert_eq!(server.get("/components/registry/acme-do-thing").await.status, 404);
    let run = server.post(&format!("/sources/{}/run", source["id"].as_str().expect("an id")), &json!({})).await.data();
    assert_eq!(run["return_value"][0], "hello you");
}

#[tokio::test]
async fn r2_4_what_is_no_tree_is_refused_and_leaves_nothing() {
    let server = Server::start().await;
    assert_eq!(upload(&server, "name=x", b"no archive".to_vec()).await.refusal(), (422, "invalid_archive"));
    assert_eq!(upload(&server, "name=x", Vec::new()).await.refusal(), (422, "missing_field"));
    assert_eq!(upload(&server, "", b"x".to_vec()).await.refusal().0, 422);
    assert_eq!(upload(&server, "name=..%2Fx", b"x".to_vec()).await.refusal(), (422, "invalid_field"));
    // A path of the server's is no way to name a tree.
    assert_eq!(server.post("/registries", &json!({ "name": "x", "path": "/etc" })).await.refusal().0, 422);
    assert_eq!(server.put("/registries/none", &json!({})).await.status, 404);
    assert_eq!(server.delete("/registries/none").await.refusal(), (404, "not_found"));
    assert_eq!(server.get("/registries").await.data(), json!([]));
    let (status, _, stderr) = millrace(&server, &["registry", "add", "no/such/folder"]);
    assert!(status == Some(2) && stderr.contains("neither a folder nor an address"), "{stderr}");
}

#[tokio::test]
async fn r2_4_another_organization_sees_nothing_of_it() {
    let server = Server::start().await;
    let dir = tempfile::tempdir().expect("a folder");
    tree(dir.path());
    assert_eq!(millrace(&server, &["registry", "add", dir.path().to_str().expect("UTF-8"), "--name", "ours"]).0, Some(0));
    let other = server.post("/workspaces", &json!({ "name": "other", "orgname": "other", "email": "o@example.com" })).await.data();
    let key = other["api_key"].as_str().expect("a key").to_owned();
    let get = |path: &'static str| server.call_as(&key, reqwest::Method::GET, path, None);
    assert_eq!(get("/registries").await.data(), json!([]));
    assert_eq!(get("/components/search?query=thing").await.data()["components"], json!([]));
    assert_eq!(get("/components/registry/acme-new-thing").await.status, 404);
    assert_eq!(server.call_as(&key, reqwest::Method::DELETE, "/registries/ours", None).await.status, 404);
}
