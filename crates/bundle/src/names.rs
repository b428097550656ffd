//! Packages that an author's code names as it runs: what it loads by `createRequire` or resolves,
//! and texts that may be names.

use std::collections::{BTreeMap, BTreeSet};

use oxc_allocator::Allocator;
use oxc_ast::ast::{
    BinaryOperator, BindingPattern, CallExpression, ExportFromDeclaration, Expression,
    ImportDeclaration, ImportExpression, StringLiteral, VariableDeclarator,
};
use oxc_ast_visit::{Visit, walk};
use oxc_parser::Parser;
use oxc_span::SourceType;

use crate::language::kind_of;
use crate::place_dependent::is_text;
use crate::specifier::{Bare, is_builtin};

/// Texts that one name may be.
const CHOICES_MAX: usize = 16;
/// The longest text that is looked at as a name.
const NAME_BYTES_MAX: usize = 1_000;

/// What a file names.
#[derive(Default)]
pub(crate) struct Names {
    /// Specifiers that it loads or resolves.
    pub(crate) loaded: BTreeSet<String>,
    /// Packages that a specifier which is made as the code runs can only be of: `lodash` of ``
    /// import(`lodash/${name}`) ``.
    pub(crate) begun: BTreeSet<String>,
    /// Texts that are not those of imports.
    pub(crate) texts: BTreeSet<String>,
    /// Whether it loads what is named as the code runs.
    pub(crate) loads_made: bool,
    /// Variables that hold what `createRequire` made, or `require` itself.
    requires: BTreeSet<String>,
    /// What variables hold that a text stands for.
    values: BTreeMap<String, Vec<Made>>,
}

/// A text that is made as code runs, as far as it is known before.
#[derive(Clone)]
struct Made {
    text: String,
    is_whole: bool,
}

/// Reads a file.
pub(crate) fn names(path: &str, code: &str) -> Names {
    let kind = kind_of(path, code);
    names_in(code, if kind.is_typescript() { kind } else { SourceType::jsx() })
}

/// Packages that an installed package's file loads by names which begin so and are made as it runs.
pub(crate) fn begun_by(code: &str) -> BTreeSet<String> {
    [SourceType::mjs(), SourceType::cjs()]
        .into_iter()
        .flat_map(|kind| names_in(code, kind).begun)
        .collect()
}

fn names_in(code: &str, kind: SourceType) -> Names {
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, code, kind).parse();
    let mut names = Names::default();
    // Functions may stand before the variables that they use.
    names.visit_program(&parsed.program);
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
                self.is_require(&member.object)
                    || member.object.is_specific_id("require")
                    || matches!(member.object, Expression::ImportMeta(_))
            }
            callee => self.is_require(callee),
        }
    }

    /// What an expression may be: texts that it is, or begins with. Few, and short ones: each
    /// choice of choices would double them.
    fn made(&self, expression: &Expression<'_>) -> Vec<Made> {
        let mut made = self.all_made(expression);
        made.retain(|made| made.text.len() <= NAME_BYTES_MAX);
        made.truncate(CHOICES_MAX);
        made
    }

    fn all_made(&self, expression: &Expression<'_>) -> Vec<Made> {
        match expression.get_inner_expression() {
            Expression::StringLiteral(text) => {
                vec![Made { text: text.value.to_string(), is_whole: true }]
            }
            Expression::TemplateLiteral(template) => {
                let Some(first) = template.quasis.first() else { return Vec::new() };
                let text = first.value.cooked.unwrap_or(first.value.raw).to_string();
                match (text.is_empty(), template.expressions.first()) {
                    (true, Some(first)) => {
                        let behind =
                            template.quasis.get(1).map_or("", |text| text.value.raw.as_str());
                        let join = |made: Made| {
                            if made.is_whole {
                                Made {
                                    text: made.text + behind,
                                    is_whole: template.expressions.len() == 1,
                                }
                            } else {
                                made
                            }
                        };
                        self.made(first).into_iter().map(join).collect()
                    }
                    (_, rest) => vec![Made { text, is_whole: rest.is_none() }],
                }
            }
            Expression::BinaryExpression(sum) if sum.operator == BinaryOperator::Addition => {
                let behind = self.made(&sum.right);
                let join = |before: Made| match (&*behind, before.is_whole) {
                    ([behind], true) => {
                        Made { text: before.text + &behind.text, is_whole: behind.is_whole }
                    }
                    _ => Made { is_whole: false, ..before },
                };
                self.made(&sum.left).into_iter().map(join).collect()
            }
            Expression::ConditionalExpression(choice) => {
                [self.made(&choice.consequent), self.made(&choice.alternate)].concat()
            }
            Expression::LogicalExpression(choice) => {
                [self.made(&choice.left), self.made(&choice.right)].concat()
            }
            Expression::Identifier(name) => {
                self.values.get(name.name.as_str()).cloned().unwrap_or_default()
            }
            _ => Vec::new(),
        }
    }

    fn load_made(&mut self, name: &Expression<'_>) {
        self.loads_made = true;
        let begun: Vec<String> = self.made(name).iter().filter_map(Made::package).collect();
        self.begun.extend(begun);
    }
}

