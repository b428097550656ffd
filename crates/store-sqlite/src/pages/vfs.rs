//! Between SQLite and its files: its own way to read and write them (a "VFS"), with a look at the
//! pages of databases.
//!
//! A file of a database, or its log, is SQLite's own, with [`Beside`] behind it in the same piece
//! of memory, and a table of methods of which six are ours. All else goes to SQLite's methods
//! directly, which know nothing of it.

use std::ffi::{CStr, c_int, c_void};
use std::io::ErrorKind;
use std::sync::{Arc, OnceLock};

use rusqlite::{Connection, ffi};

use super::log::Written;
use super::{BROKEN, Broken, HEAD, Pages, is_whole, seal};

const NAME: &CStr = c"millrace";

static USUAL: OnceLock<Usual> = OnceLock::new();

/// The VFS that SQLite would use.
struct Usual(*mut ffi::sqlite3_vfs);

// SAFETY: SQLite's own VFS is made at its start, is never changed, and may be called from any
// thread.
#[expect(unsafe_code, reason = "a pointer of SQLite's")]
unsafe impl Send for Usual {}
// SAFETY: as above.
#[expect(unsafe_code, reason = "a pointer of SQLite's")]
unsafe impl Sync for Usual {}

/// The name under which SQLite knows it; none where it did not take it.
#[expect(unsafe_code, reason = "SQLite's interface")]
pub(super) fn name() -> Option<&'static CStr> {
    static TAKEN: OnceLock<bool> = OnceLock::new();
    let taken = TAKEN.get_or_init(|| {
        // SAFETY: SQLite answers with its default, or with null.
        let usual = unsafe { ffi::sqlite3_vfs_find(std::ptr::null()) };
        // SAFETY: it is not null, and stays for ever.
        let Some(found) = (unsafe { usual.as_ref() }) else { return false };
        let mut own = *found;
        own.iVersion = own.iVersion.min(2);
        let Ok(bytes) = c_int::try_from(behind(found) + size_of::<Beside>()) else { return false };
        own.szOsFile = bytes;
        own.pNext = std::ptr::null_mut();
        own.zName = NAME.as_ptr();
        own.xOpen = Some(open);
        let _ = USUAL.set(Usual(usual));
        // SAFETY: SQLite keeps the pointer, to what is never freed.
        unsafe { ffi::sqlite3_vfs_register(Box::leak(Box::new(own)), 0) == ffi::SQLITE_OK }
    });
    taken.then_some(NAME)
}

/// Asks for the room of a checksum in each page of a database that this connection makes.
#[expect(unsafe_code, reason = "SQLite's interface")]
pub(super) fn reserve(connection: &Connection) {
    let mut bytes = super::SUM as c_int;
    // SAFETY: the connection is open, and the number lives as long as the call. Where there is no
    // database yet, none is harmed.
    unsafe {
        ffi::sqlite3_file_control(
            connection.handle(),
            c"main".as_ptr(),
            ffi::SQLITE_FCNTL_RESERVE_BYTES,
            (&raw mut bytes).cast(),
        )
    };
}

/// What stands behind a file of a database.
struct Beside {
    /// SQLite's methods with ours among them: SQLite reads this at any time.
    methods: ffi::sqlite3_io_methods,
    kept: Kept,
}

/// What we keep with it.
struct Kept {
    usual: ffi::sqlite3_io_methods,
    /// What was written to it, where it is a log.
    log: Option<Arc<Written>>,
    pages: Pages,
    /// The page that is being written, with its checksum.
    sealed: Vec<u8>,
}

/// Where it stands, counted from the file of the usual VFS.
fn behind(usual: &ffi::sqlite3_vfs) -> usize {
    usize::try_from(usual.szOsFile).unwrap_or(0).next_multiple_of(align_of::<Beside>())
}

/// # Safety
/// The file is one of our VFS: it has room for what stands behind it, and SQLite aligns such memory
/// to eight bytes.
#[expect(unsafe_code, reason = "SQLite's interface")]
unsafe fn beside(file: *mut ffi::sqlite3_file) -> Option<*mut Beside> {
    // SAFETY: SQLite's VFS stays for ever.
    unsafe { USUAL.get().map(|usual| file.cast::<u8>().add(behind(&*usual.0)).cast()) }
}

/// # Safety
/// The file was opened by [`open`] as one of a database or a log, and nobody else uses it now: a
/// connection is used by one thread at a time.
#[expect(unsafe_code, reason = "SQLite's interface")]
unsafe fn kept<'a>(file: *mut ffi::sqlite3_file) -> Option<&'a mut Kept> {
    // SAFETY: as above.
    unsafe { beside(file).map(|beside| &mut (*beside).kept) }
}

