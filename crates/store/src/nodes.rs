//! Notifications between servers that share a database.

use std::time::Instant;

use async_trait::async_trait;
use millrace_model::clock::Timestamp;
use millrace_model::ids::{AccountId, EventId, OrgId, RunId};
use millrace_model::run::LogLine;
use serde::{Deserialize, Serialize};

use crate::StoreResult;

/// What a listening server hears.
#[derive(Clone, Debug)]
pub enum Heard {
    /// What may have been read before is not true any more. Of this server's own changes too.
    Changed(Changed),
    /// What a server tells, which may be this one.
    News(String, News),
    /// All that was changed before this instant has been heard.
    UpTo(Instant),
}

/// What was changed, heard as soon as the change is committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Changed {
    /// A source or workflow (its id as text): record, version or interfaces.
    Owner(String),
    /// Who listens to what.
    Listeners,
    /// Keys or tokens of callers.
    Callers,
    /// Domains of endpoints.
    Domains,
    /// The servers that use the database.
    Nodes,
}

/// What one server tells the others. It is told after the commit and may be missed: it makes them
/// look sooner, no more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum News {
    /// There may be runs to be claimed.
    #[serde(rename = "q")]
    Queued,
    /// An event settled.
    #[serde(rename = "e")]
    Event(OrgId, String, EventAt),
    /// A run of an owner paused or settled, or steps of it ended.
    #[serde(rename = "r")]
    Run(OrgId, String, RunId),
    /// Somebody reads the streams of an owner on a server: its lines are wanted as they come.
    #[serde(rename = "f")]
    Followed(String),
    /// A run of a followed owner wrote a line, its attempt's so-manieth (from 0). Those that are
    /// not told come with the run's end or pause.
    #[serde(rename = "l")]
    Line { owner: String, run: RunId, attempt: i64, nth: usize, line: LogLine },
    /// Notifications from this time on, in milliseconds, were too many to be published.
    #[serde(rename = "m")]
    Missed(i64),
}

/// The id of an event, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct EventAt(pub i64);

impl From<EventId> for EventAt {
    fn from(id: EventId) -> Self {
        Self(id.ordinal())
    }
}

/// Servers that share the database; by default there is one.
#[async_trait]
pub trait Nodes: Send + Sync + 'static {
    /// What other servers change and tell, from now on. The receiver ends where the database can no
    /// longer be heard: then nothing is true any more that was read before. `None` where no other
    /// server can use this database.
    async fn listen(&self) -> StoreResult<Option<tokio::sync::mpsc::Receiver<Heard>>> {
        Ok(None)
    }
    /// Tells the servers that listen.
    async fn publish(&self, _node: &str, _news: &[News]) -> StoreResult<()> {
        Ok(())
    }
    /// Says that a server is there, and for how long that may be believed. How many others are.
    async fn check_in(&self, _node: &str, _for_ms: i64) -> StoreResult<u64> {
        Ok(0)
    }
    /// Says that a server is there no longer.
    async fn check_out(&self, _node: &str) -> StoreResult<()> {
        Ok(())
    }
    /// Takes an account of that version to refresh its token; false where another server has, until
    /// a time that is not over by `now`, or where the account is another by now.
    /// [`Accounts::update_account`](crate::Accounts::update_account) ends it.
    async fn claim_refresh(
        &self,
        _id: &AccountId,
        _version: i64,
        _now: Timestamp,
        _until: Timestamp,
    ) -> StoreResult<bool> {
        Ok(true)
    }
    /// Ends what [`Nodes::claim_refresh`](crate::Nodes::claim_refresh) began, where no token came
    /// of it.
    async fn release_refresh(&self, _id: &AccountId, _version: i64) -> StoreResult<()> {
        Ok(())
    }
}
