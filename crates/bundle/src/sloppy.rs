//! CommonJS code that only sloppy mode takes. A bundle is one ES module, which is strict
//! throughout, where Node runs such a file as a sloppy function: what assigns a name that nobody
//! declared, or asks a plain call for `this`, would throw in it. Such a file is kept as text and
//! evaluated as the function that Node makes of it.

use std::collections::BTreeSet;

use oxc_allocator::Allocator;
use oxc_ast::ast::{
    CallExpression, Expression, Function, ImportExpression, NumericLiteral, Program,
    StaticMemberExpression, UnaryExpression, WithStatement,
};
use oxc_ast_visit::{Visit, walk};
use oxc_parser::Parser;
use oxc_semantic::{ScopeFlags, SemanticBuilder};
use oxc_span::SourceType;

/// What Node's function around a module declares.
const PARAMETERS: [&str; 5] = ["exports", "require", "module", "__filename", "__dirname"];

#[derive(Default)]
struct Finder {
    /// Something that strict mode refuses, or does otherwise.
    needs_sloppy: bool,
    /// Functions around the place that is looked at, each with whether it is called on the spot,
    /// without an object.
    called_plainly: Vec<bool>,
    requires: BTreeSet<String>,
    imports: bool,
}

impl<'a> Visit<'a> for Finder {
    fn visit_with_statement(&mut self, statement: &WithStatement<'a>) {
        self.needs_sloppy = true;
        walk::walk_with_statement(self, statement);
    }

    fn visit_static_member_expression(&mut self, member: &StaticMemberExpression<'a>) {
        self.needs_sloppy |= matches!(member.property.name.as_str(), "callee" | "caller")
            && member.object.is_specific_id("arguments");
        walk::walk_static_member_expression(self, member);
    }

    fn visit_unary_expression(&mut self, unary: &UnaryExpression<'a>) {
        self.needs_sloppy |= unary.operator.as_str() == "delete"
            && matches!(unary.argument.without_parentheses(), Expression::Identifier(_));
        walk::walk_unary_expression(self, unary);
    }

    /// `0755`.
    fn visit_numeric_literal(&mut self, number: &NumericLiteral<'a>) {
        let digits = number.raw.as_ref().map_or("", |raw| raw.as_str()).as_bytes();
        self.needs_sloppy |= digits.len() > 1 && digits[0] == b'0' && digits[1].is_ascii_digit();
    }

    fn visit_import_expression(&mut self, import: &ImportExpression<'a>) {
        self.imports = true;
        walk::walk_import_expression(self, import);
    }

    fn visit_this_expression(&mut self, _: &oxc_ast::ast::ThisExpression) {
        self.needs_sloppy |= self.called_plainly.last() == Some(&true);
    }

    fn visit_function(&mut self, function: &Function<'a>, flags: ScopeFlags) {
        self.called_plainly.push(false);
        walk::walk_function(self, function, flags);
        self.called_plainly.pop();
    }

    fn visit_call_expression(&mut self, call: &CallExpression<'a>) {
        if let Some(specifier) = call.common_js_require() {
            self.requires.insert(specifier.value.to_string());
        }
        if let Expression::FunctionExpression(function) = call.callee.without_parentheses()
            && !function.has_use_strict_directive()
        {
            self.called_plainly.push(true);
            walk::walk_function(self, function, ScopeFlags::Function);
            self.called_plainly.pop();
            for argument in &call.arguments {
                self.visit_argument(argument);
            }
            return;
        }
        walk::walk_call_expression(self, call);
    }
}

