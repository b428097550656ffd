//! Settings that are made of several, or checked as a whole: names, certificates, collectors of
//! traces, object stores.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use millrace_engine::{S3Config, TraceConfig};
use millrace_model::domain::host_of;

use super::ServeArgs;
use crate::tls::TlsFiles;

/// Names of this server, in lower case.
pub(super) fn own_hosts(names: Vec<String>) -> Result<Vec<String>> {
    let name = |name: String| {
        let host = name.trim().trim_end_matches('.').to_ascii_lowercase();
        if host_of(&host).as_deref() != Some(&*host) || host.contains(['/', ' ']) {
            bail!(
                "`{name}` is not a name of this server (own_host): it is a name such as millrace.internal, without scheme, port and path"
            );
        }
        Ok(host)
    };
    names.into_iter().map(name).collect()
}

/// Certificate and key belong together.
pub(super) fn tls(cert: Option<PathBuf>, key: Option<PathBuf>) -> Result<Option<TlsFiles>> {
    match (cert, key) {
        (Some(cert), Some(key)) => Ok(Some(TlsFiles { cert, key })),
        (None, None) => Ok(None),
        _ => bail!("tls_cert and tls_key belong together: set both or none"),
    }
}

/// Where traces go. The headers may hold a key: they are not shown in the error.
pub(super) fn traces(url: Option<String>, headers: Option<String>) -> Result<Option<TraceConfig>> {
    let Some(url) = url.filter(|url| !url.is_empty()) else { return Ok(None) };
    if !(url.starts_with("http://") || url.starts_with("https://")) {
        bail!("`{url}` is not the address of a collector: it starts with http:// or https://");
    }
    let pairs =
        headers.as_deref().unwrap_or("").split(',').filter(|pair| !pair.trim().is_empty()).map(
            |pair| {
                pair.split_once('=')
                    .map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()))
                    .context("otlp_headers is a list of NAME=VALUE")
            },
        );
    Ok(Some(TraceConfig { headers: pairs.collect::<Result<_>>()?, url }))
}

/// Where `$.send.s3` goes; a part of it alone stops the start.
pub(super) fn s3(args: &ServeArgs, file: &ServeArgs) -> Result<Option<S3Config>> {
    let value = |field: fn(&ServeArgs) -> &Option<String>| {
        field(args).clone().or_else(|| field(file).clone()).filter(|text| !text.is_empty())
    };
    let given = (
        value(|a| &a.s3_endpoint),
        value(|a| &a.s3_access_key_id),
        value(|a| &a.s3_secret_access_key),
    );
    let (endpoint, access_key_id, secret_access_key) = match given {
        (Some(endpoint), Some(id), Some(key)) => (endpoint, id, key),
        (None, None, None) => return Ok(None),
        _ => bail!(
            "s3_endpoint, s3_access_key_id and s3_secret_access_key belong together: set all three or none"
        ),
    };
    if !(endpoint.starts_with("http://") || endpoint.starts_with("https://")) {
        bail!(
            "`{endpoint}` is not the address of an object store: it starts with http:// or https://"
        );
    }
    let buckets = value(|a| &a.s3_buckets).unwrap_or_default();
    let buckets = buckets
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect();
    let region = value(|a| &a.s3_region).unwrap_or_else(|| "us-east-1".into());
    Ok(Some(S3Config { endpoint, region, access_key_id, secret_access_key, buckets }))
}
