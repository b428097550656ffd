//! Workflows and deployments.

use millrace_model::ids::DeploymentId;
use millrace_model::run::{NewRun, RunKind, RunStatus, Start};
use millrace_model::source::Owner;
use millrace_model::subscription::Subscription;
use millrace_model::workflow::{Deployment, Drafted, Workflow};

use super::Database;
use super::sample::{Org, at, made_from, page, same, settlement, version};
use super::subscriptions::ALL;
use crate::{Interfaces, NewDeployment, Settlement, StoreError};

fn interfaces(org: &Org, workflow: &Workflow, key: &str) -> Interfaces {
    let owner = Owner::Workflow(workflow.id.clone());
    Interfaces {
        http: vec![org.http(&owner, key)],
        timers: vec![org.timer(&owner, 1_000)],
        app_hooks: Vec::new(),
    }
}

pub async fn a_workflow_comes_back_as_it_was_given(database: &dyn Database) {
    let org = Org::first(database).await;
    let other = Org::another(&org.store, "other").await;
    let workflow = org.add_workflow("a").await;
    same(&org.store.workflow(&org.id, &workflow.id).await.expect("reads"), &Some(workflow.clone()));
    assert!(org.store.workflow(&other.id, &workflow.id).await.expect("reads").is_none());
    assert_eq!(
        org.store.list_workflows(&other.id, None, &page(10)).await.expect("lists").total_count,
        0
    );
}

pub async fn a_taken_slug_is_refused(database: &dyn Database) {
    let org = Org::first(database).await;
    let other = Org::another(&org.store, "other").await;
    org.add_workflow("a").await;
    assert!(matches!(
        org.store.create_workflow(org.workflow("a", 1)).await,
        Err(StoreError::Taken("name_slug"))
    ));
    other.add_workflow("a").await;
    // Sources have names of their own.
    org.add_source("a").await;
}

pub async fn one_workflow_is_made_from_a_folder(database: &dyn Database) {
    let org = Org::first(database).await;
    let of = |slug: &str, ms| Workflow { made_from: Some(made_from()), ..org.workflow(slug, ms) };
    let (a, b) =
        tokio::join!(org.store.create_workflow(of("a", 0)), org.store.create_workflow(of("b", 1)));
    assert!(a.is_ok() != b.is_ok(), "{a:?} {b:?}");
    assert!(matches!(a.and(b), Err(StoreError::Taken("made_from"))));
    org.store.create_workflow(org.workflow("c", 2)).await.expect("stores");
}

pub async fn an_update_keeps_interfaces_unless_they_are_given(database: &dyn Database) {
    let org = Org::first(database).await;
    let other = Org::another(&org.store, "other").await;
    let old = org.add_workflow("a").await;
    let first = interfaces(&org, &old, "ena");
    let read =
        async || org.store.workflow(&org.id, &old.id).await.expect("reads").expect("the workflow");
    let at_first = old.updated_at;
    org.store.update_workflow(old.clone(), at_first, Some(first.clone())).await.expect("updates");
    assert!(read().await.updated_at > at_first, "a change is later than what it replaces");
    let new = Workflow {
        name: "New".into(),
        draft: version(9),
        made_from: Some(made_from()),
        updated_at: at(9),
        ..old.clone()
    };
    let new =
        Workflow { drafted: Drafted { revision: 2, at: at(9), ..old.drafted.clone() }, ..new };
    let over = read().await.updated_at;
    org.store.update_workflow(new.clone(), over, None).await.expect("updates");
    same(&org.store.workflow(&org.id, &old.id).await.expect("reads"), &Some(new.clone()));
    assert_eq!(org.store.interfaces(old.id.as_str()).await.expect("reads"), first);
    let second = interfaces(&org, &old, "enb");
    org.store.update_workflow(new.clone(), at(9), Some(second.clone())).await.expect("updates");
    let new = Workflow { updated_at: read().await.updated_at, ..new };
    assert_eq!(org.store.interfaces(old.id.as_str()).await.expect("reads"), second);
    for nobodys in [Workflow { org_id: other.id.clone(), ..old.clone() }, org.workflow("none", 0)] {
        assert!(matches!(
            org.store.update_workflow(nobodys, new.updated_at, Some(Interfaces::default())).await,
            Err(StoreError::NotFound)
        ));
    }
    same(&org.store.workflow(&org.id, &old.id).await.expect("reads"), &Some(new));
    assert_eq!(org.store.interfaces(old.id.as_str()).await.expect("reads"), second);
}

