//! A client written for the hosted platform, from npm, pointed here: which of its calls work (docs/api.md says it too).

use std::path::PathBuf;
use std::process::{Command, Stdio};

use millrace_tests::{Server, binary};
use serde_json::{Value, json};

const ACTION: &str = "export default { name: 'Greet', key: 'sdk-greet', version: '1', type: 'action',
  props: { whom: { type: 'string', async options() { return [{ label: 'You', value: 'you' }, { label: 'Me', value: 'me' }]; } } },
  run({ $ }) { console.log('greeting', this.whom); if (this.whom === 'nobody') throw new TypeError('nobody is there');
    $.export('$summary', 'Greeted ' + this.whom); return { hello: this.whom }; } };";
const SOURCE: &str = "export default { name: 'Orders', key: 'sdk-orders', version: '1', type: 'source',
  hooks: { async deploy() { this.$emit({ n: 1 }, { id: 1, summary: 'one' }); } }, run() {} };";

/// The client beside the build, installed once; none where npm or its registry is not there, which is said.
#[expect(clippy::print_stderr, reason = "what was not tested is said")]
fn client() -> Option<PathBuf> {
    let folder = binary().parent()?.join("sdk-peer");
    let from = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/peers/sdk"));
    std::fs::create_dir_all(&folder).ok()?;
    for name in ["package.json", "package-lock.json", "calls.mjs"] {
        std::fs::copy(from.join(name), folder.join(name)).ok()?;
    }
    let installed = || folder.join("node_modules/@pipedream/sdk/package.json").is_file();
    if !installed() {
        let quiet = || (Stdio::null(), Stdio::null());
        let (out, err) = quiet();
        let _ = Command::new("npm").args(["ci", "--silent"]).current_dir(&folder).stdout(out).stderr(err).status();
    }
    if installed() {
        return Some(folder);
    }
    eprintln!("skipped: @pipedream/sdk could not be installed: it needs npm and its registry");
    None
}

#[tokio::test]
async fn a_client_of_the_hosted_platform_lists_accounts_runs_actions_and_deploys_triggers() {
    let Some(folder) = client() else { return };
    let server = Server::start().await;
    server.post("/apps", &json!({ "name_slug": "acme", "name": "Acme", "custom_fields": [{ "name": "k" }] })).await.data();
    for name in ["first", "second"] {
        server.post("/accounts", &json!({ "app": "acme", "name": name, "credentials": { "k": "s3cret" } })).await.data();
    }
    for code in [ACTION, SOURCE] {
        server.post("/components", &json!({ "component_code": code, "publish": true })).await.data();
    }
    let workflow = server.workflow("w", json!([]), &[("a", "export default defineComponent({ run() {} });")]).await;
    let made = server.post("/oauth/clients", &json!({ "name": "sdk", "scopes": ["full"] })).await.data();
    let peer = json!({ "baseUrl": server.url, "clientId": made["id"], "clientSecret": made["client_secret"], "projectId": workflow["project_id"], "workflowId": workflow["id"] });
    let output = Command::new("node").arg("calls.mjs").current_dir(&folder).env("PEER", peer.to_string()).output().expect("node starts");
    let said = String::from_utf8_lossy(&output.stderr);
    let gave: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{said}"));
    let value = |name: &str| &gave[name]["value"];
    assert_eq!(*value("token"), "string", "{gave:#}");
    assert_eq!(*value("accounts"), json!({ "count": 1, "name": "second", "app": "acme" }), "{gave:#}");
    assert_eq!((value("pages"), value("account")), (&json!(["first", "second"]), &json!("second")), "{gave:#}");
    assert!(value("apps").as_array().is_some_and(|apps| apps.contains(&json!("acme"))), "{gave:#}");
    assert_eq!(*value("configure"), json!([{ "label": "You", "value": "you" }, { "label": "Me", "value": "me" }]), "{gave:#}");
    assert_eq!(*value("reload"), json!([]), "{gave:#}");
    assert_eq!(*value("run"), json!({ "exports": { "$summary": "Greeted you" }, "ret": { "hello": "you" }, "os": ["greeting you"] }), "{gave:#}");
    assert_eq!((&value("fails")["name"], &value("fails")["message"]), (&json!("TypeError"), &json!("nobody is there")), "{gave:#}");
    assert_eq!(*value("deploy"), json!({ "active": true, "listed": true, "events": [{ "n": 1 }] }), "{gave:#}");
    let catalogue = json!({ "actions": ["sdk-greet"], "triggers": [["sdk-orders", "source"]], "found": ["whom"], "one": ["sdk-greet", "Greet", "1"] });
    assert_eq!(*value("catalogue"), catalogue, "{gave:#}");
    let keys = json!([["http://127.0.0.1:9/hook", true, null], ["http://127.0.0.1:9/other", true, "whsec_"]]);
    let expected = json!({ "active": false, "name": "Renamed", "counts": [1, 1, 0], "webhooks": ["http://127.0.0.1:9/hook"], "keys": keys });
    assert_eq!(*value("change"), expected, "{gave:#}");
    assert_eq!(*value("forget"), 1, "{gave:#}");
    // What is not there says so.
    for name in ["missing", "proxy", "tokens"] {
        assert_eq!(gave[name]["status"], 404, "{gave:#}");
    }
}
