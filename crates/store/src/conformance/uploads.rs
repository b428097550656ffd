//! Files that requests carried, and the keys that secrets are sealed under.

use millrace_model::ids::{DataKeyId, UploadId};
use millrace_model::upload::Upload;

use super::Database;
use super::sample::{IDS, Org, at};
use crate::{DataKey, StoreError};

fn upload(org: &Org, ms: i64) -> Upload {
    let id = UploadId::generate(&IDS);
    Upload {
        id,
        org_id: org.id.clone(),
        file_name: "ü.png".into(),
        media_type: "image/png".into(),
        size: 0,
        expires_at: at(ms),
    }
}

pub async fn a_file_comes_back_in_its_parts_until_its_time_is_over(database: &dyn Database) {
    let org = Org::first(database).await;
    let (first, second) = (upload(&org, 1_000), upload(&org, 2_000));
    for file in [&first, &second] {
        org.store.create_upload(file.clone()).await.expect("begins");
        for (position, bytes) in [(0, vec![0, 255, 1]), (1, vec![2])] {
            org.store.add_upload_part(&file.id, position, bytes).await.expect("adds");
        }
        org.store.finish_upload(&file.id, 4).await.expect("ends");
    }
    assert_eq!(
        org.store.upload(&first.id).await.expect("reads"),
        Some(Upload { size: 4, ..first.clone() })
    );
    assert_eq!(org.store.upload_part(&first.id, 0).await.expect("reads"), Some(vec![0, 255, 1]));
    assert_eq!(org.store.upload_part(&first.id, 2).await.expect("reads"), None);
    assert_eq!(org.store.purge_uploads(at(999), 10).await.expect("clears"), 0);
    // Part by part, and the file with its last.
    assert_eq!(org.store.purge_uploads(at(1_000), 1).await.expect("clears"), 1);
    assert!(org.store.upload(&first.id).await.expect("reads").is_some());
    assert_eq!(org.store.purge_uploads(at(1_000), 1).await.expect("clears"), 2);
    assert_eq!(org.store.upload(&first.id).await.expect("reads"), None);
    assert_eq!(org.store.upload_part(&first.id, 0).await.expect("reads"), None);
    assert!(org.store.upload(&second.id).await.expect("reads").is_some());
    assert_eq!(org.store.purge_uploads(at(9_000), 0).await.expect("clears"), 0);
    assert_eq!(org.store.purge_uploads(at(9_000), 10).await.expect("clears"), 3);
    assert_eq!(org.store.purge_uploads(at(9_000), 10).await.expect("clears"), 0);
}

pub async fn files_of_a_refused_request_end_at_once(database: &dyn Database) {
    let org = Org::first(database).await;
    let (first, second, other) = (upload(&org, 9_000), upload(&org, 9_000), upload(&org, 9_000));
    for file in [&first, &second, &other] {
        org.store.create_upload(file.clone()).await.expect("begins");
    }
    org.store.add_upload_part(&first.id, 0, vec![1]).await.expect("adds");
    let ids = vec![first.id.clone(), second.id.clone(), UploadId::generate(&IDS)];
    org.store.expire_uploads(ids, at(5)).await.expect("expires");
    assert_eq!(org.store.purge_uploads(at(4), 10).await.expect("clears"), 0);
    assert_eq!(org.store.purge_uploads(at(5), 10).await.expect("clears"), 3);
    assert!(org.store.upload(&other.id).await.expect("reads").is_some());
}

pub async fn what_comes_after_a_file_went_is_refused(database: &dyn Database) {
    let org = Org::first(database).await;
    let gone = UploadId::generate(&IDS);
    assert!(matches!(
        org.store.add_upload_part(&gone, 0, vec![1]).await,
        Err(StoreError::NotFound)
    ));
    assert!(matches!(org.store.finish_upload(&gone, 1).await, Err(StoreError::NotFound)));
    assert_eq!(org.store.upload_part(&gone, 0).await.expect("reads"), None);
}

fn data_key(master_id: &str, wrapped: &str) -> DataKey {
    DataKey {
        id: DataKeyId::generate(&IDS),
        master_id: master_id.into(),
        wrapped: wrapped.into(),
        created_at: at(0),
    }
}

pub async fn the_first_data_key_is_made_once(database: &dyn Database) {
    let store = database.open().await;
    assert!(store.data_keys().await.expect("reads").is_empty());
    let (a, b) = (data_key("m1", "a"), data_key("m1", "b"));
    let (first, second) =
        tokio::join!(store.add_first_data_key(a.clone()), store.add_first_data_key(b.clone()));
    let kept = if first.expect("answers") { a } else { b };
    assert_eq!(second.expect("answers"), kept.wrapped == "b");
    assert_eq!(store.data_keys().await.expect("reads"), [kept]);
}

pub async fn data_keys_are_wrapped_anew_all_or_none(database: &dyn Database) {
    let store = database.open().await;
    let key = data_key("m1", "old");
    store.add_first_data_key(key.clone()).await.expect("stores");
    let anew = DataKey { master_id: "m2".into(), wrapped: "new".into(), ..key.clone() };
    for (from, keys) in [
        ("m0", vec![anew.clone()]),
        ("m1", vec![]),
        ("m1", vec![anew.clone(), data_key("m2", "unknown")]),
    ] {
        assert!(matches!(store.rewrap_data_keys(from, keys).await, Err(StoreError::StateChanged)));
        assert_eq!(store.data_keys().await.expect("reads"), [key.clone()]);
    }
    store.rewrap_data_keys("m1", vec![anew.clone()]).await.expect("replaces");
    assert_eq!(store.data_keys().await.expect("reads"), [anew]);
}

pub async fn the_first_organization_stays_the_first(database: &dyn Database) {
    let store = database.open().await;
    assert_eq!(store.first_organization().await.expect("reads"), None);
    store.bootstrap(super::sample::tenant("first")).await.expect("makes");
    let first = store.first_organization().await.expect("reads");
    assert!(first.is_some());
    let mut later = super::sample::tenant("another");
    later.organization.created_at = at(5);
    store.create_organization(later).await.expect("makes");
    assert_eq!(store.first_organization().await.expect("reads"), first);
}
