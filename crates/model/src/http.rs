//! HTTP shapes that cross crates: a request to an endpoint and a component's answer.

/// A request that reached a generated endpoint.
#[derive(Clone, Debug)]
pub struct EndpointRequest {
    /// Upper case.
    pub method: String,
    /// The path below the endpoint, with a leading slash.
    pub path: String,
    /// The whole address as the client gave it: host and path.
    pub url: String,
    /// The query string, without the question mark.
    pub query: String,
    /// Names in lower case, in order of arrival.
    pub headers: Vec<(String, String)>,
    /// The address of the client.
    pub client_ip: String,
    /// The body, without its `Content-Encoding`.
    pub body: Vec<u8>,
    /// The body as it came, where it was encoded: a signature may be of either.
    pub encoded: Option<Vec<u8>>,
    /// What code sees as the body, where it was read as it came, files and all.
    pub parsed: Option<serde_json::Value>,
}

/// Why a body cannot be read to its end; inside the [`std::io::Error`] of a body that comes in
/// pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BodyFault {
    /// The connection ended before it.
    #[error("the body could not be read to its end")]
    Broken,
    /// Its `Content-Encoding` is not what it says, or broke off.
    #[error(
        "the body is not what its `Content-Encoding: {coding}` says; send it encoded in that way and whole, or without the header"
    )]
    NotEncoded { coding: &'static str },
    /// More of it than is decoded.
    #[error("the body has more than {max} bytes once its `Content-Encoding` is decoded")]
    TooLarge { max: usize },
    /// Encoded over and over.
    #[error("the body has more than {max} codings in its `Content-Encoding`; allowed are {max}")]
    TooManyCodings { max: usize },
}

impl BodyFault {
    /// The fault in an error, at whatever depth; else the connection's.
    pub fn of(error: &(dyn std::error::Error + 'static)) -> Self {
        let mut next = Some(error);
        while let Some(error) = next {
            if let Some(fault) = error.downcast_ref::<Self>() {
                return *fault;
            }
            // What such an error holds is not among its sources.
            let held = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
            next = held
                .map(|held| held as &(dyn std::error::Error + 'static))
                .or_else(|| error.source());
        }
        Self::Broken
    }
}

/// What is sent back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointResponse {
    /// 200 to 599: 1xx are interim, and end no exchange.
    pub status: u16,
    /// Header names and values.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// Header lines of an answer of code, or of a request that it sends: twice what this server takes
/// of a client.
pub const HEADER_LINES_MAX: usize = 256;
/// Their names and values in all, bytes: as much as this server takes of a client.
pub const HEADER_BYTES_MAX: usize = 64 << 10;

/// More headers than are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "there are {lines} header lines with {bytes} bytes in all, allowed are {HEADER_LINES_MAX} lines and {HEADER_BYTES_MAX} bytes; send less of them"
)]
pub struct TooManyHeaders {
    pub lines: usize,
    pub bytes: usize,
}

/// That header lines are few enough to be sent. Going through thousands of one name takes the time
/// of their square where HTTP is spoken, and there is no room for tens of thousands at all.
///
/// # Errors
/// More than [`HEADER_LINES_MAX`], or more than [`HEADER_BYTES_MAX`] of them.
pub fn check_headers<'a>(
    lines: impl Iterator<Item = (&'a str, &'a str)>,
) -> Result<(), TooManyHeaders> {
    let (lines, bytes) = lines.fold((0, 0), |(lines, bytes), (name, value)| {
        (lines + 1, bytes + name.len() + value.len())
    });
    if lines > HEADER_LINES_MAX || bytes > HEADER_BYTES_MAX {
        Err(TooManyHeaders { lines, bytes })
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_of_a_body_is_found_in_the_error_that_holds_it() {
        let fault = BodyFault::TooLarge { max: 5 };
        assert_eq!(BodyFault::of(&std::io::Error::other(fault)), fault);
        assert_eq!(BodyFault::of(&std::io::Error::other(std::io::Error::other(fault))), fault);
        assert_eq!(BodyFault::of(&std::io::Error::other("reset")), BodyFault::Broken);
    }

    #[test]
    fn headers_are_bounded_in_lines_and_bytes() {
        let check =
            |lines: usize, value: &str| check_headers(std::iter::repeat_n(("a", value), lines));
        assert_eq!(check(HEADER_LINES_MAX, "1"), Ok(()));
        assert_eq!(check(HEADER_LINES_MAX + 1, ""), Err(TooManyHeaders { lines: 257, bytes: 257 }));
        assert_eq!(check(1, &"x".repeat(HEADER_BYTES_MAX - 1)), Ok(()));
        let large = check(1, &"x".repeat(HEADER_BYTES_MAX)).unwrap_err();
        assert_eq!(
            large.to_string(),
            "there are 1 header lines with 65537 bytes in all, allowed are 256 lines and 65536 bytes; send less of them"
        );
    }
}
