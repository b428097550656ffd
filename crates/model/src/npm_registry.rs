//! Access to an npm registry: its address without credentials, and the credentials, which go to its
//! origin alone.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize};
use url::Url;

/// The registry, as it is asked.
#[derive(Clone, Serialize, Deserialize)]
pub struct NpmRegistry {
    url: String,
    /// The value of the header `Authorization`.
    authorization: Option<String>,
}

impl NpmRegistry {
    /// The registry at an address, which may hold user and password. A token (npm's `_authToken`)
    /// is sent in place of them.
    pub fn new(address: &str, token: Option<&str>) -> Self {
        let mut registry =
            Self { url: address.trim_end_matches('/').to_owned(), authorization: None };
        if let Ok(mut url) = Url::parse(address)
            && (!url.username().is_empty() || url.password().is_some())
        {
            let mut pair = percent_decode_str(url.username()).collect::<Vec<u8>>();
            pair.push(b':');
            pair.extend(percent_decode_str(url.password().unwrap_or_default()));
            registry.authorization = Some(format!("Basic {}", STANDARD.encode(pair)));
            // Both fail only for addresses that have no host, and these have no user.
            let _ = (url.set_password(None), url.set_username(""));
            registry.url = url.as_str().trim_end_matches('/').to_owned();
        }
        if let Some(token) = token {
            registry.authorization = Some(format!("Bearer {token}"));
        }
        registry
    }

    /// The address, without credentials and without a slash at its end.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The credentials for a request to an address: none outside of the registry's origin.
    pub fn authorization_for(&self, address: &str) -> Option<&str> {
        let (own, asked) = (Url::parse(&self.url).ok()?, Url::parse(address).ok()?);
        self.authorization.as_deref().filter(|_| own.origin() == asked.origin())
    }

    /// The same registry for a reader that asks it nothing.
    #[must_use]
    pub fn without_credentials(&self) -> Self {
        Self { url: self.url.clone(), authorization: None }
    }
}

impl std::fmt::Debug for NpmRegistry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NpmRegistry").field("url", &self.url).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_go_to_the_origin_of_the_registry_alone() {
        let registry = NpmRegistry::new("https://us%20er:p%40ss%2Fw@npm.test/npm/", None);
        assert_eq!(registry.url(), "https://npm.test/npm");
        let sent = Some("Basic dXMgZXI6cEBzcy93");
        for (address, expected) in [
            ("https://npm.test/npm/x", sent),
            ("https://npm.test:443/other/x.tgz", sent),
            ("https://NPM.test/x.tgz", sent),
            ("http://npm.test/npm/x", None),
            ("https://npm.test:8443/npm/x", None),
            ("https://cdn.npm.test/x.tgz", None),
            ("https://npm.test.evil.test/x.tgz", None),
            ("https://npm.test@evil.test/x.tgz", None),
            ("no address", None),
        ] {
            assert_eq!(registry.authorization_for(address), expected, "{address}");
        }
        let shown = format!("{registry:?} {:?}", registry.without_credentials());
        assert!(!shown.contains("dXMg") && !shown.contains("p%40ss"), "{shown}");
        assert_eq!(registry.without_credentials().authorization_for("https://npm.test/x"), None);
    }

    #[test]
    fn a_token_comes_before_user_and_password() {
        for (address, token, expected) in [
            ("https://npm.test", None, None),
            ("https://npm.test", Some("t0ken"), Some("Bearer t0ken")),
            ("https://me:secret@npm.test", Some("t0ken"), Some("Bearer t0ken")),
            ("https://me@npm.test", None, Some("Basic bWU6")),
        ] {
            let registry = NpmRegistry::new(address, token);
            assert_eq!(registry.url(), "https://npm.test");
            assert_eq!(registry.authorization_for("https://npm.test/x"), expected, "{address}");
        }
    }
}
