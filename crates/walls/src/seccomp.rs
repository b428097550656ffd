//! System-call filter (seccomp-bpf). Calls that Node and programs of ours need stay open; those
//! that open the kernel, other processes or other files are refused.
//!
//! A list of what is refused, not of what is allowed: Node and V8 call what the C library of the
//! day calls, and a call missing from a list of allowed ones kills components on some machine that
//! nobody tested. What the list would miss still stands before Landlock, no_new_privs and a process
//! without capabilities.

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::io;

use libc::{c_char, c_long};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, sock_filter,
};

use crate::checked;

/// Stands for the host's own process id, which is known only after the fork: `install` puts it in.
const OWN_PID: u64 = 0x5eed_1d00;

/// Numbers of the kernel's that libc does not name for all machines.
const F_SETSIG: i32 = 10;
const F_SETOWN_EX: i32 = 15;
const FIOSETOWN: u64 = 0x8901;
const SIOCSPGRP: u64 = 0x8902;
/// `FS_IOC_SETFLAGS`, its form of 32 bits, `FS_IOC_FSSETXATTR`, `FS_IOC_SETVERSION`,
/// `FS_IOC_ENABLE_VERITY`, `FS_IOC_SET_ENCRYPTION_POLICY`.
const ATTRIBUTES_OF_FILES: [u64; 6] =
    [0x4008_6602, 0x4004_6602, 0x401c_5820, 0x4008_7602, 0x4080_6685, 0x800c_6613];
/// `FS_IOC_RESVSP`, `FS_IOC_UNRESVSP`, their forms of 64 bits, `FS_IOC_ZERO_RANGE`: `fallocate` by
/// other names, and without regard to how large a file may be.
const ROOM_IN_FILES: [u64; 5] = [0x4030_5828, 0x4030_5829, 0x4030_582a, 0x4030_582b, 0x4030_5839];
const F_SETPIPE_SZ: i32 = 1031;
const F_OFD_SETLKW: i32 = 38;
/// `SO_SNDTIMEO` in both its forms: how long a connect waits, which the egress guard says.
const SENDING_TIMEOUTS: [i32; 2] = [21, 67];
const CLOSE_RANGE_UNSHARE: u64 = 2;

/// Refused whatever the arguments.
const REFUSED: &[c_long] = &[
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_process_mrelease,
    libc::SYS_kcmp,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pidfd_send_signal,
    libc::SYS_tkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    // They take the id of any process of the same user: the server could be starved.
    libc::SYS_setpriority,
    libc::SYS_ioprio_set,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setattr,
    libc::SYS_sched_setaffinity,
    // Memory and queues that all processes of a user share. Those that are there already are used
    // by their numbers, without being opened.
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmdt,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semctl,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_msgget,
    libc::SYS_msgctl,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_mq_notify,
    libc::SYS_mq_timedsend,
    libc::SYS_mq_timedreceive,
    libc::SYS_mq_getsetattr,
    // All processes of the machine share how many reads and writes may be queued with the kernel.
    libc::SYS_io_setup,
    // It takes disk in no time. A file that was removed and closed stays for as long as a thread
    // reads it, where nobody counts it: so it costs its own writing first.
    libc::SYS_fallocate,
    // Rules keep files that were removed on the disk, where nobody sees them. The host's own walls
    // stand by now.
    libc::SYS_landlock_create_ruleset,
    libc::SYS_landlock_add_rule,
    libc::SYS_landlock_restrict_self,
    // Taking connections. A socket that was bound to no port listens on one of the kernel's choice,
    // which Landlock does not see.
    libc::SYS_listen,
    libc::SYS_accept4,
    // Programs that are in no file.
    libc::SYS_execveat,
    libc::SYS_memfd_create,
    libc::SYS_memfd_secret,
    // Mounts and namespaces.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_unshare,
    libc::SYS_setns,
    // Parts of the kernel with a record.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_splice,
    libc::SYS_tee,
    libc::SYS_vmsplice,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_fanotify_init,
    // It tells what happens in folders that cannot be read, names included, and all processes of a
    // user share how many there may be.
    libc::SYS_inotify_init1,
    libc::SYS_inotify_add_watch,
    libc::SYS_personality,
    // The machine.
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_syslog,
    libc::SYS_quotactl,
    // quotactl_fd
    443,
    // Where memory lies among CPUs: the kernel's own notes of that are counted by no limit.
    // The last is set_mempolicy_home_node.
    libc::SYS_mbind,
    libc::SYS_set_mempolicy,
    450,
    // map_shadow_stack: memory that the limit of a process's data does not count.
    453,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_vhangup,
    // Files by other ways than their path, and changes that Landlock does not see: extended
    // attributes everywhere, and emptying a file by its path on kernels before 6.2.
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    libc::SYS_mknodat,
    libc::SYS_truncate,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    // statmount, listmount, lsm_set_self_attr, setxattrat, removexattrat, open_tree_attr,
    // file_setattr, listns: numbers that libc does not name yet, the same on all machines. The
    // first two tell what /proc/self/mountinfo would, which is closed.
    457,
    458,
    460,
    463,
    466,
    467,
    469,
    470,
];

