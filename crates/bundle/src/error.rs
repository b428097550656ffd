//! Errors of bundling a component, in words for its author.

use serde::{Deserialize, Serialize};

/// Why a component cannot be bundled.
#[derive(Debug, thiserror::Error, Serialize, Deserialize)]
pub enum BundleError {
    /// No such package.
    #[error("the package `{name}`, which {importer} imports, does not exist in the npm registry")]
    PackageNotFound {
        /// The package.
        name: String,
        /// Who imports it.
        importer: String,
    },
    /// No version fits.
    #[error(
        "no version of the package `{name}` matches `{range}`, which {importer} asks for; there are {known}"
    )]
    NoVersion {
        /// The package.
        name: String,
        /// The range.
        range: String,
        /// Who asks.
        importer: String,
        /// Some versions that exist, newest first.
        known: String,
    },
    /// Every version that fits wants a newer Node.
    #[error(
        "no version of the package that {importer} imports runs on Node {node}: `{package}` wants Node {wanted}; import a version that runs on it, or start the server with a newer Node (--node)"
    )]
    NodeTooOld {
        /// Name and version that was meant.
        package: String,
        /// Who imports it.
        importer: String,
        /// The range that the package's manifest names.
        wanted: String,
        /// The version in use.
        node: String,
    },
    /// Not JavaScript.
    #[error("the code does not parse:\n{text}")]
    Syntax {
        /// File, line and a code frame.
        text: String,
    },
    /// Nested too deep.
    #[error(
        "`{place}`: the code is nested more than {levels_max} levels deep there, the limit for brackets, operators, functions, blocks and elements within each other; write it flatter, or keep large data as JSON text"
    )]
    Nested {
        /// File, line and column.
        place: String,
        /// The limit.
        levels_max: usize,
    },
    /// The bundler would make far more of it than is given.
    #[error("`{place}`: {what}")]
    Grows {
        /// File, and line where it is one.
        place: String,
        /// What grows, and what to write instead.
        what: String,
    },
    /// A relative import that is not there.
    #[error("`{specifier}`, which {importer} imports, is not among the files of the component")]
    FileNotFound {
        /// As imported.
        specifier: String,
        /// Who imports it.
        importer: String,
    },
    /// An import that leaves the component's root.
    #[error(
        "`{specifier}`, which {importer} imports, is outside of the component's folder; import only files below it"
    )]
    Outside {
        /// As imported.
        specifier: String,
        /// Who imports it.
        importer: String,
    },
    /// Not to be imported.
    #[error("`{specifier}`, which {importer} imports, cannot be imported: {reason}")]
    Unsupported {
        /// As imported.
        specifier: String,
        /// Who imports it.
        importer: String,
        /// Why.
        reason: String,
    },
    /// A package that is compiled for one machine.
    #[error(
        "the package `{package}`, which {importer} imports, is a native add-on; components run JavaScript only"
    )]
    Native {
        /// Name and version.
        package: String,
        /// Who imports it.
        importer: String,
    },
    /// An address that does not answer well.
    #[error("`{url}` could not be fetched: {reason}")]
    Fetch {
        /// The address.
        url: String,
        /// Why.
        reason: String,
    },
    /// An upload that is no tree of components.
    #[error("the archive cannot be taken: {reason}")]
    Archive {
        /// Why.
        reason: String,
    },
    /// Too many files of the author's own, where code of them asks where it lies.
    #[error(
        "code asks where its file lies (`__dirname`, `import.meta`), so its author's files lie beside it: {count} files, allowed are {count_max}"
    )]
    TooManyFiles {
        /// How many.
        count: usize,
        /// The limit.
        count_max: usize,
    },
    /// A `package.json` beside the code that says nothing: what it declares would be passed over.
    #[error(
        "`{path}`, beside or above the code, is not a manifest: {reason}; fix it, or leave it out"
    )]
    Manifest {
        /// The path.
        path: String,
        /// What is wrong.
        reason: String,
    },
    /// A path that is a file and the folder of another one.
    #[error(
        "the file `{path}` cannot lie beside the bundle: `{path}/…` is another file's folder; give one of them another name"
    )]
    FileIsFolder {
        /// The path.
        path: String,
    },
    /// Over a limit.
    #[error("{what} is larger than {bytes_max} bytes, the limit")]
    TooLarge {
        /// What.
        what: String,
        /// The limit.
        bytes_max: usize,
    },
    /// Its process had taken more memory than it may.
    #[error(
        "{what} took more than {mib_max} MiB of memory, the limit; import fewer or smaller packages, or only the parts that are used"
    )]
    OutOfMemory {
        /// What.
        what: String,
        /// The limit.
        mib_max: u64,
    },
    /// It did not end in time.
    #[error(
        "bundling the component took longer than {seconds_max} s, the limit; import fewer or smaller packages, or deploy again where a download was slow"
    )]
    TimedOut {
        /// The limit.
        seconds_max: u64,
    },
    /// Its process had used more CPU time than it may.
    #[error(
        "{what} took more than {seconds_max} s of CPU time, the limit; import fewer or smaller packages, or only the parts that are used"
    )]
    TooMuchComputed {
        /// What.
        what: String,
        /// The limit.
        seconds_max: u64,
    },
    /// The bundler's own words.
    #[error("the component does not bundle:\n{text}")]
    Build {
        /// What the bundler says.
        text: String,
    },
    /// The registry does not answer.
    #[error(
        "the npm registry could not be asked for `{name}`: {reason}; check --npm-registry and the network"
    )]
    Registry {
        /// The package.
        name: String,
        /// Why.
        reason: String,
    },
    /// A package that is not what the registry said.
    #[error("the package `{package}` does not have the checksum that the registry names")]
    Integrity {
        /// Name and version.
        package: String,
    },
    /// A package that cannot be unpacked.
    #[error("the package `{package}` cannot be unpacked: {reason}; import another version of it")]
    Unpackable {
        /// Name and version.
        package: String,
        /// What is wrong with its archive.
        reason: String,
    },
    /// As many of an organization wait as may.
    #[error(
        "{waiting_max} deploys and uploads of this organization wait for their turn, as many as may; try again once one of them is done"
    )]
    Waiting {
        /// The limit.
        waiting_max: usize,
    },
    /// The machine has no room for its process at the moment.
    #[error("the bundler's process cannot be started at the moment: {source}")]
    #[serde(skip)]
    NoProcess {
        /// What the system says: descriptors, memory or processes are used up.
        #[source]
        source: std::io::Error,
    },
    /// Ours to mend.
    #[error("{what}")]
    #[serde(skip)]
    Internal {
        /// What was being done.
        #[serde(skip)]
        what: &'static str,
        /// Why it failed.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl BundleError {
    /// Something of a registry that could not be fetched. Archives are where the registry's
    /// document says; a password in the address is not shown.
    pub(crate) fn not_fetched(name: &str, address: &str, reason: &str) -> Self {
        let origin = reqwest::Url::parse(address).map(|url| url.origin().ascii_serialization());
        let reason = format!("`{}`: {reason}", origin.unwrap_or_else(|_| "no address".into()));
        Self::Registry { name: name.to_owned(), reason }
    }

    /// A stable code.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::PackageNotFound { .. } => "package_not_found",
            Self::NoVersion { .. } => "no_matching_version",
            Self::NodeTooOld { .. } => "node_too_old",
            Self::Syntax { .. } => "syntax_error",
            Self::FileNotFound { .. } => "import_not_found",
            Self::Outside { .. } => "import_outside",
            Self::Unsupported { .. } => "import_unsupported",
            Self::Native { .. } => "native_package",
            Self::Fetch { .. } => "fetch_failed",
            Self::Archive { .. } => "invalid_archive",
            Self::TooLarge { .. } | Self::TooManyFiles { .. } => "component_too_large",
            Self::OutOfMemory { .. } => "bundle_out_of_memory",
            Self::TimedOut { .. } | Self::TooMuchComputed { .. } => "bundle_timeout",
            Self::Build { .. }
            | Self::Nested { .. }
            | Self::Grows { .. }
            | Self::FileIsFolder { .. }
            | Self::Manifest { .. } => "bundle_failed",
            Self::Registry { .. } => "registry_unreachable",
            Self::Integrity { .. } => "package_integrity",
            Self::Unpackable { .. } => "package_unpackable",
            Self::Waiting { .. } => "deploys_waiting",
            Self::NoProcess { .. } => "no_process",
            Self::Internal { .. } => "internal",
        }
    }

    /// Whether it is a package that is at fault: an optional one may be left out then. A registry
    /// that does not answer is no reason, or artifacts would depend on the weather.
    pub(crate) const fn is_about_a_package(&self) -> bool {
        matches!(
            self,
            Self::PackageNotFound { .. }
                | Self::NoVersion { .. }
                | Self::Unsupported { .. }
                | Self::Native { .. }
                | Self::TooLarge { .. }
        )
    }

    /// Whether the author, and not the server, can mend it.
    pub const fn is_user_error(&self) -> bool {
        !matches!(self, Self::NoProcess { .. } | Self::Internal { .. })
    }
}

/// An import that cannot be, and why.
pub(crate) fn unsupported(specifier: &str, importer: &str, reason: &str) -> BundleError {
    BundleError::Unsupported {
        specifier: specifier.into(),
        importer: importer.into(),
        reason: reason.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::BundleError;

    #[test]
    fn what_could_not_be_fetched_names_the_host_asked_without_a_password() {
        for (address, shown) in [
            ("http://me:secret@files.test:8080/acme.tgz", "`http://files.test:8080`: it"),
            ("files.test/acme.tgz", "`no address`: it"),
        ] {
            let message = BundleError::not_fetched("acme", address, "it answered 500").to_string();
            assert!(message.contains(shown) && !message.contains("secret"), "{message}");
        }
    }
}
