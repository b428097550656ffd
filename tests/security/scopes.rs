//! Table of `docs/reference/scopes.md`, held against the server: every route, with a key of each
//! scope, and secrets laid out where a route could reach them.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use millrace_tests::browser::{Browser, PASSWORD, token};
use millrace_tests::peer::{Peer, Says};
use millrace_tests::{Answer, Server, answer, id};
use reqwest::Method;
use serde_json::{Value, json};

/// Each lies in one place of an organization, and is looked for in every answer.
const CREDENTIAL: &str = "canary-credential";
const CODE: &str = "canary-code";
const STORED: &str = "canary-stored";
const NAMED: &str = "canary-named";
const HISTORY: &str = "canary-history";
/// How code writes it, which does not hold it.
const WRITES: &str = "['canary', 'history'].join('-')";

/// A row of the table.
pub(crate) struct Row {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) scope: String,
    pub(crate) reaches: BTreeMap<&'static str, String>,
}

impl Row {
    fn shows(&self, what: &str) -> bool {
        self.reaches[what].contains("shows")
    }

    pub(crate) fn is_stream(&self) -> bool {
        ["/sse", "/emits", "/observations", "/stream"].iter().any(|end| self.path.ends_with(end))
    }
}

pub(crate) fn table() -> Vec<Row> {
    let page = include_str!("../../docs/reference/scopes.md");
    let rows = page.lines().filter_map(|line| {
        line.strip_prefix("| `")?
            .split_once(" /")
            .map(|(method, rest)| (method, format!("/{rest}")))
    });
    let read = rows.filter_map(|(method, rest)| {
        let (path, cells) = rest.split_once("` |")?;
        let cells: Vec<&str> = cells.split('|').map(str::trim).collect();
        let [scope, credentials, code, stores, history, ""] = cells[..] else {
            panic!("the row of {method} {path} has other columns: {cells:?}")
        };
        let reaches = [
            ("credentials", credentials),
            ("code", code),
            ("stores", stores),
            ("history", history),
        ];
        let reaches = reaches.into_iter().map(|(what, how)| (what, how.to_owned())).collect();
        Some(Row {
            method: Method::from_bytes(method.as_bytes()).expect("a method"),
            path: path.to_owned(),
            scope: scope.to_owned(),
            reaches,
        })
    });
    read.collect()
}

/// A key with this scope alone.
pub(crate) async fn key(server: &Server, scope: &str) -> String {
    let made = server
        .post("/api_keys", &json!({ "name": scope, "scopes": [scope], "rate_per_minute": 100_000 }))
        .await
        .data();
    made["key"].as_str().expect("the key").to_owned()
}

/// A connection of an account that nobody has ended, of an app that is registered for it.
async fn begun_connection(server: &Server) -> Value {
    let oauth = json!({ "authorize_url": "http://127.0.0.1:9/a", "token_url": "http://127.0.0.1:9/t", "client_id": "c", "client_secret": CREDENTIAL });
    server
        .post("/apps", &json!({ "name_slug": "signed-in", "auth_type": "oauth", "oauth": oauth }))
        .await
        .data();
    server.post("/accounts/connect", &json!({ "app": "signed-in" })).await.data()
}

/// A run that waits to be resumed.
async fn paused_run(server: &Server, workflow: &Value, mut event: Value) -> Value {
    event["wait"] = json!(false);
    let run = server.post(&format!("/workflows/{}/run", id(workflow)), &event).await.data();
    server
        .until("the run is paused", &format!("/runs/{}", id(&run)), |run| {
            run["data"]["status"] == "paused"
        })
        .await;
    run
}

/// An organization with a secret in every place.
pub(crate) struct Laid {
    ids: Vec<(&'static str, String)>,
    account: Value,
    store: Value,
    endpoint: Value,
}

impl Laid {
    pub(crate) async fn of(server: &Server) -> Self {
        Self::telling(server, "").await
    }

