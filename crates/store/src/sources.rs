//! Sources and interfaces.

use std::collections::HashMap;

use async_trait::async_trait;
use millrace_model::clock::Timestamp;
use millrace_model::domain::EndpointDomain;
use millrace_model::form::Form;
use millrace_model::ids::{DeploymentId, FormId, HttpInterfaceId, OrgId, SourceId, TimerId};
use millrace_model::page::{Listing, Page};
use millrace_model::run::NewRun;
use millrace_model::source::{AppHook, HttpInterface, Owner, Source, SourceDeployment, Timer};

use crate::StoreResult;

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

/// A moment among the writes of a database, as its engine writes it.
#[derive(Clone, Debug, Default)]
pub struct ClockMark(pub String);

/// Sources, the interfaces of sources and workflows, and forms that are being filled in.
#[async_trait]
pub trait Sources: Send + Sync + 'static {
    /// Stores a source with its interfaces and limits. `Taken("name_slug")`; `Taken("made_from")`
    /// where another source of the organization bears a mark of the same file.
    async fn create_source(&self, source: Source, interfaces: Interfaces) -> StoreResult<()>;
    /// Replaces a source's record, its limits and all its interfaces.
    async fn update_source(&self, source: Source, interfaces: Interfaces) -> StoreResult<()>;
    /// The same, and stores a deployment of it as the next version. Gives its version number.
    async fn deploy_source(
        &self,
        source: Source,
        interfaces: Interfaces,
        deployment: SourceDeployment,
    ) -> StoreResult<i64>;
    /// A deployment of a source of the organization.
    async fn source_deployment(
        &self,
        org: &OrgId,
        id: &DeploymentId,
    ) -> StoreResult<Option<SourceDeployment>>;
    /// Deployments of a source, newest first. Cursor: id.
    async fn list_source_deployments(
        &self,
        org: &OrgId,
        id: &SourceId,
        page: &Page,
    ) -> StoreResult<Listing<SourceDeployment>>;
    /// Removes a source, its deployments, its interfaces, its subscriptions (as emitter and
    /// listener, auto-subscriptions too), state and db; queued runs of it become cancelled, where
    /// they are many in steps before it goes. Events and runs stay as history.
    async fn delete_source(&self, org: &OrgId, id: &SourceId) -> StoreResult<()>;
    /// A source of the organization.
    async fn source(&self, org: &OrgId, id: &SourceId) -> StoreResult<Option<Source>>;
    /// The sources, newest first; with `external_user`, those that carry it. Cursor: id.
    async fn list_sources(
        &self,
        org: &OrgId,
        external_user: Option<&str>,
        page: &Page,
    ) -> StoreResult<Listing<Source>>;
    /// Slugs of sources that are `base` or start with `base-`.
    async fn source_slugs(&self, org: &OrgId, base: &str) -> StoreResult<Vec<String>>;
    /// The interfaces of a source or workflow (its id as text).
    async fn interfaces(&self, owner: &str) -> StoreResult<Interfaces>;
    /// The interfaces of several, read at once; an owner whose interfaces cannot be read is
    /// missing.
    async fn interfaces_of(&self, owners: &[&str]) -> StoreResult<HashMap<String, Interfaces>>;
    /// What the source remembers, with the version that settling checks.
    async fn source_state(&self, id: &SourceId) -> StoreResult<SourceState>;
    /// The source's `$.service.db`: keys and JSON texts.
    async fn source_db(&self, id: &SourceId) -> StoreResult<Vec<(String, String)>>;

    /// The endpoint with that key, active or not.
    async fn endpoint(&self, key: &str) -> StoreResult<Option<HttpInterface>>;
    /// An endpoint of the organization.
    async fn http_interface(
        &self,
        org: &OrgId,
        id: &HttpInterfaceId,
    ) -> StoreResult<Option<HttpInterface>>;
    /// Attaches a domain to an endpoint. `Taken("id")`. It goes with the source or workflow that
    /// the endpoint is of.
    async fn create_endpoint_domain(&self, domain: EndpointDomain) -> StoreResult<()>;
    /// The organization's domains, newest first. Cursor: the domain.
    async fn list_endpoint_domains(
        &self,
        org: &OrgId,
        page: &Page,
    ) -> StoreResult<Listing<EndpointDomain>>;
    /// Removes a domain; says whether there was one.
    async fn delete_endpoint_domain(&self, org: &OrgId, domain: &str) -> StoreResult<bool>;
    /// All domains with the keys of their endpoints (at most 100,000).
    async fn endpoint_domains(&self) -> StoreResult<Vec<(String, String)>>;
    /// Active timers due at `now`, the longest due first.
    async fn due_timers(&self, now: Timestamp, limit: u32) -> StoreResult<Vec<Timer>>;
    /// Active timers of a later time than `after`, the latest first.
    async fn late_timers(&self, after: Timestamp, limit: u32) -> StoreResult<Vec<Timer>>;
    /// Moves the next tick of a timer, where it still is at `from`; nothing fires. Says whether it
    /// did.
    async fn move_timer(&self, id: &TimerId, from: Timestamp, to: Timestamp) -> StoreResult<bool>;
    /// Moves whatever else waits for a later time than `now` by so much towards it: ends of pauses,
    /// next tries of mails and deliveries; with a mark, what was written before it. An engine with
    /// one node knows at once that no other shares the database, and needs no marks.
    async fn clock_went_back(
        &self,
        now: Timestamp,
        by_ms: i64,
        before: Option<&ClockMark>,
    ) -> StoreResult<()>;
    /// A moment among the writes.
    async fn clock_mark(&self) -> StoreResult<ClockMark> {
        Ok(ClockMark::default())
    }
    /// When the next active timer is due.
    async fn next_timer_at(&self) -> StoreResult<Option<Timestamp>>;
    /// Counts a tick as fired: moves `next_at` from `due_at` to `next_at` and accepts the run; a
    /// tick whose owner has an unfinished run of the same timer moves on without one (reference 3:
    /// no overlap). `Skipped` too when another node fired it.
    async fn fire_timer(
        &self,
        id: &TimerId,
        due_at: Timestamp,
        next_at: Timestamp,
        run: NewRun,
    ) -> StoreResult<Fired>;

    /// Sources with an active hook on one of these events of an app, or on all of the app's, each
    /// once.
    async fn app_hook_owners(
        &self,
        org: &OrgId,
        app: &str,
        event_names: &[String],
    ) -> StoreResult<Vec<Owner>>;

    /// Keeps what a form was told last, and of its organization's forms the `most` that end last.
    /// One of that id of another organization stays as it is.
    async fn keep_form(&self, form: Form, most: u32) -> StoreResult<()>;
    /// A form of the organization; those that have ended are found too.
    async fn form(&self, org: &OrgId, id: &FormId) -> StoreResult<Option<Form>>;
}
