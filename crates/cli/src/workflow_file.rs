//! A workflow in a file: JSON or YAML as the API takes it, with `code_file` for steps whose code stands beside it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::error::CliError;
use crate::files::Code;

/// Fields of a workflow file.
const FIELDS: &[&str] = &["name", "triggers", "steps", "settings", "org_id", "project_id"];
/// Remembers, beside the file, which workflow was made from it on which server.
const IDS_FILE: &str = ".millrace.json";

/// Reads a workflow file and the code of its steps.
pub(crate) fn read(path: &Path) -> Result<Map<String, Value>, CliError> {
    let wrong = |problem: String| CliError::WorkflowFile { path: path.to_path_buf(), problem };
    let text = std::fs::read_to_string(path).map_err(|source| CliError::Read { path: path.to_path_buf(), source })?;
    let mut workflow = parse(path, &text).map_err(wrong)?;
    for name in workflow.keys() {
        if !FIELDS.contains(&name.as_str()) {
            return Err(wrong(format!("it has no field `{name}`; allowed are {}", FIELDS.join(", "))));
        }
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    for (index, step) in workflow.get_mut("steps").and_then(Value::as_array_mut).into_iter().flatten().enumerate() {
        let Some(step) = step.as_object_mut() else {
            return Err(wrong(format!("steps[{index}] is not an object")));
        };
        let Some(file) = step.remove("code_file") else { continue };
        let Some(file) = file.as_str() else {
            return Err(wrong(format!("steps[{index}].code_file is not a path")));
        };
        let code = Code::read(&folder.join(file))?;
        step.insert("code".into(), json!(code.code));
        step.insert("code_files".into(), json!(code.files));
        step.insert("code_entry".into(), json!(code.entry));
    }
    Ok(workflow)
}

fn parse(path: &Path, text: &str) -> Result<Map<String, Value>, String> {
    let yaml = path.extension().is_some_and(|e| e == "yaml" || e == "yml");
    if yaml { serde_yaml_ng::from_str(text).map_err(|e| e.to_string()) } else { serde_json::from_str(text).map_err(|e| e.to_string()) }
}

/// Ids by server and file name.
type Ids = BTreeMap<String, BTreeMap<String, String>>;

fn ids_path(file: &Path) -> (PathBuf, String) {
    (file.with_file_name(IDS_FILE), file.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default())
}

fn read_ids(path: &Path) -> Ids {
    // What cannot be read is written anew: it only spares a look-up by name.
    std::fs::read_to_string(path).ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}

/// The workflow that was made from this file on this server.
pub(crate) fn known_id(file: &Path, url: &str) -> Option<String> {
    let (path, name) = ids_path(file);
    read_ids(&path).get(url)?.get(&name).cloned()
}

/// Remembers it.
pub(crate) fn remember_id(file: &Path, url: &str, id: &str) -> Result<(), CliError> {
    let (path, name) = ids_path(file);
    let mut ids = read_ids(&path);
    if ids.entry(url.to_owned()).or_default().insert(name, id.to_owned()).as_deref() == Some(id) {
        return Ok(());
    }
    std::fs::write(&path, format!("{:#}\n", json!(ids))).map_err(|source| CliError::Write { path, source })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("millrace-{name}-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("steps")).expect("a folder");
        folder
    }

    #[test]
    fn steps_bring_their_code_from_json_and_yaml() {
        let folder = folder("workflow");
        std::fs::write(folder.join("steps/a.mjs"), "import './b.mjs';").expect("writes");
        std::fs::write(folder.join("steps/b.mjs"), "").expect("writes");
        std::fs::write(folder.join("w.json"), r#"{"name":"w","steps":[{"namespace":"a","code_file":"steps/a.mjs"}]}"#).expect("writes");
        std::fs::write(folder.join("w.yaml"), "name: w\nsteps:\n  - namespace: a\n    code_file: steps/a.mjs\n").expect("writes");
        std::fs::write(folder.join("bad.json"), r#"{"nmae":"w"}"#).expect("writes");
        let json = read(&folder.join("w.json")).expect("reads");
        assert_eq!(json, read(&folder.join("w.yaml")).expect("reads"));
        let expected =
            json!([{ "namespace": "a", "code": "import './b.mjs';", "code_files": { "a.mjs": "import './b.mjs';", "b.mjs": "" }, "code_entry": "a.mjs" }]);
        assert_eq!(json["steps"], expected);
        assert!(read(&folder.join("bad.json")).expect_err("refuses").to_string().contains("no field `nmae`"));
        std::fs::remove_dir_all(folder).expect("cleans");
    }

    #[test]
    fn ids_are_kept_by_server_and_file() {
        let folder = folder("ids");
        let file = folder.join("w.json");
        remember_id(&file, "http://a", "p_1").expect("writes");
        remember_id(&file, "http://b", "p_2").expect("writes");
        assert_eq!(known_id(&file, "http://a").as_deref(), Some("p_1"));
        assert_eq!(known_id(&file, "http://b").as_deref(), Some("p_2"));
        assert_eq!(known_id(&folder.join("v.json"), "http://a"), None);
        std::fs::remove_dir_all(folder).expect("cleans");
    }
}
