//! Manifest of an installed package: what its `package.json` says of other packages.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use crate::lenient;

/// What a package's own manifest says of others.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Manifest {
    #[serde(deserialize_with = "lenient::map")]
    dependencies: BTreeMap<String, String>,
    #[serde(deserialize_with = "lenient::map")]
    peer_dependencies: BTreeMap<String, String>,
    #[serde(deserialize_with = "lenient::map")]
    peer_dependencies_meta: BTreeMap<String, PeerMeta>,
    #[serde(deserialize_with = "lenient::map")]
    optional_dependencies: BTreeMap<String, String>,
    /// Which Node it wants, as its author wrote it.
    pub(crate) engines: Value,
    /// What may be imported of it; nothing where it does not say.
    exports: Value,
    /// What `#names` within the package mean.
    #[serde(deserialize_with = "lenient::map")]
    imports: BTreeMap<String, Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PeerMeta {
    optional: bool,
}

/// What a package says of one that it imports.
#[derive(Clone)]
pub(crate) enum Wanted {
    Range(String),
    /// It can do without, but npm would try.
    Optional(String),
    /// It takes what its users bring.
    Peer(String),
    /// It takes what its users bring, or does without.
    OptionalPeer(String),
    Undeclared,
}

impl Manifest {
    /// The manifest of the package in a folder; None where there is none. One that cannot be read
    /// says nothing.
    pub(crate) fn read(home: &Path) -> Option<Self> {
        let bytes = std::fs::read(home.join("package.json")).ok()?;
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
        Some(millrace_model::json::from_str(&String::from_utf8_lossy(text)).unwrap_or_default())
    }

    /// Whether a path of a file within the package may be imported.
    pub(crate) fn opens_all(&self) -> bool {
        self.exports.is_null()
    }

    /// The packages that it names; an optional peer may stand in the second list of peers alone.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let peers = self.peer_dependencies.keys().chain(self.peer_dependencies_meta.keys());
        self.dependencies
            .keys()
            .chain(self.optional_dependencies.keys())
            .chain(peers)
            .map(String::as_str)
    }

    pub(crate) fn wanted(&self, name: &str) -> Wanted {
        if let Some(range) = self.optional_dependencies.get(name) {
            return Wanted::Optional(range.clone());
        }
        if let Some(range) = self.dependencies.get(name) {
            return Wanted::Range(range.clone());
        }
        let peer = self.peer_dependencies.get(name);
        if self.peer_dependencies_meta.get(name).is_some_and(|meta| meta.optional) {
            return Wanted::OptionalPeer(peer.cloned().unwrap_or_else(|| "*".into()));
        }
        peer.map_or(Wanted::Undeclared, |range| Wanted::Peer(range.clone()))
    }

    /// The package that a `#name` stands for, where it stands for one: other packages are not
    /// beside this one, so that the usual resolution does not find them.
    pub(crate) fn imported_package(&self, name: &str, is_require: bool) -> Option<String> {
        fn find<'a>(target: &'a Value, kind: &str) -> Option<&'a str> {
            match target {
                Value::String(text) => Some(text),
                Value::Array(list) => list.iter().find_map(|t| find(t, kind)),
                Value::Object(map) => map
                    .iter()
                    .filter(|(k, _)| matches!(k.as_str(), "node" | "default") || *k == kind)
                    .find_map(|(_, t)| find(t, kind)),
                _ => None,
            }
        }
        let target = find(self.imports.get(name)?, if is_require { "require" } else { "import" })?;
        (!target.starts_with('.')).then(|| target.to_owned())
    }
}
