//! Connections, transactions, and what the database's errors mean.

use std::borrow::Cow;
use std::error::Error as _;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use deadpool_postgres::{
    Client, Hook, HookError, Manager, ManagerConfig, Pool, PoolError, RecyclingMethod, Runtime,
};
use millrace_model::clock::Timestamp;
use millrace_store::{CommitHealth, Condition, Examined, StoreError, StoreResult, Unfit};
use tokio_postgres::NoTls;
use tokio_postgres::config::Host;
use tokio_postgres::error::SqlState;

use crate::{PostgresOptions, data_keys, migrations, nodes};

/// The oldest Postgres that will do, as `server_version_num` has it.
const VERSION_MIN: i32 = 130_000;
/// The port where none is given.
const PORT: u16 = 5432;
/// Operations that wait for a connection, beyond which they are refused.
const WAITING_MAX: usize = 10_000;
/// How long an operation waits for a connection, and how long connecting may take.
const WAIT_MAX: Duration = Duration::from_secs(10);
/// How long what was sent may wait until the other end has it.
const UNANSWERED_MAX: Duration = Duration::from_secs(30);
/// When a connection that nothing is sent on is asked whether its other end is there, how often,
/// and how many times in vain.
const KEEPALIVES_IDLE: Duration = Duration::from_secs(10);
const KEEPALIVES_INTERVAL: Duration = Duration::from_secs(5);
const KEEPALIVES_RETRIES: u32 = 3;
/// What the client has where the URL says nothing.
const KEEPALIVES_IDLE_UNSET: Duration = Duration::from_secs(2 * 60 * 60);
/// How long it is believed that there is room on the disk of the tables; written to, it may be full
/// within less, which the write tells.
const ROOM_FOR: Duration = Duration::from_secs(10);
/// How often a transaction is tried where the database gave it up for another.
pub(crate) const TRIES_MAX: u32 = 5;

/// Settings of each connection. A server that was told not to wait for its disk is told to wait:
/// `Ok` of a write means that it survives a power cut. Stronger settings (`remote_apply`) stay. A
/// node that hangs within a transaction lets go of its locks.
const SESSION: &str = "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off';
SET idle_in_transaction_session_timeout = '60s';
SET default_transaction_isolation = 'read committed'";

pub(crate) struct Db {
    pool: Pool,
    /// Where the database is, for a connection outside of the pool.
    config: tokio_postgres::Config,
    /// Of writes.
    pub(crate) health: CommitHealth,
    /// When room was looked for last.
    looked: Mutex<Option<Instant>>,
}

impl Db {
    pub(crate) fn open(options: &PostgresOptions) -> StoreResult<Self> {
        let mut config: tokio_postgres::Config = options.url.parse().map_err(database)?;
        if config.get_application_name().is_none() {
            config.application_name("millrace");
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(WAIT_MAX);
        }
        notice_silence(&mut config);
        let manager = Manager::from_config(
            config.clone(),
            NoTls,
            ManagerConfig { recycling_method: RecyclingMethod::Fast },
        );
        let pool = Pool::builder(manager)
            .max_size(options.connections.max(1))
            .wait_timeout(Some(WAIT_MAX))
            .create_timeout(Some(WAIT_MAX))
            .recycle_timeout(Some(WAIT_MAX))
            .runtime(Runtime::Tokio1)
            .post_create(Hook::async_fn(|client, _| {
                Box::pin(
                    async move { client.batch_execute(SESSION).await.map_err(HookError::Backend) },
                )
            }))
            .build()
            .map_err(|e| StoreError::Database(Box::new(e)))?;
        Ok(Self { pool, config, health: CommitHealth::with_slack(), looked: Mutex::default() })
    }

    /// A connection of the pool. A server that works is told that the database cannot be reached,
    /// whatever it gives none for.
    pub(crate) async fn client(&self) -> StoreResult<Client> {
        self.first_client().await.map_err(away)
    }

