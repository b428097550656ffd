//! Packages that an author's code names as it runs: what it loads by `createRequire` or resolves, and texts that may be names.

use std::collections::BTreeSet;

use oxc_allocator::Allocator;
use oxc_ast::ast::{BindingPattern, CallExpression, ExportFromDeclaration, Expression, ImportDeclaration, StringLiteral, VariableDeclarator};
use oxc_ast_visit::{Visit, walk};
use oxc_parser::Parser;
use oxc_span::SourceType;

use crate::language::kind_of;

/// What a file names.
#[derive(Default)]
pub(crate) struct Names {
    /// Specifiers that it loads or resolves.
    pub(crate) loaded: BTreeSet<String>,
    /// Texts that are not those of imports.
    pub(crate) texts: BTreeSet<String>,
    /// Variables that hold what `createRequire` made.
    requires: BTreeSet<String>,
}

/// Reads a file.
pub(crate) fn names(path: &str, code: &str) -> Names {
    let kind = kind_of(path, code);
    let kind = if kind.is_typescript() { kind } else { SourceType::jsx() };
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, code, kind).parse();
    let mut names = Names::default();
    names.visit_program(&parsed.program);
    names
}

fn makes_require(expression: &Expression<'_>) -> bool {
    let Expression::CallExpression(call) = expression.get_inner_expression() else { return false };
    match &call.callee {
        Expression::Identifier(name) => name.name == "createRequire",
        Expression::StaticMemberExpression(member) => member.property.name == "createRequire",
        _ => false,
    }
}

impl Names {
    fn is_require(&self, expression: &Expression<'_>) -> bool {
        match expression.get_inner_expression() {
            Expression::Identifier(name) => self.requires.contains(name.name.as_str()),
            made => makes_require(made),
        }
    }

    fn loads(&self, callee: &Expression<'_>) -> bool {
        match callee {
            Expression::StaticMemberExpression(member) if member.property.name == "resolve" => {
                self.is_require(&member.object) || member.object.is_specific_id("require") || matches!(member.object, Expression::ImportMeta(_))
            }
            callee => self.is_require(callee),
        }
    }
}

impl<'a> Visit<'a> for Names {
    fn visit_import_declaration(&mut self, _: &ImportDeclaration<'a>) {}

    fn visit_export_from_declaration(&mut self, _: &ExportFromDeclaration<'a>) {}

    fn visit_variable_declarator(&mut self, declarator: &VariableDeclarator<'a>) {
        if let (BindingPattern::BindingIdentifier(name), Some(made)) = (&declarator.id, &declarator.init)
            && makes_require(made)
        {
            self.requires.insert(name.name.to_string());
        }
        walk::walk_variable_declarator(self, declarator);
    }

    fn visit_call_expression(&mut self, call: &CallExpression<'a>) {
        if let Some(Expression::StringLiteral(name)) = call.arguments.first().and_then(|argument| argument.as_expression())
            && self.loads(&call.callee)
        {
            self.loaded.insert(name.value.to_string());
        }
        if call.common_js_require().is_none() {
            walk::walk_call_expression(self, call);
        }
    }

    fn visit_string_literal(&mut self, text: &StringLiteral<'a>) {
        self.texts.insert(text.value.to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn what_is_loaded_as_code_runs_is_found() {
        let code = "import a from 'a'; import { createRequire } from 'module'; const load = createRequire(import.meta.url);
          load('lodash'); createRequire(import.meta.url)('b/c'); load.resolve('d'); require.resolve('e'); require('f'); pino({ transport: { target: 'g' } });";
        let found = names("a.mjs", code);
        assert_eq!(found.loaded.into_iter().collect::<Vec<_>>(), ["b/c", "d", "e", "lodash"]);
        assert!(found.texts.contains("g") && !found.texts.contains("a") && !found.texts.contains("f"));
    }
}
