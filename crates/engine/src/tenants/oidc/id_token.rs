//! ID tokens of OpenID Connect: signature by a key of the provider, and the claims that make a
//! token one for this server and this sign-in.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::jwk::{Jwk, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use millrace_model::Timestamp;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::ring_verifier::use_ring;

/// Algorithms that are taken. None of them is made with a secret that the client knows, nor without
/// any.
const ALGORITHMS: [Algorithm; 9] = [
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
    Algorithm::ES256,
    Algorithm::ES384,
    Algorithm::EdDSA,
];
/// How far the provider's clock may be off.
const LEEWAY_MS: i64 = 60_000;
/// Characters of a subject, as OpenID Connect bounds it.
const SUBJECT_CHARS_MAX: usize = 255;
/// Keys that are tried for a token that names none.
const KEYS_TRIED_MAX: usize = 8;

/// Why an ID token is not taken.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum IdTokenError {
    #[error(
        "it cannot be read as a token, or its algorithm is not accepted (RS, PS, ES and EdDSA are)"
    )]
    Unreadable,
    #[error("its head names extensions (`crit`) that are not known here")]
    Critical,
    #[error("the provider has no key that it names")]
    UnknownKey,
    #[error("its signature is not one of the provider's keys")]
    Signature,
    #[error("its claims cannot be read, or one of `iss`, `sub`, `aud` and `exp` is missing")]
    Claims,
    #[error("its claim `{0}` is not what it has to be")]
    Claim(&'static str),
}

/// What the claims have to be.
pub(crate) struct Expected<'a> {
    pub(crate) issuer: &'a str,
    pub(crate) client_id: &'a str,
    pub(crate) nonce: &'a str,
    pub(crate) now: Timestamp,
}

/// Claims about a person. None of them has to be there: one of another type counts as missing.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Person {
    #[serde(default, deserialize_with = "text")]
    pub(crate) email: Option<String>,
    /// A boolean; some providers write it as text.
    #[serde(default)]
    email_verified: Value,
    #[serde(default, deserialize_with = "text")]
    pub(crate) name: Option<String>,
}

fn text<'de, D: Deserializer<'de>>(claim: D) -> Result<Option<String>, D::Error> {
    Ok(match Value::deserialize(claim)? {
        Value::String(text) => Some(text),
        _ => None,
    })
}

/// Whether a token's head names extensions that have to be understood to take it (RFC 7515,
/// 4.1.11); none is understood here.
fn is_critical(token: &str) -> bool {
    let head = token.split('.').next().unwrap_or_default();
    let head = URL_SAFE_NO_PAD.decode(head).ok();
    let head: Option<Value> = head.and_then(|head| millrace_model::json::from_slice(&head).ok());
    head.is_none_or(|head| head.get("crit").is_some())
}