    /// `tells`: a statement that all of its code begins with, wherever it is run.
    #[expect(clippy::too_many_lines, reason = "one of each thing")]
    async fn telling(server: &Server, tells: &str) -> Self {
        let image = "data:image/gif;base64,R0lGODlhAQABAAAAACw=";
        server.post("/apps", &json!({ "name_slug": "vault", "img_src": image, "custom_fields": [{ "name": "key" }] })).await.data();
        let account = server
            .post("/accounts", &json!({ "app": "vault", "credentials": { "key": CREDENTIAL } }))
            .await
            .data();
        let store = server.post("/data_stores", &json!({ "name": "vaulted" })).await.data();
        server
            .put(
                &format!("/data_stores/{}/record", id(&store)),
                &json!({ "key": NAMED, "value": STORED }),
            )
            .await
            .data();
        let file = server
            .raw(Method::PUT, "/v1/file_stores/vaulted-files/files")
            .query(&[("path", NAMED)]);
        assert_eq!(answer(file.bearer_auth(&server.api_key).body(STORED)).await.status, 200);

        let props = format!(
            "props: {{ vault: {{ type: 'app', app: 'vault' }}, pin: {{ type: 'string', secret: true, optional: true }}, store: {{ type: 'data_store', optional: true }},
               pick: {{ type: 'string', optional: true, async options() {{ {tells} return ['a']; }} }} }}, async additionalProps() {{ {tells} return {{}}; }}"
        );
        let action = format!(
            "/* {CODE} */ export default {{ name: 'Acts', key: 'vault-act', version: '1', type: 'action', {props}, async run() {{ {tells} return 'done'; }} }};"
        );
        server
            .post("/components", &json!({ "component_code": action, "publish": true }))
            .await
            .data();
        let with = json!({ "vault": { "authProvisionId": account["id"] }, "pin": format!("{CREDENTIAL}-pin"), "store": store["id"] });
        let code = format!(
            "/* {CODE} */ export default {{ name: 'Emits', key: 'vault-emit', version: '1', {props},
               hooks: {{ async activate() {{ {tells} }}, async deactivate() {{ {tells} }} }}, async run(event) {{ {tells}
               console.log({WRITES}); this.$emit({{ says: {WRITES} }}); if (event.fails) throw new Error({WRITES}); return {WRITES}; }} }};"
        );
        let source = server.source(&code, with).await;
        let trigger = format!(
            "/* {CODE} */ export default {{ name: 'Triggers', key: 'vault-trigger', version: '1', {props}, async run() {{ {tells} }} }};"
        );
        server
            .post("/components", &json!({ "component_code": trigger, "publish": true }))
            .await
            .data();
        let step = format!(
            "/* {CODE} */ export default {{ async run({{ steps, $ }}) {{ {tells} console.log({WRITES}); $.send.emit({{ raw_event: {{ says: {WRITES} }} }});
               if (steps.trigger.event.fails) throw new Error({WRITES}); if (steps.trigger.event.waits) $.flow.suspend(); return {WRITES}; }} }};"
        );
        let workflow = server
            .workflow(
                "vault",
                json!([{ "type": "http" }, { "type": "source", "id": source["id"] }]),
                &[("says", &step)],
            )
            .await;
        let webhook =
            server.post("/webhooks", &json!({ "url": "http://127.0.0.1:9/hook" })).await.data();
        for emitter in [&source, &workflow] {
            server
                .post(
                    "/subscriptions",
                    &json!({ "emitter_id": emitter["id"], "listener_id": webhook["id"] }),
                )
                .await
                .data();
        }
        let auto = server
            .post(
                "/auto_subscriptions",
                &json!({ "listener_id": webhook["id"], "event_name": "$errors" }),
            )
            .await
            .data();
        let domain =
            json!({ "domain": "vault.example.test", "endpoint_id": workflow["triggers"][0]["id"] });
        server.post("/domains", &domain).await.data();

        let event = |field: &str| json!({ "event": { "says": HISTORY, field: true } });
        let run =
            server.post(&format!("/workflows/{}/run", id(&workflow)), &event("fails")).await.data();
        let (waiting, resumable) = (
            paused_run(server, &workflow, event("waits")).await,
            paused_run(server, &workflow, event("waits")).await,
        );
        server.run_now(&source, json!({ "says": HISTORY })).await;
        server.run_now(&source, json!({ "says": HISTORY, "fails": true })).await;
        let delivery = server
            .until("a delivery", &format!("/webhooks/{}/deliveries", id(&webhook)), |l| {
                l["page_info"]["count"] != 0
            })
            .await;
        let mails = server.until("a mail", "/mail", |mail| mail["page_info"]["count"] != 0).await;
        let replay =
            server.post("/replays", &json!({ "source_id": source["id"], "runs": [] })).await;
        let replay = match replay.status {
            202 => replay,
            _ => {
                server
                    .post(
                        "/replays",
                        &json!({ "workflow_id": workflow["id"], "runs": [run["id"]] }),
                    )
                    .await
            }
        };
        assert_eq!(replay.status, 202, "{}", replay.text);
        let group = server.get("/error_groups").await.json["data"][0].clone();
        let client = server
            .post("/oauth/clients", &json!({ "name": "a client", "scopes": ["full"] }))
            .await
            .data();
        let emitted = server
            .post(
                &format!("/sources/{}/events", id(&source)),
                &json!({ "event": { "says": HISTORY } }),
            )
            .await
            .data();
        let version =
            server.get(&format!("/sources/{}/deployments", id(&source))).await.json["data"][0]
                .clone();
        let another = server
            .post("/api_keys", &json!({ "name": "another", "scopes": ["read"] }))
            .await
            .data();
        let begun = begun_connection(server).await;
        let ids = vec![
            ("/runs/{id}/cancel", format!("/runs/{}/cancel", id(&waiting))),
            ("/runs/{id}/resume", format!("/runs/{}/resume", id(&resumable))),
            ("/accounts/connect/{id}", id(&begun).to_owned()),
            ("/replays/{id}", id(&replay.json["data"]).to_owned()),
            ("{domain}", "vault.example.test".into()),
            ("/oauth/clients/{id}", id(&client).to_owned()),
            ("{org}", server.org_id.clone()),
            ("{project}", workflow["project_id"].as_str().expect("a project").to_owned()),
            ("{delivery}", id(&delivery["data"][0]).to_owned()),
            ("/error_groups/{id}", id(&group).to_owned()),
            ("/mail/{id}", id(&mails["data"][0]).to_owned()),
            (
                "/sources/{id}/deployments/{deployment}",
                format!("{}/deployments/{}", id(&source), id(&version)),
            ),
            ("{deployment}", workflow["deployment_id"].as_str().expect("a deployment").to_owned()),
            ("{source_deployment}", id(&version).to_owned()),
            ("{event}", emitted["event_id"].as_str().expect("an event").to_owned()),
            ("{emitter}", id(&source).to_owned()),
            ("/file_stores/{name}", "vaulted-files".into()),
            ("/registries/{name}", crate::support::registry(server).await),
            ("/data_stores/{id}", id(&store).to_owned()),
            ("/components/registry/{id}", "vault-act".into()),
            ("/actions/{id}", "vault-act".into()),
            ("/triggers/{id}", "vault-trigger".into()),
            ("/components/{id}", "vault-act".into()),
            ("/apps/{id}", "vault".into()),
            ("/accounts/{id}", id(&account).to_owned()),
            ("/deployed-triggers/{id}", id(&source).to_owned()),
            ("/sse/dc/{id}", id(&source).to_owned()),
            ("/pipelines/{id}", id(&workflow).to_owned()),
            ("/sources/{id}", id(&source).to_owned()),
            ("/workflows/{id}", id(&workflow).to_owned()),
            ("/webhooks/{id}", id(&webhook).to_owned()),
            ("/auto_subscriptions/{id}", id(&auto).to_owned()),
            ("/runs/{id}", id(&run).to_owned()),
            ("/sessions/{id}", "ses_none".into()),
            ("/members/{id}", "u_none".into()),
            ("/invitations/{id}", "lnk_none".into()),
            ("/api_keys/{id}", id(&another).to_owned()),
        ];
        Self { ids, account, store, endpoint: workflow["triggers"][0]["id"].clone() }
    }

    /// The path of a row, of things that are there.
    pub(crate) fn path(&self, template: &str) -> String {
        if let Some((_, path)) = self.ids[..2].iter().find(|(row, _)| template.ends_with(row)) {
            return format!("/v1{path}");
        }
        let mut path = template.to_owned();
        for (place, id) in &self.ids[2..] {
            let end = place.find('{').expect("a parameter");
            path = path.replace(place, &format!("{}{id}", &place[..end]));
        }
        assert!(!path.contains('{'), "nothing stands for a parameter of {template}: {path}");
        path
    }
}

