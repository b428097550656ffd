//! Section 2.7.1: user input props.

use millrace_tests::{Client, Server, id};
use serde_json::{Value, json};

/// A source of these props that returns what it sees of them.
fn showing(props: &str) -> String {
    format!(
        "export default {{ name: 'p', version: '1', props: {{ {props} }}, run() {{ return {{ ...this }}; }} }};"
    )
}

async fn prop_of(server: &Client, props: &str, name: &str) -> Value {
    let saved =
        server.post("/components", &json!({ "component_code": showing(props) })).await.data();
    saved["configurable_props"]
        .as_array()
        .expect("props")
        .iter()
        .find(|p| p["name"] == name)
        .cloned()
        .unwrap_or_else(|| panic!("{name} in {saved}"))
}

#[tokio::test]
async fn s2_7_1_every_type_of_prop_reaches_the_code_as_it_was_given() {
    let server = Server::shared().await;
    let props =
        "a: { type: 'string' }, b: { type: 'string[]' }, c: { type: 'integer' }, d: { type: 'integer[]' }, e: { type: 'boolean' }, f: { type: 'boolean[]' },
      g: { type: 'object' }, h: { type: 'any' }, i: { type: 'any' }, j: 'string', k: { type: 'object' }";
    let values = json!({ "a": "text", "b": ["x", "y"], "c": -3, "d": [1, 2], "e": false, "f": [true, false], "g": { "deep": { "n": [1, null] } }, "h": [1, "two"],
      "i": "just text", "j": "short", "k": "{\"as\": \"text\"}" });
    assert_eq!(server.returned(&showing(props), values.clone()).await, values);
}

#[tokio::test]
async fn s2_7_1_an_optional_prop_may_be_absent_and_a_required_one_not() {
    let server = Server::shared().await;
    let props = "must: { type: 'string' }, may: { type: 'string', optional: true }, filled: { type: 'string', optional: true, default: 'd' }, also: { type: 'integer', default: 7 }";
    let missing = server
        .post(
            "/sources",
            &json!({ "component_code": showing(props), "configured_props": { "may": "x" } }),
        )
        .await;
    assert_eq!(
        (missing.refusal(), &missing.json["details"]["props"][0]["prop"]),
        ((422, "missing_props"), &json!("must"))
    );
    // A default stands in, also for a required prop.
    assert_eq!(
        server.returned(&showing(props), json!({ "must": "m" })).await,
        json!({ "must": "m", "filled": "d", "also": 7 })
    );
}

#[tokio::test]
async fn s2_7_1_min_and_max_bound_integers() {
    let server = Server::shared().await;
    let code = showing(
        "n: { type: 'integer', min: 1, max: 10 }, all: { type: 'integer[]', min: 1, max: 10, optional: true }",
    );
    for (values, prop) in [
        (json!({ "n": 0 }), "n"),
        (json!({ "n": 11 }), "n"),
        (json!({ "n": 1.5 }), "n"),
        (json!({ "n": 1, "all": [5, 11] }), "all"),
    ] {
        let refused = server
            .post("/sources", &json!({ "component_code": code, "configured_props": values }))
            .await;
        assert_eq!(
            (refused.refusal(), &refused.json["details"]["props"][0]["prop"]),
            ((422, "invalid_props"), &json!(prop)),
            "{values}"
        );
    }
    for n in [1, 10] {
        assert_eq!(server.returned(&code, json!({ "n": n })).await, json!({ "n": n }));
    }
    assert_eq!(server.get("/users/me/sources").await.json["page_info"]["total_count"], 2);
}

#[tokio::test]
async fn s2_7_1_options_are_words_or_labels_with_values() {
    let server = Server::shared().await;
    let props = "a: { type: 'string', options: ['x', 'y'] }, b: { type: 'string', options: [{ label: 'One', value: '1' }] }, c: { type: 'string', async options() { return ['z']; } }";
    assert_eq!(prop_of(&server, props, "a").await["options"], json!(["x", "y"]));
    assert_eq!(
        prop_of(&server, props, "b").await["options"],
        json!([{ "label": "One", "value": "1" }])
    );
    let remote = prop_of(&server, props, "c").await;
    assert_eq!((&remote["remoteOptions"], remote.get("options")), (&json!(true), None));
    // Suggestions: any other value is taken as well.
    assert_eq!(
        server.returned(&showing(props), json!({ "a": "other", "b": "1", "c": "z" })).await["a"],
        "other"
    );
}