    /// As [`Self::client`], for who begins: `Database` where no time mends what is in the way, as a
    /// wrong password or a name that is not there.
    pub(crate) async fn first_client(&self) -> StoreResult<Client> {
        if self.pool.status().waiting >= WAITING_MAX {
            return Err(StoreError::Overloaded);
        }
        self.pool.get().await.map_err(|error| match error {
            PoolError::Closed => StoreError::Closed,
            PoolError::Backend(error) | PoolError::PostCreateHook(HookError::Backend(error)) => {
                database(error)
            }
            PoolError::Timeout(deadpool_postgres::TimeoutType::Wait) => StoreError::Overloaded,
            other => StoreError::Unavailable(Box::new(other)),
        })
    }

    /// See [`millrace_store::Store::listen`].
    pub(crate) async fn listen(
        &self,
    ) -> StoreResult<tokio::sync::mpsc::Receiver<millrace_store::Notification>> {
        if self.pool.is_closed() {
            return Err(StoreError::Closed);
        }
        nodes::listen(&self.config).await
    }

    /// How writes fare.
    pub(crate) fn condition(&self) -> Condition {
        self.health.condition()
    }

    /// Whether room is to be looked for now; whoever is told so does it.
    pub(crate) fn is_room_unknown(&self) -> bool {
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        let unknown = looked.is_none_or(|at| at.elapsed() >= ROOM_FOR);
        if unknown {
            *looked = Some(Instant::now());
        }
        unknown
    }

    /// Lets operations under way end, refuses new ones.
    pub(crate) fn close(&self) {
        self.pool.close();
    }
}

/// A failure to get a connection, of a database that had given some: its operator took a right
/// away, shut the database to others, or renamed it.
pub(crate) fn away(error: StoreError) -> StoreError {
    match error {
        StoreError::Database(cause) => StoreError::Unavailable(cause),
        told => told,
    }
}

/// Has the system end a connection whose other end is gone without a word: a machine that lost its
/// power, or a firewall that forgot it. What the URL says stays.
fn notice_silence(config: &mut tokio_postgres::Config) {
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(UNANSWERED_MAX);
    }
    if config.get_keepalives_idle() == KEEPALIVES_IDLE_UNSET {
        config.keepalives_idle(KEEPALIVES_IDLE);
    }
    if config.get_keepalives_interval().is_none() {
        config.keepalives_interval(KEEPALIVES_INTERVAL);
    }
    if config.get_keepalives_retries().is_none() {
        config.keepalives_retries(KEEPALIVES_RETRIES);
    }
}

/// See [`crate::examine`].
pub(crate) async fn examine(options: &PostgresOptions) -> StoreResult<Examined> {
    let client = Db::open(options)?.first_client().await?;
    let sql = "SELECT current_setting('server_version'), (extract(epoch FROM clock_timestamp()) * 1000)::bigint, to_regclass('schema_version') IS NOT NULL,
                 current_setting('server_version_num')::int, pg_encoding_to_char(encoding)::text,
                 pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on',
                 coalesce(has_schema_privilege(current_schema(), 'CREATE'), false)
               FROM pg_database WHERE datname = current_database()";
    let row = client.query_one(sql, &[]).await.map_err(database)?;
    let get = |at: usize| row.try_get::<_, bool>(at).map_err(database);
    let schema = match get(2)? {
        true => client
            .query_one("SELECT coalesce(max(version), 0) FROM schema_version", &[])
            .await
            .and_then(|row| row.try_get(0))
            .map_err(database)?,
        false => 0,
    };
    let master_ids = data_keys::master_ids(&client).await?;
    let version: String = row.try_get(0).map_err(database)?;
    let unfit = unfit(
        row.try_get(3).map_err(database)?,
        row.try_get(4).map_err(database)?,
        get(5)?,
        get(6)?,
    );
    Ok(Examined {
        engine: format!("Postgres {version}"),
        schema,
        known: migrations::known(),
        damage: None,
        unfit,
        master_ids,
        clock: Some(Timestamp(row.try_get(1).map_err(database)?)),
    })
}