async fn ask(server: &Server, key: &str, row: &Row, path: &str, body: Option<&Value>) -> Answer {
    match path.strip_prefix("/v1") {
        Some(below) => server.call_as(key, row.method.clone(), below, body).await,
        None => answer(server.raw(row.method.clone(), path).bearer_auth(key)).await,
    }
}

#[tokio::test]
async fn every_route_has_a_row_with_the_scope_that_it_asks_for_and_refuses_keys_with_less() {
    let server = Server::start().await;
    let laid = Laid::of(&server).await;
    let mut documented: Vec<(String, String)> = Vec::new();
    for (path, operations) in server.document["paths"].as_object().expect("paths") {
        for (method, operation) in operations.as_object().expect("operations") {
            let scope = match operation["x-scope"].as_str() {
                Some(scope) => scope,
                None if operation["security"] == json!([]) => "none",
                None => "any",
            };
            documented.push((format!("{} {path}", method.to_uppercase()), scope.to_owned()));
        }
    }
    let rows = table();
    let mut told: Vec<(String, String)> = Vec::new();
    for row in rows.iter().filter(|row| row.path.starts_with("/v1/")) {
        told.push((format!("{} {}", row.method, row.path), row.scope.clone()));
    }
    documented.sort();
    told.sort();
    for route in &documented {
        assert!(
            told.contains(route),
            "{} needs `{}` and has no such row in docs/reference/scopes.md",
            route.0,
            route.1
        );
    }
    assert_eq!(told, documented, "docs/reference/scopes.md has rows of routes that are not there");

    let mut refused = 0;
    for scope in ["read", "invoke", "deploy"] {
        let own = key(&server, scope).await;
        for row in &rows {
            let may = match row.scope.as_str() {
                "none" | "any" => true,
                needed => needed == scope || (scope == "deploy" && needed != "full"),
            };
            if may {
                continue;
            }
            let body = (row.method != Method::GET).then(|| json!({}));
            let got = ask(&server, &own, row, &laid.path(&row.path), body.as_ref()).await;
            assert_eq!(
                (got.refusal(), got.json["details"]["needed"].as_str()),
                ((403, "scope_missing"), Some(row.scope.as_str())),
                "{scope}: {} {}",
                row.method,
                row.path
            );
            refused += 1;
        }
    }
    assert!(refused > 150, "{refused}");
}

#[tokio::test]
async fn a_role_may_do_what_its_scope_may_and_nothing_else_on_any_route() {
    let server = Server::start().await;
    let laid = Laid::of(&server).await;
    Browser::first_owner(&server, "owner@x.test").await;
    let mut refused = 0;
    for (role, scope) in [("viewer", "read"), ("member", "deploy")] {
        let link = server
            .post("/invitations", &json!({ "email": format!("{role}@x.test"), "role": role }))
            .await
            .data();
        let mut browser = Browser::default();
        assert_eq!(
            browser.follow(&server, &link, &json!({ "password": PASSWORD })).await.data()["scopes"],
            json!([scope])
        );
        for row in table().iter().filter(|row| row.path.starts_with("/v1/")) {
            let may = matches!(row.scope.as_str(), "none" | "any")
                || row.scope == scope
                || (scope == "deploy" && row.scope != "full");
            if may {
                continue;
            }
            let body = (row.method != Method::GET).then(|| json!({}));
            let path = laid.path(&row.path);
            let got = browser
                .call(&server, row.method.clone(), path.trim_start_matches("/v1"), body.as_ref())
                .await;
            assert_eq!(
                got.refusal(),
                (403, "scope_missing"),
                "{role}: {} {}",
                row.method,
                row.path
            );
            refused += 1;
        }
        // Without the cookie, none of them.
        for row in table()
            .iter()
            .filter(|row| row.path.starts_with("/v1/") && row.scope != "none" && !row.is_stream())
        {
            let path = laid.path(&row.path);
            let got = Browser::default()
                .call(&server, row.method.clone(), path.trim_start_matches("/v1"), None)
                .await;
            assert_eq!(got.refusal(), (401, "unauthorized"), "{} {}", row.method, row.path);
        }
    }
    assert!(refused > 100, "{refused}");
}

