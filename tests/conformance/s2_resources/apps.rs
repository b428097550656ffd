//! Apps, connected accounts, and what a form asks while props are filled in (spec 2.7.5;
//! reference 2, 3).

use millrace_tests::{Client, Server, answer, endpoint, id};
use reqwest::Method;
use serde_json::{Value, json};

/// A source of an app of our own, whose code looks at its account.
const SOURCE: &str = "
const acme = { type: 'app', app: 'acme', methods: { key() { return this.$auth.api_key; } } };
export default { name: 's', version: '1', props: { acme, http: { type: '$.interface.http', customResponse: true } },
  run() { this.http.respond({ status: 200, body: { key: this.acme.key(), keys: Object.keys(this.acme.$auth), own: Object.keys(this) } }); } };";

async fn connect(server: &Client, app: &str, credentials: Value) -> String {
    let account =
        server.post("/accounts", &json!({ "app": app, "credentials": credentials })).await.data();
    account["id"].as_str().expect("an id").to_owned()
}

#[tokio::test]
async fn s2_7_5_auth_holds_the_values_of_the_account_that_the_prop_names() {
    let server = Server::shared().await;
    let fields =
        json!([{ "name": "api_key", "type": "password" }, { "name": "region", "default": "eu" }]);
    server
        .post("/apps", &json!({ "name_slug": "acme", "name": "Acme", "custom_fields": fields }))
        .await
        .data();
    let account = connect(&server, "acme", json!({ "api_key": "k1" })).await;
    let other = connect(&server, "acme", json!({ "api_key": "another" })).await;
    let source = server.source(SOURCE, json!({ "acme": { "authProvisionId": account } })).await;
    assert_eq!(source["configured_props"]["acme"], json!({ "authProvisionId": account }));
    let ask = || async { answer(server.raw(Method::GET, &endpoint(&source))).await.json };
    let seen = ask().await;
    assert_eq!((&seen["key"], &seen["keys"]), (&json!("k1"), &json!(["api_key", "region"])));
    // New values are there from the next run on.
    server
        .put(&format!("/accounts/{account}"), &json!({ "credentials": { "api_key": "k2" } }))
        .await
        .data();
    assert_eq!(ask().await["key"], "k2");
    // An account that is gone fails the run, with words.
    server.delete(&format!("/accounts/{account}")).await.data();
    let run = server
        .post(&format!("/sources/{}/run", source["id"].as_str().expect("an id")), &json!({}))
        .await
        .data();
    assert_eq!(
        (&run["status"], &run["error"]["code"]),
        (&json!("failed"), &json!("AccountUnavailable"))
    );
    assert!(
        run["error"]["message"]
            .as_str()
            .is_some_and(|m| m.contains(&account) && m.contains("acme"))
    );
    server
        .put(
            &format!("/sources/{}", source["id"].as_str().expect("an id")),
            &json!({ "configured_props": { "acme": { "authProvisionId": other } } }),
        )
        .await
        .data();
    assert_eq!(ask().await["key"], "another");
}

#[tokio::test]
async fn s2_7_5_a_step_uses_the_accounts_that_its_own_props_name() {
    let server = Server::shared().await;
    let account = connect(&server, "stripe", json!({ "api_key": "sk" })).await;
    let code = "export default defineComponent({ props: { stripe: { type: 'app', app: 'stripe' } }, async run({ $ }) { await $.respond({ status: 200, body: { key: this.stripe.$auth.api_key } }); } });";
    let steps = json!([{ "namespace": "a", "code": code, "props": { "stripe": { "authProvisionId": account } } }]);
    let workflow = server.post("/workflows", &json!({ "triggers": [{ "type": "http" }], "steps": steps, "settings": { "name": "w" } })).await.data();
    let url = workflow["triggers"][0]["endpoint_url"].as_str().expect("an endpoint");
    assert_eq!(answer(server.raw(Method::GET, url)).await.json, json!({ "key": "sk" }));
}

#[tokio::test]
async fn r2_26_accounts_are_listed_and_their_credentials_only_shown_when_asked_for() {
    let server = Server::start().await;
    let account = connect(&server, "stripe", json!({ "api_key": "s3cret" })).await;
    connect(&server, "postgresql", json!({ "host": "h", "password": "p" })).await;
    let shown = server.get(&format!("/accounts/{account}")).await;
    assert!(!shown.text.contains("s3cret"));
    let data = shown.data();
    assert_eq!(
        (&data["name"], &data["healthy"], &data["app"]["name_slug"]),
        (&json!("Stripe"), &json!(true), &json!("stripe"))
    );
    let with = server.get(&format!("/accounts/{account}?include_credentials=1")).await.data();
    assert_eq!(with["credentials"], json!({ "api_key": "s3cret" }));
    let listed = server.get("/accounts?app=stripe").await;
    assert_eq!(
        (listed.json["page_info"]["total_count"].clone(), listed.json["data"][0]["id"].clone()),
        (json!(1), json!(account))
    );
    assert_eq!(
        server.get(&format!("/workspaces/{}/accounts?query=postgresql", server.org_id)).await.json
            ["page_info"]["total_count"],
        1
    );
    assert_eq!(server.get("/accounts").await.json["page_info"]["total_count"], 2);
    assert!(!server.log().contains("s3cret"));
}

