//! The command line (reference 5, docs/reference/cli.md).

use millrace_tests::Server;
use millrace_tests::cli::Shell;
use serde_json::json;

const FEED: &str = "export default { name: 'Feed', version: '0.0.1', key: 'acme-feed', type: 'source', props: { n: { type: 'integer', description: 'A number' } }, run(e) { this.$emit({ n: this.n, e }); } };";

/// The commands that a help text lists.
fn commands(help: &str) -> Vec<String> {
    let listed =
        help.lines().skip_while(|l| *l != "Commands:").skip(1).take_while(|l| !l.is_empty());
    listed
        .filter(|l| l.starts_with("  ") && !l.starts_with("   "))
        .filter_map(|l| l.split_whitespace().next())
        .filter(|c| *c != "help")
        .map(str::to_owned)
        .collect()
}

fn help(shell: &Shell, path: &[&str], text: &mut String) {
    let shown = shell.run(&[path, &["--help"]].concat()).ok();
    assert!(shown.contains("Example"), "the help of `{}` shows no example", path.join(" "));
    text.push_str(&format!("$ millrace {} --help\n{shown}\n", path.join(" ")));
    for command in commands(&shown) {
        help(shell, &[path, &[command.as_str()]].concat(), text);
    }
}

#[test]
fn every_command_has_help_as_it_was_agreed() {
    let shell = Shell::alone();
    let top = shell.run(&["--help"]).ok();
    insta::assert_snapshot!("help", top);
    let listed = commands(&top);
    assert!(listed.len() > 20, "{listed:?}");
    for command in listed {
        let mut text = String::new();
        help(&shell, &[command.as_str()], &mut text);
        insta::assert_snapshot!(format!("help-{command}"), text);
    }
}

#[test]
fn r5_without_server_or_key_it_says_what_to_do() {
    let shell = Shell::alone();
    assert!(shell.run(&["list", "sources"]).fails(1).contains("run `millrace login`"));
    let away =
        shell.run(&["list", "sources", "--url", "http://127.0.0.1:9", "--api-key", "k"]).fails(1);
    assert!(
        away.contains("could not reach the server") && away.contains("millrace serve"),
        "{away}"
    );
    let json = shell
        .run(&["list", "sources", "--url", "http://127.0.0.1:9", "--api-key", "k", "--json"])
        .fails(1);
    let error: serde_json::Value = serde_json::from_str(json.trim()).expect("JSON");
    assert_eq!(error["code"], "unreachable");
    for wrong in [
        &["nonsense"][..],
        &["list", "nonsense"],
        &["list"],
        &["deploy"],
        &["unpublish", "thing", "key"],
        &["events", "-n", "0", "x"],
    ] {
        let done = shell.command(wrong).env("MILLRACE_API_KEY", "k").output().expect("runs");
        assert_eq!(done.status.code(), Some(2), "{wrong:?}: {done:?}");
    }
    // What the environment gives is not told as if it had been typed.
    let usage = "Usage: millrace describe [OPTIONS] <NAME>\n\nExample: millrace describe my-source";
    let wrong = |args: &[&str]| {
        let done = shell
            .command(args)
            .env("MILLRACE_API_KEY", "k")
            .env("MILLRACE_URL", "http://127.0.0.1:9")
            .output()
            .expect("runs");
        assert_eq!((done.status.code(), done.stdout.len()), (Some(2), 0), "{done:?}");
        String::from_utf8(done.stderr).expect("text")
    };
    let text = wrong(&["describe"]);
    assert!(
        text.contains("not provided:\n  <NAME>")
            && text.contains(usage)
            && !text.contains("--url")
            && !text.contains("--api-key"),
        "{text}"
    );
    let json: serde_json::Value =
        serde_json::from_str(&wrong(&["describe", "--json"])).expect("JSON");
    let expected = json!({ "error": "the following required arguments were not provided: <NAME>", "code": "wrong_use", "hint": usage });
    assert_eq!(json, expected);
    assert!(shell.run(&["--version"]).ok().starts_with("millrace "));
    for (name, word) in
        [("bash", "COMPREPLY"), ("zsh", "#compdef millrace"), ("fish", "complete -c millrace")]
    {
        let script = shell.run(&["completions", name]).ok();
        assert!(script.contains(word) && script.contains("rollback"), "{name}");
    }
}

