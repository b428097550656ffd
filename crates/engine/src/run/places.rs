//! Places for runs under way, and who gets the next one: whoever has the fewest, first among
//! organizations, then among the owners of one. However much one asks for, another waits for a
//! place to become free, not for the end of that flood. Who gives way (`crowds`) may have fewer.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use millrace_model::ids::OrgId;
use millrace_model::source::Owner;
use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

use crate::run::crowds::{self, AtWork, Bounds, Ended, Supply};

/// Bounds of places. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Places(Arc<Inner>);

struct Inner {
    /// Runs under way at once.
    taken_max: usize,
    /// Accepted runs that wait for a place, in all.
    waiting_max: usize,
    /// Bytes of their events, which are kept in memory.
    bytes_max: usize,
    state: Mutex<State>,
    /// Told when a place becomes free or somebody stops waiting.
    changed: Notify,
    /// Told when nobody has or waits for a place.
    idle: Notify,
}

#[derive(Default)]
struct State {
    taken: usize,
    waiting: usize,
    /// Of the events of those who wait.
    bytes: usize,
    /// Of those who wait, runs claimed from the queue.
    claimed: usize,
    ticket: u64,
    /// Those who have or wait for places.
    organizations: HashMap<String, Organization>,
    ended: Ended,
    /// Of owners that give way to others.
    bounds: Bounds,
}

/// What all of one have and wait for.
#[derive(Default)]
struct Organization {
    taken: usize,
    waiting: usize,
    bytes: usize,
    owners: HashMap<String, Share>,
}

/// What one owner has and waits for.
#[derive(Default)]
struct Share {
    taken: usize,
    /// Admitted and without a place: those in `queue`, and those who are not there yet.
    waiting: usize,
    /// Of the events of those.
    bytes: usize,
    queue: VecDeque<Turn>,
}

/// One in a queue.
struct Turn {
    ticket: u64,
    bytes: usize,
    is_claimed: bool,
    tell: oneshot::Sender<Place>,
}

/// The right to wait for a place. Given up when dropped.
pub(crate) struct Admission {
    places: Places,
    org: String,
    owner: String,
    bytes: usize,
    is_claimed: bool,
    is_queued: bool,
}

/// A place for one run under way. Given back when dropped.
pub(crate) struct Place {
    places: Places,
    org: String,
    owner: String,
}

impl Places {
    pub(crate) fn new(taken_max: usize, waiting_max: usize, bytes_max: usize) -> Self {
        Self(Arc::new(Inner {
            taken_max,
            waiting_max,
            bytes_max,
            state: Mutex::default(),
            changed: Notify::new(),
            idle: Notify::new(),
        }))
    }

