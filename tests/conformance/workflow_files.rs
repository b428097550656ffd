//! Workflows as files (docs/guide/workflows.md): the form, `workflows init | deploy | pull | diff |
//! run | test | rollback`, and `dev`.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use millrace_tests::cli::Shell;
use millrace_tests::{Server, answer, endpoint};
use reqwest::Method;
use serde_json::json;

const GREET: &str = "import { word } from \"../lib/word.mjs\";\nexport default defineComponent({\n  props: { who: { type: \"string\", default: \"world\" } },\n  \
                     async run({ $ }) {\n    const text = `${word}, ${this.who}!`;\n    await $.respond({ status: 200, body: text });\n    return text;\n  },\n});\n";
const WORKFLOW: &str = "name: order mail\ntriggers:\n  - type: http\nsteps:\n  - namespace: greet\n    code_file: steps/greet.mjs\n    props:\n      who: \"{{steps.trigger.event.query.name ?? 'world'}}\"\n\
                        settings:\n  concurrency: 3\n  memory_mb: 128\n";

fn order_mail(shell: &Shell, folder: &str) {
    let file = |name: &str| format!("{folder}/{name}");
    shell.write(&[
        (&file("workflow.yaml"), WORKFLOW),
        (&file("steps/greet.mjs"), GREET),
        (&file("lib/word.mjs"), "export const word = \"Hello\";\n"),
    ]);
}

#[tokio::test]
async fn a_folder_is_deployed_pulled_and_compared() {
    let server = Server::shared().await;
    let shell = Shell::new(&server);
    order_mail(&shell, "a");
    let first = shell.run(&["workflows", "deploy", "a", "--json"]).json();
    assert_eq!(
        answer(server.raw(Method::GET, &format!("{}?name=Ann", endpoint(&first)))).await.text,
        "Hello, Ann!"
    );
    assert_eq!(
        (&first["settings"]["concurrency"], &first["settings"]["memory_mb"]),
        (&json!(3), &json!(128))
    );
    assert!(shell.run(&["workflows", "diff", "a"]).ok().is_empty());
    // What is pulled is the same, and is known to be the same workflow.
    shell.run(&["workflows", "pull", "order-mail", "--to", "b"]).ok();
    assert_eq!(
        (shell.read("b/steps/greet.mjs"), shell.read("b/lib/word.mjs")),
        (GREET.into(), shell.read("a/lib/word.mjs"))
    );
    assert!(shell.run(&["workflows", "diff", "b"]).ok().is_empty());
    // What the file no longer says is set back, and the address stays.
    let changed = WORKFLOW.replace("order mail", "mails").replace("  memory_mb: 128\n", "");
    shell.write(&[
        ("b/workflow.yaml", &changed),
        ("b/lib/word.mjs", "export const word = \"Bye\";\n"),
    ]);
    let difference = shell.run(&["workflows", "diff", "b"]);
    assert_eq!(difference.code, 1);
    for line in [
        "-name: order mail",
        "+name: mails",
        "-  memory_mb: 128",
        "-export const word = \"Hello\";",
        "+export const word = \"Bye\";",
    ] {
        assert!(difference.stdout.lines().any(|l| l == line), "{line}: {}", difference.stdout);
    }
    let second = shell.run(&["workflows", "deploy", "b", "--json"]).json();
    assert_eq!(
        (&second["id"], endpoint(&second), &second["settings"]["memory_mb"]),
        (&first["id"], endpoint(&first), &json!(null))
    );
    assert_eq!(answer(server.raw(Method::GET, &endpoint(&first))).await.text, "Bye, world!");
    // Files that are there and say otherwise are not written over.
    let refused = shell.run(&["workflows", "pull", "mails", "--to", "a"]).fails(1);
    assert!(
        refused.contains("lib/word.mjs` exists with other content") && refused.contains("--force"),
        "{refused}"
    );
    assert!(shell.read("a/workflow.yaml") == WORKFLOW, "nothing was written");
    shell
        .run(&["workflows", "pull", second["id"].as_str().expect("an id"), "--to", "a", "--force"])
        .ok();
    assert!(shell.run(&["workflows", "diff", "a"]).ok().is_empty());
    // Back to the version before.
    shell.run(&["workflows", "rollback", "b"]).ok();
    assert_eq!(answer(server.raw(Method::GET, &endpoint(&first))).await.text, "Hello, world!");
    assert_eq!(shell.run(&["workflows", "diff", "b"]).code, 1);
    let versions = shell.run(&["workflows", "deployments", "b", "--json"]).json();
    assert_eq!(versions.as_array().map(Vec::len), Some(3));
    let unknown = shell.run(&["workflows", "rollback", "b", "7"]).fails(1);
    assert!(unknown.contains("no deployment `7`"), "{unknown}");
    shell.run(&["workflows", "delete", "b"]).ok();
    assert!(shell.run(&["workflows", "diff", "b"]).fails(1).contains("is not deployed"));
}