#[tokio::test]
async fn r2_26_accounts_that_cannot_be_are_refused() {
    let server = Server::shared().await;
    server
        .post("/apps", &json!({ "name_slug": "acme", "custom_fields": [{ "name": "api_key" }] }))
        .await
        .data();
    let refused = |app: &'static str, credentials: Value| {
        let server = &server;
        async move { server.post("/accounts", &json!({ "app": app, "credentials": credentials })).await }
    };
    assert_eq!(
        refused("nobody_registered_this", json!({ "a": 1 })).await.refusal(),
        (422, "invalid_field")
    );
    assert_eq!(refused("acme", json!({})).await.refusal(), (422, "invalid_field"));
    let unknown = refused("acme", json!({ "api_key": "s3cret", "oops": "x" })).await;
    assert_eq!(unknown.refusal(), (422, "unknown_field"));
    assert!(unknown.text.contains("api_key") && !unknown.text.contains("s3cret"));
    assert_eq!(
        refused("acme", json!({ "api_key": ["s3cret"] })).await.refusal(),
        (422, "invalid_field")
    );
    assert_eq!(server.get("/accounts").await.json["page_info"]["total_count"], 0);
    // A source that needs an account says so, and takes none of another app.
    let missing = server.post("/sources", &json!({ "component_code": SOURCE })).await;
    assert_eq!(missing.refusal(), (422, "missing_props"));
    let stripe = connect(&server, "stripe", json!({ "api_key": "k" })).await;
    for value in [
        json!({ "authProvisionId": stripe }),
        json!({ "authProvisionId": "apn_nothere" }),
        json!({ "api_key": "s3cret" }),
    ] {
        let refused = server
            .post(
                "/sources",
                &json!({ "component_code": SOURCE, "configured_props": { "acme": value } }),
            )
            .await;
        assert_eq!(refused.refusal(), (422, "invalid_props"), "{value}");
        assert!(!refused.text.contains("s3cret"));
    }
    assert_eq!(server.get("/users/me/sources").await.json["page_info"]["total_count"], 0);
}

#[tokio::test]
async fn r2_26_a_field_that_no_known_code_reads_is_kept_with_a_warning_and_one_of_an_own_app_refused()
 {
    let server = Server::shared().await;
    let connected = |app: &'static str, credentials: Value| {
        let server = &server;
        async move { server.post("/accounts", &json!({ "app": app, "credentials": credentials })).await }
    };
    let good = connected("stripe", json!({ "api_key": "k" })).await.data();
    assert_eq!(good["warnings"], Value::Null);
    // The fields of the catalogue were read from code, which may not name all: a source of one's
    // own may read another.
    let odd = connected("stripe", json!({ "api_key": "s3cret", "api_kye": "s3cret" })).await;
    assert!(!odd.text.contains("s3cret"), "{}", odd.text);
    let warnings = odd.data()["warnings"].take();
    assert_eq!(warnings.as_array().map(Vec::len), Some(1), "{warnings}");
    assert!(
        warnings[0].as_str().is_some_and(|w| w.contains("`api_kye`") && w.contains("`api_key`")),
        "{warnings}"
    );
    let none = connected("stripe", json!({ "nope": 1 })).await.data();
    assert_eq!(none["warnings"].as_array().map(Vec::len), Some(2), "{none}");
    // They are told once, and are gone once the value is there.
    assert_eq!(
        server.get(&format!("/accounts/{}", id(&none))).await.data()["warnings"],
        Value::Null
    );
    let mended = server
        .put(&format!("/accounts/{}", id(&none)), &json!({ "credentials": { "api_key": "k" } }))
        .await
        .data();
    assert_eq!(mended["warnings"].as_array().map(Vec::len), Some(1), "{mended}");
    let shell = millrace_tests::cli::Shell::new(&server);
    let told = shell.run_with(&["accounts", "add", "stripe"], "{\"nope\": \"x\"}");
    assert!(
        told.stderr.contains("warning: `nope` is kept") && !told.stdout.contains("warning"),
        "{} {}",
        told.stdout,
        told.stderr
    );
    server
        .put(
            "/apps/stripe",
            &json!({ "name": "Our Stripe", "custom_fields": [{ "name": "api_key" }] }),
        )
        .await
        .data();
    assert_eq!(
        connected("stripe", json!({ "api_key": "k", "nope": 1 })).await.refusal(),
        (422, "unknown_field")
    );
}

