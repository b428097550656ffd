//! Control groups (version 2), where the server was given a part of their tree to keep: each host
//! gets a group with limits of memory and processes, and a smaller share of the CPU than the
//! server, as far as these are given away too. systemd gives them with `Delegate=yes`. Elsewhere
//! hosts go without.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

/// What hosts are limited by, where it is given away: one whose machine has fewer does with them.
const CONTROLLERS: [&str; 3] = ["memory", "pids", "cpu"];
/// The group of the server itself: in a group whose children have limits there may be no process.
const OWN: &str = "millrace-server";
/// What groups of hosts begin with.
const HOST: &str = "millrace-host-";
/// A host's share of the CPU; the server has the usual 100.
const CPU_WEIGHT: u32 = 50;
/// The share of a throttled host.
const CPU_WEIGHT_SLOW: u32 = 10;
/// What the kernel counts beside a host's limits: its own tables, and files that are read. Bytes.
const MARGIN_BYTES: u64 = 192 << 20;

/// The part of the tree that hosts' groups are made in.
#[derive(Debug)]
pub struct ControlGroups {
    root: PathBuf,
    /// Those of [`CONTROLLERS`] that there are.
    controllers: Vec<&'static str>,
    next: AtomicU64,
    left: Left,
}

/// Groups that could not be removed with their host: its process was not reaped yet.
type Left = Arc<Mutex<Vec<PathBuf>>>;

/// The group of one host; removed when dropped, or with a later one where its process is not gone
/// yet.
#[derive(Debug)]
pub struct HostGroup {
    path: PathBuf,
    left: Left,
}

impl ControlGroups {
    /// The server's own part of the tree, made ready; None where it was given none.
    pub fn find() -> Option<Self> {
        let root = given()?;
        match Self::prepare(&root) {
            Ok(groups) if groups.controllers.is_empty() => None,
            Ok(groups) => Some(groups),
            Err(error) => {
                tracing::debug!(path = %root.display(), %error, "control groups cannot be used");
                None
            }
        }
    }

    /// What hosts could be limited by in the part of the tree that this process was given; empty
    /// where it was given none. Changes nothing.
    pub fn available() -> Vec<&'static str> {
        given().map(|root| controllers(&root)).unwrap_or_default()
    }

    /// What hosts are limited by.
    pub fn limits(&self) -> &[&'static str] {
        &self.controllers
    }

    /// Makes a part of the tree ready: the server goes into a group of its own, and limits are
    /// switched on for its siblings.
    fn prepare(root: &Path) -> io::Result<Self> {
        let controllers = controllers(root);
        if controllers.is_empty() {
            return Ok(Self {
                root: root.to_owned(),
                controllers,
                next: AtomicU64::new(0),
                left: Left::default(),
            });
        }
        let own = root.join(OWN);
        match fs::create_dir(&own) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let id = std::process::id().to_string();
        let switch = |sign: char| {
            let all: Vec<_> = controllers.iter().map(|name| format!("{sign}{name}")).collect();
            fs::write(root.join("cgroup.subtree_control"), all.join(" "))
        };
        if fs::write(own.join("cgroup.procs"), &id).is_err() {
            // Limits of threads that a server before this one left on make the kernel take a group
            // with a process in it for one of threads, which has no groups of processes below it.
            // Nobody else is limited by them: while others were there, this process could not have
            // come in.
            switch('-')?;
            fs::write(own.join("cgroup.procs"), &id)?;
        }
        if let Err(error) = switch('+') {
            // Other processes are there too: all stays as it was.
            fs::write(root.join("cgroup.procs"), &id)?;
            // Where it is not empty another server is in it.
            let _ = fs::remove_dir(&own);
            return Err(error);
        }
        remove_left(root);
        Ok(Self {
            root: root.to_owned(),
            controllers,
            next: AtomicU64::new(0),
            left: Left::default(),
        })
    }

    /// A group for a host, and the file through which its process enters it.
    ///
    /// # Errors
    /// Where the kernel refuses it.
    pub fn host(&self, memory_bytes: u64, threads_max: usize) -> io::Result<(HostGroup, OwnedFd)> {
        // What a server that was killed left may have been in use still when this one began, and
        // what this one left since.
        remove_left(&self.root);
        self.remove_own_left();
        let path = loop {
            let name = format!(
                "{HOST}{}-{}",
                std::process::id(),
                self.next.fetch_add(1, Ordering::Relaxed)
            );
            match fs::create_dir(self.root.join(&name)) {
                // A server before this one had its number, as it has in a container.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => break made.map(|()| self.root.join(name))?,
            }
        };
        let group = HostGroup { path, left: self.left.clone() };
        for controller in &self.controllers {
            match *controller {
                "memory" => {
                    group.set("memory.max", memory_bytes.saturating_add(MARGIN_BYTES))?;
                    group.set("memory.oom.group", 1u32)?;
                    // Not every machine has swap to be limited.
                    let _ = group.set("memory.swap.max", 0u32);
                }
                "pids" => group.set("pids.max", threads_max)?,
                _ => group.set("cpu.weight", CPU_WEIGHT)?,
            }
        }
        let entry = fs::File::options().write(true).open(group.path.join("cgroup.procs"))?;
        Ok((group, entry.into()))
    }

    fn remove_own_left(&self) {
        self.left.lock().retain(|path| is_left(fs::remove_dir(path)));
    }
}

