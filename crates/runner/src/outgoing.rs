//! Frames on their way to a host.

use bytes::{Bytes, BytesMut};
use serde_json::value::RawValue;
use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{OwnedSemaphorePermit, mpsc};

/// Frames that are taken off the queue at once.
const BATCH_MAX: usize = 64;
/// Bytes that are gathered to be written in one go. What is larger is written from where it lies: a
/// copy would take as much again, and room for it would be kept as long as the host.
const GATHERED_MAX: usize = 64 << 10;

/// A frame to be written.
#[derive(Debug)]
pub(crate) struct Outgoing {
    head: Bytes,
    /// What follows it, of the same frame.
    rest: Bytes,
    /// Given back once the frame is written.
    _turn: Option<OwnedSemaphorePermit>,
}

impl Outgoing {
    pub(crate) fn new(head: Bytes, rest: Bytes) -> Self {
        Self { head, rest, _turn: None }
    }

    pub(crate) fn in_turn(frame: Bytes, turn: Option<OwnedSemaphorePermit>) -> Self {
        Self { head: frame, rest: Bytes::new(), _turn: turn }
    }
}

impl From<Bytes> for Outgoing {
    fn from(frame: Bytes) -> Self {
        Self::new(frame, Bytes::new())
    }
}

/// What a call's frame has after its head: all fields of an object but its opening brace.
pub(crate) fn fields(object: Box<RawValue>) -> Bytes {
    let text = String::from(Box::<str>::from(object));
    let fields = text.trim_start().strip_prefix('{').map(str::len);
    let whole = Bytes::from(text);
    fields.map_or(Bytes::from_static(b"}"), |length| whole.slice(whole.len() - length..))
}

/// Writes frames until there are no more or they cannot be written; small ones that wait go
/// together.
pub(crate) async fn write(
    mut to: impl AsyncWrite + Unpin,
    mut queue: mpsc::Receiver<Outgoing>,
    first: Bytes,
) {
    if to.write_all(&first).await.is_err() {
        return;
    }
    drop(first);
    let (mut waiting, mut gathered) = (Vec::new(), BytesMut::new());
    while queue.recv_many(&mut waiting, BATCH_MAX).await > 0 {
        if write_batch(&mut to, &mut waiting, &mut gathered).await.is_err() {
            return;
        }
    }
}

async fn write_batch(
    to: &mut (impl AsyncWrite + Unpin),
    waiting: &mut Vec<Outgoing>,
    gathered: &mut BytesMut,
) -> std::io::Result<()> {
    for frame in waiting.iter_mut() {
        for part in [std::mem::take(&mut frame.head), std::mem::take(&mut frame.rest)] {
            if gathered.len() + part.len() > GATHERED_MAX {
                to.write_all(gathered).await?;
                gathered.clear();
            }
            if part.len() > GATHERED_MAX {
                to.write_all(&part).await?;
            } else {
                gathered.extend_from_slice(&part);
            }
        }
    }
    to.write_all(gathered).await?;
    gathered.clear();
    waiting.clear();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn frames_of_all_sizes_arrive_whole_and_in_their_order() {
        let sizes =
            [0, 1, GATHERED_MAX - 1, 1, 1, GATHERED_MAX, GATHERED_MAX + 1, 7, 3 * GATHERED_MAX, 5];
        let filled =
            |n: usize| Bytes::from(vec![u8::try_from(n % 251).unwrap(); sizes[n % sizes.len()]]);
        let (sender, queue) = mpsc::channel(1_000);
        let mut expected = b"first".to_vec();
        for n in 0..200 {
            let (head, rest) = (filled(n), filled(3 * n));
            expected.extend_from_slice(&head);
            expected.extend_from_slice(&rest);
            sender.try_send(Outgoing::new(head, rest)).unwrap();
        }
        drop(sender);
        let mut written = Vec::new();
        write(&mut written, queue, Bytes::from_static(b"first")).await;
        assert!(written == expected);
    }
}
