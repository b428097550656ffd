//! The store in the product's words. It knows no rule of the product: what must be decided is decided in the engine
//! and handed over as values, so that each method is one transaction. Engines: `store-sqlite`, `store-postgres`.
//!
//! Start at [`Store::accept`], [`Store::claim`] and [`Store::settle`]. `conformance` is the suite every engine passes; it is
//! for tests only, behind the feature of that name.

#[cfg(feature = "conformance")]
pub mod conformance;
pub mod fail;
mod nodes;
mod ops;
mod pulse;

use async_trait::async_trait;
use millrace_model::account::{Account, App};
use millrace_model::audit::AuditRecord;
use millrace_model::clock::Timestamp;
use millrace_model::component::{Artifact, SavedComponent};
use millrace_model::data_store::DataStore;
use millrace_model::domain::EndpointDomain;
use millrace_model::error_event::ErrorGroup;
use millrace_model::event::Event;
use millrace_model::file::{FileStore, StoredFile};
use millrace_model::form::Form;
use millrace_model::ids::{
    AccountId, ApiKeyId, AuditId, AutoSubscriptionId, ComponentId, DataStoreId, DeliveryId, DeploymentId, ErrorGroupId, EventId, FormId, HttpInterfaceId,
    MailId, OauthClientId, OrgId, RegistryId, ReplayId, RunId, SourceId, SubscriptionId, TimerId, UploadId, UserId, WebhookDeliveryId, WebhookId, WorkflowId,
};
use millrace_model::page::{Listing, Page};
use millrace_model::registry::{Registry, RegistryComponent, RegistryFile};
use millrace_model::replay::{Replay, ReplayCounts, ReplayedRun};
use millrace_model::retention::Retention;
use millrace_model::run::{LogLine, NewRun, Run, RunStatus};
use millrace_model::source::{HttpInterface, Owner, Source, Timer};
use millrace_model::subscription::{AutoSubscription, Subscription};
use millrace_model::tenant::{ApiKey, Caller, OauthClient, OauthToken, Organization, User};
use millrace_model::upload::Upload;
use millrace_model::webhook::{Health, Webhook, WebhookDelivery};
use millrace_model::workflow::{Deployment, Workflow};
pub use nodes::{Changed, EventAt, Heard, News};
pub use ops::*;
pub use pulse::{Condition, Pulse};

