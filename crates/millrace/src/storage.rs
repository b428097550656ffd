//! Checks of `millrace doctor` of storage: the data directory, the disk, the database.

use std::path::Path;

use millrace_engine::{FREE_BYTES_MIN, error_chain};
use millrace_model::{Clock as _, SystemClock};
use millrace_store::Examined;
use millrace_store_postgres::PostgresOptions;

use crate::config::Config;
use crate::data_dir;
use crate::database::sqlite_file;
use crate::doctor::Checks;
use crate::master_key::KeyPlace;
use crate::usable::Unusable;

/// Less room than this is little, bytes.
const DISK_BYTES_GOOD: u64 = 2 << 30;
/// Clocks that are further apart mislead timers and leases, milliseconds.
const CLOCKS_APART_MAX_MS: i64 = 5_000;

/// Whether a server runs here.
pub(crate) async fn look(config: &Config, checks: &mut Checks) -> bool {
    let is_running = data_directory(&config.data_dir, checks);
    if let Err(Unusable { found, mend }) =
        KeyPlace::refuse_unusable(&config.master_key, &config.data_dir.join("master.key"))
    {
        checks.fail("master key", found, mend);
    }
    disk(&config.data_dir, checks);
    database(config, checks).await;
    is_running
}

/// Whether a server uses it.
fn data_directory(path: &Path, checks: &mut Checks) -> bool {
    const NAME: &str = "data directory";
    let shown = path.display();
    // As a start asks.
    if let Err(Unusable { found, mend }) =
        data_dir::refuse_unusable(path).and_then(|()| data_dir::refuse_half_restored(path))
    {
        checks.fail(NAME, found, mend);
        return false;
    }
    let Ok(meta) = std::fs::metadata(path) else {
        let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        match tempfile::tempdir_in(parent) {
            Ok(_) => checks.ok(NAME, format!("`{shown}` is not there yet, and can be made")),
            Err(error) => {
                let Unusable { found, mend } = data_dir::unmade(path, &error);
                checks.fail(NAME, found, mend);
            }
        }
        return false;
    };
    if let Err(error) = tempfile::tempfile_in(path) {
        checks.fail(
            NAME,
            format!("`{shown}` cannot be written in: {error}"),
            "give it to the server's user, or repair the file system",
        );
        return false;
    }
    let is_running = data_dir::is_in_use(path);
    let use_of = if is_running { ", and a server uses it" } else { "" };
    match std::fs::metadata(path.join("master.key")) {
        Ok(key) if data_dir::is_open_to_others(&key) => {
            checks.warn(
                NAME,
                format!("`{shown}/master.key` can be read by other users"),
                format!("chmod 600 {shown}/master.key"),
            );
        }
        _ if data_dir::is_open_to_others(&meta) => checks.warn(
            NAME,
            format!("`{shown}` is open to other users{use_of}"),
            format!("chmod 700 {shown}"),
        ),
        _ => checks.ok(NAME, format!("`{shown}` can be written in{use_of}")),
    }
    is_running
}

fn disk(path: &Path, checks: &mut Checks) {
    const NAME: &str = "disk";
    let there = path.ancestors().find(|p| p.exists()).unwrap_or(Path::new("."));
    let found = match rustix::fs::statvfs(there) {
        Ok(found) => found,
        Err(error) => {
            return checks.warn(
                NAME,
                format!("the free space of `{}` is not known: {error}", there.display()),
                "look at it yourself: `df`",
            );
        }
    };
    let (free, files) = (found.f_bavail.saturating_mul(found.f_frsize), found.f_favail);
    let said = format!("{} MiB are free for `{}`", free >> 20, path.display());
    let mend = "free some space, or move the data directory elsewhere; while the disk is full, events are refused";
    if free < FREE_BYTES_MIN || (found.f_files > 0 && files < 1_000) {
        checks.fail(NAME, format!("{said}, and {files} more files"), mend);
    } else if free < DISK_BYTES_GOOD {
        checks.warn(NAME, said, mend);
    } else {
        checks.ok(NAME, said);
    }
}

async fn database(config: &Config, checks: &mut Checks) {
    const NAME: &str = "database";
    let looked = match &config.database_url {
        Some(url) => {
            let options = PostgresOptions::at(url);
            let Some(place) = options.place() else {
                return checks.fail(
                    NAME,
                    "the value of --database-url is not the address of a Postgres database",
                    "write postgres://user:password@host:port/database",
                );
            };
            let looked = millrace_store_postgres::examine(&options).await;
            looked.map_err(|e| {
                (
                    format!("the Postgres {place} cannot be used: {}", error_chain(&e)),
                    "check that it runs, that --database-url is right, and that its user may connect",
                )
            })
        }
        None => {
            let path = match sqlite_file(&config.data_dir) {
                Ok(path) => path,
                Err(Unusable { found, mend }) => return checks.fail(NAME, found, mend),
            };
            if !path.exists() {
                return checks.ok(NAME, "SQLite; the file is made at the first start");
            }
            let looked = millrace_store_sqlite::examine(&path);
            looked.map_err(|e| {
                (
                    format!("`{}` cannot be used: {}", path.display(), error_chain(&e)),
                    "restore it from a backup, with its master.key",
                )
            })
        }
    };
    if let Ok(Examined { damage: None, unfit: None, master_ids, .. }) = &looked
        && let Err(Unusable { found, mend }) = KeyPlace::refuse_foreign(
            &config.master_key,
            &config.data_dir.join("master.key"),
            master_ids,
        )
    {
        checks.fail("master key", found, mend);
    }
    match looked {
        Err((found, mend)) => checks.fail(NAME, found, mend),
        Ok(Examined { damage: Some(damage), engine, .. }) => checks.fail(
            NAME,
            format!("{engine}: it is damaged: {damage}"),
            "stop the server and restore a backup, with its master.key",
        ),
        Ok(Examined { unfit: Some(unfit), engine, .. }) => {
            checks.fail(NAME, format!("{engine}: {}", unfit.found), unfit.mend)
        }
        Ok(Examined { engine, schema, known, .. }) if schema > known => checks.fail(
            NAME,
            format!("{engine}: its schema is {schema}, this version knows {known}"),
            "start the newer version that made it, or restore a backup of before",
        ),
        Ok(Examined { clock: Some(clock), engine, .. })
            if (clock.ms() - SystemClock.now().ms()).abs() > CLOCKS_APART_MAX_MS =>
        {
            let apart = clock.ms() - SystemClock.now().ms();
            checks.warn(
                NAME,
                format!("{engine}: its clock is {apart} ms apart from this machine's"),
                "let both machines take the time from the same servers",
            )
        }
        Ok(Examined { engine, schema, known, .. }) => {
            let state = match schema {
                0 => "empty".to_owned(),
                _ if schema < known => {
                    format!("schema {schema}, brought to {known} at the next start")
                }
                _ => format!("schema {schema}"),
            };
            checks.ok(NAME, format!("{engine}, {state}"));
        }
    }
}