/// Why a server could not work with a database of this version (as `server_version_num`) and
/// encoding.
fn unfit(version: i32, encoding: &str, is_read_only: bool, may_create: bool) -> Option<Unfit> {
    let because = |found: String, mend: &str| Some(Unfit { found, mend: mend.to_owned() });
    if version < VERSION_MIN {
        return because(
            format!("it is older than Postgres {}", VERSION_MIN / 10_000),
            "bring Postgres up to date",
        );
    }
    if encoding != "UTF8" {
        return because(
            format!("its encoding is {encoding}"),
            "make a database with `CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0`",
        );
    }
    if is_read_only {
        return because(
            "it takes no writes: it is a standby, or its transactions are read-only".into(),
            "name the primary with --database-url",
        );
    }
    if !may_create {
        return because(
            "its user may not make tables".into(),
            "let the user own the database: `ALTER DATABASE … OWNER TO …`, or `GRANT CREATE ON SCHEMA public TO …`",
        );
    }
    None
}

/// See [`PostgresOptions::hosts`].
pub(crate) fn hosts(url: &str) -> Vec<(String, u16)> {
    let Ok(config) = url.parse::<tokio_postgres::Config>() else { return Vec::new() };
    // One port may stand for all hosts. Where addresses are given beside the names, they are
    // connected to.
    let port =
        |at: usize| *config.get_ports().get(at).or(config.get_ports().first()).unwrap_or(&PORT);
    let named = config.get_hosts().iter().enumerate().filter_map(|(at, host)| match host {
        Host::Tcp(name) => Some((name.clone(), port(at))),
        Host::Unix(_) => None,
    });
    named
        .chain(
            config
                .get_hostaddrs()
                .iter()
                .enumerate()
                .map(|(at, address)| (address.to_string(), port(at))),
        )
        .collect()
}

/// See [`PostgresOptions::client_environment`].
pub(crate) fn client_environment(url: &str) -> Option<Vec<(&'static str, OsString)>> {
    let config: tokio_postgres::Config = url.parse().ok()?;
    let hosts: Vec<OsString> = config
        .get_hosts()
        .iter()
        .map(|host| match host {
            Host::Tcp(name) => OsString::from(name),
            Host::Unix(folder) => folder.clone().into_os_string(),
        })
        .collect();
    let listed = |texts: Vec<OsString>| texts.join(OsStr::new(","));
    let ports =
        config.get_ports().iter().map(|port| OsString::from(port.to_string())).collect::<Vec<_>>();
    let addresses = config
        .get_hostaddrs()
        .iter()
        .map(|address| OsString::from(address.to_string()))
        .collect::<Vec<_>>();
    let password = config.get_password().map(|bytes| OsStr::from_bytes(bytes).to_owned());
    let known = [
        ("PGHOST", Some(listed(hosts))),
        ("PGHOSTADDR", Some(listed(addresses))),
        ("PGPORT", Some(listed(ports))),
        ("PGUSER", config.get_user().map(OsString::from)),
        ("PGPASSWORD", password),
        ("PGDATABASE", config.get_dbname().or(config.get_user()).map(OsString::from)),
        ("PGAPPNAME", Some("millrace-backup".into())),
    ];
    Some(
        known
            .into_iter()
            .filter_map(|(name, value)| Some((name, value.filter(|value| !value.is_empty())?)))
            .collect(),
    )
}

/// See [`PostgresOptions::place`].
pub(crate) fn place(url: &str) -> Option<String> {
    let config: tokio_postgres::Config = url.parse().ok()?;
    let ports = config.get_ports();
    let hosts = config.get_hosts().iter().enumerate().map(|(at, host)| match host {
        // One port may stand for all hosts.
        Host::Tcp(name) => format!("`{name}:{}`", ports.get(at).or(ports.first()).unwrap_or(&PORT)),
        Host::Unix(folder) => format!("`{}`", folder.display()),
    });
    let (hosts, user) = (hosts.collect::<Vec<_>>().join(", "), config.get_user());
    // As the client does: without a name, the database of the user's name; without a user, the user
    // of this process.
    let name = config
        .get_dbname()
        .or(user)
        .map_or_else(|| "database".into(), |name| format!("database `{name}`"));
    let user = user.map_or_else(String::new, |user| format!(" as `{user}`"));
    (!hosts.is_empty()).then(|| format!("{name} on {hosts}{user}"))
}

