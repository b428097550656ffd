//! Which server runs a source that has a `$.service.db`. Runs share a map while they go on (invariant 3), which is one server's: where servers
//! share a database, one of them at a time has the source's seat, and runs it. It keeps the seat until another asks for it, and leaves it once all of
//! its runs that go on have settled. A server that is alone needs none, and only counts who would sit.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::time::Duration;

use millrace_model::error_chain;
use millrace_model::ids::SourceId;
use millrace_store::{News, StoreResult};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::Engine;

/// How long a run waits for the seat while no run of the source ends. One that goes on for longer than this elsewhere, or waits itself for what
/// waits here (a request that the source makes to its own endpoint), is not waited for.
const WAIT_MAX: Duration = Duration::from_secs(15);
/// How often who waits asks again, though nothing was heard.
const ASK_EVERY: Duration = Duration::from_millis(250);

/// Between two looks at the seat so much time may go by; where there is more, this server stood still or its database did not answer.
const LOOK_MAX: Duration = Duration::from_secs(1);

/// The seats of the sources that run here.
#[derive(Default)]
pub(crate) struct Seats {
    sources: Mutex<HashMap<SourceId, Seat>>,
    changed: Notify,
    /// When a run of a source ended last on the server that has its seat, as far as that was heard while somebody here waited.
    moved: Mutex<HashMap<SourceId, Instant>>,
}

/// What a server has of a seat.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Has {
    #[default]
    Nothing,
    /// Nobody else uses the database, so that it needs none.
    NoNeed,
    /// It is being asked for, or left.
    Between,
    Seat,
}

#[derive(Default)]
struct Seat {
    has: Has,
    /// Runs under way.
    guests: usize,
    /// Another server asked for it.
    is_wanted: bool,
    /// Whether a run ended since those who wait were told so.
    has_moved: bool,
}

/// What one who wants to sit does next.
enum Next {
    Sit,
    Ask,
    Wait,
}

impl Seats {
    fn next(&self, source: &SourceId, is_alone: bool) -> Next {
        let mut sources = self.sources.lock();
        let seat = sources.entry(source.clone()).or_default();
        match seat.has {
            Has::Seat if !seat.is_wanted => {}
            Has::NoNeed if is_alone => {}
            Has::Nothing if is_alone => seat.has = Has::NoNeed,
            Has::Nothing | Has::NoNeed => {
                seat.has = Has::Between;
                return Next::Ask;
            }
            Has::Between | Has::Seat => return Next::Wait,
        }
        seat.guests += 1;
        Next::Sit
    }

    /// Ends [`Has::Between`].
    fn settle(&self, source: &SourceId, has: Has) {
        let mut sources = self.sources.lock();
        if let Entry::Occupied(mut entry) = sources.entry(source.clone()) {
            let seat = entry.get_mut();
            (seat.has, seat.is_wanted) = (has, false);
            if has == Has::Nothing && seat.guests == 0 {
                entry.remove();
            }
        }
        drop(sources);
        self.changed.notify_waiters();
    }

    /// One run less; whether the seat is to be left.
    fn rise(&self, source: &SourceId) -> bool {
        let mut sources = self.sources.lock();
        let Entry::Occupied(mut entry) = sources.entry(source.clone()) else { return false };
        let seat = entry.get_mut();
        seat.guests = seat.guests.saturating_sub(1);
        if seat.has == Has::Seat && seat.is_wanted {
            seat.has_moved = true;
            self.moved(source);
        }
        match seat.has {
            Has::Seat if seat.guests == 0 && seat.is_wanted => {
                seat.has = Has::Between;
                true
            }
            Has::Nothing | Has::NoNeed if seat.guests == 0 => {
                entry.remove();
                false
            }
            _ => false,
        }
    }

    /// Another server asks for the seat; whether it is to be left at once.
    fn asked(&self, source: &SourceId) -> bool {
        let mut sources = self.sources.lock();
        let seat = sources.entry(source.clone()).or_default();
        match seat.has {
            Has::Seat if seat.guests > 0 => seat.is_wanted = true,
            // Nothing: the database may say that this server has it, where it could not be left before.
            Has::Seat | Has::Nothing if seat.guests == 0 => {
                seat.has = Has::Between;
                return true;
            }
            _ => {}
        }
        false
    }

    /// Whether a run of the source, which another server waits for, ended here since this was asked last.
    fn has_moved(&self, source: &SourceId) -> bool {
        self.sources.lock().get_mut(source).is_some_and(|seat| std::mem::take(&mut seat.has_moved))
    }

    /// A run of the source ended where its seat is.
    pub(crate) fn moved(&self, source: &SourceId) {
        let (mut moved, now) = (self.moved.lock(), Instant::now());
        moved.retain(|_, at| now.duration_since(*at) < WAIT_MAX);
        moved.insert(source.clone(), now);
    }

    /// Until when to wait for the seat, for who has waited since then.
    fn patience(&self, source: &SourceId, since: Instant) -> Instant {
        self.moved.lock().get(source).map_or(since, |moved| since.max(*moved)) + WAIT_MAX
    }

