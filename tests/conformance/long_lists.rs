//! Lists of the command line that are longer than a page of the server's.

use std::collections::BTreeSet;

use millrace_tests::cli::Shell;
use millrace_tests::{Server, answer, endpoint, id};
use reqwest::Method;
use serde_json::{Value, json};

/// More than a page holds.
const MANY: usize = 104;

fn ids(list: &Value, field: &str) -> Vec<String> {
    list.as_array()
        .expect("a list")
        .iter()
        .map(|item| item[field].as_str().expect("a text").to_owned())
        .collect()
}

#[tokio::test]
async fn lists_of_the_command_line_are_whole_or_as_long_as_asked_for() {
    let server = Server::shared().await;
    let shell = Shell::new(&server);
    // Each run fails with a class of its own: a group and a mail for each.
    let code = "export default defineComponent({ run({ steps }) { const error = new Error('no'); error.name = 'E' + steps.trigger.event.body.n; throw error; } });";
    let workflow = server.workflow("fails", json!([{ "type": "http" }]), &[("a", code)]).await;
    for n in 0..MANY {
        answer(server.raw(Method::POST, &endpoint(&workflow)).json(&json!({ "n": n }))).await;
    }
    server
        .until("all runs", &format!("/workflows/{}/runs?status=failed", id(&workflow)), |l| {
            l["page_info"]["total_count"] == MANY
        })
        .await;

    for list in [&["runs", "list", "fails"][..], &["workflows", "runs", "fails"]] {
        let all = ids(&shell.run(&[list, &["-n", "1000", "--json"]].concat()).json(), "id");
        assert_eq!(
            (all.len(), all.iter().collect::<BTreeSet<_>>().len()),
            (MANY, MANY),
            "{list:?}: each run once"
        );
        for (flags, count) in [(&["-n", "101", "--json"][..], 101), (&["--json"], 20)] {
            assert_eq!(
                ids(&shell.run(&[list, flags].concat()).json(), "id"),
                all[..count],
                "{list:?} {flags:?}"
            );
        }
        assert!(shell.run(list).stderr.contains("20 of 104; -n shows more"), "{list:?}");
        assert!(shell.run(&[list, &["-n", "1000"]].concat()).stderr.is_empty(), "{list:?}");
        assert!(shell.run(&[list, &["-n", "0"]].concat()).fails(2).contains("-n"), "{list:?}");
    }
    assert_eq!(
        ids(
            &shell
                .run(&["runs", "list", "fails", "--status", "failed", "-n", "103", "--json"])
                .json(),
            "id"
        )
        .len(),
        103
    );

    let groups = ids(&shell.run(&["errors", "fails", "--groups", "--json"]).json(), "code");
    assert_eq!((groups.len(), groups.iter().collect::<BTreeSet<_>>().len()), (MANY, MANY));
    assert_eq!(
        shell.run(&["errors", "--groups"]).ok().lines().count(),
        MANY + 1,
        "a head and a line for each"
    );

    // Mail of one workflow is of at most 100 classes a day.
    let more = server.workflow("fails too", json!([{ "type": "http" }]), &[("a", code)]).await;
    for n in 0..5 {
        answer(server.raw(Method::POST, &endpoint(&more)).json(&json!({ "n": n }))).await;
    }
    let sent = 100 + 5;
    server.until("all mails", "/mail?limit=1", |l| l["page_info"]["total_count"] == sent).await;
    let mails = ids(&shell.run(&["mail", "-n", "1000", "--json"]).json(), "id");
    assert_eq!(mails.len(), sent);
    assert!(shell.run(&["mail"]).stderr.contains("100 of 105; -n shows more"));
    let oldest = mails.last().expect("mails");
    assert_eq!(shell.run(&["mail", oldest, "--json"]).json()["id"], json!(oldest));
    assert!(shell.run(&["mail", "mail_nothing"]).fails(1).contains("`mail_nothing`"));

    let replay = shell.run(&["replays", "start", "fails", "--json"]).json();
    let replayed =
        ids(&shell.run(&["replays", "runs", id(&replay), "-n", "1000", "--json"]).json(), "run_id");
    assert_eq!(replayed.iter().collect::<BTreeSet<_>>().len(), MANY);
    assert!(
        shell.run(&["replays", "runs", id(&replay)]).stderr.contains("100 of 104; -n shows more")
    );
    for _ in 0..MANY {
        server
            .post("/replays", &json!({ "workflow_id": id(&workflow), "runs": [replayed[0]] }))
            .await;
    }
    assert_eq!(ids(&shell.run(&["replays", "list", "--json"]).json(), "id").len(), MANY + 1);

    // What changed something above, and was no run.
    let audit = shell.run(&["audit", "-n", "1000", "--json"]).json();
    let replays = audit
        .as_array()
        .expect("a list")
        .iter()
        .filter(|record| record["target"].as_str().is_some_and(|t| t.starts_with("rpl_")))
        .count();
    assert_eq!(replays, MANY + 1, "{}", audit[0]);
}

#[tokio::test]
async fn all_apps_and_keys_of_a_data_store_are_listed() {
    let server = Server::shared().await;
    let shell = Shell::new(&server);
    let total = server.get("/apps?limit=1").await.json["page_info"]["total_count"]
        .as_u64()
        .expect("a number");
    assert!(total > 3000, "the catalogue is shipped");
    let slugs = ids(&shell.run(&["apps", "--json"]).json(), "name_slug");
    assert_eq!(
        (slugs.len() as u64, slugs.iter().collect::<BTreeSet<_>>().len() as u64),
        (total, total)
    );

    server.post("/data_stores", &json!({ "name": "s" })).await.data();
    for n in 0..MANY {
        server
            .put("/data_stores/s/record", &json!({ "key": format!("k{n:03}"), "value": n }))
            .await
            .data();
    }
    let keys =
        |flags: &[&str]| shell.run(&[&["data-stores", "show", "s", "--json"], flags].concat());
    let first = keys(&[]);
    assert!(first.stderr.contains("the first 100 of 104 keys; -n shows more"), "{first:?}");
    assert_eq!(first.json()["first_keys"].as_array().map(Vec::len), Some(100));
    assert_eq!(keys(&["-n", "1000"]).json()["first_keys"][MANY - 1], "k103");
}
