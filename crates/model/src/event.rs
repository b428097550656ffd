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
