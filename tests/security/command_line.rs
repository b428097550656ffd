//! The command line beside a server, or others with a key of it, who want to harm the person that
//! uses it.

use std::path::Path;
use std::process::Command;

use millrace_tests::binary;
use millrace_tests::cli::{Done, Shell};
use millrace_tests::peer::{Peer, Says};
use millrace_tests::terminal::Terminal;
use serde_json::{Value, json};

/// Runs a command that is ended where it goes on.
pub(crate) fn run(shell: &Shell, url: &str, args: &[&str]) -> Done {
    let command = shell.command(args);
    let mut timed = Command::new("timeout");
    // What goes on until it is ended is ended soon.
    timed
        .arg(if goes_on(args) { "5" } else { "60" })
        .arg(binary())
        .args(args)
        .current_dir(command.get_current_dir().expect("a folder"))
        .env_clear();
    timed.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    timed
        .env("MILLRACE_URL", url)
        .env("MILLRACE_API_KEY", "millrace_x")
        .stdin(std::process::Stdio::null())
        .output()
        .expect("runs")
        .into()
}

pub(crate) fn goes_on(args: &[&str]) -> bool {
    args.contains(&"dev")
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
    record["error"] =
        json!({ "code": "\0".repeat(200), "message": "\0".repeat(20_000), "stack": value });
    record["runs"] = json!({ "succeeded": i64::MAX, "failed": i64::MAX, "cancelled": i64::MAX, "unfinished": 0 });
    record["orgs"] = json!([{ "id": value, "name": value }]);
    record["steps"] = json!([{ "namespace": value, "status": "failed", "exports": { "$summary": value, "$return_value": value }, "configured_props_json": value, "savedComponent": { "code": value, "files": value, "configurableProps": [value] } }, value]);
    record["triggers"] = json!([{ "type": "http", "endpoint_url": value, "auth": value }, { "type": "timer", "cron": value, "interval_seconds": value }, value]);
    record["logs"] = json!([{ "run_id": value, "level": value, "text": value }, value]);
    record
}

/// Files that commands read.
pub(crate) const FILES: &[(&str, &str)] = &[
    (
        "a.mjs",
        "export default { name: 'a', key: 'a-b', version: '1', type: 'action', props: { p: { type: 'string' } }, run() {} };",
    ),
    (
        "s.mjs",
        "export default { name: 's', version: '1', props: { p: { type: 'string' } }, run() {} };",
    ),
    ("folder/workflow.yaml", "name: w\nsteps:\n  - namespace: a\n    code: a.mjs\n"),
    ("folder/a.mjs", "export default defineComponent({ run() {} });"),
    ("project/millrace.yaml", "name: shop\nsources:\n  - path: s.mjs\n"),
    ("project/s.mjs", "export default { name: 's', version: '1', run() {} };"),
    (
        "tree/components/acme/actions/do-thing/do-thing.mjs",
        "export default { key: 'acme-do-thing', name: 'Do', version: '1.0.0', type: 'action', run() {} };",
    ),
];

