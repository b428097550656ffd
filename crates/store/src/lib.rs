//! The store in the product's words. It knows no rule of the product: what must be decided is
//! decided in the engine and handed over as values, so that each method is one transaction.
//! Engines: `store-sqlite`, `store-postgres`.
//!
//! Start at [`Runs::accept`], [`Runs::claim`] and [`Runs::settle`]. `conformance` is the suite
//! every engine passes; it is for tests only, behind the feature of that name.

mod accounts;
mod commit_health;
mod components;
#[cfg(feature = "conformance")]
pub mod conformance;
mod data_stores;
mod deliveries;
mod errors;
mod examined;
pub mod fail;
mod files;
mod history;
mod log_query;
mod names;
mod nodes;
mod people;
mod rows;
mod run_query;
mod runs;
mod search;
mod shared_events;
mod sources;
mod tenants;
mod webhooks;
mod workflows;

use async_trait::async_trait;
use millrace_model::event::{PAYLOAD_PREVIEW_BYTES, PAYLOAD_SHOWN_BYTES};
pub use millrace_model::webhook::DeliveryStatus;

pub use accounts::{Accounts, CONNECTION_SHOWN_MS};
pub use commit_health::{CommitHealth, Condition};
pub use components::{Components, FoundComponent, GENERATIONS_KEPT, LATEST, NewRegistry};
pub use data_stores::{DataStoreEntry, DataStorePage, DataStoreWrite, DataStores, end_of_prefix};
pub use deliveries::{
    Deliveries, Delivery, DeliveryKind, DeliveryResult, Held, Mail, MailResult, MailStatus,
};
pub use errors::{ErrorGroupFilter, Errors, FailedRuns, FailedTime, Notice, ReplayStep};
pub use examined::{Examined, Unfit};
pub use files::{Files, KeepFiles};
pub use history::{
    EndedRuns, ExportFilter, Exported, FailedRun, History, Leftovers, Lineage, ListedRun,
    NewestEvent, NewestOf, Pruning, RunState,
};
pub use log_query::log_query;
pub use millrace_model::run_filter::RunFilter;
pub use names::{
    NAMED_SUBSCRIPTION, NAMING_SOURCES, NAMING_WORKFLOWS, Names, SOURCES_OF_REGISTRY,
    WORKFLOWS_OF_REGISTRY, names_sql,
};
pub use nodes::{Changed, EventAt, NodeMessage, Nodes, Notification};
pub use people::{Identity, People, UsedLink};
pub use run_query::{
    Dialect, LIGHT_RESULT_BYTES, RunQuery, SqlValue, run_column_bytes, run_columns,
    run_row_columns, run_version,
};
pub use runs::{
    Callback, CalledBack, Claim, Effects, Pause, PauseEnd, Pausing, Runs, Settlement, Unstored,
    Woken,
};
pub use search::{
    FACETS, FoundRuns, INDEXED_CHARS, IndexQuery, IndexState, IndexStep, LOOKED_AT_MAX, RunTexts,
    SWEPT_MAX, Search, SearchTimes, run_text_columns,
};
pub use shared_events::{RUN_EVENT, SHARED_EVENT_BYTES_MIN, shared_events};
pub use sources::{ClockMark, Fired, Interfaces, SourceChange, SourceState, Sources};
pub use tenants::{DataKey, NewTenant, Tenants, audit_condition};
pub use webhooks::{WebhookReplay, WebhookTry, Webhooks};
pub use workflows::{ListenerChange, NewDeployment, SubscriptionKey, Workflows};

