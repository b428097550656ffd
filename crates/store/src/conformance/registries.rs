//! Registries.

use millrace_model::ids::{OrgId, RegistryId};
use millrace_model::registry::{Registry, RegistryComponent, RegistryFile};

use super::Database;
use super::sample::{IDS, Org, at, same};
use crate::{GENERATIONS_KEPT, LATEST, NewRegistry};

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
            created_at: at(at_ms),
            updated_at: at(at_ms),
        },
        files,
        components: keys.iter().map(component).collect(),
    }
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
