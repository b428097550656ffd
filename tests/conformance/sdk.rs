//! A client written for the hosted platform, from npm, pointed here: which of its calls work
//! (docs/reference/api.md says it too).

use std::process::Command;

use millrace_tests::{Server, npm};

use serde_json::{Value, json};

const ACTION: &str = "export default { name: 'Greet', key: 'sdk-greet', version: '1', type: 'action',
  annotations: { readOnlyHint: true, destructiveHint: false, note: 5 },
  props: { whom: { type: 'string', async options() { return [{ label: 'You', value: 'you' }, { label: 'Me', value: 'me' }]; } },
    kind: { type: 'string', optional: true, reloadProps: true, options: ['a', { value: 'b' }] }, lines: { type: 'object[]', optional: true },
    much: { type: 'integer', optional: true, min: 1, default: 3 }, acme: { type: 'app', app: 'acme' },
    note: { type: 'alert', alertType: 'loud', content: 'Careful' }, request: { type: 'http_request', optional: true, default: { method: 'GET' } } },
  async additionalProps() { return this.kind ? { made: { type: 'string', optional: true }, rest: { type: 'any[]', optional: true } } : {}; },
  run({ $ }) { console.log('greeting', this.whom); if (this.whom === 'nobody') throw new TypeError('nobody is there');
    $.export('$summary', 'Greeted ' + this.whom); return { hello: this.whom, made: this.made }; } };";
const SOURCE: &str = "export default { name: 'Orders', key: 'sdk-orders', version: '1', type: 'source',
  props: { db: '$.service.db', timer: { type: '$.interface.timer', default: { intervalSeconds: 86400 } }, http: { type: '$.interface.http', customResponse: true } },
  hooks: { async deploy() { this.$emit({ n: 1 }, { id: 1, summary: 'one' }); } }, run() {} };";

const ECHO: &str = "export default { name: 'Echo', key: 'sdk-echo', version: '1', type: 'action', props: {}, run() { return 'echo'; } };";