    /// How many are taken, and how many wait for one.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let state = self.0.state.lock();
        (state.taken, state.waiting)
    }

    /// Lets one more run of an owner wait; `bytes`: of its event. None where too many, or too many
    /// bytes, of its own or in all wait already. Half of the room is kept for others, and a quarter
    /// for other organizations.
    pub(crate) fn admit(&self, org: &OrgId, owner: &Owner, bytes: usize) -> Option<Admission> {
        {
            let state = self.0.state.lock();
            let organization = state.organizations.get(org.as_str());
            let share = organization.and_then(|o| o.owners.get(owner.as_str()));
            let (own, own_bytes) = share.map_or((0, 0), |share| (share.waiting, share.bytes));
            let (of_org, bytes_of_org) = organization.map_or((0, 0), |o| (o.waiting, o.bytes));
            let Inner { waiting_max, bytes_max, .. } = *self.0;
            let too_many = state.waiting - state.claimed >= waiting_max
                || own >= waiting_max.div_ceil(2)
                || of_org >= three_quarters(waiting_max);
            // One that is larger than all of the room has it where nothing else waits.
            let beyond = |there: usize, max: usize| there > 0 && there.saturating_add(bytes) > max;
            let too_large = beyond(state.bytes, bytes_max)
                || beyond(own_bytes, bytes_max.div_ceil(2))
                || beyond(bytes_of_org, three_quarters(bytes_max));
            if too_many || too_large {
                return None;
            }
        }
        Some(self.wait(org, owner, bytes, false))
    }

    /// Lets a run wait that was claimed from the queue: how many are claimed is bounded there.
    pub(crate) fn admit_claimed(&self, org: &OrgId, owner: &Owner) -> Admission {
        self.wait(org, owner, 0, true)
    }

    fn wait(&self, org: &OrgId, owner: &Owner, bytes: usize, is_claimed: bool) -> Admission {
        let (org, owner) = (org.as_str().to_owned(), owner.as_str().to_owned());
        let mut state = self.0.state.lock();
        let share = state.share(&org, &owner);
        (share.waiting, share.bytes) = (share.waiting + 1, share.bytes + bytes);
        if let Some(organization) = state.organizations.get_mut(&org) {
            (organization.waiting, organization.bytes) =
                (organization.waiting + 1, organization.bytes + bytes);
        }
        (state.waiting, state.bytes) = (state.waiting + 1, state.bytes + bytes);
        state.claimed += usize::from(is_claimed);
        Admission { places: self.clone(), org, owner, bytes, is_claimed, is_queued: false }
    }

    /// Runs claimed from the queue that wait for a place.
    pub(crate) fn claimed(&self) -> usize {
        self.0.state.lock().claimed
    }

    /// Places that nobody has.
    pub(crate) fn free(&self) -> usize {
        self.0.taken_max.saturating_sub(self.0.state.lock().taken)
    }

    /// Owners that have as many places as they may, by themselves or with the others of their
    /// organization: what is claimed of theirs would wait.
    pub(crate) fn at_their_bounds(&self) -> Vec<String> {
        let state = self.0.state.lock();
        let owners = state
            .organizations
            .values()
            .flat_map(|o| o.owners.iter().map(|(owner, share)| (owner, share.taken, o.taken)));
        let full = owners.filter(|(owner, own, all)| {
            *own >= self.owner_max(&state, owner) || *all >= self.org_max()
        });
        full.map(|(owner, ..)| owner.clone()).collect()
    }

    /// Ends when a place became free, or somebody stopped waiting, since it was last asked. For one
    /// who asks.
    pub(crate) async fn changed(&self) {
        self.0.changed.notified().await;
    }

    fn tell(&self, is_idle: bool) {
        self.0.changed.notify_one();
        if is_idle {
            self.0.idle.notify_waiters();
        }
    }

    /// Ends when nobody has a place or waits for one.
    pub(crate) async fn idle(&self) {
        loop {
            let mut told = std::pin::pin!(self.0.idle.notified());
            told.as_mut().enable();
            if self.0.state.lock().is_idle() {
                return;
            }
            told.await;
        }
    }

    /// One owner's: half, so that others get a place at once, or fewer where it gives way.
    fn owner_max(&self, state: &State, owner: &str) -> usize {
        state.bounds.get(owner).copied().unwrap_or(self.0.taken_max.div_ceil(2))
    }

    /// One organization's.
    fn org_max(&self) -> usize {
        three_quarters(self.0.taken_max)
    }

    /// Looks who has more than its share, and lets it have fewer places, or more again.
    pub(crate) fn make_way(&self, supply: Supply, now: Instant) {
        let mut state = self.0.state.lock();
        let mut at_work = state.ended.take(now);
        state.add_to(&mut at_work);
        crowds::adjust(&mut state.bounds, &at_work, self.0.taken_max.div_ceil(2), supply);
        let waits = state.waiting > 0;
        drop(state);
        if waits {
            self.hand_out();
            self.tell(false);
        }
    }

    /// Gives free places to those whose turn it is.
    fn hand_out(&self) {
        let mut given = Vec::new();
        {
            let mut state = self.0.state.lock();
            while state.taken < self.0.taken_max
                && let Some((org, owner)) =
                    state.next(|owner| self.owner_max(&state, owner), self.org_max())
            {
                let share = state.share(&org, &owner);
                let Some(turn) = share.queue.pop_front() else { break };
                state.claimed -= usize::from(turn.is_claimed);
                state.take(&org, &owner, turn.bytes);
                given.push((turn.tell, Place { places: self.clone(), org, owner }));
            }
        }
        for (turn, place) in given {
            // The place of one who went away meanwhile is dropped here, outside of the lock, and
            // the next one gets it.
            drop(turn.send(place));
        }
    }
}

fn three_quarters(max: usize) -> usize {
    max - max / 4
}

impl State {
    fn is_idle(&self) -> bool {
        self.taken == 0 && self.waiting == 0
    }

    fn share(&mut self, org: &str, owner: &str) -> &mut Share {
        self.organizations
            .entry(org.to_owned())
            .or_default()
            .owners
            .entry(owner.to_owned())
            .or_default()
    }

    /// Turns one who waits into one who has a place.
    fn take(&mut self, org: &str, owner: &str, bytes: usize) {
        self.share(org, owner).taken += 1;
        self.taken += 1;
        self.leave(org, owner, bytes);
        if let Some(organization) = self.organizations.get_mut(org) {
            organization.taken += 1;
        }
    }

    /// One waits no longer.
    fn leave(&mut self, org: &str, owner: &str, bytes: usize) {
        let share = self.share(org, owner);
        (share.waiting, share.bytes) = (share.waiting - 1, share.bytes - bytes);
        if let Some(organization) = self.organizations.get_mut(org) {
            (organization.waiting, organization.bytes) =
                (organization.waiting - 1, organization.bytes - bytes);
        }
        (self.waiting, self.bytes) = (self.waiting - 1, self.bytes - bytes);
    }

