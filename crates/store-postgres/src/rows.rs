//! Rows to the product's records. A row that does not fit is an error, never a panic.

use std::borrow::Cow;

use deadpool_postgres::{Client, GenericClient};
use millrace_model::account::{Account, App};
use millrace_model::clock::Timestamp;
use millrace_model::component::{Artifact, ComponentType, SavedComponent};
use millrace_model::data_store::DataStore;
use millrace_model::domain::EndpointDomain;
use millrace_model::error_event::ErrorGroup;
use millrace_model::event::Event;
use millrace_model::file::StoredFile;
use millrace_model::ids::*;
use millrace_model::page::{Listing, Page};
use millrace_model::registry::{Registry, RegistryComponent, RegistryFile};
use millrace_model::replay::{Replay, ReplayStatus, ReplayedRun};
use millrace_model::run::{LogLevel, LogLine, Run, RunKind, RunStatus};
use millrace_model::source::{AppHook, HttpInterface, Owner, Source, Timer};
use millrace_model::subscription::{AutoSubscription, Subscription};
use millrace_model::tenant::{ApiKey, Organization, Scopes, User};
use millrace_model::upload::Upload;
use millrace_model::webhook::{Health, Webhook, WebhookDelivery};
use millrace_model::workflow::{Deployment, Workflow};
use millrace_store::{DataKey, DataStoreEntry, Delivery, DeliveryKind, DeliveryStatus, FoundComponent, LATEST, Mail, MailStatus, StoreError, StoreResult};
use serde::de::DeserializeOwned;
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, ToSql};

use crate::db::{database, text};

// Columns by name, where SQLite has `*`: a statement that was prepared as `*` fails once a newer server adds a column.
pub(crate) const ORGANIZATION: &str = "id, name, orgname, email, error_recipients, project_id, created_at";
pub(crate) const USER: &str = "id, org_id, username, email, created_at";
pub(crate) const API_KEY: &str = "id, org_id, user_id, name, key_hash, scopes, rate_per_minute, expires_at, old_key_hash, old_until, created_at";
pub(crate) const ARTIFACT: &str = "id, code, source_map, package_lock, uses_respond";
pub(crate) const COMPONENT: &str = "id, org_id, code, code_hash, url, component_type, manifest, artifact_id, published, created_at, updated_at, files";
pub(crate) const SOURCE: &str =
    "id, org_id, user_id, component_id, name, name_slug, configured_props, active, inactive_reason, created_at, updated_at, dynamic_props, made_from";
pub(crate) const HTTP_INTERFACE: &str = "id, org_id, owner_id, key, custom_response, active";
pub(crate) const TIMER: &str = "id, org_id, owner_id, schedule, next_at, active";
pub(crate) const WORKFLOW: &str = "id, org_id, project_id, name, name_slug, active, draft, deployment_id, created_at, updated_at, made_from";
pub(crate) const DEPLOYMENT: &str = "id, org_id, workflow_id, version, content, created_at";
pub(crate) const SUBSCRIPTION: &str = "id, org_id, emitter_id, listener_id, event_name, from_trigger, created_at";
pub(crate) const AUTO_SUBSCRIPTION: &str = "id, org_id, listener_id, event_name, created_at";
pub(crate) const WEBHOOK: &str = "id, org_id, user_id, name, description, url, secret, active, failures, paused_until, created_at, updated_at";
pub(crate) const WEBHOOK_DELIVERY: &str =
    "id, org_id, target_id, event_key, body, traceparent, status, attempts, last_status, last_error, next_at, give_up_at, created_at";
pub(crate) const RUN: &str =
    "id, org_id, owner_id, deployment_id, kind, trigger_id, event, context, status, attempt, created_at, started_at, finished_at, result, error";
