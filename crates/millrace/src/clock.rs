//! Clock of the server: the machine's, or in a debug build a file's.

use std::sync::Arc;

use millrace_model::{Clock, SystemClock};

/// The machine's clock. A debug build takes the time from the file that `MILLRACE_TEST_CLOCK`
/// names, where it is set: a test holds it there.
pub fn clock() -> Arc<dyn Clock> {
    #[cfg(debug_assertions)]
    if let Some(path) = std::env::var_os("MILLRACE_TEST_CLOCK") {
        return Arc::new(held::FileClock::at(path.into()));
    }
    Arc::new(SystemClock)
}

#[cfg(debug_assertions)]
mod held {
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicI64, Ordering};

    use millrace_model::{Clock, SystemClock, Timestamp};

    /// The time that a file holds, in epoch milliseconds; with a sign, by how much the machine's
    /// clock is off. While it cannot be read, the last time.
    pub(super) struct FileClock {
        path: PathBuf,
        last: AtomicI64,
    }

    impl FileClock {
        pub(super) fn at(path: PathBuf) -> Self {
            Self { path, last: AtomicI64::new(SystemClock.now().ms()) }
        }
    }

    impl Clock for FileClock {
        fn now(&self) -> Timestamp {
            let text = std::fs::read_to_string(&self.path).unwrap_or_default();
            if let Ok(ms) = text.trim().parse::<i64>() {
                let off = text.starts_with(['+', '-']);
                self.last.store(
                    if off { SystemClock.now().plus_ms(ms).ms() } else { ms },
                    Ordering::SeqCst,
                );
            }
            Timestamp(self.last.load(Ordering::SeqCst))
        }
    }
}
