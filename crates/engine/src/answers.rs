//! Bounded reading of the bodies that other servers answer with: providers, receivers, object
//! stores, this server's own API.

use millrace_model::bounded_body::{BodyTooLarge, BoundedBody};
use reqwest::Response;

/// Why an answer was not read to its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AnswerError {
    #[error("{0}")]
    TooLarge(#[from] BodyTooLarge),
    #[error("the answer broke off")]
    Broken(#[source] reqwest::Error),
}

/// The whole body, with at most `bytes_max` bytes.
pub(crate) async fn whole(
    mut response: Response,
    bytes_max: usize,
) -> Result<Vec<u8>, AnswerError> {
    let mut body = BoundedBody::new(bytes_max);
    // An address may hold a password: it is not part of the error.
    while let Some(piece) =
        response.chunk().await.map_err(|error| AnswerError::Broken(error.without_url()))?
    {
        body.push(&piece)?;
    }
    Ok(body.into_bytes())
}

/// The beginning of a body, as text on one line of at most `chars_max` characters. A body that
/// breaks off gives what came so far.
pub(crate) async fn start_of(mut response: Response, chars_max: usize) -> String {
    // A character has four bytes at most; a piece that does not fit is the last that is read.
    let (mut bytes, bytes_max) = (Vec::new(), chars_max * 4);
    while bytes.len() < bytes_max
        && let Ok(Some(piece)) = response.chunk().await
    {
        bytes.extend_from_slice(&piece[..piece.len().min(bytes_max - bytes.len())]);
    }
    let text = String::from_utf8_lossy(&bytes);
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(chars_max).collect()
}
