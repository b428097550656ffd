//! Who changed what.

use millrace_model::audit::AuditRecord;
use millrace_model::ids::AuditId;

use super::Database;
use super::sample::{IDS, Org, at, page};

pub(super) fn record(org: &Org, ms: i64) -> AuditRecord {
    AuditRecord {
        id: AuditId::at(&IDS, at(ms)),
        org_id: org.id.clone(),
        created_at: at(ms),
        user_id: org.user.clone(),
        key_id: "key_a".into(),
        action: "PUT /sources/{id}".into(),
        target: (ms > 0).then(|| "dc_ü".to_owned()),
        fields: vec!["name".into(), "a,b \"c\"".into()],
        request_id: "req_1".into(),
        done: ms != 2,
    }
}

pub async fn records_are_listed_for_their_organization(database: &dyn Database) {
    let org = Org::first(database).await;
    let other = Org::another(&org.store, "other").await;
    let records = [record(&org, 0), record(&org, 1), record(&org, 2)];
    for record in &records {
        org.store.record_audit(record.clone()).await.expect("records");
    }
    org.store.record_audit(record(&other, 3)).await.expect("records");
    let newest = org.store.list_audit(&org.id, &page(2)).await.expect("lists");
    assert_eq!((newest.items.as_slice(), newest.total_count), (&[records[2].clone(), records[1].clone()][..], 3));
    let after = millrace_model::page::Page { after: Some(records[1].id.to_string()), ..page(2) };
    assert_eq!(org.store.list_audit(&org.id, &after).await.expect("lists").items, [records[0].clone()]);
}

pub async fn a_record_is_kept_before_the_change_and_completed_after_it(database: &dyn Database) {
    let org = Org::first(database).await;
    let begun = AuditRecord { target: None, fields: Vec::new(), done: false, ..record(&org, 0) };
    let refused = AuditRecord { done: false, ..record(&org, 1) };
    for record in [&begun, &refused] {
        org.store.record_audit(record.clone()).await.expect("records");
    }
    assert_eq!(org.store.list_audit(&org.id, &page(2)).await.expect("lists").items, [refused.clone(), begun.clone()]);
    let done = AuditRecord { target: Some("dc_a".into()), fields: vec!["name".into()], done: true, ..begun };
    org.store.record_audit(done.clone()).await.expect("completes");
    org.store.forget_audit(&org.id, &refused.id).await.expect("forgets");
    assert_eq!(org.store.list_audit(&org.id, &page(2)).await.expect("lists").items, [done]);
}
