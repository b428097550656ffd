//! `package.json` and `tsconfig.json` beside and above code: the fields of them that decide what
//! its imports mean and how it is read.
//!
//! No code names these files, so nothing else of them is uploaded: no scripts, and no settings of
//! other tools. Where one lies above the folder that the code's files have in common, its fields
//! are uploaded in a file of that folder: the paths of the code stay what they are without it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use millrace_model::tsconfig::Tsconfig;
use serde_json::{Map, Value};

use super::root::Root;
use super::{find, imports, tsconfig};
use crate::error::CliError;

const PACKAGE: &str = "package.json";
const TSCONFIG: &str = "tsconfig.json";
/// Lists of packages with their ranges.
const DEPENDENCIES: [&str; 4] =
    ["dependencies", "peerDependencies", "optionalDependencies", "devDependencies"];
/// Ranges that are prescribed for what packages import.
const OVERRIDES: [&str; 3] = ["overrides", "resolutions", "pnpm"];
/// Names by which code imports files of its own package, by their paths in it.
const OWN_NAMES: [&str; 3] = ["name", "imports", "exports"];
/// The largest manifest that is read.
pub(super) const MANIFEST_BYTES_MAX: u64 = 1 << 20;

/// Manifests of the code that is read within a root.
pub(super) struct Manifests<'a> {
    root: &'a Root,
    /// Those by which code names its own files; they are uploaded under their own paths.
    pub(super) named_by: BTreeSet<PathBuf>,
    /// All that were read, to be watched.
    pub(super) paths: BTreeSet<PathBuf>,
}

impl<'a> Manifests<'a> {
    pub(super) const fn new(root: &'a Root) -> Self {
        Self { root, named_by: BTreeSet::new(), paths: BTreeSet::new() }
    }

    /// Files that code imports by a name of its own package: `#x` of `imports`, or the package's
    /// name where it has `exports`. Those of all conditions, of which the server takes one.
    pub(super) fn named(&mut self, file: &Path, code: &str) -> Result<Vec<PathBuf>, CliError> {
        let mut found = Vec::new();
        let Some(home) = self.upwards(file).into_iter().find(|dir| dir.join(PACKAGE).is_file())
        else {
            return Ok(found);
        };
        let Some(manifest) = self.package(&home)? else { return Ok(found) };
        let name = manifest.get("name").and_then(Value::as_str);
        for specifier in imports(code) {
            let below = name.and_then(|name| specifier.strip_prefix(name));
            let (map, key) = match (below, manifest.get("exports"), manifest.get("imports")) {
                (_, _, Some(map)) if specifier.starts_with('#') => (map, specifier.clone()),
                (Some(below), Some(map), _) if below.is_empty() || below.starts_with('/') => {
                    (map, format!(".{below}"))
                }
                _ => continue,
            };
            self.named_by.insert(home.join(PACKAGE));
            found.extend(targets(map, &key).iter().filter_map(|target| find(&home, target)));
        }
        Ok(found)
    }

    /// The manifests that code files are uploaded with, by path. `top` is the folder that the files
    /// have in common.
    pub(super) fn of(
        &mut self,
        files: &[PathBuf],
        top: &Path,
    ) -> Result<BTreeMap<PathBuf, String>, CliError> {
        let mut found = BTreeMap::new();
        let folders: BTreeSet<PathBuf> = files.iter().flat_map(|file| self.upwards(file)).collect();
        for folder in folders.iter().filter(|folder| folder.starts_with(top) && *folder != top) {
            if let Some(manifest) = self.package(folder)? {
                found.insert(folder.join(PACKAGE), written(&manifest));
            }
        }
        let mut merged: Option<Map<String, Value>> = None;
        for folder in self.upwards(&top.join(PACKAGE)) {
            let Some(mut manifest) = self.package(&folder)? else { continue };
            if folder != top {
                manifest.retain(|field, _| !OWN_NAMES.contains(&field.as_str()));
            }
            merged = Some(match merged {
                Some(nearer) => merge(nearer, &manifest),
                None => manifest,
            });
        }
        found.extend(merged.map(|manifest| (top.join(PACKAGE), written(&manifest))));
        found.extend(self.options(files, top)?);
        Ok(found)
    }

