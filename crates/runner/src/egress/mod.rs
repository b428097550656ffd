//! The egress guard: what a host sends to an address goes through the server, by seccomp user
//! notification.
//!
//! The kernel stops a host's `connect`, `bind`, `sendmsg`, `sendmmsg`, and its `sendto` with an
//! address, and asks the guard. The guard copies what the call points to, decides on the copy, and
//! makes the call itself, on the very socket: what other threads of the host change meanwhile, in
//! its memory or among its descriptors, makes no difference. No call is ever let go on
//! (`SECCOMP_USER_NOTIF_FLAG_CONTINUE`), for then the kernel would read the host's memory a second
//! time. What cannot be done here is refused, and so is all once the guard is gone.
//!
//! Each host has a guard, a thread of its own: one that is kept busy or is made to wait is its
//! host's own affair.

mod abi;
mod calls;
mod filter;
mod handover;
mod socket;

use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use millrace_model::egress::{Refusal, Shared};

pub(crate) use self::abi::available;
pub(crate) use self::filter::{filter, install};
pub(crate) use self::handover::{receive, send};

use self::abi::{Listener, Notice};
use self::socket::{Place, Waiting};

/// Names are looked up and services are called: the thread needs little.
const STACK_BYTES: usize = 256 << 10;
/// Calls of a host that may wait for a connection at once: only those on sockets that block are
/// waited for here. Each holds a thread of the host.
const WAITING_MAX: usize = 64;
/// How often it is looked whether those who wait are still there, milliseconds.
const LOOK_MS: i32 = 1000;

/// Is told what a host does, in the guard's thread.
pub(crate) trait Watch: Send + Sync {
    /// A connection or datagram was refused.
    fn refused(&self, refusal: &Refusal);

    /// The host is about to send something for the first time. Whether it may.
    fn leaves(&self) -> bool;
}

/// Who is told; set once the host is known.
pub(crate) type Told = Arc<OnceLock<Box<dyn Watch>>>;

/// What the kernel is answered: the call's value, or an error's number.
type Answer = Result<i64, i32>;

/// Guards a host until its process is gone.
///
/// # Errors
/// Where the process cannot be looked into: it is gone, or another wall of the system forbids it.
pub(crate) fn guard(listener: OwnedFd, pid: u32, policy: Shared) -> io::Result<Told> {
    let told = Told::default();
    let guard = Guard {
        listener: Listener::new(listener),
        process: abi::open_process(pid)?,
        // It leads to this memory, also should the number be another process's one day.
        memory: open_memory(pid)?,
        policy,
        told: told.clone(),
        has_left: false,
        waiting: Vec::new(),
    };
    std::thread::Builder::new()
        .name("egress".into())
        .stack_size(STACK_BYTES)
        .spawn(move || guard.run())?;
    Ok(told)
}

/// The memory of a process that is in the middle of exec. The kernel closes descriptors, which
/// tells us that exec is done, a moment before it lets others of the same user look into the
/// process: until then it is refused.
fn open_memory(pid: u32) -> io::Result<File> {
    const TRIES: u32 = 500;
    const PAUSE: Duration = Duration::from_millis(1);
    let open = || File::options().read(true).write(true).open(format!("/proc/{pid}/mem"));
    for _ in 0..TRIES {
        match open() {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                std::thread::sleep(PAUSE)
            }
            opened => return opened,
        }
    }
    open()
}

struct Guard {
    listener: Listener,
    process: OwnedFd,
    memory: File,
    policy: Shared,
    told: Told,
    /// Whether it sent anything before.
    has_left: bool,
    waiting: Vec<Waiting>,
}

impl Guard {
    fn run(mut self) {
        abi::step_back();
        loop {
            let mut ready = vec![libc::pollfd {
                fd: self.listener.as_raw_fd(),
                events: libc::POLLIN,
                revents: 0,
            }];
            ready.extend(self.waiting.iter().map(|w| libc::pollfd {
                fd: w.as_raw_fd(),
                events: libc::POLLOUT,
                revents: 0,
            }));
            if let Err(error) =
                abi::poll(&mut ready, if self.waiting.is_empty() { -1 } else { LOOK_MS })
            {
                // Whoever waits gets an error once the listener is closed.
                tracing::error!(error = %error, "an egress guard ended; its host reaches nothing more");
                return;
            }
            for index in (0..self.waiting.len()).rev() {
                if !self.listener.still(self.waiting[index].id) {
                    self.waiting.swap_remove(index);
                } else if ready[index + 1].revents != 0 {
                    let done = self.waiting.swap_remove(index);
                    let id = done.id;
                    self.listener.answer(id, done.end());
                }
            }
            let events = ready[0].revents;
            if events & libc::POLLIN != 0 {
                if let Some(notice) = self.listener.receive()
                    && let Some(answer) = self.call(&notice)
                {
                    self.listener.answer(notice.id, answer);
                }
            } else if events != 0 {
                // The process is gone.
                return;
            }
        }
    }

    /// Its answer; None: it comes later, or is not waited for any more.
    fn call(&mut self, notice: &Notice) -> Option<Answer> {
        let args = &notice.args;
        let fd = args[0] as i32;
        match notice.call {
            libc::SYS_connect => {
                let to = match calls::address(&self.memory, args[1], args[2] as u32) {
                    Ok(to) => to,
                    Err(errno) => return Some(Err(errno)),
                };
                self.connect(notice.id, fd, to)
            }
            libc::SYS_bind => {
                let to = calls::address(&self.memory, args[1], args[2] as u32);
                Some(to.and_then(|to| self.bind(notice.id, fd, to)))
            }
            libc::SYS_sendto => {
                let message = calls::sendto(&self.memory, args);
                Some(message.and_then(|m| self.send(notice.id, fd, &m, args[3] as i32)))
            }
            libc::SYS_sendmsg => {
                let message = calls::message(&self.memory, args[1]);
                Some(message.and_then(|m| self.send(notice.id, fd, &m, args[2] as i32)))
            }
            libc::SYS_sendmmsg => Some(self.send_many(notice.id, fd, args)),
            _ => Some(Err(libc::ENOSYS)),
        }
    }

