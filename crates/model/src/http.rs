//! The HTTP shapes that cross rooms: a request to an endpoint and a component's answer.

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
    /// The body as it came.
    pub body: Vec<u8>,
    /// What code sees as the body, where it was read as it came, files and all.
    pub parsed: Option<serde_json::Value>,
}

/// What is sent back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointResponse {
    /// 100 to 599 (spec 8).
    pub status: u16,
    /// Header names and values.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// Header lines of an answer of code, or of a request that it sends: twice what this server takes of a client.
pub const HEADER_LINES_MAX: usize = 256;
/// Their names and values in all, bytes: as much as this server takes of a client.
pub const HEADER_BYTES_MAX: usize = 64 << 10;

/// More headers than are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there are {lines} header lines with {bytes} bytes in all, allowed are {HEADER_LINES_MAX} lines and {HEADER_BYTES_MAX} bytes; send less of them")]
pub struct TooManyHeaders {
    pub lines: usize,
    pub bytes: usize,
}

/// That header lines are few enough to be sent. Going through thousands of one name takes the time of their square where HTTP is spoken, and there is
/// no room for tens of thousands at all.
///
/// # Errors
/// More than [`HEADER_LINES_MAX`], or more than [`HEADER_BYTES_MAX`] of them.
pub fn check_headers<'a>(lines: impl Iterator<Item = (&'a str, &'a str)>) -> Result<(), TooManyHeaders> {
    let (lines, bytes) = lines.fold((0, 0), |(lines, bytes), (name, value)| (lines + 1, bytes + name.len() + value.len()));
    if lines > HEADER_LINES_MAX || bytes > HEADER_BYTES_MAX { Err(TooManyHeaders { lines, bytes }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_bounded_in_lines_and_bytes() {
        let check = |lines: usize, value: &str| check_headers(std::iter::repeat_n(("a", value), lines));
        assert_eq!(check(HEADER_LINES_MAX, "1"), Ok(()));
        assert_eq!(check(HEADER_LINES_MAX + 1, ""), Err(TooManyHeaders { lines: 257, bytes: 257 }));
        assert_eq!(check(1, &"x".repeat(HEADER_BYTES_MAX - 1)), Ok(()));
        let large = check(1, &"x".repeat(HEADER_BYTES_MAX)).unwrap_err();
        assert_eq!(large.to_string(), "there are 1 header lines with 65537 bytes in all, allowed are 256 lines and 65536 bytes; send less of them");
    }
}
