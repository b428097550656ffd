//! A run that is under way: its steps as they end.

use std::time::Duration;

use serde_json::Value;

use super::history;
use crate::client::{Client, segment};
use crate::error::CliError;
use crate::terminal::printer::{self, Progress, Show};

/// Between two looks at a run.
const LOOK_FIRST: Duration = Duration::from_millis(50);
const LOOK_LAST: Duration = Duration::from_secs(2);

/// Shows a run's steps as they end, then the run. One that failed is a failure of the command; one that pauses is let go.
pub(crate) async fn run(client: &Client, show: Show, id: &str) -> Result<(), CliError> {
    let (mut shown, mut wait) = (0, LOOK_FIRST);
    let path = format!("/runs/{}", segment(id));
    let mut progress = Progress::new("the run goes on");
    loop {
        let answer = client.get(&path).await?;
        let run = &answer["data"];
        let steps = run["steps"].as_array().map(Vec::as_slice).unwrap_or_default();
        if !show.json {
            for step in steps.iter().skip(shown) {
                progress.note(&step_line(step));
            }
        }
        if steps.len() > shown {
            (shown, wait) = (steps.len(), LOOK_FIRST);
        }
        match run["status"].as_str() {
            Some("queued" | "running") => {}
            Some("paused") => {
                drop(progress);
                printer::note(&format!("the run pauses; `millrace runs show {id}` tells how it goes on"));
                return if show.json { show.record(&answer) } else { printer::data(id) };
            }
            _ => {
                drop(progress);
                return history::finished_run(show, &answer);
            }
        }
        progress.look();
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(LOOK_LAST);
    }
}

/// `✓ step  12 ms  what it says of itself`.
pub(crate) fn step_line(step: &Value) -> String {
    let failed = step["status"] == "failed";
    let mark = if failed { printer::red("✗") } else { printer::green("✓") };
    let took = step["duration_ms"].as_i64().map(|ms| format!("{ms} ms")).unwrap_or_default();
    let exports = &step["exports"];
    let says = match exports["$summary"].as_str() {
        Some(summary) => summary.to_owned(),
        None if exports["$return_value"].is_null() => String::new(),
        None => shortened(&exports["$return_value"].to_string()),
    };
    format!("{mark} {}  {took}  {says}", step["namespace"].as_str().unwrap_or("")).trim_end().to_owned()
}

fn shortened(text: &str) -> String {
    const CHARS_MAX: usize = 100;
    if text.chars().count() <= CHARS_MAX { text.to_owned() } else { format!("{}…", text.chars().take(CHARS_MAX).collect::<String>()) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn a_step_says_how_it_went() {
        let line = |step| super::step_line(&step);
        assert_eq!(
            line(json!({ "namespace": "a", "status": "succeeded", "duration_ms": 3, "exports": { "$return_value": { "n": 1 } } })),
            "✓ a  3 ms  {\"n\":1}"
        );
        assert_eq!(line(json!({ "namespace": "b", "status": "failed", "duration_ms": 1, "exports": {} })), "✗ b  1 ms");
        assert!(line(json!({ "namespace": "c", "exports": { "$return_value": "x".repeat(300) } })).chars().count() < 120);
    }
}
