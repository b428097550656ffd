//! The index of a tree of components: what each is called, read from its code on all cores, without
//! running it.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};

pub use millrace_model::registry::{RegistryComponent as IndexEntry, Unindexed};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::extract::{Workspace, fault, read_component};
use crate::tree::Files;

/// The parser calls itself once per level of nesting. Only addresses are reserved, not memory.
const STACK_BYTES: usize = 256 << 20;

/// The index of a tree.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Index {
    /// The components, by path.
    pub entries: Vec<IndexEntry>,
    /// What should be a component and could not be read as one, by path.
    pub unindexed: Vec<Unindexed>,
    /// How many files were read anew, and not known from the index before.
    pub read: usize,
    /// What each outcome depends on.
    seen: BTreeMap<String, Seen>,
}

/// What became of a file, and the stamps of all files that this depends on.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Seen {
    outcome: Outcome,
    depends_on: Vec<(String, Option<u64>)>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Outcome {
    Component(IndexEntry),
    Unreadable(String),
    /// Something that components share.
    Helper,
}

impl Index {
    /// Indexes a tree. What an earlier index knows is taken from there, as long as no file changed
    /// that it depends on.
    pub fn of(files: &dyn Files, earlier: Option<&Self>) -> Self {
        let paths = files.component_files();
        let scan =
            Scan { files, workspace: Workspace::new(files), earlier, stamps: Mutex::default() };
        let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(paths.len())));
        let work = || {
            let mut mine = Vec::new();
            while let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
                let (seen, is_new) = scan.file(path);
                mine.push((path.clone(), seen, is_new));
            }
            found.lock().append(&mut mine);
        };
        std::thread::scope(|scope| {
            for _ in 0..std::thread::available_parallelism().map_or(1, NonZeroUsize::get) {
                // Where no thread can be had, the others do its work.
                let started = std::thread::Builder::new()
                    .name("millrace-index".into())
                    .stack_size(STACK_BYTES)
                    .spawn_scoped(scope, work);
                if let Err(error) = started {
                    tracing::warn!(%error, "could not start a thread");
                }
            }
        });
        let mut index = Self::default();
        for (path, seen, is_new) in found.into_inner() {
            index.read += usize::from(is_new);
            index.seen.insert(path, seen);
        }
        for (path, seen) in &index.seen {
            match &seen.outcome {
                Outcome::Component(entry) => index.entries.push(entry.clone()),
                Outcome::Unreadable(reason) => {
                    index.unindexed.push(Unindexed { path: path.clone(), reason: reason.clone() })
                }
                Outcome::Helper => {}
            }
        }
        index.resolve_keys();
        index
    }

    /// Resolves keys that several files claim: the file whose path fits the key best stays, the
    /// others are reported.
    fn resolve_keys(&mut self) {
        let mut by_key: BTreeMap<&str, Vec<&IndexEntry>> = BTreeMap::new();
        for entry in &self.entries {
            by_key.entry(&entry.key).or_default().push(entry);
        }
        let mut refused = BTreeMap::new();
        for (key, entries) in by_key.iter().filter(|(_, entries)| entries.len() > 1) {
            let Some(winner) =
                entries.iter().max_by_key(|entry| (path_fit(entry), Reverse(&entry.path)))
            else {
                continue;
            };
            for entry in entries.iter().filter(|entry| entry.path != winner.path) {
                refused.insert(entry.path.clone(), format!("its key `{key}` is taken by `{}`, whose path fits the key better or comes first", winner.path));
            }
        }
        self.entries.retain(|entry| !refused.contains_key(&entry.path));
        self.unindexed.extend(refused.into_iter().map(|(path, reason)| Unindexed { path, reason }));
        self.unindexed.sort_by(|a, b| a.path.cmp(&b.path));
    }
}

