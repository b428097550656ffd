//! External users of `/v1/connect`: a request that names one sees and uses what carries it, and
//! nothing else.

use millrace_tests::{Server, answer, id};
use reqwest::Method;
use serde_json::{Value, json};

const ACTION: &str = "export default { name: 'Ask', key: 'users-ask', version: '1', type: 'action',
  props: { acme: { type: 'app', app: 'acme' }, whom: { type: 'string', optional: true, async options() { return [this.acme.$auth.k]; } } },
  async additionalProps() { return { [this.acme.$auth.k]: { type: 'string', optional: true } }; },
  run() { globalThis.seen = (globalThis.seen ?? 0) + 1; return [this.acme.$auth.k, globalThis.seen]; } };";
const SOURCE: &str = "export default { name: 'Watch', key: 'users-watch', version: '1', type: 'source',
  props: { acme: { type: 'app', app: 'acme' } }, hooks: { async deploy() { this.$emit({ n: 1 }, { id: 1 }); } }, run() {} };";

struct World {
    server: Server,
    connect: String,
    /// Accounts of `ann`, of `bob` and of nobody.
    accounts: [String; 3],
}

async fn world() -> World {
    let server = Server::start().await;
    server
        .post(
            "/apps",
            &json!({ "name_slug": "acme", "name": "Acme", "custom_fields": [{ "name": "k" }] }),
        )
        .await
        .data();
    let mut accounts = Vec::new();
    for (user, key) in [
        (json!({ "external_user_id": "ann" }), "of_ann"),
        (json!({ "external_user_id": "bob" }), "of_bob"),
        (json!({}), "of_none"),
    ] {
        let mut new = json!({ "app": "acme", "name": key, "credentials": { "k": key } });
        new.as_object_mut()
            .expect("an object")
            .extend(user.as_object().expect("an object").clone());
        let made = server.post("/accounts", &new).await.data();
        assert_eq!(made["external_user_id"], user["external_user_id"]);
        accounts.push(id(&made).to_owned());
    }
    for code in [ACTION, SOURCE] {
        server
            .post("/components", &json!({ "component_code": code, "publish": true }))
            .await
            .data();
    }
    let workflow = server
        .workflow("w", json!([]), &[("a", "export default defineComponent({ run() {} });")])
        .await;
    let connect = format!("/connect/{}", workflow["project_id"].as_str().expect("a project"));
    World { server, connect, accounts: accounts.try_into().expect("three") }
}

fn names(listed: &Value) -> Vec<&str> {
    listed["data"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|one| one["name"].as_str())
        .collect()
}

fn props(account: &str) -> Value {
    json!({ "acme": { "authProvisionId": account } })
}

