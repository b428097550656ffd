//! Slow receivers of one organization, and deliveries of another.

use std::time::Duration;

use millrace_tests::receiver::{Does, Receiver};
use millrace_tests::smtp::{MailServer, Mood};
use millrace_tests::{Server, endpoint, id};
use reqwest::Method;
use serde_json::{Value, json};

/// Far beyond what anything here needs.
const LONG: Duration = Duration::from_secs(60);
/// Sends that nobody answers: three times what one organization may have under way.
const SENDS: usize = 48;
/// Webhooks that nobody answers: more than twice the lanes of one organization.
const WEBHOOKS: usize = 72;

/// The server, and the key of a second organization.
async fn shared() -> (Server, String) {
    let server = Server::start_with(&["--egress-allow", "127.0.0.0/8"]).await;
    let other = server
        .post("/workspaces", &json!({ "name": "Other", "email": "other@example.test" }))
        .await
        .data();
    let key = other["api_key"].as_str().expect("a key").to_owned();
    (server, key)
}

async fn make(server: &Server, key: &str, path: &str, body: Value) -> Value {
    server.call_as(key, Method::POST, path, Some(&body)).await.data()
}

#[tokio::test]
async fn requests_that_nobody_answers_hold_up_no_other_organization_s() {
    let (server, key) = shared().await;
    let (hangs, answers) =
        (Receiver::start(Does::Hangs).await, Receiver::start(Does::says("200 OK")).await);
    let workflow = |url: &str| {
        let code = format!(
            "export default defineComponent({{ run({{ $ }}) {{ $.send.http({{ method: 'POST', url: '{url}', data: {{}} }}); }} }});"
        );
        json!({ "triggers": [{ "type": "http" }], "steps": [{ "namespace": "sends", "code": code }], "settings": { "name": "sends" } })
    };
    let flood = server.post("/workflows", &workflow(&hangs.url)).await.data();
    let calm = make(&server, &key, "/workflows", workflow(&answers.url)).await;
    for _ in 0..SENDS {
        server.raw(Method::POST, &endpoint(&flood)).send().await.expect("is taken");
    }
    hangs.until(16).await;
    server.raw(Method::POST, &endpoint(&calm)).send().await.expect("is taken");
    answers.until(1).await;
    let before = hangs.got().len();
    assert!(before <= 2 * 16, "{before} of the other organization's went before it");
}

#[tokio::test]
async fn webhooks_that_nobody_answers_hold_up_no_other_organization_s() {
    let (server, key) = shared().await;
    let own = server.api_key.clone();
    let (hangs, answers) =
        (Receiver::start(Does::Hangs).await, Receiver::start(Does::says("200 OK")).await);
    let code = "export default { name: 'tells', version: '1', props: { http: '$.interface.http' }, run() { this.$emit({ n: 1 }); } };";
    let source = async |key: &str, url: &str, count: usize| {
        let source = make(&server, key, "/sources", json!({ "component_code": code })).await;
        for n in 0..count {
            let webhook =
                make(&server, key, "/webhooks", json!({ "url": format!("{url}/{n}") })).await;
            make(
                &server,
                key,
                "/subscriptions",
                json!({ "emitter_id": id(&source), "listener_id": id(&webhook), "event_name": "" }),
            )
            .await;
        }
        endpoint(&source)
    };
    let (flood, calm) =
        (source(&own, &hangs.url, WEBHOOKS).await, source(&key, &answers.url, 1).await);
    server.raw(Method::POST, &flood).send().await.expect("is taken");
    hangs.until(32).await;
    server.raw(Method::POST, &calm).send().await.expect("is taken");
    answers.until(1).await;
    let before = hangs.got().len();
    assert!(before < 2 * 32, "{before} of the other organization's went before it");
}

#[tokio::test]
async fn mails_that_take_long_hold_up_no_other_organization_s() {
    let mails = MailServer::start().await;
    mails.mood(Mood::Waits);
    let server = Server::start_with(&["--smtp-url", &mails.url]).await;
    let other = server
        .post("/workspaces", &json!({ "name": "Other", "email": "other@example.test" }))
        .await
        .data();
    let key = other["api_key"].as_str().expect("a key");
    let workflow = |count: usize, to: &str| {
        let code = format!(
            "export default defineComponent({{ run({{ $ }}) {{ for (let n = 0; n < {count}; n++) $.send.email({{ subject: 's', text: 't', to: '{to}' }}); }} }});"
        );
        json!({ "triggers": [{ "type": "http" }], "steps": [{ "namespace": "sends", "code": code }], "settings": { "name": "sends" } })
    };
    let flood = server.post("/workflows", &workflow(30, "flood@example.test")).await.data();
    let calm = make(&server, key, "/workflows", workflow(1, "calm@example.test")).await;
    server.raw(Method::POST, &endpoint(&flood)).send().await.expect("is taken");
    server.until("all are in the outbox", "/mail", |l| l["page_info"]["total_count"] == 30).await;
    mails.until(1).await;
    server.raw(Method::POST, &endpoint(&calm)).send().await.expect("is taken");
    let theirs = async || {
        server.call_as(key, Method::GET, "/mail", None).await.json["page_info"]["total_count"] == 1
    };
    tokio::time::timeout(LONG, async { while !theirs().await {} })
        .await
        .expect("it is in the outbox");
    mails.let_one();
    let came = mails.until(2).await;
    // The server's end waits for no mail.
    (0..30).for_each(|_| mails.let_one());
    assert!(came[0].contains("To: flood@") && came[1].contains("To: calm@"), "{came:?}");
}