#[expect(unsafe_code, reason = "called by SQLite")]
unsafe extern "C" fn open(
    _: *mut ffi::sqlite3_vfs,
    name: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    let Some(usual) = USUAL.get() else { return ffi::SQLITE_CANTOPEN };
    // SAFETY: SQLite's arguments are handed on to SQLite.
    unsafe {
        let Some(open) = (*usual.0).xOpen else { return ffi::SQLITE_CANTOPEN };
        let code = open(usual.0, name, file, flags, out);
        if code != ffi::SQLITE_OK || flags & (ffi::SQLITE_OPEN_MAIN_DB | ffi::SQLITE_OPEN_WAL) == 0
        {
            return code;
        }
        let is_log = flags & ffi::SQLITE_OPEN_WAL != 0 && !name.is_null();
        let methods = *(*file).pMethods;
        let own = ffi::sqlite3_io_methods {
            // The third version is for files that are mapped, which are not read page by page.
            iVersion: methods.iVersion.min(2),
            xClose: Some(close),
            xRead: Some(read),
            xWrite: Some(write),
            xTruncate: Some(truncate),
            xSync: Some(sync),
            xDeviceCharacteristics: Some(characteristics),
            ..methods
        };
        let log = is_log.then(|| Written::to(CStr::from_ptr(name).to_bytes()));
        let pages = if is_log { Pages::Plain } else { first_look(file, &methods) };
        let Some(place) = beside(file) else { return ffi::SQLITE_CANTOPEN };
        place.write(Beside {
            methods: own,
            kept: Kept { usual: methods, log, pages, sealed: Vec::new() },
        });
        (*file).pMethods = &raw const (*place).methods;
    }
    ffi::SQLITE_OK
}

/// # Safety
/// The file is open, and the methods are its own.
#[expect(unsafe_code, reason = "SQLite's interface")]
unsafe fn first_look(file: *mut ffi::sqlite3_file, methods: &ffi::sqlite3_io_methods) -> Pages {
    let (mut head, mut bytes) = ([0_u8; HEAD], 0_i64);
    // SAFETY: the room for what is read lives as long as the calls, and is as long as they are
    // told.
    let code = unsafe {
        if let Some(size) = methods.xFileSize {
            size(file, &raw mut bytes);
        }
        methods.xRead.map_or(ffi::SQLITE_IOERR_READ, |read| {
            read(file, head.as_mut_ptr().cast(), HEAD as c_int, 0)
        })
    };
    match code {
        ffi::SQLITE_OK => Pages::of(&head),
        _ if bytes == 0 => Pages::Unwritten,
        _ => Pages::Plain,
    }
}

#[expect(unsafe_code, reason = "called by SQLite")]
unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: SQLite closes a file once. What is beside it is not looked at afterwards.
    unsafe {
        let Some(beside) = beside(file) else { return ffi::SQLITE_IOERR_CLOSE };
        let close = (*beside).kept.usual.xClose;
        beside.drop_in_place();
        close.map_or(ffi::SQLITE_IOERR_CLOSE, |close| close(file))
    }
}

#[expect(unsafe_code, reason = "called by SQLite")]
unsafe extern "C" fn read(
    file: *mut ffi::sqlite3_file,
    into: *mut c_void,
    amount: c_int,
    at: i64,
) -> c_int {
    // SAFETY: SQLite gives as much room as it says, and has it filled where the usual method says
    // so.
    unsafe {
        let Some(kept) = kept(file) else { return ffi::SQLITE_IOERR_READ };
        let code =
            kept.usual.xRead.map_or(ffi::SQLITE_IOERR_READ, |read| read(file, into, amount, at));
        let length = usize::try_from(amount).unwrap_or(0);
        if code == ffi::SQLITE_IOERR_SHORT_READ
            && kept.log.is_none()
            && let Some(number) = kept.pages.missing(at.cast_unsigned(), length)
        {
            // SQLite would go on with zeros in its place.
            BROKEN.set(Some(Broken::Missing(number)));
            return ffi::SQLITE_IOERR_DATA;
        }
        if code != ffi::SQLITE_OK {
            return code;
        }
        let page = std::slice::from_raw_parts(into.cast::<u8>(), length);
        if let Some(log) = &kept.log {
            let Some(frame) = log.broken(at.cast_unsigned(), page) else { return code };
            BROKEN.set(Some(Broken::Frame(frame)));
            return ffi::SQLITE_IOERR_DATA;
        }
        if kept.pages == Pages::Unwritten && at == 0 && page.len() >= HEAD {
            kept.pages = Pages::of(&page[..HEAD]);
        }
        match kept.pages.number(at.cast_unsigned(), page.len()) {
            Some(number) if !is_whole(page, number) => ffi::SQLITE_IOERR_DATA,
            _ => code,
        }
    }
}

