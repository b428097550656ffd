//! Control groups, where this machine lets a part of their tree be given away: it needs root to
//! give it, and version 2 with its controllers.

use std::io::Write as _;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use millrace_tests::NOBODY;

use crate::support::Field;

/// A part of the tree that belongs to an ordinary user. It goes with the test.
struct Given(PathBuf);

impl Given {
    /// None, and a line that says so, where there is none to be had.
    fn with(controllers: &[&str]) -> Option<Self> {
        match Self::make(controllers) {
            Ok(given) => Some(given),
            Err(why) => {
                let _ = writeln!(
                    std::io::stderr(),
                    "SKIPPED, control groups are not tested here: {why}"
                );
                None
            }
        }
    }

    fn make(controllers: &[&str]) -> Result<Self, String> {
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").map_err(|e| e.to_string())?;
        let line = mounts
            .lines()
            .find(|line| line.contains(" - cgroup2 "))
            .ok_or("version 2 is not mounted")?;
        let top = Path::new(line.split(' ').nth(4).unwrap_or("/sys/fs/cgroup"));
        let there =
            std::fs::read_to_string(top.join("cgroup.controllers")).map_err(|e| e.to_string())?;
        if let Some(missing) = controllers
            .iter()
            .find(|name| !there.split_ascii_whitespace().any(|there| there == **name))
        {
            return Err(format!("{} has no `{missing}` (version 1 may have it)", top.display()));
        }
        // One between, so that no more than these are given away.
        let between =
            top.join(format!("millrace-test-{}-{}", std::process::id(), controllers.len()));
        let fails = |what: &'static str| {
            move |error: std::io::Error| {
                format!("{what} in {}: {error}", line.split(' ').nth(4).unwrap_or("?"))
            }
        };
        let all = controllers.iter().map(|name| format!("+{name}")).collect::<Vec<_>>().join(" ");
        std::fs::write(top.join("cgroup.subtree_control"), &all)
            .map_err(fails("controllers cannot be given away"))?;
        std::fs::create_dir(&between).map_err(fails("no group can be made"))?;
        let given = Self(between.join("given"));
        std::fs::write(between.join("cgroup.subtree_control"), all)
            .map_err(fails("controllers cannot be given away"))?;
        std::fs::create_dir(&given.0).map_err(fails("no group can be made"))?;
        for file in ["", "cgroup.procs", "cgroup.subtree_control", "cgroup.threads"] {
            chown(given.0.join(file), Some(NOBODY), Some(NOBODY))
                .map_err(fails("it cannot be given away"))?;
        }
        Ok(given)
    }

    fn read(&self, file: &str) -> String {
        std::fs::read_to_string(self.0.join(file)).unwrap_or_default().trim().to_owned()
    }

    /// The groups of hosts.
    fn hosts(&self) -> Vec<String> {
        let all = std::fs::read_dir(&self.0)
            .into_iter()
            .flatten()
            .flatten()
            .map(|e| e.file_name().to_string_lossy().into_owned());
        all.filter(|name| name.starts_with("millrace-host-")).collect()
    }

    async fn until_no_host_is_left(&self) {
        for _ in 0..600 {
            if self.hosts().is_empty() {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        panic!("groups are left: {:?}", self.hosts());
    }
}

impl Drop for Given {
    fn drop(&mut self) {
        for inner in std::fs::read_dir(&self.0)
            .into_iter()
            .flatten()
            .flatten()
            .map(|e| e.path())
            .filter(|p| p.is_dir())
        {
            let _ = std::fs::remove_dir(inner);
        }
        // A server that failed the test may be in it still.
        let _ = std::fs::remove_dir(&self.0);
        let _ = self.0.parent().map(std::fs::remove_dir);
    }
}

/// A file system in memory, whose pages the kernel counts to whoever writes them and cannot put
/// elsewhere.
struct InMemory(PathBuf);

impl Drop for InMemory {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).stderr(Stdio::null()).status();
    }
}

