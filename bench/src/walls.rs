//! What the walls cost: two servers side by side, one with `--sandbox=off`, take turns under the same load.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use crate::load;
use crate::report::{Report, median};
use crate::server::Server;

/// Turns of each server, and the length of one.
const TURNS: usize = 5;
const TURN: Duration = Duration::from_secs(4);

/// Adds the comparison to the report.
pub async fn compare(binary: &Path, report: &mut Report) -> Result<()> {
    let mut sides =
        [(Server::start(binary, "walled", &[]).await?, Measured::default()), (Server::start(binary, "open", &["--sandbox=off"]).await?, Measured::default())];
    let mut urls = Vec::new();
    for (server, _) in &sides {
        let url = crate::workflow(server).await?;
        load::run(&url, 32, TURN).await?;
        urls.push(url);
    }
    for turn in 0..TURNS {
        for ((server, measured), url) in sides.iter_mut().zip(&urls) {
            for (connections, rates) in [(1, &mut measured.one), (32, &mut measured.many)] {
                let cell = load::run(url, connections, TURN).await?;
                rates.push(cell.requests as f64 / cell.seconds);
            }
            let (_, cold) = crate::deploy_and_wake(server, &format!("{} // turn {turn}", crate::SOURCE)).await?;
            measured.cold.push(cold);
        }
    }
    let [(mut walled_server, walled), (mut open_server, open)] = sides;
    walled_server.stop()?;
    open_server.stop()?;
    report.walls("requests/s, 1 connection", median(walled.one), median(open.one));
    report.walls("requests/s, 32 connections", median(walled.many), median(open.many));
    report.walls("cold first event, ms", median(walled.cold), median(open.cold));
    Ok(())
}

#[derive(Default)]
struct Measured {
    one: Vec<f64>,
    many: Vec<f64>,
    cold: Vec<f64>,
}
