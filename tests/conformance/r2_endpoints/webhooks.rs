//! Webhooks and auto-subscriptions (reference 2): what is sent, when it is sent again, and what
//! bounds it.

use millrace_tests::receiver::{Does, Got, Receiver};
use millrace_tests::{Client, Server, answer, endpoint};
use reqwest::Method;
use serde_json::{Value, json};

use super::webhook_credentials::is_signed;

pub(super) const SOURCE: &str = "export default { name: 's', version: '1', run(event) { console.log('ran'); for (const n of event.ns) this.$emit({ n }, { name: event.name }); } };";

/// Noon of a day.
const NOON: i64 = 1_767_182_400_000;

pub(super) fn id(record: &Value) -> String {
    record["id"].as_str().expect("an id").to_owned()
}

/// A webhook; its id and secret.
async fn webhook(server: &Client, url: &str) -> (String, String) {
    let made =
        server.post(&format!("/webhooks?url={url}&name=a%20hook"), &Value::Null).await.data();
    (id(&made), made["secret"].as_str().expect("a secret").to_owned())
}

pub(super) async fn subscribe(server: &Client, emitter: &str, listener: &str, event_name: &str) {
    let query = format!(
        "/subscriptions?emitter_id={emitter}&listener_id={listener}&event_name={event_name}"
    );
    server.post(&query, &Value::Null).await.data();
}

/// A source whose default channel a webhook hears.
async fn heard(server: &Client, receiver: &Receiver) -> (String, String, String) {
    let source = id(&server.source(SOURCE, json!({})).await);
    let (hook, secret) = webhook(server, &receiver.url).await;
    subscribe(server, &source, &hook, "").await;
    (source, hook, secret)
}

pub(super) async fn emit(server: &Client, source: &str, event: Value) {
    let run =
        server.post(&format!("/sources/{source}/run"), &json!({ "event": event })).await.data();
    assert_eq!(run["status"], "succeeded", "{run}");
}

fn body(got: &Got) -> Value {
    serde_json::from_str(&got.body).expect("JSON")
}

#[tokio::test]
async fn r2_16_an_event_is_posted_as_json_and_signed() {
    let (server, receiver) = (Server::start().await, Receiver::start(Does::says("200 OK")).await);
    let (source, hook, secret) = heard(&server, &receiver).await;
    emit(&server, &source, json!({ "ns": [1, 2] })).await;
    let got = receiver.until(2).await;
    assert!(
        got.iter()
            .all(|got| is_signed(got, &secret) && got.header("content-type") == "application/json"),
        "{got:?}"
    );
    assert_ne!(got[0].header("webhook-id"), got[1].header("webhook-id"));
    let mut bodies: Vec<Value> = got.iter().map(body).collect();
    bodies.sort_by_key(|b| b["event"]["n"].as_i64());
    let listed = server.get(&format!("/sources/{source}/event_summaries?expand=event")).await.json
        ["data"]
        .clone();
    assert_eq!(json!([bodies[1], bodies[0]]), listed, "what is sent is what is listed");
    let deliveries = server
        .until(
            "both are delivered",
            &format!("/webhooks/{hook}/deliveries?status=delivered"),
            |l| l["page_info"]["total_count"] == 2,
        )
        .await;
    let first = &deliveries["data"][0];
    assert_eq!(
        (&first["attempts"], &first["last_status"], &first["last_error"]),
        (&json!(1), &json!(200), &Value::Null)
    );
    // The secret is shown once.
    assert!(
        !server.get("/users/me/webhooks").await.text.contains(&secret)
            && !server.log().contains(&secret)
    );
    // What comes later is all that comes later.
    emit(&server, &source, json!({ "ns": [3] })).await;
    let got: Vec<Value> =
        receiver.until(3).await.iter().map(|got| body(got)["event"]["n"].clone()).collect();
    assert_eq!((got.len(), &got[2]), (3, &json!(3)), "{got:?}");
}

