//! Settings of the server: what cannot be meant stops the start, with its name and what is allowed.

use std::path::Path;
use std::process::Command;

use millrace_tests::{Server, binary};

/// A start that fails, in its words.
pub(crate) fn refused(dir: &Path, args: &[&str], env: &[(&str, &str)]) -> String {
    let output = Command::new(binary())
        .args(["serve", "--listen", "127.0.0.1:0", "--data-dir"])
        .arg(dir)
        .args(args)
        .envs(env.iter().copied())
        .output()
        .expect("starts");
    assert_eq!(output.status.code(), Some(1));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_setting_that_cannot_be_meant_stops_the_start() {
    let dir = tempfile::tempdir().expect("a folder");
    let dir = dir.path().join("data");
    for (args, said) in [
        (["--connections-max", "0"], "connections_max is 0; allowed are 1 and more"),
        (["--keep-days-max", "0"], "keep_days_max is 0"),
        (["--memory-max-mb", "1"], "memory_max_mb is 1; allowed are 256 and more"),
        (["--timeout-max-seconds", "9"], "timeout_max_seconds is 9; allowed are 60"),
        (["--base-url", "millrace.test"], "it starts with http:// or https://"),
        (["--base-url", "https://x.test/mill"], "served at the root of a host"),
        (["--npm-registry", "nope"], "npm_registry is not an address"),
        (["--smtp-url", "mail"], "smtp_url: "),
        (["--mail-from", "no address"], "mail_from is `no address`"),
        (["--owner-email", "nope"], "owner_email: `nope` is not an e-mail address"),
        (["--master-key", "xyz"], "master_key (MILLRACE_MASTER_KEY) is no master key"),
    ] {
        let words = refused(&dir, &args, &[]);
        assert!(words.contains(said), "{args:?}: {words}");
    }
    let words = refused(&dir, &[], &[("MILLRACE_LOG", "verbose")]);
    assert!(words.contains("MILLRACE_LOG is `verbose`; allowed are off, error, warn"), "{words}");
}

#[tokio::test]
async fn an_empty_variable_is_as_one_that_is_not_set() {
    let mut server = Server::new_at_rest(&[]);
    for name in [
        "MILLRACE_LOG",
        "MILLRACE_KEEP_DAYS",
        "MILLRACE_TLS_CERT",
        "MILLRACE_BASE_URL",
        "MILLRACE_OWNER_EMAIL",
        "MILLRACE_SANDBOX",
        "MILLRACE_EGRESS_ALLOW",
    ] {
        server.set_env(name, "");
    }
    server.launch().await;
    assert!(server.log().contains("ready"), "{}", server.log());
}
