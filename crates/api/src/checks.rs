//! Checks of `millrace doctor`, run by a server itself on request.

use std::time::Duration;

use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Serialize;
use tokio::sync::Mutex;
use tokio::time::Instant;

/// The walls are tried with processes: a request within this time gets the last result.
const FRESH: Duration = Duration::from_secs(10);

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CheckStatus {
    Ok,
    /// It works, and could be better or safer.
    Warning,
    /// A server does not work so.
    Failed,
}

/// One thing that was looked at.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "SystemCheck")]
pub struct Check {
    pub name: &'static str,
    pub status: CheckStatus,
    /// What was found.
    pub found: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mend: Option<String>,
}

/// Looks at everything, and gives what was found.
pub type Look = Box<dyn Fn() -> BoxFuture<'static, Vec<Check>> + Send + Sync>;

/// One look at a time, and its result for those who ask right after it.
pub(crate) struct Examination {
    look: Look,
    found: Mutex<Option<(Instant, Vec<Check>)>>,
}

impl Examination {
    pub(crate) fn new(look: Look) -> Self {
        Self { look, found: Mutex::default() }
    }

    pub(crate) async fn found(&self) -> Vec<Check> {
        let mut found = self.found.lock().await;
        match &*found {
            Some((at, checks)) if at.elapsed() < FRESH => checks.clone(),
            _ => {
                let checks = (self.look)().await;
                *found = Some((Instant::now(), checks.clone()));
                checks
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn those_who_ask_together_or_again_are_told_of_one_look() {
        let looks = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&looks);
        let examination = Examination::new(Box::new(move || {
            counted.fetch_add(1, Ordering::SeqCst);
            Box::pin(async {
                tokio::task::yield_now().await;
                vec![Check {
                    name: "clock",
                    status: CheckStatus::Ok,
                    found: "it goes".into(),
                    mend: None,
                }]
            })
        }));
        let (first, second) = tokio::join!(examination.found(), examination.found());
        assert_eq!((first.len(), second.len(), looks.load(Ordering::SeqCst)), (1, 1, 1));
        tokio::time::advance(FRESH).await;
        examination.found().await;
        assert_eq!(looks.load(Ordering::SeqCst), 2);
    }
}
