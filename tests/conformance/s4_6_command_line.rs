//! Chapter 4.6: operations of the command line; reference 5 sharpens them.

use millrace_tests::cli::Shell;
use millrace_tests::{Server, endpoint, id};
use serde_json::{Value, json};

use crate::r2_endpoints::files::serve;
use crate::workflow_files::Dev;

fn counter(version: u32) -> String {
    format!(
        "export default {{ name: 'Counter', version: '0.0.{version}', key: 'acme-counter', type: 'source', run(event) {{
           console.log('version {version}'); for (let n = 0; n < (event.count ?? 1); n++) this.$emit({{ version: {version}, n }}); }} }};"
    )
}

#[tokio::test]
async fn s4_6_dev_deploys_redeploys_on_each_save_and_survives_a_syntax_error() {
    let server = Server::shared().await;
    let shell = Shell::new(&server);
    shell.write(&[("counter.mjs", &counter(1))]);
    let mut dev = Dev::start(&shell, &["dev", "counter.mjs"]);
    dev.until("deployed counter as dc_");
    dev.until("watching");
    let deployed = server.get("/users/me/sources").await.json["data"][0].clone();
    server.run_now(&deployed, json!({})).await;
    dev.until("\"version\":1");
    shell.write(&[("counter.mjs", "export default {\n  run( {\n};")]);
    dev.until("error:");
    server.run_now(&deployed, json!({})).await;
    assert_eq!(server.emitted(&deployed).await.last(), Some(&json!({ "version": 1, "n": 0 })));
    shell.write(&[("counter.mjs", &counter(2))]);
    dev.until("redeployed");
    server.run_now(&deployed, json!({})).await;
    dev.until("\"version\":2");
    // The id stays, and the source when `dev` ends.
    drop(dev);
    assert_eq!(
        server.get("/users/me/sources").await.json["data"]
            .as_array()
            .map(|list| list.iter().map(id).collect::<Vec<_>>()),
        Some(vec![id(&deployed)])
    );
}

#[tokio::test]
async fn s4_6_dev_attaches_to_a_deployed_component() {
    let server = Server::shared().await;
    let shell = Shell::new(&server);
    let source = server.source(&counter(1), json!({})).await;
    shell.write(&[("counter.mjs", &counter(7))]);
    for name in [id(&source), "counter"] {
        let mut dev = Dev::start(&shell, &["dev", "--dc", name, "counter.mjs"]);
        dev.until("watching");
        server.run_now(&source, json!({})).await;
        assert_eq!(server.emitted(&source).await.last(), Some(&json!({ "version": 7, "n": 0 })));
    }
    assert_eq!(server.get("/users/me/sources").await.json["page_info"]["total_count"], 1);
    assert!(
        shell.run(&["dev", "--dc", "dc_nothere", "counter.mjs"]).fails(1).contains("dc_nothere")
    );
}

/// The command line is waited for while the code is served.
#[tokio::test(flavor = "multi_thread")]
async fn s4_6_deploy_takes_a_file_the_key_of_a_source_and_an_address_of_code() {
    let server = Server::shared().await;
    let shell = Shell::new(&server);
    let url = serve(&[
        ("/raw/counter.mjs", "import { n } from './n.mjs'; export default { name: 'From Afar', version: '1', run() { return n; } };"),
        ("/raw/n.mjs", "export const n = 3;"),
    ])
    .await;
    shell.write(&[("counter.mjs", &counter(1))]);
    let by_file = shell.run(&["deploy", "counter.mjs", "--json"]).json();
    shell.run(&["publish", "counter.mjs"]).ok();
    let by_key = shell.run(&["deploy", "acme-counter", "--json"]).json();
    let by_url = shell.run(&["deploy", &format!("{url}/raw/counter.mjs"), "--json"]).json();
    let slugs = [&by_file, &by_key, &by_url].map(|source| source["name_slug"].clone());
    assert_eq!(slugs, [json!("counter"), json!("counter-1"), json!("from-afar")]);
    assert_eq!(server.run_now(&by_url, json!({})).await["return_value"], 3);
    for (what, words) in [
        ("nothing.mjs", "nothing.mjs"),
        ("acme-nothing", "acme-nothing"),
        (&*format!("{url}/raw/gone.mjs"), "gone.mjs"),
    ] {
        let said = shell.run(&["deploy", what]).fails(1);
        assert!(said.contains(words), "{said}");
    }
}

