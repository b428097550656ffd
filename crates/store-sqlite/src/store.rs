//! The trait, each method one transaction on the writer or one query on a reader.

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
use millrace_model::run::{LogLine, NewRun, Run, RunStatus};
use millrace_model::source::{HttpInterface, Owner, Source, Timer};
use millrace_model::subscription::{AutoSubscription, Subscription};
use millrace_model::tenant::{ApiKey, Caller, OauthClient, OauthToken, Organization, User};
use millrace_model::upload::Upload;
use millrace_model::webhook::{Health, Webhook, WebhookDelivery};
use millrace_model::workflow::{Deployment, Workflow};
use millrace_store::*;
use rusqlite::params;
use serde::Serialize;

use crate::db::database;
use crate::rows::{self, list, many, number, one};
use crate::{
    SqliteStore, accounts, audit, clock, components, data_keys, data_stores, deliveries, errors, export, forms, history, interfaces, limits, mail,
    oauth_clients, pauses, registries, replays, retention, runs, settle, sources, stored_files, subscriptions, tenants, uploads, webhooks, workflows,
};

/// JSON text of a stored value.
pub(crate) fn json(value: &impl Serialize) -> StoreResult<String> {
    serde_json::to_string(value).map_err(|e| StoreError::Database(Box::new(e)))
}

/// One row of a table by organization and id.
macro_rules! by_id {
    ($self:ident, $table:literal, $org:ident, $id:ident, $read:path) => {{
        let (org, id) = ($org.to_string(), $id.to_string());
        $self.db.read(move |c| one(c, concat!("SELECT * FROM ", $table, " WHERE id = ?1 AND org_id = ?2"), [id, org], $read)).await
    }};
}

/// A write with fail points around its commit.
macro_rules! write_at {
    ($self:ident, $name:literal, |$c:ident| $operation:expr) => {{
        let written = $self
            .db
            .write(move |$c| {
                let written = $operation?;
                fail_point!(concat!("store.", $name, ".before_commit"));
                Ok(written)
            })
            .await?;
        fail_point!(concat!("store.", $name, ".after_commit"));
        Ok(written)
    }};
}

#[async_trait]
impl Store for SqliteStore {
    async fn bootstrap(&self, first: NewTenant) -> StoreResult<bool> {
        self.db.write(move |c| tenants::bootstrap(c, &first)).await
    }
    async fn create_organization(&self, tenant: NewTenant) -> StoreResult<()> {
        self.db.write(move |c| tenants::create(c, &tenant)).await
    }
    async fn caller_by_key_hash(&self, key_hash: &str) -> StoreResult<Option<Caller>> {
        let key_hash = key_hash.to_owned();
        self.db.read(move |c| tenants::caller(c, &key_hash)).await
    }
    async fn update_organization(&self, organization: Organization) -> StoreResult<()> {
        write_at!(self, "update_organization", |c| tenants::update(c, &organization))
    }
    async fn organization(&self, org: &OrgId) -> StoreResult<Option<Organization>> {
        let org = org.to_string();
        self.db.read(move |c| one(c, "SELECT * FROM organizations WHERE id = ?1", [org], rows::organization)).await
    }
    async fn user(&self, user: &UserId) -> StoreResult<Option<User>> {
        let user = user.to_string();
        self.db.read(move |c| one(c, "SELECT * FROM users WHERE id = ?1", [user], rows::user)).await
    }
    async fn create_api_key(&self, key: ApiKey) -> StoreResult<()> {
        self.db.write(move |c| tenants::create_key(c, &key)).await
    }
    async fn api_key(&self, org: &OrgId, id: &ApiKeyId) -> StoreResult<Option<ApiKey>> {
        by_id!(self, "api_keys", org, id, rows::api_key)
    }
    async fn list_api_keys(&self, org: &OrgId, page: &Page) -> StoreResult<Listing<ApiKey>> {
        let (org, page) = (org.to_string(), page.clone());
        self.db.read(move |c| list(c, "api_keys", "org_id = ?1", &[&org], &page, rows::api_key)).await
    }
    async fn update_api_key(&self, key: ApiKey) -> StoreResult<()> {
        self.db.write(move |c| tenants::update_key(c, &key)).await
    }
    async fn delete_api_key(&self, org: &OrgId, id: &ApiKeyId) -> StoreResult<bool> {
        let (org, id) = (org.clone(), id.clone());
        self.db.write(move |c| tenants::delete_key(c, &org, &id)).await
    }

    async fn put_artifact(&self, artifact: Artifact) -> StoreResult<()> {
        self.db.write(move |c| components::put_artifact(c, &artifact)).await
    }
    async fn artifact(&self, id: &str) -> StoreResult<Option<Artifact>> {
        let id = id.to_owned();
        self.db.read(move |c| one(c, "SELECT * FROM artifacts WHERE id = ?1", [id], rows::artifact)).await
    }
    async fn create_component(&self, component: SavedComponent) -> StoreResult<()> {
        self.db.write(move |c| components::create(c, &component)).await
    }
    async fn component(&self, org: &OrgId, id: &ComponentId) -> StoreResult<Option<SavedComponent>> {
        by_id!(self, "components", org, id, rows::component)
    }
    async fn component_by_hash(&self, org: &OrgId, code_hash: &str, artifact: Option<&str>) -> StoreResult<Option<SavedComponent>> {
        let (org, hash, artifact) = (org.to_string(), code_hash.to_owned(), artifact.map(str::to_owned));
        let sql =
            "SELECT * FROM components WHERE org_id = ?1 AND code_hash = ?2 AND (?3 IS NULL OR artifact_id = ?3) ORDER BY created_at DESC, id DESC LIMIT 1";
        self.db.read(move |c| one(c, sql, params![org, hash, artifact], rows::component)).await
    }
    async fn component_by_key(&self, org: &OrgId, key: &str, version: Option<&str>) -> StoreResult<Option<SavedComponent>> {
        let (org, key, version) = (org.to_string(), key.to_owned(), version.map(str::to_owned));
        let sql = "SELECT * FROM components WHERE org_id = ?1 AND key = ?2 AND (published = 1 OR superseded = 1)
                     AND CASE WHEN ?3 IS NULL THEN published = 1 ELSE manifest ->> '$.version' = ?3 END
                   ORDER BY published DESC, created_at DESC, id DESC LIMIT 1";
        self.db.read(move |c| one(c, sql, params![org, key, version], rows::component)).await
    }
    async fn list_components(&self, org: &OrgId, page: &Page) -> StoreResult<Listing<SavedComponent>> {
        let (org, page) = (org.clone(), page.clone());
        self.db.read(move |c| components::published(c, &org, &page)).await
    }
    async fn unpublish_component(&self, org: &OrgId, key: &str) -> StoreResult<()> {
        let (org, key) = (org.clone(), key.to_owned());
        self.db.write(move |c| components::unpublish(c, &org, &key)).await
    }

