//! Order of the folders of the engine: what stands below imports nothing of what stands above, and
//! parts with walls do not know `Engine`.

use std::path::Path;

/// Files and folders of `crates/engine/src` that need no `Engine`, lowest first: each may use those
/// before it, and what stands in the same line. All others may use everything.
const WALLED: &[&[&str]] = &[
    &["answers", "background", "cache", "checks", "config", "ctx", "error", "one_by_one", "owners"],
    &["reach"],
    &["test_ctx", "trace_context"],
    &["tenants"],
    &["deliver"],
    &["observe"],
];

/// Adds what a file of the engine imports of higher folders. `path`: within `crates/engine/src`.
pub fn file(path: &Path, text: &str, problems: &mut Vec<String>) {
    let Some(first) = path.iter().next().and_then(|first| first.to_str()) else { return };
    let Some(level) = level(first.trim_end_matches(".rs")) else { return };
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("//") {
            continue;
        }
        for name in
            names(line).into_iter().filter(|name| self::level(name).is_none_or(|of| of > level))
        {
            problems.push(format!(
                "crates/engine/src/{}:{} uses `crate::{name}`, which stands above it in the order of xtask/src/tidy_engine.rs",
                path.display(),
                index + 1
            ));
        }
    }
}

fn level(name: &str) -> Option<usize> {
    WALLED.iter().position(|names| names.contains(&name))
}

/// Modules that a line names by `crate::…`, and `Engine`; other items of the root are free to all.
fn names(line: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for rest in line.split("crate::").skip(1) {
        let list = rest.strip_prefix('{').and_then(|rest| rest.split('}').next());
        for item in list.unwrap_or(rest).split(',') {
            let item = item.trim();
            let end = item.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(item.len());
            let (name, behind) = item.split_at(end);
            let is_module = name.starts_with(|c: char| c.is_ascii_lowercase())
                && (behind.starts_with("::") || behind.starts_with(';'));
            if is_module || name == "Engine" {
                names.push(name);
            }
            if list.is_none() {
                break;
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(path: &str, text: &str) -> usize {
        let mut problems = Vec::new();
        file(Path::new(path), text, &mut problems);
        problems.len()
    }

    #[test]
    fn what_stands_below_imports_nothing_from_above() {
        for (path, line) in [
            ("tenants/keys.rs", "use crate::ctx::Ctx;"),
            ("tenants/keys.rs", "use crate::tenants::secrets::same;"),
            ("tenants/keys.rs", "use crate::{EngineError, error_chain};"),
            ("deliver/mod.rs", "use crate::trace_context;"),
            ("observe/runs.rs", "use crate::deliver::target;"),
            ("accept/mod.rs", "use crate::{Engine, EngineError};"),
            ("tenants/keys.rs", "// see crate::run::execute"),
        ] {
            assert_eq!(problems(path, line), 0, "{path}: {line}");
        }
        for (path, line) in [
            ("tenants/keys.rs", "use crate::deliver::reach::Reach;"),
            ("tenants/keys.rs", "use crate::{Engine, EngineError};"),
            ("tenants/keys.rs", "use crate::Engine;"),
            ("ctx.rs", "    let a = crate::tenants::secrets::same(a, b);"),
            ("deliver/mod.rs", "use crate::observe::traces;"),
            ("observe/mod.rs", "use crate::run::execute::Held;"),
            ("observe/mod.rs", "use crate::{EngineError, deploy::sources};"),
        ] {
            assert_eq!(problems(path, line), 1, "{path}: {line}");
        }
    }
}
