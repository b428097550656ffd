//! Chapter 4: endpoints of the REST API and of sources.

use futures::StreamExt as _;
use millrace_tests::{Server, answer, endpoint, id};
use reqwest::Method;
use serde_json::json;

#[tokio::test]
async fn s4_1_a_subscription_is_made_with_query_parameters_and_is_idempotent() {
    let server = Server::shared().await;
    let listener = server
        .workflow("listener", json!([]), &[("a", "export default defineComponent({ run() {} });")])
        .await;
    let query = format!(
        "/v1/subscriptions?emitter_id={}&listener_id={}&event_name=%24errors",
        server.org_id,
        listener["id"].as_str().expect("an id")
    );
    let make = || async {
        answer(
            server
                .raw(Method::POST, &query)
                .bearer_auth(&server.api_key)
                .header("content-type", "application/json"),
        )
        .await
        .data()
    };
    let (first, second) = (make().await, make().await);
    assert_eq!(first, second);
    assert_eq!(
        (&first["emitter_id"], &first["event_name"]),
        (&json!(server.org_id), &json!("$errors"))
    );
    assert_eq!(server.get("/users/me/subscriptions").await.json["data"], json!([first]));
    assert_eq!(
        answer(server.raw(Method::DELETE, &query).bearer_auth(&server.api_key)).await.status,
        200
    );
    assert_eq!(server.get("/users/me/subscriptions").await.json["data"], json!([]));
}

#[tokio::test]
async fn s4_4_any_method_and_path_runs_and_options_answers_cors() {
    let server = Server::shared().await;
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
    let server = Server::shared().await;
    let me = server.get("/users/me").await.data();
    assert_eq!(me["orgs"][0]["id"], server.org_id.as_str());
    for n in 0..3 {
        server
            .source(
                &format!("export default {{ name: 's{n}', version: '1', run() {{}} }};"),
                json!({}),
            )
            .await;
    }
    let first = server.get("/users/me/sources?limit=2&include=id,name").await.json;
    assert_eq!(
        (&first["page_info"]["total_count"], first["data"].as_array().map(Vec::len)),
        (&json!(3), Some(2))
    );
    assert_eq!(first["data"][0].as_object().map(serde_json::Map::len), Some(2));
    let rest = server
        .get(&format!(
            "/orgs/{}/sources?limit=2&after={}",
            server.org_id,
            first["page_info"]["end_cursor"].as_str().expect("a cursor")
        ))
        .await
        .json;
    assert_eq!(rest["data"][0]["name"], "s0");
}

