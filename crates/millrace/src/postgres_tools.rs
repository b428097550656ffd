//! Postgres's own programs, which copy a database as it is at one moment: `pg_dump`, and
//! `pg_restore`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use millrace_store_postgres::PostgresOptions;

/// Where packages of systems put them, a folder for each version.
const INSTALLED: &str = "/usr/lib/postgresql";

/// Where they are looked for, and the database that they are for.
pub struct PostgresTools<'a> {
    /// The folder to look in; none: those of installed versions, the newest first, then the path.
    pub folder: Option<&'a Path>,
    pub options: &'a PostgresOptions,
}

impl PostgresTools<'_> {
    /// Writes the database into a file that must not be there.
    pub fn dump(&self, file: &Path) -> Result<()> {
        // Which servers use the database now is nothing to be kept.
        let args = [
            "--format=custom",
            "--no-owner",
            "--no-privileges",
            "--exclude-table-data=nodes",
            "--file",
        ];
        self.run("pg_dump", &args, file)
            .context("could not copy the database; `--keys-only` copies the keys without it")
    }

    /// Makes a database of such a file, whole or not at all.
    pub fn restore(&self, file: &Path) -> Result<()> {
        self.run(
            "pg_restore",
            &[
                "--no-owner",
                "--no-privileges",
                "--exit-on-error",
                "--single-transaction",
                "--dbname",
                "",
            ],
            file,
        )
        .context("could not restore the database, and left it empty")
    }

    /// The database is told by the environment, which other users cannot see; flags they could.
    fn run(&self, name: &str, args: &[&str], file: &Path) -> Result<()> {
        let program = self.find(name)?;
        let environment = self.options.client_environment().context(
            "the address of the database is not one that Postgres's programs can be given",
        )?;
        let database = environment
            .iter()
            .find(|(name, _)| *name == "PGDATABASE")
            .map(|(_, value)| value.clone())
            .unwrap_or_default();
        let args = args
            .iter()
            .map(|arg| if arg.is_empty() { database.clone() } else { OsString::from(arg) });
        let mut command = Command::new(&program);
        command
            .args(args)
            .arg(file)
            .arg("--no-password")
            .envs(environment)
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        let output =
            command.output().with_context(|| format!("could not start `{}`", program.display()))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            bail!("`{}` ended with {}: {}", program.display(), output.status, said.trim());
        }
        Ok(())
    }

    fn find(&self, name: &str) -> Result<PathBuf> {
        let folders = match self.folder {
            Some(folder) => vec![folder.to_path_buf()],
            None => {
                let versions = std::fs::read_dir(INSTALLED).into_iter().flatten().flatten();
                let mut versions: Vec<(u32, PathBuf)> = versions
                    .filter_map(|v| {
                        Some((v.file_name().to_str()?.parse().ok()?, v.path().join("bin")))
                    })
                    .collect();
                // A newer one copies from older servers, an older one not from newer.
                versions.sort_by_key(|(version, _)| std::cmp::Reverse(*version));
                let path = std::env::var_os("PATH").unwrap_or_default();
                versions
                    .into_iter()
                    .map(|(_, folder)| folder)
                    .chain(std::env::split_paths(&path))
                    .collect()
            }
        };
        if let Some(found) =
            folders.iter().map(|folder| folder.join(name)).find(|program| program.is_file())
        {
            return Ok(found);
        }
        let places = self.folder.map_or_else(
            || format!("`{INSTALLED}` and on the path"),
            |folder| format!("`{}`", folder.display()),
        );
        bail!(
            "`{name}` was not found in {places}; install the client programs of Postgres (postgresql-client), not older than the server, or name their folder with --pg-bin. To copy the database in another way, copy the keys with `millrace backup --keys-only`"
        )
    }
}
