//! Parts of error messages: why something failed, whose a thing is, long texts cut.

use std::io::ErrorKind;
use std::path::Path;

/// The first cause says what happened, such as a refused connection; what stands above it only that
/// a request failed.
pub(crate) fn root_cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

/// The number of Linux for links that lead in a circle, which has no stable `ErrorKind`.
const ELOOP: i32 = 40;

/// Why a file could not be read, the same for each way in which it is found out.
pub(crate) fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "there is no such file or folder".into(),
        ErrorKind::PermissionDenied => "this user may not read it".into(),
        ErrorKind::NotADirectory => "it is not a folder".into(),
        ErrorKind::IsADirectory => "it is a folder".into(),
        // With words of its own it says more.
        ErrorKind::InvalidData if error.get_ref().is_none() => "it is not text in UTF-8".into(),
        _ if error.raw_os_error() == Some(ELOOP) => "its links lead in a circle".into(),
        _ => error.to_string(),
    }
}

/// Whether what answered does not speak TLS.
pub(crate) fn is_no_tls(error: &reqwest::Error) -> bool {
    error.is_connect() && root_cause(error).contains("corrupt message")
}

/// What to do where what answered does not speak TLS.
pub(crate) const NO_TLS: &str =
    "does the server speak https there? name its address with http:// where it does not";

/// What to do where the certificate of what answered is not trusted here.
pub(crate) const UNTRUSTED: &str = "is its certificate one of your own? name the file of the authority that signed it in SSL_CERT_FILE; the server's certificate itself must not be one (CA:FALSE), and must name the host of the address";

/// Whether it is not.
pub(crate) fn is_untrusted(error: &reqwest::Error) -> bool {
    error.is_connect() && root_cause(error).contains("invalid peer certificate")
}

/// Whether it is a file of a project that is no workflow's.
pub(crate) fn is_of_project(path: &Path) -> bool {
    path.file_stem().is_some_and(|stem| stem == "millrace")
        || path.parent().is_some_and(|folder| folder.ends_with("sources"))
}

/// Characters of a message that are shown at the end of a command: what was thrown may be of any
/// length, and the run shows all that is kept.
const MESSAGE_MAX: usize = 500;

/// The beginning of a long text.
pub(crate) fn head(text: &str) -> String {
    match text.char_indices().nth(MESSAGE_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Whose a thing is.
pub(crate) fn owned(project: Option<&str>) -> String {
    project.map_or_else(
        || "was not made by this project".into(),
        |name| format!("belongs to the project `{name}`"),
    )
}

/// One problem, or several on lines of their own.
pub(crate) fn listed(problems: &[String]) -> String {
    match problems {
        [one] => one.clone(),
        many => many.iter().fold(format!("{} problems", many.len()), |text, problem| {
            format!("{text}\n  {problem}")
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::CliError;

    #[test]
    fn a_long_message_is_cut_between_characters() {
        let failed = |message: String| {
            CliError::RunFailed { id: "run_x".into(), code: "Error".into(), message }.to_string()
        };
        assert_eq!(failed("short".into()), "the run `run_x` failed: Error: short");
        assert_eq!(
            failed("ä".repeat(MESSAGE_MAX + 1)),
            format!("the run `run_x` failed: Error: {}…", "ä".repeat(MESSAGE_MAX))
        );
    }

    #[test]
    fn what_cannot_be_read_has_one_reason_and_its_path() {
        let read = |source| CliError::Read { path: "x".into(), source }.to_string();
        let missing = "could not read `x`: there is no such file or folder";
        assert_eq!(read(ErrorKind::NotFound.into()), missing);
        assert_eq!(read(std::io::Error::from_raw_os_error(2)), missing);
        let own = std::io::Error::new(ErrorKind::InvalidData, "it is neither UTF-8 nor UTF-16");
        assert_eq!(read(own), "could not read `x`: it is neither UTF-8 nor UTF-16");
        assert!(read(std::io::Error::from_raw_os_error(40)).ends_with("lead in a circle"));
    }

    #[test]
    fn errors_have_the_code_and_the_hint_of_what_they_are() {
        assert_eq!(CliError::Unknown("x".into()).code(), "not_found");
        let hint = |path: &str| CliError::File { path: path.into(), problems: Vec::new() }.hint();
        assert!(hint("shop/workflows/a/workflow.yaml").is_some_and(|h| h.contains("schema")));
        for path in ["shop/millrace.yaml", "shop/sources/x.yaml"] {
            assert!(hint(path).is_some_and(|h| !h.contains("schema")), "{path}");
        }
    }
}
