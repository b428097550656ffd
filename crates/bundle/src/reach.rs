//! Client for addresses that a request names, under the rules by which hosts connect: the address
//! that was checked is the address that is connected to.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use millrace_model::egress::Policy;
use parking_lot::Mutex;
use reqwest::header::LOCATION;
use reqwest::{Client, ClientBuilder, Response, redirect};
use url::{Host, Url};

use crate::BundleError;

/// Redirects that are followed for one file.
const REDIRECTS_MAX: usize = 5;

/// What all requests of bundling have in common.
fn client() -> ClientBuilder {
    Client::builder()
        .user_agent(concat!("millrace/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(Duration::from_secs(10))
        .timeout(Duration::from_secs(60))
        .redirect(redirect::Policy::custom(|attempt| {
            let from = attempt.previous().last().map(Url::scheme);
            // Credentials go along where host and port stay: unencrypted they would be read.
            if from == Some("https") && attempt.url().scheme() == "http" {
                return attempt.error("a redirect from https to http is not followed");
            }
            redirect::Policy::limited(REDIRECTS_MAX).redirect(attempt)
        }))
}

/// A client for the registry.
pub(crate) fn http() -> Result<Client, BundleError> {
    client().build().map_err(|e| BundleError::Internal {
        what: "could not make an HTTP client",
        source: Box::new(e),
    })
}

/// Fetches what the policy opens.
pub(crate) struct Reach {
    policy: Arc<Policy>,
    /// By scheme, host and port: each is looked up once, and its client connects to nothing else.
    clients: Mutex<HashMap<(String, String, u16), Client>>,
}

impl Reach {
    pub(crate) fn new(policy: Arc<Policy>) -> Self {
        Self { policy, clients: Mutex::default() }
    }

    /// The answer to a GET, redirects followed; each is decided on by itself.
    ///
    /// # Errors
    /// In words: an address that is closed, or that does not answer.
    pub(crate) async fn get(&self, url: &str) -> Result<Response, String> {
        let mut url = Url::parse(url).map_err(|_| "it is not an address".to_owned())?;
        for _ in 0..=REDIRECTS_MAX {
            let response = self
                .client(&url)
                .await?
                .get(url.clone())
                .send()
                .await
                .map_err(|e| words(&e.without_url()))?;
            let location =
                response.headers().get(LOCATION).filter(|_| response.status().is_redirection());
            let Some(location) = location else { return Ok(response) };
            let next = location.to_str().ok().and_then(|l| url.join(l).ok());
            url = next
                .ok_or_else(|| "the server redirects to an address that is not valid".to_owned())?;
        }
        Err(format!("the server leads on more than {REDIRECTS_MAX} times"))
    }

    async fn client(&self, url: &Url) -> Result<Client, String> {
        let (Some(host), Some(port), "http" | "https") =
            (url.host(), url.port_or_known_default(), url.scheme())
        else {
            return Err("allowed are http: and https: with a host".into());
        };
        let key = (url.scheme().to_owned(), host.to_string(), port);
        if let Some(client) = self.clients.lock().get(&key) {
            return Ok(client.clone());
        }
        let builder = client().redirect(redirect::Policy::none());
        let builder = match host {
            Host::Ipv4(ip) => self.open([SocketAddr::from((ip, port))]).map(|_| builder)?,
            Host::Ipv6(ip) => self.open([SocketAddr::from((ip, port))]).map(|_| builder)?,
            Host::Domain(name) => {
                let found = tokio::net::lookup_host((name, port))
                    .await
                    .map_err(|_| format!("the name `{name}` leads nowhere"))?;
                builder.resolve_to_addrs(name, &self.open(found)?)
            }
        };
        let client = builder.build().map_err(|e| words(&e))?;
        self.clients.lock().insert(key, client.clone());
        Ok(client)
    }

    /// Those that are open; the first refusal where none is.
    fn open(
        &self,
        addresses: impl IntoIterator<Item = SocketAddr>,
    ) -> Result<Vec<SocketAddr>, String> {
        let found: Vec<SocketAddr> = addresses.into_iter().collect();
        self.policy.open(&found).map_err(|refusal| {
            refusal.map_or_else(|| "its name leads nowhere".into(), |r| r.to_string())
        })
    }
}

/// What happened is said by the first cause, such as a refused connection.
fn words(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    match cause.to_string() {
        root if root == error.to_string() => root,
        root => format!("{error}: {root}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn closed_addresses_are_refused_in_all_their_forms() {
        let reach = Reach::new(Arc::default());
        for (url, rule) in [
            ("http://127.0.0.1:9/", "loopback"),
            ("http://2130706433:9/", "loopback"),
            ("http://0x7f.1/", "loopback"),
            ("http://127.1/", "loopback"),
            ("http://localhost:9/", "loopback"),
            ("http://LOCALHOST:9/", "loopback"),
            ("http://[::1]/", "loopback"),
            ("http://[::ffff:7f00:1]/", "loopback"),
            ("http://169.254.169.254/latest/meta-data", "link-local"),
            ("https://[fd00:ec2::254]/", "private"),
            ("http://0/", "unspecified"),
            ("http://8.8.8.8:53/", "resolv.conf"),
        ] {
            let refused = reach.get(url).await.expect_err(url);
            assert!(
                refused.contains(rule) && refused.contains("--egress-allow"),
                "{url}: {refused}"
            );
        }
        assert!(reach.get("ftp://example.test/").await.expect_err("no ftp").contains("http:"));
    }
}
