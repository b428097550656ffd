//! Kills while events flow.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::Server;
use crate::cluster::{Cluster, children};
use crate::schedule::{Schedule, Victim};

/// How many of what were killed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Kills {
    pub servers: u32,
    pub hosts: u32,
    pub databases: u32,
    /// Servers that another build took the place of.
    pub upgrades: u32,
}

impl std::fmt::Display for Kills {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { servers, hosts, databases, upgrades } = self;
        let all = servers + hosts + databases;
        write!(
            f,
            "{all} kills ({servers} of the server, {hosts} of hosts, {databases} of the database) and {upgrades} upgrades"
        )
    }
}

/// Kills at random until the time is over; what was killed is started again. `cluster`: the
/// database, where it may be killed.
pub async fn kill_at_random(
    server: &mut Server,
    cluster: Option<&'static Cluster>,
    schedule: &mut Schedule,
    time: Duration,
) -> Kills {
    let mut kills = Kills::default();
    let end = Instant::now() + time;
    while Instant::now() < end {
        tokio::time::sleep(schedule.wait(100, 2_000)).await;
        match schedule.victim(cluster.is_some()) {
            Victim::Server => {
                server.kill();
                tokio::time::sleep(schedule.wait(0, 300)).await;
                server.launch().await;
                kills.servers += 1;
            }
            Victim::Upgrade => {
                // As an operator does it, or as a machine does that takes the old one down.
                if schedule.number().is_multiple_of(2) {
                    server.tell_to_end();
                    assert!(
                        server.until_ended(Duration::from_secs(120)).await,
                        "the server does not end: {}",
                        server.log()
                    );
                } else {
                    server.kill();
                }
                server.take_own_program();
                server.launch().await;
                kills.upgrades += 1;
            }
            Victim::Host => {
                let pick = schedule.number();
                kills.hosts += u32::from(kill_host(server.pid(), pick));
            }
            Victim::Database => {
                let Some(cluster) = cluster else { continue };
                cluster.kill();
                tokio::time::sleep(schedule.wait(0, 500)).await;
                cluster.start_again();
                kills.databases += 1;
            }
        }
    }
    kills
}

/// SIGKILL of one of the server's hosts; false where it has none.
fn kill_host(server: u32, pick: u64) -> bool {
    let hosts: Vec<String> =
        children(&server.to_string()).into_iter().filter(|pid| is_node(pid)).collect();
    if hosts.is_empty() {
        return false;
    }
    let host = &hosts[usize::try_from(pick % hosts.len() as u64).expect("fits")];
    // It may end by itself between.
    Command::new("kill")
        .args(["-9", host])
        .stderr(std::process::Stdio::null())
        .status()
        .expect("kill")
        .success()
}

fn is_node(pid: &str) -> bool {
    std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| {
        line.split(|b| *b == 0).next().is_some_and(|program| program.ends_with(b"node"))
    })
}
