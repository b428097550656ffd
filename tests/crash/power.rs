//! Power cuts at random instants while events flow: the disk keeps synced writes, and any part of
//! later ones.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::time::{Duration, Instant};

use millrace_tests::Server;
use millrace_tests::disk::Disk;
use millrace_tests::flow::Flow;
use millrace_tests::schedule::Schedule;

const CUTS: u64 = 8;
const PACE: Duration = Duration::from_millis(20);
/// Writes of the disk until the power goes: a commit takes a few.
const WRITES_MAX: u64 = 100;
/// Later than all that a server that is gone had under a lease, or claimed.
const LATER_MS: i64 = 60_000;
/// What is looked at afterwards is more than a key may ask for in a minute.
const ARGS: [&str; 4] = ["--requests-per-minute", "1000000", "--egress-allow", "127.0.0.0/8"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_loss_of_power_loses_nothing_that_was_acknowledged() {
    let mut schedule = Schedule::of_environment("power");
    let mut server = Server::new_at_rest(&ARGS);
    let Some(mut disk) = Disk::at(&server.data_dir()) else { return };
    server.skew_clock(0);
    server.launch().await;
    let flow = Flow::deploy(&server).await;
    let mut acknowledged = BTreeSet::new();
    for cut in 1..=CUTS {
        let senders = flow.send_from(cut, 4, PACE);
        tokio::time::sleep(schedule.wait(100, 1_500)).await;
        disk.cut_after(schedule.number() % WRITES_MAX);
        let deadline = Instant::now() + Duration::from_secs(60);
        while !disk.is_off() {
            assert!(Instant::now() < deadline, "nothing was written");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        server.kill();
        acknowledged.extend(senders.stop().await);
        disk.restart(&mut schedule);
        another_start_of_the_system(&server);
        server.skew_clock(LATER_MS * i64::try_from(cut).expect("few"));
        server.launch().await;
    }
    let report = flow.check(&server, &acknowledged).await;
    writeln!(std::io::stderr(), "{CUTS} losses of power: {report}").expect("writes");
    assert!(report.is_clean(), "{report}");
    assert!(acknowledged.len() > 10, "only {} events were acknowledged", acknowledged.len());
    assert_eq!(server.terminate(), Some(0));
}

/// What only holds as long as the system runs is known by its name for that.
fn another_start_of_the_system(server: &Server) {
    let mark = server.data_dir().join("millrace.db-open");
    let Ok(file) = std::fs::File::options().write(true).open(mark) else { return };
    file.write_all_at(b"00000000-0000-0000-0000-000000000000", 0).expect("writes");
}
