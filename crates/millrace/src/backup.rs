//! `backup` and `restore`: what a server needs to go on, in a folder of its own.
//!
//! Secrets in the database are sealed under the master key and stay so; the key is copied beside it, readable by its owner only, unless it is
//! to be kept elsewhere.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use millrace_model::{Clock as _, SystemClock};
use millrace_store_sqlite::SqliteStore;
use serde::{Deserialize, Serialize};

use crate::config::{Config, ServeArgs};
use crate::data_dir::{DataDir, write_private};

const DATABASE: &str = "millrace.db";
const MANIFEST: &str = "backup.json";
const MASTER_KEY: &str = "master.key";
/// Beside the database: the master key, and the first API key.
const KEYS: [&str; 2] = [MASTER_KEY, "credentials.json"];

/// What `backup` takes.
#[derive(Args, Debug)]
pub struct BackupArgs {
    /// A new folder for the backup
    pub folder: PathBuf,
    /// Where the server keeps its data [default: ./millrace-data]
    #[arg(long, env = "MILLRACE_DATA_DIR")]
    pub data_dir: Option<PathBuf>,
    /// The server's configuration file, if it is not in the data directory
    #[arg(long, env = "MILLRACE_CONFIG")]
    pub config: Option<PathBuf>,
    /// The server's Postgres database, if it has one
    #[arg(long, env = "MILLRACE_DATABASE_URL", hide_env_values = true)]
    pub database_url: Option<String>,
    /// Leave out the master key and the first API key: keep the master key elsewhere, no secret can be read without it
    #[arg(long)]
    pub without_keys: bool,
}

/// What `restore` takes.
#[derive(Args, Debug)]
pub struct RestoreArgs {
    /// The backup's folder
    pub folder: PathBuf,
    /// Where the server will keep its data; nothing is restored over another database [default: ./millrace-data]
    #[arg(long, env = "MILLRACE_DATA_DIR")]
    pub data_dir: Option<PathBuf>,
    /// The master key, where the backup was made without it
    #[arg(long, value_name = "FILE")]
    pub master_key: Option<PathBuf>,
}

/// What a backup says of itself.
#[derive(Debug, Serialize, Deserialize)]
struct Manifest {
    /// The version of Millrace that made it.
    version: String,
    /// When, ISO 8601.
    created_at: String,
    /// `sqlite`: the database is in the folder. `postgres`: only the keys are.
    database: String,
    /// Whether the keys are in the folder.
    keys: bool,
}

/// Copies what a server needs, also while it runs.
#[expect(clippy::print_stderr, reason = "what a person reads of a command")]
pub fn backup(args: BackupArgs) -> Result<()> {
    let serve = ServeArgs { config: args.config, data_dir: args.data_dir, database_url: args.database_url, ..ServeArgs::default() };
    let config = Config::read(serve)?;
    let data = &config.data_dir;
    let is_postgres = config.database_url.is_some();
    let needed = if is_postgres { MASTER_KEY } else { DATABASE };
    if !data.join(needed).is_file() {
        bail!("`{}` is not the data directory of a server: it has no `{needed}`; name it with --data-dir", data.display());
    }
    if args.folder.exists() {
        bail!("`{}` is there already; name a new folder for the backup", args.folder.display());
    }
    // Whole or not at all: it has its name once everything is in it.
    let part = Part::make(&args.folder)?;
    if !is_postgres {
        let path = part.0.join(DATABASE);
        SqliteStore::backup(&data.join(DATABASE), &path).with_context(|| format!("could not copy the database to `{}`", path.display()))?;
        make_private(&path)?;
    }
    if !args.without_keys {
        for name in KEYS {
            let from = data.join(name);
            // An operator may have taken the first API key away; the master key is needed.
            if from.is_file() || name == MASTER_KEY {
                copy_private(&from, &part.0.join(name))?;
            }
        }
    }
    let manifest = Manifest {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        created_at: SystemClock.now().iso(),
        database: if is_postgres { "postgres" } else { "sqlite" }.to_owned(),
        keys: !args.without_keys,
    };
    write_private(&part.0.join(MANIFEST), format!("{}\n", serde_json::to_string_pretty(&manifest)?).as_bytes())
        .context("could not write the backup's manifest")?;
    part.finish(&args.folder)?;
    if is_postgres {
        eprintln!("the keys are in `{}`; the database is Postgres, which has its own tools:", args.folder.display());
        eprintln!("  pg_dump --format=custom --file=millrace.pgdump \"$MILLRACE_DATABASE_URL\"");
    } else {
        eprintln!("the backup is in `{}`; `millrace restore` takes it", args.folder.display());
    }
    if !args.without_keys {
        eprintln!("it holds the master key: whoever has it can read every secret of the server");
    }
    Ok(())
}