#[tokio::test]
async fn s2_7_1_bounds_are_shown_as_code_writes_them() {
    let server = Server::shared().await;
    let code = "const four = () => 4; export default { name: 'b', version: '1', props: { w: { type: 'integer', min: four(), max: 9 }, f: { type: 'integer', min: -1.5, max: 1e21 },
      z: { type: 'integer', min: -0, max: Number.MAX_SAFE_INTEGER } }, run() {} };";
    let saved = server.post("/components", &json!({ "component_code": code })).await;
    // As text: to JSON's readers `4.0` and `4` are one number, to people and to schemas they are
    // not.
    for shown in [
        "\"min\":4,\"max\":9}",
        "\"min\":-1.5,\"max\":1e+21}",
        "\"min\":0,\"max\":9007199254740991}",
    ] {
        assert!(saved.text.contains(shown), "{shown}: {}", saved.text);
    }
}

#[tokio::test]
async fn s2_7_1_a_prop_definition_is_inherited_and_may_be_overridden() {
    let server = Server::shared().await;
    let code = "
      const app = { type: 'app', app: 'nothing_to_connect', propDefinitions: {
        board: { type: 'string', label: 'Board', description: 'Which board', optional: true, options: ['b1'] },
        list: { type: 'string', label: 'List', async options({ board, page, prevContext }) { return [`${board} ${page} ${JSON.stringify(prevContext)}`]; } } } };
      export default { name: 'p', version: '1', props: { board: { propDefinition: [app, 'board'], label: 'My Board' },
        fixed: { propDefinition: [app, 'list', { board: 'given' }], optional: true },
        list: { propDefinition: [app, 'list', (configured) => ({ board: configured.board })], optional: true } }, run() {} };";
    let saved = server.post("/components", &json!({ "component_code": code })).await.data();
    assert_eq!(
        saved["configurable_props"][0],
        json!({ "name": "board", "type": "string", "label": "My Board", "description": "Which board", "optional": true, "options": ["b1"] })
    );
    let ask = |prop: &'static str| {
        let (server, id) = (&server, &saved["id"]);
        async move {
            let body =
                json!({ "id": id, "prop_name": prop, "configured_props": { "board": "b1" } });
            server.post("/components/configure", &body).await.json["options"].clone()
        }
    };
    assert_eq!(ask("list").await[0]["value"], "b1 0 {}");
    assert_eq!(ask("fixed").await[0]["value"], "given 0 {}");
}

#[tokio::test]
async fn s2_7_1_options_may_be_a_list_of_values_or_have_a_context() {
    let server = Server::shared().await;
    let code = "export default { name: 'o', version: '1', props: { word: { type: 'string', optional: true },
        plain: { type: 'string', optional: true, async options({ page }) { return ['a', 2, { label: 'Three', value: { n: 3 } }, this.word + page + this.helper()]; } },
        paged: { type: 'string', optional: true, async options({ prevContext }) { return { options: ['x'], context: { nextPageToken: (prevContext.nextPageToken ?? 0) + 1 } }; } } },
      methods: { helper() { return '!'; } }, run() {} };";
    let saved = server.post("/components", &json!({ "component_code": code })).await.data();
    let ask = |body: Value| {
        let (server, mut request) =
            (&server, json!({ "id": saved["id"], "configured_props": { "word": "w" } }));
        request
            .as_object_mut()
            .expect("an object")
            .extend(body.as_object().expect("an object").clone());
        async move { server.post("/components/configure", &request).await.json }
    };
    let plain = ask(json!({ "prop_name": "plain", "page": 3 })).await;
    assert_eq!(
        plain["options"],
        json!([{ "label": "a", "value": "a" }, { "label": "2", "value": 2 }, { "label": "Three", "value": { "n": 3 } }, { "label": "w3!", "value": "w3!" }])
    );
    let first = ask(json!({ "prop_name": "paged" })).await;
    assert_eq!(first["context"], json!({ "nextPageToken": 1 }));
    let second =
        ask(json!({ "prop_name": "paged", "page": 1, "prev_context": first["context"] })).await;
    assert_eq!(second["context"], json!({ "nextPageToken": 2 }));
}