pub(crate) const LOG_LINE: &str = "run_id, at, level, text";
pub(crate) const EVENT: &str = "emitter_id, ordinal, org_id, name, emit_id, payload, metadata";
pub(crate) const APP: &str = "id, org_id, name_slug, definition, created_at, updated_at";
pub(crate) const ACCOUNT: &str = "id, org_id, app, name, credentials, healthy, problem, expires_at, version, created_at, updated_at";
pub(crate) const REGISTRY: &str = "id, org_id, name, origin, revision, file_count, component_count, created_at, updated_at";
pub(crate) const REGISTRY_COMPONENT: &str = "registry_id, path, key, name, description, version, component_type, app, hash";
pub(crate) const APP_HOOK: &str = "org_id, owner_id, app, event_name, active";
pub(crate) const STORED_FILE: &str = "org_id, store, path, upload_id, size, updated_at";
pub(crate) const UPLOAD: &str = "id, org_id, file_name, media_type, size, expires_at";
pub(crate) const DATA_KEY: &str = "id, master_id, wrapped, created_at";
pub(crate) const REGISTRY_FILE: &str = "path, hash, code";
pub(crate) const DATA_STORE: &str = "id, org_id, name, keys, bytes, created_at, updated_at";
pub(crate) const DELIVERY: &str =
    "id, org_id, owner_id, run_id, position, kind, payload, status, attempts, response_status, last_error, created_at, finished_at";
pub(crate) const ENDPOINT_DOMAIN: &str = "id, org_id, endpoint_id, created_at";
pub(crate) const ERROR_GROUP: &str = "id, org_id, owner_id, class, step, frame, message, last_run_id, first_at, last_at, count";
pub(crate) const REPLAY: &str = "id, org_id, owner_id, selection, status, version, position, total, replayed, skipped, note, created_at, updated_at";
pub(crate) const MAIL: &str = "id, org_id, recipient, subject, text, html, status, attempts, last_error, created_at";

/// Tables that grow with what happens, and up to what number a list of them is counted: as runs are.
const LONG: [&str; 3] = ["audit", "mail", "webhook_deliveries"];
const COUNTED_MAX: i64 = 1_000;

/// Reads a column.
fn get<'a, T: FromSql<'a>>(row: &'a Row, column: &str) -> StoreResult<T> {
    row.try_get(column).map_err(database)
}

fn time(row: &Row, column: &str) -> StoreResult<Timestamp> {
    get(row, column).map(Timestamp)
}

fn json<T: DeserializeOwned>(row: &Row, column: &str) -> StoreResult<T> {
    serde_json::from_str(get(row, column)?).map_err(|e| StoreError::Corrupt { what: format!("the column {column}: {e}") })
}

fn optional_json<T: DeserializeOwned>(row: &Row, column: &str) -> StoreResult<Option<T>> {
    match get::<Option<&str>>(row, column)? {
        Some(_) => json(row, column).map(Some),
        None => Ok(None),
    }
}

/// A text that is kept as BYTEA (see the schema).
fn utf8(row: &Row, column: &str) -> StoreResult<String> {
    String::from_utf8(get(row, column)?).map_err(|_| corrupt(column))
}

pub(crate) fn corrupt(column: &str) -> StoreError {
    StoreError::Corrupt { what: format!("the column {column}") }
}

pub(crate) fn organization(row: &Row) -> StoreResult<Organization> {
    Ok(Organization {
        id: OrgId::from_row(get(row, "id")?),
        name: get(row, "name")?,
        orgname: get(row, "orgname")?,
        email: get(row, "email")?,
        error_recipients: json(row, "error_recipients")?,
        project_id: ProjectId::from_row(get(row, "project_id")?),
        created_at: time(row, "created_at")?,
    })
}

pub(crate) fn user(row: &Row) -> StoreResult<User> {
    Ok(User {
        id: UserId::from_row(get(row, "id")?),
        org_id: OrgId::from_row(get(row, "org_id")?),
        username: get(row, "username")?,
        email: get(row, "email")?,
        created_at: time(row, "created_at")?,
    })
}

