//! What a person at the terminal sees and is asked.

pub(crate) mod line;
pub(crate) mod printer;
pub(crate) mod prompt;
