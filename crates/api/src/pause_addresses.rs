//! Body filter that makes the addresses of paused runs useless to callers who may read a run and
//! not resume or cancel it.
//!
//! Such an address works without a key, and code may have put one anywhere: into results, logs and
//! events; the server shows some with a retry. So answers are filtered as they are sent, whatever
//! the route: the code at the end of an address is replaced by as many `x`.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes};
use http_body::{Frame, SizeHint};
use millrace_model::pause::CodeFinder;

/// A body without the codes.
pub(crate) fn hidden(body: Body) -> Body {
    Body::new(Hidden { body, filter: Filter::default() })
}

struct Hidden {
    body: Body,
    filter: Filter,
}

impl http_body::Body for Hidden {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        Poll::Ready(
            frame.map(|frame| frame.map(|frame| frame.map_data(|bytes| self.filter.pass(bytes)))),
        )
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    /// Nothing becomes longer or shorter.
    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// An address may be cut anywhere.
#[derive(Default)]
struct Filter(CodeFinder);

impl Filter {
    fn pass(&mut self, bytes: Bytes) -> Bytes {
        let mut changed: Option<Vec<u8>> = None;
        for (at, byte) in bytes.iter().copied().enumerate() {
            if self.0.is_of_code(byte) {
                changed.get_or_insert_with(|| bytes.to_vec())[at] = b'x';
            }
        }
        changed.map_or(bytes, Bytes::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_hidden_however_an_address_is_cut() {
        let text = r#"{"a":"https://x.test/resume/run_1abc-2-c0de_-Z9","b":["/cancel/run_2-10-q/more","/resume/x","/resume//cancel/run_3-1-zz\"", "/e/resume-1-2"]}"#;
        let expected = r#"{"a":"https://x.test/resume/run_1abc-2-xxxxxxxx","b":["/cancel/run_2-10-x/more","/resume/x","/resume//cancel/run_3-1-xx\"", "/e/resume-1-2"]}"#;
        for size in 1..=text.len() {
            let mut filter = Filter::default();
            let passed: Vec<u8> = text
                .as_bytes()
                .chunks(size)
                .flat_map(|chunk| filter.pass(Bytes::copy_from_slice(chunk)))
                .collect();
            assert_eq!(String::from_utf8_lossy(&passed), expected, "chunks of {size}");
        }
    }
}
