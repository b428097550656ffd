//! One throw-away Postgres for a test binary: its own folder, its own user, a Unix socket only. Nothing of it is left
//! when the process ends, however it ends.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::{MetadataExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use tokio_postgres::NoTls;

/// Makes and starts a cluster in `$2` with the binaries of `$1`, says `ready`, and takes everything away at the end of
/// its input, which is the end of the process that started it: a kill too ends it. Signals of a terminal are for that
/// process.
const KEEPER: &str = r#"
trap '' INT TERM HUP
cd "$2"
"$1/initdb" -D data -U postgres -E UTF8 --locale=C --auth=trust --no-sync >log 2>&1 &&
"$1/pg_ctl" -D data -w -t 120 -l log -o "-k '$2' -c listen_addresses= -c fsync=off -c full_page_writes=off -c max_connections=300 -c shared_buffers=32MB" start >>log 2>&1 &&
echo ready || tail -n 5 log
read -r _
"$1/pg_ctl" -D data -m immediate stop >>log 2>&1
rm -rf "$2"
"#;

/// A running cluster. Its keeper watches our end of the pipe.
pub struct Cluster {
    folder: PathBuf,
    _keeper: Child,
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
            writeln!(std::io::stderr(), "skipped: no Postgres binaries (install postgresql)").expect("writes");
            None
        }
    };
    CLUSTER.get_or_init(start).as_ref()
}

/// The folder with `initdb`: of the newest version that is installed, or on the path.
fn binaries() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut folders: Vec<(u32, PathBuf)> = versions.map(|v| (v.file_name().to_string_lossy().parse().unwrap_or(0), v.path().join("bin"))).collect();
    folders.sort();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = folders.into_iter().rev().map(|(_, folder)| folder).chain(std::env::split_paths(&path)).find(|f| f.join("initdb").is_file())?;
    // What is on the path may be a link; its folder holds the others as well.
    found.join("initdb").canonicalize().ok()?.parent().map(Path::to_path_buf)
}

/// User and group that Postgres runs as where we are root, whom it refuses.
fn unprivileged() -> Option<(u32, u32)> {
    let users = std::fs::read_to_string("/etc/passwd").expect("users");
    let ids = |name: &str| {
        let mut fields = users.lines().map(|line| line.split(':')).find(|fields| fields.clone().next() == Some(name))?.skip(2);
        Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    };
    ids("postgres").or_else(|| ids("nobody"))
}

impl Cluster {
    fn start(binaries: &Path) -> Self {
        let folder = tempfile::Builder::new().prefix("pg-").tempdir().expect("a temporary folder").keep();
        let mut command = Command::new("sh");
        command.args(["-c", KEEPER, "keeper"]).args([binaries, &folder]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        // A group of its own: whoever kills the group of the tests lets it clean up.
        command.process_group(0);
        if folder.metadata().is_ok_and(|ours| ours.uid() == 0)
            && let Some((user, group)) = unprivileged()
        {
            chown(&folder, Some(user), Some(group)).expect("a folder of that user");
            command.uid(user).gid(group);
        }
        let mut keeper = command.spawn().expect("sh");
        let mut said = String::new();
        let mut output = BufReader::new(keeper.stdout.take().expect("a pipe"));
        output.read_line(&mut said).expect("reads");
        assert_eq!(said, "ready\n", "Postgres of {} did not start; see its log in {}", binaries.display(), folder.display());
        Self { folder, _keeper: keeper, databases: AtomicU32::new(0), unused: Mutex::default() }
    }

    /// A new database.
    pub async fn database(&'static self) -> Database {
        let name = format!("test_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        let unused = std::mem::take(&mut *self.unused.lock().unwrap_or_else(PoisonError::into_inner));
        let client = connect(&self.url("postgres")).await;
        for name in unused {
            client.batch_execute(&format!("DROP DATABASE {name} WITH (FORCE)")).await.expect("drops");
        }
        client.batch_execute(&format!("CREATE DATABASE {name}")).await.expect("a database");
        Database { cluster: self, name }
    }

    fn url(&self, database: &str) -> String {
        format!("postgres://postgres@{}/{database}", self.folder.display().to_string().replace('/', "%2F"))
    }
}

impl Database {
    /// Where it is, without a password.
    pub fn url(&self) -> String {
        self.cluster.url(&self.name)
    }

    /// A connection past whatever is tested.
    pub async fn client(&self) -> tokio_postgres::Client {
        connect(&self.url()).await
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        self.cluster.unused.lock().unwrap_or_else(PoisonError::into_inner).push(std::mem::take(&mut self.name));
    }
}

async fn connect(url: &str) -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.expect("connects");
    // Ends with the client.
    tokio::spawn(connection);
    client
}
