//! Places for heavy work, in turns: what one organization asks for does not hold up what another does.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::BundleError;

/// Places that are given in turns by organization, and within one in the order of asking. While others wait, none has more than one.
#[derive(Clone)]
pub struct Places(Arc<Mutex<State>>);

/// A place. Free again when dropped.
pub struct Place {
    places: Places,
    who: Arc<str>,
}

/// What one who asks for a place may have.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    /// Places of this kind that the organization may have at once, also where nobody else waits.
    pub places_max: usize,
    /// How many of the organization may wait.
    pub waiting_max: usize,
}

struct State {
    turns: Turns,
    told: HashMap<u64, oneshot::Sender<Place>>,
}

impl Places {
    /// So many places.
    pub fn new(count: usize) -> Self {
        Self(Arc::new(Mutex::new(State { turns: Turns::new(count), told: HashMap::new() })))
    }

    /// Waits for a place. Who goes away meanwhile waits no longer.
    ///
    /// # Errors
    /// [`BundleError::Waiting`] where as many of the organization wait as may.
    pub async fn take(&self, who: &Arc<str>, share: Share) -> Result<Place, BundleError> {
        let (number, told) = {
            let mut state = self.0.lock();
            match state.turns.ask(who, share) {
                Asked::Taken => return Ok(self.place(who.clone())),
                Asked::Refused => return Err(BundleError::Waiting { waiting_max: share.waiting_max }),
                Asked::Waits(number) => {
                    let (tell, told) = oneshot::channel();
                    state.told.insert(number, tell);
                    (number, told)
                }
            }
        };
        let _line = InLine { places: self, number };
        told.await.map_err(|e| BundleError::Internal { what: "the bundler is closed", source: Box::new(e) })
    }

    fn place(&self, who: Arc<str>) -> Place {
        Place { places: self.clone(), who }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let next = {
            let mut state = self.places.0.lock();
            let next = state.turns.give_back(&self.who);
            next.into_iter().filter_map(|(number, who)| Some((state.told.remove(&number)?, who))).collect::<Vec<_>>()
        };
        for (tell, who) in next {
            // Whoever went away in this instant drops the place, which gives it to the next.
            drop(tell.send(self.places.place(who)));
        }
    }
}

/// Somebody who waits.
struct InLine<'a> {
    places: &'a Places,
    number: u64,
}

impl Drop for InLine<'_> {
    fn drop(&mut self) {
        let mut state = self.places.0.lock();
        // Whoever was told waits no longer.
        if state.told.remove(&self.number).is_some() {
            state.turns.leave(self.number);
        }
    }
}

/// Who has a place, and who is next.
struct Turns {
    free: usize,
    next_number: u64,
    /// Places by organization; none of zero.
    held: HashMap<Arc<str>, usize>,
    /// Organizations that wait, whose turn it is first; none without anybody who waits.
    lines: VecDeque<Line>,
}

struct Line {
    who: Arc<str>,
    /// By number, with how many places the organization may have then.
    waiting: VecDeque<(u64, usize)>,
}

#[derive(Debug, PartialEq, Eq)]
enum Asked {
    Taken,
    Waits(u64),
    Refused,
}

impl Turns {
    fn new(free: usize) -> Self {
        Self { free, next_number: 0, held: HashMap::new(), lines: VecDeque::new() }
    }

    fn held(&self, who: &Arc<str>) -> usize {
        self.held.get(who).copied().unwrap_or(0)
    }

    fn ask(&mut self, who: &Arc<str>, share: Share) -> Asked {
        // Where a place is free, nobody waits who may have it.
        if self.free > 0 && self.held(who) < share.places_max {
            self.free -= 1;
            *self.held.entry(who.clone()).or_default() += 1;
            return Asked::Taken;
        }
        let line = match self.lines.iter().position(|line| line.who == *who) {
            Some(at) => at,
            None => {
                self.lines.push_back(Line { who: who.clone(), waiting: VecDeque::new() });
                self.lines.len() - 1
            }
        };
        let line = &mut self.lines[line];
        if line.waiting.len() >= share.waiting_max {
            self.lines.retain(|line| !line.waiting.is_empty());
            return Asked::Refused;
        }
        self.next_number += 1;
        line.waiting.push_back((self.next_number, share.places_max));
        Asked::Waits(self.next_number)
    }

    /// A place is free again; gives those who have one now.
    fn give_back(&mut self, who: &Arc<str>) -> Vec<(u64, Arc<str>)> {
        self.free += 1;
        match self.held.get_mut(who) {
            Some(held) if *held > 1 => *held -= 1,
            _ => drop(self.held.remove(who)),
        }
        std::iter::from_fn(|| self.next()).collect()
    }