#[tokio::test]
async fn s2_7_1_additional_props_may_tell_the_user_what_to_fix() {
    let server = Server::shared().await;
    let code = "import { ConfigurationError } from '@pipedream/platform';
      export default { name: 'c', version: '1', props: { kind: { type: 'string', reloadProps: true } },
        async additionalProps(previous) { if (!['a', 'b'].includes(this.kind)) throw new ConfigurationError(`choose a or b, not ${this.kind}`);
          return { [this.kind]: { type: 'string', label: this.label(), optional: true }, ...(Object.keys(previous).includes('kind') ? { saw: { type: 'boolean', optional: true } } : {}) }; },
        methods: { label() { return this.kind.toUpperCase(); } }, run() { return Object.keys(this); } };";
    let saved = server.post("/components", &json!({ "component_code": code })).await.data();
    assert_eq!(saved["configurable_props"][0]["reloadProps"], true);
    let ask = |kind: &'static str| {
        let (server, id) = (&server, &saved["id"]);
        async move {
            server
                .post(
                    "/components/props",
                    &json!({ "id": id, "configured_props": { "kind": kind } }),
                )
                .await
                .json
        }
    };
    let names = |answer: &Value| {
        answer["dynamic_props"]["configurable_props"]
            .as_array()
            .expect("props")
            .iter()
            .map(|p| p["name"].clone())
            .collect::<Vec<_>>()
    };
    let a = ask("a").await;
    assert_eq!(names(&a), ["kind", "a", "saw"]);
    assert_eq!(a["dynamic_props"]["configurable_props"][1]["label"], "A");
    // Another value replaces what the function gave before.
    assert_eq!(names(&ask("b").await), ["kind", "b", "saw"]);
    assert_eq!(ask("c").await["errors"], json!(["ConfigurationError: choose a or b, not c"]));
    let refused = server
        .post("/sources", &json!({ "component_code": code, "configured_props": { "kind": "c" } }))
        .await;
    assert!(
        refused.refusal() == (422, "additional_props_failed")
            && refused.text.contains("choose a or b, not c"),
        "{}",
        refused.text
    );
    let source = server.source(code, json!({ "kind": "a", "a": "value" })).await;
    assert_eq!(
        server.run_now(&source, json!({})).await["return_value"],
        json!(["kind", "a", "label"])
    );
    assert_eq!(
        server.get(&format!("/sources/{}", id(&source))).await.data()["configured_props"],
        json!({ "kind": "a", "a": "value" })
    );
}

