//! Control groups (version 2), where the server was given a part of their tree to keep: each host gets a group with limits of memory and
//! processes, and a smaller share of the processor than the server. systemd gives one with `Delegate=yes`. Elsewhere hosts go without.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::processor;

/// Where version 2 is mounted.
const MOUNT: &str = "/sys/fs/cgroup";
/// The group of the server itself: in a group whose children have limits there may be no process.
const OWN: &str = "millrace-server";
/// What groups of hosts begin with.
const HOST: &str = "millrace-host-";
/// A host's share of the processor; the server has the usual 100.
const CPU_WEIGHT: u32 = 50;
/// What the kernel counts beside a host's limits: its own tables, and files that are read. Bytes.
const MARGIN_BYTES: u64 = 192 << 20;

/// The part of the tree that hosts' groups are made in.
#[derive(Debug)]
pub(crate) struct ControlGroups {
    root: PathBuf,
    next: AtomicU64,
}

/// The group of one host; removed when dropped, once its processes are gone.
#[derive(Debug)]
pub(crate) struct HostGroup {
    path: PathBuf,
}

impl ControlGroups {
    /// The server's own part of the tree, made ready; None where it was given none.
    pub(crate) fn find() -> Option<Self> {
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        let path = own.lines().find_map(|line| line.strip_prefix("0::"))?;
        let root = Path::new(MOUNT).join(path.trim_start_matches('/'));
        if !is_given(&root) {
            return None;
        }
        match Self::prepare(&root) {
            Ok(groups) => Some(groups),
            Err(error) => {
                tracing::debug!(path = %root.display(), %error, "control groups cannot be used");
                None
            }
        }
    }

    /// Makes a part of the tree ready: the server goes into a group of its own, and limits are switched on for its siblings.
    fn prepare(root: &Path) -> io::Result<Self> {
        let own = root.join(OWN);
        match fs::create_dir(&own) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let id = std::process::id().to_string();
        fs::write(own.join("cgroup.procs"), &id)?;
        if let Err(error) = fs::write(root.join("cgroup.subtree_control"), "+memory +pids +cpu") {
            // Other processes are there too: all stays as it was.
            fs::write(root.join("cgroup.procs"), &id)?;
            // Where it is not empty another server is in it.
            let _ = fs::remove_dir(&own);
            return Err(error);
        }
        for left in fs::read_dir(root)?.flatten().filter(|e| e.file_name().as_bytes().starts_with(HOST.as_bytes())) {
            // One with processes stays: another server's.
            let _ = fs::remove_dir(left.path());
        }
        Ok(Self { root: root.to_owned(), next: AtomicU64::new(0) })
    }

    /// A group for a host, and the file through which its process enters it.
    ///
    /// # Errors
    /// Where the kernel refuses it.
    pub(crate) fn host(&self, memory_bytes: u64, threads_max: usize) -> io::Result<(HostGroup, OwnedFd)> {
        let name = format!("{HOST}{}-{}", std::process::id(), self.next.fetch_add(1, Ordering::Relaxed));
        let path = self.root.join(name);
        fs::create_dir(&path)?;
        let group = HostGroup { path };
        group.set("memory.max", memory_bytes.saturating_add(MARGIN_BYTES))?;
        group.set("memory.oom.group", 1u32)?;
        group.set("pids.max", threads_max)?;
        group.set("cpu.weight", CPU_WEIGHT)?;
        // Not every machine has swap to be limited.
        let _ = group.set("memory.swap.max", 0u32);
        let entry = fs::File::options().write(true).open(group.path.join("cgroup.procs"))?;
        Ok((group, entry.into()))
    }
}

impl HostGroup {
    fn set(&self, file: &str, value: impl ToString) -> io::Result<()> {
        fs::write(self.path.join(file), value.to_string())
    }

    /// Its processes get less of the processor than others that want it.
    pub(crate) fn slow_down(&self) {
        // Where this share is not given away, its niceness tells.
        let _ = self.set("cpu.weight", processor::WEIGHT);
    }

