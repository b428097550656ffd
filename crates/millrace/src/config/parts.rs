//! Settings that are made of several, or checked as a whole: names, certificates, collectors of
//! traces, object stores, the npm registry.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use millrace_engine::{S3Config, TraceConfig};
use millrace_model::domain::host_of;
use millrace_model::npm_registry::NpmRegistry;

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

/// The npm registry, with its credentials; they are not shown in an error.
pub(super) fn npm_registry(args: &ServeArgs, file: &ServeArgs) -> Result<NpmRegistry> {
    let value = |field: fn(&ServeArgs) -> &Option<String>| {
        field(args).clone().or_else(|| field(file).clone()).filter(|text| !text.is_empty())
    };
    let token_file = args.npm_token_file.clone().or_else(|| file.npm_token_file.clone());
    let token = match (value(|a| &a.npm_token), token_file) {
        (Some(_), Some(_)) => {
            bail!("of npm_token and npm_token_file only one can be given: the token has one place")
        }
        (None, Some(path)) => Some(secret_in(&path, "the token for the npm registry")?),
        (token, None) => token.map(|token| token.trim().to_owned()),
    };
    if token.as_ref().is_some_and(|token| !token.bytes().all(|byte| byte.is_ascii_graphic())) {
        bail!("npm_token is not a token: it is one word, what `_authToken=` of an .npmrc names");
    }
    let address = value(|a| &a.npm_registry).unwrap_or_else(|| "https://registry.npmjs.org".into());
    Ok(NpmRegistry::new(&address, token.as_deref()))
}

/// The secret that a file holds.
pub(super) fn secret_in(path: &Path, what: &str) -> Result<String> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("could not read {what} in `{}`", path.display()))?;
    let secret = text.trim();
    if secret.is_empty() {
        bail!("`{}` is empty: it holds {what}", path.display());
    }
    Ok(secret.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_for_packages_has_one_place_and_is_not_shown() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), "s3cret\n").expect("writes");
        let read = |token: Option<&str>, from: Option<&Path>| {
            let args = ServeArgs {
                npm_registry: Some("https://me:s3cret@npm.test/".into()),
                npm_token: token.map(str::to_owned),
                npm_token_file: from.map(Path::to_path_buf),
                ..ServeArgs::default()
            };
            npm_registry(&args, &ServeArgs::default()).map_err(|error| format!("{error:#}"))
        };
        let sent = |registry: NpmRegistry| {
            assert!(!format!("{registry:?}").contains("s3cret"));
            registry.authorization_for("https://npm.test/x").map(str::to_owned)
        };
        let expected = Some("Bearer s3cret".to_owned());
        assert_eq!(read(Some("s3cret"), None).map(sent), Ok(expected.clone()));
        assert_eq!(read(None, Some(file.path())).map(sent), Ok(expected));
        let basic = read(None, None).map(sent).expect("reads").expect("credentials");
        assert!(basic.starts_with("Basic "), "{basic}");
        for (token, from, word) in [
            (Some("s3cret"), Some(file.path()), "only one"),
            (Some("_authToken = s3cret"), None, "one word"),
            (None, Some(Path::new("/nowhere/at/all")), "/nowhere/at/all"),
        ] {
            let error = read(token, from).expect_err(word);
            assert!(error.contains(word) && !error.contains("s3cret"), "{error}");
        }
    }
}
