//! Sources beside their deployment: events by hand and searched, and what a record says of the
//! newest.

use millrace_tests::{Server, id};
use serde_json::{Value, json};

use super::registries::millrace;

const SOURCE: &str = "export default { name: 's', version: '1', dedupe: 'unique', run(e) {
  if (e.fails) throw new RangeError('no ' + e.fails);
  this.$emit({ n: e.n, city: e.city }, { id: e.n, summary: 'No. ' + e.n });
} };";
const SAYS: &str = "export default defineComponent({ run({ steps }) { return [steps.trigger.event, steps.trigger.context.replay]; } });";

/// A workflow that listens to a source.
async fn listener(server: &Server, name: &str, source: &Value, channel: &str) -> Value {
    server
        .workflow(
            name,
            json!([{ "type": "source", "id": source["id"], "event_name": channel }]),
            &[("say", SAYS)],
        )
        .await
}

/// What a run that was named returned, once it has.
async fn returned(server: &Server, run: &Value) -> Value {
    let path = format!("/runs/{}", run.as_str().expect("an id"));
    server.until("the run", &path, |run| run["data"]["status"] == "succeeded").await["data"]["steps"][0]["exports"]["$return_value"].clone()
}

#[tokio::test]
async fn an_event_is_emitted_by_hand_and_sent_to_listeners_again() {
    let server = Server::start().await;
    let source = server.source(SOURCE, json!({})).await;
    let (first, other) = (
        listener(&server, "first", &source, "").await,
        listener(&server, "other", &source, "late").await,
    );
    let path = format!("/sources/{}", id(&source));
    let emitted = server
        .post(
            &format!("{path}/events"),
            &json!({ "event": { "n": 7 }, "summary": "a sample", "id": 1 }),
        )
        .await
        .data();
    assert_eq!(
        (emitted["run_ids"].as_array().map(Vec::len), &emitted["deliveries"]),
        (Some(1), &json!(0)),
        "{emitted}"
    );
    assert_eq!(returned(&server, &emitted["run_ids"][0]).await, json!([{ "n": 7 }, false]));
    assert_eq!(
        server
            .get(&format!("/runs/{}", emitted["run_ids"][0].as_str().expect("an id")))
            .await
            .data()["workflow_id"],
        first["id"]
    );
    let listed = server.get(&format!("{path}/event_summaries")).await.json["data"].clone();
    assert_eq!(
        (&listed[0]["id"], &listed[0]["event"], &listed[0]["metadata"]["summary"]),
        (&emitted["event_id"], &json!({ "n": 7 }), &json!("a sample"))
    );
    // The strategy did not see it: its id is free.
    server.run_now(&source, json!({ "n": 1 })).await;
    assert_eq!(
        server.get(&format!("{path}/event_summaries")).await.json["page_info"]["total_count"],
        2
    );

    let again = format!("{path}/events/{}/replay", emitted["event_id"].as_str().expect("an id"));
    let sent = server.post(&again, &json!({})).await.data();
    assert_eq!(sent["event_id"], emitted["event_id"]);
    assert_eq!(returned(&server, &sent["run_ids"][0]).await, json!([{ "n": 7 }, true]));
    assert_eq!(
        server.get(&format!("{path}/event_summaries")).await.json["page_info"]["total_count"],
        2,
        "it is recorded once"
    );
    // One listener of several; none that does not listen to the channel.
    let second = listener(&server, "second", &source, "").await;
    assert_eq!(
        server.post(&again, &json!({})).await.data()["run_ids"].as_array().map(Vec::len),
        Some(2)
    );
    let one = server.post(&again, &json!({ "listener_id": second["id"] })).await.data();
    assert_eq!(one["run_ids"].as_array().map(Vec::len), Some(1));
    assert_eq!(
        server.get(&format!("/runs/{}", one["run_ids"][0].as_str().expect("an id"))).await.data()["workflow_id"],
        second["id"]
    );
    let refused = server.post(&again, &json!({ "listener_id": other["id"] })).await;
    assert_eq!(
        (refused.status, &refused.json["details"]["field"]),
        (422, &json!("listener_id")),
        "{}",
        refused.text
    );
    assert!(
        refused.text.contains(id(&first)) && refused.text.contains(id(&second)),
        "{}",
        refused.text
    );
    assert_eq!(
        server.post(&format!("{path}/events/1-1/replay"), &json!({})).await.refusal(),
        (404, "not_found")
    );
    for channel in ["$errors", "$in"] {
        let refused = server
            .post(&format!("{path}/events"), &json!({ "event": 1, "event_name": channel }))
            .await;
        assert_eq!(
            (refused.status, &refused.json["details"]["field"]),
            (422, &json!("event_name")),
            "{}",
            refused.text
        );
    }
    let refused = server.post(&format!("{path}/events"), &json!({})).await;
    assert_eq!(
        (refused.status, &refused.json["details"]["field"]),
        (422, &json!("event")),
        "{}",
        refused.text
    );

    let (status, stdout, stderr) = millrace(
        &server,
        &["sources", "emit", id(&source), "--event", "{\"n\": 9}", "--channel", "late"],
    );
    assert!(status == Some(0), "{stdout}{stderr}");
    assert_eq!(returned(&server, &stdout["run_ids"][0]).await, json!([{ "n": 9 }, false]));
    let event = stdout["event_id"].as_str().expect("an id").to_owned();
    let (status, stdout, stderr) =
        millrace(&server, &["sources", "resend", id(&source), &event, "--to", "other"]);
    assert!(
        status == Some(0) && stdout["run_ids"].as_array().map(Vec::len) == Some(1),
        "{stdout}{stderr}"
    );
}

