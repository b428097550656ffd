//! Native code in a host: system calls as they are, from a program that takes Node's place.
//!
//! This program is all there is to it. Started by cargo, it is the test: it becomes an ordinary user, and starts a runner whose "Node" is this very
//! file. Started with a question for its version, it answers as Node would; started as a host, it speaks the protocol, tries to get out, and
//! tells how each attempt ended.
#![expect(clippy::print_stdout, reason = "a test without a harness tells its results itself")]
#![expect(unsafe_code, reason = "attacks are system calls")]

use std::ffi::CString;
use std::io::{Read as _, Write as _};
use std::mem::zeroed;
use std::os::fd::FromRawFd as _;
use std::os::unix::fs::{MetadataExt as _, chown};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use libc::{c_int, c_long};
use millrace_runner::{Call, Effect, EffectSink, IsolateSpec, ModuleSpec, Runner, RunnerConfig, Walls};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// The user and group `nobody`.
const NOBODY: u32 = 65534;
/// Hosts that send frames of any kind.
const FUZZED: u64 = 120;
/// A call that passes, where another would be expected to.
const DONE: &str = "done";

fn main() {
    let args: Vec<String> = std::env::args().collect();
    match args.get(1).map(String::as_str) {
        Some("-p") => answer_as_node(),
        Some(heap) if heap.starts_with("--max-old-space-size") && args.last().is_some_and(|a| a.ends_with("trial.mjs")) => {}
        Some(heap) if heap.starts_with("--max-old-space-size") => serve_as_host(),
        // `cargo test -- --list` and filters: there is one test, and it has no name to be chosen by.
        Some("--list") => println!("native_code_in_a_host_gets_nowhere: test"),
        _ => test(),
    }
}

fn answer_as_node() {
    let program = std::env::current_exe().expect("a path");
    let maps = std::fs::read_to_string("/proc/self/maps").expect("reads");
    println!("v20.0.0\n{}\n{maps}", program.display());
}

// ---- the test ----

struct Silent;

impl EffectSink for Silent {
    fn effect(&self, _: Effect) {}
}

fn test() {
    let dir = tempfile::tempdir().expect("a folder");
    let program = dir.path().join("native");
    std::fs::copy(std::env::current_exe().expect("a path"), &program).expect("copies");
    let artifact = dir.path().join("artifact.mjs");
    std::fs::write(&artifact, "native").expect("writes");
    if std::fs::metadata("/proc/self").expect("reads").uid() == 0 {
        for path in [dir.path(), &program, &artifact] {
            chown(path, Some(NOBODY), Some(NOBODY)).expect("gives it away");
        }
        // SAFETY: plain system calls, before there are threads.
        unsafe { assert!(libc::setgroups(0, std::ptr::null()) == 0 && libc::setgid(NOBODY) == 0 && libc::setuid(NOBODY) == 0) };
    }
    let runtime = tokio::runtime::Runtime::new().expect("starts");
    let found = runtime.block_on(attack(dir.path(), &program, &artifact));
    let mut open = Vec::new();
    for (name, expected, got) in &found {
        let fits = expected.split(' ').any(|errno| errno == got);
        println!("{} {name}: {got}", if fits { "ok  " } else { "OPEN" });
        if !fits {
            open.push(format!("{name} gave {got}, expected {expected}"));
        }
    }
    println!("{} attempts by native code", found.len());
    assert!(found.len() > 80 && open.is_empty(), "{open:#?}");
}

