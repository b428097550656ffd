//! The trait, each method one transaction or one statement on a connection of the pool.

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
use millrace_model::ids::*;
use millrace_model::page::{Listing, Page};
use millrace_model::registry::{Registry, RegistryComponent, RegistryFile};
use millrace_model::replay::{Replay, ReplayCounts, ReplayedRun};
use millrace_model::retention::Retention;
use millrace_model::run::{LogLine, NewRun, Run, RunStatus, Start};
use millrace_model::source::{HttpInterface, Owner, Source, Timer};
use millrace_model::subscription::{AutoSubscription, Subscription};
use millrace_model::tenant::{ApiKey, Caller, OauthClient, OauthToken, Organization, User};
use millrace_model::upload::Upload;
use millrace_model::webhook::{Health, Webhook, WebhookDelivery};
use millrace_model::workflow::{Deployment, Workflow};
use millrace_store::*;

use crate::db::{self, database, statement, text, transaction};
use crate::rows::{self, Table, list, many, number, one};
use crate::{
    PostgresStore, accounts, audit, clock, components, data_keys, data_stores, deliveries, errors, export, forms, history, interfaces, limits, mail, nodes,
    oauth_clients, pauses, registries, replays, retention, runs, settle, sources, stored_files, subscriptions, tenants, uploads, webhooks, workflows,
};

/// One row of a table by organization and id.
macro_rules! by_id {
    ($self:ident, $table:literal, $columns:path, $org:ident, $id:ident, $read:path) => {{
        let sql = format!(concat!("SELECT {} FROM ", $table, " WHERE id = $1 AND org_id = $2"), $columns);
        one(&$self.db.client().await?, &sql, &[&$id.as_str(), &$org.as_str()], $read).await
    }};
}

/// One row of a table by a column that is unique.
macro_rules! by_unique {
    ($self:ident, $table:literal, $columns:path, $column:literal, $value:expr, $read:path) => {{
        let sql = format!(concat!("SELECT {} FROM ", $table, " WHERE ", $column, " = $1"), $columns);
        one(&$self.db.client().await?, &sql, &[&$value], $read).await
    }};
}

macro_rules! slugs {
    ($self:ident, $table:literal, $org:ident, $base:ident) => {{
        many(
            &$self.db.client().await?,
            concat!("SELECT name_slug FROM ", $table, " WHERE org_id = $1 AND (name_slug = $2 OR starts_with(name_slug, $2 || '-'))"),
            &[&$org.as_str(), &text($base)],
            |row| row.try_get(0).map_err(database),
        )
        .await
    }};
}

#[async_trait]
impl Store for PostgresStore {
    async fn bootstrap(&self, first: NewTenant) -> StoreResult<bool> {
        transaction!(self.db, |t| tenants::bootstrap(&t, &first))
    }
    async fn create_organization(&self, tenant: NewTenant) -> StoreResult<()> {
        transaction!(self.db, |t| tenants::create(&t, &tenant))
    }
    async fn caller_by_key_hash(&self, key_hash: &str) -> StoreResult<Option<Caller>> {
        tenants::caller(&self.db.client().await?, key_hash).await
    }
    async fn update_organization(&self, organization: Organization) -> StoreResult<()> {
        tenants::update(&self.db.client().await?, &organization).await
    }
    async fn organization(&self, org: &OrgId) -> StoreResult<Option<Organization>> {
        by_unique!(self, "organizations", rows::ORGANIZATION, "id", org.as_str(), rows::organization)
    }
    async fn user(&self, user: &UserId) -> StoreResult<Option<User>> {
        by_unique!(self, "users", rows::USER, "id", user.as_str(), rows::user)
    }
    async fn create_api_key(&self, key: ApiKey) -> StoreResult<()> {
        tenants::create_key(&self.db.client().await?, &key).await
    }
    async fn api_key(&self, org: &OrgId, id: &ApiKeyId) -> StoreResult<Option<ApiKey>> {
        by_id!(self, "api_keys", rows::API_KEY, org, id, rows::api_key)
    }
    async fn list_api_keys(&self, org: &OrgId, page: &Page) -> StoreResult<Listing<ApiKey>> {
        let table = Table { name: "api_keys", columns: rows::API_KEY, filter: "org_id = $1" };
        list(&self.db.client().await?, &table, &[&org.as_str()], page, rows::api_key).await
    }
    async fn update_api_key(&self, key: ApiKey) -> StoreResult<()> {
        tenants::update_key(&self.db.client().await?, &key).await
    }
    async fn delete_api_key(&self, org: &OrgId, id: &ApiKeyId) -> StoreResult<bool> {
        tenants::delete_key(&self.db.client().await?, org, id).await
    }

