//! Sources, workflows, their interfaces and subscriptions.

use millrace_store::owner_rows;
use tokio_postgres::Row;

use super::{get, json, optional_json, time};

pub(crate) const SOURCE: &str = "id, org_id, user_id, component_id, name, name_slug, configured_props, active, inactive_reason, created_at, updated_at, dynamic_props, made_from, settings, limits, external_user_id,
    (SELECT d.id FROM source_deployments d WHERE d.source_id = sources.id ORDER BY version DESC LIMIT 1) AS deployment_id";
pub(crate) const HTTP_INTERFACE: &str = "id, org_id, owner_id, key, custom_response, active";
pub(crate) const TIMER: &str = "id, org_id, owner_id, schedule, next_at, active";
pub(crate) const WORKFLOW: &str =
    "id, org_id, project_id, name, name_slug, active, draft, deployment_id, created_at, updated_at, made_from, revision, draft_at, draft_by, note, tags,
    draft IS DISTINCT FROM (SELECT content FROM deployments d WHERE d.id = workflows.deployment_id) AS is_changed,
    (SELECT username FROM users u WHERE u.id = workflows.draft_by) AS author";
pub(crate) const DEPLOYMENT: &str =
    "id, org_id, workflow_id, version, content, created_at, made_by, message,
    (SELECT username FROM users u WHERE u.id = deployments.made_by) AS author";
pub(crate) const SOURCE_DEPLOYMENT: &str =
    "id, org_id, source_id, version, content, created_at, made_by, message,
    (SELECT username FROM users u WHERE u.id = source_deployments.made_by) AS author";
pub(crate) const SUBSCRIPTION: &str =
    "id, org_id, emitter_id, listener_id, event_name, from_trigger, created_at";
pub(crate) const AUTO_SUBSCRIPTION: &str = "id, org_id, listener_id, event_name, created_at";
pub(crate) const APP_HOOK: &str = "org_id, owner_id, app, event_name, active";
pub(crate) const ENDPOINT_DOMAIN: &str = "id, org_id, endpoint_id, created_at";

owner_rows!(Row);
