//! Authorization of requests to endpoints of workflows: none, a token, a signature or an API key.
//! An endpoint's secret is checked when its workflow is deployed and stored sealed.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use millrace_model::Timestamp;
use millrace_model::http::EndpointRequest;
use millrace_model::ids::{OrgId, WorkflowId};
use millrace_model::tenant::Scope;
use millrace_model::workflow::{AuthKind, EndpointAuth, Trigger};
use serde::Deserialize;
use serde_json::Value;
use sha2::Sha256;

use crate::accept::webhook_secrets::{check_secret, unwrapped, webhook_keys};
use crate::read_value::read_value;
use crate::tenants::secrets::same;
use crate::tenants::wrong_keys::Asker;
use crate::{Engine, EngineError, check_scope};

/// How far the time of a signed request may be from ours, milliseconds: an older one may be an
/// eavesdropper's.
const CLOCK_SKEW_MS: i64 = 5 * 60_000;
/// The longest secret, bytes.
const SECRET_BYTES_MAX: usize = 1024;
/// Signatures of one request that are looked at: while a sender changes its secret, it sends two.
const SIGNATURES_MAX: usize = 8;

/// The `auth` of an HTTP trigger's props.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AuthRequest {
    r#type: String,
    token: Option<String>,
    secret: Option<String>,
    header: Option<String>,
}

/// How an endpoint's callers are told from others, the secret open. Never logged.
pub(crate) enum Authorization {
    Bearer(String),
    /// Standard Webhooks; the keys that its secret may mean.
    Signed(Vec<Vec<u8>>),
    /// An HMAC-SHA256 of the body in hex, in this header.
    SignedHex(Vec<u8>, String),
    ApiKey,
}