impl Person {
    pub(crate) fn is_verified(&self) -> bool {
        self.email_verified == true || self.email_verified == "true"
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct Claims {
    iss: String,
    pub(crate) sub: String,
    aud: Audience,
    #[serde(default)]
    azp: Option<String>,
    exp: f64,
    #[serde(default)]
    iat: Option<f64>,
    #[serde(default)]
    nbf: Option<f64>,
    #[serde(default)]
    nonce: Option<String>,
    #[serde(flatten)]
    pub(crate) person: Person,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Many(Vec<String>),
}

/// The claims of a token that one of these keys signed for this sign-in.
pub(crate) fn verify(
    token: &str,
    keys: &[Jwk],
    expected: &Expected<'_>,
) -> Result<Claims, IdTokenError> {
    use_ring();
    let header = jsonwebtoken::decode_header(token).map_err(|_| IdTokenError::Unreadable)?;
    if !ALGORITHMS.contains(&header.alg) {
        return Err(IdTokenError::Unreadable);
    }
    if is_critical(token) {
        return Err(IdTokenError::Critical);
    }
    let fits = |key: &&Jwk| {
        let is_named = header.kid.is_none() || key.common.key_id == header.kid;
        is_named && matches!(key.common.public_key_use, None | Some(PublicKeyUse::Signature))
    };
    let keys = keys.iter().filter(fits).filter_map(|key| DecodingKey::from_jwk(key).ok());
    let keys: Vec<_> =
        keys.filter(|key| key.family() == header.alg.family()).take(KEYS_TRIED_MAX).collect();
    if keys.is_empty() {
        return Err(IdTokenError::UnknownKey);
    }
    // Times are compared below, with the clock of the server.
    let mut validation = Validation::new(header.alg);
    (validation.validate_exp, validation.validate_nbf, validation.validate_aud) =
        (false, false, false);
    validation.required_spec_claims.clear();
    let mut failed = IdTokenError::Signature;
    for key in &keys {
        match jsonwebtoken::decode::<Claims>(token, key, &validation) {
            Ok(read) => return checked(read.claims, expected),
            Err(error) if matches!(error.kind(), ErrorKind::InvalidSignature) => {}
            Err(_) => failed = IdTokenError::Claims,
        }
    }
    Err(failed)
}

fn checked(claims: Claims, expected: &Expected<'_>) -> Result<Claims, IdTokenError> {
    let (of_us, is_alone) = match &claims.aud {
        Audience::One(aud) => (aud == expected.client_id, true),
        Audience::Many(all) => (all.iter().any(|aud| aud == expected.client_id), all.len() == 1),
    };
    let is_subject = (1..=SUBJECT_CHARS_MAX).contains(&claims.sub.chars().count())
        && !claims.sub.chars().any(char::is_control);
    #[expect(clippy::cast_precision_loss, reason = "milliseconds of these millennia")]
    let (now, leeway) = (expected.now.ms() as f64 / 1000.0, LEEWAY_MS as f64 / 1000.0);
    let wrong = [
        ("iss", claims.iss != expected.issuer),
        ("aud", !of_us),
        // A token for several says which of them asked for it.
        ("azp", claims.azp.as_deref().map_or(!is_alone, |azp| azp != expected.client_id)),
        ("sub", !is_subject),
        ("exp", claims.exp + leeway <= now),
        ("iat", claims.iat.is_some_and(|at| at - leeway > now)),
        ("nbf", claims.nbf.is_some_and(|at| at - leeway > now)),
        ("nonce", claims.nonce.as_deref() != Some(expected.nonce)),
    ];
    match wrong.into_iter().find(|(_, is_wrong)| *is_wrong) {
        Some((claim, _)) => Err(IdTokenError::Claim(claim)),
        None => Ok(claims),
    }
}

#[cfg(test)]
mod tests {
    use ring::rand::SystemRandom;
    use ring::signature::{
        ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _,
    };
    use serde_json::json;

    use super::{URL_SAFE_NO_PAD as B64, *};

    const NOW: i64 = 1_800_000_000;

    fn expected() -> Expected<'static> {
        Expected {
            issuer: "https://id.test",
            client_id: "millrace",
            nonce: "n-1",
            now: Timestamp(NOW * 1000),
        }
    }

    fn claims(with: Value) -> Value {
        let mut claims = json!({ "iss": "https://id.test", "sub": "s-1", "aud": "millrace", "exp": NOW + 300, "iat": NOW, "nonce": "n-1", "email": "a@x.test" });
        claims
            .as_object_mut()
            .expect("an object")
            .extend(with.as_object().expect("an object").clone());
        claims
    }

    fn unsigned(header: &Value, claims: &Value) -> String {
        format!("{}.{}", B64.encode(header.to_string()), B64.encode(claims.to_string()))
    }

    /// Signs with Ed25519.
    fn signed(pair: &Ed25519KeyPair, claims: &Value) -> String {
        let message = unsigned(&json!({ "alg": "EdDSA", "kid": "k" }), claims);
        let signature = B64.encode(pair.sign(message.as_bytes()));
        format!("{message}.{signature}")
    }

    fn keys(pair: &Ed25519KeyPair) -> Vec<Jwk> {
        let key = json!({ "kty": "OKP", "crv": "Ed25519", "kid": "k", "use": "sig", "x": B64.encode(pair.public_key().as_ref()) });
        vec![serde_json::from_value(key).expect("a key")]
    }

    fn pair() -> Ed25519KeyPair {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).expect("a key");
        Ed25519KeyPair::from_pkcs8(document.as_ref()).expect("a key")
    }

    #[test]
    fn a_token_for_this_sign_in_is_taken_and_no_other() {
        let (pair, other) = (pair(), pair());
        let of = |with: Value| {
            verify(&signed(&pair, &claims(with)), &keys(&pair), &expected())
                .map(|claims| claims.sub)
        };
        assert_eq!(of(json!({})), Ok("s-1".into()));
        assert_eq!(
            of(json!({ "aud": ["other", "millrace"], "azp": "millrace" })),
            Ok("s-1".into())
        );
        assert_eq!(of(json!({ "exp": NOW - 59 })), Ok("s-1".into()), "clocks differ");
        for (with, claim) in [
            (json!({ "iss": "https://evil.test" }), "iss"),
            (json!({ "aud": "other" }), "aud"),
            (json!({ "aud": [] }), "aud"),
            (json!({ "aud": ["other", "millrace"] }), "azp"),
            (json!({ "azp": "other" }), "azp"),
            (json!({ "sub": "" }), "sub"),
            (json!({ "sub": "a\u{0}" }), "sub"),
            (json!({ "exp": NOW - 60 }), "exp"),
            (json!({ "iat": NOW + 61 }), "iat"),
            (json!({ "nbf": NOW + 61 }), "nbf"),
            (json!({ "nonce": "n-2" }), "nonce"),
            (json!({ "nonce": null }), "nonce"),
        ] {
            assert_eq!(of(with.clone()), Err(IdTokenError::Claim(claim)), "{with}");
        }
        for with in [
            json!({ "exp": "never" }),
            json!({ "exp": null }),
            json!({ "iss": null }),
            json!({ "nbf": "9999999999" }),
        ] {
            assert_eq!(of(with.clone()), Err(IdTokenError::Claims), "{with}");
        }
        assert_eq!(
            verify(&signed(&other, &claims(json!({}))), &keys(&pair), &expected()).map(|_| ()),
            Err(IdTokenError::Signature)
        );
    }

