//! Keyed mutex that makes runs of a source begin in the order of their acceptance. Each run enters
//! the queue of its source when it is accepted or claimed, and leaves it once its call is queued at
//! the runner, which keeps that order.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use millrace_model::ids::SourceId;
use parking_lot::Mutex;
use tokio::sync::Notify;

/// Runs of each source that have yet to begin, in order.
#[derive(Clone, Default)]
pub(crate) struct BeginOrder(Arc<Mutex<HashMap<SourceId, VecDeque<Arc<Notify>>>>>);

/// The turn of one run. Given up when dropped.
pub(crate) struct BeginTurn {
    order: BeginOrder,
    source: SourceId,
    comes: Arc<Notify>,
}

impl BeginOrder {
    /// Takes the next turn of a source.
    pub(crate) fn enter(&self, source: &SourceId) -> BeginTurn {
        let comes = Arc::new(Notify::new());
        let mut sources = self.0.lock();
        let turns = sources.entry(source.clone()).or_default();
        if turns.is_empty() {
            comes.notify_one();
        }
        turns.push_back(comes.clone());
        BeginTurn { order: self.clone(), source: source.clone(), comes }
    }
}

impl BeginTurn {
    /// Waits until all runs before it have begun or are given up.
    pub(crate) async fn comes(&self) {
        self.comes.notified().await;
    }
}

impl Drop for BeginTurn {
    fn drop(&mut self) {
        let mut sources = self.order.0.lock();
        let Some(turns) = sources.get_mut(&self.source) else { return };
        let was_first = turns.front().is_some_and(|first| Arc::ptr_eq(first, &self.comes));
        turns.retain(|turn| !Arc::ptr_eq(turn, &self.comes));
        match turns.front() {
            Some(next) if was_first => next.notify_one(),
            Some(_) => {}
            None => {
                sources.remove(&self.source);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use millrace_model::IdSource;

    use super::*;

    fn has_come(turn: &BeginTurn) -> bool {
        let mut comes = std::pin::pin!(turn.comes());
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        comes.as_mut().poll(&mut context).is_ready()
    }

    #[test]
    fn turns_come_in_order_and_one_that_is_given_up_holds_nobody() {
        let (order, ids) = (BeginOrder::default(), IdSource::default());
        let (source, other) = (SourceId::generate(&ids), SourceId::generate(&ids));
        let turns: Vec<_> = (0..4).map(|_| order.enter(&source)).collect();
        let [first, second, third, fourth] =
            <[BeginTurn; 4]>::try_from(turns).unwrap_or_else(|_| unreachable!());
        assert!(
            !has_come(&second) && !has_come(&third) && has_come(&first),
            "in whatever order they ask"
        );
        assert!(has_come(&order.enter(&other)), "other sources do not wait");
        drop(second);
        assert!(!has_come(&third));
        drop(first);
        assert!(has_come(&third) && !has_come(&fourth));
        drop(third);
        assert!(has_come(&fourth));
        drop(fourth);
        assert!(order.0.lock().is_empty());
    }
}
