//! Callback of the runner's user before the code of a host first sends something to the outside.

use std::sync::{Arc, OnceLock, Weak};

use millrace_model::egress::Refusal;

use crate::egress::Watch;
use crate::host::Host;
use crate::types::IsolateSpec;

/// Who is asked before the code of a host sends anything to the outside for the first time; nobody,
/// until it is set.
#[derive(Clone, Default)]
pub(crate) struct BeforeEgress(Arc<OnceLock<AskBeforeEgress>>);

/// Asked of an isolate in a thread of its host's own, which may be kept waiting.
type AskBeforeEgress = Box<dyn Fn(&IsolateSpec) -> bool + Send + Sync>;

impl BeforeEgress {
    pub(crate) fn set(&self, ask: AskBeforeEgress) {
        // One engine has a runner.
        let _ = self.0.set(ask);
    }

    pub(crate) fn may(&self, spec: &IsolateSpec) -> bool {
        self.0.get().is_none_or(|ask| ask(spec))
    }
}

/// What the egress guard tells of a host.
pub(crate) struct Watched {
    pub(crate) host: Weak<Host>,
    pub(crate) before_egress: BeforeEgress,
}

impl Watch for Watched {
    fn refused(&self, refusal: &Refusal) {
        if let Some(host) = self.host.upgrade() {
            host.refused(refusal);
        }
    }

    fn leaves(&self) -> bool {
        self.host.upgrade().is_some_and(|host| self.before_egress.may(host.spec()))
    }
}
