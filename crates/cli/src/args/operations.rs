//! Commands for the history and for operating a server.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// What `export` takes.
#[derive(Args, Debug)]
pub struct ExportArgs {
    /// Only of this workflow or source, by id or name
    pub name: Option<String>,
    /// Accepted at or after: a date such as 2026-01-31, a time such as 2026-01-31T12:00:00Z, or
    /// epoch milliseconds
    #[arg(long, value_name = "TIME", value_parser = crate::commands::time_ms)]
    pub from: Option<i64>,
    /// Accepted before
    #[arg(long, value_name = "TIME", value_parser = crate::commands::time_ms)]
    pub to: Option<i64>,
    /// A new file to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// What `system` takes.
#[derive(Args, Debug)]
pub struct SystemArgs {
    /// Show what `millrace doctor` finds there, and what to fix
    #[arg(long)]
    pub checks: bool,
}

/// What `organization` takes.
#[derive(Args, Debug)]
pub struct OrganizationArgs {
    /// Another name
    #[arg(long)]
    pub name: Option<String>,
    /// Who gets mails about errors of workflows that name nobody; may be repeated
    #[arg(long = "error-recipient", value_name = "ADDRESS")]
    pub error_recipients: Vec<String>,
    /// Mails about errors go to the owner again
    #[arg(long, conflicts_with = "error_recipients")]
    pub no_error_recipients: bool,
}

/// What `retention` takes.
#[derive(Args, Debug)]
pub struct RetentionArgs {
    /// Id or name
    pub name: String,
    /// Days after which its settled runs and its events are deleted, or `default` for the server's
    /// setting
    #[arg(long, value_name = "DAYS", value_parser = kept)]
    pub days: Option<Kept>,
    /// How many of its newest runs, and of its newest events, are kept, or `default`
    #[arg(long, value_name = "COUNT", value_parser = kept)]
    pub count: Option<Kept>,
}

/// A number, or none for the server's setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept(pub Option<u32>);

fn kept(text: &str) -> Result<Kept, String> {
    if text == "default" {
        return Ok(Kept(None));
    }
    text.parse()
        .map(|n| Kept(Some(n)))
        .map_err(|_| format!("`{text}` is neither a number nor `default`"))
}

/// Words with commas between them, each one of these.
fn words(text: &str, allowed: &[&str]) -> Result<String, String> {
    let mut words = text.split([',', ' ']).filter(|word| !word.is_empty());
    match words.find(|word| !allowed.contains(word)) {
        Some(word) => Err(format!("`{word}` is none of {}", allowed.join(", "))),
        None => Ok(text.to_owned()),
    }
}

fn levels(text: &str) -> Result<String, String> {
    words(text, &["debug", "log", "info", "warn", "error"])
}

/// States of errors.
pub(super) fn states(text: &str) -> Result<String, String> {
    words(text, &["open", "resolved", "ignored", "regressed"])
}

/// Commands for OAuth clients.
#[derive(Subcommand, Debug)]
pub enum OauthClientCommand {
    /// List clients, without their secrets
    #[command(after_help = "Example: millrace oauth-clients list")]
    List,
    /// Create a client; its secret is shown only once
    #[command(
        alias = "add",
        after_help = "A client gets a token with its id and secret:\n  \
        curl -d grant_type=client_credentials -d client_id=oc_… -d client_secret=mrs_… $MILLRACE_URL/v1/oauth/token\n\
        Example: millrace oauth-clients create crm --scope invoke"
    )]
    Create {
        /// What it is for
        name: String,
        /// What its tokens may do at most; `full` is everything
        #[arg(long = "scope", required = true, value_name = "SCOPE", value_parser = ["full", "read", "deploy", "invoke"])]
        scopes: Vec<String>,
    },
    /// Delete a client and revoke its tokens
    #[command(after_help = "Example: millrace oauth-clients delete oc_Qa8Ium1")]
    Delete {
        /// The client's id
        id: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_a_number_or_the_servers_setting() {
        assert_eq!((kept("7"), kept("default")), (Ok(Kept(Some(7))), Ok(Kept(None))));
        assert!(kept("-1").is_err() && kept("all").is_err());
    }
}

/// What of the audit log is shown.
#[derive(Args, Clone, Debug)]
pub struct AuditArgs {
    /// How many
    #[arg(short, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    pub n: u32,
    /// Only what was done for this user, by id
    #[arg(long, value_name = "USER")]
    pub user: Option<String>,
    /// Only what was done to this, by id
    #[arg(long, value_name = "ID")]
    pub target: Option<String>,
    /// Only what was done at or after: a date such as 2026-01-31, a time such as
    /// 2026-01-31T12:00:00Z, or epoch milliseconds
    #[arg(long, value_name = "TIME", value_parser = crate::commands::time_ms)]
    pub from: Option<i64>,
    /// Only what was done before
    #[arg(long, value_name = "TIME", value_parser = crate::commands::time_ms)]
    pub to: Option<i64>,
}

/// Which lines of a log are shown.
#[derive(Args, Clone, Debug)]
pub struct LogArgs {
    /// Id or name
    pub name: String,
    /// Keep showing new ones as they arrive
    #[arg(short, long, conflicts_with_all = ["level", "text", "step"])]
    pub follow: bool,
    /// Only of these levels, with commas between them: debug, log, info, warn, error
    #[arg(long, value_name = "LEVEL", value_parser = levels)]
    pub level: Option<String>,
    /// Only with this text in them
    #[arg(long)]
    pub text: Option<String>,
    /// Only written by this step
    #[arg(long)]
    pub step: Option<String>,
    /// How many, the newest
    #[arg(short, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub n: u32,
}