    /// Sources that run here without a seat, now being asked for.
    fn seatless(&self) -> Vec<SourceId> {
        let mut sources = self.sources.lock();
        let without = sources.iter_mut().filter(|(_, seat)| seat.has == Has::NoNeed);
        without
            .map(|(source, seat)| {
                seat.has = Has::Between;
                source.clone()
            })
            .collect()
    }

    /// Whoever was not heard for so long may have lost its seats to others: they are asked for again.
    pub(crate) fn doubt(&self) {
        let mut sources = self.sources.lock();
        for seat in sources.values_mut().filter(|seat| seat.has == Has::Seat) {
            seat.has = Has::Nothing;
        }
        sources.retain(|_, seat| seat.has != Has::Nothing || seat.guests > 0);
    }

    /// The source is gone.
    pub(crate) fn forget(&self, source: &SourceId) {
        if let Entry::Occupied(entry) = self.sources.lock().entry(source.clone())
            && entry.get().guests == 0
            && entry.get().has != Has::Between
        {
            entry.remove();
        }
    }

    /// A seat may be free by now.
    pub(crate) fn look_again(&self) {
        self.changed.notify_waiters();
    }
}

/// A run's part of its server's seat, until it is dropped.
pub(crate) struct Sitting {
    engine: Engine,
    source: SourceId,
}

impl Drop for Sitting {
    fn drop(&mut self) {
        if self.engine.0.seats.rise(&self.source) {
            self.engine.leave_seat(&self.source);
        }
    }
}

/// How long somebody has waited for a seat.
struct Waiting {
    since: Instant,
    looked: Instant,
}

impl Waiting {
    fn begin() -> Self {
        let now = Instant::now();
        Self { since: now, looked: now }
    }

    /// Since when, at this look. Time in which nothing could be heard says nothing of whoever has the seat, and is not counted.
    fn look(&mut self) -> Instant {
        let now = Instant::now();
        self.since += now.duration_since(self.looked).saturating_sub(LOOK_MAX);
        self.looked = now;
        self.since
    }
}

/// Gives up asking where whoever asks is gone.
struct Asking<'a>(&'a Seats, &'a SourceId, Has);

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.0.settle(self.1, self.2);
    }
}

impl Engine {
    /// Waits until this server may run the source. None where no other server can, and where the one that runs it goes on for too long.
    pub(crate) async fn sit(&self, source: &SourceId) -> StoreResult<Option<Sitting>> {
        if self.0.store.single_node() {
            return Ok(None);
        }
        let mut waiting = Waiting::begin();
        loop {
            let mut changed = std::pin::pin!(self.0.seats.changed.notified());
            // Before the look, so that no change after it is missed.
            changed.as_mut().enable();
            let has_come = match self.0.seats.next(source, self.is_alone()) {
                Next::Sit => return Ok(Some(Sitting { engine: self.clone(), source: source.clone() })),
                Next::Ask => self.ask_for_seat(source).await?,
                Next::Wait => false,
            };
            if has_come {
                continue;
            }
            let since = waiting.look();
            if Instant::now() >= self.0.seats.patience(source, since) {
                tracing::warn!(source.id = %source, "another server runs this source and does not end; of writes of both to one key of its `$.service.db` the last stands");
                return Ok(None);
            }
            tokio::select! {
                () = changed => {}
                () = tokio::time::sleep(ASK_EVERY) => {}
            }
        }
    }

    /// Whether the seat is this server's. It is between others meanwhile.
    async fn ask_for_seat(&self, source: &SourceId) -> StoreResult<bool> {
        let mut asking = Asking(&self.0.seats, source, Has::Nothing);
        let is_taken = self.0.store.take_seat(source, &self.0.node).await?;
        if is_taken {
            asking.2 = Has::Seat;
        } else {
            self.tell_others(|| News::SeatAsked(source.clone()));
        }
        Ok(is_taken)
    }

    /// In the background; it is between others meanwhile.
    fn leave_seat(&self, source: &SourceId) {
        let (engine, source) = (self.clone(), source.clone());
        self.0.tasks.spawn(async move {
            let left = engine.0.store.leave_seat(&source, &engine.0.node).await;
            engine.0.seats.settle(&source, Has::Nothing);
            match left {
                Ok(()) => engine.tell_others(|| News::SeatLeft(source.clone())),
                // Whoever wants it asks again.
                Err(error) => tracing::warn!(source.id = %source, error = error_chain(&error), "a source could not be left to another server"),
            }
        });
    }

    /// Another server waits for the seat.
    pub(crate) fn seat_asked(&self, source: &SourceId) {
        if self.0.seats.asked(source) {
            self.leave_seat(source);
        } else if self.0.seats.has_moved(source) {
            self.tell_others(|| News::SeatMoved(source.clone()));
        }
    }