    fn next(&mut self) -> Option<(u64, Arc<str>)> {
        if self.free == 0 {
            return None;
        }
        let fitting = |line: &Line| line.waiting.iter().position(|(_, places_max)| self.held(&line.who) < *places_max);
        let may = self.lines.iter().enumerate().filter_map(|(at, line)| Some((at, fitting(line)?)));
        // The first of those that are equal.
        let (at, nth) = may.min_by_key(|(at, _)| self.held(&self.lines[*at].who))?;
        let mut line = self.lines.remove(at)?;
        let (number, _) = line.waiting.remove(nth)?;
        let who = line.who.clone();
        if !line.waiting.is_empty() {
            self.lines.push_back(line);
        }
        self.free -= 1;
        *self.held.entry(who.clone()).or_default() += 1;
        Some((number, who))
    }

    fn leave(&mut self, number: u64) {
        for line in &mut self.lines {
            line.waiting.retain(|(waits, _)| *waits != number);
        }
        self.lines.retain(|line| !line.waiting.is_empty());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHARE: Share = Share { places_max: 2, waiting_max: 3 };

    fn who(name: &str) -> Arc<str> {
        name.into()
    }

    /// The order in which those who wait get the place that `a` gives back, and so on.
    fn served(turns: &mut Turns, first: &str) -> String {
        let (mut order, mut giving) = (String::new(), vec![who(first)]);
        while let Some(one) = giving.pop() {
            for (_, next) in turns.give_back(&one) {
                order.push_str(&next);
                giving.insert(0, next);
            }
        }
        order
    }

    #[test]
    fn those_with_fewer_places_come_first_and_equals_take_turns() {
        let mut turns = Turns::new(2);
        let (a, b, c) = (who("a"), who("b"), who("c"));
        for _ in 0..2 {
            assert_eq!(turns.ask(&a, SHARE), Asked::Taken, "alone it has all");
        }
        for one in [&a, &a, &a, &b, &b, &c] {
            assert!(matches!(turns.ask(one, SHARE), Asked::Waits(_)));
        }
        // One place of `a` stays taken.
        assert_eq!(served(&mut turns, "a"), "bcbaaa");
        assert_eq!((turns.free, turns.held(&a), turns.lines.len()), (1, 1, 0));
    }

    #[test]
    fn no_more_wait_than_may_and_of_each_organization_so_many() {
        let mut turns = Turns::new(1);
        let (a, b) = (who("a"), who("b"));
        let asked = |turns: &mut Turns, one| (0..5).map(|_| turns.ask(one, SHARE)).collect::<Vec<_>>();
        assert_eq!(asked(&mut turns, &a), [Asked::Taken, Asked::Waits(1), Asked::Waits(2), Asked::Waits(3), Asked::Refused]);
        assert_eq!(asked(&mut turns, &b)[2..], [Asked::Waits(6), Asked::Refused, Asked::Refused]);
        turns.leave(5);
        assert_eq!(turns.ask(&b, SHARE), Asked::Waits(7));
        let nobody = Share { waiting_max: 0, ..SHARE };
        assert_eq!((turns.ask(&who("c"), nobody), turns.lines.len()), (Asked::Refused, 2));
    }

    #[test]
    fn a_share_of_one_place_leaves_the_others_free() {
        let mut turns = Turns::new(2);
        let (a, b, one) = (who("a"), who("b"), Share { places_max: 1, ..SHARE });
        assert_eq!([turns.ask(&a, one), turns.ask(&a, one)], [Asked::Taken, Asked::Waits(1)]);
        assert_eq!(turns.ask(&a, SHARE), Asked::Taken, "what is not bound so goes past what is");
        assert_eq!(turns.give_back(&a), [], "one is held still");
        assert_eq!(turns.ask(&b, one), Asked::Taken);
        assert_eq!(turns.give_back(&a), [(1, a.clone())]);
    }

    #[tokio::test]
    async fn who_goes_away_leaves_the_line_and_a_place_that_nobody_takes_goes_on() {
        let places = Places::new(1);
        let (a, b) = (who("a"), who("b"));
        let held = places.take(&a, SHARE).await.expect("free");
        let mut gone = Box::pin(places.take(&b, SHARE));
        let mut told = Box::pin(places.take(&b, SHARE));
        let mut last = Box::pin(places.take(&a, SHARE));
        for waits in [&mut gone, &mut told, &mut last] {
            assert!(futures_are_pending(waits.as_mut()), "the place is taken");
        }
        drop(gone);
        drop(held);
        // It was told and goes away before it hears of it.
        drop(told);
        drop(last.await.expect("its turn"));
        let state = places.0.lock();
        assert_eq!((state.turns.free, state.turns.held.len(), state.turns.lines.len(), state.told.len()), (1, 0, 0, 0));
    }

    fn futures_are_pending<T>(future: std::pin::Pin<&mut impl Future<Output = T>>) -> bool {
        future.poll(&mut std::task::Context::from_waker(std::task::Waker::noop())).is_pending()
    }
}
