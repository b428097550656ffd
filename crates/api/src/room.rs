//! The memory that reading makes of bodies, and that pages take while they are read and made into answers. Bodies as they came, and answers that are there, have
//! a room of their own (`guard::Bodies`).

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use axum::response::Response;
use millrace_engine::EngineError;
use millrace_model::ids::OrgId;
use millrace_model::page::Room;
use tokio::sync::Semaphore;

use crate::error::ApiError;

/// What a text takes as it is read and shown, beside its values: itself, what is made of it, and the answer that is being written, in multiples of its bytes.
const COPIES: usize = 3;
/// So much of each body and page is not counted: how many small ones there are is bounded by the connections.
const UNCOUNTED_BYTES: usize = 64 << 10;
/// A page beyond this is made beside the threads that serve all others, bytes of its texts.
const MADE_AT_ONCE_BYTES_MAX: usize = 256 << 10;
/// How many of these at once.
static LARGE_PAGES: Semaphore = Semaphore::const_new(2);

/// An organization leaves a part of the room to others, a fourth.
const FOR_OTHERS: usize = 4;

/// Room for what reading makes of bodies beside their bytes, and for what pages take until they are answers. It stands beside that for bodies and answers, as
/// large: a body of a few MiB may take all that its organization has of it, and what needs none is not refused for that.
#[derive(Debug)]
pub(crate) struct Unfolded {
    max: usize,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    all: usize,
    by_org: HashMap<Option<OrgId>, usize>,
}

impl Unfolded {
    pub(crate) fn new(max: usize) -> Arc<Self> {
        Arc::new(Self { max, taken: Mutex::default() })
    }

    /// What an organization has at most.
    const fn max_of_org(&self) -> usize {
        self.max - self.max / FOR_OTHERS
    }

    /// How much counts of what one body or page takes: what needs more than an organization may have has it where that has nothing else.
    fn counts(&self, bytes: usize) -> usize {
        bytes.saturating_sub(UNCOUNTED_BYTES).min(self.max_of_org())
    }
}

/// What one body or page takes of it, until it is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    room: Arc<Unfolded>,
    /// Whose request it is; none: nobody's that is known.
    org: Option<OrgId>,
    bytes: AtomicUsize,
}

impl Share {
    pub(crate) fn of(room: &Arc<Unfolded>, org: Option<OrgId>) -> Self {
        Self { room: room.clone(), org, bytes: AtomicUsize::new(0) }
    }

    /// It takes so much more; false where there is no room for that.
    pub(crate) fn grow(&self, bytes: usize) -> bool {
        let mut taken = self.room.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.bytes.load(Ordering::Relaxed);
        let after = before.saturating_add(bytes);
        let more = self.room.counts(after) - self.room.counts(before);
        if more > 0 {
            let of_org = taken.by_org.get(&self.org).copied().unwrap_or(0) + more;
            if of_org > self.room.max_of_org() || taken.all + more > self.room.max {
                return false;
            }
            taken.all += more;
            taken.by_org.insert(self.org.clone(), of_org);
        }
        self.bytes.store(after, Ordering::Relaxed);
        true
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let counted = self.room.counts(*self.bytes.get_mut());
        if counted == 0 {
            return;
        }
        let mut taken = self.room.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.all -= counted;
        if let Entry::Occupied(mut of_org) = taken.by_org.entry(self.org.take()) {
            *of_org.get_mut() -= counted;
            if *of_org.get() == 0 {
                of_org.remove();
            }
        }
    }
}

/// What one page takes, until it is dropped.
pub(crate) struct PageMemory {
    share: Share,
    texts: AtomicUsize,
}

impl PageMemory {
    pub(crate) fn of(room: &Arc<Unfolded>, org: Option<OrgId>) -> Arc<Self> {
        Arc::new(Self { share: Share::of(room, org), texts: AtomicUsize::new(0) })
    }

    /// To be asked before the texts are read. Whoever reads keeps it: the client may go away meanwhile.
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

    /// The answer that `show` makes of `page`, whose texts have so many `values`, in bytes, where there is room for these.
    pub(crate) async fn make<T: Send + 'static>(
        self: Arc<Self>,
        page: T,
        values: impl FnOnce(&T) -> usize + Send + 'static,
        show: impl FnOnce(T) -> Response + Send + 'static,
    ) -> Result<Response, ApiError> {
        let is_large = self.texts.load(Ordering::Relaxed) > MADE_AT_ONCE_BYTES_MAX;
        let make = move || if self.grow(values(&page)) { Ok(show(page)) } else { Err(EngineError::NoMemory.into()) };
        if !is_large {
            return make();
        }
        // The semaphore is never closed.
        let _place = LARGE_PAGES.acquire().await.map_err(|_| EngineError::NoMemory)?;
        tokio::task::spawn_blocking(make).await.unwrap_or_else(|failed| match failed.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            Err(_) => Err(EngineError::NoMemory.into()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_organization_leaves_room_to_others() {
        let (room, first, second) = (Unfolded::new(4 << 20), "o_1".parse().ok(), "o_2".parse().ok());
        let of = |org: &Option<OrgId>| Share::of(&room, org.clone());
        let (large, small, another, none) = (of(&first), of(&first), of(&second), of(&None));
        assert!(large.grow(usize::MAX) && large.grow(1), "it is alone");
        assert!(small.grow(UNCOUNTED_BYTES), "a small one needs no room");
        assert!(!small.grow(1), "its organization has all that it may");
        assert!(another.grow(UNCOUNTED_BYTES + (1 << 20)), "what is left is for others");
        assert!(!another.grow(1) && !none.grow(UNCOUNTED_BYTES + 1), "there is no more");
        drop(large);
        assert!(small.grow(1) && none.grow(UNCOUNTED_BYTES + 1) && another.grow(2 << 20));
        drop((small, another, none));
        let taken = room.taken.lock().unwrap();
        assert_eq!((taken.all, taken.by_org.len()), (0, 0));
    }
}