#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: &[c_long] = &[
    libc::SYS_fork,
    libc::SYS_vfork,
    libc::SYS_accept,
    libc::SYS_mknod,
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_kexec_file_load,
    libc::SYS_modify_ldt,
    libc::SYS_inotify_init,
];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_HERE: &[c_long] = &[];

/// Done in appearance only. Landlock does not see changes of rights, owners and times, so a host
/// could take the server's own files from it; a refusal would break what unpacks archives and
/// copies files, which sets them for good measure.
const PRETENDED: &[c_long] = &[
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    // fchmodat2
    452,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    // What all processes of the machine have written goes to its disks at once: the server's own
    // commits would wait for it. `fsync` stays.
    libc::SYS_sync,
    libc::SYS_syncfs,
];

#[cfg(target_arch = "x86_64")]
const PRETENDED_HERE: &[c_long] = &[
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
];
#[cfg(not(target_arch = "x86_64"))]
const PRETENDED_HERE: &[c_long] = &[];

/// Options of `prctl` that are open: what Node, V8 and the C library set and what cannot change
/// anything. Of others some take memory that no limit counts (`PR_FUTEX_HASH`, 1 GiB at once), and
/// some would close the process to the server or let it live on without it.
const PRCTL: [i32; 10] = [
    libc::PR_SET_NAME,
    libc::PR_GET_NAME,
    libc::PR_SET_VMA,
    libc::PR_SET_TIMERSLACK,
    libc::PR_GET_TIMERSLACK,
    libc::PR_GET_DUMPABLE,
    libc::PR_GET_PDEATHSIG,
    libc::PR_GET_SECCOMP,
    libc::PR_GET_NO_NEW_PRIVS,
    libc::PR_CAPBSET_READ,
];

#[cfg(target_arch = "x86_64")]
const ARCH: TargetArch = TargetArch::x86_64;
#[cfg(not(target_arch = "x86_64"))]
const ARCH: TargetArch = TargetArch::aarch64;

/// Whose calls they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// A component's: Node, which is started within the walls ([`last`] lets only that start pass).
    Host,
    /// A program of ours that connects and writes, and starts nothing. What it wrote is on the disk
    /// before it is relied on (`syncfs`).
    Fetches,
    /// A program of ours that starts nothing, connects to nothing, and answers on what it was
    /// given.
    Computes,
}

type Rules = BTreeMap<c_long, Vec<SeccompRule>>;

/// What a start shows to pass: two numbers that nobody can guess, in registers which the kernel
/// does not read at `execve` and clears.
#[derive(Clone, Copy)]
pub struct Pass([u64; 2]);

impl Pass {
    /// A new one.
    ///
    /// # Errors
    /// Where the kernel gives no random numbers.
    #[expect(unsafe_code, reason = "a system call without a safe wrapper")]
    pub fn new() -> io::Result<Self> {
        /// Set in each half: no line of a filter that compares one is taken for the process's id,
        /// which [`install`] puts in.
        const NO_MARK: u64 = 0x8000_0000_8000_0000;
        let mut numbers = [0u64; 2];
        // SAFETY: the kernel writes as many bytes as there are; so few come all at once.
        checked(unsafe { libc::getrandom(numbers.as_mut_ptr().cast(), size_of_val(&numbers), 0) }
            as c_long)?;
        Ok(Self(numbers.map(|number| number | NO_MARK)))
    }