/// What each attempt was, how it should end, and how it did.
async fn attack(dir: &Path, program: &Path, artifact: &Path) -> Vec<(String, String, String)> {
    let config = RunnerConfig { node: program.to_owned(), scratch_dir: dir.join("hosts"), blank_hosts: 1, walls: Walls::Required, ..RunnerConfig::default() };
    let runner = Runner::start(config).await.expect("this machine has all walls");
    let isolate = |id: &str| {
        Arc::new(IsolateSpec {
            id: id.into(),
            organization: "o_1".into(),
            modules: vec![ModuleSpec { name: "m".into(), path: artifact.to_owned() }],
            env: std::collections::BTreeMap::new(),
            db: None,
            memory_mb: None,
            calls_max: 8,
            hosts_max: 1,
        })
    };
    let call = |body: Value| Call { body: RawValue::from_string(body.to_string()).expect("JSON"), timeout: Duration::from_secs(60) };
    let neighbour = isolate("neighbour");
    let ask = async |isolate: &Arc<IsolateSpec>, body: Value| {
        let done = runner.call(isolate.clone(), call(body), Arc::new(Silent)).await.result;
        done.map(|done| serde_json::from_str::<Value>(done.result.get()).expect("JSON"))
    };
    let victim = ask(&neighbour, json!({ "kind": "pid" })).await.expect("answers");
    let found = ask(&isolate("attacker"), json!({ "kind": "attack", "victim": victim })).await.expect("answers");
    // A call of another machine's set of numbers ends the process: it has a host of its own.
    let ended = ask(&isolate("other numbers"), json!({ "kind": "other numbers" })).await;
    // Frames of any kind, in any order: each run ends, well or not, and the next one has a host.
    for seed in 1..=FUZZED {
        let isolate = isolate("fuzzed");
        let ended = ask(&isolate, json!({ "kind": "fuzz", "seed": seed })).await;
        if let Err(failure) = ended {
            assert!(!failure.message.is_empty() && failure.code != "Timeout", "seed {seed}: {failure:?}");
        }
        assert!(ask(&isolate, json!({ "kind": "pid" })).await.is_ok(), "seed {seed}: there is no host afterwards");
    }
    assert_eq!(ask(&neighbour, json!({ "kind": "pid" })).await.expect("answers"), victim, "the neighbour lives");
    runner.shutdown().await;
    let text = |row: &Value, n: usize| row[n].as_str().unwrap_or("").to_owned();
    let mut found: Vec<_> = found.as_array().expect("a list").iter().map(|row| (text(row, 0), text(row, 1), text(row, 2))).collect();
    if cfg!(target_arch = "x86_64") {
        let ended = ended.err().map_or_else(|| DONE.into(), |failure| if failure.message.contains("signal") { "ended".into() } else { failure.message });
        found.push(("int 0x80".into(), "ended ENOSYS".into(), ended));
    }
    found
}

// ---- the host ----

fn serve_as_host() {
    // SAFETY: the wire is this descriptor, and nobody else's.
    let mut wire = unsafe { UnixStream::from_raw_fd(3) };
    let send = |wire: &mut UnixStream, frame: Value| {
        let body = frame.to_string();
        let head = u32::try_from(body.len()).expect("fits").to_le_bytes();
        wire.write_all(&[&head[..], body.as_bytes()].concat()).expect("writes");
    };
    send(&mut wire, json!({ "t": "hello", "protocol": 1, "node": "v20.0.0" }));
    loop {
        let mut head = [0; 4];
        if wire.read_exact(&mut head).is_err() {
            return;
        }
        let mut body = vec![0; u32::from_le_bytes(head) as usize];
        wire.read_exact(&mut body).expect("reads");
        let frame: Value = serde_json::from_slice(&body).expect("JSON");
        match (frame["t"].as_str(), frame["kind"].as_str()) {
            (Some("load"), _) => send(&mut wire, json!({ "t": "loaded" })),
            (Some("call"), kind) => {
                let result = match kind {
                    Some("attack") => attempts(frame["victim"].as_i64().unwrap_or(0) as c_int),
                    Some("other numbers") => other_numbers(),
                    Some("fuzz") => fuzz(&mut wire, frame["seed"].as_u64().unwrap_or(1), &frame["id"]),
                    _ => json!(std::process::id()),
                };
                send(&mut wire, json!({ "t": "done", "id": frame["id"], "ok": true, "result": result }));
            }
            _ => {}
        }
    }
}

