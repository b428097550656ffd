//! Checks of `millrace doctor` of external servers that this one needs: each must answer.

use millrace_engine::error_chain;

use crate::config::Config;
use crate::doctor::{ANSWER_TIMEOUT, Checks};

/// Packages, traces and objects: each is a warning, as a server starts and goes on without.
pub(crate) async fn look(config: &Config, checks: &mut Checks) {
    let client = match reqwest::Client::builder()
        .timeout(ANSWER_TIMEOUT)
        .redirect(reqwest::redirect::Policy::none())
        .build()
    {
        Ok(client) => client,
        Err(error) => {
            return checks.warn(
                "outside",
                format!("requests cannot be made: {}", error_chain(&error)),
                "fix the proxy's variables or the machine's certificates",
            );
        }
    };
    let registry = answers(&client, config.npm_registry.url()).await;
    report(
        checks,
        "packages",
        config.npm_registry.url(),
        registry,
        "check --npm-registry and the proxy: components that import packages cannot be deployed until it answers",
    );
    if let Some(traces) = &config.traces {
        let found = answers(&client, &traces.url).await;
        report(
            checks,
            "traces",
            &traces.url,
            found,
            "check --otlp-url and that the collector runs: spans that it does not take are dropped",
        );
    }
    if let Some(s3) = &config.s3 {
        let found = answers(&client, &s3.endpoint).await;
        report(
            checks,
            "object store",
            &s3.endpoint,
            found,
            "check --s3-endpoint: objects of `$.send.s3` are tried again, and given up in the end",
        );
    }
}

/// Any answer will do: what is there may ask for a key or another path.
async fn answers(client: &reqwest::Client, url: &str) -> Result<(), String> {
    client.get(url).send().await.map(drop).map_err(|error| error_chain(&error.without_url()))
}

fn report(
    checks: &mut Checks,
    name: &'static str,
    url: &str,
    found: Result<(), String>,
    mend: &str,
) {
    // An address may hold a password.
    let shown = reqwest::Url::parse(url).map_or_else(
        |_| "an address that is not valid".to_owned(),
        |url| format!("`{}`", url.origin().ascii_serialization()),
    );
    match found {
        Ok(()) => checks.ok(name, format!("{shown} answers")),
        Err(why) => checks.warn(name, format!("{shown} does not answer: {why}"), mend),
    }
}
