//! Signatures of tokens, verified by ring.

use std::sync::Once;

use jsonwebtoken::crypto::{CryptoProvider, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::signature::{Error as SignatureError, Verifier};
use jsonwebtoken::{Algorithm, DecodingKey, DecodingKeyKind};
use ring::signature::{self, RsaPublicKeyComponents, UnparsedPublicKey};

/// Signatures are checked by ring, which TLS uses as well: the library's own two providers bring
/// cryptography of their own.
pub(super) fn use_ring() {
    static ONCE: Once = Once::new();
    static RING: CryptoProvider = CryptoProvider {
        signer_factory: |_, _| Err(ErrorKind::InvalidAlgorithm.into()),
        verifier_factory: |algorithm, key| {
            Ok(Box::new(RingVerifier { algorithm: *algorithm, key: key.clone() }))
        },
        key_utils: KeyUtils::new_unimplemented(),
    };
    ONCE.call_once(|| {
        // It fails where another was installed before, and nothing else here does.
        let _ = RING.install_default();
    });
}

struct RingVerifier {
    algorithm: Algorithm,
    key: DecodingKey,
}

impl JwtVerifier for RingVerifier {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

impl Verifier<Vec<u8>> for RingVerifier {
    fn verify(&self, message: &[u8], signed: &Vec<u8>) -> Result<(), SignatureError> {
        let rsa = match self.algorithm {
            Algorithm::RS256 => Some(&signature::RSA_PKCS1_2048_8192_SHA256),
            Algorithm::RS384 => Some(&signature::RSA_PKCS1_2048_8192_SHA384),
            Algorithm::RS512 => Some(&signature::RSA_PKCS1_2048_8192_SHA512),
            Algorithm::PS256 => Some(&signature::RSA_PSS_2048_8192_SHA256),
            Algorithm::PS384 => Some(&signature::RSA_PSS_2048_8192_SHA384),
            Algorithm::PS512 => Some(&signature::RSA_PSS_2048_8192_SHA512),
            _ => None,
        };
        let curve: Option<&dyn signature::VerificationAlgorithm> = match self.algorithm {
            Algorithm::ES256 => Some(&signature::ECDSA_P256_SHA256_FIXED),
            Algorithm::ES384 => Some(&signature::ECDSA_P384_SHA384_FIXED),
            Algorithm::EdDSA => Some(&signature::ED25519),
            _ => None,
        };
        let fits = match (rsa, curve, self.key.kind()) {
            (Some(algorithm), _, DecodingKeyKind::RsaModulusExponent { n, e }) => {
                RsaPublicKeyComponents { n, e }.verify(algorithm, message, signed)
            }
            (_, Some(algorithm), DecodingKeyKind::SecretOrDer(point)) => {
                UnparsedPublicKey::new(algorithm, point).verify(message, signed)
            }
            _ => return Err(SignatureError::new()),
        };
        fits.map_err(|_| SignatureError::new())
    }
}
