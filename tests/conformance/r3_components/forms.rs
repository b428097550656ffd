//! `this` of runs, options methods and `additionalProps`: the same for forms of a deployed source
//! (reference 3).

use millrace_tests::{Client, Server, id};
use reqwest::Method;
use serde_json::{Value, json};

const CODE: &str = "export default { name: 'c', version: '1', props: { db: '$.service.db', http: '$.interface.http', token: { type: 'string', secret: true },
    kind: { type: 'string', reloadProps: true },
    pick: { type: 'string', optional: true, options() {
      const before = this.db.get('n') ?? 'nothing'; this.db.set('n', 99);
      return [before, this.db.get('n'), this.token, this.kind, this.http.endpoint, process.env.PD_COMPONENT].map(String); } } },
  additionalProps() { const n = this.db.get('n') ?? 'nothing'; this.db.set('n', 77); return { ['saw_' + n]: { type: 'string', optional: true } }; },
  run() { this.db.set('n', (this.db.get('n') ?? 0) + 1); return this.db.get('n'); } };";

async fn picks(server: &Client, of: &str, values: Value) -> Vec<Value> {
    let answer = server
        .post(
            "/components/configure",
            &json!({ "id": of, "prop_name": "pick", "configured_props": values }),
        )
        .await;
    assert_eq!(answer.json["errors"], json!([]), "{}", answer.text);
    answer.json["options"].as_array().expect("options").iter().map(|o| o["value"].clone()).collect()
}

async fn last_prop(server: &Client, of: &str, values: Value) -> Value {
    let answer = server
        .post("/components/props", &json!({ "id": of, "configured_props": values }))
        .await
        .json;
    answer["dynamic_props"]["configurable_props"]
        .as_array()
        .and_then(|props| props.last().cloned())
        .expect("props")["name"]
        .clone()
}

#[tokio::test]
async fn r3_forms_of_a_deployed_source_see_what_it_keeps_and_leave_nothing_in_it() {
    let server = Server::shared().await;
    let values = json!({ "kind": "a", "token": "hunter2" });
    let saved = server.post("/components", &json!({ "component_code": CODE })).await.data();
    // What is not deployed has nothing yet, and a form does not see what another set.
    for _ in 0..2 {
        assert_eq!(
            picks(&server, id(&saved), values.clone()).await,
            ["nothing", "99", "hunter2", "a", "", "undefined"]
        );
        assert_eq!(last_prop(&server, id(&saved), values.clone()).await, "saw_nothing");
    }
    let source =
        server.source(CODE, json!({ "kind": "a", "token": "hunter2", "saw_nothing": "x" })).await;
    for n in 1..=2 {
        assert_eq!(server.run_now(&source, json!({})).await["return_value"], n);
    }
    // What the form does not give is as it is stored, secrets too.
    let endpoint =
        source["configured_props"]["http"]["endpoint_url"].as_str().expect("an endpoint");
    for _ in 0..2 {
        assert_eq!(
            picks(&server, id(&source), json!({ "kind": "b" })).await,
            ["2", "99", "hunter2", "b", endpoint, id(&source)]
        );
        assert_eq!(last_prop(&server, id(&source), json!({})).await, "saw_2");
    }
    // So does an update: the prop that it makes is known, and what it set is not kept.
    let path = format!("/sources/{}", id(&source));
    let updated = server
        .put(&path, &json!({ "configured_props": { "kind": "b", "saw_2": "y" } }))
        .await
        .data();
    assert_eq!(
        (&updated["configured_props"]["saw_2"], &updated["configured_props"]["saw_nothing"]),
        (&json!("y"), &Value::Null)
    );
    assert_eq!(server.run_now(&source, json!({})).await["return_value"], 3);
}

#[tokio::test]
async fn r3_a_form_of_a_source_that_is_not_there_is_refused() {
    let server = Server::shared().await;
    let source = server.source(CODE, json!({ "kind": "a", "token": "t" })).await;
    let other = server
        .post("/workspaces", &json!({ "name": "Other", "email": "o@example.com" }))
        .await
        .data();
    let key = other["api_key"].as_str().expect("a key");
    for (path, rest) in [
        ("/components/configure", json!({ "prop_name": "pick" })),
        ("/components/props", json!({})),
    ] {
        let of = |id: &str| {
            let mut body = rest.clone();
            body["id"] = json!(id);
            body
        };
        assert_eq!(
            server.call_as(key, Method::POST, path, Some(&of(id(&source)))).await.refusal(),
            (404, "not_found"),
            "{path}"
        );
        assert_eq!(
            server.post(path, &of("dc_nothing")).await.refusal(),
            (404, "not_found"),
            "{path}"
        );
    }
}

