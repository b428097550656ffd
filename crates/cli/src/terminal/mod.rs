//! Terminal: output for a person, and questions to one.

pub(crate) mod line;
pub(crate) mod printer;
pub(crate) mod prompt;
mod typed;
pub(crate) mod warnings;
