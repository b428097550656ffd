//! The points on which naive runtimes break (section 5 of what is known of the public registry),
//! each as public components write it.

use millrace_tests::receiver::{Does, Receiver};
use millrace_tests::{Client, Server, answer, endpoint, id};
use reqwest::Method;
use serde_json::{Value, json};

/// Asks for the options of a prop of a saved component.
async fn options(server: &Client, component: &Value, prop: &str, more: Value) -> Value {
    let mut body = json!({ "id": component["id"], "prop_name": prop });
    body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    server.post("/components/configure", &body).await.json
}

async fn save(server: &Client, code: &str) -> Value {
    server.post("/components", &json!({ "component_code": code })).await.data()
}

#[tokio::test]
async fn f5_1_methods_are_bound_when_the_instance_is_made() {
    let server = Server::shared().await;
    let code = "const app = { type: 'app', app: 'nothing', methods: { base() { return 'b'; }, url(path) { return this.base() + path; } } };
      export default { name: 'm', version: '1', props: { app, word: 'string' }, methods: { fn() { return this.app.url; }, add(x) { return this.word + x; } },
        run() { const { add, fn } = this; return [fn()('/x'), ['1', '2'].map(this.add), add('!')]; } };";
    server.post("/apps", &json!({ "name_slug": "nothing", "auth_type": "none" })).await.data();
    assert_eq!(
        server.returned(code, json!({ "word": "w" })).await,
        json!(["b/x", ["w1", "w2"], "w!"])
    );
}

#[tokio::test]
async fn f5_2_own_keys_are_props_with_a_value_and_methods() {
    let server = Server::shared().await;
    let code = "export default { name: 'k', version: '1', props: { db: '$.service.db', http: '$.interface.http', set: 'string', unset: { type: 'string', optional: true }, note: { type: 'alert', content: 'x' } },
        methods: { m() {} }, run() { const { db, http, ...data } = this; return [Object.keys(this).sort(), JSON.stringify(data), typeof this.$emit]; } };";
    assert_eq!(
        server.returned(code, json!({ "set": "s" })).await,
        json!([["db", "http", "m", "set"], "{\"set\":\"s\"}", "function"])
    );
}

#[tokio::test]
async fn f5_3_each_run_has_a_fresh_and_writable_instance() {
    let server = Server::shared().await;
    let code = "export default { name: 'w', version: '1', props: { list: 'string[]' }, run() { const seen = [this.x ?? null, this.list.length]; this.x = 1; this.list.push('more'); this.run2 = () => 2; return seen; } };";
    let source = server.source(code, json!({ "list": ["a"] })).await;
    for _ in 0..2 {
        assert_eq!(server.run_now(&source, json!({})).await["return_value"], json!([null, 1]));
    }
}

#[tokio::test]
async fn f5_4_a_first_page_has_an_empty_context_and_any_context_comes_back() {
    let server = Server::shared().await;
    let code = "export default { name: 'o', version: '1', props: { a: { type: 'string', options({ page, prevContext: { offset = 0 }, query }) { return { options: [offset, page], context: { offset: offset + 5, deep: { q: query ?? null } } }; } } }, run() {} };";
    let component = save(&server, code).await;
    let first = options(&server, &component, "a", json!({})).await;
    assert_eq!(
        (&first["options"][0]["value"], &first["context"]),
        (&json!(0), &json!({ "offset": 5, "deep": { "q": null } }))
    );
    let second = options(
        &server,
        &component,
        "a",
        json!({ "page": 1, "prev_context": first["context"], "query": "x" }),
    )
    .await;
    assert_eq!(
        (
            &second["options"][0]["value"],
            &second["options"][1]["value"],
            &second["context"]["deep"]["q"]
        ),
        (&json!(5), &json!(1), &json!("x"))
    );
}

