//! Steps and lines of a run from before its stream was opened.

use std::ops::Range;
use std::sync::{Arc, Weak};

use millrace_model::ids::RunId;
use millrace_model::run::LogLine;

use crate::run::sink::Collector;
use crate::{StepEnd, StreamItem};

/// Steps that ended, the step under way and lines of a run that this server runs. Each is read when
/// its turn has come: a client that reads slowly takes the memory of one. It ends with the run,
/// whose record has all then; the caller fuses it.
#[derive(Default)]
pub struct SoFar {
    run: Option<RunId>,
    call: Weak<Collector>,
    ended: Range<usize>,
    under_way: Option<String>,
    lines: Range<usize>,
}

impl SoFar {
    /// `listen` subscribes while nothing is added: the subscription has what this leaves out, and
    /// no more.
    pub(crate) fn of<T>(
        run: &RunId,
        call: &Arc<Collector>,
        listen: impl FnOnce() -> T,
    ) -> (Self, T) {
        call.look(|collected| {
            let under_way = collected.step_under_way();
            let so_far = Self {
                run: Some(run.clone()),
                call: Arc::downgrade(call),
                ended: 0..collected.steps.len() - usize::from(under_way.is_some()),
                under_way,
                lines: 0..collected.logs.len(),
            };
            (so_far, listen())
        })
    }

    /// Leaves out the lines that are stored: those of an attempt are from its first one on, and
    /// later than those of the attempts before.
    pub fn skip_stored(&mut self, stored: &[LogLine]) {
        let Some(call) = self.call.upgrade() else { return };
        let Some(first) = call.look(|collected| collected.logs.first().map(|line| line.at)) else {
            return;
        };
        let of_attempt = stored.iter().rev().take_while(|line| line.at >= first).count();
        self.lines.start = of_attempt.min(self.lines.end);
    }
}

impl Iterator for SoFar {
    type Item = StreamItem;

    fn next(&mut self) -> Option<StreamItem> {
        let (run, call) = (self.run.clone()?, self.call.upgrade()?);
        if let Some(nth) = self.ended.next() {
            return call.look(|collected| {
                let step = collected.steps.get(nth)?;
                let end = step.finished.as_ref().map(|(duration_ms, exports)| {
                    let exports = exports.get().to_owned();
                    Arc::new(StepEnd { duration_ms: *duration_ms, exports })
                });
                Some(StreamItem::Step(run, step.namespace.clone(), end))
            });
        }
        if let Some(namespace) = self.under_way.take() {
            return Some(StreamItem::Step(run, namespace, None));
        }
        let nth = self.lines.next()?;
        call.look(|collected| Some(StreamItem::Log(run, collected.logs.get(nth)?.clone())))
    }
}
