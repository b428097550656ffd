//! Packages beside a module: the folder that Node resolves its imports in, made of links into the
//! store of packages.
//!
//! `node_modules/.packages/<folder>/node_modules/<name>` holds a package's files; beside it lie
//! links to the packages that it needs, and `node_modules/<name>` leads to those that the module
//! imports. Links of files are hard ones: a host may read its own folder only.

use std::io;
use std::os::unix::fs::{DirBuilderExt as _, symlink};
use std::path::{Path, PathBuf};

use millrace_model::component::Beside;

use super::private::bring;
use crate::types::OWN_FILES;

/// The folder of the author's own files, beside the module; bundled code knows its name.
const OWN: &str = "component";
/// The folder of all packages, below `node_modules`.
const PACKAGES: &str = ".packages";

/// Lays packages beside a module, in its folder.
///
/// # Errors
/// Where a package is not in the store, or a link cannot be made.
pub(super) fn lay(store: &Path, beside: &Beside, folder: &Path) -> io::Result<()> {
    let root = folder.join("node_modules");
    for (package_folder, package) in &beside.packages {
        let modules = root.join(PACKAGES).join(package_folder).join("node_modules");
        let home = modules.join(&package.import_name);
        link_folder(
            &store.join(package_folder).join("node_modules").join(&package.import_name),
            &home,
        )?;
        for (name, needed) in &package.needs {
            let Some(target) = beside.packages.get(needed) else { continue };
            link(
                &modules.join(name),
                name,
                &Path::new("../..").join(needed).join("node_modules").join(&target.import_name),
            )?;
        }
    }
    for (name, package_folder) in &beside.links {
        let Some(target) = beside.packages.get(package_folder) else { continue };
        link(
            &root.join(name),
            name,
            &Path::new(PACKAGES)
                .join(package_folder)
                .join("node_modules")
                .join(&target.import_name),
        )?;
    }
    Ok(())
}

/// Lays an author's own files beside a module, where it has such: they are in a folder of the
/// module's name.
///
/// # Errors
/// Where a link cannot be made.
pub(super) fn lay_own(module: &Path, folder: &Path) -> io::Result<()> {
    let own = module.with_extension(OWN_FILES);
    if own.is_dir() { link_folder(&own, &folder.join(OWN)) } else { Ok(()) }
}

/// A link to a folder, relative to the `node_modules` that it lies in.
fn link(at: &Path, name: &str, target: &Path) -> io::Result<()> {
    if let Some(parent) = at.parent() {
        make(parent)?;
    }
    let above: PathBuf = name.matches('/').map(|_| "..").collect();
    match symlink(above.join(target), at) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

fn link_folder(from: &Path, to: &Path) -> io::Result<()> {
    make(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_dir() {
            link_folder(&from, &to)?;
        } else if kind.is_file() {
            bring(&from, &to)?;
        }
    }
    Ok(())
}

fn make(folder: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}
