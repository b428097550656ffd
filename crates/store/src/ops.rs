//! What is handed to a store, and what it hands back.

use millrace_model::clock::Timestamp;
use millrace_model::error_event::ErrorGroup;
use millrace_model::event::Event;
use millrace_model::ids::{DataKeyId, DataStoreId, DeliveryId, ErrorGroupId, EventId, MailId, OrgId, RegistryId, RunId, SourceId, UploadId, WebhookDeliveryId};
use millrace_model::limits::RunLimits;
use millrace_model::registry::{Registry, RegistryComponent, RegistryFile};
use millrace_model::replay::Replay;
use millrace_model::run::{LogLine, NewRun, Run, RunStatus};
use millrace_model::source::{AppHook, HttpInterface, Timer};
use millrace_model::subscription::Subscription;
use millrace_model::tenant::{ApiKey, Organization, User};
pub use millrace_model::webhook::DeliveryStatus;
use millrace_model::webhook::{Webhook, WebhookDelivery};
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
    /// Events of apps, in the order of app and event name.
    pub app_hooks: Vec<AppHook>,
}

/// A key that secrets are sealed under, itself wrapped under the master key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataKey {
    /// Its id, which stands before each text that it sealed.
    pub id: DataKeyId,
    /// The id of the master key that wraps it.
    pub master_id: String,
    /// The key, sealed.
    pub wrapped: String,
    /// When it was made.
    pub created_at: Timestamp,
}

/// A component of a registry, of the latest state of its tree or an earlier one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundComponent {
    /// The registry.
    pub registry: RegistryId,
    /// The component.
    pub component: RegistryComponent,
    /// The last generation of the tree that has it; [`LATEST`] where that is the latest.
    pub generation: i64,
}

/// The latest generation of a registry's tree, whichever that is.
pub const LATEST: i64 = i64::MAX;
/// How many earlier generations of a registry's tree are kept.
pub const GENERATIONS_KEPT: i64 = 50;

/// A registry with all that is in it.
#[derive(Clone, Debug)]
pub struct NewRegistry {
    /// The record; its counts are those of the lists.
    pub registry: Registry,
    /// Its files.
    pub files: Vec<RegistryFile>,
    /// Its components.
    pub components: Vec<RegistryComponent>,
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
    /// What holds its runs back in the queue from now on.
    pub limits: Option<RunLimits>,
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

/// Listeners that come and go at once.
#[derive(Clone, Debug)]
pub struct ListenerChange {
    /// The organization whose subscriptions end.
    pub org_id: OrgId,
    /// Webhooks to be made, before anything listens.
    pub webhooks: Vec<Webhook>,
    /// Subscriptions to be made; one that exists stays as it is.
    pub add: Vec<Subscription>,
    /// Subscriptions to end, where they exist.
    pub remove: Vec<SubscriptionKey>,
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
    /// Owners take turns in the order of their ids: those behind this one come first.
    pub after: &'a str,
    /// Owners whose runs are left where they are.
    pub passed_over: &'a [String],
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
    pub webhook_deliveries: Vec<WebhookDelivery>,
    /// A notice of an error.
    pub notice: Option<Notice>,
    /// What the run sent to the outside, in order.
    pub deliveries: Vec<Delivery>,
    /// A deferred event that these effects deliver, by emitter and id: it waits no longer. `StateChanged` where it does not wait any more.
    pub deferred: Option<(String, EventId)>,
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
    /// What the error is counted under: as if it were the first of its group. The newest gives the group its message and run.
    pub group: Option<ErrorGroup>,
    /// What takes the event's place, JSON text, where nothing of the run is kept: its log and what it was resumed with go too.
    pub forget: Option<String>,
    /// What else becomes durable.
    pub effects: Effects,
}

/// The end of an attempt with a pause.
#[derive(Clone, Debug)]
pub struct Pausing {
    /// The run.
    pub run_id: RunId,
    /// The attempt that held it.
    pub attempt: i64,
    /// The current time.
    pub now: Timestamp,
    /// When it ends by itself.
    pub wake_at: Timestamp,
    /// How.
    pub then: PauseEnd,
    /// What the next attempt needs to know of it, JSON text.
    pub state: String,
    /// `RunResult`, JSON text.
    pub result: String,
    /// What else becomes durable.
    pub effects: Effects,
}

/// How a pause ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PauseEnd {
    /// The run is queued.
    Resume,
    /// The run is cancelled.
    Cancel,
}

/// A pause of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pause {
    /// The attempt that ended with it.
    pub attempt: i64,
    /// As [`Pausing::state`].
    pub state: String,
    /// The request that ended it, JSON text; none: its time came.
    pub callback: Option<String>,
}

/// A request to end the pause of an attempt.
#[derive(Clone, Debug)]
pub struct Callback {
    /// The run.
    pub run_id: RunId,
    /// The attempt that was given the address.
    pub attempt: i64,
    /// What is asked for.
    pub end: PauseEnd,
    /// The request, JSON text.
    pub request: String,
    /// When it came.
    pub now: Timestamp,
}

