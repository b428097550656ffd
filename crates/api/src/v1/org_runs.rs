//! Runs of an organization as their states change, for streams: light records, from a time on.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::time::Duration;

use futures::{Stream, stream};
use millrace_engine::{EngineError, Lagged, ListedRun, RunFilter, StreamItem, StreamReader};
use millrace_model::clock::Timestamp;
use millrace_model::ids::RunId;
use millrace_model::page::{Listing, Page};
use millrace_model::run::RunStatus;
use millrace_model::tenant::Caller;
use tokio::time::{Instant, timeout_at};

use crate::App;
use crate::room::PageMemory;
use crate::v1::position::OUT_OF_ORDER_MS;
use crate::v1::run_records::ListedRunOut;
use crate::v1::run_stream::Frame;

/// Interval of polling the store: no notification is sent when a run is accepted or begins.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// How often at most: a busy organization's changes are read together.
const LOOK_AFTER: Duration = Duration::from_millis(250);
/// Runs whose state is remembered.
const REMEMBERED_MAX: usize = 4096;
/// Pages read in one look; beyond them the stream sends `lag` with the number skipped. The store
/// counts no further than nine pages behind the first.
const PAGES_MAX: usize = 5;
/// States in which a run goes on by itself.
const UNDER_WAY: [RunStatus; 2] = [RunStatus::Queued, RunStatus::Running];

/// A run that was shown: when it was accepted, its state and attempt.
type Shown = (Timestamp, RunStatus, i64);

/// What a stream of an organization's runs says: a frame, and where a client that has it goes on.
pub(crate) type Said = (Frame, Timestamp);

/// From now on, or from a position of an earlier stream: then what there is since comes first. Also
/// where a client goes on that has nothing of it yet.
pub(crate) async fn frames(
    app: App,
    caller: Caller,
    from: Option<Timestamp>,
) -> Result<(Timestamp, impl Stream<Item = Said> + Send + 'static), EngineError> {
    let live = app.engine.org_stream(&caller);
    let newest = match from {
        Some(from) => Timestamp(from.ms().saturating_add(OUT_OF_ORDER_MS)),
        None => {
            let page = Page { limit: 1, ..Page::default() };
            let newest = list(&app, &caller, RunFilter::default(), page).await?.items;
            newest.first().map_or(Timestamp(0), |listed| listed.run.created_at)
        }
    };
    let (shown, dirty, waiting) = (HashMap::new(), BTreeSet::new(), VecDeque::new());
    let now = Instant::now();
    let mut feed = Feed {
        app,
        caller,
        live,
        newest,
        shown,
        dirty,
        waiting,
        last_look: now,
        next_look: now + LOOK_EVERY,
    };
    feed.look().await?;
    if from.is_none() {
        feed.waiting.clear();
    }
    let start = from.unwrap_or_else(|| feed.position());
    let said =
        stream::unfold(feed, |mut feed| async move { feed.next().await.map(|said| (said, feed)) });
    Ok((start, said))
}

async fn list(
    app: &App,
    caller: &Caller,
    filter: RunFilter,
    page: Page,
) -> Result<Listing<ListedRun>, EngineError> {
    let (engine, of) = (app.engine.clone(), caller.clone());
    let list = async move { engine.runs().list(&of, &filter, false, &page).await };
    app.stream_reads.read(&caller.org_id, list).await
}

fn state(listed: &ListedRun) -> Shown {
    (listed.run.created_at, listed.run.status, listed.run.attempt)
}

struct Feed {
    app: App,
    caller: Caller,
    live: StreamReader,
    /// When the newest run was accepted that was shown.
    newest: Timestamp,
    shown: HashMap<RunId, Shown>,
    /// Runs for which a change was notified.
    dirty: BTreeSet<RunId>,
    waiting: VecDeque<Frame>,
    last_look: Instant,
    next_look: Instant,
}

impl Feed {
    async fn next(&mut self) -> Option<Said> {
        loop {
            if let Some(frame) = self.waiting.pop_front() {
                return Some((frame, self.position()));
            }
            match timeout_at(self.next_look, self.live.recv()).await {
                Ok(Ok(StreamItem::Run(run))) => {
                    self.dirty.insert(run);
                    self.next_look = self.next_look.min(self.last_look + LOOK_AFTER);
                }
                Ok(Ok(StreamItem::Missed(_))) => self.next_look = Instant::now(),
                Ok(Ok(_)) => {}
                Ok(Err(Lagged(skipped))) => {
                    self.next_look = Instant::now();
                    self.waiting.push_back(Frame::Lag(skipped));
                }
                Err(_) => match self.look().await {
                    Ok(()) => {}
                    // Tried again: `dirty` is kept.
                    Err(EngineError::NoMemory) => self.next_look = Instant::now() + LOOK_AFTER,
                    Err(error) => {
                        tracing::warn!(?error, "a stream of runs ended: they could not be read");
                        return None;
                    }
                },
            }
        }
    }