#[tokio::test]
async fn accounts_are_seen_by_the_external_user_that_they_carry() {
    let World { server, connect, accounts: [ann, bob, none] } = world().await;
    let list = async |query: &str| server.get(&format!("{connect}/accounts{query}")).await.json;
    assert_eq!(names(&list("").await), ["of_none", "of_bob", "of_ann"]);
    assert_eq!(names(&list("?external_user_id=ann").await), ["of_ann"]);
    assert_eq!(
        names(&list("?external_user_id=bob&app=acme&include_credentials=true").await),
        ["of_bob"]
    );
    let nobody = list("?external_user_id=nobody").await;
    assert_eq!((names(&nobody), &nobody["page_info"]["total_count"]), (vec![], &json!(0)));
    assert_eq!(names(&server.get("/accounts?external_user_id=ann").await.json), ["of_ann"]);
    for wrong in [
        "?external_user_id=",
        "?external_user_id=%20",
        &format!("?external_user_id={}", "x".repeat(251)),
    ] {
        assert_eq!(server.get(&format!("{connect}/accounts{wrong}")).await.status, 422, "{wrong}");
    }
    // Two users are nobody: which one was meant is not guessed.
    for wrong in [
        "/accounts?external_user_id=ann&external_user_id=bob",
        "/accounts?external_user_id=ann&external_user_id=",
        "/deployed-triggers?external_user_id=bob&external_user_id=ann",
    ] {
        assert_eq!(
            server.get(&format!("{connect}{wrong}")).await.refusal(),
            (422, "invalid_field"),
            "{wrong}"
        );
    }
    for (account, status) in [(&ann, 200), (&bob, 404), (&none, 404)] {
        assert_eq!(
            server
                .get(&format!(
                    "{connect}/accounts/{account}?external_user_id=ann&include_credentials=true"
                ))
                .await
                .status,
            status
        );
    }
    for other in [&bob, &none] {
        assert_eq!(
            server.delete(&format!("{connect}/accounts/{other}?external_user_id=ann")).await.status,
            404
        );
        assert_eq!(server.get(&format!("/accounts/{other}")).await.status, 200);
    }
    // The organization's own program gives an account to a user, and takes it away.
    assert_eq!(
        server
            .put(&format!("/accounts/{none}"), &json!({ "external_user_id": "ann" }))
            .await
            .data()["external_user_id"],
        "ann"
    );
    assert_eq!(names(&list("?external_user_id=ann").await), ["of_none", "of_ann"]);
    assert_eq!(
        server.put(&format!("/accounts/{none}"), &json!({ "external_user_id": null })).await.data()
            ["external_user_id"],
        Value::Null
    );
    assert_eq!(
        server.put(&format!("/accounts/{none}"), &json!({ "external_user_id": "" })).await.status,
        422
    );
    assert_eq!(names(&list("?external_user_id=ann").await), ["of_ann"]);
}

#[tokio::test]
async fn props_name_no_account_of_another_external_user() {
    let World { server, connect, accounts: [ann, bob, none] } = world().await;
    let ask = async |path: &str, component: &str, user: Option<&str>, account: &str| {
        let mut body = json!({ "id": component, "configured_props": props(account) });
        if path.ends_with("/configure") {
            body["prop_name"] = json!("whom");
        }
        if let Some(user) = user {
            body["external_user_id"] = json!(user);
        }
        server.post(&format!("{connect}{path}"), &body).await
    };
    let paths = [
        ("/actions/run", "users-ask"),
        ("/actions/configure", "users-ask"),
        ("/components/props", "users-ask"),
        ("/triggers/deploy", "users-watch"),
    ];
    for (path, component) in paths {
        assert_eq!(ask(path, component, Some("ann"), &ann).await.status, 200, "{path}");
        assert_eq!(ask(path, component, None, &bob).await.status, 200, "{path}");
        for other in [&bob, &none] {
            let refused = ask(path, component, Some("ann"), other).await;
            assert_eq!(refused.status, 422, "{path}: {}", refused.json);
            assert!(
                refused.json.to_string().contains("carries the external user `ann`"),
                "{path}: {}",
                refused.json
            );
        }
        for wrong in [json!(""), json!(null), json!(7), json!(["ann"])] {
            let body = json!({ "id": component, "configured_props": props(&bob), "external_user_id": wrong });
            let refused = server.post(&format!("{connect}{path}"), &body).await;
            assert_eq!(
                (refused.status, &refused.json["details"]["field"]),
                (422, &json!("external_user_id")),
                "{path} {wrong}: {}",
                refused.json
            );
        }
    }
    // An account alone, as it is typed, and in a query beside the body.
    let typed = json!({ "id": "users-ask", "configured_props": { "acme": bob } });
    assert_eq!(
        server.post(&format!("{connect}/actions/run?external_user_id=ann"), &typed).await.status,
        422
    );
    let both =
        json!({ "id": "users-ask", "configured_props": props(&ann), "external_user_id": "ann" });
    for (query, status) in [("ann", 200), ("bob", 422), ("", 422)] {
        assert_eq!(
            server
                .post(&format!("{connect}/actions/run?external_user_id={query}"), &both)
                .await
                .status,
            status,
            "{query}"
        );
    }
    // What `additionalProps` made of one user's account is not shown to another.
    let form = ask("/components/props", "users-ask", Some("ann"), &ann).await.json["dynamicProps"]
        ["id"]
        .clone();
    let of_bob = json!({ "id": "users-ask", "configured_props": props(&bob), "external_user_id": "bob", "dynamic_props_id": form });
    assert_eq!(server.post(&format!("{connect}/actions/run"), &of_bob).await.status, 422);
    // Nor do the runs of two users meet in an isolate.
    assert_eq!(ask("/actions/run", "users-ask", Some("ann"), &ann).await.json["ret"][0], "of_ann");
    assert_eq!(
        ask("/actions/run", "users-ask", Some("bob"), &bob).await.json["ret"],
        json!(["of_bob", 1])
    );
}

