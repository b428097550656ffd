//! Record of a delivery to a webhook: the headers of its last attempt, and each attempt.

use millrace_tests::Server;
use millrace_tests::receiver::{Does, Receiver};
use serde_json::{Value, json};

use super::webhook_credentials::is_signed;
use super::webhooks::{SOURCE, emit, id, subscribe};

/// Noon of a day.
const NOON: i64 = 1_767_182_400_000;
const HOUR_MS: i64 = 3_600_000;

#[tokio::test]
async fn r2_16_a_delivery_shows_its_headers_and_each_attempt() {
    let (server, receiver) =
        (Server::start_at(NOON, &[]).await, Receiver::start(Does::says("500 Oops")).await);
    let source = id(&server.source(SOURCE, json!({})).await);
    let url = receiver.url.replacen("://", "://bob:s3cr3t@", 1);
    let made = server.post("/webhooks", &json!({ "url": url })).await.data();
    let (hook, secret) = (id(&made), made["secret"].as_str().expect("a secret"));
    subscribe(&server, &source, &hook, "").await;
    emit(&server, &source, json!({ "ns": [1] })).await;
    let list = format!("/webhooks/{hook}/deliveries");
    let attempts = async |count: usize| {
        let what = format!("attempt {count}");
        server.until(&what, &list, |l| l["data"][0]["attempts"] == json!(count)).await
    };
    let listed = attempts(1).await;
    let path = format!("{list}/{}", id(&listed["data"][0]));
    receiver.does(Does::Resets);
    server.set_clock(NOON + HOUR_MS);
    attempts(2).await;
    receiver.does(Does::says("201 Created"));
    server.set_clock(NOON + 2 * HOUR_MS);
    let listed = attempts(3).await;

    let mut shown = server.get(&path).await.data();
    let log = shown["attempt_log"].as_array().cloned().expect("a list");
    let of = |field: &str| log.iter().map(|attempt| attempt[field].clone()).collect::<Vec<_>>();
    assert_eq!(of("at_ms"), [0, 1, 2].map(|hour| json!(NOON + hour * HOUR_MS)));
    assert_eq!(of("status"), [json!(500), Value::Null, json!(201)]);
    assert_eq!(of("answer"), [json!("ok"), Value::Null, json!("ok")]);
    assert_eq!(
        (&log[0]["error"], &log[2]["error"]),
        (&json!("the receiver answered 500"), &Value::Null)
    );
    assert!(log[1]["error"].is_string() && of("duration_ms").iter().all(Value::is_u64), "{shown}");

    let sent = receiver.until(3).await.remove(2);
    assert!(is_signed(&sent, secret), "{sent:?}");
    let headers = shown["request_headers"].as_object().cloned().expect("headers");
    assert_eq!(headers.len(), 6, "{shown}");
    for (name, value) in &headers {
        if name == "authorization" {
            assert_eq!(value, "Basic ***");
        } else {
            assert_eq!(value, &json!(sent.header(name)), "{name} is shown as it was sent");
        }
    }
    assert_eq!(serde_json::from_str::<Value>(&sent.body).ok().as_ref(), Some(&shown["body"]));

    // Beyond that it is the delivery of the list, which stays short.
    for field in ["attempt_log", "request_headers"] {
        shown.as_object_mut().expect("a record").remove(field);
    }
    assert_eq!(shown, listed["data"][0]);

    // A replay begins to count anew, and keeps what was.
    assert_eq!(server.post(&format!("{path}/replay"), &Value::Null).await.status, 202);
    attempts(1).await;
    let replayed = server.get(&path).await.data();
    assert_eq!(replayed["attempt_log"].as_array().map(Vec::len), Some(4), "{replayed}");
    assert_eq!(replayed["attempt_log"][0], log[0]);

    let other = id(&server.post("/webhooks", &json!({ "url": receiver.url })).await.data());
    let at_other = path.replace(&hook, &other);
    assert_eq!(server.get(&at_other).await.refusal(), (404, "not_found"));
}
