//! Origins of registries, as this machine remembers them, by server and name.
//!
//! The server shows where a registry came from, and everybody with a key may change that: what is
//! read on this machine is decided here.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::json;

use crate::client::profile;
use crate::error::CliError;
use crate::files::whole;

/// Origins by the server's address and the registry's name.
type Origins = BTreeMap<String, BTreeMap<String, String>>;

fn path() -> Result<PathBuf, CliError> {
    Ok(profile::path()?.with_file_name("registries.json"))
}

fn read() -> Origins {
    let text = path().ok().and_then(|path| std::fs::read_to_string(path).ok());
    // What cannot be read is as good as not remembered: it is named again.
    text.and_then(|text| millrace_model::json::from_str(&text).ok()).unwrap_or_default()
}

/// Where a registry was read from on this machine.
pub(crate) fn of(url: &str, name: &str) -> Option<String> {
    read().get(url)?.get(name).cloned()
}

/// Remembers where a registry was read from.
pub(crate) fn remember(url: &str, name: &str, origin: &str) -> Result<(), CliError> {
    let path = path()?;
    let mut origins = read();
    if origins
        .entry(url.to_owned())
        .or_default()
        .insert(name.to_owned(), origin.to_owned())
        .as_deref()
        == Some(origin)
    {
        return Ok(());
    }
    whole::write_private(&path, format!("{:#}\n", json!(origins)).as_bytes())
}
