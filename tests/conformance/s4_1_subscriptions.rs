//! Spec 4.1 and 6.1, reference 2: subscriptions that are allowed, and those that are not.

use std::collections::BTreeSet;

use millrace_tests::receiver::{Does, Receiver};
use millrace_tests::{Server, answer, endpoint};
use reqwest::Method;
use serde_json::{Value, json};

fn id(record: &Value) -> &str {
    record["id"].as_str().expect("an id")
}

/// Emits `{from}` on the channel that its event names, and throws where it says so.
const SOURCE: &str = "export default { name: 's', version: '1', run(event) {
  console.log('line of ' + event.from);
  this.$emit({ from: event.from }, { name: event.channel });
  if (event.fail) throw new RangeError(event.from);
} };";
const WORKFLOW: &str = "export default defineComponent({ run({ steps, $ }) {
  const { from, channel, fail } = steps.trigger.event.body;
  $.send.emit({ raw_event: { from }, name: channel });
  if (fail) throw new TypeError(from);
} });";
/// Remembers whom it heard.
const LISTENER: &str = "export default { name: 'l', version: '1', run(event) { this.$emit({ heard: event.from ?? event.raw_event?.from ?? event.error?.message ?? event.lines?.[0]?.text }); } };";
const LISTENING_STEP: &str = "export default defineComponent({ run({ steps }) { const e = steps.trigger.event; return e.from ?? e.raw_event?.from ?? e.error?.message ?? e.lines?.[0]?.text; } });";

/// Whom an event is of, as the listeners above tell it.
fn heard_in(event: &Value) -> String {
    let parts =
        [&event["from"], &event["raw_event"]["from"], &event["heard"], &event["error"]["message"]];
    parts.into_iter().find_map(Value::as_str).unwrap_or("?").to_owned()
}

struct Stage {
    server: Server,
    source: String,
    other_source: String,
    workflow: Value,
    other_workflow: Value,
}

impl Stage {
    async fn start() -> Self {
        let server = Server::start().await;
        let source = id(&server.source(SOURCE, json!({})).await).to_owned();
        let other_source = id(&server.source(SOURCE, json!({})).await).to_owned();
        let workflow = server.workflow("w", json!([{ "type": "http" }]), &[("a", WORKFLOW)]).await;
        let other_workflow =
            server.workflow("v", json!([{ "type": "http" }]), &[("a", WORKFLOW)]).await;
        Self { server, source, other_source, workflow, other_workflow }
    }

    async fn subscribe(&self, emitter: &str, listener: &str, name: &str) -> Value {
        self.server
            .post(
                &format!(
                    "/subscriptions?emitter_id={emitter}&listener_id={listener}&event_name={}",
                    name.replace('$', "%24")
                ),
                &Value::Null,
            )
            .await
            .data()
    }

    /// Everything happens: each emitter emits on the default channel and on `added`, and fails
    /// once.
    async fn play(&self) {
        for (source, name) in [(&self.source, "s1"), (&self.other_source, "s2")] {
            for event in Self::events(name) {
                self.server
                    .post(&format!("/sources/{source}/run"), &json!({ "event": event }))
                    .await
                    .data();
            }
        }
        for (workflow, name) in [(&self.workflow, "w1"), (&self.other_workflow, "w2")] {
            for event in Self::events(name) {
                answer(self.server.raw(Method::POST, &endpoint(workflow)).json(&event)).await;
            }
        }
    }

    fn events(name: &str) -> [Value; 3] {
        [
            json!({ "from": format!("{name} default") }),
            json!({ "from": format!("{name} added"), "channel": "added" }),
            json!({ "from": format!("{name} error"), "channel": "of errors", "fail": true }),
        ]
    }

    async fn listener_source(&self) -> String {
        id(&self.server.source(LISTENER, json!({})).await).to_owned()
    }

    async fn listener_workflow(&self) -> String {
        id(&self.server.workflow("listener", json!([]), &[("note", LISTENING_STEP)]).await)
            .to_owned()
    }