impl HostGroup {
    fn set(&self, file: &str, value: impl ToString) -> io::Result<()> {
        fs::write(self.path.join(file), value.to_string())
    }

    /// Its processes get less of the CPU than others that want it, or as much again.
    pub fn give_less(&self, less: bool) {
        // Where this share is not given away, its niceness tells.
        let _ = self.set("cpu.weight", if less { CPU_WEIGHT_SLOW } else { CPU_WEIGHT });
    }

    /// Puts a process into it, which has no threads yet that could have taken much.
    ///
    /// # Errors
    /// Where the kernel refuses it.
    pub fn enter(&self, pid: u32) -> io::Result<()> {
        self.set("cgroup.procs", pid)
    }

    /// Whether the kernel ended its processes because they had too much memory.
    pub fn was_out_of_memory(&self) -> bool {
        let events = fs::read_to_string(self.path.join("memory.events")).unwrap_or_default();
        events
            .lines()
            .any(|line| line.strip_prefix("oom_kill ").is_some_and(|count| count.trim() != "0"))
    }
}

impl Drop for HostGroup {
    fn drop(&mut self) {
        if is_left(fs::remove_dir(&self.path)) {
            self.left.lock().push(std::mem::take(&mut self.path));
        }
    }
}

/// Whether a group that was to be removed is there still.
fn is_left(removed: io::Result<()>) -> bool {
    removed.is_err_and(|error| error.kind() != io::ErrorKind::NotFound)
}

/// Removes groups of hosts whose server is gone, if their processes are too.
fn remove_left(root: &Path) {
    let server = |name: &str| name.strip_prefix(HOST)?.split('-').next()?.parse::<u32>().ok();
    for group in fs::read_dir(root).into_iter().flatten().flatten() {
        let gone = group
            .file_name()
            .to_str()
            .and_then(server)
            .is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists());
        if gone {
            // One with processes stays.
            let _ = fs::remove_dir(group.path());
        }
    }
}

impl Drop for ControlGroups {
    fn drop(&mut self) {
        remove_left(&self.root);
        self.remove_own_left();
    }
}

/// The part of the tree that this process is in, where it was given away.
fn given() -> Option<PathBuf> {
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = own.lines().find_map(|line| line.strip_prefix("0::"))?;
    let root = fs::read_to_string("/proc/self/mountinfo")
        .ok()?
        .lines()
        .find_map(|line| place(line, path))?;
    is_given(&root).then_some(root)
}

/// Where a group lies, if this line of a list of mounts is of version 2. Beside version 1 that is
/// not /sys/fs/cgroup itself, and a container may see a part of the tree only.
fn place(line: &str, group: &str) -> Option<PathBuf> {
    let (mount, kind) = line.split_once(" - ")?;
    let mut fields = mount.split(' ').skip(3);
    let (root, at) = (fields.next()?, fields.next()?);
    let below = Path::new(group).strip_prefix(root).ok()?;
    kind.starts_with("cgroup2 ").then(|| Path::new(at).join(below))
}

/// What is given away with a group.
fn controllers(root: &Path) -> Vec<&'static str> {
    let given = fs::read_to_string(root.join("cgroup.controllers")).unwrap_or_default();
    CONTROLLERS
        .into_iter()
        .filter(|name| given.split_ascii_whitespace().any(|given| given == *name))
        .collect()
}

/// Whether a group is ours to use: writable for an ordinary user, who has none by chance; for root,
/// which may write everywhere, marked as given.
fn is_given(root: &Path) -> bool {
    let Ok(meta) = fs::metadata(root.join("cgroup.subtree_control")) else { return false };
    let is_root = fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    if is_root {
        is_marked(root)
    } else {
        meta.uid() != 0 && fs::File::options().write(true).open(root.join("cgroup.procs")).is_ok()
    }
}