#[tokio::test]
async fn notes_and_tags_go_with_the_folder_and_stay_where_it_says_nothing_of_them() {
    let server = Server::shared().await;
    let shell = Shell::new(&server);
    order_mail(&shell, "n");
    let noted = WORKFLOW
        .replace("order mail", "noted")
        .replace("    code_file", "    note: greets politely\n    code_file");
    shell.write(&[(
        "n/workflow.yaml",
        &format!("{noted}note: for Ann\ntags: [shop, new orders]\n"),
    )]);
    let made = shell.run(&["workflows", "deploy", "n", "--json"]).json();
    assert_eq!(
        (&made["note"], &made["tags"], &made["steps"][0]["note"]),
        (&json!("for Ann"), &json!(["shop", "new orders"]), &json!("greets politely"))
    );
    assert!(shell.run(&["workflows", "diff", "n"]).ok().is_empty());
    shell.run(&["workflows", "pull", "noted", "--to", "m"]).ok();
    assert!(shell.run(&["workflows", "diff", "m"]).ok().is_empty());
    let pulled = shell.read("m/workflow.yaml");
    assert!(
        ["note: for Ann", "- new orders", "note: greets politely"]
            .iter()
            .all(|part| pulled.contains(part)),
        "{pulled}"
    );
    // A file that says nothing of them leaves them, and says nothing of them as a difference.
    shell.write(&[("n/workflow.yaml", &noted)]);
    assert!(shell.run(&["workflows", "diff", "n"]).ok().is_empty());
    assert_eq!(
        shell.run(&["workflows", "deploy", "n", "--json"]).json()["tags"],
        json!(["shop", "new orders"])
    );
    shell.write(&[(
        "n/workflow.yaml",
        &format!("{}tags: []\n", noted.replace("politely", "briefly")),
    )]);
    let difference = shell.run(&["workflows", "diff", "n"]).stdout;
    assert!(
        difference.contains("note: greets briefly")
            && difference.lines().any(|line| line.starts_with('-') && line.ends_with("- shop")),
        "{difference}"
    );
    shell.write(&[("n/workflow.yaml", &format!("{noted}tags: shop\n"))]);
    assert!(shell.run(&["workflows", "deploy", "n"]).fails(1).contains("`tags` is a text"));
}

