//! Between SQLite and its files: its own way to read and write them (a "VFS"), with a look at the
//! pages of databases.
//!
//! A file of a database, or its log, is SQLite's own, with [`Beside`] behind it in the same piece
//! of memory, and a table of methods of which seven are ours. All else goes to SQLite's methods
//! directly, which know nothing of it.

use std::ffi::{CStr, c_int, c_void};
use std::sync::OnceLock;

use rusqlite::{Connection, ffi};

use super::log::Log;
use super::no_room::full_or;
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
    log: Option<Log>,
    pages: Pages,
    /// The page that is being written, with its checksum.
    sealed: Vec<u8>,
}

impl Kept {
    /// Writes what is pending, where the file is a log.
    ///
    /// # Safety
    /// The file is open, and this stands behind it.
    #[expect(unsafe_code, reason = "SQLite's interface")]
    unsafe fn write_pending(&mut self, file: *mut ffi::sqlite3_file) -> c_int {
        // SAFETY: as above.
        self.log
            .as_mut()
            .map_or(ffi::SQLITE_OK, |log| unsafe { log.write_pending(file, &self.usual) })
    }
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
            xFileSize: Some(file_size),
            xDeviceCharacteristics: Some(characteristics),
            ..methods
        };
        let log = is_log.then(|| Log::at(CStr::from_ptr(name).to_bytes()));
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
        // Pages of a transaction that was given up: nobody reads them.
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
        let written = kept.write_pending(file);
        if written != ffi::SQLITE_OK {
            return written;
        }
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
        if let Some(log) = &mut kept.log {
            return log.write(file, &kept.usual, at, page);
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
        let written = kept.write_pending(file);
        if written != ffi::SQLITE_OK {
            return written;
        }
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
        let written = kept.write_pending(file);
        if written != ffi::SQLITE_OK {
            return written;
        }
        let code = kept.usual.xSync.map_or(ffi::SQLITE_IOERR_FSYNC, |sync| sync(file, flags));
        full_or(code, file, &kept.usual)
    }
}

#[expect(unsafe_code, reason = "called by SQLite")]
unsafe extern "C" fn file_size(file: *mut ffi::sqlite3_file, bytes: *mut i64) -> c_int {
    // SAFETY: SQLite's arguments are handed on to SQLite.
    unsafe {
        let Some(kept) = kept(file) else { return ffi::SQLITE_IOERR_FSTAT };
        let written = kept.write_pending(file);
        if written != ffi::SQLITE_OK {
            return written;
        }
        kept.usual.xFileSize.map_or(ffi::SQLITE_IOERR_FSTAT, |size| size(file, bytes))
    }
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
