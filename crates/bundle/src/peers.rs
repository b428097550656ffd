//! Peer dependencies: a package leaves a peer to its users, so that both have one instance of it.

use std::collections::{BTreeSet, VecDeque};

use crate::dependencies::{From, label, version};
use crate::manifest::Wanted;
use crate::own_files::imports;
use crate::packages::folder_name;
use crate::plugin::MillracePlugin;
use crate::ranges::serves;
use crate::specifier::{Bare, is_builtin};
use crate::{BundleError, LockedPackage};

/// The range of an import that names none.
const LATEST: &str = "latest";

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

/// The range of a package that a file of the author imports without one: the newest, or where a
/// package that the same file imports has it as a peer and the newest does not fit, that peer's.
/// So npm chooses where both are installed together.
pub(crate) async fn fitting(
    plugin: &MillracePlugin,
    name: &str,
    path: &str,
) -> Result<String, BundleError> {
    let newest = || LATEST.to_owned();
    let peers = peers_beside(plugin, name, path).await?;
    let chosen = |range: String| async move {
        let key = format!("{name}@{range}");
        version(plugin, &key, name, &range, path, From::Author).await
    };
    if peers.is_empty() {
        return Ok(newest());
    }
    let fits = |found: &LockedPackage| peers.iter().all(|(_, range)| serves(&found.version, range));
    // What was chosen before is had again where no registry answers.
    let before = |range: &str| plugin.before.0.get(&format!("{name}@{range}"));
    let ranges = || std::iter::once(LATEST).chain(peers.iter().map(|(_, range)| range.as_str()));
    if let Some(range) = ranges().find(|range| before(range).is_some_and(fits)) {
        return Ok(range.to_owned());
    }
    let was_chosen = before(LATEST).is_some();
    for range in ranges() {
        match chosen(range.to_owned()).await {
            Ok(found) if fits(&found) => return Ok(range.to_owned()),
            Err(error) if range == LATEST || !(was_chosen || error.is_about_a_package()) => {
                return Err(error);
            }
            _ => {}
        }
    }
    let wanted: Vec<String> =
        peers.iter().map(|(user, range)| format!("`{user}` wants `{name}@{range}`")).collect();
    plugin.unfit.lock().insert(format!(
        "{}, and `{path}` imports the newest, which is another instance: write a range that fits into the import, as `{name}@{}`",
        wanted.join(", "),
        peers.first().map_or("1", |(_, range)| range)
    ));
    Ok(newest())
}

/// The packages that a file of the author imports which have another as a peer, and the range of
/// it.
async fn peers_beside(
    plugin: &MillracePlugin,
    peer: &str,
    path: &str,
) -> Result<Vec<(String, String)>, BundleError> {
    let mut found = Vec::new();
    let Some(code) = plugin.author.text(path) else { return Ok(found) };
    for specifier in imports(path, &code) {
        let Some(bare) = Bare::parse(&specifier).filter(|bare| bare.name != peer) else { continue };
        if is_builtin(&specifier) || plugin.our_module(&bare).is_some() {
            continue;
        }
        let range = plugin.author.range(&bare, path).unwrap_or_else(|| LATEST.to_owned());
        let key = format!("{}@{range}", bare.name);
        let package = version(plugin, &key, &bare.name, &range, path, From::Author).await;
        let home = match package {
            Ok(package) => plugin.packages.install(&bare.name, &package).await,
            Err(error) => Err(error),
        };
        // What is wrong with it is said where it is imported.
        let Ok(home) = home else { continue };
        let own = home.join("node_modules").join(&bare.name).join("package.json");
        let Some((folder, manifest)) = plugin.packages.owner(&own) else { continue };
        if let Wanted::Peer(range) | Wanted::OptionalPeer(range) = manifest.wanted(peer) {
            found.push((label(&folder), range));
        }
    }
    Ok(found)
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