/// What a request to end a pause did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CalledBack {
    /// The run is queued, or cancelled, as asked.
    Done,
    /// The attempt has not ended: kept until it does.
    Kept,
    /// The pause has ended, or the attempt ended without one, or another request was kept.
    TooLate,
    /// There is no such run.
    Unknown,
}

/// Pauses whose time had come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Woken {
    /// Runs queued.
    pub resumed: u64,
    /// Runs cancelled.
    pub cancelled: u64,
}

/// A notice of an error: the mails are queued only if none for (owner, class) were since `unless_since`; else the count since then goes up.
#[derive(Clone, Debug)]
pub struct Notice {
    /// The workflow or source, as text.
    pub owner: String,
    /// The error class.
    pub class: String,
    /// The time of this notice.
    pub at: Timestamp,
    /// An earlier notice after this time forbids this one; one exactly that old does not.
    pub unless_since: Timestamp,
    /// What to send, one for each recipient; [`Notice::COUNT`] in them stands for how many errors there were since the last notice, this one included.
    pub mails: Vec<Mail>,
}

impl Notice {
    /// Of a private use, so that it is in no text but by intent.
    pub const COUNT: char = '\u{F8A7}';

    /// The mails, after `earlier` errors that were not mailed.
    pub fn mails(&self, earlier: i64) -> Vec<Mail> {
        let count = earlier.saturating_add(1).to_string();
        let told = |text: &str| text.replace(Self::COUNT, &count);
        self.mails
            .iter()
            .map(|mail| Mail { subject: told(&mail.subject), text: told(&mail.text), html: mail.html.as_deref().map(told), ..mail.clone() })
            .collect()
    }
}

/// Failed live runs of an owner, the oldest first.
#[derive(Clone, Debug)]
pub struct FailedRuns {
    /// The organization.
    pub org_id: OrgId,
    /// The workflow or source, as text.
    pub owner: String,
    /// Only with this class of error.
    pub class: Option<String>,
    /// Only of this group.
    pub group: Option<ErrorGroupId>,
    /// Only accepted at or after.
    pub from: Option<Timestamp>,
    /// Only accepted before.
    pub to: Option<Timestamp>,
    /// Only after this one: when it was accepted, and its id.
    pub after: Option<(Timestamp, RunId)>,
    /// How many at most.
    pub limit: u32,
}

impl FailedRuns {
    /// The time, in milliseconds, before which nothing needs to be looked at: an index takes one bound, and the cursor's is the tighter one.
    pub fn oldest(&self) -> i64 {
        let (from, after) = (self.from.map_or(i64::MIN, Timestamp::ms), self.after.as_ref().map_or(i64::MIN, |(at, _)| at.ms()));
        from.max(after)
    }
}

/// A step of a replay, in one transaction.
#[derive(Clone, Debug)]
pub struct ReplayStep {
    /// The replay after the step; its version is one more than before.
    pub replay: Replay,
    /// The runs it queues, each with the id of the run that it replays.
    pub runs: Vec<(RunId, NewRun)>,
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
    /// The body as HTML, beside the text or in its place where that is empty.
    pub html: Option<String>,
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

/// Whose history goes, and how much of it.
#[derive(Clone, Debug)]
pub struct Pruning {
    /// The workflow, source or other emitter.
    pub owner: String,
    /// What was accepted before goes; none: age is no reason.
    pub before: Option<Timestamp>,
    /// Of runs and of events, all but so many of the newest go, but at least one stays; none: number is no reason.
    pub keep_count: Option<u32>,
    /// How many of a kind at most.
    pub limit: u32,
}

/// What goes by its age that is nobody's history.
#[derive(Clone, Copy, Debug)]
pub struct Leftovers {
    /// Deliveries to webhooks, and mail that was sent or given up, from before; also mail whose try has been due since before, as nobody takes it.
    pub before: Option<Timestamp>,
    /// Records of who changed what from before.
    pub audit_before: Option<Timestamp>,
    /// The current time: tokens and forms that have ended go.
    pub now: Timestamp,
    /// How many of a kind at most.
    pub limit: u32,
}

/// Which history is exported.
#[derive(Clone, Debug, Default)]
pub struct ExportFilter {
    /// Of this workflow, source or other emitter only.
    pub owner: Option<String>,
    /// Accepted at or after.
    pub from: Option<Timestamp>,
    /// Accepted before.
    pub to: Option<Timestamp>,
}

/// A piece of an export.
#[derive(Clone, Debug)]
pub enum Exported {
    /// A run, with its result.
    Run(Box<Run>),
    /// A log line of a run of an owner.
    Log {
        /// The workflow or source.
        owner: String,
        /// The run.
        run_id: RunId,
        /// The line.
        line: LogLine,
    },
    /// An event.
    Event(Event),
}

/// How a try of a delivery to a webhook ended; the try is counted.
#[derive(Clone, Debug)]
pub struct WebhookTry {
    /// The delivery.
    pub id: WebhookDeliveryId,
    /// Its state from now on.
    pub status: DeliveryStatus,
    /// The status that the receiver answered with.
    pub answered: Option<u16>,
    /// Why it failed.
    pub error: Option<String>,
    /// When it is tried next.
    pub next_at: Option<Timestamp>,
}

/// Which deliveries to a webhook are to be sent again.
#[derive(Clone, Debug)]
pub struct WebhookReplay {
    /// The organization.
    pub org_id: OrgId,
    /// The target.
    pub target_id: String,
    /// This one, failed or delivered; without it all that failed, the oldest first.
    pub id: Option<WebhookDeliveryId>,
    /// From when on they are tried.
    pub now: Timestamp,
    /// Until when they are tried.
    pub give_up_at: Timestamp,
    /// How many at most.
    pub limit: u32,
}

/// A value to be written to a data store.
#[derive(Clone, Debug)]
pub struct DataStoreWrite {
    /// The store.
    pub store_id: DataStoreId,
    /// The key.
    pub key: String,
    /// The value, JSON text.
    pub value: String,
    /// When it ends; none: never, also where the key had an end.
    pub expires_at: Option<Timestamp>,
    /// The time by which others have ended.
    pub now: Timestamp,
    /// Keys that the store may have.
    pub keys_max: u64,
    /// Bytes that its keys and values may take.
    pub bytes_max: u64,
}

/// Which part of a data store is asked for, in the order of keys (by their UTF-8 bytes).
#[derive(Clone, Debug)]
pub struct DataStorePage {
    /// Keys after this one.
    pub after: Option<String>,
    /// How many at most.
    pub limit: u32,
    /// Entries that have ended by then are not there.
    pub now: Timestamp,
}

/// An entry of a data store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataStoreEntry {
    /// The key.
    pub key: String,
    /// The value, JSON text.
    pub value: String,
    /// When it ends.
    pub expires_at: Option<Timestamp>,
}