#[tokio::test]
async fn r2_16_webhooks_are_made_listed_and_deleted() {
    let server = Server::shared().await;
    for url in ["", "nonsense", "ftp://a.test/x", "http://", "javascript:alert(1)"] {
        let refused = server.post("/webhooks", &json!({ "url": url })).await;
        assert_eq!(
            (refused.status, &refused.json["details"]["field"]),
            (422, &json!("url")),
            "{url}: {}",
            refused.text
        );
    }
    let made = server
        .post("/webhooks", &json!({ "url": "https://hook.example.test:8443/x" }))
        .await
        .data();
    let (one, _) = webhook(&server, "http://127.0.0.1:9/hook").await;
    assert_eq!(
        (&made["name"], &made["description"], &made["active"]),
        (&Value::Null, &Value::Null, &json!(true))
    );
    let shown = server.get(&format!("/webhooks/{}", id(&made))).await.data();
    assert!(shown.get("secret").is_none());
    for path in ["/users/me/webhooks", "/webhooks"] {
        let listed = server.get(path).await.json;
        assert_eq!(
            (&listed["page_info"]["total_count"], &listed["data"][0]["id"], &listed["data"][1]),
            (&json!(2), &json!(one), &shown),
            "{path}"
        );
    }
    subscribe(&server, "dc_*", &one, "").await;
    assert_eq!(server.delete(&format!("/webhooks/{one}")).await.data()["deleted"], true);
    assert_eq!(server.get(&format!("/webhooks/{one}")).await.status, 404);
    assert_eq!(server.get("/users/me/subscriptions").await.json["data"], json!([]));
    let gone =
        server.post("/subscriptions", &json!({ "emitter_id": "dc_*", "listener_id": one })).await;
    assert_eq!(gone.refusal(), (404, "not_found"));
}

#[tokio::test]
async fn r2_16_webhooks_hear_sources_workflows_globs_channels_and_errors() {
    let (server, receiver) =
        (Server::start().await, Receiver::start(Does::says("204 No Content")).await);
    let source = id(&server.source(SOURCE, json!({})).await);
    let code = "export default defineComponent({ run({ $ }) { $.send.emit({ raw_event: { from: 'workflow' } }); throw new Error('x'); } });";
    let workflow = server.workflow("w", json!([{ "type": "http" }]), &[("a", code)]).await;
    let (hook, secret) = webhook(&server, &receiver.url).await;
    for (emitter, name) in [
        (source.as_str(), "added"),
        ("dc_*", ""),
        ("p_*", ""),
        (server.org_id.as_str(), "$errors"),
        (&id(&workflow), "$errors"),
    ] {
        subscribe(&server, emitter, &hook, name).await;
    }
    emit(&server, &source, json!({ "ns": [1], "name": "added" })).await;
    emit(&server, &source, json!({ "ns": [2] })).await;
    emit(&server, &source, json!({ "ns": [3], "name": "other" })).await;
    answer(server.raw(Method::GET, &endpoint(&workflow))).await;
    let got = receiver.until(4).await;
    assert!(got.iter().all(|got| is_signed(got, &secret)));
    let mut names: Vec<String> = got
        .iter()
        .map(body)
        .map(|b| {
            format!(
                "{}:{}",
                &b["metadata"]["emitter_id"].as_str().unwrap_or("")[..2],
                b["metadata"]["name"].as_str().unwrap_or("?")
            )
        })
        .collect();
    names.sort();
    // One delivery for an event, though two subscriptions name it.
    assert_eq!(names, ["dc:", "dc:added", "p_:", "p_:$errors"]);
    let error =
        got.iter().map(body).find(|b| b["metadata"]["name"] == "$errors").expect("the error");
    assert_eq!(
        (&error["event"]["error"]["code"], &error["event"]["original_event"]["method"]),
        (&json!("Error"), &json!("GET"))
    );
}

