//! Registries.

use millrace_model::component::{Manifest, SavedComponent};
use millrace_model::ids::{ComponentId, OrgId, RegistryId};
use millrace_model::registry::{
    FailedUpdate, FromRegistry, Registry, RegistryComponent, RegistryFile, Unindexed,
};

use super::Database;
use super::sample::{IDS, Org, at, same};
use crate::{GENERATIONS_KEPT, Interfaces, LATEST, NewRegistry};

fn registry(
    org: &OrgId,
    name: &str,
    at_ms: i64,
    files: &[(&str, &str)],
    keys: &[&str],
) -> NewRegistry {
    let files: Vec<_> = files
        .iter()
        .map(|(path, text)| RegistryFile {
            path: (*path).into(),
            hash: text.escape_default().to_string(),
            text: (*text).into(),
        })
        .collect();
    let component = |key: &&str| RegistryComponent {
        key: (*key).into(),
        name: "A name".into(),
        description: "A text".into(),
        version: "0.0.1".into(),
        component_type: "source".into(),
        app: "acme".into(),
        path: format!("components/acme/sources/{key}/{key}.mjs"),
        hash: "hash".into(),
    };
    NewRegistry {
        registry: Registry {
            id: RegistryId::generate(&IDS),
            org_id: org.clone(),
            name: name.into(),
            origin: "a folder".into(),
            revision: String::new(),
            file_count: i64::try_from(files.len()).expect("few"),
            component_count: i64::try_from(keys.len()).expect("few"),
            unindexed_count: Some(0),
            failed_update: None,
            created_at: at(at_ms),
            updated_at: at(at_ms),
        },
        files,
        components: keys.iter().map(component).collect(),
        unindexed: Vec::new(),
    }
}

/// A state of a registry.
pub(super) fn state(name: &str, ms: i64) -> FromRegistry {
    FromRegistry { name: name.into(), revision: format!("commit-{ms}"), indexed_at: Some(at(ms)) }
}

pub async fn a_registry_is_replaced_by_name(database: &dyn Database) {
    let org = Org::first(database).await;
    let first = registry(
        &org.id,
        "ours",
        1,
        &[
            ("package.json", "{}"),
            ("components/acme/a.mjs", "a"),
            ("components/acme/b.mjs", "b\0"),
            ("components/other/c.mjs", "c"),
        ],
        &["acme-one", "acme-two"],
    );
    let stored = org.store.put_registry(first.clone()).await.expect("stores");
    same(&stored, &first.registry);
    let files = |app: &'static str| {
        let (store, id) = (org.store.clone(), stored.id.clone());
        async move {
            store
                .registry_files(&id, app, LATEST)
                .await
                .expect("reads")
                .into_iter()
                .map(|f| (f.path, f.text))
                .collect::<Vec<_>>()
        }
    };
    let pairs = |files: &[(&str, &str)]| {
        files
            .iter()
            .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        files("acme").await,
        pairs(&[("components/acme/a.mjs", "a"), ("components/acme/b.mjs", "b\0")])
    );
    assert_eq!(files("").await, pairs(&[("package.json", "{}")]));
    let again = registry(
        &org.id,
        "ours",
        2,
        &[("components/acme/a.mjs", "a"), ("components/acme/b.mjs", "changed")],
        &["acme-two"],
    );
    let replaced = org.store.put_registry(again.clone()).await.expect("replaces");
    same(
        &replaced,
        &Registry { id: stored.id.clone(), created_at: stored.created_at, ..again.registry },
    );
    assert_eq!(
        files("acme").await,
        pairs(&[("components/acme/a.mjs", "a"), ("components/acme/b.mjs", "changed")])
    );
    assert!(files("").await.is_empty() && files("other").await.is_empty());
    same(&org.store.registry_components(&stored.id).await.expect("reads"), &again.components);
    same(&org.store.registries(&org.id).await.expect("lists"), &vec![replaced]);
}

