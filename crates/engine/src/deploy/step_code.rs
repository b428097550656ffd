//! Code of a step as a request names it: the code itself, the key of a component, or its id.

use crate::deploy::language::{JAVASCRIPT, entry_in_language};
use crate::deploy::requests::StepRequest;
use crate::{CodeRef, EngineError};

pub(crate) fn step_code(field: &str, request: &StepRequest) -> Result<CodeRef, EngineError> {
    match (&request.code, &request.component_key, &request.component_id) {
        (Some(code), None, None) => Ok(CodeRef::Code {
            code: code.clone(),
            files: request.code_files.clone().unwrap_or_default(),
            entry: entry_in_language(
                Some(request.code_entry.clone().unwrap_or_else(|| request.namespace.clone())),
                "",
                request.language.as_deref(),
            )?,
            is_javascript: request.language.as_deref() == Some(JAVASCRIPT),
            url: None,
        }),
        (None, Some(key), None) => Ok(CodeRef::Key(key.clone())),
        (None, None, Some(id)) => {
            Ok(CodeRef::Component(id.parse().map_err(|_| EngineError::not_found("component", id))?))
        }
        given => {
            let message = format!(
                "the step `{}` needs exactly one of `code`, `component_key` and `component_id`",
                request.namespace
            );
            Err(match given {
                (None, None, None) => EngineError::missing(&format!("{field}.code"), message),
                _ => EngineError::invalid(field, message),
            })
        }
    }
}
