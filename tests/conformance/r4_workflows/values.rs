//! Values that JavaScript writes and other readers of JSON reject, and names that mean something
//! else to objects (reference 4, facts 4.11).

use millrace_tests::{Client, Server, answer, endpoint, id};
use reqwest::Method;
use serde_json::{Value, json};

fn step(body: &str) -> String {
    format!("export default defineComponent({{ async run({{ steps, $ }}) {{ {body} }} }});")
}

/// Code of a value that is nested so deep.
fn nested(levels: usize) -> String {
    format!("(() => {{ let a = 1; for (let i = 0; i < {levels}; i++) a = {{ a }}; return a; }})()")
}

async fn run(server: &Client, workflow: &Value) -> Value {
    let run = server
        .post(&format!("/workflows/{}/run", id(workflow)), &json!({ "event": { "q": 7 } }))
        .await
        .data();
    server.get(&format!("/runs/{}", id(&run))).await.data()
}

/// `"…".slice(0, n)` may cut an emoji in half: what is logged, returned, exported, emitted, stored,
/// sent or thrown then is no less there.
#[tokio::test]
async fn r4_1_half_a_character_is_a_replacement_character_and_ends_nothing() {
    let server = Server::shared().await;
    let first = step(
        "const cut = 'a😀'.slice(0, 2); console.log('log ' + cut); $.export(cut, 1); $.export('$summary', cut); $.send.emit({ raw_event: { cut } });
         await $.respond({ status: 200, body: cut }); return { cut, whole: '😀', text: '\\\\ud83d' };",
    );
    let workflow = server
        .workflow(
            "w",
            json!([{ "type": "http" }]),
            &[("first", &first), ("second", &step("return steps.first.$return_value.cut.length;"))],
        )
        .await;
    assert_eq!(answer(server.raw(Method::GET, &endpoint(&workflow))).await.text, "a\u{fffd}");
    let runs = format!("/workflows/{}/runs", id(&workflow));
    let list = server
        .until("the run", &runs, |l| {
            l["data"].as_array().is_some_and(|d| d.iter().any(|r| r["status"] == "succeeded"))
        })
        .await;
    let shown = &list["data"][0]["steps"];
    assert_eq!(
        shown[0]["exports"]["$return_value"],
        json!({ "cut": "a\u{fffd}", "whole": "😀", "text": "\\ud83d" })
    );
    assert_eq!(
        (&shown[0]["exports"]["a\u{fffd}"], &shown[0]["exports"]["$summary"]),
        (&json!(1), &json!("a\u{fffd}"))
    );
    assert_eq!(shown[1]["exports"]["$return_value"], 2);
    let logs = server.get(&format!("/workflows/{}/logs", id(&workflow))).await.json;
    assert_eq!(logs["data"][0]["text"], "log a\u{fffd}");
    let events = server.get(&format!("/workflows/{}/event_summaries", id(&workflow))).await.json;
    assert_eq!(events["data"][0]["event"]["raw_event"], json!({ "cut": "a\u{fffd}" }));
    let failing = server
        .workflow(
            "f",
            json!([]),
            &[("first", &step("const error = new TypeError('x\\ud83d'); throw error;"))],
        )
        .await;
    let failed = run(&server, &failing).await;
    assert_eq!(
        (&failed["error"]["code"], &failed["error"]["message"]),
        (&json!("TypeError"), &json!("x\u{fffd}"))
    );
}

#[tokio::test]
async fn r4_1_values_are_as_deep_as_256_levels_everywhere_and_deeper_ones_are_refused_by_name() {
    let server = Server::shared().await;
    let value = nested(250);
    let first = step(&format!(
        "const deep = {value}; $.send.emit({{ raw_event: {{ deep }} }}); $.flow.rerun(0, {{ deep }}, 0); return deep;"
    ));
    let last = step(
        "let levels = 0; for (let a = steps.first.$return_value; a.a; a = a.a) levels++; return levels;",
    );
    let workflow = server.workflow("w", json!([]), &[("first", &first), ("last", &last)]).await;
    let ran = server
        .raw(Method::POST, &format!("{}/v1/workflows/{}/run", server.url, id(&workflow)))
        .bearer_auth(&server.api_key);
    assert_eq!(answer(ran.json(&json!({}))).await.status, 200);
    // As text: this test's own reader goes no deeper than 128 levels.
    let shown = |path: &str| {
        answer(
            server
                .raw(Method::GET, &format!("{}/v1/workflows/{}/{path}", server.url, id(&workflow)))
                .bearer_auth(&server.api_key),
        )
    };
    let levels = format!("{}1{}", "{\"a\":".repeat(250), "}".repeat(250));
    let runs = shown("runs").await.text;
    assert!(
        runs.contains(&format!("\"$return_value\":{levels}"))
            && runs.contains("\"$return_value\":250"),
        "{runs}"
    );
    let events = shown("event_summaries?expand=event").await.text;
    assert!(events.contains(&format!("\"raw_event\":{{\"deep\":{levels}}}")), "{events}");
    // Neither is in the way of an error, whose event tells what steps before it gave.
    let throws = step("throw new Error('after something deep');");
    let failing = server
        .workflow(
            "f",
            json!([]),
            &[("first", &step(&format!("return {};", nested(250)))), ("second", &throws)],
        )
        .await;
    let told = server
        .raw(Method::POST, &format!("{}/v1/workflows/{}/run", server.url, id(&failing)))
        .bearer_auth(&server.api_key);
    assert_eq!(answer(told.json(&json!({}))).await.status, 200);
    let errors = server.raw(
        Method::GET,
        &format!(
            "{}/v1/workflows/{}/$errors/event_summaries?expand=event",
            server.url,
            id(&failing)
        ),
    );
    let errors = answer(errors.bearer_auth(&server.api_key)).await.text;
    assert!(errors.contains("after something deep") && errors.contains(&levels), "{errors}");
    let deeper = server
        .workflow("d", json!([]), &[("first", &step(&format!("return {};", nested(257))))])
        .await;
    let refused = run(&server, &deeper).await;
    let error = &refused["error"];
    assert_eq!(
        error["message"],
        "JSON Nested Property Limit Exceeded: the value returned by the step `first` is nested more than 256 levels deep"
    );
}