impl Engine {
    /// What a trigger's `auth` becomes; None: anybody may call. Without a secret of its own, the
    /// one before is kept.
    pub(crate) fn endpoint_auth(
        &self,
        field: &str,
        workflow: &WorkflowId,
        given: Option<&Value>,
        before: Option<&EndpointAuth>,
    ) -> Result<Option<EndpointAuth>, EngineError> {
        let field = format!("{field}.props.auth");
        let Some(given) = given else { return Ok(before.cloned()) };
        let request: AuthRequest = read_value(&field, given)?;
        let kind = match request.r#type.as_str() {
            "none" => return Ok(None),
            "bearer" | "static_bearer_token" => AuthKind::Bearer,
            "signature" => AuthKind::Signature,
            "oauth" | "api_key" => AuthKind::ApiKey,
            other => {
                let shown = millrace_model::shown(other);
                return Err(EngineError::invalid(
                    &field,
                    format!(
                        "`{shown}` is not a kind of authorization; allowed are none, bearer, signature and api_key"
                    ),
                ));
            }
        };
        let header = match (kind, request.header) {
            (AuthKind::Signature, Some(header))
                if header.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
                    && (1..=100).contains(&header.len()) =>
            {
                Some(header.to_ascii_lowercase())
            }
            (_, None) => None,
            _ => {
                return Err(EngineError::invalid(
                    &field,
                    "`header` names the header of a signature, such as x-hub-signature-256",
                ));
            }
        };
        let secret = match (kind, request.token, request.secret) {
            (AuthKind::ApiKey, None, None) => None,
            (AuthKind::Bearer, Some(secret), None) | (AuthKind::Signature, None, Some(secret)) => {
                if !(1..=SECRET_BYTES_MAX).contains(&secret.len())
                    || (kind == AuthKind::Bearer && secret.bytes().any(|b| !b.is_ascii_graphic()))
                {
                    return Err(EngineError::invalid(
                        &field,
                        format!(
                            "the secret has 1 to {SECRET_BYTES_MAX} characters; those of a token are visible ASCII"
                        ),
                    ));
                }
                if kind == AuthKind::Bearer && unwrapped(&secret) != secret {
                    return Err(EngineError::invalid(
                        &field,
                        "the token is in quotes; give it without them, as callers send it",
                    ));
                }
                if kind == AuthKind::Signature {
                    check_secret(&secret, header.is_some())
                        .map_err(|why| EngineError::invalid(&field, format!("`secret` {why}")))?;
                }
                Some(self.0.keyring.seal(&self.0.ids, workflow.as_str(), &secret)?)
            }
            (AuthKind::Bearer | AuthKind::Signature, None, None) => {
                match before.filter(|b| b.kind == kind) {
                    Some(before) => before.secret.clone(),
                    None => {
                        return Err(EngineError::missing(
                            &field,
                            "`bearer` needs a `token`, `signature` a `secret`",
                        ));
                    }
                }
            }
            _ => {
                return Err(EngineError::invalid(
                    &field,
                    "`bearer` takes a `token`, `signature` a `secret`, the others neither",
                ));
            }
        };
        Ok(Some(EndpointAuth { kind, secret, header }))
    }

    /// The authorization of each endpoint that has one, by the endpoint's id.
    pub(crate) fn authorizations(
        &self,
        workflow: &WorkflowId,
        triggers: &[Trigger],
    ) -> Result<Vec<(String, Authorization)>, EngineError> {
        let mut all = Vec::new();
        for trigger in triggers {
            let Trigger::Http { id, auth: Some(auth), .. } = trigger else { continue };
            let secret = match &auth.secret {
                Some(sealed) => self.0.keyring.open(workflow.as_str(), sealed)?,
                None => String::new(),
            };
            let authorization = match (auth.kind, &auth.header) {
                (AuthKind::Bearer, _) => Authorization::Bearer(secret),
                (AuthKind::Signature, Some(header)) => {
                    Authorization::SignedHex(secret.into_bytes(), header.clone())
                }
                (AuthKind::Signature, None) => Authorization::Signed(
                    webhook_keys(&secret).unwrap_or_else(|_| vec![secret.into_bytes()]),
                ),
                (AuthKind::ApiKey, _) => Authorization::ApiKey,
            };
            all.push((id.to_string(), authorization));
        }
        Ok(all)
    }

    /// Lets a request in; says whether its signature was verified. What named the caller is taken
    /// out of the request: code and history need not know it.
    pub(crate) async fn authorize(
        &self,
        org: &OrgId,
        authorization: &Authorization,
        request: &mut EndpointRequest,
    ) -> Result<bool, EngineError> {
        let refused = |what: &'static str| Err(EngineError::EndpointRefused { what });
        match authorization {
            Authorization::Bearer(token) => match bearer(request) {
                Some(shown) if same(shown.as_bytes(), token.as_bytes()) => {}
                _ => {
                    return refused(
                        "this endpoint needs its token: `Authorization: Bearer <token>`",
                    );
                }
            },
            Authorization::ApiKey => {
                let key = "this endpoint needs an API key of its organization with the scope `invoke`: `Authorization: Bearer <api key>`";
                let Some(shown) = bearer(request) else { return refused(key) };
                let from = request.client_ip.parse().ok().map(Asker::Address);
                match self.keys().authenticate(shown, from.as_ref()).await {
                    Ok(caller)
                        if caller.org_id == *org && check_scope(&caller, Scope::Invoke).is_ok() =>
                    {
                        self.keys().count_request(&caller)?
                    }
                    Ok(_) | Err(EngineError::Unauthorized) => return refused(key),
                    Err(error) => return Err(error),
                }
            }
            Authorization::Signed(keys) => {
                return if is_signed(keys, request, self.now()) {
                    Ok(true)
                } else {
                    refused(
                        "this endpoint needs a signature: the headers webhook-id, webhook-timestamp (of the last five minutes) and webhook-signature",
                    )
                };
            }
            Authorization::SignedHex(key, header) => {
                return if is_signed_hex(key, header, request) {
                    Ok(true)
                } else {
                    refused("this endpoint needs a signature: the body's HMAC-SHA256 in hex")
                };
            }
        }
        request.headers.retain(|(name, _)| name != "authorization");
        Ok(false)
    }
}

fn bearer(request: &EndpointRequest) -> Option<&str> {
    let (scheme, shown) = header(request, "authorization")?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| shown.trim())
}

fn header<'a>(request: &'a EndpointRequest, name: &str) -> Option<&'a str> {
    request.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
}

fn mac(key: &[u8], parts: &[&[u8]]) -> Option<Hmac<Sha256>> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).ok()?;
    parts.iter().for_each(|part| mac.update(part));
    Some(mac)
}

