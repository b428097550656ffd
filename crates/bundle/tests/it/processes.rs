//! Bundling in processes of its own, which may break down.

use std::task::{Context, Waker};
use std::time::Duration;

use millrace_bundle::{
    Bundle, BundleError, BundleRequest, Bundler, BundlerConfig, Limits, UploadedTree, WorkerCommand,
};

use crate::{NO_REGISTRY, config, files};

/// Bundles in processes that do what the script says; `$0` is a file of theirs. Of each it is known
/// by `$order` what it is for.
async fn bundle_within(limits: Limits, script: &str) -> Result<Bundle, BundleError> {
    let dir = tempfile::tempdir().expect("a folder");
    let state = dir.path().join("state").display().to_string();
    let command = WorkerCommand {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), format!("read -r order; read -r question; {script}"), state],
    };
    let bundler = Bundler::in_processes(
        BundlerConfig { limits, ..config(dir.path().into(), NO_REGISTRY) },
        command,
    );
    bundler.bundle(BundleRequest { entry: files(&[("a.mjs", "")]), lock: None }).await
}

async fn bundle(script: &str) -> Result<Bundle, BundleError> {
    bundle_within(Limits::default(), script).await
}

/// Answers with an error of ours.
fn fails(why: &str) -> String {
    format!(r#"echo '{{"Done":{{"Wrong":{{"Failed":"{why}"}}}}}}'"#)
}

#[tokio::test]
async fn a_process_that_breaks_down_is_asked_once_more() {
    let script = format!(
        r#"if [ -e "$0" ]; then {}; else touch "$0"; kill -SEGV $$; fi"#,
        fails("the second time")
    );
    let error = bundle(&script).await.expect_err("an answer");
    assert!(
        matches!(&error, BundleError::Internal { source, .. } if source.to_string() == "the second time"),
        "{error:?}"
    );
    let script = format!(
        r#"echo x >> "$0"; [ "$(wc -l < "$0")" -lt 3 ] && kill -SEGV $$; {}"#,
        fails("the third time")
    );
    let error = bundle(&script).await.expect_err("no answer");
    assert!(error.to_string().contains("the bundler broke down over it (signal: 11"), "{error}");
}

#[tokio::test]
async fn a_process_that_does_not_end_is_ended_when_its_time_is_over() {
    let limits = Limits { time: Duration::from_secs(1), ..Limits::default() };
    let error = bundle_within(limits, "while true; do :; done").await.expect_err("no answer");
    assert!(
        error.code() == "bundle_timeout" && error.to_string().contains("1 s, the limit"),
        "{error}"
    );
}

#[tokio::test]
async fn a_process_that_takes_too_much_memory_is_ended_and_not_asked_again() {
    let limits = Limits { memory_mb: 64, ..Limits::default() };
    let script = format!(
        r#"if [ -e "$0" ]; then {}; fi; touch "$0"; x=x; while true; do x="$x$x"; done"#,
        fails("it was asked again")
    );
    let error = bundle_within(limits, &script).await.expect_err("no answer");
    assert!(
        error.code() == "bundle_out_of_memory" && error.to_string().contains("64 MiB"),
        "{error}"
    );
    // The kernel's refusal, as a process of ours tells it.
    let error = bundle(r#"echo 'memory allocation of 9 bytes failed' >&2; kill -ABRT $$"#)
        .await
        .expect_err("no answer");
    assert_eq!(error.code(), "bundle_out_of_memory", "{error}");
}

#[tokio::test]
async fn a_process_that_computes_too_much_is_ended_and_not_asked_again() {
    let limits = Limits { cpu_time: Duration::from_secs(1), ..Limits::default() };
    // A process of ours limits itself by the same field of its order.
    let script = format!(
        r#"if [ -e "$0" ]; then {}; fi; touch "$0"; seconds=${{order##*\"cpu_seconds\":}}; ulimit -St "${{seconds%%[!0-9]*}}"; while :; do :; done"#,
        fails("it was asked again")
    );
    let error = bundle_within(limits, &script).await.expect_err("no answer");
    assert!(
        error.code() == "bundle_timeout" && error.to_string().contains("1 s of CPU time"),
        "{error}"
    );
}

#[tokio::test]
async fn what_a_process_says_is_not_believed() {
    for said in
        ["echo '{'", "echo '{\"Done\":{\"Index\":7}}'", "echo x", "head -c 300000000 /dev/zero"]
    {
        let error = bundle(said).await.expect_err("no answer");
        assert!(!error.is_user_error() || error.code() == "bundle_failed", "{said}: {error}");
    }
}

#[tokio::test]
async fn what_is_not_in_the_cache_is_fetched_by_another_process_which_gets_nothing_of_the_code() {
    let asks =
        r#"echo '{"Asked":{"id":7,"need":{"Page":{"url":"http://127.0.0.1:9/"}}}}'; read -r given"#;
    let gives =
        r#"echo "$question" > "$0"; read -r asked; echo "{\"id\":7,\"given\":{\"Ok\":\"given\"}}""#;
    let tells = r#"seen=no; grep -q 'a.mjs' "$0" && seen=yes; echo "{\"Done\":{\"Wrong\":{\"Failed\":\"$seen ${#given}\"}}}""#;
    let error = bundle(&format!(
        r#"case "$order" in *Fetches*) {gives};; *) {asks}; {tells};; esac; read -r end"#
    ))
    .await
    .expect_err("an answer");
    assert!(
        matches!(&error, BundleError::Internal { source, .. } if source.to_string() == "no 31"),
        "{error:?}"
    );
}

/// It was uploaded and unpacked: those who bound uploads have counted it.
#[tokio::test]
async fn a_tree_that_was_let_in_waits_where_no_other_may() {
    let dir = tempfile::tempdir().expect("a folder");
    let command = WorkerCommand {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), "read -r order; read -r question; read -r end".into()],
    };
    let bundler = Bundler::in_processes(config(dir.path().into(), NO_REGISTRY), command).of("a");
    let bundle =
        || Box::pin(bundler.bundle(BundleRequest { entry: files(&[("a.mjs", "")]), lock: None }));
    // Two have a place, and eight wait.
    let mut before: Vec<_> = (0..10).map(|_| bundle()).collect();
    assert!(before.iter_mut().all(|bundling| is_pending(bundling.as_mut())));
    assert_eq!(bundle().await.expect_err("no room").code(), "deploys_waiting");
    assert!(is_pending(Box::pin(bundler.index("tree", UploadedTree::default())).as_mut()));
}

fn is_pending<T>(future: std::pin::Pin<&mut impl Future<Output = T>>) -> bool {
    future.poll(&mut Context::from_waker(Waker::noop())).is_pending()
}
