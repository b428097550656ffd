//! Reader of a connection: a little at a time, with the addresses of requests escaped.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf, Take};

use crate::front::Stream;
use crate::request_line::RequestLines;

/// Taken of a connection at once, bytes. The library makes room for twice what it got as soon as
/// that fills its room, up to the whole of a head, and keeps it as long as the connection: what is
/// less than its first room, 8 KiB, leaves it at that.
const READ_BYTES_MAX: u64 = (8 << 10) - 1;

/// A connection that is read a little at a time, its request lines escaped.
pub struct Sips {
    stream: Take<Stream>,
    lines: Lines,
    /// What was read and not given yet.
    left: Vec<u8>,
}

/// Its request lines, of which the service knows when one begins.
#[derive(Clone, Default)]
pub struct Lines {
    lines: Arc<Mutex<RequestLines>>,
    streams: Arc<AtomicBool>,
}

impl Lines {
    /// See [`RequestLines::begins`].
    pub fn begins(&self, body: Option<u64>) {
        self.streams.store(false, Ordering::Relaxed);
        self.locked().begins(body);
    }

    /// The answer is a stream of events: a client that ends its side of the connection ends it.
    /// Other answers are sent all the same; one that cannot be written ends the connection.
    pub fn streams(&self) {
        self.streams.store(true, Ordering::Relaxed);
    }

    fn locked(&self) -> MutexGuard<'_, RequestLines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sips {
    pub fn of(stream: Stream) -> Self {
        Self { stream: stream.take(READ_BYTES_MAX), lines: Lines::default(), left: Vec::new() }
    }

    pub fn lines(&self) -> Lines {
        self.lines.clone()
    }

    /// Fails once the client has ended its side, of which the library does not look while it
    /// answers; what comes instead is left for the next read.
    fn look_for_end(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        if !self.left.is_empty() {
            return Ok(());
        }
        let mut bytes = [0; 256];
        let mut room = ReadBuf::new(&mut bytes);
        let Poll::Ready(read) = Pin::new(&mut *self).poll_read(context, &mut room) else {
            return Ok(());
        };
        read?;
        if room.filled().is_empty() {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        self.left.splice(0..0, room.filled().iter().copied());
        Ok(())
    }
}

impl AsyncRead for Sips {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        room: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.left.is_empty() {
            give(&mut self.left, room);
            return Poll::Ready(Ok(()));
        }
        let before = room.filled().len();
        self.stream.set_limit(READ_BYTES_MAX);
        let read = Pin::new(&mut self.stream).poll_read(context, room);
        let escaped = self.lines.locked().escaped(&room.filled()[before..]);
        if let Some(escaped) = escaped {
            room.set_filled(before);
            self.left = escaped;
            give(&mut self.left, room);
        }
        read
    }
}

/// Gives what there is room for.
fn give(left: &mut Vec<u8>, room: &mut ReadBuf<'_>) {
    let given = left.len().min(room.remaining());
    room.put_slice(&left[..given]);
    left.drain(..given);
}

impl AsyncWrite for Sips {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(self.stream.get_mut()).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(self.stream.get_mut()).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.get_ref().is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(self.stream.get_mut()).poll_flush(context))?;
        if self.lines.streams.load(Ordering::Relaxed) {
            self.look_for_end(context)?;
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(self.stream.get_mut()).poll_shutdown(context)
    }
}
