//! Exports of a whole history: bounds on the bytes that wait for a client, and on the time.

use std::future::pending;
use std::sync::Arc;

use millrace_fair::{FairSemaphore, Permit, Policy, Quotas};
use millrace_model::ids::OrgId;
use millrace_model::tenant::Caller;
use millrace_store::{ExportFilter, Exported};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::EngineError;
use crate::ctx::Ctx;
use crate::observe::export_client::{Client, Taken};
use crate::owners::check_owner;

/// Pieces that the store reads ahead: few, for each may have some MiB.
const READ_AHEAD: usize = 4;
/// Bytes of pieces that wait to be taken; one that has more waits alone.
const WAITING_BYTES: u32 = 1 << 20;
/// About how many bytes a piece has beside its texts: ids, times, names of fields.
const PIECE_BYTES: usize = 200;
/// So many of the smallest fit into what may wait.
const WAITING_PIECES: usize = WAITING_BYTES as usize / PIECE_BYTES;
/// Exports under way at once, one of an organization: each holds a connection of the database for
/// as long as its client reads.
const UNDER_WAY: Policy = Policy::fewest_held(Quotas::of(2).tenant(1));

/// An export under way. It holds its permit until this is dropped: what its client has not taken is
/// in memory.
pub struct Export {
    pieces: mpsc::Receiver<Waiting>,
    done: oneshot::Receiver<Result<(), EngineError>>,
    taken: Taken,
    _permit: Arc<Permit<OrgId>>,
}

/// A piece with its part of the bytes that may wait.
type Waiting = (Exported, OwnedSemaphorePermit);

impl Export {
    /// The next piece; none where they are over, of which [`Export::done`] tells why.
    pub async fn next(&mut self) -> Option<Exported> {
        self.pieces.recv().await.map(|(piece, _)| piece)
    }

    /// The next piece where it is there already.
    pub fn next_at_once(&mut self) -> Option<Exported> {
        self.pieces.try_recv().ok().map(|(piece, _)| piece)
    }

    /// Whether the pieces, which are over, were all there are. To be asked once.
    pub async fn done(&mut self) -> Result<(), EngineError> {
        (&mut self.done)
            .await
            .unwrap_or_else(|e| Err(EngineError::internal("an export was given up", e)))
    }

    /// Where to tell how much was taken.
    pub fn taken(&self) -> Taken {
        self.taken.clone()
    }
}

/// Exports of the history of organizations.
pub struct Exports {
    ctx: Arc<Ctx>,
    under_way: FairSemaphore<OrgId>,
}

impl Exports {
    pub(crate) fn new(ctx: Arc<Ctx>) -> Self {
        Self { ctx, under_way: FairSemaphore::new(UNDER_WAY) }
    }

    fn enter(&self, org: &OrgId) -> Result<Permit<OrgId>, EngineError> {
        self.under_way.try_acquire(org.clone(), ()).ok_or_else(|| {
            EngineError::ExportUnderWay(if self.under_way.held_by_tenant().contains_key(org) {
                "an export of this organization is under way, and one may be at once; try again when it is over"
            } else {
                "two exports of others are under way, as many as the server does at once; try again when one is over"
            })
        })
    }

    /// Hands over the organization's runs, logs and events as they are at one moment.
    /// [`EngineError::ExportUnderWay`] where one of the organization, or two of others, are handed
    /// over already. `cut` is cancelled where the client takes too little: whoever serves it then
    /// drops the [`Export`].
    pub async fn begin(
        &self,
        caller: &Caller,
        filter: ExportFilter,
        cut: CancellationToken,
    ) -> Result<Export, EngineError> {
        if let Some(owner) = &filter.owner {
            check_owner(&self.ctx, caller, owner).await?;
        }
        let permit = Arc::new(self.enter(&caller.org_id)?);
        let (out, read) = mpsc::channel(READ_AHEAD);
        let (give, pieces) = mpsc::channel(WAITING_PIECES);
        let (tell, done) = oneshot::channel();
        let taken = Taken::default();
        let mut client = Client::of(&taken);
        let (ctx, org, stop, held) =
            (self.ctx.clone(), caller.org_id.clone(), self.ctx.tasks.token(), permit.clone());
        self.ctx.tasks.spawn(async move {
            let exported = tokio::select! {
                biased;
                () = stop.cancelled() => Err(EngineError::Overloaded),
                exported = async {
                    let (exported, given) = tokio::join!(ctx.store.export(&org, filter, out), hand_over(read, give, &mut client));
                    // The store ends well where nobody takes its pieces any more.
                    given.and(exported.map_err(EngineError::from))
                } => exported,
            };
            // Before it is told to be over: who was told asks for the next one, and gets it.
            drop(held);
            let mut is_late = matches!(exported, Err(EngineError::ExportTooSlow { .. }));
            // Whoever asked may have gone away.
            let _ = tell.send(exported);
            if !is_late {
                // What was read is still to be taken.
                is_late = tokio::select! {
                    biased;
                    () = stop.cancelled() => false,
                    ended = client.lets(pending::<()>()) => ended.is_err(),
                };
            }
            if is_late {
                tracing::info!(bytes = client.counted, "an export is cut off, as its client takes too little of it");
                cut.cancel();
            }
        });
        Ok(Export { pieces, done, taken, _permit: permit })
    }
}

