//! A workflow in a folder: `workflow.yaml` (or JSON), and the code of its steps in files beside it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use crate::error::CliError;
use crate::files::schema::{self, Form};
use crate::files::yaml::Document;
use crate::files::{self, Code};

/// What the file of a folder is called.
const NAMES: [&str; 3] = ["workflow.yaml", "workflow.yml", "workflow.json"];

/// A workflow's file, read and found to be right, with the code of its steps.
pub(crate) struct WorkflowFile {
    pub(crate) path: PathBuf,
    pub(crate) name: String,
    /// As it stands there.
    pub(crate) value: Map<String, Value>,
    /// The code of the steps that have code of their own, by namespace.
    pub(crate) code: BTreeMap<String, StepCode>,
    /// All files that it is made of, to be watched.
    pub(crate) paths: Vec<PathBuf>,
}

/// A step's own code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StepCode {
    /// The entry among the files.
    pub(crate) entry: String,
    /// Texts by path, the entry's among them.
    pub(crate) files: BTreeMap<String, String>,
}

impl WorkflowFile {
    /// Reads a folder's workflow, or the file itself.
    pub(crate) fn read(path: &Path) -> Result<Self, CliError> {
        let path = find(path)?;
        let text = files::given::file(&path)?;
        let wrong = |problems: Vec<String>| CliError::File { path: path.clone(), problems };
        let document = Document::parse(&path, &text).map_err(|problem| {
            let line = problem.line.map(|line| format!("line {line}: ")).unwrap_or_default();
            wrong(vec![format!("{line}{}", problem.text)])
        })?;
        let problems = Form::Workflow.problems(&document);
        if !problems.is_empty() {
            return Err(wrong(problems));
        }
        let mut file = Self {
            name: String::new(),
            value: Map::new(),
            code: BTreeMap::new(),
            paths: Vec::new(),
            path: path.clone(),
        };
        file.paths.extend(path.canonicalize());
        let mut problems = Vec::new();
        for (index, step) in document.value["steps"].as_array().into_iter().flatten().enumerate() {
            let (namespace, at) =
                (step["namespace"].as_str().unwrap_or("").to_owned(), format!("/steps/{index}"));
            let line = |field: &str| {
                document
                    .line(&format!("{at}/{field}"))
                    .map(|l| format!("line {l}: "))
                    .unwrap_or_default()
            };
            let code = match (step["code_file"].as_str(), step["code"].as_str()) {
                (Some(name), _) => match file.code_file(name) {
                    Ok(code) => Some(code),
                    Err(error) => {
                        problems.push(format!("{}{error}", line("code_file")));
                        continue;
                    }
                },
                (None, Some(code)) if file.is_file(code) => {
                    problems.push(format!(
                        "{}`code` is the code itself; `code_file: {code}` names a file",
                        line("code")
                    ));
                    continue;
                }
                (None, Some(code)) => {
                    let entry = format!(
                        "{namespace}.{}",
                        if step["language"] == "typescript" { "ts" } else { "mjs" }
                    );
                    Some(StepCode {
                        files: BTreeMap::from([(entry.clone(), code.to_owned())]),
                        entry,
                    })
                }
                (None, None) => None,
            };
            if namespace == "trigger" {
                problems.push(format!("{}a step cannot be called `trigger`", line("namespace")));
            } else if document.value["steps"]
                .as_array()
                .into_iter()
                .flatten()
                .take(index)
                .any(|s| s["namespace"] == namespace.as_str())
            {
                problems.push(format!(
                    "{}the namespace `{namespace}` is used by two steps",
                    line("namespace")
                ));
            }
            if let Some(code) = code {
                file.code.insert(namespace, code);
            }
        }
        if !problems.is_empty() {
            return Err(wrong(problems));
        }
        file.value = document.value.as_object().cloned().unwrap_or_default();
        file.name = match file.value.get("name").and_then(Value::as_str) {
            Some(name) => name.to_owned(),
            None => folder_name(&path),
        };
        Ok(file)
    }

    /// Whether what should be code is the name of a file.
    fn is_file(&self, code: &str) -> bool {
        !code.is_empty()
            && !code.contains(char::is_whitespace)
            && self.folder().join(code).is_file()
    }

    fn code_file(&mut self, name: &str) -> Result<StepCode, CliError> {
        let folder = self.folder();
        let code = Code::read_named(&folder.join(name), &self.path, Some(&folder))?;
        self.paths.extend(code.paths);
        Ok(StepCode { entry: code.entry, files: code.files })
    }