#[tokio::test]
async fn what_a_route_shows_is_what_its_row_says() {
    let server = Server::start().await;
    let laid = Laid::of(&server).await;
    let (read, mut looked_at) = (key(&server, "read").await, 0);
    // A key has no sessions.
    for row in table()
        .iter()
        .filter(|row| row.method == Method::GET && !row.is_stream() && row.path != "/v1/sessions")
    {
        let mut path = laid.path(&row.path);
        path.push_str(match row.path.as_str() {
            "/v1/data_stores/{id}/record" => "?key=canary-named",
            "/v1/file_stores/{name}/files/content" => "?path=canary-named",
            "/v1/components/search" => "?query=acts",
            "/v1/schedules/next" => "?interval_seconds=60",
            "/v1/data_stores/{id}/keys" => "?values=1",
            "/v1/search" => "?q=canary-history",
            _ => "",
        });
        let own = if row.scope == "full" { &server.api_key } else { &read };
        let got = ask(&server, own, row, &path, None).await;
        assert_eq!(got.status, 200, "{path}: {}", got.text);
        assert!(!got.text.contains(CREDENTIAL), "{path} shows credentials: {}", got.text);
        for (what, canary) in [("code", CODE), ("history", HISTORY)] {
            assert_eq!(
                got.text.contains(canary),
                row.shows(what),
                "{path}, {what}: the row says `{}`: {}",
                row.reaches[what],
                got.text
            );
        }
        let stored = [STORED, NAMED].map(|canary| got.text.contains(canary));
        let says = match row.reaches["stores"].as_str() {
            "shows" => [true, stored[1]],
            "shows names" => [false, stored[1]],
            _ => [false, false],
        };
        assert_eq!(stored, says, "{path}, stores: {}", got.text);
        if row.reaches["credentials"] == "shows to `full`" {
            let asked = format!("{path}?include_credentials=1");
            assert_eq!(
                ask(&server, &read, row, &asked, None).await.refusal(),
                (403, "scope_missing"),
                "{path}"
            );
            assert!(
                ask(&server, &server.api_key, row, &asked, None).await.text.contains(CREDENTIAL),
                "{path}"
            );
        }
        looked_at += 1;
    }
    assert!(looked_at > 60, "{looked_at}");
}

#[tokio::test]
async fn a_key_with_invoke_alone_learns_nothing_but_what_it_runs_itself() {
    let server = Server::start().await;
    let laid = Laid::of(&server).await;
    let (invoke, mut asked) = (key(&server, "invoke").await, 0);
    for row in table().iter().filter(|row| row.scope == "invoke") {
        let body = match row.path.as_str() {
            "/v1/apps/{id}/events" => json!({ "event_name": "any", "event": 1 }),
            "/v1/sources/{id}/events" => json!({ "event": 1 }),
            "/v1/connect/{project}/actions/run" => {
                json!({ "id": "vault-act", "configured_props": { "vault": { "authProvisionId": laid.account["id"] }, "store": laid.store["id"] } })
            }
            "/v1/replays" => {
                json!({ "runs": [laid.ids.iter().find(|(place, _)| *place == "/runs/{id}").expect("a run").1] })
            }
            _ => json!({}),
        };
        let path = laid.path(&row.path);
        let got = ask(&server, &invoke, row, &path, Some(&body)).await;
        assert!(matches!(got.status, 200 | 202 | 409), "{path}: {} {}", got.status, got.text);
        for canary in [CREDENTIAL, CODE, STORED, NAMED] {
            assert!(!got.text.contains(canary), "{path} shows {canary}: {}", got.text);
        }
        if !row.reaches["history"].contains("shows its own run") {
            assert!(!got.text.contains(HISTORY), "{path} shows what is kept of runs: {}", got.text);
        }
        asked += 1;
    }
    assert!(asked >= 12, "{asked}");
}

/// What each cell may say, by column.
const MARKS: [(&str, &[&str]); 4] = [
    ("credentials", &["–", "shows once", "shows to `full`", "sets", "runs with"]),
    (
        "code",
        &[
            "–",
            "shows",
            "sets",
            "deletes",
            "runs any",
            "runs what is deployed",
            "runs what is published",
            "of `deploy` any",
        ],
    ),
    ("stores", &["–", "shows", "shows names", "sets", "runs with"]),
    (
        "history",
        &[
            "–",
            "shows",
            "shows to `read`",
            "shows its own run",
            "adds",
            "sets",
            "deletes",
            "sends on",
            "sends again",
        ],
    ),
];

#[test]
fn every_mark_is_one_that_the_page_explains() {
    let rows = table();
    assert!(rows.len() > 180, "{}", rows.len());
    for row in &rows {
        for (what, known) in MARKS {
            for mark in row.reaches[what].split([',', ';']).map(str::trim) {
                assert!(
                    known.contains(&mark),
                    "{} {}, {what}: `{mark}` is none of {known:?}",
                    row.method,
                    row.path
                );
            }
        }
        // What runs with stores runs code, and what runs code may be given credentials; code that
        // is only looked at is given neither.
        let (runs, with) = (row.reaches["code"].contains("runs"), |what: &str| {
            row.reaches[what].contains("runs with")
        });
        assert_eq!(with("credentials"), with("stores"), "{} {}", row.method, row.path);
        assert!(runs || !with("stores"), "{} {} runs nothing with stores", row.method, row.path);
        // A scope that only looks changes and runs nothing.
        assert!(
            row.scope != "read" || (row.method == Method::GET && !runs),
            "{} {} is for `read`",
            row.method,
            row.path
        );
        assert!(
            row.method != Method::GET
                || row.reaches.values().all(|cell| !["sets", "adds", "deletes", "runs"]
                    .iter()
                    .any(|verb| cell.contains(verb)))
        );
    }
}