#[expect(unsafe_code, reason = "called by SQLite")]
unsafe extern "C" fn write(
    file: *mut ffi::sqlite3_file,
    from: *const c_void,
    amount: c_int,
    at: i64,
) -> c_int {
    // SAFETY: SQLite gives as many bytes as it says.
    unsafe {
        let Some(kept) = kept(file) else { return ffi::SQLITE_IOERR_WRITE };
        let Some(write) = kept.usual.xWrite else { return ffi::SQLITE_IOERR_WRITE };
        let page =
            std::slice::from_raw_parts(from.cast::<u8>(), usize::try_from(amount).unwrap_or(0));
        if let Some(log) = &kept.log {
            log.write(at.cast_unsigned(), page);
            return full_or(write(file, from, amount, at), file, &kept.usual);
        }
        if at == 0 && page.len() >= HEAD {
            let says = Pages::of(&page[..HEAD]);
            // Other pages may have been written before the first. Where they had no room for
            // checksums, they have lost what was there.
            if kept.pages == Pages::Unwritten && says == Pages::Plain {
                return ffi::SQLITE_IOERR_WRITE;
            }
            kept.pages = says;
        }
        match kept.pages.number(at.cast_unsigned(), page.len()) {
            Some(number) => {
                seal(page, number, &mut kept.sealed);
                full_or(write(file, kept.sealed.as_ptr().cast(), amount, at), file, &kept.usual)
            }
            None => full_or(write(file, from, amount, at), file, &kept.usual),
        }
    }
}

#[expect(unsafe_code, reason = "called by SQLite")]
unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, bytes: i64) -> c_int {
    // SAFETY: SQLite's arguments are handed on to SQLite.
    unsafe {
        let Some(kept) = kept(file) else { return ffi::SQLITE_IOERR_TRUNCATE };
        let code = kept
            .usual
            .xTruncate
            .map_or(ffi::SQLITE_IOERR_TRUNCATE, |truncate| truncate(file, bytes));
        full_or(code, file, &kept.usual)
    }
}

/// Some file systems find room only when what was written goes to the disk.
#[expect(unsafe_code, reason = "called by SQLite")]
unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, flags: c_int) -> c_int {
    // SAFETY: SQLite's arguments are handed on to SQLite.
    unsafe {
        let Some(kept) = kept(file) else { return ffi::SQLITE_IOERR_FSYNC };
        let code = kept.usual.xSync.map_or(ffi::SQLITE_IOERR_FSYNC, |sync| sync(file, flags));
        full_or(code, file, &kept.usual)
    }
}

/// What a write came to, or a sync: of the one SQLite knows a full disk, and neither a quota that
/// is used up nor a file that may not be larger, which are no less in the way; of the other none of
/// them.
///
/// # Safety
/// The file is open, and the methods are its own.
#[expect(unsafe_code, reason = "SQLite's interface")]
unsafe fn full_or(
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
    let told = unsafe { control(file, ffi::SQLITE_FCNTL_LAST_ERRNO, (&raw mut errno).cast()) };
    let has_no_room = matches!(
        std::io::Error::from_raw_os_error(errno).kind(),
        ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge | ErrorKind::StorageFull
    );
    if told == ffi::SQLITE_OK && has_no_room { ffi::SQLITE_FULL } else { code }
}

/// As the usual, but that whole pages are to be read: SQLite reads parts of large values alone
/// where it may, which no checksum is of.
#[expect(unsafe_code, reason = "called by SQLite")]
unsafe extern "C" fn characteristics(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: the file is handed on to SQLite.
    unsafe {
        let usual = kept(file).and_then(|kept| kept.usual.xDeviceCharacteristics);
        usual.map_or(0, |usual| usual(file)) & !ffi::SQLITE_IOCAP_SUBPAGE_READ
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file that tells of one error as that of its last call.
    #[expect(unsafe_code, reason = "as SQLite calls it")]
    unsafe extern "C" fn told<const ERRNO: c_int>(
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
        let without_room: [Control; 3] = [told::<28>, told::<27>, told::<122>];
        for code in [ffi::SQLITE_IOERR_WRITE, ffi::SQLITE_IOERR_FSYNC, ffi::SQLITE_IOERR_TRUNCATE] {
            for control in without_room {
                assert_eq!(came_to(code, control), ffi::SQLITE_FULL);
            }
            assert_eq!(came_to(code, told::<5>), code);
        }
        assert_eq!(came_to(ffi::SQLITE_OK, told::<28>), ffi::SQLITE_OK);
        assert_eq!(came_to(ffi::SQLITE_IOERR_READ, told::<28>), ffi::SQLITE_IOERR_READ);
    }
}
