//! Order of the folders of the engine: a lower one imports nothing of a higher one, and parts with
//! walls do not know `Engine`.

use std::path::Path;

/// Files and folders of `crates/engine/src` that need no `Engine`, lowest first: each may use those
/// before it, and what stands in the same line. All others may use everything. A file of a folder
/// that is not listed whole stands here by its path.
const WALLED: &[&[&str]] = &[
    &[
        "answers",
        "background",
        "bundle_error",
        "cache",
        "checks",
        "config",
        "ctx",
        "edit_conflict",
        "error",
        "field_errors",
        "one_by_one",
        "owners",
    ],
    &["reach"],
    &["test_ctx", "trace_context"],
    &["tenants"],
    &["deliver"],
    &["observe"],
    &["accept/domains", "run/data_stores", "run/store_grants"],
    &["deploy/forms", "deploy/subscriptions"],
    &["deploy/values"],
    &["deploy/registries", "deploy/search_index", "deploy/served_apps"],
];

/// Folders that use `Engine` and stand in an order all the same, lowest first: one imports nothing
/// of those behind it.
const ORDERED: &[&str] = &["run", "deploy", "on_request"];

/// Adds what a file of the engine imports of higher folders. `path`: within `crates/engine/src`.
pub fn file(path: &Path, text: &str, problems: &mut Vec<String>) {
    let Some(name) = path.to_str().map(|path| path.trim_end_matches(".rs")) else { return };
    let level = level(name);
    if level.is_none() && place(name).is_none() {
        return;
    }
    let is_above = |other: &str| match level {
        Some(level) => self::level(other).is_none_or(|of| of > level),
        None => place(other) > place(name),
    };
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("//") {
            continue;
        }
        for name in names(line).into_iter().filter(|name| is_above(name)) {
            problems.push(format!(
                "crates/engine/src/{}:{} uses `{name}` of the engine, which stands above it in the order of xtask/src/tidy_engine.rs",
                path.display(),
                index + 1
            ));
        }
    }
}

/// The line of a module, given by its path (`run/data_stores`): its own, else that of its folder.
fn level(path: &str) -> Option<usize> {
    let of = |name: &str| WALLED.iter().position(|names| names.contains(&name));
    let mut parts = path.split('/');
    let first = parts.next()?;
    let second = parts.next().and_then(|second| of(&format!("{first}/{second}")));
    second.or_else(|| of(first))
}

/// The place of a module's folder in [`ORDERED`].
fn place(path: &str) -> Option<usize> {
    ORDERED.iter().position(|folder| path.split('/').next() == Some(folder))
}

/// Modules that a line names by `crate::…` (`run/data_stores`), and `Engine`; other items of the
/// root are free to all.
fn names(line: &str) -> Vec<String> {
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
                let inner = behind.strip_prefix("::").unwrap_or("");
                let end = inner.find(|c: char| !c.is_alphanumeric() && c != '_');
                let inner = &inner[..end.unwrap_or(inner.len())];
                let is_inner = inner.starts_with(|c: char| c.is_ascii_lowercase());
                names.push(if is_inner { format!("{name}/{inner}") } else { name.to_owned() });
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
            ("run/data_stores.rs", "use crate::observe::metrics::Metrics;"),
            ("deploy/values.rs", "use crate::run::data_stores::DataStores;"),
            ("run/execute.rs", "use crate::{Engine, settle::emits};"),
            ("deploy/hooks.rs", "use crate::run::sink::Collector;"),
            ("on_request/actions.rs", "use crate::deploy::components::CodeRef;"),
        ] {
            assert_eq!(problems(path, line), 0, "{path}: {line}");
        }
        for (path, line) in [
            ("tenants/keys.rs", "use crate::deliver::reach::Reach;"),
            ("tenants/keys.rs", "use crate::{Engine, EngineError};"),
            ("tenants/keys.rs", "use crate::Engine;"),
            ("ctx.rs", "    let a = crate::tenants::secrets::same(a, b);"),
            ("deliver/mod.rs", "use crate::observe::traces;"),
            ("observe/mod.rs", "use crate::run::claimed_run::ClaimedRun;"),
            ("observe/mod.rs", "use crate::run::data_stores::DataStores;"),
            ("run/data_stores.rs", "use crate::deploy::values::PropValues;"),
            ("run/data_stores.rs", "use crate::run::claimed_run::ClaimedRun;"),
            ("deploy/registries.rs", "use crate::{Engine, EngineError};"),
            ("observe/mod.rs", "use crate::{EngineError, deploy::sources};"),
            ("run/execute.rs", "use crate::{Engine, deploy::sources};"),
            ("run/replays.rs", "use crate::deploy::settings::Choice;"),
            ("deploy/hooks.rs", "use crate::on_request::actions::ActionRun;"),
        ] {
            assert_eq!(problems(path, line), 1, "{path}: {line}");
        }
    }
}
