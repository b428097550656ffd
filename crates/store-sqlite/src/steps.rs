//! Changes of many rows, in steps. There is one writer for all organizations: it is held for a
//! step, and what others write goes between two of them.
//!
//! What comes while the steps go on is left out, so that they end, however fast more of it comes.

use std::sync::Arc;

use millrace_model::ids::{DataStoreId, EventId, OrgId};
use millrace_store::StoreResult;

use crate::{SqliteStore, data_stores, history, pauses};

/// Rows that a step changes at most: a few hundredths of a second.
pub(crate) const STEP: u32 = 500;
/// Events that a step removes at most: each is one row, and little is written for it.
const EVENTS_STEP: u32 = 2_000;

/// Bytes that a step removes at most, but for one row: SQLite reads each page that it frees.
const BYTES_STEP: i64 = 32 << 20;

/// The first of these rows (what names them, and their bytes) that are one step; whether they are
/// all of them.
pub(crate) fn first_step<K>(found: Vec<(K, i64)>) -> (Vec<K>, bool) {
    let (count, mut bytes) = (found.len(), 0);
    let step: Vec<K> = found
        .into_iter()
        .take_while(|(_, size)| {
            let before = bytes;
            bytes += size;
            before == 0 || bytes <= BYTES_STEP
        })
        .map(|(name, _)| name)
        .collect();
    let is_all = step.len() == count;
    (step, is_all)
}

impl SqliteStore {
    /// Removes events that are there now, looked for by a reader; how many.
    pub(crate) async fn delete_in_steps(
        &self,
        org: &OrgId,
        emitter: &str,
        name: Option<&str>,
        range: (Option<EventId>, Option<EventId>),
    ) -> StoreResult<u64> {
        let emitter: Arc<str> = emitter.into();
        let newest = {
            let emitter = emitter.clone();
            self.db.read(move |c| history::newest_event(c, &emitter)).await?
        };
        let Some(newest) = newest else { return Ok(0) };
        let (mut start, end) = (
            range.0.map_or(i64::MIN, EventId::ordinal),
            range.1.map_or(newest, |end| end.ordinal().min(newest)),
        );
        let mut removed = 0;
        loop {
            let (org, of, name) = (org.clone(), emitter.clone(), name.map(str::to_owned));
            let found = self
                .db
                .read(move |c| {
                    history::places(c, &org, &of, name.as_deref(), (start, end), EVENTS_STEP)
                })
                .await?;
            let count = found.len();
            let (step, is_all) = first_step(found);
            let Some(last) = step.last().copied() else { return Ok(removed) };
            let of = emitter.clone();
            removed += self.db.write(move |c| history::delete_events(c, &of, &step)).await?;
            if is_all && count < EVENTS_STEP as usize || last == i64::MAX {
                return Ok(removed);
            }
            start = last + 1;
        }
    }

    /// Cancels what waits of an owner that is about to go, where it is more than a step, so that
    /// the write which takes it away finds little left.
    pub(crate) async fn cancel_in_steps(&self, org: &OrgId, owner: &str) -> StoreResult<()> {
        let owner: Arc<str> = owner.into();
        let (org, of) = (org.clone(), owner.clone());
        let Some(upto) = self.db.read(move |c| pauses::newest_of_many(c, &org, &of, STEP)).await?
        else {
            return Ok(());
        };
        loop {
            let of = owner.clone();
            if self.db.write(move |c| pauses::cancel_some(c, &of, upto, STEP)).await?
                < STEP as usize
            {
                return Ok(());
            }
        }
    }

    /// Removes the entries of a data store that are there now. A store of no more than a step is
    /// empty at once.
    pub(crate) async fn clear_in_steps(&self, id: &DataStoreId) -> StoreResult<()> {
        let Some(upto) = self.db.read(data_stores::newest_row).await? else { return Ok(()) };
        loop {
            let id = id.clone();
            if self.db.write(move |c| data_stores::clear_some(c, &id, upto, STEP)).await?
                < i64::from(STEP)
            {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_ends_where_its_bytes_do_and_has_a_row_at_least() {
        let step = |sizes: &[i64]| {
            let (rows, is_all) = first_step(sizes.iter().copied().enumerate().collect());
            (rows.len(), is_all)
        };
        let half = BYTES_STEP / 2;
        assert_eq!(step(&[]), (0, true));
        assert_eq!(step(&[0, 1, 0]), (3, true));
        assert_eq!(step(&[half, half]), (2, true));
        assert_eq!(step(&[half, half, 1]), (2, false));
        assert_eq!(step(&[3 * half, 1]), (1, false));
    }
}
