//! Front of a connection: the PROXY protocol of trusted proxies, then TLS of the server's own, then
//! what is known of the client.

use std::io;
use std::net::{IpAddr, SocketAddr};

use axum::extract::ConnectInfo;
use axum::http::{HeaderMap, Request};
use millrace_api::Reached;
use millrace_model::proxies::{Scheme, TrustedProxy, origin};
use ppp::{HeaderResult, v1, v2};
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::either::Either;

/// How each header of version 2 begins.
const V2_BEGIN: &[u8; 12] = b"\r\n\r\n\0\r\nQUIT\n";
/// The longest header of version 1, its end included (PROXY protocol, 2.1).
const V1_BYTES_MAX: usize = 107;
/// What a proxy says of TLS with its client (PROXY protocol, 2.2.6): the type, and the bit that
/// there was some.
const TLV_TLS: u8 = 0x20;
const CLIENT_TLS: u8 = 1;

/// A connection as HTTP is spoken on it.
pub type Stream = Either<TcpStream, TlsStream<TcpStream>>;

/// What stands before HTTP.
#[derive(Clone, Default)]
pub struct Front {
    /// Proxies whose word counts.
    pub trusted: Vec<TrustedProxy>,
    /// Whether they begin each connection with a header of the PROXY protocol.
    pub proxy_protocol: bool,
    pub tls: Option<TlsAcceptor>,
}

/// The other side of a connection, as far as the connection tells.
#[derive(Clone, Copy, Debug)]
pub struct Peer {
    address: SocketAddr,
    scheme: Option<Scheme>,
}

impl Front {
    /// Gets a connection to where HTTP begins.
    ///
    /// # Errors
    /// Where the client goes away or says something else.
    pub async fn open(
        &self,
        mut stream: TcpStream,
        address: SocketAddr,
    ) -> io::Result<(Stream, Peer)> {
        let mut peer = Peer { address, scheme: None };
        if self.proxy_protocol && self.trusts(address.ip()) {
            // The protocol forbids to guess whether a header is there (PROXY protocol, 2).
            peer = proxied(&mut stream, peer).await.inspect_err(|error| {
                tracing::warn!(%address, %error, "a trusted proxy began a connection without a header of the PROXY protocol (--proxy-protocol)");
            })?;
        }
        let Some(tls) = &self.tls else { return Ok((Either::Left(stream), peer)) };
        let stream = tls.accept(stream).await?;
        Ok((Either::Right(stream), Peer { scheme: peer.scheme.or(Some(Scheme::Https)), ..peer }))
    }

    fn trusts(&self, ip: IpAddr) -> bool {
        self.trusted.iter().any(|proxy| proxy.contains(ip))
    }

    /// Says in a request's extensions where it comes from.
    pub fn mark<B>(&self, request: &mut Request<B>, peer: Peer) {
        let ip = peer.address.ip();
        let said = if self.trusts(ip) {
            Some(origin(&self.trusted, ip, |name| lines(request.headers(), name)))
        } else {
            None
        };
        let (address, host) = match &said {
            // The port that the client had is not told.
            Some(said) if said.address != ip.to_canonical() => {
                (SocketAddr::new(said.address, 0), said.host.clone())
            }
            Some(said) => (peer.address, said.host.clone()),
            None => (peer.address, None),
        };
        let scheme = said.and_then(|said| said.scheme).or(peer.scheme);
        request.extensions_mut().insert(ConnectInfo(address));
        if scheme.is_some() || host.is_some() {
            request.extensions_mut().insert(Reached { scheme, host });
        }
    }
}

fn lines(headers: &HeaderMap, name: &str) -> Vec<String> {
    headers
        .get_all(name)
        .iter()
        .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
        .collect()
}

/// Reads a header of the PROXY protocol, and not a byte more.
async fn proxied(stream: &mut TcpStream, peer: Peer) -> io::Result<Peer> {
    let no_header =
        || io::Error::new(io::ErrorKind::InvalidData, "it is no header of version 1 or 2");
    let mut header = vec![0; V2_BEGIN.len()];
    stream.read_exact(&mut header).await?;
    if header == V2_BEGIN {
        let mut rest = [0; 4];
        stream.read_exact(&mut rest).await?;
        header.extend_from_slice(&rest);
        let begin = header.len();
        header.resize(begin + usize::from(u16::from_be_bytes([rest[2], rest[3]])), 0);
        stream.read_exact(&mut header[begin..]).await?;
    } else if header.starts_with(b"PROXY ") {
        while !header.ends_with(b"\r\n") {
            if header.len() == V1_BYTES_MAX {
                return Err(no_header());
            }
            header.push(stream.read_u8().await?);
        }
    }
    told(&header, peer).ok_or_else(no_header)
}

/// What a header says of the client; None: it is none. Where it tells no address, the proxy speaks
/// for itself.
fn told(header: &[u8], peer: Peer) -> Option<Peer> {
    let at = |ip: IpAddr, port| Peer { address: SocketAddr::new(ip, port), ..peer };
    match HeaderResult::parse(header) {
        HeaderResult::V1(Ok(header)) => Some(match header.addresses {
            v1::Addresses::Tcp4(ip) => at(ip.source_address.into(), ip.source_port),
            v1::Addresses::Tcp6(ip) => at(ip.source_address.into(), ip.source_port),
            v1::Addresses::Unknown => peer,
        }),
        HeaderResult::V2(Ok(header)) => {
            if header.command == v2::Command::Local {
                return Some(peer);
            }
            let is_tls = header.tlvs().flatten().any(|said| {
                said.kind == TLV_TLS
                    && said.value.first().is_some_and(|bits| bits & CLIENT_TLS != 0)
            });
            let scheme = if is_tls { Some(Scheme::Https) } else { peer.scheme };
            let client = match header.addresses {
                v2::Addresses::IPv4(ip) => at(ip.source_address.into(), ip.source_port),
                v2::Addresses::IPv6(ip) => at(ip.source_address.into(), ip.source_port),
                v2::Addresses::Unix(_) | v2::Addresses::Unspecified => peer,
            };
            Some(Peer { scheme, ..client })
        }
        HeaderResult::V1(Err(_)) | HeaderResult::V2(Err(_)) => None,
    }
}
