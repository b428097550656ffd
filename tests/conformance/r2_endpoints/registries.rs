//! Registries: trees of components that are uploaded, searched and deployed from by key
//! (reference 2).

use std::path::Path;
use std::process::Command;

use millrace_tests::{Answer, Client, Server, binary};
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
    write(
        root,
        "components/acme/package.json",
        r#"{ "name": "@pipedream/acme", "main": "acme.app.mjs" }"#,
    );
    write(
        root,
        "components/acme/sources/common/base.mjs",
        "import acme from '../../acme.app.mjs'; export default { props: { acme } };",
    );
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
        // What it remembers of registries stays in the test.
        .env("XDG_CONFIG_HOME", server.data_dir().join("home"))
        .output()
        .expect("the command line starts");
    let json = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    (output.status.code(), json, String::from_utf8_lossy(&output.stderr).into_owned())
}

async fn upload(server: &Client, query: &str, body: Vec<u8>) -> Answer {
    let request = server
        .raw(reqwest::Method::POST, &format!("/v1/registries?{query}"))
        .bearer_auth(&server.api_key);
    millrace_tests::answer(request.header("content-type", "application/gzip").body(body)).await
}

#[tokio::test]
async fn r2_5_files_that_an_app_s_code_reads_are_part_of_a_registry() {
    let server = Server::start().await;
    let dir = tempfile::tempdir().expect("a folder");
    let action = "import fs from 'fs'; import { rows } from '../../common/rows.mjs';
      export default { key: 'acme-read', name: 'Read', version: '1.0.0', type: 'action',
        run() { return [rows(), fs.readFileSync(new URL('./logo.png', import.meta.url)).length, fs.existsSync(new URL('../../../other/x.csv', import.meta.url))]; } };";
    write(dir.path(), "components/acme/actions/read/read.mjs", action);
    let rows = "import fs from 'node:fs'; import path from 'node:path'; import { fileURLToPath } from 'node:url';
      const here = path.dirname(fileURLToPath(import.meta.url)); export const rows = () => fs.readFileSync(path.join(here, 'rows', 'all.csv'), 'utf8').split(',');";
    write(dir.path(), "components/acme/common/rows.mjs", rows);
    write(dir.path(), "components/acme/common/rows/all.csv", "a,b");
    write(dir.path(), "components/acme/.private/x.csv", "not taken");
    write(dir.path(), "components/other/x.csv", "not taken: no code of its app asks where it lies");
    std::fs::write(dir.path().join("components/acme/actions/read/logo.png"), [0xff, 0, 1])
        .expect("writes");
    std::os::unix::fs::symlink("/etc/hostname", dir.path().join("components/acme/common/link.txt"))
        .expect("links");
    let (status, added, stderr) = millrace(
        &server,
        &["registry", "add", dir.path().to_str().expect("UTF-8"), "--name", "data"],
    );
    assert_eq!((status, &added["file_count"]), (Some(0), &json!(4)), "{added} {stderr}");
    let workflow = server
        .workflow("w", json!([]), &[("a", "export default defineComponent({ run() {} });")])
        .await;
    let address =
        format!("/connect/{}/actions/run", workflow["project_id"].as_str().expect("a project"));
    let ran = server.post(&address, &json!({ "id": "acme-read", "configured_props": {} })).await;
    assert_eq!(ran.json["ret"], json!([["a", "b"], 3, false]), "{}", ran.text);
    // An archive that was packed by something else is read by the same rule.
    let packed = Command::new("tar")
        .args(["-cz", "components"])
        .current_dir(dir.path())
        .output()
        .expect("tar starts");
    let again = upload(&server, "name=packed", packed.stdout).await;
    assert_eq!(again.json["data"]["file_count"], 4, "{}", again.text);
}

