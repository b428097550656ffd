//! Unpacking of untrusted archives of packages, and cleanup after an interrupted one.

use std::io::{Error, ErrorKind, Read as _};
use std::path::{Component as PathPart, Path, PathBuf};

use millrace_walls::folders;

use crate::gzip_members::Members;
use crate::packages::PACKAGES;
use crate::tar_entries;

/// The largest package: the largest known ones have some ten thousand files.
pub(crate) const LARGEST: Size = Size { bytes: 512 << 20, entries: 200_000 };
/// Parts of a file's path in a package, its own name included: whoever unpacks removes what is
/// refused with a descriptor for each folder on the way, and has 1,024 for eight packages at once.
const PATH_PARTS_MAX: usize = 64;
/// The most characters of a package's path that an error shows.
const PATH_SHOWN: usize = 100;
/// What a package's folder is called while it is unpacked, before the number of the process that
/// does it.
const PART: &str = ".part-";

/// What a package unpacks to.
#[derive(Clone, Copy)]
pub(crate) struct Size {
    /// In files that are kept. What is decompressed may be twice as much.
    pub(crate) bytes: u64,
    /// Files and whatever else an archive has.
    entries: usize,
}

/// Unpacks beside the target and moves it there whole: a crash leaves no half package.
///
/// # Errors
/// Of the kind [`ErrorKind::InvalidData`], in words, where the archive is at fault; else those of
/// the disk.
pub(crate) fn unpack(
    archive: &[u8],
    root: &Path,
    target: &Path,
    name: &str,
    max: Size,
) -> std::io::Result<()> {
    static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let part = root.join(format!("{PART}{}-{number}", std::process::id()));
    // Left by a process that had this one's number: they are small and come again in containers.
    let cleared = match std::fs::remove_dir_all(&part) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    };
    let unpacked =
        cleared.and_then(|()| unpack_into(archive, &part.join("node_modules").join(name), max));
    // A loss of power may leave a name without what it stands for, and a package that is there is
    // never unpacked again.
    let kept = unpacked.and_then(|()| Ok(rustix::fs::syncfs(std::fs::File::open(&part)?)?));
    let moved = kept.and_then(|()| match std::fs::rename(&part, target) {
        Ok(()) => Ok(()),
        // Another process was first.
        Err(_) if target.exists() => Ok(()),
        Err(e) => Err(e),
    });
    if part.exists() {
        // What stays is told, and removed, before the next process fetches (see `remove_left`).
        let _ = std::fs::remove_dir_all(&part);
    }
    moved
}

/// Removes what processes left that were ended while they unpacked: their time was over, or the
/// machine's. It is strangers', however deep. Not for a process that fetches: nobody hears what it
/// logs, and before Linux 5.19 Landlock lets nobody move a folder.
pub(crate) fn remove_left(cache_dir: &Path) {
    let root = cache_dir.join(PACKAGES);
    for entry in std::fs::read_dir(root).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(made_by) =
            name.to_str().and_then(|name| name.strip_prefix(PART)?.split('-').next())
        else {
            continue;
        };
        if !Path::new("/proc").join(made_by).exists() {
            match folders::remove(&entry.path()) {
                // Another one was first.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => {
                    tracing::warn!(path = %entry.path().display(), %error, "what is left of a package that was not unpacked could not be removed; the next deploy that fetches packages tries again");
                }
                Ok(()) => {}
            }
        }
    }
}

fn unpack_into(archive: &[u8], home: &Path, max: Size) -> std::io::Result<()> {
    std::fs::create_dir_all(home)?;
    let mut left = max.bytes;
    // What is left out is decompressed as well: the limit is on that too.
    tar_entries::files(Members::new(archive).take(2 * max.bytes), max.entries, |path, entry| {
        // The first part is the archive's own folder, mostly `package`. Links and what climbs
        // out are left out.
        let path: PathBuf = path.components().skip(1).collect();
        if path.as_os_str().is_empty()
            || path.components().any(|p| !matches!(p, PathPart::Normal(_)))
        {
            return Ok(());
        }
        let parts = path.components().count();
        if parts > PATH_PARTS_MAX {
            let shown = shown(&path);
            return Err(Error::new(
                ErrorKind::InvalidData,
                format!("the path `{shown}` in it has {parts} parts, allowed are {PATH_PARTS_MAX}"),
            ));
        }
        let too_large = || {
            Error::new(
                ErrorKind::InvalidData,
                format!("its files have more than {} bytes, the limit", max.bytes),
            )
        };
        // The process may write no larger file, which the disk would say in other words.
        if entry.size() > left {
            return Err(too_large());
        }
        let target = home.join(&path);
        if let Some(parent) = target.parent() {
            std::fs::create_dir_all(parent).map_err(|e| of_the_name(&path, e))?;
        }
        let mut file = std::fs::File::create(&target).map_err(|e| of_the_name(&path, e))?;
        // What the disk says of a file has a number; what else ends the copy is in the archive.
        let read = |e: Error| {
            if e.raw_os_error().is_some() {
                e
            } else {
                Error::new(ErrorKind::InvalidData, e.to_string())
            }
        };
        let written = std::io::copy(&mut entry.take(left + 1), &mut file).map_err(read)?;
        left = left.checked_sub(written).ok_or_else(too_large)?;
        Ok(())
    })
}

fn shown(path: &Path) -> String {
    path.display().to_string().chars().take(PATH_SHOWN).collect()
}

