//! A server that many tests share, each as an organization of its own. For what a test says to a
//! server; one that ends its server, reads its files or its log, or looks at what is not an
//! organization's has a server to itself.

use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Mutex;

use crate::{Client, DEADLINE, binary};

/// Tests that one server serves: what their code ran in stays warm, and takes memory.
const TESTS_MAX: usize = 16;

/// Starts what follows, its log in `$1/log`, and takes everything away at the end of its input,
/// which is the end of the process of the tests: a kill too ends it.
const KEEPER: &str = r#"
dir="$1"; shift
"$@" </dev/null >/dev/null 2>"$dir/log" &
read -r _
kill -9 $!
rm -rf "$dir"
"#;

/// Ends its server when dropped.
pub struct Keeper {
    child: Child,
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        // Nobody waits for what it takes away.
        let _ = self.child.wait();
    }
}

/// The server of the moment, as its first organization, and how many tests it serves.
static SHARED: Mutex<Option<(Client, usize)>> = Mutex::const_new(None);

impl Client {
    /// As an organization of its own on a server that other tests use too.
    pub async fn of_shared() -> Self {
        let mut shared = SHARED.lock().await;
        let (first, tests) = match shared.take() {
            Some((first, tests)) if tests < TESTS_MAX => (first, tests + 1),
            _ => (start().await, 1),
        };
        let own = first.another_organization(&format!("tests-{tests}")).await;
        *shared = Some((first, tests));
        own
    }
}

async fn start() -> Client {
    let dir =
        tempfile::Builder::new().prefix("shared-").tempdir().expect("a temporary folder").keep();
    let data_dir = dir.join("data");
    let child = Command::new("sh")
        .args(["-c", KEEPER, "keeper"])
        .arg(&dir)
        .arg(binary())
        .args(["serve", "--listen", "127.0.0.1:0", "--egress-allow", "127.0.0.0/8", "--data-dir"])
        .arg(&data_dir)
        .stdin(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut first = Client::default();
    first.kept = Some(Arc::new(Keeper { child }));
    let deadline = Instant::now() + DEADLINE;
    while !first.find(&data_dir).await {
        assert!(
            Instant::now() < deadline,
            "the shared server did not become ready; its log is {}/log",
            dir.display()
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    first
}