/// What a store can answer other than a result.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The thing is not there, or belongs to another organization.
    #[error("not found")]
    NotFound,
    /// A unique name or id is taken; the name of the constraint.
    #[error("`{0}` is taken")]
    Taken(&'static str),
    /// The run was settled or claimed by someone else since; nothing was written.
    #[error("the run is no longer held by this attempt")]
    Fenced,
    /// The source's state was changed since it was read; nothing was written. Read it again and decide anew.
    #[error("the state changed meanwhile")]
    StateChanged,
    /// The database was made by a newer Millrace.
    #[error("the database has schema version {found}, this Millrace knows versions up to {known}; start the newer Millrace, or restore a backup")]
    NewerSchema {
        /// The version found.
        found: i64,
        /// The newest version known here.
        known: i64,
    },
    /// The database's file is not whole.
    #[error("the database is damaged: {what}")]
    Damaged {
        /// What was found.
        what: String,
    },
    /// A row that should not be: a bug or a damaged file.
    #[error("the database holds a row that cannot be read: {what}")]
    Corrupt {
        /// Which row, without its contents.
        what: String,
    },
    /// A cursor (`after` or `before`) that names no record of the organization: it is gone, or never was.
    #[error("the cursor `{0}` names nothing")]
    UnknownCursor(&'static str),
    /// A data store has as many keys or bytes as it may; nothing was written.
    #[error("the data store is full")]
    Full,
    /// As many runs of the owner wait as may.
    #[error("the queue of the workflow is full")]
    QueueFull,
    /// The queue of writes is full.
    #[error("the store is overloaded")]
    Overloaded,
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
    /// There is no room left on the database's disk; nothing was written. It may be tried again once there is.
    #[error("the disk of the database is full")]
    StorageFull,
    /// The database cannot be reached. What was under way may have been written or not.
    #[error("the database cannot be reached")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The database failed.
    #[error("the database failed")]
    Database(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Result of a store call.
pub type StoreResult<T> = Result<T, StoreError>;

/// The durable truth. All methods are one transaction; a returned `Ok` of a write means it survives a power cut.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    // ---- tenants

    /// Stores the first organization, owner and key, unless there is an organization already; says whether it did.
    async fn bootstrap(&self, first: NewTenant) -> StoreResult<bool>;
    /// Stores another organization with its owner and key. `Taken("orgname")`.
    async fn create_organization(&self, tenant: NewTenant) -> StoreResult<()>;
    /// Whose key it is, also where it is the one before the last rotation; the hash is SHA-256 in hex. Keys that have ended are found too.
    async fn caller_by_key_hash(&self, key_hash: &str) -> StoreResult<Option<Caller>>;
    /// An organization.
    async fn organization(&self, org: &OrgId) -> StoreResult<Option<Organization>>;
    /// Puts other names and recipients in place of an organization's. `NotFound`.
    async fn update_organization(&self, organization: Organization) -> StoreResult<()>;
    /// A user.
    async fn user(&self, user: &UserId) -> StoreResult<Option<User>>;
    /// Stores a key. `Taken("key_hash")`.
    async fn create_api_key(&self, key: ApiKey) -> StoreResult<()>;
    /// A key of the organization.
    async fn api_key(&self, org: &OrgId, id: &ApiKeyId) -> StoreResult<Option<ApiKey>>;
    /// The keys, newest first. Cursor: id.
    async fn list_api_keys(&self, org: &OrgId, page: &Page) -> StoreResult<Listing<ApiKey>>;
    /// Replaces a key's record (name, hashes, scopes, rate, end). `NotFound`.
    async fn update_api_key(&self, key: ApiKey) -> StoreResult<()>;
    /// Removes a key; says whether there was one.
    async fn delete_api_key(&self, org: &OrgId, id: &ApiKeyId) -> StoreResult<bool>;

    // ---- components and artifacts

    /// Stores an artifact; the same id again is no change.
    async fn put_artifact(&self, artifact: Artifact) -> StoreResult<()>;
    /// An artifact.
    async fn artifact(&self, id: &str) -> StoreResult<Option<Artifact>>;
    /// Stores a component; where `published`, an earlier published one with the same key loses its mark.
    async fn create_component(&self, component: SavedComponent) -> StoreResult<()>;
    /// A component of the organization.
    async fn component(&self, org: &OrgId, id: &ComponentId) -> StoreResult<Option<SavedComponent>>;
    /// The newest component whose code has that hash; with `artifact`, of those that were built to it.
    async fn component_by_hash(&self, org: &OrgId, code_hash: &str, artifact: Option<&str>) -> StoreResult<Option<SavedComponent>>;
    /// The published component with that key; with `version`, the newest that was published with it, until the key is unpublished.
    async fn component_by_key(&self, org: &OrgId, key: &str, version: Option<&str>) -> StoreResult<Option<SavedComponent>>;
    /// The published components, newest first.
    async fn list_components(&self, org: &OrgId, page: &Page) -> StoreResult<Listing<SavedComponent>>;
    /// Takes the published mark from the key, and its earlier versions; `NotFound` if there is none.
    async fn unpublish_component(&self, org: &OrgId, key: &str) -> StoreResult<()>;

    // ---- registries

    /// Stores a registry with its files and components, or replaces the one of the same name: its id and `created_at` stay,
    /// files whose hash is the same stay unwritten, of the others the last [`GENERATIONS_KEPT`] states stay addressable. Gives it as stored.
    async fn put_registry(&self, registry: NewRegistry) -> StoreResult<Registry>;
    /// The registries, oldest first (at most 1,000).
    async fn registries(&self, org: &OrgId) -> StoreResult<Vec<Registry>>;
    /// Removes a registry with its files and components; says whether there was one.
    async fn delete_registry(&self, org: &OrgId, name: &str) -> StoreResult<bool>;
    /// All components of a registry's latest state, by path (at most 100,000).
    async fn registry_components(&self, id: &RegistryId) -> StoreResult<Vec<RegistryComponent>>;
    /// The component with that key, of the oldest registry that has one. With `version`: that version, of the latest state that has it.
    async fn registry_component(&self, org: &OrgId, key: &str, version: Option<&str>) -> StoreResult<Option<FoundComponent>>;
    /// The versions of a key in all registries, the latest first, each once (at most 100).
    async fn registry_versions(&self, org: &OrgId, key: &str) -> StoreResult<Vec<String>>;
    /// The files of an app's folder in a generation, by path; an empty `app`: the files that are in none.
    async fn registry_files(&self, id: &RegistryId, app: &str, generation: i64) -> StoreResult<Vec<RegistryFile>>;

    // ---- sources and their interfaces

    /// Stores a source with its interfaces. `Taken("name_slug")`.
    async fn create_source(&self, source: Source, interfaces: Interfaces) -> StoreResult<()>;
    /// Replaces a source's record and all its interfaces.
    async fn update_source(&self, source: Source, interfaces: Interfaces) -> StoreResult<()>;
    /// Removes a source, its interfaces, its subscriptions (as emitter and listener, auto-subscriptions too), state and db; queued runs of it become cancelled. Events and runs stay as history.
    async fn delete_source(&self, org: &OrgId, id: &SourceId) -> StoreResult<()>;
    /// A source of the organization.
    async fn source(&self, org: &OrgId, id: &SourceId) -> StoreResult<Option<Source>>;
    /// The sources, newest first. Cursor: id.
    async fn list_sources(&self, org: &OrgId, page: &Page) -> StoreResult<Listing<Source>>;
    /// Slugs of sources that are `base` or start with `base-`.
    async fn source_slugs(&self, org: &OrgId, base: &str) -> StoreResult<Vec<String>>;
    /// The interfaces of a source or workflow (its id as text).
    async fn interfaces(&self, owner: &str) -> StoreResult<Interfaces>;
    /// What the source remembers, with the version that settling checks.
    async fn source_state(&self, id: &SourceId) -> StoreResult<SourceState>;
    /// The source's `$.service.db`: keys and JSON texts.
    async fn source_db(&self, id: &SourceId) -> StoreResult<Vec<(String, String)>>;

    // ---- endpoints and timers

    /// The endpoint with that key, active or not.
    async fn endpoint(&self, key: &str) -> StoreResult<Option<HttpInterface>>;
    /// An endpoint of the organization.
    async fn http_interface(&self, org: &OrgId, id: &HttpInterfaceId) -> StoreResult<Option<HttpInterface>>;
    /// Lets a domain stand for an endpoint. `Taken("id")`. It goes with the source or workflow that the endpoint is of.
    async fn create_endpoint_domain(&self, domain: EndpointDomain) -> StoreResult<()>;
    /// The organization's domains, newest first. Cursor: the domain.
    async fn list_endpoint_domains(&self, org: &OrgId, page: &Page) -> StoreResult<Listing<EndpointDomain>>;
    /// Removes a domain; says whether there was one.
    async fn delete_endpoint_domain(&self, org: &OrgId, domain: &str) -> StoreResult<bool>;
    /// All domains with the keys of their endpoints (at most 100,000).
    async fn endpoint_domains(&self) -> StoreResult<Vec<(String, String)>>;
    /// Active timers due at `now`, the longest due first.
    async fn due_timers(&self, now: Timestamp, limit: u32) -> StoreResult<Vec<Timer>>;
    /// Active timers of a later time than `after`, the latest first.
    async fn late_timers(&self, after: Timestamp, limit: u32) -> StoreResult<Vec<Timer>>;
    /// Moves the next tick of a timer, where it still is at `from`; nothing fires. Says whether it did.
    async fn move_timer(&self, id: &TimerId, from: Timestamp, to: Timestamp) -> StoreResult<bool>;
    /// Moves whatever else waits for a later time than `now` by so much towards it: ends of pauses, next tries of mails and deliveries.
    async fn clock_went_back(&self, now: Timestamp, by_ms: i64) -> StoreResult<()>;
    /// When the next active timer is due.
    async fn next_timer_at(&self) -> StoreResult<Option<Timestamp>>;
    /// Counts a tick as fired: moves `next_at` from `due_at` to `next_at` and accepts the run; a tick whose owner has an unfinished run of the same timer moves on without one (reference 3: no overlap). `Skipped` too when another node fired it.
    async fn fire_timer(&self, id: &TimerId, due_at: Timestamp, next_at: Timestamp, run: NewRun) -> StoreResult<Fired>;

    // ---- events of apps, uploads

    /// Sources with an active hook on one of these events of an app, or on all of the app's, each once.
    async fn app_hook_owners(&self, org: &OrgId, app: &str, event_names: &[String]) -> StoreResult<Vec<Owner>>;
    /// Begins a file; its size counts once it is whole.
    async fn create_upload(&self, upload: Upload) -> StoreResult<()>;
    /// Adds a part of a file; parts count from 0. `NotFound` where the file is gone.
    async fn add_upload_part(&self, id: &UploadId, position: i64, bytes: Vec<u8>) -> StoreResult<()>;
    /// Makes a file whole. `NotFound` where it is gone.
    async fn finish_upload(&self, id: &UploadId, size: i64) -> StoreResult<()>;
    /// A file.
    async fn upload(&self, id: &UploadId) -> StoreResult<Option<Upload>>;
    /// A part of a file.
    async fn upload_part(&self, id: &UploadId, position: i64) -> StoreResult<Option<Vec<u8>>>;
    /// Removes files whose time was over by `now`, at most `limit`. How many.
    async fn purge_uploads(&self, now: Timestamp, limit: u32) -> StoreResult<u64>;

    // ---- forms

    /// Keeps what a form was told last, and of its organization's forms the `most` that end last. One of that id of another organization stays as it is.
    async fn keep_form(&self, form: Form, most: u32) -> StoreResult<()>;
    /// A form of the organization; those that have ended are found too.
    async fn form(&self, org: &OrgId, id: &FormId) -> StoreResult<Option<Form>>;

    // ---- file stores

    /// Makes uploads the files of a store, all of them or none; what stood at their paths ends at `keep.replaced_until`.
    /// `NotFound` where one is gone, another organization's, or is a file of a store already; `Full` where there would be too many or too large ones.
    async fn keep_files(&self, keep: KeepFiles) -> StoreResult<()>;
    /// A file of a store, by its path.
    async fn stored_file(&self, org: &OrgId, store: &str, path: &str) -> StoreResult<Option<StoredFile>>;
    /// Files of a store in the order of their paths, after one.
    async fn stored_files(&self, org: &OrgId, store: &str, after: &str, limit: u32) -> StoreResult<Vec<StoredFile>>;
    /// The stores of an organization by name, with what they hold.
    async fn file_stores(&self, org: &OrgId) -> StoreResult<Vec<FileStore>>;
    /// Removes a file of a store, or all of them; their contents end at `until`. How many.
    async fn remove_files(&self, org: &OrgId, store: &str, path: Option<&str>, until: Timestamp) -> StoreResult<u64>;

    // ---- keys that secrets are sealed under

    /// All data keys, oldest first.
    async fn data_keys(&self) -> StoreResult<Vec<DataKey>>;
    /// Stores the first data key, unless there is one already; says whether it did.
    async fn add_first_data_key(&self, key: DataKey) -> StoreResult<bool>;
    /// Replaces the wrapping of all data keys, if all of them are under the master key `from`; else `StateChanged` and nothing changes.
    async fn rewrap_data_keys(&self, from: &str, keys: Vec<DataKey>) -> StoreResult<()>;
    /// The organization that was made first: its owner runs the server.
    async fn first_organization(&self) -> StoreResult<Option<OrgId>>;

    // ---- workflows

    /// Stores a workflow. `Taken("name_slug")`.
    async fn create_workflow(&self, workflow: Workflow) -> StoreResult<()>;
    /// Replaces the record (name, active, draft); with `interfaces`, all its interfaces.
    async fn update_workflow(&self, workflow: Workflow, interfaces: Option<Interfaces>) -> StoreResult<()>;
    /// Stores a deployment as the next version and makes it the live one, replaces interfaces and trigger subscriptions (`from_trigger`). Gives its version number.
    async fn deploy_workflow(&self, deployment: NewDeployment) -> StoreResult<i64>;
    /// Removes a workflow as [`Store::delete_source`] does.
    async fn delete_workflow(&self, org: &OrgId, id: &WorkflowId) -> StoreResult<()>;
    /// A workflow of the organization.
    async fn workflow(&self, org: &OrgId, id: &WorkflowId) -> StoreResult<Option<Workflow>>;
    /// The workflows, newest first. Cursor: id.
    async fn list_workflows(&self, org: &OrgId, page: &Page) -> StoreResult<Listing<Workflow>>;
    /// Slugs of workflows that are `base` or start with `base-`.
    async fn workflow_slugs(&self, org: &OrgId, base: &str) -> StoreResult<Vec<String>>;
    /// A deployment of the organization.
    async fn deployment(&self, org: &OrgId, id: &DeploymentId) -> StoreResult<Option<Deployment>>;
    /// Deployments of a workflow, newest first.
    async fn list_deployments(&self, org: &OrgId, id: &WorkflowId, page: &Page) -> StoreResult<Listing<Deployment>>;

    // ---- subscriptions

    /// Stores a subscription; the same (emitter, listener, event_name) again gives the one that exists.
    async fn subscribe(&self, subscription: Subscription) -> StoreResult<Subscription>;
    /// Removes a subscription; says whether there was one.
    async fn unsubscribe(&self, org: &OrgId, key: &SubscriptionKey) -> StoreResult<bool>;
    /// Makes webhooks and changes who listens, all or none.
    async fn change_listeners(&self, change: ListenerChange) -> StoreResult<()>;
    /// All subscriptions of the organization, newest first (at most 10,000).
    async fn list_subscriptions(&self, org: &OrgId) -> StoreResult<Vec<Subscription>>;
    /// A subscription by id.
    async fn subscription(&self, org: &OrgId, id: &SubscriptionId) -> StoreResult<Option<Subscription>>;
    /// Distinct listener ids, workflows, sources and webhooks that exist and are active, subscribed to any of `emitters` on `event_name`.
    async fn listeners(&self, org: &OrgId, emitters: &[&str], event_name: &str) -> StoreResult<Vec<String>>;

    /// Stores an auto-subscription; the same (listener, event_name) again gives the one that exists. Each workflow or source that is made later is
    /// subscribed in the transaction that makes it.
    async fn auto_subscribe(&self, subscription: AutoSubscription) -> StoreResult<AutoSubscription>;
    /// Removes an auto-subscription, not what was subscribed by it; says whether there was one.
    async fn delete_auto_subscription(&self, org: &OrgId, id: &AutoSubscriptionId) -> StoreResult<bool>;
    /// The auto-subscriptions, newest first (at most 10,000).
    async fn list_auto_subscriptions(&self, org: &OrgId) -> StoreResult<Vec<AutoSubscription>>;

    // ---- webhooks

    /// Stores a webhook.
    async fn create_webhook(&self, webhook: Webhook) -> StoreResult<()>;
    /// A webhook of the organization.
    async fn webhook(&self, org: &OrgId, id: &WebhookId) -> StoreResult<Option<Webhook>>;
    /// The webhooks, newest first. Cursor: id.
    async fn list_webhooks(&self, org: &OrgId, page: &Page) -> StoreResult<Listing<Webhook>>;
    /// Removes a webhook with its subscriptions; says whether there was one. Its deliveries stay until they are pruned, and none is sent.
    async fn delete_webhook(&self, org: &OrgId, id: &WebhookId) -> StoreResult<bool>;
    /// Active webhooks that are not paused and have deliveries due at `now`, the longest due first.
    async fn due_webhooks(&self, now: Timestamp, limit: u32) -> StoreResult<Vec<Webhook>>;
    /// Takes up to `limit` deliveries to a target that are due at `now`, the longest due, hiding them from others until `hidden_until`.
    async fn claim_webhook_deliveries(&self, target: &str, now: Timestamp, hidden_until: Timestamp, limit: u32) -> StoreResult<Vec<WebhookDelivery>>;
    /// Records how deliveries to a webhook ended, and what that says of its endpoint.
    async fn record_webhook_deliveries(&self, webhook: &WebhookId, tries: Vec<WebhookTry>, health: Health) -> StoreResult<()>;
    /// A delivery of the organization to a webhook.
    async fn webhook_delivery(&self, org: &OrgId, id: &WebhookDeliveryId) -> StoreResult<Option<WebhookDelivery>>;
    /// Deliveries to a target, newest first; with `status`, those in that state. Cursor: id.
    async fn list_webhook_deliveries(&self, org: &OrgId, target: &str, status: Option<DeliveryStatus>, page: &Page) -> StoreResult<Listing<WebhookDelivery>>;
    /// Queues deliveries again that are at their end. How many.
    async fn replay_webhook_deliveries(&self, replay: WebhookReplay) -> StoreResult<u64>;
    /// Marks up to `limit` queued deliveries as failed whose time was over before `now`; `error` stands where none was tried. How many.
    async fn expire_webhook_deliveries(&self, now: Timestamp, limit: u32, error: &str) -> StoreResult<u64>;

    // ---- the verbs

    /// Makes an event durable as a run.
    async fn accept(&self, run: NewRun, node: &str) -> StoreResult<()>;
    /// Makes an event durable as a queued run, unless `queue_max` of its owner's wait already: `QueueFull`. `node`: who should run it as long as it
    /// lives, because somebody waits there for what it answers.
    async fn accept_queued(&self, run: NewRun, queue_max: u32, node: Option<&str>) -> StoreResult<()>;
    /// Gives up to `limit` queued runs to `node` under a lease, oldest first; also those whose lease ran out (their attempt counts up). Fenced by the attempt returned. Of an owner with limits no more than these leave room for, however many nodes claim.
    async fn claim(&self, claim: Claim<'_>) -> StoreResult<Vec<Run>>;
    /// Extends the leases of runs this node still holds; gives the ids it no longer holds.
    async fn renew(&self, held: &[(RunId, i64)], lease_until: Timestamp) -> StoreResult<Vec<RunId>>;
    /// Gives a run back to the queue, unsettled; with `count_attempt == false` its attempt is not counted. `Fenced`.
    async fn release(&self, id: &RunId, attempt: i64, count_attempt: bool) -> StoreResult<()>;
    /// Everything a run leaves, in one transaction, fenced by (run, attempt). `Fenced`, `StateChanged`.
    async fn settle(&self, settlement: Settlement) -> StoreResult<()>;
    /// What the deploy and activate hooks of a source (no run of the queue) leave.
    async fn settle_effects(&self, effects: Effects) -> StoreResult<()>;
    /// At start on a database of one node: gives all running runs back to the queue, and makes due what was taken to be sent and never tried. How many runs.
    async fn requeue_running(&self, node: Option<&str>) -> StoreResult<u64>;
    /// Keeps what the finished steps of a run under way left, so that its next attempt begins behind them. `Fenced`.
    async fn keep_progress(&self, id: &RunId, attempt: i64, result: &str) -> StoreResult<()>;
    /// Cancels a run that is queued or paused; gives the status it had, in any case.
    async fn cancel_run(&self, org: &OrgId, id: &RunId, now: Timestamp) -> StoreResult<Option<RunStatus>>;
    /// Runs that are queued or running.
    async fn unfinished_runs(&self) -> StoreResult<u64>;

    // ---- pauses

    /// Ends an attempt with a pause and what it left, in one transaction. A request that came before (see [`Store::call_back`]) ends the
    /// pause at once; the status says what became of the run: paused, queued or cancelled. `Fenced`.
    async fn pause_run(&self, pausing: Pausing) -> StoreResult<RunStatus>;
    /// Ends up to `limit` pauses whose time has come, the longest due first.
    async fn wake_runs(&self, now: Timestamp, limit: u32) -> StoreResult<Woken>;
    /// When the next pause ends by itself.
    async fn next_wake_at(&self) -> StoreResult<Option<Timestamp>>;
    /// A request to resume or cancel the pause of an attempt: ends it, or is kept where that attempt has not ended. One for each attempt.
    async fn call_back(&self, callback: Callback) -> StoreResult<CalledBack>;
    /// The last pause of a run.
    async fn last_pause(&self, id: &RunId) -> StoreResult<Option<Pause>>;

    // ---- history

    /// A run of the organization.
    async fn run(&self, org: &OrgId, id: &RunId) -> StoreResult<Option<Run>>;
    /// Runs of a workflow or source, newest first. Cursor: id.
    async fn list_runs(&self, org: &OrgId, owner: &str, filter: &RunFilter, page: &Page) -> StoreResult<Listing<Run>>;
    /// Logs of a run, in order.
    async fn run_logs(&self, id: &RunId) -> StoreResult<Vec<LogLine>>;
    /// The newest `limit` log lines of a workflow or source, oldest of them first, with their runs.
    async fn owner_logs(&self, org: &OrgId, owner: &str, limit: u32) -> StoreResult<Vec<(RunId, LogLine)>>;
    /// The newest events of a stream within the page, newest first; `total_count` is at most 100 (spec 2.5), but of `$in`. `name` None: all streams but `$errors` and `$in`.
    async fn list_events(&self, org: &OrgId, emitter: &str, name: Option<&str>, page: &Page) -> StoreResult<Listing<Event>>;
    /// Events after `after`, oldest first, at most `limit`: for streams that resume.
    async fn events_after(&self, org: &OrgId, emitter: &str, after: EventId, limit: u32) -> StoreResult<Vec<Event>>;
    /// Deferred events (stream `$in`) whose `delivery_ts` is no later than `now`, the longest due first. [`Effects::deferred`] takes one out.
    async fn due_deferred(&self, now: Timestamp, limit: u32) -> StoreResult<Vec<Event>>;
    /// When the next deferred event is due.
    async fn next_deferred_at(&self) -> StoreResult<Option<Timestamp>>;
    /// Removes events in the inclusive range; without `name` those of all streams but `$in`. How many.
    async fn delete_events(&self, org: &OrgId, emitter: &str, name: Option<&str>, range: (Option<EventId>, Option<EventId>)) -> StoreResult<u64>;
    /// Up to `limit` ids after `after`, in their order, of all that has runs, logs or events; also of what was deleted since.
    async fn history_owners(&self, after: &str, limit: u32) -> StoreResult<Vec<String>>;
    /// Removes settled runs of an owner with all that is theirs, logs without a run, and events, the oldest first. How many in all; events
    /// whose delivery is deferred stay.
    async fn prune(&self, pruning: Pruning) -> StoreResult<u64>;
    /// Removes what is nobody's history. How many in all.
    async fn prune_leftovers(&self, leftovers: Leftovers) -> StoreResult<u64>;
    /// How much history of an owner is kept, where that was set.
    async fn retention(&self, owner: &str) -> StoreResult<Option<Retention>>;
    /// Sets how much history of an owner is kept; none: as the server says.
    async fn put_retention(&self, org: &OrgId, owner: &str, retention: Option<Retention>) -> StoreResult<()>;
    /// Hands over the organization's history as it is at one moment: runs, logs and events, owner by owner, each the oldest first. Ends early
    /// where nobody takes it any more. `Overloaded` where others are at it.
    async fn export(&self, org: &OrgId, filter: ExportFilter, out: tokio::sync::mpsc::Sender<Exported>) -> StoreResult<()>;

    // ---- audit

    /// Keeps a record, or completes it: target, fields, and whether it was done.
    async fn record_audit(&self, record: AuditRecord) -> StoreResult<()>;
    /// Takes a record away: nothing was changed.
    async fn forget_audit(&self, org: &OrgId, id: &AuditId) -> StoreResult<()>;
    /// The organization's records, newest first. Cursor: id.
    async fn list_audit(&self, org: &OrgId, page: &Page) -> StoreResult<Listing<AuditRecord>>;

    // ---- OAuth clients

    /// Stores a client.
    async fn create_oauth_client(&self, client: OauthClient) -> StoreResult<()>;
    /// A client of any organization: it shows its secret.
    async fn oauth_client(&self, id: &OauthClientId) -> StoreResult<Option<OauthClient>>;
    /// The clients, newest first. Cursor: id.
    async fn list_oauth_clients(&self, org: &OrgId, page: &Page) -> StoreResult<Listing<OauthClient>>;
    /// Removes a client with its tokens; says whether there was one.
    async fn delete_oauth_client(&self, org: &OrgId, id: &OauthClientId) -> StoreResult<bool>;
    /// Stores a token.
    async fn put_oauth_token(&self, token: OauthToken) -> StoreResult<()>;
    /// Whose token it is; the hash is SHA-256 in hex. Tokens that have ended are found too.
    async fn caller_by_token_hash(&self, token_hash: &str) -> StoreResult<Option<Caller>>;
    /// Removes a token of a client; says whether there was one.
    async fn delete_oauth_token(&self, client: &OauthClientId, token_hash: &str) -> StoreResult<bool>;

    // ---- errors and replays

    /// The groups of errors of an owner, or of all, the last seen first. Cursor: id.
    async fn list_error_groups(&self, org: &OrgId, owner: Option<&str>, page: &Page) -> StoreResult<Listing<ErrorGroup>>;
    /// A group of the organization.
    async fn error_group(&self, org: &OrgId, id: &ErrorGroupId) -> StoreResult<Option<ErrorGroup>>;
    /// Failed runs that fit; none that are replays themselves, and none of which a replay succeeded.
    async fn failed_runs(&self, which: &FailedRuns) -> StoreResult<Vec<Run>>;
    /// How many of them there are, counted up to `limit`.
    async fn count_failed_runs(&self, which: &FailedRuns) -> StoreResult<u64>;
    /// Stores a replay.
    async fn create_replay(&self, replay: Replay) -> StoreResult<()>;
    /// A replay of the organization.
    async fn replay(&self, org: &OrgId, id: &ReplayId) -> StoreResult<Option<Replay>>;
    /// The replays, newest first. Cursor: id.
    async fn list_replays(&self, org: &OrgId, page: &Page) -> StoreResult<Listing<Replay>>;
    /// Replays that are running, the oldest first.
    async fn running_replays(&self, limit: u32) -> StoreResult<Vec<Replay>>;
    /// Changes a replay and queues runs. `StateChanged` where another change came first; nothing is written then.
    async fn step_replay(&self, step: ReplayStep) -> StoreResult<()>;
    /// What became of the runs that a replay made.
    async fn replay_counts(&self, id: &ReplayId) -> StoreResult<ReplayCounts>;
    /// Runs that a replay made and that are queued or running.
    async fn replay_under_way(&self, id: &ReplayId) -> StoreResult<u64>;
    /// The runs that a replay made, in the order of those that they replay. Cursor: the id of the run replayed.
    async fn replayed_runs(&self, id: &ReplayId, page: &Page) -> StoreResult<Listing<ReplayedRun>>;

    // ---- apps and accounts

    /// Registers an app, or replaces the one of that slug in the organization.
    async fn put_app(&self, app: App) -> StoreResult<()>;
    /// An app that the organization registered, by slug.
    async fn app(&self, org: &OrgId, slug: &str) -> StoreResult<Option<App>>;
    /// The apps that the organization registered, by slug (at most 10,000).
    async fn list_apps(&self, org: &OrgId) -> StoreResult<Vec<App>>;
    /// Stores an account.
    async fn create_account(&self, account: Account) -> StoreResult<()>;
    /// Replaces an account whose version is one less; `StateChanged` where another change came first, or it is gone.
    async fn update_account(&self, account: Account) -> StoreResult<()>;
    /// Removes an account; says whether there was one.
    async fn delete_account(&self, org: &OrgId, id: &AccountId) -> StoreResult<bool>;
    /// An account of the organization.
    async fn account(&self, org: &OrgId, id: &AccountId) -> StoreResult<Option<Account>>;
    /// The accounts, newest first; with `app`, those of that slug. Cursor: id.
    async fn list_accounts(&self, org: &OrgId, app: Option<&str>, page: &Page) -> StoreResult<Listing<Account>>;

    // ---- data stores

    /// Stores a data store; its counts start at 0. `Taken("name")`.
    async fn create_data_store(&self, store: DataStore) -> StoreResult<()>;
    /// Renames a data store. `NotFound`, `Taken("name")`.
    async fn rename_data_store(&self, org: &OrgId, id: &DataStoreId, name: &str, now: Timestamp) -> StoreResult<()>;
    /// Removes a data store with all it holds; says whether there was one.
    async fn delete_data_store(&self, org: &OrgId, id: &DataStoreId) -> StoreResult<bool>;
    /// A data store of the organization.
    async fn data_store(&self, org: &OrgId, id: &DataStoreId) -> StoreResult<Option<DataStore>>;
    /// The data store of that name.
    async fn data_store_by_name(&self, org: &OrgId, name: &str) -> StoreResult<Option<DataStore>>;
    /// The data stores, newest first. Cursor: id.
    async fn list_data_stores(&self, org: &OrgId, page: &Page) -> StoreResult<Listing<DataStore>>;
    /// The entry of a key that has not ended by `now`.
    async fn data_store_entry(&self, id: &DataStoreId, key: &str, now: Timestamp) -> StoreResult<Option<DataStoreEntry>>;
    /// Writes a value. What has ended makes room where there is none. `NotFound` where the store is gone, `Full`.
    async fn data_store_set(&self, write: DataStoreWrite) -> StoreResult<()>;
    /// Gives a key another end, or none; says whether it was there.
    async fn data_store_expire(&self, id: &DataStoreId, key: &str, expires_at: Option<Timestamp>, now: Timestamp) -> StoreResult<bool>;
    /// Removes a key; says whether it was there, ended or not.
    async fn data_store_delete(&self, id: &DataStoreId, key: &str) -> StoreResult<bool>;
    /// Removes all keys.
    async fn data_store_clear(&self, id: &DataStoreId) -> StoreResult<()>;
    /// Keys that have not ended by `now`.
    async fn data_store_size(&self, id: &DataStoreId, now: Timestamp) -> StoreResult<u64>;
    /// A page of keys.
    async fn data_store_keys(&self, id: &DataStoreId, page: DataStorePage) -> StoreResult<Vec<String>>;
    /// A page of entries; it ends early, but not before its first, where it would hold more than `bytes_max` of values.
    async fn data_store_entries(&self, id: &DataStoreId, page: DataStorePage, bytes_max: usize) -> StoreResult<Vec<DataStoreEntry>>;
    /// Removes entries that have ended by `now`, at most `limit`. How many.
    async fn purge_data_stores(&self, now: Timestamp, limit: u32) -> StoreResult<u64>;

    // ---- deliveries

    /// Takes up to `limit` deliveries due at `now`, hiding them from others until `retry_at`. Of a run, one is first tried after all before it were.
    async fn claim_deliveries(&self, now: Timestamp, retry_at: Timestamp, limit: u32) -> StoreResult<Vec<Delivery>>;
    /// Records a try. One that is over stays as it is.
    async fn delivery_result(&self, id: &DeliveryId, result: DeliveryResult) -> StoreResult<()>;
    /// What a run sent, in order.
    async fn run_deliveries(&self, run: &RunId) -> StoreResult<Vec<Delivery>>;

    // ---- mail

    /// Puts a mail into the outbox; the same id again is no change.
    async fn queue_mail(&self, mail: Mail) -> StoreResult<()>;

    /// Takes up to `limit` mails due at `now`, hiding them from others until `retry_at`.
    async fn claim_mail(&self, now: Timestamp, retry_at: Timestamp, limit: u32) -> StoreResult<Vec<Mail>>;
    /// Marks a mail sent, or failed for good, or to be tried again.
    async fn mail_result(&self, id: &MailId, result: MailResult) -> StoreResult<()>;
    /// Mails of the organization, newest first. Cursor: id.
    async fn list_mail(&self, org: &OrgId, page: &Page) -> StoreResult<Listing<Mail>>;

    // ---- servers that share the database; by default there is one

    /// What other servers change and tell, from now on. The receiver ends where the database can no longer be heard: then nothing is true any more
    /// that was read before. `None` where no other server can use this database.
    async fn listen(&self) -> StoreResult<Option<tokio::sync::mpsc::Receiver<Heard>>> {
        Ok(None)
    }
    /// Tells the servers that listen.
    async fn tell(&self, _node: &str, _news: &[News]) -> StoreResult<()> {
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
    /// How many settlements wrote to the source's `$.service.db`; always 0 where no other server can.
    async fn source_writes(&self, _id: &SourceId) -> StoreResult<i64> {
        Ok(0)
    }
    /// Takes the seat of a source: whether it is the node's from now on, or was before. It is another's as long as that one has not left it and is there.
    async fn take_seat(&self, _id: &SourceId, _node: &str) -> StoreResult<bool> {
        Ok(true)
    }
    /// Leaves the seat of a source, where the node has it.
    async fn leave_seat(&self, _id: &SourceId, _node: &str) -> StoreResult<()> {
        Ok(())
    }
    /// Takes an account of that version to refresh its token; false where another server has, until a time that is not over by `now`, or where
    /// the account is another by now. [`Store::update_account`] ends it.
    async fn claim_refresh(&self, _id: &AccountId, _version: i64, _now: Timestamp, _until: Timestamp) -> StoreResult<bool> {
        Ok(true)
    }
    /// Ends what [`Store::claim_refresh`] began, where no token came of it.
    async fn release_refresh(&self, _id: &AccountId, _version: i64) -> StoreResult<()> {
        Ok(())
    }

    /// Writes out what waits and closes; later calls give `Closed`.
    async fn close(&self);
    /// Whether a small read works; where the last write failed, also whether a small write does.
    async fn ping(&self) -> StoreResult<()>;
    /// How writes fare.
    fn condition(&self) -> Condition;
    /// Whether this database serves one node only (SQLite).
    fn single_node(&self) -> bool;
}

#[doc(hidden)]
pub use millrace_model as model;

/// Whether a status filter fits, for engines that filter in SQL by its text.
pub fn status_text(status: Option<RunStatus>) -> Option<&'static str> {
    status.map(RunStatus::as_str)
}
