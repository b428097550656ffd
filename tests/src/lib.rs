//! The harness of the end-to-end tests: a real server in a folder of its own, spoken to over HTTP.

pub mod browser;
pub mod cli;
pub mod client;
/// The tests of the Postgres store start theirs in the same way.
#[path = "../../crates/store-postgres/tests/it/cluster.rs"]
pub mod cluster;
pub mod disk;
pub mod flow;
pub mod kills;
pub mod npm;
pub mod oidc;
pub mod openapi;
pub mod peer;
pub mod receiver;
pub mod registry;
pub mod schedule;
pub mod shared;
pub mod slow;
pub mod smtp;
pub mod sse;
pub mod terminal;
pub mod websocket;

use std::os::unix::fs::{MetadataExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio::net::unix::pipe;

pub use crate::client::{Answer, Client, answer, endpoint, id};

/// How long a state is waited for.
const DEADLINE: Duration = Duration::from_secs(120);

/// The user and group that unprivileged servers run as.
pub const NOBODY: u32 = 65534;

/// The variable that says which fail points fire.
pub const FAIL_POINTS: &str = "MILLRACE_FAIL_POINTS";

/// The binary, built before the tests by `cargo xtask test`.
pub fn binary() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target"), PathBuf::from);
    let path = target.join("debug/millrace");
    assert!(
        path.exists(),
        "{} is missing: run `cargo xtask test`, which builds it first",
        path.display()
    );
    path
}

/// A server with a data directory that goes with it.
pub struct Server {
    dir: TempDir,
    args: Vec<String>,
    /// As `nobody`, where the tests run as root.
    unprivileged: bool,
    /// The control group that it starts in.
    group: Option<PathBuf>,
    /// How many descriptors it may have, where not as many as the tests.
    descriptors_max: Option<u64>,
    /// What it is started from, where not from the build of the tests.
    program: Option<PathBuf>,
    /// Variables of its environment.
    env: Vec<(String, String)>,
    /// Where the time is held, where a test does.
    clock: Option<PathBuf>,
    child: Option<Child>,
    /// Its standard output, to which it writes nothing: it ends with the process.
    end: Option<pipe::Receiver>,
    client: Client,
}

impl std::ops::Deref for Server {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl std::ops::DerefMut for Server {
    fn deref_mut(&mut self) -> &mut Client {
        &mut self.client
    }
}

impl Server {
    pub async fn start() -> Self {
        Self::start_with(&[]).await
    }

    /// An organization of its own on a server that other tests use too: for a test that looks at
    /// nothing else.
    pub async fn shared() -> Client {
        Client::of_shared().await
    }

    /// Components may reach the servers of the tests, and this one, which are on loopback
    /// addresses.
    pub async fn start_with(args: &[&str]) -> Self {
        Self::start_as(&[args, &["--egress-allow", "127.0.0.0/8"]].concat(), false, None).await
    }

    /// At a time that stands still until [`Server::set_clock`] moves it, also while the server is
    /// down. Epoch milliseconds.
    pub async fn start_at(ms: i64, args: &[&str]) -> Self {
        Self::start_as(&[args, &["--egress-allow", "127.0.0.0/8"]].concat(), false, Some(ms)).await
    }

    /// Holds the time at another place.
    pub fn set_clock(&self, ms: i64) {
        self.write_clock(&ms.to_string());
    }

    /// Lets the clock go on, but so much off, milliseconds; before the first start, for a server
    /// whose clock a test moves.
    pub fn skew_clock(&mut self, ms: i64) {
        self.clock.get_or_insert_with(|| self.dir.path().join("clock"));
        self.write_clock(&format!("{ms:+}"));
    }

    fn write_clock(&self, text: &str) {
        let path = self.clock.as_ref().expect("a clock that is held");
        // Replaced as a whole: the server never reads a half of it.
        let next = path.with_extension("next");
        std::fs::write(&next, text).expect("writes");
        std::fs::rename(next, path).expect("renames");
    }

    /// As an ordinary user, also where the tests run as root. Components reach public addresses
    /// only, unless `args` say otherwise.
    pub async fn start_unprivileged(args: &[&str]) -> Self {
        Self::start_as(args, true, None).await
    }

    /// One whose fail points a test sets; it starts with the first [`Server::launch`].
    pub fn failing(args: &[&str]) -> Self {
        let mut server = Self::new(&[args, &["--egress-allow", "127.0.0.0/8"]].concat(), false);
        server.set_env(FAIL_POINTS, "");
        server
    }

