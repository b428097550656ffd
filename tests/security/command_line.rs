//! The command line beside a server, or others with a key of it, who want to harm the person that uses it.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use millrace_tests::cli::{Done, Shell};
use millrace_tests::peer::{Peer, Says};
use millrace_tests::{Server, binary};
use reqwest::Method;
use serde_json::{Value, json};

/// Runs a command that is ended where it goes on.
fn run(shell: &Shell, url: &str, args: &[&str]) -> Done {
    let command = shell.command(args);
    let mut timed = Command::new("timeout");
    timed.arg("60").arg(binary()).args(args).current_dir(command.get_current_dir().expect("a folder")).env_clear();
    timed.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    timed.env("MILLRACE_URL", url).env("MILLRACE_API_KEY", "millrace_x").stdin(std::process::Stdio::null()).output().expect("runs").into()
}

/// A record with all that the command line reads of any, each of them `value`.
fn record(value: &Value) -> Value {
    let mut record = json!({});
    for name in [
        "id",
        "name",
        "name_slug",
        "status",
        "kind",
        "created_at",
        "updated_at",
        "created_at_ms",
        "expires_at",
        "duration_ms",
        "deployment_id",
        "version",
        "active",
        "origin",
        "key",
        "recipient",
        "subject",
        "count",
        "first_seen_ms",
        "last_seen_ms",
        "workflow_id",
        "source_id",
        "text",
        "level",
        "run_id",
        "event",
        "total",
        "skipped",
        "fields",
        "action",
        "scopes",
        "data",
        "value",
        "metadata",
        "settings",
        "made_from",
        "endpoint_url",
        "path",
        "size",
        "bytes",
        "frame",
        "message",
        "configured_props",
        "dynamic_props",
        "options",
        "context",
        "errors",
    ] {
        record[name] = value.clone();
    }
    // Longer than a width that `format!` takes, once it is made visible.
    record["error"] = json!({ "code": "\0".repeat(200), "message": "\0".repeat(20_000), "stack": value });
    record["runs"] = json!({ "succeeded": i64::MAX, "failed": i64::MAX, "cancelled": i64::MAX, "unfinished": 0 });
    record["orgs"] = json!([{ "id": value, "name": value }]);
    record["steps"] = json!([{ "namespace": value, "status": "failed", "exports": { "$summary": value, "$return_value": value }, "configured_props_json": value, "savedComponent": { "code": value, "files": value, "configurableProps": [value] } }, value]);
    record["triggers"] =
        json!([{ "type": "http", "endpoint_url": value, "auth": value }, { "type": "timer", "cron": value, "interval_seconds": value }, value]);
    record["logs"] = json!([{ "run_id": value, "level": value, "text": value }, value]);
    record
}