#[tokio::test]
async fn r2_13_log_lines_are_sent_to_who_listens_to_them() {
    let (server, receiver) = (Server::start().await, Receiver::start(Does::says("200 OK")).await);
    let source = id(&server.source(SOURCE, json!({})).await);
    let (hook, _) = webhook(&server, &receiver.url).await;
    subscribe(&server, &source, &hook, "$logs").await;
    emit(&server, &source, json!({ "ns": [1] })).await;
    let got = body(&receiver.until(1).await[0]);
    assert_eq!(
        (&got["metadata"]["name"], &got["event"]["lines"][0]["text"]),
        (&json!("$logs"), &json!("ran"))
    );
    assert_eq!(
        server.get(&format!("/sources/{source}/event_summaries")).await.json["page_info"]["count"],
        1,
        "only what it emitted is listed"
    );
}

#[tokio::test]
async fn r2_16_a_receiver_that_fails_is_asked_again() {
    let (server, receiver) = (Server::start().await, Receiver::start(Does::Resets).await);
    let (source, hook, secret) = heard(&server, &receiver).await;
    emit(&server, &source, json!({ "ns": [1] })).await;
    receiver.until(1).await;
    receiver.does(Does::Says("500 Oops", String::new()));
    let got = receiver.until(2).await;
    receiver.does(Does::says("200 OK"));
    let shown = server
        .until("it waits", &format!("/webhooks/{hook}/deliveries?status=queued"), |l| {
            l["data"][0]["attempts"] == 2
        })
        .await;
    assert!(
        shown["data"][0]["next_attempt_at_ms"].is_i64()
            && shown["data"][0]["last_error"].as_str().is_some_and(|e| e.contains("500")),
        "{shown}"
    );
    let again = receiver.until(3).await;
    assert!(
        is_signed(&again[2], &secret)
            && again[2].body == got[0].body
            && again[2].header("webhook-id") == got[0].header("webhook-id")
    );
    server
        .until("it is delivered", &format!("/webhooks/{hook}/deliveries?status=delivered"), |l| {
            l["data"][0]["attempts"] == 3
        })
        .await;
    assert_eq!(server.get(&format!("/webhooks/{hook}")).await.data()["failures"], 0);
}

#[tokio::test]
async fn r2_16_a_redirect_is_not_followed_and_an_endless_answer_not_read() {
    let (server, target) = (Server::start().await, Receiver::start(Does::says("200 OK")).await);
    let redirects =
        Receiver::start(Does::Says("307 Temporary Redirect", format!("location: {}", target.url)))
            .await;
    let floods = Receiver::start(Does::Floods).await;
    let source = id(&server.source(SOURCE, json!({})).await);
    let (to_redirects, _) = webhook(&server, &redirects.url).await;
    let (to_floods, _) = webhook(&server, &floods.url).await;
    for hook in [&to_redirects, &to_floods] {
        subscribe(&server, &source, hook, "").await;
    }
    emit(&server, &source, json!({ "ns": [1] })).await;
    let failed = server
        .until("the redirect failed", &format!("/webhooks/{to_redirects}/deliveries"), |l| {
            l["data"][0]["attempts"] == 1
        })
        .await;
    assert_eq!(
        (&failed["data"][0]["status"], &failed["data"][0]["last_status"]),
        (&json!("queued"), &json!(307))
    );
    server
        .until(
            "the flood was delivered",
            &format!("/webhooks/{to_floods}/deliveries?status=delivered"),
            |l| l["page_info"]["total_count"] == 1,
        )
        .await;
    assert!(target.got().is_empty());
    assert!(floods.flooded() < 8 << 20, "{} bytes were taken", floods.flooded());
}

#[tokio::test]
async fn r2_16_a_receiver_that_hangs_holds_up_no_other() {
    let (server, hangs, good) = (
        Server::start().await,
        Receiver::start(Does::Hangs).await,
        Receiver::start(Does::says("200 OK")).await,
    );
    let (source, stuck, _) = heard(&server, &hangs).await;
    let (hook, _) = webhook(&server, &good.url).await;
    subscribe(&server, &source, &hook, "").await;
    emit(&server, &source, json!({ "ns": [1, 2, 3, 4, 5, 6, 7, 8, 9] })).await;
    good.until(9).await;
    // The try ends, and is told as what it was.
    let shown = server
        .until("the tries end", &format!("/webhooks/{stuck}/deliveries?limit=100"), |l| {
            l["data"][8]["attempts"] == 1
        })
        .await;
    assert!(
        shown["data"][8]["last_error"].as_str().is_some_and(|e| e.contains("timed out")),
        "{}",
        shown["data"][8]
    );
}

