//! Attempts of native code to get out, by system calls.

use std::ffi::CString;
use std::mem::zeroed;

use libc::{c_int, c_long};
use serde_json::{Value, json};

use crate::DONE;

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
        libc::EBUSY => "EBUSY".into(),
        libc::EINVAL => "EINVAL".into(),
        libc::ENOENT => "ENOENT".into(),
        libc::ENXIO => "ENXIO".into(),
        libc::ESRCH => "ESRCH".into(),
        libc::EAGAIN => "EAGAIN".into(),
        other => format!("errno {other}"),
    }
}

type Row = (String, String, String);

/// What each attempt was, how it should end, and how it did.
pub(crate) fn all(victim: c_int) -> Value {
    // SAFETY: it cannot fail.
    let server = unsafe { libc::getppid() };
    let mut rows: Vec<Row> = Vec::new();
    processes(&mut rows, server, victim);
    kernel(&mut rows);
    programs(&mut rows);
    sockets(&mut rows);
    names(&mut rows);
    files(&mut rows, server);
    around(&mut rows);
    json!(rows)
}

/// One attempt by its number and arguments.
macro_rules! attempt {
    ($rows:ident, $expected:literal, $name:expr, $call:expr $(, $arg:expr)* $(,)?) => {{
        // SAFETY: an attack: what it points to is its own.
        let result = unsafe { libc::syscall($call $(, $arg)*) };
        $rows.push(((*$name).to_owned(), $expected.to_owned(), ended(result)));
    }};
}

