//! Stream of an organization (`/stream`): topics that a client chooses, with ids to resume.

use std::collections::BTreeMap;
use std::str::FromStr;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use axum::response::sse::Event as SseEvent;
use futures::stream::{BoxStream, SelectAll};
use futures::{StreamExt as _, stream};
use millrace_engine::{Lagged, StreamItem};
use millrace_model::clock::Timestamp;
use millrace_model::ids::{RunId, SourceId, WorkflowId};
use millrace_model::page::Page;
use millrace_model::run::LogFilter;
use millrace_model::tenant::Caller;
use serde_json::json;

use crate::App;
use crate::contract::shape::record;
use crate::error::ApiError;
use crate::extract::{Auth, ListQuery, id};
use crate::v1::feed::{Fed, Feed};
use crate::v1::position::Position;
use crate::v1::replay_watch::changed_replays;
use crate::v1::run_records::LogLineOut;
use crate::v1::run_stream::Frame;
use crate::v1::sse::{Lasting, lasting, respond_with};
use crate::v1::{events, org_runs, run_stream};

/// Topics of one stream: each has a subscription of its own.
pub(crate) const TOPICS_MAX: u32 = 16;
const ALLOWED: &str = "allowed are `runs`, `run:{id}`, `events:{source or workflow}`, `logs:{source or workflow}` and `replays`";

record! {
    /// How many frames of a topic were skipped, as the client or the server was too slow
    LagOut<'a>(topic: &'a str, skipped: u64) {
        topic: &'a str = topic,
        skipped: u64 = skipped,
    }
}

record! {
    /// The stream is alive
    HeartbeatOut() {
    }
}

/// What a client listens to.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Topic {
    Runs,
    Run(RunId),
    Events(String),
    Logs(String),
    Replays,
}

impl Topic {
    fn parse(text: &str) -> Result<Self, ApiError> {
        let owner_of = |owner: &str| match owner.parse::<WorkflowId>() {
            Ok(_) => Ok(owner.to_owned()),
            Err(_) => id::<SourceId>("source", owner).map(|_| owner.to_owned()),
        };
        match text.split_once(':') {
            None if text == "runs" => Ok(Self::Runs),
            None if text == "replays" => Ok(Self::Replays),
            Some(("run", run)) => id("run", run).map(Self::Run),
            Some(("events", owner)) => owner_of(owner).map(Self::Events),
            Some(("logs", owner)) => owner_of(owner).map(Self::Logs),
            _ => Err(ApiError::field("topics", format!("`{text}` is not a topic; {ALLOWED}"))),
        }
    }
}

/// Something of a topic, and where a client that has it goes on, where the topic can be resumed.
type Said = (Frame, Option<Position>);

/// Where a client is in each topic: what an id of the stream says, as `topic=position` with
/// semicolons between them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Positions(BTreeMap<String, Position>);

impl FromStr for Positions {
    type Err = ApiError;

    fn from_str(text: &str) -> Result<Self, ApiError> {
        let refused = || {
            ApiError::field(
                "Last-Event-ID",
                "`Last-Event-ID` is not an id of this stream; give the last that it sent, or none",
            )
        };
        let pair = |part: &str| {
            let (topic, position) = part.rsplit_once('=')?;
            Some((topic.to_owned(), position.parse().ok()?))
        };
        text.split(';')
            .filter(|part| !part.is_empty())
            .map(|part| pair(part).ok_or_else(refused))
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

impl std::fmt::Display for Positions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let parts: Vec<_> =
            self.0.iter().map(|(topic, position)| format!("{topic}={position}")).collect();
        f.write_str(&parts.join(";"))
    }
}

/// The topics that are asked for, in one stream.
pub(crate) async fn topics(
    State(app): State<App>,
    Auth(caller): Auth,
    Lasting(key): Lasting,
    query: ListQuery,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let mut names =
        query.params.words("topics")?.ok_or_else(|| ApiError::missing("topics", ALLOWED))?;
    names.sort();
    names.dedup();
    let last = headers
        .get("last-event-id")
        .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
        .unwrap_or_default();
    let mut positions: Positions = last.parse()?;
    positions.0.retain(|topic, _| names.contains(topic));
    let mut all = SelectAll::new();
    for name in names {
        let from = positions.0.get(&name).cloned();
        let (start, said) = open(&app, &caller, &Topic::parse(&name)?, from).await?;
        // Also a frame of another topic says where this one goes on.
        if let Some(start) = start {
            positions.0.insert(name.clone(), start);
        }
        all.push(said.map(move |said| (name.clone(), said)).boxed());
    }
    let frames = all.map(move |(topic, (frame, position))| {
        if let Some(position) = position {
            positions.0.insert(topic.clone(), position);
        }
        let (kind, data) = match frame {
            Frame::Of(kind, data) => (kind, json!({ "topic": topic, "data": data })),
            Frame::Lag(skipped) => ("lag", LagOut::show(&topic, skipped)),
        };
        SseEvent::default().event(kind).id(positions.to_string()).data(data.to_string())
    });
    Ok(respond_with(
        lasting(frames, key),
        SseEvent::default().event("heartbeat").data(HeartbeatOut::show().to_string()),
    ))
}

