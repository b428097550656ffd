//! The data directory: one server at a time, the master key, the first credentials.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use millrace_engine::FirstTenant;
use millrace_model::ids::OrgId;
use serde_json::json;

use crate::usable::{self, Unusable};

/// The first API key.
pub const CREDENTIALS: &str = "credentials.json";
/// The first API key until it is known whether the database has it.
const NEXT_CREDENTIALS: &str = "credentials.json.next";
/// There while a backup is restored.
pub const RESTORING: &str = "restoring";

/// How long a start waits for the lock. A server that was killed while it started a process leaves
/// its lock to that process until it runs its own program: a supervisor that starts the next one at
/// once must not be told of another server.
const RELEASE: Duration = Duration::from_secs(2);

/// A data directory that this process holds. The kernel gives it up when the process ends, however
/// it ends.
pub struct DataDir {
    path: PathBuf,
    _lock: File,
}

impl DataDir {
    pub fn open(path: &Path) -> Result<Self> {
        refuse_unusable(path)?;
        // What is in it is nobody else's business.
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path)
            .map_err(|error| unmade(path, &error))?;
        let path = path
            .canonicalize()
            .with_context(|| format!("could not open the data directory `{}`", path.display()))?;
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(path.join("lock"))
            .with_context(|| {
                format!("could not write in the data directory `{}`", path.display())
            })?;
        if !locked_within(&lock, RELEASE) {
            bail!(
                "the data directory `{}` is in use by another server; stop it, or choose another with --data-dir",
                path.display()
            );
        }
        Ok(Self { path, _lock: lock })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Writes what a first user needs, beside its place.
    pub fn prepare_credentials(&self, first: &FirstTenant, url: &str) -> Result<()> {
        let text = json!({ "url": url, "api_key": first.api_key, "org_id": first.org_id, "user_id": first.user_id, "email": first.email });
        let path = self.file(NEXT_CREDENTIALS);
        write_private(&path, format!("{text:#}\n").as_bytes())
            .with_context(|| format!("could not write `{}`", path.display()))
    }

    /// Puts prepared credentials in their place where they are of the `first` organization; others
    /// were of one that was never made. Whether there were any.
    pub fn take_over_credentials(&self, first: Option<&OrgId>) -> Result<bool> {
        let path = self.file(NEXT_CREDENTIALS);
        let Ok(text) = std::fs::read_to_string(&path) else { return Ok(false) };
        let prepared =
            millrace_model::json::from_str::<serde_json::Value>(&text).unwrap_or_default();
        let fits = first.is_some_and(|first| prepared["org_id"] == first.as_str());
        let done =
            if fits { rename(&path, &self.file(CREDENTIALS)) } else { std::fs::remove_file(&path) };
        done.with_context(|| format!("could not move `{}`", path.display()))?;
        Ok(fits)
    }

    /// Keeps the address in the credentials true when the server listens elsewhere.
    pub fn update_url(&self, url: &str) -> Result<()> {
        let path = self.file(CREDENTIALS);
        let Ok(text) = std::fs::read_to_string(&path) else { return Ok(()) };
        let Ok(mut value) = millrace_model::json::from_str::<serde_json::Value>(&text) else {
            return Ok(());
        };
        if value["url"] == url || !value.is_object() {
            return Ok(());
        }
        value["url"] = url.into();
        write_private(&path, format!("{value:#}\n").as_bytes())
            .with_context(|| format!("could not write `{}`", path.display()))
    }
}