/// Every command that asks a server, and those that would if they were not wrong.
pub(crate) const COMMANDS: &[&[&str]] = &[
    &["list", "sources"],
    &["list", "workflows"],
    &["list", "components"],
    &["list", "streams"],
    &["list"],
    &["describe", "p_x"],
    &["describe", "dc_x"],
    &["find", "x"],
    &["system"],
    &["events", "dc_x"],
    &["logs", "p_x"],
    &["runs", "list", "p_x"],
    &["runs", "list", "some name", "-n", "150"],
    &["runs", "search", "x"],
    &["runs", "show", "run_x"],
    &["runs", "resume", "run_x"],
    &["runs", "cancel", "run_x"],
    &["runs", "cancel-waiting", "p_x"],
    &["runs", "replay", "run_x"],
    &["errors", "p_x"],
    &["errors", "--groups"],
    &["error-groups", "show", "eg_x"],
    &["error-groups", "resolve", "eg_x"],
    &["error-groups", "ignore", "eg_x"],
    &["error-groups", "reopen", "eg_x"],
    &["run", "dc_x"],
    &["sources", "deployments", "dc_x"],
    &["sources", "rollback", "dc_x"],
    &["sources", "emit", "dc_x", "--event", "{}"],
    &["sources", "resend", "dc_x", "1-0"],
    &["workflows", "list"],
    &["workflows", "describe", "p_x"],
    &["workflows", "deployments", "p_x"],
    &["workflows", "rollback", "p_x"],
    &["workflows", "deploy", "folder"],
    &["workflows", "diff", "folder"],
    &["workflows", "diff", "folder", "p_x"],
    &["workflows", "test", "p_x"],
    &["workflows", "test", "folder"],
    &["workflows", "pull", "p_x"],
    &["workflows", "pull", "p_x", "--force"],
    &["workflows", "run", "p_x"],
    &["workflows", "runs", "p_x"],
    &["workflows", "delete", "p_x"],
    &["registry", "list"],
    &["registry", "show", "x"],
    &["registry", "add", "tree"],
    &["registry", "search", "x"],
    &["registry", "update", "x"],
    &["registry", "update", "x", "tree"],
    &["registry", "remove", "x"],
    &["subscriptions", "list"],
    &["subscriptions", "add", "dc_x", "p_x"],
    &["subscriptions", "delete", "dc_x", "p_x"],
    &["accounts", "list"],
    &["accounts", "add", "acme"],
    &["accounts", "show", "apn_x"],
    &["accounts", "uses", "apn_x"],
    &["accounts", "check", "apn_x"],
    &["accounts", "update", "apn_x", "--name", "n"],
    &["accounts", "delete", "apn_x"],
    &["apps", "x"],
    &["webhooks", "list"],
    &["webhooks", "add", "http://127.0.0.1:9/"],
    &["webhooks", "show", "wh_x"],
    &["webhooks", "deliveries", "wh_x"],
    &["webhooks", "delivery", "wh_x", "whd_x"],
    &["webhooks", "replay", "wh_x"],
    &["webhooks", "delete", "wh_x"],
    &["keys", "list"],
    &["keys", "create", "k", "--scope", "read"],
    &["keys", "rotate", "ak_x"],
    &["keys", "revoke", "ak_x"],
    &["setup-link"],
    &["replays", "list"],
    &["replays", "start", "p_x"],
    &["replays", "start", "p_x", "--dry-run"],
    &["replays", "show", "rpl_x"],
    &["replays", "runs", "rpl_x"],
    &["replays", "pause", "rpl_x"],
    &["replays", "resume", "rpl_x", "--detach"],
    &["replays", "cancel", "rpl_x"],
    &["data-stores", "list"],
    &["data-stores", "create", "s"],
    &["data-stores", "show", "ds_x"],
    &["data-stores", "get", "ds_x", "k"],
    &["data-stores", "set", "ds_x", "k", "1"],
    &["data-stores", "delete", "ds_x", "k"],
    &["files", "list"],
    &["files", "list", "s"],
    &["files", "get", "s", "p"],
    &["files", "put", "s", "a.mjs"],
    &["files", "delete", "s", "p"],
    &["oauth-clients", "list"],
    &["oauth-clients", "create", "c", "--scope", "read"],
    &["oauth-clients", "delete", "oc_x"],
    &["export"],
    &["retention", "p_x"],
    &["organization"],
    &["audit"],
    &["mail"],
    &["mail", "m_x"],
    &["update", "dc_x", "--name", "y"],
    &["delete", "dc_x"],
    &["deploy", "some-key"],
    &["deploy", "s.mjs"],
    &["publish", "a.mjs"],
    &["unpublish", "a-b"],
    &["apply", "project", "--dry-run"],
    &["apply", "project", "--yes", "--prune", "--adopt"],
    &["dev", "s.mjs"],
    &["dev", "folder"],
    &["login"],
    &["profile", "list"],
];

