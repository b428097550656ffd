//! Operating a server: audit records, retention of history, exports, backups, counts and traces
//! (reference 2).

use std::path::Path;
use std::process::Command;

use millrace_tests::cluster::cluster;
use millrace_tests::receiver::{Does, Receiver};
use millrace_tests::{Client, Server, answer, binary, endpoint};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::r2_endpoints::registries::millrace;

const SOURCE: &str = "export default { name: 'orders', version: '1', dedupe: 'unique', props: { http: '$.interface.http', db: '$.service.db' },
  run(event) { const n = (this.db.get('n') || 0) + 1; this.db.set('n', n); console.log('got', event.body.id);
    this.$emit({ id: event.body.id, n }, { id: event.body.id, summary: 'order ' + event.body.id }); } };";
const STEP: &str = "export default defineComponent({ run({ steps }) { if (steps.trigger.event.body?.fail) throw new TypeError('asked to'); return 1; } });";

fn id(record: &Value) -> String {
    record["id"].as_str().expect("an id").to_owned()
}

/// A server on Postgres where there is one.
async fn on_postgres() -> Option<(Server, millrace_tests::cluster::Database)> {
    let database = cluster()?.database().await;
    Some((Server::start_with(&["--database-url", &database.url()]).await, database))
}

/// Sends orders to a source, and waits until each has run.
async fn order(server: &Client, source: &Value, ids: &[&str]) {
    for order in ids {
        assert_eq!(
            answer(server.raw(Method::POST, &endpoint(source)).json(&json!({ "id": order })))
                .await
                .status,
            200
        );
        let summary = format!("order {order}");
        let path = format!("/sources/{}/event_summaries", id(source));
        let has = |l: &Value| {
            l["data"].as_array().is_some_and(|events| {
                events.iter().any(|e| e["metadata"]["summary"] == summary.as_str())
            })
        };
        server.until("the order's event", &path, has).await;
    }
}

async fn summaries(server: &Client, source: &Value) -> Vec<String> {
    let listed = server.get(&format!("/sources/{}/event_summaries", id(source))).await.json;
    let text = |e: &Value| e["metadata"]["summary"].as_str().unwrap_or("").to_owned();
    listed["data"].as_array().expect("events").iter().map(text).collect()
}

async fn audit_trail(server: &Client) {
    let read = server.post("/api_keys", &json!({ "name": "r", "scopes": ["read"] })).await.data();
    server
        .post("/apps", &json!({ "name_slug": "acme", "custom_fields": [{ "name": "k" }] }))
        .await
        .data();
    let account = id(&server
        .post(
            "/accounts",
            &json!({ "app": "acme", "name": "one", "credentials": { "k": "s3cret-value" } }),
        )
        .await
        .data());
    server.get(&format!("/accounts/{account}")).await.data();
    server.get(&format!("/accounts/{account}?include_credentials=true")).await.data();
    server.put(&format!("/accounts/{account}?name=two"), &json!({})).await.data();
    // What was refused changed nothing, and leaves nothing.
    assert_eq!(
        server.put(&format!("/accounts/{account}"), &json!({ "name": 1 })).await.status,
        422
    );
    let key = read["key"].as_str().expect("a key");
    assert_eq!(
        server.call_as(key, Method::DELETE, &format!("/accounts/{account}"), None).await.status,
        403
    );
    server.delete(&format!("/accounts/{account}")).await.data();
    let listed = server.get("/audit").await;
    assert!(!listed.text.contains("s3cret-value") && !listed.text.contains(key), "{}", listed.text);
    let shown: Vec<_> = listed.json["data"]
        .as_array()
        .expect("records")
        .iter()
        .rev()
        .map(|r| json!([r["action"], r["target"], r["fields"]]))
        .collect();
    let expected = [
        json!(["POST /api_keys", read["id"], ["name", "scopes"]]),
        json!(["POST /apps", shown[1][1], ["custom_fields", "name_slug"]]),
        json!(["POST /accounts", account, ["app", "credentials", "name"]]),
        json!(["GET /accounts/{id}", account, ["include_credentials"]]),
        json!(["PUT /accounts/{id}", account, ["name"]]),
        json!(["DELETE /accounts/{id}", account, []]),
    ];
    let sorted: Vec<Value> = shown
        .iter()
        .map(|record| {
            let mut record = record.clone();
            if let Some(fields) = record[2].as_array_mut() {
                fields.sort_by_key(ToString::to_string);
            }
            record
        })
        .collect();
    assert_eq!(sorted, expected);
    let newest = &listed.json["data"][0];
    let me = server.get("/users/me").await.data();
    let own = server.get("/api_keys").await.json["data"]
        .as_array()
        .and_then(|keys| keys.iter().find(|k| k["name"] != "r").map(id))
        .expect("the first key");
    assert_eq!((&newest["user_id"], &newest["key_id"]), (&me["id"], &json!(own)));
    assert!(
        listed.json["data"]
            .as_array()
            .expect("records")
            .iter()
            .all(|record| record["done"] == true)
    );
    assert!(newest["request_id"].as_str().is_some_and(|id| id.starts_with("req_")));
    assert_eq!(
        server.call_as(key, Method::GET, "/audit", None).await.refusal(),
        (403, "scope_missing")
    );
}

