//! Names of an organization's records, and the sources and workflows that name a record in their
//! props. The SQL is that of both engines.

use async_trait::async_trait;
use millrace_model::ids::OrgId;
use millrace_model::names::{Named, NamedKind};

use crate::StoreResult;

/// Ids, names and what else is known of records of a kind: of the organization `$1`, the last
/// changed first, at most `$2`. None: they have no names of their own.
pub const fn names_sql(kind: NamedKind) -> Option<&'static str> {
    Some(match kind {
        NamedKind::Workflow => {
            "SELECT id, name, name_slug AS about FROM workflows WHERE org_id = $1 ORDER BY updated_at DESC, id LIMIT $2"
        }
        NamedKind::Source => {
            "SELECT id, name, name_slug AS about FROM sources WHERE org_id = $1 ORDER BY updated_at DESC, id LIMIT $2"
        }
        NamedKind::Account => {
            "SELECT id, name, app AS about FROM accounts WHERE org_id = $1 ORDER BY updated_at DESC, id LIMIT $2"
        }
        NamedKind::DataStore => {
            "SELECT id, name, '' AS about FROM data_stores WHERE org_id = $1 ORDER BY updated_at DESC, id LIMIT $2"
        }
        NamedKind::Webhook => {
            "SELECT id, coalesce(name, url) AS name, url AS about FROM webhooks WHERE org_id = $1 ORDER BY updated_at DESC, id LIMIT $2"
        }
        NamedKind::Registry => {
            "SELECT name AS id, name, origin AS about FROM registries WHERE org_id = $1 ORDER BY updated_at DESC, id LIMIT $2"
        }
        NamedKind::Domain => {
            "SELECT id, id AS name, endpoint_id AS about FROM endpoint_domains WHERE org_id = $1 ORDER BY created_at DESC, id LIMIT $2"
        }
        NamedKind::ErrorGroup => {
            "SELECT id, class AS name, message AS about FROM error_groups WHERE org_id = $1 ORDER BY last_at DESC, id LIMIT $2"
        }
        NamedKind::Component
        | NamedKind::Member
        | NamedKind::Run
        | NamedKind::Replay
        | NamedKind::Deployment => return None,
    })
}

/// Columns of a subscription with the names of what it connects.
pub const NAMED_SUBSCRIPTION: &str = "id, org_id, emitter_id, listener_id, event_name, from_trigger, created_at,
    coalesce((SELECT name FROM sources WHERE id = subscriptions.emitter_id), (SELECT name FROM workflows WHERE id = subscriptions.emitter_id)) AS emitter_name,
    coalesce((SELECT name FROM sources WHERE id = subscriptions.listener_id), (SELECT name FROM workflows WHERE id = subscriptions.listener_id),
      (SELECT coalesce(name, url) FROM webhooks WHERE id = subscriptions.listener_id)) AS listener_name";

/// Sources of the organization `$1` that hold the text `$2` in their props, at most `$3`.
pub const NAMING_SOURCES: &str = "SELECT id, name, name_slug AS about FROM sources WHERE org_id = $1 AND replace(configured_props, $2, '') <> configured_props ORDER BY id LIMIT $3";
/// The same of workflows: in their draft, or in the live version.
pub const NAMING_WORKFLOWS: &str = "SELECT w.id, w.name, w.name_slug AS about FROM workflows w WHERE w.org_id = $1 AND (replace(w.draft, $2, '') <> w.draft
       OR EXISTS (SELECT 1 FROM deployments d WHERE d.id = w.deployment_id AND replace(d.content, $2, '') <> d.content)) ORDER BY w.id LIMIT $3";

/// Sources of the organization `$1` whose code has a key of the registry with the name `$2` that
/// nothing is published with, at most `$3`.
pub const SOURCES_OF_REGISTRY: &str = "SELECT s.id, s.name, s.name_slug AS about FROM sources s JOIN components c ON c.id = s.component_id
       WHERE s.org_id = $1 AND EXISTS (SELECT 1 FROM registry_components k JOIN registries r ON r.id = k.registry_id
         WHERE k.key = c.key AND k.until IS NULL AND r.org_id = $1 AND r.name = $2)
       AND NOT EXISTS (SELECT 1 FROM components p WHERE p.org_id = $1 AND p.key = c.key AND p.published) ORDER BY s.id LIMIT $3";
/// The same of workflows, by their live version.
pub const WORKFLOWS_OF_REGISTRY: &str = "SELECT w.id, w.name, w.name_slug AS about FROM workflows w JOIN deployments d ON d.id = w.deployment_id
       WHERE w.org_id = $1 AND EXISTS (SELECT 1 FROM registry_components k JOIN registries r ON r.id = k.registry_id
         JOIN components c ON c.org_id = $1 AND c.key = k.key
         WHERE k.until IS NULL AND r.org_id = $1 AND r.name = $2 AND replace(d.content, c.id, '') <> d.content
         AND NOT EXISTS (SELECT 1 FROM components p WHERE p.org_id = $1 AND p.key = c.key AND p.published)) ORDER BY w.id LIMIT $3";

/// Records by their names.
#[async_trait]
pub trait Names: Send + Sync + 'static {
    /// Records of a kind, the last changed first.
    async fn names(&self, org: &OrgId, kind: NamedKind, limit: u32) -> StoreResult<Vec<Named>>;
    /// Sources and workflows whose props, draft or live version name an id, each kind in the order
    /// of ids.
    async fn naming(&self, org: &OrgId, id: &str, limit: u32) -> StoreResult<Vec<Named>>;
    /// Sources, and workflows by their live version, whose code has a key of a registry and of no
    /// published component, each kind in the order of ids.
    async fn registry_uses(&self, org: &OrgId, name: &str, limit: u32) -> StoreResult<Vec<Named>>;
}