    async fn put_artifact(&self, artifact: Artifact) -> StoreResult<()> {
        components::put_artifact(&self.db.client().await?, &artifact).await
    }
    async fn artifact(&self, id: &str) -> StoreResult<Option<Artifact>> {
        by_unique!(self, "artifacts", rows::ARTIFACT, "id", text(id), rows::artifact)
    }
    async fn create_component(&self, component: SavedComponent) -> StoreResult<()> {
        transaction!(self.db, |t| components::create(&t, &component))
    }
    async fn component(&self, org: &OrgId, id: &ComponentId) -> StoreResult<Option<SavedComponent>> {
        by_id!(self, "components", rows::COMPONENT, org, id, rows::component)
    }
    async fn component_by_hash(&self, org: &OrgId, code_hash: &str, artifact: Option<&str>) -> StoreResult<Option<SavedComponent>> {
        let sql = format!(
            "SELECT {} FROM components WHERE org_id = $1 AND code_hash = $2 AND ($3::text IS NULL OR artifact_id = $3) ORDER BY created_at DESC, id DESC LIMIT 1",
            rows::COMPONENT
        );
        one(&self.db.client().await?, &sql, &[&org.as_str(), &text(code_hash), &artifact], rows::component).await
    }
    async fn component_by_key(&self, org: &OrgId, key: &str, version: Option<&str>) -> StoreResult<Option<SavedComponent>> {
        let sql = format!(
            "SELECT {} FROM components WHERE org_id = $1 AND key = $2 AND (published OR superseded)
               AND CASE WHEN $3::text IS NULL THEN published ELSE manifest::json ->> 'version' = $3 END
             ORDER BY published DESC, created_at DESC, id DESC LIMIT 1",
            rows::COMPONENT
        );
        one(&self.db.client().await?, &sql, &[&org.as_str(), &text(key), &version.map(text)], rows::component).await
    }
    async fn list_components(&self, org: &OrgId, page: &Page) -> StoreResult<Listing<SavedComponent>> {
        components::published(&self.db.client().await?, org, page).await
    }
    async fn unpublish_component(&self, org: &OrgId, key: &str) -> StoreResult<()> {
        components::unpublish(&self.db.client().await?, org, key).await
    }

    async fn put_registry(&self, registry: NewRegistry) -> StoreResult<Registry> {
        transaction!(self.db, |t| registries::put(&t, &registry))
    }
    async fn registries(&self, org: &OrgId) -> StoreResult<Vec<Registry>> {
        let sql = format!("SELECT {} FROM registries WHERE org_id = $1 ORDER BY created_at, id LIMIT 1000", rows::REGISTRY);
        many(&self.db.client().await?, &sql, &[&org.as_str()], rows::registry).await
    }
    async fn delete_registry(&self, org: &OrgId, name: &str) -> StoreResult<bool> {
        transaction!(self.db, |t| registries::delete(&t, org, name))
    }
    async fn registry_components(&self, id: &RegistryId) -> StoreResult<Vec<RegistryComponent>> {
        let sql = format!("SELECT {} FROM registry_components WHERE registry_id = $1 AND until IS NULL ORDER BY path LIMIT 100000", rows::REGISTRY_COMPONENT);
        many(&self.db.client().await?, &sql, &[&id.as_str()], rows::registry_component).await
    }
    async fn registry_component(&self, org: &OrgId, key: &str, version: Option<&str>) -> StoreResult<Option<FoundComponent>> {
        registries::find(&self.db.client().await?, org, key, version).await
    }
    async fn registry_versions(&self, org: &OrgId, key: &str) -> StoreResult<Vec<String>> {
        registries::versions(&self.db.client().await?, org, key).await
    }
    async fn registry_files(&self, id: &RegistryId, app: &str, generation: i64) -> StoreResult<Vec<RegistryFile>> {
        registries::files(&self.db.client().await?, id, app, generation).await
    }

    async fn app_hook_owners(&self, org: &OrgId, app: &str, event_names: &[String]) -> StoreResult<Vec<Owner>> {
        interfaces::app_hook_owners(&self.db.client().await?, org, app, event_names).await
    }
    async fn create_upload(&self, upload: Upload) -> StoreResult<()> {
        uploads::create(&self.db.client().await?, &upload).await
    }
    async fn add_upload_part(&self, id: &UploadId, position: i64, bytes: Vec<u8>) -> StoreResult<()> {
        uploads::add_part(&self.db.client().await?, id, position, &bytes).await
    }
    async fn finish_upload(&self, id: &UploadId, size: i64) -> StoreResult<()> {
        uploads::finish(&self.db.client().await?, id, size).await
    }
    async fn upload(&self, id: &UploadId) -> StoreResult<Option<Upload>> {
        by_unique!(self, "uploads", rows::UPLOAD, "id", id.as_str(), rows::upload)
    }
    async fn upload_part(&self, id: &UploadId, position: i64) -> StoreResult<Option<Vec<u8>>> {
        let sql = "SELECT bytes FROM upload_parts WHERE upload_id = $1 AND position = $2";
        one(&self.db.client().await?, sql, &[&id.as_str(), &position], |row| row.try_get(0).map_err(database)).await
    }
    async fn purge_uploads(&self, now: Timestamp, limit: u32) -> StoreResult<u64> {
        transaction!(self.db, |t| uploads::purge(&t, now, limit))
    }

    async fn keep_form(&self, form: Form, most: u32) -> StoreResult<()> {
        transaction!(self.db, |t| forms::keep(&t, &form, most))
    }
    async fn form(&self, org: &OrgId, id: &FormId) -> StoreResult<Option<Form>> {
        by_id!(self, "forms", forms::COLUMNS, org, id, forms::read)
    }

    async fn keep_files(&self, keep: KeepFiles) -> StoreResult<()> {
        transaction!(self.db, |t| stored_files::keep(&t, &keep))
    }
    async fn stored_file(&self, org: &OrgId, store: &str, path: &str) -> StoreResult<Option<StoredFile>> {
        let sql = format!("SELECT {} FROM stored_files WHERE org_id = $1 AND store = $2 AND path = $3", rows::STORED_FILE);
        one(&self.db.client().await?, &sql, &[&org.as_str(), &store, &text(path)], rows::stored_file).await
    }
    async fn stored_files(&self, org: &OrgId, store: &str, after: &str, limit: u32) -> StoreResult<Vec<StoredFile>> {
        stored_files::list(&self.db.client().await?, org, store, after, limit).await
    }
    async fn file_stores(&self, org: &OrgId) -> StoreResult<Vec<FileStore>> {
        stored_files::stores(&self.db.client().await?, org).await
    }
    async fn remove_files(&self, org: &OrgId, store: &str, path: Option<&str>, until: Timestamp) -> StoreResult<u64> {
        transaction!(self.db, |t| stored_files::remove(&t, org.as_str(), store, path, until))
    }