/// Says what it is told; where `kind` is `tell`, in an error.
const TELLS: &str = "additionalProps(previous) { const told = Object.keys(previous).join('-');
    if (this.kind === 'tell') throw new Error('told: ' + told);
    return { ['made_' + this.kind]: { type: 'string', label: told, optional: true } }; }";

fn tells(kind: &str) -> String {
    format!(
        "export default {{ name: 'Tells', key: 'acme-tells-{kind}', version: '1', type: '{kind}', props: {{ kind: {{ type: 'string', reloadProps: true }} }}, {TELLS}, run() {{}} }};"
    )
}

/// Asks for the props of a form, `a` as the value.
async fn form(server: &Client, component: &str) -> Value {
    let asked = server
        .post("/components/props", &json!({ "id": component, "configured_props": { "kind": "a" } }))
        .await;
    asked.json["dynamic_props"]["id"].clone()
}

/// Every request that takes the id of a form, for a component that was published by its key; each
/// with values that make it say what it is told.
async fn requests(server: &Client) -> Vec<(Method, String, Value, &'static str)> {
    let project =
        server.get("/workspaces").await.json["data"][0]["project_id"].as_str().map(str::to_owned);
    let workflow = server
        .workflow("w", json!([{ "type": "http" }]), &[("step", "export default { run() {} };")])
        .await;
    let project =
        project.or_else(|| workflow["project_id"].as_str().map(str::to_owned)).expect("a project");
    let source = server.source(&tells("source"), json!({ "kind": "b" })).await;
    let told = json!({ "kind": "tell" });
    let (connect, source_path) =
        (format!("/connect/{project}"), format!("/sources/{}", id(&source)));
    let of = |kind: &str| json!({ "id": format!("acme-tells-{kind}"), "configured_props": told });
    let with_prop = |mut body: Value| {
        body["prop_name"] = json!("made_a");
        body
    };
    let mut all = vec![
        (Method::POST, "/components/props".to_owned(), of("source"), "source"),
        (Method::POST, "/components/configure".into(), with_prop(of("source")), "source"),
        (
            Method::POST,
            "/sources".into(),
            json!({ "component_code": tells("source"), "configured_props": told }),
            "source",
        ),
        (Method::PUT, source_path, json!({ "configured_props": told }), "source"),
        (Method::POST, format!("{connect}/triggers/deploy"), of("source"), "source"),
        (
            Method::PUT,
            format!("{connect}/deployed-triggers/{}", id(&source)),
            json!({ "configured_props": told }),
            "source",
        ),
        (Method::POST, format!("{connect}/actions/run"), of("action"), "action"),
    ];
    for (path, kind) in [("components", "source"), ("triggers", "source"), ("actions", "action")] {
        all.push((Method::POST, format!("{connect}/{path}/props"), of(kind), kind));
        all.push((Method::POST, format!("{connect}/{path}/configure"), with_prop(of(kind)), kind));
    }
    all
}

#[tokio::test]
async fn r3_what_a_form_was_told_is_known_where_it_is_deployed_or_run() {
    let server = Server::shared().await;
    for kind in ["source", "action"] {
        server
            .post("/components", &json!({ "component_code": tells(kind), "publish": true }))
            .await
            .data();
    }
    for (method, path, body, kind) in requests(&server).await {
        let mut body = body;
        body["dynamic_props_id"] = form(&server, &format!("acme-tells-{kind}")).await;
        let answer = server.call_as(&server.api_key, method.clone(), &path, Some(&body)).await;
        assert!(answer.text.contains("told: kind-made_a"), "{method} {path}: {}", answer.text);
        // Not one that nobody gave, of another component, or that is no id at all: and nothing is
        // made.
        let other = form(
            &server,
            &format!("acme-tells-{}", if kind == "source" { "action" } else { "source" }),
        )
        .await;
        for (wrong, why) in [
            (json!("dyp_nothing"), "is not known"),
            (json!("c_1"), "is not the id of a form"),
            (other, "of another component"),
        ] {
            body["dynamic_props_id"] = wrong;
            let refused = server.call_as(&server.api_key, method.clone(), &path, Some(&body)).await;
            assert_eq!(
                (refused.refusal(), &refused.json["details"]["field"]),
                ((422, "invalid_field"), &json!("dynamic_props_id")),
                "{method} {path}"
            );
            assert!(
                refused.text.contains(why) && refused.text.contains("/v1/components/props"),
                "{method} {path}: {}",
                refused.text
            );
        }
    }
    assert_eq!(server.get("/sources").await.json["page_info"]["total_count"], 1);
}