#[tokio::test]
async fn f5_5_an_input_values_function_that_throws_means_not_ready() {
    let server = Server::shared().await;
    let code = "const app = { type: 'app', app: 'nothing', propDefinitions: { table: { type: 'string', options({ baseId, page }) { return [baseId + page]; } } }, methods: { idOf(x) { return x.toUpperCase(); } } };
      export default { name: 't', version: '1', props: { app, base: { type: 'string', withLabel: true, optional: true },
        table: { propDefinition: [app, 'table', ({ base }) => ({ baseId: app.methods.idOf(base.value) })], optional: true } }, run() { return this.base; } };";
    server.post("/apps", &json!({ "name_slug": "nothing", "auth_type": "none" })).await.data();
    let component = save(&server, code).await;
    assert_eq!(options(&server, &component, "table", json!({})).await["options"], json!([]));
    let base = json!({ "__lv": { "label": "Base", "value": "b1" } });
    let ready =
        options(&server, &component, "table", json!({ "configured_props": { "base": base } }))
            .await;
    assert_eq!(ready["options"][0]["value"], "B10");
    assert_eq!(
        server.returned(code, json!({ "base": base })).await,
        json!({ "label": "Base", "value": "b1" })
    );
}

#[tokio::test]
async fn f5_6_one_app_object_is_shared_and_never_changed() {
    let server = Server::shared().await;
    let code = "const app = { type: 'app', app: 'nothing', propDefinitions: { item: { type: 'string', label: 'Item', description: 'From the app', optional: true } }, methods: { me() { return this === app ? 'module' : 'instance'; } } };
      const common = { props: { app, one: { propDefinition: [app, 'item'] } } };
      export default { ...common, name: 'c', version: '1', props: { ...common.props, two: { propDefinition: [common.props.app, 'item'], label: 'Two', optional: false } },
        run() { return [this.app.me(), app.propDefinitions.item.label, Object.keys(app)]; } };";
    server.post("/apps", &json!({ "name_slug": "nothing", "auth_type": "none" })).await.data();
    let component = save(&server, code).await;
    let props = component["configurable_props"].as_array().expect("props");
    let shown: Vec<_> = props
        .iter()
        .map(|p| (p["name"].clone(), p["label"].clone(), p["optional"].clone()))
        .collect();
    assert_eq!(
        shown[1..],
        [(json!("one"), json!("Item"), json!(true)), (json!("two"), json!("Two"), json!(false))]
    );
    assert_eq!(
        server.returned(code, json!({ "two": "2" })).await,
        json!(["instance", "Item", ["type", "app", "propDefinitions", "methods"]])
    );
}

#[tokio::test]
async fn f5_7_additional_props_may_change_its_argument_and_give_option_functions() {
    let server = Server::shared().await;
    let code = "const app = { type: 'app', app: 'nothing', propDefinitions: { item: { type: 'string', label: 'Item' } } };
      export default { name: 'a', version: '1', props: { app, kind: { type: 'string', reloadProps: true }, later: { type: 'string', hidden: true, optional: true } },
        async additionalProps(existing) { existing.later.hidden = false; const kind = this.kind;
          return { choice: { type: 'string', optional: true, options: async ({ page }) => [`${kind} ${page}`] }, item: { propDefinition: [app, 'item'], optional: true } }; }, run() {} };";
    server.post("/apps", &json!({ "name_slug": "nothing", "auth_type": "none" })).await.data();
    let component = save(&server, code).await;
    let values = json!({ "configured_props": { "kind": "k" } });
    let props = server
        .post(
            "/components/props",
            &json!({ "id": component["id"], "configured_props": { "kind": "k" } }),
        )
        .await
        .json;
    let prop = |name: &str| {
        props["dynamic_props"]["configurable_props"]
            .as_array()
            .expect("props")
            .iter()
            .find(|p| p["name"] == name)
            .cloned()
            .expect("a prop")
    };
    assert_eq!(
        (&prop("later")["hidden"], &prop("choice")["remoteOptions"], &prop("item")["label"]),
        (&json!(false), &json!(true), &json!("Item"))
    );
    assert_eq!(options(&server, &component, "choice", values).await["options"][0]["value"], "k 0");
}

