//! Watches of epoll. The kernel counts them for all processes of a user together
//! (`fs.epoll.max_user_watches`): where one process has all of them, the server can take no
//! connection any more.

use std::fs::File;
use std::io::{BufRead as _, BufReader};

/// How many a process has, in all of its epolls; once there are more than `max`, no further ones
/// are looked for. One file can be watched under many numbers, so that neither epolls nor
/// descriptors tell how many there are.
pub fn of(pid: u32, max: usize) -> usize {
    let (mut count, mut line) = (0, Vec::new());
    for entry in std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten() {
        if !std::fs::read_link(entry.path())
            .is_ok_and(|leads| leads.as_os_str() == "anon_inode:[eventpoll]")
        {
            continue;
        }
        let Ok(info) = File::open(format!("/proc/{pid}/fdinfo/{}", entry.file_name().display()))
        else {
            continue;
        };
        let mut info = BufReader::new(info);
        while count <= max && info.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
            count += usize::from(line.starts_with(b"tfd:"));
            line.clear();
        }
        if count > max {
            break;
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd as _;

    #[test]
    #[expect(unsafe_code, reason = "system calls without a safe wrapper")]
    fn one_file_under_many_numbers_is_many_watches() {
        let pid = std::process::id();
        let (file, _other) = std::os::unix::net::UnixStream::pair().expect("a pair");
        // SAFETY: plain system calls on descriptors of its own.
        let epoll = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        for n in 0..20 {
            let mut event = libc::epoll_event { events: 1, u64: 0 };
            // SAFETY: as above; the event lives as long as the call.
            unsafe {
                let number = libc::fcntl(file.as_raw_fd(), libc::F_DUPFD_CLOEXEC, 500 + n);
                assert_eq!(libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, number, &raw mut event), 0);
                libc::close(number);
            }
        }
        assert!(super::of(pid, 100) >= 20);
        assert_eq!(super::of(pid, 10), 11);
        // SAFETY: it is its own.
        unsafe { libc::close(epoll) };
    }
}