/// Runs an operation in a transaction and commits it; again, a bounded number of times, where the
/// database gave it up for another. A macro, because a closure cannot yet say that its future is
/// `Send`.
macro_rules! transaction {
    ($db:expr, |$t:ident| $operation:expr) => {
        $crate::db::transaction!($db, "other", |$t| $operation)
    };
    ($db:expr, $name:literal, |$t:ident| $operation:expr) => {{
        let mut tries = 1;
        loop {
            let commit = $db.health.begin();
            let client = $db.client().await;
            let done = match client {
                Ok(mut client) => {
                    let done = async {
                        let $t = client.transaction().await.map_err($crate::db::database)?;
                        let value = $operation.await?;
                        millrace_store::fail_point!(concat!("store.", $name, ".before_commit"));
                        millrace_store::fail_point!("store.commit");
                        $t.commit().await.map_err($crate::db::database)?;
                        millrace_store::fail_point!(concat!("store.", $name, ".after_commit"));
                        Ok(value)
                    }
                    .await;
                    // Another that this one gave way to may need the connection.
                    drop(client);
                    done
                }
                Err(error) => Err(error),
            };
            commit.end(&done);
            match done {
                Err(error) if tries < $crate::db::TRIES_MAX && $crate::db::is_transient(&error) => {
                    tracing::debug!(tries, "a transaction gave way to another and is tried again");
                    tokio::time::sleep(std::time::Duration::from_millis(5 << tries)).await;
                    tries += 1;
                }
                done => break done,
            }
        }
    }};
}
pub(crate) use transaction;

/// Runs an operation of one statement, which is a transaction by itself.
macro_rules! statement {
    ($db:expr, $name:literal, |$c:ident| $operation:expr) => {{
        let commit = $db.health.begin();
        let done = async {
            let $c = $db.client().await?;
            millrace_store::fail_point!(concat!("store.", $name, ".before_commit"));
            millrace_store::fail_point!("store.commit");
            let value = $operation.await?;
            millrace_store::fail_point!(concat!("store.", $name, ".after_commit"));
            Ok(value)
        }
        .await;
        commit.end(&done);
        done
    }};
}
pub(crate) use statement;

/// Writes what changes nothing: a transaction that has an id is written to the log when it ends. A
/// read-only one gets an id too, and is asked for.
pub(crate) async fn probe(client: &Client) -> StoreResult<()> {
    look_for_room(client).await?;
    let row = client
        .query_one("SELECT current_setting('transaction_read_only') = 'on'", &[])
        .await
        .map_err(database)?;
    if row.try_get(0).map_err(database)? {
        return Err(StoreError::Unavailable(
            "it takes no writes: it is a standby, or its transactions are read-only".into(),
        ));
    }
    client.execute("SELECT pg_current_xact_id()", &[]).await.map(|_| ()).map_err(database)
}

/// Has Postgres write a file of about 1 MiB to the disk of the tables, which goes with the query.
/// No row that is changed shows as much: there may be room for it in the files that there are.
pub(crate) async fn look_for_room(client: &Client) -> StoreResult<()> {
    // One transaction: what is set ends with it. The numbers are more than may be kept in memory.
    let sql = "SET LOCAL work_mem = '64kB'; SET LOCAL temp_tablespaces = ''; SELECT count(*) FROM generate_series(1, 40000)";
    match client.batch_execute(sql).await.map_err(database) {
        // Its operator limits such files: that tells nothing of the disk.
        Err(error) if code(&error) == Some(&SqlState::CONFIGURATION_LIMIT_EXCEEDED) => Ok(()),
        done => done,
    }
}

