//! The arrows between rooms (ARCHITECTURE.md), and files that ask to be two.

use std::path::Path;

use anyhow::{Result, bail};

/// Room, and the rooms it may use.
const ARROWS: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("store", &["model"]),
    ("store-sqlite", &["model", "store"]),
    ("store-postgres", &["model", "store"]),
    ("bundle", &["model"]),
    ("runner", &["model"]),
    ("engine", &["model", "store", "bundle", "runner"]),
    ("api", &["model", "engine"]),
    ("cli", &["model"]),
];
/// Lines of a file of code.
const LINES_MAX: usize = 800;

pub fn tidy(root: &Path) -> Result<()> {
    let mut problems = Vec::new();
    for (room, allowed) in ARROWS {
        let manifest = std::fs::read_to_string(root.join("crates").join(room).join("Cargo.toml"))?;
        for line in manifest.lines() {
            let name = line.split(['.', ' ', '=']).next().unwrap_or("");
            if let Some(used) = name.strip_prefix("millrace-")
                && used != *room
                && !allowed.contains(&used)
            {
                problems.push(format!("crates/{room} uses {used}, which its room may not"));
            }
        }
    }
    for folder in ["crates", "runtime/src", "runtime/platform", "xtask", "tests", "bench"] {
        long_files(&root.join(folder), &mut problems)?;
    }
    if problems.is_empty() { Ok(()) } else { bail!("not tidy:\n  {}", problems.join("\n  ")) }
}

fn long_files(folder: &Path, problems: &mut Vec<String>) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            long_files(&path, problems)?;
        } else if path.extension().is_some_and(|e| e == "rs" || e == "ts") {
            let lines = std::fs::read_to_string(&path)?.lines().count();
            if lines > LINES_MAX {
                problems.push(format!("{} has {lines} lines, more than {LINES_MAX}", path.display()));
            }
        }
    }
    Ok(())
}
