//! Memory budget of requests: their bodies and answers, values read from bodies, and pages of lists
//! while they are made into answers.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use axum::http::Extensions;
use axum::response::Response;
use millrace_engine::EngineError;
use millrace_fair::{FairSemaphore, Permit, Policy, Quotas};
use millrace_model::ids::OrgId;
use millrace_model::page::Room;
use millrace_model::tenant::{Scope, Scopes};

use crate::App;
use crate::error::ApiError;
use crate::large_work::LargeWork;

/// What a text takes as it is read and shown, beside its values: itself, what is made of it, and
/// the answer that is being written, in multiples of its bytes.
const COPIES: usize = 3;
/// A page beyond this is made beside the threads that serve all others, bytes of its texts.
const MADE_AT_ONCE_BYTES_MAX: usize = 256 << 10;

/// So much of the room is left to answers: what is done is to be told.
const FOR_ANSWERS: usize = 4;

/// Whose request it is, once that is known: memory is shared by organization.
#[derive(Clone, Debug, Default)]
pub(crate) struct Whose {
    org: Arc<OnceLock<OrgId>>,
    /// What the caller may do.
    scopes: Arc<OnceLock<Scopes>>,
}

impl Whose {
    pub(crate) fn of(request: &Extensions) -> Self {
        request.get::<Self>().cloned().unwrap_or_default()
    }

    /// It is this organization's.
    pub(crate) fn is(&self, org: &OrgId) {
        // A request is of one organization.
        let _ = self.org.set(org.clone());
    }

    /// Whose it is, once that is known.
    pub(crate) fn org(&self) -> Option<&OrgId> {
        self.org.get()
    }

    /// It is of a caller with these scopes.
    pub(crate) fn may(&self, scopes: &Scopes) {
        // A request has one caller.
        let _ = self.scopes.set(scopes.clone());
    }

    /// What the caller may do, once that is known.
    pub(crate) fn scopes(&self) -> Option<&Scopes> {
        self.scopes.get()
    }

    /// Whether the caller may neither resume nor cancel runs. Who has no key is shown none.
    pub(crate) fn sees_no_pauses(&self) -> bool {
        self.scopes.get().is_some_and(|scopes| !scopes.allow(Scope::Invoke))
    }
}

impl From<OrgId> for Whose {
    fn from(org: OrgId) -> Self {
        Self { org: Arc::new(OnceLock::from(org)), scopes: Arc::default() }
    }
}

/// What memory is taken for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Use {
    /// A body as it came, until its request is answered.
    Body,
    /// A large answer, or event of a stream, until it is sent.
    Answer,
    /// What reading makes of a body, or a page until it is an answer.
    Reading,
}

impl Use {
    /// So much of each is not counted: how many small ones there are is bounded by the connections,
    /// and so these are let in where large ones have taken all the room.
    pub(crate) const fn uncounted(self) -> usize {
        match self {
            Self::Body => 16 << 10,
            // Small ones are not counted at all, see `guard`.
            Self::Answer => 0,
            Self::Reading => 64 << 10,
        }
    }
}

/// Memory that requests share: one organization has three quarters of it at most, as have all whose
/// organization is not known.
#[derive(Debug)]
pub(crate) struct Memory {
    max: usize,
    bytes: FairSemaphore<Option<OrgId>>,
}

impl Memory {
    pub(crate) fn new(max: usize) -> Arc<Self> {
        let policy = Policy::fewest_held(Quotas::shared_by_tenant(max));
        Arc::new(Self { max, bytes: FairSemaphore::new(policy) })
    }

    /// How much may be taken before no more is for this purpose, and before no more of one
    /// organization is.
    const fn quotas(&self, purpose: Use) -> Quotas {
        Quotas::shared_by_tenant(match purpose {
            Use::Body => self.max - self.max / FOR_ANSWERS,
            Use::Answer | Use::Reading => self.max,
        })
    }

    /// How much counts of what one body, answer or page takes: what needs more than an organization
    /// may have has it where that has nothing else.
    fn counts(&self, purpose: Use, bytes: usize) -> usize {
        bytes.saturating_sub(purpose.uncounted()).min(self.quotas(purpose).tenant)
    }

    #[cfg(test)]
    pub(crate) fn taken(&self) -> usize {
        self.bytes.held()
    }
}

/// What one body, answer or page takes of it, until it is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    memory: Arc<Memory>,
    purpose: Use,
    whose: Whose,
    /// Of the organization that was known when it was counted first.
    permit: OnceLock<Permit<Option<OrgId>>>,
    /// Grows in one place at a time.
    bytes: AtomicUsize,
}

impl Share {
    pub(crate) fn of(memory: &Arc<Memory>, purpose: Use, whose: Whose) -> Self {
        Self {
            memory: memory.clone(),
            purpose,
            whose,
            permit: OnceLock::new(),
            bytes: AtomicUsize::new(0),
        }
    }

    /// It takes so much more; false where there is no room for that.
    pub(crate) fn grow(&self, bytes: usize) -> bool {
        self.take(bytes, false)
    }

