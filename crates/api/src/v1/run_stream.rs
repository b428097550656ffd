//! Streams of a run while it goes on (`/runs/{id}/sse`), and of all runs of a workflow or source
//! (`/workflows/{id}/runs/sse`).

use std::collections::{HashMap, HashSet, VecDeque};
use std::iter::Fuse;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::Response;
use axum::response::sse::Event as SseEvent;
use futures::{Stream, StreamExt as _, stream};
use millrace_engine::{
    EngineError, ErrorKind, Lagged, RunState, RunView, SoFar, StreamItem, StreamReader,
};
use millrace_model::clock::Timestamp;
use millrace_model::ids::RunId;
use millrace_model::page::Page;
use millrace_model::run::{LogLine, Run, RunStatus};
use millrace_model::tenant::Caller;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use crate::App;
use crate::error::ApiError;
use crate::extract::{Auth, Emitter, ListQuery, Path, emitter, id};
use crate::room::PageMemory;
use crate::v1::filters;
use crate::v1::run_records::{self, LiveStepOut, LogLineOut};
use crate::v1::sse::{Lasting, lag_frame, lasting, respond};

/// How often the run is looked at though nothing was heard: another server may have it.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// After so long it is tried again, where there was no room for what is to be shown.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// The run, and what it takes until its frame is made. `NoMemory` where there is no room for it.
pub(crate) async fn read(
    app: &App,
    caller: &Caller,
    id: &RunId,
) -> Result<(RunView, Arc<PageMemory>), EngineError> {
    let memory = PageMemory::of(app, caller.org_id.clone().into());
    let view = app.engine.runs().get_within(caller, id, &memory.room()).await?;
    if memory.grow(run_records::run_values(&view.run)) {
        Ok((view, memory))
    } else {
        Err(EngineError::NoMemory)
    }
}

/// First the run as it is, and the steps and lines that its record does not have yet; then `step`,
/// `log`, and `run` whenever its state changes, until it is over.
pub(crate) async fn run(
    State(app): State<App>,
    Auth(caller): Auth,
    Lasting(key): Lasting,
    Path(run): Path,
) -> Result<Response, ApiError> {
    let run: RunId = id("run", &run)?;
    let owner = read(&app, &caller, &run).await?.0.run.owner.as_str().to_owned();
    Ok(respond(lasting(frames_of(app, caller, run, owner).await?.map(SseEvent::from), key)))
}

/// A run of an owner, until it is over.
pub(crate) async fn frames_of(
    app: App,
    caller: Caller,
    run: RunId,
    owner: String,
) -> Result<impl Stream<Item = Frame> + Send + 'static, EngineError> {
    // Listened to before the run is read for the first frame, so that nothing falls between.
    let (mut so_far, live) = app.engine.run_stream(&caller, &owner, &run).await?;
    let mut feed = Feed {
        app,
        caller,
        run,
        so_far: SoFar::default().fuse(),
        live,
        next_look: Instant::now() + LOOK_EVERY,
        shown: None,
        steps: HashSet::new(),
        ended: false,
        waiting: VecDeque::new(),
    };
    let stored = feed.look().await?;
    if !feed.ended {
        so_far.skip_stored(&stored);
        feed.so_far = so_far.fuse();
    }
    Ok(stream::unfold(feed, |mut feed| async move { feed.next().await.map(|frame| (frame, feed)) }))
}