    /// Whose turn it is: of those below their bounds whoever has the fewest; among equals who waits
    /// for longest.
    fn next(&self, owner_max: impl Fn(&str) -> usize, org_max: usize) -> Option<(String, String)> {
        let first_of = |organization: &Organization| {
            let able = organization
                .owners
                .iter()
                .filter(|(owner, share)| !share.queue.is_empty() && share.taken < owner_max(owner));
            let turns = able.filter_map(|(owner, share)| {
                Some((share.taken, share.queue.front()?.ticket, owner.clone()))
            });
            turns.min_by_key(|(taken, ticket, _)| (*taken, *ticket))
        };
        let organizations = self.organizations.iter().filter(|(_, o)| o.taken < org_max);
        let turns = organizations.filter_map(|(org, o)| {
            first_of(o).map(|(_, ticket, owner)| (o.taken, ticket, org.clone(), owner))
        });
        turns
            .min_by_key(|(taken, ticket, ..)| (*taken, *ticket))
            .map(|(_, _, org, owner)| (org, owner))
    }

    /// What those at work have and wait for: all that have a place are.
    fn add_to(&self, at_work: &mut AtWork) {
        for (owner, share) in self.organizations.values().flat_map(|o| &o.owners) {
            let holds = at_work.entry(owner.clone()).or_default();
            (holds.taken, holds.waiting) = (share.taken, share.waiting);
        }
    }

    /// Forgets who has nothing and waits for nothing.
    fn tidy(&mut self, org: &str, owner: &str) {
        let Some(organization) = self.organizations.get_mut(org) else { return };
        if organization
            .owners
            .get(owner)
            .is_some_and(|share| share.taken == 0 && share.waiting == 0)
        {
            organization.owners.remove(owner);
        }
        if organization.owners.is_empty() {
            self.organizations.remove(org);
        }
    }
}

