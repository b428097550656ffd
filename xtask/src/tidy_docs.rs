//! Links and file names in documents: each leads to a file that exists.

use std::path::{Path, PathBuf};

/// Pages for contributors, whose file names in backticks are paths of the repository, or ends of
/// such paths.
const PAGES_OF_PATHS: &[&str] = &["docs/dev", "ARCHITECTURE.md"];
/// The first folders of such paths.
const FOLDERS: &[&str] =
    &["bench/", "components/", "crates/", "docs/", "runtime/", "tests/", "web/", "xtask/"];

/// Extensions of names that are files of the repository without a folder as well.
const EXTENSIONS: &[&str] = &[".mjs", ".rs", ".sql", ".ts", ".tsx"];

/// Reports links of a page that lead nowhere and, in pages for contributors, file names that do not
/// exist. `tracked`: the files under version control.
pub fn page(root: &Path, tracked: &[PathBuf], path: &Path, text: &str, problems: &mut Vec<String>) {
    if path.extension().is_none_or(|extension| extension != "md") {
        return;
    }
    let folder = root.join(path.parent().unwrap_or(Path::new("")));
    for (index, line) in text.lines().enumerate() {
        let mut missing = |what: &str| {
            problems.push(format!(
                "{}:{} names `{what}`, which does not exist",
                path.display(),
                index + 1
            ))
        };
        for target in links(line).filter(|target| !folder.join(target).exists()) {
            missing(target);
        }
        if PAGES_OF_PATHS.iter().any(|page| path.starts_with(page)) {
            let is_there = |name: &&str| {
                root.join(name).exists()
                    || root.join("crates").join(name).exists()
                    || tracked.iter().any(|file| file.ends_with(name))
            };
            for name in paths(line).filter(|name| !is_there(name)) {
                missing(name);
            }
        }
    }
}

/// Relative targets of the links in a line, without their anchors.
fn links(line: &str) -> impl Iterator<Item = &str> {
    let targets = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets
        .map(|target| target.split('#').next().unwrap_or(""))
        .filter(|target| !target.is_empty() && !target.contains(':') && !target.contains(' '))
}

/// Paths of the repository in backticks; `NNNN` and `<…>` stand for parts that the reader chooses.
fn paths(line: &str) -> impl Iterator<Item = &str> {
    let quoted = line.split('`').skip(1).step_by(2);
    quoted.filter(|text| {
        let is_path = FOLDERS.iter().any(|folder| text.starts_with(folder))
            || EXTENSIONS.iter().any(|extension| text.ends_with(extension))
            || text.contains("/src/");
        is_path && !text.contains(['<', ' ', '*']) && !text.contains("NNNN")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_links_and_paths_are_found_and_others_are_not() {
        let line = "see [a](b.md#c), [d](https://e), [f](#g) and `crates/x.rs`, `crates/<noun>.rs`, `let x`, `api/src/y.rs`, `run/z.rs`, `*.rs`";
        assert_eq!(links(line).collect::<Vec<_>>(), ["b.md"]);
        assert_eq!(paths(line).collect::<Vec<_>>(), ["crates/x.rs", "api/src/y.rs", "run/z.rs"]);
    }

    #[test]
    fn a_file_is_named_by_the_end_of_its_path() {
        let (mut problems, tracked) = (Vec::new(), [PathBuf::from("crates/engine/src/run/z.rs")]);
        let text = "`run/z.rs`, `z.rs` and `un/z.rs`\n";
        page(Path::new("/none"), &tracked, Path::new("ARCHITECTURE.md"), text, &mut problems);
        assert_eq!(problems, ["ARCHITECTURE.md:1 names `un/z.rs`, which does not exist"]);
    }
}
