//! `apply`: a folder of workflows and sources is one project, and git is the source of truth.

use millrace_tests::Server;
use millrace_tests::cli::Shell;
use serde_json::{Value, json};

const TICK: &str = "export default { name: 'Tick', version: '0.0.1', key: 'tick', type: 'source', props: { n: { type: 'integer', default: 1 }, token: { type: 'string', secret: true, optional: true } }, \
                    run() { this.$emit({ n: this.n, token: this.token }); } };\n";
const STEP: &str = "steps: [{ namespace: a, code_file: a.mjs }]\n";
const CODE: &str =
    "export default defineComponent({ run({ steps }) { return steps.trigger.event; } });\n";

fn shop(shell: &Shell) {
    shell.write(&[
        ("shop/millrace.yaml", "project: shop\n"),
        ("shop/sources/tick.mjs", TICK),
        ("shop/sources/tick.yaml", "props: { n: 7 }\n"),
        // Before `watch` in the alphabet, and handled by what comes after it.
        (
            "shop/workflows/buy/workflow.yaml",
            &format!("error_handler: watch\ntriggers: [{{ type: http }}]\n{STEP}"),
        ),
        ("shop/workflows/buy/a.mjs", CODE),
        (
            "shop/workflows/watch/workflow.yaml",
            &format!("triggers: [{{ type: source, source: tick }}]\n{STEP}"),
        ),
        ("shop/workflows/watch/a.mjs", CODE),
    ]);
}

/// Actions by path.
fn actions(report: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
    let mut items: Vec<(String, String)> = report["items"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|i| (text(&i["path"]), text(&i["action"])))
        .collect();
    items.sort();
    items
}

fn expected(items: [(&str, &str); 3]) -> Vec<(String, String)> {
    items.iter().map(|(path, action)| ((*path).to_owned(), (*action).to_owned())).collect()
}

