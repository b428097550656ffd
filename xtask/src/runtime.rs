//! Build of the runtime's TypeScript, where its sources are newer than what was built.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use anyhow::{Context as _, Result, bail};

use crate::run;

/// What `npm run build` writes.
const BUILT: [&str; 4] = ["host.cjs", "worker.cjs", "platform.mjs", "types.mjs"];
/// The oldest Node.js that the runtime is built for.
const NODE_MAJOR_MIN: u32 = 20;

/// Installs and builds what is stale.
pub fn build(root: &Path) -> Result<()> {
    let runtime = root.join("runtime");
    install(&runtime)?;
    let mut sources = vec![runtime.join("build.mjs"), runtime.join("package-lock.json")];
    for folder in ["src", "platform"] {
        files(&runtime.join(folder), &mut sources);
    }
    let newest = sources.iter().filter_map(|p| modified(p)).max();
    // None, which is before any time, where one is missing.
    let oldest_built =
        BUILT.iter().map(|f| modified(&runtime.join("dist").join(f))).min().flatten();
    if newest > oldest_built {
        run(&runtime, "npm", &["run", "--silent", "build"])?;
    }
    Ok(())
}

/// Installs the packages of a folder as its lock file names them, where that is newer than what is
/// installed.
pub fn install(folder: &Path) -> Result<()> {
    check_node()?;
    if modified(&folder.join("package-lock.json"))
        > modified(&folder.join("node_modules/.package-lock.json"))
    {
        run(folder, "npm", &["ci", "--no-audit", "--no-fund"])?;
    }
    Ok(())
}

fn check_node() -> Result<()> {
    let wanted = format!("install version {NODE_MAJOR_MIN} or newer, with npm");
    let output = Command::new("node")
        .arg("--version")
        .output()
        .with_context(|| format!("Node.js was not found; {wanted}"))?;
    let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let major: u32 =
        version.trim_start_matches('v').split('.').next().and_then(|m| m.parse().ok()).unwrap_or(0);
    if major < NODE_MAJOR_MIN {
        bail!("Node.js `{version}` is too old; {wanted}");
    }
    Command::new("npm")
        .arg("--version")
        .output()
        .with_context(|| format!("npm was not found beside Node.js {version}; {wanted}"))?;
    Ok(())
}

/// Adds all files below a folder.
pub fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}

/// When a file was written; `None` where it is missing, which is before any time.
pub fn modified(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).and_then(|m| m.modified()).ok()
}
