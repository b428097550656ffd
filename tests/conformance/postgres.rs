//! The main job with Postgres in place of SQLite. Starts a Postgres of its own; passes, and says
//! so, where there is none.

use std::process::{Command, Stdio};

use millrace_tests::cluster::{Database, cluster};
use millrace_tests::smtp::MailServer;
use millrace_tests::{Server, answer, binary, endpoint};
use reqwest::Method;
use serde_json::{Value, json};

const SOURCE: &str = "export default { name: 'orders', version: '1', dedupe: 'unique', props: { http: '$.interface.http', db: '$.service.db' },
  run(event) { this.db.set('seen', (this.db.get('seen') || 0) + 1); console.log('got', event.body.id);
    this.$emit({ id: event.body.id, seen: this.db.get('seen') }, { id: event.body.id, summary: 'order ' + event.body.id }); } };";
const STEP: &str =
    "export default defineComponent({ run({ steps }) { const { id, seen } = steps.trigger.event;
  if (id === 'bad') throw new TypeError('no such order'); return id + '/' + seen; } });";
const HANDLER: &str = "export default defineComponent({ run({ steps }) { return steps.trigger.event.error.message; } });";

async fn database() -> Option<Database> {
    Some(cluster()?.database().await)
}

fn id(record: &Value) -> &str {
    record["id"].as_str().expect("an id")
}

#[tokio::test]
async fn the_main_job_on_postgres_and_after_a_kill() {
    let Some(database) = database().await else { return };
    let smtp = MailServer::start().await;
    let mut server = Server::start_with(&[
        "--database-url",
        &database.url(),
        "--smtp-url",
        &smtp.url,
        "--owner-email",
        "owner@example.test",
    ])
    .await;
    let source = server.source(SOURCE, json!({})).await;
    let workflow = server
        .workflow("ship", json!([{ "type": "source", "id": id(&source) }]), &[("ship", STEP)])
        .await;
    let handler = server.workflow("handle", json!([]), &[("handle", HANDLER)]).await;
    let errors = json!({ "emitter_id": id(&workflow), "listener_id": id(&handler), "event_name": "$errors" });
    server.post("/subscriptions", &errors).await.data();
    let url = endpoint(&source);
    // The second is a duplicate, the third fails.
    for (order, count) in [("a", 1), ("a", 2), ("bad", 3)] {
        assert_eq!(
            answer(server.raw(Method::POST, &url).json(&json!({ "id": order }))).await.status,
            200
        );
        // One after the other, as an answer follows acceptance, not the run.
        let runs = format!("/sources/{}/runs?status=succeeded", id(&source));
        server.until("the source's run", &runs, |l| l["page_info"]["total_count"] == count).await;
    }
    let runs = format!("/workflows/{}/runs", id(&workflow));
    let done = server
        .until("a settled run", &format!("{runs}?status=succeeded"), |l| {
            l["page_info"]["total_count"] == 1
        })
        .await;
    assert_eq!(done["data"][0]["steps"][0]["exports"]["$return_value"], "a/1");
    let failed = server
        .until("a failed run", &format!("{runs}?status=failed"), |l| {
            l["page_info"]["total_count"] == 1
        })
        .await;
    assert_eq!(failed["data"][0]["error"]["code"], "TypeError");
    let handled = server
        .until(
            "the error handled",
            &format!("/workflows/{}/runs?status=succeeded", id(&handler)),
            |l| l["page_info"]["total_count"] == 1,
        )
        .await;
    assert_eq!(handled["data"][0]["steps"][0]["exports"]["$return_value"], "no such order");
    server.until("the mail sent", "/mail", |l| l["data"][0]["status"] == "sent").await;
    let mails = smtp.mails.lock().expect("not poisoned").clone();
    assert!(mails.len() == 1 && mails[0].contains("Subject: TypeError in ship"), "{mails:?}");

    server.kill();
    server.launch().await;
    let summaries = server.get(&format!("/sources/{}/event_summaries", id(&source))).await.json;
    assert_eq!(
        summaries["data"]
            .as_array()
            .expect("events")
            .iter()
            .map(|e| e["metadata"]["summary"].as_str())
            .collect::<Vec<_>>(),
        [Some("order bad"), Some("order a")]
    );
    assert_eq!(
        answer(server.raw(Method::POST, &url).json(&json!({ "id": "c" }))).await.status,
        200
    );
    let done = server
        .until("another settled run", &format!("{runs}?status=succeeded"), |l| {
            l["page_info"]["total_count"] == 2
        })
        .await;
    // What the source remembers was there, and the duplicate is one still.
    assert_eq!(done["data"][0]["steps"][0]["exports"]["$return_value"], "c/4");
    assert_eq!(server.terminate(), Some(0));
    assert!(!server.data_dir().join("millrace.db").exists());
}

/// Starts a server that cannot use its database, and waits for its end.
pub fn refused(database_url: &str, args: &[&str]) -> String {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut command = Command::new(binary());
    command
        .args(["serve", "--listen", "127.0.0.1:0", "--data-dir"])
        .arg(folder.path())
        .args(args)
        .env("MILLRACE_DATABASE_URL", database_url);
    let output = command.stdin(Stdio::null()).output().expect("starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(!said.contains("hunter2"), "{said}");
    said
}

#[test]
fn a_database_that_cannot_be_reached_is_named_without_its_password() {
    // Nothing listens on port 1.
    let said = refused("postgres://me:hunter2@127.0.0.1:1/app", &["--database-wait-seconds", "0"]);
    assert!(
        said.contains(
            "could not use the Postgres database `app` on `127.0.0.1:1` as `me`; check that it runs"
        ),
        "{said}"
    );
    assert!(said.contains("--database-wait-seconds") && !said.contains("waiting for"), "{said}");
    let said = refused("mysql://me:hunter2@127.0.0.1/app", &[]);
    assert!(said.contains("expected is postgres://user:password@host:port/database"), "{said}");
}

#[tokio::test]
async fn a_database_that_cannot_be_used_says_what_to_do() {
    let Some(database) = database().await else { return };
    let said = refused(&format!("{}_missing", database.url()), &[]);
    assert!(said.contains("does not exist") && !said.contains("waiting for"), "{said}");
    database
        .client()
        .await
        .batch_execute("CREATE TABLE schema_version (version BIGINT NOT NULL); INSERT INTO schema_version VALUES (999)")
        .await
        .expect("a newer schema");
    let said = refused(&database.url(), &[]);
    assert!(
        said.contains("schema version 999") && said.contains("start the newer Millrace"),
        "{said}"
    );
}