#[tokio::test]
async fn init_writes_a_workflow_that_runs_and_json_does_as_well_as_yaml() {
    let server = Server::shared().await;
    let shell = Shell::new(&server);
    shell.run(&["workflows", "init", "Say Hello"]).ok();
    assert!(shell.run(&["workflows", "init", "Say Hello"]).fails(1).contains("is there already"));
    let workflow = shell.run(&["workflows", "deploy", "say-hello", "--json"]).json();
    assert_eq!(
        answer(server.raw(Method::GET, &format!("{}?name=Ann", endpoint(&workflow)))).await.text,
        "Hello, Ann!\n"
    );
    // The same in JSON, code and all in the file.
    shell.write(&[(
        "j/workflow.json",
        r#"{"name": "in-json", "steps": [{"namespace": "a", "code": "export default defineComponent({ run() { return 7; } });"}]}"#,
    )]);
    let json = shell.run(&["workflows", "deploy", "j", "--json"]).json();
    assert_eq!(json["name"], "in-json");
    assert!(shell.run(&["workflows", "diff", "j"]).ok().is_empty());
    shell.run(&["workflows", "init", "Clock", "--timer"]).ok();
    assert_eq!(
        shell.run(&["workflows", "deploy", "clock", "--json"]).json()["triggers"][0]["interval_seconds"],
        60
    );
    assert!(shell.run(&["workflows", "diff", "clock"]).ok().is_empty());
}

#[tokio::test]
async fn run_is_live_and_test_is_of_the_folder() {
    let server = Server::shared().await;
    let shell = Shell::new(&server);
    let code = "export default defineComponent({ run({ steps }) { if (steps.trigger.event.fail) throw new TypeError('asked to'); return steps.trigger.event.n + 1; } });";
    shell.write(&[
        (
            "w/workflow.yaml",
            "steps:\n  - { namespace: one, code_file: one.mjs }\n  - { namespace: two, code: 'export default defineComponent({ run() { return 2; } });' }\n",
        ),
        ("w/one.mjs", code),
    ]);
    // Not deployed: the test runs all the same, and leaves no workflow.
    let test = shell.run(&["workflows", "test", "w", "--event", "{\"n\": 1}", "--json"]).json();
    assert_eq!(
        (
            &test["kind"],
            &test["steps"][0]["exports"]["$return_value"],
            test["steps"].as_array().map(Vec::len)
        ),
        (&json!("test"), &json!(2), Some(2))
    );
    assert_eq!(server.get("/workflows").await.json["page_info"]["total_count"], 0);
    let only = shell
        .run(&["workflows", "test", "w", "--event", "{\"n\": 1}", "--up-to", "one", "--json"])
        .json();
    assert_eq!(only["steps"].as_array().map(Vec::len), Some(1));
    shell.run(&["workflows", "deploy", "w"]).ok();
    let id = shell.run(&["workflows", "list", "--json"]).json()[0]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    // An event from a file, from standard input; steps are told as they end.
    shell.write(&[("event.json", "{\"n\": 40}")]);
    let run = shell.run(&["workflows", "run", "w", "--event", "@event.json"]);
    assert!(run.stderr.contains("one") && run.stderr.contains("41"), "{run:?}");
    assert!(run.ok().contains("status: succeeded"));
    let run = shell.run_with(&["run", "w", "--event", "-", "--json"], "{\"n\": 1}").json();
    assert_eq!((&run["kind"], &run["status"]), (&json!("live"), &json!("succeeded")));
    // A test of changed code changes nothing, and its error is told nobody.
    shell.write(&[("w/one.mjs", &code.replace("+ 1", "+ 100"))]);
    assert_eq!(
        shell.run(&["workflows", "test", "w", "--event", "{\"n\": 1}", "--json"]).json()["steps"]
            [0]["exports"]["$return_value"],
        101
    );
    let failed = shell.run(&["workflows", "test", "w", "--event", "{\"fail\": true}"]).fails(1);
    assert!(failed.contains("TypeError: asked to"), "{failed}");
    assert_eq!(
        server.get(&format!("/workflows/{id}/$errors/event_summaries")).await.json["page_info"]["total_count"],
        0
    );
    assert_eq!(
        shell.run(&["workflows", "run", "w", "--event", "{\"n\": 1}", "--json"]).json()["steps"][0]
            ["exports"]["$return_value"],
        2
    );
    assert!(
        shell
            .run(&["workflows", "run", "w", "--event", "{\"fail\": true}"])
            .fails(1)
            .contains("TypeError: asked to")
    );
    assert!(shell.run(&["workflows", "run", "w", "--event", "{"]).fails(2).contains("not JSON"));
    let started = shell
        .run(&["workflows", "run", "w", "--event", "{\"n\": 5}", "--no-wait", "--json"])
        .json();
    let path = format!("/runs/{}", started["id"].as_str().expect("an id"));
    server.until("the run", &path, |r| r["data"]["status"] == "succeeded").await;
    // Only a key that may deploy brings code of its own.
    let key = server.post("/api_keys", &json!({ "name": "k", "scopes": ["invoke"] })).await.data();
    let body = json!({ "steps": [{ "namespace": "a", "code": "export default defineComponent({ run() {} });" }] });
    let refused = server
        .call_as(key["key"].as_str().expect("a key"), Method::POST, "/workflows/test", Some(&body))
        .await;
    assert_eq!(refused.status, 403);
}