#[tokio::test]
async fn r2_27_the_catalogue_of_apps_is_searched_and_an_own_app_takes_the_place_of_its_entry() {
    let server = Server::shared().await;
    let found = server.get("/apps?q=stripe&limit=1").await;
    assert_eq!(found.json["data"][0]["name_slug"], "stripe");
    assert!(
        found.json["data"][0]["custom_fields_json"]
            .as_str()
            .is_some_and(|text| text.contains("api_key"))
    );
    server
        .put(
            "/apps/stripe",
            &json!({ "name": "Our Stripe", "custom_fields": [{ "name": "api_key" }] }),
        )
        .await
        .data();
    assert_eq!(server.get("/apps/stripe").await.data()["name"], "Our Stripe");
    assert_eq!(server.get("/apps?q=our+stripe").await.json["page_info"]["total_count"], 1);
    let first = server.get("/apps?limit=2").await;
    let next = server
        .get(&format!(
            "/apps?limit=1&after={}",
            first.json["data"][0]["id"].as_str().expect("an id")
        ))
        .await;
    assert_eq!(next.json["data"][0], first.json["data"][1]);
    assert_eq!(server.get("/apps/nothing_of_that_name").await.status, 404);
    assert_eq!(
        server.post("/apps", &json!({ "name_slug": "Not A Slug" })).await.refusal(),
        (422, "invalid_field")
    );
}

#[tokio::test]
async fn s2_7_1_options_come_from_a_method_page_by_page() {
    let server = Server::shared().await;
    let account = connect(&server, "stripe", json!({ "api_key": "k" })).await;
    let code = "
        const stripe = { type: 'app', app: 'stripe', propDefinitions: {
          item: { type: 'string', async options({ page, prevContext, query, kind }) {
            return { options: [{ label: `${this.$auth.api_key} ${kind} ${page} ${prevContext.next ?? 'first'} ${query ?? ''}`, value: page }], context: { next: 'n' + page } }; } } } };
        export default { type: 'action', name: 'a', key: 'a', version: '1', props: { stripe, kind: 'string',
          item: { propDefinition: [stripe, 'item', (c) => ({ kind: c.kind })] },
          fails: { type: 'string', optional: true, async options() { throw new Error('no way'); } } }, run() {} };";
    let component = server.post("/components", &json!({ "component_code": code })).await.data();
    let depends_on = |at: usize| &component["configurable_props"][at]["dependsOn"];
    assert_eq!((depends_on(2), depends_on(3)), (&json!(["kind"]), &Value::Null));
    let ask = |body: Value| {
        let server = &server;
        let mut request = json!({ "id": component["id"], "prop_name": "item", "configured_props": { "stripe": { "authProvisionId": account }, "kind": "blue" } });
        request
            .as_object_mut()
            .expect("an object")
            .extend(body.as_object().expect("an object").clone());
        async move { server.post("/components/configure", &request).await.json }
    };
    assert_eq!(
        ask(json!({})).await,
        json!({ "options": [{ "label": "k blue 0 first ", "value": 0 }], "context": { "next": "n0" }, "errors": [] })
    );
    let second = ask(json!({ "page": 1, "prev_context": { "next": "n0" }, "query": "q" })).await;
    assert_eq!(second["options"], json!([{ "label": "k blue 1 n0 q", "value": 1 }]));
    assert_eq!(ask(json!({ "prop_name": "fails" })).await["errors"], json!(["Error: no way"]));
    let unknown = server
        .post("/components/configure", &json!({ "id": component["id"], "prop_name": "nothing" }))
        .await;
    assert_eq!(unknown.refusal(), (422, "invalid_field"));
}

#[tokio::test]
async fn s2_7_1_a_source_has_the_interfaces_that_only_additional_props_declares() {
    let server = Server::shared().await;
    let code = "export default { name: 's', version: '1', props: { kind: { type: 'string', reloadProps: true } },
      additionalProps() { if (this.kind === 'bad') throw new Error('no such kind');
        return this.kind === 'web' ? { http: { type: '$.interface.http', customResponse: true }, word: 'string' } : {}; },
      run() { this.http.respond({ status: 200, body: `${this.kind} ${this.word}` }); } };";
    let source = server.source(code, json!({ "kind": "web", "word": "hello" })).await;
    let url = source["configured_props"]["http"]["endpoint_url"]
        .as_str()
        .expect("an endpoint")
        .to_owned();
    assert_eq!(answer(server.raw(Method::GET, &url)).await.text, "web hello");
    let id = source["id"].as_str().expect("an id");
    // A value that is missing now is one of those props, too.
    assert_eq!(
        server
            .post(
                "/sources",
                &json!({ "component_code": code, "configured_props": { "kind": "web" } })
            )
            .await
            .refusal(),
        (422, "missing_props")
    );
    let refused = server
        .put(&format!("/sources/{id}"), &json!({ "configured_props": { "kind": "bad" } }))
        .await;
    assert_eq!(refused.refusal(), (422, "additional_props_failed"));
    assert!(refused.text.contains("no such kind"));
    let changed = server
        .put(&format!("/sources/{id}"), &json!({ "configured_props": { "kind": "quiet" } }))
        .await
        .data();
    assert_eq!(changed["configured_props"], json!({ "kind": "quiet" }));
    assert_eq!(answer(server.raw(Method::GET, &url)).await.status, 404);
}