#[tokio::test]
async fn s2_7_1_additional_props_is_told_what_it_gave_before() {
    let server = Server::shared().await;
    let code =
        "export default { name: 'c', version: '1', props: { kind: { type: 'string', reloadProps: true }, store: { type: 'data_store', optional: true } },
        async additionalProps(previous) {
          if (this.kind === 'tell') throw new Error(Object.keys(previous).join() + typeof this.made_a);
          return { ['made_' + this.kind]: { type: 'string', label: Object.keys(previous).join(), optional: true, options: () => Object.keys(previous) } }; },
        run() {} };";
    let saved = server.post("/components", &json!({ "component_code": code })).await.data();
    let ask = |kind: &'static str, form: Value| {
        let (server, id) = (&server, &saved["id"]);
        let body = json!({ "id": id, "configured_props": { "kind": kind, "made_a": "v" }, "dynamic_props_id": form });
        async move { server.post("/components/props", &body).await.json }
    };
    let made = |answer: &Value| {
        let all = answer["dynamic_props"]["configurable_props"]
            .as_array()
            .expect("props")
            .iter()
            .map(|p| (p["name"].clone(), p["label"].clone()));
        all.skip(2).collect::<Vec<_>>()
    };
    let first = ask("a", Value::Null).await;
    assert_eq!(made(&first), [(json!("made_a"), json!("kind,store"))]);
    // The form goes on under its id: what was made before is seen, and what is made now takes its
    // place.
    let form = first["dynamic_props"]["id"].clone();
    let second = ask("b", form.clone()).await;
    assert_eq!(
        (made(&second), &second["dynamic_props"]["id"]),
        (vec![(json!("made_b"), json!("kind,store,made_a"))], &form)
    );
    assert_eq!(
        made(&ask("c", form.clone()).await),
        [(json!("made_c"), json!("kind,store,made_b"))]
    );
    // Another form begins anew.
    assert_eq!(made(&ask("b", Value::Null).await), [(json!("made_b"), json!("kind,store"))]);
    // A deployed source goes on with what it has.
    let source = server.source(code, json!({ "kind": "a", "made_a": "v" })).await;
    let refused = server
        .put(
            &format!("/sources/{}", id(&source)),
            &json!({ "configured_props": { "kind": "tell" } }),
        )
        .await;
    assert_eq!(refused.refusal(), (422, "additional_props_failed"));
    assert!(refused.text.contains("kind,store,made_astring"), "{}", refused.text);
}