    /// What a listener heard, once it is so much; sorted.
    async fn heard_by(&self, listener: &str, count: usize) -> Vec<String> {
        let heard = if listener.starts_with("dc_") {
            let path = format!("/sources/{listener}/event_summaries?expand=event");
            let list = self
                .server
                .until("what it heard", &path, |l| {
                    l["page_info"]["total_count"].as_u64() >= Some(count as u64)
                })
                .await;
            list["data"]
                .as_array()
                .expect("events")
                .iter()
                .map(|e| e["event"]["heard"].clone())
                .collect::<Vec<_>>()
        } else {
            let path = format!("/workflows/{listener}/runs?status=succeeded&limit=100");
            let list = self
                .server
                .until("what it heard", &path, |l| {
                    l["page_info"]["total_count"].as_u64() >= Some(count as u64)
                })
                .await;
            list["data"]
                .as_array()
                .expect("runs")
                .iter()
                .map(|r| r["steps"][0]["exports"]["$return_value"].clone())
                .collect()
        };
        let mut heard: Vec<String> =
            heard.iter().map(|h| h.as_str().unwrap_or("?").to_owned()).collect();
        heard.sort();
        heard
    }
}

#[tokio::test]
async fn each_emitter_and_stream_reaches_workflows_sources_and_webhooks_once() {
    let stage = Stage::start().await;
    let receiver = Receiver::start(Does::says("200 OK")).await;
    let org = stage.server.org_id.clone();
    let of = |names: &[&str], what: &str| {
        names.iter().map(|n| format!("{n} {what}")).collect::<Vec<String>>()
    };
    let (w, s) = (id(&stage.workflow).to_owned(), stage.source.clone());
    // The emitter, the stream, and what is heard there.
    let cases: Vec<(String, &str, Vec<String>)> = vec![
        (s.clone(), "", of(&["s1"], "default")),
        (s.clone(), "added", of(&["s1"], "added")),
        (s.clone(), "$errors", of(&["s1"], "error")),
        ("dc_*".into(), "", of(&["s1", "s2"], "default")),
        ("dc_*".into(), "added", of(&["s1", "s2"], "added")),
        ("dc_*".into(), "$errors", of(&["s1", "s2"], "error")),
        (w.clone(), "", of(&["w1"], "default")),
        (w.clone(), "added", of(&["w1"], "added")),
        (w.clone(), "$errors", of(&["w1"], "error")),
        ("p_*".into(), "", of(&["w1", "w2"], "default")),
        ("p_*".into(), "added", of(&["w1", "w2"], "added")),
        ("p_*".into(), "$errors", of(&["w1", "w2"], "error")),
        (org.clone(), "added", of(&["s1", "s2", "w1", "w2"], "added")),
        (org.clone(), "$errors", of(&["s1", "s2", "w1", "w2"], "error")),
    ];
    let (mut listeners, mut hooks) = (Vec::new(), Vec::new());
    for (emitter, name, expected) in &cases {
        for listener in [stage.listener_workflow().await, stage.listener_source().await] {
            // What hears the default channel of all hears the listeners' own events too.
            if listener.starts_with("dc_") && emitter == "dc_*" && name.is_empty() {
                continue;
            }
            stage.subscribe(emitter, &listener, name).await;
            listeners.push((emitter.clone(), *name, expected.clone(), listener));
        }
        let hook = stage
            .server
            .post("/webhooks", &json!({ "url": receiver.url, "name": format!("{emitter} {name}") }))
            .await
            .data();
        stage.subscribe(emitter, id(&hook), name).await;
        hooks.push((emitter == "dc_*" && name.is_empty(), id(&hook).to_owned(), expected.clone()));
    }
    stage.play().await;
    for (emitter, name, expected, listener) in &listeners {
        if emitter == "dc_*" && name.is_empty() {
            // The listening sources emit what they heard, on the default channel.
            let heard = stage.heard_by(listener, expected.len()).await;
            assert!(expected.iter().all(|e| heard.contains(e)), "{emitter} {name:?}: {heard:?}");
            continue;
        }
        assert_eq!(
            &stage.heard_by(listener, expected.len()).await,
            expected,
            "{emitter} {name:?} to {listener}"
        );
    }
    for (at_least, hook, expected) in &hooks {
        let path = format!("/webhooks/{hook}/deliveries?status=delivered&limit=100");
        let list = stage
            .server
            .until("what it was sent", &path, |l| {
                l["page_info"]["total_count"].as_u64() >= Some(expected.len() as u64)
            })
            .await;
        let mut sent: Vec<String> = list["data"]
            .as_array()
            .expect("deliveries")
            .iter()
            .map(|d| heard_in(&d["body"]["event"]))
            .collect();
        sent.sort();
        if *at_least {
            assert!(expected.iter().all(|e| sent.contains(e)), "{hook}: {sent:?}");
        } else {
            assert_eq!(&sent, expected, "{hook}");
        }
    }
}