pub(crate) fn api_key(row: &Row) -> StoreResult<ApiKey> {
    let old = get::<Option<String>>(row, "old_key_hash")?.zip(get::<Option<i64>>(row, "old_until")?.map(Timestamp));
    Ok(ApiKey {
        id: ApiKeyId::from_row(get(row, "id")?),
        org_id: OrgId::from_row(get(row, "org_id")?),
        user_id: UserId::from_row(get(row, "user_id")?),
        name: get(row, "name")?,
        key_hash: get(row, "key_hash")?,
        scopes: Scopes::parse(&get::<String>(row, "scopes")?).ok().flatten().ok_or_else(|| corrupt("scopes"))?,
        rate_per_minute: get::<Option<i64>>(row, "rate_per_minute")?.and_then(|rate| u32::try_from(rate).ok()),
        expires_at: get::<Option<i64>>(row, "expires_at")?.map(Timestamp),
        old,
        created_at: time(row, "created_at")?,
    })
}

pub(crate) fn artifact(row: &Row) -> StoreResult<Artifact> {
    Ok(Artifact {
        id: get(row, "id")?,
        code: utf8(row, "code")?,
        source_map: get(row, "source_map")?,
        lock: get(row, "package_lock")?,
        uses_respond: get(row, "uses_respond")?,
    })
}

pub(crate) fn component(row: &Row) -> StoreResult<SavedComponent> {
    let kind: String = get(row, "component_type")?;
    Ok(SavedComponent {
        id: ComponentId::from_row(get(row, "id")?),
        org_id: OrgId::from_row(get(row, "org_id")?),
        code: utf8(row, "code")?,
        code_hash: get(row, "code_hash")?,
        files: optional_json(row, "files")?,
        url: get(row, "url")?,
        component_type: if kind == "action" { ComponentType::Action } else { ComponentType::Source },
        manifest: json(row, "manifest")?,
        artifact_id: get(row, "artifact_id")?,
        published: get(row, "published")?,
        created_at: time(row, "created_at")?,
        updated_at: time(row, "updated_at")?,
    })
}

pub(crate) fn source(row: &Row) -> StoreResult<Source> {
    Ok(Source {
        id: SourceId::from_row(get(row, "id")?),
        org_id: OrgId::from_row(get(row, "org_id")?),
        user_id: UserId::from_row(get(row, "user_id")?),
        component_id: ComponentId::from_row(get(row, "component_id")?),
        name: get(row, "name")?,
        name_slug: get(row, "name_slug")?,
        dynamic_props: optional_json(row, "dynamic_props")?,
        made_from: optional_json(row, "made_from")?,
        configured_props: json(row, "configured_props")?,
        active: get(row, "active")?,
        inactive_reason: get(row, "inactive_reason")?,
        created_at: time(row, "created_at")?,
        updated_at: time(row, "updated_at")?,
    })
}

pub(crate) fn app(row: &Row) -> StoreResult<App> {
    Ok(App {
        id: AppId::from_row(get(row, "id")?),
        org_id: Some(OrgId::from_row(get(row, "org_id")?)),
        name_slug: get(row, "name_slug")?,
        definition: json(row, "definition")?,
        created_at: time(row, "created_at")?,
        updated_at: time(row, "updated_at")?,
    })
}

pub(crate) fn account(row: &Row) -> StoreResult<Account> {
    Ok(Account {
        id: AccountId::from_row(get(row, "id")?),
        org_id: OrgId::from_row(get(row, "org_id")?),
        app: get(row, "app")?,
        name: get(row, "name")?,
        credentials: get(row, "credentials")?,
        healthy: get(row, "healthy")?,
        problem: get(row, "problem")?,
        expires_at: get::<Option<i64>>(row, "expires_at")?.map(Timestamp),
        version: get(row, "version")?,
        created_at: time(row, "created_at")?,
        updated_at: time(row, "updated_at")?,
    })
}

