//! The kernel's side: notifications, processes, descriptors.

use std::io;
use std::os::fd::{AsFd as _, AsRawFd, BorrowedFd, FromRawFd as _, OwnedFd, RawFd};

use super::Answer;

/// A call that a host waits in.
pub(super) struct Notice {
    pub(super) id: u64,
    pub(super) call: libc::c_long,
    pub(super) args: [u64; 6],
}

/// Where the kernel tells of calls.
pub(super) struct Listener(OwnedFd);

impl AsRawFd for Listener {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

impl Listener {
    #[expect(unsafe_code, reason = "a system call without a safe wrapper")]
    pub(super) fn new(fd: OwnedFd) -> Self {
        /// The host goes on at once, on this CPU: it is the only one who waits for the
        /// answer.
        const FD_SYNC_WAKE_UP: libc::c_ulong = 1;
        // SAFETY: a plain system call. Before Linux 6.6 it fails, and the host goes on a little
        // later.
        unsafe {
            libc::ioctl(fd.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SET_FLAGS, FD_SYNC_WAKE_UP)
        };
        Self(fd)
    }

    /// The next call; None where its thread went away meanwhile.
    #[expect(unsafe_code, reason = "a system call without a safe wrapper")]
    pub(super) fn receive(&self) -> Option<Notice> {
        // Larger than the structure: a newer kernel's may be, and the kernel wants zeros.
        let mut space = [0u64; 64];
        // SAFETY: the space is larger than what the kernel writes (`available` asked), aligned, and
        // all zeros are a valid notification.
        let notice = unsafe {
            if libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, space.as_mut_ptr())
                < 0
            {
                return None;
            }
            space.as_ptr().cast::<libc::seccomp_notif>().read()
        };
        Some(Notice {
            id: notice.id,
            call: libc::c_long::from(notice.data.nr),
            args: notice.data.args,
        })
    }

    /// Whether a call still waits.
    #[expect(unsafe_code, reason = "a system call without a safe wrapper")]
    pub(super) fn still(&self, id: u64) -> bool {
        // SAFETY: the number lives as long as the call.
        unsafe {
            libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ID_VALID, &raw const id) == 0
        }
    }

    /// Ends a call. Where its thread is gone, nobody hears it.
    #[expect(unsafe_code, reason = "a system call without a safe wrapper")]
    pub(super) fn answer(&self, id: u64, answer: Answer) {
        let (val, error) = match answer {
            Ok(value) => (value, 0),
            Err(errno) => (0, -errno),
        };
        let mut space = [0u64; 64];
        // SAFETY: as in `receive`.
        unsafe {
            space.as_mut_ptr().cast::<libc::seccomp_notif_resp>().write(libc::seccomp_notif_resp {
                id,
                val,
                error,
                flags: 0,
            });
            libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, space.as_mut_ptr());
        }
    }
}

/// The server's own threads go before this one, which does what strangers ask for.
#[expect(unsafe_code, reason = "a system call without a safe wrapper")]
pub(super) fn step_back() {
    const NICE: i32 = 5;
    // SAFETY: a plain system call; on Linux it is about the calling thread alone. Should it fail,
    // the thread goes on as it is.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, NICE) };
}

/// Waits until one of them is ready, or for so many milliseconds; -1: without end.
#[expect(unsafe_code, reason = "a system call without a safe wrapper")]
pub(super) fn poll(fds: &mut [libc::pollfd], timeout_ms: i32) -> io::Result<()> {
    loop {
        // SAFETY: the list lives as long as the call.
        if unsafe { libc::poll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, timeout_ms) } >= 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// A handle on a process that is not reaped.
#[expect(unsafe_code, reason = "a system call without a safe wrapper")]
pub(super) fn open_process(pid: u32) -> io::Result<OwnedFd> {
    // SAFETY: a plain system call; what it gives is new, and nobody else's.
    unsafe {
        let fd = libc::syscall(libc::SYS_pidfd_open, pid, 0);
        if fd < 0 { Err(io::Error::last_os_error()) } else { Ok(OwnedFd::from_raw_fd(fd as i32)) }
    }
}

/// A second descriptor of what a process has open under a number; else the error's number.
#[expect(unsafe_code, reason = "a system call without a safe wrapper")]
pub(super) fn take_descriptor(process: BorrowedFd<'_>, fd: i32) -> Result<OwnedFd, i32> {
    // SAFETY: as above.
    unsafe {
        let taken = libc::syscall(libc::SYS_pidfd_getfd, process.as_raw_fd(), fd, 0);
        if taken < 0 { Err(errno()) } else { Ok(OwnedFd::from_raw_fd(taken as i32)) }
    }
}

/// The number of the error of the last call.
pub(super) fn errno() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}

/// Whether this kernel, and what confines this process, let it guard others: notifications (Linux
/// 5.0) and descriptors of others (Linux 5.6).
#[expect(unsafe_code, reason = "a system call without a safe wrapper")]
pub(crate) fn available() -> bool {
    let mut sizes =
        libc::seccomp_notif_sizes { seccomp_notif: 0, seccomp_notif_resp: 0, seccomp_data: 0 };
    // SAFETY: the kernel writes the structure that it is given.
    let asked = unsafe {
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_GET_NOTIF_SIZES, 0u32, &raw mut sizes)
    };
    // Ours are 64 words.
    let fits = sizes.seccomp_notif.max(sizes.seccomp_notif_resp) <= 512;
    asked == 0
        && fits
        && open_process(std::process::id())
            .is_ok_and(|own| take_descriptor(own.as_fd(), own.as_raw_fd()).is_ok())
}