    /// Replaces the process by a program; comes back with the error where that fails. It only makes
    /// a system call.
    #[expect(
        unsafe_code,
        reason = "a system call with arguments that the C library's function does not have"
    )]
    pub fn execute(
        &self,
        program: &CStr,
        args: &[*const c_char],
        env: &[*const c_char],
    ) -> io::Error {
        let ends = |list: &[*const c_char]| list.last().is_some_and(|last| last.is_null());
        if !ends(args) || !ends(env) {
            return io::Error::from_raw_os_error(libc::EINVAL);
        }
        let [first, second] = self.0;
        // SAFETY: texts that end, in lists that end, as was looked at; the kernel reads three
        // arguments.
        unsafe {
            libc::syscall(
                libc::SYS_execve,
                program.as_ptr(),
                args.as_ptr(),
                env.as_ptr(),
                first,
                second,
            )
        };
        io::Error::last_os_error()
    }
}

/// The filter that is put up last: no other comes after it, for each takes memory that all
/// processes of the machine share. Of starts of programs only one that shows the pass gets through:
/// a second thread that made one would take the process over, and what ends it with the server is
/// bound to its first.
///
/// # Errors
/// Where a rule is not of the form that seccomp knows: a mistake here.
pub fn last(pass: Option<Pass>) -> io::Result<BpfProgram> {
    let one = |n: u8, len: SeccompCmpArgLen, op: SeccompCmpOp, value: u64| {
        SeccompCondition::new(n, len, op, value)
            .and_then(|condition| SeccompRule::new(vec![condition]))
            .map_err(io::Error::other)
    };
    let mut rules = Rules::from([
        (libc::SYS_seccomp, Vec::new()),
        (
            libc::SYS_prctl,
            vec![one(
                0,
                SeccompCmpArgLen::Dword,
                SeccompCmpOp::Eq,
                u64::from(libc::PR_SET_SECCOMP.cast_unsigned()),
            )?],
        ),
    ]);
    if let Some(Pass([first, second])) = pass {
        let differs = |n, number| one(n, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, number);
        rules.insert(libc::SYS_execve, vec![differs(3, first)?, differs(4, second)?]);
    }
    refusing(rules, libc::EPERM)
}

fn refusing(rules: Rules, errno: i32) -> io::Result<BpfProgram> {
    let answer = SeccompAction::Errno(u32::try_from(errno).unwrap_or(0));
    let filter =
        SeccompFilter::new(rules, SeccompAction::Allow, answer, ARCH).map_err(io::Error::other)?;
    BpfProgram::try_from(filter).map_err(io::Error::other)
}

/// The filters, made before the fork. [`last`] goes after them.
///
/// # Errors
/// Where a rule is not of the form that seccomp knows: a mistake here.
pub fn filters(profile: Profile) -> io::Result<Vec<BpfProgram>> {
    let mut refused: Rules =
        REFUSED.iter().chain(REFUSED_HERE).map(|call| (*call, Vec::new())).collect();
    refused.extend(by_arguments().map_err(io::Error::other)?);
    let more: &[c_long] = match profile {
        Profile::Host => &[],
        Profile::Fetches => &[libc::SYS_execve],
        Profile::Computes => &[
            libc::SYS_execve,
            libc::SYS_socket,
            libc::SYS_socketpair,
            libc::SYS_connect,
            libc::SYS_bind,
        ],
    };
    refused.extend(more.iter().map(|call| (*call, Vec::new())));
    let mut pretended: Rules =
        PRETENDED.iter().chain(PRETENDED_HERE).map(|call| (*call, Vec::new())).collect();
    if profile == Profile::Fetches {
        pretended.remove(&libc::SYS_syncfs);
    }
    pretended.insert(libc::SYS_setsockopt, vec![lingering().map_err(io::Error::other)?]);
    // Its arguments are behind a pointer; the C library takes clone where it is missing.
    let missing = Rules::from([(libc::SYS_clone3, Vec::new())]);
    let mut filters = vec![no_x32()];
    let unknown = unknown().map_err(io::Error::other)?;
    for (rules, errno) in
        [(refused, libc::EPERM), (pretended, 0), (missing, libc::ENOSYS), (unknown, libc::EINVAL)]
    {
        filters.push(refusing(rules, errno)?);
    }
    Ok(filters)
}