/// Hands on what the store reads, as long as the client lets it. Ends where it is gone.
async fn hand_over(
    mut read: mpsc::Receiver<Exported>,
    give: mpsc::Sender<Waiting>,
    client: &mut Client,
) -> Result<(), EngineError> {
    let room = Arc::new(Semaphore::new(WAITING_BYTES as usize));
    while let Some(piece) = read.recv().await {
        let bytes = u32::try_from(weight(&piece)).unwrap_or(WAITING_BYTES).min(WAITING_BYTES);
        let Some(Ok(part)) = client.lets(room.clone().acquire_many_owned(bytes)).await? else {
            return Ok(());
        };
        // There is a place for whatever has its part of the bytes.
        if give.try_send((piece, part)).is_err() {
            return Ok(());
        }
    }
    Ok(())
}

/// About how many bytes a piece has in memory.
fn weight(piece: &Exported) -> usize {
    let texts = match piece {
        Exported::Run(run) => {
            run.event.len()
                + run.context.len()
                + run.result.as_ref().map_or(0, String::len)
                + run.error.as_ref().map_or(0, String::len)
        }
        Exported::Log { line, .. } => line.text.len(),
        Exported::Event(event) => event.payload.len() + event.metadata.len(),
    };
    PIECE_BYTES + texts
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use millrace_model::clock::Timestamp;
    use millrace_model::ids::RunId;
    use millrace_model::run::{LogLevel, LogLine};
    use millrace_model::{IdSource, ids};
    use tokio::task::JoinHandle;
    use tokio::time::Instant;

    use super::*;
    use crate::EngineConfig;
    use crate::observe::export_client::{TAKEN_PER_SECOND, TAKING_GRACE, patience};
    use crate::test_ctx::TestCtx;

    fn line(text: &str) -> Exported {
        let line =
            LogLine { at: Timestamp(0), level: LogLevel::Info, text: text.into(), step: None };
        Exported::Log {
            owner: "p_a".into(),
            run_id: RunId::at(&IdSource::default(), Timestamp(0)),
            line,
        }
    }

    /// What the store hands to, what the client takes from, and how it ends.
    struct Handing {
        out: mpsc::Sender<Exported>,
        pieces: mpsc::Receiver<Waiting>,
        taken: Taken,
        task: JoinHandle<Result<(), EngineError>>,
    }

    impl Handing {
        fn begin() -> Self {
            let (out, read) = mpsc::channel(READ_AHEAD);
            let (give, pieces) = mpsc::channel(WAITING_PIECES);
            let taken = Taken::default();
            let mut client = Client::of(&taken);
            Self {
                out,
                pieces,
                taken,
                task: tokio::spawn(async move { hand_over(read, give, &mut client).await }),
            }
        }

        async fn ends_too_slow(self) -> bool {
            matches!(self.task.await.expect("ends"), Err(EngineError::ExportTooSlow { .. }))
                && self.out.send(line("a")).await.is_err()
        }
    }

    #[tokio::test]
    async fn an_organization_has_one_export_at_once_and_all_have_two() {
        let test = TestCtx::new(EngineConfig::default());
        let (exports, ids) = (Exports::new(test.ctx.clone()), IdSource::default());
        let [a, b, c] = [(); 3].map(|()| ids::OrgId::generate(&ids));
        let refused = |org| matches!(exports.enter(org), Err(EngineError::ExportUnderWay(_)));
        let first = exports.enter(&a).expect("a permit");
        assert!(refused(&a));
        let _second = exports.enter(&b).expect("a permit");
        assert!(refused(&c));
        drop(first);
        assert!(exports.enter(&a).is_ok() && exports.enter(&c).is_ok());
    }

    #[test]
    fn what_was_taken_gives_time_up_to_a_minute() {
        let second = Duration::from_secs(1);
        assert_eq!(patience(TAKING_GRACE, 10 * second, 0), 50 * second);
        assert_eq!(patience(50 * second, 2 * second, TAKEN_PER_SECOND), 49 * second);
        assert_eq!(
            patience(50 * second, Duration::ZERO, TAKEN_PER_SECOND / 2),
            50 * second + second / 2
        );
        assert_eq!(patience(second, 2 * second, 0), Duration::ZERO);
        assert_eq!(
            (patience(second, second, 1 << 30), patience(second, second, u64::MAX)),
            (TAKING_GRACE, TAKING_GRACE)
        );
    }

    #[tokio::test(start_paused = true)]
    async fn an_export_that_nobody_reads_ends_and_one_that_waits_for_the_database_does_not() {
        let mut handing = Handing::begin();
        for _ in 0..3 {
            tokio::time::sleep(TAKING_GRACE * 2).await;
            handing.out.send(line("a")).await.expect("goes on");
            assert!(handing.pieces.recv().await.is_some());
        }
        let large = "x".repeat(WAITING_BYTES as usize);
        for _ in 0..2 {
            handing.out.send(line(&large)).await.expect("goes on");
        }
        assert!(handing.ends_too_slow().await);
    }

    #[tokio::test(start_paused = true)]
    async fn what_waits_for_a_client_is_bounded_by_its_bytes() {
        for (text, most) in
            [("x".repeat(4 << 20), 1), ("x".repeat(400 << 10), 2), ("x".into(), WAITING_PIECES)]
        {
            let handing = Handing::begin();
            let piece = line(&text);
            while let Ok(sent) =
                tokio::time::timeout(Duration::from_secs(1), handing.out.send(piece.clone())).await
            {
                sent.expect("goes on");
            }
            assert!(
                (1..=most).contains(&handing.pieces.len()),
                "{} of {} bytes",
                handing.pieces.len(),
                text.len()
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_takes_enough_is_waited_for_however_short_the_lines_or_long() {
        // Bytes of a text, and what its line has on its way.
        for (text, written, times) in [(1, 140, 20_000), (20 << 20, 20 << 20, 4)] {
            let mut handing = Handing::begin();
            let (piece, out) = (line(&"x".repeat(text)), handing.out.clone());
            let store = tokio::spawn(async move {
                for _ in 0..times {
                    if out.send(piece.clone()).await.is_err() {
                        return false;
                    }
                }
                true
            });
            let mut on_way = 0;
            for _ in 0..times {
                assert!(handing.pieces.recv().await.is_some(), "cut off");
                on_way += written;
                while on_way >= 32 << 10 {
                    tokio::time::sleep(Duration::from_millis(500)).await;
                    handing.taken.add(32 << 10);
                    on_way -= 32 << 10;
                }
            }
            assert!(store.await.expect("ends"));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_taken_fast_buys_no_hours() {
        let mut handing = Handing::begin();
        let large = line(&"x".repeat(WAITING_BYTES as usize));
        handing.out.send(large.clone()).await.expect("goes on");
        assert!(handing.pieces.recv().await.is_some());
        handing.taken.add(1 << 30);
        let began = Instant::now();
        for _ in 0..2 {
            handing.out.send(large.clone()).await.expect("goes on");
        }
        assert!(handing.ends_too_slow().await);
        assert!(began.elapsed() <= TAKING_GRACE + Duration::from_secs(1), "{:?}", began.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_is_gone_ends_it() {
        let Handing { out, pieces, taken, task } = Handing::begin();
        let large = line(&"x".repeat(WAITING_BYTES as usize));
        for _ in 0..2 {
            out.send(large.clone()).await.expect("goes on");
        }
        drop((pieces, taken));
        assert!(task.await.expect("ends").is_ok());
    }
}
