//! Beginning of an accepted event: its run becomes durable, then starts here or waits in the queue.

use std::pin::pin;
use std::sync::Arc;

use millrace_model::ids::RunId;
use millrace_model::run::{NewRun, Run, Start};
use millrace_model::tenant::Caller;
use millrace_store::fail_point;
use tokio::sync::oneshot;

use crate::run::claimed_run::ClaimedRun;
use crate::run::context::Origin;
use crate::run::program::Program;
use crate::run::sink::Responder;
use crate::run::unstored::UnstoredRun;
use crate::{Engine, EngineError};

impl Engine {
    /// Queues a run of an owner with limits: whichever server claims it counts what is under way.
    /// `here`: somebody waits here for its answer or its end, so this server runs it, unless it
    /// ends before.
    pub(super) async fn accept_queued(
        &self,
        run: NewRun,
        queue_max: u32,
        here: bool,
        responder: Option<Responder>,
    ) -> Result<(), EngineError> {
        if self.0.tasks.stopping() {
            return Err(EngineError::Overloaded);
        }
        let id = run.id.clone();
        let run = NewRun { start: Start::Queued, ..run };
        let node = (here || responder.is_some()).then_some(self.0.node.as_str());
        if let Some(responder) = responder {
            self.0.responders.lock().insert(id.clone(), responder);
        }
        if let Err(error) = self.0.store.accept_queued(run, queue_max, node).await {
            self.0.responders.lock().remove(&id);
            return Err(error.into());
        }
        self.queued();
        fail_point!("engine.accept.before_answer");
        Ok(())
    }

    /// Makes an event's run durable, and starts it where nothing holds it back. Gives the run where
    /// it will be durable with the answer that its client waits for.
    pub(crate) async fn accept_event(
        &self,
        run: NewRun,
        program: Arc<Program>,
        responder: Option<Responder>,
    ) -> Result<Option<Arc<UnstoredRun>>, EngineError> {
        match program.limits() {
            Some(_) if self.0.full_queues.contains(run.owner.as_str()) => {
                Err(EngineError::QueueFull)
            }
            Some(_) => {
                self.accept_queued(run, program.queue_max(), false, responder).await.map(|()| None)
            }
            None => self.accept_here(run, program, responder).await,
        }
    }

    /// Makes a run durable as claimed by this node, and starts it; or starts it first, where its
    /// client waits for what it answers.
    async fn accept_here(
        &self,
        run: NewRun,
        program: Arc<Program>,
        responder: Option<Responder>,
    ) -> Result<Option<Arc<UnstoredRun>>, EngineError> {
        let bytes = run.event.len() + run.context.len();
        if self.0.tasks.stopping() {
            return Err(EngineError::Overloaded);
        }
        let ticket = self.0.admission.admit(&run.org_id, &run.owner, bytes)?;
        let mut claimed = ClaimedRun::accepted(&run);
        // What ends this early, be it a panic, lets go of the run: held for ever, its lease would
        // be renewed for ever.
        let lease = self.lease(&claimed);
        let stored = match &*program {
            Program::Workflow(workflow) if responder.is_some() => {
                self.hold_back(run, &workflow.isolate)
            }
            _ => Err(Box::new(run)),
        };
        match stored {
            Ok(unstored) => claimed.unstored = Some(unstored),
            Err(run) => self.0.store.accept(*run, &self.0.node).await?,
        }
        let unstored = claimed.unstored.clone();
        let engine = self.clone();
        let to_store = unstored.clone();
        self.0.tasks.spawn(async move {
            let run = pin!(async {
                lease.may_begin().await;
                let slot = ticket.granted().await;
                engine.execute(claimed, lease, Some(program), responder).await;
                drop(slot);
            });
            engine.store_meanwhile(to_store.as_deref(), run).await;
        });
        fail_point!("engine.accept.before_answer");
        Ok(unstored)
    }

    /// Accepts a run and returns its record once it has ended.
    pub(crate) async fn run_and_wait(
        &self,
        caller: &Caller,
        program: &Arc<Program>,
        origin: &Origin,
        event: String,
    ) -> Result<Run, EngineError> {
        let run = self.new_run(
            program,
            origin,
            event,
            Start::Claimed { lease_until: self.lease_until() },
        )?;
        self.wait_for(caller, program, run).await
    }

    /// Accepts a run that starts as claimed, and waits for its end.
    pub(crate) async fn wait_for(
        &self,
        caller: &Caller,
        program: &Arc<Program>,
        run: NewRun,
    ) -> Result<Run, EngineError> {
        let id = run.id.clone();
        // The sender goes away unsent only when the server stops; the record then tells how far it
        // came.
        let _ = self.begin(program, run).await?.await;
        self.0
            .store
            .run(&caller.org_id, &id)
            .await?
            .ok_or_else(|| EngineError::not_found("run", id))
    }

    /// Accepts a run that starts as claimed; what is given ends when it is settled. Its caller gets
    /// the error at once where its packages cannot be installed.
    pub(crate) async fn begin(
        &self,
        program: &Arc<Program>,
        run: NewRun,
    ) -> Result<oneshot::Receiver<()>, EngineError> {
        self.install(program).await?;
        let ended = self.when_settled(&run.id);
        match &**program {
            // One at a time, also where somebody asks for a run of it.
            Program::Source(source) if source.source.limits.is_some() => {
                self.accept_queued(run, program.queue_max(), true, None).await?
            }
            _ => drop(self.accept_here(run, program.clone(), None).await?),
        }
        Ok(ended)
    }

    /// Ends when the run is settled by this node.
    fn when_settled(&self, id: &RunId) -> oneshot::Receiver<()> {
        let (sender, receiver) = oneshot::channel();
        self.0.waiters.lock().insert(id.clone(), sender);
        receiver
    }
}
