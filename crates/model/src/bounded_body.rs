//! Collector of an untrusted body: ends the reading where the body is longer than allowed.

/// A body, read piece by piece.
#[derive(Debug)]
pub struct BoundedBody {
    bytes: Vec<u8>,
    bytes_max: usize,
}

/// A body with more bytes than are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the answer has more than {bytes_max} bytes, the most that is read")]
pub struct BodyTooLarge {
    /// The most that is allowed.
    pub bytes_max: usize,
}

impl BoundedBody {
    /// An empty body that may grow to `bytes_max`.
    pub const fn new(bytes_max: usize) -> Self {
        Self { bytes: Vec::new(), bytes_max }
    }

    /// Adds the next piece. A piece that does not fit is not kept.
    ///
    /// # Errors
    /// The body would be longer than allowed.
    pub fn push(&mut self, piece: &[u8]) -> Result<(), BodyTooLarge> {
        if piece.len() > self.bytes_max - self.bytes.len() {
            return Err(BodyTooLarge { bytes_max: self.bytes_max });
        }
        self.bytes.extend_from_slice(piece);
        Ok(())
    }

    /// What came so far.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_has_the_bytes_that_are_allowed_and_no_more() {
        let mut body = BoundedBody::new(5);
        assert_eq!((body.push(b"abc"), body.push(b"de"), body.push(b"")), (Ok(()), Ok(()), Ok(())));
        assert_eq!(body.push(b"f"), Err(BodyTooLarge { bytes_max: 5 }));
        assert_eq!(body.into_bytes(), b"abcde");
    }
}
