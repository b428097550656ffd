//! A host's socket in the server's hands, and the calls that are made on it in the host's place.

use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Answer;
use super::abi::errno;

/// The longest datagram. Of what is longer on a connection, so much is sent at once.
pub(super) const PAYLOAD_MAX: usize = 65_535;
/// Of what the server may open, this part may be connections that hosts wait for.
const SHARE: u64 = 16;
/// Flags of a message that change neither where it goes nor when.
const FLAGS_OPEN: i32 = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL | libc::MSG_CONFIRM;

/// A socket.
pub(super) struct Socket {
    fd: OwnedFd,
    domain: i32,
    kind: i32,
}

impl AsRawFd for Socket {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

/// A descriptor of the server's that a waiting connection holds. All hosts together have a part of
/// what the server may open; the first of a host does not count, so that none is kept from its
/// resolver by others.
pub(super) struct Place(bool);

/// Connections that wait, of all hosts, but the first of each.
static WAITING: AtomicU64 = AtomicU64::new(0);

impl Place {
    pub(super) fn first() -> Self {
        Self(false)
    }

    /// None: as many wait as may.
    pub(super) fn another() -> Option<Self> {
        static MAX: OnceLock<u64> = OnceLock::new();
        Self::within(*MAX.get_or_init(|| {
            millrace_walls::limits::hard_limit(libc::RLIMIT_NOFILE).unwrap_or(0) / SHARE
        }))
    }

