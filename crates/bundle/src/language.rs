//! The language of an author's files: which of JavaScript and TypeScript a text is, and its syntax
//! that Node does not have.

use std::collections::HashSet;

use oxc_allocator::Allocator;
use oxc_ast::ast::{
    AccessorProperty, Decorator, Expression, FormalParameter, Function, IdentifierName,
    MethodDefinition, PropertyDefinition, PropertyKey, RegExpLiteral, VariableDeclaration,
    VariableDeclarationKind, VariableDeclarator,
};
use oxc_ast_visit::{Visit, walk};
use oxc_parser::Parser;
use oxc_semantic::ScopeFlags;
use oxc_span::{SourceType, Span};

use crate::BundleError;
use crate::typescript::{first_modifier, has_type_arguments};

/// Node's versions before this one refuse modifiers within regular expressions, and two groups of
/// one name in alternatives.
const MODIFIERS_SINCE: u64 = 23;

/// Whether a text that nobody named is TypeScript: it is no JavaScript, and as TypeScript it is
/// right, or wrong further on. Or it is both, and as JavaScript it compares what nobody compares.
pub(crate) fn is_typescript(code: &str) -> bool {
    let javascript = [SourceType::jsx(), SourceType::cjs().with_jsx(true)];
    let errors = javascript.map(|kind| first_error(code, kind));
    let [Some(module), Some(script)] = errors else { return has_type_arguments(code) };
    let typescript = [SourceType::ts(), SourceType::tsx()]
        .into_iter()
        .map(|kind| first_error(code, kind).unwrap_or(usize::MAX))
        .max();
    typescript.is_some_and(|typescript| typescript > module.max(script))
}

/// The kind of an author's file: by the ending of its path, TypeScript where the text is no
/// JavaScript, and with JSX where it is nothing without.
pub(crate) fn kind_of(path: &str, code: &str) -> SourceType {
    match SourceType::from_path(path) {
        Ok(kind) if kind.is_typescript() => with_jsx_where_needed(kind, code),
        _ if is_typescript(code) => with_jsx_where_needed(SourceType::ts(), code),
        Ok(kind) => with_jsx_where_needed(kind, code),
        Err(_) => with_jsx_where_needed(SourceType::mjs(), code),
    }
}

/// The same kind, or the one with JSX where the text is wrong without it, and right, or wrong
/// further on, with it.
pub(crate) fn with_jsx_where_needed(kind: SourceType, code: &str) -> SourceType {
    if kind.is_jsx() || !(code.contains("</") || code.contains("/>")) {
        return kind;
    }
    let jsx = kind.with_jsx(true);
    match first_error(code, kind) {
        Some(plain) if first_error(code, jsx).is_none_or(|with| with > plain) => jsx,
        _ => kind,
    }
}

/// Where the text is wrong, if it is. The parser accepts TypeScript's modifiers in JavaScript, too.
pub(crate) fn first_error(code: &str, kind: SourceType) -> Option<usize> {
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, code, kind).parse();
    let modifier = if kind.is_typescript() { None } else { first_modifier(&parsed.program) };
    if !parsed.panicked && parsed.diagnostics.is_empty() && modifier.is_none() {
        return None;
    }
    let offsets = parsed
        .diagnostics
        .iter()
        .filter_map(|error| error.labels.first().map(|label| label.offset() as usize));
    Some(offsets.chain(modifier).min().unwrap_or(0))
}