#[tokio::test]
async fn events_are_found_by_a_text() {
    let server = Server::start().await;
    let source = server.source(SOURCE, json!({})).await;
    for (n, city) in [(1, "Oslo"), (2, "Łódź"), (3, "oslo_fjord")] {
        server.run_now(&source, json!({ "n": n, "city": city })).await;
    }
    let path = format!("/sources/{}/event_summaries", id(&source));
    let found = async |query: &str| {
        let list = server.get(&format!("{path}?{query}")).await.json;
        let numbers: Vec<_> = list["data"]
            .as_array()
            .expect("events")
            .iter()
            .map(|e| e["event"]["n"].as_i64().expect("a number"))
            .collect();
        (numbers, list["page_info"]["total_count"].as_u64())
    };
    assert_eq!(found("q=OSLO").await, (vec![3, 1], Some(2)));
    assert_eq!(found("q=No.%202").await, (vec![2], Some(1)));
    assert_eq!(found("q=%C5%81%C3%B3d%C5%BA").await, (vec![2], Some(1)));
    assert_eq!(found("q=oslo&limit=1").await, (vec![3], Some(2)));
    // A sign of the database's patterns is a sign as any.
    assert_eq!(found("q=o%25f").await, (vec![], Some(0)));
    assert_eq!(found("q=o_f").await, (vec![3], Some(1)));
    assert_eq!(found("q=oslo&event_name=other").await, (vec![], Some(0)));
    let (status, stdout, stderr) = millrace(&server, &["events", id(&source), "--text", "fjord"]);
    assert!(
        status == Some(0)
            && stdout[0]["event"] == json!({ "n": 3, "city": "oslo_fjord" })
            && stdout.as_array().map(Vec::len) == Some(1),
        "{stdout}{stderr}"
    );
}