fn is_signed(keys: &[Vec<u8>], request: &EndpointRequest, now: Timestamp) -> bool {
    let (Some(id), Some(time), Some(given)) = (
        header(request, "webhook-id"),
        header(request, "webhook-timestamp"),
        header(request, "webhook-signature"),
    ) else {
        return false;
    };
    let is_fresh = time.parse::<i64>().is_ok_and(|secs| {
        now.ms().abs_diff(secs.saturating_mul(1000)) <= CLOCK_SKEW_MS.unsigned_abs()
    });
    let signed = |key: &Vec<u8>| {
        let key = key.clone();
        signed_bodies(request)
            .filter_map(move |body| mac(&key, &[id.as_bytes(), b".", time.as_bytes(), b".", body]))
    };
    let macs: Vec<_> = keys.iter().flat_map(signed).collect();
    let given = given
        .split(' ')
        .take(SIGNATURES_MAX)
        .filter_map(|one| STANDARD.decode(one.strip_prefix("v1,")?).ok());
    // All are compared, in constant time each.
    is_fresh
        && given.fold(false, |found, one| {
            macs.iter().fold(found, |found, mac| found | mac.clone().verify_slice(&one).is_ok())
        })
}

/// What a signature may be of. A sender that encodes its requests may sign before or after.
fn signed_bodies(request: &EndpointRequest) -> impl Iterator<Item = &[u8]> {
    [Some(&request.body), request.encoded.as_ref()].into_iter().flatten().map(Vec::as_slice)
}

fn is_signed_hex(key: &[u8], name: &str, request: &EndpointRequest) -> bool {
    let Some(given) = header(request, name)
        .map(|text| text.trim().strip_prefix("sha256=").unwrap_or(text.trim()))
    else {
        return false;
    };
    let (true, Some(given)) = (given.is_ascii(), from_hex(given)) else { return false };
    signed_bodies(request)
        .any(|body| mac(key, &[body]).is_some_and(|mac| mac.verify_slice(&given).is_ok()))
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let pairs =
        (0..text.len()).step_by(2).map(|at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok());
    if text.len() == 64 { pairs.collect() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(headers: &[(&str, &str)], body: &str) -> EndpointRequest {
        EndpointRequest {
            method: "POST".into(),
            path: "/".into(),
            url: String::new(),
            query: String::new(),
            headers: headers
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            client_ip: String::new(),
            body: body.as_bytes().to_vec(),
            encoded: None,
            parsed: None,
        }
    }

    #[test]
    fn standard_webhooks_are_verified_with_their_time() {
        // The example of the specification's reference libraries.
        let key = webhook_keys("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let signature = "v1,Zm9v v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
        let headers = [
            ("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek"),
            ("webhook-timestamp", "1614265330"),
            ("webhook-signature", signature),
        ];
        let body = r#"{"test": 2432232314}"#;
        let now = Timestamp(1_614_265_330_000);
        assert!(is_signed(&key, &request(&headers, body), now));
        assert!(is_signed(&key, &request(&headers, body), now.plus_ms(CLOCK_SKEW_MS)));
        assert!(!is_signed(&key, &request(&headers, body), now.plus_ms(CLOCK_SKEW_MS + 1)));
        assert!(
            !is_signed(&key, &request(&headers, "{}"), now)
                && !is_signed(&[b"other".to_vec()], &request(&headers, body), now)
        );
        assert!(
            !is_signed(&key, &request(&headers[..2], body), now)
                && !is_signed(&key, &request(&[], body), now)
        );
        // Times that nobody has, and numbers that are none.
        for time in [
            "-9223372036854775808",
            "9223372036854775807",
            "-9223372036854775",
            "0",
            "",
            "NaN",
            "1e9",
            "99999999999999999999",
        ] {
            let headers = [headers[0], ("webhook-timestamp", time), headers[2]];
            assert!(!is_signed(&key, &request(&headers, body), now), "{time}");
        }
    }

    #[test]
    fn a_signature_in_hex_is_that_of_the_body() {
        // RFC 4231, case 2.
        let hex = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        let body = "what do ya want for nothing?";
        let check = |given: &str, body: &str| {
            is_signed_hex(b"Jefe", "x-sig", &request(&[("x-sig", given)], body))
        };
        assert!(
            check(hex, body)
                && check(&format!("sha256={hex}"), body)
                && check(&hex.to_uppercase(), body)
        );
        for wrong in ["", "sha256=", &hex[..62], "é", &format!("{hex}00"), &"zz".repeat(32)] {
            assert!(!check(wrong, body), "{wrong}");
        }
        let encoded = EndpointRequest {
            encoded: Some(body.as_bytes().to_vec()),
            ..request(&[("x-sig", hex)], "decoded")
        };
        assert!(is_signed_hex(b"Jefe", "x-sig", &encoded), "a sender may sign what it encoded");
        assert!(!check(hex, "x") && !is_signed_hex(b"Jefe", "x-sig", &request(&[], body)));
    }
}
