//! Provider of OpenID Connect by which people sign in, from its settings.

use anyhow::{Result, bail};
use millrace_engine::OidcConfig;
use millrace_model::domain::is_domain;
use millrace_model::people::Role;

use super::ServeArgs;
use super::parts::secret_in;

/// The provider by which people sign in; a part of it alone stops the start.
pub(super) fn oidc(args: &ServeArgs, file: &ServeArgs) -> Result<Option<OidcConfig>> {
    let value = |field: fn(&ServeArgs) -> &Option<String>| {
        field(args).clone().or_else(|| field(file).clone()).filter(|text| !text.is_empty())
    };
    let (issuer, client_id) = match (value(|a| &a.oidc_issuer), value(|a| &a.oidc_client_id)) {
        (Some(issuer), Some(id)) => (issuer, id),
        (None, None) => return Ok(None),
        _ => bail!("oidc_issuer and oidc_client_id belong together: set both or none"),
    };
    if !OidcConfig::is_usable(&issuer) || issuer.contains(['?', '#']) {
        bail!(
            "`{issuer}` is not the address of a provider of OpenID Connect: it starts with https://, or is on this machine"
        );
    }
    let secret_file =
        args.oidc_client_secret_file.clone().or_else(|| file.oidc_client_secret_file.clone());
    let client_secret = match (value(|a| &a.oidc_client_secret), secret_file) {
        (Some(_), Some(_)) => bail!(
            "of oidc_client_secret and oidc_client_secret_file only one can be given: the secret has one place"
        ),
        (None, Some(path)) => {
            Some(secret_in(&path, "the secret of the client that is registered at the provider")?)
        }
        (secret, None) => secret,
    };
    let domains = value(|a| &a.oidc_email_domains).unwrap_or_default();
    let email_domains: Vec<_> = domains
        .split(',')
        .map(|domain| domain.trim().to_ascii_lowercase())
        .filter(|domain| !domain.is_empty())
        .collect();
    if let Some(wrong) = email_domains.iter().find(|domain| !is_domain(domain)) {
        bail!(
            "`{wrong}` is not a domain of addresses (oidc_email_domains): it is a name such as example.com"
        );
    }
    let role = match value(|a| &a.oidc_role) {
        None => None,
        Some(text) => match Role::parse(&text) {
            Some(role @ (Role::Viewer | Role::Member)) => Some(role),
            _ => bail!(
                "`{text}` is not a role for those who were not invited (oidc_role): allowed are viewer and member; an owner makes others owners"
            ),
        },
    };
    if role.is_some() && email_domains.is_empty() {
        bail!(
            "oidc_role alone admits every user of the provider: name the domains of their addresses with oidc_email_domains, such as example.com"
        );
    }
    let host = || url_host(&issuer);
    let name = value(|a| &a.oidc_name).unwrap_or_else(host);
    Ok(Some(OidcConfig { issuer, client_id, client_secret, name, email_domains, role }))
}

fn url_host(address: &str) -> String {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    rest.split('/').next().unwrap_or(rest).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_is_whole_and_lets_in_nobody_unasked() {
        type Change = fn(&mut ServeArgs);
        let with = |change: Change| {
            let mut args = ServeArgs {
                oidc_issuer: Some("https://id.test/realm".into()),
                oidc_client_id: Some("millrace".into()),
                ..ServeArgs::default()
            };
            change(&mut args);
            oidc(&args, &ServeArgs::default()).map_err(|error| error.to_string())
        };
        let read = with(|_| {}).expect("reads").expect("a provider");
        assert_eq!((read.name.as_str(), read.role, read.client_secret), ("id.test", None, None));
        let read = with(|args| {
            (args.oidc_role, args.oidc_email_domains) =
                (Some("member".into()), Some("X.test, y.test".into()))
        });
        let read = read.expect("reads").expect("a provider");
        assert_eq!(
            (read.role, read.email_domains),
            (Some(Role::Member), vec!["x.test".to_owned(), "y.test".to_owned()])
        );
        let wrong: [(Change, &str); 7] = [
            (|args| args.oidc_client_id = None, "belong together"),
            (|args| args.oidc_issuer = Some("http://id.test".into()), "https://"),
            (|args| args.oidc_role = Some("viewer".into()), "oidc_email_domains"),
            (
                |args| {
                    (args.oidc_role, args.oidc_email_domains) =
                        (Some("owner".into()), Some("x.test".into()))
                },
                "viewer and member",
            ),
            (|args| args.oidc_email_domains = Some("@x.test".into()), "@x.test"),
            (
                |args| args.oidc_client_secret_file = Some("/nowhere/at/all".into()),
                "/nowhere/at/all",
            ),
            (
                |args| {
                    (args.oidc_client_secret, args.oidc_client_secret_file) =
                        (Some("s3cret".into()), Some("f".into()))
                },
                "only one",
            ),
        ];
        for (change, word) in wrong {
            let error = with(change).expect_err(word);
            assert!(error.contains(word) && !error.contains("s3cret"), "{error}");
        }
        assert!(
            !format!("{:?}", with(|args| args.oidc_client_secret = Some("s3cret".into())))
                .contains("s3cret")
        );
    }
}