#[tokio::test]
async fn s4_6_publish_makes_an_action_available_in_workflows() {
    let server = Server::shared().await;
    let shell = Shell::new(&server);
    let action = "export default { name: 'Greet', key: 'acme-greet', version: '0.0.1', type: 'action', props: { who: { type: 'string' } }, run() { return `hello ${this.who}`; } };";
    shell.write(&[("greet.mjs", action)]);
    shell.run(&["publish", "greet.mjs"]).ok();
    let steps =
        json!([{ "namespace": "greet", "component_key": "acme-greet", "props": { "who": "you" } }]);
    let workflow = server
        .post("/workflows", &json!({ "triggers": [], "steps": steps, "settings": { "name": "w" } }))
        .await
        .data();
    let run = server
        .post(&format!("/workflows/{}/test", id(&workflow)), &json!({ "event": {} }))
        .await
        .data();
    assert_eq!(run["steps"][0]["exports"]["$return_value"], "hello you");
    // An action is published, a source is deployed.
    assert!(shell.run(&["deploy", "greet.mjs", "--prop", "who=x"]).fails(1).contains("action"));
}

#[tokio::test]
async fn s4_6_events_shows_the_ten_most_recent_or_as_many_as_asked_for() {
    let server = Server::shared().await;
    let shell = Shell::new(&server);
    let source = server.source(&counter(1), json!({})).await;
    server.run_now(&source, json!({ "count": 15 })).await;
    let shown = |args: &[&str]| {
        shell
            .run(&[&["events"], args].concat())
            .ok()
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect::<Vec<Value>>()
    };
    let ten = shown(&["counter"]);
    assert_eq!(ten.len(), 10);
    assert!(
        ten.contains(&json!({ "version": 1, "n": 14 }))
            && !ten.contains(&json!({ "version": 1, "n": 4 })),
        "{ten:?}"
    );
    assert_eq!(
        (
            shown(&["-n", "3", "counter"]).len(),
            shown(&["counter", "-n", "100"]).len(),
            shown(&[id(&source), "-n", "1"]).len()
        ),
        (3, 15, 1)
    );
}

#[tokio::test]
async fn s4_6_logs_shows_what_a_run_printed_and_how_it_failed() {
    let server = Server::shared().await;
    let shell = Shell::new(&server);
    let code = "export default { name: 'Talks', version: '1', run() { console.log('a line'); console.error('a warning'); throw new TypeError('oops'); } };";
    let source = server.source(code, json!({})).await;
    server.run_now(&source, json!({})).await;
    let logs = shell.run(&["logs", "talks"]).ok();
    let at = |part: &str| logs.find(part).unwrap_or_else(|| panic!("no `{part}` in {logs}"));
    assert!(at("a line") < at("a warning") && at("a warning") < at("TypeError: oops"), "{logs}");
}

#[tokio::test]
async fn r5_update_and_delete_name_a_component_by_id_or_slug() {
    let server = Server::shared().await;
    let shell = Shell::new(&server);
    let web = counter(1)
        .replace("type: 'source',", "type: 'source', props: { http: '$.interface.http' },");
    let source = server.source(&web, json!({})).await;
    shell.write(&[("second.mjs", &web.replace("0.0.1", "0.0.2"))]);
    shell.run(&["update", "counter", "--code", "second.mjs", "--name", "Other"]).ok();
    let updated = server.get(&format!("/sources/{}", id(&source))).await.data();
    assert_eq!((&updated["name"], endpoint(&updated)), (&json!("Other"), endpoint(&source)));
    assert_ne!(updated["component_id"], source["component_id"]);
    assert_eq!(
        shell.run(&["update", id(&source), "--deactivate", "--json"]).json()["active"],
        false
    );
    assert_eq!(shell.run(&["update", id(&source), "--activate", "--json"]).json()["active"], true);
    shell.run(&["delete", id(&source)]).ok();
    assert_eq!(server.get(&format!("/sources/{}", id(&source))).await.status, 404);
}

