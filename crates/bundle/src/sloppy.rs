//! CommonJS code in sloppy mode. A bundle is one ES module, which is strict throughout, where Node
//! runs a CommonJS file as a sloppy function unless the file says `"use strict"`: names that nobody
//! declared, `this` of a plain call, functions in blocks, writes to what cannot be written and
//! aliases of `arguments` mean something else in it. Such a file is kept as text and evaluated as
//! the function that Node makes of it.

use std::collections::{BTreeMap, BTreeSet};

use oxc_allocator::Allocator;
use oxc_ast::ast::{
    AccessorProperty, Argument, CallExpression, Decorator, Expression, ImportExpression, Program,
    VariableDeclaration, VariableDeclarationKind,
};
use oxc_ast_visit::{Visit, walk};
use oxc_parser::Parser;
use oxc_semantic::{Scoping, SemanticBuilder};
use oxc_span::SourceType;

/// What a file that is evaluated begins with, and what Node's function around a module declares.
pub(crate) const BEGINNING: &str = "(function (exports, require, module, __filename, __dirname) {";
/// What the code of an author's file calls where it depends on its place (`own.rs`).
const PLACE: &str = "__millraceFile";
/// What loads what a file imports: only the bundle knows where that is.
const IMPORT: &str = "__millraceImport";

/// What a file loads.
struct Finder {
    scoping: Scoping,
    requires: BTreeSet<String>,
    /// Each with the place of the keyword.
    imports: BTreeMap<usize, String>,
    /// Whether there is syntax that only the bundler makes into what Node has.
    is_lowered: bool,
}

impl<'a> Visit<'a> for Finder {
    fn visit_import_expression(&mut self, import: &ImportExpression<'a>) {
        if let Some(specifier) = text_of(&import.source) {
            self.imports.insert(import.span.start as usize, specifier);
        }
        walk::walk_import_expression(self, import);
    }

    fn visit_decorator(&mut self, _: &Decorator<'a>) {
        self.is_lowered = true;
    }

    fn visit_accessor_property(&mut self, _: &AccessorProperty<'a>) {
        self.is_lowered = true;
    }

    fn visit_variable_declaration(&mut self, declaration: &VariableDeclaration<'a>) {
        self.is_lowered |= matches!(
            declaration.kind,
            VariableDeclarationKind::Using | VariableDeclarationKind::AwaitUsing
        );
        walk::walk_variable_declaration(self, declaration);
    }

    fn visit_call_expression(&mut self, call: &CallExpression<'a>) {
        // A file that another bundler made has functions of that name for its own modules.
        if let Expression::Identifier(name) = &call.callee
            && name.name == "require"
            && self.scoping.get_reference(name.reference_id()).symbol_id().is_none()
            && let Some(specifier) = call.arguments.first().and_then(Argument::as_expression)
            && let Some(specifier) = text_of(specifier)
        {
            self.requires.insert(specifier);
        }
        walk::walk_call_expression(self, call);
    }
}

/// The file as a module that evaluates it in sloppy mode, where it is CommonJS that Node would run
/// so; `name` stands in stacks.
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
        || parsed.program.body.is_empty()
    {
        return None;
    }
    let finder = found(&parsed.program);
    if finder.is_lowered {
        return None;
    }
    let text = |value: &str| serde_json::to_string(value).unwrap_or_default();
    let mut body = code.to_owned();
    for keyword in finder.imports.keys().rev() {
        body.replace_range(*keyword..*keyword + "import".len(), IMPORT);
    }
    // As a comment, for the head of a function stands before it.
    if body.starts_with("#!") {
        body.replace_range(..2, "//");
    }
    // Only so does the bundler see what the file loads; each is evaluated when the file asks for
    // it.
    let loaders = |specifiers: &mut dyn Iterator<Item = &String>, load: &str| -> String {
        specifiers.map(|specifier| format!("{0}: () => {load}({0}), ", text(specifier))).collect()
    };
    let own = loaders(&mut finder.requires.iter(), "require");
    let mut names = Vec::new();
    let mut before = format!(
        "const own = {{ __proto__: null, {own}}};\nconst asked = Object.setPrototypeOf((specifier) => (own[specifier] ? own[specifier]() : require(specifier)), require);\n"
    );
    if !finder.imports.is_empty() {
        let imported: BTreeSet<_> = finder.imports.values().collect();
        let imported = loaders(&mut imported.into_iter(), "import");
        before.push_str(&format!("const {IMPORT} = ((imported) => (specifier) => imported[specifier]())({{ __proto__: null, {imported}}});\n"));
        names.push(IMPORT);
    }
    if body.contains(PLACE) {
        names.push(PLACE);
    }
    let function = format!("{BEGINNING} {body}\n}})");
    let names = names.join(", ");
    let (function, given) = match &*names {
        "" => (function, String::new()),
        names => (format!("(function ({names}) {{ return {function} }})"), format!("({names})")),
    };
    let source = text(&format!("{function}\n//# sourceURL={name}"));
    Some(format!(
        "{before}(0, eval)({source}){given}.call(module.exports, exports, asked, module, __filename, __dirname);\n"
    ))
}