    async fn data_keys(&self) -> StoreResult<Vec<DataKey>> {
        let sql = format!("SELECT {} FROM data_keys ORDER BY created_at, id", rows::DATA_KEY);
        many(&self.db.client().await?, &sql, &[], rows::data_key).await
    }
    async fn add_first_data_key(&self, key: DataKey) -> StoreResult<bool> {
        transaction!(self.db, |t| data_keys::add_first(&t, &key))
    }
    async fn rewrap_data_keys(&self, from: &str, keys: Vec<DataKey>) -> StoreResult<()> {
        transaction!(self.db, |t| data_keys::rewrap(&t, from, &keys))
    }
    async fn first_organization(&self) -> StoreResult<Option<OrgId>> {
        let sql = "SELECT id FROM organizations ORDER BY created_at, id LIMIT 1";
        one(&self.db.client().await?, sql, &[], |row| row.try_get(0).map(OrgId::from_row).map_err(database)).await
    }

    async fn create_source(&self, source: Source, interfaces: Interfaces) -> StoreResult<()> {
        transaction!(self.db, "deploy", |t| sources::create(&t, &source, &interfaces))
    }
    async fn update_source(&self, source: Source, interfaces: Interfaces) -> StoreResult<()> {
        transaction!(self.db, "deploy", |t| sources::update(&t, &source, &interfaces))
    }
    async fn delete_source(&self, org: &OrgId, id: &SourceId) -> StoreResult<()> {
        transaction!(self.db, "delete", |t| sources::delete(&t, org, id))
    }
    async fn source(&self, org: &OrgId, id: &SourceId) -> StoreResult<Option<Source>> {
        by_id!(self, "sources", rows::SOURCE, org, id, rows::source)
    }
    async fn list_sources(&self, org: &OrgId, page: &Page) -> StoreResult<Listing<Source>> {
        let table = Table { name: "sources", columns: rows::SOURCE, filter: "org_id = $1" };
        list(&self.db.client().await?, &table, &[&org.as_str()], page, rows::source).await
    }
    async fn source_slugs(&self, org: &OrgId, base: &str) -> StoreResult<Vec<String>> {
        slugs!(self, "sources", org, base)
    }
    async fn interfaces(&self, owner: &str) -> StoreResult<Interfaces> {
        interfaces::of(&self.db.client().await?, owner).await
    }
    async fn source_state(&self, id: &SourceId) -> StoreResult<SourceState> {
        sources::state(&self.db.client().await?, id).await
    }
    async fn source_db(&self, id: &SourceId) -> StoreResult<Vec<(String, String)>> {
        sources::entries(&self.db.client().await?, id).await
    }

    async fn endpoint(&self, key: &str) -> StoreResult<Option<HttpInterface>> {
        by_unique!(self, "http_interfaces", rows::HTTP_INTERFACE, "key", text(key), rows::http_interface)
    }
    async fn http_interface(&self, org: &OrgId, id: &HttpInterfaceId) -> StoreResult<Option<HttpInterface>> {
        by_id!(self, "http_interfaces", rows::HTTP_INTERFACE, org, id, rows::http_interface)
    }
    async fn create_endpoint_domain(&self, domain: EndpointDomain) -> StoreResult<()> {
        interfaces::create_domain(&self.db.client().await?, &domain).await
    }
    async fn list_endpoint_domains(&self, org: &OrgId, page: &Page) -> StoreResult<Listing<EndpointDomain>> {
        let table = Table { name: "endpoint_domains", columns: rows::ENDPOINT_DOMAIN, filter: "org_id = $1" };
        list(&self.db.client().await?, &table, &[&org.as_str()], page, rows::endpoint_domain).await
    }
    async fn delete_endpoint_domain(&self, org: &OrgId, domain: &str) -> StoreResult<bool> {
        let sql = "DELETE FROM endpoint_domains WHERE id = $1 AND org_id = $2";
        Ok(rows::execute(&self.db.client().await?, sql, &[&text(domain), &org.as_str()]).await? > 0)
    }
    async fn endpoint_domains(&self) -> StoreResult<Vec<(String, String)>> {
        interfaces::domains(&self.db.client().await?).await
    }
    async fn due_timers(&self, now: Timestamp, limit: u32) -> StoreResult<Vec<Timer>> {
        let sql = format!("SELECT {} FROM timers WHERE active AND next_at <= $1 ORDER BY next_at LIMIT $2", rows::TIMER);
        many(&self.db.client().await?, &sql, &[&now.ms(), &i64::from(limit)], rows::timer).await
    }
    async fn late_timers(&self, after: Timestamp, limit: u32) -> StoreResult<Vec<Timer>> {
        let sql = format!("SELECT {} FROM timers WHERE active AND next_at > $1 ORDER BY next_at DESC LIMIT $2", rows::TIMER);
        many(&self.db.client().await?, &sql, &[&after.ms(), &i64::from(limit)], rows::timer).await
    }
    async fn move_timer(&self, id: &TimerId, from: Timestamp, to: Timestamp) -> StoreResult<bool> {
        clock::move_timer(&self.db.client().await?, id, from, to).await
    }
    async fn clock_went_back(&self, now: Timestamp, by_ms: i64) -> StoreResult<()> {
        transaction!(self.db, |t| clock::went_back(&t, now, by_ms))
    }
    async fn next_timer_at(&self) -> StoreResult<Option<Timestamp>> {
        interfaces::next_timer_at(&self.db.client().await?).await
    }
    async fn fire_timer(&self, id: &TimerId, due_at: Timestamp, next_at: Timestamp, run: NewRun) -> StoreResult<Fired> {
        transaction!(self.db, "tick", |t| interfaces::fire(&t, id, due_at, next_at, &run))
    }

