//! The files that Node needs to run.

use std::path::{Path, PathBuf};

/// What hosts may read beside Node and what is their own: libraries, and what names, certificates and times are looked up in. Nothing here
/// is private on any usual system.
pub(super) const READABLE: &[&str] = &[
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

/// A Node that was found, and where its parts are.
#[derive(Clone, Debug)]
pub(crate) struct NodeFiles {
    /// The real path of the binary.
    pub(crate) binary: PathBuf,
    /// Such as `20.20.2`.
    pub(crate) version: String,
    /// The binary and the loader of shared libraries.
    pub(crate) executable: Vec<PathBuf>,
    /// Folders of libraries that Node has loaded.
    pub(crate) libraries: Vec<PathBuf>,
}

impl NodeFiles {
    /// `mapped`: the files that a running Node has mapped.
    pub(crate) fn new(binary: PathBuf, version: &str, mapped: impl Iterator<Item = PathBuf>) -> Self {
        let (mut executable, mut libraries) = (vec![binary.clone()], Vec::new());
        for path in mapped.filter(|p| *p != binary) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with("ld-") || name.starts_with("ld64") || name.starts_with("ld.") {
                executable.push(path);
            } else if let Some(folder) = path.parent().filter(|_| name.contains(".so")).map(Path::to_owned)
                && !libraries.contains(&folder)
            {
                libraries.push(folder);
            }
        }
        Self { binary, version: version.to_owned(), executable, libraries }
    }
}
