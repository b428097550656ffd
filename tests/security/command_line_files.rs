//! The command line and the files of the person who uses it: what a server, or code that came from
//! one, must not make it write or read.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex};

use millrace_tests::Server;
use millrace_tests::cli::Shell;
use millrace_tests::peer::{Peer, Says};
use reqwest::Method;
use serde_json::{Value, json};

use crate::command_line::{names_below, run};

/// A server whose workflow has these files.
fn with_files(slug: &str, files: &[(&str, &str)], props: &Value) -> Peer {
    let others: serde_json::Map<String, Value> =
        files.iter().map(|(path, text)| ((*path).to_owned(), json!(text))).collect();
    let component = json!({ "code": "export default {}", "files": { "entry": "steps/a.mjs", "others": others }, "published": false });
    let step = json!({ "namespace": "a", "savedComponent": component, "configured_props_json": props.to_string() });
    let workflow = json!({ "data": { "id": "p_x", "name": "w", "name_slug": slug, "deployment_id": "d_x", "active": true } }).to_string();
    let deployment =
        json!({ "data": { "id": "d_x", "steps": [step], "triggers": [], "settings": {} } })
            .to_string();
    Peer::start(move |head| {
        Says::Json(if head.contains("/deployments/") {
            deployment.clone()
        } else {
            workflow.clone()
        })
    })
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
        "package.json",
        "steps/package.json",
        "steps/PACKAGE.json",
        "vite.config.ts",
        "sub/jest.config.cjs",
        "sub/a.test.mjs",
        "test.mjs",
        "tests/a.mjs",
        "lib/a_spec.js",
        "turbo.json",
        "sub/Node_Modules/x.js",
        "lefthook.yml",
        "docker-compose.yml",
        "any.yaml",
        "millrace.yaml",
        "sub/millrace.yaml",
        "sub/workflow.yaml",
        "sub/workflow.json",
        "workflow.json",
        "workflow.yml",
        "sources/x.yaml",
        "sub/tsconfig.json",
        "AGENTS.md",
        "requirements.txt",
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
    let (shell, peer) = (
        Shell::alone(),
        with_files("w", &[], &json!({ "deep": [{ "$env": "AWS_SECRET_ACCESS_KEY" }] })),
    );
    assert!(
        run(&shell, &peer.url, &["workflows", "pull", "p_x"])
            .fails(1)
            .contains("AWS_SECRET_ACCESS_KEY")
    );
    assert!(is_empty(&shell.path("")));

    // Links and what is executable stay as they are, also with --force.
    let peer = with_files("w", &[("steps/b.mjs", "evil")], &json!({}));
    let shell = Shell::alone();
    shell.write(&[("outside/b.mjs", "mine"), ("w/.keep", "")]);
    std::os::unix::fs::symlink(shell.path("outside"), shell.path("w/steps")).expect("links");
    assert!(
        run(&shell, &peer.url, &["workflows", "pull", "p_x", "--force"])
            .fails(1)
            .contains("is a link")
    );
    std::os::unix::fs::symlink(shell.path("outside"), shell.path("v")).expect("links");
    let peer_v = with_files("v", &[], &json!({}));
    assert!(
        run(&shell, &peer_v.url, &["workflows", "pull", "p_x", "--force"])
            .fails(1)
            .contains("is a link")
    );
    assert_eq!(shell.read("outside/b.mjs"), "mine");
    let shell = Shell::alone();
    shell.write(&[("w/steps/b.mjs", "mine")]);
    std::fs::set_permissions(shell.path("w/steps/b.mjs"), std::fs::Permissions::from_mode(0o755))
        .expect("sets");
    assert!(
        run(&shell, &peer.url, &["workflows", "pull", "p_x", "--force"])
            .fails(1)
            .contains("is executable")
    );
    assert_eq!(shell.read("w/steps/b.mjs"), "mine");

    let shell = Shell::alone();
    run(&shell, &peer.url, &["workflows", "pull", "p_x"]).ok();
    assert_eq!(shell.read("w/steps/b.mjs"), "evil", "code is written, and not run");
    // Again, now that the folder is known to be the workflow's.
    run(&shell, &peer.url, &["workflows", "pull", "p_x"]).ok();

    // A folder of something else that has the name which the server chose.
    let shell = Shell::alone();
    shell.write(&[("w/mine.mjs", "mine")]);
    let said = run(&shell, &peer.url, &["workflows", "pull", "p_x"]).fails(1);
    assert!(
        said.contains("not known to be the folder of the workflow `p_x`")
            && said.contains("--to w"),
        "{said}"
    );
    assert_eq!(names_below(&shell.path("w")), ["mine.mjs"]);
    run(&shell, &peer.url, &["workflows", "pull", "p_x", "--to", "w"]).ok();
    assert_eq!(shell.read("w/steps/b.mjs"), "evil");
}

