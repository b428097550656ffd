//! Newest replays of an organization for its streams: one read for all of them.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use futures::{Stream, StreamExt as _, stream};
use millrace_model::ids::{OrgId, ReplayId};
use millrace_model::page::Page;
use millrace_model::tenant::Caller;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::watch;

use crate::App;
use crate::v1::replays::ReplayOut;

/// How often the replays are read: no notification is sent when one changes.
const READ_EVERY: Duration = Duration::from_secs(2);

/// The newest page of replays: id, version and record of each.
type Newest = Arc<Vec<(ReplayId, i64, Value)>>;

/// Organizations that have a stream of their replays.
#[derive(Clone, Default)]
pub(crate) struct ReplayWatch(Arc<Mutex<HashMap<OrgId, watch::Sender<Newest>>>>);

impl ReplayWatch {
    fn subscribe(&self, app: &App, caller: &Caller) -> watch::Receiver<Newest> {
        let mut watched = self.0.lock();
        if let Some(newest) = watched.get(&caller.org_id) {
            return newest.subscribe();
        }
        let (newest, receiver) = watch::channel(Newest::default());
        watched.insert(caller.org_id.clone(), newest.clone());
        tokio::spawn(publish(app.clone(), caller.clone(), newest));
        receiver
    }

    /// Removes the organization where no stream is left; a stream that subscribes afterwards starts
    /// the reads again.
    fn remove_unused(&self, org: &OrgId, newest: &watch::Sender<Newest>) -> bool {
        let mut watched = self.0.lock();
        let unused = newest.receiver_count() == 0;
        if unused {
            watched.remove(org);
        }
        unused
    }
}

/// Reads the newest replays of the caller's organization until no stream is left.
async fn publish(app: App, caller: Caller, newest: watch::Sender<Newest>) {
    while !app.replay_watch.remove_unused(&caller.org_id, &newest) {
        let (engine, of) = (app.engine.clone(), caller.clone());
        let list = async move {
            let page = Page { limit: Page::LIMIT_MAX, ..Page::default() };
            engine.list_replays(&of, &page).await
        };
        // A failure is met again at the next read.
        if let Ok(listing) = app.stream_reads.read(&caller.org_id, list).await {
            newest.send_if_modified(|shown| {
                let versions = listing.items.iter().map(|r| (&r.id, r.version));
                let same = versions.eq(shown.iter().map(|(id, version, _)| (id, *version)));
                if !same {
                    let show = |r: &_| ReplayOut::show(r);
                    *shown = Arc::new(
                        listing.items.iter().map(|r| (r.id.clone(), r.version, show(r))).collect(),
                    );
                }
                !same
            });
        }
        tokio::select! {
            () = newest.closed() => {}
            () = tokio::time::sleep(READ_EVERY) => {}
        }
    }
}

/// Replays of many runs as they are, the newest page of them, and again as each changes.
pub(crate) fn changed_replays(
    app: &App,
    caller: &Caller,
) -> impl Stream<Item = Value> + Send + 'static {
    let mut newest = app.replay_watch.subscribe(app, caller);
    // What was read for other streams comes at once.
    newest.mark_changed();
    let shown: BTreeMap<ReplayId, i64> = BTreeMap::new();
    let changes = stream::unfold((newest, shown), |(mut newest, mut shown)| async move {
        newest.changed().await.ok()?;
        let read = newest.borrow_and_update().clone();
        let changed: Vec<Value> = read
            .iter()
            .filter(|(id, version, _)| shown.insert(id.clone(), *version) != Some(*version))
            .map(|(_, _, record)| record.clone())
            .collect();
        Some((stream::iter(changed), (newest, shown)))
    });
    changes.flatten()
}