#[tokio::test]
async fn r2_16_dead_letters_are_listed_and_replayed() {
    let (server, receiver) = (Server::start().await, Receiver::start(Does::says("410 Gone")).await);
    let (source, hook, _) = heard(&server, &receiver).await;
    emit(&server, &source, json!({ "ns": [1, 2, 3] })).await;
    let path = format!("/webhooks/{hook}/deliveries");
    let dead = server
        .until("three dead letters", &format!("{path}?status=failed"), |l| {
            l["page_info"]["total_count"] == 3
        })
        .await;
    assert_eq!(
        (&dead["data"][0]["last_status"], &dead["data"][0]["body"]["metadata"]["emitter_id"]),
        (&json!(410), &json!(source))
    );
    receiver.does(Does::says("200 OK"));
    let one = id(&dead["data"][0]);
    let queued = server.post(&format!("{path}/{one}/replay"), &Value::Null).await;
    assert_eq!((queued.status, &queued.json["data"]["queued"]), (202, &json!(1)));
    server
        .until("one is delivered", &format!("{path}?status=delivered"), |l| {
            l["page_info"]["total_count"] == 1
        })
        .await;
    assert_eq!(
        server.post(&format!("{path}/replay"), &Value::Null).await.json["data"]["queued"],
        2
    );
    server
        .until("all are delivered", &format!("{path}?status=delivered"), |l| {
            l["page_info"]["total_count"] == 3
        })
        .await;
    assert_eq!(receiver.got().len(), 6);
    assert_eq!(server.post(&format!("{path}/whd_nothere/replay"), &Value::Null).await.status, 404);
}

#[tokio::test]
async fn r2_16_an_endpoint_that_is_down_is_left_alone_for_a_while() {
    const PAUSE_MS: i64 = 30_000;
    let (server, receiver) =
        (Server::start_at(NOON, &[]).await, Receiver::start(Does::says("503 Down")).await);
    let (source, hook, _) = heard(&server, &receiver).await;
    emit(&server, &source, json!({ "ns": [1, 2, 3, 4, 5, 6] })).await;
    let shown = server
        .until("the circuit opens", &format!("/webhooks/{hook}"), |w| {
            w["data"]["paused_until"].is_i64()
        })
        .await;
    assert_eq!((&shown["data"]["failures"], receiver.got().len()), (&json!(5), 6));
    // Another gets what is due: the one that is down was looked at as well, and passed over.
    let good = Receiver::start(Does::says("200 OK")).await;
    let (other, _) = webhook(&server, &good.url).await;
    subscribe(&server, &source, &other, "").await;
    emit(&server, &source, json!({ "ns": [7, 8] })).await;
    good.until(2).await;
    // By now the second tries of the first ones are due, too.
    server.set_clock(NOON + PAUSE_MS - 1);
    emit(&server, &source, json!({ "ns": [9] })).await;
    good.until(3).await;
    assert_eq!(receiver.got().len(), 6, "nothing is sent while the circuit is open");
    let waiting =
        server.get(&format!("/webhooks/{hook}/deliveries?status=queued&limit=100")).await.json;
    assert_eq!(
        (&waiting["page_info"]["total_count"], &waiting["data"][0]["attempts"]),
        (&json!(9), &json!(0))
    );
    // One is tried, and where that fails too, the pause is twice as long.
    server.set_clock(NOON + PAUSE_MS);
    server.until("a look", &format!("/webhooks/{hook}"), |w| w["data"]["failures"] == 6).await;
    server.set_clock(NOON + 3 * PAUSE_MS - 1);
    emit(&server, &source, json!({ "ns": [10] })).await;
    good.until(4).await;
    assert_eq!(receiver.got().len(), 7);
    // It is there again, and gets everything.
    receiver.does(Does::says("200 OK"));
    server.set_clock(NOON + 3 * PAUSE_MS);
    server
        .until("all are delivered", &format!("/webhooks/{hook}/deliveries?status=delivered"), |l| {
            l["page_info"]["total_count"] == 10
        })
        .await;
    assert_eq!(
        (
            server.get(&format!("/webhooks/{hook}")).await.data()["failures"].clone(),
            receiver.got().len()
        ),
        (json!(0), 17)
    );
}

