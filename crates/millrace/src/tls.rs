//! TLS of the server's own: certificate and key from files that are read again when they are
//! renewed.

use std::fmt;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use rustls::ServerConfig;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio_rustls::TlsAcceptor;

/// The files are looked at by a handshake, and no more often than this.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Where certificate and key are, PEM.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The certificate, followed by those that lead to a root.
    pub cert: PathBuf,
    pub key: PathBuf,
}

/// What tells one state of a file from the next: a renewal replaces it, or writes it anew.
type Seen = [Option<(u64, u64, i64, i64)>; 2];

/// Accepts TLS with what the files hold.
///
/// # Errors
/// Where a file cannot be read, or the two do not belong together.
pub fn acceptor(files: TlsFiles) -> Result<TlsAcceptor> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let renewed = Renewed::read(files, provider.clone())?;
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .context("TLS could not be set up")?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(renewed));
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// A certificate that follows its files.
struct Renewed {
    files: TlsFiles,
    provider: Arc<CryptoProvider>,
    now: Mutex<Now>,
}

struct Now {
    certified: Arc<CertifiedKey>,
    seen: Seen,
    looked: Instant,
}

impl Renewed {
    fn read(files: TlsFiles, provider: Arc<CryptoProvider>) -> Result<Self> {
        let seen = seen(&files);
        let certified = certified(&files, &provider)?;
        Ok(Self {
            files,
            provider,
            now: Mutex::new(Now { certified, seen, looked: Instant::now() }),
        })
    }

    fn current(&self) -> Arc<CertifiedKey> {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        if now.looked.elapsed() < LOOK_EVERY {
            return now.certified.clone();
        }
        now.looked = Instant::now();
        let seen = seen(&self.files);
        if seen != now.seen {
            // Both files are replaced one after the other: what does not fit together now is looked
            // at again once either changes.
            now.seen = seen;
            match certified(&self.files, &self.provider) {
                Ok(certified) => {
                    now.certified = certified;
                    tracing::info!(path = %self.files.cert.display(), "the renewed certificate is in use");
                }
                Err(error) => tracing::warn!(
                    error = format!("{error:#}"),
                    "the certificate before stays in use"
                ),
            }
        }
        now.certified.clone()
    }
}

impl fmt::Debug for Renewed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Renewed").field("files", &self.files).finish_non_exhaustive()
    }
}

impl ResolvesServerCert for Renewed {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.current())
    }
}

fn seen(files: &TlsFiles) -> Seen {
    let of = |path: &Path| {
        std::fs::metadata(path)
            .ok()
            .map(|meta| (meta.ino(), meta.len(), meta.mtime(), meta.mtime_nsec()))
    };
    [of(&files.cert), of(&files.key)]
}

/// Certificate and key as they are now.
///
/// # Errors
/// Where a file cannot be read, or the two do not belong together.
fn certified(
    TlsFiles { cert, key }: &TlsFiles,
    provider: &CryptoProvider,
) -> Result<Arc<CertifiedKey>> {
    let unreadable =
        |path: &Path, what| format!("`{}` could not be read as {what}", path.display());
    let what = "a certificate in PEM (--tls-cert)";
    let chain: Vec<_> = CertificateDer::pem_file_iter(cert)
        .and_then(Iterator::collect)
        .with_context(|| unreadable(cert, what))?;
    if chain.is_empty() {
        bail!("`{}` holds no certificate in PEM (--tls-cert)", cert.display());
    }
    let secret = PrivateKeyDer::from_pem_file(key)
        .with_context(|| unreadable(key, "a private key in PEM (--tls-key)"))?;
    let certified = CertifiedKey::from_der(chain, secret, provider).with_context(|| {
        format!(
            "the key `{}` (--tls-key) cannot be used with the certificate `{}` (--tls-cert)",
            key.display(),
            cert.display()
        )
    })?;
    Ok(Arc::new(certified))
}