#[expect(clippy::too_many_lines, reason = "a list of attempts")]
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
        attempt!(
            all,
            "EPERM",
            "process_vm_writev",
            libc::SYS_process_vm_writev,
            pid,
            0,
            0,
            0,
            0,
            0
        );
        attempt!(all, "EPERM", "pidfd_open", libc::SYS_pidfd_open, pid, 0);
        attempt!(all, "EPERM", "kcmp", libc::SYS_kcmp, pid, pid, 0, 0, 0);
        attempt!(all, "EPERM", "setpriority", libc::SYS_setpriority, libc::PRIO_PROCESS, pid, 19);
        attempt!(all, "EPERM", "sched_setaffinity", libc::SYS_sched_setaffinity, pid, 8, 0);
        attempt!(
            all,
            "EPERM",
            "sched_setscheduler",
            libc::SYS_sched_setscheduler,
            pid,
            libc::SCHED_IDLE,
            0
        );
        attempt!(all, "EPERM", "ioprio_set", libc::SYS_ioprio_set, 1, pid, 3 << 13);
        attempt!(all, "EPERM", "prlimit", libc::SYS_prlimit64, pid, libc::RLIMIT_NOFILE, 0, 0);
        attempt!(all, "EPERM", "move_pages", libc::SYS_move_pages, pid, 0, 0, 0, 0, 0);
        // The wire's owner gets a signal of one's choice when something comes.
        attempt!(
            all,
            "EPERM",
            "a signal by owning a descriptor",
            libc::SYS_fcntl,
            3,
            libc::F_SETOWN,
            pid
        );
        attempt!(
            all,
            "EPERM",
            "a signal by owning a descriptor (FIOSETOWN)",
            libc::SYS_ioctl,
            3,
            0x8901,
            &raw const pid
        );
        attempt!(
            all,
            "EPERM",
            "a signal by owning a descriptor (SIOCSPGRP)",
            libc::SYS_ioctl,
            3,
            0x8902,
            &raw const pid
        );
        let owner = [1, pid];
        attempt!(
            all,
            "EPERM",
            "a signal by owning a descriptor (F_SETOWN_EX)",
            libc::SYS_fcntl,
            3,
            15,
            owner.as_ptr()
        );
        attempt!(all, "EPERM ESRCH", "join its group", libc::SYS_setpgid, 0, pid);
        attempt!(all, "EPERM ESRCH", "take it into one's own group", libc::SYS_setpgid, pid, 0);
        // A timer whose signal goes to a thread of another.
        let mut event = [0u64; 8];
        event[1] = u64::from(libc::SIGKILL.cast_unsigned())
            | u64::from(libc::SIGEV_THREAD_ID.cast_unsigned()) << 32;
        event[2] = u64::from(pid.cast_unsigned());
        let mut timer = 0;
        attempt!(
            all,
            "EAGAIN EINVAL",
            "a signal by a timer",
            libc::SYS_timer_create,
            libc::CLOCK_MONOTONIC,
            event.as_ptr(),
            &raw mut timer
        );
        rows.extend(
            all.into_iter().map(|(name, expected, got)| (format!("{name}, {who}"), expected, got)),
        );
    }
    attempt!(rows, "EPERM", "kill all", libc::SYS_kill, -1, libc::SIGKILL);
    attempt!(rows, "EPERM", "kill the group", libc::SYS_kill, 0, libc::SIGKILL);
    attempt!(
        rows,
        "EINVAL",
        "outlive the server",
        libc::SYS_prctl,
        libc::PR_SET_PDEATHSIG,
        0,
        0,
        0,
        0
    );
    attempt!(
        rows,
        "EINVAL",
        "close itself to the server",
        libc::SYS_prctl,
        libc::PR_SET_DUMPABLE,
        0,
        0,
        0,
        0
    );
    attempt!(rows, "EINVAL", "keep a processor's other half idle", libc::SYS_prctl, 62, 1, 0, 0, 0);
    attempt!(
        rows,
        "EPERM",
        "descriptors of a thread's own",
        libc::SYS_clone,
        libc::CLONE_VM | libc::CLONE_FS | libc::CLONE_SIGHAND | libc::CLONE_THREAD,
        0,
        0,
        0,
        0
    );
    attempt!(
        rows,
        "EPERM",
        "a working folder of a thread's own",
        libc::SYS_clone,
        libc::CLONE_VM | libc::CLONE_FILES | libc::CLONE_SIGHAND | libc::CLONE_THREAD,
        0,
        0,
        0,
        0
    );
    attempt!(
        rows,
        "EPERM",
        "descriptors of a thread's own (close_range)",
        libc::SYS_close_range,
        900,
        901,
        2
    );
    attempt!(
        rows,
        "EPERM",
        "a lease, for which others wait",
        libc::SYS_fcntl,
        3,
        libc::F_SETLEASE,
        libc::F_WRLCK
    );
    attempt!(
        rows,
        "EPERM",
        "wait for a lock, which holds a file",
        libc::SYS_fcntl,
        3,
        libc::F_SETLKW,
        0
    );
    attempt!(
        rows,
        "EPERM",
        "wait for a lock of an open file, which holds it",
        libc::SYS_fcntl,
        3,
        38,
        0
    );
    attempt!(
        rows,
        "EINVAL",
        "wait for room while sending a file, which holds it",
        libc::SYS_sendfile,
        -1,
        -1,
        0,
        1
    );
    attempt!(rows, "EPERM", "disk in no time", libc::SYS_fallocate, -1, 0, 0, 1);
    attempt!(rows, "EPERM", "room in pipes, which all share", libc::SYS_fcntl, 3, 1031, 1 << 20);
    attempt!(rows, "EPERM", "which signal an owner gets", libc::SYS_fcntl, 3, 10, libc::SIGKILL);
    let more = libc::rlimit { rlim_cur: 1 << 50, rlim_max: 1 << 50 };
    attempt!(
        rows,
        "EPERM",
        "more descriptors",
        libc::SYS_prlimit64,
        0,
        libc::RLIMIT_NOFILE,
        &raw const more,
        0
    );
    attempt!(
        rows,
        "EPERM",
        "more memory",
        libc::SYS_prlimit64,
        0,
        libc::RLIMIT_DATA,
        &raw const more,
        0
    );
    attempt!(
        rows,
        "EINVAL",
        "other parts of its memory",
        libc::SYS_prctl,
        libc::PR_SET_MM,
        1,
        4096,
        0,
        0
    );
    attempt!(
        rows,
        "EINVAL",
        "take no_new_privs back",
        libc::SYS_prctl,
        libc::PR_SET_NO_NEW_PRIVS,
        0,
        0,
        0,
        0
    );
    attempt!(rows, "EPERM", "leave seccomp", libc::SYS_prctl, libc::PR_SET_SECCOMP, 0, 0, 0, 0);
    // `SECCOMP_SET_MODE_FILTER`, also with a listener of its own: filters take memory that all
    // processes of the machine share.
    let allow = [libc::sock_filter { code: 6, jt: 0, jf: 0, k: 0x7fff_0000 }];
    let program = libc::sock_fprog { len: 1, filter: allow.as_ptr().cast_mut() };
    attempt!(rows, "EPERM", "be its own guard", libc::SYS_seccomp, 1, 8, &raw const program);
    attempt!(rows, "EPERM", "a filter of its own", libc::SYS_seccomp, 1, 0, &raw const program);
    attempt!(
        rows,
        "EPERM",
        "a filter of its own (prctl)",
        libc::SYS_prctl,
        libc::PR_SET_SECCOMP,
        2,
        &raw const program,
        0,
        0
    );
    // `PR_FUTEX_HASH`, how many places it has (from Linux 6.16 on), and an option that is as old as
    // the walls.
    attempt!(
        rows,
        "EINVAL",
        "a table of the kernel's, as large as it likes",
        libc::SYS_prctl,
        78,
        2,
        0,
        0,
        0
    );
    attempt!(
        rows,
        "EINVAL",
        "an option that nothing here needs",
        libc::SYS_prctl,
        libc::PR_SET_CHILD_SUBREAPER,
        0,
        0,
        0,
        0
    );
    attempt!(
        rows,
        "done",
        "an option that Node needs",
        libc::SYS_prctl,
        libc::PR_SET_NAME,
        c"named".as_ptr(),
        0,
        0,
        0
    );
    let mut timer = 0;
    attempt!(
        rows,
        "EAGAIN",
        "a timer, of which all processes of a user share how many",
        libc::SYS_timer_create,
        libc::CLOCK_MONOTONIC,
        0,
        &raw mut timer
    );
    attempt!(rows, "EPERM", "become root", libc::SYS_setuid, 0);
    attempt!(rows, "EPERM", "a group of root", libc::SYS_setgid, 0);
}