/// What a request asks for that is taken, of a route that changes something.
pub(crate) fn taken(laid: &Laid, row: &Row, tells: &str) -> (String, Value) {
    let code = |key: &str, kind: &str| {
        let kind = if kind.is_empty() { String::new() } else { format!("type: '{kind}', ") };
        format!(
            "/* {CODE} */ {tells} export default {{ name: 'Own', key: '{key}', version: '1', {kind}props: {{ pick: {{ type: 'string', optional: true, options() {{ return ['a']; }} }} }},
               additionalProps() {{ return {{}}; }}, run() {{ return 1; }} }};"
        )
    };
    let step = json!([{ "namespace": "own", "code": code("own-step", "") }]);
    let with =
        json!({ "vault": { "authProvisionId": laid.account["id"] }, "store": laid.store["id"] });
    let of =
        |place: &str| laid.ids.iter().find(|(named, _)| *named == place).expect("laid").1.clone();
    let path = laid.path(&row.path);
    let (query, body) = match (row.method.as_str(), row.path.as_str()) {
        ("POST", "/v1/workspaces") => ("", json!({ "name": "another", "email": "another@x.test" })),
        ("PUT", "/v1/workspaces/{org}" | "/v1/orgs/{org}") => ("", json!({ "name": "named" })),
        ("POST", "/v1/setup_links") => ("", json!({})),
        ("POST", "/v1/invitations") => ("", json!({ "email": "member@x.test", "role": "viewer" })),
        ("PUT", "/v1/members/{id}") => ("", json!({ "role": "viewer" })),
        ("POST", "/v1/api_keys") => ("", json!({ "name": "made", "scopes": ["read"] })),
        ("PUT", "/v1/api_keys/{id}") => ("", json!({ "name": "renamed" })),
        ("POST", "/v1/apps") => ("", json!({ "name_slug": "another" })),
        ("PUT", "/v1/apps/{id}") => ("", json!({ "description": "described" })),
        ("POST", "/v1/accounts") => {
            ("", json!({ "app": "vault", "credentials": { "key": CREDENTIAL } }))
        }
        ("POST", "/v1/accounts/connect") => ("", json!({ "app": "signed-in" })),
        ("PUT", "/v1/accounts/{id}") => ("", json!({ "credentials": { "key": CREDENTIAL } })),
        ("POST", "/v1/components/configure") => {
            ("", json!({ "component_code": code("own-form", "action"), "prop_name": "pick" }))
        }
        ("POST", "/v1/components/props") => {
            ("", json!({ "component_code": code("own-form", "action") }))
        }
        ("POST", "/v1/components") => {
            ("", json!({ "component_code": code("own-saved", "action") }))
        }
        ("POST", "/v1/sources") => ("", json!({ "component_code": code("own-source", "") })),
        ("PUT", "/v1/sources/{id}") => (
            "",
            json!({ "component_code": code("own-again", "").replace("props:", &format!("hooks: {{ async deactivate() {{ {tells} }} }}, props:")) }),
        ),
        ("POST", "/v1/sources/{id}/events") => ("", json!({ "event": 1 })),
        ("POST", "/v1/sources/{id}/rollback") => {
            ("", json!({ "deployment_id": of("{source_deployment}") }))
        }
        ("POST", "/v1/subscriptions") => ("?", json!({})),
        ("POST", "/v1/auto_subscriptions") => ("?event_name=$logs", json!({})),
        ("POST", "/v1/webhooks") => ("", json!({ "url": "http://127.0.0.1:9/other" })),
        ("POST", "/v1/workflows/test") => ("", json!({ "steps": step })),
        ("POST", "/v1/workflows") => {
            ("", json!({ "steps": step, "triggers": [], "settings": { "name": "made" } }))
        }
        ("PUT", "/v1/workflows/{id}") => ("", json!({ "steps": step })),
        ("POST", "/v1/workflows/{id}/rollback") => {
            ("", json!({ "deployment_id": of("{deployment}") }))
        }
        ("POST", "/v1/domains") => {
            ("", json!({ "domain": "other.example.test", "endpoint_id": laid.endpoint }))
        }
        ("POST", "/v1/runs/cancel") => ("", json!({ "filter": { "status": "queued" } })),
        ("POST", "/v1/data_stores") => ("", json!({ "name": "made" })),
        ("PUT", "/v1/data_stores/{id}") => ("", json!({ "name": "renamed" })),
        ("PUT", "/v1/data_stores/{id}/record") => ("", json!({ "key": NAMED, "value": STORED })),
        ("DELETE", "/v1/data_stores/{id}/record") => ("?key=canary-named", Value::Null),
        ("PUT" | "DELETE", "/v1/file_stores/{name}/files") => ("?path=canary-named", Value::Null),
        ("POST", "/v1/oauth/clients") => ("", json!({ "name": "made", "scopes": ["read"] })),
        ("PUT", "/v1/workflows/{id}/retention" | "/v1/sources/{id}/retention") => {
            ("", json!({ "keep_count": 1000 }))
        }
        ("POST", "/v1/connect/{project}/triggers/deploy") => (
            "",
            json!({ "id": "vault-trigger", "webhook_url": "http://127.0.0.1:9/third", "configured_props": with }),
        ),
        ("PUT", "/v1/connect/{project}/deployed-triggers/{id}") => {
            ("", json!({ "configured_props": { "pick": "a" }, "name": "renamed" }))
        }
        ("PUT", "/v1/connect/{project}/deployed-triggers/{id}/pipelines") => {
            ("", json!({ "workflow_ids": [of("/workflows/{id}")] }))
        }
        ("PUT", "/v1/connect/{project}/deployed-triggers/{id}/webhooks") => {
            ("", json!({ "webhook_urls": ["http://127.0.0.1:9/fourth"] }))
        }
        ("POST", path) if path.ends_with("/configure") => (
            "",
            json!({ "id": if path.contains("triggers") { "vault-trigger" } else { "vault-act" }, "prop_name": "pick", "configured_props": with }),
        ),
        ("POST", path) if path.ends_with("/props") => (
            "",
            json!({ "id": if path.contains("triggers") { "vault-trigger" } else { "vault-act" }, "configured_props": with }),
        ),
        ("DELETE", _) => ("", Value::Null),
        _ => ("", json!({})),
    };
    let query = match row.path.as_str() {
        "/v1/subscriptions" => {
            format!("?emitter_id={}&listener_id={}", of("/workflows/{id}"), of("/webhooks/{id}"))
        }
        "/v1/auto_subscriptions" => format!("{query}&listener_id={}", of("/webhooks/{id}")),
        _ => query.to_owned(),
    };
    (format!("{path}{query}"), body)
}

/// Where an answer holds a secret that was made for it.
fn made_secret(shown: &Value) -> Option<String> {
    const NAMED: [&str; 6] =
        ["key", "api_key", "secret", "client_secret", "signing_key", "webhook_signing_key"];
    match shown {
        Value::Array(all) => all.iter().find_map(made_secret),
        Value::Object(fields) => fields.iter().find_map(|(name, value)| match value.as_str() {
            Some(text) if NAMED.contains(&name.as_str()) && text.len() > 30 => {
                Some(text.to_owned())
            }
            Some(_) => (name == "url").then(|| token(shown)).filter(|token| token.len() >= 32),
            None => made_secret(value),
        }),
        _ => None,
    }
}