#[tokio::test]
async fn deployed_triggers_are_reached_by_the_external_user_that_they_carry() {
    let World { server, connect, accounts: [ann, bob, _] } = world().await;
    let deploy = async |user: &str, account: &str| {
        let body = json!({ "id": "users-watch", "configured_props": props(account), "external_user_id": user });
        let made = server.post(&format!("{connect}/triggers/deploy"), &body).await.data();
        assert_eq!(made["external_user_id"], user);
        id(&made).to_owned()
    };
    let (of_ann, of_bob) = (deploy("ann", &ann).await, deploy("bob", &bob).await);
    let ids = async |query: &str| {
        let listed = server.get(&format!("{connect}/deployed-triggers{query}")).await.json;
        let ids: Vec<_> = listed["data"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|one| id(one).to_owned())
            .collect();
        (ids, listed["page_info"]["total_count"].clone())
    };
    assert_eq!(ids("").await, (vec![of_bob.clone(), of_ann.clone()], json!(2)));
    assert_eq!(ids("?external_user_id=ann").await, (vec![of_ann.clone()], json!(1)));
    assert_eq!(ids("?external_user_id=nobody").await, (vec![], json!(0)));
    let place = |source: &str, rest: &str| {
        format!("{connect}/deployed-triggers/{source}{rest}?external_user_id=ann")
    };
    for rest in ["", "/events", "/pipelines", "/webhooks"] {
        assert_eq!(server.get(&place(&of_ann, rest)).await.status, 200, "{rest}");
        assert_eq!(server.get(&place(&of_bob, rest)).await.status, 404, "{rest}");
    }
    let changes = [
        ("", json!({ "name": "Mine" })),
        ("/pipelines", json!({ "workflow_ids": [] })),
        ("/webhooks", json!({ "webhook_urls": [] })),
    ];
    for (rest, mut change) in changes {
        assert_eq!(server.put(&place(&of_bob, rest), &change).await.status, 404, "{rest}");
        change["external_user_id"] = json!("ann");
        let path = format!("{connect}/deployed-triggers/{of_bob}{rest}");
        assert_eq!(server.put(&path, &change).await.status, 404, "{rest}");
        assert_eq!(server.put(&place(&of_ann, rest), &change).await.status, 200, "{rest}");
    }
    assert_eq!(
        server.put(&place(&of_ann, ""), &json!({ "configured_props": props(&bob) })).await.status,
        422
    );
    // A form about a deployed trigger of another.
    let form = json!({ "id": of_bob, "configured_props": {}, "external_user_id": "ann" });
    assert_eq!(server.post(&format!("{connect}/components/props"), &form).await.status, 404);
    assert_eq!(server.delete(&place(&of_bob, "")).await.status, 404);
    assert_eq!(server.delete(&place(&of_ann, "")).await.status, 200);
    assert_eq!(ids("").await.0, vec![of_bob]);
}