#[tokio::test]
async fn r3_a_step_is_deployed_with_what_its_form_was_told() {
    let server = Server::shared().await;
    let code = "export default { name: 'Step', key: 'acme-step', version: '1', type: 'action', props: { kind: { type: 'string', reloadProps: true } },
      additionalProps(previous) { return { ['made_' + this.kind]: { type: 'integer', optional: true, max: previous.made_a ? 9 : 1 } }; }, run() {} };";
    server.post("/components", &json!({ "component_code": code, "publish": true })).await.data();
    let mut step = json!({ "namespace": "s", "component_key": "acme-step", "props": { "kind": "b", "made_b": 5 } });
    let deploy = async |step: &Value| {
        server.post("/workflows", &json!({ "settings": { "name": "w" }, "steps": [step] })).await
    };
    let refused = deploy(&step).await;
    assert!(
        refused.refusal() == (422, "invalid_props") && refused.text.contains("made_b"),
        "{}",
        refused.text
    );
    step["dynamic_props_id"] = form(&server, "acme-step").await;
    let workflow = deploy(&step).await.data();
    step["dynamic_props_id"] = json!("dyp_nothing");
    let refused =
        server.put(&format!("/workflows/{}", id(&workflow)), &json!({ "steps": [step] })).await;
    assert_eq!(
        (refused.refusal(), &refused.json["details"]["step"]),
        ((422, "invalid_field"), &json!("s")),
        "{}",
        refused.text
    );
}

#[tokio::test]
async fn r3_a_form_outlives_a_restart_and_ends_a_day_after_its_last_question() {
    let (start, hour) = (1_767_225_600_000, 3_600_000);
    let mut server = Server::start_at(start, &[]).await;
    let saved =
        server.post("/components", &json!({ "component_code": tells("source") })).await.data();
    let form = form(&server, id(&saved)).await;
    let ask =
        json!({ "id": id(&saved), "configured_props": { "kind": "a" }, "dynamic_props_id": form });
    server.kill();
    server.launch().await;
    server.set_clock(start + 23 * hour);
    let again = server.post("/components/props", &ask).await.json;
    assert_eq!(again["dynamic_props"]["configurable_props"][1]["label"], "kind-made_a");
    server.set_clock(start + 46 * hour);
    assert_eq!(
        server.post("/components/props", &ask).await.json["dynamic_props"]["id"],
        form,
        "asked again a day before its end"
    );
    server.set_clock(start + 70 * hour);
    let ended = server.post("/components/props", &ask).await;
    assert_eq!(ended.refusal(), (422, "invalid_field"), "{}", ended.text);
}