/// Waits until no run is under way.
async fn at_rest(server: &Server, key: &str) {
    for status in ["queued", "running"] {
        while server.call_as(key, Method::GET, &format!("/runs?status={status}"), None).await.json["page_info"]
            ["count"]
            != 0
        {}
    }
}

#[tokio::test]
async fn what_a_route_that_changes_something_shows_makes_and_runs_is_what_its_row_says() {
    /// Of people, whom a key is none of, and of trees of components, which are files.
    const ELSEWHERE: [&str; 5] =
        ["/v1/members/", "/v1/invitations/", "/v1/session", "/v1/links/", "/v1/registries"];
    let peer = Peer::start(|_| Says::Json("{}".into()));
    let tells = format!("await fetch('{}/ran');", peer.url);
    let server = Server::start().await;
    let laid = Laid::telling(&server, &tells).await;
    let (deploy, read, asks) =
        (key(&server, "deploy").await, key(&server, "read").await, key(&server, "read").await);
    let rows = table();
    let changes = rows.iter().filter(|row| {
        row.method != Method::GET && !ELSEWHERE.iter().any(|with| row.path.starts_with(with))
    });
    let (deletes, others): (Vec<&Row>, Vec<&Row>) = changes
        .filter(|row| matches!(row.scope.as_str(), "deploy" | "full"))
        .partition(|row| row.method == Method::DELETE);
    // An owner goes after what it has.
    let (owners, parts): (Vec<&Row>, Vec<&Row>) =
        deletes.into_iter().partition(|row| row.path.ends_with("/{id}"));
    let (mut secrets, mut problems, mut looked_at) = (Vec::new(), Vec::new(), 0);
    for row in others.into_iter().chain(parts).chain(owners) {
        let (mut path, body) = taken(&laid, row, &tells);
        // What goes is there.
        let goes = match (row.method.as_str(), row.path.as_str()) {
            ("DELETE", "/v1/data_stores/{id}") => {
                Some(server.post("/data_stores", &json!({ "name": "goes" })).await.data())
            }
            ("DELETE", "/v1/data_stores/{id}/record") => {
                server
                    .put(
                        path.trim_start_matches("/v1").split('?').next().expect("a path"),
                        &json!({ "key": NAMED, "value": 1 }),
                    )
                    .await
                    .data();
                None
            }
            ("DELETE", "/v1/accounts/{id}") => Some(
                server
                    .post(
                        "/accounts",
                        &json!({ "app": "vault", "credentials": { "key": CREDENTIAL } }),
                    )
                    .await
                    .data(),
            ),
            ("DELETE", "/v1/sources/{id}") => {
                let code = format!(
                    "export default {{ name: 'Goes', version: '1', hooks: {{ async deactivate() {{ {tells} }} }}, run() {{}} }};"
                );
                Some(server.source(&code, json!({})).await)
            }
            _ => None,
        };
        if let Some(goes) = goes {
            path = row.path.replace("{id}", id(&goes));
        }
        at_rest(&server, &asks).await;
        let (ran, own) =
            (peer.requests(), if row.scope == "full" { &server.api_key } else { &deploy });
        let got = ask(&server, own, row, &path, (!body.is_null()).then_some(&body)).await;
        let mut wrong = |what: &str, is_wrong: bool| {
            if is_wrong {
                problems.push(format!(
                    "{} {path} {what}: the row says {:?}: {} {}",
                    row.method, row.reaches, got.status, got.text
                ));
            }
        };
        wrong("is refused", !(200..300).contains(&got.status));
        wrong("shows credentials", got.text.contains(CREDENTIAL));
        // Its own code, where it came with the request.
        wrong("shows code or not", got.text.contains(CODE) != row.shows("code"));
        wrong("shows history", got.text.contains(HISTORY) && !row.shows("history"));
        wrong(
            "shows what is stored",
            [STORED, NAMED].iter().any(|canary| got.text.contains(canary))
                && !row.reaches["stores"].contains("sets"),
        );
        let made = made_secret(&got.json["data"]).or_else(|| made_secret(&got.json));
        wrong("shows a new secret or not", made.is_some() != row.shows("credentials"));
        secrets.extend(made);
        if row.reaches["code"].contains("runs") {
            let deadline =
                Instant::now() + Duration::from_secs(if got.status < 300 { 60 } else { 0 });
            while peer.requests() == ran && Instant::now() < deadline {
                at_rest(&server, &asks).await;
            }
            wrong("runs nothing", peer.requests() == ran);
        } else {
            at_rest(&server, &asks).await;
            wrong("runs code", peer.requests() != ran);
        }
        looked_at += 1;
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(looked_at > 50 && secrets.len() >= 6, "{looked_at}, {} secrets", secrets.len());

    // What is shown once is shown by nothing else.
    let whole = Laid::of(&server).await;
    for row in rows.iter().filter(|row| {
        row.method == Method::GET
            && !row.is_stream()
            && matches!(row.scope.as_str(), "read" | "full" | "any")
    }) {
        let own = if row.scope == "full" { &server.api_key } else { &read };
        let text = ask(&server, own, row, &whole.path(&row.path), None).await.text;
        assert!(
            !secrets.iter().any(|secret| text.contains(secret.as_str())),
            "{} shows a secret that was shown once: {text}",
            row.path
        );
    }
}

/// Runs an action by itself.
async fn run_action(server: &Server, key: &str, body: &Value) -> Answer {
    let project =
        server.get("/users/me").await.data()["orgs"][0]["project_id"].as_str().map(str::to_owned);
    let project = match project {
        Some(project) => project,
        None => server.workflow("w", json!([]), &[]).await["project_id"]
            .as_str()
            .expect("a project")
            .to_owned(),
    };
    server.call_as(key, Method::POST, &format!("/connect/{project}/actions/run"), Some(body)).await
}

fn artifacts(server: &Server) -> usize {
    std::fs::read_dir(server.data_dir().join("artifacts")).map_or(0, Iterator::count)
}

const TELLS: &str = "export default { name: 'Tells', version: '1', type: 'action', props: { acme: { type: 'app', app: 'acme_by_code' }, store: { type: 'data_store', optional: true } },
    async run() { return [this.acme.$auth, await this.store?.get('k')]; } };";

