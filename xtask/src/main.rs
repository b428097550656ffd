//! `cargo xtask up | test | check | bench | build`: what a fresh clone needs, with Rust and Node 20+ installed.
#![expect(clippy::print_stderr, clippy::print_stdout, reason = "a developer's tool speaks to the terminal")]

mod tidy;
mod up;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result, bail};

const HELP: &str = "cargo xtask build   build the runtime (npm) and the binary\n\
cargo xtask up      build, start the server, deploy the examples, say what to try\n\
cargo xtask test    build and run every test\n\
cargo xtask check   formatting, clippy with warnings denied, types of the runtime, tidiness\n\
cargo xtask bench   measure a release build";

fn main() -> ExitCode {
    let command = std::env::args().nth(1).unwrap_or_default();
    let done = match command.as_str() {
        "build" => build(),
        "up" => up::up(),
        "test" => test(),
        "check" => check(),
        "bench" => bench(),
        _ => {
            println!("{HELP}");
            return if command.is_empty() || command == "help" { ExitCode::SUCCESS } else { ExitCode::from(2) };
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The root of the checkout.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_path_buf).unwrap_or_default()
}

fn run(folder: &Path, program: &str, args: &[&str]) -> Result<()> {
    eprintln!("$ {program} {}", args.join(" "));
    let status = Command::new(program).args(args).current_dir(folder).status().with_context(|| format!("could not start `{program}`; is it installed?"))?;
    if status.success() { Ok(()) } else { bail!("`{program} {}` failed with {status}", args.join(" ")) }
}

fn cargo() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".into())
}

/// Builds the runtime where its sources are newer than what was built.
fn build_runtime() -> Result<()> {
    check_node()?;
    let runtime = root().join("runtime");
    let lock = runtime.join("package-lock.json");
    let installed = runtime.join("node_modules/.package-lock.json");
    if newest(&[lock]) > newest(&[installed]) {
        run(&runtime, "npm", &["ci", "--no-audit", "--no-fund"])?;
    }
    let sources: Vec<PathBuf> = [runtime.join("src"), runtime.join("platform")].iter().flat_map(|d| files(d)).chain([runtime.join("build.mjs")]).collect();
    if newest(&sources) > oldest(&["host.mjs", "platform.mjs", "types.mjs"].map(|f| runtime.join("dist").join(f))) {
        run(&runtime, "npm", &["run", "--silent", "build"])?;
    }
    Ok(())
}

fn check_node() -> Result<()> {
    let output = Command::new("node").arg("--version").output().context("Node.js was not found; install version 20 or newer")?;
    let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let major: u32 = version.trim_start_matches('v').split('.').next().and_then(|m| m.parse().ok()).unwrap_or(0);
    if major < 20 {
        bail!("Node.js {version} is too old; install version 20 or newer");
    }
    Ok(())
}

fn files(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()).collect()
}

fn modified(path: &Path) -> Option<std::time::SystemTime> {
    std::fs::metadata(path).and_then(|m| m.modified()).ok()
}

fn newest(paths: &[PathBuf]) -> Option<std::time::SystemTime> {
    paths.iter().filter_map(|p| modified(p)).max()
}

/// None, which is before any time, where one is missing.
fn oldest(paths: &[PathBuf]) -> Option<std::time::SystemTime> {
    paths.iter().map(|p| modified(p)).min().flatten()
}

fn build() -> Result<()> {
    build_runtime()?;
    run(&root(), &cargo(), &["build", "--package", "millrace"])
}

fn test() -> Result<()> {
    build()?;
    run(&root().join("runtime"), "npm", &["test", "--silent"])?;
    run(&root(), &cargo(), &["test", "--workspace"])
}

fn check() -> Result<()> {
    build_runtime()?;
    run(&root(), &cargo(), &["fmt", "--all", "--check"])?;
    run(&root(), &cargo(), &["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"])?;
    run(&root().join("runtime"), "npm", &["run", "--silent", "typecheck"])?;
    tidy::tidy(&root())
}

fn bench() -> Result<()> {
    build_runtime()?;
    run(&root(), &cargo(), &["build", "--release", "--package", "millrace", "--package", "millrace-bench"])?;
    run(&root(), "target/release/millrace-bench", &[])
}