/// Sends frames that fit, frames that do not, and bytes that are none.
fn fuzz(wire: &mut UnixStream, seed: u64, id: &Value) -> Value {
    // Xorshift: the same frames for the same seed.
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = move |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    for _ in 0..next(30) {
        let ids = [id.clone(), json!(next(10)), json!(-1), json!(u64::MAX), json!("1"), Value::Null, json!(1.5)];
        let id = if next(4) > 0 { ids[0].clone() } else { ids[next(7) as usize].clone() };
        let names = ["log", "emit", "db", "respond", "step", "send", "ask", "loaded", "load_failed", "cancelled", "hello", "x"];
        // Rarely one that ends it at once.
        let name = names[if next(5) > 0 { next(7) } else { next(12) } as usize];
        let values = [
            json!("text"),
            json!({ "a": [1, { "b": null }] }),
            json!(200),
            json!("started"),
            json!(true),
            json!([["a", "b"]]),
            Value::Null,
            json!("x".repeat(5000)),
        ];
        let mut frame = json!({ "t": name, "id": id, "text": "line", "ts": 1, "level": "log", "event": { "n": 1 }, "meta": {}, "key": "k", "value": 1, "status": 200, "body": "b",
            "encoding": "utf8", "headers": [["a", "b"]], "namespace": "s", "state": "finished", "exports": {}, "kind": "k", "payload": {}, "ask": next(100) });
        for field in ["ts", "meta", "status", "headers", "state", "exports", "kind", "payload", "encoding", "error", "late"] {
            if next(40) == 0 {
                frame[field] = values[next(8) as usize].clone();
            }
        }
        let mut bytes = frame.to_string().into_bytes();
        for _ in 0..if next(20) == 0 { 1 + next(5) } else { 0 } {
            let at = next(bytes.len() as u64) as usize;
            bytes[at] = next(256) as u8;
        }
        let mut length = u32::try_from(bytes.len()).expect("fits").to_le_bytes();
        if next(60) == 0 {
            // From here on nothing fits: it goes before anybody waits for the rest.
            length = (next(1 << 32) as u32).to_le_bytes();
            let _ = wire.write_all(&[&length[..], &bytes].concat());
            std::process::exit(9);
        }
        // The server may have ended the wire: then this process is about to end as well.
        let _ = wire.write_all(&[&length[..], &bytes].concat());
    }
    json!("sent")
}

/// `getpid` as a program of 32 bits would ask for it.
fn other_numbers() -> Value {
    #[cfg(target_arch = "x86_64")]
    {
        let mut result: i64 = 20;
        // SAFETY: it only asks for the process's number.
        unsafe { std::arch::asm!("int 0x80", inout("rax") result) };
        json!(result)
    }
    #[cfg(not(target_arch = "x86_64"))]
    json!(null)
}

/// The name of the last error, or that there was none.
fn ended(result: c_long) -> String {
    if result >= 0 {
        return DONE.into();
    }
    match std::io::Error::last_os_error().raw_os_error().unwrap_or(0) {
        libc::EPERM => "EPERM".into(),
        libc::EACCES => "EACCES".into(),
        libc::ENOSYS => "ENOSYS".into(),
        libc::EXDEV => "EXDEV".into(),
        libc::EAFNOSUPPORT => "EAFNOSUPPORT".into(),
        libc::EOPNOTSUPP => "EOPNOTSUPP".into(),
        other => format!("errno {other}"),
    }
}

type Row = (String, String, String);

fn attempts(victim: c_int) -> Value {
    // SAFETY: it cannot fail.
    let server = unsafe { libc::getppid() };
    let mut rows: Vec<Row> = Vec::new();
    processes(&mut rows, server, victim);
    kernel(&mut rows);
    programs(&mut rows);
    sockets(&mut rows);
    files(&mut rows, server);
    json!(rows)
}

/// One attempt by its number and arguments.
macro_rules! attempt {
    ($rows:ident, $expected:literal, $name:literal, $call:expr $(, $arg:expr)* $(,)?) => {{
        // SAFETY: an attack: what it points to is its own.
        let result = unsafe { libc::syscall($call $(, $arg)*) };
        $rows.push(($name.to_owned(), $expected.to_owned(), ended(result)));
    }};
}

