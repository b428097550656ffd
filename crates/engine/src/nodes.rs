//! Servers that share a database. What one changes, the others hear and forget what they had read;
//! what settles on one, the streams of the others get too. Nothing here has to arrive: who hears
//! nothing believes nothing ([`crate::cache`]), and looks at the queue by itself.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use millrace_model::error_chain;
use millrace_model::event::Event;
use millrace_model::ids::{EventId, OrgId, RunId};
use millrace_model::run::{LogLine, RunResult};
use millrace_store::{Changed, EventAt, Heard, News, StoreResult};
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::{Engine, StepEnd, StreamItem};

/// How often this server says that it is there.
const CHECK_IN_EVERY: Duration = Duration::from_secs(2);
/// For how long that is believed, milliseconds.
pub(crate) const ALIVE_MS: i64 = 10_000;
/// How long news are gathered, so that many go together.
const GATHERED: Duration = Duration::from_millis(20);
/// News that wait to be told, beyond which the oldest are left out.
const NEWS_MAX: usize = 20_000;
/// News of others that wait to be looked up for streams.
const RELAYED_MAX: usize = 10_000;
/// Rest after the database could not be listened to.
const LISTEN_AGAIN_AFTER: Duration = Duration::from_millis(500);
/// Events read at once.
const EVENTS_PAGE: u32 = 200;
/// How long an owner counts as followed on another server after that said so; it says so at each
/// check-in.
const FOLLOWED_FOR: Duration = Duration::from_secs(10);
/// Owners that are followed on other servers.
const FOLLOWED_MAX: usize = 10_000;
/// News that wait, beyond which no lines are added: they come with their run's end.
const LINES_WAITING_MAX: usize = 5_000;
/// Bytes of a line with what stands around it, as it is told; a longer one comes with its run's
/// end.
const LINE_MAX: usize = 7_000;
/// Runs whose lines and steps that streams have got are remembered.
const RUNS_REMEMBERED: usize = 10_000;

#[derive(Default)]
pub(crate) struct Nodes {
    /// Number of other servers that use the database, at the last check-in.
    pub(crate) others: AtomicU64,
    news: Mutex<Vec<News>>,
    gathered: tokio::sync::Notify,
    /// Owners whose lines other servers want as they come, and until when.
    followed: Mutex<HashMap<String, Instant>>,
}

impl Nodes {
    fn follow(&self, owner: String) {
        let (mut followed, now) = (self.followed.lock(), Instant::now());
        if followed.len() >= FOLLOWED_MAX {
            followed.retain(|_, until| *until > now);
        }
        if followed.len() < FOLLOWED_MAX {
            followed.insert(owner, now + FOLLOWED_FOR);
        }
    }

    fn is_followed(&self, owner: &str) -> bool {
        self.followed.lock().get(owner).is_some_and(|until| *until > Instant::now())
    }
}

/// What of a run the streams here have got.
#[derive(Default)]
struct Shown {
    /// Lines that were stored when the run was last looked at.
    lines: usize,
    steps: usize,
    /// The attempt whose lines came since, and how many of it there are up to the last that came.
    live: Option<(i64, usize)>,
}

impl Shown {
    /// Whether a line is the next one. After one that did not come, none is: the rest comes in its
    /// order with the run's end or pause. Who begins to listen in the middle of an attempt gets
    /// what comes from then on, as on the server where the run is.
    fn is_next(&mut self, attempt: i64, nth: usize) -> bool {
        let is_next = match self.live {
            Some((of, next)) if of == attempt => nth == next || nth == 0,
            Some((of, _)) => of < attempt,
            None => true,
        };
        if is_next {
            self.live = Some((attempt, nth + 1));
        }
        is_next
    }

    /// How many of the stored lines were shown, now that so many are, the last of them of that
    /// attempt.
    fn lines_shown(&mut self, stored: usize, attempt: i64) -> usize {
        if stored <= self.lines {
            return stored;
        }
        let live = self.live.take().filter(|(of, _)| *of == attempt).map_or(0, |(_, count)| count);
        std::mem::replace(&mut self.lines, stored) + live
    }
}