    async fn create_workflow(&self, workflow: Workflow) -> StoreResult<()> {
        transaction!(self.db, |t| workflows::create(&t, &workflow))
    }
    async fn update_workflow(&self, workflow: Workflow, interfaces: Option<Interfaces>) -> StoreResult<()> {
        transaction!(self.db, |t| workflows::update(&t, &workflow, interfaces.as_ref()))
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
    async fn list_workflows(&self, org: &OrgId, page: &Page) -> StoreResult<Listing<Workflow>> {
        let table = Table { name: "workflows", columns: rows::WORKFLOW, filter: "org_id = $1" };
        list(&self.db.client().await?, &table, &[&org.as_str()], page, rows::workflow).await
    }
    async fn workflow_slugs(&self, org: &OrgId, base: &str) -> StoreResult<Vec<String>> {
        slugs!(self, "workflows", org, base)
    }
    async fn deployment(&self, org: &OrgId, id: &DeploymentId) -> StoreResult<Option<Deployment>> {
        by_id!(self, "deployments", rows::DEPLOYMENT, org, id, rows::deployment)
    }
    async fn list_deployments(&self, org: &OrgId, id: &WorkflowId, page: &Page) -> StoreResult<Listing<Deployment>> {
        let table = Table { name: "deployments", columns: rows::DEPLOYMENT, filter: "org_id = $1 AND workflow_id = $2" };
        list(&self.db.client().await?, &table, &[&org.as_str(), &id.as_str()], page, rows::deployment).await
    }

    async fn subscribe(&self, subscription: Subscription) -> StoreResult<Subscription> {
        subscriptions::subscribe(&self.db.client().await?, &subscription).await
    }
    async fn unsubscribe(&self, org: &OrgId, key: &SubscriptionKey) -> StoreResult<bool> {
        subscriptions::unsubscribe(&self.db.client().await?, org, key).await
    }
    async fn change_listeners(&self, change: ListenerChange) -> StoreResult<()> {
        transaction!(self.db, |t| subscriptions::change(&t, &change))
    }
    async fn list_subscriptions(&self, org: &OrgId) -> StoreResult<Vec<Subscription>> {
        let sql = format!("SELECT {} FROM subscriptions WHERE org_id = $1 ORDER BY created_at DESC, id DESC LIMIT 10000", rows::SUBSCRIPTION);
        many(&self.db.client().await?, &sql, &[&org.as_str()], rows::subscription).await
    }
    async fn subscription(&self, org: &OrgId, id: &SubscriptionId) -> StoreResult<Option<Subscription>> {
        by_id!(self, "subscriptions", rows::SUBSCRIPTION, org, id, rows::subscription)
    }
    async fn listeners(&self, org: &OrgId, emitters: &[&str], event_name: &str) -> StoreResult<Vec<String>> {
        subscriptions::listeners(&self.db.client().await?, org, emitters, event_name).await
    }

    async fn auto_subscribe(&self, subscription: AutoSubscription) -> StoreResult<AutoSubscription> {
        subscriptions::auto_subscribe(&self.db.client().await?, &subscription).await
    }
    async fn delete_auto_subscription(&self, org: &OrgId, id: &AutoSubscriptionId) -> StoreResult<bool> {
        let sql = "DELETE FROM auto_subscriptions WHERE id = $1 AND org_id = $2";
        Ok(rows::execute(&self.db.client().await?, sql, &[&id.as_str(), &org.as_str()]).await? > 0)
    }
    async fn list_auto_subscriptions(&self, org: &OrgId) -> StoreResult<Vec<AutoSubscription>> {
        let sql = format!("SELECT {} FROM auto_subscriptions WHERE org_id = $1 ORDER BY created_at DESC, id DESC LIMIT 10000", rows::AUTO_SUBSCRIPTION);
        many(&self.db.client().await?, &sql, &[&org.as_str()], rows::auto_subscription).await
    }

    async fn create_webhook(&self, webhook: Webhook) -> StoreResult<()> {
        webhooks::create(&self.db.client().await?, &webhook).await
    }
    async fn webhook(&self, org: &OrgId, id: &WebhookId) -> StoreResult<Option<Webhook>> {
        by_id!(self, "webhooks", rows::WEBHOOK, org, id, rows::webhook)
    }
    async fn list_webhooks(&self, org: &OrgId, page: &Page) -> StoreResult<Listing<Webhook>> {
        let table = Table { name: "webhooks", columns: rows::WEBHOOK, filter: "org_id = $1" };
        list(&self.db.client().await?, &table, &[&org.as_str()], page, rows::webhook).await
    }
    async fn delete_webhook(&self, org: &OrgId, id: &WebhookId) -> StoreResult<bool> {
        transaction!(self.db, |t| webhooks::delete(&t, org, id))
    }
    async fn due_webhooks(&self, now: Timestamp, limit: u32) -> StoreResult<Vec<Webhook>> {
        webhooks::due(&self.db.client().await?, now, limit).await
    }
    async fn claim_webhook_deliveries(&self, target: &str, now: Timestamp, hidden_until: Timestamp, limit: u32) -> StoreResult<Vec<WebhookDelivery>> {
        statement!(self.db, "webhook_claim", |c| webhooks::claim(&c, target, now, hidden_until, limit))
    }
    async fn record_webhook_deliveries(&self, webhook: &WebhookId, tries: Vec<WebhookTry>, health: Health) -> StoreResult<()> {
        transaction!(self.db, "webhook_result", |t| webhooks::record(&t, webhook, &tries, health))
    }
    async fn webhook_delivery(&self, org: &OrgId, id: &WebhookDeliveryId) -> StoreResult<Option<WebhookDelivery>> {
        by_id!(self, "webhook_deliveries", rows::WEBHOOK_DELIVERY, org, id, rows::webhook_delivery)
    }
    async fn list_webhook_deliveries(&self, org: &OrgId, target: &str, status: Option<DeliveryStatus>, page: &Page) -> StoreResult<Listing<WebhookDelivery>> {
        let filter = "org_id = $1 AND target_id = $2 AND ($3::text IS NULL OR status = $3)";
        let table = Table { name: "webhook_deliveries", columns: rows::WEBHOOK_DELIVERY, filter };
        list(&self.db.client().await?, &table, &[&org.as_str(), &text(target), &status.map(DeliveryStatus::as_str)], page, rows::webhook_delivery).await
    }
    async fn replay_webhook_deliveries(&self, replay: WebhookReplay) -> StoreResult<u64> {
        webhooks::replay(&self.db.client().await?, &replay).await
    }
    async fn expire_webhook_deliveries(&self, now: Timestamp, limit: u32, error: &str) -> StoreResult<u64> {
        webhooks::expire(&self.db.client().await?, now, limit, error).await
    }

    async fn accept(&self, run: NewRun, node: &str) -> StoreResult<()> {
        // Whoever comes first takes one that waits.
        let node = matches!(run.start, Start::Claimed { .. }).then_some(node);
        statement!(self.db, "accept", |c| runs::insert(&c, std::slice::from_ref(&run), node))
    }
    async fn accept_queued(&self, run: NewRun, queue_max: u32, node: Option<&str>) -> StoreResult<()> {
        transaction!(self.db, "accept_queued", |t| limits::accept(&t, &run, queue_max, node))
    }
    async fn claim(&self, claim: Claim<'_>) -> StoreResult<Vec<Run>> {
        // No look beforehand, as SQLite takes: an update of no rows commits nothing.
        let owners = runs::owners_in_turn(&self.db.client().await?, claim).await?;
        let share = claim.limit.div_ceil(u32::try_from(owners.len()).unwrap_or(u32::MAX).max(1));
        let pick = |are_limited: bool| owners.iter().filter(|(_, limited)| *limited == are_limited).map(|(owner, _)| owner.clone()).collect::<Vec<_>>();
        let (limited, others) = (pick(true), pick(false));
        let mut claimed: Vec<Run> =
            if limited.is_empty() { Vec::new() } else { transaction!(self.db, "claim", |t| limits::claim(&t, &limited, claim, share))? };
        let left = claim.limit.saturating_sub(u32::try_from(claimed.len()).unwrap_or(u32::MAX));
        if left > 0 && !others.is_empty() {
            claimed.extend(statement!(self.db, "claim", |c| runs::claim(&c, &others, Claim { limit: left, ..claim }))?);
        }
        Ok(runs::oldest_first(claimed))
    }
    async fn renew(&self, held: &[(RunId, i64)], lease_until: Timestamp) -> StoreResult<Vec<RunId>> {
        transaction!(self.db, "renew", |t| runs::renew(&t, held, lease_until))
    }
    async fn release(&self, id: &RunId, attempt: i64, count_attempt: bool) -> StoreResult<()> {
        statement!(self.db, "release", |c| runs::release(&c, id, attempt, count_attempt))
    }
    async fn settle(&self, settlement: Settlement) -> StoreResult<()> {
        if settle::is_empty(&settlement) {
            return statement!(self.db, "settle", |c| settle::end(&c, &settlement));
        }
        transaction!(self.db, "settle", |t| settle::settle(&t, &settlement))
    }
    async fn settle_effects(&self, effects: Effects) -> StoreResult<()> {
        transaction!(self.db, |t| settle::effects(&t, &effects))
    }
    async fn requeue_running(&self, node: Option<&str>) -> StoreResult<u64> {
        transaction!(self.db, |t| runs::requeue_running(&t, node))
    }
    async fn keep_progress(&self, id: &RunId, attempt: i64, result: &str) -> StoreResult<()> {
        statement!(self.db, "progress", |c| runs::keep_progress(&c, id, attempt, result))
    }
    async fn cancel_run(&self, org: &OrgId, id: &RunId, now: Timestamp) -> StoreResult<Option<RunStatus>> {
        transaction!(self.db, |t| pauses::cancel(&t, org, id, now))
    }
    async fn unfinished_runs(&self) -> StoreResult<u64> {
        let count = number(&self.db.client().await?, "SELECT count(*) FROM runs WHERE status IN ('queued', 'running')", &[]).await?;
        Ok(u64::try_from(count).unwrap_or(0))
    }

    async fn pause_run(&self, pausing: Pausing) -> StoreResult<RunStatus> {
        transaction!(self.db, "pause", |t| pauses::pause(&t, &pausing))
    }
    async fn wake_runs(&self, now: Timestamp, limit: u32) -> StoreResult<Woken> {
        statement!(self.db, "wake", |c| pauses::wake(&c, now, limit))
    }
    async fn next_wake_at(&self) -> StoreResult<Option<Timestamp>> {
        pauses::next_wake_at(&self.db.client().await?).await
    }
    async fn call_back(&self, callback: Callback) -> StoreResult<CalledBack> {
        transaction!(self.db, "call_back", |t| pauses::call_back(&t, &callback))
    }
    async fn last_pause(&self, id: &RunId) -> StoreResult<Option<Pause>> {
        pauses::last(&self.db.client().await?, id).await
    }

    async fn run(&self, org: &OrgId, id: &RunId) -> StoreResult<Option<Run>> {
        by_id!(self, "runs", rows::RUN, org, id, rows::run)
    }
    async fn list_runs(&self, org: &OrgId, owner: &str, filter: &RunFilter, page: &Page) -> StoreResult<Listing<Run>> {
        history::runs(&self.db.client().await?, org, owner, filter, page).await
    }
    async fn run_logs(&self, id: &RunId) -> StoreResult<Vec<LogLine>> {
        history::logs(&self.db.client().await?, id).await
    }
    async fn owner_logs(&self, org: &OrgId, owner: &str, limit: u32) -> StoreResult<Vec<(RunId, LogLine)>> {
        history::owner_logs(&self.db.client().await?, org, owner, limit).await
    }
    async fn list_events(&self, org: &OrgId, emitter: &str, name: Option<&str>, page: &Page) -> StoreResult<Listing<Event>> {
        history::events(&self.db.client().await?, org, emitter, name, page).await
    }
    async fn events_after(&self, org: &OrgId, emitter: &str, after: EventId, limit: u32) -> StoreResult<Vec<Event>> {
        history::events_after(&self.db.client().await?, org, emitter, after, limit).await
    }
    async fn due_deferred(&self, now: Timestamp, limit: u32) -> StoreResult<Vec<Event>> {
        history::due_deferred(&self.db.client().await?, now, limit).await
    }
    async fn next_deferred_at(&self) -> StoreResult<Option<Timestamp>> {
        history::next_deferred_at(&self.db.client().await?).await
    }
    async fn delete_events(&self, org: &OrgId, emitter: &str, name: Option<&str>, range: (Option<EventId>, Option<EventId>)) -> StoreResult<u64> {
        transaction!(self.db, |t| history::delete_events(&t, org, emitter, name, range))
    }
    async fn history_owners(&self, after: &str, limit: u32) -> StoreResult<Vec<String>> {
        retention::owners(&self.db.client().await?, after, limit).await
    }
    async fn prune(&self, pruning: Pruning) -> StoreResult<u64> {
        transaction!(self.db, "prune", |t| retention::prune(&t, &pruning))
    }
    async fn prune_leftovers(&self, leftovers: Leftovers) -> StoreResult<u64> {
        transaction!(self.db, |t| retention::prune_leftovers(&t, &leftovers))
    }
    async fn retention(&self, owner: &str) -> StoreResult<Option<Retention>> {
        retention::of(&self.db.client().await?, owner).await
    }
    async fn put_retention(&self, org: &OrgId, owner: &str, retention: Option<Retention>) -> StoreResult<()> {
        retention::put(&self.db.client().await?, org, owner, retention).await
    }
    async fn export(&self, org: &OrgId, filter: ExportFilter, out: tokio::sync::mpsc::Sender<Exported>) -> StoreResult<()> {
        export::export(&mut self.db.client().await?, org, &filter, &out).await
    }

    async fn record_audit(&self, record: AuditRecord) -> StoreResult<()> {
        audit::record(&self.db.client().await?, &record).await
    }
    async fn forget_audit(&self, org: &OrgId, id: &AuditId) -> StoreResult<()> {
        let sql = "DELETE FROM audit WHERE id = $1 AND org_id = $2";
        rows::execute(&self.db.client().await?, sql, &[&id.as_str(), &org.as_str()]).await.map(|_| ())
    }
    async fn list_audit(&self, org: &OrgId, page: &Page) -> StoreResult<Listing<AuditRecord>> {
        let table = Table { name: "audit", columns: audit::COLUMNS, filter: "org_id = $1" };
        list(&self.db.client().await?, &table, &[&org.as_str()], page, audit::read).await
    }

    async fn create_oauth_client(&self, client: OauthClient) -> StoreResult<()> {
        oauth_clients::create(&self.db.client().await?, &client).await
    }
    async fn oauth_client(&self, id: &OauthClientId) -> StoreResult<Option<OauthClient>> {
        by_unique!(self, "oauth_clients", oauth_clients::COLUMNS, "id", id.as_str(), oauth_clients::read)
    }
    async fn list_oauth_clients(&self, org: &OrgId, page: &Page) -> StoreResult<Listing<OauthClient>> {
        let table = Table { name: "oauth_clients", columns: oauth_clients::COLUMNS, filter: "org_id = $1" };
        list(&self.db.client().await?, &table, &[&org.as_str()], page, oauth_clients::read).await
    }
    async fn delete_oauth_client(&self, org: &OrgId, id: &OauthClientId) -> StoreResult<bool> {
        let sql = "DELETE FROM oauth_clients WHERE id = $1 AND org_id = $2";
        Ok(rows::execute(&self.db.client().await?, sql, &[&id.as_str(), &org.as_str()]).await? > 0)
    }
    async fn put_oauth_token(&self, token: OauthToken) -> StoreResult<()> {
        oauth_clients::put_token(&self.db.client().await?, &token).await
    }
    async fn caller_by_token_hash(&self, token_hash: &str) -> StoreResult<Option<Caller>> {
        oauth_clients::caller(&self.db.client().await?, token_hash).await
    }
    async fn delete_oauth_token(&self, client: &OauthClientId, token_hash: &str) -> StoreResult<bool> {
        let sql = "DELETE FROM oauth_tokens WHERE token_hash = $2 AND client_id = $1";
        Ok(rows::execute(&self.db.client().await?, sql, &[&client.as_str(), &token_hash]).await? > 0)
    }

    async fn list_error_groups(&self, org: &OrgId, owner: Option<&str>, page: &Page) -> StoreResult<Listing<ErrorGroup>> {
        errors::groups(&self.db.client().await?, org, owner, page).await
    }
    async fn error_group(&self, org: &OrgId, id: &ErrorGroupId) -> StoreResult<Option<ErrorGroup>> {
        by_id!(self, "error_groups", rows::ERROR_GROUP, org, id, rows::error_group)
    }
    async fn failed_runs(&self, which: &FailedRuns) -> StoreResult<Vec<Run>> {
        errors::failed(&self.db.client().await?, which).await
    }
    async fn count_failed_runs(&self, which: &FailedRuns) -> StoreResult<u64> {
        errors::count_failed(&self.db.client().await?, which).await
    }
    async fn create_replay(&self, replay: Replay) -> StoreResult<()> {
        replays::create(&self.db.client().await?, &replay).await
    }
    async fn replay(&self, org: &OrgId, id: &ReplayId) -> StoreResult<Option<Replay>> {
        by_id!(self, "replays", rows::REPLAY, org, id, rows::replay)
    }
    async fn list_replays(&self, org: &OrgId, page: &Page) -> StoreResult<Listing<Replay>> {
        let table = Table { name: "replays", columns: rows::REPLAY, filter: "org_id = $1" };
        list(&self.db.client().await?, &table, &[&org.as_str()], page, rows::replay).await
    }
    async fn running_replays(&self, limit: u32) -> StoreResult<Vec<Replay>> {
        replays::running(&self.db.client().await?, limit).await
    }
    async fn step_replay(&self, step: ReplayStep) -> StoreResult<()> {
        transaction!(self.db, |t| replays::step(&t, &step))
    }
    async fn replay_counts(&self, id: &ReplayId) -> StoreResult<ReplayCounts> {
        replays::counts(&self.db.client().await?, id).await
    }
    async fn replay_under_way(&self, id: &ReplayId) -> StoreResult<u64> {
        replays::under_way(&self.db.client().await?, id).await
    }
    async fn replayed_runs(&self, id: &ReplayId, page: &Page) -> StoreResult<Listing<ReplayedRun>> {
        replays::replayed(&self.db.client().await?, id, page).await
    }

    async fn put_app(&self, app: App) -> StoreResult<()> {
        accounts::put_app(&self.db.client().await?, &app).await
    }
    async fn app(&self, org: &OrgId, slug: &str) -> StoreResult<Option<App>> {
        let sql = format!("SELECT {} FROM apps WHERE org_id = $1 AND name_slug = $2", rows::APP);
        one(&self.db.client().await?, &sql, &[&org.as_str(), &text(slug)], rows::app).await
    }
    async fn list_apps(&self, org: &OrgId) -> StoreResult<Vec<App>> {
        let sql = format!("SELECT {} FROM apps WHERE org_id = $1 ORDER BY name_slug LIMIT 10000", rows::APP);
        many(&self.db.client().await?, &sql, &[&org.as_str()], rows::app).await
    }
    async fn create_account(&self, account: Account) -> StoreResult<()> {
        accounts::create(&self.db.client().await?, &account).await
    }
    async fn update_account(&self, account: Account) -> StoreResult<()> {
        accounts::update(&self.db.client().await?, &account).await
    }
    async fn delete_account(&self, org: &OrgId, id: &AccountId) -> StoreResult<bool> {
        accounts::delete(&self.db.client().await?, org, id).await
    }
    async fn account(&self, org: &OrgId, id: &AccountId) -> StoreResult<Option<Account>> {
        by_id!(self, "accounts", rows::ACCOUNT, org, id, rows::account)
    }
    async fn list_accounts(&self, org: &OrgId, app: Option<&str>, page: &Page) -> StoreResult<Listing<Account>> {
        let table = Table { name: "accounts", columns: rows::ACCOUNT, filter: "org_id = $1 AND ($2::text IS NULL OR app = $2)" };
        list(&self.db.client().await?, &table, &[&org.as_str(), &app.map(text)], page, rows::account).await
    }

    async fn create_data_store(&self, store: DataStore) -> StoreResult<()> {
        data_stores::create(&self.db.client().await?, &store).await
    }
    async fn rename_data_store(&self, org: &OrgId, id: &DataStoreId, name: &str, now: Timestamp) -> StoreResult<()> {
        data_stores::rename(&self.db.client().await?, org, id, name, now).await
    }
    async fn delete_data_store(&self, org: &OrgId, id: &DataStoreId) -> StoreResult<bool> {
        transaction!(self.db, |t| data_stores::delete(&t, org, id))
    }
    async fn data_store(&self, org: &OrgId, id: &DataStoreId) -> StoreResult<Option<DataStore>> {
        by_id!(self, "data_stores", rows::DATA_STORE, org, id, rows::data_store)
    }
    async fn data_store_by_name(&self, org: &OrgId, name: &str) -> StoreResult<Option<DataStore>> {
        data_stores::by_name(&self.db.client().await?, org, name).await
    }
    async fn list_data_stores(&self, org: &OrgId, page: &Page) -> StoreResult<Listing<DataStore>> {
        let table = Table { name: "data_stores", columns: rows::DATA_STORE, filter: "org_id = $1" };
        list(&self.db.client().await?, &table, &[&org.as_str()], page, rows::data_store).await
    }
    async fn data_store_entry(&self, id: &DataStoreId, key: &str, now: Timestamp) -> StoreResult<Option<DataStoreEntry>> {
        data_stores::entry(&self.db.client().await?, id, key, now).await
    }
    async fn data_store_set(&self, write: DataStoreWrite) -> StoreResult<()> {
        transaction!(self.db, |t| data_stores::set(&t, &write))
    }
    async fn data_store_expire(&self, id: &DataStoreId, key: &str, expires_at: Option<Timestamp>, now: Timestamp) -> StoreResult<bool> {
        data_stores::expire(&self.db.client().await?, id, key, expires_at, now).await
    }
    async fn data_store_delete(&self, id: &DataStoreId, key: &str) -> StoreResult<bool> {
        transaction!(self.db, |t| data_stores::delete_key(&t, id, key))
    }
    async fn data_store_clear(&self, id: &DataStoreId) -> StoreResult<()> {
        transaction!(self.db, |t| data_stores::clear(&t, id))
    }
    async fn data_store_size(&self, id: &DataStoreId, now: Timestamp) -> StoreResult<u64> {
        data_stores::size(&self.db.client().await?, id, now).await
    }
    async fn data_store_keys(&self, id: &DataStoreId, page: DataStorePage) -> StoreResult<Vec<String>> {
        data_stores::keys(&self.db.client().await?, id, &page).await
    }
    async fn data_store_entries(&self, id: &DataStoreId, page: DataStorePage, bytes_max: usize) -> StoreResult<Vec<DataStoreEntry>> {
        data_stores::entries(&self.db.client().await?, id, &page, bytes_max).await
    }
    async fn purge_data_stores(&self, now: Timestamp, limit: u32) -> StoreResult<u64> {
        transaction!(self.db, |t| data_stores::purge(&t, now, limit))
    }

    async fn claim_deliveries(&self, now: Timestamp, retry_at: Timestamp, limit: u32) -> StoreResult<Vec<Delivery>> {
        statement!(self.db, "delivery_claim", |c| deliveries::claim(&c, now, retry_at, limit))
    }
    async fn delivery_result(&self, id: &DeliveryId, result: DeliveryResult) -> StoreResult<()> {
        statement!(self.db, "delivery_result", |c| deliveries::result(&c, id, &result))
    }
    async fn run_deliveries(&self, run: &RunId) -> StoreResult<Vec<Delivery>> {
        deliveries::of_run(&self.db.client().await?, run).await
    }

    async fn queue_mail(&self, mail: Mail) -> StoreResult<()> {
        statement!(self.db, "mail", |c| mail::queue(&c, &mail))
    }
    async fn claim_mail(&self, now: Timestamp, retry_at: Timestamp, limit: u32) -> StoreResult<Vec<Mail>> {
        statement!(self.db, "mail_claim", |c| mail::claim(&c, now, retry_at, limit))
    }
    async fn mail_result(&self, id: &MailId, result: MailResult) -> StoreResult<()> {
        statement!(self.db, "mail_result", |c| mail::result(&c, id, &result))
    }
    async fn list_mail(&self, org: &OrgId, page: &Page) -> StoreResult<Listing<Mail>> {
        let table = Table { name: "mail", columns: rows::MAIL, filter: "org_id = $1" };
        list(&self.db.client().await?, &table, &[&org.as_str()], page, rows::mail).await
    }

    async fn listen(&self) -> StoreResult<Option<tokio::sync::mpsc::Receiver<Heard>>> {
        self.db.listen().await.map(Some)
    }
    async fn tell(&self, node: &str, news: &[News]) -> StoreResult<()> {
        let mut client = self.db.client().await?;
        nodes::tell(&mut client, node, news).await
    }
    async fn check_in(&self, node: &str, for_ms: i64) -> StoreResult<u64> {
        statement!(self.db, "node", |c| nodes::check_in(&c, node, for_ms))
    }
    async fn check_out(&self, node: &str) -> StoreResult<()> {
        statement!(self.db, "node", |c| nodes::check_out(&c, node))
    }
    async fn source_writes(&self, id: &SourceId) -> StoreResult<i64> {
        let sql = "SELECT coalesce((SELECT count FROM source_writes WHERE source_id = $1), 0)";
        number(&self.db.client().await?, sql, &[&id.as_str()]).await
    }
    async fn take_seat(&self, id: &SourceId, node: &str) -> StoreResult<bool> {
        statement!(self.db, "node", |c| nodes::take_seat(&c, id, node))
    }
    async fn leave_seat(&self, id: &SourceId, node: &str) -> StoreResult<()> {
        statement!(self.db, "node", |c| nodes::leave_seat(&c, id, node))
    }
    async fn claim_refresh(&self, id: &AccountId, version: i64, now: Timestamp, until: Timestamp) -> StoreResult<bool> {
        statement!(self.db, "refresh", |c| accounts::claim_refresh(&c, id, version, now, until))
    }
    async fn release_refresh(&self, id: &AccountId, version: i64) -> StoreResult<()> {
        statement!(self.db, "refresh", |c| accounts::release_refresh(&c, id, version))
    }

    async fn close(&self) {
        self.db.close();
    }
    async fn ping(&self) -> StoreResult<()> {
        number(&self.db.client().await?, "SELECT 1::bigint", &[]).await?;
        match self.condition() {
            // Nothing else may be written meanwhile that would tell that it works again.
            Condition::Full | Condition::Failing => statement!(self.db, "probe", |c| db::probe(&c)),
            _ => Ok(()),
        }
    }
    fn condition(&self) -> Condition {
        self.db.condition()
    }
    fn single_node(&self) -> bool {
        false
    }
}