    async fn put_registry(&self, registry: NewRegistry) -> StoreResult<Registry> {
        self.db.write(move |c| registries::put(c, &registry)).await
    }
    async fn registries(&self, org: &OrgId) -> StoreResult<Vec<Registry>> {
        let org = org.to_string();
        self.db.read(move |c| many(c, "SELECT * FROM registries WHERE org_id = ?1 ORDER BY created_at, id LIMIT 1000", [org], rows::registry)).await
    }
    async fn delete_registry(&self, org: &OrgId, name: &str) -> StoreResult<bool> {
        let (org, name) = (org.clone(), name.to_owned());
        self.db.write(move |c| registries::delete(c, &org, &name)).await
    }
    async fn registry_components(&self, id: &RegistryId) -> StoreResult<Vec<RegistryComponent>> {
        let (id, sql) = (id.to_string(), "SELECT * FROM registry_components WHERE registry_id = ?1 AND until IS NULL ORDER BY path LIMIT 100000");
        self.db.read(move |c| many(c, sql, [id], rows::registry_component)).await
    }
    async fn registry_component(&self, org: &OrgId, key: &str, version: Option<&str>) -> StoreResult<Option<FoundComponent>> {
        let (org, key, version) = (org.clone(), key.to_owned(), version.map(str::to_owned));
        self.db.read(move |c| registries::find(c, &org, &key, version.as_deref())).await
    }
    async fn registry_versions(&self, org: &OrgId, key: &str) -> StoreResult<Vec<String>> {
        let (org, key) = (org.clone(), key.to_owned());
        self.db.read(move |c| registries::versions(c, &org, &key)).await
    }
    async fn registry_files(&self, id: &RegistryId, app: &str, generation: i64) -> StoreResult<Vec<RegistryFile>> {
        let (id, app) = (id.clone(), app.to_owned());
        self.db.read(move |c| registries::files(c, &id, &app, generation)).await
    }

    async fn app_hook_owners(&self, org: &OrgId, app: &str, event_names: &[String]) -> StoreResult<Vec<Owner>> {
        let (org, app, names) = (org.clone(), app.to_owned(), event_names.to_vec());
        self.db.read(move |c| interfaces::app_hook_owners(c, &org, &app, &names)).await
    }
    async fn create_upload(&self, upload: Upload) -> StoreResult<()> {
        self.db.write(move |c| uploads::create(c, &upload)).await
    }
    async fn add_upload_part(&self, id: &UploadId, position: i64, bytes: Vec<u8>) -> StoreResult<()> {
        let id = id.clone();
        self.db.write(move |c| uploads::add_part(c, &id, position, &bytes)).await
    }
    async fn finish_upload(&self, id: &UploadId, size: i64) -> StoreResult<()> {
        let id = id.clone();
        self.db.write(move |c| uploads::finish(c, &id, size)).await
    }
    async fn upload(&self, id: &UploadId) -> StoreResult<Option<Upload>> {
        let id = id.to_string();
        self.db.read(move |c| one(c, "SELECT * FROM uploads WHERE id = ?1", [id], rows::upload)).await
    }
    async fn upload_part(&self, id: &UploadId, position: i64) -> StoreResult<Option<Vec<u8>>> {
        let (id, sql) = (id.to_string(), "SELECT bytes FROM upload_parts WHERE upload_id = ?1 AND position = ?2");
        self.db.read(move |c| one(c, sql, params![id, position], |row| row.get(0).map_err(database))).await
    }
    async fn purge_uploads(&self, now: Timestamp, limit: u32) -> StoreResult<u64> {
        self.db.write(move |c| uploads::purge(c, now, limit)).await
    }

    async fn keep_form(&self, form: Form, most: u32) -> StoreResult<()> {
        self.db.write(move |c| forms::keep(c, &form, most)).await
    }
    async fn form(&self, org: &OrgId, id: &FormId) -> StoreResult<Option<Form>> {
        by_id!(self, "forms", org, id, forms::read)
    }

    async fn keep_files(&self, keep: KeepFiles) -> StoreResult<()> {
        self.db.write(move |c| stored_files::keep(c, &keep)).await
    }
    async fn stored_file(&self, org: &OrgId, store: &str, path: &str) -> StoreResult<Option<StoredFile>> {
        let (org, store, path) = (org.to_string(), store.to_owned(), path.to_owned());
        let sql = "SELECT * FROM stored_files WHERE org_id = ?1 AND store = ?2 AND path = ?3";
        self.db.read(move |c| one(c, sql, [org, store, path], rows::stored_file)).await
    }
    async fn stored_files(&self, org: &OrgId, store: &str, after: &str, limit: u32) -> StoreResult<Vec<StoredFile>> {
        let (org, store, after) = (org.clone(), store.to_owned(), after.to_owned());
        self.db.read(move |c| stored_files::list(c, &org, &store, &after, limit)).await
    }
    async fn file_stores(&self, org: &OrgId) -> StoreResult<Vec<FileStore>> {
        let org = org.clone();
        self.db.read(move |c| stored_files::stores(c, &org)).await
    }
    async fn remove_files(&self, org: &OrgId, store: &str, path: Option<&str>, until: Timestamp) -> StoreResult<u64> {
        let (org, store, path) = (org.clone(), store.to_owned(), path.map(str::to_owned));
        self.db.write(move |c| stored_files::remove(c, org.as_str(), &store, path.as_deref(), until)).await
    }

