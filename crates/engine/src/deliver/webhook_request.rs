//! Headers of the request that delivers an event to a webhook: as the dispatcher sends them, and as
//! the record of a delivery shows them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use millrace_model::webhook::WebhookDelivery;

use crate::VERSION;
use crate::deliver::webhook_address::{Sealed, has_credentials};
use crate::deliver::webhooks::SECRET_PREFIX;
use crate::tenants::secrets::hmac_sha256;
use crate::trace_context;

/// Headers by their names.
pub type Headers = Vec<(&'static str, String)>;

/// Headers of an attempt that began at `secs`, but `authorization`: the HTTP client makes it of the
/// address.
pub(crate) fn headers(
    secret: &str,
    delivery: &WebhookDelivery,
    secs: i64,
) -> Result<Headers, String> {
    let id = delivery.id.as_str();
    let mut headers = vec![
        ("content-type", "application/json".to_owned()),
        ("user-agent", format!("Millrace-Webhooks/{VERSION}")),
        ("webhook-id", id.to_owned()),
        ("webhook-timestamp", secs.to_string()),
        ("webhook-signature", sign(secret, id, secs, &delivery.body)?),
    ];
    if let Some(parent) = &delivery.traceparent {
        headers.push((trace_context::HEADER, parent.clone()));
    }
    Ok(headers)
}

/// Headers of the last attempt, without the credentials. They are computed from the delivery and
/// the time of the attempt, not stored; empty before the first attempt, and where the secret cannot
/// be read, as nothing is sent then.
pub(crate) fn shown_headers(sealed: &Sealed, url: &str, delivery: &WebhookDelivery) -> Headers {
    let Some(last) = delivery.attempt_log.last() else { return Headers::new() };
    let secs = last.at_ms.div_euclid(1000);
    let mut headers = headers(&sealed.secret, delivery, secs).unwrap_or_default();
    if !headers.is_empty() && sealed.address(url).is_some_and(|url| has_credentials(&url)) {
        headers.push(("authorization", "Basic ***".to_owned()));
    }
    headers
}

/// The signature of Standard Webhooks: HMAC-SHA256 over id, time and body, in base64.
fn sign(secret: &str, id: &str, timestamp: i64, body: &str) -> Result<String, String> {
    let damaged = "the webhook's secret is damaged";
    let key = STANDARD
        .decode(secret.strip_prefix(SECRET_PREFIX).unwrap_or(secret))
        .map_err(|_| damaged)?;
    let signature = hmac_sha256(&key, format!("{id}.{timestamp}.{body}").as_bytes());
    Ok(format!("v1,{}", STANDARD.encode(signature)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signature_is_that_of_standard_webhooks() {
        // The example of the specification's reference libraries.
        let signed = sign(
            "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            1_614_265_330,
            r#"{"test": 2432232314}"#,
        );
        assert_eq!(signed.as_deref(), Ok("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="));
        assert!(sign("whsec_***", "a", 1, "{}").is_err());
    }
}