    /// The `tsconfig.json` nearest to each file of TypeScript, with what it extends. None where no
    /// option of any is one that a server reads: else a plain one bounds those above it.
    fn options(
        &mut self,
        files: &[PathBuf],
        top: &Path,
    ) -> Result<BTreeMap<PathBuf, String>, CliError> {
        let mut found = BTreeMap::new();
        for file in files.iter().filter(|file| is_typescript(file)) {
            let nearest = self.upwards(file).into_iter().find(|dir| dir.join(TSCONFIG).is_file());
            let Some(folder) = nearest else { continue };
            let path = folder.join(TSCONFIG);
            let Some(text) = self.text(&path)? else { continue };
            let config = tsconfig::read(&path, &text, self.root, &mut self.paths);
            let place = if folder.starts_with(top) { &folder } else { top };
            found.insert(place.join(TSCONFIG), config);
        }
        if found.values().all(Tsconfig::is_plain) {
            found.clear();
        }
        Ok(found.into_iter().map(|(path, config)| (path, config.text())).collect())
    }

    /// The folders of a file up to the root, the nearest first.
    fn upwards(&self, file: &Path) -> Vec<PathBuf> {
        let folders = file.ancestors().skip(1).take_while(|folder| self.root.holds_folder(folder));
        folders.map(Path::to_path_buf).collect()
    }

    /// The text of a manifest; None where there is none.
    fn text(&mut self, path: &Path) -> Result<Option<String>, CliError> {
        if !path.is_file() {
            return Ok(None);
        }
        self.root.check(path, path)?;
        let failed = |source| CliError::Read { path: path.to_path_buf(), source };
        if path.metadata().map_err(failed)?.len() > MANIFEST_BYTES_MAX {
            let problem = format!("it has more than {MANIFEST_BYTES_MAX} bytes");
            return Err(CliError::Manifest { path: path.to_path_buf(), problem });
        }
        self.paths.insert(path.to_path_buf());
        std::fs::read_to_string(path).map(Some).map_err(failed)
    }

    /// The fields of a folder's `package.json` that are uploaded.
    fn package(&mut self, folder: &Path) -> Result<Option<Map<String, Value>>, CliError> {
        let path = folder.join(PACKAGE);
        let Some(text) = self.text(&path)? else { return Ok(None) };
        fields_of(&text).map(Some).map_err(|problem| CliError::Manifest { path, problem })
    }
}

/// Whether a file that a server names is one of these with nothing but the fields that are
/// uploaded.
pub(crate) fn is_manifest(path: &str, text: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    uploaded(name, text).is_some_and(|uploaded| uploaded == text)
}

/// What a pull writes over a manifest that is there: its own fields stay where they are none of
/// those that are uploaded. None where those are the same.
pub(crate) fn pulled(path: &Path, there: &str, text: &str) -> Option<String> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("");
    if name == TSCONFIG {
        return tsconfig::pulled(path, there, text);
    }
    if uploaded(name, there).as_deref() == Some(text) {
        return None;
    }
    let object = |text: &str| millrace_model::json::from_str::<Map<String, Value>>(text).ok();
    let (Some(mut there), Some(pulled)) = (object(there), object(text)) else {
        return Some(text.to_owned());
    };
    there.retain(|field, _| !is_uploaded(field));
    there.extend(pulled);
    Some(written(&there))
}

/// What is uploaded of a manifest's text. None: nothing.
fn uploaded(name: &str, text: &str) -> Option<String> {
    match name {
        PACKAGE => fields_of(text).ok().map(|fields| written(&fields)),
        // What a server has of it extends nothing that is there.
        TSCONFIG => Some(Tsconfig::read(name, text, &mut |_| None).text()),
        _ => None,
    }
}

