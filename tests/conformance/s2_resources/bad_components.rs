//! Bad components and values of props: each with words that help, and nothing left behind (issue
//! "Component API, whole").

use millrace_tests::cli::Shell;
use millrace_tests::{Client, Server, answer};
use reqwest::Method;
use serde_json::{Value, json};

use super::oauth_provider::Provider;

/// A prop of each type, and for each a value that is none of it.
const EVERY: &str = "export default { name: 'every', version: '1', props: {
    s: { type: 'string', optional: true }, ss: { type: 'string[]', optional: true }, i: { type: 'integer', min: 1, max: 9, optional: true }, ii: { type: 'integer[]', min: 1, max: 9, optional: true },
    b: { type: 'boolean', optional: true }, bb: { type: 'boolean[]', optional: true }, o: { type: 'object', optional: true }, timer: { type: '$.interface.timer', default: { intervalSeconds: 900 } },
    store: { type: 'data_store', optional: true }, request: { type: 'http_request', optional: true }, sql: { type: 'sql', auth: { app: 'postgresql' }, optional: true },
    dir: { type: 'dir', accessMode: 'read', sync: true, optional: true }, app: { type: 'app', app: 'stripe', optional: true },
    any: { type: 'any', optional: true }, odd: { type: 'flux.capacitor', optional: true }, named: { type: 'string', withLabel: true, optional: true },
  }, run() { return { any: this.any, odd: this.odd, sql: this.sql, named: this.named, ss: this.ss, keys: Object.keys(this) }; } };";

async fn sources(server: &Client) -> Value {
    server.get("/users/me/sources").await.json["page_info"]["total_count"].clone()
}

#[tokio::test]
async fn s2_7_a_value_of_each_wrong_type_is_refused_with_the_prop_the_value_and_what_is_allowed() {
    let server = Server::shared().await;
    for (prop, value, allowed) in [
        ("s", json!({ "a": 1 }), "a string"),
        ("ss", json!("one"), "an array of string values"),
        ("ss", json!([{}]), "an array of string values"),
        ("i", json!("3"), "an integer from 1 to 9"),
        ("i", json!(10), "an integer from 1 to 9"),
        ("i", json!(1.5), "an integer from 1 to 9"),
        ("ii", json!([1, "2"]), "an array of integer values from 1 to 9; item 1 is not"),
        ("ii", json!([10]), "an array of integer values from 1 to 9; item 0 is not"),
        ("b", json!("yes"), "true or false"),
        ("bb", json!([1]), "an array of boolean values"),
        ("o", json!([1]), "an object"),
        ("o", json!("not JSON"), "an object"),
        ("timer", json!("often"), "intervalSeconds"),
        ("timer", json!({ "intervalSeconds": -1 }), "whole seconds"),
        ("timer", json!({ "cron": "at noon" }), "at noon"),
        ("store", json!(7), "data store"),
        ("request", json!({ "method": "GET" }), "`url`"),
        ("request", json!("https://example.test"), "`url`"),
        ("sql", json!({ "query": 1 }), "`query`"),
        ("sql", json!({ "query": "select 1", "params": "x" }), "`params`"),
        ("dir", json!(4), "a file store"),
        ("dir", json!("../up"), "a file store"),
        ("app", json!("apn_x"), "a connected account of stripe"),
        ("app", json!({ "authProvisionId": "apn_nothere" }), "a connected account"),
        ("named", json!({ "__lv": {} }), "a string, alone or as"),
        ("named", json!({ "label": "L", "value": { "x": 1 } }), "a string, alone or as"),
    ] {
        let refused = server
            .post(
                "/sources",
                &json!({ "component_code": EVERY, "configured_props": { prop: value } }),
            )
            .await;
        assert_eq!(refused.status, 422, "{prop} = {value}: {}", refused.text);
        let words = refused.json["error"].as_str().unwrap_or_default();
        assert!(
            words.contains(&format!("`{prop}`")) && words.contains(allowed),
            "{prop} = {value}: {words}"
        );
    }
    assert_eq!(sources(&server).await, 0);
    let given = json!({ "any": [{ "a": 1 }], "odd": { "power": 1 }, "sql": "select 1", "named": { "__lv": { "label": "L", "value": "v" } },
        "ss": ["a", { "__lv": { "label": "B", "value": "b" } }] });
    let source = server
        .post("/sources", &json!({ "component_code": EVERY, "configured_props": given }))
        .await
        .data();
    let run = server
        .post(&format!("/sources/{}/run", source["id"].as_str().expect("an id")), &json!({}))
        .await
        .data();
    let expected = json!({ "any": [{ "a": 1 }], "odd": { "power": 1 }, "sql": { "app": "postgresql", "query": "select 1", "params": [] }, "named": { "label": "L", "value": "v" }, "ss": ["a", "b"],
        "keys": ["ss", "timer", "sql", "any", "odd", "named"] });
    assert_eq!(run["return_value"], expected);
}