#[tokio::test]
async fn r2_5_of_files_that_claim_one_key_the_one_that_is_named_so_wins_and_the_others_are_reported()
 {
    let server = Server::start().await;
    let dir = tempfile::tempdir().expect("a folder");
    let action = |key: &str, from: &str| {
        format!(
            "export default {{ key: '{key}', name: 'From {from}', version: '1.0.0', type: 'action', run() {{ return '{from}'; }} }};"
        )
    };
    for (path, key) in [
        // A copy that comes first by its path, one of the same name elsewhere, and helpers that
        // bear a key.
        ("components/acme/actions/copy/copy.mjs", "acme-mine"),
        ("components/acme/actions/mine/mine.mjs", "acme-mine"),
        ("components/acme/actions/mine/old.mjs", "acme-mine"),
        ("components/acme/actions/common/common.mjs", "acme-mine"),
        ("components/acme/common/actions/base.mjs", "acme-base"),
        ("components/other/actions/mine/mine.mjs", "acme-mine"),
        ("components/other/actions/alone/named-otherwise.mjs", "other-alone"),
    ] {
        write(dir.path(), path, &action(key, path));
    }
    let (status, added, stderr) = millrace(
        &server,
        &["registry", "add", dir.path().to_str().expect("UTF-8"), "--name", "claims"],
    );
    assert_eq!(status, Some(0), "{stderr}");
    let lost = added["unindexed"].as_array().expect("a list").iter();
    let lost: Vec<&str> = lost.map(|file| file["path"].as_str().expect("a path")).collect();
    assert_eq!(
        lost,
        [
            "components/acme/actions/common/common.mjs",
            "components/acme/actions/copy/copy.mjs",
            "components/acme/actions/mine/old.mjs",
            "components/other/actions/mine/mine.mjs"
        ],
        "{added}"
    );
    assert!(
        added["unindexed"][1]["reason"].as_str().is_some_and(|why| why.contains("acme-mine")
            && why.contains("components/acme/actions/mine/mine.mjs")),
        "{added}"
    );
    assert_eq!(added["component_count"], 2, "{added}");
    let winner = server.get("/components/registry/acme-mine").await.data();
    assert_eq!(winner["name"], "From components/acme/actions/mine/mine.mjs");
    assert_eq!(server.get("/components/registry/acme-base").await.status, 404);
}

#[tokio::test]
async fn r2_5_a_folder_is_added_searched_and_deployed_from() {
    let server = Server::start().await;
    let dir = tempfile::tempdir().expect("a folder");
    tree(dir.path());
    let folder = dir.path().to_str().expect("UTF-8");
    let (status, added, stderr) = millrace(&server, &["registry", "add", folder, "--name", "ours"]);
    assert_eq!(status, Some(0), "{stderr}");
    assert_eq!(
        (&added["component_count"], &added["file_count"], &added["unindexed_count"]),
        (&json!(2), &json!(7), &json!(1)),
        "{added}"
    );
    assert_eq!(added["unindexed"][0]["path"], "components/acme/actions/broken/broken.mjs");

    let found = server.get("/components/search?query=new+thing&limit=5").await.json;
    assert_eq!(
        (&found["sources"], &found["actions"]),
        (&json!(["acme-new-thing"]), &json!(["acme-do-thing"]))
    );
    assert_eq!(
        found["data"]["components"][0]["key"], "acme-new-thing",
        "a hit in the key comes before one in the description"
    );
    assert_eq!(
        server.get("/components/search?query=thing&app=other").await.json["data"]["components"],
        json!([])
    );

    let shown = server.get("/components/registry/acme-new-thing").await.data();
    assert_eq!(
        (&shown["name"], &shown["version"], &shown["type"], &shown["apps"]),
        (&json!("New Thing"), &json!("0.0.3"), &json!("source"), &json!(["acme"]))
    );
    assert_eq!(
        shown["configurable_props"][1],
        json!({ "name": "greeting", "type": "string", "label": "How to greet", "optional": true })
    );
    assert_eq!(shown["code"], SOURCE);

    let (status, source, stderr) = millrace(&server, &["deploy", "acme-new-thing"]);
    assert_eq!(status, Some(0), "{stderr}");
    let id = source["id"].as_str().expect("an id");
    let run = server.post(&format!("/sources/{id}/run"), &json!({})).await.data();
    assert_eq!(run["return_value"], json!(["hello you", "other", true]));
    let by_key = server
        .post("/sources", &json!({ "key": "acme-new-thing@0.0.3", "name": "by key" }))
        .await
        .data();
    assert_eq!(by_key["active"], true);
    assert_eq!(
        server.post("/sources", &json!({ "key": "acme-new-thing@9" })).await.refusal(),
        (422, "no_such_version")
    );

    let body = json!({ "triggers": [{ "type": "http" }], "steps": [{ "namespace": "act", "component_key": "acme-do-thing" }], "settings": { "name": "w" } });
    let workflow = server.post("/workflows", &body).await.data();
    let test = server
        .post(
            &format!("/workflows/{}/test", workflow["id"].as_str().expect("an id")),
            &json!({ "event": {} }),
        )
        .await
        .data();
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
    assert_eq!(
        millrace(&server, &["registry", "update", "ours"]).1["read_count"],
        0,
        "nothing changed"
    );

    write(
        dir.path(),
        "components/acme/actions/do-thing/do-thing.mjs",
        &ACTION.replace("1.0.0", "1.0.1"),
    );
    std::fs::remove_dir_all(dir.path().join("components/acme/sources/new-thing")).expect("removes");
    let (status, updated, stderr) = millrace(&server, &["registry", "update", "ours"]);
    assert_eq!(status, Some(0), "{stderr}");
    assert_eq!((&updated["component_count"], &updated["read_count"]), (&json!(1), &json!(1)));
    assert_eq!(server.get("/components/search?query=thing").await.json["sources"], json!([]));
    let shown = server.get("/components/registry/acme-do-thing").await.data();
    assert_eq!(
        (&shown["version"], &shown["versions"]),
        (&json!("1.0.1"), &json!(["1.0.1", "1.0.0"]))
    );
    assert_eq!(
        server.get("/components/registry/acme-do-thing@1.0.0").await.data()["version"],
        "1.0.0"
    );
    assert_eq!(server.post("/sources", &json!({ "key": "acme-new-thing" })).await.status, 404);

    let (_, list, _) = millrace(&server, &["registry", "list"]);
    assert_eq!(
        (&list[0]["name"], &list[0]["origin"]),
        (
            &json!("ours"),
            &json!(format!(
                "{} (a folder on the machine that added it)",
                dir.path().file_name().expect("a name").to_string_lossy().trim_start_matches('.')
            ))
        ),
        "{list}"
    );
    assert_eq!(millrace(&server, &["registry", "remove", "ours"]).0, Some(0));
    assert_eq!(server.get("/registries").await.data(), json!([]));
    assert_eq!(server.get("/components/registry/acme-do-thing").await.status, 404);
    let run = server
        .post(&format!("/sources/{}/run", source["id"].as_str().expect("an id")), &json!({}))
        .await
        .data();
    assert_eq!(run["return_value"][0], "hello you");
}

