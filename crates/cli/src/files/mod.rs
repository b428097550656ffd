//! A component on disk, with the files that its relative imports reach.

mod beside;
pub(crate) mod given;
pub(crate) mod init;
pub(crate) mod manifests;
pub(crate) mod names;
mod program;
pub(crate) mod project;
pub(crate) mod root;
pub(crate) mod schema;
mod schema_types;
pub(crate) mod tools;
pub(crate) mod tree;
mod tsconfig;
pub(crate) mod whole;
pub(crate) mod yaml;

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use millrace_model::own_files::{is_data, problem_of_part, text_of};
use millrace_model::source_paths::{ENDINGS, SWAPPED};
use serde_json::{Value, json};

use crate::error::CliError;
use crate::files::manifests::Manifests;
use crate::files::root::Root;
use crate::workflow::file::folder_of;

/// Files that are taken along at most, and their size together; a request to `/v1` may have little
/// more.
const FILES_MAX: usize = 500;
const BYTES_MAX: usize = 8 << 20;

/// A component's text and the files it needs, by path below their common root.
pub(crate) struct Code {
    pub(crate) code: String,
    pub(crate) files: BTreeMap<String, String>,
    pub(crate) entry: String,
    /// All paths on disk, to be watched.
    pub(crate) paths: Vec<PathBuf>,
}

impl Code {
    /// Reads a file that a person names, with what it reaches. Paths are below the root that the
    /// files have in common.
    pub(crate) fn read(path: &Path) -> Result<Self, CliError> {
        let entry = path
            .canonicalize()
            .map_err(|source| CliError::Read { path: path.to_path_buf(), source })?;
        let root = Root::of(entry.parent().unwrap_or(&entry))?;
        Self::read_within(path, &entry, &root, None)
    }

    /// Reads a file that the YAML file `by` names. Paths are below `wanted` where all files are in
    /// it, else below the root that they have in common.
    pub(crate) fn read_named(
        path: &Path,
        by: &Path,
        wanted: Option<&Path>,
    ) -> Result<Self, CliError> {
        let failed = |source| CliError::Read { path: path.to_path_buf(), source };
        let root = Root::of(&folder_of(by))?;
        let entry = path.canonicalize().map_err(failed)?;
        root.check(&entry, by)?;
        Self::read_within(path, &entry, &root, wanted.and_then(|root| root.canonicalize().ok()))
    }

    fn read_within(
        path: &Path,
        entry: &Path,
        root: &Root,
        wanted: Option<PathBuf>,
    ) -> Result<Self, CliError> {
        let failed = |p: &Path, source| CliError::Read { path: p.to_path_buf(), source };
        let mut texts = BTreeMap::new();
        let mut manifests = Manifests::new(root);
        let mut bytes = 0;
        let mut waiting = vec![entry.to_path_buf()];
        while let Some(file) = waiting.pop() {
            if texts.contains_key(&file) {
                continue;
            }
            let too_much = || CliError::TooMuchCode {
                path: path.to_path_buf(),
                files_max: FILES_MAX,
                bytes_max: BYTES_MAX,
            };
            // What is too large is not read to learn it.
            let length = file.metadata().map_err(|e| failed(&file, e))?.len();
            if usize::try_from(length).is_ok_and(|length| length > BYTES_MAX - bytes) {
                return Err(too_much());
            }
            let is_code = file == entry || is_code(&file);
            let text = if is_code {
                std::fs::read_to_string(&file)
            } else {
                std::fs::read(&file).map(text_of)
            };
            let text = text.map_err(|e| failed(&file, e))?;
            bytes += text.len();
            if texts.len() >= FILES_MAX || bytes > BYTES_MAX {
                return Err(too_much());
            }
            let folder = file.parent().unwrap_or(&file).to_path_buf();
            if is_code {
                let imported = imports(&text);
                let relative = imported.iter().filter(|specifier| specifier.starts_with('.'));
                let relative = relative.filter_map(|specifier| find(&folder, specifier));
                let named = manifests.named(&file, &text)?;
                let beside = beside::read_beside(&folder, &text, root);
                for reached in relative.chain(named).chain(beside) {
                    if !texts.contains_key(&reached) && reached != file {
                        root.check(&reached, &file)?;
                        waiting.push(reached);
                    }
                }
            }
            texts.insert(file, text);
        }
        let placed = || texts.keys().chain(&manifests.named_by);
        let wanted = wanted.filter(|root| placed().all(|file| file.starts_with(root)));
        let root = wanted.unwrap_or_else(|| common_root(placed()));
        let code: Vec<PathBuf> =
            texts.keys().filter(|file| *file == entry || is_code(file)).cloned().collect();
        let mut paths: Vec<PathBuf> = texts.keys().cloned().collect();
        for (file, text) in manifests.of(&code, &root)? {
            // One that code reads goes as it is.
            texts.entry(file).or_insert(text);
        }
        paths.extend(manifests.paths);
        let below = |file: &Path| {
            file.strip_prefix(&root).unwrap_or(file).to_string_lossy().replace('\\', "/")
        };
        let code = texts.get(entry).cloned().unwrap_or_default();
        Ok(Self {
            code,
            entry: below(entry),
            files: texts.iter().map(|(file, text)| (below(file), text.clone())).collect(),
            paths,
        })
    }