/// Each route takes an external user or refuses the field; none lets it pass unread.
#[tokio::test]
async fn no_route_below_connect_ignores_an_external_user() {
    let World { server, connect, .. } = world().await;
    let document: Value = server
        .raw(Method::GET, "/openapi.json")
        .send()
        .await
        .expect("an answer")
        .json()
        .await
        .expect("JSON");
    let mut tried = 0;
    for (path, methods) in document["paths"].as_object().expect("paths") {
        let Some((_, rest)) =
            path.split_once("/connect/").filter(|(before, _)| !before.contains("/accounts"))
        else {
            continue;
        };
        let rest = rest.replace("{project}/", "").replace("{id}", "apn_000000000000");
        let base = if path.contains("{project}") { &connect } else { "/connect" };
        for method in methods.as_object().expect("methods").keys() {
            let method = Method::from_bytes(method.to_uppercase().as_bytes()).expect("a method");
            let ask = async |query: &str, body: Option<Value>| {
                let request = server
                    .raw(method.clone(), &format!("/v1{base}/{rest}{query}"))
                    .bearer_auth(&server.api_key);
                answer(if let Some(body) = body { request.json(&body) } else { request }).await
            };
            let mut answers = Vec::new();
            for query in [
                "?external_user_id=",
                "?external_user_id=a&external_user_id=b",
                "?externalUserId=a",
                "?external_user_id[]=a",
            ] {
                answers.push(ask(query, None).await);
            }
            if method != Method::GET {
                for body in [
                    json!({ "external_user_id": "" }),
                    json!({ "external_user_id": ["a"] }),
                    json!({ "externalUserId": "a" }),
                ] {
                    answers.push(ask("", Some(body)).await);
                }
            }
            for refused in answers {
                assert_eq!(refused.status, 422, "{method} {rest}: {}", refused.text);
                assert!(
                    refused.json["details"]["field"]
                        .as_str()
                        .is_some_and(|field| field.starts_with("external")),
                    "{method} {rest}: {}",
                    refused.text
                );
            }
            tried += 1;
        }
    }
    assert!(tried > 25, "{tried}");
}

#[tokio::test]
async fn a_form_gives_what_its_code_logs_and_plain_options_as_texts_too() {
    let server = Server::shared().await;
    let code = "export default { key: 'form-logs', name: 'F', version: '0.0.1', type: 'action', props: {
        plain: { type: 'string', options() { console.log('asked', 1); return ['a', 'b']; } },
        named: { type: 'string', reloadProps: true, options() { console.error('no'); return [{ label: 'A', value: 'a' }]; } },
        fails: { type: 'string', options() { console.log('before'); throw new Error('gone'); } },
      }, additionalProps() { console.warn('made'); return {}; }, run() {} };";
    server.post("/components", &json!({ "component_code": code, "publish": true })).await.data();
    let workflow = server.workflow("w", json!([]), &[]).await;
    let connect = format!("/connect/{}", workflow["project_id"].as_str().expect("a project"));
    let ask = async |path: &str, prop: &str| {
        let mut body = json!({ "id": "form-logs", "configured_props": {} });
        if path == "configure" {
            body["prop_name"] = json!(prop);
        }
        let answer = server.post(&format!("{connect}/components/{path}"), &body).await.json;
        let lines: Vec<_> = answer["observations"]
            .as_array()
            .unwrap_or_else(|| panic!("{path} {prop}: {answer}"))
            .iter()
            .map(|line| format!("{} {}", line["k"].as_str().unwrap_or(""), line["msg"]))
            .collect();
        (lines, answer["stringOptions"].clone(), answer["errors"].clone())
    };
    let lines = |text: &str| vec![text.to_owned()];
    assert_eq!(
        ask("configure", "plain").await,
        (lines("log \"asked 1\""), json!(["a", "b"]), json!([]))
    );
    assert_eq!(ask("configure", "named").await, (lines("error \"no\""), Value::Null, json!([])));
    let (logged, _, errors) = ask("configure", "fails").await;
    assert_eq!(logged, lines("log \"before\""));
    assert!(errors[0].as_str().is_some_and(|error| error.contains("gone")), "{errors}");
    assert_eq!(ask("props", "named").await.0, lines("warn \"made\""));
}
