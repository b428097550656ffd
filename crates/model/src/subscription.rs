//! Subscriptions: an emitter's stream to a listener (spec 2.1).

use crate::clock::Timestamp;
use crate::ids::{AutoSubscriptionId, OrgId, SubscriptionId, WorkflowId};

/// The stream of errors.
pub const ERRORS: &str = "$errors";
/// The stream of a source's log lines.
pub const LOGS: &str = "$logs";
/// The stream of events that are kept for tests; nobody hears it.
pub const TEST: &str = "$test";
/// The stream in which a deferred event waits until it is due (reference 3). Nobody listens to it.
pub const DEFERRED: &str = "$in";

/// Characters of a channel's name.
pub const CHANNEL_CHARS_MAX: usize = 200;

/// Checks a channel that code or a person emits into: names that begin with `$` are the server's
/// own, where an event would pass for an error of a run, or stay for ever.
///
/// # Errors
/// What is allowed, in a sentence that names the channel.
pub fn check_channel(name: &str) -> Result<(), String> {
    if name.starts_with('$') || name.chars().count() > CHANNEL_CHARS_MAX {
        let shown = crate::shown(name);
        return Err(format!(
            "`{shown}` is not a channel to emit into; allowed are names of up to {CHANNEL_CHARS_MAX} characters that do not begin with `$`"
        ));
    }
    Ok(())
}

/// Checks the stream that a subscription names: one on which events come. Log lines are passed on
/// of sources alone.
///
/// # Errors
/// What is allowed, in a sentence that names the stream.
pub fn check_stream(emitter: &str, name: &str) -> Result<(), String> {
    let is_of_workflows = emitter.starts_with(WorkflowId::PREFIX);
    if name == LOGS && is_of_workflows {
        return Err(format!(
            "`{LOGS}` is a stream of sources, and `{}` is none; allowed are the id of a source, `{ALL_SOURCES}` and the organization's id; lines of a workflow are read from its logs",
            crate::shown(emitter)
        ));
    }
    if [ERRORS, LOGS].contains(&name) {
        return Ok(());
    }
    if check_channel(name).is_err() || name.chars().any(char::is_control) {
        return Err(format!(
            "no event comes on `{}`; allowed are `{ERRORS}`, `{LOGS}` of sources, and channels: one line of up to {CHANNEL_CHARS_MAX} characters that does not begin with `$`, or nothing for the default channel",
            crate::shown(name)
        ));
    }
    Ok(())
}

/// All workflows of the organization as an emitter.
pub const ALL_WORKFLOWS: &str = "p_*";
/// All sources of the organization as an emitter.
pub const ALL_SOURCES: &str = "dc_*";

/// Which subscriptions of an organization.
#[derive(Clone, Debug, Default)]
pub struct SubscriptionFilter {
    /// Those of this emitter.
    pub emitter: Option<String>,
    /// Those of this listener.
    pub listener: Option<String>,
}

/// A subscription of a page, with the names of what it connects.
#[derive(Clone, Debug)]
pub struct ListedSubscription {
    /// The subscription.
    pub subscription: Subscription,
    /// The emitter's; none: it is the organization, or all its workflows or sources.
    pub emitter_name: Option<String>,
    /// The listener's; of a webhook without a name its address.
    pub listener_name: Option<String>,
}

/// A subscription's record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscription {
    /// Its id.
    pub id: SubscriptionId,
    /// The organization.
    pub org_id: OrgId,
    /// A source's, workflow's or organization's id, or a glob.
    pub emitter_id: String,
    /// A workflow's, source's or webhook's id.
    pub listener_id: String,
    /// The stream: empty for the default channel.
    pub event_name: String,
    /// Whether it exists because a workflow names the source as its trigger; such ones follow the
    /// deployment.
    pub from_trigger: bool,
    /// When it was made.
    pub created_at: Timestamp,
}

/// A subscription of whatever workflow or source is made from now on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AutoSubscription {
    /// Its id.
    pub id: AutoSubscriptionId,
    /// The organization.
    pub org_id: OrgId,
    /// A workflow's, source's or webhook's id.
    pub listener_id: String,
    /// The stream: `$errors` or `$logs`.
    pub event_name: String,
    /// When it was made.
    pub created_at: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_one_on_which_events_come() {
        for (emitter, name) in
            [("dc_1", ""), ("p_1", "new orders"), ("p_*", ERRORS), ("dc_1", LOGS), ("o_1", LOGS)]
        {
            assert_eq!(check_stream(emitter, name), Ok(()), "{emitter} {name}");
        }
        let long = "a".repeat(CHANNEL_CHARS_MAX + 1);
        for (emitter, name) in [
            ("p_1", LOGS),
            ("p_*", LOGS),
            ("dc_1", "$foo"),
            ("dc_1", DEFERRED),
            ("dc_1", TEST),
            ("dc_1", "two\nlines"),
            ("dc_1", long.as_str()),
        ] {
            assert!(check_stream(emitter, name).is_err(), "{emitter} {name}");
        }
    }
}
