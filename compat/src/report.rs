//! Report of a measurement: the share of each stage, and the causes of failures in groups.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::trial::{BUNDLED, LOADED, Outcome, RUN, SAME};

/// Examples of each cause.
const EXAMPLES: usize = 5;
/// A cause is told in so many characters.
const CAUSE_CHARS: usize = 260;

#[derive(Clone)]
pub struct Stage {
    pub name: &'static str,
    pub good: usize,
    pub of: usize,
}

/// Paths by stage and cause.
#[derive(Default)]
pub struct Causes(BTreeMap<(&'static str, String), Vec<String>>);

impl Causes {
    pub fn add(&mut self, stage: &'static str, cause: &str, path: &str) {
        // What differs from component to component with the same cause.
        let cause = cause.split("Require stack:").next().unwrap_or(cause);
        let line = cause.split_whitespace().collect::<Vec<_>>().join(" ");
        self.0
            .entry((stage, line.chars().take(CAUSE_CHARS).collect()))
            .or_default()
            .push(path.to_owned());
    }
}

pub fn stages(outcomes: &[Outcome], causes: &mut Causes) -> Vec<Stage> {
    for outcome in outcomes {
        if let Some(failure) = &outcome.failure {
            causes.add(failure.stage, &failure.cause, &outcome.path);
        }
        for difference in &outcome.differences {
            causes.add(SAME, difference, &outcome.path);
        }
        for difference in outcome.runs.iter().flatten() {
            causes.add(RUN, difference, &outcome.path);
        }
    }
    let failed = |stages: &[&str]| {
        outcomes
            .iter()
            .filter(|o| o.failure.as_ref().is_some_and(|f| stages.contains(&f.stage)))
            .count()
    };
    let loaded = outcomes.len() - failed(&[BUNDLED, LOADED]);
    let complete = outcomes.iter().filter(|o| o.failure.is_none() && o.props_are_complete).count();
    let same = outcomes.iter().filter(|o| o.failure.is_none() && o.differences.is_empty()).count();
    let recorded: Vec<_> = outcomes.iter().filter_map(|o| o.runs.as_ref()).collect();
    vec![
        Stage {
            name: "sample: bundled",
            good: outcomes.len() - failed(&[BUNDLED]),
            of: outcomes.len(),
        },
        Stage { name: "sample: bundled and loaded", good: loaded, of: outcomes.len() },
        Stage { name: "loaded: all props known without running", good: complete, of: loaded },
        Stage { name: "loaded: nothing read that the module denies", good: same, of: loaded },
        Stage {
            name: "with a fixture: run as recorded",
            good: recorded.iter().filter(|runs| runs.is_empty()).count(),
            of: recorded.len(),
        },
    ]
}

pub fn print(stages: &[Stage], causes: &Causes, outcomes: &[Outcome]) {
    println!();
    for Stage { name, good, of } in stages {
        #[expect(clippy::cast_precision_loss, reason = "a share for people to read")]
        let share = if *of == 0 { 0.0 } else { *good as f64 * 100.0 / *of as f64 };
        println!("{name:45} {good:6} of {of:6}  {share:6.2} %");
    }
    let mut times: Vec<Duration> = outcomes.iter().map(|o| o.took).collect();
    times.sort_unstable();
    if let (Some(median), Some(longest)) = (times.get(times.len() / 2), times.last()) {
        println!(
            "\nbundle and load of one: {:.2} s at the median, {:.2} s at most",
            median.as_secs_f64(),
            longest.as_secs_f64()
        );
    }
    let mut groups: Vec<_> = causes.0.iter().collect();
    groups.sort_by_key(|((stage, _), paths)| (*stage, usize::MAX - paths.len()));
    for ((stage, cause), paths) in groups {
        println!("\nnot {stage}: {} × {cause}", paths.len());
        paths.iter().take(EXAMPLES).for_each(|path| println!("    {path}"));
    }
}
