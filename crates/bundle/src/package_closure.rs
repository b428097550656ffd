//! Closure of the packages that lie beside a bundle: each package that depends on where it lies,
//! with all that it depends on.

use std::collections::BTreeMap;
use std::path::Path;

use millrace_model::component::{Beside, PlacedPackage};

use crate::dependencies::{From, label, version};
use crate::manifest::Wanted;
use crate::packages::Packages;
use crate::peers::brought;
use crate::plugin::MillracePlugin;
use crate::specifier::is_builtin;
use crate::{BundleError, LockedPackage};

/// What may lie beside a bundle: the files are made for each host that loads it.
const FILES_MAX: usize = 30_000;
const BYTES_MAX: usize = 512 << 20;

/// A package to be placed: the name that it is imported by, and its version.
pub(crate) type Root = (String, LockedPackage);

/// Places packages and all that they depend on. What a package needs that cannot be had is left
/// out, as npm leaves out what is optional.
pub(crate) async fn placed(
    plugin: &MillracePlugin,
    roots: impl IntoIterator<Item = Root>,
) -> Result<Beside, BundleError> {
    let packages = &plugin.packages;
    let mut beside = Beside::default();
    let mut waiting: Vec<Root> = roots.into_iter().collect();
    let mut size = (0, 0);
    while let Some((name, package)) = waiting.pop() {
        let home = packages.install(&name, &package).await?;
        let folder = folder_of(&home);
        if beside.packages.contains_key(&folder) {
            continue;
        }
        measure(&home, &mut size);
        if size.0 > FILES_MAX || size.1 > BYTES_MAX {
            let what = format!(
                "what lies beside the bundle as installed, up to `{}@{}` ({} files),",
                package.name, package.version, size.0
            );
            return Err(BundleError::TooLarge { what, bytes_max: BYTES_MAX });
        }
        if let Some((wanted, node)) = packages.wants_newer_node(&home, &name) {
            plugin.unfit.lock().insert(format!(
                "`{}@{}` wants Node {wanted}, and {node} runs components here",
                package.name, package.version
            ));
        }
        if Packages::is_native(&home, &name) {
            plugin.unfit.lock().insert(format!(
                "`{}@{}` is a native add-on, and components run JavaScript only",
                package.name, package.version
            ));
        }
        let mut needs = BTreeMap::new();
        for (needed, found) in needed_by(plugin, &home, &name).await? {
            let home = packages.install(&needed, &found).await?;
            plugin.installed(&folder_of(&home), &label(&folder), &needed, &found);
            needs.insert(needed.clone(), folder_of(&home));
            waiting.push((needed, found));
        }
        let LockedPackage { name: own_name, version, integrity } = package;
        beside.packages.insert(
            folder,
            PlacedPackage { import_name: name, name: own_name, version, integrity, needs },
        );
    }
    for (folder, package) in &beside.packages {
        beside.links.insert(specifier_of(folder), folder.clone());
        // What a package imports without declaring it is found as in the flat folder that npm
        // makes, and so is what code names as it runs.
        let is_direct = plugin
            .direct
            .lock()
            .get(&package.import_name)
            .is_some_and(|direct| direct.version == package.version);
        if is_direct || !beside.links.contains_key(&package.import_name) {
            beside.links.insert(package.import_name.clone(), folder.clone());
        }
    }
    Ok(beside)
}

/// The packages that an installed one needs, by the name that it imports them by.
async fn needed_by(
    plugin: &MillracePlugin,
    home: &Path,
    name: &str,
) -> Result<Vec<Root>, BundleError> {
    let own = home.join("node_modules").join(name);
    let label = label(&folder_of(home));
    let mut needs = Vec::new();
    let mut wanted = BTreeMap::new();
    for (at, manifest) in plugin.packages.with_bundled(&own) {
        for needed in manifest.names().filter(|needed| !is_builtin(needed) && *needed != name) {
            if !plugin.packages.has_bundled(&at.join("package.json"), needed) {
                wanted.entry(needed.to_owned()).or_insert_with(|| manifest.wanted(needed));
            }
        }
    }
    for (needed, wanted) in &wanted {
        let (range, from) = match wanted.clone() {
            Wanted::Range(range) => (range, From::Package),
            Wanted::Peer(range) => {
                (brought(plugin, &label, needed, &range).await?.unwrap_or(range), From::Package)
            }
            Wanted::Optional(range) => (range, From::Optional),
            Wanted::OptionalPeer(range) if plugin.direct.lock().contains_key(needed) => {
                (range, From::Package)
            }
            Wanted::OptionalPeer(range) => match brought(plugin, &label, needed, &range).await? {
                Some(range) => (range, From::Optional),
                None => continue,
            },
            Wanted::Undeclared => continue,
        };
        let range = plugin.prescribed(needed, range, &label);
        let key = format!("{needed}@{range}");
        match version(plugin, &key, needed, &range, &label, from).await {
            Ok(found) if found.version.is_empty() => {}
            Ok(found) => {
                plugin.chosen.lock().insert(key, found.clone());
                needs.push((needed.clone(), found));
            }
            Err(error) if error.is_about_a_package() => {
                plugin.left_out(&label, &error, from);
                let left_out = LockedPackage {
                    name: needed.clone(),
                    version: String::new(),
                    integrity: String::new(),
                };
                plugin.chosen.lock().insert(key, left_out);
            }
            Err(error) => return Err(error),
        }
    }
    // What its files import without declaring it was found when they were looked at.
    let undeclared = plugin.edges.lock().get(&label).cloned().unwrap_or_default();
    for (needed, found) in undeclared {
        if !needs.iter().any(|(known, _)| *known == needed) {
            needs.push((needed, found));
        }
    }
    Ok(needs)
}

/// The name of a package's folder in the store.
pub(crate) fn folder_of(home: &Path) -> String {
    home.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The name by which a bundle imports a package that lies beside it. The versions of one package
/// have a name each.
pub(crate) fn specifier_of(folder: &str) -> String {
    folder.trim_start_matches('@').to_owned()
}

/// Adds up files and bytes of a folder.
fn measure(folder: &Path, size: &mut (usize, usize)) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.metadata() {
            Ok(found) if found.is_dir() => measure(&entry.path(), size),
            Ok(found) => {
                *size = (
                    size.0 + 1,
                    size.1.saturating_add(usize::try_from(found.len()).unwrap_or(usize::MAX)),
                )
            }
            Err(_) => {}
        }
    }
}