/// What is answered as a kernel does that does not know it.
fn unknown() -> Result<Rules, seccompiler::BackendError> {
    let arg = |n: u8, op: SeccompCmpOp, value: i32| {
        SeccompCondition::new(n, SeccompCmpArgLen::Dword, op, u64::from(value.cast_unsigned()))
    };
    let other =
        PRCTL.iter().map(|option| arg(0, SeccompCmpOp::Ne, *option)).collect::<Result<_, _>>()?;
    Ok(Rules::from([
        // A thread that waits in it, for room in a pipe, holds its file: removed and closed, it
        // stays on the disk and is in no list. Who copies files goes on by reading and writing
        // (libuv's `uv__fs_sendfile`, which tries `copy_file_range` first; Rust's `io::copy`).
        (libc::SYS_sendfile, Vec::new()),
        (libc::SYS_prctl, vec![SeccompRule::new(other)?]),
        // Memory that the kernel looks through all the time for what others have too, with notes
        // about each page.
        (
            libc::SYS_madvise,
            vec![SeccompRule::new(vec![arg(2, SeccompCmpOp::Eq, libc::MADV_MERGEABLE)?])?],
        ),
    ]))
}

/// Whoever closes a socket last would wait for its other side, for as long as was asked for: the
/// egress guard, where the host closed it while the guard had it in hand. Node asks for no waiting
/// at all (`resetAndDestroy`), and its connection is closed in the usual way then.
fn lingering() -> Result<SeccompRule, seccompiler::BackendError> {
    let arg = |n: u8, value: i32| {
        SeccompCondition::new(
            n,
            SeccompCmpArgLen::Dword,
            SeccompCmpOp::Eq,
            u64::from(value.cast_unsigned()),
        )
    };
    SeccompRule::new(vec![arg(1, libc::SOL_SOCKET)?, arg(2, libc::SO_LINGER)?])
}

