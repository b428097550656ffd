//! Cache of facts about components by the hash of their files: a component that was read before
//! needs no process.

use std::collections::{BTreeMap, VecDeque};

use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

use crate::extract::ComponentFacts;

/// Kept at once.
const ENTRIES_MAX: usize = 256;
/// Together, as JSON.
const BYTES_MAX: usize = 16 << 20;

/// What a component was read from: the hash of its files and of its path.
pub(crate) type Key = [u8; 32];

/// Facts that were read last.
#[derive(Default)]
pub(crate) struct FactsCache(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    /// The oldest first, with the bytes of each.
    entries: VecDeque<(Key, Option<ComponentFacts>, usize)>,
    bytes: usize,
}

/// The key of a component. Each text is preceded by its length, so that no other files have the
/// same.
pub(crate) fn key(files: &BTreeMap<String, String>, path: &str) -> Key {
    let mut hash = Sha256::new();
    for text in
        std::iter::once(path).chain(files.iter().flat_map(|(path, text)| [path.as_str(), text]))
    {
        hash.update(text.len().to_le_bytes());
        hash.update(text);
    }
    hash.finalize().into()
}

impl FactsCache {
    pub(crate) fn get(&self, key: &Key) -> Option<Option<ComponentFacts>> {
        self.0
            .lock()
            .entries
            .iter()
            .find(|(kept, ..)| kept == key)
            .map(|(_, facts, _)| facts.clone())
    }

    pub(crate) fn keep(&self, key: Key, facts: &Option<ComponentFacts>) {
        let Ok(bytes) = serde_json::to_vec(facts).map(|json| json.len()) else { return };
        let mut kept = self.0.lock();
        if bytes > BYTES_MAX || kept.entries.iter().any(|(known, ..)| *known == key) {
            return;
        }
        kept.bytes += bytes;
        kept.entries.push_back((key, facts.clone(), bytes));
        while kept.entries.len() > ENTRIES_MAX || kept.bytes > BYTES_MAX {
            let Some((_, _, freed)) = kept.entries.pop_front() else { return };
            kept.bytes -= freed;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(files: &[(&str, &str)]) -> BTreeMap<String, String> {
        files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
    }

    #[test]
    fn another_path_or_text_is_another_component() {
        let one = key(&files(&[("a", "b"), ("c", "d")]), "a");
        assert_eq!(one, key(&files(&[("c", "d"), ("a", "b")]), "a"));
        for (other, path) in [
            (files(&[("a", "b"), ("c", "d")]), "c"),
            (files(&[("a", "b"), ("c", "x")]), "a"),
            (files(&[("a", "bc"), ("", "d")]), "a"),
        ] {
            assert_ne!(one, key(&other, path));
        }
    }

    #[test]
    fn the_oldest_go_where_there_are_too_many_or_too_much() {
        let (known, large) = (FactsCache::default(), |bytes: usize| {
            let mut facts = ComponentFacts::default();
            facts.manifest.description = Some("x".repeat(bytes));
            Some(facts)
        });
        let key = |number: usize| key(&BTreeMap::new(), &number.to_string());
        for number in 0..=ENTRIES_MAX {
            known.keep(key(number), &None);
        }
        assert_eq!((known.get(&key(0)), known.get(&key(1))), (None, Some(None)));
        known.keep(key(1_000), &large(BYTES_MAX));
        assert_eq!(
            (known.get(&key(1_000)), known.get(&key(1))),
            (None, Some(None)),
            "larger than all may be"
        );
        known.keep(key(1_001), &large(BYTES_MAX / 2));
        known.keep(key(1_002), &large(BYTES_MAX / 2));
        assert!(
            known.get(&key(1)).is_none()
                && known.get(&key(1_001)).is_none()
                && known.get(&key(1_002)).is_some()
        );
        assert!(known.0.lock().bytes <= BYTES_MAX);
    }
}