#[tokio::test]
async fn r5_the_config_file_is_ini_with_a_section_for_each_profile() {
    let server = Server::shared().await;
    let shell = Shell::alone();
    let config = format!(
        "api_key = {}\nurl = {}\n\n[work]\napi_key = mr_wrong\nurl = {}\norg_id = {}\n",
        server.api_key, server.url, server.url, server.org_id
    );
    shell.write(&[(".config/millrace/config", &config)]);
    shell.run(&["list", "sources"]).ok();
    assert!(shell.run(&["list", "sources", "-p", "work"]).fails(1).contains("API key"));
    // Elsewhere, where the variable says so.
    shell.write(&[(
        "xdg/millrace/config",
        &format!("[work]\napi_key = {}\nurl = {}\n", server.api_key, server.url),
    )]);
    let moved = shell
        .command(&["list", "sources", "-p", "work"])
        .env("XDG_CONFIG_HOME", shell.path("xdg"))
        .output()
        .expect("runs");
    assert!(moved.status.success(), "{moved:?}");
}

#[tokio::test]
async fn s4_6_files_with_an_ending_of_javascript_may_be_typescript() {
    let server = Server::shared().await;
    let shell = Shell::new(&server);
    let source = |name: &str| {
        format!(
            "export default {{ name: '{name}', version: '1', run(): number {{ const n: number = 7; return n as number; }} }};"
        )
    };
    let step = "export default defineComponent({ run({ steps }: { steps: any }): number { return 7 as number; } });";
    let head = "triggers: []\nsteps:\n";
    let file = "  - { namespace: a, code_file: a.js }\n";
    let inline = |namespace: &str, language: &str| {
        format!("  - namespace: {namespace}\n    code: |\n      {step}\n{language}")
    };
    shell.write(&[
        ("typed.mjs", &source("Typed")),
        ("shop/millrace.yaml", "project: shop\n"),
        ("shop/sources/tick.mjs", &source("Tick")),
        (
            "shop/workflows/buy/workflow.yaml",
            &format!(
                "{head}{file}{}{}",
                inline("b", ""),
                inline("c", "    language: typescript\n")
            ),
        ),
        ("shop/workflows/buy/a.js", step),
        ("strict/workflow.yaml", &format!("{head}{}", inline("d", "    language: javascript\n"))),
        ("other/workflow.yaml", &format!("{head}{}", inline("e", "    language: coffee\n"))),
    ]);
    let deployed = shell.run(&["deploy", "typed.mjs", "--json"]).json();
    let ran = server.post(&format!("/sources/{}/run", id(&deployed)), &json!({})).await.data();
    assert_eq!(ran["return_value"], 7, "{ran}");
    shell.run(&["apply", "shop", "--yes"]).ok();
    let again = shell.run(&["apply", "shop", "--yes"]);
    assert!(again.stderr.contains("nothing to do"), "{again:?}");
    let ran = shell.run(&["workflows", "test", "shop/workflows/buy", "--json"]).json();
    let returned: Vec<&Value> = ran["steps"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|step| &step["exports"]["$return_value"])
        .collect();
    assert_eq!(returned, [&json!(7); 3], "{ran}");
    // A language that was said is held to.
    let said = shell.run(&["workflows", "deploy", "strict"]).fails(1);
    assert!(said.contains("d.mjs:1"), "{said}");
    let said = shell.run(&["workflows", "deploy", "other"]).fails(1);
    assert!(said.contains("language") && said.contains("typescript"), "{said}");
}

/// Code that reads files beside its own in each way that Node has, and loads code by names that it
/// makes.
const READS: &str = "import fs from 'node:fs'; import path from 'node:path'; import { createRequire } from 'node:module'; import { Worker } from 'node:worker_threads'; import { part } from './lib/part.mjs';
  const require = createRequire(import.meta.url);
  export default { name: 'Reads', version: '1', async run() {
    const here = import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname);
    const { name } = await import(`./plugins/${'one'}.mjs`);
    const worked = await new Promise((done, fail) => new Worker(new URL('./worker.mjs', import.meta.url)).on('message', done).on('error', fail));
    const missing = (() => { try { return fs.readFileSync(path.join(here, 'gone.csv')); } catch (e) { return e.message; } })();
    return [fs.readFileSync(path.join(here, 'data.json'), 'utf8'), fs.readFileSync(new URL('./bytes.png', import.meta.url)).toString('hex'), require('./config.json').n,
      require('./templates/' + ['hi', 'cjs'].join('.')), name, worked, part('x'), fs.readFileSync(here + '/../shared/s.txt', 'utf8'), missing]; } };";