#[tokio::test]
async fn s2_7_1_options_that_throw_give_nonsense_or_never_return_are_an_error_of_the_form() {
    let server = Server::shared().await;
    let code = "export default { type: 'action', name: 'a', key: 'a', version: '1', props: {
      throws: { type: 'string', async options() { throw new TypeError('no list'); } },
      text: { type: 'string', async options() { return 'nonsense'; } }, number: { type: 'string', options: () => [{ label: 'x', value: 1n }] },
      waits: { type: 'string', async options() { await new Promise(() => {}); } }, spins: { type: 'string', async options() { for (;;); } },
      good: { type: 'string', async options() { return ['a']; } } }, run() {} };";
    let component = server.post("/components", &json!({ "component_code": code })).await.data();
    let ask = |prop: &'static str| {
        let (server, id) = (&server, &component["id"]);
        async move {
            server.post("/components/configure", &json!({ "id": id, "prop_name": prop })).await
        }
    };
    for (prop, words) in [
        ("throws", "TypeError: no list"),
        ("text", "must be an array"),
        ("number", "not JSON-serializable"),
    ] {
        let answer = ask(prop).await;
        assert_eq!((answer.status, &answer.json["options"]), (200, &json!([])), "{}", answer.text);
        assert!(
            answer.json["errors"][0].as_str().is_some_and(|e| e.contains(words)),
            "{prop}: {}",
            answer.text
        );
    }
    // Both take the whole time that a form waits; the second blocks its host, and the server stops
    // it.
    let (waits, spins) = tokio::join!(ask("waits"), ask("spins"));
    for answer in [waits, spins] {
        assert!(
            answer.json["errors"][0].as_str().is_some_and(|e| e.contains("Timeout")),
            "{}",
            answer.text
        );
    }
    assert_eq!(ask("good").await.json["options"], json!([{ "label": "a", "value": "a" }]));
}

#[tokio::test]
async fn s2_7_1_additional_props_that_throw_refuse_the_deploy_with_their_words() {
    let server = Server::shared().await;
    for (body, words) in [
        (
            "throw Object.assign(new Error('fill in the key first'), { name: 'ConfigurationError' });",
            "ConfigurationError: fill in the key first",
        ),
        ("return 'nonsense';", "must return an object"),
    ] {
        let code = format!(
            "export default {{ name: 's', version: '1', props: {{ k: 'string' }}, async additionalProps() {{ {body} }}, run() {{}} }};"
        );
        let refused = server
            .post("/sources", &json!({ "component_code": code, "configured_props": { "k": "x" } }))
            .await;
        assert_eq!(refused.refusal(), (422, "additional_props_failed"), "{}", refused.text);
        assert!(refused.text.contains(words), "{}", refused.text);
    }
    assert_eq!(sources(&server).await, 0);
}

#[tokio::test]
async fn s2_6_a_run_or_hook_that_is_no_function_and_props_that_are_no_object_are_refused() {
    let server = Server::shared().await;
    for (fields, words) in [
        ("run: 'later'", "`run` of the component must be a function; it is a string"),
        ("props: ['a'], run() {}", "`props` of the component must be an object; it is an array"),
        (
            "props: '$.service.db', run() {}",
            "`props` of the component must be an object; it is a string",
        ),
        ("methods: 5, run() {}", "`methods` of the component must be an object of functions"),
        ("hooks() {}, run() {}", "`hooks` of the component must be an object of functions"),
        ("hooks: { deploy: 5 }, run() {}", "`hooks.deploy` of the component must be a function"),
    ] {
        let refused = server.post("/sources", &json!({ "component_code": format!("export default {{ name: 'a', version: '1', {fields} }};") })).await;
        assert_eq!(refused.refusal(), (422, "component_does_not_load"), "{}", refused.text);
        assert!(
            refused.json["error"].as_str().is_some_and(|error| error.contains(words)),
            "{}",
            refused.text
        );
    }
    assert_eq!(sources(&server).await, 0);
    // What is not set is not there.
    server
        .source(
            "export default { name: 'a', version: '1', props: undefined, run: null };",
            json!({}),
        )
        .await;
}

#[tokio::test]
async fn s3_1_a_module_that_throws_or_never_ends_at_its_top_level_does_not_deploy() {
    let server = Server::shared().await;
    let deploy = |top: &'static str| {
        let server = &server;
        let code = format!("{top}; export default {{ name: 'a', version: '1', run() {{}} }};");
        async move { server.post("/sources", &json!({ "component_code": code })).await }
    };
    let (throws, spins, waits, ends) = tokio::join!(
        deploy("null.x"),
        deploy("for (;;) {}"),
        deploy("await new Promise(() => {})"),
        deploy("process.kill(process.pid, 'SIGKILL')")
    );
    for (refused, words) in [
        (throws, "TypeError"),
        (spins, "Timeout"),
        (waits, "component does not load"),
        (ends, "component does not load"),
    ] {
        assert_eq!(refused.refusal(), (422, "component_does_not_load"), "{}", refused.text);
        assert!(refused.text.contains(words), "{words}: {}", refused.text);
    }
    assert_eq!(sources(&server).await, 0);
}