/// Whether the same transaction may well succeed if it is tried again.
pub(crate) fn is_transient(error: &StoreError) -> bool {
    code(error).is_some_and(|code| {
        *code == SqlState::T_R_SERIALIZATION_FAILURE || *code == SqlState::T_R_DEADLOCK_DETECTED
    })
}

/// Whether the statement was refused only because an earlier one of its transaction failed.
pub(crate) fn is_aborted(error: &StoreError) -> bool {
    code(error) == Some(&SqlState::IN_FAILED_SQL_TRANSACTION)
}

fn code(error: &StoreError) -> Option<&SqlState> {
    let StoreError::Database(source) = error else { return None };
    source.downcast_ref::<tokio_postgres::Error>().and_then(tokio_postgres::Error::code)
}

/// A failure of the database, or of a constraint that the caller can understand.
pub(crate) fn database(error: tokio_postgres::Error) -> StoreError {
    if let Some(db) = error.as_db_error()
        && *db.code() == SqlState::UNIQUE_VIOLATION
    {
        // Constraints are named `<table>_<what>`; a primary key's name ends with `_pkey`.
        let constraint = db.constraint().unwrap_or_default();
        let name = [
            ("_name_slug", "name_slug"),
            ("_orgname", "orgname"),
            ("_key_hash", "key_hash"),
            ("_key", "key"),
            ("_name", "name"),
            ("_email", "email"),
        ]
        .into_iter()
        .find_map(|(end, name)| constraint.ends_with(end).then_some(name));
        return StoreError::Taken(name.unwrap_or("id"));
    }
    match error.code() {
        Some(&SqlState::DISK_FULL) => StoreError::StorageFull,
        // It is stopping, starting, or was killed under its clients; others have its connections;
        // or it takes no writes for now.
        Some(
            &SqlState::ADMIN_SHUTDOWN
            | &SqlState::CRASH_SHUTDOWN
            | &SqlState::CANNOT_CONNECT_NOW
            | &SqlState::TOO_MANY_CONNECTIONS
            | &SqlState::READ_ONLY_SQL_TRANSACTION,
        ) => StoreError::Unavailable(Box::new(error)),
        Some(_) => StoreError::Database(Box::new(error)),
        None if error.is_closed()
            || error.source().is_some_and(|cause| cause.is::<std::io::Error>()) =>
        {
            StoreError::Unavailable(Box::new(error))
        }
        None => StoreError::Database(Box::new(error)),
    }
}

/// A text that Postgres takes: U+0000, which its TEXT refuses, becomes U+FFFD. For texts that
/// people write; JSON holds no such character, and code and keys are BYTEA.
pub(crate) fn text(text: &str) -> Cow<'_, str> {
    if text.contains('\0') {
        Cow::Owned(text.replace('\0', "\u{FFFD}"))
    } else {
        Cow::Borrowed(text)
    }
}

