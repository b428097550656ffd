//! Record of each step of a run: its time, props, log, sends and earlier attempts.

use millrace_tests::{Server, answer, endpoint, id};
use reqwest::Method;
use serde_json::{Value, json};

#[tokio::test]
async fn r4_2_a_step_shows_its_props_after_expressions_without_credentials_and_its_own_lines_and_sends()
 {
    let server = Server::shared().await;
    let app = json!({ "name_slug": "vault", "name": "Vault", "custom_fields": [{ "name": "key", "type": "password" }] });
    server.post("/apps", &app).await.data();
    let account = server
        .post(
            "/accounts",
            &json!({ "app": "vault", "credentials": { "key": "canary-credential" } }),
        )
        .await
        .data();
    let code = "export default defineComponent({
      props: { vault: { type: 'app', app: 'vault' }, token: { type: 'string', secret: true }, text: 'string', n: 'integer', long: 'string', whole: 'any', none: { type: 'string', optional: true } },
      async run({ $ }) { console.log('in two: ' + this.text); $.send.http({ method: 'POST', url: 'http://127.0.0.1:9/' }); return [this.vault.$auth.key.length, this.token.length]; } });";
    let steps = json!([
        { "namespace": "one", "code": "export default defineComponent({ run() { console.log('in one'); return { n: 2, large: Array(5000).fill('x') }; } });" },
        { "namespace": "two", "code": code, "props": {
            "vault": { "authProvisionId": account["id"] }, "token": "canary-secret", "text": "a {{steps.trigger.event.query.q}} b", "n": "{{steps.one.$return_value.n}}",
            "long": "y".repeat(9000), "whole": "{{steps.one.$return_value.large}}" } },
    ]);
    let workflow = server
        .post(
            "/workflows",
            &json!({ "name": "w", "triggers": [{ "type": "http" }], "steps": steps }),
        )
        .await
        .data();
    answer(server.raw(Method::GET, &format!("{}?q=word", endpoint(&workflow)))).await;
    let runs = server
        .until("the run", &format!("/workflows/{}/runs", id(&workflow)), |l| {
            l["data"][0]["status"] == "succeeded"
        })
        .await;
    let got = server.get(&format!("/runs/{}", id(&runs["data"][0]))).await;
    let run = got.json["data"].clone();
    let (one, two) = (&run["steps"][0], &run["steps"][1]);
    assert_eq!(two["exports"]["$return_value"], json!([17, 13]), "the code has them whole");
    let props = &two["props"];
    for (name, shown) in [
        ("vault", json!({ "$account": true })),
        ("token", json!({ "$secret": true })),
        ("text", json!("a word b")),
        ("n", json!(2)),
    ] {
        assert_eq!(props[name], shown, "{name}: {}", got.text);
    }
    assert_eq!(
        (&props["long"]["$truncated"], &props["long"]["$chars"], &props["whole"]),
        (&json!(true), &json!(9000), &json!({ "$truncated": true }))
    );
    assert!(props.get("none").is_none() && one.get("props").is_none(), "{}", got.text);
    assert!(!got.text.contains("canary-"), "{}", got.text);
    let began = |step: &Value| step["started_at_ms"].as_i64().expect("a time");
    assert!(
        run["started_at_ms"].as_i64().is_some_and(|at| at <= began(one))
            && began(one) <= began(two),
        "{}",
        got.text
    );
    let lines: Vec<_> = run["logs"]
        .as_array()
        .expect("lines")
        .iter()
        .map(|l| (l["step"].clone(), l["text"].clone()))
        .collect();
    assert_eq!(lines, [(json!("one"), json!("in one")), (json!("two"), json!("in two: a word b"))]);
    assert_eq!(
        (run["deliveries"].as_array().map(Vec::len), &run["deliveries"][0]["step"]),
        (Some(1), &json!("two"))
    );
    let logged = server.get(&format!("/workflows/{}/logs", id(&workflow))).await.json;
    assert!(
        logged["data"].as_array().is_some_and(|lines| lines.iter().any(|l| l["step"] == "one")),
        "{logged}"
    );
    // A list is light.
    let light = server.get("/runs").await;
    assert!(
        !light.text.contains("\"props\"")
            && light.json["data"][0]["steps"][1]["started_at_ms"].is_i64(),
        "{}",
        light.text
    );
    // Where nothing is kept, neither are they.
    let private = json!({ "name": "private", "triggers": [{ "type": "http" }], "steps": workflow_steps("own"), "settings": { "keep_data": false } });
    let private = server.post("/workflows", &private).await.data();
    answer(server.raw(Method::GET, &endpoint(&private))).await;
    let runs = server
        .until("the run", &format!("/workflows/{}/runs", id(&private)), |l| {
            l["data"][0]["status"] == "succeeded"
        })
        .await;
    assert!(!server.get(&format!("/runs/{}", id(&runs["data"][0]))).await.text.contains("canary"));
}

