//! Slips at the command line: refusals that change nothing, and warnings.

use millrace_tests::Server;
use millrace_tests::cli::Shell;
use serde_json::json;

#[tokio::test]
async fn an_empty_path_deletes_no_file_store() {
    let server = Server::shared().await;
    let shell = Shell::new(&server);
    shell.write(&[("june.csv", "a,b")]);
    let file = shell.path("june.csv");
    shell.run(&["files", "put", "reports", &file.to_string_lossy()]).ok();
    shell.run(&["files", "delete", "reports", ""]).fails(2);
    let refused = server.delete("/file_stores/reports/files?path=").await;
    assert_eq!((refused.status, &refused.json["details"]["field"]), (422, &json!("path")));
    assert!(shell.run(&["files", "list", "reports"]).ok().contains("june.csv"));
    shell.run(&["files", "delete", "reports"]).ok();
    assert_eq!(server.get("/file_stores").await.data(), json!([]));
}

#[tokio::test]
async fn dev_watches_a_file_and_says_what_deploys_a_key() {
    let server = Server::shared().await;
    let shell = Shell::new(&server);
    let code =
        "export default { key: 'ticks', name: 'T', version: '0.0.1', type: 'source', run() {} };";
    shell.write(&[("ticks.mjs", code)]);
    shell.run(&["publish", "ticks.mjs"]).ok();
    shell.run(&["deploy", "ticks"]).ok();
    let source = server.get("/users/me/sources").await.json["data"][0].clone();
    let dc = source["id"].as_str().expect("an id");
    let refused = shell.run(&["dev", "--dc", dc, "ticks"]).fails(2);
    assert!(refused.contains("there is no file `ticks`"), "{refused}");
    assert!(refused.contains("millrace update SOURCE --code KEY"), "{refused}");
    shell.run(&["update", dc, "--code", "ticks"]).ok();
}

#[tokio::test]
async fn a_path_of_a_file_store_is_a_file_or_a_folder() {
    let server = Server::shared().await;
    let shell = Shell::new(&server);
    shell.write(&[("june.csv", "a,b")]);
    let file = shell.path("june.csv");
    let file = file.to_string_lossy();
    shell.run(&["files", "put", "mixed", &file, "a/b"]).ok();
    for path in ["a", "a/b/c"] {
        let refused = shell.run(&["files", "put", "mixed", &file, path]).fails(1);
        assert!(refused.contains("would be a file and a folder"), "{refused}");
    }
    let code = "import { Readable } from 'node:stream'; export default { name: 's', version: '1', props: { dir: { type: 'dir' } }, async run() { return await this.dir.open('a').fromReadableStream(Readable.from(['x'])).catch((e) => e.message); } };";
    let told = server.returned(code, json!({ "dir": "mixed" })).await;
    assert!(told.as_str().is_some_and(|told| told.contains("a file and a folder")), "{told}");
}

#[tokio::test]
async fn one_record_is_made_from_a_file_of_a_project() {
    let server = Server::shared().await;
    let code =
        "export default { key: 'a', name: 'A', version: '0.0.1', type: 'source', run() {} };";
    let made_from = json!({ "project": "shop", "path": "sources/a" });
    let source = json!({ "component_code": code, "made_from": made_from });
    assert_eq!(server.post("/sources", &source).await.status, 200);
    assert_eq!(server.post("/sources", &source).await.refusal(), (409, "taken"));
    let workflow = json!({ "name": "A", "steps": [], "made_from": made_from });
    assert_eq!(server.post("/workflows", &workflow).await.status, 200);
    assert_eq!(server.post("/workflows", &workflow).await.refusal(), (409, "taken"));
    // Without a mark the name is what tells them apart, where that is asked for.
    let named = json!({ "name": "A", "steps": [], "unique_name": true });
    assert_eq!(server.post("/workflows", &named).await.refusal(), (409, "taken"));
    assert_eq!(server.post("/workflows", &json!({ "name": "A", "steps": [] })).await.status, 200);
}

#[tokio::test]
async fn a_deploy_names_values_for_props_that_a_step_does_not_have() {
    let server = Server::shared().await;
    let shell = Shell::new(&server);
    let file = "name: misspelt\nsteps:\n  - namespace: greet\n    code: \"export default { props: { who: { type: 'string', optional: true } }, run() {} }\"\n    props: { whom: Ann }\n";
    shell.write(&[("misspelt/workflow.yaml", file)]);
    let deployed = shell.run(&["workflows", "deploy", "misspelt", "--json"]);
    let warning = "warning: step `greet`: the component has no prop `whom`";
    assert!(deployed.code == 0 && deployed.stderr.contains(warning), "{deployed:?}");
    deployed.json();
}
