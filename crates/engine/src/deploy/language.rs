//! Languages of inline code, by which its entry is named.

use crate::EngineError;

/// The `language` of code that is refused where it is no JavaScript.
pub const JAVASCRIPT: &str = "javascript";

/// The path of inline code: its language, where that is given, is the ending of its name. Without
/// either, the code tells.
///
/// # Errors
/// Where the language is another than that of the ending, or none that runs.
pub fn entry_in_language(
    entry: Option<String>,
    stem: &str,
    language: Option<&str>,
) -> Result<Option<String>, EngineError> {
    let (endings, ending): (&[&str], _) = match language {
        None => return Ok(entry),
        Some(JAVASCRIPT) => (&[".mjs", ".js", ".cjs", ".jsx"], ".mjs"),
        Some("typescript") => (&[".ts", ".mts", ".cts", ".tsx"], ".ts"),
        Some(other) => {
            let shown = millrace_model::shown(other);
            return Err(EngineError::invalid(
                "language",
                format!(
                    "`{shown}` is no language of components; allowed are `javascript` and `typescript`"
                ),
            ));
        }
    };
    match entry {
        Some(entry) if endings.iter().any(|ending| entry.ends_with(ending)) => Ok(Some(entry)),
        Some(entry) if entry.rsplit('/').next().is_some_and(|name| name.contains('.')) => {
            Err(EngineError::invalid(
                "language",
                format!(
                    "`{}` does not fit the code's path `{entry}`; leave one of both out",
                    language.unwrap_or_default()
                ),
            ))
        }
        entry => Ok(Some(format!("{}{ending}", entry.as_deref().unwrap_or(stem)))),
    }
}