    /// As the API takes it. The entry's text goes once: a request has its bounds.
    pub(crate) fn body(&self) -> Value {
        json!({ "component_code": self.code, "component_files": others(&self.files, &self.entry), "component_entry": self.entry })
    }
}

fn is_code(path: &Path) -> bool {
    path.extension().is_some_and(|ending| tree::ENDINGS.iter().any(|known| ending == *known))
}

fn is_taken(path: &Path) -> bool {
    is_name(path) && (is_code(path) || is_data(&path.to_string_lossy()))
}

fn is_name(path: &Path) -> bool {
    path.file_name()
        .and_then(|name| name.to_str())
        .is_some_and(|name| problem_of_part(name).is_none())
}

/// The files beside the entry, whose text is sent as the code.
pub(crate) fn others<'a>(
    files: &'a BTreeMap<String, String>,
    entry: &str,
) -> BTreeMap<&'a String, &'a String> {
    files.iter().filter(|(path, _)| *path != entry).collect()
}

fn find(folder: &Path, specifier: &str) -> Option<PathBuf> {
    let base = normalize(&folder.join(specifier));
    let text = base.to_string_lossy().into_owned();
    let swapped = SWAPPED
        .iter()
        .filter_map(|(named, written)| Some(format!("{}{written}", text.strip_suffix(named)?)));
    ENDINGS
        .iter()
        .map(|ending| format!("{text}{ending}"))
        .chain(swapped)
        .map(PathBuf::from)
        .find(|p| p.is_file())
}

fn normalize(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                out.pop();
            }
            Component::CurDir => {}
            other => out.push(other),
        }
    }
    out
}

fn common_root<'a>(files: impl Iterator<Item = &'a PathBuf>) -> PathBuf {
    let mut root: Option<PathBuf> = None;
    for file in files {
        let folder = file.parent().unwrap_or(file);
        root = Some(match root {
            None => folder.to_path_buf(),
            Some(root) => root
                .ancestors()
                .find(|a| folder.starts_with(a))
                .unwrap_or(Path::new("/"))
                .to_path_buf(),
        });
    }
    root.unwrap_or_default()
}

/// Quoted texts behind `from`, `import` or `require`: too many do no harm, the server resolves what
/// is really imported.
fn imports(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for quote in ['"', '\''] {
        for (at, _) in text.match_indices(quote) {
            let rest = &text[at + 1..];
            let before = text[..at].trim_end().trim_end_matches('(').trim_end();
            if ["from", "import", "require"].iter().any(|word| before.ends_with(word))
                && let Some(end) = rest.find(quote)
            {
                found.push(rest[..end].to_owned());
            }
        }
    }
    found
}

