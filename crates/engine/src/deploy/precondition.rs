//! Precondition of a change of a workflow (`If-Match`): the entity tags that the caller names,
//! against the record that is there.

use std::fmt;

use millrace_model::workflow::{Drafted, Workflow, WorkflowTag};
use serde_json::{Value, json};

use crate::EngineError;

/// What others changed of a workflow since the caller read it.
#[derive(Debug)]
pub struct EditConflict {
    id: String,
    what: Changed,
}

#[derive(Debug)]
enum Changed {
    /// The draft, by its last change.
    Draft(Drafted),
    /// Fields beside the draft.
    Fields(Vec<&'static str>),
}

impl EditConflict {
    /// A stable code.
    pub(crate) const fn code(&self) -> &'static str {
        match self.what {
            Changed::Draft(_) => "draft_changed",
            Changed::Fields(_) => "record_changed",
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

/// That the record has one of the tags. None: the caller does not ask.
pub(super) fn check_tag(
    workflow: &Workflow,
    over: Option<&[WorkflowTag]>,
) -> Result<(), EngineError> {
    let Some(over) = over else { return Ok(()) };
    let present = WorkflowTag::of(workflow);
    let of_the_draft = over.iter().filter(|tag| tag.revision == present.revision);
    // Of several tags, the fields that the nearest one has otherwise.
    let fields = of_the_draft.map(|tag| tag.changed_fields(&present)).min_by_key(Vec::len);
    let what = match fields {
        Some(fields) if fields.is_empty() => return Ok(()),
        Some(fields) => Changed::Fields(fields),
        None => Changed::Draft(workflow.drafted.clone()),
    };
    Err(EngineError::Changed(Box::new(EditConflict { id: workflow.id.to_string(), what })))
}