fn by_arguments() -> Result<Rules, seccompiler::BackendError> {
    use SeccompCmpOp::{Eq, MaskedEq, Ne};
    let arg = |n: u8, op: SeccompCmpOp, value: u64| {
        SeccompCondition::new(n, SeccompCmpArgLen::Dword, op, value)
    };
    let number = |n: i32| u64::from(n.cast_unsigned());
    let rule = |conditions: Vec<SeccompCondition>| SeccompRule::new(conditions);
    const SHARED_MEMORY: u64 = (libc::MAP_SHARED | libc::MAP_ANONYMOUS) as u64;
    const GROWS_DOWN: u64 = libc::MAP_GROWSDOWN as u64;
    // Of the machine's pool of large pages, which no limit of a process counts.
    const LARGE_PAGES: u64 = libc::MAP_HUGETLB as u64;
    let (inet, inet6, netlink) =
        (number(libc::AF_INET), number(libc::AF_INET6), number(libc::AF_NETLINK));
    // Local sockets too: they lead to the services of the machine. Names are looked up without
    // them. The routing table stays open: without it `os.networkInterfaces()` throws, and reading
    // is all that can be done with it.
    let mut socket = vec![
        rule(vec![arg(0, Ne, inet)?, arg(0, Ne, inet6)?, arg(0, Ne, netlink)?])?,
        rule(vec![arg(0, Eq, netlink)?, arg(2, Ne, number(libc::NETLINK_ROUTE))?])?,
    ];
    // Other protocols of the same families connect in ways of their own, which the egress guard
    // does not see (SCTP by an option, MPTCP to what the other side names).
    for domain in [inet, inet6] {
        socket.push(rule(vec![
            arg(0, Eq, domain)?,
            arg(2, Ne, 0)?,
            arg(2, Ne, number(libc::IPPROTO_TCP))?,
            arg(2, Ne, number(libc::IPPROTO_UDP))?,
        ])?);
    }
    // Options that lead packets by way of addresses which nobody connected to: source routes.
    let mut option = vec![rule(vec![
        arg(1, Eq, number(libc::IPPROTO_IP))?,
        arg(2, Eq, number(libc::IP_OPTIONS))?,
    ])?];
    /// `IPV6_2292RTHDR`, `IPV6_2292PKTOPTIONS`, `IPV6_FLOWLABEL_MGR`, `IPV6_RTHDRDSTOPTS`,
    /// `IPV6_RTHDR`.
    const IPV6_ROUTES: [u64; 5] = [5, 6, 32, 55, 57];
    for name in IPV6_ROUTES {
        option.push(rule(vec![arg(1, Eq, number(libc::IPPROTO_IPV6))?, arg(2, Eq, name)?])?);
    }
    // The interface that packets leave by, whatever the routes say; programs and protocols of the
    // kernel's that nothing here needs.
    /// `SO_ATTACH_REUSEPORT_CBPF`, `SO_ATTACH_REUSEPORT_EBPF`: numbers that libc does not name.
    const REUSEPORT_PROGRAMS: [i32; 2] = [51, 52];
    let programs = [
        libc::SO_BINDTODEVICE,
        libc::SO_BINDTOIFINDEX,
        libc::SO_ATTACH_FILTER,
        libc::SO_ATTACH_BPF,
    ];
    for name in programs.into_iter().chain(REUSEPORT_PROGRAMS).chain(SENDING_TIMEOUTS) {
        option.push(rule(vec![arg(1, Eq, number(libc::SOL_SOCKET))?, arg(2, Eq, number(name))?])?);
    }
    /// `IP_UNICAST_IF`, `IPV6_UNICAST_IF`, `UDP_ENCAP`: as above.
    const BY_NUMBER: [(i32, u64); 3] =
        [(libc::IPPROTO_IP, 50), (libc::IPPROTO_IPV6, 76), (libc::IPPROTO_UDP, 100)];
    /// `IP_LOCAL_PORT_RANGE`: of one port, it would be one of the host's choice.
    /// `NETLINK_ADD_MEMBERSHIP`, `NETLINK_DROP_MEMBERSHIP`: who joins a group hears of changed
    /// routes.
    const CHOICES: [(i32, u64); 3] =
        [(libc::IPPROTO_IP, 51), (libc::SOL_NETLINK, 1), (libc::SOL_NETLINK, 2)];
    for (level, name) in BY_NUMBER.into_iter().chain(CHOICES) {
        option.push(rule(vec![arg(1, Eq, number(level))?, arg(2, Eq, name)?])?);
    }
    // The source address of packets and, with it, the interface they leave by; and groups, in whose
    // name the machine would call for what is sent to many.
    /// `IPV6_2292PKTINFO`, `IPV6_PKTINFO`, `IPV6_JOIN_GROUP`, `IPV6_JOIN_ANYCAST`;
    /// `IP_ADD_MEMBERSHIP`, `IP_ADD_SOURCE_MEMBERSHIP`, `IP_MSFILTER`.
    const OF_IPV6: [u64; 4] = [2, 50, 20, 27];
    const OF_IPV4: [u64; 3] = [35, 39, 41];
    /// `MCAST_JOIN_GROUP`, `MCAST_JOIN_SOURCE_GROUP`, `MCAST_MSFILTER`, of both.
    const GROUPS: [u64; 3] = [42, 46, 48];
    for (level, names) in [
        (libc::IPPROTO_IPV6, &OF_IPV6[..]),
        (libc::IPPROTO_IP, &OF_IPV4),
        (libc::IPPROTO_IPV6, &GROUPS),
        (libc::IPPROTO_IP, &GROUPS),
    ] {
        for name in names {
            option.push(rule(vec![arg(1, Eq, number(level))?, arg(2, Eq, *name)?])?);
        }
    }
    for name in [libc::TCP_ULP, libc::TCP_SYNCNT] {
        option.push(rule(vec![arg(1, Eq, number(libc::IPPROTO_TCP))?, arg(2, Eq, number(name))?])?);
    }
    // A descriptor's owner gets a signal of one's choice when something arrives: so a process of
    // the same user is ended without `kill`. Landlock sees it from Linux 6.12 on. And a lease makes
    // whoever opens the file wait for 45 seconds: artifacts are the same files for all hosts. Room
    // in pipes is counted for all processes of a user. And who waits for a lock that the same host
    // holds elsewhere waits for ever, and holds its file, which is in no list once it was closed.
    // Waiting for `flock` cannot do that: only another descriptor of the file holds it, which is
    // seen, or was closed and gave it back.
    let commands = [
        libc::F_SETOWN,
        F_SETOWN_EX,
        F_SETSIG,
        libc::F_NOTIFY,
        libc::F_SETLEASE,
        F_SETPIPE_SZ,
        libc::F_SETLKW,
        F_OFD_SETLKW,
    ];
    let commands = commands
        .into_iter()
        .map(|command| rule(vec![arg(1, Eq, number(command))?]))
        .collect::<Result<Vec<_>, seccompiler::BackendError>>()?;
    /// The bits of a socket's type that are no flags.
    const TYPE: u64 = 0xf;
    /// An old name for raw sockets.
    const SOCK_PACKET: i32 = 10;
    for domain in [inet, inet6] {
        for kind in
            [libc::SOCK_RAW, libc::SOCK_RDM, libc::SOCK_SEQPACKET, libc::SOCK_DCCP, SOCK_PACKET]
        {
            socket.push(rule(vec![arg(0, Eq, domain)?, arg(1, MaskedEq(TYPE), number(kind))?])?);
        }
    }
    Ok(BTreeMap::from([
        (libc::SYS_socket, socket),
        // The kernel makes both sockets before it finds that their family knows no pairs.
        (libc::SYS_socketpair, vec![rule(vec![arg(0, Ne, number(libc::AF_UNIX))?])?]),
        (libc::SYS_setsockopt, option),
        // Threads yes, processes no. Descriptors that one thread has for itself alone are not seen
        // in /proc/<pid>/fd, where removed files are counted; and a folder that one thread alone
        // stands in stays, as large as it was, when it is removed.
        (
            libc::SYS_clone,
            [libc::CLONE_THREAD, libc::CLONE_FILES, libc::CLONE_FS]
                .into_iter()
                .map(|flag| rule(vec![arg(0, MaskedEq(number(flag)), 0)?]))
                .collect::<Result<_, seccompiler::BackendError>>()?,
        ),
        (
            libc::SYS_close_range,
            vec![rule(vec![arg(2, MaskedEq(CLOSE_RANGE_UNSHARE), CLOSE_RANGE_UNSHARE)?])?],
        ),
        // Memory that the limit of a process's data does not count: shared with nobody, and stacks
        // that grow by themselves.
        (
            libc::SYS_mmap,
            [SHARED_MEMORY, GROWS_DOWN, LARGE_PAGES]
                .into_iter()
                .map(|flags| rule(vec![arg(3, MaskedEq(flags), flags)?]))
                .collect::<Result<_, seccompiler::BackendError>>()?,
        ),
        // Signals to itself only. Landlock says the same, on newer kernels.
        (libc::SYS_kill, vec![rule(vec![arg(0, Ne, OWN_PID)?])?]),
        (libc::SYS_tgkill, vec![rule(vec![arg(0, Ne, OWN_PID)?])?]),
        (libc::SYS_prlimit64, vec![rule(vec![arg(0, Ne, 0)?, arg(0, Ne, OWN_PID)?])?]),
        (libc::SYS_fcntl, commands),
        // Typing into a terminal, and its clipboard; the owner of a descriptor by another way;
        // attributes of files, also of an artifact that it only reads; disk without writing.
        (
            libc::SYS_ioctl,
            [libc::TIOCSTI, libc::TIOCLINUX, FIOSETOWN, SIOCSPGRP]
                .into_iter()
                .chain(ATTRIBUTES_OF_FILES)
                .chain(ROOM_IN_FILES)
                .map(|request| rule(vec![arg(1, Eq, request)?]))
                .collect::<Result<_, seccompiler::BackendError>>()?,
        ),
    ]))
}