fn workflow_steps(name: &str) -> Value {
    let code = "export default defineComponent({ props: { text: 'string' }, run() { console.log(this.text); } });";
    json!([{ "namespace": name, "code": code, "props": { "text": "canary" } }])
}

#[tokio::test]
async fn r4_7_a_step_that_ran_again_shows_its_tries_before() {
    let server = Server::shared().await;
    let code = "export default defineComponent({ props: { text: 'string' }, run({ $ }) { if ($.context.run.runs < 3) return $.flow.rerun(1); return 'done'; } });";
    let steps = json!([{ "namespace": "before", "code": "export default defineComponent({ run() { return { n: 'two' }; } });" },
        { "namespace": "again", "code": code, "props": { "text": "{{steps.before.$return_value.n}}" } }]);
    let workflow = server
        .post(
            "/workflows",
            &json!({ "name": "w", "triggers": [{ "type": "http" }], "steps": steps }),
        )
        .await
        .data();
    answer(server.raw(Method::GET, &endpoint(&workflow))).await;
    let runs = server
        .until("the run", &format!("/workflows/{}/runs", id(&workflow)), |l| {
            l["data"][0]["status"] == "succeeded"
        })
        .await;
    let run = server.get(&format!("/runs/{}", id(&runs["data"][0]))).await.data();
    let (before, again) = (&run["steps"][0], &run["steps"][1]);
    let tries = again["attempts"].as_array().expect("tries");
    assert!(tries.len() == 2 && before.get("attempts").is_none(), "{run}");
    let times: Vec<_> = tries
        .iter()
        .map(|t| t["started_at_ms"].as_i64().expect("a time"))
        .chain(again["started_at_ms"].as_i64())
        .collect();
    assert!(
        times.is_sorted()
            && times.len() == 3
            && tries.iter().all(|t| t["duration_ms"].is_u64() && t["error"].is_null()),
        "{run}"
    );
    assert_eq!(
        (&again["props"]["text"], &again["exports"]["$return_value"]),
        (&json!("two"), &json!("done"))
    );
    // What failed is retried, and each try says why.
    let bad = json!([{ "namespace": "bad", "code": "export default defineComponent({ run() { console.log('tried'); throw new TypeError('never'); } });" }]);
    let settings = json!({ "name": "fails", "auto_retry": { "max": 2, "first_ms": 20 } });
    let fails = server
        .post(
            "/workflows",
            &json!({ "triggers": [{ "type": "http" }], "steps": bad, "settings": settings }),
        )
        .await
        .data();
    answer(server.raw(Method::GET, &endpoint(&fails))).await;
    let runs = server
        .until("the run", &format!("/workflows/{}/runs", id(&fails)), |l| {
            l["data"][0]["status"] == "failed"
        })
        .await;
    let run = server.get(&format!("/runs/{}", id(&runs["data"][0]))).await.data();
    let tries = run["steps"][0]["attempts"].as_array().expect("tries").clone();
    assert_eq!(
        tries.iter().map(|t| t["error"].clone()).collect::<Vec<_>>(),
        vec![json!({ "code": "TypeError", "message": "never" }); 2]
    );
    assert!(
        run["logs"].as_array().is_some_and(|lines| lines
            .iter()
            .filter(|l| l["text"] == "tried")
            .all(|l| l["step"] == "bad")),
        "{run}"
    );
}

