//! Pages: every list that has cursors, newest first, forward and back.

use millrace_model::component::SavedComponent;
use millrace_model::page::{Listing, Page};
use millrace_model::run::RunStatus;
use millrace_model::source::{Owner, Source};
use millrace_model::workflow::{Deployment, Workflow};

use super::Database;
use super::history::of_owner;
use super::sample::{Org, page, same};
use crate::{Interfaces, ListedRun, Mail, RunFilter, StoreError, StoreResult};

const ITEMS: i64 = 7;

/// Walks a list of [`ITEMS`] whose ids are `ids` in order of time; two of them have the same time.
async fn walk<T>(
    mut ids: Vec<String>,
    same_time: (usize, usize),
    id: impl Fn(&T) -> String,
    list: impl AsyncFn(Page) -> StoreResult<Listing<T>>,
) {
    // Of the same time, ids decide.
    if ids[same_time.0] > ids[same_time.1] {
        ids.swap(same_time.0, same_time.1);
    }
    ids.reverse();
    let get = async |page: Page| {
        let listing = list(page).await.expect("lists");
        assert_eq!(listing.total_count, ids.len() as u64);
        listing.items.iter().map(&id).collect::<Vec<_>>()
    };
    assert_eq!(get(page(100)).await, ids);
    let forward = |n: usize| Page { after: Some(ids[n].clone()), ..page(3) };
    assert_eq!(get(page(3)).await, ids[..3]);
    assert_eq!(get(forward(2)).await, ids[3..6]);
    assert_eq!(get(forward(5)).await, ids[6..]);
    assert!(get(forward(6)).await.is_empty());
    // Back: what lies right before the cursor.
    let back = |n: usize| Page { before: Some(ids[n].clone()), ..page(3) };
    assert_eq!(get(back(6)).await, ids[3..6]);
    assert_eq!(get(back(3)).await, ids[..3]);
    assert_eq!(get(back(1)).await, ids[..1]);
    assert!(get(back(0)).await.is_empty());
    assert_eq!(
        get(Page { after: Some(ids[0].clone()), before: Some(ids[6].clone()), ..page(3) }).await,
        ids[1..4]
    );
    for unknown in ["nothing", "", "a\u{0}b"] {
        refused(list(Page { after: Some(unknown.to_owned()), ..page(3) }).await, "after");
        refused(list(Page { before: Some(unknown.to_owned()), ..page(3) }).await, "before");
        refused(
            list(Page { after: Some(ids[0].clone()), before: Some(unknown.to_owned()), ..page(3) })
                .await,
            "before",
        );
    }
}

fn refused<T>(listed: StoreResult<Listing<T>>, field: &str) {
    assert!(
        matches!(listed, Err(StoreError::UnknownCursor(name)) if name == field),
        "a cursor `{field}` that names nothing"
    );
}

/// The time of the n-th item: the third and fourth have the same.
fn time(n: i64) -> i64 {
    if n == 3 { 2 } else { n }
}
const SAME_TIME: (usize, usize) = (2, 3);

pub async fn sources_are_paged(database: &dyn Database) {
    let org = Org::first(database).await;
    Org::another(&org.store, "other").await.add_source("a").await;
    let component = org.add_component(None, 0).await;
    let mut ids = Vec::new();
    for n in 0..ITEMS {
        let source = org.source(&component, &format!("s-{n}"), time(n));
        ids.push(source.id.to_string());
        org.store.create_source(source, Interfaces::default()).await.expect("stores");
    }
    walk(
        ids,
        SAME_TIME,
        |s: &Source| s.id.to_string(),
        async |page| org.store.list_sources(&org.id, None, &page).await,
    )
    .await;
    // Those of an external user alone, each as it was stored.
    let carried = Source {
        external_user_id: Some("ann".into()),
        ..org.source(&component, "of-ann", time(0))
    };
    org.store.create_source(carried.clone(), Interfaces::default()).await.expect("stores");
    let of_ann = org.store.list_sources(&org.id, Some("ann"), &page(10)).await.expect("lists");
    assert_eq!(of_ann.total_count, 1);
    same(&of_ann.items, &vec![carried]);
    assert_eq!(
        org.store.list_sources(&org.id, Some("bob"), &page(10)).await.expect("lists").total_count,
        0
    );
}