fn found<'a>(program: &Program<'a>) -> Finder {
    let scoping = SemanticBuilder::new().build(program).semantic.into_scoping();
    let mut finder =
        Finder { scoping, requires: BTreeSet::new(), imports: BTreeMap::new(), is_lowered: false };
    finder.visit_program(program);
    finder
}

/// The text that a specifier is, where it is one.
fn text_of(specifier: &Expression<'_>) -> Option<String> {
    match specifier {
        Expression::StringLiteral(text) => Some(text.value.to_string()),
        Expression::TemplateLiteral(template) => {
            template.single_quasi().map(|text| text.to_string())
        }
        _ => None,
    }
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

#[cfg(test)]
mod tests {
    use super::evaluated;

    #[test]
    fn commonjs_that_is_not_strict_is_evaluated() {
        for sloppy in [
            "found = 1; module.exports = found;",
            "with (x) { y(); }",
            "exports.f = function () { return arguments.callee; };",
            "exports.mode = 0755;",
            "function f(a, a) { return a; }",
            "var interface = 1, await = 5;",
            "var a; a = 1; exports = module.exports = a; function b() { a = 2; } exports.b = b;",
            "exports.T = (function () { 'use strict'; function T() { this.x = 1; } return T; })();",
            "String.prototype.shout = function () { return this + '!'; };",
            "found = 1; import('x');",
        ] {
            assert!(evaluated(sloppy, "a.js").is_some(), "{sloppy}");
        }
        for other in [
            "'use strict'; var a = 1;",
            "/* a licence */ \"use strict\"; exports.f = (function () { return this; })();",
            "import x from 'x'; found = x;",
            "export default 1;",
            "const x = await y;",
            "// nothing",
            "not code at all",
            "@logged class A {} exports.A = A;",
            "exports.f = () => { using file = open(); };",
        ] {
            assert!(evaluated(other, "a.js").is_none(), "{other}");
        }
    }

    #[test]
    fn the_bundler_sees_what_is_loaded() {
        let code = "#!/usr/bin/env node\nvar a = require('./a'); if (x) require(`b`);\nfound = require(a); import(/* later */ './c.mjs').then(require);\n(function (require) { require('other'); })();";
        let code = evaluated(code, "p/x.js").expect("is sloppy");
        for part in [
            "{ __proto__: null, \"./a\": () => require(\"./a\"), \"b\": () => require(\"b\"), }",
            "{ __proto__: null, \"./c.mjs\": () => import(\"./c.mjs\"), }",
            "found = require(a); __millraceImport(/* later */ './c.mjs').then(require);",
            "//# sourceURL=p/x.js",
        ] {
            assert!(code.contains(part), "{part}: {code}");
        }
        assert!(!code.contains("#!/usr"), "{code}");
        assert!(!code.contains("__millraceFile"), "{code}");
    }

    #[test]
    fn code_that_depends_on_its_place_is_given_it() {
        let code = evaluated("exports.at = __millraceFile(\"a.cjs\").dirname;", "a.cjs");
        assert!(code.is_some_and(|code| code.contains(")(__millraceFile).call(module.exports,")));
    }
}