/// What a stream of runs says.
pub(crate) enum Frame {
    /// Something of a kind, with its record.
    Of(&'static str, Value),
    /// The client was too slow for so many items.
    Lag(u64),
}

impl From<Frame> for SseEvent {
    fn from(frame: Frame) -> Self {
        match frame {
            Frame::Of(kind, data) => Self::default().event(kind).data(data.to_string()),
            Frame::Lag(skipped) => lag_frame(skipped),
        }
    }
}

struct Feed {
    app: App,
    caller: Caller,
    run: RunId,
    /// What it did before the stream was opened and its record does not have.
    so_far: Fuse<SoFar>,
    live: StreamReader,
    next_look: Instant,
    /// The status and attempt shown last.
    shown: Option<(RunStatus, i64)>,
    /// Finished steps that were shown.
    steps: HashSet<String>,
    ended: bool,
    waiting: VecDeque<Frame>,
}

impl Feed {
    async fn next(&mut self) -> Option<Frame> {
        loop {
            if let Some(frame) = self.waiting.pop_front() {
                return Some(frame);
            }
            if self.ended {
                return None;
            }
            if let Some(item) = self.so_far.next() {
                let is_shown = matches!(&item, StreamItem::Step(_, namespace, Some(_)) if self.steps.contains(namespace));
                if !is_shown && let Some(frame) = self.frame(item) {
                    return Some(frame);
                }
                continue;
            }
            match timeout_at(self.next_look, self.live.recv()).await {
                Ok(Ok(StreamItem::Run(run))) if run != self.run => {}
                Ok(Err(Lagged(skipped))) => return Some(Frame::Lag(skipped)),
                Ok(Ok(StreamItem::Run(_) | StreamItem::Missed(_))) | Err(_) => {
                    match self.look().await {
                        Ok(_) => {}
                        Err(EngineError::NoMemory) => self.next_look = Instant::now() + LOOK_AGAIN,
                        Err(error) => {
                            // The client connects again, and gets a 404 where the run is gone.
                            tracing::warn!(run.id = %self.run, ?error, "a stream of a run ended: the run could not be read");
                            return None;
                        }
                    }
                }
                Ok(Ok(item)) => {
                    if let Some(frame) = self.frame(item) {
                        return Some(frame);
                    }
                }
            }
        }
    }

    /// The frame of what the run did; none for what others did.
    fn frame(&mut self, item: StreamItem) -> Option<Frame> {
        match item {
            StreamItem::Log(run, line) if run == self.run => {
                Some(Frame::Of("log", LogLineOut::show(&line, None)))
            }
            StreamItem::Step(run, namespace, end) if run == self.run => {
                let shown = LiveStepOut::show(&namespace, end.as_deref(), None);
                if end.is_some() {
                    self.steps.insert(namespace);
                }
                Some(Frame::Of("step", shown))
            }
            _ => None,
        }
    }