#[tokio::test]
async fn r2_4_what_is_no_tree_is_refused_and_leaves_nothing() {
    let server = Server::start().await;
    assert_eq!(
        upload(&server, "name=x", b"no archive".to_vec()).await.refusal(),
        (422, "invalid_archive")
    );
    assert_eq!(upload(&server, "name=x", Vec::new()).await.refusal(), (422, "missing_field"));
    assert_eq!(upload(&server, "", b"x".to_vec()).await.refusal().0, 422);
    assert_eq!(
        upload(&server, "name=..%2Fx", b"x".to_vec()).await.refusal(),
        (422, "invalid_field")
    );
    // A path of the server's is no way to name a tree.
    assert_eq!(
        server.post("/registries", &json!({ "name": "x", "path": "/etc" })).await.refusal().0,
        422
    );
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
    assert_eq!(
        millrace(
            &server,
            &["registry", "add", dir.path().to_str().expect("UTF-8"), "--name", "ours"]
        )
        .0,
        Some(0)
    );
    let other = server
        .post("/workspaces", &json!({ "name": "other", "email": "o@example.com" }))
        .await
        .data();
    let key = other["api_key"].as_str().expect("a key").to_owned();
    let get = |path: &'static str| server.call_as(&key, reqwest::Method::GET, path, None);
    assert_eq!(get("/registries").await.data(), json!([]));
    assert_eq!(get("/components/search?query=thing").await.json["data"]["components"], json!([]));
    assert_eq!(get("/components/registry/acme-new-thing").await.status, 404);
    assert_eq!(
        server.call_as(&key, reqwest::Method::DELETE, "/registries/ours", None).await.status,
        404
    );
}