#[tokio::test]
async fn who_changed_what_is_recorded() {
    let mut server = Server::start().await;
    audit_trail(&server).await;
    // It is durable once the change is answered.
    server.kill();
    server.launch().await;
    assert_eq!(server.get("/audit").await.json["page_info"]["total_count"], 6);
    let (status, listed, stderr) = millrace(&server, &["audit", "-n", "2"]);
    assert_eq!(
        (status, listed[0]["action"].as_str(), listed[1]["action"].as_str()),
        (Some(0), Some("PUT /accounts/{id}"), Some("DELETE /accounts/{id}")),
        "{stderr}"
    );
}

#[tokio::test]
async fn who_changed_what_is_recorded_on_postgres() {
    let Some((server, _database)) = on_postgres().await else { return };
    audit_trail(&server).await;
}

async fn token(server: &Client, form: &[(&str, &str)]) -> millrace_tests::Answer {
    answer(server.raw(Method::POST, "/v1/oauth/token").form(form)).await
}

async fn clients_and_tokens(server: &Server) {
    let made = server
        .post("/oauth/clients", &json!({ "name": "crm", "scopes": ["read", "invoke"] }))
        .await
        .data();
    let (client, secret) =
        (id(&made), made["client_secret"].as_str().expect("a secret").to_owned());
    assert!(!server.get("/oauth/clients").await.text.contains(&secret));
    // As a form, as JSON, and with the client in `Authorization: Basic`.
    let form = [
        ("grant_type", "client_credentials"),
        ("client_id", client.as_str()),
        ("client_secret", secret.as_str()),
    ];
    let first = token(server, &form).await;
    assert_eq!(
        (first.status, &first.json["token_type"], &first.json["expires_in"]),
        (200, &json!("Bearer"), &json!(3600)),
        "{}",
        first.text
    );
    let body = json!({ "grant_type": "client_credentials", "client_id": client, "client_secret": secret, "scope": "read" });
    let second = answer(server.raw(Method::POST, "/v1/oauth/token").json(&body)).await;
    let basic = server
        .raw(Method::POST, "/v1/oauth/token")
        .basic_auth(&client, Some(&secret))
        .form(&[("grant_type", "client_credentials")]);
    assert_eq!(answer(basic).await.status, 200);
    let text = |answer: &millrace_tests::Answer| {
        answer.json["access_token"].as_str().expect("a token").to_owned()
    };
    let (first, second) = (text(&first), text(&second));
    let status = async |token: &str, method: Method, path: &str| {
        server.call_as(token, method, path, None).await.status
    };
    assert_eq!(status(&first, Method::GET, "/users/me/sources").await, 200);
    assert_eq!(
        (
            status(&first, Method::POST, "/sources").await,
            status(&first, Method::GET, "/oauth/clients").await
        ),
        (403, 403)
    );
    assert_eq!(status(&first, Method::POST, "/runs/run_nothere/replay").await, 404);
    assert_eq!(
        (
            status(&second, Method::GET, "/users/me/sources").await,
            status(&second, Method::POST, "/runs/run_nothere/replay").await
        ),
        (200, 403)
    );
    // Refused with words, and nothing is given out.
    let wrong = |at: usize, value: &'static str| {
        let mut form = form;
        form[at].1 = value;
        form
    };
    assert_eq!(token(server, &wrong(0, "password")).await.refusal(), (422, "invalid_field"));
    assert_eq!(token(server, &wrong(1, "oc_nothere")).await.refusal(), (401, "unauthorized"));
    assert_eq!(token(server, &wrong(1, "\u{0}")).await.refusal(), (401, "unauthorized"));
    let refused = token(server, &wrong(2, "mrs_wrong")).await;
    assert_eq!(refused.refusal(), (401, "unauthorized"));
    assert!(
        refused.text.contains("no OAuth client with this") && !refused.text.contains("API key"),
        "{}",
        refused.text
    );
    assert_eq!(token(server, &form[..1]).await.refusal(), (422, "missing_field"));
    for scope in ["full", "read admin"] {
        assert_eq!(
            token(server, &[form[0], form[1], form[2], ("scope", scope)]).await.refusal(),
            (422, "invalid_field"),
            "{scope}"
        );
    }
    let revoke = async |token: &str| {
        answer(server.raw(Method::POST, "/v1/oauth/revoke").form(&[
            form[1],
            form[2],
            ("token", token),
        ]))
        .await
        .status
    };
    assert_eq!((revoke(&second).await, revoke("mrt_nothere").await), (200, 200));
    assert_eq!(
        (
            status(&second, Method::GET, "/users/me").await,
            status(&first, Method::GET, "/users/me").await
        ),
        (401, 200)
    );
    server.delete(&format!("/oauth/clients/{client}")).await.data();
    assert_eq!(status(&first, Method::GET, "/users/me").await, 401);
    assert_eq!(token(server, &form).await.status, 401);
    assert!(!server.log().contains(&secret) && !server.log().contains(&first));
}

#[tokio::test]
async fn s2_an_oauth_client_gets_tokens_for_its_id_and_secret() {
    clients_and_tokens(&Server::start().await).await;
}

#[tokio::test]
async fn s2_an_oauth_client_gets_tokens_on_postgres() {
    let Some((server, _database)) = on_postgres().await else { return };
    clients_and_tokens(&server).await;
}

#[tokio::test]
async fn tokens_that_are_asked_for_count_as_requests_of_the_client() {
    let server = Server::start_with(&["--requests-per-minute", "6"]).await;
    let made =
        server.post("/oauth/clients", &json!({ "name": "busy", "scopes": ["full"] })).await.data();
    let (client, secret) =
        (id(&made), made["client_secret"].as_str().expect("a secret").to_owned());
    let form = [
        ("grant_type", "client_credentials"),
        ("client_id", client.as_str()),
        ("client_secret", secret.as_str()),
    ];
    let answers = futures::future::join_all((0..8).map(|_| token(&server, &form))).await;
    assert_eq!(answers.iter().filter(|a| a.status == 429).count(), 2);
}