/// A second set of numbers for the same calls (x32), which the lists above do not name.
fn no_x32() -> BpfProgram {
    const LOAD_NUMBER: u16 = 0x20;
    const JUMP_IF_AT_LEAST: u16 = 0x35;
    const RETURN: u16 = 0x06;
    const FIRST_X32: u32 = 0x4000_0000;
    let line = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    vec![
        line(LOAD_NUMBER, 0, 0, 0),
        line(JUMP_IF_AT_LEAST, 0, 1, FIRST_X32),
        line(RETURN, 0, 0, libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned()),
        line(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
    ]
}

/// In the process itself: puts the filters up, for the thread that calls and those it starts. It
/// only makes system calls.
///
/// # Errors
/// Where the kernel refuses it.
#[expect(unsafe_code, reason = "system calls without a safe wrapper")]
pub fn install(filters: &mut [BpfProgram]) -> io::Result<()> {
    /// `struct sock_fprog`
    #[repr(C)]
    struct Program {
        len: u16,
        filter: *const sock_filter,
    }
    const SECCOMP_SET_MODE_FILTER: u32 = 1;
    // SAFETY: it cannot fail.
    let pid = unsafe { libc::getpid() }.cast_unsigned();
    for filter in filters {
        for line in filter.iter_mut().filter(|line| u64::from(line.k) == OWN_PID) {
            line.k = pid;
        }
        let program = Program {
            len: u16::try_from(filter.len()).unwrap_or(u16::MAX),
            filter: filter.as_ptr(),
        };
        // SAFETY: the program's lines live as long as the call.
        checked(unsafe {
            libc::syscall(libc::SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0u32, &raw const program)
        })?;
    }
    Ok(())
}