/// Where a registry is read from is remembered by the machine that read it: whoever else has a key
/// changes only what is shown.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_does_not_decide_what_the_command_line_reads() {
    let server = Server::start().await;
    let (mine, other) = (Shell::new(&server), Shell::new(&server));
    let action = "export default { key: 'acme-do-thing', name: 'Do', version: '1.0.0', type: 'action', run() { return 1; } };";
    mine.write(&[
        ("tree/components/acme/actions/do-thing/do-thing.mjs", action),
        (
            "private/components/acme/actions/secret/secret.mjs",
            &action.replace("do-thing", "secret"),
        ),
    ]);
    let (tree, private) = (mine.path("tree"), mine.path("private"));
    mine.run(&["registry", "add", tree.to_str().expect("UTF-8"), "--name", "ours"]).ok();
    let shown =
        server.get("/registries").await.data()[0]["origin"].as_str().expect("an origin").to_owned();
    assert!(
        shown.starts_with("tree") && !shown.contains('/'),
        "{shown} tells nobody where the folder is"
    );

    for evil in [
        private.to_str().expect("UTF-8").to_owned(),
        format!("file://{}/.git", private.display()),
        "git@127.0.0.1:x/y.git".into(),
        format!("{}/x.tar.gz", server.url),
        "../private".into(),
        "npm:@acme/private".into(),
        "npm:left-pad".into(),
    ] {
        let archive = mine.run(&["registry", "update", "ours"]);
        archive.ok();
        let body = std::process::Command::new("tar")
            .args(["-cz", "-C"])
            .arg(&tree)
            .arg("components")
            .output()
            .expect("packs")
            .stdout;
        let put = server
            .raw(Method::PUT, "/v1/registries/ours")
            .bearer_auth(&server.api_key)
            .query(&[("origin", evil.as_str())]);
        assert_eq!(
            millrace_tests::answer(put.header("content-type", "application/gzip").body(body))
                .await
                .status,
            200,
            "{evil}"
        );
        // Who added it reads what was added.
        mine.run(&["registry", "update", "ours"]).ok();
        // Who did not is asked, and reads nothing.
        let put = server
            .raw(Method::PUT, "/v1/registries/ours")
            .bearer_auth(&server.api_key)
            .query(&[("origin", evil.as_str())]);
        let body = std::process::Command::new("tar")
            .args(["-cz", "-C"])
            .arg(&tree)
            .arg("components")
            .output()
            .expect("packs")
            .stdout;
        assert_eq!(
            millrace_tests::answer(put.header("content-type", "application/gzip").body(body))
                .await
                .status,
            200
        );
        let said = other.run(&["registry", "update", "ours"]).fails(1);
        assert!(
            said.contains("not known on this machine")
                && said.contains("registry update NAME ORIGIN"),
            "{evil}: {said}"
        );
        assert_eq!(server.get("/components/registry/acme-secret").await.status, 404, "{evil}");
    }
}

/// Runs a command beside a server that keeps what it is sent, and gives all of that.
fn sent(shell: &Shell, args: &[&str]) -> (millrace_tests::cli::Done, String) {
    let received = Arc::new(Mutex::new(String::new()));
    let kept = received.clone();
    let peer = Peer::with_bodies(move |head, body| {
        kept.lock().expect("no test panicked").push_str(&format!("{head}\n{body}\n"));
        Says::Json(json!({ "data": [] }).to_string())
    });
    let done = run(shell, &peer.url, args);
    let text = received.lock().expect("no test panicked").clone();
    (done, text)
}

/// Every way for code to name a file, each with the file that it must not reach, and whether it is
/// refused: texts that may name folders, or begin names, are no more than left out.
const REACHES: &[(&str, &str, bool)] = &[
    ("import '../../.ssh/id_rsa';", ".ssh/id_rsa", true),
    ("import '../../.ssh/id_rsa.json';", ".ssh/id_rsa.json", true),
    ("require('../../.npmrc')", ".npmrc", true),
    ("export * from '../../notes.txt';", "notes.txt", true),
    ("await import('../../other/private')", "other/private.ts", true),
    ("import '../link/private.ts';", "other/private.ts", true),
    ("import './link.mjs';", ".ssh/id_rsa", true),
    ("read(join(__dirname, '..', '..', 'notes.txt'))", "notes.txt", true),
    ("read(`${__dirname}/../../other/data.csv`)", "other/data.csv", true),
    ("read(__dirname + '/../../other/' + name)", "other/data.csv", false),
    ("read(join(__dirname, '../../other'))", "other/data.csv", false),
    ("read(new URL('../link/data.csv', import.meta.url))", "other/data.csv", true),
    ("read(__dirname + '/../link/' + name)", "other/data.csv", false),
];

