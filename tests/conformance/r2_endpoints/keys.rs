//! The REST API as a whole (reference 1): keys, scopes, rates, the document, and walls between
//! organizations.

use millrace_tests::{Answer, Client, Server, answer};
use reqwest::Method;
use serde_json::{Value, json};

use super::registries;

const SOURCE: &str = "export default { name: 's', version: '1', run() { this.$emit({ a: 1 }); } };";
/// Noon of a day.
const NOON: i64 = 1_767_182_400_000;

/// A key that may do everything, where the body does not say otherwise.
async fn key(server: &Client, mut body: Value) -> (String, String) {
    body.as_object_mut().expect("an object").entry("scopes").or_insert_with(|| json!(["full"]));
    let made = server.post("/api_keys", &body).await.data();
    (
        made["id"].as_str().expect("an id").to_owned(),
        made["key"].as_str().expect("the key").to_owned(),
    )
}

async fn as_key(server: &Client, key: &str, method: Method, path: &str) -> Answer {
    server.call_as(key, method, path, Some(&json!({}))).await
}

#[tokio::test]
async fn s5_a_key_is_shown_once_and_its_record_listed() {
    let server = Server::start().await;
    let (id, text) = key(
        &server,
        json!({ "name": "ci", "scopes": ["deploy", "invoke"], "rate_per_minute": 30 }),
    )
    .await;
    assert!(text.starts_with("mr_"));
    let listed = server.get("/api_keys").await;
    assert!(!listed.text.contains(&text) && !listed.text.contains("hash"), "{}", listed.text);
    assert_eq!(listed.json["page_info"]["total_count"], 2);
    let record = listed.json["data"]
        .as_array()
        .and_then(|keys| keys.iter().find(|k| k["id"] == id.as_str()))
        .expect("the key")
        .clone();
    assert_eq!(
        (&record["name"], &record["scopes"], &record["rate_per_minute"]),
        (&json!("ci"), &json!(["invoke", "deploy"]), &json!(30))
    );
    assert_eq!(server.get(&format!("/api_keys/{id}")).await.data(), record);
    assert_eq!(as_key(&server, &text, Method::GET, "/users/me").await.status, 200);
    assert!(!server.log().contains(&text));
}

#[tokio::test]
async fn s5_keys_that_cannot_be_are_refused() {
    let server = Server::shared().await;
    for (body, field) in [
        (json!({}), "name"),
        (json!({ "name": "", "scopes": ["read"] }), "name"),
        (json!({ "name": "x".repeat(101), "scopes": ["read"] }), "name"),
        (json!({ "name": "a", "scopes": ["admin"] }), "scopes"),
        (json!({ "name": "a", "scopes": [] }), "scopes"),
        // What is not said gives nothing, least of all everything.
        (json!({ "name": "a" }), "scopes"),
        (json!({ "name": "a", "scopes": null }), "scopes"),
        (json!({ "name": "a", "scopes": "" }), "scopes"),
        (json!({ "name": "a", "scopes": ["read"], "expires_at": 5 }), "expires_at"),
        (json!({ "name": "a", "scopes": ["read"], "expires_at": "soon" }), "expires_at"),
        (json!({ "name": "a", "scopes": ["read"], "rate_per_minute": 0 }), "rate_per_minute"),
    ] {
        let refused = server.post("/api_keys", &body).await;
        assert_eq!(
            (refused.status, refused.json["details"]["field"].as_str()),
            (422, Some(field)),
            "{body}: {}",
            refused.text
        );
    }
    assert_eq!(server.get("/api_keys").await.json["page_info"]["total_count"], 1);
    for scopes in [json!({}), json!({ "scopes": null })] {
        let mut body = json!({ "name": "a client" });
        body.as_object_mut()
            .expect("an object")
            .extend(scopes.as_object().expect("an object").clone());
        let refused = server.post("/oauth/clients", &body).await;
        assert_eq!(
            (refused.status, refused.json["details"]["field"].as_str()),
            (422, Some("scopes")),
            "{body}: {}",
            refused.text
        );
    }
    assert_eq!(server.delete("/api_keys/key_nothere").await.status, 404);
    let own =
        server.get("/api_keys").await.json["data"][0]["id"].as_str().expect("an id").to_owned();
    assert_eq!(server.delete(&format!("/api_keys/{own}")).await.refusal(), (409, "own_key"));
}