    #[test]
    fn a_token_is_of_a_key_of_the_provider_and_of_an_algorithm_with_one() {
        let pair = pair();
        let public = keys(&pair);
        let error = |header: Value, signature: &str| {
            let token = format!("{}.{signature}", unsigned(&header, &claims(json!({}))));
            verify(&token, &public, &expected()).map(|_| ()).expect_err("refused")
        };
        for algorithm in ["none", "None", "HS256", "HS512", "ES512", ""] {
            assert_eq!(
                error(json!({ "alg": algorithm, "kid": "k" }), ""),
                IdTokenError::Unreadable,
                "{algorithm}"
            );
        }
        assert_eq!(
            error(json!({ "alg": "EdDSA", "kid": "another" }), "AAAA"),
            IdTokenError::UnknownKey
        );
        assert_eq!(
            error(json!({ "alg": "RS256", "kid": "k" }), "AAAA"),
            IdTokenError::UnknownKey,
            "the key is of another family"
        );
        for crit in [json!(["exp"]), json!([]), json!(null)] {
            assert_eq!(
                error(json!({ "alg": "EdDSA", "kid": "k", "crit": crit }), "AAAA"),
                IdTokenError::Critical
            );
        }
        assert_eq!(error(json!({ "alg": "EdDSA" }), "AAAA"), IdTokenError::Signature);
        assert_eq!(error(json!({ "alg": "EdDSA", "kid": "k" }), ""), IdTokenError::Signature);
        for token in ["", ".", "..", "a.b.c", "a.b.c.d"] {
            assert_eq!(
                verify(token, &public, &expected()).map(|_| ()),
                Err(IdTokenError::Unreadable),
                "{token}"
            );
        }
    }

    #[test]
    fn curves_are_those_of_their_algorithm() {
        let random = SystemRandom::new();
        let document =
            EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).expect("a key");
        let pair =
            EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref(), &random)
                .expect("a key");
        let point = pair.public_key().as_ref();
        let key = json!({ "kty": "EC", "crv": "P-256", "x": B64.encode(&point[1..33]), "y": B64.encode(&point[33..]) });
        let keys: Vec<Jwk> = vec![serde_json::from_value(key).expect("a key")];
        let signed = |algorithm: &str| {
            let message = unsigned(&json!({ "alg": algorithm }), &claims(json!({})));
            format!(
                "{message}.{}",
                B64.encode(pair.sign(&random, message.as_bytes()).expect("signs").as_ref())
            )
        };
        assert!(verify(&signed("ES256"), &keys, &expected()).is_ok());
        assert_eq!(
            verify(&signed("ES384"), &keys, &expected()).map(|_| ()),
            Err(IdTokenError::Signature)
        );
    }

    #[test]
    fn an_address_is_verified_where_the_provider_says_so() {
        let verified =
            |claims: Value| serde_json::from_value::<Person>(claims).expect("reads").is_verified();
        assert!(
            verified(json!({ "email_verified": true }))
                && verified(json!({ "email_verified": "true" }))
        );
        for value in
            [json!(false), json!("false"), json!(1), json!("yes"), json!(null), json!([true])]
        {
            assert!(!verified(json!({ "email_verified": value })), "{value}");
        }
        assert!(!verified(json!({})));
    }

    #[test]
    fn an_optional_claim_of_another_type_counts_as_missing() {
        let pair = pair();
        for other in
            [json!({ "first": "A" }), json!(["a@x.test"]), json!(1), json!(true), json!(null)]
        {
            let with = json!({ "name": other, "email": other });
            let person = verify(&signed(&pair, &claims(with)), &keys(&pair), &expected());
            let person = person.expect("taken").person;
            assert_eq!((person.name, person.email), (None, None), "{other}");
        }
    }
}