    /// Whether the kernel ended its processes because they had too much memory.
    pub(crate) fn was_out_of_memory(&self) -> bool {
        let events = fs::read_to_string(self.path.join("memory.events")).unwrap_or_default();
        events.lines().any(|line| line.strip_prefix("oom_kill ").is_some_and(|count| count.trim() != "0"))
    }
}

impl Drop for HostGroup {
    fn drop(&mut self) {
        // A process that is not reaped yet keeps it: the next start removes it.
        let _ = fs::remove_dir(&self.path);
    }
}

/// Whether a group is ours to use: writable for an ordinary user, who has none by chance; for root, which may write everywhere, marked as given.
fn is_given(root: &Path) -> bool {
    let Ok(meta) = fs::metadata(root.join("cgroup.subtree_control")) else { return false };
    let is_root = fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    if is_root { is_marked(root) } else { meta.uid() != 0 && fs::File::options().write(true).open(root.join("cgroup.procs")).is_ok() }
}

/// systemd's mark of a part of the tree that it gave away.
#[expect(unsafe_code, reason = "a system call without a safe wrapper")]
fn is_marked(root: &Path) -> bool {
    let Ok(path) = std::ffi::CString::new(root.as_os_str().as_bytes()) else { return false };
    [c"user.delegate", c"trusted.delegate"].iter().any(|name| {
        let mut value = [0u8; 4];
        // SAFETY: the path, the name and the room for the value live as long as the call.
        let length = unsafe { libc::getxattr(path.as_ptr(), name.as_ptr(), value.as_mut_ptr().cast(), value.len()) };
        length == 1 && value[0] == b'1'
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder that looks like a group. What the kernel does with the files is not tested here: this needs a machine that gives a group away.
    fn tree() -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a folder");
        for file in ["cgroup.procs", "cgroup.subtree_control"] {
            fs::write(dir.path().join(file), "").expect("writes");
        }
        dir
    }

    #[test]
    fn the_server_goes_aside_and_limits_are_switched_on() {
        let dir = tree();
        fs::create_dir(dir.path().join("millrace-host-1-1")).expect("makes");
        ControlGroups::prepare(dir.path()).expect("prepares");
        let read = |file: &str| fs::read_to_string(dir.path().join(file)).expect("reads");
        assert_eq!(read("millrace-server/cgroup.procs"), std::process::id().to_string());
        assert_eq!(read("cgroup.subtree_control"), "+memory +pids +cpu");
        assert!(!dir.path().join("millrace-host-1-1").exists(), "what an earlier server left is removed");
    }

    #[test]
    fn where_limits_cannot_be_switched_on_all_stays_as_it_was() {
        let dir = tree();
        fs::remove_file(dir.path().join("cgroup.subtree_control")).expect("removes");
        fs::create_dir(dir.path().join("cgroup.subtree_control")).expect("cannot be written");
        assert!(ControlGroups::prepare(dir.path()).is_err());
        assert_eq!(fs::read_to_string(dir.path().join("cgroup.procs")).expect("reads"), std::process::id().to_string());
    }

    #[test]
    fn a_host_s_group_has_its_limits() {
        let dir = tree();
        let groups = ControlGroups::prepare(dir.path()).expect("prepares");
        // The files are the kernel's: here nobody makes them.
        assert!(groups.host(1 << 30, 512).is_err());
        let group = HostGroup { path: dir.path().to_owned() };
        group.set("memory.max", 5u32).expect("writes");
        assert_eq!(fs::read_to_string(dir.path().join("memory.max")).expect("reads"), "5");
        fs::write(dir.path().join("memory.events"), "low 0\noom 1\noom_kill 0\n").expect("writes");
        assert!(!group.was_out_of_memory());
        fs::write(dir.path().join("memory.events"), "oom 1\noom_kill 2\noom_group_kill 1\n").expect("writes");
        assert!(group.was_out_of_memory());
        // It is no group, and keeps what is in it.
        drop(group);
        assert!(dir.path().join("memory.events").exists());
    }
}
