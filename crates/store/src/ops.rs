//! What is handed to a store, and what it hands back.

use millrace_model::clock::Timestamp;
use millrace_model::event::Event;
use millrace_model::ids::{DeliveryId, MailId, OrgId, RunId, SourceId};
use millrace_model::run::{LogLine, NewRun, RunStatus};
use millrace_model::source::{HttpInterface, Timer};
use millrace_model::subscription::Subscription;
use millrace_model::tenant::{ApiKey, Organization, User};
use millrace_model::webhook::{Delivery, DeliveryStatus};
use millrace_model::workflow::Deployment;

/// An organization with its owner and first key.
#[derive(Clone, Debug)]
pub struct NewTenant {
    /// The organization.
    pub organization: Organization,
    /// Its owner.
    pub user: User,
    /// The owner's key.
    pub key: ApiKey,
}

/// The interfaces of a source or workflow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interfaces {
    /// Endpoints.
    pub http: Vec<HttpInterface>,
    /// Timers.
    pub timers: Vec<Timer>,
}

/// What a source remembers between runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceState {
    /// Counts up with each settlement that changes the state; 0 for a new source.
    pub version: i64,
    /// The dedupe state, JSON text; empty for none.
    pub dedupe: String,
}

/// A change of what a source remembers.
#[derive(Clone, Debug)]
pub struct SourceChange {
    /// The source.
    pub source_id: SourceId,
    /// Where dedupe was used: the version it was decided on, and the new state as JSON text.
    pub dedupe: Option<(i64, String)>,
    /// Writes to `$.service.db` in order: key, and the JSON text or none to delete.
    pub db: Vec<(String, Option<String>)>,
}

/// Whether a tick became a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fired {
    /// The run was accepted.
    Accepted,
    /// The tick moved on without a run: one is still going, or another node fired it.
    Skipped,
}

/// A new version of a workflow, and what it changes around it.
#[derive(Clone, Debug)]
pub struct NewDeployment {
    /// The deployment; its `version` is given by the store.
    pub deployment: Deployment,
    /// Whether the workflow is active from now on.
    pub active: bool,
    /// Its interfaces from now on.
    pub interfaces: Interfaces,
    /// Subscriptions that its source triggers ask for.
    pub subscriptions: Vec<Subscription>,
}

/// What names a subscription.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubscriptionKey {
    /// The emitter.
    pub emitter_id: String,
    /// The listener.
    pub listener_id: String,
    /// The stream; empty for the default channel.
    pub event_name: String,
}

/// A claim of queued runs.
#[derive(Clone, Copy, Debug)]
pub struct Claim<'a> {
    /// Who claims.
    pub node: &'a str,
    /// The current time.
    pub now: Timestamp,
    /// The end of the leases.
    pub lease_until: Timestamp,
    /// How many at most.
    pub limit: u32,
}

/// What becomes durable beside a run's own end.
#[derive(Clone, Debug, Default)]
pub struct Effects {
    /// Emitted events, `$errors` events among them; ids given by the engine.
    pub events: Vec<Event>,
    /// The change of the source's state.
    pub source: Option<SourceChange>,
    /// Runs of listeners.
    pub runs: Vec<NewRun>,
    /// Log lines of a run (`log_owner`: the workflow or source, as text).
    pub logs: Vec<LogLine>,
    /// Whose logs they are: organization, owner, run.
    pub log_owner: Option<(OrgId, String, RunId)>,
    /// What is sent to webhooks.
    pub deliveries: Vec<Delivery>,
    /// A notice of an error.
    pub notice: Option<Notice>,
}

/// The end of a run.
#[derive(Clone, Debug)]
pub struct Settlement {
    /// The run.
    pub run_id: RunId,
    /// The attempt that held it.
    pub attempt: i64,
    /// A final status.
    pub status: RunStatus,
    /// When it ended.
    pub finished_at: Timestamp,
    /// `RunResult`, JSON text.
    pub result: String,
    /// The error body, JSON text.
    pub error: Option<String>,
    /// What else becomes durable.
    pub effects: Effects,
}

/// A notice of an error: the mail is queued only if none for (owner, class) was since `unless_since`; either way the count since the last mail goes up.
#[derive(Clone, Debug)]
pub struct Notice {
    /// The workflow or source, as text.
    pub owner: String,
    /// The error class.
    pub class: String,
    /// An earlier notice at or after this time forbids this one... exclusive: a notice exactly that old does not.
    pub unless_since: Timestamp,
    /// What to send. `created_at` is the time of this notice.
    pub mail: Mail,
}

/// A mail in the outbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mail {
    /// Its id.
    pub id: MailId,
    /// The organization.
    pub org_id: OrgId,
    /// The recipient.
    pub recipient: String,
    /// The subject.
    pub subject: String,
    /// The body.
    pub text: String,
    /// `queued`, `sent` or `failed`.
    pub status: MailStatus,
    /// How often it was tried.
    pub attempts: i64,
    /// Why the last try failed.
    pub last_error: Option<String>,
    /// When it was queued.
    pub created_at: Timestamp,
}

/// The states of a mail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MailStatus {
    /// Waits for its next try.
    Queued,
    /// The server took it.
    Sent,
    /// Given up.
    Failed,
}

impl MailStatus {
    /// As stored and shown.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Sent => "sent",
            Self::Failed => "failed",
        }
    }

    /// Reads back [`MailStatus::as_str`].
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Queued, Self::Sent, Self::Failed].into_iter().find(|s| s.as_str() == text)
    }
}

/// How a try to send a mail ended.
#[derive(Clone, Debug)]
pub enum MailResult {
    /// The server took it.
    Sent,
    /// To be tried again.
    Retry {
        /// When.
        at: Timestamp,
        /// Why it failed.
        error: String,
    },
    /// Given up.
    Failed {
        /// Why.
        error: String,
    },
}

/// Which runs of an owner are asked for.
#[derive(Clone, Debug, Default)]
pub struct RunFilter {
    /// Only in this state.
    pub status: Option<RunStatus>,
    /// Only accepted at or after.
    pub from: Option<Timestamp>,
    /// Only accepted before.
    pub to: Option<Timestamp>,
}

/// How a try of a delivery ended; the try is counted.
#[derive(Clone, Debug)]
pub struct DeliveryTry {
    /// The delivery.
    pub id: DeliveryId,
    /// Its state from now on.
    pub status: DeliveryStatus,
    /// The status that the receiver answered with.
    pub answered: Option<u16>,
    /// Why it failed.
    pub error: Option<String>,
    /// When it is tried next.
    pub next_at: Option<Timestamp>,
}

/// Which deliveries are to be sent again.
#[derive(Clone, Debug)]
pub struct Replay {
    /// The organization.
    pub org_id: OrgId,
    /// The target.
    pub target_id: String,
    /// This one, failed or delivered; without it all that failed, the oldest first.
    pub id: Option<DeliveryId>,
    /// From when on they are tried.
    pub now: Timestamp,
    /// Until when they are tried.
    pub give_up_at: Timestamp,
    /// How many at most.
    pub limit: u32,
}
