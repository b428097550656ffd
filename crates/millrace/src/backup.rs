//! `millrace backup`: copies what a server needs to go on into a folder of its own.
//!
//! Secrets in the database are sealed under the master key and stay so; the key is copied beside
//! it, readable by its owner only, unless it is to be kept elsewhere.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use millrace_model::{Clock as _, SystemClock};
use millrace_store_sqlite::SqliteStore;
use serde::{Deserialize, Serialize};

use crate::config::{Config, ServeArgs};
use crate::data_dir::{CREDENTIALS, rename, write_private};
use crate::database::postgres;
use crate::master_key;
use crate::part::Part;
use crate::postgres_tools::PostgresTools;
use crate::say;

pub const DATABASE: &str = "millrace.db";
/// What SQLite keeps beside its copy while it writes that.
const JOURNAL: &str = "millrace.db-journal";
/// What `pg_dump` writes.
pub const DUMP: &str = "millrace.pgdump";
/// How often the database is copied at most, where the master key is changed meanwhile.
const TRIES_MAX: u32 = 5;
pub const MANIFEST: &str = "backup.json";
pub const MASTER_KEY: &str = "master.key";
/// A master key that was about to take the place of the other, or had just done so, when the
/// database was copied.
pub const NEXT_KEY: &str = "master.key.next";

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
    /// Leave out the master key and the first API key: keep the master key elsewhere, no secret can
    /// be read without it
    #[arg(long)]
    pub without_keys: bool,
    /// Copy only the keys of a server with Postgres, whose database is backed up in another way
    #[arg(long, conflicts_with = "without_keys")]
    pub keys_only: bool,
    /// The folder of Postgres's own programs (pg_dump) [default: the installed ones]
    #[arg(long, value_name = "FOLDER", env = "MILLRACE_PG_BIN")]
    pub pg_bin: Option<PathBuf>,
}

/// What a backup says of itself.
#[derive(Debug, Serialize, Deserialize)]
pub struct Manifest {
    /// The version of Millrace that made it.
    pub version: String,
    /// When, ISO 8601.
    pub created_at: String,
    /// `sqlite`, or `postgres`: then the folder holds what `pg_dump` wrote of it, or the keys only.
    pub database: String,
    /// Whether the keys are in the folder.
    pub keys: bool,
    /// Whether the server had its master key from its environment or a command.
    #[serde(default)]
    pub key_from_elsewhere: bool,
}