impl Admission {
    /// Waits for its turn.
    pub(crate) async fn place(mut self) -> Place {
        let turn = {
            let mut state = self.places.0.state.lock();
            state.ticket += 1;
            let ticket = state.ticket;
            let (tell, turn) = oneshot::channel();
            state.share(&self.org, &self.owner).queue.push_back(Turn {
                ticket,
                bytes: self.bytes,
                is_claimed: self.is_claimed,
                tell,
            });
            turn
        };
        // From here on its turn in the queue counts for it, also where it goes away: the place it
        // gets then goes on to the next.
        self.is_queued = true;
        self.places.hand_out();
        match turn.await {
            Ok(place) => place,
            // No turn is dropped without a place: the queue lives as long as who waits in it.
            Err(_) => std::future::pending().await,
        }
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        if self.is_queued {
            return;
        }
        let mut state = self.places.0.state.lock();
        state.leave(&self.org, &self.owner, self.bytes);
        state.claimed -= usize::from(self.is_claimed);
        state.tidy(&self.org, &self.owner);
        let is_idle = state.is_idle();
        drop(state);
        self.places.tell(is_idle);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.places.0.state.lock();
        state.ended.add(&self.owner, Instant::now());
        state.share(&self.org, &self.owner).taken -= 1;
        state.taken -= 1;
        if let Some(organization) = state.organizations.get_mut(&self.org) {
            organization.taken -= 1;
        }
        state.tidy(&self.org, &self.owner);
        let is_idle = state.is_idle();
        drop(state);
        self.places.hand_out();
        self.places.tell(is_idle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(org: &str, owner: &str) -> (OrgId, Owner) {
        (OrgId::from_row(format!("o_{org}")), Owner::from_row(format!("p_{owner}")))
    }

    async fn take(places: &Places, org: &str, owner: &str) -> Place {
        let (org, owner) = of(org, owner);
        places.admit(&org, &owner, 1).expect("there is room to wait").place().await
    }

    /// One who waits, in the queue already.
    async fn wait(places: &Places, org: &str, owner: &str) -> tokio::task::JoinHandle<Place> {
        let (org, owner) = of(org, owner);
        let admission = places.admit(&org, &owner, 1).expect("there is room to wait");
        let waiting = tokio::spawn(admission.place());
        tokio::task::yield_now().await;
        waiting
    }

    #[tokio::test]
    async fn one_owner_leaves_places_for_others() {
        let places = Places::new(4, 100, 1_000);
        let _two = (take(&places, "a", "flood").await, take(&places, "a", "flood").await);
        let third = wait(&places, "a", "flood").await;
        assert!(!third.is_finished(), "half is all that one owner gets");
        let _other = take(&places, "a", "other").await;
        let more = wait(&places, "a", "another").await;
        assert!(!more.is_finished(), "an organization leaves some too");
        let _stranger = take(&places, "b", "x").await;
        assert_eq!((places.free(), third.is_finished()), (0, false));
        assert_eq!(
            places.at_their_bounds().len(),
            3,
            "all of the organization that has its share: {:?}",
            places.at_their_bounds()
        );
    }

    #[tokio::test]
    async fn a_free_place_goes_to_whoever_has_the_fewest() {
        let places = Places::new(3, 100, 1_000);
        let (first, second) = (take(&places, "a", "flood").await, take(&places, "b", "x").await);
        let third = take(&places, "a", "flood").await;
        let mut flood = Vec::new();
        for _ in 0..20 {
            flood.push(wait(&places, "a", "flood").await);
        }
        let late = wait(&places, "c", "late").await;
        drop(first);
        let late = late.await.expect("the latest is the first, for it has none");
        assert!(flood.iter().all(|waiting| !waiting.is_finished()));
        drop((second, third, late));
        for waiting in flood {
            drop(waiting.await.expect("each gets its turn"));
        }
        places.idle().await;
        assert!(places.0.state.lock().organizations.is_empty(), "nothing is left behind");
    }

    #[tokio::test]
    async fn a_flood_gives_way_where_processors_are_short_and_has_its_places_back_afterwards() {
        let (places, now) = (Places::new(32, 100, 1_000), Instant::now());
        drop(take(&places, "a", "other").await);
        let mut flood = Vec::new();
        for _ in 0..40 {
            flood.push(wait(&places, "a", "flood").await);
        }
        let under_way = |flood: &[tokio::task::JoinHandle<Place>]| {
            flood.iter().filter(|one| one.is_finished()).count()
        };
        for ended in flood.drain(..4) {
            drop(ended.await.expect("has a place"));
        }
        tokio::task::yield_now().await;
        assert_eq!(under_way(&flood), 16, "half of all");
        places.make_way(Supply::Short, now);
        drop(flood.remove(0).await.expect("has a place"));
        tokio::task::yield_now().await;
        assert_eq!(
            (under_way(&flood), places.at_their_bounds().len()),
            (15, 1),
            "the next one waits until it has fewer"
        );
        let _other = take(&places, "a", "other").await;
        for _ in 0..4 {
            places.make_way(Supply::Ample, now);
        }
        tokio::task::yield_now().await;
        assert_eq!(under_way(&flood), 16);
    }

    #[tokio::test]
    async fn room_to_wait_is_bounded_for_each_and_for_all() {
        let places = Places::new(1, 4, 1_000);
        let (a, b, c) = (of("a", "flood"), of("a", "other"), of("c", "x"));
        let held: Vec<_> = (0..2).map(|_| places.admit(&a.0, &a.1, 1).expect("room")).collect();
        assert!(places.admit(&a.0, &a.1, 1).is_none(), "half of the room is for others");
        let third = places.admit(&b.0, &b.1, 1).expect("room");
        assert!(
            places.admit(&b.0, &b.1, 1).is_none(),
            "a quarter of the room is for other organizations"
        );
        drop(third);
        let more: Vec<_> =
            [&b, &c].map(|who| places.admit(&who.0, &who.1, 1).expect("room")).into();
        assert!(places.admit(&c.0, &c.1, 1).is_none(), "there is no more");
        drop(places.admit_claimed(&c.0, &c.1));
        drop((held, more));
        assert!(places.admit(&a.0, &a.1, 1).is_some());
    }

    #[tokio::test]
    async fn bytes_that_wait_are_bounded_for_each_and_for_all() {
        let places = Places::new(1, 1_000, 100);
        let (a, b, c) = (of("a", "flood"), of("b", "other"), of("c", "x"));
        let admit = |who: &(OrgId, Owner), bytes| places.admit(&who.0, &who.1, bytes);
        let first = admit(&a, 50).expect("room");
        assert!(admit(&a, 1).is_none(), "half of the room is for others");
        assert!(
            admit(&of("a", "another"), 26).is_none(),
            "a quarter of the room is for other organizations"
        );
        let second = admit(&b, 40).expect("room");
        assert!(admit(&c, 11).is_none(), "there is no more");
        let third = admit(&c, 10).expect("room");
        drop(second);
        // Who has a place waits no longer.
        let place = first.place().await;
        let more = admit(&a, 50).expect("room");
        drop((place, more, third));
        assert!(admit(&c, 5_000).is_some(), "one that is larger than all of it is let in alone");
        places.idle().await;
        assert_eq!(places.0.state.lock().bytes, 0);
    }

    #[tokio::test]
    async fn one_who_goes_away_keeps_no_place() {
        let places = Places::new(1, 10, 1_000);
        let first = take(&places, "a", "x").await;
        let (gone, stays) = (wait(&places, "a", "x").await, wait(&places, "a", "y").await);
        gone.abort();
        assert!(gone.await.is_err());
        drop(first);
        drop(stays.await.expect("gets its turn"));
        places.idle().await;
    }
}