#[tokio::test]
async fn s9_earlier_versions_of_a_key_stay_addressable() {
    let server = Server::start().await;
    let dir = tempfile::tempdir().expect("a folder");
    tree(dir.path());
    assert_eq!(
        millrace(
            &server,
            &["registry", "add", dir.path().to_str().expect("UTF-8"), "--name", "ours"]
        )
        .0,
        Some(0)
    );
    // Another version of the component and of a file that it imports.
    write(
        dir.path(),
        "components/acme/sources/new-thing/new-thing.mjs",
        &SOURCE.replace("0.0.3", "0.0.4"),
    );
    write(
        dir.path(),
        "components/acme/acme.app.mjs",
        &APP.replace("hello ${name}", "good day ${name}"),
    );
    assert_eq!(millrace(&server, &["registry", "update", "ours"]).0, Some(0));
    let says = |key: &'static str| {
        let server = &server;
        async move {
            let source = server.post("/sources", &json!({ "key": key, "name": key })).await.data();
            server
                .post(
                    &format!("/sources/{}/run", source["id"].as_str().expect("an id")),
                    &json!({}),
                )
                .await
                .data()["return_value"][0]
                .clone()
        }
    };
    assert_eq!(
        (says("acme-new-thing").await, says("acme-new-thing@0.0.4").await),
        (json!("good day you"), json!("good day you"))
    );
    assert_eq!(says("acme-new-thing@0.0.3").await, "hello you");
    let (status, source, stderr) =
        millrace(&server, &["deploy", "acme-new-thing@0.0.3", "--name", "by the command line"]);
    assert_eq!(status, Some(0), "{stderr}");
    assert_eq!(source["active"], true);
    let refused = server.post("/sources", &json!({ "key": "acme-new-thing@9" })).await;
    assert_eq!(
        (refused.refusal(), &refused.json["details"]["versions"]),
        ((422, "no_such_version"), &json!(["0.0.4", "0.0.3"]))
    );
    // Published ones too, until the key is taken away.
    let action = |version: &str| json!({ "component_code": format!("export default {{ key: 'own-act', name: 'a', version: '{version}', type: 'action', run() {{ return '{version}'; }} }};"), "publish": true });
    for version in ["1.0.0", "1.1.0"] {
        server.post("/components", &action(version)).await.data();
    }
    let version =
        async |key: &str| server.get(&format!("/components/{key}")).await.data()["version"].clone();
    assert_eq!(
        (version("own-act").await, version("own-act@1.0.0").await),
        (json!("1.1.0"), json!("1.0.0"))
    );
    let body = json!({ "steps": [{ "namespace": "act", "component_key": "own-act@1.0.0" }], "settings": { "name": "w" } });
    let workflow = server.post("/workflows", &body).await.data();
    let test = server
        .post(
            &format!("/workflows/{}/test", workflow["id"].as_str().expect("an id")),
            &json!({ "event": {} }),
        )
        .await
        .data();
    assert_eq!(test["steps"][0]["exports"]["$return_value"], "1.0.0", "{test}");
    server.delete("/components/own-act").await.data();
    assert_eq!(server.get("/components/own-act@1.0.0").await.status, 404);
}

/// Serves bytes by path, for as long as the test goes on.
async fn serve(files: Vec<(&'static str, Vec<u8>)>) -> String {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("listens");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let base = url.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = Vec::new();
            while !head.windows(4).any(|w| w == b"\r\n\r\n")
                && stream.read_buf(&mut head).await.is_ok_and(|n| n > 0)
            {}
            let head = String::from_utf8_lossy(&head).into_owned();
            let path = head.split(' ').nth(1).unwrap_or("");
            let body = files.iter().find(|(known, _)| *known == path).map(|(_, bytes)| bytes);
            let status = if body.is_some() { "200 OK" } else { "404 Not Found" };
            // What names this server's own address is only known here.
            let body = body.map(|bytes| match std::str::from_utf8(bytes) {
                Ok(text) => text.replace("BASE", &base).into_bytes(),
                Err(_) => bytes.clone(),
            });
            let body = body.unwrap_or_default();
            let answer = [
                format!(
                    "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
                    body.len()
                )
                .into_bytes(),
                body,
            ]
            .concat();
            // A client that went away is no matter here.
            let _ = stream.write_all(&answer).await;
        }
    });
    url
}

/// A folder as a `.tar.gz`, below `around`.
fn archive(folder: &Path, around: &str) -> Vec<u8> {
    let transform = format!("--transform=s,^\\.,{around},");
    let output = Command::new("tar")
        .args(["-cz", "--exclude=.git", &transform, "-C"])
        .arg(folder)
        .arg(".")
        .output()
        .expect("tar starts");
    assert!(output.status.success());
    output.stdout
}