#[tokio::test]
async fn r2_9_events_can_be_deleted_by_an_inclusive_range() {
    let server = Server::shared().await;
    let id = server.source("export default { name: 'e', version: '1', run() { for (let n = 0; n < 5; n++) this.$emit({ n }); } };", json!({})).await["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    server.post(&format!("/sources/{id}/run"), &json!({})).await.data();
    let path = format!("/sources/{id}/event_summaries");
    let ids: Vec<String> = server.get(&path).await.json["data"]
        .as_array()
        .expect("events")
        .iter()
        .rev()
        .map(|e| e["id"].as_str().expect("an id").to_owned())
        .collect();
    assert_eq!(
        server
            .delete(&format!("/sources/{id}/events?start_id={}&end_id={}", ids[1], ids[3]))
            .await
            .status,
        202
    );
    let left: Vec<_> = server.get(&path).await.json["data"]
        .as_array()
        .expect("events")
        .iter()
        .map(|e| e["event"]["n"].clone())
        .collect();
    assert_eq!(left, [json!(4), json!(0)]);
}

#[tokio::test]
async fn s4_2_recent_errors_are_summaries_and_with_expand_whole_events_that_can_be_sent_again() {
    let server = Server::shared().await;
    let step = "export default defineComponent({ run({ steps, $ }) { if (steps.trigger.event.body.fails) throw new RangeError('no'); return 1; } });";
    let workflow = server.workflow("w", json!([{ "type": "http" }]), &[("a", step)]).await;
    let path = format!("/workflows/{}/$errors/event_summaries", id(&workflow));
    assert_eq!(
        server.get(&path).await.json,
        json!({ "page_info": { "total_count": 0, "count": 0, "start_cursor": null, "end_cursor": null }, "data": [] })
    );
    for n in 0..3 {
        answer(
            server.raw(Method::POST, &endpoint(&workflow)).json(&json!({ "fails": true, "n": n })),
        )
        .await;
        server.until("the error", &path, |list| list["page_info"]["total_count"] == n + 1).await;
    }
    let whole = server
        .until("the errors", &format!("{path}?expand=event"), |list| {
            list["page_info"]["total_count"] == 3
        })
        .await;
    // The newest first, and each with a cursor that pages on.
    let sent = |item: &serde_json::Value| item["event"]["original_event"]["body"]["n"].clone();
    assert_eq!(
        whole["data"].as_array().expect("a list").iter().map(sent).collect::<Vec<_>>(),
        [json!(2), json!(1), json!(0)]
    );
    let rest = server
        .get(&format!("{path}?expand=event&limit=1&after={}", id(&whole["data"][0])))
        .await
        .json;
    assert_eq!(sent(&rest["data"][0]), 1);
    let short = server.get(&path).await.json;
    assert_eq!(short["data"].as_array().map(Vec::len), Some(3));
    for item in short["data"].as_array().expect("a list") {
        assert!(
            item["id"].is_string()
                && item["indexed_at_ms"].is_i64()
                && item["metadata"]["name"] == "$errors",
            "{item}"
        );
        assert!(
            item.get("event").is_none_or(|event| event["error"]["stack"].is_null()
                || event["original_event"]["body"].is_object()),
            "{item}"
        );
    }
    // What failed is sent again as the request that it was.
    let mut again = whole["data"][0]["event"]["original_event"]["body"].clone();
    again["fails"] = json!(false);
    answer(server.raw(Method::POST, &endpoint(&workflow)).json(&again)).await;
    server
        .until("the run", &format!("/workflows/{}/runs?status=succeeded", id(&workflow)), |list| {
            list["page_info"]["total_count"] == 1
        })
        .await;
    assert_eq!(server.get("/workflows/p_nothere/$errors/event_summaries").await.status, 404);
}

const TWICE: &str = "export default { name: 'Twice', version: '1', run(event) { this.$emit({ n: event.n * 2 }, { id: event.n }); } };";

#[tokio::test]
async fn s4_3_components_are_deployed_updated_and_deleted_through_rest() {
    let server = Server::shared().await;
    let source = server.source(TWICE, json!({})).await;
    let path = format!("/sources/{}", id(&source));
    assert_eq!(server.get(&path).await.data()["name"], "Twice");
    let updated =
        server.put(&path, &json!({ "component_code": TWICE.replace("* 2", "* 3") })).await.data();
    assert_eq!(updated["id"], source["id"]);
    server.run_now(&source, json!({ "n": 2 })).await;
    assert_eq!(server.emitted(&source).await, [json!({ "n": 6 })]);
    assert_eq!(server.delete(&path).await.status, 200);
    for gone in [
        server.get(&path).await,
        server.delete(&path).await,
        server.get(&format!("{path}/event_summaries")).await,
    ] {
        assert_eq!(gone.refusal(), (404, "not_found"));
    }
}

#[tokio::test]
async fn s4_3_events_of_a_component_are_retrieved_in_a_batch_and_as_a_stream() {
    let server = Server::shared().await;
    let source = server.source(TWICE, json!({})).await;
    let stream = server
        .raw(Method::GET, &format!("/v1/sources/{}/sse", id(&source)))
        .bearer_auth(&server.api_key)
        .send()
        .await
        .expect("an answer");
    let mut stream = stream.bytes_stream();
    for n in 1..=3 {
        server.run_now(&source, json!({ "n": n })).await;
    }
    let mut text = String::new();
    while text.matches("\ndata:").count() + usize::from(text.starts_with("data:")) < 3 {
        text.push_str(&String::from_utf8_lossy(
            &stream.next().await.expect("goes on").expect("bytes"),
        ));
    }
    let batch = server
        .get(&format!("/sources/{}/event_summaries?limit=100&expand=event", id(&source)))
        .await
        .json;
    let listed: Vec<&str> =
        batch["data"].as_array().expect("a list").iter().rev().map(id).collect();
    let streamed: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("id:")).map(str::trim).collect();
    assert_eq!((listed.len(), listed), (3, streamed));
}
