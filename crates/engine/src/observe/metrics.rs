//! Counters and histograms of the server, in the text format of Prometheus. A count costs an
//! addition; states are read when they are asked for. No label names an organization, a workflow or
//! a path, so that the number of series is bounded.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper bounds of the buckets of durations, in milliseconds.
const BUCKETS_MS: [u64; 14] =
    [1, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000];

/// Durations by their length.
#[derive(Default)]
struct Histogram {
    /// Those of each bucket; the last is for what is over all bounds.
    buckets: [AtomicU64; BUCKETS_MS.len() + 1],
    sum_us: AtomicU64,
}

impl Histogram {
    fn add(&self, duration: Duration) {
        let us = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        let at = BUCKETS_MS.partition_point(|bound| bound * 1000 < us);
        self.buckets[at].fetch_add(1, Ordering::Relaxed);
        self.sum_us.fetch_add(us, Ordering::Relaxed);
    }

    fn write(&self, out: &mut String, name: &str, label: &str) {
        let mut count = 0;
        for (at, bucket) in self.buckets.iter().enumerate() {
            count += bucket.load(Ordering::Relaxed);
            let le = BUCKETS_MS.get(at).map_or_else(|| "+Inf".to_owned(), |ms| seconds(ms * 1000));
            let comma = if label.is_empty() { "" } else { "," };
            line(out, &format!("{name}_bucket{{{label}{comma}le=\"{le}\"}}"), count);
        }
        let labels = if label.is_empty() { String::new() } else { format!("{{{label}}}") };
        line(out, &format!("{name}_sum{labels}"), seconds(self.sum_us.load(Ordering::Relaxed)));
        line(out, &format!("{name}_count{labels}"), count);
    }
}

/// Who is asked.
#[derive(Clone, Copy, Debug)]
pub enum Door {
    /// `/v1`.
    Api,
    /// Generated endpoints, and the addresses that resume and cancel.
    Endpoint,
    /// Everything else.
    Other,
}

/// How an attempt of a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Succeeded,
    Failed,
    Paused,
}

impl Ending {
    const ALL: [Self; 3] = [Self::Succeeded, Self::Failed, Self::Paused];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Paused => "paused",
        }
    }
}

const DOORS: [(Door, &str); 3] =
    [(Door::Api, "api"), (Door::Endpoint, "endpoint"), (Door::Other, "other")];
const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

/// All counts.
#[derive(Default)]
pub struct Metrics {
    answers: [[AtomicU64; CLASSES.len()]; DOORS.len()],
    answer_times: [Histogram; DOORS.len()],
    attempts: [Histogram; Ending::ALL.len()],
    ticks: Histogram,
    ticks_skipped: AtomicU64,
    events: AtomicU64,
    spans_dropped: AtomicU64,
}

impl Metrics {
    /// Counts an answer.
    pub fn answered(&self, door: Door, status: u16, after: Duration) {
        let class = usize::from(status / 100).clamp(1, CLASSES.len()) - 1;
        self.answers[door as usize][class].fetch_add(1, Ordering::Relaxed);
        self.answer_times[door as usize].add(after);
    }

    pub(crate) fn attempted(&self, ending: Ending, after: Duration) {
        self.attempts[ending as usize].add(after);
    }

    /// Counts a tick that began so long after it was due.
    pub(crate) fn ticked(&self, late: Duration) {
        self.ticks.add(late);
    }

