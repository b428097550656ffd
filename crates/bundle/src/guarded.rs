//! Whether a package can do without a module that it requires: each `require` of it stands in a
//! `try` block.

use oxc_allocator::Allocator;
use oxc_ast::ast::{CallExpression, TryStatement};
use oxc_ast_visit::{Visit, walk};
use oxc_parser::Parser;
use oxc_span::SourceType;

struct Finder<'s> {
    specifier: &'s str,
    tries: usize,
    guarded: usize,
    bare: usize,
}

impl<'a> Visit<'a> for Finder<'_> {
    fn visit_try_statement(&mut self, statement: &TryStatement<'a>) {
        self.tries += 1;
        self.visit_block_statement(&statement.block);
        self.tries -= 1;
        if let Some(handler) = &statement.handler {
            self.visit_catch_clause(handler);
        }
        if let Some(finalizer) = &statement.finalizer {
            self.visit_block_statement(finalizer);
        }
    }

    fn visit_call_expression(&mut self, call: &CallExpression<'a>) {
        if call.common_js_require().is_some_and(|text| text.value == self.specifier) {
            if self.tries > 0 { self.guarded += 1 } else { self.bare += 1 }
        }
        walk::walk_call_expression(self, call);
    }
}

/// True where `text` requires `specifier` in `try` blocks only.
pub(crate) fn is_guarded(text: &str, specifier: &str) -> bool {
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, text, SourceType::cjs()).parse();
    let mut finder = Finder { specifier, tries: 0, guarded: 0, bare: 0 };
    finder.visit_program(&parsed.program);
    finder.guarded > 0 && finder.bare == 0
}

#[cfg(test)]
mod tests {
    use super::is_guarded;

    #[test]
    fn only_try_blocks_guard() {
        assert!(is_guarded(
            "let c; try { c = require('encoding').convert; } catch (e) {}",
            "encoding"
        ));
        assert!(!is_guarded("try { f(); } catch (e) { require('x'); }", "x"));
        assert!(!is_guarded("try { require('x'); } catch (e) {} require('x');", "x"));
        assert!(!is_guarded("try { require('y'); } catch (e) {}", "x"));
    }
}