fn kernel(rows: &mut Vec<Row>) {
    attempt!(rows, "EPERM", "io_uring_setup", libc::SYS_io_uring_setup, 8, 0);
    attempt!(rows, "EPERM", "io_uring_enter", libc::SYS_io_uring_enter, 0, 1, 0, 0, 0, 0);
    let mut queue = 0u64;
    attempt!(
        rows,
        "EPERM",
        "a queue of reads and writes",
        libc::SYS_io_setup,
        60_000,
        &raw mut queue
    );
    attempt!(
        rows,
        "EPERM",
        "rules of its own (Landlock), which keep files",
        libc::SYS_landlock_create_ruleset,
        0,
        0,
        1
    );
    attempt!(rows, "EPERM", "a rule of its own", libc::SYS_landlock_add_rule, 0, 0, 0, 0);
    attempt!(rows, "EPERM", "what is mounted (statmount)", 457, 0, 0, 0, 0);
    attempt!(rows, "EPERM", "what is mounted (listmount)", 458, 0, 0, 0, 0);
    attempt!(rows, "EPERM", "where memory lies (mbind)", libc::SYS_mbind, 0, 0, 0, 0, 0, 0);
    attempt!(rows, "EPERM", "where memory lies (set_mempolicy)", libc::SYS_set_mempolicy, 0, 0, 0);
    attempt!(rows, "EPERM", "where memory lies (set_mempolicy_home_node)", 450, 0, 0, 0, 0);
    attempt!(rows, "EPERM", "a stack that no limit counts", 453, 0, 4096, 0);
    attempt!(
        rows,
        "EINVAL",
        "memory that is looked through for what others have",
        libc::SYS_madvise,
        0,
        0,
        libc::MADV_MERGEABLE
    );
    attempt!(
        rows,
        "EPERM",
        "memory that counts as shared",
        libc::SYS_mmap,
        0,
        4096,
        3,
        libc::MAP_SHARED | libc::MAP_ANONYMOUS,
        -1,
        0
    );
    attempt!(
        rows,
        "EPERM",
        "memory that grows by itself",
        libc::SYS_mmap,
        0,
        4096,
        3,
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_GROWSDOWN,
        -1,
        0
    );
    attempt!(
        rows,
        "EPERM",
        "memory of the machine's pool",
        libc::SYS_mmap,
        0,
        2 << 20,
        3,
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_HUGETLB,
        -1,
        0
    );
    let more = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    attempt!(
        rows,
        "EPERM",
        "a stack without end",
        libc::SYS_prlimit64,
        0,
        libc::RLIMIT_STACK,
        &raw const more,
        0
    );
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
    // Those of others, by their numbers.
    for (name, call) in [
        ("shmdt", libc::SYS_shmdt),
        ("semctl", libc::SYS_semctl),
        ("semop", libc::SYS_semop),
        ("semtimedop", libc::SYS_semtimedop),
        ("msgctl", libc::SYS_msgctl),
        ("msgsnd", libc::SYS_msgsnd),
        ("msgrcv", libc::SYS_msgrcv),
        ("mq_notify", libc::SYS_mq_notify),
        ("mq_timedsend", libc::SYS_mq_timedsend),
        ("mq_timedreceive", libc::SYS_mq_timedreceive),
        ("mq_getsetattr", libc::SYS_mq_getsetattr),
    ] {
        attempt!(rows, "EPERM", name, call, 0, 0, 0, libc::IPC_NOWAIT, libc::IPC_NOWAIT, 0);
    }
    attempt!(rows, "EPERM", "fanotify_init", libc::SYS_fanotify_init, 0, 0);
    attempt!(rows, "EPERM", "inotify_init1", libc::SYS_inotify_init1, 0);
    attempt!(rows, "EPERM", "splice", libc::SYS_splice, 0, 0, 1, 0, 1, 0);
    attempt!(rows, "EPERM", "tee", libc::SYS_tee, 0, 1, 1, 0);
    attempt!(rows, "EPERM", "vmsplice", libc::SYS_vmsplice, 1, 0, 0, 0);
    attempt!(rows, "EPERM", "io_uring_register", libc::SYS_io_uring_register, 0, 0, 0, 0);
    attempt!(rows, "EPERM", "memfd_secret", libc::SYS_memfd_secret, 0);
    attempt!(rows, "EPERM", "quotactl_fd", 443, 0, 0, 0, 0);
    attempt!(rows, "EPERM", "a terminal's clipboard", libc::SYS_ioctl, 0, libc::TIOCLINUX, 0);
    attempt!(rows, "EPERM", "be told of a folder's changes", libc::SYS_fcntl, 0, libc::F_NOTIFY, 1);
    attempt!(rows, "EPERM", "type into a terminal", libc::SYS_ioctl, 0, libc::TIOCSTI, 0);
    #[cfg(target_arch = "x86_64")]
    {
        attempt!(rows, "EPERM", "ports of the machine", libc::SYS_iopl, 3);
        attempt!(rows, "EPERM", "segments of its own", libc::SYS_modify_ldt, 1, 0, 0);
        attempt!(rows, "EPERM", "inotify_init", libc::SYS_inotify_init);
        attempt!(rows, "ENOSYS", "x32 numbers", 0x4000_0000 | libc::SYS_getpid);
    }
}

