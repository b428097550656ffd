//! Trace context (W3C): the `traceparent` header, and the ids of traces and spans, which are
//! derived from those of runs.
//!
//! A trace that a request brings goes on: its header, without the version, is then the trace id of
//! the runs that come of it. What those send carries the trace on.

use millrace_model::ids::RunId;
use millrace_model::run::Context;
use sha2::{Digest as _, Sha256};

/// The header of a trace (W3C Trace Context).
pub(crate) const HEADER: &str = "traceparent";

/// A trace that somebody else began.
pub(crate) struct RemoteTrace {
    id: String,
    /// The span that it goes on from.
    pub(crate) parent: String,
    /// Whether who began it records it; then so does who goes on with it.
    pub(crate) is_recorded: bool,
}

impl RemoteTrace {
    /// Of a trace id that [`continued`] made; None: the trace is of this server's own.
    pub(crate) fn read(trace: &str) -> Option<Self> {
        let is_id = |text: &str, length: usize| {
            text.len() == length
                && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
                && text.bytes().any(|b| b != b'0')
        };
        let mut parts = trace.splitn(3, '-');
        let (id, parent, flags) = (parts.next()?, parts.next()?, parts.next()?);
        let flags = u8::from_str_radix(flags, 16)
            .ok()
            .filter(|_| flags.len() == 2 && !flags.starts_with('+'))?;
        (is_id(id, 32) && is_id(parent, 16)).then(|| Self {
            id: id.to_owned(),
            parent: parent.to_owned(),
            is_recorded: flags & 1 == 1,
        })
    }
}

/// The trace id of what a request brings, where it has one valid `traceparent`: later versions may
/// say more behind it.
pub(crate) fn continued(headers: &[(String, String)]) -> Option<String> {
    let mut found = headers.iter().filter(|(name, _)| name == HEADER);
    let (Some((_, value)), None) = (found.next(), found.next()) else { return None };
    let value = value.trim();
    let (version, rest) = value.split_once('-')?;
    let version = u8::from_str_radix(version, 16).ok().filter(|_| {
        version.len() == 2 && version.bytes().all(|b| !b.is_ascii_uppercase() && b != b'+')
    })?;
    let rest = match version {
        0 => rest,
        255 => return None,
        _ => rest.get(..52).filter(|_| rest.len() == 52 || rest.as_bytes()[52] == b'-')?,
    };
    RemoteTrace::read(rest).map(|_| rest.to_owned())
}

/// What is sent with an event of a trace: it goes on from the span that all runs of the trace are
/// below.
pub(crate) fn parent_of_all(trace: &str) -> String {
    header(trace, &root(trace))
}

/// What a run's own requests carry: they go on from its attempt. `context`: JSON text.
pub(crate) fn parent_of(context: &str, run: &RunId, attempt: i64) -> Option<String> {
    let context: Context = millrace_model::json::from_str(context).ok()?;
    Some(header(&context.trace_id, &attempt_span(&context, run, attempt)))
}

fn header(trace: &str, span: &str) -> String {
    let flags = u8::from(RemoteTrace::read(trace).is_none_or(|remote| remote.is_recorded));
    format!("00-{}-{span}-{flags:02x}", w3c_id(trace))
}

pub(crate) fn w3c_id(trace: &str) -> String {
    RemoteTrace::read(trace)
        .map_or_else(|| hex(&Sha256::digest(trace.as_bytes())[..16]), |remote| remote.id)
}

/// The first run of an event that came by no request is the root itself.
pub(crate) fn attempt_span(context: &Context, run: &RunId, attempt: i64) -> String {
    let is_root = context.id == context.trace_id && context.source_type != "HTTP" && attempt == 1;
    if is_root { root(&context.trace_id) } else { span_id(&[run.as_str(), &attempt.to_string()]) }
}

/// The span that a trace begins with.
pub(crate) fn root(trace: &str) -> String {
    span_id(&["root", trace])
}

pub(crate) fn span_id(parts: &[&str]) -> String {
    hex(&Sha256::digest(parts.join("\n").as_bytes())[..8])
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7";

    fn brought(value: &str) -> Option<String> {
        continued(&[("host".into(), "a.test".into()), (HEADER.into(), value.into())])
    }

    #[test]
    fn a_trace_is_continued_where_its_header_is_valid() {
        assert_eq!(brought(&format!("00-{TRACE}-01")), Some(format!("{TRACE}-01")));
        assert_eq!(
            brought(&format!("cc-{TRACE}-01-what the future will be like")),
            Some(format!("{TRACE}-01"))
        );
        let none = format!("00-{}-00f067aa0ba902b7-01", "0".repeat(32));
        let no_parent = format!("00-4bf92f3577b34da6a3ce929d0e0e4736-{}-01", "0".repeat(16));
        for wrong in [
            "",
            "00",
            &none,
            &no_parent,
            &format!("ff-{TRACE}-01"),
            &format!("00-{TRACE}-01-more"),
            &format!("cc-{TRACE}-01.more"),
            &format!("00-{TRACE}-1"),
            &format!("00-{TRACE}-+1"),
            &format!("00-{}-01", TRACE.to_uppercase()),
            &format!("0-{TRACE}-01"),
            "01-é",
        ] {
            assert_eq!(brought(wrong), None, "{wrong}");
        }
        let twice = (HEADER.to_owned(), format!("00-{TRACE}-01"));
        assert_eq!(continued(&[twice.clone(), twice]), None);
    }

    #[test]
    fn what_is_sent_carries_the_trace_on() {
        let root = parent_of_all(&format!("{TRACE}-01"));
        assert!(
            root.starts_with("00-4bf92f3577b34da6a3ce929d0e0e4736-")
                && root.ends_with("-01")
                && !root.contains("00f067aa0ba902b7"),
            "{root}"
        );
        assert!(parent_of_all(&format!("{TRACE}-00")).ends_with("-00"), "what nobody records");
        let own = parent_of_all("2Qz");
        assert!(own.len() == 55 && own.ends_with("-01"), "{own}");
    }
}
