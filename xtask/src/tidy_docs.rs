//! Links and file names in documents: each leads to a file that exists.

use std::path::Path;

/// Pages for contributors, whose file names in backticks are paths of the repository or of
/// `crates`.
const PAGES_OF_PATHS: &[&str] = &["docs/dev", "ARCHITECTURE.md"];
/// The first folders of such paths.
const FOLDERS: &[&str] =
    &["bench/", "components/", "crates/", "docs/", "runtime/", "tests/", "web/", "xtask/"];

/// Reports links of a page that lead nowhere and, in pages for contributors, file names that do not
/// exist.
pub fn page(root: &Path, path: &Path, text: &str, problems: &mut Vec<String>) {
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
            let is_there =
                |name: &&str| root.join(name).exists() || root.join("crates").join(name).exists();
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
        (FOLDERS.iter().any(|folder| text.starts_with(folder)) || text.contains("/src/"))
            && !text.contains(['<', ' '])
            && !text.contains("NNNN")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_links_and_paths_are_found_and_others_are_not() {
        let line = "see [a](b.md#c), [d](https://e), [f](#g) and `crates/x.rs`, `crates/<noun>.rs`, `let x`, `api/src/y.rs`";
        assert_eq!(links(line).collect::<Vec<_>>(), ["b.md"]);
        assert_eq!(paths(line).collect::<Vec<_>>(), ["crates/x.rs", "api/src/y.rs"]);
    }
}
