//! Chapter 5: authentication.

use millrace_tests::{Server, answer, id};
use reqwest::Method;
use serde_json::json;

#[tokio::test]
async fn s5_every_request_carries_the_key_as_a_bearer_token() {
    let server = Server::shared().await;
    let status = async |header: String| {
        let response = server
            .raw(Method::GET, "/v1/users/me")
            .header("authorization", header)
            .send()
            .await
            .expect("an answer");
        (
            response.status().as_u16(),
            response
                .headers()
                .get("www-authenticate")
                .map(|v| v.to_str().expect("text").to_owned()),
        )
    };
    assert_eq!(status(format!("Bearer {}", server.api_key)).await, (200, None));
    assert_eq!(status(format!("bearer {}", server.api_key)).await, (200, None));
    for wrong in [
        server.api_key.clone(),
        format!("Basic {}", server.api_key),
        "Bearer".into(),
        "Bearer  ".into(),
        format!("Bearer {}x", server.api_key),
    ] {
        assert_eq!(status(wrong.clone()).await, (401, Some("Bearer".into())), "{wrong}");
    }
    // Not in the query, where addresses are kept and shown.
    let query =
        answer(server.raw(Method::GET, &format!("/v1/users/me?api_key={}", server.api_key))).await;
    assert_eq!(query.refusal(), (401, "unauthorized"));
}

#[tokio::test]
async fn s5_the_organization_id_is_found_in_the_account_and_is_the_emitter_of_all_errors() {
    let server = Server::shared().await;
    let me = server.get("/users/me").await.data();
    let org = id(&me["orgs"][0]);
    assert!(id(&me).starts_with("u_") && org.starts_with("o_"), "{me}");
    let fails = server
        .workflow(
            "fails",
            json!([{ "type": "http" }]),
            &[("a", "export default defineComponent({ run() { throw new Error('x'); } });")],
        )
        .await;
    let hears = server
        .workflow("hears", json!([]), &[("a", "export default defineComponent({ run() {} });")])
        .await;
    server
        .post(
            &format!(
                "/subscriptions?emitter_id={org}&listener_id={}&event_name=%24errors",
                id(&hears)
            ),
            &json!({}),
        )
        .await
        .data();
    answer(server.raw(Method::GET, &millrace_tests::endpoint(&fails))).await;
    server
        .until("the listener's run", &format!("/workflows/{}/runs", id(&hears)), |l| {
            l["page_info"]["count"] == 1
        })
        .await;
}
