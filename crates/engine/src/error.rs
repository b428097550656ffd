//! Errors of the engine, each of a family that the API maps to a status.

use std::time::Duration;

use millrace_model::component::ManifestError;
use millrace_model::http::BodyFault;
use millrace_model::ids::InvalidId;
use millrace_model::people::Role;
use millrace_model::tenant::{Caller, Scope, Scopes};
use serde_json::{Value, json};

use crate::edit_conflict::EditConflict;

/// The families of errors; the API gives each its status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// A field is wrong.
    Invalid,
    /// No key or a wrong one.
    Unauthorized,
    /// Not yours to do.
    Forbidden,
    /// Not there, or another organization's.
    NotFound,
    /// Clashes with what is there.
    Conflict,
    /// Changed since the caller read it.
    Changed,
    /// Was there, and is over.
    Gone,
    /// Over a limit of size.
    TooLarge,
    /// Asked too often, or as much as may waits already.
    TooMany,
    /// Try again later.
    Overloaded,
    /// There is no room left to store anything.
    StorageFull,
    /// Ours to mend.
    Internal,
}

/// An error of the engine. Its text is for the user, except of `Internal`.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// A field is wrong.
    #[error("{message}")]
    Invalid {
        /// Stable code.
        code: &'static str,
        /// The sentence.
        message: String,
        /// `{field, …}`.
        details: Value,
    },
    /// A component's code or hook failed at deploy.
    #[error("{message}")]
    Component {
        /// Stable code.
        code: &'static str,
        /// The sentence.
        message: String,
        /// The error's class and stack.
        details: Value,
    },
    /// No key or a wrong one.
    #[error("the API key is missing, wrong or expired; send `Authorization: Bearer <api key>`")]
    Unauthorized,
    /// An OAuth client's id and secret that do not belong together.
    #[error(
        "there is no OAuth client with this `client_id` and `client_secret`; `millrace oauth-clients create NAME` makes one"
    )]
    WrongClient,
    /// An endpoint's caller did not show what it asks for.
    #[error("{what}")]
    EndpointRefused {
        /// What it asks for.
        what: &'static str,
    },
    /// Not yours to do.
    #[error("{0}")]
    Forbidden(&'static str),
    /// The key, or the role of the person who signed in, does not allow that.
    #[error("{}", scope_missing(*needed, has, *is_session))]
    ScopeMissing {
        /// What the route needs.
        needed: Scope,
        /// What the key or the role allows.
        has: Scopes,
        /// A person's session was shown, no key: roles are what it knows.
        is_session: bool,
    },
    /// The key asked too often.
    #[error("this API key made more than {per_minute} requests in a minute; try again after {} s", self.retry_after_secs().unwrap_or(1))]
    TooMany {
        /// How many it may make.
        per_minute: u32,
        /// When there is room for the next.
        wait: Duration,
    },
    /// Too many wrong keys came from one address.
    #[error("too many wrong API keys came from this address; try again after {} s", self.retry_after_secs().unwrap_or(1))]
    WrongKeys {
        /// When one is looked at again.
        wait: Duration,
    },
    /// An address and a password that do not belong together.
    #[error(
        "the e-mail address or the password is wrong; an owner, or `millrace setup-link`, makes a link to set a new password"
    )]
    WrongPassword,
    /// Somebody whom a provider knows and this server does not let in.
    #[error("{message}")]
    SignInRefused {
        /// Stable code.
        code: &'static str,
        /// The sentence.
        message: String,
    },
    /// Too many wrong passwords.
    #[error("too many wrong passwords; try again after {} s", self.retry_after_secs().unwrap_or(1))]
    WrongPasswords {
        /// When one is looked at again.
        wait: Duration,
    },
    /// Not there, or another organization's.
    #[error("there is no {what} `{id}`")]
    NotFound {
        /// What kind of thing.
        what: &'static str,
        /// The id given.
        id: String,
    },
    /// Clashes with what is there.
    #[error("{message}")]
    Conflict {
        /// Stable code.
        code: &'static str,
        /// The sentence.
        message: String,
    },
    /// Another record has what this field of the request names.
    #[error("{message}")]
    Taken {
        /// Stable code.
        code: &'static str,
        /// The field.
        field: &'static str,
        /// The sentence.
        message: String,
    },
    /// Changed since the caller read it.
    #[error("{0}")]
    Changed(Box<EditConflict>),
    /// Was there, and is over.
    #[error("{message}")]
    Gone {
        /// The sentence.
        message: String,
    },
    /// Over a limit of size.
    #[error("{message}")]
    TooLarge {
        /// The sentence.
        message: String,
    },
    /// As many runs of the workflow or source wait as may.
    #[error(
        "as many runs wait as may: what the setting `queue_max` of a workflow allows, or the server's operator (--waiting-runs-max), or 10,000 of a source; try again later"
    )]
    QueueFull,
    /// As many of the organization's deploys and uploads wait as may.
    #[error(
        "{waiting_max} deploys and uploads of this organization wait for their turn, as many as may; try again once one of them is done"
    )]
    DeploysWaiting {
        /// How many may wait.
        waiting_max: usize,
    },
    /// The files of the organization's requests have as many bytes as may be kept.
    #[error("the files in requests to this organization's endpoints have {max_mb} MiB, as many as are kept (--uploads-kept-mb); each goes half an hour after it came; try again after {} s", self.retry_after_secs().unwrap_or(1))]
    FilesFull {
        /// How many MiB are kept.
        max_mb: u64,
        /// When the oldest go.
        wait: Duration,
    },
    /// Try again later.
    #[error("the server is at its limit of waiting work; try again in a moment")]
    Overloaded,
    /// There is no memory for what was asked for.
    #[error(
        "the server has as much of requests and answers in memory as it may (--requests-memory-mb), and this answer is large; try again, or ask for less at once"
    )]
    NoMemory,
    /// As many exports are handed over as may be at once.
    #[error("{0}")]
    ExportUnderWay(&'static str),
    /// The client of an export took too little of it.
    #[error(
        "the client took {bytes} bytes of the export and then too little: it is waited for a minute, and regains a second of it with each 64 KiB that it takes; take it faster, or less at once (`owner_id`, `from`, `to`)"
    )]
    ExportTooSlow {
        /// What it took.
        bytes: u64,
    },
    /// The machine has no room for another process at the moment.
    #[error(
        "the server cannot start a process for the code at the moment; see its log, and try again in a moment"
    )]
    NoProcess,
    /// The disk of the database or the data directory is full.
    #[error(
        "the disk of the server is full: nothing was stored; the server goes on by itself once its operator has made room"
    )]
    StorageFull,
    /// The database cannot be reached.
    #[error(
        "the server's database cannot be reached; what was asked for may have been done or not; try again in a moment"
    )]
    DatabaseUnavailable,
    /// Stored data of one owner cannot be read: its runs fail with this, and nobody else's.
    #[error(
        "{what} is damaged: {source}; store it again (deploy, update or connect anew), or restore a backup"
    )]
    Damaged {
        /// Which stored thing.
        what: &'static str,
        /// Why it cannot be read, without its contents.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Ours to mend.
    #[error("{what}")]
    Internal {
        /// What was being done.
        what: &'static str,
        /// Why it failed.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// What a caller lacks: of a key the scope, of a person the role.
fn scope_missing(needed: Scope, has: &Scopes, is_session: bool) -> String {
    if !is_session {
        return format!("this needs an API key with the scope `{needed}`; this key has `{has}`");
    }
    // The narrowest role that allows it.
    let needed =
        Role::ALL.into_iter().rfind(|role| role.scopes().allow(needed)).unwrap_or(Role::Owner);
    let own = Role::ALL
        .into_iter()
        .find(|role| role.scopes() == *has)
        .map_or_else(|| has.to_string(), |role| role.as_str().to_owned());
    let needed = needed.as_str();
    format!(
        "this needs the role `{needed}` in this organization; your role is `{own}`, which an owner can change"
    )
}

impl From<BodyFault> for EngineError {
    fn from(fault: BodyFault) -> Self {
        let code = match fault {
            BodyFault::TooLarge { .. } => {
                let message = format!(
                    "{fault}, the limit of this server (--http-body-max-bytes; of files --upload-max-bytes)"
                );
                return Self::TooLarge { message };
            }
            BodyFault::Broken => "unreadable_body",
            BodyFault::NotEncoded { .. } | BodyFault::TooManyCodings { .. } => "malformed_encoding",
        };
        Self::Invalid { code, message: fault.to_string(), details: json!({}) }
    }
}

impl EngineError {
    /// An unknown id.
    pub fn not_found(what: &'static str, id: impl std::fmt::Display) -> Self {
        Self::NotFound { what, id: millrace_model::shown(&id.to_string()) }
    }

    /// A fault of ours, or of a disk that is full.
    pub fn internal(
        what: &'static str,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        let source = source.into();
        let mut causes =
            std::iter::successors(Some(&*source as &(dyn std::error::Error + 'static)), |error| {
                error.source()
            });
        let is_full = |error: &std::io::Error| {
            matches!(
                error.kind(),
                std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded
            )
        };
        if causes.any(|error| error.downcast_ref().is_some_and(is_full)) {
            tracing::error!(what, error = crate::error_chain(&*source), "the disk is full");
            return Self::StorageFull;
        }
        Self::Internal { what, source }
    }

    /// Stored data that cannot be read.
    pub(crate) fn damaged(
        what: &'static str,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self::Damaged { what, source: source.into() }
    }

    /// The family.
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Self::Invalid { .. } | Self::Component { .. } => ErrorKind::Invalid,
            Self::Unauthorized
            | Self::WrongClient
            | Self::WrongPassword
            | Self::EndpointRefused { .. } => ErrorKind::Unauthorized,
            Self::Forbidden(_) | Self::ScopeMissing { .. } | Self::SignInRefused { .. } => {
                ErrorKind::Forbidden
            }
            Self::TooMany { .. } | Self::WrongKeys { .. } | Self::WrongPasswords { .. } => {
                ErrorKind::TooMany
            }
            Self::NotFound { .. } => ErrorKind::NotFound,
            Self::Conflict { .. } | Self::Taken { .. } => ErrorKind::Conflict,
            Self::Changed(_) => ErrorKind::Changed,
            Self::Gone { .. } | Self::ExportTooSlow { .. } => ErrorKind::Gone,
            Self::TooLarge { .. } => ErrorKind::TooLarge,
            Self::QueueFull | Self::DeploysWaiting { .. } | Self::FilesFull { .. } => {
                ErrorKind::TooMany
            }
            Self::Overloaded
            | Self::NoMemory
            | Self::ExportUnderWay(_)
            | Self::NoProcess
            | Self::DatabaseUnavailable => ErrorKind::Overloaded,
            Self::StorageFull => ErrorKind::StorageFull,
            Self::Damaged { .. } | Self::Internal { .. } => ErrorKind::Internal,
        }
    }

    /// A stable code in snake case.
    pub const fn code(&self) -> &str {
        match self {
            Self::Invalid { code, .. }
            | Self::Component { code, .. }
            | Self::Conflict { code, .. }
            | Self::Taken { code, .. }
            | Self::SignInRefused { code, .. } => code,
            Self::Unauthorized | Self::WrongClient | Self::EndpointRefused { .. } => "unauthorized",
            Self::Forbidden(_) => "forbidden",
            Self::ScopeMissing { .. } => "scope_missing",
            Self::TooMany { .. } => "too_many_requests",
            Self::WrongPassword => "wrong_password",
            Self::WrongPasswords { .. } => "too_many_wrong_passwords",
            Self::WrongKeys { .. } => "too_many_wrong_keys",
            Self::NotFound { .. } => "not_found",
            Self::Changed(conflict) => conflict.code(),
            Self::Gone { .. } => "gone",
            Self::TooLarge { .. } => "too_large",
            Self::QueueFull => "queue_full",
            Self::DeploysWaiting { .. } => "deploys_waiting",
            Self::FilesFull { .. } => "files_full",
            Self::Overloaded | Self::NoMemory => "overloaded",
            Self::ExportUnderWay(_) => "export_under_way",
            Self::ExportTooSlow { .. } => "export_too_slow",
            Self::NoProcess => "no_process",
            Self::StorageFull => "storage_full",
            Self::DatabaseUnavailable => "database_unavailable",
            Self::Damaged { .. } => "damaged_data",
            Self::Internal { .. } => "internal",
        }
    }

    /// Whole seconds after which it is worth to try again, where that is known.
    pub fn retry_after_secs(&self) -> Option<u64> {
        match self {
            Self::TooMany { wait, .. }
            | Self::WrongKeys { wait }
            | Self::WrongPasswords { wait }
            | Self::FilesFull { wait, .. } => {
                Some(wait.as_millis().div_ceil(1000).try_into().unwrap_or(1).max(1))
            }
            Self::Overloaded
            | Self::NoMemory
            | Self::NoProcess
            | Self::QueueFull
            | Self::DatabaseUnavailable => Some(1),
            Self::DeploysWaiting { .. } => Some(5),
            Self::StorageFull | Self::ExportUnderWay(_) => Some(10),
            _ => None,
        }
    }

    /// What a program may read: an object.
    pub fn details(&self) -> Value {
        match self {
            Self::Invalid { details, .. } | Self::Component { details, .. } => details.clone(),
            Self::NotFound { what, id } => json!({ "resource": what, "id": id }),
            Self::Taken { field, .. } => json!({ "field": field }),
            Self::Changed(conflict) => conflict.details(),
            Self::ScopeMissing { needed, has, .. } => {
                json!({ "needed": needed, "has": has.iter().collect::<Vec<_>>() })
            }
            Self::WrongKeys { .. } | Self::WrongPasswords { .. } => {
                json!({ "retry_after": self.retry_after_secs() })
            }
            Self::DeploysWaiting { waiting_max } => {
                json!({ "waiting_max": waiting_max, "retry_after": self.retry_after_secs() })
            }
            Self::FilesFull { max_mb, .. } => {
                json!({ "max_mb": max_mb, "retry_after": self.retry_after_secs() })
            }
            Self::TooMany { per_minute, .. } => {
                json!({ "per_minute": per_minute, "retry_after": self.retry_after_secs() })
            }
            _ => json!({}),
        }
    }
}

impl From<InvalidId> for EngineError {
    fn from(error: InvalidId) -> Self {
        Self::NotFound { what: "record", id: error.value }
    }
}

impl From<ManifestError> for EngineError {
    fn from(error: ManifestError) -> Self {
        Self::Component {
            code: "invalid_component",
            message: error.to_string(),
            details: json!({}),
        }
    }
}

/// None for what is stored and cannot be read.
pub(crate) fn readable<T>(read: Result<T, EngineError>) -> Result<Option<T>, EngineError> {
    match read {
        Err(EngineError::Damaged { .. }) => Ok(None),
        other => other.map(Some),
    }
}

/// The same of a record that is to be removed: damage does not keep it. Whose external user a
/// damaged one is, nobody can tell: a caller who acts for one is refused.
pub(crate) fn removable<T>(
    caller: &Caller,
    read: Result<T, EngineError>,
) -> Result<Option<T>, EngineError> {
    if caller.external_user_id.is_some() { read.map(Some) } else { readable(read) }
}

#[cfg(test)]
mod tests {
    use std::io::{Error, ErrorKind};

    use millrace_store::StoreError;

    use super::*;

    #[test]
    fn a_full_disk_is_told_wherever_it_is_found() {
        assert_eq!(
            EngineError::internal("could not write", Error::from(ErrorKind::StorageFull)).code(),
            "storage_full"
        );
        assert_eq!(
            EngineError::internal("could not write", Error::from(ErrorKind::NotFound)).code(),
            "internal"
        );
        let beneath = millrace_bundle::BundleError::Internal {
            what: "could not install a package",
            source: Error::from(ErrorKind::StorageFull).into(),
        };
        assert_eq!(
            EngineError::internal("could not bundle the component", beneath).code(),
            "storage_full"
        );
        assert_eq!(EngineError::from(StoreError::StorageFull).code(), "storage_full");
        assert_eq!(
            EngineError::from(StoreError::Unavailable("away".into())).code(),
            "database_unavailable"
        );
    }
}