/// Whether the lock became ours within `patience`.
fn locked_within(lock: &File, patience: Duration) -> bool {
    let begun = Instant::now();
    loop {
        #[expect(unsafe_code, reason = "a system call without a safe wrapper")]
        // SAFETY: the descriptor is open and ours.
        let held = unsafe { libc::flock(lock.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0;
        if held || begun.elapsed() >= patience {
            return held;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Fails where a data directory, or what every start writes to in it, is closed to this user. One
/// that is not there yet is well.
pub fn refuse_unusable(path: &Path) -> Result<(), Unusable> {
    usable::folder("the data directory", path)?;
    usable::file("the lock of the data directory,", &path.join("lock"))?;
    usable::folder("the folder of hosts,", &path.join("hosts"))?;
    usable::folder("the cache,", &path.join("cache"))
}

/// A data directory that cannot be made.
pub fn unmade(path: &Path, error: &std::io::Error) -> Unusable {
    let shown = path.display();
    Unusable {
        found: format!("the data directory `{shown}` cannot be made: {error}"),
        mend: format!(
            "make it, and give it to the server's user: `install -d -m 700 -o USER {shown}`"
        ),
    }
}

/// Whether others than its owner may read or change it, or look what is in it.
pub fn is_open_to_others(meta: &std::fs::Metadata) -> bool {
    meta.mode() & 0o077 != 0
}

/// Whether a server has started with it before.
pub fn was_used(path: &Path) -> bool {
    path.join(CREDENTIALS).exists()
}

/// Fails where a data directory has had a database and it is gone: a new one in its place would
/// look as if nothing had been there.
pub fn refuse_lost(path: &Path, database: &Path) -> Result<(), Unusable> {
    let there = std::fs::metadata(database).is_ok_and(|file| file.len() > 0);
    if there || !(was_used(path) || path.join("master.key").exists()) {
        return Ok(());
    }
    let how = if database.is_symlink() && !database.exists() {
        "is a link that leads nowhere"
    } else {
        "is missing or empty"
    };
    Err(Unusable {
        found: format!("the database `{}` {how}, though this data directory has been used", database.display()),
        mend: "restore it from a backup (docs/operate/durability.md), give --database-url if the data is in Postgres, or choose a new --data-dir".into(),
    })
}

/// Fails where a restore was broken off: what is here may be a part of a backup.
pub fn refuse_half_restored(path: &Path) -> Result<(), Unusable> {
    if !path.join(RESTORING).exists() {
        return Ok(());
    }
    let path = path.display();
    Err(Unusable {
        found: format!(
            "a restore into the data directory `{path}` was broken off, and what is there may be a part of the backup"
        ),
        mend: format!(
            "restore it again with `millrace restore BACKUP --data-dir {path}`, which removes that part and begins anew (into another database, if the backup is of a Postgres)"
        ),
    })
}

/// Whether a server holds it.
pub fn is_in_use(path: &Path) -> bool {
    let Ok(lock) = File::open(path.join("lock")) else { return false };
    #[expect(unsafe_code, reason = "a system call without a safe wrapper")]
    // SAFETY: the descriptor is open and ours; what it holds ends with it.
    let free = unsafe { libc::flock(lock.as_raw_fd(), libc::LOCK_SH | libc::LOCK_NB) } == 0;
    !free
}

/// Whole or not at all, readable by the owner only.
pub fn write_private(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let part = path.with_extension("part");
    let mut file =
        OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&part)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    rename(&part, path)
}

/// Renames for good: once this returns, a loss of power does not bring the old name back.
///
/// # Errors
/// Where the file system refuses it.
pub fn rename(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::rename(from, to)?;
    sync_folder_of(to)
}

/// Removes a file for good.
///
/// # Errors
/// Where the file system refuses it.
pub fn remove(path: &Path) -> std::io::Result<()> {
    std::fs::remove_file(path)?;
    sync_folder_of(path)
}

fn sync_folder_of(path: &Path) -> std::io::Result<()> {
    let folder =
        path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match File::open(folder)?.sync_all() {
        // Some file systems (of networks, of other systems) know no such thing for folders.
        Err(error)
            if matches!(error.raw_os_error(), Some(libc::EINVAL | libc::ENOTSUP | libc::EBADF)) =>
        {
            Ok(())
        }
        synced => synced,
    }
}