/// Why a file cannot be made. An archive may name what no folder can hold.
fn of_the_name(path: &Path, error: Error) -> Error {
    let shown = shown(path);
    let reason = match error.kind() {
        ErrorKind::AlreadyExists | ErrorKind::IsADirectory | ErrorKind::NotADirectory => {
            format!("`{shown}` is a file and a folder in it")
        }
        ErrorKind::InvalidFilename | ErrorKind::InvalidInput => {
            format!("`{shown}` in it is no path that the disk takes")
        }
        _ => return error,
    };
    Error::new(ErrorKind::InvalidData, reason)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    /// An archive of entries as an attacker would write them: a kind, a name that is not looked at,
    /// and what it holds.
    fn archive<'a>(
        entries: impl IntoIterator<Item = (tar::EntryType, &'a str, &'a [u8])>,
    ) -> Vec<u8> {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        for (kind, name, bytes) in entries {
            let mut header = tar::Header::new_ustar();
            header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
            header.set_entry_type(kind);
            header.set_mode(0o6777);
            header.set_size(bytes.len() as u64);
            if !kind.is_file() {
                header.set_link_name("/etc/passwd").expect("fits");
            }
            header.set_cksum();
            packed.write_all(header.as_bytes()).expect("writes");
            packed.write_all(bytes).expect("writes");
            packed
                .write_all(&vec![0; bytes.len().next_multiple_of(512) - bytes.len()])
                .expect("writes");
        }
        packed.write_all(&[0; 1024]).expect("writes");
        packed.finish().expect("packs")
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(folder)
            .expect("reads")
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn packages_keep_to_their_folder_and_are_plain_files() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().expect("a folder");
        let root = dir.path().join("packages");
        std::fs::create_dir(&root).expect("makes");
        let file = tar::EntryType::Regular;
        let packed = archive([
            (file, "package/index.js", &b"1"[..]),
            (file, "package/../../../../climbed", b"2"),
            (file, "../../climbed", b"3"),
            (file, "/climbed/climbed", b"4"),
            (file, "package/a/../../../climbed", b"5"),
            (tar::EntryType::Symlink, "package/link", b""),
            (file, "package/link/climbed", b"6"),
            (tar::EntryType::Link, "package/hard", b""),
            (tar::EntryType::Char, "package/device", b""),
            (tar::EntryType::Fifo, "package/pipe", b""),
        ]);
        unpack(&packed, &root, &root.join("x@1"), "x", LARGEST).expect("unpacks");
        assert_eq!(names(dir.path()), ["packages"]);
        assert_eq!(names(&root), ["x@1"]);
        let home = root.join("x@1/node_modules/x");
        assert_eq!(names(&home), ["climbed", "index.js", "link"]);
        assert!(home.join("link").symlink_metadata().expect("there").is_dir());
        assert_eq!(
            home.join("index.js").metadata().expect("there").permissions().mode() & 0o6111,
            0,
            "no program, and nobody else's"
        );
    }

    #[test]
    fn packages_without_end_are_refused_and_leave_nothing() {
        let dir = tempfile::tempdir().expect("a folder");
        let max = Size { bytes: 1 << 20, entries: 100 };
        let file = tar::EntryType::Regular;
        let many = archive((0..=max.entries).map(|_| (file, "package/x", &b""[..])));
        let zeros = vec![0; 600 << 10];
        let large = archive((0..2).map(|_| (file, "package/x", &zeros[..])));
        // Decompressed and left out: it is no plain file.
        let bomb = archive((0..4).map(|_| (tar::EntryType::Continuous, "package/x", &zeros[..])));
        for packed in [many, large, bomb] {
            assert!(unpack(&packed, dir.path(), &dir.path().join("x@1"), "x", max).is_err());
            assert_eq!(names(dir.path()), [""; 0]);
        }
    }

    #[test]
    fn packages_of_deep_paths_are_refused_and_leave_nothing() {
        let dir = tempfile::tempdir().expect("a folder");
        let unpacked = |parts: usize| {
            let name = format!("package/{}x\0", "a/".repeat(parts - 1));
            let named = [
                (tar::EntryType::GNULongName, "long", name.as_bytes()),
                (tar::EntryType::Regular, "short", b"1"),
            ];
            unpack(&archive(named), dir.path(), &dir.path().join("x@1"), "x", LARGEST)
        };
        let refused = unpacked(1_900).expect_err("too deep");
        assert_eq!((refused.kind(), names(dir.path())), (ErrorKind::InvalidData, vec![]));
        assert!(refused.to_string().ends_with("in it has 1900 parts, allowed are 64"), "{refused}");
        assert!(unpacked(65).is_err());
        unpacked(64).expect("unpacks");
        assert_eq!(names(dir.path()), ["x@1"]);
    }

    #[test]
    fn what_an_ended_process_left_is_removed_and_what_is_under_way_stays() {
        let dir = tempfile::tempdir().expect("a folder");
        let root = dir.path().join(PACKAGES);
        let (own, ended) = (format!("{PART}{}-7", std::process::id()), format!("{PART}4194999-0"));
        for name in [own.as_str(), &ended, "x@1"] {
            std::fs::create_dir_all(root.join(name).join("node_modules")).expect("makes");
        }
        remove_left(dir.path());
        assert_eq!(names(&root), [own, "x@1".to_owned()]);
    }

    #[test]
    fn what_a_process_with_the_same_number_left_is_no_part_of_a_package() {
        let dir = tempfile::tempdir().expect("a folder");
        for number in 0..100 {
            let left =
                dir.path().join(format!("{PART}{}-{number}/node_modules/x", std::process::id()));
            std::fs::create_dir_all(&left).expect("makes");
            std::fs::write(left.join("left.js"), "").expect("writes");
        }
        let packed = archive([(tar::EntryType::Regular, "package/index.js", &b"1"[..])]);
        unpack(&packed, dir.path(), &dir.path().join("x@1"), "x", LARGEST).expect("unpacks");
        assert_eq!(names(&dir.path().join("x@1/node_modules/x")), ["index.js"]);
    }
}
