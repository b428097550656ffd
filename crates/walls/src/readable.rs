//! Paths that any process may read: nothing there is private on any usual system.

/// Libraries, and what names, certificates and times are looked up in.
pub const READABLE: &[&str] = &[
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    // Names.
    "/etc/resolv.conf",
    "/run/systemd/resolve",
    "/etc/hosts",
    "/etc/host.conf",
    "/etc/nsswitch.conf",
    "/etc/gai.conf",
    "/etc/services",
    "/etc/protocols",
    // Certificates; /etc/ssl/private is not among them.
    "/etc/ssl/openssl.cnf",
    "/etc/ssl/certs",
    "/etc/ssl/cert.pem",
    "/etc/pki/tls/openssl.cnf",
    "/etc/pki/tls/certs",
    "/etc/pki/ca-trust/extracted",
    "/etc/crypto-policies",
    "/usr/share/ca-certificates",
    "/usr/local/share/ca-certificates",
    // Times.
    "/etc/localtime",
    "/usr/share/zoneinfo",
    // Numbers of the machine, for `os.*`.
    "/proc/meminfo",
    "/proc/cpuinfo",
    "/proc/stat",
    "/proc/loadavg",
    "/proc/uptime",
    "/proc/version_signature",
    "/proc/sys/vm/overcommit_memory",
    "/sys/devices/system/cpu",
    // Devices without a side effect.
    "/dev/urandom",
    "/dev/random",
    "/dev/zero",
];
