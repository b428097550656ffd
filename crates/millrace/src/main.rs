//! The binary: flags, configuration, wiring.

mod backup;
mod clock;
mod config;
mod data_dir;
mod database;
mod doctor;
mod egress;
mod front;
mod http;
mod log;
mod machine;
mod master_key;
mod memory;
mod outside;
mod part;
mod postgres_tools;
mod request_line;
mod restore;
mod serve;
mod sips;
mod storage;
mod tls;
mod usable;
mod wrong_use;

use std::ffi::OsString;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};
use millrace_cli::{ClientCommand, GlobalArgs};
use serde_json::json;

/// A self-hosted, event-driven workflow platform.
#[derive(Parser)]
#[command(
    name = "millrace",
    version,
    propagate_version = true,
    after_help = "Examples:\n  millrace serve --data-dir ./data\n  millrace login\n  millrace workflows init order-mail && millrace dev order-mail"
)]
struct Cli {
    #[command(flatten)]
    global: GlobalArgs,
    #[command(subcommand)]
    command: Command,
}

/// A shell that commands can be completed in.
#[derive(Clone, Copy, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

#[derive(Subcommand)]
enum Command {
    /// Run the server.
    #[command(after_help = "Example: millrace serve --data-dir ./data --listen 127.0.0.1:8787")]
    Serve(Box<config::ServeArgs>),
    /// Back up a server into a new folder, also while it runs.
    #[command(
        after_help = "Example: millrace backup /backups/millrace-$(date +%F) --data-dir ./data"
    )]
    Backup(backup::BackupArgs),
    /// Restore a backup into a new data directory.
    #[command(
        after_help = "Example: millrace restore /backups/millrace-2026-01-31 --data-dir ./data"
    )]
    Restore(restore::RestoreArgs),
    /// Check whether a server can run here, and say what to fix.
    #[command(
        after_help = "Takes the options of `serve`, from the same places, and changes nothing.\n\
        Exit status: 0 if a server would work, 1 if not.\n\
        Example: millrace doctor --data-dir ./data --json"
    )]
    Doctor(Box<config::ServeArgs>),
    /// Bundles one component for a server that started this process.
    #[command(name = serve::BUNDLE_WORKER, hide = true)]
    BundleWorker,
    /// Print the completion script of a shell
    #[command(
        after_help = "Examples:\n  millrace completions bash > ~/.local/share/bash-completion/completions/millrace\n  millrace completions zsh > ~/.zfunc/_millrace\n  \
        millrace completions fish > ~/.config/fish/completions/millrace.fish"
    )]
    Completions {
        /// The shell
        #[arg(value_enum)]
        shell: Shell,
    },
    /// Print the OpenAPI document of the REST API.
    #[command(hide = true)]
    Openapi,
    #[command(flatten)]
    Client(ClientCommand),
}

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    let cli = match read(&args) {
        Ok(cli) => cli,
        Err(error) => return wrong_use::report::<Cli>(error, &args),
    };
    if matches!(
        cli.command,
        Command::Serve(_) | Command::Backup(_) | Command::Restore(_) | Command::Doctor(_)
    ) {
        // What these make holds events and secrets, and may lie where others can look.
        rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
    }
    match cli.command {
        Command::Serve(args) => {
            // Before there are threads, which have what the one that starts them has.
            millrace_runner::use_short_time_slices();
            on_threads(async {
                match serve::serve(*args).await {
                    Ok(()) => ExitCode::SUCCESS,
                    Err(error) => fail_as(&error, cli.global.json),
                }
            })
        }
        Command::Backup(args) => {
            in_folder(args.folder.clone(), cli.global.json, || backup::backup(args))
        }
        Command::Restore(args) => {
            in_folder(args.folder.clone(), cli.global.json, || restore::restore(args))
        }
        Command::Doctor(args) => on_threads(doctor::doctor(*args, cli.global.json)),
        // It walls itself in, while there is no other thread yet.
        Command::BundleWorker => {
            millrace_runner::use_long_time_slices();
            done(serve::bundle_worker())
        }
        Command::Completions { shell } => print_completions(shell),
        Command::Openapi => print_openapi(),
        Command::Client(command) => on_threads(millrace_cli::run(command, cli.global)),
    }
}

fn read(args: &[OsString]) -> Result<Cli, clap::Error> {
    let command = without_empty_variables(millrace_cli::refuse_empty(Cli::command()));
    Cli::from_arg_matches_mut(&mut command.try_get_matches_from(args)?)
}

/// An empty variable is as one that is not set: Compose makes such of `${NAME:-}`.
fn without_empty_variables(command: clap::Command) -> clap::Command {
    let is_empty = |name: &std::ffi::OsStr| std::env::var_os(name).is_some_and(|v| v.is_empty());
    command
        .mut_args(|arg| match arg.get_env().is_some_and(is_empty) {
            true => arg.env(clap::builder::Resettable::Reset),
            false => arg,
        })
        .mut_subcommands(without_empty_variables)
}

fn on_threads(work: impl Future<Output = ExitCode>) -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .max_blocking_threads(16)
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            return fail(&anyhow::Error::new(error).context("could not start the runtime"));
        }
    };
    let code = runtime.block_on(work);
    runtime.shutdown_timeout(std::time::Duration::from_secs(1));
    code
}

fn done(result: anyhow::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error),
    }
}

/// What `cargo xtask openapi` writes: the same for all servers but for its address.
#[expect(clippy::print_stdout, reason = "the document is what is asked for")]
fn print_openapi() -> ExitCode {
    println!("{:#}", millrace_api::openapi_document("http://127.0.0.1:8787"));
    ExitCode::SUCCESS
}

fn print_completions(shell: Shell) -> ExitCode {
    let mut text = Vec::new();
    let shell = match shell {
        Shell::Bash => clap_complete::Shell::Bash,
        Shell::Zsh => clap_complete::Shell::Zsh,
        Shell::Fish => clap_complete::Shell::Fish,
    };
    clap_complete::generate(shell, &mut Cli::command(), "millrace", &mut text);
    match std::io::stdout().write_all(&text) {
        Ok(()) => ExitCode::SUCCESS,
        // The reader went away, as `head` does.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            fail(&anyhow::Error::new(error).context("could not write to standard output"))
        }
    }
}

/// A backup is made or restored; with `--json` its folder is said as data.
fn in_folder(folder: PathBuf, json: bool, work: impl FnOnce() -> anyhow::Result<()>) -> ExitCode {
    match work() {
        Ok(()) if json => {
            let text = format!("{}\n", json!({ "folder": folder }));
            // The folder is there, also where standard output is closed.
            let _ = std::io::stdout().write_all(text.as_bytes());
            ExitCode::SUCCESS
        }
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail_as(&error, json),
    }
}

/// As all commands tell an error: with `--json` as a line of JSON.
fn fail_as(error: &anyhow::Error, json: bool) -> ExitCode {
    if json {
        say(&json!({ "error": format!("{error:#}"), "code": "failed", "hint": null }).to_string());
        return ExitCode::FAILURE;
    }
    fail(error)
}

fn fail(error: &anyhow::Error) -> ExitCode {
    say(&format!("error: {error:#}"));
    ExitCode::FAILURE
}

/// Tells it on standard error. Names of files, and what others answer, may hold what steers a
/// terminal: it is shown.
pub(crate) fn say(text: &str) {
    // Nobody is left to be told that standard error is closed.
    let _ = writeln!(std::io::stderr().lock(), "{}", millrace_cli::escaped(text));
}