#[tokio::test]
async fn s8_a_component_of_five_megabytes_deploys_and_one_that_no_request_may_hold_is_refused() {
    let server = Server::shared().await;
    let code = |bytes: usize| {
        format!(
            "const data = '{}'; export default {{ name: 'large', version: '1', run() {{ return data.length; }} }};",
            "x".repeat(bytes)
        )
    };
    let source = server.source(&code(5 << 20), json!({})).await;
    let run = server
        .post(&format!("/sources/{}/run", source["id"].as_str().expect("an id")), &json!({}))
        .await
        .data();
    assert_eq!(run["return_value"], 5 << 20);
    assert_eq!(
        server.post("/sources", &json!({ "component_code": code(11 << 20) })).await.refusal(),
        (413, "too_large")
    );
    assert_eq!(sources(&server).await, 1);
    // As a file as well.
    let shell = Shell::new(&server);
    shell.write(&[("large.mjs", &code(5 << 20)), ("huge.mjs", &code(9 << 20))]);
    shell.run(&["deploy", "large.mjs"]).ok();
    assert!(shell.run(&["deploy", "huge.mjs"]).fails(1).contains("8388608 bytes"));
    assert_eq!(sources(&server).await, 2);
}

#[tokio::test]
async fn s2_7_5_an_app_that_nobody_registered_is_known_from_then_on_with_the_keys_that_its_code_reads()
 {
    let server = Server::shared().await;
    assert_eq!(
        server
            .post("/accounts", &json!({ "app": "brand_new", "credentials": { "a": 1 } }))
            .await
            .refusal(),
        (422, "invalid_field")
    );
    let app = "export default { type: 'app', app: 'brand_new', methods: { token() { return this.$auth.api_token; }, host() { const { domain } = this.$auth; return domain; } } };";
    let code = "import brandNew from '../../brand_new.app.mjs'; export default { name: 's', version: '1', props: { brandNew }, run() { return [this.brandNew.token(), this.brandNew.$auth.extra]; } };";
    let body = json!({ "component_code": code, "component_entry": "components/brand_new/sources/s/s.mjs", "component_files": { "components/brand_new/brand_new.app.mjs": app } });
    // It has keys, so an account is needed.
    let missing = server.post("/sources", &body).await;
    assert_eq!(missing.refusal(), (422, "missing_props"), "{}", missing.text);
    assert!(missing.text.contains("millrace accounts add brand_new"));
    let shown = server.get("/apps/brand_new").await.data();
    assert_eq!(shown["auth_type"], "keys");
    let fields: Value =
        serde_json::from_str(shown["custom_fields_json"].as_str().expect("a text")).expect("JSON");
    let names: Vec<_> = fields
        .as_array()
        .expect("fields")
        .iter()
        .map(|f| f["name"].as_str().unwrap_or_default())
        .collect();
    assert_eq!(names, ["api_token", "domain", "extra"]);
    let account = server.post("/accounts", &json!({ "app": "brand_new", "credentials": { "api_token": "t", "domain": "d", "extra": "e" } })).await.data();
    let mut body = body;
    body["configured_props"] = json!({ "brandNew": { "authProvisionId": account["id"] } });
    let source = server.post("/sources", &body).await.data();
    let run = server
        .post(&format!("/sources/{}/run", source["id"].as_str().expect("an id")), &json!({}))
        .await
        .data();
    assert_eq!(run["return_value"], json!(["t", "e"]));
}

#[tokio::test]
async fn s3_1_what_could_not_be_activated_says_why_until_it_is() {
    let server = Server::shared().await;
    let code = "export default { name: 's', version: '1', props: { http: '$.interface.http', good: { type: 'boolean', optional: true } },
      hooks: { async activate() { if (!this.good) throw new Error('the provider refused'); } }, run() {} };";
    let source = server.source(code, json!({ "good": true })).await;
    let path = format!("/sources/{}", source["id"].as_str().expect("an id"));
    let off = server
        .put(&path, &json!({ "active": false, "configured_props": { "good": false } }))
        .await
        .data();
    assert_eq!(
        (&off["active"], &off["inactive_reason"]),
        (&json!(false), &json!("it was made inactive"))
    );
    assert_eq!(server.put(&path, &json!({ "active": true })).await.refusal(), (422, "hook_failed"));
    let shown = server.get(&path).await.data();
    assert_eq!(
        (&shown["active"], &shown["inactive_reason"]),
        (&json!(false), &json!("the activate hook failed: Error: the provider refused"))
    );
    let url = source["configured_props"]["http"]["endpoint_url"].as_str().expect("an endpoint");
    assert_eq!(answer(server.raw(Method::GET, url)).await.status, 404);
    let on = server
        .put(&path, &json!({ "active": true, "configured_props": { "good": true } }))
        .await
        .data();
    assert_eq!((&on["active"], &on["inactive_reason"]), (&json!(true), &Value::Null));
    assert_eq!(answer(server.raw(Method::GET, url)).await.status, 200);
}

