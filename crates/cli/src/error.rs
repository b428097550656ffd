//! Errors of commands, and the next thing to do about each.

use std::path::PathBuf;

use millrace_model::bounded_body::BodyTooLarge;
use serde_json::Value;

use crate::files::root::OutOfReach;
use crate::prop_hints::{missing_props, to_give};
use crate::reasons::{self, head, is_no_tls, is_of_project, is_untrusted, listed, owned, reason};
use crate::terminal::prompt::INTERRUPTED;

/// An error of a command. Its text follows `error:`, the hint stands on the next line.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    #[error("{sentence}")]
    Refused { status: u16, code: String, sentence: String, details: Value },
    #[error("could not reach the server at `{url}`: {}", reasons::root_cause(source))]
    Unreachable { url: String, source: reqwest::Error },
    #[error("the server at `{url}` did not answer within {secs} seconds")]
    Silent { url: String, secs: u64 },
    #[error(
        "the server at `{url}` redirects to `{to}`, and redirects of a server are not followed"
    )]
    Redirected { url: String, to: String },
    #[error("`{what}` redirects to another address, which is not followed: `{to}`")]
    DownloadRedirected { what: String, to: String },
    #[error("could not make an HTTP client: {0}")]
    HttpClient(#[source] reqwest::Error),
    #[error("the server at `{url}` broke off its answer: {source}")]
    AnswerTooLarge { url: String, source: BodyTooLarge },
    #[error("the list `{path}` has more than {items_max} items, the limit")]
    ListTooLong { path: String, items_max: usize },
    #[error(
        "the export has a line of more than {bytes_max} bytes, the most that is read; the output is incomplete"
    )]
    LineTooLong { bytes_max: usize },
    #[error("the stream sent an event of more than {bytes_max} bytes")]
    StreamTooLarge { bytes_max: usize },
    #[error("there is no source or workflow `{0}`")]
    Unknown(String),
    #[error("`{name}` is a {found}, this command takes a {wanted}")]
    WrongKind { name: String, found: &'static str, wanted: &'static str },
    #[error("another deploy of `{path}` is under way")]
    MadeMeanwhile { path: String },
    #[error("the account of {app} is not connected: {why}")]
    NotConnected { app: String, why: String },
    #[error("there is no API key")]
    NoKey,
    #[error("line {line} of `{}`: {problem}", .path.display())]
    ConfigFile { path: PathBuf, line: usize, problem: String },
    #[error("there is no profile `{0}`")]
    NoProfile(String),
    #[error("there is no home folder for the configuration file")]
    NoHome,
    #[error("could not prompt for `{what}`: {source}")]
    Ask { what: String, source: dialoguer::Error },
    #[error("could not read `{}`: {}", path.display(), reason(source))]
    Read { path: PathBuf, source: std::io::Error },
    #[error("could not write `{}`: {source}", path.display())]
    Write { path: PathBuf, source: std::io::Error },
    #[error("`{}` is there already", .0.display())]
    Exists(PathBuf),
    #[error("`{}` reaches more than {files_max} files or {bytes_max} bytes with its imports", path.display())]
    TooMuchCode { path: PathBuf, files_max: usize, bytes_max: usize },
    #[error("{0}")]
    OutOfReach(Box<OutOfReach>),
    #[error("`{}`: {problem}", path.display())]
    Manifest { path: PathBuf, problem: String },
    #[error("`{}`: {}", path.display(), listed(problems))]
    File { path: PathBuf, problems: Vec<String> },
    /// Problems of a project's files, each with its file.
    #[error("{}", listed(problems))]
    Project { problems: Vec<String> },
    #[error("there is no workflow.yaml, workflow.yml or workflow.json in `{}`", .0.display())]
    NoWorkflowFile(PathBuf),
    #[error("the environment variable `{name}`, which `{}` names, is not set", path.display())]
    NoVariable { name: String, path: PathBuf },
    #[error("`{}` exists with other content", .0.display())]
    WouldOverwrite(PathBuf),
    #[error("`{}` exists and is not known to be the folder of the workflow `{id}`; nothing was written into it", folder.display())]
    NotOfWorkflow { folder: PathBuf, id: String },
    #[error("the server names the file or folder `{name}`, which is not written: {why}")]
    BadName { name: String, why: &'static str },
    #[error("`{}` {why}: what a server sends is not written there", path.display())]
    Unsafe { path: PathBuf, why: &'static str },
    #[error(
        "the server's workflow has the value `{{\"$env\": \"{name}\"}}`, which a later deploy would replace by a variable of this machine"
    )]
    ServedVariable { name: String },
    #[error(
        "the origin of the registry `{name}` is not known on this machine; the server names `{origin}`"
    )]
    UnknownOrigin { name: String, origin: String },
    #[error("`{url}` is not a Millrace server: its answer has an unexpected form")]
    NoAnswer { url: String },
    #[error("the workflow `{name}` is not deployed on this server")]
    NotDeployed { name: String },
    /// What is compared is not the same: no failure, but told by the exit status.
    #[error("the folder and the deployed version differ")]
    Differs,
    #[error("there is neither a workflow (workflows/NAME/workflow.yaml) nor a source (sources/NAME.mjs) in `{}`", .0.display())]
    EmptyProject(PathBuf),
    #[error("{} called `{name}` already exists and {}, so `{path}` is not applied", if *kind == "source" { "a source" } else { "a workflow" }, owned(owner.as_deref()))]
    NotOurs { kind: &'static str, name: String, path: String, owner: Option<String> },
    #[error("{done} of {all} were done; {failed} failed")]
    SomeFailed { done: usize, failed: usize, all: usize },
    #[error("could not read the components of `{what}`: {why}")]
    Tree { what: String, why: String },
    #[error("the export broke off after {lines} lines; the output is incomplete")]
    ExportBrokeOff { lines: u64 },
    #[error("there is no registry `{0}`")]
    UnknownRegistry(String),
    #[error("could not watch `{}`: {source}", path.display())]
    Watch { path: PathBuf, source: notify::Error },
    #[error("{message}")]
    NoDeployment { message: String, hint: &'static str },
    #[error("the server at `{url}` does not know this key: {sentence}")]
    KeyRefused { url: String, sentence: String },
    #[error("{message}")]
    Usage { message: String, hint: &'static str },
    #[error("the run `{id}` failed: {code}: {}", head(message))]
    RunFailed { id: String, code: String, message: String },
    /// Ctrl-C at a question.
    #[error("interrupted")]
    Interrupted,
    /// The reader of standard output went away, as `head` does.
    #[error("standard output was closed")]
    OutputClosed,
    #[error("could not write to standard output: {0}")]
    Output(#[source] std::io::Error),
}

impl CliError {
    /// Wrong use is 2, the rest 1.
    pub(crate) const fn exit_status(&self) -> u8 {
        match self {
            Self::Usage { .. } => 2,
            Self::OutputClosed => 0,
            Self::Interrupted => INTERRUPTED,
            _ => 1,
        }
    }

    /// Whether what a page follows was deleted since the page before was read.
    pub(crate) fn is_unknown_cursor(&self) -> bool {
        matches!(self, Self::Refused { code, .. } if code == "unknown_cursor")
    }

    /// Whether what was to be made is there already: its name, or one that was made from the same
    /// file.
    pub(crate) fn is_taken(&self) -> bool {
        matches!(self, Self::Refused { status: 409, code, .. } if code == "taken")
    }

    /// Whether as many deploys of the organization wait as may. The server says so before it begins
    /// one.
    pub(crate) fn is_deploys_waiting(&self) -> bool {
        matches!(self, Self::Refused { status: 429, code, .. } if code == "deploys_waiting")
    }

    /// The same of a key that is given to `login`, which is no hint then.
    pub(crate) fn of_login(self, url: &str) -> Self {
        match self {
            Self::Refused { status: 401, sentence, .. } => {
                Self::KeyRefused { url: url.to_owned(), sentence }
            }
            other => other,
        }
    }

    /// What to do next.
    pub(crate) fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Refused { status: 401, .. } => {
                "run `millrace login`, or set MILLRACE_API_KEY to a valid key"
            }
            Self::Refused { code, sentence, .. }
                if code == "no_such_route" && sentence.contains("/v1/v1/") =>
            {
                "name the server's address without /v1, with --url, MILLRACE_URL or `millrace login`"
            }
            Self::Refused { sentence, .. }
                if sentence.starts_with("the component has no `name`") =>
            {
                "a source needs a name; an app is imported by sources and actions, and a step is deployed with its workflow: `millrace workflows deploy FOLDER`"
            }
            Self::Refused { status: 404, details, .. } => {
                return where_to_look(details).map(str::to_owned);
            }
            Self::Refused { details, .. } => {
                return missing_props(details).or_else(|| thrown_at(details));
            }
            Self::Unreachable { url, source } if url.starts_with("https:") && is_no_tls(source) => {
                reasons::NO_TLS
            }
            Self::Unreachable { source, .. } if is_untrusted(source) => reasons::UNTRUSTED,
            Self::Unreachable { .. } | Self::Silent { .. } => {
                "is the server running? start one with `millrace serve`, or name another with --url"
            }
            Self::Redirected { to, .. } => {
                return Some(format!(
                    "if that is the server you mean, name it with --url {to}, or `millrace login`: your key and code are then sent there"
                ));
            }
            Self::DownloadRedirected { .. } => {
                "if that is the address you mean, name it in place of the first"
            }
            Self::AnswerTooLarge { .. } | Self::ListTooLong { .. } => {
                "ask for less, with -n or a filter; if the list never ends, check that --url names a Millrace server"
            }
            Self::Unknown(_) => {
                "`millrace list sources` and `millrace list workflows` show what there is"
            }
            Self::UnknownRegistry(_) => "`millrace registry list` shows what there is",
            Self::Tree { .. } => {
                "name a folder, a git repository, the address of a .tar.gz or npm:PACKAGE"
            }
            Self::NoKey => {
                "run `millrace login`, or set MILLRACE_API_KEY (and MILLRACE_URL); the first key is in credentials.json in the server's data directory"
            }
            Self::ConfigFile { .. } => {
                "mend the line or remove it; `millrace login` writes a profile"
            }
            Self::NoProfile(_) => "`millrace login --profile NAME` makes one",
            Self::NoHome => "set HOME or XDG_CONFIG_HOME",
            Self::Ask { .. } => "without a terminal, give the value as a flag",
            Self::Exists(_) => "choose another name, or move the file away",
            Self::OutOfReach(refused) => refused.hint(),
            Self::Manifest { .. } => "it says which versions the code imports; fix it, or move it",
            Self::TooMuchCode { .. } => "bundle it first, or import less",
            Self::File { path, .. } if is_of_project(path) => {
                "docs/guide/workflows.md shows how a project and its sources are laid out"
            }
            Self::File { .. } => {
                "`millrace workflows schema` prints the form of workflow files; docs/guide/workflows.md explains it"
            }
            Self::Project { .. } => {
                "docs/guide/workflows.md shows how a project and its sources are laid out; `millrace workflows schema` prints the form of workflow files"
            }
            Self::NoWorkflowFile(_) => "`millrace workflows init NAME` writes one to begin with",
            Self::WouldOverwrite(_) => {
                "--force writes over it, --to FOLDER writes elsewhere; `millrace workflows diff` shows the differences"
            }
            Self::NotOfWorkflow { folder, .. } => {
                return Some(format!(
                    "--to {} writes into it beside what is there, --to FOLDER elsewhere",
                    folder.display()
                ));
            }
            Self::BadName { .. } => {
                "allowed are code and data files whose names no tool looks for, without dot folders; rename it in the workflow, or write it by hand if you trust who made it"
            }
            Self::Unsafe { .. } => "move it away, or write elsewhere with --to FOLDER",
            Self::ServedVariable { .. } => {
                "change the value on the server; a value of this form can only be written by hand"
            }
            Self::UnknownOrigin { .. } => {
                "name it: `millrace registry update NAME ORIGIN`; it is remembered on this machine from then on"
            }
            Self::NoAnswer { .. } => "check --url: is another program listening there?",
            Self::NotDeployed { .. } => "`millrace workflows deploy FOLDER` does it",
            Self::NoVariable { .. } => "set it, or write the value into the file",
            Self::EmptyProject(_) => {
                "docs/guide/workflows.md shows how a project is laid out; to remove all of a project, leave a folder with millrace.yaml alone"
            }
            Self::NotOurs { .. } => {
                "give it another name in the file, or take over the existing one with --adopt"
            }
            Self::SomeFailed { .. } => "fix what failed and apply again; what was done stays",
            Self::MadeMeanwhile { .. } => "deploy it again once the other deploy is done",
            Self::KeyRefused { .. } => {
                "give a key of this server; the first one is in credentials.json in its data directory"
            }
            Self::Usage { hint, .. } | Self::NoDeployment { hint, .. } => hint,
            _ => return None,
        };
        Some(hint.to_owned())
    }

    /// What to do next, where a project's file and no flag gives the values.
    pub(crate) fn hint_in_file(&self, path: &str) -> Option<String> {
        match self {
            Self::Refused { details, .. } if to_give(details).next().is_some() => {
                let names: Vec<_> = to_give(details).map(|(prop, _)| format!("`{prop}`")).collect();
                Some(format!("give {} under `props` in {path}", names.join(", ")))
            }
            _ => self.hint(),
        }
    }

    /// A word for programs: the server's, else whose it is.
    pub(crate) fn code(&self) -> &str {
        match self {
            Self::Refused { code, .. } if !code.is_empty() => code,
            Self::Unknown(_)
            | Self::UnknownRegistry(_)
            | Self::NotDeployed { .. }
            | Self::NoDeployment { .. } => "not_found",
            Self::KeyRefused { .. } => "unauthorized",
            Self::RunFailed { .. } => "run_failed",
            Self::Usage { .. } => "wrong_use",
            Self::Unreachable { .. } | Self::Silent { .. } => "unreachable",
            Self::Redirected { .. } => "redirected",
            Self::Differs => "differs",
            _ => "failed",
        }
    }

    pub(crate) const fn is_not_found(&self) -> bool {
        matches!(self, Self::Refused { status: 404, .. })
    }
}

/// What shows the things of the kind that was named in vain.
fn where_to_look(details: &Value) -> Option<&'static str> {
    Some(match details["resource"].as_str()? {
        "account" => "`millrace accounts list` shows what there is",
        "app" => "`millrace apps WORDS` finds an app's slug",
        "component" => {
            "`millrace list components` and `millrace registry search WORDS` show what there is"
        }
        "data store" => "`millrace data-stores list` shows what there is",
        "file store" => "`millrace files list` shows what there is",
        "replay" => "`millrace replays list` shows what there is",
        "run" => "`millrace runs list NAME` shows the runs of a workflow or source",
        "webhook" => "`millrace webhooks list` shows what there is",
        _ => return None,
    })
}

/// Where the component's code threw: the frame whose source line the stack shows, with that line;
/// else the first that is not Node's own.
fn thrown_at(details: &Value) -> Option<String> {
    let lines: Vec<&str> = details["stack"].as_str()?.lines().map(str::trim).collect();
    let is_frame = |line: &&str| {
        line.starts_with("at ") && !line.contains("(node:") && !line.starts_with("at node:")
    };
    let is_source = |line: &str| {
        line.split_once(" | ").is_some_and(|(number, _)| number.parse::<u32>().is_ok())
    };
    let shown = lines
        .windows(2)
        .find(|pair| is_frame(&pair[0]) && is_source(pair[1]))
        .map(|pair| pair.join("\n  "));
    shown.or_else(|| lines.iter().find(|line| is_frame(line)).map(|line| (*line).to_owned()))
}