/// Commands that ask no server: they work on this machine, or are the server.
const ASK_NOBODY: &[&str] = &[
    "serve",
    "backup",
    "restore",
    "doctor",
    "completions",
    "logout",
    "profile use",
    "init",
    "workflows init",
    "workflows schema",
];

/// Whether a text holds what steers a terminal: none of our own colours, as no terminal is there.
pub(crate) fn steers(text: &str) -> bool {
    text.chars().any(|c| {
        (c.is_control() && c != '\n' && c != '\t')
            || ('\u{202a}'..='\u{202e}').contains(&c)
            || ('\u{2066}'..='\u{2069}').contains(&c)
    })
}

/// Files below a folder, by their path there.
pub(crate) fn names_below(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(next) = waiting.pop() {
        for entry in std::fs::read_dir(&next).expect("reads").flatten() {
            let path = entry.path();
            if path.is_dir() && !path.is_symlink() {
                waiting.push(path)
            } else {
                found.push(path.strip_prefix(folder).expect("is below").display().to_string())
            }
        }
    }
    found
}

/// What a person wrote, and what the command line keeps of its own.
fn may_be_there(name: &str) -> bool {
    FILES.iter().any(|(file, _)| *file == name) || name.starts_with(".config/millrace/")
}

/// What `--help` lists below a command, down to those that do something.
fn leaves(shell: &Shell, of: &[&str]) -> Vec<String> {
    let help = shell.run(&[of, &["--help"]].concat()).ok();
    let listed = help.split_once("\nCommands:\n").map_or("", |(_, rest)| rest);
    let names: Vec<&str> = listed
        .lines()
        .take_while(|line| line.starts_with("  "))
        .filter(|line| line.as_bytes().get(2).is_some_and(u8::is_ascii_lowercase))
        .filter_map(|line| line.split_whitespace().next().filter(|name| *name != "help"))
        .collect();
    if names.is_empty() {
        vec![of.join(" ")]
    } else {
        names.iter().flat_map(|name| leaves(shell, &[of, &[*name]].concat())).collect()
    }
}

#[test]
fn every_command_is_tried_beside_a_hostile_server() {
    let all = leaves(&Shell::alone(), &[]);
    assert!(all.len() > 90, "{all:?}");
    let is_tried = |leaf: &String| {
        COMMANDS
            .iter()
            .any(|args| args.join(" ") == *leaf || args.join(" ").starts_with(&format!("{leaf} ")))
    };
    let asks = |leaf: &&String| !ASK_NOBODY.contains(&leaf.as_str()) && !is_tried(leaf);
    assert_eq!(all.iter().filter(asks).collect::<Vec<_>>(), [""; 0]);
}

/// What a person sees on a terminal, questions among it, is steered by the command line alone.
#[test]
fn no_answer_of_a_server_steers_a_terminal() {
    let evil = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}2J\u{202e}x";
    let field = json!({ "name": evil, "label": evil, "description": evil, "default": evil, "type": "string", "optional": true });
    let option = json!({ "label": evil, "value": evil });
    let mut prop = field.clone();
    prop["options"] = json!([option, evil]);
    let missing = json!({ "error": evil, "code": "missing_props", "details": { "props": [{ "prop": evil, "problem": evil }], "configurable_props": [prop] } });
    let record = json!({ "data": { "id": evil, "name": evil, "name_slug": evil, "custom_fields": [field], "configurable_props": [prop], "auth_type": "keys", "type": evil, "status": evil } });
    for args in [
        &["accounts", "add", "acme"][..],
        &["deploy", "s.mjs"],
        &["describe", "dc_x"],
        &["list", "sources"],
        &["files", "get", "s", "p"],
        &["data-stores", "get", "ds_x", "k"],
        &["runs", "show", "run_x"],
        &["apply", "project"],
        &["export"],
    ] {
        for refuses in [false, true] {
            let text = if refuses { missing.to_string() } else { record.to_string() };
            let head = "HTTP/1.1 200 OK\r\ncontent-disposition: attachment\r\n\r\n";
            let raw = [head, evil].concat().into_bytes();
            let peer = Peer::start(move |head| match head {
                _ if head.contains("/content") => Says::Raw(raw.clone()),
                _ if refuses && head.starts_with("POST") => {
                    Says::Refuses("422 Unprocessable Entity", text.clone())
                }
                _ => Says::Json(text.clone()),
            });
            let shell = Shell::alone();
            shell.write(FILES);
            let mut command = shell.command(args);
            command.env("MILLRACE_URL", &peer.url).env("MILLRACE_API_KEY", "millrace_x");
            let mut terminal = Terminal::start(command);
            // It waits for an answer, or has ended.
            terminal.types("\r\r\r\r\u{3}");
            let (_, shown) = terminal.ends();
            let is_evil = ["\u{1b}]", "\u{7}", "\u{1b}[2J", "\u{9b}", "\u{202e}"]
                .iter()
                .find(|part| shown.contains(**part));
            assert!(is_evil.is_none(), "{args:?}: {shown:?}");
        }
    }
}

