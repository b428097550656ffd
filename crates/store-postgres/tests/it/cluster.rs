//! Throw-away Postgres of a test binary: its own folder, its own user, a Unix socket only. Nothing
//! of it is left when the process ends, however it ends.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::{MetadataExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use tokio_postgres::NoTls;

/// Makes and starts a cluster in `$2` with the binaries of `$1`, says `ready`, starts it again for
/// each line of its input, and takes everything away at the end of that, which is the end of the
/// process that started it: a kill too ends it. Signals of a terminal are for that process. A
/// database of a test is small: a bench of a large one gives Postgres more memory, and one that
/// compares has it write to the disk.
const KEEPER: &str = r#"
trap '' INT TERM HUP
cd "$2"
start() {
  "$1/pg_ctl" -D data -w -t 120 -l log -o "-k '$2' -c listen_addresses= -c fsync=${MILLRACE_TEST_FSYNC:-off} -c full_page_writes=${MILLRACE_TEST_FSYNC:-off} -c max_connections=300 -c shared_buffers=${MILLRACE_TEST_SHARED_BUFFERS:-32MB}" start >>log 2>&1 &&
  echo ready || tail -n 5 log
}
"$1/initdb" -D data -U postgres -E UTF8 --locale=C --auth=trust --no-sync >log 2>&1 && start "$1" "$2" || tail -n 5 log
while read -r _; do start "$1" "$2"; done
"$1/pg_ctl" -D data -m immediate stop >>log 2>&1
rm -rf "$2"
"#;

/// A running cluster. Its keeper watches our end of the pipe.
pub struct Cluster {
    folder: PathBuf,
    keeper: Mutex<(Child, BufReader<ChildStdout>)>,
    databases: AtomicU32,
    /// Databases that nobody uses any more, dropped before the next is made.
    unused: Mutex<Vec<String>>,
}

/// A database of its own, empty at first.
pub struct Database {
    cluster: &'static Cluster,
    name: String,
}

/// The cluster of this process; `None`, with a word on it, where there is no Postgres to start.
pub fn cluster() -> Option<&'static Cluster> {
    static CLUSTER: OnceLock<Option<Cluster>> = OnceLock::new();
    let start = || match binaries() {
        Some(binaries) => Some(Cluster::start(&binaries)),
        None => {
            // Not `eprintln!`, which is shown only for tests that fail.
            writeln!(std::io::stderr(), "skipped: no Postgres binaries (install postgresql)")
                .expect("writes");
            None
        }
    };
    CLUSTER.get_or_init(start).as_ref()
}

/// The folder with `initdb`: of the newest version that is installed, or on the path.
fn binaries() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut folders: Vec<(u32, PathBuf)> = versions
        .map(|v| (v.file_name().to_string_lossy().parse().unwrap_or(0), v.path().join("bin")))
        .collect();
    folders.sort();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = folders
        .into_iter()
        .rev()
        .map(|(_, folder)| folder)
        .chain(std::env::split_paths(&path))
        .find(|f| f.join("initdb").is_file())?;
    // What is on the path may be a link; its folder holds the others as well.
    found.join("initdb").canonicalize().ok()?.parent().map(Path::to_path_buf)
}

/// User and group that Postgres runs as where we are root, whom it refuses.
fn unprivileged() -> Option<(u32, u32)> {
    let users = std::fs::read_to_string("/etc/passwd").expect("users");
    let ids = |name: &str| {
        let mut fields = users
            .lines()
            .map(|line| line.split(':'))
            .find(|fields| fields.clone().next() == Some(name))?
            .skip(2);
        Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    };
    ids("postgres").or_else(|| ids("nobody"))
}

impl Cluster {
    fn start(binaries: &Path) -> Self {
        let folder =
            tempfile::Builder::new().prefix("pg-").tempdir().expect("a temporary folder").keep();
        let mut command = Command::new("sh");
        command
            .args(["-c", KEEPER, "keeper"])
            .args([binaries, &folder])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        // A group of its own: whoever kills the group of the tests lets it clean up.
        command.process_group(0);
        if folder.metadata().is_ok_and(|ours| ours.uid() == 0)
            && let Some((user, group)) = unprivileged()
        {
            chown(&folder, Some(user), Some(group)).expect("a folder of that user");
            command.uid(user).gid(group);
        }
        let mut keeper = command.spawn().expect("sh");
        let output = BufReader::new(keeper.stdout.take().expect("a pipe"));
        let cluster = Self {
            folder,
            keeper: Mutex::new((keeper, output)),
            databases: AtomicU32::new(0),
            unused: Mutex::default(),
        };
        cluster.wait_ready();
        cluster
    }