/// The file as a module that evaluates it in sloppy mode, where it needs that; `name` stands in
/// stacks.
pub(crate) fn evaluated(code: &str, name: &str) -> Option<String> {
    if is_strict_at_sight(code) {
        return None;
    }
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, code, SourceType::cjs()).parse();
    // What is no script is a module, or nothing at all: the bundler says so.
    if parsed.panicked
        || !parsed.diagnostics.is_empty()
        || parsed.module_record.has_module_syntax
        || parsed.program.has_use_strict_directive()
    {
        return None;
    }
    let mut finder = Finder::default();
    finder.visit_program(&parsed.program);
    if finder.imports || !(finder.needs_sloppy || assigns_undeclared(&parsed.program)) {
        return None;
    }
    let text = |value: &str| serde_json::to_string(value).unwrap_or_default();
    let body = code
        .strip_prefix("#!")
        .map_or(code, |rest| rest.split_once('\n').map_or("", |(_, rest)| rest));
    let parameters = PARAMETERS.join(", ");
    let source = text(&format!("(function ({parameters}) {{ {body}\n}})\n//# sourceURL={name}"));
    // Only so does the bundler see what the file requires; each is evaluated when the file asks for
    // it.
    let requires: String = finder
        .requires
        .iter()
        .map(|specifier| format!("{0}: () => require({0}), ", text(specifier)))
        .collect();
    Some(format!(
        "const own = {{ __proto__: null, {requires}}};\nconst asked = (specifier) => (own[specifier] ? own[specifier]() : require(specifier));\n\
         (0, eval)({source}).call(module.exports, exports, asked, module, __filename, __dirname);\n"
    ))
}

/// What compilers write is known without being parsed.
fn is_strict_at_sight(code: &str) -> bool {
    let mut code = code.trim_start();
    loop {
        let end = if code.starts_with("/*") {
            code.find("*/").map(|at| at + 2)
        } else if code.starts_with("//") {
            code.find('\n')
        } else {
            break;
        };
        let Some(end) = end else { break };
        code = code[end..].trim_start();
    }
    code.starts_with("\"use strict\"") || code.starts_with("'use strict'")
}

/// Whether a name is assigned that nothing in the file declares.
fn assigns_undeclared<'a>(program: &'a Program<'a>) -> bool {
    let scoping = SemanticBuilder::new().build(program).semantic.into_scoping();
    let unresolved = scoping.root_unresolved_references();
    unresolved
        .iter()
        .filter(|(name, _)| !PARAMETERS.contains(&name.as_str()))
        .any(|(_, references)| references.iter().any(|id| scoping.get_reference(*id).is_write()))
}

#[cfg(test)]
mod tests {
    use super::evaluated;

    #[test]
    fn only_what_strict_mode_takes_otherwise_is_evaluated() {
        for sloppy in [
            "found = 1; module.exports = found;",
            "function f() { for (i = 0; i < 3; i++) {} } module.exports = f;",
            "with (x) { y(); }",
            "var root = (function () { return this; })();",
            "exports.f = function () { return arguments.callee; };",
            "var x = 1; delete x;",
            "exports.mode = 0755;",
        ] {
            assert!(evaluated(sloppy, "a.js").is_some(), "{sloppy}");
        }
        for same in [
            "'use strict'; var a = 1;",
            "/* a licence */ \"use strict\"; exports.f = (function () { return this; })();",
            "var a; a = 1; exports = module.exports = a; function b() { a = 2; } exports.b = b;",
            "(function (root) { root.x = 1; })(this);",
            "exports.T = (function () { function T() { this.x = 1; } return T; })();",
            "(function () { this.x = 1; }).call(exports);",
            "import x from 'x'; found = x;",
            "export default 1;",
            "found = 1; import('x');",
            "not code at all",
        ] {
            assert!(evaluated(same, "a.js").is_none(), "{same}");
        }
    }

    #[test]
    fn the_bundler_sees_what_is_required() {
        let code = evaluated("#!/usr/bin/env node\nvar a = require('./a'); if (x) require(\"b\"); found = require(a);", "p/x.js").expect("is sloppy");
        assert!(
            code.contains("\"./a\": () => require(\"./a\"), \"b\": () => require(\"b\"), "),
            "{code}"
        );
        assert!(code.contains("//# sourceURL=p/x.js") && !code.contains("#!/usr"), "{code}");
    }
}