/// No input of a server panics the command line: whatever all of its answers are, each command ends, done or refused.
#[test]
fn no_answer_of_a_server_makes_the_command_line_panic() {
    let nasty = "\0\n\u{1b}[2J日".repeat(20);
    let mut answers: Vec<Value> =
        vec![json!([]), json!("x"), json!({}), json!({ "data": [] }), json!({ "data": [1, "x", [], {}, null, [[]]], "page_info": [] })];
    for value in [json!(nasty), json!(i64::MIN), json!(i64::MAX), json!([[{ "a": { "": [] } }]])] {
        let record = record(&value);
        answers.push(json!({ "data": record, "page_info": { "total_count": value, "end_cursor": value }, "error": value, "code": value, "details": value }));
        answers.push(json!({ "data": vec![record; 3], "page_info": { "total_count": u64::MAX, "end_cursor": "x" } }));
    }
    let commands: &[&[&str]] = &[
        &["list", "sources"],
        &["list", "workflows"],
        &["list", "components"],
        &["list", "streams"],
        &["describe", "p_x"],
        &["describe", "dc_x"],
        &["events", "dc_x"],
        &["logs", "p_x"],
        &["runs", "list", "p_x"],
        &["runs", "list", "some name", "-n", "150"],
        &["runs", "show", "run_x"],
        &["runs", "cancel", "run_x"],
        &["runs", "replay", "run_x"],
        &["errors", "p_x"],
        &["run", "dc_x"],
        &["workflows", "list"],
        &["workflows", "describe", "p_x"],
        &["workflows", "deployments", "p_x"],
        &["workflows", "rollback", "p_x"],
        &["workflows", "test", "p_x"],
        &["workflows", "pull", "p_x"],
        &["workflows", "run", "p_x"],
        &["workflows", "runs", "p_x"],
        &["registry", "list"],
        &["registry", "search", "x"],
        &["registry", "update", "x"],
        &["subscriptions", "list"],
        &["accounts", "list"],
        &["apps", "x"],
        &["webhooks", "list"],
        &["keys", "list"],
        &["replays", "list"],
        &["replays", "show", "rpl_x"],
        &["replays", "groups"],
        &["data-stores", "list"],
        &["data-stores", "show", "ds_x"],
        &["data-stores", "get", "ds_x", "k"],
        &["files", "list"],
        &["files", "list", "s"],
        &["oauth-clients", "list"],
        &["export"],
        &["retention", "p_x"],
        &["organization"],
        &["audit"],
        &["mail"],
        &["mail", "m_x"],
        &["update", "dc_x", "--name", "y"],
        &["delete", "dc_x"],
        &["deploy", "some-key"],
    ];
    std::thread::scope(|scope| {
        for answer in &answers {
            let (text, refuses) = (answer.to_string(), answer["error"].is_string());
            let parity = text.len();
            scope.spawn(move || {
                let events =
                    format!("event: run\ndata: {0}\n\nevent: step\ndata: {0}\n\ndata: {0}\n\n", serde_json::from_str::<Value>(&text).expect("JSON")["data"]);
                let shell = Shell::alone();
                let asked = std::sync::atomic::AtomicUsize::new(0);
                let peer = Peer::start(move |head| match asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
                    // A stream that ends is asked for again, until it is refused.
                    at if head.contains("/sse") => {
                        if at % 2 == 0 {
                            Says::Status("404 Not Found")
                        } else {
                            Says::Events(events.clone())
                        }
                    }
                    at if refuses && at % 7 == 6 => Says::Status("422 Unprocessable Entity"),
                    _ => Says::Json(text.clone()),
                });
                for (at, args) in commands.iter().enumerate() {
                    // Half of them for programs.
                    let json: &[&str] = if (at + parity).is_multiple_of(2) { &["--json"] } else { &[] };
                    {
                        let done = run(&shell, &peer.url, &[json, args].concat());
                        let words: String = done.stderr.chars().take(2_000).collect();
                        assert!((0..=2).contains(&done.code) && !done.stderr.contains("panicked"), "{args:?} {json:?}: {} {words}", done.code);
                        assert!(json.is_empty() || !done.stdout.contains(['\0', '\u{1b}']), "{args:?}");
                    }
                }
            });
        }
    });
}

/// A server whose workflow has these files.
fn with_files(slug: &str, files: &[(&str, &str)], props: &Value) -> Peer {
    let others: serde_json::Map<String, Value> = files.iter().map(|(path, text)| ((*path).to_owned(), json!(text))).collect();
    let component = json!({ "code": "export default {}", "files": { "entry": "steps/a.mjs", "others": others }, "published": false });
    let step = json!({ "namespace": "a", "savedComponent": component, "configured_props_json": props.to_string() });
    let workflow = json!({ "data": { "id": "p_x", "name": "w", "name_slug": slug, "deployment_id": "d_x", "active": true } }).to_string();
    let deployment = json!({ "data": { "id": "d_x", "steps": [step], "triggers": [], "settings": {} } }).to_string();
    Peer::start(move |head| Says::Json(if head.contains("/deployments/") { deployment.clone() } else { workflow.clone() }))
}

fn is_empty(path: &Path) -> bool {
    std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}