pub async fn a_key_is_found_in_the_oldest_registry(database: &dyn Database) {
    let org = Org::first(database).await;
    let other = Org::another(&org.store, "second").await;
    let newer = org
        .store
        .put_registry(registry(&org.id, "newer", 2, &[], &["acme-one", "acme-two"]))
        .await
        .expect("stores");
    let older = org
        .store
        .put_registry(registry(&org.id, "older", 1, &[], &["acme-one"]))
        .await
        .expect("stores");
    org.store
        .put_registry(registry(&other.id, "older", 0, &[], &["acme-one", "acme-three"]))
        .await
        .expect("another organization's is its own");
    let found = |key: &'static str| {
        let (store, org) = (org.store.clone(), org.id.clone());
        async move {
            store
                .registry_component(&org, key, None)
                .await
                .expect("reads")
                .map(|found| found.registry)
        }
    };
    assert_eq!(
        (found("acme-one").await, found("acme-two").await, found("acme-three").await),
        (Some(older.id), Some(newer.id), None)
    );
    assert!(org.store.delete_registry(&org.id, "older").await.expect("deletes"));
    assert!(!org.store.delete_registry(&org.id, "older").await.expect("answers"));
    assert!(found("acme-one").await.is_some());
    assert_eq!(org.store.registries(&org.id).await.expect("lists").len(), 1);
    assert_eq!(org.store.registries(&other.id).await.expect("lists").len(), 1);
}

pub async fn an_update_keeps_what_it_could_not_index_and_why_it_failed(database: &dyn Database) {
    let org = Org::first(database).await;
    let unindexed = vec![Unindexed { path: "a\0.mjs".into(), reason: "no `key`\0".into() }];
    let tree = |n: i64, unindexed: &[Unindexed]| {
        let mut tree = registry(&org.id, "ours", n, &[], &["acme-one"]);
        tree.registry.revision = format!("commit-{n}");
        // As many as there are, of which some are kept.
        tree.registry.unindexed_count = Some(if unindexed.is_empty() { 0 } else { 300 });
        tree.components[0].version = format!("0.0.{}", n.min(2));
        tree.unindexed = unindexed.to_vec();
        tree
    };
    let stored = org.store.put_registry(tree(1, &unindexed)).await.expect("stores");
    assert_eq!((stored.unindexed_count, &stored.failed_update), (Some(300), &None));
    let kept = || async { org.store.registry_unindexed(&stored.id).await.expect("reads") };
    assert_eq!(kept().await, unindexed);

    let failed = FailedUpdate { at: at(5), message: "no archive".into() };
    for name in ["ours", "none"] {
        let store = &org.store;
        store.registry_update_failed(&org.id, name, failed.clone()).await.expect("keeps");
    }
    let listed = || async { org.store.registries(&org.id).await.expect("lists").remove(0) };
    assert_eq!((listed().await.failed_update, kept().await), (Some(failed), unindexed));

    org.store.put_registry(tree(6, &[])).await.expect("replaces");
    assert_eq!((listed().await.failed_update, listed().await.unindexed_count), (None, Some(0)));
    assert!(kept().await.is_empty());
    org.store.put_registry(tree(7, &[])).await.expect("replaces");

    // Each version says the latest state that has it.
    let from = async |version: Option<&str>| {
        let found = org.store.registry_component(&org.id, "acme-one", version).await;
        found.expect("reads").expect("a component").from
    };
    assert_eq!(
        (from(None).await, from(Some("0.0.2")).await, from(Some("0.0.1")).await),
        (state("ours", 7), state("ours", 7), state("ours", 1))
    );
    assert!(org.store.delete_registry(&org.id, "ours").await.expect("deletes"));
    assert!(kept().await.is_empty());
}

