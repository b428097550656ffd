//! Updates of registries: what they could not index, what was refused, and where code is from.

use millrace_tests::{Answer, Server, answer};
use serde_json::{Value, json};

use super::registries::{millrace, tree};

async fn put(server: &Server, name: &str, body: Vec<u8>) -> Answer {
    let request = server
        .raw(reqwest::Method::PUT, &format!("/v1/registries/{name}?revision=later"))
        .bearer_auth(&server.api_key);
    answer(request.header("content-type", "application/gzip").body(body)).await
}

fn add(server: &Server, dir: &tempfile::TempDir, name: &str) {
    let folder = dir.path().to_str().expect("UTF-8");
    let (status, _, stderr) = millrace(server, &["registry", "add", folder, "--name", name]);
    assert_eq!(status, Some(0), "{stderr}");
}

#[tokio::test]
async fn r2_4_a_registry_keeps_what_its_last_update_could_not_index_and_why_one_was_refused() {
    let server = Server::start().await;
    let dir = tempfile::tempdir().expect("a folder");
    tree(dir.path());
    add(&server, &dir, "ours");
    let broken = "components/acme/actions/broken/broken.mjs";
    let kept = server.get("/registries/ours").await.data();
    assert_eq!(
        (&kept["unindexed_count"], &kept["unindexed"][0]["path"], &kept["failed_update"]),
        (&json!(1), &json!(broken), &Value::Null),
        "{kept}"
    );
    assert!(kept["unindexed"][0]["reason"].as_str().is_some_and(|why| !why.is_empty()), "{kept}");
    assert_eq!(server.get("/registries/none").await.refusal(), (404, "not_found"));
    let (_, shown, _) = millrace(&server, &["registry", "show", "ours"]);
    assert_eq!(shown["unindexed"][0]["path"], broken, "{shown}");

    // A refused update leaves the registry as it was, and says why it is.
    let refused = put(&server, "ours", b"no archive".to_vec()).await;
    assert_eq!(refused.refusal(), (422, "invalid_archive"));
    let listed = server.get("/registries").await.data()[0].clone();
    assert_eq!(listed["failed_update"]["message"], refused.json["error"], "{listed}");
    assert_eq!(
        (&listed["component_count"], &listed["unindexed_count"], &listed["revision"]),
        (&json!(2), &json!(1), &kept["revision"])
    );
    assert!(listed.get("unindexed").is_none(), "the files are those of one registry: {listed}");

    // One that works takes both away.
    std::fs::remove_file(dir.path().join(broken)).expect("removes");
    assert_eq!(millrace(&server, &["registry", "update", "ours"]).0, Some(0));
    let mended = server.get("/registries/ours").await.data();
    assert_eq!(
        (&mended["unindexed_count"], &mended["unindexed"], &mended["failed_update"]),
        (&json!(0), &json!([]), &Value::Null)
    );
}

#[tokio::test]
async fn r2_5_a_component_says_which_registry_its_code_is_from_and_search_asks_for_one() {
    let server = Server::start().await;
    let dir = tempfile::tempdir().expect("a folder");
    tree(dir.path());
    add(&server, &dir, "ours");
    // What has the keys of an older registry is found there.
    add(&server, &dir, "theirs");
    let keys = async |query: &str| {
        let found = server.get(&format!("/components/search?query=thing{query}")).await.json;
        let components = found["data"]["components"].as_array().expect("a list").clone();
        let pair = |c: Value| (c["key"].clone(), c["registry"].clone());
        components.into_iter().map(pair).collect::<Vec<_>>()
    };
    let of = |key: &str, registry: Value| (json!(key), registry);
    let ours = [of("acme-new-thing", json!("ours")), of("acme-do-thing", json!("ours"))];
    let mut all = keys("").await;
    all.sort_by_key(|(key, _)| std::cmp::Reverse(key.to_string()));
    assert_eq!(all, ours);
    assert_eq!(keys("&registry=ours").await.len(), 2);
    assert!(keys("&registry=theirs").await.is_empty());
    let unknown = server.get("/components/search?registry=nobodys").await;
    assert_eq!((unknown.status, &unknown.json["details"]["field"]), (422, &json!("registry")));
    assert!(unknown.text.contains("`ours`, `theirs`"), "{}", unknown.text);
    let (_, found, _) = millrace(
        &server,
        &["registry", "search", "thing", "--registry", "ours", "--type", "source"],
    );
    assert_eq!(found[0]["key"], "acme-new-thing", "{found}");

    let registry = server.get("/registries/ours").await.data();
    let from = json!({ "name": "ours", "revision": registry["revision"], "indexed_at": registry["updated_at"] });
    let shown = server.get("/components/registry/acme-do-thing").await.data();
    assert_eq!(shown["registry"], from, "{shown}");
    // As a saved component it says the same; code from elsewhere is of none.
    let source = server.post("/sources", &json!({ "key": "acme-new-thing" })).await.data();
    let saved = async |id: &Value| {
        server.get(&format!("/components/{}", id.as_str().expect("an id"))).await.data()
    };
    assert_eq!(saved(&source["component_id"]).await["registry"], from);
    let own = "export default { key: 'own-thing', name: 'Own Thing', version: '1.0.0', type: 'action', run() {} };";
    let own = json!({ "component_code": own, "publish": true });
    assert_eq!(server.post("/components", &own).await.data()["registry"], Value::Null);
    assert!(keys("").await.contains(&of("own-thing", Value::Null)));

    // What was deployed from it is named before it is removed.
    let would = server.delete("/registries/ours?dry_run=true").await.data();
    assert_eq!(
        (&would["deleted"], &would["would_go"]["uses"][0]["id"]),
        (&json!(false), &source["id"]),
        "{would}"
    );
    assert_eq!(server.get("/registries/ours").await.status, 200);
    assert_eq!(server.delete("/registries/ours").await.data()["deleted"], true);
    assert_eq!(saved(&source["component_id"]).await["registry"], from);
}