fn processes(rows: &mut Vec<Row>, server: c_int, victim: c_int) {
    for (who, pid) in [("server", server), ("neighbour", victim)] {
        let mut all: Vec<Row> = Vec::new();
        attempt!(all, "EPERM", "kill", libc::SYS_kill, pid, libc::SIGKILL);
        attempt!(all, "EPERM", "kill with no signal", libc::SYS_kill, pid, 0);
        attempt!(all, "EPERM", "kill its group", libc::SYS_kill, -pid, libc::SIGKILL);
        attempt!(all, "EPERM", "tkill", libc::SYS_tkill, pid, libc::SIGKILL);
        attempt!(all, "EPERM", "tgkill", libc::SYS_tgkill, pid, pid, libc::SIGKILL);
        attempt!(all, "EPERM", "rt_sigqueueinfo", libc::SYS_rt_sigqueueinfo, pid, libc::SIGTERM, 0);
        attempt!(all, "EPERM", "ptrace attach", libc::SYS_ptrace, libc::PTRACE_ATTACH, pid, 0, 0);
        attempt!(all, "EPERM", "ptrace seize", libc::SYS_ptrace, libc::PTRACE_SEIZE, pid, 0, 0);
        attempt!(all, "EPERM", "process_vm_readv", libc::SYS_process_vm_readv, pid, 0, 0, 0, 0, 0);
        attempt!(all, "EPERM", "process_vm_writev", libc::SYS_process_vm_writev, pid, 0, 0, 0, 0, 0);
        attempt!(all, "EPERM", "pidfd_open", libc::SYS_pidfd_open, pid, 0);
        attempt!(all, "EPERM", "kcmp", libc::SYS_kcmp, pid, pid, 0, 0, 0);
        attempt!(all, "EPERM", "setpriority", libc::SYS_setpriority, libc::PRIO_PROCESS, pid, 19);
        attempt!(all, "EPERM", "sched_setaffinity", libc::SYS_sched_setaffinity, pid, 8, 0);
        attempt!(all, "EPERM", "sched_setscheduler", libc::SYS_sched_setscheduler, pid, libc::SCHED_IDLE, 0);
        attempt!(all, "EPERM", "ioprio_set", libc::SYS_ioprio_set, 1, pid, 3 << 13);
        attempt!(all, "EPERM", "prlimit", libc::SYS_prlimit64, pid, libc::RLIMIT_NOFILE, 0, 0);
        attempt!(all, "EPERM", "move_pages", libc::SYS_move_pages, pid, 0, 0, 0, 0, 0);
        rows.extend(all.into_iter().map(|(name, expected, got)| (format!("{name}, {who}"), expected, got)));
    }
    attempt!(rows, "EPERM", "kill all", libc::SYS_kill, -1, libc::SIGKILL);
    attempt!(rows, "EPERM", "kill the group", libc::SYS_kill, 0, libc::SIGKILL);
    attempt!(rows, "EPERM", "outlive the server", libc::SYS_prctl, libc::PR_SET_PDEATHSIG, 0, 0, 0, 0);
    attempt!(rows, "EPERM", "become root", libc::SYS_setuid, 0);
    attempt!(rows, "EPERM", "a group of root", libc::SYS_setgid, 0);
}