#[tokio::test]
async fn s5_a_key_that_is_revoked_rotated_or_over_is_not_taken() {
    let server = Server::start_at(NOON, &[]).await;
    let works = async |key: &str| as_key(&server, key, Method::GET, "/users/me").await.status;
    let (revoked, text) = key(&server, json!({ "name": "revoked" })).await;
    assert_eq!(works(&text).await, 200);
    assert_eq!(server.delete(&format!("/api_keys/{revoked}")).await.data()["deleted"], true);
    assert_eq!(works(&text).await, 401);

    let (rotated, first) = key(&server, json!({ "name": "rotated", "scopes": "read" })).await;
    let second =
        server.post(&format!("/api_keys/{rotated}/rotate"), &json!({})).await.data()["key"]
            .as_str()
            .expect("a key")
            .to_owned();
    assert_eq!((works(&first).await, works(&second).await), (401, 200));
    // With grace both work; the rotated key keeps its scopes.
    let third = server
        .post(&format!("/api_keys/{rotated}/rotate"), &json!({ "grace_seconds": 1 }))
        .await
        .data()["key"]
        .as_str()
        .expect("a key")
        .to_owned();
    assert_eq!((works(&second).await, works(&third).await), (200, 200));
    assert_eq!(
        as_key(&server, &third, Method::GET, "/api_keys").await.refusal(),
        (403, "scope_missing")
    );

    let (_, short) = key(&server, json!({ "name": "short", "expires_at": NOON / 1000 + 2 })).await;
    for (ms, expected) in [
        (999, (200, 200, 200)),
        (1_000, (200, 401, 200)),
        (1_999, (200, 401, 200)),
        (2_000, (401, 401, 200)),
    ] {
        server.set_clock(NOON + ms);
        assert_eq!(
            (works(&short).await, works(&second).await, works(&third).await),
            expected,
            "after {ms} ms"
        );
    }
}

#[tokio::test]
async fn s5_a_route_that_needs_more_than_the_key_has_says_what() {
    let server = Server::shared().await;
    let source = server.source(SOURCE, json!({})).await["id"].as_str().expect("an id").to_owned();
    let (_, read) = key(&server, json!({ "name": "r", "scopes": ["read"] })).await;
    let (_, invoke) = key(&server, json!({ "name": "i", "scopes": ["invoke"] })).await;
    let (_, deploy) = key(&server, json!({ "name": "d", "scopes": ["deploy"] })).await;
    let run = format!("/sources/{source}/run");
    for (key, method, path, needed) in [
        (&read, Method::GET, "/users/me/sources", None),
        (&read, Method::POST, run.as_str(), Some("invoke")),
        (&read, Method::POST, "/sources", Some("deploy")),
        (&read, Method::GET, "/accounts?include_credentials=1", Some("full")),
        (&read, Method::GET, "/accounts", None),
        (&invoke, Method::POST, run.as_str(), None),
        (&invoke, Method::GET, "/users/me/sources", Some("read")),
        (&deploy, Method::POST, run.as_str(), None),
        (&deploy, Method::GET, "/users/me/sources", None),
        (&deploy, Method::GET, "/api_keys", Some("full")),
        (&deploy, Method::POST, "/accounts", Some("full")),
        (&deploy, Method::POST, "/workspaces", Some("full")),
    ] {
        let got = as_key(&server, key, method.clone(), path).await;
        match needed {
            None => assert_eq!(got.status, 200, "{method} {path}: {}", got.text),
            Some(scope) => {
                assert_eq!(got.refusal(), (403, "scope_missing"), "{method} {path}");
                assert!(
                    got.json["details"]["needed"] == scope
                        && got.json["error"]
                            .as_str()
                            .is_some_and(|e| e.contains(&format!("`{scope}`"))),
                    "{}",
                    got.text
                );
            }
        }
    }
    // Refused before anything is read or done.
    assert_eq!(
        server.call_as(&read, Method::DELETE, &format!("/sources/{source}"), None).await.status,
        403
    );
    assert_eq!(server.get(&format!("/sources/{source}")).await.status, 200);
}

