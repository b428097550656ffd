//! `--sandbox`: what a server does where a wall is missing, and what it says where none is wanted.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use millrace_tests::{Server, binary};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch};
use serde_json::json;

#[cfg(target_arch = "x86_64")]
const ARCH: TargetArch = TargetArch::x86_64;
#[cfg(not(target_arch = "x86_64"))]
const ARCH: TargetArch = TargetArch::aarch64;

/// Runs the server's program on a machine that has no Landlock, as far as it can tell. Ends where
/// it does; else what it said until it was ready.
fn without_landlock(sandbox: &str) -> (Option<i32>, String) {
    let dir = tempfile::tempdir().expect("a folder");
    let (data, log) = (dir.path().join("data"), dir.path().join("log"));
    let sandbox = sandbox.to_owned();
    let run = move || {
        let missing = SeccompAction::Errno(libc::ENOSYS.cast_unsigned());
        let filter = SeccompFilter::new(
            BTreeMap::from([(libc::SYS_landlock_create_ruleset, Vec::new())]),
            SeccompAction::Allow,
            missing,
            ARCH,
        );
        let program = BpfProgram::try_from(filter.expect("a filter")).expect("a program");
        // Of this thread, and of what it starts.
        seccompiler::apply_filter(&program).expect("applies");
        let words = std::fs::File::create(&log).expect("a log");
        let mut command = Command::new(binary());
        command
            .args(["serve", "--listen", "127.0.0.1:0", "--sandbox", &sandbox, "--data-dir"])
            .arg(&data);
        let mut server = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(words)
            .spawn()
            .expect("starts");
        let began = std::time::Instant::now();
        loop {
            let said = std::fs::read_to_string(&log).expect("reads");
            if let Some(status) = server.try_wait().expect("waits") {
                return (status.code(), std::fs::read_to_string(&log).expect("reads"));
            }
            if said.contains(" ready ")
                || said.contains("ready url")
                || began.elapsed().as_secs() > 120
            {
                server.kill().expect("ends");
                server.wait().expect("reaps");
                return (None, said);
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    };
    let said = std::thread::spawn(run).join().expect("joins");
    drop(dir);
    said
}

#[test]
fn where_a_wall_is_missing_nothing_starts_unless_that_is_wanted() {
    let (status, said) = without_landlock("required");
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("Landlock") && said.contains("--sandbox=best-effort"), "{said}");
    let (status, said) = without_landlock("best-effort");
    assert_eq!(status, None, "it ended: {said}");
    assert!(
        said.contains("a wall around components is missing")
            && said.contains("Landlock (files; Linux 5.13"),
        "{said}"
    );
    assert!(
        said.contains("components are walled in")
            && said.contains("no Landlock, seccomp-bpf, egress guard"),
        "{said}"
    );
    let bundling =
        said.lines().find(|line| line.contains("bundling is walled in")).unwrap_or_default();
    assert!(bundling.contains("no Landlock, seccomp-bpf"), "{said}");
}

#[tokio::test]
async fn a_server_without_walls_warns_at_every_start_and_one_with_them_says_which_stand() {
    let mut server = Server::start_unprivileged(&["--sandbox", "off"]).await;
    let warning = "--sandbox=off: there are no walls around components";
    assert_eq!(server.log().matches(warning).count(), 1);
    server.kill();
    server.launch().await;
    assert_eq!(server.log().matches(warning).count(), 2, "{}", server.log());
    // It still runs code.
    assert_eq!(
        server
            .returned("export default { name: 'a', version: '1', run() { return 1; } };", json!({}))
            .await,
        json!(1)
    );
    drop(server);
    let server = Server::start_unprivileged(&[]).await;
    let log = server.log();
    assert!(
        log.contains("components are walled in")
            && log.contains("Landlock (version")
            && log.contains("seccomp-bpf, egress guard"),
        "{log}"
    );
    assert!(!log.contains("missing") && !log.contains(warning), "{log}");
}