#[test]
fn code_that_was_pulled_does_not_decide_which_files_are_sent() {
    for project in [None, Some("millrace.yaml"), Some(".git/HEAD")] {
        for (code, file, is_refused) in REACHES {
            let shell = Shell::alone();
            if let Some(project) = project {
                shell.write(&[(project, "{}")]);
            }
            for (_, file, _) in REACHES {
                shell.write(&[(file, "S3CRET")]);
            }
            let peer = with_files("w", &[("steps/a.mjs", ""), ("lib/x.mjs", "")], &json!({}));
            run(&shell, &peer.url, &["workflows", "pull", "p_x"]).ok();
            shell.write(&[("w/steps/a.mjs", code)]);
            std::os::unix::fs::symlink(shell.path("other"), shell.path("w/link")).expect("links");
            std::os::unix::fs::symlink(shell.path(".ssh/id_rsa"), shell.path("w/steps/link.mjs"))
                .expect("links");
            let commands = [
                &["workflows", "deploy", "w"][..],
                &["workflows", "test", "w"],
                &["workflows", "diff", "w", "p_x"],
                &["deploy", "w/steps/a.mjs"],
                &["publish", "w/steps/a.mjs"],
                &["update", "dc_x", "--code", "w/steps/a.mjs"],
            ];
            // How a file is read is the same for all of them.
            let count = if project.is_none() { commands.len() } else { 1 };
            for args in &commands[..count] {
                let (done, sent) = sent(&shell, args);
                assert!(!sent.contains("S3CRET"), "{project:?} {code} {args:?}: {file} was sent");
                assert_eq!(
                    done.stderr.contains("is not sent"),
                    *is_refused,
                    "{project:?} {code} {args:?}: {}",
                    done.stderr
                );
            }
        }
    }
}

#[test]
fn code_of_a_project_reaches_its_own_files_and_the_refusal_says_what_to_do() {
    let shell = Shell::alone();
    shell.write(&[
        ("repo/.git/HEAD", ""),
        ("repo/.env.json", "S3CRET"),
        ("repo/id_rsa", "S3CRET"),
        ("out.mjs", "S3CRET"),
        ("repo/shared/words.mjs", "export const word = 'SHARED';"),
        ("repo/flows/w/workflow.yaml", "steps:\n  - { namespace: a, code_file: steps/a.mjs }\n"),
    ]);
    for (name, part) in [
        ("../../../../out.mjs", "the git work tree"),
        ("../../../.env.json", "begin with a dot"),
        ("../../../id_rsa", "only files of code"),
    ] {
        shell.write(&[("repo/flows/w/steps/a.mjs", &format!("import '{name}';"))]);
        let (done, sent) = sent(&shell, &["workflows", "deploy", "repo/flows/w"]);
        let said = done.fails(1);
        let file = name.rsplit('/').next().expect("a name");
        assert!(
            said.contains(part)
                && said.contains(&format!("{file}`, which `"))
                && said.contains("steps/a.mjs` names")
                && said.contains(&format!("`{}`", shell.path("repo").display()))
                && said.contains("hint:"),
            "{name}: {said}"
        );
        assert!(!sent.contains("S3CRET"), "{name}: {sent}");
    }
    for name in ["../../../../../out.mjs", "../../../id_rsa", "/out.mjs"] {
        shell.write(&[(
            "repo/flows/w/workflow.yaml",
            &format!("steps:\n  - {{ namespace: a, code_file: {name} }}\n"),
        )]);
        let (_, sent) = sent(&shell, &["workflows", "deploy", "repo/flows/w"]);
        assert!(!sent.contains("S3CRET"), "{name}: {sent}");
    }
    shell.write(&[("repo/sources/s.mjs", "import '../shared/words.mjs'; export default {};")]);
    let (_, sent) = sent(&shell, &["deploy", "repo/sources/s.mjs"]);
    assert!(sent.contains("SHARED"), "{sent}");
}

/// A package may be one of a private registry that this machine's settings name, with its keys.
#[test]
fn a_server_does_not_decide_which_package_is_fetched() {
    for origin in ["npm:@acme/private", "npm:left-pad", "@acme/private"] {
        let server = Peer::start(move |_| {
            Says::Json(json!({ "data": [{ "name": "ours", "origin": origin }] }).to_string())
        });
        let packages = Peer::start(|_| Says::Status("404 Not Found"));
        let shell = Shell::alone();
        let update = |more: &[&str]| {
            let args = ["registry", "update", "ours", "--npm-registry", &packages.url];
            run(&shell, &server.url, &[&args[..], more].concat()).fails(1)
        };
        let said = update(&[]);
        assert!(said.contains("not known on this machine") && said.contains(origin), "{said}");
        assert_eq!(packages.requests(), 0, "{origin}");
        // Named by the person, it is fetched.
        update(&[origin]);
        assert_eq!(packages.requests(), 1, "{origin}");
    }
}