    /// Shows the run where its state is another than the one shown last, or a step ended that was
    /// not shown. Gives the lines of its record.
    async fn look(&mut self) -> Result<Vec<LogLine>, EngineError> {
        let (view, _memory) = read(&self.app, &self.caller, &self.run).await?;
        self.next_look = Instant::now() + LOOK_EVERY;
        let state = (view.run.status, view.run.attempt);
        let shown = run_records::run_with_logs(&view);
        let finished = shown["steps"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|step| step["status"] == "succeeded");
        let ended_unseen = finished
            .filter(|step| self.steps.insert(step["namespace"].as_str().unwrap_or("").to_owned()))
            .count();
        if self.shown.replace(state) != Some(state) || ended_unseen > 0 {
            self.waiting.push_back(Frame::Of("run", shown));
        }
        self.ended =
            !matches!(view.run.status, RunStatus::Queued | RunStatus::Running | RunStatus::Paused);
        Ok(view.logs)
    }
}

/// Runs that are remembered as shown: more than are under way at once.
const REMEMBERED_MAX: usize = 4096;

/// Runs of a workflow or source from a time on, else from now on: `run` whenever the state of one
/// changes, `step` as each begins and ends.
pub(crate) async fn runs<E: Emitter>(
    State(app): State<App>,
    Auth(caller): Auth,
    Lasting(key): Lasting,
    Path(owner): Path,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let owner = emitter::<E>(owner)?;
    let from = filters::time(&query.params, "from")?;
    // Listened to before the runs are read, so that nothing falls between.
    let live = app.engine.stream(&caller, &owner).await?;
    let (shown, waiting) = (HashMap::new(), VecDeque::new());
    let mut feed =
        OwnerFeed { app, caller, owner, from: from.unwrap_or_default(), live, shown, waiting };
    match from {
        Some(_) => feed.look().await?,
        None => feed.begin().await?,
    }
    let frames =
        stream::unfold(
            feed,
            |mut feed| async move { feed.next().await.map(|frame| (frame, feed)) },
        );
    Ok(respond(lasting(frames.map(SseEvent::from), key)))
}

/// What an [`OwnerFeed`] is to say.
enum Waiting {
    Frame(Frame),
    /// A run, where it is not as it was shown last. It is read once its turn has come: of all that
    /// wait, one is in memory.
    Run(RunId),
}

struct OwnerFeed {
    app: App,
    caller: Caller,
    owner: String,
    /// Runs accepted before are shown only where something is heard of them.
    from: Timestamp,
    live: StreamReader,
    /// The status and attempt shown last.
    shown: HashMap<RunId, (RunStatus, i64)>,
    waiting: VecDeque<Waiting>,
}

impl OwnerFeed {
    async fn next(&mut self) -> Option<Frame> {
        loop {
            let looked = match self.waiting.pop_front() {
                Some(Waiting::Frame(frame)) => return Some(frame),
                Some(Waiting::Run(run)) => match self.look_at(&run).await {
                    Ok(Some(frame)) => return Some(frame),
                    Ok(None) => Ok(()),
                    Err(error) => Err(error),
                },
                None => match tokio::time::timeout(LOOK_EVERY, self.live.recv()).await {
                    Ok(Ok(StreamItem::Run(run))) => {
                        self.waiting.push_back(Waiting::Run(run));
                        Ok(())
                    }
                    Ok(Ok(StreamItem::Step(run, namespace, end))) => {
                        let step = LiveStepOut::show(&namespace, end.as_deref(), Some(&run));
                        if !self.shown.contains_key(&run) {
                            self.waiting.push_back(Waiting::Run(run));
                        }
                        self.waiting.push_back(Waiting::Frame(Frame::Of("step", step)));
                        Ok(())
                    }
                    Ok(Ok(StreamItem::Event(_) | StreamItem::Log(..))) => Ok(()),
                    Ok(Err(Lagged(skipped))) => {
                        self.waiting.push_back(Waiting::Frame(Frame::Lag(skipped)));
                        self.look().await
                    }
                    // Another server may have them.
                    Ok(Ok(StreamItem::Missed(_))) | Err(_) => self.look().await,
                },
            };
            if let Err(error) = looked {
                tracing::warn!(
                    emitter.id = self.owner,
                    ?error,
                    "a stream of runs ended: they could not be read"
                );
                return None;
            }
        }
    }

    /// What there is already is not shown.
    async fn begin(&mut self) -> Result<(), EngineError> {
        let newest = self.newest(1).await?;
        self.from = newest.first().map_or(self.from, |run| run.created_at);
        self.shown.extend(newest.into_iter().map(|run| (run.id, (run.status, run.attempt))));
        Ok(())
    }

    async fn newest(&self, limit: u32) -> Result<Vec<RunState>, EngineError> {
        self.app.engine.runs().states(&self.caller, &self.owner, self.from, limit).await
    }

    async fn look(&mut self) -> Result<(), EngineError> {
        for run in self.newest(Page::LIMIT_MAX).await?.into_iter().rev() {
            if self.shown.get(&run.id) != Some(&(run.status, run.attempt)) {
                self.waiting.push_back(Waiting::Run(run.id));
            }
        }
        Ok(())
    }

    /// The run, where it is not as it was shown last.
    async fn look_at(&mut self, id: &RunId) -> Result<Option<Frame>, EngineError> {
        match read(&self.app, &self.caller, id).await {
            Ok((view, _memory)) => Ok(self.show(&view.run)),
            Err(EngineError::NoMemory) => {
                self.waiting.push_front(Waiting::Run(id.clone()));
                tokio::time::sleep(LOOK_AGAIN).await;
                Ok(None)
            }
            // It was removed while it waited.
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn show(&mut self, run: &Run) -> Option<Frame> {
        let state = (run.status, run.attempt);
        let changed = self.shown.insert(run.id.clone(), state) != Some(state);
        if self.shown.len() > REMEMBERED_MAX {
            let from = &mut self.from;
            *from = (*from).max(run.created_at);
            self.shown.retain(|_, (status, _)| !status.is_final());
            self.shown.insert(run.id.clone(), state);
        }
        changed.then(|| Frame::Of("run", run_records::run(run)))
    }
}