fn kernel(rows: &mut Vec<Row>) {
    attempt!(rows, "EPERM", "io_uring_setup", libc::SYS_io_uring_setup, 8, 0);
    attempt!(rows, "EPERM", "io_uring_enter", libc::SYS_io_uring_enter, 0, 1, 0, 0, 0, 0);
    attempt!(rows, "EPERM", "userfaultfd", libc::SYS_userfaultfd, 1);
    attempt!(rows, "EPERM", "bpf", libc::SYS_bpf, 0, 0, 0);
    attempt!(rows, "EPERM", "perf_event_open", libc::SYS_perf_event_open, 0, 0, -1, -1, 0);
    attempt!(rows, "EPERM", "keyctl", libc::SYS_keyctl, 0, 0, 0, 0, 0);
    attempt!(rows, "EPERM", "add_key", libc::SYS_add_key, 0, 0, 0, 0, 0);
    attempt!(rows, "EPERM", "request_key", libc::SYS_request_key, 0, 0, 0, 0);
    attempt!(rows, "EPERM", "personality", libc::SYS_personality, 0x0040_0000);
    attempt!(rows, "EPERM", "unshare a user namespace", libc::SYS_unshare, libc::CLONE_NEWUSER);
    attempt!(rows, "EPERM", "setns", libc::SYS_setns, 0, 0);
    attempt!(rows, "EPERM", "mount", libc::SYS_mount, 0, 0, 0, 0, 0);
    attempt!(rows, "EPERM", "fsopen", libc::SYS_fsopen, 0, 0);
    attempt!(rows, "EPERM", "move_mount", libc::SYS_move_mount, 0, 0, 0, 0, 0);
    attempt!(rows, "EPERM", "pivot_root", libc::SYS_pivot_root, 0, 0);
    attempt!(rows, "EPERM", "chroot", libc::SYS_chroot, 0);
    attempt!(rows, "EPERM", "init_module", libc::SYS_init_module, 0, 0, 0);
    attempt!(rows, "EPERM", "kexec_load", libc::SYS_kexec_load, 0, 0, 0, 0);
    attempt!(rows, "EPERM", "reboot", libc::SYS_reboot, 0, 0, 0, 0);
    attempt!(rows, "EPERM", "swapoff", libc::SYS_swapoff, 0);
    attempt!(rows, "EPERM", "set the clock", libc::SYS_clock_settime, 0, 0);
    attempt!(rows, "EPERM", "sethostname", libc::SYS_sethostname, 0, 0);
    attempt!(rows, "EPERM", "the kernel's log", libc::SYS_syslog, 3, 0, 0);
    attempt!(rows, "EPERM", "shared memory", libc::SYS_shmget, 1, 4096, 0o1600);
    attempt!(rows, "EPERM", "semaphores", libc::SYS_semget, 1, 1, 0o1600);
    attempt!(rows, "EPERM", "message queues", libc::SYS_msgget, 1, 0o1600);
    attempt!(rows, "EPERM", "mq_open", libc::SYS_mq_open, 0, 0, 0, 0);
    attempt!(rows, "EPERM", "fanotify_init", libc::SYS_fanotify_init, 0, 0);
    attempt!(rows, "EPERM", "type into a terminal", libc::SYS_ioctl, 0, libc::TIOCSTI, 0);
    #[cfg(target_arch = "x86_64")]
    {
        attempt!(rows, "EPERM", "ports of the machine", libc::SYS_iopl, 3);
        attempt!(rows, "ENOSYS", "x32 numbers", 0x4000_0000 | libc::SYS_getpid);
    }
}

fn programs(rows: &mut Vec<Row>) {
    let shell = CString::new("/bin/sh").expect("a name");
    let args = [shell.as_ptr(), std::ptr::null()];
    attempt!(rows, "EACCES EPERM", "exec a shell", libc::SYS_execve, shell.as_ptr(), args.as_ptr(), 0);
    attempt!(rows, "EPERM", "execveat", libc::SYS_execveat, libc::AT_FDCWD, shell.as_ptr(), args.as_ptr(), 0, 0);
    attempt!(rows, "EPERM", "memfd_create", libc::SYS_memfd_create, shell.as_ptr(), 0);
    #[cfg(target_arch = "x86_64")]
    {
        attempt!(rows, "EPERM", "fork", libc::SYS_fork);
        attempt!(rows, "EPERM", "vfork", libc::SYS_vfork);
    }
    attempt!(rows, "EPERM", "clone a process", libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0);
    attempt!(rows, "EPERM", "clone into a namespace", libc::SYS_clone, libc::SIGCHLD | libc::CLONE_NEWUSER, 0, 0, 0, 0);
    attempt!(rows, "ENOSYS", "clone3", libc::SYS_clone3, 0, 0);
    // A file of its own, with all rights that it can give it.
    let own = std::env::temp_dir().join("own");
    std::fs::write(&own, "#!/bin/sh\nid\n").expect("writes");
    let own = CString::new(own.to_string_lossy().into_owned()).expect("a name");
    attempt!(rows, "EACCES EPERM", "exec what it wrote", libc::SYS_execve, own.as_ptr(), args.as_ptr(), 0);
}

