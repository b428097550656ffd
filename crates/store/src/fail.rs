//! Fail points: named instants at which a debug build ends, panics, fails or waits, as
//! `MILLRACE_FAIL_POINTS` says. In a release [`fail_point!`](crate::fail_point) is nothing at all.
//!
//! `MILLRACE_FAIL_POINTS=store.settle.before_commit=exit@3;store.commit=delay(500)`: of `exit` (the
//! process is gone at once), `panic`, `error` (the database fails), `full` (its disk is full) and
//! `delay(ms)`. `@n`: at the nth time, `@n-`: from then on, `@n-m`: from the nth to the mth;
//! without it: each time.

/// Fails at a named instant where a test asks for it. In functions that give a `Result` of an error
/// made from `StoreError`.
#[cfg(debug_assertions)]
#[macro_export]
macro_rules! fail_point {
    ($name:expr) => {
        if let Some(error) = $crate::fail::hit($name) {
            return Err(error.into());
        }
    };
}

/// Nothing: a release has no fail points.
#[cfg(not(debug_assertions))]
#[macro_export]
macro_rules! fail_point {
    ($name:expr) => {};
}

#[cfg(debug_assertions)]
pub use points::{are_asked_for, hit};

/// Whether a test asks for fail points.
#[cfg(not(debug_assertions))]
pub fn are_asked_for() -> bool {
    false
}

#[cfg(debug_assertions)]
mod points {
    use std::collections::HashMap;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::{LazyLock, Mutex, PoisonError};
    use std::time::Duration;

    use tokio::runtime::RuntimeFlavor;

    use crate::StoreError;

    /// Where it is read from.
    const VARIABLE: &str = "MILLRACE_FAIL_POINTS";

    #[derive(Clone, Copy)]
    enum Action {
        Exit,
        Panic,
        Error,
        Full,
        Delay(Duration),
    }

    struct Point {
        action: Action,
        from: u64,
        to: u64,
        hits: AtomicU64,
    }

    static POINTS: LazyLock<HashMap<String, Point>> = LazyLock::new(|| {
        let text = std::env::var(VARIABLE).unwrap_or_default();
        text.split(';')
            .filter(|p| !p.trim().is_empty())
            .map(|p| {
                parse(p.trim())
                    .unwrap_or_else(|| panic!("`{p}` of {VARIABLE} is not name=action@n"))
            })
            .collect()
    });
    /// Each name once, so that the log tells which were passed at all.
    static PASSED: LazyLock<Mutex<HashMap<String, ()>>> = LazyLock::new(Mutex::default);

    fn parse(text: &str) -> Option<(String, Point)> {
        let (name, rest) = text.split_once('=')?;
        let (action, times) =
            rest.split_once('@').map_or((rest, None), |(action, times)| (action, Some(times)));
        let (from, to) = match times {
            None => (1, u64::MAX),
            Some(times) => match times.split_once('-') {
                None => (times.parse().ok()?, times.parse().ok()?),
                Some((from, "")) => (from.parse().ok()?, u64::MAX),
                Some((from, to)) => (from.parse().ok()?, to.parse().ok()?),
            },
        };
        let action = match action {
            "exit" => Action::Exit,
            "panic" => Action::Panic,
            "error" => Action::Error,
            "full" => Action::Full,
            delay => Action::Delay(Duration::from_millis(
                delay.strip_prefix("delay(")?.strip_suffix(')')?.parse().ok()?,
            )),
        };
        Some((name.to_owned(), Point { action, from, to, hits: AtomicU64::new(0) }))
    }

    /// Whether a test asks for fail points.
    pub fn are_asked_for() -> bool {
        std::env::var_os(VARIABLE).is_some()
    }

    /// What happens at a point; an error where the caller has to fail with it.
    pub fn hit(name: &str) -> Option<StoreError> {
        if PASSED
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(name.to_owned(), ())
            .is_none()
        {
            tracing::debug!(name, "a fail point was passed for the first time");
        }
        let point = POINTS.get(name)?;
        let count = point.hits.fetch_add(1, Ordering::SeqCst) + 1;
        if !(point.from..=point.to).contains(&count) {
            return None;
        }
        tracing::warn!(name, count, "a fail point fires");
        match point.action {
            Action::Exit => std::process::abort(),
            Action::Panic => panic!("the fail point `{name}` fires"),
            Action::Error => {
                Some(StoreError::Database(format!("the fail point `{name}` fires").into()))
            }
            Action::Full => Some(StoreError::StorageFull),
            Action::Delay(time) => {
                let sleep = || std::thread::sleep(time);
                match tokio::runtime::Handle::try_current().map(|h| h.runtime_flavor()) {
                    // The other tasks go on.
                    Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(sleep),
                    // Such as the writer of SQLite, a thread of its own.
                    _ => sleep(),
                }
                None
            }
        }
    }

    #[cfg(test)]
    mod tests {
        use super::parse;

        #[test]
        fn times_are_one_a_range_or_all() {
            let times = |text: &str| parse(text).map(|(name, p)| (name, p.from, p.to));
            assert_eq!(times("a.b=exit@3"), Some(("a.b".into(), 3, 3)));
            assert_eq!(times("a=delay(20)@2-4"), Some(("a".into(), 2, 4)));
            assert_eq!(times("a=full@2-"), Some(("a".into(), 2, u64::MAX)));
            assert_eq!(times("a=error"), Some(("a".into(), 1, u64::MAX)));
            for wrong in ["a", "a=", "a=boom", "a=exit@x", "a=delay(x)"] {
                assert!(parse(wrong).is_none(), "{wrong}");
            }
        }
    }
}