    async fn data_keys(&self) -> StoreResult<Vec<DataKey>> {
        self.db.read(|c| many(c, "SELECT * FROM data_keys ORDER BY created_at, id", [], rows::data_key)).await
    }
    async fn add_first_data_key(&self, key: DataKey) -> StoreResult<bool> {
        self.db.write(move |c| data_keys::add_first(c, &key)).await
    }
    async fn rewrap_data_keys(&self, from: &str, keys: Vec<DataKey>) -> StoreResult<()> {
        let from = from.to_owned();
        self.db.write(move |c| data_keys::rewrap(c, &from, &keys)).await
    }
    async fn first_organization(&self) -> StoreResult<Option<OrgId>> {
        self.db.read(tenants::first).await
    }

    async fn create_source(&self, source: Source, interfaces: Interfaces) -> StoreResult<()> {
        write_at!(self, "deploy", |c| sources::create(c, &source, &interfaces))
    }
    async fn update_source(&self, source: Source, interfaces: Interfaces) -> StoreResult<()> {
        write_at!(self, "deploy", |c| sources::update(c, &source, &interfaces))
    }
    async fn delete_source(&self, org: &OrgId, id: &SourceId) -> StoreResult<()> {
        let (org, id) = (org.clone(), id.clone());
        write_at!(self, "delete", |c| sources::delete(c, &org, &id))
    }
    async fn source(&self, org: &OrgId, id: &SourceId) -> StoreResult<Option<Source>> {
        by_id!(self, "sources", org, id, rows::source)
    }
    async fn list_sources(&self, org: &OrgId, page: &Page) -> StoreResult<Listing<Source>> {
        let (org, page) = (org.to_string(), page.clone());
        self.db.read(move |c| list(c, "sources", "org_id = ?1", &[&org], &page, rows::source)).await
    }
    async fn source_slugs(&self, org: &OrgId, base: &str) -> StoreResult<Vec<String>> {
        let (org, base) = (org.clone(), base.to_owned());
        self.db.read(move |c| rows::slugs(c, "sources", &org, &base)).await
    }
    async fn interfaces(&self, owner: &str) -> StoreResult<Interfaces> {
        let owner = owner.to_owned();
        self.db.read(move |c| interfaces::of(c, &owner)).await
    }
    async fn source_state(&self, id: &SourceId) -> StoreResult<SourceState> {
        let id = id.clone();
        self.db.read(move |c| sources::state(c, &id)).await
    }
    async fn source_db(&self, id: &SourceId) -> StoreResult<Vec<(String, String)>> {
        let id = id.clone();
        self.db.read(move |c| sources::entries(c, &id)).await
    }

    async fn endpoint(&self, key: &str) -> StoreResult<Option<HttpInterface>> {
        let key = key.to_owned();
        self.db.read(move |c| one(c, "SELECT * FROM http_interfaces WHERE key = ?1", [key], rows::http_interface)).await
    }
    async fn http_interface(&self, org: &OrgId, id: &HttpInterfaceId) -> StoreResult<Option<HttpInterface>> {
        by_id!(self, "http_interfaces", org, id, rows::http_interface)
    }
    async fn create_endpoint_domain(&self, domain: EndpointDomain) -> StoreResult<()> {
        self.db.write(move |c| interfaces::create_domain(c, &domain)).await
    }
    async fn list_endpoint_domains(&self, org: &OrgId, page: &Page) -> StoreResult<Listing<EndpointDomain>> {
        let (org, page) = (org.to_string(), page.clone());
        self.db.read(move |c| list(c, "endpoint_domains", "org_id = ?1", &[&org], &page, rows::endpoint_domain)).await
    }
    async fn delete_endpoint_domain(&self, org: &OrgId, domain: &str) -> StoreResult<bool> {
        let (org, domain) = (org.to_string(), domain.to_owned());
        self.db.write(move |c| Ok(rows::execute(c, "DELETE FROM endpoint_domains WHERE id = ?1 AND org_id = ?2", [domain, org])? > 0)).await
    }
    async fn endpoint_domains(&self) -> StoreResult<Vec<(String, String)>> {
        self.db.read(interfaces::domains).await
    }
    async fn due_timers(&self, now: Timestamp, limit: u32) -> StoreResult<Vec<Timer>> {
        let sql = "SELECT * FROM timers WHERE active = 1 AND next_at <= ?1 ORDER BY next_at LIMIT ?2";
        self.db.read(move |c| many(c, sql, params![now.ms(), limit], rows::timer)).await
    }
    async fn late_timers(&self, after: Timestamp, limit: u32) -> StoreResult<Vec<Timer>> {
        let sql = "SELECT * FROM timers WHERE active = 1 AND next_at > ?1 ORDER BY next_at DESC LIMIT ?2";
        self.db.read(move |c| many(c, sql, params![after.ms(), limit], rows::timer)).await
    }
    async fn move_timer(&self, id: &TimerId, from: Timestamp, to: Timestamp) -> StoreResult<bool> {
        let id = id.clone();
        self.db.write(move |c| clock::move_timer(c, &id, from, to)).await
    }
    async fn clock_went_back(&self, now: Timestamp, by_ms: i64) -> StoreResult<()> {
        self.db.write(move |c| clock::went_back(c, now, by_ms)).await
    }
    async fn next_timer_at(&self) -> StoreResult<Option<Timestamp>> {
        self.db
            .read(|c| one(c, "SELECT next_at FROM timers WHERE active = 1 ORDER BY next_at LIMIT 1", [], |row| row.get(0).map(Timestamp).map_err(database)))
            .await
    }
    async fn fire_timer(&self, id: &TimerId, due_at: Timestamp, next_at: Timestamp, run: NewRun) -> StoreResult<Fired> {
        let id = id.clone();
        write_at!(self, "tick", |c| interfaces::fire(c, &id, due_at, next_at, &run))
    }