#[tokio::test]
async fn s2_7_1_additional_props_depend_on_the_values_of_others() {
    let server = Server::shared().await;
    let code = "export default { type: 'action', name: 'a', version: '1', props: { n: { type: 'integer', reloadProps: true } },
      additionalProps(existing) { if (this.n > 2) throw new Error('too many'); existing.n.label = 'Count'; const props = {}; for (let i = 0; i < this.n; i++) props['p' + i] = { type: 'string' }; return props; }, run() {} };";
    let component = server.post("/components", &json!({ "component_code": code })).await.data();
    let ask = |n: i64| {
        let (server, id) = (&server, &component["id"]);
        async move {
            server
                .post("/components/props", &json!({ "id": id, "configured_props": { "n": n } }))
                .await
                .json
        }
    };
    let two = ask(2).await;
    let names: Vec<_> = two["dynamic_props"]["configurable_props"]
        .as_array()
        .expect("props")
        .iter()
        .map(|p| p["name"].clone())
        .collect();
    assert_eq!(names, ["n", "p0", "p1"]);
    assert_eq!(two["dynamic_props"]["configurable_props"][0]["label"], "Count");
    assert_eq!(ask(3).await, json!({ "dynamic_props": null, "errors": ["Error: too many"] }));
}

#[tokio::test]
async fn s2_7_1_an_array_of_apps_is_a_list_of_accounts_each_with_its_own_values() {
    let server = Server::shared().await;
    let (one, two) = (
        connect(&server, "stripe", json!({ "api_key": "k1" })).await,
        connect(&server, "stripe", json!({ "api_key": "k2" })).await,
    );
    let other = connect(&server, "postgresql", json!({ "host": "h", "password": "p" })).await;
    let code = "const stripe = { type: 'app', app: 'stripe', propDefinitions: { a: { type: 'string' } }, methods: { key() { return this.$auth.api_key; } } };
        export default { name: 's', version: '1', props: { all: { ...stripe, type: 'app[]', label: 'Accounts' } }, run() { return [this.all.map((one) => one.key()), Object.keys(this)]; } };";
    let named = |accounts: &[&String]| json!({ "all": accounts.iter().map(|account| json!({ "authProvisionId": account })).collect::<Vec<_>>() });
    let saved = server.post("/components", &json!({ "component_code": code })).await.data();
    assert_eq!(
        saved["configurable_props"],
        json!([{ "name": "all", "type": "app[]", "app": "stripe", "label": "Accounts" }])
    );
    assert_eq!(saved["apps"], json!(["stripe"]));
    assert_eq!(server.returned(code, named(&[&one, &two])).await, json!([["k1", "k2"], ["all"]]));
    // In a step as well.
    let step = "export default defineComponent({ props: { all: { type: 'app[]', app: 'stripe' } }, run() { return this.all.map((one) => one.$auth.api_key); } });";
    let steps = json!([{ "namespace": "a", "code": step, "props": named(&[&two, &one]) }]);
    let workflow = server
        .post("/workflows", &json!({ "triggers": [], "steps": steps, "settings": { "name": "w" } }))
        .await
        .data();
    let run = server.post(&format!("/workflows/{}/test", id(&workflow)), &json!({})).await.data();
    assert_eq!(run["steps"][0]["exports"]["$return_value"], json!(["k2", "k1"]));
    // As it is typed: their ids alone.
    let typed = server.source(code, json!({ "all": [&one, &two] })).await;
    assert_eq!(typed["configured_props"], named(&[&one, &two]));
    // None, one of another app, and what is no list.
    assert_eq!(
        server.post("/sources", &json!({ "component_code": code })).await.refusal(),
        (422, "missing_props")
    );
    for values in [
        named(&[&one, &other]),
        json!({ "all": { "authProvisionId": one } }),
        json!({ "all": ["hunter2"] }),
    ] {
        let refused = server
            .post("/sources", &json!({ "component_code": code, "configured_props": values }))
            .await;
        assert_eq!(
            (refused.refusal(), refused.text.contains("hunter2")),
            ((422, "invalid_props"), false),
            "{}",
            refused.text
        );
    }
}
