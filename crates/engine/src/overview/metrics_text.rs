//! Counts and states of the server, in the text format of Prometheus.

use crate::observe::metrics::{Metrics, head, line, resident_bytes};
use crate::observe::readiness::Readiness;
use crate::{Engine, VERSION};

impl Engine {
    /// The counts.
    pub fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    /// All counts and states, in the text format of Prometheus.
    pub async fn metrics_text(&self) -> String {
        let mut out = String::with_capacity(8192);
        self.0.metrics.write(&mut out);
        self.0.tasks.write_metrics(&mut out);
        let mut gauge = |name: &str, about: &str, value: String| {
            head(&mut out, name, "gauge", about);
            line(&mut out, name, value);
        };
        gauge(
            &format!("millrace_build_info{{version=\"{VERSION}\"}}"),
            "The version that runs",
            "1".into(),
        );
        // A database that does not answer is told by `millrace_up`, not by a refusal: the other
        // counts still hold.
        let unfinished = self.0.store.unfinished_runs().await;
        gauge(
            "millrace_database_up",
            "Whether the database answers",
            u8::from(unfinished.is_ok()).to_string(),
        );
        if let Ok(count) = unfinished {
            gauge(
                "millrace_runs_unfinished",
                "Runs that are queued or under way, on all servers of the database",
                count.to_string(),
            );
        }
        let slots = &self.0.admission.slots;
        let (running, waiting) = (slots.held(), slots.waiting());
        gauge("millrace_runs_running", "Runs under way here", running.to_string());
        gauge(
            "millrace_runs_waiting",
            "Runs accepted here that wait for a run slot",
            waiting.to_string(),
        );
        let hosts = self.0.runner.stats();
        gauge("millrace_hosts", "Processes with code of components", hosts.hosts.to_string());
        gauge(
            "millrace_hosts_blank",
            "Processes that wait for code",
            hosts.blank_hosts.to_string(),
        );
        gauge("millrace_calls_running", "Calls under way in hosts", hosts.calls.to_string());
        gauge("millrace_calls_waiting", "Calls that wait for a host", hosts.waiting.to_string());
        if let Some(bytes) = Readiness::free_bytes(&self.0.ctx) {
            gauge(
                "millrace_data_dir_free_bytes",
                "Space for the server on the disk of its data directory",
                bytes.to_string(),
            );
        }
        if let Some(bytes) = resident_bytes() {
            gauge(
                "process_resident_memory_bytes",
                "Memory of the server's own process",
                bytes.to_string(),
            );
        }
        if let Ok(open) = std::fs::read_dir("/proc/self/fd") {
            gauge(
                "process_open_fds",
                "Descriptors that the server's own process has open",
                open.count().to_string(),
            );
        }
        out
    }
}
