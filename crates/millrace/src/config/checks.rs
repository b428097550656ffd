//! Checks of the settings: a start with one that cannot be meant stops, and says which it is.

use anyhow::{Result, bail};
use millrace_engine::{check_email, check_mail};
use millrace_model::domain::{host_of, is_domain};
use millrace_model::retention::Retention;
use reqwest::Url;

use super::Config;

/// The smallest ceiling for the memory of workflows, MiB.
const MEMORY_MAX_MB_MIN: u32 = 256;
/// Ceilings that there may be for the wall-clock limit of workflows, seconds; without one the last.
pub(super) const TIMEOUT_MAX_SECONDS: std::ops::RangeInclusive<u32> = 60..=750;

impl Config {
    pub(super) fn check(&self) -> Result<()> {
        self.check_base_url()?;
        if let Some(domain) = &self.endpoint_domain
            && !host_of(domain).is_some_and(|host| is_domain(&host) || host == "localhost")
        {
            bail!(
                "`{domain}` is not a domain for endpoints: it is a name such as hooks.example.com, with a port where it is not the usual one"
            );
        }
        if self.proxy_protocol && self.trusted_proxies.is_empty() {
            bail!(
                "proxy_protocol is of the proxies that are trusted, and none is: name their addresses with --trusted-proxy, such as 10.0.0.0/8"
            );
        }
        let addresses = [
            ("npm_registry", Some(self.npm_registry.url())),
            ("s3_endpoint", self.s3.as_ref().map(|s3| s3.endpoint.as_str())),
        ];
        for (name, url) in addresses {
            if let Some(url) = url
                && !is_http(url)
            {
                // It may hold a password.
                bail!("{name} is not an address: it starts with http:// or https://");
            }
        }
        if let Err(error) = check_email(&self.owner_email) {
            bail!("owner_email: {error}");
        }
        if let Err(why) = check_mail(self.smtp_url.as_deref(), &self.mail_from) {
            bail!("{why}");
        }
        self.check_numbers()
    }

    fn check_base_url(&self) -> Result<()> {
        let Some(url) = &self.base_url else { return Ok(()) };
        if !is_http(url) {
            bail!("`{url}` is not a base URL: it starts with http:// or https://");
        }
        let is_root = Url::parse(url).is_ok_and(|url| {
            url.path() == "/" && url.query().is_none() && url.fragment().is_none()
        });
        if !is_root {
            bail!(
                "base_url is `{url}`: Millrace is served at the root of a host, so nothing comes after its name and port, such as https://millrace.example.com"
            );
        }
        Ok(())
    }

    /// Stops a start with a number that is too small or too large.
    fn check_numbers(&self) -> Result<()> {
        let numbers = [
            ("keep_days", self.keep.keep_days.map(u64::from)),
            ("keep_count", self.keep.keep_count.map(u64::from)),
            ("keep_days_max", self.keep_max.keep_days.map(u64::from)),
            ("keep_count_max", self.keep_max.keep_count.map(u64::from)),
            ("keep_audit_days", Some(self.keep_audit_days.into())),
            ("http_body_max_bytes", Some(self.http_body_max_bytes as u64)),
            ("connections_max", Some(self.connections_max as u64)),
            ("requests_memory_mb", Some(self.requests_memory_mb.into())),
            ("waiting_runs_max", Some(self.waiting_runs_max.into())),
            ("calls_per_isolate_max", Some(self.calls_per_isolate_max.into())),
            ("requests_per_minute_max", Some(self.requests_per_minute_max.into())),
            ("request_timeout_seconds", Some(self.request_timeout_seconds.into())),
        ];
        if let Some((name, _)) = numbers.iter().find(|(_, number)| *number == Some(0)) {
            bail!("{name} is 0; allowed are 1 and more");
        }
        if let Some(mb) = self.memory_max_mb.filter(|mb| *mb < MEMORY_MAX_MB_MIN) {
            bail!(
                "memory_max_mb is {mb}; allowed are {MEMORY_MAX_MB_MIN} and more: the default of a workflow"
            );
        }
        let seconds = self.timeout_max_seconds;
        if !TIMEOUT_MAX_SECONDS.contains(&seconds) {
            let (least, most) = (TIMEOUT_MAX_SECONDS.start(), TIMEOUT_MAX_SECONDS.end());
            bail!(
                "timeout_max_seconds is {seconds}; allowed are {least}, the default of a workflow, to {most}"
            );
        }
        if let Some(count) = self.keep.keep_count.filter(|count| *count > Retention::COUNT_MAX) {
            bail!("keep_count is {count}; allowed are 1 to {}", Retention::COUNT_MAX);
        }
        Ok(())
    }
}

fn is_http(url: &str) -> bool {
    Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}
