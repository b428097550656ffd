//! Peer dependencies: a package leaves a peer to its users, so that both have one instance of it.

use std::collections::{BTreeSet, VecDeque};

use crate::dependencies::{From, label, version};
use crate::packages::{Wanted, folder_name};
use crate::plugin::MillracePlugin;
use crate::registry::serves;
use crate::{BundleError, LockedPackage};

/// The range by which the nearest user of a package depends on its peer, where the version that
/// this names fits the peer's own range. None where an import of the author that has been resolved
/// fits: as with npm, it comes first. Imports of one file are resolved before the files of packages
/// are read; an import in a file further away may be resolved too late for this.
pub(crate) async fn brought(
    plugin: &MillracePlugin,
    package: &str,
    peer: &str,
    own_range: &str,
) -> Result<Option<String>, BundleError> {
    let fits = |direct: &LockedPackage| serves(&direct.version, own_range);
    if plugin.direct.lock().get(peer).is_some_and(fits) {
        return Ok(None);
    }
    let Some((user, range)) = nearest(plugin, package, peer) else { return Ok(None) };
    let range = plugin.prescribed(peer, range, &user);
    match version(plugin, &format!("{peer}@{range}"), peer, &range, &user, From::Package).await {
        Ok(found) => Ok(serves(&found.version, own_range).then_some(range)),
        Err(error) if error.is_about_a_package() => Ok(None),
        Err(error) => Err(error),
    }
}

/// The nearest of the packages that use one, directly or through others, which depends on `peer`
/// itself, and its range.
fn nearest(plugin: &MillracePlugin, package: &str, peer: &str) -> Option<(String, String)> {
    let homes = plugin.homes.lock();
    let edges = plugin.edges.lock();
    let mut seen = BTreeSet::from([package.to_owned()]);
    let mut waiting = VecDeque::from([package.to_owned()]);
    while let Some(used) = waiting.pop_front() {
        let users = edges.iter().filter(|(_, imports)| {
            imports.iter().any(|(name, package)| label(&folder_name(name, package)) == used)
        });
        for (user, _) in users {
            // The author's own imports are looked at wherever a version is chosen.
            let Some((folder, (import_name, _))) =
                homes.iter().find(|(folder, _)| label(folder) == *user)
            else {
                continue;
            };
            let own = plugin
                .packages
                .root()
                .join(folder)
                .join("node_modules")
                .join(import_name)
                .join("package.json");
            let Some((_, manifest)) = plugin.packages.owner(&own) else { continue };
            match manifest.wanted(peer) {
                Wanted::Range(range) | Wanted::Optional(range) => {
                    return Some((user.clone(), range));
                }
                Wanted::Peer(_) | Wanted::OptionalPeer(_) | Wanted::Undeclared
                    if seen.insert(user.clone()) =>
                {
                    waiting.push_back(user.clone())
                }
                Wanted::Peer(_) | Wanted::OptionalPeer(_) | Wanted::Undeclared => {}
            }
        }
    }
    None
}
