//! Marks of what was made from files ([`MadeFrom`]).

use millrace_model::made_from::MadeFrom;

use crate::EngineError;

/// A mark that was asked for.
pub(crate) fn checked(mark: Option<MadeFrom>) -> Result<Option<MadeFrom>, EngineError> {
    if let Some(mark) = &mark {
        mark.check().map_err(|e| EngineError::invalid("made_from", e.to_string()))?;
    }
    Ok(mark)
}

/// The mark after a change: the one that came with it, which may be none, else the one before
/// without its fingerprints.
pub(crate) fn marked(
    given: Option<Option<MadeFrom>>,
    before: Option<MadeFrom>,
) -> Result<Option<MadeFrom>, EngineError> {
    match given {
        Some(mark) => checked(mark),
        None => Ok(before.map(MadeFrom::changed_by_others)),
    }
}

/// What is asked for bears the mark of a record that is there: another deploy of the same file made
/// it.
pub(crate) fn mark_taken(kind: &str) -> EngineError {
    EngineError::taken(
        "made_from",
        format!(
            "a {kind} made from the same file (`made_from`: project and path) is there already; change that one"
        ),
    )
}
