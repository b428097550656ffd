//! Size of the files that a host has in its `tmp`.
//!
//! A folder that was listed and is gone when it is entered was removed, or has another name by now
//! and would be passed over, however much it holds. So it is looked for by its number, which it
//! keeps, and entered at once where it is seen.

use std::collections::HashMap;
use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::time::Duration;

use millrace_walls::folders::{FOLDER, is_itself};
use rustix::fs::{AtFlags, FileType, Mode, RawDir};
use rustix::io::Errno;

use super::private::{Usage, below};

/// Files and folders below `tmp` that a host may have.
const ENTRIES_MAX: usize = 100_000;
/// Parts of paths that are gone through to enter folders: a folder costs as many as it is deep, so
/// that few of them far down would keep the server busy for minutes, while nobody counts what is
/// written. A hundred thousand folders may be ten deep.
const PARTS_MAX: usize = 1_000_000;
/// How often folders that are gone are looked for. One that was not found then was removed.
const HUNTS: usize = 12;
/// Between these: who makes and removes folders all the time gets on with it.
const PAUSE: Duration = Duration::from_millis(5);
/// A folder that was seen and had another name a moment later, so often, is not to be counted.
const MISSES_MAX: usize = 4;
/// Room for a few names: between the listing and the entering of the last of them little time
/// passes.
const LISTED_BYTES: usize = 1 << 10;

/// Bytes below a folder, with what happens each time between the listing of a folder and its
/// entering.
///
/// # Errors
/// Where they cannot be counted.
pub(super) fn count(root: &OwnedFd, mut meanwhile: impl FnMut()) -> Result<u64, Usage> {
    let mut walk =
        Walk { bytes: 0, entries: 0, parts: 0, gone: HashMap::new(), meanwhile: &mut meanwhile };
    walk.below(root, true)?;
    for _ in 0..HUNTS {
        if walk.gone.is_empty() {
            break;
        }
        std::thread::sleep(PAUSE);
        (walk.entries, walk.parts) = (0, 0);
        walk.below(root, false)?;
    }
    Ok(walk.bytes)
}

struct Walk<'a> {
    bytes: u64,
    entries: usize,
    parts: usize,
    /// Numbers of folders that were listed and not entered, and how often they got away since.
    gone: HashMap<u64, usize>,
    meanwhile: &'a mut dyn FnMut(),
}

impl Walk<'_> {
    /// Counts what is below a folder; or only looks for folders that are gone, and counts what is
    /// in them.
    fn below(&mut self, root: &OwnedFd, is_counted: bool) -> Result<(), Usage> {
        let mut listed = [MaybeUninit::uninit(); LISTED_BYTES];
        let mut folders = vec![(Vec::new(), None)];
        while let Some((path, number)) = folders.pop() {
            self.parts += path.split(|byte| *byte == b'/').count();
            if self.parts > PARTS_MAX {
                return Err(Usage::Uncountable);
            }
            (self.meanwhile)();
            let folder = match below(root, &path) {
                Ok(Some(folder)) => folder,
                Ok(None) => {
                    if let Some(number) = number {
                        self.gone.entry(number).or_default();
                    }
                    continue;
                }
                Err(error) => return Err(Usage::unknown(error)),
            };
            let mut list = RawDir::new(&folder, &mut listed);
            while let Some(entry) = list.next() {
                let entry = match entry {
                    Ok(entry) => entry,
                    // It was removed meanwhile.
                    Err(Errno::NOENT) => break,
                    Err(error) => return Err(Usage::unknown(error)),
                };
                let (name, number, mut kind) = (entry.file_name(), entry.ino(), entry.file_type());
                if is_itself(name.to_bytes()) {
                    continue;
                }
                self.entries += 1;
                if self.entries > ENTRIES_MAX {
                    return Err(Usage::Uncountable);
                }
                if !is_counted && kind.is_dir() && self.gone.contains_key(&number) {
                    if let Some(found) = self.found(&folder, name, number)? {
                        self.below(&found, true)?;
                    }
                    continue;
                }
                if is_counted || kind == FileType::Unknown {
                    // Not of what a link leads to.
                    match rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
                        Ok(stat) => {
                            kind = FileType::from_raw_mode(stat.st_mode);
                            if is_counted {
                                self.bytes = self.bytes.saturating_add(
                                    u64::try_from(stat.st_blocks).unwrap_or(0) * 512,
                                );
                            }
                        }
                        Err(_) if kind.is_dir() => {}
                        Err(_) => continue,
                    }
                }
                if kind.is_dir() {
                    let mut child = path.clone();
                    if !child.is_empty() {
                        child.push(b'/');
                    }
                    child.extend_from_slice(name.to_bytes());
                    folders.push((child, Some(number)));
                }
            }
        }
        Ok(())
    }

    /// Enters a folder that was gone; None where it is again.
    fn found(
        &mut self,
        folder: &OwnedFd,
        name: &CStr,
        number: u64,
    ) -> Result<Option<OwnedFd>, Usage> {
        let found = match rustix::fs::openat(folder, name, FOLDER, Mode::empty()) {
            Ok(found) => {
                rustix::fs::fstat(&found).is_ok_and(|stat| stat.st_ino == number).then_some(found)
            }
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => None,
            Err(error) => return Err(Usage::unknown(error)),
        };
        if found.is_some() {
            self.gone.remove(&number);
            return Ok(found);
        }
        let misses = self.gone.entry(number).or_default();
        *misses += 1;
        if *misses < MISSES_MAX { Ok(None) } else { Err(Usage::Uncountable) }
    }
}
