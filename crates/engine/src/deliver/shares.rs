//! Places for what is under way to the outside, of which one organization gets no more than its
//! share: receivers that let it wait hold up nobody else.

use std::collections::HashMap;
use std::sync::Arc;

use millrace_model::ids::OrgId;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

#[derive(Clone)]
pub(crate) struct Shares {
    places: Arc<Semaphore>,
    share: u32,
    held: Arc<Mutex<HashMap<OrgId, u32>>>,
}

impl Shares {
    pub(crate) fn new(places: usize, share: u32) -> Self {
        Self { places: Arc::new(Semaphore::new(places)), share, held: Arc::default() }
    }

    pub(crate) fn free(&self) -> usize {
        self.places.available_permits()
    }

    pub(crate) fn held(&self) -> HashMap<OrgId, u32> {
        self.held.lock().clone()
    }

    /// Whose turn it is among those that wait: the first whose organization holds the fewest
    /// places. None where all hold their share.
    pub(crate) fn next<'a>(&self, waiting: impl Iterator<Item = &'a OrgId>) -> Option<usize> {
        let held = self.held.lock();
        let counted = waiting.map(|org| held.get(org).copied().unwrap_or(0)).enumerate();
        counted
            .filter(|(_, count)| *count < self.share)
            .min_by_key(|(_, count)| *count)
            .map(|(at, _)| at)
    }

    /// A place, where there is a free one.
    pub(crate) fn take(&self, org: &OrgId) -> Option<Place> {
        let permit = self.places.clone().try_acquire_owned().ok()?;
        *self.held.lock().entry(org.clone()).or_default() += 1;
        Some(Place { org: org.clone(), held: self.held.clone(), _permit: permit })
    }
}

/// Free again with this value's end.
pub(crate) struct Place {
    org: OrgId,
    held: Arc<Mutex<HashMap<OrgId, u32>>>,
    _permit: OwnedSemaphorePermit,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut held = self.held.lock();
        if let Some(count) = held.get_mut(&self.org) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                held.remove(&self.org);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_holds_the_fewest_is_next_and_nobody_gets_more_than_a_share() {
        let shares = Shares::new(5, 2);
        let [a, b, c] = ["o_a", "o_b", "o_c"].map(|id| OrgId::from_row(id.to_owned()));
        let next = |waiting: &[&OrgId]| shares.next(waiting.iter().copied());
        let first = shares.take(&a);
        assert_eq!((next(&[&a, &a, &b, &c]), next(&[&a]), next(&[])), (Some(2), Some(0), None));
        let second = shares.take(&a);
        assert_eq!((next(&[&a, &a]), next(&[&a, &b])), (None, Some(1)));
        drop(first);
        assert_eq!((next(&[&a]), shares.held()[&a], shares.free()), (Some(0), 1, 4));
        drop(second);
        assert!(shares.held().is_empty());
        let all: Vec<Place> =
            [&a, &a, &b, &b, &c].into_iter().filter_map(|org| shares.take(org)).collect();
        assert!(all.len() == 5 && shares.take(&c).is_none() && shares.held()[&c] == 1);
    }
}
