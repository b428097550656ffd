//! Requests that change one record at the same time: none takes back what another one changed.

use futures::future::join_all;
use millrace_tests::{Client, Server, id};
use reqwest::Method;
use serde_json::{Value, json};

use crate::nodes::Pair;

/// A change, and the place of the record that it sets.
type Change = (&'static str, fn(u32) -> Value);

const OF_A_WORKFLOW: [Change; 5] = [
    ("/name", |n| json!({ "name": format!("name {n}") })),
    ("/note", |n| json!({ "note": format!("note {n}") })),
    ("/tags/0", |n| json!({ "tags": [format!("tag {n}")] })),
    ("/settings/timeout_ms", |n| json!({ "settings": { "timeout_ms": 1000 + n } })),
    // It is built: the record is read long before it is written.
    (
        "/steps/0/savedComponent/code",
        |n| json!({ "steps": [{ "namespace": "a", "code": format!("export default defineComponent({{ run() {{ return {n}; }} }});") }] }),
    ),
];

/// Sends all changes at once, each to the next server, a few times.
async fn change_at_once(servers: &[&Client], path: &str, changes: &[Change]) {
    for n in 1..=4 {
        let sent = changes.iter().enumerate().map(async |(at, (_, body))| {
            let server = servers[at % servers.len()];
            let answer = server.put(path, &body(n)).await;
            assert_eq!(answer.status, 200, "{answer:?}");
        });
        join_all(sent).await;
        let record = servers[0].get(path).await.data();
        for (place, body) in changes {
            let given = place.replace("/savedComponent", "");
            assert_eq!(record.pointer(place), body(n).pointer(&given), "{place} of {record}");
        }
    }
}

async fn workflow(server: &Client) -> Value {
    let code = "export default defineComponent({ run() { return 0; } });";
    server.workflow("name 0", json!([{ "type": "http" }]), &[("a", code)]).await
}

#[tokio::test]
async fn changes_of_a_workflow_at_the_same_time_are_all_kept() {
    let server = Server::shared().await;
    let made = workflow(&server).await;
    change_at_once(&[&server], &format!("/workflows/{}", id(&made)), &OF_A_WORKFLOW).await;
}

#[tokio::test]
async fn changes_of_a_workflow_on_two_servers_at_the_same_time_are_all_kept() {
    let Some(pair) = Pair::start(&[]).await else { return };
    let made = workflow(&pair.a).await;
    let servers: [&Client; 2] = [&pair.a, &pair.b];
    change_at_once(&servers, &format!("/workflows/{}", id(&made)), &OF_A_WORKFLOW).await;
}

/// An editor that saves by itself knows the draft's revision; who renames the workflow does not.
#[tokio::test]
async fn a_draft_that_is_saved_while_its_workflow_is_renamed_is_no_conflict() {
    let server = Server::shared().await;
    let made = workflow(&server).await;
    let path = format!("/workflows/{}", id(&made));
    for n in 1..=4 {
        let revision = server.get(&path).await.data()["revision"].to_string();
        let url = format!("{}/v1{path}", server.url);
        let draft = server
            .raw(Method::PUT, &url)
            .header("authorization", format!("Bearer {}", server.api_key))
            .header("if-match", format!("\"{revision}\""))
            .json(&OF_A_WORKFLOW[4].1(n));
        let name = OF_A_WORKFLOW[0].1(n);
        let (saved, named) = tokio::join!(draft.send(), server.put(&path, &name));
        assert_eq!((saved.expect("answers").status().as_u16(), named.status), (200, 200));
        let record = server.get(&path).await.data();
        assert_eq!(record["name"], name["name"]);
        assert_eq!(
            record["steps"][0]["savedComponent"]["code"],
            OF_A_WORKFLOW[4].1(n)["steps"][0]["code"]
        );
    }
}

/// `activate` and `deactivate` take turns however many change the source: what one registers is
/// what the next one takes away.
#[tokio::test]
async fn changes_of_a_source_at_the_same_time_are_all_kept_and_its_hooks_take_turns() {
    let server = Server::shared().await;
    let code = "export default { name: 'S', version: '0.0.1', props: { db: '$.service.db', a: { type: 'string', optional: true }, b: { type: 'string', optional: true } },
      hooks: {
        async activate() { if (this.db.get('on')) throw new Error('activated twice'); await new Promise((r) => setTimeout(r, 20)); this.db.set('on', true); },
        async deactivate() { if (!this.db.get('on')) throw new Error('deactivated twice'); await new Promise((r) => setTimeout(r, 20)); this.db.set('on', false); },
      }, run() {} };";
    let source = server.source(code, json!({})).await;
    let changes: [Change; 3] = [
        ("/name", |n| json!({ "name": format!("name {n}") })),
        ("/configured_props/a", |n| json!({ "configured_props": { "a": n.to_string() } })),
        ("/configured_props/b", |n| json!({ "configured_props": { "b": n.to_string() } })),
    ];
    change_at_once(&[&server], &format!("/sources/{}", id(&source)), &changes).await;
}

#[tokio::test]
async fn a_key_that_is_renamed_while_it_is_rotated_is_the_new_one() {
    let server = Server::shared().await;
    let key =
        server.post("/api_keys", &json!({ "name": "key 0", "scopes": ["read"] })).await.data();
    let path = format!("/api_keys/{}", id(&key));
    for n in 1..=8 {
        let name = json!({ "name": format!("key {n}") });
        let rotate = format!("{path}/rotate");
        let grace = json!({ "grace_seconds": 0 });
        let (named, rotated) = tokio::join!(server.put(&path, &name), server.post(&rotate, &grace));
        assert_eq!(named.status, 200, "{named:?}");
        let new = rotated.data();
        let new = new["key"].as_str().expect("a key");
        let asked = server.call_as(new, Method::GET, "/workflows", None).await;
        assert_eq!(asked.status, 200, "{asked:?}");
        assert_eq!(server.get(&path).await.data()["name"], name["name"]);
    }
}

#[tokio::test]
async fn a_note_on_an_error_that_is_resolved_meanwhile_leaves_it_resolved() {
    let server = Server::shared().await;
    let code =
        "export default { name: 'S', version: '0.0.1', run() { throw new TypeError('x'); } };";
    let source = server.source(code, json!({})).await;
    server.run_now(&source, json!({})).await;
    let groups = format!("/sources/{}/error_groups", id(&source));
    let group = server.get(&groups).await.json["data"][0].clone();
    let path = format!("/error_groups/{}", id(&group));
    for (n, state) in ["resolved", "ignored", "open"].into_iter().cycle().take(9).enumerate() {
        let (state, note) = (json!({ "state": state }), json!({ "note": format!("note {n}") }));
        let (stated, noted) = tokio::join!(server.put(&path, &state), server.put(&path, &note));
        assert_eq!((stated.status, noted.status), (200, 200), "{stated:?} {noted:?}");
        let record = server.get(&path).await.data();
        assert_eq!((&record["state"], &record["note"]), (&state["state"], &note["note"]));
    }
}