pub(crate) fn http_interface(row: &Row) -> StoreResult<HttpInterface> {
    Ok(HttpInterface {
        id: HttpInterfaceId::from_row(get(row, "id")?),
        org_id: OrgId::from_row(get(row, "org_id")?),
        owner: Owner::from_row(get(row, "owner_id")?),
        key: get(row, "key")?,
        custom_response: get(row, "custom_response")?,
        active: get(row, "active")?,
    })
}

pub(crate) fn endpoint_domain(row: &Row) -> StoreResult<EndpointDomain> {
    Ok(EndpointDomain {
        id: get(row, "id")?,
        org_id: OrgId::from_row(get(row, "org_id")?),
        endpoint_id: HttpInterfaceId::from_row(get(row, "endpoint_id")?),
        created_at: time(row, "created_at")?,
    })
}

pub(crate) fn timer(row: &Row) -> StoreResult<Timer> {
    Ok(Timer {
        id: TimerId::from_row(get(row, "id")?),
        org_id: OrgId::from_row(get(row, "org_id")?),
        owner: Owner::from_row(get(row, "owner_id")?),
        schedule: json(row, "schedule")?,
        next_at: time(row, "next_at")?,
        active: get(row, "active")?,
    })
}

pub(crate) fn workflow(row: &Row) -> StoreResult<Workflow> {
    Ok(Workflow {
        id: WorkflowId::from_row(get(row, "id")?),
        org_id: OrgId::from_row(get(row, "org_id")?),
        project_id: ProjectId::from_row(get(row, "project_id")?),
        name: get(row, "name")?,
        name_slug: get(row, "name_slug")?,
        active: get(row, "active")?,
        draft: json(row, "draft")?,
        deployment_id: get::<Option<String>>(row, "deployment_id")?.map(DeploymentId::from_row),
        made_from: optional_json(row, "made_from")?,
        created_at: time(row, "created_at")?,
        updated_at: time(row, "updated_at")?,
    })
}

pub(crate) fn deployment(row: &Row) -> StoreResult<Deployment> {
    Ok(Deployment {
        id: DeploymentId::from_row(get(row, "id")?),
        org_id: OrgId::from_row(get(row, "org_id")?),
        workflow_id: WorkflowId::from_row(get(row, "workflow_id")?),
        version: get(row, "version")?,
        content: json(row, "content")?,
        created_at: time(row, "created_at")?,
    })
}

pub(crate) fn subscription(row: &Row) -> StoreResult<Subscription> {
    Ok(Subscription {
        id: SubscriptionId::from_row(get(row, "id")?),
        org_id: OrgId::from_row(get(row, "org_id")?),
        emitter_id: get(row, "emitter_id")?,
        listener_id: get(row, "listener_id")?,
        event_name: get(row, "event_name")?,
        from_trigger: get(row, "from_trigger")?,
        created_at: time(row, "created_at")?,
    })
}

pub(crate) fn webhook(row: &Row) -> StoreResult<Webhook> {
    Ok(Webhook {
        id: WebhookId::from_row(get(row, "id")?),
        org_id: OrgId::from_row(get(row, "org_id")?),
        user_id: UserId::from_row(get(row, "user_id")?),
        name: get(row, "name")?,
        description: get(row, "description")?,
        url: get(row, "url")?,
        secret: get(row, "secret")?,
        active: get(row, "active")?,
        health: Health {
            failures: u32::try_from(get::<i64>(row, "failures")?).map_err(|_| corrupt("failures"))?,
            paused_until: get::<Option<i64>>(row, "paused_until")?.map(Timestamp),
        },
        created_at: time(row, "created_at")?,
        updated_at: time(row, "updated_at")?,
    })
}

