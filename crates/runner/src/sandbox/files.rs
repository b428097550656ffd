//! The files that Node needs to run.

use std::path::{Path, PathBuf};

/// A Node that was found, and where its parts are.
#[derive(Clone, Debug)]
pub(crate) struct NodeFiles {
    /// The real path of the binary.
    pub(crate) binary: PathBuf,
    /// Such as `20.20.2`.
    pub(crate) version: String,
    /// The binary and the loader of shared libraries.
    pub(crate) executable: Vec<PathBuf>,
    /// Folders of libraries that Node has loaded.
    pub(crate) libraries: Vec<PathBuf>,
}

impl NodeFiles {
    /// `mapped`: the files that a running Node has mapped.
    pub(crate) fn new(
        binary: PathBuf,
        version: &str,
        mapped: impl Iterator<Item = PathBuf>,
    ) -> Self {
        let (mut executable, mut libraries) = (vec![binary.clone()], Vec::new());
        for path in mapped.filter(|p| *p != binary) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with("ld-") || name.starts_with("ld64") || name.starts_with("ld.") {
                executable.push(path);
            } else if let Some(folder) =
                path.parent().filter(|_| name.contains(".so")).map(Path::to_owned)
                && !libraries.contains(&folder)
            {
                libraries.push(folder);
            }
        }
        Self { binary, version: version.to_owned(), executable, libraries }
    }
}