/// `this` of a function in a definition is the app where the field comes from the app's definition,
/// and the component where the component defines it.
#[tokio::test]
async fn r3_this_of_a_definitions_function_is_the_app_or_the_component_that_defines_the_field() {
    let server = Server::shared().await;
    let code = "const low = { type: 'app', app: 'low', methods: { tag() { return 'low' + typeof this.$auth; } }, propDefinitions: {
        id: { type: 'string', options(o) { return [this.tag() + JSON.stringify(o)]; }, default() { return this.tag(); }, label() { return 'L ' + this.tag(); }, description: 'plain' } } };
      const high = { type: 'app', app: 'high', methods: { tag() { return 'high'; } }, propDefinitions: { id: { propDefinition: [low, 'id', function () { return { inner: this.tag() }; }] } } };
      export default { name: 'c', key: 'this-c', version: '0.0.1', type: 'action', methods: { tag() { return 'own'; } }, props: { low, high,
        again: { ...low, label() { return 'L ' + this.tag(); } },
        late: { type: 'string', optional: true, async default() { throw new Error('is not called'); } },
        all: { propDefinition: [low, 'id', function () { return { from: this.tag() }; }] },
        both: { propDefinition: [high, 'id', function ({ n }) { return { from: this.tag(), n }; }] },
        other: { propDefinition: [low, 'id'], label() { return 'L ' + this.tag(); } },
        chosen: { propDefinition: [low, 'id'], options() { return [this.tag()]; } },
        own: { type: 'string', options() { return [this.tag()]; }, default() { return this.tag(); } },
        n: { type: 'integer', optional: true } }, run() {} };";
    for slug in ["low", "high"] {
        server
            .post("/apps", &json!({ "name_slug": slug, "custom_fields": [{ "name": "k" }] }))
            .await
            .data();
    }
    let component = server.post("/components", &json!({ "component_code": code })).await.data();
    let def = |name: &str| {
        component["configurable_props"]
            .as_array()
            .expect("props")
            .iter()
            .find(|prop| prop["name"] == name)
            .expect("a prop")
            .clone()
    };
    for (name, label, default) in [
        ("all", "L lowobject", "lowobject"),
        ("both", "L lowobject", "lowobject"),
        ("other", "L own", "lowobject"),
        ("chosen", "L lowobject", "lowobject"),
    ] {
        let prop = def(name);
        assert_eq!(
            (&prop["label"], &prop["default"], &prop["description"]),
            (&json!(label), &json!(default), &json!("plain")),
            "{name}"
        );
    }
    assert_eq!(
        (&def("own")["default"], &def("again")["label"], &def("late")["default"]),
        (&json!("own"), &json!("L own"), &json!(null))
    );
    for (name, expected) in [
        ("all", "lowobject{\"from\":\"own\",\"page\":0,\"prevContext\":{}}"),
        (
            "both",
            "lowobject{\"inner\":\"high\",\"from\":\"own\",\"n\":7,\"page\":0,\"prevContext\":{}}",
        ),
        ("other", "lowobject{\"page\":0,\"prevContext\":{}}"),
        ("chosen", "own"),
        ("own", "own"),
    ] {
        let answer = server.post("/components/configure", &json!({ "id": component["id"], "prop_name": name, "configured_props": { "n": 7 } })).await.json;
        assert_eq!(answer["options"][0]["value"], expected, "{name}: {answer}");
    }
}