fn programs(rows: &mut Vec<Row>) {
    let shell = CString::new("/bin/sh").expect("a name");
    let args = [shell.as_ptr(), std::ptr::null()];
    attempt!(
        rows,
        "EACCES EPERM",
        "exec a shell",
        libc::SYS_execve,
        shell.as_ptr(),
        args.as_ptr(),
        0
    );
    // The one program that Landlock lets be started. Not as another thread: what ends the process
    // with the server is bound to its first.
    let node =
        CString::new(std::env::current_exe().expect("a path").to_string_lossy().into_owned())
            .expect("a name");
    let again = |first: u64, second: u64| {
        let node = node.clone();
        move || {
            let args = [node.as_ptr(), std::ptr::null()];
            // SAFETY: an attack: what it points to is its own.
            ended(unsafe {
                libc::syscall(
                    libc::SYS_execve,
                    node.as_ptr(),
                    args.as_ptr(),
                    args[1..].as_ptr(),
                    first,
                    second,
                )
            })
        }
    };
    rows.push(("exec Node again".into(), "EPERM".into(), again(0, 0)()));
    rows.push((
        "exec Node again, with numbers of its own".into(),
        "EPERM".into(),
        again(u64::MAX, 1 << 63)(),
    ));
    let by_another = std::thread::spawn(again(0, 0)).join().expect("joins");
    rows.push(("exec Node again, by another thread".into(), "EPERM".into(), by_another));
    attempt!(
        rows,
        "EPERM",
        "execveat",
        libc::SYS_execveat,
        libc::AT_FDCWD,
        shell.as_ptr(),
        args.as_ptr(),
        0,
        0
    );
    attempt!(rows, "EPERM", "memfd_create", libc::SYS_memfd_create, shell.as_ptr(), 0);
    #[cfg(target_arch = "x86_64")]
    {
        attempt!(rows, "EPERM", "fork", libc::SYS_fork);
        attempt!(rows, "EPERM", "vfork", libc::SYS_vfork);
    }
    attempt!(rows, "EPERM", "clone a process", libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0);
    attempt!(
        rows,
        "EPERM",
        "clone into a namespace",
        libc::SYS_clone,
        libc::SIGCHLD | libc::CLONE_NEWUSER,
        0,
        0,
        0,
        0
    );
    attempt!(rows, "ENOSYS", "clone3", libc::SYS_clone3, 0, 0);
    // A file of its own, with all rights that it can give it.
    let own = std::env::temp_dir().join("own");
    std::fs::write(&own, "#!/bin/sh\nid\n").expect("writes");
    let own = CString::new(own.to_string_lossy().into_owned()).expect("a name");
    attempt!(
        rows,
        "EACCES EPERM",
        "exec what it wrote",
        libc::SYS_execve,
        own.as_ptr(),
        args.as_ptr(),
        0
    );
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
        (
            tcp,
            udp,
            zeroed::<libc::sockaddr_in>(),
            zeroed::<libc::msghdr>(),
            zeroed::<[libc::mmsghdr; 2]>(),
        )
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
    attempt!(
        rows,
        "EACCES",
        "a datagram to it (sendmsg)",
        libc::SYS_sendmsg,
        udp,
        &raw const message,
        0
    );
    many.iter_mut().for_each(|one| one.msg_hdr = message);
    attempt!(
        rows,
        "EACCES",
        "datagrams to it (sendmmsg)",
        libc::SYS_sendmmsg,
        udp,
        many.as_mut_ptr(),
        2,
        0
    );
    attempt!(
        rows,
        "EACCES EOPNOTSUPP",
        "connect by sending (fast open)",
        libc::SYS_sendto,
        tcp,
        at,
        1,
        libc::MSG_FASTOPEN,
        at,
        len
    );
    let route = [7u8, 7, 4, 10, 0, 0, 1, 0];
    attempt!(
        rows,
        "EPERM",
        "a source route",
        libc::SYS_setsockopt,
        tcp,
        libc::IPPROTO_IP,
        libc::IP_OPTIONS,
        route.as_ptr(),
        route.len()
    );
    options(rows, tcp, udp);
    lingering(rows, tcp);
    // A descriptor of its own for the server, on the wire: a control message of 20 bytes, its level
    // and kind, and the descriptor.
    let mut control = [
        20u64,
        u64::from(libc::SOL_SOCKET.cast_unsigned())
            | u64::from(libc::SCM_RIGHTS.cast_unsigned()) << 32,
        u64::from(tcp.cast_unsigned()),
    ];
    (message.msg_name, message.msg_namelen) = (std::ptr::null_mut(), 0);
    (message.msg_control, message.msg_controllen) =
        (control.as_mut_ptr().cast(), size_of_val(&control));
    attempt!(
        rows,
        "EOPNOTSUPP EACCES",
        "pass a descriptor to the server",
        libc::SYS_sendmsg,
        3,
        &raw const message,
        0
    );
    // SAFETY: they are its own.
    unsafe {
        libc::close(tcp);
        libc::close(udp);
    }
}