    async fn create_workflow(&self, workflow: Workflow) -> StoreResult<()> {
        self.db.write(move |c| workflows::create(c, &workflow)).await
    }
    async fn update_workflow(&self, workflow: Workflow, interfaces: Option<Interfaces>) -> StoreResult<()> {
        self.db.write(move |c| workflows::update(c, &workflow, interfaces.as_ref())).await
    }
    async fn deploy_workflow(&self, deployment: NewDeployment) -> StoreResult<i64> {
        write_at!(self, "deploy", |c| workflows::deploy(c, &deployment))
    }
    async fn delete_workflow(&self, org: &OrgId, id: &WorkflowId) -> StoreResult<()> {
        let (org, id) = (org.clone(), id.clone());
        write_at!(self, "delete", |c| workflows::delete(c, &org, &id))
    }
    async fn workflow(&self, org: &OrgId, id: &WorkflowId) -> StoreResult<Option<Workflow>> {
        by_id!(self, "workflows", org, id, rows::workflow)
    }
    async fn list_workflows(&self, org: &OrgId, page: &Page) -> StoreResult<Listing<Workflow>> {
        let (org, page) = (org.to_string(), page.clone());
        self.db.read(move |c| list(c, "workflows", "org_id = ?1", &[&org], &page, rows::workflow)).await
    }
    async fn workflow_slugs(&self, org: &OrgId, base: &str) -> StoreResult<Vec<String>> {
        let (org, base) = (org.clone(), base.to_owned());
        self.db.read(move |c| rows::slugs(c, "workflows", &org, &base)).await
    }
    async fn deployment(&self, org: &OrgId, id: &DeploymentId) -> StoreResult<Option<Deployment>> {
        by_id!(self, "deployments", org, id, rows::deployment)
    }
    async fn list_deployments(&self, org: &OrgId, id: &WorkflowId, page: &Page) -> StoreResult<Listing<Deployment>> {
        let (org, id, page) = (org.to_string(), id.to_string(), page.clone());
        self.db.read(move |c| list(c, "deployments", "org_id = ?1 AND workflow_id = ?2", &[&org, &id], &page, rows::deployment)).await
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
    async fn list_subscriptions(&self, org: &OrgId) -> StoreResult<Vec<Subscription>> {
        let org = org.to_string();
        self.db
            .read(move |c| many(c, "SELECT * FROM subscriptions WHERE org_id = ?1 ORDER BY created_at DESC, id DESC LIMIT 10000", [org], rows::subscription))
            .await
    }
    async fn subscription(&self, org: &OrgId, id: &SubscriptionId) -> StoreResult<Option<Subscription>> {
        by_id!(self, "subscriptions", org, id, rows::subscription)
    }
    async fn listeners(&self, org: &OrgId, emitters: &[&str], event_name: &str) -> StoreResult<Vec<String>> {
        let (org, event_name) = (org.clone(), event_name.to_owned());
        let emitters: Vec<String> = emitters.iter().map(|e| (*e).to_owned()).collect();
        self.db.read(move |c| subscriptions::listeners(c, &org, &emitters, &event_name)).await
    }

    async fn auto_subscribe(&self, subscription: AutoSubscription) -> StoreResult<AutoSubscription> {
        self.db.write(move |c| subscriptions::auto_subscribe(c, &subscription)).await
    }
    async fn delete_auto_subscription(&self, org: &OrgId, id: &AutoSubscriptionId) -> StoreResult<bool> {
        let (org, id) = (org.to_string(), id.to_string());
        self.db.write(move |c| Ok(rows::execute(c, "DELETE FROM auto_subscriptions WHERE id = ?1 AND org_id = ?2", [id, org])? > 0)).await
    }
    async fn list_auto_subscriptions(&self, org: &OrgId) -> StoreResult<Vec<AutoSubscription>> {
        let org = org.to_string();
        let sql = "SELECT * FROM auto_subscriptions WHERE org_id = ?1 ORDER BY created_at DESC, id DESC LIMIT 10000";
        self.db.read(move |c| many(c, sql, [org], rows::auto_subscription)).await
    }

    async fn create_webhook(&self, webhook: Webhook) -> StoreResult<()> {
        self.db.write(move |c| webhooks::create(c, &webhook)).await
    }
    async fn webhook(&self, org: &OrgId, id: &WebhookId) -> StoreResult<Option<Webhook>> {
        by_id!(self, "webhooks", org, id, rows::webhook)
    }
    async fn list_webhooks(&self, org: &OrgId, page: &Page) -> StoreResult<Listing<Webhook>> {
        let (org, page) = (org.to_string(), page.clone());
        self.db.read(move |c| list(c, "webhooks", "org_id = ?1", &[&org], &page, rows::webhook)).await
    }
    async fn delete_webhook(&self, org: &OrgId, id: &WebhookId) -> StoreResult<bool> {
        let (org, id) = (org.clone(), id.clone());
        self.db.write(move |c| webhooks::delete(c, &org, &id)).await
    }
    async fn due_webhooks(&self, now: Timestamp, limit: u32) -> StoreResult<Vec<Webhook>> {
        self.db.read(move |c| webhooks::due(c, now, limit)).await
    }
    async fn claim_webhook_deliveries(&self, target: &str, now: Timestamp, hidden_until: Timestamp, limit: u32) -> StoreResult<Vec<WebhookDelivery>> {
        let target = target.to_owned();
        write_at!(self, "webhook_claim", |c| webhooks::claim(c, &target, now, hidden_until, limit))
    }
    async fn record_webhook_deliveries(&self, webhook: &WebhookId, tries: Vec<WebhookTry>, health: Health) -> StoreResult<()> {
        let webhook = webhook.clone();
        write_at!(self, "webhook_result", |c| webhooks::record(c, &webhook, &tries, health))
    }
    async fn webhook_delivery(&self, org: &OrgId, id: &WebhookDeliveryId) -> StoreResult<Option<WebhookDelivery>> {
        by_id!(self, "webhook_deliveries", org, id, rows::webhook_delivery)
    }
    async fn list_webhook_deliveries(&self, org: &OrgId, target: &str, status: Option<DeliveryStatus>, page: &Page) -> StoreResult<Listing<WebhookDelivery>> {
        let (org, target, page) = (org.to_string(), target.to_owned(), page.clone());
        let (status, filter) = (status.map_or("", DeliveryStatus::as_str), "org_id = ?1 AND target_id = ?2 AND ?3 IN ('', status)");
        self.db.read(move |c| list(c, "webhook_deliveries", filter, &[&org, &target, status], &page, rows::webhook_delivery)).await
    }
    async fn replay_webhook_deliveries(&self, replay: WebhookReplay) -> StoreResult<u64> {
        self.db.write(move |c| webhooks::replay(c, &replay)).await
    }
    async fn expire_webhook_deliveries(&self, now: Timestamp, limit: u32, error: &str) -> StoreResult<u64> {
        let error = error.to_owned();
        // A look at the queue costs no commit while none is over.
        let over = self.db.read(move |c| number(c, "SELECT EXISTS (SELECT 1 FROM webhook_deliveries WHERE status = 'queued' AND give_up_at < ?1)", [now.ms()]));
        if over.await? == 0 {
            return Ok(0);
        }
        self.db.write(move |c| webhooks::expire(c, now, limit, &error)).await
    }

    async fn accept(&self, run: NewRun, node: &str) -> StoreResult<()> {
        let node = node.to_owned();
        write_at!(self, "accept", |c| runs::insert(c, &run, Some(&node)))
    }
    async fn accept_queued(&self, run: NewRun, queue_max: u32, _node: Option<&str>) -> StoreResult<()> {
        write_at!(self, "accept_queued", |c| limits::accept(c, &run, queue_max))
    }
    async fn claim(&self, claim: Claim<'_>) -> StoreResult<Vec<Run>> {
        let Claim { node, now, lease_until, limit, after, passed_over } = claim;
        let (node, after, passed_over) = (node.to_owned(), after.to_owned(), passed_over.to_vec());
        // A look at the queue costs no commit while it is empty.
        let waiting = self
            .db
            .read(move |c| {
                number(c, "SELECT EXISTS (SELECT 1 FROM runs WHERE status IN ('queued', 'running') AND (status = 'queued' OR lease_until < ?1))", [now.ms()])
            })
            .await?;
        if waiting == 0 {
            return Ok(Vec::new());
        }
        write_at!(self, "claim", |c| runs::claim(c, Claim { node: &node, now, lease_until, limit, after: &after, passed_over: &passed_over }))
    }
    async fn renew(&self, held: &[(RunId, i64)], lease_until: Timestamp) -> StoreResult<Vec<RunId>> {
        let held = held.to_vec();
        write_at!(self, "renew", |c| runs::renew(c, &held, lease_until))
    }
    async fn release(&self, id: &RunId, attempt: i64, count_attempt: bool) -> StoreResult<()> {
        let id = id.clone();
        write_at!(self, "release", |c| runs::release(c, &id, attempt, count_attempt))
    }
    async fn settle(&self, settlement: Settlement) -> StoreResult<()> {
        write_at!(self, "settle", |c| settle::settle(c, &settlement))
    }
    async fn settle_effects(&self, effects: Effects) -> StoreResult<()> {
        self.db.write(move |c| settle::effects(c, &effects)).await
    }
    async fn requeue_running(&self, node: Option<&str>) -> StoreResult<u64> {
        let node = node.map(str::to_owned);
        self.db.write(move |c| runs::requeue_running(c, node.as_deref())).await
    }
    async fn keep_progress(&self, id: &RunId, attempt: i64, result: &str) -> StoreResult<()> {
        let (id, result) = (id.clone(), result.to_owned());
        write_at!(self, "progress", |c| runs::keep_progress(c, &id, attempt, &result))
    }
    async fn cancel_run(&self, org: &OrgId, id: &RunId, now: Timestamp) -> StoreResult<Option<RunStatus>> {
        let (org, id) = (org.clone(), id.clone());
        self.db.write(move |c| pauses::cancel(c, &org, &id, now)).await
    }
    async fn unfinished_runs(&self) -> StoreResult<u64> {
        let count = self.db.read(|c| number(c, "SELECT count(*) FROM runs WHERE status IN ('queued', 'running')", [])).await?;
        Ok(u64::try_from(count).unwrap_or(0))
    }

    async fn pause_run(&self, pausing: Pausing) -> StoreResult<RunStatus> {
        write_at!(self, "pause", |c| pauses::pause(c, &pausing))
    }
    async fn wake_runs(&self, now: Timestamp, limit: u32) -> StoreResult<Woken> {
        // A look at what is due costs no commit while there is nothing.
        if self.db.read(move |c| number(c, "SELECT EXISTS (SELECT 1 FROM pauses WHERE wake_at <= ?1)", [now.ms()])).await? == 0 {
            return Ok(Woken::default());
        }
        write_at!(self, "wake", |c| pauses::wake(c, now, limit))
    }
    async fn next_wake_at(&self) -> StoreResult<Option<Timestamp>> {
        self.db
            .read(|c| {
                one(c, "SELECT wake_at FROM pauses WHERE wake_at IS NOT NULL ORDER BY wake_at LIMIT 1", [], |row| row.get(0).map(Timestamp).map_err(database))
            })
            .await
    }
    async fn call_back(&self, callback: Callback) -> StoreResult<CalledBack> {
        write_at!(self, "call_back", |c| pauses::call_back(c, &callback))
    }
    async fn last_pause(&self, id: &RunId) -> StoreResult<Option<Pause>> {
        let id = id.clone();
        self.db.read(move |c| pauses::last(c, &id)).await
    }

    async fn run(&self, org: &OrgId, id: &RunId) -> StoreResult<Option<Run>> {
        by_id!(self, "runs", org, id, rows::run)
    }
    async fn list_runs(&self, org: &OrgId, owner: &str, filter: &RunFilter, page: &Page) -> StoreResult<Listing<Run>> {
        let (org, owner, filter, page) = (org.clone(), owner.to_owned(), filter.clone(), page.clone());
        self.db.read(move |c| history::runs(c, &org, &owner, &filter, &page)).await
    }
    async fn run_logs(&self, id: &RunId) -> StoreResult<Vec<LogLine>> {
        let id = id.to_string();
        self.db.read(move |c| many(c, "SELECT * FROM logs WHERE run_id = ?1 ORDER BY line", [id], |row| rows::log_line(row).map(|(_, line)| line))).await
    }
    async fn owner_logs(&self, org: &OrgId, owner: &str, limit: u32) -> StoreResult<Vec<(RunId, LogLine)>> {
        let (org, owner) = (org.to_string(), owner.to_owned());
        let mut lines = self
            .db
            .read(move |c| {
                many(
                    c,
                    "SELECT * FROM logs WHERE owner_id = ?1 AND org_id = ?2 ORDER BY at DESC, rowid DESC LIMIT ?3",
                    params![owner, org, limit],
                    rows::log_line,
                )
            })
            .await?;
        lines.reverse();
        Ok(lines)
    }
    async fn list_events(&self, org: &OrgId, emitter: &str, name: Option<&str>, page: &Page) -> StoreResult<Listing<Event>> {
        let (org, emitter, name, page) = (org.clone(), emitter.to_owned(), name.map(str::to_owned), page.clone());
        self.db.read(move |c| history::events(c, &org, &emitter, name.as_deref(), &page)).await
    }
    async fn events_after(&self, org: &OrgId, emitter: &str, after: EventId, limit: u32) -> StoreResult<Vec<Event>> {
        let (org, emitter) = (org.clone(), emitter.to_owned());
        self.db.read(move |c| history::events_after(c, &org, &emitter, after, limit)).await
    }
    async fn due_deferred(&self, now: Timestamp, limit: u32) -> StoreResult<Vec<Event>> {
        self.db.read(move |c| history::due_deferred(c, now, limit)).await
    }
    async fn next_deferred_at(&self) -> StoreResult<Option<Timestamp>> {
        self.db.read(history::next_deferred_at).await
    }
    async fn delete_events(&self, org: &OrgId, emitter: &str, name: Option<&str>, range: (Option<EventId>, Option<EventId>)) -> StoreResult<u64> {
        let (org, emitter, name) = (org.clone(), emitter.to_owned(), name.map(str::to_owned));
        self.db.write(move |c| history::delete_events(c, &org, &emitter, name.as_deref(), range)).await
    }
    async fn history_owners(&self, after: &str, limit: u32) -> StoreResult<Vec<String>> {
        let after = after.to_owned();
        self.db.read(move |c| retention::owners(c, after, limit)).await
    }
    async fn prune(&self, pruning: Pruning) -> StoreResult<u64> {
        let owner = pruning.owner.clone();
        let found = self.db.read(move |c| retention::find(c, &pruning)).await?;
        if found.is_empty() {
            return Ok(0);
        }
        write_at!(self, "prune", |c| retention::prune(c, &owner, &found))
    }
    async fn prune_leftovers(&self, leftovers: Leftovers) -> StoreResult<u64> {
        self.db.write(move |c| retention::prune_leftovers(c, &leftovers)).await
    }
    async fn retention(&self, owner: &str) -> StoreResult<Option<Retention>> {
        let owner = owner.to_owned();
        self.db.read(move |c| retention::of(c, &owner)).await
    }
    async fn put_retention(&self, org: &OrgId, owner: &str, retention: Option<Retention>) -> StoreResult<()> {
        let (org, owner) = (org.clone(), owner.to_owned());
        self.db.write(move |c| retention::put(c, &org, &owner, retention)).await
    }
    async fn export(&self, org: &OrgId, filter: ExportFilter, out: tokio::sync::mpsc::Sender<Exported>) -> StoreResult<()> {
        let org = org.clone();
        self.db.read_aside(move |c| export::export(c, &org, &filter, &out)).await
    }

    async fn record_audit(&self, record: AuditRecord) -> StoreResult<()> {
        self.db.write(move |c| audit::record(c, &record)).await
    }
    async fn forget_audit(&self, org: &OrgId, id: &AuditId) -> StoreResult<()> {
        let (org, id) = (org.clone(), id.clone());
        self.db.write(move |c| audit::forget(c, &org, &id)).await
    }
    async fn list_audit(&self, org: &OrgId, page: &Page) -> StoreResult<Listing<AuditRecord>> {
        let (org, page) = (org.to_string(), page.clone());
        self.db.read(move |c| list(c, "audit", "org_id = ?1", &[&org], &page, audit::read)).await
    }
    async fn create_oauth_client(&self, client: OauthClient) -> StoreResult<()> {
        self.db.write(move |c| oauth_clients::create(c, &client)).await
    }
    async fn oauth_client(&self, id: &OauthClientId) -> StoreResult<Option<OauthClient>> {
        let id = id.to_string();
        self.db.read(move |c| one(c, "SELECT * FROM oauth_clients WHERE id = ?1", [id], oauth_clients::read)).await
    }
    async fn list_oauth_clients(&self, org: &OrgId, page: &Page) -> StoreResult<Listing<OauthClient>> {
        let (org, page) = (org.to_string(), page.clone());
        self.db.read(move |c| list(c, "oauth_clients", "org_id = ?1", &[&org], &page, oauth_clients::read)).await
    }
    async fn delete_oauth_client(&self, org: &OrgId, id: &OauthClientId) -> StoreResult<bool> {
        let (org, id) = (org.to_string(), id.to_string());
        self.db.write(move |c| Ok(rows::execute(c, "DELETE FROM oauth_clients WHERE id = ?1 AND org_id = ?2", [id, org])? > 0)).await
    }
    async fn put_oauth_token(&self, token: OauthToken) -> StoreResult<()> {
        self.db.write(move |c| oauth_clients::put_token(c, &token)).await
    }
    async fn caller_by_token_hash(&self, token_hash: &str) -> StoreResult<Option<Caller>> {
        let hash = token_hash.to_owned();
        self.db.read(move |c| oauth_clients::caller(c, &hash)).await
    }
    async fn delete_oauth_token(&self, client: &OauthClientId, token_hash: &str) -> StoreResult<bool> {
        let (client, hash) = (client.to_string(), token_hash.to_owned());
        self.db.write(move |c| Ok(rows::execute(c, "DELETE FROM oauth_tokens WHERE token_hash = ?2 AND client_id = ?1", [client, hash])? > 0)).await
    }
    async fn list_error_groups(&self, org: &OrgId, owner: Option<&str>, page: &Page) -> StoreResult<Listing<ErrorGroup>> {
        let (org, owner, page) = (org.clone(), owner.map(str::to_owned), page.clone());
        self.db.read(move |c| errors::groups(c, &org, owner.as_deref(), &page)).await
    }
    async fn error_group(&self, org: &OrgId, id: &ErrorGroupId) -> StoreResult<Option<ErrorGroup>> {
        by_id!(self, "error_groups", org, id, rows::error_group)
    }
    async fn failed_runs(&self, which: &FailedRuns) -> StoreResult<Vec<Run>> {
        let which = which.clone();
        self.db.read(move |c| errors::failed(c, &which)).await
    }
    async fn count_failed_runs(&self, which: &FailedRuns) -> StoreResult<u64> {
        let which = which.clone();
        self.db.read(move |c| errors::count_failed(c, &which)).await
    }
    async fn create_replay(&self, replay: Replay) -> StoreResult<()> {
        self.db.write(move |c| replays::create(c, &replay)).await
    }
    async fn replay(&self, org: &OrgId, id: &ReplayId) -> StoreResult<Option<Replay>> {
        by_id!(self, "replays", org, id, rows::replay)
    }
    async fn list_replays(&self, org: &OrgId, page: &Page) -> StoreResult<Listing<Replay>> {
        let (org, page) = (org.to_string(), page.clone());
        self.db.read(move |c| list(c, "replays", "org_id = ?1", &[&org], &page, rows::replay)).await
    }
    async fn running_replays(&self, limit: u32) -> StoreResult<Vec<Replay>> {
        self.db.read(move |c| replays::running(c, limit)).await
    }
    async fn step_replay(&self, step: ReplayStep) -> StoreResult<()> {
        self.db.write(move |c| replays::step(c, &step)).await
    }
    async fn replay_counts(&self, id: &ReplayId) -> StoreResult<ReplayCounts> {
        let id = id.clone();
        self.db.read(move |c| replays::counts(c, &id)).await
    }
    async fn replay_under_way(&self, id: &ReplayId) -> StoreResult<u64> {
        let id = id.clone();
        self.db.read(move |c| replays::under_way(c, &id)).await
    }
    async fn replayed_runs(&self, id: &ReplayId, page: &Page) -> StoreResult<Listing<ReplayedRun>> {
        let (id, page) = (id.clone(), page.clone());
        self.db.read(move |c| replays::replayed(c, &id, &page)).await
    }
    async fn put_app(&self, app: App) -> StoreResult<()> {
        self.db.write(move |c| accounts::put_app(c, &app)).await
    }
    async fn app(&self, org: &OrgId, slug: &str) -> StoreResult<Option<App>> {
        let (org, slug) = (org.to_string(), slug.to_owned());
        self.db.read(move |c| one(c, "SELECT * FROM apps WHERE org_id = ?1 AND name_slug = ?2", [org, slug], rows::app)).await
    }
    async fn list_apps(&self, org: &OrgId) -> StoreResult<Vec<App>> {
        let org = org.to_string();
        self.db.read(move |c| many(c, "SELECT * FROM apps WHERE org_id = ?1 ORDER BY name_slug LIMIT 10000", [org], rows::app)).await
    }
    async fn create_account(&self, account: Account) -> StoreResult<()> {
        self.db.write(move |c| accounts::create(c, &account)).await
    }
    async fn update_account(&self, account: Account) -> StoreResult<()> {
        self.db.write(move |c| accounts::update(c, &account)).await
    }
    async fn delete_account(&self, org: &OrgId, id: &AccountId) -> StoreResult<bool> {
        let (org, id) = (org.clone(), id.clone());
        self.db.write(move |c| accounts::delete(c, &org, &id)).await
    }
    async fn account(&self, org: &OrgId, id: &AccountId) -> StoreResult<Option<Account>> {
        by_id!(self, "accounts", org, id, rows::account)
    }
    async fn list_accounts(&self, org: &OrgId, app: Option<&str>, page: &Page) -> StoreResult<Listing<Account>> {
        let (org, app, page) = (org.to_string(), app.unwrap_or_default().to_owned(), page.clone());
        self.db.read(move |c| list(c, "accounts", "org_id = ?1 AND ?2 IN ('', app)", &[&org, &app], &page, rows::account)).await
    }
    async fn create_data_store(&self, store: DataStore) -> StoreResult<()> {
        self.db.write(move |c| data_stores::create(c, &store)).await
    }
    async fn rename_data_store(&self, org: &OrgId, id: &DataStoreId, name: &str, now: Timestamp) -> StoreResult<()> {
        let (org, id, name) = (org.clone(), id.clone(), name.to_owned());
        self.db.write(move |c| data_stores::rename(c, &org, &id, &name, now)).await
    }
    async fn delete_data_store(&self, org: &OrgId, id: &DataStoreId) -> StoreResult<bool> {
        let (org, id) = (org.clone(), id.clone());
        self.db.write(move |c| data_stores::delete(c, &org, &id)).await
    }
    async fn data_store(&self, org: &OrgId, id: &DataStoreId) -> StoreResult<Option<DataStore>> {
        by_id!(self, "data_stores", org, id, rows::data_store)
    }
    async fn data_store_by_name(&self, org: &OrgId, name: &str) -> StoreResult<Option<DataStore>> {
        let (org, name) = (org.to_string(), name.to_owned());
        self.db.read(move |c| one(c, "SELECT * FROM data_stores WHERE org_id = ?1 AND name = ?2", [org, name], rows::data_store)).await
    }
    async fn list_data_stores(&self, org: &OrgId, page: &Page) -> StoreResult<Listing<DataStore>> {
        let (org, page) = (org.to_string(), page.clone());
        self.db.read(move |c| list(c, "data_stores", "org_id = ?1", &[&org], &page, rows::data_store)).await
    }
    async fn data_store_entry(&self, id: &DataStoreId, key: &str, now: Timestamp) -> StoreResult<Option<DataStoreEntry>> {
        let (id, key) = (id.to_string(), key.to_owned());
        let sql = "SELECT * FROM data_store_entries WHERE store_id = ?1 AND key = ?2 AND (expires_at IS NULL OR expires_at > ?3)";
        self.db.read(move |c| one(c, sql, params![id, key, now.ms()], rows::data_store_entry)).await
    }
    async fn data_store_set(&self, write: DataStoreWrite) -> StoreResult<()> {
        self.db.write(move |c| data_stores::set(c, &write)).await
    }
    async fn data_store_expire(&self, id: &DataStoreId, key: &str, expires_at: Option<Timestamp>, now: Timestamp) -> StoreResult<bool> {
        let (id, key) = (id.clone(), key.to_owned());
        self.db.write(move |c| data_stores::expire(c, &id, &key, expires_at, now)).await
    }
    async fn data_store_delete(&self, id: &DataStoreId, key: &str) -> StoreResult<bool> {
        let (id, key) = (id.clone(), key.to_owned());
        self.db.write(move |c| data_stores::delete_key(c, &id, &key)).await
    }
    async fn data_store_clear(&self, id: &DataStoreId) -> StoreResult<()> {
        let id = id.clone();
        self.db.write(move |c| data_stores::clear(c, &id)).await
    }
    async fn data_store_size(&self, id: &DataStoreId, now: Timestamp) -> StoreResult<u64> {
        let id = id.to_string();
        let sql = "SELECT count(*) FROM data_store_entries WHERE store_id = ?1 AND (expires_at IS NULL OR expires_at > ?2)";
        let count = self.db.read(move |c| number(c, sql, params![id, now.ms()])).await?;
        Ok(u64::try_from(count).unwrap_or(0))
    }
    async fn data_store_keys(&self, id: &DataStoreId, page: DataStorePage) -> StoreResult<Vec<String>> {
        let id = id.clone();
        self.db.read(move |c| data_stores::keys(c, &id, &page)).await
    }
    async fn data_store_entries(&self, id: &DataStoreId, page: DataStorePage, bytes_max: usize) -> StoreResult<Vec<DataStoreEntry>> {
        let id = id.clone();
        self.db.read(move |c| data_stores::entries(c, &id, &page, bytes_max)).await
    }
    async fn purge_data_stores(&self, now: Timestamp, limit: u32) -> StoreResult<u64> {
        self.db.write(move |c| data_stores::purge(c, now, limit)).await
    }
    async fn claim_deliveries(&self, now: Timestamp, retry_at: Timestamp, limit: u32) -> StoreResult<Vec<Delivery>> {
        if !self.db.read(move |c| deliveries::any_due(c, now)).await? {
            return Ok(Vec::new());
        }
        write_at!(self, "delivery_claim", |c| deliveries::claim(c, now, retry_at, limit))
    }
    async fn delivery_result(&self, id: &DeliveryId, result: DeliveryResult) -> StoreResult<()> {
        let id = id.clone();
        write_at!(self, "delivery_result", |c| deliveries::result(c, &id, &result))
    }
    async fn run_deliveries(&self, run: &RunId) -> StoreResult<Vec<Delivery>> {
        let run = run.to_string();
        self.db.read(move |c| many(c, "SELECT * FROM deliveries WHERE run_id = ?1 ORDER BY position", [run], rows::delivery)).await
    }

    async fn queue_mail(&self, mail: Mail) -> StoreResult<()> {
        write_at!(self, "mail", |c| mail::queue(c, &mail))
    }
    async fn claim_mail(&self, now: Timestamp, retry_at: Timestamp, limit: u32) -> StoreResult<Vec<Mail>> {
        write_at!(self, "mail_claim", |c| mail::claim(c, now, retry_at, limit))
    }
    async fn mail_result(&self, id: &MailId, result: MailResult) -> StoreResult<()> {
        let id = id.clone();
        write_at!(self, "mail_result", |c| mail::result(c, &id, &result))
    }
    async fn list_mail(&self, org: &OrgId, page: &Page) -> StoreResult<Listing<Mail>> {
        let (org, page) = (org.to_string(), page.clone());
        self.db.read(move |c| list(c, "mail", "org_id = ?1", &[&org], &page, rows::mail)).await
    }

    async fn close(&self) {
        self.db.close().await;
    }
    async fn ping(&self) -> StoreResult<()> {
        self.db.read(|c| number(c, "SELECT 1", []).map(|_| ())).await?;
        match self.condition() {
            // Nothing else may be written meanwhile that would tell that it works again.
            Condition::Full | Condition::Failing => self.db.write(crate::db::probe).await,
            _ => Ok(()),
        }
    }
    fn condition(&self) -> Condition {
        self.db.condition()
    }
    fn single_node(&self) -> bool {
        true
    }
}