    /// Nothing accepted before it changes unseen by a client that resumes there: runs under way are
    /// from then on.
    fn position(&self) -> Timestamp {
        let window = Timestamp(self.newest.ms() - OUT_OF_ORDER_MS);
        self.under_way().map(|(_, at)| at).min().map_or(window, |oldest| oldest.min(window))
    }

    fn under_way(&self) -> impl Iterator<Item = (&RunId, Timestamp)> {
        self.shown
            .iter()
            .filter(|(_, (_, status, _))| UNDER_WAY.contains(status))
            .map(|(id, (at, ..))| (id, *at))
    }

    async fn look(&mut self) -> Result<(), EngineError> {
        let from = Some(Timestamp(self.newest.ms() - OUT_OF_ORDER_MS));
        let newest = self.newest(&RunFilter { from, ..RunFilter::default() }).await?;
        let under_way = self
            .read(&RunFilter { statuses: UNDER_WAY.to_vec(), ..RunFilter::default() }, None)
            .await?
            .items;
        let seen: BTreeSet<RunId> =
            newest.iter().chain(&under_way).map(|listed| listed.run.id.clone()).collect();
        // Runs that were under way and ended, and runs that were notified.
        let ended: Vec<RunId> = self
            .under_way()
            .map(|(id, _)| id)
            .chain(&self.dirty)
            .filter(|id| !seen.contains(*id))
            .cloned()
            .collect();
        let mut changed = Vec::new();
        for ids in ended.chunks(Page::LIMIT_MAX as usize) {
            changed.extend(
                self.read(&RunFilter { ids: Some(ids.to_vec()), ..RunFilter::default() }, None)
                    .await?
                    .items,
            );
        }
        let known: BTreeSet<&RunId> = changed.iter().map(|listed| &listed.run.id).collect();
        // Those that were pruned meanwhile are asked for no more.
        self.shown.retain(|id, _| known.contains(id) || !ended.contains(id));
        self.dirty.clear();
        for listed in
            under_way.into_iter().chain(changed).chain(newest).collect::<Vec<_>>().iter().rev()
        {
            self.show(listed);
        }
        self.forget();
        self.last_look = Instant::now();
        self.next_look = self.last_look + LOOK_EVERY;
        Ok(())
    }

    /// Page by page, until one has nothing new.
    async fn newest(&mut self, filter: &RunFilter) -> Result<Vec<ListedRun>, EngineError> {
        let mut newest: Vec<ListedRun> = Vec::new();
        for _ in 0..PAGES_MAX {
            let after = newest.last().map(|listed| listed.run.id.to_string());
            let listing = self.read(filter, after).await?;
            let is_new =
                |listed: &ListedRun| self.shown.get(&listed.run.id) != Some(&state(listed));
            let is_last =
                listing.items.len() < Page::LIMIT_MAX as usize || !listing.items.iter().any(is_new);
            newest.extend(listing.items);
            if is_last {
                return Ok(newest);
            }
            let more = listing.total_count.saturating_sub(newest.len() as u64);
            if newest.len() >= PAGES_MAX * Page::LIMIT_MAX as usize && more > 0 {
                self.waiting.push_back(Frame::Lag(more));
            }
        }
        Ok(newest)
    }

    async fn read(
        &self,
        filter: &RunFilter,
        after: Option<String>,
    ) -> Result<Listing<ListedRun>, EngineError> {
        let memory = PageMemory::of(&self.app, self.caller.org_id.clone().into());
        let page = Page { limit: Page::LIMIT_MAX, after, room: memory.room(), ..Page::default() };
        list(&self.app, &self.caller, filter.clone(), page).await
    }

    fn show(&mut self, listed: &ListedRun) {
        let (run, state) = (&listed.run, state(listed));
        self.newest = self.newest.max(run.created_at);
        if self.shown.insert(run.id.clone(), state) != Some(state) {
            self.waiting.push_back(Frame::Of("run", ListedRunOut::show(listed)));
        }
    }

    /// Runs that are over are remembered as long as they may be read again.
    fn forget(&mut self) {
        if self.shown.len() > REMEMBERED_MAX {
            let window = self.newest.ms() - OUT_OF_ORDER_MS;
            self.shown.retain(|_, (at, status, _)| UNDER_WAY.contains(status) || at.ms() >= window);
        }
    }
}
