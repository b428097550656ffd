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
    Interfaces, ListenerChange, NewDeployment, StoreResult, SubscriptionKey, Workflows, fail_point,
};

use crate::rows::{list, many, one};
use crate::store::json;
use crate::{SqliteStore, rows, subscriptions, workflows};

#[async_trait]
impl Workflows for SqliteStore {
    async fn create_workflow(&self, workflow: Workflow) -> StoreResult<()> {
        self.db.write(move |c| workflows::create(c, &workflow)).await
    }
    async fn update_workflow(
        &self,
        workflow: Workflow,
        over: Timestamp,
        interfaces: Option<Interfaces>,
    ) -> StoreResult<()> {
        self.db.write(move |c| workflows::update(c, &workflow, over, interfaces.as_ref())).await
    }
    async fn deploy_workflow(&self, deployment: NewDeployment) -> StoreResult<i64> {
        write_at!(self, "deploy", |c| workflows::deploy(c, &deployment))
    }
    async fn delete_workflow(&self, org: &OrgId, id: &WorkflowId) -> StoreResult<()> {
        self.cancel_in_steps(org, id.as_str()).await?;
        let (org, id) = (org.clone(), id.clone());
        write_at!(self, "delete", |c| workflows::delete(c, &org, &id))
    }
    async fn workflow(&self, org: &OrgId, id: &WorkflowId) -> StoreResult<Option<Workflow>> {
        let (sql, of) = (
            format!("SELECT {} FROM workflows WHERE id = ?1 AND org_id = ?2", rows::WORKFLOW),
            [id.to_string(), org.to_string()],
        );
        self.db.read(move |c| one(c, &sql, of, rows::workflow)).await
    }
    async fn list_workflows(
        &self,
        org: &OrgId,
        tag: Option<&str>,
        page: &Page,
    ) -> StoreResult<Listing<Workflow>> {
        let (org, tag, page) = (
            org.to_string(),
            tag.map(|tag| json(&tag)).transpose()?.unwrap_or_default(),
            page.clone(),
        );
        // No tag has a comma, so that the text of one stands in the text of all only where it is
        // one of them.
        self.db
            .read(move |c| {
                list(
                    c,
                    "workflows",
                    "org_id = ?1 AND (?2 = '' OR instr(tags, ?2) > 0)",
                    &[&org, &tag],
                    &page,
                    rows::workflow,
                )
            })
            .await
    }
    async fn workflow_slugs(&self, org: &OrgId, base: &str) -> StoreResult<Vec<String>> {
        let (org, base) = (org.clone(), base.to_owned());
        self.db.read(move |c| rows::slugs(c, "workflows", &org, &base)).await
    }
    async fn deployment(&self, org: &OrgId, id: &DeploymentId) -> StoreResult<Option<Deployment>> {
        let (sql, of) = (
            format!("SELECT {} FROM deployments WHERE id = ?1 AND org_id = ?2", rows::DEPLOYMENT),
            [id.to_string(), org.to_string()],
        );
        self.db.read(move |c| one(c, &sql, of, rows::deployment)).await
    }
    async fn list_deployments(
        &self,
        org: &OrgId,
        id: &WorkflowId,
        page: &Page,
    ) -> StoreResult<Listing<Deployment>> {
        let (org, id, page) = (org.to_string(), id.to_string(), page.clone());
        self.db
            .read(move |c| {
                list(
                    c,
                    "deployments",
                    "org_id = ?1 AND workflow_id = ?2",
                    &[&org, &id],
                    &page,
                    rows::deployment,
                )
            })
            .await
    }
    async fn was_deployed_with(
        &self,
        org: &OrgId,
        id: &WorkflowId,
        text: &str,
    ) -> StoreResult<bool> {
        let sql = "SELECT EXISTS (SELECT 1 FROM deployments WHERE org_id = ?1 AND workflow_id = ?2 AND instr(content, ?3) > 0)";
        let of = [org.to_string(), id.to_string(), serde_json::Value::from(text).to_string()];
        self.db.read(move |c| Ok(rows::number(c, sql, of)? != 0)).await
    }

    async fn subscribe(&self, subscription: Subscription) -> StoreResult<Subscription> {
        self.db.write(move |c| subscriptions::subscribe(c, &subscription)).await
    }
    async fn unsubscribe(&self, org: &OrgId, key: &SubscriptionKey) -> StoreResult<bool> {
        let (org, key) = (org.clone(), key.clone());
        self.db.write(move |c| subscriptions::unsubscribe(c, &org, &key)).await
    }
    async fn change_listeners(&self, change: ListenerChange) -> StoreResult<()> {
        self.db.write(move |c| subscriptions::change(c, &change)).await
    }
    async fn list_subscriptions(
        &self,
        org: &OrgId,
        of: &SubscriptionFilter,
    ) -> StoreResult<Vec<Subscription>> {
        let (org, of) = (org.clone(), of.clone());
        self.db.read(move |c| subscriptions::all(c, &org, &of)).await
    }
    async fn page_of_subscriptions(
        &self,
        org: &OrgId,
        of: &SubscriptionFilter,
        page: &Page,
    ) -> StoreResult<Listing<ListedSubscription>> {
        let (org, of, page) = (org.clone(), of.clone(), page.clone());
        self.db.read(move |c| subscriptions::page(c, &org, &of, &page)).await
    }
    async fn subscription(
        &self,
        org: &OrgId,
        id: &SubscriptionId,
    ) -> StoreResult<Option<Subscription>> {
        by_id!(self, "subscriptions", org, id, rows::subscription)
    }
    async fn listeners(
        &self,
        org: &OrgId,
        emitters: &[&str],
        event_name: &str,
    ) -> StoreResult<Vec<String>> {
        let (org, event_name) = (org.clone(), event_name.to_owned());
        let emitters: Vec<String> = emitters.iter().map(|e| (*e).to_owned()).collect();
        self.db.read(move |c| subscriptions::listeners(c, &org, &emitters, &event_name)).await
    }

    async fn auto_subscribe(
        &self,
        subscription: AutoSubscription,
    ) -> StoreResult<AutoSubscription> {
        self.db.write(move |c| subscriptions::auto_subscribe(c, &subscription)).await
    }
    async fn delete_auto_subscription(
        &self,
        org: &OrgId,
        id: &AutoSubscriptionId,
    ) -> StoreResult<bool> {
        let (org, id) = (org.to_string(), id.to_string());
        self.db
            .write(move |c| {
                Ok(rows::execute(
                    c,
                    "DELETE FROM auto_subscriptions WHERE id = ?1 AND org_id = ?2",
                    [id, org],
                )? > 0)
            })
            .await
    }
    async fn list_auto_subscriptions(&self, org: &OrgId) -> StoreResult<Vec<AutoSubscription>> {
        let org = org.to_string();
        let sql = "SELECT * FROM auto_subscriptions WHERE org_id = ?1 ORDER BY created_at DESC, id DESC LIMIT 10000";
        self.db.read(move |c| many(c, sql, [org], rows::auto_subscription)).await
    }
}
