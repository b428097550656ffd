//! Events that are given to commands.

use std::path::Path;

use serde_json::Value;

use crate::error::CliError;
use crate::files::given;

/// The largest event that is read.
const BYTES_MAX: u64 = 32 << 20;

/// JSON as it is typed, `@FILE` for a file's, `-` for standard input.
pub(super) fn read(event: &str) -> Result<Value, CliError> {
    match (event, event.strip_prefix('@')) {
        ("-", _) => parse(&given::stdin(BYTES_MAX)?, "standard input"),
        (_, Some(path)) => parse(&given::file(Path::new(path))?, &format!("`{path}`")),
        (text, None) => parse(text, "the event"),
    }
}

fn parse(text: &str, what: &str) -> Result<Value, CliError> {
    millrace_model::json::from_str(text).map_err(|e| CliError::Usage {
        message: format!("{what} is not JSON: {e}"),
        hint: "an event is such as --event '{\"n\": 1}', --event @event.json, or --event - for standard input",
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn events_are_typed_or_files() {
        let path = std::env::temp_dir().join(format!("millrace-event-{}", std::process::id()));
        std::fs::write(&path, "{\"n\": 1}").expect("writes");
        assert_eq!(read(&format!("@{}", path.display())).ok(), Some(json!({ "n": 1 })));
        std::fs::write(&path, b"\xff\xfe[\x001\0]\0").expect("writes");
        assert_eq!(read(&format!("@{}", path.display())).ok(), Some(json!([1])));
        assert_eq!(read("[1]").ok(), Some(json!([1])));
        assert_eq!(read("{").expect_err("refuses").exit_status(), 2);
        assert_eq!(read("@/no/such/file").expect_err("refuses").exit_status(), 1);
        std::fs::remove_file(path).expect("cleans");
    }
}
