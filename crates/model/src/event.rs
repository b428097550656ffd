//! Events in the history of a source or workflow.

use crate::ids::{EventId, OrgId};

/// A settled event, as it stands in its emitter's stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its id and cursor.
    pub id: EventId,
    /// The organization.
    pub org_id: OrgId,
    /// The source or workflow that emitted it.
    pub emitter_id: String,
    /// The stream: empty for the default channel.
    pub name: String,
    /// Id of the emission (KSUID).
    pub emit_id: String,
    /// The data, JSON text.
    pub payload: String,
    /// What the emitter said of it (`id`, `summary`, `ts`), JSON text of an object.
    pub metadata: String,
}

/// An event as a list has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedEvent {
    /// The event. Where summaries were asked for, a payload beyond [`PAYLOAD_SHOWN_BYTES`] is its
    /// beginning only.
    pub event: Event,
    /// Bytes of the whole payload.
    pub payload_bytes: usize,
}

/// Which events of an emitter are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventFilter<'a> {
    /// The stream; none: all channels, without errors, test events and what waits.
    pub name: Option<&'a str>,
    /// In the data or the metadata, whatever the case of its letters from a to z.
    pub text: Option<&'a str>,
}

impl<'a> EventFilter<'a> {
    /// Events that a text is searched in: the newest of the stream.
    pub const LOOKED_AT_MAX: i64 = 2_000;
    /// Characters of the data of each that are searched: one request reads no more than so many of
    /// all of them.
    pub const SEARCHED_CHARS: i64 = 32 << 10;

    /// All of a stream.
    pub const fn of(name: Option<&'a str>) -> Self {
        Self { name, text: None }
    }
}

/// A summary has the data of an event up to this size, in bytes (reference 2).
pub const PAYLOAD_SHOWN_BYTES: usize = 1024;
/// Of larger data, so much of its JSON text, in bytes.
pub const PAYLOAD_PREVIEW_BYTES: usize = 512;
