//! Events of a source while its `activate` hook runs.

use millrace_tests::{Server, id};
use serde_json::{Value, json};

#[tokio::test]
async fn r3_17_events_that_come_while_activate_still_waits_are_recorded_and_passed_on_once() {
    let server = Server::shared().await;
    let listener =
        "export default { name: 'l', version: '1', run(event) { console.log('got', event.n); } };";
    let listener = server.source(listener, json!({})).await;
    let to = format!("/subscriptions?emitter_id=dc_*&listener_id={}", id(&listener));
    server.post(&to, &json!({})).await.data();
    let code = "export default { name: 'early', version: '1', dedupe: 'unique', props: { http: { type: '$.interface.http', customResponse: true } },
      hooks: { async activate() { for (const n of [1, 1, 2]) await fetch(this.http.endpoint, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ n }) }); } },
      run(event) { this.http.respond({ status: 200 }); this.$emit({ n: event.body.n }, { id: event.body.n }); } };";
    let source = server.source(code, json!({})).await;
    let events = format!("/sources/{}/event_summaries?expand=event", id(&source));
    let has = |text: &str, n: i32| text.contains(&format!("{{\"n\":{n}}}"));
    let both = |l: &Value| has(&l["data"].to_string(), 1) && has(&l["data"].to_string(), 2);
    let recorded = server.until("both events", &events, both).await;
    assert_eq!(recorded["page_info"]["total_count"], 2, "{recorded}");
    let runs = format!("/runs?owner_id={}&status=succeeded", id(&listener));
    let passed = server
        .until("both runs", &runs, |l| l["page_info"]["total_count"].as_u64() >= Some(2))
        .await;
    assert_eq!(passed["page_info"]["total_count"], 2, "{passed}");
}