#[tokio::test]
async fn a_key_with_invoke_runs_what_is_published_and_no_other_code_and_leaves_nothing() {
    let server = Server::start().await;
    let (invoke, deploy) = (key(&server, "invoke").await, key(&server, "deploy").await);
    let (apps, files) =
        (server.get("/apps?q=acme_by_code").await.json["data"].clone(), artifacts(&server));
    let own = [
        json!({ "component_code": TELLS }),
        json!({ "component_url": format!("{}/tells.mjs", server.url) }),
        json!({ "url": "https://example.com/tells.mjs" }),
        // Code that was given wins over a component that is published.
        json!({ "component_code": TELLS, "component_url": "https://example.com/tells.mjs" }),
    ];
    for body in &own {
        let refused = run_action(&server, &invoke, body).await;
        // A field that nobody reads is refused before anybody looks at the scope.
        let unread = refused.refusal() == (422, "unknown_field")
            && body
                .get("component_code")
                .is_none_or(|_| body.as_object().is_some_and(|all| all.len() > 1));
        let needs_deploy = refused.refusal() == (403, "scope_missing")
            && refused.json["details"]["needed"] == "deploy";
        assert!(needs_deploy || unread, "{body}: {}", refused.text);
    }
    assert_eq!(
        (server.get("/apps?q=acme_by_code").await.json["data"].clone(), artifacts(&server)),
        (apps.clone(), files),
        "something is left"
    );

    // Saved, and not published: by its id, and by the hash of its code.
    let saved = server
        .post("/components", &json!({ "component_code": "export default { name: 'S', key: 'saved-act', version: '1', type: 'action', run() { return 1; } };" }))
        .await
        .data();
    for named in [id(&saved), saved["code_hash"].as_str().expect("a hash")] {
        let refused = run_action(&server, &invoke, &json!({ "id": named })).await;
        assert_eq!(
            (refused.refusal(), &refused.json["details"]["needed"]),
            ((403, "scope_missing"), &json!("deploy")),
            "{named}"
        );
        assert_eq!(
            run_action(&server, &deploy, &json!({ "id": named })).await.json["ret"],
            1,
            "{named}"
        );
    }
    assert_eq!(run_action(&server, &invoke, &json!({ "id": "saved-act" })).await.status, 404);
    let published = server
        .post("/components", &json!({ "component_code": saved["code"], "publish": true }))
        .await
        .data();
    for named in ["saved-act", "saved-act@1", id(&published)] {
        let ran = run_action(&server, &invoke, &json!({ "id": named })).await;
        assert_eq!(ran.json["ret"], 1, "{named}: {}", ran.text);
    }
    // Whoever may deploy runs any code so, and that registers no app.
    let ran = run_action(&server, &deploy, &json!({ "component_code": "export default { name: 'D', version: '1', type: 'action', props: { a: { type: 'app', app: 'acme_by_code' } }, run() { return 2; } };" })).await;
    assert_eq!(ran.json["ret"], 2, "{}", ran.text);
    assert_eq!(server.get("/apps?q=acme_by_code").await.json["data"], apps);
}

/// Gives what it got.
const ECHO: &str = "export default { name: 'Echo', key: 'echo', version: '1', type: 'action', props: {
    text: { type: 'string', optional: true }, any: { type: 'any', optional: true }, list: { type: 'string[]', optional: true }, object: { type: 'object', optional: true },
    labelled: { type: 'string', optional: true, withLabel: true }, http: { type: 'http_request', optional: true }, sql: { type: 'sql', optional: true },
    number: { type: 'integer', optional: true }, flag: { type: 'boolean', optional: true }, acme: { type: 'app', app: 'acme', optional: true },
    store: { type: 'data_store', optional: true }, dir: { type: 'dir', optional: true },
    picks: { type: 'string', optional: true, options() { return [JSON.stringify([this.text, this.any])]; } } },
    additionalProps() { return { more: { type: 'string', label: String(this.text), optional: true } }; },
    async run() { const { text, any, list, object, labelled, number, flag, more, store } = this; return { text, any, list, object, labelled, number, flag, more, sql: this.sql?.query, got: await store?.get('k') }; } };";