#[tokio::test]
async fn f5_8_the_endpoint_is_live_while_activate_waits_and_both_write_to_db() {
    let server = Server::shared().await;
    let code = "export default { name: 'asana', version: '1', props: { http: { type: '$.interface.http', customResponse: true }, db: '$.service.db' },
        hooks: { async activate() { this.db.set('started', true);
          const answer = await fetch(this.http.endpoint, { method: 'POST', headers: { 'x-hook-secret': 's3' } }); this.db.set('answered', answer.headers.get('x-hook-secret')); } },
        run(event) { const secret = event.headers?.['x-hook-secret']; if (secret) { this.db.set('secret', secret); return this.http.respond({ status: 200, headers: { 'x-hook-secret': secret } }); }
          return [this.db.get('started'), this.db.get('secret'), this.db.get('answered')]; } };";
    assert_eq!(server.returned(code, json!({})).await, json!([true, "s3", "s3"]));
}

#[tokio::test]
async fn f5_10_a_source_without_run_emits_its_event() {
    let server = Server::shared().await;
    let source = server
        .source(
            "export default { name: 'n', version: '1', props: { http: '$.interface.http' } };",
            json!({}),
        )
        .await;
    answer(server.raw(Method::POST, &endpoint(&source)).json(&json!({ "n": 1 }))).await;
    server
        .until(
            "the event",
            &format!("/sources/{}/event_summaries?expand=event", id(&source)),
            |l| l["data"][0]["event"]["body"]["n"] == 1,
        )
        .await;
}

#[tokio::test]
async fn f5_12_a_static_timer_cannot_be_changed_and_long_intervals_are_taken() {
    let server = Server::shared().await;
    let timer = |prop: &str| {
        format!(
            "export default {{ name: 't', version: '1', props: {{ timer: {prop} }}, run() {{}} }};"
        )
    };
    let fixed = server
        .source(
            &timer("{ type: '$.interface.timer', static: { intervalSeconds: 300 } }"),
            json!({ "timer": { "intervalSeconds": 1 } }),
        )
        .await;
    assert_eq!(fixed["configured_props"]["timer"]["interval_seconds"], 300);
    let long = server
        .source(
            &timer("{ type: '$.interface.timer', default: { intervalSeconds: 86400000 } }"),
            json!({}),
        )
        .await;
    assert_eq!(long["configured_props"]["timer"]["interval_seconds"], 86_400_000);
}

#[tokio::test]
async fn f5_13_modules_have_require_and_their_own_file_names() {
    let server = Server::shared().await;
    let module = "import { createRequire } from 'node:module'; import util from 'util';
      const here = [typeof require, typeof __filename, typeof __dirname, typeof require('util').format, typeof createRequire(import.meta.url)('path').join];
      export default { name: 'esm', version: '1', run() { return here; } };";
    assert_eq!(
        server.returned(module, json!({})).await,
        json!(["function", "string", "string", "function", "function"])
    );
    let commonjs = "const util = require('util'); module.exports = { name: 'cjs', version: '1', run() { return util.format('%s', 'ok'); } };";
    assert_eq!(server.returned(commonjs, json!({})).await, "ok");
    let awaited = "const word = await Promise.resolve('later'); export default { name: 'tla', version: '1', run() { return word; } };";
    assert_eq!(server.returned(awaited, json!({})).await, "later");
    let defined = "export default defineComponent({ name: 'def', version: '1', run() { return 'defined'; } });";
    assert_eq!(server.returned(defined, json!({})).await, "defined");
}

#[tokio::test]
async fn f5_18_a_module_is_loaded_once_for_many_runs() {
    let server = Server::shared().await;
    let code =
        "let runs = 0; export default { name: 'm', version: '1', run() { return ++runs; } };";
    let source = server.source(code, json!({})).await;
    let first =
        server.run_now(&source, json!({})).await["return_value"].as_i64().expect("a number");
    assert_eq!(server.run_now(&source, json!({})).await["return_value"], first + 1);
}

#[tokio::test]
async fn f5_19_a_run_ends_though_handles_stay_open() {
    let server = Server::shared().await;
    let code = "import { Duplex } from 'node:stream'; export default { name: 'h', version: '1', run() { setInterval(() => {}, 1000); setTimeout(() => {}, 60_000); new Duplex({ read() {} }).resume(); return 'done'; } };";
    assert_eq!(server.returned(code, json!({})).await, "done");
}

