//! Sources that a workflow's triggers name by key: one for each trigger, whatever becomes of the
//! workflow's name, folder and the order of its triggers.

use millrace_tests::cli::Shell;
use millrace_tests::{Client, Server};
use serde_json::Value;

const SIGNUPS: &str = "export default { name: 'Signups', version: '0.0.1', key: 'signups', type: 'source', props: { plan: { type: 'string', optional: true } }, run() {} };\n";
const OWN: &str = "{ type: source, key: signups, props: { plan: pro } }";

fn workflow(name: &str, triggers: &[&str]) -> String {
    format!("name: {name}\ntriggers: [{}]\nsteps: []\n", triggers.join(", "))
}

/// Ids of all sources, the oldest first.
async fn sources(server: &Client) -> Vec<String> {
    let list = server.get("/users/me/sources").await.json;
    let ids = list["data"].as_array().into_iter().flatten().rev();
    ids.map(|source| source["id"].as_str().unwrap_or("").to_owned()).collect()
}

#[tokio::test]
async fn a_triggers_source_is_kept_through_pull_rename_and_another_order() {
    let server = Server::shared().await;
    let shell = Shell::new(&server);
    shell.write(&[("signups.mjs", SIGNUPS), ("a/workflow.yaml", &workflow("reptest", &[OWN]))]);
    shell.run(&["publish", "signups.mjs"]).ok();
    shell.run(&["workflows", "deploy", "a"]).ok();
    let first = sources(&server).await;
    assert_eq!(first.len(), 1);
    let unchanged = async |what: &str| assert_eq!(sources(&server).await, first, "{what}");
    // A folder that was pulled names the source by its name.
    shell.run(&["workflows", "pull", "reptest", "--to", "b"]).ok();
    shell.run(&["workflows", "deploy", "b"]).ok();
    unchanged("pulled").await;
    shell.write(&[("a/workflow.yaml", &workflow("renamed", &[OWN]))]);
    shell.run(&["workflows", "deploy", "a"]).ok();
    unchanged("renamed").await;
    // One before it is another source; the first keeps what it is.
    let other = "{ type: source, key: signups, props: { plan: free } }";
    shell.write(&[("a/workflow.yaml", &workflow("renamed", &["{ type: http }", other, OWN]))]);
    let made = shell.run(&["workflows", "deploy", "a", "--json"]).json();
    assert_eq!(made["triggers"][2]["id"], first[0].as_str());
    assert_eq!(sources(&server).await.len(), 2);
    assert!(shell.run(&["workflows", "diff", "a"]).ok().is_empty());
    // Another workflow that listens to a source keeps it from being deleted with its trigger.
    let listens = format!(
        "{{ type: source, source: {} }}",
        made["triggers"][1]["id"].as_str().expect("an id")
    );
    shell.write(&[
        ("listens/workflow.yaml", &workflow("listens", &[&listens])),
        ("a/workflow.yaml", &workflow("renamed", &[OWN])),
    ]);
    shell.run(&["workflows", "deploy", "listens"]).ok();
    shell.run(&["workflows", "deploy", "a"]).ok();
    assert_eq!(sources(&server).await.len(), 2);
    // The workflow takes its own with it.
    shell.run(&["workflows", "delete", "a"]).ok();
    assert!(!sources(&server).await.contains(&first[0]));
}

#[tokio::test]
async fn apply_keeps_the_sources_of_triggers_and_deletes_what_its_plan_names() {
    let server = Server::shared().await;
    let shell = Shell::new(&server);
    shell.write(&[
        ("signups.mjs", SIGNUPS),
        ("pr/millrace.yaml", "project: pr\n"),
        ("pr/workflows/w/workflow.yaml", &workflow("w", &[OWN])),
    ]);
    shell.run(&["publish", "signups.mjs"]).ok();
    shell.run(&["apply", "pr", "--yes"]).ok();
    let first = sources(&server).await;
    // Another order, then another folder.
    shell.write(&[("pr/workflows/w/workflow.yaml", &workflow("w", &["{ type: http }", OWN]))]);
    shell.run(&["apply", "pr", "--yes", "--prune"]).ok();
    std::fs::rename(shell.path("pr/workflows/w"), shell.path("pr/workflows/v")).expect("moved");
    let moved = shell.run(&["apply", "pr", "--yes", "--prune", "--json"]).json();
    let actions = |report: &Value| {
        let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
        let items = report["items"].as_array().into_iter().flatten();
        let mut done: Vec<String> =
            items.map(|i| format!("{} {}", text(&i["kind"]), text(&i["action"]))).collect();
        done.sort();
        done
    };
    assert_eq!(actions(&moved), ["workflow update"]);
    assert_eq!(sources(&server).await, first);
    assert!(shell.run(&["apply", "pr", "--yes", "--prune"]).stderr.contains("nothing to do"));
    // A trigger that is gone: its source is in the plan, and only `--prune` deletes it.
    shell.write(&[("pr/workflows/v/workflow.yaml", &workflow("w", &["{ type: http }"]))]);
    let left = shell.run(&["apply", "pr", "--yes", "--json"]).json();
    assert_eq!(actions(&left), ["source left", "workflow update"]);
    assert_eq!(sources(&server).await, first);
    let pruned = shell.run(&["apply", "pr", "--yes", "--prune", "--json"]).json();
    assert_eq!(actions(&pruned), ["source delete", "workflow unchanged"]);
    assert_eq!(sources(&server).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_workflow_file_that_says_what_is_live_keeps_its_form_when_it_is_pulled() {
    let server = Server::shared().await;
    let shell = Shell::new(&server);
    shell.run(&["workflows", "init", "kept"]).ok();
    shell.run(&["workflows", "deploy", "kept"]).ok();
    let own = format!("# ours\n{}", shell.read("kept/workflow.yaml"));
    shell.write(&[("kept/workflow.yaml", &own)]);
    shell.run(&["workflows", "pull", "kept"]).ok();
    assert_eq!(shell.read("kept/workflow.yaml"), own);
    // What it says otherwise is not written over.
    let other = own.replace("world", "moon");
    assert_ne!(other, own);
    shell.write(&[("kept/workflow.yaml", &other)]);
    assert!(shell.run(&["workflows", "pull", "kept"]).fails(1).contains("other content"));
    assert_eq!(shell.read("kept/workflow.yaml"), other);
}
