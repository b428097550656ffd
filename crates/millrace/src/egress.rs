//! Facts that the egress policy needs of this machine and of names, refreshed every few seconds.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::{Duration, Instant};

use millrace_model::egress::{Allow, Policy, Shared};
use tokio::net::lookup_host;

/// How often it is looked.
const LOOK: Duration = Duration::from_secs(15);
/// How long an address of an allowed name stays open that its name is not given any more: who
/// serves a name with many addresses gives others to each who asks, and a component may have asked
/// earlier than we.
const ADDRESS_AGE_MAX: Duration = Duration::from_secs(600);
/// How long a name may take.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(5);

/// Looks up what the policy depends on.
pub struct Surroundings {
    allow: Vec<Allow>,
    /// Names or addresses and ports.
    database: Vec<(String, u16)>,
    seen: BTreeMap<String, BTreeMap<IpAddr, Instant>>,
}

impl Surroundings {
    pub fn new(allow: Vec<Allow>, database: Vec<(String, u16)>) -> Self {
        Self { allow, database, seen: BTreeMap::new() }
    }

    /// The policy of now, which is kept up to date for as long as the process runs.
    pub async fn watch(mut self) -> Shared {
        let shared = Shared::from(self.look().await);
        for name in
            shared.get().named.iter().filter(|(_, ips)| ips.is_empty()).map(|(name, _)| name)
        {
            tracing::warn!(
                name,
                "a name given with --egress-allow leads nowhere; it stays closed until it does"
            );
        }
        let kept = shared.clone();
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(LOOK).await;
                let policy = self.look().await;
                if policy != *kept.get() {
                    kept.set(policy);
                }
            }
        });
        shared
    }

    /// What is so now.
    pub async fn look(&mut self) -> Policy {
        let mut policy = Policy {
            allow: self.allow.clone(),
            resolvers: resolvers().await,
            own: own_addresses(),
            ..Policy::default()
        };
        let names: Vec<String> = policy.names().map(str::to_owned).collect();
        for name in names {
            let found = addresses(&name, 0).await;
            let seen = self.seen.entry(name.clone()).or_default();
            seen.extend(found.into_iter().map(|a| (a.ip(), Instant::now())));
            seen.retain(|_, at| at.elapsed() < ADDRESS_AGE_MAX);
            policy.named.insert(name, seen.keys().copied().collect());
        }
        for (host, port) in &self.database {
            policy.database.extend(addresses(host, *port).await);
        }
        policy
    }
}

/// None where it takes too long, or there are none.
async fn addresses(name: &str, port: u16) -> Vec<SocketAddr> {
    let found = tokio::time::timeout(LOOKUP_TIMEOUT, lookup_host((name, port))).await;
    found.ok().and_then(Result::ok).into_iter().flatten().collect()
}

async fn resolvers() -> Vec<IpAddr> {
    let text = tokio::fs::read_to_string("/etc/resolv.conf").await.unwrap_or_default();
    let found = parse_resolvers(&text);
    // What the C library asks where the file names none.
    if found.is_empty() { vec![Ipv4Addr::LOCALHOST.into()] } else { found }
}

fn parse_resolvers(text: &str) -> Vec<IpAddr> {
    let servers = text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        (words.next() == Some("nameserver")).then(|| words.next()).flatten()
    });
    // The interface of a link-local address.
    servers.filter_map(|server| server.split('%').next()?.parse().ok()).collect()
}

/// The addresses of this machine's interfaces.
#[expect(unsafe_code, reason = "system calls without a safe wrapper")]
fn own_addresses() -> Vec<IpAddr> {
    let mut found = Vec::new();
    let mut list: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: the list is the C library's until it is freed; an address is read as what its family
    // says.
    unsafe {
        if libc::getifaddrs(&raw mut list) != 0 {
            tracing::warn!(error = %std::io::Error::last_os_error(), "could not list this machine's addresses; those that are public are not closed");
            return found;
        }
        let mut at = list;
        while let Some(entry) = at.as_ref() {
            if let Some(address) = entry.ifa_addr.as_ref() {
                match i32::from(address.sa_family) {
                    libc::AF_INET => {
                        let v4 = entry.ifa_addr.cast::<libc::sockaddr_in>().read_unaligned();
                        found.push(Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr)).into());
                    }
                    libc::AF_INET6 => {
                        let v6 = entry.ifa_addr.cast::<libc::sockaddr_in6>().read_unaligned();
                        found.push(Ipv6Addr::from(v6.sin6_addr.s6_addr).into());
                    }
                    _ => {}
                }
            }
            at = entry.ifa_next;
        }
        libc::freeifaddrs(list);
    }
    found.sort();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resolvers_are_read_as_the_c_library_reads_them() {
        let text = "# nameserver 1.1.1.1\nsearch example.test\nnameserver 127.0.0.53\n  nameserver\tfe80::1%eth0\nnameserver x\noptions edns0\nnameserver ::1\n";
        let expected: Vec<IpAddr> = ["127.0.0.53", "fe80::1", "::1"]
            .iter()
            .map(|a| a.parse().expect("an address"))
            .collect();
        assert_eq!(parse_resolvers(text), expected);
    }

    #[tokio::test]
    async fn names_interfaces_and_the_database_are_looked_up() {
        let allow = vec![
            "localhost:1".parse().expect("a name"),
            "no-such-name.invalid".parse().expect("a name"),
        ];
        let policy = Surroundings::new(allow, vec![("127.0.0.1".into(), 5432)]).look().await;
        assert!(policy.own.contains(&Ipv4Addr::LOCALHOST.into()), "{policy:?}");
        assert!(
            policy.named["localhost"].iter().all(IpAddr::is_loopback)
                && !policy.named["localhost"].is_empty()
        );
        assert!(policy.named["no-such-name.invalid"].is_empty());
        assert_eq!(policy.database, ["127.0.0.1:5432".parse().expect("an address")]);
        assert!(policy.decide("127.0.0.1:1".parse().expect("an address")).is_ok());
        assert!(policy.decide("127.0.0.1:2".parse().expect("an address")).is_err());
    }
}
