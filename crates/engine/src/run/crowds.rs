//! Where the server waits for processors, an owner with more than its share of the runs gives way
//! to others: it gets fewer places at once, until there is enough for all. Only while others are at
//! work: what one does alone is in nobody's way.
//!
//! Owners, not organizations: one that has many workflows has more of them than processes
//! (`hosts_max`). With fewer places these would have nothing to do in between and end for each
//! other, and to start them costs more than was saved (`bench/NEIGHBOURS.md`).

use std::collections::HashMap;
use std::time::Duration;

use millrace_runner::{OwnMeter, Taken};
use tokio::time::Instant;

use crate::Engine;
use crate::background::{Activation, Background, Next, Task};

/// How often it is looked who has how much.
const LOOK: Duration = Duration::from_millis(250);
/// For how long others are left room after one of their runs.
const AT_WORK: Duration = Duration::from_secs(10);

/// What one keeps of its places however short processors are, which may be for reasons of others:
/// an eighth.
const KEPT: usize = 8;

/// Runs that ended, by owner.
#[derive(Default)]
pub(crate) struct Ended(HashMap<String, OfOwner>);

struct OfOwner {
    at: Instant,
    /// Since the last look.
    count: u64,
}

/// What one owner has of the places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Holds {
    pub(crate) taken: usize,
    pub(crate) waiting: usize,
    /// Runs that ended since the last look.
    pub(crate) ended: u64,
}

/// By id of the owner.
pub(crate) type AtWork = HashMap<String, Holds>;

/// Places that those who give way may have at most, by id of the owner.
pub(crate) type Bounds = HashMap<String, usize>;

impl Ended {
    pub(crate) fn add(&mut self, owner: &str, at: Instant) {
        match self.0.get_mut(owner) {
            Some(of_owner) => (of_owner.at, of_owner.count) = (at, of_owner.count + 1),
            None => _ = self.0.insert(owner.to_owned(), OfOwner { at, count: 1 }),
        }
    }

    /// Those that were at work lately; counts anew.
    pub(crate) fn take(&mut self, now: Instant) -> AtWork {
        let mut at_work = AtWork::new();
        self.0.retain(|owner, of_owner| {
            let ended = std::mem::take(&mut of_owner.count);
            let is_at_work = now.duration_since(of_owner.at) < AT_WORK;
            if is_at_work {
                at_work.insert(owner.clone(), Holds { ended, ..Holds::default() });
            }
            is_at_work
        });
        at_work
    }
}

/// Whether the server gets the processors that it wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Supply {
    Short,
    /// Neither: what is so is left so.
    Enough,
    Ample,
}

impl Supply {
    /// A thread that wakes up waits for its turn, and a request wakes several one after the other:
    /// where they wait nearly as long as they work, it takes twice the time.
    fn of(taken: Taken) -> Self {
        match taken {
            Taken { used, waited } if waited >= used * 4 / 5 && !used.is_zero() => Self::Short,
            Taken { used, waited } if waited >= used * 3 / 5 && !used.is_zero() => Self::Enough,
            _ => Self::Ample,
        }
    }
}

/// Sets the bounds anew of those at work, of whom none ever has more than `max` places.
pub(crate) fn adjust(bounds: &mut Bounds, at_work: &AtWork, max: usize, supply: Supply) {
    if at_work.len() < 2 {
        bounds.clear();
        return;
    }
    let all: u64 = at_work.values().map(|holds| holds.ended).sum();
    let share = all / at_work.len() as u64;
    bounds.retain(|id, _| at_work.contains_key(id));
    for (id, holds) in at_work {
        let bound = bounds.get(id).copied();
        let now = bound.unwrap_or(max);
        let next = match supply {
            // Fewer than it has, which may be less than it might.
            Supply::Short if holds.waiting > 0 && holds.ended > share => {
                (now.min(holds.taken) * 4 / 5).max(max.div_ceil(KEPT))
            }
            Supply::Short | Supply::Enough if holds.ended >= share => now,
            _ => now + now / 8 + 1,
        };
        if next >= max {
            bounds.remove(id);
        } else if bound != Some(next) {
            bounds.insert(id.clone(), next);
        }
    }
}

