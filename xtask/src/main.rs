//! `cargo xtask …`: what a fresh clone needs, with Rust and Node 20+ installed.
#![expect(
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a developer's tool speaks to the terminal"
)]

mod conformance;
mod runtime;
mod suites;
mod tidy;
mod tidy_docs;
mod tidy_engine;
mod tidy_headers;
mod tidy_lines;
mod tidy_names;
mod tidy_web;
mod up;
mod web;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result, bail};

const HELP: &str = "cargo xtask build [--release]   build the runtime and the web application (npm) and the binary
cargo xtask up [--release]      build, start the server, deploy the examples, say what to try
cargo xtask test                build and run every test
cargo xtask torture [ARGS]      kill a server for minutes, and look whether anything was lost:
                                --minutes N [--seed S] [--database sqlite|postgres] [--from PROGRAM]
cargo xtask check               formatting, clippy with warnings denied, types of the runtime, lints of the web application, tidiness
cargo xtask browser             build, and run the tests in the browser alone
cargo xtask tidy                dependency arrows, long files, module headers, paths of somebody's machine
cargo xtask openapi             write crates/api/openapi.json
cargo xtask conformance [LOG]   run the tests of the interface, or read what a run printed, and write docs/dev/conformance.md;
                                --names: of the tests that there are, without running them
cargo xtask bench [ARGS]        measure a release build
cargo xtask bench many          many events: ingest, a run that emits 1,000, 10,000 idle sources
cargo xtask bench errors [N]    a load of errors with three listeners: is each delivered to each once?
cargo xtask bench history       lists, search and ingestion with a long history (`--rows COUNT`, `--postgres`)
cargo xtask bench waiting       a step that awaits 100 ms: runs/s, memory for each further run, a burst of 64
cargo xtask bench --peers       beside Node-RED, Restate and Node alone, which npm installs
cargo xtask bench cold against BIN   what a cold run costs of CPU, this build and another one by turns
cargo xtask bench against BIN   this build and another one by turns, as ratios: what a change to the code does
cargo xtask compat FOLDER [...] how much of a checkout of components is read, bundled and loaded";

/// Cargo builds dependencies with the features that all it is asked for needs, tests included.
/// Asked for the binary alone, it would build most of them a second time, for minutes: so the whole
/// workspace and one of its tests are asked for, whatever is built to be tried.
const A_SMALL_TEST: &str = "native";
const DEV_BINARY: [&str; 6] = ["build", "--workspace", "--bin", "millrace", "--test", A_SMALL_TEST];

/// What cargo builds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    Dev,
    Release,
}

impl Profile {
    /// A program that cargo built, where it puts them.
    pub fn program(self, name: &str) -> PathBuf {
        let target = std::env::var_os("CARGO_TARGET_DIR")
            .map_or_else(|| PathBuf::from("target"), PathBuf::from);
        root().join(target).join(self.folder()).join(name)
    }

    fn folder(self) -> &'static str {
        match self {
            Self::Dev => "debug",
            Self::Release => "release",
        }
    }
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match args.as_slice() {
        ["build"] => build(Profile::Dev),
        ["build", "--release"] => build(Profile::Release),
        ["up"] => up::up(Profile::Dev),
        ["up", "--release"] => up::up(Profile::Release),
        ["test"] => test(),
        ["torture", args @ ..] => torture(args),
        ["check"] => check(),
        ["browser"] => build(Profile::Dev).and_then(|()| web::browser_test(&root())),
        ["tidy"] => tidy::tidy(&root()),
        ["openapi"] => openapi(),
        ["conformance"] => build(Profile::Dev).and_then(|()| conformance::write(&root(), None)),
        ["conformance", "--names"] => conformance::write_names(&root()),
        ["conformance", log] => conformance::write(&root(), Some(Path::new(log))),
        ["bench", args @ ..] => bench(args),
        ["compat", args @ ..] => compat(args),
        ["help" | "--help" | "-h"] | [] => {
            println!("{HELP}");
            return ExitCode::SUCCESS;
        }
        other => {
            eprintln!("error: `{}` is not a task; these are:\n{HELP}", other.join(" "));
            return ExitCode::from(2);
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
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_path_buf).unwrap_or_default()
}