pub async fn a_cursor_that_is_gone_or_another_s_names_nothing(database: &dyn Database) {
    let org = Org::first(database).await;
    let other = Org::another(&org.store, "other").await.add_source("a").await;
    let sources = [org.add_source("a").await, org.add_source("b").await, org.add_source("c").await];
    let list = async |id: &str| {
        org.store.list_sources(&org.id, None, &Page { after: Some(id.to_owned()), ..page(3) }).await
    };
    assert!(list(sources[1].id.as_str()).await.is_ok());
    org.store.delete_source(&org.id, &sources[1].id).await.expect("deletes");
    refused(list(sources[1].id.as_str()).await, "after");
    refused(list(other.id.as_str()).await, "after");
}

pub async fn workflows_are_paged(database: &dyn Database) {
    let org = Org::first(database).await;
    Org::another(&org.store, "other").await.add_workflow("a").await;
    let mut ids = Vec::new();
    for n in 0..ITEMS {
        let workflow = org.workflow(&format!("w-{n}"), time(n));
        ids.push(workflow.id.to_string());
        org.store.create_workflow(workflow).await.expect("stores");
    }
    walk(
        ids,
        SAME_TIME,
        |w: &Workflow| w.id.to_string(),
        async |page| org.store.list_workflows(&org.id, None, &page).await,
    )
    .await;
}

pub async fn components_are_paged(database: &dyn Database) {
    let org = Org::first(database).await;
    Org::another(&org.store, "other").await.add_component(Some("k-0"), 0).await;
    let mut ids = Vec::new();
    for n in 0..ITEMS {
        ids.push(org.add_component(Some(&format!("k-{n}")), time(n)).await.id.to_string());
        org.add_component(None, n).await;
    }
    walk(
        ids,
        SAME_TIME,
        |c: &SavedComponent| c.id.to_string(),
        async |page| org.store.list_components(&org.id, &page).await,
    )
    .await;
}

pub async fn deployments_are_paged(database: &dyn Database) {
    let org = Org::first(database).await;
    let (workflow, another) = (org.add_workflow("a").await, org.add_workflow("b").await);
    let mut ids = Vec::new();
    for n in 0..ITEMS {
        let new = org.deployment(&workflow.id, time(n));
        ids.push(new.deployment.id.to_string());
        org.store.deploy_workflow(new).await.expect("deploys");
        org.store.deploy_workflow(org.deployment(&another.id, n)).await.expect("deploys");
    }
    walk(
        ids,
        SAME_TIME,
        |d: &Deployment| d.id.to_string(),
        async |page| org.store.list_deployments(&org.id, &workflow.id, &page).await,
    )
    .await;
}

pub async fn runs_are_paged(database: &dyn Database) {
    let org = Org::first(database).await;
    let (owner, another) = (
        Owner::Workflow(org.add_workflow("a").await.id),
        Owner::Workflow(org.add_workflow("b").await.id),
    );
    let mut ids = Vec::new();
    for n in 0..ITEMS {
        ids.push(org.accept(&owner, time(n)).await.to_string());
        org.accept(&another, n).await;
    }
    let of_owner = of_owner(&owner);
    walk(
        ids,
        SAME_TIME,
        |r: &ListedRun| r.run.id.to_string(),
        async |page| org.store.list_runs(&org.id, &of_owner, true, &page).await,
    )
    .await;
}

pub async fn runs_of_all_owners_are_paged(database: &dyn Database) {
    let org = Org::first(database).await;
    let (one, two) = (
        Owner::Workflow(org.add_workflow("a").await.id),
        Owner::Source(org.add_source("b").await.id),
    );
    let mut ids = Vec::new();
    for n in 0..ITEMS {
        let owner = if n % 2 == 0 { &one } else { &two };
        ids.push(
            if n % 3 == 0 {
                org.accept(owner, time(n)).await
            } else {
                org.start(owner, time(n)).await
            }
            .to_string(),
        );
    }
    // All, and those of several indexes.
    for statuses in [vec![], vec![RunStatus::Queued, RunStatus::Running, RunStatus::Failed]] {
        let filter = RunFilter { statuses, ..RunFilter::default() };
        let id = |r: &ListedRun| r.run.id.to_string();
        walk(ids.clone(), SAME_TIME, id, async |page| {
            org.store.list_runs(&org.id, &filter, false, &page).await
        })
        .await;
    }
}

pub async fn mails_are_paged(database: &dyn Database) {
    let org = Org::first(database).await;
    Org::another(&org.store, "other").await.add_mail(0).await;
    let mut ids = Vec::new();
    for n in 0..ITEMS {
        ids.push(org.add_mail(time(n)).await.id.to_string());
    }
    walk(
        ids,
        SAME_TIME,
        |m: &Mail| m.id.to_string(),
        async |page| org.store.list_mail(&org.id, &page).await,
    )
    .await;
}
