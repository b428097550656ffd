//! `package.json` of an author: it goes with code that the command line deploys. The registry is
//! the test's own.

use millrace_tests::Server;
use millrace_tests::cli::Shell;
use millrace_tests::registry::{Registry, Release};
use serde_json::json;

use super::packages::returned;

#[tokio::test]
async fn s8_the_command_line_sends_the_manifest_beside_and_above_code() {
    let code = b"module.exports = require('./package.json').version;";
    let plain = |version: &str| json!({ "name": "plain", "version": version });
    let files = [("index.js", &code[..])];
    let releases =
        ["1.0.0", "2.0.0"].map(|version| Release { manifest: plain(version), files: &files });
    let registry = Registry::of(&releases);
    let server = Server::start_with(&["--npm-registry", &registry.url]).await;
    let shell = Shell::new(&server);
    let step = "import plain from 'plain'; export default defineComponent({ run: () => plain });";
    let manifest = r#"{ "scripts": { "test": "x" }, "dependencies": { "plain": "1.0.0" } }"#;
    shell.write(&[
        ("p/package.json", manifest),
        ("p/w/steps/a.mjs", step),
        (
            "p/w/workflow.yaml",
            "name: pinned\ntriggers:\n  - type: http\nsteps:\n  - { namespace: a, code_file: steps/a.mjs }\n",
        ),
        (
            "p/s.mjs",
            "import plain from 'plain'; export default { name: 's', version: '1', run() { return plain; } };",
        ),
    ]);
    let source = shell.run(&["deploy", "p/s.mjs", "--json"]).json();
    let id = source["id"].as_str().expect("an id");
    let run = shell.run(&["run", id, "--json"]).ok();
    assert!(run.contains("1.0.0"), "{run}");
    let ran = |folder: &str| shell.run(&["workflows", "run", folder, "--json"]).ok();
    shell.run(&["workflows", "deploy", "p/w"]).ok();
    assert!(ran("p/w").contains("1.0.0"));
    assert_eq!(shell.run(&["workflows", "diff", "p/w"]).ok(), "");
    // Elsewhere it is written without what tools run, and means the same.
    shell.run(&["workflows", "pull", "pinned", "--to", "q"]).ok();
    assert!(!shell.read("q/package.json").contains("scripts"));
    assert_eq!(shell.run(&["workflows", "diff", "q"]).ok(), "");
    shell.run(&["workflows", "deploy", "q"]).ok();
    assert!(ran("q").contains("1.0.0"));
    assert_eq!(shell.read("p/package.json"), manifest);
}

#[tokio::test]
async fn s8_code_imports_its_own_package_as_in_node() {
    let files = [("index.js", &b"module.exports = 'of a stranger';"[..])];
    let stranger = json!({ "name": "me", "version": "1.0.0" });
    let registry = Registry::of(&[Release { manifest: stranger, files: &files }]);
    let server = Server::start_with(&["--npm-registry", &registry.url]).await;
    let body = |imported: &str| {
        json!({
            "component_code": format!("import x from '{imported}'; export default {{ name: 'a', version: '1', run() {{ return x; }} }};"),
            "component_entry": "steps/a.mjs",
            "component_files": {
                "package.json": r##"{ "name": "me", "imports": { "#cfg": "./cfg.mjs", "#me": "me@1" }, "exports": { "./x": "./lib/x.mjs" } }"##,
                "cfg.mjs": "export default 'cfg';",
                "lib/x.mjs": "export default 'x';",
            },
        })
    };
    for (imported, expected) in [("#cfg", "cfg"), ("me/x", "x"), ("#me", "of a stranger")] {
        assert_eq!(returned(&server, body(imported)).await, json!(expected), "{imported}");
    }
    for (imported, why) in [
        ("#other", "`imports` of a `package.json`"),
        ("me", "`exports` of a `package.json`"),
        ("@/x", "`paths` of tsconfig.json are not read"),
    ] {
        let refused = server.post("/sources", &body(imported)).await;
        assert_eq!(refused.refusal(), (422, "import_unsupported"), "{}", refused.text);
        assert!(refused.text.contains(why), "{}", refused.text);
    }
}
