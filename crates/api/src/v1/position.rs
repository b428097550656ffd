//! Position of a client in a topic of a stream: what the topic sent it, in a short text that its
//! next request gives back.

use std::collections::BTreeSet;
use std::str::FromStr;

use millrace_model::ids::EventId;

/// A run may be committed after one that was accepted later, an event after one with a greater id,
/// by so much at most: transactions overlap, and clocks of servers differ.
pub(crate) const OUT_OF_ORDER_MS: i64 = 5_000;
/// Numbers above `low`; with more of them `low` rises.
const ABOVE_MAX: usize = 64;

/// Numbers that order a topic's frames: of events their ordinals, else milliseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Position {
    /// The client has all up to this one.
    low: i64,
    /// What it has beyond that: a lesser one that it does not have may still be committed.
    above: BTreeSet<i64>,
}

impl From<i64> for Position {
    fn from(low: i64) -> Self {
        Self { low, above: BTreeSet::new() }
    }
}

impl From<EventId> for Position {
    fn from(id: EventId) -> Self {
        id.ordinal().into()
    }
}

impl Position {
    pub(crate) const fn low(&self) -> i64 {
        self.low
    }

    /// Ids of the events that the client has beyond `low`.
    pub(crate) fn events_above(&self) -> impl Iterator<Item = EventId> {
        self.above.iter().copied().map(EventId::from_ordinal)
    }

    /// Notes an event that the client gets.
    pub(crate) fn add(&mut self, event: EventId) {
        if event.ordinal() <= self.low {
            return;
        }
        self.above.insert(event.ordinal());
        let newest = EventId::from_ordinal(self.above.last().copied().unwrap_or(self.low));
        let window = EventId { ms: (newest.ms - OUT_OF_ORDER_MS).max(0), seq: 0 };
        self.low = self.low.max(window.ordinal());
        self.above = self.above.split_off(&(self.low + 1));
        while self.above.len() > ABOVE_MAX
            && let Some(least) = self.above.pop_first()
        {
            self.low = least;
        }
    }
}

impl std::fmt::Display for Position {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.low)?;
        self.above.iter().try_for_each(|number| write!(f, ".{:x}", number - self.low))
    }
}

impl FromStr for Position {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut parts = text.split('.');
        let low: i64 = parts.next().and_then(|part| part.parse().ok()).ok_or(())?;
        let above: BTreeSet<i64> = parts
            .map(|part| {
                let more = i64::from_str_radix(part, 16).ok().filter(|more| *more > 0).ok_or(())?;
                low.checked_add(more).ok_or(())
            })
            .collect::<Result<_, _>>()?;
        (above.len() <= ABOVE_MAX).then_some(Self { low, above }).ok_or(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(ms: i64, seq: i64) -> EventId {
        EventId { ms, seq }
    }

    #[test]
    fn an_event_of_the_same_instant_that_is_committed_later_is_not_taken_as_sent() {
        let mut position = Position::from(id(1_000_000, 0));
        position.add(id(1_000_001, 7));
        assert!(position.low() < id(1_000_001, 3).ordinal());
        assert_eq!(position.events_above().collect::<Vec<_>>(), [id(1_000_001, 7)]);
        position.add(id(1_000_001, 3));
        let read: Position = position.to_string().parse().unwrap();
        assert_eq!(read, position);
        assert_eq!(read.events_above().collect::<Vec<_>>(), [id(1_000_001, 3), id(1_000_001, 7)]);
    }

    #[test]
    fn a_position_stays_short() {
        let mut position = Position::default();
        position.add(id(50_000, 0));
        position.add(id(54_999, 0));
        assert_eq!(position.events_above().count(), 2);
        position.add(id(55_001, 0));
        assert_eq!(
            position.events_above().collect::<Vec<_>>(),
            [id(54_999, 0), id(55_001, 0)],
            "what is older than the window counts as sent"
        );
        for seq in 1..1_000 {
            position.add(id(55_001, seq));
        }
        assert_eq!(position.events_above().count(), ABOVE_MAX);
        assert_eq!(position.low(), id(55_001, 999 - ABOVE_MAX as i64).ordinal());
    }

    #[test]
    fn what_is_no_position_is_refused() {
        assert_eq!("17".parse(), Ok(Position::from(17)));
        let endless =
            format!("1{}", (1..=ABOVE_MAX + 1).map(|n| format!(".{n:x}")).collect::<String>());
        for text in ["", "a", "1.", "1.x", "1.0", "1.-1", "9223372036854775807.1", &endless] {
            assert_eq!(text.parse::<Position>(), Err(()), "{text}");
        }
    }
}