/// What a store can answer other than a result.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The thing is not there, or belongs to another organization.
    #[error("not found")]
    NotFound,
    /// What allowed the write when it was asked for is gone: the member has a lower role or is
    /// none, or the login has another password. Nothing was written.
    #[error("no longer allowed")]
    NotAllowed,
    /// A unique name or id is taken; the name of the constraint.
    #[error("`{0}` is taken")]
    Taken(&'static str),
    /// The run was settled or claimed by someone else since; nothing was written.
    #[error("the run is no longer held by this attempt")]
    Fenced,
    /// The source's state, or the workflow's draft, was changed since it was read; nothing was
    /// written. Read it again and decide anew.
    #[error("the state changed meanwhile")]
    StateChanged,
    /// The database was made by a newer Millrace.
    #[error(
        "the database has schema version {found}, this Millrace knows versions up to {known}; start the newer Millrace, or restore a backup"
    )]
    NewerSchema {
        /// The version found.
        found: i64,
        /// The newest version known here.
        known: i64,
    },
    /// The database's file is not whole.
    #[error("the database is damaged: {what}")]
    Damaged {
        /// What was found.
        what: String,
    },
    /// A row that should not be: a bug or a damaged file.
    #[error("the database holds a row that cannot be read: {what}")]
    Corrupt {
        /// Which row, without its contents.
        what: String,
    },
    /// A cursor (`after` or `before`) that names no record of the organization: it is gone, or
    /// never was.
    #[error("the cursor `{0}` names nothing")]
    UnknownCursor(&'static str),
    /// A data store has as many keys or bytes as it may; nothing was written.
    #[error("the data store is full")]
    Full,
    /// A path that would be a file of a store and a folder with files; nothing was written.
    #[error("`{0}` would be a file and a folder")]
    FileIsFolder(String),
    /// As many runs of the owner wait as may.
    #[error("the queue of the workflow is full")]
    QueueFull,
    /// The queue of writes is full.
    #[error("the store is overloaded")]
    Overloaded,
    /// There is no memory for the page that was asked for.
    #[error("there is no memory for the page")]
    NoMemory,
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
    /// There is no room left on the database's disk; nothing was written. It may be tried again
    /// once there is. (Where the disk says so at the sync of a commit only, what it held may be
    /// there after a kill that comes before the next write.)
    #[error("the disk of the database is full")]
    StorageFull,
    /// The database cannot be reached, or its disk fails. What was under way may have been written
    /// or not.
    #[error("the database cannot be reached")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The database failed.
    #[error("the database failed")]
    Database(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl StoreError {
    /// The same again for each operation that was written together with others, where the failure
    /// is the database's or its disk's, and not that of one operation.
    pub fn of_all(&self) -> Option<Self> {
        match self {
            Self::StorageFull => Some(Self::StorageFull),
            Self::Overloaded => Some(Self::Overloaded),
            Self::Closed => Some(Self::Closed),
            Self::Damaged { what } => Some(Self::Damaged { what: what.clone() }),
            Self::Unavailable(cause) => {
                Some(Self::Unavailable(millrace_model::error_chain(&**cause).into()))
            }
            _ => None,
        }
    }
}

/// Result of a store call.
pub type StoreResult<T> = Result<T, StoreError>;

/// The durable truth, each part of it a trait and a file of its own. All methods are one
/// transaction, but those that change many rows: there an engine with one writer goes in steps. A
/// returned `Ok` of a write means it survives a power cut.
#[async_trait]
pub trait Store:
    Tenants
    + People
    + Components
    + Sources
    + Workflows
    + Files
    + Webhooks
    + Runs
    + History
    + Search
    + Errors
    + Accounts
    + DataStores
    + Deliveries
    + Names
    + Nodes
{
    /// Writes out what waits and closes; later calls give `Closed`.
    async fn close(&self);
    /// Whether a small read works; where the last write failed, also whether a small write does.
    async fn ping(&self) -> StoreResult<()>;
    /// How writes fare.
    fn condition(&self) -> Condition;
    /// Whether this database serves one node only (SQLite).
    fn single_node(&self) -> bool;
    /// Bytes of the database, with its indexes and what is free in it.
    async fn stored_bytes(&self) -> StoreResult<u64>;
}

#[doc(hidden)]
pub use millrace_model as model;

/// What a list reads of an event's payload, and how many bytes that are at most, for engines in
/// whose SQL it says both; not `whole`: as much as a summary shows.
pub fn payload_columns(whole: bool) -> (String, String) {
    if whole {
        return ("payload".into(), "octet_length(payload)".into());
    }
    // A character has four bytes at most.
    let beginning = PAYLOAD_PREVIEW_BYTES;
    let of = |small: &str, large: &str| {
        format!(
            "CASE WHEN octet_length(payload) <= {PAYLOAD_SHOWN_BYTES} THEN {small} ELSE {large} END"
        )
    };
    (
        of("payload", &format!("substr(payload, 1, {beginning})")),
        of("octet_length(payload)", &(4 * beginning).to_string()),
    )
}

/// Takes a row that cannot be read, by its id (`$1`), out of a queue that servers read rows of many
/// owners from: it hurts its own owner, who sees it as failed or inactive, and not those behind it.
/// None: the row does no harm where it is.
pub fn set_aside(table: &str) -> Option<&'static str> {
    Some(match table {
        "runs" => {
            "UPDATE runs SET status = 'failed', lease_until = NULL, node = NULL, finished_at = coalesce(started_at, created_at),
               error = '{\"code\":\"DamagedData\",\"message\":\"the stored run cannot be read\",\"cellId\":\"\",\"ts\":\"\",\"stack\":\"DamagedData: the stored run cannot be read\"}'
             WHERE id = $1 AND status IN ('queued', 'running')"
        }
        "timers" => "UPDATE timers SET active = FALSE WHERE id = $1",
        "webhooks" => "UPDATE webhooks SET active = FALSE WHERE id = $1",
        "mail" => "UPDATE mail SET status = 'failed', last_error = 'the stored mail cannot be read' WHERE id = $1",
        "deliveries" => "UPDATE deliveries SET status = 'failed', last_error = 'the stored delivery cannot be read', finished_at = next_at WHERE id = $1",
        "webhook_deliveries" => "UPDATE webhook_deliveries SET status = 'failed', last_error = 'the stored delivery cannot be read' WHERE id = $1",
        "replays" => "UPDATE replays SET status = 'failed', note = 'the stored replay cannot be read' WHERE id = $1",
        _ => return None,
    })
}

/// The bytes of a row's texts, for engines in whose SQL they are called so, where rows of the table
/// may be large.
pub fn row_bytes(table: &str) -> Option<&'static str> {
    Some(match table {
        "components" => {
            "octet_length(code) + octet_length(manifest) + coalesce(octet_length(files), 0)"
        }
        "deployments" | "source_deployments" => "octet_length(content)",
        "mail" => "octet_length(text) + coalesce(octet_length(html), 0)",
        "sources" => "octet_length(configured_props)",
        "webhook_deliveries" => "octet_length(body)",
        _ => return None,
    })
}