    fn wait_ready(&self) {
        let mut said = String::new();
        self.keeper
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .1
            .read_line(&mut said)
            .expect("reads");
        assert_eq!(
            said,
            "ready\n",
            "Postgres did not start; see its log in {}",
            self.folder.display()
        );
    }

    /// A cluster of the caller's own, which it may kill; goes away with the process.
    #[allow(dead_code, reason = "not all tests kill")]
    pub fn own() -> Option<&'static Self> {
        binaries().map(|binaries| &*Box::leak(Box::new(Self::start(&binaries))))
    }

    /// SIGKILL of the server and all its processes.
    #[allow(dead_code, reason = "not all tests kill")]
    pub fn kill(&self) {
        let pids = self.signal("-KILL");
        while pids.iter().any(|pid| is_alive(pid)) {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        // The next start takes a process that is dead and not yet reaped for one that lives.
        for lock in ["data/postmaster.pid", ".s.PGSQL.5432.lock"] {
            std::fs::remove_file(self.folder.join(lock)).expect("was there");
        }
    }

    /// Sends the server and all its processes a signal, as `kill` names it; gives their ids.
    #[allow(dead_code, reason = "not all tests kill")]
    pub fn signal(&self, signal: &str) -> Vec<String> {
        let file = std::fs::read_to_string(self.folder.join("data/postmaster.pid")).expect("runs");
        let postmaster = file.lines().next().expect("a process").to_owned();
        let mut pids = children(&postmaster);
        pids.push(postmaster);
        // Some may have ended between, which it says.
        Command::new("kill").arg(signal).args(&pids).stderr(Stdio::null()).status().expect("kill");
        pids
    }

    /// Starts it again after a kill.
    #[allow(dead_code, reason = "not all tests kill")]
    pub fn start_again(&self) {
        let order = self
            .keeper
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .0
            .stdin
            .as_mut()
            .expect("a pipe")
            .write_all(b"start\n");
        order.expect("the keeper lives");
        self.wait_ready();
    }

    /// A new database.
    pub async fn database(&'static self) -> Database {
        let name = format!("test_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        let unused =
            std::mem::take(&mut *self.unused.lock().unwrap_or_else(PoisonError::into_inner));
        let client = connect(&self.url("postgres")).await;
        for name in unused {
            client
                .batch_execute(&format!("DROP DATABASE {name} WITH (FORCE)"))
                .await
                .expect("drops");
        }
        client.batch_execute(&format!("CREATE DATABASE {name}")).await.expect("a database");
        Database { cluster: self, name }
    }

    fn url(&self, database: &str) -> String {
        format!(
            "postgres://postgres@{}/{database}",
            self.folder.display().to_string().replace('/', "%2F")
        )
    }
}

impl Database {
    /// Where it is, without a password.
    pub fn url(&self) -> String {
        self.cluster.url(&self.name)
    }

    /// The socket that its server listens on.
    #[allow(dead_code, reason = "not all tests put something between")]
    pub fn socket(&self) -> PathBuf {
        self.cluster.folder.join(".s.PGSQL.5432")
    }

    /// Its name there.
    #[allow(dead_code, reason = "not all tests put something between")]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A connection past whatever is tested.
    #[allow(dead_code, reason = "a benchmark goes through the store")]
    pub async fn client(&self) -> tokio_postgres::Client {
        connect(&self.url()).await
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        self.cluster
            .unused
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(std::mem::take(&mut self.name));
    }
}

/// Fields of `/proc/<pid>/stat` behind the name: state, parent.
fn stat(pid: &str) -> Option<(String, String)> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    Some((fields.next()?.to_owned(), fields.next()?.to_owned()))
}

fn is_alive(pid: &str) -> bool {
    stat(pid).is_some_and(|(state, _)| state != "Z")
}

/// Processes that a process started and that are there still.
#[allow(dead_code, reason = "not all tests kill")]
pub fn children(parent: &str) -> Vec<String> {
    let all = std::fs::read_dir("/proc")
        .expect("processes")
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned());
    all.filter(|name| name.bytes().all(|b| b.is_ascii_digit()))
        .filter(|pid| stat(pid).is_some_and(|(_, of)| of == parent))
        .collect()
}

async fn connect(url: &str) -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.expect("connects");
    // Ends with the client.
    tokio::spawn(connection);
    client
}
