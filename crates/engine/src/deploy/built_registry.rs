//! Cache of what was built of components of registries that are run without being published, so
//! that a run of the same files bundles and describes nothing again.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use millrace_model::ids::OrgId;
use millrace_model::tenant::Caller;
use parking_lot::Mutex;
use serde_json::json;

use crate::deploy::components::{Built, CodeRef};
use crate::tenants::secrets::sha256_hex;
use crate::{Engine, EngineError};

/// Bytes of code that are held, of all organizations, and of one.
const BYTES_MAX: usize = 64 << 20;
const ORG_BYTES_MAX: usize = 32 << 20;
/// How long what was built is used: what it imports without a version may have a newer one then.
const AGE_MAX: Duration = Duration::from_secs(3600);

struct Entry {
    org: OrgId,
    /// SHA-256 of the files and of which of them is the entry.
    hash: String,
    built: Arc<Built>,
    bytes: usize,
    since: Instant,
}

/// What was built, the latest used last.
#[derive(Default)]
pub(crate) struct BuiltRegistry(Mutex<VecDeque<Entry>>);

/// Which files are built, and of which entry.
fn hash_of(code: &CodeRef) -> String {
    let named = match code {
        CodeRef::Code { code, files, entry, .. } => json!([entry, code, files]),
        CodeRef::Component(id) => json!(id.as_str()),
        CodeRef::Key(name) | CodeRef::Url(name) => json!(name),
    };
    sha256_hex(named.to_string().as_bytes())
}

impl BuiltRegistry {
    fn get(&self, org: &OrgId, hash: &str) -> Option<Arc<Built>> {
        let mut entries = self.0.lock();
        entries.retain(|entry| entry.since.elapsed() < AGE_MAX);
        let at = entries.iter().position(|entry| entry.org == *org && entry.hash == hash)?;
        let entry = entries.remove(at)?;
        let built = entry.built.clone();
        entries.push_back(entry);
        Some(built)
    }

    fn put(&self, org: &OrgId, hash: String, built: Arc<Built>, since: Instant) {
        let (artifact, component) = (&built.artifact, &built.component);
        let files = component.files.iter().flat_map(|files| files.others.values());
        let bytes = artifact.code.len()
            + artifact.source_map.as_ref().map_or(0, String::len)
            + artifact.lock.len()
            + component.code.len()
            + files.map(String::len).sum::<usize>();
        let mut entries = self.0.lock();
        let entry = Entry { org: org.clone(), hash, built, bytes, since };
        entries.push_back(entry);
        let of_org = |entry: &Entry| entry.org == *org;
        while held(&entries, of_org) > ORG_BYTES_MAX {
            let Some(oldest) = entries.iter().position(of_org) else { break };
            entries.remove(oldest);
        }
        while held(&entries, |_| true) > BYTES_MAX {
            entries.pop_front();
        }
    }
}

impl Engine {
    /// Code of a registry that is run without being published. Of calls at a time for the same
    /// files one builds.
    pub(super) async fn built_of_registry(
        &self,
        caller: &Caller,
        code: &CodeRef,
    ) -> Result<Arc<Built>, EngineError> {
        let (cache, org, hash) = (&self.0.built_registry, &caller.org_id, hash_of(code));
        let _turn = self.0.changes.turn(&format!("{org}/registry/{hash}")).await;
        if let Some(built) = cache.get(org, &hash) {
            return Ok(built);
        }
        let built = Arc::new(self.bundled(caller, code, None).await?.0);
        cache.put(org, hash, built.clone(), Instant::now());
        Ok(built)
    }
}

fn held(entries: &VecDeque<Entry>, which: impl Fn(&Entry) -> bool) -> usize {
    entries.iter().filter(|entry| which(entry)).map(|entry| entry.bytes).sum()
}

#[cfg(test)]
mod tests {
    use millrace_model::component::{Artifact, ComponentType, Manifest, Responds, SavedComponent};
    use millrace_model::ids::ComponentId;

    use super::*;

    fn built(code: String) -> Arc<Built> {
        let now = millrace_model::Timestamp(0);
        let component = SavedComponent {
            id: ComponentId::from_row("sc_1".into()),
            org_id: org(1),
            manifest: Manifest::default(),
            code: String::new(),
            code_hash: String::new(),
            files: None,
            url: None,
            registry: None,
            component_type: ComponentType::Action,
            artifact_id: String::new(),
            published: false,
            created_at: now,
            updated_at: now,
        };
        let lock = String::new();
        let id = String::new();
        let responds = Responds::default();
        let artifact = Artifact { id, code, source_map: None, lock, responds };
        Arc::new(Built { component, artifact })
    }

    fn org(n: u8) -> OrgId {
        OrgId::from_row(format!("o_{n}"))
    }

    #[test]
    fn what_is_held_is_bounded_by_organization_and_in_all_and_by_age() {
        let (cache, now) = (BuiltRegistry::default(), Instant::now());
        let put = |n: u8, hash: &str, since| {
            cache.put(&org(n), hash.into(), built("x".repeat(10 << 20)), since);
        };
        let there = |n: u8| {
            let is_there = |hash: &&str| cache.get(&org(n), hash).is_some();
            ["a", "b", "c", "d"].into_iter().filter(is_there).collect::<String>()
        };
        for hash in ["a", "b", "c"] {
            put(1, hash, now);
        }
        // What was used last stays.
        assert!(cache.get(&org(1), "a").is_some());
        put(1, "d", now);
        assert_eq!((there(1), there(2)), ("acd".into(), String::new()));
        for hash in ["a", "b", "c"] {
            put(2, hash, now);
        }
        put(3, "a", now);
        assert_eq!((there(1), there(2), there(3)), ("cd".into(), "abc".into(), "a".into()));
        let Some(long_ago) = now.checked_sub(AGE_MAX) else { return };
        put(3, "b", long_ago);
        assert_eq!(there(3), "a");
    }

    #[test]
    fn files_and_the_entry_tell_code_apart() {
        let code = |text: &str, other: &str, entry: &str| {
            hash_of(&CodeRef::Code {
                code: text.into(),
                files: [("x.mjs".to_owned(), other.to_owned())].into(),
                entry: Some(entry.into()),
                is_javascript: false,
                url: None,
            })
        };
        let same = code("a", "b", "c.mjs");
        assert_eq!(same, code("a", "b", "c.mjs"));
        for other in [code("b", "b", "c.mjs"), code("a", "c", "c.mjs"), code("a", "b", "d.mjs")] {
            assert_ne!(same, other);
        }
    }
}