#[tokio::test]
async fn a_wrong_file_is_refused_with_its_lines_and_makes_nothing() {
    let server = Server::shared().await;
    let shell = Shell::new(&server);
    let cases = [
        (
            "steps:\n  - namespace: a\n    cod: x\n",
            "line 3: `steps[0]` has no field `cod`; allowed are namespace, code_file",
        ),
        ("steps:\n  - namespace: a\n    code_file: gone.mjs\n", "line 3: could not read"),
        (
            "steps: []\nsettings:\n  timeout_ms: soon\n",
            "line 3: `settings.timeout_ms` is a text; allowed are 1 to 750000, or false",
        ),
        (
            "steps: []\ntriggers:\n  - type: mail\n",
            "line 3: `triggers[0]` has the type `mail`; allowed are http, timer, source",
        ),
        ("steps: [\n", "it is not YAML"),
        ("name: a\nname: b\nsteps: []\n", "line 2: it is not YAML"),
    ];
    for (index, (text, expected)) in cases.iter().enumerate() {
        let folder = format!("w{index}");
        shell.write(&[(&format!("{folder}/workflow.yaml"), text)]);
        let error = shell.run(&["workflows", "deploy", &folder]).fails(1);
        assert!(error.contains(expected), "{text}: {error}");
    }
    assert!(shell.run(&["workflows", "deploy", "nowhere"]).fails(1).contains("could not read"));
    // Whoever it names is looked for before anything is made.
    shell.write(&[
        ("h/workflow.yaml", "steps: []\nerror_handler: nobody\n"),
        ("t/workflow.yaml", "steps: []\ntriggers: [{ type: source, source: nothing }]\n"),
    ]);
    assert!(shell.run(&["workflows", "deploy", "h"]).fails(1).contains("`nobody`"));
    assert!(shell.run(&["workflows", "deploy", "t"]).fails(1).contains("`nothing`"));
    assert_eq!(server.get("/workflows").await.json["page_info"]["total_count"], 0);
    // The schema that is printed is the published one.
    let published = std::fs::read_to_string(
        std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../crates/cli/schemas/workflow.schema.json"),
    )
    .expect("reads");
    assert_eq!(shell.run(&["workflows", "schema"]).ok(), published);
}