#[tokio::test]
async fn s3_1_the_same_code_is_one_saved_component() {
    let server = Server::shared().await;
    let code = "export default { name: 's', key: 'acme-s', version: '1', run() { return 1; } };";
    let (one, two) = (server.source(code, json!({})).await, server.source(code, json!({})).await);
    assert_ne!(one["id"], two["id"]);
    assert_eq!(one["component_id"], two["component_id"]);
    let saved = server.post("/components", &json!({ "component_code": code })).await.data();
    assert_eq!(saved["id"], one["component_id"]);
    assert_ne!(
        server.source(&code.replace("return 1", "return 2"), json!({})).await["component_id"],
        one["component_id"]
    );
    // The hash names it as its id does.
    let hash = saved["code_hash"].as_str().expect("a hash");
    assert_eq!(server.get(&format!("/components/{hash}")).await.data()["id"], one["component_id"]);
    assert_eq!(server.get(&format!("/components/{}", "0".repeat(64))).await.status, 404);
}

#[tokio::test]
async fn s2_7_5_an_account_that_its_provider_revoked_fails_the_run_and_is_unhealthy() {
    let server = Server::shared().await;
    let provider = Provider::start();
    let url = &provider.url;
    let oauth = json!({ "authorize_url": format!("{url}/authorize"), "token_url": format!("{url}/token"), "scopes": ["ended"], "client_id": "client", "client_secret": "s3cret" });
    server
        .post("/apps", &json!({ "name_slug": "acme", "auth_type": "oauth", "oauth": oauth }))
        .await
        .data();
    let link = server.post("/accounts/connect", &json!({ "app": "acme" })).await.data();
    assert_eq!(
        answer(server.raw(Method::GET, link["connect_url"].as_str().expect("a page"))).await.status,
        200
    );
    let account = server.get("/accounts?app=acme").await.json["data"][0]["id"].clone();
    let step = "export default defineComponent({ props: { acme: { type: 'app', app: 'acme' } }, run() { return this.acme.$auth.oauth_access_token; } });";
    let steps = json!([{ "namespace": "uses", "code": step, "props": { "acme": { "authProvisionId": account } } }]);
    let workflow = server.post("/workflows", &json!({ "triggers": [{ "type": "http" }], "steps": steps, "settings": { "name": "w" } })).await.data();
    answer(server.raw(Method::GET, &format!("{url}/refuse"))).await;
    answer(
        server.raw(
            Method::GET,
            workflow["triggers"][0]["endpoint_url"].as_str().expect("an endpoint"),
        ),
    )
    .await;
    let errors = format!(
        "/workflows/{}/$errors/event_summaries?expand=event",
        workflow["id"].as_str().expect("an id")
    );
    let errors = server.until("the error", &errors, |list| list["page_info"]["count"] == 1).await;
    let error = &errors["data"][0]["event"]["error"];
    assert_eq!(error["code"], "AccountUnavailable", "{error}");
    let shown = server.get(&format!("/accounts/{}", account.as_str().expect("an id"))).await.data();
    assert_eq!(shown["healthy"], false);
    assert!(shown["problem"].as_str().is_some_and(|p| p.contains("refused to refresh")), "{shown}");
}

#[tokio::test]
async fn s2_6_a_key_of_more_than_300_bytes_is_refused() {
    let server = Server::shared().await;
    let code = |len: usize| {
        format!(
            "export default {{ name: 's', key: '{}', version: '1', type: 'action', run() {{}} }};",
            "k".repeat(len)
        )
    };
    let save = async |len: usize| {
        server.post("/components", &json!({ "component_code": code(len), "publish": true })).await
    };
    assert_eq!(save(300).await.data()["key"], "k".repeat(300));
    for len in [301, 8_000] {
        let refused = save(len).await;
        assert_eq!(refused.refusal(), (422, "invalid_component"), "{}", refused.text);
        assert!(
            refused.text.contains(&format!("{len} bytes; at most 300 are allowed")),
            "{}",
            refused.text
        );
    }
    let source = server
        .post("/sources", &json!({ "component_code": code(301).replace("'action'", "'source'") }))
        .await;
    assert_eq!((source.refusal(), sources(&server).await), ((422, "invalid_component"), json!(0)));
}