pub async fn a_draft_counts_its_changes_and_a_workflow_is_replaced_only_as_it_was_read(
    database: &dyn Database,
) {
    let org = Org::first(database).await;
    let author = org.store.user(&org.user).await.expect("reads").expect("the user");
    let drafted = |ms: i64| Drafted {
        revision: 0,
        is_changed: false,
        at: at(ms),
        by: Some(author.id.clone().into()),
    };
    let made = Workflow { drafted: Drafted { revision: 1, ..drafted(1) }, ..org.workflow("a", 1) };
    org.store.create_workflow(made.clone()).await.expect("a workflow");
    let read =
        async || org.store.workflow(&org.id, &made.id).await.expect("reads").expect("the workflow");
    let state = |w: &Workflow| (w.drafted.revision, w.drafted.at, w.drafted.is_changed);
    let first = read().await;
    assert_eq!(
        (state(&first), first.drafted.by.as_ref().map(|by| (&by.id, by.name.as_deref()))),
        ((1, at(1), true), Some((&author.id, Some(&*author.username))))
    );
    // A name is no part of the draft.
    let renamed = Workflow { name: "New".into(), drafted: drafted(2), ..first.clone() };
    org.store.update_workflow(renamed, first.updated_at, None).await.expect("renames");
    let named = read().await;
    assert_eq!(state(&named), (1, at(1), true));
    let second = Workflow { draft: version(8), drafted: drafted(3), ..named.clone() };
    org.store.update_workflow(second.clone(), named.updated_at, None).await.expect("updates");
    assert_eq!(state(&read().await), (2, at(3), true));
    let late = Workflow { draft: version(9), drafted: drafted(4), ..first };
    for read_at in [late.updated_at, named.updated_at] {
        assert!(matches!(
            org.store.update_workflow(late.clone(), read_at, Some(Interfaces::default())).await,
            Err(StoreError::StateChanged)
        ));
    }
    let now = read().await;
    assert_eq!((state(&now), &now.draft), ((2, at(3), true), &second.draft));
    let (a, b) = tokio::join!(
        org.store.update_workflow(late.clone(), now.updated_at, None),
        org.store.update_workflow(late.clone(), now.updated_at, None)
    );
    assert!(
        matches!(
            (&a, &b),
            (Ok(()), Err(StoreError::StateChanged)) | (Err(StoreError::StateChanged), Ok(()))
        ),
        "{a:?} {b:?}"
    );
    let again = read().await.updated_at;
    org.store.update_workflow(late.clone(), again, None).await.expect("the same again");
    assert_eq!(state(&read().await), (3, at(4), true));
    // What is live says who deployed it, and why.
    let new = org.deployment(&made.id, 9);
    let said = Deployment {
        made_by: Some(author.id.clone().into()),
        message: Some("Why".into()),
        content: late.draft,
        ..new.deployment.clone()
    };
    org.store.deploy_workflow(NewDeployment { deployment: said, ..new }).await.expect("deploys");
    let deployed = read().await;
    assert_eq!(state(&deployed), (3, at(4), false));
    assert!(deployed.updated_at > again, "a deployment is a change");
    let listed = org
        .store
        .list_deployments(&org.id, &made.id, &page(1))
        .await
        .expect("lists")
        .items
        .pop()
        .expect("one");
    assert_eq!(
        (listed.message.as_deref(), listed.made_by.and_then(|by| by.name)),
        (Some("Why"), Some(author.username))
    );
}

pub async fn deployments_count_up(database: &dyn Database) {
    let org = Org::first(database).await;
    let (workflow, another) = (org.add_workflow("a").await, org.add_workflow("b").await);
    let (first, second) = (
        org.deployment(&workflow.id, 1),
        NewDeployment { active: false, ..org.deployment(&workflow.id, 2) },
    );
    assert_eq!(org.store.deploy_workflow(first.clone()).await.expect("deploys"), 1);
    let live =
        org.store.workflow(&org.id, &workflow.id).await.expect("reads").expect("the workflow");
    assert_eq!(
        (live.active, live.deployment_id.as_ref(), live.updated_at),
        (true, Some(&first.deployment.id), at(1))
    );
    assert_eq!(org.store.deploy_workflow(second.clone()).await.expect("deploys"), 2);
    let live =
        org.store.workflow(&org.id, &workflow.id).await.expect("reads").expect("the workflow");
    assert_eq!((live.active, live.deployment_id.as_ref()), (false, Some(&second.deployment.id)));
    assert_eq!(
        org.store.deploy_workflow(org.deployment(&another.id, 3)).await.expect("deploys"),
        1
    );
    // An earlier version stays as it was: runs under way end on theirs.
    let first = Deployment { version: 1, ..first.deployment };
    same(&org.store.deployment(&org.id, &first.id).await.expect("reads"), &Some(first.clone()));
    let listing =
        org.store.list_deployments(&org.id, &workflow.id, &page(10)).await.expect("lists");
    same(&listing.items, &[Deployment { version: 2, ..second.deployment }, first]);
    assert_eq!(listing.total_count, 2);
}

