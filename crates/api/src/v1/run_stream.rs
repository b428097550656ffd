//! A run as it goes on (`/runs/{id}/sse`).

use std::collections::VecDeque;
use std::time::Duration;

use axum::extract::State;
use axum::response::Response;
use axum::response::sse::Event as SseEvent;
use futures::stream;
use millrace_engine::{Engine, StreamItem};
use millrace_model::ids::RunId;
use millrace_model::run::RunStatus;
use millrace_model::tenant::Caller;
use serde_json::{Value, json};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use crate::App;
use crate::error::ApiError;
use crate::extract::{Auth, Path, id};
use crate::v1::sse::{lag_frame, respond};
use crate::wire;

/// How often the run is looked at though nothing was heard: another server may have it.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// First the run as it is; then `step`, `log`, and `run` whenever its state changes, until it is over.
pub(crate) async fn run(State(app): State<App>, Auth(caller): Auth, Path(run): Path) -> Result<Response, ApiError> {
    let run: RunId = id("run", &run)?;
    let owner = app.engine.run(&caller, &run).await?.run.owner.as_str().to_owned();
    // Listened to before the run is read for the first frame, so that nothing falls between.
    let live = app.engine.stream(&caller, &owner).await?;
    let mut feed = Feed { engine: app.engine, caller, run, live, shown: None, ended: false, waiting: VecDeque::new() };
    feed.look().await?;
    Ok(respond(stream::unfold(feed, |mut feed| async move { feed.next().await.map(|frame| (frame, feed)) })))
}

struct Feed {
    engine: Engine,
    caller: Caller,
    run: RunId,
    live: broadcast::Receiver<StreamItem>,
    /// The status and attempt shown last.
    shown: Option<(RunStatus, i64)>,
    ended: bool,
    waiting: VecDeque<SseEvent>,
}

impl Feed {
    async fn next(&mut self) -> Option<SseEvent> {
        loop {
            if let Some(frame) = self.waiting.pop_front() {
                return Some(frame);
            }
            if self.ended {
                return None;
            }
            match tokio::time::timeout(LOOK_EVERY, self.live.recv()).await {
                Ok(Ok(StreamItem::Log(run, line))) if run == self.run => return Some(frame("log", &wire::log_line(&line))),
                Ok(Ok(StreamItem::Step(run, namespace, end))) if run == self.run => {
                    let step = match end {
                        None => json!({ "namespace": namespace, "status": "running" }),
                        Some(end) => json!({
                            "namespace": namespace, "status": "finished", "duration_ms": end.duration_ms,
                            "exports": serde_json::from_str::<Value>(&end.exports).unwrap_or_default(),
                        }),
                    };
                    return Some(frame("step", &step));
                }
                Ok(Ok(StreamItem::Run(run))) if run != self.run => {}
                Ok(Ok(StreamItem::Event(_) | StreamItem::Log(..) | StreamItem::Step(..))) => {}
                Ok(Err(RecvError::Lagged(skipped))) => return Some(lag_frame(skipped)),
                Ok(Err(RecvError::Closed)) => return None,
                Ok(Ok(StreamItem::Run(_))) | Err(_) => {
                    if let Err(error) = self.look().await {
                        // The client connects again, and gets a 404 where the run is gone.
                        tracing::warn!(run.id = %self.run, ?error, "a stream of a run ended: the run could not be read");
                        return None;
                    }
                }
            }
        }
    }

    /// Shows the run where its state is another than the one shown last.
    async fn look(&mut self) -> Result<(), ApiError> {
        let view = self.engine.run(&self.caller, &self.run).await?;
        let state = (view.run.status, view.run.attempt);
        if self.shown.replace(state) != Some(state) {
            self.waiting.push_back(frame("run", &wire::run_with_logs(&view)));
        }
        self.ended = !matches!(view.run.status, RunStatus::Queued | RunStatus::Running | RunStatus::Paused);
        Ok(())
    }
}

fn frame(kind: &str, data: &Value) -> SseEvent {
    SseEvent::default().event(kind).data(data.to_string())
}