    /// Another server has come: what runs here gets its seats.
    pub(crate) fn take_seats(&self) {
        for source in self.0.seats.seatless() {
            let engine = self.clone();
            self.0.tasks.spawn(async move {
                if let Err(error) = engine.ask_for_seat(&source).await {
                    tracing::warn!(source.id = %source, error = error_chain(&error), "could not say that this server runs a source");
                }
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use millrace_model::IdSource;

    use super::*;

    fn source() -> SourceId {
        SourceId::generate(&IdSource::default())
    }

    fn sits(seats: &Seats, source: &SourceId, is_alone: bool) -> bool {
        matches!(seats.next(source, is_alone), Next::Sit)
    }

    #[test]
    fn alone_nothing_is_asked_for_and_nothing_is_left() {
        let (seats, source) = (Seats::default(), source());
        assert!(sits(&seats, &source, true) && sits(&seats, &source, true));
        assert!(!seats.asked(&source));
        assert!(!seats.rise(&source) && !seats.rise(&source));
        assert!(seats.sources.lock().is_empty());
    }

    #[test]
    fn a_seat_is_asked_for_once_and_kept() {
        let (seats, source) = (Seats::default(), source());
        assert!(matches!(seats.next(&source, false), Next::Ask));
        assert!(matches!(seats.next(&source, false), Next::Wait), "one asks for all");
        seats.settle(&source, Has::Seat);
        assert!(sits(&seats, &source, false) && !seats.rise(&source));
        assert!(sits(&seats, &source, false), "also once nobody sat");
        seats.forget(&source);
        assert!(!seats.rise(&source));
        seats.forget(&source);
        assert!(seats.sources.lock().is_empty());
    }

    #[test]
    fn a_seat_that_is_wanted_is_left_once_all_have_risen_and_nobody_sits_meanwhile() {
        let (seats, source) = (Seats::default(), source());
        seats.next(&source, false);
        seats.settle(&source, Has::Seat);
        assert!(sits(&seats, &source, false) && sits(&seats, &source, false));
        assert!(!seats.asked(&source));
        assert!(matches!(seats.next(&source, false), Next::Wait));
        assert!(!seats.rise(&source) && seats.rise(&source));
        assert!(matches!(seats.next(&source, false), Next::Wait), "it is being left");
        seats.settle(&source, Has::Nothing);
        assert!(matches!(seats.next(&source, false), Next::Ask), "it has to be asked for again");
        seats.settle(&source, Has::Seat);
        assert!(seats.asked(&source), "nobody sits: at once");
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_does_so_for_as_long_as_runs_end_where_the_seat_is() {
        let (here, there, source) = (Seats::default(), Seats::default(), source());
        there.next(&source, false);
        there.settle(&source, Has::Seat);
        assert!(sits(&there, &source, false) && sits(&there, &source, false) && sits(&there, &source, false));
        let since = Instant::now();
        assert!(!there.asked(&source) && !there.has_moved(&source), "nothing ended yet");
        tokio::time::advance(WAIT_MAX / 2).await;
        assert!(!there.rise(&source) && there.has_moved(&source) && !there.has_moved(&source), "each end is told once");
        here.moved(&source);
        assert_eq!(here.patience(&source, since), since + WAIT_MAX / 2 + WAIT_MAX);
        assert_eq!(here.patience(&self::source(), since), since + WAIT_MAX, "other sources move nothing");
        // Its own runs count too, for those who came while the seat was wanted.
        assert_eq!(there.patience(&source, since), since + WAIT_MAX / 2 + WAIT_MAX);
        // Nothing ends any more.
        tokio::time::advance(WAIT_MAX).await;
        assert!(Instant::now() >= here.patience(&source, since) && !there.has_moved(&source));
    }

    #[tokio::test(start_paused = true)]
    async fn time_in_which_nothing_could_be_heard_is_not_waited() {
        let (seats, source, mut waiting) = (Seats::default(), source(), Waiting::begin());
        let is_over = |waiting: &mut Waiting| {
            let since = waiting.look();
            Instant::now() >= seats.patience(&source, since)
        };
        // Cut off, or stopped, for long: what has gone by is one look.
        tokio::time::advance(WAIT_MAX * 3).await;
        assert!(!is_over(&mut waiting));
        let rest = WAIT_MAX - LOOK_MAX;
        for _ in 0..rest.as_millis() / ASK_EVERY.as_millis() - 1 {
            tokio::time::advance(ASK_EVERY).await;
            assert!(!is_over(&mut waiting));
        }
        tokio::time::advance(ASK_EVERY).await;
        assert!(is_over(&mut waiting), "the other does not end");
    }

    #[test]
    fn who_ran_alone_asks_once_another_server_comes() {
        let (seats, source) = (Seats::default(), source());
        assert!(sits(&seats, &source, true));
        assert_eq!(seats.seatless(), std::slice::from_ref(&source));
        assert!(matches!(seats.next(&source, false), Next::Wait));
        seats.settle(&source, Has::Seat);
        assert!(!seats.asked(&source) && seats.rise(&source), "what ran already counts");
        let (other, doubted) = (self::source(), Seats::default());
        doubted.next(&other, false);
        doubted.settle(&other, Has::Seat);
        assert!(sits(&doubted, &other, false));
        doubted.doubt();
        assert!(matches!(doubted.next(&other, false), Next::Ask));
    }
}
