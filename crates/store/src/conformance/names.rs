//! Records by their names, the records that name another one, and people's preferences.

use millrace_model::names::NamedKind;
use serde_json::json;

use super::Database;
use super::sample::{Org, at};

pub async fn records_are_read_by_kind_the_last_changed_first(database: &dyn Database) {
    let org = Org::first(database).await;
    let other = Org::another(&org.store, "other").await;
    let (first, second) = (org.add_source("first").await, org.add_source("second").await);
    let workflow = org.add_workflow("first").await;
    other.add_source("first").await;
    let read = async |kind, limit| org.store.names(&org.id, kind, limit).await.expect("reads");
    let mut sources: Vec<_> = read(NamedKind::Source, 10)
        .await
        .into_iter()
        .map(|named| (named.kind, named.id, named.name))
        .collect();
    sources.sort_by(|a, b| a.2.cmp(&b.2));
    let expected = [&first, &second]
        .map(|source| (NamedKind::Source, source.id.to_string(), source.name.clone()));
    assert_eq!(sources, expected);
    assert_eq!(read(NamedKind::Source, 1).await.len(), 1);
    let workflows = read(NamedKind::Workflow, 10).await;
    assert_eq!(
        workflows.iter().map(|named| named.id.as_str()).collect::<Vec<_>>(),
        [workflow.id.as_str()]
    );
    for kind in NamedKind::ALL
        .into_iter()
        .filter(|kind| !matches!(kind, NamedKind::Source | NamedKind::Workflow))
    {
        assert!(read(kind, 10).await.is_empty(), "{kind:?}");
    }
}

pub async fn what_names_an_id_in_its_props_is_found(database: &dyn Database) {
    let org = Org::first(database).await;
    let other = Org::another(&org.store, "other").await;
    let naming =
        org.add_source_with("naming", json!({ "app": { "authProvisionId": "apn_1" } })).await;
    org.add_source_with("another", json!({ "app": { "authProvisionId": "apnx1" } })).await;
    other.add_source_with("foreign", json!({ "app": { "authProvisionId": "apn_1" } })).await;
    let found = org.store.naming(&org.id, "apn_1", 10).await.expect("reads");
    assert_eq!(
        found.iter().map(|named| (named.kind, named.id.as_str())).collect::<Vec<_>>(),
        [(NamedKind::Source, naming.id.as_str())]
    );
    assert!(org.store.naming(&org.id, "apn_2", 10).await.expect("reads").is_empty());
}

pub async fn preferences_are_kept_for_a_person_and_organization(database: &dyn Database) {
    let org = Org::first(database).await;
    let other = Org::another(&org.store, "other").await;
    let read = async |org: &Org| org.store.preferences(&org.user, &org.id).await.expect("reads");
    assert_eq!(read(&org).await, None);
    for (value, ms) in [("{}", 1), (r#"{"theme":"dark"}"#, 2)] {
        let written = org.store.put_preferences(&org.user, &org.id, value, None, at(ms)).await;
        assert!(written.expect("writes"));
        assert_eq!(read(&org).await, Some((value.to_owned(), at(ms))));
    }
    let dark = r#"{"theme":"dark"}"#;
    for (over, value, ms, is_written) in
        [("{}", "[1]", 3, false), (dark, "[2]", 4, true), (dark, "[3]", 5, false)]
    {
        let written =
            org.store.put_preferences(&org.user, &org.id, value, Some(over), at(ms)).await;
        assert_eq!(written.expect("answers"), is_written, "{value} over {over}");
    }
    assert_eq!(read(&org).await, Some(("[2]".to_owned(), at(4))));
    assert_eq!(read(&other).await, None);
}

pub async fn slugs_of_a_base_are_that_and_its_numbers(database: &dyn Database) {
    let org = Org::first(database).await;
    for slug in ["flow", "flow-1", "flow_2", "flows", "FLOW-3"] {
        org.add_workflow(slug).await;
    }
    let mut slugs = org.store.workflow_slugs(&org.id, "flow").await.expect("reads");
    slugs.sort();
    assert_eq!(slugs, ["flow", "flow-1"]);
}
