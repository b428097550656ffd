//! Writes that find no room on the disk.

use std::ffi::c_int;
use std::io::ErrorKind;

use rusqlite::ffi;

/// What a write came to, or a sync: of the one SQLite knows a full disk, and neither a quota that
/// is used up nor a file that may not be larger, which are no less in the way; of the other none of
/// them.
///
/// # Safety
/// The file is open, and the methods are its own.
#[expect(unsafe_code, reason = "SQLite's interface")]
pub(super) unsafe fn full_or(
    code: c_int,
    file: *mut ffi::sqlite3_file,
    methods: &ffi::sqlite3_io_methods,
) -> c_int {
    let (
        ffi::SQLITE_IOERR_WRITE | ffi::SQLITE_IOERR_FSYNC | ffi::SQLITE_IOERR_TRUNCATE,
        Some(control),
    ) = (code, methods.xFileControl)
    else {
        return code;
    };
    let mut errno: c_int = 0;
    // SAFETY: the room for the number lives as long as the call.
    let asked = unsafe { control(file, ffi::SQLITE_FCNTL_LAST_ERRNO, (&raw mut errno).cast()) };
    let has_no_room = matches!(
        std::io::Error::from_raw_os_error(errno).kind(),
        ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge | ErrorKind::StorageFull
    );
    if asked == ffi::SQLITE_OK && has_no_room { ffi::SQLITE_FULL } else { code }
}

#[cfg(test)]
mod tests {
    use std::ffi::c_void;

    use super::*;

    /// A file that reports one error as that of its last call.
    #[expect(unsafe_code, reason = "as SQLite calls it")]
    unsafe extern "C" fn reports<const ERRNO: c_int>(
        _: *mut ffi::sqlite3_file,
        what: c_int,
        into: *mut c_void,
    ) -> c_int {
        assert_eq!(what, ffi::SQLITE_FCNTL_LAST_ERRNO);
        // SAFETY: the caller gives room for a number.
        unsafe { into.cast::<c_int>().write(ERRNO) };
        ffi::SQLITE_OK
    }

    type Control = unsafe extern "C" fn(*mut ffi::sqlite3_file, c_int, *mut c_void) -> c_int;

    #[expect(unsafe_code, reason = "as SQLite calls it")]
    fn came_to(code: c_int, control: Control) -> c_int {
        let methods = ffi::sqlite3_io_methods {
            iVersion: 2,
            xClose: None,
            xRead: None,
            xWrite: None,
            xTruncate: None,
            xSync: None,
            xFileSize: None,
            xLock: None,
            xUnlock: None,
            xCheckReservedLock: None,
            xFileControl: Some(control),
            xSectorSize: None,
            xDeviceCharacteristics: None,
            xShmMap: None,
            xShmLock: None,
            xShmBarrier: None,
            xShmUnmap: None,
            xFetch: None,
            xUnfetch: None,
        };
        // SAFETY: the one method that is called does not look at the file.
        unsafe { full_or(code, std::ptr::null_mut(), &methods) }
    }

    #[test]
    fn a_disk_is_full_at_a_write_a_sync_and_a_cut() {
        // ENOSPC, EFBIG and EDQUOT; EIO is no lack of room.
        let without_room: [Control; 3] = [reports::<28>, reports::<27>, reports::<122>];
        for code in [ffi::SQLITE_IOERR_WRITE, ffi::SQLITE_IOERR_FSYNC, ffi::SQLITE_IOERR_TRUNCATE] {
            for control in without_room {
                assert_eq!(came_to(code, control), ffi::SQLITE_FULL);
            }
            assert_eq!(came_to(code, reports::<5>), code);
        }
        assert_eq!(came_to(ffi::SQLITE_OK, reports::<28>), ffi::SQLITE_OK);
        assert_eq!(came_to(ffi::SQLITE_IOERR_READ, reports::<28>), ffi::SQLITE_IOERR_READ);
    }
}
