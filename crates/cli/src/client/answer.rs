//! Bounded reading of HTTP answers: the server's, and those of hosts that component trees are
//! downloaded from.

use millrace_model::bounded_body::{BodyTooLarge, BoundedBody};
use reqwest::Response;

/// Why an answer was not read to its end.
#[derive(Debug)]
pub(crate) enum AnswerError {
    TooLarge(BodyTooLarge),
    Broken(reqwest::Error),
}

/// The whole body, with at most `bytes_max` bytes.
pub(crate) async fn whole(
    mut response: Response,
    bytes_max: usize,
) -> Result<Vec<u8>, AnswerError> {
    let mut body = BoundedBody::new(bytes_max);
    while let Some(piece) =
        response.chunk().await.map_err(|error| AnswerError::Broken(error.without_url()))?
    {
        body.push(&piece).map_err(AnswerError::TooLarge)?;
    }
    Ok(body.into_bytes())
}
