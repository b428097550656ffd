//! Reader of a connection: a little at a time, with the addresses of requests escaped.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

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
    /// What was read and escaped, and had no room.
    left: Vec<u8>,
}

/// Its request lines, of which the service knows when one begins.
#[derive(Clone, Default)]
pub struct Lines(Arc<Mutex<RequestLines>>);

impl Lines {
    /// See [`RequestLines::begins`].
    pub fn begins(&self, body: Option<u64>) {
        self.locked().begins(body);
    }

    fn locked(&self) -> MutexGuard<'_, RequestLines> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sips {
    pub fn of(stream: Stream) -> Self {
        Self { stream: stream.take(READ_BYTES_MAX), lines: Lines::default(), left: Vec::new() }
    }

    pub fn lines(&self) -> Lines {
        self.lines.clone()
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
        Pin::new(self.stream.get_mut()).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(self.stream.get_mut()).poll_shutdown(context)
    }
}