    /// One that starts with the first [`Server::launch`].
    pub fn new_at_rest(args: &[&str]) -> Self {
        Self::new(args, false)
    }

    /// One that starts with the first [`Server::launch`], as an ordinary user.
    pub fn unprivileged_at_rest(args: &[&str]) -> Self {
        Self::new(args, true)
    }

    /// The control group that it starts in, which is that user's; for root to say.
    pub fn set_group(&mut self, group: &Path) {
        self.group = Some(group.to_owned());
    }

    /// So many descriptors, and no more, from the next start on.
    pub fn set_descriptors_max(&mut self, max: u64) {
        self.descriptors_max = Some(max);
    }

    /// A variable of its environment, from the next start on.
    pub fn set_env(&mut self, name: &str, value: &str) {
        self.env.retain(|(set, _)| set != name);
        self.env.push((name.to_owned(), value.to_owned()));
    }

    /// Another server on the database that this one uses, with its master key and the same owner;
    /// it starts with the first [`Server::launch`].
    pub fn beside(&self, args: &[&str]) -> Self {
        let server = Self::new(&[args, &["--egress-allow", "127.0.0.0/8"]].concat(), false);
        let (from, to) = (self.data_dir(), server.data_dir());
        std::fs::create_dir_all(&to).expect("a folder");
        std::fs::copy(from.join("master.key"), to.join("master.key")).expect("copies");
        // Its address is its own.
        let credentials = std::fs::read_to_string(from.join("credentials.json"))
            .expect("reads")
            .replace(&self.url, "");
        std::fs::write(to.join("credentials.json"), credentials).expect("writes");
        server
    }

    async fn start_as(args: &[&str], unprivileged: bool, clock: Option<i64>) -> Self {
        let mut server = Self::new(args, unprivileged);
        if let Some(ms) = clock {
            server.clock = Some(server.dir.path().join("clock"));
            server.set_clock(ms);
        }
        server.launch().await;
        server
    }

    fn new(args: &[&str], unprivileged: bool) -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let unprivileged =
            unprivileged && std::fs::metadata("/proc/self").expect("reads").uid() == 0;
        if unprivileged {
            chown(dir.path(), Some(NOBODY), Some(NOBODY)).expect("gives the folder away");
            // The checkout may lie where only root looks. A copy is still open for writing in what
            // other tests start meanwhile, and the kernel runs no such file.
            let program = dir.path().join("millrace");
            std::fs::hard_link(binary(), &program)
                .or_else(|_| std::fs::copy(binary(), &program).map(|_| ()))
                .expect("the program in a folder that all may enter");
        }
        Self {
            dir,
            args: args.iter().map(|a| (*a).to_owned()).collect(),
            unprivileged,
            group: None,
            descriptors_max: None,
            program: None,
            env: Vec::new(),
            clock: None,
            child: None,
            end: None,
            client: Client::default(),
        }
    }

