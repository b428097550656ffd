//! A project: a folder of workflows and sources that `apply` makes true.
//!
//! `millrace.yaml` (may be missing) names it; each `workflows/<name>/workflow.yaml` is a workflow;
//! each `sources/<name>.yaml`, or a code file there without one, is a source.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::error::CliError;
use crate::files::schema::Form;
use crate::files::yaml::Document;
use crate::files::{Code, given};
use crate::workflow::file::{self, WorkflowFile, fill_in, fingerprint};

const HEAD: [&str; 2] = ["millrace.yaml", "millrace.yml"];
const YAML: [&str; 2] = ["yaml", "yml"];
const CODE: [&str; 3] = ["mjs", "ts", "js"];

/// A project on disk.
pub(crate) struct Project {
    pub(crate) name: String,
    pub(crate) sources: Vec<SourceFile>,
    pub(crate) workflows: Vec<(String, WorkflowFile)>,
    /// Folders beside those of workflows that have no workflow file: code that several share.
    pub(crate) bare: Vec<String>,
}

/// A source's file.
pub(crate) struct SourceFile {
    /// Within the project, without its ending: `sources/feed`.
    pub(crate) path: String,
    file: PathBuf,
    pub(crate) name: String,
    value: Value,
    code: Option<Code>,
}

impl Project {
    /// Reads all of it. Everything that is wrong is told at once, and nothing is applied then.
    pub(crate) fn read(folder: &Path) -> Result<Self, CliError> {
        if !folder.is_dir() {
            return Err(CliError::Read {
                path: folder.to_path_buf(),
                source: std::io::ErrorKind::NotADirectory.into(),
            });
        }
        let name = name_of(folder)?;
        let (mut sources, mut workflows, mut problems) = (Vec::new(), Vec::new(), Vec::new());
        let mut bare = Vec::new();
        for (stem, file) in source_files(&folder.join("sources"))? {
            match SourceFile::read(&stem, &file) {
                Ok(source) => sources.push(source),
                Err(error) => problems.push(error),
            }
        }
        for below in names(&folder.join("workflows"))? {
            let path = folder.join("workflows").join(&below);
            if !is_folder(&path)? {
                continue;
            }
            match WorkflowFile::read(&path) {
                Ok(file) => workflows.push((format!("workflows/{below}"), file)),
                Err(CliError::NoWorkflowFile(_)) => bare.push(format!("workflows/{below}")),
                Err(error) => problems.push(error),
            }
        }
        if !problems.is_empty() {
            let texts = problems.iter().map(ToString::to_string).collect();
            return Err(CliError::Project { problems: texts });
        }
        // A folder that says which project it is may have nothing left; another is most likely the
        // wrong one.
        if sources.is_empty()
            && workflows.is_empty()
            && !HEAD.iter().any(|name| folder.join(name).is_file())
        {
            return Err(CliError::EmptyProject(folder.to_path_buf()));
        }
        same_names(folder, &sources, &workflows)?;
        Ok(Self { name, sources, workflows, bare })
    }
}

/// Names tell a project's own workflows and sources from each other where they name each other.
fn same_names(
    folder: &Path,
    sources: &[SourceFile],
    workflows: &[(String, WorkflowFile)],
) -> Result<(), CliError> {
    let named = sources.iter().map(|s| (("source", s.name.as_str()), s.path.as_str()));
    let named = named.chain(
        workflows.iter().map(|(path, file)| (("workflow", file.name.as_str()), path.as_str())),
    );
    let mut places: BTreeMap<(&str, &str), &str> = BTreeMap::new();
    for ((kind, name), path) in named {
        if let Some(other) = places.insert((kind, name), path) {
            return Err(CliError::File {
                path: folder.to_path_buf(),
                problems: vec![format!("`{other}` and `{path}` are both a {kind} called `{name}`")],
            });
        }
    }
    Ok(())
}

impl SourceFile {
    fn read(stem: &str, file: &Path) -> Result<Self, CliError> {
        let wrong = |problems| CliError::File { path: file.to_path_buf(), problems };
        let folder = file::folder_of(file);
        let value = if is_yaml(file) { document(file, Form::Source)? } else { json!({}) };
        let code =
            match (value["code_file"].as_str(), value.get("key").or(value.get("component_url"))) {
                (Some(name), _) => Some(Code::read_named(&folder.join(name), file, None)?),
                (None, Some(_)) => None,
                (None, None) => {
                    let beside = CODE
                        .iter()
                        .map(|ending| folder.join(format!("{stem}.{ending}")))
                        .find(|path| path.is_file());
                    let beside = beside.ok_or_else(|| {
                    wrong(vec![format!(
                        "it names no code, and there is no `{stem}.mjs`, `.ts` or `.js` beside it"
                    )])
                })?;
                    Some(Code::read_named(&beside, file, None)?)
                }
            };
        let name = value["name"].as_str().unwrap_or(stem).to_owned();
        Ok(Self { path: format!("sources/{stem}"), file: file.to_path_buf(), name, value, code })
    }

    pub(crate) fn active(&self) -> bool {
        self.value["active"].as_bool().unwrap_or(true)
    }

