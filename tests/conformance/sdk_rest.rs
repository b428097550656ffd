//! The calls of the hosted platform's client that docs/reference/api.md names and `sdk.rs` leaves
//! out: those that work, and each that does not.

use std::sync::atomic::{AtomicBool, Ordering};

use millrace_tests::peer::{Peer, Says};
use millrace_tests::{Server, answer, endpoint, id};
use reqwest::Method;
use serde_json::{Value, json};

use crate::sdk::called;

const PROPS: &str = "props: { pick: { type: 'string', optional: true, async options() { return [{ label: 'One', value: 'one' }]; } },
  kind: { type: 'string', optional: true, reloadProps: true } },
  async additionalProps() { return this.kind ? { made: { type: 'string', optional: true } } : {}; }";

/// The client, and what it calls: what a server needs for that is there.
async fn gave(sdk: &str) -> Option<Value> {
    // It gives tokens once, and no others for these.
    let gave = AtomicBool::new(false);
    let provider = Peer::start(move |_| {
        if gave.swap(true, Ordering::SeqCst) {
            return Says::Refuses("400 Bad Request", r#"{"error":"invalid_grant"}"#.into());
        }
        Says::Json(r#"{"access_token":"at","refresh_token":"rt","token_type":"bearer"}"#.into())
    });
    let server = Server::shared().await;
    let oauth = json!({
        "authorize_url": format!("{}/authorize", provider.url), "token_url": format!("{}/token", provider.url),
        "client_id": "c", "client_secret": "s3cret",
    });
    let app = json!({ "name_slug": "acme", "name": "Acme", "auth_type": "oauth", "oauth": oauth });
    server.post("/apps", &app).await.data();
    let begun = json!({ "app": "acme", "name": "Mine", "external_user_id": "user-7" });
    let begun = server.post("/accounts/connect", &begun).await.data();
    let url = reqwest::Url::parse(begun["connect_url"].as_str().expect("an address"));
    let url = url.expect("an address");
    let state = url.query_pairs().find(|(name, _)| name == "state").expect("a state").1;
    let back = format!("/oauth/callback?code=x&state={state}");
    assert_eq!(answer(server.raw(Method::GET, &back)).await.status, 200);
    let account = server.get("/accounts").await.json["data"][0].clone();
    let checked =
        server.post(&format!("/accounts/{}/check", id(&account)), &json!({})).await.data();
    assert_eq!(checked["healthy"], false, "{checked}");
    for (key, kind) in [("sdk-pick", "action"), ("sdk-picks", "source")] {
        let code = format!(
            "export default {{ name: 'Pick', key: '{key}', version: '1', type: '{kind}', {PROPS}, run() {{}} }};"
        );
        let component = json!({ "component_code": code, "publish": true });
        server.post("/components", &component).await.data();
    }
    let step = "export default defineComponent({ async run({ $ }) { await $.respond({ status: 200 }); } });";
    let trigger = json!([{ "type": "http", "custom_response": true }]);
    let workflow = server.workflow("w", trigger, &[("says", step)]).await;
    let client = json!({ "name": "sdk", "scopes": ["full"] });
    let client = server.post("/oauth/clients", &client).await.data();
    let peer = json!({
        "baseUrl": server.url, "clientId": client["id"], "clientSecret": client["client_secret"], "projectId": workflow["project_id"],
        "endpoint": endpoint(&workflow), "accountId": account["id"],
    });
    let mut gave = called("rest.mjs", sdk, &peer)?;
    let runs = format!("/workflows/{}/runs?include=event", id(&workflow));
    let runs = server.until("all settle", &runs, |l| l["page_info"]["total_count"] == 3).await;
    let events = runs["data"].as_array()?.iter().rev().map(|run| {
        let event = &run["event"];
        json!([event["method"], event["body"], event["headers"]["x-own"]])
    });
    gave["events"] = events.collect();
    gave["problem"] = checked["problem"].clone();
    Some(gave)
}

#[tokio::test]
async fn every_other_call_of_the_hosted_platform_s_client_works_or_is_404_as_the_page_says() {
    for sdk in ["sdk-3", "sdk-2"] {
        let Some(gave) = gave(sdk).await else { return };
        let value = |name: &str| &gave["works"][name]["value"];
        assert_eq!(*value("oauthTokens"), json!(["Bearer", "number", 200]), "{sdk} {gave:#}");
        // The client hands on no body of an answer.
        assert_eq!(*value("invoke"), json!([200, 200, 200]), "{sdk} {gave:#}");
        let events = json!([["POST", { "n": 1 }, null], ["PUT", [2], null], ["GET", null, "3"]]);
        assert_eq!(gave["events"], events, "{sdk}");
        let component = json!(["sdk-pick", "Pick", "1", ["pick", "kind"]]);
        assert_eq!(*value("component"), component, "{sdk} {gave:#}");
        for name in ["configureComponent", "configureTrigger"] {
            assert_eq!(*value(name), json!([{ "label": "One", "value": "one" }]), "{sdk} {gave:#}");
        }
        let reloaded = json!([[], "string", ["pick", "kind", "made"]]);
        assert_eq!(*value("reloadTrigger"), reloaded, "{sdk} {gave:#}");
        let problem = &gave["problem"];
        assert!(problem.as_str().is_some_and(|why| why.contains("invalid_grant")), "{problem}");
        assert_eq!(*value("error"), json!([false, false, problem, true]), "{sdk} {gave:#}");

        // What is not there says so, in words.
        let missing = gave["missing"].as_object().expect("calls");
        assert!(missing.len() >= 22, "{sdk}: {:?}", missing.keys());
        for (name, told) in missing {
            // Accounts are listed there, and not made.
            let (status, code) = match name.as_str() {
                "accounts.create" => (405, "method_not_allowed"),
                _ => (404, "no_such_route"),
            };
            assert_eq!(told["status"], status, "{sdk} {name}: {told}");
            let words = told["body"]["error"].as_str().unwrap_or_default();
            assert_eq!(told["body"]["code"], code, "{sdk} {name}: {told}");
            assert!(words.contains("/v1/"), "{sdk} {name}: {told}");
        }
    }
}
