//! Limits of keys with one scope: a key that may not read the history chooses no runs by it, and is
//! shown no choice of others; a key that only reads reaches what an address that it is shown
//! allows.

use millrace_tests::{Server, answer, id};
use reqwest::Method;
use serde_json::{Value, json};

use crate::scopes::{key, table};

/// Fails with a class and words that only its caller gives.
const FAILS: &str = "export default { run({ steps }) { const { say } = steps.trigger.event; throw Object.assign(new Error(say), { name: say }); } };";
const WAITS: &str =
    "export default { run() { return new Promise((done) => setTimeout(done, 600_000)); } };";
/// A word of the history.
const SECRET: &str = "topsecret77";

/// Names of parameters that choose runs, events or deliveries by what is stored of them.
const CHOOSE: [&str; 21] = [
    "class",
    "deployment_id",
    "dry_run",
    "error_class",
    "error_group",
    "filter",
    "from",
    "group",
    "ids",
    "kind",
    "level",
    "min_ms",
    "owner_id",
    "prefix",
    "q",
    "replay_of",
    "status",
    "text",
    "to",
    "trace_id",
    "trigger_id",
];

#[tokio::test]
async fn a_key_that_reads_no_history_chooses_no_runs_by_it() {
    let server = Server::start().await;
    let fails = server.workflow("fails", json!([]), &[("fails", FAILS)]).await;
    let runs = format!("/workflows/{}/run", id(&fails));
    let run = server.post(&runs, &json!({ "event": { "say": SECRET } })).await.data();
    let search = format!("/runs?q={SECRET}");
    server.until("the index has it", &search, |l| l["page_info"]["total_count"] == 1).await;
    let group = server.get("/error_groups").await.json["data"][0].clone();
    let (invoke, both) = (key(&server, "invoke").await, {
        let scopes = json!({ "name": "both", "scopes": ["invoke", "read"] });
        server.post("/api_keys", &scopes).await.data()["key"].as_str().expect("a key").to_owned()
    });
    let ask = async |key: &str, asked: &Value| {
        server.call_as(key, Method::POST, "/replays", Some(asked)).await
    };
    let workflow = &fails["id"];
    for asked in [
        json!({ "filter": { "q": "topsec*" } }),
        json!({ "filter": { "q": "topsex*" } }),
        json!({ "filter": { "error_class": SECRET } }),
        json!({ "filter": { "group": group["id"] } }),
        json!({ "filter": { "trace_id": run["context"]["trace_id"] } }),
        json!({ "filter": { "min_ms": 0 } }),
        json!({ "filter": { "ids": [run["id"]], "q": "topsec*" } }),
        json!({ "filter": { "ids": [run["id"]] } }),
        json!({ "filter": {} }),
        json!({ "workflow_id": workflow }),
        json!({ "workflow_id": workflow, "class": SECRET }),
        json!({ "workflow_id": workflow, "group": group["id"] }),
        json!({ "workflow_id": workflow, "group": "eg_000000" }),
        json!({ "workflow_id": workflow, "from": 1 }),
        json!({ "workflow_id": workflow, "to": 1 }),
        json!({ "workflow_id": "p_000000" }),
    ] {
        for dry_run in [true, false] {
            let mut asked = asked.clone();
            asked["dry_run"] = json!(dry_run);
            let refused = ask(&invoke, &asked).await;
            let needed = refused.json["details"]["needed"].as_str();
            assert_eq!(
                (refused.refusal(), needed),
                ((403, "scope_missing"), Some("read")),
                "{asked}: {}",
                refused.text
            );
        }
    }
    // Whoever reads as well chooses; whoever names the runs needs to read nothing.
    let chosen = json!({ "workflow_id": workflow, "class": SECRET, "dry_run": true });
    assert_eq!(ask(&both, &chosen).await.data(), json!({ "total": 1 }));
    let named = json!({ "workflow_id": workflow, "runs": [run["id"]] });
    assert_eq!(ask(&invoke, &named).await.status, 202);
}