#[test]
fn a_server_does_not_decide_where_the_command_line_writes() {
    for evil in [
        ".git/config",
        ".git/hooks/pre-commit.js",
        ".husky/a.js",
        "sub/.vscode/tasks.json",
        ".envrc",
        "node_modules/x/index.js",
        "../a.js",
        "/tmp/a.js",
        "a/../../b.js",
        "a\\b.js",
        "Makefile",
        "run.sh",
        "steps/.a.mjs",
        "a\u{1b}[2J.js",
    ] {
        let (shell, peer) = (Shell::alone(), with_files("w", &[(evil, "x")], &json!({})));
        let said = run(&shell, &peer.url, &["workflows", "pull", "p_x"]).fails(1);
        assert!(said.contains("is not written") && !said.contains('\u{1b}'), "{evil}: {said}");
        assert!(is_empty(&shell.path("")), "{evil}");
    }
    for slug in ["../out", "/tmp/out", ".git", "a/b", "", "..", "node_modules"] {
        let (shell, peer) = (Shell::alone(), with_files(slug, &[], &json!({})));
        run(&shell, &peer.url, &["workflows", "pull", "p_x"]).fails(1);
        assert!(is_empty(&shell.path("")), "{slug}");
    }
    // A variable of this machine, which the next deploy would send.
    let (shell, peer) = (Shell::alone(), with_files("w", &[], &json!({ "deep": [{ "$env": "AWS_SECRET_ACCESS_KEY" }] })));
    assert!(run(&shell, &peer.url, &["workflows", "pull", "p_x"]).fails(1).contains("AWS_SECRET_ACCESS_KEY"));
    assert!(is_empty(&shell.path("")));

    // Links and what is executable stay as they are, also with --force.
    let peer = with_files("w", &[("steps/b.mjs", "evil")], &json!({}));
    let shell = Shell::alone();
    shell.write(&[("outside/b.mjs", "mine"), ("w/.keep", "")]);
    std::os::unix::fs::symlink(shell.path("outside"), shell.path("w/steps")).expect("links");
    assert!(run(&shell, &peer.url, &["workflows", "pull", "p_x", "--force"]).fails(1).contains("is a link"));
    std::os::unix::fs::symlink(shell.path("outside"), shell.path("v")).expect("links");
    let peer_v = with_files("v", &[], &json!({}));
    assert!(run(&shell, &peer_v.url, &["workflows", "pull", "p_x", "--force"]).fails(1).contains("is a link"));
    assert_eq!(shell.read("outside/b.mjs"), "mine");
    let shell = Shell::alone();
    shell.write(&[("w/steps/b.mjs", "mine")]);
    std::fs::set_permissions(shell.path("w/steps/b.mjs"), std::fs::Permissions::from_mode(0o755)).expect("sets");
    assert!(run(&shell, &peer.url, &["workflows", "pull", "p_x", "--force"]).fails(1).contains("is executable"));
    assert_eq!(shell.read("w/steps/b.mjs"), "mine");

    let shell = Shell::alone();
    run(&shell, &peer.url, &["workflows", "pull", "p_x"]).ok();
    assert_eq!(shell.read("w/steps/b.mjs"), "evil", "code is written, and not run");
}

/// Where a registry is read from is remembered by the machine that read it: whoever else has a key changes only what is shown.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_does_not_decide_what_the_command_line_reads() {
    let server = Server::start().await;
    let (mine, other) = (Shell::new(&server), Shell::new(&server));
    let action = "export default { key: 'acme-do-thing', name: 'Do', version: '1.0.0', type: 'action', run() { return 1; } };";
    mine.write(&[
        ("tree/components/acme/actions/do-thing/do-thing.mjs", action),
        ("private/components/acme/actions/secret/secret.mjs", &action.replace("do-thing", "secret")),
    ]);
    let (tree, private) = (mine.path("tree"), mine.path("private"));
    mine.run(&["registry", "add", tree.to_str().expect("UTF-8"), "--name", "ours"]).ok();
    let shown = server.get("/registries").await.data()[0]["origin"].as_str().expect("an origin").to_owned();
    assert!(shown.starts_with("tree") && !shown.contains('/'), "{shown} tells nobody where the folder is");

    for evil in [
        private.to_str().expect("UTF-8").to_owned(),
        format!("file://{}/.git", private.display()),
        "git@127.0.0.1:x/y.git".into(),
        format!("{}/x.tar.gz", server.url),
        "../private".into(),
    ] {
        let archive = mine.run(&["registry", "update", "ours"]);
        archive.ok();
        let body = std::process::Command::new("tar").args(["-cz", "-C"]).arg(&tree).arg("components").output().expect("packs").stdout;
        let put = server.raw(Method::PUT, "/v1/registries/ours").bearer_auth(&server.api_key).query(&[("origin", evil.as_str())]);
        assert_eq!(millrace_tests::answer(put.header("content-type", "application/gzip").body(body)).await.status, 200, "{evil}");
        // Who added it reads what was added.
        mine.run(&["registry", "update", "ours"]).ok();
        // Who did not is asked, and reads nothing.
        let put = server.raw(Method::PUT, "/v1/registries/ours").bearer_auth(&server.api_key).query(&[("origin", evil.as_str())]);
        let body = std::process::Command::new("tar").args(["-cz", "-C"]).arg(&tree).arg("components").output().expect("packs").stdout;
        assert_eq!(millrace_tests::answer(put.header("content-type", "application/gzip").body(body)).await.status, 200);
        let said = other.run(&["registry", "update", "ours"]).fails(1);
        assert!(said.contains("not known on this machine") && said.contains("registry update NAME ORIGIN"), "{evil}: {said}");
        assert_eq!(server.get("/components/registry/acme-secret").await.status, 404, "{evil}");
    }
}
