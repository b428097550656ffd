//! Precondition of a change of a workflow or source (`If-Match`): the entity tags that the caller
//! names, against the record that is there.

use millrace_model::record_tag::RecordTag;
use millrace_model::source::Source;
use millrace_model::workflow::{Workflow, WorkflowTag};

use crate::EngineError;
use crate::edit_conflict::{Changed, EditConflict};

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

/// Refuses the change where no tag is that of the source.
pub(super) fn check_source_tag(
    source: &Source,
    over: Option<&[RecordTag]>,
) -> Result<(), EngineError> {
    match over {
        Some(over) if !over.contains(&RecordTag::of_source(source)) => {
            Err(EngineError::Changed(Box::new(EditConflict {
                id: format!("the source `{}`", source.id),
                what: Changed::Record(format!("GET /v1/sources/{}", source.id)),
            })))
        }
        _ => Ok(()),
    }
}