/// Whether a file has syntax that is to be lowered for Node.
///
/// # Errors
/// Where it has syntax that cannot be lowered, with its line.
pub(crate) fn needs_lowering(
    path: &str,
    code: &str,
    node_major: u64,
    experimental_decorators: bool,
    not_read: &str,
) -> Result<bool, BundleError> {
    if !["@", "using", "accessor", "(?"].iter().any(|token| code.contains(token)) {
        return Ok(false);
    }
    let kind = kind_of(path, code);
    let kind = if kind.is_typescript() { kind } else { SourceType::jsx() };
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, code, kind).parse();
    let mut initializing = Initializing::default();
    if !experimental_decorators && code.contains(ADD_INITIALIZER) {
        initializing.visit_program(&parsed.program);
    }
    let initializing = initializing.names;
    let mut finder = Finder {
        experimental_decorators,
        not_read,
        node_major,
        initializing,
        needs: false,
        refused: None,
    };
    finder.visit_program(&parsed.program);
    match finder.refused {
        None => Ok(finder.needs),
        Some((span, why)) => {
            let before = &code[..(span.start as usize).min(code.len())];
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
            Err(BundleError::Syntax { text: format!("{path}:{line}:{column}: {why}") })
        }
    }
}

/// What a decorator's context has for code that runs where an object is made.
const ADD_INITIALIZER: &str = "addInitializer";

/// Finds the functions of a file that add initializers, by the names around the word.
#[derive(Default)]
struct Initializing {
    around: Vec<String>,
    names: HashSet<String>,
}

impl<'a> Visit<'a> for Initializing {
    fn visit_function(&mut self, function: &Function<'a>, flags: ScopeFlags) {
        let name = function.id.as_ref().map(|id| id.name.to_string());
        self.around.extend(name.clone());
        walk::walk_function(self, function, flags);
        self.around.truncate(self.around.len() - usize::from(name.is_some()));
    }

    fn visit_variable_declarator(&mut self, declarator: &VariableDeclarator<'a>) {
        let name = declarator.id.get_identifier_name().map(|name| name.to_string());
        self.around.extend(name.clone());
        walk::walk_variable_declarator(self, declarator);
        self.around.truncate(self.around.len() - usize::from(name.is_some()));
    }

    fn visit_identifier_name(&mut self, name: &IdentifierName<'a>) {
        if name.name == ADD_INITIALIZER {
            self.names.extend(self.around.iter().cloned());
        }
    }
}

struct Finder<'t> {
    experimental_decorators: bool,
    /// What to say of a file that the `tsconfig.json` extends and that is not there.
    not_read: &'t str,
    node_major: u64,
    /// Functions that add initializers.
    initializing: HashSet<String>,
    needs: bool,
    /// The first place that cannot be lowered, and why.
    refused: Option<(Span, String)>,
}

impl Finder<'_> {
    fn refuse(&mut self, span: Span, why: impl FnOnce() -> String) {
        if self.refused.is_none() {
            self.refused = Some((span, why()));
        }
    }

    /// Fields, accessors and parameters: decorators of the standard need what no version of Node
    /// has.
    fn element(&mut self, decorators: &[Decorator<'_>], what: &str) {
        if let Some(first) = decorators.first().filter(|_| !self.experimental_decorators) {
            let not_read = self.not_read;
            self.refuse(first.span, || {
                format!(
                    "a decorator of {what} cannot be lowered; decorate methods, getters, setters and classes, or, where TypeScript's older decorators are meant, set \"experimentalDecorators\": true in a tsconfig.json beside the code{not_read}"
                )
            });
        }
    }
}

