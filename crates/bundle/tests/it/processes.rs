//! Bundling in processes of its own, which may break down.

use millrace_bundle::{Bundle, BundleError, BundleRequest, Bundler, WorkerCommand};

use crate::{NO_REGISTRY, config, files};

/// Bundles in processes that do what the script says; `$0` is a file of theirs.
async fn bundle(script: &str) -> Result<Bundle, BundleError> {
    let dir = tempfile::tempdir().expect("a folder");
    let state = dir.path().join("state").display().to_string();
    let command = WorkerCommand { program: "/bin/sh".into(), args: vec!["-c".into(), format!("cat > /dev/null; {script}"), state] };
    let bundler = Bundler::in_processes(config(dir.path().into(), NO_REGISTRY), command);
    bundler.bundle(BundleRequest { entry: files(&[("a.mjs", "")]), lock: None }).await
}

#[tokio::test]
async fn a_process_that_breaks_down_is_asked_once_more() {
    let error = bundle(r#"if [ -e "$0" ]; then echo '{"Failed":"the second time"}'; else touch "$0"; kill -SEGV $$; fi"#).await.expect_err("an answer");
    assert!(matches!(&error, BundleError::Internal { source, .. } if source.to_string() == "the second time"), "{error:?}");
    let error = bundle(r#"echo x >> "$0"; [ "$(wc -l < "$0")" -lt 3 ] && kill -SEGV $$; echo '{"Failed":"the third time"}'"#).await.expect_err("no answer");
    assert!(error.to_string().contains("the bundler broke down over it (signal: 11"), "{error}");
}