#[tokio::test]
async fn logs_of_a_source_reach_workflows_and_sources() {
    let stage = Stage::start().await;
    let (workflow, source) = (stage.listener_workflow().await, stage.listener_source().await);
    for listener in [&workflow, &source] {
        stage.subscribe(&stage.source, listener, "$logs").await;
    }
    stage.play().await;
    let expected = ["line of s1 added", "line of s1 default", "line of s1 error"];
    for listener in [&workflow, &source] {
        assert_eq!(stage.heard_by(listener, 3).await, expected, "{listener}");
    }
}

/// Spec 6.1 and reference 2.13: the organization is an emitter of all streams.
#[tokio::test]
async fn the_organization_s_default_channel_and_logs_reach_workflows_sources_and_webhooks() {
    let stage = Stage::start().await;
    let server = &stage.server;
    let receiver = Receiver::start(Does::says("200 OK")).await;
    let org = server.org_id.clone();
    // Listening sources would hear themselves: what they emit and log is the organization's too.
    let quiet = "export default { name: 'q', version: '1', run(event) { this.$emit({ heard: event.from ?? event.raw_event?.from ?? event.lines?.[0]?.text }, { name: 'heard' }); } };";
    let mut listeners = Vec::new();
    for name in ["", "$logs"] {
        let source = id(&server.source(quiet, json!({})).await).to_owned();
        let workflow = stage.listener_workflow().await;
        let hook =
            id(&server.post("/webhooks", &json!({ "url": receiver.url })).await.data()).to_owned();
        for listener in [&source, &workflow, &hook] {
            stage.subscribe(&org, listener, name).await;
        }
        listeners.push((name, source, workflow, hook));
    }
    stage.play().await;
    let of = |all: &[&str], what: &str| {
        all.iter().map(|n| format!("{n} {what}")).collect::<BTreeSet<String>>()
    };
    for (name, source, workflow, hook) in listeners {
        // Workflows log nothing here, and `$logs` is of sources.
        let expected = match name {
            "" => of(&["s1", "s2", "w1", "w2"], "default"),
            _ => ["s1", "s2"]
                .iter()
                .flat_map(|s| {
                    ["added", "default", "error"].map(|what| format!("line of {s} {what}"))
                })
                .collect(),
        };
        let heard = stage.heard_by(&workflow, expected.len()).await;
        assert_eq!(
            (heard.len(), heard.into_iter().collect::<BTreeSet<_>>()),
            (expected.len(), expected.clone()),
            "{name:?} by a workflow"
        );
        let heard = stage.heard_by(&source, expected.len()).await;
        assert_eq!(
            (heard.len(), heard.into_iter().collect::<BTreeSet<_>>()),
            (expected.len(), expected.clone()),
            "{name:?} by a source"
        );
        let path = format!("/webhooks/{hook}/deliveries?status=delivered&limit=100");
        let list = server
            .until("what it was sent", &path, |l| {
                l["page_info"]["total_count"].as_u64() >= Some(expected.len() as u64)
            })
            .await;
        let text = |event: &Value| {
            event["lines"][0]["text"].as_str().map_or_else(|| heard_in(event), str::to_owned)
        };
        let sent: Vec<String> = list["data"]
            .as_array()
            .expect("deliveries")
            .iter()
            .map(|d| text(&d["body"]["event"]))
            .collect();
        assert_eq!(
            (sent.len(), sent.into_iter().collect::<BTreeSet<_>>()),
            (expected.len(), expected),
            "{name:?} by a webhook"
        );
    }
}

