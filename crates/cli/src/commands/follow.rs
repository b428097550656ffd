//! Follower of a run that is under way: prints its steps as they end.

use std::cell::RefCell;
use std::collections::HashSet;
use std::ops::ControlFlow;
use std::time::Duration;

use serde_json::{Value, json};

use super::history;
use crate::client::stream::{self, Follow};
use crate::client::{Client, segment};
use crate::error::CliError;
use crate::terminal::line::Line;
use crate::terminal::printer::{self, Progress, Show};

/// Between two looks at whether it takes long.
const LOOK: Duration = Duration::from_millis(100);

/// Shows a run's steps as they end, then the run. One that failed is a failure of the command; one
/// that pauses is let go.
pub(crate) async fn run(client: &Client, show: Show, id: &str) -> Result<(), CliError> {
    let follow = Follow { path: format!("/runs/{}/sse", segment(id)), after: None };
    let progress = RefCell::new(Progress::new("the run goes on"));
    let (mut steps, mut last) = (Steps::default(), Value::Null);
    let each = |kind: &str, data: Value| {
        let note = |lines: Vec<Line>| {
            if !show.json {
                lines.iter().for_each(|line| progress.borrow().note(line));
            }
        };
        match kind {
            "step" => note(steps.ended(&data).into_iter().collect()),
            "run" => {
                note(steps.of_run(&data));
                if !matches!(data["status"].as_str(), Some("queued" | "running")) {
                    last = data;
                    return Ok(ControlFlow::Break(()));
                }
            }
            _ => {}
        }
        Ok(ControlFlow::Continue(()))
    };
    let tick = async {
        loop {
            progress.borrow_mut().look();
            tokio::time::sleep(LOOK).await;
        }
    };
    tokio::select! {
        done = stream::follow_until(client, follow, each) => done?,
        () = tick => {}
    }
    drop(progress);
    let answer = json!({ "data": last });
    if answer["data"]["status"] == "paused" {
        printer::note(&format!(
            "the run is paused; `millrace runs show {id}` shows how it continues"
        ));
        return if show.json { show.record(&answer) } else { printer::data(id) };
    }
    history::finished_run(show, &answer)
}

/// Which steps of a run were shown: their end comes by itself, and again with the run.
#[derive(Default)]
pub(crate) struct Steps {
    /// By name, and whether they failed.
    shown: HashSet<(String, bool)>,
}

impl Steps {
    /// The line of a step that has just ended well: what failed is told by the run.
    pub(crate) fn ended(&mut self, step: &Value) -> Option<Line> {
        (step["status"] == "finished").then(|| {
            self.shown.insert(Self::key(step));
            step_line(step)
        })
    }

    /// Lines of steps that were not shown yet.
    pub(crate) fn of_run(&mut self, run: &Value) -> Vec<Line> {
        let steps = run["steps"].as_array().into_iter().flatten();
        steps.filter(|step| self.shown.insert(Self::key(step))).map(step_line).collect()
    }

    fn key(step: &Value) -> (String, bool) {
        (step["namespace"].as_str().unwrap_or("").to_owned(), step["status"] == "failed")
    }
}

/// `✓ step  12 ms  what it says of itself`.
pub(crate) fn step_line(step: &Value) -> Line {
    let failed = step["status"] == "failed";
    let mark = if failed { printer::red("✗") } else { printer::green("✓") };
    let took = step["duration_ms"].as_i64().map(|ms| format!("{ms} ms")).unwrap_or_default();
    let exports = &step["exports"];
    let says = match exports["$summary"].as_str() {
        Some(summary) => summary.to_owned(),
        None if exports["$return_value"].is_null() => String::new(),
        None => shortened(&exports["$return_value"].to_string()),
    };
    mark.and(format!(" {}  {took}  {says}", step["namespace"].as_str().unwrap_or("")).trim_end())
}

fn shortened(text: &str) -> String {
    const CHARS_MAX: usize = 100;
    if text.chars().count() <= CHARS_MAX {
        text.to_owned()
    } else {
        format!("{}…", text.chars().take(CHARS_MAX).collect::<String>())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Line;

    #[test]
    fn a_step_is_shown_once() {
        let mut steps = super::Steps::default();
        assert!(steps.ended(&json!({ "namespace": "a", "status": "running" })).is_none());
        assert!(
            steps
                .ended(&json!({ "namespace": "b", "status": "finished", "exports": {} }))
                .is_some()
        );
        // The first ended before the stream began.
        let step = |namespace: &str, status: &str| json!({ "namespace": namespace, "status": status, "exports": {} });
        let run = json!({ "steps": [step("a", "succeeded"), step("b", "succeeded"), step("c", "failed")] });
        assert_eq!(steps.of_run(&run), [Line::from("✓ a"), Line::from("✗ c")]);
        assert!(steps.of_run(&run).is_empty());
    }

    #[test]
    fn a_step_says_how_it_went() {
        let line = |step| super::step_line(&step).as_str().to_owned();
        assert_eq!(
            line(
                json!({ "namespace": "a", "status": "succeeded", "duration_ms": 3, "exports": { "$return_value": { "n": 1 } } })
            ),
            "✓ a  3 ms  {\"n\":1}"
        );
        assert_eq!(
            line(json!({ "namespace": "b", "status": "failed", "duration_ms": 1, "exports": {} })),
            "✗ b  1 ms"
        );
        assert!(
            line(json!({ "namespace": "c", "exports": { "$return_value": "x".repeat(300) } }))
                .chars()
                .count()
                < 120
        );
    }
}