impl Engine {
    pub(crate) async fn start_with_others(&self) -> StoreResult<()> {
        if self.0.store.single_node() {
            self.0.cache.has_no_others();
            return Ok(());
        }
        self.check_in().await?;
        let (relay, relayed) = mpsc::channel(RELAYED_MAX);
        let relayed = std::sync::Arc::new(tokio::sync::Mutex::new(relayed));
        self.keep_to_the_end("listener", move |engine, stop| engine.listen(stop, relay.clone()));
        self.keep_to_the_end("relay", move |engine, stop| engine.relay(stop, relayed.clone()));
        self.keep_to_the_end("teller", |engine, stop| engine.tell_news(stop));
        self.keep_to_the_end("check-in", |engine, stop| engine.keep_checked_in(stop));
        Ok(())
    }

    /// Whether no other server uses the database. False where that cannot be known.
    pub(crate) fn is_alone(&self) -> bool {
        self.0.store.single_node()
            || (self.0.nodes.others.load(Ordering::SeqCst) == 0 && self.0.cache.is_believed())
    }

    /// There may be runs to be claimed, here or elsewhere.
    pub(crate) fn queued(&self) {
        self.0.wake_dispatch.notify_one();
        self.tell_others(|| News::Queued);
    }

    /// A run paused or is over.
    pub(crate) fn run_changed(&self, org: &OrgId, owner: &str, run: &RunId) {
        self.notify_streams(org, owner, run);
        self.tell_others(|| News::Run(org.clone(), owner.to_owned(), run.clone()));
    }

    /// Streams of the owner and of its organization.
    fn notify_streams(&self, org: &OrgId, owner: &str, run: &RunId) {
        self.0.streams.send(owner, || StreamItem::Run(run.clone()));
        self.0.streams.send(org.as_str(), || StreamItem::Run(run.clone()));
    }

    pub(crate) fn tell_others_of_event(&self, event: &Event) {
        self.tell_others(|| {
            News::Event(event.org_id.clone(), event.emitter_id.clone(), event.id.into())
        });
    }

    pub(crate) fn tell_others(&self, news: impl FnOnce() -> News) {
        if self.is_alone() {
            return;
        }
        let mut waiting = self.0.nodes.news.lock();
        let news = news();
        if news == News::Queued && waiting.contains(&news) {
            return;
        }
        if waiting.len() >= NEWS_MAX {
            waiting.drain(..NEWS_MAX / 2);
        }
        waiting.push(news);
        drop(waiting);
        self.0.nodes.gathered.notify_one();
    }

    /// Tells a line of a run where the run's owner is followed.
    pub(crate) fn tell_line(
        &self,
        owner: &str,
        run: &RunId,
        attempt: i64,
        nth: usize,
        line: &LogLine,
    ) {
        if self.is_alone()
            || !self.0.nodes.is_followed(owner)
            || self.0.nodes.news.lock().len() >= LINES_WAITING_MAX
        {
            return;
        }
        let news = News::Line {
            owner: owner.to_owned(),
            run: run.clone(),
            attempt,
            nth,
            line: line.clone(),
        };
        if serde_json::to_vec(&news).is_ok_and(|text| text.len() <= LINE_MAX) {
            self.tell_others(|| news);
        }
    }