const READS_FILES: [(&str, &str); 9] = [
    (
        "own/lib/part.mjs",
        "import fs from 'fs'; export const part = (name) => fs.readFileSync(new URL(`./parts/${name}.html`, import.meta.url), 'utf8');",
    ),
    ("own/lib/parts/x.html", "<p>"),
    ("own/data.json", "{}"),
    ("own/config.json", r#"{ "n": 7 }"#),
    ("own/templates/hi.cjs", "module.exports = 'hi';"),
    ("own/plugins/one.mjs", "export const name = 'one';"),
    (
        "own/worker.mjs",
        "import { parentPort } from 'worker_threads'; import { text } from './says.mjs'; parentPort.postMessage(text);",
    ),
    ("own/says.mjs", "export const text = 'worked';"),
    ("shared/s.txt", "shared"),
];

/// Whether what [`READS`] returns is what Node gives.
fn was_read(returned: &Value) {
    let list = returned.as_array().expect("a list");
    assert_eq!(
        list[..8],
        [
            json!("{}"),
            json!("89504e47ff00"),
            json!(7),
            json!("hi"),
            json!("one"),
            json!("worked"),
            json!("<p>"),
            json!("shared")
        ],
        "{returned}"
    );
    let missing = list[8].as_str().unwrap_or_default();
    assert!(missing.starts_with("ENOENT") && missing.contains("own/gone.csv"), "{missing}");
}

#[tokio::test]
async fn s4_6_files_that_code_reads_beside_its_own_go_with_it() {
    let server = Server::shared().await;
    let shell = Shell::new(&server);
    let step = READS
        .replace("export default {", "export default defineComponent({")
        .trim_end_matches("};")
        .to_owned()
        + "});";
    shell.write(&READS_FILES);
    shell.write(&[("millrace.yaml", "project: reads\n")]);
    shell.write(&[("own/reads.mjs", READS), ("own/.env", "SECRET=1"), ("own/run.sh", "")]);
    std::fs::write(shell.path("own/bytes.png"), b"\x89PNG\xff\0").expect("writes");
    let deployed = shell.run(&["deploy", "own/reads.mjs", "--json"]).json();
    was_read(
        &server.post(&format!("/sources/{}/run", id(&deployed)), &json!({})).await.data()["return_value"],
    );
    assert!(!server.get(&format!("/sources/{}", id(&deployed))).await.text.contains("SECRET=1"));
    // As a step: the folder can be pulled, and is the same then.
    shell.write(&[
        (
            "flow/workflow.yaml",
            "name: flow\ntriggers: []\nsteps:\n  - { namespace: a, code_file: own/reads.mjs }\n",
        ),
        ("flow/own/reads.mjs", &step),
    ]);
    for (path, text) in READS_FILES {
        shell.write(&[(&format!("flow/{path}"), text)]);
    }
    std::fs::copy(shell.path("own/bytes.png"), shell.path("flow/own/bytes.png")).expect("copies");
    shell.run(&["workflows", "deploy", "flow"]).ok();
    let ran = shell.run(&["workflows", "test", "flow", "--json"]).json();
    was_read(&ran["steps"][0]["exports"]["$return_value"]);
    shell.run(&["workflows", "pull", "flow", "--to", "pulled"]).ok();
    assert_eq!(
        std::fs::read(shell.path("pulled/own/bytes.png")).expect("is there"),
        b"\x89PNG\xff\0"
    );
    assert_eq!(
        std::fs::read_to_string(shell.path("pulled/own/templates/hi.cjs")).expect("is there"),
        "module.exports = 'hi';"
    );
}

#[tokio::test]
async fn s4_6_deploy_tells_where_the_code_threw_and_how_a_missing_account_is_given() {
    let server = Server::shared().await;
    let shell = Shell::new(&server);
    shell.write(&[
        ("top.mjs", "const config = undefined;\nconst url = config.url;\nexport default { name: 'Top', version: '1', run() { return url; } };"),
        (
            "hook.ts",
            "import { connect } from './lib/connect';\nexport default { name: 'Hook', version: '1', hooks: { async activate() { await connect('key'); } }, run() {} };",
        ),
        ("lib/connect.ts", "export async function connect(key: string): Promise<void> {\n  throw new RangeError(`no webhook for ${key}`);\n}"),
        (
            "form.mjs",
            "export default { name: 'Form', version: '1', props: { kind: 'string' },\n  async additionalProps() {\n    return this.config.fields;\n  }, run() {} };",
        ),
        ("paid.mjs", "export default { name: 'Paid', version: '1', props: { stripe: { type: 'app', app: 'stripe' } }, run() {} };"),
    ]);
    let said = shell.run(&["deploy", "top.mjs"]).fails(1);
    assert!(
        said.contains("does not load: TypeError: ")
            && said.contains("top.mjs:2:")
            && said.contains("2 | const url = config.url;"),
        "{said}"
    );
    let said = shell.run(&["deploy", "hook.ts"]).fails(1);
    assert!(
        said.contains("the activate hook failed: RangeError: no webhook for key")
            && said.contains("lib/connect.ts:2:"),
        "{said}"
    );
    let said = shell.run(&["deploy", "form.mjs", "--prop", "kind=a"]).fails(1);
    assert!(
        said.contains("TypeError: ")
            && said.contains("form.mjs:3:")
            && said.contains("3 |     return this.config.fields;"),
        "{said}"
    );
    let said = shell.run(&["deploy", "form.mjs", "--prop", "kind=a", "--prop", "nope=1"]).fails(1);
    assert!(!said.contains("--prop nope"), "{said}");
    let said = shell.run(&["deploy", "paid.mjs"]).fails(1);
    assert!(
        said.contains("millrace accounts add stripe") && said.contains("--prop stripe=apn_…"),
        "{said}"
    );
    // A place that is Node's own is none to look at.
    shell.write(&[("norun.mjs", "export default { name: 'n', version: '1', run: 5 };")]);
    let said = shell.run(&["deploy", "norun.mjs"]).fails(1);
    assert!(
        said.contains("`run` of the component must be a function") && !said.contains("hint"),
        "{said}"
    );
}

#[tokio::test]
async fn r5_all_missing_props_are_told_at_once_with_flags_that_then_do() {
    let server = Server::shared().await;
    let account = server
        .post("/accounts", &json!({ "app": "stripe", "credentials": { "api_key": "k" } }))
        .await
        .data();
    let shell = Shell::new(&server);
    let props = "stripe: { type: 'app', app: 'stripe' }, tags: 'string[]', more: 'object', words: 'string', timer: '$.interface.timer', kept: 'data_store'";
    let run =
        "run() { this.$emit([this.stripe.$auth.api_key, this.tags, this.more, this.words]); }";
    shell.write(&[(
        "all.mjs",
        &format!("export default {{ name: 'All', version: '1', props: {{ {props} }}, {run} }};"),
    )]);
    let said =
        shell.run(&["deploy", "all.mjs", "--prop", "words=[1]", "--prop", "kept=none"]).fails(1);
    insta::assert_snapshot!("all_missing_props", said);
    server.post("/data_stores", &json!({ "name": "some" })).await.data();
    let id = account["id"].as_str().expect("an id");
    let given = [
        "words=w",
        "kept=some",
        "tags=a",
        "tags=b",
        r#"more={"a": 1}"#,
        r#"timer={"intervalSeconds": 60}"#,
    ]
    .map(str::to_owned);
    let flags: Vec<String> = given
        .into_iter()
        .chain([format!("stripe={id}")])
        .flat_map(|prop| ["--prop".to_owned(), prop])
        .collect();
    let deployed = shell
        .run(
            &[vec!["--json", "deploy", "all.mjs"], flags.iter().map(String::as_str).collect()]
                .concat(),
        )
        .json();
    assert_eq!(deployed["configured_props"]["stripe"], json!({ "authProvisionId": id }));
    let run = server
        .post(&format!("/sources/{}/run", deployed["id"].as_str().expect("an id")), &json!({}))
        .await
        .data();
    assert_eq!(run["status"], "succeeded", "{run}");
    let events = shell.run(&["--json", "events", "all"]).json();
    assert_eq!(events[0]["event"], json!(["k", ["a", "b"], { "a": 1 }, "w"]));
}
