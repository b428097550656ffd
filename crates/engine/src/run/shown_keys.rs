//! Pages of the keys of data stores and of the paths of file stores. Code may have put the code of
//! a paused run into one: a caller that may not resume runs is shown none, and learns none from
//! what a prefix or a cursor finds.

use std::future::Future;

use millrace_model::file::{self, StoredFile};
use millrace_model::page::Listing;
use millrace_model::pause::{before_code, masked, without_codes};
use millrace_model::tenant::{Caller, Scope};
use millrace_store::{DataStorePage, StoreResult};
use serde_json::{Value, json};

use crate::run::data_stores::DataStores;
use crate::{Engine, EngineError};

/// Keys that are read at once to find the one of a cursor.
const PAGE: u32 = 500;

/// Which keys of a data store are asked for.
#[derive(Clone, Debug, Default)]
pub struct AskedKeys {
    /// Keys after this one.
    pub after: Option<String>,
    /// Keys that begin so.
    pub prefix: String,
    /// How many at most.
    pub limit: u32,
    /// Whether with their values.
    pub with_values: bool,
}

/// A key of a data store as shown.
#[derive(Clone, Debug)]
pub struct KeyView {
    /// What names its place in the list.
    pub cursor: String,
    /// The key.
    pub key: String,
    /// Its value, where it is asked for and there still.
    pub value: Option<Value>,
}

/// A value that a list shows whole, bytes of JSON; and how much of a larger one.
const SHOWN_BYTES: usize = 1024;
const PREVIEW_BYTES: usize = 256;

fn beginning(text: &str) -> Value {
    if text.len() <= SHOWN_BYTES {
        return millrace_model::json::shown(text);
    }
    json!({ "$truncated": true, "$bytes": text.len(), "$preview": text[..text.floor_char_boundary(PREVIEW_BYTES)] })
}

fn sees_codes(caller: &Caller) -> bool {
    caller.scopes.allow(Scope::Invoke)
}

/// Separates a key as it is shown from its number among those that look alike. It ends a code, and
/// stands in hardly any key.
const NTH: char = '\0';

/// The cursor of a key that ends a page: the key, or, where others behind it are shown as it is,
/// with its number among these.
async fn cursor_of<F>(
    caller: &Caller,
    key: &str,
    keys_after: impl Fn(String) -> F,
) -> Result<String, EngineError>
where
    F: Future<Output = StoreResult<Vec<String>>>,
{
    let Some(start) = before_code(key).filter(|_| !sees_codes(caller)) else {
        return Ok(key.to_owned());
    };
    let alike = alike(start, &masked(key), keys_after).await?;
    let at = alike.iter().position(|other| other == key);
    Ok(match at.filter(|at| at + 1 < alike.len()) {
        Some(at) => format!("{}{NTH}{}", masked(key), at + 1),
        None => key.to_owned(),
    })
}

/// The keys that begin so and are shown as `shown`, in order.
async fn alike<F>(
    start: &str,
    shown: &str,
    keys_after: impl Fn(String) -> F,
) -> Result<Vec<String>, EngineError>
where
    F: Future<Output = StoreResult<Vec<String>>>,
{
    let (mut after, mut alike) = (start.to_owned(), Vec::new());
    loop {
        let keys = keys_after(after).await?;
        let next = keys.last().filter(|last| last.starts_with(start)).cloned();
        alike.extend(keys.into_iter().filter(|key| masked(key) == shown));
        match next {
            Some(last) => after = last,
            None => return Ok(alike),
        }
    }
}

/// The key that a cursor names: keys are ordered as they are stored, and one with a code is shown
/// with another text in its place. Of several that are shown so, the one with the cursor's number,
/// or the last. `UnknownCursor` where none is: a cursor within a code would tell by its place how
/// the code goes on.
async fn named_by<F>(
    caller: &Caller,
    cursor: String,
    keys_after: impl Fn(String) -> F,
) -> Result<String, EngineError>
where
    F: Future<Output = StoreResult<Vec<String>>>,
{
    let Some(start) = before_code(&cursor).filter(|_| !sees_codes(caller)) else {
        return Ok(cursor);
    };
    let (shown, nth) = match cursor.split_once(NTH) {
        Some((shown, nth)) => (shown, nth.parse().ok()),
        None => (cursor.as_str(), Some(usize::MAX)),
    };
    let mut alike = alike(start, shown, keys_after).await?;
    let nth = nth.filter(|nth| *nth > 0).map(|nth| nth.min(alike.len()));
    nth.and_then(|nth| nth.checked_sub(1))
        .map(|at| alike.swap_remove(at))
        .ok_or_else(|| EngineError::unknown_cursor("after"))
}

impl DataStores {
    /// A page of a store's keys in their order, after one, all that begin so; and how many do. With
    /// their values, where those are asked for: large ones as their beginning. No prefix and no
    /// cursor looks behind what the caller is shown of a key.
    pub async fn keys(
        &self,
        caller: &Caller,
        which: &str,
        asked: AskedKeys,
    ) -> Result<Listing<KeyView>, EngineError> {
        let (id, now) = (self.get(caller, which).await?.id, self.ctx.now());
        let AskedKeys { after, prefix, limit, with_values } = asked;
        if !sees_codes(caller) && without_codes(&prefix) != prefix {
            return Ok(Listing::of(Vec::new(), 0));
        }
        let keys_after = |after| {
            let page =
                DataStorePage { after: Some(after), prefix: String::new(), limit: PAGE, now };
            self.ctx.store.data_store_keys(&id, page)
        };
        let after = match after {
            Some(cursor) => Some(named_by(caller, cursor, &keys_after).await?),
            None => None,
        };
        let page = DataStorePage { after, prefix: prefix.clone(), limit, now };
        let mut items = Vec::new();
        for key in self.ctx.store.data_store_keys(&id, page).await? {
            // One by one: a page of large values is never in memory at once.
            let entry = if with_values {
                self.ctx.store.data_store_entry(&id, &key, now).await?
            } else {
                None
            };
            let value = entry.map(|entry| beginning(&entry.value));
            items.push(KeyView { cursor: key.clone(), key, value });
        }
        if let Some(last) = items.last_mut() {
            last.cursor = cursor_of(caller, &last.key, &keys_after).await?;
        }
        Ok(Listing::of(items, self.ctx.store.data_store_size(&id, &prefix, now).await?))
    }
}

impl Engine {
    /// How many files a store has, and those after a path in the order of their paths, with the
    /// cursor of the last. No cursor looks behind what the caller is shown of a path.
    pub async fn stored_files(
        &self,
        caller: &Caller,
        store: &str,
        after: &str,
        limit: u32,
    ) -> Result<(u64, Vec<StoredFile>, String), EngineError> {
        file::check_name(store).map_err(|e| EngineError::invalid("store", e.to_string()))?;
        let there = self
            .0
            .store
            .file_stores(&caller.org_id)
            .await?
            .into_iter()
            .find(|there| there.name == store);
        let there = there.ok_or_else(|| EngineError::not_found("file store", store))?;
        let (stored, org) = (&self.0.store, &caller.org_id);
        let paths_after = |after: String| async move {
            let files = stored.stored_files(org, store, &after, PAGE).await?;
            Ok(files.into_iter().map(|file| file.path).collect())
        };
        let after = named_by(caller, after.to_owned(), &paths_after).await?;
        let files = stored.stored_files(org, store, &after, limit).await?;
        let cursor = match files.last() {
            Some(last) => cursor_of(caller, &last.path, &paths_after).await?,
            None => String::new(),
        };
        Ok((u64::try_from(there.files).unwrap_or(0), files, cursor))
    }
}
