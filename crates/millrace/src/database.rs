//! Opening the database: SQLite in the data directory, or Postgres, which may still be starting
//! when the server does.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use millrace_engine::error_chain;
use millrace_store::{Store, StoreError};
use millrace_store_postgres::{PostgresOptions, PostgresStore};
use millrace_store_sqlite::{SqliteOptions, SqliteStore};
use tokio::time::Instant;

use crate::config::Config;
use crate::data_dir::{self, DataDir};
use crate::usable::{self, Unusable};

/// Between two tries to reach a database that takes no connections yet.
const PAUSE: Duration = Duration::from_millis(250);
/// How often the log says that it is waited for.
const TOLD_EVERY: Duration = Duration::from_secs(5);

/// Postgres where its address is given, else SQLite in the data directory.
pub(crate) async fn open(config: &Config, data: &DataDir) -> Result<Arc<dyn Store>> {
    match &config.database_url {
        Some(url) => Ok(Arc::new(open_postgres(postgres(url)?, config.database_wait).await?)),
        None => Ok(Arc::new(open_sqlite(data)?)),
    }
}

/// The address of a Postgres database. It may hold a password: it is never shown, not as part of
/// what the parser says of it either.
pub(crate) fn postgres(url: &str) -> Result<PostgresOptions> {
    let options = PostgresOptions::at(url);
    if options.place().is_none() {
        bail!(
            "the value of --database-url is not the address of a Postgres database; expected is postgres://user:password@host:port/database"
        );
    }
    Ok(options)
}

/// Where SQLite has its file in a data directory. Fails, before it is opened, where a start could
/// not use what is there.
pub(crate) fn sqlite_file(data_dir: &Path) -> Result<PathBuf, Unusable> {
    let path = data_dir.join("millrace.db");
    usable::file("the database", &path)?;
    usable::file("the log of the database,", &data_dir.join("millrace.db-wal"))?;
    usable::file("the index of the database's log,", &data_dir.join("millrace.db-shm"))?;
    data_dir::refuse_lost(data_dir, &path)?;
    Ok(path)
}

fn open_sqlite(data: &DataDir) -> Result<SqliteStore> {
    let path = sqlite_file(data.path())?;
    SqliteStore::open(&SqliteOptions::at(&path)).map_err(|error| {
        let said = match error {
            StoreError::Damaged { .. } => format!(
                "could not use the database `{}`, and left it as it is; keep a copy of it with its `-wal` file, restore a backup (docs/operate/durability.md), and have the disk checked",
                path.display()
            ),
            _ => format!("could not open the database `{}`", path.display()),
        };
        anyhow!(error).context(said)
    })
}

/// Waits for a database that takes no connections yet, as after a power cut that ended both; what
/// no time mends fails at once.
async fn open_postgres(options: PostgresOptions, wait: Duration) -> Result<PostgresStore> {
    let place = options.place().unwrap_or_default();
    let until = Instant::now() + wait;
    let mut told: Option<Instant> = None;
    loop {
        let cause = match PostgresStore::open(options.clone()).await {
            Ok(store) => return Ok(store),
            Err(StoreError::Unavailable(cause)) if may_come(&*cause) => cause,
            Err(StoreError::Database(cause) | StoreError::Unavailable(cause)) => {
                return Err(anyhow!(cause)).with_context(|| {
                    format!("could not use the Postgres {place}; check that it runs, that --database-url is right, and that its user may create tables")
                });
            }
            Err(error) => {
                return Err(anyhow!(error))
                    .with_context(|| format!("could not open the Postgres {place}"));
            }
        };
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(anyhow!(cause)).with_context(|| {
                format!(
                    "could not use the Postgres {place}; check that it runs and that --database-url is right, or have a start wait for it for more than {} s with \
                     --database-wait-seconds",
                    wait.as_secs()
                )
            });
        }
        if told.is_none_or(|at| at.elapsed() >= TOLD_EVERY) {
            told = Some(Instant::now());
            let (reason, seconds_left) = (error_chain(&*cause), left.as_millis().div_ceil(1000));
            tracing::warn!(%place, reason, seconds_left, "waiting for Postgres, which takes no connections yet; check that it runs and that --database-url is right");
        }
        tokio::time::sleep(PAUSE.min(left)).await;
    }
}

/// Whether what keeps a database from being reached may pass by itself: it is starting, its socket
/// is not there yet, its name is not known yet. Not where this user may not open its socket, nor
/// where something else answers in its place.
fn may_come(cause: &(dyn Error + 'static)) -> bool {
    let causes = std::iter::successors(Some(cause), |error| (*error).source());
    let lasting =
        [io::ErrorKind::PermissionDenied, io::ErrorKind::InvalidData, io::ErrorKind::InvalidInput];
    !causes
        .filter_map(|error| error.downcast_ref::<io::Error>())
        .any(|error| lasting.contains(&error.kind()))
}