#[tokio::test]
async fn r2_16_a_replay_is_tried_at_once_though_the_circuit_is_open() {
    let (server, receiver) =
        (Server::start_at(NOON, &[]).await, Receiver::start(Does::says("410 Gone")).await);
    let (source, hook, _) = heard(&server, &receiver).await;
    emit(&server, &source, json!({ "ns": [1] })).await;
    let path = format!("/webhooks/{hook}/deliveries");
    server
        .until("a dead letter", &format!("{path}?status=failed"), |l| {
            l["page_info"]["total_count"] == 1
        })
        .await;
    receiver.does(Does::says("503 Down"));
    emit(&server, &source, json!({ "ns": [2, 3, 4, 5, 6] })).await;
    server
        .until("the circuit opens", &format!("/webhooks/{hook}"), |w| {
            w["data"]["paused_until"].is_i64()
        })
        .await;
    // It is still down: one try, and the pause goes on from now.
    assert_eq!(
        server.post(&format!("{path}/replay"), &Value::Null).await.json["data"]["queued"],
        1
    );
    server.until("a try", &format!("/webhooks/{hook}"), |w| w["data"]["failures"] == 6).await;
    assert_eq!(receiver.got().len(), 7);
    // It is up again, and gets what waited.
    receiver.does(Does::says("200 OK"));
    server.set_clock(NOON + 24 * 3600 * 1000);
    server
        .until("all are delivered", &format!("{path}?status=delivered"), |l| {
            l["page_info"]["total_count"] == 6
        })
        .await;
    assert_eq!(server.get(&format!("/webhooks/{hook}")).await.data()["paused_until"], Value::Null);
}

/// Each wait is three times as long as the one before, a fifth more or less, up to six hours; after
/// a day the delivery is a dead letter.
#[tokio::test]
async fn r2_16_a_delivery_is_tried_for_a_day_ever_more_rarely_and_then_kept_as_a_dead_letter() {
    const DAY_MS: i64 = 24 * 3600 * 1000;
    let (server, receiver) =
        (Server::start_at(NOON, &[]).await, Receiver::start(Does::says("500 Oops")).await);
    let (source, hook, _) = heard(&server, &receiver).await;
    emit(&server, &source, json!({ "ns": [1] })).await;
    let path = format!("/webhooks/{hook}/deliveries");
    let (mut now, mut waits) = (NOON, Vec::new());
    loop {
        let tries = waits.len() as u64 + 1;
        let list = server.until("a try", &path, |l| l["data"][0]["attempts"] == tries).await;
        let delivery = &list["data"][0];
        assert!(
            delivery["last_error"].as_str().is_some_and(|e| e.contains("500"))
                && receiver.got().len() as u64 == tries,
            "{delivery}"
        );
        let Some(next) =
            delivery["next_attempt_at_ms"].as_i64().filter(|_| delivery["status"] == "queued")
        else {
            assert_eq!(delivery["status"], "failed");
            break;
        };
        let expected = 5_000 * 3_i64.pow(tries as u32 - 1).min(4_320);
        assert!(
            (expected * 4 / 5..=expected * 6 / 5).contains(&(next - now)),
            "wait {tries} is {} ms",
            next - now
        );
        waits.push(next - now);
        now = next;
        server.set_clock(now);
    }
    assert!(
        (8..=13).contains(&waits.len()) && now - NOON <= DAY_MS && now - NOON > DAY_MS / 2,
        "{waits:?}"
    );
    // It is sent again when that is asked for, and tried for another day.
    receiver.does(Does::says("200 OK"));
    server.set_clock(now + DAY_MS);
    assert_eq!(
        server.post(&format!("{path}/replay"), &Value::Null).await.json["data"]["queued"],
        1
    );
    server
        .until("it is delivered", &format!("{path}?status=delivered"), |l| {
            l["page_info"]["total_count"] == 1
        })
        .await;
}