fn sockets(rows: &mut Vec<Row>) {
    let (inet, stream, datagram) = (libc::AF_INET, libc::SOCK_STREAM, libc::SOCK_DGRAM);
    for (name, family, kind, protocol) in [
        ("a local socket", libc::AF_UNIX, stream, 0),
        ("a socket of the kernel's ciphers (AF_ALG)", libc::AF_ALG, libc::SOCK_SEQPACKET, 0),
        ("a packet socket", libc::AF_PACKET, libc::SOCK_RAW, 0),
        ("a socket of a machine's host (vsock)", libc::AF_VSOCK, stream, 0),
        ("a Bluetooth socket", libc::AF_BLUETOOTH, libc::SOCK_RAW, 0),
        ("the audit of the kernel", libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_AUDIT),
        ("the netfilter of the kernel", libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_NETFILTER),
        ("a raw socket", inet, libc::SOCK_RAW, libc::IPPROTO_ICMP),
        ("a raw socket of IPv6", libc::AF_INET6, libc::SOCK_RAW, libc::IPPROTO_ICMPV6),
        ("ping", inet, datagram, libc::IPPROTO_ICMP),
        ("SCTP", inet, stream, 132),
        ("MPTCP", inet, stream, 262),
        ("DCCP", inet, libc::SOCK_DCCP, 33),
    ] {
        // SAFETY: a plain system call.
        let result = unsafe { libc::syscall(libc::SYS_socket, family, kind, protocol) };
        rows.push((name.to_owned(), "EPERM".to_owned(), ended(result)));
    }
    // SAFETY: plain system calls; all zeros are an address, a message and messages.
    let (tcp, udp, mut to, mut message, mut many) = unsafe {
        let (tcp, udp) = (libc::socket(inet, stream, 0), libc::socket(inet, datagram, 0));
        (tcp, udp, zeroed::<libc::sockaddr_in>(), zeroed::<libc::msghdr>(), zeroed::<[libc::mmsghdr; 2]>())
    };
    to.sin_family = inet as u16;
    to.sin_port = 80u16.to_be();
    to.sin_addr.s_addr = u32::from_ne_bytes([169, 254, 169, 254]);
    let (at, len) = (&raw mut to, size_of_val(&to));
    attempt!(rows, "EPERM", "listen on a port of the kernel's choice", libc::SYS_listen, tcp, 1);
    attempt!(rows, "EPERM", "accept4", libc::SYS_accept4, tcp, 0, 0, 0);
    attempt!(rows, "EACCES", "connect to the metadata address", libc::SYS_connect, tcp, at, len);
    attempt!(rows, "EACCES", "a datagram to it (sendto)", libc::SYS_sendto, udp, at, 1, 0, at, len);
    let mut part = libc::iovec { iov_base: at.cast(), iov_len: 1 };
    (message.msg_name, message.msg_namelen) = (at.cast(), u32::try_from(len).unwrap_or(0));
    (message.msg_iov, message.msg_iovlen) = (&raw mut part, 1);
    attempt!(rows, "EACCES", "a datagram to it (sendmsg)", libc::SYS_sendmsg, udp, &raw const message, 0);
    many.iter_mut().for_each(|one| one.msg_hdr = message);
    attempt!(rows, "EACCES", "datagrams to it (sendmmsg)", libc::SYS_sendmmsg, udp, many.as_mut_ptr(), 2, 0);
    attempt!(rows, "EACCES EOPNOTSUPP", "connect by sending (fast open)", libc::SYS_sendto, tcp, at, 1, libc::MSG_FASTOPEN, at, len);
    let route = [7u8, 7, 4, 10, 0, 0, 1, 0];
    attempt!(rows, "EPERM", "a source route", libc::SYS_setsockopt, tcp, libc::IPPROTO_IP, libc::IP_OPTIONS, route.as_ptr(), route.len());
    // A descriptor of its own for the server, on the wire: a control message of 20 bytes, its level and kind, and the descriptor.
    let mut control = [20u64, u64::from(libc::SOL_SOCKET.cast_unsigned()) | u64::from(libc::SCM_RIGHTS.cast_unsigned()) << 32, u64::from(tcp.cast_unsigned())];
    (message.msg_name, message.msg_namelen) = (std::ptr::null_mut(), 0);
    (message.msg_control, message.msg_controllen) = (control.as_mut_ptr().cast(), size_of_val(&control));
    attempt!(rows, "EOPNOTSUPP EACCES", "pass a descriptor to the server", libc::SYS_sendmsg, 3, &raw const message, 0);
    // SAFETY: they are its own.
    unsafe {
        libc::close(tcp);
        libc::close(udp);
    }
}