/// Makes a data directory of a backup.
#[expect(clippy::print_stderr, reason = "what a person reads of a command")]
pub fn restore(args: RestoreArgs) -> Result<()> {
    let folder = &args.folder;
    let text =
        std::fs::read_to_string(folder.join(MANIFEST)).with_context(|| format!("`{}` is not a backup: it has no readable `{MANIFEST}`", folder.display()))?;
    let manifest: Manifest = serde_json::from_str(&text).with_context(|| format!("the `{MANIFEST}` of `{}` is damaged", folder.display()))?;
    let key = args.master_key.unwrap_or_else(|| folder.join(MASTER_KEY));
    if !key.is_file() {
        bail!("the backup was made without its keys; name the server's master key with --master-key");
    }
    let length = std::fs::metadata(&key).with_context(|| format!("could not read `{}`", key.display()))?.len();
    if length != 32 {
        bail!("the master key `{}` has {length} bytes, a key has 32", key.display());
    }
    let source = folder.join(DATABASE);
    let is_sqlite = manifest.database == "sqlite";
    if is_sqlite {
        SqliteStore::check(&source).with_context(|| format!("the backup's database `{}` cannot be used", source.display()))?;
    }
    let path = args.data_dir.unwrap_or_else(|| PathBuf::from("millrace-data"));
    let data = DataDir::open(&path)?;
    for name in [DATABASE, "millrace.db-wal", MASTER_KEY] {
        if data.file(name).exists() {
            bail!("`{}` has a `{name}` already, and nothing is restored over it; name another folder with --data-dir", path.display());
        }
    }
    // The database last: a folder without one is no server's, and may be restored into again after its rest was removed.
    copy_private(&key, &data.file(MASTER_KEY))?;
    let credentials = folder.join("credentials.json");
    if credentials.is_file() {
        copy_private(&credentials, &data.file("credentials.json"))?;
    }
    if is_sqlite {
        copy_private(&source, &data.file(DATABASE))?;
        eprintln!("restored a backup of {} into `{}`; start it with: millrace serve --data-dir {}", manifest.created_at, path.display(), path.display());
    } else {
        eprintln!("the keys are restored into `{}`; restore the database with pg_restore into an empty one:", path.display());
        eprintln!("  pg_restore --no-owner --dbname=\"$MILLRACE_DATABASE_URL\" millrace.pgdump");
    }
    Ok(())
}

/// A folder that is being filled; it goes unless it was finished.
struct Part(PathBuf);

impl Part {
    fn make(folder: &Path) -> Result<Self> {
        use std::os::unix::fs::DirBuilderExt as _;
        let mut name = folder.as_os_str().to_owned();
        name.push(".part");
        let part = PathBuf::from(name);
        std::fs::DirBuilder::new()
            .mode(0o700)
            .create(&part)
            .with_context(|| format!("could not make `{}`; if an earlier backup was broken off, remove it", part.display()))?;
        Ok(Self(part))
    }

    fn finish(self, folder: &Path) -> Result<()> {
        std::fs::rename(&self.0, folder).with_context(|| format!("could not give the backup its name `{}`", folder.display()))
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // Renamed by now where all went well.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn make_private(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).with_context(|| format!("could not close `{}` to others", path.display()))
}

/// Copies a file whole or not at all, readable by its owner only.
fn copy_private(from: &Path, to: &Path) -> Result<()> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let describe = || format!("could not copy `{}` to `{}`", from.display(), to.display());
    let part = to.with_extension("part");
    let mut target = std::fs::OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&part).with_context(describe)?;
    let copied = std::fs::File::open(from).and_then(|mut source| std::io::copy(&mut source, &mut target)).and_then(|_| target.sync_all());
    copied.and_then(|()| std::fs::rename(&part, to)).with_context(describe)
}