#[tokio::test]
async fn r2_16_what_was_settled_is_delivered_after_a_crash() {
    let (mut server, receiver) =
        (Server::start().await, Receiver::start(Does::says("503 Down")).await);
    let (source, hook, secret) = heard(&server, &receiver).await;
    emit(&server, &source, json!({ "ns": [1] })).await;
    receiver.until(1).await;
    server
        .until("it waits", &format!("/webhooks/{hook}/deliveries?status=queued"), |l| {
            l["data"][0]["attempts"] == 1
        })
        .await;
    server.kill();
    receiver.does(Does::says("200 OK"));
    server.launch().await;
    let got = receiver.until(2).await;
    assert!(
        is_signed(&got[1], &secret) && got[1].header("webhook-id") == got[0].header("webhook-id")
    );
}

#[tokio::test]
async fn r2_15_auto_subscriptions_hold_for_what_is_made_later() {
    let (server, receiver) = (Server::start().await, Receiver::start(Does::says("200 OK")).await);
    let fails = "export default { name: 'f', version: '1', run() { throw new RangeError('x'); } };";
    let before = id(&server.source(fails, json!({})).await);
    let (hook, _) = webhook(&server, &receiver.url).await;
    let query = format!("/auto_subscriptions?event_name=%24errors&listener_id={hook}");
    let auto = server.post(&query, &Value::Null).await.data();
    assert_eq!((&auto["listener_id"], &auto["event_name"]), (&json!(hook), &json!("$errors")));
    assert_eq!(
        server.post(&query, &Value::Null).await.data(),
        auto,
        "the same again gives the one that exists"
    );
    assert_eq!(server.get("/auto_subscriptions").await.json["data"], json!([auto]));
    let after = id(&server.source(fails, json!({})).await);
    let workflow = server
        .workflow(
            "w",
            json!([{ "type": "http" }]),
            &[("a", "export default defineComponent({ run() { throw new TypeError('x'); } });")],
        )
        .await;
    for source in [&before, &after] {
        server.post(&format!("/sources/{source}/run"), &json!({})).await.data();
    }
    answer(server.raw(Method::GET, &endpoint(&workflow))).await;
    let mut emitters: Vec<Value> = receiver
        .until(2)
        .await
        .iter()
        .map(|got| body(got)["metadata"]["emitter_id"].clone())
        .collect();
    emitters.sort_by_key(Value::to_string);
    assert_eq!(emitters, [json!(after), workflow["id"].clone()]);
    assert_eq!(
        server.delete(&format!("/auto_subscriptions/{}", id(&auto))).await.data()["deleted"],
        true
    );
    let later = id(&server.source(fails, json!({})).await);
    let emitters: Vec<Value> = server.get("/users/me/subscriptions").await.json["data"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|s| s["emitter_id"].clone())
        .collect();
    assert!(emitters.contains(&json!(after)) && !emitters.contains(&json!(later)), "{emitters:?}");
    for (name, listener, status) in [
        ("other", hook.as_str(), 422),
        ("", hook.as_str(), 422),
        ("$errors", "wh_nothere", 404),
        ("$errors", "", 422),
    ] {
        let refused = server
            .post("/auto_subscriptions", &json!({ "event_name": name, "listener_id": listener }))
            .await;
        assert_eq!(refused.status, status, "{name} {listener}: {}", refused.text);
    }
    // Had these reached it, they would have before the one that does.
    for source in [&before, &later, &after] {
        server.post(&format!("/sources/{source}/run"), &json!({})).await.data();
    }
    let emitters: Vec<Value> = receiver
        .until(3)
        .await
        .iter()
        .map(|got| body(got)["metadata"]["emitter_id"].clone())
        .collect();
    assert_eq!((emitters.len(), &emitters[2]), (3, &json!(after)));
}

