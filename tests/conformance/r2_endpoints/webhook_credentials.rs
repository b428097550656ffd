//! User and password in a webhook's address.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use millrace_tests::Server;
use millrace_tests::receiver::{Does, Got, Receiver};
use serde_json::json;
use sha2::Sha256;

use super::webhooks::{SOURCE, emit, id, subscribe};

pub(super) fn is_signed(got: &Got, secret: &str) -> bool {
    let key = STANDARD.decode(secret.trim_start_matches("whsec_")).expect("base64");
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).expect("a key");
    mac.update(
        format!("{}.{}.{}", got.header("webhook-id"), got.header("webhook-timestamp"), got.body)
            .as_bytes(),
    );
    got.header("webhook-signature")
        == format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
}

#[tokio::test]
async fn r2_16_user_and_password_of_an_address_are_used_and_never_shown() {
    let (server, receiver) = (Server::start().await, Receiver::start(Does::says("200 OK")).await);
    let source = id(&server.source(SOURCE, json!({})).await);
    let with = |user: &str| receiver.url.replacen("://", &format!("://{user}@"), 1);
    let shown = with("***");
    let refused = server.post("/webhooks", &json!({ "url": shown })).await;
    assert_eq!(refused.refusal(), (422, "invalid_field"), "it stands for nothing yet");
    let made = server.post("/webhooks", &json!({ "url": with("bob:s3cr3t") })).await.data();
    assert_eq!(made["url"], json!(shown));
    let hook = id(&made);
    for path in [
        "/webhooks".to_owned(),
        "/users/me/webhooks".to_owned(),
        format!("/webhooks/{hook}"),
        "/search?q=127.0.0.1".to_owned(),
    ] {
        let text = server.get(&path).await.text;
        assert!(text.contains(&hook) && text.contains(&shown), "{path}: {text}");
        assert!(!text.contains("s3cr3t") && !text.contains("bob"), "{path}: {text}");
    }
    subscribe(&server, &source, &hook, "").await;
    emit(&server, &source, json!({ "ns": [1] })).await;
    let got = receiver.until(1).await;
    assert_eq!(got[0].header("authorization"), format!("Basic {}", STANDARD.encode("bob:s3cr3t")));
    assert!(is_signed(&got[0], made["secret"].as_str().expect("a secret")), "{got:?}");
}