#[tokio::test]
async fn a_source_s_record_has_its_newest_event_and_error_beside_its_counts() {
    let server = Server::start().await;
    let (source, quiet) =
        (server.source(SOURCE, json!({})).await, server.source(SOURCE, json!({})).await);
    let path = format!("/sources/{}", id(&source));
    for event in [
        json!({ "n": 1 }),
        json!({ "n": 2 }),
        json!({ "fails": "first" }),
        json!({ "fails": "last" }),
    ] {
        server.run_now(&source, event).await;
    }
    let events = server.get(&format!("{path}/event_summaries")).await.json["data"].clone();
    let failed =
        server.get(&format!("{path}/runs?status=failed&limit=1")).await.json["data"][0].clone();
    let list = server.get("/sources?stats=24h").await.json["data"].clone();
    let of = |source: &Value| {
        list.as_array()
            .expect("sources")
            .iter()
            .find(|s| s["id"] == source["id"])
            .expect("the source")
            .clone()
    };
    let listed = of(&source);
    assert_eq!(
        listed["last_event"],
        json!({ "id": events[0]["id"], "at_ms": events[0]["indexed_at_ms"], "name": "", "summary": "No. 2" })
    );
    let error = json!({ "run_id": failed["id"], "at_ms": failed["finished_at_ms"], "code": "RangeError", "message": "no last" });
    assert_eq!(listed["last_error"], error);
    assert_eq!(
        (&listed["stats"]["total"]["succeeded"], &listed["stats"]["total"]["failed"]),
        (&json!(2), &json!(2))
    );
    assert_eq!(
        (&of(&quiet)["last_event"], &of(&quiet)["last_error"]),
        (&Value::Null, &Value::Null)
    );
    let shown = server.get(&format!("{path}?stats=24h")).await.data();
    assert_eq!(
        (&shown["last_event"], &shown["last_error"], &shown["stats"]["total"]["failed"]),
        (&listed["last_event"], &error, &json!(2))
    );
    assert!(server.get(&path).await.data().get("last_event").is_none());
}

/// Says which version of its code ran, and with which prop.
fn versioned(version: &str, more: &str) -> String {
    format!(
        "export default {{ name: 's', version: '1', dedupe: 'unique', props: {{ word: {{ type: 'string', secret: true }} }}, {more}
  run() {{ this.$emit('{version} ' + this.word, {{ id: 1 }}); return '{version} ' + this.word; }} }};"
    )
}

