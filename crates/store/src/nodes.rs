//! What servers that share a database tell each other.

use std::time::Instant;

use millrace_model::ids::{EventId, OrgId, RunId, SourceId};
use millrace_model::run::LogLine;
use serde::{Deserialize, Serialize};

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

/// What one server tells the others. It is told after the commit and may be missed: it makes them look sooner, no more.
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
    /// A run of a followed owner wrote a line, its attempt's so-manieth (from 0). Those that are not told come with the run's end or pause.
    #[serde(rename = "l")]
    Line { owner: String, run: RunId, attempt: i64, nth: usize, line: LogLine },
    /// A server waits for the seat of a source.
    #[serde(rename = "sa")]
    SeatAsked(SourceId),
    /// A server left the seat of a source.
    #[serde(rename = "sl")]
    SeatLeft(SourceId),
}

/// The id of an event, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct EventAt(pub i64);

impl From<EventId> for EventAt {
    fn from(id: EventId) -> Self {
        Self(id.ordinal())
    }
}
