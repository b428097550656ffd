//! `backup` and `restore`: what a server needs to go on, in a folder of its own.
//!
//! Secrets in the database are sealed under the master key and stay so; the key is copied beside
//! it, readable by its owner only, unless it is to be kept elsewhere.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use millrace_model::{Clock as _, SystemClock};
use millrace_store_postgres::PostgresOptions;
use millrace_store_sqlite::SqliteStore;
use serde::{Deserialize, Serialize};

use crate::config::{Config, ServeArgs};
use crate::data_dir::{CREDENTIALS, DataDir, RESTORING, remove, rename, write_private};
use crate::database::postgres;
use crate::master_key;
use crate::part::Part;
use crate::postgres_tools::PostgresTools;
use crate::say;

const DATABASE: &str = "millrace.db";
/// What SQLite keeps beside its copy while it writes that.
const JOURNAL: &str = "millrace.db-journal";
/// What `pg_dump` writes.
const DUMP: &str = "millrace.pgdump";
/// How often the database is copied at most, where the master key is changed meanwhile.
const TRIES_MAX: u32 = 5;
const MANIFEST: &str = "backup.json";
const MASTER_KEY: &str = "master.key";
/// A master key that was about to take the place of the other, or had just done so, when the
/// database was copied.
const NEXT_KEY: &str = "master.key.next";

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

/// What `restore` takes.
#[derive(Args, Debug)]
pub struct RestoreArgs {
    /// The backup's folder
    pub folder: PathBuf,
    /// Where the server will keep its data; nothing is restored over another database
    /// [default: ./millrace-data]
    #[arg(long, env = "MILLRACE_DATA_DIR")]
    pub data_dir: Option<PathBuf>,
    /// The master key, if the backup was made without it
    #[arg(long, value_name = "FILE")]
    pub master_key: Option<PathBuf>,
    /// An empty Postgres database to restore into, if the backup is of one
    #[arg(long, env = "MILLRACE_DATABASE_URL", hide_env_values = true)]
    pub database_url: Option<String>,
    /// The folder of Postgres's own programs (pg_restore) [default: the installed ones]
    #[arg(long, value_name = "FOLDER", env = "MILLRACE_PG_BIN")]
    pub pg_bin: Option<PathBuf>,
}