fn files(rows: &mut Vec<Row>, server: c_int) {
    let mut open = |name: &str, path: &str, flags: c_int| {
        let path = CString::new(path).expect("a path");
        // SAFETY: the path lives as long as the call.
        let result = unsafe { libc::open(path.as_ptr(), flags) };
        rows.push((format!("open {name}"), "EACCES EPERM".into(), ended(result.into())));
    };
    open("/etc/shadow", "/etc/shadow", libc::O_RDONLY);
    open("/etc/passwd", "/etc/passwd", libc::O_RDONLY);
    open("the server's environment", &format!("/proc/{server}/environ"), libc::O_RDONLY);
    open("the server's memory", &format!("/proc/{server}/mem"), libc::O_RDWR);
    open("the server's descriptors", &format!("/proc/{server}/fd"), libc::O_RDONLY | libc::O_DIRECTORY);
    open("its own memory", "/proc/self/mem", libc::O_RDWR);
    open("its own limits", "/proc/self/limits", libc::O_WRONLY);
    open("its score for the kernel's killer", "/proc/self/oom_score_adj", libc::O_WRONLY);
    open("the list of processes", "/proc", libc::O_RDONLY | libc::O_DIRECTORY);
    open("the root folder", "/", libc::O_RDONLY | libc::O_DIRECTORY);
    open("a terminal", "/dev/ptmx", libc::O_RDWR);
    open("its session's terminal", "/dev/tty", libc::O_RDWR);
    open("shared memory", "/dev/shm", libc::O_RDONLY | libc::O_DIRECTORY);
    open("a setting of the kernel", "/proc/sys/kernel/core_pattern", libc::O_WRONLY);
    open("a control group", "/sys/fs/cgroup", libc::O_RDONLY | libc::O_DIRECTORY);
    // There is no terminal: an error of its own.
    for row in rows.iter_mut().filter(|row| row.0.contains("terminal")) {
        row.1.push_str(" ENXIO errno 6 ENOENT errno 2");
    }
    let link = std::env::temp_dir().join("handle");
    let link = CString::new(link.to_string_lossy().into_owned()).expect("a path");
    attempt!(rows, "EPERM", "a file's handle", libc::SYS_name_to_handle_at, libc::AT_FDCWD, link.as_ptr(), 0, 0, 0);
    attempt!(rows, "EPERM", "a file by its handle", libc::SYS_open_by_handle_at, libc::AT_FDCWD, 0, 0);
    attempt!(rows, "EPERM", "a device", libc::SYS_mknodat, libc::AT_FDCWD, link.as_ptr(), libc::S_IFCHR | 0o600, 0);
    attempt!(rows, "EPERM", "an attribute", libc::SYS_setxattr, link.as_ptr(), link.as_ptr(), 0, 0, 0);
    let target = CString::new("/etc/passwd").expect("a path");
    attempt!(rows, "EXDEV EACCES EPERM", "a hard link to a file outside", libc::SYS_linkat, libc::AT_FDCWD, target.as_ptr(), libc::AT_FDCWD, link.as_ptr(), 0);
    attempt!(rows, "EXDEV EACCES EPERM", "take a file from outside", libc::SYS_renameat2, libc::AT_FDCWD, target.as_ptr(), libc::AT_FDCWD, link.as_ptr(), 0);
}
