//! Bounds on the requests that one attempt of a run may make to the server.

use std::sync::atomic::{AtomicU32, Ordering};

use millrace_runner::AskError;

/// What one attempt of a run may ask for in all, whatever it is.
const ASKS_MAX: u32 = 100_000;
/// Runs that one attempt may start with `$.flow.trigger`.
const TRIGGERED_MAX: u32 = 1_000;
/// Requests that one attempt may make to this server's API by the hosted platform's address.
const REQUESTS_MAX: u32 = 1_000;

/// How often a call asked so far.
#[derive(Default)]
pub(crate) struct Asked {
    all: AtomicU32,
    triggers: AtomicU32,
    requests: AtomicU32,
}

impl Asked {
    /// Counts an ask, and refuses it where it is one too many.
    pub(crate) fn count(&self, kind: &str) -> Result<(), AskError> {
        let refuse = |what: &str, max: u32| {
            let message = format!(
                "{what} more than {max} times in this run, the limit; do more at once, or split the work into several runs"
            );
            Err(AskError::new("QuotaExceeded", message))
        };
        let is_beyond = |asked: &AtomicU32, max: u32| asked.fetch_add(1, Ordering::Relaxed) >= max;
        match kind {
            "flow.trigger" if is_beyond(&self.triggers, TRIGGERED_MAX) => {
                refuse("`$.flow.trigger` was called", TRIGGERED_MAX)
            }
            "platform.request" if is_beyond(&self.requests, REQUESTS_MAX) => {
                refuse("the hosted platform's API was asked", REQUESTS_MAX)
            }
            _ if is_beyond(&self.all, ASKS_MAX) => {
                refuse("data stores, file stores and workflows were asked", ASKS_MAX)
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_ask_has_a_bound_of_its_own_and_all_have_one_together() {
        let asked = Asked::default();
        let code = |kind: &str| asked.count(kind).map_err(|error| error.code);
        for (kind, max) in [("flow.trigger", TRIGGERED_MAX), ("platform.request", REQUESTS_MAX)] {
            assert!((0..max).all(|_| code(kind).is_ok()), "{kind}");
            assert_eq!(
                (code(kind), code(kind), code("data_store.get")),
                (Err("QuotaExceeded"), Err("QuotaExceeded"), Ok(())),
                "{kind}"
            );
        }
        let left = ASKS_MAX - TRIGGERED_MAX - REQUESTS_MAX - 2;
        assert!(
            (0..left)
                .all(|n| code(["data_store.set", "files.list", "no.such"][n as usize % 3]).is_ok())
        );
        assert_eq!(
            (code("data_store.get"), code("files.list")),
            (Err("QuotaExceeded"), Err("QuotaExceeded"))
        );
    }
}