#[test]
fn r5_a_bare_command_shows_its_help_whatever_the_environment_names() {
    let shell = Shell::alone();
    for (args, shown) in [(&[][..], "serve "), (&["workflows"][..], "rollback ")] {
        for env in [None, Some("http://127.0.0.1:1")] {
            let mut command = shell.command(args);
            if let Some(url) = env {
                command.env("MILLRACE_URL", url).env("MILLRACE_API_KEY", "mr_x");
            }
            let output = command.output().expect("starts");
            let told = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(
                output.status.code() == Some(2) && output.stdout.is_empty(),
                "{args:?} {env:?}"
            );
            assert!(
                told.contains("Commands:")
                    && told.contains(shown)
                    && told.contains("Example")
                    && !told.contains("bundle-worker"),
                "{args:?} {env:?}: {told}"
            );
        }
    }
    let output = shell
        .command(&["workflows", "--json"])
        .env("MILLRACE_API_KEY", "mr_x")
        .output()
        .expect("starts");
    let told: serde_json::Value = serde_json::from_slice(&output.stderr).expect("JSON");
    assert_eq!(
        (&told["code"], &told["error"], output.status.code()),
        (&json!("wrong_use"), &json!("no command is given"), Some(2))
    );
}

#[tokio::test]
async fn r5_profiles_keep_servers_and_keys() {
    let server = Server::shared().await;
    let shell = Shell::alone();
    let login = |args: &[&str]| {
        shell
            .run_with(
                &[&["login"], args].concat(),
                &format!("{}\n{}\n", server.url, server.api_key),
            )
            .ok()
    };
    login(&[]);
    shell.run(&["list", "sources"]).ok();
    login(&["--profile", "work"]);
    assert!(
        shell
            .run_with(&["login", "--profile", "bad"], &format!("{}\nmr_wrong\n", server.url))
            .fails(1)
            .contains("API key")
    );
    shell.run(&["profile", "use", "work"]).ok();
    let listed = shell.run(&["profile", "list", "--json"]).json();
    let expected = json!([{ "name": "default", "url": server.url, "used": false }, { "name": "work", "url": server.url, "used": true }]);
    assert_eq!(listed, expected);
    assert!(!shell.run(&["profile", "list"]).ok().contains(&server.api_key));
    shell.run(&["logout", "-p", "default"]).ok();
    shell.run(&["list", "sources"]).ok();
    shell.run(&["logout", "-p", "work"]).ok();
    assert!(shell.run(&["list", "sources"]).fails(1).contains("there is no API key"));
    assert!(shell.run(&["profile", "use", "work"]).fails(1).contains("there is no profile `work`"));
}

#[tokio::test]
async fn r5_init_app_action_and_source_write_components_that_work() {
    let server = Server::shared().await;
    let shell = Shell::new(&server);
    for (args, file) in [
        (&["init", "source", "New Things", "--http", "--db"][..], "new-things.mjs"),
        (&["init", "action", "Say Hello"], "say-hello.mjs"),
        (&["init", "app", "acme"], "acme.app.mjs"),
    ] {
        assert_eq!(shell.run(args).ok().trim(), file);
        assert!(shell.run(args).fails(1).contains("is there already"));
    }
    shell.run(&["deploy", "new-things.mjs"]).ok();
    shell.run(&["publish", "say-hello.mjs"]).ok();
    let action = "import acme from './acme.app.mjs';\nexport default { name: 'Show', key: 'acme-show', version: '0.0.1', type: 'action', props: { acme, item: { propDefinition: [acme, 'item'] } }, run() { return this.item; } };\n";
    shell.write(&[("show.mjs", action)]);
    let published = shell.run(&["publish", "show.mjs", "--json"]).json();
    assert_eq!(published["key"], "acme-show");
    shell.run(&["unpublish", "component", "acme-show"]).ok();
    assert_eq!(server.get("/components/acme-show").await.status, 404);
}