#[tokio::test]
async fn history_is_kept_by_number_for_one_source_or_all() {
    let mut server = Server::start().await;
    let (source, other) =
        (server.source(SOURCE, json!({})).await, server.source(SOURCE, json!({})).await);
    order(&server, &source, &["a", "b", "c", "d"]).await;
    order(&server, &other, &["a", "b", "c", "d"]).await;
    let path = format!("/sources/{}/retention", id(&source));
    let shown = server.get(&path).await.data();
    assert_eq!(
        shown,
        json!({ "id": id(&source), "keep_days": null, "keep_count": null, "kept_days": 30, "kept_count": null })
    );
    for (body, field) in [
        (json!({ "keep_count": 0 }), "keep_count"),
        (json!({ "keep_days": 40_000 }), "keep_days"),
        (json!({ "keep_days": "x" }), "keep_days"),
    ] {
        let refused = server.put(&path, &body).await;
        assert_eq!((refused.status, refused.json["details"]["field"].as_str()), (422, Some(field)));
    }
    assert_eq!(server.get("/sources/dc_nothere/retention").await.status, 404);
    let (status, set, stderr) =
        millrace(&server, &["retention", &id(&source), "--count", "1", "--days", "7"]);
    assert_eq!(
        (status, &set["kept_count"], &set["kept_days"]),
        (Some(0), &json!(1), &json!(7)),
        "{stderr}"
    );
    let set = server.put(&path, &json!({ "keep_days": null })).await.data();
    assert_eq!((&set["keep_count"], &set["kept_days"]), (&json!(1), &json!(30)));
    // Pruned at the start and then by the minute.
    server.terminate();
    server.launch().await;
    server
        .until("the pruning", &format!("/sources/{}/runs", id(&source)), |l| {
            l["page_info"]["total_count"] == 1
        })
        .await;
    server
        .until("the pruning of events", &format!("/sources/{}/event_summaries", id(&source)), |l| {
            l["page_info"]["total_count"] == 1
        })
        .await;
    assert_eq!(summaries(&server, &source).await, ["order d"]);
    assert_eq!(summaries(&server, &other).await.len(), 4);
}

#[tokio::test]
async fn history_is_kept_by_number_on_the_whole_server() {
    let Some((mut server, _database)) = on_postgres().await else { return };
    let source = server.source(SOURCE, json!({})).await;
    order(&server, &source, &["a", "b", "c"]).await;
    server.terminate();
    std::fs::write(server.data_dir().join("millrace.toml"), "keep_count = 2\n").expect("writes");
    server.launch().await;
    server
        .until("the pruning", &format!("/sources/{}/runs", id(&source)), |l| {
            l["page_info"]["total_count"] == 2
        })
        .await;
    server
        .until("the pruning of events", &format!("/sources/{}/event_summaries", id(&source)), |l| {
            l["page_info"]["total_count"] == 2
        })
        .await;
}

async fn export_whole(server: &Server) {
    let source = server.source(SOURCE, json!({})).await;
    let workflow = server.workflow("w", json!([{ "type": "http" }]), &[("a", STEP)]).await;
    order(server, &source, &["a", "b"]).await;
    answer(server.raw(Method::POST, &endpoint(&workflow)).json(&json!({ "fail": true }))).await;
    server
        .until("a failed run", &format!("/workflows/{}/runs?status=failed", id(&workflow)), |l| {
            l["page_info"]["total_count"] == 1
        })
        .await;
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("all.ndjson");
    let (status, _, stderr) =
        millrace(server, &["export", "--output", file.to_str().expect("UTF-8")]);
    assert_eq!(status, Some(0), "{stderr}");
    let text = std::fs::read_to_string(&file).expect("an export");
    let lines: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let of = |kind: &str| {
        lines
            .iter()
            .filter(|line| line["type"] == kind)
            .map(|line| line["data"].clone())
            .collect::<Vec<_>>()
    };
    // Two orders and the failure; a line of each order, and the error of the workflow and of its
    // organization, or one of them.
    assert_eq!((of("run").len(), of("log").len(), of("end").len()), (3, 2, 0), "{text}");
    let run = of("run").into_iter().find(|run| run["status"] == "failed").expect("the failed run");
    let mut shown = server.get(&format!("/runs/{}", id(&run))).await.data();
    // Its lineage is of other runs.
    for field in ["logs", "deliveries", "version", "replay_of", "replayed_by", "event_edited"] {
        shown.as_object_mut().expect("a record").remove(field);
    }
    assert_eq!(run, shown);
    assert!(
        of("event")
            .iter()
            .any(|e| e["metadata"]["name"] == "$errors"
                && e["event"]["error"]["code"] == "TypeError"),
        "{text}"
    );
    assert!(
        stderr.contains(&format!("3 runs, 2 log lines, {} events", of("event").len())),
        "{stderr}"
    );
    // Nothing is written over.
    let (status, _, stderr) =
        millrace(server, &["export", "--output", file.to_str().expect("UTF-8")]);
    assert!(status == Some(1) && stderr.contains("is there already"), "{stderr}");
    let only = server
        .raw(Method::GET, &format!("/v1/export?owner_id={}", id(&source)))
        .bearer_auth(&server.api_key)
        .send()
        .await
        .expect("an answer");
    assert_eq!(only.headers()["content-type"], "application/x-ndjson");
    let text = only.text().await.expect("a body");
    assert!(
        text.ends_with("{\"type\":\"end\",\"data\":{\"runs\":2,\"logs\":2,\"events\":2}}\n"),
        "{text}"
    );
    let later = answer(
        server.raw(Method::GET, "/v1/export?from=99999999999999").bearer_auth(&server.api_key),
    )
    .await;
    assert_eq!(later.text, "{\"type\":\"end\",\"data\":{\"runs\":0,\"logs\":0,\"events\":0}}\n");
    for (query, status) in [("owner_id=dc_nothere", 404), ("owner_id=x", 404), ("from=soon", 422)] {
        assert_eq!(
            answer(
                server
                    .raw(Method::GET, &format!("/v1/export?{query}"))
                    .bearer_auth(&server.api_key)
            )
            .await
            .status,
            status,
            "{query}"
        );
    }
}