/// Something that code sent to the outside: delivered after its run, tried again until it is taken or given up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Its id.
    pub id: DeliveryId,
    /// The organization.
    pub org_id: OrgId,
    /// The workflow, as text.
    pub owner: String,
    /// The run that sent it.
    pub run_id: RunId,
    /// Its place among what the run sent.
    pub position: i64,
    /// Where to.
    pub kind: DeliveryKind,
    /// What is sent, JSON text.
    pub payload: String,
    /// `queued`, `delivered` or `failed`.
    pub status: DeliveryStatus,
    /// How often it was tried.
    pub attempts: i64,
    /// The HTTP status of the last answer.
    pub response_status: Option<i64>,
    /// Why the last try failed.
    pub last_error: Option<String>,
    /// When its run was settled.
    pub created_at: Timestamp,
    /// When it was taken or given up.
    pub finished_at: Option<Timestamp>,
}

/// Where a delivery goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryKind {
    /// An HTTP request.
    Http,
    /// The outbox.
    Email,
    /// An object store.
    S3,
}

impl DeliveryKind {
    /// As stored and shown.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Email => "email",
            Self::S3 => "s3",
        }
    }

    /// Reads back [`DeliveryKind::as_str`].
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Http, Self::Email, Self::S3].into_iter().find(|k| k.as_str() == text)
    }
}

/// How a try to deliver ended.
#[derive(Clone, Debug)]
pub struct DeliveryResult {
    /// The HTTP status of the answer, where there was one.
    pub response_status: Option<i64>,
    /// Why it failed; none: it was taken.
    pub error: Option<String>,
    /// When it is tried again; none: never.
    pub retry_at: Option<Timestamp>,
    /// When the try ended.
    pub at: Timestamp,
}

impl DeliveryResult {
    /// What an engine stores: the status, when it is over, when it is due again.
    pub fn columns(&self) -> (DeliveryStatus, Option<Timestamp>, Option<Timestamp>) {
        match (&self.error, self.retry_at) {
            (None, _) => (DeliveryStatus::Delivered, Some(self.at), None),
            (Some(_), Some(at)) => (DeliveryStatus::Queued, None, Some(at)),
            (Some(_), None) => (DeliveryStatus::Failed, Some(self.at), None),
        }
    }
}

/// What a look at a database found. Looking changes nothing, and brings no schema up to date.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Examined {
    /// The engine and its version.
    pub engine: String,
    /// The schema that is there; 0: none yet.
    pub schema: i64,
    /// The newest that this version of Millrace knows.
    pub known: i64,
    /// What is wrong with the data; None where nothing was found.
    pub damage: Option<String>,
    /// Why a server could not work with it as it is; None where nothing was found.
    pub unfit: Option<Unfit>,
    /// The database's clock, where it has one of its own.
    pub clock: Option<Timestamp>,
}

/// Why a server could not work with a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfit {
    /// What was found.
    pub found: String,
    /// What to do.
    pub mend: String,
}

/// Uploads that become files of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeepFiles {
    /// The organization.
    pub org_id: OrgId,
    /// The store's name.
    pub store: String,
    /// What becomes a file, and its path.
    pub files: Vec<(UploadId, String)>,
    /// Now.
    pub now: Timestamp,
    /// When the contents end that others take the place of: who reads them just now reads them to their end.
    pub replaced_until: Timestamp,
}
