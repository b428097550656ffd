//! Sources, workflows, their interfaces and subscriptions.

use millrace_store::owner_rows;
use rusqlite::Row;

use super::{get, json, optional_json, time};

/// Columns of a source's record.
pub(crate) const SOURCE: &str = "*, (SELECT d.id FROM source_deployments d WHERE d.source_id = sources.id ORDER BY version DESC LIMIT 1) AS deployment_id";
/// Columns of a workflow's record. The live version is of a table of its own.
pub(crate) const WORKFLOW: &str =
    "*, draft IS NOT (SELECT content FROM deployments d WHERE d.id = deployment_id) AS is_changed,
    (SELECT username FROM users u WHERE u.id = draft_by) AS author";
/// Columns of a deployment's record.
pub(crate) const DEPLOYMENT: &str =
    "*, (SELECT username FROM users u WHERE u.id = made_by) AS author";

owner_rows!(Row<'_>);
