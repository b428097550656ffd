//! Files of stores: whole or not at all, by path, within their bounds.

use millrace_model::file::{FileStore, STORE_FILES_MAX};
use millrace_model::ids::UploadId;
use millrace_model::upload::{FOREVER, Upload};

use super::Database;
use super::sample::{IDS, Org, at};
use crate::{KeepFiles, StoreError, StoreResult};

/// An upload with these parts, which ends at 1 s.
async fn upload(org: &Org, parts: &[&[u8]]) -> UploadId {
    let id = UploadId::generate(&IDS);
    let (file_name, media_type) = (String::new(), String::new());
    org.store
        .create_upload(Upload {
            id: id.clone(),
            org_id: org.id.clone(),
            file_name,
            media_type,
            size: 0,
            expires_at: at(1_000),
        })
        .await
        .expect("begins");
    for (position, bytes) in (0..).zip(parts) {
        org.store.add_upload_part(&id, position, bytes.to_vec()).await.expect("adds");
    }
    id
}

async fn keep(org: &Org, store: &str, files: &[(&UploadId, &str)]) -> StoreResult<()> {
    let files = files.iter().map(|(id, path)| ((*id).clone(), (*path).to_owned())).collect();
    org.store
        .keep_files(KeepFiles {
            org_id: org.id.clone(),
            store: store.into(),
            files,
            now: at(5),
            replaced_until: at(2_000),
        })
        .await
}

pub async fn files_take_the_place_of_those_at_their_paths_all_or_none(database: &dyn Database) {
    let org = Org::first(database).await;
    let first = upload(&org, &[&[1, 2], &[3]]).await;
    keep(&org, "s", &[(&first, "a/b")]).await.expect("keeps");
    let file = org.store.stored_file(&org.id, "s", "a/b").await.expect("reads").expect("is there");
    assert_eq!((&file.upload_id, file.size, file.updated_at), (&first, 3, at(5)));
    // It has no end of its own.
    org.store.expire_uploads(vec![first.clone()], at(5)).await.expect("expires none");
    assert_eq!(org.store.purge_uploads(at(9_999_999), 10).await.expect("clears"), 0);
    assert_eq!(
        org.store.upload(&first).await.expect("reads").map(|u| (u.size, u.expires_at)),
        Some((3, FOREVER))
    );
    // What is kept already, is gone, or is another's is refused with all that came with it.
    let (second, other) = (upload(&org, &[&[4]]).await, Org::another(&org.store, "second").await);
    let foreign = upload(&other, &[&[9]]).await;
    for wrong in [&first, &UploadId::generate(&IDS), &foreign] {
        assert!(matches!(
            keep(&org, "s", &[(&second, "new"), (wrong, "c")]).await,
            Err(StoreError::NotFound)
        ));
    }
    assert_eq!(org.store.stored_file(&org.id, "s", "a/b").await.expect("reads"), Some(file));
    assert_eq!(org.store.stored_file(&other.id, "s", "a/b").await.expect("reads"), None);
    // What another takes the place of is read to its end.
    keep(&org, "s", &[(&second, "a/b")]).await.expect("keeps");
    assert_eq!(
        org.store.stored_file(&org.id, "s", "a/b").await.expect("reads").map(|f| f.upload_id),
        Some(second)
    );
    assert_eq!(org.store.upload_part(&first, 1).await.expect("reads"), Some(vec![3]));
    assert_eq!(org.store.purge_uploads(at(2_000), 10).await.expect("clears"), 5);
    assert_eq!(org.store.upload(&first).await.expect("reads"), None);
}

pub async fn stores_and_files_are_listed_in_order_and_removed(database: &dyn Database) {
    let org = Org::first(database).await;
    for (store, path) in [("s", "b"), ("s", "A"), ("s", "a/b"), ("t", "x")] {
        keep(&org, store, &[(&upload(&org, &[&[0; 10]]).await, path)]).await.expect("keeps");
    }
    let named = |name: &str, files, bytes| FileStore { name: name.into(), files, bytes };
    assert_eq!(
        org.store.file_stores(&org.id).await.expect("lists"),
        [named("s", 3, 30), named("t", 1, 10)]
    );
    let page = async |after: &str, limit| {
        let files = org.store.stored_files(&org.id, "s", after, limit).await.expect("lists");
        files.into_iter().map(|file| file.path).collect::<Vec<_>>()
    };
    assert_eq!(
        (page("", 2).await, page("a/b", 2).await),
        (vec!["A".to_owned(), "a/b".into()], vec!["b".to_owned()])
    );
    assert_eq!(
        org.store.remove_files(&org.id, "s", Some("none"), at(9)).await.expect("removes"),
        0
    );
    assert_eq!(org.store.remove_files(&org.id, "s", Some("A"), at(9)).await.expect("removes"), 1);
    assert_eq!(org.store.remove_files(&org.id, "s", None, at(9)).await.expect("removes"), 2);
    assert_eq!(org.store.file_stores(&org.id).await.expect("lists"), [named("t", 1, 10)]);
    assert_eq!(org.store.purge_uploads(at(9), 10).await.expect("clears"), 6);
}

pub async fn a_path_is_a_file_or_a_folder(database: &dyn Database) {
    let org = Org::first(database).await;
    keep(&org, "s", &[(&upload(&org, &[]).await, "a/b")]).await.expect("keeps");
    for (path, both) in [("a", "a"), ("a/b/c", "a/b"), ("a/b/c/d", "a/b")] {
        match keep(&org, "s", &[(&upload(&org, &[]).await, path)]).await {
            Err(StoreError::FileIsFolder(named)) => assert_eq!(named, both),
            other => panic!("{path}: {other:?}"),
        }
        assert_eq!(org.store.stored_file(&org.id, "s", path).await.expect("reads"), None);
    }
    let (one, other) = (upload(&org, &[]).await, upload(&org, &[]).await);
    let together = keep(&org, "t", &[(&one, "x/y"), (&other, "x")]).await;
    assert!(matches!(together, Err(StoreError::FileIsFolder(_))));
    for path in ["a.b", "ab", "a0", "a/bc", "a/b"] {
        keep(&org, "s", &[(&upload(&org, &[]).await, path)]).await.expect("keeps");
    }
}

pub async fn a_store_holds_no_more_than_it_may(database: &dyn Database) {
    let org = Org::first(database).await;
    let mut files = Vec::new();
    for n in 0..=STORE_FILES_MAX {
        files.push((upload(&org, &[]).await, format!("f{n}")));
    }
    let all: Vec<(&UploadId, &str)> = files.iter().map(|(id, path)| (id, path.as_str())).collect();
    assert!(matches!(keep(&org, "s", &all).await, Err(StoreError::Full)));
    assert!(org.store.file_stores(&org.id).await.expect("lists").is_empty());
    keep(&org, "s", &all[1..]).await.expect("keeps");
    // Another store has room, and so has a path that there is already.
    keep(&org, "t", &all[..1]).await.expect("keeps");
    keep(&org, "s", &[(&upload(&org, &[]).await, "f1")]).await.expect("keeps");
    assert!(matches!(
        keep(&org, "s", &[(&upload(&org, &[]).await, "more")]).await,
        Err(StoreError::Full)
    ));
}
