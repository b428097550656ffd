//! A workflow in a file: JSON as the API takes it, with `code_file` for steps whose code stands beside it.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::commands::CliError;
use crate::files::Code;

/// Reads a workflow file and the code of its steps.
pub(crate) fn read(path: &Path) -> Result<Value, CliError> {
    let wrong = |text: String| CliError::new(text, "the page docs/workflows.md shows the form of a workflow file");
    let text = std::fs::read_to_string(path).map_err(|e| wrong(format!("could not read `{}`: {e}", path.display())))?;
    let mut workflow: Map<String, Value> = serde_json::from_str(&text).map_err(|e| wrong(format!("`{}` is not a workflow file: {e}", path.display())))?;
    let folder = path.parent().unwrap_or(Path::new("."));
    for step in workflow.get_mut("steps").and_then(Value::as_array_mut).into_iter().flatten() {
        let Some(file) = step.get("code_file").and_then(Value::as_str).map(str::to_owned) else { continue };
        let code = Code::read(&folder.join(&file))?;
        let step = step.as_object_mut().ok_or_else(|| wrong("a step is not an object".into()))?;
        step.remove("code_file");
        step.insert("code".into(), json!(code.code));
        step.insert("code_files".into(), json!(code.files));
        step.insert("code_entry".into(), json!(code.entry));
    }
    Ok(Value::Object(workflow))
}
