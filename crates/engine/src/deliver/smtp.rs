//! SMTP client of the mailer and of `millrace doctor`: lettre's, over connections that are read up
//! to a bound. lettre checks the length of a line only after it has read its end.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use lettre::Message;
use lettre::transport::smtp::authentication::{Credentials, DEFAULT_MECHANISMS};
#[expect(
    deprecated,
    reason = "implicit TLS over a stream of one's own has no other door in lettre 0.11"
)]
use lettre::transport::smtp::client::AsyncNetworkStream;
use lettre::transport::smtp::client::{AsyncSmtpConnection, AsyncTokioStream, TlsParameters};
use lettre::transport::smtp::extension::ClientId;
use percent_encoding::percent_decode_str;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_util::compat::FuturesAsyncReadCompatExt as _;
use url::Url;

/// The most bytes read from a mail server in one connection, its TLS handshake included.
const READ_BYTES_MAX: usize = 1 << 20;

/// How long the answer to QUIT is waited for.
const GOODBYE: Duration = Duration::from_millis(500);

/// Why a mail was not sent, or the mail server not checked. No variant shows the address: it may
/// hold a password.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SmtpError {
    #[error(
        "the address is not valid; expected is smtp://user:password@host:port, with `?tls=required` or `?tls=opportunistic`, or smtps://…"
    )]
    Address,
    #[error("no connection to the SMTP server")]
    Connect(#[source] io::Error),
    #[error("the SMTP server did not answer in time")]
    Timeout,
    #[error(transparent)]
    Smtp(#[from] lettre::transport::smtp::Error),
}

/// When a connection is encrypted.
enum Tls {
    Never,
    /// By STARTTLS where the server offers it.
    Opportunistic(TlsParameters),
    /// By STARTTLS; without it nothing is sent.
    Required(TlsParameters),
    /// From its first byte.
    Implicit(TlsParameters),
}

/// The mail server of `--smtp-url`.
pub(crate) struct MailServer {
    host: String,
    port: u16,
    tls: Tls,
    hello: ClientId,
    credentials: Option<Credentials>,
}

impl MailServer {
    /// Parses an address with the meaning that lettre gives to it: a path is the name of the
    /// greeting.
    pub(crate) fn from_url(url: &str) -> Result<Self, SmtpError> {
        let url = Url::parse(url).map_err(|_| SmtpError::Address)?;
        let host = url
            .host_str()
            .map(|host| host.trim_matches(['[', ']']))
            .filter(|host| !host.is_empty())
            .ok_or(SmtpError::Address)?
            .to_owned();
        let mode =
            url.query_pairs().find(|(name, _)| name == "tls").map(|(_, value)| value.into_owned());
        let parameters = || TlsParameters::new(host.clone());
        let (port, tls) = match (url.scheme(), mode.as_deref()) {
            ("smtp", None) => (25, Tls::Never),
            ("smtp", Some("opportunistic")) => (587, Tls::Opportunistic(parameters()?)),
            ("smtp", Some("required")) => (587, Tls::Required(parameters()?)),
            ("smtps", _) => (465, Tls::Implicit(parameters()?)),
            _ => return Err(SmtpError::Address),
        };
        let decoded = |text: &str| {
            percent_decode_str(text)
                .decode_utf8()
                .map(|text| text.into_owned())
                .map_err(|_| SmtpError::Address)
        };
        let credentials = match url.password() {
            Some(password) => Some(Credentials::new(decoded(url.username())?, decoded(password)?)),
            None => None,
        };
        let name = url.path().trim_matches('/');
        let hello =
            if name.is_empty() { ClientId::default() } else { ClientId::Domain(name.to_owned()) };
        Ok(Self { port: url.port().unwrap_or(port), host, tls, hello, credentials })
    }

    /// Sends a mail over a connection of its own.
    pub(crate) async fn send(&self, message: &Message, timeout: Duration) -> Result<(), SmtpError> {
        let sent = async {
            let mut connection = self.connect().await?;
            connection.send(message.envelope(), &message.formatted()).await?;
            Ok(connection)
        };
        let mut connection =
            tokio::time::timeout(timeout, sent).await.unwrap_or(Err(SmtpError::Timeout))?;
        // The mail is taken: a server that does not answer QUIT would get it again if that were a
        // failure.
        let _ = tokio::time::timeout(GOODBYE, connection.abort()).await;
        Ok(())
    }

    /// Connects, greets and signs in; whether the server then accepts commands. Nothing is sent.
    pub(crate) async fn accepts_mail(&self, timeout: Duration) -> Result<bool, SmtpError> {
        let checked = async {
            let mut connection = self.connect().await?;
            let accepts = connection.test_connected().await;
            connection.quit().await?;
            Ok(accepts)
        };
        tokio::time::timeout(timeout, checked).await.unwrap_or(Err(SmtpError::Timeout))
    }

    async fn connect(&self) -> Result<AsyncSmtpConnection, SmtpError> {
        let stream = TcpStream::connect((self.host.as_str(), self.port))
            .await
            .map_err(SmtpError::Connect)?;
        let peer = stream.peer_addr().map_err(SmtpError::Connect)?;
        let stream = Box::new(Bounded { stream, peer, left: READ_BYTES_MAX });
        let stream: Box<dyn AsyncTokioStream> = match &self.tls {
            Tls::Implicit(parameters) => encrypted(stream, peer, parameters.clone()).await?,
            Tls::Never | Tls::Opportunistic(_) | Tls::Required(_) => stream,
        };
        let mut connection =
            AsyncSmtpConnection::connect_with_transport(stream, &self.hello).await?;
        match &self.tls {
            Tls::Required(parameters) => {
                connection.starttls(parameters.clone(), &self.hello).await?
            }
            Tls::Opportunistic(parameters) if connection.can_starttls() => {
                connection.starttls(parameters.clone(), &self.hello).await?
            }
            Tls::Never | Tls::Opportunistic(_) | Tls::Implicit(_) => {}
        }
        if let Some(credentials) = &self.credentials {
            connection.auth(DEFAULT_MECHANISMS, credentials).await?;
        }
        Ok(connection)
    }
}

#[expect(deprecated, reason = "see the import")]
async fn encrypted(
    stream: Box<dyn AsyncTokioStream>,
    peer: SocketAddr,
    parameters: TlsParameters,
) -> Result<Box<dyn AsyncTokioStream>, SmtpError> {
    let mut stream = AsyncNetworkStream::use_existing_tokio1(stream);
    stream.upgrade_tls(parameters).await?;
    // What comes out of TLS is less than what goes in, and that is bounded.
    Ok(Box::new(Bounded { stream: stream.compat(), peer, left: READ_BYTES_MAX }))
}

/// A stream of which a bounded number of bytes is read; more is an error.
#[derive(Debug)]
struct Bounded<S> {
    stream: S,
    peer: SocketAddr,
    left: usize,
}

impl<S: AsyncRead + Unpin> AsyncRead for Bounded<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.left == 0 {
            let error = format!(
                "the SMTP server answered with more than {READ_BYTES_MAX} bytes, the most that is read"
            );
            return Poll::Ready(Err(io::Error::other(error)));
        }
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        self.left = self.left.saturating_sub(buffer.filled().len() - before);
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Bounded<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

impl<S: AsyncRead + AsyncWrite + Send + Sync + Unpin + std::fmt::Debug> AsyncTokioStream
    for Bounded<S>
{
    fn peer_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.peer)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

    use super::*;

    #[tokio::test]
    async fn a_server_that_takes_a_mail_and_does_not_answer_quit_has_taken_it() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let peer = tokio::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let mut lines = BufReader::new(stream);
            lines.write_all(b"220 mail.test\r\n").await.unwrap();
            let (mut line, mut is_data) = (String::new(), false);
            while lines.read_line(&mut line).await.unwrap() > 0 && !line.starts_with("QUIT") {
                let answer: &[u8] = match line.trim_end() {
                    "DATA" => b"354 go on\r\n",
                    "." => b"250 taken\r\n",
                    _ if is_data => b"",
                    _ => b"250 ok\r\n",
                };
                is_data = line.trim_end() == "DATA" || (is_data && line.trim_end() != ".");
                lines.write_all(answer).await.unwrap();
                line.clear();
            }
            (line.starts_with("QUIT"), lines)
        });
        let message = Message::builder()
            .from("a@x.test".parse().unwrap())
            .to("b@x.test".parse().unwrap())
            .body(String::from("hello"))
            .unwrap();
        let server = MailServer::from_url(&format!("smtp://127.0.0.1:{port}")).unwrap();
        server.send(&message, Duration::from_secs(60)).await.expect("it is taken");
        assert!(peer.await.unwrap().0, "it says goodbye");
    }

    #[test]
    fn an_address_says_where_and_how() {
        let read = |url: &str| {
            let server = MailServer::from_url(url).ok()?;
            let tls = match server.tls {
                Tls::Never => "never",
                Tls::Opportunistic(_) => "opportunistic",
                Tls::Required(_) => "required",
                Tls::Implicit(_) => "implicit",
            };
            Some((server.host, server.port, tls, server.credentials.is_some()))
        };
        let of = |host: &str, port, tls, signs_in| Some((host.to_owned(), port, tls, signs_in));
        assert_eq!(read("smtp://localhost"), of("localhost", 25, "never", false));
        assert_eq!(read("smtp://u:p%40@mail.test:2525"), of("mail.test", 2525, "never", true));
        assert_eq!(
            read("smtp://u:p@mail.test?tls=required"),
            of("mail.test", 587, "required", true)
        );
        assert_eq!(
            read("smtp://mail.test/name?tls=opportunistic"),
            of("mail.test", 587, "opportunistic", false)
        );
        assert_eq!(read("smtps://u:p@mail.test"), of("mail.test", 465, "implicit", true));
        assert_eq!(read("smtp://[::1]:25"), of("::1", 25, "never", false));
        for wrong in [
            "",
            "mail.test",
            "http://mail.test",
            "smtp://",
            "smtp://mail.test?tls=maybe",
            "smtp://u:%ff@mail.test",
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