#[tokio::test]
async fn r5_commands_work_and_give_json() {
    let server = Server::shared().await;
    let shell = Shell::new(&server);
    shell.write(&[("feed.mjs", FEED)]);
    let missing = shell.run(&["deploy", "feed.mjs"]).fails(1);
    assert!(missing.contains("`n`") && missing.contains("--prop n=VALUE"), "{missing}");
    let source = shell.run(&["deploy", "feed.mjs", "--prop", "n=1", "--json"]).json();
    let id = source["id"].as_str().expect("an id");
    shell.run(&["publish", "feed.mjs"]).ok();
    let by_key = shell.run(&["deploy", "acme-feed", "--prop", "n=2", "--json"]).json();
    assert_eq!(by_key["name_slug"], "feed-1");
    let ran = shell.run(&["run", "feed", "--event", "{\"a\":1}", "--json"]).json();
    assert_eq!(ran["status"], "succeeded");
    assert_eq!(shell.run(&["events", "feed", "-n", "5"]).ok(), "{\"n\":1,\"e\":{\"a\":1}}\n");
    assert_eq!(shell.run(&["events", id, "--json"]).json()[0]["event"]["n"], 1);
    let updated = shell
        .run(&["update", "feed-1", "--name", "second", "--prop", "n=3", "--deactivate", "--json"])
        .json();
    assert_eq!(
        (&updated["name"], &updated["active"], &updated["configured_props"]["n"]),
        (&json!("second"), &json!(false), &json!(3))
    );
    let described = shell.run(&["describe", "second"]).ok();
    assert!(described.contains("name: second") && described.contains("n: 3"), "{described}");
    let streams = shell.run(&["list", "st"]).ok();
    assert!(streams.contains(&format!("{}/v1/sources/{id}/sse", server.url)), "{streams}");
    for what in ["so", "sources", "components", "co", "workflows", "wf", "streams"] {
        assert!(shell.run(&["list", what, "--json"]).json().is_array(), "{what}");
    }
    for args in [
        &["logs", "feed"][..],
        &["runs", "list", "feed"],
        &["subscriptions", "list"],
        &["accounts", "list"],
        &["apps", "slack"],
        &["keys", "list"],
        &["webhooks", "list"],
        &["registry", "list"],
        &["data-stores", "list"],
        &["workflows", "list"],
        &["mail"],
    ] {
        assert!(shell.run(&[args, &["--json"]].concat()).json().is_array(), "{args:?}");
    }
    let piped = shell.run(&["list", "sources"]).ok();
    assert!(!piped.contains('\u{1b}'), "no colours where there is no terminal: {piped:?}");
    let unknown = shell.run(&["runs", "show", "run_nothing"]).fails(1);
    assert!(
        unknown.contains("there is no run `run_nothing`")
            && unknown.contains("hint: `millrace runs list NAME`"),
        "{unknown}"
    );
    assert!(
        shell
            .run(&["accounts", "add", "nothing_app"])
            .fails(1)
            .contains("hint: `millrace apps WORDS`")
    );
    shell.run(&["delete", "second"]).ok();
    assert!(
        shell
            .run(&["describe", "second"])
            .fails(1)
            .contains("there is no source or workflow `second`")
    );
}

#[tokio::test]
async fn webhooks_are_made_and_their_dead_letters_sent_again() {
    let server = Server::shared().await;
    let shell = Shell::new(&server);
    let made = shell
        .run(&["webhooks", "add", "http://127.0.0.1:9/hook", "--name", "orders", "--json"])
        .json();
    let id = made["id"].as_str().expect("an id");
    assert!(made["secret"].is_string());
    let shown = shell.run(&["webhooks", "show", id, "--json"]).json();
    assert_eq!((&shown["name"], shown.get("secret")), (&json!("orders"), None));
    shell.write(&[("feed.mjs", FEED)]);
    shell.run(&["deploy", "feed.mjs", "--prop", "n=1"]).ok();
    shell.run(&["subscriptions", "add", "feed", id]).ok();
    // Some things are added, some created: either word does, and this one is there already.
    shell.run(&["subscriptions", "create", "feed", id]).ok();
    shell.run(&["run", "feed"]).ok();
    let path = format!("/webhooks/{id}/deliveries");
    server.until("an attempt", &path, |l| l["data"][0]["attempts"].as_i64() > Some(0)).await;
    let deliveries = shell.run(&["webhooks", "deliveries", id, "--json"]).json();
    assert_eq!(deliveries[0]["body"]["event"]["n"], 1);
    let one =
        shell.run(&["webhooks", "delivery", id, deliveries[0]["id"].as_str().expect("an id")]).ok();
    assert!(one.contains("webhook-signature: v1,") && one.contains("error: "), "{one}");
    assert!(
        shell
            .run(&["webhooks", "deliveries", id, "--status", "delivered"])
            .stderr
            .contains("there are none")
    );
    assert_eq!(shell.run(&["webhooks", "replay", id, "--json"]).json()["queued"], 0);
    shell.run(&["webhooks", "delete", id]).ok();
    assert!(shell.run(&["webhooks", "show", id]).fails(1).contains(id));
}
