//! Places for heavy work, in turns: what one organization asks for does not hold up what another
//! does.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::BundleError;

/// For so long after an organization had a place, or asked for one, no other gets a second one:
/// what holds places may last long, and who asks once will ask again.
const ALONE_AFTER: Duration = Duration::from_secs(60);

/// Places that are given in turns by organization, and within one in the order of asking. None gets
/// more than one unless it alone had or asked for any within the last minute.
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
    /// Places of this kind that the organization may have at once, also where nobody else asks.
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
        let (number, mut told) = {
            let mut state = self.0.lock();
            match state.turns.ask(who, share, Instant::now()) {
                Asked::Taken => return Ok(self.place(who.clone())),
                Asked::Refused => {
                    return Err(BundleError::Waiting { waiting_max: share.waiting_max });
                }
                Asked::Waits(number) => {
                    let (tell, told) = oneshot::channel();
                    state.told.insert(number, tell);
                    (number, told)
                }
            }
        };
        let _line = InLine { places: self, number };
        loop {
            // Time alone may have made it somebody's turn.
            self.pass_on(|turns| turns.next(Instant::now()));
            if let Ok(told) = tokio::time::timeout(ALONE_AFTER, &mut told).await {
                return told.map_err(|e| BundleError::Internal {
                    what: "the bundler is closed",
                    source: Box::new(e),
                });
            }
        }
    }

    /// Tells those whose turn it is now.
    fn pass_on(&self, next: impl FnOnce(&mut Turns) -> Vec<(u64, Arc<str>)>) {
        let next = {
            let mut state = self.0.lock();
            let next = next(&mut state.turns);
            next.into_iter()
                .filter_map(|(number, who)| Some((state.told.remove(&number)?, who)))
                .collect::<Vec<_>>()
        };
        for (tell, who) in next {
            // Whoever went away in this instant drops the place, which gives it to the next.
            drop(tell.send(self.place(who)));
        }
    }

    fn place(&self, who: Arc<str>) -> Place {
        Place { places: self.clone(), who }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.pass_on(|turns| turns.give_back(&self.who, Instant::now()));
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
            state.turns.leave(self.number, Instant::now());
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
    /// Until when an organization had a place or asked for one; nobody who did not within
    /// [`ALONE_AFTER`].
    seen: HashMap<Arc<str>, Instant>,
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
        Self {
            free,
            next_number: 0,
            held: HashMap::new(),
            lines: VecDeque::new(),
            seen: HashMap::new(),
        }
    }

    fn held(&self, who: &Arc<str>) -> usize {
        self.held.get(who).copied().unwrap_or(0)
    }

    fn see(&mut self, who: Arc<str>, now: Instant) {
        self.seen.retain(|_, seen| now.duration_since(*seen) < ALONE_AFTER);
        self.seen.insert(who, now);
    }

    /// Whether one who asked at `now` or before may have another place of this kind, where one is
    /// free.
    fn may(&self, who: &Arc<str>, places_max: usize, now: Instant) -> bool {
        let is_other = |other: &Arc<str>| other != who;
        let others_seen = || {
            self.seen
                .iter()
                .any(|(other, seen)| is_other(other) && now.duration_since(*seen) < ALONE_AFTER)
        };
        let is_alone = || {
            !self.held.keys().any(is_other)
                && !self.lines.iter().any(|line| is_other(&line.who))
                && !others_seen()
        };
        match self.held(who) {
            0 => places_max > 0,
            held => held < places_max && is_alone(),
        }
    }

    /// Who of a line is its first that may have a place.
    fn fitting(&self, line: &Line, now: Instant) -> Option<usize> {
        line.waiting.iter().position(|(_, places_max)| self.may(&line.who, *places_max, now))
    }

    fn ask(&mut self, who: &Arc<str>, share: Share, now: Instant) -> Asked {
        self.see(who.clone(), now);
        // Of others nobody waits who may have a free place; of its own those may to whom time alone
        // gave it.
        let is_first =
            !self.lines.iter().any(|line| line.who == *who && self.fitting(line, now).is_some());
        if self.free > 0 && is_first && self.may(who, share.places_max, now) {
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
    fn give_back(&mut self, who: &Arc<str>, now: Instant) -> Vec<(u64, Arc<str>)> {
        self.see(who.clone(), now);
        self.free += 1;
        match self.held.get_mut(who) {
            Some(held) if *held > 1 => *held -= 1,
            _ => drop(self.held.remove(who)),
        }
        self.next(now)
    }

    /// Those whose turn it is.
    fn next(&mut self, now: Instant) -> Vec<(u64, Arc<str>)> {
        std::iter::from_fn(|| self.next_one(now)).collect()
    }

    fn next_one(&mut self, now: Instant) -> Option<(u64, Arc<str>)> {
        if self.free == 0 {
            return None;
        }
        // Who has a place already may have another only where nobody else waits.
        let (at, nth) = self
            .lines
            .iter()
            .enumerate()
            .find_map(|(at, line)| Some((at, self.fitting(line, now)?)))?;
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

    fn leave(&mut self, number: u64, now: Instant) {
        let waits = |line: &&mut Line| line.waiting.iter().any(|(waits, _)| *waits == number);
        if let Some(line) = self.lines.iter_mut().find(waits) {
            line.waiting.retain(|(waits, _)| *waits != number);
            let who = line.who.clone();
            self.see(who, now);
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
    fn served(turns: &mut Turns, first: &str, now: Instant) -> String {
        let (mut order, mut giving) = (String::new(), vec![who(first)]);
        while let Some(one) = giving.pop() {
            for (_, next) in turns.give_back(&one, now) {
                order.push_str(&next);
                giving.insert(0, next);
            }
        }
        order
    }

    #[test]
    fn those_without_a_place_come_first_and_take_turns() {
        let (mut turns, now) = (Turns::new(2), Instant::now());
        let (a, b, c) = (who("a"), who("b"), who("c"));
        for _ in 0..2 {
            assert_eq!(turns.ask(&a, SHARE, now), Asked::Taken, "alone it has all");
        }
        for one in [&a, &a, &a, &b, &b, &c] {
            assert!(matches!(turns.ask(one, SHARE, now), Asked::Waits(_)));
        }
        // One place of `a` stays taken, and it gets no other so soon after the others.
        assert_eq!(served(&mut turns, "a", now), "bcb");
        assert_eq!((turns.free, turns.held(&a), turns.lines.len()), (1, 1, 1));
        assert_eq!(turns.next(now + ALONE_AFTER), [(1, a.clone())], "alone it has all");
        assert_eq!(served(&mut turns, "a", now + ALONE_AFTER), "aa");
    }

    #[test]
    fn a_second_place_is_for_who_was_alone_for_a_minute() {
        let (mut turns, start) = (Turns::new(2), Instant::now());
        let (a, b) = (who("a"), who("b"));
        let at = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(
            [turns.ask(&a, SHARE, at(0)), turns.ask(&a, SHARE, at(0))],
            [Asked::Taken, Asked::Taken]
        );
        assert_eq!(
            [turns.ask(&a, SHARE, at(0)), turns.ask(&b, SHARE, at(0))],
            [Asked::Waits(1), Asked::Waits(2)]
        );
        assert_eq!(turns.give_back(&a, at(50)), [(2, b.clone())], "the others wait once");
        assert_eq!(turns.give_back(&b, at(51)), [], "and find a place free the next time");
        assert_eq!(turns.ask(&b, SHARE, at(110)), Asked::Taken);
        assert_eq!(turns.give_back(&b, at(120)), []);
        // Whoever was refused, or waited in vain, asked as well.
        assert_eq!(turns.ask(&b, SHARE, at(121)), Asked::Taken);
        let nobody = Share { waiting_max: 0, ..SHARE };
        assert_eq!(
            [turns.ask(&b, nobody, at(130)), turns.ask(&b, SHARE, at(130))],
            [Asked::Refused, Asked::Waits(3)]
        );
        turns.leave(3, at(140));
        assert_eq!(turns.next(at(199)), [], "it has a place still");
        assert_eq!(turns.give_back(&b, at(140)), []);
        assert_eq!(turns.next(at(199)), []);
        // Who asked before comes first, also where nothing but time gave it the place.
        assert_eq!(turns.ask(&a, SHARE, at(200)), Asked::Waits(4));
        assert_eq!(turns.next(at(200)), [(1, a.clone())]);
        assert_eq!((turns.free, turns.held(&a), turns.seen.len()), (0, 2, 1));
    }

    #[test]
    fn no_more_wait_than_may_and_of_each_organization_so_many() {
        let (mut turns, now) = (Turns::new(1), Instant::now());
        let (a, b) = (who("a"), who("b"));
        let asked =
            |turns: &mut Turns, one| (0..5).map(|_| turns.ask(one, SHARE, now)).collect::<Vec<_>>();
        assert_eq!(
            asked(&mut turns, &a),
            [Asked::Taken, Asked::Waits(1), Asked::Waits(2), Asked::Waits(3), Asked::Refused]
        );
        assert_eq!(asked(&mut turns, &b)[2..], [Asked::Waits(6), Asked::Refused, Asked::Refused]);
        turns.leave(5, now);
        assert_eq!(turns.ask(&b, SHARE, now), Asked::Waits(7));
        let nobody = Share { waiting_max: 0, ..SHARE };
        assert_eq!((turns.ask(&who("c"), nobody, now), turns.lines.len()), (Asked::Refused, 2));
    }

    #[test]
    fn a_share_of_one_place_leaves_the_others_free() {
        let (mut turns, now) = (Turns::new(2), Instant::now());
        let (a, b, one) = (who("a"), who("b"), Share { places_max: 1, ..SHARE });
        assert_eq!(
            [turns.ask(&a, one, now), turns.ask(&a, one, now)],
            [Asked::Taken, Asked::Waits(1)]
        );
        assert_eq!(
            turns.ask(&a, SHARE, now),
            Asked::Taken,
            "what is not bound so goes past what is"
        );
        assert_eq!(turns.give_back(&a, now), [], "one is held still");
        assert_eq!(turns.ask(&b, one, now), Asked::Taken);
        assert_eq!(turns.give_back(&a, now), [(1, a.clone())]);
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
        assert_eq!(
            (state.turns.free, state.turns.held.len(), state.turns.lines.len(), state.told.len()),
            (1, 0, 0, 0)
        );
    }

    fn futures_are_pending<T>(future: std::pin::Pin<&mut impl Future<Output = T>>) -> bool {
        future.poll(&mut std::task::Context::from_waker(std::task::Waker::noop())).is_pending()
    }
}