/// A socket that makes whoever closes it last wait: the server may be who does.
fn lingering(rows: &mut Vec<Row>, tcp: c_int) {
    let (mut linger, mut len) = (
        libc::linger { l_onoff: 1, l_linger: 100_000 },
        u32::try_from(size_of::<libc::linger>()).unwrap_or(0),
    );
    // SAFETY: plain system calls on values that live as long as they do.
    let taken = unsafe {
        let asked = libc::setsockopt(
            tcp,
            libc::SOL_SOCKET,
            libc::SO_LINGER,
            (&raw const linger).cast(),
            len,
        );
        libc::getsockopt(
            tcp,
            libc::SOL_SOCKET,
            libc::SO_LINGER,
            (&raw mut linger).cast(),
            &raw mut len,
        );
        if asked == 0 && linger.l_onoff == 0 { "in appearance" } else { "taken" }
    };
    rows.push((
        "make the server wait as it closes a socket".into(),
        "in appearance".into(),
        taken.into(),
    ));
}

/// What leads packets another way than the routes say, and parts of the kernel that nothing needs.
fn options(rows: &mut Vec<Row>, tcp: c_int, udp: c_int) {
    let device = c"lo";
    let empty = [0u64; 2];
    for (name, socket, level, option) in [
        ("its packets by another device", udp, libc::SOL_SOCKET, libc::SO_BINDTODEVICE),
        ("its packets by another device's number", udp, libc::SOL_SOCKET, libc::SO_BINDTOIFINDEX),
        ("its packets by another device (IP_UNICAST_IF)", udp, libc::IPPROTO_IP, 50),
        ("its packets by another device (IPV6_UNICAST_IF)", udp, libc::IPPROTO_IPV6, 76),
        ("a program for packets", udp, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER),
        ("a program for packets (eBPF)", udp, libc::SOL_SOCKET, libc::SO_ATTACH_BPF),
        ("a program for a group of sockets", udp, libc::SOL_SOCKET, 51),
        ("packets within packets", udp, libc::IPPROTO_UDP, 100),
        ("the kernel's TLS", tcp, libc::IPPROTO_TCP, libc::TCP_ULP),
        ("how often a connection is tried", tcp, libc::IPPROTO_TCP, libc::TCP_SYNCNT),
        ("how long the server's connect waits", tcp, libc::SOL_SOCKET, libc::SO_SNDTIMEO),
        ("how long the server's connect waits (new form)", tcp, libc::SOL_SOCKET, 67),
        ("a source route of IPv6", tcp, libc::IPPROTO_IPV6, 57),
        ("a source address and a device of IPv6", udp, libc::IPPROTO_IPV6, 50),
        ("a source address and a device of IPv6 (2292)", udp, libc::IPPROTO_IPV6, 2),
        ("a port of its choice (IP_LOCAL_PORT_RANGE)", udp, libc::IPPROTO_IP, 51),
        ("to hear of changed routes", udp, libc::SOL_NETLINK, 1),
        ("to hear of changed routes no more", udp, libc::SOL_NETLINK, 2),
        ("a group", udp, libc::IPPROTO_IP, libc::IP_ADD_MEMBERSHIP),
        ("a group, of a source", udp, libc::IPPROTO_IP, 39),
        ("a group of either family", udp, libc::IPPROTO_IP, 42),
        ("a group of IPv6", udp, libc::IPPROTO_IPV6, libc::IPV6_ADD_MEMBERSHIP),
        ("a group of either family, of IPv6", udp, libc::IPPROTO_IPV6, 42),
    ] {
        // SAFETY: an attack: what it points to is its own.
        let result = unsafe {
            libc::syscall(
                libc::SYS_setsockopt,
                socket,
                level,
                option,
                if level == libc::SOL_SOCKET { device.as_ptr().cast() } else { empty.as_ptr() },
                4,
            )
        };
        rows.push((name.to_owned(), "EPERM".to_owned(), ended(result)));
    }
}

