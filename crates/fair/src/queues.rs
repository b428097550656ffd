//! Queues of an owner's waiting requests: one for each class that bounds its permits otherwise, so
//! that a request which may not be granted holds up none of another class.

use std::collections::VecDeque;

use crate::policy::Quotas;

/// A request that was admitted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Admitted {
    pub(crate) permits: Quotas,
    pub(crate) weight: usize,
    pub(crate) is_exempt: bool,
}

/// Waiting requests by the bounds of their class, oldest first; no empty queues.
pub(crate) struct Queues<W>(Vec<(Quotas, VecDeque<Waiter<W>>)>);

/// A request that waits.
pub(crate) struct Waiter<W> {
    pub(crate) ticket: u64,
    pub(crate) weight: usize,
    pub(crate) is_exempt: bool,
    pub(crate) wake: W,
}

impl<W> Default for Queues<W> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<W> Queues<W> {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Tickets must ascend.
    pub(crate) fn push(&mut self, bounds: Quotas, waiter: Waiter<W>) {
        match self.0.iter_mut().find(|(of, _)| *of == bounds) {
            Some((_, queue)) => queue.push_back(waiter),
            None => self.0.push((bounds, VecDeque::from([waiter]))),
        }
    }

    /// Takes the request with this ticket out, where it is there.
    pub(crate) fn remove(&mut self, bounds: Quotas, ticket: u64) -> Option<Waiter<W>> {
        let at = self.0.iter().position(|(of, _)| *of == bounds)?;
        let queue = &mut self.0[at].1;
        let nth = queue.binary_search_by_key(&ticket, |waiter| waiter.ticket).ok()?;
        let waiter = queue.remove(nth);
        if queue.is_empty() {
            self.0.swap_remove(at);
        }
        waiter
    }

    /// The oldest ticket of each queue.
    pub(crate) fn fronts(&self) -> impl Iterator<Item = (Quotas, u64)> {
        self.0.iter().filter_map(|(bounds, queue)| Some((*bounds, queue.front()?.ticket)))
    }
}