#[tokio::test]
async fn r1_3_a_key_that_asks_too_often_waits() {
    let server = Server::shared().await;
    let (_, slow) = key(&server, json!({ "name": "slow", "rate_per_minute": 3 })).await;
    for _ in 0..3 {
        assert_eq!(as_key(&server, &slow, Method::GET, "/users/me").await.status, 200);
    }
    let refused =
        server.raw(Method::GET, "/v1/users/me").bearer_auth(&slow).send().await.expect("an answer");
    assert_eq!(refused.status().as_u16(), 429);
    let wait: u64 =
        refused.headers()["retry-after"].to_str().expect("text").parse().expect("seconds");
    assert!((1..=20).contains(&wait), "{wait}");
    // Others are not held back.
    assert_eq!(server.get("/users/me").await.status, 200);
    let server = Server::start_with(&["--requests-per-minute", "5"]).await;
    let statuses = futures::future::join_all((0..7).map(|_| async {
        answer(server.raw(Method::GET, "/v1/users/me").bearer_auth(&server.api_key)).await.status
    }));
    assert_eq!(statuses.await.iter().filter(|status| **status == 429).count(), 2);
}

/// Every operation of the document that needs a key: method, path below `/v1`, and the scope it
/// needs.
fn operations(server: &Client) -> Vec<(Method, String, Option<String>)> {
    let paths = server.document["paths"].as_object().expect("paths");
    // Sessions, members and invitations are people's affair: tests/security asks their routes as
    // every role and as none.
    let of_keys = |path: &str| {
        !["/v1/session", "/v1/members", "/v1/invitations"]
            .iter()
            .any(|start| path.starts_with(start))
    };
    let all = paths.iter().filter(|(path, _)| of_keys(path)).flat_map(|(path, methods)| {
        methods
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(_, operation)| operation.get("security").is_none())
            .map(|(method, operation)| {
                let method =
                    Method::from_bytes(method.to_uppercase().as_bytes()).expect("a method");
                (
                    method,
                    path.trim_start_matches("/v1").to_owned(),
                    operation["x-scope"].as_str().map(str::to_owned),
                )
            })
    });
    all.collect()
}

/// Names of the fields that an operation takes, in its query or body.
pub(crate) fn declared(server: &Client, method: &Method, template: &str) -> Vec<String> {
    let operation =
        &server.document["paths"][format!("/v1{template}")][method.as_str().to_lowercase()];
    let in_query = operation["parameters"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|p| p["in"] == "query")
        .filter_map(|p| p["name"].as_str());
    let contents = operation["requestBody"]["content"].as_object().into_iter().flatten();
    let in_body = contents
        .filter_map(|(_, content)| content["schema"]["properties"].as_object())
        .flat_map(|properties| properties.keys().map(String::as_str));
    in_query.chain(in_body).map(str::to_owned).collect()
}