// The command line is waited for while this serves.
#[tokio::test(flavor = "multi_thread")]
async fn registries_come_from_git_npm_and_addresses() {
    let server = Server::start().await;
    let dir = tempfile::tempdir().expect("a folder");
    let checkout = dir.path().join("components.git");
    tree(&checkout);
    let git = |args: &[&str]| {
        let fixed = [
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@example.test",
            "-c",
            "init.defaultBranch=main",
        ];
        assert!(
            Command::new("git")
                .arg("-C")
                .arg(&checkout)
                .args(fixed)
                .args(args)
                .output()
                .expect("git starts")
                .status
                .success(),
            "{args:?}"
        );
    };
    git(&["init", "--quiet"]);
    git(&["add", "."]);
    git(&["commit", "--quiet", "-m", "a"]);
    let url = format!("file://{}", checkout.display());
    let (status, added, stderr) =
        millrace(&server, &["registry", "add", &url, "--name", "from-git"]);
    assert_eq!(status, Some(0), "{stderr}");
    assert_eq!(
        (&added["component_count"], added["revision"].as_str().map(str::len), &added["origin"]),
        (&json!(2), Some(40), &json!("components (a folder on the machine that added it)"))
    );
    // A new commit is another revision.
    std::fs::remove_dir_all(checkout.join("components/acme/actions")).expect("removes");
    git(&["commit", "--quiet", "-a", "-m", "b"]);
    let (_, updated, _) = millrace(&server, &["registry", "update", "from-git"]);
    assert_eq!(updated["component_count"], 1);
    assert_ne!(updated["revision"], added["revision"]);
    let (status, _, stderr) = millrace(&server, &["registry", "add", &format!("{url}-not.git")]);
    assert!(status == Some(1) && stderr.contains("-not.git"), "{stderr}");

    // A package holds one app; a registry of packages names its archive and its checksum.
    tree(dir.path());
    let package = archive(&dir.path().join("components/acme"), "package");
    let sum = {
        use base64::Engine as _;
        use sha2::Digest as _;
        base64::engine::general_purpose::STANDARD.encode(sha2::Sha512::digest(&package))
    };
    let document = |sum: &str| {
        json!({ "version": "1.2.3", "dist": { "tarball": "BASE/acme.tgz", "integrity": format!("sha512-{sum}") } }).to_string().into_bytes()
    };
    let tarball = archive(dir.path(), "tree-main");
    let files = vec![
        ("/@scope%2facme/latest", document(&sum)),
        ("/@scope%2facme/9", document("x")),
        ("/acme.tgz", package),
        ("/tree.tar.gz", tarball),
    ];
    let base = serve(files).await;
    let (status, added, stderr) =
        millrace(&server, &["registry", "add", "npm:@scope/acme", "--npm-registry", &base]);
    assert_eq!(status, Some(0), "{stderr}");
    assert_eq!(
        (&added["name"], &added["revision"], &added["component_count"]),
        (&json!("acme"), &json!("1.2.3"), &json!(2))
    );
    let (status, _, stderr) =
        millrace(&server, &["registry", "add", "@scope/acme@9", "--npm-registry", &base]);
    assert!(status == Some(1) && stderr.contains("checksum"), "{stderr}");
    let (status, _, stderr) =
        millrace(&server, &["registry", "add", "npm:nothing", "--npm-registry", &base]);
    assert!(status == Some(1) && stderr.contains("404"), "{stderr}");
    // The package alone lacks the other app that its source imports: its action deploys.
    let body = json!({ "steps": [{ "namespace": "act", "component_key": "acme-do-thing" }], "settings": { "name": "w" } });
    let workflow = server.post("/workflows", &body).await.data();
    let test = server
        .post(
            &format!("/workflows/{}/test", workflow["id"].as_str().expect("an id")),
            &json!({ "event": {} }),
        )
        .await
        .data();
    assert_eq!(test["steps"][0]["exports"]["$return_value"], "hello step", "{test}");

    let (status, added, stderr) =
        millrace(&server, &["registry", "add", &format!("{base}/tree.tar.gz")]);
    assert_eq!(status, Some(0), "{stderr}");
    assert_eq!((&added["name"], &added["component_count"]), (&json!("tree"), &json!(2)));
    let (status, _, stderr) =
        millrace(&server, &["registry", "add", &format!("{base}/none.tar.gz")]);
    assert!(status == Some(1) && stderr.contains("404"), "{stderr}");
    assert_eq!(server.get("/registries").await.data().as_array().map(Vec::len), Some(3));
}

