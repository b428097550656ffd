//! The filter that stops a host's calls for the guard, beside those that refuse.

use std::io;
use std::os::fd::{FromRawFd as _, OwnedFd};

use seccompiler::{BpfProgram, sock_filter};

/// Stands for the descriptor over which the listener goes to the server: `install` puts it in.
const HANDOVER: u32 = 0x5eed_1d01;

/// Where the kernel puts a call's number and arguments for the filter: `struct seccomp_data`. Both
/// machines are little-endian: the low half of an argument comes first.
const NUMBER: u32 = 0;
const ARG0_LOW: u32 = 16;
const ARG4_LOW: u32 = 48;
const ARG4_HIGH: u32 = 52;

/// `connect`, `bind`, `sendmsg` and `sendmmsg` are stopped, `sendto` where it names an address.
/// Without one it is `send`, on a connection that went through the guard; it passes, as `write`
/// does, which is what Node sends on connections with. What `sendmsg` points to cannot be seen
/// here. Numbers of other machines end the process in the filters that refuse.
pub(crate) fn filter() -> BpfProgram {
    const LOAD: u16 = 0x20;
    const JUMP_IF_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    let number = |call: libc::c_long| u32::try_from(call).unwrap_or(u32::MAX);
    let line = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    vec![
        line(LOAD, 0, 0, NUMBER),
        // To the line `stop`, 12.
        line(JUMP_IF_EQUAL, 10, 0, number(libc::SYS_connect)),
        line(JUMP_IF_EQUAL, 9, 0, number(libc::SYS_bind)),
        line(JUMP_IF_EQUAL, 8, 0, number(libc::SYS_sendmmsg)),
        line(JUMP_IF_EQUAL, 1, 0, number(libc::SYS_sendmsg)),
        // To 8, else to the line `pass`, 13.
        line(JUMP_IF_EQUAL, 2, 7, number(libc::SYS_sendto)),
        // 6: sendmsg.
        line(LOAD, 0, 0, ARG0_LOW),
        line(JUMP_IF_EQUAL, 5, 4, HANDOVER),
        // 8: sendto.
        line(LOAD, 0, 0, ARG4_LOW),
        line(JUMP_IF_EQUAL, 0, 2, 0),
        line(LOAD, 0, 0, ARG4_HIGH),
        line(JUMP_IF_EQUAL, 1, 0, 0),
        line(RETURN, 0, 0, libc::SECCOMP_RET_USER_NOTIF),
        line(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
    ]
}

/// In the child: puts the filter up; gives its listener. `handover` is a descriptor that the host
/// can never have again.
///
/// # Errors
/// Where the kernel refuses it.
#[expect(unsafe_code, reason = "system calls without a safe wrapper")]
pub(crate) fn install(filter: &mut BpfProgram, handover: i32) -> io::Result<OwnedFd> {
    /// `struct sock_fprog`
    #[repr(C)]
    struct Program {
        len: u16,
        filter: *const sock_filter,
    }
    for line in filter.iter_mut().filter(|line| line.k == HANDOVER) {
        line.k = handover.cast_unsigned();
    }
    let program =
        Program { len: u16::try_from(filter.len()).unwrap_or(u16::MAX), filter: filter.as_ptr() };
    let put = |flags: libc::c_ulong| {
        // SAFETY: the program's lines live as long as the call.
        unsafe {
            libc::syscall(
                libc::SYS_seccomp,
                libc::SECCOMP_SET_MODE_FILTER,
                flags,
                &raw const program,
            )
        }
    };
    // Once the guard has a call in hand, signals other than deadly ones wait for its end: a call
    // that is interrupted is made again, and a second connect is an error. Before Linux 5.19 there
    // is no such flag; Node's own threads get no signals in the ordinary course of things.
    let mut fd =
        put(libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);
    if fd < 0 {
        fd = put(libc::SECCOMP_FILTER_FLAG_NEW_LISTENER);
    }
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it is new, and nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the filter says, by a reading of its lines of our own.
    fn says(call: libc::c_long, args: [u64; 6]) -> u32 {
        let filter = filter();
        let load = |at: u32| match at {
            0 => call as u32,
            at => (args[(at as usize - 16) / 8] >> (8 * ((at - 16) % 8))) as u32,
        };
        let (mut at, mut loaded) = (0, 0);
        loop {
            let line = &filter[at];
            at += 1;
            match line.code {
                0x20 => loaded = load(line.k),
                0x15 => at += usize::from(if loaded == line.k { line.jt } else { line.jf }),
                _ => return line.k,
            }
        }
    }

    #[test]
    fn calls_that_name_an_address_or_may_are_stopped_and_others_are_not() {
        let (stop, pass) = (libc::SECCOMP_RET_USER_NOTIF, libc::SECCOMP_RET_ALLOW);
        let handover = u64::from(HANDOVER);
        for (call, args, expected) in [
            (libc::SYS_connect, [7, 0, 0, 0, 0, 0], stop),
            (libc::SYS_sendmsg, [7, 0, 0, 0, 0, 0], stop),
            (libc::SYS_sendmmsg, [handover, 0, 0, 0, 0, 0], stop),
            (libc::SYS_connect, [handover, 0, 0, 0, 0, 0], stop),
            (libc::SYS_sendmsg, [handover, 0, 0, 0, 0, 0], pass),
            (libc::SYS_sendto, [7, 1, 1, 0, 0, 0], pass),
            (libc::SYS_sendto, [7, 1, 1, 0, 0, 16], pass),
            (libc::SYS_sendto, [7, 1, 1, 0, 1, 16], stop),
            (libc::SYS_sendto, [7, 1, 1, 0, 1 << 32, 16], stop),
            (libc::SYS_sendto, [7, 1, 1, 0, u64::MAX, 16], stop),
            (libc::SYS_write, [7, 1, 1, 0, 1, 1], pass),
            (libc::SYS_recvmsg, [7, 1, 1, 0, 1, 1], pass),
            (libc::SYS_bind, [7, 1, 1, 0, 1, 1], stop),
            (libc::SYS_getsockname, [7, 1, 1, 0, 1, 1], pass),
        ] {
            assert_eq!(says(call, args), expected, "{call} {args:?}");
        }
    }
}