#[tokio::test]
async fn a_project_is_made_true_once() {
    let server = Server::shared().await;
    let shell = Shell::new(&server);
    shop(&shell);
    // The plan alone changes nothing, and without a terminal nobody says yes.
    let plan = shell.run(&["apply", "shop", "--dry-run", "--json"]).json();
    let all = |action| {
        expected([("sources/tick", action), ("workflows/buy", action), ("workflows/watch", action)])
    };
    assert_eq!((actions(&plan), &plan["dry_run"]), (all("create"), &json!(true)));
    assert!(shell.run(&["apply", "shop"]).fails(2).contains("--yes"));
    assert_eq!(server.get("/workflows").await.json["page_info"]["total_count"], 0);
    let told = shell.run(&["apply", "shop", "--yes"]);
    assert!(
        told.stderr.contains("3 to create") && told.stderr.contains("created workflows/buy"),
        "{told:?}"
    );
    told.ok();
    let again = shell.run(&["apply", "shop", "--yes"]);
    assert!(again.stderr.contains("nothing to do"), "{again:?}");
    // It works.
    let tick = server.get("/users/me/sources").await.json["data"][0].clone();
    assert_eq!(
        (&tick["name"], &tick["made_from"]["project"], &tick["made_from"]["path"]),
        (&json!("tick"), &json!("shop"), &json!("sources/tick"))
    );
    shell.run(&["run", "tick"]).ok();
    let watch = shell.run(&["workflows", "describe", "watch", "--json"]).json()["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let runs = server
        .until("the run", &format!("/workflows/{watch}/runs?status=succeeded"), |l| {
            l["page_info"]["total_count"] == 1
        })
        .await;
    assert_eq!(runs["data"][0]["event"]["n"], 7);
    // Only what changed is changed, for the reason that is told; ids and addresses stay.
    shell.write(&[
        ("shop/workflows/watch/a.mjs", &CODE.replace("steps.trigger.event", "42")),
        ("shop/sources/tick.yaml", "name: tick\n"),
    ]);
    let report = shell.run(&["apply", "shop", "--yes", "--json"]).json();
    assert_eq!(
        actions(&report),
        expected([
            ("sources/tick", "update"),
            ("workflows/buy", "unchanged"),
            ("workflows/watch", "update")
        ])
    );
    let reason = |path: &str| {
        report["items"]
            .as_array()
            .into_iter()
            .flatten()
            .find(|i| i["path"] == path)
            .map(|i| i["reason"].clone())
    };
    assert_eq!(
        (reason("workflows/watch"), reason("sources/tick")),
        (Some(json!("changed: code")), Some(json!("changed: props")))
    );
    let after = server.get("/users/me/sources").await.json["data"][0].clone();
    assert_eq!((&after["id"], &after["configured_props"]["n"]), (&tick["id"], &json!(1)));
}

#[tokio::test]
async fn what_others_change_is_changed_back() {
    let server = Server::shared().await;
    let shell = Shell::new(&server);
    shop(&shell);
    shell.run(&["apply", "shop", "--yes"]).ok();
    shell.run(&["update", "tick", "--prop", "n=8"]).ok();
    shell.run(&["workflows", "deploy", "shop/workflows/watch"]).ok();
    let report = shell.run(&["apply", "shop", "--yes", "--json"]).json();
    assert_eq!(
        actions(&report),
        expected([
            ("sources/tick", "update"),
            ("workflows/buy", "unchanged"),
            ("workflows/watch", "update")
        ])
    );
    assert_eq!(server.get("/users/me/sources").await.json["data"][0]["configured_props"]["n"], 7);
    // Switched off, rolled back, deleted by hand: all of it is mended.
    shell.run(&["update", "tick", "--deactivate"]).ok();
    shell.run(&["workflows", "rollback", "watch"]).ok();
    shell.run(&["workflows", "delete", "buy"]).ok();
    let report = shell.run(&["apply", "shop", "--yes", "--json"]).json();
    assert_eq!(
        actions(&report),
        expected([
            ("sources/tick", "update"),
            ("workflows/buy", "create"),
            ("workflows/watch", "update")
        ])
    );
    assert_eq!(server.get("/users/me/sources").await.json["data"][0]["active"], true);
    assert!(shell.run(&["apply", "shop", "--yes"]).stderr.contains("nothing to do"));
}

#[tokio::test]
async fn only_what_the_project_made_is_deleted_and_only_when_asked() {
    let server = Server::shared().await;
    let shell = Shell::new(&server);
    shop(&shell);
    shell.run(&["apply", "shop", "--yes"]).ok();
    // Neither what is made by hand nor another project's is touched.
    shell.write(&[
        ("hand/workflow.yaml", "name: by hand\nsteps: []\n"),
        ("other/workflows/their/workflow.yaml", "steps: []\n"),
    ]);
    shell.run(&["workflows", "deploy", "hand"]).ok();
    shell.run(&["apply", "other", "--yes"]).ok();
    std::fs::remove_dir_all(shell.path("shop/workflows/watch")).expect("removes");
    shell.write(&[("shop/workflows/buy/workflow.yaml", &format!("error_handler: false\n{STEP}"))]);
    let left = shell.run(&["apply", "shop", "--yes", "--json"]).json();
    assert_eq!(
        actions(&left),
        expected([
            ("sources/tick", "unchanged"),
            ("workflows/buy", "update"),
            ("workflows/watch", "left")
        ])
    );
    let names = || async {
        let list = server.get("/workflows?limit=100").await.json;
        let mut names: Vec<String> = list["data"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|w| w["name"].as_str().unwrap_or("").to_owned())
            .collect();
        names.sort();
        names
    };
    assert_eq!(names().await, ["buy", "by hand", "their", "watch"]);
    let pruned = shell.run(&["apply", "shop", "--yes", "--prune", "--json"]).json();
    assert_eq!(
        actions(&pruned),
        expected([
            ("sources/tick", "unchanged"),
            ("workflows/buy", "unchanged"),
            ("workflows/watch", "delete")
        ])
    );
    assert_eq!(names().await, ["buy", "by hand", "their"]);
    // One of the same name that the project did not make is not taken over unless asked.
    shell.write(&[("shop/workflows/hand/workflow.yaml", "name: by hand\nsteps: []\n")]);
    let refused = shell.run(&["apply", "shop", "--yes"]).fails(1);
    assert!(refused.contains("`by hand`") && refused.contains("--adopt"), "{refused}");
    shell.run(&["apply", "shop", "--yes", "--adopt"]).ok();
    assert_eq!(names().await, ["buy", "by hand", "their"]);
    assert!(shell.run(&["apply", "shop", "--yes"]).stderr.contains("nothing to do"));
    // Nothing is left in a folder that still says which project it is.
    for gone in ["workflows", "sources"] {
        std::fs::remove_dir_all(shell.path(&format!("shop/{gone}"))).expect("removes");
    }
    shell.run(&["apply", "shop", "--yes", "--prune"]).ok();
    assert_eq!(names().await, ["their"]);
    assert!(shell.run(&["apply", "shop/nothing"]).fails(1).contains("could not read"));
}

/// `git mv`: what is moved is what it was, and is not deleted as what is gone.
#[tokio::test]
async fn what_is_moved_within_the_project_stays_what_it_was() {
    let server = Server::shared().await;
    let shell = Shell::new(&server);
    let (named_tick, named_buy) = (
        "name: tick\nprops: { n: 7 }\n",
        format!("name: buy\ntriggers: [{{ type: http }}]\n{STEP}"),
    );
    shop(&shell);
    shell.write(&[
        ("shop/sources/tick.yaml", named_tick),
        ("shop/workflows/buy/workflow.yaml", &named_buy),
    ]);
    shell.run(&["apply", "shop", "--yes"]).ok();
    let records = async || {
        let (sources, workflows) =
            (server.get("/users/me/sources").await.json, server.get("/workflows").await.json);
        let ids = |list: &Value| {
            list["data"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|r| r["id"].to_string())
                .collect::<Vec<_>>()
        };
        (ids(&sources), ids(&workflows))
    };
    let before = records().await;
    let moved =
        |from: &str, to: &str| std::fs::rename(shell.path(from), shell.path(to)).expect("moved");
    moved("shop/sources/tick.mjs", "shop/sources/tock.mjs");
    moved("shop/sources/tick.yaml", "shop/sources/tock.yaml");
    moved("shop/workflows/buy", "shop/workflows/purchase");
    let applied = shell.run(&["apply", "shop", "--yes", "--prune", "--json"]).json();
    let expected = [
        ("sources/tock", "update"),
        ("workflows/purchase", "update"),
        ("workflows/watch", "unchanged"),
    ];
    assert_eq!(
        actions(&applied),
        expected.map(|(path, action)| (path.to_owned(), action.to_owned()))
    );
    assert_eq!(records().await, before);
    let again = shell.run(&["apply", "shop", "--yes", "--prune"]);
    assert!(again.stderr.contains("nothing to do"), "{again:?}");
}

#[tokio::test]
async fn what_fails_leaves_the_others_applied_and_is_told() {
    let server = Server::shared().await;
    let shell = Shell::new(&server);
    shop(&shell);
    shell.write(&[
        ("shop/sources/tick.yaml", "props: { n: 7, token: { $env: TICK_TOKEN } }\n"),
        ("shop/workflows/third/workflow.yaml", "steps: []\n"),
    ]);
    // The source lacks its value, so what listens to it and what that handles fail too; the third
    // is made.
    let done = shell.run(&["apply", "shop", "--yes"]);
    let told = done.fails(1);
    assert!(
        told.contains("✗ sources/tick: the environment variable `TICK_TOKEN`")
            && told.contains("created workflows/third")
            && told.contains("1 of 4 were done; 3 failed"),
        "{told}"
    );
    assert_eq!(server.get("/workflows").await.json["page_info"]["total_count"], 1);
    let mut command = shell.command(&["apply", "shop", "--yes", "--json"]);
    let output = command.env("TICK_TOKEN", "s3cret-value").output().expect("runs");
    assert!(output.status.success(), "{output:?}");
    assert!(!String::from_utf8_lossy(&output.stdout).contains("s3cret-value"));
    let tick = server.get("/users/me/sources").await.json["data"][0].clone();
    assert!(!tick.to_string().contains("s3cret-value"), "{tick}");
    shell.run(&["run", "tick"]).ok();
    let events = server
        .until(
            "the event",
            &format!("/sources/{}/event_summaries", tick["id"].as_str().expect("an id")),
            |l| l["page_info"]["count"] == 1,
        )
        .await;
    assert_eq!(events["data"][0]["event"]["token"], "s3cret-value");
    // A project that is wrong anywhere is not applied at all.
    shell.write(&[
        ("shop/workflows/third/workflow.yaml", "stepz: []\n"),
        ("shop/sources/tick.mjs", &TICK.replace("'Tick'", "'Tock'")),
    ]);
    assert!(shell.run(&["apply", "shop", "--yes"]).fails(1).contains("no field `stepz`"));
    assert_eq!(
        server.get("/users/me/sources").await.json["data"][0]["component_id"],
        tick["component_id"]
    );
}

#[tokio::test]
async fn marks_are_checked_and_emptied_by_other_changes() {
    let server = Server::shared().await;
    let mark = json!({ "project": "p", "path": "w", "fingerprints": { "code": "1" } });
    let workflow = server
        .post("/workflows", &json!({ "steps": [], "name": "w", "made_from": mark }))
        .await
        .data();
    assert_eq!(workflow["made_from"], mark);
    let path = format!("/workflows/{}", workflow["id"].as_str().expect("an id"));
    let other = server.put(&path, &json!({ "name": "v" })).await.data();
    assert_eq!(other["made_from"], json!({ "project": "p", "path": "w", "fingerprints": {} }));
    for wrong in [
        json!({ "project": "", "path": "w" }),
        json!({ "project": "p" }),
        json!({ "project": "p", "path": "w", "more": 1 }),
        json!("p"),
        json!({ "project": "p", "path": "w", "fingerprints": { "a": "x".repeat(200) } }),
    ] {
        let refused = server.put(&path, &json!({ "made_from": wrong })).await;
        assert_eq!(refused.status, 422, "{wrong}: {}", refused.text);
        assert_eq!(
            server.post("/workflows", &json!({ "steps": [], "made_from": wrong })).await.status,
            422
        );
    }
    assert_eq!(server.get("/workflows").await.json["page_info"]["total_count"], 1);
}