/// JSON that could not be written.
pub(crate) fn unwritable(error: serde_json::Error) -> StoreError {
    StoreError::Database(Box::new(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_character_that_postgres_refuses_is_replaced() {
        assert_eq!(text("a\u{1}b"), "a\u{1}b");
        assert_eq!(text("a\0b"), "a\u{FFFD}b");
    }

    #[test]
    fn what_a_server_could_not_work_with_is_told_with_what_mends_it() {
        let told = |version, encoding, is_read_only, may_create| {
            unfit(version, encoding, is_read_only, may_create).map(|u| (u.found, u.mend))
        };
        assert_eq!(told(130_000, "UTF8", false, true), None);
        let has = |told: Option<(String, String)>, found: &str, mend: &str| {
            told.is_some_and(|(f, m)| f.contains(found) && m.contains(mend))
        };
        assert!(has(told(120_017, "UTF8", false, true), "older than Postgres 13", "up to date"));
        assert!(has(told(150_000, "SQL_ASCII", false, true), "SQL_ASCII", "ENCODING 'UTF8'"));
        assert!(has(told(150_000, "UTF8", true, true), "takes no writes", "primary"));
        assert!(has(told(150_000, "UTF8", false, false), "may not make tables", "GRANT CREATE"));
    }

    #[test]
    fn a_connection_that_falls_silent_is_noticed_when_the_url_says_or_within_half_a_minute() {
        let told = |url: &str| {
            let mut config: tokio_postgres::Config = url.parse().expect("an address");
            notice_silence(&mut config);
            let seconds = |time: Duration| time.as_secs();
            let (unanswered, interval) =
                (config.get_tcp_user_timeout().copied(), config.get_keepalives_interval());
            (
                unanswered.map(seconds),
                seconds(config.get_keepalives_idle()),
                interval.map(seconds),
                config.get_keepalives_retries(),
            )
        };
        assert_eq!(told("postgres://me@db.test/app"), (Some(30), 10, Some(5), Some(3)));
        let given = "postgres://me@db.test/app?tcp_user_timeout=90&keepalives_idle=80&keepalives_interval=70&keepalives_retries=6";
        assert_eq!(told(given), (Some(90), 80, Some(70), Some(6)));
    }

    #[test]
    fn a_place_is_shown_without_the_password() {
        let place = |url: &str| PostgresOptions::at(url).place();
        let shown = |text: &str| Some(text.to_owned());
        assert_eq!(
            place("postgres://me:hunter2@db.test/app"),
            shown("database `app` on `db.test:5432` as `me`")
        );
        assert_eq!(
            place("host=a,b port=6000 user=me password=hunter2"),
            shown("database `me` on `a:6000`, `b:6000` as `me`")
        );
        assert_eq!(place("postgres://db.test"), shown("database on `db.test:5432`"));
        assert_eq!(
            place("postgres://me@%2Frun%2Fpg/app"),
            shown("database `app` on `/run/pg` as `me`")
        );
        for none in [
            "",
            "hunter2",
            "mysql://me:hunter2@db.test/app",
            "postgres://me:hunter2@db.test:port/app",
        ] {
            assert_eq!(place(none), None, "{none}");
        }
    }

    #[test]
    fn other_programs_are_told_where_the_database_is() {
        let told = |url: &str| {
            let told = PostgresOptions::at(url).client_environment()?;
            Some(
                told.into_iter()
                    .map(|(name, value)| format!("{name}={}", value.display()))
                    .collect::<Vec<_>>()
                    .join(" "),
            )
        };
        let whole = told("postgres://me:hunter2@db.test:6000/app").expect("told");
        assert_eq!(
            whole,
            "PGHOST=db.test PGPORT=6000 PGUSER=me PGPASSWORD=hunter2 PGDATABASE=app PGAPPNAME=millrace-backup"
        );
        assert_eq!(
            told("postgres://me@%2Frun%2Fpg").as_deref(),
            Some("PGHOST=/run/pg PGPORT=5432 PGUSER=me PGDATABASE=me PGAPPNAME=millrace-backup")
        );
        assert_eq!(told("hunter2"), None);
    }

    #[test]
    fn its_servers_are_told_with_their_ports() {
        let hosts = |url: &str| PostgresOptions::at(url).hosts();
        let at = |name: &str, port| (name.to_owned(), port);
        assert_eq!(hosts("postgres://me@db.test/app"), [at("db.test", 5432)]);
        assert_eq!(
            hosts("host=a,b port=6000 hostaddr=10.0.0.1,10.0.0.2"),
            [at("a", 6000), at("b", 6000), at("10.0.0.1", 6000), at("10.0.0.2", 6000)]
        );
        assert_eq!(hosts("postgres://me@%2Frun%2Fpg/app"), []);
        assert_eq!(hosts("mysql://db.test/app"), []);
    }

    #[test]
    fn a_url_that_is_none_is_an_error_without_its_contents() {
        let error = Db::open(&PostgresOptions::at("postgres://user:hunter2@host:notaport/db"))
            .err()
            .map(|e| format!("{e:?}"));
        assert!(error.is_some_and(|e| !e.contains("hunter2")));
        assert!(
            !format!("{:?}", PostgresOptions::at("postgres://user:hunter2@host/db"))
                .contains("hunter2")
        );
    }
}