/// The fields of a `package.json` that are uploaded; else what is wrong with it.
fn fields_of(text: &str) -> Result<Map<String, Value>, String> {
    let mut fields = match millrace_model::json::from_str(text.trim_start_matches('\u{feff}')) {
        Ok(Value::Object(fields)) => fields,
        Ok(_) => return Err("it is JSON, but not an object".to_owned()),
        Err(error) => return Err(format!("it is not JSON: {error}")),
    };
    fields.retain(|field, _| is_uploaded(field));
    if let Some(Value::Object(pnpm)) = fields.get_mut("pnpm") {
        pnpm.retain(|field, _| field == "overrides");
    }
    Ok(fields)
}

fn is_uploaded(field: &str) -> bool {
    field == "type"
        || [&DEPENDENCIES[..], &OVERRIDES, &OWN_NAMES].iter().any(|list| list.contains(&field))
}

fn written(manifest: &Map<String, Value>) -> String {
    format!("{:#}\n", Value::Object(manifest.clone()))
}

/// Adds what the manifest of a folder above says and the nearer one does not: packages that it does
/// not name, and what is prescribed where it prescribes nothing.
fn merge(mut nearer: Map<String, Value>, above: &Map<String, Value>) -> Map<String, Value> {
    let packages = |manifest: &Map<String, Value>, list: &str| {
        manifest.get(list).and_then(Value::as_object).cloned().unwrap_or_default()
    };
    let named: BTreeSet<String> = DEPENDENCIES
        .iter()
        .flat_map(|list| packages(&nearer, list).into_iter().map(|(name, _)| name))
        .collect();
    for list in DEPENDENCIES {
        let mut all = packages(&nearer, list);
        all.extend(packages(above, list).into_iter().filter(|(name, _)| !named.contains(name)));
        if !all.is_empty() {
            nearer.insert(list.to_owned(), Value::Object(all));
        }
    }
    if !OVERRIDES.iter().any(|field| nearer.contains_key(*field)) {
        let prescribed = OVERRIDES.iter().filter_map(|field| above.get_key_value(*field));
        nearer.extend(prescribed.map(|(field, value)| (field.clone(), value.clone())));
    }
    nearer
}

/// The paths that a key of `imports` or `exports` leads to, whatever the conditions.
fn targets(map: &Value, key: &str) -> Vec<String> {
    let is_map_of_paths =
        map.as_object().is_some_and(|map| map.keys().all(|key| key.starts_with(['.', '#'])));
    if !is_map_of_paths {
        return if key == "." { paths(map, "") } else { Vec::new() };
    }
    let entries = map.as_object().into_iter().flatten();
    let fitting = entries.filter_map(|(pattern, target)| match pattern.split_once('*') {
        None => (pattern == key).then_some((target, "")),
        Some((begin, end)) => {
            let middle = key.strip_prefix(begin)?.strip_suffix(end)?;
            Some((target, middle))
        }
    });
    fitting.flat_map(|(target, middle)| paths(target, middle)).collect()
}

fn paths(target: &Value, middle: &str) -> Vec<String> {
    match target {
        Value::String(path) if path.starts_with("./") => vec![path.replace('*', middle)],
        Value::Array(list) => list.iter().flat_map(|target| paths(target, middle)).collect(),
        Value::Object(map) => map.values().flat_map(|target| paths(target, middle)).collect(),
        _ => Vec::new(),
    }
}

