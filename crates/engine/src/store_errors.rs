//! Errors of the store, as errors of the engine.

use millrace_store::StoreError;

use crate::EngineError;

impl From<StoreError> for EngineError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Overloaded => Self::Overloaded,
            StoreError::NoMemory => Self::NoMemory,
            StoreError::QueueFull => Self::QueueFull,
            StoreError::StorageFull => Self::StorageFull,
            StoreError::Unavailable(cause) => {
                tracing::debug!(error = %cause, "the database cannot be reached");
                Self::DatabaseUnavailable
            }
            StoreError::Taken(what) => {
                let message =
                    format!("the {what} is taken by something made at the same time; try again");
                match what {
                    "name" | "name_slug" | "orgname" => Self::taken("name", message),
                    "made_from" | "email" => Self::taken(what, message),
                    // No field of a request: a key of the store.
                    _ => Self::Conflict { code: "taken", message },
                }
            }
            StoreError::Full => {
                Self::Conflict { code: "quota_exceeded", message: "the data store is full".into() }
            }
            StoreError::NotFound => Self::NotFound { what: "record", id: String::new() },
            StoreError::NotAllowed => Self::Forbidden(
                "your permission for this was withdrawn meanwhile: your role or your password has changed",
            ),
            StoreError::UnknownCursor(field) => Self::unknown_cursor(field),
            StoreError::Corrupt { .. } | StoreError::Damaged { .. } => {
                Self::damaged("a stored record", error)
            }
            other => Self::internal("the store failed", other),
        }
    }
}