/// What a backup says of itself.
#[derive(Debug, Serialize, Deserialize)]
struct Manifest {
    /// The version of Millrace that made it.
    version: String,
    /// When, ISO 8601.
    created_at: String,
    /// `sqlite`, or `postgres`: then the folder holds what `pg_dump` wrote of it, or the keys only.
    database: String,
    /// Whether the keys are in the folder.
    keys: bool,
    /// Whether the server had its master key from its environment or a command.
    #[serde(default)]
    key_from_elsewhere: bool,
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

/// Makes a data directory of a backup.
pub fn restore(args: RestoreArgs) -> Result<()> {
    let folder = &args.folder;
    let text = std::fs::read_to_string(folder.join(MANIFEST)).with_context(|| {
        format!("`{}` is not a backup: it has no readable `{MANIFEST}`", folder.display())
    })?;
    let manifest: Manifest = millrace_model::json::from_str(&text)
        .with_context(|| format!("the `{MANIFEST}` of `{}` is damaged", folder.display()))?;
    let named = args.master_key.is_some();
    let key = args.master_key.unwrap_or_else(|| folder.join(MASTER_KEY));
    let has_key = key.is_file();
    if !has_key && (named || !manifest.key_from_elsewhere) {
        bail!("there is no master key `{}`; name the server's with --master-key", key.display());
    }
    let given = has_key.then(|| master_key::id_of_file(&key)).transpose()?;
    let source = folder.join(DATABASE);
    let is_sqlite = manifest.database == "sqlite";
    if is_sqlite {
        SqliteStore::check(&source).with_context(|| {
            format!("the backup's database `{}` cannot be used", source.display())
        })?;
        // With the keys of the backup itself a server finds the one that fits.
        let needed = SqliteStore::master_keys(&source)?;
        let fits = |id: &String| !named || needed.is_empty() || needed.contains(id);
        if let Some(given) = given.filter(|id| !fits(id)) {
            bail!(
                "the master key `{}` has the id {given}, and the secrets of the backup are under the one with the id {}; name that with --master-key",
                key.display(),
                needed.join(" or ")
            );
        }
    }
    let dump = Some(folder.join(DUMP)).filter(|dump| dump.is_file());
    let target = match (&dump, &args.database_url) {
        (Some(_), Some(url)) => Some(empty_database(url)?),
        (Some(_), None) => bail!(
            "the backup is of a Postgres database: name an empty one to restore it into with --database-url"
        ),
        (None, _) => None,
    };
    let path = args.data_dir.unwrap_or_else(|| PathBuf::from("millrace-data"));
    let data = DataDir::open(&path)?;
    if data.file(RESTORING).exists() {
        // No server starts while that is there: all of these are of the restore that was broken
        // off.
        for name in [DATABASE, MASTER_KEY, NEXT_KEY, CREDENTIALS]
            .into_iter()
            .map(PathBuf::from)
            .flat_map(|name| [name.with_extension("part"), name])
        {
            match std::fs::remove_file(data.path().join(&name)) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(error).with_context(|| {
                        format!(
                            "could not remove `{}`, which a restore that was broken off left",
                            name.display()
                        )
                    });
                }
                _ => {}
            }
        }
        say(&format!("a restore into `{}` was broken off; it begins anew", path.display()));
    }
    for name in [DATABASE, "millrace.db-wal", "millrace.db-open", MASTER_KEY] {
        if data.file(name).exists() {
            bail!(
                "`{}` has a `{name}` already, and nothing is restored over it; name another folder with --data-dir",
                path.display()
            );
        }
    }
    // Half of a backup is not to be taken for the whole: until this goes, no server starts here.
    write_private(&data.file(RESTORING), format!("{}\n", folder.display()).as_bytes())
        .with_context(|| format!("could not write in `{}`", path.display()))?;
    if has_key {
        copy_private(&key, &data.file(MASTER_KEY))?;
    }
    for name in [NEXT_KEY, CREDENTIALS] {
        let from = folder.join(name);
        if from.is_file() && !(named && name == NEXT_KEY) {
            copy_private(&from, &data.file(name))?;
        }
    }
    if !has_key {
        say(
            "the server had its master key from its environment or a command: start it with the same",
        );
    }
    if is_sqlite {
        copy_private(&source, &data.file(DATABASE))?;
    } else if let (Some(dump), Some(options)) = (&dump, &target) {
        PostgresTools { folder: args.pg_bin.as_deref(), options }.restore(dump)?;
    }
    remove(&data.file(RESTORING))
        .with_context(|| format!("could not remove `{}`", data.file(RESTORING).display()))?;
    if is_sqlite {
        say(&format!(
            "restored a backup of {} into `{}`; start it with: millrace serve --data-dir {}",
            manifest.created_at,
            path.display(),
            path.display()
        ));
    } else if target.is_some() {
        say(&format!(
            "restored a backup of {} into the database and `{}`; start it with: ",
            manifest.created_at,
            path.display()
        ));
        say(&format!(
            "  millrace serve --data-dir {} --database-url \"$MILLRACE_DATABASE_URL\"",
            path.display()
        ));
    } else {
        say(&format!(
            "the keys are restored into `{}`; the database is not in this backup",
            path.display()
        ));
    }
    Ok(())
}

/// A database in which no Millrace has been.
fn empty_database(url: &str) -> Result<PostgresOptions> {
    let options = postgres(url)?;
    let place = options.place().unwrap_or_default();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("could not start")?;
    let examined = runtime
        .block_on(millrace_store_postgres::examine(&options))
        .with_context(|| format!("could not use the Postgres {place}"))?;
    if examined.schema != 0 {
        bail!(
            "the Postgres {place} has been used by Millrace, and nothing is restored over it; make an empty one"
        );
    }
    Ok(options)
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
fn copy_private(from: &Path, to: &Path) -> Result<()> {
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