/// Copies what a server needs, also while it runs.
pub fn backup(args: BackupArgs) -> Result<()> {
    let serve = ServeArgs {
        config: args.config.clone(),
        data_dir: args.data_dir.clone(),
        database_url: args.database_url.clone(),
        ..ServeArgs::default()
    };
    let config = Config::read(serve)?;
    let data = &config.data_dir;
    let is_postgres = config.database_url.is_some();
    if args.keys_only && !is_postgres {
        bail!(
            "--keys-only is for servers with Postgres, whose address is given with --database-url; a backup of SQLite holds both"
        );
    }
    let place = &config.master_key;
    let key_from_elsewhere = place.command.is_some() || place.key.is_some();
    let key_file = place.file.clone().unwrap_or_else(|| data.join(MASTER_KEY));
    if !is_postgres && !is_file(&data.join(DATABASE))? {
        bail!(
            "`{}` is not the data directory of a server: it has no `{DATABASE}`; name it with --data-dir",
            data.display()
        );
    }
    if !key_from_elsewhere && !is_file(&key_file)? {
        bail!(
            "there is no master key `{}`; name the server's data directory with --data-dir",
            key_file.display()
        );
    }
    if args.folder.exists() {
        bail!("`{}` is there already; name a new folder for the backup", args.folder.display());
    }
    // Whole or not at all: it has its name once everything is in it.
    let part = Part::make(
        &args.folder,
        &[DATABASE, JOURNAL, DUMP, MANIFEST, MASTER_KEY, NEXT_KEY, CREDENTIALS],
    )?;
    let with_key = !args.without_keys && !key_from_elsewhere;
    let mut tries = 0;
    let keys = loop {
        let before = if with_key { keys_of(&key_file)? } else { Vec::new() };
        copy_database(&config, &args, part.path())?;
        // The key may have been changed while the database was copied, more than once too: which
        // one the copy is under, it does not say. Of keys that are as they were before, a server
        // takes both, and finds which one fits.
        if !with_key || keys_of(&key_file)? == before {
            break before;
        }
        tries += 1;
        if tries == TRIES_MAX {
            bail!(
                "the master key was changed each of the {TRIES_MAX} times that the database was copied; make the backup when it stays as it is"
            );
        }
    };
    for (key, name) in keys.iter().zip([MASTER_KEY, NEXT_KEY]) {
        write_private(&part.path().join(name), key).context("could not write the master key")?;
    }
    if !args.without_keys && data.join(CREDENTIALS).is_file() {
        copy_private(&data.join(CREDENTIALS), &part.path().join(CREDENTIALS))?;
    }
    let manifest = Manifest {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        created_at: SystemClock.now().iso(),
        database: if is_postgres { "postgres" } else { "sqlite" }.to_owned(),
        keys: !args.without_keys,
        key_from_elsewhere,
    };
    write_private(
        &part.path().join(MANIFEST),
        format!("{}\n", serde_json::to_string_pretty(&manifest)?).as_bytes(),
    )
    .context("could not write the backup's manifest")?;
    part.finish(&args.folder)?;
    if args.keys_only {
        say(&format!("the keys are in `{}`; the database is not", args.folder.display()));
    } else {
        say(&format!("the backup is in `{}`; `millrace restore` takes it", args.folder.display()));
    }
    if key_from_elsewhere {
        say("the master key is not in it: the server has it from its environment or a command");
    } else if with_key {
        say("it holds the master key: whoever has it can read every secret of the server");
    }
    Ok(())
}

/// Whether a file is there. One that this user may not look at is an error, and not missing.
fn is_file(path: &Path) -> Result<bool> {
    match std::fs::metadata(path) {
        Ok(found) => Ok(found.is_file()),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(false)
        }
        Err(error) => Err(error).with_context(|| format!("could not look at `{}`", path.display())),
    }
}

/// Copies it into the folder, in the place of a copy that is there.
fn copy_database(config: &Config, args: &BackupArgs, folder: &Path) -> Result<()> {
    let path = folder.join(if config.database_url.is_some() { DUMP } else { DATABASE });
    if path.exists() {
        std::fs::remove_file(&path)
            .with_context(|| format!("could not remove `{}`", path.display()))?;
    }
    match &config.database_url {
        Some(_) if args.keys_only => return Ok(()),
        Some(url) => PostgresTools { folder: args.pg_bin.as_deref(), options: &postgres(url)? }
            .dump(&path)?,
        None => {
            SqliteStore::backup(&config.data_dir.join(DATABASE), &path)
                .with_context(|| format!("could not copy the database to `{}`", path.display()))?;
        }
    }
    make_private(&path)
}

/// The master key of a file, and the one that is about to take its place.
fn keys_of(file: &Path) -> Result<Vec<Vec<u8>>> {
    let mut keys = Vec::new();
    for path in [file.to_path_buf(), master_key::beside(file)] {
        match std::fs::read(&path) {
            Ok(key) => keys.push(key),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => {
                return Err(error).with_context(|| {
                    format!("could not read the master key `{}`", path.display())
                });
            }
        }
    }
    Ok(keys)
}

fn make_private(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))
        .with_context(|| format!("could not close `{}` to others", path.display()))
}

/// Copies a file whole or not at all, readable by its owner only.
pub fn copy_private(from: &Path, to: &Path) -> Result<()> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let describe = || format!("could not copy `{}` to `{}`", from.display(), to.display());
    let part = to.with_extension("part");
    let mut target = std::fs::OpenOptions::new()
        .create(true)
        .truncate(true)
        .write(true)
        .mode(0o600)
        .open(&part)
        .with_context(describe)?;
    let copied = std::fs::File::open(from)
        .and_then(|mut source| std::io::copy(&mut source, &mut target))
        .and_then(|_| target.sync_all());
    copied.and_then(|()| rename(&part, to)).with_context(describe)
}
