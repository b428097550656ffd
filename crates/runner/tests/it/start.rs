//! Starting and ending.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use millrace_runner::{FailureKind, Runner, RunnerConfig, StartError};

use crate::support::{Bench, LONG, Recorder, alive, failure, until, value};

async fn start_error(node: PathBuf) -> StartError {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let config =
        RunnerConfig { node, scratch_dir: dir.path().join("hosts"), ..RunnerConfig::default() };
    match Runner::start(config).await {
        Ok(_) => panic!("it started"),
        Err(error) => error,
    }
}

fn fake_node(dir: &Path, script: &str) -> PathBuf {
    let path = dir.join("node");
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("writes");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("sets");
    path
}

#[tokio::test]
async fn without_node_it_says_what_to_install() {
    let error = start_error("/nowhere/node".into()).await;
    assert!(matches!(error, StartError::NodeMissing { .. }));
    assert_eq!(
        error.to_string(),
        "Node.js was not found as `/nowhere/node`; install Node.js 20 or newer, or name its binary with --node"
    );
}

#[tokio::test]
async fn what_tells_no_version_is_named_with_how_it_ended() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    for (script, words) in [
        ("echo hello", "exit status: 0, nothing on standard error"),
        ("echo; echo 'out of memory' >&2; exit 7", "exit status: 7, out of memory"),
    ] {
        let error = start_error(fake_node(dir.path(), script)).await;
        assert!(matches!(error, StartError::NodeFailed { .. }));
        let text = error.to_string();
        assert!(text.contains(words) && text.contains("--node"), "{text}");
    }
}

#[tokio::test]
async fn an_old_node_is_refused_with_both_versions() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let error = start_error(fake_node(dir.path(), "echo v18.19.1; echo /usr/bin/node")).await;
    assert!(matches!(error, StartError::NodeTooOld { .. }));
    let text = error.to_string();
    assert!(text.contains("is Node.js 18.19.1; Millrace needs 20 or newer"), "{text}");
}

#[tokio::test]
async fn a_scratch_folder_that_cannot_be_made_is_named() {
    let config = RunnerConfig { scratch_dir: "/proc/none/hosts".into(), ..RunnerConfig::default() };
    match Runner::start(config).await {
        Err(error @ StartError::Scratch { .. }) => {
            assert!(error.to_string().contains("/proc/none/hosts"), "{error}")
        }
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("it started"),
    }
}

#[tokio::test]
async fn shutdown_ends_all_processes_and_the_calls_in_them() {
    let bench = Bench::real().await;
    let isolate = bench.isolate("a", "console.log(process.pid); if (event) await new Promise(() => setInterval(() => {}, 1000)); return process.pid;");
    let pid = value(bench.call(&isolate, false).await);
    let busy = bench.isolate("b", "console.log('here'); while (true) {}");
    let (waits, loops) = (Recorder::new(), Recorder::new());
    let calls = [bench.spawn(&isolate, true, LONG, &waits), bench.spawn(&busy, true, LONG, &loops)];
    waits.logged(&pid.to_string()).await;
    loops.logged("here").await;
    until("a blank host waits", || bench.runner.stats().blank_hosts == 1).await;
    bench.runner.shutdown().await;
    assert!(!alive(&pid));
    for call in calls {
        assert_eq!(failure(call.await.expect("joins")).kind, FailureKind::HostLost);
    }
    let stats = bench.runner.stats();
    assert_eq!((stats.hosts, stats.blank_hosts, stats.calls, stats.waiting), (0, 0, 0, 0));
    assert_eq!(failure(bench.call(&isolate, false).await).kind, FailureKind::HostLost);
    let mut left: Vec<_> = std::fs::read_dir(bench.dir.path().join("hosts"))
        .expect("reads")
        .flatten()
        .map(|e| e.file_name())
        .collect();
    left.sort();
    assert_eq!(left, ["first.mjs", "host.cjs", "worker.cjs"]);
}