/// Those that clients of the hosted platform set (facts 6.2). What is named wrong leaves all as it
/// was.
#[tokio::test]
async fn r2_13_the_listeners_of_a_deployed_trigger_are_set_all_or_none() {
    let (server, receiver) = (Server::start().await, Receiver::start(Does::says("200 OK")).await);
    let source = id(&server.source(SOURCE, json!({})).await);
    let step = [("a", "export default defineComponent({ run() {} });")];
    let (first, second) = (
        server.workflow("one", json!([]), &step).await,
        server.workflow("two", json!([]), &step).await,
    );
    let trigger = format!(
        "/connect/{}/deployed-triggers/{source}",
        first["project_id"].as_str().expect("a project")
    );
    let (first, second) = (id(&first), id(&second));
    let pipelines = format!("{trigger}/pipelines");
    let all =
        async || server.get("/users/me/subscriptions").await.json["data"].as_array().map(Vec::len);
    let set = async |ids: Value| server.put(&pipelines, &json!({ "workflow_ids": ids })).await;
    for wrong in [json!([first, "p_gone"]), json!([first, source]), json!([first, "p_/../x"])] {
        assert_eq!(set(wrong.clone()).await.refusal(), (404, "not_found"), "{wrong}");
        assert_eq!(all().await, Some(0), "{wrong}");
    }
    assert_eq!(set(json!([first, first])).await.json["workflow_ids"], json!([first]));
    assert_eq!(set(json!([second])).await.json["workflow_ids"], json!([second]));
    assert_eq!(set(json!(["p_gone"])).await.status, 404);
    assert_eq!(
        (server.get(&pipelines).await.json["workflow_ids"].clone(), all().await),
        (json!([second]), Some(1))
    );

    let webhooks = format!("{trigger}/webhooks");
    let set = async |urls: Value| server.put(&webhooks, &json!({ "webhook_urls": urls })).await;
    let (here, there) =
        (receiver.url.clone(), format!("{}there", receiver.url.trim_end_matches("hook")));
    let made = async || server.get("/webhooks").await.json["page_info"]["total_count"].clone();
    for wrong in [json!([here, "ftp://example.com/"]), json!([here, "http://10.0.0.1/hook"])] {
        assert_eq!(set(wrong.clone()).await.refusal(), (422, "invalid_field"), "{wrong}");
        assert_eq!((made().await, all().await), (json!(0), Some(1)), "{wrong}");
    }
    let before = set(json!([here, here])).await.json;
    let secret = before["webhooks"][0]["signing_key"].as_str().expect("a key").to_owned();
    assert_eq!(before["webhook_urls"], json!([here]));
    emit(&server, &source, json!({ "ns": [7] })).await;
    let got = receiver.until(1).await;
    assert!(is_signed(&got[0], &secret) && body(&got[0])["event"]["n"] == 7, "{got:?}");
    // One that listens stays, with its key, which is not shown again.
    let after = set(json!([there, here])).await.json;
    assert_eq!(after["webhook_urls"].as_array().map(Vec::len), Some(2), "{after}");
    let kept = after["webhooks"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|hook| hook["url"] == json!(here))
        .cloned()
        .expect("it stays");
    assert_eq!(
        kept,
        json!({ "id": before["webhooks"][0]["id"], "url": here, "signing_key_set": true })
    );
    // None at all; the webhooks stay, and are taken again.
    assert_eq!(set(json!([])).await.json["webhook_urls"], json!([]));
    assert_eq!((made().await, all().await), (json!(2), Some(1)));
    assert_eq!(set(json!([here])).await.json["webhooks"], json!([kept]));
    assert_eq!(server.put(&webhooks, &json!({})).await.refusal(), (422, "missing_field"));
    // An address as it is shown keeps the webhook with its user and password; another user is
    // another webhook.
    let with = |user: &str| here.replacen("://", &format!("://{user}@"), 1);
    let hooks = async |url: String| set(json!([url])).await.json["webhooks"][0]["id"].clone();
    assert_eq!(set(json!([with("***")])).await.refusal(), (422, "invalid_field"));
    let bob = hooks(with("bob:pass")).await;
    assert_eq!(hooks(with("***")).await, bob);
    assert_eq!(hooks(with("bob:pass")).await, bob);
    assert_ne!(hooks(with("eve:pass")).await, bob);
    set(json!([])).await;
    // A deploy that names a workflow that is not there runs no hook.
    let project = trigger.split("/deployed-triggers").next().expect("a path");
    let component = server.post("/components", &json!({ "component_code": SOURCE })).await.data();
    let deploy = json!({ "id": id(&component), "configured_props": {}, "workflow_id": "p_gone", "webhook_url": "http://127.0.0.1:9/new" });
    assert_eq!(server.post(&format!("{project}/triggers/deploy"), &deploy).await.status, 404);
    assert_eq!(made().await, 4);
    assert_eq!(server.get("/users/me/sources").await.json["page_info"]["total_count"], 1);
}