/// However a definition's function comes to `this`, and wherever its definition stands.
#[tokio::test]
async fn r3_this_of_a_definitions_function_holds_through_methods_getters_generators_and_made_props()
{
    let server = Server::shared().await;
    let code = "const app = { type: 'app', app: 'thisapp', methods: {
        tag() { return 'app' + Object.keys(this.$auth).length; }, deep() { return this.tag(); }, get now() { return this.deep() + '!'; },
        async *pages() { yield this.deep(); yield this.now; }, nested: { where() { return Object.keys(this)[0]; } }, late: async function () { await null; return this.tag(); } },
        propDefinitions: {
          pages: { type: 'string', async options() { const all = []; for await (const page of this.pages()) all.push(page); return all; } },
          taken: { type: 'string', options() { const { deep, late } = this; return Promise.all([deep(), late(), [0].map(() => this.now)[0], this.nested.where()]); } },
          wrapped: { type: 'string', options: async function (asked) { return await (async () => ({ options: [{ label: this.tag(), value: JSON.stringify(asked) }], context: { at: this.now } }))(); } },
          arrow: { type: 'string', options: () => ['plain'] },
          shown: { type: 'integer', label() { return `L ${this.now}`; }, optional() { return this.deep() === 'app0'; }, min() { return this.tag().length; }, get description() { return 'got'; } },
          each: { type: 'string', async *options() { yield this.tag(); } },
        } };
      app.propDefinitions.outer = { propDefinition: [app, 'wrapped', function (given) { return { from: this.tag(), given: Object.keys(given), own: typeof this.mine }; }], label() { return `outer ${this.tag()}`; } };
      const common = { methods: { mine() { return 'mine ' + this.other(); }, other() { return 'other ' + this.words.length; }, get both() { return this.mine() + '+' + this.thisapp.tag(); } } };
      export default { ...common, name: 'c', key: 'this-more', version: '0.0.1', type: 'action', props: { thisapp: app, words: { type: 'string[]', optional: true, default: [] },
        pages: { propDefinition: [app, 'pages'] }, taken: { propDefinition: [app, 'taken'] }, arrow: { propDefinition: [app, 'arrow'] }, each: { propDefinition: [app, 'each'] },
        outer: { propDefinition: [app, 'outer', function ({ words }) { return { from: this.both, words }; }] },
        shown: { propDefinition: [app, 'shown'], max() { return this.mine().length; } },
        one: { propDefinition: [app, 'taken'], async options(asked) { return [this.both, (await app.propDefinitions.wrapped.options.call(this.thisapp, asked)).options[0].label]; }, reloadProps: true } },
        async additionalProps(known) { const { both } = this; return {
          made: { propDefinition: [app, 'taken'] }, own: { type: 'string', options() { return [this.both]; } }, closed: { type: 'string', options: () => [both] },
          again: { ...known.outer, propDefinition: [app, 'outer'], label: `again ${this.mine()}` } }; },
        run() { return [this.both, this.thisapp.now, this.thisapp.nested.where(), Object.keys(this).sort()]; } };";
    server
        .post("/apps", &json!({ "name_slug": "thisapp", "custom_fields": [{ "name": "k" }] }))
        .await
        .data();
    let component = server
        .post("/components", &json!({ "component_code": code, "publish": true }))
        .await
        .data();
    let def = |name: &str| {
        component["configurable_props"]
            .as_array()
            .expect("props")
            .iter()
            .find(|prop| prop["name"] == name)
            .expect("a prop")
            .clone()
    };
    let shown = def("shown");
    assert_eq!(
        (&shown["label"], &shown["optional"], shown["min"].as_f64(), &shown["description"]),
        (&json!("L app0!"), &json!(true), Some(4.0), &json!("got")),
        "{shown}"
    );
    assert_eq!(def("outer")["label"], "outer app0");
    let props = json!({ "words": ["a", "b"] });
    let both = "mine other 2+app0";
    let asked = "\"page\":0,\"prevContext\":{}}";
    for (name, expected) in [
        ("pages", json!(["app0", "app0!"])),
        ("taken", json!(["app0", "app0", "app0!", "where"])),
        ("arrow", json!(["plain"])),
        (
            "outer",
            json!([format!(
                "{{\"from\":\"{both}\",\"given\":[\"thisapp\",\"words\"],\"own\":\"undefined\",\"words\":[\"a\",\"b\"],{asked}"
            )]),
        ),
        ("one", json!([both, "app0"])),
        ("made", json!(["app0", "app0", "app0!", "where"])),
        ("own", json!([both])),
        ("closed", json!([both])),
        (
            "again",
            json!([format!(
                "{{\"from\":\"app0\",\"given\":[\"thisapp\",\"words\"],\"own\":\"undefined\",{asked}"
            )]),
        ),
    ] {
        let answer = server
            .post(
                "/components/configure",
                &json!({ "id": component["id"], "prop_name": name, "configured_props": props }),
            )
            .await
            .json;
        let values: Vec<&Value> = answer["options"]
            .as_array()
            .expect("options")
            .iter()
            .map(|option| &option["value"])
            .collect();
        assert_eq!(json!(values), expected, "{name}: {answer}");
    }
    let answer = server
        .post(
            "/components/configure",
            &json!({ "id": component["id"], "prop_name": "each", "configured_props": props }),
        )
        .await;
    assert!(
        answer.text.contains("must be an array") && answer.json["options"] == json!([]),
        "{}",
        answer.text
    );
    let made = server
        .post("/components/props", &json!({ "id": component["id"], "configured_props": props }))
        .await
        .json;
    let again = made["dynamic_props"]["configurable_props"]
        .as_array()
        .expect("props")
        .iter()
        .find(|prop| prop["name"] == "again")
        .expect("a prop")
        .clone();
    assert_eq!(again["label"], "again mine other 2", "{made}");
}
