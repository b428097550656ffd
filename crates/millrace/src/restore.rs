//! `millrace restore`: makes a data directory, or fills an empty Postgres database, from a backup.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use millrace_store_postgres::PostgresOptions;
use millrace_store_sqlite::SqliteStore;

use crate::backup::{DATABASE, DUMP, MANIFEST, MASTER_KEY, Manifest, NEXT_KEY, copy_private};
use crate::data_dir::{CREDENTIALS, DataDir, RESTORING, remove, write_private};
use crate::database::postgres;
use crate::master_key;
use crate::postgres_tools::PostgresTools;
use crate::say;

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

/// Makes a data directory of a backup.
pub fn restore(args: RestoreArgs) -> Result<()> {
    let folder = &args.folder;
    let manifest = read_manifest(folder)?;
    let key = KeyFile::find(args.master_key, folder, &manifest)?;
    let database = folder.join(DATABASE);
    let is_sqlite = manifest.database == "sqlite";
    if is_sqlite {
        check_sqlite(&database, &key)?;
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
    clear_broken_off(&data, &path)?;
    check_nothing_is_overwritten(&data, &path)?;
    // Half of a backup is not to be taken for the whole: until this goes, no server starts here.
    write_private(&data.file(RESTORING), format!("{}\n", folder.display()).as_bytes())
        .with_context(|| format!("could not write in `{}`", path.display()))?;
    copy_keys(folder, &key, &data)?;
    if is_sqlite {
        copy_private(&database, &data.file(DATABASE))?;
    } else if let (Some(dump), Some(options)) = (&dump, &target) {
        PostgresTools { folder: args.pg_bin.as_deref(), options }.restore(dump)?;
    }
    remove(&data.file(RESTORING))
        .with_context(|| format!("could not remove `{}`", data.file(RESTORING).display()))?;
    say_restored(&manifest, &path, target.is_some());
    Ok(())
}

fn read_manifest(folder: &Path) -> Result<Manifest> {
    let text = std::fs::read_to_string(folder.join(MANIFEST)).with_context(|| {
        format!("`{}` is not a backup: it has no readable `{MANIFEST}`", folder.display())
    })?;
    millrace_model::json::from_str(&text)
        .with_context(|| format!("the `{MANIFEST}` of `{}` is damaged", folder.display()))
}

/// The master key of a restore.
struct KeyFile {
    path: PathBuf,
    /// Whether it was given by `--master-key`, and is not the backup's own.
    is_named: bool,
    /// None where there is no such file: the server had its key from elsewhere.
    id: Option<String>,
}

impl KeyFile {
    fn find(named: Option<PathBuf>, folder: &Path, manifest: &Manifest) -> Result<Self> {
        let is_named = named.is_some();
        let path = named.unwrap_or_else(|| folder.join(MASTER_KEY));
        let is_there = path.is_file();
        if !is_there && (is_named || !manifest.key_from_elsewhere) {
            bail!(
                "there is no master key `{}`; name the server's with --master-key",
                path.display()
            );
        }
        let id = is_there.then(|| master_key::id_of_file(&path)).transpose()?;
        Ok(Self { path, is_named, id })
    }
}

/// Checks that the backup's SQLite database can be used, and is under the key that was named.
fn check_sqlite(database: &Path, key: &KeyFile) -> Result<()> {
    SqliteStore::check(database).with_context(|| {
        format!("the backup's database `{}` cannot be used", database.display())
    })?;
    // With the keys of the backup itself a server finds the one that fits.
    let needed = SqliteStore::master_keys(database)?;
    let fits = |id: &String| !key.is_named || needed.is_empty() || needed.contains(id);
    if let Some(given) = key.id.as_ref().filter(|id| !fits(id)) {
        bail!(
            "the master key `{}` has the id {given}, and the secrets of the backup are under the one with the id {}; name that with --master-key",
            key.path.display(),
            needed.join(" or ")
        );
    }
    Ok(())
}

/// Removes what a restore into this data directory left that was broken off.
fn clear_broken_off(data: &DataDir, path: &Path) -> Result<()> {
    if !data.file(RESTORING).exists() {
        return Ok(());
    }
    // No server starts while that is there: all of these are of the restore that was broken off.
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
    Ok(())
}

fn check_nothing_is_overwritten(data: &DataDir, path: &Path) -> Result<()> {
    for name in [DATABASE, "millrace.db-wal", "millrace.db-open", MASTER_KEY] {
        if data.file(name).exists() {
            bail!(
                "`{}` has a `{name}` already, and nothing is restored over it; name another folder with --data-dir",
                path.display()
            );
        }
    }
    Ok(())
}

/// Copies the master key, where there is one, and what else of keys the backup has.
fn copy_keys(folder: &Path, key: &KeyFile, data: &DataDir) -> Result<()> {
    if key.id.is_some() {
        copy_private(&key.path, &data.file(MASTER_KEY))?;
    }
    for name in [NEXT_KEY, CREDENTIALS] {
        let from = folder.join(name);
        if from.is_file() && !(key.is_named && name == NEXT_KEY) {
            copy_private(&from, &data.file(name))?;
        }
    }
    if key.id.is_none() {
        say(
            "the server had its master key from its environment or a command: start it with the same",
        );
    }
    Ok(())
}

fn say_restored(manifest: &Manifest, path: &Path, is_in_postgres: bool) {
    let path = path.display();
    let of = &manifest.created_at;
    if manifest.database == "sqlite" {
        say(&format!(
            "restored a backup of {of} into `{path}`; start it with: millrace serve --data-dir {path}"
        ));
    } else if is_in_postgres {
        say(&format!(
            "restored a backup of {of} into the database and `{path}`; start it with: millrace serve --data-dir {path} --database-url \"$MILLRACE_DATABASE_URL\""
        ));
    } else {
        say(&format!("the keys are restored into `{path}`; the database is not in this backup"));
    }
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