/// One of everything: the parameters of paths by what stands before them.
pub(crate) struct Things(Vec<(&'static str, String)>);

impl Things {
    pub(crate) async fn of(server: &Server) -> Self {
        let id = |v: &Value| v["id"].as_str().expect("an id").to_owned();
        let action =
            "export default { name: 'a', key: 'walls-a', version: '1', type: 'action', run() {} };";
        let component = server
            .post("/components", &json!({ "component_code": action, "publish": true }))
            .await
            .data();
        server
            .post("/apps", &json!({ "name_slug": "walled", "custom_fields": [{ "name": "k" }] }))
            .await
            .data();
        let account = server
            .post("/accounts", &json!({ "app": "walled", "credentials": { "k": "s3cret" } }))
            .await
            .data();
        let source = id(&server.source(SOURCE, json!({})).await);
        let workflow = server
            .workflow(
                "w",
                json!([{ "type": "http" }]),
                &[("a", "export default defineComponent({ run() {} });")],
            )
            .await;
        let deployment = workflow["deployment_id"].as_str().expect("an id").to_owned();
        let domain = json!({ "domain": "walled.example.test", "endpoint_id": workflow["triggers"][0]["id"] });
        server.post("/domains", &domain).await.data();
        let (project, workflow) =
            (workflow["project_id"].as_str().expect("a project").to_owned(), id(&workflow));
        let webhook = id(&server
            .post("/webhooks", &json!({ "url": "http://127.0.0.1:9/hook" }))
            .await
            .data());
        server
            .post("/subscriptions", &json!({ "emitter_id": source, "listener_id": webhook }))
            .await
            .data();
        let auto = server
            .post(
                "/auto_subscriptions",
                &json!({ "listener_id": workflow, "event_name": "$errors" }),
            )
            .await
            .data();
        let run = server.post(&format!("/sources/{source}/run"), &json!({})).await.data();
        let delivery = server
            .until("a delivery", &format!("/webhooks/{webhook}/deliveries"), |l| {
                l["page_info"]["count"] == 1
            })
            .await;
        let event =
            server.get(&format!("/sources/{source}/event_summaries")).await.json["data"][0].clone();
        let version =
            server.get(&format!("/sources/{source}/deployments")).await.json["data"][0].clone();
        let store = server.post("/data_stores", &json!({ "name": "walled-store" })).await.data();
        server
            .put(&format!("/data_stores/{}/record", id(&store)), &json!({ "key": "k", "value": 1 }))
            .await
            .data();
        let tree = tempfile::tempdir().expect("a folder");
        registries::tree(tree.path());
        let (status, _, stderr) = registries::millrace(
            server,
            &["registry", "add", tree.path().to_str().expect("UTF-8"), "--name", "walled-registry"],
        );
        assert_eq!(status, Some(0), "{stderr}");
        let (key, _) = key(server, json!({ "name": "another" })).await;
        let replay =
            server.post("/replays", &json!({ "source_id": source, "runs": [id(&run)] })).await;
        assert_eq!(replay.status, 202, "{}", replay.text);
        let oauth = json!({ "authorize_url": "http://127.0.0.1:9/a", "token_url": "http://127.0.0.1:9/t", "client_id": "c", "client_secret": "s" });
        server
            .post(
                "/apps",
                &json!({ "name_slug": "walled-oauth", "auth_type": "oauth", "oauth": oauth }),
            )
            .await
            .data();
        let begun =
            server.post("/accounts/connect", &json!({ "app": "walled-oauth" })).await.data();
        let client = server
            .post("/oauth/clients", &json!({ "name": "a client", "scopes": ["full"] }))
            .await
            .data();
        let failing = server
            .source(
                "export default { name: 'f', version: '1', run() { throw new Error('walled'); } };",
                json!({}),
            )
            .await;
        server.post(&format!("/sources/{}/run", id(&failing)), &json!({})).await.data();
        let groups = server
            .until("a group of errors", "/error_groups", |l| l["page_info"]["count"] == 1)
            .await;
        let mailing = server
            .workflow(
                "m",
                json!([{ "type": "http" }]),
                &[(
                    "a",
                    "export default defineComponent({ run() { throw new Error('walled'); } });",
                )],
            )
            .await;
        server.post(&format!("/workflows/{}/run", id(&mailing)), &json!({})).await.data();
        let mails = server.until("a mail", "/mail", |l| l["page_info"]["count"] != 0).await;
        Self(vec![
            ("/mail/{id}", id(&mails["data"][0])),
            ("/error_groups/{id}", id(&groups["data"][0])),
            ("/replays/{id}", id(&replay.json["data"])),
            ("{domain}", "walled.example.test".into()),
            ("/oauth/clients/{id}", id(&client)),
            ("{org}", server.org_id.clone()),
            ("{project}", project),
            ("{delivery}", id(&delivery["data"][0])),
            (
                "/sources/{id}/deployments/{deployment}",
                format!("/sources/{source}/deployments/{}", id(&version)),
            ),
            ("{deployment}", deployment),
            ("{event}", id(&event)),
            ("{emitter}", source.clone()),
            ("{name}", "walled-registry".into()),
            ("/data_stores/{id}", id(&store)),
            // A key is named in the query.
            ("/record", "/record?key=k".into()),
            ("/components/registry/{id}", "walls-a".into()),
            ("/actions/{id}", "walls-a".into()),
            ("/triggers/{id}", "walls-a".into()),
            ("/components/{id}", id(&component)),
            ("/apps/{id}", "walled".into()),
            ("/accounts/connect/{id}", id(&begun)),
            ("/accounts/{id}", id(&account)),
            ("/deployed-triggers/{id}", source.clone()),
            ("/sources/{id}", source),
            ("/workflows/{id}", workflow),
            ("/webhooks/{id}", webhook),
            ("/auto_subscriptions/{id}", id(&auto)),
            ("/runs/{id}", id(&run)),
            ("/api_keys/{id}", key),
        ])
    }

    /// All ids there are.
    pub(crate) fn all(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(_, id)| id.as_str()).filter(|id| !id.starts_with('/'))
    }

    /// What stands for a parameter of a path, if anything does.
    pub(crate) fn of_parameter(&self, template: &str, name: &str) -> Option<&str> {
        let fits =
            |place: &str| if name == "{id}" { template.contains(place) } else { place == name };
        self.0.iter().find(|(place, _)| fits(place)).map(|(_, id)| id.as_str())
    }

    fn id(&self, of: &str) -> &str {
        self.0.iter().find(|(place, _)| *place == of).map(|(_, id)| id.as_str()).expect("a thing")
    }

    /// The path with ids in place of its parameters.
    pub(crate) fn path(&self, template: &str) -> String {
        let path = self.0.iter().fold(template.to_owned(), |path, (place, id)| {
            match place.strip_suffix("{id}") {
                Some(before) => path.replace(place, &format!("{before}{id}")),
                None => path.replace(place, id),
            }
        });
        assert!(!path.contains('{'), "no thing stands for a parameter of {template}");
        path
    }
}

#[tokio::test]
async fn r1_3_another_organizations_key_finds_nothing_on_any_route() {
    let server = Server::start().await;
    let things = Things::of(&server).await;
    let other = server
        .post("/workspaces", &json!({ "name": "Other", "email": "other@example.test" }))
        .await
        .data();
    let key = other["api_key"].as_str().expect("a key");
    let (source, component) = (things.id("/sources/{id}"), things.id("/components/{id}"));
    // What a request says beside its path is of the first organization too.
    let named = json!({
        "component_id": component, "id": component, "prop_name": "x", "emitter_id": source, "listener_id": things.id("/webhooks/{id}"), "event_name": "$errors",
        "deployment_id": "d_x", "event": 1, "name": "x", "url": "http://127.0.0.1:9/", "app": "walled", "credentials": { "k": "v" }, "name_slug": "x", "key": "k", "value": 2,
    });
    let mut with_org = named.clone();
    with_org["org_id"] = json!(server.org_id);
    for (method, template, _) in operations(&server) {
        let path = things.path(&template);
        let has_params = template.contains('{');
        let known = declared(&server, &method, &template);
        let only_known = |all: &Value| {
            Value::Object(
                all.as_object()
                    .expect("fields")
                    .iter()
                    .filter(|(name, _)| known.contains(name))
                    .map(|(name, value)| (name.clone(), value.clone()))
                    .collect(),
            )
        };
        let body = if method == Method::GET {
            None
        } else {
            Some(only_known(if has_params { &named } else { &with_org }))
        };
        // A file store begins with its first file: one put here would be the caller's own. The
        // content of a file needs a path beside its store.
        let is_own = (method == Method::PUT && template == "/file_stores/{name}/files")
            || template == "/file_stores/{name}/files/content";
        // A stream has no end, and topics of its own (r2_37). The times of a schedule are nobody's.
        // The server is the first organization's to see (system.rs).
        let elsewhere = ["/workspaces", "/stream", "/schedules/next", "/system", "/system/checks"];
        if is_own || elsewhere.contains(&template.as_str()) {
            continue;
        }
        // An archive's organization stands in the query.
        let asked = if has_params || method == Method::GET {
            path.clone()
        } else {
            format!("{path}?org_id={}", server.org_id)
        };
        let got = server.call_as(key, method.clone(), &asked, body.as_ref()).await;
        if has_params || method != Method::GET {
            assert!(
                matches!(got.status, 403 | 404),
                "{method} {path}: {} {}",
                got.status,
                got.text
            );
        } else {
            assert_eq!(got.status, 200, "{method} {path}: {}", got.text);
            let leaked = things.0.iter().find(|(_, id)| got.text.contains(&format!("\"{id}\"")));
            assert!(leaked.is_none(), "{method} {path} shows {leaked:?}: {}", got.text);
            let named = server
                .call_as(key, method.clone(), &format!("{path}?org_id={}", server.org_id), None)
                .await;
            assert!(
                named.status == 404
                    || (named.status == 200
                        && things
                            .0
                            .iter()
                            .all(|(_, id)| !named.text.contains(&format!("\"{id}\"")))),
                "{path}"
            );
        }
    }
    // All of it is still there.
    for (place, id) in &things.0 {
        if let Some(path) = place.strip_suffix("{id}").filter(|path| {
            !["/auto_subscriptions/", "/deployed-triggers/", "/actions/", "/triggers/"]
                .contains(path)
        }) {
            assert_eq!(server.get(&format!("{path}{id}")).await.status, 200, "{place} {id}");
        }
    }
    assert_eq!(
        server.get("/auto_subscriptions").await.json["data"].as_array().map(Vec::len),
        Some(1)
    );
    assert_eq!(server.get("/registries").await.json["page_info"]["total_count"], 1);
    assert_eq!(
        server.get(&format!("{}/record?key=k", things.path("/data_stores/{id}"))).await.data()["value"],
        1
    );
}

#[tokio::test]
async fn s5_every_route_needs_a_key_and_the_scope_that_the_document_says() {
    let server = Server::start().await;
    let things = Things::of(&server).await;
    let (_, read) = key(&server, json!({ "name": "r", "scopes": ["read"] })).await;
    let mut refused = 0;
    for (method, template, scope) in operations(&server) {
        let path = things.path(&template);
        assert_eq!(
            answer(server.raw(method.clone(), &format!("/v1{path}"))).await.refusal(),
            (401, "unauthorized"),
            "{method} {path}"
        );
        if let Some(scope) = scope.filter(|scope| scope != "read") {
            let got = server.call_as(&read, method.clone(), &path, Some(&json!({}))).await;
            assert_eq!(
                (got.refusal(), got.json["details"]["needed"].as_str()),
                ((403, "scope_missing"), Some(scope.as_str())),
                "{method} {path}"
            );
            refused += 1;
        }
    }
    assert!(refused > 25, "{refused}");
}

#[tokio::test]
async fn r2_31_the_document_and_its_page_need_no_key_and_are_the_ones_in_the_docs() {
    let server = Server::start().await;
    let kept: Value =
        serde_json::from_str(include_str!("../../../crates/api/openapi.json")).expect("JSON");
    let mut served = Value::clone(&server.document);
    assert_eq!(
        (&served["openapi"], &served["servers"][0]["url"]),
        (&json!("3.1.0"), &json!(server.url))
    );
    served["servers"] = kept["servers"].clone();
    assert!(
        served == kept,
        "crates/api/openapi.json is not what the server says: run `cargo xtask openapi`"
    );
    let examples = kept["components"]["schemas"]
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|(name, schema)| Some((name, schema["examples"].as_array()?)));
    let misfits: Vec<_> = examples
        .flat_map(|(name, examples)| examples.iter().map(move |example| (name, example)))
        .filter_map(|(name, example)| millrace_tests::openapi::misfit(&kept, name, example))
        .collect();
    assert!(misfits.is_empty(), "{misfits:?}");
    let bare = millrace_tests::openapi::without_example(&kept);
    assert!(bare.is_empty(), "give each an example in schemas/examples.json: {bare:?}");
    let page = server.raw(Method::GET, "/docs").send().await.expect("an answer");
    let policy = page.headers()["content-security-policy"].to_str().expect("text").to_owned();
    assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    let text = page.text().await.expect("a page");
    assert!(text.contains("/v1/webhooks") && !text.contains("<script"));
}

