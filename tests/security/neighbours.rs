//! How much a neighbour feels of an attack: medians of its answers before and while it goes on.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::json;

use crate::support::Field;

const ATTACKS: &[(&str, &str)] = &[
    ("a busy loop", "while (true) {}"),
    ("memory", "const all = []; for (;;) { all.push(new Array(1e5).fill(1.5)); if (all.length > 150) all.length = 0; }"),
    ("output", "for (;;) { console.log('x'.repeat(2000)); await new Promise((y) => setTimeout(y, 1)); }"),
    (
        "connections",
        "const net = await import('node:net'); for (;;) { for (let k = 0; k < 300; k++) net.connect(7, '127.0.0.1').on('error', () => {}); await new Promise(setImmediate); }",
    ),
    ("files", "for (let n = 0; ; n = (n + 1) % 5000) { fs.writeFileSync('/tmp/' + n, 'x'.repeat(10000)); }"),
    ("forks", "const cp = await import('node:child_process'); for (;;) { try { cp.spawnSync('/bin/true'); } catch {} await new Promise(setImmediate); }"),
    (
        "sockets",
        "const dgram = await import('node:dgram'); for (;;) { const all = []; for (let n = 0; n < 900; n++) { const s = dgram.createSocket('udp4'); all.push(s); await new Promise((y) => s.on('error', y).bind(0, y)); } all.forEach((s) => s.close()); }",
    ),
];

impl Field {
    /// How long an answer of the neighbour takes, the median of so many.
    async fn median(&self, count: usize) -> Duration {
        let mut took = Vec::with_capacity(count);
        for _ in 0..count {
            let started = Instant::now();
            self.healthy_neighbour().await;
            took.push(started.elapsed());
        }
        took.sort();
        took[count / 2]
    }
}

#[tokio::test]
#[ignore = "a measurement: prints how much slower a neighbour answers under each attack"]
async fn measure_what_a_neighbour_feels() {
    for (name, attack) in ATTACKS {
        let field = Field::start().await;
        field.median(200).await;
        let before = field.median(400).await;
        let id = field.begin(attack, 30_000).await;
        let during = field.median(400).await;
        println!("{name}: {before:?} before, {during:?} during, {:.2} times", during.as_secs_f64() / before.as_secs_f64());
        drop(id);
    }
    // Many requests to one endpoint, whose code takes its time.
    let field = Field::start().await;
    let slow = field.deploy("await new Promise((y) => setTimeout(y, 300)); return 1;").await;
    let url = millrace_tests::endpoint(&slow);
    let before = field.median(400).await;
    let flood: Vec<_> = (0..600).map(|_| tokio::spawn(field.server.raw(Method::POST, &url).json(&json!({})).send())).collect();
    let during = field.median(100).await;
    println!("a flood of 600 requests: {before:?} before, {during:?} during, {:.2} times", during.as_secs_f64() / before.as_secs_f64());
    for one in flood {
        let _ = one.await;
    }
}
