//! Counts of held permits and waiting requests.

/// Counts of one owner, of one tenant, or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Permits.
    pub(crate) held: usize,
    /// Requests that were admitted and not granted yet, in a queue or not.
    pub(crate) waiting: usize,
    /// Their weight.
    pub(crate) weight: usize,
}
