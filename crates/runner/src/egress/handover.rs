//! Handover of the filter's listener to the server: over a socket, between the filter's
//! installation and exec. The host never has the listener: it would answer its own calls.

use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::net::UnixStream;

/// Room for one descriptor, in words so that it is aligned.
type Control = [u64; 4];

/// In the child: sends it. No allocation.
///
/// # Errors
/// Where it cannot be sent.
#[expect(unsafe_code, reason = "system calls without a safe wrapper")]
pub(crate) fn send(over: i32, listener: &OwnedFd) -> io::Result<()> {
    let mut byte = [0u8];
    let mut part = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
    let mut control: Control = [0; 4];
    // SAFETY: all that the message points to lives as long as the call, and the control data has
    // room for one descriptor (24 bytes).
    unsafe {
        let message = message(&mut part, &mut control);
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        if header.is_null() {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(4) as _;
        libc::CMSG_DATA(header).cast::<i32>().write_unaligned(listener.as_raw_fd());
        if libc::sendmsg(over, &raw const message, libc::MSG_NOSIGNAL) < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// In the server, once the host is started: it was sent before.
///
/// # Errors
/// Where nothing was sent.
#[expect(unsafe_code, reason = "system calls without a safe wrapper")]
pub(crate) fn receive(over: &UnixStream) -> io::Result<OwnedFd> {
    let mut byte = [0u8];
    let mut part = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
    let mut control: Control = [0; 4];
    let missing = || io::Error::other("a host did not hand over its calls");
    // SAFETY: all that the message points to lives as long as the call; a descriptor that came is
    // new, and nobody else's.
    unsafe {
        let mut message = message(&mut part, &mut control);
        if libc::recvmsg(
            over.as_raw_fd(),
            &raw mut message,
            libc::MSG_CMSG_CLOEXEC | libc::MSG_DONTWAIT,
        ) < 0
        {
            return Err(io::Error::last_os_error());
        }
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        if header.is_null()
            || (*header).cmsg_level != libc::SOL_SOCKET
            || (*header).cmsg_type != libc::SCM_RIGHTS
        {
            return Err(missing());
        }
        let fd = libc::CMSG_DATA(header).cast::<i32>().read_unaligned();
        if fd < 0 { Err(missing()) } else { Ok(OwnedFd::from_raw_fd(fd)) }
    }
}

#[expect(unsafe_code, reason = "a structure of the C library's with private parts")]
fn message(part: &mut libc::iovec, control: &mut Control) -> libc::msghdr {
    // SAFETY: all zeros are a valid, empty message.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = part;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    // What one descriptor takes (CMSG_SPACE): more would be a second header.
    message.msg_controllen = 24;
    message
}