/// No input of a server panics the command line: whatever all of its answers are, each command
/// ends, done or refused.
#[test]
fn no_answer_of_a_server_makes_the_command_line_panic() {
    let nasty = "\0\n\u{1b}[2J日".repeat(20);
    let mut answers: Vec<Value> = vec![
        json!([]),
        json!("x"),
        json!({}),
        json!({ "data": [] }),
        json!({ "data": [1, "x", [], {}, null, [[]]], "page_info": [] }),
    ];
    for value in [json!(nasty), json!(i64::MIN), json!(i64::MAX), json!([[{ "a": { "": [] } }]])] {
        let record = record(&value);
        answers.push(json!({ "data": record, "page_info": { "total_count": value, "end_cursor": value }, "error": value, "code": value, "details": value }));
        answers.push(json!({ "data": vec![record; 3], "page_info": { "total_count": u64::MAX, "end_cursor": "x" } }));
    }
    std::thread::scope(|scope| {
        for answer in &answers {
            let (text, refuses) = (answer.to_string(), answer["error"].is_string());
            let parity = text.len();
            scope.spawn(move || {
                let events = format!(
                    "event: run\ndata: {0}\n\nevent: step\ndata: {0}\n\ndata: {0}\n\n",
                    serde_json::from_str::<Value>(&text).expect("JSON")["data"]
                );
                let shell = Shell::alone();
                let asked = std::sync::atomic::AtomicUsize::new(0);
                let peer = Peer::start(move |head| {
                    match asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
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
                    }
                });
                shell.write(FILES);
                for (at, args) in COMMANDS.iter().enumerate() {
                    // Half of them for programs.
                    let json: &[&str] =
                        if (at + parity).is_multiple_of(2) { &["--json"] } else { &[] };
                    {
                        let done = run(&shell, &peer.url, &[json, args].concat());
                        let words: String = done.stderr.chars().take(2_000).collect();
                        let has_ended =
                            (0..=2).contains(&done.code) || (goes_on(args) && done.code == 124);
                        assert!(
                            has_ended && !done.stderr.contains("panicked"),
                            "{args:?} {json:?}: {} {words}",
                            done.code
                        );
                        // A file's bytes are what was asked for.
                        let is_raw = args.starts_with(&["files", "get"]);
                        assert!(
                            is_raw || !steers(&done.stdout),
                            "{args:?} {json:?}: {:?}",
                            done.stdout.chars().take(2_000).collect::<String>()
                        );
                        assert!(!steers(&done.stderr), "{args:?} {json:?}: {words:?}");
                        let there = names_below(&shell.path(""));
                        assert!(
                            there.iter().all(|name| may_be_there(name)),
                            "{args:?} {json:?}: {there:?}"
                        );
                    }
                }
            });
        }
    });
}
