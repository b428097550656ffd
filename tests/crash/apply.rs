//! `apply` that a kill of the server breaks off: the next one does what is missing.

use millrace_tests::cli::Shell;
use millrace_tests::{FAIL_POINTS, Server, endpoint};

fn answers(shell: &Shell, text: &str) {
    let code = format!(
        "export default defineComponent({{ async run({{ $ }}) {{ await $.respond({{ status: 200, body: '{text}' }}); }} }});"
    );
    let workflow =
        "name: hello\ntriggers: [{ type: http }]\nsteps:\n  - namespace: a\n    code_file: a.mjs\n";
    shell.write(&[
        ("shop/workflows/hello/workflow.yaml", workflow),
        ("shop/workflows/hello/a.mjs", &code),
    ]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_kill_broke_off_is_applied_by_the_next() {
    let mut server = Server::failing(&[]);
    server.launch().await;
    let shell = Shell::new(&server);
    answers(&shell, "first");
    shell.run(&["apply", "shop", "--yes"]).ok();
    let url = endpoint(&server.get("/workflows").await.json["data"][0]);
    // Before the new version is live, and when it is and nobody was told.
    for (point, text, then) in [
        ("store.deploy.before_commit", "second", "first"),
        ("store.deploy.after_commit", "third", "third"),
    ] {
        server.kill();
        server.set_env(FAIL_POINTS, &format!("{point}=exit"));
        server.launch().await;
        answers(&shell, text);
        let broken_off = shell.run(&["apply", "shop", "--yes"]);
        assert_ne!(broken_off.code, 0, "{broken_off:?}");
        assert!(server.until_ended(std::time::Duration::from_secs(60)).await);
        server.set_env(FAIL_POINTS, "");
        server.launch().await;
        assert_eq!(said(&url).await, then);
        let told = shell.run(&["apply", "shop", "--yes"]);
        assert!(
            told.stderr.contains("its last apply did not finish")
                && told.stderr.contains("1 to update"),
            "{told:?}"
        );
        assert_eq!(said(&url).await, text);
        assert!(shell.run(&["apply", "shop", "--yes"]).stderr.contains("nothing to do"));
    }
}

async fn said(url: &str) -> String {
    reqwest::get(url).await.expect("an answer").text().await.expect("a body")
}
