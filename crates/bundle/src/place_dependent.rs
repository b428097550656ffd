//! Finder of code that depends on where its file lies: it reads files beside it, or loads code by a
//! name that is made when it runs. A package that has such code is not bundled but laid beside the
//! bundle as installed. In doubt it counts.

use oxc_allocator::Allocator;
use oxc_ast::AstKind;
use oxc_ast::ast::{
    Argument, CallExpression, Expression, IdentifierName, ImportExpression, ImportMeta,
    ImportSpecifier, NewExpression,
};
use oxc_ast_visit::{Visit, walk};
use oxc_parser::Parser;
use oxc_semantic::{NodeId, Semantic, SemanticBuilder};
use oxc_span::SourceType;

/// Free names of a CommonJS file that tell where it lies, or load by name.
const PLACES: [&str; 2] = ["__dirname", "__filename"];
/// Members of `module` that do the same.
const OF_MODULE: [&str; 5] = ["require", "filename", "path", "paths", "children"];
/// Texts without one of which no code is of interest; `require` is looked at more closely.
const TOKENS: [&str; 8] = [
    "__dirname",
    "__filename",
    "import.meta",
    "createRequire",
    "import(",
    "Worker",
    "eval",
    "module.",
];

/// Whether a package's file depends on where it lies.
pub(crate) fn depends_on_its_place(code: &str) -> bool {
    if !TOKENS.iter().any(|token| code.contains(token)) && !requires_by_expression(code) {
        return false;
    }
    let allocator = Allocator::default();
    // A file may be of either kind: what is right as one of them is read.
    [SourceType::mjs(), SourceType::cjs()].into_iter().any(|kind| {
        let parsed = Parser::new(&allocator, code, kind).parse();
        if parsed.panicked || !parsed.diagnostics.is_empty() {
            return false;
        }
        let mut finder = Finder::default();
        finder.visit_program(&parsed.program);
        finder.found
            || uses_free_names(
                &SemanticBuilder::new().with_build_nodes(true).build(&parsed.program).semantic,
            )
    })
}

/// Whether `require` stands somewhere as other than `require("x")` or `typeof require`, comments
/// included: only then is the code parsed.
fn requires_by_expression(code: &str) -> bool {
    code.match_indices("require").any(|(at, name)| {
        let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
        let (before, after) = (&code[..at], code[at + name.len()..].trim_start());
        if before.ends_with(is_part)
            || after.starts_with(is_part)
            || before.trim_end().ends_with("typeof")
        {
            return false;
        }
        let Some(argument) = after.strip_prefix('(').map(str::trim_start) else { return true };
        let Some(quote) = argument.chars().next().filter(|c| "'\"".contains(*c)) else {
            return true;
        };
        let Some(end) = argument[1..].find(quote) else { return true };
        !argument[end + 2..].trim_start().starts_with(')')
    })
}

/// Whether a file may load what is named as it runs: only then it is read for what it loads.
pub(crate) fn may_load_made(code: &str) -> bool {
    code.contains("import(") || code.contains("createRequire") || requires_by_expression(code)
}

#[derive(Default)]
struct Finder {
    found: bool,
}

impl<'a> Visit<'a> for Finder {
    fn visit_import_meta(&mut self, _: &ImportMeta) {
        // Reached only where its member is not one that tells nothing of a place.
        self.found = true;
    }

    fn visit_static_member_expression(
        &mut self,
        member: &oxc_ast::ast::StaticMemberExpression<'a>,
    ) {
        let tells_nothing = matches!(member.property.name.as_str(), "env" | "main" | "hot");
        if tells_nothing && matches!(&member.object, Expression::ImportMeta(_)) {
            return;
        }
        walk::walk_static_member_expression(self, member);
    }

    fn visit_identifier_name(&mut self, name: &IdentifierName<'a>) {
        self.found |= name.name == "createRequire";
    }

    fn visit_import_specifier(&mut self, specifier: &ImportSpecifier<'a>) {
        self.found |= specifier.imported.name() == "createRequire";
    }

    fn visit_import_expression(&mut self, import: &ImportExpression<'a>) {
        self.found |= !is_text(&import.source);
        walk::walk_import_expression(self, import);
    }

