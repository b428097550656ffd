//! Clients for addresses that users and code name: they connect under the rules by which hosts do.
//! What is decided on is what is connected to.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::Duration;

use millrace_model::egress::{Refusal, Shared};
use parking_lot::Mutex;
use reqwest::{Client, ClientBuilder};
use url::{Host, Url};

/// Clients kept at once. Each keeps connections to one host and port.
const CLIENTS_MAX: usize = 256;
/// How long a name may take.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(5);

/// Why an address cannot be sent to.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unreachable {
    /// A rule closes all that it leads to.
    #[error("{0}")]
    Closed(Refusal),
    /// It is no address of HTTP.
    #[error("the address has no host, or is not of http or https")]
    NoHost,
    /// Its name leads nowhere; later it may.
    #[error("its name was not found{0}")]
    NotFound(String),
    /// No client could be made.
    #[error("no client could be made: {0}")]
    Client(#[source] reqwest::Error),
}

/// By host and port: where they led, and the client that connects there and nowhere else.
type Clients = HashMap<(String, u16), (Vec<SocketAddr>, Client)>;

/// Makes clients that reach what the policy opens.
pub(crate) struct Reach {
    egress: Shared,
    /// What its clients have in common.
    common: fn() -> ClientBuilder,
    clients: Mutex<Clients>,
}

impl Reach {
    pub(crate) fn new(egress: Shared, common: fn() -> ClientBuilder) -> Self {
        Self { egress, common, clients: Mutex::default() }
    }

    /// A client that connects to the open addresses of this URL's host, as they are now, and to no
    /// others.
    pub(crate) async fn client(&self, url: &Url) -> Result<Client, Unreachable> {
        let (Some(host), Some(port), "http" | "https") =
            (url.host(), url.port_or_known_default(), url.scheme())
        else {
            return Err(Unreachable::NoHost);
        };
        let found: Vec<SocketAddr> = match host {
            Host::Ipv4(ip) => vec![SocketAddr::from((ip, port))],
            Host::Ipv6(ip) => vec![SocketAddr::from((ip, port))],
            Host::Domain(name) => {
                match tokio::time::timeout(LOOKUP_TIMEOUT, tokio::net::lookup_host((name, port)))
                    .await
                {
                    Ok(Ok(found)) => found.collect(),
                    Ok(Err(error)) => return Err(Unreachable::NotFound(format!(": {error}"))),
                    Err(_) => {
                        return Err(Unreachable::NotFound(": no resolver answered in time".into()));
                    }
                }
            }
        };
        let mut open = self.egress.get().open(&found).map_err(|refusal| {
            refusal.map_or_else(|| Unreachable::NotFound(String::new()), Unreachable::Closed)
        })?;
        open.sort();
        let key = (host.to_string(), port);
        if let Some((_, client)) = self.clients.lock().get(&key).filter(|(known, _)| *known == open)
        {
            return Ok(client.clone());
        }
        // A redirect would lead past the decision, and a proxy of the environment would look the
        // name up again.
        let builder = (self.common)().redirect(reqwest::redirect::Policy::none()).no_proxy();
        let builder = match host {
            Host::Domain(name) => builder.resolve_to_addrs(name, &open),
            _ => builder,
        };
        let client = builder.build().map_err(Unreachable::Client)?;
        let mut clients = self.clients.lock();
        if clients.len() >= CLIENTS_MAX {
            clients.clear();
        }
        clients.insert(key, (open, client.clone()));
        Ok(client)
    }
}

/// The rule that closes a URL whose host is written as an address: that can be told before anything
/// is sent there.
pub(crate) fn closed(egress: &Shared, url: &Url) -> Option<Refusal> {
    let port = url.port_or_known_default()?;
    let address = match url.host()? {
        Host::Ipv4(ip) => SocketAddr::from((ip, port)),
        Host::Ipv6(ip) => SocketAddr::from((ip, port)),
        Host::Domain(_) => return None,
    };
    egress.get().decide(address).err()
}

#[cfg(test)]
mod tests {
    use millrace_model::egress::Policy;

    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).expect("an address")
    }

    #[tokio::test]
    async fn closed_addresses_are_refused_in_all_their_forms() {
        let reach = Reach::new(Shared::default(), Client::builder);
        for text in [
            "http://169.254.169.254/latest",
            "http://127.0.0.1:8787/v1",
            "http://[::ffff:10.0.0.1]/",
            "http://2130706433/",
            "http://0x7f.1/",
            "http://localhost/",
        ] {
            let refused = reach.client(&url(text)).await;
            assert!(
                matches!(refused, Err(Unreachable::Closed(refusal)) if refusal.to_string().contains("--egress-allow")),
                "{text}"
            );
        }
        assert!(matches!(reach.client(&url("ftp://127.0.0.1/")).await, Err(Unreachable::NoHost)));
        assert!(
            closed(&Shared::default(), &url("http://10.1.2.3/")).is_some()
                && closed(&Shared::default(), &url("http://name.test/")).is_none()
        );
    }

    #[tokio::test]
    async fn what_is_opened_is_reached_and_closed_again_with_the_policy() {
        let egress = Shared::from(Policy {
            allow: vec![
                "localhost:81".parse().expect("a name"),
                "127.0.0.1".parse().expect("an address"),
            ],
            ..Policy::default()
        });
        let reach = Reach::new(egress.clone(), Client::builder);
        assert!(reach.client(&url("http://127.0.0.1:80/")).await.is_ok());
        egress.set(Policy::default());
        assert!(
            matches!(reach.client(&url("http://127.0.0.1:80/")).await, Err(Unreachable::Closed(_))),
            "a client that was made before is asked about again"
        );
    }
}