#[tokio::test]
async fn a_source_has_versions_and_goes_back_to_an_earlier_one() {
    let server = Server::start().await;
    let made = json!({ "component_code": versioned("first", ""), "configured_props": { "word": "alpha" }, "name": "orders", "message": "As agreed" });
    let source = server.post("/sources", &made).await.data();
    let path = format!("/sources/{}", id(&source));
    let change = async |body: Value| server.put(&path, &body).await;
    // Neither a name nor a pause is another version, nor a secret that is what it was.
    for body in [
        json!({ "name": "Orders" }),
        json!({ "active": false }),
        json!({ "active": true }),
        json!({ "configured_props": { "word": "alpha" } }),
    ] {
        change(body).await.data();
    }
    let list = async || {
        server.get(&format!("{path}/deployments")).await.json["data"]
            .as_array()
            .expect("deployments")
            .clone()
    };
    let first = list().await;
    assert_eq!(
        (first.len(), &first[0]["version"], &first[0]["message"]),
        (1, &json!(1), &json!("As agreed"))
    );
    assert_eq!(first[0]["made_by"]["id"], source["user_id"]);
    change(json!({ "configured_props": { "word": "beta" } })).await.data();
    change(json!({ "component_code": versioned("second", ""), "concurrency": 2, "message": "Twice as fast" })).await.data();
    // What fails makes none.
    let failing = versioned("third", "hooks: { activate() { throw new Error('no') } },");
    assert_eq!(change(json!({ "component_code": failing })).await.status, 422);
    let three = list().await;
    assert_eq!(
        three.iter().map(|d| d["version"].as_i64().expect("a number")).collect::<Vec<_>>(),
        [3, 2, 1]
    );
    let run = server.run_now(&source, json!({})).await;
    assert_eq!((&run["return_value"], &run["deduped"]), (&json!("second beta"), &json!(0)));
    assert_eq!(server.run_now(&source, json!({})).await["deduped"], 1);

    let shown = server.get(&format!("{path}/deployments/{}", id(&three[2]))).await;
    assert!(!shown.text.contains("alpha"), "{}", shown.text);
    let shown = shown.data();
    assert!(shown["code"].as_str().is_some_and(|code| code.contains("first")), "{shown}");
    assert_eq!((&shown["sealed_props"], &shown["concurrency"]), (&json!(["word"]), &Value::Null));

    let back = server
        .post(&format!("{path}/rollback"), &json!({ "deployment_id": three[2]["id"] }))
        .await
        .data();
    assert_eq!(
        (&back["version"], &back["message"], &back["component_id"]),
        (&json!(4), &json!("Back to version 1"), &three[2]["component_id"])
    );
    let now = server.get(&path).await.data();
    assert_eq!(
        (&now["name"], &now["active"], &now["concurrency"], &now["component_id"]),
        (&json!("Orders"), &json!(true), &Value::Null, &back["component_id"])
    );
    assert_eq!(server.run_now(&source, json!({})).await["return_value"], "first alpha");
    let (status, stdout, stderr) =
        millrace(&server, &["sources", "rollback", "Orders", "2", "-m", "The word was right"]);
    assert!(
        status == Some(0) && stdout["version"] == 5 && stdout["message"] == "The word was right",
        "{stdout}{stderr}"
    );
    assert_eq!(server.run_now(&source, json!({})).await["return_value"], "first beta");
    let (status, stdout, stderr) = millrace(&server, &["sources", "deployments", "Orders"]);
    assert!(status == Some(0) && stdout.as_array().map(Vec::len) == Some(5), "{stdout}{stderr}");

    // One of another source, or of a workflow, is none of this one.
    let other = server.source(SOURCE, json!({})).await;
    let theirs = server.get(&format!("/sources/{}/deployments", id(&other))).await.json["data"][0]
        ["id"]
        .clone();
    let workflow =
        server.workflow("w", json!([{ "type": "http" }]), &[("say", SAYS)]).await["deployment_id"]
            .clone();
    for deployment in [theirs, workflow] {
        assert_eq!(
            server
                .post(&format!("{path}/rollback"), &json!({ "deployment_id": deployment }))
                .await
                .status,
            404
        );
        assert_eq!(
            server
                .get(&format!("{path}/deployments/{}", deployment.as_str().expect("an id")))
                .await
                .status,
            404
        );
    }
    let long = change(json!({ "message": "x".repeat(501) })).await;
    assert_eq!(
        (long.status, &long.json["details"]["field"]),
        (422, &json!("message")),
        "{}",
        long.text
    );
    // They go with the source.
    server.delete(&path).await.data();
    assert_eq!(server.get(&format!("{path}/deployments")).await.status, 404);
}

#[tokio::test]
async fn a_timer_keeps_its_id_while_its_source_is_inactive() {
    let server = Server::shared().await;
    let code = "export default { name: 't', version: '1', props: { timer: { type: '$.interface.timer', default: { intervalSeconds: 900 } } }, run() {} };";
    let source = server.source(code, json!({})).await;
    let path = format!("/sources/{}", id(&source));
    let made = source["interfaces"].clone();
    assert!(made[0]["id"].as_str().is_some_and(|id| id.starts_with("ti_")), "{made}");
    let off = server.put(&path, &json!({ "active": false })).await.data();
    let again = server.put(&path, &off).await.data();
    assert_eq!(again["inactive_reason"], off["inactive_reason"]);
    let on = server.put(&path, &json!({ "active": true })).await.data();
    for record in [&off, &again, &on] {
        assert_eq!(record["interfaces"][0]["id"], made[0]["id"], "{record}");
    }
    assert_eq!((&on["active"], &on["inactive_reason"]), (&json!(true), &Value::Null));
}
