//! Detection of optional modules: each `require` of one stands in a `try` block, or the block's
//! `catch` has a fallback.

use oxc_allocator::Allocator;
use oxc_ast::ast::{Argument, CallExpression, Expression, ThrowStatement, TryStatement};
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

/// Packages that load the machine code of the one that calls them.
const LOADERS: [&str; 4] = ["bindings", "node-gyp-build", "node-pre-gyp", "@mapbox/node-pre-gyp"];

/// Whether code loads something in a `try` block and can do without: its `catch` loads a file of
/// its own, or what failed is machine code and the `catch` does not throw.
pub(crate) fn has_another_way(text: &str) -> bool {
    if !text.contains("catch") {
        return false;
    }
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, text, SourceType::cjs()).parse();
    let mut finder = Ways { found: false };
    finder.visit_program(&parsed.program);
    finder.found
}

struct Ways {
    found: bool,
}

impl<'a> Visit<'a> for Ways {
    fn visit_try_statement(&mut self, statement: &TryStatement<'a>) {
        let (mut tried, mut otherwise) = (Requires::default(), Requires::default());
        tried.visit_block_statement(&statement.block);
        if let Some(handler) = &statement.handler {
            otherwise.visit_catch_clause(handler);
        }
        self.found |= tried.any && otherwise.own;
        self.found |= tried.native && statement.handler.is_some() && !otherwise.throws;
        walk::walk_try_statement(self, statement);
    }
}

#[derive(Default)]
struct Requires {
    any: bool,
    /// Whether one is of a file beside.
    own: bool,
    /// Whether one is of machine code.
    native: bool,
    throws: bool,
}

/// Text that a call's argument begins with, where the rest is known when the code runs.
fn beginning<'e>(mut expression: &'e Expression<'_>) -> Option<&'e str> {
    while let Expression::BinaryExpression(binary) = expression {
        expression = &binary.left;
    }
    match expression {
        Expression::StringLiteral(text) => Some(text.value.as_str()),
        _ => None,
    }
}

impl<'a> Visit<'a> for Requires {
    fn visit_call_expression(&mut self, call: &CallExpression<'a>) {
        if let Some(name) = call.common_js_require() {
            self.any = true;
            self.native |= name.value.ends_with(".node") || LOADERS.contains(&name.value.as_str());
            self.own |= name.value.starts_with('.') && !name.value.ends_with(".node");
        } else if call.callee.is_specific_id("require")
            && let Some(Expression::BinaryExpression(path)) =
                call.arguments.first().and_then(Argument::as_expression)
            && beginning(&path.left).is_some_and(|text| text.starts_with('.'))
        {
            // A path put together from the names of builds is one of machine code.
            self.native = true;
        }
        walk::walk_call_expression(self, call);
    }

    fn visit_throw_statement(&mut self, _: &ThrowStatement<'a>) {
        self.throws = true;
    }
}

#[cfg(test)]
mod tests {
    use super::{has_another_way, is_guarded};

    #[test]
    fn what_fails_has_another_way_where_the_catch_loads_a_file_of_its_own() {
        assert!(has_another_way(
            "try { module.exports = require('./bindings') } catch (err) { module.exports = require('./js') }"
        ));
        assert!(has_another_way(
            "let a; try { a = require('node-gyp-build')(__dirname); } catch (e) { a = require('./fallback'); }"
        ));
        for alone in [
            "let c; { try { c = require('bindings')('big'); } catch (e) { console.warn('JS is used'); } }",
            "try { a = require('./build/Release/a.node') } catch {}",
            "for (const b of builds) try { d = require('./build/' + b + '/d'); break; } catch (e) { err = e; }",
        ] {
            assert!(has_another_way(alone), "{alone}");
        }
        for none in [
            "try { a = require('bindings')('a'); } catch (e) { console.error(e); throw e; }",
            "try { a = require('./a.node'); } catch (e) { a = require('./debug/a.node'); throw e; }",
            "for (const p of paths) try { a = require(p); break; } catch (e) { errors.push(e); }",
            "try { a = require('bindings')('a'); } finally { f(); }",
            "module.exports = require('node-gyp-build')(__dirname);",
            "try { require('./a.node'); } catch (e) { throw new Error('build it'); }",
            "try { require('./a'); } catch (e) { require('os'); }",
            "try { f(); } catch (e) { require('./b'); }",
        ] {
            assert!(!has_another_way(none), "{none}");
        }
    }

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