#[tokio::test]
async fn f5_21_the_hosted_platforms_address_is_answered_by_this_server() {
    let server = Server::shared().await;
    let code = "import { axios } from '@pipedream/platform'; const pipedream = { type: 'app', app: 'pipedream', methods: { ask(path) { return axios(this, { url: 'https://api.pipedream.com/v1' + path, headers: { Authorization: `Bearer ${this.$auth.api_key}` } }); } } };
      export default { name: 'p', version: '1', props: { pipedream }, async run() { const me = await this.pipedream.ask('/users/me'); const r = await fetch('https://api.pipedream.com/v1/users/me'); return [me.data.orgs[0].id, r.status]; } };";
    let account = server
        .post(
            "/accounts",
            &json!({ "app": "pipedream", "credentials": { "api_key": server.api_key } }),
        )
        .await
        .data();
    assert_eq!(
        server.returned(code, json!({ "pipedream": { "authProvisionId": account["id"] } })).await,
        json!([server.org_id, 401])
    );
}

#[tokio::test]
async fn f5_22_code_that_makes_code_works() {
    let server = Server::shared().await;
    let code = "export default { name: 'e', version: '1', run() { return [eval('1 + 1'), Function('a', 'return a * 2')(4), new (global['RangeError'])('x').name]; } };";
    assert_eq!(server.returned(code, json!({})).await, json!([2, 8, "RangeError"]));
}

#[tokio::test]
async fn f5_24_values_stay_what_they_were_given_as() {
    let server = Server::shared().await;
    let code = "export default { name: 'v', version: '1', props: { o: 'object', s: 'string', b: 'boolean', list: 'string[]' }, run() { return [typeof this.o, this.o, this.s, this.b, this.list]; } };";
    let values = json!({ "o": "{\"a\": 1}", "s": "42", "b": true, "list": ["1", "{}"] });
    assert_eq!(
        server.returned(code, values).await,
        json!(["string", "{\"a\": 1}", "42", true, ["1", "{}"]])
    );
}

#[tokio::test]
async fn r3_1_platform_axios_behaves_as_components_expect() {
    let server = Server::shared().await;
    let receiver = Receiver::start(Does::says("418 I'm a teapot")).await;
    let code = format!(
        "import {{ axios, ConfigurationError }} from '@pipedream/platform';
         export default {{ name: 'x', version: '1', async run() {{
           const out = [];
           try {{ await axios(this, {{ url: '{url}?a=1', params: {{ b: 2, none: undefined }}, headers: {{ 'x-y': undefined, 'x-z': 'z' }}, method: 'POST', data: {{ c: 3, d: undefined }} }}); }}
           catch (e) {{ out.push(e.name, e.response.status, typeof e.stack, e instanceof Error); }}
           try {{ await axios(this, {{ url: '{url}', body: 1 }}); }} catch (e) {{ out.push(e.name); }}
           return out; }} }};",
        url = receiver.url
    );
    let got = server.returned(&code, json!({})).await;
    assert_eq!(
        (&got[1], &got[3], &got[4]),
        (&json!(418), &json!(true), &json!("ConfigurationError")),
        "{got}"
    );
    assert!(got[0].as_str().is_some_and(|n| n.starts_with("AxiosError - ")), "{got}");
    let asked = &receiver.got()[0];
    assert!(
        asked.head.starts_with("POST /hook?a=1&b=2 ")
            && asked.header("x-z") == "z"
            && asked.header("x-y").is_empty(),
        "{asked:?}"
    );
    assert_eq!(serde_json::from_str::<Value>(&asked.body).ok(), Some(json!({ "c": 3 })));
}