pub(crate) fn webhook_delivery(row: &Row) -> StoreResult<WebhookDelivery> {
    Ok(WebhookDelivery {
        id: WebhookDeliveryId::from_row(get(row, "id")?),
        org_id: OrgId::from_row(get(row, "org_id")?),
        target_id: get(row, "target_id")?,
        event_key: get(row, "event_key")?,
        body: get(row, "body")?,
        traceparent: get(row, "traceparent")?,
        status: DeliveryStatus::parse(&get::<String>(row, "status")?).ok_or_else(|| corrupt("status"))?,
        attempts: u32::try_from(get::<i64>(row, "attempts")?).map_err(|_| corrupt("attempts"))?,
        last_status: get::<Option<i64>>(row, "last_status")?.and_then(|status| u16::try_from(status).ok()),
        last_error: get(row, "last_error")?,
        next_at: time(row, "next_at")?,
        give_up_at: time(row, "give_up_at")?,
        created_at: time(row, "created_at")?,
    })
}

pub(crate) fn auto_subscription(row: &Row) -> StoreResult<AutoSubscription> {
    Ok(AutoSubscription {
        id: AutoSubscriptionId::from_row(get(row, "id")?),
        org_id: OrgId::from_row(get(row, "org_id")?),
        listener_id: get(row, "listener_id")?,
        event_name: get(row, "event_name")?,
        created_at: time(row, "created_at")?,
    })
}

pub(crate) fn run(row: &Row) -> StoreResult<Run> {
    Ok(Run {
        id: RunId::from_row(get(row, "id")?),
        org_id: OrgId::from_row(get(row, "org_id")?),
        owner: Owner::from_row(get(row, "owner_id")?),
        deployment_id: get::<Option<String>>(row, "deployment_id")?.map(DeploymentId::from_row),
        kind: RunKind::parse(get(row, "kind")?).ok_or_else(|| corrupt("kind"))?,
        trigger_id: get(row, "trigger_id")?,
        event: get(row, "event")?,
        context: get(row, "context")?,
        status: RunStatus::parse(get(row, "status")?).ok_or_else(|| corrupt("status"))?,
        attempt: get(row, "attempt")?,
        created_at: time(row, "created_at")?,
        started_at: get::<Option<i64>>(row, "started_at")?.map(Timestamp),
        finished_at: get::<Option<i64>>(row, "finished_at")?.map(Timestamp),
        result: get(row, "result")?,
        error: get(row, "error")?,
    })
}

pub(crate) fn log_line(row: &Row) -> StoreResult<(RunId, LogLine)> {
    let line = LogLine { at: time(row, "at")?, level: LogLevel::parse(get(row, "level")?), text: get(row, "text")? };
    Ok((RunId::from_row(get(row, "run_id")?), line))
}

pub(crate) fn event(row: &Row) -> StoreResult<Event> {
    Ok(Event {
        id: EventId::from_ordinal(get(row, "ordinal")?),
        org_id: OrgId::from_row(get(row, "org_id")?),
        emitter_id: get(row, "emitter_id")?,
        name: get(row, "name")?,
        emit_id: get(row, "emit_id")?,
        payload: get(row, "payload")?,
        metadata: get(row, "metadata")?,
    })
}

pub(crate) fn app_hook(row: &Row) -> StoreResult<AppHook> {
    Ok(AppHook {
        org_id: OrgId::from_row(get(row, "org_id")?),
        owner: Owner::from_row(get(row, "owner_id")?),
        app: get(row, "app")?,
        event_name: get(row, "event_name")?,
        active: get(row, "active")?,
    })
}

pub(crate) fn upload(row: &Row) -> StoreResult<Upload> {
    Ok(Upload {
        id: UploadId::from_row(get(row, "id")?),
        org_id: OrgId::from_row(get(row, "org_id")?),
        file_name: get(row, "file_name")?,
        media_type: get(row, "media_type")?,
        size: get(row, "size")?,
        expires_at: time(row, "expires_at")?,
    })
}

pub(crate) fn stored_file(row: &Row) -> StoreResult<StoredFile> {
    Ok(StoredFile {
        org_id: OrgId::from_row(get(row, "org_id")?),
        store: get(row, "store")?,
        path: get(row, "path")?,
        upload_id: UploadId::from_row(get(row, "upload_id")?),
        size: get(row, "size")?,
        updated_at: time(row, "updated_at")?,
    })
}