#[tokio::test]
async fn a_listener_hears_an_event_once_however_many_of_its_subscriptions_fit() {
    let stage = Stage::start().await;
    let listener = stage.listener_workflow().await;
    let org = stage.server.org_id.clone();
    for emitter in [id(&stage.workflow), "p_*", &org] {
        stage.subscribe(emitter, &listener, "$errors").await;
    }
    stage.play().await;
    let expected: BTreeSet<String> =
        ["s1", "s2", "w1", "w2"].iter().map(|n| format!("{n} error")).collect();
    let heard = stage.heard_by(&listener, 4).await;
    assert_eq!((heard.len(), heard.into_iter().collect::<BTreeSet<_>>()), (4, expected));
}

#[tokio::test]
async fn a_source_may_hear_itself_on_a_channel() {
    let server = Server::shared().await;
    let code = "export default { name: 'own', version: '1', run(event) { if (event.again) this.$emit({ done: event.again }); else this.$emit({ again: 7 }, { name: 'self' }); } };";
    let source = id(&server.source(code, json!({})).await).to_owned();
    server
        .post(
            "/subscriptions",
            &json!({ "emitter_id": source, "listener_id": source, "event_name": "self" }),
        )
        .await
        .data();
    server.post(&format!("/sources/{source}/run"), &json!({ "event": {} })).await.data();
    let path = format!("/sources/{source}/event_summaries?event_name=&expand=event");
    let list = server.until("it heard itself", &path, |l| l["page_info"]["count"] == 1).await;
    assert_eq!(list["data"][0]["event"], json!({ "done": 7 }));
}

#[tokio::test]
async fn creating_is_idempotent_in_query_and_body_and_deleting_ends_it() {
    let stage = Stage::start().await;
    let listener = stage.listener_workflow().await;
    let (server, w) = (&stage.server, id(&stage.workflow));
    let made = stage.subscribe(w, &listener, "$errors").await;
    assert_eq!(
        (&made["emitter_id"], &made["listener_id"], &made["event_name"]),
        (&json!(w), &json!(listener), &json!("$errors"))
    );
    assert!(made["id"].as_str().is_some_and(|id| id.starts_with("sub_")));
    let again = server
        .post(
            "/subscriptions",
            &json!({ "emitter_id": w, "listener_id": listener, "event_name": "$errors" }),
        )
        .await
        .data();
    assert_eq!(again, made);
    // An absent and an empty name are the default channel.
    let (absent, empty) = (
        format!("/subscriptions?emitter_id={w}&listener_id={listener}"),
        format!("/subscriptions?emitter_id={w}&listener_id={listener}&event_name="),
    );
    assert_eq!(
        server.post(&absent, &Value::Null).await.data(),
        server.post(&empty, &Value::Null).await.data()
    );
    for path in [
        "/users/me/subscriptions".to_owned(),
        format!("/workspaces/{}/subscriptions", server.org_id),
        format!("/orgs/{}/subscriptions", server.org_id),
    ] {
        assert_eq!(
            server.get(&path).await.json["data"].as_array().map(Vec::len),
            Some(2),
            "{path}"
        );
    }
    let gone = format!("/subscriptions?emitter_id={w}&listener_id={listener}&event_name=%24errors");
    assert_eq!(server.delete(&gone).await.data()["deleted"], true);
    assert_eq!(server.delete(&gone).await.refusal(), (404, "not_found"));
    stage.play().await;
    assert_eq!(stage.heard_by(&listener, 1).await, ["w1 default"], "no error reaches it any more");
}