pub async fn runs_are_counted_by_version(database: &dyn Database) {
    let org = Org::first(database).await;
    let workflow = org.add_workflow("a").await;
    let owner = Owner::Workflow(workflow.id.clone());
    for (deployment, kind, ms, ends) in [
        ("d_1", RunKind::Live, 10, Some(RunStatus::Failed)),
        ("d_1", RunKind::Live, 20, Some(RunStatus::Succeeded)),
        ("d_2", RunKind::Live, 30, Some(RunStatus::Succeeded)),
        ("d_2", RunKind::Test, 40, Some(RunStatus::Succeeded)),
        ("d_2", RunKind::Live, 50, None),
    ] {
        let start = Start::Claimed { lease_until: at(ms + 1_000) };
        let run = NewRun {
            deployment_id: Some(DeploymentId::from_row(deployment.into())),
            kind,
            start,
            ..org.run(&owner, ms)
        };
        let id = run.id.clone();
        org.store.accept(run, "node_a").await.expect("accepts");
        if let Some(status) = ends {
            let error = (status == RunStatus::Failed).then(|| "{}".to_owned());
            org.store
                .settle(Settlement { status, error, ..settlement(&id, 1, ms) })
                .await
                .expect("settles");
        }
    }
    let counted = async |scan| {
        let found = org.store.version_runs(workflow.id.as_str(), scan).await.expect("counts");
        found
            .into_iter()
            .map(|v| {
                (v.deployment_id.to_string(), v.unfinished, v.succeeded, v.failed, v.cancelled)
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(
        counted(100).await,
        [("d_1".to_owned(), 0, 1, 1, 0), ("d_2".to_owned(), 1, 1, 0, 0)]
    );
    // The newest are looked at, tests among them.
    assert_eq!(counted(3).await, [("d_2".to_owned(), 1, 1, 0, 0)]);
    assert_eq!(
        org.store.version_runs(org.add_workflow("b").await.id.as_str(), 100).await.expect("counts"),
        []
    );
}

pub async fn deployments_at_once_take_versions_of_their_own(database: &dyn Database) {
    let org = Org::first(database).await;
    let workflow = org.add_workflow("a").await;
    let deploy = |ms: i64| org.store.deploy_workflow(org.deployment(&workflow.id, ms));
    let (a, b, c) = tokio::join!(deploy(1), deploy(2), deploy(3));
    let mut versions: Vec<i64> =
        [a, b, c].into_iter().map(|version| version.expect("deploys")).collect();
    versions.sort_unstable();
    assert_eq!(versions, [1, 2, 3]);
}

pub async fn a_deployment_replaces_interfaces_and_trigger_subscriptions(database: &dyn Database) {
    let org = Org::first(database).await;
    let (workflow, source, other) =
        (org.add_workflow("a").await, org.add_source("s").await, org.add_source("t").await);
    let trigger = |source: &str| Subscription {
        from_trigger: true,
        ..org.subscription(source, workflow.id.as_str(), "")
    };
    let by_hand = org.subscription(org.id.as_str(), workflow.id.as_str(), "$errors");
    org.store.subscribe(by_hand.clone()).await.expect("subscribes");
    // What another listens to by its trigger is not touched.
    let anothers = Subscription {
        from_trigger: true,
        ..org.subscription(source.id.as_str(), "p_another", "")
    };
    org.store.subscribe(anothers.clone()).await.expect("subscribes");
    let first = NewDeployment {
        interfaces: interfaces(&org, &workflow, "ena"),
        subscriptions: vec![trigger(source.id.as_str())],
        ..org.deployment(&workflow.id, 1)
    };
    org.store.deploy_workflow(first.clone()).await.expect("deploys");
    assert_eq!(org.store.interfaces(workflow.id.as_str()).await.expect("reads"), first.interfaces);
    assert_eq!(
        org.store.listeners(&org.id, &[source.id.as_str()], "").await.expect("reads"),
        [workflow.id.to_string()]
    );
    let second = NewDeployment {
        interfaces: interfaces(&org, &workflow, "enb"),
        subscriptions: vec![trigger(other.id.as_str())],
        ..org.deployment(&workflow.id, 2)
    };
    org.store.deploy_workflow(second.clone()).await.expect("deploys");
    assert_eq!(org.store.interfaces(workflow.id.as_str()).await.expect("reads"), second.interfaces);
    let mut left: Vec<_> = org
        .store
        .list_subscriptions(&org.id, &ALL)
        .await
        .expect("reads")
        .into_iter()
        .map(|s| s.id)
        .collect();
    let mut expected = vec![by_hand.id, anothers.id, second.subscriptions[0].id.clone()];
    left.sort();
    expected.sort();
    assert_eq!(left, expected);
}

pub async fn a_deployment_of_none_leaves_nothing(database: &dyn Database) {
    let org = Org::first(database).await;
    let other = Org::another(&org.store, "other").await;
    let (workflow, none) = (org.add_workflow("a").await, org.workflow("none", 0));
    for new in [other.deployment(&workflow.id, 1), org.deployment(&none.id, 1)] {
        let id = new.deployment.workflow_id.clone();
        let subscriptions =
            vec![Subscription { from_trigger: true, ..org.subscription("dc_x", id.as_str(), "") }];
        let new =
            NewDeployment { interfaces: interfaces(&org, &workflow, "ena"), subscriptions, ..new };
        assert!(matches!(org.store.deploy_workflow(new.clone()).await, Err(StoreError::NotFound)));
        assert!(
            org.store
                .deployment(&new.deployment.org_id, &new.deployment.id)
                .await
                .expect("reads")
                .is_none()
        );
        assert_eq!(org.store.interfaces(id.as_str()).await.expect("reads"), Interfaces::default());
    }
    assert!(org.store.list_subscriptions(&org.id, &ALL).await.expect("reads").is_empty());
    same(&org.store.workflow(&org.id, &workflow.id).await.expect("reads"), &Some(workflow));
}

pub async fn deployments_are_of_their_organization(database: &dyn Database) {
    let org = Org::first(database).await;
    let other = Org::another(&org.store, "other").await;
    let workflow = org.add_workflow("a").await;
    let new = org.deployment(&workflow.id, 1);
    org.store.deploy_workflow(new.clone()).await.expect("deploys");
    assert!(org.store.deployment(&other.id, &new.deployment.id).await.expect("reads").is_none());
    let theirs =
        org.store.list_deployments(&other.id, &workflow.id, &page(10)).await.expect("lists");
    assert_eq!((theirs.items.len(), theirs.total_count), (0, 0));
    let step = new.deployment.content.ids().next().expect("a part").to_owned();
    for (of, text, there) in [
        (&org, step.as_str(), true),
        (&other, &step, false),
        (&org, "c_\"\0%", false),
        (&org, &step[1..], false),
    ] {
        assert_eq!(
            of.store.was_deployed_with(&of.id, &workflow.id, text).await.expect("reads"),
            there,
            "{text}"
        );
    }
}

pub async fn deleting_leaves_nothing_but_history(database: &dyn Database) {
    let org = Org::first(database).await;
    let other = Org::another(&org.store, "other").await;
    let (workflow, source) = (org.add_workflow("a").await, org.add_source("s").await);
    let id = workflow.id.as_str();
    let subscriptions =
        vec![Subscription { from_trigger: true, ..org.subscription(source.id.as_str(), id, "") }];
    let new = NewDeployment {
        interfaces: interfaces(&org, &workflow, "ena"),
        subscriptions,
        ..org.deployment(&workflow.id, 1)
    };
    org.store.deploy_workflow(new).await.expect("deploys");
    org.store
        .subscribe(org.subscription(id, source.id.as_str(), "$errors"))
        .await
        .expect("subscribes");
    org.emit(vec![org.event(id, "$errors", 1, 0)]).await;
    let queued = org.accept(&Owner::Workflow(workflow.id.clone()), 2).await;
    assert!(matches!(
        org.store.delete_workflow(&other.id, &workflow.id).await,
        Err(StoreError::NotFound)
    ));
    assert_eq!(org.store.list_subscriptions(&org.id, &ALL).await.expect("reads").len(), 2);
    org.store.delete_workflow(&org.id, &workflow.id).await.expect("deletes");
    assert!(org.store.workflow(&org.id, &workflow.id).await.expect("reads").is_none());
    assert_eq!(org.store.interfaces(id).await.expect("reads"), Interfaces::default());
    assert!(org.store.endpoint("ena").await.expect("reads").is_none());
    assert!(org.store.list_subscriptions(&org.id, &ALL).await.expect("reads").is_empty());
    assert_eq!(org.stored(&queued).await.status, RunStatus::Cancelled);
    assert_eq!(org.events(id).await.len(), 1);
    assert!(matches!(
        org.store.delete_workflow(&org.id, &workflow.id).await,
        Err(StoreError::NotFound)
    ));
}