impl Made {
    /// The package whose name it holds whole.
    fn package(&self) -> Option<String> {
        let text = if self.is_whole { &*self.text } else { self.text.rsplit_once('/')?.0 };
        let bare =
            Bare::parse(text).filter(|bare| bare.range.is_none() && !is_builtin(&bare.name))?;
        Some(bare.name)
    }
}

impl<'a> Visit<'a> for Names {
    fn visit_import_declaration(&mut self, _: &ImportDeclaration<'a>) {}

    fn visit_export_from_declaration(&mut self, _: &ExportFromDeclaration<'a>) {}

    fn visit_variable_declarator(&mut self, declarator: &VariableDeclarator<'a>) {
        if let (BindingPattern::BindingIdentifier(name), Some(value)) =
            (&declarator.id, &declarator.init)
        {
            if makes_require(value) || value.is_specific_id("require") {
                self.requires.insert(name.name.to_string());
            } else if !matches!(value, Expression::Identifier(_)) {
                let made = self.made(value);
                if !made.is_empty() {
                    self.values.insert(name.name.to_string(), made);
                }
            }
        }
        walk::walk_variable_declarator(self, declarator);
    }

    fn visit_import_expression(&mut self, import: &ImportExpression<'a>) {
        if !is_text(&import.source) {
            self.load_made(&import.source);
        }
        walk::walk_import_expression(self, import);
    }

    fn visit_call_expression(&mut self, call: &CallExpression<'a>) {
        match call.arguments.first().and_then(|argument| argument.as_expression()) {
            Some(Expression::StringLiteral(name)) if self.loads(&call.callee) => {
                self.loaded.insert(name.value.to_string());
            }
            Some(name)
                if self.loads(&call.callee)
                    || (call.callee.is_specific_id("require") && !is_text(name)) =>
            {
                self.load_made(name)
            }
            _ => {}
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
        assert!(
            found.texts.contains("g") && !found.texts.contains("a") && !found.texts.contains("f")
        );
    }

    #[test]
    fn packages_of_names_that_are_made_as_code_runs_are_found() {
        for (code, expected) in [
            ("import(`date-fns/locale/${name}`)", "date-fns"),
            ("await import('moment/locale/' + name + '.js')", "moment"),
            ("require(`lodash/${name}`)", "lodash"),
            ("const load = require; load('@a/b/' + name)", "@a/b"),
            (
                "function f(n) { return load('dayjs/locale/' + n); } const load = createRequire(import.meta.url);",
                "dayjs",
            ),
            ("const NAME = 'lodash'; import(NAME)", "lodash"),
            ("import(small ? 'a' : 'b')", "a b"),
            ("import('lod' + 'ash'); require.resolve(base || 'c/d')", "c lodash"),
            ("const base = `@x/y`; require(`${base}/${name}`)", "@x/y"),
            ("const base = 'x'; import(`${base}`)", "x"),
        ] {
            assert_eq!(
                names("a.mjs", code).begun.into_iter().collect::<Vec<_>>().join(" "),
                expected,
                "{code}"
            );
        }
        // A choice of choices does not double what is looked at.
        let choices = (1..60)
            .map(|n| format!("const v{n} = c ? v{} + 'x' : v{} + 'y';", n - 1, n - 1))
            .collect::<String>();
        assert!(
            names("a.mjs", &format!("const v0 = 'a/'; {choices} import(v59)")).begun.contains("a")
        );
        let long = format!("import({})", vec!["'aaaaaaaaaaaaaaaaaaaaaaaaa'"; 60].join(" + "));
        assert!(names("a.mjs", &long).begun.is_empty());
        for code in [
            "import(`./handlers/${n}.mjs`)",
            "import('/tmp/' + n)",
            "import(`data:text/javascript,${n}`)",
            "require('node:' + n)",
            "require('fs/' + n)",
            "import('lod' + n)",
            "import('@a/' + n)",
            "import(n)",
            "import('file://' + n)",
            "require(`https://x.test/${n}`)",
            "import('lodash')",
        ] {
            assert!(
                names("a.mjs", code).begun.is_empty(),
                "{code}: {:?}",
                names("a.mjs", code).begun
            );
        }
    }
}
