//! Subscriptions: an emitter's stream to a listener (spec 2.1).

use crate::clock::Timestamp;
use crate::ids::{OrgId, SubscriptionId};

/// The stream of errors.
pub const ERRORS: &str = "$errors";
/// All workflows of the organization as an emitter.
pub const ALL_WORKFLOWS: &str = "p_*";
/// All sources of the organization as an emitter.
pub const ALL_SOURCES: &str = "dc_*";

/// A subscription's record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscription {
    /// Its id.
    pub id: SubscriptionId,
    /// The organization.
    pub org_id: OrgId,
    /// A source's, workflow's or organization's id, or a glob.
    pub emitter_id: String,
    /// A workflow's or source's id.
    pub listener_id: String,
    /// The stream: empty for the default channel.
    pub event_name: String,
    /// Whether it exists because a workflow names the source as its trigger; such ones follow the deployment.
    pub from_trigger: bool,
    /// When it was made.
    pub created_at: Timestamp,
}