    /// As the API takes it.
    pub(crate) fn body(&self) -> Result<Value, CliError> {
        let mut body = match &self.code {
            Some(code) => code.body(),
            None => json!({}),
        };
        for field in ["concurrency", "calls_per_isolate"] {
            // Left out of the file, it is what it is by default.
            body[field] = self.value.get(field).cloned().unwrap_or(Value::Bool(false));
        }
        for field in ["key", "component_url"] {
            if let Some(value) = self.value.get(field) {
                body[field] = value.clone();
            }
        }
        let mut props = self.value.get("props").cloned().unwrap_or_else(|| json!({}));
        fill_in(&mut props, &self.file)?;
        body["configured_props"] = props;
        body["name"] = json!(self.name);
        Ok(body)
    }

    /// What the parts of it come to.
    pub(crate) fn fingerprints(&self) -> BTreeMap<&'static str, String> {
        let code = match &self.code {
            Some(code) => json!([code.entry, code.files]),
            None => json!([self.value["key"], self.value["component_url"]]),
        };
        BTreeMap::from([
            ("name", fingerprint(&json!(self.name))),
            ("code", fingerprint(&code)),
            ("props", fingerprint(&self.value["props"])),
            ("active", fingerprint(&json!(self.active()))),
            (
                "parallel",
                fingerprint(&json!([self.value["concurrency"], self.value["calls_per_isolate"]])),
            ),
        ])
    }
}

fn document(file: &Path, form: Form) -> Result<Value, CliError> {
    let text = given::file(file)?;
    let wrong = |problems| CliError::File { path: file.to_path_buf(), problems };
    let mut document = Document::parse(file, &text).map_err(|p| {
        wrong(vec![
            p.line.map_or_else(|| p.text.clone(), |line| format!("line {line}: {}", p.text)),
        ])
    })?;
    if document.value.is_null() {
        document.value = json!({});
    }
    let problems = form.problems(&document);
    if problems.is_empty() { Ok(document.value) } else { Err(wrong(problems)) }
}

fn name_of(folder: &Path) -> Result<String, CliError> {
    let head = HEAD.iter().map(|name| folder.join(name)).find(|path| path.is_file());
    let value = match &head {
        Some(file) => document(file, Form::Project)?,
        None => json!({}),
    };
    if let Some(name) = value["project"].as_str() {
        return Ok(name.to_owned());
    }
    let full = folder
        .canonicalize()
        .map_err(|source| CliError::Read { path: folder.to_path_buf(), source })?;
    let name: String = full
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' })
        .take(64)
        .collect();
    let name = name.trim_start_matches(['-', '_', '.']).to_owned();
    if name.is_empty() {
        let path = head.unwrap_or_else(|| folder.join(HEAD[0]));
        return Err(CliError::File {
            path,
            problems: vec!["the project needs a name: write `project: NAME` into it".into()],
        });
    }
    Ok(name)
}

/// Whether it is a folder. What cannot be read, such as a link that leads nowhere, stops
/// everything: what was made from it is not gone.
fn is_folder(path: &Path) -> Result<bool, CliError> {
    let found = std::fs::metadata(path);
    found
        .map(|found| found.is_dir())
        .map_err(|source| CliError::Read { path: path.to_path_buf(), source })
}

fn is_yaml(path: &Path) -> bool {
    path.extension().is_some_and(|ending| YAML.iter().any(|yaml| ending == *yaml))
}

/// The sources' files by name: a YAML file, else a code file. Folders below hold what these import.
fn source_files(folder: &Path) -> Result<BTreeMap<String, PathBuf>, CliError> {
    let mut beside: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for name in names(folder)? {
        let path = folder.join(&name);
        let Some((stem, ending)) = name.rsplit_once('.') else { continue };
        let is_code = CODE.contains(&ending) && !stem.ends_with(".app") && !stem.ends_with(".d");
        if (YAML.contains(&ending) || is_code) && !is_folder(&path)? {
            beside.entry(stem.to_owned()).or_default().push(path);
        }
    }
    let mut found = BTreeMap::new();
    for (stem, files) in beside {
        found.insert(stem, chosen(files)?);
    }
    // Code that a YAML file names is no source of its own.
    let named: Vec<PathBuf> = found
        .values()
        .filter_map(|file| {
            Some(folder.join(document(file, Form::Source).ok()?["code_file"].as_str()?))
        })
        .collect();
    found
        .retain(|_, file| !named.iter().any(|n| n.canonicalize().ok() == file.canonicalize().ok()));
    Ok(found)
}