impl<'a> Visit<'a> for Finder<'_> {
    fn visit_decorator(&mut self, decorator: &Decorator<'a>) {
        self.needs = true;
        walk::walk_decorator(self, decorator);
    }

    fn visit_property_definition(&mut self, field: &PropertyDefinition<'a>) {
        self.element(&field.decorators, "a field");
        walk::walk_property_definition(self, field);
    }

    fn visit_accessor_property(&mut self, accessor: &AccessorProperty<'a>) {
        self.refuse(accessor.span, || {
            "an `accessor` field cannot be lowered; write a getter and a setter".into()
        });
    }

    fn visit_formal_parameter(&mut self, parameter: &FormalParameter<'a>) {
        self.element(&parameter.decorators, "a parameter");
        walk::walk_formal_parameter(self, parameter);
    }

    fn visit_method_definition(&mut self, method: &MethodDefinition<'a>) {
        if let (PropertyKey::PrivateIdentifier(_), Some(first)) =
            (&method.key, method.decorators.first())
        {
            self.refuse(first.span, || "a decorator of a private method cannot be lowered; decorate one that is not private".into());
        }
        let adds = |decorator: &&Decorator<'a>| {
            let called = match &decorator.expression {
                Expression::CallExpression(call) => &call.callee,
                named => named,
            };
            matches!(called, Expression::Identifier(id) if self.initializing.contains(id.name.as_str()))
        };
        if let Some(decorator) = method.decorators.iter().find(adds).filter(|_| !method.r#static) {
            self.refuse(decorator.span, || "`addInitializer` of a decorator of a method that is not static cannot be lowered: nothing runs it for each object; bind the method in the constructor".into());
        }
        walk::walk_method_definition(self, method);
    }

    fn visit_variable_declaration(&mut self, declaration: &VariableDeclaration<'a>) {
        self.needs |= matches!(
            declaration.kind,
            VariableDeclarationKind::Using | VariableDeclarationKind::AwaitUsing
        );
        walk::walk_variable_declaration(self, declaration);
    }

    fn visit_reg_exp_literal(&mut self, expression: &RegExpLiteral<'a>) {
        let major = self.node_major;
        if (1..MODIFIERS_SINCE).contains(&major) && has_modifiers(&expression.regex.pattern.text) {
            self.refuse(expression.span, || format!("modifiers within a regular expression, such as `(?i:…)`, need Node {MODIFIERS_SINCE} and cannot be lowered; Node {major} runs components here"));
        }
        if let Some(name) = repeated_group(&expression.regex.pattern.text)
            .filter(|_| (1..MODIFIERS_SINCE).contains(&major))
        {
            self.refuse(expression.span, || {
                format!(
                    "two groups of a regular expression have the name `{name}`, which needs Node {MODIFIERS_SINCE}, there in alternatives only, and cannot be lowered; Node {major} runs components here: give each a name of its own"
                )
            });
        }
    }
}

/// `(?i:`, `(?-s:`, not `(?:` or `(?=`.
fn has_modifiers(pattern: &str) -> bool {
    pattern.match_indices("(?").any(|(at, _)| {
        let escapes = pattern[..at].bytes().rev().take_while(|b| *b == b'\\').count();
        let rest = &pattern[at + 2..];
        let flags = rest.bytes().take_while(|b| b"ims-".contains(b)).count();
        escapes % 2 == 0 && flags > 0 && rest[flags..].starts_with(':')
    })
}

