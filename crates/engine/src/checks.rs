//! Checks of given texts that several parts of the engine share: names, notes, addresses of mail,
//! subjects.

use millrace_model::error_event::NOTE_CHARS_MAX;

use crate::EngineError;

/// The most characters of a name.
const NAME_MAX: usize = 200;
/// Recipients of mails about errors.
const RECIPIENTS_MAX: usize = 10;

pub(crate) fn check_name(name: &str) -> Result<String, EngineError> {
    let name = name.trim();
    if name.is_empty() || name.chars().count() > NAME_MAX || name.chars().any(char::is_control) {
        return Err(EngineError::invalid(
            "name",
            format!("a name has 1 to {NAME_MAX} characters on one line"),
        ));
    }
    Ok(name.to_owned())
}

/// A note as it is kept: without blanks around it, none where nothing is left. `field`: its place
/// in the request.
pub(crate) fn checked_note(
    field: &str,
    note: Option<String>,
) -> Result<Option<String>, EngineError> {
    let note = note.map(|note| note.trim().to_owned()).filter(|note| !note.is_empty());
    match note.as_ref().map(|note| note.chars().count()).filter(|length| *length > NOTE_CHARS_MAX) {
        Some(length) => Err(EngineError::invalid(
            field,
            format!("`{field}` has {length} characters; at most {NOTE_CHARS_MAX} are allowed"),
        )),
        None => Ok(note),
    }
}

/// Addresses that mails about errors go to, each written as one.
pub(crate) fn recipients(field: &str, given: &[String]) -> Result<Vec<String>, EngineError> {
    let mut all: Vec<String> = Vec::with_capacity(given.len());
    for text in given {
        let mailbox: lettre::message::Mailbox = text.parse().map_err(|_| {
            let shown = millrace_model::shown(text);
            EngineError::invalid(field, format!("`{shown}` is not an e-mail address; allowed are such as me@example.com, each an item of the list"))
        })?;
        let text = mailbox.to_string();
        if !all.contains(&text) {
            all.push(text);
        }
    }
    if all.len() > RECIPIENTS_MAX {
        return Err(EngineError::invalid(
            field,
            format!("{} recipients were given; allowed are at most {RECIPIENTS_MAX}", all.len()),
        ));
    }
    Ok(all)
}

/// A subject is one line: a name with line breaks must not add headers.
pub(crate) fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(150).collect()
}

/// `key@version`. A key does not begin with `@`, a version may hold one.
pub(crate) fn key_and_version(name: &str) -> (&str, Option<&str>) {
    match name.split_once('@') {
        Some((key, version)) if !key.is_empty() => (key, Some(version)),
        _ => (name, None),
    }
}
