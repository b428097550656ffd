//! Entity tag of a record as a whole (`ETag`, `If-Match`): a hash of all that a request can set.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::source::Source;

/// Hex digits of a tag.
const DIGITS: usize = 32;

/// A hash of a record. A text that is no hash of ours equals none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordTag(String);

impl RecordTag {
    /// The tag of a JSON value, whatever the order of its keys.
    pub fn of(mut value: Value) -> Self {
        value.sort_all_objects();
        let digest = Sha256::digest(value.to_string());
        Self(digest[..DIGITS / 2].iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// The tag of a source. Secrets are sealed anew with each change of it, and then differ.
    pub fn of_source(source: &Source) -> Self {
        let Source { name, active, made_from, .. } = source;
        // All of it was read from JSON.
        let json = serde_json::to_value((name, active, made_from, source.content()));
        Self::of(json.unwrap_or_default())
    }
}

impl fmt::Display for RecordTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for RecordTag {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_tag_is_of_the_values_and_not_of_their_order() {
        let tag = RecordTag::of(json!({ "a": [1, { "x": 1, "y": 2 }], "b": "c" }));
        assert_eq!(tag, RecordTag::of(json!({ "b": "c", "a": [1, { "y": 2, "x": 1 }] })));
        assert_eq!(tag.to_string().parse(), Ok(tag.clone()));
        assert_eq!(tag.to_string().len(), DIGITS);
        for other in [json!({ "b": "c" }), json!({ "a": [{ "x": 1, "y": 2 }, 1], "b": "c" })] {
            assert_ne!(tag, RecordTag::of(other));
        }
    }
}
