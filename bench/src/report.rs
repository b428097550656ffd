//! The report, as `bench/RESULTS.md` shows it.

use std::fmt::Write as _;

use crate::load::Cell;

#[derive(Default)]
pub struct Report {
    cells: Vec<Cell>,
    lines: Vec<(String, f64)>,
    walls: Vec<(String, f64, f64)>,
}

/// The middle one of some values.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

impl Report {
    pub fn cell(&mut self, cell: &Cell) {
        self.cells.push(cell.clone());
    }

    pub fn line(&mut self, name: &str, value: f64) {
        self.lines.push((name.to_owned(), value));
    }

    pub fn median(&mut self, name: &str, values: Vec<f64>) {
        self.line(name, median(values));
    }

    /// One measure with the walls up, and with `--sandbox=off`.
    pub fn walls(&mut self, name: &str, up: f64, down: f64) {
        self.walls.push((name.to_owned(), up, down));
    }

    pub fn text(&self) -> String {
        let mut out = String::from(
            "# Results\n\nOne run of `cargo xtask bench`: webhook → one code step → response, history on, every run committed before its client is answered (SQLite, `synchronous=FULL`).\n\n",
        );
        // Writing to a String cannot fail.
        let _ = writeln!(out, "Machine: {}\n", machine());
        out.push_str("| connections | requests/s | p50 ms | p99 ms | CPU s per 1,000 runs, all processes |\n| --- | --- | --- | --- | --- |\n");
        for c in &self.cells {
            let _ = writeln!(
                out,
                "| {} | {:.0} | {:.2} | {:.2} | {:.3} |",
                c.connections,
                c.requests as f64 / c.seconds,
                c.p50_ms,
                c.p99_ms,
                c.cpu_seconds / (c.requests as f64 / 1000.0)
            );
        }
        out.push_str("\n| measure | value |\n| --- | --- |\n");
        for (name, value) in &self.lines {
            let _ = writeln!(out, "| {name} | {value:.1} |");
        }
        out.push_str("\nThe walls' cost: two servers by turns under the same load, medians.\n\n| measure | walls up | `--sandbox=off` | ratio |\n| --- | --- | --- | --- |\n");
        for (name, up, down) in &self.walls {
            let _ = writeln!(out, "| {name} | {up:.1} | {down:.1} | {:.3} |", up / down);
        }
        out
    }
}

/// What the figures were taken on.
pub fn machine() -> String {
    let model = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = model
        .lines()
        .find_map(|l| l.strip_prefix("model name"))
        .map_or("unknown processor", |m| m.trim_start_matches([' ', '\t', ':']))
        .to_owned();
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    format!("{cores} cores, {model}, Linux {}; the load comes from the same machine", kernel.trim())
}