fn is_typescript(file: &Path) -> bool {
    file.extension().is_some_and(|end| ["ts", "mts", "cts", "tsx"].iter().any(|ts| end == *ts))
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::*;
    use crate::files::{Code, folder_with};

    pub(in crate::files) fn read(
        files: &[(&str, &str)],
        entry: &str,
    ) -> (String, BTreeMap<String, String>) {
        let folder = folder_with(files);
        let code = Code::read(&folder.path().join(entry)).expect("reads");
        let mut others = code.files;
        others.remove(&code.entry);
        (code.entry, others)
    }

    fn json_of(text: &str) -> Value {
        millrace_model::json::from_str(text).expect("JSON")
    }

    #[test]
    fn fields_that_decide_versions_go_with_code_and_nothing_else_of_a_manifest() {
        let (entry, files) = read(
            &[
                ("millrace.yaml", ""),
                (
                    "package.json",
                    r#"{"scripts":{"test":"x"},"type":"module","dependencies":{"lodash":"4","deep":"2"},"overrides":{"deep":"1"},"pnpm":{"overrides":{},"patches":{}}}"#,
                ),
                (
                    "apps/flow/package.json",
                    r#"{"name":"flow","private":true,"dependencies":{"lodash":"3.10.1"}}"#,
                ),
                ("apps/flow/lib/package.json", r#"{"type":"commonjs"}"#),
                ("apps/flow/lib/b.js", ""),
                ("apps/flow/other/package.json", "not read"),
                ("apps/flow/a.mjs", "import './lib/b.js'; import _ from 'lodash';"),
            ],
            "apps/flow/a.mjs",
        );
        assert_eq!(entry, "a.mjs");
        let paths: Vec<&str> = files.keys().map(String::as_str).collect();
        assert_eq!(paths, ["lib/b.js", "lib/package.json", "package.json"]);
        assert_eq!(
            json_of(&files["package.json"]),
            json!({ "name": "flow", "dependencies": { "lodash": "3.10.1", "deep": "2" },
                    "overrides": { "deep": "1" }, "pnpm": { "overrides": {} } })
        );
        assert_eq!(json_of(&files["lib/package.json"]), json!({ "type": "commonjs" }));
    }

    #[test]
    fn files_that_a_package_names_for_itself_go_with_it() {
        let manifest = r##"{"name":"me","imports":{"#cfg":"./lib/cfg.mjs","#u/*":{"node":"./lib/u/*.mjs"},"#l":"lodash"},"exports":{".":"./main.mjs","./x":"./lib/x.mjs"}}"##;
        let (entry, files) = read(
            &[
                ("package.json", manifest),
                ("lib/cfg.mjs", ""),
                ("lib/u/b.mjs", ""),
                ("lib/x.mjs", ""),
                ("main.mjs", "not imported"),
                ("steps/a.mjs", "import '#cfg'; import '#u/b'; import '#l'; import 'me/x';"),
            ],
            "steps/a.mjs",
        );
        assert_eq!(entry, "steps/a.mjs");
        let paths: Vec<&str> = files.keys().map(String::as_str).collect();
        assert_eq!(paths, ["lib/cfg.mjs", "lib/u/b.mjs", "lib/x.mjs", "package.json"]);
        assert_eq!(json_of(&files["package.json"]), json_of(manifest));
    }

    #[test]
    fn a_manifest_that_is_none_is_refused_with_its_path() {
        let folder = folder_with(&[("package.json", "{,}"), ("a.mjs", "")]);
        let error = Code::read(&folder.path().join("a.mjs")).err().expect("refuses").to_string();
        assert!(error.contains("/package.json`") && error.contains("it is not JSON"), "{error}");
    }

    #[test]
    fn a_pull_writes_only_fields_that_are_uploaded_and_keeps_the_others() {
        let served = written(&fields_of(r#"{"dependencies":{"a":"1"}}"#).expect("an object"));
        assert!(is_manifest("lib/package.json", &served));
        let options = Tsconfig { experimental_decorators: true, ..Tsconfig::default() }.text();
        assert!(is_manifest("tsconfig.json", &options));
        assert!(!is_manifest("tsconfig.json", r#"{"compilerOptions":{"plugins":[]}}"#));
        for text in ["{\"scripts\":{\"test\":\"x\"}}", "[]", "{\"pnpm\":{\"patches\":{}}}"] {
            assert!(!is_manifest("package.json", text), "{text}");
        }
        assert!(!is_manifest("Package.json", &served) && !is_manifest("x.json", &served));
        let path = Path::new("f/package.json");
        assert_eq!(pulled(path, r#"{"x":1,"dependencies":{"a":"1"}}"#, &served), None);
        let kept = pulled(path, r#"{"x":1,"dependencies":{"a":"2"}}"#, &served).expect("differs");
        assert_eq!(json_of(&kept), json!({ "x": 1, "dependencies": { "a": "1" } }));
    }
}
