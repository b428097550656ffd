//! Command line on a terminal (reference 5): questions, colours, progress of long commands,
//! completions.

use std::process::{Command, Stdio};

use millrace_tests::cli::Shell;
use millrace_tests::terminal::{DOWN, ENTER, Terminal, plain};
use millrace_tests::{Server, id};
use serde_json::{Value, json};

/// Asks for much: a number, a choice that a method gives, what depends on it, a secret, a yes or
/// no.
const FORM: &str = "export default { name: 'Form', version: '0.0.1', type: 'source', props: {
    count: { type: 'integer', label: 'How many', description: 'at once' },
    board: { type: 'string', label: 'Which board', reloadProps: true, async options({ page }) { return page ? [] : [{ label: 'First board', value: 'b1' }, { label: 'Second board', value: 'b2' }]; } },
    colour: { type: 'string', label: 'Colour', options: ['red', 'green'] },
    token: { type: 'string', label: 'Token', secret: true },
    loud: { type: 'boolean', label: 'Loud' } },
  async additionalProps() { return { [this.board + '_list']: { type: 'string', label: 'List of ' + this.board } }; },
  run() { return this.token; } };";

fn on_terminal(shell: &Shell, args: &[&str]) -> Terminal {
    Terminal::start(shell.command(args))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r5_deploy_asks_for_what_is_missing_options_of_methods_included() {
    let server = Server::shared().await;
    let shell = Shell::new(&server);
    shell.write(&[("form.mjs", FORM)]);
    let mut terminal = on_terminal(&shell, &["deploy", "form.mjs", "--prop", "colour=green"]);
    terminal.until("How many (at once)");
    terminal.types(&format!("7{ENTER}"));
    terminal.until("Which board");
    terminal.until("Second board");
    terminal.types(&format!("{DOWN}{ENTER}"));
    terminal.until("Token");
    terminal.types(&format!("s3cret{ENTER}"));
    terminal.until("Loud");
    terminal.types("y");
    terminal.until("List of b2");
    terminal.types(&format!("mine{ENTER}"));
    terminal.until("name_slug: form");
    let (status, shown) = terminal.ends();
    assert!(status == 0 && !shown.contains("s3cret"), "{status}: {shown}");
    let source = server.get("/users/me/sources").await.json["data"][0].clone();
    let props = &source["configured_props"];
    assert_eq!(
        (&props["count"], &props["board"], &props["colour"], &props["loud"], &props["b2_list"]),
        (&json!(7), &json!("b2"), &json!("green"), &json!(true), &json!("mine"))
    );
    assert_eq!(server.run_now(&source, json!({})).await["return_value"], "s3cret");
    // Without anybody to ask, all of them are told at once.
    let missing = shell.run(&["deploy", "form.mjs"]).fails(1);
    assert!(
        ["count", "board", "colour", "token", "loud"]
            .iter()
            .all(|prop| missing.contains(&format!("--prop {prop}=VALUE"))),
        "{missing}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r5_deploy_connects_an_account_that_is_missing_and_asks_again_for_what_is_not_taken() {
    let server = Server::shared().await;
    let shell = Shell::new(&server);
    let code = "const acme = { type: 'app', app: 'acme', methods: { key() { return this.$auth.api_key; } } };
        export default { name: 'Ask', version: '1', props: { count: { type: 'integer', label: 'How many', min: 1, max: 9 }, acme }, run() { return this.acme.key(); } };";
    shell.write(&[("ask.mjs", code)]);
    let mut terminal = on_terminal(&shell, &["deploy", "ask.mjs"]);
    terminal.until("How many");
    terminal.types(&format!("12{ENTER}"));
    terminal.until("the prop `count` has the value `12`, allowed is an integer from 1 to 9");
    terminal.until("How many");
    terminal.types(&format!("3{ENTER}"));
    terminal.until("no account of acme is connected yet");
    terminal.until("api_key");
    terminal.types(&format!("k-1{ENTER}"));
    terminal.until("name_slug: ask");
    assert_eq!(terminal.ends().0, 0);
    let source = server.get("/users/me/sources").await.json["data"][0].clone();
    assert_eq!(
        (
            &source["configured_props"]["count"],
            server.run_now(&source, json!({})).await["return_value"].clone()
        ),
        (&json!(3), json!("k-1"))
    );
    // What was not asked for is not asked again: it stands on the command line.
    let mut terminal = on_terminal(&shell, &["deploy", "ask.mjs", "--prop", "count=12"]);
    terminal.until("hint: give --prop count=VALUE");
    assert_eq!(terminal.ends().0, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r5_dev_asks_too_and_an_interrupt_ends_it() {
    let server = Server::shared().await;
    let shell = Shell::new(&server);
    let code = "export default { name: 'Asks', version: '0.0.1', type: 'source', props: { word: { type: 'string', label: 'A word' } }, run(e) { this.$emit({ word: this.word }); } };";
    shell.write(&[("asks.mjs", code)]);
    let mut terminal = on_terminal(&shell, &["dev", "asks.mjs"]);
    terminal.until("A word");
    terminal.types(&format!("seven{ENTER}"));
    terminal.until("watching for saves");
    let source = server.get("/users/me/sources").await.json["data"][0].clone();
    server.run_now(&source, json!({})).await;
    terminal.until("event {\"word\":\"seven\"}");
    shell.write(&[("asks.mjs", "export default { broken")]);
    terminal.until("error:");
    shell.write(&[("asks.mjs", &code.replace("this.word }", "this.word, twice: true }"))]);
    terminal.until("redeployed");
    assert_eq!(server.get("/users/me/sources").await.json["data"][0]["id"], source["id"]);
    server.run_now(&source, json!({})).await;
    terminal.until("\"twice\":true");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r5_login_and_list_ask_for_what_was_not_given() {
    let server = Server::shared().await;
    let shell = Shell::alone();
    let mut terminal = on_terminal(&shell, &["login"]);
    terminal.until("Server");
    terminal.types(&format!("{}{ENTER}", server.url));
    terminal.until("API key");
    terminal.types(&format!("{}{ENTER}", server.api_key));
    terminal.until("logged in at");
    let (status, shown) = terminal.ends();
    assert!(status == 0 && !shown.contains(&server.api_key), "{shown}");
    server.source("export default { name: 'seen', version: '1', run() {} };", json!({})).await;
    let mut terminal = on_terminal(&shell, &["list"]);
    terminal.until("List");
    terminal.types(ENTER);
    terminal.until("seen");
    assert_eq!(terminal.ends().0, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r5_colours_are_for_terminals_that_want_them() {
    let server = Server::shared().await;
    let shell = Shell::new(&server);
    server.source("export default { name: 'seen', version: '1', run() {} };", json!({})).await;
    let (status, shown) = on_terminal(&shell, &["list", "sources"]).ends();
    assert!(
        status == 0 && shown.contains("\u{1b}[") && plain(&shown).contains("seen"),
        "{shown:?}"
    );
    let mut without = shell.command(&["list", "sources"]);
    without.env("NO_COLOR", "1");
    let (_, shown) = Terminal::start(without).ends();
    assert!(!shown.contains("\u{1b}[") && shown.contains("seen"), "{shown:?}");
    let (status, shown) = on_terminal(&shell, &["describe", "nothing"]).ends();
    assert!(
        status == 1
            && shown.contains("\u{1b}[")
            && plain(&shown).contains("error: there is no source or workflow `nothing`"),
        "{shown:?}"
    );
    let piped = shell.run(&["describe", "nothing"]).fails(1);
    assert!(!piped.contains('\u{1b}'), "{piped:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r5_what_components_write_does_not_steer_the_terminal() {
    const STEERS: &str =
        r"\u001b]0;T\u0007\u001b]52;c;cHduZWQ=\u0007\u001b[2J\u009b31m\r\u0008\u007f\u202e";
    const SHOWN: &str = r"\u001b]0;T\u0007\u001b]52;c;cHduZWQ=\u0007\u001b[2J\u009b31m";
    let server = Server::shared().await;
    let shell = Shell::new(&server);
    let steps = [
        (
            "says",
            &*format!(
                "export default defineComponent({{ run({{ $ }}) {{ console.log('{STEERS}'); $.export('$summary', '{STEERS}'); return '{STEERS}'; }} }});"
            ),
        ),
        (
            "fails",
            &*format!(
                "export default defineComponent({{ run() {{ throw new RangeError('{STEERS}'); }} }});"
            ),
        ),
    ];
    let workflow = server.workflow("hostile", json!([]), &steps).await;
    let code = format!(
        "export default {{ name: 'hostile', version: '1', run() {{ console.log('{STEERS}'); this.$emit({{ a: '{STEERS}' }}, {{ summary: '{STEERS}' }}); }} }};"
    );
    let source = server.source(&code, json!({})).await;
    server.run_now(&source, json!({})).await;
    let clean = |args: &[&str], status: i32| {
        let (ended, shown) = on_terminal(&shell, args).ends();
        let plain = plain(&shown);
        let steers =
            |c: char| (c.is_control() && !matches!(c, '\r' | '\n' | '\t')) || c == '\u{202e}';
        assert!(
            ended == status
                && !plain.contains(steers)
                && !shown.contains("\u{1b}[2J")
                && plain.contains(SHOWN),
            "{args:?}: {ended} {shown:?}"
        );
        // Its own colours, and the end of a line as terminals take it, are all that is left.
        assert_eq!(
            plain.matches('\r').count(),
            plain.matches("\r\n").count(),
            "{args:?}: {shown:?}"
        );
    };
    clean(&["run", id(&workflow)], 1);
    let runs = shell.run(&["workflows", "runs", id(&workflow), "--json"]).json();
    let run = runs[0]["id"].as_str().expect("a run").to_owned();
    for args in [
        ["logs", id(&source)].as_slice(),
        &["events", id(&source)],
        &["errors", id(&workflow)],
        &["errors", "--groups"],
        &["runs", "show", &run],
    ] {
        clean(args, 0);
    }
    clean(&["export"], 0);
    // As data it is the same text, in letters.
    let done = shell.run(&["runs", "show", &run, "--json"]);
    assert!(
        !done.stdout.contains(|c: char| (c.is_control() && c != '\n') || c == '\u{202e}'),
        "{done:?}"
    );
    let told: Value = serde_json::from_str(&done.stdout).expect("JSON");
    assert!(
        told["error"]["message"]
            .as_str()
            .is_some_and(|m| m.contains("\u{9b}31m\r\u{8}\u{7f}\u{202e}")),
        "{told}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r5_what_takes_longer_than_a_second_says_that_it_goes_on() {
    let server = Server::shared().await;
    let shell = Shell::new(&server);
    let gate = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("binds");
    let wait = format!(
        "export default defineComponent({{ async run() {{ await fetch('http://{}'); return 1; }} }});",
        gate.local_addr().expect("an address")
    );
    let workflow = server
        .workflow(
            "slow",
            json!([]),
            &[
                ("first", "export default defineComponent({ run() { return 'at once'; } });"),
                ("waits", &wait),
            ],
        )
        .await;
    let source = server
        .source(
            &wait.replace("defineComponent({", "({ name: 'slow source', version: '1',"),
            json!({}),
        )
        .await;
    let mut held = Vec::new();
    for (args, sign) in [
        (["workflows", "run", id(&workflow)].as_slice(), "the run goes on"),
        (&["run", id(&workflow)], "the run goes on"),
        (&["run", id(&source)], "waiting for the server"),
    ] {
        let mut terminal = on_terminal(&shell, args);
        if sign == "the run goes on" {
            // Steps are shown as they end, and not only with the run.
            terminal.until("✓ first");
        }
        terminal.until(sign);
        let (open, _) = gate.accept().await.expect("is asked");
        held.push(answered(open).await);
        let (status, shown) = terminal.ends();
        assert!(status == 0 && shown.contains("succeeded"), "{args:?}: {shown}");
    }
    // What is no terminal is told nothing of it.
    let runs = shell
        .command(&["run", id(&workflow)])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    let (open, _) = gate.accept().await.expect("is asked");
    held.push(answered(open).await);
    let done = runs.wait_with_output().expect("ends");
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(
        done.status.success()
            && said.contains("✓ first")
            && !said.contains("goes on")
            && !said.contains('\u{1b}'),
        "{said}"
    );
}

async fn answered(mut open: tokio::net::TcpStream) -> tokio::net::TcpStream {
    use tokio::io::AsyncWriteExt as _;
    open.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        .await
        .expect("answers");
    open
}

#[tokio::test]
async fn r5_the_exit_status_tells_how_it_went() {
    let server = Server::shared().await;
    let shell = Shell::new(&server);
    let workflow = server
        .workflow(
            "fails",
            json!([]),
            &[("a", "export default defineComponent({ run() { throw new RangeError('bad'); } });")],
        )
        .await;
    let source = server.source("export default { name: 'fails too', version: '1', run() { throw new TypeError('bad'); } };", json!({})).await;
    for args in [
        ["run", id(&workflow)].as_slice(),
        &["workflows", "run", id(&workflow)],
        &["workflows", "test", id(&workflow)],
        &["run", id(&source)],
    ] {
        let done = shell.run(&[args, &["--json"]].concat());
        let error: Value = done
            .stderr
            .lines()
            .last()
            .and_then(|line| serde_json::from_str(line).ok())
            .unwrap_or_else(|| panic!("{done:?}"));
        assert_eq!((done.code, &error["code"]), (1, &json!("run_failed")), "{args:?}");
        let run: Value = serde_json::from_str(&done.stdout).expect("the run, all the same");
        assert_eq!(run["status"], "failed");
    }
    assert_eq!(shell.run(&["workflows", "run", id(&workflow), "--no-wait"]).code, 0);
    assert_eq!(shell.run(&["describe", "dc_nothing"]).code, 1);
    assert_eq!(shell.run(&["describe"]).code, 2);
    assert_eq!(shell.run(&["run", id(&workflow), "--event", "{"]).code, 2);
    let documented = include_str!("../../docs/reference/cli.md");
    assert!(
        documented.contains("Exit status: 0 done, 1 refused or failed")
            && documented.contains("2 wrong use")
    );
}

/// Loads a completion script and asks it what may follow `millrace wor`; none where there is no
/// such shell.
#[expect(clippy::print_stderr, reason = "what was not tested is said")]
fn completed(shell: &Shell, program: &str, args: &[&str]) -> Option<String> {
    if Command::new(program).args(["-c", "exit 0"]).stderr(Stdio::null()).status().is_err() {
        eprintln!("skipped: there is no {program}");
        return None;
    }
    let output = Command::new(program)
        .args(args)
        .current_dir(shell.path(""))
        .env("HOME", shell.path(""))
        .stdin(Stdio::null())
        .output()
        .expect("runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{program}: {said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Some(said)
}

#[test]
fn r5_completions_load_and_complete() {
    let shell = Shell::alone();
    for name in ["bash", "zsh", "fish"] {
        let script = shell.run(&["completions", name]).ok();
        shell.write(&[(if name == "zsh" { "functions/_millrace" } else { name }, script.as_str())]);
    }
    let asks = "source ./bash; COMP_WORDS=(millrace wor); COMP_CWORD=1; _millrace millrace wor millrace; echo \"${COMPREPLY[@]}\"";
    if let Some(said) = completed(&shell, "bash", &["--norc", "-c", asks]) {
        assert_eq!(said.trim(), "workflows");
    }
    let asks = "fpath=(./functions $fpath); autoload -Uz compinit; compinit -u -D; autoload +X _millrace; echo ${_comps[millrace]} ${+functions[_millrace]}; zsh -n functions/_millrace && echo sound";
    if let Some(said) = completed(&shell, "zsh", &["-f", "-c", asks]) {
        assert_eq!(said.trim(), "_millrace 1\nsound");
    }
    if let Some(said) = completed(
        &shell,
        "fish",
        &["--no-config", "-c", "source ./fish; complete --do-complete 'millrace wor'"],
    ) {
        assert!(said.lines().any(|line| line.split('\t').next() == Some("workflows")), "{said}");
    }
}