/// A topic from now on, or from a position of it, and where a client goes on that has nothing of it
/// yet, where the topic can be resumed.
async fn open(
    app: &App,
    caller: &Caller,
    topic: &Topic,
    from: Option<Position>,
) -> Result<(Option<Position>, BoxStream<'static, Said>), ApiError> {
    Ok(match topic {
        Topic::Runs => {
            let (start, frames) =
                org_runs::frames(app.clone(), caller.clone(), from.map(|at| Timestamp(at.low())))
                    .await?;
            let said = frames.map(|(frame, position)| (frame, Some(position.ms().into())));
            (Some(start.ms().into()), said.boxed())
        }
        Topic::Run(run) => {
            let owner = run_stream::read(app, caller, run).await?.0.run.owner.as_str().to_owned();
            let frames =
                run_stream::frames_of(app.clone(), caller.clone(), run.clone(), owner).await?;
            (None, frames.map(|frame| (frame, None)).boxed())
        }
        Topic::Events(source) => {
            let (engine, source) = (app.engine.clone(), source.clone());
            let feed = Feed::open(engine, caller.clone(), source, None, from);
            let feed = app.stream_reads.read(&caller.org_id, feed).await?;
            let start = feed.position();
            let said = |fed| match fed {
                Fed::Event(event, position) => {
                    (Frame::Of("event", events::event(&event)), Some(position))
                }
                Fed::Lag(skipped, position) => (Frame::Lag(skipped), Some(position)),
            };
            (Some(start), feed.items().map(said).boxed())
        }
        Topic::Logs(owner) => {
            let live = app.engine.stream(caller, owner).await?;
            let of = (app.clone(), caller.clone(), owner.clone());
            let lines = stream::unfold((live, of), |(mut live, of)| async move {
                loop {
                    match live.recv().await {
                        Ok(StreamItem::Log(run, line)) => {
                            let shown = LogLineOut::show(&line, Some(&run));
                            return Some((
                                (Frame::Of("log", shown), Some(line.at.ms().into())),
                                (live, of),
                            ));
                        }
                        Ok(StreamItem::Missed(since)) => {
                            let (app, caller, owner) = &of;
                            let skipped = lines_since(app, caller, owner, since.ms()).await.ok()?;
                            if skipped > 0 {
                                return Some(((Frame::Lag(skipped), None), (live, of)));
                            }
                        }
                        Ok(_) => {}
                        Err(Lagged(skipped)) => {
                            return Some(((Frame::Lag(skipped), None), (live, of)));
                        }
                    }
                }
            });
            // Lines are not sent again: a lag says how many a client that was away can read.
            let now = app.engine.now().ms();
            let from = from.map(|at| at.low());
            let missed = match from {
                Some(from) => {
                    let skipped = lines_since(app, caller, owner, from).await?;
                    Some((Frame::Lag(skipped), Some(now.into())))
                }
                None => None,
            };
            let start = from.unwrap_or(now).into();
            (Some(start), stream::iter(missed).chain(lines).boxed())
        }
        Topic::Replays => {
            let replays = changed_replays(app, caller);
            (None, replays.map(|data| (Frame::Of("replay", data), None)).boxed())
        }
    })
}

/// How many lines of a log were written after this time, counted up to a page of them.
async fn lines_since(app: &App, caller: &Caller, owner: &str, from: i64) -> Result<u64, ApiError> {
    let newest = LogFilter::default();
    let lines = app.engine.runs().owner_logs(caller, owner, &newest, Page::LIMIT_MAX).await?;
    Ok(lines.iter().filter(|line| line.place.at > from).count() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_says_where_a_client_is_in_each_topic() {
        let positions: Positions = "events:dc_1=17.a;runs=5".parse().ok().unwrap();
        assert_eq!(positions.to_string(), "events:dc_1=17.a;runs=5");
        assert_eq!("".parse::<Positions>().ok(), Some(Positions::default()));
        assert!(["x", "runs=", "runs=a;"].iter().all(|text| text.parse::<Positions>().is_err()));
    }

    #[test]
    fn topics_are_told_by_their_names() {
        assert_eq!(Topic::parse("runs").ok(), Some(Topic::Runs));
        assert_eq!(Topic::parse("logs:p_1").ok(), Some(Topic::Logs("p_1".into())));
        assert!(
            ["", "run", "runs:x", "events:x", "mail"]
                .iter()
                .all(|text| Topic::parse(text).is_err())
        );
    }
}
