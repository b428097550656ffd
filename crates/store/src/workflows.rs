//! Workflows and subscriptions.

use async_trait::async_trait;
use millrace_model::clock::Timestamp;
use millrace_model::ids::{AutoSubscriptionId, DeploymentId, OrgId, SubscriptionId, WorkflowId};
use millrace_model::limits::RunLimits;
use millrace_model::page::{Listing, Page};
use millrace_model::subscription::{
    AutoSubscription, ListedSubscription, Subscription, SubscriptionFilter,
};
use millrace_model::webhook::Webhook;
use millrace_model::workflow::{Deployment, Workflow};

use crate::{Interfaces, StoreResult};

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

/// Workflows, and who listens to what.
#[async_trait]
pub trait Workflows: Send + Sync + 'static {
    /// Stores a workflow. `Taken("name_slug")`; `Taken("made_from")` where another workflow of the
    /// organization bears a mark of the same file.
    async fn create_workflow(&self, workflow: Workflow) -> StoreResult<()>;
    /// Replaces the record (name, active, draft); with `interfaces`, all its interfaces. A draft
    /// that differs is the next revision, by the author and at the time that `drafted` has. `over`:
    /// `updated_at` of the record that was read and is replaced; `StateChanged` where the stored
    /// one is another. Each change and deployment makes it later, if only by a millisecond.
    async fn update_workflow(
        &self,
        workflow: Workflow,
        over: Timestamp,
        interfaces: Option<Interfaces>,
    ) -> StoreResult<()>;
    /// Stores a deployment as the next version and makes it the live one, replaces interfaces and
    /// trigger subscriptions (`from_trigger`). Gives its version number.
    async fn deploy_workflow(&self, deployment: NewDeployment) -> StoreResult<i64>;
    /// Removes a workflow as [`Sources::delete_source`](crate::Sources::delete_source) does.
    async fn delete_workflow(&self, org: &OrgId, id: &WorkflowId) -> StoreResult<()>;
    /// A workflow of the organization.
    async fn workflow(&self, org: &OrgId, id: &WorkflowId) -> StoreResult<Option<Workflow>>;
    /// The workflows, newest first; with `tag`, those that carry it. Cursor: id.
    async fn list_workflows(
        &self,
        org: &OrgId,
        tag: Option<&str>,
        page: &Page,
    ) -> StoreResult<Listing<Workflow>>;
    /// Slugs of workflows that are `base` or start with `base-`.
    async fn workflow_slugs(&self, org: &OrgId, base: &str) -> StoreResult<Vec<String>>;
    /// A deployment of the organization.
    async fn deployment(&self, org: &OrgId, id: &DeploymentId) -> StoreResult<Option<Deployment>>;
    /// Deployments of a workflow, newest first.
    async fn list_deployments(
        &self,
        org: &OrgId,
        id: &WorkflowId,
        page: &Page,
    ) -> StoreResult<Listing<Deployment>>;
    /// Whether the content of a workflow's deployments has a text, such as the id of a trigger or
    /// step.
    async fn was_deployed_with(
        &self,
        org: &OrgId,
        id: &WorkflowId,
        text: &str,
    ) -> StoreResult<bool>;

    /// Stores a subscription; the same (emitter, listener, event_name) again gives the one that
    /// exists.
    async fn subscribe(&self, subscription: Subscription) -> StoreResult<Subscription>;
    /// Removes a subscription; says whether there was one.
    async fn unsubscribe(&self, org: &OrgId, key: &SubscriptionKey) -> StoreResult<bool>;
    /// Makes webhooks and changes who listens, all or none.
    async fn change_listeners(&self, change: ListenerChange) -> StoreResult<()>;
    /// Subscriptions of the organization that fit, newest first (at most 10,000).
    async fn list_subscriptions(
        &self,
        org: &OrgId,
        of: &SubscriptionFilter,
    ) -> StoreResult<Vec<Subscription>>;
    /// A page of them with names, newest first. Cursor: id.
    async fn page_of_subscriptions(
        &self,
        org: &OrgId,
        of: &SubscriptionFilter,
        page: &Page,
    ) -> StoreResult<Listing<ListedSubscription>>;
    /// A subscription by id.
    async fn subscription(
        &self,
        org: &OrgId,
        id: &SubscriptionId,
    ) -> StoreResult<Option<Subscription>>;
    /// Distinct listener ids, workflows, sources and webhooks that exist and are active, subscribed
    /// to any of `emitters` on `event_name`.
    async fn listeners(
        &self,
        org: &OrgId,
        emitters: &[&str],
        event_name: &str,
    ) -> StoreResult<Vec<String>>;
    /// Stores an auto-subscription; the same (listener, event_name) again gives the one that
    /// exists. Each workflow or source that is made later is subscribed in the transaction that
    /// makes it.
    async fn auto_subscribe(&self, subscription: AutoSubscription)
    -> StoreResult<AutoSubscription>;
    /// Removes an auto-subscription, not what was subscribed by it; says whether there was one.
    async fn delete_auto_subscription(
        &self,
        org: &OrgId,
        id: &AutoSubscriptionId,
    ) -> StoreResult<bool>;
    /// The auto-subscriptions, newest first (at most 10,000).
    async fn list_auto_subscriptions(&self, org: &OrgId) -> StoreResult<Vec<AutoSubscription>>;
}
