//! Hosts that are endpoints: `{key}.{endpoint domain}` for all, and domains of one's own.

use std::collections::HashMap;
use std::sync::Arc;

use millrace_model::Timestamp;
use millrace_model::domain::{EndpointDomain, host_of, is_domain};
use millrace_model::error_chain;
use millrace_model::ids::HttpInterfaceId;
use millrace_model::page::{Listing, Page};
use millrace_model::tenant::Caller;
use millrace_store::StoreError;
use parking_lot::RwLock;

use crate::EngineError;
use crate::ctx::Ctx;

/// How long the domains that were read are used: another server may have changed them.
const CACHED_MS: i64 = 5_000;
/// Domains of one organization.
const DOMAINS_MAX: u64 = 1_000;

/// Keys of endpoints by domain.
type KeysByDomain = Arc<HashMap<String, String>>;

/// The domains of endpoints.
pub struct Domains {
    ctx: Arc<Ctx>,
    /// As they were read last, and when.
    known: RwLock<Option<(Timestamp, KeysByDomain)>>,
}

impl Domains {
    pub(crate) const fn new(ctx: Arc<Ctx>) -> Self {
        Self { ctx, known: RwLock::new(None) }
    }

    /// The key of the endpoint to which a request's host is attached; None: the host is this
    /// server's own.
    pub async fn endpoint_of_host(&self, host: &str) -> Option<String> {
        let host = host_of(host)?;
        if self.is_own(&host) {
            return None;
        }
        if let Some(domain) = self.ctx.config.endpoint_domain.as_deref().and_then(host_of)
            && let Some(key) = host.strip_suffix(&domain).and_then(|rest| rest.strip_suffix('.'))
        {
            return Some(key.to_owned());
        }
        self.keys().await.get(&host).cloned()
    }

    /// Whether an organization attached this host to an endpoint.
    pub async fn is_attached(&self, host: &str) -> bool {
        let Some(host) = host_of(host) else { return false };
        self.keys().await.contains_key(&host)
    }

    /// Whether a host, in lower case and without a port, is this server's own.
    fn is_own(&self, host: &str) -> bool {
        host_of(self.base_host()).is_some_and(|own| own == host)
            || self.ctx.config.own_hosts.iter().any(|own| own == host)
    }

    fn base_host(&self) -> &str {
        let base = &self.ctx.config.base_url;
        base.split_once("://")
            .map_or(base.as_str(), |(_, rest)| rest.split('/').next().unwrap_or(rest))
    }

    async fn keys(&self) -> KeysByDomain {
        let now = self.ctx.now();
        if let Some((_, domains)) = self
            .known
            .read()
            .as_ref()
            .filter(|(at, _)| (0..CACHED_MS).contains(&(now.ms() - at.ms())))
        {
            return domains.clone();
        }
        match self.ctx.store.endpoint_domains().await {
            Ok(domains) => {
                let domains: KeysByDomain = Arc::new(domains.into_iter().collect());
                *self.known.write() = Some((now, domains.clone()));
                domains
            }
            Err(error) => {
                // Whether the server lives is asked by any host, and must not hang on the database.
                tracing::warn!(
                    error = error_chain(&error),
                    "could not read the domains of endpoints; the last known ones stay in use"
                );
                self.known.read().as_ref().map(|(_, domains)| domains.clone()).unwrap_or_default()
            }
        }
    }

    /// Attaches a domain to an endpoint. Its name must lead here: that is the operator's to see
    /// to.
    pub async fn create(
        &self,
        caller: &Caller,
        domain: &str,
        endpoint: &HttpInterfaceId,
    ) -> Result<EndpointDomain, EngineError> {
        let domain = domain.trim_end_matches('.').to_ascii_lowercase();
        if !is_domain(&domain) {
            let shown = millrace_model::shown(&domain);
            return Err(EngineError::invalid(
                "domain",
                format!(
                    "`{shown}` is not a domain; allowed are names such as hooks.example.com, without scheme, port and path"
                ),
            ));
        }
        let of_server =
            self.ctx.config.own_hosts.iter().map(String::as_str).chain([self.base_host()]);
        let taken = of_server.chain(self.ctx.config.endpoint_domain.as_deref()).filter_map(host_of);
        for own in taken {
            if domain == own || domain.strip_suffix(&own).is_some_and(|rest| rest.ends_with('.')) {
                return Err(EngineError::taken(
                    "domain",
                    format!("`{domain}` is this server's own"),
                ));
            }
        }
        if self.ctx.store.http_interface(&caller.org_id, endpoint).await?.is_none() {
            return Err(EngineError::not_found("endpoint", endpoint));
        }
        if self
            .ctx
            .store
            .list_endpoint_domains(&caller.org_id, &Page { limit: 1, ..Page::default() })
            .await?
            .total_count
            >= DOMAINS_MAX
        {
            return Err(EngineError::Conflict {
                code: "too_many_domains",
                message: format!(
                    "the organization has {DOMAINS_MAX} domains, the most it may have"
                ),
            });
        }
        let record = EndpointDomain {
            id: domain,
            org_id: caller.org_id.clone(),
            endpoint_id: endpoint.clone(),
            created_at: self.ctx.now(),
        };
        match self.ctx.store.create_endpoint_domain(record.clone()).await {
            Err(StoreError::Taken(_)) => Err(EngineError::taken(
                "domain",
                format!("the domain `{}` is already attached to an endpoint", record.id),
            )),
            other => {
                other?;
                self.forget();
                Ok(record)
            }
        }
    }

    /// The organization's domains, newest first.
    pub async fn list(
        &self,
        caller: &Caller,
        page: &Page,
    ) -> Result<Listing<EndpointDomain>, EngineError> {
        Ok(self.ctx.store.list_endpoint_domains(&caller.org_id, page).await?)
    }

    /// Detaches a domain.
    pub async fn delete(&self, caller: &Caller, domain: &str) -> Result<(), EngineError> {
        let there = self
            .ctx
            .store
            .delete_endpoint_domain(&caller.org_id, &domain.to_ascii_lowercase())
            .await?;
        self.forget();
        if there { Ok(()) } else { Err(EngineError::not_found("domain", domain)) }
    }

    pub(crate) fn forget(&self) {
        *self.known.write() = None;
    }
}