    fn visit_new_expression(&mut self, made: &NewExpression<'a>) {
        self.found |= match &made.callee {
            Expression::Identifier(name) => name.name == "Worker",
            Expression::StaticMemberExpression(member) => member.property.name == "Worker",
            _ => false,
        };
        walk::walk_new_expression(self, made);
    }

    fn visit_call_expression(&mut self, call: &CallExpression<'a>) {
        self.found |= call.callee.is_specific_id("eval");
        walk::walk_call_expression(self, call);
    }
}

pub(crate) fn is_text(expression: &Expression<'_>) -> bool {
    match expression {
        Expression::StringLiteral(_) => true,
        Expression::TemplateLiteral(template) => template.expressions.is_empty(),
        _ => false,
    }
}

/// Whether names that Node gives to a CommonJS file are used to read beside it, or to load what no
/// bundler can know.
fn uses_free_names(semantic: &Semantic<'_>) -> bool {
    let free = semantic.scoping().root_unresolved_references();
    free.iter().any(|(name, references)| {
        let name = name.as_str();
        let mut uses = references.iter().map(|id| semantic.scoping().get_reference(*id).node_id());
        match name {
            "require" => uses.any(|node| !is_plain_require(semantic, node)),
            "module" => uses.any(|node| matches!(semantic.nodes().parent_kind(node), AstKind::StaticMemberExpression(member) if OF_MODULE.contains(&member.property.name.as_str()))),
            _ => PLACES.contains(&name) && uses.any(|node| !is_typeof(semantic, node)),
        }
    })
}

pub(crate) fn is_typeof(semantic: &Semantic<'_>, node: NodeId) -> bool {
    matches!(semantic.nodes().parent_kind(node), AstKind::UnaryExpression(unary) if unary.operator.as_str() == "typeof")
}

/// `require("x")`, `require.main`, `typeof require`.
pub(crate) fn is_plain_require(semantic: &Semantic<'_>, node: NodeId) -> bool {
    match semantic.nodes().parent_kind(node) {
        AstKind::CallExpression(call) => {
            call.callee.is_specific_id("require")
                && call.arguments.first().and_then(Argument::as_expression).is_some_and(is_text)
        }
        AstKind::StaticMemberExpression(member) => member.property.name == "main",
        _ => is_typeof(semantic, node),
    }
}

#[cfg(test)]
mod tests {
    use super::depends_on_its_place;

    #[test]
    fn code_that_reads_beside_it_or_loads_by_name_is_found() {
        for code in [
            "const fs = require('fs'); module.exports = fs.readFileSync(__dirname + '/data/x.afm');",
            "exports.f = require('path').join(__filename, '..');",
            "import { readFileSync } from 'fs'; export default readFileSync(new URL('x.wasm', import.meta.url));",
            "export default import.meta.dirname;",
            "export const here = import.meta;",
            "import { createRequire } from 'module'; export default createRequire('/x');",
            "module.exports = (name) => require('./locale/' + name);",
            "var aliased = require; aliased('./locale/fr');",
            "module.exports = require.resolve('x');",
            "module.exports = require.cache;",
            "(function (f) { f(require, exports); })(function (require) { require('./x'); });",
            "export const load = (name) => import(name);",
            "const { Worker } = require('worker_threads'); new Worker('./x.js');",
            "eval('require')('x');",
            "module.require('x');",
            "module.exports = require(`./${name}`);",
        ] {
            assert!(depends_on_its_place(code), "{code}");
        }
    }

    #[test]
    fn code_that_names_what_it_loads_is_bundled() {
        for code in [
            "module.exports = require('./x')(require( \"y\" ), require(`z`));",
            "try { require('encoding'); } catch (e) {} // we do not require(it)",
            "if (typeof require !== 'undefined' && typeof __dirname === 'string') { exports.node = true; }",
            "if (require.main === module) { run(); }",
            "exports.required = (required) => x.require(required); var requireX = 1;",
            "!function (e, n) { n(function (require, module) { require(module); }); }();",
            "export const dev = import.meta.env?.DEV; export default () => import('./x.js');",
            "module.exports = { evaluate: 1, Worker: 2 };",
        ] {
            assert!(!depends_on_its_place(code), "{code}");
        }
    }
}
