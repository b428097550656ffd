//! Commands against a small server that answers from a list and keeps what it was asked.

mod names_and_answers;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use clap::Parser;
use millrace_cli::{ClientCommand, GlobalArgs};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    global: GlobalArgs,
    #[command(subcommand)]
    command: ClientCommand,
}

/// A request: method and path, and the body.
type Seen = (String, Value);

/// A server's address, and what it was asked.
struct Server {
    url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Server {
    /// Answers a request whose `METHOD /path` begins with the first text with the status and body
    /// beside it. Where a text stands there more than once, its answers are given one after the
    /// other, the last one again and again.
    async fn start(answers: Vec<(&'static str, u16, Value)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("listens");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
        let kept = Arc::clone(&seen);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                // A client that goes away early is its own test's concern.
                let _ = answer(stream, &answers, &kept).await;
            }
        });
        Self { url, seen }
    }

    fn seen(&self) -> Vec<Seen> {
        self.seen.lock().expect("no test panicked").clone()
    }
}

async fn answer(
    mut stream: TcpStream,
    answers: &[(&str, u16, Value)],
    seen: &Mutex<Vec<Seen>>,
) -> std::io::Result<()> {
    let mut bytes = Vec::new();
    let (head, start) = loop {
        if let Some(end) = bytes.windows(4).position(|w| w == b"\r\n\r\n") {
            break (String::from_utf8_lossy(&bytes[..end]).into_owned(), end + 4);
        }
        if stream.read_buf(&mut bytes).await? == 0 {
            return Ok(());
        }
    };
    let length = head.lines().find_map(|l| {
        l.to_ascii_lowercase()
            .strip_prefix("content-length:")
            .and_then(|v| v.trim().parse::<usize>().ok())
    });
    while bytes.len() < start + length.unwrap_or(0) {
        if stream.read_buf(&mut bytes).await? == 0 {
            return Ok(());
        }
    }
    assert!(head.to_ascii_lowercase().contains("authorization: bearer key-1"), "{head}");
    let line = head.lines().next().unwrap_or("").trim_end_matches(" HTTP/1.1").to_owned();
    let found =
        answers.iter().find(|(start, _, _)| line.starts_with(start)).and_then(|(start, _, _)| {
            let before = seen
                .lock()
                .expect("no test panicked")
                .iter()
                .filter(|(line, _)| line.starts_with(start))
                .count();
            answers.iter().filter(|(other, _, _)| other == start).take(before + 1).last()
        });
    let (status, body) = found.map_or(
        (404, json!({ "error": "there is none", "code": "not_found", "details": {} })),
        |(_, s, b)| (*s, b.clone()),
    );
    let again = if status == 429 { "retry-after: 1\r\n" } else { "" };
    seen.lock()
        .expect("no test panicked")
        .push((line, millrace_model::json::from_slice(&bytes[start..]).unwrap_or(Value::Null)));
    let text = body.to_string();
    stream.write_all(format!("HTTP/1.1 {status} X\r\n{again}content-length: {}\r\nconnection: close\r\n\r\n{text}", text.len()).as_bytes()).await
}