pub(crate) fn data_key(row: &Row) -> StoreResult<DataKey> {
    Ok(DataKey {
        id: DataKeyId::from_row(get(row, "id")?),
        master_id: get(row, "master_id")?,
        wrapped: get(row, "wrapped")?,
        created_at: time(row, "created_at")?,
    })
}

pub(crate) fn error_group(row: &Row) -> StoreResult<ErrorGroup> {
    Ok(ErrorGroup {
        id: ErrorGroupId::from_row(get(row, "id")?),
        org_id: OrgId::from_row(get(row, "org_id")?),
        owner: get(row, "owner_id")?,
        class: get(row, "class")?,
        step: get(row, "step")?,
        frame: get(row, "frame")?,
        message: get(row, "message")?,
        last_run_id: RunId::from_row(get(row, "last_run_id")?),
        first_at: time(row, "first_at")?,
        last_at: time(row, "last_at")?,
        count: get(row, "count")?,
    })
}

pub(crate) fn replay(row: &Row) -> StoreResult<Replay> {
    Ok(Replay {
        id: ReplayId::from_row(get(row, "id")?),
        org_id: OrgId::from_row(get(row, "org_id")?),
        owner: get(row, "owner_id")?,
        selection: json(row, "selection")?,
        status: ReplayStatus::parse(get(row, "status")?).ok_or_else(|| corrupt("status"))?,
        version: get(row, "version")?,
        position: json(row, "position")?,
        total: get(row, "total")?,
        replayed: get(row, "replayed")?,
        skipped: get(row, "skipped")?,
        note: get(row, "note")?,
        created_at: time(row, "created_at")?,
        updated_at: time(row, "updated_at")?,
    })
}

pub(crate) fn replayed_run(row: &Row) -> StoreResult<ReplayedRun> {
    Ok(ReplayedRun {
        original_id: RunId::from_row(get(row, "original_id")?),
        run_id: RunId::from_row(get(row, "run_id")?),
        status: get::<Option<&str>>(row, "status")?.map(|text| RunStatus::parse(text).ok_or_else(|| corrupt("status"))).transpose()?,
    })
}

pub(crate) fn mail(row: &Row) -> StoreResult<Mail> {
    Ok(Mail {
        id: MailId::from_row(get(row, "id")?),
        org_id: OrgId::from_row(get(row, "org_id")?),
        recipient: get(row, "recipient")?,
        subject: get(row, "subject")?,
        text: get(row, "text")?,
        html: get(row, "html")?,
        status: MailStatus::parse(get(row, "status")?).ok_or_else(|| corrupt("status"))?,
        attempts: get(row, "attempts")?,
        last_error: get(row, "last_error")?,
        created_at: time(row, "created_at")?,
    })
}

pub(crate) fn data_store(row: &Row) -> StoreResult<DataStore> {
    let counted = |column| get::<i64>(row, column).map(|n| u64::try_from(n).unwrap_or(0));
    Ok(DataStore {
        id: DataStoreId::from_row(get(row, "id")?),
        org_id: OrgId::from_row(get(row, "org_id")?),
        name: get(row, "name")?,
        keys: counted("keys")?,
        bytes: counted("bytes")?,
        created_at: time(row, "created_at")?,
        updated_at: time(row, "updated_at")?,
    })
}

pub(crate) fn delivery(row: &Row) -> StoreResult<Delivery> {
    Ok(Delivery {
        id: DeliveryId::from_row(get(row, "id")?),
        org_id: OrgId::from_row(get(row, "org_id")?),
        owner: get(row, "owner_id")?,
        run_id: RunId::from_row(get(row, "run_id")?),
        position: get(row, "position")?,
        kind: DeliveryKind::parse(get(row, "kind")?).ok_or_else(|| corrupt("kind"))?,
        payload: get(row, "payload")?,
        status: DeliveryStatus::parse(get(row, "status")?).ok_or_else(|| corrupt("status"))?,
        attempts: get(row, "attempts")?,
        response_status: get(row, "response_status")?,
        last_error: get(row, "last_error")?,
        created_at: time(row, "created_at")?,
        finished_at: get::<Option<i64>>(row, "finished_at")?.map(Timestamp),
    })
}