#[tokio::test]
async fn what_does_not_exist_neither_emits_nor_listens() {
    let stage = Stage::start().await;
    let listener = stage.listener_workflow().await;
    let server = &stage.server;
    let stranger =
        server.post("/workspaces", &json!({ "name": "other", "email": "a@x.test" })).await.data();
    let (their_org, their_key) = (id(&stranger), stranger["api_key"].as_str().expect("a key"));
    for (emitter, to, status) in [
        ("", listener.as_str(), 422),
        ("p_*", "", 422),
        ("p_nothere", &listener, 404),
        ("dc_nothere", &listener, 404),
        ("wh_nothere", &listener, 404),
        ("*", &listener, 404),
        (their_org, &listener, 404),
        ("p_*", "p_nothere", 404),
        ("p_*", "wh_nothere", 404),
        ("p_*", "o_nothere", 404),
    ] {
        let refused = server
            .post(
                "/subscriptions",
                &json!({ "emitter_id": emitter, "listener_id": to, "event_name": "$errors" }),
            )
            .await;
        assert_eq!(refused.status, status, "{emitter} {to}: {}", refused.text);
    }
    let theirs = server
        .call_as(their_key, Method::POST, "/subscriptions", Some(&json!({ "emitter_id": their_org, "listener_id": listener, "event_name": "$errors" })))
        .await;
    assert_eq!(theirs.status, 404);
    assert_eq!(server.get("/users/me/subscriptions").await.json["data"], json!([]));
    // A listener that is not active hears nothing; one that is deleted has no subscriptions.
    stage.subscribe("p_*", &listener, "").await;
    server.put(&format!("/workflows/{listener}"), &json!({ "active": false })).await.data();
    answer(
        server.raw(Method::POST, &endpoint(&stage.workflow)).json(&json!({ "from": "unheard" })),
    )
    .await;
    server
        .until(
            "it is emitted",
            &format!("/workflows/{}/event_summaries", id(&stage.workflow)),
            |l| l["page_info"]["count"] == 1,
        )
        .await;
    server.put(&format!("/workflows/{listener}"), &json!({ "active": true })).await.data();
    answer(server.raw(Method::POST, &endpoint(&stage.workflow)).json(&json!({ "from": "heard" })))
        .await;
    assert_eq!(stage.heard_by(&listener, 1).await, ["heard"]);
    server.delete(&format!("/workflows/{listener}")).await.data();
    assert_eq!(server.get("/users/me/subscriptions").await.json["data"], json!([]));
}

/// Facts 1.8: clients of the hosted platform may name themselves as the emitter of all that is
/// theirs.
#[tokio::test]
async fn s4_1_the_callers_own_id_as_an_emitter_is_the_organization() {
    let server = Server::shared().await;
    let me = server.get("/users/me").await.data();
    let listener = server.workflow("listens", json!([]), &[("a", WORKFLOW)]).await;
    let path = |emitter: &str| {
        format!(
            "/subscriptions?emitter_id={emitter}&listener_id={}&event_name=$errors",
            id(&listener)
        )
    };
    let made = server.post(&path(id(&me)), &json!({})).await.data();
    assert_eq!(made["emitter_id"], server.org_id);
    assert_eq!(server.post(&path(&server.org_id), &json!({})).await.data(), made);
    assert_eq!(
        server.post(&path("u_somebodyelse"), &json!({})).await.refusal(),
        (404, "not_found")
    );
    assert_eq!(server.delete(&path(id(&me))).await.status, 200);
    assert_eq!(server.delete(&path(&server.org_id)).await.status, 404);
}
