//! HTTP clients of the command line, and the redirects that they do not follow.
//!
//! A redirect makes this machine send a request, with its body, to an address that another machine
//! chose, for instance one within the user's own network.

use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder, Response, Url, header};

use crate::error::CliError;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// A download of the largest archive over a slow line takes less; a host that is silent for the
/// second time has nothing more to say.
const DOWNLOAD_TIMEOUT: Duration = Duration::from_secs(900);
const DOWNLOAD_SILENCE_MAX: Duration = Duration::from_secs(60);
/// Redirects of a download, one after the other.
const REDIRECTS_MAX: usize = 5;
/// Characters of an address that is shown.
const ADDRESS_MAX: usize = 300;

fn builder() -> ClientBuilder {
    Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .user_agent(concat!("millrace-cli/", env!("CARGO_PKG_VERSION")))
}

/// A client of `/v1`. It follows no redirect: a request may carry code, values and a key.
pub(crate) fn to_server() -> Result<Client, CliError> {
    builder().redirect(Policy::none()).build().map_err(CliError::HttpClient)
}

/// A client that downloads. It follows redirects within the origin that a person named.
pub(crate) fn to_download() -> Result<Client, CliError> {
    let within_origin = Policy::custom(|attempt| {
        let first = attempt.previous().first().map(Url::origin);
        if attempt.previous().len() <= REDIRECTS_MAX && first == Some(attempt.url().origin()) {
            attempt.follow()
        } else {
            attempt.stop()
        }
    });
    builder()
        .redirect(within_origin)
        .timeout(DOWNLOAD_TIMEOUT)
        .read_timeout(DOWNLOAD_SILENCE_MAX)
        .build()
        .map_err(CliError::HttpClient)
}

/// Where an answer sends its reader on to, as it may be shown.
pub(crate) fn redirected_to(response: &Response) -> Option<String> {
    if !response.status().is_redirection() {
        return None;
    }
    let location = response.headers().get(header::LOCATION)?;
    Some(shown(response.url(), &String::from_utf8_lossy(location.as_bytes())))
}

/// An address of a redirect without user and password, absolute where it is an address at all.
fn shown(from: &Url, location: &str) -> String {
    let text = match from.join(location) {
        Ok(mut url) => {
            // Both fail only for addresses that have no host, and these have no user.
            let _ = (url.set_password(None), url.set_username(""));
            url.into()
        }
        Err(_) => location.to_owned(),
    };
    text.chars().take(ADDRESS_MAX).collect()
}

/// The address of a server whose `/v1` a redirect leads to.
pub(crate) fn base_of(address: &str) -> String {
    let base = address.find("/v1/").map_or(address, |at| &address[..at]);
    base.split(['?', '#']).next().unwrap_or(base).trim_end_matches('/').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_that_a_redirect_leads_to_is_shown_as_one_of_a_server() {
        let from = Url::parse("http://a.example:8787/v1/workflows?limit=1").expect("an address");
        for (location, to) in [
            ("https://b.example/v1/workflows?limit=1", "https://b.example"),
            ("https://u:p@b.example/x/v1/workflows", "https://b.example/x"),
            ("//b.example/sign-in?to=/v1/workflows", "http://b.example/sign-in"),
            ("/sign-in#x", "http://a.example:8787/sign-in"),
            ("http://[::", "http://[::"),
        ] {
            assert_eq!(base_of(&shown(&from, location)), to, "{location}");
        }
        assert_eq!(shown(&from, &"x".repeat(1_000)).len(), ADDRESS_MAX);
    }
}