#[tokio::test]
async fn s2_7_1_additional_props_are_asked_for_once_what_decides_on_them_has_a_value() {
    let server = Server::shared().await;
    let code = "export default { name: 'c', version: '1', props: { kind: { type: 'string', reloadProps: true }, count: { type: 'integer' } },
        additionalProps() { return { [this.kind.toLowerCase()]: { type: 'string', label: String(this.count.toFixed(0)) } }; }, run() {} };";
    let missing = async |values: Value| {
        let refused = server
            .post("/sources", &json!({ "component_code": code, "configured_props": values }))
            .await;
        assert_eq!(refused.status, 422, "{}", refused.text);
        let props = refused.json["details"]["props"]
            .as_array()
            .unwrap_or_else(|| panic!("{}", refused.text))
            .clone();
        props.into_iter().map(|p| p["prop"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(missing(json!({})).await, ["kind", "count"]);
    assert_eq!(
        missing(json!({ "count": 1, "a": "v" })).await,
        ["kind"],
        "whether there is an `a` is not known yet"
    );
    // The code fails where a value is missing or wrong: that is told, and not how it fails.
    assert_eq!(missing(json!({ "kind": "A" })).await, ["count"]);
    assert_eq!(missing(json!({ "kind": "A", "count": "three" })).await, ["count"]);
    assert_eq!(missing(json!({ "kind": "A", "count": 1 })).await, ["a"]);
    let source = server.source(code, json!({ "kind": "A", "count": 1, "a": "v" })).await;
    let refused = server
        .put(&format!("/sources/{}", id(&source)), &json!({ "configured_props": { "kind": null } }))
        .await;
    assert_eq!(
        (refused.refusal(), &refused.json["details"]["props"][0]["prop"]),
        ((422, "missing_props"), &json!("kind")),
        "{}",
        refused.text
    );
}

#[tokio::test]
async fn s2_7_1_a_data_store_that_additional_props_asks_for_is_one_for_the_props_that_depend_on_it()
{
    let server = Server::shared().await;
    server.post("/data_stores", &json!({ "name": "things" })).await.data();
    server.put("/data_stores/things/record", &json!({ "key": "one", "value": 1 })).await.data();
    let code = "export default { name: 'c', key: 'acme-c', version: '1', type: 'action', props: { more: { type: 'boolean', reloadProps: true } },
        additionalProps() { return this.more ? { store: { type: 'data_store' }, key: { type: 'string', async options() { return await this.store.keys(); } } } : {}; }, run() {} };";
    let saved = server.post("/components", &json!({ "component_code": code })).await.data();
    let mut body = json!({ "id": saved["id"], "configured_props": { "more": true } });
    let form = server.post("/components/props", &body).await.json["dynamic_props"]["id"].clone();
    body = json!({ "id": saved["id"], "prop_name": "key", "configured_props": { "more": true, "store": "things" }, "dynamic_props_id": form });
    let answer = server.post("/components/configure", &body).await.json;
    assert_eq!(
        answer,
        json!({ "options": [{ "label": "one", "value": "one" }], "context": null, "errors": [] })
    );
}

#[tokio::test]
async fn s2_7_1_what_may_be_secret_is_not_repeated_where_it_is_refused() {
    let server = Server::start().await;
    let props = "token: { type: 'string', secret: true, optional: true }, stripe: { type: 'app', app: 'stripe', optional: true }";
    for values in [
        json!({ "token": { "key": "hunter2" } }),
        json!({ "stripe": "hunter2" }),
        json!({ "stripe": { "api_key": "hunter2" } }),
    ] {
        let refused = server
            .post(
                "/sources",
                &json!({ "component_code": showing(props), "configured_props": values }),
            )
            .await;
        assert_eq!(refused.refusal(), (422, "invalid_props"), "{}", refused.text);
        assert!(!refused.text.contains("hunter2"), "{}", refused.text);
    }
    assert!(!server.log().contains("hunter2"));
}

#[tokio::test]
async fn s2_7_1_every_field_of_a_definition_is_in_the_record() {
    let server = Server::shared().await;
    let props = "a: { type: 'string', label: 'A', description: 'Some **words**', optional: true, default: 'x', hidden: true, disabled: true, reloadProps: true, useQuery: true, withLabel: true, format: 'file-ref', own: [1] },
      n: { type: 'integer', min: 1, max: 5, default: 3 }, s: { type: 'string', secret: true, optional: true }";
    let shown = prop_of(&server, props, "a").await;
    let whole = json!({ "name": "a", "type": "string", "label": "A", "description": "Some **words**", "optional": true, "default": "x", "hidden": true, "disabled": true,
        "reloadProps": true, "useQuery": true, "withLabel": true, "format": "file-ref", "own": [1] });
    assert_eq!(shown, whole);
    let number = prop_of(&server, props, "n").await;
    assert_eq!(
        (number["min"].as_f64(), number["max"].as_f64(), &number["default"]),
        (Some(1.0), Some(5.0), &json!(3))
    );
    assert_eq!(prop_of(&server, props, "s").await["secret"], true);
    // What is hidden or disabled is a matter of forms: a value that is given is taken, and a
    // default stands in.
    assert_eq!(
        server.returned(&showing(props), json!({ "a": "given" })).await,
        json!({ "a": "given", "n": 3 })
    );
    assert_eq!(
        server.returned(&showing(props), json!({ "n": 5, "s": "t" })).await,
        json!({ "a": "x", "n": 5, "s": "t" })
    );
}

#[tokio::test]
async fn s2_7_1_what_a_form_does_not_show_is_not_required_until_additional_props_shows_it() {
    let server = Server::shared().await;
    // As a public source of a database has it.
    let code = "export default { name: 'h', version: '1', props: { order: { type: 'string', options: ['time', 'number'], reloadProps: true }, format: { type: 'string', hidden: true },
        fixed: { type: 'boolean', disabled: true } }, additionalProps(props) { props.format.hidden = this.order !== 'time'; return {}; }, run() { return [this.order, this.format ?? null]; } };";
    assert_eq!(server.returned(code, json!({ "order": "number" })).await, json!(["number", null]));
    let missing = server
        .post(
            "/sources",
            &json!({ "component_code": code, "configured_props": { "order": "time" } }),
        )
        .await;
    let named: Vec<_> = missing.json["details"]["props"]
        .as_array()
        .expect("props")
        .iter()
        .map(|p| p["prop"].clone())
        .collect();
    assert_eq!((missing.refusal(), named), ((422, "missing_props"), vec![json!("format")]));
    assert_eq!(
        server.returned(code, json!({ "order": "time", "format": "iso" })).await,
        json!(["time", "iso"])
    );
}