/// The file that stands for a source of several of one name: YAML, which may name its code. Two
/// that could both be it are refused.
fn chosen(files: Vec<PathBuf>) -> Result<PathBuf, CliError> {
    let (yaml, code): (Vec<_>, Vec<_>) = files.into_iter().partition(|file| is_yaml(file));
    let names_code = |file: &PathBuf| {
        document(file, Form::Source).is_ok_and(|value| {
            ["code_file", "key", "component_url"].iter().any(|field| !value[field].is_null())
        })
    };
    let doubled = match (yaml.as_slice(), code.as_slice()) {
        ([first, second, ..], _) => Some((first, second)),
        ([one], [first, second, ..]) if !names_code(one) => Some((first, second)),
        ([], [first, second, ..]) => Some((first, second)),
        _ => None,
    };
    if let Some((first, second)) = doubled {
        let problem = format!("`{}` is beside it; keep one of them", second.display());
        return Err(CliError::File { path: first.clone(), problems: vec![problem] });
    }
    // There is at least one.
    Ok(yaml.into_iter().chain(code).next().unwrap_or_default())
}

/// The names in a folder, in order; none where it is not there.
fn names(folder: &Path) -> Result<Vec<String>, CliError> {
    let failed = |source| CliError::Read { path: folder.to_path_buf(), source };
    let entries = match std::fs::read_dir(folder) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(failed)?,
    };
    let mut names = Vec::new();
    for entry in entries {
        names.extend(entry.map_err(failed)?.file_name().into_string());
    }
    names.retain(|name| !name.starts_with('.'));
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::folder_with;

    #[test]
    fn a_folder_is_a_project() {
        let folder = folder_with(&[
            ("millrace.yaml", "project: shop\n"),
            ("sources/feed.mjs", "import './lib/x.mjs'"),
            ("sources/lib/x.mjs", ""),
            ("sources/feed.yaml", "name: The feed\nprops: { url: 'https://x' }\n"),
            ("sources/bare.ts", "export default {}"),
            ("sources/slack.app.mjs", "export default {}"),
            ("sources/named.yml", "code_file: other.mjs\nactive: false\n"),
            ("sources/other.mjs", ""),
            ("sources/rss.yaml", "key: rss-new-item\nconcurrency: 4\n"),
            ("workflows/hello/workflow.yaml", "steps: []\n"),
            ("workflows/shared/x.mjs", ""),
        ]);
        let project = Project::read(folder.path()).expect("reads");
        assert_eq!(project.name, "shop");
        let sources: Vec<(&str, &str, bool)> = project
            .sources
            .iter()
            .map(|s| (s.path.as_str(), s.name.as_str(), s.active()))
            .collect();
        assert_eq!(
            sources,
            [
                ("sources/bare", "bare", true),
                ("sources/feed", "The feed", true),
                ("sources/named", "named", false),
                ("sources/rss", "rss", true)
            ]
        );
        assert_eq!(
            project
                .workflows
                .iter()
                .map(|(path, file)| (path.as_str(), file.name.as_str()))
                .collect::<Vec<_>>(),
            [("workflows/hello", "hello")]
        );
        let body = project.sources[1].body().expect("a body");
        assert_eq!(
            (&body["configured_props"]["url"], &body["component_entry"]),
            (&json!("https://x"), &json!("feed.mjs"))
        );
        assert_eq!(
            project.sources[3].body().expect("a body"),
            json!({ "key": "rss-new-item", "configured_props": {}, "name": "rss", "concurrency": 4, "calls_per_isolate": false })
        );
    }

    #[test]
    fn what_cannot_be_read_or_is_there_twice_stops_everything() {
        let refused = |folder: &Path| Project::read(folder).err().expect("refuses").to_string();
        for (path, there) in [("sources/a.mjs", "b.mjs"), ("workflows/a/workflow.yaml", "b.yaml")] {
            let folder = folder_with(&[("sources/c.mjs", ""), ("workflows/a/x.mjs", "")]);
            std::os::unix::fs::symlink(there, folder.path().join(path)).expect("links");
            let text = refused(folder.path());
            assert!(text.contains(path) && text.contains("there is no such file"), "{text}");
        }
        let twice = |files: &[(&str, &str)]| refused(folder_with(files).path());
        for ending in ["ts", "js"] {
            let other = format!("sources/x.{ending}");
            let text = twice(&[("sources/x.mjs", ""), (other.as_str(), "")]);
            assert!(text.contains("is beside it; keep one of them"), "{text}");
            twice(&[("sources/x.mjs", ""), (other.as_str(), ""), ("sources/x.yaml", "name: x\n")]);
        }
        let named =
            [("sources/x.mjs", ""), ("sources/x.ts", ""), ("sources/x.yaml", "code_file: x.ts\n")];
        let project = Project::read(folder_with(&named).path()).expect("reads");
        assert_eq!(project.sources.len(), 1);
    }

    #[test]
    fn all_that_is_wrong_is_told_at_once() {
        let folder = folder_with(&[
            ("sources/a.yaml", "nmae: x\n"),
            ("sources/b.yaml", "name: b\n"),
            ("workflows/c/workflow.yaml", "steps: 1\n"),
        ]);
        let text = Project::read(folder.path()).err().expect("refuses").to_string();
        assert!(
            text.contains("3 problems")
                && text.contains("a.yaml")
                && text.contains("no field `nmae`")
                && text.contains("no `b.mjs`")
                && text.contains("`steps` is a number"),
            "{text}"
        );
        assert!(matches!(Project::read(folder_with(&[]).path()), Err(CliError::EmptyProject(_))));
    }
}