#[tokio::test]
async fn triggers_name_sources_and_files_name_listeners() {
    let server = Server::shared().await;
    let shell = Shell::new(&server);
    let source = "export default { name: 'Feed', version: '0.0.1', key: 'acme-feed', type: 'source', props: { n: 'integer' }, run(e) { this.$emit({ n: this.n + e.n }); } };";
    shell.write(&[("feed.mjs", source), ("handler/workflow.yaml", "steps: []\n")]);
    shell.run(&["publish", "feed.mjs"]).ok();
    let other =
        shell.run(&["deploy", "acme-feed", "--name", "other", "--prop", "n=1", "--json"]).json();
    let handler = shell.run(&["workflows", "deploy", "handler", "--json"]).json();
    let step = "steps: [{ namespace: a, code: 'export default defineComponent({ run({ steps }) { if (steps.trigger.event.n > 50) throw new Error(\"n\"); return steps.trigger.event.n; } });' }]\n";
    let by_key = |n: u32| {
        format!(
            "triggers:\n  - {{ type: source, source: other }}\n  - {{ type: source, key: acme-feed, name: own, props: {{ n: {n} }} }}\n{step}subscriptions: [{{ emitter: handler, event_name: done }}]\nerror_handler: handler\n"
        )
    };
    shell.write(&[("w/workflow.yaml", &by_key(10))]);
    let workflow = shell.run(&["workflows", "deploy", "w", "--json"]).json();
    let id = workflow["id"].as_str().expect("an id");
    assert!(shell.run(&["workflows", "diff", "w"]).ok().is_empty());
    let own = workflow["triggers"][1]["id"].as_str().expect("a source").to_owned();
    for (source, expected) in [(own.as_str(), 11), (other["id"].as_str().expect("an id"), 2)] {
        server
            .post(&format!("/sources/{source}/run"), &json!({ "event": { "n": 1 } }))
            .await
            .data();
        let is_it = |l: &serde_json::Value| {
            l["data"][0]["steps"][0]["exports"]["$return_value"] == expected
        };
        server.until("a run", &format!("/workflows/{id}/runs?status=succeeded"), is_it).await;
    }
    // The trigger's own source is changed, not made anew; it goes with its trigger.
    shell.write(&[("w/workflow.yaml", &by_key(60))]);
    assert_eq!(
        shell.run(&["workflows", "deploy", "w", "--json"]).json()["triggers"][1]["id"],
        own.as_str()
    );
    server.post(&format!("/sources/{own}/run"), &json!({ "event": { "n": 1 } })).await.data();
    let handled =
        format!("/workflows/{}/runs?status=succeeded", handler["id"].as_str().expect("an id"));
    server.until("the handler's run", &handled, |l| l["page_info"]["total_count"] == 1).await;
    let listeners = |list: serde_json::Value| {
        list["data"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|s| (s["emitter_id"].clone(), s["event_name"].clone()))
            .collect::<Vec<_>>()
    };
    assert!(
        listeners(server.get("/users/me/subscriptions").await.json)
            .contains(&(handler["id"].clone(), json!("done")))
    );
    shell.write(&[("w/workflow.yaml", &format!("triggers: [{{ type: source, source: other }}]\n{step}subscriptions: []\nerror_handler: false\n"))]);
    shell.run(&["workflows", "deploy", "w"]).ok();
    assert_eq!(server.get(&format!("/sources/{own}")).await.status, 404);
    assert_eq!(
        listeners(server.get("/users/me/subscriptions").await.json),
        [(other["id"].clone(), json!(""))]
    );
}

#[tokio::test]
async fn a_file_says_who_may_call_and_keeps_the_secret_out_of_itself() {
    let server = Server::shared().await;
    let shell = Shell::new(&server);
    let file =
        |auth: &str| format!("triggers:\n  - type: http\n    props: {{ {auth} }}\nsteps: []\n");
    shell.write(&[(
        "w/workflow.yaml",
        &file("auth: { type: bearer, token: { $env: ORDER_TOKEN } }"),
    )]);
    assert!(
        shell
            .run(&["workflows", "deploy", "w"])
            .fails(1)
            .contains("the environment variable `ORDER_TOKEN`")
    );
    let mut command = shell.command(&["workflows", "deploy", "w", "--json"]);
    let output = command.env("ORDER_TOKEN", "s3cret-token").output().expect("runs");
    assert!(output.status.success(), "{output:?}");
    let workflow: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let status = |token: Option<&'static str>| {
        let request = server.raw(Method::GET, &endpoint(&workflow));
        async move {
            answer(match token {
                Some(token) => request.bearer_auth(token),
                None => request,
            })
            .await
            .status
        }
    };
    assert_eq!((status(None).await, status(Some("s3cret-token")).await), (401, 200));
    assert!(shell.run(&["workflows", "diff", "w"]).ok().is_empty());
    // What is pulled has no secret, and keeps the one that is there.
    shell.run(&["workflows", "pull", "w", "--to", "p"]).ok();
    assert!(
        shell.read("p/workflow.yaml").contains("bearer")
            && !shell.read("p/workflow.yaml").contains("s3cret")
    );
    shell.run(&["workflows", "deploy", "p"]).ok();
    assert_eq!((status(None).await, status(Some("s3cret-token")).await), (401, 200));
    // A file that says nothing of it lets everybody in.
    shell.write(&[("w/workflow.yaml", &file("customResponse: false"))]);
    shell.run(&["workflows", "deploy", "w"]).ok();
    assert_eq!(status(None).await, 200);
}

