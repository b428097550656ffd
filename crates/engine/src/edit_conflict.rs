//! Conflict of a change of a record with what others changed since the caller read it
//! (`If-Match`).

use std::fmt;

use millrace_model::workflow::Drafted;
use serde_json::{Value, json};

/// What others changed of a record since the caller read it.
#[derive(Debug)]
pub struct EditConflict {
    /// The id of a workflow; of another record how a sentence names it.
    pub(crate) id: String,
    pub(crate) what: Changed,
}

#[derive(Debug)]
pub(crate) enum Changed {
    /// The draft, by its last change.
    Draft(Drafted),
    /// Fields beside the draft.
    Fields(Vec<&'static str>),
    /// Another record than a workflow; the route that shows it.
    Record(String),
}

impl EditConflict {
    /// A stable code.
    pub(crate) const fn code(&self) -> &'static str {
        match self.what {
            Changed::Draft(_) => "draft_changed",
            Changed::Fields(_) | Changed::Record(_) => "record_changed",
        }
    }

    /// What a program may read.
    pub(crate) fn details(&self) -> Value {
        match &self.what {
            Changed::Draft(drafted) => json!({
                "revision": drafted.revision, "changed_at": drafted.at.secs(),
                "changed_by": drafted.by.as_ref().map(|by| json!({ "id": by.id, "name": by.name })),
            }),
            Changed::Fields(fields) => json!({ "fields": fields }),
            Changed::Record(_) => json!({}),
        }
    }
}

impl fmt::Display for EditConflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = &self.id;
        match &self.what {
            Changed::Draft(Drafted { revision, at, by, .. }) => {
                let author = by.as_ref().map_or_else(
                    || "somebody".into(),
                    |by| format!("`{}`", by.name.as_deref().unwrap_or(by.id.as_str())),
                );
                write!(
                    f,
                    "the draft of the workflow `{id}` is at revision {revision} since {}, when {author} changed it, and not at the one that `if-match` names; read it again (GET /v1/workflows/{id}) and send the change with `if-match: \"{revision}\"`, or without the header to overwrite what is there",
                    at.iso()
                )
            }
            Changed::Record(route) => {
                write!(
                    f,
                    "{id} changed since it was read with the `etag` that `if-match` names; nothing was changed now. Read it again ({route}) and send the change with the `etag` of that answer, or without `if-match` to overwrite what is there"
                )
            }
            Changed::Fields(fields) => {
                let named: Vec<_> = fields.iter().map(|field| format!("`{field}`")).collect();
                write!(
                    f,
                    "the workflow `{id}` was changed since it was read with the `etag` that `if-match` names, in {}; nothing was changed now. Read it again (GET /v1/workflows/{id}) and send the change with the `etag` of that answer, or without `if-match` to overwrite what is there",
                    named.join(", ")
                )
            }
        }
    }
}