/// The names of an operation's parameters, wherever the document has them stand.
fn params(operation: &Value) -> Vec<String> {
    let in_query = operation["parameters"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|p| p["in"] == "query")
        .filter_map(|p| p["name"].as_str());
    let body =
        operation["requestBody"]["content"]["application/json"]["schema"]["properties"].as_object();
    in_query
        .chain(body.into_iter().flatten().map(|(name, _)| name.as_str()))
        .map(str::to_owned)
        .collect()
}

#[tokio::test]
async fn s1_every_parameter_of_a_change_is_read_from_query_and_body_alike() {
    let server = Server::start_with(&["--requests-per-minute", "0"]).await;
    let paths = server.document["paths"].as_object().expect("paths").clone();
    let mut asked = 0;
    for (template, methods) in &paths {
        for (method, operation) in methods.as_object().expect("methods") {
            // Beside a body that is no JSON, parameters stand in the query alone.
            let content = &operation["requestBody"]["content"];
            if method == "get" || content.is_object() && content["application/json"].is_null() {
                continue;
            }
            // Of things that are not there, so that both requests meet the same.
            let path = template
                .trim_start_matches("/v1")
                .split('/')
                .map(|part| if part.starts_with('{') { "not-there" } else { part })
                .collect::<Vec<_>>()
                .join("/");
            let method = Method::from_bytes(method.to_uppercase().as_bytes()).expect("a method");
            for param in params(operation) {
                // A text that is wrong, or unknown, wherever anything is read.
                for wrong in ["\u{1}", "dc_nothere"] {
                    let url =
                        reqwest::Url::parse_with_params("http://x/", [(param.as_str(), wrong)])
                            .expect("an address");
                    let in_query = server
                        .call_as(
                            &server.api_key,
                            method.clone(),
                            &format!("{path}?{}", url.query().unwrap_or("")),
                            None,
                        )
                        .await;
                    let in_body = server
                        .call_as(
                            &server.api_key,
                            method.clone(),
                            &path,
                            Some(&json!({ param.as_str(): wrong })),
                        )
                        .await;
                    let told = |a: &Answer| {
                        (a.status, a.json["code"].clone(), a.json["details"]["field"].clone())
                    };
                    // What was made by the first is in the way of the second, or beside it; what it
                    // removed is gone.
                    let both_read =
                        in_query.status == 200 && matches!(in_body.status, 200 | 404 | 409 | 422);
                    assert!(
                        told(&in_query) == told(&in_body) || both_read,
                        "{method} {path} {param}: {} / {}",
                        in_query.text,
                        in_body.text
                    );
                    asked += 1;
                }
            }
        }
    }
    assert!(asked > 200, "{asked}");
    // Seen to be read: another organization does not exist, by either name and in either place.
    for field in ["org_id", "workspace_id"] {
        assert_eq!(
            server.post(&format!("/data_stores?name=a&{field}=o_another"), &json!({})).await.status,
            404
        );
        assert_eq!(
            server.post("/data_stores", &json!({ "name": "a", field: "o_another" })).await.status,
            404
        );
        assert_eq!(
            server
                .post(&format!("/data_stores?name={field}"), &json!({ field: server.org_id }))
                .await
                .status,
            200
        );
    }
}

#[tokio::test]
async fn s2_orgs_and_workspaces_are_the_same() {
    let server = Server::shared().await;
    let paths: Vec<String> =
        server.document["paths"].as_object().expect("paths").keys().cloned().collect();
    let below: Vec<&str> =
        paths.iter().filter_map(|path| path.strip_prefix("/v1/workspaces/{org}")).collect();
    assert!(below.len() >= 4, "{below:?}");
    for rest in below {
        assert!(paths.contains(&format!("/v1/orgs/{{org}}{rest}")), "/orgs/{{org}}{rest}");
        let (a, b) = (
            server.get(&format!("/workspaces/{}{rest}", server.org_id)).await,
            server.get(&format!("/orgs/{}{rest}", server.org_id)).await,
        );
        assert_eq!((a.status, &a.text), (200, &b.text));
        assert_eq!(server.get(&format!("/orgs/o_another{rest}")).await.status, 404);
    }
}
