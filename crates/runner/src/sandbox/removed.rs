//! Size of unlinked files that still occupy the disk: a process has them open or mapped.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;

/// Of the list of a process's parts of memory, bytes: it is as long as the process makes it, by
/// many parts of long names. Sixty thousand, which is all that the kernel lets a process have, take
/// 6 MiB with names of the usual length.
const MAPS_BYTES_MAX: u64 = 16 << 20;

/// Bytes of removed files and folders that a process has open.
pub(super) fn open(pid: u32) -> u64 {
    let open = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let removed = open
        .filter_map(|entry| std::fs::metadata(entry.path()).ok())
        .filter(|meta| meta.nlink() == 0);
    removed.fold(0, |bytes, meta| bytes.saturating_add(meta.blocks() * 512))
}

/// Whether memory of a process leads to a file below a folder that was removed, which stays on the
/// disk for as long, as large as it was; or has so many parts that nobody could tell.
pub(super) fn is_mapped(folder: &OwnedFd, pid: u32) -> bool {
    let (Ok(path), Ok(maps)) = (
        rustix::fs::readlink(format!("/proc/self/fd/{}", folder.as_raw_fd()), Vec::new()),
        File::open(format!("/proc/{pid}/maps")),
    ) else {
        return false;
    };
    leads_below(BufReader::new(maps), &[path.as_bytes(), b"/"].concat())
}

fn leads_below(maps: impl BufRead, path: &[u8]) -> bool {
    const REMOVED: &[u8] = b" (deleted)";
    let (mut maps, mut line) = (maps.take(MAPS_BYTES_MAX), Vec::new());
    loop {
        line.clear();
        match maps.read_until(b'\n', &mut line) {
            Ok(0) => return maps.limit() == 0,
            Ok(_)
                if line.trim_ascii_end().ends_with(REMOVED)
                    && line.windows(path.len()).any(|part| part == path) =>
            {
                return true;
            }
            Ok(_) => {}
            // It is gone.
            Err(_) => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_removed_files_below_the_folder_are_told() {
        let told = |maps: &str| leads_below(maps.as_bytes(), b"/data/tmp/");
        let part = "7f00-7f01 r--s 00000000 fe:00 12 ";
        assert!(told(&format!(
            "{part}/lib/libc.so.6\n{part}/data/tmp/a/b (deleted)\n{part}[heap]\n"
        )));
        assert!(told(&format!("{part}/data/tmp/cut off (deleted)")));
        assert!(!told(&format!(
            "{part}/lib/x (deleted)\n{part}/data/tmp/there\n{part}/data/tmpfile (deleted)\n"
        )));
        assert!(!told(""));
    }

    /// Says one text again and again, and counts how much was taken.
    struct Endless<'a>(&'a [u8], u64);

    impl std::io::Read for Endless<'_> {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            let len = self.0.len().min(into.len());
            into[..len].copy_from_slice(&self.0[..len]);
            self.1 += len as u64;
            Ok(len)
        }
    }

    #[test]
    fn a_list_without_end_is_not_read_to_its_end() {
        for text in ["7f00-7f01 r--p 00000000 00:00 0 /lib/x\n", "a line without end "] {
            let mut endless = Endless(text.as_bytes(), 0);
            assert!(leads_below(BufReader::new(&mut endless), b"/data/tmp/"), "{text}");
            assert!(endless.1 <= MAPS_BYTES_MAX + (64 << 10), "{} bytes were read", endless.1);
        }
    }
}
