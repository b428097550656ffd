//! Arguments that name an npm registry and the credentials for it.

use std::path::PathBuf;

use clap::Args;
use millrace_model::npm_registry::NpmRegistry;

use crate::error::CliError;

/// Where npm packages come from.
#[derive(Args, Debug)]
pub struct NpmArgs {
    /// The npm registry that packages come from, with user and password if it needs them
    #[arg(
        long,
        env = "MILLRACE_NPM_REGISTRY",
        hide_env_values = true,
        default_value = "https://registry.npmjs.org",
        value_name = "URL"
    )]
    npm_registry: String,
    /// A token for it, npm's `_authToken`; prefer the environment or a file, a command line can be
    /// seen by others
    #[arg(
        long,
        env = "MILLRACE_NPM_TOKEN",
        hide_env_values = true,
        value_name = "TOKEN",
        conflicts_with = "npm_token_file"
    )]
    npm_token: Option<String>,
    /// A file with that token
    #[arg(long, env = "MILLRACE_NPM_TOKEN_FILE", value_name = "FILE")]
    npm_token_file: Option<PathBuf>,
}

impl NpmArgs {
    /// The registry, with what the file of the token holds.
    pub(crate) fn registry(&self) -> Result<NpmRegistry, CliError> {
        let read = |path: &PathBuf| {
            std::fs::read_to_string(path)
                .map_err(|source| CliError::Read { path: path.clone(), source })
        };
        let token = match &self.npm_token_file {
            Some(path) => Some(read(path)?),
            None => self.npm_token.clone(),
        };
        let token = token.as_deref().map(str::trim).filter(|token| !token.is_empty());
        Ok(NpmRegistry::new(&self.npm_registry, token))
    }
}