/// Runs a program in a folder; its output is ours.
pub fn run(folder: &Path, program: &str, args: &[&str]) -> Result<()> {
    eprintln!("$ {program} {}", args.join(" "));
    let status = command(program)
        .args(args)
        .current_dir(folder)
        .status()
        .with_context(|| format!("could not start `{program}`; is it installed?"))?;
    if status.success() {
        Ok(())
    } else {
        bail!("`{program} {}` failed with {status}", args.join(" "))
    }
}

fn cargo(args: &[&str]) -> Result<()> {
    run(&root(), &cargo_program(), args)
}

pub fn cargo_program() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".into())
}

/// A program without what cargo says of this package: some build scripts look at it, and all that
/// depends on them would be built again by a cargo that is called by itself.
pub fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    let is_own = |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(is_own) {
            command.env_remove(name);
        }
    }
    command
}

/// Builds the runtime, the web application, and the binary that embeds both.
pub fn build(profile: Profile) -> Result<()> {
    embedded()?;
    match profile {
        Profile::Dev => cargo(&DEV_BINARY),
        Profile::Release => cargo(&["build", "--package", "millrace", "--release"]),
    }
}

/// Builds what the binary embeds.
fn embedded() -> Result<()> {
    runtime::build(&root())?;
    web::build(&root()).map(|_| ())
}

/// Kills a server, its hosts and its database for as long as is asked, and looks whether anything
/// was lost.
fn torture(args: &[&str]) -> Result<()> {
    build(Profile::Dev)?;
    cargo(&["build", "--workspace", "--bin", "torture", "--test", A_SMALL_TEST])?;
    let program = Profile::Dev.program("torture");
    run(&root(), program.to_str().context("the path of the checkout is not UTF-8")?, args)
}

fn test() -> Result<()> {
    build(Profile::Dev)?;
    let root = root();
    // All of them, whatever becomes of the one before: who waits for tests learns of every failure.
    let ends = [
        run(&root.join("runtime"), "npm", &["test", "--silent"]),
        web::test(&root),
        suites::rust_tests(),
        web::browser_test(&root),
    ];
    if !has_postgres() {
        eprintln!(
            "note: tests on Postgres were skipped: no `initdb` was found on PATH or in /usr/lib/postgresql"
        );
    }
    let failed: Vec<_> =
        ends.into_iter().filter_map(Result::err).map(|error| format!("{error:#}")).collect();
    if failed.is_empty() { Ok(()) } else { bail!("{}", failed.join("; ")) }
}

/// Writes the document as the binary prints it; a test holds the two together.
fn openapi() -> Result<()> {
    build(Profile::Dev)?;
    let output = Command::new(Profile::Dev.program("millrace"))
        .arg("openapi")
        .output()
        .context("could not start the binary")?;
    if !output.status.success() {
        bail!("`millrace openapi` failed with {}", output.status);
    }
    let path = root().join("crates/api/openapi.json");
    std::fs::write(&path, output.stdout)
        .with_context(|| format!("could not write `{}`", path.display()))
}

/// Whether there are the binaries of a Postgres server, which is not the same as its client.
fn has_postgres() -> bool {
    let on_path = std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|p| p.join("initdb").is_file()));
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    on_path || versions.into_iter().any(|version| version.path().join("bin/initdb").is_file())
}

fn check() -> Result<()> {
    cargo(&["fmt", "--all", "--check"])?;
    tidy::tidy(&root())?;
    conformance::check(&root())?;
    runtime::build(&root())?;
    run(&root().join("runtime"), "npm", &["run", "--silent", "typecheck"])?;
    web::check(&root())?;
    // Its driver compiles as it lints: the tests then run what is built here.
    if std::env::var("RUSTC_WORKSPACE_WRAPPER").is_ok_and(|path| path.ends_with("clippy-driver")) {
        return cargo(&["build", "--workspace", "--all-targets"]);
    }
    cargo(&["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"])
}

fn bench(args: &[&str]) -> Result<()> {
    embedded()?;
    cargo(&["build", "--release", "--package", "millrace", "--package", "millrace-bench"])?;
    let program = Profile::Release.program("millrace-bench");
    run(&root(), program.to_str().context("the path of the checkout is not UTF-8")?, args)
}

/// A relative folder is meant from where the command was typed.
fn compat(args: &[&str]) -> Result<()> {
    embedded()?;
    cargo(&["build", "--release", "--package", "millrace-compat"])?;
    let program = Profile::Release.program("millrace-compat");
    run(Path::new("."), program.to_str().context("the path of the checkout is not UTF-8")?, args)
}