    /// The folder that it stands in.
    pub(crate) fn folder(&self) -> PathBuf {
        folder_of(&self.path)
    }

    /// A list of the file.
    pub(crate) fn list(&self, field: &str) -> &[Value] {
        self.value.get(field).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }

    /// The steps as the API takes them.
    pub(crate) fn steps(&self) -> Result<Value, CliError> {
        let mut steps = Vec::new();
        for step in self.list("steps") {
            let mut step = step.clone();
            let code = self.code.get(step["namespace"].as_str().unwrap_or(""));
            if let (Some(fields), Some(code)) = (step.as_object_mut(), code) {
                fields.shift_remove("code_file");
                fields.insert("code".into(), json!(code.files.get(&code.entry)));
                // The entry's text goes once: a request has its bounds.
                fields.insert("code_files".into(), json!(files::others(&code.files, &code.entry)));
                fields.insert("code_entry".into(), json!(code.entry));
            }
            if let Some(props) = step.get_mut("props") {
                fill_in(props, &self.path)?;
            }
            steps.push(step);
        }
        Ok(Value::Array(steps))
    }

    /// All settings as the API takes them: what the file does not say is set back.
    pub(crate) fn settings(&self) -> Map<String, Value> {
        let mut settings = schema::setting_defaults();
        settings.extend(
            self.value.get("settings").and_then(Value::as_object).cloned().unwrap_or_default(),
        );
        settings
    }

    /// Whether it is to be active.
    pub(crate) fn active(&self) -> bool {
        self.value.get("active").and_then(Value::as_bool).unwrap_or(true)
    }

    /// What the parts of it come to, to tell what has changed since.
    pub(crate) fn fingerprints(&self) -> BTreeMap<&'static str, String> {
        let part = |field: &str| self.value.get(field).cloned().unwrap_or_default();
        let code: BTreeMap<&String, Value> = self
            .code
            .iter()
            .map(|(name, code)| (name, json!({ "entry": code.entry, "files": code.files })))
            .collect();
        let steps: Vec<Value> = self.list("steps").iter().cloned().map(without_code).collect();
        BTreeMap::from([
            ("name", fingerprint(&json!(self.name))),
            ("triggers", fingerprint(&part("triggers"))),
            ("steps", fingerprint(&json!(steps))),
            ("code", fingerprint(&json!(code))),
            ("settings", fingerprint(&json!(self.settings()))),
            ("subscriptions", fingerprint(&json!([part("subscriptions"), part("error_handler")]))),
            ("active", fingerprint(&json!(self.active()))),
            ("note", fingerprint(&part("note"))),
            ("tags", fingerprint(&part("tags"))),
        ])
    }
}

/// Whether a path is a workflow's folder or file.
pub(crate) fn is_there(path: &Path) -> bool {
    path.is_file() && path.extension().is_some_and(|e| e == "yaml" || e == "yml" || e == "json")
        || NAMES.iter().any(|name| stands(&path.join(name)).is_ok_and(|stands| stands))
}

