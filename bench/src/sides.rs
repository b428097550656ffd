//! Two servers alternate under the same load, so that other work of the machine affects both alike:
//! the cost of the walls, and of a change to the code.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use crate::report::{Report, median};
use crate::server::Server;
use crate::{load, process};

/// Turns of each server, and the length of one.
const TURNS: usize = 5;
const TURN: Duration = Duration::from_secs(4);

/// A server that is compared.
struct Side {
    server: Server,
    url: String,
    one: Vec<f64>,
    some: Vec<f64>,
    many: Vec<f64>,
    /// CPU seconds per 1,000 runs at 32 connections.
    cpu: Vec<f64>,
    cold: Vec<f64>,
}

impl Side {
    async fn start(binary: &Path, name: &str, flags: &[&str]) -> Result<Self> {
        let server = Server::start(binary, name, flags).await?;
        let url = crate::workflow(&server).await?;
        load::run(&url, 32, TURN).await?;
        Ok(Self {
            server,
            url,
            one: Vec::new(),
            some: Vec::new(),
            many: Vec::new(),
            cpu: Vec::new(),
            cold: Vec::new(),
        })
    }

    async fn take_turn(&mut self, turn: usize) -> Result<()> {
        let one = load::run(&self.url, 1, TURN).await?;
        self.one.push(one.requests as f64 / one.seconds);
        let some = load::run(&self.url, 8, TURN).await?;
        self.some.push(some.requests as f64 / some.seconds);
        let before = process::cpu_seconds(self.server.pid())?;
        let many = load::run(&self.url, 32, TURN).await?;
        self.cpu.push(
            (process::cpu_seconds(self.server.pid())? - before) * 1000.0 / many.requests as f64,
        );
        self.many.push(many.requests as f64 / many.seconds);
        let (_, cold) =
            crate::deploy_and_wake(&self.server, &format!("{} // turn {turn}", crate::SOURCE))
                .await?;
        self.cold.push(cold);
        Ok(())
    }

    fn medians(self) -> Result<[f64; 5]> {
        let Self { mut server, one, some, many, cpu, cold, .. } = self;
        server.stop()?;
        Ok([one, some, many, cpu, cold].map(median))
    }
}

async fn turns(mut sides: [Side; 2]) -> Result<[[f64; 5]; 2]> {
    for turn in 0..TURNS {
        for side in &mut sides {
            side.take_turn(turn).await?;
        }
    }
    let [first, second] = sides;
    Ok([first.medians()?, second.medians()?])
}

/// Adds to the report what the walls cost.
pub async fn walls(binary: &Path, report: &mut Report) -> Result<()> {
    let sides = [
        Side::start(binary, "walled", &[]).await?,
        Side::start(binary, "open", &["--sandbox=off"]).await?,
    ];
    let [walled, open] = turns(sides).await?;
    for (what, n) in [
        ("requests/s, 1 connection", 0),
        ("requests/s, 8 connections", 1),
        ("requests/s, 32 connections", 2),
        ("cold first event, ms", 4),
    ] {
        report.walls(what, walled[n], open[n]);
    }
    Ok(())
}

/// Prints how this build compares with another one.
pub async fn builds(binary: &Path, other: &Path) -> Result<()> {
    let sides = [Side::start(binary, "this", &[]).await?, Side::start(other, "other", &[]).await?];
    let [this, other] = turns(sides).await?;
    println!("{:44} {:>10} {:>10} {:>7}", "", "this", "other", "ratio");
    let measures = [
        "requests/s, 1 connection",
        "requests/s, 8 connections",
        "requests/s, 32 connections",
        "CPU s per 1,000 runs, 32 connections",
        "cold first event, ms",
    ];
    for (what, (this, other)) in measures.into_iter().zip(this.into_iter().zip(other)) {
        println!("{what:44} {this:>10.3} {other:>10.3} {:>7.3}", this / other);
    }
    Ok(())
}