#[tokio::test]
async fn the_history_is_exported() {
    export_whole(&Server::start().await).await;
}

#[tokio::test]
async fn the_history_is_exported_on_postgres() {
    let Some((server, _database)) = on_postgres().await else { return };
    export_whole(&server).await;
}

/// One export of an organization is under way at once, and takes nothing from others but its place.
async fn export_one_at_once(server: &Client) {
    let workflow = server.workflow("w", json!([{ "type": "http" }]), &[("a", STEP)]).await;
    // More than the system keeps for a client that does not read, though few pieces: what waits is
    // bounded by its bytes.
    let large = json!({ "text": "x".repeat(400_000) });
    for _ in 0..28 {
        assert_eq!(
            answer(server.raw(Method::POST, &endpoint(&workflow)).json(&large)).await.status,
            200
        );
    }
    let export = async || {
        answer(
            server.raw(Method::GET, "/v1/export?from=99999999999999").bearer_auth(&server.api_key),
        )
        .await
    };
    let socket = tokio::net::TcpSocket::new_v4().expect("a socket");
    socket.set_recv_buffer_size(4096).expect("a small one");
    let address = server.url.trim_start_matches("http://");
    let mut slow = socket.connect(address.parse().expect("an address")).await.expect("connects");
    let request = format!(
        "GET /v1/export HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {}\r\n\r\n",
        server.api_key
    );
    slow.write_all(request.as_bytes()).await.expect("asks");
    let mut head = [0; 15];
    slow.read_exact(&mut head).await.expect("a head");
    assert_eq!(&head, b"HTTP/1.1 200 OK");
    for _ in 0..10 {
        let refused = server
            .raw(Method::GET, "/v1/export")
            .bearer_auth(&server.api_key)
            .send()
            .await
            .expect("an answer");
        assert_eq!(
            (refused.status().as_u16(), &refused.headers()["retry-after"]),
            (503, &"10".parse().expect("a value"))
        );
        let said: Value = refused.json().await.expect("JSON");
        assert_eq!(said["code"], "export_under_way");
        assert!(
            said["error"]
                .as_str()
                .is_some_and(|e| e.contains("an export of this organization is under way")),
            "{said}"
        );
    }
    assert_eq!(server.get("/workflows").await.status, 200);
    // Its client goes: there is room for the next.
    drop(slow);
    while export().await.status == 503 {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert_eq!(export().await.status, 200);
}

#[tokio::test]
async fn an_organization_has_one_export_at_once() {
    export_one_at_once(&Server::shared().await).await;
}

#[tokio::test]
async fn an_organization_has_one_export_at_once_on_postgres() {
    let Some((server, _database)) = on_postgres().await else { return };
    export_one_at_once(&server).await;
}

/// Runs a command that needs no server; its status and what it said.
fn local(args: &[&str], paths: &[(&str, &Path)]) -> (Option<i32>, String) {
    let mut command = Command::new(binary());
    command.args(args);
    for (flag, path) in paths {
        if !flag.is_empty() {
            command.arg(flag);
        }
        command.arg(path);
    }
    let output = command.output().expect("the command starts");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[tokio::test]
async fn a_backup_of_a_running_server_is_restored_and_goes_on() {
    let mut server = Server::start().await;
    let source = server.source(SOURCE, json!({})).await;
    server
        .post("/apps", &json!({ "name_slug": "acme", "custom_fields": [{ "name": "k" }] }))
        .await
        .data();
    let account = id(&server
        .post("/accounts", &json!({ "app": "acme", "credentials": { "k": "s3cret-value" } }))
        .await
        .data());
    order(&server, &source, &["a", "b"]).await;
    let dir = tempfile::tempdir().expect("a folder");
    let (backup, sealed) = (dir.path().join("backup"), dir.path().join("sealed"));
    let data = server.data_dir();
    let (status, said) = local(&["backup"], &[("", &backup), ("--data-dir", &data)]);
    assert!(status == Some(0) && said.contains("master key"), "{said}");
    let (status, said) =
        local(&["backup", "--without-keys"], &[("", &sealed), ("--data-dir", &data)]);
    assert_eq!(status, Some(0), "{said}");
    // What came after the backup is not in it.
    order(&server, &source, &["c"]).await;
    let names = |of: &Path| {
        let mut names: Vec<_> = std::fs::read_dir(of)
            .expect("reads")
            .map(|e| e.expect("an entry").file_name().into_string().expect("UTF-8"))
            .collect();
        names.sort();
        names
    };
    assert_eq!(names(&backup), ["backup.json", "credentials.json", "master.key", "millrace.db"]);
    assert_eq!(names(&sealed), ["backup.json", "millrace.db"]);
    for file in ["millrace.db", "master.key"] {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(
            std::fs::metadata(backup.join(file)).expect("a file").permissions().mode() & 0o777,
            0o600,
            "{file}"
        );
    }
    let bytes = std::fs::read(backup.join("millrace.db")).expect("reads");
    assert!(!bytes.windows(12).any(|w| w == b"s3cret-value"), "secrets stay sealed");
    // Nothing is written over: not a backup, not a server.
    let (status, said) = local(&["backup"], &[("", &backup), ("--data-dir", &data)]);
    assert!(status == Some(1) && said.contains("is there already"), "{said}");
    let (status, said) = local(&["restore"], &[("", &backup), ("--data-dir", &data)]);
    assert!(status == Some(1) && said.contains("in use by another server"), "{said}");
    server.kill();
    let (status, said) = local(&["restore"], &[("", &backup), ("--data-dir", &data)]);
    assert!(status == Some(1) && said.contains("nothing is restored over it"), "{said}");
    std::fs::rename(&data, dir.path().join("lost")).expect("loses the data");

    let (status, said) = local(&["restore"], &[("", &sealed), ("--data-dir", &data)]);
    assert!(status == Some(1) && said.contains("--master-key") && !data.exists(), "{said}");
    let (status, said) = local(&["restore"], &[("", &backup), ("--data-dir", &data)]);
    assert_eq!(status, Some(0), "{said}");
    server.launch().await;
    assert_eq!(summaries(&server, &source).await, ["order b", "order a"]);
    let credentials =
        server.get(&format!("/accounts/{account}?include_credentials=true")).await.data();
    assert_eq!(credentials["credentials"]["k"], "s3cret-value");
    // It goes on: what the source remembers is there, and a duplicate is one still.
    assert_eq!(
        answer(server.raw(Method::POST, &endpoint(&source)).json(&json!({ "id": "a" })))
            .await
            .status,
        200
    );
    server
        .until(
            "the duplicate's run",
            &format!("/sources/{}/runs?status=succeeded", id(&source)),
            |l| l["page_info"]["total_count"] == 3,
        )
        .await;
    order(&server, &source, &["d"]).await;
    assert_eq!(summaries(&server, &source).await, ["order d", "order b", "order a"]);
    let events = server.get(&format!("/sources/{}/event_summaries", id(&source))).await.json;
    assert_eq!(events["data"][0]["event"]["n"], 4);

    // With the key from elsewhere.
    server.kill();
    std::fs::remove_dir_all(&data).expect("loses it again");
    let key = backup.join("master.key");
    let (status, said) =
        local(&["restore"], &[("", &sealed), ("--master-key", &key), ("--data-dir", &data)]);
    assert_eq!(status, Some(0), "{said}");
    assert!(data.join("master.key").is_file());
}

#[tokio::test]
async fn a_backup_of_postgres_is_restored_into_an_empty_database_and_goes_on() {
    let Some((mut server, database)) = on_postgres().await else { return };
    let source = server.source(SOURCE, json!({})).await;
    server
        .post("/apps", &json!({ "name_slug": "acme", "custom_fields": [{ "name": "k" }] }))
        .await
        .data();
    let account = id(&server
        .post("/accounts", &json!({ "app": "acme", "credentials": { "k": "s3cret-value" } }))
        .await
        .data());
    order(&server, &source, &["a", "b"]).await;
    let dir = tempfile::tempdir().expect("a folder");
    let (backup, keys, other, restored) = (
        dir.path().join("backup"),
        dir.path().join("keys"),
        dir.path().join("other"),
        dir.path().join("restored"),
    );
    let (data, url, nowhere) = (server.data_dir(), database.url(), Path::new("/nowhere"));
    // Without the programs it says what to do, and leaves nothing.
    let (status, said) = local(
        &["backup", "--database-url", &url],
        &[("", &backup), ("--data-dir", &data), ("--pg-bin", nowhere)],
    );
    assert!(
        status == Some(1)
            && said.contains("postgresql-client")
            && said.contains("--keys-only")
            && !backup.exists(),
        "{said}"
    );
    let (status, said) = local(
        &["backup", "--keys-only", "--database-url", &url],
        &[("", &keys), ("--data-dir", &data), ("--pg-bin", nowhere)],
    );
    assert!(
        status == Some(0)
            && keys.join("master.key").exists()
            && !keys.join("millrace.pgdump").exists(),
        "{said}"
    );
    let (status, said) =
        local(&["backup", "--database-url", &url], &[("", &backup), ("--data-dir", &data)]);
    assert!(status == Some(0) && said.contains("master key"), "{said}");
    let dump = backup.join("millrace.pgdump");
    use std::os::unix::fs::PermissionsExt as _;
    assert_eq!(std::fs::metadata(&dump).expect("a file").permissions().mode() & 0o777, 0o600);
    // What came after the backup is not in it.
    order(&server, &source, &["c"]).await;

    let (status, said) = local(&["restore"], &[("", &backup), ("--data-dir", &restored)]);
    assert!(status == Some(1) && said.contains("--database-url") && !restored.exists(), "{said}");
    let (status, said) =
        local(&["restore", "--database-url", &url], &[("", &backup), ("--data-dir", &restored)]);
    assert!(
        status == Some(1) && said.contains("nothing is restored over it") && !restored.exists(),
        "{said}"
    );
    let empty = millrace_tests::cluster::cluster().expect("was there").database().await;
    let (status, said) = local(
        &["restore", "--database-url", &empty.url()],
        &[("", &backup), ("--data-dir", &restored)],
    );
    assert_eq!(status, Some(0), "{said}");
    server.kill();
    std::fs::rename(&data, &other).expect("loses the data");
    std::fs::rename(&restored, &data).expect("is there again");
    server.set_args(&["--database-url", &empty.url()]);
    server.launch().await;
    assert_eq!(summaries(&server, &source).await, ["order b", "order a"]);
    let credentials =
        server.get(&format!("/accounts/{account}?include_credentials=true")).await.data();
    assert_eq!(credentials["credentials"]["k"], "s3cret-value");
    // Triggers and all: what is deployed is heard, what was seen is a duplicate still.
    assert_eq!(
        answer(server.raw(Method::POST, &endpoint(&source)).json(&json!({ "id": "a" })))
            .await
            .status,
        200
    );
    server
        .until(
            "the duplicate's run",
            &format!("/sources/{}/runs?status=succeeded", id(&source)),
            |l| l["page_info"]["total_count"] == 3,
        )
        .await;
    order(&server, &source, &["d"]).await;
    assert_eq!(summaries(&server, &source).await, ["order d", "order b", "order a"]);
}

/// What a kill leaves nobody holds; what else may stand in the place of the new folder is not for a
/// backup to remove.
#[tokio::test]
async fn a_backup_that_was_broken_off_is_made_by_the_same_command() {
    let server = Server::start().await;
    let (dir, data) = (tempfile::tempdir().expect("a folder"), server.data_dir());
    let [backup, part, link] =
        ["backup", "backup.part", "link.part"].map(|name| dir.path().join(name));
    let make =
        |folder: &str| local(&["backup"], &[("", &dir.path().join(folder)), ("--data-dir", &data)]);
    let refused = |folder: &str, says: &str| {
        let (status, said) = make(folder);
        assert!(status == Some(1) && said.contains(says), "{said}");
    };
    std::fs::create_dir(&part).expect("a folder");
    for name in ["millrace.db", "millrace.db-journal", "master.part", "notes.txt"] {
        std::fs::write(part.join(name), "half").expect("writes");
    }
    refused("backup", "`notes.txt`");
    assert!(
        part.join("millrace.db").exists() && part.join("notes.txt").exists(),
        "nothing of it was removed"
    );
    std::fs::remove_file(part.join("notes.txt")).expect("removes");
    let held = std::fs::File::open(&part).expect("opens");
    held.lock().expect("holds it");
    refused("backup", "another backup is being made");
    assert!(part.join("millrace.db").exists());
    drop(held);
    let (status, said) = make("backup");
    assert_eq!(status, Some(0), "{said}");
    assert!(
        !part.exists()
            && !backup.join("master.part").exists()
            && backup.join("millrace.db").metadata().expect("is there").len() > 4
    );
    std::os::unix::fs::symlink(&data, &link).expect("a link");
    refused("link", "link.part");
    assert!(data.join("millrace.db").exists() && data.join("master.key").exists());
}

#[test]
fn what_is_no_backup_is_not_restored() {
    let dir = tempfile::tempdir().expect("a folder");
    let (backup, data) = (dir.path().join("backup"), dir.path().join("data"));
    let restore = || local(&["restore"], &[("", &backup), ("--data-dir", &data)]);
    let refused = |says: &str| {
        let (status, said) = restore();
        assert!(status == Some(1) && said.contains(says), "{said}");
        assert!(!data.join("millrace.db").exists() && !data.join("master.key").exists());
    };
    refused("is not a backup");
    let (_, said) = local(&["restore"], &[("", &dir.path().join("\u{1b}[31mred\u{9b}"))]);
    assert!(
        said.contains("\\u001b[31mred\\u009b` is not a backup")
            && !said.contains(['\u{1b}', '\u{9b}']),
        "a name does not steer the terminal: {said:?}"
    );
    std::fs::create_dir(&backup).expect("a folder");
    std::fs::write(backup.join("backup.json"), "{").expect("writes");
    refused("is damaged");
    let manifest = json!({ "version": "0.1.0", "created_at": "2026-01-01T00:00:00.000Z", "database": "sqlite", "keys": true });
    std::fs::write(backup.join("backup.json"), manifest.to_string()).expect("writes");
    refused("--master-key");
    std::fs::write(backup.join("master.key"), [7; 31]).expect("writes");
    refused("the master key");
    std::fs::write(backup.join("master.key"), [7; 32]).expect("writes");
    refused("cannot be used");
    std::fs::write(backup.join("millrace.db"), "not a database, however long it goes on")
        .expect("writes");
    refused("cannot be used");
    let (status, said) = local(&["backup"], &[("", &dir.path().join("b")), ("--data-dir", &data)]);
    assert!(status == Some(1) && said.contains("is not the data directory of a server"), "{said}");
    assert!(!dir.path().join("b").exists() && !dir.path().join("b.part").exists());
}

/// Of reference 2.31.
#[tokio::test]
async fn counts_are_behind_a_key_or_at_an_address_of_their_own() {
    let server = Server::start_with(&["--metrics-listen", "127.0.0.1:0"]).await;
    let place = server.metrics_place().await;
    let workflow = server.workflow("w", json!([{ "type": "http" }]), &[("a", STEP)]).await;
    for fail in [false, true] {
        answer(server.raw(Method::POST, &endpoint(&workflow)).json(&json!({ "fail": fail }))).await;
    }
    server
        .until("both runs", &format!("/workflows/{}/runs?status=failed", id(&workflow)), |l| {
            l["page_info"]["total_count"] == 1
        })
        .await;
    server
        .until("both runs", &format!("/workflows/{}/runs?status=succeeded", id(&workflow)), |l| {
            l["page_info"]["total_count"] == 1
        })
        .await;
    assert_eq!(answer(server.raw(Method::GET, "/metrics")).await.status, 401);
    let read =
        server.post("/api_keys", &json!({ "name": "r", "scopes": ["read"] })).await.data()["key"]
            .as_str()
            .expect("a key")
            .to_owned();
    assert_eq!(answer(server.raw(Method::GET, "/metrics").bearer_auth(&read)).await.status, 403);
    let other = server
        .post("/workspaces", &json!({ "name": "other", "email": "o@example.test" }))
        .await
        .data()["api_key"]
        .as_str()
        .expect("a key")
        .to_owned();
    let refused = answer(server.raw(Method::GET, "/metrics").bearer_auth(&other)).await;
    assert!(refused.status == 403 && refused.text.contains("made first"), "{refused:?}");
    let with_key =
        answer(server.raw(Method::GET, "/metrics").bearer_auth(&server.api_key)).await.text;
    let open = server
        .raw(Method::GET, &format!("http://{place}/metrics"))
        .send()
        .await
        .expect("an answer");
    assert!(
        open.headers()["content-type"]
            .to_str()
            .is_ok_and(|t| t.starts_with("text/plain; version=0.0.4"))
    );
    let open = open.text().await.expect("a body");
    assert_eq!(
        answer(server.raw(Method::GET, &format!("http://{place}/v1/users/me"))).await.status,
        404
    );
    for text in [&with_key, &open] {
        let value = |series: &str| {
            text.lines().find_map(|line| line.strip_prefix(series)?.trim().parse::<f64>().ok())
        };
        assert_eq!(
            value("millrace_http_requests_total{door=\"endpoint\",status=\"2xx\"}"),
            Some(2.0),
            "{text}"
        );
        assert_eq!(
            value("millrace_run_attempt_duration_seconds_count{ending=\"failed\"}"),
            Some(1.0)
        );
        assert_eq!(
            value("millrace_run_attempt_duration_seconds_count{ending=\"succeeded\"}"),
            Some(1.0)
        );
        assert_eq!(
            (value("millrace_runs_unfinished"), value("millrace_database_up")),
            (Some(0.0), Some(1.0))
        );
        assert!(value("process_resident_memory_bytes").is_some_and(|bytes| bytes > 1e6));
        // Nothing names anybody, and every series has a head.
        assert!(!text.contains(&id(&workflow)) && !text.contains(&server.org_id));
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let name = line.split(['{', ' ']).next().unwrap_or("");
            let base = ["_bucket", "_sum", "_count"]
                .iter()
                .find_map(|end| name.strip_suffix(end))
                .unwrap_or(name);
            assert!(
                text.contains(&format!("# TYPE {base} "))
                    || text.contains(&format!("# TYPE {name} ")),
                "{line}"
            );
        }
    }
}

#[tokio::test]
async fn one_trace_goes_from_the_request_to_the_last_step() {
    let collector = Receiver::start(Does::says("200 OK")).await;
    let base = collector.url.trim_end_matches("/hook");
    let server = Server::start_with(&["--otlp-url", base, "--otlp-headers", "x-team=ops"]).await;
    let source = server.source(SOURCE, json!({})).await;
    let listener = json!([{ "type": "source", "id": id(&source) }]);
    let broken = "export default defineComponent({ run() { throw new RangeError('too far'); } });";
    let workflow = server.workflow("ship", listener, &[("pack", STEP), ("send", broken)]).await;
    order(&server, &source, &["a"]).await;
    server
        .until(
            "the listener's run",
            &format!("/workflows/{}/runs?status=failed", id(&workflow)),
            |l| l["page_info"]["total_count"] == 1,
        )
        .await;
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    let spans = loop {
        let got = collector.got();
        let spans: Vec<Value> = got
            .iter()
            .flat_map(|request| {
                assert!(
                    request.head.starts_with("POST /v1/traces ")
                        && request.header("x-team") == "ops",
                    "{}",
                    request.head
                );
                let body: Value = serde_json::from_str(&request.body).expect("JSON");
                body["resourceSpans"][0]["scopeSpans"][0]["spans"]
                    .as_array()
                    .expect("spans")
                    .clone()
            })
            .collect();
        if spans.iter().any(|s| s["name"] == "step send") {
            break spans;
        }
        assert!(std::time::Instant::now() < deadline, "{spans:?}");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    };
    let span = |name: &str| {
        spans
            .iter()
            .find(|s| s["name"] == name)
            .unwrap_or_else(|| panic!("no span {name}: {spans:#?}"))
    };
    let (request, run, listening) = (span("POST endpoint"), span("run orders"), span("run ship"));
    assert!(spans.iter().all(|s| s["traceId"] == request["traceId"]), "{spans:#?}");
    assert!(
        request["traceId"].as_str().is_some_and(|id| id.len() == 32)
            && request["spanId"].as_str().is_some_and(|id| id.len() == 16)
    );
    assert!(request.get("parentSpanId").is_none());
    assert_eq!(
        (&run["parentSpanId"], &listening["parentSpanId"]),
        (&request["spanId"], &request["spanId"])
    );
    assert_eq!(
        (&span("step pack")["parentSpanId"], &span("step send")["parentSpanId"]),
        (&listening["spanId"], &listening["spanId"])
    );
    assert_eq!(
        (&listening["status"]["code"], &span("step send")["status"]["code"]),
        (&json!(2), &json!(2))
    );
    assert!(listening["status"]["message"].as_str().is_some_and(|m| m == "RangeError: too far"));
    assert!(span("step pack").get("status").is_none() && run.get("status").is_none());
    let time = |span: &Value, field: &str| {
        span[field].as_str().and_then(|t| t.parse::<u64>().ok()).expect("a time")
    };
    for child in ["step pack", "step send"] {
        let child = span(child);
        assert!(
            time(child, "startTimeUnixNano") >= time(listening, "startTimeUnixNano")
                && time(child, "endTimeUnixNano") <= time(listening, "endTimeUnixNano")
        );
    }
}

#[tokio::test]
async fn a_collector_that_is_away_holds_nobody_up() {
    let server = Server::start_with(&["--otlp-url", "http://127.0.0.1:9"]).await;
    let source = server.source(SOURCE, json!({})).await;
    order(&server, &source, &["a", "b"]).await;
    let dropped = async || {
        let text =
            answer(server.raw(Method::GET, "/metrics").bearer_auth(&server.api_key)).await.text;
        text.lines().find_map(|line| {
            line.strip_prefix("millrace_trace_spans_dropped_total ")?.parse::<u64>().ok()
        })
    };
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while dropped().await.is_none_or(|count| count < 4) {
        assert!(std::time::Instant::now() < deadline, "{}", server.log());
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert!(server.log().contains("the collector of traces does not take them"));
}

/// What a server sends when a request brings a trace: its answer to a webhook, a request of a step,
/// and its spans, where they go to a collector.
async fn what_goes_out(collector: Option<&Receiver>) -> (Server, String, String) {
    let (hook, sent) =
        (Receiver::start(Does::says("200 OK")).await, Receiver::start(Does::says("200 OK")).await);
    let base = collector.map(|c| c.url.trim_end_matches("/hook").to_owned());
    let args: Vec<&str> = base.as_deref().map_or_else(Vec::new, |base| vec!["--otlp-url", base]);
    let server = Server::start_with(&args).await;
    let source = server.source(SOURCE, json!({})).await;
    let webhook = server.post("/webhooks", &json!({ "url": hook.url })).await.data();
    server
        .post("/subscriptions", &json!({ "emitter_id": id(&source), "listener_id": id(&webhook) }))
        .await
        .data();
    let sends = format!(
        "export default defineComponent({{ run({{ $ }}) {{ $.send.http({{ method: 'POST', url: '{}', data: {{}} }}); }} }});",
        sent.url
    );
    server
        .workflow("ship", json!([{ "type": "source", "id": id(&source) }]), &[("send", &sends)])
        .await;
    let request = server
        .raw(Method::POST, &endpoint(&source))
        .header("traceparent", format!("00-{TRACE}-00f067aa0ba902b7-01"));
    assert_eq!(answer(request.json(&json!({ "id": "a" }))).await.status, 200);
    let (posted, requested) = (hook.until(1).await, sent.until(1).await);
    (server, posted[0].header("traceparent"), requested[0].header("traceparent"))
}

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

#[tokio::test]
async fn a_trace_that_a_request_brings_goes_on_to_what_is_sent() {
    let collector = Receiver::start(Does::says("200 OK")).await;
    let (_server, posted, requested) = what_goes_out(Some(&collector)).await;
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    let spans = loop {
        let bodies = collector
            .got()
            .into_iter()
            .map(|request| serde_json::from_str::<Value>(&request.body).expect("JSON"));
        let spans: Vec<Value> = bodies
            .flat_map(|body| {
                body["resourceSpans"][0]["scopeSpans"][0]["spans"]
                    .as_array()
                    .expect("spans")
                    .clone()
            })
            .collect();
        if spans.iter().any(|s| s["name"] == "run ship") {
            break spans;
        }
        assert!(std::time::Instant::now() < deadline, "{spans:?}");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    };
    assert!(spans.iter().all(|s| s["traceId"] == TRACE), "{spans:#?}");
    let span = |name: &str| {
        spans
            .iter()
            .find(|s| s["name"] == name)
            .unwrap_or_else(|| panic!("no span {name}: {spans:#?}"))
    };
    let (request, run) = (span("POST endpoint"), span("run ship"));
    assert_eq!(request["parentSpanId"], "00f067aa0ba902b7");
    let parent =
        |span: &Value| format!("00-{TRACE}-{}-01", span["spanId"].as_str().expect("an id"));
    assert_eq!((posted, requested), (parent(request), parent(run)));
}

#[tokio::test]
async fn without_traces_nothing_carries_one() {
    let (_server, posted, requested) = what_goes_out(None).await;
    assert_eq!((posted, requested), (String::new(), String::new()));
}

#[test]
fn a_start_with_too_few_open_files_says_what_to_raise() {
    let folder = tempfile::tempdir().expect("a folder");
    for few in ["20", "32", "63"] {
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -n \"$0\" && exec \"$@\"", few]).arg(binary()).args([
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--data-dir",
        ]);
        let output = command.arg(folder.path().join("data")).output().expect("starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.code() == Some(1)
                && said.contains(&format!("may have {few} open files, and needs 64")),
            "{said}"
        );
        assert!(!folder.path().join("data").exists(), "it made its folder");
    }
}
