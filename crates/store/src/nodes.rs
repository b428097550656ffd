//! Notifications between servers that share a database.

use std::time::Instant;

use async_trait::async_trait;
use millrace_model::clock::Timestamp;
use millrace_model::ids::{AccountId, EventId, OrgId, RunId};
use millrace_model::run::LogLine;
use serde::{Deserialize, Serialize};

use crate::StoreResult;

/// Notification of the listening connection.
#[derive(Clone, Debug)]
pub enum Notification {
    /// A record changed: what was read before is invalid. Of this server's own changes too.
    Changed(Changed),
    /// Message of a server, by its id; it may be this one.
    Message(String, NodeMessage),
    /// All notifications of changes before this instant have arrived.
    CompleteUntil(Instant),
}

/// Kind of record that changed, sent as soon as the change is committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Changed {
    /// A source or workflow (its id as text): record, version or interfaces.
    Owner(String),
    /// Subscriptions: which listeners run on which events.
    Listeners,
    /// Keys or tokens of callers.
    Callers,
    /// Domains of endpoints.
    Domains,
    /// The servers that use the database.
    Nodes,
}

/// Message from one server to the others. It is published after the commit and may be lost: it
/// makes them look sooner, no more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NodeMessage {
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
    /// A run of a followed owner wrote a line, number `nth` (from 0) of its attempt. Those that are
    /// not published come with the run's end or pause.
    #[serde(rename = "l")]
    Line { owner: String, run: RunId, attempt: i64, nth: usize, line: LogLine },
    /// Messages from this time on, in milliseconds, were too many to be published.
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
    /// Notifications from now on. The receiver ends with the listening connection: then all that
    /// was read before is invalid. `None` where no other server can use this database.
    async fn listen(&self) -> StoreResult<Option<tokio::sync::mpsc::Receiver<Notification>>> {
        Ok(None)
    }
    /// Publishes messages to the servers that listen.
    async fn publish(&self, _node: &str, _messages: &[NodeMessage]) -> StoreResult<()> {
        Ok(())
    }
    /// Records that a server is there, valid for so many milliseconds. Gives how many others are.
    async fn check_in(&self, _node: &str, _for_ms: i64) -> StoreResult<u64> {
        Ok(0)
    }
    /// Removes a server that ends.
    async fn check_out(&self, _node: &str) -> StoreResult<()> {
        Ok(())
    }
    /// Takes an account of that version to refresh its token; false where another server has, until
    /// a time that is not over by `now`, or where the account is another by now. Changes of the
    /// account meanwhile leave the claim as it is.
    async fn claim_refresh(
        &self,
        _id: &AccountId,
        _version: i64,
        _now: Timestamp,
        _until: Timestamp,
    ) -> StoreResult<bool> {
        Ok(true)
    }
    /// Ends the claim that [`Nodes::claim_refresh`](crate::Nodes::claim_refresh) gave until that
    /// time. A later one of another server stays.
    async fn release_refresh(&self, _id: &AccountId, _until: Timestamp) -> StoreResult<()> {
        Ok(())
    }
}