/// A folder with these files, which goes with its name.
#[cfg(test)]
pub(crate) fn folder_with(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (path, text) in files {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("writes");
    }
    folder
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_of_all_forms_are_found() {
        let text = "import a from \"./a.mjs\";\nexport * from './b';\nconst c = require('../c.js'); await import(\"./d.json\"); const no = \"./e\"; import 'x';";
        let mut found = imports(text);
        found.sort();
        assert_eq!(found, ["../c.js", "./a.mjs", "./b", "./d.json", "x"]);
    }

    #[test]
    fn endings_are_found_as_node_and_typescript_find_them() {
        let folder = folder_with(&[
            (
                "a.ts",
                "import './b.js'; import '../c.mjs'; import './lib'; import './gone'; import './d.mjs'; import './e.cjs'; import './f.js'; import './g'; import './h'; import './i';",
            ),
            ("b.ts", ""),
            ("d.mts", ""),
            ("e.cts", ""),
            ("f.tsx", ""),
            ("g.tsx", ""),
            ("h.cts", ""),
            ("i/index.mts", ""),
            ("lib/index.js", "module.exports = require('../a')"),
        ]);
        let code = Code::read(&folder.path().join("a.ts")).expect("reads");
        let expected = [
            "a.ts",
            "b.ts",
            "d.mts",
            "e.cts",
            "f.tsx",
            "g.tsx",
            "h.cts",
            "i/index.mts",
            "lib/index.js",
        ];
        assert_eq!(code.files.keys().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn files_that_code_reads_are_taken_along() {
        let folder = folder_with(&[
            (
                "c/main.mjs",
                "read(path.join(__dirname, '..', 'data', 'x.json')); read(`${__dirname}/t/${n}.hbs`); new Worker(new URL('./worker.mjs', import.meta.url)); read('./s/a-' + n)",
            ),
            ("c/worker.mjs", "import './more.mjs'; read(__dirname + '/w.csv'); read('./run.sh')"),
            ("c/more.mjs", ""),
            ("c/w.csv", "1"),
            ("c/run.sh", "not taken"),
            ("c/t/a.hbs", "1"),
            ("c/t/deep/b.hbs", "1"),
            ("c/t/.secret/c.json", "not taken"),
            ("c/s/a-1.txt", "1"),
            ("c/s/b-1.txt", "not taken"),
            ("c/other.csv", "not taken"),
            ("data/x.json", "{}"),
            ("package.json", "{}"),
            ("data/y.json", "not taken"),
        ]);
        std::os::unix::fs::symlink("/etc/hostname", folder.path().join("c/t/link.txt"))
            .expect("links");
        std::fs::write(folder.path().join("c/t/pic.png"), b"\x89PNG\xff").expect("writes");
        let code = Code::read(&folder.path().join("c/main.mjs")).expect("reads");
        let expected = [
            "c/main.mjs",
            "c/more.mjs",
            "c/s/a-1.txt",
            "c/t/a.hbs",
            "c/t/deep/b.hbs",
            "c/t/pic.png",
            "c/w.csv",
            "c/worker.mjs",
            "data/x.json",
            "package.json",
        ];
        assert_eq!(code.files.keys().collect::<Vec<_>>(), expected);
        assert_eq!(
            *millrace_model::own_files::bytes_of(&code.files["c/t/pic.png"]),
            *b"\x89PNG\xff"
        );
    }

    #[test]
    fn code_that_asks_where_it_lies_and_names_nothing_gets_the_data_of_its_folder() {
        let files = [
            ("a.mjs", "read(join(import.meta.dirname, name))"),
            ("x.csv", ""),
            ("y.mjs", ""),
            ("sub/z.csv", ""),
        ];
        assert_eq!(
            Code::read(&folder_with(&files).path().join("a.mjs"))
                .expect("reads")
                .files
                .keys()
                .collect::<Vec<_>>(),
            ["a.mjs", "x.csv"]
        );
        let files = [("a.mjs", "console.log('x')"), ("x.csv", "")];
        assert_eq!(
            Code::read(&folder_with(&files).path().join("a.mjs"))
                .expect("reads")
                .files
                .keys()
                .collect::<Vec<_>>(),
            ["a.mjs"]
        );
    }

    #[test]
    fn files_are_taken_along_below_their_common_root() {
        let folder = folder_with(&[
            ("app.mjs", "export default {}"),
            ("sources/x/x.mjs", "import app from \"../../app.mjs\";"),
        ]);
        let code = Code::read(&folder.path().join("sources/x/x.mjs")).expect("reads");
        assert_eq!(code.entry, "sources/x/x.mjs");
        let body = code.body();
        assert_eq!(body["component_files"], json!({ "app.mjs": "export default {}" }));
        assert_eq!(
            (&body["component_code"], &body["component_entry"]),
            (&"import app from \"../../app.mjs\";".into(), &"sources/x/x.mjs".into())
        );
        assert_eq!(code.files.keys().collect::<Vec<_>>(), ["app.mjs", "sources/x/x.mjs"]);
    }
}