/// What the calls gave, and a word that the client wrote to its error output is a failure: it could
/// not read an answer. None where the client is not there.
pub(crate) fn called(calls: &str, sdk: &str, peer: &Value) -> Option<Value> {
    let output = Command::new("node")
        .arg(calls)
        .current_dir(npm::peer("sdk")?)
        .env("PEER", peer.to_string())
        .env("SDK", sdk)
        .output()
        .expect("node starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(said, "", "{sdk}");
    Some(serde_json::from_slice(&output.stdout).expect("JSON"))
}

async fn gave(calls: &str, sdk: &str) -> Option<Value> {
    npm::peer("sdk")?;
    let server = Server::shared().await;
    server
        .post(
            "/apps",
            &json!({ "name_slug": "acme", "name": "Acme", "custom_fields": [{ "name": "k" }] }),
        )
        .await
        .data();
    for (name, more) in [("first", json!({})), ("second", json!({ "external_user_id": "user-7" }))]
    {
        let mut account = json!({ "app": "acme", "name": name, "credentials": { "k": "s3cret" } });
        account.as_object_mut()?.extend(more.as_object()?.clone());
        server.post("/accounts", &account).await.data();
    }
    for code in [ACTION, SOURCE, ECHO] {
        server
            .post("/components", &json!({ "component_code": code, "publish": true }))
            .await
            .data();
    }
    let workflow = server
        .workflow("w", json!([]), &[("a", "export default defineComponent({ run() {} });")])
        .await;
    let made =
        server.post("/oauth/clients", &json!({ "name": "sdk", "scopes": ["full"] })).await.data();
    let peer = json!({
        "baseUrl": server.url, "clientId": made["id"], "clientSecret": made["client_secret"], "projectId": workflow["project_id"], "workflowId": workflow["id"],
        "accessToken": server.api_key,
    });
    called(calls, sdk, &peer)
}

#[tokio::test]
async fn a_client_of_the_hosted_platform_lists_accounts_runs_actions_and_deploys_triggers() {
    for sdk in ["sdk-3", "sdk-2"] {
        let Some(gave) = gave("calls.mjs", sdk).await else { return };
        let value = |name: &str| &gave[name]["value"];
        assert_eq!(*value("token"), "string", "{gave:#}");
        let account = json!({ "count": 1, "name": "second", "app": "acme", "image": "", "created": true, "scopes": [] });
        assert_eq!(*value("accounts"), account, "{gave:#}");
        assert_eq!(*value("users"), json!([[["second", "user-7"]], []]), "{gave:#}");
        assert_eq!(
            (value("pages"), value("account")),
            (&json!(["first", "second"]), &json!("second")),
            "{gave:#}"
        );
        assert_eq!((value("apps"), value("app")), (&json!(["acme"]), &json!("Acme")), "{gave:#}");
        assert_eq!(
            *value("configure"),
            json!([{ "label": "You", "value": "you" }, { "label": "Me", "value": "me" }]),
            "{gave:#}"
        );
        let own = [
            ("whom", "string"),
            ("kind", "string"),
            ("lines", "any"),
            ("much", "integer"),
            ("acme", "app"),
            ("note", "alert"),
            ("request", "http_request"),
        ];
        let made: Vec<_> = own.into_iter().chain([("made", "string"), ("rest", "any")]).collect();
        let made = json!({ "errors": [], "names": made, "made": "m" });
        assert_eq!(*value("reload"), json!([made, made]), "{gave:#}");
        assert_eq!(
            *value("run"),
            json!({ "exports": { "$summary": "Greeted you" }, "ret": { "hello": "you" }, "os": ["greeting you"] }),
            "{gave:#}"
        );
        assert_eq!(
            (&value("fails")["name"], &value("fails")["message"]),
            (&json!("TypeError"), &json!("nobody is there")),
            "{gave:#}"
        );
        // The second version takes `type` for what tells the records apart, and hands it on as
        // well.
        let fields = json!(["DeployedComponent", "sc_", "sdk-orders", "whsec_", "number"]);
        assert_eq!(
            *value("deploy"),
            json!({ "fields": fields, "active": true, "listed": true, "events": [{ "n": 1 }] }),
            "{gave:#}"
        );
        assert_eq!(
            *value("silent"),
            json!({ "updated": "Quiet", "found": "Quiet", "others": 0, "events": [] }),
            "{gave:#}"
        );
        let catalogue = json!({
            "actions": ["sdk-echo", "sdk-greet"], "triggers": [["sdk-orders", "source"]], "found": own.map(|(name, _)| name), "one": ["sdk-greet", "Greet", "1"],
            "types": own.map(|(_, kind)| kind), "annotations": { "readOnlyHint": true, "destructiveHint": false }, "trigger": ["db", "timer", "http"],
            "kinds": ["sdk-orders"],
        });
        assert_eq!(*value("catalogue"), catalogue, "{gave:#}");
        let keys = json!([
            ["http://127.0.0.1:9/hook", true, null],
            ["http://127.0.0.1:9/other", true, "whsec_"]
        ]);
        let expected = json!({ "active": false, "name": "Renamed", "counts": [1, 1, 0], "webhooks": ["http://127.0.0.1:9/hook"], "keys": keys });
        assert_eq!(*value("change"), expected, "{gave:#}");
        let seen = json!([
            [true, "Orders"],
            [false, "Orders"],
            [false, "Orders"],
            [false, "Orders"],
            [false, "Half"],
            [true, "Half"]
        ]);
        let odd = json!({
            "forms": [7, 7, 9, 9, 7], "another": 422, "run": "echo", "wrong": [[], 1], "pages": ["sdk-echo", "sdk-greet", "sdk-orders"], "byApp": [1, 2, 1, 2],
            "seen": seen, "refused": [422, 422], "events": 0, "elsewhere": 404, "gone": ["taken", 404, 404, 404, 404],
        });
        assert_eq!(*value("odd"), odd, "{gave:#}");
        assert_eq!(*value("forget"), 1, "{gave:#}");
        // What is not there says so.
        for name in ["missing", "proxy", "tokens", "overrides", "environment", "byApp"] {
            assert_eq!(gave[name]["status"], 404, "{name} {gave:#}");
        }
        for name in ["stash", "stashes"] {
            assert_eq!(gave[name]["status"], 422, "{gave:#}");
        }
    }
}

#[tokio::test]
async fn a_component_is_found_by_key_and_id_only_under_its_own_type() {
    let server = Server::shared().await;
    let mut saved = Vec::new();
    for code in
        [ECHO.replace("sdk-echo", "typed-action"), SOURCE.replace("sdk-orders", "typed-source")]
    {
        saved.push(
            server
                .post("/components", &json!({ "component_code": code, "publish": true }))
                .await
                .data(),
        );
    }
    let code = "export default { name: 's', version: '1', props: { http: '$.interface.http' }, run() {} };";
    let deployed = server.source(code, json!({})).await;
    let project = server.workflow("w", json!([]), &[]).await["project_id"]
        .as_str()
        .expect("a project")
        .to_owned();
    let names: [Vec<&str>; 2] = [0, 1]
        .map(|n| ["key", "id"].into_iter().filter_map(|field| saved[n][field].as_str()).collect());
    for (under, own, other) in
        [("actions", 0, 1), ("triggers", 1, 0), ("components", 0, 2), ("components", 1, 2)]
    {
        let of = |rest: &str| format!("/connect/{project}/{under}{rest}");
        for (name, status) in names[own]
            .iter()
            .map(|name| (name, 200))
            .chain(names.get(other).into_iter().flatten().map(|name| (name, 404)))
        {
            let one = server.get(&of(&format!("/{name}"))).await;
            assert_eq!(one.status, status, "{under} {name}: {}", one.text);
            for (path, body) in [
                ("/props", json!({ "id": name })),
                ("/configure", json!({ "id": name, "prop_name": "none" })),
            ] {
                let asked = server.post(&of(path), &body).await;
                // The prop is none of theirs, which is only said of a component that is there.
                assert_eq!(
                    asked.status == 404,
                    status == 404,
                    "{under}{path} {name}: {}",
                    asked.text
                );
            }
        }
        let of_deployed = server.post(&of("/props"), &json!({ "id": deployed["id"] })).await;
        assert_eq!(of_deployed.status == 404, under == "actions", "{under}: {}", of_deployed.text);
    }
}

#[tokio::test]
async fn the_first_major_version_of_the_client_finds_the_fields_that_it_reads() {
    let Some(gave) = gave("calls-1.mjs", "sdk-1").await else { return };
    let value = |name: &str| &gave[name]["value"];
    assert_eq!(
        (value("accounts"), value("account")),
        (&json!([["second", "user-7"]]), &json!([false, ""])),
        "{gave:#}"
    );
    assert_eq!(
        (value("apps"), value("components"), value("component")),
        (&json!(["acme"]), &json!(["sdk-echo", "sdk-greet"]), &json!("whom")),
        "{gave:#}"
    );
    assert_eq!(
        *value("configure"),
        json!([{ "label": "You", "value": "you" }, { "label": "Me", "value": "me" }]),
        "{gave:#}"
    );
    let names = ["whom", "kind", "lines", "much", "acme", "note", "request", "made", "rest"];
    assert_eq!(*value("reload"), json!({ "names": names, "made": "m" }), "{gave:#}");
    let trigger = json!({
        "listed": 1, "active": false, "name": "Orders", "events": [{ "n": 1 }], "workflows": [], "webhooks": ["http://127.0.0.1:9/one"], "read": [0, 1], "left": 0,
    });
    assert_eq!(*value("trigger"), trigger, "{gave:#}");
    assert_eq!(*value("forget"), 0, "{gave:#}");
}