/// The name that two groups of a pattern have: `(?<y>…)`, not `(?<=…)`, and not within a class.
fn repeated_group(pattern: &str) -> Option<&str> {
    let (mut seen, mut depth) = (HashSet::new(), 0_usize);
    let bytes = pattern.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            // Classes of the flag `v` are nested.
            b'[' => depth += 1,
            b']' => depth = depth.saturating_sub(1),
            b'(' if depth == 0
                && pattern[at..].starts_with("(?<")
                && !matches!(bytes.get(at + 3), Some(b'=' | b'!')) =>
            {
                let name = pattern[at + 3..].split('>').next().unwrap_or_default();
                if !seen.insert(name) {
                    return Some(name);
                }
            }
            _ => {}
        }
        at += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_typescript_where_it_is_no_javascript() {
        for code in [
            "export default { run(n: number) {} };",
            "interface A { b: string }\nexport default { run() {} } as A;",
            "enum E { A }",
            "const x = <T,>(t: T) => t; export default {};",
        ] {
            assert!(is_typescript(code), "{code}");
        }
        for code in [
            "export default { run() {} };",
            "module.exports = { run() { with (a) {} } };",
            "export default { run( {",
            "#!/usr/bin/env node\nexport default {};",
            "const x = <b>1</b>;",
            "@a class B {}",
        ] {
            assert!(!is_typescript(code), "{code}");
        }
        assert!(
            is_typescript("const a: number = 1;\nconst b = ;"),
            "as TypeScript, it is wrong further on"
        );
    }

    #[test]
    fn text_has_jsx_where_it_is_nothing_without() {
        let kind = |path: &str, code: &str| {
            let kind = kind_of(path, code);
            (kind.is_typescript(), kind.is_jsx())
        };
        for code in [
            "export default { run() { return <b>{this.x}</b>; } };",
            "const x = <></>;",
            "const A = () => <img src='a' />;",
        ] {
            assert_eq!(
                (kind("component.mjs", code), kind("a.js", code), kind("a.jsx", code)),
                ((false, true), (false, true), (false, true)),
                "{code}"
            );
        }
        for code in [
            "export default { run(n: number) { return <b>{n}</b>; } };",
            "interface A { b: string }\nconst x = (a: A) => <a href='x' />;",
        ] {
            assert_eq!(
                (kind("component.mjs", code), kind("a.ts", code), kind("a.tsx", code)),
                ((true, true), (true, true), (true, true)),
                "{code}"
            );
        }
        for code in ["const x = 'a</b>';", "const y = a < b / c; // />", "export default `</p>`;"] {
            assert_eq!(kind("component.mjs", code), (false, false), "{code}");
        }
        assert_eq!(kind("a.ts", "const x = <string>y; const z: string = '</b>';"), (true, false));
    }

    #[test]
    fn what_cannot_be_lowered_names_its_line() {
        let needs = |code: &str| needs_lowering("a.ts", code, 20, false, "");
        for (code, expected) in [
            ("class A { @log m() {} }", true),
            ("@log class A {}", true),
            ("{ using a = b; }", true),
            (
                "const s = (m, c) => c.addInitializer(f); @s class A { @s static g() {} @log m() {} }",
                true,
            ),
            ("// me@example.test is using (?:\nexport default /(?:a)/;", false),
        ] {
            assert_eq!(needs(code).expect("can be lowered"), expected, "{code}");
        }
        for (code, place) in [
            ("class A {\n  @f x = 1;\n}", "a.ts:2:3:"),
            ("class A {\n  accessor x = 1;\n}", "a.ts:2:3:"),
            ("\nexport default /a(?i:b)/;", "a.ts:2:16:"),
            ("\nconst d =\n  /(?<y>\\d{4})-(?<m>\\d\\d)|(?<y>\\d\\d)/;", "a.ts:3:3:"),
            ("class A { m(@p a) {} }", "a.ts:1:13:"),
            ("class A { @l #m() {} }", "a.ts:1:11:"),
            (
                "function bound(m: any, c: any) { c.addInitializer(function () {}) }\nclass K { @bound f() {} }",
                "a.ts:2:11:",
            ),
            (
                "const on = (x) => (m, { addInitializer }) => addInitializer(x);\nclass K { @on(1) f() {} }",
                "a.ts:2:11:",
            ),
        ] {
            let error = needs(code).expect_err("cannot be lowered").to_string();
            assert!(error.contains(place), "{code}: {error}");
        }
        assert!(
            needs_lowering("a.ts", "class A { @f x = 1; }", 20, true, "")
                .expect("TypeScript's older decorators")
        );
        for code in ["export default /a(?i:b)/;", "export default /(?<y>a)|(?<y>b)/;"] {
            assert!(!needs_lowering("a.ts", code, 24, false, "").expect("Node has it"), "{code}");
        }
        assert!(
            !needs("export default [/(?<a>x)(?<b>y)(?<=z)(?<!z)(?<=z)/, /(?<a>x)[(?<a>]\\(?<a>/];")
                .expect("no name is there twice")
        );
    }
}
