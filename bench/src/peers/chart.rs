//! The chart of the comparison: a bar for each peer at each number of connections.

use std::fmt::Write as _;

use super::{CONNECTIONS, Row, programs};

const WIDTH: f64 = 760.0;
/// Where bars begin, and the room for their longest.
const LEFT: f64 = 170.0;
const BARS: f64 = 500.0;
const BAR: f64 = 16.0;
const GAP: f64 = 4.0;
const GROUP: f64 = 34.0;

/// An SVG in the colours of the reader's theme. Each group has its own scale: its fastest peer
/// fills the width.
pub(super) fn bars(rows: &[Row]) -> String {
    // Beside it nobody else's bar could be seen.
    let rows: Vec<_> = rows.iter().filter(|row| row.name != programs::BARE).collect();
    let group = GROUP + rows.len() as f64 * (BAR + GAP);
    let height = CONNECTIONS.len() as f64 * group + 8.0;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"Requests per second of each platform\">\n\
         <style>text{{font:12px system-ui,sans-serif;fill:#57606a}}.own{{fill:#0f766e}}.other{{fill:#9aa4af}}\
         @media (prefers-color-scheme:dark){{text{{fill:#a3adb8}}.own{{fill:#2dd4bf}}.other{{fill:#5b6570}}}}</style>\n"
    );
    for (at, connections) in CONNECTIONS.into_iter().enumerate() {
        let top = at as f64 * group;
        let most = rows.iter().map(|row| row.cells[at].requests_per_second).fold(1.0, f64::max);
        let named = if connections == 1 { "connection" } else { "connections" };
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "<text x=\"0\" y=\"{}\" font-weight=\"600\">{connections} {named}, requests/s</text>",
            top + 20.0
        );
        for (n, row) in rows.iter().enumerate() {
            let y = top + GROUP + n as f64 * (BAR + GAP);
            let value = row.cells[at].requests_per_second;
            let width = value / most * BARS;
            let class = if row.name.starts_with("Millrace") { "own" } else { "other" };
            let _ = writeln!(
                out,
                "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text><rect class=\"{class}\" x=\"{LEFT}\" y=\"{y}\" width=\"{width:.1}\" height=\"{BAR}\" rx=\"2\"/><text x=\"{:.1}\" y=\"{}\">{value:.0}</text>",
                LEFT - 8.0,
                y + 12.0,
                row.name,
                LEFT + width + 6.0,
                y + 12.0,
            );
        }
    }
    out.push_str("</svg>\n");
    out
}
