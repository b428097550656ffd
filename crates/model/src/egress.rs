//! Egress policy: addresses that untrusted code may reach, and addresses that may be fetched for
//! it. Pure: the caller looks up names, resolvers and the machine's own addresses, and puts them
//! into the [`Policy`].

mod allow;
mod ranges;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, PoisonError, RwLock};

use serde::{Deserialize, Serialize};

pub use self::allow::{Allow, BadAllow, Target};
pub use self::ranges::canonical;

/// The port that names are asked for on.
pub const DNS_PORT: u16 = 53;

/// What is open and closed. The default opens public addresses and nothing else.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// What the operator opens: it wins over all that follows.
    pub allow: Vec<Allow>,
    /// Addresses of the names among `allow`, by name.
    pub named: BTreeMap<String, Vec<IpAddr>>,
    /// The resolvers of /etc/resolv.conf: open on port 53, wherever they are. Others are closed on
    /// that port.
    pub resolvers: Vec<IpAddr>,
    /// Addresses of this machine's interfaces.
    pub own: Vec<IpAddr>,
    /// Where the server's database is.
    pub database: Vec<SocketAddr>,
}

/// Why an address is closed.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "EgressRule")]
pub enum Rule {
    /// 127.0.0.0/8 and `::1`.
    Loopback,
    /// 169.254.0.0/16, where clouds keep their metadata, and fe80::/10.
    LinkLocal,
    /// RFC 1918, unique local addresses, and what else leads nowhere outside.
    Private,
    /// 100.64.0.0/10, a provider's own.
    SharedByProvider,
    /// One packet to many.
    Multicast,
    /// 0.0.0.0/8 and `::`, which lead to this machine.
    Unspecified,
    /// Set apart for documentation, measurements and the future.
    Reserved,
    /// An interface of this machine has it.
    ThisMachine,
    /// The server's database.
    Database,
    /// Port 53 of one that is no resolver of this machine.
    ForeignResolver,
}

impl Rule {
    const fn words(self) -> &'static str {
        match self {
            Self::Loopback => "a loopback address",
            Self::LinkLocal => "a link-local address",
            Self::Private => "a private address",
            Self::SharedByProvider => "an address shared by a provider's customers",
            Self::Multicast => "a multicast address",
            Self::Unspecified => "an unspecified address, which leads to this machine",
            Self::Reserved => "a reserved address",
            Self::ThisMachine => "an address of this machine",
            Self::Database => "the server's database",
            Self::ForeignResolver => "port 53 of another server than /etc/resolv.conf names",
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}

/// An address that is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Refusal {
    /// As asked for; IPv4 addresses in IPv6 clothes are shown undressed.
    pub address: SocketAddr,
    /// Why.
    pub rule: Rule,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { address, rule } = self;
        write!(
            f,
            "a connection to {address} was refused (EACCES): it is {rule}; whoever runs the server opens it with --egress-allow {address}"
        )
    }
}

/// A connection that the walls refused, as a step's result names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RefusedConnection {
    /// Where it would have led, as `IP:port`.
    pub address: String,
    /// Why that is closed.
    pub rule: Rule,
    /// The value of `--egress-allow` that opens it.
    pub allow: String,
}

impl From<&Refusal> for RefusedConnection {
    fn from(refusal: &Refusal) -> Self {
        let address = refusal.address.to_string();
        Self { allow: address.clone(), address, rule: refusal.rule }
    }
}

impl Policy {
    /// Whether an address may be reached.
    ///
    /// # Errors
    /// The rule that closes it.
    pub fn decide(&self, to: SocketAddr) -> Result<(), Refusal> {
        let (ip, port) = (canonical(to.ip()), to.port());
        if self.allows(ip, port)
            || (port == DNS_PORT && self.resolvers.iter().any(|r| canonical(*r) == ip))
        {
            return Ok(());
        }
        let rule = ranges::rule(ip)
            .or_else(|| {
                self.own.iter().any(|own| canonical(*own) == ip).then_some(Rule::ThisMachine)
            })
            .or_else(|| {
                self.database
                    .iter()
                    .any(|d| canonical(d.ip()) == ip && d.port() == port)
                    .then_some(Rule::Database)
            })
            .or_else(|| (port == DNS_PORT).then_some(Rule::ForeignResolver));
        match rule {
            Some(rule) => Err(Refusal { address: SocketAddr::new(ip, port), rule }),
            None => Ok(()),
        }
    }

    /// Those of some addresses that may be reached.
    ///
    /// # Errors
    /// Where there are none: the rule that closes the first; None where no address was given.
    pub fn open(&self, addresses: &[SocketAddr]) -> Result<Vec<SocketAddr>, Option<Refusal>> {
        let open: Vec<SocketAddr> =
            addresses.iter().copied().filter(|address| self.decide(*address).is_ok()).collect();
        if open.is_empty() {
            Err(addresses.first().and_then(|address| self.decide(*address).err()))
        } else {
            Ok(open)
        }
    }

    fn allows(&self, ip: IpAddr, port: u16) -> bool {
        self.allow.iter().filter(|allow| allow.port.is_none_or(|p| p == port)).any(|allow| {
            match &allow.to {
                Target::Net { .. } => allow.to.contains(ip),
                Target::Name(name) => {
                    self.named.get(name).is_some_and(|ips| ips.iter().any(|i| canonical(*i) == ip))
                }
            }
        })
    }

    /// The names that are to be looked up.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.allow.iter().filter_map(|allow| match &allow.to {
            Target::Name(name) => Some(name.as_str()),
            Target::Net { .. } => None,
        })
    }
}

/// A policy that all who ask share, and that is replaced as names and interfaces change.
#[derive(Clone, Debug, Default)]
pub struct Shared(Arc<RwLock<Arc<Policy>>>);

impl Shared {
    /// The policy of now.
    pub fn get(&self) -> Arc<Policy> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces it.
    pub fn set(&self, policy: Policy) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(policy);
    }
}

impl From<Policy> for Shared {
    fn from(policy: Policy) -> Self {
        Self(Arc::new(RwLock::new(Arc::new(policy))))
    }
}