/// Lowers and raises the bounds of the owners, by how long the server waits for processors.
pub(crate) struct CrowdWatch {
    pub(crate) engine: Engine,
    pub(crate) meter: OwnMeter,
}

impl Background for CrowdWatch {
    const TASK: Task = Task::ConcurrencyLimiter;
    // Others go before, and what waits then has its places back.
    const TO_THE_END: bool = true;
    const DELAY: Duration = LOOK;

    async fn activate(&mut self, _: &Activation) -> Next {
        // Where the kernel does not tell how long anybody waits, nobody is held back.
        let supply = self.meter.look().map_or(Supply::Ample, Supply::of);
        self.engine.0.places.make_way(supply, Instant::now());
        Next::After(LOOK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(holds: &[(&str, usize, usize, u64)]) -> AtWork {
        holds
            .iter()
            .map(|(id, taken, waiting, ended)| {
                ((*id).to_owned(), Holds { taken: *taken, waiting: *waiting, ended: *ended })
            })
            .collect()
    }

    #[test]
    fn whoever_has_more_than_its_share_gives_way_until_there_is_enough() {
        let mut bounds = Bounds::new();
        let flood = |taken, ended| level(&[("flood", taken, 1000, ended), ("other", 1, 0, 20)]);
        adjust(&mut bounds, &level(&[("flood", 128, 1000, 300)]), 128, Supply::Short);
        assert!(bounds.is_empty(), "it is alone");
        adjust(&mut bounds, &flood(128, 300), 128, Supply::Ample);
        assert!(bounds.is_empty(), "there is enough");
        let mut taken = 128;
        for expected in [102, 81, 64] {
            adjust(&mut bounds, &flood(taken, 300), 128, Supply::Short);
            taken = bounds["flood"];
            assert_eq!((taken, bounds.len()), (expected, 1));
        }
        adjust(&mut bounds, &flood(64, 300), 128, Supply::Enough);
        assert_eq!(bounds["flood"], 64);
        adjust(&mut bounds, &flood(64, 15), 128, Supply::Short);
        assert_eq!(bounds["flood"], 73, "the other has more");
        for _ in 0..8 {
            adjust(&mut bounds, &flood(64, 300), 128, Supply::Ample);
        }
        assert!(bounds.is_empty(), "nothing is left of it");
    }

    #[test]
    fn what_waits_for_itself_is_held_back_by_nobody_else_s_flood() {
        let mut bounds = Bounds::new();
        for _ in 0..40 {
            let flooded = bounds.get("flood").copied().unwrap_or(128);
            adjust(
                &mut bounds,
                &level(&[("flood", flooded, 9, 400), ("slow", 100, 5, 2), ("small", 1, 0, 20)]),
                128,
                Supply::Short,
            );
        }
        assert_eq!((bounds.len(), bounds["flood"]), (1, 16), "some places it always has");
    }

    #[test]
    fn who_was_at_work_lately_is_known_for_a_while() {
        let (mut ended, start) = (Ended::default(), Instant::now());
        ended.add("one", start);
        ended.add("one", start);
        ended.add("two", start + AT_WORK / 2);
        let at_work = ended.take(start + AT_WORK / 2);
        assert_eq!((at_work["one"].ended, at_work["two"].ended), (2, 1));
        let at_work = ended.take(start + AT_WORK);
        assert_eq!((at_work.len(), at_work["two"].ended), (1, 0), "it is counted once");
    }

    #[test]
    fn waiting_as_long_as_working_is_too_long() {
        let took = |used, waited| {
            Supply::of(Taken {
                used: Duration::from_millis(used),
                waited: Duration::from_millis(waited),
            })
        };
        assert_eq!(
            (took(100, 80), took(100, 79), took(100, 60), took(100, 59)),
            (Supply::Short, Supply::Enough, Supply::Enough, Supply::Ample)
        );
        assert_eq!((took(0, 0), took(0, 10)), (Supply::Ample, Supply::Ample));
    }
}