// The command line is waited for while this serves.
#[tokio::test(flavor = "multi_thread")]
async fn s4_5_a_source_is_deployed_by_key_and_by_address_in_the_query() {
    let server = Server::start().await;
    let dir = tempfile::tempdir().expect("a folder");
    tree(dir.path());
    assert_eq!(
        millrace(
            &server,
            &["registry", "add", dir.path().to_str().expect("UTF-8"), "--name", "ours"]
        )
        .0,
        Some(0)
    );
    let by_key = server.post("/sources?action=create&key=acme-new-thing", &json!({})).await.data();
    assert_eq!((&by_key["name"], &by_key["active"]), (&json!("New Thing"), &json!(true)));
    let files = vec![
        ("/a/source.mjs", b"import { word } from './word.mjs'; export default { name: 'From Afar', version: '1', run() { return word; } };".to_vec()),
        ("/a/word.mjs", b"export const word = 'afar';".to_vec()),
    ];
    let url = format!("{}/a/source.mjs", serve(files).await);
    let encoded: String = url.bytes().map(|b| format!("%{b:02x}")).collect();
    let by_url =
        server.post(&format!("/sources?action=create&url={encoded}"), &json!({})).await.data();
    let run = server
        .post(&format!("/sources/{}/run", by_url["id"].as_str().expect("an id")), &json!({}))
        .await
        .data();
    assert_eq!(run["return_value"], "afar");
    let (status, source, stderr) = millrace(&server, &["deploy", &url, "--name", "again"]);
    assert_eq!(status, Some(0), "{stderr}");
    assert_eq!(source["component_id"], by_url["component_id"]);
}

#[tokio::test]
async fn r2_5_search_finds_published_components_too_in_the_place_of_a_registrys_of_their_key() {
    let server = Server::start().await;
    let dir = tempfile::tempdir().expect("a folder");
    tree(dir.path());
    assert_eq!(
        millrace(
            &server,
            &["registry", "add", dir.path().to_str().expect("UTF-8"), "--name", "ours"]
        )
        .0,
        Some(0)
    );
    let publish = async |code: &str| {
        server.post("/components", &json!({ "component_code": code, "publish": true })).await.data()
    };
    let own = "import acme from './acme.app.mjs'; export default { key: 'acme-own-thing', name: 'Own Thing', version: '2.0.0', type: 'action', description: 'Ours', props: { acme }, run() {} };";
    let files = json!({ "acme.app.mjs": "export default { type: 'app', app: 'acme' };" });
    server.post("/components", &json!({ "component_code": own, "component_files": files, "component_entry": "own.mjs", "publish": true })).await.data();
    publish("export default { key: 'acme-new-thing', name: 'New Thing', version: '9.0.0', type: 'source', run() {} };").await;
    let found = server.get("/components/search?query=thing&limit=10").await.json;
    assert_eq!(
        (&found["sources"], &found["actions"]),
        (&json!(["acme-new-thing"]), &json!(["acme-do-thing", "acme-own-thing"]))
    );
    let of_key = |key: &str| {
        found["data"]["components"]
            .as_array()
            .expect("a list")
            .iter()
            .filter(|c| c["key"] == key)
            .map(|c| c["version"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (of_key("acme-new-thing"), of_key("acme-own-thing")),
        (vec![json!("9.0.0")], vec![json!("2.0.0")])
    );
    // Of one type, and of one's own alone.
    let keys = async |query: &str| {
        let found = server
            .get(&format!("/components/search?query=thing&limit=100&{query}"))
            .await
            .json["data"]["components"]
            .clone();
        found
            .as_array()
            .expect("a list")
            .iter()
            .map(|c| (c["type"].clone(), c["key"].clone()))
            .collect::<Vec<_>>()
    };
    let (all, sources, actions) =
        (keys("").await, keys("type=source").await, keys("type=action").await);
    assert_eq!(all.len(), sources.len() + actions.len());
    assert!(
        sources.iter().all(|(kind, _)| kind == "source")
            && actions.iter().all(|(kind, _)| kind == "action")
    );
    let own = keys("own=true").await;
    assert!(
        !own.is_empty() && own.len() < all.len() && own.iter().all(|found| all.contains(found)),
        "{own:?} of {all:?}"
    );
    assert_eq!(server.get("/components/search?type=app").await.json["details"]["field"], "type");
    let of_app = server.get("/components/search?app=acme&query=own").await.json;
    assert_eq!(of_app["actions"], json!(["acme-own-thing"]));
    assert_eq!(server.delete("/components/acme-own-thing").await.status, 200);
    assert_eq!(server.get("/components/search?query=own").await.json["actions"], json!([]));
}
