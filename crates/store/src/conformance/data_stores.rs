//! Data stores: values by key, their ends and their bounds.

use millrace_model::clock::Timestamp;
use millrace_model::data_store::{DataStore, STORES_MAX};
use millrace_model::ids::DataStoreId;

use super::Database;
use super::sample::{IDS, Org, at, page};
use crate::{DataStoreEntry, DataStorePage, DataStoreWrite, StoreError, StoreResult};

fn store(org: &Org, name: &str, ms: i64) -> DataStore {
    DataStore {
        id: DataStoreId::generate(&IDS),
        org_id: org.id.clone(),
        name: name.to_owned(),
        keys: 0,
        bytes: 0,
        created_at: at(ms),
        updated_at: at(ms),
    }
}

pub(super) async fn add(org: &Org, name: &str) -> DataStoreId {
    let store = store(org, name, 0);
    let id = store.id.clone();
    org.store.create_data_store(store).await.expect("stores");
    id
}

pub(super) fn write(id: &DataStoreId, key: &str, value: &str) -> DataStoreWrite {
    DataStoreWrite {
        store_id: id.clone(),
        key: key.into(),
        value: value.into(),
        expires_at: None,
        now: at(0),
        keys_max: 1000,
        bytes_max: 1 << 30,
    }
}

pub(super) async fn set(org: &Org, id: &DataStoreId, key: &str, value: &str) {
    org.store.data_store_set(write(id, key, value)).await.expect("sets");
}

/// Writes a value that ends.
async fn set_until(org: &Org, id: &DataStoreId, key: &str, until: Timestamp) -> StoreResult<()> {
    org.store
        .data_store_set(DataStoreWrite { expires_at: Some(until), ..write(id, key, "1") })
        .await
}

async fn value(org: &Org, id: &DataStoreId, key: &str, ms: i64) -> Option<String> {
    org.store.data_store_entry(id, key, at(ms)).await.expect("reads").map(|e| e.value)
}

async fn keys(org: &Org, id: &DataStoreId, ms: i64) -> Vec<String> {
    org.store
        .data_store_keys(
            id,
            DataStorePage { after: None, prefix: String::new(), limit: 1000, now: at(ms) },
        )
        .await
        .expect("lists")
}

/// Keys and bytes as counted.
pub(super) async fn counted(org: &Org, id: &DataStoreId) -> (u64, u64) {
    let store = org.store.data_store(&org.id, id).await.expect("reads").expect("the store");
    (store.keys, store.bytes)
}

pub async fn a_store_is_made_renamed_and_removed(database: &dyn Database) {
    let org = Org::first(database).await;
    let other = Org::another(&org.store, "other").await;
    let first = store(&org, "Things", 1);
    org.store.create_data_store(first.clone()).await.expect("stores");
    assert_eq!(org.store.data_store(&org.id, &first.id).await.expect("reads"), Some(first.clone()));
    assert_eq!(
        org.store.data_store_by_name(&org.id, "Things").await.expect("reads"),
        Some(first.clone())
    );
    assert!(org.store.data_store(&other.id, &first.id).await.expect("reads").is_none());
    assert!(org.store.data_store_by_name(&other.id, "Things").await.expect("reads").is_none());
    assert!(matches!(
        org.store.create_data_store(store(&org, "Things", 2)).await,
        Err(StoreError::Taken("name"))
    ));
    other
        .store
        .create_data_store(store(&other, "Things", 2))
        .await
        .expect("another organization's is its own");
    let second = add(&org, "More").await;
    assert!(matches!(
        org.store.rename_data_store(&org.id, &second, "Things", at(3)).await,
        Err(StoreError::Taken("name"))
    ));
    assert!(matches!(
        org.store.rename_data_store(&other.id, &second, "Mine", at(3)).await,
        Err(StoreError::NotFound)
    ));
    org.store.rename_data_store(&org.id, &first.id, "Better", at(3)).await.expect("renames");
    let renamed = DataStore { name: "Better".into(), updated_at: at(3), ..first.clone() };
    assert_eq!(org.store.data_store(&org.id, &first.id).await.expect("reads"), Some(renamed));
    set(&org, &first.id, "k", "1").await;
    assert!(!org.store.delete_data_store(&other.id, &first.id).await.expect("answers"));
    assert_eq!(value(&org, &first.id, "k", 0).await.as_deref(), Some("1"));
    assert!(org.store.delete_data_store(&org.id, &first.id).await.expect("answers"));
    assert!(!org.store.delete_data_store(&org.id, &first.id).await.expect("answers"));
    assert!(value(&org, &first.id, "k", 0).await.is_none());
    assert!(matches!(
        org.store.data_store_set(write(&first.id, "k", "1")).await,
        Err(StoreError::NotFound)
    ));
}