#[tokio::test]
async fn each_host_has_a_group_and_what_it_takes_beyond_ends_it_alone() {
    let Some(given) = Given::with(&["memory", "pids", "cpu"]) else { return };
    let mut field = Field::at_rest(&[]);
    let data = field.server.data_dir();
    std::fs::create_dir_all(&data).expect("a folder");
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=2500m,mode=0700,uid=65534,gid=65534", "tmpfs"])
        .arg(&data)
        .status();
    assert!(mounted.is_ok_and(|status| status.success()), "root cannot mount");
    let mount = InMemory(data);
    field.server.set_group(&given.0);
    field.launch().await;
    let log = field.server.log();
    assert!(
        log.contains("each host gets a control group") && log.contains("memory, pids, cpu"),
        "{log}"
    );
    assert_eq!(given.read("millrace-server/cgroup.procs"), field.server.pid().to_string());
    assert_eq!(given.read("cgroup.subtree_control").split(' ').count(), 3);
    // The neighbour's host is in one of them, alone, with limits that it cannot change.
    let hosts = given.hosts();
    assert!(!hosts.is_empty(), "no host has a group");
    for host in &hosts {
        let of = |file: &str| given.read(&format!("{host}/{file}"));
        assert_eq!(
            (of("pids.max").as_str(), of("cpu.weight").as_str(), of("memory.oom.group").as_str()),
            ("512", "50", "1"),
            "{host}"
        );
        assert!(
            of("memory.max").parse::<u64>().is_ok_and(|bytes| bytes > 600 << 20),
            "{host}: {}",
            of("memory.max")
        );
        assert!(of("cgroup.procs").lines().count() <= 1, "{host}");
    }
    for host in &hosts {
        let path = given.0.join(host);
        // One that waited to be used may be gone by now.
        field
            .refused(
                &format!("fs.writeFileSync('{}/memory.max', 'max');", path.display()),
                &["EACCES", "EPERM", "ENOENT"],
            )
            .await;
    }
    for (file, text) in [
        ("cgroup.procs", "0"),
        ("millrace-server/cgroup.procs", "0"),
        ("cgroup.subtree_control", "-memory"),
        ("memory.max", "max"),
    ] {
        field
            .refused(
                &format!("fs.writeFileSync('{}/{file}', '{text}');", given.0.display()),
                &["EACCES", "EPERM"],
            )
            .await;
    }
    // Memory that no limit of a process counts: files that are kept in it.
    let error = field.fails("const page = Buffer.alloc(8 << 20, 1); for (let n = 0; n < 250; n++) fs.writeFileSync('/tmp/' + n, page);").await;
    assert_eq!(error["code"], "OutOfMemory", "{error}");
    // A CPU hog gets less of the CPU than it had.
    let id = field.begin("while (true) {}", 15_000).await;
    let slowed =
        || given.hosts().iter().any(|host| given.read(&format!("{host}/cpu.weight")) == "10");
    while !slowed() {
        assert!(!field.over(&id).await, "it was never slowed down");
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    field.ends(&id).await;
    field.healthy().await;
    assert_eq!(field.server.terminate(), Some(0));
    given.until_no_host_is_left().await;
    drop(mount);
}

/// A user's own session is often given memory and processes, and no share of the CPU.
#[tokio::test]
async fn what_is_not_given_away_is_done_without() {
    let Some(given) = Given::with(&["pids"]) else { return };
    let mut field = Field::at_rest(&[]);
    field.server.set_group(&given.0);
    field.launch().await;
    let log = field.server.log();
    assert!(
        log.contains("each host gets a control group")
            && log.contains("pids")
            && !log.contains("memory, pids"),
        "{log}"
    );
    for host in given.hosts() {
        assert_eq!(given.read(&format!("{host}/pids.max")), "512", "{host}");
    }
    field.healthy().await;
    // A second start finds what the first one left.
    field.server.kill();
    field.launch().await;
    assert_eq!(
        field.server.log().matches("each host gets a control group").count(),
        2,
        "{}",
        field.server.log()
    );
    field.healthy().await;
    assert_eq!(field.server.terminate(), Some(0));
    given.until_no_host_is_left().await;
}
