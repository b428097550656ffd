//! Rules of the repository: dependencies between crates that ARCHITECTURE.md allows, lengths of
//! files, headers, links, no paths of a single machine.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::tidy_names::Names;
use crate::{tidy_docs, tidy_engine, tidy_headers, tidy_lines, tidy_web};

/// Room, and the rooms it may use. The binary may use all.
const ARROWS: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("store", &["model"]),
    ("store-sqlite", &["model", "store"]),
    ("store-postgres", &["model", "store"]),
    ("fair", &[]),
    ("walls", &[]),
    ("bundle", &["model", "fair", "walls"]),
    ("runner", &["model", "walls"]),
    ("engine", &["model", "fair", "store", "bundle", "runner"]),
    ("api", &["model", "fair", "engine"]),
    ("cli", &["model"]),
];
/// What a room must not depend on, to stay what it is.
const DENIED: &[(&str, &[&str])] = &[
    ("model", &["tokio", "axum", "reqwest", "rusqlite", "tokio-postgres"]),
    ("fair", &["axum", "reqwest", "rusqlite", "tokio-postgres"]),
    ("engine", &["axum", "rusqlite", "tokio-postgres"]),
    ("api", &["rusqlite", "tokio-postgres"]),
    ("cli", &["rusqlite", "tokio-postgres", "axum"]),
];
/// Starts of paths that exist on one machine only. Written in two parts, so that this file holds
/// none.
const MACHINE_PATHS: &[&str] =
    &[concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/"), concat!("/Us", "ers/")];

/// Fails with all that is not tidy.
pub fn tidy(root: &Path) -> Result<()> {
    let (mut problems, mut long) = (Vec::new(), tidy_lines::LongFiles::read(root)?);
    let mut names = Names::default();
    for entry in std::fs::read_dir(root.join("crates"))? {
        room(&entry?.path(), &mut problems)?;
    }
    let tracked = tracked(root)?;
    for path in &tracked {
        // A file that was deleted and not yet committed, or one that is not text.
        let Ok(text) = std::fs::read_to_string(root.join(path)) else { continue };
        file(path, &text, &mut problems);
        let (name, kind) = (path.to_string_lossy(), path.extension());
        let is = |extension| kind.is_some_and(|of_file| of_file == extension);
        if !path.starts_with("web") && (is("rs") || is("ts") || is("mjs")) {
            long.file(&name, &text, &mut problems);
        }
        if is("rs") {
            tidy_lines::comments(&name, &text, &mut problems);
        }
        tidy_headers::file(path, &text, &mut problems);
        tidy_docs::page(root, &tracked, path, &text, &mut problems);
        names.file(path, &text);
        if let Ok(inner) = path.strip_prefix("crates/engine/src") {
            tidy_engine::file(inner, &text, &mut problems);
        }
        if let Ok(inner) = path.strip_prefix("web/src") {
            tidy_web::file(inner, &text, &mut problems);
        }
    }
    long.rest(&mut problems);
    names.rest(&mut problems);
    if problems.is_empty() { Ok(()) } else { bail!("not tidy:\n  {}", problems.join("\n  ")) }
}

fn room(folder: &Path, problems: &mut Vec<String>) -> Result<()> {
    let name = folder.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    if name == "millrace" {
        return Ok(());
    }
    let Some((_, allowed)) = ARROWS.iter().find(|(room, _)| *room == name) else {
        problems.push(format!("crates/{name} is no room of ARCHITECTURE.md; draw its arrows there and in xtask/src/tidy.rs"));
        return Ok(());
    };
    let denied =
        DENIED.iter().find(|(room, _)| *room == name).map_or(&[][..], |(_, denied)| denied);
    let manifest = folder.join("Cargo.toml");
    let text = std::fs::read_to_string(&manifest)
        .with_context(|| format!("could not read `{}`", manifest.display()))?;
    for dependency in dependencies(&text) {
        if let Some(used) =
            dependency.strip_prefix("millrace-").filter(|used| !allowed.contains(used))
        {
            problems.push(format!("crates/{name} uses crates/{used}, which its room may not"));
        }
        if denied.contains(&dependency) {
            problems.push(format!("crates/{name} uses `{dependency}`, which its room may not"));
        }
    }
    Ok(())
}

/// Names in the `[dependencies]` of a manifest; tests may use what they like.
fn dependencies(manifest: &str) -> impl Iterator<Item = &str> {
    let lines = manifest.lines().skip_while(|l| l.trim() != "[dependencies]").skip(1);
    lines
        .take_while(|l| !l.starts_with('['))
        .filter_map(|l| l.split(['.', ' ', '=']).next())
        .filter(|name| !name.is_empty())
}

/// Files under version control.
fn tracked(root: &Path) -> Result<Vec<PathBuf>> {
    let output = Command::new("git")
        .args(["ls-files", "-z"])
        .current_dir(root)
        .output()
        .context("could not start `git`")?;
    if !output.status.success() {
        bail!("`git ls-files` failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let names = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(names.split('\0').filter(|n| !n.is_empty()).map(PathBuf::from).collect())
}

fn file(path: &Path, text: &str, problems: &mut Vec<String>) {
    for (index, line) in text.lines().enumerate() {
        let begins_path = |start: &str| {
            line.match_indices(start).any(|(at, _)| {
                !line[..at].ends_with(|c: char| {
                    c.is_alphanumeric() || matches!(c, '.' | '}' | '-' | '_' | '*')
                })
            })
        };
        if let Some(start) = MACHINE_PATHS.iter().find(|start| begins_path(start)) {
            problems.push(format!(
                "{}:{} holds a path that begins with `{start}`",
                path.display(),
                index + 1
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_a_machine_are_found_and_parts_of_addresses_are_not() {
        let mut problems = Vec::new();
        file(
            Path::new("a.md"),
            &format!("see {}x\nGET https://example.com{}x\n", MACHINE_PATHS[0], MACHINE_PATHS[0]),
            &mut problems,
        );
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].starts_with("a.md:1 "));
    }

    #[test]
    fn only_dependencies_are_arrows() {
        let manifest = "[package]\nname = \"x\"\n[dependencies]\nmillrace-model.workspace = true\nserde = \"1\"\n\n[dev-dependencies]\ntokio.workspace = true\n";
        assert_eq!(dependencies(manifest).collect::<Vec<_>>(), ["millrace-model", "serde"]);
    }
}