pub async fn an_organization_has_no_more_stores_than_it_may(database: &dyn Database) {
    let org = Org::first(database).await;
    for number in 1..STORES_MAX {
        add(&org, &number.to_string()).await;
    }
    let (a, b) = tokio::join!(
        org.store.create_data_store(store(&org, "a", 1)),
        org.store.create_data_store(store(&org, "b", 1)),
    );
    assert!(a.is_ok() != b.is_ok());
    assert!(matches!(a.and(b), Err(StoreError::Full)));
    let other = Org::another(&org.store, "other").await;
    add(&other, "its own").await;
}

pub async fn stores_are_listed(database: &dyn Database) {
    let org = Org::first(database).await;
    let stores = [store(&org, "a", 1), store(&org, "b", 2), store(&org, "c", 3)];
    for store in &stores {
        org.store.create_data_store(store.clone()).await.expect("stores");
    }
    let listing = org.store.list_data_stores(&org.id, &page(2)).await.expect("lists");
    assert_eq!(
        (listing.total_count, listing.items),
        (3, vec![stores[2].clone(), stores[1].clone()])
    );
    let rest = millrace_model::page::Page { after: Some(stores[1].id.to_string()), ..page(2) };
    assert_eq!(
        org.store.list_data_stores(&org.id, &rest).await.expect("lists").items,
        [stores[0].clone()]
    );
}

