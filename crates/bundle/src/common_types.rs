//! CommonJS in TypeScript, without its imports and names of types.
//!
//! The compiler behind the bundler takes a file for an ES module as soon as it removed one of these
//! from it, also where the file is CommonJS: `.cts`, or one with `export =`.

use oxc_allocator::Allocator;
use oxc_ast::ast::{ImportDeclaration, ImportDeclarationSpecifier, Statement};
use oxc_parser::Parser;
use oxc_span::{GetSpan as _, SourceType};

/// The same code with blanks for what only types are named by. None: there is nothing of the kind,
/// or the code is no CommonJS.
pub(crate) fn without_types(path: &str, code: &str, kind: SourceType) -> Option<String> {
    let is_cts = path.ends_with(".cts");
    if !kind.is_typescript() || !(is_cts || code.contains("export")) {
        return None;
    }
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, code, kind).parse();
    let statements = &parsed.program.body;
    let is_assigned =
        |statement: &Statement<'_>| matches!(statement, Statement::TSExportAssignment(_));
    if parsed.panicked || !(is_cts || statements.iter().any(is_assigned)) {
        return None;
    }
    let mut blanked = code.to_owned();
    for statement in statements {
        let is_type = match statement {
            Statement::ImportDeclaration(import) => is_of_types(import),
            Statement::TSTypeAliasDeclaration(_) => true,
            _ => false,
        };
        if is_type {
            let (start, end) = (statement.span().start as usize, statement.span().end as usize);
            let blank =
                |c: char| if c == '\n' { "\n".to_owned() } else { " ".repeat(c.len_utf8()) };
            let blanks: String = code[start..end].chars().map(blank).collect();
            blanked.replace_range(start..end, &blanks);
        }
    }
    (blanked != code).then_some(blanked)
}

fn is_of_types(import: &ImportDeclaration<'_>) -> bool {
    let is_type = |specifier: &ImportDeclarationSpecifier<'_>| matches!(specifier, ImportDeclarationSpecifier::ImportSpecifier(one) if one.import_kind.is_type());
    let all =
        |list: &[ImportDeclarationSpecifier<'_>]| !list.is_empty() && list.iter().all(is_type);
    import.import_kind.is_type() || import.specifiers.as_ref().is_some_and(|list| all(list))
}

#[cfg(test)]
mod tests {
    use oxc_span::SourceType;

    use super::without_types;

    #[test]
    fn only_types_of_commonjs_are_blanked() {
        for (path, code, expected) in [
            ("a.cts", "import type { F } from 't';\nexport = 1;", Some("\nexport = 1;")),
            ("a.ts", "import { type F } from 't';\nexport = 1;", Some("\nexport = 1;")),
            ("a.cts", "type A =\n 'ä';\nmodule.exports = 1;", Some("\n\nmodule.exports = 1;")),
            ("a.ts", "import type { F } from 't';\nexport const a = 1;", None),
            ("a.cts", "import fs = require('node:fs');\nexport = fs;", None),
            ("a.cts", "import { a } from './b';\nexport const c = a;", None),
        ] {
            let found = without_types(path, code, SourceType::ts());
            let lines = |text: &str| text.lines().map(str::trim).collect::<Vec<_>>().join("\n");
            assert_eq!(found.as_deref().map(lines).as_deref(), expected, "{code}");
            assert!(found.is_none_or(|found| found.len() == code.len()));
        }
    }
}