    pub fn data_dir(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    /// As [`Server::start_with`], from another build until [`Server::take_own_program`].
    pub async fn start_from(program: &Path, args: &[&str]) -> Self {
        let mut server = Self::new_at_rest(&[args, &["--egress-allow", "127.0.0.0/8"]].concat());
        server.program = Some(program.to_owned());
        server.launch().await;
        server
    }

    /// Starts from the build of the tests from now on.
    pub fn take_own_program(&mut self) {
        self.program = None;
    }

    /// Starts the process; after the first time at the same address.
    pub async fn launch(&mut self) {
        assert!(self.try_launch().await, "the server ended before it was ready: {}", self.log());
    }

    /// As [`Server::launch`]; false where it ended before it was ready.
    pub async fn try_launch(&mut self) -> bool {
        self.begin();
        self.until_ready().await
    }

    /// Starts the process, and does not wait for it.
    pub fn begin(&mut self) {
        let listen = if self.url.is_empty() {
            "127.0.0.1:0"
        } else {
            self.url.trim_start_matches("http://")
        };
        let log = std::fs::File::options()
            .create(true)
            .append(true)
            .open(self.dir.path().join("log"))
            .expect("a log");
        let program = match (self.unprivileged, &self.program) {
            (true, _) => self.dir.path().join("millrace"),
            (false, Some(program)) => program.clone(),
            (false, None) => binary(),
        };
        let mut command = match (&self.group, self.descriptors_max) {
            // Only root moves a process into a part of the tree that is another's.
            (Some(group), _) => {
                let mut command = Command::new("sh");
                command.args(["-c", "echo 0 > \"$0\"/cgroup.procs && exec setpriv --reuid 65534 --regid 65534 --clear-groups \"$@\""]).arg(group).arg(program);
                command
            }
            (None, Some(max)) => {
                let mut command = Command::new("prlimit");
                command.arg(format!("--nofile={max}")).arg(program);
                command
            }
            (None, None) => Command::new(program),
        };
        if self.unprivileged && self.group.is_none() {
            command.uid(NOBODY).gid(NOBODY);
        }
        if let Some(clock) = &self.clock {
            command.env("MILLRACE_TEST_CLOCK", clock);
        }
        let mut child = command
            .args(["serve", "--data-dir"])
            .arg(self.data_dir())
            .args(["--listen", listen])
            .args(&self.args)
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .expect("starts");
        let end = child
            .stdout
            .take()
            .map(|end| pipe::Receiver::from_owned_fd(end.into()).expect("a pipe"));
        (self.child, self.end) = (Some(child), end);
    }

    /// Waits until it answers; false where it ended before it was ready.
    pub async fn until_ready(&mut self) -> bool {
        let deadline = Instant::now() + DEADLINE;
        let data_dir = self.data_dir();
        while !self.client.find(&data_dir).await {
            if self.ended() {
                return false;
            }
            assert!(Instant::now() < deadline, "the server did not become ready: {}", self.log());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        true
    }

    /// Whether the process has ended by itself.
    pub fn ended(&mut self) -> bool {
        self.child.as_mut().is_none_or(|child| child.try_wait().expect("waits").is_some())
    }

    /// Waits until the process has ended by itself; false where it goes on for so long.
    pub async fn until_ended(&mut self, patience: Duration) -> bool {
        let Some(end) = &mut self.end else { return true };
        let mut nothing = [0];
        let ended =
            tokio::time::timeout(patience, tokio::io::AsyncReadExt::read(end, &mut nothing)).await;
        // The pipe ends a moment before there is a status.
        ended.is_ok() && self.child.take().is_none_or(|mut child| child.wait().is_ok())
    }

    /// What it is started with from its next start on; components may reach the servers of the
    /// tests.
    pub fn set_args(&mut self, args: &[&str]) {
        let args = [args, &["--egress-allow", "127.0.0.0/8"]].concat();
        self.args = args.into_iter().map(str::to_owned).collect();
    }

    /// The process id of the server.
    pub fn pid(&self) -> u32 {
        self.child.as_ref().map_or(0, Child::id)
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("log")).unwrap_or_default()
    }

    /// SIGKILL, with nothing said before.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It may have ended by itself.
            let _ = child.kill();
            child.wait().expect("reaps");
        }
    }

    /// SIGTERM, and no wait for its end.
    pub fn tell_to_end(&self) {
        self.signal("-TERM");
    }

    /// SIGSTOP: it stands still until [`Server::thaw`]; its hosts go on.
    pub fn freeze(&self) {
        self.signal("-STOP");
    }

    /// SIGCONT.
    pub fn thaw(&self) {
        self.signal("-CONT");
    }

    fn signal(&self, signal: &str) {
        let child = self.child.as_ref().expect("it runs");
        assert!(
            Command::new("kill")
                .args([signal, &child.id().to_string()])
                .status()
                .expect("signals")
                .success()
        );
    }

    /// SIGTERM; the exit code.
    pub fn terminate(&mut self) -> Option<i32> {
        self.tell_to_end();
        self.child.take()?.wait().expect("reaps").code()
    }

    /// Waits until the log says it.
    pub async fn until_log(&self, words: &str) {
        let deadline = Instant::now() + DEADLINE;
        while !self.log().contains(words) {
            assert!(Instant::now() < deadline, "`{words}` is not in the log: {}", self.log());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Where `--metrics-listen` with a port of the system's choice has put the counts, as the log
    /// tells it.
    pub async fn metrics_place(&self) -> String {
        const SAYS: &str = "/metrics is open here";
        self.until_log(SAYS).await;
        let log = self.log();
        let line = log.lines().find(|line| line.contains(SAYS)).expect("a line");
        let place = terminal::plain(line)
            .split_once("address=")
            .and_then(|(_, behind)| behind.split(' ').next().map(str::to_owned));
        place.unwrap_or_else(|| panic!("no address is told: {line}"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}
