//! Refused connections in the record of a run, also where the code went on.

use millrace_tests::{Server, id};
use serde_json::{Value, json};

const TRIES: &str = "export default defineComponent({ async run() { await fetch('http://169.254.169.254/latest/').catch(() => {}); return 'went on'; } });";

#[tokio::test]
async fn a_step_that_goes_on_after_a_refused_connection_names_it_in_its_result() {
    let server = Server::start().await;
    let steps = json!([{ "namespace": "quiet", "code": "export default defineComponent({ run() {} });" }, { "namespace": "tries", "code": TRIES }]);
    let workflow = json!({ "triggers": [], "steps": steps, "settings": { "name": "w" } });
    let workflow = server.post("/workflows", &workflow).await.data();
    let run = server
        .post(&format!("/workflows/{}/run", id(&workflow)), &json!({ "event": {} }))
        .await
        .data();
    assert_eq!(run["steps"][1]["exports"]["$return_value"], "went on", "{run}");
    let address = "169.254.169.254:80";
    let refused = json!([{ "address": address, "rule": "link_local", "allow": address }]);
    assert_eq!(run["steps"][1]["refusals"], refused, "{run}");
    // Code of one's own has no key, and a step that was refused nothing says nothing of it.
    assert_eq!(run["steps"][0]["refusals"], Value::Null, "{run}");
    assert_eq!(run["steps"][0]["component_key"], Value::Null, "{run}");
}