/// Rank of a path for its component's key: `components/<app>/…/<slug>/<slug>.mjs` of `<app>-<slug>`
/// first, folders of helpers last.
fn path_fit(entry: &IndexEntry) -> (bool, bool, bool) {
    let slug = entry.path.rsplit('/').nth(1).unwrap_or_default();
    let named = is_named_so(&entry.path);
    let exact = entry
        .key
        .strip_prefix(&entry.app.replace('_', "-"))
        .or_else(|| entry.key.strip_prefix(&entry.app))
        .is_some_and(|rest| rest.strip_prefix('-') == Some(slug));
    (named && exact, named && entry.key.ends_with(slug), named && !in_common(&entry.path))
}

/// By custom `common` holds what components share.
fn in_common(path: &str) -> bool {
    path.rsplit('/').skip(1).any(|folder| folder == "common")
}

struct Scan<'a> {
    files: &'a dyn Files,
    workspace: Workspace<'a>,
    earlier: Option<&'a Index>,
    /// An app's file is asked for once, not once for each of its components.
    stamps: Mutex<BTreeMap<String, Option<u64>>>,
}

impl Scan<'_> {
    /// What a file is, and whether it had to be read for it.
    fn file(&self, path: &str) -> (Seen, bool) {
        let known = self.earlier.and_then(|index| index.seen.get(path));
        if let Some(known) = known
            .filter(|known| known.depends_on.iter().all(|(path, stamp)| self.stamp(path) == *stamp))
        {
            return (known.clone(), false);
        }
        let read = read_component(&self.workspace, path);
        let depends_on = read
            .looked_for
            .into_iter()
            .map(|path| {
                let stamp = self.stamp(&path);
                (path, stamp)
            })
            .collect();
        let is_named_so = is_named_so(path);
        let is_helper =
            in_common(path) && (!is_named_so || path.rsplit('/').nth(1) == Some("common"));
        // A file that holds no component may be one whose code cannot be read.
        let fault = || self.files.read(path).and_then(|text| fault(path, &text));
        let fault = if read.facts.is_none() { fault() } else { None };
        let outcome = match read.facts.map(|facts| facts.manifest) {
            Some(manifest)
                if manifest.key.is_some()
                    && !is_helper
                    && (is_named_so || manifest.version.is_some()) =>
            {
                let kind = manifest.component_type.unwrap_or_else(|| "source".into());
                let app = path.split('/').nth(1).unwrap_or_default().to_owned();
                let text = self.files.read(path).unwrap_or_default();
                Outcome::Component(IndexEntry {
                    key: manifest.key.unwrap_or_default(),
                    name: manifest.name.unwrap_or_default(),
                    description: manifest.description.unwrap_or_default(),
                    version: manifest.version.unwrap_or_default(),
                    component_type: if kind == "action" { kind } else { "source".into() },
                    app,
                    path: path.to_owned(),
                    hash: hex(&Sha256::digest(text.as_bytes())),
                })
            }
            Some(manifest) if is_helper && is_named_so && manifest.key.is_some() => {
                Outcome::Unreadable(
                    "it has a key, and a folder `common` holds what components share; name its folder and file after the component".into(),
                )
            }
            None if fault.is_some() => Outcome::Unreadable(fault.unwrap_or_default()),
            _ if !is_named_so || in_common(path) => Outcome::Helper,
            Some(_) => Outcome::Unreadable("its key is not a constant".into()),
            None => Outcome::Unreadable(
                "it has no default export that can be read as a component".into(),
            ),
        };
        (Seen { outcome, depends_on }, true)
    }

    fn stamp(&self, path: &str) -> Option<u64> {
        if let Some(known) = self.stamps.lock().get(path) {
            return *known;
        }
        let stamp = self.files.stamp(path);
        self.stamps.lock().insert(path.to_owned(), stamp);
        stamp
    }
}

/// `<slug>/<slug>.mjs`: nothing but a component is named so.
fn is_named_so(path: &str) -> bool {
    let mut parts = path.rsplit('/');
    let file = parts.next().unwrap_or_default();
    parts
        .next()
        .is_some_and(|slug| file.strip_prefix(slug).is_some_and(|ending| ending.starts_with('.')))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