    pub(crate) fn skipped_tick(&self) {
        self.ticks_skipped.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn settled_events(&self, count: usize) {
        self.events.fetch_add(count as u64, Ordering::Relaxed);
    }

    pub(crate) fn dropped_span(&self) {
        self.spans_dropped.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn write(&self, out: &mut String) {
        head(out, "millrace_http_requests_total", "counter", "Requests answered");
        for (door, name) in DOORS {
            for (class, count) in CLASSES.iter().zip(&self.answers[door as usize]) {
                line(
                    out,
                    &format!("millrace_http_requests_total{{door=\"{name}\",status=\"{class}\"}}"),
                    count.load(Ordering::Relaxed),
                );
            }
        }
        head(
            out,
            "millrace_http_request_duration_seconds",
            "histogram",
            "From a request to the head of its answer",
        );
        for (door, name) in DOORS {
            self.answer_times[door as usize].write(
                out,
                "millrace_http_request_duration_seconds",
                &format!("door=\"{name}\""),
            );
        }
        head(
            out,
            "millrace_run_attempt_duration_seconds",
            "histogram",
            "Attempts of runs, by how they ended",
        );
        for ending in Ending::ALL {
            self.attempts[ending as usize].write(
                out,
                "millrace_run_attempt_duration_seconds",
                &format!("ending=\"{}\"", ending.as_str()),
            );
        }
        head(
            out,
            "millrace_tick_delay_seconds",
            "histogram",
            "From the time at which a tick of a timer was due to its code",
        );
        self.ticks.write(out, "millrace_tick_delay_seconds", "");
        head(
            out,
            "millrace_ticks_skipped_total",
            "counter",
            "Ticks left out, as the run of the tick before was still going on",
        );
        line(out, "millrace_ticks_skipped_total", self.ticks_skipped.load(Ordering::Relaxed));
        head(out, "millrace_events_total", "counter", "Events that settled");
        line(out, "millrace_events_total", self.events.load(Ordering::Relaxed));
        head(
            out,
            "millrace_trace_spans_dropped_total",
            "counter",
            "Spans that were not sent: too many waited, or nobody took them",
        );
        line(out, "millrace_trace_spans_dropped_total", self.spans_dropped.load(Ordering::Relaxed));
    }
}

/// From /proc, in kB whatever the size of a page is; none where there is none.
pub(crate) fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let kib: u64 = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?
        .trim()
        .strip_suffix(" kB")?
        .trim()
        .parse()
        .ok()?;
    Some(kib * 1024)
}

pub(crate) fn head(out: &mut String, name: &str, kind: &str, about: &str) {
    let name = name.split('{').next().unwrap_or(name);
    // Writing to a String cannot fail.
    let _ = write!(out, "# HELP {name} {about}\n# TYPE {name} {kind}\n");
}

pub(crate) fn line(out: &mut String, series: &str, value: impl std::fmt::Display) {
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{series} {value}");
}

/// Microseconds as seconds.
fn seconds(us: u64) -> String {
    format!("{}", us as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_counted_up_to_each_bound() {
        let metrics = Metrics::default();
        for ms in [1, 2, 70_000] {
            metrics.attempted(Ending::Failed, Duration::from_millis(ms));
        }
        let mut out = String::new();
        metrics.write(&mut out);
        let value = |series: &str| {
            out.lines().find_map(|line| line.strip_prefix(series)).map(str::trim).map(str::to_owned)
        };
        let bucket = |le: &str| {
            value(&format!(
                "millrace_run_attempt_duration_seconds_bucket{{ending=\"failed\",le=\"{le}\"}}"
            ))
        };
        assert_eq!(
            (bucket("0.001"), bucket("0.005"), bucket("60"), bucket("+Inf")),
            (Some("1".into()), Some("2".into()), Some("2".into()), Some("3".into()))
        );
        assert_eq!(
            value("millrace_run_attempt_duration_seconds_sum{ending=\"failed\"}"),
            Some("70.003".into())
        );
        assert_eq!(
            value("millrace_run_attempt_duration_seconds_count{ending=\"succeeded\"}"),
            Some("0".into())
        );
    }

    #[test]
    fn answers_are_counted_by_door_and_class() {
        let metrics = Metrics::default();
        metrics.answered(Door::Endpoint, 429, Duration::ZERO);
        metrics.answered(Door::Endpoint, 999, Duration::ZERO);
        let mut out = String::new();
        metrics.write(&mut out);
        for (class, count) in [("4xx", 1), ("5xx", 1), ("2xx", 0)] {
            assert!(
                out.contains(&format!(
                    "millrace_http_requests_total{{door=\"endpoint\",status=\"{class}\"}} {count}\n"
                )),
                "{out}"
            );
        }
    }
}