pub async fn what_was_deployed_from_a_registry_is_found(database: &dyn Database) {
    let org = Org::first(database).await;
    let other = Org::another(&org.store, "other").await;
    for org in [&org, &other] {
        let tree = registry(&org.id, "ours", 1, &[], &["acme-one", "acme-two"]);
        org.store.put_registry(tree).await.expect("stores");
    }
    let published = org.add_component(Some("acme-two"), 0).await;
    let saved = SavedComponent {
        id: ComponentId::generate(&IDS),
        manifest: Manifest { key: Some("acme-one".into()), ..published.manifest.clone() },
        published: false,
        ..published.clone()
    };
    org.store.create_component(saved.clone()).await.expect("saves");
    let (by_saved, by_published) =
        (org.source(&saved, "by-saved", 1), org.source(&published, "by-published", 2));
    for source in [&by_saved, &by_published] {
        org.store.create_source(source.clone(), Interfaces::default()).await.expect("a source");
    }
    org.add_source("without-a-key").await;
    let (live, draft) = (org.add_workflow("live").await, org.add_workflow("draft").await);
    let mut deployed = org.deployment(&live.id, 1);
    // Whatever in its version names the component.
    deployed.deployment.content.settings.error_recipients = vec![saved.id.to_string()];
    org.store.deploy_workflow(deployed).await.expect("deploys");
    let uses = async |name: &str, limit: u32| {
        let uses = org.store.registry_uses(&org.id, name, limit).await.expect("reads");
        uses.into_iter().map(|named| named.id).collect::<Vec<_>>()
    };
    let both = vec![by_saved.id.to_string(), live.id.to_string()];
    assert_eq!(uses("ours", 10).await, both, "not {} or {}", by_published.id, draft.id);
    assert!(uses("none", 10).await.is_empty() && uses("ours", 0).await.is_empty());
    assert!(other.store.registry_uses(&other.id, "ours", 10).await.expect("reads").is_empty());
}

pub async fn earlier_versions_stay_with_the_files_that_they_had(database: &dyn Database) {
    let org = Org::first(database).await;
    let tree = |n: i64| {
        let entry = format!("code {n}");
        let mut tree = registry(
            &org.id,
            "ours",
            n,
            &[
                ("components/acme/sources/acme-one/acme-one.mjs", &entry),
                ("components/acme/same.mjs", "same"),
            ],
            &["acme-one"],
        );
        tree.components[0].version = format!("0.0.{n}");
        tree
    };
    let stored = org.store.put_registry(tree(1)).await.expect("stores");
    for n in 2..=3 {
        org.store.put_registry(tree(n)).await.expect("replaces");
    }
    // The same tree again is no other state of what is in it.
    org.store.put_registry(tree(3)).await.expect("replaces");
    assert_eq!(
        org.store.registry_versions(&org.id, "acme-one").await.expect("reads"),
        ["0.0.3", "0.0.2", "0.0.1"]
    );
    let found = |version: Option<&'static str>| {
        let (store, org) = (org.store.clone(), org.id.clone());
        async move {
            let found =
                store.registry_component(&org, "acme-one", version).await.expect("reads")?;
            let files = store
                .registry_files(&found.registry, "acme", found.generation)
                .await
                .expect("reads");
            Some((found.component.version, files.into_iter().map(|f| f.text).collect::<Vec<_>>()))
        }
    };
    let with = |version: &str, code: &str| {
        Some((version.to_owned(), vec!["same".to_owned(), code.to_owned()]))
    };
    assert_eq!(found(None).await, with("0.0.3", "code 3"));
    assert_eq!(found(Some("0.0.3")).await, with("0.0.3", "code 3"));
    assert_eq!(found(Some("0.0.2")).await, with("0.0.2", "code 2"));
    assert_eq!(found(Some("0.0.1")).await, with("0.0.1", "code 1"));
    assert_eq!(found(Some("9")).await, None);
    assert_eq!(org.store.registry_components(&stored.id).await.expect("reads").len(), 1);
    // The oldest go in the end.
    for n in 4..=GENERATIONS_KEPT + 1 {
        org.store.put_registry(tree(n)).await.expect("replaces");
    }
    assert_eq!(found(Some("0.0.1")).await, None);
    assert_eq!(found(Some("0.0.2")).await, with("0.0.2", "code 2"));
    assert!(org.store.delete_registry(&org.id, "ours").await.expect("deletes"));
    assert_eq!(found(Some("0.0.2")).await, None);
    assert!(org.store.registry_versions(&org.id, "acme-one").await.expect("reads").is_empty());
}
