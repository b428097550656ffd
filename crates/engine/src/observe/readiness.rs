//! Readiness of the server: ready to accept events, or the reason why not and what mends it.

use std::fmt;
use std::time::Duration;

use millrace_store::{Condition, StoreError};

use crate::ctx::Ctx;

/// Beyond this a commit that does not end is taken to hang: nothing new is asked for.
const HANGS: Duration = Duration::from_secs(15);
/// How long an answer of the database is waited for.
const ANSWER_MAX: Duration = Duration::from_secs(5);
/// With less room than this on the disk of its data directory a server cannot go on for long;
/// bytes.
pub const FREE_BYTES_MIN: u64 = 256 << 20;

/// How ready a server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// Events are accepted.
    Ready,
    /// Events are accepted; acknowledgements wait for a slow disk.
    Degraded {
        /// How long a commit takes, or took a moment ago.
        commit: Duration,
    },
    /// Events are accepted; there is little room left on the disk of the data directory.
    StorageLow {
        /// How much.
        free_bytes: u64,
    },
    /// Events are accepted; something was read from the database that is not as it was written.
    Damaged,
    /// A commit does not end.
    Hanging {
        /// For how long.
        commit: Duration,
    },
    /// The database's disk is full.
    StorageFull,
    /// The database does not answer, or takes no writes.
    DatabaseFailing,
    /// A shutdown has begun.
    Stopping,
}

impl Readiness {
    /// Whether events are accepted.
    pub const fn accepts(self) -> bool {
        matches!(
            self,
            Self::Ready | Self::Degraded { .. } | Self::StorageLow { .. } | Self::Damaged
        )
    }

    /// A stable code in snake case.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Degraded { .. } => "slow_storage",
            Self::StorageLow { .. } => "storage_low",
            Self::Damaged => "storage_damaged",
            Self::Hanging { .. } => "storage_hangs",
            Self::StorageFull => "storage_full",
            Self::DatabaseFailing => "database_unavailable",
            Self::Stopping => "stopping",
        }
    }
}

impl fmt::Display for Readiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ready => f.write_str("events are accepted"),
            Self::Degraded { commit } => {
                write!(f, "a commit takes {} ms, so acknowledgements wait; look at the disk of the database", commit.as_millis())
            }
            Self::StorageLow { free_bytes } => write!(
                f,
                "{} MiB are free on the disk of the data directory, less than {}; free some space: on a full disk no events are accepted",
                free_bytes >> 20,
                FREE_BYTES_MIN >> 20
            ),
            Self::Damaged => f.write_str("a part of the database is damaged, and the log names it; `millrace doctor` checks all of it, and a backup can replace it"),
            Self::Hanging { commit } => {
                write!(f, "a commit has not ended for {} s; look at the disk of the database", commit.as_secs())
            }
            Self::StorageFull => f.write_str("the disk of the database is full; free some space, the server then continues by itself"),
            Self::DatabaseFailing => f.write_str("the database does not answer or takes no writes; see the server's log"),
            Self::Stopping => f.write_str("the server is stopping"),
        }
    }
}

impl Readiness {
    /// Space for the server on the disk of its data directory; none where that is not told.
    pub(crate) fn free_bytes(ctx: &Ctx) -> Option<u64> {
        let found = rustix::fs::statvfs(&ctx.config.data_dir).ok()?;
        Some(found.f_bavail.saturating_mul(found.f_frsize))
    }

    /// Whether events are accepted, and what stands against it.
    pub(crate) async fn of(ctx: &Ctx) -> Self {
        if ctx.tasks.stopping() {
            return Self::Stopping;
        }
        // A commit that hangs is told of without waiting behind it.
        if let Some(slow) = Self::slowness(ctx) {
            return slow;
        }
        match tokio::time::timeout(ANSWER_MAX, ctx.store.ping()).await {
            Ok(Ok(())) if ctx.store.condition() == Condition::Damaged => Self::Damaged,
            // What the test writes fits where a large event no longer does.
            Ok(Ok(())) => match Self::free_bytes(ctx).filter(|free| *free < FREE_BYTES_MIN) {
                Some(free_bytes) => Self::StorageLow { free_bytes },
                None => Self::Ready,
            },
            Ok(Err(StoreError::StorageFull)) => Self::StorageFull,
            Ok(Err(_)) => Self::DatabaseFailing,
            // It has begun to hang since.
            Err(_) => Self::slowness(ctx).unwrap_or(Self::DatabaseFailing),
        }
    }

    /// What is to be told of commits that take long; none where none does.
    fn slowness(ctx: &Ctx) -> Option<Self> {
        match ctx.store.condition() {
            Condition::Waiting(commit) if commit >= HANGS => Some(Self::Hanging { commit }),
            Condition::Waiting(commit) | Condition::Slow(commit) => Some(Self::Degraded { commit }),
            _ => None,
        }
    }
}