    fn within(max: u64) -> Option<Self> {
        let taken = WAITING.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |now| {
            (now < max).then_some(now + 1)
        });
        taken.is_ok().then(|| Self(true))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.0 {
            WAITING.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// A connection that a host waits for: its socket blocks.
pub(super) struct Waiting {
    pub(super) id: u64,
    socket: Socket,
    _place: Place,
}

impl AsRawFd for Waiting {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

impl Waiting {
    /// It is connected, or it failed.
    pub(super) fn end(self) -> Answer {
        match self.socket.option(libc::SOL_SOCKET, libc::SO_ERROR)? {
            0 => Ok(0),
            errno => Err(errno),
        }
    }
}

impl Socket {
    /// # Errors
    /// `ENOTSOCK` where it is none.
    pub(super) fn of(fd: OwnedFd) -> Result<Self, i32> {
        let mut socket = Self { fd, domain: 0, kind: 0 };
        socket.domain = socket.option(libc::SOL_SOCKET, libc::SO_DOMAIN)?;
        socket.kind = socket.option(libc::SOL_SOCKET, libc::SO_TYPE)?;
        Ok(socket)
    }

    pub(super) fn is_inet(&self) -> bool {
        matches!(self.domain, libc::AF_INET | libc::AF_INET6)
    }

    pub(super) fn is_stream(&self) -> bool {
        self.kind == libc::SOCK_STREAM
    }

    /// Whether it speaks with the kernel about addresses and routes.
    pub(super) fn is_routing(&self) -> bool {
        self.domain == libc::AF_NETLINK
            && self.option(libc::SOL_SOCKET, libc::SO_PROTOCOL) == Ok(libc::NETLINK_ROUTE)
    }

    /// Whether a connect would wait for the other side's answer: on streams that block. Node's do
    /// not; those of the C library's resolver do.
    pub(super) fn would_wait(&self) -> bool {
        self.is_stream() && self.flags() & libc::O_NONBLOCK == 0
    }

    /// Without waiting, also on a socket that blocks: `EINPROGRESS` then. None ends an association.
    ///
    /// Whether a socket blocks is a flag that the host can change at any moment, and a guard that
    /// waits would outlive it. How long a connect waits (`SO_SNDTIMEO`) is for us alone to say:
    /// hosts are refused that option.
    pub(super) fn connect(&self, to: Option<SocketAddr>) -> Answer {
        /// The kernel makes it one tick of its clock, at most 10 ms.
        const AT_ONCE: libc::timeval = libc::timeval { tv_sec: 0, tv_usec: 1 };
        /// As all sockets are at first.
        const NEVER: libc::timeval = libc::timeval { tv_sec: 0, tv_usec: 0 };
        if !self.is_stream() {
            return self.connect_waiting(to);
        }
        self.give_up_sending(AT_ONCE)?;
        let done = self.connect_waiting(to);
        self.give_up_sending(NEVER)?;
        done
    }

    /// After how long calls that send or connect end without success.
    #[expect(unsafe_code, reason = "a system call without a safe wrapper")]
    fn give_up_sending(&self, after: libc::timeval) -> Result<(), i32> {
        let len = size_of::<libc::timeval>() as u32;
        // SAFETY: the value lives as long as the call, and has the length that is said.
        let set = unsafe {
            libc::setsockopt(
                self.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_SNDTIMEO,
                (&raw const after).cast(),
                len,
            )
        };
        if set == 0 { Ok(()) } else { Err(errno()) }
    }

    #[expect(unsafe_code, reason = "a system call without a safe wrapper")]
    fn connect_waiting(&self, to: Option<SocketAddr>) -> Answer {
        let to = Raw::of(to);
        // SAFETY: the address lives as long as the call.
        let done = unsafe { libc::connect(self.as_raw_fd(), to.storage.as_ptr().cast(), to.len) };
        if done == 0 { Ok(0) } else { Err(errno()) }
    }

    /// Gives it an address of this machine.
    #[expect(unsafe_code, reason = "a system call without a safe wrapper")]
    pub(super) fn bind(&self, at: SocketAddr) -> Answer {
        let at = Raw::of(Some(at));
        // SAFETY: the address lives as long as the call.
        let done = unsafe { libc::bind(self.as_raw_fd(), at.storage.as_ptr().cast(), at.len) };
        if done == 0 { Ok(0) } else { Err(errno()) }
    }

    /// Gives a socket that speaks about addresses and routes a name of the kernel's choice.
    #[expect(unsafe_code, reason = "a system call without a safe wrapper")]
    pub(super) fn bind_routing(&self) -> Answer {
        // SAFETY: all zeros are such a name; it lives as long as the call.
        let done = unsafe {
            let mut any: libc::sockaddr_nl = std::mem::zeroed();
            any.nl_family = libc::AF_NETLINK as u16;
            libc::bind(
                self.as_raw_fd(),
                (&raw const any).cast(),
                size_of::<libc::sockaddr_nl>() as u32,
            )
        };
        if done == 0 { Ok(0) } else { Err(errno()) }
    }

    /// Connects without waiting; an end at once is given as error.
    pub(super) fn begin(
        self,
        to: Option<SocketAddr>,
        id: u64,
        place: Place,
    ) -> Result<Waiting, Answer> {
        match self.connect(to) {
            Err(libc::EINPROGRESS) => Ok(Waiting { id, socket: self, _place: place }),
            done => Err(done),
        }
    }

    /// Sends, without waiting.
    #[expect(unsafe_code, reason = "a system call without a safe wrapper")]
    pub(super) fn send(&self, bytes: &[u8], flags: i32, to: Option<SocketAddr>) -> Answer {
        if flags & !FLAGS_OPEN != 0 {
            return Err(libc::EOPNOTSUPP);
        }
        let bytes = if self.is_stream() { &bytes[..bytes.len().min(PAYLOAD_MAX)] } else { bytes };
        let raw = to.map(|to| Raw::of(Some(to)));
        let (address, len) = raw
            .as_ref()
            .map_or((std::ptr::null(), 0), |raw| (raw.storage.as_ptr().cast(), raw.len));
        // A broken connection would be a signal to the server.
        let flags = flags | libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
        // SAFETY: message and address live as long as the call.
        let sent = unsafe {
            libc::sendto(self.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), flags, address, len)
        };
        if sent >= 0 { Ok(sent as i64) } else { Err(errno()) }
    }

    /// Sends the kernel one question about addresses and routes; nothing that changes them.
    #[expect(unsafe_code, reason = "a system call without a safe wrapper")]
    pub(super) fn ask_routes(&self, bytes: &[u8]) -> Answer {
        /// `struct nlmsghdr`
        const HEADER_BYTES: usize = 16;
        let Some(header) = bytes.get(..HEADER_BYTES) else { return Err(libc::EINVAL) };
        let len = u32::from_ne_bytes([header[0], header[1], header[2], header[3]]);
        let kind = u16::from_ne_bytes([header[4], header[5]]);
        // Of each four kinds (new, delete, get, set) the third asks. The first kinds are for
        // control.
        if len as usize != bytes.len() || kind < 16 || kind % 4 != 2 {
            return Err(libc::EACCES);
        }
        // SAFETY: all zeros are the kernel's address; it lives as long as the call, as does the
        // message.
        let sent = unsafe {
            let mut kernel: libc::sockaddr_nl = std::mem::zeroed();
            kernel.nl_family = libc::AF_NETLINK as u16;
            let size = size_of::<libc::sockaddr_nl>() as u32;
            libc::sendto(
                self.as_raw_fd(),
                bytes.as_ptr().cast(),
                bytes.len(),
                libc::MSG_NOSIGNAL,
                (&raw const kernel).cast(),
                size,
            )
        };
        if sent >= 0 { Ok(sent as i64) } else { Err(errno()) }
    }

    #[expect(unsafe_code, reason = "a system call without a safe wrapper")]
    fn flags(&self) -> i32 {
        // SAFETY: a plain system call. On a socket of ours it does not fail.
        unsafe { libc::fcntl(self.as_raw_fd(), libc::F_GETFL) }
    }

    #[expect(unsafe_code, reason = "a system call without a safe wrapper")]
    fn option(&self, level: i32, name: i32) -> Result<i32, i32> {
        let (mut value, mut len) = (0i32, size_of::<i32>() as u32);
        // SAFETY: the value lives as long as the call, and has the length that is said.
        let got = unsafe {
            libc::getsockopt(self.as_raw_fd(), level, name, (&raw mut value).cast(), &raw mut len)
        };
        if got == 0 { Ok(value) } else { Err(errno()) }
    }
}

/// An address as the kernel takes it, made anew from the one that was decided on.
pub(super) struct Raw {
    storage: [u32; 7],
    len: u32,
}

impl Raw {
    /// None: `AF_UNSPEC`.
    pub(super) fn of(address: Option<SocketAddr>) -> Self {
        let mut bytes = [0u8; 28];
        let mut put = |at: usize, part: &[u8]| bytes[at..at + part.len()].copy_from_slice(part);
        let len = match address {
            None => 16,
            Some(SocketAddr::V4(v4)) => {
                put(0, &(libc::AF_INET as u16).to_ne_bytes());
                put(2, &v4.port().to_be_bytes());
                put(4, &v4.ip().octets());
                16
            }
            Some(SocketAddr::V6(v6)) => {
                put(0, &(libc::AF_INET6 as u16).to_ne_bytes());
                put(2, &v6.port().to_be_bytes());
                put(4, &v6.flowinfo().to_ne_bytes());
                put(8, &v6.ip().octets());
                put(24, &v6.scope_id().to_ne_bytes());
                28
            }
        };
        let storage =
            std::array::from_fn(|n| u32::from_ne_bytes(std::array::from_fn(|i| bytes[4 * n + i])));
        Self { storage, len }
    }

    #[cfg(test)]
    #[expect(unsafe_code, reason = "words as bytes")]
    pub(super) fn bytes(&self) -> &[u8] {
        // SAFETY: all bytes of the words are initialized, and `len` is at most their number.
        unsafe { std::slice::from_raw_parts(self.storage.as_ptr().cast(), self.len as usize) }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener};
    use std::os::fd::FromRawFd as _;

    use super::*;

    #[expect(unsafe_code, reason = "the standard library connects what it makes")]
    fn blocking() -> Socket {
        // SAFETY: a plain system call; what it gives is new, and nobody else's.
        let fd = unsafe {
            OwnedFd::from_raw_fd(libc::socket(
                libc::AF_INET,
                libc::SOCK_STREAM | libc::SOCK_CLOEXEC,
                0,
            ))
        };
        Socket::of(fd).expect("a socket")
    }

    impl Socket {
        #[expect(unsafe_code, reason = "a system call without a safe wrapper")]
        fn sending_ends_after(&self) -> (i64, i64) {
            let (mut after, mut len) =
                (libc::timeval { tv_sec: 1, tv_usec: 1 }, size_of::<libc::timeval>() as u32);
            // SAFETY: the value lives as long as the call, and has the length that is said.
            unsafe {
                libc::getsockopt(
                    self.as_raw_fd(),
                    libc::SOL_SOCKET,
                    libc::SO_SNDTIMEO,
                    (&raw mut after).cast(),
                    &raw mut len,
                )
            };
            (after.tv_sec, after.tv_usec)
        }
    }

    fn ended(socket: Socket, to: SocketAddr) -> (Answer, bool) {
        let again = Socket::of(socket.fd.try_clone().expect("a copy")).expect("a socket");
        let answer = match socket.begin(Some(to), 1, Place::first()) {
            Ok(waiting) => {
                let mut ready =
                    [libc::pollfd { fd: waiting.as_raw_fd(), events: libc::POLLOUT, revents: 0 }];
                super::super::abi::poll(&mut ready, 10_000).expect("polls");
                waiting.end()
            }
            Err(answer) => answer,
        };
        (answer, again.would_wait())
    }

    #[test]
    fn a_socket_that_blocks_is_connected_and_goes_on_to_block() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let to = listener.local_addr().expect("an address");
        assert_eq!(ended(blocking(), to), (Ok(0), true));
        drop(listener);
        assert_eq!(ended(blocking(), to), (Err(libc::ECONNREFUSED), true));
    }

    /// Whatever its host does to its flags meanwhile: this one blocks all the time.
    #[test]
    #[expect(unsafe_code, reason = "the standard library does not say how many may wait")]
    fn a_connect_that_nobody_answers_does_not_wait() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let to = listener.local_addr().expect("an address");
        // SAFETY: a plain system call. Once one waits to be taken, the kernel answers no more.
        assert_eq!(unsafe { libc::listen(listener.as_raw_fd(), 0) }, 0);
        let sockets: [Socket; 8] = std::array::from_fn(|_| blocking());
        let answers = sockets.each_ref().map(|socket| socket.connect(Some(to)));
        assert_eq!((answers[0], answers[7]), (Ok(0), Err(libc::EINPROGRESS)));
        assert!(sockets.iter().all(Socket::would_wait));
        assert!(
            sockets.iter().all(|socket| socket.sending_ends_after() == (0, 0)),
            "the host's own calls would end early"
        );
    }

    #[test]
    fn places_have_a_bound_and_are_given_back() {
        let held = [
            Place::first(),
            Place::within(2).expect("a place"),
            Place::within(2).expect("a place"),
        ];
        assert!(Place::within(2).is_none());
        drop(held);
        assert!(Place::within(1).is_some());
    }
}
