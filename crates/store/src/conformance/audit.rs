//! Audit records.

use millrace_model::audit::{AuditFilter, AuditRecord};
use millrace_model::ids::AuditId;

use super::Database;
use super::sample::{IDS, Org, at, page};

pub(super) fn record(org: &Org, ms: i64) -> AuditRecord {
    AuditRecord {
        id: AuditId::at(&IDS, at(ms)),
        org_id: org.id.clone(),
        created_at: at(ms),
        user_id: org.user.clone(),
        user_name: None,
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
    let newest =
        org.store.list_audit(&org.id, &AuditFilter::default(), &page(2)).await.expect("lists");
    assert_eq!(
        (newest.items.as_slice(), newest.total_count),
        (&[records[2].clone(), records[1].clone()][..], 3)
    );
    let after = millrace_model::page::Page { after: Some(records[1].id.to_string()), ..page(2) };
    assert_eq!(
        org.store.list_audit(&org.id, &AuditFilter::default(), &after).await.expect("lists").items,
        [records[0].clone()]
    );
}

pub async fn records_are_chosen_by_user_target_and_time(database: &dyn Database) {
    let org = Org::first(database).await;
    let other = AuditRecord {
        user_id: "u_other".parse().expect("an id"),
        target: Some("x".repeat(300)),
        ..record(&org, 3)
    };
    let records = [record(&org, 0), record(&org, 1), record(&org, 2), other.clone()];
    for record in &records {
        org.store.record_audit(record.clone()).await.expect("records");
    }
    let ids = async |filter: AuditFilter| {
        let listing = org.store.list_audit(&org.id, &filter, &page(10)).await.expect("lists");
        assert_eq!(listing.total_count, listing.items.len() as u64, "{filter:?}");
        listing.items.into_iter().map(|record| record.id).collect::<Vec<_>>()
    };
    let of = |numbers: &[usize]| numbers.iter().map(|n| records[*n].id.clone()).collect::<Vec<_>>();
    let by = AuditFilter::default;
    assert_eq!(ids(AuditFilter { user_id: Some("u_other".into()), ..by() }).await, of(&[3]));
    assert_eq!(ids(AuditFilter { target: Some("dc_ü".into()), ..by() }).await, of(&[2, 1]));
    assert_eq!(ids(AuditFilter { target: other.target.clone(), ..by() }).await, of(&[3]));
    assert_eq!(ids(AuditFilter { target: Some("x".repeat(299)), ..by() }).await, of(&[]));
    assert_eq!(ids(AuditFilter { from: Some(at(1)), to: Some(at(3)), ..by() }).await, of(&[2, 1]));
    let all = AuditFilter {
        user_id: Some(org.user.to_string()),
        target: Some("dc_ü".into()),
        from: Some(at(2)),
        to: Some(at(9)),
    };
    assert_eq!(ids(all.clone()).await, of(&[2]));
    let after = millrace_model::page::Page { after: Some(records[2].id.to_string()), ..page(10) };
    let rest = org
        .store
        .list_audit(&org.id, &AuditFilter { from: None, ..all }, &after)
        .await
        .expect("lists")
        .items;
    assert_eq!(rest.into_iter().map(|record| record.id).collect::<Vec<_>>(), of(&[1]));
}

pub async fn a_record_is_kept_before_the_change_and_completed_after_it(database: &dyn Database) {
    let org = Org::first(database).await;
    let begun = AuditRecord { target: None, fields: Vec::new(), done: false, ..record(&org, 0) };
    let refused = AuditRecord { done: false, ..record(&org, 1) };
    for record in [&begun, &refused] {
        org.store.record_audit(record.clone()).await.expect("records");
    }
    assert_eq!(
        org.store
            .list_audit(&org.id, &AuditFilter::default(), &page(2))
            .await
            .expect("lists")
            .items,
        [refused.clone(), begun.clone()]
    );
    let done = AuditRecord {
        target: Some("dc_a".into()),
        fields: vec!["name".into()],
        done: true,
        ..begun
    };
    org.store.record_audit(done.clone()).await.expect("completes");
    org.store.forget_audit(&org.id, &refused.id).await.expect("forgets");
    assert_eq!(
        org.store
            .list_audit(&org.id, &AuditFilter::default(), &page(2))
            .await
            .expect("lists")
            .items,
        [done]
    );
}
