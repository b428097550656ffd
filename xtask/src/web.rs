//! Build and checks of the web application (`web/`) and its browser tests (`tests/browser/`).

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::{run, runtime};

/// Inputs of the build besides `web/src`. The types of the API are generated from the document.
const INPUTS: [&str; 6] = [
    "web/index.html",
    "web/vite.config.ts",
    "web/compress.mjs",
    "web/package-lock.json",
    "web/tsconfig.json",
    "crates/api/openapi.json",
];
/// Last output of the build: the compressed page.
const OUTPUT: &str = "web/dist/index.html.br";

/// Installs packages and builds `web/dist` where an input is newer. Returns whether it was built.
pub fn build(root: &Path) -> Result<bool> {
    let web = root.join("web");
    runtime::install(&web)?;
    let mut inputs: Vec<PathBuf> = INPUTS.iter().map(|path| root.join(path)).collect();
    runtime::files(&web.join("src"), &mut inputs);
    // Written by the build itself.
    inputs.retain(|path| {
        !path.ends_with("src/api/schema.ts") && !path.ends_with("src/routes.gen.ts")
    });
    let newest = inputs.iter().filter_map(|path| runtime::modified(path)).max();
    if newest <= runtime::modified(&root.join(OUTPUT)) {
        return Ok(false);
    }
    run(&web, "npm", &["run", "--silent", "build"])?;
    Ok(true)
}

/// Types, lints and formatting of the application and of its browser tests.
pub fn check(root: &Path) -> Result<()> {
    build(root)?;
    let (web, browser) = (root.join("web"), root.join("tests/browser"));
    run(&web, "npm", &["run", "--silent", "typecheck"])?;
    run(&web, "npm", &["run", "--silent", "lint"])?;
    runtime::install(&browser)?;
    run(&browser, "npm", &["run", "--silent", "typecheck"])
}

/// Unit tests of the application.
pub fn test(root: &Path) -> Result<()> {
    runtime::install(&root.join("web"))?;
    run(&root.join("web"), "npm", &["test", "--silent"])
}

/// Browser tests against the binary that was built, with the Chromium of this machine; skipped with
/// a note where there is none.
pub fn browser_test(root: &Path) -> Result<()> {
    if chromium().is_none() {
        eprintln!(
            "note: tests in the browser were skipped: no Chromium was found on PATH (apt-get install chromium-headless-shell)"
        );
        return Ok(());
    }
    let browser = root.join("tests/browser");
    runtime::install(&browser)?;
    run(&browser, "npm", &["test", "--silent"])
}

/// Either of Debian's two packages.
fn chromium() -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?)
        .flat_map(|folder| ["chromium-headless-shell", "chromium"].map(|name| folder.join(name)))
        .find(|path| path.is_file())
}
