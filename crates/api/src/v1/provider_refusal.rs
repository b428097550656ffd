//! Refusal of a provider of OAuth, in the words that a person reads.

/// A provider's refusal as RFC 6749 (4.1.2.1) has it, on one line. Both texts come from outside.
pub(crate) fn line(error: &str, description: &str) -> String {
    let short = |text: &str, chars_max| {
        let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        text.trim().chars().take(chars_max).collect::<String>()
    };
    let said = short(description, 300);
    let colon = if said.is_empty() { "" } else { ": " };
    format!("the provider answered: {}{colon}{said}", short(error, 200))
}

#[cfg(test)]
mod tests {
    use super::line;

    #[test]
    fn a_refusal_has_the_description_of_the_provider_bounded_and_on_one_line() {
        assert_eq!(line("access_denied", ""), "the provider answered: access_denied");
        let said = line("invalid_scope", " The scope\r\n\u{1b}<b>mail</b> is unknown. ");
        let whole = "the provider answered: invalid_scope: The scope   <b>mail</b> is unknown.";
        assert_eq!(said, whole);
        let long = line("e", &"\u{e9}".repeat(1_000));
        assert_eq!(long, format!("the provider answered: e: {}", "\u{e9}".repeat(300)));
    }
}
