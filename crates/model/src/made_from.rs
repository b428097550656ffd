//! Origin of a workflow or source: a folder of files of a project, such as a git repository.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

/// The most characters of a project's name and of a path.
const TEXT_MAX: usize = 200;
/// The most fingerprints, and the most characters of each name and value.
const FINGERPRINTS_MAX: usize = 32;
const FINGERPRINT_MAX: usize = 128;

/// What a client that makes workflows and sources from files knows them by. It marks what is the
/// client's to change and to delete, and tells whether anybody else has changed it since.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MadeFrom {
    /// The project that the files are.
    pub project: String,
    /// The file or folder within the project.
    pub path: String,
    /// What the client made of each part of it (name, code, props, …): texts of its own choice.
    /// Empty once anybody else has changed it.
    #[serde(default)]
    pub fingerprints: BTreeMap<String, String>,
}

/// What of a mark is not allowed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum MadeFromError {
    /// A text is empty, too long, or has control characters.
    #[error("`made_from.{field}` needs 1 to {TEXT_MAX} characters on one line")]
    Text {
        /// `project` or `path`.
        field: &'static str,
    },
    /// There are too many fingerprints, or one is too long.
    #[error(
        "`made_from.fingerprints` has at most {FINGERPRINTS_MAX} of at most {FINGERPRINT_MAX} characters each"
    )]
    Fingerprints,
}

impl MadeFrom {
    /// Checks a mark that was asked for.
    pub fn check(&self) -> Result<(), MadeFromError> {
        for (field, text) in [("project", &self.project), ("path", &self.path)] {
            if text.is_empty()
                || text.chars().count() > TEXT_MAX
                || text.chars().any(char::is_control)
            {
                return Err(MadeFromError::Text { field });
            }
        }
        let fits = |text: &String| {
            text.chars().count() <= FINGERPRINT_MAX && !text.chars().any(char::is_control)
        };
        if self.fingerprints.len() > FINGERPRINTS_MAX
            || !self.fingerprints.iter().all(|(name, value)| fits(name) && fits(value))
        {
            return Err(MadeFromError::Fingerprints);
        }
        Ok(())
    }

    /// How its JSON begins, whatever its fingerprints are: marks of the same file begin alike.
    #[must_use]
    pub fn beginning(&self) -> String {
        let text = |text: &String| Value::from(text.as_str());
        format!("{{\"project\":{},\"path\":{},", text(&self.project), text(&self.path))
    }

    /// The same mark after a change by somebody who did not say what it was made from.
    #[must_use]
    pub fn changed_by_others(self) -> Self {
        Self { fingerprints: BTreeMap::new(), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made_from(project: &str, path: &str, fingerprint: &str) -> MadeFrom {
        MadeFrom {
            project: project.into(),
            path: path.into(),
            fingerprints: BTreeMap::from([("code".into(), fingerprint.into())]),
        }
    }

    #[test]
    fn marks_are_short_texts() {
        assert_eq!(made_from("shop", "workflows/hello", "ab12").check(), Ok(()));
        assert_eq!(made_from("", "w", "").check(), Err(MadeFromError::Text { field: "project" }));
        assert_eq!(made_from("p", "a\nb", "").check(), Err(MadeFromError::Text { field: "path" }));
        assert_eq!(
            made_from("p", &"é".repeat(201), "").check(),
            Err(MadeFromError::Text { field: "path" })
        );
        assert_eq!(made_from("p", "w", &"x".repeat(129)).check(), Err(MadeFromError::Fingerprints));
    }

    #[test]
    fn what_others_change_keeps_its_mark_without_fingerprints() {
        let changed = made_from("p", "w", "x").changed_by_others();
        assert_eq!(
            (changed.project.as_str(), changed.path.as_str(), changed.fingerprints.len()),
            ("p", "w", 0)
        );
    }

    #[test]
    fn marks_of_the_same_file_begin_alike() {
        let stored = |mark: &MadeFrom| serde_json::to_string(mark).expect("JSON");
        let mark = made_from("shop \"ü\"", "workflows/a", "x");
        assert!(stored(&mark).starts_with(&mark.beginning()));
        assert!(stored(&mark.clone().changed_by_others()).starts_with(&mark.beginning()));
        for other in [made_from("shop \"ü\"", "workflows/ab", "x"), made_from("shop", "a", "x")] {
            assert!(!stored(&other).starts_with(&mark.beginning()));
        }
    }
}