    /// The same; `anyway`: whatever room there is.
    pub(crate) fn take(&self, bytes: usize, anyway: bool) -> bool {
        let before = self.bytes.load(Ordering::Relaxed);
        let after = before.saturating_add(bytes);
        let more =
            self.memory.counts(self.purpose, after) - self.memory.counts(self.purpose, before);
        if more > 0 {
            let empty = || self.memory.bytes.empty_permit(self.whose.org.get().cloned(), ());
            let permit = self.permit.get_or_init(empty);
            if anyway {
                permit.grow_anyway(more);
            } else if !permit.grow(more, self.memory.quotas(self.purpose)) {
                return false;
            }
        }
        self.bytes.store(after, Ordering::Relaxed);
        true
    }
}

/// What one page takes, until it is dropped.
pub(crate) struct PageMemory {
    share: Share,
    texts: AtomicUsize,
    large: LargeWork,
}

impl PageMemory {
    pub(crate) fn of(app: &App, whose: Whose) -> Arc<Self> {
        let share = Share::of(&app.unfolded, Use::Reading, whose);
        Arc::new(Self { share, texts: AtomicUsize::new(0), large: app.large.clone() })
    }

    /// To be asked before the texts are read. Whoever reads keeps it: the client may go away
    /// meanwhile.
    pub(crate) fn room(self: &Arc<Self>) -> Room {
        let memory = self.clone();
        Room::new(move |bytes| {
            let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
            memory.texts.fetch_max(bytes, Ordering::Relaxed);
            memory.share.grow(bytes.saturating_mul(COPIES))
        })
    }

    /// It takes so much more; false where there is no room for that.
    pub(crate) fn grow(&self, bytes: usize) -> bool {
        self.share.grow(bytes)
    }

    /// The answer that `show` makes of `page`, whose texts have so many `values`, in bytes, where
    /// there is room for these.
    pub(crate) async fn make<T: Send + 'static>(
        self: Arc<Self>,
        page: T,
        values: impl FnOnce(&T) -> usize + Send + 'static,
        show: impl FnOnce(T) -> Response + Send + 'static,
    ) -> Result<Response, ApiError> {
        let is_large = self.texts.load(Ordering::Relaxed) > MADE_AT_ONCE_BYTES_MAX;
        let (large, whose) = (self.large.clone(), self.share.whose.clone());
        let make = move || {
            if self.grow(values(&page)) {
                Ok(show(page))
            } else {
                Err(EngineError::NoMemory.into())
            }
        };
        if is_large { large.run(&whose, make).await } else { make() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes of a page that are not counted.
    const SMALL: usize = Use::Reading.uncounted();

    fn whose(org: &str) -> Whose {
        Whose::from(org.parse::<OrgId>().unwrap())
    }

    #[test]
    fn an_organization_leaves_room_to_others() {
        let memory = Memory::new(4 << 20);
        let of = |whose: Whose| Share::of(&memory, Use::Reading, whose);
        let (large, small, another, none) =
            (of(whose("o_1")), of(whose("o_1")), of(whose("o_2")), of(Whose::default()));
        assert!(large.grow(usize::MAX) && large.grow(1), "it is alone");
        assert!(small.grow(SMALL), "a small one needs no room");
        assert!(!small.grow(1), "its organization has all that it may");
        assert!(another.grow(SMALL + (1 << 20)), "what is left is for others");
        assert!(!another.grow(1) && !none.grow(SMALL + 1), "there is no more");
        drop(large);
        assert!(small.grow(1) && none.grow(SMALL + 1) && another.grow(2 << 20));
        drop((small, another, none));
        assert_eq!((memory.taken(), memory.bytes.held_by_tenant().len()), (0, 0));
    }

    #[test]
    fn bodies_leave_room_to_answers_and_what_is_done_is_told_anyway() {
        let memory = Memory::new(16 << 10);
        let of = |purpose, org| Share::of(&memory, purpose, whose(org));
        let bodies = [of(Use::Body, "o_1"), of(Use::Body, "o_2"), of(Use::Body, "o_3")];
        assert!(
            bodies[0].grow(Use::Body.uncounted() + (9 << 10))
                && bodies[1].grow(Use::Body.uncounted() + (3 << 10))
        );
        assert!(!bodies[2].grow(Use::Body.uncounted() + 1), "the rest is for answers");
        let answers = [of(Use::Answer, "o_1"), of(Use::Answer, "o_3"), of(Use::Answer, "o_3")];
        assert!(
            answers[0].grow(3 << 10) && !answers[0].grow(1),
            "its organization has three quarters of all"
        );
        assert!(answers[1].grow(1 << 10) && !answers[2].grow(1) && answers[2].take(1 << 20, true));
        drop((bodies, answers));
        assert_eq!(memory.taken(), 0);
    }

    #[test]
    fn it_is_given_back_to_whom_it_was_counted_for() {
        let (memory, later) = (Memory::new(4 << 20), Whose::default());
        let share = Share::of(&memory, Use::Reading, later.clone());
        assert!(share.grow(SMALL + 1));
        later.is(&"o_1".parse().unwrap());
        assert!(share.grow(1));
        drop(share);
        assert_eq!((memory.taken(), memory.bytes.held_by_tenant().len()), (0, 0));
    }
}