pub async fn a_value_is_written_read_and_removed(database: &dyn Database) {
    let org = Org::first(database).await;
    let (id, neighbour) = (add(&org, "a").await, add(&org, "b").await);
    assert!(value(&org, &id, "k", 0).await.is_none());
    set(&org, &id, "k", r#"{"b":1,"a":"\u0000"}"#).await;
    set(&org, &neighbour, "k", "2").await;
    assert_eq!(value(&org, &id, "k", 0).await.as_deref(), Some(r#"{"b":1,"a":"\u0000"}"#));
    set(&org, &id, "k", "null").await;
    let entry = org.store.data_store_entry(&id, "k", at(0)).await.expect("reads");
    assert_eq!(
        entry,
        Some(DataStoreEntry { key: "k".into(), value: "null".into(), expires_at: None })
    );
    assert_eq!(counted(&org, &id).await, (1, 5));
    assert!(org.store.data_store_delete(&id, "k").await.expect("answers"));
    assert!(!org.store.data_store_delete(&id, "k").await.expect("answers"));
    assert_eq!((counted(&org, &id).await, counted(&org, &neighbour).await), ((0, 0), (1, 2)));
    set(&org, &id, "x", "1").await;
    set(&org, &id, "y", "1").await;
    org.store.data_store_clear(&id).await.expect("clears");
    assert_eq!(
        (
            counted(&org, &id).await,
            org.store.data_store_size(&id, "", at(0)).await.expect("counts")
        ),
        ((0, 0), 0)
    );
    assert_eq!(value(&org, &neighbour, "k", 0).await.as_deref(), Some("2"));
}

pub async fn any_key_is_kept(database: &dyn Database) {
    let org = Org::first(database).await;
    let id = add(&org, "a").await;
    // Two that differ beyond what an index entry may hold, and each other's prefix.
    let (long, longer) = ("\u{FFFD}".repeat(1023), "\u{FFFD}".repeat(1024));
    let all = ["a\u{0}b", "a", "\u{1F600}", "%", &long, &longer, "ü", " "];
    for (n, key) in all.iter().enumerate() {
        set(&org, &id, key, &n.to_string()).await;
    }
    for (n, key) in all.iter().enumerate() {
        assert_eq!(value(&org, &id, key, 0).await, Some(n.to_string()), "{key:.20}");
    }
    let mut sorted: Vec<String> = all.iter().map(|key| (*key).to_owned()).collect();
    sorted.sort();
    assert_eq!(keys(&org, &id, 0).await, sorted);
    for n in 0..all.len() {
        let page = DataStorePage {
            after: Some(sorted[n].clone()),
            prefix: String::new(),
            limit: 2,
            now: at(0),
        };
        assert_eq!(
            org.store.data_store_keys(&id, page).await.expect("lists"),
            sorted[n + 1..all.len().min(n + 3)]
        );
    }
    for prefix in ["", "a", "a\u{0}", "\u{FFFD}", &long, &longer, "%", "\u{10FFFF}", "b"] {
        let count = org.store.data_store_size(&id, prefix, at(0)).await.expect("counts");
        let expected = all.iter().filter(|key| key.starts_with(prefix)).count();
        assert_eq!(count, expected as u64, "{prefix:.20}");
    }
}

pub async fn what_has_ended_is_not_there(database: &dyn Database) {
    let org = Org::first(database).await;
    let id = add(&org, "a").await;
    set_until(&org, &id, "k", at(100)).await.expect("sets");
    set(&org, &id, "stays", "1").await;
    assert_eq!(value(&org, &id, "k", 99).await.as_deref(), Some("1"));
    assert!(value(&org, &id, "k", 100).await.is_none());
    assert_eq!(
        (keys(&org, &id, 99).await.len(), keys(&org, &id, 100).await),
        (2, vec!["stays".to_owned()])
    );
    let size = async |ms| org.store.data_store_size(&id, "", at(ms)).await.expect("counts");
    assert_eq!((size(99).await, size(100).await), (2, 1));
    let of_k = async |ms| org.store.data_store_size(&id, "k", at(ms)).await.expect("counts");
    assert_eq!((of_k(99).await, of_k(100).await), (1, 0));
    // Another end, none, and none any more after it has ended.
    let expire = async |until: Option<i64>, ms| {
        org.store.data_store_expire(&id, "k", until.map(at), at(ms)).await.expect("answers")
    };
    assert!(expire(Some(200), 50).await);
    assert_eq!(value(&org, &id, "k", 199).await.as_deref(), Some("1"));
    assert!(!expire(None, 200).await);
    assert!(expire(None, 199).await);
    assert_eq!(value(&org, &id, "k", 10_000).await.as_deref(), Some("1"));
    assert!(!org.store.data_store_expire(&id, "nothing", None, at(0)).await.expect("answers"));
    // Writing again ends the end that it had.
    set_until(&org, &id, "again", at(100)).await.expect("sets");
    set(&org, &id, "again", "2").await;
    assert_eq!(value(&org, &id, "again", 100).await.as_deref(), Some("2"));
}

pub async fn what_has_ended_is_cleared_away(database: &dyn Database) {
    let org = Org::first(database).await;
    let (id, other) = (add(&org, "a").await, add(&org, "b").await);
    for n in 0..5 {
        set_until(&org, &id, &format!("k{n}"), at(10)).await.expect("sets");
        set_until(&org, &other, &format!("k{n}"), at(20)).await.expect("sets");
    }
    set(&org, &id, "stays", "1").await;
    assert_eq!(org.store.purge_data_stores(at(9), 100).await.expect("purges"), 0);
    assert_eq!(org.store.purge_data_stores(at(10), 3).await.expect("purges"), 3);
    assert_eq!(counted(&org, &id).await, (3, 2 * 3 + 6));
    assert_eq!(org.store.purge_data_stores(at(20), 100).await.expect("purges"), 7);
    assert_eq!((counted(&org, &id).await, counted(&org, &other).await), ((1, 6), (0, 0)));
}

pub async fn a_full_store_refuses_what_would_be_more(database: &dyn Database) {
    let org = Org::first(database).await;
    let id = add(&org, "a").await;
    let small = |key: &str, value: &str| DataStoreWrite {
        keys_max: 3,
        bytes_max: 12,
        ..write(&id, key, value)
    };
    let full = |result: StoreResult<()>| matches!(result, Err(StoreError::Full));
    for key in ["a", "b"] {
        org.store.data_store_set(small(key, "11")).await.expect("sets");
    }
    set_until(&org, &id, "t", at(100)).await.expect("sets");
    assert!(full(org.store.data_store_set(small("c", "1")).await), "a fourth key");
    assert!(full(org.store.data_store_set(small("a", "1234567")).await), "too many bytes");
    assert_eq!(counted(&org, &id).await, (3, 8));
    // The same or less fits always; what has ended makes room.
    org.store.data_store_set(small("a", "2")).await.expect("sets");
    org.store
        .data_store_set(DataStoreWrite { now: at(100), ..small("c", "1") })
        .await
        .expect("sets");
    assert_eq!(
        (counted(&org, &id).await, keys(&org, &id, 100).await.join("")),
        ((3, 7), "abc".to_owned())
    );
}

pub async fn entries_come_in_pages(database: &dyn Database) {
    let org = Org::first(database).await;
    let id = add(&org, "a").await;
    for n in 0..7 {
        set(&org, &id, &format!("k{n}"), &"1".repeat(n + 1)).await;
    }
    let entries = async |after: Option<&str>, limit, bytes_max| {
        let page = DataStorePage {
            after: after.map(str::to_owned),
            prefix: String::new(),
            limit,
            now: at(0),
        };
        let entries = org.store.data_store_entries(&id, page, bytes_max).await.expect("lists");
        entries.into_iter().map(|e| format!("{}={}", e.key, e.value)).collect::<Vec<_>>()
    };
    assert_eq!(entries(None, 2, 1000).await, ["k0=1", "k1=11"]);
    assert_eq!(entries(Some("k1"), 2, 1000).await, ["k2=111", "k3=1111"]);
    assert_eq!(entries(Some("k5"), 2, 1000).await, ["k6=1111111"]);
    assert!(entries(Some("k6"), 2, 1000).await.is_empty());
    // By bytes: a page ends early, but holds one at least.
    assert_eq!(entries(None, 7, 6).await, ["k0=1", "k1=11", "k2=111"]);
    assert_eq!(entries(Some("k4"), 7, 2).await, ["k5=111111"]);
}

pub async fn writes_at_once_are_counted(database: &dyn Database) {
    let org = Org::first(database).await;
    let id = add(&org, "a").await;
    let writes = (0..20).map(|n| {
        org.store.data_store_set(DataStoreWrite {
            keys_max: 7,
            ..write(&id, &format!("k{}", n % 10), "1")
        })
    });
    let done = futures_of(writes).await;
    let (good, full) = (
        done.iter().filter(|r| r.is_ok()).count(),
        done.iter().filter(|r| matches!(r, Err(StoreError::Full))).count(),
    );
    assert_eq!((good + full, counted(&org, &id).await), (20, (7, 21)));
    assert_eq!(keys(&org, &id, 0).await.len(), 7);
}

/// All at once; in the order given.
async fn futures_of<T>(all: impl IntoIterator<Item = impl Future<Output = T>>) -> Vec<T> {
    let mut waiting: Vec<_> = all.into_iter().map(|f| (Box::pin(f), None)).collect();
    std::future::poll_fn(|context| {
        for (future, done) in &mut waiting {
            if done.is_none()
                && let std::task::Poll::Ready(value) = future.as_mut().poll(context)
            {
                *done = Some(value);
            }
        }
        if waiting.iter().all(|(_, done)| done.is_some()) {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
    waiting.into_iter().filter_map(|(_, done)| done).collect()
}
