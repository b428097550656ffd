//! Rows to the product's records. A row that does not fit is an error, never a panic.

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
use rusqlite::{Connection, Row, ToSql};
use serde::de::DeserializeOwned;

use crate::db::database;

/// Reads a column.
fn get<T: rusqlite::types::FromSql>(row: &Row<'_>, column: &str) -> StoreResult<T> {
    row.get(column).map_err(database)
}

fn time(row: &Row<'_>, column: &str) -> StoreResult<Timestamp> {
    get(row, column).map(Timestamp)
}

fn json<T: DeserializeOwned>(row: &Row<'_>, column: &str) -> StoreResult<T> {
    let text: String = get(row, column)?;
    serde_json::from_str(&text).map_err(|e| StoreError::Corrupt { what: format!("the column {column}: {e}") })
}

fn optional_json<T: DeserializeOwned>(row: &Row<'_>, column: &str) -> StoreResult<Option<T>> {
    match get::<Option<String>>(row, column)? {
        Some(_) => json(row, column).map(Some),
        None => Ok(None),
    }
}

fn corrupt(column: &str) -> StoreError {
    StoreError::Corrupt { what: format!("the column {column}") }
}

pub(crate) fn organization(row: &Row<'_>) -> StoreResult<Organization> {
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

pub(crate) fn user(row: &Row<'_>) -> StoreResult<User> {
    Ok(User {
        id: UserId::from_row(get(row, "id")?),
        org_id: OrgId::from_row(get(row, "org_id")?),
        username: get(row, "username")?,
        email: get(row, "email")?,
        created_at: time(row, "created_at")?,
    })
}

pub(crate) fn api_key(row: &Row<'_>) -> StoreResult<ApiKey> {
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

pub(crate) fn artifact(row: &Row<'_>) -> StoreResult<Artifact> {
    Ok(Artifact {
        id: get(row, "id")?,
        code: get(row, "code")?,
        source_map: get(row, "source_map")?,
        lock: get(row, "package_lock")?,
        uses_respond: get(row, "uses_respond")?,
    })
}

pub(crate) fn component(row: &Row<'_>) -> StoreResult<SavedComponent> {
    let kind: String = get(row, "component_type")?;
    Ok(SavedComponent {
        id: ComponentId::from_row(get(row, "id")?),
        org_id: OrgId::from_row(get(row, "org_id")?),
        code: get(row, "code")?,
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

pub(crate) fn source(row: &Row<'_>) -> StoreResult<Source> {
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

pub(crate) fn http_interface(row: &Row<'_>) -> StoreResult<HttpInterface> {
    Ok(HttpInterface {
        id: HttpInterfaceId::from_row(get(row, "id")?),
        org_id: OrgId::from_row(get(row, "org_id")?),
        owner: Owner::from_row(get(row, "owner_id")?),
        key: get(row, "key")?,
        custom_response: get(row, "custom_response")?,
        active: get(row, "active")?,
    })
}

pub(crate) fn endpoint_domain(row: &Row<'_>) -> StoreResult<EndpointDomain> {
    Ok(EndpointDomain {
        id: get(row, "id")?,
        org_id: OrgId::from_row(get(row, "org_id")?),
        endpoint_id: HttpInterfaceId::from_row(get(row, "endpoint_id")?),
        created_at: time(row, "created_at")?,
    })
}

pub(crate) fn timer(row: &Row<'_>) -> StoreResult<Timer> {
    Ok(Timer {
        id: TimerId::from_row(get(row, "id")?),
        org_id: OrgId::from_row(get(row, "org_id")?),
        owner: Owner::from_row(get(row, "owner_id")?),
        schedule: json(row, "schedule")?,
        next_at: time(row, "next_at")?,
        active: get(row, "active")?,
    })
}

pub(crate) fn workflow(row: &Row<'_>) -> StoreResult<Workflow> {
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

pub(crate) fn deployment(row: &Row<'_>) -> StoreResult<Deployment> {
    Ok(Deployment {
        id: DeploymentId::from_row(get(row, "id")?),
        org_id: OrgId::from_row(get(row, "org_id")?),
        workflow_id: WorkflowId::from_row(get(row, "workflow_id")?),
        version: get(row, "version")?,
        content: json(row, "content")?,
        created_at: time(row, "created_at")?,
    })
}

pub(crate) fn subscription(row: &Row<'_>) -> StoreResult<Subscription> {
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

pub(crate) fn webhook(row: &Row<'_>) -> StoreResult<Webhook> {
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

pub(crate) fn webhook_delivery(row: &Row<'_>) -> StoreResult<WebhookDelivery> {
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

pub(crate) fn auto_subscription(row: &Row<'_>) -> StoreResult<AutoSubscription> {
    Ok(AutoSubscription {
        id: AutoSubscriptionId::from_row(get(row, "id")?),
        org_id: OrgId::from_row(get(row, "org_id")?),
        listener_id: get(row, "listener_id")?,
        event_name: get(row, "event_name")?,
        created_at: time(row, "created_at")?,
    })
}

pub(crate) fn run(row: &Row<'_>) -> StoreResult<Run> {
    Ok(Run {
        id: RunId::from_row(get(row, "id")?),
        org_id: OrgId::from_row(get(row, "org_id")?),
        owner: Owner::from_row(get(row, "owner_id")?),
        deployment_id: get::<Option<String>>(row, "deployment_id")?.map(DeploymentId::from_row),
        kind: RunKind::parse(&get::<String>(row, "kind")?).ok_or_else(|| corrupt("kind"))?,
        trigger_id: get(row, "trigger_id")?,
        event: get(row, "event")?,
        context: get(row, "context")?,
        status: RunStatus::parse(&get::<String>(row, "status")?).ok_or_else(|| corrupt("status"))?,
        attempt: get(row, "attempt")?,
        created_at: time(row, "created_at")?,
        started_at: get::<Option<i64>>(row, "started_at")?.map(Timestamp),
        finished_at: get::<Option<i64>>(row, "finished_at")?.map(Timestamp),
        result: get(row, "result")?,
        error: get(row, "error")?,
    })
}

pub(crate) fn log_line(row: &Row<'_>) -> StoreResult<(RunId, LogLine)> {
    let line = LogLine { at: time(row, "at")?, level: LogLevel::parse(&get::<String>(row, "level")?), text: get(row, "text")? };
    Ok((RunId::from_row(get(row, "run_id")?), line))
}

pub(crate) fn event(row: &Row<'_>) -> StoreResult<Event> {
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

pub(crate) fn error_group(row: &Row<'_>) -> StoreResult<ErrorGroup> {
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

pub(crate) fn replay(row: &Row<'_>) -> StoreResult<Replay> {
    Ok(Replay {
        id: ReplayId::from_row(get(row, "id")?),
        org_id: OrgId::from_row(get(row, "org_id")?),
        owner: get(row, "owner_id")?,
        selection: json(row, "selection")?,
        status: ReplayStatus::parse(&get::<String>(row, "status")?).ok_or_else(|| corrupt("status"))?,
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

pub(crate) fn replayed_run(row: &Row<'_>) -> StoreResult<ReplayedRun> {
    Ok(ReplayedRun {
        original_id: RunId::from_row(get(row, "original_id")?),
        run_id: RunId::from_row(get(row, "run_id")?),
        status: get::<Option<String>>(row, "status")?.map(|text| RunStatus::parse(&text).ok_or_else(|| corrupt("status"))).transpose()?,
    })
}

pub(crate) fn mail(row: &Row<'_>) -> StoreResult<Mail> {
    Ok(Mail {
        id: MailId::from_row(get(row, "id")?),
        org_id: OrgId::from_row(get(row, "org_id")?),
        recipient: get(row, "recipient")?,
        subject: get(row, "subject")?,
        text: get(row, "text")?,
        html: get(row, "html")?,
        status: MailStatus::parse(&get::<String>(row, "status")?).ok_or_else(|| corrupt("status"))?,
        attempts: get(row, "attempts")?,
        last_error: get(row, "last_error")?,
        created_at: time(row, "created_at")?,
    })
}

/// One row or none.
pub(crate) fn one<T>(
    connection: &rusqlite::Connection,
    sql: &str,
    params: impl rusqlite::Params,
    read: impl Fn(&Row<'_>) -> StoreResult<T>,
) -> StoreResult<Option<T>> {
    let mut statement = connection.prepare_cached(sql).map_err(database)?;
    let mut rows = statement.query(params).map_err(database)?;
    match rows.next().map_err(database)? {
        Some(row) => read(row).map(Some),
        None => Ok(None),
    }
}

/// All rows.
pub(crate) fn many<T>(
    connection: &rusqlite::Connection,
    sql: &str,
    params: impl rusqlite::Params,
    read: impl Fn(&Row<'_>) -> StoreResult<T>,
) -> StoreResult<Vec<T>> {
    let mut statement = connection.prepare_cached(sql).map_err(database)?;
    let mut rows = statement.query(params).map_err(database)?;
    let mut out = Vec::new();
    while let Some(row) = rows.next().map_err(database)? {
        out.push(read(row)?);
    }
    Ok(out)
}

/// Rows changed.
pub(crate) fn execute(connection: &rusqlite::Connection, sql: &str, params: impl rusqlite::Params) -> StoreResult<usize> {
    connection.prepare_cached(sql).and_then(|mut s| s.execute(params)).map_err(database)
}

/// A number.
pub(crate) fn number(connection: &rusqlite::Connection, sql: &str, params: impl rusqlite::Params) -> StoreResult<i64> {
    connection.prepare_cached(sql).and_then(|mut s| s.query_row(params, |row| row.get(0))).map_err(database)
}

pub(crate) fn app(row: &Row<'_>) -> StoreResult<App> {
    Ok(App {
        id: AppId::from_row(get(row, "id")?),
        org_id: Some(OrgId::from_row(get(row, "org_id")?)),
        name_slug: get(row, "name_slug")?,
        definition: json(row, "definition")?,
        created_at: time(row, "created_at")?,
        updated_at: time(row, "updated_at")?,
    })
}

pub(crate) fn account(row: &Row<'_>) -> StoreResult<Account> {
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

pub(crate) fn data_store(row: &Row<'_>) -> StoreResult<DataStore> {
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

pub(crate) fn delivery(row: &Row<'_>) -> StoreResult<Delivery> {
    Ok(Delivery {
        id: DeliveryId::from_row(get(row, "id")?),
        org_id: OrgId::from_row(get(row, "org_id")?),
        owner: get(row, "owner_id")?,
        run_id: RunId::from_row(get(row, "run_id")?),
        position: get(row, "position")?,
        kind: DeliveryKind::parse(&get::<String>(row, "kind")?).ok_or_else(|| corrupt("kind"))?,
        payload: get(row, "payload")?,
        status: DeliveryStatus::parse(&get::<String>(row, "status")?).ok_or_else(|| corrupt("status"))?,
        attempts: get(row, "attempts")?,
        response_status: get(row, "response_status")?,
        last_error: get(row, "last_error")?,
        created_at: time(row, "created_at")?,
        finished_at: get::<Option<i64>>(row, "finished_at")?.map(Timestamp),
    })
}

pub(crate) fn data_store_entry(row: &Row<'_>) -> StoreResult<DataStoreEntry> {
    Ok(DataStoreEntry { key: get(row, "key")?, value: get(row, "value")?, expires_at: get::<Option<i64>>(row, "expires_at")?.map(Timestamp) })
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

pub(crate) fn registry(row: &Row<'_>) -> StoreResult<Registry> {
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

pub(crate) fn registry_component(row: &Row<'_>) -> StoreResult<RegistryComponent> {
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

pub(crate) fn app_hook(row: &Row<'_>) -> StoreResult<AppHook> {
    Ok(AppHook {
        org_id: OrgId::from_row(get(row, "org_id")?),
        owner: Owner::from_row(get(row, "owner_id")?),
        app: get(row, "app")?,
        event_name: get(row, "event_name")?,
        active: get(row, "active")?,
    })
}

pub(crate) fn upload(row: &Row<'_>) -> StoreResult<Upload> {
    Ok(Upload {
        id: UploadId::from_row(get(row, "id")?),
        org_id: OrgId::from_row(get(row, "org_id")?),
        file_name: get(row, "file_name")?,
        media_type: get(row, "media_type")?,
        size: get(row, "size")?,
        expires_at: time(row, "expires_at")?,
    })
}

/// Slugs of a table that are `base`, or begin with it and a number.
pub(crate) fn slugs(c: &Connection, table: &'static str, org: &OrgId, base: &str) -> StoreResult<Vec<String>> {
    let sql = format!("SELECT name_slug FROM {table} WHERE org_id = ?1 AND (name_slug = ?2 OR substr(name_slug, 1, length(?2) + 1) = ?2 || '-')");
    many(c, &sql, [org.as_str(), base], |row| row.get(0).map_err(database))
}

pub(crate) fn stored_file(row: &Row<'_>) -> StoreResult<StoredFile> {
    Ok(StoredFile {
        org_id: OrgId::from_row(get(row, "org_id")?),
        store: get(row, "store")?,
        path: get(row, "path")?,
        upload_id: UploadId::from_row(get(row, "upload_id")?),
        size: get(row, "size")?,
        updated_at: time(row, "updated_at")?,
    })
}

pub(crate) fn data_key(row: &Row<'_>) -> StoreResult<DataKey> {
    Ok(DataKey {
        id: DataKeyId::from_row(get(row, "id")?),
        master_id: get(row, "master_id")?,
        wrapped: get(row, "wrapped")?,
        created_at: time(row, "created_at")?,
    })
}

/// A component with the registry that it is in.
pub(crate) fn component_in_registry(row: &Row<'_>) -> StoreResult<FoundComponent> {
    let until: Option<i64> = get(row, "until")?;
    let registry = RegistryId::from_row(get(row, "registry_id")?);
    Ok(FoundComponent { registry, component: registry_component(row)?, generation: until.map_or(LATEST, |until| until - 1) })
}

pub(crate) fn registry_file(row: &Row<'_>) -> StoreResult<RegistryFile> {
    Ok(RegistryFile { path: get(row, "path")?, hash: get(row, "hash")?, text: get(row, "code")? })
}

/// Tables that grow with what happens, and up to what number a list of them is counted: as runs are.
const LONG: [&str; 3] = ["audit", "mail", "webhook_deliveries"];
const COUNTED_MAX: i64 = 1_000;

/// A page of a table, newest first. The cursor is an id; `UnknownCursor` where it names nothing.
/// `keys`: the parameters of the filter, `?1`, the organization, and on.
pub(crate) fn list<T>(
    c: &Connection,
    table: &str,
    filter: &str,
    keys: &[&str],
    page: &Page,
    read: impl Fn(&Row<'_>) -> StoreResult<T>,
) -> StoreResult<Listing<T>> {
    // `table` and `filter` are constants of this crate. A page without cursors is a statement of its own, so that cursors bound what is read.
    let (n, order) = (keys.len(), order(page));
    let mut params: Vec<&dyn ToSql> = keys.iter().map(|key| -> &dyn ToSql { key }).collect();
    params.push(&page.limit);
    let mut clause = String::new();
    for (cursor, than) in [(&page.after, '<'), (&page.before, '>')] {
        if let Some(id) = cursor {
            params.push(id);
            clause.push_str(&format!(" AND (created_at, id) {than} (SELECT created_at, id FROM {table} WHERE id = ?{} AND org_id = ?1)", params.len()));
        }
    }
    let sql = format!("SELECT * FROM {table} WHERE {filter}{clause} ORDER BY created_at {order}, id {order} LIMIT ?{}", n + 1);
    let mut items = many(c, &sql, params.as_slice(), read)?;
    if items.is_empty() {
        known(c, table, keys[0], page)?;
    }
    newest_first(&mut items, page);
    let counted = if LONG.contains(&table) { COUNTED_MAX } else { i64::MAX };
    let total = number(c, &format!("SELECT count(*) FROM (SELECT 1 FROM {table} WHERE {filter} LIMIT {counted})"), &params[..n])?;
    Ok(Listing { items, total_count: u64::try_from(total).unwrap_or(0) })
}

/// That the cursors of a page which came out empty name rows of the organization's: `UnknownCursor`.
pub(crate) fn known(c: &Connection, table: &str, org: &str, page: &Page) -> StoreResult<()> {
    for (name, id) in page.cursors() {
        if number(c, &format!("SELECT count(*) FROM {table} WHERE id = ?1 AND org_id = ?2"), [id, org])? == 0 {
            return Err(StoreError::UnknownCursor(name));
        }
    }
    Ok(())
}
