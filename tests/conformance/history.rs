//! Retention of history: by age, with the server's clock held.

use millrace_tests::cluster::cluster;
use millrace_tests::openapi::misfit;
use millrace_tests::receiver::{Does, Receiver};
use millrace_tests::{Client, Server, answer, endpoint, id};
use reqwest::Method;
use serde_json::{Value, json};

/// Noon of a day.
const NOON: i64 = 1_767_182_400_000;
const DAY_MS: i64 = 24 * 3600 * 1000;

const SOURCE: &str =
    "export default { name: 'orders', version: '1', props: { http: '$.interface.http' },
  run(event) { console.log('got', event.body.id); this.$emit({ id: event.body.id }); } };";
const FAILS: &str = "export default defineComponent({ run() { console.log('tries'); throw new TypeError('asked to'); } });";

/// How many there are of a list.
async fn count(server: &Client, path: &str) -> u64 {
    let listed = server.get(path).await.json;
    listed["page_info"]["total_count"].as_u64().unwrap_or_else(|| panic!("{path}: {listed}"))
}

/// Starts the server at another time, at which something is old enough: history is pruned at each
/// start, and the log says so once all of it is done.
async fn prunes_at(server: &mut Server, ms: i64) {
    let prunings = |server: &Server| server.log().matches("old history was pruned").count();
    let before = prunings(server);
    server.terminate();
    server.set_clock(ms);
    server.launch().await;
    server.until("the pruning", "/users/me", |_| prunings(server) > before).await;
}

/// Runs with their results, events and logs of sources and a workflow, what came of an error, and
/// who changed what: each goes once it is older than was said, for it or for all, and nothing goes
/// before.
async fn kept_by_age(args: &[&str]) {
    let receiver = Receiver::start(Does::says("410 Gone")).await;
    let mut server =
        Server::start_at(NOON, &[args, &["--keep-days", "10", "--keep-audit-days", "20"]].concat())
            .await;
    let sources = [
        server.source(SOURCE, json!({})).await,
        server.source(SOURCE, json!({})).await,
        server.source(SOURCE, json!({})).await,
    ];
    let workflow = server.workflow("w", json!([{ "type": "http" }]), &[("a", FAILS)]).await;
    let hook = server.post("/webhooks", &json!({ "url": receiver.url })).await.data();
    server.post("/subscriptions", &json!({ "emitter_id": id(&workflow), "listener_id": id(&hook), "event_name": "$errors" })).await.data();
    let paths = sources.each_ref().map(|source| format!("/sources/{}", id(source)));
    for (path, days) in [(&paths[0], 1), (&paths[1], 2)] {
        server.put(&format!("{path}/retention"), &json!({ "keep_days": days })).await.data();
    }
    for owner in sources.iter().chain([&workflow]) {
        answer(server.raw(Method::POST, &endpoint(owner)).json(&json!({ "id": 1 }))).await;
    }
    for path in &paths {
        server
            .until("its run", &format!("{path}/runs?status=succeeded"), |l| {
                l["page_info"]["total_count"] == 1
            })
            .await;
    }
    let workflow = format!("/workflows/{}", id(&workflow));
    server
        .until("the failure", &format!("{workflow}/runs?status=failed"), |l| {
            l["page_info"]["total_count"] == 1
        })
        .await;
    let dead = format!("/webhooks/{}/deliveries", id(&hook));
    server
        .until("the dead letter", &format!("{dead}?status=failed"), |l| {
            l["page_info"]["total_count"] == 1
        })
        .await;
    let [first, second, third] =
        paths.map(|path| ["runs", "event_summaries", "logs"].map(|what| format!("{path}/{what}")));
    let of_workflow = ["runs", "$errors/event_summaries", "logs", "error_groups"]
        .map(|what| format!("{workflow}/{what}"));
    // Nobody takes the mail here: it waits in the outbox, and not for ever.
    let others: Vec<String> =
        third.into_iter().chain(of_workflow).chain([dead, "/mail".to_owned()]).collect();
    let is_kept = async |server: &Client, paths: &[String], kept: bool| {
        for path in paths {
            assert_eq!(count(server, path).await > 0, kept, "{path}");
        }
    };
    is_kept(&server, &first, true).await;

    // What is exactly as old as was said stays.
    prunes_at(&mut server, NOON + 2 * DAY_MS).await;
    is_kept(&server, &first, false).await;
    is_kept(&server, &second, true).await;
    prunes_at(&mut server, NOON + 2 * DAY_MS + 1).await;
    is_kept(&server, &second, false).await;
    is_kept(&server, &others, true).await;
    prunes_at(&mut server, NOON + 10 * DAY_MS + 1).await;
    is_kept(&server, &others, false).await;
    is_kept(&server, &["/audit".to_owned()], true).await;
    prunes_at(&mut server, NOON + 20 * DAY_MS + 1).await;
    is_kept(&server, &["/audit".to_owned()], false).await;
}

#[tokio::test]
async fn history_is_kept_by_age_for_one_source_or_all() {
    kept_by_age(&[]).await;
}

#[tokio::test]
async fn history_is_kept_by_age_on_postgres() {
    let Some(cluster) = cluster() else { return };
    let database = cluster.database().await;
    kept_by_age(&["--database-url", &database.url()]).await;
}

/// An author keeps no more than the operator allows, also what was set before there was a ceiling.
#[tokio::test]
async fn how_much_is_kept_has_a_ceiling_of_the_operator() {
    let mut server =
        Server::start_with(&["--keep-days-max", "40", "--keep-count-max", "1000"]).await;
    let source = server.source(SOURCE, json!({})).await;
    let path = format!("/sources/{}/retention", id(&source));
    for (field, value, option) in
        [("keep_days", 41, "--keep-days-max"), ("keep_count", 1001, "--keep-count-max")]
    {
        let refused = server.put(&path, &json!({ field: value })).await;
        assert_eq!(refused.refusal(), (422, "invalid_field"));
        assert!(refused.text.contains(option), "{}", refused.text);
    }
    let set = server.put(&path, &json!({ "keep_days": 40 })).await.data();
    assert_eq!((&set["kept_days"], &set["kept_count"]), (&json!(40), &json!(1000)));
    server.terminate();
    server.set_args(&["--keep-days-max", "7"]);
    server.launch().await;
    let kept = server.get(&path).await.data();
    assert_eq!(
        (&kept["keep_days"], &kept["kept_days"], &kept["kept_count"]),
        (&json!(40), &json!(7), &json!(null))
    );
}

#[tokio::test]
async fn r2_32_each_line_of_an_export_is_as_the_document_says_for_its_type() {
    let server = Server::shared().await;
    let source = server.source(SOURCE, json!({})).await;
    answer(server.raw(Method::POST, &endpoint(&source)).json(&json!({ "id": 1 }))).await;
    let runs = format!("/sources/{}/runs?status=succeeded", id(&source));
    server.until("its run", &runs, |l| l["page_info"]["total_count"] == 1).await;
    let export = server.raw(Method::GET, &format!("/v1/export?owner_id={}", id(&source)));
    let export = answer(export.bearer_auth(&server.api_key)).await.text;
    let mut types = Vec::new();
    for line in export.lines() {
        let line: Value = serde_json::from_str(line).expect("JSON");
        assert_eq!(misfit(&server.document, "ExportLine", &line), None, "{line}");
        types.push(line["type"].as_str().expect("a type").to_owned());
    }
    types.sort();
    types.dedup();
    assert_eq!(types, ["end", "event", "log", "run"]);
}