    async fn tell_news(self, stop: CancellationToken) {
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = self.0.nodes.gathered.notified() => {}
            }
            let news = std::mem::take(&mut *self.0.nodes.news.lock());
            if !news.is_empty()
                && let Err(error) = self.0.store.tell(&self.0.node, &news).await
            {
                tracing::debug!(
                    error = error_chain(&error),
                    "the other servers could not be told; they look by themselves"
                );
            }
            tokio::time::sleep(GATHERED).await;
        }
    }

    async fn check_in(&self) -> StoreResult<()> {
        let others = self.0.store.check_in(&self.0.node, ALIVE_MS).await?;
        if self.0.nodes.others.swap(others, Ordering::SeqCst) != others {
            tracing::info!(others, "other servers use the database");
        }
        Ok(())
    }

    async fn keep_checked_in(self, stop: CancellationToken) {
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = tokio::time::sleep(CHECK_IN_EVERY) => {}
            }
            if let Err(error) = self.check_in().await {
                tracing::warn!(
                    error = error_chain(&error),
                    "could not say that this server is there; others may take what was meant for it"
                );
            }
            for owner in self.0.streams.read() {
                self.tell_others(|| News::Followed(owner));
            }
        }
    }

    /// Nothing of this server goes on any more.
    pub(crate) async fn check_out(&self) {
        if self.0.store.single_node() {
            return;
        }
        if let Err(error) = self.0.store.check_out(&self.0.node).await {
            tracing::debug!(
                error = error_chain(&error),
                "could not say that this server ends; the others see it soon"
            );
        }
    }

    async fn listen(self, stop: CancellationToken, relay: mpsc::Sender<News>) {
        loop {
            let began = Instant::now();
            match self.0.store.listen().await {
                Ok(Some(mut hears)) => {
                    // Whatever was read before may have changed unheard.
                    self.forget_everything();
                    self.0.cache.heard_up_to(began);
                    self.look_at_everything();
                    loop {
                        let heard = tokio::select! {
                            biased;
                            () = stop.cancelled() => return,
                            heard = hears.recv() => heard,
                        };
                        let Some(heard) = heard else { break };
                        self.hear(heard, &relay).await;
                    }
                    self.0.cache.hears_nothing();
                    tracing::warn!(
                        "the database cannot be heard; until it can, everything is read from it"
                    );
                }
                Ok(None) => return,
                Err(error) => tracing::warn!(
                    error = error_chain(&error),
                    "could not listen to the database; until it can be, everything is read from it"
                ),
            }
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = tokio::time::sleep(LISTEN_AGAIN_AFTER) => {}
            }
        }
    }

    fn forget_everything(&self) {
        self.0.cache.forget_all();
        self.forget_domains();
    }

    fn look_at_everything(&self) {
        for wake in [
            &self.0.wake_dispatch,
            &self.0.wake_scheduler,
            &self.0.wake_mailer,
            &self.0.wake_deliverer,
            &self.0.wake_webhooks,
        ] {
            wake.notify_one();
        }
    }

    async fn hear(&self, heard: Heard, relay: &mpsc::Sender<News>) {
        match heard {
            Heard::UpTo(at) => self.0.cache.heard_up_to(at),
            Heard::Changed(Changed::Owner(id)) => {
                self.0.cache.forget_owner(&id);
                // It may have a timer that is due before all others.
                self.0.wake_scheduler.notify_one();
            }
            Heard::Changed(Changed::Listeners) => self.0.cache.forget_listeners(),
            Heard::Changed(Changed::Callers) => self.0.cache.forget_callers(),
            Heard::Changed(Changed::Domains) => self.forget_domains(),
            Heard::Changed(Changed::Nodes) => {
                if let Err(error) = self.check_in().await {
                    tracing::debug!(
                        error = error_chain(&error),
                        "could not count the servers; they are counted again soon"
                    );
                }
            }
            Heard::News(node, _) if node == self.0.node => {}
            Heard::News(_, News::Queued) => self.0.wake_dispatch.notify_one(),
            Heard::News(_, News::Followed(owner)) => self.0.nodes.follow(owner),
            Heard::News(_, news @ (News::Event(..) | News::Run(..) | News::Line { .. })) => {
                let (News::Event(_, owner, _) | News::Run(_, owner, _) | News::Line { owner, .. }) =
                    &news
                else {
                    return;
                };
                if self.0.streams.has_readers(owner) && relay.try_send(news).is_err() {
                    tracing::warn!(
                        "what settled on other servers comes faster than it can be read; streams here miss some of it"
                    );
                }
            }
        }
    }

    /// Reads what settled elsewhere for the streams here.
    async fn relay(
        self,
        stop: CancellationToken,
        relayed: std::sync::Arc<tokio::sync::Mutex<mpsc::Receiver<News>>>,
    ) {
        let mut relayed = relayed.lock().await;
        let (mut news, mut shown) = (Vec::new(), HashMap::<RunId, Shown>::new());
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                _ = relayed.recv_many(&mut news, RELAYED_MAX) => {}
            }
            if news.is_empty() {
                return;
            }
            let mut events: HashMap<(OrgId, String), BTreeSet<EventAt>> = HashMap::new();
            let mut of_runs = Vec::new();
            for one in news.drain(..) {
                match one {
                    News::Event(org, emitter, at) => {
                        events.entry((org, emitter)).or_default().insert(at);
                    }
                    of_run @ (News::Run(..) | News::Line { .. }) => of_runs.push(of_run),
                    News::Queued | News::Followed(_) => {}
                }
            }
            for ((org, emitter), wanted) in events {
                if let Err(error) = self.relay_events(&org, &emitter, &wanted).await {
                    tracing::warn!(
                        emitter.id = emitter,
                        error = error_chain(&error),
                        "events of another server could not be read for a stream"
                    );
                }
            }
            for news in of_runs {
                if shown.len() >= RUNS_REMEMBERED {
                    shown.clear();
                }
                match news {
                    News::Line { owner, run, attempt, nth, line }
                        if shown.entry(run.clone()).or_default().is_next(attempt, nth) =>
                    {
                        self.0.streams.send(&owner, || StreamItem::Log(run, line));
                    }
                    News::Run(org, owner, run) => {
                        if let Err(error) = self
                            .relay_run(&org, &owner, &run, shown.entry(run.clone()).or_default())
                            .await
                        {
                            tracing::warn!(run.id = %run, error = error_chain(&error), "a run of another server could not be read for a stream");
                        }
                    }
                    _ => {}
                }
            }
        }
    }

    async fn relay_events(
        &self,
        org: &OrgId,
        emitter: &str,
        wanted: &BTreeSet<EventAt>,
    ) -> StoreResult<()> {
        let (Some(first), Some(last)) = (wanted.first(), wanted.last()) else { return Ok(()) };
        let mut after = first.0 - 1;
        while after < last.0 {
            let events = self
                .0
                .store
                .events_after(org, emitter, EventId::from_ordinal(after), EVENTS_PAGE)
                .await?;
            let Some(end) = events.last().map(|event| event.id.ordinal()) else { break };
            after = end;
            for event in events.into_iter().filter(|event| wanted.contains(&event.id.into())) {
                self.0.streams.send(emitter, || StreamItem::Event(std::sync::Arc::new(event)));
            }
        }
        Ok(())
    }

    /// Steps of a run come as they end, lines that did not come by themselves with its end or
    /// pause.
    async fn relay_run(
        &self,
        org: &OrgId,
        owner: &str,
        id: &RunId,
        before: &mut Shown,
    ) -> StoreResult<()> {
        let Some(run) = self.0.store.run(org, id).await? else { return Ok(()) };
        let lines = self.0.store.run_logs(id).await?;
        let steps = run
            .result
            .as_deref()
            .and_then(|text| serde_json::from_str::<RunResult>(text).ok())
            .map(|result| result.steps)
            .unwrap_or_default();
        for step in steps.iter().skip(before.steps) {
            let end = step
                .duration_ms
                .map(|duration_ms| StepEnd { duration_ms, exports: step.exports.get().to_owned() });
            self.0
                .streams
                .send(owner, || StreamItem::Step(id.clone(), step.namespace.clone(), end));
        }
        for line in lines.iter().skip(before.lines_shown(lines.len(), run.attempt)) {
            self.0.streams.send(owner, || StreamItem::Log(id.clone(), line.clone()));
        }
        before.steps = steps.len();
        self.notify_streams(org, owner, id);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_shown_once_and_in_order() {
        let mut shown = Shown::default();
        // One of the first attempt is missed: what comes behind it waits for the store.
        assert!(
            shown.is_next(1, 0)
                && shown.is_next(1, 1)
                && !shown.is_next(1, 3)
                && !shown.is_next(1, 4)
        );
        assert_eq!(shown.lines_shown(0, 1), 0);
        assert_eq!(shown.lines_shown(5, 1), 2);
        // Looked at again, without anything new.
        assert_eq!(shown.lines_shown(5, 1), 5);
        // The second attempt is followed from its third line on.
        assert!(shown.is_next(2, 2) && !shown.is_next(1, 5));
        assert_eq!(shown.lines_shown(9, 2), 8);
        // What a third wrote was lost with its host; nothing of the fourth came by itself.
        assert!(shown.is_next(3, 0) && shown.is_next(3, 0));
        assert_eq!(shown.lines_shown(11, 4), 9);
    }
}
