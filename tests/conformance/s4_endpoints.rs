//! Chapter 4: endpoints of the REST API and of sources.

use millrace_tests::{Server, answer, endpoint};
use reqwest::Method;
use serde_json::json;

#[tokio::test]
async fn s4_1_a_subscription_is_made_with_query_parameters_and_is_idempotent() {
    let server = Server::start().await;
    let listener = server.workflow("listener", json!([]), &[("a", "export default defineComponent({ run() {} });")]).await;
    let query = format!("/v1/subscriptions?emitter_id={}&listener_id={}&event_name=%24errors", server.org_id, listener["id"].as_str().expect("an id"));
    let make = || async { answer(server.raw(Method::POST, &query).bearer_auth(&server.api_key).header("content-type", "application/json")).await.data() };
    let (first, second) = (make().await, make().await);
    assert_eq!(first, second);
    assert_eq!((&first["emitter_id"], &first["event_name"]), (&json!(server.org_id), &json!("$errors")));
    assert_eq!(server.get("/users/me/subscriptions").await.json["data"], json!([first]));
    assert_eq!(answer(server.raw(Method::DELETE, &query).bearer_auth(&server.api_key)).await.status, 200);
    assert_eq!(server.get("/users/me/subscriptions").await.json["data"], json!([]));
}

#[tokio::test]
async fn s4_4_any_method_and_path_runs_and_options_answers_cors() {
    let server = Server::start().await;
    let source = server
        .source(
            "export default { name: 'h', version: '1', props: { http: '$.interface.http' }, run(e) { this.$emit({ m: e.method, p: e.path }); } };",
            json!({}),
        )
        .await;
    let url = endpoint(&source);
    let page = answer(server.raw(Method::DELETE, &format!("{url}/x/y"))).await;
    assert!(page.status == 200 && page.text.contains("Success"), "{}", page.text);
    let options = server.raw(Method::OPTIONS, &url).send().await.expect("an answer");
    assert_eq!(options.headers()["access-control-allow-origin"], "*");
    assert_eq!(options.headers()["access-control-allow-methods"], "GET,HEAD,PUT,PATCH,POST,DELETE");
    let path = format!("/sources/{}/event_summaries", source["id"].as_str().expect("an id"));
    let list = server.until("the event", &path, |l| l["page_info"]["count"] == 1).await;
    assert_eq!(list["data"][0]["event"], json!({ "m": "DELETE", "p": "/x/y" }));
}

#[tokio::test]
async fn r1_2_users_me_pages_and_fields() {
    let server = Server::start().await;
    let me = server.get("/users/me").await.data();
    assert_eq!(me["orgs"][0]["id"], server.org_id.as_str());
    for n in 0..3 {
        server.source(&format!("export default {{ name: 's{n}', version: '1', run() {{}} }};"), json!({})).await;
    }
    let first = server.get("/users/me/sources?limit=2&include=id,name").await.json;
    assert_eq!((&first["page_info"]["total_count"], first["data"].as_array().map(Vec::len)), (&json!(3), Some(2)));
    assert_eq!(first["data"][0].as_object().map(serde_json::Map::len), Some(2));
    let rest =
        server.get(&format!("/orgs/{}/sources?limit=2&after={}", server.org_id, first["page_info"]["end_cursor"].as_str().expect("a cursor"))).await.json;
    assert_eq!(rest["data"][0]["name"], "s0");
}

#[tokio::test]
async fn r2_9_events_can_be_deleted_by_an_inclusive_range() {
    let server = Server::start().await;
    let id = server.source("export default { name: 'e', version: '1', run() { for (let n = 0; n < 5; n++) this.$emit({ n }); } };", json!({})).await["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    server.post(&format!("/sources/{id}/run"), &json!({})).await.data();
    let path = format!("/sources/{id}/event_summaries");
    let ids: Vec<String> =
        server.get(&path).await.json["data"].as_array().expect("events").iter().rev().map(|e| e["id"].as_str().expect("an id").to_owned()).collect();
    assert_eq!(server.delete(&format!("/sources/{id}/events?start_id={}&end_id={}", ids[1], ids[3])).await.status, 202);
    let left: Vec<_> = server.get(&path).await.json["data"].as_array().expect("events").iter().map(|e| e["event"]["n"].clone()).collect();
    assert_eq!(left, [json!(4), json!(0)]);
}