/// Ports and names of its own choice.
fn names(rows: &mut Vec<Row>) {
    let inet = |address: [u8; 4], port: u16| {
        let [high, low] = port.to_be_bytes();
        [&[2, 0, high, low][..], &address, &[0; 8]].concat()
    };
    let inet6 = |port: u16| [&[10, 0][..], &port.to_be_bytes(), &[0; 24]].concat();
    let netlink = |groups: u8| vec![16, 0, 0, 0, 0, 0, 0, 0, groups, 0, 0, 0];
    let (stream, datagram, raw) = (libc::SOCK_STREAM, libc::SOCK_DGRAM, libc::SOCK_RAW);
    for (name, expected, family, kind, address) in [
        (
            "a port for datagrams, of the kernel's choice",
            DONE,
            libc::AF_INET,
            datagram,
            inet([0; 4], 0),
        ),
        (
            "a port for datagrams of IPv6, of the kernel's choice",
            DONE,
            libc::AF_INET6,
            datagram,
            inet6(0),
        ),
        ("a name to ask for routes under", DONE, libc::AF_NETLINK, raw, netlink(0)),
        (
            "a port for datagrams, of its choice",
            "EACCES",
            libc::AF_INET,
            datagram,
            inet([0; 4], 5353),
        ),
        (
            "a port for datagrams of IPv6, of its choice",
            "EACCES",
            libc::AF_INET6,
            datagram,
            inet6(5353),
        ),
        (
            "a port for datagrams on loopback",
            "EACCES",
            libc::AF_INET,
            datagram,
            inet([127, 0, 0, 1], 0),
        ),
        (
            "a port for datagrams on an address of nobody's",
            "EACCES",
            libc::AF_INET,
            datagram,
            inet([198, 51, 100, 1], 0),
        ),
        ("a port for connections", "EACCES", libc::AF_INET, stream, inet([0; 4], 8080)),
        (
            "a port for connections, of the kernel's choice",
            "EACCES",
            libc::AF_INET,
            stream,
            inet([0; 4], 0),
        ),
        ("to hear of changed routes", "EACCES", libc::AF_NETLINK, raw, netlink(1)),
        (
            "an address of another family",
            "EACCES",
            libc::AF_INET,
            datagram,
            [&[1, 0, 0][..], b"millrace"].concat(),
        ),
        ("an address that is cut off", "EINVAL", libc::AF_INET, datagram, vec![2, 0, 0]),
    ] {
        // SAFETY: an attack: what it points to is its own.
        let result = unsafe {
            let socket = libc::socket(family, kind, 0);
            let one: c_int = 1;
            for option in [libc::SO_REUSEADDR, libc::SO_REUSEPORT] {
                libc::setsockopt(socket, libc::SOL_SOCKET, option, (&raw const one).cast(), 4);
            }
            let result = libc::syscall(libc::SYS_bind, socket, address.as_ptr(), address.len());
            let ended = ended(result);
            libc::close(socket);
            ended
        };
        rows.push((format!("bind: {name}"), expected.into(), result));
    }
    for (name, family, kind, protocol) in [
        ("connections", libc::AF_INET, stream, 0),
        ("another protocol", libc::AF_INET, stream, libc::IPPROTO_SCTP),
        ("ciphers of the kernel", libc::AF_ALG, libc::SOCK_SEQPACKET, 0),
        ("a machine's host", libc::AF_VSOCK, stream, 0),
    ] {
        let mut pair = [0; 2];
        attempt!(
            rows,
            "EPERM",
            &format!("a pair of sockets: {name}"),
            libc::SYS_socketpair,
            family,
            kind,
            protocol,
            pair.as_mut_ptr()
        );
    }
    // Local sockets are had in pairs only; one of a pair leads nowhere else, and gets no name.
    let mut pair = [0; 2];
    // SAFETY: as above.
    unsafe { libc::socketpair(libc::AF_UNIX, datagram, 0, pair.as_mut_ptr()) };
    let abstracted = [&[1, 0, 0][..], b"millrace"].concat();
    let (at, len) = (abstracted.as_ptr(), abstracted.len());
    attempt!(rows, "EACCES", "a name for one of a pair", libc::SYS_bind, pair[0], at, len);
    attempt!(rows, "EACCES", "connect one of a pair", libc::SYS_connect, pair[0], at, len);
    attempt!(
        rows,
        "EACCES",
        "send from one of a pair",
        libc::SYS_sendto,
        pair[0],
        at,
        1,
        0,
        at,
        len
    );
    attempt!(rows, "EACCES", "another end for the wire", libc::SYS_connect, 3, at, len);
    // SAFETY: they are its own.
    pair.into_iter().for_each(|fd| assert_eq!(unsafe { libc::close(fd) }, 0));
}