#[tokio::test]
async fn s2_7_4_what_a_source_keeps_may_be_deep_or_cut_and_it_runs_on() {
    let server = Server::shared().await;
    let code = format!(
        "export default {{ name: 's', version: '1', props: {{ db: '$.service.db' }}, run() {{
           const n = (this.db.get('n') || 0) + 1; this.db.set('n', n); this.db.set('deep', {}); this.db.set('cut', '\\ud83d'); this.$emit({{ n, cut: this.db.get('cut') }});
         }} }};",
        nested(200)
    );
    let source = server.source(&code, json!({})).await;
    for n in 1..=2 {
        assert_eq!(server.run_now(&source, json!({})).await["status"], "succeeded", "run {n}");
    }
    let emitted: Vec<Value> = server.emitted(&source).await;
    assert_eq!(
        emitted,
        [json!({ "n": 1, "cut": "\u{fffd}" }), json!({ "n": 2, "cut": "\u{fffd}" })]
    );
}

#[tokio::test]
async fn r4_1_names_that_objects_have_already_are_names_of_steps_like_others() {
    let server = Server::shared().await;
    let names = ["constructor", "toString", "hasOwnProperty", "__proto__", "valueOf"];
    let mut steps: Vec<(&str, String)> =
        names.iter().map(|name| (*name, step(&format!("return '{name} ran';")))).collect();
    steps.push(("last", step("return Object.entries(steps).filter(([name]) => name !== 'trigger').map(([name, step]) => [name, step.$return_value]);")));
    let steps: Vec<(&str, &str)> =
        steps.iter().map(|(name, code)| (*name, code.as_str())).collect();
    let workflow = server.workflow("w", json!([]), &steps).await;
    let ended = run(&server, &workflow).await;
    let expected: Vec<Value> =
        names.iter().map(|name| json!([name, format!("{name} ran")])).collect();
    assert_eq!(ended["steps"][names.len()]["exports"]["$return_value"], json!(expected));
}

/// Facts 4.6: older workflows call the trigger's event `event`.
#[tokio::test]
async fn r4_2_an_expression_may_call_the_triggers_event_by_its_older_name() {
    let server = Server::shared().await;
    let code = "export default defineComponent({ props: { a: 'any' }, run() { return this.a; } });";
    let steps = json!([{ "namespace": "one", "code": code, "props": { "a": ["{{event.q}}", "{{event}}", "{{steps.trigger.event.q}}"] } }]);
    let workflow =
        server.post("/workflows", &json!({ "triggers": [], "steps": steps })).await.data();
    let ended = run(&server, &workflow).await;
    assert_eq!(ended["steps"][0]["exports"]["$return_value"], json!([7, { "q": 7 }, 7]));
}

/// What only a step that is gone or disabled would have answered is not waited for.
#[tokio::test]
async fn r3_8_an_endpoint_answers_by_itself_once_no_step_that_runs_responds() {
    let server = Server::shared().await;
    let responds = step("await $.respond({ status: 201, body: 'mine' });");
    let workflow = server.workflow("w", json!([{ "type": "http" }]), &[("one", &responds)]).await;
    let url = endpoint(&workflow);
    let path = format!("/workflows/{}", id(&workflow));
    let asked = || async { answer(server.raw(Method::GET, &url)).await.status };
    let set = async |steps: Value| {
        server
            .put(&path, &json!({ "steps": steps, "settings": { "auto_deploy": true } }))
            .await
            .data()
    };
    assert_eq!(asked().await, 201);
    let plain = step("return 1;");
    set(json!([{ "namespace": "one", "code": plain }])).await;
    assert_eq!(asked().await, 200);
    set(json!([{ "namespace": "one", "code": responds }])).await;
    assert_eq!(asked().await, 201);
    set(json!([{ "namespace": "one", "code": responds, "disabled": true }, { "namespace": "two", "code": plain }])).await;
    assert_eq!(asked().await, 200);
    // Triggers that are given anew ask what the steps do.
    set(json!([{ "namespace": "one", "code": responds }])).await;
    server
        .put(
            &path,
            &json!({ "triggers": [{ "type": "http" }], "settings": { "auto_deploy": true } }),
        )
        .await
        .data();
    assert_eq!(asked().await, 201);
}