/// A test under way is stopped, whether its code waits or blocks; what ran before stays, and so
/// does what it logged. A live run under way is not.
#[tokio::test]
async fn a_test_under_way_is_stopped() {
    let server = Server::start().await;
    let endless = |body: &str| {
        json!([
            { "namespace": "quick", "code": "export default defineComponent({ run() { return 1; } });" },
            { "namespace": "slow", "code": format!("export default defineComponent({{ async run() {{ console.log('has begun'); {body} }} }});") },
            { "namespace": "last", "code": "export default defineComponent({ run() { return 3; } });" },
        ])
    };
    for body in ["await new Promise(() => setInterval(() => {}, 1_000));", "for (;;);"] {
        let asked = json!({ "steps": endless(body), "event": {}, "wait": false });
        let begun = server.post("/workflows/test", &asked).await.data();
        let path = format!("/runs/{}", id(&begun));
        let _ =
            server.until("the test's begin", &path, |run| run["data"]["status"] == "running").await;
        let stopped = server.post(&format!("{path}/cancel"), &json!({})).await;
        assert_eq!(stopped.status, 200, "{}", stopped.text);
        let ended =
            server.until("the test's end", &path, |run| run["data"]["status"] == "cancelled").await;
        assert!(ended["data"]["finished_at_ms"].is_i64(), "{body} {ended}");
        let again = server.post(&format!("{path}/cancel"), &json!({})).await;
        assert_eq!(again.refusal(), (409, "run_has_ended"));
    }

    let live = json!({ "name": "Live", "steps": endless("await new Promise(() => setInterval(() => {}, 1_000));"), "settings": { "timeout_ms": 60_000 } });
    let made = server.post("/workflows", &live).await.data();
    let asked = json!({ "event": {}, "wait": false });
    let run = server.post(&format!("/workflows/{}/run", id(&made)), &asked).await.data();
    let path = format!("/runs/{}", id(&run));
    let _ = server.until("the run's begin", &path, |run| run["data"]["status"] == "running").await;
    let refused = server.post(&format!("{path}/cancel"), &json!({})).await;
    assert_eq!(refused.refusal(), (409, "run_is_running"));
}

/// A value may be of an earlier version of the step's component: it is kept, and said.
#[tokio::test]
async fn r4_a_step_with_a_value_for_a_prop_that_its_code_does_not_have_says_so() {
    let server = Server::shared().await;
    let step = |props: &str, values: Value| {
        let code = format!("export default defineComponent({{ {props} run() {{ return 1; }} }});");
        json!({ "namespace": "s", "code": code, "props": values })
    };
    let declared = "props: { url: 'string', n: 'integer' },";
    let misspelt = step(declared, json!({ "ulr": "https://a.test", "n": 1 }));
    let body = json!({ "name": "w", "triggers": [{ "type": "http" }], "steps": [misspelt] });
    let made = server.post("/workflows", &body).await.data();
    let warnings = json!([
        "the prop `url` (string) is required and has no value",
        "the component has no prop `ulr`; it has `url`, `n`"
    ]);
    assert_eq!(made["steps"][0]["warnings"], warnings);
    // The record is written back as it was read.
    let path = format!("/workflows/{}", id(&made));
    let again = server.put(&path, &json!({ "steps": made["steps"] })).await.data();
    assert_eq!(again["steps"][0]["warnings"], warnings);
    let mended = step(declared, json!({ "url": "https://a.test", "n": 1 }));
    let again = server.put(&path, &json!({ "steps": [mended] })).await.data();
    assert_eq!(again["steps"][0]["warnings"], json!([]));
    // What props there are is only known as it runs: it says why.
    let made_later = step(
        "additionalProps() { throw new Error('later'); },",
        json!({ "later": "{{ steps.trigger.event.x }}" }),
    );
    let again = server.put(&path, &json!({ "steps": [made_later] })).await.data();
    let warnings = json!(["the component could not say which props it needs: Error: later"]);
    assert_eq!(again["steps"][0]["warnings"], warnings);
}