/// `dev`, with what it says line by line.
pub(crate) struct Dev {
    child: Child,
    lines: Receiver<String>,
    seen: Vec<String>,
}

impl Dev {
    pub(crate) fn start(shell: &Shell, args: &[&str]) -> Self {
        let mut child = shell
            .command(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("starts");
        let (send, lines) = channel();
        let (stdout, stderr) =
            (child.stdout.take().expect("piped"), child.stderr.take().expect("piped"));
        let both: [Box<dyn std::io::Read + Send>; 2] = [Box::new(stdout), Box::new(stderr)];
        for pipe in both {
            let send = send.clone();
            std::thread::spawn(move || {
                BufReader::new(pipe)
                    .lines()
                    .map_while(Result::ok)
                    .for_each(|line| drop(send.send(line)))
            });
        }
        Self { child, lines, seen: Vec::new() }
    }

    /// Waits for a line, and gives it.
    pub(crate) fn until(&mut self, part: &str) -> String {
        let deadline = Instant::now() + Duration::from_secs(60);
        while let Ok(line) =
            self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now()))
        {
            self.seen.push(line.clone());
            if line.contains(part) {
                return line;
            }
        }
        panic!("no line with `{part}`: {:#?}", self.seen)
    }
}

impl Drop for Dev {
    fn drop(&mut self) {
        self.child.kill().expect("kills");
        self.child.wait().expect("reaps");
    }
}

#[tokio::test]
async fn dev_redeploys_a_folder_on_each_save_and_shows_its_runs() {
    let server = Server::shared().await;
    let shell = Shell::new(&server);
    order_mail(&shell, "w");
    // What is wrong at first is told, and mended by a save.
    shell.write(&[("w/workflow.yaml", "stepz: []\n")]);
    let mut dev = Dev::start(&shell, &["dev", "w"]);
    dev.until("no field `stepz`");
    shell.write(&[("w/workflow.yaml", WORKFLOW)]);
    let url = dev.until("endpoint: ").replace("endpoint: ", "");
    dev.until("watching");
    assert_eq!(
        answer(server.raw(Method::GET, &format!("{url}?name=Ann"))).await.text,
        "Hello, Ann!"
    );
    dev.until("✓ greet");
    dev.until("succeeded");
    // An imported file counts as well; a syntax error leaves the version before it running.
    shell.write(&[("w/lib/word.mjs", "export const word = ;\n")]);
    dev.until("error:");
    assert_eq!(answer(server.raw(Method::GET, &url)).await.text, "Hello, world!");
    shell.write(&[("w/lib/word.mjs", "export const word = \"Bye\";\n")]);
    dev.until("redeployed");
    assert_eq!(answer(server.raw(Method::GET, &url)).await.text, "Bye, world!");
    shell.write(&[("w/steps/greet.mjs", "export default defineComponent({ run() { console.log('a line'); throw new TypeError('oops'); } });\n")]);
    dev.until("redeployed");
    answer(server.raw(Method::GET, &url)).await;
    // The line of the log and the run come by two ways, in either order.
    dev.until("TypeError: oops");
    server.until("one workflow", "/workflows", |l| l["page_info"]["total_count"] == 1).await;
}
