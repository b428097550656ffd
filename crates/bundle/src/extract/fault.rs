//! Faults of a file that keep it from being read as a component, in words.

use oxc_allocator::Allocator;
use oxc_parser::Parser;

use crate::depth;
use crate::language::kind_of;

/// The first syntax error of a file, as the parser names it, or that it is nested too deep.
pub(crate) fn fault(path: &str, text: &str) -> Option<String> {
    let kind = kind_of(path, text);
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, text, kind).parse();
    let Some(error) = parsed.diagnostics.first() else {
        let is_broken = parsed.panicked.then(|| "it has a syntax error".to_owned());
        return is_broken.or_else(|| Some(depth::check(path, text, kind).err()?.to_string()));
    };
    let offset = error.labels.first().map_or(0, |label| label.offset() as usize);
    let line = text[..text.floor_char_boundary(offset)].matches('\n').count() + 1;
    Some(format!("it has a syntax error on line {line}: {}", error.message))
}

#[cfg(test)]
mod tests {
    use super::fault;

    #[test]
    fn syntax_errors_name_their_line_and_what_the_parser_says() {
        for (path, text, expected) in [
            ("a.mjs", "export default {\n  key: 'x',\n  run() { const ; },\n};", " on line 3: "),
            ("a.mjs", "\n\nexport default {", " on line 3: "),
            ("a.ts", "const x: = 1;", " on line 1: "),
            ("a.mjs", "'é'; const x = ;", " on line 1: "),
        ] {
            let found = fault(path, text).expect("a fault");
            assert!(found.contains(expected) && !found.ends_with(": "), "{found}");
        }
        for (path, text) in [("a.mjs", "export default {};"), ("a.ts", "const x: number = 1;")] {
            assert_eq!(fault(path, text), None, "{text}");
        }
    }
}