#[tokio::test]
async fn r3_7_headers_are_found_in_any_case_and_forms_are_parsed() {
    let server = Server::shared().await;
    let code = "export default { name: 'f', version: '1', props: { http: { type: '$.interface.http', customResponse: true } }, run(event) { const { body, headers } = event;
        this.http.respond({ status: 200, body: { body, type: headers['Content-Type'], same: headers['content-type'], keys: Object.keys(headers).every((k) => k === k.toLowerCase()), raw: event.bodyRaw } }); } };";
    let source = server.source(code, json!({})).await;
    let send = async |kind: &str, body: &'static str| {
        answer(server.raw(Method::POST, &endpoint(&source)).header("Content-Type", kind).body(body))
            .await
            .json
    };
    let form = send("application/x-www-form-urlencoded", "a=1&b=x%20y&a=2").await;
    assert_eq!(
        (&form["body"], &form["raw"], &form["keys"]),
        (&json!({ "a": ["1", "2"], "b": "x y" }), &json!("a=1&b=x%20y&a=2"), &json!(true))
    );
    assert_eq!(
        (&form["type"], &form["same"]),
        (&json!("application/x-www-form-urlencoded"), &json!("application/x-www-form-urlencoded"))
    );
    assert_eq!(
        send("application/vnd.acme+json; charset=utf-8", "{\"n\": [1]}").await["body"],
        json!({ "n": [1] })
    );
    assert_eq!(send("text/plain", "just text").await["body"], "just text");
    assert_eq!(send("application/json", "{broken").await["body"], "{broken");
}

#[tokio::test]
async fn r3_3_a_type_that_is_not_known_is_kept_and_its_value_is_text() {
    let server = Server::shared().await;
    let code = "export default { name: 'u', version: '1', props: { base: { type: '$.airtable.baseId', appProp: 'x' }, odd: { type: 'hologram', label: 'Odd', optional: true }, note: { type: 'alert', alertType: 'warning', content: 'Mind' } }, run() { return [this.base, this.odd, this.note ?? null]; } };";
    let component = save(&server, code).await;
    assert_eq!(
        component["configurable_props"][1],
        json!({ "name": "odd", "type": "hologram", "label": "Odd", "optional": true })
    );
    assert_eq!(component["configurable_props"][2]["content"], "Mind");
    assert_eq!(
        server.returned(code, json!({ "base": "b", "odd": "o" })).await,
        json!(["b", "o", null])
    );
}

#[tokio::test]
async fn r3_18_the_environment_is_empty_and_tmp_is_private() {
    let server = Server::start().await;
    let code = |name: &str| {
        format!("import fs from 'node:fs'; export default {{ name: '{name}', version: '1', run() {{ const before = fs.existsSync('/tmp/{name}-file') ; fs.writeFileSync('/tmp/one-file', 'x');
        return [Object.keys(process.env).filter((k) => /KEY|SECRET|TOKEN|MILLRACE|URL|PASS/i.test(k)), before, fs.readFileSync('/tmp/one-file', 'utf8'), fs.existsSync('/tmp/one-file')]; }} }};")
    };
    assert_eq!(server.returned(&code("one"), json!({})).await, json!([[], false, "x", true]));
    assert!(!std::path::Path::new("/tmp/one-file").exists());
    let missing =
        server.source("import fs from 'node:fs'; export default { name: 'm', version: '1', run() { fs.readFileSync('/tmp/not-there'); } };", json!({})).await;
    let run = server.run_now(&missing, json!({})).await;
    // Where the folder really lies is nobody's business.
    assert_eq!(run["error"]["message"], "ENOENT: no such file or directory, open '/tmp/not-there'");
    assert!(!run.to_string().contains(server.data_dir().to_str().expect("UTF-8")), "{run}");
    let other = "import fs from 'node:fs'; export default { name: 'other', version: '1', run() { return fs.existsSync('/tmp/one-file'); } };";
    assert_eq!(server.returned(other, json!({})).await, false);
}

#[tokio::test]
async fn r3_13_a_source_knows_its_own_id() {
    let server = Server::shared().await;
    let source = server.source("export default { name: 'p', version: '1', run() { return process.env.PD_COMPONENT; } };", json!({})).await;
    assert_eq!(server.run_now(&source, json!({})).await["return_value"], source["id"]);
}
