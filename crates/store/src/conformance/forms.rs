//! Forms in which props are filled in.

use millrace_model::component::PropDef;
use millrace_model::form::Form;
use millrace_model::ids::FormId;

use super::Database;
use super::sample::{IDS, Org, at};

pub(super) fn form(org: &Org, name: &str, ms: i64) -> Form {
    let props =
        vec![PropDef { name: name.into(), prop_type: "string".into(), ..PropDef::default() }];
    Form {
        id: FormId::generate(&IDS),
        org_id: org.id.clone(),
        artifact_id: "module".into(),
        props,
        expires_at: at(ms),
    }
}

pub async fn a_form_is_told_anew_and_is_its_organizations(database: &dyn Database) {
    let org = Org::first(database).await;
    let other = Org::another(&org.store, "other").await;
    let first = form(&org, "ü", 10);
    let again = Form {
        props: form(&org, "another", 0).props,
        artifact_id: "next".into(),
        expires_at: at(20),
        ..first.clone()
    };
    for told in [&first, &again] {
        org.store.keep_form(told.clone(), 10).await.expect("keeps");
        assert_eq!(org.store.form(&org.id, &first.id).await.expect("reads").as_ref(), Some(told));
    }
    assert_eq!(org.store.form(&other.id, &first.id).await.expect("reads"), None);
    org.store
        .keep_form(Form { id: first.id.clone(), ..form(&other, "theirs", 30) }, 10)
        .await
        .expect("keeps nothing");
    assert_eq!(
        (
            org.store.form(&org.id, &first.id).await.expect("reads"),
            org.store.form(&other.id, &first.id).await.expect("reads")
        ),
        (Some(again), None)
    );
}

pub async fn forms_go_at_their_end_and_where_there_are_too_many(database: &dyn Database) {
    let org = Org::first(database).await;
    let other = Org::another(&org.store, "other").await;
    let theirs = form(&other, "theirs", 1);
    let forms: Vec<Form> = (1..=4).map(|ms| form(&org, "p", ms)).collect();
    org.store.keep_form(theirs.clone(), 3).await.expect("keeps");
    for one in &forms {
        org.store.keep_form(one.clone(), 3).await.expect("keeps");
    }
    let known = async || {
        let mut known = Vec::new();
        for one in &forms {
            known.push(org.store.form(&org.id, &one.id).await.expect("reads").is_some());
        }
        known
    };
    assert_eq!(known().await, [false, true, true, true]);
    assert!(org.store.form(&other.id, &theirs.id).await.expect("reads").is_some());
    org.prune(at(3), 100).await;
    assert_eq!(known().await, [false, false, false, true]);
}