    fn connect(&mut self, id: u64, fd: i32, to: calls::Address) -> Option<Answer> {
        let socket = match self.socket(id, fd) {
            Ok(socket) => socket,
            Err(errno) => return Some(Err(errno)),
        };
        let to = match to {
            calls::Address::Inet(to) => {
                // The C library connects sockets for datagrams to sort addresses, on port 0:
                // nothing is sent, and nobody needs to know.
                let only_sorts = to.port() == 0;
                if let Err(refusal) = self.policy.get().decide(to) {
                    if !only_sorts {
                        self.report(&refusal);
                    }
                    return Some(Err(libc::EACCES));
                }
                if !only_sorts && !self.may_leave() {
                    return Some(Err(libc::ECONNABORTED));
                }
                Some(to)
            }
            // Ends an association; leads nowhere.
            calls::Address::None => None,
            calls::Address::Routing | calls::Address::Other => return Some(Err(libc::EACCES)),
        };
        if !socket.is_inet() {
            return Some(Err(libc::EACCES));
        }
        if !socket.would_wait() {
            return Some(socket.connect(to));
        }
        let place = match self.waiting.len() {
            0 => Some(Place::first()),
            waiting if waiting < WAITING_MAX => Place::another(),
            _ => None,
        };
        let Some(place) = place else { return Some(Err(libc::EAGAIN)) };
        match socket.begin(to, id, place) {
            Ok(waiting) => {
                self.waiting.push(waiting);
                None
            }
            Err(done) => Some(done),
        }
    }

    /// Datagrams need a port to be answered on: one of the kernel's choice, on all addresses, is
    /// given. One that is chosen could be a service's that others of this machine or its network
    /// send to, and TCP needs none to connect (Landlock says the same, from Linux 6.7 on).
    fn bind(&self, id: u64, fd: i32, at: calls::Address) -> Answer {
        let socket = self.socket(id, fd)?;
        match at {
            calls::Address::Inet(at)
                if socket.is_inet()
                    && !socket.is_stream()
                    && at.port() == 0
                    && at.ip().is_unspecified() =>
            {
                socket.bind(at)
            }
            calls::Address::Routing if socket.is_routing() => socket.bind_routing(),
            _ => Err(libc::EACCES),
        }
    }

    fn send(&mut self, id: u64, fd: i32, message: &calls::Message, flags: i32) -> Answer {
        let socket = self.socket(id, fd)?;
        if socket.is_routing() {
            return socket.ask_routes(&message.bytes);
        }
        let to = match message.to {
            None | Some(calls::Address::None) if !socket.is_inet() => return Err(libc::EACCES),
            None => None,
            Some(calls::Address::Inet(to)) if socket.is_inet() => {
                if socket.is_stream() {
                    // As a kernel does that opens no connections while sending.
                    return Err(if flags & libc::MSG_FASTOPEN != 0 {
                        libc::EOPNOTSUPP
                    } else {
                        libc::EISCONN
                    });
                }
                if let Err(refusal) = self.policy.get().decide(to) {
                    self.report(&refusal);
                    return Err(libc::EACCES);
                }
                if !self.may_leave() {
                    return Err(libc::ECONNABORTED);
                }
                Some(to)
            }
            // The kernel would take it for an address of IPv4.
            Some(calls::Address::None) => return Err(libc::EAFNOSUPPORT),
            Some(_) => return Err(libc::EACCES),
        };
        socket.send(&message.bytes, flags, to)
    }

    /// As many as go; the error of the first where none does.
    fn send_many(&mut self, id: u64, fd: i32, args: &[u64; 6]) -> Answer {
        let mut sent = 0;
        for index in 0..args[2].min(calls::MESSAGES_MAX) {
            let at = args[1].wrapping_add(index * calls::MMSGHDR_BYTES);
            let one = calls::message(&self.memory, at)
                .and_then(|m| self.send(id, fd, &m, args[3] as i32));
            match one.and_then(|bytes| calls::write_sent(&self.memory, at, bytes)) {
                Ok(()) => sent += 1,
                Err(errno) if sent == 0 => return Err(errno),
                Err(_) => break,
            }
        }
        Ok(sent)
    }

    /// The socket that a call which still waits is about. From here on it is this one, whatever the
    /// host does to its descriptors.
    fn socket(&self, id: u64, fd: i32) -> Result<socket::Socket, i32> {
        // What was read before is of this call: its thread waits since it made it.
        if !self.listener.still(id) {
            return Err(libc::EINTR);
        }
        match abi::take_descriptor(self.process.as_fd(), fd) {
            Ok(taken) => socket::Socket::of(taken),
            Err(libc::EBADF) => Err(libc::EBADF),
            Err(errno) => {
                tracing::warn!(error = %io::Error::from_raw_os_error(errno), "an egress guard cannot reach its host's sockets");
                Err(libc::EACCES)
            }
        }
    }

    /// Whether what is allowed may leave now.
    fn may_leave(&mut self) -> bool {
        // What goes out before it has code is none of its code's.
        let Some(watch) = self.told.get() else { return true };
        self.has_left = self.has_left || watch.leaves();
        self.has_left
    }

    fn report(&self, refusal: &Refusal) {
        tracing::debug!(address = %refusal.address, rule = %refusal.rule, "refused a host's connection");
        if let Some(watch) = self.told.get() {
            watch.refused(refusal);
        }
    }
}