/// A draft may be incomplete: it is kept, and deployed, and says what it lacks.
#[tokio::test]
async fn r4_a_step_that_lacks_values_says_so() {
    let server = Server::shared().await;
    let code = "export default defineComponent({
      props: { url: 'string', named: { type: 'string', optional: true }, kind: { type: 'string', reloadProps: true, optional: true }, slack: { type: 'app', app: 'slack' } },
      additionalProps() { if (this.kind === 'odd') throw new ConfigurationError('choose another kind'); return { limit: { type: 'integer' } }; },
      run() {} });
      class ConfigurationError extends Error { name = 'ConfigurationError'; }";
    let step = |props: Value| json!({ "namespace": "s", "code": code, "props": props });
    let lacks = |name: &str, of: &str| {
        json!(format!("the prop `{name}` ({of}) is required and has no value"))
    };
    let account = json!("the prop `slack` names no account: it needs one of the app `slack`");
    let body = json!({ "name": "w", "triggers": [{ "type": "http" }], "steps": [step(json!({}))] });
    let made = server.post("/workflows", &body).await.data();
    let all = json!([lacks("url", "string"), account, lacks("limit", "integer")]);
    assert_eq!(made["steps"][0]["warnings"], all);
    let path = format!("/workflows/{}", id(&made));
    let deployed = server.post(&format!("{path}/deploy"), &json!({})).await.data();
    assert_eq!(deployed["steps"][0]["warnings"], all);
    // Credentials are given out before any expression has a value.
    let expression = json!({ "authProvisionId": "{{ steps.trigger.event.account }}" });
    let named = json!({ "steps": [step(json!({ "slack": expression }))] });
    let refused = server.put(&path, &named).await;
    assert_eq!((refused.status, &refused.json["code"]), (422, &json!("invalid_props")));
    // What the component says of a value stands first.
    let odd = step(json!({ "url": "{{ steps.trigger.event.url }}", "kind": "odd" }));
    let again = server.put(&path, &json!({ "steps": [odd] })).await.data();
    let refused = json!(
        "the component could not say which props it needs: ConfigurationError: choose another kind"
    );
    assert_eq!(again["steps"][0]["warnings"], json!([refused, account]));
    // A step that is not run lacks nothing.
    let mut off = step(json!({}));
    off["disabled"] = json!(true);
    let again = server.put(&path, &json!({ "steps": [off] })).await.data();
    assert_eq!(again["steps"][0]["warnings"], json!([]));
}

/// What `additionalProps` says of the text of an expression holds for no run.
#[tokio::test]
async fn r4_a_step_keeps_values_of_props_that_an_expression_decides_on() {
    let server = Server::shared().await;
    let code = "export default defineComponent({ props: { n: { type: 'integer', reloadProps: true } },
      additionalProps() { const all = {}; for (let i = 0; i < this.n; i++) all['v' + i] = { type: 'string' }; if (!(this.n > 0)) all.none = { type: 'string' }; return all; },
      run() { return { ...this }; } });";
    let step = json!({ "namespace": "s", "code": code, "props": { "n": "{{ 1 + 1 }}", "v0": "a", "v1": "{{ steps.trigger.event.x }}" } });
    let body = json!({ "name": "w", "triggers": [{ "type": "http" }], "steps": [step] });
    let made = server.post("/workflows", &body).await.data();
    assert_eq!(made["steps"][0]["warnings"], json!([]));
    let path = format!("/workflows/{}/test", id(&made));
    let run = server.post(&path, &json!({ "event": { "x": "b" } })).await.data();
    let returned = &run["steps"][0]["exports"]["$return_value"];
    assert_eq!(*returned, json!({ "n": 2, "v0": "a", "v1": "b" }), "{run}");
}
