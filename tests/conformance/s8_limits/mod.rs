//! Chapter 8: limits.

mod as_installed;
mod imports;
mod language;
mod manifests;
mod named_packages;
mod packages;
mod peers;
mod sloppy;
mod workers;

use millrace_tests::{Server, answer, endpoint, id};
use reqwest::Method;
use serde_json::json;

#[tokio::test]
async fn s8_errors_listed_are_the_most_recent_hundred() {
    let server = Server::shared().await;
    let code = "export default defineComponent({ run({ steps }) { throw new Error('n' + steps.trigger.event.body.n); } });";
    let workflow = server.workflow("fails", json!([{ "type": "http" }]), &[("a", code)]).await;
    let url = endpoint(&workflow);
    for n in 0..104 {
        answer(server.raw(Method::POST, &url).json(&json!({ "n": n }))).await;
    }
    let runs = format!("/workflows/{}/runs?status=failed", id(&workflow));
    server.until("all runs", &runs, |l| l["page_info"]["total_count"] == 104).await;
    let path = format!("/workflows/{}/$errors/event_summaries", id(&workflow));
    let list = server.get(&format!("{path}?expand=event")).await.json;
    let errors = list["data"].as_array().expect("errors");
    let place = |e: &serde_json::Value| {
        (e["indexed_at_ms"].as_i64(), id(e).rsplit('-').next().and_then(|n| n.parse::<u32>().ok()))
    };
    assert!(errors.windows(2).all(|pair| place(&pair[0]) > place(&pair[1])), "the newest first");
    let messages: std::collections::BTreeSet<_> = errors
        .iter()
        .map(|e| e["event"]["error"]["message"].as_str().expect("a message"))
        .collect();
    assert_eq!(
        (&list["page_info"]["total_count"], &list["page_info"]["count"], messages.len()),
        (&json!(100), &json!(100), 100)
    );
    // Pages of it, by the ids themselves.
    let first = server.get(&format!("{path}?limit=3")).await.json;
    assert_eq!(
        (&first["page_info"]["count"], &first["page_info"]["end_cursor"]),
        (&json!(3), &first["data"][2]["id"])
    );
    let next = server
        .get(&format!(
            "{path}?limit=3&after={}",
            first["page_info"]["end_cursor"].as_str().expect("a cursor")
        ))
        .await
        .json;
    assert_eq!(next["data"][0]["id"], list["data"][3]["id"]);
    let back = server
        .get(&format!(
            "{path}?limit=2&before={}",
            next["page_info"]["start_cursor"].as_str().expect("a cursor")
        ))
        .await
        .json;
    assert_eq!(
        (&back["data"][0]["id"], &back["data"][1]["id"]),
        (&list["data"][1]["id"], &list["data"][2]["id"])
    );
}

#[tokio::test]
async fn s8_a_props_value_has_at_most_64_kb_and_an_expression_may_give_more() {
    let server = Server::shared().await;
    let code = "export default { name: 'p', version: '1', props: { text: 'string' }, run() { return this.text.length; } };";
    let kilobytes = |n: usize| json!({ "text": "x".repeat(n) });
    assert_eq!(server.returned(code, kilobytes(64 << 10)).await, 64 << 10);
    let refused = server
        .post(
            "/sources",
            &json!({ "component_code": code, "configured_props": kilobytes((64 << 10) + 1) }),
        )
        .await;
    assert!(
        refused.refusal() == (422, "invalid_props") && refused.text.contains("text"),
        "{}",
        refused.text
    );
    let step = "export default defineComponent({ props: { text: 'string' }, run() {} });";
    let refused = server
        .post("/workflows", &json!({ "steps": [{ "namespace": "a", "code": step, "props": kilobytes((64 << 10) + 1) }], "settings": { "name": "w" } }))
        .await;
    assert!(
        refused.refusal() == (422, "invalid_props") && refused.text.contains("65537"),
        "{}",
        refused.text
    );
    let big = "export default defineComponent({ run() { return 'y'.repeat(100_000); } });";
    let reads = "export default defineComponent({ props: { text: 'string' }, run() { return this.text.length; } });";
    let steps = json!([{ "namespace": "big", "code": big }, { "namespace": "reads", "code": reads, "props": { "text": "{{steps.big.$return_value}}" } }]);
    let workflow = server
        .post("/workflows", &json!({ "triggers": [], "steps": steps, "settings": { "name": "w" } }))
        .await
        .data();
    let run = server.post(&format!("/workflows/{}/test", id(&workflow)), &json!({})).await.data();
    assert_eq!(run["steps"][1]["exports"]["$return_value"], 100_000);
}

#[tokio::test]
async fn s8_the_most_recent_hundred_events_of_a_source_can_be_inspected() {
    let server = Server::shared().await;
    let source = server.source("export default { name: 'e', version: '1', run() { for (let n = 0; n < 130; n++) this.$emit({ n }); } };", json!({})).await;
    server.run_now(&source, json!({})).await;
    let events = server.emitted(&source).await;
    assert_eq!(
        (events.len(), &events[0], &events[99]),
        (100, &json!({ "n": 30 }), &json!({ "n": 129 }))
    );
    let list = server.get(&format!("/sources/{}/event_summaries?limit=5", id(&source))).await.json;
    assert_eq!(
        (&list["page_info"]["total_count"], &list["page_info"]["count"], &list["data"][0]["event"]),
        (&json!(100), &json!(5), &json!({ "n": 129 }))
    );
}

#[tokio::test]
async fn s8_unique_remembers_a_hundred_ids_and_forgets_the_first_first() {
    let server = Server::shared().await;
    let code = "export default { name: 'u', version: '1', dedupe: 'unique', run(event) { for (const id of event.ids) this.$emit({ id }, { id }); } };";
    let source = server.source(code, json!({})).await;
    let ids: Vec<u32> = (0..101).collect();
    server.run_now(&source, json!({ "ids": ids })).await;
    // 0 went when 100 came; 1 is still known, until 0 is back.
    server.run_now(&source, json!({ "ids": [1, 0, 1] })).await;
    let events = server.emitted(&source).await;
    assert_eq!(
        events[events.len() - 3..],
        [json!({ "id": 100 }), json!({ "id": 0 }), json!({ "id": 1 })]
    );
}