/// The form that clients used before there were subscriptions (facts 1.2).
#[tokio::test]
async fn r2_13_a_source_listens_to_another_by_the_legacy_path() {
    let server = Server::shared().await;
    let listens =
        "export default { name: 'l', version: '1', run(event) { this.$emit({ heard: event }); } };";
    let (emitter, listener) =
        (id(&server.source(SOURCE, json!({})).await), id(&server.source(listens, json!({})).await));
    let path = format!("/sources/{listener}/listen/{emitter}");
    let made = server.put(&path, &json!({})).await.data();
    assert_eq!(
        (&made["emitter_id"], &made["listener_id"], &made["event_name"]),
        (&json!(emitter), &json!(listener), &json!(""))
    );
    assert_eq!(server.put(&path, &json!({})).await.data(), made);
    emit(&server, &emitter, json!({ "ns": [3] })).await;
    let heard = server
        .until("what it heard", &format!("/sources/{listener}/event_summaries?expand=event"), |l| {
            l["page_info"]["count"] == 1
        })
        .await;
    assert_eq!(heard["data"][0]["event"], json!({ "heard": { "n": 3 } }));
    for wrong in [
        format!("/sources/dc_gone/listen/{emitter}"),
        format!("/sources/{listener}/listen/dc_gone"),
        format!("/sources/{listener}/listen/x"),
    ] {
        assert_eq!(server.put(&wrong, &json!({})).await.refusal(), (404, "not_found"), "{wrong}");
    }
}

/// Facts 6.2: a deployed trigger shows its component's props, and where it is called.
#[tokio::test]
async fn r2_7_a_deployed_trigger_shows_its_props_and_its_address() {
    let server = Server::shared().await;
    let workflow = server
        .workflow("w", json!([]), &[("a", "export default defineComponent({ run() {} });")])
        .await;
    let connect = format!("/connect/{}", workflow["project_id"].as_str().expect("a project"));
    let code = "export default { name: 't', version: '1', props: { http: '$.interface.http', n: { type: 'integer', label: 'N' } }, run() {} };";
    let component = server.post("/components", &json!({ "component_code": code })).await.data();
    let asked =
        json!({ "external_user_id": "u", "id": component["id"], "configured_props": { "n": 1 } });
    let made = server.post(&format!("{connect}/triggers/deploy"), &asked).await.data();
    assert_eq!(made["endpoint_url"], made["configured_props"]["http"]["endpoint_url"]);
    assert!(made["endpoint_url"].is_string(), "{made}");
    assert_eq!(made["configurable_props"], component["configurable_props"]);
    let path = format!("{connect}/deployed-triggers/{}", id(&made));
    assert_eq!(server.get(&path).await.data(), made);
    assert_eq!(
        server.get(&format!("{connect}/deployed-triggers")).await.json["data"],
        json!([made])
    );
    assert_eq!(
        server.put(&path, &json!({ "name": "other" })).await.data()["endpoint_url"],
        made["endpoint_url"]
    );
}
