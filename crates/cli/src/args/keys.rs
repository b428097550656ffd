//! Commands for API keys.

use clap::Subcommand;

/// Commands for API keys.
#[derive(Subcommand, Debug)]
pub enum KeyCommand {
    /// List keys, without their secret text
    #[command(after_help = "Example: millrace keys list")]
    List,
    /// Create a key; it is shown only once
    #[command(
        alias = "add",
        after_help = "Example: millrace keys create ci --scope deploy --expires-in 90d"
    )]
    Create {
        /// What it is for
        name: String,
        /// What it may do; `full` is everything
        #[arg(long = "scope", required = true, value_name = "SCOPE", value_parser = ["full", "read", "deploy", "invoke"])]
        scopes: Vec<String>,
        /// When it expires, such as 12h or 90d [default: never]
        #[arg(long, value_name = "DURATION", value_parser = crate::commands::seconds)]
        expires_in: Option<i64>,
        /// Requests a minute [default: the server's setting]
        #[arg(long, value_name = "COUNT", value_parser = rate)]
        rate: Option<u32>,
    },
    /// Revoke a key at once
    #[command(after_help = "Example: millrace keys revoke key_Qa8Ium1")]
    Revoke {
        /// The key's id
        id: String,
    },
    /// Replace a key with a new one, which is shown only once. With --master-key: replace the
    /// server's master key; the new one is never shown
    #[command(
        after_help = "Examples:\n  millrace keys rotate key_Qa8Ium1 --grace 24h\n  millrace keys rotate --master-key"
    )]
    Rotate {
        /// The key's id
        #[arg(required_unless_present = "master_key")]
        id: Option<String>,
        /// The server's master key
        #[arg(long, conflicts_with_all = ["id", "grace"])]
        master_key: bool,
        /// How long the old key is still accepted, such as 24h [default: not at all]
        #[arg(long, value_name = "DURATION", value_parser = crate::commands::seconds)]
        grace: Option<i64>,
    },
}

fn rate(text: &str) -> Result<u32, &'static str> {
    text.parse().map_err(|_| "it is a whole number of requests, such as 600")
}