/// Whether a file stands in a folder; also a link that leads nowhere, which is said when it is
/// read.
fn stands(file: &Path) -> std::io::Result<bool> {
    match file.symlink_metadata() {
        Ok(found) => Ok(!found.is_dir()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// The file that a folder or file names.
pub(crate) fn find(path: &Path) -> Result<PathBuf, CliError> {
    let failed = |source| CliError::Read { path: path.to_path_buf(), source };
    if !std::fs::metadata(path).map_err(failed)?.is_dir() {
        return Ok(path.to_path_buf());
    }
    let mut found = Vec::new();
    for file in NAMES.iter().map(|name| path.join(name)) {
        if stands(&file).map_err(failed)? {
            found.push(file);
        }
    }
    match found.as_slice() {
        [] => Err(CliError::NoWorkflowFile(path.to_path_buf())),
        [one] => Ok(one.clone()),
        [first, second, ..] => {
            let other = second.file_name().unwrap_or_default().to_string_lossy().into_owned();
            Err(CliError::File {
                path: first.clone(),
                problems: vec![format!("`{other}` is beside it; keep one of them")],
            })
        }
    }
}

pub(crate) fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

/// The name of the folder that a file stands in.
fn folder_name(path: &Path) -> String {
    let folder = folder_of(path);
    let folder = folder.canonicalize().unwrap_or(folder);
    folder.file_name().map_or_else(|| "workflow".into(), |name| name.to_string_lossy().into_owned())
}

/// Puts values of the environment in the place of `{$env: NAME}`.
pub(crate) fn fill_in(value: &mut Value, path: &Path) -> Result<(), CliError> {
    match value {
        Value::Object(object) if object.len() == 1 && object.contains_key("$env") => {
            let name = object["$env"].as_str().unwrap_or("").to_owned();
            let found = std::env::var(&name)
                .map_err(|_| CliError::NoVariable { name, path: path.to_path_buf() })?;
            *value = Value::from(found);
        }
        Value::Object(object) => object.values_mut().try_for_each(|value| fill_in(value, path))?,
        Value::Array(items) => items.iter_mut().try_for_each(|value| fill_in(value, path))?,
        _ => {}
    }
    Ok(())
}

/// Half of the SHA-256 of a value, hex. It goes to the server, so it is never made of what the
/// environment holds.
pub(crate) fn fingerprint(value: &Value) -> String {
    let digest = Sha256::digest(value.to_string().as_bytes());
    digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

fn without_code(mut step: Value) -> Value {
    if let Some(fields) = step.as_object_mut() {
        fields.shift_remove("code");
        fields.shift_remove("code_file");
        fields.shift_remove("language");
    }
    step
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::folder_with;

    #[test]
    fn steps_bring_their_code_from_json_and_yaml() {
        let folder = folder_with(&[
            ("steps/a.mjs", "import '../lib/b.mjs';"),
            ("lib/b.mjs", ""),
            ("w.json", r#"{"steps":[{"namespace":"a","code_file":"steps/a.mjs"}]}"#),
            (
                "workflow.yaml",
                "steps:\n  - namespace: a\n    code_file: ./steps/a.mjs\nsettings: { concurrency: 2 }\n",
            ),
        ]);
        let yaml = WorkflowFile::read(folder.path()).expect("reads");
        assert_eq!(yaml.name, folder.path().file_name().expect("a name").to_string_lossy());
        let expected = json!([{ "namespace": "a", "code": "import '../lib/b.mjs';", "code_files": { "lib/b.mjs": "" }, "code_entry": "steps/a.mjs" }]);
        assert_eq!(yaml.steps().expect("steps"), expected);
        assert_eq!(
            (&yaml.settings()["concurrency"], &yaml.settings()["queue_max"]),
            (&json!(2), &json!(false))
        );
        let json = WorkflowFile::read(&folder.path().join("w.json")).expect("reads");
        assert_eq!(json.steps().expect("steps"), expected);
        let (one, other) = (yaml.fingerprints(), json.fingerprints());
        let differ: Vec<&str> = one
            .iter()
            .filter(|(part, print)| other[*part] != **print)
            .map(|(part, _)| *part)
            .collect();
        assert_eq!(differ, ["settings"]);
    }

    #[test]
    fn all_problems_are_told_with_their_lines() {
        let wrong = "steps:\n  - { namespace: a, code: x }\n  - namespace: a\n    code_file: gone.mjs\n  - { namespace: trigger, code: x }\n  - { namespace: b, code: ./b.mjs }\n";
        let folder = folder_with(&[
            ("workflow.yml", wrong),
            ("b.mjs", ""),
            ("two/workflow.json", "{}"),
            ("two/workflow.yaml", ""),
        ]);
        let problem = |path: &Path| WorkflowFile::read(path).err().expect("refuses").to_string();
        let text = problem(folder.path());
        assert!(
            text.contains("line 6: `code` is the code itself; `code_file: ./b.mjs` names a file"),
            "{text}"
        );
        assert!(
            text.contains("3 problems")
                && text.contains("line 4: could not read")
                && text.contains("line 5: a step cannot be called `trigger`"),
            "{text}"
        );
        assert!(problem(&folder.path().join("two")).contains("`workflow.json` is beside it"));
        assert!(problem(&folder.path().join("gone")).contains("could not read"));
    }

    #[test]
    fn the_environment_is_filled_in_and_not_fingerprinted() {
        let mut value = json!({ "a": [{ "$env": "PATH" }], "b": { "$env": "x", "more": 1 } });
        fill_in(&mut value, Path::new("w.yaml")).expect("fills in");
        assert_eq!(
            value,
            json!({ "a": [std::env::var("PATH").expect("a path")], "b": { "$env": "x", "more": 1 } })
        );
        let error = fill_in(&mut json!({ "$env": "MILLRACE_NO_SUCH" }), Path::new("w.yaml"))
            .expect_err("refuses");
        assert!(error.to_string().contains("MILLRACE_NO_SUCH"));
    }
}