pub(crate) fn data_store_entry(row: &Row) -> StoreResult<DataStoreEntry> {
    Ok(DataStoreEntry { key: utf8(row, "key")?, value: get(row, "value")?, expires_at: get::<Option<i64>>(row, "expires_at")?.map(Timestamp) })
}

/// Values of a statement's parameters.
pub(crate) type Params<'a> = &'a [&'a (dyn ToSql + Sync)];

/// A table that is listed by page, newest first.
pub(crate) struct Table {
    /// Its name.
    pub(crate) name: &'static str,
    /// The columns that its records are read from.
    pub(crate) columns: &'static str,
    /// Which rows; `$1`, the organization, and on are the filter's own.
    pub(crate) filter: &'static str,
}

/// The cursors of a page, as parameters.
pub(crate) struct Cursors<'a> {
    after: Option<Cow<'a, str>>,
    before: Option<Cow<'a, str>>,
}

impl<'a> Cursors<'a> {
    pub(crate) fn of(page: &'a Page) -> Self {
        Self { after: page.after.as_deref().map(text), before: page.before.as_deref().map(text) }
    }

    /// The condition on `table`, whose parameters begin at `first`; empty without cursors, so that the plan of a first
    /// page is one of its own. The cursor is an id; `org`: the number of the organization's parameter. An unknown one
    /// gives nothing, which [`known`] tells from an empty page.
    pub(crate) fn clause(&self, table: &str, org: usize, first: usize) -> String {
        let mut clause = String::new();
        let given = [(&self.after, '<'), (&self.before, '>')].into_iter().filter(|(cursor, _)| cursor.is_some());
        for (number, (_, than)) in (first..).zip(given) {
            clause.push_str(&format!(" AND (created_at, id) {than} (SELECT created_at, id FROM {table} WHERE id = ${number} AND org_id = ${org})"));
        }
        clause
    }

    /// Adds the parameters of [`Cursors::clause`].
    pub(crate) fn push<'b>(&'b self, params: &mut Vec<&'b (dyn ToSql + Sync)>) {
        params.extend([&self.after, &self.before].into_iter().flatten().map(|cursor| -> &(dyn ToSql + Sync) { cursor }));
    }
}

/// A page of a table, newest first. `filter`: the parameters of the table's filter.
pub(crate) async fn list<T>(c: &Client, table: &Table, filter: Params<'_>, page: &Page, read: impl Fn(&Row) -> StoreResult<T>) -> StoreResult<Listing<T>> {
    let (limit, cursors) = (i64::from(page.limit), Cursors::of(page));
    let mut params = filter.to_vec();
    params.push(&limit);
    let (clause, order) = (cursors.clause(table.name, 1, params.len() + 1), order(page));
    cursors.push(&mut params);
    let items = format!(
        "SELECT {} FROM {} WHERE {}{clause} ORDER BY created_at {order}, id {order} LIMIT ${}",
        table.columns,
        table.name,
        table.filter,
        filter.len() + 1
    );
    let counted = if LONG.contains(&table.name) { COUNTED_MAX } else { i64::MAX };
    let count = format!("SELECT count(*) FROM (SELECT 1 FROM {} WHERE {} LIMIT {counted}) AS counted", table.name, table.filter);
    let (mut items, total) = tokio::try_join!(many(c, &items, &params, read), number(c, &count, filter))?;
    if items.is_empty() {
        known(c, table.name, filter[0], page).await?;
    }
    newest_first(&mut items, page);
    Ok(Listing { items, total_count: u64::try_from(total).unwrap_or(0) })
}

