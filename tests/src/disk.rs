//! Disk that loses its power: of writes since the last sync any sectors are there afterwards, and
//! others are not.

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, UNIX_EPOCH};

use fuser::{
    BackgroundSession, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, Generation,
    INodeNo, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyEmpty, ReplyEntry, ReplyWrite,
    Request, WriteFlags,
};

use crate::schedule::Schedule;

/// What a disk writes whole or not at all, bytes.
const SECTOR: usize = 512;
/// Its size, bytes.
const SIZE: usize = 96 << 20;
/// The file that the disk is, the only one of its file system.
const FILE: INodeNo = INodeNo(2);
const NAME: &str = "disk";
const TTL: Duration = Duration::from_secs(60);

/// A disk with a journaling file system, mounted at a folder.
pub struct Disk {
    mounted_at: PathBuf,
    /// Where the file lies that the kernel takes for a disk.
    folder: tempfile::TempDir,
    platter: Arc<Mutex<Platter>>,
    session: Option<BackgroundSession>,
}

/// What is on it, and what is on its way.
struct Platter {
    /// As the system sees it.
    seen: Vec<u8>,
    /// As it is without power.
    kept: Vec<u8>,
    /// Sectors that were written since it was last told to keep everything, in order.
    pending: Vec<(usize, [u8; SECTOR])>,
    /// Writes that are still taken.
    writes_left: Option<u64>,
}

impl Disk {
    /// With an empty file system; `None`, with a word on it, where no disk can be made.
    pub fn at(folder: &Path) -> Option<Self> {
        std::fs::create_dir_all(folder).expect("a folder");
        let platter = Platter {
            seen: vec![0; SIZE],
            kept: vec![0; SIZE],
            pending: Vec::new(),
            writes_left: None,
        };
        let mut disk = Self {
            mounted_at: folder.to_owned(),
            folder: tempfile::tempdir().expect("a folder"),
            platter: Arc::new(Mutex::new(platter)),
            session: None,
        };
        let made = disk.connect()
            && run("mkfs.ext4", &["-q", "-F", "-E", "nodiscard"], &[&disk.file()])
            && disk.mount();
        if !made {
            writeln!(std::io::stderr(), "skipped: no disk can be made here (root, /dev/fuse, loop devices and mkfs.ext4 are needed)").expect("writes");
        }
        made.then_some(disk)
    }

    /// Its power goes after so many more writes: they fail from then on, and nothing more is kept.
    pub fn cut_after(&self, writes: u64) {
        self.platter().writes_left = Some(writes);
    }

    pub fn is_off(&self) -> bool {
        self.platter().writes_left == Some(0)
    }

    /// The power comes back, and with it what is left on it. Nobody may use it meanwhile.
    pub fn restart(&mut self, schedule: &mut Schedule) {
        self.disconnect();
        self.platter().lose_power(schedule);
        assert!(self.connect() && self.mount(), "the disk cannot be mounted again");
    }

    fn platter(&self) -> MutexGuard<'_, Platter> {
        self.platter.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join(NAME)
    }

    fn connect(&mut self) -> bool {
        self.session =
            fuser::spawn_mount(Files(self.platter.clone()), self.folder.path(), &Config::default())
                .ok();
        self.session.is_some()
    }

    fn mount(&self) -> bool {
        run("mount", &["-o", "loop"], &[&self.file(), &self.mounted_at])
    }

    fn disconnect(&mut self) {
        // Hosts outlive a server that was killed, for a moment.
        let deadline = Instant::now() + Duration::from_secs(30);
        while is_mounted(&self.mounted_at) && !run("umount", &[], &[&self.mounted_at]) {
            assert!(Instant::now() < deadline, "the disk is still in use");
            std::thread::sleep(Duration::from_millis(20));
        }
        if let Some(session) = self.session.take() {
            session.umount_and_join().expect("unmounts");
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Lazily: a server that failed the test may live still.
        run("umount", &["-l"], &[&self.mounted_at]);
        if let Some(session) = self.session.take() {
            // The kernel may hold it as long as that server lives.
            drop(session.umount_and_join());
        }
    }
}

impl Platter {
    fn write(&mut self, at: usize, data: &[u8]) -> bool {
        if self.writes_left == Some(0)
            || !at.is_multiple_of(SECTOR)
            || !data.len().is_multiple_of(SECTOR)
            || at + data.len() > self.seen.len()
        {
            return false;
        }
        self.writes_left = self.writes_left.map(|left| left - 1);
        self.seen[at..at + data.len()].copy_from_slice(data);
        self.pending.extend(
            data.as_chunks::<SECTOR>()
                .0
                .iter()
                .enumerate()
                .map(|(n, sector)| (at / SECTOR + n, *sector)),
        );
        true
    }

    /// Everything that was written is there from now on, whatever happens.
    fn keep(&mut self) -> bool {
        if self.writes_left == Some(0) {
            return false;
        }
        for (sector, data) in self.pending.drain(..) {
            self.kept[sector * SECTOR..][..SECTOR].copy_from_slice(&data);
        }
        true
    }

    fn lose_power(&mut self, schedule: &mut Schedule) {
        // None of it, all of it, or any part: a later version of a sector may be lost, and an
        // earlier one be there.
        let quarters = schedule.number() % 5;
        for (sector, data) in self.pending.drain(..) {
            if schedule.number() % 4 < quarters {
                self.kept[sector * SECTOR..][..SECTOR].copy_from_slice(&data);
            }
        }
        self.seen.clone_from(&self.kept);
        self.writes_left = None;
    }
}

/// The one file.
struct Files(Arc<Mutex<Platter>>);

impl Files {
    fn platter(&self) -> MutexGuard<'_, Platter> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn attributes(ino: INodeNo) -> FileAttr {
    let is_file = ino == FILE;
    FileAttr {
        ino,
        size: if is_file { SIZE as u64 } else { 0 },
        blocks: if is_file { (SIZE / SECTOR) as u64 } else { 0 },
        atime: UNIX_EPOCH,
        mtime: UNIX_EPOCH,
        ctime: UNIX_EPOCH,
        crtime: UNIX_EPOCH,
        kind: if is_file { FileType::RegularFile } else { FileType::Directory },
        perm: if is_file { 0o600 } else { 0o700 },
        nlink: 1,
        uid: 0,
        gid: 0,
        rdev: 0,
        blksize: 4096,
        flags: 0,
    }
}

impl Filesystem for Files {
    fn lookup(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        if name == NAME {
            reply.entry(&TTL, &attributes(FILE), Generation(0))
        } else {
            reply.error(Errno::ENOENT)
        }
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&TTL, &attributes(ino));
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let platter = self.platter();
        let from = usize::try_from(offset).unwrap_or(SIZE).min(SIZE);
        reply.data(&platter.seen[from..SIZE.min(from + size as usize)]);
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        if self.platter().write(usize::try_from(offset).unwrap_or(SIZE), data) {
            reply.written(u32::try_from(data.len()).expect("a write of the kernel's"));
        } else {
            reply.error(Errno::EIO);
        }
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        if self.platter().keep() { reply.ok() } else { reply.error(Errno::EIO) }
    }
}

fn is_mounted(folder: &Path) -> bool {
    run("mountpoint", &["-q"], &[folder])
}

fn run(program: &str, args: &[&str], paths: &[&Path]) -> bool {
    let ended = Command::new(program)
        .args(args)
        .args(paths)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    ended.is_ok_and(|status| status.success())
}