/// The folder that its own lies in, by ways around its path.
fn around(rows: &mut Vec<Row>) {
    let own = std::env::temp_dir();
    let outside = own.ancestors().nth(2).unwrap_or(&own).join("host.cjs");
    let folder = CString::new(outside.parent().unwrap_or(&own).to_string_lossy().into_owned())
        .expect("a path");
    let file = CString::new(outside.to_string_lossy().into_owned()).expect("a path");
    attempt!(
        rows,
        "EPERM",
        "be told what happens beside it",
        libc::SYS_inotify_add_watch,
        0,
        folder.as_ptr(),
        0xfff
    );
    // SAFETY: plain system calls on paths that live as long as they do.
    let (found, dir) = unsafe {
        (libc::open(file.as_ptr(), libc::O_PATH), libc::open(folder.as_ptr(), libc::O_PATH))
    };
    let link = CString::new(own.join("linked").to_string_lossy().into_owned()).expect("a path");
    let how = [0u64; 3];
    let again = CString::new(format!("/proc/self/fd/{found}")).expect("a path");
    attempt!(
        rows,
        "EACCES EPERM",
        "reopen what it found",
        libc::SYS_open,
        again.as_ptr(),
        libc::O_RDWR
    );
    attempt!(
        rows,
        "EACCES EPERM ENOENT",
        "reopen it by number alone",
        libc::SYS_openat2,
        found,
        c"".as_ptr(),
        how.as_ptr(),
        size_of_val(&how)
    );
    attempt!(
        rows,
        "EACCES EPERM",
        "write beside it (openat2)",
        libc::SYS_openat2,
        dir,
        c"planted".as_ptr(),
        [66u64, 0o600, 0].as_ptr(),
        24
    );
    attempt!(
        rows,
        "EACCES EPERM",
        "list what is beside it (openat2)",
        libc::SYS_openat2,
        dir,
        c".".as_ptr(),
        [0o200_000u64, 0, 0].as_ptr(),
        24
    );
    attempt!(
        rows,
        "EACCES EPERM ENOENT EXDEV",
        "a link to what it found",
        libc::SYS_linkat,
        found,
        c"".as_ptr(),
        libc::AT_FDCWD,
        link.as_ptr(),
        libc::AT_EMPTY_PATH
    );
    // SAFETY: as above. Where it stands gives it no rights.
    unsafe { libc::fchdir(dir) };
    attempt!(
        rows,
        "EACCES EPERM",
        "a file beside it, from its folder",
        libc::SYS_open,
        c"host.cjs".as_ptr(),
        libc::O_RDWR
    );
    attempt!(
        rows,
        "EACCES EPERM EXDEV",
        "remove it from its folder",
        libc::SYS_unlink,
        c"host.cjs".as_ptr()
    );
    attempt!(
        rows,
        "EACCES EPERM EXDEV",
        "a folder beside it",
        libc::SYS_mkdir,
        c"planted".as_ptr(),
        0o700
    );
    // SAFETY: as above.
    unsafe {
        libc::chdir(CString::new(own.to_string_lossy().into_owned()).expect("a path").as_ptr())
    };
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
    open(
        "the server's descriptors",
        &format!("/proc/{server}/fd"),
        libc::O_RDONLY | libc::O_DIRECTORY,
    );
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
        row.1.push_str(" ENXIO ENOENT");
    }
    let link = std::env::temp_dir().join("handle");
    let link = CString::new(link.to_string_lossy().into_owned()).expect("a path");
    attempt!(
        rows,
        "EPERM",
        "a file's handle",
        libc::SYS_name_to_handle_at,
        libc::AT_FDCWD,
        link.as_ptr(),
        0,
        0,
        0
    );
    attempt!(
        rows,
        "EPERM",
        "a file by its handle",
        libc::SYS_open_by_handle_at,
        libc::AT_FDCWD,
        0,
        0
    );
    attempt!(
        rows,
        "EPERM",
        "a device",
        libc::SYS_mknodat,
        libc::AT_FDCWD,
        link.as_ptr(),
        libc::S_IFCHR | 0o600,
        0
    );
    attempt!(
        rows,
        "EPERM",
        "an attribute",
        libc::SYS_setxattr,
        link.as_ptr(),
        link.as_ptr(),
        0,
        0,
        0
    );
    // SAFETY: plain system calls on a path that lives as long as they do.
    let own = unsafe { libc::open(link.as_ptr(), libc::O_CREAT | libc::O_RDWR, 0o600) };
    let flags = 0x80u64;
    for (name, request) in [
        ("flags", 0x4008_6602u64),
        ("a project", 0x401c_5820),
        ("a version", 0x4008_7602),
        ("a seal (verity)", 0x4080_6685),
        ("a cipher", 0x800c_6613),
    ] {
        attempt!(
            rows,
            "EPERM",
            &format!("attributes of a file: {name}"),
            libc::SYS_ioctl,
            own,
            request,
            &raw const flags
        );
    }
    // `struct space_resv`, with 1 MiB from the beginning.
    let room = [0u64, 0, 1 << 20, 0, 0, 0];
    for (name, request) in [
        ("take", 0x4030_5828u64),
        ("give back", 0x4030_5829),
        ("take (64 bits)", 0x4030_582a),
        ("give back (64 bits)", 0x4030_582b),
        ("zeros", 0x4030_5839),
    ] {
        attempt!(
            rows,
            "EPERM",
            &format!("disk in no time by another way: {name}"),
            libc::SYS_ioctl,
            own,
            request,
            room.as_ptr()
        );
    }
    // SAFETY: as above.
    unsafe { libc::unlink(link.as_ptr()) };
    let target = CString::new("/etc/passwd").expect("a path");
    attempt!(
        rows,
        "EXDEV EACCES EPERM",
        "a hard link to a file outside",
        libc::SYS_linkat,
        libc::AT_FDCWD,
        target.as_ptr(),
        libc::AT_FDCWD,
        link.as_ptr(),
        0
    );
    attempt!(
        rows,
        "EXDEV EACCES EPERM",
        "take a file from outside",
        libc::SYS_renameat2,
        libc::AT_FDCWD,
        target.as_ptr(),
        libc::AT_FDCWD,
        link.as_ptr(),
        0
    );
}