/// systemd's mark of a part of the tree that it gave away.
#[expect(unsafe_code, reason = "a system call without a safe wrapper")]
fn is_marked(root: &Path) -> bool {
    let Ok(path) = std::ffi::CString::new(root.as_os_str().as_bytes()) else { return false };
    [c"user.delegate", c"trusted.delegate"].iter().any(|name| {
        let mut value = [0u8; 4];
        // SAFETY: the path, the name and the room for the value live as long as the call.
        let length = unsafe {
            libc::getxattr(path.as_ptr(), name.as_ptr(), value.as_mut_ptr().cast(), value.len())
        };
        length == 1 && value[0] == b'1'
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder that looks like a group. What the kernel does with the files is tested in
    /// `tests/security`, where there is one to be had.
    fn tree() -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a folder");
        for (file, text) in [
            ("cgroup.procs", ""),
            ("cgroup.subtree_control", ""),
            ("cgroup.controllers", "cpuset cpu io memory pids\n"),
        ] {
            fs::write(dir.path().join(file), text).expect("writes");
        }
        dir
    }

    #[test]
    fn the_server_goes_aside_and_limits_are_switched_on() {
        let dir = tree();
        let (left, living) = (
            dir.path().join("millrace-host-4000000000-1"),
            dir.path().join(format!("millrace-host-{}-0", std::process::id())),
        );
        for group in [&left, &living] {
            fs::create_dir(group).expect("makes");
        }
        let groups = ControlGroups::prepare(dir.path()).expect("prepares");
        let read = |file: &str| fs::read_to_string(dir.path().join(file)).expect("reads");
        assert_eq!(read("millrace-server/cgroup.procs"), std::process::id().to_string());
        assert_eq!(read("cgroup.subtree_control"), "+memory +pids +cpu");
        assert!(
            !left.exists() && living.exists(),
            "what an earlier server left is removed, and nobody else's"
        );
        fs::create_dir(&left).expect("makes");
        // Its files are the kernel's, but its name is had, and is another one.
        assert!(groups.host(1, 1).is_err() && !left.exists() && living.exists());
    }

    #[test]
    fn what_is_not_given_away_is_done_without() {
        let dir = tree();
        fs::write(dir.path().join("cgroup.controllers"), "hugetlb pids misc").expect("writes");
        assert_eq!(ControlGroups::prepare(dir.path()).expect("prepares").limits(), ["pids"]);
        assert_eq!(
            fs::read_to_string(dir.path().join("cgroup.subtree_control")).expect("reads"),
            "+pids"
        );
        let none = tree();
        fs::write(none.path().join("cgroup.controllers"), "hugetlb\n").expect("writes");
        assert!(ControlGroups::prepare(none.path()).expect("prepares").limits().is_empty());
        assert!(!none.path().join(OWN).exists(), "nothing is changed where nothing is gained");
    }

    #[test]
    fn the_tree_is_found_where_it_is_mounted() {
        let line = "30 23 0:26 / /sys/fs/cgroup/unified rw,nosuid - cgroup2 cgroup2 rw,nsdelegate";
        assert_eq!(
            place(line, "/system.slice/m.service"),
            Some("/sys/fs/cgroup/unified/system.slice/m.service".into())
        );
        let part = "30 23 0:26 /docker/abc /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw";
        assert_eq!(
            (place(part, "/docker/abc/x"), place(part, "/elsewhere")),
            (Some("/sys/fs/cgroup/x".into()), None)
        );
        assert_eq!(
            place("31 23 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory", "/"),
            None
        );
    }

    #[test]
    fn where_limits_cannot_be_switched_on_all_stays_as_it_was() {
        let dir = tree();
        fs::remove_file(dir.path().join("cgroup.subtree_control")).expect("removes");
        fs::create_dir(dir.path().join("cgroup.subtree_control")).expect("cannot be written");
        assert!(ControlGroups::prepare(dir.path()).is_err());
        assert_eq!(
            fs::read_to_string(dir.path().join("cgroup.procs")).expect("reads"),
            std::process::id().to_string()
        );
    }

    #[test]
    fn a_host_s_group_has_its_limits() {
        let dir = tree();
        let groups = ControlGroups::prepare(dir.path()).expect("prepares");
        // The files are the kernel's: here nobody makes them.
        assert!(groups.host(1 << 30, 512).is_err());
        let group = HostGroup { path: dir.path().to_owned(), left: Left::default() };
        group.set("memory.max", 5u32).expect("writes");
        assert_eq!(fs::read_to_string(dir.path().join("memory.max")).expect("reads"), "5");
        fs::write(dir.path().join("memory.events"), "low 0\noom 1\noom_kill 0\n").expect("writes");
        assert!(!group.was_out_of_memory());
        fs::write(dir.path().join("memory.events"), "oom 1\noom_kill 2\noom_group_kill 1\n")
            .expect("writes");
        assert!(group.was_out_of_memory());
        // It is no group, and keeps what is in it.
        drop(group);
        assert!(dir.path().join("memory.events").exists());
    }

    #[test]
    fn a_group_whose_process_is_not_gone_yet_is_removed_with_a_later_one() {
        let dir = tree();
        let groups = ControlGroups::prepare(dir.path()).expect("prepares");
        let path = dir.path().join("millrace-host-1-1");
        fs::create_dir_all(path.join("a process")).expect("makes");
        drop(HostGroup { path: path.clone(), left: groups.left.clone() });
        assert!(path.exists());
        assert!(groups.host(1, 1).is_err() && path.exists(), "it is there still");
        fs::remove_dir(path.join("a process")).expect("ends");
        assert!(groups.host(1, 1).is_err() && !path.exists());
        assert!(groups.left.lock().iter().all(|left| *left != path));
    }
}