/// Runs a command line, and says whether its exit status is the one expected.
async fn exits(server: &Server, args: &[&str], status: u8) -> bool {
    let given = ["millrace", "--url", &server.url, "--api-key", "key-1"];
    let cli = Cli::parse_from(given.iter().chain(args));
    let code = millrace_cli::run(cli.command, cli.global).await;
    format!("{code:?}") == format!("{:?}", ExitCode::from(status))
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("millrace-cli-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

#[test]
fn the_command_line_is_well_formed() {
    use clap::CommandFactory as _;
    Cli::command().debug_assert();
    for wrong in [
        &["millrace"][..],
        &["millrace", "events", "-n", "101", "x"],
        &["millrace", "update", "x", "--activate", "--deactivate"],
    ] {
        assert_eq!(Cli::try_parse_from(wrong).err().map(|e| e.exit_code()), Some(2), "{wrong:?}");
    }
}

#[test]
fn an_empty_name_id_or_path_is_wrong_use() {
    use clap::CommandFactory as _;
    let read = |args: &[&str]| {
        millrace_cli::refuse_empty(Cli::command())
            .try_get_matches_from(["millrace"].iter().chain(args))
            .map_err(|error| (error.exit_code(), error.to_string().contains("it is empty")))
    };
    for wrong in [
        &["runs", "show", ""][..],
        &["files", "delete", "reports", ""],
        &["data-stores", "delete", "orders", " "],
        &["setup-link", ""],
        &["unpublish", "component", ""],
    ] {
        assert_eq!(read(wrong).err(), Some((2, true)), "{wrong:?}");
    }
    assert!(read(&["data-stores", "set", "orders", "note", ""]).is_ok());
    assert!(read(&["subscriptions", "delete", "orders", "mails", ""]).is_ok());
    // The server's master key is not what a missing id means.
    assert!(read(&["keys", "rotate"]).is_err());
    assert!(read(&["keys", "rotate", "key_1", "--master-key"]).is_err());
    assert!(read(&["keys", "rotate", "--master-key"]).is_ok());
}

#[tokio::test]
async fn deploy_sends_the_file_with_its_imports_and_props() {
    let folder = folder("deploy");
    std::fs::write(folder.join("common.mjs"), "export const n = 1;").expect("writes");
    std::fs::write(folder.join("a.mjs"), "import { n } from \"./common.mjs\";").expect("writes");
    let server =
        Server::start(vec![("POST /v1/sources", 200, json!({ "data": { "id": "dc_1" } }))]).await;
    let file = folder.join("a.mjs").display().to_string();
    assert!(
        exits(&server, &["deploy", &file, "--name", "A", "--prop", "n=60", "--prop", "zip=007"], 0)
            .await
    );
    let expected = json!({
        "component_code": "import { n } from \"./common.mjs\";", "component_entry": "a.mjs",
        "component_files": { "common.mjs": "export const n = 1;" },
        "name": "A", "configured_props": { "n": 60, "zip": "007" },
    });
    assert_eq!(server.seen(), [("POST /v1/sources".to_owned(), expected)]);
    std::fs::remove_dir_all(folder).expect("cleans");
}

#[tokio::test]
async fn a_refusal_is_1_and_wrong_use_is_2() {
    let refusal = json!({ "error": "the prop `url` (string) is required and has no value", "code": "missing_props", "details": { "props": [{ "prop": "url" }] } });
    let server = Server::start(vec![("POST /v1/sources", 422, refusal)]).await;
    assert!(exits(&server, &["deploy", "https://example.com/a.mjs"], 1).await);
    assert!(exits(&server, &["deploy", "https://example.com/a.mjs", "--prop", "url"], 2).await);
    assert!(exits(&server, &["deploy", "./gone.mjs"], 1).await);
    assert!(exits(&server, &["describe", "p_gone"], 1).await);
    assert!(exits(&server, &["update", "dc_1"], 2).await);
    assert!(exits(&server, &["errors", "dc_1"], 1).await);
    let nowhere = Server { url: "http://127.0.0.1:1".into(), seen: Arc::default() };
    assert!(exits(&nowhere, &["list", "so"], 1).await);
}

#[tokio::test]
async fn deploys_wait_for_their_turn() {
    let refusal = |code: &str| json!({ "error": "too many", "code": code, "details": {} });
    let server = Server::start(vec![
        ("POST /v1/sources", 429, refusal("deploys_waiting")),
        ("POST /v1/sources", 200, json!({ "data": { "id": "dc_1" } })),
        ("GET /v1/sources/dc_1", 200, json!({ "data": { "id": "dc_1" } })),
        ("DELETE /v1/sources", 429, refusal("rate_limited")),
    ])
    .await;
    assert!(exits(&server, &["deploy", "https://example.com/a.mjs"], 0).await);
    let seen = server.seen();
    assert!(
        seen.len() == 2
            && seen[0] == seen[1]
            && seen[0].1["component_url"] == "https://example.com/a.mjs",
        "{seen:?}"
    );
    // Another refusal is told at once.
    assert!(exits(&server, &["delete", "dc_1"], 1).await);
    assert_eq!(server.seen().len(), 4);
}

#[tokio::test]
async fn names_are_found_page_by_page_and_slugs_win() {
    let many: Vec<Value> = (0..100).map(|i| json!({ "id": format!("dc_{i}"), "name": "feed", "name_slug": format!("feed-{i}") })).collect();
    let first = json!({ "page_info": { "end_cursor": "ZGM" }, "data": many });
    let second =
        json!({ "page_info": {}, "data": [{ "id": "dc_last", "name": "x", "name_slug": "feed" }] });
    let server = Server::start(vec![
        ("GET /v1/users/me/sources?include=id,name,name_slug&limit=100&after=ZGM", 200, second),
        ("GET /v1/users/me/sources?include=id,name,name_slug&limit=100", 200, first),
        ("DELETE /v1/sources/dc_last", 200, json!({ "data": { "id": "dc_last" } })),
        ("GET /v1/workflows", 200, json!({ "data": [] })),
    ])
    .await;
    assert!(exits(&server, &["delete", "feed"], 0).await);
    assert_eq!(
        server.seen().last().map(|(line, _)| line.as_str()),
        Some("DELETE /v1/sources/dc_last")
    );
    assert!(exits(&server, &["delete", "nothing"], 1).await);
}

#[tokio::test]
async fn the_second_deploy_of_a_workflow_file_is_an_update() {
    let folder = folder("workflow");
    std::fs::write(
        folder.join("w.json"),
        r#"{"name":"w","triggers":[{"type":"http"}],"steps":[]}"#,
    )
    .expect("writes");
    let made = json!({ "data": { "id": "p_1", "name": "w", "triggers": [] } });
    let server = Server::start(vec![
        ("GET /v1/workflows?include", 200, json!({ "data": [] })),
        ("GET /v1/users/me/sources", 200, json!({ "data": [] })),
        ("POST /v1/workflows", 200, made.clone()),
        ("GET /v1/workflows/p_1", 200, made.clone()),
        ("PUT /v1/workflows/p_1", 200, made),
    ])
    .await;
    let file = folder.join("w.json").display().to_string();
    assert!(exits(&server, &["workflows", "deploy", &file], 0).await);
    assert!(exits(&server, &["workflows", "deploy", &file], 0).await);
    let seen = server.seen();
    let methods: Vec<&str> = seen.iter().filter_map(|(line, _)| line.split(' ').next()).collect();
    // Twice: which workflow it is, the sources that its triggers have, and the workflow.
    assert_eq!(methods, ["GET", "GET", "POST", "GET", "GET", "PUT"]);
    for at in [2, 5] {
        let body = &seen[at].1;
        let triggers = json!([{ "type": "http", "props": { "auth": { "type": "none" } } }]);
        assert_eq!(
            (&body["name"], &body["triggers"], &body["steps"]),
            (&json!("w"), &triggers, &json!([]))
        );
        // What the file does not say is set back.
        assert_eq!(
            (&body["settings"]["auto_deploy"], &body["settings"]["concurrency"]),
            (&json!(true), &json!(false))
        );
    }
    std::fs::remove_dir_all(folder).expect("cleans");
}

#[tokio::test]
async fn a_run_that_failed_is_a_failure() {
    let run = |status: &str| json!({ "data": { "id": "run_1", "status": status, "error": { "code": "TypeError", "message": "m" } } });
    let server = Server::start(vec![
        ("GET /v1/sources/dc_1", 200, json!({ "data": { "id": "dc_1" } })),
        ("GET /v1/workflows/p_1", 200, json!({ "data": { "id": "p_1" } })),
        ("POST /v1/sources/dc_1/run", 200, run("succeeded")),
        ("POST /v1/workflows/p_1/test", 200, run("failed")),
    ])
    .await;
    assert!(exits(&server, &["run", "dc_1", "--event", "{\"n\":1}"], 0).await);
    assert!(exits(&server, &["workflows", "test", "p_1"], 1).await);
    assert!(exits(&server, &["run", "dc_1", "--event", "{"], 2).await);
    assert_eq!(
        server.seen().into_iter().map(|(_, body)| body).find(Value::is_object),
        Some(json!({ "event": { "n": 1 } }))
    );
}

#[tokio::test]
async fn keys_are_made_with_scopes_and_an_end() {
    let server =
        Server::start(vec![("POST /v1/api_keys", 200, json!({ "data": { "id": "key_1" } }))]).await;
    assert!(
        exits(
            &server,
            &[
                "keys",
                "create",
                "ci",
                "--scope",
                "deploy",
                "--scope",
                "invoke",
                "--expires-in",
                "1d",
                "--rate",
                "60"
            ],
            0
        )
        .await
    );
    let (_, body) = server.seen().pop().expect("a request");
    assert_eq!(
        (&body["name"], &body["scopes"], &body["rate_per_minute"]),
        (&json!("ci"), &json!(["deploy", "invoke"]), &json!(60))
    );
    assert!(body["expires_at"].as_i64().is_some_and(|secs| secs > 1_700_000_000));
    assert!(exits(&server, &["keys", "rotate", "key_1", "--grace", "12h"], 0).await);
    let expected =
        ("POST /v1/api_keys/key_1/rotate".to_owned(), json!({ "grace_seconds": 43_200 }));
    assert_eq!(server.seen().pop(), Some(expected));
}

#[tokio::test]
async fn subscriptions_take_names() {
    let workflows = json!({ "data": [{ "id": "p_9", "name": "Handler", "name_slug": "handler" }] });
    let server = Server::start(vec![
        ("GET /v1/users/me/sources", 200, json!({ "data": [] })),
        ("GET /v1/workflows", 200, workflows),
        ("POST /v1/subscriptions", 200, json!({ "data": { "id": "sub_1" } })),
    ])
    .await;
    assert!(exits(&server, &["subscriptions", "add", "o_1", "handler", "$errors"], 0).await);
    let expected = "POST /v1/subscriptions?emitter_id=o_1&listener_id=p_9&event_name=%24errors";
    assert_eq!(server.seen().last().map(|(line, _)| line.as_str()), Some(expected));
}

#[tokio::test]
async fn data_stores_take_any_key_and_values_as_props_do() {
    let server = Server::start(vec![
        ("POST /v1/data_stores", 200, json!({ "data": { "id": "ds_1" } })),
        ("PUT /v1/data_stores/my%20things/record", 200, json!({ "data": { "key": "a/.." } })),
        ("GET /v1/data_stores/my%20things/record?key=..", 200, json!({ "data": { "value": 1 } })),
        ("DELETE /v1/data_stores/my%20things/record", 200, json!({ "data": { "key": ".." } })),
        ("DELETE /v1/data_stores/ds_1", 200, json!({ "data": { "id": "ds_1" } })),
    ])
    .await;
    assert!(exits(&server, &["data-stores", "create", "my things"], 0).await);
    assert!(
        exits(
            &server,
            &["data-stores", "set", "my things", "a/..", "{\"n\": 1}", "--ttl", "1.5"],
            0
        )
        .await
    );
    assert!(exits(&server, &["ds", "get", "my things", ".."], 0).await);
    assert!(exits(&server, &["data-stores", "delete", "my things", ".."], 0).await);
    assert!(exits(&server, &["data-stores", "delete", "ds_1"], 0).await);
    let seen = server.seen();
    assert_eq!(seen[0].1, json!({ "name": "my things" }));
    assert_eq!(seen[1].1, json!({ "key": "a/..", "value": { "n": 1 }, "ttl": 1.5 }));
    // The key of a deletion is never a part of the path: `..` there would mean the store itself.
    assert_eq!(
        seen[3],
        ("DELETE /v1/data_stores/my%20things/record".to_owned(), json!({ "key": ".." }))
    );
}
