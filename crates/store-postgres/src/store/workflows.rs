//! Workflows and subscriptions.

use async_trait::async_trait;
use millrace_model::clock::Timestamp;
use millrace_model::ids::{AutoSubscriptionId, DeploymentId, OrgId, SubscriptionId, WorkflowId};
use millrace_model::page::{Listing, Page};
use millrace_model::subscription::{
    AutoSubscription, ListedSubscription, Subscription, SubscriptionFilter,
};
use millrace_model::workflow::{Deployment, Workflow};
use millrace_store::{
    Interfaces, ListenerChange, NewDeployment, StoreResult, SubscriptionKey, Workflows,
};

use crate::db::{database, text, transaction, unwritable};
use crate::rows::{Table, list, many, one};
use crate::{PostgresStore, rows, subscriptions, workflows};

#[async_trait]
impl Workflows for PostgresStore {
    async fn create_workflow(&self, workflow: Workflow) -> StoreResult<()> {
        transaction!(self.db, |t| workflows::create(&t, &workflow))
    }
    async fn update_workflow(
        &self,
        workflow: Workflow,
        over: Timestamp,
        interfaces: Option<Interfaces>,
    ) -> StoreResult<()> {
        transaction!(self.db, |t| workflows::update(&t, &workflow, over, interfaces.as_ref()))
    }
    async fn deploy_workflow(&self, deployment: NewDeployment) -> StoreResult<i64> {
        transaction!(self.db, "deploy", |t| workflows::deploy(&t, &deployment))
    }
    async fn delete_workflow(&self, org: &OrgId, id: &WorkflowId) -> StoreResult<()> {
        transaction!(self.db, "delete", |t| workflows::delete(&t, org, id))
    }
    async fn workflow(&self, org: &OrgId, id: &WorkflowId) -> StoreResult<Option<Workflow>> {
        by_id!(self, "workflows", rows::WORKFLOW, org, id, rows::workflow)
    }
    async fn list_workflows(
        &self,
        org: &OrgId,
        tag: Option<&str>,
        page: &Page,
    ) -> StoreResult<Listing<Workflow>> {
        // No tag has a comma, so that the text of one stands in the text of all only where it is
        // one of them.
        let table = Table {
            name: "workflows",
            columns: rows::WORKFLOW,
            filter: "org_id = $1 AND ($2::text IS NULL OR strpos(tags, $2) > 0)",
        };
        let tag =
            tag.map(|tag| serde_json::to_string(&text(tag))).transpose().map_err(unwritable)?;
        list(&self.db.client().await?, &table, &[&org.as_str(), &tag], page, rows::workflow).await
    }
    async fn workflow_slugs(&self, org: &OrgId, base: &str) -> StoreResult<Vec<String>> {
        slugs!(self, "workflows", org, base)
    }
    async fn deployment(&self, org: &OrgId, id: &DeploymentId) -> StoreResult<Option<Deployment>> {
        by_id!(self, "deployments", rows::DEPLOYMENT, org, id, rows::deployment)
    }
    async fn list_deployments(
        &self,
        org: &OrgId,
        id: &WorkflowId,
        page: &Page,
    ) -> StoreResult<Listing<Deployment>> {
        let table = Table {
            name: "deployments",
            columns: rows::DEPLOYMENT,
            filter: "org_id = $1 AND workflow_id = $2",
        };
        list(
            &self.db.client().await?,
            &table,
            &[&org.as_str(), &id.as_str()],
            page,
            rows::deployment,
        )
        .await
    }
    async fn was_deployed_with(
        &self,
        org: &OrgId,
        id: &WorkflowId,
        text: &str,
    ) -> StoreResult<bool> {
        let sql = "SELECT count(*) FROM (SELECT 1 FROM deployments WHERE org_id = $1 AND workflow_id = $2 AND strpos(content, $3) > 0 LIMIT 1) AS found";
        let text = serde_json::Value::from(text).to_string();
        Ok(rows::number(&self.db.client().await?, sql, &[&org.as_str(), &id.as_str(), &text])
            .await?
            != 0)
    }

    async fn subscribe(&self, subscription: Subscription) -> StoreResult<Subscription> {
        transaction!(self.db, |t| subscriptions::subscribe(&t, &subscription))
    }
    async fn unsubscribe(&self, org: &OrgId, key: &SubscriptionKey) -> StoreResult<bool> {
        subscriptions::unsubscribe(&self.db.client().await?, org, key).await
    }
    async fn change_listeners(&self, change: ListenerChange) -> StoreResult<()> {
        transaction!(self.db, |t| subscriptions::change(&t, &change))
    }
    async fn list_subscriptions(
        &self,
        org: &OrgId,
        of: &SubscriptionFilter,
    ) -> StoreResult<Vec<Subscription>> {
        subscriptions::all(&self.db.client().await?, org, of).await
    }
    async fn page_of_subscriptions(
        &self,
        org: &OrgId,
        of: &SubscriptionFilter,
        page: &Page,
    ) -> StoreResult<Listing<ListedSubscription>> {
        subscriptions::page(&self.db.client().await?, org, of, page).await
    }
    async fn subscription(
        &self,
        org: &OrgId,
        id: &SubscriptionId,
    ) -> StoreResult<Option<Subscription>> {
        by_id!(self, "subscriptions", rows::SUBSCRIPTION, org, id, rows::subscription)
    }
    async fn listeners(
        &self,
        org: &OrgId,
        emitters: &[&str],
        event_name: &str,
    ) -> StoreResult<Vec<String>> {
        subscriptions::listeners(&self.db.client().await?, org, emitters, event_name).await
    }

    async fn auto_subscribe(
        &self,
        subscription: AutoSubscription,
    ) -> StoreResult<AutoSubscription> {
        subscriptions::auto_subscribe(&self.db.client().await?, &subscription).await
    }
    async fn delete_auto_subscription(
        &self,
        org: &OrgId,
        id: &AutoSubscriptionId,
    ) -> StoreResult<bool> {
        let sql = "DELETE FROM auto_subscriptions WHERE id = $1 AND org_id = $2";
        Ok(rows::execute(&self.db.client().await?, sql, &[&id.as_str(), &org.as_str()]).await? > 0)
    }
    async fn list_auto_subscriptions(&self, org: &OrgId) -> StoreResult<Vec<AutoSubscription>> {
        let sql = format!(
            "SELECT {} FROM auto_subscriptions WHERE org_id = $1 ORDER BY created_at DESC, id DESC LIMIT 10000",
            rows::AUTO_SUBSCRIPTION
        );
        many(&self.db.client().await?, &sql, &[&org.as_str()], rows::auto_subscription).await
    }
}