#[tokio::test]
async fn values_that_a_caller_gives_are_data_and_never_expressions() {
    let server = Server::start().await;
    server.post("/components", &json!({ "component_code": ECHO, "publish": true })).await.data();
    let store = server.post("/data_stores", &json!({ "name": "kept" })).await.data();
    server
        .put(
            &format!("/data_stores/{}/record", id(&store)),
            &json!({ "key": "k", "value": "stored" }),
        )
        .await
        .data();
    let code = "{{ (globalThis.evaluated = 1, process.pid) }}";
    for scope in ["invoke", "deploy", "full"] {
        let own = key(&server, scope).await;
        for (name, value) in [
            ("text", json!(code)),
            ("text", json!(format!("a {code} b"))),
            ("any", json!(code)),
            ("any", json!({ "deep": [{ "er": code }] })),
            ("list", json!([code, "b"])),
            ("object", json!({ "k": code })),
            ("more", json!(code)),
            ("text", json!("{{steps.trigger.event}}")),
            ("text", json!("{{")),
        ] {
            let ran = run_action(
                &server,
                &own,
                &json!({ "id": "echo", "configured_props": { name: value } }),
            )
            .await;
            assert_eq!(ran.json["ret"][name], value, "{scope}, {name}: {}", ran.text);
        }
        let labelled = json!({ "__lv": { "label": code, "value": code } });
        let ran = run_action(
            &server,
            &own,
            &json!({ "id": "echo", "configured_props": { "labelled": labelled, "sql": code } }),
        )
        .await;
        assert_eq!(
            (&ran.json["ret"]["labelled"], &ran.json["ret"]["sql"]),
            (&json!({ "label": code, "value": code }), &json!(code)),
            "{}",
            ran.text
        );
        // Where a text fits no value of the type, it is refused as any other is. A store that only
        // code could name is none.
        for (name, value) in [
            ("number", json!("{{1 + 1}}")),
            ("flag", json!("{{true}}")),
            ("acme", json!("{{steps.x}}")),
            ("acme", json!({ "authProvisionId": "{{steps.x}}" })),
            ("store", json!(format!("{{{{'{}'}}}}", id(&store)))),
            (
                "store",
                json!({ "__lv": { "label": "x", "value": format!("{{{{'{}'}}}}", id(&store)) } }),
            ),
            ("dir", json!("{{'kept'}}")),
            ("http", json!({ "method": "{{'GET'}}" })),
        ] {
            let refused = run_action(
                &server,
                &own,
                &json!({ "id": "echo", "configured_props": { name: value } }),
            )
            .await;
            assert_eq!(refused.status, 422, "{scope}, {name} {value}: {}", refused.text);
        }
        let ran = run_action(
            &server,
            &own,
            &json!({ "id": "echo", "configured_props": { "store": "kept" } }),
        )
        .await;
        assert_eq!(ran.json["ret"]["got"], "stored", "{}", ran.text);
    }
    // Nor are they in a form.
    let form = json!({ "id": "echo", "prop_name": "picks", "configured_props": { "text": code, "any": { "deep": code } } });
    let told = server.post("/components/configure", &form).await;
    assert_eq!(
        told.json["options"][0]["value"],
        json!([code, { "deep": code }]).to_string(),
        "{}",
        told.text
    );
    let told = server
        .post(
            "/components/props",
            &json!({ "id": "echo", "configured_props": form["configured_props"] }),
        )
        .await;
    let more = told.json["dynamic_props"]["configurable_props"]
        .as_array()
        .expect("props")
        .iter()
        .find(|prop| prop["name"] == "more")
        .cloned();
    assert_eq!(more.expect("a prop")["label"], code, "{}", told.text);
}

/// Evaluates what it is given, as some published actions do.
const EVALUATES: &str = "export default { name: 'Evaluates', key: 'evaluates', version: '1', type: 'action', props: {
    code: { type: 'string' }, acme: { type: 'app', app: 'acme', optional: true },
    picks: { type: 'string', optional: true, options() { return [String(new Function('self', this.code)(this))]; } } },
    run() { return new Function('self', this.code)(this); } };";

/// Watches all that comes after: what a later call of the same process shows of its account.
const WATCHES: &str =
    "globalThis.seen ??= []; const parse = JSON.parse; JSON.parse = (text, ...rest) => { globalThis.seen.push(text); return parse(text, ...rest); };
    Object.defineProperty(Object.prototype, 'spied', { configurable: true, get() { globalThis.seen.push(this.$auth?.key); return 'spied'; } });
    setInterval(() => {}, 1000); return 'watches';";

#[tokio::test]
async fn what_one_key_makes_of_an_action_s_process_never_meets_another_key_s_account() {
    let server = Server::start().await;
    server
        .post("/apps", &json!({ "name_slug": "acme", "custom_fields": [{ "name": "key" }] }))
        .await
        .data();
    let account = server
        .post("/accounts", &json!({ "app": "acme", "credentials": { "key": CREDENTIAL } }))
        .await
        .data();
    server
        .post("/components", &json!({ "component_code": EVALUATES, "publish": true }))
        .await
        .data();
    let client =
        server.post("/oauth/clients", &json!({ "name": "c", "scopes": ["invoke"] })).await.data();
    let form = json!({ "grant_type": "client_credentials", "client_id": client["id"], "client_secret": client["client_secret"] });
    let token =
        answer(server.raw(Method::POST, "/v1/oauth/token").json(&form)).await.json["access_token"]
            .as_str()
            .expect("a token")
            .to_owned();
    let watcher = key(&server, "invoke").await;
    let asks = |code: &str| json!({ "id": "evaluates", "configured_props": { "code": code } });
    let with_account = json!({ "id": "evaluates", "configured_props": { "code": "return [self.acme.$auth.key, ({}).spied ?? 'alone', process.pid].join()", "acme": { "authProvisionId": account["id"] } } });
    assert_eq!(run_action(&server, &watcher, &asks(WATCHES)).await.json["ret"], "watches");
    for other in
        [key(&server, "invoke").await, key(&server, "deploy").await, server.api_key.clone(), token]
    {
        let ran = run_action(&server, &other, &with_account).await.json["ret"].clone();
        assert!(
            ran.as_str().is_some_and(|said| said.starts_with(&format!("{CREDENTIAL},alone,"))),
            "{ran}"
        );
    }
    let seen = run_action(&server, &watcher, &asks("return JSON.stringify(globalThis.seen)")).await;
    assert!(!seen.text.contains(CREDENTIAL), "{}", seen.text);

    // The questions of forms likewise.
    let (first, second) = (key(&server, "deploy").await, key(&server, "deploy").await);
    let question = |body: &Value| {
        let mut body = body.clone();
        body["prop_name"] = json!("picks");
        body
    };
    for (own, body, said) in
        [(&first, asks(WATCHES), "watches"), (&second, with_account.clone(), ",alone,")]
    {
        let told = server
            .call_as(own, Method::POST, "/components/configure", Some(&question(&body)))
            .await;
        assert!(
            told.json["options"][0]["value"].as_str().is_some_and(|value| value.contains(said)),
            "{}",
            told.text
        );
    }
    let seen = server
        .call_as(
            &first,
            Method::POST,
            "/components/configure",
            Some(&question(&asks("return JSON.stringify(globalThis.seen)"))),
        )
        .await;
    assert!(!seen.text.contains(CREDENTIAL), "{}", seen.text);
}
