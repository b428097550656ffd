//! The server's log.

use std::io::IsTerminal as _;

use anyhow::{Context as _, Result};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

use crate::config::LogFormat;

/// Starts the log on standard error. `MILLRACE_LOG` says which lines it has.
pub(crate) fn start(format: LogFormat) -> Result<()> {
    let filter = filter_of(&std::env::var("MILLRACE_LOG").unwrap_or_default())?;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr)
        // A line that cannot be written, to a disk that is full or to a reader that went away,
        // would be reported on standard error, with a panic.
        .log_internal_errors(false);
    match format {
        LogFormat::Json => builder.json().flatten_event(true).init(),
        LogFormat::Text => builder.with_target(false).init(),
    }
    Ok(())
}

/// Which lines the log has: a level, or levels by part.
fn filter_of(text: &str) -> Result<EnvFilter> {
    let text = if text.trim().is_empty() { "info" } else { text };
    // A word that is no level would be the name of a part, of which there is none: no line at all.
    let is_known = |part: &str| part.contains('=') || part.trim().parse::<LevelFilter>().is_ok();
    let filter = EnvFilter::builder().parse(text.replace(' ', "")).ok();
    filter.filter(|_| text.split(',').all(is_known)).with_context(|| {
        format!(
            "MILLRACE_LOG is `{}`; allowed are off, error, warn, info, debug and trace, or levels by part, such as info,millrace_engine=debug",
            millrace_model::shown(text)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::filter_of;

    #[test]
    fn levels_and_levels_by_part_are_taken() {
        for text in
            ["", " ", "warn", "INFO ", "off", "info,millrace_engine=debug", "hyper=off, warn"]
        {
            assert!(filter_of(text).is_ok(), "{text}");
        }
        for text in ["warning", "verbose", "nonsense", "info,millrace_engine", "millrace=loud"] {
            let said = filter_of(text).expect_err(text).to_string();
            assert!(said.contains(text) && said.contains("debug and trace"), "{said}");
        }
    }
}
