//! Refused connections in the errors of code that met them.

use millrace_model::egress::Refusal;
use millrace_runner::CallFailure;

/// Refused connections that one message names.
const REFUSALS_TOLD: usize = 3;

/// What Node's `fetch` throws, whatever happened.
const FETCH_FAILED: &str = "fetch failed";

/// A step's error that is a refused connection names the rule as well, where it names the address
/// (a host's other calls may have wanted others) or says nothing of what happened.
pub(crate) fn with_refusal_meant(failure: CallFailure, refusals: &[Refusal]) -> CallFailure {
    let names = |refusal: &&Refusal| {
        failure.message.contains("EACCES")
            && failure.message.contains(&refusal.address.ip().to_string())
    };
    let meant: Vec<Refusal> = refusals
        .iter()
        .filter(|refusal| failure.message == FETCH_FAILED || names(refusal))
        .copied()
        .collect();
    with_refusals(failure, &meant)
}

/// A failure of code whose output nobody reads: its message says as well what the walls refused.
pub(crate) fn with_refusals(mut failure: CallFailure, refusals: &[Refusal]) -> CallFailure {
    for refusal in refusals.iter().take(REFUSALS_TOLD) {
        failure.message.push_str(&format!("; {refusal}"));
    }
    failure
}