/// What a step hands on is a copy as JSON has it, of when it was handed on, whether or not the run
/// pauses behind it.
#[tokio::test]
async fn r4_1_what_a_step_hands_on_is_the_same_with_and_without_a_pause() {
    let server = Server::shared().await;
    let hands = |pause: &str| {
        step(&format!(
            "class Money {{ constructor(n) {{ this.n = n; }} get double() {{ return 2 * this.n; }} }}
             class Coin {{ toJSON() {{ return 'coin'; }} }}
             const shared = {{ n: 1 }};
             const value = {{ date: new Date(0), never: new Date(NaN), map: new Map([['a', 1]]), set: new Set([1]), bytes: Buffer.from('ab'), array: new Uint8Array([1, 2]),
               no: undefined, list: [undefined, () => 1, Symbol('s'), NaN, -0, Infinity], holes: [, 1], money: new Money(2), coin: new Coin(), twice: [shared, shared],
               error: new Error('e'), url: new URL('http://a.test/'), regexp: /a/, boxed: [new String('s'), new Number(1)], bare: Object.create(null), get got() {{ return 1; }},
               ['__proto__']: {{ own: 1 }}, constructor: 1 }};
             $.export('before', value);
             {pause}
             shared.n = 2;
             value.later = 1;
             queueMicrotask(() => {{ value.tooLate = 1; }});
             setTimeout(() => {{ shared.n = 3; }}, 0);
             return value;"
        ))
    };
    let reads = step(
        "const { before, $return_value: got } = steps.first;
         const kinds = Object.fromEntries(Object.entries(got).map(([name, value]) => [name, Object.prototype.toString.call(value)]));
         const seen = JSON.stringify(steps.first);
         got.twice[0].n = 9; before.date = 'changed'; delete steps.first.$return_value.map; steps.first.more = 1;
         return { seen, kinds, twice: got.twice, own: Object.hasOwn(got, '__proto__'), names: Object.keys(steps) };",
    );
    let reads_again = step("return JSON.stringify(steps.first);");
    let mut seen = Vec::new();
    for pause in ["", "$.flow.delay(1);"] {
        let steps = [("first", &*hands(pause)), ("second", &*reads), ("third", &*reads_again)];
        let workflow = server.workflow("hands", json!([{ "type": "http" }]), &steps).await;
        answer(server.raw(Method::GET, &endpoint(&workflow))).await;
        let runs = format!("/workflows/{}/runs?status=succeeded", id(&workflow));
        let listed = server.until("its end", &runs, |l| l["page_info"]["total_count"] == 1).await;
        let run = server.get(&format!("/runs/{}", id(&listed["data"][0]))).await.data();
        let [second, third] = [1, 2].map(|at| run["steps"][at]["exports"]["$return_value"].clone());
        let first: Value =
            serde_json::from_str(second["seen"].as_str().unwrap_or_else(|| panic!("{run}")))
                .expect("JSON");
        let again: Value =
            serde_json::from_str(third.as_str().unwrap_or_else(|| panic!("{run}"))).expect("JSON");
        assert_eq!(again, first, "{pause}: a step changed what a later one reads");
        let (before, returned) = (&first["before"], &first["$return_value"]);
        assert_eq!(
            (
                &before["twice"][1]["n"],
                &before["later"],
                &returned["twice"][1]["n"],
                &returned["later"]
            ),
            (&json!(1), &Value::Null, &json!(2), &json!(1))
        );
        assert_eq!(
            (&returned["date"], &returned["coin"], &returned["money"]),
            (&json!("1970-01-01T00:00:00.000Z"), &json!("coin"), &json!({ "n": 2 }))
        );
        assert_eq!(
            second["twice"],
            json!([{ "n": 9 }, { "n": 2 }]),
            "{pause}: each is a copy of its own"
        );
        seen.push((first, second["kinds"].clone(), second["own"].clone(), second["names"].clone()));
    }
    assert_eq!(seen[1], seen[0], "a delay changes what is handed on");
    for pause in ["", "$.flow.delay(1);"] {
        let workflow = server
            .workflow(
                "big",
                json!([]),
                &[
                    ("first", &step(&format!("{pause} return {{ n: 1n }};"))),
                    ("second", &step("return 1;")),
                ],
            )
            .await;
        let failed = run(&server, &workflow).await;
        let message = failed["error"]["message"].as_str().unwrap_or_default();
        assert!(
            failed["status"] == "failed"
                && message
                    .contains("the value returned by the step `first` is not JSON-serializable"),
            "{pause}: {failed}"
        );
    }
}