/// That the cursors of a page which came out empty name rows of the organization's: `UnknownCursor`.
pub(crate) async fn known(c: &Client, table: &str, org: &(dyn ToSql + Sync), page: &Page) -> StoreResult<()> {
    for (name, id) in page.cursors() {
        let sql = format!("SELECT count(*) FROM {table} WHERE id = $1 AND org_id = $2");
        if number(c, &sql, &[&text(id), org]).await? == 0 {
            return Err(StoreError::UnknownCursor(name));
        }
    }
    Ok(())
}

/// One row or none.
pub(crate) async fn one<T>(c: &impl GenericClient, sql: &str, params: Params<'_>, read: impl Fn(&Row) -> StoreResult<T>) -> StoreResult<Option<T>> {
    let statement = c.prepare_cached(sql).await.map_err(database)?;
    let row = c.query_opt(&statement, params).await.map_err(database)?;
    row.as_ref().map(read).transpose()
}

/// All rows.
pub(crate) async fn many<T>(c: &impl GenericClient, sql: &str, params: Params<'_>, read: impl Fn(&Row) -> StoreResult<T>) -> StoreResult<Vec<T>> {
    let statement = c.prepare_cached(sql).await.map_err(database)?;
    let rows = c.query(&statement, params).await.map_err(database)?;
    rows.iter().map(read).collect()
}

/// Rows changed.
pub(crate) async fn execute(c: &impl GenericClient, sql: &str, params: Params<'_>) -> StoreResult<u64> {
    let statement = c.prepare_cached(sql).await.map_err(database)?;
    c.execute(&statement, params).await.map_err(database)
}

/// A number.
pub(crate) async fn number(c: &impl GenericClient, sql: &str, params: Params<'_>) -> StoreResult<i64> {
    let statement = c.prepare_cached(sql).await.map_err(database)?;
    c.query_one(&statement, params).await.and_then(|row| row.try_get(0)).map_err(database)
}

/// The order in which a page is read: from its end where it goes back.
pub(crate) fn order(page: &Page) -> &'static str {
    if page.from_end() { "ASC" } else { "DESC" }
}

/// Puts what [`order`] gave in the order that is shown.
pub(crate) fn newest_first<T>(items: &mut [T], page: &Page) {
    if page.from_end() {
        items.reverse();
    }
}

pub(crate) fn registry(row: &Row) -> StoreResult<Registry> {
    Ok(Registry {
        id: RegistryId::from_row(get(row, "id")?),
        org_id: OrgId::from_row(get(row, "org_id")?),
        name: get(row, "name")?,
        origin: get(row, "origin")?,
        revision: get(row, "revision")?,
        file_count: get(row, "file_count")?,
        component_count: get(row, "component_count")?,
        created_at: time(row, "created_at")?,
        updated_at: time(row, "updated_at")?,
    })
}

pub(crate) fn registry_component(row: &Row) -> StoreResult<RegistryComponent> {
    Ok(RegistryComponent {
        key: get(row, "key")?,
        name: get(row, "name")?,
        description: get(row, "description")?,
        version: get(row, "version")?,
        component_type: get(row, "component_type")?,
        app: get(row, "app")?,
        path: get(row, "path")?,
        hash: get(row, "hash")?,
    })
}

/// A component with the registry that it is in.
pub(crate) fn component_in_registry(row: &Row) -> StoreResult<FoundComponent> {
    let until: Option<i64> = get(row, "until")?;
    let registry = RegistryId::from_row(get(row, "registry_id")?);
    Ok(FoundComponent { registry, component: registry_component(row)?, generation: until.map_or(LATEST, |until| until - 1) })
}

pub(crate) fn registry_file(row: &Row) -> StoreResult<RegistryFile> {
    Ok(RegistryFile { path: get(row, "path")?, hash: get(row, "hash")?, text: utf8(row, "code")? })
}
