//! Errors of bundling as errors of the engine.

use millrace_bundle::BundleError;
use serde_json::json;

use crate::EngineError;

/// The error that the author of a deploy reads.
pub(crate) fn bundle_error(error: BundleError) -> EngineError {
    match error {
        BundleError::Waiting { waiting_max } => EngineError::DeploysWaiting { waiting_max },
        BundleError::NoProcess { .. } => {
            tracing::warn!(reason = %error, "a component could not be bundled");
            EngineError::NoProcess
        }
        error if error.is_user_error() => EngineError::Component {
            code: error.code(),
            message: error.to_string(),
            details: json!({ "field": "component_code" }),
        },
        error => EngineError::internal("could not bundle the component", error),
    }
}