#[tokio::test]
async fn a_replay_is_held_by_keys_that_are_not_shown_what_it_is_of() {
    let server = Server::start().await;
    let fails = server.workflow("fails", json!([]), &[("fails", FAILS)]).await;
    let runs = format!("/workflows/{}/run", id(&fails));
    // More than a replay has under way at once. Of what is live now none ends before the replay is
    // looked at.
    let mut named = Vec::new();
    for _ in 0..=100 {
        let run = server.post(&runs, &json!({ "event": { "say": SECRET } })).await.data();
        named.push(id(&run).to_owned());
    }
    let settings = json!({ "auto_deploy": true, "concurrency": 1 });
    let waits = json!({ "steps": [{ "namespace": "fails", "code": WAITS }], "settings": settings });
    server.put(&format!("/workflows/{}", id(&fails)), &waits).await.data();
    let asked = json!({ "runs": named, "workflow_id": fails["id"], "event": { "say": SECRET } });
    let invoke = key(&server, "invoke").await;
    let shown = server.call_as(&invoke, Method::POST, "/replays", Some(&asked)).await;
    assert_eq!(shown.status, 202, "{}", shown.text);
    let replay = id(&shown.json["data"]).to_owned();
    let shows = |text: &str| text.contains(SECRET) || named.iter().any(|run| text.contains(run));
    assert!(!shows(&shown.text), "{}", shown.text);
    assert_eq!(shown.json["data"]["total"], 101);
    let record = server.get(&format!("/replays/{replay}")).await;
    assert_eq!(record.json["data"]["selection"]["event"]["say"], SECRET);
    for change in ["pause", "resume", "cancel"] {
        let path = format!("/replays/{replay}/{change}");
        let shown = server.call_as(&invoke, Method::POST, &path, Some(&json!({}))).await;
        assert_eq!(shown.status, 200, "{change}: {}", shown.text);
        assert!(!shows(&shown.text), "{change}: {}", shown.text);
    }
}

/// A route that is new, or gets such a parameter, is looked at here first.
#[tokio::test]
async fn no_route_for_invoke_but_replays_chooses_by_what_is_stored() {
    let server = Server::shared().await;
    let mut choosing = Vec::new();
    for row in table().iter().filter(|row| row.scope == "invoke") {
        let method = row.method.as_str().to_lowercase();
        let operation = &server.document["paths"][&row.path][method];
        let mut names: Vec<&str> = Vec::new();
        for param in operation["parameters"].as_array().into_iter().flatten() {
            names.extend(param["name"].as_str());
        }
        for content in operation["requestBody"]["content"].as_object().into_iter().flatten() {
            let mut schema = &content.1["schema"];
            if let Some(reference) = schema["$ref"].as_str() {
                schema = server.document.pointer(&reference[1..]).expect("a schema");
            }
            names.extend(
                schema["properties"].as_object().into_iter().flatten().map(|p| p.0.as_str()),
            );
        }
        let chosen_by: Vec<&str> = CHOOSE.into_iter().filter(|name| names.contains(name)).collect();
        if !chosen_by.is_empty() {
            choosing.push((row.path.clone(), chosen_by));
        }
    }
    choosing.sort();
    let chosen_by = vec!["class", "dry_run", "filter", "from", "group", "to"];
    assert_eq!(choosing, [("/v1/replays".to_owned(), chosen_by)]);
}

#[tokio::test]
async fn an_address_that_read_is_shown_runs_the_workflow_unless_its_trigger_asks_for_more() {
    let server = Server::start().await;
    let (read, invoke) = (key(&server, "read").await, key(&server, "invoke").await);
    let step = json!([{ "namespace": "s", "code": "export default { run() {} };" }]);
    for (auth, statuses) in [
        (json!({ "type": "none" }), [200, 200, 200]),
        (json!({ "type": "api_key" }), [401, 401, 200]),
    ] {
        let trigger = json!([{ "type": "http", "props": { "auth": auth } }]);
        let made = server.post("/workflows", &json!({ "triggers": trigger, "steps": step })).await;
        let path = format!("/workflows/{}", id(&made.data()));
        let shown = server.call_as(&read, Method::GET, &path, None).await.data();
        let url = shown["triggers"][0]["endpoint_url"].as_str().expect("an address").to_owned();
        let path = url.strip_prefix(&server.url).expect("of this server");
        for (own, status) in ["", &read, &invoke].into_iter().zip(statuses) {
            let mut request = server.raw(Method::POST, path).json(&json!({}));
            if !own.is_empty() {
                request = request.bearer_auth(own);
            }
            assert_eq!(answer(request).await.status, status, "{auth}");
        }
    }
}

#[tokio::test]
async fn a_key_of_a_program_changes_nothing_of_what_its_owner_is_shown() {
    let server = Server::start().await;
    let (path, body) = ("/users/me/preferences", json!({ "preferences": { "theme": "dark" } }));
    for scope in ["read", "invoke", "deploy"] {
        let own = key(&server, scope).await;
        let refused = server.call_as(&own, Method::PUT, path, Some(&body)).await;
        assert_eq!(refused.refusal(), (403, "scope_missing"), "{scope}: {}", refused.text);
    }
    server.put(path, &body).await.data();
}