/// Fills memory and closes it to writing, piece by piece: the kernel's limit counts only what can
/// be written to. Tells how much it got.
pub(crate) fn hoard_memory() -> Value {
    const PIECE: usize = 64 << 20;
    for piece in 0..32 {
        // SAFETY: the memory is its own, and is given up with the process.
        unsafe {
            let at = libc::mmap(
                std::ptr::null_mut(),
                PIECE,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            if at == libc::MAP_FAILED {
                return json!(format!("refused after {piece} pieces"));
            }
            std::ptr::write_bytes(at.cast::<u8>(), 1, PIECE);
            libc::mprotect(at, PIECE, libc::PROT_READ);
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    json!("2 GiB")
}

/// Keeps a file on the disk that has no name and no descriptor, by memory that leads to it, and
/// waits.
pub(crate) fn hoard_files() -> Value {
    let path = std::env::temp_dir().join("hoarded");
    std::fs::write(&path, vec![1; 1 << 20]).expect("writes");
    let file = std::fs::File::open(&path).expect("opens");
    // SAFETY: the memory is its own, and is given up with the process.
    let at = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            4096,
            libc::PROT_READ,
            libc::MAP_PRIVATE,
            std::os::fd::AsRawFd::as_raw_fd(&file),
            0,
        )
    };
    drop(file);
    std::fs::remove_file(&path).expect("removes");
    std::thread::sleep(std::time::Duration::from_secs(30));
    json!(format!("kept: {}", at != libc::MAP_FAILED))
}

/// Watches one file under many numbers, in several epolls, and waits. Tells how many it got.
pub(crate) fn hoard_watches() -> Value {
    let mut watches = 0;
    // SAFETY: plain system calls on descriptors of its own.
    unsafe {
        for _ in 0..10 {
            let epoll = libc::epoll_create1(0);
            for number in 100..1000 {
                let mut event = libc::epoll_event { events: 0, u64: 0 };
                let copy = libc::fcntl(3, libc::F_DUPFD, number);
                watches += i32::from(
                    libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, copy, &raw mut event) == 0,
                );
                libc::close(copy);
            }
        }
    }
    std::thread::sleep(std::time::Duration::from_secs(30));
    json!(watches)
}

/// Ends the thread that speaks to the server and goes on in another, of which less is to be seen.
pub(crate) fn end_the_first_thread() -> Value {
    std::thread::spawn(|| std::thread::sleep(std::time::Duration::from_secs(300)));
    // SAFETY: the thread has nothing left to do.
    unsafe { libc::syscall(libc::SYS_exit, 0) };
    json!("ended")
}
