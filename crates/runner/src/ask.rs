//! Requests of code that waits for the answer: bounded, and each answered exactly once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::value::RawValue;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use crate::outgoing::Outgoing;
use crate::wire::{self, WireError};

/// Asks of a call that may be unanswered; the runtime holds further ones back, so that one more is
/// a violation.
const OPEN_MAX: usize = 100;
/// Asks of a call in all: more than the server answers, so that what it refuses has a bound too.
const ASKS_MAX: u32 = 110_000;
/// Bytes of the frames of all asks of a call.
const ASKS_BYTES_MAX: usize = 4 << 30;
/// Answers of one host that are worked on, or wait to be written, at once: a host that does not
/// read holds up only itself.
const TURNS: usize = 16;
/// The largest payload of an ask, bytes: a value of a data store with its key, and room to spare.
pub(crate) const PAYLOAD_BYTES_MAX: usize = 2 << 20;

/// Why an ask is refused, as the code sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskError {
    /// The error's class: `NotFound`, `Forbidden`, `QuotaExceeded`, `InternalFailure`, …
    pub code: &'static str,
    /// The sentence.
    pub message: String,
}

impl AskError {
    /// A refusal.
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

/// What an ask is answered with: the value's JSON, `None` for undefined.
pub type AskResult = Result<Option<Box<RawValue>>, AskError>;

/// A question of a call. Dropped, it is answered with an `InternalFailure`.
#[derive(Debug)]
pub struct Ask {
    /// `data_store.get`, `flow.trigger`, …
    pub kind: String,
    /// What is asked, as the host sent it: not checked.
    pub payload: Box<RawValue>,
    reply: Reply,
}

impl Ask {
    /// Waits for its turn among the asks of its host; to be called before anything is done for it.
    pub async fn turn(&mut self) {
        // Never closed.
        self.reply.turn = self.reply.turns.clone().acquire_owned().await.ok();
    }

    /// Answers. Where the call is over, or its host does not read, nobody hears it.
    pub fn answer(mut self, answer: AskResult) {
        self.reply.give(answer);
    }

    /// Answers that nobody here knows such an ask.
    pub fn unknown(self) {
        let message = format!("`{}` is not known here", millrace_model::shown(&self.kind));
        self.answer(Err(AskError::new("NotFound", message)));
    }
}

#[derive(Debug)]
struct Reply {
    call: u64,
    ask: u64,
    writer: mpsc::Sender<Outgoing>,
    open: Arc<AtomicUsize>,
    turns: Arc<Semaphore>,
    turn: Option<OwnedSemaphorePermit>,
    given: bool,
}

impl Reply {
    fn give(&mut self, answer: AskResult) {
        if std::mem::replace(&mut self.given, true) {
            return;
        }
        let head = format!(r#"{{"t":"answer","id":{},"ask":{},"#, self.call, self.ask);
        let frame = match &answer {
            Ok(Some(value)) => wire::frame(&[&head, r#""ok":true,"value":"#, value.get(), "}"]),
            Ok(None) => wire::frame(&[&head, r#""ok":true}"#]),
            Err(error) => {
                let error = serde_json::json!({ "code": error.code, "message": error.message });
                wire::frame(&[&head, r#""ok":false,"error":"#, &error.to_string(), "}"])
            }
        };
        // Before it is sent: the host may ask again as soon as it has the answer.
        self.open.fetch_sub(1, Ordering::SeqCst);
        // A host with a full queue reads nothing; its call runs into its time limit.
        let _ = self.writer.try_send(Outgoing::in_turn(frame, self.turn.take()));
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        self.give(Err(AskError::new(
            "InternalFailure",
            "the server could not answer; see its log",
        )));
    }
}

/// Where a host's answers go.
pub(crate) struct AnswerChannel {
    pub(crate) writer: mpsc::Sender<Outgoing>,
    turns: Arc<Semaphore>,
}

impl AnswerChannel {
    pub(crate) fn new(writer: mpsc::Sender<Outgoing>) -> Self {
        Self { writer, turns: Arc::new(Semaphore::new(TURNS)) }
    }
}

/// The asks of one call.
#[derive(Default)]
pub(crate) struct Asks {
    open: Arc<AtomicUsize>,
    newest: u64,
    count: u32,
    bytes: usize,
}

impl Asks {
    /// Counts the frame of an ask; why it is one too many.
    pub(crate) fn count(&mut self, bytes: usize) -> Result<(), String> {
        self.count += 1;
        self.bytes += bytes;
        if self.count > ASKS_MAX || self.bytes > ASKS_BYTES_MAX {
            return Err(format!(
                "the run asked data stores, file stores and workflows more than {ASKS_MAX} times, or sent them more than {} GiB, the limit; split the work into several runs",
                ASKS_BYTES_MAX >> 30
            ));
        }
        Ok(())
    }

    /// Takes an ask in; None: it is too large, and was answered so.
    pub(crate) fn open(
        &mut self,
        answers: &AnswerChannel,
        call: u64,
        ask: u64,
        kind: String,
        payload: &RawValue,
    ) -> Result<Option<Ask>, WireError> {
        // Rising numbers are unique, and cost no memory.
        if ask <= self.newest {
            return Err(WireError::OutOfOrder("an ask whose number does not rise"));
        }
        self.newest = ask;
        if self.open.fetch_add(1, Ordering::SeqCst) >= OPEN_MAX {
            return Err(WireError::OutOfOrder("more unanswered asks than allowed"));
        }
        let (writer, turns) = (answers.writer.clone(), answers.turns.clone());
        let mut reply =
            Reply { call, ask, writer, open: self.open.clone(), turns, turn: None, given: false };
        if payload.get().len() > PAYLOAD_BYTES_MAX {
            let message = format!(
                "what `{}` is given has {} bytes, allowed are {PAYLOAD_BYTES_MAX}",
                millrace_model::shown(&kind),
                payload.get().len()
            );
            reply.give(Err(AskError::new("PayloadTooLarge", message)));
            return Ok(None);
        }
        Ok(Some(Ask { kind, payload: payload.to_owned(), reply }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn asks_of_a_call_have_a_bound_in_number_and_in_bytes() {
        let (mut many, mut large) = (Asks::default(), Asks::default());
        assert!((0..ASKS_MAX).all(|_| many.count(60).is_ok()));
        assert!((0..4096).all(|_| large.count(1 << 20).is_ok()));
        for asks in [&mut many, &mut large] {
            assert!(asks.count(60).is_err_and(|said| said.contains("110000 times")));
        }
    }
}
