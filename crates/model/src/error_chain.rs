//! Text of an error with its causes, for logs and operators.

/// An error and its causes on one line, for the log and for the operator.
pub fn error_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{0}")]
    struct Failed(&'static str, #[source] Option<Box<Failed>>);

    #[test]
    fn all_causes_stand_behind_the_error() {
        let error = Failed(
            "not kept",
            Some(Box::new(Failed("not written", Some(Box::new(Failed("no room", None)))))),
        );
        assert_eq!(error_chain(&error), "not kept: not written: no room");
        assert_eq!(error_chain(&Failed("not kept", None)), "not kept");
    }
}
